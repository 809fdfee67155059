/* SPDX-License-Identifier: Apache-2.0 */
/* P-11, N-05: each machine's hard stop about an hour ahead, moved every 10 minutes, counted when read back. An own machine's lease ends its jobs
 * and nothing else. A rented one's is kept by its provider, where it can be moved there, or by its runner; its runner is told either, so that what
 * runs there is saved in time. */
#include "executor/internal.h"

#include "base/log.h"

#define AGAIN_US (10 * USEC_PER_SEC) /* after a renewal that failed, doubling to ... */
#define AGAIN_MAX_US (2 * USEC_PER_MIN)
#define EVERY_US (10 * USEC_PER_MIN)
#define CAPPED_US USEC_PER_MIN /* no later stop fits under a cap: looked at again */

static void shortest(const struct entry *en, int64_t *h, int64_t *r)
{
        if (en->live->settings.lease_horizon_us < *h)
                *h = en->live->settings.lease_horizon_us;
        if (en->live->settings.lease_renew_us < *r)
                *r = en->live->settings.lease_renew_us;
}

static int64_t horizon(const struct engine *e, const struct mach *m, int64_t *ret_renew_us)
{
        int64_t h = INT64_MAX, r = INT64_MAX;

        for (size_t i = 0; m->taken.cpu_milli > 0 && i < e->slots_n; i++)
                if (e->slots[i] && e->slots[i]->live &&
                        (e->slots[i]->live->machine == m || e->slots[i]->live->other == m))
                        shortest(e->slots[i], &h, &r);
        *ret_renew_us = r == INT64_MAX ? EVERY_US : r;
        return h == INT64_MAX ? USEC_PER_HOUR : h;
}

/* Who keeps the stop: the provider, or (own machines, guests) the runner. */
static bool by_provider(const struct mach *m)
{
        return m->rec.lease == PD_LEASE_NATIVE_MOVABLE || m->rec.lease == PD_LEASE_EXTERNAL;
}

static bool by_runner(const struct mach *m)
{
        return m->rec.own || m->rec.lease == PD_LEASE_GUEST;
}

/* --- read back --- */
static void renewed(struct turn *t, struct mach *m, int64_t stop_wall_us)
{
        m->rec.stop_sure_wall_us = stop_wall_us;
        m->renewed_wall_us = t->now_wall_us;
        m->renew_wait_us = m->renew_boot_us = 0;
        txn_machine(t->txn, &m->rec);
}

void lease_read_back(struct turn *t, struct op *op, const json_t *answer)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        if (!m)
                return;
        m->told_wall_us = js_int(op->body, "stop_wall_us", 0);
        if (by_runner(m))
                renewed(t, m, js_int(answer, "stop_wall_us", m->rec.stop_sure_wall_us));
}

/* Less than was asked for is an answer, too: the later stop is disproved. */
void lease_renewed(struct turn *t, struct op *op, const json_t *answer)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);
        int64_t stop = js_int(json_object_get(json_object_get(answer, "answer"), "ret"), "stop_wall_us", 0);

        if (!m || m->rec.state == PD_MACHINE_GONE)
                return;
        if (stop <= 0) {
                struct pd_error err;

                (void)pd_fail(&err, PD_E_INTERNAL, "no hard stop was read back");
                lease_not_renewed(t, op, &err);
                return;
        }
        if (stop != m->rec.stop_possible_wall_us) {
                m->rec.stop_possible_wall_us = stop;
                rent_stop_known(m);
        }
        renewed(t, m, stop);
        m->engine->env->ops->timer_set(m->engine->lease_timer, now_boot(m->engine)); /* its runner is told */
}

void lease_not_renewed(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct engine *e = t->engine;
        struct mach *m = machine_find(e, op->intent.machine);

        if (!m || !rent_live(m))
                return;
        log_warning("the hard stop of machine %s/%s could not be moved: %s", m->rec.connection, m->rec.provider_id,
                err->text);
        m->renew_wait_us = m->renew_wait_us ? m->renew_wait_us * 2 : AGAIN_US;
        if (m->renew_wait_us > AGAIN_MAX_US)
                m->renew_wait_us = AGAIN_MAX_US;
        m->renew_boot_us = now_boot(e) + m->renew_wait_us;
        e->env->ops->timer_set(e->lease_timer, m->renew_boot_us);
}

/* --- asked for --- */
static void tell_runner(struct turn *t, struct mach *m, int64_t stop_wall_us)
{
        (void)intent_open(t, INTENT_LEASE, NULL, m,
                json_pack("{s:s,s:I,s:I}", "op", "lease", "stop_wall_us", (json_int_t)stop_wall_us, "stop_boot_us",
                        (json_int_t)machine_boot_us(m, stop_wall_us)));
}

