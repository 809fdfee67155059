/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read.h"
#include "store/schema.h"

#define DOC                                                                                                         \
        "job.name,job.user,job.project,job_spec.spec,job_spec.settings,job.offer,job.message,job.image_digest,job." \
        "trouble"
#define SCAN "SELECT " JOB_SELECT "," DOC " FROM job LEFT JOIN job_spec ON job_spec.job=job.id WHERE job.id<?1 "
#define SCAN_END " ORDER BY job.id DESC LIMIT ?2"

#define BILL                                                                                                        \
        "SELECT l.what,l.seq,l.kind,l.from_wall_us,l.until_wall_us,l.price_nano_hour,l.us,l.nano,b.kind,b.machine," \
        "b.job,b.uid,b.connection,b.project,b.offer,b.currency,b.from_wall_us FROM "
#define BILL_END                                                                                          \
        " AND l.until_wall_us>=?2 AND l.from_wall_us<?3 AND (?4 IS NULL OR b.uid=?4) AND (?5 IS NULL OR " \
        "b.connection=?5) AND (?6 IS NULL OR b.project=?6) ORDER BY b.from_wall_us,l.what,l.seq"

static const char *const sql[READ_N] = {
        [READ_LIVE_JOBS] = "SELECT " JOB_SELECT " FROM job WHERE live=1",
        [READ_KEPT_JOBS] =
                "SELECT " JOB_SELECT " FROM job WHERE id IN (SELECT job FROM checkpoint WHERE dropped=0) AND live=0",
        [READ_OLD_JOBS] =
                "SELECT " JOB_SELECT " FROM job WHERE live=0 AND id<?1 AND ended_wall_us<?2 ORDER BY id LIMIT ?3",
        [READ_MACHINES] = "SELECT " MACHINE_SELECT " FROM machine WHERE state<>5",
        [READ_INTENTS] = "SELECT id,kind,generation,job,machine,opened_wall_us,body FROM intent WHERE closed_wall_us=0 "
                         "ORDER BY id",
        [READ_JOB] = "SELECT " JOB_SELECT " FROM job WHERE id=?",
        [READ_DOC] = "SELECT " DOC " FROM job LEFT JOIN job_spec ON job_spec.job=job.id WHERE job.id=?",
        [READ_SCAN] = SCAN SCAN_END,
        [READ_SCAN_OWNER] = SCAN "AND uid=?3" SCAN_END,
        [READ_SCAN_LIVE] = SCAN "AND live=1 AND (?3 IS NULL OR uid=?3) AND (?4 IS NULL OR name=?4)" SCAN_END,
        [READ_SCAN_NAME] = SCAN "AND name=?4 AND (?3 IS NULL OR uid=?3)" SCAN_END,
        [READ_FIND_NAME] = "SELECT id FROM job WHERE name=?1 AND name<>'' AND (?2 IS NULL OR uid=?2) ORDER BY live "
                           "DESC,id DESC LIMIT 1",
        [READ_FIND_RANGE] = "SELECT id,name,state FROM job WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR uid=?3) ORDER "
                            "BY id LIMIT 6",
        [READ_HISTORY] = "SELECT at_wall_us,event,from_state,to_state,result,cause,generation,machine,message FROM "
                         "history WHERE job=? ORDER BY seq",
        [READ_DECISIONS] = "SELECT id,at_wall_us,policy,act,why,evidence,user FROM decision WHERE job=?1 AND "
                           "at_wall_us<=?2 ORDER BY seq",
        [READ_INTERVALS] = "SELECT policy,why,first_wall_us,last_wall_us,count,best_margin FROM interval WHERE job=?1 "
                           "AND first_wall_us<=?2 "
                           "ORDER BY first_wall_us,policy",
        [READ_CHECKPOINTS] = "SELECT " CHECKPOINT_SELECT " FROM checkpoint WHERE job=? ORDER BY id",
        [READ_CHECKPOINT] = "SELECT " CHECKPOINT_SELECT " FROM checkpoint WHERE id=?",
        [READ_KEY] = "SELECT job,body_digest FROM idempotency WHERE uid=? AND key=?",
        [READ_SETTINGS] = "SELECT key,value FROM setting WHERE project=?",
        [READ_PRICES] = "SELECT at_wall_us,offer,nano_hour,currency,to_be_had FROM price WHERE at_wall_us>? "
                        "ORDER BY at_wall_us,offer",
        [READ_META] = "SELECT value FROM meta WHERE key=?",
        [READ_ACCOUNTS] = "SELECT " ACCOUNT_SELECT " FROM ledger_account",
        [READ_HOLDS] = "SELECT " HOLD_SELECT " FROM ledger_hold",
        [READ_BILL] = BILL "ledger_line l JOIN bill b ON b.what=l.what WHERE ?1 IS NULL" BILL_END,
        [READ_BILL_OF] = "SELECT " BILL_SELECT " FROM bill WHERE what=?",
        [READ_BILL_JOB] = BILL "bill b JOIN ledger_line l ON l.what=b.what WHERE b.job=?1" BILL_END,
};

