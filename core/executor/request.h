/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of engine_request(), between the files that hold them: request.c (acts and questions to a runner), submit.c, view.c (reads). */
#ifndef EXECUTOR_REQUEST_H
#define EXECUTOR_REQUEST_H

#include "executor/internal.h"

void ticket_reply_blob(struct engine_ticket *t, const struct pd_error *err, json_t *body, const void *blob, size_t n);
void ticket_fail(struct engine_ticket *t, const struct pd_error *err);
int request_find(struct engine *e, struct engine_ticket *t, const char *target, struct id *ret, struct job *ret_job,
        struct pd_error *err);

/* -PD_E_FULL: the disk is full. New work ("no job is resumed") is refused first: what runs keeps its renewals and saves. */
int request_disk_full(const struct engine *e, const char *refused, struct pd_error *err);

void request_submit(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_status(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_check(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_list(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_show(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_explain(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_cost(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_machines(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_notice(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_prices(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_offers(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_plugins(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_settings(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
void request_settings_change(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);

#endif
