/* SPDX-License-Identifier: Apache-2.0 */
/* {"format": 2, ..., "streams": {NAME: [3, 0, 4]}, "packs": [{"object": NAME, "chunks": [[ID, plain bytes, sealed bytes], ...]}], "mac": HEX}: chunks are
 * numbered through all packs, streams say their order. The MAC is over the rest as compact JSON with sorted keys. */
#include "chunk/chunk.h"

#include <gnutls/crypto.h>
#include <stdio.h>

#define CHUNKS_MAX ((size_t)1 << 20) /* 1 TiB of mean ones */
#define HEX (2 * CHUNK_KEY)

void chunk_index_clear(struct chunk_index *x)
{
        free(x->at);
        free(x->packs);
        *x = (struct chunk_index){ 0 };
}

static bool grow(void **at, size_t n, size_t size)
{
        void *more = n & (n - 1) ? *at : reallocarray(*at, n ? 2 * n : 1, size); /* doubled at each power of two */

        if (more)
                *at = more;
        return more != NULL;
}

static bool good_name(const char *name)
{
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

        return n > 0 && n < CHUNK_NAME_MAX && name[n] == '\0' && name[0] != '.';
}

static bool is_pack(const struct chunk_index *x, const char *pack)
{
        return x->packs_n && streq(x->packs[x->packs_n - 1], pack);
}

static bool begin_pack(struct chunk_index *x, const char *pack)
{
        for (size_t i = 0; i < x->packs_n; i++)
                if (streq(x->packs[i], pack))
                        return false; /* one object is one pack */
        if (x->packs_n == CHUNK_PACKS_MAX || !good_name(pack) ||
                !grow((void **)&x->packs, x->packs_n, sizeof *x->packs))
                return false;
        return str_format(x->packs[x->packs_n++], CHUNK_NAME_MAX, "%s", pack);
}

int64_t chunk_index_add(
        struct chunk_index *x, const char *pack, const struct chunk_id *id, uint32_t plain, uint32_t sealed)
{
        struct chunk_entry e = { .id = *id, .plain = plain, .sealed = sealed };

        if (x->n == CHUNKS_MAX || (!is_pack(x, pack) && !begin_pack(x, pack)) ||
                !grow((void **)&x->at, x->n, sizeof *x->at))
                return -1;
        e.pack = (uint32_t)(x->packs_n - 1);
        if (x->n && x->at[x->n - 1].pack == e.pack)
                e.at = x->at[x->n - 1].at + x->at[x->n - 1].sealed;
        x->at[x->n] = e;
        return (int64_t)x->n++;
}

/* --- the MAC --- */
static void hex_of(const uint8_t *b, char ret[HEX + 1])
{
        for (size_t i = 0; i < CHUNK_KEY; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", b[i]);
}

static bool from_hex(const char *text, uint8_t ret[CHUNK_KEY])
{
        static const char digits[] = "0123456789abcdef";

        if (!text || strlen(text) != HEX || strspn(text, digits) != HEX)
                return false;
        for (size_t i = 0; i < CHUNK_KEY; i++)
                ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                                   (strchr(digits, text[2 * i + 1]) - digits));
        return true;
}

static int mac_of(const json_t *manifest, const struct chunk_keys *keys, uint8_t ret[CHUNK_KEY], struct pd_error *err)
{
        js_owned *rest = json_copy((json_t *)(uintptr_t)manifest);
        pd_cleanup(freep) char *text = NULL;

        if (rest)
                (void)json_object_del(rest, "mac");
        text = rest ? json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for a manifest");
        if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, keys->mac, sizeof keys->mac, text, strlen(text), ret) < 0)
                return pd_fail(err, PD_E_INTERNAL, "the manifest's MAC could not be made");
        return 0;
}

/* --- writing --- */
static json_t *pack_json(const struct chunk_index *x, size_t pack)
{
        json_t *chunks = json_array();

        for (size_t i = 0; i < x->n; i++)
                if (x->at[i].pack == pack) {
                        char id[HEX + 1];

                        hex_of(x->at[i].id.b, id);
                        (void)json_array_append_new(chunks,
                                json_pack("[s,I,I]", id, (json_int_t)x->at[i].plain, (json_int_t)x->at[i].sealed));
                }
        return json_pack("{s:s,s:o}", "object", x->packs[pack], "chunks", chunks);
}

