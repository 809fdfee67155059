/* SPDX-License-Identifier: Apache-2.0 */
/* One portald-plugin-host as a child of this process: started with a clean environment and nothing inherited but its socket and
 * stderr, ended as a group, its end told in words. */
#ifndef HOST_SPAWN_H
#define HOST_SPAWN_H

#include <sys/types.h>

#include "base/base.h"

struct spawned {
        pid_t pid; /* 0 = none; leader of its own session */
        int pidfd;
        int fd; /* our end of the socket; -1 once a conn owns it */
};
#define SPAWNED_NONE                  \
        {                             \
                .pidfd = -1, .fd = -1 \
        }

int spawn_host(const char *program, uint64_t memory_max, struct spawned *ret, struct pd_error *err);
/* Waits up to wait_us for it to end by itself, then kills it and its group. Says how it ended, e.g. "was killed by signal 11
 * (Segmentation fault)", in how (may be NULL). Closes all. */
void spawn_end(struct spawned *s, int64_t wait_us, char *how, size_t how_n);

#endif
