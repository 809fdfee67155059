/* SPDX-License-Identifier: Apache-2.0 */
/* The stream between the engine and the simulated runner: what passes over it, late, twice or not at all. */
#include "world/sim.h"

struct env_stream {
        struct world *w;
        struct env_stream_events events;
        bool up, closed;
        uint64_t session; /* counts ups: nothing of an older one arrives */
        int refs;         /* what is under way still points here */
};

/* --- events --- */
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

bool sim_stream_hears(const struct world *w)
{
        return w->stream && w->stream->up && w->engine && !w->dying;
}

void sim_stream_placement(struct world *w, const json_t *event)
{
        if (world_fault(w, FAULT_EVENT_LATE)) {
                tell_later(w, event);
                return;
        }
        if (world_fault(w, FAULT_EVENT_TWICE))
                tell_later(w, event);
        w->stream->events.on_event(w->stream->events.arg, event);
}

void sim_stream_event(struct world *w, const json_t *event)
{
        if (w->stream && w->stream->up)
                w->stream->events.on_event(w->stream->events.arg, event);
}

/* --- requests and their answers --- */
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

        r->answer = sim_handle(w, r->generation, r->body, &r->err);
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
                        r->answer = sim_handle(w, r->generation, r->body, &r->err);
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
        if (!w->dying)
                sim_stream_event(w, event);
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
