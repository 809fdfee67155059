/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "store/schema.h"

/* Ids are 16-byte blobs in time order, so that new rows go to the end of each index. Enums of the engine are kept by name. Tables are kept by
 * their key (no rowid): a submit then dirties one page a table, and a change of a job one page in all. */
static const char version_1[] =
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
        /* what changes often; job_spec has what never does. live = not ended, apart from state so that only its change touches the index */
        "CREATE TABLE job(id BLOB NOT NULL PRIMARY KEY, uid INTEGER NOT NULL, created_wall_us INTEGER NOT NULL,"
        " state TEXT NOT NULL, result TEXT NOT NULL, cause TEXT NOT NULL, op_cause TEXT NOT NULL, op_mode INTEGER NOT "
        "NULL,"
        " exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, flags INTEGER NOT NULL, generation INTEGER NOT NULL,"
        " tries INTEGER NOT NULL, cpu_milli INTEGER NOT NULL, gpus INTEGER NOT NULL, memory_bytes INTEGER NOT NULL,"
        " machine BLOB, checkpoint BLOB, op_checkpoint BLOB, since_wall_us INTEGER NOT NULL, term_wall_us INTEGER NOT "
        "NULL,"
        " started_wall_us INTEGER NOT NULL, ended_wall_us INTEGER NOT NULL, ran_us INTEGER NOT NULL,"
        " ran_before_us INTEGER NOT NULL, ttl_us INTEGER NOT NULL, ttl_wall_us INTEGER NOT NULL,"
        " expire_wall_us INTEGER NOT NULL, next_try_wall_us INTEGER NOT NULL, offer TEXT NOT NULL, message TEXT NOT "
        "NULL,"
        " image_digest TEXT NOT NULL, trouble TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL, project TEXT NOT "
        "NULL,"
        " live INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX job_live ON job(id) WHERE live=1;"
        "CREATE INDEX job_owner ON job(uid, id);"
        "CREATE INDEX job_name ON job(name, id) WHERE name<>'';"
        "CREATE TABLE job_spec(job BLOB NOT NULL PRIMARY KEY, spec TEXT NOT NULL, settings TEXT NOT NULL) STRICT, "
        "WITHOUT ROWID;"
        /* seq is the order of the writes: the wall clock may step back */
        "CREATE TABLE history(job BLOB NOT NULL, seq INTEGER NOT NULL, at_wall_us INTEGER NOT NULL, event TEXT NOT "
        "NULL,"
        " from_state TEXT NOT NULL, to_state TEXT NOT NULL, result TEXT NOT NULL, cause TEXT NOT NULL,"
        " generation INTEGER NOT NULL, machine BLOB, message TEXT NOT NULL, PRIMARY KEY(job, seq)) STRICT, WITHOUT "
        "ROWID;"
        "CREATE TABLE machine(id BLOB NOT NULL PRIMARY KEY, state INTEGER NOT NULL, lease INTEGER NOT NULL,"
        " market INTEGER NOT NULL, own INTEGER NOT NULL, connection TEXT NOT NULL, zone TEXT NOT NULL, type TEXT NOT "
        "NULL,"
        " currency TEXT NOT NULL, provider_id TEXT NOT NULL, endpoint TEXT NOT NULL, token TEXT NOT NULL,"
        " price_nano_hour INTEGER NOT NULL, created_wall_us INTEGER NOT NULL, ended_wall_us INTEGER NOT NULL,"
        " stop_sure_wall_us INTEGER NOT NULL, stop_possible_wall_us INTEGER NOT NULL,"
        " notice_wall_us INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX machine_live ON machine(id) WHERE state<>5;" /* PD_MACHINE_GONE */
        "CREATE TABLE intent(id BLOB NOT NULL PRIMARY KEY, kind TEXT NOT NULL, generation INTEGER NOT NULL, job BLOB,"
        " machine BLOB, opened_wall_us INTEGER NOT NULL, body TEXT NOT NULL, closed_wall_us INTEGER NOT NULL DEFAULT 0,"
        " outcome TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;"
        "CREATE INDEX intent_open ON intent(id) WHERE closed_wall_us=0;"
        "CREATE INDEX intent_job ON intent(job) WHERE job IS NOT NULL;"
        "CREATE INDEX intent_closed ON intent(closed_wall_us) WHERE job IS NULL AND closed_wall_us<>0;"
        "CREATE TABLE decision(id BLOB NOT NULL, job BLOB NOT NULL, seq INTEGER NOT NULL, at_wall_us INTEGER NOT NULL,"
        " policy TEXT NOT NULL, act TEXT NOT NULL, why TEXT NOT NULL, evidence TEXT NOT NULL, user TEXT NOT NULL,"
        " PRIMARY KEY(job, seq)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE interval(job BLOB NOT NULL, policy TEXT NOT NULL, first_wall_us INTEGER NOT NULL,"
        " last_wall_us INTEGER NOT NULL, count INTEGER NOT NULL, why TEXT NOT NULL, best_margin TEXT NOT NULL,"
        " PRIMARY KEY(job, policy, first_wall_us)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE checkpoint(id BLOB NOT NULL PRIMARY KEY, job BLOB NOT NULL, generation INTEGER NOT NULL,"
        " dropped INTEGER NOT NULL, bytes INTEGER NOT NULL, wall_us INTEGER NOT NULL, freeze_us INTEGER NOT NULL,"
        " took_us INTEGER NOT NULL, capture TEXT NOT NULL, vault TEXT NOT NULL, progress TEXT NOT NULL,"
        " image_digest TEXT NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX checkpoint_job ON checkpoint(job);"
        "CREATE INDEX checkpoint_live ON checkpoint(job) WHERE dropped=0;"
        "CREATE TABLE idempotency(uid INTEGER NOT NULL, key TEXT NOT NULL, body_digest TEXT NOT NULL, job BLOB NOT "
        "NULL,"
        " at_wall_us INTEGER NOT NULL, PRIMARY KEY(uid, key)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX idempotency_job ON idempotency(job);"
        "CREATE TABLE setting(project TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
        " PRIMARY KEY(project, key)) STRICT, WITHOUT ROWID;"
        "PRAGMA application_id=1886549092;"; /* "prtd": file(1) can tell what it is */

