/* SPDX-License-Identifier: Apache-2.0 */
/* The regular check (P-15): gathers what is known of one job as values, asks core/policy, does what it says. */
#include "executor/internal.h"

#include "base/log.h"

#define CHECKS_AHEAD 4096
#define CHECKS_PAUSE_US (20 * USEC_PER_MSEC)
#define STRETCH_WRITE_US USEC_PER_HOUR /* a stretch of inaction that goes on is written this often */

static void gather_job(const struct engine *e, const struct entry *en, struct policy_job *ret)
{
        const struct job *j = &en->job;
        const struct live *l = en->live;

        *ret = (struct policy_job){
                .state = (enum job_state)j->state,
                .saving = j->op_mode != OP_NONE,
                .saving_cause = j->op_mode != OP_NONE ? (enum job_cause)j->op_cause : CAUSE_NONE,
                .pinned = l && l->pinned,
                .no_spot = l && !l->settings.spot_use,
                .ever_reported = l && l->ever_reported,
                .created_wall_us = j->created_wall_us,
                .term_wall_us = j->term_wall_us,
                /* until its runner has shown it, only what is over is sure: the wall clock may have been stepped while we were down */
                .ran_us = l && !l->seen ? j->ran_us : job_ran_us(e, j),
                .ttl_us = j->ttl_us,
                .ttl_wall_us = j->ttl_wall_us,
                .expire_wall_us = j->expire_wall_us,
                .container_wall_us = l ? l->container_wall_us : 0,
                .retry_wall_us = l && l->refusals ? j->next_try_wall_us : 0,
                .refused_cause = l ? l->refused_cause : CAUSE_NONE,
        };
}

static void gather_measures(const struct live *l, int64_t now_wall_us, int32_t gpus, struct policy_measures *ret)
{
        const struct sample *from = NULL;

        *ret = (struct policy_measures){
                .window_us = -1, .cpu_us = -1, .progress_wall_us = -1, .gpu_percent = -1, .gpu_missing = gpus > 0
        };
        if (!l || !l->samples_n || l->cpu_us < 0)
                return;
        /* a runner that fell silent is a missing measurement, not an idle job */
        if (now_wall_us - l->measured_wall_us > 2 * USEC_PER_MIN || l->measured_wall_us > now_wall_us)
                return;
        for (size_t i = 0; i < l->samples_n; i++)
                if (!from || l->samples[i].at_wall_us <= l->measured_wall_us - l->settings.idle_after_us)
                        from = &l->samples[i];
        ret->window_us = l->measured_wall_us - from->at_wall_us;
        ret->cpu_us = l->cpu_us - from->cpu_us;
        ret->progress_wall_us = l->progress_wall_us;
}

void check_now(struct engine *e, struct entry *en, const struct settings *waiting, struct policy_decision all[POLICY_N],
        int *ret_acting)
{
        const struct live *l = en->live;
        const struct mach *m = l ? l->machine : NULL;
        struct settings none = { .ttl_us = SETTING_OFF,
                .idle_after_us = SETTING_OFF,
                .lifetime_before_us = SETTING_OFF,
                .expect_us = SETTING_OFF };
        int64_t now = now_wall(e);
        struct policy_machine pm = { 0 };
        struct policy_measures px;
        struct policy_job pj;

        gather_job(e, en, &pj);
        gather_measures(l, now, en->job.gpus, &px);
        if (m) {
                pm.notice_wall_us = machine_noticed(e, m) ? m->rec.notice_wall_us : 0;
                pm.stop_sure_wall_us = m->rec.stop_sure_wall_us;
                pm.renewed_wall_us = m->renewed_wall_us;
                pm.spot = m->rec.market == PD_MARKET_SPOT;
        }
        *ret_acting = policy_check(&pj, &pm, &px, l ? &l->settings : waiting ? waiting : &none, now, all);
}

/* --- inaction as intervals --- */
static void stretch_write(struct turn *t, struct entry *en, struct stretch *s, const char *margin)
{
        if (!s->count)
                return;
        txn_interval(t->txn, en->job.id, s->policy, s->why, s->first_wall_us, s->last_wall_us, s->count, margin);
        s->written_wall_us = t->now_wall_us;
}

/* Figures change at each check; the sentence up to the first digit tells one kind of inaction from another. */
static bool same_kind(const char *a, const char *b)
{
        size_t n = strcspn(a, "0123456789");

        return n == strcspn(b, "0123456789") && strncmp(a, b, n) == 0;
}

static void stretches_note(struct turn *t, struct entry *en, const struct policy_decision all[POLICY_N])
{
        for (int i = 0; i < POLICY_N; i++) {
                struct stretch *s = &en->live->stretches[i];

                if (all[i].act != POLICY_KEEP)
                        continue;
                if (s->count && !same_kind(s->why, all[i].why)) {
                        stretch_write(t, en, s, en->live->last[i].would_act);
                        *s = (struct stretch){ 0 };
                }
                if (!s->count) {
                        s->policy = all[i].policy;
                        s->first_wall_us = t->now_wall_us;
                }
                (void)str_format(s->why, sizeof s->why, "%s", all[i].why);
                s->last_wall_us = t->now_wall_us;
                s->count++;
                if (s->count == 1 || t->now_wall_us - s->written_wall_us >= STRETCH_WRITE_US)
                        stretch_write(t, en, s, all[i].would_act);
        }
        memcpy(en->live->last, all, sizeof en->live->last);
}

void check_flush(struct turn *t, struct entry *en)
{
        for (int i = 0; en->live && i < POLICY_N; i++)
                stretch_write(t, en, &en->live->stretches[i], en->live->last[i].would_act);
}

/* --- acting --- */
static void act_on(struct turn *t, struct entry *en, const struct policy_decision *d)
{
        struct pd_error err;
        int r = 0;

        switch (d->act) {
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
        case POLICY_MOVE:  /* never said while no offers are given, POLICY_STOP and POLICY_TERM never without can_end */
        case POLICY_STOP:
        case POLICY_TERM:
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

void check_job(struct engine *e, struct entry *en)
{
        struct policy_decision all[POLICY_N];
        int64_t now = now_wall(e);
        struct turn *t;
        int acting;

        if (en->job.state == JOB_ENDED) {
                check_ended(e, en);
                return;
        }
        check_now(e, en, NULL, all, &acting);
        t = turn_new(e);
        if (!t)
                return;
        if (planted(PLANT_RESUME_ITSELF) && en->job.state == JOB_SUSPENDED && en->job.cause == CAUSE_NOTICE)
                (void)act_resume(t, en, "nobody", false, NULL);
        jobs_due_wall(e, en, next_review(en, all, now));
        if (en->live)
                stretches_note(t, en, all);
        tell_policies(t, en, all);
        if (acting < 0)
                tell_deadline(t, en);
        if (acting >= 0)
                act_on(t, en, &all[acting]);
        turn_end(t);
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
