/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine makes of offers: looks and moves (P-12, P-13, P-16, P-19), pools left out (P-17), what a notice can save (P-05, P-06), sizes
 * (P-14), and what explain says of all that (P-22, law 20). A cloud by a trace, so that prices stand to the nano. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simulate/cloud.h"
#include "world/scene.h"

#define HEAD                                          \
        "portald-trace 1\n"                           \
        "start 2023-01-01T00:00:00Z\n"                \
        "currency USD\n"                              \
        "type small cpu=4 memory=16GiB disk=100GiB\n" \
        "zone a\n"                                    \
        "zone b\n"
#define OFFER_ON_DEMAND "cloud/a/small"
#define OFFER_SPOT "cloud/a/small/spot"

static int64_t state_bytes; /* of each job that starts from now on */

static int64_t memory_of(struct world *w, const char *job)
{
        (void)w, (void)job;
        return state_bytes;
}

static bool begin(struct world *w, const char *trace)
{
        char path[] = "/tmp/portald-offers-XXXXXX";
        int fd = mkstemp(path);
        js_owned *options = NULL;
        struct pd_error err;
        bool ok;

        if (fd < 0 || write(fd, trace, strlen(trace)) < 0)
                return tap_ok(false, "a trace is written");
        (void)close(fd);
        options = json_pack("{s:s,s:s,s:s,s:s}", "seed", "7", "trace", path, "life", "0", "settle", "1s");
        ok = world_new_with(w, &(struct world_options){ .wait = true, .no_lab = true, .seed = 7 }) == 0;
        w->memory_of = memory_of;
        state_bytes = 0;
        sim_tick_start(w);
        if (ok && !world_add_sim(w, "cloud", options, &err)) {
                tap_note("%s", err.text);
                ok = false;
        }
        ok = ok && world_start(w) == 0;
        (void)unlink(path);
        if (ok)
                world_run(w, MIN);
        return tap_ok(ok, "a cloud by a trace begins");
}

static void end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        world_free(w);
}

static void submit(struct world *w, const char *on, const char *memory, const char *flags, char id[40])
{
        json_error_t e;
        json_t *set = json_loads(flags, 0, &e);
        json_t *spec = json_pack("{s:s,s:[s]}", "image", "oci:/srv/images/debian", "command", "train");
        struct reply r;

        if (on)
                (void)json_object_set_new(spec, "on", json_string(on));
        if (memory)
                (void)json_object_set_new(spec, "memory", json_string(memory));
        world_ask(w, "submit", NULL, json_pack("{s:o,s:{s:o}}", "spec", spec, "settings", "flag", set), NULL, &r);
        if (r.err.code)
                tap_note("submit: %s", r.err.text);
        (void)str_format(id, 40, "%s", js_str(json_object_get(r.body, "job"), "id", ""));
        reply_clear(&r);
}

/* The job's explanation; borrowed from a kept reply. */
static const json_t *explain(struct world *w, const char *id, const char *why_not, int64_t at_wall_us)
{
        static struct reply kept;
        json_t *args = json_object();

        if (why_not)
                (void)json_object_set_new(args, "why_not", json_string(why_not));
        if (at_wall_us)
                (void)json_object_set_new(args, "at_wall_us", json_integer(at_wall_us));
        reply_clear(&kept);
        world_ask(w, "explain", id, args, NULL, &kept);
        if (kept.err.code)
                tap_note("explain: %s", kept.err.text);
        return kept.body;
}

/* The last decision of a policy with this act, or NULL. */
static const json_t *decision(const json_t *explained, const char *policy, const char *act)
{
        const json_t *found = NULL, *d;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)json_object_get(explained, "decisions"), i, d)
                if (streq(js_str(d, "policy", ""), policy) && streq(js_str(d, "act", ""), act))
                        found = d;
        return found;
}

/* The best margin of the stretch of inaction that begins so. */
static const char *interval_of(const json_t *explained, const char *policy, const char *why)
{
        const char *found = "";
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)json_object_get(explained, "intervals"), i, v)
                if (streq(js_str(v, "policy", ""), policy) && strncmp(js_str(v, "why", ""), why, strlen(why)) == 0 &&
                        js_int(v, "count", 0) > 2)
                        found = js_str(v, "best_margin", "");
        return found;
}

