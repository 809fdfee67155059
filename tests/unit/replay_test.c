/* SPDX-License-Identifier: Apache-2.0 */
/* The sides of B-14: the optima equal brute force, nobody beats them, nobody knows the future, nobody misses a deadline that can be met. */
#include <unistd.h>

#include "replay/replay.h"
#include "tap.h"

static uint64_t seed;
static int32_t pick(int32_t below) /* splitmix64 */
{
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (int32_t)((z ^ (z >> 31)) % (uint64_t)below);
}

/* --- brute force: every choice at every tick --- */
struct search {
        const struct replay_window *w;
        const struct replay_task *k;
        bool rules;
};
struct at { /* all that a choice may depend on */
        int32_t tick, where, left, overhead, slack;
        int32_t changed, lost_tick, lost_zone; /* ticks of the last change of place and reclaim; -1 = none */
};

static bool is_up(const struct search *s, int32_t tick, int32_t where)
{
        return where < 0 || s->w->up[tick * s->w->zones + where];
}

static int64_t rate(const struct search *s, int32_t tick, int32_t where)
{
        return where == REPLAY_NOWHERE     ? 0
               : where == REPLAY_ON_DEMAND ? s->w->on_demand
                                           : s->w->price[tick * s->w->zones + where];
}

/* May portald put it there? */
static bool allowed(const struct search *s, const struct at *a, int32_t where)
{
        if (a->where != REPLAY_NOWHERE) {
                if (where == a->where)
                        return true;
                return where != REPLAY_NOWHERE && a->overhead == 0 &&
                       (a->changed < 0 || a->tick - a->changed >= s->k->cooldown) &&
                       replay_may_move(rate(s, a->tick, a->where), rate(s, a->tick, where), a->left, s->k->overhead);
        }
        if (where == REPLAY_NOWHERE || a->lost_tick < 0)
                return true;
        if (a->tick - a->lost_tick < s->k->delay) /* the user only comes back sooner when there is no other way */
                return where == REPLAY_ON_DEMAND && a->slack == s->k->overhead;
        return where != a->lost_zone || a->tick - a->lost_tick >= s->k->exclusion;
}

static int64_t brute(const struct search *s, struct at a);

static int64_t choose(const struct search *s, struct at a, int32_t where)
{
        int64_t cost;

        if (!is_up(s, a.tick, where) || (s->rules && !allowed(s, &a, where)))
                return REPLAY_NEVER;
        if (where != a.where) {
                a.overhead = where == REPLAY_NOWHERE ? 0 : s->k->overhead;
                if (where != REPLAY_NOWHERE && (a.lost_tick >= 0 || a.where != REPLAY_NOWHERE))
                        a.changed = a.tick;
        }
        a.where = where;
        cost = rate(s, a.tick, where);
        if (where != REPLAY_NOWHERE && a.overhead == 0)
                a.left--;
        else
                a.slack--;
        a.overhead -= a.overhead > 0;
        a.tick++;
        cost += brute(s, a);
        return cost < REPLAY_NEVER ? cost : REPLAY_NEVER;
}

static int64_t brute(const struct search *s, struct at a)
{
        int64_t best = REPLAY_NEVER;

        if (a.left == 0)
                return 0;
        if (a.slack < 0 || a.tick == s->k->deadline)
                return REPLAY_NEVER;
        if (!is_up(s, a.tick, a.where)) {
                a.lost_tick = a.tick;
                a.lost_zone = a.where;
                a.where = REPLAY_NOWHERE;
                a.overhead = 0;
        }
        for (int32_t where = REPLAY_NOWHERE; where < s->w->zones; where++) {
                int64_t c = choose(s, a, where);

                best = c < best ? c : best;
        }
        return best;
}

static int64_t brute_force(const struct replay_window *w, const struct replay_task *k, bool rules)
{
        const struct search s = { .w = w, .k = k, .rules = rules };

        return brute(&s, (struct at){ .where = REPLAY_NOWHERE,
                                 .left = k->work,
                                 .slack = replay_slack(k),
                                 .changed = -1,
                                 .lost_tick = -1,
                                 .lost_zone = REPLAY_NOWHERE });
}

