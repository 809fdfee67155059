/* SPDX-License-Identifier: Apache-2.0 */
#include "world/sim.h"

#include <stdio.h>

struct env_stream {
        struct world *w;
        struct env_stream_events events;
        bool up, closed;
        int refs; /* what is under way still points here */
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

static void push(struct world *w, struct sim_job *s)
{
        js_owned *event = NULL;

        s->seq++;
        if (!w->stream || !w->stream->up || !w->engine)
                return;
        event = json_pack("{s:s,s:o}", "event", "placement", "placement", placement(w, s));
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

void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause)
{
        freeze(w, s);
        s->phase = "exited";
        (void)str_format(s->cause, sizeof s->cause, "%s", cause);
        json_decref(s->exit);
        s->exit = json_pack(
                "{s:i,s:i,s:b,s:I}", "code", code, "signal", sig, "oom", 0, "wall_us", (json_int_t)w->wall_us);
        push(w, s);
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

static void save_done(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = note_job(w, n, "saving");
        const char *mode;

        if (s && streq(js_str(s->save, "checkpoint", ""), n->checkpoint)) {
                mode = js_str(s->save, "mode", "");
                if (w->refuse_path) {
                        (void)json_object_set_new(s->save, "state", json_string("refused"));
                        (void)json_object_set_new(s->save, "values",
                                json_pack("[{s:s,s:s,s:s,s:s,s:i,s:i}]", "path", w->refuse_path, "type",
                                        "threading.Lock", "reason", "a lock belongs to one process", "fix",
                                        "make it again after a resume", "pid", 0, "fd", -1));
                        s->phase = "running";
                        push(w, s);
                        if (streq(mode, "stop"))
                                sim_exit(w, s, 143, 15, js_str(s->save, "cause", ""));
                } else {
                        (void)json_object_set_new(s->save, "state", json_string("committed"));
                        (void)json_object_set_new(s->save, "wall_us", json_integer(w->wall_us));
                        (void)json_object_set_new(w->checkpoints, n->checkpoint, json_true());
                        if (streq(mode, "keep")) {
                                s->phase = "running";
                                push(w, s);
                        } else {
                                sim_exit(w, s, 137, 9, js_str(s->save, "cause", ""));
                        }
                }
        }
        free(n);
}

static void save(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode, const char *cause)
{
        if (streq(s->phase, "saving") && streq(js_str(s->save, "checkpoint", ""), checkpoint))
                return;
        w->saves++;
        json_decref(s->save);
        s->save = json_pack("{s:s,s:s,s:s,s:s,s:i,s:s,s:i,s:i,s:I,s:s}", "checkpoint", checkpoint, "mode", mode,
                "cause", cause, "state", "saving", "bytes", 1000, "progress", "step 7", "took_us", 2000000, "freeze_us",
                1000000, "wall_us", (json_int_t)w->wall_us, "capture", "values");
        s->phase = "saving";
        push(w, s);
        sim_later(w, w->save_us, save_done, note_new(w, s, checkpoint));
}

static void ttl_reached(struct world *w, void *arg)
{
        struct note *n = arg;
        struct sim_job *s = note_job(w, n, "running");

        if (s)
                save(w, s, js_str(json_object_get(s->order, "orders"), "ttl_checkpoint", ""), "stop", "ttl");
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
                s->started_boot_us = w->boot_us;
                left = json_object_get(json_object_get(s->order, "orders"), "ttl_left_us");
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

        if (s->used && s->generation == n->generation && !streq(s->phase, "exited") && !streq(s->phase, "failed"))
                sim_exit(w, s, 143, 15, n->checkpoint);
        free(n);
}

/* --- requests --- */
static json_t *op_start(struct world *w, uint64_t generation, const json_t *body)
{
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);

        if (s && s->generation >= generation)
                return placement(w, s); /* asked twice, done once */
        for (size_t i = 0; !s && i < SIM_JOBS; i++)
                if (!w->jobs[i].used)
                        s = &w->jobs[i];
        if (!s)
                abort();
        sim_job_clear(s);
        w->starts++;
        *s = (struct sim_job){
                .used = true, .generation = generation, .phase = "preparing", .order = json_deep_copy(body)
        };
        (void)str_format(s->job, sizeof s->job, "%s", js_str(body, "job", ""));
        if (w->start_error)
                fail_later(w, s, w->start_error, "the image cannot be had");
        else if (restore && !json_object_get(w->checkpoints, restore))
                fail_later(w, s, "CORRUPT", restore);
        else
                sim_later(w, w->start_us, started, note_new(w, s, ""));
        return placement(w, s);
}

static json_t *list(const struct world *w)
{
        json_t *all = json_array();

        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used)
                        (void)json_array_append_new(all, placement(w, &w->jobs[i]));
        return json_pack("{s:o}", "placements", all);
}

void world_notice(struct world *w, int64_t in_us)
{
        js_owned *event = json_pack("{s:s,s:I,s:s}", "event", "notice", "deadline_wall_us",
                (json_int_t)(w->wall_us + in_us), "source", "provider");

        if (w->stream && w->stream->up)
                w->stream->events.on_event(w->stream->events.arg, event);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && streq(w->jobs[i].phase, "running"))
                        save(w, &w->jobs[i],
                                js_str(json_object_get(w->jobs[i].order, "orders"), "notice_checkpoint", ""), "suspend",
                                "notice");
}

