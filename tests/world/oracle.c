/* SPDX-License-Identifier: Apache-2.0 */
/* What a world is judged by: what the API says, what lies on disk, and what its history tells. */
#include "world/oracle_parts.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>

#define CHECK_US (60 * USEC_PER_SEC)
#define SAVE_MAX_US (10 * USEC_PER_MIN)
#define REVIEW_US (USEC_PER_HOUR + SLACK_US) /* clocks of waiting jobs: no deadline is trusted for longer */
#define LOOK_US (6 * USEC_PER_HOUR)
/* --- the log, and what was broken --- */
void oracle_log(struct oracle *o, const char *fmt, ...)
{
        char *line = o->trace[o->trace_n++ % ARRAY_LEN(o->trace)];
        int n = snprintf(line, sizeof o->trace[0], "%8.3fh ", (double)o->w->boot_us / (double)USEC_PER_HOUR);
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(line + n, sizeof o->trace[0] - (size_t)n, fmt, ap);
        va_end(ap);
        for (const char *p = line; *p; p++)
                o->digest = (o->digest ^ (uint8_t)*p) * UINT64_C(1099511628211);
        if (o->verbose)
                printf("# %s\n", line);
}

void oracle_broken(struct oracle *o, int law, const char *fmt, ...)
{
        va_list ap;

        if (o->law)
                return;
        o->law = law;
        va_start(ap, fmt);
        (void)vsnprintf(o->text, sizeof o->text, fmt, ap);
        va_end(ap);
        oracle_log(o, "BROKEN law %d: %s", law, o->text);
}

void oracle_held(struct oracle *o, int law)
{
        o->held[law]++;
}

struct oracle_job *oracle_job(struct oracle *o, const char *id)
{
        for (size_t i = 0; i < o->jobs_n; i++)
                if (streq(o->jobs[i].id, id))
                        return &o->jobs[i];
        if (o->jobs_n == ORACLE_JOBS || !*id)
                return NULL;
        o->jobs[o->jobs_n] = (struct oracle_job){
                .ttl_us = INT64_MIN, .ttl_keep_us = USEC_PER_HOUR, .idle_after_us = 10 * USEC_PER_MIN /* at least */
        };
        (void)str_format(o->jobs[o->jobs_n].id, sizeof o->jobs[0].id, "%s", id);
        return &o->jobs[o->jobs_n++];
}

/* The furthest that the wall clock ever was: what was due by it may have been done. */
int64_t oracle_wall_most(struct oracle *o)
{
        if (o->w->wall_us > o->wall_max_us)
                o->wall_max_us = o->w->wall_us;
        return o->wall_max_us;
}

const struct sim_job *oracle_placement(const struct oracle *o, const struct oracle_job *j)
{
        return world_sim(o->w, j->id);
}

int64_t oracle_running_us(const struct oracle *o, const struct sim_job *s)
{
        return s->started_boot_us ? o->w->boot_us - s->started_boot_us : 0;
}

int64_t oracle_ran_us(const struct oracle *o, const struct oracle_job *j)
{
        int64_t us = j->ran_us;

        for (size_t i = 0; i < j->places_n; i++)
                if (!j->places[i].counted && streq(j->places[i].at->job, j->id))
                        us += j->places[i].at->ran_us + oracle_running_us(o, j->places[i].at);
        return us;
}

bool oracle_lives(const struct oracle_job *j)
{
        for (size_t i = 0; i < j->places_n; i++)
                if (!j->places[i].counted && streq(j->places[i].at->job, j->id) && world_live(j->places[i].at))
                        return true;
        return false;
}

/* --- the disk, from outside --- */
/* The same few questions, prepared once: keyed by the literal's address. */
static sqlite3_stmt *prepared(struct oracle *o, const char *sql)
{
        size_t i = 0;

        while (i < ORACLE_QUERIES && o->queries[i].sql && o->queries[i].sql != sql)
                i++;
        if (i == ORACLE_QUERIES)
                return NULL;
        if (!o->queries[i].sql &&
                sqlite3_prepare_v2(o->db, sql, -1, (sqlite3_stmt **)&o->queries[i].st, NULL) == SQLITE_OK)
                o->queries[i].sql = sql;
        return o->queries[i].sql ? o->queries[i].st : NULL;
}

