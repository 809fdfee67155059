/* SPDX-License-Identifier: Apache-2.0 */
/* isolation = "process": the plugin in a portald-plugin-host of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "frame/conn.h"
#include "host/child.h"
#include "host/instance.h"
#include "host/spawn.h"
#include "host/worker.h"

#define DEATH_US (200 * USEC_PER_MSEC) /* from the end of a stream to the end of its process */
#define CHECK_MEMORY (UINT64_C(1) << 30)

struct process {
        struct spawned child;
        struct conn *conn;
        bool dropping; /* its requests are called back because we ended it */
};

static void process_end(struct host *h, int64_t wait_us, char *how, size_t how_n)
{
        struct process *p = h->process;

        if (!p)
                return;
        p->dropping = true;
        p->conn = conn_free(p->conn);
        spawn_end(&p->child, wait_us, how, how_n);
        p->dropping = false;
}

/* Calls */

static void on_piece(void *arg, const struct pd_error *err, const struct frame *f, json_t *items);

static int ask_more(struct host *h, struct call *c, struct pd_error *err)
{
        js_owned *body =
                json_pack("{s:s,s:I,s:I}", "op", "more", "call", (json_int_t)c->number, "at", (json_int_t)c->text_got);

        return conn_request(
                h->process->conn, 0, body, NULL, 0, NULL, 0, c->timeout_us + 2 * HOST_GRACE_US, on_piece, c, err);
}

/* An outcome that cannot be read has no out-arguments: the judge refuses it. */
static void answer_text(struct call *c)
{
        js_owned *o = NULL;
        struct outcome out = { 0 };
        struct pd_error err;

        if (c->text && js_parse(c->text, c->text_n, &o, &err) == 0) {
                const json_t *why = json_object_get(o, "error");

                if (json_is_object(why)) {
                        js_to_error(why, &out.err);
                        out.rc = -(int)out.err.code;
                }
                out.ret = json_object_get(o, "ret");
                out.items = json_is_array(json_object_get(o, "items")) ? json_object_get(o, "items") : NULL;
                out.text = json_is_object(json_object_get(o, "text")) ? json_object_get(o, "text") : NULL;
        }
        instance_answer(c, &out);
}

/* Takes a piece: 1 = whole, 0 = more is to come, negative = it is nonsense. */
static int take_piece(struct call *c, const struct frame *f)
{
        int64_t n = js_int(f->json, "n", -1);

        if (!c->text) {
                if (n <= 0 || n > CHILD_OUTCOME_MAX || !(c->text = malloc((size_t)n)))
                        return -1;
                c->text_n = (size_t)n;
        }
        if ((size_t)n != c->text_n || f->blob_n == 0 || f->blob_n > c->text_n - c->text_got)
                return -1;
        memcpy(c->text + c->text_got, f->blob, f->blob_n);
        c->text_got += f->blob_n;
        return c->text_got == c->text_n;
}

static void on_piece(void *arg, const struct pd_error *err, const struct frame *f, json_t *items)
{
        struct call *c = arg;
        struct host *h = c->host;
        struct outcome refused = { 0 };
        struct pd_error e;
        int r;

        (void)items;
        /* a lost stream is told once, by on_lost, and the deadline is host.c's */
        if (h->process->dropping || (err && (err->code == PD_E_UNKNOWN_OUTCOME || err->code == PD_E_DEADLINE)))
                return;
        if (err) {
                refused.rc = -(int)err->code;
                refused.err = *err;
                instance_answer(c, &refused);
                return;
        }
        r = take_piece(c, f);
        if (r == 0 && ask_more(h, c, &e) == 0)
                return;
        if (r != 1) {
                free(c->text);
                c->text = NULL;
        }
        answer_text(c);
}

static int process_send(struct host *h, struct call *c, struct pd_error *err)
{
        int64_t left_us = c->deadline_boot_us - worker_now_boot();
        js_owned *body = json_pack("{s:s,s:I,s:s,s:s,s:I}", "op", "call", "call", (json_int_t)c->number, "slot",
                c->slot->name, "token", c->token, "timeout_us", (json_int_t)(left_us > 1 ? left_us : 1));
        pd_cleanup(freep) char *args = json_dumps(c->args, JSON_COMPACT);

        if (!body || !args)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call of %s", c->slot->name);
        return conn_request(h->process->conn, 0, body, args, strlen(args), c->fds, c->n_fds,
                c->timeout_us + 2 * HOST_GRACE_US, on_piece, c, err);
}

