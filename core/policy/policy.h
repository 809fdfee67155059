/* SPDX-License-Identifier: Apache-2.0 */
/* Decides: the ten policies that act on a running job (and the clocks of one that waits), one file each, in one ordered table.
 *
 * Functions of values: (job with the offers it could move to, machine, measures, settings, now) -> what and why. No clock, disk, log, global or
 * allocation. The executor acts, the store records. A value that is not known is 0 or NULL unless its line says otherwise, and a row that lacks one
 * says KEEP. No act resumes a job (N-01). Includes base and spec, and of market the one header that needs no linking. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/base.h"
#include "base/quantity.h"
#include "market/notice.h"
#include "spec/life.h"
#include "spec/spec.h"

enum policy_act {
        POLICY_KEEP,
        POLICY_SUSPEND,   /* save and suspend                                                                       */
        POLICY_STOP_SAVE, /* save if it can, then end as stopped                                                    */
        POLICY_END,       /* a job that waits: end it, result by cause                                              */
        POLICY_RENEW,     /* move the hard stop ahead, no further than until_wall_us                                */
        POLICY_MOVE,      /* to offers[offer]                                                                       */
        POLICY_STOP,      /* P-25, budget and cap: end it as stopped without a save, which was refused              */
        POLICY_TERM,      /* P-25, notice and lifetime: SIGTERM; what follows is as for a machine that vanished     */
};

/* Where a job could move to. All borrowed. */
struct policy_offer {
        const char *name; /* CONNECTION/ZONE/TYPE[/spot]                                                       */
        uint64_t key;     /* the caller's, the same from look to look: re-validation finds the offer by it     */
        bool spot;
        struct money rate;    /* an hour; another currency than the machine's is not compared (core/market converts) */
        const char *unusable; /* why its price is unfit for automatic moves (market_why()); NULL = it is fit       */
        int64_t not_before_wall_us; /* P-17: a reclaimed pool is left out until then; 0 = it is not                      */
        struct market_notice
                notice;      /* P-06; of a spot offer                                                            */
        int64_t create_us;   /* from the create call to the freeze: the target costs, the source works            */
        int64_t handover_us; /* from the freeze to the source's end: both cost; 0 = not known, no move            */
        int64_t minimum_us;  /* billed at least                                                                   */
        int64_t lost_us;     /* P-21: work done again because a consent or `restart` carries less than all        */
        int64_t egress_nano; /* of the job's state on its way there, in the rate's currency                       */
};

/* What is known of one job at one instant. Times of one clock only: _wall_us. */
struct policy_job {
        enum job_state state;
        bool saving; /* an operation is at work: nothing that changes its place, but a stronger cause: ttl > notice > others */
        enum job_cause saving_cause; /* ... for this cause; CAUSE_NONE = one that anything outranks */
        bool pinned;                 /* exact --on                                                 */
        bool ever_reported;          /* progress reports (else output counts)                      */
        bool no_spot;                /* --no-spot: never moved to spot                             */
        bool can_end; /* the executor takes POLICY_STOP and POLICY_TERM; else the runner's standing orders end it alone */
        int64_t created_wall_us, term_wall_us;
        int64_t ran_us;                      /* in this term, the present stay included                    */
        int64_t ran_before_us;               /* in the terms before                                        */
        int64_t ttl_us;                      /* SETTING_OFF = off                                          */
        int64_t ttl_wall_us, expire_wall_us; /* deadlines of a waiting job; 0 = none                */
        int64_t container_wall_us;           /* start of the present container; 0 = not running            */
        int64_t retry_wall_us;               /* a refused save is not tried again before; 0 = now          */
        enum job_cause refused_cause;        /* ... for this cause                                         */
        struct money spent;                  /* on it, in all its terms; currency "" = not known           */
        struct money cap_left;               /* under the tightest cap; currency "" = none, or not known   */
        const char *cap_name;                /* "connection lab"; NULL = "its connection"                  */
        int64_t moved_wall_us;               /* P-16: last change of machine, a resume included; 0 = never */
        int64_t looked_wall_us;              /* last decision with `looked`; 0 = never                     */
        int32_t moves_lost;                  /* automatic moves that cost more than they saved             */
        int32_t cpu_milli;                   /* asked; 0 = not known                                       */
        uint64_t memory_bytes;               /* asked; 0 = not known                                       */
        const struct policy_offer *offers;   /* that fit it, its own left out, as placement ranks them     */
        size_t offers_n;
};
struct policy_machine {
        int64_t notice_wall_us;    /* the machine goes away then; 0 = no notice  */
        int64_t stop_sure_wall_us; /* hard stop as read back; 0 = none           */
        int64_t renewed_wall_us;   /* last renewal read back; 0 = never          */
        bool spot;
        struct money rate;           /* an hour; currency "" = not known                           */
        const char *rate_unusable;   /* why that price is unfit for automatic moves; NULL = it is fit */
        int64_t ends_wall_us;        /* the provider's fixed limit on its life; 0 = none            */
        int64_t stop_lag_us;         /* from an accepted stop to the end of billing                 */
        struct market_notice notice; /* P-05                                                        */
};
/* Over the idle window that ends now; -1 in its members = not measured (never 0). In the members after gpu_missing 0 = not measured, none. */
struct policy_measures {
        int64_t window_us;        /* how far back it reaches without a gap; -1 = no measurement at all        */
        int64_t cpu_us;           /* CPU time used in the window; -1 = not measured                            */
        int64_t progress_wall_us; /* last report or, for jobs that never reported, last output; 0 = none so far (the
                                       * container's start counts); -1 = unknown: counts as active                 */
        int32_t gpu_percent;      /* hundredths, mean; -1 = no GPU asked                                       */
        bool gpu_missing;         /* GPUs asked and not measured: counts as active                             */
        uint64_t state_bytes;     /* what a checkpoint would hold, before compression                          */
        int64_t save_us;          /* how long its last save, or a measured one, took                           */
        uint64_t memory_bytes, memory_limit_bytes; /* in use, without what the kernel can drop at once         */
        int32_t memory_stalled;       /* hundredths of a percent of the time in which it waited for memory        */
        int64_t oom_reported_wall_us; /* the job said, alive, that an allocation failed (CUDA, MemoryError)     */
        int64_t oom_child_wall_us;    /* the kernel killed a child; the main process lives                       */
        int32_t peak_cpu_milli;
        uint64_t peak_memory_bytes;
};

