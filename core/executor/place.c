/* SPDX-License-Identifier: Apache-2.0 */
/* From the queue to a machine: what can take the job now, the order that its runner gets, and the plan that a user sees before. */
#include "executor/internal.h"

#include "base/log.h"
#include "placement/placement.h"

#define LOOKS_A_TURN 64            /* specs read from disk in one go: the loop stays quick with any queue */
#define LOOK_AGAIN_US USEC_PER_MIN /* one that fits nowhere, doubling to ... */
#define LOOK_AGAIN_MAX_US (8 * USEC_PER_MIN)
#define ANEW_QUEUE_MAX 1000 /* a longer queue is not gone through for each job that leaves a place */

/* --- the order --- */
json_t *order_orders(struct turn *t, struct entry *en, const struct settings *s, const struct mach *m)
{
        struct engine *e = t->engine;
        const struct job *j = &en->job;
        char ttl_id[ID_TEXT_MAX], notice_id[ID_TEXT_MAX];
        int64_t left = j->ttl_us == SETTING_OFF ? -1 : j->ttl_us - j->ran_us;
        bool provider_keeps = !m->rec.own && m->rec.lease != PD_LEASE_GUEST && m->rec.stop_sure_wall_us;
        int64_t stop = provider_keeps ? m->rec.stop_sure_wall_us : m->rec.stop_possible_wall_us;
        struct id notice = engine_id(e);
        json_t *o = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I}", "ttl_checkpoint",
                id_format(ID_CHECKPOINT, engine_id(e), ttl_id), "notice_checkpoint",
                id_format(ID_CHECKPOINT, notice, notice_id), "save_deadline_us", (json_int_t)s->save_deadline_us,
                "stop_grace_us", (json_int_t)s->stop_grace_us, "lease_stop_wall_us", (json_int_t)stop,
                "lease_stop_boot_us", (json_int_t)machine_boot_us(m, stop));

        (void)json_object_set_new(o, "ttl_left_us",
                left < 0 && j->ttl_us == SETTING_OFF ? json_null() : json_integer(left > 0 ? left : 0));
        if (en->live)
                en->live->notice_checkpoint = notice;
        (void)json_object_set_new(o, "on_notice", json_boolean(s->spot && !planted(PLANT_NO_ORDERS)));
        return o;
}

static const struct engine_backend *backend(const struct engine_backend *all, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++)
                if (streq(all[i].name, name))
                        return &all[i];
        return NULL;
}

const char *job_vault(struct engine *e, const struct job *j, struct checkpoint *scratch)
{
        struct pd_error err;
        struct checkpoint c;

        if (!id_is_null(j->checkpoint) && store_get_checkpoint(e->env->store, j->checkpoint, &c, &err) >= 0 &&
                c.vault[0]) {
                memcpy(scratch->vault, c.vault, sizeof scratch->vault);
                return scratch->vault;
        }
        return str_or(e->site->default_vault, "");
}

/* The site's options first, the job's on top. */
static json_t *backend_json(const struct engine_backend *b, const json_t *settings)
{
        json_t *all = b->options ? json_deep_copy(b->options) : json_object();

        if (settings)
                (void)json_object_update(all, (json_t *)(uintptr_t)settings);
        return json_pack("{s:s,s:s,s:o}", "name", b->name, "path", b->plugin, "settings", all);
}

static json_t *argv_json(char *const *argv)
{
        json_t *a = json_array();

        for (; *argv; argv++)
                (void)json_array_append_new(a, json_string(*argv));
        return a;
}

static const char *capture_of(const struct spec *s)
{
        return s->capture ? s->capture : "values";
}

