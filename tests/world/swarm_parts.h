/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the swarm. */
#ifndef TESTS_WORLD_SWARM_PARTS_H
#define TESTS_WORLD_SWARM_PARTS_H

#include "world/swarm.h"

#define SWARM_KEYS 16

struct ask { /* a user's request; the daemon may die before it answers */
        struct swarm *s;
        size_t at;
        char verb[16], key[16], body[8];
        int64_t ttl_keep_us, idle_after_us; /* of a submit */
        char on[64];                        /* of a submit: where it must run; "" = anywhere */
        bool no_spot;
};

struct swarm {
        struct world w; /* first */
        struct oracle o;
        struct world_watch watch;
        const struct swarm_run *run;
        uint64_t rng, submitted, jobs_wanted;
        struct ask *asks[64];
        int64_t act_boot_us, timed_boot_us[WORLD_FAULT_N], every_us[WORLD_FAULT_N];
        int64_t up_boot_us; /* when the daemon comes back; 0 = it is up */
        struct engine_site other_site;
        struct engine_connection other_connections[8];
        json_t *other_options;
        uint64_t reloads;
        uint64_t armed; /* WORLD_FAULT_BIT(enum world_fault): they strike when something is under way */
        size_t last_job;
        bool racing; /* the next act follows at once, mostly on the same job */
        struct {
                char key[16], body[8], job[40];
        } keys[SWARM_KEYS];
        int64_t hour;     /* the last that was shown to the watch */
        bool quiet, dead; /* dead: the daemon, for ever */
};

/* The users' and the jobs' dice; the faults have their own (world_chance). */
uint64_t swarm_dice(struct swarm *s, uint64_t below);
bool swarm_percent(struct swarm *s, uint64_t p);
/* Mostly short, at times long: as things are. */
int64_t swarm_span(struct swarm *s, int64_t min_us, int64_t max_us);
bool swarm_site(struct swarm *s); /* before the daemon starts */
void swarm_give_up(struct swarm *s);
void swarm_lower_cap(struct swarm *s);
void swarm_user(struct swarm *s); /* does one thing, and says when the next follows */

#endif
