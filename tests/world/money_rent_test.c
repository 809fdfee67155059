/* SPDX-License-Identifier: Apache-2.0 */
/* Caps over rented machines, judged by the bill that the cloud itself would send. */
#include "world/rented.h"

#define CENT INT64_C(10000000) /* nano of a US cent */

struct bill {
        struct world *w;
        int64_t nano;
};

static int add_bill(void *arg, const struct cloud_machine *m)
{
        struct bill *b = arg;

        if (!m->foreign)
                b->nano += cloud_bill(world_cloud_of(b->w->connections.at[0]), m, world_cloud_wall_us(b->w));
        return 0;
}

/* What the cloud bills for all machines that portald made. */
static int64_t billed(struct world *w)
{
        struct bill b = { .w = w };

        (void)cloud_each(world_cloud_of(w->connections.at[0]), add_bill, &b);
        return b.nano;
}

static int64_t cost(struct world *w, const char *id, const char *member)
{
        struct reply r;
        int64_t v;

        world_ask(w, "show", id, NULL, NULL, &r);
        v = js_int(json_object_get(r.body, "cost"), member, -1);
        reply_clear(&r);
        return v;
}

static void cap(struct world *w, const char *amount)
{
        struct engine_connection *c = &w->site_connections.at[0];
        struct pd_error err;

        c->cap = (struct engine_cap){ .timezone = "UTC" };
        if (amount && money_parse(amount, &c->cap.amount, &err) < 0)
                tap_note("%s", err.text);
        tap_ok(world_reload(w, &err) == 0, "the site is read again: the cap is %s", amount ? amount : "gone");
        world_run(w, MIN);
}

static void refused(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        cap(&w, "0.0001usd");
        world_submit(&w, "{}", id);
        world_run(&w, 3 * HOUR);
        tap_int(rented_truth(&w).ever, 0, "N-04 law 6 a machine that a cap forbids is never made");
        tap_str(world_job(&w, id, "state"), "queued", "N-04 the job waits");
        tap_has(world_job(&w, id, "message"), "cloud", "N-04 and says for which cap");
        cap(&w, NULL);
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "running", "N-04 without it it runs");
        rented_end(&w);
}

struct stops {
        int64_t latest;
        int n, earlier;
};

/* A lease is made longer or left as it is. */
static void stop_asked(struct world *w, const char *connection, const char *slot, const json_t *args, const char *token)
{
        struct stops *s = w->watch->arg;
        int64_t stop = js_int(args, "stop_wall_us", 0);

        (void)connection, (void)token;
        if (!streq(slot, "launch") && !streq(slot, "renew"))
                return;
        s->n++;
        s->earlier += streq(slot, "renew") && stop <= s->latest;
        s->latest = stop;
}

static void used_up(const char *amount, int64_t nano)
{
        struct world w;
        char id[40];
        int64_t most = 0;
        struct stops stops = { 0 };
        const struct world_watch watch = { .plugin = stop_asked, .arg = &stops };

        if (!rented_begin(&w, NULL))
                return;
        w.watch = &watch;
        cap(&w, amount);
        world_submit(&w, "{\"idle\": \"off\"}", id);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "it runs under a cap");
        for (int i = 0; i < 24 * 12; i++) {
                const json_t *m = rented_machine(&w, 0);
                int64_t stop = js_int(m, "stop_possible_wall_us", 0), open = cost(&w, id, "open_nano"),
                        rate = js_int(json_object_get(m, "price"), "nano_hour", 0);

                if (stop > w.wall_us && streq(js_str(m, "state", ""), "running") &&
                        money_cost(rate, stop - w.wall_us) > open + rate / 30 &&
                        money_cost(rate, stop - w.wall_us) - open > most)
                        most = money_cost(rate, stop - w.wall_us) - open;
                world_run(&w, 5 * MIN);
        }
        tap_ok(stops.n > 0 && stops.earlier == 0,
                "law 8 none of %d hard stops that were asked for is no later than the one before", stops.n);
        tap_int(most, 0, "law 6 all of the time up to the latest stop is reserved");
        tap_str(world_job(&w, id, "state"), "suspended", "N-04 it is suspended when the cap would be reached");
        tap_str(world_job(&w, id, "cause"), "cap", "N-04 by its cause");
        tap_int(rented_truth(&w).there, 0, "law 24 its machine is gone");
        tap_ok(billed(&w) <= nano && billed(&w) > nano / 2, "N-04 law 6 the cloud bills %lld of the cap of %lld nano",
                (long long)billed(&w), (long long)nano);
        tap_int(cost(&w, id, "open_nano"), 0, "law 7 nothing stays reserved");
        rented_end(&w);
}

static void same_bill(void)
{
        struct world w;
        char id[40];
        int64_t then;

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{\"idle\": \"off\"}", id);
        world_run(&w, 5 * HOUR + 17 * USEC_PER_SEC);
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 30 * MIN);
        then = cost(&w, id, "spent_nano");
        tap_ok(then > 0 && then - billed(&w) < CENT && billed(&w) - then < CENT,
                "law 7 the cloud's bill is ours: %lld and %lld nano", (long long)billed(&w), (long long)then);
        tap_int(cost(&w, id, "open_nano"), 0, "law 7 every reservation is closed");
        world_run(&w, 5 * HOUR);
        tap_int(cost(&w, id, "spent_nano"), then, "law 7 and the bill stays as it is");
        rented_end(&w);
}

static void never_made(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "faults", "launch capacity always")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 3 * HOUR);
        tap_int(rented_truth(&w).ever, 0, "no machine is to be had");
        tap_ok(cost(&w, id, "open_nano") <= 0, "law 7 what was reserved for it is given back");
        tap_ok(cost(&w, id, "spent_nano") <= 0, "law 7 and nothing is on its bill");
        rented_end(&w);
}

int main(void)
{
        refused();
        used_up("1usd", 100 * CENT);
        used_up("0.25usd", 25 * CENT);
        same_bill();
        never_made();
        return tap_done();
}
