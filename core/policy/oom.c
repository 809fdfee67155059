/* SPDX-License-Identifier: Apache-2.0 */
/* oom: on a recoverable out-of-memory error, save and suspend (P-08). */
#include "policy/words.h"

struct policy_decision policy_oom(POLICY_ARGS)
{
        (void)j, (void)m, (void)x, (void)now_wall_us;
        if (!s->oom)
                return policy_keep("oom", INT64_MAX, "oom is off");
        return policy_keep("oom", INT64_MAX, "no report of memory pressure is given");
}
