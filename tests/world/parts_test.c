/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts of the executor by their values: shares, verdicts, what an offer is to the policies of a running job, where a price is out of its band. */
#include <stdio.h>

#include "executor/gather.h"
#include "executor/known.h"
#include "world/rented.h"

#define GIB (INT64_C(1) << 30)

static void shares(void)
{
        const struct placement_offer box = { .cpu_milli = 3, .memory_bytes = 10, .gpus = 4 };

        tap_int(known_share(10, &box, 1, 0, 0), 4, "a third of 10 nano is 4: a share is rounded up");
        tap_int(known_share(9, &box, 1, 0, 0), 3, "... and one that is whole stays so");
        tap_int(known_share(100, &box, 1, 5, 1), 50, "the largest share counts");
        tap_int(known_share(100, &box, 9, 0, 0), 100, "more than there is costs the whole");
}

static const struct known *offer(struct world *w, const char *name)
{
        const struct offers_known *k = known_now(w->engine);

        return k ? known_find(k, name) : NULL;
}

/* What stands between the job and cloud/b/m; good until the next call. */
static const char *why_not_of(struct world *w, const char *id)
{
        static char why[300];
        struct reply r;

        world_ask(w, "explain", id, json_pack("{s:s}", "why_not", "cloud/b/m"), NULL, &r);
        (void)str_format(why, sizeof why, "%s", js_str(json_object_get(r.body, "why_not"), "why", r.err.text));
        reply_clear(&r);
        return why;
}

static int64_t a_gib(struct world *w, const char *job)
{
        (void)w, (void)job;
        return GIB;
}

/* A job with 1 GiB of state, saved at what is assumed while nothing is known: 100 MB/s. */
static void looked_at(void)
{
        struct world w;
        struct offers kept = { 0 };
        struct policy_offer o = { 0 };
        struct entry *en;
        struct id id;
        char text[40];

        if (!traced_begin(&w,
                    "portald-trace 1\ncurrency USD\ntype m cpu=4 memory=16GiB\nzone a egress=0.000000001\nzone b\n"
                    "offer a/m price=1.00\noffer b/m price=1.50\n",
                    0))
                return;
        w.memory_of = a_gib;
        world_submit(&w, "{}", text);
        world_run(&w, 6 * MIN);
        (void)id_parse(ID_JOB, text, &id);
        en = jobs_find(w.engine, id);
        if (tap_ok(en && en->live, "a job runs at a/m") &&
                tap_ok(looks_one(w.engine, en, offer(&w, "cloud/b/m"), &kept, &o), "b/m is looked at for it")) {
                en->job.state_bytes = GIB;
                (void)looks_one(w.engine, en, offer(&w, "cloud/b/m"), &kept, &o);
                tap_int(o.egress_nano, 1, "P-13 a GiB at one nano a GiB costs one, not two");
                tap_int(o.handover_us, 2 * (GIB * USEC_PER_SEC / 100000000) + 30 * USEC_PER_SEC,
                        "P-13 its state goes out and in, and the target must prove itself");
                en->job.state_bytes = (uint64_t)GIB + 1;
                (void)looks_one(w.engine, en, offer(&w, "cloud/b/m"), &kept, &o);
                tap_int(o.egress_nano, 2, "P-13 a byte more is begun with: two");
                en->job.moves_lost = 1;
                tap_ok(!strstr(why_not_of(&w, text), "cost more than they saved"), "one move that lost is no reason");
                en->job.moves_lost = 2;
                tap_has(why_not_of(&w, text), "cost more than they saved twice", "two are, and that is said");
        }
        offers_free(&kept);
        scene_end(&w);
}

static void no_time_left(void)
{
        struct gathered g = { .now_wall_us = 100 * HOUR,
                .job = { .state = JOB_RUNNING, .ran_us = 5 * HOUR, .container_wall_us = HOUR, .ttl_us = 5 * HOUR },
                .machine = { .rate = { 1000000000, "USD" } } };
        const struct policy_offer o = { .name = "cloud/b/m", .rate = { 100000000, "USD" }, .handover_us = MIN };
        struct verdict v;

        g.settings.expect_us = SETTING_OFF;
        evidence_verdict(&g, &o, &v);
        tap_str(v.rule ? v.rule : "", "remaining", "P-13 with no running time left that is what is said");
        g.job.ttl_us++;
        evidence_verdict(&g, &o, &v);
        tap_ok(!v.rule || !streq(v.rule, "remaining"), "and a microsecond more is some time: %s", v.rule ? v.rule : "");
}

static void bands(void)
{
        struct world w;
        char why[MARKET_WHY_MAX];

        if (!traced_begin(&w,
                    "portald-trace 1\ncurrency EUR\ntype m cpu=4 memory=16GiB\ntype n cpu=4 memory=16GiB\nzone "
                    "a\nzone b\n"
                    "offer a/m price=1.00\noffer a/m/spot price=10.01\noffer b/m price=1.00\noffer b/m/spot "
                    "price=10.00\n"
                    "currency USD\noffer a/n price=1.00\noffer b/n price=1.00\n"
                    "currency GBP\noffer a/n/spot price=1.00\n",
                    0))
                return;
        tap_ok(known_fault(offer(&w, "cloud/a/m/spot"), w.wall_us, why) != NULL,
                "a spot price over ten times that on demand is not acted on");
        tap_ok(known_fault(offer(&w, "cloud/b/m/spot"), w.wall_us, why) == NULL, "one of ten times is");
        tap_str(known_now(w.engine)->currency, "EUR", "prices are compared in the currency that most of them have");
        scene_end(&w);
}

