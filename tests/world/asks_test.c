/* SPDX-License-Identifier: Apache-2.0 */
/* How often portald asks when no answer comes, what it has learnt of saves after a restart, and the last core and byte of a machine. */
#include "executor/gather.h"
#include "executor/known.h"
#include "world/rented.h"

#define MB INT64_C(1000000)

static void count_finds(
        struct world *w, const char *connection, const char *slot, const json_t *args, const char *token)
{
        int *n = w->watch->arg;

        (void)connection, (void)args, (void)token;
        *n += streq(slot, "find");
}

/* A launch whose answer was lost, at a provider that cannot say: it is asked less and less often, up to once a minute. */
static void looked_for(void)
{
        int finds = 0;
        const struct world_watch watch = { .plugin = count_finds, .arg = &finds };
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "faults", "launch request-lost #1; find transient always")))
                return;
        w.watch = &watch;
        world_submit(&w, "{}", id);
        world_run(&w, 15 * MIN);
        tap_ok(finds >= 5 && finds <= 18,
                "law 26 a lost launch is looked for %d times in 15 minutes, not without a pause", finds);
        rented_end(&w);
}

/* Machines whose runner never comes up: their kind rests for half an hour before another is made. */
static void never_heard(void)
{
        struct world w;
        char id[40];
        int ever;

        if (!rented_begin(&w, json_pack("{s:s}", "faults", "boot never always")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 4 * HOUR);
        ever = rented_truth(&w).ever;
        tap_ok(ever >= 2 && ever <= 5,
                "P-17 in 4 hours %d machines are made where none comes up, not one every 20 minutes", ever);
        rented_end(&w);
}

static void count_requests(struct world *w, struct sim_machine *m, uint64_t generation, const json_t *body)
{
        int *n = w->watch->arg;

        (void)m, (void)generation, (void)body;
        ++*n;
}

/* A runner that is up and answers nothing: its questions come further and further apart. */
static void no_answer(void)
{
        int requests = 0;
        const struct world_watch watch = { .request = count_requests, .arg = &requests };
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        w.watch = &watch;
        w.rate[WORLD_FAULT_ANSWER_LOST] = 10000;
        world_submit(&w, "{}", id);
        world_run(&w, 30 * MIN);
        tap_ok(requests >= 3 && requests <= 40, "a runner that answers nothing is asked %d times in half an hour",
                requests);
        w.rate[WORLD_FAULT_ANSWER_LOST] = 0;
        world_run(&w, 15 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 26 and the job runs when it answers again");
        w.watch = NULL;
        scene_end(&w);
}

static int64_t learnt(struct world *w)
{
        const struct offers_known *k = known_now(w->engine);

        return k ? pools_lowest_rate(w->engine, k, w->connections.at[0]->provider) : -1;
}

/* What a save there takes: down at once, up by a quarter of what it gained, and kept over a restart. */
static void saves(void)
{
        struct world w;
        struct mach *m;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        m = w.engine->machines.n ? w.engine->machines.at[0] : NULL;
        if (tap_ok(m != NULL, "a machine is rented")) {
                offers_learn_save(w.engine, m, (uint64_t)(100 * MB), USEC_PER_SEC, 0);
                tap_int(learnt(&w), 100 * MB, "P-05 the first save says what its kind of machine can save in a second");
                offers_learn_save(w.engine, m, (uint64_t)(200 * MB), USEC_PER_SEC, 0);
                tap_int(learnt(&w), 125 * MB, "P-05 a quicker one raises that by a quarter of the difference");
                world_settle(&w);
                tap_int(world_restart(&w), 0, "a restart");
                world_run(&w, 5 * MIN);
                tap_int(learnt(&w), 125 * MB, "P-05 which knows it still");
        }
        rented_end(&w);
}

static bool sized(struct world *w, const char *cpus, const char *memory, char id[40])
{
        struct reply r;

        world_ask(w, "submit", NULL,
                json_pack("{s:{s:s,s:[s,s],s:s,s:s},s:{s:{s:s}}}", "spec", "image", "oci:/srv/images/debian", "command",
                        "train", "x", "cpus", cpus, "memory", memory, "settings", "flag", "idle", "off"),
                NULL, &r);
        (void)str_format(id, 40, "%s", js_str(json_object_get(r.body, "job"), "id", r.err.text));
        reply_clear(&r);
        world_run(w, MIN);
        return streq(world_job(w, id, "state"), "running");
}

/* The lab has 8 cores and 16 GiB. */
static void last_bit(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        tap_ok(sized(&w, "7.99", "1GiB", id), "a job takes all but a hundredth of a core");
        tap_ok(sized(&w, "0.01", "1GiB", id), "the next one, the smallest that there is, takes that");
        scene_end(&w);
        if (!scene_begin(&w, "{}"))
                return;
        tap_ok(sized(&w, "1", "17179869183B", id), "a job takes all memory but one byte");
        tap_ok(!sized(&w, "1", "1GiB", id), "the next one waits");
        tap_str(world_job(&w, id, "waiting"), "lab/here/host has 1B of memory free of the 1GiB asked",
                "and is told what is free");
        scene_end(&w);
}

/* The clock of a runner, which a hard stop and a notice are told by. And what was applied is not applied anew at each start. */
static void known_at_once(void)
{
        struct world w;
        struct mach *m;

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        m = w.engine->machines.n ? w.engine->machines.at[0] : NULL;
        if (tap_ok(m != NULL, "the lab is there"))
                tap_int((machine_boot_us(m, w.wall_us + HOUR) - w.boot_us - w.lab->boot_ahead_us + USEC_PER_SEC / 2) /
                                USEC_PER_SEC,
                        3600, "P-11 an hour from now is an hour from now by its runner's clock");
        tap_ok(!settings_are_stale(w.engine), "P-23 the site's settings, once applied, are not applied again");
        tap_int(world_restart(&w), 0, "a restart");
        world_run(&w, MIN);
        tap_ok(!settings_are_stale(w.engine), "P-23 nor after a restart");
        scene_end(&w);
}

int main(void)
{
        looked_for();
        never_heard();
        no_answer();
        saves();
        last_bit();
        known_at_once();
        return tap_done();
}
