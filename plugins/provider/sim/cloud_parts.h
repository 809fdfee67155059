/* SPDX-License-Identifier: Apache-2.0 */
/* What the cloud's own files share. */
#ifndef SIM_CLOUD_PARTS_H
#define SIM_CLOUD_PARTS_H

#include "cloud.h"

struct cloud {
        struct cloud_params p;
        struct sim_market market;
        uint64_t dice;
        int64_t start_wall_us; /* 0 = the first call sets it */
        int64_t now_wall_us;
        int64_t latency_us, base_latency_us, outage_until_wall_us;
        uint64_t serial;                 /* of the newest machine */
        struct cloud_machine **machines; /* all that ever were */
        size_t machines_n, machines_room;
        struct cloud_machine **live; /* those that are not GONE */
        size_t live_n, live_room;
        int64_t machines_due_us; /* when the first of them changes by itself */
        cloud_watch_fn watch;
        void *watch_arg;
};

uint64_t cloud_dice(void *cloud);
void cloud_begin(struct cloud *c, int64_t now_wall_us); /* the market's first instant, and everything up to now */
struct cloud_machine *cloud_add(struct cloud *c);       /* an empty one, in both lists; NULL = no memory */
void cloud_machine_free(struct cloud_machine *m);
bool cloud_tags(struct cloud_machine *m, const struct pd_kv *tags); /* copies; false = no memory */
void cloud_price(struct cloud_machine *m, int64_t at_wall_us, int64_t price_nano_hour);
void cloud_stop(struct cloud *c, struct cloud_machine *m, enum pd_machine_reason reason, int64_t late_us);
void cloud_changed(struct cloud *c, const struct cloud_machine *m); /* tells, and looks for the next due time anew */
/* Machines of an offer that are there and not on their way out. */
int32_t cloud_alive(const struct cloud *c, uint32_t offer);
struct cloud_machine *cloud_find_id(const struct cloud *c, const char *id);
struct cloud_machine *cloud_find_token(const struct cloud *c, const char *token);
int64_t cloud_exponential(struct cloud *c, int64_t mean_us);

#endif
