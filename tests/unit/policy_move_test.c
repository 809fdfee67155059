/* SPDX-License-Identifier: Apache-2.0 */
/* return (P-12), cheaper (P-13, P-18), their looks (P-16), what they may choose (P-06, P-17, P-19), and what they lost (issue: twice is enough).
 * The present machine costs 100 nano an hour or a multiple, so that percents are whole nanos. */
#include "policy_common.h"

#define HOUR USEC_PER_HOUR
#define USD(nano_)             \
        (struct money)         \
        {                      \
                (nano_), "USD" \
        }

static struct policy_offer offers[3];

/* One offer at `rate`; the move takes 1 us of both, so that its cost is next to nothing. */
static struct scene with_offer(int64_t present, int64_t rate)
{
        struct scene c = scene_of_running();

        c.m.rate = USD(present);
        for (size_t i = 0; i < ARRAY_LEN(offers); i++)
                offers[i] = (struct policy_offer){
                        .name = "aws/us-east-1a/m5.large", .key = 7 + i, .rate = USD(rate), .handover_us = 1
                };
        c.j.offers = offers;
        c.j.offers_n = 1;
        return c;
}

/* --- 20 % --- */
static const struct {
        const char *name;
        int64_t present, rate;
        enum policy_act act;
} fifths[] = {
        { "P-13 20.00 % cheaper moves", 10000, 8000, POLICY_MOVE },
        { "P-13 19.99 % cheaper stays", 10000, 8001, POLICY_KEEP },
        { "P-13 20.01 % cheaper moves", 10000, 7999, POLICY_MOVE },
        { "P-13 20 % less a nano of a real price stays", 350 * 1000000, 280 * 1000000 + 1, POLICY_KEEP },
        { "P-13 20 % to the nano of a real price moves", 350 * 1000000, 280 * 1000000, POLICY_MOVE },
        { "P-13 a price that 20 % of is no whole nano: rounded up stays", 99999, 80000, POLICY_KEEP },
        { "P-13 ... rounded down moves", 99999, 79999, POLICY_MOVE },
        { "P-13 a free one moves", 10000, 0, POLICY_MOVE },
        { "P-13 present > 0: a free machine is not left for a free one", 0, 0, POLICY_KEEP },
        { "P-13 dearer stays", 10000, 20000, POLICY_KEEP },
        { "P-13 the largest prices do not overflow", INT64_MAX, INT64_MAX / 10 * 8, POLICY_MOVE },
        { "P-13 ... nor where it stays", INT64_MAX, INT64_MAX, POLICY_KEEP },
};

