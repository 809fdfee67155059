/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, machines, streams and leases, between the engine's files; a part of internal.h, which includes it once its structs are known. */
#ifndef EXECUTOR_MACHINES_H
#define EXECUTOR_MACHINES_H

#include "executor/internal.h"

/* --- machines.c: connections, machines, streams, leases --- */
/* streams.c; the second is a timer's function: the machine is asked how things stand */
void machine_open_stream(struct mach *m);
void machine_say_hello(void *arg);
int connections_start(struct engine *e, struct pd_error *err);
void connections_free(struct engine *e);
int machine_load(struct engine *e, const struct machine *rec);
struct mach *machine_add(struct engine *e, const struct machine *rec);
void machine_forget(struct engine *e, struct mach *m); /* gone, and nobody speaks of it any more */
struct connection *connection_find(const struct engine *e, const char *name);
const json_t *connection_offer(const struct connection *c, const char *zone, const char *type, int64_t market);
void machine_notice(struct mach *m, int64_t deadline_wall_us); /* streams.c: as seen by its runner, or its provider */
void machine_why(struct mach *m, const char *why);
/* streams.c: `at` on our clocks in terms of the boot clock of its machine; 0 = not known yet */
int64_t machine_boot_us(const struct mach *m, int64_t at_wall_us);
struct mach *machine_find(const struct engine *e, struct id id);
struct mach *machine_of_offer(
        const struct engine *e, const struct connection *c, const char *zone, const char *type, uint8_t market);
void machine_ask_again(struct mach *m); /* with back-off */
void machine_launched(struct turn *t, struct op *op, const json_t *item);
void machine_launch_failed(struct turn *t, struct op *op, const struct pd_error *err);
void machine_free_room(
        const struct engine *e, const struct mach *m, int64_t *ret_cpu_milli, int64_t *ret_memory, int64_t *ret_gpus);
/* A notice holds until its time: an own machine that is still there then takes jobs again. */
bool machine_noticed(const struct engine *e, const struct mach *m);
void machine_offer_name(const struct mach *m, char *buf, size_t n);
void leases_review(struct engine *e);
void lease_read_back(struct turn *t, struct op *op, const json_t *answer);
void lease_renewed(struct turn *t, struct op *op, const json_t *answer); /* by the provider */
void lease_not_renewed(struct turn *t, struct op *op, const struct pd_error *err);

#endif
