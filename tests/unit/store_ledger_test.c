/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's records and bills in the store: each row comes back equal, deleted rows are gone, and what does not add up is found out. */
#include "ledger_rows.h"
#include "store_lib.h"

static struct place p;
static struct ledger l;
static uint32_t account[LEDGER_SCOPE_N];

static bool stored_is_it(void)
{
        struct ledger back = { 0 };
        bool same = store_load_ledger(p.store, &back, &p.err) >= 0 && rows_differing(&l, &back) == 0;

        ledger_free(&back);
        return same;
}

static int store_change(const struct ledger_change *c, const struct store_bill *bill)
{
        struct txn *t = txn_new();

        if (bill)
                txn_bill(t, bill);
        txn_ledger(t, &l, c);
        return place_apply(&p, t);
}

static void open_accounts(void)
{
        static const char *const keys[] = { "aws", "ml", "job_01jdvqgq9g0000000000000001" };
        struct ledger_change c;
        int bad = 0;

        for (int i = 0; i < LEDGER_SCOPE_N; i++) {
                struct ledger_cap cap = {
                        .nano = (i + 1) * 1000 * NANO, .from_wall_us = T0, .until_wall_us = INT64_MAX
                };

                bad |= ledger_account(&l, (enum ledger_scope)i, keys[i], "USD", &account[i], &c, &p.err);
                bad |= store_change(&c, NULL);
                if (i == LEDGER_PROJECT)
                        continue;
                bad |= ledger_cap(&l, account[i], &cap, &c, &p.err);
                bad |= store_change(&c, NULL);
        }
        tap_int(bad, 0, "three accounts, two of them with a cap");
        tap_ok(stored_is_it(), "come back as they are");
}

static uint32_t reserve(unsigned int what, struct store_bill *bill)
{
        struct ledger_terms t = { .kind = LEDGER_MACHINE,
                .what = id_of(what),
                .job = id_of(1),
                .out_of = LEDGER_NONE,
                .price_changes = 2,
                .price_nano_hour = INT64_C(3600000000),
                .ceiling_nano_hour = INT64_C(7200000000),
                .minimum_us = USEC_PER_MIN,
                .step_us = USEC_PER_SEC,
                .lag_us = 3 * USEC_PER_SEC,
                .flat_nano = 77 };
        struct ledger_change c;
        uint32_t hold = LEDGER_NONE;

        memcpy(t.account, account, sizeof account);
        *bill = (struct store_bill){ .what = t.what,
                .machine = id_of(what + 1),
                .job = t.job,
                .uid = 1000 + what,
                .connection = "aws",
                .project = "ml",
                .offer = "aws/use1/m5/spot",
                .currency = "USD",
                .from_wall_us = T0 + what };
        tap_int(ledger_reserve(&l, &t, T0, T0 + USEC_PER_HOUR, &hold, &c, &p.err), 0, "a reservation");
        tap_int(store_change(&c, bill), 0, "is stored with what it is of");
        return hold;
}

struct seen {
        int n;
        int64_t nano;
        struct store_bill bill;
        struct ledger_line line; /* the last */
};

static int see(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        struct seen *s = arg;

        s->n++;
        s->nano += line->nano;
        s->bill = *b;
        s->line = *line;
        return 0;
}

static struct seen scan(struct store_bill_filter f)
{
        struct seen s = { 0 };

        if (f.until_wall_us == 0)
                f.from_wall_us = INT64_MIN, f.until_wall_us = INT64_MAX;
        tap_int(store_scan_bill(p.store, &f, see, &s, &p.err), 0, "the bills are read");
        return s;
}

static bool same_bill(const struct store_bill *a, const struct store_bill *b)
{
        return id_equal(a->what, b->what) BILL_COLUMNS(SAME, SAME, SAME_ID, SAME_TEXT);
}

