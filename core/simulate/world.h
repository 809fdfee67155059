/* SPDX-License-Identifier: Apache-2.0 */
/* A world without a machine's clock: the daemon's own engine, policies and store on a simulated struct env.
 *
 * Time moves only when world_run() says so; what is due next lies in one heap. Own machines are there from the start, rented ones come and go as a
 * provider plugin says: its vtable is linked in and called through core/host's tables with a clock of this world, so that the engine sees what a
 * plugin host would give it. Each machine has a simulated runner below the frames: it keeps placements as core/frame/RUNNER.md says, acts by its
 * standing orders, has a boot clock of its own, and can be told to refuse, to be slow, or to be unreachable.
 *
 * Includes executor, store and host. Used by tests/world (with faults and an oracle), `portal simulate` and `portal demo`. Same seed, same run. */
#ifndef SIMULATE_WORLD_H
#define SIMULATE_WORLD_H

#include <portald/provider.h>
#include <systemd/sd-event.h>

#include "base/js.h"
#include "base/vec.h"
#include "executor/engine.h"

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
        X(NO_MEASURES, "measures missing")                                 \
        X(CALL_LOST, "provider call lost before its effect")               \
        X(CALL_UNANSWERED, "provider's answer lost after the effect")      \
        X(CALL_THROTTLED, "provider call throttled")                       \
        X(CALL_SLOW, "provider call slow")                                 \
        X(LIST_STALE, "provider lists what was a while ago")               \
        X(LIST_PARTIAL, "provider's list breaks off")                      \
        X(POWER_CUT, "power cut while a change is written")                \
        X(DISK_FULL, "disk full at a write")                               \
        X(DISK_ERROR, "disk error at a write")                             \
        X(CAP_LOWERED, "cap lowered below use")                            \
        X(MEMORY_SHORT, "out of memory, and the job lives on")
#define WORLD_FAULT_ENUM(name_, ...) WORLD_FAULT_##name_,
enum world_fault { WORLD_FAULTS(WORLD_FAULT_ENUM) WORLD_FAULT_N };
#undef WORLD_FAULT_ENUM
static_assert(WORLD_FAULT_N <= 64, "a set of faults is one uint64_t");

struct world;
struct sim_machine;

/* A thing that will happen. Its holder may be part of another struct; `at` is its place in the heap + 1, 0 = it is not in it. */
struct world_due {
        int64_t at_boot_us;
        uint64_t order; /* ties keep their order */
        size_t heap_at;
        void (*fire)(struct world *w, struct world_due *due);
};

struct sim_job { /* one placement on a simulated machine */
        struct sim_machine *machine;
        size_t at; /* in its machine's list */
        char job[40];
        uint64_t generation, seq;
        const char *phase;
        char cause[24];
        int64_t started_wall_us, started_boot_us, ran_us; /* started_boot_us: this world's clock */
        int64_t cpu_us, progress_seq;
        int64_t memory_bytes; /* what it uses: its state */
        int64_t oom_kills, oom_reports;
        json_t *order, *save, *exit, *error;
        int64_t lease_wall_us, lease_boot_us, save_until_boot_us,
                quiet_boot_us; /* lease_boot_us: its machine's clock */
        const char *fate;      /* how its present save will end */
        bool used, released, killing, idle, proved;
        bool did_ttl, did_notice, did_lease; /* each standing order is taken once */
};

struct sim_machine {
        struct world *w;
        size_t at;            /* in world.machines; SIZE_MAX once it is gone */
        char name[257];       /* the provider's id of it */
        char endpoint[280];   /* by which a stream finds it */
        const char *currency; /* NULL */
        bool own, gone;
        int64_t boot_ahead_us; /* its boot clock is this far ahead of the daemon's */
        int64_t up_boot_us;    /* its runner answers from then on */
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes;
        struct env_stream *stream;
        bool reachable;
        VEC(struct sim_job *) jobs;
        int64_t stop_wall_us, stop_boot_us; /* the lease as its runner holds it */
        int64_t notice_boot_us;             /* when it is to go, on this world's clock; 0 = no notice */
        int64_t told_notice_wall_us;        /* by its own wall clock; the last that its boot has seen */
        struct world_connection *connection;
};

/* Who looks on: told of what truly happens, before portald can know. All may be NULL. */
struct world_watch {
        /* Reached the runner; no effect yet. */
        void (*request)(struct world *w, struct sim_machine *m, uint64_t generation, const json_t *body);
        void (*truth)(struct world *w, const struct sim_job *s); /* a placement is another than before */
        void (*gone)(struct world *w, const struct sim_job *s);  /* the machine lost it */
        /* Reached the provider; no effect yet. */
        void (*plugin)(
                struct world *w, const char *connection, const char *slot, const json_t *args, const char *token);
        void (*struck)(struct world *w, enum world_fault f);
        void (*started)(struct world *w);                        /* the daemon is up (again) */
        void (*machine)(struct world *w, struct sim_machine *m); /* it is there, or (m->gone) was */
        void *arg;
};

