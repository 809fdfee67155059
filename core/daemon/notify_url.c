/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.notify_url: each event as a POST of JSON. libcurl's sockets and its one timer are sources of the loop. */
#include <curl/curl.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/quantity.h"
#include "daemon/notify.h"

struct notify_url {
        sd_event *loop;
        struct notify_queue queue;
        char *url;
        CURLM *multi;
        CURL *easy; /* the POST under way; NULL = none */
        struct curl_slist *headers;
        sd_event_source *timer; /* libcurl's */
        sd_event_source *again; /* after a failed try */
        json_t *event;          /* being delivered */
        char *body;
        int tries;
        char why[CURL_ERROR_SIZE];
};

static void begin(struct notify_url *u);
static void advance(struct notify_url *u);

/* --- libcurl in the loop --- */
static int on_io(sd_event_source *s, int fd, uint32_t events, void *arg)
{
        struct notify_url *u = arg;
        int running, what = (events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                            (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (events & EPOLLERR ? CURL_CSELECT_ERR : 0);

        (void)s;
        (void)curl_multi_socket_action(u->multi, fd, what, &running);
        advance(u);
        return 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *arg)
{
        struct notify_url *u = arg;
        int running;

        (void)s;
        (void)usec;
        (void)curl_multi_socket_action(u->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        advance(u);
        return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *source)
{
        struct notify_url *u = arg;
        sd_event_source *s = source;
        uint32_t events =
                (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) | (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);

        (void)easy;
        if (what == CURL_POLL_REMOVE) {
                (void)sd_event_source_disable_unref(s);
                (void)curl_multi_assign(u->multi, fd, NULL);
                return 0;
        }
        if (s)
                return sd_event_source_set_io_events(s, events) < 0 ? -1 : 0;
        if (sd_event_add_io(u->loop, &s, fd, events, on_io, u) < 0)
                return -1;
        (void)curl_multi_assign(u->multi, fd, s);
        return 0;
}

static int want_timer(CURLM *multi, long ms, void *arg)
{
        struct notify_url *u = arg;

        (void)multi;
        if (ms < 0)
                return sd_event_source_set_enabled(u->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
        if (sd_event_source_set_time_relative(u->timer, (uint64_t)ms * 1000) < 0 ||
                sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT) < 0)
                return -1;
        return 0;
}

/* --- one event --- */
static void done(struct notify_url *u)
{
        json_decref(u->event);
        u->event = NULL;
        free(u->body);
        u->body = NULL;
        u->tries = 0;
}

static void post_end(struct notify_url *u)
{
        if (u->easy) {
                (void)curl_multi_remove_handle(u->multi, u->easy);
                curl_easy_cleanup(u->easy);
        }
        u->easy = NULL;
}

static size_t swallow(char *data, size_t size, size_t n, void *arg)
{
        (void)data;
        (void)arg;
        return size * n;
}

static int on_again(sd_event_source *s, uint64_t usec, void *arg)
{
        struct notify_url *u = arg;

        (void)s;
        (void)usec;
        u->again = sd_event_source_disable_unref(u->again);
        begin(u);
        return 0;
}

/* The url may hold a secret: it is not said. */
static void failed(struct notify_url *u, const char *why, bool for_good)
{
        int64_t wait = NOTIFY_AGAIN_US;
        char text[QUANTITY_MAX];

        for (int i = 0; i < u->tries && wait < NOTIFY_AGAIN_MAX_US; i++)
                wait *= 2;
        if (wait > NOTIFY_AGAIN_MAX_US)
                wait = NOTIFY_AGAIN_MAX_US;
        if (for_good || ++u->tries >= NOTIFY_TRIES) {
                log_warning("daemon.notify_url: an event was not delivered: %s; the journal has it", why);
                done(u);
                begin(u);
                return;
        }
        log_debug("daemon.notify_url: %s; tried again in %s", why, duration_format(wait, text));
        if (sd_event_add_time_relative(u->loop, &u->again, CLOCK_BOOTTIME, (uint64_t)wait, 1, on_again, u) < 0)
                done(u);
}

static void post_over(struct notify_url *u, CURLcode code)
{
        char why[CURL_ERROR_SIZE + 32];
        long status = 0;

        (void)curl_easy_getinfo(u->easy, CURLINFO_RESPONSE_CODE, &status);
        if (code == CURLE_OK)
                (void)str_format(why, sizeof why, "it answered %ld", status);
        else
                (void)str_format(why, sizeof why, "%s", u->why[0] ? u->why : curl_easy_strerror(code));
        post_end(u);
        if (code == CURLE_OK && status >= 200 && status < 300) {
                done(u);
                begin(u);
                return;
        }
        failed(u, why, code == CURLE_OK && status >= 300 && status < 500 && status != 408 && status != 429);
}

static void advance(struct notify_url *u)
{
        const CURLMsg *m;
        int left;

        while ((m = curl_multi_info_read(u->multi, &left)) != NULL)
                if (m->msg == CURLMSG_DONE && m->easy_handle == u->easy) {
                        post_over(u, m->data.result);
                        return; /* the next one is another turn's */
                }
}

static bool post_begin(struct notify_url *u)
{
        u->why[0] = '\0';
        u->easy = curl_easy_init();
        if (!u->easy)
                return false;
        (void)curl_easy_setopt(u->easy, CURLOPT_URL, u->url);
        (void)curl_easy_setopt(u->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(u->body));
        (void)curl_easy_setopt(u->easy, CURLOPT_POSTFIELDS, u->body);
        (void)curl_easy_setopt(u->easy, CURLOPT_HTTPHEADER, u->headers);
        (void)curl_easy_setopt(u->easy, CURLOPT_WRITEFUNCTION, swallow);
        (void)curl_easy_setopt(u->easy, CURLOPT_ERRORBUFFER, u->why);
        (void)curl_easy_setopt(u->easy, CURLOPT_TIMEOUT_MS, (long)(NOTIFY_POST_US / USEC_PER_MSEC));
        (void)curl_easy_setopt(u->easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(u->easy, CURLOPT_FOLLOWLOCATION, 0L);
        (void)curl_easy_setopt(u->easy, CURLOPT_USERAGENT, "portald/" PORTALD_VERSION);
        return curl_multi_add_handle(u->multi, u->easy) == CURLM_OK;
}

static void begin(struct notify_url *u)
{
        if (!u->url || u->easy || u->again)
                return;
        if (!u->event) {
                u->event = notify_queue_take(&u->queue);
                u->body = u->event ? js_dump(u->event) : NULL;
        }
        if (!u->event)
                return;
        if (u->body && post_begin(u))
                return;
        post_end(u);
        log_warning("daemon.notify_url: no memory for an event; the journal has it");
        done(u);
}

void notify_url_put(struct notify_url *u, const json_t *event)
{
        if (!u->url)
                return;
        notify_queue_put(&u->queue, event);
        begin(u);
}

int notify_url_set(struct notify_url *u, const char *url, struct pd_error *err)
{
        char *copy = url ? strdup(url) : NULL;

        if (url && !copy)
                return pd_fail(err, PD_E_NOMEM, "no memory for daemon.notify_url");
        post_end(u);
        u->again = sd_event_source_disable_unref(u->again);
        free(u->url);
        u->url = copy;
        u->tries = 0;
        if (!url) {
                done(u);
                notify_queue_clear(&u->queue);
        }
        begin(u);
        return 0;
}

int notify_url_new(struct notify_url **ret, sd_event *loop, struct pd_error *err)
{
        struct notify_url *u = calloc(1, sizeof *u);

        if (!u || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
                free(u);
                return pd_fail(err, PD_E_NOMEM, "no memory for notifications");
        }
        u->loop = sd_event_ref(loop);
        u->queue.what = "daemon.notify_url";
        u->multi = curl_multi_init();
        u->headers = curl_slist_append(NULL, "Content-Type: application/json");
        if (!u->multi || !u->headers || sd_event_add_time(loop, &u->timer, CLOCK_BOOTTIME, 0, 1, on_timer, u) < 0 ||
                sd_event_source_set_enabled(u->timer, SD_EVENT_OFF) < 0) {
                notify_url_free(u);
                return pd_fail(err, PD_E_NOMEM, "no memory for notifications");
        }
        (void)curl_multi_setopt(u->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
        (void)curl_multi_setopt(u->multi, CURLMOPT_SOCKETDATA, u);
        (void)curl_multi_setopt(u->multi, CURLMOPT_TIMERFUNCTION, want_timer);
        (void)curl_multi_setopt(u->multi, CURLMOPT_TIMERDATA, u);
        *ret = u;
        return 0;
}

struct notify_url *notify_url_free(struct notify_url *u)
{
        if (!u)
                return NULL;
        post_end(u);
        done(u);
        notify_queue_clear(&u->queue);
        if (u->multi)
                (void)curl_multi_cleanup(u->multi);
        u->timer = sd_event_source_disable_unref(u->timer);
        u->again = sd_event_source_disable_unref(u->again);
        curl_slist_free_all(u->headers);
        free(u->url);
        (void)sd_event_unref(u->loop);
        free(u);
        curl_global_cleanup();
        return NULL;
}
