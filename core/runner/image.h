/* SPDX-License-Identifier: Apache-2.0 */
/* Images: oci:DIR[:TAG], docker://NAME, dir:PATH. Unpacked once below runner.image_store by the digest of their manifest, shared read-only by
 * all jobs; several who ask for the same image wait for one pull. oci: and dir: only below roots that the config allows.
 * Includes runner.h. Promises: an image in the store is whole (temporary name, sync, rename). */
#ifndef RUNNER_IMAGE_H
#define RUNNER_IMAGE_H

#include "runner/bundle.h"
#include "runner/runner.h"

struct image {
        char *path;      /* its root directory                                            */
        char digest[80]; /* "sha256:..." of the manifest; "" for dir:                     */
        json_t *config;  /* Entrypoint, Cmd, Env, WorkingDir, User; NULL for dir:         */
        bool shifted;    /* ids on disk are already those of the machine: nothing to map  */
};
void image_clear(struct image *i);

/* err NULL: *image is the callee's to take (image_clear it, or copy and zero). */
typedef void (*image_done_fn)(void *arg, const struct pd_error *err, struct image *image);

/* digest: "" or the one that it must be (a restore). id_base: the job's, 0 = none. Always ends in the callback, never from inside. */
int image_get(struct runner *r, const char *ref, const char *digest, uint32_t id_base, image_done_fn done, void *arg,
        struct pd_error *err);
void image_forget(
        struct runner *r, const void *arg); /* this asker does not wait any more; a pull goes on for the others */
/* Is the reference well formed, allowed, and (oci:, dir:) there? *ret: {"ref", "digest"?, "present"}. */
int image_inspect(struct runner *r, const char *ref, json_t **ret, struct pd_error *err);
void images_tidy(struct runner *r); /* at start: half-done pulls */
void images_close(struct runner *r);

#endif
