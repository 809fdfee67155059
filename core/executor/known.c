/* SPDX-License-Identifier: Apache-2.0 */
/* The offers of all connections, parsed once a fetch, their prices judged, those to be rented indexed by what jobs ask for. */
#include "executor/known.h"

#include "base/log.h"

#define CLASSES_MAX 1024 /* kinds of needs that the index answers; a job of one more looks at every offer */

/* --- prices --- */
static const struct engine_connection *site_of(const struct engine *e, const struct connection *c)
{
        for (size_t i = 0; i < e->site->connections_n; i++)
                if (streq(e->site->connections[i].name, c->name))
                        return &e->site->connections[i];
        return NULL;
}

/* The price of the same kind in the same place on demand: what a spot price is held against. 0 = none is given. */
static int64_t list_price(const struct offers_known *k, const struct known *o)
{
        vec_foreach (x, &k->at)
                if (x->conn == o->conn && x->base.market == PD_MARKET_ON_DEMAND && streq(x->base.zone, o->base.zone) &&
                        streq(x->base.type, o->base.type) && streq(x->price.hour.currency, o->price.hour.currency))
                        return x->price.hour.nano;
        return 0;
}

static void band(const struct engine *e, const struct offers_known *k, struct known *o)
{
        const struct engine_connection *site = site_of(e, o->conn);
        int64_t reference = o->own || o->base.market != PD_MARKET_SPOT ? 0 : list_price(k, o);

        if (reference > 0)
                market_band(&o->price, reference,
                        site && site->price_low_percent ? site->price_low_percent : PRICE_LOW_PERCENT,
                        site && site->price_high_percent ? site->price_high_percent : PRICE_HIGH_PERCENT);
}

static void price_of(const struct engine *e, struct known *o, const json_t *offer)
{
        const struct engine_connection *site = site_of(e, o->conn);

        o->price = (struct market_price){ .hour = o->base.price,
                .source = js_str(offer, "price_source", NULL),
                .at_wall_us = js_int(offer, "price_at_wall_us", 0),
                .max_age_us = o->own                           ? INT64_MAX
                              : site && site->price_max_age_us ? site->price_max_age_us
                                                               : PRICE_AGE_US,
                .paid = !o->own };
        /* no price is newer than its list, whatever the provider's clock says */
        if (o->price.at_wall_us > o->conn->offers_wall_us)
                o->price.at_wall_us = o->conn->offers_wall_us;
        if (o->own && o->price.at_wall_us == 0)
                o->price.at_wall_us = 1; /* it stands in the site config: it is never stale */
}

const char *known_fault(const struct known *o, int64_t now_wall_us, char *buf)
{
#define TEXT(name_, text_) text_,
        static const char *const texts[] = { MARKET_FAULTS(TEXT) };
#undef TEXT
        enum market_fault fault = market_judge(&o->price, now_wall_us);
        char rate[QUANTITY_MAX], at[QUANTITY_MAX];

        if (fault == MARKET_FIT)
                return NULL;
        if (fault == MARKET_MISSING)
                (void)str_format(buf, MARKET_WHY_MAX, "%s", texts[fault]);
        else
                (void)str_format(buf, MARKET_WHY_MAX, "%s: %s of %s, from %.48s", texts[fault],
                        rate_format(&o->price.hour, rate), time_format_utc(o->price.at_wall_us, at),
                        str_or(o->price.source, "a source that is not named"));
        return buf;
}

bool known_payable(const struct known *o, int64_t now_wall_us)
{
        enum market_fault fault = market_judge(&o->price, now_wall_us);

        return fault == MARKET_FIT || fault == MARKET_STALE || fault == MARKET_FUTURE;
}

int64_t known_share(
        int64_t nano, const struct placement_offer *o, int32_t cpu_milli, uint64_t memory_bytes, int32_t gpus)
{
        struct {
                unsigned __int128 part, all;
        } share[] = { { (unsigned __int128)(cpu_milli > 0 ? cpu_milli : 0),
                              (unsigned __int128)(o->cpu_milli > 0 ? o->cpu_milli : 0) },
                { memory_bytes, o->memory_bytes },
                { (unsigned __int128)(gpus > 0 ? gpus : 0), (unsigned __int128)(o->gpus > 0 ? o->gpus : 0) } };
        int64_t most = 0;

        for (size_t i = 0; i < ARRAY_LEN(share) && nano > 0; i++) {
                unsigned __int128 v;

                if (share[i].all == 0 || share[i].part == 0)
                        continue;
                /* part is held to 2^63 by what a spec may ask: the product stays within 128 bits */
                v = share[i].part >= share[i].all
                            ? (unsigned __int128)nano
                            : ((unsigned __int128)nano * share[i].part + share[i].all - 1) / share[i].all;
                if ((int64_t)v > most)
                        most = (int64_t)v;
        }
        return most;
}

