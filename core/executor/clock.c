/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock may be stepped. What is counted as a span since some past moment (a container's start, its last progress, a measurement, a lease's
 * last renewal) moves along with it, so that no step looks like time that passed; deadlines on the clock stay where they are. */
#include "executor/internal.h"

#include "base/log.h"

#define GAP_US \
        (10 * USEC_PER_MIN) /* a step that is no trimming: what the clock says of many machines at once is not acted on */
#define STEP_US USEC_PER_SEC /* less is the clock being trimmed, and adds up until it is a step */

static void shift(int64_t *at_wall_us, int64_t by_us)
{
        if (*at_wall_us > 0)
                *at_wall_us += by_us;
}

static void shift_live(struct entry *en, int64_t by_us)
{
        struct live *l = en->live;

        shift(&en->job.started_wall_us, by_us);
        shift(&l->container_wall_us, by_us);
        shift(&l->measured_wall_us, by_us);
        shift(&l->progress_wall_us, by_us);
        for (size_t i = 0; i < l->samples_n; i++)
                shift(&l->samples[i].at_wall_us, by_us);
}

void clock_watch(struct engine *e)
{
        int64_t ahead = now_wall(e) - now_boot(e), by = ahead - e->wall_ahead_us;

        if ((by > -STEP_US && by < STEP_US) || planted(PLANT_CLOCK_STEPS))
                return;
        e->wall_ahead_us = ahead;
        log_warning("the wall clock was stepped by %lld ms", (long long)(by / USEC_PER_MSEC));
        for (size_t i = 0; i < e->slots_n; i++)
                if (e->slots[i] && e->slots[i]->live)
                        shift_live(e->slots[i], by);
        vec_foreach (m, &e->machines)
                shift(&(*m)->renewed_wall_us, by);
        if (by <= -GAP_US || by >= GAP_US)
                rent_gap(e);
        money_clock_stepped(e, by);
}
