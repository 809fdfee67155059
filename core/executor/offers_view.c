/* SPDX-License-Identifier: Apache-2.0 */
/* portal offers: what could be had, at which price, known from where and how old, and what was learnt of each. */
#include "executor/known.h"
#include "executor/request.h"

#define SET(o_, key_, value_) (void)json_object_set_new((o_), (key_), (value_))

static void set_learnt(json_t *o, const struct known *k, int64_t now)
{
        const struct pool *p = k->pool;
        uint64_t can;

        if (p && p->out_until_wall_us > now) {
                SET(o, "out_until_wall_us", json_integer((json_int_t)p->out_until_wall_us));
                SET(o, "out_why", json_string(p->why));
        }
        if (p && p->boot_us)
                SET(o, "boot_us", json_integer((json_int_t)p->boot_us));
        if (p && p->save_bytes_s)
                SET(o, "save_bytes_s", json_integer((json_int_t)p->save_bytes_s));
        if (k->base.market == PD_MARKET_SPOT && market_can_save(&k->base.notice, &can))
                SET(o, "can_save_bytes", json_integer((json_int_t)can));
}

static void set_price(json_t *o, const struct known *k, int64_t now)
{
        char why[MARKET_WHY_MAX];

        SET(o, "price",
                json_pack(
                        "{s:I,s:s}", "nano_hour", (json_int_t)k->base.price.nano, "currency", k->base.price.currency));
        SET(o, "price_source", json_string(js_str(k->offer, "price_source", "")));
        SET(o, "price_at_wall_us", json_integer((json_int_t)js_int(k->offer, "price_at_wall_us", 0)));
        if (!k->own)
                SET(o, "price_max_age_us", json_integer((json_int_t)k->price.max_age_us));
        if (known_fault(k, now, why))
                SET(o, "price_fault", json_string(why));
}

static json_t *offer_json(struct engine *e, const struct known *k)
{
        struct offers one = { 0 };
        const struct placement_offer *p;
        json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:b}", "name", k->name, "connection",
                k->base.connection, "zone", k->base.zone, "type", k->base.type, "market",
                k->base.market == PD_MARKET_SPOT ? "spot" : "on-demand", "cpu_milli", (json_int_t)k->base.cpu_milli,
                "memory_bytes", (json_int_t)k->base.memory_bytes, "gpus", (json_int_t)k->base.gpus, "gpu_model",
                js_str(k->offer, "gpu_model", ""), "notice_us", (json_int_t)k->base.notice.notice_us, "max_lifetime_us",
                (json_int_t)k->max_lifetime_us, "stock", (json_int_t)k->stock, "own", k->own);

        if (!known_offer(&one, e, k, NULL)) {
                offers_free(&one);
                return o;
        }
        p = &one.at.at[0];
        SET(o, "usable", json_boolean(p->usable && p->not_before_wall_us <= now_wall(e)));
        SET(o, "why",
                json_string(!p->usable                                       ? str_or(p->why, "")
                            : p->not_before_wall_us > now_wall(e) && k->pool ? k->pool->why
                                                                             : ""));
        offers_free(&one);
        set_price(o, k, now_wall(e));
        set_learnt(o, k, now_wall(e));
        return o;
}

void request_offers(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        const struct offers_known *k = known_now(e);
        json_t *list = json_array();

        (void)rq;
        if (k)
                vec_foreach (o, &k->at)
                        (void)json_array_append_new(list, offer_json(e, o));
        ticket_reply(t, NULL, json_pack("{s:o}", "offers", list));
}
