/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/internal.h"

int move_begin(struct turn *t, struct entry *en, struct connection *c, const json_t *offer, struct mach *m,
        const char *policy, const char *why, const json_t *evidence, const char *user, struct pd_error *err)
{
        (void)t, (void)en, (void)c, (void)offer, (void)m, (void)policy, (void)why, (void)evidence, (void)user;
        return pd_fail(err, PD_E_UNSUPPORTED, "no job can be moved");
}

void move_target_up(struct turn *t, struct mach *m)
{
        (void)t, (void)m;
}

void move_target_failed(struct turn *t, struct entry *en, struct mach *m, const char *why)
{
        (void)t, (void)en, (void)m, (void)why;
}

bool move_observe(struct engine *e, struct mach *m, struct entry *en, const json_t *placement, bool listed_anew)
{
        (void)e, (void)m, (void)en, (void)placement, (void)listed_anew;
        return false;
}

void move_machine_gone(struct turn *t, struct entry *en, struct mach *m)
{
        (void)t, (void)en, (void)m;
}

bool move_needs(const struct engine *e, const struct mach *m)
{
        (void)e, (void)m;
        return false;
}

bool move_abandon(struct turn *t, struct entry *en, const char *why)
{
        (void)t, (void)en, (void)why;
        return false;
}
