/* SPDX-License-Identifier: Apache-2.0 */
/* oom: on a recoverable out-of-memory error, save and suspend (P-08). Recoverable: its main process lives. What was signalled before the present
 * container started belongs to another stay. A killed main process is no business of this row: the job has failed. */
#include "policy/words.h"

#define NEAR_PERCENT 95    /* of its limit                                                                        */
#define STALLED_LEAST 1000 /* hundredths of a percent of the time: memory that is full and not waited for is in use */

static bool of_this_stay(const struct policy_job *j, int64_t wall_us)
{
        return wall_us != 0 && wall_us >= j->container_wall_us;
}

static bool presses(const struct policy_measures *x)
{
        return x->memory_limit_bytes != 0 &&
               (unsigned __int128)x->memory_bytes * 100 >= (unsigned __int128)x->memory_limit_bytes * NEAR_PERCENT &&
               x->memory_stalled >= STALLED_LEAST;
}

/* What happened, into buf; false = nothing did. */
static bool signalled(const struct policy_job *j, const struct policy_measures *x, char *buf, size_t n)
{
        char at[QUANTITY_MAX], has[QUANTITY_MAX], limit[QUANTITY_MAX];

        if (of_this_stay(j, x->oom_reported_wall_us))
                (void)str_format(buf, n, "it said at %s that an allocation failed",
                        time_format_utc(x->oom_reported_wall_us, at));
        else if (of_this_stay(j, x->oom_child_wall_us))
                (void)str_format(buf, n, "a child of it was killed for memory at %s, and its main process lives",
                        time_format_utc(x->oom_child_wall_us, at));
        else if (presses(x))
                (void)str_format(buf, n, "it uses %s of %s of memory and waited for memory %d.%02d%% of the time",
                        size_format(x->memory_bytes, has), size_format(x->memory_limit_bytes, limit),
                        x->memory_stalled / 100, x->memory_stalled % 100);
        else
                return false;
        return true;
}

struct policy_decision policy_oom(POLICY_ARGS)
{
        struct policy_decision d;
        char what[160];

        (void)m;
        if (!s->oom)
                return policy_keep("oom", INT64_MAX, "oom is off");
        if (!x || (x->oom_reported_wall_us == 0 && x->oom_child_wall_us == 0 && x->memory_limit_bytes == 0))
                return policy_keep("oom", INT64_MAX, "no report of memory pressure is given");
        if (!policy_runs(j))
                return policy_keep("oom", INT64_MAX, "its container does not run, or is being ended");
        if (!signalled(j, x, what, sizeof what)) {
                d = policy_keep("oom", INT64_MAX, "it has memory left, or does not wait for any");
                policy_would(
                        &d, "at %d%% of its limit and %d%% of the time waiting", NEAR_PERCENT, STALLED_LEAST / 100);
                return d;
        }
        if (policy_held("oom", j, CAUSE_OOM, now_wall_us, "it runs out of memory", &d))
                return d;
        return policy_acts("oom", POLICY_SUSPEND, CAUSE_OOM, now_wall_us, "%s", what);
}
