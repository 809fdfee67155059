/* SPDX-License-Identifier: Apache-2.0 */
/* Ended jobs leave the store when their time is over (60 days by default), and their logs leave the machines. */
#include "executor/internal.h"

#include "base/log.h"

#define PRUNE_A_TIME 500

struct prune {
        struct engine *engine;
        struct turn *turn;
        size_t n;
};

/* Its log lies on each machine that it ran on: a move, and a resume elsewhere, leave a part behind. */
static void forget_on(struct prune *p, const struct job *j, struct id machine)
{
        /* the intent names the job in its body only: the job's own rows go in this very transaction */
        struct entry ghost = { .job = { .generation = j->generation } };
        struct mach *m = machine_find(p->engine, machine);
        char id[ID_TEXT_MAX];

        if (m && m->rec.state != PD_MACHINE_GONE)
                (void)intent_open(p->turn, INTENT_FORGET, &ghost, m,
                        json_pack("{s:s,s:s}", "op", "forget", "job", id_format(ID_JOB, j->id, id)));
}

static void forget(struct prune *p, const struct job *j)
{
        js_owned *history = NULL, *seen = json_object();
        struct pd_error err;
        char text[ID_TEXT_MAX];
        const json_t *row;
        size_t i;

        forget_on(p, j, j->machine);
        (void)json_object_set_new(seen, id_format(ID_MACHINE, j->machine, text), json_true());
        if (store_history(p->engine->env->store, j->id, &history, &err) < 0)
                log_warning("where a job's logs lie is not known: %s", err.text);
        json_array_foreach (history, i, row) {
                const char *name = js_str(row, "machine", "");
                struct id machine;

                if (json_object_get(seen, name) || !id_parse(ID_MACHINE, name, &machine))
                        continue;
                (void)json_object_set_new(seen, name, json_true());
                forget_on(p, j, machine);
        }
}

static int prune_one(void *arg, const struct job *j)
{
        struct prune *p = arg;
        struct entry *en = jobs_find(p->engine, j->id);

        if (en && !id_is_null(en->job.checkpoint))
                return 0; /* a resume may still use it */
        forget(p, j);
        txn_job_remove(p->turn->txn, j->id);
        if (en)
                jobs_remove(p->engine, en);
        p->n++;
        return 0;
}

void prune_due(void *arg)
{
        struct engine *e = arg;
        struct prune p = { .engine = e, .turn = e->stopping || e->broken ? NULL : turn_new(e) };
        struct pd_error err;

        if (!p.turn)
                return;
        if (store_scan_old(e->env->store,
                    p.turn->now_wall_us - (planted(PLANT_PRUNED_EARLY) ? USEC_PER_HOUR : e->site->history_us),
                    PRUNE_A_TIME, prune_one, &p, &err) < 0)
                log_error("old jobs cannot be looked up: %s", err.text);
        prices_prune(p.turn);
        turn_end(p.turn);
        if (p.n)
                log_info("%zu jobs are past their time and forgotten", p.n);
        e->env->ops->timer_set(e->prune_timer, now_boot(e) + (p.n == PRUNE_A_TIME ? USEC_PER_SEC : USEC_PER_HOUR));
}
