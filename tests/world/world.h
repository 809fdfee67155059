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

#define SIM_JOBS 128
#define SIM_TICK_US USEC_PER_MIN /* the machine looks at its standing orders and tells its measures */

/* What can go wrong: X(NAME, text). The first group strikes at a seam (one chance in 10,000 of each passing), the second at a time of its own. */
#define WORLD_FAULTS(X)                                                    \
        X(REQUEST_LOST, "request lost before its effect")                  \
        X(ANSWER_LOST, "answer lost after the effect")                     \
        X(EVENT_TWICE, "placement event told twice")                       \
        X(EVENT_LATE, "placement event overtaken")                         \
        X(SAVE_SLOW, "slow save")                                          \
        X(SAVE_REFUSED, "refused save")                                    \
        X(SAVE_FAILS, "failing save")                                      \
        X(START_PASSING, "start fails for now")                            \
        X(START_FOR_GOOD, "start fails for good")                          \
        X(PLUGIN_FAILS, "provider call fails")                             \
        X(DEATH_BEFORE_COMMIT, "death before a commit")                    \
        X(DEATH_AFTER_COMMIT, "death after a commit, before what follows") \
        X(DEATH, "death between events")                                   \
        X(STREAM_DOWN, "stream down")                                      \
        X(RUNNER_RESTART, "runner restarts")                               \
        X(REBOOT, "machine went down without a word")                      \
        X(STATE_LOST, "machine lost its state")                            \
        X(CLOCK_AHEAD, "wall clock steps ahead")                           \
        X(CLOCK_BACK, "wall clock steps back")                             \
        X(RELOAD, "site config reloaded")                                  \
        X(NOTICE_FALSE, "notice, and nothing follows")                     \
        X(NO_MEASURES, "measures missing")
#define FAULT_ENUM(name_, ...) FAULT_##name_,
enum world_fault { WORLD_FAULTS(FAULT_ENUM) FAULT_N };
#undef FAULT_ENUM

struct sim_job { /* one placement on the simulated machine */
        char job[40];
        uint64_t generation, seq;
        const char *phase;
        char cause[24];
        int64_t started_wall_us, started_boot_us, ran_us;
        int64_t cpu_us, progress_seq;
        json_t *order, *save, *exit, *error;
        int64_t lease_wall_us, lease_boot_us, save_until_boot_us, quiet_boot_us;
        const char *fate; /* how its present save will end */
        bool used, released, killing, idle;
        bool did_ttl, did_notice, did_lease; /* each standing order is taken once */
};

struct world;
struct sim_event {
        int64_t at_boot_us;
        uint64_t order; /* ties keep their order */
        void (*fire)(struct world *w, void *arg);
        void *arg;
};

/* Who looks on: told of what truly happens, before portald can know. All may be NULL. */
struct world_watch {
        void (*request)(
                struct world *w, uint64_t generation, const json_t *body); /* reached the runner; no effect yet */
        void (*truth)(struct world *w, const struct sim_job *s);           /* a placement is another than before */
        void (*gone)(struct world *w, const struct sim_job *s);            /* the machine lost it */
        void (*plugin)(struct world *w, const char *slot);
        void (*struck)(struct world *w, enum world_fault f);
        void (*started)(struct world *w); /* the daemon is up (again) */
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
        /* faults: a chance of its own, so that a fault more or less does not change what users do */
        const struct world_watch *watch;
        uint64_t chance;
        uint32_t rate[FAULT_N]; /* of 10,000 */
        uint64_t struck[FAULT_N], at_work[FAULT_N];
        int64_t no_measures_until_boot_us, notice_boot_us;
        size_t power_seen, open_requests;
        bool dying, ticking; /* dying: no word of this daemon counts any more */
};

int world_new(struct world *w, const json_t *site_settings);
void world_free(struct world *w);
/* The daemon dies and starts again over the same store and the same machine. */
int world_restart(struct world *w);
/* Dies without a goodbye; what it had on disk, and what its last requests did, stays. The next world_restart() is its next life. */
void world_die(struct world *w);
/* Does this fault strike here? Counts it, and whether work was in flight. */
bool world_fault(struct world *w, enum world_fault f);
void world_struck(struct world *w, enum world_fault f); /* a timed one */
bool world_at_work(const struct world *w);              /* is something under way that a fault could hit? */
uint64_t world_chance(struct world *w, uint64_t below); /* the faults' own dice */
extern const char *const world_fault_names[FAULT_N];
/* One thing that is due up to then (boot time); false = nothing is. */
bool world_step(struct world *w, int64_t until_boot_us);
void world_settle(struct world *w); /* everything handed to the store is on disk, and what follows from it done */
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
static inline bool world_live(const struct sim_job *s) /* has it, or will it have, a process? */
{
        return s->used && !streq(s->phase, "exited") && !streq(s->phase, "failed");
}
void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause);
void sim_exit_as(struct world *w, struct sim_job *s, int code, int sig, bool oom);
void world_reach(struct world *w, bool reachable);
void world_event(struct world *w, const json_t *event); /* from the machine, if it can be reached */
void world_notice(struct world *w, int64_t in_us);
void sim_tick_start(struct world *w);
void sim_runner_restart(struct world *w);
void sim_reboot(struct world *w);
void sim_state_lost(struct world *w);

#endif
