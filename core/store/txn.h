/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction as it travels from the loop to the writer: statements and their values, packed. Of this room only. */
#ifndef STORE_TXN_H
#define STORE_TXN_H

#include "store/statements.h"
#include "store/store.h"

enum value_tag { VALUE_NULL, VALUE_INT, VALUE_TEXT, VALUE_BLOB };

struct value {
        enum value_tag tag;
        int64_t i;
        const void *at; /* into the transaction */
        uint32_t n;
};

struct txn {
        uint8_t *at; /* [u8 stmt][u8 values] then each value [u8 tag][payload] */
        size_t n, room;
        size_t op; /* offset of the operation being written */
        bool no_memory, failed /* not on disk: the store's failure tells why */;
        struct pd_error *fault; /* the first operation that was refused, NULL = none */
        uint32_t key_uid;
        char *key;                   /* idempotency key in it, NULL = none */
        struct txn *next, *next_key; /* queue; keys in flight */
        store_done_fn done;
        void *arg;
};

/* One operation: its statement, then each of its values. */
void txn_put_op(struct txn *t, enum stmt stmt);
void txn_put_int(struct txn *t, int64_t v);
void txn_put_text(struct txn *t, const char *text); /* NULL = NULL */
void txn_put_id(struct txn *t, struct id id);       /* null = NULL */

/* Walks the operations: *at from 0; false at the end. Then exactly *ret_values calls of txn_next_value(). */
bool txn_next_op(const struct txn *t, size_t *at, enum stmt *ret_stmt, int *ret_values);
struct value txn_next_value(const struct txn *t, size_t *at);

#endif
