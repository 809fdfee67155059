/* SPDX-License-Identifier: Apache-2.0 */
/* A stream in pieces (the first byte says how large), and with a head made right around arbitrary bodies: what is read is within bounds, and
 * encoded again it is read as the same. */
#include "frame/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_frame(const struct frame *f)
{
        struct frame_reader r = { 0 };
        struct frame again = { 0 };
        uint8_t *out = NULL;
        size_t out_n = 0;

        if (!json_is_object(f->json) || f->json_n > FRAME_JSON_MAX || (f->blob_n > 0) != (f->blob != NULL))
                abort();
        if (f->blob_n > FRAME_BLOB_MAX) {
                if (frame_encode(f->kind, f->generation, f->request, f->json, f->blob, f->blob_n, &out, &out_n, NULL) !=
                        -PD_E_FULL)
                        abort();
                return;
        }
        if (frame_encode(f->kind, f->generation, f->request, f->json, f->blob, f->blob_n, &out, &out_n, NULL) < 0)
                return; /* escaped, the text may be longer than before */
        if (frame_reader_feed(&r, out, out_n, NULL) < 0 || frame_reader_next(&r, &again, NULL) != 1)
                abort();
        if (again.kind != f->kind || again.generation != f->generation || again.request != f->request ||
                again.blob_n != f->blob_n || !json_equal(again.json, f->json))
                abort();
        if (f->blob_n && memcmp(again.blob, f->blob, f->blob_n) != 0)
                abort();
        frame_clear(&again);
        frame_reader_clear(&r);
        free(out);
}

static void read_in_pieces(const uint8_t *bytes, size_t n, size_t piece)
{
        struct frame_reader r = { 0 };
        struct pd_error err = { 0 };
        int rc = 0;

        for (size_t at = 0; at < n && rc >= 0; at += piece) {
                struct frame f = { 0 };

                rc = frame_reader_feed(&r, bytes + at, piece < n - at ? piece : n - at, &err);
                while (rc >= 0 && (rc = frame_reader_next(&r, &f, &err)) == 1) {
                        check_frame(&f);
                        frame_clear(&f);
                }
        }
        if (rc < 0 && (!r.broken || !err.text[0] || frame_reader_next(&r, &(struct frame){ 0 }, NULL) >= 0 ||
                              frame_reader_feed(&r, bytes, n, NULL) >= 0))
                abort();
        frame_reader_clear(&r);
}

/* The same bytes as a body, so that the fuzzer need not guess lengths. */
static void read_as_body(const uint8_t *bytes, size_t n)
{
        size_t json_n = n > 2 && bytes[1] < n ? n - bytes[1] : n;
        uint8_t head[FRAME_HEAD] = { 'P', 'D', 'F', '1', 0, FRAME_VERSION, 0, (uint8_t)(1 + bytes[0] % 4) };
        struct frame_reader r = { 0 };
        struct frame f = { 0 };

        for (int i = 0; i < 4; i++) {
                head[8 + i] = (uint8_t)(n >> (24 - 8 * i));
                head[12 + i] = (uint8_t)(json_n >> (24 - 8 * i));
        }
        head[31] = 1;
        if (frame_reader_feed(&r, head, sizeof head, NULL) < 0 || frame_reader_next(&r, &f, NULL) != 0)
                abort();
        if (frame_reader_feed(&r, bytes, n, NULL) < 0)
                abort();
        if (frame_reader_next(&r, &f, NULL) == 1) {
                check_frame(&f);
                frame_clear(&f);
        }
        frame_reader_clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        if (n < 2)
                return 0;
        read_in_pieces(bytes + 1, n - 1, bytes[0] ? bytes[0] : n);
        read_as_body(bytes, n);
        return 0;
}