/* --- windows by chance --- */
static void window(struct replay_window *w, int32_t zones, int32_t ticks, int32_t dwell)
{
        *w = (struct replay_window){
                .zones = zones, .ticks = ticks, .tick_us = 10 * USEC_PER_MIN, .on_demand = 3060000000
        };
        w->up = calloc((size_t)(zones * ticks), 1);
        w->price = calloc((size_t)(zones * ticks), sizeof *w->price);
        if (!w->up || !w->price)
                abort();
        for (int32_t z = 0; z < zones; z++) {
                bool up = pick(2);
                int64_t price = 400000000 + pick(40) * INT64_C(100000000);

                (void)snprintf(w->names[z], sizeof w->names[z], "z%d", z);
                for (int32_t t = 0; t < ticks; t++) {
                        up ^= pick(dwell) == 0;
                        if (pick(dwell * 2) == 0)
                                price = 400000000 + pick(40) * INT64_C(100000000);
                        w->up[t * zones + z] = up;
                        w->price[t * zones + z] = price;
                }
        }
}

static struct replay_task small_task(int32_t deadline)
{
        struct replay_task k = { .deadline = deadline,
                .overhead = 1 + pick(2),
                .delay = pick(4),
                .cooldown = pick(5),
                .exclusion = pick(5) };

        k.work = 1 + pick(deadline - k.overhead);
        return k;
}

#define SMALL 1000
static void test_brute(bool rules)
{
        int32_t same = 0, possible = 0, differ = -1;

        for (int32_t i = 0; i < SMALL; i++) {
                struct replay_window w;
                struct replay_task k;
                int64_t want, got;

                window(&w, 1 + pick(3), 5 + pick(3), 2 + pick(3));
                k = small_task(w.ticks);
                want = brute_force(&w, &k, rules);
                got = rules ? replay_bound(&w, &k) : replay_free(&w, &k);
                same += want == got;
                possible += want < REPLAY_NEVER;
                if (want != got && differ < 0)
                        differ = i;
                replay_clear(&w);
        }
        tap_ok(same == SMALL && possible > SMALL / 2, "the %s optimum equals brute force on %d small windows",
                rules ? "rule-bound" : "free", SMALL);
        if (same != SMALL)
                tap_note("%d of %d are the same, the first that differs is %d", same, SMALL, differ);
        tap_note("%d of them can be done in time", possible);
}

/* --- the online sides --- */
enum { ON_DEMAND, GREEDY, UNIFORM, PORTALD, PATIENT, HALF, SIDES };
static const char *const names[SIDES] = { "on demand", "greedy", "uniform progress", "portald",
        "portald that waits for spot", "portald that waits a while" };

static void play(
        int side, const struct replay_window *w, const struct replay_task *k, struct replay_result *ret, int8_t *trace)
{
        static const replay_side_fn fns[SIDES] = { replay_on_demand, replay_greedy, replay_uniform, replay_portald,
                replay_portald, replay_portald };
        static const int32_t patience[SIDES] = { [PATIENT] = REPLAY_PATIENT, [HALF] = 50 };
        struct replay_agent agent;

        replay_agent_init(&agent, patience[side]);
        replay_run(w, k, fns[side], &agent, ret, trace);
}

static struct replay_task large_task(const struct replay_window *w)
{
        struct replay_task k = { .deadline = w->ticks,
                .overhead = 1 + pick(4),
                .delay = pick(3) * pick(10),
                .cooldown = pick(12),
                .exclusion = pick(12) };

        k.work = w->ticks * (50 + pick(40)) / 100;
        return k;
}

struct tally {
        int64_t windows, missed[SIDES], beat_free[SIDES], beat_bound[SIDES], bound_below_free;
        int64_t reclaims[SIDES], moves[SIDES];
};

static void compare(const struct replay_window *w, const struct replay_task *k, struct tally *t)
{
        int64_t freely = replay_free(w, k), bound = replay_bound(w, k);

        t->windows++;
        t->bound_below_free += bound < freely;
        for (int side = 0; side < SIDES; side++) {
                struct replay_result r;

                play(side, w, k, &r, NULL);
                t->missed[side] += r.missed;
                t->beat_free[side] += !r.missed && r.cost < freely;
                t->beat_bound[side] += !r.missed && r.cost < bound;
                t->reclaims[side] += r.reclaims;
                t->moves[side] += r.moves;
        }
}

static void judge(const struct tally *t, const char *windows)
{
        int64_t missed = 0, beat_free = 0, beat_bound = 0;

        for (int side = 0; side < SIDES; side++) {
                missed += t->missed[side];
                beat_free += t->beat_free[side];
                beat_bound += side >= PORTALD || side == ON_DEMAND ? t->beat_bound[side] : 0;
                tap_note("%s: %lld moves, %lld reclaims, beats the rule-bound %lld times", names[side],
                        (long long)t->moves[side], (long long)t->reclaims[side], (long long)t->beat_bound[side]);
        }
        tap_ok(t->bound_below_free == 0 && beat_free == 0 && t->windows > 0,
                "nobody beats the free optimum on %lld %s windows", (long long)t->windows, windows);
        tap_ok(beat_bound == 0,
                "P-12, P-13, P-16, P-17, N-01 no side that abides by the rules beats the rule-bound, %s", windows);
        tap_ok(missed == 0, "no side misses a deadline that can be met, %s windows", windows);
        tap_ok(t->moves[PORTALD] > 0 && t->reclaims[PORTALD] > 0, "portald moved and was reclaimed, %s windows",
                windows);
}

