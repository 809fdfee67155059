/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed chunk: "PDC2", how it is stored (1 byte: 0 as it is, 1 zstd), 3 bytes 0, the salt, the AES-256-GCM text, its tag. The key is made anew from the
 * salt, so that a nonce is never used twice; the head, the id and the plain length are authenticated with it. */
#include "chunk/chunk.h"

#include <gnutls/crypto.h>
#include <zstd.h>

#define HEAD 8
#define TAG 16
#define LEVEL 3
#define MAC GNUTLS_MAC_SHA256
static_assert(HEAD + CHUNK_KEY + TAG <= CHUNK_OVER, "what a seal adds");

enum stored { STORED_PLAIN, STORED_ZSTD };

static int crypto_fail(int r, const char *doing, struct pd_error *err)
{
        return pd_fail(err, PD_E_INTERNAL, "%s: %s", doing, gnutls_strerror(r));
}

static int derive(
        const uint8_t *key, const uint8_t *salt, size_t salt_n, const char *use, uint8_t *ret, struct pd_error *err)
{
        const gnutls_datum_t k = { (unsigned char *)(uintptr_t)key, CHUNK_KEY },
                             s = { (unsigned char *)(uintptr_t)salt, (unsigned int)salt_n },
                             info = { (unsigned char *)(uintptr_t)use, (unsigned int)strlen(use) };
        uint8_t middle[CHUNK_KEY];
        gnutls_datum_t m = { middle, sizeof middle };
        int r = gnutls_hkdf_extract(MAC, &k, &s, middle);

        r = r < 0 ? r : gnutls_hkdf_expand(MAC, &m, &info, ret, CHUNK_KEY);
        gnutls_memset(middle, 0, sizeof middle);
        return r < 0 ? crypto_fail(r, "making a key", err) : 0;
}

int chunk_keys_of(const uint8_t job_key[CHUNK_KEY], struct chunk_keys *ret, struct pd_error *err)
{
        int r = derive(job_key, NULL, 0, "portald chunk id 2", ret->id, err);

        r = r < 0 ? r : derive(job_key, NULL, 0, "portald chunk seal 2", ret->seal, err);
        r = r < 0 ? r : derive(job_key, NULL, 0, "portald manifest mac 2", ret->mac, err);
        if (r < 0)
                chunk_keys_clear(ret);
        return r;
}

void chunk_keys_clear(struct chunk_keys *keys)
{
        gnutls_memset(keys, 0, sizeof *keys);
}

int chunk_id_of(const struct chunk_keys *keys, const void *plain, size_t n, struct chunk_id *ret, struct pd_error *err)
{
        int r = gnutls_hmac_fast(MAC, keys->id, sizeof keys->id, plain, n, ret->b);

        return r < 0 ? crypto_fail(r, "naming a chunk", err) : 0;
}

/* What is authenticated beside the text: a chunk is of one id and of one length. */
struct with {
        uint8_t b[HEAD + CHUNK_KEY + 4];
};

static struct with with_of(const uint8_t *head, const struct chunk_id *id, size_t n)
{
        struct with w;

        memcpy(w.b, head, HEAD);
        memcpy(w.b + HEAD, id->b, CHUNK_KEY);
        for (size_t i = 0; i < 4; i++)
                w.b[HEAD + CHUNK_KEY + i] = (uint8_t)(n >> (8 * i));
        return w;
}

static int cipher_of(
        const struct chunk_keys *keys, const uint8_t *salt, gnutls_aead_cipher_hd_t *ret, struct pd_error *err)
{
        uint8_t key[CHUNK_KEY];
        const gnutls_datum_t k = { key, sizeof key };
        int r = derive(keys->seal, salt, CHUNK_KEY, "portald chunk", key, err);

        if (r < 0)
                return r;
        r = gnutls_aead_cipher_init(ret, GNUTLS_CIPHER_AES_256_GCM, &k);
        gnutls_memset(key, 0, sizeof key);
        return r < 0 ? crypto_fail(r, "beginning a seal", err) : 0;
}

static const uint8_t no_nonce[12]; /* the key is of this chunk alone */

/* The shorter of the two ways to store it, behind the head and the salt of ret. */
static size_t store(const void *plain, size_t n, uint8_t *text, size_t room, enum stored *ret_how)
{
        size_t packed = n ? ZSTD_compress(text, room, plain, n, LEVEL) : 0;

        *ret_how = n && !ZSTD_isError(packed) && packed < n ? STORED_ZSTD : STORED_PLAIN;
        if (*ret_how == STORED_ZSTD)
                return packed;
        if (n)
                memcpy(text, plain, n);
        return n;
}

