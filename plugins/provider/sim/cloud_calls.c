/* SPDX-License-Identifier: Apache-2.0 */
/* The API of the simulated cloud: what may be asked, what it says, and how it fails. */
#include "cloud_parts.h"

#include <stdio.h>
#include <string.h>

#define RETRY_US INT64_C(10000000) /* of a throttled call, unless the script says otherwise */

static int fail_as(struct pd_error *err, enum pd_code code, const char *provider_code, const char *text)
{
        int r = pd_fail(err, code, "%s", text);

        if (err)
                (void)snprintf(err->provider_code, sizeof err->provider_code, "%s", provider_code);
        return r;
}

static const struct fault_rule *strike(struct cloud *c, enum fault_at at, enum fault_kind kind)
{
        return faults_strike(&c->p.faults, at, kind, cloud_dice, c);
}

/* What every call begins with: time, latency, and the faults that end it before it does anything. */
static int enter(struct cloud *c, enum fault_at at, int64_t now_wall_us, struct pd_error *err)
{
        const struct fault_rule *f;
        int r;

        cloud_begin(c, now_wall_us);
        f = strike(c, at, FAULT_LATENCY);
        if (f)
                c->latency_us += f->span_us;
        if (c->now_wall_us < c->outage_until_wall_us)
                return fail_as(err, PD_E_TRANSIENT, "ServiceUnavailable", "the simulated cloud has an outage");
        f = strike(c, at, FAULT_THROTTLE);
        if (f) {
                r = fail_as(err, PD_E_THROTTLED, "RequestLimitExceeded", "the simulated cloud was asked too often");
                if (err)
                        err->retry_after_us = f->retry_us ? f->retry_us : RETRY_US;
                return r;
        }
        if (strike(c, at, FAULT_TRANSIENT))
                return fail_as(err, PD_E_TRANSIENT, "InternalError", "a passing fault, as the fault script has it");
        if (strike(c, at, FAULT_AUTH))
                return fail_as(err, PD_E_AUTH, "UnauthorizedOperation",
                        "these credentials may not do that, as the fault script has it");
        if (strike(c, at, FAULT_REQUEST_LOST))
                return fail_as(
                        err, PD_E_UNKNOWN_OUTCOME, "RequestTimeout", "no answer came; the request was lost on its way");
        return 0;
}

/* What a call that changed something ends with. */
static int leave(struct cloud *c, enum fault_at at, struct pd_error *err)
{
        if (strike(c, at, FAULT_ANSWER_LOST))
                return fail_as(err, PD_E_UNKNOWN_OUTCOME, "RequestTimeout", "no answer came; it may have been done");
        return 0;
}

/* ---- offers ---- */

bool cloud_offer(const struct cloud *c, uint32_t i, struct pd_offer *ret)
{
        const struct trace_offer *o;
        const struct sim_market_offer *now;
        int32_t alive;

        if (i >= c->market.t.offers_n)
                return false;
        o = &c->market.t.offers[i];
        now = &c->market.now[i];
        alive = now->capacity < 0 ? 0 : cloud_alive(c, i);
        *ret = (struct pd_offer){ .size = sizeof *ret,
                .zone = o->zone,
                .type = o->type,
                .market = o->market,
                .currency = o->currency,
                .price_nano_hour = now->price_nano_hour,
                .price_at_wall_us = c->now_wall_us,
                .price_source = c->market.made_up ? "simulated" : "trace",
                .cpu_milli = o->cpu_milli,
                .gpus = o->gpus,
                .gpu_model = o->gpu_model,
                .gpu_memory_bytes = o->gpu_memory_bytes,
                .memory_bytes = o->memory_bytes,
                .disk_bytes = o->disk_bytes,
                .notice_us = o->notice_us,
                .max_lifetime_us = o->lifetime_us,
                .egress_nano_gib = o->egress_nano_gib,
                .stock = now->capacity < 0       ? -1
                         : now->capacity > alive ? now->capacity - alive
                                                 : 0 };
        return true;
}

int cloud_offers(struct cloud *c, int64_t now_wall_us, pd_offer_fn each, void *arg, struct pd_error *err)
{
        struct pd_offer o;
        uint32_t n = (uint32_t)c->market.t.offers_n;
        bool partial;
        int r = enter(c, FAULT_AT_OFFERS, now_wall_us, err);

        if (r < 0)
                return r;
        partial = strike(c, FAULT_AT_OFFERS, FAULT_PARTIAL) != NULL;
        for (uint32_t i = 0; r == 0 && i < (partial ? n / 2 : n); i++)
                if (c->market.now[i].listed && cloud_offer(c, i, &o))
                        r = each(arg, &o);
        if (r == 0 && partial)
                return fail_as(err, PD_E_TRANSIENT, "InternalError", "the list of offers broke off in its middle");
        return r;
}

