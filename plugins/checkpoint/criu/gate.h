/* SPDX-License-Identifier: Apache-2.0 */
/* Does criu work here? Neither its version nor its exit codes say so: a small process tree is dumped, restored and seen to count on. */
#ifndef CRIU_GATE_H
#define CRIU_GATE_H

#include "../lib/capture.h"

struct gate_tools {
        char criu[64], crun[64];
};
/* -PD_E_UNSUPPORTED with what is to be installed. */
int gate_tools(struct gate_tools *ret, struct pd_error *err);
/* CHECK, then the canary; its success is remembered in `dir` for this boot and these very programs. */
int gate_open(struct pd_call *call, const char *dir, struct pd_error *err);

#endif
