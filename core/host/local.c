/* SPDX-License-Identifier: Apache-2.0 */
/* isolation = "none": the plugin inside this process, on threads of its own. It cannot be killed: a call that does not come back costs
 * the instance, which then refuses calls until it does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "host/instance.h"
#include "host/worker.h"

static json_t *items_of(const struct task *t)
{
        pd_cleanup(freep) char *text = malloc(t->items_n + 2);
        json_t *items = NULL;

        if (!text)
                return NULL;
        text[0] = '[';
        if (t->items_n)
                memcpy(text + 1, t->items, t->items_n);
        text[t->items_n + 1] = ']';
        return js_parse(text, t->items_n + 2, &items, NULL) == 0 ? items : NULL;
}

static void on_done(void *arg, struct task *given)
{
        struct host *h = arg;
        pd_cleanup(task_freep) struct task *t = given;
        struct call *c = t->ref;
        js_owned *items = c ? items_of(t) : NULL;
        /* items that cannot be read are judged like an answer without out-arguments */
        struct outcome o = {
                .rc = t->rc, .err = t->err, .ret = items ? t->ret : NULL, .items = items, .text = t->text
        };

        if (!c) { /* late: it was called back long ago, and this is its thread coming home */
                instance_up(h);
                return;
        }
        c->task = NULL;
        instance_answer(c, &o);
}

static void on_log(void *arg, int level, const char *text)
{
        instance_log(arg, level, text);
}

static int push_load(struct host *h, struct pd_error *err)
{
        pd_cleanup(task_freep) struct task *t = task_new(TASK_LOAD);
        int r;

        if (!t || !(t->path = strdup(h->path)))
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        t->plugin_kind = h->kind;
        t->owner_uid = h->owner_uid;
        t->config = json_deep_copy(h->config); /* of the thread's own */
        t->deadline_boot_us = worker_now_boot() + INSTANCE_OPEN_US;
        r = worker_push(h->worker, t, err);
        if (r == 0)
                t = NULL;
        return r;
}

int local_open(struct host *h, struct pd_error *err)
{
        struct worker_events events = { on_done, on_log, h };
        pd_cleanup(task_freep) struct task *t = NULL;
        int r = worker_new(&h->worker, h->loop, &events, err);

        if (r == 0)
                r = push_load(h, err);
        if (r == 0)
                r = worker_wait(h->worker, INSTANCE_OPEN_US, &t, err);
        if (r < 0 || !t)
                return r;
        if (t->rc < 0) {
                if (err)
                        *err = t->err;
                return t->rc;
        }
        instance_info(h, t->ret);
        return 0;
}

/* The plugin's thread gets copies: the caller's descriptors and values may be gone before it is done. */
static int local_send(struct host *h, struct call *c, struct pd_error *err)
{
        pd_cleanup(task_freep) struct task *t = task_new(TASK_CALL);
        int r;

        if (!t)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call");
        for (; t->n_fds < c->n_fds; t->n_fds++) {
                t->fds[t->n_fds] = fcntl(c->fds[t->n_fds], F_DUPFD_CLOEXEC, 0);
                if (t->fds[t->n_fds] < 0)
                        return pd_fail(err, PD_E_IO, "descriptor %d for %s: %s", c->fds[t->n_fds], c->slot->name,
                                strerror(errno));
        }
        t->args = json_deep_copy(c->args);
        (void)str_format(t->slot_name, sizeof t->slot_name, "%s", c->slot->name);
        (void)str_format(t->token, sizeof t->token, "%s", c->token);
        t->deadline_boot_us = c->deadline_boot_us;
        t->ref = c;
        c->task = t;
        r = worker_push(h->worker, t, err);
        if (r == 0)
                t = NULL;
        return r;
}

static bool local_late(struct host *h, struct call *c)
{
        atomic_store(&c->task->abandoned, true);
        c->task->ref = NULL;
        c->task = NULL;
        h->state = INSTANCE_STARTING; /* until the thread comes home */
        return false;
}

static int local_start(struct host *h, struct pd_error *err)
{
        (void)h;
        return pd_fail(err, PD_E_INTERNAL, "a plugin inside this process cannot be started again");
}

static void local_stop(struct host *h)
{
        if (!worker_stop(h->worker, INSTANCE_CLOSE_US))
                instance_log(h, PD_LOG_WARNING, "is still in a call; its memory is left alone");
        h->worker = NULL;
}

const struct backend local_backend = { local_send, local_start, local_late, local_stop };
