/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

struct type {
        char name[65], gpu_model[65];
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes, disk_bytes, gpu_memory_bytes;
};
struct zone {
        char name[49];
        int64_t egress_nano_gib;
};

struct reader {
        struct trace *t;
        struct type *types;
        struct zone *zones;
        size_t types_n, types_room, zones_n, zones_room, offers_room, events_room;
        uint32_t *names; /* open addressing: index + 1 of the offer whose name hashes here */
        size_t names_room;
        char currency[4];
        long line;
        const char *at, *end; /* of the line */
        struct pd_error *err;
};

void trace_clear(struct trace *t)
{
        free(t->offers);
        free(t->events);
        *t = (struct trace){ 0 };
}

void trace_offer_name(const struct trace_offer *o, char *buf, size_t n)
{
        (void)snprintf(buf, n, "%s/%s%s", o->zone, o->type, o->market == PD_MARKET_SPOT ? "/spot" : "");
}

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *fmt, ...)
{
        char text[160];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        return pd_fail(r->err, PD_E_INVALID, "line %ld: %s", r->line, text);
}

static int no_memory(struct reader *r)
{
        return pd_fail(r->err, PD_E_NOMEM, "no memory for a trace of this size");
}

/* Room for one more. */
static bool grow(void *array, size_t n, size_t *room, size_t size)
{
        size_t want = *room ? 2 * *room : 16;
        void *p;

        if (n < *room)
                return true;
        memcpy(&p, array, sizeof p);
        p = reallocarray(p, want, size);
        if (!p)
                return false;
        memcpy(array, &p, sizeof p);
        *room = want;
        return true;
}

/* ---- the head ---- */

/* "key=value", split in place; false = it has no '='. */
static bool pair(char *word, char **ret_value)
{
        char *eq = strchr(word, '=');

        if (!eq)
                return false;
        *eq = '\0';
        *ret_value = eq + 1;
        return true;
}

static bool type_member(struct type *t, const char *key, const char *value)
{
        int64_t n;

        if (strcmp(key, "cpu") == 0)
                return word_cpus(value, &t->cpu_milli);
        if (strcmp(key, "memory") == 0)
                return word_size(value, &t->memory_bytes);
        if (strcmp(key, "disk") == 0)
                return word_size(value, &t->disk_bytes);
        if (strcmp(key, "gpu-memory") == 0)
                return word_size(value, &t->gpu_memory_bytes);
        if (strcmp(key, "gpus") == 0 && word_int(value, 0, 1000, &n)) {
                t->gpus = (int32_t)n;
                return true;
        }
        if (strcmp(key, "gpu") != 0 || !word_type(value))
                return false;
        (void)snprintf(t->gpu_model, sizeof t->gpu_model, "%s", value);
        return true;
}

static int read_type(struct reader *r)
{
        struct type t = { 0 };
        char word[128], *value;

        if (!word_next(&r->at, r->end, t.name, sizeof t.name) || !word_type(t.name))
                return bad(r, "a type needs a name of 1-64 of A-Z, a-z, 0-9, dot, _ and -");
        for (size_t i = 0; i < r->types_n; i++)
                if (strcmp(r->types[i].name, t.name) == 0)
                        return bad(r, "the type %s stands here twice", t.name);
        while (word_next(&r->at, r->end, word, sizeof word))
                if (!pair(word, &value) || !type_member(&t, word, value))
                        return bad(r,
                                "%.40s is no member of a type: cpu=8 memory=61GiB disk=100GB gpus=1 gpu=V100 "
                                "gpu-memory=16GiB",
                                word);
        if (!t.cpu_milli || !t.memory_bytes)
                return bad(r, "the type %s needs cpu= and memory=", t.name);
        if (!grow(&r->types, r->types_n, &r->types_room, sizeof *r->types))
                return no_memory(r);
        r->types[r->types_n++] = t;
        return 0;
}

