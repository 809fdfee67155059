/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command inside the job's container, by its OCI runtime. */
#ifndef COMMAND_EXEC_H
#define COMMAND_EXEC_H

#include "../lib/capture.h"

#define EXEC_TAIL 512

struct exec_result {
        bool timed_out;
        int status;           /* wait(2); not when timed out                     */
        char tail[EXEC_TAIL]; /* the last of what it wrote to stderr and stdout  */
};

/* argv as inside the container. Ends with the command gone: at the timeout, the call's deadline or its cancellation it is killed. */
int exec_inside(struct pd_call *call, const struct pd_container *c, const char *const *argv, int64_t timeout_us,
        struct exec_result *ret, struct pd_error *err);

#endif
