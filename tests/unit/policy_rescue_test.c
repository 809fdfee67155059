/* SPDX-License-Identifier: Apache-2.0 */
/* oom (P-08) and lifetime (P-10), and what becomes of a save that was refused before a deadline (P-25). */
#include "policy_common.h"

#define GIB (UINT64_C(1) << 30)

static const struct {
        const char *name;
        int64_t reported, child; /* offsets from the container's start; INT64_MIN = none */
        uint64_t used, limit;
        int32_t stalled;
        enum policy_act act;
        const char *why;
} signals[] = {
        { "P-08 nothing is measured", INT64_MIN, INT64_MIN, 0, 0, 0, POLICY_KEEP, "no report of memory pressure" },
        { "P-08 memory is left", INT64_MIN, INT64_MIN, GIB, 2 * GIB, 10000, POLICY_KEEP, "has memory left" },
        { "P-08 a byte under 95 % of the limit", INT64_MIN, INT64_MIN, 94999, 100000, 10000, POLICY_KEEP,
                "has memory left" },
        { "P-08 at 95 % and waiting for memory it is rescued", INT64_MIN, INT64_MIN, 95000, 100000, 1000,
                POLICY_SUSPEND, "waited for memory 10.00% of the time" },
        { "P-08 ... waiting a hundredth of a percent less", INT64_MIN, INT64_MIN, 95000, 100000, 999, POLICY_KEEP,
                "or does not wait" },
        { "P-08 the whole address space does not overflow", INT64_MIN, INT64_MIN, UINT64_MAX, UINT64_MAX, 1000,
                POLICY_SUSPEND, "it uses" },
        { "P-08 the job says, alive, that an allocation failed", 1, INT64_MIN, 0, 0, 0, POLICY_SUSPEND,
                "an allocation failed" },
        { "P-08 ... in the instant in which it started", 0, INT64_MIN, 0, 0, 0, POLICY_SUSPEND,
                "an allocation failed" },
        { "P-08 ... not what an earlier stay said", -1, INT64_MIN, 0, 0, 0, POLICY_KEEP, "has memory left" },
        { "P-08 a killed child, its main process alive", INT64_MIN, 1, 0, 0, 0, POLICY_SUSPEND,
                "a child of it was killed" },
        { "P-08 ... not an earlier stay's", INT64_MIN, -1, 0, 0, 0, POLICY_KEEP, "has memory left" },
};

