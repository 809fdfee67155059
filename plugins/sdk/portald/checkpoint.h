/* SPDX-License-Identifier: Apache-2.0 */
/* A capture takes the state of one running container into a directory and brings it back.
 *
 * It runs on the machine of the job, as root, in a process of its own. What it writes into the staging directory is what a
 * later restore() gets back, byte for byte; portald packs it together with the container's writable layer, seals it and puts it into a
 * vault. Strict: a value that cannot be carried is named through pd_value_fn, *all* of them, before any harm is done.
 *
 * Order of one save:     precheck? -> save -> (portald packs, commits) -> resume | destroy.     abort() at any point.
 * Order of one restore:  restore (process there, stopped or waiting) -> verify -> resume. */
#ifndef PORTALD_CHECKPOINT_H
#define PORTALD_CHECKPOINT_H

#include <portald/host.h>
#include <portald/plugin.h>

/* The container that a call is about. Paths are absolute, on the machine. */
struct pd_container {
        uint32_t size;
        const char *id;           /* the OCI runtime's id                                                       */
        const char *runtime;      /* path of runc or crun                                                       */
        const char *runtime_root; /* its --root                                                                 */
        const char *bundle;       /* the OCI bundle                                                             */
        const char *cgroup;       /* the payload's cgroup directory                                             */
        const char *job;          /* job_...                                                                    */
        uint64_t generation;
        int32_t pid;         /* of the main process on the machine, in the caller's pid namespace; 0 = none */
        int32_t uid, gid;    /* on the machine, of the container's root                                     */
        const char *job_dir; /* PORTAL_CHECKPOINT_DIR as seen from outside; inside it is job_dir_inside     */
        const char *job_dir_inside;
        const char *socket_path;      /* PORTAL_SOCKET from outside: the capture `values` listens here               */
        const struct pd_kv *settings; /* the job's `checkpoint:` block, flattened: "save.0", "signal", "timeout"   */
};

/* A value that a checkpoint cannot carry, or that it carries only in part. */
struct pd_value {
        uint32_t size;
        const char *path;   /* model.cfg['w'][2].lock, or a /proc path                   */
        const char *type;   /* threading.Lock, "established TCP connection"              */
        const char *reason; /* one sentence                                              */
        const char *fix;    /* what a person can do; "" = nothing known                  */
        int32_t pid;        /* 0 = not a process's                                       */
        int32_t fd;         /* -1 = not a descriptor                                     */
};
typedef int (*pd_value_fn)(void *arg, const struct pd_value *value);

struct pd_capture_caps {
        uint32_t size;
        uint32_t flags; /* enum pd_capture_cap */
};
enum pd_capture_cap {
        PD_CAPTURE_GANG = 1 << 0,      /* several seats behind one barrier               */
        PD_CAPTURE_CARRIES = 1 << 1,   /* carries process state (restart does not)       */
        PD_CAPTURE_NEEDS_JOB = 1 << 2, /* the program must take part (values, command)   */
        PD_CAPTURE_USERNS = 1 << 3,    /* works with a container in a user namespace     */
};

struct pd_estimate {
        uint32_t size;
        uint64_t bytes;    /* what save() would write now       */
        int64_t freeze_us; /* how long the job would stand still */
};

struct pd_checkpoint {
        struct pd_head head;
        uint32_t flags; /* enum pd_flag */

        /* Required. cfg: the site's block for this capture. */
        int (*open)(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err);
        /* Required. self may be NULL. */
        void (*close)(void *self);
        /* Required. No container. */
        int (*caps)(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err);
        /* Required. Can this capture work on this machine at all? Really tries, never trusts a version. -PD_E_UNSUPPORTED with
         * the sentence that submit shows. */
        int (*probe)(void *self, struct pd_call *call, struct pd_error *err);
        /* Optional, default: nothing. Before the container's first start: make what the job needs (a socket, a directory). */
        int (*prepare)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err);
        /* Required. Harmless at any time. One callback a value that could not be carried now; none = it could.
         * -PD_E_REFUSED when there was one; another code when it could not be asked. Puts "notes" = what does not travel and
         * that no value can show (threads, open files), one sentence a line, if there is any. */
        int (*precheck)(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
                struct pd_error *err);
        /* Optional, default: -PD_E_UNSUPPORTED (= not known). */
        int (*estimate)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_estimate *ret,
                struct pd_error *err);
        /* Required. Saves into the empty directory dir_fd and leaves the job standing still. -PD_E_REFUSED with one callback a
         * value: nothing was harmed, the job runs on. Any other error: call abort(). Puts "progress" = what a person would
         * call the point reached ("step 120"), if known, and "still_us" = since when the job has stood still, if that was well before the
         * call's end (a dump). */
        int (*save)(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each,
                void *arg, struct pd_error *err);
        /* Required. The save is not wanted after all: the job runs on as if it had not been asked. Twice = once. */
        int (*abort)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err);
        /* Required. Before the container's start (it is created, or not yet): lays out what is in dir_fd so that the start
         * continues from there. Never trusts dir_fd for privilege. Puts "prestart" = a JSON array of words, if a command must
         * first run to its end in the same container (exit code 0, or the job does not begin): the capture `command` asks
         * so for the job's own load command. Puts "restore" = a JSON object {"images": directory, "config": file of criu's
         * options, "log": file that names errors, "options": [words for the runtime's restore]}, if the runtime itself brings the container back from there, standing
         * still: then nothing is created and started, and verify() is called next. */
        int (*restore)(
                void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err);
        /* Required. After the start: 0 = the job has really taken the state up; -PD_E_BUSY = not yet, ask again. */
        int (*verify)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err);
        /* Required. Lets a job that stands still after save() run on, with its checkpoint kept. Twice = once. */
        int (*resume)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err);
        /* Required. The container has ended; clean up what prepare() made. Twice = once. */
        int (*destroy)(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err);
};

#endif
