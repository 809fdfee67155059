/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and their machines: opened, listed, reached, kept under a lease. Until a connection has been reconciled nothing is created,
 * ended or moved there. */
#include "executor/internal.h"

#include "base/log.h"

#define RETRY_FIRST_CONN_US (2 * USEC_PER_SEC)
#define RETRY_MAX_CONN_US (5 * USEC_PER_MIN)

static void connection_ask_caps(struct connection *c);

/* --- finding --- */
struct mach *machine_find(const struct engine *e, struct id id)
{
        vec_foreach (m, &e->machines)
                if (id_equal((*m)->rec.id, id))
                        return *m;
        return NULL;
}

struct mach *machine_of_offer(
        const struct engine *e, const struct connection *c, const char *zone, const char *type, uint8_t market)
{
        vec_foreach (m, &e->machines) {
                const struct machine *r = &(*m)->rec;

                if ((*m)->conn == c && r->state != PD_MACHINE_GONE && streq(r->zone, zone) && streq(r->type, type) &&
                        r->market == market)
                        return *m;
        }
        return NULL;
}

struct connection *connection_find(const struct engine *e, const char *name)
{
        vec_foreach (c, &e->connections)
                if (streq((*c)->name, name))
                        return *c;
        return NULL;
}

bool machine_noticed(const struct engine *e, const struct mach *m)
{
        return m->rec.notice_wall_us > now_wall(e);
}

void machine_offer_name(const struct mach *m, char *buf, size_t n)
{
        (void)str_format(buf, n, "%s/%s/%s%s", m->rec.connection, m->rec.zone, m->rec.type,
                m->rec.market == PD_MARKET_SPOT ? "/spot" : "");
}

void machine_free_room(
        const struct engine *e, const struct mach *m, int64_t *ret_cpu_milli, int64_t *ret_memory, int64_t *ret_gpus)
{
        (void)e;
        if (planted(PLANT_QUEUE_FULL_PLACE)) {
                *ret_cpu_milli = *ret_memory = *ret_gpus = INT32_MAX;
                return;
        }
        *ret_cpu_milli = js_int(m->caps, "cpu_milli", 0) - m->taken.cpu_milli;
        *ret_memory = js_int(m->caps, "memory_bytes", 0) - m->taken.memory_bytes;
        *ret_gpus = js_int(m->caps, "gpus", 0) - m->taken.gpus;
}

/* --- machines as records --- */
struct mach *machine_add(struct engine *e, const struct machine *rec)
{
        struct mach *m = calloc(1, sizeof *m);
        struct pd_error err;

        if (!m || !vec_push(&e->machines, m)) {
                free(m);
                return NULL;
        }
        m->engine = e;
        m->rec = *rec;
        m->since_boot_us = now_boot(e);
        rent_stop_known(m);
        m->conn = connection_find(e, rec->connection);
        if (e->env->ops->timer_new(e->env, &m->again, machine_say_hello, m, &err) < 0)
                log_error("%s", err.text);
        (void)str_format(m->why, sizeof m->why, "not reached yet");
        return m;
}

int machine_load(struct engine *e, const struct machine *rec)
{
        return machine_add(e, rec) ? 0 : -PD_E_NOMEM;
}

void machine_forget(struct engine *e, struct mach *m)
{
        for (size_t i = 0; i < e->machines.n; i++)
                if (e->machines.at[i] == m) {
                        vec_swap_remove(&e->machines, i);
                        break;
                }
        if (m->stream)
                e->env->ops->stream_close(m->stream);
        if (m->again)
                e->env->ops->timer_free(m->again);
        json_decref(m->caps);
        free(m);
}

static void copy_text(char *buf, size_t n, const json_t *o, const char *key)
{
        (void)str_format(buf, n, "%s", js_str(o, key, ""));
}

const json_t *connection_offer(const struct connection *c, const char *zone, const char *type, int64_t market)
{
        size_t i;
        json_t *o;

        json_array_foreach (c->offers, i, o)
                if (streq(js_str(o, "zone", ""), zone) && streq(js_str(o, "type", ""), type) &&
                        js_int(o, "market", 0) == market)
                        return o;
        return NULL;
}

