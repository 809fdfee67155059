/* SPDX-License-Identifier: Apache-2.0 */
/* What the API's verbs answer, member by member, with the engine and the store in virtual time. */
#include "world/scene.h"

/* One answer; the next ask frees it. */
static struct reply last;

static const json_t *ask(struct world *w, const char *verb, const char *target, json_t *args)
{
        reply_clear(&last);
        world_ask(w, verb, target, args, NULL, &last);
        return last.body;
}

static const json_t *in(const json_t *o, const char *key)
{
        return json_object_get(o, key);
}

static long long number(const json_t *o, const char *key)
{
        return (long long)js_int(o, key, -77);
}

static void end(struct world *w)
{
        reply_clear(&last);
        scene_end(w);
}

static void shown(void)
{
        struct world w;
        const json_t *o;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        w.save_us = 2 * USEC_PER_SEC;
        world_submit(&w, "{\"ttl\": \"10h\"}", id);
        world_run(&w, 20 * MIN);
        scene_measures(&w);
        world_run(&w, USEC_PER_SEC);
        o = ask(&w, "show", id, NULL);
        tap_int(number(in(o, "rate"), "nano_hour"), 100000000, "show: a running job has its machine's rate");
        tap_str(js_str(in(o, "rate"), "currency", ""), "USD", "show: and its currency");
        tap_ok(number(in(o, "measures"), "at_wall_us") > 0, "show: what was measured, and when");
        tap_ok(number(in(o, "measures"), "cpu_us") > 0, "show: its CPU time");
        tap_ok(number(o, "ran_us") > 19 * MIN && number(o, "ran_us") < 21 * MIN, "P-01 show: it ran for 20 min");
        tap_int(number(o, "ttl_us"), 10 * HOUR, "P-01 show: its ttl");
        tap_int(number(o, "cpu_milli"), 1000, "show: what it asked for");
        tap_ok(in(o, "exit_code") == NULL, "show: no exit code while it runs");
        tap_has(js_str(o, "machine", ""), "mch_", "show: on which machine");
        tap_ok(in(o, "checkpoint") == NULL, "show: no checkpoint yet");
        scene_act(&w, "suspend", id, json_pack("{s:i}", "wait_ms", 20000));
        o = ask(&w, "show", id, NULL);
        tap_has(js_str(in(o, "checkpoint"), "id", ""), "ckp_", "P-24 show: its checkpoint");
        tap_ok(number(in(o, "checkpoint"), "bytes") > 0 && number(in(o, "checkpoint"), "wall_us") > 0,
                "P-24 show: how large it is, and of when");
        tap_str(js_str(in(o, "checkpoint"), "capture", ""), "values", "show: how it was made");
        tap_int((long long)json_array_size(in(o, "checkpoints")), 1, "show: the list of them");
        tap_ok(in(o, "rate") == NULL, "show: a suspended job pays no machine");
        tap_int(number(o, "ttl_wall_us") - number(o, "created_wall_us"), 10 * HOUR,
                "P-02 show: it ends a ttl after its term began");
        scene_act(&w, "resume", id, json_pack("{s:i}", "wait_ms", 20000));
        world_run(&w, 10 * MIN);
        sim_exit(&w, world_sim(&w, id), 3, 0, "");
        world_run(&w, MIN);
        o = ask(&w, "show", id, NULL);
        tap_int(number(o, "exit_code"), 3, "show: the code of one that ended");
        tap_int(number(o, "signal"), 0, "show: and its signal");
        tap_str(js_str(o, "result", ""), "failed", "show: a code that is not 0 is a failure");
        end(&w);
}

static void never_ran(void)
{
        struct world w;
        const json_t *o;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_reach(&w, false);
        world_run(&w, MIN);
        world_submit(&w, "{}", id);
        o = ask(&w, "show", id, NULL);
        tap_has(js_str(o, "waiting", ""), "is not reachable", "a job waits for a machine that is away, and says so");
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        o = ask(&w, "show", id, NULL);
        tap_str(js_str(o, "result", ""), "stopped", "P-26 a job that waits is stopped at once");
        tap_ok(in(o, "exit_code") == NULL, "show: one that never ran has no code");
        o = ask(&w, "logs", id, json_pack("{s:i}", "wait_ms", 60000));
        tap_ok(last.done && js_bool(o, "eof", false), "logs: nothing, and no more will come");
        end(&w);
}