/* ---- how a machine is shown ---- */

/* As it stood then. */
static enum pd_machine_state state_at(const struct cloud_machine *m, int64_t at)
{
        if (m->gone_wall_us <= at)
                return PD_MACHINE_GONE;
        if (m->stopping_wall_us <= at)
                return m->state == PD_MACHINE_STOPPED ? PD_MACHINE_STOPPED : PD_MACHINE_STOPPING;
        return m->ready_wall_us <= at ? PD_MACHINE_RUNNING : PD_MACHINE_PENDING;
}

static int show(const struct cloud *c, const struct cloud_machine *m, enum pd_machine_state state,
        cloud_machine_fn each, void *arg)
{
        const struct trace_offer *o = &c->market.t.offers[m->offer];
        struct pd_kv tags = { sizeof tags, m->tags_n, m->tags };
        struct pd_machine shown = { .size = sizeof shown,
                .id = m->id,
                .zone = o->zone,
                .type = o->type,
                .market = o->market,
                .state = state,
                .reason = state >= PD_MACHINE_STOPPING ? m->reason : PD_REASON_NONE,
                .endpoint = "",
                .created_wall_us = m->created_wall_us,
                .stop_wall_us = m->stop_wall_us == CLOUD_NEVER ? 0 : m->stop_wall_us,
                .op_token = m->token,
                .tags = &tags };

        return each(arg, &shown);
}

/* Is it forgotten by now: gone for so long that not even its id is known? */
static bool forgotten(const struct cloud *c, const struct cloud_machine *m, int64_t at)
{
        return m->gone_wall_us <= at && at - m->gone_wall_us > c->p.remember_us;
}

static bool carries(const struct cloud_machine *m, const struct pd_kv *expect)
{
        struct pd_kv tags = { sizeof tags, m->tags_n, m->tags };

        for (uint32_t i = 0; expect && i < expect->count; i++) {
                const char *have = pd_kv_get(&tags, expect->pairs[i].key);

                if (!have || strcmp(have, expect->pairs[i].value) != 0)
                        return false;
        }
        return true;
}

int cloud_find(
        struct cloud *c, int64_t now_wall_us, const char *token, cloud_machine_fn each, void *arg, struct pd_error *err)
{
        const struct cloud_machine *m;
        int r = enter(c, FAULT_AT_FIND, now_wall_us, err);

        if (r < 0)
                return r;
        m = cloud_find_token(c, token);
        if (!m || m->created_wall_us + m->lag_us > c->now_wall_us || forgotten(c, m, c->now_wall_us))
                return pd_fail(err, PD_E_NOT_FOUND, "no machine is seen that was launched for %.64s", token);
        return show(c, m, m->state, each, arg);
}

static int not_there(const char *id, struct pd_error *err)
{
        int r = pd_fail(err, PD_E_GONE, "there is no machine %.64s", id);

        if (err)
                (void)snprintf(err->provider_code, sizeof err->provider_code, "InvalidInstanceID.NotFound");
        return r;
}

int cloud_describe(
        struct cloud *c, int64_t now_wall_us, const char *id, cloud_machine_fn each, void *arg, struct pd_error *err)
{
        const struct cloud_machine *m;
        int r = enter(c, FAULT_AT_DESCRIBE, now_wall_us, err);

        if (r < 0)
                return r;
        m = cloud_find_id(c, id);
        if (!m || m->created_wall_us + m->lag_us > c->now_wall_us || forgotten(c, m, c->now_wall_us))
                return not_there(id, err);
        return show(c, m, m->state, each, arg);
}

int cloud_list(struct cloud *c, int64_t now_wall_us, const struct pd_kv *expect_tags, cloud_machine_fn each, void *arg,
        struct pd_error *err)
{
        const struct fault_rule *stale;
        int32_t n = 0, stop = INT32_MAX;
        bool drop;
        int r = enter(c, FAULT_AT_LIST, now_wall_us, err);

