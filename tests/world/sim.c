/* SPDX-License-Identifier: Apache-2.0 */
#include "world/sim.h"

#include <stdio.h>

struct env_stream {
        struct world *w;
        struct env_stream_events events;
        bool up, closed;
        uint64_t session; /* counts ups: nothing of an older one arrives */
        int refs;         /* what is under way still points here */
};

/* --- placements --- */
void sim_job_clear(struct sim_job *s)
{
        json_decref(s->order);
        json_decref(s->save);
        json_decref(s->exit);
        json_decref(s->error);
        *s = (struct sim_job){ 0 };
}

static int64_t ran(const struct world *w, const struct sim_job *s)
{
        return s->ran_us + (s->started_boot_us ? w->boot_us - s->started_boot_us : 0);
}

static json_t *placement(const struct world *w, const struct sim_job *s)
{
        return json_pack("{s:s,s:I,s:I,s:s,s:i,s:I,s:I,s:s,s:s,s:O?,s:O?,s:O?}", "job", s->job, "generation",
                (json_int_t)s->generation, "seq", (json_int_t)s->seq, "phase", s->phase, "pid",
                streq(s->phase, "running") ? 4242 : 0, "started_wall_us", (json_int_t)s->started_wall_us, "ran_us",
                (json_int_t)ran(w, s), "image_digest", "sha256:00", "cause", s->cause, "save", s->save, "exit", s->exit,
                "error", s->error);
}

/* Told on the stream that is there now, or not at all. */
struct told {
        struct env_stream *stream;
        uint64_t session;
        json_t *event;
};

static void stream_unref(struct env_stream *s)
{
        if (--s->refs == 0)
                free(s);
}

static void tell(struct world *w, void *arg)
{
        struct told *t = arg;

        if (w && !w->dying && t->stream->up && !t->stream->closed && t->stream->session == t->session)
                t->stream->events.on_event(t->stream->events.arg, t->event);
        json_decref(t->event);
        stream_unref(t->stream);
        free(t);
}

static void tell_later(struct world *w, const json_t *event)
{
        struct told *t = calloc(1, sizeof *t);

        if (!t)
                abort();
        *t = (struct told){ w->stream, w->stream->session, json_deep_copy(event) };
        w->stream->refs++;
        sim_later(w, (int64_t)world_chance(w, 5 * USEC_PER_SEC), tell, t);
}

static void push(struct world *w, struct sim_job *s)
{
        js_owned *event = NULL;

        s->seq++;
        if (w->watch && w->watch->truth)
                w->watch->truth(w, s);
        if (!w->stream || !w->stream->up || !w->engine || w->dying)
                return;
        event = json_pack("{s:s,s:o}", "event", "placement", "placement", placement(w, s));
        if (world_fault(w, FAULT_EVENT_LATE)) {
                tell_later(w, event);
                return;
        }
        if (world_fault(w, FAULT_EVENT_TWICE))
                tell_later(w, event);
        w->stream->events.on_event(w->stream->events.arg, event);
}

struct sim_job *world_sim(struct world *w, const char *id)
{
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && streq(w->jobs[i].job, id))
                        return &w->jobs[i];
        return NULL;
}

static void freeze(struct world *w, struct sim_job *s)
{
        s->ran_us = ran(w, s);
        s->started_boot_us = 0;
}

static void exited(struct world *w, struct sim_job *s, int code, int sig, bool oom, const char *cause)
{
        freeze(w, s);
        s->phase = "exited";
        (void)str_format(s->cause, sizeof s->cause, "%s", cause);
        json_decref(s->exit);
        s->exit = json_pack(
                "{s:i,s:i,s:b,s:I}", "code", code, "signal", sig, "oom", oom, "wall_us", (json_int_t)w->wall_us);
        push(w, s);
}

void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause)
{
        exited(w, s, code, sig, false, cause);
}

void sim_exit_as(struct world *w, struct sim_job *s, int code, int sig, bool oom)
{
        exited(w, s, code, sig, oom, "");
}

/* --- what happens behind an order --- */
struct note { /* a thing that a placement does later; void if the placement has gone on by then */
        size_t at;
        uint64_t generation;
        char checkpoint[40];
};

