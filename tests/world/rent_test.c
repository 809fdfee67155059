/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that are rented: from a cloud that is made up, through the same tables as a plugin's. */
#include <unistd.h>

#include "world/rented.h"

static void is_known(void)
{
        struct world w;
        struct reply r;

        if (!rented_begin(&w, json_pack("{s:s,s:s}", "spot", "yes", "zones", "3")))
                return;
        world_ask(&w, "offers", NULL, NULL, NULL, &r);
        tap_int((long long)json_array_size(json_object_get(r.body, "offers")), 6, "its offers are known");
        reply_clear(&r);
        rented_end(&w);
}

static void comes_and_goes(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 2 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "starting", "a queued job has a machine made for it");
        tap_ok(js_int(rented_machine(&w, 0), "stop_sure_wall_us", 0) > w.wall_us,
                "N-05 with a hard stop from the start");
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "it starts there once the runner answers");
        tap_int(rented_truth(&w).there, 1, "... one");
        tap_str(js_str(rented_machine(&w, 0), "state", ""), "running", "the machine is shown");
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-11 its hard stop is moved for as long as it runs");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "result"), "succeeded", "its end is seen");
        tap_int(rented_truth(&w).there, 0, "law 24 the machine goes with its job");
        tap_ok(rented_machine(&w, 0) == NULL, "... and from portald's list when the provider confirms it");
        tap_int(rented_counted(&w), rented_billed(&w), "law 7 the ledger ends with the provider's bill, to the nano");
        tap_ok(rented_billed(&w) > 0, "... which is one");
        rented_end(&w);
}

static void suspend_and_resume(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a job on a rented machine is suspended");
        tap_int(rented_truth(&w).there, 0, "law 24 its machine is ended");
        world_run(&w, DAY);
        tap_int(rented_truth(&w).ever, 1, "law 5 N-01 none is made for what is suspended");
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-24 a resume has one made anew");
        tap_int(world_job_int(&w, id, "generation"), 2, "law 18 under a new generation");
        tap_int(rented_truth(&w).ever, 2, "law 1 one each");
        scene_act(&w, "stop", id, NULL);
        world_run(&w, 10 * MIN);
        tap_int(rented_truth(&w).there, 0, "law 24 and it is ended");
        rented_end(&w);
}

static void one_each(void)
{
        struct world w;
        char id[5][40];

        if (!rented_begin(&w, NULL))
                return;
        for (int i = 0; i < 5; i++)
                world_submit(&w, "{}", id[i]);
        world_run(&w, 10 * MIN);
        tap_int(rented_truth(&w).there, 5, "one job a rented machine");
        for (int i = 0; i < 5; i++)
                tap_str(world_job(&w, id[i], "state"), "running", "each runs");
        scene_act(&w, "stop", id[2], NULL);
        world_run(&w, 10 * MIN);
        tap_int(rented_truth(&w).there, 4, "law 24 the one that nobody needs goes, and no other");
        rented_end(&w);
}

/* Stopped while its machine is being made: neither stays. */
static void stopped_early(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "boot", "20m")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, 3 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "a stop does not wait for a machine that is being made");
        tap_int(rented_truth(&w).there, 0, "law 24 which is ended");
        tap_int((long long)w.starts, 0, "and nothing ever ran there");
        rented_end(&w);
}

static void foreign(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "foreign", "3")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, HOUR);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, HOUR);
        tap_int(rented_truth(&w).there, 0, "law 9 its own machine is ended");
        tap_int(rented_truth(&w).foreign, 3, "N-06 law 9 those of others are not touched");
        rented_end(&w);
}

static int make(void *arg, const struct pd_machine *m)
{
        (void)arg, (void)m;
        return 0;
}

/* A machine with our tag of which there is no record: one that a store brought back from a backup has forgotten. */
static void put_orphan(struct world *w, const char *installation)
{
        const struct pd_pair pairs[] = { { "portald-installation", installation } };
        const struct pd_kv tags = { .size = sizeof tags, .count = 1, .pairs = pairs };
        const struct pd_launch rq = { .size = sizeof rq,
                .zone = "sim-a",
                .type = "small",
                .market = PD_MARKET_ON_DEMAND,
                .stop_wall_us = world_cloud_wall_us(w) + 12 * HOUR,
                .tags = &tags };
        struct pd_error err = { .size = sizeof err };

        if (cloud_launch(world_cloud_of(w->connections.at[0]), world_cloud_wall_us(w), installation, &rq, make, NULL,
                    &err) < 0)
                tap_note("%s", err.text);
}

static void orphans(void)
{
        const json_t *found;
        struct reply r;
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        put_orphan(&w, store_installation(w.store));
        put_orphan(&w, "ins_11111111111111111111111111");
        world_run(&w, 40 * USEC_PER_SEC);
        world_ask(&w, "machines", NULL, json_pack("{s:b}", "orphans", 1), NULL, &r);
        found = json_array_get(json_object_get(r.body, "machines"), 0);
        tap_str(js_str(found, "state", ""), "found", "portal machines --orphans: what was seen once");
        tap_int((long long)json_array_size(json_object_get(r.body, "machines")), 1, "... and nothing else");
        reply_clear(&r);
        world_run(&w, 9 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "the machine of a job");
        tap_int(rented_truth(&w).ever, 3, "law 9 one that nobody knows of and one of another installation are there");
        tap_int(rented_truth(&w).there, 2, "law 9 N-06 the orphan is ended, after two looks, the other is not");
        rented_end(&w);
}

