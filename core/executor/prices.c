/* SPDX-License-Identifier: Apache-2.0 */
/* What offers to be rented cost, as it was seen: a row where a price changed by a hundredth or more, and where an offer came or went. `portal prices`
 * shows it, `portal simulate` tries other settings on it. */
#include "executor/known.h"
#include "executor/request.h"

#include "base/log.h"

#define PRICES_MAX 500000 /* rows, about 40 MiB: the oldest go first */
#define PAGE 10000        /* rows of an answer, but for those of the last one's time */

/* e->prices: offer -> [as last written, currency]. One number for both: the price, or -1 less the price while there was none to be had. */
static int64_t coded(int64_t nano, bool to_be_had)
{
        return to_be_had ? nano : -1 - nano;
}

static int64_t nano_of(int64_t code)
{
        return code < 0 ? -1 - code : code;
}

static bool news(int64_t was, int64_t is)
{
        int64_t old = nano_of(was), now = nano_of(is), d = now > old ? now - old : old - now;

        return (was < 0) != (is < 0) || (d > 0 && d >= old / 100);
}

static int remember(void *arg, const struct store_price *p)
{
        json_t *v = json_pack("[I,s]", (json_int_t)coded(p->nano_hour, p->to_be_had), p->currency);

        return json_object_set_new(arg, p->offer, v) < 0 ? -(int)PD_E_NOMEM : 0;
}

/* Once: what was written before this start. */
static bool have(struct engine *e)
{
        js_owned *all = e->prices ? NULL : json_object();
        struct pd_error err;

        if (e->prices)
                return true;
        if (!all || store_scan_prices(e->env->store, INT64_MIN, remember, all, &err) < 0) {
                log_warning("the prices of the past cannot be read, so none is written down");
                return false;
        }
        e->prices = pd_steal(all);
        return true;
}

/* The row of a fetch; a transaction is begun by the first that there is. */
static void note(struct engine *e, struct turn **t, struct store_price *p)
{
        const json_t *was = json_object_get(e->prices, p->offer);
        int64_t code = coded(p->nano_hour, p->to_be_had);

        if (was && !news(json_integer_value(json_array_get(was, 0)), code) &&
                streq(str_or(json_string_value(json_array_get(was, 1)), ""), p->currency))
                return;
        if (!*t && !(*t = turn_new(e)))
                return;
        p->at_wall_us = (*t)->now_wall_us;
        txn_price((*t)->txn, p);
        if (remember(e->prices, p) < 0)
                log_error("no memory for the prices");
}

static bool price_of(const struct connection *c, const json_t *offer, struct store_price *ret)
{
        struct placement_offer o = { .connection = c->name,
                .zone = js_str(offer, "zone", ""),
                .type = js_str(offer, "type", ""),
                .market = (enum pd_market)js_int(offer, "market", PD_MARKET_ON_DEMAND) };

        *ret = (struct store_price){ .nano_hour = js_int(offer, "price_nano_hour", 0),
                .to_be_had = js_int(offer, "stock", -1) != 0 };
        (void)placement_offer_name(&o, ret->offer);
        (void)str_format(ret->currency, sizeof ret->currency, "%s", js_str(offer, "currency", ""));
        return ret->nano_hour > 0; /* one without a price is not told apart from none */
}

/* Those of this connection that the list no longer has. */
static void note_gone(struct engine *e, struct turn **t, const struct connection *c, const json_t *listed)
{
        char mine[64];
        const char *name;
        json_t *was;
        void *next;

        (void)str_format(mine, sizeof mine, "%s/", c->name);
        json_object_foreach_safe(e->prices, next, name, was)
        {
                struct store_price p = { .nano_hour = json_integer_value(json_array_get(was, 0)) };

                if (p.nano_hour < 0 || !str_starts(name, mine) || json_object_get(listed, name))
                        continue;
                (void)str_format(p.offer, sizeof p.offer, "%s", name);
                (void)str_format(
                        p.currency, sizeof p.currency, "%s", str_or(json_string_value(json_array_get(was, 1)), ""));
                note(e, t, &p);
        }
}

void prices_fetched(struct engine *e, struct connection *c)
{
        js_owned *listed = NULL;
        struct turn *t = NULL;
        json_t *offer;
        size_t i;

        if (!e->site->prices_us || (c->caps.flags & PD_CAP_OWN_MACHINES) || !have(e) || !(listed = json_object()))
                return;
        json_array_foreach (c->offers, i, offer) {
                struct store_price p;

                if (!price_of(c, offer, &p))
                        continue;
                note(e, &t, &p);
                (void)json_object_set_new(listed, p.offer, json_true());
        }
        note_gone(e, &t, c, listed);
        if (t)
                turn_end(t);
}

void prices_prune(struct turn *t)
{
        const struct engine *e = t->engine;

        if (e->site->prices_us)
                txn_price_prune(t->txn, t->now_wall_us - e->site->prices_us, PRICES_MAX);
}

/* --- GET /v1/prices --- */
struct page {
        json_t *rows;
        int64_t last;
        bool more;
};

static int add_row(void *arg, const struct store_price *p)
{
        struct page *page = arg;

        if (json_array_size(page->rows) >= PAGE && p->at_wall_us != page->last) {
                page->more = true;
                return 1;
        }
        page->last = p->at_wall_us;
        return json_array_append_new(
                       page->rows, json_pack("{s:I,s:s,s:{s:I,s:s},s:b}", "at_wall_us", (json_int_t)p->at_wall_us,
                                           "offer", p->offer, "price", "nano_hour", (json_int_t)p->nano_hour,
                                           "currency", p->currency, "to_be_had", p->to_be_had)) < 0
                       ? -(int)PD_E_NOMEM
                       : 0;
}

void request_prices(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        struct page page = { .rows = json_array() };
        struct pd_error err = { 0 };
        int r = store_scan_prices(e->env->store, js_int(rq->args, "after_wall_us", 0), add_row, &page, &err);

        if (r < 0) {
                json_decref(page.rows);
                if (!err.code)
                        (void)pd_fail(&err, PD_E_NOMEM, "no memory for the prices");
                ticket_fail(t, &err);
                return;
        }
        ticket_reply(t, NULL,
                json_pack("{s:o,s:o}", "prices", page.rows, "next_wall_us",
                        page.more ? json_integer((json_int_t)page.last) : json_null()));
}