        if (r < 0)
                return r;
        stale = strike(c, FAULT_AT_LIST, FAULT_STALE);
        if (strike(c, FAULT_AT_LIST, FAULT_PARTIAL))
                stop = (int32_t)(cloud_dice(c) % 3) * c->p.page;
        drop = strike(c, FAULT_AT_LIST, FAULT_SHORT) != NULL;
        for (size_t i = 0; r == 0 && i < c->machines_n && n < stop; i++) {
                const struct cloud_machine *m = c->machines[i];
                int64_t at = c->now_wall_us - (m->foreign ? 0 : m->lag_us) - (stale ? stale->span_us : 0);

                if (m->created_wall_us > at || forgotten(c, m, at) || !carries(m, expect_tags))
                        continue;
                if (drop && cloud_dice(c) % 2 == 0)
                        continue;
                r = show(c, m, state_at(m, at), each, arg);
                n++;
        }
        if (r == 0 && stop != INT32_MAX)
                return fail_as(err, PD_E_TRANSIENT, "InternalError", "the list broke off between two pages");
        return r;
}

/* ---- launch ---- */

static int check_launch(const struct cloud *c, const struct pd_launch *req, uint32_t *ret_offer, struct pd_error *err)
{
        uint32_t i = 0;

        while (i < c->market.t.offers_n) {
                const struct trace_offer *o = &c->market.t.offers[i];

                if (o->market == req->market && strcmp(o->type, req->type) == 0 && strcmp(o->zone, req->zone) == 0)
                        break;
                i++;
        }
        if (i == c->market.t.offers_n || !c->market.now[i].listed)
                return pd_fail(err, PD_E_INVALID, "there is no %.48s/%.64s%s in the simulated cloud", req->zone,
                        req->type, req->market == PD_MARKET_SPOT ? "/spot" : "");
        if (req->stop_wall_us <= c->now_wall_us)
                return pd_fail(err, PD_E_INVALID,
                        "the hard stop lies %lld s in the past; a machine needs one that is to come",
                        (long long)((c->now_wall_us - req->stop_wall_us) / 1000000));
        if (req->tags && req->tags->count > (uint32_t)c->p.tag_max)
                return pd_fail(
                        err, PD_E_INVALID, "%u tags; a machine here has at most %d", req->tags->count, c->p.tag_max);
        *ret_offer = i;
        return 0;
}

static int64_t weight(const struct cloud *c, enum trace_of of, uint32_t offer)
{
        const struct trace_offer *o = &c->market.t.offers[offer];

        return of == TRACE_OF_CPUS ? (o->cpu_milli + 999) / 1000 : of == TRACE_OF_GPUS ? o->gpus : 1;
}

static int over_quota(const char *id, long long used, long long wanted, long long limit, struct pd_error *err)
{
        (void)pd_fail(err, PD_E_QUOTA,
                "quota %.63s of the account: %lld in use, %lld asked for, %lld allowed; ask the provider for more, or "
                "end "
                "other machines",
                id, used, wanted, limit);
        if (err)
                (void)snprintf(err->provider_code, sizeof err->provider_code, "QuotaExceeded");
        return pd_fail_subject(err, id);
}

/* A machine counts until it is gone, and as long as it is only stopped. */
static int check_quotas(const struct cloud *c, uint32_t offer, struct pd_error *err)
{
        for (size_t i = 0; i < c->market.t.quotas_n; i++) {
                const struct trace_quota *q = &c->market.t.quotas[i];
                int64_t used = 0, wanted = weight(c, q->of, offer);

                if (!(q->markets & 1u << c->market.t.offers[offer].market))
                        continue;
                for (size_t k = 0; k < c->live_n; k++)
                        if (!c->live[k]->foreign && q->markets & 1u << c->market.t.offers[c->live[k]->offer].market)
                                used += weight(c, q->of, c->live[k]->offer);
                if (used + wanted > q->limit)
                        return over_quota(q->id, used, wanted, q->limit, err);
        }
        return 0;
}

static int check_capacity(struct cloud *c, const struct pd_launch *req, uint32_t offer, struct pd_error *err)
{
        const struct sim_market_offer *now = &c->market.now[offer];
        int r;

        if (strike(c, FAULT_AT_LAUNCH, FAULT_QUOTA))
                return over_quota("sim-quota", 1, 1, 1, err);
        r = check_quotas(c, offer, err);
        if (r < 0)
                return r;
        if (strike(c, FAULT_AT_LAUNCH, FAULT_CAPACITY) ||
                (now->capacity >= 0 && cloud_alive(c, offer) >= now->capacity))
                return fail_as(err, PD_E_CAPACITY, "InsufficientInstanceCapacity",
                        "the simulated cloud has none of these machines now");
        if (req->ceiling_nano_hour && now->price_nano_hour > req->ceiling_nano_hour)
                return fail_as(
                        err, PD_E_CAPACITY, "MaxPriceTooLow", "its price is above the highest that was to be paid");
        return 0;
}

