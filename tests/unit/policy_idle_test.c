/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_common.h"

#define M30 (30 * USEC_PER_MIN)
#define CPU5 (M30 / 20) /* 5 % of a core over 30 min */

static void nothing(struct scene *c)
{
        (void)c;
}
static void quiet_odd(struct scene *c)
{
        c->x.progress_wall_us = NOW - 31 * USEC_PER_MIN - USEC_PER_SEC / 2;
}
static void off(struct scene *c)
{
        c->s.idle = false;
}
static void quiet_exact(struct scene *c)
{
        c->x.progress_wall_us = NOW - M30;
}
static void quiet_short(struct scene *c)
{
        c->x.progress_wall_us = NOW - M30 + 1;
}
static void cpu_at(struct scene *c)
{
        c->x.cpu_us = CPU5;
}
static void cpu_below(struct scene *c)
{
        c->x.cpu_us = CPU5 - 1;
}
static void cpu_missing(struct scene *c)
{
        c->x.cpu_us = -1;
}
static void all_missing(struct scene *c)
{
        c->x.window_us = -1;
}
static void progress_unknown(struct scene *c)
{
        c->x.progress_wall_us = -1;
}
static void window_short(struct scene *c)
{
        c->x.window_us = M30 - 1;
}
static void window_none(struct scene *c)
{
        c->x.window_us = 0;
}
static void gpu_busy(struct scene *c)
{
        c->x.gpu_percent = 500;
}
static void gpu_calm(struct scene *c)
{
        c->x.gpu_percent = 499;
}
static void gpu_missing(struct scene *c)
{
        c->x.gpu_missing = true;
}
static void container_young(struct scene *c)
{
        c->j.container_wall_us = NOW - M30 + 1;
}
static void container_exact(struct scene *c)
{
        c->j.container_wall_us = NOW - M30;
        c->x.progress_wall_us = 0;
}
static void never_reported(struct scene *c)
{
        c->x.progress_wall_us = 0;
}
static void pulling(struct scene *c)
{
        c->j.state = JOB_STARTING;
        c->j.container_wall_us = 0;
}
static void restoring(struct scene *c)
{
        c->j.state = JOB_RESTORING;
}
static void no_container(struct scene *c)
{
        c->j.container_wall_us = 0;
}
static void suspended(struct scene *c)
{
        c->j.state = JOB_SUSPENDED;
}
static void saving(struct scene *c)
{
        c->j.state = JOB_SAVING;
        c->j.saving = true;
        c->j.saving_cause = CAUSE_USER;
}
static void refused(struct scene *c)
{
        c->j.refused_cause = CAUSE_IDLE;
        c->j.retry_wall_us = NOW + 1;
}
static void refused_past(struct scene *c)
{
        c->j.refused_cause = CAUSE_IDLE;
        c->j.retry_wall_us = NOW;
}
static void refused_other(struct scene *c)
{
        c->j.refused_cause = CAUSE_NOTICE;
        c->j.retry_wall_us = NOW + 1;
}
static void pinned(struct scene *c)
{
        c->j.pinned = true;
}
static void reported(struct scene *c)
{
        c->j.ever_reported = true;
}
static void setting_longer(struct scene *c)
{
        c->s.idle_after_us = 31 * USEC_PER_MIN + 1;
}
static void setting_cpu(struct scene *c)
{
        c->s.idle_cpu_percent = 10000;
        c->x.cpu_us = M30 - 1;
}

