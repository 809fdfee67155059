/* SPDX-License-Identifier: Apache-2.0 */
/* The streams between the engine and the simulated runners: what passes over them, late, twice or not at all. */
#include "simulate/parts.h"

struct env_stream {
        struct world *w;
        struct sim_machine *machine; /* NULL: there is none at that endpoint, or not any more */
        struct env_stream_events events;
        bool up, closed;
        uint64_t session;         /* counts ups: nothing of an older one arrives */
        int refs;                 /* what is under way still points here */
        struct request *requests; /* that are not answered yet, newest first */
};

static void stream_unref(struct env_stream *s)
{
        if (--s->refs == 0)
                free(s);
}

/* --- events --- */
/* Told on the stream that is there now, or not at all. */
struct told {
        struct world_due due; /* first */
        struct env_stream *stream;
        uint64_t session;
        json_t *event;
};

static void tell(struct world *w, struct world_due *due)
{
        struct told *t = (struct told *)due;

        if (!w->dying && t->stream->up && !t->stream->closed && t->stream->session == t->session)
                t->stream->events.on_event(t->stream->events.arg, t->event);
        json_decref(t->event);
        stream_unref(t->stream);
        free(t);
}

static void tell_later(struct env_stream *s, const json_t *event)
{
        struct told *t = calloc(1, sizeof *t);

        if (!t)
                abort();
        *t = (struct told){ .due.fire = tell, .stream = s, .session = s->session, .event = json_deep_copy(event) };
        s->refs++;
        due_at(s->w, &t->due, s->w->boot_us + (int64_t)world_chance(s->w, 5 * USEC_PER_SEC));
}

bool sim_stream_hears(const struct sim_machine *m)
{
        return m->stream && m->stream->up && m->w->engine && !m->w->dying;
}

void sim_stream_placement(struct sim_machine *m, const json_t *event)
{
        struct env_stream *s = m->stream;

        if (world_fault(m->w, WORLD_FAULT_EVENT_LATE)) {
                tell_later(s, event);
                return;
        }
        if (world_fault(m->w, WORLD_FAULT_EVENT_TWICE))
                tell_later(s, event);
        s->events.on_event(s->events.arg, event);
}

void sim_stream_event(struct sim_machine *m, const json_t *event)
{
        if (sim_stream_hears(m))
                m->stream->events.on_event(m->stream->events.arg, event);
}

void world_event(struct world *w, const json_t *event)
{
        sim_stream_event(w->lab, event);
}

/* --- requests and their answers --- */
struct request {
        struct world_due due; /* first */
        struct request *next, **link;
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
        struct world *w = r->stream->w;

        due_cancel(w, &r->due);
        *r->link = r->next;
        if (r->next)
                r->next->link = r->link;
        w->open_requests--;
        r->done(r->arg, err, err ? NULL : r->answer, NULL, NULL, 0);
        json_decref(r->body);
        json_decref(r->answer);
        stream_unref(r->stream);
        free(r);
}

static void answer(struct world *w, struct world_due *due)
{
        struct request *r = (struct request *)due;

        (void)w;
        request_end(r, r->err.code ? &r->err : NULL);
}

static void no_answer(struct world *w, struct world_due *due)
{
        struct pd_error late;

        (void)w;
        (void)pd_fail(&late, PD_E_DEADLINE, "no answer within its time");
        request_end((struct request *)due, &late);
}

static void arrive(struct world *w, struct world_due *due)
{
        struct request *r = (struct request *)due;

        r->answer = sim_handle(r->stream->machine, r->generation, r->body, &r->err);
        if (world_fault(w, WORLD_FAULT_ANSWER_LOST)) {
                due->fire = no_answer;
                due_at(w, due, r->deadline_boot_us);
        } else {
                due->fire = answer;
                due_at(w, due, w->boot_us + USEC_PER_MSEC);
        }
}

