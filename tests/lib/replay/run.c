/* SPDX-License-Identifier: Apache-2.0 */
/* The physics that all sides live by, and what a side is told. */
#include "replay/replay.h"

int64_t replay_nano(const struct replay_window *w, int64_t cost)
{
        return (int64_t)(((__int128)cost * w->tick_us + USEC_PER_HOUR - 1) / USEC_PER_HOUR);
}

static int64_t price_at(const struct replay_view *v, int32_t where)
{
        return where == REPLAY_ON_DEMAND ? v->w->on_demand : where == REPLAY_NOWHERE ? 0 : v->price[where];
}

/* One tick at `where`. */
static void work(struct replay_view *v, int32_t where, struct replay_result *r)
{
        if (where != v->where) {
                r->moves += v->where != REPLAY_NOWHERE && where != REPLAY_NOWHERE;
                v->overhead_left = where == REPLAY_NOWHERE ? 0 : v->k->overhead;
        }
        v->where = where;
        r->cost += price_at(v, where);
        r->on_demand_ticks += where == REPLAY_ON_DEMAND;
        if (where != REPLAY_NOWHERE && v->overhead_left == 0)
                v->left--;
        else
                v->slack_left--;
        v->overhead_left -= v->overhead_left > 0;
}

void replay_run(const struct replay_window *w, const struct replay_task *k, replay_side_fn fn, void *side,
        struct replay_result *ret, int8_t *trace)
{
        struct replay_window seen = *w;
        struct replay_view v = {
                .w = &seen, .k = k, .where = REPLAY_NOWHERE, .left = k->work, .slack_left = replay_slack(k)
        };
        int32_t where;

        seen.up = NULL;
        seen.price = NULL;
        *ret = (struct replay_result){ .done_tick = -1 };
        for (v.tick = 0; v.tick < k->deadline && v.left > 0; v.tick++) {
                v.up = w->up + (size_t)v.tick * (size_t)w->zones;
                v.price = w->price + (size_t)v.tick * (size_t)w->zones;
                v.reclaimed = v.where >= 0 && !v.up[v.where] ? v.where : REPLAY_NOWHERE;
                if (v.reclaimed != REPLAY_NOWHERE) {
                        v.where = REPLAY_NOWHERE;
                        v.overhead_left = 0;
                        ret->reclaims++;
                }
                where = fn(side, &v);
                if (where >= 0 && !v.up[where])
                        where = REPLAY_NOWHERE; /* it cannot be had */
                work(&v, where, ret);
                if (trace)
                        trace[v.tick] = (int8_t)where;
        }
        for (int32_t t = v.tick; trace && t < k->deadline; t++)
                trace[t] = REPLAY_NOWHERE;
        ret->missed = v.left > 0;
        ret->done_tick = v.left > 0 ? -1 : v.tick;
}
