/* SPDX-License-Identifier: Apache-2.0 */
/* Trees into tar.zst files with their SHA-256 and back, and the manifest of a checkpoint that names them.
 *
 * A *layer* is the upper directory of an overlay: whiteouts (device 0:0), opaque directories, set-id modes, capabilities and ACLs travel,
 * and ids are those inside the container (id_base is taken off and put on again). Any other tree is plain files, directories and links.
 * Nothing in an archive is trusted: no path leaves the directory, no device node but whiteouts, no id outside 0..65535.
 * Includes base; libarchive and GnuTLS inside. Blocking: for worker processes and tests. */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include "base/base.h"
#include "base/js.h"

#define PACK_IDS UINT32_C(65536)
#define PACK_NOBODY 65534
#define PACK_SHA_MAX 65

struct pack_params {
        uint32_t id_base; /* on the machine, of the container's root; 0 = no user namespace */
        bool layer;
        uint64_t plain_max; /* unpack: refuse more bytes of content than this; UINT64_MAX = no bound */
};
struct pack_result {
        uint64_t bytes, plain_bytes; /* of the file; of the content in it */
        char sha256[PACK_SHA_MAX];   /* of the file, hex */
};

/* Writes the new file `to` (mode 0600, synced). The tree must stand still. */
int pack_tree(
        const char *dir, const char *to, const struct pack_params *p, struct pack_result *ret, struct pd_error *err);
/* Checks size and digest of the whole file, then unpacks into the directory `dir` (empty, or with its root only). -PD_E_CORRUPT. */
int unpack_tree(const char *from, const char *dir, const struct pack_params *p, const char *sha256, uint64_t bytes,
        struct pd_error *err);
int pack_digest(const char *file, char ret[PACK_SHA_MAX], uint64_t *ret_bytes, struct pd_error *err);

/* ---- the manifest, format 1 ---- */
#define MANIFEST_FORMAT 1
#define MANIFEST_PAYLOAD "payload.tar.zst"
#define MANIFEST_LAYER "layer.tar.zst"

struct manifest {
        const char *job, *checkpoint, *capture, *capture_version, *image_ref, *image_digest, *progress, *runner_version;
        uint64_t generation;
        int64_t made_wall_us, freeze_us;
        struct pack_result payload, layer;
};
json_t *manifest_make(const struct manifest *m);
/* Is it whole, of a format that is read here, and of this job and checkpoint? -PD_E_CORRUPT says what is wrong. */
int manifest_check(const json_t *m, const char *job, const char *checkpoint, struct pd_error *err);
/* The object's entry {"bytes", "plain_bytes", "sha256"}; never NULL after manifest_check(). */
const json_t *manifest_object(const json_t *m, const char *name);

#endif
