/* SPDX-License-Identifier: Apache-2.0 */
/* One setting: a world, its cloud, its jobs, and their user. A minute is the grain of the user's eye and of the work. */
#include "tryout/tryout.h"

#include <stdio.h>

#include "simulate/cloud.h"

#define MINUTE USEC_PER_MIN
#define LOOK_MINUTES 10     /* at a job of which nothing was heard */
#define READY_MAX (10 * 60) /* looks of a second until the cloud has been reconciled */

struct run {
        const struct try_plan *plan;
        struct world w;
        struct world_connection *cloud;
        struct try_result *result;
        const struct try_watch *watch;
        struct engine_watch *changes;
};

void try_result_clear(struct try_result *r)
{
        vec_foreach (l, &r->lives)
                json_decref(l->explain);
        vec_free(&r->lives);
        json_decref(r->lines);
        *r = (struct try_result){ 0 };
}

static int64_t memory_of(struct world *w, const char *job)
{
        const struct try_result *r = ((struct run *)((char *)w - offsetof(struct run, w)))->result;

        vec_foreach (l, &r->lives)
                if (streq(l->id, job))
                        return l->job->state_bytes;
        return 0;
}

static void on_job(void *arg, struct id job, uint32_t uid, const json_t *job_json)
{
        struct run *r = arg;

        (void)job;
        (void)uid;
        vec_foreach (l, &r->result->lives)
                l->changed |= streq(l->id, js_str(job_json, "id", ""));
}

/* --- the user --- */
static int ask(struct run *r, const char *verb, const char *target, json_t *args, struct pd_error *err)
{
        struct reply reply;
        int code;

        world_ask(&r->w, verb, target, args, NULL, &reply);
        code = reply.done ? -(int)reply.err.code : pd_fail(err, PD_E_DEADLINE, "\"%s\" was not answered", verb);
        if (reply.err.code)
                *err = reply.err;
        reply_clear(&reply);
        return code;
}

static int submit(struct run *r, struct try_life *l, struct pd_error *err)
{
        js_owned *spec = json_deep_copy(l->job->spec);
        struct reply reply;

        (void)json_object_set_new(spec, "name", json_string(l->job->name));
        (void)json_object_set_new(spec, "project", json_string(l->job->name)); /* its settings can be changed alone */
        world_ask(&r->w, "submit", NULL, json_pack("{s:O,s:{s:O}}", "spec", spec, "settings", "flag", l->job->settings),
                NULL, &reply);
        l->submitted = true;
        l->submitted_wall_us = r->w.wall_us;
        if (reply.err.code) {
                const json_t *fault = json_array_get(json_object_get(reply.body, "faults"), 0);

                (void)pd_fail(
                        err, reply.err.code, "job %s: %s %s", l->job->name, reply.err.text, js_str(fault, "text", ""));
                reply_clear(&reply);
                return -(int)err->code;
        }
        (void)str_format(l->id, sizeof l->id, "%s", js_str(json_object_get(reply.body, "job"), "id", ""));
        l->changed = true;
        reply_clear(&reply);
        return 0;
}

/* The last instant that still meets its deadline has come: from now on on demand, and no way back to spot. */
static void last_instant(struct run *r, struct try_life *l)
{
        int64_t left = l->job->work_us - l->worked * MINUTE;
        int64_t until = l->submitted_wall_us + l->job->deadline_us;
        struct pd_error err;

        if (!l->job->deadline_us || l->last_instant || r->w.wall_us + left + 2 * r->plan->overhead_us < until)
                return;
        l->last_instant = true;
        (void)ask(r, "settings_change", NULL,
                json_pack("{s:s,s:{s:s}}", "project", l->job->name, "settings", "spot.use", "off"), &err);
}

/* A refusal is not asked for again before the delay is over once more. */
static void resume(struct run *r, struct try_life *l)
{
        struct pd_error err;

        if (!l->suspended_wall_us || (!l->last_instant && r->w.wall_us - l->suspended_wall_us < r->plan->resume_us))
                return;
        l->suspended_wall_us = r->w.wall_us;
        if (ask(r, "resume", l->id, NULL, &err) == 0)
                l->resumes++;
}

/* Once, of the demo's first job: to suspend while it holds what cannot be carried. */
static void try_refused(struct run *r, struct try_life *l)
{
        struct pd_error err;

        if (!r->plan->demo || l != r->result->lives.at || l->tried || l->worked < 90 || !streq(l->state, "running"))
                return;
        l->tried = true;
        r->w.refuse_path = "loader.lock";
        (void)ask(r, "suspend", l->id, NULL, &err);
        world_run(&r->w, 3 * MINUTE);
        r->w.refuse_path = NULL;
}

/* --- the work --- */
static bool on_demand(const struct run *r, const struct sim_job *s)
{
        const struct cloud_machine *m = cloud_machine(world_cloud_of(r->cloud), s->machine->name);
        struct pd_offer o;

        return m && cloud_offer(world_cloud_of(r->cloud), m->offer, &o) && o.market == PD_MARKET_ON_DEMAND;
}

static void work(struct run *r, struct try_life *l)
{
        struct sim_job *s = world_sim(&r->w, l->id);
        bool runs = s && (streq(s->phase, "running") || streq(s->phase, "saving"));

        if (s && world_live(s)) {
                l->worked = s->progress_seq;
                if (l->worked < l->most && !streq(s->phase, "held")) {
                        l->redone += l->most - l->worked;
                        l->most = l->worked;
                }
                l->most = l->worked > l->most ? l->worked : l->most;
        }
        l->waited += !runs;
        if (runs)
                l->on_demand += on_demand(r, s);
        if (runs && l->worked * MINUTE >= l->job->work_us)
                sim_exit(&r->w, s, 0, 0, "exit");
}