/* Moves, and the ledger. What a bill is of (bill) is written with the reservation; a line of it never changes. */
static const char version_2[] =
        "ALTER TABLE job ADD COLUMN other BLOB;"
        "ALTER TABLE job ADD COLUMN other_generation INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN move INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN moves_lost INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN moved_wall_us INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN left_rate_nano INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN move_cost_nano INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN state_bytes INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN peak_cpu_milli INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE job ADD COLUMN peak_memory_mib INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE machine ADD COLUMN ends_wall_us INTEGER NOT NULL DEFAULT 0;"
        "CREATE TABLE ledger_account(id INTEGER NOT NULL PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL,"
        " currency TEXT NOT NULL, holds INTEGER NOT NULL, capped INTEGER NOT NULL, cap_nano INTEGER NOT NULL,"
        " from_wall_us INTEGER NOT NULL, until_wall_us INTEGER NOT NULL, spent_nano INTEGER NOT NULL,"
        " before_nano INTEGER NOT NULL, open_nano INTEGER NOT NULL) STRICT;"
        /* connection, project, job_account: ids of accounts, -1 = none */
        "CREATE TABLE ledger_hold(id INTEGER NOT NULL PRIMARY KEY, what BLOB NOT NULL, job BLOB, kind TEXT NOT NULL,"
        " state TEXT NOT NULL, connection INTEGER NOT NULL, project INTEGER NOT NULL, job_account INTEGER NOT NULL,"
        " price_changes INTEGER NOT NULL, lines INTEGER NOT NULL, price_nano_hour INTEGER NOT NULL,"
        " ceiling_nano_hour INTEGER NOT NULL, minimum_us INTEGER NOT NULL, step_us INTEGER NOT NULL,"
        " lag_us INTEGER NOT NULL, flat_worst_nano INTEGER NOT NULL, from_wall_us INTEGER NOT NULL,"
        " stop_wall_us INTEGER NOT NULL, segment_wall_us INTEGER NOT NULL, until_wall_us INTEGER NOT NULL,"
        " segment_nano INTEGER NOT NULL, time_nano INTEGER NOT NULL, other_nano INTEGER NOT NULL,"
        " worst_nano INTEGER NOT NULL) STRICT;"
        "CREATE TABLE bill(what BLOB NOT NULL PRIMARY KEY, kind TEXT NOT NULL, machine BLOB, job BLOB,"
        " uid INTEGER NOT NULL, connection TEXT NOT NULL, project TEXT NOT NULL, offer TEXT NOT NULL,"
        " currency TEXT NOT NULL, from_wall_us INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE INDEX bill_job ON bill(job) WHERE job IS NOT NULL;"
        "CREATE TABLE ledger_line(what BLOB NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,"
        " from_wall_us INTEGER NOT NULL, until_wall_us INTEGER NOT NULL, price_nano_hour INTEGER NOT NULL,"
        " us INTEGER NOT NULL, nano INTEGER NOT NULL, PRIMARY KEY(what, seq)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX ledger_line_time ON ledger_line(until_wall_us);";