void read_forget(struct store *s)
{
        if (s->reader && !sqlite3_get_autocommit(s->reader))
                (void)sqlite3_exec(s->reader, "COMMIT", NULL, NULL, NULL);
}

static int hold_state(struct store *s, struct pd_error *err)
{
        if (!sqlite3_get_autocommit(s->reader) || !s->turn_end)
                return 0;
        if (sd_event_source_set_enabled(s->turn_end, SD_EVENT_ONESHOT) < 0)
                return 0; /* each read then sees what is newest */
        return store_exec(s->reader, "BEGIN", "beginning to read", err);
}

int read_begin(struct store *s, enum read_stmt which, sqlite3_stmt **ret, struct pd_error *err)
{
        sqlite3_stmt *st = s->reads[which];
        int r = hold_state(s, err);

        if (r < 0)
                return r;
        if (st && !sqlite3_stmt_busy(st)) {
                *ret = st;
                return 0;
        }
        if (sqlite3_prepare_v3(s->reader, sql[which], -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
                return store_sqlite_fail(s->reader, "preparing to read", err);
        if (!st)
                s->reads[which] = *ret;
        return 0;
}

void read_end(struct store *s, enum read_stmt which, sqlite3_stmt *st)
{
        if (!st || st != s->reads[which]) {
                sqlite3_finalize(st);
                return;
        }
        (void)sqlite3_reset(st);
        (void)sqlite3_clear_bindings(st);
}

int read_step(struct store *s, sqlite3_stmt *st, struct pd_error *err)
{
        int r = sqlite3_step(st);

        if (r == SQLITE_ROW)
                return 1;
        return r == SQLITE_DONE ? 0 : store_sqlite_fail(s->reader, "reading", err);
}

void read_bind_id(sqlite3_stmt *st, int at, struct id id)
{
        (void)sqlite3_bind_blob(st, at, id.b, sizeof id.b, SQLITE_TRANSIENT);
}

/* --- at start --- */

static int load_jobs(struct store *s, enum read_stmt which, int (*each)(void *arg, const struct job *j), void *arg,
        struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        struct job j;
        int r = read_begin(s, which, &st, err);

        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = column_job(st, &j, NULL, err)) >= 0)
                        r = each(arg, &j);
        read_end(s, which, st);
        return r;
}

static int load_machines(
        struct store *s, int (*each)(void *arg, const struct machine *m), void *arg, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        struct machine m;
        int r = read_begin(s, READ_MACHINES, &st, err);

        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = column_machine(st, &m, err)) >= 0)
                        r = each(arg, &m);
        read_end(s, READ_MACHINES, st);
        return r;
}

static int intent_row(sqlite3_stmt *st, struct intent *ret, struct pd_error *err)
{
        const char *kind = column_text(st, 1);
        struct intent i = { .kind = INTENT_N,
                .generation = (uint32_t)sqlite3_column_int64(st, 2),
                .opened_wall_us = sqlite3_column_int64(st, 5),
                .body = column_text(st, 6) };
        int r;

        for (int k = 0; k < INTENT_N; k++)
                if (streq(kind, intent_kind_name((enum intent_kind)k)))
                        i.kind = (uint8_t)k;
        if (i.kind == INTENT_N)
                return pd_fail(err, PD_E_CORRUPT, "the store holds an intent of the unknown kind \"%.40s\"", kind);
        if ((r = column_id(st, 0, &i.id, err)) < 0 || (r = column_id(st, 3, &i.job, err)) < 0 ||
                (r = column_id(st, 4, &i.machine, err)) < 0)
                return r;
        *ret = i;
        return 0;
}

static int load_intents(
        struct store *s, int (*each)(void *arg, const struct intent *i), void *arg, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        struct intent i;
        int r = read_begin(s, READ_INTENTS, &st, err);

        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = intent_row(st, &i, err)) >= 0)
                        r = each(arg, &i);
        read_end(s, READ_INTENTS, st);
        return r;
}

int store_load(struct store *s, int (*job)(void *arg, const struct job *j),
        int (*machine)(void *arg, const struct machine *m), int (*intent)(void *arg, const struct intent *i), void *arg,
        struct pd_error *err)
{
        int r = 0;

        if (job && ((r = load_jobs(s, READ_LIVE_JOBS, job, arg, err)) < 0 ||
                           (r = load_jobs(s, READ_KEPT_JOBS, job, arg, err)) < 0))
                return r;
        if (machine && (r = load_machines(s, machine, arg, err)) < 0)
                return r;
        return intent ? load_intents(s, intent, arg, err) : 0;
}

