/* SPDX-License-Identifier: Apache-2.0 */
/* portal explain JOB --why-not OFFER: the rule that rejects the offer for this job now, by how much, and what would change it. */
#include "executor/known.h"

#define SET(o_, key_, value_) (void)json_object_set_new((o_), (key_), (value_))

/* What a person could do about a rule of placement. */
static const struct {
        const char *rule, *would;
} remedies[] = {
        { "on", "without --on, or with an --on that it matches" },
        { "spot", "with --spot (spot.use = on)" },
        { "cpu", "if the job asked for fewer cores" },
        { "memory", "if the job asked for less memory" },
        { "disk", "if the job asked for less disk" },
        { "gpus", "if the job asked for fewer GPUs" },
        { "checkpoint", "with a checkpoint way that is usable there (--checkpoint)" },
        { "notice", "with less state, or once its notice was seen to save more" },
        { "usable", "once it can be used again" },
        { "left out", "once its time is over" },
        { "room", "once other jobs there have ended" },
};

static const char *remedy(const char *rule)
{
        for (size_t i = 0; i < ARRAY_LEN(remedies); i++)
                if (streq(remedies[i].rule, rule))
                        return remedies[i].would;
        return "";
}

static json_t *verdict_json(
        const char *offer, const char *verdict, const char *rule, const char *why, const char *would)
{
        return json_pack(
                "{s:s,s:s,s:s,s:s,s:s}", "offer", offer, "verdict", verdict, "rule", rule, "why", why, "would", would);
}

static void set_rate(json_t *o, const char *key, const struct money *m)
{
        SET(o, key, json_pack("{s:I,s:s}", "nano_hour", (json_int_t)m->nano, "currency", m->currency));
}

/* --- a running job: P-12, P-13 --- */
/* What keeps it from looking at all; NULL = it looks. */
static const char *no_looks(const struct gathered *g, const struct policy_offer *o)
{
        const struct settings *s = &g->settings;

        if (g->job.pinned)
                return "it is pinned to one offer by --on: it makes no moves to save money";
        if (g->job.moves_lost >= 2)
                return "its automatic moves cost more than they saved twice, so it makes no more of them";
        if (!s->cheaper && !(s->ret && o->spot && !g->machine.spot))
                return "cheaper is off for it (--no-cheaper)";
        return NULL;
}

static void set_terms(json_t *o, const struct policy_offer *p, const struct verdict *v)
{
        set_rate(o, "rate", &p->rate);
        SET(o, "saving",
                json_pack("{s:I,s:s}", "nano", (json_int_t)v->terms.saving_nano, "currency", p->rate.currency));
        SET(o, "cost", json_pack("{s:I,s:s}", "nano", (json_int_t)v->terms.cost_nano, "currency", p->rate.currency));
        SET(o, "remaining_us", json_integer((json_int_t)v->terms.remaining_us));
        SET(o, "create_us", json_integer((json_int_t)p->create_us));
        SET(o, "handover_us", json_integer((json_int_t)p->handover_us));
        SET(o, "rate_max_nano_hour", json_integer((json_int_t)v->rate_max_nano));
}

static json_t *of_running(const struct gathered *g, const struct policy_offer *o)
{
        const char *none = no_looks(g, o);
        char rate[QUANTITY_MAX], would[128] = "";
        struct money most = o->rate;
        struct verdict v;
        json_t *ret;

        evidence_verdict(g, o, &v);
        most.nano = v.rate_max_nano;
        if (v.rule && v.rate_max_nano >= 0)
                (void)str_format(would, sizeof would, "would move if it costs <= %s", rate_format(&most, rate));
        else if (!v.rule)
                (void)str_format(would, sizeof would, "moves at its next look, unless another offer leaves more");
        ret = verdict_json(o->name, none || v.rule ? "rejected" : "fits", none ? "moves" : str_or(v.rule, ""),
                none ? none : v.why, none ? "" : would);
        set_rate(ret, "present", &g->machine.rate);
        set_terms(ret, o, &v);
        return ret;
}

static json_t *running(struct engine *e, struct entry *en, const struct known *o, struct pd_error *err)
{
        struct offers k = { 0 };
        struct policy_offer p;
        struct gathered g;
        json_t *ret = NULL;

        gather(e, en, NULL, true, &g);
        if (looks_one(e, en, o, &k, &p))
                ret = of_running(&g, &p);
        else
                (void)pd_fail(err, PD_E_NOMEM, "no memory to look at an offer");
        offers_free(&k);
        gather_free(&g);
        return ret;
}

