/* SPDX-License-Identifier: Apache-2.0 */
/* spot: on any notice that the machine will be taken away, save and suspend (P-04). The runner's standing orders do the same by themselves; this
 * row is for a runner that has not, and for the record. */
#include "policy/words.h"

struct policy_decision policy_spot(POLICY_ARGS)
{
        char at[QUANTITY_MAX];
        struct policy_decision d;

        (void)x;
        if (!m || m->notice_wall_us == 0)
                return policy_keep(
                        "spot", INT64_MAX, m && m->spot ? "no notice on its spot machine" : "no notice on its machine");
        if (!s->spot)
                return policy_keep("spot", INT64_MAX, "its machine will be taken away, but spot is off");
        if (!policy_runs(j))
                return policy_keep("spot", INT64_MAX,
                        "its machine will be taken away, but there is nothing to save: its container does not run, or "
                        "is being ended");
        if (!policy_outranks(j, CAUSE_NOTICE))
                return policy_keep("spot", INT64_MAX, "its machine will be taken away, and its state is being saved");
        if (policy_must_wait(j, CAUSE_NOTICE, now_wall_us)) {
                d = policy_keep("spot", j->retry_wall_us,
                        "its machine will be taken away, but the save was refused; it is tried again");
                policy_would_at(&d, j->retry_wall_us);
                return d;
        }
        return policy_acts("spot", POLICY_SUSPEND, CAUSE_NOTICE, now_wall_us, "its machine will be taken away at %s",
                time_format_utc(m->notice_wall_us, at));
}
