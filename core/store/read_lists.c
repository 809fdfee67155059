/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read.h"

typedef int (*row_fn)(sqlite3_stmt *st, json_t **ret, struct pd_error *err);

/* Every row of st as an item of an array that is given to the caller. */
static int read_array(
        struct store *s, enum read_stmt which, sqlite3_stmt *st, row_fn row, json_t *into, struct pd_error *err)
{
        json_t *item;
        int r;

        while ((r = read_step(s, st, err)) > 0) {
                if ((r = row(st, &item, err)) < 0)
                        break;
                if (!item || json_array_append_new(into, item) < 0) {
                        r = pd_fail(
                                err, PD_E_NOMEM, "no memory for what the store holds, or text in it that is not UTF-8");
                        break;
                }
        }
        read_end(s, which, st);
        return r;
}

/* With the two arguments that these reads have. */
static int read_of_job(struct store *s, enum read_stmt which, struct id job, const int64_t *until, row_fn row,
        json_t **ret, struct pd_error *err)
{
        js_owned *list = json_array();
        sqlite3_stmt *st = NULL;
        int r;

        if (!list)
                return pd_fail(err, PD_E_NOMEM, "no memory for a list");
        if ((r = read_begin(s, which, &st, err)) < 0)
                return r;
        read_bind_id(st, 1, job);
        if (until)
                (void)sqlite3_bind_int64(st, 2, *until);
        if ((r = read_array(s, which, st, row, list, err)) < 0)
                return r;
        *ret = pd_steal(list);
        return 0;
}

static int id_text(sqlite3_stmt *st, int column, enum id_kind kind, char *buf, struct pd_error *err)
{
        struct id id;
        int r = column_id(st, column, &id, err);

        if (r < 0)
                return r;
        buf[0] = '\0';
        if (!id_is_null(id))
                id_format(kind, id, buf);
        return 0;
}

static int history_row(sqlite3_stmt *st, json_t **ret, struct pd_error *err)
{
        char machine[ID_TEXT_MAX];
        int r = id_text(st, 7, ID_MACHINE, machine, err);

        if (r < 0)
                return r;
        *ret = json_pack("{s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:s}", "at_wall_us", (json_int_t)sqlite3_column_int64(st, 0),
                "event", column_text(st, 1), "from", column_text(st, 2), "to", column_text(st, 3), "result",
                column_text(st, 4), "cause", column_text(st, 5), "generation", (json_int_t)sqlite3_column_int64(st, 6),
                "machine", machine, "message", column_text(st, 8));
        return 0;
}

static int decision_row(sqlite3_stmt *st, json_t **ret, struct pd_error *err)
{
        js_owned *evidence = NULL;
        char id[ID_TEXT_MAX];
        int r;

        if ((r = id_text(st, 0, ID_DECISION, id, err)) < 0 || (r = read_json(column_text(st, 5), &evidence, err)) < 0)
                return r;
        *ret = json_pack("{s:s,s:I,s:s,s:s,s:s,s:O,s:s}", "id", id, "at_wall_us",
                (json_int_t)sqlite3_column_int64(st, 1), "policy", column_text(st, 2), "act", column_text(st, 3), "why",
                column_text(st, 4), "evidence", evidence, "user", column_text(st, 6));
        return 0;
}

static int interval_row(sqlite3_stmt *st, json_t **ret, struct pd_error *err)
{
        (void)err;
        *ret = json_pack("{s:s,s:s,s:I,s:I,s:I,s:s}", "policy", column_text(st, 0), "why", column_text(st, 1),
                "first_wall_us", (json_int_t)sqlite3_column_int64(st, 2), "last_wall_us",
                (json_int_t)sqlite3_column_int64(st, 3), "count", (json_int_t)sqlite3_column_int64(st, 4),
                "best_margin", column_text(st, 5));
        return 0;
}

int store_history(struct store *s, struct id job, json_t **ret, struct pd_error *err)
{
        return read_of_job(s, READ_HISTORY, job, NULL, history_row, ret, err);
}

