/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated runner: placements, their saves, the orders that stand, and the machine as a whole. */
#include "world/sim.h"

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

json_t *sim_placement(const struct world *w, const struct sim_job *s)
{
        return json_pack("{s:s,s:I,s:I,s:s,s:i,s:I,s:I,s:s,s:s,s:O?,s:O?,s:O?}", "job", s->job, "generation",
                (json_int_t)s->generation, "seq", (json_int_t)s->seq, "phase", s->phase, "pid",
                streq(s->phase, "running") ? 4242 : 0, "started_wall_us", (json_int_t)s->started_wall_us, "ran_us",
                (json_int_t)ran(w, s), "image_digest", "sha256:00", "cause", s->cause, "save", s->save, "exit", s->exit,
                "error", s->error);
}

static void push(struct world *w, struct sim_job *s)
{
        js_owned *event = NULL;

        s->seq++;
        if (w->watch && w->watch->truth)
                w->watch->truth(w, s);
        if (!sim_stream_hears(w))
                return;
        event = json_pack("{s:s,s:o}", "event", "placement", "placement", sim_placement(w, s));
        sim_stream_placement(w, event);
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
                        sim_term(w, s, cause);
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

int sim_save(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode, const char *cause,
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
const json_t *sim_orders(const struct sim_job *s)
{
        return json_object_get(s->order, "orders");
}

static void standing_save(struct world *w, struct sim_job *s, const char *key, const char *mode, const char *cause)
{
        struct pd_error err;

        if (sim_save(w, s, js_str(sim_orders(s), key, ""), mode, cause, js_int(sim_orders(s), "save_deadline_us", 0),
                    &err) < 0 &&
                streq(mode, "stop"))
                sim_term(w, s, cause);
}

static void check_ttl(struct world *w, struct sim_job *s)
{
        int64_t left = js_int(sim_orders(s), "ttl_left_us", -1);

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
                if (js_bool(sim_orders(s), "on_notice", true))
                        standing_save(w, s, "notice_checkpoint", "suspend", "notice");
        }
        if (world_live(s) && w->boot_us >= w->notice_boot_us - 20 * USEC_PER_SEC)
                sim_term(w, s, "notice");
}

static void check_lease(struct world *w, struct sim_job *s)
{
        int64_t left = INT64_MAX;

        if (s->lease_wall_us)
                left = s->lease_wall_us - w->wall_us;
        if (s->lease_boot_us && s->lease_boot_us - w->boot_us < left)
                left = s->lease_boot_us - w->boot_us;
        if (!w->ticking || left > js_int(sim_orders(s), "save_deadline_us", 0) + 25 * USEC_PER_SEC)
                return;
        if (!s->did_lease && left > 25 * USEC_PER_SEC) {
                s->did_lease = true;
                standing_save(w, s, "notice_checkpoint", "suspend", "lease");
        }
        if (world_live(s) && left <= 20 * USEC_PER_SEC)
                sim_term(w, s, "lease");
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
                left = json_object_get(sim_orders(s), "ttl_left_us");
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

void sim_fail_later(struct world *w, struct sim_job *s, const char *code, const char *text)
{
        s->error = json_pack("{s:s,s:s,s:s}", "code", code, "text", text, "subject", "");
        sim_later(w, USEC_PER_SEC, failed, note_new(w, s, ""));
}

void sim_start_later(struct world *w, struct sim_job *s)
{
        sim_later(w, w->start_us, started, note_new(w, s, ""));
}

static void stopped(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = &w->jobs[n->at];

        if (s->used && s->generation == n->generation && world_live(s))
                sim_exit(w, s, 143, 15, n->checkpoint);
        free(n);
}

void sim_term(struct world *w, struct sim_job *s, const char *cause)
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

void world_notice(struct world *w, int64_t in_us)
{
        js_owned *event = json_pack("{s:s,s:I,s:s}", "event", "notice", "deadline_wall_us",
                (json_int_t)(w->wall_us + in_us), "source", "provider");

        w->notice_boot_us = w->boot_us + in_us;
        sim_stream_event(w, event);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && streq(w->jobs[i].phase, "running")) {
                        w->jobs[i].did_notice = true;
                        if (js_bool(sim_orders(&w->jobs[i]), "on_notice", true))
                                standing_save(w, &w->jobs[i], "notice_checkpoint", "suspend", "notice");
                }
}
