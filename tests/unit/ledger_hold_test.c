/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one reservation, and the bill that it leaves. 3.6 USD/h: 1 nano is 1 us. */
#include "ledger_common.h"

#define P INT64_C(3600000000)

static const struct {
        const char *name;
        struct ledger_terms t;
        int64_t run, want;
        int code;
} worsts[] = {
        { "horizon + lag at the ceiling", { .ceiling_nano_hour = P, .lag_us = 5 }, 100, 105, 0 },
        { "a ceiling below the price is the price", { .price_nano_hour = P, .ceiling_nano_hour = 1 }, 100, 100, 0 },
        { "on spot the ceiling counts, not the price", { .price_nano_hour = P, .ceiling_nano_hour = 3 * P }, 100, 300,
                0 },
        { "1 us below the minimum: the minimum", { .ceiling_nano_hour = P, .minimum_us = 60 }, 59, 60, 0 },
        { "the minimum itself", { .ceiling_nano_hour = P, .minimum_us = 60 }, 60, 60, 0 },
        { "1 us above the minimum", { .ceiling_nano_hour = P, .minimum_us = 60 }, 61, 61, 0 },
        { "a whole step is no more", { .ceiling_nano_hour = P, .step_us = 50, .lag_us = 10 }, 90, 100, 0 },
        { "1 us more is a step more", { .ceiling_nano_hour = P, .step_us = 50, .lag_us = 10 }, 91, 150, 0 },
        { "the minimum is not rounded to a step", { .ceiling_nano_hour = P, .step_us = 50, .minimum_us = 160 }, 91, 160,
                0 },
        { "save, egress and storage come on top", { .ceiling_nano_hour = P, .flat_nano = 7 }, 100, 107, 0 },
        { "each price change may round up once", { .ceiling_nano_hour = P, .price_changes = 2 }, 100, 102, 0 },
        { "a free machine promises nothing", { .lag_us = 5 }, HOUR, 0, 0 },
        { "rounded up to a nano", { .ceiling_nano_hour = 1 }, 1, 1, 0 },
        { "what does not fit is a named error", { .ceiling_nano_hour = INT64_MAX }, HOUR + 1, 0, PD_E_INVALID },
        { "a stop before the start is refused", { .ceiling_nano_hour = P }, -1, 0, PD_E_INVALID },
        { "a negative price is refused", { .price_nano_hour = -1 }, 1, 0, PD_E_INVALID },
        { "a negative ceiling is refused", { .ceiling_nano_hour = -1 }, 1, 0, PD_E_INVALID },
        { "a negative flat part is refused", { .flat_nano = -1 }, 1, 0, PD_E_INVALID },
        { "negative price changes are refused", { .price_changes = -1 }, 1, 0, PD_E_INVALID },
        { "a negative minimum is refused", { .minimum_us = -1 }, 1, 0, PD_E_INVALID },
        { "a step of more than 100 years is refused", { .step_us = LEDGER_SPAN_MAX + 1 }, 1, 0, PD_E_INVALID },
        { "a negative lag is refused", { .lag_us = -1 }, 1, 0, PD_E_INVALID },
        { "an unknown kind is refused", { .kind = (enum ledger_kind)7 }, 1, 0, PD_E_INVALID },
        { "a step of 100 years is one", { .step_us = LEDGER_SPAN_MAX }, 1, 0, 0 },
        { "storage is a kind", { .kind = LEDGER_STORAGE, .price_nano_hour = P }, 9, 9, 0 },
};

static void worst_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(worsts); i++) {
                int64_t got = 0;
                int r = ledger_worst(&worsts[i].t, T0, T0 + worsts[i].run, &got, NULL);

                tap_ok(r == -worsts[i].code && got == worsts[i].want, "worst case: %s", worsts[i].name);
        }
        {
                int64_t got;

                tap_int(ledger_worst(&worsts[0].t, 0, 100, &got, NULL), 0, "worst case: a start at 0 is one");
                tap_int(ledger_worst(&worsts[0].t, -1, T0, &got, NULL), -PD_E_INVALID,
                        "worst case: a start before all time is refused");
        }
}

