/* SPDX-License-Identifier: Apache-2.0 */
/* criu's cgroup.img, in which each process's group has its path on the machine of the dump. A restore goes by portald's own record: the path is
 * replaced by the job's group here. (criu's own --cgroup-root has no effect on images of a dump that leaves cgroups alone.)
 *
 * Pure. The image: eight bytes of magic, a length, one message: sets (1) of members (2) with name (1), path (2), prefix (3). */
#ifndef CRIU_CGIMAGE_H
#define CRIU_CGIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *ret is to be freed. group: "/a/b", the job's in the unified tree. false = it is no such image (or no memory). */
bool cgimage_rewrite(const uint8_t *image, size_t n, const char *group, uint8_t **ret, size_t *ret_n);

#endif
