/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace as the provider `sim` does and says what is in it: offers, events, and of each offer its last price and capacity with the
 * time for which it could be had. Or why it is refused. */
#include <inttypes.h>
#include <stdlib.h>

#include "config.h"

static void one_offer(const struct trace *t, uint32_t i)
{
        int64_t price = t->offers[i].price_nano_hour, capacity = t->offers[i].capacity, since = 0, had = 0;
        bool listed = t->offers[i].listed;
        char name[128];

        for (size_t k = 0; k < t->events_n; k++) {
                const struct trace_event *ev = &t->events[k];

                if (ev->what > TRACE_LISTED || ev->offer != i)
                        continue;
                had += capacity != 0 && listed ? ev->at_us - since : 0;
                since = ev->at_us;
                price = ev->what == TRACE_PRICE ? ev->value : price;
                capacity = ev->what == TRACE_CAPACITY ? ev->value : capacity;
                listed = ev->what == TRACE_LISTED ? ev->value != 0 : listed;
        }
        trace_offer_name(&t->offers[i], name, sizeof name);
        (void)printf("%s price=%" PRId64 " capacity=%" PRId64 " listed=%d had=%" PRId64 "s\n", name, price, capacity,
                listed, had / 1000000);
}

int main(int argc, char **argv)
{
        struct trace t;
        struct pd_error err;
        char *text;
        size_t n;

        if (argc < 2 || sim_file_read(argv[1], SIZE_MAX, &text, &n, &err) < 0) {
                (void)fprintf(stderr, "usage: trace_check FILE [all]\n");
                return 2;
        }
        if (trace_read(text, n, &t, &err) < 0) {
                (void)printf("refused: %s\n", err.text);
                free(text);
                return 1;
        }
        free(text);
        (void)printf("offers=%zu events=%zu start=%" PRId64 "\n", t.offers_n, t.events_n, t.start_wall_us / 1000000);
        for (uint32_t i = 0; argc > 2 && i < t.offers_n; i++)
                one_offer(&t, i);
        trace_clear(&t);
        return 0;
}
