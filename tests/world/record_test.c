/* SPDX-License-Identifier: Apache-2.0 */
/* What portald does, hour by hour, in a few worlds of the swarm, against what was written down of it (tests/world/record/SEED.txt): how often it asks
 * runners and providers and for what, what it says to the journal, what it keeps on disk, what it tells users. The laws say what may never happen; this
 * says what happened, so that a change of behaviour that breaks no law is seen, and meant. A change that is meant: run it with --write, and read the
 * difference before it is committed.
 *
 *   world_record_test [--write] [SEED]
 */
#include "tap.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simulate/parts.h"
#include "world/swarm.h"

#define DAYS 2
#define NAMES_MAX 24
#define TABLES_MAX 32
/* What depends on how SQLite writes is left out: it differs between its versions. Seeds that 3 divides would have its disk, too. */
#define FAULTS                                                                                             \
        (FAULTS_ALL & ~(WORLD_FAULT_BIT(WORLD_FAULT_DISK_FULL) | WORLD_FAULT_BIT(WORLD_FAULT_DISK_ERROR) | \
                              WORLD_FAULT_BIT(WORLD_FAULT_POWER_CUT)))

static const struct {
        uint64_t seed, faults;
} worlds[] = { { 1, 0 }, { 2, FAULTS }, { 4, 0 }, { 5, FAULTS }, { 7, FAULTS }, { 8, FAULTS }, { 10, FAULTS },
        { 11, FAULTS } };

struct count {
        char name[24];
        unsigned int n;
};
struct record {
        FILE *out; /* the lines of this run */
        sqlite3 *db;
        int said;      /* what stderr is meanwhile */
        off_t said_to; /* read up to there */
        uint64_t calls;
        struct count counts[NAMES_MAX];
        char tables[TABLES_MAX][40];
        uint64_t table_digest[TABLES_MAX];
        size_t tables_n;
};

static void mix(uint64_t *digest, const void *bytes, size_t n)
{
        for (size_t i = 0; i < n; i++)
                *digest = (*digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
}

static void mix_text(uint64_t *digest, const char *text)
{
        mix(digest, text, strlen(text) + 1);
}

static void mix_json(uint64_t *digest, const json_t *body)
{
        pd_cleanup(freep) char *text = body ? json_dumps(body, JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;

        mix_text(digest, text ? text : "-");
}

static void on_call(void *arg, const char *name, const json_t *body)
{
        struct record *r = arg;

        mix_text(&r->calls, name);
        mix_json(&r->calls, body);
        for (size_t i = 0; i < NAMES_MAX; i++) {
                if (!r->counts[i].n)
                        (void)snprintf(r->counts[i].name, sizeof r->counts[i].name, "%s", name);
                if (!streq(r->counts[i].name, name))
                        continue;
                r->counts[i].n++;
                return;
        }
}

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct count *)a)->name, ((const struct count *)b)->name);
}

static void tell_calls(struct record *r)
{
        size_t n = 0;

        while (n < NAMES_MAX && r->counts[n].n)
                n++;
        qsort(r->counts, n, sizeof *r->counts, by_name);
        (void)fprintf(r->out, " calls %08x", (unsigned int)r->calls);
        for (size_t i = 0; i < n; i++)
                (void)fprintf(r->out, " %s=%u", r->counts[i].name, r->counts[i].n);
        memset(r->counts, 0, sizeof r->counts);
        r->calls = 0;
}

/* What was said since the last hour. */
static void tell_said(struct record *r)
{
        char buf[4096];
        uint64_t digest = 0;
        unsigned int lines = 0;
        ssize_t n;

        while ((n = pread(r->said, buf, sizeof buf, r->said_to)) > 0) {
                mix(&digest, buf, (size_t)n);
                for (ssize_t i = 0; i < n; i++)
                        lines += buf[i] == '\n';
                r->said_to += n;
        }
        (void)fprintf(r->out, "; said %u %08x", lines, (unsigned int)digest);
}

