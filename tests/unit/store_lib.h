/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the store share: a directory that goes away, a loop, and jobs to write. */
#ifndef TESTS_STORE_LIB_H
#define TESTS_STORE_LIB_H

#include <dirent.h>
#include <limits.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <portald/provider.h>

#include "store/store.h"
#include "tap.h"

#define T0 INT64_C(1796070984123456)

struct place {
        char dir[64];
        sd_event *loop;
        struct store *store;
        struct pd_error err;
        int done_n, done_bad; /* callbacks seen; those with an error */
        struct pd_error done_err;
};

static inline void place_clear(const char *dir)
{
        DIR *d = opendir(dir);
        char path[PATH_MAX];

        for (struct dirent *e; d && (e = readdir(d));)
                if (e->d_name[0] != '.') {
                        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
                        (void)unlink(path);
                }
        if (d)
                closedir(d);
}

static inline int place_open(struct place *p, const char *installation, bool new_installation)
{
        return store_open(&p->store, p->loop,
                &(struct store_options){
                        .dir = p->dir, .installation = installation, .new_installation = new_installation },
                &p->err);
}

/* A fresh directory, no store yet. */
static inline void place_make(struct place *p)
{
        *p = (struct place){ .dir = "/tmp/portald-store-XXXXXX" };
        if (!mkdtemp(p->dir) || sd_event_new(&p->loop) < 0)
                abort();
}

static inline void place_begin(struct place *p)
{
        place_make(p);
        if (place_open(p, NULL, true) < 0) {
                tap_note("%s", p->err.text);
                abort();
        }
}

static inline void place_end(struct place *p)
{
        p->store = store_close(p->store);
        p->loop = sd_event_unref(p->loop);
        place_clear(p->dir);
        (void)rmdir(p->dir);
}

static inline void on_done(void *arg, const struct pd_error *err)
{
        struct place *p = arg;

        p->done_n++;
        if (err) {
                p->done_bad++;
                p->done_err = *err;
        }
}

/* Runs the loop until everything that was handed over came back. */
static inline void place_settle(struct place *p)
{
        while (store_queued(p->store) > 0)
                if (sd_event_run(p->loop, 20 * 1000000) <= 0) {
                        tap_ok(false, "the store answers within 20 s");
                        return;
                }
}

static inline int place_apply(struct place *p, struct txn *t)
{
        int r = store_apply(p->store, t, on_done, p, &p->err);

        place_settle(p);
        return r;
}

static inline struct id id_of(unsigned int n)
{
        uint8_t random[10] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, 7 };

        return id_make(T0 + (int64_t)n * 1000, random);
}

static inline struct job job_of(unsigned int n)
{
        return (struct job){ .id = id_of(n),
                .state = JOB_QUEUED,
                .uid = 1000,
                .cpu_milli = 1500,
                .memory_bytes = UINT64_C(1) << 30,
                .created_wall_us = T0 + n,
                .since_wall_us = T0 + n,
                .term_wall_us = T0 + n,
                .ttl_us = 72 * USEC_PER_HOUR };
}

static const struct job_doc doc_plain = { .name = "train",
        .user = "ada",
        .project = "p",
        .spec = "{\"command\":[\"true\"]}",
        .settings = "{\"file\":{},\"flag\":{}}" };

static inline void txn_submit(struct txn *t, const struct job *j)
{
        txn_job(t, NULL, j, EVENT_SUBMIT, &doc_plain, j->created_wall_us, "waits for a place");
}

/* One number out of the database file, by a connection of our own. */
static inline long long place_count(const struct place *p, const char *sql)
{
        char path[PATH_MAX];
        sqlite3 *db = NULL;
        sqlite3_stmt *st = NULL;
        long long n = -1;

        (void)snprintf(path, sizeof path, "%s/portald.db", p->dir);
        if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
                n = sqlite3_column_int64(st, 0);
        sqlite3_finalize(st);
        sqlite3_close(db);
        return n;
}

#endif
