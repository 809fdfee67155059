/* SPDX-License-Identifier: Apache-2.0 */
/* Caps that hold: N-04, P-07, law 6. 3.6 USD/h: 1 nano is 1 us. */
#include "ledger_common.h"

#define P INT64_C(3600000000)

static void accounts(void)
{
        struct fixture f;
        uint32_t id, again;

        fixture_begin(&f);
        tap_int(ledger_account(&f.l, LEDGER_PROJECT, "ml", "USD", &id, &f.change, NULL), 0,
                "an account is found again");
        tap_ok(id == f.account[LEDGER_PROJECT] && f.change.account[LEDGER_PROJECT] == LEDGER_NONE,
                "... and nothing changed");
        (void)ledger_account(&f.l, LEDGER_PROJECT, "ml", "EUR", &id, &f.change, NULL);
        tap_ok(id != f.account[LEDGER_PROJECT] && f.change.account[LEDGER_PROJECT] == id,
                "another currency is another account");
        (void)ledger_account(&f.l, LEDGER_CONNECTION, "ml", "USD", &id, NULL, NULL);
        tap_ok(id != f.account[LEDGER_PROJECT], "so is another scope");
        tap_int(ledger_account_close(&f.l, id, NULL, NULL), 0, "an account that holds nothing is closed");
        (void)ledger_account(&f.l, LEDGER_CONNECTION, "z", "USD", &again, NULL, NULL);
        tap_int(again, id, "... and its place is used again");
        (void)ledger_account_close(&f.l, f.account[LEDGER_PROJECT], NULL, NULL);
        tap_ok(ledger_account(&f.l, LEDGER_JOB, "job_1", "USD", &again, NULL, NULL) == 0 &&
                        again == f.account[LEDGER_JOB] &&
                        ledger_account(&f.l, LEDGER_CONNECTION, "aws", "USD", &again, NULL, NULL) == 0 &&
                        again == f.account[LEDGER_CONNECTION] && f.l.order.n == 4,
                "one that closes between two others leaves them in their place");
        tap_int(ledger_account_close(&f.l, 99, NULL, NULL), -PD_E_NOT_FOUND, "none is closed that is not there");
        tap_int(ledger_account(&f.l, LEDGER_SCOPE_N, "a", "USD", &id, NULL, NULL), -PD_E_INVALID,
                "the number of scopes is none");
        tap_int(ledger_account(&f.l, (enum ledger_scope)9, "a", "USD", &id, NULL, NULL), -PD_E_INVALID,
                "an unknown scope is refused");
        tap_int(ledger_account(&f.l, LEDGER_JOB, "", "USD", &id, NULL, NULL), -PD_E_INVALID, "so is an empty name");
        tap_int(ledger_account(&f.l, LEDGER_JOB, "1234567890123456789012345678901234567890123456789012345678901234x",
                        "USD", &id, NULL, NULL),
                -PD_E_INVALID, "... a long one");
        tap_int(ledger_account(&f.l, LEDGER_JOB, "a", "US", &id, NULL, NULL), -PD_E_INVALID, "... and half a currency");
        ledger_free(&f.l);
}

static const struct {
        const char *name;
        int64_t caps[LEDGER_SCOPE_N]; /* -1 = none */
        int code;
        const char *tightest;
} caps[] = {
        { "no cap at all", { -1, -1, -1 }, 0, "" },
        { "the worst case is the room, to the nano", { 100, -1, -1 }, 0, "" },
        { "a nano less is refused", { 99, -1, -1 }, PD_E_FULL, "connection aws" },
        { "a nano more is not", { 101, -1, -1 }, 0, "" },
        { "a project's cap", { -1, 99, -1 }, PD_E_FULL, "project ml" },
        { "a job's budget", { -1, -1, 99 }, PD_E_FULL, "job job_1" },
        { "the tightest is named", { 99, 97, 98 }, PD_E_FULL, "project ml" },
        { "... wherever it is", { 50, 97, 98 }, PD_E_FULL, "connection aws" },
        { "of equal ones the narrowest", { 99, 99, 99 }, PD_E_FULL, "job job_1" },
        { "all just fit", { 100, 100, 100 }, 0, "" },
        { "a cap of 0 lets nothing be spent", { 0, -1, -1 }, PD_E_FULL, "connection aws" },
};

