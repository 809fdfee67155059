/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's records and the lines of its bills. */
#include "store/bill.h"

#include "store/columns.h"
#include "store/read.h"

static const char *const scope_names[] = { "connection", "project", "job" };
static const char *const kind_names[] = { "machine", "storage" };
static const char *const state_names[] = { "free", "open", "leaving", "closed" };
static const char *const line_names[] = { "time", "rounding", "save", "egress", "correction" };
static_assert(ARRAY_LEN(scope_names) == LEDGER_SCOPE_N && ARRAY_LEN(line_names) == LEDGER_CORRECTION + 1,
        "names cover the enums");

static bool parse(const char *const *names, size_t n, const char *name, unsigned int *ret)
{
        for (unsigned int i = 0; i < n; i++)
                if (streq(names[i], name)) {
                        *ret = i;
                        return true;
                }
        return false;
}

#define NAMED(enum_, names_)                                              \
        const char *enum_##_name(enum enum_ v)                            \
        {                                                                 \
                return (size_t)v < ARRAY_LEN(names_) ? (names_)[v] : "?"; \
        }                                                                 \
        bool enum_##_parse(const char *name, enum enum_ *ret)             \
        {                                                                 \
                unsigned int i;                                           \
                                                                          \
                if (!parse(names_, ARRAY_LEN(names_), name, &i))          \
                        return false;                                     \
                *ret = (enum enum_)i;                                     \
                return true;                                              \
        }
NAMED(ledger_scope, scope_names)
NAMED(ledger_kind, kind_names)
NAMED(ledger_state, state_names)
NAMED(ledger_line_kind, line_names)

/* --- writing --- */

#define PUT_E(c_, enum_) txn_put_text(t, enum_##_name((enum enum_)row->c_));
#define PUT_I(c_) txn_put_int(t, (int64_t)row->c_);
#define PUT_B(c_) txn_put_id(t, row->c_);
#define PUT_T(c_) txn_put_text(t, row->c_);

static void put_account(struct txn *t, const struct ledger *l, uint32_t id)
{
        const struct ledger_account *row = ledger_account_at(l, id);

        txn_put_op(t, row ? STMT_ACCOUNT : STMT_ACCOUNT_DELETE);
        txn_put_int(t, id);
        if (!row)
                return;
        ACCOUNT_COLUMNS(PUT_E, PUT_I, PUT_T)
}

static void put_hold(struct txn *t, const struct ledger *l, uint32_t id)
{
        const struct ledger_hold *row = ledger_hold_at(l, id);

        txn_put_op(t, row ? STMT_HOLD : STMT_HOLD_DELETE);
        txn_put_int(t, id);
        if (!row)
                return;
        HOLD_COLUMNS(PUT_E, PUT_I, PUT_B)
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++)
                txn_put_int(t, row->account[i] == LEDGER_NONE ? -1 : (int64_t)row->account[i]);
}

static void put_line(struct txn *t, const struct ledger_line *row)
{
        txn_put_op(t, STMT_LINE);
        txn_put_id(t, row->what);
        txn_put_int(t, row->seq);
        LINE_COLUMNS(PUT_E, PUT_I)
}

void txn_ledger(struct txn *t, const struct ledger *l, const struct ledger_change *c)
{
        for (size_t i = 0; t && i < ARRAY_LEN(c->account); i++)
                if (c->account[i] != LEDGER_NONE)
                        put_account(t, l, c->account[i]);
        for (size_t i = 0; t && i < ARRAY_LEN(c->hold); i++)
                if (c->hold[i] != LEDGER_NONE)
                        put_hold(t, l, c->hold[i]);
        for (size_t i = 0; t && i < c->lines_n; i++)
                put_line(t, &c->line[i]);
}

void txn_bill(struct txn *t, const struct store_bill *row)
{
        if (!t)
                return;
        txn_put_op(t, STMT_BILL);
        txn_put_id(t, row->what);
        BILL_COLUMNS(PUT_E, PUT_I, PUT_B, PUT_T)
}

void txn_bill_prune(struct txn *t, int64_t ended_before_wall_us)
{
        static const enum stmt both[] = { STMT_LINE_PRUNE, STMT_BILL_PRUNE };

        for (size_t i = 0; t && i < ARRAY_LEN(both); i++) {
                txn_put_op(t, both[i]);
                txn_put_int(t, ended_before_wall_us);
        }
}

/* --- reading --- */

struct records {
        VEC(struct ledger_record) at;
};

static int load_records(struct store *s, enum read_stmt which, bool holds, struct records *ret, struct pd_error *err)
{
        struct ledger_record row = { .is_hold = holds };
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, which, &st, err);

        while (r >= 0 && (r = read_step(s, st, err)) > 0) {
                r = holds ? column_hold(st, &row.hold, err) : column_account(st, &row.account, err);
                if (r >= 0 && !vec_push(&ret->at, row))
                        r = pd_fail(err, PD_E_NOMEM, "no memory for the ledger");
        }
        read_end(s, which, st);
        return r;
}

int store_load_ledger(struct store *s, struct ledger *ret, struct pd_error *err)
{
        struct records all = { 0 };
        int r = load_records(s, READ_ACCOUNTS, false, &all, err);

        r = r < 0 ? r : load_records(s, READ_HOLDS, true, &all, err);
        r = r < 0 ? r : ledger_import(all.at.at, all.at.n, ret, err);
        vec_free(&all.at);
        return r;
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
        if (text)
                (void)sqlite3_bind_text(st, at, text, -1, SQLITE_TRANSIENT);
}

int store_scan_bill(struct store *s, const struct store_bill_filter *f,
        int (*each)(void *arg, const struct store_bill *b, const struct ledger_line *line), void *arg,
        struct pd_error *err)
{
        enum read_stmt which = id_is_null(f->job) ? READ_BILL : READ_BILL_JOB;
        struct ledger_line line;
        struct store_bill bill;
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, which, &st, err);

        if (r >= 0) {
                if (which == READ_BILL_JOB)
                        read_bind_id(st, 1, f->job);
                (void)sqlite3_bind_int64(st, 2, f->from_wall_us);
                (void)sqlite3_bind_int64(st, 3, f->until_wall_us);
                if (f->only_uid)
                        (void)sqlite3_bind_int64(st, 4, f->uid);
                bind_text(st, 5, f->connection);
                bind_text(st, 6, f->project);
        }
        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = column_line(st, &bill, &line, err)) >= 0)
                        r = each(arg, &bill, &line);
        read_end(s, which, st);
        return r;
}

int store_get_bill(struct store *s, struct id what, struct store_bill *ret, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_BILL_OF, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, what);
                r = read_step(s, st, err);
                if (r > 0)
                        r = column_bill(st, ret, err);
                else if (r == 0)
                        r = pd_fail(err, PD_E_NOT_FOUND, "the store has no bill of that machine or stay");
        }
        read_end(s, READ_BILL_OF, st);
        return r;
}
