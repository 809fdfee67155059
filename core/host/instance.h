/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: one instance, its calls, and what the two isolations have to do for it.
 *
 * host.c owns the calls: queue, deadlines, judging, callbacks. A backend (process.c, local.c) takes one call at a time from it and gives
 * it back by instance_answer(), or says instance_down() when the plugin is gone with everything that it was in. */
#ifndef HOST_INSTANCE_H
#define HOST_INSTANCE_H

#include "host/host.h"
#include "host/slots.h"

#define INSTANCE_OPEN_US (10 * USEC_PER_SEC)
#define INSTANCE_CLOSE_US (2 * USEC_PER_SEC)
#define INSTANCE_BACKOFF_US (100 * USEC_PER_MSEC) /* doubling, up to */
#define INSTANCE_BACKOFF_MAX_US (30 * USEC_PER_SEC)

struct outcome {
        int rc; /* 0 or a negative code, then err */
        struct pd_error err;
        const json_t *ret, *items, *text; /* borrowed, may be NULL */
};

struct call {
        struct call *next, *prev;
        struct host *host;
        const struct slot *slot;
        json_t *args; /* a copy of our own */
        int fds[SLOT_FDS_MAX];
        size_t n_fds;
        char token[65];
        int64_t timeout_us, deadline_boot_us;
        uint64_t number; /* of this instance's calls: names an outcome that comes in pieces */
        bool sent;
        sd_event_source *timer; /* waiting: its deadline; sent: the deadline and the grace */
        host_done_fn done;
        void *arg;
        /* the backend's */
        struct task *task;
        char *text; /* of an outcome that comes in pieces */
        size_t text_n, text_got;
};

struct backend {
        /* Hands the call over. A refusal fails that call alone, and nothing was done. */
        int (*send)(struct host *h, struct call *c, struct pd_error *err);
        /* Begins to start a plugin that is down; instance_up() or instance_down() follows. */
        int (*start)(struct host *h, struct pd_error *err);
        /* The call is HOST_GRACE_US late. True: the plugin was ended for it. It is called back by host.c; nothing may come for it any more. */
        bool (*late)(struct host *h, struct call *c);
        void (*stop)(struct host *h);
};

enum instance_state { INSTANCE_DOWN, INSTANCE_STARTING, INSTANCE_UP };

struct host {
        sd_event *loop;
        const struct backend *backend;
        enum instance_state state;
        unsigned int refs; /* the owner, and each callback that is running */
        bool freed;
        char *name, *path, *program;
        enum pd_kind kind;
        uint32_t owner_uid;
        uint64_t memory_max;
        json_t *config;
        char plugin_name[64], plugin_version[64];
        size_t parallel;              /* calls that may be with the plugin at a time */
        struct call waiting, running; /* heads of rings */
        size_t n_waiting, n_running;
        sd_event_source *pump;  /* turns the queue, never from inside host_call() */
        sd_event_source *retry; /* the end of a back-off */
        unsigned int failures;  /* in a row */
        uint64_t last_number;
        struct process *process;
        struct worker *worker; /* local */
};

extern const struct backend process_backend, local_backend;
/* Blocking: starts the plugin and opens it. */
int process_open(struct host *h, struct pd_error *err);
int local_open(struct host *h, struct pd_error *err);

/* From the backends, in the loop. The info is what plugin_info() says. */
void instance_info(struct host *h, const json_t *info);
void instance_up(struct host *h);
void instance_down(struct host *h, const struct pd_error *why);
void instance_answer(struct call *c, const struct outcome *o);
void instance_log(const struct host *h, int level, const char *text);

/* judge.c: is this what the slot may answer? The sentence names the plugin. */
int judge_answer(const struct host *h, const struct call *c, const struct outcome *o, struct pd_error *err);

#endif