static void life(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h;

        fixture_begin(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 1000);
        t = fixture_terms(&f);
        t.lag_us = 10;
        h = fixture_reserve(&f, &t, T0 + 100);
        tap_int(fixture_account(&f, LEDGER_CONNECTION)->open_nano, 110, "reserved before the create call");
        tap_int(fixture_account(&f, LEDGER_JOB)->open_nano, 110, "... on each of its accounts");
        tap_int(fixture_account(&f, LEDGER_PROJECT)->holds, 1, "... which know that they have it");
        (void)ledger_post(&f.l, h, T0 + 30, &f.change, NULL);
        tap_ok(f.change.lines_n == 1 && f.change.line[0].nano == 30 && f.change.line[0].us == 30 &&
                        f.change.line[0].seq == 0 && f.change.line[0].hold == h && f.change.line[0].job.b[0] == 2 &&
                        f.change.line[0].what.b[0] == 1,
                "posted as measured, with a line that names machine and job");
        tap_ok(fixture_account(&f, LEDGER_CONNECTION)->spent_nano == 30 &&
                        fixture_account(&f, LEDGER_CONNECTION)->open_nano == 80,
                "posting moves money from open to spent");
        (void)ledger_post(&f.l, h, T0 + 30, &f.change, NULL);
        tap_int((long long)f.change.lines_n, 0, "the same instant again posts nothing");
        (void)ledger_post(&f.l, h, T0 + 29, &f.change, NULL);
        tap_int((long long)f.change.lines_n, 0, "nor does a clock that stepped back");
        tap_int(ledger_renew(&f.l, h, T0 + 200, &f.change, NULL), 0, "renewed");
        tap_int(ledger_rest(ledger_hold_at(&f.l, h)), 180, "law 6 the rest of the time is promised anew");
        tap_int(ledger_correct(&f.l, h, 1, NULL, NULL), -PD_E_CONFLICT, "an open bill cannot be corrected");
        tap_int(ledger_forget(&f.l, h, NULL, NULL), -PD_E_CONFLICT, "nor an open reservation forgotten");
        tap_int(ledger_cancel(&f.l, h, NULL, NULL), -PD_E_CONFLICT,
                "nor one with a bill be taken for one that never was");
        tap_int(ledger_release(&f.l, h, T0 + 77, &f.change, NULL), 0, "law 7 released when the end is confirmed");
        tap_ok(f.change.line[0].nano == 47 && f.change.line[0].seq == 1 && f.change.lines_n == 1,
                "law 7 the last line");
        tap_ok(fixture_account(&f, LEDGER_JOB)->spent_nano == 77 && fixture_account(&f, LEDGER_JOB)->open_nano == 0,
                "law 7 the ledger equals the bill, nothing is open");
        tap_int(ledger_post(&f.l, h, T0 + 99, NULL, NULL), -PD_E_CONFLICT, "nothing is posted afterwards");
        tap_int(ledger_correct(&f.l, h, -1, NULL, NULL), -PD_E_INVALID, "a negative bill is refused");
        tap_int(ledger_correct(&f.l, h, 70, &f.change, NULL), 0, "the provider's own bill was less");
        tap_ok(f.change.line[0].kind == LEDGER_CORRECTION && f.change.line[0].nano == -7 &&
                        fixture_account(&f, LEDGER_JOB)->spent_nano == 70,
                "... a correction, below zero");
        (void)ledger_correct(&f.l, h, 70, &f.change, NULL);
        tap_int((long long)f.change.lines_n, 0, "the same bill again is no line");
        tap_int(ledger_account_close(&f.l, f.account[LEDGER_JOB], NULL, NULL), -PD_E_CONFLICT,
                "an account with a reservation stays");
        tap_int(ledger_forget(&f.l, h, &f.change, NULL), 0, "forgotten");
        tap_ok(f.change.hold[0] == h && !ledger_hold_at(&f.l, h), "... and gone");
        tap_int(ledger_account_close(&f.l, f.account[LEDGER_JOB], &f.change, NULL), 0, "its account may close");
        tap_ok(!fixture_account(&f, LEDGER_JOB) && f.change.account[LEDGER_JOB] == f.account[LEDGER_JOB],
                "... and is gone");
        tap_int(fixture_reserve(&f, &t, T0 + 100), LEDGER_NONE, "nothing is reserved on an account that is gone");
        t.account[LEDGER_JOB] = LEDGER_NONE;
        tap_int(fixture_reserve(&f, &t, T0 + 100), h, "its place is used again");
        ledger_free(&f.l);
}

