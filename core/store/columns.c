/* SPDX-License-Identifier: Apache-2.0 */
#include "store/columns.h"

#include "store/bill.h"

static int corrupt(sqlite3_stmt *st, int column, struct pd_error *err)
{
        return pd_fail(err, PD_E_CORRUPT,
                "the store holds an impossible value in column \"%s\": restore a backup of portald.db",
                str_or(sqlite3_column_name(st, column), "?"));
}

const char *column_text(sqlite3_stmt *st, int column)
{
        return str_or((const char *)sqlite3_column_text(st, column), "");
}

int column_id(sqlite3_stmt *st, int column, struct id *ret, struct pd_error *err)
{
        const void *blob = sqlite3_column_blob(st, column);
        int n = sqlite3_column_bytes(st, column);

        if (!blob) {
                *ret = (struct id){ { 0 } };
                return 0;
        }
        if (n != (int)sizeof ret->b)
                return corrupt(st, column, err);
        memcpy(ret->b, blob, sizeof ret->b);
        return 0;
}

static int fixed_text(sqlite3_stmt *st, int column, char *buf, size_t room, struct pd_error *err)
{
        const char *text = column_text(st, column);
        size_t n = strlen(text);

        if (n >= room)
                return corrupt(st, column, err);
        memcpy(buf, text, n + 1);
        return 0;
}

#define READ_E(c_, enum_)                                      \
        {                                                      \
                enum enum_ v;                                  \
                if (!enum_##_parse(column_text(st, ++at), &v)) \
                        return corrupt(st, at, err);           \
                row.c_ = (uint8_t)v;                           \
        }
#define READ_I(c_) row.c_ = (__typeof__(row.c_))sqlite3_column_int64(st, ++at);
#define READ_B(c_)                                       \
        if ((r = column_id(st, ++at, &row.c_, err)) < 0) \
                return r;
#define READ_T(c_)                                                      \
        if ((r = fixed_text(st, ++at, row.c_, sizeof row.c_, err)) < 0) \
                return r;

int column_job(sqlite3_stmt *st, struct job *ret, int *ret_at, struct pd_error *err)
{
        struct job row = { 0 };
        int at = 0, r;

        if ((r = column_id(st, 0, &row.id, err)) < 0)
                return r;
        JOB_COLUMNS(READ_E, READ_I, READ_B)
        if (row.op_mode > OP_MOVE || row.move > MOVE_BACK || id_is_null(row.id))
                return corrupt(st, 0, err);
        *ret = row;
        if (ret_at)
                *ret_at = at + 1;
        return 0;
}

int column_machine(sqlite3_stmt *st, struct machine *ret, struct pd_error *err)
{
        struct machine row = { 0 };
        int at = 0, r;

        if ((r = column_id(st, 0, &row.id, err)) < 0)
                return r;
        MACHINE_COLUMNS(READ_I, READ_T)
        *ret = row;
        return 0;
}

int column_checkpoint(sqlite3_stmt *st, struct checkpoint *ret, struct pd_error *err)
{
        struct checkpoint row = { 0 };
        int at = 0, r;

        if ((r = column_id(st, 0, &row.id, err)) < 0)
                return r;
        CHECKPOINT_COLUMNS(READ_B, READ_I, READ_T)
        *ret = row;
        return 0;
}

int column_account(sqlite3_stmt *st, struct ledger_account *ret, struct pd_error *err)
{
        struct ledger_account row = { .id = (uint32_t)sqlite3_column_int64(st, 0), .live = true };
        int at = 0, r;

        ACCOUNT_COLUMNS(READ_E, READ_I, READ_T)
        *ret = row;
        return 0;
}

int column_hold(sqlite3_stmt *st, struct ledger_hold *ret, struct pd_error *err)
{
        struct ledger_hold row = { .id = (uint32_t)sqlite3_column_int64(st, 0) };
        int at = 0, r;

        HOLD_COLUMNS(READ_E, READ_I, READ_B)
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++)
                row.account[i] = (uint32_t)sqlite3_column_int64(st, ++at); /* -1 is LEDGER_NONE */
        *ret = row;
        return 0;
}

int column_line(sqlite3_stmt *st, struct store_bill *ret_bill, struct ledger_line *ret, struct pd_error *err)
{
        struct ledger_line line = { .hold = LEDGER_NONE };
        int at = 1, r;

        if ((r = column_id(st, 0, &line.what, err)) < 0)
                return r;
        line.seq = (uint32_t)sqlite3_column_int64(st, 1);
        {
                struct ledger_line row = line;

                LINE_COLUMNS(READ_E, READ_I)
                line = row;
        }
        {
                struct store_bill row = { .what = line.what };

                BILL_COLUMNS(READ_E, READ_I, READ_B, READ_T)
                line.job = row.job;
                *ret_bill = row;
        }
        *ret = line;
        return 0;
}

int column_bill(sqlite3_stmt *st, struct store_bill *ret, struct pd_error *err)
{
        struct store_bill row = { 0 };
        int at = 0, r;

        if ((r = column_id(st, 0, &row.what, err)) < 0)
                return r;
        BILL_COLUMNS(READ_E, READ_I, READ_B, READ_T)
        *ret = row;
        return 0;
}