/* A job that asks for 8 cores, many cheap offers of 7.5, and one of 8 that has become cheap: it is seen behind all of those. */
static void in_a_crowd(void)
{
        char trace[4000] = "portald-trace 1\ncurrency USD\ntype big cpu=8 memory=16GiB\n", id[40];
        struct world w;
        struct reply r;

        for (int i = 0; i < 20; i++)
                (void)snprintf(
                        trace + strlen(trace), sizeof trace - strlen(trace), "type small%d cpu=7.5 memory=16GiB\n", i);
        (void)strcat(trace, "zone a\nzone b\noffer a/big price=1.00\noffer a/big/spot price=2.00\n"
                            "offer b/big/spot price=0.05\n");
        for (int i = 0; i < 20; i++)
                (void)snprintf(
                        trace + strlen(trace), sizeof trace - strlen(trace), "offer a/small%d/spot price=0.10\n", i);
        (void)strcat(trace, "1h a/big/spot price 0.30\n");
        if (!traced_begin(&w, trace, 0))
                return;
        world_ask(&w, "submit", NULL,
                json_pack("{s:{s:s,s:[s,s],s:s,s:s},s:{s:{s:s,s:s,s:s}}}", "spec", "image", "oci:/srv/images/debian",
                        "command", "train", "x", "cpus", "8", "on", "cloud/a", "settings", "flag", "expect", "100h",
                        "idle", "off", "rightsize", "off"),
                NULL, &r);
        (void)str_format(id, sizeof id, "%s", js_str(json_object_get(r.body, "job"), "id", r.err.text));
        reply_clear(&r);
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "offer"), "cloud/a/big",
                "a job begins at the only place of zone a that has 8 cores for a fair price");
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "offer"), "cloud/a/big/spot",
                "P-13, P-14 and moves where 8 cores have become cheap, and then no more: not to fewer, and not to zone "
                "b");
        scene_end(&w);
}

/* A cheaper offer while the job's machine is out of reach: nothing is rented for a move that could not begin. */
static void out_of_reach(void)
{
        struct world w;
        struct sim_machine *m;
        char id[40];

        if (!traced_begin(&w,
                    "portald-trace 1\ncurrency USD\ntype m cpu=4 memory=16GiB\nzone a\nzone b\n"
                    "offer a/m price=1.00\noffer b/m price=1.00\n1h b/m price 0.10\n",
                    0))
                return;
        world_submit(&w, "{\"expect\":\"100h\",\"idle\":\"off\"}", id);
        world_run(&w, 58 * MIN);
        m = world_sim(&w, id) ? world_sim(&w, id)->machine : NULL;
        if (!tap_ok(m != NULL, "a job runs"))
                return;
        sim_reach(m, false);
        world_run(&w, 40 * MIN);
        tap_int(rented_truth(&w).ever, 1, "P-15 with its machine out of reach no target is rented, however cheap");
        sim_reach(m, true);
        world_run(&w, 2 * HOUR);
        tap_int(rented_truth(&w).ever, 2, "P-13 and one is when it is back");
        tap_str(world_job(&w, id, "offer"), "cloud/b/m", "where it runs then");
        scene_end(&w);
}

/* One kind of machine is left at the only connection, and it is too small for a job that waits. */
static void too_small(void)
{
        struct world w;
        struct reply r;
        char id[40];

        if (!traced_begin(&w,
                    "portald-trace 1\ncurrency USD\ntype big cpu=8 memory=16GiB\ntype small cpu=1 "
                    "memory=16GiB\nzone a\n"
                    "offer a/small price=0.10\noffer a/big price=1.00 capacity=0\n1h a/big listed no\n",
                    0))
                return;
        world_ask(&w, "submit", NULL,
                json_pack("{s:{s:s,s:[s,s],s:s},s:{s:{}}}", "spec", "image", "oci:/srv/images/debian", "command",
                        "train", "x", "cpus", "4", "settings", "flag"),
                NULL, &r);
        (void)str_format(id, sizeof id, "%s", js_str(json_object_get(r.body, "job"), "id", r.err.text));
        reply_clear(&r);
        world_run(&w, 2 * HOUR);
        tap_str(world_job(&w, id, "state"), "queued", "what is sold out is waited for");
        tap_str(world_job(&w, id, "waiting"), "cloud/a/small: has 1 cores, 4 asked: 3 too few",
                "and when it is offered no more, the nearest that is left is named");
        world_ask(&w, "list", NULL, NULL, NULL, &r);
        tap_str(js_str(json_array_get(json_object_get(r.body, "jobs"), 0), "waiting", ""),
                "no machine of connection cloud is large enough", "which the list says in short");
        reply_clear(&r);
        scene_end(&w);
}

/* What a runner notes of its machine is in `portal check`. */
static void noted(void)
{
        struct world w;
        struct reply r;
        bool found = false;
        json_t *line;
        size_t i;

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        if (tap_ok(w.engine->machines.n == 1 && w.engine->machines.at[0]->caps, "a machine's runner has said hello"))
                (void)json_object_set_new(
                        w.engine->machines.at[0]->caps, "notes", json_pack("[s]", "no swap accounting"));
        world_ask(&w, "check", NULL, NULL, NULL, &r);
        json_array_foreach (json_object_get(r.body, "lines"), i, line)
                found |= streq(js_str(line, "text", ""), "no swap accounting") &&
                         streq(js_str(line, "result", ""), "warn");
        tap_ok(found, "what it notes is a warning of `portal check`");
        reply_clear(&r);
        scene_end(&w);
}

int main(void)
{
        shares();
        looked_at();
        no_time_left();
        bands();
        in_a_crowd();
        too_small();
        out_of_reach();
        noted();
        return tap_done();
}
