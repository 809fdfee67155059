/* SPDX-License-Identifier: Apache-2.0 */
/* A log by the offset of its content: whatever the framing, reads at every offset give the bytes that the job wrote. */
#include <stdio.h>
#include <unistd.h>

#include "runner/logseek.h"
#include "tap.h"

#define STAMP "2026-11-30T20:36:24.000001000+00:00 stdout "
#define STAMP_US INT64_C(1796070984000001)

static int file_with(const char *text, size_t n)
{
        char path[] = "/tmp/portald-log-XXXXXX";
        int fd = mkstemp(path);

        (void)unlink(path);
        if (fd >= 0 && write(fd, text, n) != (ssize_t)n)
                return -1;
        return fd;
}

static const struct {
        const char *name, *framed, *plain;
} rows[] = {
        { "one line", STAMP "F hello\n", "hello\n" },
        { "an empty line", STAMP "F \n", "\n" },
        { "parts are joined", STAMP "P hel\n" STAMP "P lo\n" STAMP "F  you\n", "hello you\n" },
        { "a last line without its end", STAMP "F a\n" STAMP "P b\n", "a\nb" },
        { "a part goes on in the next generation", STAMP "P a\n" STAMP "F b\n" STAMP "F c\n", "ab\nc\n" },
        { "both streams in the order of arrival", STAMP "F a\n2026-11-30T20:36:24.000001000+00:00 stderr F b\n",
                "a\nb\n" },
        { "words like tags are content", STAMP "F F P F x\n", "F P F x\n" },
        { "a record that is not whole yet is not there yet", STAMP "F a\n" STAMP "F b", "a\n" },
        { "a line of another make is content itself", "no record\n" STAMP "F a\n", "no record\na\n" },
        { "nothing", "", "" },
};

static bool reads_alike(const struct logindex *x, int fd, const char *want, size_t n)
{
        for (size_t at = 0; at <= n; at++)
                for (size_t max = 1; max <= n + 1; max++) {
                        js_owned *times = json_array();
                        pd_cleanup(freep) char *got = NULL;
                        size_t k = 0, expect = n - at < max ? n - at : max;
                        struct pd_error err;

                        if (at == n)
                                continue;
                        if (logindex_read(x, fd, (int64_t)at, max, &got, &k, times, &err) < 0 || k != expect ||
                                memcmp(got, want + at, k) != 0) {
                                tap_note("at %zu, max %zu: %zu bytes \"%.*s\"", at, max, k, (int)k, got ? got : "");
                                return false;
                        }
                }
        return true;
}

static void test_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct logindex x = { 0 };
                int fd = file_with(rows[i].framed, strlen(rows[i].framed));
                struct pd_error err;
                bool more;

                logindex_clear(&x);
                tap_ok(logindex_scan(&x, fd, 1 << 20, &more, &err) == 0 &&
                                x.content == (int64_t)strlen(rows[i].plain) &&
                                reads_alike(&x, fd, rows[i].plain, strlen(rows[i].plain)),
                        "%s", rows[i].name);
                logindex_clear(&x);
                (void)close(fd);
        }
}

static void test_growing(void)
{
        static const char framed[] = STAMP "F one\n" STAMP "P two\n" STAMP "F three\n";
        struct logindex x = { 0 };
        int fd = file_with("", 0);
        struct pd_error err;
        bool more, good = true;

        logindex_clear(&x);
        for (size_t i = 0; i < sizeof framed - 1; i++) {
                good &= write(fd, framed + i, 1) == 1;
                good &= logindex_scan(&x, fd, 1 << 20, &more, &err) == 0;
        }
        tap_ok(good && reads_alike(&x, fd, "one\ntwothree\n", 13), "scanned after each byte it is the same");
        logindex_clear(&x);
        (void)close(fd);
}

static void test_times(void)
{
        static const char framed[] = STAMP "F one\n" STAMP "P tw\n" STAMP "F o\n" STAMP "F three\n";
        struct logindex x = { 0 };
        js_owned *times = json_array();
        js_owned *want = json_pack("[[I,I],[I,I]]", (json_int_t)4, STAMP_US, (json_int_t)8, STAMP_US);
        pd_cleanup(freep) char *got = NULL;
        int fd = file_with(framed, sizeof framed - 1);
        struct pd_error err;
        size_t n;
        bool more;

        logindex_clear(&x);
        (void)logindex_scan(&x, fd, 1 << 20, &more, &err);
        tap_ok(logindex_read(&x, fd, 1, 100, &got, &n, times, &err) == 0 && json_equal(times, want),
                "the lines that begin inside have their times, in UTC");
        logindex_clear(&x);
        (void)close(fd);
}

