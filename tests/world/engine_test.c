/* SPDX-License-Identifier: Apache-2.0 */
/* The engine, the policies and the store together, with time in our hands. */
#include "tap.h"
#include "world/world.h"

#define MIN USEC_PER_MIN
#define HOUR USEC_PER_HOUR
#define DAY USEC_PER_DAY

static bool begin(struct world *w, const char *site)
{
        json_error_t e;
        js_owned *s = json_loads(site, 0, &e);

        return tap_ok(world_new(w, s) == 0, "a world begins");
}

static void end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        tap_int((long long)w->power_calls, 0, "N-02 law 17 no machine was ended");
        world_free(w);
}

static void act(struct world *w, const char *verb, const char *id, json_t *args)
{
        struct reply r;

        world_ask(w, verb, id, args, NULL, &r);
        if (r.err.code)
                tap_note("%s: %s", verb, r.err.text);
        reply_clear(&r);
}

static bool refused(struct world *w, const char *verb, const char *id, enum pd_code code)
{
        struct reply r;
        bool same;

        world_ask(w, verb, id, NULL, NULL, &r);
        same = r.err.code == code;
        if (!same)
                tap_note("%s: code %d: %s", verb, (int)r.err.code, r.err.text);
        reply_clear(&r);
        return same;
}

static void runs_and_ends(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "starting", "a job is placed as soon as its machine is there");
        world_run(&w, 10 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "running", "it runs");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "result"), "succeeded", "exit 0 is succeeded");
        tap_int((long long)w.releases, 1, "its container's files are released once");
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        sim_exit(&w, world_sim(&w, id), 3, 0, "");
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "result"), "failed", "exit 3 is failed");
        tap_int(world_job_int(&w, id, "exit_code"), 3, "with its code");
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        sim_exit(&w, world_sim(&w, id), 139, 11, "");
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "cause"), "signal", "death by a signal says so");
        end(&w);
}

static void notice(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_notice(&w, 2 * MIN);
        world_run(&w, 10 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 a notice saves and suspends");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 and says why");
        tap_has(world_job(&w, id, "message"), "step 7", "P-04 and where it was saved");
        world_run(&w, 30 * DAY);
        tap_int((long long)w.starts, 1, "N-01 law 5 it is never resumed by itself");
        end(&w);
}

static void suspend_resume(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a user suspends");
        tap_has(world_job(&w, id, "resume_line"), "portal resume job_", "P-24 it says how to go on");
        act(&w, "suspend", id, NULL);
        tap_int((long long)w.saves, 1, "P-26 suspended twice is once");
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running", "P-24 resume runs it again");
        tap_int(world_job_int(&w, id, "generation"), 2, "law 18 under a new generation");
        tap_ok(js_str(json_object_get(world_sim(&w, id)->order, "restore"), "checkpoint", NULL) != NULL,
                "P-24 from its checkpoint");
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, USEC_PER_SEC);
        tap_int((long long)json_object_size(w.checkpoints), 1, "law 12 of two checkpoints the newest is kept");
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running", "law 12 and a resume takes it");
        act(&w, "stop", id, NULL);
        act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "P-26 stop ends it");
        tap_int((long long)w.stops, 1, "P-26 and twice is once");
        end(&w);
}

static void refusal(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        w.refuse_path = "model.lock";
        world_ask(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000), NULL, &r);
        tap_str(js_str(r.body, "state", ""), "running", "P-21 law 10 a refused save leaves it running");
        tap_str(js_str(json_array_get(json_object_get(json_object_get(r.body, "trouble"), "values"), 0), "path", ""),
                "model.lock", "P-21 law 10 by the value's name");
        reply_clear(&r);
        tap_has(world_job(&w, id, "message"), "model.lock", "P-21 and in its message");
        w.refuse_path = NULL;
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "P-21 without the value it is suspended");
        end(&w);
}

static void ttl(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{\"ttl\": \"2h\"}", id);
        world_run(&w, HOUR);
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 30 * MIN);
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 59 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-01 suspended time does not count");
        world_run(&w, 3 * MIN);
        tap_str(world_job(&w, id, "state"), "ended", "P-01 running time summed over placements ends it");
        tap_str(world_job(&w, id, "result"), "stopped", "P-01 as stopped");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 cause ttl");
        world_run(&w, 6 * DAY);
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running",
                "P-01 P-02 the checkpoint is kept 7 days: a resume starts a new term");
        tap_ok(world_job_int(&w, id, "ran_us") < MIN, "P-02 with running time from 0");
        end(&w);
}