static void cap_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
                struct fixture f;
                struct ledger_terms t;
                struct ledger_account before[LEDGER_SCOPE_N];
                uint32_t h = LEDGER_NONE;
                int64_t stop = -1;
                int r;

                fixture_begin(&f);
                for (unsigned k = 0; k < LEDGER_SCOPE_N; k++)
                        if (caps[i].caps[k] >= 0)
                                (void)fixture_cap(&f, (enum ledger_scope)k, caps[i].caps[k]);
                t = fixture_terms(&f);
                memcpy(before, f.l.accounts.at, sizeof before);
                memset(&f.err, 0, sizeof f.err);
                r = ledger_reserve(&f.l, &t, T0, T0 + 100, &h, NULL, &f.err);
                tap_ok(r == -caps[i].code && streq(f.err.subject, caps[i].tightest) &&
                                (r == 0 || memcmp(before, f.l.accounts.at, sizeof before) == 0),
                        "N-04 law 6 create: %s", caps[i].name);
                if (r == 0)
                        (void)ledger_cancel(&f.l, h, NULL, NULL);
                r = ledger_longest_new(&f.l, &t, T0, T0 + 100, &stop, NULL);
                tap_ok(r < 0 || (ledger_reserve(&f.l, &t, T0, stop, &h, NULL, NULL) == 0 &&
                                        (stop == T0 + 100 ||
                                                ledger_renew(&f.l, h, stop + 1, NULL, NULL) == -PD_E_FULL)),
                        "N-04 the longest first stop just fits: %s", caps[i].name);
                ledger_free(&f.l);
        }
}

static void sentences(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t h, eur;

        fixture_begin(&f);
        (void)fixture_cap(&f, LEDGER_JOB, 20 * UNIT);
        t = fixture_terms(&f);
        t.price_nano_hour = t.ceiling_nano_hour = 5 * UNIT;
        h = fixture_reserve(&f, &t, T0 + 3 * HOUR);
        (void)ledger_post(&f.l, h, T0 + HOUR, NULL, NULL);
        (void)fixture_reserve(&f, &t, T0 + 2 * HOUR);
        tap_str(f.err.text,
                "10.00 USD more is refused: the budget of job \"job_1\" is 20.00 USD, of which 5.00 USD is spent and "
                "10.00 USD reserved: 5.00 USD is left",
                "N-04 a refusal has all the figures");
        (void)fixture_cap(&f, LEDGER_JOB, 15 * UNIT);
        (void)fixture_reserve(&f, &t, T0 + 2 * HOUR);
        tap_has(f.err.text, "reserved: 0.00 USD is left", "N-04 ... at the cap");
        (void)fixture_cap(&f, LEDGER_JOB, 12 * UNIT);
        (void)ledger_renew(&f.l, h, T0 + 3 * HOUR + 1, NULL, &f.err);
        tap_has(f.err.text, "3.00 USD too much", "N-04 ... also above the cap");
        (void)ledger_account(&f.l, LEDGER_PROJECT, "ml", "EUR", &eur, NULL, NULL);
        t.account[LEDGER_PROJECT] = eur;
        t.account[LEDGER_CONNECTION] = t.account[LEDGER_JOB] = LEDGER_NONE;
        tap_ok(fixture_reserve(&f, &t, T0 + HOUR) != LEDGER_NONE, "without caps a project may spend in two currencies");
        (void)fixture_cap(&f, LEDGER_PROJECT, 20 * UNIT);
        tap_int(fixture_reserve(&f, &t, T0 + HOUR), LEDGER_NONE, "with a cap in one the other is refused");
        tap_str(f.err.text, "a price in EUR is refused: the cap of project \"ml\" is in USD. Choose an offer in USD",
                "... by its name");
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &h, NULL, NULL), -PD_E_FULL, "... also for who wants no sentence");
        ledger_free(&f.l);
}