static void fill_price(struct mach *m)
{
        const json_t *o = m->conn ? connection_offer(m->conn, m->rec.zone, m->rec.type, m->rec.market) : NULL;

        if (!o)
                return;
        m->rec.price_nano_hour = js_int(o, "price_nano_hour", 0);
        copy_text(m->rec.currency, sizeof m->rec.currency, o, "currency");
}

/* What runs at a price that moves costs the new one from now on. */
static void prices(struct connection *c)
{
        struct engine *e = c->engine;
        struct turn *t = turn_new(e);

        for (size_t i = 0; t && i < e->machines.n; i++) {
                struct mach *m = e->machines.at[i];
                int64_t before = m->rec.price_nano_hour;

                if (m->conn != c || m->rec.state == PD_MACHINE_GONE)
                        continue;
                fill_price(m);
                if (m->rec.own || m->rec.price_nano_hour == before)
                        continue;
                txn_machine(t->txn, &m->rec);
                money_price(t, m, m->rec.price_nano_hour);
        }
        if (t)
                turn_end(t);
}

void machine_launched(struct turn *t, struct op *op, const json_t *item)
{
        struct engine *e = t->engine;
        struct connection *c = connection_find(e, js_str(op->body, "connection", ""));
        struct machine rec = { .state = (uint8_t)js_int(item, "state", PD_MACHINE_RUNNING),
                .created_wall_us = t->now_wall_us };
        struct mach *m;

        if (!c || !item) {
                log_error("a launch was answered without a machine");
                return;
        }
        rec.id = op->intent.id; /* one launch, one machine: the same token gives the same id after a crash, too */
        rec.market = (uint8_t)js_int(item, "market", PD_MARKET_ON_DEMAND);
        rec.lease = (uint8_t)c->caps.lease;
        rec.own = (c->caps.flags & PD_CAP_OWN_MACHINES) != 0;
        rec.stop_sure_wall_us = js_int(item, "stop_wall_us", 0);
        copy_text(rec.connection, sizeof rec.connection, op->body, "connection");
        copy_text(rec.zone, sizeof rec.zone, item, "zone");
        copy_text(rec.type, sizeof rec.type, item, "type");
        copy_text(rec.provider_id, sizeof rec.provider_id, item, "id");
        copy_text(rec.endpoint, sizeof rec.endpoint, item, "endpoint");
        (void)id_format(ID_INTENT, op->intent.id, rec.token);
        m = machine_find(e, rec.id);
        if (!m)
                m = machine_add(e, &rec);
        if (!m) {
                log_error("no memory for a machine");
                return;
        }
        fill_price(m);
        txn_machine(t->txn, &m->rec);
        c->state = CONN_READY;
        c->why[0] = '\0';
        machine_open_stream(m);
}

static void connection_down(struct connection *c, const char *why)
{
        struct engine *e = c->engine;

        if (!streq(c->why, why))
                log_warning("connection %s: %s", c->name, why);
        c->state = CONN_DOWN;
        (void)str_format(c->why, sizeof c->why, "%s", why);
        c->retry_us = c->retry_us ? c->retry_us * 2 : RETRY_FIRST_CONN_US;
        if (c->retry_us > RETRY_MAX_CONN_US)
                c->retry_us = RETRY_MAX_CONN_US;
        e->env->ops->timer_set(c->retry, now_boot(e) + c->retry_us);
}

void machine_launch_failed(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct connection *c = connection_find(t->engine, js_str(op->body, "connection", ""));

        if (c)
                connection_down(c, err->text);
}

/* --- reconciling a connection: caps, offers, what we own there --- */
static bool gone_away(const struct connection *c)
{
        return c->engine->stopping || c->removed;
}

