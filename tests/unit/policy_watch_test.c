/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of 64 bytes: where it says quiet, a check says KEEP in every row. Random jobs, random instants and prices after the check; the seed is
 * argv[1], $TEST_SEED or a fixed one, and is printed. */
#include "policy/watch.h"
#include "policy_random.h"

#define ROUNDS 100000

static void test_edges(void)
{
        struct scene c = scene_of_running();
        struct policy_decision all[POLICY_N];
        struct policy_watch w = { .class = 5, .job = 9 };
        struct policy_offer least = { .name = "", .handover_us = USEC_PER_MIN };

        c.m.rate = (struct money){ 10000, "USD" };
        (void)policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all);
        policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, NULL);
        (void)tap_ok(w.class == 5 && w.job == 9, "class and job are the caller's");
        (void)tap_int(w.rate_under_nano, 8000, "P-13 20 % bound the rate");
        (void)tap_int(w.due_wall_us, NOW + 5 * USEC_PER_MIN, "the lease is due first");
        (void)tap_int(w.look_wall_us, NOW + 10 * USEC_PER_MIN, "no offer yet: looked for at the next look");
        (void)tap_int(w.cpu_floor_us, 90 * USEC_PER_SEC, "P-09 5 % of the window");
        (void)tap_ok(policy_watch_quiet(&w, 1, NOW), "nothing is due");
        (void)tap_ok(!policy_watch_quiet(&w, INT64_MAX, NOW + 5 * USEC_PER_MIN), "the lease is");
        w.due_wall_us = INT64_MAX;
        (void)tap_ok(policy_watch_quiet(&w, 8000, NOW + 10 * USEC_PER_MIN - 1), "before the look no price counts");
        (void)tap_ok(!policy_watch_quiet(&w, 8000, NOW + 10 * USEC_PER_MIN), "... then one at the bound");
        (void)tap_ok(policy_watch_quiet(&w, 8001, NOW + 10 * USEC_PER_MIN), "... not a nano more");
        w.cpu_us--;
        (void)tap_ok(
                policy_watch_quiet(&w, 8001, NOW) && w.idle_wall_us == NOW, "P-09 its CPU use alone holds idle back");
        w.cpu_us = w.cpu_floor_us - 1;
        (void)tap_ok(!policy_watch_quiet(&w, 8001, NOW), "... with a microsecond less than 5 %% it is looked at");
        c.x.cpu_us = w.cpu_us;
        (void)policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all);
        policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, NULL);
        w.due_wall_us = INT64_MAX;
        (void)tap_ok(policy_watch_quiet(&w, 8001, NOW + 29 * USEC_PER_MIN - 1),
                "P-09 hardly any CPU, and progress within its idle time");
        (void)tap_ok(!policy_watch_quiet(&w, 8001, NOW + 29 * USEC_PER_MIN), "P-09 ... not after it");
        w.cpu_us++;
        (void)tap_ok(policy_watch_quiet(&w, 8001, NOW + 29 * USEC_PER_MIN),
                "P-09 ... with a microsecond of CPU more it is active");
        policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, &least);
        (void)tap_ok(
                w.rate_under_nano < 8000 || c.j.ran_us > USEC_PER_HOUR, "the least cost of a move bounds it further");
        c.s.expect_us = 3 * USEC_PER_HOUR;
        policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, &least);
        (void)tap_int(w.rate_under_nano, 8000, "an hour that is expected and a minute for the move");
        policy_watch_set(&w, &c.j, NULL, NULL, &c.s, NOW, all, NULL);
        (void)tap_ok(w.rate_under_nano == -1 && w.cpu_floor_us == INT64_MAX,
                "without machine and measures there is no bound");
        all[IDLE].act = POLICY_SUSPEND;
        policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, NULL);
        (void)tap_ok(!policy_watch_quiet(&w, INT64_MAX, NOW), "where something acts, nothing is quiet");
}

/* The same job a little later; the only things that may change without an event are time, prices and CPU use. */
static struct scene later(const struct scene *c, int64_t by)
{
        struct scene t = *c;

        if (c->j.state == JOB_RUNNING || c->j.state == JOB_SAVING)
                t.j.ran_us += by;
        if (t.m.rate.nano > 0 && t.j.spent.currency[0])
                t.j.spent.nano += money_cost(t.m.rate.nano, by);
        if (t.m.rate.nano > 0 && t.j.cap_left.currency[0])
                t.j.cap_left.nano -= money_cost(t.m.rate.nano, by);
        return t;
}

int main(int argc, char **argv)
{
        long long wrong = 0, quiet = 0, looked = 0;

        seed_from(argc, argv);
        test_edges();
        for (int n = 0; n < ROUNDS; n++) {
                struct scene c = scene_random(), t;
                struct policy_decision all[POLICY_N], then[POLICY_N];
                struct policy_offer least = least_of(&c);
                struct policy_watch w = { .job = 0 };
                int64_t by = one_in(3) ? below(3) : below(2 * USEC_PER_HOUR), best = INT64_MAX;
                bool acts = false;

                (void)policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all);
                policy_watch_set(&w, &c.j, &c.m, &c.x, &c.s, NOW, all, one_in(2) ? &least : NULL);
                t = later(&c, by);
                if (all[RETURN].looked || all[CHEAPER].looked)
                        t.j.looked_wall_us = NOW; /* as its header says */
                for (size_t i = 0; i < t.j.offers_n; i++) {
                        random_offers[i].rate.nano = one_in(2) ? random_offers[i].rate.nano : below(12000);
                        if (random_offers[i].rate.nano < best)
                                best = random_offers[i].rate.nano;
                }
                if (t.x.cpu_us >= 0 && t.x.window_us > 0 && one_in(2))
                        t.x.cpu_us = w.cpu_us = w.cpu_floor_us + below(2) - (w.cpu_floor_us > 0);
                if (!policy_watch_quiet(&w, best, NOW + by)) {
                        looked++;
                        continue;
                }
                quiet++;
                (void)policy_check(&t.j, &t.m, &t.x, &t.s, NOW + by, then);
                for (int i = 0; i < POLICY_N; i++)
                        acts |= then[i].act != POLICY_KEEP;
                wrong += acts;
                if (acts && wrong < 5)
                        for (int i = 0; i < POLICY_N; i++)
                                tap_note("%d +%lld us, best %lld under %lld: %s %s: %s", n, (long long)by,
                                        (long long)best, (long long)w.rate_under_nano, then[i].policy,
                                        policy_act_name(then[i].act), then[i].why);
        }
        (void)tap_int(wrong, 0, "where the watch is quiet, every row keeps");
        (void)tap_ok(quiet > ROUNDS / 50 && looked > ROUNDS / 50, "of %d, %lld were quiet and %lld were not", ROUNDS,
                quiet, looked);
        return tap_done();
}
