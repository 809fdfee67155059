/* SPDX-License-Identifier: Apache-2.0 */
/* What every policy test begins with: a healthy running job, its machine, its measures, the built-in settings, and one instant. */
#ifndef TESTS_POLICY_COMMON_H
#define TESTS_POLICY_COMMON_H

#include "policy/policy.h"

#include "tap.h"

#define NOW (INT64_C(1796000000) * USEC_PER_SEC)

enum { TTL, SPOT, BUDGET, OOM, IDLE, LIFETIME, LEASE, RETURN, CHEAPER, RIGHTSIZE };

struct scene {
        struct policy_job j;
        struct policy_machine m;
        struct policy_measures x;
        struct settings s;
};

__attribute__((unused)) static struct scene scene_of_running(void)
{
        const json_t *none[SETTING_LEVEL_N] = { NULL };
        struct scene c = {
                .j = { .state = JOB_RUNNING,
                        .created_wall_us = NOW - USEC_PER_DAY,
                        .term_wall_us = NOW - USEC_PER_DAY,
                        .ran_us = 2 * USEC_PER_HOUR,
                        .ttl_us = 72 * USEC_PER_HOUR,
                        .container_wall_us = NOW - 2 * USEC_PER_HOUR },
                .m = { .stop_sure_wall_us = NOW + 55 * USEC_PER_MIN, .renewed_wall_us = NOW - 5 * USEC_PER_MIN },
                .x = { .window_us = 30 * USEC_PER_MIN,
                        .cpu_us = 30 * USEC_PER_MIN,
                        .progress_wall_us = NOW - USEC_PER_MIN,
                        .gpu_percent = -1 },
        };

        (void)settings_resolve(none, &c.s, NULL, NULL);
        return c;
}

__attribute__((unused)) static struct policy_decision ask(int row, const struct scene *c, int64_t now)
{
        return policy_table[row].decide(&c->j, &c->m, &c->x, &c->s, now);
}

/* act, cause and a part of the sentence; for a KEEP also what would make it act, where that is known. */
__attribute__((unused)) static bool expect(
        const char *name, struct policy_decision d, enum policy_act act, enum job_cause cause, const char *why)
{
        if (tap_ok(d.act == act && d.cause == cause && strstr(d.why, why), "%s", name))
                return true;
        tap_note("%s, cause \"%s\": %s (%s)", policy_act_name(d.act), job_cause_name(d.cause), d.why, d.would_act);
        return false;
}

#endif
