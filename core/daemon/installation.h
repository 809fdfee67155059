/* SPDX-License-Identifier: Apache-2.0 */
/* The installation's id: a small file beside the config. A state directory without it, or with another one, is not ours to use. */
#ifndef DAEMON_INSTALLATION_H
#define DAEMON_INSTALLATION_H

#include "config/config.h"

#define INSTALLATION_USER "portald"

/* *ret NULL = there is no file. */
int installation_read(const char *path, char **ret, struct pd_error *err);
int installation_write(const char *path, const char *id, struct pd_error *err);
/* `portald --new-installation --check-config`, as root: makes the id and the empty store of INSTALLATION_USER, which the service then finds. */
int installation_prepare(const struct config *c, char **ret_id, struct pd_error *err);

#endif
