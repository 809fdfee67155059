/* SPDX-License-Identifier: Apache-2.0 */
#include "frame/frame.h"

#include "tap.h"

struct bytes {
        uint8_t *at;
        size_t n;
};

static void bytes_freep(struct bytes *b)
{
        free(b->at);
}

static struct bytes make(
        enum frame_kind kind, uint64_t generation, uint64_t request, const char *json, const void *blob, size_t blob_n)
{
        js_owned *v = json_loads(json, 0, NULL);
        struct pd_error err = { 0 };
        struct bytes b = { 0 };

        if (frame_encode(kind, generation, request, v, blob, blob_n, &b.at, &b.n, &err) < 0)
                tap_note("%s", err.text);
        return b;
}

static void test_layout(void)
{
        static const uint8_t want[] = { 'P', 'D', 'F', '1', 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8,
                0, 0, 0, 0, 0, 0, 0, 9, '{', '}', 0, 255 };
        pd_cleanup(bytes_freep) struct bytes b = make(FRAME_ANSWER, UINT64_C(0x0102030405060708), 9, "{}", "\0\377", 2);

        tap_ok(b.n == sizeof want && memcmp(b.at, want, sizeof want) == 0,
                "a frame lies in its bytes as the format says");
}

static bool same(const struct frame *f)
{
        return f->kind == FRAME_REQUEST && f->generation == 3 && f->request == 7 &&
               streq(js_str(f->json, "op", ""), "start") && f->blob_n == 5 && memcmp(f->blob, "a\0b\0c", 5) == 0;
}

/* The same three frames in pieces of every size. */
static void test_torn(void)
{
        pd_cleanup(bytes_freep) struct bytes b = make(FRAME_REQUEST, 3, 7, "{\"op\":\"start\"}", "a\0b\0c", 5);
        struct bytes three = { malloc(3 * b.n), 3 * b.n };
        pd_cleanup(bytes_freep) struct bytes owned = three;
        size_t wrong = 0;

        for (int i = 0; i < 3; i++)
                memcpy(three.at + (size_t)i * b.n, b.at, b.n);
        for (size_t piece = 1; piece <= owned.n; piece++) {
                struct frame_reader r = { 0 };
                size_t good = 0;

                for (size_t at = 0; at < three.n; at += piece) {
                        struct frame f = { 0 };

                        wrong += frame_reader_feed(
                                         &r, three.at + at, piece < three.n - at ? piece : three.n - at, NULL) < 0;
                        while (frame_reader_next(&r, &f, NULL) == 1) {
                                good += same(&f);
                                frame_clear(&f);
                        }
                }
                wrong += good != 3 || r.broken;
                frame_reader_clear(&r);
        }
        tap_int((long long)wrong, 0, "three frames torn into pieces of every size arrive whole");
}

static const struct {
        const char *name;
        size_t at; /* where in the head */
        uint8_t value;
        const char *says;
} heads[] = {
        { "another magic", 0, 'X', "no frame" },
        { "another magic at its end", 3, '2', "no frame" },
        { "version 0", 5, 0, "version 0" },
        { "version 2", 5, 2, "version 2" },
        { "version 257", 4, 1, "version 257" },
        { "kind 0", 7, 0, "kind 0" },
        { "kind 5", 7, 5, "kind 5" },
        { "kind 258", 6, 1, "kind 25" },
        { "a length past the bound", 9, 0x41, "at most 4194304" },
        { "the largest length", 8, 255, "at most 4194304" },
        { "more JSON than length", 15, 200, "no more than the frame has" },
        { "more JSON than is allowed", 13, 0x10, "no more than the frame has" },
        { "a request without an id", 31, 0, "without a request id" },
        { "JSON cut short", 15, 13, "not JSON" },
        { "no JSON", 15, 0, "not JSON" },
};

static void test_heads(void)
{
        for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
                pd_cleanup(bytes_freep) struct bytes b = make(FRAME_REQUEST, 3, 7, "{\"op\":\"start\"}", "a\0b\0c", 5);
                struct frame_reader r = { 0 };
                struct frame f = { 0 };
                struct pd_error err = { 0 }, again = { 0 };
                int rc;

                b.at[heads[i].at] = heads[i].value;
                (void)frame_reader_feed(&r, b.at, b.n, NULL);
                rc = frame_reader_next(&r, &f, &err);
                if (!tap_ok(rc < 0 && !f.json && strstr(err.text, heads[i].says),
                            "%s breaks the stream with a sentence", heads[i].name))
                        tap_note("rc %d: %s", rc, err.text);
                tap_ok(r.broken && frame_reader_feed(&r, b.at, b.n, NULL) < 0 && frame_reader_next(&r, &f, &again) < 0,
                        "and nothing is read after it");
                frame_reader_clear(&r);
        }
}

