/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's other files ask of a move (ARCHITECTURE 5): a part of internal.h, which includes it at its end. */
#ifndef EXECUTOR_MOVES_H
#define EXECUTOR_MOVES_H

/* m NULL = a machine of the offer is rented first. user NULL = portald. */
int move_begin(struct turn *t, struct entry *en, struct connection *c, const json_t *offer, struct mach *m,
        const char *policy, const char *why, const json_t *evidence, const char *user, struct pd_error *err);
int move_asked(struct turn *t, struct entry *en, const char *on, const char *user,
        struct pd_error *err);                       /* a user's; on NULL = wherever is best */
void move_target_up(struct turn *t, struct mach *m); /* its stream is up and listed                           */
void move_target_failed(
        struct turn *t, struct entry *en, struct mach *m, const char *why); /* no machine, or it is gone */
/* A placement of a job that moves, seen on either machine. false = it is none of a move: go on as ever. */
bool move_observe(struct engine *e, struct mach *m, struct entry *en, const json_t *placement, bool listed_anew);
void move_machine_gone(struct turn *t, struct entry *en, struct mach *m); /* the source, or the target, of a move */
bool move_needs(const struct engine *e, const struct mach *m);            /* is it either end of a move?           */
bool move_abandon(struct turn *t, struct entry *en, const char *why);     /* a stronger operation re-targets it     */
/* Of observe_missing(): true = a move accounts for it. */
bool move_missing(struct engine *e, struct mach *m, struct entry *en, const json_t *placements);
/* The container runs where the record wants it: fields of *after before the change, then what follows from it. */
void move_running(struct job *after, int64_t now_wall_us);
void move_ran(struct turn *t, struct entry *en, const struct job *before);
/* The job leaves its machines: fields of *after; the other machine of its move, which nobody of it needs any more, or null. */
struct id move_over(struct turn *t, struct entry *en, struct job *after);
void move_stay_over(struct turn *t, const struct entry *en, struct job *after); /* did an automatic move pay? */
bool move_suspends(const struct job *j);                /* a suspension can only be noted: it is between its machines */
void move_stop_other(struct turn *t, struct entry *en); /* a stop ends what is held, too                */
void move_stop_refused(struct turn *t, const struct op *op); /* the source knows of nothing to stop          */
void thaw_refused(struct turn *t, struct op *op, const struct pd_error *err);
void move_check(struct engine *e, struct entry *en);        /* of each check: a target that must have ended */
json_t *move_render(struct engine *e, const struct job *j); /* the API's JOB.move; NULL = none              */
bool move_save_again(const struct job *j);                  /* is there a save in mode move to be asked for? */

#endif