/* The same stay in slices of every length costs the same. */
static void slices(void)
{
        int64_t want = 0, bad = 0;

        for (int64_t slice = 1; slice <= 1000; slice++) {
                struct fixture f;
                struct ledger_terms t;
                uint32_t h;
                int64_t sum = 0;

                fixture_begin(&f);
                t = fixture_terms(&f);
                t.price_nano_hour = t.ceiling_nano_hour = 123456789;
                h = fixture_reserve(&f, &t, T0 + 1000);
                for (int64_t at = slice; at < 1000; at += slice) {
                        (void)ledger_post(&f.l, h, T0 + at, &f.change, NULL);
                        sum += f.change.line[0].nano;
                        bad += f.change.over_nano != 0;
                }
                (void)ledger_release(&f.l, h, T0 + 1000, &f.change, NULL);
                sum += f.change.line[0].nano;
                want = (INT64_C(123456789) * 1000 + HOUR - 1) / HOUR;
                bad += sum != want;
                ledger_free(&f.l);
        }
        tap_int(bad, 0, "slicing never matters: every slice from 1 us to 1 ms gives the same bill");
}

static void prices(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.price_nano_hour = 1;
        t.ceiling_nano_hour = 3;
        t.price_changes = 2;
        h = fixture_reserve(&f, &t, T0 + HOUR);
        tap_int(ledger_price(&f.l, h, T0 + 1, 1, &f.change, NULL), 0, "the same price again");
        tap_int(ledger_hold_at(&f.l, h)->segment_wall_us, T0, "... is no new segment");
        (void)ledger_price(&f.l, h, T0 + 2, 2, &f.change, NULL);
        tap_ok(f.change.line[0].price_nano_hour == 1 && f.change.line[0].nano == 0,
                "a segment ends at a price change, and its price is kept");
        (void)ledger_price(&f.l, h, T0 + 2, 3, &f.change, NULL);
        tap_int((long long)f.change.lines_n, 0, "a second change at once has no time to bill");
        (void)ledger_price(&f.l, h, T0 + 3, 1, &f.change, NULL);
        tap_ok(f.change.line[0].nano == 1 && f.change.over_nano == 0, "each segment is rounded up for itself");
        (void)ledger_post(&f.l, h, T0 + HOUR, &f.change, NULL);
        tap_int(ledger_hold_at(&f.l, h)->time_nano, 3, "1 + 1 + 1 nano: within the worst case of 3 + 2");
        tap_int(ledger_price(&f.l, h, T0 + HOUR, 9, &f.change, NULL), 0, "a price above the ceiling is a fact");
        tap_int(ledger_hold_at(&f.l, h)->worst_nano, 5, "... which never lowers the worst case");
        tap_int(ledger_price(&f.l, h, T0 + HOUR, -1, NULL, NULL), -PD_E_INVALID, "a negative price is refused");
        tap_int(ledger_price(&f.l, h, T0 + HOUR + 1, INT64_MAX, NULL, NULL), 0,
                "the greatest price, with no time ahead, fits");
        (void)ledger_price(&f.l, h, T0 + HOUR + 1, 1, NULL, NULL);
        tap_int(ledger_post(&f.l, h, T0 + 4 * HOUR, &f.change, NULL), 0, "a machine that outlives its stop is billed");
        tap_int(f.change.over_nano, 1, "... and the change says what was beyond the worst case");
        (void)ledger_post(&f.l, h, T0 + 6 * HOUR, &f.change, NULL);
        tap_int(f.change.over_nano, 2, "... and only what this one posted");
        ledger_free(&f.l);
}