/* Long enough for several marks; each read then starts at the nearest one. */
static void test_marks(void)
{
        pd_cleanup(freep) char *framed = malloc(8 << 20);
        pd_cleanup(freep) char *plain = malloc(8 << 20);
        size_t f = 0, p = 0;
        struct logindex x = { 0 };
        struct pd_error err;
        bool more = true, good = true;
        int fd;

        for (int i = 0; i < 40000; i++) {
                f += (size_t)sprintf(framed + f, STAMP "F line %d\n", i);
                p += (size_t)sprintf(plain + p, "line %d\n", i);
        }
        fd = file_with(framed, f);
        logindex_clear(&x);
        for (int turns = 0; more && turns < 1000; turns++)
                good &= logindex_scan(&x, fd, 65536, &more, &err) == 0;
        tap_ok(good && !more && x.content == (int64_t)p, "a long log is scanned in turns");
        tap_ok(x.marks.n >= 5, "with a mark each %lld bytes", (long long)LOGINDEX_STEP);
        for (size_t at = 0; at < p; at += 9973) {
                js_owned *times = json_array();
                pd_cleanup(freep) char *got = NULL;
                size_t n = 0;

                good &= logindex_read(&x, fd, (int64_t)at, 50, &got, &n, times, &err) == 0 &&
                        memcmp(got, plain + at, n) == 0;
        }
        tap_ok(good, "and read anywhere");
        logindex_clear(&x);
        (void)close(fd);
}

static const struct {
        const char *name;
        int64_t lines, want; /* an offset in "one\ntwo\nthree" */
} tails[] = {
        { "no line at all", 0, 13 },
        { "the last line, which has no end yet", 1, 8 },
        { "two lines", 2, 4 },
        { "as many as there are", 3, 0 },
        { "more than there are", 4, 0 },
};

static void test_tail(void)
{
        static const char framed[] = STAMP "F one\n" STAMP "F two\n" STAMP "P thr\n" STAMP "P ee\n";
        struct logindex x = { 0 };
        int fd = file_with(framed, sizeof framed - 1);
        struct pd_error err;
        int64_t at;
        bool more;

        logindex_clear(&x);
        (void)logindex_scan(&x, fd, 1 << 20, &more, &err);
        for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
                at = -1;
                tap_ok(logseek_tail(&x, fd, tails[i].lines, &at, &err) == 0 && at == tails[i].want,
                        "the tail begins right: %s", tails[i].name);
        }
        logindex_clear(&x);
        (void)close(fd);
}

/* Line i of a long log was written at second i. */
static void test_seek_far(void)
{
        pd_cleanup(freep) char *framed = malloc(8 << 20);
        struct logindex x = { 0 };
        struct pd_error err;
        int64_t offsets[40001] = { 0 }, at;
        size_t f = 0;
        bool more = true, good = true;
        int fd;

        for (int i = 0; i < 40000; i++) {
                int n = sprintf(framed + f, "2026-11-30T%02d:%02d:%02d.000000000+00:00 stdout F line %d\n", i / 3600,
                        i / 60 % 60, i % 60, i);

                f += (size_t)n;
                offsets[i + 1] = offsets[i] + n - (int)sizeof STAMP - 1;
        }
        fd = file_with(framed, f);
        logindex_clear(&x);
        for (int turns = 0; more && turns < 1000; turns++)
                good &= logindex_scan(&x, fd, 1 << 20, &more, &err) == 0;
        good &= x.content == offsets[40000];
        tap_ok(good, "a long log with a line each second");
        for (int64_t i = 0; good && i <= 40000; i += 777)
                good &= logseek_tail(&x, fd, i, &at, &err) == 0 && at == offsets[40000 - i];
        tap_ok(good, "its tail begins right, however long");
        for (int64_t i = 0; good && i < 40000; i += 777)
                good &= logseek_since(&x, fd,
                                STAMP_US - 1 - (20 * 3600 + 36 * 60 + 24) * USEC_PER_SEC + i * USEC_PER_SEC, &at,
                                &err) == 0 &&
                        at == offsets[i];
        tap_ok(good, "since a time: the first line of that second");
        tap_ok(logseek_since(&x, fd, STAMP_US + USEC_PER_DAY, &at, &err) == 0 && at == x.content,
                "since a time to come: its end");
        logindex_clear(&x);
        (void)close(fd);
}

int main(void)
{
        test_tail();
        test_seek_far();
        test_rows();
        test_growing();
        test_times();
        test_marks();
        return tap_done();
}
