/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/cost: the bills, summed up by job, connection, project or hour. What falls outside of the span is cut off in proportion, to the nano. */
#include "executor/money.h"
#include "executor/request.h"

#define ROWS_MAX 10000

enum by { BY_JOB, BY_CONNECTION, BY_PROJECT, BY_HOUR, BY_N };
static const char *const by_names[BY_N] = { "job", "connection", "project", "hour" };

struct cost_row {
        char key[65], currency[4];
        int64_t hour_wall_us, nano, us;
};
struct bill {
        struct engine *engine;
        enum by by;
        int64_t from, until;
        VEC(struct cost_row) rows;
};

static int add(struct bill *b, const char *key, const char *currency, int64_t hour, int64_t us, int64_t nano)
{
        struct cost_row row = { .hour_wall_us = hour, .nano = nano, .us = us };

        for (size_t i = b->rows.n; i-- > 0;) {
                struct cost_row *at = &b->rows.at[i];

                if (at->hour_wall_us == hour && streq(at->key, key) && streq(at->currency, currency)) {
                        at->nano += nano;
                        at->us += us;
                        return 0;
                }
        }
        if (b->rows.n >= ROWS_MAX)
                return -(int)PD_E_FULL;
        (void)str_format(row.key, sizeof row.key, "%s", key);
        (void)str_format(row.currency, sizeof row.currency, "%s", currency);
        return vec_push(&b->rows, row) ? 0 : -(int)PD_E_NOMEM;
}

static int add_hours(struct bill *b, const char *currency, int64_t from, int64_t until, int64_t us, int64_t nano)
{
        size_t n = ledger_hours_n(from, until);
        pd_cleanup(freep) int64_t *spans = calloc(n + 1, sizeof *spans);
        pd_cleanup(freep) int64_t *parts = calloc(n + 1, sizeof *parts);
        int64_t hour = from - from % USEC_PER_HOUR;
        int r;

        if (!spans || !parts)
                return -(int)PD_E_NOMEM;
        r = n > ROWS_MAX ? -(int)PD_E_FULL : ledger_hours(from, until, nano, spans, parts, NULL);
        for (size_t i = 0; i < n && r >= 0; i++) {
                char key[QUANTITY_MAX];

                (void)time_format_utc(hour, key);
                key[16] = '\0'; /* "2026-12-01T13:00" */
                r = add(b, key, currency, hour, us ? spans[i] : 0, parts[i]);
                hour += USEC_PER_HOUR;
        }
        return r;
}

/* The part of a line that lies in the span. */
static int cut(const struct bill *b, int64_t *from, int64_t *until, int64_t *us, int64_t *nano)
{
        int64_t weight[3] = { *from < b->from ? b->from - *from : 0, 0, *until > b->until ? *until - b->until : 0 };
        int64_t part[3];
        int r;

        weight[1] = *until - *from - weight[0] - weight[2];
        if (weight[0] == 0 && weight[2] == 0)
                return 0;
        r = ledger_split(*nano < 0 ? -*nano : *nano, weight, 3, part, NULL);
        if (r < 0)
                return r;
        *nano = *nano < 0 ? -part[1] : part[1];
        *us = *us ? weight[1] : 0;
        *from += weight[0];
        *until -= weight[2];
        return 0;
}

static int add_line(void *arg, const struct store_bill *of, const struct ledger_line *line)
{
        struct bill *b = arg;
        int64_t from = line->from_wall_us, until = line->until_wall_us, us = line->us, nano = line->nano;
        char job[ID_TEXT_MAX] = "";
        const char *key = b->by == BY_CONNECTION ? of->connection : b->by == BY_PROJECT ? of->project : job;
        int r = cut(b, &from, &until, &us, &nano);

        if (r < 0)
                return r;
        if (!id_is_null(of->job))
                (void)id_format(ID_JOB, of->job, job);
        if (b->by == BY_HOUR)
                return add_hours(b, of->currency, from, until, us, nano);
        return add(b, key, of->currency, 0, us, nano);
}

