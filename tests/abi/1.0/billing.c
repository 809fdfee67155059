/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot that a billing sink had in 1.0. */
#include "common.h"

#include <portald/billing.h>

static int record(void *self, struct pd_call *call, const struct pd_usage *u, struct pd_error *err)
{
        if (u->size < sizeof *u || strcmp(u->id, "1") != 0 || strcmp(u->job, "2") != 0 ||
                strcmp(u->project, "3") != 0 || strcmp(u->user, "4") != 0 || strcmp(u->offer, "5") != 0 ||
                strcmp(u->machine, "6") != 0 || u->generation != 7 || u->from_wall_us != 8 || u->to_wall_us != 9 ||
                u->price_nano_hour != 10 || u->amount_nano != -11 || strcmp(u->currency, "EUR") != 0 ||
                strcmp(u->plan, "12") != 0 || strcmp(pd_kv_get(u->tags, "t"), "13") != 0)
                return pd_fail(err, PD_E_INVALID, "the record does not arrive as in 1.0");
        return common_check(self, call, err);
}

static int probe(void *self, struct pd_call *call, struct pd_error *err)
{
        return common_check(self, call, err);
}

static const struct pd_billing old = {
        .head = PD_HEAD(PD_KIND_BILLING, struct pd_billing, "old-billing"),
        .open = common_open,
        .close = common_close,
        .record = record,
        .probe = probe,
};
PD_EXPORT const struct pd_head *const portald_plugin = &old.head;
