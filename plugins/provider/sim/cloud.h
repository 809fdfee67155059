/* SPDX-License-Identifier: Apache-2.0 */
/* A whole cloud as values: offers with prices and capacity over time, machines with their leases, notices, reclaims and bills, an API that
 * settles late, is slow, and fails as a fault script says.
 *
 * Pure: no clock, no disk, no log; time is an argument of every call, all chance comes from one seed. Time only goes forward here: a call
 * with an earlier time finds the cloud where it was. Whoever simulates a wall clock that steps gives the cloud the true one.
 * The same calls at the same times give the same cloud.
 *
 * The truth (cloud_each(), cloud_bill()) is for oracles: portald learns only what the calls say. */
#ifndef SIM_CLOUD_H
#define SIM_CLOUD_H

#include "faults.h"
#include "market.h"

#define CLOUD_NEVER INT64_MAX

struct cloud_params {
        struct sim_market_params market; /* its trace is taken over */
        struct sim_faults faults;
        uint64_t seed;
        enum pd_lease_kind lease;    /* NATIVE_MOVABLE .. GUEST                                        */
        int64_t start_wall_us;       /* when the market begins; 0 = at the first call                  */
        int64_t settle_us;           /* machines are seen, and seen gone, up to so much late           */
        int64_t stop_lag_us;         /* from an accepted stop, or a lease's end, to the end            */
        int64_t minimum_us, step_us; /* billed at least; billed in steps                               */
        int64_t boot_us;             /* from launch to RUNNING                                         */
        int64_t latency_us;          /* each call takes so long                                        */
        int64_t life_us;             /* a spot machine lives so long on average; 0 = until reclaimed by the market */
        int64_t horizon_us;          /* a hard stop lies at most so far ahead; 0 = no limit            */
        int64_t remember_us;         /* a machine that is gone is still described for so long          */
        int32_t stopped_percent;     /* of its price, that a machine which is only stopped costs       */
        int32_t tag_max;             /* tags a machine                                                 */
        int32_t page;                /* machines a page                                                */
        uint32_t foreign;            /* machines of somebody else in the same account                  */
        bool off_ends;               /* power-off inside ends the machine; else it is STOPPED          */
        bool notice_in_guest;        /* notice() says nothing: only the machine knows                  */
        struct trace_quota quota;    /* id "" = none; besides those of the trace                       */
};

struct cloud_segment {
        int64_t from_wall_us, price_nano_hour;
};

struct cloud_machine {
        char id[24], token[65];
        uint32_t offer; /* index into the market's offers */
        bool foreign;
        enum pd_machine_state state;
        enum pd_machine_reason reason;
        int64_t created_wall_us;
        int64_t lag_us;           /* lists and looks are so late about it                                          */
        int64_t ready_wall_us;    /* boots until then; CLOUD_NEVER                                                 */
        int64_t stop_wall_us;     /* the hard stop outside of it; CLOUD_NEVER = none (guest, or a fault)           */
        int64_t lifetime_wall_us; /* CLOUD_NEVER                                                                   */
        int64_t life_wall_us;     /* when its life without the market's doing is over: reclaimed; CLOUD_NEVER      */
        int64_t notice_wall_us;   /* from then on the notice can be read; CLOUD_NEVER                              */
        int64_t said_wall_us;     /* the instant that the notice names; 0 = none                                   */
        int64_t false_wall_us;    /* a notice that nothing follows comes then; CLOUD_NEVER                         */
        int64_t reclaim_wall_us;  /* it is taken away then; CLOUD_NEVER                                            */
        int64_t stopping_wall_us; /* the stop was accepted; CLOUD_NEVER                                            */
        int64_t gone_due_wall_us; /* CLOUD_NEVER                                                                   */
        int64_t gone_wall_us;     /* CLOUD_NEVER = it is there                                                     */
        int64_t bill_end_wall_us; /* CLOUD_NEVER = the bill is open                                                */
        int64_t ceiling_nano_hour;
        bool noticed, leftover;
        struct pd_pair *tags; /* owned */
        uint32_t tags_n;
        struct cloud_segment *segments; /* prices; owned */
        size_t segments_n, segments_room;
};

