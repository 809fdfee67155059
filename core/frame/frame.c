/* SPDX-License-Identifier: Apache-2.0 */
#include "frame/frame.h"

#include <inttypes.h>

static const uint8_t magic[4] = { 'P', 'D', 'F', '1' };

static void put(uint8_t *at, uint64_t v, int bytes)
{
        for (int i = bytes - 1; i >= 0; i--, v >>= 8)
                at[i] = (uint8_t)v;
}

static uint64_t get(const uint8_t *at, int bytes)
{
        uint64_t v = 0;

        for (int i = 0; i < bytes; i++)
                v = v << 8 | at[i];
        return v;
}

void frame_clear(struct frame *f)
{
        json_decref(f->json);
        free(f->blob);
        *f = (struct frame){ 0 };
}

int frame_encode(enum frame_kind kind, uint64_t generation, uint64_t request, const json_t *json, const void *blob,
        size_t blob_n, uint8_t **ret, size_t *ret_n, struct pd_error *err)
{
        pd_cleanup(freep) char *text = NULL;
        uint8_t *buf;
        size_t n;

        if (!json_is_object(json))
                return pd_fail(err, PD_E_INVALID, "a frame's body must be a JSON object");
        text = js_dump(json);
        if (!text)
                return pd_fail(
                        err, PD_E_NOMEM, "a frame's body cannot be written: no memory, or text that is not UTF-8");
        n = strlen(text);
        if (n > FRAME_JSON_MAX)
                return pd_fail(err, PD_E_FULL, "a message of %zu bytes is too long: a frame carries %u bytes of JSON",
                        n, FRAME_JSON_MAX);
        if (blob_n > FRAME_BLOB_MAX)
                return pd_fail(err, PD_E_FULL, "%zu raw bytes are too many: a frame carries %u, send them in pieces",
                        blob_n, FRAME_BLOB_MAX);
        buf = malloc(FRAME_HEAD + n + blob_n);
        if (!buf)
                return pd_fail(err, PD_E_NOMEM, "no memory for a frame of %zu bytes", FRAME_HEAD + n + blob_n);
        memcpy(buf, magic, sizeof magic);
        put(buf + 4, FRAME_VERSION, 2);
        put(buf + 6, kind, 2);
        put(buf + 8, n + blob_n, 4);
        put(buf + 12, n, 4);
        put(buf + 16, generation, 8);
        put(buf + 24, request, 8);
        memcpy(buf + FRAME_HEAD, text, n);
        if (blob_n)
                memcpy(buf + FRAME_HEAD + n, blob, blob_n);
        *ret = buf;
        *ret_n = FRAME_HEAD + n + blob_n;
        return 0;
}

void frame_reader_clear(struct frame_reader *r)
{
        free(r->buf);
        *r = (struct frame_reader){ 0 };
}

int frame_reader_feed(struct frame_reader *r, const void *bytes, size_t n, struct pd_error *err)
{
        if (r->broken)
                return pd_fail(err, PD_E_CORRUPT, "this stream broke before: nothing more is read from it");
        if (n > FRAME_READER_MAX - (r->n - r->at))
                return pd_fail(err, PD_E_FULL, "more than %zu bytes lie unread", FRAME_READER_MAX);
        if (r->at) {
                memmove(r->buf, r->buf + r->at, r->n - r->at);
                r->n -= r->at;
                r->at = 0;
        }
        if (r->n + n > r->room) {
                size_t bigger = r->room * 2 > r->n + n ? r->room * 2 : r->n + n;
                uint8_t *p = realloc(r->buf, bigger);

                if (!p)
                        return pd_fail(err, PD_E_NOMEM, "no memory for %zu bytes of a stream", bigger);
                r->buf = p;
                r->room = bigger;
        }
        if (n)
                memcpy(r->buf + r->n, bytes, n);
        r->n += n;
        return 0;
}

struct head {
        unsigned int version, kind;
        uint32_t length, json_n;
        uint64_t generation, request;
};

