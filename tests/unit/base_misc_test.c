/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/vec.h"

#include "tap.h"

static const char *const names[] = { "provider", "plugin", "isolation", "currency", "cap", "socket", NULL };

static void test_nearest(void)
{
        static const struct {
                const char *word, *want;
        } rows[] = {
                { "provder", "provider" },
                { "porvider", "provider" },
                { "provider", "provider" },
                { "pulgin", "plugin" },
                { "plugn", "plugin" },
                { "currancy", "currency" },
                { "isolate", "isolation" },
                { "cop", "cap" },
                { "x", NULL },
                { "", NULL },
                { "something-else", NULL },
        };
        char longest[200];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char name[80];

                (void)str_format(
                        name, sizeof name, "nearest to \"%s\" is %s", rows[i].word, str_or(rows[i].want, "nothing"));
                tap_str(str_nearest(rows[i].word, names), rows[i].want, name);
        }
        memset(longest, 'p', sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        tap_str(str_nearest(longest, names), NULL, "a word too long to compare is near to nothing");
        tap_str(str_nearest("a", (const char *const[]){ NULL }), NULL, "without names nothing is near");
}

static void test_text(void)
{
        char buf[4] = "zzz";

        tap_ok(str_format(buf, sizeof buf, "%d", 123) && streq(buf, "123"), "what just fits is written");
        tap_ok(!str_format(buf, sizeof buf, "%d", 1234) && streq(buf, "123"), "what does not fit is cut and said");
        tap_ok(str_starts("job_x", "job_") && !str_starts("jo", "job_") && str_starts("x", ""), "prefixes");
}

static void test_close(void)
{
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        bool was = fd >= 0;

        errno = 7;
        fd = safe_close(fd);
        tap_ok(was && fd == -1 && errno == 7, "closing gives -1 and keeps errno");
        tap_ok(safe_close(-1) == -1 && errno == 7, "closing nothing does nothing");
}

static void test_vec(void)
{
        VEC(int) v = { 0 };
        bool good = true;
        int sum = 0;

        vec_foreach (i, &v)
                sum++;
        for (int i = 0; i < 1000; i++)
                good = good && vec_push(&v, i);
        vec_swap_remove(&v, 0);
        vec_foreach (i, &v)
                sum += *i;
        tap_ok(good && v.n == 999 && v.at[0] == 999 && sum == 499500, "a vector keeps what is pushed");
        vec_free(&v);
        tap_ok(!v.at && v.n == 0 && v.room == 0, "and is empty when freed");
}

int main(void)
{
        test_nearest();
        test_text();
        test_close();
        test_vec();
        return tap_done();
}
