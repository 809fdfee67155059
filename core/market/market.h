/* SPDX-License-Identifier: Apache-2.0 */
/* Knows: offers, what each costs, how that is known and how old it is, and which is the cheapest for what a job asks for.
 *
 * A price that is missing, negative, 0 for what is paid, from the future, stale, outside its sanity band or in a currency without a dated rate is unfit
 * for automatic moves; the reason is a sentence. Jobs that ask for the same are one class; offers that fit the same classes are one group. Each
 * class has its cheapest offer at hand, so a price change costs the height of two trees and a look costs one read, whatever the number of jobs
 * (benches B-01, B-02).
 *
 * Pure: now is an argument; memory is the caller's index alone. One thread at a time. Includes base and spec. */
#ifndef MARKET_MARKET_H
#define MARKET_MARKET_H

#include <portald/provider.h>

#include "base/base.h"
#include "base/quantity.h"
#include "market/notice.h"
#include "spec/spec.h"

/* --- prices --- */
#define MARKET_FAULTS(X)                                           \
        X(FIT, "may be acted on")                                  \
        X(MISSING, "no price is given")                            \
        X(NEGATIVE, "a price below 0 is none")                     \
        X(FREE, "a price of 0 for what is paid is none")           \
        X(FUTURE, "the price was fetched after now")               \
        X(STALE, "the price is older than its age limit")          \
        X(LOW, "the price is below its sanity band")               \
        X(HIGH, "the price is above its sanity band")              \
        X(RATE, "no dated rate leads to the currency compared in") \
        X(OUT, "it was reclaimed lately and is left out")
#define MARKET_FAULT_ENUM(name_, text_) MARKET_##name_,
enum market_fault { MARKET_FAULTS(MARKET_FAULT_ENUM) MARKET_FAULT_N };
#undef MARKET_FAULT_ENUM

struct market_price {
        struct money hour;                     /* currency "" = missing                                            */
        const char *source;                    /* "price list", for people; borrowed, NULL = not said               */
        int64_t at_wall_us;                    /* when it was fetched; 0 = not known: missing                       */
        int64_t max_age_us;                    /* fit up to and with this age                                       */
        int64_t low_nano_hour, high_nano_hour; /* sanity band, both ends in it, in its currency; 0 = no such bound  */
        bool paid;                             /* false = the user's own, which may be free                         */
};
enum market_fault market_judge(const struct market_price *p, int64_t now_wall_us);
/* A band around a price that is trusted: from low to high percent of it, at least 1 nano where it is not free. */
void market_band(struct market_price *p, int64_t reference_nano_hour, int32_t low_percent, int32_t high_percent);

/* What one unit of `from` is in `to`, in 1e-9, on a day. Each is used both ways. */
struct market_rate {
        char from[4], to[4];
        int64_t nano, at_wall_us;
};
struct market_rates {
        const struct market_rate *rates; /* borrowed; of two for the same pair the first that is in date counts */
        size_t n;
        int64_t max_age_us;
};
/* Rounded up, saturated. The same currency, and 0, need no rate. t may be NULL = no rates. */
int market_convert(const struct money *m, const char *to, const struct market_rates *t, int64_t now_wall_us,
        struct money *ret, struct pd_error *err);

/* --- the index --- */
struct market_offer {
        const char *connection, *zone, *type; /* borrowed as long as the index lives */
        enum pd_market market;
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes;
        uint64_t disk_bytes; /* 0 = not said: not judged */
        struct market_price price;
        int64_t not_before_wall_us; /* P-17; 0 = it is not left out */
};
/* What jobs of one class ask for. What this does not know (captures, free room on shared machines) placement asks of the few offers found. */
struct market_need {
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes, disk_bytes;
        const char *on; /* CONNECTION[/ZONE[/TYPE[/spot]]], NULL = anywhere; not borrowed */
        bool no_spot, no_on_demand;
};

struct market; /* all prices in one currency */
#define MARKET_OFFERS_MAX (UINT32_C(1) << 20)
#define MARKET_NONE UINT32_MAX
/* offers are copied, their texts and rates borrowed; rates may be NULL. classes_max bounds market_class(). */
int market_new(const char *currency, const struct market_offer *offers, size_t n, uint32_t classes_max,
        const struct market_rates *rates, int64_t now_wall_us, struct market **ret, struct pd_error *err);
struct market *market_free(struct market *k);
static inline void market_freep(struct market **k)
{
        market_free(*k);
}

/* The class of a need, made when it is new (which costs one pass over the offers at the next market_build()); each call is one use.
 * -PD_E_FULL: there are classes_max of them in use. -PD_E_INVALID: need->on is malformed. */
int market_class(struct market *k, const struct market_need *need, uint32_t *ret_class, struct pd_error *err);
void market_class_drop(struct market *k, uint32_t class);
/* To be called after market_class() and before the next question; free where no class is new. */
int market_build(struct market *k, struct pd_error *err);

/* One price changes. */
void market_set_price(struct market *k, uint32_t offer, const struct market_price *price, int64_t now_wall_us);
void market_leave_out(struct market *k, uint32_t offer, int64_t not_before_wall_us, int64_t now_wall_us);
/* Rates change: all is converted anew. */
void market_set_rates(struct market *k, const struct market_rates *rates, int64_t now_wall_us);
/* Time passes: what went stale goes, what may come back comes back. Returns when that will be the case next; INT64_MAX = never. Free until then. */
int64_t market_tick(struct market *k, int64_t now_wall_us);

/* The lowest usable rate of each class, in the index's currency, INT64_MAX = none; valid until market_class(). */
const int64_t *market_best_rates(const struct market *k);
uint32_t market_best(const struct market *k, uint32_t class); /* its offer, or MARKET_NONE */
/* The cheapest n usable ones, ties in the order the offers were given; returns how many there are. */
#define MARKET_CHEAPEST_MAX 16
size_t market_cheapest(const struct market *k, uint32_t class, size_t n, uint32_t ret[]);

const struct market_offer *market_offer(const struct market *k, uint32_t offer);
int64_t market_rate_of(const struct market *k, uint32_t offer); /* converted; INT64_MAX = not usable */
bool market_fits(const struct market *k, uint32_t class, uint32_t offer);
/* Why it is not usable, with the figures; NULL = it is. buf >= MARKET_WHY_MAX, returned. */
#define MARKET_WHY_MAX 192
const char *market_why(const struct market *k, uint32_t offer, int64_t now_wall_us, char *buf);

#endif
