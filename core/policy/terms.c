/* SPDX-License-Identifier: Apache-2.0 */
/* P-13's terms, to the letter and exact: sums of rate x time stay in nano-units x microseconds of 128 bits until they have been compared. */
#include "policy/words.h"

typedef __int128 wide;

#define HOUR ((wide)USEC_PER_HOUR)

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* min(ttl left, budget left at the new rate, expect - run if given, else max(1 h, run)); run: in all its terms. */
static int64_t remaining(const struct policy_job *j, const struct settings *s, int64_t rate_nano)
{
        int64_t run = policy_later(j->ran_us, j->ran_before_us), left;

        if (s->expect_us != SETTING_OFF)
                left = s->expect_us - run;
        else
                left = run > USEC_PER_HOUR ? run : USEC_PER_HOUR;
        if (j->ttl_us != SETTING_OFF)
                left = least(left, j->ttl_us - j->ran_us);
        if (s->budget.currency[0])
                left = least(left, policy_lasts_us(s->budget.nano - j->spent.nano, rate_nano));
        return least(left, MARKET_SPAN_MAX);
}

static wide saved(const struct policy_machine *m, int64_t rate_nano, int64_t span_us)
{
        return ((wide)m->rate.nano - rate_nano) * span_us;
}

/* Target from create to freeze, both from freeze to the source's end, egress, the target's unused minimum billing; and work done again (P-21). */
static wide cost_of_move(
        const struct policy_machine *m, const struct policy_offer *o, int64_t rate_nano, int64_t remaining_us)
{
        int64_t create = market_span(o->create_us), both = market_span(o->handover_us);
        int64_t unused = market_span(market_span(o->minimum_us) - create - both - remaining_us);

        return (wide)rate_nano * (create + both + unused + market_span(o->lost_us)) + (wide)m->rate.nano * both +
               (wide)o->egress_nano * HOUR;
}

static int64_t held(wide v)
{
        return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

void policy_terms(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o, int64_t rate_nano, struct policy_terms *ret)
{
        int64_t left = remaining(j, s, rate_nano);
        wide saving = left > 0 ? saved(m, rate_nano, left) : 0;
        wide cost = cost_of_move(m, o, rate_nano, left > 0 ? left : 0);

        *ret = (struct policy_terms){
                .remaining_us = left,
                .saving_nano = held(saving / HOUR),
                .cost_nano = held((cost + HOUR - 1) / HOUR),
                .fifth = m->rate.nano > 0 && (wide)rate_nano * 100 <= (wide)m->rate.nano * 80,
                .thrice = left > 0 && saving >= 3 * cost,
        };
}

/* Both terms get easier with every nano less, so the limit can be halved in on. */
int64_t policy_rate_max(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o)
{
        int64_t low = -1, high = m->rate.nano > 0 ? (int64_t)((wide)m->rate.nano * 80 / 100) : -1;

        while (low < high) {
                int64_t middle = high - (high - low) / 2;
                struct policy_terms t;

                policy_terms(j, m, s, o, middle, &t);
                if (t.thrice)
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}
