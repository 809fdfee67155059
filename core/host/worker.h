/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded plugin on threads of its own, beside a loop that never waits for it. The same code serves portald-plugin-host (the loop
 * that reads frames) and `isolation = "none"` (portald's loop): tasks go in, come out once, in the loop, with all they brought.
 *
 * The plugin is only touched on these threads: loaded, opened, called, closed. Promises: a task that was taken comes back exactly
 * once, unless the worker is stopped first; log lines come in order and are dropped above a bound. */
#ifndef HOST_WORKER_H
#define HOST_WORKER_H

#include <stdatomic.h>
#include <systemd/sd-event.h>

#include "host/load.h"

#define WORKER_PARALLEL 4 /* threads of a plugin that says CONCURRENT */
#define WORKER_LOGS_MAX 1000

struct task {
        struct task *next;
        enum task_kind { TASK_LOAD, TASK_CALL } kind;
        uint64_t id, number; /* the giver's */
        void *ref;           /* the giver's */
        /* TASK_LOAD: maps and opens the plugin; config NULL = only looks at it, ret is then plugin_info() */
        char *path;
        uint32_t plugin_kind, owner_uid;
        json_t *config;
        /* TASK_CALL */
        char slot_name[32];
        json_t *args;
        char token[65];        /* "" = none */
        int fds[SLOT_FDS_MAX]; /* owned */
        size_t n_fds;
        int64_t deadline_boot_us;
        atomic_bool abandoned; /* nobody waits any more */
        /* what came of it */
        int rc;
        struct pd_error err;
        json_t *ret, *text;
        char *items; /* JSON text, "a,b,c" */
        size_t items_n;
};
struct task *task_new(enum task_kind kind);
struct task *task_free(struct task *t);
static inline void task_freep(struct task **t)
{
        task_free(*t);
}

struct worker;
struct worker_events {
        void (*done)(void *arg, struct task *t); /* given away */
        void (*log)(void *arg, int level, const char *text);
        void *arg;
};
int worker_new(struct worker **ret, sd_event *loop, const struct worker_events *events, struct pd_error *err);
/* Takes t on success. */
int worker_push(struct worker *w, struct task *t, struct pd_error *err);
/* For host_open(), which may not wait in the loop: waits for one task to come out. -PD_E_DEADLINE. */
int worker_wait(struct worker *w, int64_t timeout_us, struct task **ret, struct pd_error *err);
/* Calls cancelled() true, closes the plugin behind the last call, and waits for that; past the time it is left alone, and its memory with it.
 * No callback comes any more. Returns whether it ended. NULL = true. */
bool worker_stop(struct worker *w, int64_t timeout_us);
/* Valid once a load came back good. */
const struct plugin *worker_plugin(const struct worker *w);

int64_t worker_now_boot(void);

#endif
