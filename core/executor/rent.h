/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that are rented, between the engine's files; a part of internal.h, which includes it once its structs are known. */
#ifndef EXECUTOR_RENT_H
#define EXECUTOR_RENT_H

#include "executor/internal.h"

/* --- rent.c: machines that cost: made, ended --- */
/* Record (pending), hold and launch intent of a machine for this job, in the turn's transaction. NULL = *err: -PD_E_FULL is a cap, by name. */
struct mach *rent_machine(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer,
        const struct settings *s, struct pd_error *err);
void rent_end(struct turn *t, struct mach *m, const char *why); /* an intent to end it; own machines: nothing, ever */
/* Proven gone: record, money, and what becomes of the job there. */
void rent_gone(struct turn *t, struct mach *m, int64_t end_wall_us, enum pd_machine_reason reason);
void rent_unneeded(struct turn *t, struct mach *m); /* a job has left it: ended unless a move or a job needs it */
bool rent_is_launch(const struct op *op);           /* a launch of a machine that costs */
void rent_launched(struct turn *t, struct op *op, const json_t *item);
void rent_launch_failed(struct turn *t, struct op *op, const struct pd_error *err);
void rent_never(struct turn *t, struct mach *m, const struct pd_error *why); /* proven that it never was */
void rent_ended(struct turn *t, struct op *op, const json_t *answer);
void rent_end_refused(struct turn *t, struct op *op, const struct pd_error *err);
/* A machine as the provider describes it now. */
void rent_seen(struct turn *t, struct mach *m, const json_t *item);
/* Its provider says that it is gone: asked for its bill first, and then rent_gone(). */
void rent_over(struct turn *t, struct mach *m, enum pd_machine_reason reason);
void rent_end_again(struct turn *t, struct mach *m); /* the call for one that is being ended already */
/* When its provider ends it whatever we do (P-10); 0 = never. */
int64_t machine_ends_wall_us(const struct mach *m);
void rent_stop_known(
        struct mach *m); /* its latest hard stop is another: noted on the boot clock, which no step moves */
/* It cannot have outlived its hard stop, however long nobody looked, unless it was seen to: that time, or the earlier one. */
int64_t rent_lived_until(const struct mach *m, int64_t at_wall_us);
bool rent_live(const struct mach *m); /* rented, and not being ended or gone */

/* --- rent_orphan.c, rent_look.c --- */
void rent_orphan(struct turn *t, struct connection *c, const json_t *item); /* seen in a list, and not known */
void rent_look(struct connection *c, struct op *op);

/* --- rent_watch.c: looked after: lists, tokens looked for, calls sent again, orphans --- */
void rent_reconciled(struct connection *c, const json_t *items); /* its first whole list, and each with new offers */
void rent_watch(struct connection *c);                           /* something is due: its timer is set anew        */
void rent_list_soon(struct connection *c);                       /* a machine of it is being made                  */
void rent_due(void *arg);                                        /* a connection's timer */
int64_t rent_longer(int64_t wait_us, int64_t first_us, int64_t max_us); /* the next wait of a back-off */
void rent_gap(struct engine *e);  /* our clock was stepped, or we were away: no mass action before the next look  */
void rent_unknown(struct op *op); /* a provider's call without an outcome: looked for, or sent again          */

#endif
