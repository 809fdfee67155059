/* SPDX-License-Identifier: Apache-2.0 */
/* Which prices may be acted on, and how two currencies compare: each boundary, to the microsecond and the nano. */
#include "market/market.h"

#include "tap.h"

#define NOW (INT64_C(1796000000) * USEC_PER_SEC)
#define AGE (10 * USEC_PER_MIN)
#define P(nano_, at_)                                                                             \
        {                                                                                         \
                .hour = { (nano_), "USD" }, .at_wall_us = (at_), .max_age_us = AGE, .paid = true, \
        }

static const struct {
        const char *name;
        struct market_price p;
        enum market_fault want;
} rows[] = {
        { "P-13 a fresh price is fit", P(100, NOW), MARKET_FIT },
        { "P-13 as old as it may be", P(100, NOW - AGE), MARKET_FIT },
        { "P-13 a microsecond older is stale", P(100, NOW - AGE - 1), MARKET_STALE },
        { "a price from a microsecond in the future", P(100, NOW + 1), MARKET_FUTURE },
        { "0 for what is paid", P(0, NOW), MARKET_FREE },
        { "a nano is a price", P(1, NOW), MARKET_FIT },
        { "a negative price", P(-1, NOW), MARKET_NEGATIVE },
        { "no currency is no price", { .hour = { 100, "" }, .at_wall_us = NOW, .max_age_us = AGE }, MARKET_MISSING },
        { "nobody knows when it was fetched", P(100, 0), MARKET_MISSING },
        { "the user's own may be free", { .hour = { 0, "USD" }, .at_wall_us = NOW, .max_age_us = AGE }, MARKET_FIT },
        { "... and not negative", { .hour = { -1, "USD" }, .at_wall_us = NOW, .max_age_us = AGE }, MARKET_NEGATIVE },
        { "a price without an age limit is fit in its own instant", { .hour = { 1, "USD" }, .at_wall_us = NOW },
                MARKET_FIT },
};

static const struct {
        const char *name;
        int64_t nano;
        enum market_fault want;
} bands[] = {
        { "the band's lower end is in it", 50, MARKET_FIT },
        { "a nano under it is not", 49, MARKET_LOW },
        { "the band's upper end is in it", 303, MARKET_FIT },
        { "a nano over it is not", 304, MARKET_HIGH },
};

static void test_judge(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                (void)tap_int(market_judge(&rows[i].p, NOW), rows[i].want, rows[i].name);
        for (size_t i = 0; i < ARRAY_LEN(bands); i++) {
                struct market_price p = P(bands[i].nano, NOW);

                market_band(&p, 101, 49, 300); /* 49.49 and 303 */
                (void)tap_int(market_judge(&p, NOW), bands[i].want, bands[i].name);
        }
        {
                struct market_price p = P(INT64_MAX, NOW);

                market_band(&p, INT64_MAX, 50, 200);
                (void)tap_int(p.high_nano_hour, INT64_MAX, "a band that is wider than money is held");
                (void)tap_int(market_judge(&p, NOW), MARKET_FIT, "... and the largest price is in it");
        }
}

/* --- currencies --- */
static const struct market_rate list[] = {
        { "EUR", "USD", 1100000000, NOW },
        { "USD", "CNY", 7000000000, NOW - USEC_PER_DAY },
        { "GBP", "USD", 0, NOW },
        { "JPY", "USD", 7000000, NOW + 1 },
        { "CHF", "USD", 1200000000, NOW - USEC_PER_DAY - 1 },
        { "CHF", "USD", 1300000000, NOW },
        { "SEK", "USD", 100000000, 0 },
        { "NOK", "USD", 100000000, NOW - USEC_PER_DAY - 1 },
};
static const struct market_rates rates = { list, ARRAY_LEN(list), USEC_PER_DAY };

static const struct {
        const char *name, *from, *to;
        int64_t nano, want; /* -1 = refused */
        const char *why;
} converts[] = {
        { "the same currency needs no rate", "NOK", "NOK", 5, 5, NULL },
        { "nothing is nothing in any currency", "XXX", "USD", 0, 0, NULL },
        { "by a dated rate", "EUR", "USD", 100, 110, NULL },
        { "... rounded up", "EUR", "USD", 1, 2, NULL },
        { "... the other way", "USD", "EUR", 110, 100, NULL },
        { "... rounded up too", "USD", "EUR", 1, 1, NULL },
        { "a rate as old as it may be", "USD", "CNY", 10, 70, NULL },
        { "a rate of 0 is none", "GBP", "USD", 10, -1, "is not in date" },
        { "a rate of tomorrow is none", "JPY", "USD", 10, -1, "is not in date" },
        { "a rate without a date is none", "SEK", "USD", 10, -1, "gives no dated rate" },
        { "a rate that is a microsecond too old is none", "NOK", "USD", 10, -1,
                "the rate of 2026-11-29T00:53:19.999999Z is not in date" },
        { "... unless another is in date", "CHF", "USD", 10, 13, NULL },
        { "no rate, no comparison", "EUR", "CNY", 10, -1, "EUR and CNY are not compared" },
        { "the largest amounts are held", "USD", "CNY", INT64_MAX, INT64_MAX, NULL },
};

static void test_convert(void)
{
        struct pd_error err;
        struct money got, m = { 5, "USD" };

        for (size_t i = 0; i < ARRAY_LEN(converts); i++) {
                int r;

                m.nano = converts[i].nano;
                memcpy(m.currency, converts[i].from, 4);
                got = (struct money){ -1, "" };
                r = market_convert(&m, converts[i].to, &rates, NOW, &got, &err);
                (void)tap_int(got.nano, converts[i].want, converts[i].name);
                if (converts[i].want < 0)
                        (void)tap_ok(
                                r == -PD_E_NOT_FOUND && strstr(err.text, converts[i].why), "... said so: %s", err.text);
                else
                        (void)tap_ok(r == 0 && streq(got.currency, converts[i].to), "... in %s", converts[i].to);
        }
        m = (struct money){ 5, "USD" };
        (void)tap_int(market_convert(&m, "EUR", NULL, NOW, &got, NULL), -PD_E_NOT_FOUND, "no rates at all");
}

int main(void)
{
        test_judge();
        test_convert();
        return tap_done();
}
