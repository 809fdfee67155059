/* SPDX-License-Identifier: Apache-2.0 */
#include "frame/conn.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/quantity.h"
#include "frame/stream.h"

/* A request without its answer. The list is in order of sending: answers mostly find theirs at the head. */
struct pending {
        struct pending *next, *prev;
        struct conn *conn;
        uint64_t request;
        int64_t timeout_us;
        char op[32]; /* for the deadline's sentence */
        sd_event_source *timer;
        json_t *items;
        size_t items_n; /* bytes of their text */
        conn_answer_fn done;
        void *arg;
};

struct conn {
        sd_event *loop;
        sd_event_source *io;
        struct stream stream;
        struct conn_events events;
        struct pending list; /* its head and tail */
        size_t n_pending;
        uint64_t last_request;
        unsigned int inside; /* handlers and callbacks running: who frees meanwhile only marks */
        bool lost, freed;
};

static struct pending *pending_free(struct pending *p)
{
        if (!p)
                return NULL;
        sd_event_source_disable_unref(p->timer);
        json_decref(p->items);
        free(p);
        return NULL;
}

static void pending_freep(struct pending **p)
{
        *p = pending_free(*p);
}

static void conn_destroy(struct conn *c)
{
        sd_event_source_disable_unref(c->io);
        stream_clear(&c->stream);
        sd_event_unref(c->loop);
        free(c);
}

static void leave(struct conn *c)
{
        if (--c->inside == 0 && c->freed)
                conn_destroy(c);
}

/* Ends one request: out of the list first, so that the callback may do as it likes. */
static void finish(struct pending *p, const struct pd_error *err, const struct frame *answer)
{
        struct conn *c = p->conn;
        js_owned *items = pd_steal(p->items);
        conn_answer_fn done = p->done;
        void *arg = p->arg;

        p->prev->next = p->next;
        p->next->prev = p->prev;
        c->n_pending--;
        (void)pending_free(p);
        c->inside++;
        done(arg, err, err ? NULL : answer, items);
        leave(c);
}

/* The stream is at its end: every request is called back, then the owner unless it is the one who ended it. */
static void lose(struct conn *c, const struct pd_error *why)
{
        struct pd_error err;

        if (c->lost)
                return;
        c->lost = true;
        c->io = sd_event_source_disable_unref(c->io);
        stream_clear(&c->stream);
        (void)pd_fail(&err, PD_E_UNKNOWN_OUTCOME, "the stream was lost before the answer came: %.150s", why->text);
        c->inside++;
        while (c->list.next != &c->list)
                finish(c->list.next, &err, NULL);
        if (!c->freed && c->events.on_lost)
                c->events.on_lost(c->events.arg, c, why);
        leave(c);
}

/* Only from the loop: may lose the stream. */
static int write_out(struct conn *c, struct pd_error *err)
{
        int r = stream_flush(&c->stream, err);

        if (r < 0)
                return r;
        (void)sd_event_source_set_io_events(c->io, c->stream.first ? EPOLLIN | EPOLLOUT : EPOLLIN);
        return 0;
}

static struct pending *pending_find(struct conn *c, uint64_t request)
{
        for (struct pending *p = c->list.next; p != &c->list; p = p->next)
                if (p->request == request)
                        return p;
        return NULL;
}

static void take_item(struct pending *p, struct frame *f)
{
        struct pd_error err;

        p->items_n += f->json_n;
        if (p->items_n > CONN_ITEMS_MAX) {
                (void)pd_fail(
                        &err, PD_E_FULL, "the answer to \"%s\" has more than %u bytes of items", p->op, CONN_ITEMS_MAX);
                finish(p, &err, NULL);
                return;
        }
        if (!p->items)
                p->items = json_array();
        if (json_array_append(p->items, f->json) < 0) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the answer to \"%s\"", p->op);
                finish(p, &err, NULL);
        }
}

static void take_answer(struct pending *p, struct frame *f)
{
        struct pd_error err;

        if (js_bool(f->json, "ok", false)) {
                finish(p, NULL, f);
                return;
        }
        js_to_error(json_object_get(f->json, "error"), &err);
        if (err.text[0] == '\0')
                (void)pd_fail(&err, PD_E_CORRUPT, "the answer to \"%s\" says neither \"ok\" nor an error", p->op);
        finish(p, &err, NULL);
}

