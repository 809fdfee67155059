/* SPDX-License-Identifier: Apache-2.0 */
/* The engine, the policies and the store together, with time in our hands: deaths, lost words, clocks that step, what fails. */
#include "world/scene.h"

/* The daemon dies and comes back in every state that a job can be in. */
static void restarts(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        tap_int(world_restart(&w), 0, "law 3 a restart while it starts");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 3 it runs");
        tap_int((long long)w.starts, 1, "law 1 it was started once");
        tap_int(world_restart(&w), 0, "S-01 a restart while it runs");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "S-01 it still runs");
        w.save_us = 20 * USEC_PER_SEC;
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, USEC_PER_SEC);
        tap_int(world_restart(&w), 0, "a restart while it is being saved");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "law 3 the save counts");
        tap_int((long long)w.saves, 1, "and was made once");
        tap_int(world_restart(&w), 0, "a restart while it is suspended");
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "suspended", "law 5 it stays suspended");
        scene_act(&w, "resume", id, NULL);
        tap_int(world_restart(&w), 0, "a restart while it is resumed");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "it runs on");
        tap_int((long long)w.starts, 2, "law 1 restored once");
        scene_act(&w, "stop", id, NULL);
        tap_int(world_restart(&w), 0, "a restart while it is stopped");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "it is stopped");
        scene_end(&w);
}

static void lost_link(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_reach(&w, false);
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "running", "a lost link never means a dead job");
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "ending", "a stop waits for the link");
        world_reach(&w, true);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "and is done when it is back");
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_reach(&w, false);
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, HOUR);
        world_reach(&w, true);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "succeeded", "what happened meanwhile is read from the list");
        scene_end(&w);
}

static void failures(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        w.start_error = "NOT_FOUND";
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "failed", "a job that cannot start fails");
        tap_has(world_job(&w, id, "message"), "the image cannot be had", "and says why");
        w.start_error = "TRANSIENT";
        world_submit(&w, "{}", id);
        world_run(&w, 5 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "queued", "a passing fault queues it again");
        w.start_error = NULL;
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "and it is tried again");
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        (void)json_object_clear(w.checkpoints);
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "with its checkpoint deleted a resume fails");
        tap_has(world_job(&w, id, "message"), "ckp_", "by name");
        scene_end(&w);
}

/* What the simulated world found (world_swarm_test), as scenes of its own. */
static void clock_steps(void)
{
        struct world w;
        char id[40], idle_id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"ttl\": \"2h\", \"idle\": \"off\"}", id);
        world_run(&w, 10 * MIN);
        w.wall_us += 3 * HOUR;
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 15 P-01 a step of the wall clock is no running time");
        tap_ok(world_job_int(&w, id, "ran_us") < 21 * MIN, "law 15 P-01 nor is it shown as such");
        w.wall_us -= 5 * HOUR;
        tap_int(world_restart(&w), 0, "law 15 a step back, and a restart");
        world_run(&w, 99 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 15 P-01 before its 2 h it runs");
        world_run(&w, 3 * MIN);
        tap_str(world_job(&w, id, "cause"), "ttl", "law 15 P-01 and after them it is stopped");
        w.idle = true;
        world_submit(&w, "{\"ttl\": \"off\"}", idle_id);
        world_run(&w, 10 * USEC_PER_SEC);
        for (int i = 0; i < 60; i++) {
                if (i == 30)
                        w.wall_us += HOUR;
                scene_measures(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, idle_id, "state"), "running", "law 15 P-09 a step of the wall clock is no idleness");
        scene_end(&w);
}

static void no_answer(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        w.rate[WORLD_FAULT_REQUEST_LOST] = 10000;
        world_submit(&w, "{}", id);
        world_run(&w, USEC_PER_SEC);
        w.rate[WORLD_FAULT_REQUEST_LOST] = 0;
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running",
                "law 23 a request without an answer is asked again on the same stream");
        w.rate[WORLD_FAULT_ANSWER_LOST] = 10000;
        scene_act(&w, "stop", id, NULL);
        w.rate[WORLD_FAULT_ANSWER_LOST] = 0;
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "law 23 and one whose answer was lost is done once");
        tap_int((long long)w.starts, 1, "law 1 it was started once");
        scene_end(&w);
}

static void outlived(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        w.rate[WORLD_FAULT_ANSWER_LOST] = 10000;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        w.rate[WORLD_FAULT_ANSWER_LOST] = 0;
        tap_str(world_job(&w, id, "state"), "running", "an event tells what the lost answer of its start did not");
        sim_state_lost(w.lab);
        world_reach(&w, true);
        world_run(&w, 10 * MIN);
        tap_int((long long)w.starts, 1, "law 18 a start that its job has outlived is not sent again");
        tap_str(world_job(&w, id, "cause"), "machine_lost", "and the job is lost with its machine's state");
        scene_end(&w);
}

static void refused_limit(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        w.stop_us = 15 * USEC_PER_SEC;
        w.refuse_path = "model.lock";
        world_submit(&w, "{\"ttl\": \"1h\"}", id);
        world_run(&w, HOUR + 2 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped",
                "P-01 P-25 a limit whose save is refused ends the job all the same");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 cause ttl");
        tap_ok(w.saves <= 2, "law 26 and the save is not tried again and again (%zu)", w.saves);
        scene_end(&w);
}

/* It started, ran, and was saved by its runner's standing orders, all while portald looked away: that save counts. */
static void saved_while_away(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, USEC_PER_SEC);
        world_reach(&w, false);
        world_run(&w, 10 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "starting", "portald has not seen it run");
        world_notice(&w, 2 * MIN);
        world_run(&w, MIN);
        world_reach(&w, true);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "N-01 law 12 a save that nobody saw is not thrown away");
        tap_int((long long)w.starts, 1, "N-01 and the job is not started anew");
        scene_end(&w);
}

/* A stop that meets a restore which fails leaves no operation on the job: it can be resumed and stopped again. */
static void stopped_in_restore(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        w.start_error = "INVALID";
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 100 * USEC_PER_MSEC);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "a stop during a restore ends it");
        w.start_error = NULL;
        world_submit(&w, "{\"ttl\": \"10m\"}", id);
        world_run(&w, 20 * MIN);
        tap_str(world_job(&w, id, "cause"), "ttl", "stopped with its checkpoint kept");
        w.start_error = "INVALID";
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 100 * USEC_PER_MSEC);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        w.start_error = NULL;
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, MIN);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "ended", "P-26 it can be resumed and stopped again");
        scene_end(&w);
}

/* Idle by what was measured, and its runner is away when that is enough: what it does by the time at which it is back is not known. */
static void idle_out_of_sight(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"idle.after\": \"10m\"}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        w.idle = true;
        for (int64_t at = 0; at < 10 * MIN; at += 10 * USEC_PER_SEC) {
                scene_measures(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, id, "state"), "running", "a job that has not been idle for long enough yet");
        scene_measures(&w);
        world_reach(&w, false);
        world_run(&w, 90 * USEC_PER_SEC);
        w.idle = false;
        world_reach(&w, true);
        for (int64_t at = 0; at < 5 * MIN; at += 10 * USEC_PER_SEC) {
                scene_measures(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, id, "state"), "running", "P-09 it is busy when its runner is heard again, and runs on");
        tap_int((long long)w.saves, 0, "P-09 and no save was kept for that moment");
        scene_end(&w);
}

int main(void)
{
        saved_while_away();
        stopped_in_restore();
        clock_steps();
        no_answer();
        outlived();
        refused_limit();
        restarts();
        lost_link();
        idle_out_of_sight();
        failures();
        return tap_done();
}
