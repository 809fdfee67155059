/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that cost: one job each, made for it and ended after it. The record, the money and the launch intent are one transaction with what wants
 * the machine; a launch without an outcome is looked for by its token and never repeated (rent_watch.c). */
#include "executor/observe.h"

#include "base/log.h"

#define FIXED_LIFE_US USEC_PER_DAY  /* first and only stop where it cannot be moved and the offer names no limit */
#define COOL_US (30 * USEC_PER_MIN) /* an offer that could not be had is left out for as long (as P-17)          */
#define COOL_WRONG_US (6 * USEC_PER_HOUR) /* ... that the provider calls wrong                                        */

bool rent_live(const struct mach *m)
{
        return !m->rec.own && (m->rec.state == PD_MACHINE_PENDING || m->rec.state == PD_MACHINE_RUNNING);
}

bool rent_is_launch(const struct op *op)
{
        return op->intent.kind == INTENT_LAUNCH && !id_is_null(op->intent.machine);
}

int64_t machine_ends_wall_us(const struct mach *m)
{
        int64_t ends = m->rec.ends_wall_us;

        if (m->rec.lease == PD_LEASE_NATIVE_FIXED && m->rec.stop_sure_wall_us &&
                (!ends || m->rec.stop_sure_wall_us < ends))
                ends = m->rec.stop_sure_wall_us;
        return ends;
}

void rent_stop_known(struct mach *m)
{
        int64_t stop = m->rec.stop_possible_wall_us;

        if (m->rec.stop_sure_wall_us > stop)
                stop = m->rec.stop_sure_wall_us;
        m->asked_boot_us = now_boot(m->engine);
        m->stop_boot_us = m->asked_boot_us + stop - now_wall(m->engine);
}

/* --- made --- */
static int64_t first_stop(const struct connection *c, const json_t *offer, const struct settings *s)
{
        int64_t life = js_int(offer, "max_lifetime_us", 0);

        if (c->caps.lease == PD_LEASE_NATIVE_FIXED)
                return life ? life : FIXED_LIFE_US;
        return s->lease_horizon_us;
}

/* N-05: where nothing outside ends it, its first command arms its own end. */
static json_t *user_data(const struct connection *c, int64_t stop_in_us)
{
        if (c->caps.lease != PD_LEASE_GUEST)
                return json_null();
        return json_sprintf("#!/bin/sh\nsystemd-run --on-active=%llds --timer-property=AccuracySec=1s "
                            "systemctl poweroff --no-block\n",
                (long long)(stop_in_us / USEC_PER_SEC));
}

/* The ceiling is what was reserved: a price above it is refused, or takes a spot machine away, and is never billed (N-04). */
static json_t *launch_body(
        const struct turn *t, const struct entry *en, const struct mach *m, int64_t ceiling_nano_hour, json_t *data)
{
        char machine[ID_TEXT_MAX], job[ID_TEXT_MAX], generation[16];

        (void)str_format(generation, sizeof generation, "%u", en->job.generation + 1);
        return json_pack("{s:s,s:{s:s,s:s,s:i,s:I,s:I,s:o,s:{s:s,s:s,s:s,s:s}}}", "connection", m->rec.connection,
                "args", "zone", m->rec.zone, "type", m->rec.type, "market", m->rec.market, "ceiling_nano_hour",
                (json_int_t)ceiling_nano_hour, "stop_wall_us", (json_int_t)m->rec.stop_possible_wall_us, "user_data",
                data, "tags", "portald-installation", store_installation(t->engine->env->store), "portald-machine",
                id_format(ID_MACHINE, m->rec.id, machine), "portald-job", id_format(ID_JOB, en->job.id, job),
                "portald-generation", generation);
}

static void fill_record(
        struct machine *rec, const struct turn *t, const struct connection *c, const json_t *offer, struct id id)
{
        *rec = (struct machine){ .id = id,
                .state = PD_MACHINE_PENDING,
                .lease = (uint8_t)c->caps.lease,
                .market = (uint8_t)js_int(offer, "market", PD_MARKET_ON_DEMAND),
                .price_nano_hour = js_int(offer, "price_nano_hour", 0),
                .created_wall_us = t->now_wall_us };
        if (js_int(offer, "max_lifetime_us", 0) > 0)
                rec->ends_wall_us = t->now_wall_us + js_int(offer, "max_lifetime_us", 0);
        (void)str_format(rec->connection, sizeof rec->connection, "%s", c->name);
        (void)str_format(rec->zone, sizeof rec->zone, "%s", js_str(offer, "zone", ""));
        (void)str_format(rec->type, sizeof rec->type, "%s", js_str(offer, "type", ""));
        (void)str_format(rec->currency, sizeof rec->currency, "%s", js_str(offer, "currency", ""));
        (void)id_format(ID_INTENT, id, rec->token);
}

