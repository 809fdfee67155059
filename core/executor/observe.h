/* SPDX-License-Identifier: Apache-2.0 */
/* A placement as its runner told it, and what becomes of its job: between observe.c (reads and routes), outcome.c (the changes) and move.c. */
#ifndef EXECUTOR_OBSERVE_H
#define EXECUTOR_OBSERVE_H

#include "executor/internal.h"

struct seen { /* a placement object, taken apart; borrows from it. All NULL and "" = its machine knows nothing of it */
        const json_t *p, *save, *exit;
        struct id job;
        uint32_t generation;
        uint64_t seq;
        const char *phase, *save_state, *save_mode;
        enum job_cause cause, save_cause;
        bool proved; /* it was running under this generation */
};
#define SEEN_NOTHING                                           \
        {                                                      \
                .phase = "", .save_state = "", .save_mode = "" \
        }
bool seen_read(const json_t *p, struct seen *ret);
bool seen_over(const struct seen *s);
bool same_save(const struct entry *en, const struct seen *s); /* is it the save that the job's record speaks of? */

void outcome_release(struct turn *t, struct mach *m, const struct seen *s);
void outcome_pid(struct turn *t, struct entry *en, const struct seen *s);
void outcome_checkpoint(struct turn *t, struct entry *en, struct job *after, const struct seen *s);
/* A stay is over: its running time, its operation. */
void outcome_end(struct turn *t, struct entry *en, struct job *after, const struct seen *s);
void went_running(struct turn *t, struct entry *en, const struct seen *s);
void went_suspended(struct turn *t, struct entry *en, const struct seen *s, enum job_cause cause);
void went_lost(struct turn *t, struct entry *en, const struct seen *s, enum job_cause cause);
void went_exited(struct turn *t, struct entry *en, struct mach *m, const struct seen *s);
void went_failed(struct turn *t, struct entry *en, struct mach *m, const struct seen *s);
void save_stronger(struct turn *t, struct entry *en, const struct seen *s);
void save_begun(struct turn *t, struct entry *en, const struct seen *s);
void save_refused(struct turn *t, struct entry *en, const struct seen *s);
void save_kept(struct turn *t, struct entry *en, const struct seen *s);

#endif
