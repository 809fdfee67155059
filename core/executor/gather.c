/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of one job, as the values that core/policy decides on. What is not known stays 0, and the row that needs it says so. */
#include "executor/internal.h"

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
                .can_end = true,
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
                .moved_wall_us = j->moved_wall_us,
                .moves_lost = j->moves_lost,
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

void gather(struct engine *e, const struct entry *en, struct gathered *ret)
{
        const struct live *l = en->live;
        const struct mach *m = l ? l->machine : NULL;

        *ret = (struct gathered){ 0 };
        gather_job(e, en, &ret->j);
        gather_measures(l, now_wall(e), en->job.gpus, &ret->x);
        if (!m)
                return;
        ret->m.notice_wall_us = machine_noticed(e, m) ? m->rec.notice_wall_us : 0;
        ret->m.stop_sure_wall_us = m->rec.stop_sure_wall_us;
        ret->m.renewed_wall_us = m->renewed_wall_us;
        ret->m.spot = m->rec.market == PD_MARKET_SPOT;
        money_gather(e, en, &ret->j, &ret->m, ret->names);
        (void)offers_look(e, en, &ret->looks, &ret->j, &ret->m);
}

void gather_free(struct gathered *g)
{
        looks_free(&g->looks);
}

void check_now(struct engine *e, struct entry *en, const struct settings *waiting, struct policy_decision all[POLICY_N],
        int *ret_acting)
{
        const struct settings none = { .ttl_us = SETTING_OFF,
                .idle_after_us = SETTING_OFF,
                .lifetime_before_us = SETTING_OFF,
                .expect_us = SETTING_OFF };
        struct gathered g;

        gather(e, en, &g);
        *ret_acting = policy_check(&g.j, &g.m, &g.x,
                en->live  ? &en->live->settings
                : waiting ? waiting
                          : &none,
                now_wall(e), all);
        gather_free(&g);
}