/* N-04: a cap lowered below use. Three machines, the oldest first. */
static void lowered(void)
{
        struct fixture f;
        struct ledger_terms t;
        struct ledger_leavers list = { 0 };
        uint32_t h[3], x;

        fixture_begin(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 1000);
        t = fixture_terms(&f);
        t.flat_nano = 10;
        for (int64_t i = 0; i < 3; i++)
                (void)ledger_reserve(&f.l, &t, T0 + i, T0 + i + 90, &h[i], NULL, NULL);
        tap_ok(ledger_over(&f.l, f.account[0], 0, &list, NULL) == 0 && list.n == 0,
                "N-04 under the cap nobody must go");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 300);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_int((long long)list.n, 0, "N-04 at the cap neither");
        tap_int(ledger_renew(&f.l, h[0], T0 + 91, NULL, NULL), -PD_E_FULL, "N-04 law 6 but nothing more is promised");
        (void)fixture_cap(&f, LEDGER_CONNECTION, 299);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_ok(list.n == 1 && list.at[0].hold == h[2] && list.at[0].frees_nano == 90,
                "N-04 a nano below use: the newest must go");
        tap_int(ledger_renew(&f.l, h[0], T0 + 91, NULL, NULL), -PD_E_FULL, "N-04 renewals are refused at once");
        tap_int(ledger_reserve(&f.l, &t, T0, T0, &x, NULL, NULL), -PD_E_FULL, "N-04 creates too");
        list.n = 0;
        (void)fixture_cap(&f, LEDGER_CONNECTION, 210);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_int((long long)list.n, 1, "N-04 one gives back 90: enough for 210");
        list.n = 0;
        (void)fixture_cap(&f, LEDGER_CONNECTION, 209);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_ok(list.n == 2 && list.at[0].hold == h[2] && list.at[1].hold == h[1],
                "N-04 a nano less: two, the newest first");
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_ok(list.n == 4 && list.at[0].hold == h[2] && list.at[1].hold == h[1] && list.at[2].hold == h[2] &&
                        list.at[3].hold == h[1],
                "N-04 what another account's cap put on the list stays there, in its order");
        list.n = 0;
        (void)ledger_leave(&f.l, h[2], NULL, NULL);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_ok(list.n == 1 && list.at[0].hold == h[1], "N-04 who leaves already counts as gone");
        list.n = 0;
        (void)ledger_over(&f.l, f.account[0], 1, &list, NULL);
        tap_ok(list.n == 1 && list.at[0].frees_nano == 89, "N-04 the time until it is gone is paid");
        list.n = 0;
        (void)ledger_over(&f.l, f.account[0], LEDGER_SPAN_MAX, &list, NULL);
        tap_ok(list.n == 2 && list.at[0].frees_nano == 0, "N-04 never less than nothing comes back");
        tap_int(ledger_over(&f.l, f.account[0], -1, &list, NULL), -PD_E_INVALID, "N-04 a negative deadline is refused");
        tap_int(ledger_over(&f.l, f.account[0], LEDGER_SPAN_MAX + 1, &list, NULL), -PD_E_INVALID,
                "N-04 one of more than 100 years too");
        tap_int(ledger_over(&f.l, 99, 0, &list, NULL), -PD_E_NOT_FOUND, "N-04 an account that is not there too");
        list.n = 0;
        (void)ledger_post_flat(&f.l, h[0], LEDGER_SAVE, T0, 11, NULL, NULL);
        (void)ledger_release(&f.l, h[1], T0 + 2, NULL, NULL);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 0);
        (void)ledger_over(&f.l, f.account[0], 0, &list, NULL);
        tap_ok(list.n == 1 && list.at[0].hold == h[0] && list.at[0].frees_nano == 89,
                "N-04 who has gone is not listed");
        tap_int(ledger_renew(&f.l, h[0], T0 + 50, NULL, NULL), 0, "N-04 an earlier stop is always taken");
        vec_free(&list);
        ledger_free(&f.l);
}

/* What an end gives back: not the lag, not what is put aside for the save and the checkpoint. Appended to a list that has something. */
static void gives_back(void)
{
        struct fixture f;
        struct ledger_terms t;
        struct ledger_leavers list = { 0 };
        uint32_t h;

        fixture_begin(&f);
        t = fixture_terms(&f);
        t.lag_us = 7;
        t.flat_nano = 10;
        h = fixture_reserve(&f, &t, T0 + 90);
        (void)ledger_post_flat(&f.l, h, LEDGER_SAVE, T0, 4, NULL, NULL);
        (void)ledger_reserve(&f.l, &t, T0 + 1, T0 + 91, &h, NULL, NULL);
        (void)fixture_cap(&f, LEDGER_JOB, 0);
        (void)ledger_over(&f.l, f.account[LEDGER_JOB], 5, &list, NULL);
        (void)ledger_over(&f.l, f.account[LEDGER_JOB], 5, &list, NULL);
        tap_ok(list.n == 4 && list.at[0].frees_nano == 85 && list.at[1].frees_nano == 85,
                "N-04 90 + lag 7 less 5 + 7, whatever was saved");
        tap_ok(list.at[0].hold == h && list.at[2].hold == h, "N-04 the newest first, behind what the list had");
        vec_free(&list);
        ledger_free(&f.l);
}

