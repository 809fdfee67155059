/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/chain.h"

/* Outlives its chain: a plugin's answer may come when nobody waits any more. */
struct chain_call {
        struct chain *chain;
};

static void finish(struct chain *c, const struct pd_error *why)
{
        struct pd_error copy = { 0 };

        if (why)
                copy = *why;
        c->at = c->n;
        c->done(c, why ? &copy : NULL);
}

static void go(struct chain *c)
{
        struct pd_error err = { 0 };

        while (c->at < c->n) {
                int r = c->steps[c->at].run(c, &err);

                if (r == CHAIN_WAIT)
                        return;
                if (r < 0) {
                        finish(c, &err);
                        return;
                }
                c->at++;
        }
        finish(c, NULL);
}

void chain_wake(struct chain *c, const struct pd_error *why)
{
        struct pd_error err = { 0 };
        int r;

        if (c->at >= c->n)
                return;
        if (c->steps[c->at].after) {
                r = c->steps[c->at].after(c, why, &err);
                if (r == CHAIN_WAIT)
                        return;
                if (r < 0) {
                        finish(c, &err);
                        return;
                }
                c->at += r != CHAIN_AGAIN;
        } else if (why) {
                finish(c, why);
                return;
        } else {
                c->at++;
        }
        go(c);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *arg)
{
        struct chain *c = arg;

        (void)s, (void)usec;
        c->timer = sd_event_source_disable_unref(c->timer);
        chain_wake(c, NULL);
        return 0;
}

static int on_begin(sd_event_source *s, uint64_t usec, void *arg)
{
        struct chain *c = arg;

        (void)s, (void)usec;
        c->timer = sd_event_source_disable_unref(c->timer);
        go(c);
        return 0;
}

void chain_begin(struct chain *c)
{
        struct pd_error err;

        if (sd_event_add_time_relative(c->job->r->loop, &c->timer, CLOCK_BOOTTIME, 0, 1, on_begin, c) < 0) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the next step");
                finish(c, &err);
        }
}

void chain_clear(struct chain *c)
{
        c->proc = proc_free(c->proc);
        if (c->call)
                c->call->chain = NULL;
        c->call = NULL;
        c->timer = sd_event_source_disable_unref(c->timer);
        free(c->out);
        json_decref(c->ret);
        json_decref(c->items);
        json_decref(c->text);
        c->out = NULL;
        c->ret = c->items = c->text = NULL;
        c->at = c->n;
}

static void on_proc(void *arg, const struct pd_error *err, const struct proc_result *result)
{
        struct chain *c = arg;

        c->proc = NULL;
        free(c->out);
        c->out = strdup(result->out);
        chain_wake(c, err);
}

int chain_run_proc(struct chain *c, const struct proc_spec *spec, struct pd_error *err)
{
        int r = proc_run(&c->proc, c->job->r->loop, spec, on_proc, c, err);

        return r < 0 ? r : CHAIN_WAIT;
}

static void on_host(void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        pd_cleanup(freep) struct chain_call *call = arg;
        struct chain *c = call->chain;

        if (!c)
                return;
        c->call = NULL;
        json_decref(c->ret);
        json_decref(c->items);
        json_decref(c->text);
        c->ret = ret ? json_deep_copy(ret) : NULL;
        c->items = items ? json_deep_copy(items) : NULL;
        c->text = text ? json_deep_copy(text) : NULL;
        chain_wake(c, err);
}

int chain_call_host(struct chain *c, struct host *h, const char *slot, const json_t *args, const int *fds, size_t n_fds,
        const char *token, int64_t timeout_us, struct pd_error *err)
{
        struct chain_call *call = calloc(1, sizeof *call);
        int r;

        if (!call)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call of %s", slot);
        call->chain = c;
        r = host_call(h, slot, args, fds, n_fds, token, timeout_us, on_host, call, err);
        if (r < 0) {
                free(call);
                return r;
        }
        c->call = call;
        return CHAIN_WAIT;
}

int chain_sleep(struct chain *c, int64_t us, struct pd_error *err)
{
        if (sd_event_add_time_relative(c->job->r->loop, &c->timer, CLOCK_BOOTTIME, (uint64_t)us, 1000, on_timer, c) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for a timer");
        return CHAIN_WAIT;
}

int chain_run_worker(struct chain *c, const json_t *task, const char *what, int64_t timeout_us, struct pd_error *err)
{
        pd_cleanup(freep) char *text = js_dump(task);
        const char *argv[] = { "/proc/self/exe", "--worker", text, NULL };

        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for %s", what);
        return chain_run_proc(c, &(struct proc_spec){ .argv = argv, .what = what, .timeout_us = timeout_us }, err);
}
