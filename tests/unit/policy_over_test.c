/* SPDX-License-Identifier: Apache-2.0 */
/* P-05: off spot, when the state is more than what a notice can save; P-19, P-25; and what can be saved, to the byte. */
#include "policy_common.h"

#define S USEC_PER_SEC

static const struct {
        const char *name;
        struct market_notice n;
        bool known;
        uint64_t want;
} saves[] = {
        { "P-05 rate x (0.8 x notice - detection - freeze)", { 120 * S, 1000, 0, 5 * S, S }, true, 90000 },
        { "P-05 ... to the byte, rounded down", { 10, 1000000, 0, 0, 0 }, true, 8 },
        { "P-05 ... less a tenth of a microsecond", { 11, 1000000, 0, 0, 0 }, true, 8 },
        { "P-05 never below 0", { 10 * S, 1000, 0, 5 * S, 4 * S }, true, 0 },
        { "P-05 exactly 0", { 10 * S, 1000, 0, 4 * S, 4 * S }, true, 0 },
        { "P-05 no notice given saves nothing", { 0, 1000, 0, 0, 0 }, true, 0 },
        { "P-05 never used: the lowest rate learned for its provider", { 10 * S, 0, 500, 0, 0 }, true, 4000 },
        { "P-05 its own rate before the provider's", { 10 * S, 1000, 500, 0, 0 }, true, 8000 },
        { "P-05 no rate learned at all: nobody knows", { 10 * S, 0, 0, 0, 0 }, false, 0 },
        { "P-05 what cannot be is held within bounds", { INT64_MAX, INT64_MAX, 0, 0, 0 }, true, UINT64_MAX },
        { "P-05 a negative span is none", { 10 * S, 1000, 0, -S, -S }, true, 8000 },
};

static void test_saves(void)
{
        for (size_t i = 0; i < ARRAY_LEN(saves); i++) {
                uint64_t can = 0;

                (void)tap_ok(market_can_save(&saves[i].n, &can) == saves[i].known && can == saves[i].want, "%s",
                        saves[i].name);
        }
}

static struct policy_offer offers[2];

/* Its notice saves 8000 bytes. */
static struct scene on_spot(uint64_t state)
{
        struct scene c = scene_of_running();

        offers[0] = (struct policy_offer){
                .name = "aws/a/m5/spot", .key = 3, .spot = true, .rate = { 50, "USD" }, .handover_us = 1
        };
        offers[1] = (struct policy_offer){ .name = "aws/a/m5", .key = 4, .rate = { 200, "USD" }, .handover_us = 1 };
        c.m.spot = true;
        c.m.rate = (struct money){ 100, "USD" };
        c.m.notice = (struct market_notice){ .notice_us = 10 * S, .save_bytes_s = 1000 };
        c.x.state_bytes = state;
        c.j.offers = offers;
        c.j.offers_n = 2;
        return c;
}

static void test_moves(void)
{
        struct scene c = on_spot(8000);
        struct policy_decision d = ask(SPOT, &c, NOW);

        (void)expect("P-05 a state that the notice can just save stays", d, POLICY_KEEP, CAUSE_NONE,
                "one could save its state");
        (void)tap_has(d.would_act, "a state over 7.8KiB", "P-22 ... and how much that is");
        c.x.state_bytes = 8001;
        d = ask(SPOT, &c, NOW);
        (void)expect("P-05 a byte more moves to on-demand", d, POLICY_MOVE, CAUSE_MOVE,
                "to aws/a/m5, on demand, at 0.0000002 USD/h");
        (void)tap_ok(d.offer == 1 && d.offer_key == 4, "P-05 ... not to another spot offer");
        c.j.moved_wall_us = NOW;
        (void)tap_int(ask(SPOT, &c, NOW).act, POLICY_MOVE, "P-16 the cool-down is for return and cheaper");
        c.m.notice_wall_us = NOW + S;
        (void)expect("P-04 a notice comes first", ask(SPOT, &c, NOW), POLICY_SUSPEND, CAUSE_NOTICE, "taken away");
        c.m.notice_wall_us = 0;
        c.m.spot = false;
        (void)expect("P-05 only on spot", ask(SPOT, &c, NOW), POLICY_KEEP, CAUSE_NONE, "no notice on its machine");
        c = on_spot(0);
        (void)expect(
                "P-05 no state measured", ask(SPOT, &c, NOW), POLICY_KEEP, CAUSE_NONE, "no notice on its spot machine");
        (void)expect("P-05 nothing measured", policy_table[SPOT].decide(&c.j, &c.m, NULL, &c.s, NOW), POLICY_KEEP,
                CAUSE_NONE, "no notice on its spot machine");
        c = on_spot(8001);
        c.j.state = JOB_RESTORING;
        (void)expect("P-05 nothing runs", ask(SPOT, &c, NOW), POLICY_KEEP, CAUSE_NONE, "no notice on its spot machine");
        c = on_spot(8001);
        c.s.spot = false;
        (void)expect(
                "P-05 with spot off too", ask(SPOT, &c, NOW), POLICY_KEEP, CAUSE_NONE, "no notice on its spot machine");
}

