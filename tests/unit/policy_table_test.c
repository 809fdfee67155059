/* SPDX-License-Identifier: Apache-2.0 */
#include "policy_common.h"

static void test_order(void)
{
        static const char *const names[POLICY_N] = { "ttl", "spot", "budget", "oom", "idle", "lifetime", "lease",
                "return", "cheaper", "rightsize" };
        struct scene c = scene_of_running();
        struct policy_decision all[POLICY_N];

        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), -1, "P-15 a healthy job is left where it is");
        for (int i = 0; i < POLICY_N; i++) {
                (void)tap_str(policy_table[i].name, names[i], "P-15 the order of the ten");
                (void)tap_str(all[i].policy, names[i], "... each speaks under its own name");
                (void)tap_ok(
                        all[i].act == POLICY_KEEP && all[i].why[0], "P-22 ... and says why it keeps: %s", all[i].why);
                (void)tap_ok(
                        policy_table[i].changes_place == (i != LEASE), "P-15 ... only lease leaves the place alone");
        }
}

/* Everything is due at once: one acts, in the order of the table; the lease beside it. */
static void test_one_acts(void)
{
        struct scene c = scene_of_running();
        struct policy_decision all[POLICY_N];

        c.j.ran_us = c.j.ttl_us;
        c.m.notice_wall_us = NOW + USEC_PER_MIN;
        c.m.renewed_wall_us = NOW - USEC_PER_HOUR;
        c.x.cpu_us = 0;
        c.x.progress_wall_us = NOW - USEC_PER_HOUR;
        (void)tap_int(
                policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), TTL, "P-15 law 14: ttl before a notice before idle");
        (void)tap_ok(all[SPOT].act == POLICY_SUSPEND && all[IDLE].act == POLICY_SUSPEND,
                "P-22 ... the others' word is kept for explain");
        (void)tap_ok(all[LEASE].act == POLICY_RENEW, "P-11 ... and the renewal stands beside");
        c.j.ran_us = 0;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), SPOT, "P-15 law 14: a notice before idle");
        c.m.notice_wall_us = 0;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), IDLE, "P-15 law 14: idle alone");
        c.j.saving = true;
        c.j.saving_cause = CAUSE_IDLE;
        c.j.state = JOB_SAVING;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), -1, "P-15 nothing acts twice");
        c.m.notice_wall_us = NOW + USEC_PER_MIN;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), SPOT, "... but a notice takes over");
        c.j.saving_cause = CAUSE_NOTICE;
        c.j.ran_us = c.j.ttl_us;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), TTL, "... and ttl that");
        c.j.saving_cause = CAUSE_TTL;
        (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), -1, "... and nothing ttl");
}

/* Rows that have nothing to decide on say what they lack, by the values given. */
static const struct {
        int row;
        const char *name, *why, *off_why;
} rows[] = {
        { BUDGET, "P-07 no budget", "no budget set", NULL },
        { OOM, "P-08 no report", "no report of memory pressure is given", "oom is off" },
        { LIFETIME, "P-10 no limit", "no fixed limit on its machine's life is given", "lifetime.before is off" },
        { RETURN, "P-12 no rate", "nothing is compared: what its machine costs", "return is off" },
        { CHEAPER, "P-13 no rate", "nothing is compared: what its machine costs", "cheaper is off" },
        { RIGHTSIZE, "P-14 no move", "no measured peak is given", "rightsize is off" },
};

static void test_waiting_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct scene c = scene_of_running();

                (void)expect(rows[i].name, ask(rows[i].row, &c, NOW), POLICY_KEEP, CAUSE_NONE, rows[i].why);
                c.s.oom = c.s.ret = c.s.cheaper = c.s.rightsize = false;
                c.s.lifetime_before_us = SETTING_OFF;
                if (rows[i].off_why)
                        (void)expect("P-23 ... and that it is off, when it is", ask(rows[i].row, &c, NOW), POLICY_KEEP,
                                CAUSE_NONE, rows[i].off_why);
        }
        {
                struct scene c = scene_of_running();

                c.s.budget = (struct money){ 20 * NANO, "USD" };
                (void)expect("P-07 a budget that nothing can be compared with", ask(BUDGET, &c, NOW), POLICY_KEEP,
                        CAUSE_NONE, "20.00 USD is set");
                c.j.pinned = true;
                (void)expect("P-19 pinned: no return", ask(RETURN, &c, NOW), POLICY_KEEP, CAUSE_NONE, "pinned");
                (void)expect("P-19 pinned: no cheaper", ask(CHEAPER, &c, NOW), POLICY_KEEP, CAUSE_NONE, "pinned");
                (void)expect("P-19 pinned: no resizing", ask(RIGHTSIZE, &c, NOW), POLICY_KEEP, CAUSE_NONE, "pinned");
                c.j.pinned = false;
                c.m.spot = true;
                (void)expect("P-12 without a machine too", policy_table[RETURN].decide(&c.j, NULL, NULL, &c.s, NOW),
                        POLICY_KEEP, CAUSE_NONE, "its container does not run");
                (void)expect("P-12 on spot there is nothing to return to", ask(RETURN, &c, NOW), POLICY_KEEP,
                        CAUSE_NONE, "on spot already");
        }
}

static void test_names(void)
{
        (void)tap_str(policy_act_name(POLICY_KEEP), "keep", "an act has a name");
        (void)tap_str(policy_act_name(POLICY_STOP_SAVE), "stop", "... stop");
        (void)tap_str(policy_act_name((enum policy_act)(POLICY_TERM + 1)), "?", "... and what is none has not");
}

int main(void)
{
        test_order();
        test_one_acts();
        test_waiting_rows();
        test_names();
        return tap_done();
}
