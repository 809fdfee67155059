/* SPDX-License-Identifier: Apache-2.0 */
/* The market as a daemon saw it: its offers, and what they cost before, as a trace in memory. Own machines come in as they are: with a price, on demand. */
#include "tryout/tryout.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

/* A type and a zone each: names repeat across connections. */
static void kinds(FILE *f, const json_t *offers)
{
        size_t i;
        json_t *o;

        json_array_foreach (offers, i, o) {
                int64_t cpu = js_int(o, "cpu_milli", 1000), gpus = js_int(o, "gpus", 0);

                (void)fprintf(f, "type %s-%zu cpu=%lld.%03lld memory=%lldMiB gpus=%lld%s\nzone %s-%zu\n",
                        js_str(o, "type", "x"), i, (long long)(cpu / 1000), (long long)(cpu % 1000),
                        (long long)(js_int(o, "memory_bytes", 0) >> 20), (long long)gpus, gpus ? " gpu=any" : "",
                        js_str(o, "zone", "x"), i);
        }
}

static bool is_spot(const json_t *offer)
{
        return streq(js_str(offer, "market", ""), "spot");
}

/* ZONE/TYPE[/spot], as kinds() named them */
static void name(FILE *f, const json_t *offer, size_t i)
{
        (void)fprintf(f, "%s-%zu/%s-%zu%s", js_str(offer, "zone", "x"), i, js_str(offer, "type", "x"), i,
                is_spot(offer) ? "/spot" : "");
}

static void amount(FILE *f, const json_t *price)
{
        int64_t nano = js_int(price, "nano_hour", 0);

        (void)fprintf(f, "%lld.%09lld", (long long)(nano / 1000000000), (long long)(nano % 1000000000));
}

/* Its first price is what it cost before it was first seen. */
static void offer_line(FILE *f, const json_t *offer, size_t i, const json_t *first)
{
        const json_t *price = json_object_get(first ? first : offer, "price");
        bool had = !first || js_bool(first, "to_be_had", true);

        (void)fprintf(f, "currency %s\noffer ", js_str(price, "currency", "USD"));
        name(f, offer, i);
        (void)fprintf(f, " price=");
        amount(f, price);
        if (js_int(offer, "notice_us", 0) > 0)
                (void)fprintf(f, " notice=%llds", (long long)(js_int(offer, "notice_us", 0) / USEC_PER_SEC));
        if (js_int(offer, "max_lifetime_us", 0) > 0)
                (void)fprintf(f, " lifetime=%llds", (long long)(js_int(offer, "max_lifetime_us", 0) / USEC_PER_SEC));
        if (!had)
                (void)fprintf(f, "%s", is_spot(offer) ? " capacity=0" : " listed=no");
        (void)fprintf(f, "\n");
}

/* A spot pool without any to be had takes its machines away; on demand nothing new is to be had, and what runs stays. */
static void event_lines(FILE *f, int64_t at_s, const json_t *offer, size_t i, const json_t *row, const json_t *before)
{
        bool had = js_bool(row, "to_be_had", true), was = js_bool(before, "to_be_had", true);

        if (js_int(json_object_get(row, "price"), "nano_hour", 0) !=
                js_int(json_object_get(before, "price"), "nano_hour", 0)) {
                (void)fprintf(f, "%llds ", (long long)at_s);
                name(f, offer, i);
                (void)fprintf(f, " price ");
                amount(f, json_object_get(row, "price"));
                (void)fprintf(f, "\n");
        }
        if (had == was)
                return;
        (void)fprintf(f, "%llds ", (long long)at_s);
        name(f, offer, i);
        (void)fprintf(f, " %s\n",
                is_spot(offer) ? had ? "capacity -1" : "capacity 0"
                : had          ? "listed yes"
                               : "listed no");
}

/* offer -> its index, and its last row so far */
struct past {
        json_t *index, *last;
};

static void first_rows(struct past *p, const json_t *offers, const json_t *rows)
{
        size_t i;
        json_t *o;

        json_array_foreach (offers, i, o)
                (void)json_object_set_new(p->index, js_str(o, "name", ""), json_integer((json_int_t)i));
        json_array_foreach (rows, i, o)
                if (!json_object_get(p->last, js_str(o, "offer", "")))
                        (void)json_object_set(p->last, js_str(o, "offer", ""), o);
}

static void write_all(FILE *f, struct past *p, const json_t *offers, const json_t *rows, int64_t start_wall_us)
{
        char at[QUANTITY_MAX];
        size_t i;
        json_t *o;

        (void)fprintf(f, "portald-trace 1\n");
        if (start_wall_us)
                (void)fprintf(f, "start %.19sZ\n", time_format_utc(start_wall_us, at));
        kinds(f, offers);
        json_array_foreach (offers, i, o)
                offer_line(f, o, i, json_object_get(p->last, js_str(o, "name", "")));
        json_array_foreach (rows, i, o) {
                const char *of = js_str(o, "offer", "");
                const json_t *k = json_object_get(p->index, of);

                if (!k) /* nobody says any more what that was */
                        continue;
                event_lines(f, (js_int(o, "at_wall_us", 0) - start_wall_us) / USEC_PER_SEC,
                        json_array_get(offers, (size_t)json_integer_value(k)), (size_t)json_integer_value(k), o,
                        json_object_get(p->last, of));
                (void)json_object_set(p->last, of, o);
        }
}

int try_recorded_market(const json_t *said, char *path, size_t n, int64_t *ret_start_wall_us, struct pd_error *err)
{
        const json_t *rows = json_object_get(said, "prices"), *offers = json_object_get(said, "offers");
        int64_t first = js_int(json_array_get(rows, 0), "at_wall_us", 0), start = first - first % USEC_PER_SEC;
        struct past p = { .index = json_object(), .last = json_object() };
        int fd = memfd_create("offers", 0);
        FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
        bool whole;

        if (f) {
                first_rows(&p, offers, rows);
                write_all(f, &p, offers, rows, start);
        }
        whole = f && p.index && p.last && fflush(f) == 0 && !ferror(f);
        json_decref(p.index);
        json_decref(p.last);
        if (!whole)
                return pd_fail(err, PD_E_IO, "a trace in memory: %s", strerror(errno));
        *ret_start_wall_us = start;
        (void)str_format(path, n, "/proc/self/fd/%d", fd); /* open until the program ends */
        return 0;
}
