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
void sim_job_clear(struct sim_job *s);
#endif
