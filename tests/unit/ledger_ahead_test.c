/* SPDX-License-Identifier: Apache-2.0 */
/* Looking ahead: the longest stop that fits, and when to suspend (N-04, P-07, law 6). 3.6 USD/h: 1 nano is 1 us. */
#include "ledger_common.h"

#define P INT64_C(3600000000)

static const struct {
        const char *name;
        int64_t ceiling, minimum, step, lag, flat, cap, want; /* want: us from T0; -1 = refused */
        int32_t changes;
} longest_rows[] = {
        { "a nano a us", P, 0, 0, 0, 0, 100, 100, 0 },
        { "less the lag", P, 0, 0, 10, 0, 100, 90, 0 },
        { "just the lag", P, 0, 0, 100, 0, 100, 0, 0 },
        { "a us less than the lag", P, 0, 0, 100, 0, 99, -1, 0 },
        { "less what is flat", P, 0, 0, 0, 30, 100, 70, 0 },
        { "only what is flat", P, 0, 0, 0, 100, 100, 0, 0 },
        { "a nano less than what is flat", P, 0, 0, 0, 101, 100, -1, 0 },
        { "less a nano for each price change", P, 0, 0, 0, 0, 100, 97, 3 },
        { "whole steps", P, 0, 30, 0, 0, 100, 90, 0 },
        { "a whole step is not lost", P, 0, 50, 0, 0, 100, 100, 0 },
        { "a nano less than a step", P, 0, 50, 1, 0, 49, -1, 0 },
        { "the minimum fits", P, 100, 0, 0, 0, 100, 100, 0 },
        { "the minimum does not", P, 101, 0, 0, 0, 100, -1, 0 },
        { "at the ceiling, not at the price", 2 * P, 0, 0, 0, 0, 100, 50, 0 },
        { "what is left of a nano buys nothing", 3 * P, 0, 0, 0, 0, 100, 33, 0 },
        { "no further than wanted", P, 0, 0, 0, 0, 1001, 1000, 0 },
};

static void longest(void)
{
        for (size_t i = 0; i < ARRAY_LEN(longest_rows); i++) {
                struct fixture f;
                struct ledger_terms t;
                int64_t stop = T0 - 1;
                uint32_t h = LEDGER_NONE;
                bool good;

                fixture_begin(&f);
                (void)fixture_cap(&f, LEDGER_PROJECT, longest_rows[i].cap);
                t = fixture_terms(&f);
                t.price_nano_hour = P < longest_rows[i].ceiling ? P : longest_rows[i].ceiling;
                t.ceiling_nano_hour = longest_rows[i].ceiling;
                t.minimum_us = longest_rows[i].minimum;
                t.step_us = longest_rows[i].step;
                t.lag_us = longest_rows[i].lag;
                t.flat_nano = longest_rows[i].flat;
                t.price_changes = longest_rows[i].changes;
                (void)ledger_longest_new(&f.l, &t, T0, T0 + 1000, &stop, NULL);
                good = stop - T0 == longest_rows[i].want;
                if (stop >= T0)
                        good = good && ledger_reserve(&f.l, &t, T0, stop, &h, NULL, NULL) == 0 &&
                               (stop == T0 + 1000 || ledger_renew(&f.l, h, stop + 1, NULL, NULL) == -PD_E_FULL);
                else
                        good = good && ledger_reserve(&f.l, &t, T0, T0, &h, NULL, NULL) == -PD_E_FULL;
                tap_ok(good, "N-04 longest stop: %s; 1 us more is refused", longest_rows[i].name);
                ledger_free(&f.l);
        }
}

static void longest_new_refusals(void)
{
        struct fixture f;
        struct ledger_terms t;
        int64_t stop = -1;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.lag_us = -1;
        tap_int(ledger_longest_new(&f.l, &t, T0, T0 + 1, &stop, NULL), -PD_E_INVALID, "longest: terms that are wrong");
        t.lag_us = 0;
        t.account[LEDGER_JOB] = 99;
        tap_int(ledger_longest_new(&f.l, &t, T0, T0 + 1, &stop, NULL), -PD_E_NOT_FOUND,
                "longest: an account that is not there");
        t = fixture_terms(&f);
        (void)fixture_cap(&f, LEDGER_JOB, 0);
        t.price_nano_hour = t.ceiling_nano_hour = 0;
        tap_ok(ledger_longest_new(&f.l, &t, T0, INT64_MAX, &stop, NULL) == 0 && stop == INT64_MAX,
                "longest: a free machine, without end");
        t.price_nano_hour = 1;
        (void)fixture_cap(&f, LEDGER_JOB, INT64_MAX);
        tap_ok(ledger_longest_new(&f.l, &t, T0, INT64_MAX, &stop, NULL) == 0 && stop == INT64_MAX,
                "longest: the greatest cap at the smallest price");
        ledger_free(&f.l);
}

