/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to portald over its unix socket, by libcurl: one call at a time, and beside it at most one stream of events. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include "base/base.h"
#include "base/js.h"

struct http;

struct http_reply {
        unsigned status;
        char *data; /* the body; NUL behind it */
        size_t n;
        json_t *json;               /* the body where it is JSON, else NULL */
        int64_t offset, next, size; /* X-Portal headers, -1 = absent */
        bool eof;
};
void http_reply_clear(struct http_reply *r);

int http_new(struct http **ret, const char *socket, struct pd_error *err);
struct http *http_free(struct http *h);
static inline void http_freep(struct http **h)
{
        http_free(*h);
}

/* 0 for 2xx. Else a code of the answer's error (ret is filled then too: faults, values), or -PD_E_IO when portald cannot be reached or went
 * away, -PD_E_CANCELLED when interrupted or broken off by an event. timeout_us covers the whole call. */
int http_call(struct http *h, const char *method, const char *path, const json_t *body, const char *key,
        int64_t timeout_us, struct http_reply *ret, struct pd_error *err);

/* Every call and wait ends at once when fd is readable. */
void http_interrupt_by(struct http *h, int fd);
bool http_interrupted(const struct http *h);

/* Events of a GET that does not end; on_job is called from within http_call() and http_wait(). Returning true breaks the call off. */
typedef bool (*http_event_fn)(void *arg, const json_t *job);
int http_events_open(struct http *h, const char *path, http_event_fn on_job, void *arg, struct pd_error *err);
/* 0 = alive; else why it ended, as http_call() would say it. */
int http_events_state(const struct http *h, struct pd_error *err);
void http_events_close(struct http *h);
/* Until an event broke it off (true), the stream ended, it was interrupted, or the time is over (false). */
bool http_wait(struct http *h, int64_t timeout_us);

#endif