/* What runs and is on no line yet. */
static int add_running(struct bill *b, const struct store_bill_filter *f)
{
        struct engine *e = b->engine;
        int64_t now = now_wall(e);
        int r = 0;

        vec_foreach (k, &e->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(&e->money->ledger, k->hold);
                struct ledger_line line = { .kind = LEDGER_TIME,
                        .from_wall_us = h->until_wall_us,
                        .until_wall_us = now,
                        .us = now - h->until_wall_us,
                        .nano = money_unposted(h, now) };
                struct store_bill of;
                struct pd_error err;

                if (r < 0 || now <= h->until_wall_us || h->price_nano_hour == 0 || now < b->from ||
                        h->until_wall_us >= b->until || (!id_is_null(f->job) && !id_equal(f->job, k->job)) ||
                        store_get_bill(e->env->store, h->what, &of, &err) < 0 || (f->only_uid && of.uid != f->uid))
                        continue;
                r = add_line(b, &of, &line);
        }
        return r;
}

static int in_order(const void *a, const void *b)
{
        const struct cost_row *x = a, *y = b;

        if (x->hour_wall_us != y->hour_wall_us)
                return x->hour_wall_us < y->hour_wall_us ? -1 : 1;
        return strcmp(x->key, y->key) ? strcmp(x->key, y->key) : strcmp(x->currency, y->currency);
}

static json_t *rendered(const struct bill *b)
{
        json_t *rows = json_array(), *totals = json_array();

        vec_foreach (r, &b->rows) {
                json_t *row = json_pack("{s:s,s:s,s:I,s:I}", "key", r->key, "currency", r->currency, "us",
                        (json_int_t)r->us, "nano", (json_int_t)r->nano);
                json_t *total = NULL, *t;
                size_t i;

                if (b->by == BY_HOUR)
                        (void)json_object_set_new(row, "hour_wall_us", json_integer((json_int_t)r->hour_wall_us));
                (void)json_array_append_new(rows, row);
                json_array_foreach (totals, i, t)
                        if (streq(js_str(t, "currency", ""), r->currency))
                                total = t;
                if (!total) {
                        total = json_pack("{s:s,s:I}", "currency", r->currency, "nano", (json_int_t)0);
                        (void)json_array_append_new(totals, total);
                }
                (void)json_object_set_new(
                        total, "nano", json_integer((json_int_t)(js_int(total, "nano", 0) + r->nano)));
        }
        return json_pack("{s:s,s:o,s:o}", "by", by_names[b->by], "rows", rows, "totals", totals);
}

static int asked(struct engine *e, struct engine_ticket *t, const json_t *args, struct bill *b,
        struct store_bill_filter *f, struct pd_error *err)
{
        const char *by = js_str(args, "by", "job"), *user = js_str(args, "user", ""), *job = js_str(args, "job", "");
        struct job j;
        int r = 0;

        while (b->by < BY_N && !streq(by_names[b->by], by))
                b->by++;
        if (b->by == BY_N)
                return pd_fail(err, PD_E_INVALID, "by=%.60s is not known: job, connection, project or hour", by);
        if (b->from >= b->until)
                return pd_fail(err, PD_E_INVALID, "the span ends before it begins");
        if (*user && !streq(user, "*"))
                return pd_fail(
                        err, PD_E_INVALID, "user=%.60s is not known: * is every user's, without it your own", user);
        if (*user && !t->actor.admin)
                return pd_fail(err, PD_E_PERM, "only an administrator may see every user's costs");
        *f = (struct store_bill_filter){
                .uid = t->actor.uid, .only_uid = !*user && !*job, .from_wall_us = b->from, .until_wall_us = b->until
        };
        if (*job)
                r = request_find(e, t, job, &f->job, &j, err);
        return r;
}

void request_cost(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        struct bill b = { .engine = e,
                .from = js_int(rq->args, "from_wall_us", 0),
                .until = js_int(rq->args, "to_wall_us", INT64_MAX) };
        struct store_bill_filter f;
        struct pd_error err = { 0 };
        int r = asked(e, t, rq->args, &b, &f, &err);

        if (r >= 0) {
                r = store_scan_bill(e->env->store, &f, add_line, &b, &err);
                r = r < 0 ? r : add_running(&b, &f);
                if (r == -(int)PD_E_FULL)
                        (void)pd_fail(&err, PD_E_FULL,
                                "that is more than %d rows: ask for a shorter span, with from_wall_us and to_wall_us",
                                ROWS_MAX);
                else if (r < 0 && !err.code)
                        (void)pd_fail(&err, (enum pd_code) - r, "the costs could not be summed up");
        }
        if (r < 0) {
                vec_free(&b.rows);
                ticket_fail(t, &err);
                return;
        }
        if (b.rows.n)
                qsort(b.rows.at, b.rows.n, sizeof *b.rows.at, in_order);
        ticket_reply(t, NULL, rendered(&b));
        vec_free(&b.rows);
}
