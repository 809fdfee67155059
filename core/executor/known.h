/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of offers between two fetches, and what was learnt of each pool: shared by pools.c, known.c, offers.c, looks.c and explain.c only. */
#ifndef EXECUTOR_KNOWN_H
#define EXECUTOR_KNOWN_H

#include "executor/internal.h"
#include "market/market.h"

#define BOOT_ASSUMED_US (3 * USEC_PER_MIN)      /* of a rented machine, until one has booted               */
#define SAVE_ASSUMED_BYTES_S INT64_C(100000000) /* until a save was seen                                   */
#define DETECT_US (5 * USEC_PER_SEC)            /* until the runner knows of a provider's notice           */
#define PROOF_US (30 * USEC_PER_SEC)            /* both machines of a move, besides the state's two ways   */
#define PRICE_AGE_US USEC_PER_HOUR              /* connections.NAME.price_max_age                          */
#define PRICE_LOW_PERCENT 1                     /* of the on-demand price of its kind and place            */
#define PRICE_HIGH_PERCENT 1000
#define POOLS_MAX 512                     /* a connection */
#define TEACHES_BYTES (UINT64_C(1) << 20) /* a smaller save says nothing about a rate                */

/* CONNECTION/ZONE/TYPE[/spot]: how it went there. On disk as a meta row a connection. */
struct pool {
        char connection[49], zone[49], type[65], why[96];
        enum pd_market market;
        int64_t out_until_wall_us;       /* P-17, or no capacity; 0 = it is not left out             */
        bool reclaimed;                  /* ... P-17                                                  */
        int64_t boot_us;                 /* from the create call to a runner that answers; 0 = never */
        int64_t save_bytes_s, freeze_us; /* of a job's state to the vault; 0 = no save was seen      */
        int64_t used_wall_us;
};

/* One offer as fetched, parsed once. */
struct known {
        struct connection *conn;
        const json_t *offer;
        char name[PLACEMENT_NAME_MAX];
        struct placement_offer base; /* without what changes between two fetches */
        struct market_price price;
        int64_t egress_nano_gib, max_lifetime_us;
        int32_t stock; /* -1 = not said */
        bool own;
        uint32_t index;    /* in the index; MARKET_NONE = it is not */
        struct pool *pool; /* NULL = nothing was learnt of it */
};

struct offers_known {
        VEC(struct pool *) pools;
        VEC(struct known) at;
        VEC(json_t *) held;       /* the lists that `at` borrows from */
        VEC(const json_t *) seen; /* ... and of which connection's state it was made */
        VEC(size_t) own;          /* index into at: those of own machines */
        VEC(size_t) rented;       /* index into at, by their place in the index */
        struct market *index;
        char currency[4]; /* of the index */
        uint32_t epoch;   /* another one: classes of the index have to be asked for anew */
        bool stale, relink;
};

/* Brings it up to date; cheap when nothing was fetched. NULL = no memory. */
struct offers_known *known_now(struct engine *e);
const struct known *known_find(const struct offers_known *k, const char *name);
const struct known *known_of_machine(const struct offers_known *k, const struct mach *m);
/* Why its price is not acted on by itself; NULL = it is fit. buf >= MARKET_WHY_MAX. */
const char *known_fault(const struct known *o, int64_t now_wall_us, char *buf);
/* May it be rented at a user's word? The price's age alone keeps no job waiting. */
bool known_payable(const struct known *o, int64_t now_wall_us);
/* With free room, reachability and what it is left out for; texts into k. price: for the job's share of an own machine. */
bool known_offer(struct offers *k, struct engine *e, const struct known *o, const struct placement_need *need);
/* By the largest share of cpu, memory or GPUs that the need takes of an own machine; rounded up. */
int64_t known_share(
        int64_t nano, const struct placement_offer *o, int32_t cpu_milli, uint64_t memory_bytes, int32_t gpus);

/* One offer as the policies would see it for this running job; texts into k. false = no memory. */
bool looks_one(struct engine *e, struct entry *en, const struct known *o, struct offers *k, struct policy_offer *ret);
/* What stands between a job and an offer: portal explain JOB --why-not OFFER. NULL = *err. */
json_t *why_not(struct engine *e, struct id job, const char *name, struct pd_error *err);

struct pool *pool_find(const struct offers_known *k, const char *connection, const char *zone, const char *type,
        enum pd_market market);
void pools_load(struct engine *e, struct offers_known *k, const char *connection);
int64_t pools_lowest_rate(
        const struct engine *e, const struct offers_known *k, const char *provider); /* 0 = none was learnt */

#endif
