/* SPDX-License-Identifier: Apache-2.0 */
/* The regular check (P-15): asks core/policy about what is known of one job (gather.c), keeps what it said, does it. */
#include "executor/internal.h"

#include "base/log.h"

#define CHECKS_AHEAD 4096
#define CHECKS_PAUSE_US (20 * USEC_PER_MSEC)
#define STRETCH_WRITE_US USEC_PER_HOUR /* a stretch of inaction that goes on is written this often */

/* --- inaction as intervals --- */
static void stretch_write(struct turn *t, struct entry *en, struct stretch *s)
{
        if (!s->count)
                return;
        txn_interval(t->txn, en->job.id, s->policy, s->why, s->first_wall_us, s->last_wall_us, s->count, s->margin);
        s->written_wall_us = t->now_wall_us;
}

/* Figures change at each check; the sentence up to the first digit tells one kind of inaction from another. */
static bool same_kind(const char *a, const char *b)
{
        size_t n = strcspn(a, "0123456789");

        return n == strcspn(b, "0123456789") && strncmp(a, b, n) == 0;
}

/* By how much its look missed what P-13 demands: three times the cost. */
static int64_t margin_of(const struct policy_decision *d)
{
        int64_t three;

        if (!d->looked || __builtin_mul_overflow(d->cost_nano, 3, &three))
                return INT64_MAX;
        return three - d->saving_nano;
}

static void stretch_add(struct turn *t, struct stretch *s, const struct policy_decision *d)
{
        int64_t margin = margin_of(d);

        if (!s->count) {
                s->policy = d->policy;
                s->first_wall_us = t->now_wall_us;
                s->margin_nano = INT64_MAX;
        }
        /* of looks the one that came nearest is kept, of the others the last */
        if (margin < s->margin_nano || margin == INT64_MAX) {
                s->margin_nano = margin;
                (void)str_format(s->margin, sizeof s->margin, "%s", d->would_act);
        }
        (void)str_format(s->why, sizeof s->why, "%s", d->why);
        s->last_wall_us = t->now_wall_us;
        s->count++;
}

static void stretches_note(struct turn *t, struct entry *en, const struct policy_decision all[POLICY_N])
{
        for (int i = 0; i < POLICY_N; i++) {
                struct stretch *s = &en->live->stretches[i];

                if (all[i].act != POLICY_KEEP)
                        continue;
                if (all[i].paced && s->count) {
                        s->last_wall_us = t->now_wall_us; /* between two looks there is no look to count */
                        continue;
                }
                if (s->count && !same_kind(s->why, all[i].why)) {
                        stretch_write(t, en, s);
                        *s = (struct stretch){ 0 };
                }
                stretch_add(t, s, &all[i]);
                if (s->count == 1 || t->now_wall_us - s->written_wall_us >= STRETCH_WRITE_US)
                        stretch_write(t, en, s);
        }
}

void check_flush(struct turn *t, struct entry *en)
{
        for (int i = 0; en->live && i < POLICY_N; i++)
                stretch_write(t, en, &en->live->stretches[i]);
}

/* --- acting --- */
/* P-25: what cannot be saved gets its SIGTERM before the deadline; its end is then as for a machine that vanished. */
static void term(struct turn *t, struct entry *en, const struct policy_decision *d)
{
        char job[ID_TEXT_MAX];

        if (en->live->termed)
                return;
        en->live->termed = true;
        act_decision(t, en->job.id, d->policy, policy_act_name(d->act), d->why, NULL, NULL);
        (void)intent_open(t, INTENT_STOP, en, en->live->machine,
                json_pack("{s:s,s:s,s:s,s:I}", "op", "stop", "job", id_format(ID_JOB, en->job.id, job), "cause",
                        job_cause_name(d->cause), "grace_us", (json_int_t)en->live->settings.stop_grace_us));
}

/* It is decided: is it still so, on values of this instant? *ret_index is the target among g->looks. */
static bool holds(struct engine *e, struct entry *en, const struct policy_decision *d, struct gathered *g,
        struct policy_decision *ret_fresh, size_t *ret_index)
{
        size_t i = 0;

