/* SPDX-License-Identifier: Apache-2.0 */
/* Whom an image's "User" means: "", "0", "1000:1000", "app", "app:staff", by the image's own passwd and group files, which are
 * opened inside its root and nowhere else. Includes base only. */
#ifndef RUNNER_USER_H
#define RUNNER_USER_H

#include "base/base.h"

int user_resolve(const char *rootfs, const char *user, uint32_t *ret_uid, uint32_t *ret_gid, struct pd_error *err);

#endif
