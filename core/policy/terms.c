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

/* What the terms compare, before any rounding: nano x us an hour. */
struct sums {
        int64_t left_us;
        wide saving, cost;
};

static struct sums sums_of(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o, int64_t rate_nano)
{
        struct sums u = { .left_us = remaining(j, s, rate_nano) };
        int64_t over = u.left_us > 0 ? u.left_us : 0;

        u.saving = saved(m, rate_nano, over);
        u.cost = cost_of_move(m, o, rate_nano, over);
        return u;
}

static bool thrice(const struct sums *u)
{
        return u->left_us > 0 && u->saving >= 3 * u->cost;
}

bool policy_fifth(const struct policy_machine *m, int64_t rate_nano)
{
        return m->rate.nano > 0 && (wide)rate_nano * 100 <= (wide)m->rate.nano * 80;
}

void policy_terms(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o, int64_t rate_nano, struct policy_terms *ret)
{
        struct sums u = sums_of(j, m, s, o, rate_nano);

        *ret = (struct policy_terms){
                .remaining_us = u.left_us,
                .saving_nano = held(u.saving / HOUR),
                .cost_nano = held((u.cost + HOUR - 1) / HOUR),
                .fifth = policy_fifth(m, rate_nano),
                .thrice = thrice(&u),
        };
}

/* Both terms get easier with every nano less, so the limit can be halved in on. */
int64_t policy_rate_max(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o)
{
        int64_t low = -1, high = m->rate.nano > 0 ? (int64_t)((wide)m->rate.nano * 80 / 100) : -1;

        while (low < high) {
                int64_t middle = high - (high - low) / 2;
                struct sums u = sums_of(j, m, s, o, middle);

                if (thrice(&u))
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}