static struct note *note_new(struct world *w, struct sim_job *s, const char *checkpoint)
{
        struct note *n = calloc(1, sizeof *n);

        if (!n)
                abort();
        n->at = (size_t)(s - w->jobs);
        n->generation = s->generation;
        (void)str_format(n->checkpoint, sizeof n->checkpoint, "%s", checkpoint);
        return n;
}

static struct sim_job *note_job(struct world *w, const struct note *n, const char *phase)
{
        struct sim_job *s = &w->jobs[n->at];

        return s->used && s->generation == n->generation && streq(s->phase, phase) ? s : NULL;
}

static void term(struct world *w, struct sim_job *s, const char *cause);
static void orders_check(struct world *w, struct sim_job *s);

static int rank(const char *mode)
{
        return streq(mode, "stop") ? 2 : streq(mode, "suspend");
}

static void save_set(struct sim_job *s, const char *state)
{
        (void)json_object_set_new(s->save, "state", json_string(state));
}

static void save_fails(struct world *w, struct sim_job *s, const char *code, const char *text)
{
        save_set(s, "failed");
        (void)json_object_set_new(s->save, "error", json_pack("{s:s,s:s}", "code", code, "text", text));
        s->phase = "running";
        push(w, s);
}

static void save_refuses(struct world *w, struct sim_job *s)
{
        save_set(s, "refused");
        (void)json_object_set_new(s->save, "values",
                json_pack("[{s:s,s:s,s:s,s:s,s:i,s:i}]", "path", w->refuse_path ? w->refuse_path : "model.lock", "type",
                        "threading.Lock", "reason", "a lock belongs to one process", "fix",
                        "make it again after a resume", "pid", 0, "fd", -1));
        s->phase = "running";
        push(w, s);
}

static void save_commits(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode)
{
        save_set(s, "committed");
        (void)json_object_set_new(s->save, "wall_us", json_integer(w->wall_us));
        (void)json_object_set_new(w->checkpoints, checkpoint, json_true());
        if (streq(mode, "keep")) {
                s->phase = "running";
                push(w, s);
        } else {
                sim_exit(w, s, 137, 9, js_str(s->save, "cause", ""));
        }
}

static void save_done(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = note_job(w, n, "saving");

        if (s && streq(js_str(s->save, "checkpoint", ""), n->checkpoint)) {
                pd_cleanup(freep) char *mode = strdup(js_str(s->save, "mode", ""));
                pd_cleanup(freep) char *cause = strdup(js_str(s->save, "cause", ""));

                if (w->refuse_path || streq(s->fate, "refused"))
                        save_refuses(w, s);
                else if (streq(s->fate, "failed"))
                        save_fails(w, s, "IO", "the vault has no room");
                else if (w->boot_us >= s->save_until_boot_us)
                        save_fails(w, s, "DEADLINE", "the save had not ended within its time");
                else
                        save_commits(w, s, n->checkpoint, mode);
                if (streq(mode, "stop") && world_live(s))
                        term(w, s, cause);
        }
        free(n);
}

/* A save that is asked for while another goes on joins it. */
static int join(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode, const char *cause,
        int64_t until_boot_us, struct pd_error *err)
{
        bool stronger = rank(mode) > rank(js_str(s->save, "mode", ""));

        if (streq(cause, "user") && !stronger && !streq(checkpoint, js_str(s->save, "checkpoint", "")))
                return pd_fail(err, PD_E_BUSY, "it is being saved already");
        if (until_boot_us < s->save_until_boot_us)
                s->save_until_boot_us = until_boot_us;
        if (!stronger)
                return 0;
        (void)json_object_set_new(s->save, "mode", json_string(mode));
        (void)json_object_set_new(s->save, "cause", json_string(cause));
        push(w, s);
        return 0;
}

static int64_t save_takes(struct world *w, struct sim_job *s)
{
        s->fate = "committed";
        if (world_fault(w, FAULT_SAVE_REFUSED))
                s->fate = "refused";
        else if (world_fault(w, FAULT_SAVE_FAILS))
                s->fate = "failed";
        return world_fault(w, FAULT_SAVE_SLOW) ? (int64_t)world_chance(w, 20 * USEC_PER_MIN) : w->save_us;
}

