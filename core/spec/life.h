/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job as data: states, events, results, causes, and the one table of allowed edges.
 *
 * The table is the norm: the store checks each write against it, and the manual, the API's enums and the tests are made from it. An edge that
 * is not in it is a bug, not a warning. Pure; includes base only. */
#ifndef SPEC_LIFE_H
#define SPEC_LIFE_H

#include "base/base.h"

#define JOB_STATES(X)                                                          \
        X(QUEUED, "queued", "waits for a place")                               \
        X(STARTING, "starting", "its machine prepares image and container")    \
        X(RUNNING, "running", "its container runs")                            \
        X(SAVING, "saving", "its state is being saved")                        \
        X(RESTORING, "restoring", "a machine takes its checkpoint up")         \
        X(SUSPENDED, "suspended", "waits on a checkpoint for `portal resume`") \
        X(ENDING, "ending", "its container is being ended")                    \
        X(ENDED, "ended", "over; see result and cause")

#define JOB_RESULTS(X)                                                       \
        X(NONE, "", "not over")                                              \
        X(SUCCEEDED, "succeeded", "exited 0")                                \
        X(FAILED, "failed", "exited non zero, was lost, or could not start") \
        X(STOPPED, "stopped", "stopped by a user or a limit")                \
        X(PREEMPTED, "preempted", "forge: an ember job gave its GPU back")   \
        X(HARDWARE, "hardware", "forge: a fault of GPU or node ended it")

#define JOB_CAUSES(X)                                                  \
        X(NONE, "", "")                                                \
        X(EXIT, "exit", "its command exited")                          \
        X(SIGNAL, "signal", "its command died of a signal")            \
        X(USER, "user", "a user asked")                                \
        X(LIMIT, "limit", "forge: its limit was reached")              \
        X(TTL, "ttl", "its time limit was reached")                    \
        X(EXPIRED, "expired", "its checkpoint expired")                \
        X(OOM, "oom", "out of memory")                                 \
        X(MACHINE_LOST, "machine_lost", "its machine was lost")        \
        X(BUDGET, "budget", "its budget was spent")                    \
        X(CAP, "cap", "a cap was reached")                             \
        X(NOTICE, "notice", "its machine was about to be taken away")  \
        X(LIFETIME, "lifetime", "the provider's fixed limit was near") \
        X(LEASE, "lease", "its machine's lease ended")                 \
        X(IDLE, "idle", "it was idle")                                 \
        X(MOVE, "move", "it moves to another machine")                 \
        X(START, "start", "it could not be started")

#define JOB_EVENTS(X)                                                                                   \
        X(SUBMIT, "submit")             /* a user handed it in                              */          \
        X(PLACE, "place")               /* placement claimed a machine for it                */         \
        X(UNPLACE, "unplace")           /* that placement never ran: back to the queue       */         \
        X(STARTED, "started")           /* the container runs                                */         \
        X(START_FAILED, "start_failed") /* it cannot start: image, command, checkpoint    */            \
        X(SAVE, "save")                 /* a save was ordered, or the runner began one        */        \
        X(SAVED, "saved")               /* committed, and the container is gone               */        \
        X(KEPT, "kept")                 /* committed, and the job runs on                     */        \
        X(REFUSED, "refused")           /* refused or failed: the job runs on                 */        \
        X(STOP, "stop")                 /* an end was ordered                                 */        \
        X(EXITED, "exited")             /* the container is gone, for the cause given         */        \
        X(LOST, "lost")                 /* the machine is proven ended and nothing was saved in time */ \
        X(HANDED, "handed")             /* saved and held: the target's generation counts now */        \
        X(RETURN, "return")             /* its target is proven ended: back to the source     */        \
        X(RESUME, "resume")             /* a user asked                                       */        \
        X(EXPIRE, "expire")             /* the checkpoint's time is over                      */        \
        X(TTL, "ttl")                   /* the clock limit passed while it did not run        */

#define LIFE_ENUM(name_, text_, ...) JOB_##name_,
enum job_state { JOB_STATES(LIFE_ENUM) JOB_STATE_N };
#undef LIFE_ENUM
#define LIFE_ENUM(name_, ...) RESULT_##name_,
enum job_result { JOB_RESULTS(LIFE_ENUM) RESULT_N };
#undef LIFE_ENUM
#define LIFE_ENUM(name_, ...) CAUSE_##name_,
enum job_cause { JOB_CAUSES(LIFE_ENUM) CAUSE_N };
#undef LIFE_ENUM
#define LIFE_ENUM(name_, ...) EVENT_##name_,
enum job_event { JOB_EVENTS(LIFE_ENUM) EVENT_N };
#undef LIFE_ENUM

struct life_edge {
        enum job_state from; /* JOB_STATE_N = the job does not exist yet */
        enum job_event event;
        enum job_state to;
        enum job_result result; /* what it must be in `to`: NONE but for ended                       */
        uint32_t causes;        /* BIT(enum job_cause) allowed with it; 0 = only CAUSE_NONE          */
};
extern const struct life_edge life_edges[];
extern const size_t life_edges_n;

/* The edge, or NULL with the sentence in err ("a suspended job cannot be saved"). */
const struct life_edge *life_find(enum job_state from, enum job_event event, enum job_state to, enum job_result result,
        enum job_cause cause, struct pd_error *err);

const char *job_state_name(enum job_state s); /* "queued" */
const char *job_result_name(enum job_result r);
const char *job_cause_name(enum job_cause c);
const char *job_cause_text(enum job_cause c);
const char *job_event_name(enum job_event e);
bool job_state_parse(const char *name, enum job_state *ret);
bool job_result_parse(const char *name, enum job_result *ret);
bool job_cause_parse(const char *name, enum job_cause *ret);

/* Does the job hold a machine in that state? (starting, running, saving, restoring, ending) */
static inline bool job_state_placed(enum job_state s)
{
        return s == JOB_STARTING || s == JOB_RUNNING || s == JOB_SAVING || s == JOB_RESTORING || s == JOB_ENDING;
}

#endif
