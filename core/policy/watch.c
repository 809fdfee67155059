/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/watch.h"

#include "policy/words.h"

typedef __int128 wide;

#define ALL 10000                 /* one whole core, in hundredths of a percent                                    */
#define WORN_OUT_US USEC_PER_HOUR /* what the rate's bound looks ahead: a longer run makes more moves worth while */

static bool looks(const struct policy_row *row)
{
        return row->decide == policy_return || row->decide == policy_cheaper;
}

static int64_t first(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static void set_times(struct policy_watch *w, int64_t now_wall_us, const struct policy_decision all[POLICY_N])
{
        w->due_wall_us = policy_later(now_wall_us, WORN_OUT_US);
        w->look_wall_us = w->idle_wall_us = INT64_MAX;
        for (int i = 0; i < POLICY_N; i++) {
                int64_t *at = &w->due_wall_us;

                if (looks(&policy_table[i]))
                        at = &w->look_wall_us;
                else if (policy_table[i].decide == policy_idle)
                        at = &w->idle_wall_us;
                *at = first(*at, all[i].review_wall_us);
                if (all[i].act != POLICY_KEEP)
                        w->due_wall_us = now_wall_us; /* it acts: there is something to do until it has */
        }
}

/* The rate at which a move could be worth its least cost at any time until the watch is worn out. */
static int64_t rate_under(const struct policy_job *j, const struct policy_machine *m, const struct settings *s,
        const struct policy_offer *least)
{
        static const struct policy_offer nothing = { .name = "" };
        struct policy_job later = *j;

        if (s->expect_us == SETTING_OFF)
                later.ran_before_us = policy_later(later.ran_before_us, WORN_OUT_US);
        return policy_rate_max(&later, m, s, least ? least : &nothing);
}

static void set_idle(
        struct policy_watch *w, const struct policy_measures *x, const struct settings *s, int64_t now_wall_us)
{
        w->cpu_us = 0;
        w->cpu_floor_us = INT64_MAX;
        if (!x || x->window_us < 0 || x->cpu_us < 0)
                return;
        w->cpu_us = x->cpu_us;
        w->cpu_floor_us = (int64_t)(((wide)s->idle_cpu_percent * x->window_us + ALL - 1) / ALL);
        if (w->cpu_us >= w->cpu_floor_us)
                w->idle_wall_us = now_wall_us; /* active by its CPU use: what holds idle back is that alone */
}

void policy_watch_set(struct policy_watch *w, const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us,
        const struct policy_decision all[POLICY_N], const struct policy_offer *least)
{
        set_times(w, now_wall_us, all);
        set_idle(w, x, s, now_wall_us);
        w->rate_under_nano = m ? rate_under(j, m, s, least) : -1;
        if (m && j->offers_n == 0) /* nothing to compare with yet: an offer may come */
                w->look_wall_us = first(w->look_wall_us, policy_later(now_wall_us, s->look_every_us));
}
