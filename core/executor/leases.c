/* SPDX-License-Identifier: Apache-2.0 */
/* P-11, N-05: each machine's hard stop about an hour ahead, moved every 10 minutes, counted when read back. An own machine's lease ends its jobs
 * and nothing else. */
#include "executor/internal.h"

static int64_t horizon(const struct engine *e, const struct mach *m, int64_t *ret_renew_us)
{
        int64_t h = INT64_MAX, r = INT64_MAX;

        for (size_t i = 0; i < e->slots_n; i++) {
                const struct entry *en = e->slots[i];

                if (!en || !en->live || en->live->machine != m)
                        continue;
                if (en->live->settings.lease_horizon_us < h)
                        h = en->live->settings.lease_horizon_us;
                if (en->live->settings.lease_renew_us < r)
                        r = en->live->settings.lease_renew_us;
        }
        *ret_renew_us = r == INT64_MAX ? 10 * USEC_PER_MIN : r;
        return h == INT64_MAX ? USEC_PER_HOUR : h;
}

void lease_read_back(struct turn *t, struct op *op, const json_t *answer)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        if (!m)
                return;
        m->rec.stop_sure_wall_us = js_int(answer, "stop_wall_us", m->rec.stop_sure_wall_us);
        m->renewed_wall_us = t->now_wall_us;
        txn_machine(t->txn, &m->rec);
}

static void lease_renew(struct mach *m, int64_t stop_in_us)
{
        struct engine *e = m->engine;
        struct turn *t = turn_new(e);

        if (!t)
                return;
        /* the latest ever asked for is on disk before it is asked for */
        m->rec.stop_possible_wall_us = t->now_wall_us + stop_in_us;
        txn_machine(t->txn, &m->rec);
        (void)intent_open(t, INTENT_LEASE, NULL, m,
                json_pack("{s:s,s:I,s:I}", "op", "lease", "stop_wall_us", (json_int_t)m->rec.stop_possible_wall_us,
                        "stop_boot_us", (json_int_t)(now_boot(e) + stop_in_us)));
        turn_end(t);
}

static bool lease_open(const struct engine *e, const struct mach *m)
{
        for (const struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == INTENT_LEASE && id_equal(op->intent.machine, m->rec.id))
                        return true;
        return false;
}

void leases_review(struct engine *e)
{
        int64_t now = now_wall(e), next = 10 * USEC_PER_MIN;

        vec_foreach (mp, &e->machines) {
                struct mach *m = *mp;
                int64_t renew, h = horizon(e, m, &renew), due = m->renewed_wall_us + renew - now;

                if (m->rec.state == PD_MACHINE_GONE || !m->up)
                        continue;
                if ((due <= 0 || m->renewed_wall_us == 0 || m->renewed_wall_us > now) && !lease_open(e, m)) {
                        lease_renew(m, h);
                        due = renew;
                }
                if (due > 0 && due < next)
                        next = due;
        }
        e->env->ops->timer_set(e->lease_timer, now_boot(e) + next);
}
