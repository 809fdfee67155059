/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes with rented machines: how they begin, and what the cloud truly has. Included once in a test program, as scene.h is. */
#ifndef TESTS_WORLD_RENTED_H
#define TESTS_WORLD_RENTED_H

#include <stdlib.h>
#include <unistd.h>

#include "simulate/cloud.h"
#include "world/scene.h"

/* A world of one cloud of small machines on demand, and no other. more: further options, or those in place of these; given. */
__attribute__((unused)) static bool rented_quietly(struct world *w, json_t *more)
{
        js_owned *options = json_pack("{s:s,s:s,s:s,s:s}", "seed", "7", "types", "small", "spot", "no", "zones", "1");
        js_owned *given = more;
        static const char *const made_up[] = { "types", "spot", "zones" }; /* a trace has its own */
        struct pd_error err;

        (void)json_object_update(options, given);
        for (size_t i = 0; i < ARRAY_LEN(made_up) && json_object_get(options, "trace"); i++)
                (void)json_object_del(options, made_up[i]);
        if (world_new_with(w, &(struct world_options){ .wait = true, .no_lab = true, .seed = 7 }) < 0)
                return false;
        sim_tick_start(w);
        if (!world_add_sim(w, "cloud", options, &err)) {
                tap_note("%s", err.text);
                return false;
        }
        if (world_start(w) < 0)
                return false;
        world_run(w, MIN);
        return true;
}

__attribute__((unused)) static bool rented_begin(struct world *w, json_t *more)
{
        return tap_ok(rented_quietly(w, more), "a world with a cloud begins");
}

/* A world of one cloud by a trace (plugins/provider/sim), and no other. prices_us: how long its prices are kept. */
__attribute__((unused)) static bool traced_begin(struct world *w, const char *trace, int64_t prices_us)
{
        char path[] = "/tmp/portald-trace-XXXXXX";
        int fd = mkstemp(path);
        js_owned *options = json_pack("{s:s,s:s,s:s,s:s}", "seed", "7", "trace", path, "life", "0", "settle", "1s");
        struct pd_error err;
        bool ok = fd >= 0 && write(fd, trace, strlen(trace)) == (ssize_t)strlen(trace);

        (void)close(fd);
        ok = ok && world_new_with(w, &(struct world_options){ .wait = true, .no_lab = true, .seed = 7 }) == 0;
        w->site.prices_us = prices_us;
        sim_tick_start(w);
        ok = ok && world_add_sim(w, "cloud", options, &err) && world_start(w) == 0;
        (void)unlink(path);
        if (ok)
                world_run(w, MIN);
        return tap_ok(ok, "a cloud by a trace begins");
}

struct rented_truth {
        int ever, there, foreign; /* machines that portald's calls made; that are not gone; of others, not gone */
};

__attribute__((unused)) static int rented_count(void *arg, const struct cloud_machine *m)
{
        struct rented_truth *t = arg;

        t->ever += !m->foreign;
        t->there += !m->foreign && m->state != PD_MACHINE_GONE;
        t->foreign += m->foreign && m->state != PD_MACHINE_GONE;
        return 0;
}

__attribute__((unused)) static struct rented_truth rented_truth(struct world *w)
{
        struct rented_truth t = { 0 };

        (void)cloud_each(world_cloud_of(w->connections.at[0]), rented_count, &t);
        return t;
}

__attribute__((unused)) static int rented_sum(void *arg, const struct cloud_machine *m)
{
        struct rented_bill {
                const struct cloud *cloud;
                int64_t nano;
        } *b = arg;

        b->nano += m->foreign ? 0 : cloud_bill(b->cloud, m, INT64_MAX - 1);
        return 0;
}

/* What the cloud has billed for machines that are gone all of them. */
__attribute__((unused)) static int64_t rented_billed(struct world *w)
{
        struct {
                const struct cloud *cloud;
                int64_t nano;
        } b = { world_cloud_of(w->connections.at[0]), 0 };

        (void)cloud_each(b.cloud, rented_sum, &b);
        return b.nano;
}

/* What portald says that all jobs cost. */
__attribute__((unused)) static int bill_line(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        int64_t *sum = arg;

        (void)b;
        *sum += line->nano;
        return 0;
}

__attribute__((unused)) static int64_t rented_counted(struct world *w)
{
        const struct store_bill_filter all = { .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        struct pd_error err;
        int64_t sum = 0;

        if (store_scan_bill(w->store, &all, bill_line, &sum, &err) < 0)
                tap_note("%s", err.text);
        return sum;
}

/* One as the API shows it; good until the next call. NULL = there is none. */
__attribute__((unused)) static const json_t *rented_machine(struct world *w, size_t i)
{
        static json_t *kept;
        struct reply r;

        world_ask(w, "machines", NULL, NULL, NULL, &r);
        json_decref(kept);
        kept = json_incref(json_array_get(json_object_get(r.body, "machines"), i));
        reply_clear(&r);
        return kept;
}

__attribute__((unused)) static void rented_end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        (void)rented_machine(w, SIZE_MAX);
        world_free(w);
}

#endif