struct mach *rent_machine(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer,
        const struct settings *s, struct pd_error *err)
{
        struct engine *e = t->engine;
        struct machine rec;
        struct mach *m;

        if (c->state != CONN_READY || (c->caps.flags & PD_CAP_OWN_MACHINES)) {
                (void)pd_fail(err, PD_E_TRANSIENT, "connection %s makes no machine now: %s", c->name, c->why);
                return NULL;
        }
        fill_record(&rec, t, c, offer, engine_id(e));
        if (money_reserve(t, en, c, offer, rec.id, t->now_wall_us + first_stop(c, offer, s), &rec.stop_possible_wall_us,
                    err) < 0)
                return NULL;
        m = machine_add(e, &rec);
        if (!m) {
                money_cancel(t, rec.id);
                (void)pd_fail(err, PD_E_NOMEM, "no memory for a machine");
                return NULL;
        }
        m->made = true;
        (void)str_format(m->why, sizeof m->why, "being made");
        txn_machine(t->txn, &m->rec);
        (void)intent_open_as(t, rec.id, INTENT_LAUNCH, en, rec.id,
                launch_body(
                        t, en, m, money_ceiling(c, offer), user_data(c, rec.stop_possible_wall_us - t->now_wall_us)));
        return m;
}

/* --- what a launch came to --- */
void rent_end_again(struct turn *t, struct mach *m)
{
        char machine[ID_TEXT_MAX];
        json_t *tags = json_pack("{s:s}", "portald-installation", store_installation(t->engine->env->store));

        if (*m->rec.token) /* what was found without a name of its own carries the installation's only */
                (void)json_object_set_new(
                        tags, "portald-machine", json_string(id_format(ID_MACHINE, m->rec.id, machine)));
        (void)intent_open(t, INTENT_END, NULL, m,
                json_pack("{s:s,s:{s:s,s:o}}", "connection", m->rec.connection, "args", "id", m->rec.provider_id,
                        "expect_tags", tags));
}

void rent_launched(struct turn *t, struct op *op, const json_t *item)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        if (!m || m->rec.state == PD_MACHINE_GONE) {
                log_error("a launch was answered, and its machine is not in the store: it is ended when it is listed");
                return;
        }
        (void)str_format(m->rec.provider_id, sizeof m->rec.provider_id, "%s", js_str(item, "id", ""));
        machine_why(m, "its runner has not been heard yet");
        if (m->rec.state == PD_MACHINE_STOPPING) /* its job went while it was being made */
                rent_end_again(t, m);
        rent_seen(t, m, item);
        txn_machine(t->txn, &m->rec);
        if (m->conn) {
                rent_list_soon(m->conn); /* its job waits for it to run */
                rent_watch(m->conn);
        }
}

static void unplace(struct turn *t, struct mach *m, const struct pd_error *why)
{
        struct engine *e = t->engine;
        struct pd_error passing = *why;

        passing.code = PD_E_CAPACITY; /* whatever it was, another offer may do */
        for (size_t i = 0; i < e->slots_n; i++) {
                struct entry *en = e->slots[i];

                if (en && en->job.move != MOVE_NONE && id_equal(en->job.other, m->rec.id))
                        move_target_failed(t, en, m, why->text);
                else if (en && en->live && en->live->machine == m)
                        start_failed(t, en, &passing);
        }
}

void rent_never(struct turn *t, struct mach *m, const struct pd_error *why)
{
        m->rec.state = PD_MACHINE_GONE;
        m->rec.ended_wall_us = m->rec.created_wall_us;
        machine_why(m, why->text);
        txn_machine(t->txn, &m->rec);
        money_cancel(t, m->rec.id);
        unplace(t, m, why);
}

