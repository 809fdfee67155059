/* SPDX-License-Identifier: Apache-2.0 */
/* What owners are told, and when, with the engine and the store in virtual time. */
#include "tap.h"
#include "simulate/world.h"

#define MIN USEC_PER_MIN
#define HOUR USEC_PER_HOUR

static json_t *told;
static struct env_ops ops;

static void on_tell(struct env *e, const json_t *event)
{
        (void)e;
        (void)json_array_append_new(told, json_deep_copy(event));
}

static void listen_in(struct world *w)
{
        ops = *w->env.ops;
        ops.tell = on_tell;
        w->env.ops = &ops;
}

static bool begin(struct world *w)
{
        js_owned *site = json_object();

        told = json_array();
        if (!tap_ok(world_new(w, site) == 0, "a world begins"))
                return false;
        listen_in(w);
        return true;
}

static void end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges");
        world_free(w);
        json_decref(told);
}

/* How many of a kind, and the newest of it. */
static int of_kind(const char *kind, const json_t **ret_last)
{
        const json_t *v;
        size_t i;
        int n = 0;

        *ret_last = NULL;
        json_array_foreach (told, i, v)
                if (streq(js_str(v, "kind", ""), kind)) {
                        *ret_last = v;
                        n++;
                }
        return n;
}

static void act(struct world *w, const char *verb, const char *id)
{
        struct reply r;

        world_ask(w, verb, id, json_pack("{s:i}", "wait_ms", 20000), NULL, &r);
        if (r.err.code)
                tap_note("%s: %s", verb, r.err.text);
        reply_clear(&r);
}

static void changes(void)
{
        const json_t *e;
        struct world w;
        char id[40], line[80];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_int((long long)json_array_size(told), 0, "nobody is told that all is well");
        w.refuse_path = "model.lock";
        act(&w, "suspend", id);
        tap_int(of_kind("refused", &e), 1, "P-21 a refused save is told");
        tap_has(js_str(e, "text", ""), "model.lock", "P-21 by the value's name");
        w.refuse_path = NULL;
        world_notice(&w, 2 * MIN);
        world_run(&w, MIN);
        tap_int(of_kind("suspended", &e), 1, "P-04 a suspension is told");
        (void)str_format(line, sizeof line, "portal resume %s", id);
        tap_str(js_str(e, "resume_line", ""), line, "P-04 with the line that continues it");
        tap_str(js_str(e, "user", ""), "ada", "to its owner");
        tap_str(js_str(e, "cause", ""), "notice", "with its cause");
        tap_str(js_str(e, "deadline", ""), "ttl", "P-02 P-03 and the earlier of both deadlines");
        tap_ok(js_int(e, "deadline_wall_us", 0) > w.wall_us + 71 * HOUR, "P-02 which is its time limit on the clock");
        tap_int((long long)strlen(js_str(e, "message_id", "")), 32, "under a message id");
        act(&w, "stop", id);
        tap_int(of_kind("stopped", &e), 1, "an end is told");
        world_run(&w, MIN);
        world_submit(&w, "{}", id);
        world_run(&w, 3 * MIN);
        sim_exit(&w, world_sim(&w, id), 3, 0, "");
        world_run(&w, MIN);
        tap_int(of_kind("failed", &e), 1, "a failure is told");
        tap_str(js_str(e, "resume_line", "none"), "none", "and cannot be resumed");
        tap_int((long long)json_array_size(told), 4, "and nothing is told twice");
        end(&w);
}

/* A policy that wants to act and cannot: its owner hears of it once. */
static void warnings(void)
{
        const json_t *e;
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        sim_tick_start(&w);
        w.refuse_path = "model.lock";
        world_submit(&w, "{\"budget\": \"0.02usd\"}", id);
        while (w.saves == 0 && world_step(&w, INT64_MAX))
                ;
        world_run(&w, 3 * MIN);
        tap_ok(of_kind("refused", &e) > 0, "P-25 a job near its budget that cannot be saved: the refusal is told");
        tap_ok(of_kind("warning", &e) > 0, "P-25 and that it is tried again");
        tap_has(js_str(e, "text", ""), "budget: ", "P-25 by its policy");
        end(&w);
}

static void deadlines(void)
{
        const json_t *e;
        struct world w;
        char id[40], early[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_submit(&w, "{\"ttl\": \"5h\"}", early);
        world_run(&w, MIN);
        act(&w, "suspend", id);
        act(&w, "suspend", early);
        world_run(&w, 2 * HOUR + 55 * MIN);
        tap_int(of_kind("deadline", &e), 0, "within 24 h of its deadline when it was suspended: told then");
        world_run(&w, 10 * MIN);
        tap_int(of_kind("deadline", &e), 1, "2 h before the deadline its owner is told");
        tap_has(js_str(e, "text", ""), "by its time limit", "P-02 with what ends it");
        tap_has(js_str(e, "resume_line", ""), early, "and how to go on");
        world_run(&w, 44 * HOUR);
        tap_int(of_kind("deadline", &e), 1, "more than 24 h before nobody is told");
        world_run(&w, 2 * HOUR);
        tap_int(of_kind("deadline", &e), 2, "24 h before the deadline its owner is told");
        tap_has(js_str(e, "job", ""), id, "of that job");
        tap_int(world_restart(&w), 0, "a restart");
        listen_in(&w);
        world_run(&w, 20 * HOUR);
        tap_int(of_kind("deadline", &e), 2, "S-01 a restart does not tell it again");
        world_run(&w, 4 * HOUR);
        tap_int(of_kind("deadline", &e), 3, "and 2 h before once more");
        world_run(&w, 3 * HOUR);
        tap_int(of_kind("stopped", &e), 2, "P-02 then it ends, and that is told");
        tap_has(js_str(e, "resume_line", ""), "portal resume", "P-01 and how long it can be resumed");
        end(&w);
}

int main(void)
{
        warnings();
        changes();
        deadlines();
        return tap_done();
}
