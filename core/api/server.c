/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd inside the loop, and the life of a connection. MHD's epoll descriptor is one io source of ours; a suspended connection is
 * out of it until conn_resume(). All deadlines of connections hang on one timer: they only ever move later, so it may fire for nothing,
 * but never late. */
#include "api/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SPARE_CONNECTIONS 16 /* above the limit, to say that it is reached */
#define OVER_TIMEOUT_US (5 * USEC_PER_SEC)
#define CONN_MEMORY 16384 /* request line and headers, bytes */
#define BODY_SWALLOW ((size_t)8 * API_BODY_MAX)

int64_t api_now(const struct api *a)
{
        uint64_t now = 0;

        (void)sd_event_now(a->loop, CLOCK_BOOTTIME, &now);
        return (int64_t)now;
}

/* --- deadlines --- */
static void arm(struct api *a, int64_t at)
{
        if (at >= a->armed_boot_us)
                return;
        a->armed_boot_us = at;
        (void)sd_event_source_set_time(a->deadlines, (uint64_t)at);
        (void)sd_event_source_set_enabled(a->deadlines, SD_EVENT_ONESHOT);
}

void conn_phase(struct conn *c, enum conn_phase phase, int64_t timeout_us)
{
        c->phase = phase;
        c->deadline_boot_us = timeout_us == INT64_MAX ? INT64_MAX : api_now(c->api) + timeout_us;
        arm(c->api, c->deadline_boot_us);
}

