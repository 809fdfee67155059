/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: what portald, portal-runner and portald-plugin-host say to each other, over any byte stream.
 *
 *   offset  bytes  field (big endian)
 *        0      4  magic "PDF1"
 *        4      2  version (FRAME_VERSION; a peer talks to N and N-1)
 *        6      2  kind (enum frame_kind)
 *        8      4  length of all that follows this head, at most FRAME_BODY_MAX
 *       12      4  length of the JSON part; the rest of the body is raw bytes
 *       16      8  generation (fencing; 0 where none applies)
 *       24      8  request id (the asker's; an answer repeats it; 0 = an event that wants no answer)
 *
 * The codec is pure: bytes in, frames out. A bad head (magic, version, kind, lengths) or JSON that is no object is an error after
 * which the stream is closed: there is no resynchronisation. */
#ifndef FRAME_FRAME_H
#define FRAME_FRAME_H

#include "base/base.h"
#include "base/js.h"

#define FRAME_HEAD 32
#define FRAME_VERSION 1
#define FRAME_BODY_MAX (UINT32_C(4) << 20)
#define FRAME_JSON_MAX (UINT32_C(1) << 20)
#define FRAME_BLOB_MAX (UINT32_C(1) << 20) /* what a sender puts in one frame */

enum frame_kind {
        FRAME_REQUEST = 1, /* {"op": ..., ...}                                              */
        FRAME_ANSWER = 2,  /* {"ok": true, ...} or {"ok": false, "error": js_from_error()}   */
        FRAME_ITEM = 3,    /* one item of an answer's list, before the answer itself        */
        FRAME_EVENT = 4,   /* unasked: {"event": ..., ...}                                  */
};

struct frame {
        enum frame_kind kind;
        uint64_t generation, request;
        json_t *json;  /* an object; owned */
        size_t json_n; /* bytes of its text as received */
        void *blob;    /* owned, NULL when blob_n is 0 */
        size_t blob_n;
};
void frame_clear(struct frame *f); /* frees what it holds; the struct is then empty */

/* One whole frame as bytes, from borrowed parts. *ret is to be freed. -PD_E_FULL: a part is too long. */
int frame_encode(enum frame_kind kind, uint64_t generation, uint64_t request, const json_t *json, const void *blob,
        size_t blob_n, uint8_t **ret, size_t *ret_n, struct pd_error *err);

/* Takes bytes as they come. */
struct frame_reader {
        uint8_t *buf;
        size_t at, n, room; /* unread: buf[at..n) */
        bool broken;        /* after the first error everything is refused */
};
void frame_reader_clear(struct frame_reader *r);
/* -PD_E_FULL when more than FRAME_READER_MAX bytes lie unread: take frames out in between. */
#define FRAME_READER_MAX (2 * ((size_t)FRAME_HEAD + FRAME_BODY_MAX))
int frame_reader_feed(struct frame_reader *r, const void *bytes, size_t n, struct pd_error *err);
/* 1: *ret holds the next frame (clear it); 0: more bytes needed; negative: broken. */
int frame_reader_next(struct frame_reader *r, struct frame *ret, struct pd_error *err);

#endif