static void test_fifth(void)
{
        for (size_t i = 0; i < ARRAY_LEN(fifths); i++) {
                struct scene c = with_offer(fifths[i].present, fifths[i].rate);
                struct policy_decision d = ask(CHEAPER, &c, NOW);

                (void)expect(
                        fifths[i].name, d, fifths[i].act, fifths[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_MOVE, "");
                offers[0].spot = true;
                d = ask(RETURN, &c, NOW);
                (void)expect("P-12 on the same terms", d, fifths[i].act,
                        fifths[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_MOVE, "");
        }
}

/* --- 3 times the cost: present 1000 an hour, new 100, an hour left: saves 900. Egress is the cost: its nanos are the cost's. --- */
static const struct {
        const char *name;
        int64_t egress, create, handover, minimum, lost;
        enum policy_act act;
} thirds[] = {
        { "P-13 3.00 times the cost moves", 299, 0, HOUR / 1100, 0, 0, POLICY_MOVE },
        { "P-13 2.99 times the cost stays", 300, 0, HOUR / 1100, 0, 0, POLICY_KEEP },
        { "P-13 target from create to freeze: 3 h at 100", 0, 3 * HOUR - 110, 10, 0, 0, POLICY_MOVE },
        { "P-13 ... and a microsecond", 0, 3 * HOUR - 110 + 1, 10, 0, 0, POLICY_KEEP },
        { "P-13 both from freeze to the source's end: 3/11 h at 1100", 0, 0, 3 * HOUR / 11, 0, 0, POLICY_MOVE },
        { "P-13 ... and a microsecond", 0, 0, 3 * HOUR / 11 + 1, 0, 0, POLICY_KEEP },
        { "P-13 unused minimum billing: 4 h billed, 1 h and the move used", 0, 0, 11, 4 * HOUR - 110, 0, POLICY_MOVE },
        { "P-13 ... and a microsecond", 0, 0, 11, 4 * HOUR - 110 + 1, 0, POLICY_KEEP },
        { "P-13 a minimum that is used costs nothing", 0, 0, 11, HOUR, 0, POLICY_MOVE },
        { "P-21 work done again counts: 3 h at 100", 0, 0, 10, 0, 3 * HOUR - 110, POLICY_MOVE },
        { "P-21 ... and a microsecond", 0, 0, 10, 0, 3 * HOUR - 110 + 1, POLICY_KEEP },
        { "P-13 spans without end do not overflow", INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                POLICY_KEEP },
};

static void test_thrice(void)
{
        for (size_t i = 0; i < ARRAY_LEN(thirds); i++) {
                struct scene c = with_offer(1000, 100);
                struct policy_decision d;

                c.j.ran_us = HOUR / 2; /* max(1 h, run) = 1 h */
                offers[0].egress_nano = thirds[i].egress;
                offers[0].create_us = thirds[i].create;
                offers[0].handover_us = thirds[i].handover;
                offers[0].minimum_us = thirds[i].minimum;
                offers[0].lost_us = thirds[i].lost;
                d = ask(CHEAPER, &c, NOW);
                (void)expect(thirds[i].name, d, thirds[i].act, thirds[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_MOVE,
                        thirds[i].act == POLICY_KEEP ? "would not save three times its cost"
                                                     : "saves 0.0000009 USD in 1h");
                (void)tap_ok(d.saving_nano == 900 && d.remaining_us == HOUR &&
                                     (i == ARRAY_LEN(thirds) - 1 || d.cost_nano <= 301),
                        "P-22 ... with the figures: saves %lld, costs %lld", (long long)d.saving_nano,
                        (long long)d.cost_nano);
        }
}

/* --- remaining --- */
static const struct {
        const char *name;
        int64_t ttl_left, budget_left, expect, run, before, want; /* -1 = not set */
} lefts[] = {
        { "P-13 a run under an hour: an hour", -1, -1, -1, HOUR - 1, 0, HOUR },
        { "P-13 a run of an hour and a microsecond: as long again", -1, -1, -1, HOUR + 1, 0, HOUR + 1 },
        { "P-13 the terms before count as run", -1, -1, -1, HOUR, HOUR, 2 * HOUR },
        { "P-13 expect - run", -1, -1, 5 * HOUR, HOUR, 0, 4 * HOUR },
        { "P-13 ... over all terms", -1, -1, 5 * HOUR, HOUR, HOUR, 3 * HOUR },
        { "P-13 ttl left, when it is less", HOUR / 4, -1, -1, HOUR, 0, HOUR / 4 },
        { "P-13 ... not when it is more", 9 * HOUR, -1, -1, HOUR, 0, HOUR },
        { "P-13 the budget left at the new rate", -1, 50, -1, HOUR, 0, HOUR / 2 },
        { "P-13 ... when it is less", -1, 1000, -1, HOUR, 0, HOUR },
        { "P-13 nothing left by expect", -1, -1, HOUR, HOUR, 0, 0 },
        { "P-13 less than nothing", -1, -1, HOUR, 2 * HOUR, 0, -HOUR },
        { "P-13 a budget that is spent", -1, 0, -1, HOUR, 0, 0 },
        { "P-13 ttl over", 0, -1, -1, HOUR, 0, 0 },
};

static void test_remaining(void)
{
        struct scene bound = with_offer(1, 1);
        struct policy_terms most;

        bound.j.ran_us = 3 * HOUR;
        policy_terms(&bound.j, &bound.m, &bound.s, &offers[0], INT64_MAX, &most);
        (void)tap_ok(
                most.saving_nano == INT64_MIN && !most.fifth && !most.thrice, "a loss that is more than money is held");
        bound.s.expect_us = 1;
        policy_terms(&bound.j, &bound.m, &bound.s, &offers[0], 0, &most);
        (void)tap_ok(most.saving_nano == 0 && most.remaining_us < 0, "nothing is saved on time that is over");
        bound.m.rate.nano = 0;
        bound.s.expect_us = SETTING_OFF;
        policy_terms(&bound.j, &bound.m, &bound.s, &offers[0], 0, &most);
        (void)tap_ok(!most.fifth && policy_rate_max(&bound.j, &bound.m, &bound.s, &offers[0]) == -1,
                "P-13 nothing is cheaper than free");
        for (size_t i = 0; i < ARRAY_LEN(lefts); i++) {
                struct scene c = with_offer(1000, 100);
                struct policy_decision d;
                struct policy_terms t;

                c.j.ran_us = lefts[i].run;
                c.j.ran_before_us = lefts[i].before;
                c.j.ttl_us = lefts[i].ttl_left < 0 ? SETTING_OFF : lefts[i].run + lefts[i].ttl_left;
                c.s.expect_us = lefts[i].expect < 0 ? SETTING_OFF : lefts[i].expect;
                if (lefts[i].budget_left >= 0) {
                        c.s.budget = USD(10000);
                        c.j.spent = USD(10000 - lefts[i].budget_left);
                }
                policy_terms(&c.j, &c.m, &c.s, &offers[0], 100, &t);
                (void)tap_int(t.remaining_us, lefts[i].want, lefts[i].name);
                d = ask(CHEAPER, &c, NOW);
                (void)tap_ok((d.act == POLICY_MOVE) == (lefts[i].want > 0), "P-13 ... <= 0: no move");
                if (lefts[i].want <= 0)
                        (void)tap_has(d.why, "no running time is left", "P-22 ... said so");
        }
}

/* --- would act if price <= X --- */
static void test_would(void)
{
        struct scene c = with_offer(10000, 9000);
        struct policy_decision d = ask(CHEAPER, &c, NOW);

        (void)tap_str(d.why,
                "no offer is a fifth cheaper: its machine costs 0.00001 USD/h, the nearest 0.000009 USD/h "
                "(aws/us-east-1a/m5.large)",
                "P-22 what it lacks, with the figures");
        (void)tap_str(
                d.would_act, "if aws/us-east-1a/m5.large costs <= 0.000008 USD/h", "P-22 would act if the price <= X");
        offers[0].rate.nano = 8000;
        (void)expect("P-22 ... and does", ask(CHEAPER, &c, NOW), POLICY_MOVE, CAUSE_MOVE,
                "0.000008 USD/h instead of 0.00001 USD/h");
        offers[0].rate.nano = 8000;
        offers[0].egress_nano = 2000; /* 2 h run: saves 4000 at 8000, 6002 at 6999 */
        d = ask(CHEAPER, &c, NOW);
        (void)expect("P-22 the cost in the way", d, POLICY_KEEP, CAUSE_NONE, "three times its cost");
        (void)tap_str(d.would_act, "if aws/us-east-1a/m5.large costs <= 0.000006999 USD/h",
                "P-22 ... and the price at which it is not");
        offers[0].egress_nano = 10000;
        (void)tap_str(ask(CHEAPER, &c, NOW).would_act, "", "P-22 no price would do");
}

/* --- when it looks --- */
static void test_looks(void)
{
        struct scene c = with_offer(10000, 1000);
        struct policy_decision d;

        offers[0].spot = true;
        for (int row = RETURN; row <= CHEAPER; row++) {
                const char *cause = row == RETURN ? "P-12" : "P-13";

                c.j.moved_wall_us = NOW - 30 * USEC_PER_MIN + 1;
                d = ask(row, &c, NOW);
                (void)expect("P-16 29:59.999999 after a move it does not look", d, POLICY_KEEP, CAUSE_NONE,
                        "changed within the last 30m");
                (void)tap_ok(d.review_wall_us == NOW + 1 && !d.looked && strstr(d.would_act, "at 20"),
                        "P-16 ... it says when it will");
                c.j.moved_wall_us = NOW - 30 * USEC_PER_MIN;
                d = ask(row, &c, NOW);
                (void)tap_ok(d.act == POLICY_MOVE && d.looked, "P-16 30:00 after a move it does");
                c.j.moved_wall_us = 0;
                c.j.looked_wall_us = NOW - 10 * USEC_PER_MIN + 1;
                d = ask(row, &c, NOW);
                (void)tap_ok(d.act == POLICY_KEEP && d.review_wall_us == NOW + 1 &&
                                     strstr(d.why, "looked within the last 10m"),
                        "%s 9:59.999999 after a look: not yet", cause);
                c.j.looked_wall_us--;
                (void)tap_int(ask(row, &c, NOW).act, POLICY_MOVE, "... 10:00 after it: it looks");
                c.j.looked_wall_us = 0;
                c.j.moves_lost = 1;
                (void)tap_int(ask(row, &c, NOW).act, POLICY_MOVE, "a move that lost money is forgiven");
                c.j.moves_lost = 2;
                d = ask(row, &c, NOW);
                (void)expect("two are not: it makes no more", d, POLICY_KEEP, CAUSE_NONE,
                        "cost more than they saved 2 times, so it makes no more");
                (void)tap_ok(d.warn, "... and says so");
                c.j.moves_lost = 0;
                c.m.notice_wall_us = NOW + USEC_PER_MIN;
                (void)expect("no look while the machine goes away", ask(row, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                        "will be taken away");
                c.m.notice_wall_us = 0;
                c.j.retry_wall_us = NOW + 1;
                c.j.refused_cause = CAUSE_MOVE;
                d = ask(row, &c, NOW);
                (void)expect(
                        "P-25 a refused move waits for its next try", d, POLICY_KEEP, CAUSE_NONE, "a save was refused");
                (void)tap_ok(d.warn && d.review_wall_us == NOW + 1, "P-25 ... warned");
                c.j.refused_cause = CAUSE_IDLE;
                d = ask(row, &c, NOW);
                (void)tap_ok(d.act == POLICY_KEEP && !d.warn,
                        "P-25 ... what cannot be saved for idle cannot be moved either");
                c.j.retry_wall_us = NOW;
                (void)tap_int(ask(row, &c, NOW).act, POLICY_MOVE, "P-25 ... until the next try");
                c.j.refused_cause = CAUSE_NONE;
                c.j.retry_wall_us = NOW + 1;
                (void)tap_int(ask(row, &c, NOW).act, POLICY_MOVE, "... a wait for nothing is none");
                c.j.saving = true;
                (void)expect("P-15 nothing while an operation is at work", ask(row, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                        "being saved");
                c.j.saving = false;
                c.j.state = JOB_QUEUED;
                (void)expect(
                        "N-01 a waiting job is not moved", ask(row, &c, NOW), POLICY_KEEP, CAUSE_NONE, "does not run");
                c.j.state = JOB_RUNNING;
                (void)expect("no machine, no look", policy_table[row].decide(&c.j, NULL, &c.x, &c.s, NOW), POLICY_KEEP,
                        CAUSE_NONE, "does not run");
                c.j.container_wall_us = 0;
                (void)expect("no container, no look", ask(row, &c, NOW), POLICY_KEEP, CAUSE_NONE, "does not run");
                c.j.container_wall_us = NOW - 2 * HOUR;
                c.j.pinned = true;
                (void)expect("P-19 pinned: no move", ask(row, &c, NOW), POLICY_KEEP, CAUSE_NONE, "pinned");
                c.j.pinned = false;
        }
        c.m.spot = true;
        (void)expect("P-12 only off spot", ask(RETURN, &c, NOW), POLICY_KEEP, CAUSE_NONE, "on spot already");
        (void)tap_int(ask(CHEAPER, &c, NOW).act, POLICY_MOVE, "P-13 from spot to a cheaper spot");
        c.m.spot = false;
        offers[0].spot = false;
        (void)expect("P-12 only to spot", ask(RETURN, &c, NOW), POLICY_KEEP, CAUSE_NONE, "no spot offer is given");
        c.j.no_spot = true;
        (void)expect("P-12 never under --no-spot", ask(RETURN, &c, NOW), POLICY_KEEP, CAUSE_NONE, "--no-spot");
        c.s.cheaper = false;
        (void)expect("P-18 cheaper off says that return stays on", ask(CHEAPER, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "return stays on");
}

/* --- which offers --- */
static const struct {
        const char *name, *why;
        struct policy_offer o;
} barred[] = {
        { "P-13 a price that is not fresh", "the price is older",
                { .unusable = "the price is older than its age limit" } },
        { "P-13 another currency", "another currency", { .rate = { 1000, "EUR" }, .handover_us = 1 } },
        { "P-13 nobody knows how long the move takes", "is not known", { .handover_us = 0 } },
        { "P-17 a reclaimed pool", "reclaimed lately",
                { .handover_us = 1, .not_before_wall_us = NOW + 1, .spot = true } },
        { "P-06 its notice cannot save the state", "cannot save",
                { .handover_us = 1, .spot = true, .notice = { .notice_us = 10 * USEC_PER_SEC, .save_bytes_s = 125 } } },
};

static void test_barred(void)
{
        for (size_t i = 0; i < ARRAY_LEN(barred); i++) {
                struct scene c = with_offer(10000, 1000);
                struct money rate = barred[i].o.rate.currency[0] ? barred[i].o.rate : offers[0].rate;
                struct policy_decision d;

                c.x.state_bytes = 1001; /* 125 B/s x 8 s save 1000 */
                offers[0] = barred[i].o;
                offers[0].rate = rate;
                offers[0].name = "aws/x/y/spot";
                offers[1].name = "aws/other";
                d = ask(CHEAPER, &c, NOW);
                (void)expect(barred[i].name, d, POLICY_KEEP, CAUSE_NONE, barred[i].why);
                (void)tap_ok(d.review_wall_us == NOW + 10 * USEC_PER_MIN && d.looked, "... it looks again");
                c.j.offers_n = 2;
                d = ask(CHEAPER, &c, NOW);
                (void)tap_ok(
                        d.act == POLICY_MOVE && d.offer == 1 && d.offer_key == 8, "... the next is chosen instead");
                c.j.offers_n = 1;
                offers[1] = offers[0];
                c.j.offers_n = 2;
                (void)tap_has(ask(CHEAPER, &c, NOW).why, barred[i].why, "... the first one's reason is told");
        }
}

static void test_choice(void)
{
        struct scene c = with_offer(10000, 1000);
        struct policy_decision d;

        c.x.state_bytes = 1000;
        offers[0].spot = true;
        offers[0].not_before_wall_us = NOW;
        offers[0].notice = (struct market_notice){ .notice_us = 10 * USEC_PER_SEC, .save_bytes_s = 125 };
        (void)tap_int(ask(RETURN, &c, NOW).act, POLICY_MOVE,
                "P-06 P-17 a state that the notice can just save, in a pool that is back at this very microsecond");
        c.x.state_bytes = 0;
        offers[0].notice.save_bytes_s = 1;
        (void)tap_int(ask(RETURN, &c, NOW).act, POLICY_MOVE, "P-06 nothing measured: kept");
        (void)tap_int(
                policy_table[RETURN].decide(&c.j, &c.m, NULL, &c.s, NOW).act, POLICY_MOVE, "P-06 ... nothing at all");
        c.x.state_bytes = 2;
        offers[0].notice.save_bytes_s = 0;
        (void)tap_int(ask(RETURN, &c, NOW).act, POLICY_MOVE, "P-06 no rate learned: kept");
        c.j.no_spot = true;
        (void)expect("P-12 cheaper does not go to spot under --no-spot either", ask(CHEAPER, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "--no-spot");
        c = with_offer(10000, 5000);
        c.j.offers_n = 3;
        offers[1].rate.nano = 1000;
        offers[2].rate.nano = 900;
        offers[2].egress_nano = 1000;
        d = ask(CHEAPER, &c, NOW);
        (void)tap_ok(d.act == POLICY_MOVE && d.offer == 1 && d.offer_key == 8,
                "of three that meet the terms, the one that leaves the most");
        offers[0].rate.nano = offers[1].rate.nano = 9000;
        offers[2].rate.nano = 8500;
        (void)tap_has(ask(CHEAPER, &c, NOW).would_act, "costs <=", "of three that do not, the nearest is told");
        offers[0].rate.nano = 7000;
        offers[0].egress_nano = 0;
        offers[1].rate.nano = 6999;
        offers[1].egress_nano = 5000;
        offers[2].rate.nano = 9999;
        d = ask(CHEAPER, &c, NOW);
        (void)tap_ok(d.act == POLICY_MOVE && d.offer == 0 && d.saving_nano == 6000,
                "a cheaper one whose move costs too much is passed by");
}

static void test_present(void)
{
        struct scene c = with_offer(10000, 1000);

        c.m.rate.currency[0] = '\0';
        (void)expect("P-13 what the present costs is not known", ask(CHEAPER, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "is not known");
        c.m.rate = USD(10000);
        c.m.rate_unusable = "the price is older than its age limit";
        (void)expect("P-13 both looks need fresh prices, the present one too", ask(CHEAPER, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "older than");
        c.m.rate_unusable = NULL;
        c.s.budget = USD(NANO);
        (void)expect("P-13 a budget of which nobody knows what is left", ask(CHEAPER, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "it has a budget");
        c.j.spent = USD(0);
        (void)tap_int(ask(CHEAPER, &c, NOW).act, POLICY_MOVE, "... and one of which somebody does");
        memcpy(c.s.budget.currency, "EUR", 4);
        memcpy(c.j.spent.currency, "EUR", 4);
        (void)expect("... in another currency than the machine's", ask(CHEAPER, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "it has a budget");
}

int main(void)
{
        test_fifth();
        test_thrice();
        test_remaining();
        test_would();
        test_looks();
        test_barred();
        test_choice();
        test_present();
        return tap_done();
}
