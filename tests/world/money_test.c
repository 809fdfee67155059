/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets and caps on the own machine of the world (0.10 USD/h): what is counted, who is suspended, who is refused, and what is on disk. */
#include "world/scene.h"

#define CENT INT64_C(10000000) /* nano of a US cent */

static const char whole[] = "{}";

/* JOB.cost, borrowed until the next call. */
static json_t *cost(struct world *w, const char *id)
{
        static json_t *body;
        struct reply r;

        world_ask(w, "show", id, NULL, NULL, &r);
        json_decref(body);
        body = json_incref(r.body);
        reply_clear(&r);
        return json_object_get(body, "cost");
}

static int64_t spent(struct world *w, const char *id)
{
        return js_int(cost(w, id), "spent_nano", -1);
}

static void cap(struct world *w, const char *amount, bool month)
{
        struct engine_connection *c = &w->site_connections.at[0];
        struct pd_error err;

        c->cap = (struct engine_cap){ .month = month, .timezone = "UTC" };
        if (amount && money_parse(amount, &c->cap.amount, &err) < 0)
                tap_note("%s", err.text);
        tap_ok(world_reload(w, &err) == 0, "the site is read again: the cap is %s", amount ? amount : "gone");
}

static void run_measured(struct world *w, int64_t us)
{
        for (int64_t at = 0; at < us; at += 10 * USEC_PER_SEC) {
                world_run(w, 10 * USEC_PER_SEC);
                scene_measures(w);
        }
}

/* What its running time costs at its rate, against what is counted: within a second, which the runner's word may be late. */
static bool adds_up(struct world *w, const char *id, int64_t rate)
{
        int64_t counted = spent(w, id), want = money_cost(rate, world_job_int(w, id, "ran_us"));

        if (counted - want <= rate / 3600 && want - counted <= rate / 3600)
                return true;
        tap_note("%lld counted, %lld by its running time", (long long)counted, (long long)want);
        return false;
}

static void counted(void)
{
        struct world w;
        char id[40];
        int64_t rate;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, whole, id);
        world_run(&w, MIN);
        run_measured(&w, 2 * HOUR);
        rate = js_int(json_array_get(json_object_get(cost(&w, id), "segments"), 0), "nano_hour", 0);
        tap_int(rate, 10 * CENT / 8, "a stay costs its largest share of the machine's price: an eighth of its memory");
        tap_ok(spent(&w, id) > 2 * rate && adds_up(&w, id, rate), "two hours of it are counted");
        tap_int((long long)json_array_size(json_object_get(cost(&w, id), "segments")), 1,
                "one price is one segment, however often it was posted");
        tap_ok(js_int(cost(&w, id), "open_nano", 0) > 0, "N-04 and what it may still cost is reserved");
        world_restart(&w);
        world_run(&w, MIN);
        tap_ok(adds_up(&w, id, rate), "a restart loses nothing of it");
        world_step_clock(&w, 5 * HOUR);
        world_run(&w, MIN);
        tap_ok(adds_up(&w, id, rate), "a step of the clock is no time that it ran");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, MIN);
        tap_ok(adds_up(&w, id, rate), "law 7 the bill is that of its running time");
        tap_int(js_int(cost(&w, id), "open_nano", -1), 0, "law 7 and every reservation is closed");
        scene_end(&w);
}

static void resume_with(struct world *w, const char *id, const char *budget, enum pd_code code, const char *name)
{
        struct reply r;

        world_ask(w, "resume", id, budget ? json_pack("{s:s}", "budget", budget) : NULL, NULL, &r);
        tap_int((long long)r.err.code, code, name);
        if (r.err.code == PD_E_FULL)
                tap_note("%s", r.err.text);
        reply_clear(&r);
}

static void budget(void)
{
        struct world w;
        char id[40];
        int64_t rate, at;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"budget\":\"0.02usd\"}", id);
        world_run(&w, MIN);
        rate = js_int(json_array_get(json_object_get(cost(&w, id), "segments"), 0), "nano_hour", 0);
        for (at = 0; at < 20 * HOUR && streq(world_job(&w, id, "state"), "running"); at += MIN)
                run_measured(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-07 a job is suspended before its budget is spent");
        tap_str(world_job(&w, id, "cause"), "budget", "P-07 and says so");
        tap_ok(spent(&w, id) <= 2 * CENT && spent(&w, id) > 2 * CENT - rate / 3,
                "P-07 a little before: %lld of %lld nano", (long long)spent(&w, id), (long long)(2 * CENT));
        resume_with(&w, id, NULL, PD_E_FULL, "P-07 a resume needs a larger budget");
        resume_with(&w, id, "0.02usd", PD_E_FULL, "P-07 the same is not larger");
        resume_with(&w, id, "0.04usd", PD_OK, "P-07 a larger one is taken");
        world_run(&w, MIN);
        run_measured(&w, 30 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-07 and it runs on");
        tap_int(js_int(cost(&w, id), "budget_nano", 0), 4 * CENT, "P-07 under the new one");
        scene_end(&w);
}

static void capped(void)
{
        struct world w;
        char id[40];
        int64_t at;

        if (!scene_begin(&w, "{}"))
                return;
        cap(&w, "0.03usd", false);
        world_submit(&w, whole, id);
        world_run(&w, MIN);
        for (at = 0; at < 40 * HOUR && streq(world_job(&w, id, "state"), "running"); at += MIN)
                run_measured(&w, MIN);
        tap_str(world_job(&w, id, "cause"), "cap", "P-15 the cap acts in budget's place");
        tap_str(world_job(&w, id, "state"), "suspended", "N-04 a job is suspended when the cap would be reached");
        tap_ok(spent(&w, id) <= 3 * CENT && spent(&w, id) > CENT, "law 6 %lld nano of the cap of %lld are spent",
                (long long)spent(&w, id), (long long)(3 * CENT));
        resume_with(&w, id, NULL, PD_E_FULL, "N-04 a resume that the cap refuses is refused with its figures");
        cap(&w, "0.50usd", false);
        resume_with(&w, id, NULL, PD_OK, "N-04 with a higher cap it is taken");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "N-04 and runs");
        scene_end(&w);
}

