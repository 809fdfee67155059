/* SPDX-License-Identifier: Apache-2.0 */
/* Random jobs: whatever the values, the rules of the house hold. The seed is argv[1], $TEST_SEED or a fixed one, and is printed. */
#include "policy_random.h"

#define ROUNDS 200000

typedef __int128 wide;

enum law {
        PAST,
        REPEAT,
        ORDER,
        PLACE,
        NO_RESUME,
        EDGE,
        SENTENCE,
        REFUSED,
        MISSING,
        TERMS,
        WOULD,
        PINNED,
        ENDS,
        MONEY,
        LEASED,
        AGAIN,
        LAW_N
};
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
        [TERMS] = "P-13 P-12: each move that is to save money meets the terms, counted anew here",
        [WOULD] = "P-22: at the price at which it says it would act the terms are met, a nano above they are not",
        [PINNED] = "P-19 P-16 P-17: no move of a pinned job, within a cool-down, or to a pool that is left out",
        [ENDS] = "P-25: no end without a save but after a refusal, by an executor that can",
        [MONEY] = "P-07 N-04: where budget and cap keep, the next check and a save are still paid for",
        [LEASED] = "P-25: no renewal beyond what is left to spend",
        [AGAIN] = "P-15: on the same values a decision holds",
};

static bool has_edge(const struct policy_job *j, const struct policy_decision *d)
{
        if (d->act == POLICY_SUSPEND || d->act == POLICY_STOP_SAVE || d->act == POLICY_MOVE)
                return life_find(j->state, EVENT_SAVE, JOB_SAVING, RESULT_NONE, d->cause, NULL) != NULL;
        if (d->act == POLICY_STOP)
                return life_find(j->state, EVENT_STOP, JOB_ENDING, RESULT_NONE, d->cause, NULL) != NULL;
        if (d->act == POLICY_TERM)
                return life_find(j->state, EVENT_LOST, JOB_SUSPENDED, RESULT_NONE, d->cause, NULL) != NULL;
        if (d->act == POLICY_END)
                return life_find(j->state, d->cause == CAUSE_TTL ? EVENT_TTL : EVENT_EXPIRE, JOB_ENDED,
                               d->cause == CAUSE_TTL ? RESULT_STOPPED : RESULT_FAILED, d->cause, NULL) != NULL;
        return true;
}

/* P-13 with nothing of the room's: all of it in nano x us. */
static bool meets(const struct scene *c, const struct policy_offer *o)
{
        wide run = (wide)c->j.ran_us + c->j.ran_before_us, left, saving, cost, unused;
        wide present = c->m.rate.nano, new = o->rate.nano, hour = USEC_PER_HOUR;

        left = c->s.expect_us == SETTING_OFF ? (run > hour ? run : hour) : c->s.expect_us - run;
        if (c->j.ttl_us != SETTING_OFF && c->j.ttl_us - c->j.ran_us < left)
                left = c->j.ttl_us - c->j.ran_us;
        if (c->s.budget.currency[0] && new > 0) {
                wide lasts = (wide)(c->s.budget.nano - c->j.spent.nano) * hour / new;

                left = lasts < left ? lasts : left;
        }
        saving = (present - new) * left;
        unused = o->minimum_us - o->create_us - o->handover_us - left;
        cost = new *(o->create_us + o->handover_us + (unused > 0 ? unused : 0) + o->lost_us) +
               present * o->handover_us + o->egress_nano *hour;
        return present > 0 && new * 100 <= present * 80 && left > 0 && saving >= 3 * cost;
}

static void judge_move(const struct scene *c, int i, const struct policy_decision *d, long long bad[LAW_N])
{
        const struct policy_offer *o = &random_offers[d->offer];

        if (d->act != POLICY_MOVE)
                return;
        bad[TERMS] += i != SPOT && !meets(c, o);
        bad[TERMS] += i == RETURN ? !o->spot || c->m.spot : i == SPOT && (o->spot || !c->m.spot);
        bad[TERMS] += o->unusable || o->handover_us == 0 || !streq(o->rate.currency, c->m.rate.currency) ||
                      d->offer_key != o->key;
        bad[PINNED] += c->j.pinned || (o->spot && (c->j.no_spot || o->not_before_wall_us > NOW)) || c->j.saving;
        bad[PINNED] += i != SPOT && (NOW < c->j.moved_wall_us + 30 * USEC_PER_MIN ||
                                            NOW < c->j.looked_wall_us + 10 * USEC_PER_MIN || c->j.moves_lost >= 2);
}

