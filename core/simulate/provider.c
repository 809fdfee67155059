/* SPDX-License-Identifier: Apache-2.0 */
/* A provider plugin that is linked in, called as a plugin host calls it: the same tables, the same judge; only the clock is the world's. */
#include <errno.h>
#include <string.h>

#include "host/instance.h"
#include "host/load.h"
#include "simulate/parts.h"

struct world_plugin {
        struct plugin plugin;
        struct host judged; /* what the judge wants to know of an instance: names */
        json_t *config;
        struct arena arena; /* cfg, borrowed until close() */
        struct pd_kv *cfg;
        bool opened;
};

/* --- the host's functions: arg of a slot call is the connection --- */
static struct world *world_of(struct pd_call *call)
{
        const struct slot_call *c = call->context;

        return ((struct world_connection *)c->arg)->w;
}

static int64_t host_wall(struct pd_call *call)
{
        return world_cloud_wall_us(world_of(call));
}

static int64_t host_boot(struct pd_call *call)
{
        return world_of(call)->boot_us;
}

static int host_random(struct pd_call *call, void *ret, size_t n)
{
        if (!ret || n > 256)
                return -(int)PD_E_INVALID;
        env_random(&world_of(call)->env, ret, n);
        return 0;
}

static int not_cancelled(void *arg)
{
        (void)arg;
        return 0;
}

static void no_log(void *arg, int level, const char *text)
{
        (void)arg, (void)level, (void)text;
}

static struct pd_host virtual_host(void)
{
        struct pd_host h = slot_host;

        h.now_wall_us = host_wall;
        h.now_boot_us = host_boot;
        h.random = host_random;
        return h;
}

static void call_init(struct slot_call *c, struct world_connection *conn, const struct pd_host *host)
{
        c->cancelled = not_cancelled;
        c->log = no_log;
        c->arg = conn;
        c->pd.size = sizeof c->pd;
        c->pd.host = host;
        c->pd.context = c;
}

/* --- its life --- */
static int read_config(struct world_plugin *p, const json_t *options, struct pd_error *err)
{
        static const struct field row = { .name = "config", .type = FIELD_KV, .max = 1024 };
        static const struct shape shape = { .name = "the configuration", .fields = &row, .n = 1 };
        js_owned *wrap = NULL;

        p->config = options ? json_deep_copy(options) : json_object();
        wrap = json_pack("{s:O}", "config", p->config);
        return wrap ? marshal_decode(&shape, wrap, &p->cfg, &p->arena, err)
                    : pd_fail(err, PD_E_NOMEM, "no memory for a configuration");
}

int provider_open(struct world_connection *c, const struct pd_provider *vtable, struct pd_error *err)
{
        struct world_plugin *p = calloc(1, sizeof *p);
        const struct pd_host host = virtual_host();
        struct slot_call call = { 0 };
        int r;

        if (!p)
                return pd_fail(err, PD_E_NOMEM, "connection %s", c->name);
        c->plugin = p;
        r = plugin_read(&vtable->head, PD_KIND_PROVIDER, "linked in", &p->plugin, err);
        if (r == 0)
                r = read_config(p, c->options, err);
        if (r < 0)
                return r;
        p->judged.name = c->name;
        (void)str_format(p->judged.plugin_name, sizeof p->judged.plugin_name, "%s", p->plugin.name);
        call.plugin = &p->plugin;
        call_init(&call, c, &host);
        err->size = sizeof *err;
        r = p->plugin.provider.open(&call.pd, p->cfg, &p->plugin.self, err);
        if (r != 0)
                return slot_error(&call, r, err);
        p->opened = true;
        return 0;
}

void provider_close(struct world_connection *c)
{
        struct world_plugin *p = c->plugin;

        c->plugin = NULL;
        if (!p)
                return;
        if (p->opened)
                p->plugin.provider.close(p->plugin.self);
        arena_clear(&p->arena);
        json_decref(p->config);
        free(p);
}

void *world_provider_self(const struct world_connection *c)
{
        return ((struct world_plugin *)c->plugin)->plugin.self;
}

/* --- a call --- */
void outcome_clear(struct outcome_of *o)
{
        json_decref(o->ret);
        json_decref(o->items);
        json_decref(o->text);
        *o = (struct outcome_of){ 0 };
}

static json_t *items_of(const struct slot_call *c)
{
        size_t n = c->items_bytes;
        char *text = malloc(n + 3);
        json_error_t e;
        json_t *items;

        if (!text)
                abort();
        text[0] = '[';
        if (n)
                memcpy(text + 1, c->items, n);
        memcpy(text + 1 + n, "]", 2);
        items = json_loads(text, 0, &e);
        free(text);
        return items ? items : json_array();
}

/* As core/host does: an answer that is judged bad may still have been an act. */
static void judge(
        struct world_plugin *p, const struct slot *s, const json_t *args, const char *token, struct outcome_of *o)
{
        struct call asked = { .host = &p->judged, .slot = s, .args = (json_t *)(uintptr_t)args };
        const struct outcome told = { .rc = o->rc, .err = o->err, .ret = o->ret, .items = o->items, .text = o->text };
        struct pd_error err;

        (void)str_format(asked.token, sizeof asked.token, "%s", token ? token : "");
        if (judge_answer(&p->judged, &asked, &told, &err) >= 0)
                return;
        o->rc = pd_fail(&o->err, token ? PD_E_UNKNOWN_OUTCOME : PD_E_INTERNAL, "%s", err.text);
}

void provider_call(struct world_connection *c, const char *slot, const json_t *args, const char *token,
        int64_t deadline_boot_us, struct outcome_of *ret)
{
        struct world_plugin *p = c->plugin;
        const struct slot *s = slot_find(PD_KIND_PROVIDER, slot);
        const struct pd_host host = virtual_host();
        js_owned *none = json_object();
        struct slot_call *call = calloc(1, sizeof *call);
        struct arena arena = { 0 };

        *ret = (struct outcome_of){ 0 };
        if (!call)
                abort();
        if (!s) {
                ret->rc = pd_fail(&ret->err, PD_E_UNSUPPORTED, "no provider has a slot \"%s\"", slot);
                free(call);
                return;
        }
        ret->rc = slot_prepare(call, &p->plugin, s, args ? args : none, &arena, &ret->err);
        if (ret->rc == 0) {
                call_init(call, c, &host);
                call->pd.deadline_boot_us = deadline_boot_us;
                call->pd.op_token = token;
                ret->rc = slot_invoke(&p->plugin, call, &ret->err);
                if (ret->rc == 0)
                        ret->rc = slot_result(call, &ret->ret, &ret->err);
                ret->items = items_of(call);
                ret->text = json_incref(call->text);
                judge(p, s, args ? args : none, token, ret);
        }
        slot_call_clear(call);
        arena_clear(&arena);
        free(call);
}
