/* SPDX-License-Identifier: Apache-2.0 */
/* What return and cheaper share: when they look (P-13, P-16), which offers an automatic move may choose at all (P-06, P-12, P-17), and which of them
 * meets the terms and leaves the most. */
#include "policy/words.h"

#define LOST_MOST 2 /* automatic moves that lost money; then no more */

const char *policy_barred(const struct policy_job *j, const struct policy_machine *m, const struct policy_measures *x,
        const struct policy_offer *o, int64_t now_wall_us)
{
        uint64_t can;

        if (o->unusable)
                return o->unusable;
        if (!streq(o->rate.currency, m->rate.currency))
                return "its price is in another currency, and no dated rate was applied";
        if (o->handover_us <= 0)
                return "how long a move to it takes is not known";
        if (!o->spot)
                return NULL;
        if (o->not_before_wall_us > now_wall_us)
                return "it was reclaimed lately and is left out";
        if (j->no_spot)
                return "it is spot, and the job has --no-spot";
        if (x && x->state_bytes != 0 && market_can_save(&o->notice, &can) && x->state_bytes > can)
                return "its notice cannot save the job's state";
        return NULL;
}

/* Why it does not look now; false = it looks. */
static bool not_now(const char *policy, const struct policy_job *j, const struct policy_machine *m,
        const struct settings *s, int64_t now_wall_us, struct policy_decision *ret)
{
        int64_t cool = j->moved_wall_us ? policy_later(j->moved_wall_us, s->move_cooldown_us) : now_wall_us;
        int64_t next = j->looked_wall_us ? policy_later(j->looked_wall_us, s->look_every_us) : now_wall_us;
        char span[QUANTITY_MAX];

        if (!m || !policy_runs(j) || j->container_wall_us == 0 || j->saving)
                *ret = policy_keep(policy, INT64_MAX, "its container does not run, or its state is being saved");
        else if (m->notice_wall_us != 0)
                *ret = policy_keep(policy, INT64_MAX, "its machine will be taken away, which another policy sees to");
        else if (j->moves_lost >= LOST_MOST) {
                *ret = policy_keep(policy, INT64_MAX,
                        "its automatic moves cost more than they saved %d times, so it makes no more of them",
                        j->moves_lost);
                ret->warn = true;
        } else if (j->refused_cause != CAUSE_NONE && j->retry_wall_us > now_wall_us) {
                *ret = policy_keep(policy, j->retry_wall_us, "a save was refused; until the next try it stays");
                ret->warn = j->refused_cause == CAUSE_MOVE;
        } else if (cool > now_wall_us)
                *ret = policy_keep(
                        policy, cool, "its machine changed within the last %s", policy_span(s->move_cooldown_us, span));
        else if (next > now_wall_us) {
                *ret = policy_keep(policy, next, "it looked within the last %s", policy_span(s->look_every_us, span));
                ret->paced = true;
        } else
                return false;
        if (ret->review_wall_us != INT64_MAX)
                policy_would_at(ret, ret->review_wall_us);
        return true;
}

/* What the present place lacks for a comparison; NULL = nothing. */
static const char *incomparable(const struct policy_job *j, const struct policy_machine *m, const struct settings *s)
{
        if (m->rate.currency[0] == '\0')
                return "what its machine costs is not known";
        if (m->rate_unusable)
                return m->rate_unusable;
        if (m->rate.nano <= 0)
                return "its machine costs nothing";
        if (s->budget.currency[0] &&
                (!streq(s->budget.currency, j->spent.currency) || !streq(s->budget.currency, m->rate.currency)))
                return "it has a budget, and what it spent is not known in the currency of its machine";
        return NULL;
}

/* The offers of one look. */
struct look {
        size_t best, nearest;      /* indices; offers_n = none */
        const char *barred;        /* the first one's reason   */
        struct policy_terms terms; /* of best, else of nearest */
        bool seen;                 /* any offer of the kind looked for */
};

static int64_t leaves(const struct policy_terms *t)
{
        return t->saving_nano - t->cost_nano; /* the terms are met: 0 <= cost <= saving */
}

