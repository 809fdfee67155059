/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CAPTURE_SUITE_H
#define TESTS_CAPTURE_SUITE_H

#include <portald/checkpoint.h>

#include "capture_job.h"

struct capture {
        struct suite *s;
        struct fake_job j;
        char stage[300]; /* the staging directory */
        uint32_t caps;
};

/* The staging directory, empty, open. */
static int capture_stage(struct capture *x);
/* stage -1 = the slot has no descriptor. */
static int capture_call(struct capture *x, struct reply *r, const char *slot, int stage);
static int capture_call_for(struct capture *x, struct reply *r, const char *slot, int stage, int64_t timeout_us);

#endif
