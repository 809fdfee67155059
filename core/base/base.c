/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int safe_close(int fd)
{
        if (fd >= 0) {
                int saved = errno;

                (void)close(fd);
                errno = saved;
        }
        return -1;
}

void closep(const int *fd)
{
        (void)safe_close(*fd);
}

bool str_starts(const char *s, const char *prefix)
{
        return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_format(char *buf, size_t n, const char *fmt, ...)
{
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = vsnprintf(buf, n, fmt, ap);
        va_end(ap);
        return r >= 0 && (size_t)r < n;
}

#define NEAR_MAX 64 /* words longer than this are never near anything */

static size_t min3(size_t a, size_t b, size_t c)
{
        size_t m = a < b ? a : b;

        return m < c ? m : c;
}

/* Damerau-Levenshtein (adjacent swaps count one), on words below NEAR_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
        size_t la = strlen(a), lb = strlen(b);
        size_t row[3][NEAR_MAX + 1];

        if (la > NEAR_MAX || lb > NEAR_MAX)
                return SIZE_MAX;
        for (size_t j = 0; j <= lb; j++)
                row[0][j] = j;
        for (size_t i = 1; i <= la; i++) {
                size_t *now = row[i % 3], *before = row[(i - 1) % 3], *two = row[(i + 1) % 3];

                now[0] = i;
                for (size_t j = 1; j <= lb; j++) {
                        now[j] = min3(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < now[j])
                                now[j] = two[j - 2] + 1;
                }
        }
        return row[la % 3][lb];
}

const char *str_nearest(const char *word, const char *const *names)
{
        const char *best = NULL;
        size_t limit = strlen(word) / 3 + 1, best_distance = limit + 1;

        for (; *names; names++) {
                size_t d = edit_distance(word, *names);

                if (d < best_distance) {
                        best = *names;
                        best_distance = d;
                }
        }
        return best;
}
