/* SPDX-License-Identifier: Apache-2.0 */
/* Two ledgers, row by row and member by member: the padding between members is nobody's. */
#ifndef TESTS_LEDGER_ROWS_H
#define TESTS_LEDGER_ROWS_H

#include <stdlib.h>

#include "ledger/ledger.h"
#include "store/columns.h"

#define SAME(c_, ...) &&a->c_ == b->c_
#define SAME_ID(c_) &&id_equal(a->c_, b->c_)
#define SAME_TEXT(c_) &&streq(a->c_, b->c_)

static inline bool rows_same_account(const struct ledger_account *a, const struct ledger_account *b)
{
        return b && a->id == b->id && a->live == b->live ACCOUNT_COLUMNS(SAME, SAME, SAME_TEXT);
}

static inline bool rows_same_hold(const struct ledger_hold *a, const struct ledger_hold *b)
{
        return b && a->id == b->id &&
               memcmp(a->account, b->account, sizeof a->account) == 0 HOLD_COLUMNS(SAME, SAME, SAME_ID);
}

/* How many are not alike, missing, or too many. */
static inline long rows_differing(const struct ledger *a, const struct ledger *b)
{
        long n = 0, bad = 0;

        vec_foreach (x, &a->accounts)
                if (x->live) {
                        n++;
                        bad += !rows_same_account(x, ledger_account_at(b, x->id));
                }
        vec_foreach (x, &a->holds)
                if (x->state != LEDGER_FREE) {
                        n++;
                        bad += !rows_same_hold(x, ledger_hold_at(b, x->id));
                }
        return bad + labs((long)ledger_export_n(b) - n);
}

#endif
