/* SPDX-License-Identifier: Apache-2.0 */
/* The database's shape and its upgrades, as a table of steps. Of this room (and its tests) only.
 * Append a step for a new version; a step that was released never changes, since databases made by it are out there. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "base/base.h"

struct schema_step {
        int to; /* PRAGMA user_version after it; steps stand in order, one version each, from 1 */
        const char *sql;
};
extern const struct schema_step schema_steps[];
extern const size_t schema_steps_n;

/* Takes the open database of file `path` to the last step, one transaction a step. An empty one is made; one with tables is copied to
 * "<path>.before-vN" first. A version above the last step is -PD_E_UNSUPPORTED and nothing is touched. */
int schema_upgrade(sqlite3 *db, const char *path, const struct schema_step *steps, size_t n, struct pd_error *err);
/* Does it hold no table at all (a file that was never finished)? */
int schema_is_empty(sqlite3 *db, bool *ret, struct pd_error *err);

/* An error of SQLite as a sentence: what was being done, SQLite's word, and what to do. Negative code. */
int store_sqlite_fail(sqlite3 *db, const char *doing, struct pd_error *err);
int store_exec(sqlite3 *db, const char *sql, const char *doing, struct pd_error *err);
int store_fsync_dir(const char *path_in_it, struct pd_error *err);

#endif
