/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the rows that are read back as structs: one list each, from which the SQL, the binds and the reads are made.
 * Of this room only. E = an enum kept as its name, so that its numbers may change; I = an integer; B = an id, NULL where null; T = text
 * in a fixed array. */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include <sqlite3.h>

#include "store/store.h"

/* Fixed at birth, and indexed: an update that named them would rewrite the indexes for nothing. */
#define JOB_FIXED_COLUMNS(I) \
        I(uid)               \
        I(created_wall_us)

#define JOB_CHANGING_COLUMNS(E, I, B) \
        E(state, job_state)           \
        E(result, job_result)         \
        E(cause, job_cause)           \
        E(op_cause, job_cause)        \
        I(op_mode)                    \
        I(exit_code)                  \
        I(signal)                     \
        I(flags)                      \
        I(generation)                 \
        I(tries)                      \
        I(cpu_milli)                  \
        I(gpus)                       \
        I(memory_bytes)               \
        B(machine)                    \
        B(checkpoint)                 \
        B(op_checkpoint)              \
        I(since_wall_us)              \
        I(term_wall_us)               \
        I(started_wall_us)            \
        I(ended_wall_us)              \
        I(ran_us)                     \
        I(ran_before_us)              \
        I(ttl_us)                     \
        I(ttl_wall_us)                \
        I(expire_wall_us)             \
        I(next_try_wall_us)           \
        B(other)                      \
        I(other_generation)           \
        I(move)                       \
        I(moves_lost)                 \
        I(moved_wall_us)              \
        I(left_rate_nano)             \
        I(move_cost_nano)             \
        I(state_bytes)                \
        I(peak_cpu_milli)             \
        I(peak_memory_mib)

#define JOB_COLUMNS(E, I, B) JOB_FIXED_COLUMNS(I) JOB_CHANGING_COLUMNS(E, I, B)

#define MACHINE_COLUMNS(I, T)    \
        I(state)                 \
        I(lease)                 \
        I(market)                \
        I(own)                   \
        T(connection)            \
        T(zone)                  \
        T(type)                  \
        T(currency)              \
        T(provider_id)           \
        T(endpoint)              \
        T(token)                 \
        I(price_nano_hour)       \
        I(created_wall_us)       \
        I(ended_wall_us)         \
        I(stop_sure_wall_us)     \
        I(stop_possible_wall_us) \
        I(notice_wall_us)        \
        I(ends_wall_us)

#define ACCOUNT_COLUMNS(E, I, T) \
        E(scope, ledger_scope)   \
        T(key)                   \
        T(currency)              \
        I(holds)                 \
        I(capped)                \
        I(cap_nano)              \
        I(from_wall_us)          \
        I(until_wall_us)         \
        I(spent_nano)            \
        I(before_nano)           \
        I(open_nano)

/* Beside these a hold has its accounts (account[]: connection, project, job_account). */
#define HOLD_COLUMNS(E, I, B)  \
        B(what)                \
        B(job)                 \
        E(kind, ledger_kind)   \
        E(state, ledger_state) \
        I(price_changes)       \
        I(lines)               \
        I(price_nano_hour)     \
        I(ceiling_nano_hour)   \
        I(minimum_us)          \
        I(step_us)             \
        I(lag_us)              \
        I(flat_worst_nano)     \
        I(from_wall_us)        \
        I(stop_wall_us)        \
        I(segment_wall_us)     \
        I(until_wall_us)       \
        I(segment_nano)        \
        I(time_nano)           \
        I(other_nano)          \
        I(worst_nano)

#define LINE_COLUMNS(E, I)        \
        E(kind, ledger_line_kind) \
        I(from_wall_us)           \
        I(until_wall_us)          \
        I(price_nano_hour)        \
        I(us)                     \
        I(nano)

#define BILL_COLUMNS(E, I, B, T) \
        E(kind, ledger_kind)     \
        B(machine)               \
        B(job)                   \
        I(uid)                   \
        T(connection)            \
        T(project)               \
        T(offer)                 \
        T(currency)              \
        I(from_wall_us)

#define CHECKPOINT_COLUMNS(B, I, T) \
        B(job)                      \
        I(generation)               \
        I(dropped)                  \
        I(bytes)                    \
        I(wall_us)                  \
        I(freeze_us)                \
        I(took_us)                  \
        T(capture)                  \
        T(vault)                    \
        T(progress)                 \
        T(image_digest)

#define COLUMN_NAME(c_, ...) "," #c_
#define COLUMN_SLOT(...) ",?"
#define COLUMN_SET(c_, ...) "," #c_ "=?"

/* `id` and the columns, in this order, as they stand in a SELECT. */
#define JOB_SELECT "id" JOB_COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME)
#define MACHINE_SELECT "id" MACHINE_COLUMNS(COLUMN_NAME, COLUMN_NAME)
#define CHECKPOINT_SELECT "id" CHECKPOINT_COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME)
#define ACCOUNT_SELECT "id" ACCOUNT_COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME)
#define BILL_SELECT "what" BILL_COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME, COLUMN_NAME)
#define HOLD_ACCOUNTS ",connection,project,job_account"
#define HOLD_SELECT "id" HOLD_COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME) HOLD_ACCOUNTS

/* Read the row that st stands on, from its first column; *at becomes the number of columns read. A value that cannot be (a damaged file) is
 * -PD_E_CORRUPT. */
int column_job(sqlite3_stmt *st, struct job *ret, int *ret_at, struct pd_error *err);
int column_machine(sqlite3_stmt *st, struct machine *ret, struct pd_error *err);
int column_checkpoint(sqlite3_stmt *st, struct checkpoint *ret, struct pd_error *err);
int column_account(sqlite3_stmt *st, struct ledger_account *ret, struct pd_error *err);
int column_hold(sqlite3_stmt *st, struct ledger_hold *ret, struct pd_error *err);
int column_bill(sqlite3_stmt *st, struct store_bill *ret, struct pd_error *err);
/* A line and what it is of, as READ_BILL* have them. */
int column_line(sqlite3_stmt *st, struct store_bill *ret_bill, struct ledger_line *ret, struct pd_error *err);
/* NULL in the row = the null id. */
int column_id(sqlite3_stmt *st, int column, struct id *ret, struct pd_error *err);
const char *column_text(sqlite3_stmt *st, int column); /* never NULL; valid until the next step */

#endif
