/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/logseek.h"

static int64_t segment_end(const struct logindex *x, size_t i)
{
        return i + 1 < x->marks.n ? x->marks.at[i + 1].content : x->content;
}

/* From mark i to the next; *ret is to be freed. */
static int read_segment(
        const struct logindex *x, int fd, size_t i, char **ret, size_t *ret_n, json_t *times, struct pd_error *err)
{
        int64_t begin = x->marks.at[i].content;

        return logindex_read(x, fd, begin, (size_t)(segment_end(x, i) - begin), ret, ret_n, times, err);
}

int logseek_tail(const struct logindex *x, int fd, int64_t lines, int64_t *ret, struct pd_error *err)
{
        int64_t found = 0, at = x->content;

        if (lines == 0) {
                *ret = x->content;
                return 0;
        }
        for (size_t i = x->marks.n; i-- > 0 && x->content - at < LOGSEEK_BYTES;) {
                pd_cleanup(freep) char *bytes = NULL;
                js_owned *times = json_array();
                int64_t begin = x->marks.at[i].content;
                size_t n = 0;
                int r = read_segment(x, fd, i, &bytes, &n, times, err);

                if (r < 0)
                        return r;
                for (size_t k = n; k-- > 0;) {
                        if (bytes[k] != '\n' || begin + (int64_t)k + 1 == x->content)
                                continue; /* the newline that ends the last line begins none */
                        at = begin + (int64_t)k + 1;
                        if (++found == lines) {
                                *ret = at;
                                return 0;
                        }
                }
                if (i == 0)
                        at = 0;
        }
        *ret = at;
        return 0;
}

/* The first line that begins in segment i and is not older: its offset; -1 = none there. */
static int first_since(const struct logindex *x, int fd, size_t i, int64_t wall_us, int64_t *ret, struct pd_error *err)
{
        pd_cleanup(freep) char *bytes = NULL;
        js_owned *times = json_array();
        size_t n = 0, k;
        json_t *pair;
        int r = read_segment(x, fd, i, &bytes, &n, times, err);

        if (r < 0)
                return r;
        *ret = -1;
        json_array_foreach (times, k, pair)
                if (json_integer_value(json_array_get(pair, 1)) >= wall_us) {
                        *ret = json_integer_value(json_array_get(pair, 0));
                        return 0;
                }
        return 0;
}

/* Lines come in the order of their times: the first segment that has one is found by halving. */
int logseek_since(const struct logindex *x, int fd, int64_t wall_us, int64_t *ret, struct pd_error *err)
{
        size_t lo = 0, hi = x->marks.n;
        int64_t best = x->content;

        while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                int64_t at;
                int r = first_since(x, fd, mid, wall_us, &at, err);

                if (r < 0)
                        return r;
                if (at >= 0) {
                        best = at;
                        hi = mid;
                } else {
                        lo = mid + 1;
                }
        }
        *ret = best;
        return 0;
}
