/* SPDX-License-Identifier: Apache-2.0 */
/* P-07, P-15, P-25: the budget, and the cap in its place. At 3.6 USD an hour a microsecond costs one nano, so that each boundary is exact. */
#include "policy_common.h"

#define RATE (36 * NANO / 10)
#define US INT64_C(1)                                    /* nano a microsecond */
#define LITTLE ((USEC_PER_MIN + 30 * USEC_PER_SEC) * US) /* the check, and a save measured at 30 s */
#define CAP_LITTLE ((USEC_PER_MIN + 10 * USEC_PER_MIN + 5 * USEC_PER_SEC) * US) /* ... its longest time, and the lag */
#define USD(nano_)             \
        (struct money)         \
        {                      \
                (nano_), "USD" \
        }

static struct scene paid(int64_t left)
{
        struct scene c = scene_of_running();

        c.m.rate = USD(RATE);
        c.s.budget = USD(20 * NANO);
        c.j.spent = USD(20 * NANO - left);
        c.x.save_us = 30 * USEC_PER_SEC;
        return c;
}

static const struct {
        const char *name;
        int64_t left;
        bool stop;
        enum policy_act act;
        const char *why;
} rows[] = {
        { "P-07 far from its end it runs", 10 * NANO, false, POLICY_KEEP, "not near its end" },
        { "P-07 a nano before the little it runs", LITTLE + 1, false, POLICY_KEEP, "not near its end" },
        { "P-07 a little before its end it is suspended", LITTLE, false, POLICY_SUSPEND,
                "and the time to the next check" },
        { "P-07 ... and a nano later", LITTLE - 1, false, POLICY_SUSPEND,
                "0.089999999 USD left of its budget of 20.00 USD" },
        { "P-07 ... the little is named", LITTLE - 1, false, POLICY_SUSPEND, "cost 0.09 USD" },
        { "P-07 a spent one suspends", 0, false, POLICY_SUSPEND, "0.00 USD left" },
        { "P-07 an overspent one suspends", -NANO, false, POLICY_SUSPEND, "-1.00 USD left" },
        { "P-07 budget.action stop stops", LITTLE, true, POLICY_STOP_SAVE, "left of its budget" },
        { "P-07 ... not a nano earlier", LITTLE + 1, true, POLICY_KEEP, "not near its end" },
};

static void test_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scene c = paid(rows[i].left);

                c.s.budget_stop = rows[i].stop;
                (void)expect(rows[i].name, ask(BUDGET, &c, NOW), rows[i].act,
                        rows[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_BUDGET, rows[i].why);
        }
}

/* When it says that it would act is when it acts, to the microsecond. */
static void test_review(void)
{
        struct scene c = paid(LITTLE + USEC_PER_HOUR * US + US);
        struct policy_decision d = ask(BUDGET, &c, NOW);

        (void)tap_int(d.review_wall_us, NOW + USEC_PER_HOUR + 1, "P-07 it looks again when it will be time");
        (void)tap_has(d.would_act, "at 20", "P-22 ... and says so");
        c.j.spent.nano += USEC_PER_HOUR * US;
        (void)expect("P-07 a microsecond before: not yet", ask(BUDGET, &c, NOW + USEC_PER_HOUR), POLICY_KEEP,
                CAUSE_NONE, "not near");
        c.j.spent.nano += US;
        (void)expect("P-07 ... then", ask(BUDGET, &c, NOW + USEC_PER_HOUR + 1), POLICY_SUSPEND, CAUSE_BUDGET, "left");
        c = paid(LITTLE + 1);
        (void)tap_int(ask(BUDGET, &c, NOW).review_wall_us, NOW + 1, "a review is never now");
        c.m.rate.nano = 0;
        d = ask(BUDGET, &c, NOW);
        (void)tap_ok(d.review_wall_us == INT64_MAX && !d.would_act[0], "a machine that costs nothing spends nothing");
        (void)tap_has(d.why, "is not near its end", "... and what it costs is known");
        c.j.spent = c.s.budget;
        (void)expect(
                "... but what is spent is spent", ask(BUDGET, &c, NOW), POLICY_SUSPEND, CAUSE_BUDGET, "0.00 USD left");
        c.m.rate.nano = 1;
        c.s.budget.nano = INT64_MAX;
        c.j.spent.nano = 0;
        (void)tap_int(ask(BUDGET, &c, NOW).review_wall_us, INT64_MAX, "a budget that lasts for ever needs no look");
}