json_t *order_make(struct turn *t, struct entry *en, const struct spec *s, const struct settings *set,
        const json_t *doc, const struct mach *m)
{
        const struct engine_site *site = t->engine->site;
        const struct engine_backend *cap = backend(site->captures, site->captures_n, capture_of(s));
        struct checkpoint scratch;
        const struct engine_backend *vault =
                backend(site->vaults, site->vaults_n, job_vault(t->engine, &en->job, &scratch));
        char job[ID_TEXT_MAX], ckp[ID_TEXT_MAX];
        json_t *o;

        if (!cap || !vault)
                return NULL;
        o = json_pack("{s:s,s:s,s:I,s:s,s:s,s:{s:s},s:o,s:O,s:I,s:I,s:I,s:I,s:b,s:O,s:o,s:o,s:o}", "op", "start", "job",
                id_format(ID_JOB, en->job.id, job), "generation", (json_int_t)en->job.generation, "name",
                js_str(doc, "name", ""), "user", js_str(doc, "user", ""), "image", "ref", s->image, "command",
                argv_json(s->command), "env", s->env, "cpu_milli", (json_int_t)s->cpu_milli, "memory_bytes",
                (json_int_t)s->memory_bytes, "gpus", (json_int_t)s->gpus, "shm_bytes", (json_int_t)s->shm_bytes,
                "user_ns", s->user_ns, "mounts", s->mounts, "capture", backend_json(cap, s->capture_settings), "vault",
                backend_json(vault, NULL), "orders", order_orders(t, en, set, m));
        if (!o)
                return NULL;
        if (s->disk_bytes)
                (void)json_object_set_new(o, "disk_bytes", json_integer((json_int_t)s->disk_bytes));
        if (s->workdir)
                (void)json_object_set_new(o, "workdir", json_string(s->workdir));
        (void)json_object_set_new(o, "restore",
                en->job.state == JOB_RESTORING
                        ? json_pack("{s:s}", "checkpoint", id_format(ID_CHECKPOINT, en->job.checkpoint, ckp))
                        : json_null());
        return o;
}

/* --- placing one job --- */
void live_fill(struct live *l, const struct spec *s, const struct settings *set, const json_t *doc)
{
        l->settings = *set;
        (void)str_format(l->capture, sizeof l->capture, "%s", capture_of(s));
        l->pinned = placement_pinned(s->on);
        l->need = (struct placement_need){
                .cpu_milli = s->cpu_milli, .gpus = s->gpus, .memory_bytes = s->memory_bytes, .disk_bytes = s->disk_bytes
        };
        (void)str_format(l->on, sizeof l->on, "%s", str_or(s->on, ""));
        (void)str_format(l->name, sizeof l->name, "%s", js_str(doc, "name", ""));
}

/* A job and what is known of it, on its way to a machine. */
struct placing {
        struct engine *engine;
        struct entry *en;
        struct spec *s;
        struct settings set;
        json_t *doc;
        struct placement_need need;
        struct offers k;
        struct placement_choice *choices; /* as placement ranks them; the one taken comes first */
        size_t ok;
};

static void placing_free(struct placing *p)
{
        (void)spec_free(p->s);
        json_decref(p->doc);
        free(p->choices);
        offers_free(&p->k);
}

/* need: the size that it is to have there (P-14). evidence is given. */
static void place_on(struct turn *t, struct entry *en, struct spec *s, const struct settings *set, const json_t *doc,
        struct mach *m, const struct placement_need *need, const char *why, json_t *evidence)
{
        struct engine *e = t->engine;
        bool restores =
                !id_is_null(en->job.checkpoint) && !(en->job.flags & JOB_FLAG_FRESH) && !planted(PLANT_RESUME_FRESH);
        struct job after = en->job;
        char offer[192], message[320];
        json_t *order;
        int64_t stop;

        machine_offer_name(m, offer, sizeof offer);
        after.state = restores ? JOB_RESTORING : JOB_STARTING;
        after.cause = CAUSE_NONE;
        after.generation += !planted(PLANT_SAME_GENERATION) || after.generation == 0;
        after.machine = m->rec.id;
        after.next_try_wall_us = 0;
        after.cpu_milli = need->cpu_milli;
        after.memory_bytes = need->memory_bytes;
        en->job.cpu_milli = need->cpu_milli; /* the room that it takes there is counted by its new size */
        en->job.memory_bytes = need->memory_bytes;
        if (!live_new(en, m)) {
                log_error("no memory to place a job");
                json_decref(evidence);
                return;
        }
        live_fill(en->live, s, set, doc);
        (void)str_format(message, sizeof message, "%s on %s", restores ? "is taken up" : "starts", offer);
        if (!job_change(t, en, after, EVENT_PLACE, &(struct job_doc){ .offer = offer }, message)) {
                json_decref(evidence);
                return;
        }
        stop = m->rec.own ? money_renew(t, m, t->now_wall_us + set->lease_horizon_us) : 0;
        if (m->rec.stop_possible_wall_us < stop) {
                m->rec.stop_possible_wall_us = stop;
                txn_machine(t->txn, &m->rec);
        }
        act_decision(t, en->job.id, "placement", "place", why, evidence, NULL);
        s->cpu_milli = need->cpu_milli;
        s->memory_bytes = need->memory_bytes;
        order = order_make(t, en, s, set, doc, m);
        if (!order) {
                struct pd_error err;

                struct checkpoint scratch;

                (void)pd_fail(&err, PD_E_INVALID,
                        "checkpoint \"%s\" or vault \"%s\" is not in the site's config any more", capture_of(s),
                        job_vault(e, &en->job, &scratch));
                start_failed(t, en, &err);
                return;
        }
        (void)intent_open(t, INTENT_START, en, m, order);
}

