/* SPDX-License-Identifier: Apache-2.0 */
/* What may still be spent: by the job's budget (P-07) and by the tightest cap, which acts in the budget's place (P-15). */
#include "policy/words.h"

typedef __int128 wide;

int64_t policy_lasts_us(int64_t left_nano, int64_t rate_nano)
{
        static const wide hour = (wide)60 * 60 * 1000000;
        wide us;

        if (rate_nano <= 0)
                return INT64_MAX;
        us = left_nano > 0 ? (wide)left_nano * hour / rate_nano : 0;
        return us > INT64_MAX ? INT64_MAX : (int64_t)us;
}

/* A little: `span` at the machine's rate. */
static void complete(struct policy_limit *l, const struct policy_machine *m, int64_t span_us, int64_t now_wall_us)
{
        bool known = m && streq(m->rate.currency, l->currency);

        l->given = true;
        l->rate_nano = known ? m->rate.nano : -1;
        l->little_nano = known ? money_cost(m->rate.nano, span_us) : 0;
        l->ends_wall_us = policy_later(now_wall_us, policy_lasts_us(l->left_nano, l->rate_nano));
}

void policy_limits(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct settings *s, int64_t now_wall_us, struct policy_limit ret[POLICY_LIMITS])
{
        int64_t save =
                x && x->save_us > 0 ? x->save_us : s->save_deadline_us; /* not measured: the longest it may take */
        struct policy_limit *cap = &ret[POLICY_CAP], *budget = &ret[POLICY_BUDGET];
        char amount[QUANTITY_MAX];

        *cap = (struct policy_limit){
                .cause = CAUSE_CAP, .currency = j->cap_left.currency, .left_nano = j->cap_left.nano
        };
        (void)str_format(cap->name, sizeof cap->name, "the cap of %.48s", str_or(j->cap_name, "its connection"));
        if (cap->currency[0])
                complete(cap, m,
                        policy_later(policy_later(s->check_every_us, s->save_deadline_us), m ? m->stop_lag_us : 0),
                        now_wall_us);
        *budget = (struct policy_limit){ .cause = CAUSE_BUDGET, .currency = s->budget.currency };
        (void)str_format(budget->name, sizeof budget->name, "its budget of %s", money_format(&s->budget, amount));
        if (!budget->currency[0] || !streq(j->spent.currency, budget->currency))
                return;
        budget->left_nano = s->budget.nano - j->spent.nano;
        complete(budget, m, policy_later(s->check_every_us, save), now_wall_us);
}
