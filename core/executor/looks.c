/* SPDX-License-Identifier: Apache-2.0 */
/* Where a running job could move to, as policies see it (P-05, P-12, P-13): the cheapest few of its class, and the user's own machines. A look costs the
 * same whatever the number of jobs and offers. */
#include "executor/known.h"

#include "base/log.h"

#define BYTES_GIB (UINT64_C(1) << 30)

/* --- what its machine is to the policies --- */
static int64_t earlier(int64_t a, int64_t b)
{
        return a == 0 ? b : b == 0 || a < b ? a : b;
}

static void of_machine(
        const struct engine *e, const struct mach *m, const struct known *o, struct policy_machine *ret, char *text)
{
        ret->rate_unusable = o ? known_fault(o, now_wall(e), text)
                               : "its kind of machine is not offered any more, so what it costs now is not known";
        ret->spot = m->rec.market == PD_MARKET_SPOT;
        ret->stop_lag_us = m->conn ? m->conn->caps.stop_lag_us : 0;
        if (o)
                ret->notice = o->base.notice;
        if (m->rec.own)
                return;
        if (o && o->max_lifetime_us)
                ret->ends_wall_us = earlier(ret->ends_wall_us, m->rec.created_wall_us + o->max_lifetime_us);
        if (m->rec.lease == PD_LEASE_NATIVE_FIXED)
                ret->ends_wall_us = earlier(ret->ends_wall_us, m->rec.stop_sure_wall_us);
}

/* --- is there anything to look for? --- */
static bool over_notice(const struct entry *en, const struct policy_machine *m)
{
        uint64_t can;

        return m->spot && en->job.state_bytes && market_can_save(&m->notice, &can) && en->job.state_bytes > can;
}

static bool look_is_due(const struct entry *en, const struct policy_job *j, int64_t now)
{
        const struct settings *s = &en->live->settings;

        return (s->cheaper || s->ret) && !j->pinned &&
               (j->moved_wall_us == 0 || now >= j->moved_wall_us + s->move_cooldown_us) &&
               (j->looked_wall_us == 0 || now >= j->looked_wall_us + s->look_every_us);
}

static bool is_wanted(const struct entry *en, const struct policy_job *j, const struct policy_machine *m, int64_t now)
{
        if (j->state != JOB_RUNNING || j->saving || m->notice_wall_us != 0)
                return false;
        return look_is_due(en, j, now) || over_notice(en, m);
}

/* --- candidates: the cheapest of its class, of each market, and own machines --- */
struct found {
        const struct known *at[1024]; /* more own machines than that are not all looked at */
        size_t n;
};

static void found_add(struct found *f, const struct known *o)
{
        for (size_t i = 0; i < f->n; i++)
                if (f->at[i] == o)
                        return;
        if (f->n < ARRAY_LEN(f->at))
                f->at[f->n++] = o;
}

/* Needs that differ by less than an eighth are one class: measured peaks differ from job to job. Down, so that no offer is missed. */
static uint64_t about(uint64_t v, uint64_t least)
{
        int shift = v >= 8 ? 61 - __builtin_clzll(v) : 0;
        uint64_t q = v >> shift << shift;

        return q > least ? q : least;
}

static void of_class(struct offers_known *k, const struct placement_need *need, bool no_spot, bool no_on_demand,
        struct looks_class *c, struct found *f)
{
        uint32_t ids[MARKET_CHEAPEST_MAX];
        struct market_need want = { .cpu_milli = need->cpu_milli,
                .gpus = need->gpus,
                .memory_bytes = need->memory_bytes,
                .disk_bytes = need->disk_bytes,
                .on = need->on,
                .no_spot = no_spot,
                .no_on_demand = no_on_demand };
        struct pd_error err;
        size_t n;

        /* kept with the job: finding a class takes a pass over the classes */
        if (c->epoch != k->epoch || c->cpu_milli != need->cpu_milli || c->memory_bytes != need->memory_bytes) {
                if (market_class(k->index, &want, &c->id, &err) < 0 || market_build(k->index, &err) < 0) {
                        log_warning("offers are not looked at: %s", err.text);
                        return;
                }
                c->epoch = k->epoch;
                c->cpu_milli = need->cpu_milli;
                c->memory_bytes = need->memory_bytes;
        }
        n = market_cheapest(k->index, c->id, MARKET_CHEAPEST_MAX, ids);
        for (size_t i = 0; i < n && i < MARKET_CHEAPEST_MAX; i++)
                found_add(f, &k->at.at[k->rented.at[ids[i]]]);
}

static void candidates(
        struct engine *e, struct offers_known *k, struct entry *en, const struct placement_need *sized, struct found *f)
{
        const struct mach *target = en->job.move == MOVE_TARGET ? machine_find(e, en->job.other) : NULL;
        const struct known *its = target ? known_of_machine(k, target) : NULL;
        struct looks_class *c = en->live->classes;
        struct placement_need about_it = *sized, *need = &about_it;

