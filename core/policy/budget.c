/* SPDX-License-Identifier: Apache-2.0 */
/* budget: suspends, or stops, a little before the job's budget is spent (P-07). */
#include "policy/words.h"

struct policy_decision policy_budget(POLICY_ARGS)
{
        char amount[QUANTITY_MAX];

        (void)j, (void)m, (void)x, (void)now_wall_us;
        if (s->budget.currency[0] == '\0')
                return policy_keep("budget", INT64_MAX, "no budget set");
        return policy_keep("budget", INT64_MAX,
                "a budget of %s is set, but no cost of the job is given to compare it with",
                money_format(&s->budget, amount));
}