static void prices_above(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.price_nano_hour = t.ceiling_nano_hour = P;
        h = fixture_reserve(&f, &t, T0 + 100);
        (void)ledger_price(&f.l, h, T0 + 50, 2 * P, &f.change, NULL);
        tap_int(ledger_hold_at(&f.l, h)->worst_nano, 150, "a price above the ceiling raises the worst case at once");
        t.ceiling_nano_hour = 3 * P;
        h = fixture_reserve(&f, &t, T0 + 100);
        (void)ledger_price(&f.l, h, T0 + 90, 4 * P, &f.change, NULL);
        tap_int(ledger_hold_at(&f.l, h)->worst_nano, 300, "... and never lowers it");
        t.ceiling_nano_hour = t.price_nano_hour = 1;
        h = fixture_reserve(&f, &t, T0 + HOUR);
        (void)ledger_post(&f.l, h, T0 + 1, &f.change, NULL);
        (void)ledger_renew(&f.l, h, T0 + HOUR, &f.change, NULL);
        tap_int(ledger_hold_at(&f.l, h)->worst_nano, 1, "a stop that is not later never raises it, by no rounding");
        t.ceiling_nano_hour = t.price_nano_hour = P;
        tap_int(ledger_price(&f.l, h, T0 + 50, INT64_MAX, NULL, &f.err), 0, "... up to what can be counted");
        ledger_free(&f.l);
        fixture_begin(&f);
        h = fixture_reserve(&f, &t, T0 + 2 * HOUR);
        tap_int(ledger_price(&f.l, h, T0, INT64_MAX, NULL, &f.err), -PD_E_INVALID,
                "a worst case that does not fit is a named error");
        tap_str(f.err.subject, "overflow", "... named overflow");
        tap_int(ledger_hold_at(&f.l, h)->price_nano_hour, P, "... and nothing changed");
        ledger_free(&f.l);
}

static const struct {
        const char *name;
        int64_t minimum, step, posted, end, want;
        size_t lines;
} ends[] = {
        { "nothing to round", 0, 0, 0, 70, 70, 1 },
        { "posted to the end already", 0, 0, 70, 70, 70, 0 },
        { "an end before what was posted is taken back", 0, 0, 70, 60, 60, 1 },
        { "1 us short of the minimum", 60, 0, 0, 59, 60, 2 },
        { "the minimum", 60, 0, 0, 60, 60, 1 },
        { "1 us over the minimum", 60, 0, 0, 61, 61, 1 },
        { "1 us short of a step", 0, 50, 0, 99, 100, 2 },
        { "a whole step", 0, 50, 0, 100, 100, 1 },
        { "1 us over a step", 0, 50, 0, 101, 150, 2 },
        { "gone at once: the minimum", 60, 50, 0, 0, 60, 1 },
        { "an end before the start is the start", 0, 0, 0, -5, 0, 0 },
        { "taken back below the minimum: the minimum", 60, 0, 70, 50, 60, 2 },
};

static void end_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                struct fixture f;
                struct ledger_terms t;
                uint32_t h;
                int64_t sum;

                fixture_begin(&f);
                t = fixture_terms(&f);
                t.minimum_us = ends[i].minimum;
                t.step_us = ends[i].step;
                h = fixture_reserve(&f, &t, T0 + 200);
                if (ends[i].posted)
                        (void)ledger_post(&f.l, h, T0 + ends[i].posted, &f.change, NULL);
                sum = ends[i].posted ? f.change.line[0].nano : 0;
                (void)ledger_release(&f.l, h, T0 + ends[i].end, &f.change, NULL);
                for (size_t k = 0; k < f.change.lines_n; k++)
                        sum += f.change.line[k].nano;
                tap_ok(sum == ends[i].want && f.change.lines_n == ends[i].lines &&
                                fixture_account(&f, LEDGER_JOB)->spent_nano == ends[i].want &&
                                fixture_account(&f, LEDGER_JOB)->open_nano == 0,
                        "law 7 end: %s", ends[i].name);
                ledger_free(&f.l);
        }
}

