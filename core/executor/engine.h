/* SPDX-License-Identifier: Apache-2.0 */
/* Acts: owns the hot records, runs the checks, writes intent, calls, writes the result, and answers the API.
 *
 * One loop, no locks. Everything it changes goes through one struct txn per event; answers and calls leave on the transaction's done.
 * It decides nothing that core/policy or core/placement can decide. */
#ifndef EXECUTOR_ENGINE_H
#define EXECUTOR_ENGINE_H

#include "executor/env.h"
#include "market/market.h"

struct engine;

/* What portald may spend on a connection (N-04). */
struct engine_cap {
        struct money amount; /* currency "" = no cap                                       */
        bool month;          /* counted anew each calendar month of `timezone`; else total */
        const char *timezone;
};

/* The site as the engine needs it: plain values, made by core/daemon from core/config. Borrowed until engine_free() or replaced by reload. */
struct engine_connection {
        const char *name, *provider; /* "lab", "local"                    */
        const char *plugin;          /* path of the .so                   */
        const json_t *options;       /* strings, for the plugin's open()  */
        bool in_process;
        int64_t price_max_age_us;                      /* of what is paid; 0 = an hour                       */
        int32_t price_low_percent, price_high_percent; /* of the price on demand; 0 = built-in               */
        struct engine_cap cap;
};
struct engine_backend { /* a capture or a vault              */
        const char *name, *plugin;
        const json_t *options;
};
struct engine_site {
        const struct engine_connection *connections;
        size_t connections_n;
        const struct engine_backend *captures, *vaults;
        size_t captures_n, vaults_n;
        const char *default_vault;
        struct market_rates rates; /* between currencies; borrowed as the rest */
        const json_t *settings;    /* site level: key -> text           */
        int64_t history_us;        /* how long ended jobs stay, 60 d    */
        int64_t prices_us;         /* ... and prices; 0 = none is kept  */
        const char *version;
};

int engine_new(struct engine **ret, struct env *env, const struct engine_site *site, struct pd_error *err);
struct engine *engine_free(struct engine *e);
static inline void engine_freep(struct engine **e)
{
        engine_free(*e);
}
/* From now on nothing leaves: what the store still calls back is dropped. Before the store is closed; engine_free() comes after. */
void engine_stop(struct engine *e);
/* Loads the store and takes the world up: opens connections, streams; reconciles. The API may be served when it returns. */
int engine_start(struct engine *e, struct pd_error *err);
/* A new site, all or nothing. A connection with live machines cannot go. */
int engine_reload(struct engine *e, const struct engine_site *site, struct pd_error *err);

/* --- the API's side --- */
struct engine_actor {
        uint32_t uid;
        const char *user; /* login name, or the uid as text */
        bool admin;
};
/* body is given to the callee; on an error NULL or an object with the faults. Called exactly once, possibly before engine_request() returns. */
typedef void (*engine_reply_fn)(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t blob_n);
struct engine_request {
        const char *
                verb; /* a row of the table in engine_request.c: "status", "check", "submit", "plan", "list", "show", "logs",
                                    * "explain", "precheck", "suspend", "resume", "stop", "move", "machines", "notice", "offers", "prices", "plugins", "settings", "settings_change" */
        struct engine_actor actor;
        const char *target; /* {id} of the path, as typed; NULL where none */
        const json_t
                *args;   /* body and query members in one object (numbers already parsed); borrowed until the reply */
        const char *key; /* Idempotency-Key or NULL */
};
/* NULL = it was answered already. Else the ticket lives until the reply; an error's body may hold {"faults": [...]}.
 * Replies: the objects of core/api/API.md. "logs": body {"offset","next","size","eof"} and the blob. The caller may go away: engine_request_cancel(). */
struct engine_ticket;
struct engine_ticket *engine_request(
        struct engine *e, const struct engine_request *rq, engine_reply_fn reply, void *arg);
void engine_request_cancel(
        struct engine *e, struct engine_ticket *t); /* no reply will be called; the act itself goes on */

/* Job changes, after they are on disk, as the API's JOB (borrowed). */
typedef void (*engine_watch_fn)(void *arg, struct id job, uint32_t uid, const json_t *job_json);
struct engine_watch;
struct engine_watch *engine_watch_new(struct engine *e, engine_watch_fn fn, void *arg); /* NULL = no memory */
void engine_watch_free(struct engine_watch *w);

/* Loop turns for the watchdog: false when something waits far past its deadline. */
bool engine_alive(const struct engine *e);

#endif