static void test_random(void)
{
        struct tally t = { 0 };

        for (int32_t i = 0; i < 300; i++) {
                struct replay_window w;
                struct replay_task k;

                window(&w, 1 + pick(5), 60 + pick(100), 3 + pick(25));
                k = large_task(&w);
                compare(&w, &k, &t);
                replay_clear(&w);
        }
        judge(&t, "random");
}

/* All that comes after `tick` is another. */
static void shuffle(struct replay_window *w, int32_t tick)
{
        for (int32_t i = (tick + 1) * w->zones; i < w->ticks * w->zones; i++) {
                int32_t j = i + pick(w->ticks * w->zones - i);
                uint8_t up = w->up[i];
                int64_t price = w->price[i];

                w->up[i] = w->up[j];
                w->up[j] = up;
                w->price[i] = w->price[j];
                w->price[j] = price;
        }
}

static void test_blind(void)
{
        int64_t differ[SIDES] = { 0 }, changed_later = 0;

        for (int32_t i = 0; i < 200; i++) {
                int8_t before[SIDES][160], after[160];
                struct replay_result r;
                struct replay_window w;
                struct replay_task k;
                int32_t tick;

                window(&w, 1 + pick(4), 60 + pick(100), 3 + pick(20));
                k = large_task(&w);
                tick = pick(w.ticks);
                for (int side = 0; side < SIDES; side++)
                        play(side, &w, &k, &r, before[side]);
                shuffle(&w, tick);
                for (int side = 0; side < SIDES; side++) {
                        play(side, &w, &k, &r, after);
                        differ[side] += memcmp(before[side], after, (size_t)tick + 1) != 0;
                        changed_later += memcmp(before[side], after, (size_t)w.ticks) != 0;
                }
                replay_clear(&w);
        }
        for (int side = 0; side < SIDES; side++)
                tap_ok(differ[side] == 0, "what comes after t changes no decision up to t: %s", names[side]);
        tap_ok(changed_later > 200, "... and changes later ones");
}

/* Nine zones on one clock, read in place where the data is; 52 h for 48 h of work. */
static void test_real(void)
{
        static const char *const zones[] = { "us-east-1a", "us-east-1c", "us-east-1d", "us-east-1f", "us-east-2a",
                "us-east-2b", "us-west-2a", "us-west-2b", "us-west-2c" };
        const struct replay_task k = {
                .work = 887, .deadline = 960, .overhead = 4, .delay = 4, .cooldown = 10, .exclusion = 10
        };
        struct replay_source source = { .paths_n = ARRAY_LEN(zones),
                .split = 1,
                .most = 960,
                .spot_nano = 970000000,
                .on_demand_nano = 3060000000 };
        const char *data = getenv("PORTALD_DATA"), *paths[ARRAY_LEN(zones)];
        char text[ARRAY_LEN(zones)][512];
        struct tally t = { 0 };
        struct pd_error err;

        for (size_t z = 0; z < ARRAY_LEN(zones); z++) {
                (void)snprintf(text[z], sizeof text[z],
                        "%s/traces/spot-traces/availability/1-node/aws-02-15-2023/%s_v100_1.json",
                        data ? data : TEST_SOURCE_DIR "/../shared", zones[z]);
                paths[z] = text[z];
        }
        source.paths = paths;
        if (access(paths[0], R_OK) < 0) {
                tap_skip("the sides on real windows", "no real availability in $PORTALD_DATA");
                return;
        }
        for (source.first = 0; source.first < 19000; source.first += 4700) {
                struct replay_window w;

                if (replay_load(&source, &w, &err) < 0) {
                        tap_ok(false, "a real window can be read: %s", err.text);
                        return;
                }
                compare(&w, &k, &t);
                replay_clear(&w);
        }
        judge(&t, "real");
}

int main(void)
{
        const char *given = getenv("TEST_SEED");

        seed = given ? strtoull(given, NULL, 10) : 20261201;
        tap_note("seed %llu", (unsigned long long)seed);
        test_brute(false);
        test_brute(true);
        test_random();
        test_blind();
        test_real();
        return tap_done();
}
