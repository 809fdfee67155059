/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: finding, drafting and booking. A change is drafted as a copy of the hold, checked, and then written in one go by book(). */
#ifndef LEDGER_INTERNAL_H
#define LEDGER_INTERNAL_H

#include "ledger/ledger.h"

typedef __int128 wide;

#define HOUR ((wide)USEC_PER_HOUR)

int fail_overflow(struct pd_error *err, const char *what);
int fail_hold(struct pd_error *err, uint32_t id);
int fail_account(struct pd_error *err, uint32_t id);

/* Empties *c and makes sure that there is one: `change = change_begin(change, &unused)`. */
struct ledger_change *change_begin(struct ledger_change *c, struct ledger_change *unused);

/* The hold, when it is open or leaving. */
int open_hold(struct ledger *l, uint32_t id, struct ledger_hold **ret, struct pd_error *err);
/* A hold that is not in the ledger yet, from its terms. */
int hold_draft(const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us, struct ledger_hold *ret,
        struct pd_error *err);

/* Each there, of its scope, and all of one currency. */
int accounts_check(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], struct pd_error *err);

wide at_most(wide value, wide limit);
/* The worst case of h as it stands; false = it does not fit 64 bits. */
bool worst_of(const struct ledger_hold *h, int64_t *ret);
/* What the account's holder pays in all for a stay of `us`: minimum and step. */
wide billed_us(const struct ledger_hold *h, wide us);

/* Room for `more`? 0, or the refusal that names the tightest cap. more <= 0 may be asked too: is the sum under the cap afterwards? */
int caps_allow(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], int64_t more, struct pd_error *err);
/* Another currency of the same key has the cap, so nothing more may be promised here; NULL = no. */
const struct ledger_account *barred_by(const struct ledger *l, const struct ledger_account *a);

/* Writes the hold as drafted and the lines, on all its accounts, or changes nothing. Fills the change. */
int book(struct ledger *l, const struct ledger_hold *draft, const struct ledger_line *lines, size_t lines_n,
        struct ledger_change *change, struct pd_error *err);
/* Where a live account stands in l->order, or would. */
size_t order_find(
        const struct ledger *l, enum ledger_scope scope, const char *key, const char *currency, bool *ret_there);

#endif