/* What each refusal of a launch means for its offer. */
static const struct {
        enum pd_code code;
        int64_t cool_us;
        const char *why;
} refusals[] = {
        { PD_E_CAPACITY, COOL_US, "its provider had none of it" },
        { PD_E_QUOTA, COOL_US, "a quota of the account is used up" },
        { PD_E_AUTH, COOL_US, "these credentials may not make it" },
        { PD_E_PERM, COOL_US, "these credentials may not make it" },
        { PD_E_INVALID, COOL_WRONG_US, "its provider calls the request wrong" },
        { PD_E_UNSUPPORTED, COOL_WRONG_US, "its provider does not make it" },
        { PD_E_NOT_FOUND, COOL_WRONG_US, "its provider does not know it" },
};

static void cool(struct turn *t, const struct mach *m, const struct pd_error *err)
{
        for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
                char why[320];

                if (refusals[i].code != err->code || !m->conn)
                        continue;
                (void)str_format(why, sizeof why, "%s%s%s", refusals[i].why, *err->subject ? ": " : "", err->subject);
                offers_cool(t, m->conn, m->rec.zone, m->rec.type, (enum pd_market)m->rec.market,
                        t->now_wall_us + refusals[i].cool_us, why);
                return;
        }
}

void rent_launch_failed(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);
        char offer[192];
        struct pd_error why;

        if (!m || m->rec.state == PD_MACHINE_GONE)
                return;
        machine_offer_name(m, offer, sizeof offer);
        log_warning("%s was not made: %s%s%s", offer, err->text, *err->subject ? ": " : "", err->subject);
        cool(t, m, err);
        (void)pd_fail(&why, err->code, "%s could not be had: %s%s%s%s", offer, err->text, *err->subject ? " (" : "",
                err->subject, *err->subject ? ")" : "");
        rent_never(t, m, &why);
}

/* --- as its provider describes it --- */
void rent_seen(struct turn *t, struct mach *m, const json_t *item)
{
        int64_t stop = js_int(item, "stop_wall_us", 0);
        const char *endpoint = js_str(item, "endpoint", "");
        bool changed = false;

        m->absent_boot_us = 0;
        m->seen_state = (uint8_t)js_int(item, "state", PD_MACHINE_RUNNING);
        m->reason = (uint8_t)js_int(item, "reason", PD_REASON_NONE);
        if (m->seen_state == PD_MACHINE_GONE) {
                rent_over(t, m, (enum pd_machine_reason)m->reason);
                return;
        }
        m->alive_wall_us = t->now_wall_us;
        if (m->rec.state == PD_MACHINE_PENDING && m->seen_state == PD_MACHINE_RUNNING) {
                m->rec.state = PD_MACHINE_RUNNING;
                changed = true;
        }
        if (*endpoint && !m->stream && !streq(endpoint, m->rec.endpoint)) {
                (void)str_format(m->rec.endpoint, sizeof m->rec.endpoint, "%s", endpoint);
                changed = true;
        }
        /* a guest's stop is its runner's to say; a list may be old, so that the answer to a renewal is not undone by it within a look */
        if (m->rec.lease != PD_LEASE_GUEST && stop != m->rec.stop_sure_wall_us &&
                !intent_of_machine(t->engine, INTENT_RENEW, m->rec.id)) {
                m->rec.stop_sure_wall_us = stop;
                if (stop > m->rec.stop_possible_wall_us)
                        m->rec.stop_possible_wall_us = stop;
                if (m->rec.stop_possible_wall_us == stop)
                        rent_stop_known(m);
                changed = true;
        }
        if (m->rec.lease != PD_LEASE_GUEST && stop && !m->renewed_wall_us)
                m->renewed_wall_us = t->now_wall_us;
        if (changed)
                txn_machine(t->txn, &m->rec);
        if (m->seen_state == PD_MACHINE_STOPPED) /* stopped is not gone: it may still cost */
                rent_end(t, m, "its provider has stopped it");
        machine_open_stream(m);
}

/* --- ended --- */
void rent_end(struct turn *t, struct mach *m, const char *why)
{
        char offer[192];

        if ((m->rec.own && !planted(PLANT_OWN_ENDED)) || m->rec.state == PD_MACHINE_GONE ||
                m->rec.state == PD_MACHINE_STOPPING)
                return; /* N-02: no own machine is ever ended */
        machine_offer_name(m, offer, sizeof offer);
        log_info("machine %s is ended: %s", offer, why);
        m->rec.state = PD_MACHINE_STOPPING;
        (void)str_format(m->why, sizeof m->why, "is ended: %s", why);
        txn_machine(t->txn, &m->rec);
        if (*m->rec.provider_id)
                rent_end_again(t, m);
}

