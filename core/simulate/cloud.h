/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated provider as a connection of a world, and its cloud's truth for whoever judges. Apart from world.h: it brings the plugin's header. */
#ifndef SIMULATE_CLOUD_H
#define SIMULATE_CLOUD_H

#include "sim.h"
#include "simulate/world.h"

/* options as in plugins/provider/sim/README.md; its endpoint is set here. Call it before world_start(), or world_reload() after it. */
struct world_connection *world_add_sim(struct world *w, const char *name, const json_t *options, struct pd_error *err);
struct cloud *world_cloud_of(const struct world_connection *c);

#endif