static void test_unknown(void)
{
        struct scene c = paid(LITTLE);

        c.x.save_us = 0;
        c.j.spent.nano = 20 * NANO - (11 * USEC_PER_MIN * US + 1);
        (void)expect("P-07 a save never measured takes the longest it may", ask(BUDGET, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "not near");
        c.j.spent.nano++;
        (void)expect("... and to the nano", ask(BUDGET, &c, NOW), POLICY_SUSPEND, CAUSE_BUDGET, "cost 0.66 USD");
        (void)expect("... nothing measured at all is the same",
                policy_table[BUDGET].decide(&c.j, &c.m, NULL, &c.s, NOW), POLICY_SUSPEND, CAUSE_BUDGET,
                "cost 0.66 USD");
        (void)expect("a rate that is not known is said", policy_table[BUDGET].decide(&c.j, NULL, &c.x, &c.s, NOW),
                POLICY_KEEP, CAUSE_NONE, "what its machine costs is not known");
        memcpy(c.m.rate.currency, "EUR", 4);
        (void)expect(
                "... one in another currency is not known", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE, "not known");
        c.j.spent = c.s.budget;
        (void)expect("... and a spent budget is spent at any rate", ask(BUDGET, &c, NOW), POLICY_SUSPEND, CAUSE_BUDGET,
                "0.00 USD left");
        memcpy(c.j.spent.currency, "EUR", 4);
        (void)expect("what was spent in another currency is not compared", ask(BUDGET, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "no cost of the job");
        c = paid(0);
        c.j.state = JOB_STARTING;
        (void)expect("nothing to save while it starts", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE, "does not run");
}

static void test_cap(void)
{
        struct scene c = paid(10 * NANO);

        c.m.stop_lag_us = 5 * USEC_PER_SEC;
        c.j.cap_left = USD(CAP_LITTLE + 1);
        c.j.cap_name = "connection lab";
        (void)expect("P-15 the cap speaks in the budget's place when it is nearer", ask(BUDGET, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "the cap of connection lab is not near");
        c.j.cap_left.nano--;
        (void)expect("N-04 save deadline, lag and one check before the cap it is suspended", ask(BUDGET, &c, NOW),
                POLICY_SUSPEND, CAUSE_CAP, "0.665 USD left of the cap of connection lab");
        c.s.budget_stop = true;
        (void)expect("N-04 ... budget.action does not stop it for a cap", ask(BUDGET, &c, NOW), POLICY_SUSPEND,
                CAUSE_CAP, "left");
        c.j.cap_name = NULL;
        (void)expect(
                "a cap without a name", ask(BUDGET, &c, NOW), POLICY_SUSPEND, CAUSE_CAP, "the cap of its connection");
        c.s.budget_stop = false;
        c.j.cap_left.nano = 15 * NANO;
        (void)expect("a cap that is further leaves the word to the budget", ask(BUDGET, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "its budget of 20.00 USD is not");
        c.j.spent.nano = 20 * NANO;
        (void)expect("... and the act", ask(BUDGET, &c, NOW), POLICY_SUSPEND, CAUSE_BUDGET, "left of its budget");
        c.s.budget.currency[0] = '\0';
        (void)expect(
                "a cap alone", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE, "the cap of its connection is not near");
        (void)expect("a cap without a machine", policy_table[BUDGET].decide(&c.j, NULL, &c.x, &c.s, NOW), POLICY_KEEP,
                CAUSE_NONE, "not known");
        c.j.cap_left.nano = 0;
        (void)expect("N-04 a cap that is lowered below use suspends at once", ask(BUDGET, &c, NOW), POLICY_SUSPEND,
                CAUSE_CAP, "0.00 USD left");
}

/* left, and what is refused: P-25. Its end is `left` microseconds away. */
static void test_refused(void)
{
        struct scene c = paid(30 * USEC_PER_SEC * US);
        struct policy_decision d;

        c.j.refused_cause = CAUSE_BUDGET;
        c.j.retry_wall_us = NOW + USEC_PER_MIN;
        d = ask(BUDGET, &c, NOW);
        (void)expect("P-25 a refused save waits for its next try", d, POLICY_KEEP, CAUSE_NONE,
                "nearly spent, but the save was refused");
        (void)tap_ok(d.warn && d.review_wall_us == NOW + USEC_PER_MIN, "P-25 ... and the owner is warned at once");
        (void)tap_has(d.would_act, "at 20", "P-22 ... and told when");
        c.j.can_end = true;
        d = ask(BUDGET, &c, NOW);
        (void)tap_int(d.review_wall_us, NOW + 10 * USEC_PER_SEC, "P-25 it looks again 20 s before the end");
        c.j.spent.nano += 10 * USEC_PER_SEC * US - 1;
        (void)expect("P-25 a nano before that: not yet", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE, "refused");
        c.j.spent.nano++;
        (void)expect("P-25 20 s before the end it is ended without a save", ask(BUDGET, &c, NOW), POLICY_STOP,
                CAUSE_BUDGET, "0.02 USD left of its budget of 20.00 USD, and the save was refused");
        c.j.refused_cause = CAUSE_IDLE;
        (void)expect("P-25 a save refused for something else is tried", ask(BUDGET, &c, NOW), POLICY_SUSPEND,
                CAUSE_BUDGET, "left");
        c.j.refused_cause = CAUSE_BUDGET;
        c.s.budget_stop = true;
        (void)expect("P-25 stop does not wait for a save that was refused", ask(BUDGET, &c, NOW), POLICY_STOP_SAVE,
                CAUSE_BUDGET, "left");
        c.j.saving = true;
        c.j.saving_cause = CAUSE_IDLE;
        (void)expect("an operation at work is not taken over", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "being saved already");
        c.s.budget_stop = false;
        (void)expect("... nor with suspend", ask(BUDGET, &c, NOW), POLICY_KEEP, CAUSE_NONE, "being saved already");
}

/* P-25, N-04: the lease goes no further than the money. */
static void test_lease(void)
{
        struct scene c = paid(30 * USEC_PER_MIN * US);
        struct policy_decision d;

        c.m.renewed_wall_us = NOW - 10 * USEC_PER_MIN;
        c.m.stop_sure_wall_us = NOW + 30 * USEC_PER_MIN - 1;
        d = ask(LEASE, &c, NOW);
        (void)expect("P-25 the lease is renewed, but not beyond the budget", d, POLICY_RENEW, CAUSE_LEASE,
                "the end of its budget of 20.00 USD");
        (void)tap_int(d.until_wall_us, NOW + 30 * USEC_PER_MIN, "P-25 ... to its end");
        c.m.stop_sure_wall_us++;
        d = ask(LEASE, &c, NOW);
        (void)expect("P-25 ... and not at all when it is there", d, POLICY_KEEP, CAUSE_NONE,
                "is not moved beyond the end of its budget");
        (void)tap_ok(d.review_wall_us == NOW + 10 * USEC_PER_MIN, "... it is looked at again");
        c.j.cap_left = USD(10 * USEC_PER_MIN * US);
        c.m.stop_sure_wall_us = 0;
        d = ask(LEASE, &c, NOW);
        (void)expect("N-04 the tighter of cap and budget counts, also for the first stop", d, POLICY_RENEW, CAUSE_LEASE,
                "never read back; no further than");
        (void)tap_int(d.until_wall_us, NOW + 10 * USEC_PER_MIN, "N-04 ... the cap's end");
        c.j.cap_left.nano = 0;
        (void)tap_int(ask(LEASE, &c, NOW).until_wall_us, NOW, "N-04 ... which is now when it is reached");
        c.m.stop_sure_wall_us = NOW - 1;
        (void)expect("N-04 ... and then no stop that is known is moved", ask(LEASE, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "is not moved beyond");
        c = paid(USEC_PER_HOUR * US);
        c.m.renewed_wall_us = 0;
        d = ask(LEASE, &c, NOW);
        (void)tap_ok(d.act == POLICY_RENEW && d.until_wall_us == 0, "an end at the horizon does not shorten it");
}

int main(void)
{
        test_rows();
        test_review();
        test_unknown();
        test_cap();
        test_refused();
        test_lease();
        return tap_done();
}