static bool process_late(struct host *h, struct call *c)
{
        (void)c;
        process_end(h, 0, NULL, 0);
        return true;
}

/* Events of the child */

static void on_frame(void *arg, struct conn *conn, const struct frame *f, const int *fds, size_t n_fds)
{
        (void)conn;
        for (size_t i = 0; i < n_fds; i++)
                (void)safe_close(fds[i]);
        if (f->kind == FRAME_EVENT && streq(js_str(f->json, "event", ""), "log"))
                instance_log(arg, (int)js_int(f->json, "level", PD_LOG_INFO) & 7, js_str(f->json, "text", ""));
}

static void on_lost(void *arg, struct conn *conn, const struct pd_error *err)
{
        struct host *h = arg;
        struct pd_error why;
        char how[80];

        (void)conn, (void)err;
        process_end(h, DEATH_US, how, sizeof how);
        (void)pd_fail(&why, PD_E_CRASHED, "plugin %s (%s): its process %s", h->plugin_name, h->name, how);
        instance_down(h, &why);
}

/* Starting */

static json_t *load_body(const char *op, const char *path, uint32_t kind, uint32_t owner_uid)
{
        return json_pack("{s:s,s:s,s:I,s:I,s:I}", "op", op, "path", path, "kind", (json_int_t)kind, "owner_uid",
                (json_int_t)owner_uid, "timeout_us", (json_int_t)INSTANCE_OPEN_US);
}

static void on_loaded(void *arg, const struct pd_error *err, const struct frame *f, json_t *items)
{
        struct host *h = arg;

        (void)items;
        if (h->process->dropping || (err && err->code == PD_E_UNKNOWN_OUTCOME))
                return;
        if (err) {
                process_end(h, 0, NULL, 0);
                instance_down(h, err);
                return;
        }
        instance_info(h, f->json);
        instance_up(h);
}

static int listen_to(struct host *h, struct pd_error *err)
{
        struct conn_events events = { on_frame, on_lost, h };
        int r = conn_new(&h->process->conn, h->loop, h->process->child.fd, &events, err);

        if (r == 0)
                h->process->child.fd = -1;
        return r;
}

static int process_start(struct host *h, struct pd_error *err)
{
        js_owned *body = load_body("load", h->path, h->kind, h->owner_uid);
        pd_cleanup(freep) char *config = json_dumps(h->config, JSON_COMPACT);
        int r;

        if (!body || !config)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        r = spawn_host(h->program, h->memory_max, &h->process->child, err);
        if (r == 0)
                r = listen_to(h, err);
        if (r == 0)
                r = conn_request(h->process->conn, 0, body, config, strlen(config), NULL, 0, INSTANCE_OPEN_US,
                        on_loaded, h, err);
        if (r < 0)
                process_end(h, 0, NULL, 0);
        return r;
}

/* One request and its answer without the caller's loop: for host_open() and host_check_file(), which may not wait in it. */
struct exchange {
        struct host *h; /* for log lines; NULL = dropped */
        bool done;
        int rc;
        struct pd_error err;
        json_t *answer;
};

static void on_exchanged(void *arg, const struct pd_error *err, const struct frame *f, json_t *items)
{
        struct exchange *x = arg;

        (void)items;
        x->done = true;
        if (err)
                x->err = *err;
        x->rc = err ? -(int)err->code : 0;
        x->answer = err ? NULL : json_incref(f->json);
}

static void on_exchange_frame(void *arg, struct conn *conn, const struct frame *f, const int *fds, size_t n_fds)
{
        struct exchange *x = arg;

        if (x->h)
                on_frame(x->h, conn, f, fds, n_fds);
}

static void turn_until_done(sd_event *loop, struct exchange *x, int64_t until_boot_us)
{
        while (!x->done) {
                int64_t left = until_boot_us - worker_now_boot();

                if (left <= 0 || sd_event_run(loop, (uint64_t)left) < 0)
                        return;
        }
}

