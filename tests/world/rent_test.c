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

int main(void)
{
        is_known();
        return tap_done();
}