/* --- parsing --- */
static void parse(const struct engine *e, struct connection *c, const json_t *offer, struct known *ret)
{
        struct placement_offer *o = &ret->base;

        *ret = (struct known){ .conn = c, .offer = offer, .index = MARKET_NONE };
        ret->own = (c->caps.flags & PD_CAP_OWN_MACHINES) != 0;
        o->connection = c->name;
        o->zone = js_str(offer, "zone", "");
        o->type = js_str(offer, "type", "");
        o->market = (enum pd_market)js_int(offer, "market", PD_MARKET_ON_DEMAND);
        o->price.nano = js_int(offer, "price_nano_hour", 0);
        (void)str_format(o->price.currency, sizeof o->price.currency, "%s", js_str(offer, "currency", ""));
        o->cpu_milli = (int32_t)js_int(offer, "cpu_milli", 0);
        o->gpus = (int32_t)js_int(offer, "gpus", 0);
        o->memory_bytes = (uint64_t)js_int(offer, "memory_bytes", 0);
        o->disk_bytes = ret->own ? 0 : (uint64_t)js_int(offer, "disk_bytes", 0);
        o->notice.notice_us = js_int(offer, "notice_us", 0);
        o->notice.detect_us = DETECT_US;
        ret->egress_nano_gib = js_int(offer, "egress_nano_gib", 0);
        ret->max_lifetime_us = js_int(offer, "max_lifetime_us", 0);
        ret->stock = (int32_t)js_int(offer, "stock", -1);
        (void)placement_offer_name(o, ret->name);
        price_of(e, ret, offer);
}

static void clear(struct offers_known *k)
{
        k->index = market_free(k->index);
        k->at.n = k->own.n = k->rented.n = k->seen.n = 0;
        vec_foreach (h, &k->held)
                json_decref(*h);
        k->held.n = 0;
}

/* The currency that most offers to be rented have: the index compares in one. */
static void choose_currency(struct offers_known *k)
{
        size_t most = 0;

        vec_foreach (o, &k->at) {
                size_t n = 0;

                if (o->own || streq(o->price.hour.currency, k->currency))
                        continue;
                vec_foreach (x, &k->at)
                        n += !x->own && streq(x->price.hour.currency, o->price.hour.currency);
                if (n > most) {
                        most = n;
                        memcpy(k->currency, o->price.hour.currency, sizeof k->currency);
                }
        }
}

static bool index_all(struct engine *e, struct offers_known *k)
{
        VEC(struct market_offer) list = { 0 };
        struct pd_error err;
        bool ok = true;

        k->currency[0] = '\0';
        choose_currency(k);
        for (size_t i = 0; ok && i < k->at.n; i++) {
                struct known *o = &k->at.at[i];
                struct market_offer m = { .connection = o->base.connection,
                        .zone = o->base.zone,
                        .type = o->base.type,
                        .market = o->base.market,
                        .cpu_milli = o->base.cpu_milli,
                        .gpus = o->base.gpus,
                        .memory_bytes = o->base.memory_bytes,
                        .disk_bytes = o->base.disk_bytes,
                        .price = o->price };

                if (o->own) {
                        ok = vec_push(&k->own, i);
                        continue;
                }
                o->index = (uint32_t)k->rented.n;
                ok = vec_push(&k->rented, i) && vec_push(&list, m);
        }
        if (ok && list.n &&
                market_new(k->currency, list.at, list.n, CLASSES_MAX, &e->site->rates, now_wall(e), &k->index, &err) <
                        0) {
                log_warning("%s", err.text);
                ok = false;
        }
        vec_free(&list);
        return ok;
}

