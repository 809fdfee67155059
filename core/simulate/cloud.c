/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated provider (plugins/provider/sim) as a connection of this world: a machine that its cloud runs has a simulated runner, and is gone with
 * all that is on it when the cloud says so. */
#include "simulate/cloud.h"

#include <stdio.h>

#include "simulate/parts.h"

struct cloud *world_cloud_of(const struct world_connection *c)
{
        return sim_cloud(world_provider_self(c));
}

static struct sim_machine *machine_of(const struct world_connection *c, const char *id)
{
        vec_foreach (m, &c->w->machines)
                if ((*m)->connection == c && streq((*m)->name, id))
                        return *m;
        return NULL;
}

/* --- what happens there, as it happens; taken up once the call that brought it about is over --- */
static void on_change(void *arg, const struct cloud_machine *m)
{
        struct world_connection *c = arg;

        if (!m->foreign && !vec_push(&c->changed, strdup(m->id)))
                abort();
}

static int64_t boot_of(struct world_connection *c)
{
        int64_t spread = c->boot_max_us - c->boot_min_us;

        return c->boot_min_us + (spread > 0 ? (int64_t)world_chance(c->w, (uint64_t)spread) : 0);
}

static void comes(struct world_connection *c, const struct cloud_machine *of)
{
        char endpoint[96];
        struct pd_offer offer;
        struct sim_machine *m;

        (void)str_format(endpoint, sizeof endpoint, "sim:%s-%s", c->name, of->id);
        m = sim_machine_up(c, of->id, endpoint, boot_of(c));
        m->stop_wall_us = js_int(c->first_stops, of->token, 0); /* armed by the first command of its user data */
        if (cloud_offer(world_cloud_of(c), of->offer, &offer)) {
                m->cpu_milli = offer.cpu_milli;
                m->gpus = offer.gpus;
                m->memory_bytes = offer.memory_bytes;
        }
}

static void noticed(struct world_connection *c, struct sim_machine *m, const struct cloud_machine *of)
{
        int64_t left = of->said_wall_us - world_cloud_wall_us(c->w);

        if (of->noticed && !m->notice_boot_us && left > 0 && cloud_params(world_cloud_of(c))->notice_in_guest)
                sim_notice(m, left, "provider");
}

static void take_up(struct world_connection *c, const char *id)
{
        const struct cloud_machine *of = cloud_machine(world_cloud_of(c), id);
        struct sim_machine *m = machine_of(c, id);

        if (!of)
                return;
        if (of->state == PD_MACHINE_RUNNING && !m)
                comes(c, of);
        else if ((of->state == PD_MACHINE_GONE || of->state == PD_MACHINE_STOPPED) && m)
                sim_machine_gone(m);
        else if (m)
                noticed(c, m, of);
}

static void sync_cloud(struct world_connection *c)
{
        cloud_advance(world_cloud_of(c), world_cloud_wall_us(c->w));
        for (size_t i = 0; i < c->changed.n; i++) {
                take_up(c, c->changed.at[i]);
                free(c->changed.at[i]);
        }
        c->changed.n = 0;
}

static int64_t next_of_cloud(struct world_connection *c)
{
        return cloud_next_us(world_cloud_of(c));
}

static void guest_stops(struct world_connection *c, struct sim_machine *m)
{
        cloud_guest_off(world_cloud_of(c), world_cloud_wall_us(c->w), m->name);
        sync_cloud(c);
}

static const struct world_cloud sim_cloud_of_world = { sync_cloud, next_of_cloud, guest_stops };

struct world_connection *world_add_sim(struct world *w, const char *name, const json_t *options, struct pd_error *err)
{
        js_owned *all = options ? json_deep_copy(options) : json_object();
        struct world_connection *c;
        char endpoint[96];

        (void)str_format(endpoint, sizeof endpoint, "sim:%s-@ID@", name);
        (void)json_object_set_new(all, "endpoint", json_string(endpoint));
        c = world_add_connection(w, name, &sim_provider, all, &sim_cloud_of_world, err);
        if (!c)
                return NULL;
        cloud_watch(world_cloud_of(c), on_change, c);
        c->guest = cloud_params(world_cloud_of(c))->lease == PD_LEASE_GUEST;
        return c;
}
