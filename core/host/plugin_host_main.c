/* SPDX-License-Identifier: Apache-2.0 */
/* portald-plugin-host: a process around one plugin. Started by portald and portal-runner with a socket as descriptor 3. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "host/child.h"

#define NOFILE_MAX 256

/* The soft limit only: it is against leaks, and a command that a capture runs in the job's container must have the job's own limits. */
static int limit(int what, rlim_t max, const char *name)
{
        struct rlimit now = { max, max };

        if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max < max)
                max = now.rlim_max;
        if (setrlimit((__rlimit_resource_t)what, &(struct rlimit){ max, now.rlim_max }) == 0)
                return 0;
        log_error("cannot limit %s: %s", name, strerror(errno));
        return -1;
}

/* All that a plugin must not inherit, before it is mapped. The parent's pid closes the gap before the death signal is set. */
static int confine(rlim_t memory_max, pid_t parent)
{
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                return -1;
        if (close_range(CHILD_FD + 1, ~0U, 0) < 0) {
                log_error("cannot close inherited descriptors: %s", strerror(errno));
                return -1;
        }
        (void)mallopt(M_ARENA_MAX, 2); /* each arena reserves 64 MiB of the address space that is limited below */
        if (limit(RLIMIT_CORE, 0, "core dumps") < 0 || limit(RLIMIT_NOFILE, NOFILE_MAX, "open files") < 0)
                return -1;
#ifndef PORTALD_SANITIZED /* sanitizers map terabytes */
        if (limit(RLIMIT_AS, memory_max, "memory") < 0)
                return -1;
#else
        (void)memory_max;
#endif
        return 0;
}

int main(int argc, char **argv)
{
        struct pd_error err;
        int type;
        socklen_t n = sizeof type;

        log_open("portald-plugin-host", LOG_INFO);
        if (argc != 3 || getsockopt(CHILD_FD, SOL_SOCKET, SO_TYPE, &type, &n) < 0) {
                (void)fputs("portald-plugin-host is started by portald, not by hand.\n", stderr);
                return 2;
        }
        if (confine((rlim_t)strtoull(argv[1], NULL, 10), (pid_t)strtol(argv[2], NULL, 10)) < 0)
                return 1;
        if (child_run(CHILD_FD, &err) < 0) {
                log_error("%s", err.text);
                return 1;
        }
        return 0;
}
