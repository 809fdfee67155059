/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#define REPLY_MAX_MIB 64
#define REPLY_MAX ((size_t)REPLY_MAX_MIB << 20)
#define EVENT_MAX 1048576
#define CONNECT_TIMEOUT_MS 5000L

struct events {
        CURL *easy;
        http_event_fn on_job;
        void *arg;
        char *text; /* an event that is not whole yet, or an error's body */
        size_t n, room;
        bool started, ended; /* started: answered 200 */
        struct pd_error why;
};

struct http {
        CURLM *multi;
        CURL *easy;
        struct curl_slist *headers;
        char *socket;
        int interrupt_fd;
        bool interrupted, broken;
        struct events events;
        /* of the call at work */
        struct http_reply *reply;
        size_t room;
        bool too_large;
};

static int64_t now_us(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

void http_reply_clear(struct http_reply *r)
{
        free(r->data);
        json_decref(r->json);
        *r = (struct http_reply){ 0 };
}

static bool grow(char **text, size_t *room, size_t need, size_t max)
{
        size_t to = *room ? *room : 4096;
        char *grown;

        if (need > max)
                return false;
        while (to < need)
                to *= 2;
        if (to == *room)
                return true;
        grown = realloc(*text, to);
        if (!grown)
                return false;
        *text = grown;
        *room = to;
        return true;
}

static size_t on_data(char *data, size_t one, size_t n, void *arg)
{
        struct http *h = arg;
        struct http_reply *r = h->reply;

        (void)one;
        if (!grow(&r->data, &h->room, r->n + n + 1, REPLY_MAX)) {
                h->too_large = true;
                return 0;
        }
        memcpy(r->data + r->n, data, n);
        r->n += n;
        r->data[r->n] = '\0';
        return n;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
        struct http_reply *r = ((struct http *)arg)->reply;
        const struct {
                const char *name;
                int64_t *to;
        } numbers[] = { { "X-Portal-Offset:", &r->offset }, { "X-Portal-Next:", &r->next },
                { "X-Portal-Size:", &r->size } };
        char text[128];

        (void)one;
        (void)str_format(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), line);
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
                if (strncasecmp(text, numbers[i].name, strlen(numbers[i].name)) == 0)
                        *numbers[i].to = strtoll(text + strlen(numbers[i].name), NULL, 10);
        if (strncasecmp(text, "X-Portal-Eof:", 13) == 0)
                r->eof = strchr(text, '1') != NULL;
        return n;
}

static int unreachable(const struct http *h, CURLcode code, struct pd_error *err)
{
        long os = 0;

        (void)curl_easy_getinfo(h->easy, CURLINFO_OS_ERRNO, &os);
        if (code == CURLE_COULDNT_CONNECT && (os == EACCES || os == EPERM))
                return pd_fail(err, PD_E_IO,
                        "no permission for %.80s: join the group portald (`sudo usermod -aG portald $USER`) and log in "
                        "again",
                        h->socket);
        if (code == CURLE_COULDNT_CONNECT)
                return pd_fail(err, PD_E_IO,
                        "portald does not answer at %.80s (%s): start it with `systemctl start portald`, or name "
                        "another socket with --socket",
                        h->socket, os ? strerror((int)os) : "no connection");
        if (code == CURLE_OPERATION_TIMEDOUT)
                return pd_fail(err, PD_E_IO,
                        "portald at %.80s did not answer in time: look with `portal check`, or at its log with "
                        "`journalctl -u portald`",
                        h->socket);
        return pd_fail(err, PD_E_IO, "portald at %.80s went away during the request (%s): try again", h->socket,
                curl_easy_strerror(code));
}

/* The answer's own error, or a sentence for one that is not ours. */
static int error_of(const char *text, size_t n, unsigned status, json_t **ret_json, struct pd_error *err)
{
        js_owned *json = NULL;
        const json_t *e;

        if (n == 0 || js_parse(text, n, &json, NULL) < 0 || !json_is_object(e = json_object_get(json, "error")))
                return pd_fail(err, PD_E_INTERNAL,
                        "the answer has status %u and is not portald's: is another program at that socket?", status);
        js_to_error(e, err);
        if (ret_json)
                *ret_json = pd_steal(json);
        return -(int)err->code;
}

/* --- events --- */
static void take_event(struct http *h, const char *line)
{
        js_owned *job = NULL;

        if (!str_starts(line, "data:") || js_parse(line + 5, strlen(line + 5), &job, NULL) < 0)
                return;
        if (h->events.on_job(h->events.arg, job))
                h->broken = true;
}