/* The truth of a provider's cloud, beside its vtable. Its wall clock is world_cloud_wall_us(). */
struct world_cloud {
        /* Brings the cloud up to now, and calls sim_machine_up()/sim_machine_gone() for what has changed. */
        void (*sync)(struct world_connection *c);
        /* When something will change there by itself; INT64_MAX = nothing is known. */
        int64_t (*next_wall_us)(struct world_connection *c);
        /* The guest ended itself (its own timer, its recipe). NULL = it cannot. */
        void (*guest_stops)(struct world_connection *c, struct sim_machine *m);
};

struct world_connection {
        struct world *w;
        char name[49], provider[49];
        bool own; /* of own machines: no vtable */
        json_t *options;
        void *plugin;                     /* of provider.c: the vtable and its instance, which outlives the daemon */
        const struct world_cloud *cloud;  /* NULL with own machines */
        VEC(json_t *) lists;              /* list_owned as it was, newest last: what a stale list may say */
        int64_t boot_min_us, boot_max_us; /* from RUNNING to a runner that answers */
        int64_t settle_us;                /* as its caps say */
        int64_t price_nano_hour;          /* own: what its machine costs */
        int64_t cap_nano;                 /* what may be spent there in all; 0 = no cap. As the site says now */
        bool guest;                       /* its machines end themselves: by their runner's timer */
        VEC(char *) changed;              /* machines that are another than before */
        json_t *first_stops;              /* token of a launch -> the hard stop that its user data arm */
        bool closed;                      /* unreachable: every call fails */
};

struct world_options {
        const json_t *settings; /* site level; NULL = none */
        uint64_t seed;          /* 0 = the tests' own */
        int64_t wall_us;        /* where the wall clock begins; 0 = the tests' own */
        bool wait;              /* the daemon does not start yet: connections are added first, then world_start() */
        bool no_lab;            /* without the connection "lab" of one own machine */
        bool durable;           /* the store syncs: for tests that look at the disk */
        const char *vfs;        /* SQLite's: DISK_VFS for torn and lost writes (disk.h); NULL = the system's */
        uint64_t ballast_bytes; /* of the store; 0 = none */
        const char *dir;        /* parent of the state directory; NULL = /dev/shm, else /var/tmp */
};

struct world {
        struct env env; /* first */
        int64_t wall_us, boot_us;
        int64_t skew_us; /* of the daemon's wall clock, by steps: clouds keep the true time */
        uint64_t rng, next_order, events_n;
        sd_event *loop;
        char dir[96];
        struct store *store;
        struct engine *engine;
        struct engine_site site;
        VEC(struct engine_connection) site_connections; /* as the site has them */
        struct engine_backend captures[3], vault;
        json_t *site_settings;
        VEC(struct world_due *) heap;
        VEC(struct env_timer *) freed_timers; /* a timer may free itself while it fires */
        VEC(struct world_connection *) connections;
        VEC(struct sim_machine *) machines;      /* that there are */
        VEC(struct sim_machine *) past_machines; /* that there were: notes may still point there */
        struct sim_machine *lab;                 /* the one own machine of most tests */
        struct world_due tick, clouds;
        json_t *checkpoints;                                    /* id -> the state that the vault holds under it */
        int64_t save_us, start_us, stop_us;                     /* how long things take */
        int64_t save_bytes_second;                              /* a save of a larger state takes longer; 0 = save_us */
        int64_t (*memory_of)(struct world *w, const char *job); /* what a job of that id uses; NULL = not measured */
        bool idle;                                              /* its jobs use no CPU and report nothing */
        const char *refuse_path;                                /* saves are refused with this value      */
        const char *start_error;                                /* starts fail with this code             */
        size_t saves, starts, stops, leases, releases, power_calls, thaws, moved;
        struct pd_error fatal;
        /* faults: a chance of its own, so that a fault more or less does not change what users do */
        const struct world_watch *watch;
        uint64_t chance;
        uint32_t rate[WORLD_FAULT_N]; /* of 10,000 */
        uint64_t struck[WORLD_FAULT_N], at_work[WORLD_FAULT_N];
        int64_t no_measures_until_boot_us;
        size_t open_requests, open_calls;
        bool syncing;
        bool dying, ticking; /* dying: no word of this daemon counts any more */
        bool durable;
        bool power_cut; /* what was not synced when it died is lost, or torn */
        uint64_t ballast_bytes;
        const char *vfs;
        void *keeper; /* sqlite3: holds a store that is in memory; NULL = it is on disk */
};