static int read_zone(struct reader *r)
{
        struct zone z = { 0 };
        char word[128], *value;

        if (!word_next(&r->at, r->end, z.name, sizeof z.name) || !word_zone(z.name))
                return bad(r, "a zone needs a name of 1-48 of a-z, 0-9 and -");
        for (size_t i = 0; i < r->zones_n; i++)
                if (strcmp(r->zones[i].name, z.name) == 0)
                        return bad(r, "the zone %s stands here twice", z.name);
        while (word_next(&r->at, r->end, word, sizeof word))
                if (!pair(word, &value) || strcmp(word, "egress") != 0 || !word_money(value, &z.egress_nano_gib))
                        return bad(r, "%.40s is no member of a zone: egress=0.01 (a GiB)", word);
        if (!grow(&r->zones, r->zones_n, &r->zones_room, sizeof *r->zones))
                return no_memory(r);
        r->zones[r->zones_n++] = z;
        return 0;
}

/* "ZONE/TYPE[/spot]" */
static bool split_name(char *name, char **ret_type, enum pd_market *ret_market)
{
        char *type = strchr(name, '/'), *market = type ? strchr(type + 1, '/') : NULL;

        if (!type || (market && strcmp(market + 1, "spot") != 0))
                return false;
        *type = '\0';
        if (market)
                *market = '\0';
        *ret_type = type + 1;
        *ret_market = market ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND;
        return true;
}

/* FNV-1a */
static size_t hash(const char *name)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);

        for (; *name; name++)
                h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
        return (size_t)(h ^ (h >> 32));
}

/* The slot of the name: its offer's, or the free one where it belongs. */
static uint32_t *slot_of(const struct reader *r, const char *name)
{
        char have[128];

        for (size_t i = hash(name);; i++) {
                uint32_t *slot = &r->names[i & (r->names_room - 1)];

                if (!*slot)
                        return slot;
                trace_offer_name(&r->t->offers[*slot - 1], have, sizeof have);
                if (strcmp(have, name) == 0)
                        return slot;
        }
}

static bool more_names(struct reader *r)
{
        uint32_t *old = r->names;
        size_t n = r->names_room;
        char name[128];

        if (r->t->offers_n * 2 < n)
                return true;
        r->names_room = n ? 2 * n : 64;
        r->names = calloc(r->names_room, sizeof *r->names);
        if (!r->names) {
                r->names = old;
                r->names_room = n;
                return false;
        }
        for (uint32_t i = 0; i < r->t->offers_n; i++) {
                trace_offer_name(&r->t->offers[i], name, sizeof name);
                *slot_of(r, name) = i + 1;
        }
        free(old);
        return true;
}

static bool offer_member(struct trace_offer *o, const char *key, const char *value)
{
        int64_t n;

        if (strcmp(key, "price") == 0)
                return word_money(value, &o->price_nano_hour);
        if (strcmp(key, "notice") == 0)
                return word_span(value, &o->notice_us);
        if (strcmp(key, "lifetime") == 0)
                return word_span(value, &o->lifetime_us);
        if (strcmp(key, "listed") == 0) {
                o->listed = strcmp(value, "yes") == 0;
                return o->listed || strcmp(value, "no") == 0;
        }
        if (strcmp(key, "capacity") == 0 && word_int(value, -1, 1000000, &n)) {
                o->capacity = (int32_t)n;
                return true;
        }
        if (strcmp(key, "currency") != 0 || !word_currency(value))
                return false;
        memcpy(o->currency, value, sizeof o->currency);
        return true;
}

/* What its type and zone say. */
static int fill_offer(struct reader *r, struct trace_offer *o, const char *zone, const char *type)
{
        const struct type *t = NULL;
        const struct zone *z = NULL;

        for (size_t i = 0; i < r->types_n && !t; i++)
                if (strcmp(r->types[i].name, type) == 0)
                        t = &r->types[i];
        for (size_t i = 0; i < r->zones_n && !z; i++)
                if (strcmp(r->zones[i].name, zone) == 0)
                        z = &r->zones[i];
        if (!z)
                return bad(r, "there is no zone %.48s above this line", zone);
        if (!t)
                return bad(r, "there is no type %.64s above this line", type);
        memcpy(o->zone, z->name, sizeof o->zone);
        memcpy(o->type, t->name, sizeof o->type);
        memcpy(o->gpu_model, t->gpu_model, sizeof o->gpu_model);
        o->egress_nano_gib = z->egress_nano_gib;
        o->cpu_milli = t->cpu_milli;
        o->gpus = t->gpus;
        o->memory_bytes = t->memory_bytes;
        o->disk_bytes = t->disk_bytes;
        o->gpu_memory_bytes = t->gpu_memory_bytes;
        return 0;
}

