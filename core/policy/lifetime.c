/* SPDX-License-Identifier: Apache-2.0 */
/* lifetime: saves and suspends before a provider's fixed limit on the machine's life (P-10). When the save is refused, the job runs on and gets
 * SIGTERM just before the limit (P-25). */
#include "policy/words.h"

static struct policy_decision due(
        const struct policy_job *j, const struct policy_machine *m, const struct settings *s, int64_t now_wall_us)
{
        char at[QUANTITY_MAX], before[QUANTITY_MAX];
        struct policy_decision d;

        (void)time_format_utc(m->ends_wall_us, at);
        if (policy_outranks(j, CAUSE_LIFETIME) && policy_last_word(j, s, CAUSE_LIFETIME, m->ends_wall_us, now_wall_us))
                return policy_acts("lifetime", POLICY_TERM, CAUSE_LIFETIME, now_wall_us,
                        "the provider ends its machine at %s, and the save was refused", at);
        if (policy_held("lifetime", j, CAUSE_LIFETIME, now_wall_us, "the provider ends its machine soon", &d)) {
                policy_review_last_word(&d, j, s, CAUSE_LIFETIME, m->ends_wall_us, now_wall_us);
                return d;
        }
        return policy_acts("lifetime", POLICY_SUSPEND, CAUSE_LIFETIME, now_wall_us,
                "the provider ends its machine at %s, and it is saved %s before that", at,
                policy_span(s->lifetime_before_us, before));
}

struct policy_decision policy_lifetime(POLICY_ARGS)
{
        struct policy_decision d;
        int64_t at;

        (void)x;
        if (s->lifetime_before_us == SETTING_OFF)
                return policy_keep("lifetime", INT64_MAX, "lifetime.before is off");
        if (!m || m->ends_wall_us == 0)
                return policy_keep("lifetime", INT64_MAX, "no fixed limit on its machine's life is given");
        if (!policy_runs(j))
                return policy_keep("lifetime", INT64_MAX,
                        "its machine's life has a limit, and its container does not run, or is being ended");
        at = m->ends_wall_us - s->lifetime_before_us;
        if (now_wall_us >= at)
                return due(j, m, s, now_wall_us);
        d = policy_keep("lifetime", at, "the provider's limit on its machine's life is not near");
        policy_would_at(&d, at);
        return d;
}
