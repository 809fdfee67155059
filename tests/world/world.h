/* SPDX-License-Identifier: Apache-2.0 */
/* A world without a machine's clock: the daemon's own engine, policies and store on a simulated struct env.
 *
 * Time moves only when world_run() says so. One connection "lab" with one machine, whose runner is simulated below the frames: it keeps placements as
 * core/frame/RUNNER.md says, acts by its standing orders, and can be told to refuse, to be slow, or to be unreachable. */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <systemd/sd-event.h>

#include "base/js.h"
#include "base/vec.h"
#include "executor/engine.h"

#define SIM_JOBS 64

struct sim_job { /* one placement on the simulated machine */
        char job[40];
        uint64_t generation, seq;
        const char *phase;
        char cause[24];
        int64_t started_wall_us, started_boot_us, ran_us;
        int64_t cpu_us, progress_seq;
        json_t *order, *save, *exit, *error;
        bool used;
};

struct world;
struct sim_event {
        int64_t at_boot_us;
        uint64_t order; /* ties keep their order */
        void (*fire)(struct world *w, void *arg);
        void *arg;
};

struct world {
        struct env env; /* first */
        int64_t wall_us, boot_us;
        uint64_t rng, next_order;
        sd_event *loop;
        char dir[64];
        struct store *store;
        struct engine *engine;
        struct engine_site site;
        struct engine_connection connection;
        struct engine_backend captures[3], vault;
        json_t *site_settings;
        VEC(struct sim_event) events;
        VEC(struct env_timer *) timers;
        /* the machine */
        struct env_stream *stream;
        struct sim_job jobs[SIM_JOBS];
        json_t *checkpoints; /* id -> true: what the vault holds */
        bool reachable;
        int64_t save_us, start_us, stop_us;
        bool idle;               /* its jobs use no CPU and report nothing */
        const char *refuse_path; /* saves are refused with this value      */
        const char *start_error; /* starts fail with this code             */
        int64_t stop_wall_us;    /* the lease as held                      */
        size_t saves, starts, stops, leases, releases, power_calls;
        struct pd_error fatal;
};

int world_new(struct world *w, const json_t *site_settings);
void world_free(struct world *w);
/* The daemon dies and starts again over the same store and the same machine. */
int world_restart(struct world *w);
/* Runs everything that is due up to `us` from now. */
void world_run(struct world *w, int64_t us);

struct reply {
        bool done;
        struct pd_error err; /* code PD_OK = good */
        json_t *body;        /* owned */
};
/* Asks and runs until it is answered (at most a virtual minute). */
void world_ask(struct world *w, const char *verb, const char *target, json_t *args /* given */, const char *key,
        struct reply *ret);
void reply_clear(struct reply *r);
/* A job of the given settings ({"flag": ...}); its id into buf. */
void world_submit(struct world *w, const char *settings, char id[40]);
/* Members of the job as the API shows it: "state", "cause", "result". Static buffer, good for a few calls. */
const char *world_job(struct world *w, const char *id, const char *member);
int64_t world_job_int(struct world *w, const char *id, const char *member);
struct sim_job *world_sim(struct world *w, const char *id);
void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause);
void world_reach(struct world *w, bool reachable);
void world_event(struct world *w, const json_t *event); /* from the machine, if it can be reached */
void world_notice(struct world *w, int64_t in_us);

#endif
