/* SPDX-License-Identifier: Apache-2.0 */
/* The provider seam: calls of the engine, on their way to own machines or to a vtable, and what can go wrong on that way. */
#include "simulate/parts.h"

#include <stdio.h>

#define CALL_TAKES_US (200 * USEC_PER_MSEC)
#define LISTS_KEPT 8

struct env_plugin {
        struct world *w;
        struct world_connection *connection; /* NULL: nothing answers there */
        struct pcall *calls;                 /* that are not answered yet, newest first */
};

struct pcall {
        struct world_due due; /* first */
        struct pcall *next, **link;
        struct env_plugin *plugin;
        char slot[32], token[65];
        json_t *args;
        int64_t deadline_boot_us;
        struct outcome_of outcome;
        env_answer_fn done;
        void *arg;
};

/* --- own machines: there before us, lent and never ended --- */
static json_t *own_machine_item(const struct sim_machine *m)
{
        return json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:s,s:i,s:i,s:s}", "id", m->name, "zone", "here", "type", "host",
                "market", PD_MARKET_ON_DEMAND, "state", PD_MACHINE_RUNNING, "reason", 0, "endpoint", m->endpoint,
                "created_wall_us", 0, "stop_wall_us", 0, "op_token", "");
}

static struct sim_machine *own_machine(const struct world_connection *c)
{
        vec_foreach (m, &c->w->machines)
                if ((*m)->connection == c)
                        return *m;
        return NULL;
}

static json_t *own_offer(const struct world_connection *c, const struct sim_machine *m)
{
        return json_pack("{s:s,s:s,s:i,s:s,s:I,s:i,s:i,s:I,s:I}", "zone", "here", "type", "host", "market",
                PD_MARKET_ON_DEMAND, "currency", "USD", "price_nano_hour", (json_int_t)c->price_nano_hour, "cpu_milli",
                m->cpu_milli, "gpus", m->gpus, "memory_bytes", (json_int_t)m->memory_bytes, "price_at_wall_us",
                (json_int_t)c->w->wall_us);
}

static void own_call(struct world_connection *c, const char *slot, struct outcome_of *ret)
{
        const struct sim_machine *m = own_machine(c);

        *ret = (struct outcome_of){ .ret = json_object(), .items = json_array(), .text = json_object() };
        if (streq(slot, "caps")) {
                json_decref(ret->ret);
                ret->ret = json_pack("{s:i,s:i,s:i}", "flags", PD_CAP_OWN_MACHINES, "lease", PD_LEASE_JOB_ONLY,
                        "stream", PD_STREAM_UNIX);
        } else if (streq(slot, "offers") && m) {
                (void)json_array_append_new(ret->items, own_offer(c, m));
        } else if ((streq(slot, "launch") || streq(slot, "find") || streq(slot, "describe")) && m) {
                (void)json_array_append_new(ret->items, own_machine_item(m));
        } else if (streq(slot, "terminate")) {
                c->w->power_calls++;
        } else if (streq(slot, "renew")) {
                ret->rc = pd_fail(&ret->err, PD_E_UNSUPPORTED, "the runner keeps the lease of an own machine");
        }
}

/* --- the way there and back --- */
static bool lists(const struct pcall *p)
{
        return streq(p->slot, "list_owned");
}

/* What it listed a while ago, within the time that it says it needs to settle. */
static void stale_list(struct pcall *p)
{
        struct world_connection *c = p->plugin->connection;

        if (!lists(p) || p->outcome.rc < 0)
                return;
        if (c->lists.n == LISTS_KEPT) {
                json_decref(c->lists.at[0]);
                memmove(c->lists.at, c->lists.at + 1, (LISTS_KEPT - 1) * sizeof(json_t *));
                c->lists.n--;
        }
        if (!vec_push(&c->lists, json_pack("{s:I,s:O}", "at", (json_int_t)c->w->wall_us, "items", p->outcome.items)))
                abort();
        for (size_t i = 0; i + 1 < c->lists.n; i++) {
                int64_t at = js_int(c->lists.at[i], "at", 0);

                if (at > c->w->wall_us || c->w->wall_us - at > c->settle_us ||
                        !world_fault(c->w, WORLD_FAULT_LIST_STALE))
                        continue;
                json_decref(p->outcome.items);
                p->outcome.items = json_incref(json_object_get(c->lists.at[i], "items"));
                return;
        }
}

