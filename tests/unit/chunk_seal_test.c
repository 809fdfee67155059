/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed and opened; and whatever is done to a sealed chunk, it is refused: never another byte than was sealed. */
#include "chunk_lib.h"

#define MOST 5000
#define DAMAGES 10000

static struct sealed {
        struct chunk_id id;
        uint8_t plain[MOST], b[MOST + CHUNK_OVER];
        size_t n, sealed_n;
} chunks[16];

static bool seal(struct sealed *s, const struct chunk_keys *keys)
{
        uint8_t salt[CHUNK_KEY];
        struct pd_error err;

        fill(salt, sizeof salt);
        if (chunk_id_of(keys, s->plain, s->n, &s->id, &err) < 0 ||
                chunk_seal(keys, &s->id, s->plain, s->n, salt, s->b, sizeof s->b, &s->sealed_n, &err) < 0) {
                tap_note("%s", err.text);
                return false;
        }
        return true;
}

static bool opens(const struct sealed *s, const struct chunk_keys *keys)
{
        uint8_t plain[MOST] = { 0 };
        struct pd_error err;

        return chunk_open(keys, &s->id, s->b, s->sealed_n, plain, s->n, &err) == 0 &&
               memcmp(plain, s->plain, s->n) == 0;
}

static void round_trips(const struct chunk_keys *keys)
{
        bool good = true, opened = true, small = true;

        for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
                struct sealed *s = &chunks[i];

                s->n = i < 3 ? i : (size_t)(dice() % MOST);
                if (i % 2)
                        memset(s->plain, (int)i, s->n);
                else
                        fill(s->plain, s->n);
                good = good && seal(s, keys);
                opened = opened && opens(s, keys);
                small = small && s->sealed_n <= s->n + CHUNK_OVER &&
                        (i % 2 == 0 || s->n < 200 || s->sealed_n < s->n / 2);
        }
        tap_ok(good && opened, "what is sealed is opened, from 0 bytes on");
        tap_ok(small, "it is packed where that helps, and never much longer");
}

/* One damage; false = there is none in it. */
static bool damage(struct sealed *s)
{
        const struct sealed *other = &chunks[dice() % ARRAY_LEN(chunks)];
        size_t at = dice() % s->sealed_n, n = dice() % s->sealed_n;

        switch (dice() % 6) {
        case 0:
                s->b[at] ^= (uint8_t)(1U << dice() % 8);
                return true;
        case 1:
                s->sealed_n = n;
                return true;
        case 2:
                memset(s->b + at, 0, s->sealed_n - at);
                return true;
        case 3: /* another chunk in its place */
                memcpy(s->b, other->b, other->sealed_n);
                s->sealed_n = other->sealed_n;
                return memcmp(&s->id, &other->id, sizeof s->id) != 0;
        case 4: /* asked for as another */
                s->id = other->id;
                return s->n != other->n || memcmp(s->plain, other->plain, s->n) != 0;
        default: /* believed to be of another length */
                s->n = n;
                return n != 0;
        }
}

static void damaged(const struct chunk_keys *keys)
{
        static struct sealed s;
        static uint8_t plain[2 * MOST];
        int accepted = 0, other = 0, n = 0;
        struct pd_error err;

        while (n < DAMAGES) {
                const struct sealed *was = &chunks[dice() % ARRAY_LEN(chunks)];
                int r;

                s = *was;
                if (!damage(&s) ||
                        (s.n == was->n && s.sealed_n == was->sealed_n && memcmp(s.b, was->b, s.sealed_n) == 0 &&
                                memcmp(&s.id, &was->id, sizeof s.id) == 0))
                        continue;
                n++;
                r = chunk_open(keys, &s.id, s.b, s.sealed_n, plain, s.n, &err);
                accepted += r == 0;
                other += r != 0 && r != -PD_E_CORRUPT;
        }
        tap_int(accepted, 0, "law 13 of 10,000 damages none is opened");
        tap_int(other, 0, "and each is said to be one");
}

int main(void)
{
        const struct chunk_keys keys = keys_of(1), others = keys_of(2);
        struct sealed twice;
        struct chunk_id a, b;
        struct pd_error err;

        state = 7;
        round_trips(&keys);
        twice = chunks[5];
        (void)seal(&twice, &keys);
        tap_ok(memcmp(&twice.id, &chunks[5].id, sizeof twice.id) == 0 &&
                        memcmp(twice.b, chunks[5].b, twice.sealed_n) != 0,
                "the same bytes have one id, and are sealed anew each time");
        (void)chunk_id_of(&keys, "x", 1, &a, &err);
        (void)chunk_id_of(&others, "x", 1, &b, &err);
        tap_ok(memcmp(&a, &b, sizeof a) != 0, "law 19 another job's id of them is another: nobody can guess by it");
        tap_ok(!opens(&chunks[5], &others), "law 19 and another job's key opens nothing");
        damaged(&keys);
        tap_ok(chunk_seal(&keys, &a, chunks[0].plain, 100, chunks[0].plain, twice.b, 100, &twice.sealed_n, &err) ==
                        -PD_E_INVALID,
                "without room nothing is written: %s", err.text);
        return tap_done();
}
