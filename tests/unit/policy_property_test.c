/* SPDX-License-Identifier: Apache-2.0 */
/* Random jobs: whatever the values, the rules of the house hold. The seed is argv[1], $TEST_SEED or a fixed one, and is printed; the generator is ours, so that a
 * failure comes again. */
#include "policy_common.h"

#include <inttypes.h>

#define ROUNDS 200000

static uint64_t seed;

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

static struct scene scene_random(void)
{
        struct scene c = scene_of_running();

        c.j = (struct policy_job){
                .state = (enum job_state)below(JOB_STATE_N),
                .saving = one_in(3),
                .saving_cause = (enum job_cause)below(CAUSE_N),
                .pinned = one_in(4),
                .ever_reported = one_in(2),
                .created_wall_us = NOW - 3 * USEC_PER_DAY,
                .ttl_us = one_in(5) ? SETTING_OFF : 1 + below(USEC_PER_DAY),
                .ttl_wall_us = one_in(3) ? 0 : instant(),
                .expire_wall_us = one_in(3) ? 0 : instant(),
                .container_wall_us = one_in(5) ? 0 : NOW - below(USEC_PER_DAY),
                .retry_wall_us = one_in(2) ? 0 : instant(),
                .refused_cause = (enum job_cause)below(CAUSE_N),
        };
        c.j.ran_us = one_in(3) && c.j.ttl_us > 0 ? c.j.ttl_us + below(3) - 1 : below(2 * USEC_PER_DAY);
        c.m = (struct policy_machine){ .notice_wall_us = one_in(2) ? 0 : instant(),
                .stop_sure_wall_us = one_in(4) ? 0 : instant(),
                .renewed_wall_us = one_in(4) ? 0 : NOW - below(USEC_PER_HOUR),
                .spot = one_in(2) };
        c.x = (struct policy_measures){ .window_us = one_in(5) ? -1 : below(USEC_PER_HOUR),
                .cpu_us = one_in(5) ? -1 : below(USEC_PER_HOUR) / 20,
                .progress_wall_us = one_in(4) ? -below(2) : NOW - below(USEC_PER_HOUR),
                .gpu_percent = (int32_t)below(10001) - 1,
                .gpu_missing = one_in(5) };
        c.s.idle = !one_in(5);
        c.s.spot = !one_in(5);
        c.s.idle_after_us = USEC_PER_SEC + below(USEC_PER_HOUR / 2);
        return c;
}

enum law { PAST, REPEAT, ORDER, PLACE, NO_RESUME, EDGE, SENTENCE, REFUSED, MISSING, LAW_N };
static const char *const laws[LAW_N] = {
        [PAST] = "no decision's review lies in the past, and a KEEP's in the future",
        [REPEAT] = "law 22: the same input gives the same answer",
        [ORDER] = "law 14: the one that acts is the first in the table that wants to",
        [PLACE] = "P-15: a lease is renewed and nothing else; nothing else renews",
        [NO_RESUME] = "N-01 law 5: a waiting job is only ever ended",
        [EDGE] = "law 20: each act has its edge in the life of a job",
        [SENTENCE] = "P-22: every word has a sentence that is not cut off",
        [REFUSED] = "P-25: a refused save is not tried before its time, ttl apart",
        [MISSING] = "P-09: what is not measured never suspends",
};

static bool has_edge(const struct policy_job *j, const struct policy_decision *d)
{
        if (d->act == POLICY_SUSPEND || d->act == POLICY_STOP_SAVE)
                return life_find(j->state, EVENT_SAVE, JOB_SAVING, RESULT_NONE, d->cause, NULL) != NULL;
        if (d->act == POLICY_END)
                return life_find(j->state, d->cause == CAUSE_TTL ? EVENT_TTL : EVENT_EXPIRE, JOB_ENDED,
                               d->cause == CAUSE_TTL ? RESULT_STOPPED : RESULT_FAILED, d->cause, NULL) != NULL;
        return true;
}

static bool same(const struct policy_decision *a, const struct policy_decision *b)
{
        return a->act == b->act && a->cause == b->cause && a->review_wall_us == b->review_wall_us &&
               streq(a->why, b->why) && streq(a->would_act, b->would_act) && streq(a->policy, b->policy);
}

static void judge_row(const struct scene *c, int i, const struct policy_decision *d, long long bad[LAW_N])
{
        bool waits = c->j.state == JOB_SUSPENDED || c->j.state == JOB_QUEUED;
        struct policy_decision again = ask(i, c, NOW);

        bad[PAST] += d->act == POLICY_KEEP ? d->review_wall_us <= NOW : d->review_wall_us < NOW;
        bad[REPEAT] += !same(d, &again);
        bad[PLACE] += (d->act == POLICY_RENEW) != (i == LEASE && d->act != POLICY_KEEP);
        bad[NO_RESUME] += waits && d->act != POLICY_KEEP && d->act != POLICY_END;
        bad[EDGE] += !has_edge(&c->j, d);
        bad[SENTENCE] +=
                !d->why[0] || strlen(d->why) >= sizeof d->why - 1 || strlen(d->would_act) >= sizeof d->would_act - 1;
        bad[REFUSED] += d->act == POLICY_SUSPEND && c->j.refused_cause == d->cause && c->j.retry_wall_us > NOW;
        bad[MISSING] += i == IDLE && d->act != POLICY_KEEP &&
                        (c->x.window_us < 0 || c->x.cpu_us < 0 || c->x.gpu_missing || c->x.progress_wall_us < 0);
}

int main(int argc, char **argv)
{
        long long bad[LAW_N] = { 0 }, acts = 0;
        const char *given = argc > 1 ? argv[1] : getenv("TEST_SEED");

        seed = given ? strtoull(given, NULL, 10) : 20261130;
        tap_note("seed %" PRIu64, seed);
        for (int n = 0; n < ROUNDS; n++) {
                struct scene c = scene_random();
                struct policy_decision all[POLICY_N];
                int first = policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), want = -1;

                for (int i = POLICY_N - 1; i >= 0; i--) {
                        judge_row(&c, i, &all[i], bad);
                        if (i != LEASE && all[i].act != POLICY_KEEP)
                                want = i;
                }
                bad[ORDER] += first != want;
                acts += first >= 0;
        }
        for (int i = 0; i < LAW_N; i++)
                (void)tap_int(bad[i], 0, laws[i]);
        (void)tap_ok(acts > ROUNDS / 10, "the jobs were not all dull: %lld of %d acted", acts, ROUNDS);
        return tap_done();
}
