/* SPDX-License-Identifier: Apache-2.0 */
/* budget: suspends, or stops, a little before the job's budget is spent (P-07); the tightest cap acts in its place (P-15). A little is what the time
 * to the next check and the save cost. When the save is refused, the lease is not renewed beyond the limit, and the job is ended without one just
 * before it (P-25). */
#include "policy/words.h"

static struct policy_decision not_near(const struct policy_limit *l, int64_t now_wall_us)
{
        int64_t lasts = policy_lasts_us(l->left_nano - l->little_nano, l->rate_nano);
        struct policy_decision d = policy_keep("budget", policy_later(now_wall_us, lasts > 0 ? lasts : 1),
                l->rate_nano < 0 ? "%s is not spent, but what its machine costs is not known"
                                 : "%s is not near its end",
                l->name);

        if (d.review_wall_us != INT64_MAX)
                policy_would_at(&d, d.review_wall_us);
        return d;
}

static struct policy_decision near(
        const struct policy_job *j, const struct settings *s, const struct policy_limit *l, int64_t now_wall_us)
{
        bool stops = l->cause == CAUSE_BUDGET && s->budget_stop;
        struct money left = { .nano = l->left_nano }, little = { .nano = l->little_nano };
        char what[96], has[QUANTITY_MAX], cost[QUANTITY_MAX];
        struct policy_decision d;

        memcpy(left.currency, l->currency, sizeof left.currency);
        memcpy(little.currency, l->currency, sizeof little.currency);
        (void)str_format(what, sizeof what, "%s is nearly spent", l->name);
        if (!stops && policy_outranks(j, l->cause) && policy_last_word(j, s, l->cause, l->ends_wall_us, now_wall_us))
                return policy_acts("budget", POLICY_STOP, l->cause, now_wall_us,
                        "%s left of %s, and the save was refused: it is ended without one", money_format(&left, has),
                        l->name);
        if ((!stops || !policy_outranks(j, l->cause)) && policy_held("budget", j, l->cause, now_wall_us, what, &d)) {
                policy_review_last_word(&d, j, s, l->cause, l->ends_wall_us, now_wall_us);
                return d;
        }
        return policy_acts("budget", stops ? POLICY_STOP_SAVE : POLICY_SUSPEND, l->cause, now_wall_us,
                "%s left of %s, and the time to the next check and its save cost %s", money_format(&left, has), l->name,
                money_format(&little, cost));
}

static struct policy_decision of_limit(
        const struct policy_job *j, const struct settings *s, const struct policy_limit *l, int64_t now_wall_us)
{
        if (!policy_runs(j))
                return policy_keep(
                        "budget", INT64_MAX, "%s is given, and its container does not run, or is being ended", l->name);
        return l->left_nano > l->little_nano ? not_near(l, now_wall_us) : near(j, s, l, now_wall_us);
}

struct policy_decision policy_budget(POLICY_ARGS)
{
        struct policy_limit limits[POLICY_LIMITS];
        struct policy_decision budget, cap;
        char amount[QUANTITY_MAX];

        policy_limits(j, m, x, s, now_wall_us, limits);
        if (limits[POLICY_BUDGET].given)
                budget = of_limit(j, s, &limits[POLICY_BUDGET], now_wall_us);
        else if (limits[POLICY_BUDGET].currency[0])
                budget = policy_keep("budget", INT64_MAX,
                        "a budget of %s is set, but no cost of the job is given to compare it with",
                        money_format(&s->budget, amount));
        else
                budget = policy_keep("budget", INT64_MAX, "no budget set");
        if (!limits[POLICY_CAP].given)
                return budget;
        cap = of_limit(j, s, &limits[POLICY_CAP], now_wall_us);
        if (cap.act != POLICY_KEEP || !limits[POLICY_BUDGET].given)
                return cap;
        return budget.act == POLICY_KEEP && cap.review_wall_us < budget.review_wall_us ? cap : budget;
}
