/* SPDX-License-Identifier: Apache-2.0 */
#include "market.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define MINUTE_US INT64_C(60000000)
#define DAY_MINUTES 1440
#define DAY_US (DAY_MINUTES * MINUTE_US)

/* The types that can be asked for by name. Prices are in nano an hour, on demand. */
static const struct {
        const char *name, *gpu_model;
        int32_t cpu_milli, gpus;
        uint64_t memory_gib, gpu_memory_gib;
        int64_t price_nano_hour;
} types[] = {
        { "small", "", 2000, 0, 8, 0, 80000000 },
        { "medium", "", 8000, 0, 32, 0, 330000000 },
        { "large", "", 32000, 0, 128, 0, 1300000000 },
        { "gpu", "V100", 8000, 1, 61, 16, 3060000000 },
        { "gpu8", "A100", 96000, 8, 1152, 40, 32770000000 },
};

uint64_t sim_market_dice(uint64_t *state)
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

void sim_market_clear(struct sim_market *m)
{
        trace_clear(&m->t);
        free(m->now);
        *m = (struct sim_market){ 0 };
}

/* ---- a trace ---- */

static int by_time(const void *a, const void *b)
{
        const struct trace_event *x = a, *y = b;

        if (x->at_us != y->at_us)
                return x->at_us < y->at_us ? -1 : 1;
        return 0;
}

/* Merge sort: events of one instant keep their order, and their number may be large. */
static int sort_events(struct trace_event *ev, size_t n)
{
        struct trace_event *other = n ? malloc(n * sizeof *ev) : NULL, *from = ev, *to = other;

        if (n && !other)
                return -(int)PD_E_NOMEM;
        for (size_t width = 1; width < n; width *= 2) {
                struct trace_event *swap = from;

                for (size_t i = 0; i < n; i += 2 * width) {
                        size_t a = i, mid = i + width < n ? i + width : n, b = mid,
                               end = i + 2 * width < n ? i + 2 * width : n;

                        for (size_t k = i; k < end; k++)
                                to[k] = a < mid && (b == end || by_time(&from[a], &from[b]) <= 0) ? from[a++]
                                                                                                  : from[b++];
                }
                from = to;
                to = swap;
        }
        if (from != ev)
                memcpy(ev, from, n * sizeof *ev);
        free(other);
        return 0;
}

/* A fall of capacity comes earlier by the notice, though never before the rise before it. */
static int announce_before(struct trace *t)
{
        struct before {
                int64_t at_us;
                int32_t capacity;
        } *last = calloc(t->offers_n, sizeof *last);

        if (!last)
                return -(int)PD_E_NOMEM;
        for (size_t i = 0; i < t->offers_n; i++)
                last[i].capacity = t->offers[i].capacity;
        for (size_t i = 0; i < t->events_n; i++) {
                struct trace_event *ev = &t->events[i];
                struct before *l;
                int64_t notice;

                if (ev->what != TRACE_CAPACITY)
                        continue;
                l = &last[ev->offer];
                if (ev->value >= 0 && (l->capacity < 0 || ev->value < l->capacity)) {
                        notice = ev->gone_us >= 0 ? ev->gone_us : t->offers[ev->offer].notice_us;
                        if (notice > ev->at_us - l->at_us)
                                notice = ev->at_us - l->at_us;
                        ev->gone_us = notice;
                        ev->at_us -= notice;
                        l->at_us = ev->at_us + notice;
                } else {
                        l->at_us = ev->at_us;
                }
                l->capacity = (int32_t)ev->value;
        }
        free(last);
        return sort_events(t->events, t->events_n);
}

/* ---- a market made up ---- */