static size_t on_event_data(char *data, size_t one, size_t n, void *arg)
{
        struct http *h = arg;
        struct events *e = &h->events;
        char *start, *end;
        long status = 0;

        (void)one;
        if (!grow(&e->text, &e->room, e->n + n + 1, EVENT_MAX))
                return 0;
        memcpy(e->text + e->n, data, n);
        e->n += n;
        e->text[e->n] = '\0';
        (void)curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status != 200)
                return n; /* an error's body: kept whole */
        e->started = true;
        for (start = e->text; (end = strchr(start, '\n')); start = end + 1) {
                *end = '\0';
                take_event(h, start);
        }
        e->n -= (size_t)(start - e->text);
        memmove(e->text, start, e->n + 1);
        return n;
}

static void events_over(struct http *h, CURLcode code)
{
        struct events *e = &h->events;
        long status = 0;

        e->ended = true;
        (void)curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
        if (code == CURLE_OK && status >= 400)
                (void)error_of(e->text, e->n, (unsigned)status, NULL, &e->why);
        else
                (void)unreachable(h, code == CURLE_OK ? CURLE_RECV_ERROR : code, &e->why);
}

/* --- the multi handle's turn --- */
static bool finished(struct http *h, CURLcode *ret_code)
{
        CURLMsg *m;
        int left;
        bool done = false;

        while ((m = curl_multi_info_read(h->multi, &left))) {
                if (m->msg != CURLMSG_DONE)
                        continue;
                if (m->easy_handle == h->events.easy) {
                        events_over(h, m->data.result);
                } else {
                        *ret_code = m->data.result;
                        done = true;
                }
        }
        return done;
}

static void wait_for_more(struct http *h, int64_t us)
{
        struct curl_waitfd extra = { .fd = h->interrupt_fd, .events = CURL_WAIT_POLLIN };
        int ms = us > 60 * USEC_PER_SEC ? 60000 : (int)((us + 999) / 1000);

        (void)curl_multi_poll(h->multi, &extra, h->interrupt_fd >= 0 ? 1 : 0, ms, NULL);
        if (h->interrupt_fd >= 0) {
                struct pollfd p = { .fd = h->interrupt_fd, .events = POLLIN };

                h->interrupted |= poll(&p, 1, 0) > 0;
        }
}

void http_interrupt_by(struct http *h, int fd)
{
        h->interrupt_fd = fd;
}

bool http_interrupted(const struct http *h)
{
        return h->interrupted;
}

bool http_wait(struct http *h, int64_t timeout_us)
{
        int64_t end = now_us() + timeout_us, now;
        CURLcode code;
        int running;

        h->broken = false;
        for (;;) {
                (void)curl_multi_perform(h->multi, &running);
                (void)finished(h, &code);
                now = now_us();
                if (h->broken || h->interrupted || (h->events.easy && h->events.ended) || now >= end)
                        return h->broken;
                wait_for_more(h, end - now);
        }
}