static int save(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode, const char *cause,
        int64_t span_us, struct pd_error *err)
{
        int64_t takes, until = w->boot_us + (span_us > 0 ? span_us : 10 * USEC_PER_MIN);
        bool saving = streq(s->phase, "saving");

        if (streq(js_str(s->save, "checkpoint", ""), checkpoint) &&
                (saving ? rank(mode) <= rank(js_str(s->save, "mode", ""))
                        : streq(js_str(s->save, "state", ""), "committed")))
                return 0; /* told twice */
        if (saving)
                return join(w, s, checkpoint, mode, cause, until, err);
        if (!streq(s->phase, "running") || s->killing)
                return pd_fail(err, PD_E_CONFLICT, "only a running job can be saved");
        w->saves++;
        json_decref(s->save);
        s->save = json_pack("{s:s,s:s,s:s,s:s,s:i,s:s,s:i,s:i,s:I,s:s}", "checkpoint", checkpoint, "mode", mode,
                "cause", cause, "state", "saving", "bytes", 1000, "progress", "step 7", "took_us", 2000000, "freeze_us",
                1000000, "wall_us", (json_int_t)w->wall_us, "capture", "values");
        s->phase = "saving";
        s->save_until_boot_us = until;
        takes = save_takes(w, s);
        push(w, s);
        sim_later(w, takes < until - w->boot_us ? takes : until - w->boot_us, save_done, note_new(w, s, checkpoint));
        return 0;
}

/* --- standing orders: level, looked at again on each tick --- */
static const json_t *orders(const struct sim_job *s)
{
        return json_object_get(s->order, "orders");
}

static void standing_save(struct world *w, struct sim_job *s, const char *key, const char *mode, const char *cause)
{
        struct pd_error err;

        if (save(w, s, js_str(orders(s), key, ""), mode, cause, js_int(orders(s), "save_deadline_us", 0), &err) < 0 &&
                streq(mode, "stop"))
                term(w, s, cause);
}

static void check_ttl(struct world *w, struct sim_job *s)
{
        int64_t left = js_int(orders(s), "ttl_left_us", -1);

        if (left < 0 || s->did_ttl || ran(w, s) < left)
                return;
        s->did_ttl = true;
        standing_save(w, s, "ttl_checkpoint", "stop", "ttl");
}

static void check_notice(struct world *w, struct sim_job *s)
{
        if (!w->ticking || !w->notice_boot_us)
                return;
        if (!s->did_notice) {
                s->did_notice = true;
                if (js_bool(orders(s), "on_notice", true))
                        standing_save(w, s, "notice_checkpoint", "suspend", "notice");
        }
        if (world_live(s) && w->boot_us >= w->notice_boot_us - 20 * USEC_PER_SEC)
                term(w, s, "notice");
}

static void check_lease(struct world *w, struct sim_job *s)
{
        int64_t left = INT64_MAX;

        if (s->lease_wall_us)
                left = s->lease_wall_us - w->wall_us;
        if (s->lease_boot_us && s->lease_boot_us - w->boot_us < left)
                left = s->lease_boot_us - w->boot_us;
        if (!w->ticking || left > js_int(orders(s), "save_deadline_us", 0) + 25 * USEC_PER_SEC)
                return;
        if (!s->did_lease && left > 25 * USEC_PER_SEC) {
                s->did_lease = true;
                standing_save(w, s, "notice_checkpoint", "suspend", "lease");
        }
        if (world_live(s) && left <= 20 * USEC_PER_SEC)
                term(w, s, "lease");
}

static void orders_check(struct world *w, struct sim_job *s)
{
        if (streq(s->phase, "running") || streq(s->phase, "saving"))
                check_ttl(w, s);
        if (streq(s->phase, "running") || streq(s->phase, "saving"))
                check_notice(w, s);
        if (streq(s->phase, "running") || streq(s->phase, "saving"))
                check_lease(w, s);
}

static void ttl_reached(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = &w->jobs[n->at];

        if (s->used && s->generation == n->generation)
                orders_check(w, s);
        free(n);
}