static void flats(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h, s, x = 99;

        fixture_begin(&f);
        (void)fixture_cap(&f, LEDGER_JOB, 1000);
        t = fixture_terms(&f);
        t.flat_nano = 50;
        h = fixture_reserve(&f, &t, T0 + 100);
        tap_int(ledger_post_flat(&f.l, h, LEDGER_SAVE, T0 + 5, 20, &f.change, NULL), 0, "a save is posted");
        tap_int(ledger_rest(ledger_hold_at(&f.l, h)), 130, "... out of the flat part");
        tap_int(ledger_post_flat(&f.l, h, LEDGER_TIME, T0 + 5, 20, NULL, NULL), -PD_E_INVALID,
                "time is not posted as a flat amount");
        tap_int(ledger_post_flat(&f.l, h, LEDGER_EGRESS, T0 + 5, -1, NULL, NULL), -PD_E_INVALID,
                "nor is less than nothing");
        tap_int(ledger_post_flat(&f.l, h, LEDGER_EGRESS, T0 + 5, INT64_MAX, NULL, NULL), -PD_E_INVALID,
                "nor what does not fit");
        tap_int(ledger_post_flat(&f.l, 77, LEDGER_EGRESS, T0 + 5, 1, NULL, NULL), -PD_E_NOT_FOUND,
                "nor on what is not there");
        t.kind = LEDGER_STORAGE;
        t.flat_nano = 0;
        t.out_of = h;
        (void)fixture_cap(&f, LEDGER_JOB, 10);
        s = fixture_reserve(&f, &t, T0 + 25);
        tap_ok(s != LEDGER_NONE && f.change.hold[1] == h && ledger_rest(ledger_hold_at(&f.l, h)) == 105 &&
                        ledger_rest(ledger_hold_at(&f.l, s)) == 25 && fixture_account(&f, LEDGER_JOB)->open_nano == 130,
                "law 6 a checkpoint's storage is taken out of what was put aside for it: no cap can refuse it");
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 6, &x, NULL, NULL), -PD_E_FULL,
                "law 6 beyond that part the caps are asked");
        tap_int(x, 99, "... and ret is not written");
        t.account[LEDGER_PROJECT] = LEDGER_NONE;
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 5, &x, NULL, NULL), -PD_E_INVALID,
                "other accounts than the parent's are refused");
        t.account[LEDGER_PROJECT] = f.account[LEDGER_PROJECT];
        t.out_of = 77;
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 5, &x, NULL, NULL), -PD_E_NOT_FOUND,
                "a parent that is not there is refused");
        t.out_of = h;
        (void)ledger_post_flat(&f.l, h, LEDGER_EGRESS, T0 + 9, 30, &f.change, NULL);
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 5, &x, NULL, NULL), -PD_E_FULL,
                "law 6 a part that is overdrawn gives nothing");
        (void)ledger_release(&f.l, h, T0 + 9, &f.change, NULL);
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 5, &x, NULL, NULL), -PD_E_CONFLICT,
                "a parent that was released gives nothing");
        tap_int(fixture_account(&f, LEDGER_JOB)->open_nano, 25, "law 7 what is left open is the storage");
        (void)ledger_release(&f.l, s, T0 + 25, &f.change, NULL);
        tap_int(fixture_account(&f, LEDGER_JOB)->spent_nano, 9 + 20 + 30 + 25,
                "law 7 machine, save, egress and storage");
        ledger_free(&f.l);

        fixture_begin(&f);
        memset(&t.account, 0xff, sizeof t.account);
        t.out_of = LEDGER_NONE;
        t.flat_nano = 50;
        h = fixture_reserve(&f, &t, T0 + 100);
        t.out_of = h;
        tap_ok(fixture_reserve(&f, &t, T0 + 10) != LEDGER_NONE && f.change.hold[1] == h,
                "the same on no account at all");
        ledger_free(&f.l);
}