static bool open_db(struct record *r, const struct world *w)
{
        char path[200];
        sqlite3_stmt *st = NULL;

        (void)snprintf(path, sizeof path, "%s/portald.db", w->dir);
        if (sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY, w->vfs) != SQLITE_OK ||
                sqlite3_prepare_v2(r->db,
                        "SELECT name FROM sqlite_schema WHERE type='table' AND name<>'meta' ORDER BY name", -1, &st,
                        NULL) != SQLITE_OK)
                return false;
        while (r->tables_n < TABLES_MAX && sqlite3_step(st) == SQLITE_ROW)
                (void)snprintf(
                        r->tables[r->tables_n++], sizeof r->tables[0], "%s", (const char *)sqlite3_column_text(st, 0));
        (void)sqlite3_finalize(st);
        return r->tables_n > 0;
}

static uint64_t digest_of(struct record *r, const char *table, unsigned int *rows)
{
        char sql[120];
        sqlite3_stmt *st = NULL;
        uint64_t digest = 0;

        (void)snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2", table);
        if (sqlite3_prepare_v2(r->db, sql, -1, &st, NULL) != SQLITE_OK)
                return 0;
        while (sqlite3_step(st) == SQLITE_ROW) {
                ++*rows;
                for (int i = 0; i < sqlite3_column_count(st); i++) {
                        mix(&digest, sqlite3_column_blob(st, i), (size_t)sqlite3_column_bytes(st, i));
                        mix(&digest, "", 1);
                }
        }
        (void)sqlite3_finalize(st);
        return digest;
}

/* Tables that changed. */
static void tell_rows(struct record *r)
{
        (void)fprintf(r->out, "; rows");
        for (size_t i = 0; i < r->tables_n; i++) {
                unsigned int rows = 0;
                uint64_t digest = digest_of(r, r->tables[i], &rows);

                if (digest != r->table_digest[i])
                        (void)fprintf(r->out, " %s=%u:%04x", r->tables[i], rows, (unsigned int)(digest & 0xffff));
                r->table_digest[i] = digest;
        }
}

static json_t *asked(struct world *w, uint64_t *digest, const char *verb, const char *target, json_t *args)
{
        struct reply r = { 0 };
        json_t *body;

        if (!w->engine || w->dying || w->fatal.code) {
                json_decref(args);
                return NULL;
        }
        world_ask(w, verb, target, args, NULL, &r);
        mix_text(digest, verb);
        mix_text(digest, r.err.code ? r.err.text : "");
        mix_json(digest, r.body);
        body = json_incref(r.body);
        reply_clear(&r);
        return body;
}

static void ask_only(struct world *w, uint64_t *digest, const char *verb, const char *target, json_t *args)
{
        json_decref(asked(w, digest, verb, target, args));
}

static void ask_job(struct world *w, uint64_t *digest, const char *id, const json_t *offers, size_t turn)
{
        size_t n = json_array_size(offers);

        ask_only(w, digest, "show", id, NULL);
        ask_only(w, digest, "explain", id, NULL);
        for (size_t k = 0; k < 3 && n; k++)
                ask_only(w, digest, "explain", id,
                        json_pack("{s:s}", "why_not", js_str(json_array_get(offers, (turn + k) % n), "name", "?")));
}

/* A quarter of the jobs each hour, and what any job could ask for. */
static void tell_views(struct record *r, struct world *w)
{
        static const char *const plain[] = { "machines", "check", "prices", "settings", "status", "plugins" };
        static const char *const by[] = { "job", "connection", "project", "hour" };
        static const char *const wants[] = { "{\"memory\":\"900GiB\"}", "{\"gpus\":3}", "{\"on\":\"lab\"}",
                "{\"cpus\":\"2\",\"memory\":\"3GiB\"}" };
        size_t hour = (size_t)(w->boot_us / USEC_PER_HOUR), i;
        uint64_t digest = 0;
        js_owned *offers = asked(w, &digest, "offers", NULL, NULL);
        js_owned *jobs = asked(w, &digest, "list", NULL, json_pack("{s:b}", "all", 1));
        json_t *job;

        for (i = 0; i < ARRAY_LEN(plain); i++)
                ask_only(w, &digest, plain[i], NULL, NULL);
        for (i = 0; i < ARRAY_LEN(by); i++)
                ask_only(w, &digest, "cost", NULL, json_pack("{s:s}", "by", by[i]));
        for (i = 0; i < ARRAY_LEN(wants); i++) {
                json_t *spec = json_loads(wants[i], 0, NULL);

                (void)json_object_update_new(
                        spec, json_pack("{s:s,s:[s]}", "image", "oci:/srv/images/debian", "command", "train"));
                ask_only(w, &digest, "plan", NULL, json_pack("{s:o,s:{s:{}}}", "spec", spec, "settings", "flag"));
        }
        json_array_foreach (json_object_get(jobs, "jobs"), i, job)
                if ((i + hour) % 4 == 0)
                        ask_job(w, &digest, js_str(job, "id", ""), json_object_get(offers, "offers"), hour);
        (void)fprintf(r->out, "; told %08x\n", (unsigned int)digest);
}

