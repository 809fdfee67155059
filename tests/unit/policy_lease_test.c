/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_common.h"

#define M10 (10 * USEC_PER_MIN)

static const struct {
        const char *name;
        enum job_state state;
        int64_t renewed, stop; /* offsets from now; 0 = never, none */
        enum policy_act act;
        const char *why;
} rows[] = {
        { "P-11 a microsecond before 10 min keeps", JOB_RUNNING, -M10 + 1, USEC_PER_HOUR, POLICY_KEEP,
                "within the last 10m" },
        { "P-11 exactly 10 min renews", JOB_RUNNING, -M10, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 a microsecond after too", JOB_RUNNING, -M10 - 1, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 never renewed renews", JOB_RUNNING, 0, USEC_PER_HOUR, POLICY_RENEW, "never moved" },
        { "N-05 a stop that was never read back renews", JOB_RUNNING, -1, 0, POLICY_RENEW, "never read back" },
        { "P-11 a stop that is past renews", JOB_RUNNING, -M10, -1, POLICY_RENEW, "hard stop is at" },
        { "P-11 while it starts", JOB_STARTING, -M10, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 while it is saved", JOB_SAVING, -M10, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 while it is restored", JOB_RESTORING, -M10, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 while it is ended", JOB_ENDING, -M10, USEC_PER_HOUR, POLICY_RENEW, "every 10m" },
        { "P-11 a suspended job has no machine", JOB_SUSPENDED, -M10, USEC_PER_HOUR, POLICY_KEEP, "no machine" },
        { "P-11 a queued job has no machine", JOB_QUEUED, -M10, USEC_PER_HOUR, POLICY_KEEP, "no machine" },
        { "P-11 an ended job has no machine", JOB_ENDED, -M10, USEC_PER_HOUR, POLICY_KEEP, "no machine" },
};

int main(void)
{
        struct scene c = scene_of_running();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_decision d;

                c.j.state = rows[i].state;
                c.m.renewed_wall_us = rows[i].renewed ? NOW + rows[i].renewed : 0;
                c.m.stop_sure_wall_us = rows[i].stop ? NOW + rows[i].stop : 0;
                d = ask(LEASE, &c, NOW);
                (void)expect(rows[i].name, d, rows[i].act, rows[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_LEASE,
                        rows[i].why);
        }
        c.j.state = JOB_RUNNING;
        c.m.renewed_wall_us = NOW;
        c.m.stop_sure_wall_us = NOW + USEC_PER_HOUR;
        c.s.lease_renew_us = USEC_PER_MIN;
        (void)tap_int(ask(LEASE, &c, NOW).review_wall_us, NOW + USEC_PER_MIN,
                "P-23 lease.renew is obeyed, and the next look is then");
        (void)expect("P-11 no machine given, no lease", policy_table[LEASE].decide(&c.j, NULL, &c.x, &c.s, NOW),
                POLICY_KEEP, CAUSE_NONE, "no machine");
        (void)tap_ok(!policy_table[LEASE].changes_place, "P-11 a renewal never changes where a job runs");
        return tap_done();
}