/* --- placement --- */
static json_t *of_choice(const struct offers *k, const struct placement_choice *c, const char *name, size_t rank)
{
        const struct placement_offer *o = &k->at.at[c[rank].offer], *first = &k->at.at[c[0].offer];
        char would[128] = "", rate[QUANTITY_MAX];
        json_t *ret;

        if (!c[rank].fits)
                (void)str_format(would, sizeof would, "%s", remedy(c[rank].rule));
        else if (rank)
                (void)str_format(would, sizeof would, "if it cost less than %s", rate_format(&first->price, rate));
        ret = verdict_json(name,
                !c[rank].fits ? "rejected"
                : rank        ? "dearer"
                              : "first",
                str_or(c[rank].rule, ""), c[rank].why, would);
        set_rate(ret, "rate", &o->price);
        SET(ret, "rank", json_integer((json_int_t)rank + 1));
        SET(ret, "later", json_boolean(c[rank].later));
        if (c[rank].warn[0])
                SET(ret, "warning", json_string(c[rank].warn));
        return ret;
}

static bool is_place(const struct known *o, const struct mach *m)
{
        return m && o->conn == m->conn && o->base.market == m->rec.market && streq(o->base.zone, m->rec.zone) &&
               streq(o->base.type, m->rec.type);
}

static json_t *judged(struct engine *e, struct entry *en, const struct known *o, const struct spec *s,
        const struct settings *set, struct pd_error *err)
{
        struct offers k = { 0 };
        pd_cleanup(freep) struct placement_choice *c = NULL;
        struct placement_need need;
        char name[PLACEMENT_NAME_MAX];
        json_t *ret = NULL;
        size_t ok, i = 0;

        if (offers_rank(e, en, s, set, &k, &need, &c, &ok, err) >= 0) {
                while (i < k.at.n && !streq(placement_offer_name(&k.at.at[c[i].offer], name), o->name))
                        i++;
                if (i == k.at.n)
                        (void)pd_fail(err, PD_E_NOT_FOUND, "no offer \"%s\": see `portal offers`", o->name);
                else if (c[i].fits && en && en->live)
                        ret = running(e, en, o, err);
                else
                        ret = of_choice(&k, c, o->name, i);
        }
        offers_free(&k);
        return ret;
}

json_t *waiting_for(struct engine *e, struct entry *en)
{
        struct offers k = { 0 };
        pd_cleanup(freep) struct placement_choice *c = NULL;
        pd_cleanup(spec_freep) struct spec *s = NULL;
        struct placement_need need;
        struct settings set;
        struct pd_error err;
        json_t *ret = NULL;
        size_t ok;

        if (job_load_spec(e, en->job.id, &s, &set, NULL, NULL, &err) >= 0 &&
                offers_rank(e, en, s, &set, &k, &need, &c, &ok, &err) >= 0)
                ret = evidence_of_place(&k, c, ok, &need);
        offers_free(&k);
        return ret;
}

void waits_for(struct engine *e, const struct job *j, json_t *o)
{
        struct entry *en = j->state == JOB_QUEUED ? jobs_find(e, j->id) : NULL;
        js_owned *ranked = en && en->job.state == JOB_QUEUED ? waiting_for(e, en) : NULL;
        const json_t *first = json_array_get(json_object_get(ranked, "losers"), 0);
        const struct offers_known *k = first && !json_object_get(ranked, "offer") ? known_now(e) : NULL;
        const struct known *offer = k ? known_find(k, js_str(first, "offer", "")) : NULL;

        if (offer && !offer->own) /* of own machines place_waiting() has said more */
                SET(o, "waiting", json_sprintf("%s: %s", offer->name, js_str(first, "why", "")));
}

json_t *why_not(struct engine *e, struct id job, const char *name, struct pd_error *err)
{
        const struct offers_known *k = known_now(e);
        const struct known *o = k ? known_find(k, name) : NULL;
        struct entry *en = jobs_find(e, job);
        pd_cleanup(spec_freep) struct spec *s = NULL;
        struct settings set;

        if (!o) {
                (void)pd_fail(err, PD_E_NOT_FOUND, "no offer \"%s\": see `portal offers`", name);
                return NULL;
        }
        if (!en || en->job.state == JOB_ENDED)
                return verdict_json(
                        o->name, "rejected", "ended", "the job is over", "after `portal resume`, where it can be");
        if (en->live && is_place(o, en->live->machine))
                return verdict_json(o->name, "here", "", "it is on a machine of this offer", "");
        if (job_load_spec(e, job, &s, &set, NULL, NULL, err) < 0)
                return NULL;
        return judged(e, en, o, s, &set, err);
}
