/* SPDX-License-Identifier: Apache-2.0 */
/* Right before acting, on fresh values (P-15): does the decision still hold? */
#include "policy/words.h"

/* The fresh offer that a move was decided for; offers_n = it is gone. */
static size_t target_of(const struct policy_decision *d, const struct policy_job *j)
{
        size_t i = 0;

        while (i < j->offers_n && j->offers[i].key != d->offer_key)
                i++;
        return i;
}

bool policy_revalidate(const struct policy_decision *d, const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us,
        struct policy_decision *ret_fresh, size_t *ret_offer)
{
        struct policy_decision all[POLICY_N];
        struct policy_job alone = *j;
        size_t target = 0;
        int acting, own = 0;

        if (d->act == POLICY_MOVE) {
                target = target_of(d, j);
                alone.offers = target < j->offers_n ? &j->offers[target] : NULL;
                alone.offers_n = target < j->offers_n;
                alone.looked_wall_us = 0; /* the look that decided it is this one */
        }
        acting = policy_check(&alone, m, x, s, now_wall_us, all);
        while (own < POLICY_N && !streq(policy_table[own].name, d->policy))
                own++;
        if (own == POLICY_N) {
                *ret_fresh = policy_keep(d->policy, INT64_MAX, "no policy has the name that decided it");
                return false;
        }
        if (policy_table[own].changes_place && acting >= 0)
                own = acting;
        *ret_fresh = all[own];
        if (d->act == POLICY_KEEP || all[own].act != d->act || all[own].cause != d->cause ||
                !streq(all[own].policy, d->policy))
                return false;
        ret_fresh->offer = target;
        if (ret_offer)
                *ret_offer = target;
        return true;
}
