/* SPDX-License-Identifier: Apache-2.0 */
/* What carries our tag at a provider and has no record (a store that was brought back from a backup): seen in two lists, it is ended (law 9, N-06).
 * What carries another tag, or none, is nobody's but its owner's. */
#include "executor/internal.h"

#include "base/log.h"

#define ORPHANS_MAX 4096
#define APART_US USEC_PER_MIN /* the two looks are */

static struct orphan *orphan_of(struct connection *c, const char *provider_id)
{
        struct orphan *o;

        vec_foreach (p, &c->orphans)
                if (streq(p->provider_id, provider_id))
                        return p;
        if (c->orphans.n >= ORPHANS_MAX || !vec_push(&c->orphans, (struct orphan){ .looks = 0 }))
                return NULL;
        o = &c->orphans.at[c->orphans.n - 1];
        o->first_boot_us = now_boot(c->engine);
        (void)str_format(o->provider_id, sizeof o->provider_id, "%s", provider_id);
        log_warning("connection %s: machine %s carries our tag and is not in the store: it is ended when it is seen "
                    "once more",
                c->name, provider_id);
        return o;
}

static void orphan_record(struct machine *rec, const struct turn *t, const struct connection *c, const json_t *item)
{
        const char *name = js_str(json_object_get(item, "tags"), "portald-machine", "");
        int64_t created = js_int(item, "created_wall_us", 0);

        *rec = (struct machine){ .state = PD_MACHINE_RUNNING,
                .lease = (uint8_t)c->caps.lease,
                .market = (uint8_t)js_int(item, "market", PD_MARKET_ON_DEMAND),
                .created_wall_us = created && created < t->now_wall_us ? created : t->now_wall_us,
                .stop_sure_wall_us = js_int(item, "stop_wall_us", 0),
                .stop_possible_wall_us = js_int(item, "stop_wall_us", 0) };
        (void)str_format(rec->connection, sizeof rec->connection, "%s", c->name);
        (void)str_format(rec->zone, sizeof rec->zone, "%s", js_str(item, "zone", ""));
        (void)str_format(rec->type, sizeof rec->type, "%s", js_str(item, "type", ""));
        (void)str_format(rec->provider_id, sizeof rec->provider_id, "%s", js_str(item, "id", ""));
        if (id_parse(ID_MACHINE, name, &rec->id))
                (void)str_format(rec->token, sizeof rec->token, "%s", js_str(item, "op_token", name));
        else
                rec->id = engine_id(t->engine);
}

static void orphan_price(struct machine *rec, const struct connection *c)
{
        const json_t *offer = connection_offer(c, rec->zone, rec->type, rec->market);

        rec->price_nano_hour = js_int(offer, "price_nano_hour", 0);
        (void)str_format(rec->currency, sizeof rec->currency, "%s", js_str(offer, "currency", ""));
}

static void orphan_end(struct turn *t, struct connection *c, const json_t *item)
{
        struct machine rec;
        struct mach *m;

        orphan_record(&rec, t, c, item);
        orphan_price(&rec, c);
        m = machine_find(t->engine, rec.id);
        if (m && m->rec.state != PD_MACHINE_GONE) { /* a second one under the name of a machine that we have */
                rec.id = engine_id(t->engine);
                rec.token[0] = '\0';
                m = NULL;
        }
        if (m)
                m->rec = rec; /* it was believed gone */
        else
                m = machine_add(t->engine, &rec);
        if (!m)
                return;
        m->orphan = true;
        txn_machine(t->txn, &m->rec);
        money_found(t, m);
        rent_end(t, m, "it carries our tag, and no record of it was in the store");
}

void rent_orphan(struct turn *t, struct connection *c, const json_t *item)
{
        struct orphan *o = orphan_of(c, js_str(item, "id", ""));

        if (!o || planted(PLANT_ORPHAN_LEFT))
                return;
        o->seen = true;
        if (++o->looks < 2 || now_boot(c->engine) - o->first_boot_us < APART_US)
                return;
        orphan_end(t, c, item);
        o->seen = false; /* it has a record now */
}