struct policy_decision {
        enum policy_act act;
        enum job_cause cause;
        const char *policy;     /* "ttl"                                                                  */
        char why[200];          /* one sentence with the figures                                           */
        int64_t review_wall_us; /* look again no later than this; INT64_MAX = only on an event             */
        char would_act[96];     /* of KEEP: what would make it act ("at 2026-..", "if .. costs <= .."); "" */
        bool warn;              /* the owner is to be told (P-05, P-25)                                    */
        bool looked;            /* return, cheaper: the offers were looked at: the caller keeps now as looked_wall_us */
        bool paced;             /* return, cheaper: KEEP only because it is not yet time for another look    */
        size_t offer;           /* of MOVE: index into the job's offers                                    */
        uint64_t offer_key;     /* ... and its key                                                         */
        int64_t saving_nano, cost_nano, remaining_us; /* of a look: for the offer chosen, or the nearest   */
        int64_t until_wall_us; /* of RENEW: no further than this; 0 = the whole horizon                   */
        int32_t cpu_milli;     /* of MOVE and of rightsize: what to ask of the target (P-14); 0 = as asked */
        uint64_t memory_bytes;
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

/* Right before acting, on fresh values: would the check still do this? A move holds while its own target meets the terms; *ret_offer (may be NULL) is
 * the target's index in the fresh offers. false = *ret_fresh says in one sentence what the matter is (act KEEP) or what the check would do instead. */
bool policy_revalidate(const struct policy_decision *d, const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us,
        struct policy_decision *ret_fresh, size_t *ret_offer);

/* P-14: what a move or a resume asks for: the measured peaks x 1.3, never below what was asked; as asked where rightsize is off or the job pinned. */
struct policy_size {
        int32_t cpu_milli;
        uint64_t memory_bytes;
};
struct policy_size policy_size(const struct policy_job *j, const struct policy_measures *x, const struct settings *s);

/* P-12, P-13: may an automatic move choose it at all? NULL = it may; else why not. */
const char *policy_barred(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct policy_offer *o, int64_t now_wall_us);

/* P-13's terms for one offer at a price of its own, exact. */
struct policy_terms {
        int64_t remaining_us; /* <= 0: no move                                       */
        int64_t saving_nano;  /* rounded down                                        */
        int64_t cost_nano;    /* rounded up                                          */
        bool fifth;           /* new x 100 <= present x 80, present > 0              */
        bool thrice;          /* saving >= 3 x cost, compared before any rounding    */
};
/* rate_nano: instead of o->rate. */
void policy_terms(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o, int64_t rate_nano, struct policy_terms *ret);
/* The highest rate at which both terms are met; -1 = none is. */
int64_t policy_rate_max(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *o);

#endif