static void look_at(bool spot_only, const struct policy_job *j, const struct policy_machine *m,
        const struct policy_measures *x, const struct settings *s, int64_t now_wall_us, struct look *ret)
{
        *ret = (struct look){ .best = j->offers_n, .nearest = j->offers_n };
        for (size_t i = 0; i < j->offers_n; i++) {
                const struct policy_offer *o = &j->offers[i];
                const char *barred;
                struct policy_terms t;

                if (spot_only && !o->spot)
                        continue;
                ret->seen = true;
                barred = policy_barred(j, m, x, o, now_wall_us);
                if (barred) {
                        ret->barred = ret->barred ? ret->barred : barred;
                        continue;
                }
                if (ret->nearest == j->offers_n || o->rate.nano < j->offers[ret->nearest].rate.nano)
                        ret->nearest = i;
                if (!policy_fifth(m, o->rate.nano))
                        continue;
                policy_terms(j, m, s, o, o->rate.nano, &t);
                if (t.thrice && (ret->best == j->offers_n || leaves(&t) > leaves(&ret->terms))) {
                        ret->best = i;
                        ret->terms = t;
                }
        }
        if (ret->best == j->offers_n && ret->nearest < j->offers_n)
                policy_terms(j, m, s, &j->offers[ret->nearest], j->offers[ret->nearest].rate.nano, &ret->terms);
}

static struct policy_decision too_little(const char *policy, const struct policy_job *j, const struct policy_machine *m,
        const struct settings *s, const struct look *l, int64_t review_wall_us)
{
        const struct policy_offer *o = &j->offers[l->nearest];
        char present[QUANTITY_MAX], new[QUANTITY_MAX], span[QUANTITY_MAX];
        struct money most = o->rate, saving = o->rate, cost = o->rate;
        struct policy_decision d;

        saving.nano = l->terms.saving_nano;
        cost.nano = l->terms.cost_nano;
        most.nano = policy_rate_max(j, m, s, o);
        if (l->terms.remaining_us <= 0)
                d = policy_keep(policy, review_wall_us, "no running time is left that a move could save on");
        else if (!l->terms.fifth)
                d = policy_keep(policy, review_wall_us,
                        "no offer is a fifth cheaper: its machine costs %s, the nearest %s (%.48s)",
                        rate_format(&m->rate, present), rate_format(&o->rate, new), o->name);
        else
                d = policy_keep(policy, review_wall_us,
                        "a move would not save three times its cost: the nearest saves %s in %s and costs %s (%.48s)",
                        money_format(&saving, present), policy_span(l->terms.remaining_us, span),
                        money_format(&cost, new), o->name);
        if (most.nano >= 0)
                policy_would(&d, "if %.48s costs <= %s", o->name, rate_format(&most, present));
        return d;
}

static struct policy_decision moves(const char *policy, const struct policy_job *j, const struct policy_machine *m,
        const struct look *l, int64_t now_wall_us)
{
        const struct policy_offer *o = &j->offers[l->best];
        char present[QUANTITY_MAX], new[QUANTITY_MAX], saves[QUANTITY_MAX], costs[QUANTITY_MAX], span[QUANTITY_MAX];
        struct money saving = o->rate, cost = o->rate;

        saving.nano = l->terms.saving_nano;
        cost.nano = l->terms.cost_nano;
        return policy_move(policy, j, l->best, now_wall_us,
                "%s instead of %s saves %s in %s, and the move costs %s: to %.48s", rate_format(&o->rate, new),
                rate_format(&m->rate, present), money_format(&saving, saves), policy_span(l->terms.remaining_us, span),
                money_format(&cost, costs), o->name);
}

struct policy_decision policy_look(const char *policy, bool spot_only, POLICY_ARGS)
{
        struct policy_decision d;
        const char *lacks;
        int64_t next;
        struct look l;

        if (not_now(policy, j, m, s, now_wall_us, &d))
                return d;
        next = policy_later(now_wall_us, s->look_every_us);
        lacks = incomparable(j, m, s);
        if (lacks) {
                d = policy_keep(policy, next, "nothing is compared: %s", lacks);
                d.looked = true;
                return d;
        }
        look_at(spot_only, j, m, x, s, now_wall_us, &l);
        if (l.best < j->offers_n)
                d = moves(policy, j, m, &l, now_wall_us);
        else if (l.nearest < j->offers_n)
                d = too_little(policy, j, m, s, &l, next);
        else
                d = l.seen ? policy_keep(policy, next, "no offer may be chosen: of the first, %s", l.barred)
                           : policy_keep(policy, next, "no %soffer is given to compare with", spot_only ? "spot " : "");
        d.looked = true;
        d.saving_nano = l.terms.saving_nano;
        d.cost_nano = l.terms.cost_nano;
        d.remaining_us = l.terms.remaining_us;
        return d;
}