static int read_offer(struct reader *r)
{
        struct trace_offer o = { .capacity = -1, .listed = true, .price_nano_hour = -1 };
        char name[128], full[128], word[128], *type, *value;
        uint32_t *slot;
        int rc;

        memcpy(o.currency, r->currency, sizeof o.currency);
        if (!word_next(&r->at, r->end, name, sizeof name) || !split_name(name, &type, &o.market))
                return bad(r, "an offer is ZONE/TYPE or ZONE/TYPE/spot");
        rc = fill_offer(r, &o, name, type);
        while (rc == 0 && word_next(&r->at, r->end, word, sizeof word))
                if (!pair(word, &value) || !offer_member(&o, word, value))
                        rc = bad(r,
                                "%.40s is no member of an offer: price=3.06 capacity=1 notice=2m lifetime=24h "
                                "listed=yes currency=USD",
                                word);
        if (rc == 0 && o.price_nano_hour < 0)
                rc = bad(r, "an offer needs price=");
        if (rc == 0 && (r->t->offers_n >= TRACE_OFFERS_MAX || !more_names(r) ||
                               !grow(&r->t->offers, r->t->offers_n, &r->offers_room, sizeof *r->t->offers)))
                rc = no_memory(r);
        if (rc < 0)
                return rc;
        trace_offer_name(&o, full, sizeof full);
        slot = slot_of(r, full);
        if (*slot)
                return bad(r, "the offer %s stands here twice", full);
        r->t->offers[r->t->offers_n++] = o;
        *slot = (uint32_t)r->t->offers_n;
        return 0;
}

static bool quota_member(struct trace_quota *q, const char *key, const char *value)
{
        static const char *const units[] = { "machines", "cpus", "gpus" };

        if (strcmp(key, "limit") == 0)
                return word_int(value, 0, 1000000000, &q->limit);
        for (int i = 0; strcmp(key, "of") == 0 && i < 3; i++)
                if (strcmp(units[i], value) == 0) {
                        q->of = (enum trace_of)i;
                        return true;
                }
        if (strcmp(key, "market") != 0 || (strcmp(value, "spot") != 0 && strcmp(value, "on-demand") != 0))
                return false;
        q->markets = 1u << (strcmp(value, "spot") == 0 ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND);
        return true;
}

int trace_quota_words(const char *text, struct trace_quota *ret, struct pd_error *err)
{
        struct trace_quota q = { .limit = -1, .markets = 1u << PD_MARKET_SPOT | 1u << PD_MARKET_ON_DEMAND };
        const char *end = text + strlen(text);
        char word[128], *value;

        if (!word_next(&text, end, q.id, sizeof q.id) || !word_type(q.id))
                return pd_fail(err, PD_E_INVALID, "a quota needs an id of 1-63 of A-Z, a-z, 0-9, dot, _ and -");
        while (word_next(&text, end, word, sizeof word))
                if (!pair(word, &value) || !quota_member(&q, word, value))
                        return pd_fail(err, PD_E_INVALID,
                                "%.40s is no member of a quota: limit=8 of=machines|cpus|gpus market=spot|on-demand",
                                word);
        if (text != end)
                return pd_fail(err, PD_E_INVALID, "a word of the quota %s is too long", q.id);
        if (q.limit < 0)
                return pd_fail(err, PD_E_INVALID, "the quota %s needs limit=", q.id);
        *ret = q;
        return 0;
}

