/* SPDX-License-Identifier: Apache-2.0 */
/* The OCI bundle (config.json) of a job's container, from plain values: pure, so that a golden file shows all of it.
 * Includes base only. What it promises of every container: no new privileges, few capabilities, an allow-list of system calls,
 * namespaces of its own, a user namespace unless the order says otherwise, kernel files masked. */
#ifndef RUNNER_BUNDLE_H
#define RUNNER_BUNDLE_H

#include "base/base.h"
#include "base/js.h"

#define BUNDLE_IDS UINT32_C(65536) /* ids in a container's range */

struct bundle {
        const char *job, *hostname;
        const char *rootfs;         /* absolute */
        const json_t *args;         /* array of strings, not empty */
        const json_t *env;          /* object of strings: the whole environment */
        const char *workdir;        /* absolute */
        uint32_t uid, gid;          /* inside */
        const json_t *mounts;       /* [{"source","target","read_only"}], may be NULL */
        const char *portal_dir;     /* becomes /run/portal */
        const char *checkpoint_dir; /* becomes /run/portal/checkpoint */
        const char *cgroup;         /* path from the root of the cgroup tree, "/..." */
        uint32_t id_base;           /* the range on the machine; 0 = no user namespace */
        bool own_network;
        bool resolv_conf; /* the machine has one to lend */
        bool cgroup2_ro;  /* mount the container's cgroup at /sys/fs/cgroup, read-only */
        uint64_t shm_bytes, nofile_max;
        int32_t oom_score_adj;
};

/* *ret: the whole config.json. */
int bundle_make(const struct bundle *b, json_t **ret, struct pd_error *err);
/* The default list of system calls as OCI "linux.seccomp"; NULL = no memory. */
json_t *seccomp_default(void);

#endif
