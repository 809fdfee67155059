/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in the market of the simulated cloud, in the order of time: a trace's events, or, without a trace, a market made up day by
 * day from a seed. Each offer has dice of its own for each day, so that what is asked of the cloud changes nothing here.
 *
 * Pure: time is an argument; a trace is given. */
#ifndef SIM_MARKET_H
#define SIM_MARKET_H

#include "trace.h"

#define MARKET_TYPES_MAX 16u
#define MARKET_ZONES_MAX 26u

struct sim_market_params {
        uint64_t seed;
        struct trace trace; /* given; offers_n 0 = make one up */
        bool notice_before; /* a fall of capacity is announced before, so that the machines are gone at its time */
        /* the market that is made up */
        uint32_t zones;         /* sim-a, sim-b ... */
        const char *types;      /* names with blanks between: "small medium gpu" */
        char currency[4];       /* of all prices */
        bool spot, on_demand;   /* which markets */
        int64_t notice_us;      /* of spot offers */
        int64_t lifetime_us;    /* of spot offers, 0 = no limit */
        int64_t price_every_us; /* spot prices move so often */
        int64_t up_us, down_us; /* a spot pool can be had, or not, for so long on average; down 0 = always */
        int32_t stock;          /* machines of a spot pool while it can be had; -1 = no limit */
};

struct sim_market_offer { /* as it is at the market's time */
        int64_t price_nano_hour;
        int64_t price_at_us; /* since the start: when this price began */
        int32_t capacity;
        bool listed;
};

struct sim_market {
        struct sim_market_params p;
        struct trace t;
        struct sim_market_offer *now;
        size_t cursor; /* of t.events */
        bool made_up;
        int64_t day; /* made up to the end of this day; -1 = none yet */
        size_t events_room;
        struct trace_quota quotas[TRACE_QUOTAS_MAX]; /* at the start */
};

/* p->trace is taken over, whatever comes back. */
int sim_market_init(struct sim_market *m, struct sim_market_params *p, struct pd_error *err);
void sim_market_clear(struct sim_market *m);
/* Back to the start. */
void sim_market_rewind(struct sim_market *m);
/* The next event's time since the start; INT64_MAX = no more. */
int64_t sim_market_next_us(struct sim_market *m);
/* Takes it, and applies it to m->now. False = there is none. Borrowed until the next call. */
bool sim_market_take(struct sim_market *m, const struct trace_event **ret);
/* SplitMix64: the next of a stream. */
uint64_t sim_market_dice(uint64_t *state);

#endif