static void test_early(void)
{
        struct frame_reader r = { 0 };
        struct frame f = { 0 };

        (void)frame_reader_feed(&r, "SSH-2", 5, NULL);
        tap_ok(frame_reader_next(&r, &f, NULL) < 0, "a peer that speaks something else is not waited for");
        frame_reader_clear(&r);
        (void)frame_reader_feed(&r, "PD", 2, NULL);
        tap_int(frame_reader_next(&r, &f, NULL), 0, "the beginning of a magic may still become one");
        frame_reader_clear(&r);
}

static void test_no_object(void)
{
        static const char *const bodies[] = { "[]", "1", "\"x\"", "null", "{\"a\":1,\"a\":2}", "{\"a\":\"\xff\"}",
                "{} {}" };

        for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
                pd_cleanup(bytes_freep) struct bytes b = make(FRAME_EVENT, 0, 0, "{}", bodies[i], strlen(bodies[i]));
                struct frame_reader r = { 0 };
                struct frame f = { 0 };

                memmove(b.at + FRAME_HEAD, b.at + FRAME_HEAD + 2, b.n - FRAME_HEAD - 2);
                b.at[11] = b.at[15] = (uint8_t)strlen(bodies[i]);
                (void)frame_reader_feed(&r, b.at, b.n - 2, NULL);
                tap_ok(frame_reader_next(&r, &f, NULL) < 0 && r.broken, "the body number %zu is no JSON object of ours",
                        i + 1);
                frame_reader_clear(&r);
        }
}

static void test_sizes(void)
{
        pd_cleanup(freep) char *blob = calloc(1, FRAME_BLOB_MAX + 1), *text = malloc(FRAME_JSON_MAX + 1);
        js_owned *empty = json_object(), *large = json_object(), *largest = json_object(), *array = json_array();
        struct frame_reader r = { 0 };
        struct pd_error err = { 0 };
        struct frame f = { 0 };
        uint8_t *bytes = NULL;
        size_t n = 0;

        memset(text, 'x', FRAME_JSON_MAX);
        text[FRAME_JSON_MAX - 8] = '\0'; /* with {"a":""} exactly the bound */
        (void)json_object_set_new(largest, "a", json_string(text));
        tap_ok(frame_encode(FRAME_EVENT, 0, 0, largest, blob, FRAME_BLOB_MAX, &bytes, &n, &err) == 0 &&
                        n == FRAME_HEAD + FRAME_JSON_MAX + FRAME_BLOB_MAX,
                "a frame may be as long as its bounds");
        (void)frame_reader_feed(&r, bytes, n, NULL);
        tap_ok(frame_reader_next(&r, &f, &err) == 1 && f.blob_n == FRAME_BLOB_MAX && f.json_n == FRAME_JSON_MAX,
                "and is read back");
        frame_clear(&f);
        frame_reader_clear(&r);
        free(pd_steal(bytes));
        text[FRAME_JSON_MAX - 8] = 'x';
        text[FRAME_JSON_MAX - 7] = '\0';
        (void)json_object_set_new(large, "a", json_string(text));
        tap_ok(frame_encode(FRAME_EVENT, 0, 0, large, NULL, 0, &bytes, &n, &err) == -PD_E_FULL &&
                        strstr(err.text, "1048577") && !bytes,
                "a byte of JSON more is refused");
        tap_ok(frame_encode(FRAME_EVENT, 0, 0, empty, blob, FRAME_BLOB_MAX + 1, &bytes, &n, &err) == -PD_E_FULL &&
                        strstr(err.text, "in pieces"),
                "a raw byte more is refused");
        tap_ok(frame_encode(FRAME_EVENT, 0, 0, array, NULL, 0, &bytes, &n, &err) == -PD_E_INVALID,
                "a body that is no object is refused");
        tap_ok(frame_encode(FRAME_EVENT, 0, 0, NULL, NULL, 0, &bytes, &n, &err) == -PD_E_INVALID && !bytes,
                "and so is none");
}

static void test_reader_bound(void)
{
        pd_cleanup(freep) uint8_t *zeros = calloc(1, FRAME_READER_MAX);
        struct frame_reader r = { 0 };

        tap_int(frame_reader_feed(&r, zeros, FRAME_READER_MAX, NULL), 0, "a reader takes bytes up to its bound");
        tap_int(frame_reader_feed(&r, zeros, 1, NULL), -PD_E_FULL, "and not one more");
        frame_reader_clear(&r);
        tap_int(frame_reader_feed(&r, NULL, 0, NULL), 0, "no bytes are fine");
        frame_reader_clear(&r);
}

int main(void)
{
        test_layout();
        test_torn();
        test_heads();
        test_early();
        test_no_object();
        test_sizes();
        test_reader_bound();
        return tap_done();
}