static void ttl_on_the_clock(void)
{
        struct world w;
        char id[40], other[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{\"ttl\": \"2h\"}", id);
        world_run(&w, MIN);
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, HOUR + 58 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-02 a suspended job stays until its clock limit");
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "P-02 and ends that many hours after its creation");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-02 cause ttl");
        world_run(&w, 7 * DAY);
        tap_ok(refused(&w, "resume", id, PD_E_CONFLICT), "P-02 after 7 days its checkpoint is gone");
        tap_int((long long)json_object_size(w.checkpoints), 0, "and so are its objects");

        world_submit(&w, "{\"ttl\": \"off\"}", other);
        world_run(&w, MIN);
        act(&w, "suspend", other, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 3 * DAY - MIN);
        tap_str(world_job(&w, other, "state"), "suspended", "P-03 a checkpoint lives 3 days");
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, other, "result"), "failed", "P-03 then the job fails");
        tap_str(world_job(&w, other, "cause"), "expired", "P-03 cause expired");
        end(&w);
}

/* Every 10 s the machine tells what its jobs used. */
static void measures_once(struct world *w)
{
        json_t *items = json_array();
        js_owned *event = NULL;

        for (size_t i = 0; i < SIM_JOBS; i++) {
                struct sim_job *s = &w->jobs[i];

                if (!s->used || !streq(s->phase, "running"))
                        continue;
                if (!w->idle) {
                        s->cpu_us += 9 * USEC_PER_SEC;
                        s->progress_seq++;
                }
                (void)json_array_append_new(
                        items, json_pack("{s:s,s:I,s:I,s:i,s:I}", "job", s->job, "generation",
                                       (json_int_t)s->generation, "cpu_us", (json_int_t)s->cpu_us, "log_bytes", 0,
                                       "progress_seq", (json_int_t)s->progress_seq));
        }
        event = json_pack("{s:s,s:o}", "event", "measures", "items", items);
        world_event(w, event);
}

static void idle(void)
{
        struct world w;
        char id[40];
        int minutes = 0;

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        for (int i = 0; i < 6 * 60; i++) {
                measures_once(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, id, "state"), "running", "P-09 a job that works is left alone");
        w.idle = true;
        while (minutes < 60 && streq(world_job(&w, id, "state"), "running")) {
                for (int i = 0; i < 6; i++) {
                        measures_once(&w);
                        world_run(&w, 10 * USEC_PER_SEC);
                }
                minutes++;
        }
        tap_ok(minutes >= 30 && minutes <= 33, "P-09 30 minutes without progress and CPU suspend it (after %d)",
                minutes);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "cause"), "idle", "P-09 cause idle");

        w.idle = true;
        world_submit(&w, "{}", id);
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-09 a job that is not measured counts as active");
        end(&w);
}

static void idempotent(void)
{
        struct world w;
        struct reply a, b, c;

        if (!begin(&w, "{}"))
                return;
        world_ask(&w, "submit", NULL, json_pack("{s:{s:s,s:[s]}}", "spec", "image", "oci:/srv/i", "command", "x"),
                "key-1", &a);
        world_ask(&w, "submit", NULL, json_pack("{s:{s:s,s:[s]}}", "spec", "image", "oci:/srv/i", "command", "x"),
                "key-1", &b);
        world_ask(&w, "submit", NULL, json_pack("{s:{s:s,s:[s]}}", "spec", "image", "oci:/srv/i", "command", "y"),
                "key-1", &c);
        tap_str(js_str(json_object_get(b.body, "job"), "id", "?"), js_str(json_object_get(a.body, "job"), "id", ""),
                "law 16 same key, same job");
        tap_int(c.err.code, PD_E_CONFLICT, "law 16 same key, other body: refused");
        reply_clear(&a);
        reply_clear(&b);
        reply_clear(&c);
        end(&w);
}

