/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's enums by name, as the store keeps them. Of this room only. */
#ifndef STORE_BILL_H
#define STORE_BILL_H

#include "store/store.h"

const char *ledger_scope_name(enum ledger_scope v);
const char *ledger_kind_name(enum ledger_kind v);
const char *ledger_state_name(enum ledger_state v);
bool ledger_scope_parse(const char *name, enum ledger_scope *ret);
bool ledger_kind_parse(const char *name, enum ledger_kind *ret);
bool ledger_state_parse(const char *name, enum ledger_state *ret);
bool ledger_line_kind_parse(const char *name, enum ledger_line_kind *ret);

#endif
