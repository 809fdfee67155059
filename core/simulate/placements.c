/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated runner's placements: their saves, and the orders that stand. */
#include "simulate/parts.h"

/* --- placements --- */
void sim_job_clear(struct sim_job *s)
{
        struct sim_machine *m = s->machine;
        size_t at = s->at;

        json_decref(s->order);
        json_decref(s->save);
        json_decref(s->exit);
        json_decref(s->error);
        *s = (struct sim_job){ .machine = m, .at = at };
}

struct sim_job *sim_place_for(struct sim_machine *m, struct sim_job *s)
{
        for (size_t i = 0; !s && i < m->jobs.n; i++)
                if (!m->jobs.at[i]->used)
                        s = m->jobs.at[i];
        if (!s) {
                s = calloc(1, sizeof *s);
                if (!s || !vec_push(&m->jobs, s))
                        abort();
                s->machine = m;
                s->at = m->jobs.n - 1;
        }
        sim_job_clear(s);
        return s;
}

static int64_t ran(const struct sim_job *s)
{
        return s->ran_us + (s->started_boot_us ? s->machine->w->boot_us - s->started_boot_us : 0);
}

json_t *sim_placement(const struct sim_job *s)
{
        return json_pack("{s:s,s:I,s:I,s:s,s:i,s:I,s:I,s:s,s:s,s:b,s:O?,s:O?,s:O?}", "job", s->job, "generation",
                (json_int_t)s->generation, "seq", (json_int_t)s->seq, "phase", s->phase, "pid",
                streq(s->phase, "running") ? 4242 : 0, "started_wall_us", (json_int_t)s->started_wall_us, "ran_us",
                (json_int_t)ran(s), "image_digest", "sha256:00", "cause", s->cause, "proved", s->proved, "save",
                s->save, "exit", s->exit, "error", s->error);
}

void sim_told(struct sim_job *s)
{
        struct world *w = s->machine->w;

        if (w->watch && w->watch->truth)
                w->watch->truth(w, s);
}

static void push(struct sim_job *s)
{
        js_owned *event = NULL;

        s->seq++;
        sim_told(s);
        if (!sim_stream_hears(s->machine))
                return;
        event = json_pack("{s:s,s:o}", "event", "placement", "placement", sim_placement(s));
        sim_stream_placement(s->machine, event);
}

static void freeze(struct sim_job *s)
{
        s->ran_us = ran(s);
        s->started_boot_us = 0;
}

static void exited(struct sim_job *s, int code, int sig, bool oom, const char *cause)
{
        freeze(s);
        s->phase = "exited";
        (void)str_format(s->cause, sizeof s->cause, "%s", cause);
        json_decref(s->exit);
        s->exit = json_pack("{s:i,s:i,s:b,s:I}", "code", code, "signal", sig, "oom", oom, "wall_us",
                (json_int_t)s->machine->w->wall_us);
        push(s);
}

void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause)
{
        (void)w;
        exited(s, code, sig, false, cause);
}

void sim_exit_as(struct world *w, struct sim_job *s, int code, int sig, bool oom)
{
        (void)w;
        exited(s, code, sig, oom, "");
}

/* --- what happens behind an order --- */
struct note {                /* a thing that a placement does later; void if the placement has gone on by then */
        struct sim_job *job; /* lives as long as the world */
        uint64_t generation;
        char checkpoint[40];
};

static void note_later(struct sim_job *s, int64_t us, void (*fire)(struct world *w, void *arg), const char *checkpoint)
{
        struct note *n = calloc(1, sizeof *n);

        if (!n)
                abort();
        n->job = s;
        n->generation = s->generation;
        (void)str_format(n->checkpoint, sizeof n->checkpoint, "%s", checkpoint);
        world_later(s->machine->w, us, fire, n);
}

static struct sim_job *note_job(const struct note *n, const char *phase)
{
        struct sim_job *s = n->job;

        return s->used && s->generation == n->generation && (!phase || streq(s->phase, phase)) ? s : NULL;
}

static int rank(const char *mode)
{
        return streq(mode, "stop") ? 3 : streq(mode, "suspend") ? 2 : streq(mode, "move");
}