static void margins(void)
{
        static const struct ledger_margin margin = {
                .save_deadline_us = 50, .check_us = 20, .save_us = 7, .save_nano = 3
        };
        struct ledger_margin bad;
        struct ledger_left left;
        struct fixture f;
        struct ledger_terms t;
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        h = fixture_reserve(&f, &t, T0 + 100);
        (void)fixture_cap(&f, LEDGER_JOB, INT64_MAX);
        bad = (struct ledger_margin){ 0 };
        tap_int(ledger_left(&f.l, h, &bad, &left, NULL), 0, "a margin may be nothing");
        bad = (struct ledger_margin){ LEDGER_SPAN_MAX, LEDGER_SPAN_MAX, LEDGER_SPAN_MAX, INT64_MAX };
        tap_int(ledger_left(&f.l, h, &bad, &left, NULL), 0, "or 100 years");
        for (int i = 0; i < 7; i++) {
                bad = margin;
                *(i < 2         ? &bad.save_deadline_us
                        : i < 4 ? &bad.check_us
                        : i < 6 ? &bad.save_us
                                : &bad.save_nano) = i % 2 ? LEDGER_SPAN_MAX + 1 : -1;
                tap_int(ledger_left(&f.l, h, &bad, &left, NULL), -PD_E_INVALID, "a margin that is wrong is refused");
        }
        ledger_free(&f.l);
}

/* Near a cap: renew shorter, and suspend in time. */
static void near(void)
{
        static const struct ledger_margin margin = {
                .save_deadline_us = 50, .check_us = 20, .save_us = 7, .save_nano = 3
        };
        struct fixture f;
        struct ledger_terms t;
        struct ledger_left left;
        int64_t stop = 0;
        uint32_t h, target;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.lag_us = 10;
        h = fixture_reserve(&f, &t, T0 + 100);
        tap_ok(ledger_left(&f.l, h, &margin, &left, NULL) == 0 && left.account == LEDGER_NONE &&
                        left.last_stop_wall_us == INT64_MAX && left.suspend_wall_us == INT64_MAX &&
                        left.budget_wall_us == INT64_MAX,
                "N-04 without caps there is no end in sight");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 500);
        (void)ledger_longest(&f.l, h, T0 + 300, &stop, NULL);
        tap_int(stop, T0 + 300, "N-04 far from the cap the whole horizon");
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 490, "N-04 near it the longest that fits");
        tap_int(ledger_renew(&f.l, h, stop + 1, NULL, NULL), -PD_E_FULL, "N-04 law 6 1 us more is refused");
        tap_int(ledger_renew(&f.l, h, stop, NULL, NULL), 0, "N-04 law 6 it is not");
        tap_int(ledger_room(fixture_account(&f, LEDGER_CONNECTION)), 0, "N-04 to the nano");
        (void)ledger_post(&f.l, h, T0 + 200, NULL, NULL);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 490, "N-04 time that passes changes nothing in that");
        (void)ledger_longest(&f.l, h, T0 + 400, &stop, NULL);
        tap_int(stop, T0 + 490, "N-04 nor does a wish for less");
        (void)ledger_left(&f.l, h, &margin, &left, NULL);
        tap_ok(left.account == f.account[LEDGER_CONNECTION] && left.last_stop_wall_us == T0 + 490 &&
                        left.suspend_wall_us == T0 + 410,
                "N-04 suspend when save deadline + lag + one check are left");
        (void)fixture_cap(&f, LEDGER_JOB, 260);
        (void)ledger_left(&f.l, h, &margin, &left, NULL);
        tap_int(left.budget_wall_us, T0 + 230, "P-07 a little = one check (20) + the save (7 + 3): 230 of 260");
        (void)ledger_post(&f.l, h, T0 + 231, NULL, NULL);
        (void)ledger_left(&f.l, h, &margin, &left, NULL);
        tap_int(left.budget_wall_us, T0 + 231, "P-07 1 us later it is over: at once");
        (void)ledger_price(&f.l, h, T0 + 231, 0, NULL, NULL);
        (void)ledger_left(&f.l, h, &margin, &left, NULL);
        tap_int(left.budget_wall_us, INT64_MAX, "P-07 a price of 0 never reaches it");
        (void)ledger_price(&f.l, h, T0 + 231, 1, NULL, NULL);
        (void)fixture_cap(&f, LEDGER_JOB, INT64_MAX);
        (void)ledger_left(&f.l, h, &margin, &left, NULL);
        tap_int(left.budget_wall_us, INT64_MAX, "P-07 nor does the smallest price the greatest budget");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 600);
        t.account[LEDGER_JOB] = LEDGER_NONE;
        target = fixture_reserve(&f, &t, T0 + 1);
        (void)ledger_left(&f.l, target, &margin, &left, NULL);
        tap_int(left.budget_wall_us, INT64_MAX, "P-07 what no job pays has no budget");
        (void)ledger_cancel(&f.l, target, NULL, NULL);
        t.account[LEDGER_JOB] = f.account[LEDGER_JOB];
        t.lag_us = 0;
        tap_int(ledger_reserve(&f.l, &t, T0 + 231, T0 + 332, &target, NULL, NULL), -PD_E_FULL,
                "N-04 law 6 a move has both machines: 1 nano too much");
        tap_int(ledger_reserve(&f.l, &t, T0 + 231, T0 + 331, &target, NULL, NULL), 0,
                "N-04 law 6 ... and it just fits");
        (void)ledger_release(&f.l, h, T0 + 240, NULL, NULL);
        tap_int(ledger_room(fixture_account(&f, LEDGER_CONNECTION)), 600 - 232 - 100,
                "law 7 the source's end frees its rest");
        ledger_free(&f.l);
}

