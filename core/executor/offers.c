/* SPDX-License-Identifier: Apache-2.0 */
/* What could be had, as placement wants it: own machines that are there, and kinds of machine that can be rented. */
#include "executor/internal.h"

#define CAPTURES_MAX 16

void offers_free(struct offers *k)
{
        vec_foreach (s, &k->texts)
                free(*s);
        vec_foreach (l, &k->lists)
                free((void *)*l);
        vec_free(&k->texts);
        vec_free(&k->lists);
        vec_free(&k->at);
        vec_free(&k->of);
}

static const char **usable_captures(struct offers *k, const struct mach *m)
{
        const char **list = calloc(CAPTURES_MAX + 1, sizeof *list);
        const char *name;
        json_t *v;
        size_t n = 0;

        if (!list || !vec_push(&k->lists, list)) {
                free((void *)list);
                return NULL;
        }
        json_object_foreach (json_object_get(m->caps, "captures"), name, v)
                if (js_bool(v, "usable", false) && n < CAPTURES_MAX)
                        list[n++] = name;
        return list;
}

static void of_machine(struct offers *k, struct placement_offer *o, const struct engine *e, const struct mach *m)
{
        int64_t cpu, memory, gpus;

        o->shared = m->rec.own;
        o->usable = m->up && !machine_noticed(e, m);
        if (machine_noticed(e, m))
                o->why = "it gave notice, and takes no job before that is over";
        else if (!m->up)
                o->why = *m->why ? m->why : "its runner cannot be reached";
        if (!m->caps)
                return;
        machine_free_room(e, m, &cpu, &memory, &gpus);
        o->cpu_milli = (int32_t)js_int(m->caps, "cpu_milli", 0);
        o->memory_bytes = (uint64_t)js_int(m->caps, "memory_bytes", 0);
        o->gpus = (int32_t)js_int(m->caps, "gpus", 0);
        o->free_cpu_milli = (int32_t)cpu;
        o->free_memory_bytes = memory > 0 ? (uint64_t)memory : 0;
        o->free_gpus = (int32_t)gpus;
        o->captures = usable_captures(k, m);
}

/* One that is to be rented. What it will be able to save with is not known before it is there. */
static void of_rented(struct placement_offer *o, const struct connection *c, const json_t *offer)
{
        o->usable = c->state == CONN_READY && js_int(offer, "stock", -1) != 0;
        if (c->state != CONN_READY)
                o->why = c->why;
        else if (!o->usable)
                o->why = "its provider has none of it to be had now";
}

static bool add(struct offers *k, const struct engine *e, struct connection *c, const json_t *offer)
{
        bool own = c->caps.flags & PD_CAP_OWN_MACHINES;
        struct placement_offer o = {
                .connection = c->name, .zone = js_str(offer, "zone", ""), .type = js_str(offer, "type", "")
        };
        struct offer_of of = { .conn = c, .offer = offer };

        o.market = (enum pd_market)js_int(offer, "market", PD_MARKET_ON_DEMAND);
        o.price.nano = js_int(offer, "price_nano_hour", 0);
        (void)str_format(o.price.currency, sizeof o.price.currency, "%s", js_str(offer, "currency", ""));
        o.cpu_milli = (int32_t)js_int(offer, "cpu_milli", 0);
        o.gpus = (int32_t)js_int(offer, "gpus", 0);
        o.memory_bytes = (uint64_t)js_int(offer, "memory_bytes", 0);
        o.disk_bytes = own ? 0 : (uint64_t)js_int(offer, "disk_bytes", 0);
        if (own)
                of.machine = machine_of_offer(e, c, o.zone, o.type, (uint8_t)o.market);
        if (of.machine)
                of_machine(k, &o, e, of.machine);
        else if (own)
                o.why = c->state != CONN_READY ? c->why : "its machine has not been taken up yet";
        else
                of_rented(&o, c, offer);
        return vec_push(&k->at, o) && vec_push(&k->of, of);
}

bool offers_fill(struct offers *k, struct engine *e, const struct entry *en)
{
        (void)en;
        vec_foreach (c, &e->connections) {
                size_t i;
                json_t *o;

                json_array_foreach ((*c)->offers, i, o)
                        if (!add(k, e, *c, o))
                                return false;
        }
        return true;
}

void offers_fetched(struct engine *e, struct connection *c)
{
        (void)e, (void)c;
}

void offers_reclaimed(struct turn *t, const struct mach *m)
{
        (void)t, (void)m;
}

void offers_cool(struct turn *t, const struct connection *c, const char *zone, const char *type, enum pd_market market,
        int64_t until_wall_us, const char *why)
{
        (void)t, (void)c, (void)zone, (void)type, (void)market, (void)until_wall_us, (void)why;
}

void offers_learn_boot(struct engine *e, const struct mach *m, int64_t us)
{
        (void)e, (void)m, (void)us;
}

void offers_learn_save(struct engine *e, const struct mach *m, uint64_t bytes, int64_t took_us, int64_t freeze_us)
{
        (void)e, (void)m, (void)bytes, (void)took_us, (void)freeze_us;
}

bool offers_look(
        struct engine *e, const struct entry *en, struct looks *ret, struct policy_job *j, struct policy_machine *m)
{
        (void)e, (void)en, (void)ret, (void)j, (void)m;
        return true;
}

void looks_free(struct looks *x)
{
        (void)x;
}
