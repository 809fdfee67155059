/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks: which offers can take a job, cheapest first, and what rejected each of the others.
 *
 * A function of values: the job's need, the offers as they stand, now. No clock, disk, log, global or allocation; the same input gives the same
 * order, whatever the order of the offers. Includes base and spec, and of market the one header that needs no linking. */
#ifndef PLACEMENT_PLACEMENT_H
#define PLACEMENT_PLACEMENT_H

#include <portald/provider.h>

#include "base/base.h"
#include "base/quantity.h"
#include "market/notice.h"
#include "spec/spec.h"

/* What a job asks of a machine; all borrowed. */
struct placement_need {
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes;
        uint64_t disk_bytes;  /* 0 = not said                                        */
        const char *on;       /* CONNECTION[/ZONE[/TYPE[/spot]]], NULL = anywhere    */
        const char *capture;  /* must be usable there; NULL = any                    */
        uint64_t state_bytes; /* P-06: as measured last; 0 = not measured yet        */
        bool no_spot;         /* --no-spot                                           */
};

/* One offer (a kind of machine, or one machine of the user's own), or one machine that already runs. All borrowed. */
struct placement_offer {
        const char *connection, *zone, *type;
        enum pd_market market;
        struct money price;      /* an hour                                                               */
        int32_t cpu_milli, gpus; /* what a machine of it has in all                                       */
        uint64_t memory_bytes;
        uint64_t disk_bytes; /* 0 = not said: not judged                                              */
        bool shared;         /* an own machine that several jobs share: the free_* values count       */
        int32_t free_cpu_milli, free_gpus;
        uint64_t free_memory_bytes;
        const char *const *captures; /* usable there, NULL-ended; NULL = not known yet: not judged            */
        const char *capture_why; /* of the one that need->capture names: why it cannot be used there; NULL = not said */
        int64_t not_before_wall_us; /* P-17: a reclaimed pool is left out until then; 0 = it is not          */
        bool usable;                /* false: why says what is the matter ("its runner cannot be reached")   */
        const char *why;
        struct market_notice notice; /* of a spot offer, P-06                                                 */
};

struct placement_choice {
        size_t offer; /* index into the offers                                                                 */
        bool fits;    /* can take the job now                                                                  */
        bool later;   /* not now, but it could once it is free, usable or back in: the job waits, not refused  */
        const char
                *rule; /* what rejected it: "on", "cpu", "free" ...; "price": it fits and is dearer; NULL: the first  */
        char why[256]; /* of the first: its rate; of the others that fit: how much dearer; else the rule and by how much */
        char warn[96]; /* P-05, P-06: it may be chosen, but its notice may not save the job's state; ""          */
};

/* ret has n entries and holds each offer once: first the *ret_ok that fit, cheapest first, then those that may fit later, then the rest; ties by
 * name. Prices in two currencies are not compared: the currency's code then decides, and free is cheaper than all. -PD_E_INVALID: need->on is malformed. */
int placement_rank(const struct placement_need *need, const struct placement_offer *offers, size_t n,
        int64_t now_wall_us, struct placement_choice *ret, size_t *ret_ok, struct pd_error *err);

/* P-19: does it name exactly one offer? NULL and what is malformed do not. */
bool placement_pinned(const char *on);

/* "lab/here/host" or "aws/us-east-1a/m5.large/spot"; buf >= PLACEMENT_NAME_MAX; returns buf. */
#define PLACEMENT_NAME_MAX 176
char *placement_offer_name(const struct placement_offer *o, char *buf);

#endif