        gather(e, en, NULL, true, g);
        if (!en->live->machine->up) { /* the save would be heard who knows when, and what is so by then is not known */
                *ret_fresh = (struct policy_decision){ .policy = d->policy };
                (void)str_format(ret_fresh->why, sizeof ret_fresh->why, "its machine is out of reach");
                return false;
        }
        if (en->job.move == MOVE_TARGET) { /* the operation at work is this very move */
                g->job.saving = false;
                g->job.saving_cause = CAUSE_NONE;
        }
        if (!policy_revalidate(d, &g->job, &g->machine, &g->measures, &g->settings, g->now_wall_us, ret_fresh, &i) ||
                i >= g->looks.of.n)
                return false;
        *ret_index = g->looks.of.at[i];
        return true;
}

static int move_by_policy(struct turn *t, struct entry *en, const struct policy_decision *d, struct pd_error *err)
{
        struct policy_decision fresh;
        struct gathered g;
        js_owned *evidence = NULL;
        const struct offer_of *of;
        size_t i;
        int r = 0;

        if (en->job.move != MOVE_NONE && en->job.move != MOVE_PROVED)
                return 0;
        if (holds(t->engine, en, d, &g, &fresh, &i)) {
                of = &g.looks.offers.of.at[i];
                en->live->reason = (struct move_reason){ .policy = d->policy,
                        .cause = d->cause,
                        .offer_key = d->offer_key,
                        .left_rate_nano = g.machine.rate.currency[0] ? g.machine.rate.nano : 0,
                        .cost_nano = fresh.cost_nano,
                        .cpu_milli = g.looks.cpu_milli,
                        .memory_bytes = g.looks.memory_bytes };
                evidence = evidence_of(&g, &fresh);
                r = move_begin(t, en, of->conn, of->offer, of->machine, d->policy, fresh.why, evidence, NULL, err);
                if (r < 0)
                        en->live->reason = (struct move_reason){ 0 };
        }
        gather_free(&g);
        return r;
}

bool check_move_holds(struct engine *e, struct entry *en, char *why, size_t n)
{
        const struct move_reason *r = &en->live->reason;
        struct policy_decision d = {
                .act = POLICY_MOVE, .policy = r->policy, .cause = r->cause, .offer_key = r->offer_key
        };
        struct policy_decision fresh;
        struct gathered g;
        size_t i;
        bool good;

        if (!r->policy) {
                (void)str_format(why, n, "portald was started anew, and looks again");
                return false;
        }
        good = holds(e, en, &d, &g, &fresh, &i);
        if (!good)
                (void)str_format(why, n, "looked at again before the save: %s", fresh.why);
        gather_free(&g);
        return good;
}

static void act_on(struct turn *t, struct entry *en, const struct policy_decision *d, const struct gathered *g)
{
        struct pd_error err;
        int r = 0;

        t->evidence = evidence_of(g, d);
        switch (d->act) {
        case POLICY_MOVE:
                r = move_by_policy(t, en, d, &err);
                break;
        case POLICY_STOP:
                r = act_stop(t, en, d->cause, false, d->policy, d->why, NULL, &err);
                break;
        case POLICY_TERM:
                term(t, en, d);
                break;
        case POLICY_SUSPEND:
                r = act_suspend(t, en, d->cause, d->policy, d->why, NULL, &err);
                break;
        case POLICY_STOP_SAVE:
                r = act_stop(t, en, d->cause, true, d->policy, d->why, NULL, &err);
                break;
        case POLICY_END:
                act_end_waiting(t, en, d->cause, d->why);
                break;
        case POLICY_KEEP:
        case POLICY_RENEW: /* leases.c keeps the hard stops of all machines */
                break;
        }
        if (r < 0)
                log_warning("%s wanted to act and could not: %s", d->policy, err.text);
}

