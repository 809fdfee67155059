/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define RAW 32 /* bytes of a SHA-256 */

int digest_start(struct digest *d, struct pd_error *err)
{
        if (gnutls_hash_init(&d->hash, GNUTLS_DIG_SHA256) < 0) {
                d->hash = NULL;
                return pd_fail(err, PD_E_NOMEM, "no memory for a digest");
        }
        return 0;
}

bool digest_add(struct digest *d, const void *bytes, size_t n)
{
        return n == 0 || gnutls_hash(d->hash, bytes, n) >= 0;
}

bool digest_end(struct digest *d, char ret[PACK_SHA_MAX])
{
        unsigned char raw[RAW];

        if (!d->hash)
                return false;
        gnutls_hash_deinit(d->hash, raw);
        d->hash = NULL;
        for (unsigned i = 0; i < RAW; i++)
                (void)snprintf(ret + (size_t)2 * i, 3, "%02x", raw[i]);
        return true;
}

void digest_clear(struct digest *d)
{
        if (d->hash)
                gnutls_hash_deinit(d->hash, NULL);
        d->hash = NULL;
}

int pack_digest(const char *file, char ret[PACK_SHA_MAX], uint64_t *ret_bytes, struct pd_error *err)
{
        pd_cleanup(digest_clear) struct digest d = { 0 };
        pd_cleanup(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        pd_cleanup(freep) uint8_t *buf = malloc(1 << 18);
        uint64_t bytes = 0;
        ssize_t n;
        int r;

        if (fd < 0 || !buf)
                return pd_fail(err, PD_E_IO, "cannot read %s: %m", file);
        if ((r = digest_start(&d, err)) < 0)
                return r;
        while ((n = read(fd, buf, 1 << 18)) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 || !digest_add(&d, buf, (size_t)n))
                        return pd_fail(err, PD_E_IO, "cannot read %s: %m", file);
                bytes += (uint64_t)n;
        }
        if (!digest_end(&d, ret))
                return pd_fail(err, PD_E_INTERNAL, "no digest of %s", file);
        *ret_bytes = bytes;
        return 0;
}
