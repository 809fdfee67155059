/* SPDX-License-Identifier: Apache-2.0 */
/* return: off spot, looks for a spot offer to move back to (P-12), on the terms of P-13. */
#include "policy/words.h"

struct policy_decision policy_return(POLICY_ARGS)
{
        if (!s->ret)
                return policy_keep("return", INT64_MAX, "return is off");
        if (j->pinned)
                return policy_keep("return", INT64_MAX, "it is pinned to one offer by --on");
        if (m && m->spot)
                return policy_keep("return", INT64_MAX, "it is on spot already");
        if (j->no_spot)
                return policy_keep("return", INT64_MAX, "it is never moved to spot: --no-spot");
        return policy_look("return", true, j, m, x, s, now_wall_us);
}