int64_t oracle_disk_int(struct oracle *o, const char *sql, const char *a, const char *b)
{
        sqlite3_stmt *st = prepared(o, sql);
        int64_t v = -1;

        if (!st)
                return -1;
        if (a)
                (void)sqlite3_bind_text(st, 1, a, -1, SQLITE_STATIC);
        if (b)
                (void)sqlite3_bind_text(st, 2, b, -1, SQLITE_STATIC);
        if (sqlite3_step(st) == SQLITE_ROW)
                v = sqlite3_column_int64(st, 0);
        (void)sqlite3_reset(st);
        return v;
}

/* --- what the API says --- */
static bool is_placed(const char *state)
{
        return streq(state, "starting") || streq(state, "running") || streq(state, "saving") ||
               streq(state, "restoring") || streq(state, "ending");
}

static void check_ended(struct oracle *o, struct oracle_job *j, const char *before)
{
        if (is_placed(before) || !*before)
                return;
        if (streq(j->cause, "ttl")) {
                oracle_held(o, 15);
                if (j->ttl_wall_us && oracle_wall_most(o) < j->ttl_wall_us)
                        oracle_broken(o, 15, "P-02 it waited, and was ended before its clock limit");
        } else if (streq(j->cause, "expired")) {
                oracle_held(o, 15);
                if (j->expire_wall_us && oracle_wall_most(o) < j->expire_wall_us)
                        oracle_broken(o, 15, "P-03 its checkpoint expired before its time");
        }
}

static void new_term(struct oracle_job *j, const char *before)
{
        if (streq(before, "ended") && !streq(j->state, "ended"))
                j->ran_us = j->lost_us = 0;
}

static void seen(struct oracle *o, const json_t *job)
{
        struct oracle_job *j = oracle_job(o, js_str(job, "id", ""));
        int64_t generation = js_int(job, "generation", 0);
        char before[16];

        if (!j)
                return;
        memcpy(before, j->state, sizeof before);
        (void)str_format(j->state, sizeof j->state, "%s", js_str(job, "state", ""));
        (void)str_format(j->cause, sizeof j->cause, "%s", js_str(job, "cause", ""));
        if (!streq(before, j->state))
                oracle_log(o, "   %s is %s %s", j->id + 22, j->state, j->cause);
        oracle_held(o, 18);
        if (generation < j->generation)
                oracle_broken(o, 18, "its generation went from %lld to %lld", (long long)j->generation,
                        (long long)generation);
        j->generation = generation;
        j->known = j->dirty = true;
        if (*j->newest && streq(js_str(json_object_get(job, "checkpoint"), "id", ""), j->newest))
                j->newest_told = true;
        if (j->ttl_us == INT64_MIN)
                j->ttl_us = js_int(job, "ttl_us", -1);
        if (streq(j->state, "ended") && !streq(before, "ended"))
                check_ended(o, j, before);
        new_term(j, before);
        j->ended_wall_us = js_int(job, "ended_wall_us", 0);
        if (!is_placed(j->state)) {
                j->ttl_wall_us = js_int(job, "ttl_wall_us", 0);
                j->expire_wall_us = js_int(job, "expire_wall_us", 0);
        }
        if ((streq(j->state, "suspended") || streq(j->state, "ended")) && !streq(before, j->state))
                j->rests = true;
        if (streq(j->state, "running")) {
                const json_t *trouble = json_object_get(job, "trouble");
                const json_t *first = json_array_get(json_object_get(trouble, "values"), 0);

                if (first && !*js_str(first, "path", ""))
                        oracle_broken(o, 10, "a save was refused without a name");
        }
}

static void on_change(void *arg, struct id job, uint32_t uid, const json_t *job_json)
{
        (void)job;
        (void)uid;
        if (!((struct oracle *)arg)->w->dying)
                seen(arg, job_json);
}

/* --- questions of our own: answered at once --- */
struct question {
        bool done;
        struct pd_error err;
        json_t *body;
};

static void on_answer(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        struct question *q = arg;

        (void)blob;
        (void)n;
        q->done = true;
        if (err)
                q->err = *err;
        q->body = body;
}

static json_t *ask(struct oracle *o, const char *verb, const char *target, json_t *args, struct pd_error *ret)
{
        struct question q = { .err = { .code = PD_OK } };
        js_owned *given = args ? args : json_object();
        const struct engine_request rq = {
                .verb = verb, .actor = { .uid = 1000, .user = "ada", .admin = true }, .target = target, .args = given
        };

        (void)engine_request(o->w->engine, &rq, on_answer, &q);
        *ret = q.err;
        return q.body;
}

