/* SPDX-License-Identifier: Apache-2.0 */
/* idle: suspends a job that made no progress and used hardly any CPU for long (P-09). Whatever is not measured counts as active: a job is never
 * suspended for what nobody saw. */
#include "policy/words.h"

typedef __int128 wide;

#define GPU_ACTIVE 500 /* hundredths of a percent */
#define ALL 10000      /* one whole core, in hundredths of a percent */

static struct policy_decision active(const struct settings *s, int64_t now_wall_us, const char *why, const char *would)
{
        struct policy_decision d = policy_keep("idle", policy_later(now_wall_us, s->check_every_us), "%s", why);

        policy_would(&d, "%s", would);
        return d;
}

static struct policy_decision not_yet(int64_t review_wall_us, const char *why, const char *after)
{
        struct policy_decision d = policy_keep("idle", review_wall_us, "%s of %s", why, after);

        policy_would_at(&d, review_wall_us);
        return d;
}

/* When the quiet began: with its last progress, or with its container; what came before that is no idleness of the job. */
static int64_t quiet_since(const struct policy_job *j, const struct policy_measures *x)
{
        return x->progress_wall_us > j->container_wall_us ? x->progress_wall_us : j->container_wall_us;
}

/* NULL = every measurement is there. */
static const char *missing(const struct policy_measures *x)
{
        if (!x || x->window_us < 0)
                return "nothing is measured on its machine, which counts as active";
        if (x->cpu_us < 0)
                return "its CPU use is not measured, which counts as active";
        if (x->gpu_missing)
                return "its GPU use is not measured, which counts as active";
        return x->progress_wall_us < 0 ? "its progress is not known, which counts as active" : NULL;
}

static struct policy_decision suspend(
        const struct policy_job *j, const struct policy_measures *x, const struct settings *s, int64_t now_wall_us)
{
        wide percent = (wide)x->cpu_us * ALL / x->window_us; /* an empty window is never under a share of it */
        char quiet[QUANTITY_MAX], window[QUANTITY_MAX];

        return policy_acts("idle", POLICY_SUSPEND, CAUSE_IDLE, now_wall_us,
                "no %s for %s, and %d.%02d%% of a core over the last %s, which is under %d.%02d%%",
                j->ever_reported ? "progress" : "output", policy_span(now_wall_us - quiet_since(j, x), quiet),
                (int)(percent / 100), (int)(percent % 100), policy_span(x->window_us, window),
                s->idle_cpu_percent / 100, s->idle_cpu_percent % 100);
}

/* The job runs and everything is measured: is it idle? */
static struct policy_decision judge(
        const struct policy_job *j, const struct policy_measures *x, const struct settings *s, int64_t now_wall_us)
{
        int64_t since = quiet_since(j, x);
        char after[QUANTITY_MAX];

        (void)policy_span(s->idle_after_us, after);
        if (x->gpu_percent >= GPU_ACTIVE)
                return active(s, now_wall_us, "its GPUs are in use", "once GPU use is under 5%");
        if (now_wall_us < policy_later(since, s->idle_after_us))
                return not_yet(policy_later(since, s->idle_after_us),
                        "its last progress, or its start, is within its idle time", after);
        if (x->window_us < s->idle_after_us)
                return not_yet(policy_later(now_wall_us, s->idle_after_us - x->window_us),
                        "it has not been measured for its idle time", after);
        if ((wide)x->cpu_us * ALL >= (wide)s->idle_cpu_percent * x->window_us)
                return active(s, now_wall_us, "it uses the CPU", "once its mean CPU use is under idle.cpu");
        if (!policy_outranks(j, CAUSE_IDLE))
                return policy_keep("idle", INT64_MAX, "it is idle, and its state is being saved already");
        if (policy_must_wait(j, CAUSE_IDLE, now_wall_us)) {
                struct policy_decision d = policy_keep(
                        "idle", j->retry_wall_us, "it is idle, but the save was refused; it is tried again");

                policy_would_at(&d, j->retry_wall_us);
                return d;
        }
        return suspend(j, x, s, now_wall_us);
}

struct policy_decision policy_idle(POLICY_ARGS)
{
        const char *unmeasured = missing(x);

        (void)m;
        if (!s->idle)
                return policy_keep("idle", INT64_MAX, "idle is off");
        if (!policy_runs(j) || j->container_wall_us == 0)
                return policy_keep("idle", INT64_MAX,
                        "its container does not run, or is being ended, and waiting, pulling and restoring are not "
                        "idleness");
        if (unmeasured)
                return active(s, now_wall_us, unmeasured, "once that is measured");
        return judge(j, x, s, now_wall_us);
}