static void stays(const char *name, const struct scene *c, const char *why)
{
        struct policy_decision d = ask(SPOT, c, NOW);

        (void)expect(name, d, POLICY_KEEP, CAUSE_NONE, why);
        (void)tap_ok(d.warn, "... and the owner is warned");
}

static void test_warns(void)
{
        struct scene c = on_spot(8001);

        c.m.notice.save_bytes_s = 0;
        stays("P-05 no rate learned at all: kept", &c, "was not learned yet");
        c = on_spot(8001);
        c.s.spot_move_when_over = false;
        stays("P-05 move_when_over off", &c, "spot.move_when_over is off");
        c = on_spot(8001);
        c.j.pinned = true;
        stays("P-19 a pinned job is warned instead", &c, "it is pinned");
        c = on_spot(8001);
        c.j.refused_cause = CAUSE_MOVE;
        c.j.retry_wall_us = NOW + 1;
        stays("P-25 a refused move stays", &c, "the save was refused");
        c = on_spot(8001);
        offers[1].unusable = "the price is older than its age limit";
        stays("P-05 no on-demand offer may be chosen", &c, "no on-demand offer");
        (void)tap_int(ask(SPOT, &c, NOW).review_wall_us, NOW + 10 * USEC_PER_MIN, "... it looks again");
        c.j.saving = true;
        (void)expect("P-15 nothing while an operation is at work that outranks it", ask(SPOT, &c, NOW), POLICY_KEEP,
                CAUSE_NONE, "being saved already");
}

/* --- rightsize, P-14 --- */
#define MIB (UINT64_C(1) << 20)
static const struct {
        const char *name;
        int32_t asked, peak, want;
        uint64_t asked_bytes, peak_bytes, want_bytes;
} sizes[] = {
        { "P-14 peaks x 1.3", 1000, 2000, 2600, 100 * MIB, 1000 * MIB, 1300 * MIB },
        { "P-14 ... rounded up", 1, 3, 4, 1, 7, 10 },
        { "P-14 never below what was asked", 4000, 100, 4000, 100 * MIB, MIB, 100 * MIB },
        { "P-14 each by itself", 1000, 100, 1000, 100 * MIB, 100 * MIB, 130 * MIB },
        { "P-14 nothing measured", 1000, 0, 1000, MIB, 0, MIB },
        { "P-14 only memory measured", 1000, 0, 1000, 0, 10, 13 },
        { "P-14 a negative peak is none", 1000, -5, 1000, 0, 10, 13 },
        { "P-14 the largest do not overflow", 1, INT32_MAX, INT32_MAX, 1, UINT64_MAX, UINT64_MAX },
};

static void test_sizes(void)
{
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                struct scene c = on_spot(8001);
                struct policy_decision all[POLICY_N];
                struct policy_size size;

                c.j.cpu_milli = sizes[i].asked;
                c.j.memory_bytes = sizes[i].asked_bytes;
                c.x.peak_cpu_milli = sizes[i].peak;
                c.x.peak_memory_bytes = sizes[i].peak_bytes;
                size = policy_size(&c.j, &c.x, &c.s);
                (void)tap_ok(size.cpu_milli == sizes[i].want && size.memory_bytes == sizes[i].want_bytes, "%s",
                        sizes[i].name);
                (void)tap_int(policy_check(&c.j, &c.m, &c.x, &c.s, NOW, all), SPOT,
                        "P-14 ... rightsize does not move by itself");
                (void)tap_ok(all[SPOT].cpu_milli == sizes[i].want && all[SPOT].memory_bytes == sizes[i].want_bytes,
                        "P-14 ... a move asks for them");
                (void)tap_ok(
                        (all[RIGHTSIZE].cpu_milli == sizes[i].want) == (sizes[i].peak > 0 || sizes[i].peak_bytes > 0),
                        "P-22 ... and rightsize says so: %s", all[RIGHTSIZE].why);
        }
        {
                struct scene c = on_spot(0);

                c.j.cpu_milli = 1000;
                c.x.peak_cpu_milli = 2000;
                (void)expect("P-14 what the next move would ask", ask(RIGHTSIZE, &c, NOW), POLICY_KEEP, CAUSE_NONE,
                        "30% more: 2.6 cores");
                c.j.pinned = true;
                (void)tap_int(policy_size(&c.j, &c.x, &c.s).cpu_milli, 1000, "P-19 pinned: no resizing");
                c.j.pinned = false;
                c.s.rightsize = false;
                (void)tap_int(policy_size(&c.j, &c.x, &c.s).cpu_milli, 1000, "P-23 off is off");
                c.s.rightsize = true;
                (void)tap_int(policy_size(&c.j, NULL, &c.s).cpu_milli, 1000, "P-14 nothing measured at all");
                (void)expect("P-14 ... and said", policy_table[RIGHTSIZE].decide(&c.j, &c.m, NULL, &c.s, NOW),
                        POLICY_KEEP, CAUSE_NONE, "no measured peak");
        }
}

int main(void)
{
        test_saves();
        test_moves();
        test_warns();
        test_sizes();
        return tap_done();
}