static const json_t *offer_named(struct world *w, const char *name)
{
        static struct reply kept;
        const json_t *o;
        size_t i;

        reply_clear(&kept);
        world_ask(w, "offers", NULL, NULL, NULL, &kept);
        json_array_foreach (json_object_get(kept.body, "offers"), i, o)
                if (streq(js_str(o, "name", ""), name))
                        return o;
        return NULL;
}

static const char *at_offer(struct world *w, const char *id)
{
        return world_job(w, id, "offer");
}

/* Law 20: what explain's history replays to is what show says. */
static void replays(struct world *w, const char *id, const char *name)
{
        const json_t *then = json_object_get(explain(w, id, NULL, 0), "then");
        char state[32], result[32], cause[32];

        (void)str_format(state, sizeof state, "%s", js_str(then, "state", "?"));
        (void)str_format(result, sizeof result, "%s", js_str(then, "result", "?"));
        (void)str_format(cause, sizeof cause, "%s", js_str(then, "cause", "?"));
        tap_ok(streq(state, world_job(w, id, "state")) && streq(result, world_job(w, id, "result")) &&
                        streq(cause, world_job(w, id, "cause")) &&
                        js_int(then, "generation", -1) == world_job_int(w, id, "generation"),
                "%s", name);
}

/* --- P-12, P-16, P-22: spot comes back, the job moves to it --- */
static void returns(void)
{
        struct world w;
        const json_t *e, *d, *proof;
        int64_t before;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer a/small/spot price=0.30 capacity=0 notice=2m\n"
                            "offer b/small price=0.79\n"
                            "2h a/small/spot capacity 4\n"))
                return;
        submit(&w, "cloud/a", NULL, "{\"expect\": \"200h\"}", id);
        world_run(&w, HOUR);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-24 it is placed on what can be had");
        e = explain(&w, id, NULL, 0);
        proof = json_object_get(decision(e, "placement", "place"), "evidence");
        tap_str(js_str(proof, "offer", ""), OFFER_ON_DEMAND, "P-22 the placement's evidence names the offer");
        tap_ok(json_array_size(json_object_get(proof, "losers")) >= 1 &&
                        json_object_size(json_object_get(proof, "rules")) >= 1,
                "P-22 ... the offers that lost and a count per rule");
        before = w.wall_us;
        world_run(&w, 90 * MIN);
        tap_str(at_offer(&w, id), OFFER_SPOT, "P-12 off spot, it moves to a spot offer that saves enough");
        tap_str(world_job(&w, id, "state"), "running", "P-12 and runs there");
        e = explain(&w, id, NULL, 0);
        d = decision(e, "return", "move");
        tap_ok(d != NULL, "P-12 by return");
        proof = json_object_get(d, "evidence");
        tap_str(js_str(proof, "offer", ""), OFFER_SPOT, "P-22 the move's evidence names its target");
        tap_str(js_str(proof, "from", ""), OFFER_ON_DEMAND, "P-22 ... and the place that it leaves");
        tap_int(js_int(json_object_get(proof, "rate"), "nano_hour", 0), 300000000, "P-22 ... its rate to the nano");
        tap_int(js_int(json_object_get(proof, "present"), "nano_hour", 0), 1000000000, "P-22 ... the present one");
        tap_ok(js_int(json_object_get(proof, "saving"), "nano", 0) >
                        3 * js_int(json_object_get(proof, "cost"), "nano", INT64_MAX / 4),
                "P-13 ... a saving of three times the cost");
        e = explain(&w, id, NULL, before);
        tap_str(js_str(json_object_get(e, "then"), "state", ""), "running", "P-22 --at shows the state then");
        tap_ok(decision(e, "return", "move") == NULL, "P-22 ... and no decision of later");
        tap_ok(json_array_size(json_object_get(e, "intervals")) > 0, "P-22 ... and what was not done just then");
        replays(&w, id, "law 20 history replays to the present state after a move");
        end(&w);
}