        vec_foreach (i, &k->own)
                found_add(f, &k->at.at[*i]);
        if (its) /* among the cheapest or not by now, sold out or not */
                found_add(f, its);
        if (!k->index)
                return;
        need->cpu_milli = (int32_t)about((uint64_t)sized->cpu_milli, (uint64_t)en->live->need.cpu_milli);
        need->memory_bytes = about(sized->memory_bytes, en->live->need.memory_bytes);
        if (!need->no_spot)
                of_class(k, need, false, true, &c[0], f);
        of_class(k, need, true, false, &c[1], f);
}

/* --- one offer for the policies --- */
static uint64_t key_of(const char *name)
{
        uint64_t h = UINT64_C(14695981039346656037);

        for (; *name; name++)
                h = (h ^ (uint8_t)*name) * UINT64_C(1099511628211);
        return h;
}

uint64_t offers_key(const char *name)
{
        return key_of(name);
}

static int64_t span_of(uint64_t bytes, int64_t bytes_s)
{
        unsigned __int128 us = (unsigned __int128)bytes * USEC_PER_SEC / (uint64_t)bytes_s;

        return us > (unsigned __int128)MARKET_SPAN_MAX ? MARKET_SPAN_MAX : (int64_t)us;
}

/* Out of the source and into the target, the standing still before, and the proof of life. */
static int64_t handover(const struct entry *en, const struct known *source)
{
        const struct market_notice *n = source ? &source->base.notice : NULL;
        int64_t rate = n && n->save_bytes_s ? n->save_bytes_s : n ? n->provider_bytes_s : 0;
        uint64_t state = en->job.state_bytes;

        if (state == 0 && en->live->memory_bytes > 0)
                state = (uint64_t)en->live->memory_bytes;
        return 2 * span_of(state, rate > 0 ? rate : SAVE_ASSUMED_BYTES_S) + (n ? n->freeze_us : 0) + PROOF_US;
}

static int64_t egress(const struct entry *en, const struct known *source, const struct known *target)
{
        if (!source || source->own || source->egress_nano_gib <= 0 ||
                (source->conn == target->conn && streq(source->base.zone, target->base.zone)))
                return 0;
        return (int64_t)(((unsigned __int128)en->job.state_bytes * (uint64_t)source->egress_nano_gib + BYTES_GIB - 1) /
                         BYTES_GIB);
}

/* In its machine's currency, where a dated rate leads there; else as it is, and the policies say why it is not compared. */
static struct money rate_of(const struct engine *e, const struct entry *en, const struct money *price)
{
        struct money ret;

        return market_convert(price, en->live->machine->rec.currency, &e->site->rates, now_wall(e), &ret, NULL) < 0
                       ? *price
                       : ret;
}

static struct policy_offer as_policy(const struct engine *e, const struct entry *en, const struct known *source,
        const struct known *o, const struct placement_offer *p)
{
        struct policy_offer ret = { .name = o->name, .key = key_of(o->name), .spot = p->market == PD_MARKET_SPOT };

        ret.rate = rate_of(e, en, &p->price);
        ret.not_before_wall_us = p->not_before_wall_us;
        ret.notice = p->notice;
        ret.create_us = o->own ? 0 : o->pool && o->pool->boot_us ? o->pool->boot_us : BOOT_ASSUMED_US;
        ret.handover_us = handover(en, source);
        ret.minimum_us = o->own ? 0 : o->conn->caps.minimum_billing_us;
        ret.egress_nano = egress(en, source, o);
        if (streq(en->live->capture, "restart")) /* it carries nothing: all that was worked is worked again */
                ret.lost_us = job_ran_us(e, &en->job);
        return ret;
}

/* --- the look --- */
static bool is_own_place(const struct entry *en, const struct known *source, const struct known *o)
{
        return o == source ||
               (o->own && o->conn == en->live->machine->conn && streq(o->base.zone, en->live->machine->rec.zone) &&
                       streq(o->base.type, en->live->machine->rec.type));
}

static int rank_all(struct engine *e, const struct placement_need *need, const struct looks *x,
        struct placement_choice **ret, size_t *ret_ok, struct pd_error *err)
{
        struct placement_choice *c = calloc(x->offers.at.n + 1, sizeof *c);
        int r;

        if (!c)
                return pd_fail(err, PD_E_NOMEM, "no memory for a look");
        r = placement_rank(need, x->offers.at.at, x->offers.at.n, now_wall(e), c, ret_ok, err);
        if (r < 0)
                free(c);
        else
                *ret = c;
        return r;
}