/* Who must not go: storage, free machines, other accounts; and equals go by their id. */
static void stays(void)
{
        struct fixture f;
        struct ledger_terms t;
        struct ledger_leavers list = { 0 };
        uint32_t h, eur;

        fixture_begin(&f);
        t = fixture_terms(&f);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 0);
        (void)ledger_account(&f.l, LEDGER_CONNECTION, "aws", "EUR", &eur, NULL, NULL);
        tap_ok(ledger_over(&f.l, eur, 0, &list, NULL) == 0 && list.n == 0, "where nothing runs nobody must go");
        (void)ledger_cap(&f.l, f.account[0], NULL, NULL, NULL);
        (void)fixture_reserve(&f, &t, T0 + 10);
        (void)fixture_reserve(&f, &t, T0 + 10);
        (void)fixture_reserve(&f, &t, T0 + 10);
        t.kind = LEDGER_STORAGE;
        (void)fixture_reserve(&f, &t, T0 + 10);
        t.kind = LEDGER_MACHINE;
        t.price_nano_hour = t.ceiling_nano_hour = 0;
        h = fixture_reserve(&f, &t, T0 + 10);
        t.account[LEDGER_CONNECTION] = LEDGER_NONE;
        t.price_nano_hour = t.ceiling_nano_hour = P;
        (void)fixture_reserve(&f, &t, T0 + 10);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 0);
        tap_ok(ledger_over(&f.l, f.account[0], 0, &list, NULL) == 0 && list.n == 3 && list.at[0].hold == 2 &&
                        list.at[2].hold == 0,
                "N-04 only paid machines of the account must go, of equals the last");
        tap_int(ledger_renew(&f.l, h, T0 + 20, NULL, NULL), 0, "N-04 a free machine is renewed above every cap");
        t = fixture_terms(&f);
        t.price_nano_hour = t.ceiling_nano_hour = 0;
        tap_ok(fixture_reserve(&f, &t, T0 + 10) != LEDGER_NONE, "N-04 ... and created");
        t.found = true;
        t.price_nano_hour = P;
        tap_ok(fixture_reserve(&f, &t, T0 + 10) != LEDGER_NONE, "N-04 a machine that is there already is a fact");
        list.n = 0;
        (void)ledger_account(&f.l, LEDGER_CONNECTION, "aws", "EUR", &eur, NULL, NULL);
        tap_ok(ledger_over(&f.l, eur, 0, &list, NULL) == 0 && list.n == 0,
                "a currency that the cap is not in has nobody to go");
        (void)ledger_cap(&f.l, f.account[0], NULL, &f.change, NULL);
        tap_ok(ledger_over(&f.l, eur, 0, &list, NULL) == 0 && list.n == 0, "without a cap nobody has");
        t.account[LEDGER_CONNECTION] = eur;
        t.account[LEDGER_PROJECT] = t.account[LEDGER_JOB] = LEDGER_NONE;
        t.found = false;
        h = fixture_reserve(&f, &t, T0 + 10);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 100);
        tap_ok(ledger_over(&f.l, eur, 0, &list, NULL) == 0 && list.n == 1 && list.at[0].hold == h,
                "N-04 a cap that comes in another currency bars those who run");
        {
                int64_t stop = 0;

                (void)ledger_longest(&f.l, h, T0 + HOUR, &stop, NULL);
                tap_int(stop, T0 + 10, "N-04 ... and their longest stop is the one they have");
        }
        vec_free(&list);
        ledger_free(&f.l);
}

/* 34 spent in the month from T0 + MONTH, 126 before. */
static void boundaries(struct fixture *f, const struct ledger_account *a, struct ledger_cap next)
{
        next.from_wall_us -= 5;
        (void)ledger_cap(&f->l, f->account[0], &next, &f->change, NULL);
        tap_int(a->from_wall_us, T0 + MONTH, "N-04 a start before the present one is not taken");
        next.from_wall_us += 10;
        (void)ledger_cap(&f->l, f->account[0], &next, &f->change, NULL);
        tap_ok(a->from_wall_us == T0 + MONTH + 5 && a->spent_nano == 34,
                "N-04 a later one in the same month keeps what is counted");
        next.recounted = true;
        next.spent_nano = 30;
        next.from_wall_us = T0 + 5;
        (void)ledger_cap(&f->l, f->account[0], &next, &f->change, NULL);
        tap_ok(a->from_wall_us == T0 + 5 && a->spent_nano == 30 && a->before_nano == 130,
                "N-04 recounted: any boundaries");
        next.spent_nano = 160;
        tap_int(ledger_cap(&f->l, f->account[0], &next, NULL, NULL), 0, "N-04 recounted: all that was ever spent");
        next.spent_nano = 161;
        tap_int(ledger_cap(&f->l, f->account[0], &next, NULL, NULL), -PD_E_INVALID,
                "N-04 a nano more than ever spent is refused");
        next.spent_nano = -1;
        tap_int(ledger_cap(&f->l, f->account[0], &next, NULL, NULL), -PD_E_INVALID, "N-04 less than nothing too");
        (void)ledger_cap(&f->l, f->account[0], NULL, &f->change, NULL);
        tap_ok(a->spent_nano == 160 && a->before_nano == 0 && !a->capped && ledger_room(a) == INT64_MAX,
                "N-04 without a cap all is one period");
}