static json_t *handle(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err)
{
        const char *op = js_str(body, "op", "");
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));

        err->code = PD_OK;
        if (streq(op, "hello"))
                return json_pack("{s:i,s:s,s:{s:i,s:I,s:i,s:{s:{s:b},s:{s:b},s:{s:b}}}}", "version", 1, "boot_id", "b",
                        "caps", "cpu_milli", 8000, "memory_bytes", (json_int_t)16 << 30, "gpus", 0, "captures",
                        "values", "usable", 1, "command", "usable", 1, "restart", "usable", 1);
        if (streq(op, "list"))
                return list(w);
        if (streq(op, "start"))
                return op_start(w, generation, body);
        if (streq(op, "lease")) {
                w->leases++;
                w->stop_wall_us = js_int(body, "stop_wall_us", 0);
                return json_pack("{s:I,s:I}", "stop_wall_us", (json_int_t)w->stop_wall_us, "stop_boot_us",
                        (json_int_t)js_int(body, "stop_boot_us", 0));
        }
        if (streq(op, "notice")) {
                world_notice(w, js_int(body, "in_us", 0));
                return json_pack("{s:I}", "deadline_wall_us", (json_int_t)(w->wall_us + js_int(body, "in_us", 0)));
        }
        if (streq(op, "drop"))
                return json_object_del(w->checkpoints, js_str(body, "checkpoint", "")) < 0 ? json_object()
                                                                                           : json_object();
        if (!s) {
                (void)pd_fail(err, PD_E_NOT_FOUND, "no such job here");
                return NULL;
        }
        if (generation < s->generation) {
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
                return NULL;
        }
        if (streq(op, "save"))
                save(w, s, js_str(body, "checkpoint", ""), js_str(body, "mode", ""), js_str(body, "cause", ""));
        else if (streq(op, "stop")) {
                w->stops++;
                sim_later(w, w->stop_us, stopped, note_new(w, s, js_str(body, "cause", "user")));
        } else if (streq(op, "release")) {
                w->releases++;
                sim_job_clear(s);
                return json_object();
        }
        return placement(w, s);
}

/* --- the stream --- */
struct request {
        struct env_stream *stream;
        uint64_t generation;
        json_t *body, *answer;
        struct pd_error err;
        env_answer_fn done;
        void *arg;
};

static void stream_unref(struct env_stream *s)
{
        if (--s->refs == 0)
                free(s);
}

static void request_end(struct request *r, const struct pd_error *err)
{
        r->done(r->arg, err, err ? NULL : r->answer, NULL, NULL, 0);
        json_decref(r->body);
        json_decref(r->answer);
        stream_unref(r->stream);
        free(r);
}

static void answer(struct world *w, void *arg)
{
        struct request *r = arg;
        struct pd_error lost;

        (void)w;
        (void)pd_fail(&lost, PD_E_UNKNOWN_OUTCOME, "the stream was lost");
        if (r->stream->closed || !r->stream->up)
                request_end(r, &lost);
        else
                request_end(r, r->err.code ? &r->err : NULL);
}

static void arrive(struct world *w, void *arg)
{
        struct request *r = arg;
        struct pd_error lost;

        (void)pd_fail(&lost, PD_E_UNKNOWN_OUTCOME, "the stream was lost");
        if (r->stream->closed || !r->stream->up) {
                request_end(r, &lost);
                return;
        }
        r->answer = handle(w, r->generation, r->body, &r->err);
        sim_later(w, USEC_PER_MSEC, answer, r);
}

int sim_stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err)
{
        struct request *r;

        (void)timeout_us;
        if (!s->up)
                return pd_fail(err, PD_E_TRANSIENT, "down");
        r = calloc(1, sizeof *r);
        if (!r)
                abort();
        s->refs++;
        *r = (struct request){
                .stream = s, .generation = generation, .body = json_deep_copy(body), .done = done, .arg = arg
        };
        sim_later(s->w, USEC_PER_MSEC, arrive, r);
        return 0;
}

static void come_up(struct world *w, void *arg)
{
        struct env_stream *s = arg;

        if (!s->closed && w->reachable && !s->up) {
                s->up = true;
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
        /* as the real one: what is pending is called back before it is gone */
        for (size_t i = s->w->events.n; i-- > 0;) {
                struct sim_event x = s->w->events.at[i];

                if ((x.fire == arrive || x.fire == answer) && ((struct request *)x.arg)->stream == s) {
                        vec_swap_remove(&s->w->events, i);
                        answer(s->w, x.arg);
                }
        }
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
                (void)pd_fail(&why, PD_E_TRANSIENT, "no answer");
                s->events.on_down(s->events.arg, &why);
        } else if (reachable && !s->up) {
                s->refs++;
                sim_later(w, USEC_PER_MSEC, come_up, s);
        }
}

void world_event(struct world *w, const json_t *event)
{
        if (w->stream && w->stream->up)
                w->stream->events.on_event(w->stream->events.arg, event);
}

/* Plugin calls of a daemon that died: nobody waits for them. */
void sim_forget_requests(struct world *w)
{
        for (size_t i = w->events.n; i-- > 0;)
                if (w->events.at[i].fire == come_up) {
                        stream_unref(w->events.at[i].arg);
                        vec_swap_remove(&w->events, i);
                }
}
