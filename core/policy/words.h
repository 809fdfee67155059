/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: how the ten files say what they decide. The `why` of a KEEP holds figures that change from check to check, if any, only
 * behind its first digit, so that explain can tell inaction as one stretch by what stands before. */
#ifndef POLICY_WORDS_H
#define POLICY_WORDS_H

#include "policy/policy.h"

/* A span for people: whole seconds from a second on; buf >= QUANTITY_MAX. */
const char *policy_span(int64_t us, char *buf);
/* wall + span (>= 0), held at the end of int64_t. */
int64_t policy_later(int64_t wall_us, int64_t span_us);

/* review_wall_us: INT64_MAX = only on an event. */
struct policy_decision policy_keep(const char *policy, int64_t review_wall_us, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
struct policy_decision policy_acts(const char *policy, enum policy_act act, enum job_cause cause, int64_t now_wall_us,
        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void policy_would(struct policy_decision *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void policy_would_at(struct policy_decision *d, int64_t wall_us); /* "at 2026-12-01T10:00:00.000000Z" */

/* Does the job's container run, so that there is something to save? */
static inline bool policy_runs(const struct policy_job *j)
{
        return j->state == JOB_RUNNING || j->state == JOB_SAVING;
}
/* May this cause take an operation over that is at work? stop > ttl > notice > others; no cause outranks itself. */
bool policy_outranks(const struct policy_job *j, enum job_cause cause);
/* A save for this cause was refused, and it is not time to try again. */
static inline bool policy_must_wait(const struct policy_job *j, enum job_cause cause, int64_t now_wall_us)
{
        return j->refused_cause == cause && j->retry_wall_us > now_wall_us;
}
/* A save that is due is not begun: one is at work already, or it was refused and waits for its next try, of which the owner is told (P-25).
 * what: "its machine will be taken away". false = nothing holds it. */
bool policy_held(const char *policy, const struct policy_job *j, enum job_cause cause, int64_t now_wall_us,
        const char *what, struct policy_decision *ret);
/* P-25: the save was refused, and the deadline is no further than the grace between SIGTERM and SIGKILL. */
bool policy_last_word(const struct policy_job *j, const struct settings *s, enum job_cause cause,
        int64_t deadline_wall_us, int64_t now_wall_us);
/* ... else: when that will be, if that is before the review. */
void policy_review_last_word(struct policy_decision *d, const struct policy_job *j, const struct settings *s,
        enum job_cause cause, int64_t deadline_wall_us, int64_t now_wall_us);

/* P-07, P-15: what may still be spent, by the cap and by the budget. */
struct policy_limit {
        bool given;           /* set, and what was spent is known in its currency                           */
        enum job_cause cause; /* CAUSE_CAP, CAUSE_BUDGET                                                     */
        char name[80];        /* "the cap of connection lab"                                                 */
        const char *currency; /* borrowed from job or settings                                               */
        int64_t left_nano;
        int64_t rate_nano;    /* of its machine; -1 = not known in that currency                             */
        int64_t little_nano;  /* what the time to the next check and the save cost; 0 where the rate is not known */
        int64_t ends_wall_us; /* when it is spent at that rate; INT64_MAX = never, or not known              */
};
enum { POLICY_CAP, POLICY_BUDGET, POLICY_LIMITS };
void policy_limits(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct settings *s, int64_t now_wall_us, struct policy_limit ret[POLICY_LIMITS]);
/* For how long so much lasts at a rate an hour, rounded down; a rate of 0 or below lasts for ever. */
int64_t policy_lasts_us(int64_t left_nano, int64_t rate_nano);

/* P-13's first term alone: new x 100 <= present x 80, present > 0. */
bool policy_fifth(const struct policy_machine *m, int64_t rate_nano);
#define POLICY_ARGS                                                                                  \
        const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x, \
                const struct settings *s, int64_t now_wall_us
struct policy_decision policy_look(const char *policy, bool spot_only, POLICY_ARGS);
struct policy_decision policy_move(const char *policy, const struct policy_job *j, size_t offer, int64_t now_wall_us,
        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
struct policy_decision policy_ttl(POLICY_ARGS);
struct policy_decision policy_spot(POLICY_ARGS);
struct policy_decision policy_budget(POLICY_ARGS);
struct policy_decision policy_oom(POLICY_ARGS);
struct policy_decision policy_idle(POLICY_ARGS);
struct policy_decision policy_lifetime(POLICY_ARGS);
struct policy_decision policy_lease(POLICY_ARGS);
struct policy_decision policy_return(POLICY_ARGS);
struct policy_decision policy_cheaper(POLICY_ARGS);
struct policy_decision policy_rightsize(POLICY_ARGS);
#endif
