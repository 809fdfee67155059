/* SPDX-License-Identifier: Apache-2.0 */
/* A job goes from one own machine to another, with everything that can come between. At each change of any placement laws 1, 2 and 11 are looked at. */
#include "world/scene.h"

#define BARN "barn/here/host"
#define LAB "lab/here/host"

struct watching {
        char job[40];
        bool stops; /* both ends are ended on purpose */
        int broken;
        char what[200];
};

static struct watching watching;

static const struct sim_machine *barn(const struct world *w)
{
        vec_foreach (m, &w->machines)
                if (streq((*m)->name, "barn"))
                        return *m;
        return NULL;
}

static struct sim_job *on(const struct world *w, const char *machine)
{
        world_each_job(w, s) if (streq(s->machine->name, machine) && streq(s->job, watching.job)) return s;
        return NULL;
}

static void broken(const char *what)
{
        if (!watching.broken++)
                (void)str_format(watching.what, sizeof watching.what, "%s", what);
}

static void truth(struct world *w, const struct sim_job *changed)
{
        int unfrozen = 0;
        uint64_t newest = 0;
        const struct sim_job *held = NULL;

        (void)changed;
        world_each_job(w, s)
        {
                if (!streq(s->job, watching.job))
                        continue;
                if (world_unfrozen(s)) {
                        unfrozen++;
                        if (s->generation == newest)
                                broken("two placements of one generation");
                        newest = s->generation > newest ? s->generation : newest;
                } else if (streq(s->phase, "held")) {
                        held = s;
                }
        }
        if (unfrozen > 1)
                broken("law 1: two run");
        if (streq(changed->phase, "exited") && streq(changed->cause, "move") && !held && !watching.stops)
                world_each_job(w, s) if (s != changed && streq(s->job, watching.job) && !streq(s->phase, "running"))
                        broken("law 11: the source was ended before the target ran");
}

static const struct world_watch watch = { .truth = truth };

static bool begin(struct world *w, char id[40])
{
        memset(&watching, 0, sizeof watching);
        if (!tap_ok(world_new_with(w, &(struct world_options){ .wait = true }) == 0, "a world begins"))
                return false;
        w->lab = w->machines.at[0];
        (void)world_add_own(w, "barn", 8000, UINT64_C(16) << 30, 0);
        w->watch = &watch;
        w->connections.at[0]->price_nano_hour = 80000000;
        w->connections.at[1]->price_nano_hour = 160000000;
        if (!tap_int(world_start(w), 0, "portald starts"))
                return false;
        sim_tick_start(w);
        world_run(w, MIN);
        world_submit(w, "{\"idle\": \"off\"}", id);
        (void)str_format(watching.job, sizeof watching.job, "%s", id);
        world_run(w, 10 * MIN);
        tap_ok(on(w, "lab") && streq(on(w, "lab")->phase, "running"), "the job runs where it is cheaper");
        return true;
}

static void end(struct world *w)
{
        if (!tap_ok(watching.broken == 0, "law 1 law 2 law 11 at each change of a placement"))
                tap_note("%s", watching.what);
        scene_end(w);
}

static void move(struct world *w, const char *id, const char *to)
{
        scene_act(w, "move", id, json_pack("{s:s}", "on", to));
}

static void there_and_back(void)
{
        struct world w;
        char id[40];
        size_t releases;

        if (!begin(&w, id))
                return;
        releases = w.releases;
        move(&w, id, BARN);
        move(&w, id, BARN);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "a moved job runs");
        tap_ok(on(&w, "barn") && streq(on(&w, "barn")->phase, "running"), "... on its target");
        tap_int(world_job_int(&w, id, "generation"), 2, "law 18 under the next generation");
        tap_int((long long)w.saves, 1, "P-26 asked twice it moved once");
        tap_int((long long)json_object_size(w.checkpoints), 1, "law 12 on the checkpoint of its move");
        tap_ok(!world_live(on(&w, "lab")), "law 11 its source has ended");
        tap_int((long long)(w.releases - releases), 1, "law 24 and is released");
        tap_int((long long)w.thaws, 0, "nothing was thawed");
        tap_ok(world_job_int(&w, id, "ran_us") > 10 * MIN, "law 15 the time on both counts");
        move(&w, id, BARN);
        world_run(&w, MIN);
        tap_int(world_job_int(&w, id, "generation"), 2, "P-26 it is there already");
        move(&w, id, LAB);
        world_run(&w, MIN);
        tap_ok(streq(on(&w, "lab")->phase, "running"), "and back");
        tap_int(world_job_int(&w, id, "generation"), 3, "law 18 under one more");
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "it can be suspended afterwards");
        end(&w);
}

static void refused(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.refuse_path = "model.lock";
        move(&w, id, BARN);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-21 a move whose save is refused leaves the job running");
        tap_has(world_job(&w, id, "message"), "model.lock", "P-21 and names the value");
        tap_int(world_job_int(&w, id, "generation"), 1, "where it was");
        tap_ok(on(&w, "barn") == NULL, "nothing began on the target");
        w.refuse_path = NULL;
        world_run(&w, HOUR);
        tap_int(world_job_int(&w, id, "generation"), 1, "law 26 a user's move is not tried again by itself");
        end(&w);
}

static void target_fails(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.start_error = "NOT_FOUND";
        move(&w, id, BARN);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 11 a target that cannot take it up: it runs on");
        tap_ok(streq(on(&w, "lab")->phase, "running"), "... where it was");
        tap_int(world_job_int(&w, id, "generation"), 3, "law 2 under a generation of its own");
        tap_int((long long)w.thaws, 1, "thawed, not started anew");
        w.start_error = NULL;
        move(&w, id, BARN);
        world_run(&w, MIN);
        tap_ok(on(&w, "barn") && streq(on(&w, "barn")->phase, "running"), "and can be moved later");
        end(&w);
}

