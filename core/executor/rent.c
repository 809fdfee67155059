/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/internal.h"

struct mach *rent_machine(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer,
        const struct settings *s, struct pd_error *err)
{
        (void)t, (void)en, (void)c, (void)offer, (void)s;
        (void)pd_fail(err, PD_E_UNSUPPORTED, "no machine can be rented");
        return NULL;
}

void rent_end(struct turn *t, struct mach *m, const char *why)
{
        (void)t, (void)m, (void)why;
}

void rent_gone(struct turn *t, struct mach *m, int64_t end_wall_us, enum pd_machine_reason reason)
{
        (void)t, (void)m, (void)end_wall_us, (void)reason;
}

void rent_unneeded(struct turn *t, struct mach *m)
{
        (void)t, (void)m;
}
