/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of time, at their very microsecond: when a rented machine counts as overdue and what nobody knows as found; a ttl that is used up; and two
 * jobs that come at one moment. */
#include "executor/internal.h"
#include "world/rented.h"

/* The one rented machine. The connection lists nothing: absence alone proves nothing, and the clock is looked at all the same. */
static bool ended_at(struct world *w, int64_t age_us)
{
        struct mach *m = w->engine->machines.n == 1 ? w->engine->machines.at[0] : NULL;

        if (!m || !m->conn || m->rec.state == PD_MACHINE_STOPPING)
                return false;
        m->since_boot_us = w->boot_us - age_us;
        rent_reconciled(m->conn, NULL);
        return m->rec.state == PD_MACHINE_STOPPING;
}

static const struct {
        const char *name, *faults;
        int64_t limit_us;
} overdue[] = {
        { "N-05 no hard stop read back", "launch no-stop #1; renew transient always", 10 * MIN },
        { "a runner that was not heard", "boot never always", 20 * MIN },
};

static void overdue_row(size_t i)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, json_pack("{s:s}", "faults", overdue[i].faults)))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 5 * MIN);
        tap_ok(!ended_at(&w, overdue[i].limit_us - 1), "%s: a microsecond before the limit it stays", overdue[i].name);
        tap_ok(ended_at(&w, overdue[i].limit_us), "%s: at the limit it is ended", overdue[i].name);
        rented_end(&w);
}

static bool orphan_taken(struct world *w, struct connection *c, int64_t apart_us)
{
        js_owned *items = json_pack("[{s:s,s:i,s:{s:s}}]", "id", "x-1", "state", PD_MACHINE_RUNNING, "tags",
                "portald-installation", store_installation(w->store));
        bool taken = false;

        if (c->orphans.n)
                c->orphans.at[0].first_boot_us = w->boot_us - apart_us;
        rent_reconciled(c, items);
        vec_foreach (m, &w->engine->machines)
                taken |= (*m)->orphan;
        return taken;
}

static void orphan(void)
{
        struct world w;
        struct connection *c;

        if (!rented_begin(&w, NULL))
                return;
        c = w.engine->connections.at[0];
        tap_ok(!orphan_taken(&w, c, 0),
                "law 9 what carries our tag and is unknown is left alone when it is seen first");
        tap_ok(!orphan_taken(&w, c, MIN - 1), "law 9 and a microsecond before a minute has gone by");
        tap_ok(orphan_taken(&w, c, MIN), "law 9 after a minute it is taken for ours, and ended");
        rented_end(&w);
}

struct told {
        int n;
        int64_t left_us;
};

static void order_told(struct world *w, struct sim_machine *m, uint64_t generation, const json_t *body)
{
        struct told *t = w->watch->arg;

        (void)m, (void)generation;
        if (!streq(js_str(body, "op", ""), "orders"))
                return;
        t->n++;
        t->left_us = js_int(json_object_get(body, "orders"), "ttl_left_us", -1);
}

static void used_up(void)
{
        struct told told = { 0 };
        const struct world_watch watch = { .request = order_told, .arg = &told };
        struct world w;
        struct reply r;
        char id[40];

        if (!scene_begin(&w, "{}"))
                return;
        world_submit(&w, "{\"idle\": \"off\"}", id);
        world_run(&w, 3 * HOUR);
        w.watch = &watch;
        world_ask(&w, "settings_change", NULL, json_pack("{s:{s:s}}", "settings", "ttl", "2h"), NULL, &r);
        tap_int(r.err.code, PD_OK, "a ttl for everybody, shorter than the job has run");
        reply_clear(&r);
        world_run(&w, 5 * MIN);
        tap_ok(told.n > 0, "P-23 its runner is told at once");
        tap_int(told.left_us, 0, "P-01 that no time is left, not less");
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 and it ends by that");
        w.watch = NULL;
        scene_end(&w);
}

static void answered(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        (void)err, (void)blob, (void)n;
        (void)str_format(arg, 40, "%s", js_str(json_object_get(body, "job"), "id", ""));
        json_decref(body);
}

/* The queue is looked at for the first while the second is on its way to the disk. */
static void at_one_moment(void)
{
        struct world w;
        char first[40], second[40] = "";
        js_owned *args = json_pack("{s:{s:s,s:[s]},s:{s:{}}}", "spec", "image", "oci:/srv/images/debian", "command",
                "train", "settings", "flag");
        const struct engine_request rq = {
                .verb = "submit", .actor = { .uid = 1000, .user = "ada", .admin = true }, .args = args
        };

        if (!scene_begin(&w, "{}"))
                return;
        world_run(&w, MIN);
        world_submit(&w, "{}", first);
        (void)engine_request(w.engine, &rq, answered, second);
        (void)world_step(&w, w.boot_us);
        world_run(&w, 20 * USEC_PER_SEC);
        tap_str(world_job(&w, first, "state"), "running", "of two jobs of one moment the first runs at once");
        tap_str(world_job(&w, second, "state"), "running", "and so does the second, without a minute's wait");
        scene_end(&w);
}

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(overdue); i++)
                overdue_row(i);
        orphan();
        used_up();
        at_one_moment();
        return tap_done();
}