/* The daemon dies and comes back in every state that a job can be in. */
static void restarts(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
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
        act(&w, "suspend", id, NULL);
        world_run(&w, USEC_PER_SEC);
        tap_int(world_restart(&w), 0, "a restart while it is being saved");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "law 3 the save counts");
        tap_int((long long)w.saves, 1, "and was made once");
        tap_int(world_restart(&w), 0, "a restart while it is suspended");
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "suspended", "law 5 it stays suspended");
        act(&w, "resume", id, NULL);
        tap_int(world_restart(&w), 0, "a restart while it is resumed");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "it runs on");
        tap_int((long long)w.starts, 2, "law 1 restored once");
        act(&w, "stop", id, NULL);
        tap_int(world_restart(&w), 0, "a restart while it is stopped");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "it is stopped");
        end(&w);
}

static void lost_link(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_reach(&w, false);
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "running", "a lost link never means a dead job");
        act(&w, "stop", id, NULL);
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
        end(&w);
}

static void failures(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
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
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        (void)json_object_clear(w.checkpoints);
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "with its checkpoint deleted a resume fails");
        tap_has(world_job(&w, id, "message"), "ckp_", "by name");
        end(&w);
}

static void leases(void)
{
        struct world w;
        char id[40];
        size_t before;

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_ok(w.leases >= 1 && w.stop_wall_us > w.wall_us + 50 * MIN, "P-11 the hard stop is about an hour ahead");
        before = w.leases;
        world_run(&w, HOUR);
        tap_ok(w.leases - before >= 5 && w.leases - before <= 7, "P-11 renewed every 10 minutes (%zu an hour)",
                w.leases - before);
        tap_ok(w.stop_wall_us > w.wall_us + 45 * MIN, "P-11 and stays ahead");
        end(&w);
}

static void queueing(void)
{
        struct world w;
        char id[12][40];
        int running = 0;

        if (!begin(&w, "{}"))
                return;
        for (int i = 0; i < 12; i++)
                world_submit(&w, "{}", id[i]);
        world_run(&w, MIN);
        for (int i = 0; i < 12; i++)
                running += streq(world_job(&w, id[i], "state"), "running");
        tap_int(running, 8, "8 jobs of a core run on 8 cores, the rest waits");
        tap_has(world_job(&w, id[11], "waiting"), "cores free", "and says for what");
        for (int i = 0; i < 8; i++)
                sim_exit(&w, world_sim(&w, id[i]), 0, 0, "");
        world_run(&w, MIN);
        tap_str(world_job(&w, id[11], "state"), "running", "a free core takes the next");
        act(&w, "explain", id[11], NULL);
        end(&w);
}

static void pruning(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 59 * DAY);
        tap_str(world_job(&w, id, "result"), "succeeded", "F-12 an ended job stays visible for 60 days");
        world_run(&w, 2 * DAY);
        tap_has(world_job(&w, id, "result"), "no job", "F-12 and is gone after them");
        end(&w);
}

/* What is refused at submit leaves nothing behind: no job, no decision, no key. */
static void refused_submits(void)
{
        static const char *const bodies[] = {
                "{}",
                "{\"spec\": 3}",
                "{\"spec\": {}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\"}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": []}}",
                "{\"spec\": {\"image\": \"nowhere\", \"command\": [\"x\"]}}",
                "{\"spec\": {\"command\": [\"x\"]}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"], \"memmory\": \"1GiB\"}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"], \"memory\": \"72\"}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"], \"gpus\": 9}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"], \"cpus\": \"64\"}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"]}, \"settings\": {\"flag\": {\"ttl\": "
                "\"72\"}}}",
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"]}, \"settings\": {\"flag\": "
                "{\"idle.afer\": \"1h\"}}}",
        };
        struct world w;
        struct reply r;

        if (!begin(&w, "{}"))
                return;
        world_run(&w, USEC_PER_SEC);
        for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
                json_error_t e;

                world_ask(&w, "submit", NULL, json_loads(bodies[i], 0, &e), "key-of-a-bad-one", &r);
                tap_ok(r.err.code == PD_E_INVALID && strlen(r.err.text) > 20, "refused with a sentence: %s", bodies[i]);
                if (r.err.code != PD_E_INVALID)
                        tap_note("code %d: %s", (int)r.err.code, r.err.text);
                reply_clear(&r);
        }
        world_ask(&w, "list", NULL, json_pack("{s:b}", "all", 1), NULL, &r);
        tap_int((long long)json_array_size(json_object_get(r.body, "jobs")), 0, "and the store is as it was");
        reply_clear(&r);
        world_ask(&w, "submit", NULL, json_pack("{s:{s:s,s:[s]}}", "spec", "image", "oci:/srv/i", "command", "x"),
                "key-of-a-bad-one", &r);
        tap_int(r.err.code, PD_OK, "law 16 the key of a refused request is free");
        reply_clear(&r);
        end(&w);
}

