/* SPDX-License-Identifier: Apache-2.0 */
/* criu and crun as child processes: in a cgroup of their own, by which all of them are killed at a deadline.
 *
 * Promises: when run_program() returns, nothing that it started is alive but what was restored on purpose (spec.keeps). */
#ifndef CRIU_RUN_H
#define CRIU_RUN_H

#include "../lib/capture.h"

#define RUN_TAIL 600

struct run_spec {
        const char *const *argv; /* argv[0] is a path                                                */
        const char *config;      /* CRIU_CONFIG_FILE; NULL = none                                    */
        const char *cgroup;      /* a directory to make, run in and remove; NULL = stays where it is */
        int64_t timeout_us;
        bool keeps; /* what it leaves behind lives on (a restored tree) */
};
struct run_result {
        int status; /* waitpid's */
        bool timed_out;
        char tail[RUN_TAIL]; /* the last that it wrote */
};
int run_program(struct pd_call *call, const struct run_spec *spec, struct run_result *ret, struct pd_error *err);
/* Ends whatever runs in such a cgroup and removes it; nothing where there is none. For helpers whose caller died. */
void run_end_group(const char *dir);
/* The first of the usual directories that has it; false = none. */
bool run_find(const char *name, char *ret, size_t n);

#endif
