/* SPDX-License-Identifier: Apache-2.0 */
/* What a run comes to: from the store's history, the ledger's lines, the API's answers, and the cloud's own books. */
#include "simulate/cloud.h"
#include "tryout/tryout.h"

static void count_row(struct try_life *l, const json_t *row)
{
        const char *event = js_str(row, "event", ""), *to = js_str(row, "to", ""), *cause = js_str(row, "cause", "");

        l->moves += streq(event, "handed");
        l->refusals += streq(event, "refused");
        if (streq(to, "suspended")) {
                l->suspensions++;
                l->notices += streq(cause, "notice");
        }
}

void try_tell(struct world *w, struct try_life *l, const struct try_watch *watch)
{
        js_owned *rows = NULL, *decisions = NULL;
        struct pd_error err;
        struct id id;

        if (!id_parse(ID_JOB, l->id, &id) || store_history(w->store, id, &rows, &err) < 0 ||
                store_decisions(w->store, id, INT64_MAX, &decisions, &err) < 0)
                return;
        for (; l->rows < json_array_size(rows); l->rows++) {
                const json_t *row = json_array_get(rows, l->rows);

                count_row(l, row);
                if (watch && watch->row)
                        watch->row(watch->arg, l, row);
        }
        for (size_t i = 0, seen = 0; i < json_array_size(decisions); i++) {
                const json_t *d = json_array_get(decisions, i);

                if (json_object_get(d, "first_wall_us") || seen++ < l->decisions)
                        continue; /* a stretch of inaction, or told */
                l->decisions++;
                if (watch && watch->decision)
                        watch->decision(watch->arg, l, d);
        }
}

/* --- money --- */
static int add_line(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        struct try_result *r = arg;
        char machine[ID_TEXT_MAX], job[ID_TEXT_MAX];

        r->ledger_nano += line->nano;
        (void)str_format(r->currency, sizeof r->currency, "%s", b->currency);
        if (!r->lines)
                return 0;
        return json_array_append_new(r->lines,
                       json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I}", "machine",
                               id_format(ID_MACHINE, b->machine, machine), "job", id_format(ID_JOB, b->job, job),
                               "offer", b->offer, "kind", ledger_line_kind_name(line->kind), "from_wall_us",
                               (json_int_t)line->from_wall_us, "until_wall_us", (json_int_t)line->until_wall_us,
                               "price_nano_hour", (json_int_t)line->price_nano_hour, "us", (json_int_t)line->us, "nano",
                               (json_int_t)line->nano)) < 0
                       ? -(int)PD_E_NOMEM
                       : 0;
}

struct books {
        struct cloud *cloud;
        struct try_result *result;
        int64_t now_wall_us;
};

static int add_machine(void *arg, const struct cloud_machine *m)
{
        struct books *b = arg;

        if (!m->foreign) {
                b->result->bill_nano += cloud_bill(b->cloud, m, b->now_wall_us);
                b->result->machines++;
        }
        return 0;
}

/* The cheapest offer on demand that the job fits on; -1 = there is none. */
static int64_t cheapest(struct cloud *c, const struct try_job *j)
{
        int32_t gpus = (int32_t)js_int(j->spec, "gpus", 0);
        struct pd_offer o;
        int64_t best = -1;

        for (uint32_t i = 0; cloud_offer(c, i, &o); i++)
                if (o.market == PD_MARKET_ON_DEMAND && o.gpus >= gpus && (best < 0 || o.price_nano_hour < best))
                        best = o.price_nano_hour;
        return best;
}

static void sum_lives(struct try_result *r, struct cloud *c)
{
        vec_foreach (l, &r->lives) {
                int64_t rate = cheapest(c, l->job), nano = 0;
                struct pd_error err;

                r->moves += l->moves;
                r->refusals += l->refusals;
                r->notices += l->notices;
                r->suspensions += l->suspensions;
                r->resumes += l->resumes;
                r->done += streq(l->result, "succeeded");
                r->worked_us += l->most * USEC_PER_MIN;
                r->waited_us += l->waited * USEC_PER_MIN;
                r->redone_us += l->redone * USEC_PER_MIN;
                r->on_demand_us += l->on_demand * USEC_PER_MIN;
                r->jobs_nano += l->cost_nano;
                l->missed =
                        l->job->deadline_us && (!streq(l->result, "succeeded") ||
                                                       l->ended_wall_us > l->submitted_wall_us + l->job->deadline_us);
                r->missed += l->missed;
                if (rate > 0 && ledger_cost(rate, l->most * USEC_PER_MIN, &nano, &err) == 0)
                        r->on_demand_nano += nano;
        }
}

static int at_the_end(struct world *w, struct try_result *r)
{
        r->lines = json_array();
        vec_foreach (l, &r->lives) {
                struct reply reply;

                world_ask(w, "show", l->id, NULL, NULL, &reply);
                l->cost_nano = js_int(json_object_get(reply.body, "cost"), "spent_nano", 0);
                reply_clear(&reply);
                try_tell(w, l, NULL);
                world_ask(w, "explain", l->id, NULL, NULL, &reply);
                l->explain = json_incref(reply.body);
                reply_clear(&reply);
        }
        return r->lines ? 0 : -1;
}

int try_count(struct world *w, struct world_connection *cloud, struct try_result *r, bool whole, struct pd_error *err)
{
        const struct store_bill_filter all = { .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        struct books b = { world_cloud_of(cloud), r, world_cloud_wall_us(w) };

        if (whole && at_the_end(w, r) < 0)
                return pd_fail(err, PD_E_NOMEM, "the result");
        r->moves = r->refusals = r->notices = r->suspensions = r->resumes = r->done = r->missed = r->machines = 0;
        r->ledger_nano = r->jobs_nano = r->bill_nano = r->on_demand_nano = 0;
        r->worked_us = r->waited_us = r->redone_us = r->on_demand_us = 0;
        sum_lives(r, b.cloud);
        (void)cloud_each(b.cloud, add_machine, &b);
        return store_scan_bill(w->store, &all, add_line, r, err);
}
