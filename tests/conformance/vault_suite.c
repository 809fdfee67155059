/* SPDX-License-Identifier: Apache-2.0 */
/* Any vault: whole or absent, durable, in order, and by no name that leads elsewhere. */
#include <fcntl.h>
#include <sys/mman.h>

#include <portald/vault.h>

#include "suite.h"

static int content_fd(const void *bytes, size_t n)
{
        int fd = memfd_create("content", MFD_CLOEXEC);

        for (size_t at = 0; fd >= 0 && at < n;) {
                ssize_t w = write(fd, (const char *)bytes + at, n - at);

                if (w <= 0)
                        break;
                at += (size_t)w;
        }
        return fd;
}

static int put_fd(const struct suite *s, struct reply *r, const char *name, int fd, size_t claimed)
{
        return ask_wait(s->loop, s->h, r, "put", json_pack("{s:s,s:I}", "name", name, "bytes", (json_int_t)claimed),
                &fd, 1, NULL);
}

static int put(const struct suite *s, struct reply *r, const char *name, const void *bytes, size_t n)
{
        pd_cleanup(closep) int fd = content_fd(bytes, n);

        return put_fd(s, r, name, fd, n);
}

/* The object's bytes; *ret is to be freed. */
static int get(const struct suite *s, struct reply *r, const char *name, char **ret, size_t *ret_n)
{
        pd_cleanup(closep) int fd = memfd_create("got", MFD_CLOEXEC);
        int rc = ask_wait(s->loop, s->h, r, "get", json_pack("{s:s}", "name", name), &fd, 1, NULL);
        off_t n = lseek(fd, 0, SEEK_END);

        *ret_n = n > 0 ? (size_t)n : 0;
        *ret = calloc(1, *ret_n + 1);
        if (*ret && pread(fd, *ret, *ret_n, 0) != (ssize_t)*ret_n)
                *ret_n = 0;
        return rc;
}

static bool holds(const struct suite *s, const char *name, const void *want, size_t n)
{
        pd_cleanup(freep) char *got = NULL;
        struct reply r = { 0 };
        size_t got_n;
        int rc = get(s, &r, name, &got, &got_n);
        bool same = rc == 0 && got && got_n == n && memcmp(got, want, n) == 0;

        if (!same)
                tap_note("%.80s: %zu bytes, code %d: %s", name, got_n, rc, r.err.text);
        reply_clear(&r);
        return same;
}

/* The names below a prefix, with commas between. */
static const char *names(const struct suite *s, const char *prefix, char *to, size_t n)
{
        struct reply r = { 0 };
        size_t at = 0;

        to[0] = '\0';
        (void)suite_call(s, &r, "list", json_pack("{s:s}", "prefix", prefix), NULL);
        for (size_t i = 0; i < json_array_size(r.items) && at < n; i++)
                at += (size_t)snprintf(
                        to + at, n - at, "%s%s", i ? "," : "", js_str(json_array_get(r.items, i), "name", "?"));
        if (r.rc < 0)
                (void)snprintf(to, n, "error %d: %s", r.rc, r.err.text);
        reply_clear(&r);
        return to;
}

static void test_put_get(struct suite *s)
{
        static char large[3 << 20];
        struct reply r = { 0 };
        pd_cleanup(freep) char *none = NULL;
        size_t n;

        for (size_t i = 0; i < sizeof large; i++)
                large[i] = (char)(i * 2654435761u >> 13);
        (void)put(s, &r, "one", "first", 5);
        suite_is(s, &r, PD_OK, "put() of 5 bytes");
        tap_ok(holds(s, "one", "first", 5), "%s: get() gives them back", s->how);
        (void)put(s, &r, "empty", "", 0);
        tap_ok(r.rc == 0 && holds(s, "empty", "", 0), "%s: an object of 0 bytes", s->how);
        (void)put(s, &r, "dir/large.bin", large, sizeof large);
        tap_ok(r.rc == 0 && holds(s, "dir/large.bin", large, sizeof large), "%s: 3 MiB come back bit for bit", s->how);
        (void)put(s, &r, "one", "second one", 10);
        tap_ok(r.rc == 0 && holds(s, "one", "second one", 10), "%s: put() of the same name replaces", s->how);
        (void)put(s, &r, "one", "second one", 10);
        suite_is(s, &r, PD_OK, "the same put() twice");
        (void)put(s, &r, "one", "sh", 2);
        tap_ok(r.rc == 0 && holds(s, "one", "sh", 2), "%s: a shorter one leaves nothing of the longer one", s->how);
        (void)get(s, &r, "nothing", &none, &n);
        tap_ok(r.rc == -PD_E_NOT_FOUND && n == 0, "%s: get() of what is not there is NOT_FOUND and writes nothing",
                s->how);
        reply_clear(&r);
}

