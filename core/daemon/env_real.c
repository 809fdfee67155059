/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/env_real.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <portald/provider.h>

#include "base/log.h"
#include "daemon/month.h"
#include "frame/conn.h"
#include "host/host.h"

#define RECONNECT_FIRST_US (100 * USEC_PER_MSEC)
#define RECONNECT_MAX_US (5 * USEC_PER_SEC)

struct real {
        struct env env; /* first: an env * is a real * */
        sd_event *loop;
        char plugin_host[512];
        uint32_t owner_uid;
        struct notify *notify;
};

struct env_timer {
        sd_event_source *source;
        void (*fire)(void *arg);
        void *arg;
};

struct env_stream {
        struct real *real;
        struct env_stream_events events;
        char endpoint[257];
        struct conn *conn;
        sd_event_source *again; /* of the next try */
        int64_t wait_us;
        bool closing;
};

struct env_plugin {
        struct host *host;
};

static struct real *real_of(struct env *e)
{
        return (struct real *)e;
}

/* --- clocks and chance --- */
static int64_t clock_us(clockid_t id)
{
        struct timespec t;

        (void)clock_gettime(id, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static int64_t now_wall_us(struct env *e)
{
        (void)e;
        return clock_us(CLOCK_REALTIME);
}

static int64_t now_boot_us(struct env *e)
{
        (void)e;
        return clock_us(CLOCK_BOOTTIME);
}

static void random_bytes(struct env *e, void *ret, size_t n)
{
        (void)e;
        while (getrandom(ret, n, 0) != (ssize_t)n)
                ; /* up to 256 bytes come whole; only a signal at boot can cut it short */
}

/* --- timers --- */
static int on_time(sd_event_source *s, uint64_t usec, void *arg)
{
        struct env_timer *t = arg;

        (void)s;
        (void)usec;
        t->fire(t->arg);
        return 0;
}

static int timer_new(struct env *e, struct env_timer **ret, void (*fire)(void *arg), void *arg, struct pd_error *err)
{
        struct env_timer *t = calloc(1, sizeof *t);
        int r = t ? sd_event_add_time(real_of(e)->loop, &t->source, CLOCK_BOOTTIME, 0, 1, on_time, t) : -ENOMEM;

        if (r >= 0)
                r = sd_event_source_set_enabled(t->source, SD_EVENT_OFF);
        if (r < 0) {
                free(t);
                return pd_fail(err, PD_E_INTERNAL, "a timer cannot be made: %s", strerror(-r));
        }
        t->fire = fire;
        t->arg = arg;
        *ret = t;
        return 0;
}

static void timer_set(struct env_timer *t, int64_t at_boot_us)
{
        if (at_boot_us == INT64_MAX) {
                (void)sd_event_source_set_enabled(t->source, SD_EVENT_OFF);
                return;
        }
        (void)sd_event_source_set_time(t->source, at_boot_us > 0 ? (uint64_t)at_boot_us : 0);
        (void)sd_event_source_set_enabled(t->source, SD_EVENT_ONESHOT);
}

static void timer_free(struct env_timer *t)
{
        (void)sd_event_source_disable_unref(t->source);
        free(t);
}

/* --- streams --- */
static void stream_again(struct env_stream *s);

static void on_frame(void *arg, struct conn *c, const struct frame *f, const int *fds, size_t n_fds)
{
        struct env_stream *s = arg;
        struct pd_error why;

        for (size_t i = 0; i < n_fds; i++)
                (void)close(fds[i]); /* a runner sends none */
        if (s->closing)
                return;
        if (f->kind == FRAME_EVENT)
                s->events.on_event(s->events.arg, f->json);
        else if (f->request) {
                (void)pd_fail(&why, PD_E_UNSUPPORTED, "portald takes no requests from a runner");
                (void)conn_answer_error(c, f->request, &why, NULL);
        }
}

static void on_lost(void *arg, struct conn *c, const struct pd_error *err)
{
        struct env_stream *s = arg;

        (void)c;
        if (s->closing)
                return;
        s->events.on_down(s->events.arg, err);
        stream_again(s);
}

static int connect_unix(const char *path, struct pd_error *err)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd;

        if (!str_format(a.sun_path, sizeof a.sun_path, "%s", path))
                return pd_fail(err, PD_E_INVALID, "the socket path %s is too long", path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return pd_fail(err, PD_E_IO, "no socket: %s", strerror(errno));
        if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
                int e = errno;

                (void)safe_close(fd);
                return pd_fail(err, PD_E_TRANSIENT, "no portal-runner answers at %s: %s", path, strerror(e));
        }
        return fd;
}

static void stream_connect(struct env_stream *s)
{
        const struct conn_events events = { on_frame, on_lost, s };
        struct pd_error err;
        int fd = connect_unix(s->endpoint, &err);

        s->conn = conn_free(s->conn);
        if (fd >= 0 && conn_new(&s->conn, s->real->loop, fd, &events, &err) < 0)
                fd = safe_close(fd);
        if (fd < 0) {
                s->events.on_down(s->events.arg, &err);
                stream_again(s);
                return;
        }
        s->wait_us = 0;
        s->events.on_up(s->events.arg);
}

static int on_again(sd_event_source *source, uint64_t usec, void *arg)
{
        (void)source;
        (void)usec;
        stream_connect(arg);
        return 0;
}

/* The first try, too, is a turn of the loop away: nothing is called back from inside stream_open(). */
static void stream_again(struct env_stream *s)
{
        uint64_t at = (uint64_t)(clock_us(CLOCK_BOOTTIME) + s->wait_us);

        s->wait_us = s->wait_us ? s->wait_us * 2 : RECONNECT_FIRST_US;
        if (s->wait_us > RECONNECT_MAX_US)
                s->wait_us = RECONNECT_MAX_US;
        s->again = sd_event_source_disable_unref(s->again);
        if (sd_event_add_time(s->real->loop, &s->again, CLOCK_BOOTTIME, at, 1000, on_again, s) < 0)
                log_error("no timer for the next try to reach %s", s->endpoint);
}

static int stream_open(struct env *e, const char *endpoint, uint32_t kind, const struct env_stream_events *events,
        struct env_stream **ret, struct pd_error *err)
{
        struct env_stream *s;

        if (kind != PD_STREAM_UNIX)
                return pd_fail(err, PD_E_UNSUPPORTED, "this release reaches runners by a local socket only");
        if (str_starts(endpoint, "unix:"))
                endpoint += 5;
        s = calloc(1, sizeof *s);
        if (!s || !str_format(s->endpoint, sizeof s->endpoint, "%s", endpoint)) {
                free(s);
                return pd_fail(err, PD_E_NOMEM, "no memory for a stream");
        }
        s->real = real_of(e);
        s->events = *events;
        stream_again(s);
        *ret = s;
        return 0;
}

struct relay { /* a conn's answer on its way to an env_answer_fn */
        env_answer_fn done;
        void *arg;
};

static void on_stream_answer(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items)
{
        struct relay *r = arg;

        r->done(r->arg, err, answer ? answer->json : NULL, items, answer ? answer->blob : NULL,
                answer ? answer->blob_n : 0);
        free(r);
}

static int stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err)
{
        struct relay *r;
        int e;

        if (!s->conn)
                return pd_fail(err, PD_E_TRANSIENT, "no portal-runner answers at %s", s->endpoint);
        r = malloc(sizeof *r);
        if (!r)
                return pd_fail(err, PD_E_NOMEM, "no memory for a request");
        *r = (struct relay){ done, arg };
        e = conn_request(s->conn, generation, body, NULL, 0, NULL, 0, timeout_us, on_stream_answer, r, err);
        if (e < 0)
                free(r);
        return e;
}