/* Each row changes an idle job: no progress for 31 min, no CPU, measured for 30 min, running for 2 h. */
static const struct {
        const char *name;
        void (*change)(struct scene *c);
        enum policy_act act;
        const char *why;
        int64_t review; /* offset from now; -1 = only on an event, for a KEEP */
} rows[] = {
        { "P-09 no output for 31 min and no CPU suspends", nothing, POLICY_SUSPEND, "no output for 31m", 0 },
        { "P-09 the same without a progress report", reported, POLICY_SUSPEND, "no progress for 31m", 0 },
        { "P-09 spans are told in whole seconds", quiet_odd, POLICY_SUSPEND, "no output for 31m, and", 0 },
        { "P-09 off keeps", off, POLICY_KEEP, "idle is off", -1 },
        { "P-09 exactly 30 min of quiet suspends", quiet_exact, POLICY_SUSPEND, "30m", 0 },
        { "P-09 a microsecond less keeps, and looks again then", quiet_short, POLICY_KEEP, "last progress", 1 },
        { "P-09 exactly 5 % of a core keeps", cpu_at, POLICY_KEEP, "uses the CPU", USEC_PER_MIN },
        { "P-09 a microsecond of CPU under 5 % suspends", cpu_below, POLICY_SUSPEND, "4.99% of a core", 0 },
        { "P-09 CPU not measured means active", cpu_missing, POLICY_KEEP, "CPU use is not measured", USEC_PER_MIN },
        { "P-09 nothing measured means active", all_missing, POLICY_KEEP, "nothing is measured", USEC_PER_MIN },
        { "P-09 progress not known means active", progress_unknown, POLICY_KEEP, "progress is not known",
                USEC_PER_MIN },
        { "P-09 a window a microsecond short keeps", window_short, POLICY_KEEP, "not been measured", 1 },
        { "P-09 an empty window keeps", window_none, POLICY_KEEP, "not been measured", M30 },
        { "P-09 GPU use of 5 % is progress", gpu_busy, POLICY_KEEP, "GPUs are in use", USEC_PER_MIN },
        { "P-09 GPU use of 4.99 % is not", gpu_calm, POLICY_SUSPEND, "no output", 0 },
        { "P-09 GPUs asked and not measured means active", gpu_missing, POLICY_KEEP, "GPU use is not measured",
                USEC_PER_MIN },
        { "P-09 a container a microsecond too young keeps", container_young, POLICY_KEEP, "its start", 1 },
        { "P-09 exactly 30 min after its start it counts", container_exact, POLICY_SUSPEND, "30m", 0 },
        { "P-09 never any output counts from the start", never_reported, POLICY_SUSPEND, "no output for 2h", 0 },
        { "P-09 a pull is not idle", pulling, POLICY_KEEP, "not idleness", -1 },
        { "P-09 a restore is not idle", restoring, POLICY_KEEP, "not idleness", -1 },
        { "P-09 without a container it is not idle", no_container, POLICY_KEEP, "not idleness", -1 },
        { "P-09 a suspended job is not idle", suspended, POLICY_KEEP, "not idleness", -1 },
        { "P-09 a save at work is not interrupted", saving, POLICY_KEEP, "being saved already", -1 },
        { "P-25 a refused save waits for its next try", refused, POLICY_KEEP, "refused", 1 },
        { "P-25 ... and tries then", refused_past, POLICY_SUSPEND, "no output", 0 },
        { "P-25 a save refused for a notice does not hold idle up", refused_other, POLICY_SUSPEND, "no output", 0 },
        { "P-19 a pinned job is suspended too", pinned, POLICY_SUSPEND, "no output", 0 },
        { "P-23 idle.after is obeyed", setting_longer, POLICY_KEEP, "31m", 1 },
        { "P-23 idle.cpu is obeyed", setting_cpu, POLICY_SUSPEND, "99.99% of a core", 0 },
};

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scene c = scene_of_running();
                struct policy_decision d;

                c.x = (struct policy_measures){
                        .window_us = M30, .cpu_us = 0, .progress_wall_us = NOW - 31 * USEC_PER_MIN, .gpu_percent = -1
                };
                rows[i].change(&c);
                d = ask(IDLE, &c, NOW);
                (void)expect(rows[i].name, d, rows[i].act, rows[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_IDLE,
                        rows[i].why);
                (void)tap_int(d.review_wall_us, rows[i].review < 0 ? INT64_MAX : NOW + rows[i].review,
                        "P-15 ... and looks again in time");
        }
        {
                struct scene c = scene_of_running();

                (void)expect("P-09 no measures at all means active",
                        policy_table[IDLE].decide(&c.j, &c.m, NULL, &c.s, NOW), POLICY_KEEP, CAUSE_NONE,
                        "nothing is measured");
        }
        return tap_done();
}
