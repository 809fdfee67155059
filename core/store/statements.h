/* SPDX-License-Identifier: Apache-2.0 */
/* Every statement that writes, as one table. A transaction is a list of (statement, values) made on the loop; the writer thread only
 * binds and steps. Of this room only. */
#ifndef STORE_STATEMENTS_H
#define STORE_STATEMENTS_H

#include "base/base.h"

enum stmt {
        STMT_JOB_INSERT,
        STMT_JOB_UPDATE,
        STMT_JOB_NAMES,
        STMT_JOB_LIVE,
        STMT_SPEC_INSERT,
        STMT_SPEC_UPDATE,
        STMT_HISTORY,
        STMT_JOB_DELETE,
        STMT_SPEC_DELETE,
        STMT_HISTORY_DELETE,
        STMT_DECISION_DELETE,
        STMT_INTERVAL_DELETE,
        STMT_INTENT_DELETE,
        STMT_CHECKPOINT_DELETE,
        STMT_IDEMPOTENCY_DELETE,
        STMT_MACHINE,
        STMT_INTENT_OPEN,
        STMT_INTENT_CLOSE,
        STMT_INTENT_PRUNE,
        STMT_DECISION,
        STMT_INTERVAL,
        STMT_CHECKPOINT,
        STMT_IDEMPOTENCY,
        STMT_SETTING,
        STMT_SETTING_UNSET,
        STMT_META,
        STMT_ACCOUNT,
        STMT_ACCOUNT_DELETE,
        STMT_HOLD,
        STMT_HOLD_DELETE,
        STMT_BILL,
        STMT_LINE,
        STMT_LINE_PRUNE,
        STMT_BILL_PRUNE,
        STMT_PRICE,
        STMT_PRICE_PRUNE,
        STMT_N
};

struct stmt_row {
        const char *sql;
        bool one_row; /* exactly one row must change, else the store and the engine disagree */
};
extern const struct stmt_row store_statements[STMT_N];

/* Closed intents that belong to no job (renewals) are forgotten after this long; those of a job go with the job. */
#define INTENT_KEEP_US (7 * USEC_PER_DAY)

#endif
