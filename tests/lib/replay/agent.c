/* SPDX-License-Identifier: Apache-2.0 */
/* portald as a side: core/policy looks, core/placement places, and a user resumes. */
#include "replay/replay.h"

#include <stdio.h>

#include "placement/placement.h"
#include "policy/policy.h"

#define WALL_US (INT64_C(1676419200) * USEC_PER_SEC) /* when the window begins: any date will do */
#define CREATE_US(v_) \
        ((v_)->k->overhead * (v_)->w->tick_us - 1) /* with a handover of 1 us, a move costs the overhead */

void replay_agent_init(struct replay_agent *a, int32_t patience)
{
        *a = (struct replay_agent){ .patience = patience, .moved_tick = -1, .looked_tick = -1 };
}

static int64_t wall(const struct replay_view *v, int64_t tick)
{
        return WALL_US + tick * v->w->tick_us;
}

static struct money dollars(int64_t nano)
{
        return (struct money){ .nano = nano, .currency = "USD" };
}

/* Where placement would put it now; REPLAY_NOWHERE = only places that are not up. */
static int32_t place(const struct replay_agent *a, const struct replay_view *v, bool no_spot)
{
        struct placement_offer offers[REPLAY_ZONES_MAX + 1];
        struct placement_choice choices[REPLAY_ZONES_MAX + 1];
        struct placement_need need = { .cpu_milli = 1000, .memory_bytes = 1, .no_spot = no_spot };
        size_t n = (size_t)v->w->zones, ok = 0;
        struct pd_error err;

        for (size_t z = 0; z <= n; z++)
                offers[z] = (struct placement_offer){ .connection = "sim",
                        .zone = z < n ? v->w->names[z] : "any",
                        .type = "gpu",
                        .market = z < n ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND,
                        .price = dollars(z < n ? v->price[z] : v->w->on_demand),
                        .cpu_milli = 1000,
                        .memory_bytes = 1,
                        .not_before_wall_us = z < n && a->back_tick[z] > v->tick ? wall(v, a->back_tick[z]) : 0,
                        .usable = z == n || v->up[z],
                        .why = "there is none to be had" };
        if (placement_rank(&need, offers, n + 1, wall(v, v->tick), choices, &ok, &err) < 0 || ok == 0)
                return REPLAY_NOWHERE;
        return choices[0].offer == n ? REPLAY_ON_DEMAND : (int32_t)choices[0].offer;
}

/* Is the user still content with waiting for spot? */
static bool waits(const struct replay_agent *a, const struct replay_view *v)
{
        int64_t used = replay_slack(v->k) - v->slack_left;

        if (a->patience == REPLAY_PATIENT)
                return true;
        return used * 100 * v->k->deadline < (int64_t)a->patience * replay_slack(v->k) * v->tick;
}

static int32_t stopped(struct replay_agent *a, const struct replay_view *v)
{
        int32_t where;

        if (v->slack_left <= v->k->overhead)
                return REPLAY_ON_DEMAND; /* the last instant: the user asks for it, whatever the delay */
        if (v->tick < a->resume_tick)
                return REPLAY_NOWHERE;
        if (v->slack_left < 2 * v->k->overhead)
                return REPLAY_NOWHERE; /* spot could be too late: the last instant is near */
        where = place(a, v, false);
        return where == REPLAY_ON_DEMAND && waits(a, v) ? REPLAY_NOWHERE : where;
}

static size_t offers_of(const struct replay_agent *a, const struct replay_view *v, struct policy_offer *ret)
{
        size_t n = 0;

        for (int32_t z = 0; z <= v->w->zones; z++) {
                bool spot = z < v->w->zones;
                int32_t where = spot ? z : REPLAY_ON_DEMAND;

                if (where == v->where || (spot && !v->up[z]))
                        continue;
                ret[n++] = (struct policy_offer){ .name = spot ? v->w->names[z] : "on demand",
                        .key = (uint64_t)z,
                        .spot = spot,
                        .rate = dollars(spot ? v->price[z] : v->w->on_demand),
                        .not_before_wall_us = spot && a->back_tick[z] > v->tick ? wall(v, a->back_tick[z]) : 0,
                        .create_us = CREATE_US(v),
                        .handover_us = 1 };
        }
        return n;
}

/* One check of the policies. */
static int32_t running(struct replay_agent *a, const struct replay_view *v)
{
        int64_t now = wall(v, v->tick), ran = (v->k->work - v->left) * v->w->tick_us;
        struct policy_offer offers[REPLAY_ZONES_MAX + 1];
        struct policy_decision all[POLICY_N];
        struct settings s = { .ttl_us = SETTING_OFF,
                .spot = true,
                .ret = true,
                .cheaper = true,
                .look_every_us = 10 * USEC_PER_MIN,
                .move_cooldown_us = v->k->cooldown * v->w->tick_us,
                .expect_us = v->k->work * v->w->tick_us,
                .check_every_us = USEC_PER_MIN,
                .lease_horizon_us = USEC_PER_HOUR,
                .lease_renew_us = 10 * USEC_PER_MIN,
                .lifetime_before_us = SETTING_OFF };
        struct policy_measures x = { .window_us = -1, .cpu_us = -1, .progress_wall_us = -1, .gpu_percent = -1 };
        struct policy_machine m = { .spot = v->where >= 0,
                .stop_sure_wall_us = now + USEC_PER_HOUR,
                .renewed_wall_us = now,
                .rate = dollars(v->where >= 0 ? v->price[v->where] : v->w->on_demand) };
        struct policy_job j = { .state = JOB_RUNNING,
                .created_wall_us = WALL_US,
                .term_wall_us = WALL_US,
                .ran_us = ran,
                .ttl_us = SETTING_OFF,
                .container_wall_us = wall(v, v->tick),
                .offers = offers,
                .no_spot = a->final || v->slack_left < 2 * v->k->overhead,
                .moved_wall_us = a->moved_tick >= 0 ? wall(v, a->moved_tick) : 0,
                .looked_wall_us = a->looked_tick >= 0 ? wall(v, a->looked_tick) : 0 };
        int acts;

        if (v->overhead_left > 0)
                return v->where; /* its container does not run yet */
        j.offers_n = offers_of(a, v, offers);
        acts = policy_check(&j, &m, &x, &s, now, all);
        for (size_t i = 0; i < POLICY_N; i++)
                if (all[i].looked)
                        a->looked_tick = v->tick;
        if (acts < 0 || all[acts].act != POLICY_MOVE)
                return v->where;
        return all[acts].offer_key == (uint64_t)v->w->zones ? REPLAY_ON_DEMAND : (int32_t)all[acts].offer_key;
}

int32_t replay_portald(void *agent, const struct replay_view *v)
{
        struct replay_agent *a = agent;
        int32_t where;

        if (v->reclaimed != REPLAY_NOWHERE) {
                a->back_tick[v->reclaimed] = v->tick + v->k->exclusion;
                a->resume_tick = v->tick + v->k->delay;
        }
        where = v->where == REPLAY_NOWHERE ? stopped(a, v) : running(a, v);
        if (v->where == REPLAY_NOWHERE && where == REPLAY_ON_DEMAND && v->slack_left <= v->k->overhead)
                a->final = true;
        if (where != v->where && where != REPLAY_NOWHERE && v->tick > 0 &&
                (v->where != REPLAY_NOWHERE || a->resume_tick > 0))
                a->moved_tick = v->tick;
        return where;
}