static void month(void)
{
        struct fixture f;
        struct ledger_cap next = { .nano = 1000, .from_wall_us = T0 + MONTH, .until_wall_us = T0 + 2 * MONTH };
        struct ledger_terms t;
        const struct ledger_account *a;
        uint32_t h;

        fixture_begin(&f);
        a = fixture_account(&f, LEDGER_CONNECTION);
        (void)fixture_cap(&f, LEDGER_CONNECTION, 1000);
        t = fixture_terms(&f);
        t.minimum_us = 30;
        t.flat_nano = 50;
        (void)ledger_reserve(&f.l, &t, T0 + MONTH - 100, T0 + MONTH + 100, &h, NULL, NULL);
        tap_int(ledger_post(&f.l, h, T0 + MONTH + 1, NULL, &f.err), -PD_E_CONFLICT,
                "N-04 1 us beyond the month is not posted");
        tap_has(f.err.text, "\"aws\" ended at 2026-01-01", "... until the next one begins");
        tap_int(ledger_price(&f.l, h, T0 + MONTH + 1, 1, NULL, NULL), -PD_E_CONFLICT, "nor is a price");
        tap_int(ledger_post_flat(&f.l, h, LEDGER_SAVE, T0 + MONTH + 1, 1, NULL, NULL), -PD_E_CONFLICT, "nor a save");
        tap_int(ledger_release(&f.l, h, T0 + MONTH + 1, NULL, NULL), -PD_E_CONFLICT, "nor an end");
        (void)ledger_post(&f.l, h, T0 + MONTH - 40, NULL, NULL);
        tap_ok(a->spent_nano == 60 && a->open_nano == 190, "N-04 before the month ends");
        tap_int(ledger_cap(&f.l, f.account[0], &next, &f.change, NULL), 0, "N-04 the next month");
        tap_ok(a->spent_nano == 0 && a->before_nano == 60 && a->open_nano == 190,
                "N-04 ... counts anew; what is promised still counts");
        (void)ledger_post(&f.l, h, T0 + MONTH + 7, &f.change, NULL);
        tap_ok(a->spent_nano == 7 && a->before_nano == 100 && f.change.line[0].nano == 47,
                "N-04 a posting across the boundary is split there, to the nano");
        (void)ledger_post_flat(&f.l, h, LEDGER_SAVE, T0 + MONTH - 1, 3, NULL, NULL);
        (void)ledger_post_flat(&f.l, h, LEDGER_EGRESS, T0 + MONTH, 4, NULL, NULL);
        tap_ok(a->spent_nano == 11 && a->before_nano == 103,
                "N-04 so are saves and egress: the boundary is the next month's");
        (void)ledger_release(&f.l, h, T0 + MONTH, NULL, NULL);
        tap_ok(a->spent_nano == 4 && a->before_nano == 103, "N-04 an end at the boundary takes the time after it back");
        (void)ledger_correct(&f.l, h, 100, NULL, NULL);
        tap_ok(a->spent_nano == 4 && a->before_nano == 96, "N-04 and its correction is the month's that it ended in");
        tap_int(ledger_room(a), 996, "N-04 the room of the month");

        (void)ledger_reserve(&f.l, &t, T0 + MONTH, T0 + MONTH + 50, &h, NULL, NULL);
        (void)ledger_release(&f.l, h, T0 + MONTH + 20, NULL, NULL);
        tap_ok(a->spent_nano == 4 + 30 && a->before_nano == 96, "N-04 the minimum is this month's");
        (void)ledger_reserve(&f.l, &t, T0 + MONTH - 20, T0 + MONTH, &h, NULL, NULL);
        (void)ledger_release(&f.l, h, T0 + MONTH, NULL, NULL);
        tap_ok(a->spent_nano == 34 && a->before_nano == 96 + 30, "N-04 ... or the last month's");
        boundaries(&f, a, next);
        ledger_free(&f.l);
}

