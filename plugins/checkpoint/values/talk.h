/* SPDX-License-Identifier: Apache-2.0 */
/* One conversation with the module in the job, over the job's own socket. */
#ifndef VALUES_TALK_H
#define VALUES_TALK_H

#include "../lib/capture.h"
#include "wire.h"

struct talk {
        int fd; /* -1 = not connected */
        char *buf;
        size_t n;         /* bytes in buf that no line was made of yet                       */
        char notes[4096]; /* one a line: what the program said that it does not carry       */
};

/* Waits up to wait_us for the program to listen. -PD_E_CONFLICT when it does not: it has not begun, or does not take part. */
int talk_open(
        struct talk *t, struct pd_call *call, const struct pd_container *c, int64_t wait_us, struct pd_error *err);
void talk_close(struct talk *t);
/* Sends and reads lines up to the end. Values go to `each`, which may be NULL. *ret_end (wire_answer_clear it) only when 0 is returned; an
 * end that is not ok is returned as the error that it says. */
int talk_ask(struct talk *t, struct pd_call *call, const char *op, int64_t timeout_us, pd_value_fn each, void *arg,
        struct wire_answer *ret_end, struct pd_error *err);

#endif