/* One array: the decisions in their order, then the stretches of inaction. */
int store_decisions(struct store *s, struct id job, int64_t until_wall_us, json_t **ret, struct pd_error *err)
{
        js_owned *decisions = NULL, *intervals = NULL;
        int r;

        if ((r = read_of_job(s, READ_DECISIONS, job, &until_wall_us, decision_row, &decisions, err)) < 0 ||
                (r = read_of_job(s, READ_INTERVALS, job, &until_wall_us, interval_row, &intervals, err)) < 0)
                return r;
        if (json_array_extend(decisions, intervals) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for a list");
        *ret = pd_steal(decisions);
        return 0;
}

int store_checkpoints(struct store *s, struct id job, int (*each)(void *arg, const struct checkpoint *c), void *arg,
        struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        struct checkpoint c;
        int r = read_begin(s, READ_CHECKPOINTS, &st, err);

        if (r >= 0)
                read_bind_id(st, 1, job);
        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if ((r = column_checkpoint(st, &c, err)) >= 0)
                        r = each(arg, &c);
        read_end(s, READ_CHECKPOINTS, st);
        return r;
}

int store_get_checkpoint(struct store *s, struct id id, struct checkpoint *ret, struct pd_error *err)
{
        char text[ID_TEXT_MAX];
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_CHECKPOINT, &st, err);

        if (r >= 0) {
                read_bind_id(st, 1, id);
                r = read_step(s, st, err);
                if (r > 0)
                        r = column_checkpoint(st, ret, err);
                else if (r == 0)
                        r = pd_fail(
                                err, PD_E_NOT_FOUND, "there is no checkpoint %s", id_format(ID_CHECKPOINT, id, text));
        }
        read_end(s, READ_CHECKPOINT, st);
        return r;
}

int store_settings(struct store *s, const char *project, json_t **ret, struct pd_error *err)
{
        js_owned *o = json_object();
        sqlite3_stmt *st = NULL;
        int r = o ? read_begin(s, READ_SETTINGS, &st, err) : pd_fail(err, PD_E_NOMEM, "no memory for the settings");

        if (r >= 0)
                (void)sqlite3_bind_text(st, 1, str_or(project, ""), -1, SQLITE_TRANSIENT);
        while (r >= 0 && (r = read_step(s, st, err)) > 0)
                if (json_object_set_new(o, column_text(st, 0), json_string(column_text(st, 1))) < 0)
                        r = pd_fail(err, PD_E_NOMEM, "no memory for the settings, or text in them that is not UTF-8");
        if (st)
                read_end(s, READ_SETTINGS, st);
        if (r < 0)
                return r;
        *ret = pd_steal(o);
        return 0;
}

int store_get_meta(struct store *s, const char *key, char **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *value = NULL;
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_META, &st, err);

        if (r >= 0) {
                (void)sqlite3_bind_text(st, 1, key, -1, SQLITE_TRANSIENT);
                r = read_step(s, st, err);
                if (r > 0 && !(value = strdup(column_text(st, 0))))
                        r = pd_fail(err, PD_E_NOMEM, "no memory for %s", key);
        }
        read_end(s, READ_META, st);
        if (r < 0)
                return r;
        *ret = pd_steal(value);
        return 0;
}

int store_scan_prices(struct store *s, int64_t after_wall_us, int (*each)(void *arg, const struct store_price *p),
        void *arg, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        int r = read_begin(s, READ_PRICES, &st, err), end = 0;

        if (r >= 0)
                (void)sqlite3_bind_int64(st, 1, after_wall_us);
        while (r >= 0 && end == 0 && (r = read_step(s, st, err)) > 0) {
                struct store_price p = { .at_wall_us = sqlite3_column_int64(st, 0),
                        .nano_hour = sqlite3_column_int64(st, 2),
                        .to_be_had = sqlite3_column_int(st, 4) != 0 };

                (void)str_format(p.offer, sizeof p.offer, "%s", column_text(st, 1));
                (void)str_format(p.currency, sizeof p.currency, "%s", column_text(st, 3));
                end = each(arg, &p);
        }
        read_end(s, READ_PRICES, st);
        return r < 0 ? r : end < 0 ? end : 0;
}
