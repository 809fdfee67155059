/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the simulated world. */
#ifndef SIMULATE_PARTS_H
#define SIMULATE_PARTS_H

#include "simulate/world.h"

/* clock.c */
void due_at(struct world *w, struct world_due *d, int64_t at_boot_us);
void due_cancel(struct world *w, struct world_due *d); /* nothing, where it is not in the heap */
void later_free_all(struct world *w);
int env_timer_new(struct env *e, struct env_timer **ret, void (*fire)(void *arg), void *arg, struct pd_error *err);
void env_timer_set(struct env_timer *t, int64_t at_boot_us);
void env_timer_free(struct env_timer *t);
void timers_sweep(struct world *w);
void env_random(struct env *e, void *ret, size_t n);

/* connections.c: the provider seam */
int env_plugin_open(struct env *e, const char *name, const char *path, enum pd_kind kind, const json_t *config,
        bool in_process, struct env_plugin **ret, struct pd_error *err);
int env_plugin_call(struct env_plugin *p, const char *slot, const json_t *args, const char *token, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err);
void env_plugin_close(struct env_plugin *p);
void connections_free_all(struct world *w);
void clouds_sync(struct world *w); /* what is due there by now; the next time is armed */

/* provider.c: a vtable that is linked in, called as a plugin host calls it */
struct outcome_of { /* of one call; members are owned */
        int rc;
        struct pd_error err;
        json_t *ret, *items, *text;
};
void outcome_clear(struct outcome_of *o);
int provider_open(struct world_connection *c, const struct pd_provider *vtable, struct pd_error *err);
void provider_close(struct world_connection *c);
void provider_call(struct world_connection *c, const char *slot, const json_t *args, const char *token,
        int64_t deadline_boot_us, struct outcome_of *ret);

/* stream.c */
int sim_stream_open(struct env *e, const char *endpoint, uint32_t kind, const struct env_stream_events *events,
        struct env_stream **ret, struct pd_error *err);
int sim_stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err);
void sim_stream_close(struct env_stream *s);
/* Is there a daemon on the stream that counts? Then it is told of a placement, as the faults let it be. */
bool sim_stream_hears(const struct sim_machine *m);
void sim_stream_placement(struct sim_machine *m, const json_t *event);
void sim_stream_event(struct sim_machine *m, const json_t *event); /* as it is, if the stream is up */
void sim_forget_streams(struct world *w);
void sim_stream_lost(struct sim_machine *m); /* the machine is gone: nothing answers any more */

/* machine.c, placements.c */
struct sim_machine *sim_machine_new(struct world *w, const char *name);
void sim_machine_free(struct sim_machine *m);
struct sim_job *sim_place_for(struct sim_machine *m, struct sim_job *s);
void sim_job_clear(struct sim_job *s);
json_t *sim_placement(const struct sim_job *s);
const json_t *sim_orders(const struct sim_job *s); /* those that stand; borrowed */
void sim_start_later(struct sim_job *s);
void sim_fail_later(struct sim_job *s, const char *code, const char *text);
int sim_save(struct sim_job *s, const char *checkpoint, const char *mode, const char *cause, int64_t span_us,
        struct pd_error *err);
/* Ends it, with a grace; a save that goes on is given up. Who ended it first is who did. */
void sim_term(struct sim_job *s, const char *cause);
int sim_thaw(struct sim_job *s, uint64_t generation, const json_t *orders, struct pd_error *err);
int64_t sim_wall_us(const struct sim_machine *m);
int64_t sim_boot_us(const struct sim_machine *m); /* its clock */
void sim_told(struct sim_job *s);                 /* its truth has changed; no event */
void sim_orders_check(struct sim_job *s);
void sim_take_notice(struct sim_job *s);
void sim_job_restarted(struct sim_job *s);
void sim_job_vanished(struct sim_job *s);
/* requests.c: one has reached the runner: NULL with *err, or its answer. */
json_t *sim_handle(struct sim_machine *m, uint64_t generation, const json_t *body, struct pd_error *err);

#endif