/* Law 20: the history, replayed, is the present state; each step is one that there can be, and says why. */
static bool may_go(const char *from, const char *to)
{
        static const char *const table[] = { ">queued", "queued>starting", "queued>restoring", "queued>ended",
                "starting>running", "starting>queued", "starting>ending", "starting>ended", "restoring>running",
                "restoring>queued", "restoring>suspended", "restoring>ending", "restoring>ended", "running>saving",
                "running>restoring", "running>suspended", "running>queued", "running>ending", "running>ended",
                "saving>running", "saving>saving", "saving>suspended", "saving>queued", "saving>restoring",
                "restoring>restoring", "saving>ending", "saving>ended", "suspended>queued", "suspended>ended",
                "ending>ending", "ending>ended", "ended>queued" };
        char edge[40];

        (void)str_format(edge, sizeof edge, "%s>%s", from, to);
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
                if (streq(table[i], edge))
                        return true;
        return false;
}

static void replay(struct oracle *o, struct oracle_job *j, const json_t *job)
{
        const char *at = "", *cause = "", *result = "";
        size_t i;
        json_t *row;

        json_array_foreach (json_object_get(job, "history"), i, row) {
                const char *to = js_str(row, "to", "");

                if (i > 0 && !streq(js_str(row, "from", ""), at))
                        oracle_broken(o, 20, "history goes on from %s, and it was %s", js_str(row, "from", ""), at);
                if (!may_go(i ? at : "", to))
                        oracle_broken(o, 20, "history goes from %s to %s", at, to);
                at = to;
                cause = js_str(row, "cause", "");
                result = js_str(row, "result", "");
                if ((streq(at, "saving") || streq(at, "suspended") || streq(at, "ending") || streq(at, "ended")) &&
                        !*cause)
                        oracle_broken(o, 20, "it went to %s without a cause", at);
                if (!*js_str(row, "message", ""))
                        oracle_broken(o, 20, "it went to %s without a word", at);
        }
        oracle_held(o, 20);
        if (!streq(at, js_str(job, "state", "")) || !streq(result, js_str(job, "result", "")) ||
                !streq(cause, js_str(job, "cause", "")))
                oracle_broken(o, 20, "history ends at %s %s, and it is %s %s", at, cause, js_str(job, "state", ""),
                        js_str(job, "cause", ""));
        j->dirty = false;
}

/* Law 3: whom a user was told of is there, until 60 days after the end. */
static void look(struct oracle *o)
{
        for (size_t i = 0; i < o->jobs_n && !o->law; i++) {
                struct oracle_job *j = &o->jobs[i];
                struct pd_error err;
                js_owned *job = NULL;
                bool old =
                        j->ended_wall_us && oracle_wall_most(o) > j->ended_wall_us + 60 * USEC_PER_DAY - USEC_PER_DAY;

                if (!j->acked && !j->dirty)
                        continue;
                if (old && streq(j->state, "ended"))
                        continue;
                if (j->acked)
                        oracle_held(o, 3);
                if (j->acked && !j->dirty && streq(j->state, "ended") && i % 4 != (size_t)(o->w->boot_us / LOOK_US) % 4)
                        continue; /* those at rest take turns */
                job = ask(o, "show", j->id, NULL, &err);
                if (!job && j->acked)
                        oracle_broken(o, 3, "it was taken, and is lost: %s", err.text);
                if (job)
                        replay(o, j, job);
        }
}

static void bounds(struct oracle *o)
{
        int64_t open = oracle_disk_int(o, "SELECT count(*) FROM intent WHERE closed_wall_us=0", NULL, NULL);

        oracle_held(o, 21);
        if (open > 3 * (int64_t)o->jobs_n + 10)
                oracle_broken(o, 21, "%lld intents are open for %zu jobs", (long long)open, o->jobs_n);
}