/* A correction may take back more than the period has: never below nothing, or the next months could spend it. */
static void back(void)
{
        struct fixture f;
        struct ledger_cap cap = { .nano = 10, .from_wall_us = T0 + 100, .until_wall_us = T0 + 200 };
        struct ledger_terms t;
        const struct ledger_account *a;
        uint32_t h;

        fixture_begin(&f);
        a = fixture_account(&f, LEDGER_CONNECTION);
        t = fixture_terms(&f);
        h = fixture_reserve(&f, &t, T0 + 150);
        (void)ledger_post(&f.l, h, T0 + 100, NULL, NULL);
        cap.recounted = true;
        (void)ledger_cap(&f.l, f.account[0], &cap, NULL, NULL);
        (void)ledger_release(&f.l, h, T0 + 101, NULL, NULL);
        tap_ok(a->before_nano == 100 && a->spent_nano == 1, "N-04 a stay in two periods");
        (void)ledger_correct(&f.l, h, 5, NULL, NULL);
        tap_ok(a->before_nano == 5 && a->spent_nano == 0, "N-04 what is taken back never makes room beyond the cap");
        ledger_free(&f.l);
}

static void bad_caps(void)
{
        struct fixture f;
        struct ledger_cap cap = { .nano = -1, .from_wall_us = 0, .until_wall_us = 1 };
        struct ledger_record r = {
                .account = { .live = true, .key = "x", .currency = "USD", .until_wall_us = 10, .spent_nano = INT64_MAX }
        };
        struct ledger l;

        fixture_begin(&f);
        tap_int(ledger_cap(&f.l, f.account[0], &cap, NULL, NULL), -PD_E_INVALID, "a negative cap is refused");
        cap.nano = 1;
        cap.until_wall_us = 0;
        tap_int(ledger_cap(&f.l, f.account[0], &cap, NULL, NULL), -PD_E_INVALID, "a period that ends as it begins too");
        tap_int(ledger_cap(&f.l, 99, &cap, NULL, NULL), -PD_E_NOT_FOUND, "an account that is not there too");
        ledger_free(&f.l);
        r.account.before_nano = 1;
        (void)ledger_import(&r, 1, &l, NULL);
        cap = (struct ledger_cap){ .nano = 1, .from_wall_us = 10, .until_wall_us = 20 };
        tap_int(ledger_cap(&l, 0, &cap, NULL, &f.err), -PD_E_INVALID, "overflow: more than 2^63 before the period");
        tap_str(f.err.subject, "overflow", "... is named");
        tap_int(ledger_cap(&l, 0, NULL, NULL, &f.err), -PD_E_INVALID, "overflow: more than 2^63 in all");
        ledger_free(&l);
}

/* Posting into the time before a period whose sum is at its end. */
static void before_overflow(void)
{
        struct ledger_record r[2] = {
                { .account = { .live = true,
                          .scope = LEDGER_JOB,
                          .key = "x",
                          .currency = "USD",
                          .from_wall_us = T0,
                          .until_wall_us = T0 + 9,
                          .before_nano = INT64_MAX,
                          .holds = 1 } },
                { .is_hold = true,
                        .hold = { .state = LEDGER_OPEN,
                                .account = { LEDGER_NONE, LEDGER_NONE, 0 },
                                .price_nano_hour = P,
                                .ceiling_nano_hour = P,
                                .from_wall_us = T0 - 5,
                                .segment_wall_us = T0 - 5,
                                .until_wall_us = T0 - 5,
                                .stop_wall_us = T0 } },
        };
        struct ledger l;

        (void)ledger_import(r, 2, &l, NULL);
        tap_int(ledger_post(&l, 0, T0, NULL, NULL), -PD_E_INVALID, "overflow: the time before the period");
        r[0].account.before_nano -= 5;
        ledger_free(&l);
        (void)ledger_import(r, 2, &l, NULL);
        tap_int(ledger_post(&l, 0, T0, NULL, NULL), 0, "the greatest sum before it fits");
        tap_int(ledger_account_at(&l, 0)->before_nano, INT64_MAX, "... to the nano");
        ledger_free(&l);
}

int main(void)
{
        accounts();
        cap_rows();
        sentences();
        lowered();
        gives_back();
        stays();
        month();
        back();
        bad_caps();
        before_overflow();
        return tap_done();
}