static void test_hold(void)
{
        struct store_bill bill, other;
        uint32_t hold = reserve(20, &bill), second = reserve(30, &other);
        struct ledger_change c;
        int64_t bill_nano;
        struct seen s;

        tap_ok(stored_is_it(), "both reservations come back as they are");
        (void)ledger_post(&l, hold, T0 + 600 * USEC_PER_SEC, &c, &p.err);
        tap_int(store_change(&c, NULL), 0, "time is posted");
        (void)ledger_price(&l, hold, T0 + 700 * USEC_PER_SEC, INT64_C(7200000000), &c, &p.err);
        (void)store_change(&c, NULL);
        (void)ledger_post_flat(&l, hold, LEDGER_SAVE, T0 + 710 * USEC_PER_SEC, 7, &c, &p.err);
        (void)store_change(&c, NULL);
        tap_ok(stored_is_it(), "law 7 what is posted comes back to the nano");
        s = scan((struct store_bill_filter){ .job = id_of(1) });
        tap_int(s.n, 3, "three lines of its job");
        tap_ok(same_bill(&s.bill, &bill), "each member of what they are of comes back equal");
        tap_ok(s.line.kind == LEDGER_SAVE && s.line.nano == 7 && s.line.seq == 2 && id_equal(s.line.what, bill.what),
                "and the last line is the save");
        tap_int(scan((struct store_bill_filter){ .job = id_of(2) }).n, 0, "another job has none");
        tap_int(scan((struct store_bill_filter){ .connection = "aws", .project = "ml" }).n, 3,
                "by connection, project");
        tap_int(scan((struct store_bill_filter){ .connection = "gcp" }).n, 0, "another connection has none");
        tap_int(scan((struct store_bill_filter){ .project = "x" }).n, 0, "another project has none");
        tap_int(scan((struct store_bill_filter){ .uid = 1020, .only_uid = true }).n, 3, "by owner");
        tap_int(scan((struct store_bill_filter){ .uid = 7, .only_uid = true }).n, 0, "another owner has none");
        tap_int(scan((struct store_bill_filter){ .from_wall_us = T0, .until_wall_us = T0 + 1 }).n, 1, "by time");
        (void)ledger_release(&l, hold, T0 + 720 * USEC_PER_SEC, &c, &p.err);
        (void)store_change(&c, NULL);
        bill_nano = ledger_hold_at(&l, hold)->time_nano + ledger_hold_at(&l, hold)->other_nano;
        s = scan((struct store_bill_filter){ 0 });
        tap_int(s.nano, bill_nano, "law 7 the lines sum up to the bill");
        (void)ledger_forget(&l, hold, &c, &p.err);
        (void)store_change(&c, NULL);
        (void)ledger_cancel(&l, second, &c, &p.err);
        (void)store_change(&c, NULL);
        (void)ledger_forget(&l, second, &c, &p.err);
        (void)store_change(&c, NULL);
        tap_int(place_count(&p, "SELECT count(*) FROM ledger_hold"), 0, "a hold that is forgotten is gone");
        tap_ok(stored_is_it(), "and the accounts know it");
        tap_int(scan((struct store_bill_filter){ 0 }).n, s.n, "its bill stays");
}

static void test_account_gone(void)
{
        struct ledger_change c;

        tap_int(ledger_account_close(&l, account[LEDGER_JOB], &c, &p.err), 0, "an account is closed");
        tap_int(store_change(&c, NULL), 0, "its row goes");
        tap_ok(stored_is_it(), "and the rest stays");
}

static void test_prune(void)
{
        struct txn *t = txn_new();

        txn_bill_prune(t, T0 + 100 * USEC_PER_SEC);
        (void)place_apply(&p, t);
        tap_int(place_count(&p, "SELECT count(*) FROM ledger_line"), 4, "law 21 a bill that is not old stays");
        t = txn_new();
        txn_bill_prune(t, T0 + USEC_PER_HOUR);
        (void)place_apply(&p, t);
        tap_int(place_count(&p, "SELECT count(*) FROM ledger_line"), 0, "law 21 an old one goes");
        tap_int(place_count(&p, "SELECT count(*) FROM bill"), 0, "whole");
}

static void test_lies(void)
{
        struct ledger back = { 0 };

        (void)place_count(&p, "UPDATE ledger_account SET open_nano=open_nano+1 RETURNING 1");
        tap_int(store_load_ledger(p.store, &back, &p.err), -PD_E_CORRUPT, "law 7 a nano too much is found out");
        tap_has(p.err.text, "does not add up", "by a sentence");
        (void)place_count(&p, "UPDATE ledger_account SET open_nano=open_nano-1,scope='x' RETURNING 1");
        tap_int(store_load_ledger(p.store, &back, &p.err), -PD_E_CORRUPT, "an unknown scope too");
}

int main(void)
{
        place_begin(&p);
        open_accounts();
        test_hold();
        test_account_gone();
        test_prune();
        test_lies();
        place_end(&p);
        ledger_free(&l);
        return tap_done();
}
