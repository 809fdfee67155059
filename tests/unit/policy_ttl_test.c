/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_common.h"

static const struct {
        const char *name;
        enum job_state state;
        int64_t ran_us, ttl_us, ttl_wall_us, expire_wall_us;
        bool saving;
        enum job_cause saving_cause;
        enum policy_act act;
        enum job_cause cause;
        const char *why;
        int64_t review; /* 0 = only on an event, for a KEEP */
} rows[] = {
#define H72 (72 * USEC_PER_HOUR)
        { "P-01 a microsecond before the limit runs on", JOB_RUNNING, H72 - 1, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "72h", NOW + 1 },
        { "P-01 exactly at the limit stops, saving first", JOB_RUNNING, H72, H72, 0, 0, false, 0, POLICY_STOP_SAVE,
                CAUSE_TTL, "72h", 0 },
        { "P-01 a microsecond after it too", JOB_RUNNING, H72 + 1, H72, 0, 0, false, 0, POLICY_STOP_SAVE, CAUSE_TTL,
                "72h", 0 },
        { "P-01 long after it too", JOB_RUNNING, 10 * H72, H72, 0, 0, false, 0, POLICY_STOP_SAVE, CAUSE_TTL, "72h", 0 },
        { "P-01 ttl off runs on", JOB_RUNNING, 100 * H72, SETTING_OFF, 0, 0, false, 0, POLICY_KEEP, 0, "ttl is off",
                0 },
        { "P-01 the review is when the limit is due", JOB_RUNNING, 0, H72, 0, 0, false, 0, POLICY_KEEP, 0, "72h",
                NOW + H72 },
        { "P-01 a limit at the end of time is never due", JOB_RUNNING, 0, INT64_MAX, 0, 0, false, 0, POLICY_KEEP, 0,
                "its limit", INT64_MAX },
        { "P-01 a limit below a second is told as it is", JOB_RUNNING, 499999, 500000, 0, 0, false, 0, POLICY_KEEP, 0,
                "limit of 500ms", NOW + 1 },
        { "P-01 pull does not count", JOB_STARTING, H72, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "only running time counts", 0 },
        { "P-01 restore does not count", JOB_RESTORING, H72, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "only running time counts", 0 },
        { "P-01 suspended time does not count", JOB_SUSPENDED, H72, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "no clock limit runs", 0 },
        { "P-01 the limit takes a save for idle over", JOB_SAVING, H72, H72, 0, 0, true, CAUSE_IDLE, POLICY_STOP_SAVE,
                CAUSE_TTL, "72h", 0 },
        { "P-01 ... and one for a user", JOB_SAVING, H72, H72, 0, 0, true, CAUSE_USER, POLICY_STOP_SAVE, CAUSE_TTL,
                "72h", 0 },
        { "P-01 ... and one for a notice: ttl > notice", JOB_SAVING, H72, H72, 0, 0, true, CAUSE_NOTICE,
                POLICY_STOP_SAVE, CAUSE_TTL, "72h", 0 },
        { "P-01 ... but not its own", JOB_SAVING, H72, H72, 0, 0, true, CAUSE_TTL, POLICY_KEEP, 0, "being stopped", 0 },
        { "P-01 a job that is ending is left alone", JOB_ENDING, H72, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "being ended", 0 },
        { "P-01 an ended job is left alone", JOB_ENDED, H72, H72, NOW - 1, NOW - 1, false, 0, POLICY_KEEP, 0, "is over",
                0 },

        { "P-02 a microsecond before the clock limit waits", JOB_SUSPENDED, 0, H72, NOW + 1, NOW + H72, false, 0,
                POLICY_KEEP, 0, "time limit", NOW + 1 },
        { "P-02 exactly at the clock limit ends", JOB_SUSPENDED, 0, H72, NOW, NOW + H72, false, 0, POLICY_END,
                CAUSE_TTL, "time limit", 0 },
        { "P-02 a microsecond after it too", JOB_SUSPENDED, 0, H72, NOW - 1, NOW + H72, false, 0, POLICY_END, CAUSE_TTL,
                "time limit", 0 },
        { "P-02 queued by resume keeps the clock limit", JOB_QUEUED, 0, H72, NOW, NOW + H72, false, 0, POLICY_END,
                CAUSE_TTL, "time limit", 0 },
        { "P-02 queued for the first time has none", JOB_QUEUED, 0, H72, 0, 0, false, 0, POLICY_KEEP, 0,
                "no clock limit", 0 },
        { "P-03 a microsecond before the checkpoint's end waits", JOB_SUSPENDED, 0, SETTING_OFF, 0, NOW + 1, false, 0,
                POLICY_KEEP, 0, "checkpoint's end", NOW + 1 },
        { "P-03 exactly at the checkpoint's end fails", JOB_SUSPENDED, 0, SETTING_OFF, 0, NOW, false, 0, POLICY_END,
                CAUSE_EXPIRED, "expired", 0 },
        { "P-03 a microsecond after it too", JOB_SUSPENDED, 0, SETTING_OFF, 0, NOW - 1, false, 0, POLICY_END,
                CAUSE_EXPIRED, "expired", 0 },
        { "P-03 queued by resume keeps that too", JOB_QUEUED, 0, SETTING_OFF, 0, NOW, false, 0, POLICY_END,
                CAUSE_EXPIRED, "expired", 0 },
        { "P-03 with ttl above it the checkpoint's end is first", JOB_SUSPENDED, 0, 10 * H72, NOW + 2, NOW + 1, false,
                0, POLICY_KEEP, 0, "checkpoint's end", NOW + 1 },
        { "P-03 ... and acts", JOB_SUSPENDED, 0, 10 * H72, NOW + 1, NOW, false, 0, POLICY_END, CAUSE_EXPIRED, "expired",
                0 },
        { "P-03 of two past ones, the first", JOB_SUSPENDED, 0, 10 * H72, NOW - 1, NOW - 2, false, 0, POLICY_END,
                CAUSE_EXPIRED, "expired", 0 },
        { "P-02 of two past ones, the first", JOB_SUSPENDED, 0, H72, NOW - 2, NOW - 1, false, 0, POLICY_END, CAUSE_TTL,
                "time limit", 0 },
        { "P-02 of two at once, the clock limit, which keeps the checkpoint", JOB_SUSPENDED, 0, H72, NOW, NOW, false, 0,
                POLICY_END, CAUSE_TTL, "time limit", 0 },
};

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scene c = scene_of_running();
                struct policy_decision d;

                c.j.state = rows[i].state;
                c.j.ran_us = rows[i].ran_us;
                c.j.ttl_us = rows[i].ttl_us;
                c.j.ttl_wall_us = rows[i].ttl_wall_us;
                c.j.expire_wall_us = rows[i].expire_wall_us;
                c.j.saving = rows[i].saving;
                c.j.saving_cause = rows[i].saving_cause;
                d = ask(TTL, &c, NOW);
                (void)expect(rows[i].name, d, rows[i].act, rows[i].cause, rows[i].why);
                (void)tap_int(d.review_wall_us,
                        d.act != POLICY_KEEP ? NOW
                        : rows[i].review     ? rows[i].review
                                             : INT64_MAX,
                        "P-15 ... and looks again in time");
                c.j.refused_cause = CAUSE_TTL;
                c.j.retry_wall_us = NOW + USEC_PER_HOUR;
                (void)tap_ok(ask(TTL, &c, NOW).act == rows[i].act, "P-25 ... a refused save does not put it off");
        }
        return tap_done();
}
