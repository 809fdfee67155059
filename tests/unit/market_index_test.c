/* SPDX-License-Identifier: Apache-2.0 */
/* The index against a loop over all offers: whatever changes, each class's cheapest is what the loop finds. The seed is argv[1], $TEST_SEED or a fixed
 * one, and is printed. */
#include "market/market.h"

#include "tap.h"

#include <inttypes.h>

#define NOW (INT64_C(1796000000) * USEC_PER_SEC)
#define AGE USEC_PER_HOUR
#define GIB (UINT64_C(1) << 30)
#define OFFERS 300
#define CLASSES 70 /* more than one word of bits */
#define ROUNDS 3000

static uint64_t seed;

static int64_t below(int64_t n)
{
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (int64_t)((z ^ (z >> 31)) % (uint64_t)n);
}

static bool one_in(int64_t n)
{
        return below(n) == 0;
}

static const char *const zones[] = { "a", "b", "c" }, *const types[] = { "small", "large", "huge" };
static const struct market_rate eur[] = { { "EUR", "USD", 1100000000, NOW } };
static const struct market_rates rates = { eur, 1, 2 * AGE };

static struct market_price price(int64_t now)
{
        struct market_price p = { .hour = { below(50), "USD" },
                .source = "price list",
                .at_wall_us = now - below(3 * AGE / 2),
                .max_age_us = AGE,
                .paid = !one_in(4) };

        if (one_in(8))
                memcpy(p.hour.currency, one_in(2) ? "EUR" : "CNY", 4);
        if (one_in(20))
                p.at_wall_us = now + 1 + below(AGE);
        if (one_in(4))
                market_band(&p, 25, 20, 180);
        return p;
}

static void draw_offer(struct market_offer *o)
{
        *o = (struct market_offer){ .connection = one_in(3) ? "lab" : "aws",
                .zone = zones[below(3)],
                .type = types[below(3)],
                .market = one_in(2) ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND,
                .cpu_milli = (int32_t)(1000 * (1 + below(8))),
                .gpus = one_in(4) ? (int32_t)below(9) : 0,
                .memory_bytes = (uint64_t)(1 + below(16)) * GIB,
                .disk_bytes = one_in(2) ? 0 : (uint64_t)below(100) * GIB,
                .not_before_wall_us = one_in(10) ? NOW + below(AGE) : 0,
                .price = price(NOW) };
}

static const char *const ons[] = { NULL, NULL, NULL, "aws", "lab/b", "aws/a/large", "aws/a/large/spot", "lab/c/huge" };

static struct market_need draw_need(void)
{
        return (struct market_need){ .cpu_milli = (int32_t)(1000 * below(8)),
                .gpus = one_in(4) ? (int32_t)below(4) : 0,
                .memory_bytes = (uint64_t)below(12) * GIB,
                .disk_bytes = one_in(2) ? 0 : (uint64_t)below(50) * GIB,
                .on = ons[below((int64_t)ARRAY_LEN(ons))],
                .no_spot = one_in(5),
                .no_on_demand = one_in(5) };
}

/* The loop's own reading of a need. */
static bool wants(const struct market_need *n, const struct market_offer *o)
{
        struct spec_on on;

        if ((o->market == PD_MARKET_SPOT && n->no_spot) || (o->market == PD_MARKET_ON_DEMAND && n->no_on_demand))
                return false;
        if (o->cpu_milli < n->cpu_milli || o->gpus < n->gpus || o->memory_bytes < n->memory_bytes ||
                (o->disk_bytes && o->disk_bytes < n->disk_bytes))
                return false;
        if (!n->on)
                return true;
        (void)spec_on_parse(n->on, &on, NULL);
        return (!*on.connection || streq(on.connection, o->connection)) && (!*on.zone || streq(on.zone, o->zone)) &&
               (!*on.type || streq(on.type, o->type)) && (!on.exact || on.spot == (o->market == PD_MARKET_SPOT));
}

static int64_t rate_by_loop(const struct market_offer *o, int64_t now)
{
        struct money m;

        if (market_judge(&o->price, now) != MARKET_FIT || o->not_before_wall_us > now ||
                market_convert(&o->price.hour, "USD", &rates, now, &m, NULL) < 0)
                return INT64_MAX;
        return m.nano;
}