/* What was learnt, and what is left out, beside each offer. */
static void link_pools(struct engine *e, struct offers_known *k)
{
        const struct connection *last = NULL;
        int64_t now = now_wall(e), lowest = 0;

        vec_foreach (o, &k->at) {
                struct pool *p = pool_find(k, o->base.connection, o->base.zone, o->base.type, o->base.market);

                o->pool = p;
                o->base.notice.save_bytes_s = p ? p->save_bytes_s : 0;
                o->base.notice.freeze_us = p ? p->freeze_us : 0;
                if (o->conn != last)
                        lowest = pools_lowest_rate(e, k, o->conn->provider);
                last = o->conn;
                o->base.notice.provider_bytes_s = lowest;
                o->base.not_before_wall_us = p ? p->out_until_wall_us : 0;
                if (k->index && o->index != MARKET_NONE)
                        market_leave_out(k->index, o->index, o->base.not_before_wall_us, now);
        }
        k->relink = false;
}

static bool pools_have(const struct offers_known *k, const char *connection)
{
        vec_foreach (p, &k->pools)
                if (streq((*p)->connection, connection))
                        return true;
        return false;
}

static bool refill(struct engine *e, struct offers_known *k)
{
        clear(k);
        vec_foreach (c, &e->connections) {
                size_t i;
                json_t *offer;

                if (!vec_push(&k->seen, (*c)->offers))
                        return false;
                if (!pools_have(k, (*c)->name))
                        pools_load(e, k, (*c)->name); /* a connection that came with a reload */
                if (!(*c)->offers)
                        continue;
                if (!vec_push(&k->held, (*c)->offers))
                        return false;
                json_incref((*c)->offers);
                json_array_foreach ((*c)->offers, i, offer) {
                        struct known o;

                        parse(e, *c, offer, &o);
                        if (!vec_push(&k->at, o))
                                return false;
                }
        }
        vec_foreach (o, &k->at)
                band(e, k, o);
        k->epoch++;
        if (!index_all(e, k))
                return false;
        link_pools(e, k);
        return true;
}

static bool same(const struct engine *e, const struct offers_known *k)
{
        if (k->stale || k->seen.n != e->connections.n)
                return false;
        for (size_t i = 0; i < k->seen.n; i++)
                if (k->seen.at[i] != e->connections.at[i]->offers)
                        return false;
        return true;
}

struct offers_known *known_now(struct engine *e)
{
        struct offers_known *k = e->offers;

        if (!k)
                return NULL;
        if (!same(e, k)) {
                if (!refill(e, k)) {
                        log_error("no memory for the offers");
                        clear(k);
                        return NULL;
                }
                k->stale = false;
        }
        if (k->relink)
                link_pools(e, k);
        if (k->index)
                (void)market_tick(k->index, now_wall(e));
        return k;
}

/* --- finding --- */
const struct known *known_find(const struct offers_known *k, const char *name)
{
        vec_foreach (o, &k->at)
                if (streq(o->name, name))
                        return o;
        return NULL;
}

const struct known *known_of_machine(const struct offers_known *k, const struct mach *m)
{
        vec_foreach (o, &k->at)
                if (o->conn == m->conn && o->base.market == m->rec.market && streq(o->base.zone, m->rec.zone) &&
                        streq(o->base.type, m->rec.type))
                        return o;
        return NULL;
}

/* --- its life --- */
int offers_start(struct engine *e, struct pd_error *err)
{
        e->offers = calloc(1, sizeof *e->offers);
        if (!e->offers)
                return pd_fail(err, PD_E_NOMEM, "no memory for the offers");
        e->offers->stale = true;
        for (size_t i = 0; i < e->site->connections_n; i++)
                pools_load(e, e->offers, e->site->connections[i].name);
        return 0;
}

void offers_end(struct engine *e)
{
        struct offers_known *k = e->offers;

        json_decref(e->prices);
        e->prices = NULL;
        if (!k)
                return;
        clear(k);
        vec_foreach (p, &k->pools)
                free(*p);
        vec_free(&k->pools);
        vec_free(&k->at);
        vec_free(&k->held);
        vec_free(&k->seen);
        vec_free(&k->own);
        vec_free(&k->rented);
        free(k);
        e->offers = NULL;
}

void offers_fetched(struct engine *e, struct connection *c)
{
        (void)c;
        if (e->offers)
                e->offers->stale = true;
}
