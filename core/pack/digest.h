/* SPDX-License-Identifier: Apache-2.0 */
/* A file written through libarchive, or read, with its SHA-256 taken on the way. */
#ifndef PACK_DIGEST_H
#define PACK_DIGEST_H

#include <gnutls/gnutls.h>
#include <gnutls/crypto.h>

#include "pack/pack.h"

struct digest {
        gnutls_hash_hd_t hash; /* NULL = none begun */
};
int digest_start(struct digest *d, struct pd_error *err);
bool digest_add(struct digest *d, const void *bytes, size_t n);
bool digest_end(struct digest *d, char ret[PACK_SHA_MAX]); /* hex */
void digest_clear(struct digest *d);

#endif
