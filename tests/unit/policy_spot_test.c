/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_common.h"

static const struct {
        const char *name;
        enum job_state state;
        int64_t notice, retry; /* offsets from now; 0 = none */
        enum job_cause refused, saving;
        bool off;
        enum policy_act act;
        const char *why;
} rows[] = {
        { "P-04 no notice keeps", JOB_RUNNING, 0, 0, 0, 0, false, POLICY_KEEP, "no notice" },
        { "P-04 a notice of two minutes saves", JOB_RUNNING, 2 * USEC_PER_MIN, 0, 0, 0, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 a notice of a microsecond saves", JOB_RUNNING, 1, 0, 0, 0, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 a late notice saves", JOB_RUNNING, -USEC_PER_SEC, 0, 0, 0, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 a notice of a day saves", JOB_RUNNING, USEC_PER_DAY, 0, 0, 0, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 spot off keeps, and says so", JOB_RUNNING, USEC_PER_MIN, 0, 0, 0, true, POLICY_KEEP, "spot is off" },
        { "P-04 nothing to save while it starts", JOB_STARTING, USEC_PER_MIN, 0, 0, 0, false, POLICY_KEEP,
                "nothing to save" },
        { "P-04 nothing to save while it waits", JOB_SUSPENDED, USEC_PER_MIN, 0, 0, 0, false, POLICY_KEEP,
                "nothing to save" },
        { "P-04 a notice takes a save for idle over", JOB_SAVING, USEC_PER_MIN, 0, 0, CAUSE_IDLE, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 ... and a user's", JOB_SAVING, USEC_PER_MIN, 0, 0, CAUSE_USER, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-04 ... not one for ttl, which keeps result and cause", JOB_SAVING, USEC_PER_MIN, 0, 0, CAUSE_TTL, false,
                POLICY_KEEP, "being saved" },
        { "P-04 ... not its own", JOB_SAVING, USEC_PER_MIN, 0, 0, CAUSE_NOTICE, false, POLICY_KEEP, "being saved" },
        { "P-25 a refused save waits for its next try", JOB_RUNNING, USEC_PER_HOUR, 1, CAUSE_NOTICE, 0, false,
                POLICY_KEEP, "refused" },
        { "P-25 ... and tries then", JOB_RUNNING, USEC_PER_HOUR, 0, CAUSE_NOTICE, 0, false, POLICY_SUSPEND,
                "will be taken away at" },
        { "P-25 a save refused for idle does not hold a notice up", JOB_RUNNING, USEC_PER_HOUR, USEC_PER_MIN,
                CAUSE_IDLE, 0, false, POLICY_SUSPEND, "will be taken away at" },
};

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scene c = scene_of_running();
                struct policy_decision d;

                c.j.state = rows[i].state;
                c.j.saving = rows[i].saving != CAUSE_NONE;
                c.j.saving_cause = rows[i].saving;
                c.j.refused_cause = rows[i].refused;
                c.j.retry_wall_us = NOW + rows[i].retry;
                c.m.notice_wall_us = rows[i].notice ? NOW + rows[i].notice : 0;
                c.m.spot = true;
                c.s.spot = !rows[i].off;
                d = ask(SPOT, &c, NOW);
                (void)expect(rows[i].name, d, rows[i].act, rows[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_NOTICE,
                        rows[i].why);
        }
        {
                struct scene c = scene_of_running();

                c.m.notice_wall_us = NOW + USEC_PER_MIN;
                (void)expect("P-04 any notice, also on a machine that is not spot", ask(SPOT, &c, NOW), POLICY_SUSPEND,
                        CAUSE_NOTICE, "taken away");
                c.j.pinned = true;
                (void)expect("P-19 a pinned job too", ask(SPOT, &c, NOW), POLICY_SUSPEND, CAUSE_NOTICE, "taken away");
                (void)expect("a job without a machine has no notice",
                        policy_table[SPOT].decide(&c.j, NULL, NULL, &c.s, NOW), POLICY_KEEP, CAUSE_NONE, "no notice");
        }
        return tap_done();
}