static void too_small(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        cap(&w, "0.0001usd", false);
        world_submit(&w, whole, id);
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "queued", "N-04 a machine whose worst case would pass the cap is refused");
        tap_has(world_job(&w, id, "message"), "lab", "N-04 and the job says by which cap");
        cap(&w, NULL, false);
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "N-04 without the cap it is placed");
        scene_end(&w);
}

static void lowered(void)
{
        struct world w;
        char old[40], new[40];

        if (!scene_begin(&w, "{}"))
                return;
        cap(&w, "1usd", false);
        world_submit(&w, whole, old);
        world_run(&w, MIN);
        world_submit(&w, whole, new);
        world_run(&w, MIN);
        run_measured(&w, HOUR);
        tap_str(world_job(&w, new, "state"), "running", "two jobs run");
        cap(&w, "0.0001usd", false);
        run_measured(&w, 3 * MIN);
        tap_str(world_job(&w, old, "cause"), "cap", "N-04 a cap lowered below use suspends");
        tap_str(world_job(&w, new, "cause"), "cap", "N-04 all that must go");
        scene_end(&w);
}

static void lowered_newest_first(void)
{
        struct world w;
        char old[40], new[40];
        int64_t use;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, whole, old);
        run_measured(&w, 2 * MIN);
        world_submit(&w, whole, new);
        run_measured(&w, 2 * MIN);
        cap(&w, "1usd", false);
        use = spent(&w, old) + spent(&w, new) + js_int(cost(&w, old), "open_nano", 0) +
              js_int(cost(&w, new), "open_nano", 0);
        {
                char amount[40];

                (void)snprintf(amount, sizeof amount, "0.%09lldusd", (long long)(use * 3 / 4));
                cap(&w, amount, false);
        }
        run_measured(&w, 2 * MIN);
        tap_str(world_job(&w, new, "cause"), "cap", "N-04 the newest goes first");
        tap_str(world_job(&w, old, "state"), "running", "N-04 and who fits then stays");
        scene_end(&w);
}

static void months(void)
{
        /* 2026-11-29T00:00:00Z */
        const struct world_options o = { .wall_us = INT64_C(1795910400) * USEC_PER_SEC };
        struct world w;
        char id[40];
        int64_t at;

        if (!tap_ok(world_new_with(&w, &o) == 0, "a world begins two days before a month's end"))
                return;
        cap(&w, "0.03usd", true);
        world_submit(&w, whole, id);
        world_run(&w, MIN);
        for (at = 0; at < 40 * HOUR && streq(world_job(&w, id, "state"), "running"); at += MIN)
                run_measured(&w, MIN);
        tap_str(world_job(&w, id, "cause"), "cap", "N-04 the month's cap is used up");
        resume_with(&w, id, NULL, PD_E_FULL, "N-04 and refuses a resume");
        world_run(&w, 2 * DAY);
        resume_with(&w, id, NULL, PD_OK, "N-04 in the next month it may be resumed");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "N-04 the new month counts from nothing");
        for (at = 0; at < 40 * HOUR && streq(world_job(&w, id, "state"), "running"); at += MIN)
                run_measured(&w, MIN);
        tap_str(world_job(&w, id, "cause"), "cap", "N-04 and has a cap as well");
        scene_end(&w);
}

static int64_t of_cap(struct world *w, const char *id, const char *member)
{
        return js_int(json_object_get(cost(w, id), "cap"), member, -1);
}

