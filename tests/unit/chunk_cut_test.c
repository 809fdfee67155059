/* SPDX-License-Identifier: Apache-2.0 */
/* Where chunks end: within bounds, by their contents, and after a change where they did before. */
#include "chunk_lib.h"

#define ALL ((size_t)32 << 20)
#define ENDS_MAX 1024

struct ends {
        size_t at[ENDS_MAX], n, longest, shortest;
};

static struct ends cut_all(const uint8_t *p, size_t n)
{
        struct ends e = { .shortest = SIZE_MAX };

        for (size_t at = 0; at < n && e.n < ENDS_MAX;) {
                size_t len = chunk_cut(p + at, n - at);

                at += len;
                e.at[e.n++] = at;
                e.longest = len > e.longest ? len : e.longest;
                if (at < n)
                        e.shortest = len < e.shortest ? len : e.shortest;
        }
        return e;
}

static uint64_t hash(const uint8_t *p, size_t n)
{
        uint64_t h = UINT64_C(14695981039346656037);

        for (size_t i = 0; i < n; i++)
                h = (h ^ p[i]) * UINT64_C(1099511628211);
        return h;
}

/* Of b's bytes, those in chunks that a has as well, in parts of a thousand. */
static int shared(const uint8_t *a, const struct ends *x, const uint8_t *b, const struct ends *y)
{
        static uint64_t have[ENDS_MAX];
        size_t same = 0;

        for (size_t i = 0; i < x->n; i++)
                have[i] = hash(a + (i ? x->at[i - 1] : 0), x->at[i] - (i ? x->at[i - 1] : 0));
        for (size_t i = 0; i < y->n; i++) {
                size_t from = i ? y->at[i - 1] : 0, len = y->at[i] - from;
                uint64_t h = hash(b + from, len);

                for (size_t k = 0; k < x->n; k++)
                        if (have[k] == h) {
                                same += len;
                                break;
                        }
        }
        return (int)(same * 1000 / y->at[y->n - 1]);
}

static void changed(uint8_t *a, uint8_t *b, const struct ends *x)
{
        struct ends y;
        size_t middle = ALL / 2 + 12345;

        memcpy(b, a, middle);
        fill(b + middle, 1000);
        memcpy(b + middle + 1000, a + middle, ALL - middle);
        y = cut_all(b, ALL + 1000);
        tap_ok(shared(a, x, b, &y) >= 900,
                "a thousand bytes put into the middle of 32 MiB: %d of 1000 parts are found again",
                shared(a, x, b, &y));
        memcpy(b, a + 777, ALL - 777);
        y = cut_all(b, ALL - 777);
        tap_ok(shared(a, x, b, &y) >= 850, "some bytes taken off the beginning: %d of 1000", shared(a, x, b, &y));
        memcpy(b, a, ALL);
        for (size_t i = 1; i <= 8; i++)
                b[i * ALL / 9] ^= 1;
        y = cut_all(b, ALL);
        tap_ok(shared(a, x, b, &y) >= 500, "eight bits turned, far from each other: %d of 1000", shared(a, x, b, &y));
}

int main(void)
{
        uint8_t *a = malloc(ALL), *b = malloc(ALL + 1000);
        struct ends x, y;

        if (!a || !b)
                return 1;
        state = 1;
        fill(a, ALL);
        x = cut_all(a, ALL);
        tap_ok(x.longest <= CHUNK_MAX && x.shortest >= CHUNK_MIN && x.at[x.n - 1] == ALL,
                "all of it is cut, in %zu chunks of %zu to %zu bytes", x.n, x.shortest, x.longest);
        tap_ok(ALL / x.n > CHUNK_MEAN / 2 && ALL / x.n < 2 * CHUNK_MEAN, "near the mean: %zu bytes", ALL / x.n);
        y = cut_all(a, ALL);
        tap_ok(memcmp(x.at, y.at, x.n * sizeof *x.at) == 0, "the same each time");
        tap_int((long long)chunk_cut(a, 0), 0, "nothing is no chunk");
        tap_int((long long)chunk_cut(a, CHUNK_MIN), (long long)CHUNK_MIN, "what is left and short is one");
        changed(a, b, &x);
        memset(a, 0, ALL);
        y = cut_all(a, ALL);
        tap_ok(y.longest <= CHUNK_MAX && y.n <= ALL / CHUNK_MIN, "zeros are cut as well: %zu chunks", y.n);
        free(a);
        free(b);
        return tap_done();
}