static bool take_ranked(struct engine *e, const struct entry *en, const struct known *source, const struct found *f,
        const struct placement_choice *c, size_t ok, struct looks *ret)
{
        for (size_t i = 0; i < ok; i++) {
                struct policy_offer o = as_policy(e, en, source, f->at[c[i].offer], &ret->offers.at.at[c[i].offer]);

                if (!vec_push(&ret->at, o) || !vec_push(&ret->of, c[i].offer))
                        return false;
        }
        return true;
}

static bool same_size(const struct placement_need *a, const struct placement_need *b)
{
        return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes;
}

/* The machine that a move goes to is there already: that it was the last of its kind, or that another could not be had, is no reason against it. */
static bool is_target(const struct engine *e, const struct entry *en, const struct known *o)
{
        const struct mach *m = en->job.move == MOVE_TARGET ? machine_find(e, en->job.other) : NULL;

        return m && !o->own && o->conn == m->conn && streq(o->base.zone, m->rec.zone) &&
               streq(o->base.type, m->rec.type) && o->base.market == m->rec.market;
}

static bool look(struct engine *e, struct entry *en, const struct known *source, const struct found *f,
        struct placement_need *need, struct looks *ret)
{
        pd_cleanup(freep) struct placement_choice *c = NULL;
        struct found taken = { .n = 0 };
        struct pd_error err;
        size_t ok = 0;
        int r;

        for (size_t i = 0; i < f->n; i++) {
                if (is_own_place(en, source, f->at[i]))
                        continue;
                if (is_target(e, en, f->at[i])) {
                        struct known held = *f->at[i];

                        held.stock = 1;
                        if (held.pool && !held.pool->reclaimed)
                                held.base.not_before_wall_us = 0;
                        if (!known_offer(&ret->offers, e, &held, need))
                                return false;
                } else if (!known_offer(&ret->offers, e, f->at[i], need)) {
                        return false;
                }
                found_add(&taken, f->at[i]);
        }
        r = rank_all(e, need, ret, &c, &ok, &err);
        if (r >= 0 && ok == 0 && !same_size(need, &en->live->need)) {
                need->cpu_milli = en->live->need.cpu_milli; /* P-14 keeps no job from a place */
                need->memory_bytes = en->live->need.memory_bytes;
                free(pd_steal(c));
                r = rank_all(e, need, ret, &c, &ok, &err);
        }
        if (r < 0) {
                log_warning("offers are not looked at: %s", err.text);
                return false;
        }
        return take_ranked(e, en, source, &taken, c, ok, ret);
}

/* What the next place is asked for (P-14): the sizes in live->need grow with what was measured. */
static void need_now(struct entry *en, struct placement_need *ret)
{
        struct policy_job j = { .pinned = en->live->pinned,
                .cpu_milli = en->live->need.cpu_milli,
                .memory_bytes = en->live->need.memory_bytes };
        struct policy_measures x = { 0 };
        struct policy_size size;

        *ret = en->live->need;
        gather_peaks(en, &x);
        size = policy_size(&j, &x, &en->live->settings);
        ret->cpu_milli = size.cpu_milli;
        ret->memory_bytes = size.memory_bytes;
        ret->on = en->live->on[0] ? en->live->on : NULL;
        ret->capture = en->live->capture;
        ret->state_bytes = en->job.state_bytes;
        ret->no_spot = !en->live->settings.spot_use;
}

bool offers_look(
        struct engine *e, struct entry *en, bool all, struct looks *ret, struct policy_job *j, struct policy_machine *m)
{
        struct offers_known *k = known_now(e);
        const struct mach *at = en->live ? en->live->machine : NULL;
        const struct known *source;
        struct placement_need need;
        struct found f = { .n = 0 };

        *ret = (struct looks){ .text = "" };
        if (!k || !at)
                return true;
        source = known_of_machine(k, at);
        of_machine(e, at, source, m, ret->text);
        if (!all && !is_wanted(en, j, m, now_wall(e)))
                return true;
        need_now(en, &need);
        candidates(e, k, en, &need, &f);
        if (!look(e, en, source, &f, &need, ret))
                return false;
        ret->cpu_milli = need.cpu_milli;
        ret->memory_bytes = need.memory_bytes;
        j->offers = ret->at.at;
        j->offers_n = ret->at.n;
        return true;
}

bool looks_one(struct engine *e, struct entry *en, const struct known *o, struct offers *k, struct policy_offer *ret)
{
        const struct offers_known *known = known_now(e);
        struct placement_need need;

        if (!known || !en->live)
                return false;
        need_now(en, &need);
        if (!known_offer(k, e, o, &need))
                return false;
        *ret = as_policy(e, en, known_of_machine(known, en->live->machine), o, &k->at.at[k->at.n - 1]);
        return true;
}

void looks_free(struct looks *x)
{
        vec_free(&x->at);
        vec_free(&x->of);
        offers_free(&x->offers);
}
