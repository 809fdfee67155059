/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the suite of providers share. */
#ifndef TESTS_PROVIDER_SUITE_H
#define TESTS_PROVIDER_SUITE_H

#include <time.h>

#include <portald/provider.h>

#include "base/quantity.h"
#include "suite.h"

struct at_work {
        struct suite *s;
        struct reply r;
        int64_t flags, lease, settle_us, stop_lag_us, minimum_us, stop_wall_us, price_nano_hour;
        int64_t ahead_us; /* of the provider's clock, where it is in our hands */
        char zone[64], type[80], id[300];
        int64_t market;
        bool keeps_record; /* false: an own machine without tags, which is there whoever borrows it */
};

static json_t *tags(const char *who)
{
        return json_pack("{s:s,s:s}", "portald-installation", who, "portald-job", "job_1");
}

static json_t *with_id(const char *id)
{
        return json_pack("{s:s}", "id", id);
}

static json_t *id_and_tags(const char *id, const char *who)
{
        return json_pack("{s:s,s:o}", "id", id, "expect_tags", tags(who));
}

static json_t *launch_args(const struct at_work *w, const char *zone, const char *type, int64_t stop_wall_us)
{
        return json_pack("{s:s,s:s,s:I,s:I,s:o}", "zone", zone, "type", type, "market", (json_int_t)w->market,
                "stop_wall_us", (json_int_t)stop_wall_us, "tags", tags("ins_suite"));
}

static int call(struct at_work *w, const char *slot, json_t *args, const char *token)
{
        return suite_call(w->s, &w->r, slot, args, token);
}

static const json_t *item(const struct at_work *w)
{
        return json_array_get(w->r.items, 0);
}

#endif