static void stream_close(struct env_stream *s)
{
        s->closing = true;
        s->again = sd_event_source_disable_unref(s->again);
        s->conn = conn_free(s->conn);
        free(s);
}

/* --- plugins --- */
static int plugin_open(struct env *e, const char *name, const char *path, enum pd_kind kind, const json_t *config,
        bool in_process, struct env_plugin **ret, struct pd_error *err)
{
        struct real *real = real_of(e);
        const struct host_params params = { .name = name,
                .path = path,
                .kind = kind,
                .config = config,
                .isolation = in_process ? HOST_NONE : HOST_PROCESS,
                .program = real->plugin_host[0] ? real->plugin_host : NULL,
                .owner_uid = real->owner_uid };
        struct env_plugin *p = calloc(1, sizeof *p);
        int r = p ? host_open(&p->host, real->loop, &params, err)
                  : pd_fail(err, PD_E_NOMEM, "no memory for plugin %s", name);

        if (r < 0) {
                free(p);
                return r;
        }
        *ret = p;
        return 0;
}

static void on_plugin_answer(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct relay *r = arg;
        js_owned *answer = err ? NULL : json_pack("{s:O?,s:O?}", "ret", ret, "text", text);

        r->done(r->arg, err, answer, items, NULL, 0);
        free(r);
}

