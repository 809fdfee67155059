/* SPDX-License-Identifier: Apache-2.0 */
/* P-15: right before acting, on fresh values: what still holds, and what does not. */
#include "policy_common.h"

static struct policy_offer offers[3];

static struct scene with_move(void)
{
        struct scene c = scene_of_running();

        c.m.rate = (struct money){ 10000, "USD" };
        for (size_t i = 0; i < ARRAY_LEN(offers); i++)
                offers[i] = (struct policy_offer){
                        .name = "aws/a/m5", .key = 10 + i, .rate = { 9000, "USD" }, .handover_us = 1
                };
        offers[1].rate.nano = 5000;
        c.j.offers = offers;
        c.j.offers_n = 3;
        return c;
}

static struct policy_decision decided(const struct scene *c)
{
        struct policy_decision all[POLICY_N];
        int i = policy_check(&c->j, &c->m, &c->x, &c->s, NOW, all);

        return all[i < 0 ? LEASE : i];
}

static bool holds(
        const struct policy_decision *d, const struct scene *c, struct policy_decision *ret, size_t *ret_offer)
{
        return policy_revalidate(d, &c->j, &c->m, &c->x, &c->s, NOW + 1, ret, ret_offer);
}

static void test_move(void)
{
        struct scene c = with_move();
        struct policy_decision d = decided(&c), fresh;
        size_t offer = 99;

        (void)tap_ok(d.act == POLICY_MOVE && d.offer_key == 11, "a move is decided");
        c.j.looked_wall_us = NOW;
        (void)tap_ok(holds(&d, &c, &fresh, &offer) && offer == 1 && fresh.offer == 1,
                "P-15 nothing changed: it holds, its own look does not count against it");
        (void)tap_ok(holds(&d, &c, &fresh, NULL), "... nobody need ask where");
        offers[0] = offers[1];
        offers[0].rate.nano = 4000;
        offers[1].key = 12;
        (void)tap_ok(holds(&d, &c, &fresh, &offer) && offer == 0, "P-15 its target is found by its key");
        offers[1].rate.nano = 1;
        (void)tap_ok(holds(&d, &c, &fresh, NULL), "P-15 another that is better by now does not undo it");
        offers[0].rate.nano = 8001;
        (void)tap_ok(!holds(&d, &c, &fresh, &offer) && fresh.act == POLICY_KEEP && strstr(fresh.why, "a fifth cheaper"),
                "P-15 the price rose: it does not hold: %s", fresh.why);
        offers[0].rate.nano = 4000;
        offers[0].unusable = "the price is older than its age limit";
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && strstr(fresh.why, "older"),
                "P-15 its price went stale: it does not hold");
        offers[0].unusable = NULL;
        offers[0].key = 1;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && strstr(fresh.why, "no offer is given"),
                "P-15 the offer is gone: it does not hold");
        offers[0].key = 11;
        c.m.notice_wall_us = NOW + USEC_PER_MIN;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && fresh.act == POLICY_SUSPEND && fresh.cause == CAUSE_NOTICE,
                "P-15 a notice came: another decision stands in its place");
        c.m.notice_wall_us = 0;
        c.j.ran_us = c.j.ttl_us;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && fresh.act == POLICY_STOP_SAVE && fresh.cause == CAUSE_TTL,
                "P-15 its ttl is over: so does the first policy's");
}

static void test_others(void)
{
        struct scene c = with_move();
        struct policy_decision d, fresh;

        c.s.cheaper = false;
        d = decided(&c);
        (void)tap_ok(!holds(&d, &c, &fresh, NULL), "a KEEP is nothing to act on");
        c.m.renewed_wall_us = NOW - USEC_PER_HOUR;
        d = ask(LEASE, &c, NOW);
        (void)tap_ok(holds(&d, &c, &fresh, NULL) && fresh.act == POLICY_RENEW, "P-11 a renewal holds");
        c.j.ran_us = c.j.ttl_us;
        (void)tap_ok(holds(&d, &c, &fresh, NULL), "P-11 ... beside whatever changes the place");
        c.m.renewed_wall_us = NOW;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL), "P-11 ... not once it is done");
        d = decided(&c);
        (void)tap_ok(d.act == POLICY_STOP_SAVE && holds(&d, &c, &fresh, NULL), "P-01 ttl holds");
        c.j.ttl_us++;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && fresh.act == POLICY_KEEP, "P-01 ... not once it was raised");
        c.j.ttl_us = SETTING_OFF;
        c.m.notice_wall_us = NOW + 1;
        d = decided(&c);
        (void)tap_ok(d.act == POLICY_SUSPEND && holds(&d, &c, &fresh, NULL), "P-04 a notice holds");
        c.j.can_end = true;
        c.j.refused_cause = CAUSE_NOTICE;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && fresh.act == POLICY_TERM,
                "P-25 ... not once its save was refused at the last");
        c.j.refused_cause = CAUSE_NONE;
        d.cause = CAUSE_USER;
        (void)tap_ok(!holds(&d, &c, &fresh, NULL), "the same act for another cause is another decision");
        d = decided(&c);
        d.policy = "idle";
        (void)tap_ok(!holds(&d, &c, &fresh, NULL), "... and by another policy");
        d.policy = "nobody";
        (void)tap_ok(!holds(&d, &c, &fresh, NULL) && strstr(fresh.why, "no policy"), "... and by none");
}

int main(void)
{
        test_move();
        test_others();
        return tap_done();
}