int sim_stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err)
{
        struct world *w = s->w;
        struct request *r;

        if (!s->up || w->dying || !s->machine)
                return pd_fail(err, PD_E_TRANSIENT, "down");
        r = calloc(1, sizeof *r);
        if (!r)
                abort();
        s->refs++;
        w->open_requests++;
        *r = (struct request){ .stream = s,
                .next = s->requests,
                .link = &s->requests,
                .generation = generation,
                .body = json_deep_copy(body),
                .deadline_boot_us = w->boot_us + timeout_us,
                .done = done,
                .arg = arg };
        if (r->next)
                r->next->link = &r->next;
        s->requests = r;
        if (world_fault(w, WORLD_FAULT_REQUEST_LOST)) {
                r->due.fire = no_answer;
                due_at(w, &r->due, r->deadline_boot_us);
        } else {
                r->due.fire = arrive;
                due_at(w, &r->due, w->boot_us + USEC_PER_MSEC);
        }
        return 0;
}

/* As the real one: what is pending is called back when the connection goes; it may have had its effect all the same. */
static void pending_end(struct env_stream *s)
{
        struct world *w = s->w;
        struct pd_error lost;

        s->refs++;
        while (s->requests) {
                struct request *r = s->requests;

                /* only a world with faults gambles */
                if (r->due.fire == arrive && w->watch && s->machine && !s->machine->gone && world_chance(w, 2))
                        r->answer = sim_handle(s->machine, r->generation, r->body, &r->err);
                (void)pd_fail(&lost, PD_E_UNKNOWN_OUTCOME, "the stream was lost");
                request_end(r, &lost);
        }
        stream_unref(s);
}

/* --- up and down --- */
struct coming {
        struct world_due due; /* first */
        struct env_stream *stream;
};

static void come_up(struct world *w, struct world_due *due)
{
        struct env_stream *s = ((struct coming *)due)->stream;

        if (!s->closed && s->machine && s->machine->reachable && !s->up && !w->dying) {
                s->up = true;
                s->session++;
                s->events.on_up(s->events.arg);
        }
        stream_unref(s);
        free(due);
}

static void come_up_soon(struct env_stream *s)
{
        struct coming *c = calloc(1, sizeof *c);

        if (!c)
                abort();
        *c = (struct coming){ .due.fire = come_up, .stream = s };
        s->refs++;
        due_at(s->w, &c->due, s->w->boot_us + USEC_PER_MSEC);
}

int sim_stream_open(struct env *e, const char *endpoint, uint32_t kind, const struct env_stream_events *events,
        struct env_stream **ret, struct pd_error *err)
{
        struct world *w = (struct world *)e;
        struct env_stream *s = calloc(1, sizeof *s);

        (void)kind, (void)err;
        if (!s)
                abort();
        *s = (struct env_stream){ .w = w, .machine = world_machine(w, endpoint), .events = *events, .refs = 1 };
        if (s->machine) {
                s->machine->stream = s;
                come_up_soon(s);
        }
        *ret = s;
        return 0;
}

void sim_stream_close(struct env_stream *s)
{
        s->closed = true;
        s->up = false;
        if (s->machine && s->machine->stream == s)
                s->machine->stream = NULL;
        pending_end(s);
        stream_unref(s);
}

static void go_down(struct env_stream *s)
{
        struct pd_error why;

        s->up = false;
        pending_end(s);
        (void)pd_fail(&why, PD_E_TRANSIENT, "no answer");
        if (!s->closed)
                s->events.on_down(s->events.arg, &why);
}

void sim_reach(struct sim_machine *m, bool reachable)
{
        m->reachable = reachable;
        if (!m->stream)
                return;
        if (!reachable && m->stream->up)
                go_down(m->stream);
        else if (reachable && !m->stream->up)
                come_up_soon(m->stream);
}

void world_reach(struct world *w, bool reachable)
{
        sim_reach(w->lab, reachable);
}

void sim_stream_lost(struct sim_machine *m)
{
        struct env_stream *s = m->stream;

        m->stream = NULL;
        if (!s)
                return;
        s->machine = NULL;
        if (s->up)
                go_down(s);
}

/* What a daemon that died was told, and what it waited for: nobody hears of it. Its streams are closed, so nothing but their memory is left. */
void sim_forget_streams(struct world *w)
{
        for (size_t i = 0; i < w->heap.n;) {
                struct world_due *d = w->heap.at[i];

                if (d->fire != come_up && d->fire != tell) {
                        i++;
                        continue;
                }
                due_cancel(w, d);
                if (d->fire == tell) {
                        json_decref(((struct told *)d)->event);
                        stream_unref(((struct told *)d)->stream);
                } else {
                        stream_unref(((struct coming *)d)->stream);
                }
                free(d);
                i = 0;
        }
}
