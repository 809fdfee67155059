/* SPDX-License-Identifier: Apache-2.0 */
/* cheaper: looks for a cheaper offer to move to (P-13). */
#include "policy/words.h"

struct policy_decision policy_cheaper(POLICY_ARGS)
{
        if (!s->cheaper)
                return policy_keep("cheaper", INT64_MAX, s->ret ? "cheaper is off; return stays on" : "cheaper is off");
        if (j->pinned)
                return policy_keep("cheaper", INT64_MAX, "it is pinned to one offer by --on");
        return policy_look("cheaper", false, j, m, x, s, now_wall_us);
}
