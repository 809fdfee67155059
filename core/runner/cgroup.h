/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup v2 tree as the runner uses it:  BASE/jobs/JOB.GENERATION/{payload,supervisor}.
 *
 * BASE is the runner's own delegated cgroup where systemd put the runner into its leaf "runner" (Delegate= with DelegateSubgroup=runner,
 * systemd >= 254), else /portal-runner.HASH-OF-STATE-DIRECTORY at the root: a service cgroup with controllers enabled below could not be entered again at the next start.
 * Includes base and io. Promises: what it enabled in the parent's subtree_control and the groups that it made go when the last job went. */
#ifndef RUNNER_CGROUP_H
#define RUNNER_CGROUP_H

#include "base/base.h"
#include "base/js.h"

struct cgroups {
        char mount[64];                     /* of the cgroup2 tree */
        char base[1024];                    /* path in the tree, no slash at the end */
        char record[1024];                  /* the file that holds what was enabled before us */
        bool cpu, memory, io, pids, cpuset; /* controllers that jobs can have */
        bool at_root;                       /* base is our own group at the tree's root */
        bool remade;                        /* a private mount was made: /sys/fs/cgroup was not cgroup2 */
};

struct cgroup_limits { /* 0 = none */
        int64_t cpu_milli;
        uint64_t memory_bytes, pids;
};

/* A missing member is a missing measurement: -1. */
struct cgroup_measure {
        int64_t cpu_us, memory_bytes, memory_peak_bytes, io_read_bytes, io_write_bytes, pids, oom_kills;
        int64_t reclaimable_bytes; /* of memory_bytes: files' pages that the kernel drops when it needs room     */
        int64_t stalled;           /* hundredths of a percent of the last 10 s that it waited for memory         */
};

/* private_mount: where the machine has no unified tree, leave the mount namespace and mount one. state_dir holds the record. */
int cgroups_open(struct cgroups *c, const char *state_dir, bool private_mount, struct pd_error *err);
/* After the last job ended: groups that are empty, and controllers that were not enabled before. */
void cgroups_tidy(struct cgroups *c);
int cgroups_list(
        const struct cgroups *c, json_t *names, struct pd_error *err); /* appends the jobs' groups that are there */

/* name: "job_...3". Makes both leaves and sets what limits can be set. */
int cgroup_make(struct cgroups *c, const char *name, const struct cgroup_limits *limits, struct pd_error *err);
char *cgroup_dir(
        const struct cgroups *c, const char *name, const char *leaf); /* on disk; free it; leaf "" = the job's own */
char *cgroup_path(const struct cgroups *c, const char *name, const char *leaf); /* in the tree; free it */
void cgroup_kill(struct cgroups *c, const char *name, const char *leaf);
/* Waits at most 1 s for "frozen"; -PD_E_BUSY after that (it is thawed again). */
int cgroup_freeze(struct cgroups *c, const char *name, bool frozen, struct pd_error *err);
bool cgroup_populated(const struct cgroups *c, const char *name, const char *leaf);
void cgroup_remove(struct cgroups *c, const char *name);
void cgroup_measure(const struct cgroups *c, const char *name, struct cgroup_measure *ret);

#endif