static int dispatch(struct conn *c, struct frame *f, int *fds, size_t n_fds, struct pd_error *err)
{
        struct pending *p;

        if (f->kind == FRAME_REQUEST || f->kind == FRAME_EVENT) {
                if (c->events.on_frame)
                        c->events.on_frame(c->events.arg, c, f, fds, n_fds);
                else
                        while (n_fds)
                                (void)safe_close(fds[--n_fds]);
                return 0;
        }
        while (n_fds)
                (void)safe_close(fds[--n_fds]); /* answers carry none */
        if (f->request > c->last_request)
                return pd_fail(err, PD_E_CORRUPT, "an answer to request %llu, which was never sent",
                        (unsigned long long)f->request);
        p = pending_find(c, f->request); /* none: its deadline has passed */
        if (p && f->kind == FRAME_ITEM)
                take_item(p, f);
        else if (p)
                take_answer(p, f);
        return 0;
}

static int read_in(struct conn *c, struct pd_error *err)
{
        int end = stream_fill(&c->stream, err);

        if (end < 0)
                return end;
        while (!c->lost) {
                struct frame f = { 0 };
                int fds[STREAM_FDS_MAX];
                size_t n_fds = 0;
                int r = stream_next(&c->stream, &f, fds, &n_fds, err);

                if (r < 0)
                        return r;
                if (r == 0)
                        break;
                r = dispatch(c, &f, fds, n_fds, err);
                frame_clear(&f);
                if (r < 0)
                        return r;
        }
        if (!end || c->lost)
                return 0;
        return pd_fail(err, PD_E_IO,
                stream_torn(&c->stream) ? "the peer closed the stream inside a frame" : "the peer closed the stream");
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *arg)
{
        struct conn *c = arg;
        struct pd_error err = { 0 };
        int r = 0;

        (void)source;
        (void)fd;
        c->inside++;
        /* reading first: a peer that answered and closed is heard out before a failed write ends it */
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                r = read_in(c, &err);
        if (r == 0 && !c->lost)
                r = write_out(c, &err);
        if (r < 0)
                lose(c, &err);
        leave(c);
        return 0;
}

int conn_new(struct conn **ret, sd_event *loop, int fd, const struct conn_events *events, struct pd_error *err)
{
        struct conn *c = calloc(1, sizeof *c);
        int r;

        if (!c)
                return pd_fail(err, PD_E_NOMEM, "no memory for a stream");
        c->events = *events;
        c->list.next = c->list.prev = &c->list;
        r = stream_init(&c->stream, fd, err);
        if (r < 0) {
                free(c);
                return r;
        }
        r = sd_event_add_io(loop, &c->io, fd, EPOLLIN, on_io, c);
        if (r < 0) {
                free(c); /* fd stays the caller's */
                return pd_fail(err, PD_E_IO, "descriptor %d cannot be waited for: %s", fd, strerror(-r));
        }
        c->loop = sd_event_ref(loop);
        *ret = c;
        return 0;
}

struct conn *conn_free(struct conn *c)
{
        struct pd_error why;

        if (!c)
                return NULL;
        c->freed = true;
        c->inside++;
        (void)pd_fail(&why, PD_E_CANCELLED, "it was closed on this side");
        lose(c, &why);
        leave(c);
        return NULL;
}

/* Queues and sends what goes at once. A failed write is left for the loop to find again: nothing is called back from here. */
static int send_frame(struct conn *c, const struct frame *f, const int *fds, size_t n_fds, struct pd_error *err)
{
        bool was_empty = !c->stream.first;
        int r;

        if (c->lost)
                return pd_fail(err, PD_E_TRANSIENT, "the stream is closed, and nothing was sent");
        r = stream_queue(&c->stream, f, fds, n_fds, CONN_QUEUE_MAX, err);
        if (r < 0)
                return r;
        if (was_empty)
                (void)stream_flush(&c->stream, NULL);
        (void)sd_event_source_set_io_events(c->io, c->stream.first ? EPOLLIN | EPOLLOUT : EPOLLIN);
        return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
        struct pending *p = arg;
        struct pd_error err;
        char span[QUANTITY_MAX];
        bool unsent = stream_withdraw(&p->conn->stream, p->request);

        (void)source;
        (void)usec;
        (void)pd_fail(&err, PD_E_DEADLINE, "no answer to \"%s\" within %s%s", p->op,
                duration_format(p->timeout_us, span), unsent ? ": the peer does not read, and it was never sent" : "");
        finish(p, &err, NULL);
        return 0;
}

