/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for core/executor behind engine.h: replies are scripted, what was asked is kept. For tests of core/api alone. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H

#include "executor/engine.h"

struct engine {
        /* the next replies */
        enum pd_code fail; /* PD_OK = the reply below                                    */
        int64_t retry_after_us;
        const char *fail_text;
        json_t *body; /* borrowed; NULL = {"verb": VERB, "args": ARGS, "target": TARGET} */
        const char *blob;
        size_t blob_n;
        bool hold;       /* keep the ticket; engine_fake_release() replies               */
        bool wait_holds; /* the same for requests with wait_ms                            */
        /* what was asked */
        int requests, cancelled, watches;
        char verb[32], target[160], key[80], user[64];
        uint32_t uid;
        bool admin;
        json_t *args; /* a copy; owned */
        struct engine_ticket *held;
        struct engine_watch *watch;
};
void engine_fake_clear(struct engine *e);
void engine_fake_release(struct engine *e); /* replies to everything that is held, the oldest first */
size_t engine_fake_held(const struct engine *e);
void engine_fake_change(struct engine *e, const char *job, uint32_t uid, json_t *job_json);

#endif
