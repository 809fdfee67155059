/* SPDX-License-Identifier: Apache-2.0 */
/* Pools left out for a while (P-17, and those without capacity), and what was learnt of each: how long its machines take to boot, how fast a
 * job's state leaves them. For the whole installation, and across restarts. */
#include "executor/known.h"

#include "base/log.h"

struct pool *pool_find(
        const struct offers_known *k, const char *connection, const char *zone, const char *type, enum pd_market market)
{
        vec_foreach (p, &k->pools)
                if ((*p)->market == market && streq((*p)->type, type) && streq((*p)->zone, zone) &&
                        streq((*p)->connection, connection))
                        return *p;
        return NULL;
}

/* --- on disk: one row a connection --- */
static void meta_key(const char *connection, char *buf, size_t n)
{
        (void)str_format(buf, n, "pools/%s", connection);
}

static json_t *pool_json(const struct pool *p)
{
        return json_pack("{s:s,s:s,s:i,s:b,s:I,s:s,s:I,s:I,s:I,s:I}", "zone", p->zone, "type", p->type, "market",
                (int)p->market, "reclaimed", p->reclaimed, "out_until_wall_us", (json_int_t)p->out_until_wall_us, "why",
                p->why, "boot_us", (json_int_t)p->boot_us, "save_bytes_s", (json_int_t)p->save_bytes_s, "freeze_us",
                (json_int_t)p->freeze_us, "used_wall_us", (json_int_t)p->used_wall_us);
}

static bool worth_keeping(const struct pool *p, int64_t now_wall_us)
{
        return p->out_until_wall_us > now_wall_us || p->boot_us || p->save_bytes_s;
}

/* The oldest goes first, and one of which nothing is left to know. */
static void prune(struct offers_known *k, const char *connection, int64_t now_wall_us)
{
        size_t n = 0, oldest = SIZE_MAX;

        for (size_t i = k->pools.n; i-- > 0;) {
                struct pool *p = k->pools.at[i];

                if (!streq(p->connection, connection))
                        continue;
                if (!worth_keeping(p, now_wall_us)) {
                        free(p);
                        vec_swap_remove(&k->pools, i);
                        k->relink = true;
                        oldest = SIZE_MAX; /* indices moved: the next call finds it */
                        continue;
                }
                n++;
                if (oldest == SIZE_MAX || p->used_wall_us < k->pools.at[oldest]->used_wall_us)
                        oldest = i;
        }
        if (n > POOLS_MAX && oldest < k->pools.n) {
                free(k->pools.at[oldest]);
                vec_swap_remove(&k->pools, oldest);
                k->relink = true;
        }
}

static void store_pools(struct turn *t, struct offers_known *k, const char *connection)
{
        pd_cleanup(freep) char *text = NULL;
        js_owned *list = json_array();
        char key[64];

        prune(k, connection, t->now_wall_us);
        vec_foreach (p, &k->pools)
                if (streq((*p)->connection, connection))
                        (void)json_array_append_new(list, pool_json(*p));
        text = js_dump(list);
        meta_key(connection, key, sizeof key);
        if (text)
                txn_meta(t->txn, key, text);
        else
                log_error("no memory to keep what was learnt of %s", connection);
}

static struct pool *pool_add(
        struct offers_known *k, const char *connection, const char *zone, const char *type, enum pd_market market)
{
        struct pool *p = calloc(1, sizeof *p);

        if (!p || !vec_push(&k->pools, p)) {
                free(p);
                log_error("no memory for what is learnt of offers");
                return NULL;
        }
        p->market = market;
        (void)str_format(p->connection, sizeof p->connection, "%s", connection);
        (void)str_format(p->zone, sizeof p->zone, "%s", zone);
        (void)str_format(p->type, sizeof p->type, "%s", type);
        return p;
}

static struct pool *pool_need(
        struct engine *e, const char *connection, const char *zone, const char *type, enum pd_market market)
{
        struct pool *p = e->offers ? pool_find(e->offers, connection, zone, type, market) : NULL;

        return p || !e->offers ? p : pool_add(e->offers, connection, zone, type, market);
}

void pools_load(struct engine *e, struct offers_known *k, const char *connection)
{
        pd_cleanup(freep) char *text = NULL;
        js_owned *list = NULL;
        struct pd_error err;
        char key[64];
        size_t i;
        json_t *o;

        meta_key(connection, key, sizeof key);
        if (store_get_meta(e->env->store, key, &text, &err) < 0 || !text)
                return;
        if (js_parse(text, strlen(text), &list, &err) < 0) {
                log_warning("what was learnt of %s cannot be read, and is learnt anew: %s", connection, err.text);
                return;
        }
        json_array_foreach (list, i, o) {
                enum pd_market market = (enum pd_market)js_int(o, "market", PD_MARKET_ON_DEMAND);
                struct pool *p = pool_find(k, connection, js_str(o, "zone", ""), js_str(o, "type", ""), market);

                if (!p)
                        p = pool_add(k, connection, js_str(o, "zone", ""), js_str(o, "type", ""), market);
                if (!p)
                        return;
                (void)str_format(p->why, sizeof p->why, "%s", js_str(o, "why", ""));
                p->reclaimed = js_bool(o, "reclaimed", false);
                p->out_until_wall_us = js_int(o, "out_until_wall_us", 0);
                p->boot_us = js_int(o, "boot_us", 0);
                p->save_bytes_s = js_int(o, "save_bytes_s", 0);
                p->freeze_us = js_int(o, "freeze_us", 0);
                p->used_wall_us = js_int(o, "used_wall_us", 0);
        }
}