static void broken_list(struct pcall *p)
{
        if (!lists(p) || p->outcome.rc < 0 || !world_fault(p->plugin->w, WORLD_FAULT_LIST_PARTIAL))
                return;
        for (size_t n = json_array_size(p->outcome.items); n > 1; n--)
                if (world_chance(p->plugin->w, 2))
                        (void)json_array_remove(p->outcome.items, n - 1);
        p->outcome.rc = pd_fail(&p->outcome.err, PD_E_TRANSIENT, "the second page of the list was not answered");
}

/* The call has reached the provider. */
static void effect(struct pcall *p)
{
        struct world *w = p->plugin->w;
        struct world_connection *c = p->plugin->connection;

        if (w->watch && w->watch->plugin)
                w->watch->plugin(w, c->name, p->slot, p->args, p->token[0] ? p->token : NULL);
        if (c->own) {
                own_call(c, p->slot, &p->outcome);
                return;
        }
        if (streq(p->slot, "launch") && p->token[0])
                (void)json_object_set_new(c->first_stops, p->token, json_integer(js_int(p->args, "stop_wall_us", 0)));
        provider_call(c, p->slot, p->args, p->token[0] ? p->token : NULL, p->deadline_boot_us, &p->outcome);
        if (streq(p->slot, "caps"))
                c->settle_us = js_int(p->outcome.ret, "settle_us", 0);
        stale_list(p);
        broken_list(p);
        clouds_sync(w);
}

static void pcall_end(struct pcall *p, const struct pd_error *err)
{
        struct world *w = p->plugin->w;
        js_owned *answer = err ? NULL : json_pack("{s:O?,s:O?}", "ret", p->outcome.ret, "text", p->outcome.text);

        due_cancel(w, &p->due);
        *p->link = p->next;
        if (p->next)
                p->next->link = p->link;
        w->open_calls--;
        p->done(p->arg, err, answer, p->outcome.items, NULL, 0);
        outcome_clear(&p->outcome);
        json_decref(p->args);
        free(p);
}

static void answered(struct world *w, struct world_due *due)
{
        struct pcall *p = (struct pcall *)due;

        (void)w;
        pcall_end(p, p->outcome.rc < 0 ? &p->outcome.err : NULL);
}

/* The plugin host ended the plugin for it: with a token that is an unknown outcome, a query can be asked again. */
static void never_answered(struct world *w, struct world_due *due)
{
        struct pcall *p = (struct pcall *)due;
        struct pd_error err;

        (void)w;
        json_decref(p->outcome.items);
        p->outcome.items = NULL;
        (void)pd_fail(&err, p->token[0] ? PD_E_UNKNOWN_OUTCOME : PD_E_DEADLINE, "%s was not answered within its time",
                p->slot);
        pcall_end(p, &err);
}

static void later(struct pcall *p, void (*fire)(struct world *w, struct world_due *due), int64_t at_boot_us)
{
        p->due.fire = fire;
        due_at(p->plugin->w, &p->due, at_boot_us);
}

