/* SPDX-License-Identifier: Apache-2.0 */
/* A market as a file: what could be had where at what price, and how that changed. The format is in README.md.
 *
 * Pure: text in, arrays out; it opens nothing. What it returns is whole and checked: names exist, times rise, numbers are in range. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>

#include <portald/provider.h>

#define TRACE_OFFERS_MAX 200000u
#define TRACE_QUOTAS_MAX 64u
#define TRACE_EVENTS_MAX 20000000u
#define TRACE_LINE_MAX 1024u

struct trace_offer {
        char zone[49], type[65], currency[4], gpu_model[65];
        enum pd_market market;
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes, disk_bytes, gpu_memory_bytes;
        int64_t price_nano_hour; /* at the start */
        int64_t notice_us;       /* before a reclaim; 0 = none */
        int64_t lifetime_us;     /* 0 = no limit */
        int64_t egress_nano_gib;
        int32_t capacity; /* machines that may be alive at a time; -1 = no limit */
        bool listed;
};

enum trace_of { TRACE_OF_MACHINES, TRACE_OF_CPUS, TRACE_OF_GPUS };
struct trace_quota {
        char id[64];
        int64_t limit; /* machines, cores or GPUs at a time */
        enum trace_of of;
        uint32_t markets; /* bits 1 << enum pd_market */
};

enum trace_what {
        TRACE_PRICE,    /* value: nano an hour                                              */
        TRACE_CAPACITY, /* value: machines; what is alive beyond it is reclaimed            */
        TRACE_RECLAIM,  /* value: so many of the machines; -1 = all                         */
        TRACE_LISTED,   /* value: 0 = no longer offered, 1 = offered                        */
        TRACE_QUOTA,    /* value: the new limit; offer: index of the quota                  */
        TRACE_LATENCY,  /* value: us that each call takes from now on                       */
        TRACE_OUTAGE,   /* value: us for which every call fails                             */
};
struct trace_event {
        int64_t at_us; /* since the start */
        int64_t value;
        int64_t gone_us; /* capacity, reclaim: notice of this one; -1 = the offer's own */
        uint32_t offer;
        uint8_t what; /* enum trace_what */
};

struct trace {
        struct trace_offer *offers;
        struct trace_event *events; /* by time; those of one instant in the file's order */
        size_t offers_n, events_n;
        struct trace_quota quotas[TRACE_QUOTAS_MAX];
        size_t quotas_n;
        int64_t start_wall_us; /* 0 = not said */
};

/* text need not end with a NUL. Refusals name the line. */
int trace_read(const char *text, size_t n, struct trace *ret, struct pd_error *err);
void trace_clear(struct trace *t);
/* "ZONE/TYPE" or "ZONE/TYPE/spot" */
void trace_offer_name(const struct trace_offer *o, char *buf, size_t n);
/* One quota in the words of a trace's line: "ID limit=8 of=gpus market=spot". */
int trace_quota_words(const char *text, struct trace_quota *ret, struct pd_error *err);

#endif