/* --- P-13 at its boundary: 20.00 %, less a nano --- */
static void fifth(void)
{
        struct world w;
        const json_t *v;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "1h b/small price 0.800000001\n"
                            "5h b/small price 0.80\n"))
                return;
        submit(&w, NULL, NULL, "{\"expect\": \"200h\"}", id);
        world_run(&w, 4 * HOUR);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-13 at a nano less than 20 % it stays");
        v = json_object_get(explain(&w, id, "cloud/b/small", 0), "why_not");
        tap_str(js_str(v, "rule", ""), "a fifth", "P-22 --why-not names the rule");
        tap_str(js_str(v, "verdict", ""), "rejected", "P-22 ... by which it is rejected");
        tap_has(js_str(v, "why", ""), "saves 19.99 %", "P-22 ... by how much");
        tap_has(js_str(v, "would", ""), "<= 0.80 USD/h", "P-22 ... and what would change it");
        tap_int(js_int(v, "rate_max_nano_hour", 0), 800000000, "P-22 ... to the nano");
        tap_has(interval_of(explain(&w, id, NULL, 0), "cheaper", "no offer is a fifth cheaper"),
                "if cloud/b/small costs <= 0.80 USD/h", "P-22 inaction says its best margin");
        world_run(&w, 2 * HOUR);
        tap_str(at_offer(&w, id), "cloud/b/small", "P-13 at 20.00 % it moves");
        v = json_object_get(explain(&w, id, "cloud/b/small", 0), "why_not");
        tap_str(js_str(v, "verdict", ""), "here", "P-22 --why-not of its own place says so");
        end(&w);
}

/* --- P-16, P-19, P-18 --- */
static void stays(void)
{
        struct world w;
        const json_t *i, *e;
        bool interval = false;
        size_t n;
        char pinned[40], off[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "1h b/small price 0.50\n"))
                return;
        submit(&w, OFFER_ON_DEMAND, NULL, "{\"expect\": \"200h\"}", pinned);
        submit(&w, "cloud/a", NULL, "{\"expect\": \"200h\", \"cheaper\": \"off\"}", off);
        world_run(&w, 6 * HOUR);
        tap_str(at_offer(&w, pinned), OFFER_ON_DEMAND, "P-19 a pinned job makes no move to save money");
        tap_str(at_offer(&w, off), OFFER_ON_DEMAND, "P-18 --no-cheaper: no move to save money");
        tap_has(js_str(json_object_get(explain(&w, off, "cloud/b/small", 0), "why_not"), "why", ""), "--on",
                "P-22 the offer is outside of its --on");
        e = explain(&w, off, NULL, 0);
        json_array_foreach ((json_t *)(uintptr_t)json_object_get(e, "intervals"), n, i)
                interval = interval || (streq(js_str(i, "policy", ""), "cheaper") && js_int(i, "count", 0) > 1);
        tap_ok(interval, "P-22 inaction is one stretch with a count");
        end(&w);
}

/* A market that turns right after each move: what was left would have been cheaper. */
static void loses(void)
{
        struct world w;
        const json_t *e, *d;
        size_t i, lost = 0;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "1h b/small price 0.50\n"
                            "80m b/small price 4.00\n"
                            "3h a/small price 200.00\n"
                            "3h b/small price 1.00\n"
                            "7h a/small price 0.10\n"))
                return;
        submit(&w, NULL, NULL, "{\"expect\": \"200h\"}", id);
        world_run(&w, 6 * HOUR);
        e = explain(&w, id, NULL, 0);
        json_array_foreach ((json_t *)(uintptr_t)json_object_get(e, "decisions"), i, d)
                lost += streq(js_str(d, "act", ""), "lost");
        tap_int((long long)lost, 2,
                "two automatic moves that cost more than they saved are counted, when their stay ends");
        tap_has(js_str(decision(e, "move", "lost"), "why", ""), "cost more than it saved",
                "... and said, with the figures");
        tap_note("%s", js_str(decision(e, "move", "lost"), "why", ""));
        tap_str(at_offer(&w, id), "cloud/b/small", "... it is where the last one brought it");
        world_run(&w, 6 * HOUR);
        tap_str(at_offer(&w, id), "cloud/b/small",
                "after two that lost money no more are made, however cheap another offer is");
        e = explain(&w, id, NULL, 0);
        lost = 0;
        json_array_foreach ((json_t *)(uintptr_t)json_object_get(e, "intervals"), i, d)
                lost += strstr(js_str(d, "why", ""), "automatic moves cost more than they saved 2 times") != NULL;
        tap_ok(lost > 0, "... and explain says so");
        end(&w);
}

