/* SPDX-License-Identifier: Apache-2.0 */
/* What serve.c and ask.c share: one request of a client. Includes runner.h. */
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include "runner/runner.h"

struct asked {
        struct client *client;
        const struct frame *f;
        const json_t *body;
        struct job *job; /* where the operation is about one */
};

/* 0: *ret is the answer (NULL = {}); 1: it is answered later; negative: refused. */
typedef int (*op_fn)(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err);

/* ask.c: questions to plugins, answered when they have answered */
int ask_precheck(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err);
int ask_inspect(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err);

#endif
