/* SPDX-License-Identifier: Apache-2.0 */
/* What a decision rested on, with exact figures: the offer chosen, the ones that lost, the rule that rejected each and by how much (P-22). */
#include "executor/internal.h"

#define LOSERS_MAX 8

#define SET(o_, key_, value_) (void)json_object_set_new((o_), (key_), (value_))

static json_t *money_json(int64_t nano, const char *currency)
{
        return json_pack("{s:I,s:s}", "nano", (json_int_t)nano, "currency", currency);
}

static json_t *rate_json(const struct money *m)
{
        return json_pack("{s:I,s:s}", "nano_hour", (json_int_t)m->nano, "currency", m->currency);
}

/* One that lost: the first LOSERS_MAX by name, all by count. */
static void lost(json_t *losers, json_t *rules, const char *offer, const char *rule, const char *why)
{
        SET(rules, rule, json_integer(json_integer_value(json_object_get(rules, rule)) + 1));
        if (json_array_size(losers) < LOSERS_MAX)
                (void)json_array_append_new(
                        losers, json_pack("{s:s,s:s,s:s}", "offer", offer, "rule", rule, "why", why));
}

static void set_losers(json_t *o, json_t *losers, json_t *rules)
{
        SET(o, "losers", losers);
        SET(o, "rules", rules);
}

/* --- placement --- */
json_t *evidence_of_place(
        const struct offers *k, const struct placement_choice *c, size_t ok, const struct placement_need *need)
{
        json_t *o = json_object(), *losers = json_array(), *rules = json_object();
        char name[PLACEMENT_NAME_MAX];

        for (size_t i = 0; i < k->at.n; i++) {
                const struct placement_offer *p = &k->at.at[c[i].offer];

                (void)placement_offer_name(p, name);
                if (i > 0 || ok == 0) {
                        lost(losers, rules, name, str_or(c[i].rule, "price"), c[i].why);
                        continue;
                }
                SET(o, "offer", json_string(name));
                SET(o, "price", rate_json(&p->price));
                if (c[i].warn[0])
                        SET(o, "warning", json_string(c[i].warn));
        }
        SET(o, "cpu_milli", json_integer(need->cpu_milli));
        SET(o, "memory_bytes", json_integer((json_int_t)need->memory_bytes));
        if (need->state_bytes)
                SET(o, "state_bytes", json_integer((json_int_t)need->state_bytes));
        set_losers(o, losers, rules);
        return o;
}

/* --- policies that compare offers --- */
void evidence_verdict(const struct gathered *g, const struct policy_offer *o, struct verdict *ret)
{
        const char *barred = policy_barred(&g->job, &g->machine, &g->measures, o, g->now_wall_us);
        char a[QUANTITY_MAX], b[QUANTITY_MAX];
        struct money saving = o->rate, cost = o->rate;

        *ret = (struct verdict){ .rate_max_nano = -1 };
        if (!barred)
                policy_terms(&g->job, &g->machine, &g->settings, o, o->rate.nano, &ret->terms);
        saving.nano = ret->terms.saving_nano;
        cost.nano = ret->terms.cost_nano;
        if (barred) {
                ret->rule = "barred";
                (void)str_format(ret->why, sizeof ret->why, "%s", barred);
                return;
        }
        ret->rate_max_nano = policy_rate_max(&g->job, &g->machine, &g->settings, o);
        if (ret->terms.remaining_us <= 0) {
                ret->rule = "remaining";
                (void)str_format(ret->why, sizeof ret->why, "no running time is left that a move could save on");
        } else if (!ret->terms.fifth) {
                int64_t hundredths = g->machine.rate.nano > 0
                                             ? (int64_t)(((__int128)g->machine.rate.nano - o->rate.nano) * 10000 /
                                                         g->machine.rate.nano)
                                             : 0;

                ret->rule = "a fifth";
                (void)str_format(ret->why, sizeof ret->why, "saves %s%lld.%02lld %% of the present %s, needs 20 %%",
                        hundredths < 0 ? "-" : "", (long long)llabs(hundredths) / 100,
                        (long long)llabs(hundredths) % 100, rate_format(&g->machine.rate, a));
        } else if (!ret->terms.thrice) {
                ret->rule = "three times";
                (void)str_format(ret->why, sizeof ret->why,
                        "saves %s, which is less than 3 times the move's cost of %s", money_format(&saving, a),
                        money_format(&cost, b));
        } else {
                (void)str_format(ret->why, sizeof ret->why, "saves %s, and the move costs %s", money_format(&saving, a),
                        money_format(&cost, b));
        }
}

