/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: how the ten files say what they decide. The `why` of a KEEP holds no figure that changes from check to check, so that
 * explain can tell inaction as one stretch; such figures go into would_act. */
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

#define POLICY_ARGS                                                                                  \
        const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x, \
                const struct settings *s, int64_t now_wall_us
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