static void save_set(struct sim_job *s, const char *state)
{
        (void)json_object_set_new(s->save, "state", json_string(state));
}

static void save_fails(struct sim_job *s, const char *code, const char *text)
{
        save_set(s, "failed");
        (void)json_object_set_new(s->save, "error", json_pack("{s:s,s:s}", "code", code, "text", text));
        s->phase = "running";
        push(s);
}

static void save_refuses(struct sim_job *s)
{
        save_set(s, "refused");
        (void)json_object_set_new(s->save, "values",
                json_pack("[{s:s,s:s,s:s,s:s,s:i,s:i}]", "path",
                        s->machine->w->refuse_path ? s->machine->w->refuse_path : "model.lock", "type",
                        "threading.Lock", "reason", "a lock belongs to one process", "fix",
                        "make it again after a resume", "pid", 0, "fd", -1));
        s->phase = "running";
        push(s);
}

static void save_commits(struct sim_job *s, const char *checkpoint, const char *mode)
{
        struct world *w = s->machine->w;

        save_set(s, "committed");
        (void)json_object_set_new(s->save, "wall_us", json_integer(w->wall_us));
        (void)json_object_set_new(w->checkpoints, checkpoint, json_integer(s->progress_seq));
        if (streq(mode, "keep")) {
                s->phase = "running";
                push(s);
        } else if (streq(mode, "move")) { /* it stands still until it is told how to go on */
                freeze(s);
                s->phase = "held";
                push(s);
        } else {
                exited(s, 137, 9, false, js_str(s->save, "cause", ""));
        }
}

static void save_done(struct world *w, void *arg)
{
        pd_cleanup(freep) struct note *n = arg;
        struct sim_job *s = note_job(n, "saving");

        if (s && streq(js_str(s->save, "checkpoint", ""), n->checkpoint)) {
                pd_cleanup(freep) char *mode = strdup(js_str(s->save, "mode", ""));
                pd_cleanup(freep) char *cause = strdup(js_str(s->save, "cause", ""));

                if (w->refuse_path || streq(s->fate, "refused"))
                        save_refuses(s);
                else if (streq(s->fate, "failed"))
                        save_fails(s, "IO", "the vault has no room");
                else if (w->boot_us >= s->save_until_boot_us)
                        save_fails(s, "DEADLINE", "the save had not ended within its time");
                else
                        save_commits(s, n->checkpoint, mode);
                if (streq(mode, "stop") && world_live(s))
                        sim_term(s, cause);
        }
}

/* A save that is asked for while another goes on joins it. */
static int join(struct sim_job *s, const char *checkpoint, const char *mode, const char *cause, int64_t until_boot_us,
        struct pd_error *err)
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
        push(s);
        return 0;
}

static int64_t save_takes(struct sim_job *s)
{
        struct world *w = s->machine->w;
        int64_t us = w->save_us;

        s->fate = "committed";
        if (world_fault(w, WORLD_FAULT_SAVE_REFUSED))
                s->fate = "refused";
        else if (world_fault(w, WORLD_FAULT_SAVE_FAILS))
                s->fate = "failed";
        if (w->save_bytes_second)
                us += s->memory_bytes * USEC_PER_SEC / w->save_bytes_second;
        return world_fault(w, WORLD_FAULT_SAVE_SLOW) ? (int64_t)world_chance(w, 20 * USEC_PER_MIN) : us;
}

/* A stronger word for one that stands still: its checkpoint is there, and it ends. */
static void held_ends(struct sim_job *s, const char *mode, const char *cause)
{
        (void)json_object_set_new(s->save, "mode", json_string(mode));
        (void)json_object_set_new(s->save, "cause", json_string(cause));
        exited(s, 137, 9, false, cause);
}

int sim_save(struct sim_job *s, const char *checkpoint, const char *mode, const char *cause, int64_t span_us,
        struct pd_error *err)
{
        struct world *w = s->machine->w;
        int64_t takes, until = w->boot_us + (span_us > 0 ? span_us : 10 * USEC_PER_MIN);
        bool saving = streq(s->phase, "saving");
        char step[32];