static void started(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = note_job(w, n, "preparing");
        const json_t *left;

        if (s) {
                s->phase = "running";
                s->started_wall_us = w->wall_us;
                s->started_boot_us = s->quiet_boot_us = w->boot_us;
                left = json_object_get(orders(s), "ttl_left_us");
                if (json_is_integer(left))
                        sim_later(w, json_integer_value(left), ttl_reached, note_new(w, s, ""));
                push(w, s);
        }
        free(n);
}

static void failed(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = note_job(w, n, "preparing");

        if (s) {
                s->phase = "failed";
                push(w, s);
        }
        free(n);
}

static void fail_later(struct world *w, struct sim_job *s, const char *code, const char *text)
{
        s->error = json_pack("{s:s,s:s,s:s}", "code", code, "text", text, "subject", "");
        sim_later(w, USEC_PER_SEC, failed, note_new(w, s, ""));
}

static void stopped(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = &w->jobs[n->at];

        if (s->used && s->generation == n->generation && world_live(s))
                sim_exit(w, s, 143, 15, n->checkpoint);
        free(n);
}

/* Ends it, with a grace; a save that goes on is given up. Who ended it first is who did. */
static void term(struct world *w, struct sim_job *s, const char *cause)
{
        if (s->killing || !world_live(s))
                return;
        if (streq(s->phase, "preparing")) {
                s->phase = "failed";
                json_decref(s->error);
                s->error = json_pack("{s:s,s:s,s:s}", "code", "CANCELLED", "text",
                        "it was stopped before it had started", "subject", "");
                (void)str_format(s->cause, sizeof s->cause, "%s", cause);
                push(w, s);
                return;
        }
        s->killing = true;
        if (streq(s->phase, "saving"))
                save_fails(w, s, "CANCELLED", "a stop came first");
        sim_later(w, w->stop_us, stopped, note_new(w, s, cause));
}

/* --- the machine as a whole --- */
static void measures(struct world *w)
{
        json_t *items = json_array();
        js_owned *event = json_pack("{s:s,s:o}", "event", "measures", "items", items);

        for (size_t i = 0; i < SIM_JOBS; i++) {
                struct sim_job *s = &w->jobs[i];
                json_t *item;

                if (!s->used || !streq(s->phase, "running"))
                        continue;
                if (!s->idle) {
                        s->cpu_us += SIM_TICK_US / 2;
                        s->progress_seq++;
                        s->quiet_boot_us = w->boot_us;
                }
                item = json_pack("{s:s,s:I,s:I,s:I,s:I}", "job", s->job, "generation", (json_int_t)s->generation,
                        "cpu_us", (json_int_t)s->cpu_us, "log_bytes", (json_int_t)s->progress_seq, "progress_seq",
                        (json_int_t)s->progress_seq);
                (void)json_array_append_new(items, item);
        }
        if (json_array_size(items) && w->boot_us >= w->no_measures_until_boot_us)
                world_event(w, event);
}

static void tick(struct world *w, void *arg)
{
        bool live = false;

        if (w->notice_boot_us && w->boot_us >= w->notice_boot_us + SIM_TICK_US) {
                w->notice_boot_us = 0;
                for (size_t i = 0; i < SIM_JOBS; i++)
                        w->jobs[i].did_notice = false;
        }
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (world_live(&w->jobs[i])) {
                        live = true;
                        orders_check(w, &w->jobs[i]);
                }
        if (live)
                measures(w);
        sim_later(w, SIM_TICK_US, tick, arg);
}

void sim_tick_start(struct world *w)
{
        w->ticking = true;
        sim_later(w, SIM_TICK_US, tick, NULL);
}

/* The runner dies and comes back: a save that was in progress is undone; standing orders that still hold begin it again. */
void sim_runner_restart(struct world *w)
{
        world_reach(w, false);
        for (size_t i = 0; i < SIM_JOBS; i++) {
                struct sim_job *s = &w->jobs[i];

                if (!s->used || !streq(s->phase, "saving"))
                        continue;
                s->did_ttl = s->did_notice = s->did_lease = false;
                save_fails(w, s, "TRANSIENT", "the runner was restarted");
                orders_check(w, s);
        }
}

