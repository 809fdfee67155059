/* SPDX-License-Identifier: Apache-2.0 */
/* One job's next reason to be checked, in 64 bytes: a sweep over a million jobs reads these and the best price of each class (core/market), and asks
 * policy_check() only for those where something is due. It says "nothing to do" only where a check would say KEEP in every row; "look" is always
 * allowed. What is not a time, a price or CPU use (a notice, a report, a new measure, new settings, a user's act) is an event: the caller
 * checks the job and makes the watch anew. */
#ifndef POLICY_WATCH_H
#define POLICY_WATCH_H

#include "policy/policy.h"

struct policy_watch {
        int64_t due_wall_us; /* the first time at which a row other than idle, return and cheaper may act, or the watch is worn out */
        int64_t look_wall_us;    /* return and cheaper do not look before                                             */
        int64_t rate_under_nano; /* ... and then only an offer at or under this rate can meet the terms; -1 = none can */
        int64_t idle_wall_us;    /* idle cannot act before; INT64_MAX = not without an event                          */
        int64_t cpu_floor_us; /* CPU time in the idle window from which on the job is active; the caller keeps ...    */
        int64_t cpu_us;       /* ... this current, both from one sample                                            */
        uint32_t class;       /* the caller's: whose best price counts                                             */
        uint32_t spare;
        uint64_t job; /* the caller's                                                                       */
};
static_assert(sizeof(struct policy_watch) == 64, "one cache line a job");

/* After a check at now with these values, whose decisions are all[]. least: the least of each cost of a move (create, handover, minimum, lost, egress)
 * over the offers that could be chosen; NULL = not known, so that the 20 % alone bound the rate. class and job stay. */
void policy_watch_set(struct policy_watch *w, const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us,
        const struct policy_decision all[POLICY_N], const struct policy_offer *least);

/* best_nano: the lowest rate among the class's usable offers, in the currency of the job's machine; INT64_MAX = none. */
static inline bool policy_watch_quiet(const struct policy_watch *w, int64_t best_nano, int64_t now_wall_us)
{
        return (now_wall_us < w->due_wall_us) & ((now_wall_us < w->look_wall_us) | (best_nano > w->rate_under_nano)) &
               ((now_wall_us < w->idle_wall_us) | (w->cpu_us >= w->cpu_floor_us));
}

#endif