/* Does a cap refuse it a place on an own machine that has a price? By its size there. */
static bool stay_refused(struct turn *t, const struct placing *p, struct mach *m, struct pd_error *err)
{
        struct entry sized = *p->en;

        sized.job.cpu_milli = p->need.cpu_milli;
        sized.job.memory_bytes = p->need.memory_bytes;
        return money_stay_reserve(t, &sized, m, err) < 0;
}

/* The best that can be had: one that a cap or its provider refuses lets the next have its turn. NULL = none; *err says what the first one lacked. */
static struct mach *take(struct turn *t, struct placing *p, struct pd_error *err)
{
        struct pd_error last;

        for (size_t i = 0; i < p->ok; i++) {
                const struct offer_of *of = &p->k.of.at[p->choices[i].offer];
                struct mach *m = of->machine ? of->machine
                                             : rent_machine(t, p->en, of->conn, of->offer, &p->set, i ? &last : err);
                struct placement_choice chosen = p->choices[i];

                if (m && of->machine && stay_refused(t, p, m, i ? &last : err))
                        m = NULL;
                if (!m) {
                        (void)str_format(p->choices[i].why, sizeof p->choices[i].why, "%s", i ? last.text : err->text);
                        continue;
                }
                for (; i > 0; i--)
                        p->choices[i] = p->choices[i - 1];
                p->choices[0] = chosen;
                return m;
        }
        return NULL;
}

/* None of the offers that fit may be had: its user sees which cap it was, and it is looked at again with back-off. */
static void held_back(struct turn *t, struct entry *en, const struct pd_error *why)
{
        struct job after = en->job;
        int64_t wait = PLACE_RETRY_US;
        char message[400];

        for (uint32_t i = 0; i < after.tries && wait < PLACE_RETRY_MAX_US; i++)
                wait *= 2;
        after.tries++;
        after.next_try_wall_us = t->now_wall_us + (wait < PLACE_RETRY_MAX_US ? wait : PLACE_RETRY_MAX_US);
        (void)str_format(message, sizeof message, "waits, no machine can be had for it now: %s", why->text);
        job_touch(t, en, after, &(struct job_doc){ .message = message });
}

static void place_ranked(struct placing *p)
{
        struct turn *t = turn_new(p->engine);
        struct pd_error err;
        struct mach *m;

        if (!t)
                return;
        m = take(t, p, &err);
        if (m)
                place_on(t, p->en, p->s, &p->set, p->doc, m, &p->need, p->choices[0].why,
                        evidence_of_place(&p->k, p->choices, p->ok, &p->need));
        else
                held_back(t, p->en, &err);
        turn_end(t);
}

enum tried { TRIED_NOTHING, TRIED, NOT_STORED };

static enum tried try_place(struct engine *e, struct entry *en)
{
        struct placing p = { .engine = e, .en = en };
        struct pd_error err;

        if (job_load_spec(e, en->job.id, &p.s, &p.set, &p.doc, NULL, &err) < 0) {
                if (err.code ==
                        PD_E_NOT_FOUND) /* its submit is still on its way to the disk, and asks again when it is there */
                        return NOT_STORED;
                log_error("a queued job cannot be read: %s", err.text);
                return TRIED_NOTHING;
        }
        if (offers_rank(e, en, p.s, &p.set, &p.k, &p.need, &p.choices, &p.ok, &err) >= 0 && p.ok > 0)
                place_ranked(&p);
        placing_free(&p);
        return !en->queued || en->job.next_try_wall_us > now_wall(e) ? TRIED : TRIED_NOTHING;
}