/* The machine goes down without a word, with all that runs on it. */
void sim_reboot(struct world *w)
{
        world_reach(w, false);
        for (size_t i = 0; i < SIM_JOBS; i++) {
                struct sim_job *s = &w->jobs[i];

                if (!world_live(s) || streq(s->phase, "preparing"))
                        continue;
                if (streq(s->phase, "saving"))
                        save_set(s, "failed");
                sim_exit(w, s, 137, 9, "machine_lost");
        }
}

void sim_state_lost(struct world *w)
{
        world_reach(w, false);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used) {
                        w->jobs[i].phase = "failed";
                        if (w->watch && w->watch->gone)
                                w->watch->gone(w, &w->jobs[i]);
                        sim_job_clear(&w->jobs[i]);
                }
}

/* --- requests --- */
static struct sim_job *place_for(struct world *w, struct sim_job *s)
{
        for (size_t i = 0; !s && i < SIM_JOBS; i++)
                if (!w->jobs[i].used)
                        s = &w->jobs[i];
        if (!s)
                abort();
        sim_job_clear(s);
        return s;
}

static json_t *op_start(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err)
{
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);

        if (s && generation < s->generation) {
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
                return NULL;
        }
        if (s && s->generation == generation)
                return placement(w, s); /* asked twice, done once */
        if (s && world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "the generation before is still %s here", s->phase);
                return NULL;
        }
        s = place_for(w, s);
        w->starts++;
        *s = (struct sim_job){
                .used = true, .generation = generation, .phase = "preparing", .fate = "", .order = json_deep_copy(body)
        };
        (void)str_format(s->job, sizeof s->job, "%s", js_str(body, "job", ""));
        s->lease_wall_us = js_int(orders(s), "lease_stop_wall_us", 0);
        s->lease_boot_us = js_int(orders(s), "lease_stop_boot_us", 0);
        if (w->start_error)
                fail_later(w, s, w->start_error, "the image cannot be had");
        else if (restore && !json_object_get(w->checkpoints, restore))
                fail_later(w, s, "CORRUPT", restore);
        else if (world_fault(w, FAULT_START_PASSING))
                fail_later(w, s, "TRANSIENT", "the registry does not answer");
        else if (world_fault(w, FAULT_START_FOR_GOOD))
                fail_later(w, s, "NOT_FOUND", "the image cannot be had");
        else
                sim_later(w, w->start_us, started, note_new(w, s, ""));
        if (w->watch && w->watch->truth)
                w->watch->truth(w, s);
        return placement(w, s);
}

static json_t *list(const struct world *w)
{
        json_t *all = json_array();

        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && !w->jobs[i].released)
                        (void)json_array_append_new(all, placement(w, &w->jobs[i]));
        return json_pack("{s:o}", "placements", all);
}

void world_notice(struct world *w, int64_t in_us)
{
        js_owned *event = json_pack("{s:s,s:I,s:s}", "event", "notice", "deadline_wall_us",
                (json_int_t)(w->wall_us + in_us), "source", "provider");

        w->notice_boot_us = w->boot_us + in_us;
        if (w->stream && w->stream->up)
                w->stream->events.on_event(w->stream->events.arg, event);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && streq(w->jobs[i].phase, "running")) {
                        w->jobs[i].did_notice = true;
                        if (js_bool(orders(&w->jobs[i]), "on_notice", true))
                                standing_save(w, &w->jobs[i], "notice_checkpoint", "suspend", "notice");
                }
}

static json_t *op_lease(struct world *w, const json_t *body)
{
        w->leases++;
        w->stop_wall_us = js_int(body, "stop_wall_us", 0);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (world_live(&w->jobs[i])) {
                        w->jobs[i].lease_wall_us = w->stop_wall_us;
                        w->jobs[i].lease_boot_us = js_int(body, "stop_boot_us", 0);
                }
        return json_pack("{s:I,s:I}", "stop_wall_us", (json_int_t)w->stop_wall_us, "stop_boot_us",
                (json_int_t)js_int(body, "stop_boot_us", 0));
}

