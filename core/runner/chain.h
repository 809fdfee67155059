/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of steps that takes longer than one turn of the loop: a start, a save. Each step does its work at once, or leaves a child
 * process, a plugin call or a timer behind and waits for it. Promises: one call of done(), never from inside chain_begin(). */
#ifndef RUNNER_CHAIN_H
#define RUNNER_CHAIN_H

#include "runner/runner.h"

#define CHAIN_WAIT 1  /* a step: goes on when what it left behind has ended */
#define CHAIN_AGAIN 2 /* after(): run this step again */

struct chain_step {
        const char *name; /* for people: "fetching the image" */
        /* 0 = done, CHAIN_WAIT, or an error. */
        int (*run)(struct chain *c, struct pd_error *err);
        /* Judges what a wait ended with (why NULL = well). NULL: any error ends the chain. */
        int (*after)(struct chain *c, const struct pd_error *why, struct pd_error *err);
};

struct chain_call;
struct chain {
        struct job *job;
        const struct chain_step *steps;
        size_t at, n;
        struct proc *proc;
        struct chain_call *call;
        sd_event_source *timer;
        char *out;                  /* of the last child process */
        json_t *ret, *items, *text; /* of the last plugin call   */
        void (*done)(struct chain *c, const struct pd_error *err);
};

void chain_begin(struct chain *c); /* from the loop's next turn on */
void chain_clear(struct chain *c); /* whatever it waits for is forgotten, a child process killed */
void chain_wake(struct chain *c, const struct pd_error *why); /* for waits of a step's own making */

/* What a step leaves behind; each returns CHAIN_WAIT or an error. */
int chain_run_proc(struct chain *c, const struct proc_spec *spec, struct pd_error *err);
int chain_call_host(struct chain *c, struct host *h, const char *slot, const json_t *args, const int *fds, size_t n_fds,
        const char *token, int64_t timeout_us, struct pd_error *err);
int chain_sleep(struct chain *c, int64_t us, struct pd_error *err);
/* This program again as a worker (worker.h), with one JSON argument. */
int chain_run_worker(struct chain *c, const json_t *task, const char *what, int64_t timeout_us, struct pd_error *err);

#endif