int http_events_open(struct http *h, const char *path, http_event_fn on_job, void *arg, struct pd_error *err)
{
        char url[512];

        http_events_close(h);
        if (!str_format(url, sizeof url, "http://portald%s", path))
                return pd_fail(err, PD_E_INVALID, "the request's path is too long");
        h->events.easy = curl_easy_init();
        if (!h->events.easy)
                return pd_fail(err, PD_E_NOMEM, "no memory for a connection");
        h->events.on_job = on_job;
        h->events.arg = arg;
        (void)curl_easy_setopt(h->events.easy, CURLOPT_UNIX_SOCKET_PATH, h->socket);
        (void)curl_easy_setopt(h->events.easy, CURLOPT_URL, url);
        (void)curl_easy_setopt(h->events.easy, CURLOPT_WRITEFUNCTION, on_event_data);
        (void)curl_easy_setopt(h->events.easy, CURLOPT_WRITEDATA, h);
        (void)curl_easy_setopt(h->events.easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(h->events.easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
        (void)curl_easy_setopt(h->events.easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_multi_add_handle(h->multi, h->events.easy);
        return 0;
}

int http_events_state(const struct http *h, struct pd_error *err)
{
        if (h->events.easy && !h->events.ended)
                return 0;
        if (err)
                *err = h->events.why;
        return h->events.why.code ? -(int)h->events.why.code : -PD_E_IO;
}

void http_events_close(struct http *h)
{
        if (h->events.easy) {
                (void)curl_multi_remove_handle(h->multi, h->events.easy);
                curl_easy_cleanup(h->events.easy);
        }
        free(h->events.text);
        h->events = (struct events){ 0 };
}

/* --- calls --- */
static int prepare(
        struct http *h, const char *method, const char *path, const char *body, const char *key, struct pd_error *err)
{
        char url[1024], header[128];

        if (!str_format(url, sizeof url, "http://portald%s", path))
                return pd_fail(err, PD_E_INVALID, "the request's path is too long");
        curl_easy_reset(h->easy);
        (void)curl_easy_setopt(h->easy, CURLOPT_UNIX_SOCKET_PATH, h->socket);
        (void)curl_easy_setopt(h->easy, CURLOPT_URL, url);
        (void)curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_data);
        (void)curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
        (void)curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
        (void)curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, h);
        (void)curl_easy_setopt(h->easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
        (void)curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
        if (!streq(method, "GET")) {
                (void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
                (void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
                (void)curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, method);
        }
        curl_slist_free_all(h->headers);
        h->headers = curl_slist_append(NULL, "Content-Type: application/json");
        h->headers = h->headers ? curl_slist_append(h->headers, "Expect:") : NULL;
        if (key && str_format(header, sizeof header, "Idempotency-Key: %s", key) && h->headers)
                h->headers = curl_slist_append(h->headers, header);
        if (!h->headers)
                return pd_fail(err, PD_E_NOMEM, "no memory for a request");
        (void)curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->headers);
        return 0;
}

static int drive(struct http *h, int64_t timeout_us, struct pd_error *err)
{
        int64_t end = now_us() + timeout_us, now;
        CURLcode code = CURLE_OK;
        int running;

        h->broken = false;
        (void)curl_multi_add_handle(h->multi, h->easy);
        for (;;) {
                (void)curl_multi_perform(h->multi, &running);
                if (finished(h, &code))
                        break;
                now = now_us();
                if (h->interrupted || h->broken || now >= end) {
                        (void)curl_multi_remove_handle(h->multi, h->easy);
                        return now >= end ? unreachable(h, CURLE_OPERATION_TIMEDOUT, err)
                                          : pd_fail(err, PD_E_CANCELLED, "broken off");
                }
                wait_for_more(h, end - now);
        }
        (void)curl_multi_remove_handle(h->multi, h->easy);
        if (h->too_large)
                return pd_fail(err, PD_E_INTERNAL, "the answer is larger than %d MiB: ask for less", REPLY_MAX_MIB);
        return code == CURLE_OK ? 0 : unreachable(h, code, err);
}

static int judge(struct http_reply *r, CURL *easy, struct pd_error *err)
{
        const char *type = NULL;
        long status = 0;

        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
        r->status = (unsigned)status;
        if (status >= 400)
                return error_of(r->data ? r->data : "", r->n, r->status, &r->json, err);
        if (type && str_starts(type, "application/json") && js_parse(r->data ? r->data : "", r->n, &r->json, NULL) < 0)
                return pd_fail(err, PD_E_INTERNAL, "the answer is not JSON: is another program at that socket?");
        return 0;
}

int http_call(struct http *h, const char *method, const char *path, const json_t *body, const char *key,
        int64_t timeout_us, struct http_reply *ret, struct pd_error *err)
{
        pd_cleanup(freep) char *text = body ? js_dump(body) : strdup("");
        int r;

        *ret = (struct http_reply){ .offset = -1, .next = -1, .size = -1 };
        h->reply = ret;
        h->room = 0;
        h->too_large = false;
        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for a request");
        r = prepare(h, method, path, text, key, err);
        if (r == 0)
                r = drive(h, timeout_us, err);
        return r < 0 ? r : judge(ret, h->easy, err);
}

int http_new(struct http **ret, const char *socket, struct pd_error *err)
{
        pd_cleanup(http_freep) struct http *h = calloc(1, sizeof *h);

        if (!h || !(h->socket = strdup(socket)))
                return pd_fail(err, PD_E_NOMEM, "no memory for a connection");
        h->interrupt_fd = -1;
        h->multi = curl_multi_init();
        h->easy = curl_easy_init();
        if (!h->multi || !h->easy)
                return pd_fail(err, PD_E_NOMEM, "no memory for a connection");
        *ret = pd_steal(h);
        return 0;
}

struct http *http_free(struct http *h)
{
        if (!h)
                return NULL;
        http_events_close(h);
        if (h->easy)
                curl_easy_cleanup(h->easy);
        if (h->multi)
                curl_multi_cleanup(h->multi);
        curl_slist_free_all(h->headers);
        free(h->socket);
        free(h);
        return NULL;
}