static json_t *op_hello(void)
{
        return json_pack("{s:i,s:s,s:{s:i,s:I,s:i,s:{s:{s:b},s:{s:b},s:{s:b}}}}", "version", 1, "boot_id", "b", "caps",
                "cpu_milli", 8000, "memory_bytes", (json_int_t)16 << 30, "gpus", 0, "captures", "values", "usable", 1,
                "command", "usable", 1, "restart", "usable", 1);
}

static json_t *of_machine(struct world *w, const char *op, const json_t *body)
{
        if (streq(op, "hello"))
                return op_hello();
        if (streq(op, "list"))
                return list(w);
        if (streq(op, "lease"))
                return op_lease(w, body);
        if (streq(op, "notice")) {
                world_notice(w, js_int(body, "in_us", 0));
                return json_pack("{s:I}", "deadline_wall_us", (json_int_t)(w->wall_us + js_int(body, "in_us", 0)));
        }
        return NULL;
}

static json_t *op_release(struct world *w, struct sim_job *s, struct pd_error *err)
{
        if (world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "only what has ended can be released");
                return NULL;
        }
        w->releases++;
        s->released = true;
        return placement(w, s);
}

static json_t *of_job(struct world *w, struct sim_job *s, const char *op, const json_t *body, struct pd_error *err)
{
        if (streq(op, "save")) {
                if (save(w, s, js_str(body, "checkpoint", ""), js_str(body, "mode", ""), js_str(body, "cause", ""),
                            js_int(body, "deadline_us", 0), err) < 0)
                        return NULL;
        } else if (streq(op, "stop")) {
                w->stops++;
                term(w, s, js_str(body, "cause", "user"));
        } else if (streq(op, "release")) {
                return op_release(w, s, err);
        } else if (streq(op, "forget")) {
                sim_job_clear(s);
                return json_object();
        } else if (streq(op, "orders")) { /* those that are given replace those that were */
                (void)json_object_update(json_object_get(s->order, "orders"), json_object_get(body, "orders"));
                s->did_ttl = false;
        } else if (streq(op, "precheck")) {
                return json_pack("{s:b,s:[]}", "usable", 1, "values");
        }
        return placement(w, s);
}

static json_t *handle(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err)
{
        const char *op = js_str(body, "op", "");
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));
        json_t *answer;
        bool loose = streq(op, "drop") || streq(op, "forget") || streq(op, "precheck");

        err->code = PD_OK;
        if (w->watch && w->watch->request)
                w->watch->request(w, generation, body);
        answer = of_machine(w, op, body);
        if (answer)
                return answer;
        if (streq(op, "start"))
                return op_start(w, generation, body, err);
        if (!s && (streq(op, "release") || streq(op, "forget")))
                return json_object();
        if (!s)
                (void)pd_fail(err, PD_E_NOT_FOUND, "no such job here");
        else if (generation < s->generation && !(loose && generation == 0))
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
        else if (generation > s->generation && !loose)
                (void)pd_fail(err, PD_E_CONFLICT, "that generation has not been started here");
        if (err->code)
                return NULL;
        if (streq(op, "drop")) {
                (void)json_object_del(w->checkpoints, js_str(body, "checkpoint", ""));
                return json_object();
        }
        return of_job(w, s, op, body, err);
}

/* --- the stream --- */
struct request {
        struct env_stream *stream;
        uint64_t generation;
        json_t *body, *answer;
        struct pd_error err;
        int64_t deadline_boot_us;
        env_answer_fn done;
        void *arg;
};

static void request_end(struct request *r, const struct pd_error *err)
{
        r->stream->w->open_requests--;
        r->done(r->arg, err, err ? NULL : r->answer, NULL, NULL, 0);
        json_decref(r->body);
        json_decref(r->answer);
        stream_unref(r->stream);
        free(r);
}

static void answer(struct world *w, void *arg)
{
        struct request *r = arg;

        (void)w;
        request_end(r, r->err.code ? &r->err : NULL);
}

static void no_answer(struct world *w, void *arg)
{
        struct request *r = arg;
        struct pd_error late;

        (void)w;
        (void)pd_fail(&late, PD_E_DEADLINE, "no answer within its time");
        request_end(r, &late);
}