static void cools(void)
{
        struct world w;
        const json_t *d;
        int64_t first;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "1h b/small price 0.50\n"
                            "80m a/small price 0.10\n"))
                return;
        submit(&w, NULL, NULL, "{\"expect\": \"200h\"}", id);
        world_run(&w, 75 * MIN);
        d = decision(explain(&w, id, NULL, 0), "cheaper", "move");
        if (tap_ok(d != NULL, "P-13 cheaper moves it")) {
                first = js_int(d, "at_wall_us", 0);
                world_run(&w, first + 30 * MIN - w.wall_us);
                tap_str(at_offer(&w, id), "cloud/b/small", "P-16 no look within 30 min of a move");
                world_run(&w, 30 * MIN);
                d = decision(explain(&w, id, NULL, 0), "cheaper", "move");
                tap_ok(js_int(d, "at_wall_us", 0) >= first + 30 * MIN, "P-16 the next move is at least 30 min later");
                tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-16 ... and then it looks again");
        }
        end(&w);
}

static void waits(void)
{
        struct world w;
        const json_t *p;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer a/small/spot price=0.30 capacity=0 notice=2m\n"))
                return;
        submit(&w, OFFER_SPOT, NULL, "{}", id);
        world_run(&w, 5 * MIN);
        tap_has(world_job(&w, id, "waiting"), OFFER_SPOT ": ", "a waiting job says what stands against its offer");
        p = json_object_get(explain(&w, id, NULL, 0), "placement");
        tap_int(js_int(json_object_get(p, "rules"), "on", 0), 1,
                "P-22 ... and explain which rule left out each other one");
        end(&w);
}

/* --- P-17 --- */
static void left_out(void)
{
        struct world w;
        const json_t *o;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer a/small/spot price=0.30 capacity=4 notice=2m\n"
                            "2h a/small/spot reclaim all\n"))
                return;
        submit(&w, NULL, NULL, "{}", id);
        world_run(&w, 2 * HOUR + 8 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-04 its spot machine is taken away");
        o = offer_named(&w, OFFER_SPOT);
        tap_ok(js_int(o, "out_until_wall_us", 0) > w.wall_us &&
                        js_int(o, "out_until_wall_us", 0) <= w.wall_us + 30 * MIN,
                "P-17 the pool is left out for 30 min");
        tap_int(world_restart(&w), 0, "portald starts again");
        world_run(&w, MIN);
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 10 * MIN);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-17 no job is placed there meanwhile, across a restart");
        world_run(&w, 25 * MIN);
        o = offer_named(&w, OFFER_SPOT);
        tap_ok(js_bool(o, "usable", false) && js_int(o, "out_until_wall_us", 0) == 0,
                "P-17 and then it can be had again");
        replays(&w, id, "law 20 history replays to the present state after a reclaim");
        end(&w);
}

/* --- P-05, P-06 --- */
#define MIB (INT64_C(1) << 20)

