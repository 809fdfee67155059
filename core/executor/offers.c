/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/internal.h"

bool offers_fill(struct offers *k, struct engine *e, const struct entry *en)
{
        (void)k, (void)e, (void)en;
        return true;
}

void offers_free(struct offers *k)
{
        (void)k;
}

void offers_fetched(struct engine *e, struct connection *c)
{
        (void)e, (void)c;
}

void offers_reclaimed(struct turn *t, const struct mach *m)
{
        (void)t, (void)m;
}

void offers_cool(struct turn *t, const struct connection *c, const char *zone, const char *type, enum pd_market market,
        int64_t until_wall_us, const char *why)
{
        (void)t, (void)c, (void)zone, (void)type, (void)market, (void)until_wall_us, (void)why;
}

void offers_learn_boot(struct engine *e, const struct mach *m, int64_t us)
{
        (void)e, (void)m, (void)us;
}

void offers_learn_save(struct engine *e, const struct mach *m, uint64_t bytes, int64_t took_us, int64_t freeze_us)
{
        (void)e, (void)m, (void)bytes, (void)took_us, (void)freeze_us;
}

bool offers_look(
        struct engine *e, const struct entry *en, struct looks *ret, struct policy_job *j, struct policy_machine *m)
{
        (void)e, (void)en, (void)ret, (void)j, (void)m;
        return true;
}

void looks_free(struct looks *x)
{
        (void)x;
}
