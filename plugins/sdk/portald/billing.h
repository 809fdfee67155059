/* SPDX-License-Identifier: Apache-2.0 */
/* A billing sink is told of usage. It decides nothing; records come at least once, each with an id that never changes. */
#ifndef PORTALD_BILLING_H
#define PORTALD_BILLING_H

#include <portald/host.h>
#include <portald/plugin.h>

struct pd_usage {
        uint32_t size;
        const char *id; /* deterministic; a sink that sees it twice counts it once          */
        const char *job, *project, *user;
        const char *offer; /* CONNECTION/ZONE/TYPE[/spot]                                      */
        const char *machine;
        uint64_t generation;
        int64_t from_wall_us, to_wall_us;
        int64_t price_nano_hour;
        int64_t amount_nano;      /* ceil(price x cumulative time) - already posted; may be a correction < 0 */
        const char *currency;     /* ISO 4217 */
        const char *plan;         /* forge plan; "" for portal jobs */
        const struct pd_kv *tags; /* NULL = none */
};

struct pd_billing {
        struct pd_head head;
        uint32_t flags; /* enum pd_flag */

        /* Required. cfg: the sink's block. */
        int (*open)(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err);
        /* Required. self may be NULL. */
        void (*close)(void *self);
        /* Required. 0 = durable there. Errors are retried by portald with back-off, but for -PD_E_INVALID, which raises an alarm. */
        int (*record)(void *self, struct pd_call *call, const struct pd_usage *usage, struct pd_error *err);
        /* Optional, default: nothing. Cheapest check that records would be taken. */
        int (*probe)(void *self, struct pd_call *call, struct pd_error *err);
};

#endif
