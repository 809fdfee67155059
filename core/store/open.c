/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "store/place.h"
#include "store/schema.h"

/* Both connections: a damaged or hostile file must not run SQL of its own, and reads never wait long. */
static const char pragmas[] =
        "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF;";

static int connect_db(const char *path, const char *vfs, bool create, sqlite3 **ret, struct pd_error *err)
{
        int r = sqlite3_open_v2(
                path, ret, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX, vfs);

        if (r != SQLITE_OK)
                return store_sqlite_fail(*ret, "opening portald.db", err);
        (void)sqlite3_extended_result_codes(*ret, 1);
        (void)sqlite3_busy_timeout(*ret, 2000);
        (void)sqlite3_db_config(*ret, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        return store_exec(*ret, pragmas, "setting the connection up", err);
}

static int open_writer(struct store *s, const struct store_options *o, struct pd_error *err)
{
        bool empty = true, there = access(s->path, F_OK) == 0;
        int r;

        /* an absent file is judged before it is made, so that a refusal leaves nothing behind */
        if (!there && (r = place_check(s, o, true, err)) < 0)
                return r;
        if ((r = connect_db(s->path, o->vfs, true, &s->writer, err)) < 0 ||
                (r = schema_is_empty(s->writer, &empty, err)) < 0)
                return r;
        if ((r = place_check(s, o, empty, err)) < 0)
                return r;
        if ((r = store_exec(s->writer, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-4000;",
                     "setting the log up", err)) < 0)
                return r;
        if (o->simulated && !o->vfs &&
                (r = store_exec(s->writer, "PRAGMA synchronous=OFF;", "setting the log up", err)) < 0)
                return r;
        if ((r = schema_upgrade(s->writer, s->path, schema_steps, schema_steps_n, err)) < 0)
                return r;
        return place_own(s, o, err);
}

static int prepare_writes(struct store *s, struct pd_error *err)
{
        for (int i = 0; i < STMT_N; i++)
                if (sqlite3_prepare_v3(s->writer, store_statements[i].sql, -1, SQLITE_PREPARE_PERSISTENT, &s->writes[i],
                            NULL) != SQLITE_OK)
                        return store_sqlite_fail(s->writer, "preparing to write", err);
        return 0;
}

static int open_reader(struct store *s, const struct store_options *o, struct pd_error *err)
{
        int r = connect_db(s->path, o->vfs, false, &s->reader, err);

        if (r < 0)
                return r;
        return store_exec(s->reader, "PRAGMA query_only=ON; PRAGMA cache_size=-2000;", "setting the reader up", err);
}

static void close_connections(struct store *s)
{
        for (int i = 0; i < READ_N; i++)
                sqlite3_finalize(s->reads[i]);
        for (int i = 0; i < STMT_N; i++)
                sqlite3_finalize(s->writes[i]);
        (void)sqlite3_close(s->reader);
        (void)sqlite3_close(s->writer); /* the last one copies the log back */
}

struct store *store_close(struct store *s)
{
        if (!s)
                return NULL;
        writer_stop(s);
        close_connections(s);
        (void)safe_close(s->event_fd);
        (void)safe_close(s->lock_fd);
        (void)pthread_cond_destroy(&s->wake);
        (void)pthread_mutex_destroy(&s->lock);
        free(s);
        return NULL;
}

static void store_closep(struct store **s)
{
        store_close(*s);
}

int store_open(struct store **ret, sd_event *loop, const struct store_options *o, struct pd_error *err)
{
        pd_cleanup(store_closep) struct store *s = calloc(1, sizeof *s);
        int r;

        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory for the store");
        s->lock_fd = s->event_fd = -1;
        s->queue_end = &s->queue;
        s->over_end = &s->over;
        (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail with default attributes on Linux */
        (void)pthread_cond_init(&s->wake, NULL);
        if ((r = place_take(s, o, err)) < 0 || (r = open_writer(s, o, err)) < 0 || (r = prepare_writes(s, err)) < 0 ||
                (r = open_reader(s, o, err)) < 0)
                return r;
        s->simulated = o->simulated;
        s->ballast_bytes = o->ballast_bytes;
        s->low = o->ballast_bytes > 0 && !ballast_hold(s->ballast_path, o->ballast_bytes);
        if ((r = writer_start(s, loop, err)) < 0)
                return r;
        *ret = pd_steal(s);
        return 0;
}

const char *store_installation(const struct store *s)
{
        return s->installation;
}