static int read_quota(struct reader *r)
{
        char text[TRACE_LINE_MAX + 1];
        struct pd_error why;

        (void)snprintf(text, sizeof text, "%.*s", (int)(r->end - r->at), r->at);
        if (r->t->quotas_n == TRACE_QUOTAS_MAX)
                return bad(r, "more than %u quotas", TRACE_QUOTAS_MAX);
        if (trace_quota_words(text, &r->t->quotas[r->t->quotas_n], &why) < 0)
                return bad(r, "%.150s", why.text);
        r->t->quotas_n++;
        r->at = r->end; /* all of it */
        return 0;
}

static int read_currency(struct reader *r)
{
        char word[8];

        if (!word_next(&r->at, r->end, word, sizeof word) || !word_currency(word))
                return bad(r, "a currency is three capitals: USD");
        memcpy(r->currency, word, sizeof r->currency);
        return 0;
}

static int read_start(struct reader *r)
{
        char word[32];

        if (!word_next(&r->at, r->end, word, sizeof word) || !word_instant(word, &r->t->start_wall_us))
                return bad(r, "a start is an instant in UTC: 2023-02-15T00:00:00Z");
        return 0;
}

/* ---- the events ---- */

static int event_target(struct reader *r, struct trace_event *ev)
{
        char name[128];
        uint32_t slot;

        if (!word_next(&r->at, r->end, name, sizeof name))
                return bad(r, "an event is TIME OFFER WORD VALUE");
        if (strcmp(name, "quota") == 0) {
                ev->what = TRACE_QUOTA;
                if (!word_next(&r->at, r->end, name, sizeof name))
                        return bad(r, "quota is followed by its id");
                while (ev->offer < r->t->quotas_n && strcmp(r->t->quotas[ev->offer].id, name) != 0)
                        ev->offer++;
                return ev->offer < r->t->quotas_n ? 0 : bad(r, "there is no quota %.40s", name);
        }
        if (strcmp(name, "latency") == 0 || strcmp(name, "outage") == 0) {
                ev->what = *name == 'l' ? TRACE_LATENCY : TRACE_OUTAGE;
                return 0;
        }
        slot = r->names_room ? *slot_of(r, name) : 0;
        if (!slot)
                return bad(r, "there is no offer %.100s", name);
        ev->offer = slot - 1;
        if (!word_next(&r->at, r->end, name, sizeof name))
                return bad(r, "an event is TIME OFFER WORD VALUE");
        if (strcmp(name, "price") == 0)
                ev->what = TRACE_PRICE;
        else if (strcmp(name, "capacity") == 0)
                ev->what = TRACE_CAPACITY;
        else if (strcmp(name, "reclaim") == 0)
                ev->what = TRACE_RECLAIM;
        else if (strcmp(name, "listed") == 0)
                ev->what = TRACE_LISTED;
        else
                return bad(r, "%.40s is no event: price, capacity, reclaim or listed", name);
        return 0;
}

static bool event_value(struct trace_event *ev, const char *word)
{
        switch ((enum trace_what)ev->what) {
        case TRACE_PRICE:
                return word_money(word, &ev->value);
        case TRACE_CAPACITY:
                return word_int(word, -1, 1000000, &ev->value);
        case TRACE_RECLAIM:
                if (strcmp(word, "all") != 0)
                        return word_int(word, 1, 1000000, &ev->value);
                ev->value = -1;
                return true;
        case TRACE_LISTED:
                ev->value = strcmp(word, "yes") == 0;
                return ev->value || strcmp(word, "no") == 0;
        case TRACE_QUOTA:
                return word_int(word, 0, 1000000000, &ev->value);
        case TRACE_LATENCY:
        case TRACE_OUTAGE:
                return word_span(word, &ev->value);
        }
        return false;
}