static void test_length(struct suite *s)
{
        pd_cleanup(closep) int fd = content_fd("0123456789", 10);
        struct reply r = { 0 };

        (void)lseek(fd, 7, SEEK_SET);
        (void)put_fd(s, &r, "from-start", fd, 10);
        tap_ok(r.rc == 0 && holds(s, "from-start", "0123456789", 10),
                "%s: the file is stored from its start, wherever it stood", s->how);
        (void)put_fd(s, &r, "from-start", fd, 11);
        suite_is(s, &r, PD_E_INVALID, "a file shorter than `bytes`");
        (void)put_fd(s, &r, "from-start", fd, 9);
        suite_is(s, &r, PD_E_INVALID, "a file longer than `bytes`");
        tap_ok(holds(s, "from-start", "0123456789", 10), "%s: ... and what was there before is still whole", s->how);
        (void)put_fd(s, &r, "never", fd, 99);
        (void)suite_call(s, &r, "stat", json_pack("{s:s}", "name", "never"), NULL);
        suite_is(s, &r, PD_E_NOT_FOUND, "a put() that failed left no object");
        reply_clear(&r);
}

static void test_stat_list(struct suite *s)
{
        static const char *const all[] = { "l/b", "l/a.b", "l/a/c", "l/ab", "l/a-b", "l/Z", "l/a/b/c/d/e" };
        struct reply r = { 0 };
        char got[4096];

        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                if (put(s, &r, all[i], all[i], strlen(all[i])) < 0)
                        tap_note("%s: %s", all[i], r.err.text);
        tap_str(names(s, "l/", got, sizeof got), "l/Z,l/a-b,l/a.b,l/a/b/c/d/e,l/a/c,l/ab,l/b",
                "list() is whole, and in byte order of the whole names");
        tap_str(names(s, "l/a", got, sizeof got), "l/a-b,l/a.b,l/a/b/c/d/e,l/a/c,l/ab",
                "a prefix may end inside a part");
        tap_str(names(s, "l/a/", got, sizeof got), "l/a/b/c/d/e,l/a/c", "... or at one's end");
        tap_str(names(s, "no/such", got, sizeof got), "", "a prefix of nothing lists nothing");
        tap_ok(strstr(names(s, "", got, sizeof got), "dir/large.bin") != NULL, "%s: the empty prefix lists everything",
                s->how);
        (void)suite_call(s, &r, "stat", json_pack("{s:s}", "name", "l/a/c"), NULL);
        tap_ok(r.rc == 0 && js_int(json_array_get(r.items, 0), "bytes", -1) == 5 &&
                        js_int(json_array_get(r.items, 0), "modified_wall_us", 0) > 0,
                "%s: stat() gives size and time", s->how);
        (void)suite_call(s, &r, "stat", json_pack("{s:s}", "name", "l"), NULL);
        suite_is(s, &r, PD_E_NOT_FOUND, "a part of names is no object");
        reply_clear(&r);
}

static void test_many(struct suite *s)
{
        struct reply r = { 0 };
        char name[64];
        int good = 0;

        for (int i = 0; i < 300; i++) {
                (void)snprintf(name, sizeof name, "many/%02x/%d", i * 7 % 256, i);
                good += put(s, &r, name, &i, sizeof i) == 0;
        }
        (void)suite_call(s, &r, "list", json_pack("{s:s}", "prefix", "many/"), NULL);
        tap_ok(good == 300 && json_array_size(r.items) == 300, "%s: 300 objects are stored and listed", s->how);
        reply_clear(&r);
}

static void test_remove(struct suite *s)
{
        struct reply r = { 0 };
        char got[4096];

        (void)suite_call(s, &r, "remove", json_pack("{s:s}", "name", "l/a/c"), NULL);
        suite_is(s, &r, PD_OK, "remove()");
        tap_str(names(s, "l/a", got, sizeof got), "l/a-b,l/a.b,l/a/b/c/d/e,l/ab", "only that one is gone");
        (void)suite_call(s, &r, "remove", json_pack("{s:s}", "name", "l/a/c"), NULL);
        suite_is(s, &r, PD_OK, "gone already is 0");
        (void)suite_call(s, &r, "remove", json_pack("{s:s}", "name", "never/there"), NULL);
        suite_is(s, &r, PD_OK, "never there is 0");
        (void)suite_call(s, &r, "remove", json_pack("{s:s}", "name", "l/a/b/c/d/e"), NULL);
        (void)put(s, &r, "l/a/b", "x", 1);
        tap_ok(r.rc == 0 && holds(s, "l/a/b", "x", 1), "%s: a name can be used where a longer one was removed", s->how);
        reply_clear(&r);
}