/* Own machines are there before us: they are lent once, and then found again in the store. */
static void lend_own(struct connection *c)
{
        struct engine *e = c->engine;
        struct turn *t;
        size_t i;
        json_t *o;

        for (struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == INTENT_LAUNCH && !rent_is_launch(op) &&
                        streq(js_str(op->body, "connection", ""), c->name))
                        return; /* one is open already: it is replayed */
        t = turn_new(e);
        if (!t)
                return;
        json_array_foreach (c->offers, i, o) {
                uint8_t market = (uint8_t)js_int(o, "market", PD_MARKET_ON_DEMAND);

                if (machine_of_offer(e, c, js_str(o, "zone", ""), js_str(o, "type", ""), market))
                        continue;
                (void)intent_open(t, INTENT_LAUNCH, NULL, NULL,
                        json_pack("{s:s,s:{s:s,s:s,s:i,s:{s:s}}}", "connection", c->name, "args", "zone",
                                js_str(o, "zone", ""), "type", js_str(o, "type", ""), "market", market, "tags",
                                "portald-installation", store_installation(e->env->store)));
        }
        turn_end(t);
}

static void connection_reconciled(struct connection *c)
{
        struct engine *e = c->engine;

        c->retry_us = 0;
        c->state = CONN_READY;
        c->why[0] = '\0';
        prices(c);
        vec_foreach (m, &e->machines)
                if ((*m)->conn == c && !(*m)->stream)
                        machine_open_stream(*m);
        intent_replay_at(e, c);
        if (c->caps.flags & PD_CAP_OWN_MACHINES)
                lend_own(c);
        e->env->ops->timer_set(c->retry, now_boot(e) + OFFERS_EVERY_US);
        rent_watch(c);
        leases_review(e);
        place_anew(e);
}

static void on_owned(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct connection *c = arg;

        (void)answer;
        (void)blob;
        (void)n;
        if (gone_away(c))
                return;
        if (err) {
                connection_down(c, err->text);
                return;
        }
        c->state = CONN_READY;
        if (!(c->caps.flags & PD_CAP_OWN_MACHINES))
                rent_reconciled(c, items);
        connection_reconciled(c);
}

static void on_offers(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct connection *c = arg;
        struct engine *e = c->engine;
        struct pd_error why;
        js_owned *args = NULL;

        (void)answer;
        (void)blob;
        (void)n;
        if (gone_away(c))
                return;
        if (err) {
                connection_down(c, err->text);
                return;
        }
        json_decref(c->offers);
        c->offers = json_incref((json_t *)(uintptr_t)items);
        c->offers_wall_us = now_wall(e);
        offers_fetched(e, c);
        prices_fetched(e, c);
        args = json_pack("{s:{s:s}}", "expect_tags", "portald-installation", store_installation(e->env->store));
        if (e->env->ops->plugin_call(c->plugin, "list_owned", args, NULL, PLUGIN_TIMEOUT_US, on_owned, c, &why) < 0)
                connection_down(c, why.text);
}

static void on_caps(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct connection *c = arg;
        const json_t *ret = json_object_get(answer, "ret");
        struct pd_error why;

        (void)items;
        (void)blob;
        (void)n;
        if (gone_away(c))
                return;
        if (err) {
                connection_down(c, err->text);
                return;
        }
        c->caps.flags = (uint32_t)js_int(ret, "flags", 0);
        c->caps.lease = (enum pd_lease_kind)js_int(ret, "lease", 0);
        c->caps.stream = (enum pd_stream_kind)js_int(ret, "stream", 0);
        c->caps.min_poll_us = js_int(ret, "min_poll_us", 0);
        c->caps.settle_us = js_int(ret, "settle_us", 0);
        c->caps.stop_lag_us = js_int(ret, "stop_lag_us", 0);
        c->caps.billing_step_us = js_int(ret, "billing_step_us", 0);
        c->caps.minimum_billing_us = js_int(ret, "minimum_billing_us", 0);
        if (c->engine->env->ops->plugin_call(c->plugin, "offers", NULL, NULL, PLUGIN_TIMEOUT_US, on_offers, c, &why) <
                0)
                connection_down(c, why.text);
}

static void connection_ask_caps(struct connection *c)
{
        struct engine *e = c->engine;
        struct pd_error err;

        if (c->state != CONN_READY)
                c->state = CONN_RECONCILING;
        if (!c->plugin && e->env->ops->plugin_open(e->env, c->name, c->plugin_path, PD_KIND_PROVIDER, c->options,
                                  c->in_process, &c->plugin, &err) < 0) {
                connection_down(c, err.text);
                return;
        }
        if (e->env->ops->plugin_call(c->plugin, "caps", NULL, NULL, PLUGIN_TIMEOUT_US, on_caps, c, &err) < 0)
                connection_down(c, err.text);
}

