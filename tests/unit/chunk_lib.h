/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and keys of the chunk tests, by a seed. */
#ifndef CHUNK_LIB_H
#define CHUNK_LIB_H

#include "chunk/chunk.h"
#include "tap.h"

static uint64_t state;

/* splitmix64 */
__attribute__((unused)) static uint64_t dice(void)
{
        uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

__attribute__((unused)) static void fill(void *to, size_t n)
{
        for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
                uint64_t v = dice();

                memcpy((uint8_t *)to + i, &v, n - i < sizeof v ? n - i : sizeof v);
        }
}

__attribute__((unused)) static struct chunk_keys keys_of(uint64_t seed)
{
        struct chunk_keys keys;
        uint8_t key[CHUNK_KEY];
        struct pd_error err;
        uint64_t was = state;

        state = seed;
        fill(key, sizeof key);
        state = was;
        if (chunk_keys_of(key, &keys, &err) < 0)
                tap_note("%s", err.text);
        return keys;
}

#endif