static void add_offer(struct sim_market *m, uint32_t zone, size_t type, enum pd_market market, const char *name)
{
        struct trace_offer *o = &m->t.offers[m->t.offers_n];
        bool spot = market == PD_MARKET_SPOT;

        *o = (struct trace_offer){ .market = market,
                .cpu_milli = types[type].cpu_milli,
                .gpus = types[type].gpus,
                .memory_bytes = types[type].memory_gib << 30,
                .gpu_memory_bytes = types[type].gpu_memory_gib << 30,
                .disk_bytes = UINT64_C(100) << 30,
                .price_nano_hour = types[type].price_nano_hour,
                .notice_us = spot ? m->p.notice_us : 0,
                .lifetime_us = spot ? m->p.lifetime_us : 0,
                .egress_nano_gib = 90000000,
                .capacity = spot ? m->p.stock : -1,
                .listed = true };
        /* zones differ a little in price: 0, 4, 8 ... % */
        o->price_nano_hour += o->price_nano_hour / 25 * (int64_t)zone;
        if (spot)
                o->price_nano_hour = o->price_nano_hour / 10 * 3;
        (void)snprintf(o->zone, sizeof o->zone, "sim-%c", 'a' + (char)zone);
        (void)snprintf(o->type, sizeof o->type, "%s", name);
        (void)snprintf(o->gpu_model, sizeof o->gpu_model, "%s", types[type].gpu_model);
        memcpy(o->currency, m->p.currency, sizeof o->currency);
        m->t.offers_n++;
}

static int add_type(struct sim_market *m, const char *name, struct pd_error *err)
{
        size_t type = 0;

        while (type < sizeof types / sizeof *types && strcmp(types[type].name, name) != 0)
                type++;
        if (type == sizeof types / sizeof *types) {
                (void)pd_fail(err, PD_E_INVALID,
                        "types: there is no type \"%.40s\" to make up; there are small, medium, large, gpu, gpu8",
                        name);
                return pd_fail_subject(err, "types");
        }
        for (uint32_t z = 0; z < m->p.zones; z++) {
                if (m->p.on_demand)
                        add_offer(m, z, type, PD_MARKET_ON_DEMAND, name);
                if (m->p.spot)
                        add_offer(m, z, type, PD_MARKET_SPOT, name);
        }
        return 0;
}

static int make_up(struct sim_market *m, struct pd_error *err)
{
        const char *at = m->p.types, *end = at + strlen(at);
        char name[65];
        uint32_t n = 0;
        int r = 0;

        /* without anything that can change there are no days to make */
        m->made_up = m->p.spot && (m->p.down_us > 0 || m->p.price_every_us > 0);
        m->t.offers = calloc((size_t)MARKET_TYPES_MAX * m->p.zones * 2, sizeof *m->t.offers);
        if (!m->t.offers)
                return pd_fail(err, PD_E_NOMEM, "no memory for a market");
        while (r == 0 && n++ < MARKET_TYPES_MAX && word_next(&at, end, name, sizeof name))
                r = add_type(m, name, err);
        if (r == 0 && (m->t.offers_n == 0 || at != end)) {
                (void)pd_fail(err, PD_E_INVALID, "types = \"%.60s\": 1 to %u names with blanks between, and a market",
                        m->p.types, MARKET_TYPES_MAX);
                return pd_fail_subject(err, "types");
        }
        return r;
}

static bool add_event(struct sim_market *m, const struct trace_event *ev)
{
        if (m->t.events_n == m->events_room) {
                size_t room = m->events_room ? 2 * m->events_room : 256;
                struct trace_event *p = reallocarray(m->t.events, room, sizeof *p);

                if (!p)
                        return false;
                m->t.events = p;
                m->events_room = room;
        }
        m->t.events[m->t.events_n++] = *ev;
        return true;
}

/* One step of a price that wanders within 10 .. 110 % of on-demand and is drawn back to 30 %. */
static int64_t price_step(uint64_t *dice, int64_t price, int64_t base)
{
        int64_t thousandths = (int64_t)(sim_market_dice(dice) % 81) - 40, low = base / 3, high = base / 3 * 11;

        price += price / 1000 * thousandths + (base - price) / 50;
        return price < low ? low : price > high ? high : price;
}

