/* SPDX-License-Identifier: Apache-2.0 */
/* Decides: the ten policies that act on a running job (and the clocks of one that waits), one file each, in one ordered table.
 *
 * Functions of values: (job, machine, measures, settings, now) -> what and why. No clock, disk, log, global or allocation. The executor acts,
 * the store records. Rows whose time has not come say KEEP and when to look again. Includes base and spec only. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/base.h"
#include "spec/life.h"
#include "spec/spec.h"

enum policy_act {
        POLICY_KEEP,
        POLICY_SUSPEND,   /* save and suspend                          */
        POLICY_STOP_SAVE, /* save if it can, then end as stopped       */
        POLICY_END,       /* a job that waits: end it, result by cause */
        POLICY_RENEW,     /* move the hard stop ahead                  */
};

/* What is known of one job at one instant. Times of one clock only: _wall_us. -1 in a measure = not measured (never 0). */
struct policy_job {
        enum job_state state;
        bool saving; /* an operation is at work: nothing that changes its place, but a stronger cause: ttl > notice > others */
        enum job_cause saving_cause; /* ... for this cause; CAUSE_NONE = one that anything outranks */
        bool pinned;                 /* exact --on                                                 */
        bool ever_reported;          /* progress reports (else output counts)                      */
        int64_t created_wall_us, term_wall_us;
        int64_t ran_us;                      /* in this term, the present stay included                    */
        int64_t ttl_us;                      /* SETTING_OFF = off                                          */
        int64_t ttl_wall_us, expire_wall_us; /* deadlines of a waiting job; 0 = none                */
        int64_t container_wall_us;           /* start of the present container; 0 = not running            */
        int64_t retry_wall_us;               /* a refused save is not tried again before; 0 = now          */
        enum job_cause refused_cause;        /* ... for this cause                                         */
};
struct policy_machine {
        int64_t notice_wall_us;    /* the machine goes away then; 0 = no notice  */
        int64_t stop_sure_wall_us; /* hard stop as read back; 0 = none           */
        int64_t renewed_wall_us;   /* last renewal read back; 0 = never          */
        bool spot;
};
/* Over the idle window that ends now. */
struct policy_measures {
        int64_t window_us;        /* how far back it reaches without a gap; -1 = no measurement at all        */
        int64_t cpu_us;           /* CPU time used in the window; -1 = not measured                            */
        int64_t progress_wall_us; /* last report or, for jobs that never reported, last output; 0 = none so far (the
                                       * container's start counts); -1 = unknown: counts as active                 */
        int32_t gpu_percent;      /* hundredths, mean; -1 = no GPU asked                                       */
        bool gpu_missing;         /* GPUs asked and not measured: counts as active                             */
};

struct policy_decision {
        enum policy_act act;
        enum job_cause cause;
        const char *policy;     /* "ttl"                                                                  */
        char why[160];          /* one sentence with the figures                                           */
        int64_t review_wall_us; /* look again no later than this; INT64_MAX = only on an event             */
        char would_act[96];     /* of KEEP: what would make it act ("at 2026-..", "after 12m more"); ""    */
};

typedef struct policy_decision (*policy_fn)(const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us);
struct policy_row {
        const char *name;
        policy_fn decide;
        bool changes_place; /* lease does not: at most one of the others acts a check */
};
#define POLICY_N 10
extern const struct policy_row
        policy_table[POLICY_N]; /* ttl spot budget oom idle lifetime lease return cheaper rightsize */

/* One check: every row's word into all[], and the index of the first row that wants to change the place, or -1. A RENEW stands beside it. */
int policy_check(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct settings *s, int64_t now_wall_us, struct policy_decision all[POLICY_N]);
const char *policy_act_name(enum policy_act act); /* "keep" */

#endif
