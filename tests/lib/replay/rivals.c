/* SPDX-License-Identifier: Apache-2.0 */
/* The rivals of B-14. All go on demand, for good, at the last instant that still meets the deadline. */
#include "replay/replay.h"

int32_t replay_on_demand(void *unused, const struct replay_view *v)
{
        (void)unused;
        (void)v;
        return REPLAY_ON_DEMAND;
}

/* The cheapest zone that is up; the one it is in first among equals. */
static int32_t cheapest(const struct replay_view *v)
{
        int32_t best = v->where >= 0 ? v->where : REPLAY_NOWHERE;

        if (best != REPLAY_NOWHERE)
                return best; /* a spot machine is kept until it is reclaimed */
        for (int32_t z = 0; z < v->w->zones; z++)
                if (v->up[z] && (best == REPLAY_NOWHERE || v->price[z] < v->price[best]))
                        best = z;
        return best;
}

/* From now on only on demand meets the deadline for sure: another start on spot could be reclaimed, and the one after it be too late. */
static bool last_instant(const struct replay_view *v)
{
        if (v->where >= 0)
                return false; /* there is time for the one start on demand that follows a reclaim */
        if (v->where == REPLAY_ON_DEMAND)
                return v->slack_left - v->overhead_left < 2 * v->k->overhead;
        return v->slack_left < 2 * v->k->overhead;
}

int32_t replay_greedy(void *unused, const struct replay_view *v)
{
        int32_t spot = cheapest(v);

        (void)unused;
        if (last_instant(v))
                return v->where == REPLAY_NOWHERE && v->slack_left > v->k->overhead ? REPLAY_NOWHERE : REPLAY_ON_DEMAND;
        if (spot != REPLAY_NOWHERE)
                return spot;
        return v->where; /* nowhere: waits; on demand it is only at the last instant */
}

/* Uniform progress (Wu, Chiang et al., "Can't Be Late", NSDI 2024). Expected at t: ep(t) = work x t / deadline. A spot machine is kept until it is
 * reclaimed; idle: spot if there is any, else on demand while behind ep(t); on demand: stays until it is ahead of ep(t + 2 overheads); safety net: idle
 * with less than two overheads of slack: on demand to the end. */
int32_t replay_uniform(void *unused, const struct replay_view *v)
{
        int64_t done = v->k->work - v->left, ahead = v->tick;
        int32_t spot = cheapest(v);

        (void)unused;
        if (last_instant(v))
                return REPLAY_ON_DEMAND;
        if (v->where == REPLAY_ON_DEMAND)
                ahead += 2 * v->k->overhead;
        if (v->where == REPLAY_ON_DEMAND && done * v->k->deadline < ahead * v->k->work)
                return REPLAY_ON_DEMAND;
        if (spot != REPLAY_NOWHERE)
                return spot;
        return done * v->k->deadline < ahead * v->k->work ? REPLAY_ON_DEMAND : REPLAY_NOWHERE;
}