static int pending_new(
        struct pending **ret, struct conn *c, const json_t *body, int64_t timeout_us, struct pd_error *err)
{
        pd_cleanup(pending_freep) struct pending *p = NULL;
        int r;

        if (timeout_us <= 0)
                return pd_fail(err, PD_E_INVALID, "a request needs a deadline above 0");
        if (c->n_pending >= CONN_PENDING_MAX)
                return pd_fail(err, PD_E_FULL, "%zu requests wait for answers, and at most %d may", c->n_pending,
                        CONN_PENDING_MAX);
        p = calloc(1, sizeof *p);
        if (!p)
                return pd_fail(err, PD_E_NOMEM, "no memory for a request");
        p->conn = c;
        p->timeout_us = timeout_us;
        (void)str_format(p->op, sizeof p->op, "%s", js_str(body, "op", "request"));
        r = sd_event_add_time_relative(c->loop, &p->timer, CLOCK_BOOTTIME, (uint64_t)timeout_us, 0, on_deadline, p);
        if (r < 0)
                return pd_fail(err, PD_E_NOMEM, "no timer for a request: %s", strerror(-r));
        *ret = pd_steal(p);
        return 0;
}

int conn_request(struct conn *c, uint64_t generation, const json_t *body, const void *blob, size_t blob_n,
        const int *fds, size_t n_fds, int64_t timeout_us, conn_answer_fn done, void *arg, struct pd_error *err)
{
        pd_cleanup(pending_freep) struct pending *p = NULL;
        struct frame f = { .kind = FRAME_REQUEST,
                .generation = generation,
                .request = c->last_request + 1,
                .json = (json_t *)(uintptr_t)body,
                .blob = (void *)(uintptr_t)blob,
                .blob_n = blob_n };
        int r;

        r = pending_new(&p, c, body, timeout_us, err);
        if (r < 0 || !p)
                return r;
        r = send_frame(c, &f, fds, n_fds, err);
        if (r < 0)
                return r;
        p->request = c->last_request = f.request;
        p->done = done;
        p->arg = arg;
        p->prev = c->list.prev;
        p->next = &c->list;
        p->prev->next = p->next->prev = p;
        c->n_pending++;
        p = NULL;
        return 0;
}

static int send_plain(struct conn *c, enum frame_kind kind, uint64_t generation, uint64_t request, const json_t *body,
        const void *blob, size_t blob_n, struct pd_error *err)
{
        struct frame f = { .kind = kind,
                .generation = generation,
                .request = request,
                .json = (json_t *)(uintptr_t)body,
                .blob = (void *)(uintptr_t)blob,
                .blob_n = blob_n };

        return send_frame(c, &f, NULL, 0, err);
}

int conn_answer(
        struct conn *c, uint64_t request, const json_t *body, const void *blob, size_t blob_n, struct pd_error *err)
{
        js_owned *copy = body ? json_copy((json_t *)(uintptr_t)body) : json_object();

        if (!copy || json_object_set_new(copy, "ok", json_true()) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        return send_plain(c, FRAME_ANSWER, 0, request, copy, blob, blob_n, err);
}

int conn_answer_error(struct conn *c, uint64_t request, const struct pd_error *why, struct pd_error *err)
{
        js_owned *body = json_pack("{s:b,s:o}", "ok", 0, "error", js_from_error(why));

        if (!body)
                return pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        return send_plain(c, FRAME_ANSWER, 0, request, body, NULL, 0, err);
}

int conn_item(struct conn *c, uint64_t request, const json_t *item, struct pd_error *err)
{
        return send_plain(c, FRAME_ITEM, 0, request, item, NULL, 0, err);
}

int conn_event(struct conn *c, uint64_t generation, const json_t *body, struct pd_error *err)
{
        return send_plain(c, FRAME_EVENT, generation, 0, body, NULL, 0, err);
}

int conn_peer(const struct conn *c, int32_t *ret_pid, uint32_t *ret_uid, uint32_t *ret_gid)
{
        struct ucred peer;
        socklen_t n = sizeof peer;

        if (!c->stream.unix_socket || getsockopt(c->stream.fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return -PD_E_UNSUPPORTED;
        *ret_pid = peer.pid;
        *ret_uid = peer.uid;
        *ret_gid = peer.gid;
        return 0;
}

size_t conn_queued(const struct conn *c)
{
        return c->stream.queued;
}
