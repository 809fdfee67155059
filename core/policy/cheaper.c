/* SPDX-License-Identifier: Apache-2.0 */
/* cheaper: looks for a cheaper offer to move to (P-13). */
#include "policy/words.h"

struct policy_decision policy_cheaper(POLICY_ARGS)
{
        (void)m, (void)x, (void)now_wall_us;
        if (!s->cheaper)
                return policy_keep("cheaper", INT64_MAX, "cheaper is off");
        if (j->pinned)
                return policy_keep("cheaper", INT64_MAX, "it is pinned to one offer by --on");
        return policy_keep("cheaper", INT64_MAX, "no offer is given to compare with");
}
