/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/life.h"

#define C(name_) BIT(CAUSE_##name_)
#define NEW JOB_STATE_N

/* Causes that suspend, and causes that end a job by order. */
#define SUSPENDS \
        (C(USER) | C(NOTICE) | C(IDLE) | C(OOM) | C(BUDGET) | C(CAP) | C(LIFETIME) | C(LEASE) | C(MACHINE_LOST))
#define STOPS (C(USER) | C(TTL) | C(LIMIT) | C(BUDGET) | C(CAP))
#define SAVES (SUSPENDS | C(TTL) | C(LIMIT) | C(MOVE))
#define FAILS (C(EXIT) | C(SIGNAL) | C(OOM) | C(MACHINE_LOST) | C(NOTICE) | C(LIFETIME) | C(LEASE))

/* A cause on a state other than ended says why the job is on its way there, or rests there. */
const struct life_edge life_edges[] = {
        { NEW, EVENT_SUBMIT, JOB_QUEUED, RESULT_NONE, 0 },

        { JOB_QUEUED, EVENT_PLACE, JOB_STARTING, RESULT_NONE, 0 },
        { JOB_QUEUED, EVENT_PLACE, JOB_RESTORING, RESULT_NONE, 0 },
        { JOB_QUEUED, EVENT_STOP, JOB_ENDED, RESULT_STOPPED, C(USER) },
        { JOB_QUEUED, EVENT_TTL, JOB_ENDED, RESULT_STOPPED, C(TTL) },
        { JOB_QUEUED, EVENT_EXPIRE, JOB_ENDED, RESULT_FAILED, C(EXPIRED) },
        { JOB_QUEUED, EVENT_START_FAILED, JOB_ENDED, RESULT_FAILED, C(START) },

        { JOB_STARTING, EVENT_STARTED, JOB_RUNNING, RESULT_NONE, 0 },
        { JOB_STARTING, EVENT_UNPLACE, JOB_QUEUED, RESULT_NONE, 0 },
        { JOB_STARTING, EVENT_START_FAILED, JOB_ENDED, RESULT_FAILED, C(START) },
        { JOB_STARTING, EVENT_STOP, JOB_ENDING, RESULT_NONE, STOPS },
        { JOB_STARTING, EVENT_LOST, JOB_QUEUED, RESULT_NONE, 0 },
        { JOB_STARTING, EVENT_EXITED, JOB_ENDED, RESULT_SUCCEEDED, C(EXIT) },
        { JOB_STARTING, EVENT_EXITED, JOB_ENDED, RESULT_FAILED, FAILS },
        { JOB_STARTING, EVENT_EXITED, JOB_ENDED, RESULT_STOPPED, STOPS },

        { JOB_RESTORING, EVENT_STARTED, JOB_RUNNING, RESULT_NONE, 0 },
        { JOB_RESTORING, EVENT_UNPLACE, JOB_QUEUED, RESULT_NONE, 0 },
        { JOB_RESTORING, EVENT_START_FAILED, JOB_SUSPENDED, RESULT_NONE, SUSPENDS | C(START) },
        { JOB_RESTORING, EVENT_START_FAILED, JOB_ENDED, RESULT_FAILED, C(START) },
        { JOB_RESTORING, EVENT_STOP, JOB_ENDING, RESULT_NONE, STOPS },
        { JOB_RESTORING, EVENT_RETURN, JOB_RESTORING, RESULT_NONE, C(MOVE) },
        { JOB_RESTORING, EVENT_LOST, JOB_SUSPENDED, RESULT_NONE, C(MACHINE_LOST) },
        { JOB_RESTORING, EVENT_EXITED, JOB_ENDED, RESULT_SUCCEEDED, C(EXIT) },
        { JOB_RESTORING, EVENT_EXITED, JOB_ENDED, RESULT_FAILED, FAILS },
        { JOB_RESTORING, EVENT_EXITED, JOB_ENDED, RESULT_STOPPED, STOPS },

        { JOB_RUNNING, EVENT_SAVE, JOB_SAVING, RESULT_NONE, SAVES },
        { JOB_RUNNING, EVENT_SAVED, JOB_SUSPENDED, RESULT_NONE, SUSPENDS },
        { JOB_RUNNING, EVENT_HANDED, JOB_RESTORING, RESULT_NONE, C(MOVE) },
        { JOB_RUNNING, EVENT_STOP, JOB_ENDING, RESULT_NONE, STOPS },
        { JOB_RUNNING, EVENT_EXITED, JOB_ENDED, RESULT_SUCCEEDED, C(EXIT) },
        { JOB_RUNNING, EVENT_EXITED, JOB_ENDED, RESULT_FAILED, FAILS },
        { JOB_RUNNING, EVENT_EXITED, JOB_ENDED, RESULT_STOPPED, STOPS },
        { JOB_RUNNING, EVENT_LOST, JOB_SUSPENDED, RESULT_NONE, C(MACHINE_LOST) | C(NOTICE) | C(LIFETIME) | C(LEASE) },
        { JOB_RUNNING, EVENT_LOST, JOB_ENDED, RESULT_FAILED, C(MACHINE_LOST) },

        { JOB_SAVING, EVENT_KEPT, JOB_RUNNING, RESULT_NONE, 0 },
        { JOB_SAVING, EVENT_REFUSED, JOB_RUNNING, RESULT_NONE, 0 },
        { JOB_SAVING, EVENT_SAVE, JOB_SAVING, RESULT_NONE, SAVES }, /* a stronger cause */
        { JOB_SAVING, EVENT_SAVED, JOB_SUSPENDED, RESULT_NONE, SUSPENDS },
        { JOB_SAVING, EVENT_HANDED, JOB_RESTORING, RESULT_NONE, C(MOVE) },
        { JOB_SAVING, EVENT_RETURN, JOB_RESTORING, RESULT_NONE, C(MOVE) }, /* saved, and no target any more */
        { JOB_SAVING, EVENT_STOP, JOB_ENDING, RESULT_NONE, STOPS },
        { JOB_SAVING, EVENT_EXITED, JOB_ENDED, RESULT_SUCCEEDED, C(EXIT) },
        { JOB_SAVING, EVENT_EXITED, JOB_ENDED, RESULT_FAILED, FAILS },
        { JOB_SAVING, EVENT_EXITED, JOB_ENDED, RESULT_STOPPED, STOPS },
        { JOB_SAVING, EVENT_LOST, JOB_SUSPENDED, RESULT_NONE, C(MACHINE_LOST) | C(NOTICE) | C(LIFETIME) | C(LEASE) },
        { JOB_SAVING, EVENT_LOST, JOB_ENDED, RESULT_FAILED, C(MACHINE_LOST) },

        { JOB_SUSPENDED, EVENT_RESUME, JOB_QUEUED, RESULT_NONE, 0 },
        { JOB_SUSPENDED, EVENT_STOP, JOB_ENDED, RESULT_STOPPED, C(USER) },
        { JOB_SUSPENDED, EVENT_TTL, JOB_ENDED, RESULT_STOPPED, C(TTL) },
        { JOB_SUSPENDED, EVENT_EXPIRE, JOB_ENDED, RESULT_FAILED, C(EXPIRED) },

        { JOB_ENDING, EVENT_EXITED, JOB_ENDED, RESULT_STOPPED, STOPS },
        { JOB_ENDING, EVENT_EXITED, JOB_ENDED, RESULT_SUCCEEDED, C(EXIT) }, /* it was over before the order came */
        { JOB_ENDING, EVENT_EXITED, JOB_ENDED, RESULT_FAILED, FAILS },
        { JOB_ENDING, EVENT_START_FAILED, JOB_ENDED, RESULT_STOPPED, STOPS },
        { JOB_ENDING, EVENT_STOP, JOB_ENDING, RESULT_NONE, STOPS },
        { JOB_ENDING, EVENT_LOST, JOB_ENDED, RESULT_STOPPED, STOPS },

        { JOB_ENDED, EVENT_RESUME, JOB_QUEUED, RESULT_NONE, 0 }, /* while a checkpoint lives */
};
const size_t life_edges_n = ARRAY_LEN(life_edges);