/* --- a market's history --- */
static const char head[] = "portald-trace 1\ncurrency USD\ntype small cpu=4 memory=16GiB\nzone z\n"
                           "offer z/small price=1\noffer z/small/spot price=0.3 notice=2m capacity=9\n";

static bool traced(struct world *w, char path[64], const char *events, json_t *more)
{
        FILE *f;
        int fd;

        (void)str_format(path, 64, "/tmp/portald-rent-XXXXXX");
        fd = mkstemp(path);
        f = fd < 0 ? NULL : fdopen(fd, "w");
        if (!tap_ok(f != NULL, "a trace"))
                return false;
        (void)fprintf(f, "%s%s", head, events);
        (void)fclose(f);
        (void)json_object_set_new(more, "trace", json_string(path));
        return rented_begin(w, more);
}

static void reclaimed(const char *fault, const char *cause, const char *state)
{
        char path[64], id[40];
        struct world w;

        if (!traced(&w, path, "30m z/small/spot reclaim all\n", json_pack("{s:s}", "faults", fault)))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        tap_has(world_job(&w, id, "offer"), "/spot", "the cheapest offer is a spot machine");
        world_run(&w, 30 * MIN);
        tap_str(world_job(&w, id, "state"), state, "P-04 its reclaim");
        tap_str(world_job(&w, id, "cause"), cause, "P-04 and the cause");
        tap_int(rented_truth(&w).there, 0, "law 24 nothing is left");
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "offer"), "cloud/z/small", "P-17 a reclaimed pool is left out for 30 min");
        (void)unlink(path);
        rented_end(&w);
}

/* A notice that only the provider has, while its runner is out of reach: told with what is left of it, and saved in time. */
static void told_late(void)
{
        char path[64], id[40];
        struct world w;

        if (!traced(&w, path, "30m z/small/spot reclaim all notice=10m\n", json_object()))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 28 * MIN);
        sim_reach(w.machines.at[0], false);
        world_run(&w, 6 * MIN);
        tap_str(world_job(&w, id, "state"), "saving",
                "P-04 a notice that its runner has not heard of yet: its save waits");
        sim_reach(w.machines.at[0], true);
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 is told once it is in reach, and saved");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 with its cause");
        (void)unlink(path);
        rented_end(&w);
}

/* One's own machine beside: jobs go where it is cheaper, and nothing but its job is ever ended there. */
static void beside_own(void)
{
        struct world w;
        char id[3][40];

        if (!rented_quietly(&w, NULL))
                return;
        (void)world_add_own(&w, "rack", 4000, (uint64_t)8 << 30, 0);
        tap_int(world_reload(&w, &(struct pd_error){ 0 }), 0, "a machine of one's own is added");
        world_run(&w, MIN);
        for (int i = 0; i < 3; i++)
                world_submit(&w, "{}", id[i]);
        world_run(&w, 10 * MIN);
        for (int i = 0; i < 3; i++)
                scene_act(&w, "stop", id[i], NULL);
        world_run(&w, 10 * MIN);
        tap_int((long long)w.power_calls, 0, "N-02 law 17 no power call for own machines");
        tap_int(rented_truth(&w).there, 0, "law 24 what was rented beside is ended");
        rented_end(&w);
}

/* A refusal names the quota, and the job takes the next offer. */
static void quota(void)
{
        struct world w;
        char id[2][40];

        if (!rented_begin(&w, json_pack("{s:s}", "quota", "vm-count limit=1 of=machines")))
                return;
        world_submit(&w, "{}", id[0]);
        world_run(&w, 5 * MIN);
        world_submit(&w, "{}", id[1]);
        world_run(&w, 2 * USEC_PER_SEC);
        tap_str(world_job(&w, id[1], "state"), "queued",
                "N-03 a quota that is used up is not asked for: the job waits");
        tap_has(world_job(&w, id[1], "message"), "vm-count", "N-03 and the quota is named");
        scene_act(&w, "stop", id[0], NULL);
        world_run(&w, HOUR);
        tap_str(world_job(&w, id[1], "state"), "running", "law 26 tried again later, it runs");
        rented_end(&w);
}

static void fixed_lease(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "lease", "fixed")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 20 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "a stop that cannot be moved lies a day ahead");
        world_run(&w, 5 * HOUR);
        tap_str(world_job(&w, id, "state"), "suspended", "P-10 and is a limit on its life: saved before");
        tap_int(rented_truth(&w).there, 0, "law 8 the machine is gone");
        rented_end(&w);
}

static void cannot_go(void)
{
        struct engine_site none;
        struct pd_error err;
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        none = w.site;
        none.connections_n = 0;
        tap_ok(engine_reload(w.engine, &none, &err) < 0, "S-01 a connection with a machine that costs cannot go");
        tap_has(err.text, "\"cloud\"", "... by its name");
        rented_end(&w);
}

int main(void)
{
        is_known();
        comes_and_goes();
        suspend_and_resume();
        one_each();
        stopped_early();
        foreign();
        orphans();
        reclaimed("notice missing #99", "notice", "suspended");
        reclaimed("notice missing always", "machine_lost", "ended");
        told_late();
        beside_own();
        quota();
        fixed_lease();
        cannot_go();
        return tap_done();
}