static void notice_saves(void)
{
        struct world w;
        const json_t *o, *v;
        char id[40], other[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer a/small/spot price=0.30 capacity=4 notice=2m\n"))
                return;
        state_bytes = 64 * MIB;
        w.save_bytes_second = MIB;
        submit(&w, NULL, NULL, "{}", id);
        world_run(&w, 20 * MIN);
        tap_str(at_offer(&w, id), OFFER_SPOT, "P-06 nothing measured yet: spot may be chosen");
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 5 * MIN);
        o = offer_named(&w, OFFER_SPOT);
        tap_ok(js_int(o, "save_bytes_s", 0) > 0 && js_int(o, "save_bytes_s", 0) <= MIB,
                "a save teaches its pool a rate");
        tap_ok(js_int(o, "can_save_bytes", 0) > 64 * MIB, "P-06 a notice can save its state");
        tap_ok(js_int(o, "boot_us", 0) > 0, "... and a machine that came up how long that takes");
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 20 * MIN);
        tap_str(at_offer(&w, id), OFFER_SPOT, "P-06 so it goes back there");
        w.save_bytes_second = MIB / 2; /* the road to the vault gets slower; another job shows it */
        submit(&w, OFFER_SPOT, NULL, "{}", other);
        world_run(&w, 20 * MIN);
        scene_act(&w, "suspend", other, NULL);
        world_run(&w, 20 * MIN);
        tap_ok(js_int(offer_named(&w, OFFER_SPOT), "can_save_bytes", 0) < 64 * MIB, "P-05 now a notice cannot save it");
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-05 the job moves to on-demand");
        tap_ok(decision(explain(&w, id, NULL, 0), "spot", "move") != NULL, "P-05 by spot");
        v = json_object_get(explain(&w, id, OFFER_SPOT, 0), "why_not");
        tap_str(js_str(v, "rule", ""), "notice", "P-06 and its notice is why spot is left out");
        world_run(&w, 3 * HOUR);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-06 return does not bring it back");
        end(&w);
}

/* --- P-14 --- */
static void sizes(void)
{
        struct world w;
        const struct sim_job *s;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"))
                return;
        state_bytes = 900 * MIB;
        submit(&w, NULL, "1GiB", "{}", id);
        world_run(&w, 10 * MIN);
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 10 * MIN);
        tap_int(world_job_int(&w, id, "memory_bytes"), 1024 * MIB, "P-14 it asked for so much");
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 10 * MIN);
        s = world_sim(&w, id);
        tap_int(s ? js_int(s->order, "memory_bytes", 0) : 0, 1170 * MIB,
                "P-14 a resume asks for the measured peak x 1.3");
        tap_int(world_job_int(&w, id, "memory_bytes"), 1170 * MIB, "P-14 and says so");
        end(&w);
}

/* A better size keeps no job from the only machines that there are. */
static void too_large(void)
{
        struct world w;
        const struct sim_job *s;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "3h b/small price 0.50\n"))
                return;
        state_bytes = 14 * 1024 * MIB;
        w.save_bytes_second = 1024 * MIB;
        submit(&w, NULL, "15GiB", "{\"expect\": \"200h\"}", id);
        world_run(&w, 10 * MIN);
        scene_act(&w, "suspend", id, NULL);
        world_run(&w, 10 * MIN);
        scene_act(&w, "resume", id, NULL);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "running",
                "P-14 where no machine has room for more, it gets what was asked");
        tap_int(world_job_int(&w, id, "memory_bytes"), 15 * 1024 * MIB, "P-14 ... as asked");
        world_run(&w, 4 * HOUR);
        s = world_sim(&w, id);
        tap_str(at_offer(&w, id), "cloud/b/small", "P-14 and it moves all the same");
        tap_int(s ? js_int(s->order, "memory_bytes", 0) : 0, 15 * 1024 * MIB, "P-14 ... as asked");
        end(&w);
}

/* --- prices that nothing automatic is done for --- */
static void believed(void)
{
        struct world w;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=1.00\n"
                            "offer b/small/spot price=0.0099 notice=2m\n"
                            "2h outage 3h\n"))
                return;
        submit(&w, NULL, NULL, "{}", id);
        world_run(&w, 10 * MIN);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "a spot price under its sanity band is not believed");
        tap_has(js_str(offer_named(&w, "cloud/b/small/spot"), "price_fault", ""), "sanity band", "... and says so");
        tap_has(js_str(json_object_get(explain(&w, id, "cloud/b/small/spot", 0), "why_not"), "why", ""), "0.0099 USD/h",
                "P-22 ... with its figures");
        world_run(&w, 2 * HOUR + 5 * MIN);
        tap_ok(!json_object_get(offer_named(&w, OFFER_ON_DEMAND), "price_fault"), "an hour old, a price is still good");
        world_run(&w, HOUR);
        tap_has(js_str(offer_named(&w, OFFER_ON_DEMAND), "price_fault", ""), "older than its age limit",
                "... and then it is not");
        end(&w);
}

