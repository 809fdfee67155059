/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one submit (job, spec, history, decision), written without HTTP, daemon or engine:
 *   store_load store DIR FLIGHT N     through core/store, FLIGHT transactions under way at any time
 *   store_load sqlite DIR BATCH N     straight into SQLite (WAL, synchronous=FULL, prepared statements), one commit for BATCH submits: the
 *                                     rival; the same tables and indexes, nothing else of ours
 * Prints one JSON object. DIR must be empty or absent. */
#include <stdio.h>
#include <time.h>

#include "store/schema.h"
#include "store/store.h"

static const char spec[] = "{\"command\":[\"true\"],\"cpus\":\"1\",\"image\":\"oci:/srv/images/"
                           "debian\",\"memory\":\"1GiB\",\"name\":\"bench\"}";
static const char settings[] = "{\"file\":{},\"flag\":{}}";

static long total, sent, done;
static int64_t *began_ns;

static _Noreturn void die(const char *what)
{
        fprintf(stderr, "store_load: %s\n", what);
        exit(1);
}

static int64_t now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static struct id id_of(long n, uint8_t kind)
{
        uint8_t random[10] = { kind, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

        return id_make(INT64_C(1796070984000000) + n * 20, random);
}

static void report(int64_t ns)
{
        qsort(began_ns, (size_t)total, sizeof *began_ns, by_value);
        printf("{\"submits\":%ld,\"us\":%lld,\"per_s\":%lld,\"p50_us\":%lld,\"p99_us\":%lld}\n", total,
                (long long)(ns / 1000), (long long)((__int128)total * 1000000000 / ns),
                (long long)(began_ns[total / 2] / 1000), (long long)(began_ns[total * 99 / 100] / 1000));
}

/* --- through the store --- */

static struct store *store;

static void submit(void);

static void on_done(void *arg, const struct pd_error *err)
{
        long n = (long)(intptr_t)arg;

        if (err)
                die(err->text);
        began_ns[n] = now_ns() - began_ns[n];
        done++;
        submit();
}

static void submit(void)
{
        struct pd_error err = { 0 };
        struct txn *t;
        struct job j;
        long n = sent;

        if (n >= total)
                return;
        sent++;
        began_ns[n] = now_ns();
        t = txn_new();
        j = (struct job){ .id = id_of(n, 1),
                .state = JOB_QUEUED,
                .uid = 1000,
                .cpu_milli = 1000,
                .memory_bytes = UINT64_C(1) << 30,
                .created_wall_us = n + 1,
                .since_wall_us = n + 1,
                .term_wall_us = n + 1,
                .ttl_us = 72 * USEC_PER_HOUR };
        txn_job(t, NULL, &j, EVENT_SUBMIT,
                &(struct job_doc){ .name = "bench",
                        .user = "ada",
                        .project = "ada",
                        .spec = spec,
                        .settings = settings,
                        .message = "waits for a place" },
                n + 1, "submitted");
        txn_decision(t, id_of(n, 2), j.id, n + 1, "user", "submit", "asked for", NULL, "ada");
        if (store_apply(store, t, on_done, (void *)(intptr_t)n, &err) < 0)
                die(err.text);
}

static void through_store(const char *dir, long flight)
{
        struct pd_error err = { 0 };
        sd_event *loop = NULL;
        int64_t at;

        if (sd_event_new(&loop) < 0 ||
                store_open(&store, loop, &(struct store_options){ .dir = dir, .new_installation = true }, &err) < 0)
                die(err.text);
        at = now_ns();
        for (long i = 0; i < flight; i++)
                submit();
        while (done < total)
                if (sd_event_run(loop, 30 * 1000000) <= 0)
                        die("no answer from the store in 30 s");
        report(now_ns() - at);
        store_close(store);
        sd_event_unref(loop);
}

/* --- the rival --- */

enum { BEGIN, COMMIT, JOB, SPEC, HISTORY, DECISION, N };
static const char *const sql[N] = { "BEGIN IMMEDIATE", "COMMIT",
        "INSERT INTO "
        "job(id,state,result,cause,op_cause,op_mode,exit_code,signal,flags,uid,generation,tries,cpu_milli,gpus,memory_"
        "bytes,created_wall_us,"
        "since_wall_us,term_wall_us,started_wall_us,ended_wall_us,ran_us,ran_before_us,ttl_us,ttl_wall_us,expire_wall_"
        "us,next_try_wall_us,name,user,project,"
        "offer,message,image_digest,trouble,live)VALUES(?1,'queued','','','',0,0,0,0,1000,0,0,1000,0,1073741824,?2,?2,?"
        "2,0,0,0,0,259200000000,0,0,0,'bench','ada',"
        "'ada','','waits for a place','','',1)",
        "INSERT INTO job_spec(job,spec,settings)VALUES(?1,?2,?3)",
        "INSERT INTO "
        "history(job,seq,at_wall_us,event,from_state,to_state,result,cause,generation,machine,message)VALUES(?1,1,?2,'"
        "submit','','queued','','',0,NULL,"
        "'submitted')",
        "INSERT INTO "
        "decision(id,job,seq,at_wall_us,policy,act,why,evidence,user)VALUES(?3,?1,1,?2,'user','submit','asked "
        "for','null','ada')" };
static sqlite3_stmt *st[N];

static void step(int which)
{
        if (sqlite3_step(st[which]) != SQLITE_DONE)
                die(sqlite3_errmsg(sqlite3_db_handle(st[which])));
        (void)sqlite3_reset(st[which]);
}

static void one_submit(long n)
{
        struct id id = id_of(n, 1), decision = id_of(n, 2);

        for (int i = JOB; i < N; i++)
                (void)sqlite3_bind_blob(st[i], 1, id.b, sizeof id.b, SQLITE_STATIC);
        (void)sqlite3_bind_int64(st[JOB], 2, n + 1);
        (void)sqlite3_bind_text(st[SPEC], 2, spec, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(st[SPEC], 3, settings, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(st[HISTORY], 2, n + 1);
        (void)sqlite3_bind_int64(st[DECISION], 2, n + 1);
        (void)sqlite3_bind_blob(st[DECISION], 3, decision.b, sizeof decision.b, SQLITE_STATIC);
        for (int i = JOB; i < N; i++)
                step(i);
}

static void straight(const char *path, long batch)
{
        struct pd_error err = { 0 };
        sqlite3 *db = NULL;
        int64_t at, now;

        if (sqlite3_open(path, &db) != SQLITE_OK ||
                store_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-4000", "open",
                        &err) < 0 ||
                schema_upgrade(db, path, schema_steps, schema_steps_n, &err) < 0)
                die(err.text);
        for (int i = 0; i < N; i++)
                if (sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &st[i], NULL) != SQLITE_OK)
                        die(sqlite3_errmsg(db));
        at = now_ns();
        for (long n = 0; n < total;) {
                long end = n + batch < total ? n + batch : total, first = n;
                int64_t began = now_ns();

                step(BEGIN);
                for (; n < end; n++)
                        one_submit(n);
                step(COMMIT);
                now = now_ns();
                for (; first < end; first++)
                        began_ns[first] = now - began;
        }
        report(now_ns() - at);
        for (int i = 0; i < N; i++)
                sqlite3_finalize(st[i]);
        sqlite3_close(db);
}

int main(int argc, char **argv)
{
        char path[4096];

        if (argc != 5 || (total = atol(argv[4])) < 1 || !(began_ns = calloc((size_t)total, sizeof *began_ns)))
                return 2;
        if (streq(argv[1], "store"))
                through_store(argv[2], atol(argv[3]));
        else if (streq(argv[1], "sqlite") && str_format(path, sizeof path, "%s/rival.db", argv[2]))
                straight(path, atol(argv[3]));
        else
                return 2;
        free(began_ns);
        return 0;
}