static void ask_provider(struct turn *t, struct mach *m, int64_t stop_wall_us)
{
        char id[ID_TEXT_MAX];
        json_t *tags = json_pack("{s:s}", "portald-installation", store_installation(t->engine->env->store));

        (void)json_object_set_new(tags, "portald-machine", json_string(id_format(ID_MACHINE, m->rec.id, id)));
        (void)intent_open(t, INTENT_RENEW, NULL, m,
                json_pack("{s:s,s:{s:s,s:o,s:I}}", "connection", m->rec.connection, "args", "id", m->rec.provider_id,
                        "expect_tags", tags, "stop_wall_us", (json_int_t)stop_wall_us));
}

/* The stop goes along with the boot clock, too: a wall clock that was set back does not take a rented machine's hour away. */
static int64_t wanted_stop(const struct mach *m, int64_t now_wall_us, int64_t horizon_us)
{
        int64_t stop = now_wall_us + horizon_us, along = m->rec.stop_possible_wall_us;

        if (m->rec.own || !m->asked_boot_us)
                return stop;
        along += now_boot(m->engine) - m->asked_boot_us;
        return along > stop ? along : stop;
}

static void lease_renew(struct mach *m, int64_t horizon_us)
{
        struct engine *e = m->engine;
        struct turn *t = turn_new(e);
        int64_t stop, fits;

        if (!t)
                return;
        stop = wanted_stop(m, t->now_wall_us, horizon_us);
        fits = money_renew(t, m, stop);
        if ((!m->rec.own || fits < stop) && (fits <= m->rec.stop_sure_wall_us || fits <= t->now_wall_us)) {
                m->renew_boot_us = now_boot(e) + CAPPED_US;
                turn_end(t);
                return;
        }
        stop = fits;
        /* the latest ever asked for is on disk before it is asked for */
        if (m->rec.own || stop > m->rec.stop_possible_wall_us)
                m->rec.stop_possible_wall_us = stop;
        rent_stop_known(m);
        if (planted(PLANT_LEASE_UNREAD))
                renewed(t, m, stop);
        if (!planted(PLANT_LEASE_UNWRITTEN))
                txn_machine(t->txn, &m->rec);
        if (by_provider(m))
                ask_provider(t, m, stop);
        else
                tell_runner(t, m, stop);
        turn_end(t);
}

/* --- looked at --- */
static bool can_ask(const struct mach *m)
{
        if (by_runner(m))
                return m->up && m->rec.state != PD_MACHINE_GONE && m->rec.state != PD_MACHINE_STOPPING &&
                       !intent_of_machine(m->engine, INTENT_LEASE, m->rec.id);
        return by_provider(m) && rent_live(m) && *m->rec.provider_id && m->conn && m->conn->plugin &&
               !intent_of_machine(m->engine, INTENT_RENEW, m->rec.id);
}

/* What its provider keeps, its runner is told: it saves what runs there before. */
static void pass_on(struct mach *m)
{
        struct turn *t;

        if (by_runner(m) || !m->up || !rent_live(m) || !m->rec.stop_sure_wall_us ||
                m->told_wall_us == m->rec.stop_sure_wall_us || intent_of_machine(m->engine, INTENT_LEASE, m->rec.id))
                return;
        t = turn_new(m->engine);
        if (!t)
                return;
        tell_runner(t, m, m->rec.stop_sure_wall_us);
        turn_end(t);
}

/* In how long its stop is to be moved; 0 = now. */
static int64_t due_in(const struct engine *e, const struct mach *m, int64_t renew_us)
{
        int64_t now = now_wall(e), due = m->renewed_wall_us + renew_us - now;

        if (m->renewed_wall_us == 0 || m->renewed_wall_us > now || due < 0)
                due = 0;
        if (m->renew_boot_us > now_boot(e) + due)
                due = m->renew_boot_us - now_boot(e);
        return due;
}

void leases_review(struct engine *e)
{
        int64_t next = EVERY_US;

        for (size_t i = 0; i < e->machines.n; i++) {
                struct mach *m = e->machines.at[i];
                int64_t renew, h, due;

                if (m->rec.state == PD_MACHINE_GONE)
                        continue;
                pass_on(m);
                if (!can_ask(m))
                        continue;
                h = horizon(e, m, &renew);
                due = due_in(e, m, renew);
                if (due == 0) {
                        lease_renew(m, h);
                        due = renew;
                }
                if (due < next)
                        next = due;
        }
        e->env->ops->timer_set(e->lease_timer, now_boot(e) + next);
}