static void arrive(struct world *w, void *arg)
{
        struct request *r = arg;

        r->answer = handle(w, r->generation, r->body, &r->err);
        if (world_fault(w, FAULT_ANSWER_LOST))
                sim_later(w, r->deadline_boot_us - w->boot_us, no_answer, r);
        else
                sim_later(w, USEC_PER_MSEC, answer, r);
}

int sim_stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err)
{
        struct world *w = s->w;
        struct request *r;

        if (!s->up || w->dying)
                return pd_fail(err, PD_E_TRANSIENT, "down");
        r = calloc(1, sizeof *r);
        if (!r)
                abort();
        s->refs++;
        w->open_requests++;
        *r = (struct request){ .stream = s,
                .generation = generation,
                .body = json_deep_copy(body),
                .deadline_boot_us = w->boot_us + timeout_us,
                .done = done,
                .arg = arg };
        if (world_fault(w, FAULT_REQUEST_LOST))
                sim_later(w, timeout_us, no_answer, r);
        else
                sim_later(w, USEC_PER_MSEC, arrive, r);
        return 0;
}

/* As the real one: what is pending is called back when the connection goes; it may have had its effect all the same. */
static void pending_end(struct env_stream *s)
{
        struct world *w = s->w;
        struct pd_error lost;

        for (size_t i = w->events.n; i-- > 0;) {
                struct sim_event x = w->events.at[i];
                struct request *r = x.arg;

                if ((x.fire != arrive && x.fire != answer && x.fire != no_answer) || r->stream != s)
                        continue;
                vec_swap_remove(&w->events, i);
                if (x.fire == arrive && w->watch && world_chance(w, 2)) /* only a world with faults gambles */
                        r->answer = handle(w, r->generation, r->body, &r->err);
                (void)pd_fail(&lost, PD_E_UNKNOWN_OUTCOME, "the stream was lost");
                request_end(r, &lost);
                i = i > w->events.n ? w->events.n : i; /* an effect may have put more in */
        }
}

static void come_up(struct world *w, void *arg)
{
        struct env_stream *s = arg;

        if (!s->closed && w->reachable && !s->up && !w->dying) {
                s->up = true;
                s->session++;
                s->events.on_up(s->events.arg);
        }
        stream_unref(s);
}

int sim_stream_open(struct env *e, const char *endpoint, uint32_t kind, const struct env_stream_events *events,
        struct env_stream **ret, struct pd_error *err)
{
        struct world *w = (struct world *)e;
        struct env_stream *s = calloc(1, sizeof *s);

        (void)endpoint, (void)kind, (void)err;
        if (!s)
                abort();
        *s = (struct env_stream){ .w = w, .events = *events, .refs = 2 };
        w->stream = s;
        sim_later(w, USEC_PER_MSEC, come_up, s);
        *ret = s;
        return 0;
}

void sim_stream_close(struct env_stream *s)
{
        s->closed = true;
        s->up = false;
        if (s->w->stream == s)
                s->w->stream = NULL;
        pending_end(s);
        stream_unref(s);
}

void world_reach(struct world *w, bool reachable)
{
        struct env_stream *s = w->stream;
        struct pd_error why;

        w->reachable = reachable;
        if (!s)
                return;
        if (!reachable && s->up) {
                s->up = false;
                pending_end(s);
                (void)pd_fail(&why, PD_E_TRANSIENT, "no answer");
                s->events.on_down(s->events.arg, &why);
        } else if (reachable && !s->up) {
                s->refs++;
                sim_later(w, USEC_PER_MSEC, come_up, s);
        }
}

void world_event(struct world *w, const json_t *event)
{
        if (w->stream && w->stream->up && !w->dying)
                w->stream->events.on_event(w->stream->events.arg, event);
}

/* What a daemon that died waited for: nobody hears of it. */
void sim_forget_requests(struct world *w)
{
        for (size_t i = w->events.n; i-- > 0;) {
                struct sim_event x = w->events.at[i];

                if (x.fire != come_up && x.fire != tell)
                        continue;
                vec_swap_remove(&w->events, i);
                if (x.fire == come_up)
                        stream_unref(x.arg);
                else
                        tell(NULL, x.arg);
        }
}