/* --- one job --- */

int store_get_job(struct store *s, struct id id, struct job *ret, struct pd_error *err)
{
        char text[ID_TEXT_MAX];
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_JOB, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, id);
                r = read_step(s, st, err);
                if (r > 0)
                        r = column_job(st, ret, NULL, err);
                else if (r == 0)
                        r = pd_fail(err, PD_E_NOT_FOUND, "there is no job %s", id_format(ID_JOB, id, text));
        }
        read_end(s, READ_JOB, st);
        return r;
}

int read_json(const char *text, json_t **ret, struct pd_error *err)
{
        struct pd_error why = { 0 };

        if (text[0] == '\0') {
                *ret = json_null();
                return 0;
        }
        if (js_parse(text, strlen(text), ret, &why) < 0)
                return pd_fail(err, PD_E_CORRUPT, "the store holds text that is no JSON: %.120s", why.text);
        return 0;
}

int read_doc(sqlite3_stmt *st, int at, json_t **ret, struct pd_error *err)
{
        js_owned *spec = NULL, *settings = NULL, *trouble = NULL;
        int r;

        if ((r = read_json(column_text(st, at + 3), &spec, err)) < 0 ||
                (r = read_json(column_text(st, at + 4), &settings, err)) < 0 ||
                (r = read_json(column_text(st, at + 8), &trouble, err)) < 0)
                return r;
        *ret = json_pack("{s:s,s:s,s:s,s:O,s:O,s:s,s:s,s:s,s:O}", "name", column_text(st, at), "user",
                column_text(st, at + 1), "project", column_text(st, at + 2), "spec", spec, "settings", settings,
                "offer", column_text(st, at + 5), "message", column_text(st, at + 6), "image_digest",
                column_text(st, at + 7), "trouble", trouble);
        return *ret ? 0
                    : pd_fail(err, PD_E_CORRUPT,
                              "the store holds text that is not UTF-8: restore a backup of portald.db");
}

int store_get_doc(struct store *s, struct id id, json_t **ret, struct pd_error *err)
{
        char text[ID_TEXT_MAX];
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_DOC, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, id);
                r = read_step(s, st, err);
                if (r > 0)
                        r = read_doc(st, 0, ret, err);
                else if (r == 0)
                        r = pd_fail(err, PD_E_NOT_FOUND, "there is no job %s", id_format(ID_JOB, id, text));
        }
        read_end(s, READ_DOC, st);
        return r;
}

/* --- many jobs --- */

static enum read_stmt scan_of(const struct store_filter *f)
{
        if (!f->ended_too)
                return READ_SCAN_LIVE;
        if (f->name)
                return READ_SCAN_NAME;
        return f->only_uid ? READ_SCAN_OWNER : READ_SCAN;
}

static int scan_row(sqlite3_stmt *st, int (*each)(void *arg, const struct job *j, const json_t *doc), void *arg,
        struct pd_error *err)
{
        js_owned *doc = NULL;
        struct job j;
        int at, r;

        if ((r = column_job(st, &j, &at, err)) < 0 || (r = read_doc(st, at, &doc, err)) < 0)
                return r;
        return each(arg, &j, doc);
}

int store_scan_jobs(struct store *s, const struct store_filter *f,
        int (*each)(void *arg, const struct job *j, const json_t *doc), void *arg, struct pd_error *err)
{
        static const struct id last = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff, 0xff, 0xff } };
        enum read_stmt which = scan_of(f);
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, which, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, id_is_null(f->before) ? last : f->before);
                (void)sqlite3_bind_int64(st, 2, f->limit < 1000 ? (int64_t)f->limit : 1000);
                if (f->only_uid)
                        (void)sqlite3_bind_int64(st, 3, f->uid);
                if (f->name)
                        (void)sqlite3_bind_text(st, 4, f->name, -1, SQLITE_TRANSIENT);
        }
        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                r = scan_row(st, each, arg, err);
        read_end(s, which, st);
        return r;
}

int store_scan_old(struct store *s, int64_t ended_before_wall_us, size_t limit,
        int (*each)(void *arg, const struct job *j), void *arg, struct pd_error *err)
{
        const uint8_t none[10] = { 0 };
        sqlite3_stmt *st = NULL;
        struct job j;
        int r = read_begin(s, READ_OLD_JOBS, &st, err);

        if (r >= 0) {
                /* ids sort by creation, which comes before the end: the scan stops where no older job can be */
                read_bind_id(st, 1, id_make(ended_before_wall_us, none));
                (void)sqlite3_bind_int64(st, 2, ended_before_wall_us);
                (void)sqlite3_bind_int64(st, 3, (int64_t)limit);
        }
        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = column_job(st, &j, NULL, err)) >= 0)
                        r = each(arg, &j);
        read_end(s, READ_OLD_JOBS, st);
        return r;
}
