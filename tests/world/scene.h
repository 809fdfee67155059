/* SPDX-License-Identifier: Apache-2.0 */
/* How a scene of the engine's tests begins, ends, and is acted. Included once in a test program, as tap.h is. */
#ifndef TESTS_WORLD_SCENE_H
#define TESTS_WORLD_SCENE_H

#include "tap.h"
#include "simulate/world.h"

#define MIN USEC_PER_MIN
#define HOUR USEC_PER_HOUR
#define DAY USEC_PER_DAY

__attribute__((unused)) static bool scene_begin(struct world *w, const char *site)
{
        json_error_t e;
        js_owned *s = json_loads(site, 0, &e);

        return tap_ok(world_new(w, s) == 0, "a world begins");
}

__attribute__((unused)) static void scene_end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        tap_int((long long)w->power_calls, 0, "N-02 law 17 no machine was ended");
        world_free(w);
}

__attribute__((unused)) static void scene_act(struct world *w, const char *verb, const char *id, json_t *args)
{
        struct reply r;

        world_ask(w, verb, id, args, NULL, &r);
        if (r.err.code)
                tap_note("%s: %s", verb, r.err.text);
        reply_clear(&r);
}

/* Every 10 s the machine tells what its jobs used. */
__attribute__((unused)) static void scene_measures(struct world *w)
{
        json_t *items = json_array();
        js_owned *event = NULL;

        world_each_job(w, s)
        {
                if (!streq(s->phase, "running"))
                        continue;
                if (!w->idle) {
                        s->cpu_us += 9 * USEC_PER_SEC;
                        s->progress_seq++;
                }
                (void)json_array_append_new(
                        items, json_pack("{s:s,s:I,s:I,s:i,s:I}", "job", s->job, "generation",
                                       (json_int_t)s->generation, "cpu_us", (json_int_t)s->cpu_us, "log_bytes", 0,
                                       "progress_seq", (json_int_t)s->progress_seq));
        }
        event = json_pack("{s:s,s:o}", "event", "measures", "items", items);
        world_event(w, event);
}

#endif
