/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as records and back; what does not add up; memory that runs out; places that run out. */
#include "alloc_fail.h"
#include "ledger_common.h"

#define P INT64_C(3600000000)

static void build(struct fixture *f)
{
        struct ledger_terms t;
        uint32_t x;

        fixture_begin(f);
        (void)fixture_cap(f, LEDGER_CONNECTION, 1000);
        (void)ledger_account(&f->l, LEDGER_PROJECT, "gone", "USD", &x, NULL, NULL);
        (void)ledger_account(&f->l, LEDGER_PROJECT, "last", "USD", &x, NULL, NULL);
        (void)ledger_account_close(&f->l, 3, NULL, NULL);
        t = fixture_terms(f);
        t.flat_nano = 20;
        (void)fixture_reserve(f, &t, T0 + 10);
        (void)fixture_reserve(f, &t, T0 + 20);
        t.account[LEDGER_PROJECT] = LEDGER_NONE;
        (void)fixture_reserve(f, &t, T0 + 30);
        (void)ledger_post(&f->l, 2, T0 + 5, NULL, NULL);
        (void)ledger_post_flat(&f->l, 2, LEDGER_SAVE, T0 + 5, 3, NULL, NULL);
        (void)ledger_release(&f->l, 0, T0 + 10, NULL, NULL);
        (void)ledger_cancel(&f->l, 1, NULL, NULL);
        (void)ledger_forget(&f->l, 1, NULL, NULL);
}

/* Without the bytes between the members, which are anyone's. */
#define SAME(a_, b_, first_, last_)           \
        (memcmp(&(a_)->first_, &(b_)->first_, \
                 (size_t)((const char *)(&(a_)->last_ + 1) - (const char *)&(a_)->first_)) == 0)

static bool record_same(const struct ledger_record *a, const struct ledger_record *b)
{
        if (a->is_hold != b->is_hold)
                return false;
        if (a->is_hold)
                return SAME(&a->hold, &b->hold, id, state) && SAME(&a->hold, &b->hold, price_changes, lines) &&
                       SAME(&a->hold, &b->hold, price_nano_hour, worst_nano);
        return SAME(&a->account, &b->account, id, key) && SAME(&a->account, &b->account, cap_nano, open_nano);
}

static bool records_same(const struct ledger_record *a, const struct ledger_record *b, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (!record_same(&a[i], &b[i]))
                        return false;
        return true;
}

static void there_and_back(void)
{
        struct fixture f;
        struct ledger_record a[8] = { 0 }, b[8] = { 0 }, swap;
        struct ledger l = { 0 };
        size_t n;

        build(&f);
        n = ledger_export_n(&f.l);
        ledger_export(&f.l, a);
        swap = a[0];
        a[0] = a[n - 1];
        a[n - 1] = swap;
        tap_ok(n == 6 && ledger_import(a, n, &l, NULL) == 0, "records in any order make a ledger");
        a[n - 1] = a[0];
        a[0] = swap;
        ledger_export(&l, b);
        tap_ok(ledger_export_n(&l) == n && records_same(a, b, n), "... the same, bit for bit");
        tap_ok(!ledger_account_at(&l, 3) && !ledger_hold_at(&l, 1) && l.free_holds.n == 1 && l.free_accounts.n == 1 &&
                        l.holds.at[1].id == 1,
                "... with the same free places");
        ledger_free(&l);
        ledger_free(&f.l);
        l = (struct ledger){ 0 };
        ledger_export(&l, b);
        tap_ok(ledger_export_n(&l) == 0, "nothing has no records");
        tap_ok(ledger_import(NULL, 0, &l, NULL) == 0 && ledger_export_n(&l) == 0, "no records make an empty one");
        ledger_free(&l);
}

/* Each row breaks one thing. Record 0 is the connection's account, 4 the closed hold, 5 the open one. */
#define ACCOUNT(r_) ((r_)[0].account)
#define HOLD(r_) ((r_)[5].hold)
#define BREAK(name_, what_)                        \
        static void name_(struct ledger_record *r) \
        {                                          \
                what_;                             \
        }