/* What the simulated world found (world_swarm_test), as scenes of its own. */
static void clock_steps(void)
{
        struct world w;
        char id[40], idle_id[40];

        if (!begin(&w, "{}"))
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
                measures_once(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, idle_id, "state"), "running", "law 15 P-09 a step of the wall clock is no idleness");
        end(&w);
}

static void no_answer(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        w.rate[FAULT_REQUEST_LOST] = 10000;
        world_submit(&w, "{}", id);
        world_run(&w, USEC_PER_SEC);
        w.rate[FAULT_REQUEST_LOST] = 0;
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running",
                "law 23 a request without an answer is asked again on the same stream");
        w.rate[FAULT_ANSWER_LOST] = 10000;
        act(&w, "stop", id, NULL);
        w.rate[FAULT_ANSWER_LOST] = 0;
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "law 23 and one whose answer was lost is done once");
        tap_int((long long)w.starts, 1, "law 1 it was started once");
        end(&w);
}

static void outlived(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        w.rate[FAULT_ANSWER_LOST] = 10000;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        w.rate[FAULT_ANSWER_LOST] = 0;
        tap_str(world_job(&w, id, "state"), "running", "an event tells what the lost answer of its start did not");
        sim_state_lost(&w);
        world_reach(&w, true);
        world_run(&w, 10 * MIN);
        tap_int((long long)w.starts, 1, "law 18 a start that its job has outlived is not sent again");
        tap_str(world_job(&w, id, "cause"), "machine_lost", "and the job is lost with its machine's state");
        end(&w);
}

static void refused_limit(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        w.stop_us = 15 * USEC_PER_SEC;
        w.refuse_path = "model.lock";
        world_submit(&w, "{\"ttl\": \"1h\"}", id);
        world_run(&w, HOUR + 2 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped",
                "P-01 P-25 a limit whose save is refused ends the job all the same");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 cause ttl");
        tap_ok(w.saves <= 2, "law 26 and the save is not tried again and again (%zu)", w.saves);
        end(&w);
}

/* It started, ran, and was saved by its runner's standing orders, all while portald looked away: that save counts. */
static void saved_while_away(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
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
        end(&w);
}

/* A stop that meets a restore which fails leaves no operation on the job: it can be resumed and stopped again. */
static void stopped_in_restore(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        w.start_error = "INVALID";
        act(&w, "resume", id, NULL);
        world_run(&w, 100 * USEC_PER_MSEC);
        act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "a stop during a restore ends it");
        w.start_error = NULL;
        world_submit(&w, "{\"ttl\": \"10m\"}", id);
        world_run(&w, 20 * MIN);
        tap_str(world_job(&w, id, "cause"), "ttl", "stopped with its checkpoint kept");
        w.start_error = "INVALID";
        act(&w, "resume", id, NULL);
        world_run(&w, 100 * USEC_PER_MSEC);
        act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        w.start_error = NULL;
        act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, MIN);
        act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "ended", "P-26 it can be resumed and stopped again");
        end(&w);
}

/* Many jobs that fit nowhere do not keep the next one waiting. */
static void starvation(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!begin(&w, "{}"))
                return;
        world_run(&w, USEC_PER_SEC);
        for (int i = 0; i < 70; i++) {
                world_ask(&w, "submit", NULL,
                        json_pack("{s:{s:s,s:[s],s:s}}", "spec", "image", "oci:/srv/i", "command", "x", "on",
                                "elsewhere"),
                        NULL, &r);
                reply_clear(&r);
        }
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "running", "no starvation: the 71st job runs past 70 that fit nowhere");
        end(&w);
}

int main(void)
{
        saved_while_away();
        stopped_in_restore();
        starvation();
        clock_steps();
        no_answer();
        outlived();
        refused_limit();
        refused_submits();
        pruning();
        runs_and_ends();
        notice();
        suspend_resume();
        refusal();
        ttl();
        ttl_on_the_clock();
        idle();
        idempotent();
        restarts();
        lost_link();
        failures();
        leases();
        queueing();
        return tap_done();
}
