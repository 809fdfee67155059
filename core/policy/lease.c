/* SPDX-License-Identifier: Apache-2.0 */
/* lease: keeps the hard stop of the job's machine ahead (P-11). It is looked at in every check, it cannot be turned off, and it never changes where
 * the job runs. A renewal counts only once it was read back: a failed one is wanted again in the next check. It is never
 * moved beyond the end of the budget or of a cap (P-25, N-04). */
#include "policy/words.h"

/* The first limit that ends within the horizon, or NULL. */
static const struct policy_limit *first_end(
        const struct policy_limit limits[POLICY_LIMITS], const struct settings *s, int64_t now_wall_us)
{
        int64_t end = policy_later(now_wall_us, s->lease_horizon_us);
        const struct policy_limit *first = NULL;

        for (int i = 0; i < POLICY_LIMITS; i++)
                if (limits[i].given && limits[i].ends_wall_us < end) {
                        end = limits[i].ends_wall_us;
                        first = &limits[i];
                }
        return first;
}

/* It is time: as far as the horizon, or as the money goes. */
static struct policy_decision renew(const struct policy_machine *m, const struct settings *s,
        const struct policy_limit *end, int64_t now_wall_us, const char *why)
{
        char until[QUANTITY_MAX];
        struct policy_decision d;

        if (!end)
                return policy_acts("lease", POLICY_RENEW, CAUSE_LEASE, now_wall_us, "%s", why);
        (void)time_format_utc(end->ends_wall_us, until);
        if (m->stop_sure_wall_us >= end->ends_wall_us ||
                (m->stop_sure_wall_us != 0 && end->ends_wall_us <= now_wall_us))
                return policy_keep("lease", policy_later(now_wall_us, s->lease_renew_us),
                        "its machine's hard stop is not moved beyond the end of %s, %s", end->name, until);
        d = policy_acts("lease", POLICY_RENEW, CAUSE_LEASE, now_wall_us, "%s; no further than %s, the end of %s", why,
                until, end->name);
        d.until_wall_us = end->ends_wall_us;
        return d;
}

struct policy_decision policy_lease(POLICY_ARGS)
{
        char every[QUANTITY_MAX], at[QUANTITY_MAX], why[96];
        struct policy_limit limits[POLICY_LIMITS];
        const struct policy_limit *end;
        struct policy_decision d;
        int64_t due;

        if (!m || !job_state_placed(j->state))
                return policy_keep("lease", INT64_MAX, "it has no machine");
        policy_limits(j, m, x, s, now_wall_us, limits);
        end = first_end(limits, s, now_wall_us);
        (void)policy_span(s->lease_renew_us, every);
        if (m->stop_sure_wall_us == 0)
                return renew(m, s, end, now_wall_us, "its machine's hard stop was never read back");
        (void)time_format_utc(m->stop_sure_wall_us, at);
        if (m->renewed_wall_us == 0) {
                (void)str_format(why, sizeof why, "its machine's hard stop, %s, was never moved", at);
                return renew(m, s, end, now_wall_us, why);
        }
        due = policy_later(m->renewed_wall_us, s->lease_renew_us);
        if (now_wall_us >= due) {
                (void)str_format(
                        why, sizeof why, "its machine's hard stop is at %s, and it is moved every %s", at, every);
                return renew(m, s, end, now_wall_us, why);
        }
        d = policy_keep("lease", due, "its machine's hard stop was moved within the last %s", every);
        policy_would_at(&d, due);
        return d;
}
