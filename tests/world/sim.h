/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated runner, between the files of the world. */
#ifndef TESTS_WORLD_SIM_H
#define TESTS_WORLD_SIM_H

#include "world/world.h"

void sim_later(struct world *w, int64_t us, void (*fire)(struct world *w, void *arg), void *arg);
int sim_stream_open(struct env *e, const char *endpoint, uint32_t kind, const struct env_stream_events *events,
        struct env_stream **ret, struct pd_error *err);
int sim_stream_request(struct env_stream *s, uint64_t generation, const json_t *body, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err);
void sim_stream_close(struct env_stream *s);
void sim_forget_requests(struct world *w);
/* Is there a daemon on the stream that counts? Then it is told of a placement, as the faults let it be. */
bool sim_stream_hears(const struct world *w);
void sim_stream_placement(struct world *w, const json_t *event);
void sim_stream_event(struct world *w, const json_t *event); /* as it is, if the stream is up */

void sim_job_clear(struct sim_job *s);
json_t *sim_placement(const struct world *w, const struct sim_job *s);
const json_t *sim_orders(const struct sim_job *s); /* those that stand; borrowed */
void sim_start_later(struct world *w, struct sim_job *s);
void sim_fail_later(struct world *w, struct sim_job *s, const char *code, const char *text);
int sim_save(struct world *w, struct sim_job *s, const char *checkpoint, const char *mode, const char *cause,
        int64_t span_us, struct pd_error *err);
/* Ends it, with a grace; a save that goes on is given up. Who ended it first is who did. */
void sim_term(struct world *w, struct sim_job *s, const char *cause);
/* A request has reached the runner: NULL with *err, or its answer. */
json_t *sim_handle(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err);

#endif