static int check_head(const struct head *h, struct pd_error *err)
{
        /* version 1 has none before it */
        if (h->version != FRAME_VERSION)
                return pd_fail(err, PD_E_CORRUPT,
                        "a frame of version %u: this program speaks version %d, bring both to the same release",
                        h->version, FRAME_VERSION);
        if (h->kind < FRAME_REQUEST || h->kind > FRAME_EVENT)
                return pd_fail(err, PD_E_CORRUPT, "a frame of kind %u: kinds are %d to %d", h->kind, FRAME_REQUEST,
                        FRAME_EVENT);
        if (h->length > FRAME_BODY_MAX)
                return pd_fail(
                        err, PD_E_CORRUPT, "a frame of %u bytes: at most %u are allowed", h->length, FRAME_BODY_MAX);
        if (h->json_n > h->length || h->json_n > FRAME_JSON_MAX)
                return pd_fail(err, PD_E_CORRUPT,
                        "a frame of %u bytes with %u bytes of JSON: at most %u, and no more than the frame has",
                        h->length, h->json_n, FRAME_JSON_MAX);
        if (h->request == 0 && h->kind != FRAME_EVENT)
                return pd_fail(err, PD_E_CORRUPT, "a frame of kind %u without a request id", h->kind);
        return 0;
}

static int take_body(const uint8_t *body, const struct head *h, struct frame *ret, struct pd_error *err)
{
        struct frame f = { .kind = (enum frame_kind)h->kind,
                .generation = h->generation,
                .request = h->request,
                .json_n = h->json_n };
        int r = js_parse((const char *)body, h->json_n, &f.json, err);

        if (r < 0)
                return r;
        if (!json_is_object(f.json)) {
                frame_clear(&f);
                return pd_fail(err, PD_E_CORRUPT, "a frame's JSON is not an object");
        }
        f.blob_n = h->length - h->json_n;
        if (f.blob_n) {
                f.blob = malloc(f.blob_n);
                if (!f.blob) {
                        size_t wanted = f.blob_n;

                        frame_clear(&f);
                        return pd_fail(err, PD_E_NOMEM, "no memory for %zu bytes of a frame", wanted);
                }
                memcpy(f.blob, body + h->json_n, f.blob_n);
        }
        *ret = f;
        return 0;
}

/* The magic is judged as far as it has come, so that a peer that speaks something else is not waited for. */
static bool magic_so_far(const uint8_t *at, size_t n)
{
        return memcmp(at, magic, n < sizeof magic ? n : sizeof magic) == 0;
}

static int next(struct frame_reader *r, struct frame *ret, struct pd_error *err)
{
        size_t n = r->n - r->at;
        const uint8_t *at;
        struct head h;
        int rc;

        if (n == 0)
                return 0;
        at = r->buf + r->at;
        if (!magic_so_far(at, n))
                return pd_fail(err, PD_E_CORRUPT, "these bytes are no frame: the peer speaks something else");
        if (n < FRAME_HEAD)
                return 0;
        h = (struct head){ (unsigned int)get(at + 4, 2), (unsigned int)get(at + 6, 2), (uint32_t)get(at + 8, 4),
                (uint32_t)get(at + 12, 4), get(at + 16, 8), get(at + 24, 8) };
        rc = check_head(&h, err);
        if (rc < 0)
                return rc;
        if (n - FRAME_HEAD < h.length)
                return 0;
        rc = take_body(at + FRAME_HEAD, &h, ret, err);
        if (rc < 0)
                return rc;
        r->at += FRAME_HEAD + h.length;
        return 1;
}

int frame_reader_next(struct frame_reader *r, struct frame *ret, struct pd_error *err)
{
        int rc;

        if (r->broken)
                return pd_fail(err, PD_E_CORRUPT, "this stream broke before: nothing more is read from it");
        rc = next(r, ret, err);
        if (rc < 0)
                r->broken = true;
        return rc;
}