/* Told of every change of a machine as it happens (state, reason, notice), before any call can show it. */
typedef void (*cloud_watch_fn)(void *arg, const struct cloud_machine *m);

struct cloud;

/* p->market.trace is taken over, whatever comes back. */
int cloud_new(struct cloud **ret, struct cloud_params *p, struct pd_error *err);
struct cloud *cloud_free(struct cloud *c);
void cloud_watch(struct cloud *c, cloud_watch_fn fn, void *arg);
/* Everything up to now happens. Every call does this by itself. */
void cloud_advance(struct cloud *c, int64_t now_wall_us);
/* When the next thing happens by itself; CLOUD_NEVER. */
int64_t cloud_next_us(struct cloud *c);

/* ---- the API, as plugins/sdk/portald/provider.h says; machines are lent until the next call ---- */
typedef int (*cloud_machine_fn)(void *arg, const struct pd_machine *m);

int cloud_offers(struct cloud *c, int64_t now_wall_us, pd_offer_fn each, void *arg, struct pd_error *err);
int cloud_launch(struct cloud *c, int64_t now_wall_us, const char *token, const struct pd_launch *req,
        cloud_machine_fn each, void *arg, struct pd_error *err);
int cloud_find(struct cloud *c, int64_t now_wall_us, const char *token, cloud_machine_fn each, void *arg,
        struct pd_error *err);
int cloud_describe(
        struct cloud *c, int64_t now_wall_us, const char *id, cloud_machine_fn each, void *arg, struct pd_error *err);
int cloud_list(struct cloud *c, int64_t now_wall_us, const struct pd_kv *expect_tags, cloud_machine_fn each, void *arg,
        struct pd_error *err);
int cloud_renew(struct cloud *c, int64_t now_wall_us, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err);
int cloud_terminate(
        struct cloud *c, int64_t now_wall_us, const char *id, const struct pd_kv *expect_tags, struct pd_error *err);
int cloud_notice(struct cloud *c, int64_t now_wall_us, const char *id, int64_t *ret_at_wall_us, struct pd_error *err);
int cloud_cost(struct cloud *c, int64_t now_wall_us, const char *id, int64_t from_wall_us, int64_t to_wall_us,
        int64_t *ret_nano, int32_t *ret_is_estimate, struct pd_error *err);
/* What the last call took: its latency, for whoever waits in its place. */
int64_t cloud_latency_us(const struct cloud *c);

/* ---- from inside a machine ---- */
/* It powers itself off: gone, or STOPPED (params.off_ends). */
void cloud_guest_off(struct cloud *c, int64_t now_wall_us, const char *id);

/* ---- the truth ---- */
const struct cloud_params *cloud_params(const struct cloud *c);
/* Every machine that ever was, in the order of their creation. fn != 0 ends it, and is returned. */
int cloud_each(const struct cloud *c, int (*fn)(void *arg, const struct cloud_machine *m), void *arg);
const struct cloud_machine *cloud_machine(const struct cloud *c, const char *id); /* NULL = never was */
/* What the machine has cost up to then, to the nano; at the end with minimum billing and the billing step. */
int64_t cloud_bill(const struct cloud *c, const struct cloud_machine *m, int64_t until_wall_us);
/* An offer as it truly is at the cloud's time; false = no such index. */
bool cloud_offer(const struct cloud *c, uint32_t offer, struct pd_offer *ret);
uint64_t cloud_struck(const struct cloud *c, enum fault_kind kind); /* how often a kind of fault struck */

/* ---- as text (state.c) ---- */
/* A snapshot: *ret is malloc'ed text of *ret_n bytes. */
int cloud_save(const struct cloud *c, char **ret, size_t *ret_n, struct pd_error *err);
/* Into a cloud of the same parameters; what it was is forgotten. -PD_E_CORRUPT names the line: then it is not to be used. */
int cloud_load(struct cloud *c, const char *text, size_t n, struct pd_error *err);

#endif
