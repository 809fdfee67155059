/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that are rented: from a cloud that is made up, through the same tables as a plugin's. */
#include "simulate/cloud.h"
#include "world/scene.h"

static bool begin(struct world *w, const json_t *options)
{
        struct pd_error err;

        if (!tap_ok(world_new_with(w, &(struct world_options){ .wait = true, .no_lab = true, .seed = 7 }) == 0,
                    "a world begins"))
                return false;
        sim_tick_start(w);
        if (!tap_ok(world_add_sim(w, "cloud", options, &err) != NULL, "a cloud is there"))
                tap_note("%s", err.text);
        return tap_int(world_start(w), 0, "portald starts");
}

static void is_known(void)
{
        js_owned *options = json_pack("{s:s,s:s}", "seed", "7", "types", "small");
        struct world w;
        struct reply r;

        if (!begin(&w, options))
                return;
        world_run(&w, MIN);
        world_ask(&w, "offers", NULL, NULL, NULL, &r);
        tap_int((long long)json_array_size(json_object_get(r.body, "offers")), 6, "its offers are known");
        reply_clear(&r);
        world_free(&w);
}

/* How many machines the cloud has, of any state but gone; how many portald lists. */
static int there(struct world *w)
{
        int n = 0;

        vec_foreach (m, &w->machines)
                n += !(*m)->own;
        return n;
}

static json_t *machine(struct world *w, size_t i) /* as the API shows it; borrowed for a while */
{
        static json_t *kept;
        struct reply r;

        world_ask(w, "machines", NULL, NULL, NULL, &r);
        json_decref(kept);
        kept = json_incref(json_array_get(json_object_get(r.body, "machines"), i));
        reply_clear(&r);
        return kept;
}

static void comes_and_goes(void)
{
        js_owned *options = json_pack("{s:s,s:s,s:s}", "seed", "7", "types", "small", "spot", "no");
        struct world w;
        char id[40];

        if (!begin(&w, options))
                return;
        world_run(&w, MIN);
        world_submit(&w, "{}", id);
        world_run(&w, 2 * USEC_PER_SEC);
        tap_str(world_job(&w, id, "state"), "starting", "a queued job has a machine made for it");
        tap_ok(js_int(machine(&w, 0), "stop_sure_wall_us", 0) > w.wall_us, "N-05 with a hard stop from the start");
        world_run(&w, 5 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "it starts there once the runner answers");
        tap_int(there(&w), 1, "... one");
        tap_str(js_str(machine(&w, 0), "state", ""), "running", "the machine is shown");
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-11 its hard stop is moved for as long as it runs");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "result"), "succeeded", "its end is seen");
        tap_int(there(&w), 0, "law 24 the machine goes with its job");
        tap_ok(machine(&w, 0) == NULL, "... and from portald's list when the provider confirms it");
        tap_int(w.fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        world_free(&w);
}

int main(void)
{
        is_known();
        comes_and_goes();
        return tap_done();
}