static void refusals(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h, x;
        int64_t n;
        struct ledger_left left;
        static const struct ledger_margin none = { 0 };

        fixture_begin(&f);
        t = fixture_terms(&f);
        tap_int(ledger_renew(&f.l, 0, T0, NULL, NULL), -PD_E_NOT_FOUND, "renew: no such reservation");
        tap_int(ledger_post(&f.l, 0, T0, NULL, NULL), -PD_E_NOT_FOUND, "post: no such reservation");
        tap_int(ledger_price(&f.l, 0, T0, 1, NULL, NULL), -PD_E_NOT_FOUND, "price: no such reservation");
        tap_int(ledger_release(&f.l, 0, T0, NULL, NULL), -PD_E_NOT_FOUND, "release: no such reservation");
        tap_int(ledger_cancel(&f.l, 0, NULL, NULL), -PD_E_NOT_FOUND, "cancel: no such reservation");
        tap_int(ledger_leave(&f.l, 0, NULL, NULL), -PD_E_NOT_FOUND, "leave: no such reservation");
        tap_int(ledger_forget(&f.l, 0, NULL, NULL), -PD_E_NOT_FOUND, "forget: no such reservation");
        tap_int(ledger_correct(&f.l, 0, 0, NULL, NULL), -PD_E_NOT_FOUND, "correct: no such reservation");
        tap_int(ledger_longest(&f.l, 0, T0, &n, NULL), -PD_E_NOT_FOUND, "longest: no such reservation");
        tap_int(ledger_left(&f.l, 0, &none, &left, NULL), -PD_E_NOT_FOUND, "left: no such reservation");
        h = fixture_reserve(&f, &t, T0 + 100);
        tap_int(ledger_renew(&f.l, h, T0 - 1, NULL, NULL), -PD_E_INVALID, "renew: a stop before the start");
        tap_int(ledger_renew(&f.l, h, INT64_MAX, NULL, NULL), 0, "renew: to the end of time, at 1 nano a us");
        (void)ledger_renew(&f.l, h, T0 + 100, NULL, NULL);
        tap_int(ledger_rest(ledger_hold_at(&f.l, h)), 100, "renew: an earlier stop gives back");
        tap_int(ledger_leave(&f.l, h, &f.change, NULL), 0, "leave");
        tap_int(ledger_renew(&f.l, h, T0 + 101, NULL, NULL), -PD_E_CONFLICT, "what leaves is not renewed");
        tap_int(ledger_renew(&f.l, h, T0 + 99, NULL, NULL), 0, "... but it may stop earlier");
        (void)ledger_longest(&f.l, h, T0 + HOUR, &n, NULL);
        tap_int(n, T0 + 99, "... and its longest stop is the one it has");
        tap_int(ledger_cancel(&f.l, h, &f.change, NULL), 0, "law 7 a create proven absent is cancelled");
        tap_int(fixture_account(&f, LEDGER_JOB)->open_nano, 0, "... and nothing is left open");
        tap_int(ledger_cancel(&f.l, h, NULL, NULL), -PD_E_CONFLICT, "... once");
        tap_int(ledger_longest(&f.l, h, T0, &n, NULL), -PD_E_CONFLICT, "longest: it was released");
        tap_int(ledger_reserve(&f.l, &t, T0, T0 - 1, &x, NULL, NULL), -PD_E_INVALID, "reserve: terms that are wrong");
        t.account[LEDGER_JOB] = LEDGER_NONE;
        h = fixture_reserve(&f, &t, T0 + 100);
        (void)ledger_longest(&f.l, h, T0 + HOUR, &n, NULL);
        tap_int(n, T0 + HOUR, "on no job's account it may run as long");
        (void)ledger_cancel(&f.l, h, NULL, NULL);
        tap_int(ledger_forget(&f.l, h, NULL, NULL), 0, "... and is forgotten");
        t.price_nano_hour = t.ceiling_nano_hour = 0;
        h = fixture_reserve(&f, &t, T0 + 100);
        (void)ledger_longest(&f.l, h, T0 + HOUR, &n, NULL);
        tap_int(n, T0 + HOUR, "so may a free machine");
        t.account[LEDGER_JOB] = f.account[LEDGER_PROJECT];
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &x, NULL, NULL), -PD_E_INVALID,
                "an account of another scope is refused");
        t = fixture_terms(&f);
        (void)ledger_account(&f.l, LEDGER_JOB, "job_2", "EUR", &t.account[LEDGER_JOB], NULL, NULL);
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &x, NULL, NULL), -PD_E_INVALID,
                "accounts of two currencies are refused");
        ledger_free(&f.l);
}