/* One day of one spot offer: prices on a grid of the whole life, capacity by a chance a minute. */
static bool make_offer_day(struct sim_market *m, uint32_t offer, int64_t *price, int32_t *capacity)
{
        uint64_t dice = m->p.seed ^ UINT64_C(0x632be59bd9b4e019) * (offer + 1);
        int64_t base = m->t.offers[offer].price_nano_hour, every = m->p.price_every_us;

        dice = sim_market_dice(&dice) ^ (uint64_t)m->day * UINT64_C(0xd6e8feb86659fd93);
        for (int64_t minute = 0; minute < DAY_MINUTES; minute++) {
                int64_t at = m->day * DAY_US + minute * MINUTE_US;
                bool up = *capacity != 0;
                int64_t mean = (up ? m->p.up_us : m->p.down_us) / MINUTE_US;

                if (at > 0 && every > 0 && at % every < MINUTE_US) {
                        *price = price_step(&dice, *price, base);
                        if (!add_event(m, &(struct trace_event){
                                                  .at_us = at, .value = *price, .offer = offer, .what = TRACE_PRICE }))
                                return false;
                }
                if (m->p.down_us == 0 || at == 0 || sim_market_dice(&dice) % (uint64_t)(mean > 0 ? mean : 1) != 0)
                        continue;
                *capacity = up ? 0 : m->p.stock;
                at += (int64_t)(sim_market_dice(&dice) % (uint64_t)MINUTE_US);
                if (!add_event(m, &(struct trace_event){ .at_us = at,
                                          .value = *capacity,
                                          .gone_us = -1,
                                          .offer = offer,
                                          .what = TRACE_CAPACITY }))
                        return false;
        }
        return true;
}

/* The next day in place of the one that is over. Without memory the market stands still: no event is better than half a day. */
static void make_day(struct sim_market *m)
{
        bool good = true;

        m->day++;
        m->cursor = m->t.events_n = 0;
        for (uint32_t i = 0; good && i < m->t.offers_n; i++) {
                int64_t price = m->now[i].price_nano_hour;
                int32_t capacity = m->now[i].capacity;

                if (m->t.offers[i].market == PD_MARKET_SPOT)
                        good = make_offer_day(m, i, &price, &capacity);
        }
        if (!good || sort_events(m->t.events, m->t.events_n) < 0)
                m->t.events_n = 0;
}

/* ---- both ---- */

int sim_market_init(struct sim_market *m, struct sim_market_params *p, struct pd_error *err)
{
        int r = 0;

        *m = (struct sim_market){ .p = *p, .t = p->trace, .day = -1 };
        p->trace = (struct trace){ 0 };
        m->p.trace = (struct trace){ 0 };
        if (!m->t.offers_n)
                r = make_up(m, err);
        else if (p->notice_before && announce_before(&m->t) < 0)
                r = pd_fail(err, PD_E_NOMEM, "no memory to order a trace");
        if (r == 0) {
                m->now = calloc(m->t.offers_n, sizeof *m->now);
                if (!m->now)
                        r = pd_fail(err, PD_E_NOMEM, "no memory for %zu offers", m->t.offers_n);
        }
        if (r < 0) {
                sim_market_clear(m);
                return r;
        }
        memcpy(m->quotas, m->t.quotas, sizeof m->quotas);
        sim_market_rewind(m);
        return 0;
}

void sim_market_rewind(struct sim_market *m)
{
        for (size_t i = 0; i < m->t.offers_n; i++)
                m->now[i] = (struct sim_market_offer){ .price_nano_hour = m->t.offers[i].price_nano_hour,
                        .capacity = m->t.offers[i].capacity,
                        .listed = m->t.offers[i].listed };
        memcpy(m->t.quotas, m->quotas, sizeof m->quotas);
        m->cursor = 0;
        m->day = -1;
        if (m->made_up)
                m->t.events_n = 0;
}

int64_t sim_market_next_us(struct sim_market *m)
{
        /* long steps of the price leave days without events; months of them are the end of it */
        for (int quiet = 0; m->made_up && m->cursor == m->t.events_n && quiet < 90; quiet++)
                make_day(m);
        return m->cursor < m->t.events_n ? m->t.events[m->cursor].at_us : INT64_MAX;
}

bool sim_market_take(struct sim_market *m, const struct trace_event **ret)
{
        const struct trace_event *ev;

        if (sim_market_next_us(m) == INT64_MAX)
                return false;
        ev = &m->t.events[m->cursor++];
        switch ((enum trace_what)ev->what) {
        case TRACE_PRICE:
                m->now[ev->offer].price_nano_hour = ev->value;
                m->now[ev->offer].price_at_us = ev->at_us;
                break;
        case TRACE_CAPACITY:
                m->now[ev->offer].capacity = (int32_t)ev->value;
                break;
        case TRACE_LISTED:
                m->now[ev->offer].listed = ev->value != 0;
                break;
        case TRACE_QUOTA:
                m->t.quotas[ev->offer].limit = ev->value;
                break;
        case TRACE_RECLAIM:
        case TRACE_LATENCY:
        case TRACE_OUTAGE:
                break;
        }
        *ret = ev;
        return true;
}
