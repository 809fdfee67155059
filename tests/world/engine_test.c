/* SPDX-License-Identifier: Apache-2.0 */
/* The engine, the policies and the store together, with time in our hands: what they do when nothing goes wrong. */
#include "world/scene.h"

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

        if (!scene_begin(&w, "{}"))
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
        scene_end(&w);
}

/* More than the first table of jobs takes: each is found under its id. */
static void many(void)
{
        enum { MANY = 150 };
        static char id[MANY][40];
        struct world w;
        int found = 0;

        if (!scene_begin(&w, "{}"))
                return;
        for (int i = 0; i < MANY; i++)
                world_submit(&w, "{}", id[i]);
        world_run(&w, MIN);
        for (int i = 0; i < MANY; i++) {
                const char *state = world_job(&w, id[i], "state");

                found += streq(state, "running") || streq(state, "queued");
        }
        tap_int(found, MANY, "S-01 each of many jobs is found by its id");
        scene_end(&w);
}

static void notice(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        world_notice(&w, 2 * MIN);
        world_run(&w, 10 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 a notice saves and suspends");
        tap_str(world_job(&w, id, "cause"), "notice", "P-04 and says why");
        tap_has(world_job(&w, id, "message"), "saved at step ", "P-04 and where it was saved");
        world_run(&w, 30 * DAY);
        tap_int((long long)w.starts, 1, "N-01 law 5 it is never resumed by itself");
        scene_end(&w);
}

static void suspend_resume(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "P-26 a user suspends");
        tap_has(world_job(&w, id, "resume_line"), "portal resume job_", "P-24 it says how to go on");
        scene_act(&w, "suspend", id, NULL);
        tap_int((long long)w.saves, 1, "P-26 suspended twice is once");
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running", "P-24 resume runs it again");
        tap_int(world_job_int(&w, id, "generation"), 2, "law 18 under a new generation");
        tap_ok(js_str(json_object_get(world_sim(&w, id)->order, "restore"), "checkpoint", NULL) != NULL,
                "P-24 from its checkpoint");
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, USEC_PER_SEC);
        tap_int((long long)json_object_size(w.checkpoints), 1, "law 12 of two checkpoints the newest is kept");
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running", "law 12 and a resume takes it");
        scene_act(&w, "stop", id, NULL);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "P-26 stop ends it");
        tap_int((long long)w.stops, 1, "P-26 and twice is once");
        scene_end(&w);
}

static void refusal(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!scene_begin(&w, "{}"))
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
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "suspended", "P-21 without the value it is suspended");
        scene_end(&w);
}

static void ttl(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"ttl\": \"2h\"}", id);
        world_run(&w, HOUR);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 30 * MIN);
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 59 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-01 suspended time does not count");
        world_run(&w, 3 * MIN);
        tap_str(world_job(&w, id, "state"), "ended", "P-01 running time summed over placements ends it");
        tap_str(world_job(&w, id, "result"), "stopped", "P-01 as stopped");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 cause ttl");
        world_run(&w, 6 * DAY);
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_str(world_job(&w, id, "state"), "running",
                "P-01 P-02 the checkpoint is kept 7 days: a resume starts a new term");
        tap_ok(world_job_int(&w, id, "ran_us") < MIN, "P-02 with running time from 0");
        scene_end(&w);
}

static void ttl_on_the_clock(void)
{
        struct world w;
        char id[40], other[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"ttl\": \"2h\"}", id);
        world_run(&w, MIN);
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
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
        scene_act(&w, "suspend", other, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 3 * DAY - MIN);
        tap_str(world_job(&w, other, "state"), "suspended", "P-03 a checkpoint lives 3 days");
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, other, "result"), "failed", "P-03 then the job fails");
        tap_str(world_job(&w, other, "cause"), "expired", "P-03 cause expired");
        scene_end(&w);
}