/* Law 15: what is overdue is ended, in the time that a check and a save take. */
static void clocks(struct oracle *o, int64_t passed_us)
{
        for (size_t i = 0; i < o->jobs_n; i++) {
                struct oracle_job *j = &o->jobs[i];
                int64_t wall = o->w->wall_us, ran = oracle_ran_us(o, j);
                bool waits = streq(j->state, "suspended");
                bool over =
                        (j->ttl_wall_us && wall >= j->ttl_wall_us) || (j->expire_wall_us && wall >= j->expire_wall_us);

                j->overdue_us = waits && over ? j->overdue_us + passed_us : 0;
                if (waits && (j->ttl_wall_us || j->expire_wall_us))
                        oracle_held(o, 15);
                if (j->overdue_us > REVIEW_US)
                        oracle_broken(o, 15, "P-02 P-03 it waits, and its time was over an hour ago");
                if (oracle_lives(j) && j->ttl_us >= 0 &&
                        ran - j->lost_us > j->ttl_us + CHECK_US + SAVE_MAX_US + SLACK_US)
                        oracle_broken(o, 15, "P-01 its time limit is %lld s and it runs since %lld",
                                (long long)(j->ttl_us / USEC_PER_SEC), (long long)(ran / USEC_PER_SEC));
        }
}

void oracle_refresh(struct oracle *o)
{
        struct pd_error err;
        js_owned *all = ask(o, "list", NULL, json_pack("{s:b,s:i}", "all", 1, "limit", 1000), &err);
        size_t i;
        json_t *job;

        json_array_foreach (json_object_get(all, "jobs"), i, job)
                seen(o, job);
}

/* --- its own life --- */
void oracle_init(struct oracle *o, struct world *w)
{
        *o = (struct oracle){ .w = w, .digest = UINT64_C(14695981039346656037) };
}

void oracle_up(struct oracle *o)
{
        char path[96];

        o->watch = engine_watch_new(o->w->engine, on_change, o);
        (void)str_format(path, sizeof path, "%s/portald.db", o->w->dir);
        if (!o->db && sqlite3_open_v2(path, (sqlite3 **)&o->db, SQLITE_OPEN_READONLY, o->w->vfs) != SQLITE_OK)
                oracle_broken(o, 4, "the store cannot be read from outside");
        oracle_refresh(o);
}

void oracle_down(struct oracle *o)
{
        o->watch = NULL; /* the engine takes it along */
        for (size_t i = 0; i < ORACLE_QUERIES; i++) {
                (void)sqlite3_finalize(o->queries[i].st);
                o->queries[i].sql = NULL;
                o->queries[i].st = NULL;
        }
        (void)sqlite3_close(o->db);
        o->db = NULL;
}

void oracle_close(struct oracle *o)
{
        oracle_down(o);
}

void oracle_after(struct oracle *o)
{
        struct world *w = o->w;
        int64_t passed = w->boot_us - o->last_look_us;

        (void)oracle_wall_most(o);
        if (w->fatal.code)
                oracle_broken(o, 20, "the daemon gave up: %s", w->fatal.text);
        if (o->money_due)
                oracle_money(o);
        if (passed < 5 * USEC_PER_MIN)
                return;
        if (w->engine && !w->dying) {
                clocks(o, passed);
                if (w->boot_us / LOOK_US != o->last_look_us / LOOK_US) {
                        look(o);
                        bounds(o);
                        oracle_decisions(o);
                }
        } else {
                for (size_t i = 0; i < o->jobs_n; i++)
                        o->jobs[i].overdue_us = 0;
        }
        o->last_look_us = w->boot_us;
}

/* Law 23: after a week without faults and users, everything has come to rest. */
void oracle_settled(struct oracle *o)
{
        int64_t open;

        oracle_refresh(o);
        look(o);
        for (size_t i = 0; i < o->jobs_n; i++) {
                struct oracle_job *j = &o->jobs[i];

                if (!j->known)
                        continue;
                oracle_held(o, 23);
                if (!streq(j->state, "ended") && !streq(j->state, "suspended"))
                        oracle_broken(o, 23, "%s is still %s %s after a quiet week: %s; %s", j->id, j->state, j->cause,
                                world_job(o->w, j->id, "message"), world_job(o->w, j->id, "waiting"));
                if (oracle_lives(j))
                        oracle_broken(o, 23, "%s is %s, and a placement of it still lives", j->id, j->state);
        }
        open = oracle_disk_int(o, "SELECT count(*) FROM intent WHERE closed_wall_us=0 AND kind<>'lease'", NULL, NULL);
        if (open)
                oracle_broken(o, 23, "%lld intents are still open after a quiet week", (long long)open);
        oracle_clouds_settled(o);
        oracle_secret(o);
}
