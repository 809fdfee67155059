/* SPDX-License-Identifier: Apache-2.0 */
#include "host/child.h"

#include <stdio.h>
#include <unistd.h>

#include "frame/conn.h"
#include "host/worker.h"

#define CLOSE_US USEC_PER_SEC /* for the plugin's close() when portald is gone */

/* An outcome that is longer than one frame, until its last piece was fetched. */
struct parked {
        struct parked *next;
        uint64_t number;
        size_t n;
        char *text;
};

struct child {
        sd_event *loop;
        struct conn *conn;
        struct worker *worker;
        struct parked *parked;
        bool loaded;
};

static void answer_error(struct child *c, uint64_t request, const struct pd_error *why)
{
        (void)conn_answer_error(c->conn, request, why, NULL);
}

/* {"error":..,"ret":..,"text":..,"items":[..]}: the items are text already and are only put in place. */
static char *outcome_text(const struct task *t, size_t *ret_n)
{
        js_owned *o = json_pack("{s:o,s:O,s:O}", "error", t->rc == 0 ? json_null() : js_from_error(&t->err), "ret",
                t->ret && t->rc == 0 ? t->ret : json_null(), "text", t->text ? t->text : json_null());
        pd_cleanup(freep) char *front = o ? json_dumps(o, JSON_COMPACT) : NULL;
        char *all = NULL;
        int n = -1;

        if (front) /* without its last brace */
                n = asprintf(&all, "%.*s,\"items\":[%.*s]}", (int)strlen(front) - 1, front, (int)t->items_n,
                        t->items ? t->items : "");
        if (n < 0)
                return NULL;
        *ret_n = (size_t)n;
        return all;
}

static void send_piece(struct child *c, uint64_t request, const char *text, size_t n, size_t at)
{
        js_owned *body = json_pack("{s:I}", "n", (json_int_t)n);
        struct pd_error err;

        if (conn_answer(c->conn, request, body, text + at, n - at > FRAME_BLOB_MAX ? FRAME_BLOB_MAX : n - at, &err) <
                0) {
                err.code = PD_E_INTERNAL; /* the call was made: no code that says otherwise */
                answer_error(c, request, &err);
        }
}

static void answer_call(struct child *c, struct task *t)
{
        size_t n = 0;
        char *text = outcome_text(t, &n);
        struct parked *p;
        struct pd_error err;

        if (!text) {
                (void)pd_fail(&err, PD_E_INTERNAL, "no memory for an answer"); /* not NOMEM: it was done */
                answer_error(c, t->id, &err);
                return;
        }
        send_piece(c, t->id, text, n, 0);
        p = n > FRAME_BLOB_MAX ? calloc(1, sizeof *p) : NULL;
        if (!p) {
                free(text);
                return;
        }
        *p = (struct parked){ c->parked, t->number, n, text };
        c->parked = p;
}

static void on_done(void *arg, struct task *given)
{
        struct child *c = arg;
        pd_cleanup(task_freep) struct task *t = given;

        if (t->kind == TASK_CALL) {
                answer_call(c, t);
        } else if (t->rc < 0) {
                answer_error(c, t->id, &t->err);
        } else {
                (void)conn_answer(c->conn, t->id, t->ret, NULL, 0, NULL);
        }
}

static void on_log(void *arg, int level, const char *text)
{
        struct child *c = arg;
        js_owned *body = json_pack("{s:s,s:i,s:s}", "event", "log", "level", level, "text", text);

        /* a line that is not UTF-8, or for which the queue has no room, is lost: it is only a log line */
        if (body)
                (void)conn_event(c->conn, 0, body, NULL);
}

static int blob_json(const struct frame *f, json_t **ret, struct pd_error *err)
{
        if (f->blob_n)
                return js_parse(f->blob, f->blob_n, ret, err);
        *ret = json_object();
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for a call");
}

static int push(struct child *c, struct task *t, uint64_t id, int64_t timeout_us, struct pd_error *err)
{
        t->id = id;
        t->deadline_boot_us = worker_now_boot() + timeout_us;
        return worker_push(c->worker, t, err);
}