/* n cheapest by looking at all of them, n times. */
static size_t by_loop(
        const struct market_offer *offers, const struct market_need *need, int64_t now, size_t n, uint32_t *ret)
{
        bool taken[OFFERS] = { false };
        size_t found = 0;

        for (; found < n; found++) {
                int64_t best = INT64_MAX;
                uint32_t at = MARKET_NONE;

                for (uint32_t i = 0; i < OFFERS; i++)
                        if (!taken[i] && wants(need, &offers[i]) && rate_by_loop(&offers[i], now) < best) {
                                best = rate_by_loop(&offers[i], now);
                                at = i;
                        }
                if (at == MARKET_NONE)
                        break;
                taken[at] = true;
                ret[found] = at;
        }
        return found;
}

static struct market_offer offers[OFFERS];
static struct market_need needs[CLASSES];
static uint32_t ids[CLASSES];

static bool agrees(const struct market *k, uint32_t c, int64_t now)
{
        uint32_t want[MARKET_CHEAPEST_MAX], got[MARKET_CHEAPEST_MAX];
        size_t ask = (size_t)below(MARKET_CHEAPEST_MAX + 4), n = ask > MARKET_CHEAPEST_MAX ? MARKET_CHEAPEST_MAX : ask;
        size_t w = by_loop(offers, &needs[c], now, n, want), g = market_cheapest(k, ids[c], ask, got);
        uint32_t first;
        bool same = g == w && memcmp(got, want, w * sizeof *want) == 0;

        w = by_loop(offers, &needs[c], now, 1, &first);
        same &= market_best(k, ids[c]) == (w ? first : MARKET_NONE);
        return same && market_best_rates(k)[ids[c]] == (w ? rate_by_loop(&offers[first], now) : INT64_MAX);
}

static void change(struct market *k, int64_t *now)
{
        uint32_t i = (uint32_t)below(OFFERS);

        if (one_in(3)) {
                int64_t next = market_tick(k, *now);

                *now = one_in(2) && next != INT64_MAX ? next : *now + below(USEC_PER_MIN);
                (void)market_tick(k, *now);
        } else if (one_in(10)) {
                offers[i].not_before_wall_us = *now + below(AGE);
                market_leave_out(k, i, offers[i].not_before_wall_us, *now);
        } else {
                offers[i].price = price(*now);
                market_set_price(k, i, &offers[i].price, *now);
        }
}

static void test_against_loop(void)
{
        pd_cleanup(market_freep) struct market *k = NULL;
        long long wrong = 0, unfit = 0;
        int64_t now = NOW;
        char why[MARKET_WHY_MAX];

        for (size_t i = 0; i < OFFERS; i++)
                draw_offer(&offers[i]);
        if (!tap_int(market_new("USD", offers, OFFERS, 100, &rates, NOW, &k, NULL), 0, "an index"))
                return;
        for (uint32_t c = 0; c < CLASSES; c++) {
                needs[c] = draw_need();
                (void)market_class(k, &needs[c], &ids[c], NULL);
        }
        (void)tap_int(market_build(k, NULL), 0, "... of many needs");
        for (int n = 0; n < ROUNDS; n++) {
                wrong += !agrees(k, (uint32_t)below(CLASSES), now);
                change(k, &now);
        }
        for (uint32_t i = 0; i < OFFERS; i++) {
                bool usable = market_why(k, i, now, why) == NULL;

                unfit += !usable;
                wrong += usable != (market_rate_of(k, i) != INT64_MAX) ||
                         market_offer(k, i)->price.hour.nano != offers[i].price.hour.nano;
                for (uint32_t c = 0; c < CLASSES; c++)
                        wrong += market_fits(k, ids[c], i) != wants(&needs[c], &offers[i]);
        }
        (void)tap_int(wrong, 0, "B-01 B-02 after each change every class's cheapest are those that a loop finds");
        (void)tap_ok(unfit > 0 && unfit < OFFERS, "... with prices that are unfit among them: %lld", unfit);
        market_set_rates(k, NULL, now);
        (void)tap_ok(market_best(k, ids[0]) == MARKET_NONE ||
                             streq(market_offer(k, market_best(k, ids[0]))->price.hour.currency, "USD") ||
                             market_offer(k, market_best(k, ids[0]))->price.hour.nano == 0,
                "without rates only what is in the index's currency");
}