#define NAME(name_, text_, ...) text_,
static const char *const state_names[] = { JOB_STATES(NAME) };
static const char *const result_names[] = { JOB_RESULTS(NAME) };
static const char *const cause_names[] = { JOB_CAUSES(NAME) };
static const char *const event_names[] = { JOB_EVENTS(NAME) };
#undef NAME
#define TEXT(name_, text_, long_) long_,
static const char *const cause_texts[] = { JOB_CAUSES(TEXT) };
#undef TEXT
static_assert(ARRAY_LEN(state_names) == JOB_STATE_N && ARRAY_LEN(event_names) == EVENT_N, "names cover the enums");
static_assert(JOB_STATE_N <= 32 && CAUSE_N <= 32, "one bit each");

static const char *name_of(const char *const *names, size_t n, unsigned int i)
{
        return i < n ? names[i] : "?";
}

static bool parse(const char *const *names, size_t n, const char *name, unsigned int *ret)
{
        for (unsigned int i = 0; i < n; i++)
                if (streq(names[i], name)) {
                        *ret = i;
                        return true;
                }
        return false;
}

const char *job_state_name(enum job_state s)
{
        return name_of(state_names, JOB_STATE_N, s);
}

const char *job_result_name(enum job_result r)
{
        return name_of(result_names, RESULT_N, r);
}

const char *job_cause_name(enum job_cause c)
{
        return name_of(cause_names, CAUSE_N, c);
}

const char *job_cause_text(enum job_cause c)
{
        return name_of(cause_texts, CAUSE_N, c);
}

const char *job_event_name(enum job_event e)
{
        return name_of(event_names, EVENT_N, e);
}

bool job_state_parse(const char *name, enum job_state *ret)
{
        unsigned int i;

        if (!parse(state_names, JOB_STATE_N, name, &i))
                return false;
        *ret = (enum job_state)i;
        return true;
}

bool job_result_parse(const char *name, enum job_result *ret)
{
        unsigned int i;

        if (!parse(result_names, RESULT_N, name, &i))
                return false;
        *ret = (enum job_result)i;
        return true;
}

bool job_cause_parse(const char *name, enum job_cause *ret)
{
        unsigned int i;

        if (!parse(cause_names, CAUSE_N, name, &i))
                return false;
        *ret = (enum job_cause)i;
        return true;
}

const struct life_edge *life_find(enum job_state from, enum job_event event, enum job_state to, enum job_result result,
        enum job_cause cause, struct pd_error *err)
{
        for (size_t i = 0; i < life_edges_n; i++) {
                const struct life_edge *e = &life_edges[i];

                if (e->from != from || e->event != event || e->to != to || e->result != result)
                        continue;
                if (cause == CAUSE_NONE ? e->causes == 0 : (e->causes & BIT(cause)) != 0)
                        return e;
        }
        (void)pd_fail(err, PD_E_CONFLICT, "no edge: %s --%s--> %s, result \"%s\", cause \"%s\"",
                from == JOB_STATE_N ? "(new)" : job_state_name(from), job_event_name(event), job_state_name(to),
                job_result_name(result), job_cause_name(cause));
        return NULL;
}