/* The sentence of a policy's newest decision; good until the next call. */
static const char *why_of(struct world *w, const char *id, const char *policy)
{
        static char why[300];
        struct reply r;
        json_t *d;
        size_t i;

        why[0] = '\0';
        world_ask(w, "explain", id, NULL, NULL, &r);
        json_array_foreach (json_object_get(r.body, "decisions"), i, d)
                if (streq(js_str(d, "policy", ""), policy))
                        (void)str_format(why, sizeof why, "%s", js_str(d, "why", ""));
        reply_clear(&r);
        return why;
}

static void idle(void)
{
        struct world w;
        char id[40];
        int minutes = 0;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * USEC_PER_SEC);
        for (int i = 0; i < 6 * 60; i++) {
                scene_measures(&w);
                world_run(&w, 10 * USEC_PER_SEC);
        }
        tap_str(world_job(&w, id, "state"), "running", "P-09 a job that works is left alone");
        w.idle = true;
        while (minutes < 60 && streq(world_job(&w, id, "state"), "running")) {
                for (int i = 0; i < 6; i++) {
                        scene_measures(&w);
                        world_run(&w, 10 * USEC_PER_SEC);
                }
                minutes++;
        }
        tap_ok(minutes >= 30 && minutes <= 33, "P-09 30 minutes without progress and CPU suspend it (after %d)",
                minutes);
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "cause"), "idle", "P-09 cause idle");
        tap_has(why_of(&w, id, "idle"), "no progress for 30m", "P-09 a job that reports is idle by its reports");

        w.idle = true;
        world_submit(&w, "{}", id);
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-09 a job that is not measured counts as active");
        scene_end(&w);
}

static void idempotent(void)
{
        struct world w;
        struct reply a, b, c, d;

        if (!scene_begin(&w, "{}"))
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
        world_ask(&w, "submit", NULL,
                json_pack("{s:{s:s,s:[s]}}", "spec", "image", "oci:/srv/i", "command", "/opt/az-09"), "key-2", &d);
        tap_has(js_str(json_object_get(d.body, "job"), "name", ""), "az09-",
                "a job without a name is called by its command's letters and digits");
        reply_clear(&d);
        reply_clear(&a);
        reply_clear(&b);
        reply_clear(&c);
        scene_end(&w);
}

static void leases(void)
{
        struct world w;
        char id[40];
        size_t before;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_ok(w.leases >= 1 && w.lab->stop_wall_us > w.wall_us + 50 * MIN,
                "P-11 the hard stop is about an hour ahead");
        before = w.leases;
        world_run(&w, HOUR);
        tap_ok(w.leases - before >= 5 && w.leases - before <= 7, "P-11 renewed every 10 minutes (%zu an hour)",
                w.leases - before);
        tap_ok(w.lab->stop_wall_us > w.wall_us + 45 * MIN, "P-11 and stays ahead");
        scene_end(&w);
}

static void queueing(void)
{
        struct world w;
        char id[12][40];
        int running = 0;

        if (!scene_begin(&w, "{}"))
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
        scene_act(&w, "explain", id[11], NULL);
        scene_end(&w);
}

static void pruning(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 59 * DAY);
        tap_str(world_job(&w, id, "result"), "succeeded", "F-12 an ended job stays visible for 60 days");
        world_run(&w, 2 * DAY);
        tap_has(world_job(&w, id, "result"), "no job", "F-12 and is gone after them");
        scene_end(&w);
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

        if (!scene_begin(&w, "{}"))
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
        scene_end(&w);
}

/* Many jobs that fit nowhere do not keep the next one waiting. */
static void starvation(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!scene_begin(&w, "{}"))
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
        scene_end(&w);
}

int main(void)
{
        starvation();
        refused_submits();
        pruning();
        runs_and_ends();
        many();
        notice();
        suspend_resume();
        refusal();
        ttl();
        ttl_on_the_clock();
        idle();
        idempotent();
        leases();
        queueing();
        return tap_done();
}