static void test_oom(void)
{
        struct scene c;
        struct policy_decision d;

        for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
                c = scene_of_running();
                if (signals[i].reported != INT64_MIN)
                        c.x.oom_reported_wall_us = c.j.container_wall_us + signals[i].reported;
                if (signals[i].child != INT64_MIN)
                        c.x.oom_child_wall_us = c.j.container_wall_us + signals[i].child;
                c.x.memory_bytes = signals[i].used;
                c.x.memory_limit_bytes = signals[i].limit;
                c.x.memory_stalled = signals[i].stalled;
                (void)expect(signals[i].name, ask(OOM, &c, NOW), signals[i].act,
                        signals[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_OOM, signals[i].why);
        }
        c = scene_of_running();
        c.x.oom_reported_wall_us = NOW;
        c.j.pinned = true;
        (void)expect("P-19 a pinned job too", ask(OOM, &c, NOW), POLICY_SUSPEND, CAUSE_OOM, "failed");
        c.j.refused_cause = CAUSE_OOM;
        c.j.retry_wall_us = NOW + 1;
        c.j.can_end = true;
        d = ask(OOM, &c, NOW);
        (void)expect(
                "P-25 refused: it stays", d, POLICY_KEEP, CAUSE_NONE, "runs out of memory, but the save was refused");
        (void)tap_ok(d.warn && d.review_wall_us == NOW + 1, "P-25 ... and the owner is warned");
        (void)expect("P-25 ... until the next try", ask(OOM, &c, NOW + 1), POLICY_SUSPEND, CAUSE_OOM, "failed");
        c.j.state = JOB_ENDING;
        (void)expect("P-08 its main process killed is no rescue", ask(OOM, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "does not run");
        (void)expect("nothing measured at all", policy_table[OOM].decide(&c.j, &c.m, NULL, &c.s, NOW), POLICY_KEEP,
                CAUSE_NONE, "no report");
        c.s.oom = false;
        (void)expect("P-23 off is off", ask(OOM, &c, NOW), POLICY_KEEP, CAUSE_NONE, "oom is off");
}

static const struct {
        const char *name;
        int64_t left; /* to the machine's end */
        enum policy_act act;
        const char *why;
} ends[] = {
        { "P-10 a day before the limit it runs", USEC_PER_DAY, POLICY_KEEP, "is not near" },
        { "P-10 30:00 and a microsecond before", 30 * USEC_PER_MIN + 1, POLICY_KEEP, "is not near" },
        { "P-10 30:00 before it is saved", 30 * USEC_PER_MIN, POLICY_SUSPEND, "saved 30m before that" },
        { "P-10 ... and 29:59 and 999999 microseconds", 30 * USEC_PER_MIN - 1, POLICY_SUSPEND,
                "the provider ends its machine at" },
        { "P-10 ... and 29:59", 30 * USEC_PER_MIN - USEC_PER_SEC, POLICY_SUSPEND, "the provider ends its machine at" },
        { "P-10 ... and after the limit", -USEC_PER_MIN, POLICY_SUSPEND, "the provider ends its machine at" },
};

static void test_lifetime(void)
{
        struct scene c;
        struct policy_decision d;

        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                c = scene_of_running();
                c.m.ends_wall_us = NOW + ends[i].left;
                (void)expect(ends[i].name, ask(LIFETIME, &c, NOW), ends[i].act,
                        ends[i].act == POLICY_KEEP ? CAUSE_NONE : CAUSE_LIFETIME, ends[i].why);
        }
        c = scene_of_running();
        c.m.ends_wall_us = NOW + USEC_PER_HOUR;
        d = ask(LIFETIME, &c, NOW);
        (void)tap_ok(d.review_wall_us == NOW + 30 * USEC_PER_MIN && strstr(d.would_act, "at 20"), "P-22 it says when");
        c.j.state = JOB_RESTORING;
        (void)expect("P-10 nothing to save while it is restored", ask(LIFETIME, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                "does not run");
        (void)expect("P-10 no machine, no limit", policy_table[LIFETIME].decide(&c.j, NULL, &c.x, &c.s, NOW),
                POLICY_KEEP, CAUSE_NONE, "no fixed limit");
        c.s.lifetime_before_us = SETTING_OFF;
        (void)expect("P-23 off is off", ask(LIFETIME, &c, NOW), POLICY_KEEP, CAUSE_NONE, "lifetime.before is off");
}

/* Notice and lifetime end at an instant that nobody moves: SIGTERM 20 s before it. */
static void test_last_word(int row, enum job_cause cause, const char *what)
{
        struct scene c = scene_of_running();
        struct policy_decision d;
        int64_t end = NOW + 21 * USEC_PER_SEC;

        c.m.notice_wall_us = row == SPOT ? end : 0;
        c.m.ends_wall_us = row == LIFETIME ? end : 0;
        c.j.refused_cause = cause;
        c.j.retry_wall_us = NOW + USEC_PER_HOUR;
        d = ask(row, &c, NOW);
        (void)expect(what, d, POLICY_KEEP, CAUSE_NONE, "the save was refused");
        (void)tap_ok(d.warn && d.review_wall_us == NOW + USEC_PER_HOUR,
                "P-25 ... the runner's standing orders have the last word");
        c.j.can_end = true;
        d = ask(row, &c, NOW);
        (void)tap_ok(d.act == POLICY_KEEP && d.review_wall_us == NOW + USEC_PER_SEC,
                "P-25 or the executor has it: it runs on, and is looked at in time");
        (void)tap_int(ask(row, &c, NOW + USEC_PER_SEC - 1).act, POLICY_KEEP,
                "P-25 20 s and a microsecond before: it runs on");
        (void)expect("P-25 20 s before: SIGTERM", ask(row, &c, NOW + USEC_PER_SEC), POLICY_TERM, cause,
                "the save was refused");
        c.j.retry_wall_us = NOW + 1;
        d = ask(row, &c, NOW);
        (void)tap_int(d.review_wall_us, NOW + 1, "P-25 a try that comes before is waited for");
        c.j.saving = true;
        c.j.saving_cause = CAUSE_TTL;
        (void)expect("P-25 not over the end that ttl has ordered", ask(row, &c, NOW + USEC_PER_SEC), POLICY_KEEP,
                CAUSE_NONE, "being saved already");
        c.j.saving = false;
        c.j.refused_cause = CAUSE_IDLE;
        (void)expect("P-25 a save refused for something else is tried", ask(row, &c, NOW + USEC_PER_SEC),
                POLICY_SUSPEND, cause, "");
}

int main(void)
{
        test_oom();
        test_lifetime();
        test_last_word(SPOT, CAUSE_NOTICE, "P-25 a refused save before a notice's end");
        test_last_word(LIFETIME, CAUSE_LIFETIME, "P-25 a refused save before the machine's end");
        return tap_done();
}
