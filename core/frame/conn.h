/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of frames on a descriptor in an sd-event loop: requests with deadlines, answers by request id, events.
 * Used by portald towards runners and plugin hosts, by the runner, and by the plugin host. Descriptors may ride along on unix
 * sockets (SCM_RIGHTS): at most 4 a frame, owned by the receiver's callback.
 * (Between the two ends such a frame has the member "_fds": how many; callers never see it.)
 *
 * Promises: every request ends in exactly one callback (answer, deadline, lost stream); the send queue is bounded
 * (CONN_QUEUE_MAX bytes; above it -PD_E_FULL); nothing is called back from inside conn_request() or conn_send(). */
#ifndef FRAME_CONN_H
#define FRAME_CONN_H

#include <systemd/sd-event.h>

#include "frame/frame.h"

#define CONN_QUEUE_MAX (UINT32_C(32) << 20)
#define CONN_FDS_MAX 4
#define CONN_PENDING_MAX 16384              /* requests without an answer; above it -PD_E_FULL   */
#define CONN_ITEMS_MAX (UINT32_C(64) << 20) /* bytes of items of one answer; above it -PD_E_FULL */

struct conn;

/* answer: the whole answer object ("ok" is true), borrowed, with the items that came before it (may be NULL) and its blob;
 * or NULL with err filled: the peer's error, -PD_E_DEADLINE, or -PD_E_UNKNOWN_OUTCOME when the stream was lost. */
typedef void (*conn_answer_fn)(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items);

struct conn_events {
        /* A request or event of the peer. fds[0..n) are given away to the callee. Answer later with conn_answer*(). */
        void (*on_frame)(void *arg, struct conn *c, const struct frame *f, const int *fds, size_t n_fds);
        /* The stream ended; pending requests have been called back. The owner frees the conn, now or later. */
        void (*on_lost)(void *arg, struct conn *c, const struct pd_error *err);
        void *arg;
};

/* Owns fd (made non-blocking) from success on. */
int conn_new(struct conn **ret, sd_event *loop, int fd, const struct conn_events *events, struct pd_error *err);
struct conn *conn_free(struct conn *c); /* pending requests are called back with -PD_E_UNKNOWN_OUTCOME; returns NULL */
static inline void conn_freep(struct conn **c)
{
        conn_free(*c);
}

/* body is borrowed ("op" inside). fds are duplicated by the kernel on sending and stay the caller's; they must stay open until the
 * answer. Refusals (-PD_E_FULL, -PD_E_NOMEM, -PD_E_INVALID, -PD_E_UNSUPPORTED for fds on another stream than a unix socket,
 * -PD_E_TRANSIENT on a lost stream) are returned and not called back. A request of which no byte had left at its deadline is
 * withdrawn: the peer never sees it. */
int conn_request(struct conn *c, uint64_t generation, const json_t *body, const void *blob, size_t blob_n,
        const int *fds, size_t n_fds, int64_t timeout_us, conn_answer_fn done, void *arg, struct pd_error *err);
int conn_answer(struct conn *c, uint64_t request, const json_t *body, const void *blob, size_t blob_n,
        struct pd_error *err); /* adds "ok": true to a copy of body (NULL = {}) */
int conn_answer_error(struct conn *c, uint64_t request, const struct pd_error *why, struct pd_error *err);
int conn_item(struct conn *c, uint64_t request, const json_t *item, struct pd_error *err);
int conn_event(struct conn *c, uint64_t generation, const json_t *body, struct pd_error *err);

/* The peer's credentials on a unix socket: pid, uid, gid; negative when there are none. */
int conn_peer(const struct conn *c, int32_t *ret_pid, uint32_t *ret_uid, uint32_t *ret_gid);
size_t conn_queued(const struct conn *c);

#endif
