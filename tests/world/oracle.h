/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a simulated world and says which law was broken (ARCHITECTURE, "Laws").
 *
 * It knows what truly happens at the runner, what users asked and what the API answered; it shares no code with the rooms that it judges: jansson,
 * and SQLite for a look at the disk from outside. */
#ifndef TESTS_WORLD_ORACLE_H
#define TESTS_WORLD_ORACLE_H

#include "simulate/cloud.h"

#define ORACLE_JOBS 256
#define ORACLE_LAWS 27
#define ORACLE_PLACES 12 /* placements of a job that are looked at side by side */
enum { ORACLE_POLICY_N = 10 };
extern const char *const oracle_policies[ORACLE_POLICY_N];

struct oracle_place { /* a placement of a job, as the runner has it */
        const struct sim_job *at;
        uint64_t generation;
        bool counted;    /* its running time is in the job's */
        int64_t held_us; /* what it ran before it was held: a thaw begins a stay of its own */
};

struct oracle_job {
        char id[40];
        bool acked;   /* a user was told that it was taken */
        bool dirty;   /* changed since its history was last replayed */
        char on[64];  /* where its spec says that it must run; "" = anywhere */
        bool no_spot; /* it was submitted with spot.use=off */
        bool rests;   /* suspended or ended, and nobody asked for a resume since */
        bool asked_stop, asked_suspend;
        /* as submitted */
        int64_t ttl_us /* -1 = off */, ttl_keep_us, idle_after_us;
        /* the runner's truth */
        uint64_t newest_generation;
        int64_t ran_us /* in this term, of placements that are over */, lost_us;
        struct oracle_place places[ORACLE_PLACES];
        size_t places_n;
        uint64_t proved_generation; /* newest that ran */
        bool gone /* its machine forgot it */, asked_move;
        char newest[40];      /* newest committed checkpoint */
        uint64_t newest_from; /* ... of this generation */
        bool newest_told;     /* ... and portald has it on disk */
        /* what the API says, on disk */
        bool known;
        char state[16], cause[16];
        int64_t generation, ended_wall_us, ttl_wall_us, expire_wall_us, overdue_us;
        /* requests at the runner in this hour */
        int64_t hour;
        unsigned int requests;
};

#define ORACLE_QUERIES 24

struct oracle {
        struct world *w;
        void *db; /* sqlite3 */
        struct {
                const char *sql;
                void *st; /* sqlite3_stmt */
        } queries[ORACLE_QUERIES];
        struct engine_watch *watch;
        struct oracle_job jobs[ORACLE_JOBS];
        size_t jobs_n;
        uint64_t held[ORACLE_LAWS]; /* how often a law's precondition held */
        uint64_t acted[ORACLE_POLICY_N], refused[ORACLE_POLICY_N], kept[ORACLE_POLICY_N]; /* by decisions on disk */
        int64_t wall_max_us, last_look_us;
        int64_t stepped_from_wall_us, stepped_boot_us; /* the last step of the clock: what it showed before */
        struct {
                int64_t hour;
                unsigned int all, changes;
        } calls[8]; /* by connection */
        unsigned int leases, renewals;
        const struct world_connection *money_due; /* an act has just changed what may be spent there ... */
        int64_t money_cap_nano;                   /* ... by this cap */
        int64_t dead_since_us;                    /* the daemon is dead for ever; 0 = it is not */
        bool skewed;                              /* the wall clock stepped: the daemon's bill cannot be the cloud's */
        char secret[24];                          /* planted in a connection's options (law 19) */
        uint64_t cloud_struck[FAULT_KIND_N], machines, reclaims, bills, bills_equal;
        bool any_notice;
        int law; /* the first one broken; 0 = none */
        char text[400];
        uint64_t digest;
        char trace[48][160];
        size_t trace_n;
        bool verbose;
};

void oracle_init(struct oracle *o, struct world *w);
void oracle_close(struct oracle *o);
/* The daemon is up (again), or has gone. */
void oracle_up(struct oracle *o);
void oracle_down(struct oracle *o);
void oracle_refresh(struct oracle *o); /* what the API lists, now */
void oracle_after(struct oracle *o);   /* each event */
void oracle_settled(struct oracle *o); /* at the very end: laws 7, 9, 23-25 */
void oracle_dead(struct oracle *o);    /* ... or the daemon is dead since, for ever: law 8 */
void oracle_sums(struct oracle *o);    /* what the decisions say of each policy; faults of the clouds */
void oracle_machine(struct oracle *o, const struct sim_machine *m);
struct oracle_job *oracle_job(struct oracle *o, const char *id); /* made on first sight; NULL = too many */
__attribute__((format(printf, 2, 3))) void oracle_log(struct oracle *o, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void oracle_broken(struct oracle *o, int law, const char *fmt, ...);
/* The runner's side, from the world's watch. */
void oracle_request(struct oracle *o, const struct sim_machine *m, uint64_t generation, const json_t *body);
void oracle_truth(struct oracle *o, const struct sim_job *s);
void oracle_gone(struct oracle *o, const struct sim_job *s);
void oracle_plugin(struct oracle *o, const char *connection, const char *slot, const json_t *args, const char *token);

#endif