int world_new(struct world *w, const json_t *site_settings);
int world_new_with(struct world *w, const struct world_options *o);
int world_start(struct world *w); /* once, after world_options.wait */
void world_free(struct world *w);
/* The daemon dies and starts again over the same store and the same machines. */
int world_restart(struct world *w);
/* Dies without a goodbye; what it had on disk, and what its last requests did, stays. The next world_restart() is its next life. */
void world_die(struct world *w);
/* A connection whose machines are rented from this vtable, as the next world_restart() or world_reload() has it. options: strings, for open(). */
struct world_connection *world_add_connection(struct world *w, const char *name, const struct pd_provider *vtable,
        const json_t *options, const struct world_cloud *cloud, struct pd_error *err);
/* The instance that the vtable's open() made: for the cloud's functions. */
void *world_provider_self(const struct world_connection *c);
/* A connection of own machines; the machine is added with it. */
struct world_connection *world_add_own(
        struct world *w, const char *name, int32_t cpu_milli, uint64_t memory_bytes, int32_t gpus);
/* What may be spent there, as the site has it from the next world_start() or world_reload() on; 0 = no cap. */
void world_set_cap(struct world_connection *c, int64_t nano, const char *currency);
/* The daemon takes the site as it stands now: connections added or changed since. */
int world_reload(struct world *w, struct pd_error *err);

static inline int64_t world_cloud_wall_us(const struct world *w)
{
        return w->wall_us - w->skew_us;
}
/* The daemon's wall clock steps. */
static inline void world_step_clock(struct world *w, int64_t us)
{
        w->wall_us += us;
        w->skew_us += us;
}

/* Does this fault strike here? Counts it, and whether work was in flight. */
bool world_fault(struct world *w, enum world_fault f);
void world_struck(struct world *w, enum world_fault f); /* a timed one */
bool world_at_work(const struct world *w);              /* is something under way that a fault could hit? */
uint64_t world_chance(struct world *w, uint64_t below); /* the faults' own dice */
extern const char *const world_fault_names[WORLD_FAULT_N];
/* One thing that is due up to then (boot time); false = nothing is. */
bool world_step(struct world *w, int64_t until_boot_us);
void world_settle(struct world *w); /* everything handed to the store is on disk, and what follows from it done */
/* Runs everything that is due up to `us` from now. */
void world_run(struct world *w, int64_t us);
/* Something of a caller's own, us from now; arg is freed with free() if the world ends before. */
void world_later(struct world *w, int64_t us, void (*fire)(struct world *w, void *arg), void *arg);

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

/* Placements of all machines that there are: while (s = world_next_job(w, s)). */
struct sim_job *world_next_job(const struct world *w, const struct sim_job *after);
#define world_each_job(w_, s_) for (struct sim_job *s_ = world_next_job(w_, NULL); s_; s_ = world_next_job(w_, s_))
/* Its newest placement; on one machine. NULL = none. */
struct sim_job *world_sim(const struct world *w, const char *job);
struct sim_job *sim_find(const struct sim_machine *m, const char *job);
static inline bool world_live(const struct sim_job *s) /* has it, or will it have, a process? A held one has. */
{
        return s->used && !streq(s->phase, "exited") && !streq(s->phase, "failed");
}
static inline bool world_unfrozen(const struct sim_job *s)
{
        return world_live(s) && !streq(s->phase, "held");
}
struct sim_machine *world_machine(const struct world *w, const char *endpoint);
void sim_exit(struct world *w, struct sim_job *s, int code, int sig, const char *cause);
void sim_exit_as(struct world *w, struct sim_job *s, int code, int sig, bool oom);
void world_reach(struct world *w, bool reachable); /* the lab */
void sim_reach(struct sim_machine *m, bool reachable);
void world_event(struct world *w, const json_t *event); /* from the lab, if it can be reached */
void world_notice(struct world *w, int64_t in_us);      /* the lab's */
void sim_notice(struct sim_machine *m, int64_t in_us, const char *source);
void sim_tick_start(struct world *w);
void sim_runner_restart(struct sim_machine *m);
void sim_reboot(struct sim_machine *m);
void sim_state_lost(struct sim_machine *m);
/* A machine appears, with a runner that answers boot_us later; or is gone, with all that is on it. */
struct sim_machine *sim_machine_up(struct world_connection *c, const char *id, const char *endpoint, int64_t boot_us);
void sim_machine_gone(struct sim_machine *m);

#endif