static int exchange_on(
        sd_event *loop, int fd, struct exchange *x, const json_t *body, const char *blob, struct pd_error *err)
{
        struct conn_events events = { on_exchange_frame, NULL, x };
        pd_cleanup(conn_freep) struct conn *conn = NULL;
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the stream itself goes on in the caller's loop */
        int r = copy < 0 ? pd_fail(err, PD_E_IO, "no descriptor: %s", strerror(errno))
                         : conn_new(&conn, loop, copy, &events, err);

        if (r < 0) {
                (void)safe_close(copy);
                return r;
        }
        r = conn_request(conn, 0, body, blob, blob ? strlen(blob) : 0, NULL, 0, INSTANCE_OPEN_US, on_exchanged, x, err);
        if (r == 0)
                turn_until_done(loop, x, worker_now_boot() + INSTANCE_OPEN_US + USEC_PER_SEC);
        return r;
}

/* A child that died over it is told by how it died. */
static int exchange(struct spawned *child, struct host *h, const char *path, const json_t *body, const char *blob,
        json_t **ret, struct pd_error *err)
{
        struct exchange x = { .h = h };
        sd_event *loop = NULL;
        char how[80];
        int r = sd_event_new(&loop) < 0 ? pd_fail(err, PD_E_NOMEM, "no event loop") : 0;

        if (r == 0)
                r = exchange_on(loop, child->fd, &x, body, blob, err);
        sd_event_unref(loop);
        if (r < 0)
                return r;
        if (x.rc == -(int)PD_E_UNKNOWN_OUTCOME) {
                spawn_end(child, DEATH_US, how, sizeof how);
                return pd_fail(err, PD_E_CRASHED, "%s: its process %s while it was loaded", path, how);
        }
        if (x.rc == -(int)PD_E_DEADLINE)
                return pd_fail(err, PD_E_DEADLINE, "%s: was not loaded and open within %d s", path,
                        (int)(INSTANCE_OPEN_US / USEC_PER_SEC));
        if (x.rc < 0 && err)
                *err = x.err;
        if (x.rc == 0)
                *ret = x.answer;
        return x.rc;
}

int process_open(struct host *h, struct pd_error *err)
{
        js_owned *body = load_body("load", h->path, h->kind, h->owner_uid), *info = NULL;
        pd_cleanup(freep) char *config = json_dumps(h->config, JSON_COMPACT);
        int r;

        h->process = calloc(1, sizeof *h->process);
        if (h->process)
                h->process->child = (struct spawned)SPAWNED_NONE;
        if (!h->process || !body || !config)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        r = spawn_host(h->program, h->memory_max, &h->process->child, err);
        if (r == 0)
                r = exchange(&h->process->child, h, h->path, body, config, &info, err);
        if (r == 0)
                r = listen_to(h, err);
        if (r < 0)
                return r; /* host_free() ends the child */
        instance_info(h, info);
        return 0;
}

static void process_stop(struct host *h)
{
        process_end(h, INSTANCE_CLOSE_US, NULL, 0);
        free(h->process);
        h->process = NULL;
}

const struct backend process_backend = { process_send, process_start, process_late, process_stop };

int host_check_file(const char *path, uint32_t expect_kind, uint32_t owner_uid, const char *program, json_t **ret_info,
        struct pd_error *err)
{
        struct spawned child = SPAWNED_NONE;
        js_owned *body = load_body("check", path, expect_kind, owner_uid), *info = NULL;
        int r;

        if (!body)
                return pd_fail(err, PD_E_NOMEM, "no memory to check a plugin");
        r = spawn_host(str_or(program, PORTALD_LIBEXECDIR "/portald-plugin-host"), CHECK_MEMORY, &child, err);
        if (r == 0)
                r = exchange(&child, NULL, path, body, NULL, &info, err);
        spawn_end(&child, r == 0 ? DEATH_US : 0, NULL, 0);
        if (r < 0)
                return r;
        (void)json_object_del(info, "ok");
        if (ret_info)
                *ret_info = pd_steal(info);
        return 0;
}
