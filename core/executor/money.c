/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/internal.h"

int money_start(struct engine *e, struct pd_error *err)
{
        (void)e, (void)err;
        return 0;
}

int money_site(struct engine *e, struct pd_error *err)
{
        (void)e, (void)err;
        return 0;
}

void money_free(struct engine *e)
{
        (void)e;
}

int money_reserve(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer, struct id machine,
        int64_t wanted_stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        (void)t, (void)en, (void)c, (void)offer, (void)machine, (void)err;
        *ret_stop_wall_us = wanted_stop_wall_us;
        return 0;
}

void money_found(struct turn *t, struct mach *m)
{
        (void)t, (void)m;
}

void money_cancel(struct turn *t, struct id machine)
{
        (void)t, (void)machine;
}

int64_t money_renew(struct turn *t, struct mach *m, int64_t wanted_stop_wall_us)
{
        (void)t, (void)m;
        return wanted_stop_wall_us;
}

void money_price(struct turn *t, struct mach *m, int64_t nano_hour)
{
        (void)t, (void)m, (void)nano_hour;
}

void money_end(struct turn *t, struct mach *m, int64_t end_wall_us)
{
        (void)t, (void)m, (void)end_wall_us;
}

void money_leave(struct turn *t, struct mach *m)
{
        (void)t, (void)m;
}

void money_stay_begin(struct turn *t, struct entry *en)
{
        (void)t, (void)en;
}

void money_stay_end(struct turn *t, struct entry *en, int64_t end_wall_us)
{
        (void)t, (void)en, (void)end_wall_us;
}

void money_gather(struct engine *e, const struct entry *en, struct policy_job *j, struct policy_machine *m, char *names)
{
        (void)e, (void)en, (void)j, (void)m, (void)names;
}

void money_check(struct turn *t, struct entry *en)
{
        (void)t, (void)en;
}

json_t *money_render(struct engine *e, const struct job *j)
{
        (void)e, (void)j;
        return NULL;
}
