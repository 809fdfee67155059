/* SPDX-License-Identifier: Apache-2.0 */
/* What offers cost is written down as it was seen, survives a death, and leaves when its time is over. A cloud by a trace. */
#include <stdio.h>

#include "world/rented.h"

#define SPOT "cloud/a/small/spot"

static const char trace[] = "portald-trace 1\nstart 2023-01-01T00:00:00Z\ncurrency USD\n"
                            "type small cpu=4 memory=16GiB disk=100GiB\nzone a\n"
                            "offer a/small price=1.00\noffer a/small/spot price=0.500 capacity=3\n"
                            "2h a/small/spot price 0.504\n" /* less than a hundredth: no news */
                            "4h a/small/spot price 0.505\n" /* a hundredth of what was written last */
                            "6h a/small/spot price 0.25\n"
                            "8h a/small/spot listed no\n"
                            "10h a/small/spot listed yes\n"
                            "14h a/small/spot capacity 0\n"
                            "15h a/small/spot price 0.251\n" /* less than a hundredth, and none to be had */
                            "20h a/small price 1.20\n";

/* The rows of one offer as "NANO[!] NANO[!] ...": ! = none to be had. Good until the next call. */
static const char *rows(struct world *w, const char *offer)
{
        static char text[400];
        bool priced = true;
        struct reply r;
        json_t *row;
        size_t i;

        text[0] = '\0';
        world_ask(w, "prices", NULL, NULL, NULL, &r);
        json_array_foreach (json_object_get(r.body, "prices"), i, row) {
                priced = priced && streq(js_str(json_object_get(row, "price"), "currency", ""), "USD");
                if (streq(js_str(row, "offer", ""), offer))
                        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld%s", *text ? " " : "",
                                (long long)js_int(json_object_get(row, "price"), "nano_hour", 0),
                                js_bool(row, "to_be_had", true) ? "" : "!");
        }
        tap_ok(priced, "each row in its currency");
        tap_ok(json_is_null(json_object_get(r.body, "next_wall_us")), "and that is all of it");
        reply_clear(&r);
        return text;
}

static void written_down(void)
{
        struct world w;

        if (!traced_begin(&w, trace, 30 * DAY))
                return;
        world_run(&w, 5 * HOUR);
        tap_str(rows(&w, SPOT), "500000000 505000000", "a price is written down where it changed by a hundredth");
        world_run(&w, 4 * HOUR);
        tap_str(rows(&w, SPOT), "500000000 505000000 250000000 250000000!", "an offer that went is none to be had");
        world_restart(&w);
        world_run(&w, 2 * HOUR);
        tap_str(rows(&w, SPOT), "500000000 505000000 250000000 250000000! 250000000",
                "one that came again is to be had, and a restart writes nothing twice");
        world_run(&w, 12 * HOUR);
        tap_str(rows(&w, "cloud/a/small"), "1000000000 1200000000", "each offer for itself");
        tap_str(rows(&w, SPOT), "500000000 505000000 250000000 250000000! 250000000 250000000!",
                "one that is sold out for hours is so once");
        scene_end(&w);
}

static void left_behind(void)
{
        struct world w;

        if (!traced_begin(&w, trace, 10 * HOUR))
                return;
        world_run(&w, 18 * HOUR);
        tap_str(rows(&w, SPOT), "250000000! 250000000 250000000!", "what is older than daemon.price_history is gone");
        scene_end(&w);
        if (!traced_begin(&w, trace, 0))
                return;
        world_run(&w, 9 * HOUR);
        tap_str(rows(&w, SPOT), "", "with 0 none is kept");
        scene_end(&w);
}

int main(void)
{
        written_down();
        left_behind();
        return tap_done();
}
