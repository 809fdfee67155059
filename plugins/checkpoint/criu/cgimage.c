/* SPDX-License-Identifier: Apache-2.0 */
#include "cgimage.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 8
#define IMAGE_MAX ((size_t)1 << 20)

enum wire { VARINT = 0, BYTES = 2 };

struct in {
        const uint8_t *at, *end;
};
struct out {
        uint8_t *at;
        size_t n, room;
        bool bad;
};
struct field {
        uint32_t number;
        enum wire wire;
        uint64_t value;
        struct in bytes, raw; /* raw: as it stood */
};

static bool varint(struct in *in, uint64_t *ret)
{
        uint64_t v = 0;

        for (unsigned int shift = 0; shift < 64 && in->at < in->end; shift += 7) {
                uint8_t b = *in->at++;

                v |= (uint64_t)(b & 0x7f) << shift;
                if (!(b & 0x80)) {
                        *ret = v;
                        return true;
                }
        }
        return false;
}

/* criu's messages here have numbers and byte strings only. */
static bool next(struct in *in, struct field *f)
{
        uint64_t key, n;

        f->raw.at = in->at;
        if (!varint(in, &key) || (key & 7) > BYTES || (key & 7) == 1)
                return false;
        f->number = (uint32_t)(key >> 3);
        f->wire = (enum wire)(key & 7);
        if (f->wire == VARINT) {
                if (!varint(in, &f->value))
                        return false;
        } else {
                if (!varint(in, &n) || n > (size_t)(in->end - in->at))
                        return false;
                f->bytes = (struct in){ in->at, in->at + n };
                in->at += n;
        }
        f->raw.end = in->at;
        return true;
}

static void put(struct out *o, const void *bytes, size_t n)
{
        if (o->bad || n > o->room - o->n) {
                o->bad = true;
                return;
        }
        if (n > 0)
                memcpy(o->at + o->n, bytes, n);
        o->n += n;
}

static void put_varint(struct out *o, uint64_t v)
{
        do {
                uint8_t b = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

                put(o, &b, 1);
                v >>= 7;
        } while (v);
}

static void put_bytes(struct out *o, uint32_t number, const void *bytes, size_t n)
{
        put_varint(o, (uint64_t)number << 3 | BYTES);
        put_varint(o, n);
        put(o, bytes, n);
}

static void put_raw(struct out *o, const struct field *f)
{
        put(o, f->raw.at, (size_t)(f->raw.end - f->raw.at));
}

static bool out_open(struct out *o, size_t room)
{
        *o = (struct out){ .at = malloc(room), .room = room };
        return o->at != NULL;
}

/* Of the unified tree, which has no name: the job's group, then what of the old path lies below the container's own. */
static bool member(struct in in, const char *group, struct out *o)
{
        struct in path = { 0 };
        uint64_t prefix = 0;
        bool unified = true;
        struct field f;

        while (in.at < in.end) {
                if (!next(&in, &f))
                        return false;
                if (f.number == 1 && f.wire == BYTES && f.bytes.at < f.bytes.end)
                        unified = false;
                if (f.number == 2 && f.wire == BYTES)
                        path = f.bytes;
                else if (f.number == 3 && f.wire == VARINT)
                        prefix = f.value;
                else
                        put_raw(o, &f);
        }
        if (!unified) {
                put_bytes(o, 2, path.at, (size_t)(path.end - path.at));
                if (prefix) {
                        put_varint(o, 3 << 3 | VARINT);
                        put_varint(o, prefix);
                }
                return true;
        }
        if (!prefix || prefix > (size_t)(path.end - path.at))
                prefix = (size_t)(path.end - path.at);
        put_varint(o, 2 << 3 | BYTES);
        put_varint(o, strlen(group) + (size_t)(path.end - path.at) - prefix);
        put(o, group, strlen(group));
        if (path.at)
                put(o, path.at + prefix, (size_t)(path.end - path.at) - prefix);
        put_varint(o, 3 << 3 | VARINT);
        put_varint(o, strlen(group));
        return true;
}

/* Copies a message; the field `number` goes through fn first. */
static bool each(struct in in, uint32_t number, const char *group, struct out *o,
        bool (*fn)(struct in in, const char *group, struct out *o))
{
        struct field f;

        while (in.at < in.end) {
                struct out inner;
                bool good;

                if (!next(&in, &f))
                        return false;
                if (f.number != number || f.wire != BYTES) {
                        put_raw(o, &f);
                        continue;
                }
                if (!out_open(&inner, o->room))
                        return false;
                good = fn(f.bytes, group, &inner) && !inner.bad;
                if (good)
                        put_bytes(o, number, inner.at, inner.n);
                free(inner.at);
                if (!good)
                        return false;
        }
        return true;
}

static bool set(struct in in, const char *group, struct out *o)
{
        return each(in, 2, group, o, member);
}

bool cgimage_rewrite(const uint8_t *image, size_t n, const char *group, uint8_t **ret, size_t *ret_n)
{
        struct out body, all;
        uint32_t size;
        bool good;

        if (n < MAGIC + sizeof size || n > IMAGE_MAX || strlen(group) > 4096)
                return false;
        memcpy(&size, image + MAGIC, sizeof size);
        if (size != n - MAGIC - sizeof size || !out_open(&body, n + ((size_t)1 << 18)))
                return false;
        good = each((struct in){ image + MAGIC + sizeof size, image + n }, 1, group, &body, set) && !body.bad;
        if (!good || !out_open(&all, body.n + MAGIC + sizeof size)) {
                free(body.at);
                return false;
        }
        size = (uint32_t)body.n;
        put(&all, image, MAGIC);
        put(&all, &size, sizeof size);
        put(&all, body.at, body.n);
        free(body.at);
        *ret = all.at;
        *ret_n = all.n;
        return true;
}