        if (streq(js_str(s->save, "checkpoint", ""), checkpoint) &&
                (saving ? rank(mode) <= rank(js_str(s->save, "mode", ""))
                        : streq(js_str(s->save, "state", ""), "committed") && !streq(s->phase, "held")))
                return 0; /* told twice */
        if (streq(s->phase, "held")) {
                if (rank(mode) > rank("move"))
                        held_ends(s, mode, cause);
                return 0;
        }
        if (saving)
                return join(s, checkpoint, mode, cause, until, err);
        if (!streq(s->phase, "running") || s->killing)
                return pd_fail(err, PD_E_CONFLICT, "only a running job can be saved");
        w->saves++;
        json_decref(s->save);
        takes = save_takes(s);
        (void)str_format(step, sizeof step, "step %lld", (long long)s->progress_seq);
        s->save = json_pack("{s:s,s:s,s:s,s:s,s:I,s:s,s:I,s:i,s:I,s:s}", "checkpoint", checkpoint, "mode", mode,
                "cause", cause, "state", "saving", "bytes", (json_int_t)(s->memory_bytes ? s->memory_bytes : 1000),
                "progress", step, "took_us", (json_int_t)takes, "freeze_us", 1000000, "wall_us", (json_int_t)w->wall_us,
                "capture", "values");
        s->phase = "saving";
        s->save_until_boot_us = until;
        push(s);
        note_later(s, takes < until - w->boot_us ? takes : until - w->boot_us, save_done, checkpoint);
        return 0;
}

int sim_thaw(struct sim_job *s, uint64_t generation, const json_t *orders, struct pd_error *err)
{
        if (generation == s->generation && streq(s->phase, "running"))
                return 0; /* told twice */
        if (!streq(s->phase, "held"))
                return pd_fail(err, PD_E_CONFLICT, "it is %s: only what is held can be thawed", s->phase);
        if (generation <= s->generation)
                return pd_fail(err, PD_E_CONFLICT, "fenced: a thaw needs a newer generation");
        s->machine->w->thaws++;
        s->generation = generation; /* a stay of its own: what it ran before was counted when it was held */
        s->phase = "running";
        s->ran_us = 0;
        s->started_wall_us = s->machine->w->wall_us;
        s->started_boot_us = s->machine->w->boot_us;
        json_decref(s->save);
        s->save = NULL;
        (void)json_object_update(json_object_get(s->order, "orders"), (json_t *)(uintptr_t)orders);
        s->did_ttl = s->did_notice = s->did_lease = false;
        push(s);
        sim_orders_check(s);
        return 0;
}

/* --- standing orders: level, looked at again on each tick --- */
const json_t *sim_orders(const struct sim_job *s)
{
        return json_object_get(s->order, "orders");
}

static void standing_save(struct sim_job *s, const char *key, const char *mode, const char *cause)
{
        struct pd_error err;

        if (sim_save(s, js_str(sim_orders(s), key, ""), mode, cause, js_int(sim_orders(s), "save_deadline_us", 0),
                    &err) < 0 &&
                streq(mode, "stop"))
                sim_term(s, cause);
}

static void check_ttl(struct sim_job *s)
{
        int64_t left = js_int(sim_orders(s), "ttl_left_us", -1);

        if (left < 0 || s->did_ttl || ran(s) < left)
                return;
        s->did_ttl = true;
        standing_save(s, "ttl_checkpoint", "stop", "ttl");
}

/* Its machine goes: saved by its own orders, once; a job that does not want that is ended before. */
void sim_take_notice(struct sim_job *s)
{
        if (s->did_notice)
                return;
        s->did_notice = true;
        if (js_bool(sim_orders(s), "on_notice", true))
                standing_save(s, "notice_checkpoint", "suspend", "notice");
}

static void check_notice(struct sim_job *s)
{
        struct world *w = s->machine->w;

        if (!w->ticking || !s->machine->notice_boot_us)
                return;
        sim_take_notice(s);
        if (world_live(s) && w->boot_us >= s->machine->notice_boot_us - 20 * USEC_PER_SEC)
                sim_term(s, "notice");
}

