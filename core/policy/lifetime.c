/* SPDX-License-Identifier: Apache-2.0 */
/* lifetime: saves and suspends before a provider's fixed limit on the machine's life (P-10). */
#include "policy/words.h"

struct policy_decision policy_lifetime(POLICY_ARGS)
{
        (void)j, (void)m, (void)x, (void)now_wall_us;
        if (s->lifetime_before_us == SETTING_OFF)
                return policy_keep("lifetime", INT64_MAX, "lifetime.before is off");
        return policy_keep("lifetime", INT64_MAX, "no fixed limit on its machine's life is given");
}