/* The hard stop, as this kind of cloud can keep it. */
static int64_t first_stop(struct cloud *c, int64_t asked)
{
        if (c->p.lease == PD_LEASE_GUEST || strike(c, FAULT_AT_LAUNCH, FAULT_NO_STOP))
                return CLOUD_NEVER;
        if (c->p.horizon_us && asked > c->now_wall_us + c->p.horizon_us)
                return c->now_wall_us + c->p.horizon_us;
        return asked;
}

/* What is drawn for its life when it is born. */
static void draw_fate(struct cloud *c, struct cloud_machine *m)
{
        const struct trace_offer *o = &c->market.t.offers[m->offer];
        const struct fault_rule *late = strike(c, FAULT_AT_BOOT, FAULT_LATE);
        int64_t now = c->now_wall_us;

        m->lag_us = c->p.settle_us ? (int64_t)(cloud_dice(c) % (uint64_t)(c->p.settle_us + 1)) : 0;
        m->ready_wall_us = now + c->p.boot_us + (late ? late->span_us : 0);
        if (strike(c, FAULT_AT_BOOT, FAULT_NEVER))
                m->ready_wall_us = CLOUD_NEVER;
        if (m->ready_wall_us <= now)
                m->state = PD_MACHINE_RUNNING;
        if (o->lifetime_us)
                m->lifetime_wall_us = now + o->lifetime_us;
        if (o->market != PD_MARKET_SPOT)
                return;
        if (c->p.life_us)
                m->life_wall_us = now + cloud_exponential(c, c->p.life_us);
        if (o->notice_us && strike(c, FAULT_AT_NOTICE, FAULT_FALSE))
                m->false_wall_us = now + cloud_exponential(c, c->p.life_us ? c->p.life_us : INT64_C(3600000000));
}

static int make(struct cloud *c, const char *token, const struct pd_launch *req, struct cloud_machine **ret,
        struct pd_error *err)
{
        struct cloud_machine *m = cloud_find_token(c, token);
        uint32_t offer;
        int r;

        if (!m) {
                r = check_launch(c, req, &offer, err);
                if (r == 0)
                        r = check_capacity(c, req, offer, err);
                if (r < 0)
                        return r;
                m = cloud_add(c);
                if (!m)
                        return pd_fail(err, PD_E_NOMEM, "no memory for a machine");
                m->offer = offer;
                m->ceiling_nano_hour = req->ceiling_nano_hour;
                (void)snprintf(m->token, sizeof m->token, "%s", token ? token : "");
                m->stop_wall_us = first_stop(c, req->stop_wall_us);
                draw_fate(c, m);
                cloud_price(m, c->now_wall_us, c->market.now[offer].price_nano_hour);
                if (!cloud_tags(m, req->tags))
                        return pd_fail(err, PD_E_UNKNOWN_OUTCOME, "no memory for the tags of a machine");
                cloud_changed(c, m);
        }
        *ret = m;
        return 0;
}

int cloud_launch(struct cloud *c, int64_t now_wall_us, const char *token, const struct pd_launch *req,
        cloud_machine_fn each, void *arg, struct pd_error *err)
{
        struct cloud_machine *m;
        int r = enter(c, FAULT_AT_LAUNCH, now_wall_us, err);

        if (r == 0)
                r = make(c, token, req, &m, err);
        /* the request comes a second time: its token is known, so that nothing is made */
        if (r == 0 && strike(c, FAULT_AT_LAUNCH, FAULT_DUPLICATE))
                r = make(c, token, req, &m, err);
        if (r == 0)
                r = leave(c, FAULT_AT_LAUNCH, err);
        return r < 0 ? r : show(c, m, m->state, each, arg);
}

/* ---- renew, terminate, notice, cost ---- */

static int one_renew(
        struct cloud *c, struct cloud_machine *m, const struct pd_kv *expect, int64_t stop, struct pd_error *err)
{
        const struct fault_rule *earlier;