/* "a" and "a/b": on a file system one of them would be a folder. */
static void test_continued(struct suite *s)
{
        struct reply r = { 0 };
        bool both;

        (void)put(s, &r, "c/x", "short", 5);
        (void)put(s, &r, "c/x/y", "long", 4);
        both = r.rc == 0;
        tap_ok(both ? holds(s, "c/x/y", "long", 4) : r.rc == -PD_E_INVALID,
                "%s: a name that goes on where another ends is kept, or refused as INVALID", s->how);
        tap_ok(holds(s, "c/x", "short", 5), "%s: ... and the other one is as it was", s->how);
        (void)put(s, &r, "d/x/y", "long", 4);
        (void)put(s, &r, "d/x", "short", 5);
        tap_ok((r.rc == 0 ? holds(s, "d/x", "short", 5) : r.rc == -PD_E_INVALID) && holds(s, "d/x/y", "long", 4),
                "%s: the same the other way round", s->how);
        (void)suite_call(s, &r, "stat", json_pack("{s:s}", "name", "c/x/never"), NULL);
        suite_is(s, &r, PD_E_NOT_FOUND, "stat() below an object is NOT_FOUND");
        (void)suite_call(s, &r, "remove", json_pack("{s:s}", "name", "c/x/never"), NULL);
        suite_is(s, &r, PD_OK, "remove() below an object is 0: it is not there");
        reply_clear(&r);
}

static void test_names(struct suite *s)
{
        static char long_name[520], too_long[520];
        const char *const bad[] = { "", "/abs", "a//b", "a/", "..", "../up", "a/../b", ".", "./a", "a/.", "a/..", "a b",
                "a\nb", "a\\b", "\xc3\xa9", too_long };
        struct reply r = { 0 };
        const char *slots[] = { "put", "get", "stat", "remove" };
        int refused = 0, asked = 0;

        memset(too_long, 'n', 513);
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                for (size_t k = 0; k < ARRAY_LEN(slots); k++) {
                        pd_cleanup(closep) int fd = content_fd("x", 1);
                        json_t *args = k ? json_pack("{s:s}", "name", bad[i])
                                         : json_pack("{s:s,s:i}", "name", bad[i], "bytes", 1);

                        (void)ask_wait(s->loop, s->h, &r, slots[k], args, &fd, k < 2, NULL);
                        asked++;
                        refused += r.rc == -PD_E_INVALID;
                        if (r.rc != -PD_E_INVALID)
                                tap_note("%s of \"%.40s\": code %d: %s", slots[k], bad[i], r.rc, r.err.text);
                }
        tap_int(refused, asked, "16 bad names are refused by put, get, stat and remove");
        memset(long_name, 'n', 512);
        for (size_t i = 100; i < 512; i += 100)
                long_name[i] = '/';
        (void)put(s, &r, long_name, "long", 4);
        tap_ok(r.rc == 0 && holds(s, long_name, "long", 4), "%s: a name of 512 bytes is fine", s->how);
        memset(long_name, 'n', 512);
        (void)put(s, &r, long_name, "long", 4);
        tap_ok(r.rc == 0 ? holds(s, long_name, "long", 4) : r.rc == -PD_E_INVALID,
                "%s: ... and all in one part too, or refused as INVALID", s->how);
        (void)put(s, &r, "...", "dots", 4);
        tap_ok(r.rc == 0 ? holds(s, "...", "dots", 4) : r.rc == -PD_E_INVALID,
                "%s: three dots are a name, or refused as dot-only", s->how);
        (void)put(s, &r, ".hidden/..x", "h", 1);
        tap_ok(r.rc == 0 && holds(s, ".hidden/..x", "h", 1), "%s: a dot in front is a name", s->how);
        reply_clear(&r);
}

static void test_second(struct suite *s)
{
        struct suite other = *s;
        struct reply r = { 0 };
        struct pd_error err = { 0 };

        other.h = NULL;
        tap_ok(suite_open_with(s, s->config, &other.h, &err) == 0, "%s: opens twice: %s", s->how, err.text);
        if (other.h) {
                (void)put(&other, &r, "shared", "from the other", 14);
                tap_ok(holds(s, "shared", "from the other", 14), "%s: two instances see one store", s->how);
        }
        host_free(other.h);
        if (suite_reopen(s))
                tap_ok(holds(s, "shared", "from the other", 14), "%s: it is there after both were closed", s->how);
        reply_clear(&r);
}

static void run(struct suite *s)
{
        struct reply r = { 0 };
        char got[4096];

        (void)suite_call(s, &r, "probe", NULL, NULL);
        suite_is(s, &r, PD_OK, "probe()");
        tap_str(names(s, "", got, sizeof got), "", "probe() leaves nothing behind");
        test_put_get(s);
        test_length(s);
        test_stat_list(s);
        test_many(s);
        test_remove(s);
        test_continued(s);
        test_names(s);
        test_second(s);
        reply_clear(&r);
}

int main(int argc, char **argv)
{
        return suite_main(argc, argv, PD_KIND_VAULT, run);
}