/* A stay that goes on over the end of a month, under a cap that was set in the new one: what was spent in the old one is not the new one's. */
static void over_the_end(bool capped_before)
{
        /* 2026-11-29T00:00:00Z */
        const struct world_options o = { .wall_us = INT64_C(1795910400) * USEC_PER_SEC };
        struct world w;
        char id[40];
        int64_t rate;

        if (!tap_ok(world_new_with(&w, &o) == 0, "a world begins two days before a month's end"))
                return;
        cap(&w, capped_before ? "5usd" : NULL, true);
        world_submit(&w, "{\"ttl\":\"off\",\"idle\":\"off\"}", id);
        world_run(&w, MIN);
        rate = js_int(json_array_get(json_object_get(cost(&w, id), "segments"), 0), "nano_hour", 0);
        run_measured(&w, 47 * HOUR + 50 * MIN);
        if (!capped_before)
                cap(&w, "5usd", true);
        tap_ok(of_cap(&w, id, "spent_nano") > 46 * rate && of_cap(&w, id, "spent_nano") < 49 * rate,
                "N-04 all of it is this month's: %lld nano", (long long)of_cap(&w, id, "spent_nano"));
        run_measured(&w, 3 * HOUR);
        tap_ok(of_cap(&w, id, "spent_nano") > 2 * rate && of_cap(&w, id, "spent_nano") < 4 * rate,
                "N-04 three hours later only the new month is: %lld nano", (long long)of_cap(&w, id, "spent_nano"));
        world_die(&w);
        tap_int(world_restart(&w), 0, "it starts again");
        world_run(&w, MIN);
        tap_ok(adds_up(&w, id, rate), "law 7 and the whole of it is what it ran");
        tap_ok(of_cap(&w, id, "spent_nano") > 2 * rate && of_cap(&w, id, "spent_nano") < 4 * rate,
                "N-04 and this month's is as it was");
        if (!capped_before) {
                cap(&w, NULL, true);
                run_measured(&w, HOUR);
                cap(&w, "5usd", true);
                tap_ok(of_cap(&w, id, "spent_nano") > 3 * rate && of_cap(&w, id, "spent_nano") < 5 * rate,
                        "N-04 a cap that is set again counts from its month's beginning: %lld nano",
                        (long long)of_cap(&w, id, "spent_nano"));
        }
        scene_end(&w);
}

/* What `cost` answers, grouped in one way: the sum of its rows in nano, -1 = they are not its total. */
static int64_t summed(struct world *w, const char *by, const char *job, int64_t from, int64_t to, size_t *ret_rows)
{
        json_t *args = json_pack("{s:s,s:s,s:I,s:I}", "by", by, "job", job, "from_wall_us", (json_int_t)from,
                "to_wall_us", (json_int_t)to);
        const json_t *rows;
        struct reply r;
        int64_t sum = 0, total;
        size_t i;
        json_t *row;

        world_ask(w, "cost", NULL, args, NULL, &r);
        rows = json_object_get(r.body, "rows");
        json_array_foreach (rows, i, row)
                sum += js_int(row, "nano", 0);
        total = js_int(json_array_get(json_object_get(r.body, "totals"), 0), "nano", sum ? -1 : 0);
        *ret_rows = json_array_size(rows);
        reply_clear(&r);
        return total == sum ? sum : -1;
}

static void summed_up(void)
{
        struct world w;
        char a[40], b[40];
        struct reply r;
        int64_t from, middle, both, now;
        size_t n;

        if (!scene_begin(&w, "{}"))
                return;
        from = w.wall_us;
        world_submit(&w, whole, a);
        world_submit(&w, whole, b);
        world_run(&w, MIN);
        run_measured(&w, 3 * HOUR);
        middle = from + 90 * MIN;
        both = summed(&w, "job", "", from, INT64_MAX, &n);
        tap_ok(n == 2 && both > 0, "cost by job: a row each, and they sum up to the total");
        tap_int(summed(&w, "job", a, from, INT64_MAX, &n) + summed(&w, "job", b, from, INT64_MAX, &n), both,
                "asked for one by one they are the same");
        tap_ok(summed(&w, "connection", "", from, INT64_MAX, &n) == both && n == 1, "by connection: one row");
        tap_ok(summed(&w, "hour", "", from, INT64_MAX, &n) == both && n >= 3, "by hour: to the nano the same sum");
        tap_int(summed(&w, "job", a, from, middle, &n) + summed(&w, "job", a, middle, INT64_MAX, &n),
                summed(&w, "job", a, from, INT64_MAX, &n), "a span cut in two sums up to the whole");
        run_measured(&w, 4 * MIN);
        now = summed(&w, "job", b, from, INT64_MAX, &n);
        tap_ok(spent(&w, b) >= now && spent(&w, b) - now < both / 2 / 3 / 60 / 2,
                "law 7 what is not posted yet is in it: within half a minute what show says of a running job");
        sim_exit(&w, world_sim(&w, a), 0, 0, "");
        world_run(&w, MIN);
        tap_int(summed(&w, "job", a, from, INT64_MAX, &n), spent(&w, a), "law 7 an ended job's cost is what show says");
        world_ask(&w, "cost", NULL, json_pack("{s:s}", "by", "week"), NULL, &r);
        tap_str(r.err.text, "by=week is not known: job, connection, project or hour",
                "what it can be grouped by is said");
        reply_clear(&r);
        world_free(&w);
}

int main(void)
{
        counted();
        summed_up();
        budget();
        capped();
        too_small();
        lowered();
        lowered_newest_first();
        months();
        over_the_end(true);
        over_the_end(false);
        return tap_done();
}