/* --- by hand --- */
static const struct market_offer few[] = {
        { .connection = "aws",
                .zone = "a",
                .type = "m5",
                .market = PD_MARKET_ON_DEMAND,
                .cpu_milli = 4000,
                .memory_bytes = GIB,
                .price = { .hour = { 100, "USD" }, .at_wall_us = NOW, .max_age_us = AGE, .paid = true } },
        { .connection = "aws",
                .zone = "a",
                .type = "m5",
                .market = PD_MARKET_SPOT,
                .cpu_milli = 4000,
                .memory_bytes = GIB,
                .price = { .hour = { 30, "USD" },
                        .at_wall_us = NOW,
                        .max_age_us = AGE,
                        .paid = true,
                        .source = "price list" } },
        { .connection = "gpu",
                .zone = "x",
                .type = "a100",
                .market = PD_MARKET_ON_DEMAND,
                .cpu_milli = 8000,
                .gpus = 8,
                .memory_bytes = GIB,
                .price = { .hour = { 100, "EUR" }, .at_wall_us = NOW, .max_age_us = AGE, .paid = true } },
};

static void test_classes(void)
{
        pd_cleanup(market_freep) struct market *k = NULL;
        struct market_need need = { .cpu_milli = 1000 };
        struct pd_error err;
        uint32_t any, same, gpu, exact, other = 77;

        (void)market_new("USD", few, ARRAY_LEN(few), 3, NULL, NOW, &k, &err);
        (void)market_class(k, &need, &any, &err);
        (void)market_class(k, &need, &same, &err);
        (void)tap_int(same, any, "jobs that ask for the same are one class");
        need.gpus = 1;
        (void)market_class(k, &need, &gpu, &err);
        need = (struct market_need){ .on = "aws/a/m5" };
        (void)market_class(k, &need, &exact, &err);
        need.on = "aws/a/m5/spot";
        (void)tap_int(market_class(k, &need, &other, &err), -PD_E_FULL, "the classes are bounded");
        (void)tap_ok(other == 77 && strstr(err.text, "3 kinds of needs"), "... said so: %s", err.text);
        need.on = "aws//";
        (void)tap_int(market_class(k, &need, &other, &err), -PD_E_INVALID, "a malformed --on is refused");
        (void)market_build(k, &err);
        (void)tap_int(market_build(k, &err), 0, "built once is built");
        (void)tap_int(market_best(k, any), 1, "the cheapest of all");
        (void)tap_int(market_best(k, exact), 0, "--on without /spot is on demand");
        (void)tap_int(market_best(k, gpu), MARKET_NONE, "P-13 a currency without a rate is not compared");
        (void)tap_int(market_best_rates(k)[gpu], INT64_MAX, "... and costs more than all");
        market_class_drop(k, any);
        need = (struct market_need){ .cpu_milli = 5000 };
        (void)tap_int(market_class(k, &need, &other, &err), -PD_E_FULL, "a class in use by another job stays");
        market_class_drop(k, same);
        (void)tap_int(market_class(k, &need, &other, &err), 0, "... and makes room when nobody uses it");
        (void)tap_int(other, any, "... in its place");
        market_set_price(k, 0, &few[1].price, NOW);
        (void)market_build(k, &err);
        (void)tap_ok(market_best(k, exact) == 0 && market_best_rates(k)[exact] == 30,
                "a price that changed before it was built counts");
        market_set_rates(k, &rates, NOW);
        (void)tap_int(market_best_rates(k)[other], 110, "with a dated rate it is");
        need.cpu_milli = 9000;
        market_class_drop(k, other);
        (void)market_class(k, &need, &other, &err);
        (void)market_build(k, &err);
        (void)tap_ok(market_best(k, other) == MARKET_NONE && market_cheapest(k, other, 3, &gpu) == 0,
                "a class that nothing fits");
}

/* Each asks for something else than the first. */
static const struct market_need kinds[] = {
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws" },
        { .cpu_milli = 1001, .memory_bytes = 5, .on = "aws" },
        { .cpu_milli = 1000, .memory_bytes = 6, .on = "aws" },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws", .gpus = 1 },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws", .disk_bytes = 1 },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws", .no_spot = true },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws", .no_on_demand = true },
        { .cpu_milli = 1000, .memory_bytes = 5 },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "gpu" },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws/a" },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws/a/m5" },
        { .cpu_milli = 1000, .memory_bytes = 5, .on = "aws/a/m5/spot" },
};

static void test_kinds(void)
{
        pd_cleanup(market_freep) struct market *k = NULL;
        uint32_t id, again;

        (void)market_new("USD", few, ARRAY_LEN(few), ARRAY_LEN(kinds), NULL, NOW, &k, NULL);
        for (uint32_t round = 0; round < 2; round++)
                for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++) {
                        (void)market_class(k, &kinds[i], &id, NULL);
                        (void)tap_int(id, i,
                                round ? "... and is found again" : "one thing asked for differently is another class");
                }
        for (uint32_t i = 3; i < 7; i++) {
                market_class_drop(k, i);
                market_class_drop(k, i);
        }
        (void)market_class(k, &kinds[6], &id, NULL);
        (void)market_class(k, &kinds[6], &again, NULL);
        (void)tap_ok(id == 3 && again == 3, "of several free places the first is taken");
}

