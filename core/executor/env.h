/* SPDX-License-Identifier: Apache-2.0 */
/* The world as the engine sees it. Only core/daemon (real) and tests/world (simulated) implement it. */
#ifndef EXECUTOR_ENV_H
#define EXECUTOR_ENV_H

#include "base/base.h"
#include "base/js.h"
#include "store/store.h"

struct env;
struct env_timer;
struct env_stream;
struct env_plugin;

/* Answers as in frame/conn.h: exactly one callback a request, never from inside the call. items may be NULL. */
typedef void (*env_answer_fn)(void *arg, const struct pd_error *err, const json_t *answer, const json_t *items,
        const void *blob, size_t blob_n);

struct env_stream_events {
        void (*on_up)(void *arg);                               /* connected; say hello now                */
        void (*on_event)(void *arg, const json_t *event);       /* {"event": ...}                          */
        void (*on_down)(void *arg, const struct pd_error *why); /* will be tried again, with back-off      */
        void *arg;
};

struct env_ops {
        int64_t (*now_wall_us)(struct env *e);
        int64_t (*now_boot_us)(struct env *e);
        void (*random)(struct env *e, void *ret, size_t n);
        /* One shot, on the boot clock, called from the loop. Setting it again moves it; INT64_MAX disarms. */
        int (*timer_new)(
                struct env *e, struct env_timer **ret, void (*fire)(void *arg), void *arg, struct pd_error *err);
        void (*timer_set)(struct env_timer *t, int64_t at_boot_us);
        void (*timer_free)(struct env_timer *t);
        /* A stream of frames to a runner, kept up by the environment: reconnects with back-off until closed. */
        int (*stream_open)(struct env *e, const char *endpoint, uint32_t stream_kind,
                const struct env_stream_events *events, struct env_stream **ret, struct pd_error *err);
        int (*stream_request)(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
                env_answer_fn done, void *arg, struct pd_error *err);
        void (*stream_close)(struct env_stream *s); /* pending requests are called back first */
        /* A plugin instance of the site config (host/host.h). */
        int (*plugin_open)(struct env *e, const char *name, const char *path, enum pd_kind kind, const json_t *config,
                bool in_process, struct env_plugin **ret, struct pd_error *err);
        int (*plugin_call)(struct env_plugin *p, const char *slot, const json_t *args, const char *token,
                int64_t timeout_us, env_answer_fn done, void *arg,
                struct pd_error *err); /* answer = {"ret","text"}; items as host.h */
        void (*plugin_close)(struct env_plugin *p);
        /* The store, as store.h says. */
        int (*apply)(struct env *e, struct txn *t, store_done_fn done, void *arg, struct pd_error *err);
        /* What people are to hear of (executor/tell.h), on disk by now. Returns at once whatever becomes of it; event is borrowed. NULL = nobody hears. */
        void (*tell)(struct env *e, const json_t *event);
        /* The calendar month of a time zone ("Europe/Berlin") that an instant is in. NULL = only UTC is known. */
        int (*month_of)(struct env *e, const char *zone, int64_t at_wall_us, int64_t *ret_from_wall_us,
                int64_t *ret_until_wall_us, struct pd_error *err);
        /* The daemon cannot go on (a failed apply): logs, exits non-zero, is started again. */
        void (*fatal)(struct env *e, const struct pd_error *why);
};

struct env {
        const struct env_ops *ops;
        struct store *store; /* for reads */
};

#endif
