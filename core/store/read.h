/* SPDX-License-Identifier: Apache-2.0 */
/* The statements that read, and how each is used. Of this room only. */
#ifndef STORE_READ_H
#define STORE_READ_H

#include "store/columns.h"
#include "store/place.h"

/* Prepared once and kept; one that is at work (a callback reads the same thing again) gets a copy of its own. */
int read_begin(struct store *s, enum read_stmt which, sqlite3_stmt **ret, struct pd_error *err);
/* Ends it whatever happened: a read left open would keep the log from starting again. */
void read_end(struct store *s, enum read_stmt which, sqlite3_stmt *st);
/* 1 = a row, 0 = no more, negative. */
int read_step(struct store *s, sqlite3_stmt *st, struct pd_error *err);
void read_bind_id(sqlite3_stmt *st, int at, struct id id);

/* The doc's columns from `at` on, as read by READ_DOC and the scans. */
int read_doc(sqlite3_stmt *st, int at, json_t **ret, struct pd_error *err);
/* Text of the store that must be JSON. */
int read_json(const char *text, json_t **ret, struct pd_error *err);

#endif
