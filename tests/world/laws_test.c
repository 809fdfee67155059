/* SPDX-License-Identifier: Apache-2.0 */
/* Laws at the seam between portald and its machines: what is asked, how often, and what is on disk when it is asked. */
#include "world/scene.h"

#include "simulate/cloud.h"

static struct {
        int saves, starts, launches;
        int64_t stop_wall_us; /* the latest that any machine was asked for */
} asked;

static void request(struct world *w, struct sim_machine *m, uint64_t generation, const json_t *body)
{
        const char *op = js_str(body, "op", "");

        (void)w, (void)m, (void)generation;
        asked.saves += streq(op, "save");
        asked.starts += streq(op, "start");
        if (streq(op, "lease") && js_int(body, "stop_wall_us", 0) > asked.stop_wall_us)
                asked.stop_wall_us = js_int(body, "stop_wall_us", 0);
}

static void plugin(struct world *w, const char *connection, const char *slot, const json_t *args, const char *token)
{
        (void)w, (void)connection, (void)args, (void)token;
        asked.launches += streq(slot, "launch");
}

static const struct world_watch watch = { .request = request, .plugin = plugin };

static bool begin(struct world *w)
{
        memset(&asked, 0, sizeof asked);
        if (!scene_begin(w, "{}"))
                return false;
        w->watch = &watch;
        return true;
}

static int64_t machine_int(struct world *w, const char *member)
{
        struct reply r;
        int64_t v;

        world_ask(w, "machines", NULL, NULL, NULL, &r);
        v = js_int(json_array_get(json_object_get(r.body, "machines"), 0), member, -1);
        reply_clear(&r);
        return v;
}

static void twice_is_once(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        w.save_us = MIN;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, USEC_PER_SEC);
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a suspension that is asked for twice");
        tap_int(asked.saves, 1, "P-26 ... is one save");
        scene_end(&w);
}

/* Nobody but the runner hears of it. */
static void notice_alone(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_reach(&w, false);
        world_notice(&w, 2 * MIN);
        world_run(&w, MIN);
        tap_ok(!world_live(world_sim(&w, id)), "P-04 its runner saves it by its standing orders");
        world_reach(&w, true);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 portald hears of it later");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 with its cause");
        scene_end(&w);
}

/* A second notice, which portald had no time to tell. */
static void notice_again(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_run(&w, MIN);
        scene_act(&w, "notice", "lab/here/host", json_pack("{s:s}", "in", "1m"));
        world_run(&w, 2 * MIN);
        world_submit(&w, "{}", id);
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "a notice is over, and jobs run there again");
        w.rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = 10000;
        scene_act(&w, "notice", "lab/here/host", json_pack("{s:s}", "in", "10m"));
        w.rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = 0;
        world_die(&w);
        tap_int(world_restart(&w), 0, "another is given, and portald dies at once");
        world_run(&w, MIN);
        tap_ok(machine_int(&w, "notice_wall_us") > w.wall_us + 8 * MIN,
                "P-04 what the runner knows of the first is not taken for it");
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 law 3 the job is saved in time");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 with its cause");
        scene_end(&w);
}

/* What is older than what was seen already says nothing any more. */
static void overtaken(void)
{
        js_owned *event = NULL;
        struct world w;
        const struct sim_job *s;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        s = world_sim(&w, id);
        tap_ok(s->seq > 0, "a job runs");
        event = json_pack("{s:s,s:{s:s,s:I,s:I,s:s,s:s,s:I,s:I,s:{s:i,s:i,s:b}}}", "event", "placement", "placement",
                "job", id, "generation", (json_int_t)s->generation, "seq", (json_int_t)s->seq - 1, "phase", "exited",
                "cause", "", "started_wall_us", (json_int_t)s->started_wall_us, "ran_us", (json_int_t)USEC_PER_SEC,
                "exit", "code", 3, "signal", 0, "oom", 0);
        world_event(&w, event);
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "running", "law 20 an event that was overtaken changes nothing");
        scene_end(&w);
}

/* A job may ask for a longer lease than the site's. */
static void lease_as_asked(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{\"lease.horizon\": \"5h\", \"idle\": \"off\"}", id);
        world_run(&w, 3 * HOUR);
        tap_ok(machine_int(&w, "stop_sure_wall_us") > w.wall_us + 4 * HOUR,
                "P-11 a lease is renewed as far as its job asks");
        scene_act(&w, "stop", id, NULL);
        world_run(&w, 6 * HOUR);
        tap_ok(machine_int(&w, "stop_sure_wall_us") < w.wall_us + 2 * HOUR,
                "P-11 and without it as far as the site says");
        scene_end(&w);
}

