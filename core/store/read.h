/* SPDX-License-Identifier: Apache-2.0 */
/* The statements that read, and how each is used. Of this room only. */
#ifndef STORE_READ_H
#define STORE_READ_H

#include "store/columns.h"
#include "store/place.h"

/* All reads of one turn of the loop see one state of the store: a job and its doc, read one after the other, belong together. It is given up at
 * the turn's end and before each done, since a read left open keeps the log from starting again. */
void read_forget(struct store *s);
/* Prepared once and kept; one that is at work (a callback reads the same thing again) gets a copy of its own. */
int read_begin(struct store *s, enum read_stmt which, sqlite3_stmt **ret, struct pd_error *err);
void read_end(struct store *s, enum read_stmt which, sqlite3_stmt *st);
/* 1 = a row, 0 = no more, negative. */
int read_step(struct store *s, sqlite3_stmt *st, struct pd_error *err);
void read_bind_id(sqlite3_stmt *st, int at, struct id id);

/* The doc's columns from `at` on, as read by READ_DOC and the scans. */
int read_doc(sqlite3_stmt *st, int at, json_t **ret, struct pd_error *err);
/* Text of the store that must be JSON. */
int read_json(const char *text, json_t **ret, struct pd_error *err);

#endif