/* Its objects go from the vault (an intent), its row says so at once. */
void checkpoint_drop(struct turn *t, struct entry *en, struct id id)
{
        struct engine *e = t->engine;
        struct mach *m = machine_find(e, en->job.machine);
        char job[ID_TEXT_MAX], ckp[ID_TEXT_MAX];
        struct checkpoint c;
        struct pd_error err;

        if (store_get_checkpoint(e->env->store, id, &c, &err) >= 0) {
                c.dropped = 1;
                txn_checkpoint(t->txn, &c);
        }
        if (m)
                (void)intent_open(t, INTENT_DROP, en, m,
                        json_pack("{s:s,s:s,s:s}", "op", "drop", "job", id_format(ID_JOB, en->job.id, job),
                                "checkpoint", id_format(ID_CHECKPOINT, id, ckp)));
}

/* What was kept for a resume and is not wanted any more. */
static void drop_checkpoint(struct turn *t, struct entry *en)
{
        struct job after = en->job;

        checkpoint_drop(t, en, after.checkpoint);
        after.checkpoint = (struct id){ { 0 } };
        job_touch(t, en, after, NULL);
}

/* An ended job is kept in memory only for the sake of a checkpoint that a resume could still use. */
static void check_ended(struct engine *e, struct entry *en)
{
        struct turn *t;

        if (id_is_null(en->job.checkpoint)) {
                money_job_over(e, en->job.id);
                jobs_remove(e, en);
                return;
        }
        if (en->job.expire_wall_us > now_wall(e) && !planted(PLANT_DROP_EARLY)) {
                jobs_due_wall(e, en, en->job.expire_wall_us);
                return;
        }
        t = turn_new(e);
        if (!t)
                return;
        drop_checkpoint(t, en);
        jobs_due_wall(e, en, t->now_wall_us);
        turn_end(t);
}

static int64_t next_review(const struct entry *en, const struct policy_decision all[POLICY_N], int64_t now_wall_us)
{
        int64_t next = INT64_MAX, every = en->live ? en->live->settings.check_every_us : REVIEW_MAX_US;

        for (int i = 0; i < POLICY_N; i++)
                if (all[i].review_wall_us > now_wall_us && all[i].review_wall_us < next)
                        next = all[i].review_wall_us;
        if (en->live && next > now_wall_us + every)
                next = now_wall_us + every;
        if (tell_next(&en->job) < next)
                next = tell_next(&en->job);
        return next;
}

static bool any_look(const struct policy_decision all[POLICY_N])
{
        for (int i = 0; i < POLICY_N; i++)
                if (all[i].looked)
                        return true;
        return false;
}

static void check_with(struct turn *t, struct entry *en, const struct policy_decision all[POLICY_N], int acting,
        const struct gathered *g)
{
        struct engine *e = t->engine;

        if (planted(PLANT_RESUME_ITSELF) && en->job.state == JOB_SUSPENDED && en->job.cause == CAUSE_NOTICE)
                (void)act_resume(t, en, "nobody", false, NULL);
        jobs_due_wall(e, en, next_review(en, all, g->now_wall_us));
        if (en->live && any_look(all))
                en->live->looked_wall_us = g->now_wall_us;
        if (en->live)
                stretches_note(t, en, all);
        tell_policies(t, en, all);
        if (acting < 0)
                tell_deadline(t, en);
        else
                act_on(t, en, &all[acting], g);
}

void check_job(struct engine *e, struct entry *en)
{
        struct policy_decision all[POLICY_N];
        struct gathered g;
        struct turn *t;
        int acting;

        if (en->job.state == JOB_ENDED) {
                check_ended(e, en);
                return;
        }
        move_check(e, en);
        check_now(e, en, NULL, all, &acting, &g);
        t = turn_new(e);
        if (t) {
                money_check(t, en);
                check_with(t, en, all, acting, &g);
                turn_end(t);
        }
        gather_free(&g);
}

void check_due(struct engine *e)
{
        int64_t now = now_boot(e);
        struct entry *en;

        clock_watch(e);
        while (!e->stopping && !e->broken) {
                /* a flood of due jobs waits for the disk instead of filling the store's queue */
                if (store_queued(e->env->store) > CHECKS_AHEAD) {
                        e->env->ops->timer_set(e->tick, now + CHECKS_PAUSE_US);
                        return;
                }
                en = jobs_next_due(e, now);
                if (!en)
                        break;
                check_job(e, en);
        }
        jobs_arm(e);
}
