/* SPDX-License-Identifier: Apache-2.0 */
/* One event, one transaction: effects leave when it is on disk (law 4). */
#include "executor/internal.h"

#include "base/log.h"

struct effect {
        struct effect *next;
        void (*fn)(struct engine *e, void *arg);
        void (*drop)(void *arg);
        void *arg;
};

struct turn *turn_new(struct engine *e)
{
        struct turn *t = calloc(1, sizeof *t);

        if (t)
                t->txn = txn_new();
        if (!t || !t->txn) {
                struct pd_error err;

                free(t);
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for a transaction");
                e->broken = true;
                e->env->ops->fatal(e->env, &err);
                return NULL;
        }
        clock_watch(e);
        t->engine = e;
        t->now_wall_us = now_wall(e);
        return t;
}

void turn_after(struct turn *t, void (*fn)(struct engine *e, void *arg), void (*drop)(void *arg), void *arg)
{
        struct effect *f = calloc(1, sizeof *f);

        if (!f) {
                log_error("no memory for what follows a transaction");
                t->engine->broken = true;
                if (drop)
                        drop(arg);
                return;
        }
        *f = (struct effect){ .fn = fn, .drop = drop, .arg = arg };
        if (t->last)
                t->last->next = f;
        else
                t->first = f;
        t->last = f;
}

static void run_effects(struct turn *t, bool really)
{
        while (t->first) {
                struct effect *f = t->first;

                t->first = f->next;
                if (really)
                        f->fn(t->engine, f->arg);
                else if (f->drop)
                        f->drop(f->arg);
                free(f);
        }
        free(t);
}

static void on_disk(void *arg, const struct pd_error *err)
{
        struct turn *t = arg;
        struct engine *e = t->engine;

        run_effects(t, !err && !e->stopping);
        if (err && !e->broken && !e->stopping) {
                e->broken = true;
                e->env->ops->fatal(e->env, err);
        }
}

void turn_end(struct turn *t)
{
        struct engine *e = t ? t->engine : NULL;
        struct pd_error err;
        struct txn *txn = t ? pd_steal(t->txn) : NULL;

        if (!t)
                return;
        json_decref(t->evidence);
        t->evidence = NULL;
        if (planted(PLANT_EFFECTS_FIRST)) {
                run_effects(t, true);
                (void)e->env->ops->apply(e->env, txn, NULL, NULL, &err);
                return;
        }
        /* an empty turn still waits for the ones before it, so that no answer tells of what is not on disk yet */
        if (txn_is_empty(txn) && store_queued(e->env->store) == 0) {
                txn_free(txn);
                run_effects(t, true);
                return;
        }
        if (e->env->ops->apply(e->env, txn, on_disk, t, &err) < 0)
                on_disk(t, &err);
}
