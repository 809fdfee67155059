/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one container, as /proc tells of them. Reads only; a process that ends meanwhile is one that is not there. */
#ifndef CRIU_PROC_H
#define CRIU_PROC_H

#include <stddef.h>
#include <sys/types.h>

#include "../lib/capture.h"
#include "parse.h"

#define PROC_PIDS_MAX 65536

struct proc_pids {
        int32_t *at;
        size_t n;
};
/* All processes of that cgroup and of those below it. */
int proc_pids(const char *cgroup, struct proc_pids *ret, struct pd_error *err);
void proc_pids_clear(struct proc_pids *p);
bool proc_pids_has(const struct proc_pids *p, int32_t pid);

/* A whole file, at most 8 MiB, to be freed; NULL = it is not there. */
char *proc_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A link's text; false = it is not there. */
bool proc_link(char *ret, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool proc_status(int32_t pid, struct parse_status *ret);

/* The peers of the machine's unix sockets, by the kernel's own list. */
struct proc_unix {
        uint32_t inode, peer;
};
struct proc_unixes {
        struct proc_unix *at;
        size_t n;
};
int proc_unixes(struct proc_unixes *ret, struct pd_error *err);
uint32_t proc_unix_peer(const struct proc_unixes *u, uint32_t inode); /* 0 = none */

#endif