static int op_load(struct child *c, const struct frame *f, bool open_it, struct pd_error *err)
{
        pd_cleanup(task_freep) struct task *t = task_new(TASK_LOAD);
        const char *path = NULL;
        int r = js_need_str(f->json, "path", &path, err);

        if (r < 0)
                return r;
        if (c->loaded)
                return pd_fail(err, PD_E_CONFLICT, "one plugin a process, and no more");
        if (!t || !(t->path = strdup(path)))
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        if (open_it)
                r = blob_json(f, &t->config, err);
        if (r < 0)
                return r;
        c->loaded = true;
        t->plugin_kind = (uint32_t)js_int(f->json, "kind", 0);
        t->owner_uid = (uint32_t)js_int(f->json, "owner_uid", 0);
        r = push(c, t, f->request, js_int(f->json, "timeout_us", 10 * USEC_PER_SEC), err);
        if (r == 0)
                t = NULL;
        return r;
}

/* Owns fds. */
static int op_call(struct child *c, const struct frame *f, const int *fds, size_t n_fds, struct pd_error *err)
{
        pd_cleanup(task_freep) struct task *t = task_new(TASK_CALL);
        int r;

        for (size_t i = 0; i < n_fds; i++)
                if (t && i < SLOT_FDS_MAX)
                        t->fds[t->n_fds++] = fds[i];
                else
                        (void)safe_close(fds[i]);
        if (!t)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call");
        r = blob_json(f, &t->args, err);
        if (r < 0)
                return r;
        t->number = (uint64_t)js_int(f->json, "call", 0);
        (void)str_format(t->slot_name, sizeof t->slot_name, "%s", js_str(f->json, "slot", ""));
        (void)str_format(t->token, sizeof t->token, "%s", js_str(f->json, "token", ""));
        r = push(c, t, f->request, js_int(f->json, "timeout_us", 0), err);
        if (r == 0)
                t = NULL;
        return r;
}

static int op_more(struct child *c, const struct frame *f, struct pd_error *err)
{
        uint64_t call = (uint64_t)js_int(f->json, "call", 0);
        size_t at = (size_t)js_int(f->json, "at", 0);

        for (struct parked **p = &c->parked; *p; p = &(*p)->next) {
                struct parked *found = *p;

                if (found->number != call || at >= found->n)
                        continue;
                send_piece(c, f->request, found->text, found->n, at);
                if (found->n - at <= FRAME_BLOB_MAX) {
                        *p = found->next;
                        free(found->text);
                        free(found);
                }
                return 0;
        }
        return pd_fail(err, PD_E_NOT_FOUND, "no such outcome");
}

static void on_frame(void *arg, struct conn *conn, const struct frame *f, const int *fds, size_t n_fds)
{
        struct child *c = arg;
        const char *op = js_str(f->json, "op", "");
        struct pd_error err;
        bool call = streq(op, "call");
        int r;

        (void)conn;
        for (size_t i = 0; i < n_fds && !call; i++)
                (void)safe_close(fds[i]);
        if (call) {
                r = op_call(c, f, fds, n_fds, &err);
        } else if (streq(op, "load") || streq(op, "check")) {
                r = op_load(c, f, streq(op, "load"), &err);
        } else if (streq(op, "more")) {
                r = op_more(c, f, &err);
        } else {
                r = pd_fail(&err, PD_E_INVALID, "no such request: \"%.32s\"", op);
        }
        if (r < 0)
                answer_error(c, f->request, &err);
}

static void on_lost(void *arg, struct conn *conn, const struct pd_error *err)
{
        struct child *c = arg;

        (void)conn, (void)err;
        (void)sd_event_exit(c->loop, 0);
}

static void child_clear(struct child *c)
{
        c->conn = conn_free(c->conn);
        /* nobody is left to answer to; a plugin that does not come back must not keep the process */
        if (!worker_stop(c->worker, CLOSE_US))
                _exit(0);
        while (c->parked) {
                struct parked *p = c->parked;

                c->parked = p->next;
                free(p->text);
                free(p);
        }
        sd_event_unref(c->loop);
}

int child_run(int fd, struct pd_error *err)
{
        struct child c = { 0 };
        struct conn_events conn_events = { on_frame, on_lost, &c };
        struct worker_events worker_events = { on_done, on_log, &c };
        int r = sd_event_new(&c.loop);

        if (r < 0)
                return pd_fail(err, PD_E_NOMEM, "no event loop: %s", strerror(-r));
        r = worker_new(&c.worker, c.loop, &worker_events, err);
        if (r == 0)
                r = conn_new(&c.conn, c.loop, fd, &conn_events, err);
        if (r == 0)
                r = sd_event_loop(c.loop) < 0 ? pd_fail(err, PD_E_INTERNAL, "the event loop failed") : 0;
        child_clear(&c);
        return r;
}