/* Nothing of an answer has been sent yet, so this one cannot run into another. */
static void say_slow(int fd)
{
        static const char text[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: "
                                   "application/json\r\nContent-Length: 138\r\n\r\n"
                                   "{\"error\":{\"code\":\"DEADLINE\",\"text\":\"no whole request came in time: send "
                                   "it in one go\",\"subject\":\"\",\"provider_code\":\"\",\"retry_after_us\":0}}";

        (void)!send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void conn_late(struct conn *c)
{
        c->deadline_boot_us = INT64_MAX;
        if (c->phase == CONN_WAITING) {
                exchange_late(c);
                return;
        }
        if (c->phase == CONN_READING && !c->served)
                say_slow(c->fd);
        (void)shutdown(c->fd, SHUT_RDWR); /* MHD sees the end of it and cleans up */
}

static int on_deadlines(sd_event_source *s, uint64_t usec, void *arg)
{
        struct api *a = arg;
        struct conn *c, *next;
        int64_t now = api_now(a), least = INT64_MAX;

        (void)s;
        (void)usec;
        a->armed_boot_us = INT64_MAX;
        for (c = TAILQ_FIRST(&a->conns); c; c = next) {
                next = TAILQ_NEXT(c, all);
                if (c->deadline_boot_us <= now)
                        conn_late(c);
                if (c->deadline_boot_us < least)
                        least = c->deadline_boot_us;
        }
        arm(a, least);
        return 0;
}

/* --- MHD's turn --- */
static void run(struct api *a)
{
        MHD_UNSIGNED_LONG_LONG ms;

        (void)MHD_run(a->mhd);
        if (MHD_get_timeout(a->mhd, &ms) != MHD_YES) {
                (void)sd_event_source_set_enabled(a->timer, SD_EVENT_OFF);
                return;
        }
        if (ms == 0) { /* it holds bytes that epoll will not tell of again */
                (void)sd_event_source_set_enabled(a->again, SD_EVENT_ONESHOT);
                return;
        }
        (void)sd_event_source_set_time_relative(a->timer, ms * 1000);
        (void)sd_event_source_set_enabled(a->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *s, int fd, uint32_t events, void *arg)
{
        (void)s;
        (void)fd;
        (void)events;
        run(arg);
        return 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *arg)
{
        (void)s;
        (void)usec;
        run(arg);
        return 0;
}

static int on_again(sd_event_source *s, void *arg)
{
        (void)s;
        run(arg);
        return 0;
}

void conn_suspend(struct conn *c)
{
        if (c->suspended)
                return;
        c->suspended = true;
        MHD_suspend_connection(c->mhd);
}

void conn_resume(struct conn *c)
{
        if (!c->suspended)
                return;
        c->suspended = false;
        MHD_resume_connection(c->mhd);
        (void)sd_event_source_set_enabled(c->api->again, SD_EVENT_ONESHOT);
}

static int on_hangup(sd_event_source *s, int fd, uint32_t events, void *arg)
{
        struct conn *c = arg;

        (void)fd;
        (void)events;
        (void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
        if (c->phase == CONN_STREAMING) {
                events_end(c, true);
                return 0;
        }
        if (!c->suspended) /* being answered: MHD finds out by writing */
                return 0;
        c->gone = true;
        exchange_withdraw(c);
        conn_resume(c);
        return 0;
}

int conn_watch_hangup(struct conn *c)
{
        if (c->hangup)
                return 0;
        return sd_event_add_io(c->api->loop, &c->hangup, c->fd, EPOLLRDHUP, on_hangup, c);
}

/* --- connections --- */
static size_t conns_of(const struct api *a, uint32_t uid)
{
        const struct conn *c;
        size_t n = 0;

        TAILQ_FOREACH(c, &a->conns, all)
        n += c->peer.uid == uid;
        return n;
}

static void conn_open(struct api *a, struct MHD_Connection *mhd, void **ret)
{
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct conn *c = calloc(1, sizeof *c);

        if (!c || !info) {
                free(c);
                return; /* the request handler closes a connection that has no record */
        }
        *c = (struct conn){ .api = a, .mhd = mhd, .fd = info->connect_fd };
        peer_read(a, c->fd, &c->peer);
        c->over = a->conns_n >= a->connections_max ||
                  (!c->peer.admin && conns_of(a, c->peer.uid) >= (a->connections_max + 1) / 2);
        TAILQ_INSERT_TAIL(&a->conns, c, all);
        a->conns_n++;
        conn_phase(c, CONN_READING, c->over ? OVER_TIMEOUT_US : a->request_timeout_us);
        *ret = c;
}

static void conn_close(struct api *a, struct conn *c)
{
        if (!c)
                return;
        exchange_clear(c);
        TAILQ_REMOVE(&a->conns, c, all);
        a->conns_n--;
        free(c->body);
        free(c);
}

static void on_connection(
        void *arg, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
                conn_open(arg, mhd, context);
                return;
        }
        conn_close(arg, *context);
        *context = NULL;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **req, enum MHD_RequestTerminationCode why)
{
        struct conn *c = *req;

        (void)arg;
        (void)mhd;
        (void)why;
        *req = NULL;
        if (!c)
                return;
        exchange_clear(c);
        c->served = true;
        conn_phase(c, CONN_READING, c->api->request_timeout_us);
}

static bool body_add(struct conn *c, const char *data, size_t n)
{
        if (c->too_big || n > API_BODY_MAX - c->body_n) {
                c->too_big = true;
                c->body_n += n; /* counts only */
                return c->body_n <= BODY_SWALLOW;
        }
        if (c->body_n + n > c->body_room) {
                size_t room = c->body_room ? c->body_room * 2 : 2048;
                char *grown;

                while (room < c->body_n + n)
                        room *= 2;
                grown = realloc(c->body, room);
                if (!grown)
                        return false;
                c->body = grown;
                c->body_room = room;
        }
        memcpy(c->body + c->body_n, data, n);
        c->body_n += n;
        return true;
}

/* A length that is too large already in the header is answered before the body is sent. */
static bool declared_too_big(struct MHD_Connection *mhd)
{
        const char *text = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

        return text && strtoull(text, NULL, 10) > API_BODY_MAX;
}

static enum MHD_Result begin(struct conn *c, const char *url, const char *method)
{
        c->begun = true;
        if (!declared_too_big(c->mhd))
                return MHD_YES;
        c->too_big = true;
        exchange_start(c, url, method);
        conn_phase(c, CONN_WRITING, API_WRITE_TIMEOUT_US);
        return reply_send(c);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
        const char *version, const char *data, size_t *data_n, void **req)
{
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        struct conn *c = info ? info->socket_context : NULL;

        (void)arg;
        (void)version;
        if (!c)
                return MHD_NO;
        *req = c;
        if (!c->begun)
                return begin(c, url, method);
        if (*data_n) {
                bool kept = body_add(c, data, *data_n);

                *data_n = 0;
                return kept ? MHD_YES : MHD_NO;
        }
        if (!c->rq.route && !c->response)
                exchange_start(c, url, method);
        if (c->suspended)
                return MHD_YES;
        if (c->gone)
                return MHD_NO;
        if (!c->stream)
                conn_phase(c, CONN_WRITING, API_WRITE_TIMEOUT_US);
        return reply_send(c);
}

/* --- start and end --- */
static int add_sources(struct api *a, struct pd_error *err)
{
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(a->mhd, MHD_DAEMON_INFO_EPOLL_FD);
        int r;

        if (!info)
                return pd_fail(
                        err, PD_E_INTERNAL, "libmicrohttpd gives no epoll descriptor: it was built without epoll");
        r = sd_event_add_io(a->loop, &a->io, info->epoll_fd, EPOLLIN, on_io, a);
        if (r >= 0)
                r = sd_event_add_time(a->loop, &a->timer, CLOCK_BOOTTIME, 0, 1000, on_timer, a);
        if (r >= 0)
                r = sd_event_source_set_enabled(a->timer, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_defer(a->loop, &a->again, on_again, a);
        if (r >= 0)
                r = sd_event_source_set_enabled(a->again, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time(a->loop, &a->deadlines, CLOCK_BOOTTIME, 0, 100000, on_deadlines, a);
        if (r >= 0)
                r = sd_event_source_set_enabled(a->deadlines, SD_EVENT_OFF);
        return r < 0 ? pd_fail(err, PD_E_IO, "the API cannot join the event loop: %s", strerror(-r)) : 0;
}

static int start_mhd(struct api *a, int *listen_fd, struct pd_error *err)
{
        if (fcntl(*listen_fd, F_SETFL, fcntl(*listen_fd, F_GETFL) | O_NONBLOCK) < 0)
                return pd_fail(err, PD_E_IO, "the API's socket cannot be set up: %s", strerror(errno));
        a->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL, on_request,
                a, MHD_OPTION_LISTEN_SOCKET, *listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                (unsigned)(a->connections_max + SPARE_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT, 0U,
                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONN_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, a,
                MHD_OPTION_NOTIFY_CONNECTION, on_connection, a, MHD_OPTION_END);
        if (!a->mhd)
                return pd_fail(err, PD_E_IO, "the API cannot serve its socket: %s",
                        errno ? strerror(errno) : "libmicrohttpd refuses it");
        *listen_fd = -1; /* MHD's now */
        return 0;
}

static int copy_ids(const uint32_t *ids, size_t n, uint32_t **ret, struct pd_error *err)
{
        uint32_t *copy = calloc(n + 1, sizeof *copy);

        if (!copy)
                return pd_fail(err, PD_E_NOMEM, "no memory for the list of administrators");
        if (n)
                memcpy(copy, ids, n * sizeof *copy);
        *ret = copy;
        return 0;
}

int api_set_admins(
        struct api *a, const uint32_t *uids, size_t uids_n, const uint32_t *gids, size_t gids_n, struct pd_error *err)
{
        pd_cleanup(freep) uint32_t *users = NULL, *groups = NULL;
        int r = copy_ids(uids, uids_n, &users, err);

        if (r == 0)
                r = copy_ids(gids, gids_n, &groups, err);
        if (r < 0)
                return r;
        free(a->admins);
        free(a->admin_groups);
        a->admins = pd_steal(users);
        a->admins_n = uids_n;
        a->admin_groups = pd_steal(groups);
        a->admin_groups_n = gids_n;
        return 0;
}

static void set_options(struct api *a, const struct api_options *o)
{
        a->group = o->group;
        (void)str_format(a->group_name, sizeof a->group_name, "%s", str_or(o->group_name, "portald"));
        a->connections_max = o->connections_max ? o->connections_max : API_CONNECTIONS_MAX;
        a->request_timeout_us = o->request_timeout_us ? o->request_timeout_us : API_REQUEST_TIMEOUT_US;
        a->reload = o->reload;
        a->reload_arg = o->reload_arg;
}

int api_new(struct api **ret, sd_event *loop, int listen_fd, struct engine *e, const struct api_options *options,
        struct pd_error *err)
{
        pd_cleanup(closep) int fd = listen_fd;
        pd_cleanup(api_freep) struct api *a = calloc(1, sizeof *a);
        int r;

        if (!a)
                return pd_fail(err, PD_E_NOMEM, "no memory for the API");
        a->loop = sd_event_ref(loop);
        a->engine = e;
        a->armed_boot_us = INT64_MAX;
        TAILQ_INIT(&a->conns);
        LIST_INIT(&a->streams);
        set_options(a, options);
        r = api_set_admins(a, options->admins, options->admins_n, options->admin_groups, options->admin_groups_n, err);
        if (r == 0)
                r = start_mhd(a, &fd, err);
        if (r == 0)
                r = add_sources(a, err);
        if (r < 0)
                return r;
        *ret = pd_steal(a);
        return 0;
}

size_t api_connections(const struct api *a)
{
        return a->conns_n;
}

/* Everyone who waits hears why, and when to ask again. */
static void answer_waiting(struct api *a)
{
        struct pd_error err;
        struct conn *c;

        (void)pd_fail(&err, PD_E_TRANSIENT, "portald is stopping; jobs run on: ask again in a few seconds");
        err.retry_after_us = 2 * USEC_PER_SEC;
        TAILQ_FOREACH(c, &a->conns, all)
        {
                if (c->phase == CONN_STREAMING) {
                        events_end(c, false);
                } else if (c->suspended) {
                        exchange_withdraw(c);
                        reply_error(c, &err, NULL, 0);
                        conn_resume(c);
                }
        }
}

struct api *api_free(struct api *a)
{
        if (!a)
                return NULL;
        a->closing = true;
        if (a->mhd) {
                answer_waiting(a);
                for (int i = 0; i < 8; i++) /* what fits into the sockets' buffers goes out; nobody is waited for */
                        (void)MHD_run(a->mhd);
        }
        a->io = sd_event_source_disable_unref(a->io);
        a->timer = sd_event_source_disable_unref(a->timer);
        a->again = sd_event_source_disable_unref(a->again);
        a->comments = sd_event_source_disable_unref(a->comments);
        if (a->mhd)
                MHD_stop_daemon(a->mhd);
        a->deadlines = sd_event_source_disable_unref(a->deadlines);
        if (a->watch)
                engine_watch_free(a->watch);
        sd_event_unref(a->loop);
        free(a->openapi);
        free(a->admins);
        free(a->admin_groups);
        free(a);
        return NULL;
}