/* What there is room for, gathered once a look at the queue. */
struct rooms {
        int64_t *room; /* cpu, memory, GPUs of each machine */
        size_t n;      /* machines when the look began       */
};

static bool takes(const struct engine *e, const struct mach *m)
{
        return m->rec.own && m->up && !machine_noticed(e, m);
}

static bool rentable(const struct connection *c)
{
        return c->state == CONN_READY && !(c->caps.flags & PD_CAP_OWN_MACHINES);
}

static bool offer_fits(const struct connection *c, const struct job *j)
{
        size_t i;
        json_t *o;

        json_array_foreach (c->offers, i, o)
                if (js_int(o, "cpu_milli", 0) >= j->cpu_milli &&
                        js_int(o, "memory_bytes", 0) >= (int64_t)j->memory_bytes && js_int(o, "gpus", 0) >= j->gpus)
                        return true;
        return false;
}

/* Could any machine take it, by the figures in its hot record alone? Spares reading the specs of a long queue. */
static bool may_fit(const struct engine *e, const struct job *j, const struct rooms *r)
{
        for (size_t i = 0; i < r->n; i++)
                if (takes(e, e->machines.at[i]) && r->room[i * 3] >= j->cpu_milli &&
                        r->room[i * 3 + 1] >= (int64_t)j->memory_bytes && r->room[i * 3 + 2] >= j->gpus)
                        return true;
        vec_foreach (c, &e->connections)
                if (rentable(*c) && offer_fits(*c, j))
                        return true;
        return false;
}

static void rooms(const struct engine *e, struct rooms *r)
{
        /* one that is away takes nothing; its sum over all jobs is not made (room came as zeros) */
        for (size_t i = 0; i < r->n; i++)
                if (takes(e, e->machines.at[i]))
                        machine_free_room(
                                e, e->machines.at[i], &r->room[i * 3], &r->room[i * 3 + 1], &r->room[i * 3 + 2]);
}

static bool any_room(const struct engine *e, const struct rooms *r)
{
        for (size_t i = 0; i < r->n; i++)
                if (takes(e, e->machines.at[i]) && r->room[i * 3] > 0 && r->room[i * 3 + 1] > 0)
                        return true;
        vec_foreach (c, &e->connections)
                if (rentable(*c) && json_array_size((*c)->offers) > 0)
                        return true;
        return false;
}

static void place_run(void *arg)
{
        struct engine *e = arg;
        int64_t now = now_wall(e), next = INT64_MAX;
        pd_cleanup(freep) int64_t *room = calloc(e->machines.n * 3 + 1, sizeof *room);
        struct rooms all = { room, e->machines.n };
        size_t looks = 0;
        struct entry *following;
        enum tried tried;

        e->place_wanted = false;
        if (!room || e->stopping || e->broken)
                return;
        rooms(e, &all);
        vec_foreach (m, &e->machines)
                if (machine_noticed(e, *m) && (*m)->rec.notice_wall_us < next) {
                        next = (*m)->rec.notice_wall_us;
                }
        /* with no room anywhere the queue is not walked: whoever comes up, or ends, asks again */
        for (struct entry *en = any_room(e, &all) ? e->queue_first : NULL; en; en = following) {
                following = en->queue_next;
                if (en->job.next_try_wall_us > now) {
                        next = en->job.next_try_wall_us < next ? en->job.next_try_wall_us : next;
                        continue;
                }
                if (!may_fit(e, &en->job, &all))
                        continue;
                if (++looks > LOOKS_A_TURN) {
                        place_soon(e);
                        return;
                }
                tried = try_place(e, en);
                if (tried == NOT_STORED)
                        continue;
                if (tried == TRIED) {
                        rooms(e, &all);
                        if (en->queued && en->job.next_try_wall_us < next)
                                next = en->job.next_try_wall_us;
                } else {
                        /* what it asks for is not to be had now: it lets the others have their look */
                        en->job.next_try_wall_us = now + (LOOK_AGAIN_US << en->looks);
                        if (LOOK_AGAIN_US << en->looks < LOOK_AGAIN_MAX_US)
                                en->looks++;
                        next = en->job.next_try_wall_us < next ? en->job.next_try_wall_us : next;
                }
        }
        if (next != INT64_MAX)
                e->env->ops->timer_set(e->place_timer, now_boot(e) + (next - now));
}