void rent_ended(struct turn *t, struct op *op, const json_t *answer)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        (void)answer;
        if (!m || m->rec.state == PD_MACHINE_GONE)
                return;
        m->end_boot_us = now_boot(t->engine);
        if (m->conn) {
                rent_list_soon(m->conn);
                rent_watch(m->conn);
        }
}

/* Said and kept: what its provider will not end is asked for again later, and its lease still ends it. */
void rent_end_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        if (!m || m->rec.state == PD_MACHINE_GONE)
                return;
        if (err->code == PD_E_GONE || err->code == PD_E_NOT_FOUND) {
                rent_ended(t, op, NULL);
                return;
        }
        log_error(
                "machine %s of connection %s could not be ended: %s", m->rec.provider_id, m->rec.connection, err->text);
        (void)str_format(m->why, sizeof m->why, "could not be ended: %s", err->text);
        m->end_boot_us = now_boot(t->engine);
}

static enum job_cause cause_of(const struct mach *m, enum pd_machine_reason reason)
{
        if (reason == PD_REASON_RECLAIM || m->rec.notice_wall_us)
                return CAUSE_NOTICE;
        return reason == PD_REASON_LIFETIME ? CAUSE_LIFETIME
               : reason == PD_REASON_LEASE  ? CAUSE_LEASE
                                            : CAUSE_MACHINE_LOST;
}

static void job_gone(struct turn *t, struct entry *en, struct mach *m, enum job_cause cause)
{
        struct seen nothing = SEEN_NOTHING;
        struct pd_error why;

        if (en->job.move != MOVE_NONE) {
                move_machine_gone(t, en, m);
        } else if (intent_find(t->engine, INTENT_START, en->job.id)) {
                (void)pd_fail(&why, PD_E_TRANSIENT, "its machine went away before it ran there");
                start_failed(t, en, &why);
        } else {
                went_lost(t, en, &nothing, cause);
        }
}

/* After the record of its end: what was asked of its runner is called back before the stream is gone, and is void then. */
static void close_stream(struct engine *e, void *arg)
{
        struct id *id = arg;
        struct mach *m = machine_find(e, *id);
        struct env_stream *s = m ? m->stream : NULL;

        free(id);
        if (!m)
                return;
        m->stream = NULL;
        m->up = false;
        if (s)
                e->env->ops->stream_close(s);
        intent_replay(e, m);
        place_anew(e);
}

int64_t rent_lived_until(const struct mach *m, int64_t at_wall_us)
{
        int64_t latest = m->rec.stop_possible_wall_us + (m->conn ? m->conn->caps.stop_lag_us : 0);

        if (m->rec.own || !m->rec.stop_possible_wall_us || at_wall_us <= latest || m->rec.lease == PD_LEASE_GUEST)
                return at_wall_us;
        return latest > m->alive_wall_us ? latest : m->alive_wall_us;
}

void rent_gone(struct turn *t, struct mach *m, int64_t end_wall_us, enum pd_machine_reason reason)
{
        struct engine *e = t->engine;
        enum job_cause cause = cause_of(m, reason);
        struct id *id = malloc(sizeof *id);

        if (m->rec.own || m->rec.state == PD_MACHINE_GONE) {
                free(id);
                return;
        }
        end_wall_us = rent_lived_until(m, end_wall_us);
        if (end_wall_us < m->rec.created_wall_us)
                end_wall_us = m->rec.created_wall_us;
        m->rec.state = PD_MACHINE_GONE;
        m->rec.ended_wall_us = end_wall_us;
        machine_why(m, "gone");
        txn_machine(t->txn, &m->rec);
        money_end(t, m, end_wall_us);
        if (reason == PD_REASON_RECLAIM)
                offers_reclaimed(t, m);
        for (size_t i = 0; i < e->slots_n; i++) {
                struct entry *en = e->slots[i];

                if (en && ((en->live && en->live->machine == m) ||
                                  (en->job.move != MOVE_NONE && id_equal(en->job.other, m->rec.id))))
                        job_gone(t, en, m, cause);
        }
        if (id) {
                *id = m->rec.id;
                turn_after(t, close_stream, free, id);
        }
}

void rent_unneeded(struct turn *t, struct mach *m)
{
        if (planted(PLANT_MACHINE_STAYS) || (!rent_live(m) && !planted(PLANT_OWN_ENDED)) || m->taken.cpu_milli > 0 ||
                move_needs(t->engine, m))
                return;
        rent_end(t, m, "no job needs it any more");
}
