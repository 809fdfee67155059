/* SPDX-License-Identifier: Apache-2.0 */
/* What criu would not carry, found before anything is touched: only /proc, the cgroup and one netlink question are read. */
#ifndef CRIU_PRECHECK_H
#define CRIU_PRECHECK_H

#include "proc.h"

#define PRECHECK_GHOST_MAX ((int64_t)1 << 20) /* bytes of a deleted file that still travel: criu's own limit */
#define PRECHECK_VALUES_MAX 256               /* no more are named */

/* One callback a value. *ret_n = how many there were. An error = it could not be looked. */
int precheck_container(const struct pd_container *c, pd_value_fn each, void *arg, size_t *ret_n, struct pd_error *err);

/* --- between the files of the precheck --- */
struct look {
        const struct pd_container *c;
        struct proc_pids pids;
        struct proc_unixes unixes;
        uint64_t *sockets; /* of all processes inside */
        size_t sockets_n;
        char *net[4];   /* /proc/PID/net/: tcp, tcp6, udp, udp6 */
        char *net_unix; /* /proc/PID/net/unix */
        pd_value_fn each;
        void *arg;
        size_t found;
        int32_t pid; /* the process that is being looked at */
};
/* Names a value; a negative return ends the look. */
int look_value(struct look *l, int32_t fd, const char *type, const char *reason, const char *fix, const char *path_fmt,
        ...) __attribute__((format(printf, 6, 7)));
int look_fd(struct look *l, int32_t fd);                     /* precheck_fd.c     */
int look_socket(struct look *l, int32_t fd, uint64_t inode); /* precheck_socket.c */
int look_maps(struct look *l);                               /* precheck_mem.c    */
int look_locks(struct look *l);                              /* precheck_mem.c    */

#endif