static void lists(void)
{
        struct world w;
        const json_t *o;
        char id[3][40];

        if (!scene_begin(&w, "{}"))
                return;
        for (int i = 0; i < 3; i++) {
                world_submit(&w, "{}", id[i]);
                world_run(&w, USEC_PER_SEC);
        }
        world_run(&w, MIN);
        sim_exit(&w, world_sim(&w, id[0]), 0, 0, "");
        world_run(&w, MIN);
        o = ask(&w, "list", NULL, NULL);
        tap_int((long long)json_array_size(in(o, "jobs")), 2, "list: those that have not ended");
        tap_ok(json_is_null(in(o, "next")), "list: all of them");
        o = ask(&w, "list", NULL, json_pack("{s:i,s:b}", "limit", 2, "all", 1));
        tap_int((long long)json_array_size(in(o, "jobs")), 2, "list: at most as many as asked for");
        tap_str(js_str(json_array_get(in(o, "jobs"), 0), "id", ""), id[2], "list: the newest first");
        tap_str(js_str(o, "next", ""), id[1], "list: and where to go on");
        o = ask(&w, "list", NULL, json_pack("{s:i,s:b,s:s}", "limit", 2, "all", 1, "before", id[1]));
        tap_int((long long)json_array_size(in(o, "jobs")), 1, "list: the rest");
        tap_ok(json_is_null(in(o, "next")), "list: which is the last of it");
        (void)ask(&w, "list", NULL, json_pack("{s:i}", "limit", 1000));
        tap_int(last.err.code, PD_OK, "list: 1000 at once are possible");
        (void)ask(&w, "list", NULL, json_pack("{s:i}", "limit", 1001));
        tap_has(last.err.text, "from 1 to 1000", "list: 1001 are not");
        (void)ask(&w, "list", NULL, json_pack("{s:i}", "limit", 0));
        tap_has(last.err.text, "from 1 to 1000", "list: nor are 0");
        (void)ask(&w, "list", NULL, json_pack("{s:i}", "limit", 1));
        tap_int(last.err.code, PD_OK, "list: 1 is");
        end(&w);
}

static const json_t *line_of(const json_t *o, const char *name)
{
        size_t i;
        json_t *v;

        json_array_foreach (in(o, "lines"), i, v)
                if (streq(js_str(v, "name", ""), name))
                        return v;
        return NULL;
}

static void checks(void)
{
        struct world w;
        const json_t *o;

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        o = ask(&w, "check", NULL, NULL);
        tap_str(js_str(line_of(o, "store"), "result", ""), "ok", "check: the store");
        tap_str(js_str(line_of(o, "lab"), "text", ""), "reconciled", "check: the connection");
        tap_str(js_str(line_of(o, "lab/here/host"), "text", ""), "reached", "check: the machine");
        tap_int((long long)json_array_size(in(o, "lines")), 6, "check: and a line for each capture there");
        o = ask(&w, "status", NULL, NULL);
        tap_str(js_str(json_array_get(in(o, "connections"), 0), "state", ""), "ready", "status: its connections");
        tap_int(number(json_array_get(in(o, "connections"), 0), "machines"), 1, "status: with their machines");
        tap_str(js_str(o, "user", ""), "ada", "status: who asks");
        world_reach(&w, false);
        world_run(&w, MIN);
        o = ask(&w, "check", NULL, NULL);
        tap_str(js_str(line_of(o, "lab/here/host"), "result", ""), "fail", "check: a machine that is away fails");
        tap_has(js_str(line_of(o, "lab/here/host"), "fix", ""), "portal-runner", "check: and says what to look at");
        o = ask(&w, "machines", NULL, NULL);
        tap_int((long long)json_array_size(in(o, "machines")), 1, "machines: one is there");
        o = ask(&w, "offers", NULL, NULL);
        tap_str(js_str(json_array_get(in(o, "offers"), 0), "name", ""), "lab/here/host", "offers: by name");
        tap_ok(!js_bool(json_array_get(in(o, "offers"), 0), "usable", true), "offers: not usable while it is away");
        o = ask(&w, "plugins", NULL, NULL);
        tap_int((long long)json_array_size(in(o, "plugins")), 5, "plugins: a provider, three captures, a vault");
        (void)ask(&w, "dance", NULL, NULL);
        tap_has(last.err.text, "\"dance\" is not something", "an unknown verb is refused by name");
        tap_int(last.err.code, PD_E_UNSUPPORTED, "and by code");
        end(&w);
}