void place_soon(struct engine *e)
{
        if (!e->place_timer || e->place_wanted || e->queue_n == 0)
                return;
        e->place_wanted = true;
        e->env->ops->timer_set(e->place_timer, now_boot(e));
}

void place_anew(struct engine *e)
{
        for (struct entry *en = e->queue_first; en; en = en->queue_next)
                if (en->job.tries == 0) {
                        en->job.next_try_wall_us = 0;
                        en->looks = 0;
                }
        place_soon(e);
}

void place_freed(struct engine *e)
{
        if (e->queue_n < ANEW_QUEUE_MAX)
                place_anew(e);
        else
                place_soon(e);
}

int place_start(struct engine *e, struct pd_error *err)
{
        return e->env->ops->timer_new(e->env, &e->place_timer, place_run, e, err);
}

/* --- what a person is told --- */
static json_t *losers(const struct offers *k, const struct placement_choice *c, size_t from)
{
        json_t *list = json_array();

        for (size_t i = from; i < k->at.n; i++) {
                char name[PLACEMENT_NAME_MAX];

                (void)json_array_append_new(
                        list, json_pack("{s:s,s:s}", "offer", placement_offer_name(&k->at.at[c[i].offer], name), "why",
                                      c[i].why));
        }
        return list;
}

static void say_policies(json_t *plan, const struct spec *s, const struct settings *set)
{
        char a[QUANTITY_MAX], b[QUANTITY_MAX];
        const char *cap = capture_of(s);
        bool carries = !streq(cap, "restart"), whole = streq(cap, "criu");

        (void)json_object_set_new(plan, "capture", json_string(cap));
        (void)json_object_set_new(plan, "capture_why",
                json_string(!s->capture ? "by default: the program takes part with five lines (portal.py or portal.h); "
                                          "one that does not cannot be saved"
                            : whole     ? "as you asked: its processes as they are, in a container without a user "
                                          "namespace, which criu cannot carry"
                            : carries   ? "as you asked"
                                        : "as you asked: nothing of the process is carried, only its files; it starts "
                                          "from its beginning"));
        (void)json_object_set_new(plan, "notice",
                json_sprintf("when its machine is about to be taken away: %s",
                        set->spot ? "saved by its runner and suspended, for you to resume"
                                  : "nothing (spot = off): it ends with the machine"));
        (void)json_object_set_new(plan, "idle",
                set->idle ? json_sprintf("suspended after %s without progress and under %d.%02d%% of a core",
                                    duration_format(set->idle_after_us, a), set->idle_cpu_percent / 100,
                                    set->idle_cpu_percent % 100)
                          : json_string("never suspended for idleness (idle = off)"));
        (void)json_object_set_new(plan, "ttl",
                set->ttl_us == SETTING_OFF
                        ? json_string("no time limit (ttl = off)")
                        : json_sprintf("stopped after %s of running time, saved first, its checkpoint kept %s",
                                  duration_format(set->ttl_us, a), duration_format(set->ttl_keep_us, b)));
        (void)json_object_set_new(plan, "budget",
                set->budget.currency[0] ? json_sprintf("%s: kept for the record; this release runs jobs on own "
                                                       "machines at a configured rate and does not act on it",
                                                  money_format(&set->budget, a))
                                        : json_string("none set"));
}

static void plan_offer(
        json_t *plan, const struct offers *k, const struct placement_choice *c, size_t ok, const struct settings *set)
{
        const struct placement_offer *o = ok ? &k->at.at[c[0].offer] : NULL;
        char name[PLACEMENT_NAME_MAX], lease[QUANTITY_MAX];
        int64_t worst;

        if (!o) {
                (void)json_object_set_new(plan, "offer", json_null());
                (void)json_object_set_new(plan, "worst_case", json_null());
                return;
        }
        worst = money_cost(o->price.nano, set->lease_horizon_us);
        (void)json_object_set_new(plan, "offer", json_string(placement_offer_name(o, name)));
        (void)json_object_set_new(plan, "price",
                json_pack("{s:I,s:s}", "nano_hour", (json_int_t)o->price.nano, "currency", o->price.currency));
        (void)json_object_set_new(plan, "worst_case",
                json_pack("{s:I,s:s,s:o}", "nano", (json_int_t)worst, "currency", o->price.currency, "why",
                        json_sprintf("with portald gone its lease ends it within %s",
                                duration_format(set->lease_horizon_us, lease))));
}

