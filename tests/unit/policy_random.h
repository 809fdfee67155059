/* SPDX-License-Identifier: Apache-2.0 */
/* Random jobs for the property tests. The generator is ours, so that a failure comes again with its seed. */
#ifndef TESTS_POLICY_RANDOM_H
#define TESTS_POLICY_RANDOM_H

#include "policy_common.h"

#include <inttypes.h>

static uint64_t seed;

__attribute__((unused)) static void seed_from(int argc, char **argv)
{
        const char *given = argc > 1 ? argv[1] : getenv("TEST_SEED");

        seed = given ? strtoull(given, NULL, 10) : 20261130;
        tap_note("seed %" PRIu64, seed);
}

static uint64_t draw(void)
{
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static int64_t below(int64_t n)
{
        return (int64_t)(draw() % (uint64_t)n);
}

static bool one_in(int64_t n)
{
        return below(n) == 0;
}

/* Around now, often within a microsecond of it. */
static int64_t instant(void)
{
        return one_in(4) ? NOW + below(3) - 1 : NOW - 2 * USEC_PER_DAY + below(4 * USEC_PER_DAY);
}

static int64_t span(void)
{
        return one_in(4) ? 0 : below(one_in(2) ? USEC_PER_MIN : 2 * USEC_PER_HOUR);
}

static struct money price(void)
{
        struct money m = { below(12000), "USD" };

        if (one_in(20))
                memcpy(m.currency, "EUR", 4);
        return m;
}

static struct market_notice notice(void)
{
        return (struct market_notice){ .notice_us = below(3 * USEC_PER_MIN),
                .save_bytes_s = one_in(3) ? 0 : below(1000),
                .provider_bytes_s = one_in(3) ? 0 : below(1000),
                .detect_us = below(20 * USEC_PER_SEC),
                .freeze_us = below(20 * USEC_PER_SEC) };
}

static struct policy_offer random_offers[4];

static void draw_offers(struct policy_job *j)
{
        j->offers = random_offers;
        j->offers_n = (size_t)below(5);
        for (size_t i = 0; i < j->offers_n; i++)
                random_offers[i] = (struct policy_offer){ .name = "lab/somewhere/of-a-kind/spot",
                        .key = draw(),
                        .spot = one_in(2),
                        .rate = price(),
                        .unusable = one_in(10) ? "its price is not what it was" : NULL,
                        .not_before_wall_us = one_in(8) ? instant() : 0,
                        .notice = notice(),
                        .create_us = span(),
                        .handover_us = one_in(10) ? 0 : below(10 * USEC_PER_MIN),
                        .minimum_us = one_in(2) ? 0 : span(),
                        .lost_us = one_in(2) ? 0 : span(),
                        .egress_nano = one_in(2) ? 0 : below(2000) };
}

/* The least of each cost over them. */
__attribute__((unused)) static struct policy_offer least_of(const struct scene *c)
{
        struct policy_offer least = random_offers[0];

        for (size_t i = 0; i < c->j.offers_n; i++) {
                const struct policy_offer *o = &random_offers[i];
#define LEAST(member_) least.member_ = o->member_ < least.member_ ? o->member_ : least.member_
                LEAST(create_us);
                LEAST(handover_us);
                LEAST(minimum_us);
                LEAST(lost_us);
                LEAST(egress_nano);
#undef LEAST
        }
        return least;
}

static void draw_money(struct scene *c)
{
        c->m.rate = price();
        if (one_in(10))
                c->m.rate.currency[0] = '\0';
        c->m.rate_unusable = one_in(10) ? "its price is not what it was" : NULL;
        if (one_in(3))
                c->s.budget = (struct money){ 1 + below(200000), "USD" };
        if (!one_in(4))
                c->j.spent = (struct money){ below(200000), "USD" };
        if (one_in(4))
                c->j.cap_left = (struct money){ below(200000) - 100, "USD" };
        c->s.budget_stop = one_in(3);
}

static void draw_measures(struct policy_measures *x)
{
        *x = (struct policy_measures){ .window_us = one_in(5) ? -1 : below(USEC_PER_HOUR),
                .cpu_us = one_in(5) ? -1 : below(USEC_PER_HOUR) / 20,
                .progress_wall_us = one_in(4) ? -below(2) : NOW - below(USEC_PER_HOUR),
                .gpu_percent = (int32_t)below(10001) - 1,
                .gpu_missing = one_in(5),
                .state_bytes = one_in(2) ? 0 : (uint64_t)below(100000),
                .save_us = one_in(3) ? 0 : below(USEC_PER_MIN),
                .memory_limit_bytes = one_in(2) ? 0 : 1000,
                .memory_bytes = (uint64_t)below(1000),
                .memory_stalled = (int32_t)below(2000),
                .oom_reported_wall_us = one_in(20) ? instant() : 0,
                .oom_child_wall_us = one_in(20) ? instant() : 0,
                .peak_cpu_milli = (int32_t)below(3000),
                .peak_memory_bytes = (uint64_t)below(100000) };
}

__attribute__((unused)) static struct scene scene_random(void)
{
        struct scene c = scene_of_running();

        c.j = (struct policy_job){
                .state = one_in(2) ? JOB_RUNNING : (enum job_state)below(JOB_STATE_N),
                .saving = one_in(3),
                .saving_cause = (enum job_cause)below(CAUSE_N),
                .pinned = one_in(4),
                .ever_reported = one_in(2),
                .no_spot = one_in(5),
                .can_end = one_in(2),
                .created_wall_us = NOW - 3 * USEC_PER_DAY,
                .ran_before_us = one_in(2) ? 0 : below(USEC_PER_DAY),
                .ttl_us = one_in(5) ? SETTING_OFF : 1 + below(USEC_PER_DAY),
                .ttl_wall_us = one_in(3) ? 0 : instant(),
                .expire_wall_us = one_in(3) ? 0 : instant(),
                .container_wall_us = one_in(5) ? 0 : NOW - below(USEC_PER_DAY),
                .retry_wall_us = one_in(2) ? 0 : instant(),
                .refused_cause = one_in(2) ? CAUSE_NONE : (enum job_cause)below(CAUSE_N),
                .moved_wall_us = one_in(2) ? 0 : NOW - below(2 * USEC_PER_HOUR),
                .looked_wall_us = one_in(3) ? 0 : NOW - below(USEC_PER_HOUR),
                .moves_lost = !one_in(4) ? 0 : (int32_t)below(4),
                .cpu_milli = (int32_t)below(3000),
                .memory_bytes = (uint64_t)below(100000),
        };
        c.j.ran_us = one_in(3) && c.j.ttl_us > 0 ? c.j.ttl_us + below(3) - 1 : below(2 * USEC_PER_DAY);
        c.m = (struct policy_machine){ .notice_wall_us = !one_in(4) ? 0 : instant(),
                .stop_sure_wall_us = one_in(4) ? 0 : instant(),
                .renewed_wall_us = one_in(4) ? 0 : NOW - below(USEC_PER_HOUR),
                .spot = one_in(2),
                .ends_wall_us = one_in(2) ? 0 : instant(),
                .stop_lag_us = below(USEC_PER_MIN),
                .notice = notice() };
        draw_measures(&c.x);
        draw_offers(&c.j);
        draw_money(&c);
        c.s.idle = !one_in(5);
        c.s.spot = !one_in(5);
        c.s.oom = !one_in(5);
        c.s.ret = !one_in(5);
        c.s.cheaper = !one_in(5);
        c.s.rightsize = !one_in(5);
        if (one_in(5))
                c.s.lifetime_before_us = SETTING_OFF;
        c.s.spot_move_when_over = !one_in(5);
        c.s.idle_after_us = USEC_PER_SEC + below(USEC_PER_HOUR / 2);
        c.s.expect_us = one_in(3) ? 1 + below(3 * USEC_PER_DAY) : SETTING_OFF;
        return c;
}

#endif
