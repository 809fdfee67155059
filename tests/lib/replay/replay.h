/* SPDX-License-Identifier: Apache-2.0 */
/* Bench B-14: one job with a deadline on a window of real spot availability, and who runs it how.
 *
 * A window is a grid of ticks x zones. At the start of a tick a side sees which zones are up and at what price, and says where the job is in that tick:
 * nowhere, in a zone that is up, or on demand (which is always up). Another place than in the tick before costs `overhead` ticks that are paid and do no
 * work; a zone that goes down reclaims the job, and no work is lost. Money is exact: nano an hour x ticks, made nano once, at the end.
 *
 * Pure but for replay_load(). Who plays: rivals.c (on demand, greedy, uniform progress), agent.c (portald's own policy and placement), and two that know
 * the future: free.c (nothing but physics) and bound.c (portald's rules as well). */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include "base/base.h"

#define REPLAY_ZONES_MAX 12
#define REPLAY_NEVER (INT64_MAX / 4) /* cost of what misses its deadline */

enum { REPLAY_NOWHERE = -2, REPLAY_ON_DEMAND = -1 }; /* else a zone */

struct replay_window {
        int32_t zones, ticks;
        int64_t tick_us;
        uint8_t *up;       /* [tick * zones + zone] */
        int64_t *price;    /* the same, nano an hour */
        int64_t on_demand; /* nano an hour */
        char names[REPLAY_ZONES_MAX][32];
};

struct replay_task {                      /* in ticks; what is "at least" is rounded up */
        int32_t work, deadline, overhead; /* overhead >= 1 */
        int32_t delay;                    /* from a suspension to the user's resume */
        int32_t cooldown, exclusion;      /* P-16, P-17 */
};
static inline int32_t replay_slack(const struct replay_task *k)
{
        return k->deadline - k->work;
}

/* What a side sees at the start of a tick: nothing of later ones. */
struct replay_view {
        const struct replay_window *w; /* its zones, tick_us and on_demand; up and price are NULL */
        const struct replay_task *k;
        int32_t tick, where; /* after a reclaim: nowhere */
        int32_t reclaimed;   /* the zone that went down just now; REPLAY_NOWHERE = none */
        int32_t left, overhead_left;
        int32_t slack_left; /* ticks that may still go by without work */
        const uint8_t *up;  /* of this tick, a zone each */
        const int64_t *price;
};
typedef int32_t (*replay_side_fn)(void *side, const struct replay_view *v);

struct replay_result {
        int64_t cost; /* nano an hour x ticks */
        bool missed;
        int32_t done_tick, moves, reclaims; /* moves: from one running place to another */
        int32_t on_demand_ticks;
};
/* trace: NULL, or room for a place a tick; what is behind the end is NOWHERE. */
void replay_run(const struct replay_window *w, const struct replay_task *k, replay_side_fn fn, void *side,
        struct replay_result *ret, int8_t *trace);
int64_t replay_nano(const struct replay_window *w, int64_t cost); /* rounded up */

/* --- sides --- */
int32_t replay_on_demand(void *unused, const struct replay_view *v);
int32_t replay_greedy(void *unused, const struct replay_view *v);
int32_t replay_uniform(void *unused, const struct replay_view *v);

/* portald's rows of core/policy and its core/placement, and a user who resumes `delay` after a suspension, goes on demand at the last instant, and
 * takes nothing but spot for as long as the slack used so far is below patience % of what would be used by then at an even pace. */
struct replay_agent {
        int32_t patience; /* 0 = takes what portald gives; REPLAY_PATIENT = waits for spot until the last instant */
        int64_t resume_tick, moved_tick, looked_tick;
        int64_t back_tick[REPLAY_ZONES_MAX]; /* P-17 */
        bool final;
};
#define REPLAY_PATIENT INT32_MAX
int32_t replay_portald(void *agent, const struct replay_view *v);
void replay_agent_init(struct replay_agent *a, int32_t patience);

/* --- those who know the future; the cost in nano an hour x ticks, REPLAY_NEVER = cannot be done --- */
int64_t replay_free(const struct replay_window *w, const struct replay_task *k);
/* Under portald's rules: from one place to another only if it saves a fifth and three times what the move costs, and not within `cooldown` of the last
 * change of place; a reclaimed pool is left out for `exclusion` (only the last one: that is the kinder side); after a reclaim nowhere for `delay`, but on
 * demand at the last instant; a running job is never put off. */
int64_t replay_bound(const struct replay_window *w, const struct replay_task *k);
static inline bool replay_may_move(int64_t old_price, int64_t new_price, int32_t left, int32_t overhead)
{
        return (__int128)new_price * 100 <= (__int128)old_price * 80 &&
               (__int128)(old_price - new_price) * left >= (__int128)3 * new_price * overhead;
}

/* --- windows --- */
/* One JSON file a zone: {"metadata": {"gap_seconds": G}, "data": [n, ...], "prices"?: [x, ...]}; up where n >= 1. Each tick becomes `split` ticks. From
 * `first` on, at most `most` ticks of the file. Without prices in the file, or with spot_nano > 0, each tick costs spot_nano. */
struct replay_source {
        const char *const *paths;
        size_t paths_n;
        int32_t split, first, most;
        int64_t spot_nano, on_demand_nano;
};
int replay_load(const struct replay_source *s, struct replay_window *ret, struct pd_error *err);
void replay_clear(struct replay_window *w);

#endif