static void moves_losers(json_t *o, const struct gathered *g, const struct policy_decision *d)
{
        json_t *losers = json_array(), *rules = json_object();

        for (size_t i = 0; i < g->job.offers_n; i++) {
                struct verdict v;

                if (d->act == POLICY_MOVE && i == d->offer)
                        continue;
                evidence_verdict(g, &g->job.offers[i], &v);
                lost(losers, rules, g->job.offers[i].name, str_or(v.rule, "leaves less"), v.why);
        }
        set_losers(o, losers, rules);
}

static void move_figures(json_t *o, const struct gathered *g, const struct policy_decision *d)
{
        const struct policy_offer *p = &g->job.offers[d->offer];
        struct policy_terms t;

        policy_terms(&g->job, &g->machine, &g->settings, p, p->rate.nano, &t);
        SET(o, "offer", json_string(p->name));
        SET(o, "rate", rate_json(&p->rate));
        SET(o, "saving", money_json(t.saving_nano, p->rate.currency));
        SET(o, "cost", money_json(t.cost_nano, p->rate.currency));
        SET(o, "remaining_us", json_integer((json_int_t)t.remaining_us));
        SET(o, "create_us", json_integer((json_int_t)p->create_us));
        SET(o, "handover_us", json_integer((json_int_t)p->handover_us));
        if (p->minimum_us)
                SET(o, "minimum_us", json_integer((json_int_t)p->minimum_us));
        if (p->lost_us)
                SET(o, "lost_us", json_integer((json_int_t)p->lost_us));
        if (p->egress_nano)
                SET(o, "egress", money_json(p->egress_nano, p->rate.currency));
        if (!g->machine.notice.save_bytes_s && !g->machine.notice.provider_bytes_s)
                SET(o, "assumed", json_string("a save rate of 100 MB/s: none was learned yet"));
}

static void measures(json_t *o, const struct policy_measures *x)
{
        if (x->state_bytes)
                SET(o, "state_bytes", json_integer((json_int_t)x->state_bytes));
        if (x->save_us)
                SET(o, "save_us", json_integer((json_int_t)x->save_us));
        if (x->memory_bytes)
                SET(o, "memory_bytes", json_integer((json_int_t)x->memory_bytes));
        if (x->window_us >= 0 && x->cpu_us >= 0) {
                SET(o, "window_us", json_integer((json_int_t)x->window_us));
                SET(o, "cpu_us", json_integer((json_int_t)x->cpu_us));
        }
}

json_t *evidence_of(const struct gathered *g, const struct policy_decision *d)
{
        json_t *o = json_object();

        if (d->act == POLICY_MOVE && d->offer < g->job.offers_n)
                move_figures(o, g, d);
        if (g->job.offers_n)
                moves_losers(o, g, d);
        if (g->machine.rate.currency[0])
                SET(o, "present", rate_json(&g->machine.rate));
        SET(o, "ran_us", json_integer((json_int_t)g->job.ran_us));
        if (g->job.ttl_us != SETTING_OFF)
                SET(o, "ttl_us", json_integer((json_int_t)g->job.ttl_us));
        if (g->machine.notice_wall_us)
                SET(o, "notice_wall_us", json_integer((json_int_t)g->machine.notice_wall_us));
        if (g->machine.ends_wall_us)
                SET(o, "ends_wall_us", json_integer((json_int_t)g->machine.ends_wall_us));
        if (g->job.spent.currency[0])
                SET(o, "spent", money_json(g->job.spent.nano, g->job.spent.currency));
        if (g->job.cap_left.currency[0])
                SET(o, "cap_left", money_json(g->job.cap_left.nano, g->job.cap_left.currency));
        measures(o, &g->measures);
        return o;
}