/* Worst cases and sums near 2^63: named errors, and nothing changed. */
static void overflows(void)
{
        struct fixture f;
        struct ledger_terms t;
        struct ledger_account before;
        uint32_t h, x;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.price_nano_hour = INT64_MAX;
        h = fixture_reserve(&f, &t, T0 + HOUR / 2);
        before = *fixture_account(&f, LEDGER_JOB);
        tap_int(ledger_renew(&f.l, h, T0 + HOUR + 1, NULL, NULL), -PD_E_INVALID, "overflow: renew");
        (void)fixture_reserve(&f, &t, T0 + HOUR / 4);
        (void)ledger_cancel(&f.l, 1, NULL, NULL);
        (void)ledger_forget(&f.l, 1, NULL, NULL);
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 3 * (HOUR / 4), &x, NULL, NULL), -PD_E_INVALID,
                "overflow: the sum of an account");
        tap_ok(memcmp(&before, fixture_account(&f, LEDGER_JOB), sizeof before) == 0 && !ledger_hold_at(&f.l, 1),
                "... nothing changed");
        tap_int(ledger_post(&f.l, h, T0 + HOUR + 1, NULL, NULL), -PD_E_INVALID, "overflow: a segment");
        tap_int(ledger_release(&f.l, h, T0 + HOUR + 1, NULL, NULL), -PD_E_INVALID, "overflow: the last segment");
        tap_int(ledger_price(&f.l, h, T0 + HOUR + 1, 1, NULL, NULL), -PD_E_INVALID,
                "overflow: the segment before a price");
        (void)ledger_price(&f.l, h, T0 + HOUR, INT64_MAX - 1, NULL, NULL);
        tap_int(ledger_post(&f.l, h, T0 + HOUR + 9, NULL, NULL), -PD_E_INVALID, "overflow: two segments");
        tap_int(fixture_account(&f, LEDGER_JOB)->spent_nano, INT64_MAX, "... nothing changed");
        tap_int(ledger_release(&f.l, h, T0 + HOUR, NULL, NULL), 0, "law 7 and yet it is released");
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &x, NULL, NULL), -PD_E_INVALID,
                "overflow: on top of what was spent");
        ledger_free(&f.l);

        fixture_begin(&f);
        t.step_us = HOUR;
        h = fixture_reserve(&f, &t, T0 + 1);
        (void)ledger_post(&f.l, h, T0 + 1, NULL, NULL);
        (void)ledger_price(&f.l, h, T0 + 1, INT64_MAX - 1, NULL, NULL);
        tap_int(ledger_release(&f.l, h, T0 + HOUR + 1, NULL, &f.err), -PD_E_INVALID, "overflow: the step at the end");
        tap_int(ledger_release(&f.l, h, T0 + 2, NULL, &f.err), 0,
                "an hour of the greatest price is the greatest amount");
        tap_int(fixture_account(&f, LEDGER_JOB)->spent_nano, INT64_MAX, "... to the nano");
        ledger_free(&f.l);

        fixture_begin(&f);
        t.step_us = 0;
        h = fixture_reserve(&f, &t, T0 + 1);
        (void)ledger_post_flat(&f.l, h, LEDGER_SAVE, T0, 1, NULL, NULL);
        tap_int(ledger_post(&f.l, h, T0 + HOUR, NULL, NULL), -PD_E_INVALID, "overflow: time on top of a save");
        tap_int(ledger_post(&f.l, h, T0 + HOUR - 1, NULL, NULL), 0, "... a us less fits");
        ledger_free(&f.l);

        fixture_begin(&f);
        t.step_us = 2 * HOUR;
        t.found = true;
        t.price_nano_hour = t.ceiling_nano_hour = 1;
        h = fixture_reserve(&f, &t, T0 + 1);
        (void)ledger_price(&f.l, h, T0, INT64_MAX / 2, NULL, NULL);
        tap_int(ledger_post_flat(&f.l, h, LEDGER_SAVE, T0, 2, NULL, NULL), 0, "a save");
        tap_int(ledger_release(&f.l, h, T0 + 1, NULL, NULL), -PD_E_INVALID, "overflow: the step and a save");
        tap_int(fixture_account(&f, LEDGER_JOB)->spent_nano, 2, "... nothing changed");
        ledger_free(&f.l);
}

int main(void)
{
        worst_rows();
        life();
        slices();
        prices();
        prices_above();
        end_rows();
        flats();
        refusals();
        overflows();
        return tap_done();
}
