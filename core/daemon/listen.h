/* SPDX-License-Identifier: Apache-2.0 */
/* The API's listening socket: handed over by systemd, or made here with its mode and group. */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include "base/base.h"

/* The descriptor, or negative. group: name of the group that may connect. */
int listen_api(const char *path, const char *group, struct pd_error *err);

#endif
