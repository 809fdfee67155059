/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes in the loop: started with fork and exec, watched by pidfd, with a deadline, their output kept up to a bound.
 * A child dies with the runner (but for detached ones). Promises: one callback each, never from inside proc_run(). */
#ifndef RUNNER_PROC_H
#define RUNNER_PROC_H

#include <systemd/sd-event.h>

#include "base/base.h"

#define PROC_OUT_MAX 65536

struct proc;

struct proc_result {
        int code;        /* exit code, or 128 + signal              */
        const char *out; /* stdout, NUL behind it, cut at PROC_OUT_MAX */
        const char *err; /* the last of stderr, one trimmed text    */
};
/* err: the child could not be waited for, failed (code not 0: err says with what words) or was late. result is there in all cases. */
typedef void (*proc_done_fn)(void *arg, const struct pd_error *err, const struct proc_result *result);

struct proc_spec {
        const char *const *argv; /* argv[0] is an absolute path or found in PATH; ends with NULL */
        const char *const *env;  /* added to a plain environment; may be NULL                    */
        const char *cgroup;      /* directory that the child enters before exec; may be NULL     */
        const char *what;        /* for messages: "skopeo copy of docker://x"                    */
        int64_t timeout_us;
        bool detached; /* lives on when the runner dies; not killed with the struct    */
        int pass_fd;   /* kept open in the child at this number + its own close-on-exec cleared; 0 = none */
};

int proc_run(struct proc **ret, sd_event *loop, const struct proc_spec *spec, proc_done_fn done, void *arg,
        struct pd_error *err);
/* The struct frees itself after its callback: forget it there. */
struct proc *proc_free(struct proc *p); /* kills it (and its process group) if it runs; no callback */
static inline void proc_freep(struct proc **p)
{
        proc_free(*p);
}

/* Waits, at most timeout_us: only at the runner's start. out gets the first of stdout and stderr; returns the exit code or an error. */
int proc_run_now(const char *const *argv, int64_t timeout_us, char *out, size_t out_n, struct pd_error *err);

#endif