static void notices(void)
{
        struct world w;
        const json_t *o;
        char id[40], later[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        (void)ask(&w, "notice", "lab", json_pack("{s:s}", "in", "25h"));
        tap_has(last.err.text, "from 0s to 24h", "notice: 25 h are too far away");
        (void)ask(&w, "notice", "elsewhere", json_pack("{s:s}", "in", "2m"));
        tap_has(last.err.text, "no machine \"elsewhere\"", "notice: an unknown machine, by name");
        (void)ask(&w, "notice", "lab", json_pack("{s:s}", "in", "soon"));
        tap_ok(last.err.code != PD_OK, "notice: a time that is none");
        o = ask(&w, "notice", "lab/here/host", json_pack("{s:s}", "in", "24h"));
        tap_int(last.err.code, PD_OK, "notice: 24 h are possible");
        tap_str(js_str(o, "state", ""), "notice", "notice: it is told as the machine's state");
        tap_int(number(o, "notice_wall_us") - w.wall_us, 24 * HOUR, "notice: until when");
        world_run(&w, MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 its jobs are saved");
        world_submit(&w, "{}", later);
        tap_has(world_job(&w, later, "waiting"), "gave notice, and takes no job for another 23h",
                "a job waits, and says for how long");
        tap_int(world_restart(&w), 0, "a restart");
        world_run(&w, MIN);
        tap_str(world_job(&w, later, "state"), "queued",
                "P-04 a machine that gave notice takes nothing, after a restart too");
        world_reach(&w, false);
        world_run(&w, USEC_PER_SEC);
        (void)ask(&w, "notice", "lab", json_pack("{s:s}", "in", "2m"));
        tap_has(last.err.text, "cannot be reached", "notice: its runner must hear of it");
        end(&w);
}

static void questions(void)
{
        struct world w;
        const json_t *o;
        char id[40];
        int64_t before;

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        before = w.boot_us;
        o = ask(&w, "logs", id, json_pack("{s:i}", "wait_ms", 20000));
        tap_ok(last.done && last.err.code == PD_OK && !js_bool(o, "eof", true), "logs: a job that starts has none yet");
        tap_ok(w.boot_us - before < 2 * USEC_PER_SEC, "logs: and is soon asked again");
        (void)ask(&w, "precheck", id, NULL);
        tap_has(last.err.text, "only a running job can be asked", "precheck: not before it runs");
        world_run(&w, MIN);
        o = ask(&w, "precheck", id, NULL);
        tap_ok(js_bool(o, "usable", false), "P-21 precheck: asked of its runner");
        tap_ok(in(o, "ok") == NULL, "precheck: without the frame's own members");
        (void)ask(&w, "precheck", "job_none", NULL);
        tap_int(last.err.code, PD_E_NOT_FOUND, "precheck: no such job");
        world_reach(&w, false);
        world_run(&w, USEC_PER_SEC);
        (void)ask(&w, "precheck", id, NULL);
        tap_has(last.err.text, "cannot be reached", "precheck: its machine is away");
        end(&w);
}

static json_t *body(void)
{
        return json_pack(
                "{s:{s:s,s:[s]},s:{}}", "spec", "image", "oci:/srv/images/debian", "command", "train", "settings");
}

static void plans(void)
{
        struct world w;
        const json_t *o;
        json_t *dry = body(), *held = body(), *large = body();

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        o = in(ask(&w, "plan", NULL, body()), "plan");
        tap_str(js_str(o, "offer", ""), "lab/here/host", "plan: where it would run");
        tap_int(number(in(o, "price"), "nano_hour"), 12500000, "plan: its share of the machine's price");
        tap_has(js_str(o, "ttl", ""), "after 72h", "P-01 plan: when it is stopped");
        tap_int((long long)json_array_size(in(o, "warnings")), 0, "plan: nothing to warn of");
        tap_int((long long)json_array_size(in(ask(&w, "list", NULL, NULL), "jobs")), 0, "plan: and no job is made");
        (void)json_object_set_new(dry, "dry_run", json_integer(1));
        (void)ask(&w, "submit", NULL, dry);
        tap_int((long long)json_array_size(in(ask(&w, "list", NULL, NULL), "jobs")), 0, "submit: a dry run makes none");
        (void)json_object_set_new(json_object_get(held, "settings"), "flag", json_pack("{s:s}", "cheaper", "off"));
        o = in(ask(&w, "plan", NULL, held), "plan");
        tap_has(json_string_value(json_array_get(in(o, "warnings"), 0)), "return stays on",
                "P-18 cheaper off and return on is said");
        (void)json_object_set_new(json_object_get(large, "spec"), "cpus", json_string("64"));
        (void)ask(&w, "plan", NULL, large);
        tap_has(last.err.text, "can ever take it", "plan: a job that no machine can take is refused");
        end(&w);
}

static void kills(void)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        w.stop_us = HOUR;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "ending", "stop: its grace goes on");
        tap_int((long long)w.stops, 1, "stop: one request");
        scene_act(&w, "stop", id, json_pack("{s:b}", "force", 1));
        scene_act(&w, "stop", id, json_pack("{s:b}", "force", 1));
        world_run(&w, USEC_PER_SEC);
        tap_int((long long)w.stops, 2, "P-26 stop --force: a second one, without a grace, and twice is once");
        world_run(&w, 2 * HOUR);
        tap_str(world_job(&w, id, "result"), "stopped", "stop --force: it has ended");
        end(&w);
}

int main(void)
{
        shown();
        never_ran();
        lists();
        checks();
        notices();
        questions();
        plans();
        kills();
        return tap_done();
}
