/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (2u << 20)

struct log_line {
        struct log_line *next;
        int level;
        char text[];
};

struct list {
        struct task *first, **last;
};

/* Shared by the loop's side and the threads; each holds a reference, the last one frees. */
struct worker {
        pthread_mutex_t lock;
        pthread_cond_t changed; /* on CLOCK_MONOTONIC */
        unsigned int refs, threads;
        struct list in, out;
        struct log_line *logs, **logs_last;
        size_t n_logs, dropped;
        atomic_bool stop;
        int wake; /* eventfd: something came out */
        sd_event_source *io;
        struct worker_events events;
        /* the plugin's own: only touched on the threads, and by one of them alone while it loads or closes */
        struct plugin plugin;
        bool opened;
        json_t *config;
        struct arena arena; /* cfg, borrowed until close() */
        struct pd_kv *cfg;
};

int64_t worker_now_boot(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_BOOTTIME, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

struct task *task_new(enum task_kind kind)
{
        struct task *t = calloc(1, sizeof *t);

        if (t) {
                t->kind = kind;
                for (size_t i = 0; i < SLOT_FDS_MAX; i++)
                        t->fds[i] = -1;
        }
        return t;
}

struct task *task_free(struct task *t)
{
        if (!t)
                return NULL;
        for (size_t i = 0; i < SLOT_FDS_MAX; i++)
                (void)safe_close(t->fds[i]);
        free(t->path);
        json_decref(t->config);
        json_decref(t->args);
        json_decref(t->ret);
        json_decref(t->text);
        free(t->items);
        free(t);
        return NULL;
}

static void list_push(struct list *l, struct task *t)
{
        t->next = NULL;
        *l->last = t;
        l->last = &t->next;
}

static struct task *list_pop(struct list *l)
{
        struct task *t = l->first;

        if (t) {
                l->first = t->next;
                if (!l->first)
                        l->last = &l->first;
        }
        return t;
}

static void list_clear(struct list *l)
{
        for (struct task *t = list_pop(l); t; t = list_pop(l))
                (void)task_free(t);
}

static void destroy(struct worker *w)
{
        list_clear(&w->in);
        list_clear(&w->out);
        for (struct log_line *l = w->logs; l;) {
                struct log_line *next = l->next;

                free(l);
                l = next;
        }
        arena_clear(&w->arena);
        json_decref(w->config);
        (void)safe_close(w->wake);
        (void)pthread_cond_destroy(&w->changed);
        (void)pthread_mutex_destroy(&w->lock);
        free(w);
}

static void unref(struct worker *w)
{
        bool last;

        (void)pthread_mutex_lock(&w->lock);
        last = --w->refs == 0;
        (void)pthread_mutex_unlock(&w->lock);
        if (last)
                destroy(w);
}

static void wake_loop(struct worker *w)
{
        /* a full counter wakes as well */
        (void)!write(w->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* What a plugin asks of its host, seen from one task. */
struct running {
        struct worker *w;
        struct task *t;
};

static int is_cancelled(void *arg)
{
        const struct running *r = arg;

        return atomic_load(&r->w->stop) || atomic_load(&r->t->abandoned) || worker_now_boot() > r->t->deadline_boot_us;
}

static void post_log(void *arg, int level, const char *text)
{
        struct worker *w = ((const struct running *)arg)->w;
        size_t n = strlen(text) + 1;
        struct log_line *l = malloc(sizeof *l + n);

        if (!l)
                return; /* the call itself will fail for the same reason */
        *l = (struct log_line){ .level = level };
        memcpy(l->text, text, n);
        (void)pthread_mutex_lock(&w->lock);
        if (w->n_logs >= WORKER_LOGS_MAX) {
                w->dropped++;
                free(l);
        } else {
                *w->logs_last = l;
                w->logs_last = &l->next;
                w->n_logs++;
        }
        (void)pthread_mutex_unlock(&w->lock);
        wake_loop(w);
}

static void call_init(struct slot_call *c, struct running *r)
{
        c->cancelled = is_cancelled;
        c->log = post_log;
        c->arg = r;
        c->pd.deadline_boot_us = r->t->deadline_boot_us;
        c->pd.op_token = r->t->token[0] ? r->t->token : NULL;
}

/* config as cfg: it lives as long as the plugin. */
static int keep_config(struct worker *w, const json_t *config, struct pd_error *err)
{
        static const struct field row = { .name = "config", .type = FIELD_KV, .max = 1024 };
        static const struct shape shape = { .name = "the configuration", .fields = &row, .n = 1 };
        js_owned *wrap = json_pack("{s:O}", "config", config);

        w->config = json_incref((json_t *)(uintptr_t)config);
        return wrap ? marshal_decode(&shape, wrap, &w->cfg, &w->arena, err)
                    : pd_fail(err, PD_E_NOMEM, "no memory for a configuration");
}

static int do_load(struct worker *w, struct running *r, struct pd_error *err)
{
        struct slot_call c = { 0 };
        struct task *t = r->t;
        struct plugin p;
        int rc = plugin_load(t->path, t->plugin_kind, t->owner_uid, &p, err);

        if (rc < 0)
                return rc;
        rc = plugin_info(&p, &t->ret, err);
        if (rc == 0 && t->config)
                rc = keep_config(w, t->config, err);
        call_init(&c, r);
        if (rc == 0 && t->config)
                rc = plugin_open(&p, &c, w->cfg, err);
        if (rc < 0 || !t->config) {
                plugin_unload(&p);
                return rc;
        }
        w->plugin = p;
        w->opened = true;
        return 0;
}

static int do_call(struct worker *w, struct running *r, struct pd_error *err)
{
        struct arena arena = { 0 };
        struct slot_call *c = calloc(1, sizeof *c);
        struct task *t = r->t;
        const struct slot *s = slot_find(w->plugin.kind, t->slot_name);
        int rc;

        if (!c || !s || !w->opened || t->n_fds != s->n_fds) {
                free(c);
                return pd_fail(err, c ? PD_E_INVALID : PD_E_NOMEM,
                        "%s cannot be called: it needs an open plugin that has it and %zu descriptors", t->slot_name,
                        s ? s->n_fds : 0);
        }
        call_init(c, r);
        memcpy(c->in.fds, t->fds, sizeof c->in.fds);
        rc = slot_prepare(c, &w->plugin, s, t->args, &arena, err);
        if (rc == 0) {
                rc = slot_invoke(&w->plugin, c, err);
                if (rc == 0)
                        rc = slot_result(c, &t->ret, err);
                t->items = pd_steal(c->items);
                t->items_n = c->items_bytes;
                t->text = json_incref(c->text);
        }
        slot_call_clear(c);
        arena_clear(&arena);
        free(c);
        return rc;
}

static void run_task(struct worker *w, struct task *t)
{
        struct running r = { w, t };

        t->rc = t->kind == TASK_LOAD ? do_load(w, &r, &t->err) : do_call(w, &r, &t->err);
        for (size_t i = 0; i < SLOT_FDS_MAX; i++)
                t->fds[i] = safe_close(t->fds[i]);
}

static void *thread_main(void *arg);

static bool thread_start(struct worker *w)
{
        pthread_attr_t attr;
        pthread_t id;
        bool good;

        (void)pthread_attr_init(&attr);
        (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
        (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        w->refs++;
        w->threads++;
        good = pthread_create(&id, &attr, thread_main, w) == 0;
        if (!good) {
                w->refs--;
                w->threads--;
        }
        (void)pthread_attr_destroy(&attr);
        return good;
}

/* The last thread out closes the plugin. */
static void thread_end(struct worker *w)
{
        bool last;

        (void)pthread_mutex_lock(&w->lock);
        last = w->threads == 1;
        if (!last)
                w->threads--;
        (void)pthread_mutex_unlock(&w->lock);
        if (last && w->opened) {
                plugin_close(&w->plugin);
                plugin_unload(&w->plugin);
        }
        if (last) {
                (void)pthread_mutex_lock(&w->lock);
                w->threads--;
                (void)pthread_cond_broadcast(&w->changed);
                (void)pthread_mutex_unlock(&w->lock);
        }
        unref(w);
}

static void *thread_main(void *arg)
{
        struct worker *w = arg;

        (void)pthread_mutex_lock(&w->lock);
        while (!atomic_load(&w->stop)) {
                struct task *t = list_pop(&w->in);

                if (!t) {
                        (void)pthread_cond_wait(&w->changed, &w->lock);
                        continue;
                }
                (void)pthread_mutex_unlock(&w->lock);
                run_task(w, t);
                (void)pthread_mutex_lock(&w->lock);
                if (t->kind == TASK_LOAD && t->rc == 0 && w->opened && w->plugin.concurrent)
                        while (w->threads < WORKER_PARALLEL && thread_start(w))
                                ;
                list_push(&w->out, t);
                (void)pthread_cond_broadcast(&w->changed);
                wake_loop(w);
        }
        (void)pthread_mutex_unlock(&w->lock);
        thread_end(w);
        return NULL;
}

static struct log_line *take_logs(struct worker *w, size_t *ret_dropped)
{
        struct log_line *l;

        (void)pthread_mutex_lock(&w->lock);
        l = w->logs;
        w->logs = NULL;
        w->logs_last = &w->logs;
        *ret_dropped = w->dropped;
        w->n_logs = w->dropped = 0;
        (void)pthread_mutex_unlock(&w->lock);
        return l;
}

static void deliver_logs(struct worker *w)
{
        char note[80];
        size_t dropped;

        for (struct log_line *l = take_logs(w, &dropped); l;) {
                struct log_line *next = l->next;

                w->events.log(w->events.arg, l->level, l->text);
                free(l);
                l = next;
        }
        if (dropped) {
                (void)str_format(note, sizeof note, "%zu lines were dropped: it logs too fast", dropped);
                w->events.log(w->events.arg, PD_LOG_WARNING, note);
        }
}

static struct task *take_done(struct worker *w)
{
        struct task *t;

        (void)pthread_mutex_lock(&w->lock);
        t = list_pop(&w->out);
        (void)pthread_mutex_unlock(&w->lock);
        return t;
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *arg)
{
        struct worker *w = arg;
        uint64_t n;

        (void)source, (void)events;
        (void)!read(fd, &n, sizeof n);
        (void)pthread_mutex_lock(&w->lock);
        w->refs++; /* a callback may stop us */
        (void)pthread_mutex_unlock(&w->lock);
        deliver_logs(w);
        while (!atomic_load(&w->stop)) {
                struct task *t = take_done(w);

                if (!t)
                        break;
                w->events.done(w->events.arg, t);
        }
        unref(w);
        return 0;
}

static int worker_init(struct worker *w, sd_event *loop, struct pd_error *err)
{
        pthread_condattr_t attr;
        int r;

        (void)pthread_mutex_init(&w->lock, NULL);
        (void)pthread_condattr_init(&attr);
        (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&w->changed, &attr);
        (void)pthread_condattr_destroy(&attr);
        w->refs = 1;
        w->in.last = &w->in.first;
        w->out.last = &w->out.first;
        w->logs_last = &w->logs;
        w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (w->wake < 0)
                return pd_fail(err, PD_E_IO, "no descriptor for a plugin's thread: %s", strerror(errno));
        r = sd_event_add_io(loop, &w->io, w->wake, EPOLLIN, on_wake, w);
        return r < 0 ? pd_fail(err, PD_E_IO, "a plugin's thread cannot be waited for: %s", strerror(-r)) : 0;
}

int worker_new(struct worker **ret, sd_event *loop, const struct worker_events *events, struct pd_error *err)
{
        struct worker *w = calloc(1, sizeof *w);
        int r;

        if (!w)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin's thread");
        w->events = *events;
        r = worker_init(w, loop, err);
        if (r == 0) {
                (void)pthread_mutex_lock(&w->lock);
                if (!thread_start(w))
                        r = pd_fail(err, PD_E_NOMEM, "no thread for a plugin");
                (void)pthread_mutex_unlock(&w->lock);
        }
        if (r < 0) {
                sd_event_source_disable_unref(w->io);
                unref(w);
                return r;
        }
        *ret = w;
        return 0;
}

int worker_push(struct worker *w, struct task *t, struct pd_error *err)
{
        if (atomic_load(&w->stop))
                return pd_fail(err, PD_E_CANCELLED, "the plugin is being closed");
        (void)pthread_mutex_lock(&w->lock);
        list_push(&w->in, t);
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        return 0;
}

static struct timespec from_now(int64_t us)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        us += t.tv_nsec / 1000;
        t.tv_sec += us / USEC_PER_SEC;
        t.tv_nsec = us % USEC_PER_SEC * 1000;
        return t;
}

int worker_wait(struct worker *w, int64_t timeout_us, struct task **ret, struct pd_error *err)
{
        struct timespec until = from_now(timeout_us);
        struct task *t;
        int r = 0;

        (void)pthread_mutex_lock(&w->lock);
        while (!(t = list_pop(&w->out)) && r == 0)
                r = pthread_cond_timedwait(&w->changed, &w->lock, &until);
        (void)pthread_mutex_unlock(&w->lock);
        if (!t)
                return pd_fail(err, PD_E_DEADLINE, "the plugin did not answer in time");
        *ret = t;
        return 0;
}

bool worker_stop(struct worker *w, int64_t timeout_us)
{
        struct timespec until;
        bool ended;
        int r = 0;

        if (!w)
                return true;
        until = from_now(timeout_us);
        atomic_store(&w->stop, true);
        w->io = sd_event_source_disable_unref(w->io);
        (void)pthread_mutex_lock(&w->lock);
        (void)pthread_cond_broadcast(&w->changed);
        while (w->threads > 0 && r == 0)
                r = pthread_cond_timedwait(&w->changed, &w->lock, &until);
        ended = w->threads == 0;
        (void)pthread_mutex_unlock(&w->lock);
        unref(w);
        return ended;
}

const struct plugin *worker_plugin(const struct worker *w)
{
        return &w->plugin;
}