/* Where a look ends in KEEP with a price, that price and the next nano. */
static void judge_would(const struct scene *c, int i, const struct policy_decision *d, long long bad[LAW_N])
{
        if (d->act != POLICY_KEEP || !d->looked || !d->would_act[0] || (i != RETURN && i != CHEAPER))
                return;
        for (size_t k = 0; k < c->j.offers_n; k++) {
                struct policy_offer o = random_offers[k];

                o.rate.nano = policy_rate_max(&c->j, &c->m, &c->s, &o);
                bad[WOULD] += o.rate.nano >= 0 && !meets(c, &o) && !(o.rate.nano == 0 && c->s.budget.currency[0]);
                o.rate.nano++;
                bad[WOULD] += meets(c, &o);
        }
}

static void judge_money(const struct scene *c, int i, const struct policy_decision *d, long long bad[LAW_N])
{
        int64_t save = c->x.save_us ? c->x.save_us : 10 * USEC_PER_MIN;
        bool rated = streq(c->m.rate.currency, "USD"), runs = c->j.state == JOB_RUNNING && !c->j.saving;
        bool held = c->j.refused_cause == CAUSE_BUDGET || c->j.refused_cause == CAUSE_CAP;
        int64_t little = rated ? money_cost(c->m.rate.nano, USEC_PER_MIN + save) : 0;

        bad[ENDS] +=
                (d->act == POLICY_STOP || d->act == POLICY_TERM) && (!c->j.can_end || c->j.refused_cause != d->cause);
        if (i == BUDGET && d->act == POLICY_KEEP && runs && !held && c->s.budget.currency[0] && c->j.spent.currency[0])
                bad[MONEY] += c->s.budget.nano - c->j.spent.nano <= little;
        if (i == BUDGET && d->act == POLICY_KEEP && runs && !held && c->j.cap_left.currency[0])
                bad[MONEY] += c->j.cap_left.nano <= 0;
        if (i == LEASE && d->act == POLICY_RENEW && rated && c->j.cap_left.currency[0] && c->m.rate.nano > 0)
                bad[LEASED] +=
                        money_cost(c->m.rate.nano, (d->until_wall_us ? d->until_wall_us : NOW + USEC_PER_HOUR) - NOW) >
                        (c->j.cap_left.nano > 0 ? c->j.cap_left.nano : 0);
}

static void judge_again(const struct scene *c, const struct policy_decision *d, long long bad[LAW_N])
{
        struct policy_decision fresh;
        size_t offer;

        bad[AGAIN] += !policy_revalidate(d, &c->j, &c->m, &c->x, &c->s, NOW, &fresh, &offer) ||
                      (d->act == POLICY_MOVE && offer != d->offer);
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
        long long bad[LAW_N] = { 0 }, acts = 0, acted[POLICY_N] = { 0 };

        seed_from(argc, argv);
        for (int n = 0; n < ROUNDS; n++) {
                struct scene c = scene_random();
                struct policy_decision all[POLICY_N];
                int first = policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), want = -1;

                for (int i = POLICY_N - 1; i >= 0; i--) {
                        judge_row(&c, i, &all[i], bad);
                        judge_move(&c, i, &all[i], bad);
                        judge_would(&c, i, &all[i], bad);
                        judge_money(&c, i, &all[i], bad);
                        acted[i] += all[i].act != POLICY_KEEP;
                        if (i != LEASE && all[i].act != POLICY_KEEP)
                                want = i;
                }
                if (first >= 0)
                        judge_again(&c, &all[first], bad);
                bad[ORDER] += first != want;
                acts += first >= 0;
        }
        for (int i = 0; i < LAW_N; i++)
                (void)tap_int(bad[i], 0, laws[i]);
        (void)tap_ok(acts > ROUNDS / 10, "the jobs were not all dull: %lld of %d acted", acts, ROUNDS);
        for (int i = 0; i < RIGHTSIZE; i++)
                (void)tap_ok(acted[i] > 100, "... %s did %lld times", policy_table[i].name, acted[i]);
        return tap_done();
}
