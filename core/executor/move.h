/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of a move: move.c (phases), move_seen.c (what the runners say), move_pay.c (what it was worth). */
#ifndef EXECUTOR_MOVE_H
#define EXECUTOR_MOVE_H

#include "executor/observe.h"

#define MOVE_RESTART_CONSENT "restart: carries nothing, the command starts from its beginning"

/* An open request about a placement of that generation on that machine? */
bool move_ghost_open(
        const struct engine *e, enum intent_kind kind, struct id job, struct id machine, uint32_t generation);
/* "CONNECTION/ZONE/TYPE", or that it is gone. */
void move_name_of(const struct engine *e, struct id machine, char *buf, size_t n);
void move_stop_held(struct turn *t, const struct entry *en);
void move_thaw(struct turn *t, struct entry *en, struct mach *m);
void move_finish(struct turn *t, struct entry *en);
/* It was held, and its target out of reach: is it there now? in_turn: a target came up; else its time may be over. */
void move_held_again(struct turn *t, struct entry *en, bool up);
void move_hand_over(struct turn *t, struct entry *en, struct mach *source, const struct seen *s, bool there);
void move_handed_failed(struct turn *t, struct entry *en, const char *why);
void move_source_gone(struct turn *t, struct entry *en);
void move_both_lost(struct turn *t, struct entry *en);
void move_count_from_here(struct turn *t, struct entry *en); /* the stay that its last move brought begins */

#endif