static void another_clock(int64_t step_us)
{
        struct world w;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"))
                return;
        world_step_clock(&w, step_us);
        world_run(&w, 15 * MIN);
        submit(&w, NULL, NULL, "{}", id);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "a wrong clock keeps no job from its machine");
        end(&w);
}

/* P-13: currencies compare only through a dated rate in the site config. */
static void currencies(bool rated)
{
        static const struct market_rate rates[] = { { "EUR", "USD", 1100000000, INT64_C(1790000000000000) } };
        struct world w;
        char id[40];

        if (!begin(&w, HEAD "offer a/small price=1.00\n"
                            "offer b/small price=2.00 currency=EUR\n"
                            "1h b/small price 0.70\n"))
                return;
        if (rated)
                w.site.rates = (struct market_rates){ .rates = rates, .n = 1, .max_age_us = 365 * DAY };
        tap_int(world_restart(&w), 0, "portald starts with the site's rates");
        world_run(&w, MIN);
        submit(&w, NULL, NULL, "{\"expect\": \"200h\"}", id);
        world_run(&w, 30 * MIN);
        if (!streq(at_offer(&w, id),
                    OFFER_ON_DEMAND)) /* EUR comes first by its code: placement does not compare them */
                scene_act(&w, "move", id, json_pack("{s:s}", "on", OFFER_ON_DEMAND));
        world_run(&w, 30 * MIN);
        tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "a job runs for dollars");
        world_run(&w, 3 * HOUR);
        if (rated) {
                tap_str(at_offer(&w, id), "cloud/b/small",
                        "P-13 with a dated rate it moves to euros that cost a fifth less");
        } else {
                tap_str(at_offer(&w, id), OFFER_ON_DEMAND, "P-13 without a dated rate two currencies are not compared");
                tap_has(js_str(json_object_get(explain(&w, id, "cloud/b/small", 0), "why_not"), "why", ""),
                        "another currency", "P-22 ... and that is said");
        }
        end(&w);
}

/* --- P-08 --- */
static void measured(struct world *w, const char *id, const char *key, int64_t value)
{
        struct sim_job *s = world_sim(w, id);
        js_owned *event = s ? json_pack("{s:s,s:[{s:s,s:I,s:I,s:I,s:I}]}", "event", "measures", "items", "job", s->job,
                                      "generation", (json_int_t)s->generation, "cpu_us", (json_int_t)s->cpu_us,
                                      "memory_bytes", (json_int_t)(900 * MIB), key, (json_int_t)value)
                            : NULL;

        world_event(w, event);
}

static void memory_ends(const char *key, int64_t before, int64_t after, const char *name)
{
        struct world w;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        measured(&w, id, key, before);
        world_run(&w, 2 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-08 nothing is wrong yet");
        measured(&w, id, key, after);
        world_run(&w, 2 * MIN);
        tap_ok(streq(world_job(&w, id, "state"), "suspended") && streq(world_job(&w, id, "cause"), "oom"), "%s", name);
        scene_end(&w);
}

int main(void)
{
        believed();
        currencies(true);
        currencies(false);
        another_clock(-30 * MIN);
        another_clock(10 * HOUR);
        memory_ends(
                "oom_reports", 0, 1, "P-08 a job that says, alive, that an allocation failed is saved and suspended");
        memory_ends("oom_kills", 1, 2, "P-08 so is one of which a child was killed while the main process lives");

        returns();
        fifth();
        stays();
        cools();
        loses();
        waits();
        left_out();
        notice_saves();
        sizes();
        too_large();
        return tap_done();
}