json_t *place_plan(struct engine *e, const struct spec *spec, const struct settings *set, struct pd_error *err)
{
        struct offers k = { 0 };
        struct placement_choice *choices = NULL;
        struct placement_need need;
        size_t ok = 0;
        json_t *plan = NULL, *warnings = json_array();
        int r = 0;

        if (!backend(e->site->captures, e->site->captures_n, capture_of(spec)))
                r = pd_fail(err, PD_E_INVALID, "checkpoint \"%s\" is not in the site's config: see `portal plugins`",
                        capture_of(spec));
        if (r >= 0)
                r = offers_rank(e, NULL, spec, set, &k, &need, &choices, &ok, err);
        if (r >= 0 && ok == 0) {
                bool later = false;

                for (size_t i = 0; i < k.at.n; i++)
                        later |= choices[i].later;
                if (!later && k.at.n)
                        r = pd_fail(err, PD_E_INVALID, "no machine of this site can ever take it: %s", choices[0].why);
                else
                        (void)json_array_append_new(warnings,
                                json_sprintf("it waits: %s", k.at.n ? choices[0].why : "no connection is ready"));
        }
        if (r >= 0) {
                plan = json_object();
                plan_offer(plan, &k, choices, ok, set);
                say_policies(plan, spec, set);
                if (!set->cheaper && set->ret) /* P-18 */
                        (void)json_array_append_new(warnings,
                                json_string("cheaper is off; return stays on: off spot, the job still moves back to a "
                                            "spot offer that saves enough (--no-return turns that off)"));
                (void)json_object_set(plan, "warnings", warnings);
                (void)json_object_set_new(plan, "losers", losers(&k, choices, ok ? 1 : 0));
        }
        json_decref(warnings);
        free(choices);
        offers_free(&k);
        return plan;
}

void place_waiting(const struct engine *e, const struct job *j, char *buf, size_t n)
{
        char text[QUANTITY_MAX];
        bool any = false;

        buf[0] = '\0';
        vec_foreach (m, &e->machines) {
                int64_t cpu, memory, gpus;
                char offer[192], a[QUANTITY_MAX], b[QUANTITY_MAX];

                if (!(*m)->rec.own)
                        continue;
                machine_offer_name(*m, offer, sizeof offer);
                any = true;
                if (!(*m)->up) {
                        (void)str_format(buf, n, "%s is not reachable: %s", offer, (*m)->why);
                        continue;
                }
                machine_free_room(e, *m, &cpu, &memory, &gpus);
                if (cpu < j->cpu_milli)
                        (void)str_format(buf, n, "%s has %s cores free of the %s asked", offer,
                                cpu_format((int32_t)(cpu > 0 ? cpu : 0), a), cpu_format(j->cpu_milli, b));
                else if (memory < (int64_t)j->memory_bytes)
                        (void)str_format(buf, n, "%s has %s of memory free of the %s asked", offer,
                                size_format((uint64_t)(memory > 0 ? memory : 0), a), size_format(j->memory_bytes, b));
                else if (gpus < j->gpus)
                        (void)str_format(
                                buf, n, "%s has %lld GPUs free of the %d asked", offer, (long long)gpus, j->gpus);
                if (machine_noticed(e, *m))
                        (void)str_format(buf, n, "%s gave notice, and takes no job for another %s", offer,
                                duration_format(
                                        ((*m)->rec.notice_wall_us - now_wall(e)) / USEC_PER_SEC * USEC_PER_SEC, a));
        }
        for (size_t i = 0; !any && i < e->connections.n; i++) {
                const struct connection *c = e->connections.at[i];

                any = rentable(c) && json_array_size(c->offers) > 0;
                if (any && !offer_fits(c, j))
                        (void)str_format(buf, n, "no machine of connection %s is large enough", c->name);
        }
        if (!any)
                (void)str_format(buf, n, "no machine is connected yet");
        if (!buf[0] && j->tries && j->next_try_wall_us > now_wall(e))
                (void)str_format(buf, n, "it is tried again in %s",
                        duration_format((j->next_try_wall_us - now_wall(e)) / USEC_PER_SEC * USEC_PER_SEC, text));
        if (!buf[0])
                (void)str_format(buf, n, "its turn comes next");
}