/* What offers cost, by the time it was seen: new rows go to the end, old ones leave at the beginning. */
static const char version_3[] = "CREATE TABLE price(at_wall_us INTEGER NOT NULL, offer TEXT NOT NULL,"
                                " nano_hour INTEGER NOT NULL, currency TEXT NOT NULL, to_be_had INTEGER NOT NULL,"
                                " PRIMARY KEY(at_wall_us, offer)) STRICT, WITHOUT ROWID;";

const struct schema_step schema_steps[] = {
        { 1, version_1 },
        { 2, version_2 },
        { 3, version_3 },
};
const size_t schema_steps_n = ARRAY_LEN(schema_steps);

static enum pd_code code_of(int sqlite)
{
        switch (sqlite & 0xff) {
        case SQLITE_NOMEM:
                return PD_E_NOMEM;
        case SQLITE_FULL:
                return PD_E_FULL;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return PD_E_CORRUPT;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return PD_E_BUSY;
        case SQLITE_CONSTRAINT:
        case SQLITE_MISUSE:
        case SQLITE_ERROR:
                return PD_E_INTERNAL;
        default:
                return PD_E_IO;
        }
}

static const char *advice_of(enum pd_code code)
{
        if (code == PD_E_CORRUPT)
                return "put a backup of portald.db in its place, or try `sqlite3 portald.db .recover`";
        if (code == PD_E_FULL)
                return "make room on the disk of the state directory, then start portald again";
        if (code == PD_E_IO)
                return "look at the disk and its free room, then start portald again";
        return "portald starts again from what is on disk";
}

int store_sqlite_fail(sqlite3 *db, const char *doing, struct pd_error *err)
{
        enum pd_code code = code_of(sqlite3_extended_errcode(db));

        return pd_fail(err, code, "store: %s: %s (SQLite %d); %s", doing, sqlite3_errmsg(db),
                sqlite3_extended_errcode(db), advice_of(code));
}

int store_exec(sqlite3 *db, const char *sql, const char *doing, struct pd_error *err)
{
        return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_sqlite_fail(db, doing, err);
}

static int one_int(sqlite3 *db, const char *sql, int *ret, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        int r = 0;

        if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW)
                r = store_sqlite_fail(db, "reading the schema", err);
        else
                *ret = sqlite3_column_int(st, 0);
        sqlite3_finalize(st);
        return r;
}

