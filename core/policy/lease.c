/* SPDX-License-Identifier: Apache-2.0 */
/* lease: keeps the hard stop of the job's machine ahead (P-11). It is looked at in every check, it cannot be turned off, and it never changes where
 * the job runs. A renewal counts only once it was read back: a failed one is wanted again in the next check. */
#include "policy/words.h"

struct policy_decision policy_lease(POLICY_ARGS)
{
        char every[QUANTITY_MAX], at[QUANTITY_MAX];
        struct policy_decision d;
        int64_t due;

        (void)x;
        if (!m || !job_state_placed(j->state))
                return policy_keep("lease", INT64_MAX, "it has no machine");
        (void)policy_span(s->lease_renew_us, every);
        if (m->stop_sure_wall_us == 0)
                return policy_acts(
                        "lease", POLICY_RENEW, CAUSE_LEASE, now_wall_us, "its machine's hard stop was never read back");
        (void)time_format_utc(m->stop_sure_wall_us, at);
        if (m->renewed_wall_us == 0)
                return policy_acts("lease", POLICY_RENEW, CAUSE_LEASE, now_wall_us,
                        "its machine's hard stop, %s, was never moved", at);
        due = policy_later(m->renewed_wall_us, s->lease_renew_us);
        if (now_wall_us >= due)
                return policy_acts("lease", POLICY_RENEW, CAUSE_LEASE, now_wall_us,
                        "its machine's hard stop is at %s, and it is moved every %s", at, every);
        d = policy_keep("lease", due, "its machine's hard stop was moved within the last %s", every);
        policy_would_at(&d, due);
        return d;
}