static void on_retry(void *arg)
{
        struct connection *c = arg;

        if (!gone_away(c))
                connection_ask_caps(c);
}

static void connection_free(struct connection *c)
{
        struct engine *e = c->engine;

        c->removed = true;
        if (c->plugin)
                e->env->ops->plugin_close(c->plugin);
        if (c->retry)
                e->env->ops->timer_free(c->retry);
        if (c->watch)
                e->env->ops->timer_free(c->watch);
        vec_free(&c->orphans);
        json_decref(c->offers);
        json_decref(c->options);
        free(c);
}

static struct connection *connection_new(struct engine *e, const struct engine_connection *from, struct pd_error *err)
{
        struct connection *c = calloc(1, sizeof *c);

        if (!c) {
                (void)pd_fail(err, PD_E_NOMEM, "connection %s", from->name);
                return NULL;
        }
        c->engine = e;
        (void)str_format(c->name, sizeof c->name, "%s", from->name);
        (void)str_format(c->provider, sizeof c->provider, "%s", from->provider);
        (void)str_format(c->plugin_path, sizeof c->plugin_path, "%s", from->plugin);
        c->options = from->options ? json_deep_copy(from->options) : json_object();
        c->in_process = from->in_process;
        c->calm = true;
        (void)str_format(c->why, sizeof c->why, "not asked yet");
        if (e->env->ops->timer_new(e->env, &c->retry, on_retry, c, err) < 0 ||
                e->env->ops->timer_new(e->env, &c->watch, rent_due, c, err) < 0 || !vec_push(&e->connections, c)) {
                connection_free(c);
                return NULL;
        }
        return c;
}

static bool same_connection(const struct connection *c, const struct engine_connection *n)
{
        return streq(c->provider, n->provider) && streq(c->plugin_path, n->plugin) && c->in_process == n->in_process &&
               (n->options ? json_equal(c->options, (json_t *)(uintptr_t)n->options) != 0
                           : json_object_size(c->options) == 0);
}

static const struct engine_connection *wanted(const struct engine *e, const char *name)
{
        for (size_t i = 0; i < e->site->connections_n; i++)
                if (streq(e->site->connections[i].name, name))
                        return &e->site->connections[i];
        return NULL;
}

static void drop_connection(struct engine *e, size_t i)
{
        struct connection *c = e->connections.at[i];

        vec_foreach (m, &e->machines)
                if ((*m)->conn == c) {
                        (*m)->conn = NULL;
                }
        vec_swap_remove(&e->connections, i);
        offers_fetched(e, NULL);
        connection_free(c);
}

/* Brings the connections to what the site says: used at start and at each reload. Machines keep their streams. */
int connections_start(struct engine *e, struct pd_error *err)
{
        for (size_t i = e->connections.n; i-- > 0;) {
                const struct engine_connection *n = wanted(e, e->connections.at[i]->name);

                if (!n || !same_connection(e->connections.at[i], n))
                        drop_connection(e, i);
        }
        for (size_t i = 0; i < e->site->connections_n; i++) {
                struct connection *c = connection_find(e, e->site->connections[i].name);

                if (c)
                        continue;
                c = connection_new(e, &e->site->connections[i], err);
                if (!c)
                        return -(int)PD_E_NOMEM;
                vec_foreach (m, &e->machines)
                        if (streq((*m)->rec.connection, c->name)) {
                                (*m)->conn = c;
                                machine_open_stream(*m);
                        }
                connection_ask_caps(c);
        }
        return 0;
}

void connections_free(struct engine *e)
{
        vec_foreach (m, &e->machines) /* what is pending is called back, and may look at any of them */
                if ((*m)->stream)
                        e->env->ops->stream_close((*m)->stream);
        vec_foreach (m, &e->machines) {
                if ((*m)->again)
                        e->env->ops->timer_free((*m)->again);
                json_decref((*m)->caps);
                free(*m);
        }
        vec_free(&e->machines);
        vec_foreach (c, &e->connections)
                connection_free(*c);
        vec_free(&e->connections);
}