/* --- left out --- */
static void leave_out(struct turn *t, const struct connection *c, const char *zone, const char *type,
        enum pd_market market, int64_t until_wall_us, const char *why, bool reclaimed)
{
        struct pool *p = pool_need(t->engine, c->name, zone, type, market);

        if (!p || p->out_until_wall_us >= until_wall_us)
                return;
        p->reclaimed = reclaimed;
        p->out_until_wall_us = until_wall_us;
        p->used_wall_us = t->now_wall_us;
        (void)str_format(p->why, sizeof p->why, "%s", why);
        t->engine->offers->relink = true;
        store_pools(t, t->engine->offers, c->name);
}

void offers_cool(struct turn *t, const struct connection *c, const char *zone, const char *type, enum pd_market market,
        int64_t until_wall_us, const char *why)
{
        if (!planted(PLANT_COOL_FORGOTTEN))
                leave_out(t, c, zone, type, market, until_wall_us, why, false);
}

static int64_t cooldown(struct engine *e)
{
        struct settings set;
        struct pd_error err;

        if (settings_of(e, "", NULL, false, &set, NULL, &err) < 0) {
                log_warning("pool.cooldown cannot be read, 30m counts: %s", err.text);
                return 30 * USEC_PER_MIN;
        }
        return set.pool_cooldown_us;
}

void offers_reclaimed(struct turn *t, const struct mach *m)
{
        if (m->rec.own || m->rec.market != PD_MARKET_SPOT || !m->conn || planted(PLANT_RECLAIMED_USED))
                return;
        leave_out(t, m->conn, m->rec.zone, m->rec.type, PD_MARKET_SPOT, t->now_wall_us + cooldown(t->engine),
                "a machine of it was reclaimed", true);
}

/* --- learnt --- */
static void keep(struct engine *e, struct pool *p)
{
        struct turn *t = turn_new(e);

        if (!t)
                return;
        p->used_wall_us = t->now_wall_us;
        e->offers->relink = true;
        store_pools(t, e->offers, p->connection);
        turn_end(t);
}

static struct pool *pool_of(struct engine *e, const struct mach *m)
{
        return pool_need(e, m->rec.connection, m->rec.zone, m->rec.type, (enum pd_market)m->rec.market);
}

/* A 16th more or less is no news, and is not worth a write. */
static bool news(int64_t old, int64_t now)
{
        int64_t d = now > old ? now - old : old - now;

        return d > old / 16;
}

void offers_learn_boot(struct engine *e, const struct mach *m, int64_t us)
{
        struct pool *p = us > 0 ? pool_of(e, m) : NULL;
        int64_t now = !p ? 0 : p->boot_us ? (p->boot_us + us) / 2 : us;

        if (!p || !news(p->boot_us, now))
                return;
        p->boot_us = now;
        keep(e, p);
}

/* Down at once, up by a quarter: what a notice can save must hold on a slow day. */
void offers_learn_save(struct engine *e, const struct mach *m, uint64_t bytes, int64_t took_us, int64_t freeze_us)
{
        struct pool *p = bytes >= TEACHES_BYTES && took_us > 0 ? pool_of(e, m) : NULL;
        unsigned __int128 rate = (unsigned __int128)bytes * USEC_PER_SEC / (uint64_t)(took_us > 0 ? took_us : 1);
        int64_t now = rate > INT64_MAX ? INT64_MAX : (int64_t)rate;

        if (!p)
                return;
        if (now > p->save_bytes_s && p->save_bytes_s)
                now = p->save_bytes_s + (now - p->save_bytes_s) / 4;
        if (!news(p->save_bytes_s, now) && !news(p->freeze_us, freeze_us))
                return;
        p->save_bytes_s = now > 0 ? now : 1;
        p->freeze_us = freeze_us > 0 ? freeze_us : 0;
        keep(e, p);
}

static const char *provider_of(const struct engine *e, const char *connection)
{
        vec_foreach (c, &e->connections)
                if (streq((*c)->name, connection))
                        return (*c)->provider;
        return NULL;
}

int64_t pools_lowest_rate(const struct engine *e, const struct offers_known *k, const char *provider)
{
        int64_t lowest = 0;

        vec_foreach (p, &k->pools) {
                const char *of = (*p)->save_bytes_s ? provider_of(e, (*p)->connection) : NULL;

                if (of && streq(of, provider) && (!lowest || (*p)->save_bytes_s < lowest))
                        lowest = (*p)->save_bytes_s;
        }
        return lowest;
}
