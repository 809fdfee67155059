/* SPDX-License-Identifier: Apache-2.0 */
/* `portal simulate` and `portal demo`: the daemon's own engine on the simulated world (core/simulate), with jobs that work for so long, a made-up or
 * recorded market, and a user who resumes what was suspended. Nothing of it touches a daemon or a cloud.
 *
 * Includes simulate and what that includes. plan.c reads what is to be tried, run.c runs one setting of it, tally.c counts, report.c prints, demo.c
 * tells a story as it happens. */
#ifndef TRYOUT_TRYOUT_H
#define TRYOUT_TRYOUT_H

#include "base/js.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "simulate/world.h"

struct try_job {
        char name[65];
        int64_t at_us;           /* submitted so long after the beginning                        */
        int64_t work_us;         /* running time that it needs                                   */
        int64_t deadline_us;     /* after its submission; 0 = none                               */
        int64_t state_bytes;     /* what it has in memory                                        */
        json_t *spec, *settings; /* as in POST /v1/jobs; settings: its flags, key -> text        */
};
struct try_variant {
        char name[65];
        json_t *settings; /* of the site: key -> text */
};
struct try_plan {
        VEC(struct try_job) jobs;
        VEC(struct try_variant) variants;
        json_t *cloud;         /* options of the provider sim */
        int64_t wall_us;       /* where the clock begins                                             */
        int64_t first_wall_us; /* of past jobs: when the first was submitted; else 0               */
        int64_t span_us;       /* how long at most                                                   */
        int64_t resume_us;     /* from a suspension to the user's resume                             */
        int64_t overhead_us;   /* what a start may take, for the user's last instant                 */
        int64_t start_us;      /* from an order to a container that runs, besides the world's own  */
        uint64_t seed;
        bool demo; /* a user who also tries what is refused */
};
void try_plan_clear(struct try_plan *p);
/* The file's KEY=VALUE lines (# comments) as one variant, named after it. path NULL: built-in settings. */
int try_add_variant(struct try_plan *p, const char *path, struct pd_error *err);
/* A JSON array of jobs, an object {"jobs": [...]} of such, or of the API's JOBs. path NULL: one job of a day. */
int try_add_jobs(struct try_plan *p, const char *path, struct pd_error *err);
/* A trace of the provider sim, or the API's {"offers": [...], "prices": [...]}: a price stays as it was seen last. NULL: a market that is made up. */
int try_set_prices(struct try_plan *p, const char *path, int64_t from_us, int64_t to_us, struct pd_error *err);

/* One job's life in a run. */
struct try_life {
        const struct try_job *job;
        char id[40], state[24], result[24], cause[24];
        int64_t submitted_wall_us, ended_wall_us; /* ended: 0 = not yet */
        int64_t suspended_wall_us;                /* 0 = it is not      */
        int64_t worked, most;                     /* minutes of work that it has, and the most it ever had */
        int64_t redone, waited, on_demand;        /* minutes: lost work, without a machine, on demand      */
        bool submitted, ended, last_instant, missed, tried;
        bool changed;           /* since the last look */
        size_t rows, decisions; /* of its history and decisions, told so far */
        int64_t cost_nano;      /* as the API's JOB has it */
        int32_t moves, refusals, notices, suspensions, resumes;
        json_t *explain; /* at the end, as the API gives it */
};
struct try_result {
        const struct try_variant *variant;
        VEC(struct try_life) lives;
        char currency[4];
        int64_t ledger_nano;    /* the sum of the ledger's lines                */
        int64_t jobs_nano;      /* the sum of what each job cost, as the API says */
        int64_t bill_nano;      /* what the cloud truly bills                   */
        int64_t on_demand_nano; /* the work at the cheapest rate on demand      */
        int64_t span_us;
        json_t *lines; /* of the ledger */
        int32_t moves, refusals, notices, suspensions, resumes, done, missed, machines;
        int64_t worked_us, waited_us, redone_us, on_demand_us;
};
void try_result_clear(struct try_result *r);

/* Told of each new row of a job's history ({"at_wall_us","event",...}) and each new decision ({"policy","act",...}), and of each hour that has passed. */
struct try_watch {
        void (*row)(void *arg, const struct try_life *l, const json_t *row);
        void (*decision)(void *arg, const struct try_life *l, const json_t *decision);
        void (*hour)(void *arg, const struct try_result *so_far, int64_t wall_us);
        void *arg;
};
int try_run(const struct try_plan *p, const struct try_variant *v, const struct try_watch *watch,
        struct try_result *ret, struct pd_error *err);

/* --- market.c: a trace in memory; its path --- */
int try_demo_market(uint64_t seed, int64_t span_us, char *path, size_t n, struct pd_error *err);

/* --- recorded.c: the same of what the API said; when it begins, 0 = it has no past --- */
int try_recorded_market(const json_t *said, char *path, size_t n, int64_t *ret_start_wall_us, struct pd_error *err);

/* --- tally.c --- */
void try_tell(struct world *w, struct try_life *l, const struct try_watch *watch); /* what is new of a job */
int try_count(struct world *w, struct world_connection *cloud, struct try_result *r, bool whole, struct pd_error *err);

/* --- report.c --- */
int try_report_table(const struct try_plan *p, const struct try_result *r, size_t n);
int try_report_json(const struct try_plan *p, const struct try_result *r, size_t n);
int try_report_csv(const struct try_result *r, size_t n);
json_t *try_result_json(const struct try_result *r, bool whole);

int try_simulate(int argc, char **argv);
int try_demo(int argc, char **argv);

#endif
