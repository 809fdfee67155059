/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events: one watch on the engine, told on to each stream whose user may see the job. A stream that is not read is ended at
 * its bound; the client connects again and begins with how things stand. */
#include "api/internal.h"

#include "base/id.h"

#define STREAM_MAX 1048576 /* unsent bytes a client may leave lying */
#define STREAM_BLOCK 16384

struct stream {
        LIST_ENTRY(stream) all;
        struct conn *conn;
        bool one; /* only this job */
        struct id job;
        bool ended, broken;
        char *text; /* unsent */
        size_t at, n, room;
};

static void wake(struct stream *s)
{
        conn_resume(s->conn);
}

static bool add_text(struct stream *s, const char *text, size_t n)
{
        if (s->at == s->n)
                s->at = s->n = 0;
        if (s->n - s->at + n > STREAM_MAX)
                return false;
        if (s->at > 0 && s->n + n > s->room) {
                memmove(s->text, s->text + s->at, s->n - s->at);
                s->n -= s->at;
                s->at = 0;
        }
        if (s->n + n > s->room) {
                size_t room = s->room ? s->room : 4096;
                char *grown;

                while (room < s->n + n)
                        room *= 2;
                grown = realloc(s->text, room);
                if (!grown)
                        return false;
                s->text = grown;
                s->room = room;
        }
        memcpy(s->text + s->n, text, n);
        s->n += n;
        return true;
}

static void tell(struct stream *s, const char *text, size_t n)
{
        if (s->ended)
                return;
        if (!add_text(s, text, n))
                s->ended = s->broken = true;
        wake(s);
}

/* "event: job\ndata: {...}\n\n"; free it. */
static char *event_text(const json_t *job)
{
        static const char head[] = "event: job\ndata: ";
        size_t n = json_dumpb(job, NULL, 0, JSON_COMPACT);
        char *text = n ? malloc(sizeof head + n + 2) : NULL;

        if (!text)
                return NULL;
        memcpy(text, head, sizeof head - 1);
        (void)json_dumpb(job, text + sizeof head - 1, n, JSON_COMPACT);
        memcpy(text + sizeof head - 1 + n, "\n\n", 3);
        return text;
}

/* engine_watch_fn */
static void on_change(void *arg, struct id job, uint32_t uid, const json_t *job_json)
{
        struct api *a = arg;
        pd_cleanup(freep) char *text = NULL;
        struct stream *s;

        LIST_FOREACH(s, &a->streams, all)
        {
                const struct peer *p = &s->conn->peer;

                if ((s->one && !id_equal(s->job, job)) || (!p->admin && p->uid != uid))
                        continue;
                if (!text && !(text = event_text(job_json)))
                        return; /* no memory: the next change says it again */
                tell(s, text, strlen(text));
        }
}

static int on_comments(sd_event_source *source, uint64_t usec, void *arg)
{
        struct api *a = arg;
        struct stream *s;

        (void)usec;
        LIST_FOREACH(s, &a->streams, all)
        tell(s, ": portald\n\n", 11);
        (void)sd_event_source_set_time_relative(source, (uint64_t)API_COMMENT_US);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static int watch_on(struct api *a, struct pd_error *err)
{
        int r;

        if (!a->watch && !(a->watch = engine_watch_new(a->engine, on_change, a)))
                return pd_fail(err, PD_E_NOMEM, "no memory to watch jobs");
        if (a->comments)
                return 0;
        r = sd_event_add_time_relative(
                a->loop, &a->comments, CLOCK_BOOTTIME, (uint64_t)API_COMMENT_US, 1000000, on_comments, a);
        return r < 0 ? pd_fail(err, PD_E_IO, "no timer for the event stream: %s", strerror(-r)) : 0;
}

/* No stream, no timer: an idle daemon does not wake up. */
static void watch_off(struct api *a)
{
        if (!LIST_EMPTY(&a->streams) || a->closing)
                return;
        if (a->watch)
                engine_watch_free(a->watch);
        a->watch = NULL;
        a->comments = sd_event_source_disable_unref(a->comments);
}

/* MHD_ContentReaderCallback. A suspended connection may answer 0: it is asked again after the resume. */
static ssize_t read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
        struct stream *s = arg;
        size_t n = s->n - s->at;

        (void)pos;
        if (s->broken)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (n == 0 && s->ended)
                return MHD_CONTENT_READER_END_OF_STREAM;
        if (n == 0) {
                conn_suspend(s->conn);
                return 0;
        }
        n = n < max ? n : max;
        memcpy(buf, s->text + s->at, n);
        s->at += n;
        return (ssize_t)n;
}

static int stream_open(struct conn *c, const json_t *job, struct pd_error *err)
{
        struct stream *s = calloc(1, sizeof *s);

        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory for an event stream");
        s->conn = c;
        c->stream = s;
        LIST_INSERT_HEAD(&c->api->streams, s, all);
        if (job) {
                pd_cleanup(freep) char *text = event_text(job);

                s->one = true;
                if (!text || !id_parse(ID_JOB, js_str(job, "id", ""), &s->job) || !add_text(s, text, strlen(text)))
                        return pd_fail(err, PD_E_INTERNAL, "the job's record cannot be told: see `portal check`");
        } else if (!add_text(s, ": portald\n\n", 11)) { /* so that the client sees its headers at once */
                return pd_fail(err, PD_E_NOMEM, "no memory for an event stream");
        }
        return watch_on(c->api, err);
}

static void begin(struct conn *c, const json_t *job)
{
        struct pd_error err;

        if (stream_open(c, job, &err) < 0) {
                events_clear(c);
                reply_error(c, &err, NULL, 0);
                return;
        }
        c->status = 200;
        c->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c->stream, NULL);
        if (!c->response)
                return;
        (void)MHD_add_response_header(c->response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
        (void)MHD_add_response_header(c->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        conn_phase(c, CONN_STREAMING, INT64_MAX);
}

/* The named job, as the engine lets this user see it: permission, existence and the first event in one question. */
static void on_job(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t blob_n)
{
        struct conn *c = arg;
        js_owned *job = body;

        (void)blob;
        (void)blob_n;
        c->ticket = NULL;
        c->replied = true;
        if (err && err->code != PD_OK) {
                reply_error(c, err, NULL, 0);
        } else {
                begin(c, job);
        }
        conn_resume(c);
        if (c->stream)
                (void)conn_watch_hangup(c);
}

void events_start(struct conn *c)
{
        const char *job = js_str(c->rq.args, "job", NULL);
        const struct engine_request rq = {
                .verb = "show",
                .actor = { .uid = c->peer.uid, .user = c->peer.user, .admin = c->peer.admin },
                .target = job,
        };
        struct engine_ticket *t;

        if (!job) {
                begin(c, NULL);
                if (c->stream)
                        (void)conn_watch_hangup(c);
                return;
        }
        t = engine_request(c->api->engine, &rq, on_job, c);
        if (c->replied)
                return;
        c->ticket = t;
        conn_phase(c, CONN_WAITING, API_REPLY_TIMEOUT_US);
        conn_suspend(c);
}

void events_end(struct conn *c, bool broken)
{
        if (!c->stream)
                return;
        c->stream->ended = true;
        c->stream->broken |= broken;
        wake(c->stream);
}

void events_clear(struct conn *c)
{
        struct stream *s = c->stream;

        if (!s)
                return;
        c->stream = NULL;
        LIST_REMOVE(s, all);
        free(s->text);
        free(s);
        watch_off(c->api);
}