static void check_lease(struct sim_job *s)
{
        struct world *w = s->machine->w;
        int64_t left = INT64_MAX;

        if (s->lease_wall_us)
                left = s->lease_wall_us - sim_wall_us(s->machine);
        if (s->lease_boot_us && s->lease_boot_us - sim_boot_us(s->machine) < left)
                left = s->lease_boot_us - sim_boot_us(s->machine);
        if (!w->ticking || left > js_int(sim_orders(s), "save_deadline_us", 0) + 25 * USEC_PER_SEC)
                return;
        if (!s->did_lease && left > 25 * USEC_PER_SEC && !streq(s->phase, "held")) {
                s->did_lease = true;
                standing_save(s, "notice_checkpoint", "suspend", "lease");
        }
        if (world_live(s) && left <= 20 * USEC_PER_SEC)
                sim_term(s, "lease");
}

static bool at_work(const struct sim_job *s)
{
        return streq(s->phase, "running") || streq(s->phase, "saving");
}

void sim_orders_check(struct sim_job *s)
{
        if (at_work(s))
                check_ttl(s);
        if (at_work(s))
                check_notice(s);
        if (at_work(s) || streq(s->phase, "held")) /* what is held is never thawed by itself, and may end */
                check_lease(s);
}

static void ttl_reached(struct world *w, void *arg)
{
        pd_cleanup(freep) struct note *n = arg;
        struct sim_job *s = note_job(n, NULL);

        (void)w;
        if (s)
                sim_orders_check(s);
}

static void started(struct world *w, void *arg)
{
        pd_cleanup(freep) struct note *n = arg;
        struct sim_job *s = note_job(n, "preparing");
        const json_t *left;

        if (!s)
                return;
        s->phase = "running";
        s->proved = true;
        s->started_wall_us = w->wall_us;
        s->started_boot_us = s->quiet_boot_us = w->boot_us;
        left = json_object_get(sim_orders(s), "ttl_left_us");
        if (json_is_integer(left))
                note_later(s, json_integer_value(left), ttl_reached, "");
        push(s);
}

static void failed(struct world *w, void *arg)
{
        pd_cleanup(freep) struct note *n = arg;
        struct sim_job *s = note_job(n, "preparing");

        (void)w;
        if (s) {
                s->phase = "failed";
                push(s);
        }
}

void sim_fail_later(struct sim_job *s, const char *code, const char *text)
{
        s->error = json_pack("{s:s,s:s,s:s}", "code", code, "text", text, "subject", "");
        note_later(s, USEC_PER_SEC, failed, "");
}

void sim_start_later(struct sim_job *s)
{
        note_later(s, s->machine->w->start_us, started, "");
}

static void stopped(struct world *w, void *arg)
{
        pd_cleanup(freep) struct note *n = arg;
        struct sim_job *s = note_job(n, NULL);

        (void)w;
        if (s && world_live(s))
                exited(s, 143, 15, false, n->checkpoint);
}

static void never_started(struct sim_job *s, const char *cause)
{
        s->phase = "failed";
        json_decref(s->error);
        s->error = json_pack(
                "{s:s,s:s,s:s}", "code", "CANCELLED", "text", "it was stopped before it had started", "subject", "");
        (void)str_format(s->cause, sizeof s->cause, "%s", cause);
        push(s);
}

void sim_term(struct sim_job *s, const char *cause)
{
        if (s->killing || !world_live(s))
                return;
        if (streq(s->phase, "preparing")) {
                never_started(s, cause);
                return;
        }
        if (streq(s->phase, "held")) { /* nothing of it runs: there is no grace to give */
                exited(s, 137, 9, false, cause);
                return;
        }
        s->killing = true;
        if (streq(s->phase, "saving"))
                save_fails(s, "CANCELLED", "a stop came first");
        note_later(s, s->machine->w->stop_us, stopped, cause);
}

/* The runner dies and comes back: a save that was in progress is undone; standing orders that still hold begin it again. */
void sim_job_restarted(struct sim_job *s)
{
        if (!s->used || !streq(s->phase, "saving"))
                return;
        s->did_ttl = s->did_notice = s->did_lease = false;
        save_fails(s, "TRANSIENT", "the runner was restarted");
        sim_orders_check(s);
}

void sim_job_vanished(struct sim_job *s)
{
        if (!world_live(s) || streq(s->phase, "preparing"))
                return;
        if (streq(s->phase, "saving"))
                save_set(s, "failed");
        exited(s, 137, 9, false, "machine_lost");
}