static void look(struct run *r, struct try_life *l)
{
        struct reply reply;
        const char *state;

        world_ask(&r->w, "show", l->id, NULL, NULL, &reply);
        state = js_str(reply.body, "state", "");
        if (streq(state, "suspended") && !streq(l->state, "suspended"))
                l->suspended_wall_us = js_int(reply.body, "since_wall_us", r->w.wall_us);
        if (!streq(state, "suspended"))
                l->suspended_wall_us = 0;
        (void)str_format(l->state, sizeof l->state, "%s", state);
        if (streq(state, "ended")) {
                l->ended = true;
                l->ended_wall_us = js_int(reply.body, "ended_wall_us", r->w.wall_us);
                (void)str_format(l->result, sizeof l->result, "%s", js_str(reply.body, "result", ""));
        }
        (void)str_format(l->cause, sizeof l->cause, "%s", js_str(reply.body, "cause", ""));
        l->cost_nano = js_int(json_object_get(reply.body, "cost"), "spent_nano", l->cost_nano);
        reply_clear(&reply);
}

static void minute(struct run *r, struct try_life *l)
{
        work(r, l);
        world_settle(&r->w);
        if (l->changed || r->w.boot_us / MINUTE % LOOK_MINUTES == 0) {
                l->changed = false;
                look(r, l);
                try_tell(&r->w, l, r->watch);
        }
        if (l->ended)
                return;
        last_instant(r, l);
        resume(r, l);
        try_refused(r, l);
}

/* --- the whole --- */
static int begin(struct run *r, const struct try_variant *v, struct pd_error *err)
{
        const struct world_options o = { .settings = v->settings,
                .seed = r->plan->seed,
                .wall_us = r->plan->wall_us,
                .wait = true,
                .no_lab = true };

        if (world_new_with(&r->w, &o) < 0)
                return pd_fail(err, PD_E_IO, "no room for a simulated store: is there space in /dev/shm or /var/tmp?");
        r->w.memory_of = memory_of;
        r->w.start_us += r->plan->start_us;
        r->w.save_bytes_second = 200000000;
        sim_tick_start(&r->w);
        r->cloud = world_add_sim(&r->w, "cloud", r->plan->cloud, err);
        if (!r->cloud)
                return -(int)err->code;
        if (world_start(&r->w) < 0)
                return pd_fail(err, PD_E_INTERNAL, "the simulated portald does not start");
        r->changes = engine_watch_new(r->w.engine, on_job, r);
        if (!r->changes)
                return pd_fail(err, PD_E_NOMEM, "a watch");
        for (int i = 0; i < READY_MAX; i++) {
                struct reply reply;
                bool ready;

                world_run(&r->w, USEC_PER_SEC);
                world_ask(&r->w, "offers", NULL, NULL, NULL, &reply);
                ready = json_array_size(json_object_get(reply.body, "offers")) > 0;
                reply_clear(&reply);
                if (ready)
                        return 0;
        }
        return pd_fail(err, PD_E_DEADLINE, "the simulated cloud offered nothing in its first minutes");
}

static int go(struct run *r, struct pd_error *err)
{
        int64_t begun = r->w.boot_us, hour = 0;
        bool open = true;

        while (open && r->w.boot_us - begun < r->plan->span_us) {
                int64_t at = r->w.boot_us - begun;

                open = false;
                vec_foreach (l, &r->result->lives) {
                        if (!l->submitted && l->job->at_us <= at && submit(r, l, err) < 0)
                                return -(int)err->code;
                        if (l->submitted && !l->ended)
                                minute(r, l);
                        open |= !l->ended;
                }
                if (r->w.fatal.code)
                        return pd_fail(err, PD_E_INTERNAL, "the simulated portald gave up: %s", r->w.fatal.text);
                if (r->watch && r->watch->hour && at / USEC_PER_HOUR > hour) {
                        hour = at / USEC_PER_HOUR;
                        if (try_count(&r->w, r->cloud, r->result, false, err) < 0)
                                return -(int)err->code;
                        r->watch->hour(r->watch->arg, r->result, r->w.wall_us);
                }
                world_run(&r->w, MINUTE);
        }
        r->result->span_us = r->w.boot_us - begun;
        world_run(&r->w, 30 * MINUTE); /* machines end, and the last bills come */
        return 0;
}

int try_run(const struct try_plan *p, const struct try_variant *v, const struct try_watch *watch,
        struct try_result *ret, struct pd_error *err)
{
        struct run *r = calloc(1, sizeof *r);
        int code;

        *ret = (struct try_result){ .variant = v };
        if (!r)
                return pd_fail(err, PD_E_NOMEM, "a simulated world");
        r->plan = p;
        r->result = ret;
        r->watch = watch;
        vec_foreach (j, &p->jobs)
                if (!vec_push(&ret->lives, ((struct try_life){ .job = j })))
                        abort();
        code = begin(r, v, err);
        if (code >= 0)
                code = go(r, err);
        if (code >= 0)
                code = try_count(&r->w, r->cloud, ret, true, err);
        if (r->changes)
                engine_watch_free(r->changes);
        world_free(&r->w);
        free(r);
        return code;
}
