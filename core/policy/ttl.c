/* SPDX-License-Identifier: Apache-2.0 */
/* ttl: stops a running job after so much running time (P-01), and ends a waiting one when its clock limit (P-02) or its checkpoint's time (P-03) is
 * over, whichever is first. A refused save does not put the limit off: the runner then stops without one. */
#include "policy/words.h"

static struct policy_decision of_running(const struct policy_job *j, int64_t now_wall_us)
{
        struct policy_decision d;
        char limit[QUANTITY_MAX], ran[QUANTITY_MAX];
        int64_t due;

        if (j->ttl_us == SETTING_OFF)
                return policy_keep("ttl", INT64_MAX, "ttl is off");
        (void)policy_span(j->ttl_us, limit);
        if (j->ran_us >= j->ttl_us) {
                if (policy_outranks(j, CAUSE_TTL))
                        return policy_acts("ttl", POLICY_STOP_SAVE, CAUSE_TTL, now_wall_us,
                                "it ran for %s, and its limit is %s", policy_span(j->ran_us, ran), limit);
                return policy_keep("ttl", INT64_MAX, "its limit of %s is reached, and it is being stopped", limit);
        }
        due = policy_later(now_wall_us, j->ttl_us - j->ran_us);
        d = policy_keep("ttl", due, "it has not run for its limit of %s yet", limit);
        policy_would_at(&d, due);
        return d;
}

static struct policy_decision of_waiting(const struct policy_job *j, int64_t now_wall_us)
{
        bool clock = j->ttl_wall_us != 0, expires = j->expire_wall_us != 0;
        bool clock_first = clock && (!expires || j->ttl_wall_us <= j->expire_wall_us);
        int64_t due = clock_first ? j->ttl_wall_us : j->expire_wall_us;
        struct policy_decision d;
        char at[QUANTITY_MAX];

        if (!clock && !expires)
                return policy_keep("ttl", INT64_MAX, "it waits, and no clock limit runs");
        (void)time_format_utc(due, at);
        if (now_wall_us < due) {
                d = policy_keep("ttl", due, "it waits, and %s is at %s",
                        clock_first ? "its time limit" : "its checkpoint's end", at);
                policy_would_at(&d, due);
                return d;
        }
        if (clock_first)
                return policy_acts("ttl", POLICY_END, CAUSE_TTL, now_wall_us,
                        "its time limit on the clock was at %s, while it waited", at);
        return policy_acts(
                "ttl", POLICY_END, CAUSE_EXPIRED, now_wall_us, "its checkpoint expired at %s, while it waited", at);
}

struct policy_decision policy_ttl(POLICY_ARGS)
{
        (void)m, (void)x, (void)s;
        if (policy_runs(j))
                return of_running(j, now_wall_us);
        if (j->state == JOB_SUSPENDED || j->state == JOB_QUEUED)
                return of_waiting(j, now_wall_us);
        if (j->state == JOB_STARTING || j->state == JOB_RESTORING)
                return policy_keep("ttl", INT64_MAX, "its container does not run yet, and only running time counts");
        return policy_keep("ttl", INT64_MAX, "it is over, or being ended");
}