/* clang-format off */
BREAK(account_id, ACCOUNT(r).id = LEDGER_IDS_MAX)
BREAK(account_dead, ACCOUNT(r).live = false)
BREAK(account_scope, ACCOUNT(r).scope = LEDGER_SCOPE_N)
BREAK(account_no_key, ACCOUNT(r).key[0] = '\0')
BREAK(account_key, memset(ACCOUNT(r).key, 'x', sizeof ACCOUNT(r).key))
BREAK(account_currency, memset(ACCOUNT(r).currency, 'X', sizeof ACCOUNT(r).currency))
BREAK(account_period, ACCOUNT(r).until_wall_us = ACCOUNT(r).from_wall_us)
BREAK(account_cap, ACCOUNT(r).cap_nano = -1)
BREAK(account_spent, ACCOUNT(r).spent_nano = -1)
BREAK(account_open, ACCOUNT(r).open_nano = -1)
BREAK(account_sum, ACCOUNT(r).spent_nano = INT64_MAX)
BREAK(account_open_1, ACCOUNT(r).open_nano += 1)
BREAK(account_holds, ACCOUNT(r).holds += 1)
BREAK(account_twice, r[1].account.id = 0)
BREAK(account_name_twice, r[1].account = r[0].account; r[1].account.id = 3)
BREAK(hold_id, HOLD(r).id = LEDGER_IDS_MAX)
BREAK(hold_twice, HOLD(r).id = r[4].hold.id)
BREAK(hold_kind, HOLD(r).kind = 2)
BREAK(hold_free, HOLD(r).state = LEDGER_FREE)
BREAK(hold_state, HOLD(r).state = LEDGER_CLOSED + 1)
BREAK(hold_from, HOLD(r).from_wall_us = -1)
BREAK(hold_segment, HOLD(r).segment_wall_us = HOLD(r).from_wall_us - 1)
BREAK(hold_until, HOLD(r).until_wall_us = HOLD(r).segment_wall_us - 1)
BREAK(hold_stop, HOLD(r).stop_wall_us = HOLD(r).from_wall_us - 1)
BREAK(hold_price, HOLD(r).price_nano_hour = -1)
BREAK(hold_ceiling, HOLD(r).ceiling_nano_hour = HOLD(r).price_nano_hour - 1)
BREAK(hold_changes, HOLD(r).price_changes = -1)
BREAK(hold_flat, HOLD(r).flat_worst_nano = -1)
BREAK(hold_minimum, HOLD(r).minimum_us = -1)
BREAK(hold_step, HOLD(r).step_us = LEDGER_SPAN_MAX + 1)
BREAK(hold_lag, HOLD(r).lag_us = -1)
BREAK(hold_worst, HOLD(r).worst_nano = -1)
BREAK(hold_segment_nano, HOLD(r).segment_nano = -1)
BREAK(hold_segment_over, HOLD(r).segment_nano = HOLD(r).time_nano + 1)
BREAK(hold_posted, HOLD(r).other_nano = -HOLD(r).time_nano - 1)
BREAK(hold_posted_over, HOLD(r).other_nano = INT64_MAX)
BREAK(hold_account, HOLD(r).account[LEDGER_JOB] = 77)
BREAK(hold_lost, HOLD(r).account[LEDGER_JOB] = LEDGER_NONE)
/* clang-format on */

static const struct {
        const char *name;
        void (*break_one)(struct ledger_record *r);
} breaks[] = {
        { "an account's id out of bounds", account_id },
        { "an account that is none", account_dead },
        { "an unknown scope", account_scope },
        { "an account without a name", account_no_key },
        { "a name without an end", account_key },
        { "a currency without an end", account_currency },
        { "a period without time", account_period },
        { "a negative cap", account_cap },
        { "less than nothing spent", account_spent },
        { "less than nothing open", account_open },
        { "sums beyond 2^63", account_sum },
        { "law 7 a nano open that no reservation has", account_open_1 },
        { "a reservation too many", account_holds },
        { "an account twice", account_twice },
        { "a name twice", account_name_twice },
        { "a reservation's id out of bounds", hold_id },
        { "a reservation twice", hold_twice },
        { "an unknown kind", hold_kind },
        { "a reservation that is none", hold_free },
        { "an unknown state", hold_state },
        { "a start before all time", hold_from },
        { "a segment before the start", hold_segment },
        { "posted before the segment", hold_until },
        { "a stop before the start", hold_stop },
        { "a negative price", hold_price },
        { "a price above the ceiling", hold_ceiling },
        { "negative price changes", hold_changes },
        { "a negative flat part", hold_flat },
        { "a negative minimum", hold_minimum },
        { "a step of more than 100 years", hold_step },
        { "a negative lag", hold_lag },
        { "a negative worst case", hold_worst },
        { "a negative segment", hold_segment_nano },
        { "a segment of more than all time", hold_segment_over },
        { "less than nothing posted", hold_posted },
        { "more than 2^63 posted", hold_posted_over },
        { "an account that is not there", hold_account },
        { "an account that does not know of it", hold_lost },
};