int chunk_index_put(json_t *body, const struct chunk_index *x, const struct chunk_keys *keys, struct pd_error *err)
{
        json_t *packs = json_array();
        uint8_t mac[CHUNK_KEY];
        char text[HEX + 1];
        int r;

        for (size_t i = 0; i < x->packs_n; i++)
                (void)json_array_append_new(packs, pack_json(x, i));
        if (json_object_set_new(body, "packs", packs) < 0 ||
                json_object_set_new(body, "format", json_integer(CHUNK_FORMAT)) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for a manifest");
        if ((r = mac_of(body, keys, mac, err)) < 0)
                return r;
        hex_of(mac, text);
        return json_object_set_new(body, "mac", json_string(text)) < 0
                       ? pd_fail(err, PD_E_NOMEM, "no memory for a manifest")
                       : 0;
}

/* --- reading --- */
static int wrong(const char *what, struct pd_error *err)
{
        return pd_fail(err, PD_E_CORRUPT, "the checkpoint's manifest is damaged: %s", what);
}

static int check_mac(const json_t *manifest, const struct chunk_keys *keys, struct pd_error *err)
{
        uint8_t said[CHUNK_KEY], is[CHUNK_KEY];
        int r;

        if (!from_hex(js_str(manifest, "mac", NULL), said))
                return wrong("it has no MAC", err);
        if ((r = mac_of(manifest, keys, is, err)) < 0)
                return r;
        return gnutls_memcmp(said, is, CHUNK_KEY) == 0 ? 0 : wrong("its MAC is not that of this job's key", err);
}

static bool bytes_of(const json_t *v, int64_t most, uint32_t *ret)
{
        json_int_t n = json_integer_value(v);

        *ret = (uint32_t)n;
        return json_is_integer(v) && n >= 0 && n <= most;
}

static int read_pack(const json_t *pack, struct chunk_index *x, struct pd_error *err)
{
        const char *object = js_str(pack, "object", "");
        const json_t *chunk;
        size_t i;

        if (!json_is_array(json_object_get(pack, "chunks")) || is_pack(x, object))
                return wrong("a pack is not described", err);
        json_array_foreach (json_object_get(pack, "chunks"), i, chunk) {
                uint32_t plain, sealed;
                struct chunk_id id;

                if (json_array_size(chunk) != 3 || !from_hex(json_string_value(json_array_get(chunk, 0)), id.b) ||
                        !bytes_of(json_array_get(chunk, 1), CHUNK_MAX, &plain) ||
                        !bytes_of(json_array_get(chunk, 2), (int64_t)plain + CHUNK_OVER, &sealed))
                        return wrong("a chunk is not described", err);
                if (chunk_index_add(x, object, &id, plain, sealed) < 0)
                        return wrong("a pack has no name of its own, or there are more chunks than there may be", err);
        }
        return 0;
}

static int check_streams(const json_t *manifest, const struct chunk_index *x, struct pd_error *err)
{
        const json_t *streams = json_object_get(manifest, "streams");
        const char *name;
        json_t *order, *number;
        size_t i;

        if (!json_is_object(streams))
                return wrong("it names no streams", err);
        json_object_foreach ((json_t *)(uintptr_t)streams, name, order) {
                if (!good_name(name) || !json_is_array(order))
                        return wrong("a stream is not described", err);
                json_array_foreach (order, i, number)
                        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
                                (size_t)json_integer_value(number) >= x->n)
                                return wrong("a stream names a chunk that there is not", err);
        }
        return 0;
}

static int read_all(const json_t *manifest, struct chunk_index *x, struct pd_error *err)
{
        const json_t *packs = json_object_get(manifest, "packs"), *pack;
        size_t i;
        int r = json_is_array(packs) ? 0 : wrong("it names no packs", err);

        for (i = 0; r == 0 && i < json_array_size(packs); i++) {
                pack = json_array_get(packs, i);
                r = read_pack(pack, x, err);
        }
        return r < 0 ? r : check_streams(manifest, x, err);
}

int chunk_index_get(const json_t *manifest, const char *job, const char *checkpoint, const struct chunk_keys *keys,
        struct chunk_index *ret, struct pd_error *err)
{
        int64_t format = js_int(manifest, "format", 0);
        struct chunk_index x = { 0 };
        int r;

        if (format == 1)
                return pd_fail(err, PD_E_REFUSED,
                        "its manifest is of format 1, which nothing signs; this job's checkpoints are sealed, so it is "
                        "not one of them");
        if (format != CHUNK_FORMAT)
                return pd_fail(err, format > CHUNK_FORMAT ? PD_E_UNSUPPORTED : PD_E_CORRUPT,
                        "its manifest is of format %lld, and %d is read here", (long long)format, CHUNK_FORMAT);
        if ((r = check_mac(manifest, keys, err)) < 0)
                return r;
        if (!streq(js_str(manifest, "job", ""), job) || !streq(js_str(manifest, "checkpoint", ""), checkpoint))
                return pd_fail(err, PD_E_CORRUPT, "its manifest is that of %.40s/%.40s", js_str(manifest, "job", "?"),
                        js_str(manifest, "checkpoint", "?"));
        if ((r = read_all(manifest, &x, err)) < 0)
                chunk_index_clear(&x);
        else
                *ret = x;
        return r;
}
