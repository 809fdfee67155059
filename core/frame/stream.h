/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes below a conn: a bounded queue of frames out, frames and their descriptors in. Knows no loop and calls nothing back.
 *
 * Descriptors: a frame that carries n of them says so in its JSON ("_fds": n, added and taken away here) and they ride on the
 * frame's first byte; the kernel may hand them over early, together with bytes of frames before, so that the count decides whose
 * they are. Descriptors that no frame claims, or claimed ones that did not come, end the stream. */
#ifndef FRAME_STREAM_H
#define FRAME_STREAM_H

#include "base/vec.h"
#include "frame/frame.h"

#define STREAM_FDS_MAX 4      /* a frame                                    */
#define STREAM_FDS_PENDING 64 /* received, of frames that are not whole yet */

struct stream_out;

struct stream {
        int fd; /* owned */
        bool socket, unix_socket;
        struct frame_reader in;
        int fds[STREAM_FDS_PENDING];
        size_t n_fds;
        struct stream_out *first, **last;
        size_t queued; /* bytes */
};

/* Owns fd from success on. */
int stream_init(struct stream *s, int fd, struct pd_error *err);
void stream_clear(struct stream *s);

/* json is borrowed, fds are duplicated. -PD_E_FULL past queue_max bytes. */
int stream_queue(
        struct stream *s, const struct frame *f, const int *fds, size_t n_fds, size_t queue_max, struct pd_error *err);
/* Takes back the request if not a byte of it has left. */
bool stream_withdraw(struct stream *s, uint64_t request);
/* Writes what the peer takes without waiting. Negative: the stream is lost. */
int stream_flush(struct stream *s, struct pd_error *err);
/* Reads what is there, up to a bound a call. 1: the peer has closed; 0: more may come; negative: lost. */
int stream_fill(struct stream *s, struct pd_error *err);
/* 1: *ret and fds[0..*ret_n_fds) belong to the caller; 0: none whole yet; negative: broken. */
int stream_next(struct stream *s, struct frame *ret, int fds[STREAM_FDS_MAX], size_t *ret_n_fds, struct pd_error *err);
bool stream_torn(const struct stream *s); /* in the middle of a frame */

#endif
