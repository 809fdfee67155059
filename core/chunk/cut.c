/* SPDX-License-Identifier: Apache-2.0 */
/* A rolling hash over the last 64 bytes (gear) decides where a chunk ends: by what stands there, not by where it stands. It is harder to end one that is
 * shorter than the mean and easier to end a longer one, so that most are near it. */
#include "chunk/chunk.h"

#define BITS 20 /* of CHUNK_MEAN */
#define HARD (((UINT64_C(1) << (BITS + 2)) - 1) << (64 - BITS - 2))
#define EASY (((UINT64_C(1) << (BITS - 2)) - 1) << (64 - BITS + 2))

/* What a byte does to the hash: 64 bits by splitmix64 from its value. It is part of no format: another table only shares less with older saves. */
static uint64_t gear(uint8_t byte)
{
        uint64_t z = (byte + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

struct gears {
        uint64_t of[256];
};

static struct gears gears_of(void)
{
        struct gears g;

        for (size_t i = 0; i < ARRAY_LEN(g.of); i++)
                g.of[i] = gear((uint8_t)i);
        return g;
}

/* The first end in [from, until), or until. */
static size_t end_within(
        const struct gears *g, const uint8_t *p, size_t from, size_t until, uint64_t mask, uint64_t *hash)
{
        for (size_t i = from; i < until; i++) {
                *hash = (*hash << 1) + g->of[p[i]];
                if ((*hash & mask) == 0)
                        return i + 1;
        }
        return until;
}

size_t chunk_cut(const void *bytes, size_t n)
{
        const struct gears g = gears_of();
        size_t most = n < CHUNK_MAX ? n : CHUNK_MAX, mean = most < CHUNK_MEAN ? most : CHUNK_MEAN, end;
        const uint8_t *p = bytes;
        uint64_t hash = 0;

        if (n <= CHUNK_MIN)
                return n;
        (void)end_within(&g, p, CHUNK_MIN - 64, CHUNK_MIN, ~UINT64_C(0), &hash); /* what stands before counts as well */
        end = end_within(&g, p, CHUNK_MIN, mean, HARD, &hash);
        return end < mean ? end : end_within(&g, p, mean, most, EASY, &hash);
}
