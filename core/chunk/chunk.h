/* SPDX-License-Identifier: Apache-2.0 */
/* What a checkpoint is stored as: streams of bytes, cut by their contents, so that what did not change since the last save is not stored again; each
 * chunk compressed and sealed under the job's key; many of them in one object of the vault (a *pack*); and the index that names them all, with a MAC.
 *
 * Functions of bytes: no file, no vault, no clock; the randomness of a seal is given. Includes base; zstd and GnuTLS inside.
 * Whoever has the vault and not the key learns sizes, and can neither read, guess, forge nor swap: a chunk's id is keyed, and is authenticated with it. */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include "base/base.h"
#include "base/js.h"

#define CHUNK_MIN ((size_t)256 << 10)
#define CHUNK_MEAN ((size_t)1 << 20)
#define CHUNK_MAX ((size_t)4 << 20)
#define CHUNK_KEY 32  /* bytes of a key, of a salt and of an id */
#define CHUNK_OVER 64 /* a sealed chunk is longer by at most so much */

/* --- cut.c --- */
/* The length of the first chunk of what follows. Give CHUNK_MAX bytes, or all that is left: the same bytes are cut at the same places wherever they lie
 * in a stream, save within a chunk of a change. 0 only for n = 0. */
size_t chunk_cut(const void *bytes, size_t n);

/* --- seal.c --- */
struct chunk_keys { /* of one job: each use has its own */
        uint8_t id[CHUNK_KEY], seal[CHUNK_KEY], mac[CHUNK_KEY];
};
struct chunk_id {
        uint8_t b[CHUNK_KEY];
};
int chunk_keys_of(const uint8_t job_key[CHUNK_KEY], struct chunk_keys *ret, struct pd_error *err);
void chunk_keys_clear(struct chunk_keys *keys); /* overwritten */
/* The same plain bytes of one job have one id: what a store has already is found by it. */
int chunk_id_of(const struct chunk_keys *keys, const void *plain, size_t n, struct chunk_id *ret, struct pd_error *err);
/* salt: CHUNK_KEY random bytes, never used twice. room >= n + CHUNK_OVER; *ret_n = what it became. n <= CHUNK_MAX. */
int chunk_seal(const struct chunk_keys *keys, const struct chunk_id *id, const void *plain, size_t n,
        const uint8_t salt[CHUNK_KEY], void *ret, size_t room, size_t *ret_n, struct pd_error *err);
/* Exactly `n` plain bytes into ret, or -PD_E_CORRUPT: not sealed by this key, not this id, cut, changed, or of another length. */
int chunk_open(const struct chunk_keys *keys, const struct chunk_id *id, const void *sealed, size_t sealed_n, void *ret,
        size_t n, struct pd_error *err);

/* --- index.c: format 2 of a checkpoint's manifest --- */
#define CHUNK_FORMAT 2
#define CHUNK_PACKS_MAX 4096
#define CHUNK_NAME_MAX 80 /* of a pack's object and of a stream */

struct chunk_entry { /* one chunk of a pack, in its order there */
        struct chunk_id id;
        uint32_t plain, sealed; /* bytes */
        uint32_t pack;          /* which object */
        uint64_t at;            /* where in it */
};
struct chunk_index {
        struct chunk_entry *at;
        size_t n;
        char (*packs)[CHUNK_NAME_MAX];
        size_t packs_n;
};
void chunk_index_clear(struct chunk_index *x);
/* Adds a chunk at the end of the newest pack, or of a new one where `pack` is another name. -1 = no memory, or more than a manifest may have. */
int64_t chunk_index_add(
        struct chunk_index *x, const char *pack, const struct chunk_id *id, uint32_t plain, uint32_t sealed);
/* body: what else the manifest says (job, checkpoint, generation, ...) and "streams": {NAME: [index of a chunk, ...]}; it gets "format", "packs" and
 * "mac". */
int chunk_index_put(json_t *body, const struct chunk_index *x, const struct chunk_keys *keys, struct pd_error *err);
/* Is it whole, by this key, of this job and checkpoint? Everything in it is checked before the first byte is used. -PD_E_CORRUPT says what is wrong.
 * A manifest of format 1 has no MAC: it is -PD_E_REFUSED here, for a job with a key never had one. */
int chunk_index_get(const json_t *manifest, const char *job, const char *checkpoint, const struct chunk_keys *keys,
        struct chunk_index *ret, struct pd_error *err);

#endif
