/* SPDX-License-Identifier: Apache-2.0 */
/* Random lives of machines, checkpoints, caps and months against an independent bill (N-04, B-15): every answer of the ledger is foretold by the
 * oracle, every sum of it is compared after every event, and every 1,000th it is built again from nothing but the records that it named as changed.
 * TEST_SEED, TEST_FULL=1: 10^7 events, else 10^6; LEDGER_EVENTS: so many. */
#include "ledger_run.h"
#include "tap.h"

static long events_wanted(void)
{
        const char *n = getenv("LEDGER_EVENTS"), *full = getenv("TEST_FULL");

        if (n)
                return strtol(n, NULL, 10);
        return full && streq(full, "1") ? 10000000 : 1000000;
}

int main(void)
{
        static struct run w;
        const char *seed = getenv("TEST_SEED");
        long wanted = events_wanted();

        w.random = seed ? strtoull(seed, NULL, 10) : 1;
        run_begin(&w);
        while (w.events < wanted && w.violations == 0) {
                run_step(&w);
                w.open += w.events % 1000 == 0 ? run_machines_open(&w) : 0;
                if (w.events % 1000 == 0)
                        run_crash(&w);
        }
        run_end(&w);
        run_crash(&w);
        tap_note(
                "seed %s: %ld events, %ld within 1 %% of a cap, %ld acts of which %ld refused, %ld crashes, %ld months",
                seed ? seed : "1", w.events, w.near, w.acts, w.refused, w.crashes, w.turns);
        tap_note("%ld postings within their terms, %ld beyond the worst case outside of them, %ld corrections, %ld "
                 "machines and checkpoints at a time",
                w.bounded, w.over, w.corrections, w.crashes ? w.open / w.crashes : 0);
        tap_ok(w.violations == 0, "N-04 law 6 %ld random events: %ld violations", w.events, w.violations);
        tap_ok(w.lost == 0, "law 7 every reservation closed, and the lines are the independent bill: %ld nano lost",
                w.lost);
        tap_ok(w.near * 5 >= w.events, "N-04 at least a fifth of them within 1 %% of a cap (%ld %%)",
                w.near * 100 / w.events);
        tap_ok(w.refused > 0 && w.turns > 0 && w.corrections > 0 && w.over > 0 && w.bounded > 0,
                "each kind of event happened");
        ledger_free(&w.l);
        return tap_done();
}
