/* SPDX-License-Identifier: Apache-2.0 */
/* P-06: a spot offer whose notice cannot save a job's measured state is left out of its later placements; where nobody knows, or the job is pinned to it, it
 * is kept and warned of. */
#include "placement/placement.h"

#include "tap.h"

#define S USEC_PER_SEC
#define SPOT 1 /* the offer that is looked at */

static const struct {
        const char *name, *on;
        uint64_t state;
        int64_t rate, provider;
        bool fits;
        const char *why, *warn;
} rows[] = {
        { "P-06 a state that its notice can just save", NULL, 8000, 1000, 0, true, "the cheapest", "" },
        { "P-06 a byte more leaves it out", NULL, 8001, 1000, 0, false,
                "its notice can save 7.8KiB, and the job's state is 7.8KiB: 1B too much", "its notice can save" },
        { "P-06 never used: by the lowest rate of its provider", NULL, 8001, 0, 1000, false, "too much", "its notice" },
        { "P-06 nothing measured yet: kept, with a warning", NULL, 0, 1000, 0, true, "the cheapest",
                "not measured yet" },
        { "P-06 no rate learned at all: kept, with a warning", NULL, 8001, 0, 0, true, "the cheapest",
                "not learned yet" },
        { "P-19 pinned to it: only warned", "aws/a/m5/spot", 8001, 1000, 0, true, "the cheapest",
                "its notice can save 7.8KiB" },
        { "P-19 not pinned by less than a whole name", "aws/a", 8001, 1000, 0, false, "too much", "its notice" },
};

static const struct placement_choice *choice_of(const struct placement_choice *all, size_t n, size_t offer)
{
        while (n-- > 1 && all->offer != offer)
                all++;
        return all;
}

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct placement_offer offers[] = {
                        { .connection = "aws",
                                .zone = "a",
                                .type = "m5",
                                .market = PD_MARKET_ON_DEMAND,
                                .price = { 20, "USD" },
                                .cpu_milli = 4000,
                                .usable = true },
                        { .connection = "aws",
                                .zone = "a",
                                .type = "m5",
                                .market = PD_MARKET_SPOT,
                                .price = { 7, "USD" },
                                .cpu_milli = 4000,
                                .usable = true,
                                .notice = { .notice_us = 10 * S,
                                        .save_bytes_s = rows[i].rate,
                                        .provider_bytes_s = rows[i].provider } },
                };
                struct placement_need need = { .cpu_milli = 1000, .state_bytes = rows[i].state, .on = rows[i].on };
                struct placement_choice all[2];
                const struct placement_choice *c;
                size_t ok = 0;

                (void)tap_int(placement_rank(&need, offers, 2, 0, all, &ok, NULL), 0, rows[i].name);
                c = choice_of(all, 2, SPOT);
                (void)tap_ok(c->offer == SPOT && c->fits == rows[i].fits && !c->later, "... %s",
                        rows[i].fits ? "fits" : "does not fit");
                (void)tap_has(c->why, rows[i].why, "... why");
                (void)tap_ok(rows[i].warn[0] ? strstr(c->warn, rows[i].warn) != NULL : !c->warn[0],
                        "... warned: \"%s\"", c->warn);
                c = choice_of(all, 2, 0);
                (void)tap_ok(!c->warn[0], "... on demand is nothing to warn of");
        }
        return tap_done();
}
