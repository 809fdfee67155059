/* SPDX-License-Identifier: Apache-2.0 */
/* One seed of the simulated world: a month of users, jobs and faults, then a quiet week in which everything must come to rest. */
#ifndef TESTS_WORLD_SWARM_H
#define TESTS_WORLD_SWARM_H

#include "world/oracle.h"

#define WORLD_FAULT_BIT(f_) (UINT64_C(1) << (f_))
#define FAULTS_ALL (WORLD_FAULT_BIT(WORLD_FAULT_N) - 1)

enum swarm_end { SWARM_OK, SWARM_LAW = 2, SWARM_STUCK, SWARM_DIFFERS, SWARM_CRASHED };

/* Who looks on: each request to a runner and each call of a provider, and each hour in which the daemon is up. */
struct swarm_watch {
        void (*call)(void *arg, const char *name, const json_t *body);
        void (*hour)(void *arg, struct world *w, bool quiet);
        void *arg;
};
struct swarm_run { /* what to do */
        uint64_t seed;
        uint64_t faults; /* WORLD_FAULT_BIT(enum world_fault): those that may be switched on */
        int days;        /* of the first phase */
        bool own_only;   /* no clouds: faster, and all that is not about renting comes more often */
        bool verbose;
        const struct swarm_watch *watch; /* NULL = nobody; of this process only */
};

struct swarm_result { /* shared between processes: no pointers */
        enum swarm_end end;
        int law, signal;
        char text[400], trace[24][160];
        uint64_t digest, held[ORACLE_LAWS], struck[WORLD_FAULT_N], at_work[WORLD_FAULT_N];
        uint64_t acted[ORACLE_POLICY_N], refused[ORACLE_POLICY_N], kept[ORACLE_POLICY_N], jobs, events;
        uint64_t cloud_struck[FAULT_KIND_N], machines, reclaims, bills, bills_equal;
        uint64_t faults; /* that were switched on */
};

void swarm(const struct swarm_run *run, struct swarm_result *ret);

#endif
