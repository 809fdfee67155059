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
                .ran_before_us = j->ran_before_us,
                .ttl_us = j->ttl_us,
                .ttl_wall_us = j->ttl_wall_us,
                .expire_wall_us = j->expire_wall_us,
                .container_wall_us = l ? l->container_wall_us : 0,
                .retry_wall_us = l && l->refusals ? j->next_try_wall_us : 0,
                .refused_cause = l ? l->refused_cause : CAUSE_NONE,
                .moved_wall_us = j->moved_wall_us,
                .looked_wall_us = l ? l->looked_wall_us : 0,
                .moves_lost = j->moves_lost,
                .cpu_milli = j->cpu_milli,
                .memory_bytes = j->memory_bytes,
        };
}

void gather_peaks(const struct entry *en, struct policy_measures *ret)
{
        const struct live *l = en->live;

        ret->peak_cpu_milli = en->job.peak_cpu_milli;
        ret->peak_memory_bytes = (uint64_t)en->job.peak_memory_mib << 20;
        if (l && l->peak_cpu_milli > ret->peak_cpu_milli)
                ret->peak_cpu_milli = l->peak_cpu_milli;
        if (l && l->memory_peak_bytes > 0 && (uint64_t)l->memory_peak_bytes > ret->peak_memory_bytes)
                ret->peak_memory_bytes = (uint64_t)l->memory_peak_bytes;
}

/* How long the save of its newest checkpoint took: read once a checkpoint. */
static int64_t save_us(const struct engine *e, struct entry *en)
{
        struct live *l = en->live;
        struct checkpoint c;
        struct pd_error err;

        if (!l || id_is_null(en->job.checkpoint))
                return 0;
        if (!id_equal(l->save_of, en->job.checkpoint) &&
                store_get_checkpoint(e->env->store, en->job.checkpoint, &c, &err) >= 0) {
                l->save_of = en->job.checkpoint;
                l->save_us = c.took_us;
        }
        return id_equal(l->save_of, en->job.checkpoint) ? l->save_us : 0;
}

/* A runner that fell silent is a missing measurement, not an idle job. */
static bool is_fresh(const struct live *l, int64_t now_wall_us)
{
        return l && l->measured_wall_us && now_wall_us - l->measured_wall_us <= 2 * USEC_PER_MIN &&
               l->measured_wall_us <= now_wall_us;
}

static void gather_memory(const struct engine *e, struct entry *en, int64_t now_wall_us, struct policy_measures *ret)
{
        const struct live *l = en->live;

        ret->state_bytes = en->job.state_bytes;
        ret->save_us = save_us(e, en);
        gather_peaks(en, ret);
        if (!l)
                return;
        ret->oom_child_wall_us = l->oom_child_wall_us;
        ret->oom_reported_wall_us = l->oom_reported_wall_us;
        if (!is_fresh(l, now_wall_us) || l->memory_bytes < 0)
                return;
        ret->memory_bytes = (uint64_t)l->memory_used_bytes;
        ret->memory_limit_bytes = en->job.memory_bytes;
        ret->memory_stalled = l->memory_stalled;
}

static void gather_use(const struct live *l, int64_t now_wall_us, struct policy_measures *ret)
{
        const struct sample *from = NULL;

        /* what would be asked of its runner now is heard when it is there again, and what the job does by then is not known */
        if (!is_fresh(l, now_wall_us) || !l->machine->up || !l->samples_n || l->cpu_us < 0)
                return;
        for (size_t i = 0; i < l->samples_n; i++)
                if (!from || l->samples[i].at_wall_us <= l->measured_wall_us - l->settings.idle_after_us)
                        from = &l->samples[i];
        ret->window_us = l->measured_wall_us - from->at_wall_us;
        ret->cpu_us = l->cpu_us - from->cpu_us;
        ret->progress_wall_us = l->progress_wall_us;
}

static void gather_machine(const struct engine *e, const struct mach *m, struct policy_machine *ret)
{
        ret->notice_wall_us = machine_noticed(e, m) ? m->rec.notice_wall_us : 0;
        ret->stop_sure_wall_us = m->rec.stop_sure_wall_us;
        ret->renewed_wall_us = m->renewed_wall_us;
        ret->ends_wall_us = m->rec.ends_wall_us;
        ret->spot = m->rec.market == PD_MARKET_SPOT;
}

void gather(struct engine *e, struct entry *en, const struct settings *waiting, bool all, struct gathered *ret)
{
        static const struct settings none = { .ttl_us = SETTING_OFF,
                .idle_after_us = SETTING_OFF,
                .lifetime_before_us = SETTING_OFF,
                .expect_us = SETTING_OFF };

        *ret = (struct gathered){ .now_wall_us = now_wall(e), .placed = en->live && en->live->machine };
        ret->settings = en->live ? en->live->settings : waiting ? *waiting : none;
        ret->measures = (struct policy_measures){ .window_us = -1,
                .cpu_us = -1,
                .progress_wall_us = -1,
                .gpu_percent = -1,
                .gpu_missing = en->job.gpus > 0 };
        gather_job(e, en, &ret->job);
        gather_use(en->live, ret->now_wall_us, &ret->measures);
        gather_memory(e, en, ret->now_wall_us, &ret->measures);
        if (ret->placed)
                gather_machine(e, en->live->machine, &ret->machine);
        money_gather(e, en, &ret->job, &ret->machine, ret->names);
        if (ret->placed && !offers_look(e, en, all, &ret->looks, &ret->job, &ret->machine)) {
                ret->job.offers = NULL;
                ret->job.offers_n = 0;
        }
}

void gather_free(struct gathered *g)
{
        looks_free(&g->looks);
}

void check_now(struct engine *e, struct entry *en, const struct settings *waiting, struct policy_decision all[POLICY_N],
        int *ret_acting, struct gathered *ret)
{
        gather(e, en, waiting, false, ret);
        *ret_acting = policy_check(&ret->job, &ret->machine, &ret->measures, &ret->settings, ret->now_wall_us, all);
}