static bool refused_on_the_way(struct pcall *p)
{
        struct world *w = p->plugin->w;
        struct pd_error *err = &p->outcome.err;

        if (p->plugin->connection->closed || world_fault(w, WORLD_FAULT_PLUGIN_FAILS)) {
                p->outcome.rc = pd_fail(err, PD_E_TRANSIENT, "the provider cannot be reached");
        } else if (!p->plugin->connection->own && world_fault(w, WORLD_FAULT_CALL_THROTTLED)) {
                p->outcome.rc = pd_fail(err, PD_E_THROTTLED, "too many requests");
                err->retry_after_us = USEC_PER_SEC + (int64_t)world_chance(w, 60 * USEC_PER_SEC);
        }
        return p->outcome.rc < 0;
}

static void arrives(struct world *w, struct world_due *due)
{
        struct pcall *p = (struct pcall *)due;

        if (refused_on_the_way(p)) {
                answered(w, due);
                return;
        }
        effect(p);
        if (!p->plugin->connection->own && world_fault(w, WORLD_FAULT_CALL_UNANSWERED))
                later(p, never_answered, p->deadline_boot_us + 5 * USEC_PER_SEC);
        else
                later(p, answered, w->boot_us + USEC_PER_MSEC);
}

/* --- the engine's side --- */
static struct world_connection *connection_of(const struct world *w, const char *name)
{
        vec_foreach (c, &w->connections)
                if (streq((*c)->name, name))
                        return *c;
        return NULL;
}

int env_plugin_open(struct env *e, const char *name, const char *path, enum pd_kind kind, const json_t *config,
        bool in_process, struct env_plugin **ret, struct pd_error *err)
{
        struct world *w = (struct world *)e;
        struct env_plugin *p = calloc(1, sizeof *p);

        (void)path, (void)config, (void)in_process;
        if (!p)
                abort();
        *p = (struct env_plugin){ .w = w, .connection = connection_of(w, name) };
        if (kind != PD_KIND_PROVIDER || !p->connection) {
                free(p);
                return pd_fail(err, PD_E_NOT_FOUND, "there is no connection %s in this world", name);
        }
        *ret = p;
        return 0;
}

int env_plugin_call(struct env_plugin *p, const char *slot, const json_t *args, const char *token, int64_t timeout_us,
        env_answer_fn done, void *arg, struct pd_error *err)
{
        struct world *w = p->w;
        int64_t takes = p->connection->own ? USEC_PER_MSEC : CALL_TAKES_US;
        struct pcall *c;

        if (w->dying)
                return pd_fail(err, PD_E_TRANSIENT, "the daemon is dead");
        c = calloc(1, sizeof *c);
        if (!c)
                abort();
        *c = (struct pcall){ .next = p->calls,
                .link = &p->calls,
                .plugin = p,
                .args = args ? json_deep_copy(args) : json_object(),
                .deadline_boot_us = w->boot_us + timeout_us,
                .done = done,
                .arg = arg };
        (void)str_format(c->slot, sizeof c->slot, "%s", slot);
        (void)str_format(c->token, sizeof c->token, "%s", token ? token : "");
        if (c->next)
                c->next->link = &c->next;
        p->calls = c;
        w->open_calls++;
        if (!p->connection->own && world_fault(w, WORLD_FAULT_CALL_SLOW))
                takes += (int64_t)world_chance(w, (uint64_t)timeout_us - CALL_TAKES_US);
        if (!p->connection->own && world_fault(w, WORLD_FAULT_CALL_LOST))
                later(c, never_answered, c->deadline_boot_us + 5 * USEC_PER_SEC);
        else
                later(c, arrives, w->boot_us + takes);
        return 0;
}

/* As the real one: what is pending is called back before it is gone. It may have had its effect all the same. */
void env_plugin_close(struct env_plugin *p)
{
        struct world *w = p->w;

        while (p->calls) {
                struct pcall *c = p->calls;
                struct pd_error err;

                if (c->due.fire == arrives && !p->connection->own && w->watch && world_chance(w, 2))
                        effect(c);
                (void)pd_fail(&err, PD_E_CANCELLED, "the plugin is closed");
                json_decref(c->outcome.items);
                c->outcome.items = NULL;
                pcall_end(c, &err);
        }
        free(p);
}

