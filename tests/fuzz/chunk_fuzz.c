/* SPDX-License-Identifier: Apache-2.0 */
/* What a vault may hand back as a checkpoint: manifests (signed here, so that the fuzzer gets behind the MAC), sealed chunks, and cuts. The first byte
 * chooses. */
#include <gnutls/crypto.h>

#include "chunk/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct chunk_keys keys = { .id = { 1 }, .seal = { 2 }, .mac = { 3 } };

static void check(bool good)
{
        if (!good)
                abort();
}

static void sign(json_t *m)
{
        uint8_t mac[CHUNK_KEY];
        char hex[2 * CHUNK_KEY + 1], *text;

        (void)json_object_del(m, "mac");
        text = json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS);
        check(text && gnutls_hmac_fast(GNUTLS_MAC_SHA256, keys.mac, sizeof keys.mac, text, strlen(text), mac) >= 0);
        for (size_t i = 0; i < sizeof mac; i++)
                (void)str_format(hex + 2 * i, 3, "%02x", mac[i]);
        (void)json_object_set_new(m, "mac", json_string(hex));
        free(text);
}

static void manifest(const char *text, size_t n, bool signs)
{
        js_owned *m = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        struct chunk_index x = { 0 }, y = { 0 };
        struct pd_error err = { 0 };
        int r;

        if (!json_is_object(m))
                return;
        if (signs)
                sign(m);
        r = chunk_index_get(m, "job_1", "ckp_1", &keys, &x, &err);
        check((r == 0) == (err.code == PD_OK));
        if (r < 0)
                return;
        for (size_t i = 0; i < x.n; i++)
                check(x.at[i].pack < x.packs_n && x.at[i].plain <= CHUNK_MAX &&
                        x.at[i].sealed <= CHUNK_MAX + CHUNK_OVER);
        /* written and read again it is the same */
        check(chunk_index_put(m, &x, &keys, &err) == 0);
        check(chunk_index_get(m, "job_1", "ckp_1", &keys, &y, &err) == 0 && y.n == x.n && y.packs_n <= x.packs_n);
        chunk_index_clear(&x);
        chunk_index_clear(&y);
}

static void opened(const uint8_t *data, size_t n)
{
        struct chunk_id id = { { 0 } };
        struct pd_error err = { 0 };
        size_t plain = n > 34 ? (size_t)data[32] << 8 | data[33] : 0;
        uint8_t *out = malloc(plain + 1);

        check(out != NULL);
        memcpy(id.b, data, n < sizeof id.b ? n : sizeof id.b);
        if (n > 34)
                check(chunk_open(&keys, &id, data + 34, n - 34, out, plain, &err) < 0 && err.text[0]);
        free(out);
}

/* Sealed, opened, and opened with one bit another. */
static void sealed(const uint8_t *data, size_t n)
{
        uint8_t *box = malloc(n + CHUNK_OVER), *out = malloc(n + 1), salt[CHUNK_KEY] = { 0 };
        struct pd_error err;
        struct chunk_id id;
        size_t box_n = 0;

        check(box && out && n <= CHUNK_MAX && chunk_cut(data, n) <= n);
        memcpy(salt, data, n < sizeof salt ? n : sizeof salt);
        check(chunk_id_of(&keys, data, n, &id, &err) == 0);
        check(chunk_seal(&keys, &id, data, n, salt, box, n + CHUNK_OVER, &box_n, &err) == 0);
        check(chunk_open(&keys, &id, box, box_n, out, n, &err) == 0 && memcmp(out, data, n) == 0);
        box[(n ? data[0] : 0) % box_n] ^= 1;
        check(chunk_open(&keys, &id, box, box_n, out, n, &err) == -PD_E_CORRUPT);
        free(box);
        free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        struct chunk_keys made;
        uint8_t key[CHUNK_KEY] = { 0 };
        struct pd_error err;

        if (n == 0)
                return 0;
        if (data[0] % 4 < 2)
                manifest((const char *)data + 1, n - 1, data[0] % 4 == 0);
        else if (data[0] % 4 == 2)
                opened(data + 1, n - 1);
        else
                sealed(data + 1, n - 1);
        memcpy(key, data, n < sizeof key ? n : sizeof key);
        check(chunk_keys_of(key, &made, &err) == 0);
        chunk_keys_clear(&made);
        return 0;
}
