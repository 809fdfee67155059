/* SPDX-License-Identifier: Apache-2.0 */
/* Settings side by side: a table for people, JSON and CSV for programs. One list of columns for all three. */
#include "tryout/tryout.h"

#include <libsmartcols.h>
#include <stdio.h>

enum kind { COUNT, SPAN, MONEY };
/* name in the table, in JSON and CSV, kind, value */
#define COLUMNS(X)                                                 \
        X("COST", "cost_nano", MONEY, r->ledger_nano)              \
        X("ON DEMAND", "on_demand_nano", MONEY, r->on_demand_nano) \
        X("DONE", "done", COUNT, r->done)                          \
        X("MISSED", "missed", COUNT, r->missed)                    \
        X("MOVES", "moves", COUNT, r->moves)                       \
        X("REFUSED", "refusals", COUNT, r->refusals)               \
        X("NOTICES", "notices", COUNT, r->notices)                 \
        X("SUSPENDED", "suspensions", COUNT, r->suspensions)       \
        X("RESUMED", "resumes", COUNT, r->resumes)                 \
        X("MACHINES", "machines", COUNT, r->machines)              \
        X("WORKED", "worked_us", SPAN, r->worked_us)               \
        X("WAITED", "waited_us", SPAN, r->waited_us)               \
        X("LOST", "lost_us", SPAN, r->redone_us)                   \
        X("OFF SPOT", "on_demand_us", SPAN, r->on_demand_us)

static const struct column {
        const char *title, *key;
        enum kind kind;
} columns[] = {
#define COLUMN(title_, key_, kind_, value_) { title_, key_, kind_ },
        COLUMNS(COLUMN)
#undef COLUMN
};

static int64_t value_of(const struct try_result *r, size_t i)
{
        const int64_t values[] = {
#define VALUE(title_, key_, kind_, value_) value_,
                COLUMNS(VALUE)
#undef VALUE
        };

        return values[i];
}

/* Hundredths, for people: the exact figure is in JSON. */
static void money_text(const struct try_result *r, int64_t nano, char *buf, size_t n)
{
        int64_t cents = (nano + 5000000) / 10000000;

        (void)str_format(buf, n, "%lld.%02lld %s", (long long)(cents / 100), (long long)(cents % 100),
                *r->currency ? r->currency : "USD");
}

static void cell_text(const struct try_result *r, size_t i, char *buf, size_t n)
{
        int64_t v = value_of(r, i);

        if (columns[i].kind == MONEY)
                money_text(r, v, buf, n);
        else if (columns[i].kind == SPAN)
                (void)str_format(buf, n, "%lld.%lldh", (long long)(v / USEC_PER_HOUR),
                        (long long)(v % USEC_PER_HOUR * 10 / USEC_PER_HOUR));
        else
                (void)str_format(buf, n, "%lld", (long long)v);
}

static bool add_row(struct libscols_table *t, const struct try_result *r)
{
        struct libscols_line *line = scols_table_new_line(t, NULL);
        bool good = line && scols_line_set_data(line, 0, r->variant->name) == 0;
        char text[64];

        for (size_t i = 0; good && i < ARRAY_LEN(columns); i++) {
                cell_text(r, i, text, sizeof text);
                good = scols_line_set_data(line, i + 1, text) == 0;
        }
        return good;
}

int try_report_table(const struct try_plan *p, const struct try_result *r, size_t n)
{
        struct libscols_table *t = scols_new_table();
        bool good = t && scols_table_new_column(t, "SETTINGS", 0, 0);
        char resume[QUANTITY_MAX];

        for (size_t i = 0; good && i < ARRAY_LEN(columns); i++)
                good = scols_table_new_column(t, columns[i].title, 0, SCOLS_FL_RIGHT) != NULL;
        for (size_t i = 0; good && i < n; i++)
                good = add_row(t, &r[i]);
        good = good && scols_print_table(t) == 0;
        scols_unref_table(t);
        if (good)
                (void)printf("\n%zu job%s, each resumed %s after a suspension. COST: what portald's ledger says; ON "
                             "DEMAND: the "
                             "same work at the cheapest rate on demand;\nLOST: work that had to be done again; "
                             "MISSED: deadlines.\n",
                        p->jobs.n, p->jobs.n == 1 ? "" : "s", duration_format(p->resume_us, resume));
        return good && fflush(stdout) == 0 ? 0 : 1;
}

static json_t *life_json(const struct try_life *l, bool whole)
{
        json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:b,s:i,s:i,s:i,s:i,s:i}", "name", l->job->name, "id",
                l->id, "state", l->state, "result", l->result, "cost_nano", (json_int_t)l->cost_nano,
                "submitted_wall_us", (json_int_t)l->submitted_wall_us, "ended_wall_us", (json_int_t)l->ended_wall_us,
                "missed", l->missed, "moves", l->moves, "refusals", l->refusals, "notices", l->notices, "suspensions",
                l->suspensions, "resumes", l->resumes);

        if (whole && l->explain)
                (void)json_object_set(o, "explain", l->explain);
        return o;
}

json_t *try_result_json(const struct try_result *r, bool whole)
{
        json_t *jobs = json_array(), *o = json_pack("{s:s,s:s,s:I,s:I,s:I}", "settings", r->variant->name, "currency",
                                             r->currency, "jobs_nano", (json_int_t)r->jobs_nano, "bill_nano",
                                             (json_int_t)r->bill_nano, "span_us", (json_int_t)r->span_us);

        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                (void)json_object_set_new(o, columns[i].key, json_integer((json_int_t)value_of(r, i)));
        vec_foreach (l, &r->lives)
                (void)json_array_append_new(jobs, life_json(l, whole));
        (void)json_object_set_new(o, "jobs", jobs);
        if (whole && r->lines)
                (void)json_object_set(o, "ledger", r->lines);
        return o;
}

int try_report_json(const struct try_plan *p, const struct try_result *r, size_t n)
{
        js_owned *all = json_pack(
                "{s:I,s:I,s:[]}", "seed", (json_int_t)p->seed, "resume_delay_us", (json_int_t)p->resume_us, "runs");

        for (size_t i = 0; i < n; i++)
                (void)json_array_append_new(json_object_get(all, "runs"), try_result_json(&r[i], true));
        return json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF && fflush(stdout) == 0 ? 0 : 1;
}

/* A name that a spreadsheet would split stands in quotes. */
static void csv_text(const char *text)
{
        (void)putchar('"');
        for (; *text; text++)
                (void)printf(*text == '"' ? "\"\"" : "%c", *text);
        (void)putchar('"');
}

int try_report_csv(const struct try_result *r, size_t n)
{
        (void)printf("settings,currency");
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                (void)printf(",%s", columns[i].key);
        (void)printf("\n");
        for (size_t k = 0; k < n; k++) {
                csv_text(r[k].variant->name);
                (void)printf(",%s", r[k].currency);
                for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                        (void)printf(",%lld", (long long)value_of(&r[k], i));
                (void)printf("\n");
        }
        return fflush(stdout) == 0 ? 0 : 1;
}