static void corruptions(void)
{
        for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
                struct fixture f;
                struct ledger_record r[6];
                struct ledger l;

                build(&f);
                memset(&f.err, 0, sizeof f.err);
                ledger_export(&f.l, r);
                breaks[i].break_one(r);
                tap_ok(ledger_import(r, 6, &l, &f.err) == -PD_E_CORRUPT && strstr(f.err.text, "does not add up"),
                        "refused: %s", breaks[i].name);
                ledger_free(&f.l);
        }
}

static int everything(void)
{
        struct ledger_leavers list = { 0 };
        struct ledger_record r[8];
        struct ledger_terms t;
        struct fixture f = { 0 };
        struct ledger back = { 0 };
        struct ledger_cap cap = { .nano = 1000, .from_wall_us = T0, .until_wall_us = T0 + MONTH };
        int e = 0;

        for (unsigned i = 0; i < LEDGER_SCOPE_N && e >= 0; i++)
                e = ledger_account(&f.l, (enum ledger_scope)i, "x", "USD", &f.account[i], NULL, NULL);
        t = fixture_terms(&f);
        if (e >= 0)
                e = ledger_cap(&f.l, f.account[0], &cap, NULL, NULL);
        for (int i = 0; i < 9 && e >= 0; i++) {
                uint32_t h;

                e = ledger_reserve(&f.l, &t, T0, T0 + 100, &h, NULL, NULL);
                if (e >= 0 && i > 2) {
                        (void)ledger_cancel(&f.l, h, NULL, NULL);
                        (void)ledger_forget(&f.l, h, NULL, NULL);
                }
        }
        cap.nano = 10;
        (void)ledger_cap(&f.l, f.account[0], &cap, NULL, NULL);
        if (e >= 0)
                e = ledger_over(&f.l, f.account[0], 0, &list, NULL);
        if (e >= 0) {
                ledger_export(&f.l, r);
                e = ledger_import(r, ledger_export_n(&f.l), &back, NULL);
        }
        vec_free(&list);
        ledger_free(&back);
        ledger_free(&f.l);
        return e;
}

static void memory(void)
{
        long n = 0;
        bool bad = false;

        for (;; n++) {
                int e;

                alloc_fail_at(n);
                e = everything();
                if (!alloc_end()) {
                        bad |= e < 0;
                        break;
                }
                bad |= e != -PD_E_NOMEM;
        }
        tap_ok(!bad && n > 10, "memory that runs out at each of %ld allocations is named, and nothing leaks or changes",
                n);
}

/* The bound on ids, without making 16 million. */
static void bounds(void)
{
        struct fixture f;
        struct ledger_terms t;
        uint32_t x;
        size_t n;

        build(&f);
        t = fixture_terms(&f);
        n = f.l.accounts.n;
        f.l.accounts.n = LEDGER_IDS_MAX;
        tap_int(ledger_account(&f.l, LEDGER_JOB, "new", "USD", &x, NULL, NULL), 0,
                "law 21 with the ledger full a free place is used");
        tap_int(ledger_account(&f.l, LEDGER_JOB, "newer", "USD", &x, NULL, NULL), -PD_E_FULL,
                "law 21 and then no more accounts");
        f.l.accounts.n = n;
        n = f.l.holds.n;
        f.l.holds.n = LEDGER_IDS_MAX;
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &x, NULL, NULL), 0, "law 21 so it is with reservations");
        tap_int(x, 1, "law 21 ... the place that was given back");
        f.l.holds.n = n;
        n = f.l.holds.n;
        f.l.holds.n = LEDGER_IDS_MAX;
        f.l.free_holds.n = 0;
        tap_int(ledger_reserve(&f.l, &t, T0, T0 + 1, &x, NULL, NULL), -PD_E_FULL, "law 21 nor more reservations");
        f.l.holds.n = n;
        ledger_free(&f.l);
}

int main(void)
{
        alloc_begin();
        there_and_back();
        corruptions();
        memory();
        bounds();
        return tap_done();
}