int schema_is_empty(sqlite3 *db, bool *ret, struct pd_error *err)
{
        int n = 0, r = one_int(db, "SELECT count(*) FROM sqlite_schema", &n, err);

        if (r >= 0)
                *ret = n == 0;
        return r;
}

int store_fsync_dir(const char *path_in_it, struct pd_error *err)
{
        char copy[PATH_MAX];
        pd_cleanup(closep) int fd = -1;

        if (!str_format(copy, sizeof copy, "%s", path_in_it))
                return pd_fail(err, PD_E_INVALID, "the state directory's path is longer than %d bytes", PATH_MAX);
        fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
                return pd_fail(err, PD_E_IO, "store: syncing the directory of %s: %s", path_in_it, strerror(errno));
        return 0;
}

static int copy_all(sqlite3 *from, sqlite3 *to, struct pd_error *err)
{
        sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");

        if (!b)
                return store_sqlite_fail(to, "beginning the backup before an upgrade", err);
        (void)sqlite3_backup_step(b, -1);
        if (sqlite3_backup_finish(b) != SQLITE_OK)
                return store_sqlite_fail(to, "writing the backup before an upgrade", err);
        return 0;
}

/* Under a temporary name until it is whole, so that a half backup is never taken for one. */
static int backup(sqlite3 *db, const char *path, int version, struct pd_error *err)
{
        char name[PATH_MAX], temporary[PATH_MAX];
        sqlite3 *to = NULL;
        int r;

        if (!str_format(name, sizeof name, "%s.before-v%d", path, version) ||
                !str_format(temporary, sizeof temporary, "%s.new", name))
                return pd_fail(err, PD_E_INVALID, "the state directory's path is longer than %d bytes", PATH_MAX);
        (void)unlink(temporary);
        if (sqlite3_open_v2(temporary, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
                SQLITE_OK)
                r = store_sqlite_fail(to, "creating the backup before an upgrade", err);
        else
                r = copy_all(db, to, err);
        if (sqlite3_close(to) != SQLITE_OK && r >= 0)
                r = pd_fail(err, PD_E_IO, "store: the backup %s could not be closed", temporary);
        if (r >= 0 && rename(temporary, name) < 0)
                r = pd_fail(err, PD_E_IO, "store: naming the backup %s: %s", name, strerror(errno));
        if (r < 0)
                (void)unlink(temporary);
        return r < 0 ? r : store_fsync_dir(name, err);
}

static int take_step(sqlite3 *db, const struct schema_step *step, struct pd_error *err)
{
        char version[64];
        int r;

        (void)str_format(version, sizeof version, "PRAGMA user_version=%d", step->to);
        if ((r = store_exec(db, "BEGIN IMMEDIATE", "beginning a schema step", err)) < 0)
                return r;
        if ((r = store_exec(db, step->sql, "a schema step", err)) < 0 ||
                (r = store_exec(db, version, "writing the schema's version", err)) < 0 ||
                (r = store_exec(db, "COMMIT", "committing a schema step", err)) < 0)
                (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return r;
}

int schema_upgrade(sqlite3 *db, const char *path, const struct schema_step *steps, size_t n, struct pd_error *err)
{
        int version = 0, newest = steps[n - 1].to, r;
        bool empty = false;

        if ((r = one_int(db, "PRAGMA user_version", &version, err)) < 0 || (r = schema_is_empty(db, &empty, err)) < 0)
                return r;
        if (version > newest)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "the store is of schema %d, this portald knows up to %d: start the newer portald, or put "
                        "portald.db.before-v%d in its place",
                        version, newest, newest + 1);
        for (size_t i = 0; i < n; i++) {
                if (steps[i].to <= version)
                        continue;
                if (!empty && (r = backup(db, path, steps[i].to, err)) < 0)
                        return r;
                if ((r = take_step(db, &steps[i], err)) < 0)
                        return r;
        }
        return 0;
}
