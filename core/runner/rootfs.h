/* SPDX-License-Identifier: Apache-2.0 */
/* A job's root file system: the image below, read-only and with its ids mapped into the job's range; the job's writable layer above.
 *
 *   DIR/lower   the image, mounted (mapped where the kernel can)
 *   DIR/upper   the writable layer: what travels with a checkpoint
 *   DIR/work    overlayfs's own
 *   DIR/rootfs  the sum
 * Includes base and io. Mounts live in the runner's mount namespace; a container keeps its own copy. */
#ifndef RUNNER_ROOTFS_H
#define RUNNER_ROOTFS_H

#include "base/base.h"

/* Can this kernel map the ids of a mount on dir's file system and put an overlay on it? Really tries, below dir. */
bool rootfs_can_idmap(const char *dir, struct pd_error *err);
/* id_base 0 = ids as they are. mapped: the image on disk has its own ids and the mount maps them; else they are shifted on disk already. */
int rootfs_mount(const char *dir, const char *image, uint32_t id_base, bool mapped, struct pd_error *err);
void rootfs_umount(const char *dir); /* not mounted = nothing */

#endif