/* A machine that outlived its stop: the room is what is left beyond what it posted. */
static void outlived(void)
{
        struct fixture f;
        struct ledger_terms t;
        int64_t stop = 0;
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 100);
        h = fixture_reserve(&f, &t, T0 + 10);
        (void)ledger_post(&f.l, h, T0 + 60, NULL, NULL);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 100, "N-04 outlived: the longest counts from what is posted");
        (void)ledger_post(&f.l, h, T0 + 101, NULL, NULL);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 10, "N-04 above the cap: the stop it has");
        ledger_free(&f.l);

        fixture_begin(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 100);
        t.minimum_us = 100;
        h = fixture_reserve(&f, &t, T0 + 10);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 100, "N-04 within the minimum the longest stop is its end");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 99);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 10, "N-04 a nano less than the minimum: the stop it has");
        t.minimum_us = 0;
        ledger_free(&f.l);
}

/* Saves that went beyond what was put aside count as they are. */
static void beyond_flat(void)
{
        struct fixture f;
        struct ledger_terms t;
        int64_t stop = 0;
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 100);
        t.price_changes = 3;
        t.price_nano_hour = t.ceiling_nano_hour = 0;
        h = fixture_reserve(&f, &t, T0 + 10);
        (void)ledger_post_flat(&f.l, h, LEDGER_SAVE, T0, 99, NULL, NULL);
        tap_int(ledger_renew(&f.l, h, T0 + 20, NULL, NULL), -PD_E_FULL,
                "N-04 law 6 even a free machine asks for what it would raise");
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 10, "N-04 ... and is not told of a later one");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 102);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 700, "N-04 until there is room for it");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 100);
        (void)ledger_price(&f.l, h, T0, 1, NULL, NULL);
        (void)ledger_longest(&f.l, h, T0 + 700, &stop, NULL);
        tap_int(stop, T0 + 10, "N-04 saves beyond the flat part are counted");
        tap_int(ledger_renew(&f.l, h, T0 + 9, &f.change, NULL), 0, "an earlier stop never raises the worst case");
        tap_int(ledger_hold_at(&f.l, h)->worst_nano <= 103, 1, "... here it does not");
        ledger_free(&f.l);
}

int main(void)
{
        longest();
        longest_new_refusals();
        margins();
        near();
        outlived();
        beyond_flat();
        return tap_done();
}
