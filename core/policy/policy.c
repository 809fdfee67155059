/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/words.h"

#include <stdio.h>

/* The order is the requirement's (P-15): the first that wants to change where the job runs is the one that does. */
const struct policy_row policy_table[POLICY_N] = {
        { "ttl", policy_ttl, true },
        { "spot", policy_spot, true },
        { "budget", policy_budget, true },
        { "oom", policy_oom, true },
        { "idle", policy_idle, true },
        { "lifetime", policy_lifetime, true },
        { "lease", policy_lease, false },
        { "return", policy_return, true },
        { "cheaper", policy_cheaper, true },
        { "rightsize", policy_rightsize, true },
};

int policy_check(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct settings *s, int64_t now_wall_us, struct policy_decision all[POLICY_N])
{
        int first = -1;

        for (int i = 0; i < POLICY_N; i++) {
                all[i] = policy_table[i].decide(j, m, x, s, now_wall_us);
                if (first < 0 && policy_table[i].changes_place && all[i].act != POLICY_KEEP)
                        first = i;
        }
        if (first >= 0 && all[first].act == POLICY_MOVE) {
                struct policy_size size = policy_size(j, x, s);

                all[first].cpu_milli = size.cpu_milli;
                all[first].memory_bytes = size.memory_bytes;
        }
        return first;
}

const char *policy_act_name(enum policy_act act)
{
        static const char *const names[] = {
                [POLICY_KEEP] = "keep",
                [POLICY_SUSPEND] = "suspend",
                [POLICY_STOP_SAVE] = "stop",
                [POLICY_END] = "end",
                [POLICY_RENEW] = "renew",
                [POLICY_MOVE] = "move",
                [POLICY_STOP] = "stop without a save",
                [POLICY_TERM] = "signal",
        };

        return (size_t)act < ARRAY_LEN(names) ? names[act] : "?";
}

/* --- words --- */

const char *policy_span(int64_t us, char *buf)
{
        return duration_format(us >= USEC_PER_SEC ? us - us % USEC_PER_SEC : us, buf);
}

int64_t policy_later(int64_t wall_us, int64_t span_us)
{
        int64_t sum;

        if (__builtin_add_overflow(wall_us, span_us, &sum))
                return INT64_MAX;
        return sum;
}

__attribute__((format(printf, 3, 0))) static void say(char *buf, size_t n, const char *fmt, va_list ap)
{
        (void)vsnprintf(buf, n, fmt, ap);
}

struct policy_decision policy_keep(const char *policy, int64_t review_wall_us, const char *fmt, ...)
{
        struct policy_decision d = { .act = POLICY_KEEP, .policy = policy, .review_wall_us = review_wall_us };
        va_list ap;

        va_start(ap, fmt);
        say(d.why, sizeof d.why, fmt, ap);
        va_end(ap);
        return d;
}

struct policy_decision policy_acts(
        const char *policy, enum policy_act act, enum job_cause cause, int64_t now_wall_us, const char *fmt, ...)
{
        struct policy_decision d = { .act = act, .cause = cause, .policy = policy, .review_wall_us = now_wall_us };
        va_list ap;

        va_start(ap, fmt);
        say(d.why, sizeof d.why, fmt, ap);
        va_end(ap);
        return d;
}

struct policy_decision policy_move(
        const char *policy, const struct policy_job *j, size_t offer, int64_t now_wall_us, const char *fmt, ...)
{
        struct policy_decision d = { .act = POLICY_MOVE, .cause = CAUSE_MOVE, .policy = policy };
        va_list ap;

        d.review_wall_us = now_wall_us;
        d.offer = offer;
        d.offer_key = j->offers[offer].key;
        va_start(ap, fmt);
        say(d.why, sizeof d.why, fmt, ap);
        va_end(ap);
        return d;
}

void policy_would(struct policy_decision *d, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        say(d->would_act, sizeof d->would_act, fmt, ap);
        va_end(ap);
}

void policy_would_at(struct policy_decision *d, int64_t wall_us)
{
        char at[QUANTITY_MAX];

        policy_would(d, "at %s", time_format_utc(wall_us, at));
}

static int rank(enum job_cause cause)
{
        if (cause == CAUSE_TTL)
                return 2;
        return cause == CAUSE_NOTICE ? 1 : 0;
}

bool policy_outranks(const struct policy_job *j, enum job_cause cause)
{
        return !j->saving || rank(cause) > rank(j->saving_cause);
}

bool policy_held(const char *policy, const struct policy_job *j, enum job_cause cause, int64_t now_wall_us,
        const char *what, struct policy_decision *ret)
{
        if (!policy_outranks(j, cause)) {
                *ret = policy_keep(policy, INT64_MAX, "%s, and its state is being saved already", what);
                return true;
        }
        if (!policy_must_wait(j, cause, now_wall_us))
                return false;
        *ret = policy_keep(policy, j->retry_wall_us, "%s, but the save was refused; it is tried again", what);
        policy_would_at(ret, j->retry_wall_us);
        ret->warn = true;
        return true;
}

static bool speaks_last(const struct policy_job *j, enum job_cause cause)
{
        return j->can_end && j->refused_cause == cause;
}

bool policy_last_word(const struct policy_job *j, const struct settings *s, enum job_cause cause,
        int64_t deadline_wall_us, int64_t now_wall_us)
{
        return speaks_last(j, cause) && policy_later(now_wall_us, s->stop_grace_us) >= deadline_wall_us;
}

void policy_review_last_word(struct policy_decision *d, const struct policy_job *j, const struct settings *s,
        enum job_cause cause, int64_t deadline_wall_us, int64_t now_wall_us)
{
        int64_t at = deadline_wall_us - s->stop_grace_us;

        if (speaks_last(j, cause) && at > now_wall_us && at < d->review_wall_us)
                d->review_wall_us = at;
}