static void lease_on_disk(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        for (int i = 0; i < 6; i++) {
                int64_t before = asked.stop_wall_us;

                while (asked.stop_wall_us == before && world_step(&w, INT64_MAX)) /* up to the very request */
                        ;
                world_reach(&w, false);
                world_die(&w);
                tap_int(world_restart(&w), 0, "it dies while a lease is being renewed, and starts again");
                tap_ok(machine_int(&w, "stop_possible_wall_us") >= asked.stop_wall_us,
                        "law 8 the latest stop that was asked for is on disk");
                world_reach(&w, true);
                world_run(&w, MIN);
        }
        scene_end(&w);
}

static void lease_read_back(void)
{
        struct world w;
        int64_t sure;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        sure = machine_int(&w, "stop_sure_wall_us");
        w.rate[WORLD_FAULT_ANSWER_LOST] = 10000;
        world_run(&w, 25 * MIN);
        tap_ok(w.lab->stop_wall_us > sure, "P-11 renewals are asked for, and their answers lost");
        tap_int(machine_int(&w, "stop_sure_wall_us"), sure, "P-11 law 8 only what was read back counts as sure");
        scene_end(&w);
}

/* A machine is rented for a move; by the time that it is up, the reason is gone. */
static void terms_change(bool change)
{
        js_owned *options = json_pack(
                "{s:s,s:s,s:s,s:s,s:s}", "seed", "7", "types", "small", "spot", "no", "zones", "1", "boot", "10m");
        struct world w;
        struct pd_error err;
        struct reply r;
        char id[40];
        bool renting = false;

        tap_note("the terms %s", change ? "change" : "stay");
        if (!tap_ok(world_new_with(&w, &(struct world_options){ .wait = true, .seed = 7 }) == 0, "a world begins"))
                return;
        w.lab = w.machines.at[0];
        sim_tick_start(&w);
        w.connections.at[0]->price_nano_hour = 1000; /* 8 jobs of a core */
        if (!tap_ok(world_add_sim(&w, "cloud", options, &err) != NULL, "a cloud is there") ||
                !tap_int(world_start(&w), 0, "portald starts"))
                return;
        world_run(&w, MIN);
        world_submit(&w, "{\"idle\": \"off\"}", id);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "offer"), "lab/here/host", "the job runs on the own machine");
        w.connections.at[0]->price_nano_hour = INT64_C(100000000000);
        for (int i = 0; i < 24 * 60 && !renting; i++) {
                world_run(&w, MIN);
                world_ask(&w, "show", id, NULL, NULL, &r);
                renting = streq(js_str(json_object_get(r.body, "move"), "phase", ""), "target");
                reply_clear(&r);
        }
        tap_ok(renting, "P-13 it has become dear: a machine is rented to move to");
        if (change)
                w.connections.at[0]->price_nano_hour = 1000;
        world_run(&w, 2 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "it runs");
        if (change) {
                tap_str(world_job(&w, id, "offer"), "lab/here/host", "P-15 when the reason is gone it stays");
                tap_int((long long)w.saves, 0, "P-15 ... and is not saved for nothing");
                tap_int((long long)w.machines.n, 1, "law 24 the machine that was rented goes");
        } else {
                tap_has(world_job(&w, id, "offer"), "cloud/", "P-13 it moves");
        }
        world_free(&w);
}

/* One kind of machine, of which the provider has none. */
static void no_capacity(void)
{
        js_owned *options = json_pack("{s:s,s:s,s:s,s:s,s:s}", "seed", "7", "types", "small", "spot", "no", "zones",
                "1", "faults", "launch capacity always");
        struct world w;
        struct pd_error err;
        char id[40];

        memset(&asked, 0, sizeof asked);
        if (!tap_ok(world_new_with(&w, &(struct world_options){ .wait = true, .no_lab = true, .seed = 7 }) == 0,
                    "a world begins"))
                return;
        w.watch = &watch;
        sim_tick_start(&w);
        if (!tap_ok(world_add_sim(&w, "cloud", options, &err) != NULL, "a cloud is there") ||
                !tap_int(world_start(&w), 0, "portald starts"))
                return;
        world_run(&w, MIN);
        world_submit(&w, "{}", id);
        world_run(&w, 5 * HOUR);
        tap_ok(asked.launches >= 4 && asked.launches <= 11,
                "law 26 an offer without capacity is left out for 30 min: asked %d times in 5 h", asked.launches);
        tap_str(world_job(&w, id, "state"), "queued", "the job waits");
        world_free(&w);
}

int main(void)
{
        twice_is_once();
        notice_alone();
        notice_again();
        overtaken();
        lease_as_asked();
        lease_on_disk();
        lease_read_back();
        terms_change(false);
        terms_change(true);
        no_capacity();
        return tap_done();
}
