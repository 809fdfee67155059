/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine knows when it decides: offers, what was gathered of a job, and the evidence that explain shows. A part of internal.h, for which it is
 * included alone. */
#ifndef EXECUTOR_GATHER_H
#define EXECUTOR_GATHER_H

#include "executor/internal.h"

/* --- offers.c: what could be had, as placement and policy see it; pools left out (P-17); what was learnt of each offer --- */
struct offer_of { /* beside each placement_offer */
        struct connection *conn;
        const json_t *offer;  /* as host.h gives pd_offer                     */
        struct mach *machine; /* an own one that is there; NULL = to be rented */
};
struct offers {
        VEC(struct placement_offer) at;
        VEC(struct offer_of) of;
        VEC(char *) texts; /* what they borrow */
        VEC(const char **) lists;
};
int offers_start(struct engine *e, struct pd_error *err); /* after the store is loaded */
void offers_end(struct engine *e);
bool offers_fill(struct offers *k, struct engine *e, const struct entry *en /* NULL = of no job */);
/* What placement is asked for a job: its spec, the size that rightsize chooses (P-14), the state measured last (P-06). en NULL = a job to come. */
struct placement_need offers_need(
        const struct engine *e, const struct entry *en, const struct spec *s, const struct settings *set);
/* Fills k and ranks it; with the size as asked where the better one finds no place. *ret: k->at.n choices, free() it. */
int offers_rank(struct engine *e, const struct entry *en, const struct spec *s, const struct settings *set,
        struct offers *k, struct placement_need *ret_need, struct placement_choice **ret, size_t *ret_ok,
        struct pd_error *err);
uint64_t offers_key(const char *name); /* policy_offer.key of CONNECTION/ZONE/TYPE[/spot] */
void offers_free(struct offers *k);
void prices_fetched(struct engine *e, struct connection *c); /* ... and are written down, where they changed       */
void offers_fetched(struct engine *e, struct connection *c); /* c->offers are new: prices, faults, classes        */
void offers_reclaimed(struct turn *t, const struct mach *m); /* P-17, and a pool without capacity: left out       */
void offers_cool(struct turn *t, const struct connection *c, const char *zone, const char *type, enum pd_market market,
        int64_t until_wall_us, const char *why);
void offers_learn_boot(struct engine *e, const struct mach *m, int64_t us);
void offers_learn_save(struct engine *e, const struct mach *m, uint64_t bytes, int64_t took_us, int64_t freeze_us);
/* P-05, P-12, P-13: the offers that fit a running job, ranked, its own left out, and the members of *j and *m that speak of prices. Freed by looks_free(). */
struct looks {
        VEC(struct policy_offer) at;
        struct offers offers;
        VEC(size_t) of; /* index into offers, beside each */
        char text[MARKET_WHY_MAX];
        int32_t cpu_milli; /* what was asked of them (P-14) */
        uint64_t memory_bytes;
};
/* all = false: only when it is time for a look, or its state outgrew its notice. */
bool offers_look(struct engine *e, struct entry *en, bool all, struct looks *ret, struct policy_job *j,
        struct policy_machine *m);
void looks_free(struct looks *x);

/* --- gather.c --- */
/* Everything that the policies are asked with, at one instant. Borrows from *en and the offers: used up before the loop turn ends. */
struct gathered {
        struct policy_job job;
        struct policy_machine machine;
        struct policy_measures measures;
        struct settings settings;
        struct looks looks;
        char names[128];
        bool placed; /* it has a machine */
        int64_t now_wall_us;
};
/* waiting: settings of a job without a machine; NULL = only its clocks matter. all: look at the offers though it is not time to. */
void gather(struct engine *e, struct entry *en, const struct settings *waiting, bool all, struct gathered *ret);
void gather_free(struct gathered *g);
/* Largest use measured, as P-14 wants it: of the earlier stays and this one. */
void gather_peaks(const struct entry *en, struct policy_measures *ret);
/* *ret is to be given to gather_free(). */
void check_now(struct engine *e, struct entry *en, const struct settings *waiting, struct policy_decision all[POLICY_N],
        int *ret_acting, struct gathered *ret);

/* --- evidence.c: what a decision rested on, for explain --- */
struct verdict {          /* of one offer for a running job */
        const char *rule; /* what rejects it; NULL = it meets P-13's terms */
        char why[200];
        struct policy_terms terms;
        int64_t rate_max_nano; /* it would be moved to at or under this; -1 = at no rate */
};
void evidence_verdict(const struct gathered *g, const struct policy_offer *o, struct verdict *ret);
json_t *evidence_of(const struct gathered *g, const struct policy_decision *d);
/* Of a queued job: the offers as placement ranks them now, as evidence. NULL = it cannot be said. */
json_t *waiting_for(struct engine *e, struct entry *en);
/* What stands between it and the nearest offer to be rented, as *o's "waiting". The list says it from the figures at hand alone. */
void waits_for(struct engine *e, const struct job *j, json_t *o);
json_t *evidence_of_place(
        const struct offers *k, const struct placement_choice *c, size_t ok, const struct placement_need *need);

#endif
