/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into a plugin as a test wants them: ask, turn the loop until the answer is there. */
#ifndef TESTS_HOST_CALL_H
#define TESTS_HOST_CALL_H

#include "host/host.h"

struct reply {
        bool done;
        int calls; /* callbacks: exactly one is right */
        int rc;    /* 0, or the negative code of err; also of a refusal by host_call() itself */
        bool refused;
        struct pd_error err;
        json_t *ret, *items, *text;
};

__attribute__((unused)) static void reply_clear(struct reply *r)
{
        json_decref(r->ret);
        json_decref(r->items);
        json_decref(r->text);
        *r = (struct reply){ 0 };
}

__attribute__((unused)) static void on_reply(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct reply *r = arg;

        r->done = true;
        r->calls++;
        r->rc = err ? -(int)err->code : 0;
        if (err)
                r->err = *err;
        r->ret = ret ? json_deep_copy(ret) : NULL;
        r->items = json_deep_copy(items);
        r->text = json_deep_copy(text);
}

/* args is stolen (NULL = {}). The answer comes when the loop turns. */
__attribute__((unused)) static void ask(struct host *h, struct reply *r, const char *slot, json_t *args, const int *fds,
        size_t n_fds, const char *token, int64_t timeout_us)
{
        int rc;

        reply_clear(r);
        rc = host_call(h, slot, args, fds, n_fds, token, timeout_us, on_reply, r, &r->err);
        json_decref(args);
        if (rc < 0) {
                r->done = r->refused = true;
                r->rc = rc;
        }
}

__attribute__((unused)) static bool turn_until(sd_event *loop, const bool *done, int64_t limit_us)
{
        uint64_t now, until;

        (void)sd_event_now(loop, CLOCK_BOOTTIME, &now);
        for (until = now + (uint64_t)limit_us; !*done && now < until;) {
                struct timespec t;

                if (sd_event_run(loop, until - now) < 0)
                        return false;
                (void)clock_gettime(CLOCK_BOOTTIME, &t);
                now = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
        }
        return *done;
}

/* Asks and waits; the whole in at most timeout + grace + a second. */
__attribute__((unused)) static int ask_wait(sd_event *loop, struct host *h, struct reply *r, const char *slot,
        json_t *args, const int *fds, size_t n_fds, const char *token)
{
        ask(h, r, slot, args, fds, n_fds, token, 20 * USEC_PER_SEC);
        if (!turn_until(loop, &r->done, 30 * USEC_PER_SEC)) {
                r->rc = -(int)PD_E_DEADLINE;
                (void)pd_fail(&r->err, PD_E_DEADLINE, "the test's own limit passed");
        }
        return r->rc;
}

#endif