/* --- connections and their clouds --- */
static struct world_connection *connection_new(
        struct world *w, const char *name, const char *provider, const json_t *options)
{
        struct world_connection *c = calloc(1, sizeof *c);
        struct engine_connection of = { .plugin = "/none" };

        if (!c)
                abort();
        c->w = w;
        (void)str_format(c->name, sizeof c->name, "%s", name);
        (void)str_format(c->provider, sizeof c->provider, "%s", provider);
        c->options = options ? json_deep_copy(options) : json_object();
        c->first_stops = json_object();
        c->boot_min_us = 20 * USEC_PER_SEC;
        c->boot_max_us = 3 * USEC_PER_MIN;
        c->price_nano_hour = 100000000;
        of.name = c->name;
        of.provider = c->provider;
        of.options = json_object_size(c->options) ? c->options : NULL;
        if (!vec_push(&w->connections, c) || !vec_push(&w->site_connections, of))
                abort();
        w->site.connections = w->site_connections.at;
        w->site.connections_n = w->site_connections.n;
        return c;
}

struct world_connection *world_add_own(
        struct world *w, const char *name, int32_t cpu_milli, uint64_t memory_bytes, int32_t gpus)
{
        struct world_connection *c = connection_new(w, name, "local", NULL);
        struct sim_machine *m = sim_machine_new(w, name);

        c->own = true;
        m->own = true;
        m->connection = c;
        m->cpu_milli = cpu_milli;
        m->memory_bytes = memory_bytes;
        m->gpus = gpus;
        return c;
}

struct world_connection *world_add_connection(struct world *w, const char *name, const struct pd_provider *vtable,
        const json_t *options, const struct world_cloud *cloud, struct pd_error *err)
{
        struct world_connection *c = connection_new(w, name, vtable->head.name, options);

        c->cloud = cloud;
        if (provider_open(c, vtable, err) < 0) {
                w->site.connections_n = --w->site_connections.n;
                w->connections.n--;
                provider_close(c);
                json_decref(c->options);
                json_decref(c->first_stops);
                free(c);
                return NULL;
        }
        return c;
}

void connections_free_all(struct world *w)
{
        vec_foreach (c, &w->connections) {
                provider_close(*c);
                json_decref((*c)->options);
                json_decref((*c)->first_stops);
                vec_foreach (id, &(*c)->changed)
                        free(*id);
                vec_free(&(*c)->changed);
                vec_foreach (l, &(*c)->lists)
                        json_decref(*l);
                vec_free(&(*c)->lists);
                free(*c);
        }
        vec_free(&w->connections);
        vec_free(&w->site_connections);
}

static void on_clouds(struct world *w, struct world_due *due)
{
        (void)due;
        clouds_sync(w);
}

void clouds_sync(struct world *w)
{
        int64_t next = INT64_MAX;

        if (w->syncing)
                return;
        w->syncing = true;
        vec_foreach (c, &w->connections) {
                int64_t at;

                if (!(*c)->cloud)
                        continue;
                (*c)->cloud->sync(*c);
                at = (*c)->cloud->next_wall_us(*c);
                if (at < next)
                        next = at;
        }
        w->syncing = false;
        w->clouds.fire = on_clouds;
        if (next == INT64_MAX)
                due_cancel(w, &w->clouds);
        else
                due_at(w, &w->clouds, w->boot_us + (next > world_cloud_wall_us(w) ? next - world_cloud_wall_us(w) : 1));
}

void world_set_cap(struct world_connection *c, int64_t nano, const char *currency)
{
        vec_foreach (of, &c->w->site_connections)
                if (of->name == c->name) {
                        of->cap.amount.nano = nano;
                        (void)str_format(
                                of->cap.amount.currency, sizeof of->cap.amount.currency, "%s", nano ? currency : "");
                }
        c->cap_nano = nano;
}