        if (!carries(m, expect))
                return pd_fail(err, PD_E_PERM, "machine %s does not carry the expected tags: it is another's", m->id);
        if (m->state == PD_MACHINE_GONE)
                return not_there(m->id, err);
        if (m->state >= PD_MACHINE_STOPPING)
                return pd_fail(err, PD_E_CONFLICT, "machine %s is on its way out; its stop cannot be moved", m->id);
        if (stop <= c->now_wall_us)
                return pd_fail(
                        err, PD_E_INVALID, "the new stop of machine %s lies in the past; terminate() ends it", m->id);
        if (c->p.lease == PD_LEASE_NATIVE_FIXED)
                return 0; /* what was fixed at its creation is in force */
        earlier = strike(c, FAULT_AT_RENEW, FAULT_EARLIER);
        if (earlier && stop - earlier->span_us > c->now_wall_us)
                stop -= earlier->span_us;
        if (c->p.horizon_us && stop > c->now_wall_us + c->p.horizon_us)
                stop = c->now_wall_us + c->p.horizon_us;
        m->stop_wall_us = stop;
        cloud_changed(c, NULL);
        return 0;
}

int cloud_renew(struct cloud *c, int64_t now_wall_us, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        struct cloud_machine *m;
        int r;

        if (c->p.lease == PD_LEASE_GUEST)
                return pd_fail(err, PD_E_UNSUPPORTED, "this cloud knows no hard stop; the runner keeps it");
        r = enter(c, FAULT_AT_RENEW, now_wall_us, err);
        if (r < 0)
                return r;
        m = cloud_find_id(c, id);
        if (!m)
                return not_there(id, err);
        r = one_renew(c, m, expect_tags, stop_wall_us, err);
        if (r == 0 && strike(c, FAULT_AT_RENEW, FAULT_DUPLICATE))
                r = one_renew(c, m, expect_tags, stop_wall_us, err);
        if (r == 0)
                r = leave(c, FAULT_AT_RENEW, err);
        if (r == 0)
                *ret_stop_wall_us = m->stop_wall_us == CLOUD_NEVER ? 0 : m->stop_wall_us;
        return r;
}

int cloud_terminate(
        struct cloud *c, int64_t now_wall_us, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        const struct fault_rule *late;
        struct cloud_machine *m;
        int r = enter(c, FAULT_AT_TERMINATE, now_wall_us, err);

        if (r < 0)
                return r;
        m = cloud_find_id(c, id);
        if (!m)
                return 0;
        if (!carries(m, expect_tags))
                return pd_fail(err, PD_E_PERM, "machine %s does not carry the expected tags: it is another's", m->id);
        late = strike(c, FAULT_AT_TERMINATE, FAULT_LATE);
        cloud_stop(c, m, PD_REASON_USER, late ? late->span_us : 0);
        if (strike(c, FAULT_AT_TERMINATE, FAULT_DUPLICATE))
                cloud_stop(c, m, PD_REASON_USER, 0);
        return leave(c, FAULT_AT_TERMINATE, err);
}

int cloud_notice(struct cloud *c, int64_t now_wall_us, const char *id, int64_t *ret_at_wall_us, struct pd_error *err)
{
        const struct cloud_machine *m;
        int r = enter(c, FAULT_AT_NOTICE, now_wall_us, err);

        if (r < 0)
                return r;
        m = cloud_find_id(c, id);
        if (!m || m->state == PD_MACHINE_GONE)
                return not_there(id, err);
        /* a false one is taken back when its instant has passed */
        *ret_at_wall_us =
                !c->p.notice_in_guest && m->notice_wall_us <= c->now_wall_us && m->said_wall_us >= c->now_wall_us
                        ? m->said_wall_us
                        : 0;
        return 0;
}

int cloud_cost(struct cloud *c, int64_t now_wall_us, const char *id, int64_t from_wall_us, int64_t to_wall_us,
        int64_t *ret_nano, int32_t *ret_is_estimate, struct pd_error *err)
{
        const struct cloud_machine *m;
        int64_t to;
        int r = enter(c, FAULT_AT_COST, now_wall_us, err);

        if (r < 0)
                return r;
        m = cloud_find_id(c, id);
        if (!m)
                return pd_fail(err, PD_E_NOT_FOUND, "there never was a machine %.64s", id);
        if (to_wall_us < from_wall_us)
                return pd_fail(err, PD_E_INVALID, "the end of the time to be billed lies before its start");
        to = to_wall_us < c->now_wall_us ? to_wall_us : c->now_wall_us;
        *ret_nano = cloud_bill(c, m, to) - cloud_bill(c, m, from_wall_us < to ? from_wall_us : to);
        *ret_is_estimate = m->gone_wall_us == CLOUD_NEVER;
        return 0;
}