static void test_time(void)
{
        pd_cleanup(market_freep) struct market *k = NULL;
        struct market_need need = { .cpu_milli = 1000 };
        char why[MARKET_WHY_MAX];
        uint32_t c;

        (void)market_new("USD", few, 2, 1, NULL, NOW, &k, NULL);
        (void)market_class(k, &need, &c, NULL);
        (void)market_build(k, NULL);
        (void)tap_int(market_tick(k, NOW + 1), NOW + AGE + 1, "nothing changes before the age limit");
        (void)tap_int(market_best(k, c), 1, "... fresh");
        (void)tap_ok(market_why(k, 1, NOW + AGE, why) == NULL, "P-13 at its age limit it is fit");
        (void)tap_has(market_why(k, 1, NOW + AGE + 1, why),
                "older than its age limit: 0.00000003 USD/h of 2026-11-30T00:53:20.000000Z, from price list",
                "P-13 ... after it not, and why");
        (void)tap_has(
                market_why(k, 0, NOW + AGE + 1, why), "a source that is not named", "... a price without a source");
        (void)market_tick(k, NOW + AGE);
        (void)tap_int(market_best(k, c), 1, "... until then it counts");
        (void)tap_int(market_tick(k, NOW + AGE + 1), INT64_MAX, "... then nothing more changes by itself");
        (void)tap_int(market_best(k, c), MARKET_NONE, "... and nothing is chosen");
        market_set_price(k, 1, &(struct market_price){ .hour = { 1, "" } }, NOW);
        (void)tap_str(market_why(k, 1, NOW, why), "no price is given", "a missing price has no figures");
        market_set_price(k, 1, &few[1].price, NOW);
        market_leave_out(k, 1, NOW + 30 * USEC_PER_MIN, NOW);
        (void)market_tick(k, NOW);
        (void)tap_int(market_tick(k, NOW + 30 * USEC_PER_MIN - 1), NOW + 30 * USEC_PER_MIN,
                "P-17 a pool that was reclaimed is left out for 30 minutes");
        (void)tap_has(market_why(k, 1, NOW + 1, why), "left out", "P-17 ... and said why");
        (void)tap_int(market_best(k, c), MARKET_NONE, "P-17 ... to the microsecond");
        (void)market_tick(k, NOW + 30 * USEC_PER_MIN);
        (void)tap_int(market_best(k, c), 1, "P-17 ... and comes back");
        market_set_price(
                k, 0, &(struct market_price){ .hour = { 1, "USD" }, .at_wall_us = NOW, .max_age_us = INT64_MAX }, NOW);
        (void)tap_ok(market_best(k, c) == 0, "a price without end");
}

static void test_edges(void)
{
        pd_cleanup(market_freep) struct market *k = NULL, *none = NULL;
        struct market_need need = { 0 };
        struct pd_error err;
        uint32_t c;

        (void)tap_int(market_new("USD", NULL, (size_t)MARKET_OFFERS_MAX + 1, 1, NULL, NOW, &k, &err), -PD_E_FULL,
                "more offers than are indexed");
        (void)tap_int(market_new("USD", NULL, 0, 1, NULL, NOW, &k, &err), 0, "no offer at all");
        (void)market_class(k, &need, &c, &err);
        (void)tap_ok(market_build(k, &err) == 0 && market_best(k, c) == MARKET_NONE, "... has no best");
        (void)tap_int(market_tick(k, NOW), INT64_MAX, "... and never changes");
        (void)tap_int(market_new("USD", few, 1, 0, NULL, NOW, &none, &err), 0, "no class at all");
        (void)tap_ok(market_class(none, &need, &c, &err) == -PD_E_FULL && market_build(none, &err) == 0,
                "... is full, and built");
        market_set_price(none, 0, &few[1].price, NOW);
        (void)tap_int(market_rate_of(none, 0), 30, "... and knows its prices");
}

int main(int argc, char **argv)
{
        const char *given = argc > 1 ? argv[1] : getenv("TEST_SEED");

        seed = given ? strtoull(given, NULL, 10) : 20261130;
        tap_note("seed %" PRIu64, seed);
        test_against_loop();
        test_classes();
        test_kinds();
        test_time();
        test_edges();
        return tap_done();
}