static void on_hour(void *arg, struct world *w, bool quiet)
{
        struct record *r = arg;
        int64_t hour = w->boot_us / USEC_PER_HOUR;

        if ((quiet && hour % 24) || (!r->db && !open_db(r, w)))
                return;
        (void)fprintf(r->out, "%lldh", (long long)hour);
        tell_calls(r);
        tell_said(r);
        tell_rows(r);
        tell_views(r, w);
}

/* The lines of one world, to be freed. */
static char *run(size_t i)
{
        char *text = NULL;
        size_t n = 0;
        struct record r = { .out = open_memstream(&text, &n), .said = memfd_create("said", 0) };
        const struct swarm_watch watch = { on_call, on_hour, &r };
        const struct swarm_run what = {
                .seed = worlds[i].seed, .faults = worlds[i].faults, .days = DAYS, .watch = &watch
        };
        struct swarm_result end = { 0 };
        int stderr_was = dup(2);

        if (!r.out || r.said < 0 || stderr_was < 0 || dup2(r.said, 2) < 0)
                abort();
        swarm(&what, &end);
        (void)dup2(stderr_was, 2);
        (void)fprintf(r.out, "end %d, law %d, %llu events, digest %016llx\n", (int)end.end, end.law,
                (unsigned long long)end.events, (unsigned long long)end.digest);
        (void)fclose(r.out);
        (void)sqlite3_close(r.db);
        (void)close(r.said);
        (void)close(stderr_was);
        return text;
}

static char *read_whole(const char *path)
{
        FILE *f = fopen(path, "re");
        char *text = calloc(1, 1 << 20);

        if (f && text)
                text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
        if (f)
                (void)fclose(f);
        return text;
}

/* The first line that is another: where to begin to look. */
static void tell_difference(const char *was, const char *is)
{
        size_t line = 1, from = 0;

        for (size_t i = 0; was[i] && was[i] == is[i]; i++)
                if (was[i] == '\n')
                        line++, from = i + 1;
        tap_note("line %zu, was: %.*s", line, (int)strcspn(was + from, "\n"), was + from);
        tap_note("line %zu, is:  %.*s", line, (int)strcspn(is + from, "\n"), is + from);
}

int main(int argc, char **argv)
{
        bool writes = argc > 1 && streq(argv[1], "--write");
        const char *only = argc > 1 + writes ? argv[1 + writes] : NULL;

        for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
                char path[300];
                pd_cleanup(freep) char *is = NULL, *was = NULL;

                if (only && strtoull(only, NULL, 10) != worlds[i].seed)
                        continue;
                (void)snprintf(path, sizeof path, TEST_SOURCE_DIR "/tests/world/record/%llu.txt",
                        (unsigned long long)worlds[i].seed);
                is = run(i);
                was = read_whole(path);
                if (writes) {
                        FILE *f = fopen(path, "we");

                        tap_ok(f && fputs(is, f) >= 0 && fclose(f) == 0, "%s is written", path);
                        continue;
                }
                if (!tap_ok(streq(was, is), "law 22 the world of seed %llu goes as it is written down",
                            (unsigned long long)worlds[i].seed))
                        tell_difference(was, is);
                if (tap_bad && getenv("TEST_FIRST_BAD")) /* who asks only whether there is one */
                        break;
        }
        return tap_done();
}