static int plugin_call(struct env_plugin *p, const char *slot, const json_t *args, const char *token,
        int64_t timeout_us, env_answer_fn done, void *arg, struct pd_error *err)
{
        struct relay *r = malloc(sizeof *r);
        int e;

        if (!r)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call");
        *r = (struct relay){ done, arg };
        e = host_call(p->host, slot, args, NULL, 0, token, timeout_us, on_plugin_answer, r, err);
        if (e < 0)
                free(r);
        return e;
}

static void plugin_close(struct env_plugin *p)
{
        p->host = host_free(p->host);
        free(p);
}

/* --- store --- */
static int apply(struct env *e, struct txn *t, store_done_fn done, void *arg, struct pd_error *err)
{
        return store_apply(e->store, t, done, arg, err);
}

static void tell(struct env *e, const json_t *event)
{
        if (real_of(e)->notify)
                notify_tell(real_of(e)->notify, event);
}

static int month_here(struct env *e, const char *zone, int64_t at_wall_us, int64_t *ret_from, int64_t *ret_until,
        struct pd_error *err)
{
        (void)e;
        return month_of(zone, at_wall_us, ret_from, ret_until, err);
}

static void fatal(struct env *e, const struct pd_error *why)
{
        log_error("cannot go on: %s; jobs run on under their runners", why->text);
        (void)sd_event_exit(real_of(e)->loop, EXIT_FAILURE);
}

static const struct env_ops ops = {
        .now_wall_us = now_wall_us,
        .now_boot_us = now_boot_us,
        .random = random_bytes,
        .timer_new = timer_new,
        .timer_set = timer_set,
        .timer_free = timer_free,
        .stream_open = stream_open,
        .stream_request = stream_request,
        .stream_close = stream_close,
        .plugin_open = plugin_open,
        .plugin_call = plugin_call,
        .plugin_close = plugin_close,
        .apply = apply,
        .tell = tell,
        .month_of = month_here,
        .fatal = fatal,
};

int env_real_new(struct env **ret, sd_event *loop, struct store *store, const struct env_real_options *options,
        struct pd_error *err)
{
        struct real *r = calloc(1, sizeof *r);

        if (!r)
                return pd_fail(err, PD_E_NOMEM, "no memory for the environment");
        r->env = (struct env){ .ops = &ops, .store = store };
        r->loop = sd_event_ref(loop);
        r->owner_uid = options->owner_uid;
        r->notify = options->notify;
        (void)str_format(r->plugin_host, sizeof r->plugin_host, "%s", str_or(options->plugin_host, ""));
        *ret = &r->env;
        return 0;
}

struct env *env_real_free(struct env *e)
{
        if (!e)
                return NULL;
        (void)sd_event_unref(real_of(e)->loop);
        free(real_of(e));
        return NULL;
}