static int read_event(struct reader *r, const char *time)
{
        struct trace_event ev = { .gone_us = -1 };
        size_t n = r->t->events_n;
        char word[64], *value;
        int rc;

        if (!word_span(time, &ev.at_us))
                return bad(r, "%.40s is no time since the start: 195s, 3h15m, 250ms or 40us", time);
        if (n && ev.at_us < r->t->events[n - 1].at_us)
                return bad(r, "%.40s lies before the line above: events stand in the order of their times", time);
        rc = event_target(r, &ev);
        if (rc < 0)
                return rc;
        if (!word_next(&r->at, r->end, word, sizeof word) || !event_value(&ev, word))
                return bad(r, "an event needs a value that fits: price 0.97, capacity 1, reclaim all, listed no, quota "
                              "ID 8, latency 3s, outage 5m");
        if (word_next(&r->at, r->end, word, sizeof word) &&
                ((ev.what != TRACE_CAPACITY && ev.what != TRACE_RECLAIM) || !pair(word, &value) ||
                        strcmp(word, "notice") != 0 || !word_span(value, &ev.gone_us)))
                return bad(r, "%.40s: only capacity and reclaim may be followed by notice=30s", word);
        if (n >= TRACE_EVENTS_MAX || !grow(&r->t->events, n, &r->events_room, sizeof *r->t->events))
                return no_memory(r);
        r->t->events[r->t->events_n++] = ev;
        return 0;
}

static int read_line(struct reader *r)
{
        static const struct {
                const char *word;
                int (*read)(struct reader *r);
        } lines[] = { { "type", read_type }, { "zone", read_zone }, { "offer", read_offer }, { "quota", read_quota },
                { "currency", read_currency }, { "start", read_start } };
        char word[64];
        int rc = 1;

        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
                r->at++;
        if (r->at < r->end && *r->at == '#')
                return 0;
        if (!word_next(&r->at, r->end, word, sizeof word)) {
                if (r->at != r->end)
                        return bad(r, "a word is too long, or a NUL byte is in it");
                return 0;
        }
        if (*word >= '0' && *word <= '9')
                rc = read_event(r, word);
        for (size_t i = 0; rc == 1 && i < sizeof lines / sizeof *lines; i++)
                if (strcmp(lines[i].word, word) == 0)
                        rc = r->t->events_n ? bad(r, "%s stands below an event; the head comes first", word)
                                            : lines[i].read(r);
        if (rc == 1)
                return bad(r, "%.40s begins no line: type, zone, offer, quota, currency, start, or a time", word);
        if (rc == 0 && word_next(&r->at, r->end, word, sizeof word))
                return bad(r, "%.40s is one word too many", word);
        if (rc == 0 && r->at != r->end)
                return bad(r, "a word is too long, or a NUL byte is in it");
        return rc;
}

static int read_head_line(struct reader *r)
{
        char word[32], version[32];

        if (!word_next(&r->at, r->end, word, sizeof word) || strcmp(word, "portald-trace") != 0 ||
                !word_next(&r->at, r->end, version, sizeof version))
                return bad(r, "it is no trace: its first line is \"portald-trace 1\"");
        if (strcmp(version, "1") != 0)
                return bad(r, "it is a trace of version %.20s; this program reads version 1", version);
        return 0;
}

static int read_lines(struct reader *r, const char *text, size_t n)
{
        const char *end = text + n;
        int rc = 0;

        for (r->line = 1; rc == 0 && text < end; r->line++) {
                const char *nl = memchr(text, '\n', (size_t)(end - text));

                r->at = text;
                r->end = nl ? nl : end;
                if (r->end - r->at > (ptrdiff_t)TRACE_LINE_MAX)
                        return bad(r, "it is longer than %u bytes", TRACE_LINE_MAX);
                rc = r->line == 1 ? read_head_line(r) : read_line(r);
                text = nl ? nl + 1 : end;
        }
        if (rc == 0 && r->line == 1)
                return bad(r, "it is no trace: its first line is \"portald-trace 1\"");
        if (rc == 0 && !r->t->offers_n)
                return bad(r, "the trace ends, and no offer was in it");
        return rc;
}

int trace_read(const char *text, size_t n, struct trace *ret, struct pd_error *err)
{
        struct trace t = { 0 };
        struct reader r = { .t = &t, .currency = "USD", .err = err };
        int rc = read_lines(&r, text, n);

        free(r.types);
        free(r.zones);
        free(r.names);
        if (rc < 0) {
                trace_clear(&t);
                return rc;
        }
        *ret = t;
        return 0;
}