int chunk_seal(const struct chunk_keys *keys, const struct chunk_id *id, const void *plain, size_t n,
        const uint8_t salt[CHUNK_KEY], void *ret, size_t room, size_t *ret_n, struct pd_error *err)
{
        uint8_t *out = ret, head[HEAD] = { 'P', 'D', 'C', '2' };
        pd_cleanup(freep) uint8_t *text = NULL;
        gnutls_aead_cipher_hd_t c;
        enum stored how;
        struct with with;
        size_t text_n, sealed = room - HEAD - CHUNK_KEY;
        int r;

        if (n > CHUNK_MAX || room < n + CHUNK_OVER)
                return pd_fail(err, PD_E_INVALID, "a chunk has at most %zu bytes", CHUNK_MAX);
        if (!(text = malloc(n + 1)))
                return pd_fail(err, PD_E_NOMEM, "no memory for a chunk");
        text_n = store(plain, n, text, n, &how);
        head[4] = (uint8_t)how;
        with = with_of(head, id, n);
        if ((r = cipher_of(keys, salt, &c, err)) < 0)
                return r;
        r = gnutls_aead_cipher_encrypt(c, no_nonce, sizeof no_nonce, with.b, sizeof with.b, TAG, text, text_n,
                out + HEAD + CHUNK_KEY, &sealed);
        gnutls_aead_cipher_deinit(c);
        if (r < 0)
                return crypto_fail(r, "sealing a chunk", err);
        memcpy(out, head, HEAD);
        memcpy(out + HEAD, salt, CHUNK_KEY);
        *ret_n = HEAD + CHUNK_KEY + sealed;
        return 0;
}

static int damaged(const char *how, struct pd_error *err)
{
        return pd_fail(err, PD_E_CORRUPT, "a chunk of the checkpoint is damaged: %s", how);
}

static int unpack(enum stored how, const uint8_t *text, size_t text_n, void *ret, size_t n, struct pd_error *err)
{
        if (how == STORED_PLAIN) {
                if (text_n != n)
                        return damaged("it is of another length", err);
                if (n)
                        memcpy(ret, text, n);
                return 0;
        }
        return ZSTD_decompress(ret, n, text, text_n) == n ? 0 : damaged("it cannot be unpacked", err);
}

/* By the key and the head: the text as it was stored, to be freed. */
static int unseal(const struct chunk_keys *keys, const struct chunk_id *id, const uint8_t *in, size_t in_n, size_t n,
        uint8_t **ret, size_t *ret_n, struct pd_error *err)
{
        const struct with with = with_of(in, id, n);
        gnutls_aead_cipher_hd_t c;
        int r = cipher_of(keys, in + HEAD, &c, err);

        if (r < 0)
                return r;
        *ret_n = in_n - HEAD - CHUNK_KEY;
        *ret = malloc(*ret_n + 1);
        r = !*ret ? GNUTLS_E_MEMORY_ERROR
                  : gnutls_aead_cipher_decrypt(c, no_nonce, sizeof no_nonce, with.b, sizeof with.b, TAG,
                            in + HEAD + CHUNK_KEY, in_n - HEAD - CHUNK_KEY, *ret, ret_n);
        gnutls_aead_cipher_deinit(c);
        if (r == GNUTLS_E_MEMORY_ERROR)
                return pd_fail(err, PD_E_NOMEM, "no memory for a chunk");
        return r < 0 ? damaged("it is not what was sealed there", err) : 0;
}

int chunk_open(const struct chunk_keys *keys, const struct chunk_id *id, const void *sealed, size_t sealed_n, void *ret,
        size_t n, struct pd_error *err)
{
        static const uint8_t first[4] = { 'P', 'D', 'C', '2' }, none[3] = { 0 };
        pd_cleanup(freep) uint8_t *text = NULL;
        const uint8_t *in = sealed;
        struct chunk_id again;
        size_t text_n = 0;
        int r;

        if (n > CHUNK_MAX || sealed_n < HEAD + CHUNK_KEY + TAG || sealed_n > n + CHUNK_OVER)
                return damaged("it is of another length", err);
        if (memcmp(in, first, sizeof first) != 0 || in[4] > STORED_ZSTD || memcmp(in + 5, none, sizeof none) != 0)
                return damaged("it does not begin as one", err);
        if ((r = unseal(keys, id, in, sealed_n, n, &text, &text_n, err)) < 0 ||
                (r = unpack((enum stored)in[4], text, text_n, ret, n, err)) < 0 ||
                (r = chunk_id_of(keys, ret, n, &again, err)) < 0)
                return r;
        return gnutls_memcmp(again.b, id->b, CHUNK_KEY) == 0 ? 0 : damaged("it is another one", err);
}