static void suspended_meanwhile(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.save_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 10 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "saving", "its save goes on");
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a suspension stands above a move that saves");
        tap_ok(!on(&w, "barn"), "nothing began on the target");
        tap_ok(!world_live(on(&w, "lab")), "and the source has ended");
        end(&w);
}

static void suspended_between(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.start_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 20 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "restoring", "it is being taken up on its target");
        scene_act(&w, "suspend", id, NULL);
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a suspension between the machines follows the move");
        tap_str(world_job(&w, id, "cause"), "user", "... by its cause");
        tap_int((long long)w.saves, 2, "... with a save of its own");
        tap_ok(!world_live(on(&w, "barn")) && !world_live(on(&w, "lab")), "nothing runs any more");
        end(&w);
}

static void noticed_meanwhile(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.save_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 10 * USEC_PER_SEC);
        world_notice(&w, 2 * MIN);
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 a notice stands above a move that saves");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 by its cause");
        tap_int((long long)w.saves, 1, "it is one save");
        end(&w);
}

static void stopped_between(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.start_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 20 * USEC_PER_SEC);
        watching.stops = true;
        scene_act(&w, "stop", id, NULL);
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "P-26 a stop ends both ends of a move");
        tap_ok(!world_live(on(&w, "barn")) && !world_live(on(&w, "lab")), "nothing runs, nothing is held");
        end(&w);
}

/* What the source said before it stood still comes late: it is not taken for a container that runs and that nobody wants. */
static void overtaken_between(void)
{
        js_owned *event = NULL;
        struct world w;
        const struct sim_job *s;
        char id[40];

        if (!begin(&w, id))
                return;
        w.start_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 20 * USEC_PER_SEC);
        s = on(&w, "lab");
        tap_ok(streq(s->phase, "held") && s->seq > 1, "its source stands still");
        event = json_pack("{s:s,s:{s:s,s:I,s:I,s:s,s:s,s:I,s:I}}", "event", "placement", "placement", "job", id,
                "generation", (json_int_t)s->generation, "seq", (json_int_t)s->seq - 1, "phase", "running", "cause", "",
                "started_wall_us", (json_int_t)s->started_wall_us, "ran_us", (json_int_t)USEC_PER_SEC);
        world_event(&w, event);
        world_run(&w, USEC_PER_SEC);
        tap_str(on(&w, "lab")->phase, "held", "law 11 an overtaken event of the source does not end it");
        world_run(&w, 5 * MIN);
        tap_ok(on(&w, "barn") && streq(on(&w, "barn")->phase, "running"), "and the move goes through");
        end(&w);
}

/* The daemon dies in each of the first seconds of a move, and another goes on with it. */
static void dies(void)
{
        int running = 0, once = 0, litter = 0;

        for (int64_t second = 0; second < 14; second++) {
                struct world w;
                char id[40];
                int live = 0;

                if (!begin(&w, id))
                        return;
                w.save_us = 4 * USEC_PER_SEC;
                move(&w, id, BARN);
                world_run(&w, second * USEC_PER_SEC);
                world_die(&w);
                for (int64_t until = w.boot_us + MIN; world_step(&w, until);)
                        ;
                tap_int(world_restart(&w), 0, "it starts again");
                world_run(&w, 5 * MIN);
                running += streq(world_job(&w, id, "state"), "running");
                world_each_job(&w, s)
                {
                        live += world_live(s);
                        litter += !s->released && !world_live(s);
                }
                once += live == 1;
                end(&w);
        }
        tap_int(running, 14, "law 3 a daemon that dies at any second of a move: the job runs");
        tap_int(once, 14, "law 1 law 24 ... once, and nothing is held");
        tap_int(litter, 0, "law 24 ... and what ended is released");
}

static void cheaper(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.connections.at[1]->price_nano_hour = 8000000;
        w.save_us = USEC_PER_SEC;
        world_run(&w, 12 * HOUR);
        tap_ok(on(&w, "barn") && streq(on(&w, "barn")->phase, "running"), "P-13 it moves to what is a tenth as dear");
        tap_ok(world_job_int(&w, id, "generation") == 2, "P-16 once");
        tap_str(world_job(&w, id, "state"), "running", "and runs");
        end(&w);
}

static void target_gives_notice(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, id))
                return;
        w.save_us = MIN;
        move(&w, id, BARN);
        world_run(&w, 10 * USEC_PER_SEC);
        sim_notice((struct sim_machine *)(uintptr_t)barn(&w), 10 * MIN, "user");
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "a target that gives notice is gone to by nobody: it runs on");
        tap_ok(streq(on(&w, "lab")->phase, "running"), "... where it was");
        tap_int((long long)w.thaws, 1, "... thawed");
        end(&w);
}

static void asked_wrongly(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!begin(&w, id))
                return;
        world_ask(&w, "move", id, json_pack("{s:s}", "on", "nowhere/x/y"), NULL, &r);
        tap_ok(r.err.code != PD_OK && strstr(r.err.text, "nowhere"), "an offer that is none is refused by name");
        reply_clear(&r);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_ask(&w, "move", id, json_pack("{s:s}", "on", BARN), NULL, &r);
        tap_has(r.err.text, "only a running job can", "a suspended job cannot be moved");
        reply_clear(&r);
        end(&w);
}

int main(void)
{
        there_and_back();
        refused();
        target_fails();
        suspended_meanwhile();
        suspended_between();
        noticed_meanwhile();
        stopped_between();
        overtaken_between();
        dies();
        cheaper();
        target_gives_notice();
        asked_wrongly();
        return tap_done();
}
