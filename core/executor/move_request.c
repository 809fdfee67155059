/* SPDX-License-Identifier: Apache-2.0 */
/* `portal move JOB [--on OFFER]` (P-26): which offer a user means, and that the job fits there. */
#include "executor/move.h"

struct wish {
        const char *on; /* what the user wrote; NULL = wherever is best */
        struct offers offers;
        struct placement_need need; /* P-14: with the size that its peaks ask for */
        struct placement_choice *choices;
        size_t ok;
};

static void wish_free(struct wish *w)
{
        free(w->choices);
        offers_free(&w->offers);
}

static bool is_here(const struct entry *en, const struct placement_offer *o)
{
        const struct machine *r = &en->live->machine->rec;

        return streq(o->connection, r->connection) && streq(o->zone, r->zone) && streq(o->type, r->type) &&
               o->market == (enum pd_market)r->market;
}

/* P-19: a pinned job runs on its own offer, and one whose --on narrows the choice stays within it. */
static bool allowed(struct engine *e, const struct placement_offer *o, const struct placement_need *need)
{
        struct placement_choice c;
        size_t ok;
        struct pd_error err;
        struct placement_offer alone = *o;

        return placement_rank(need, &alone, 1, now_wall(e), &c, &ok, &err) >= 0 && ok == 1;
}

static int none(const struct wish *w, const struct entry *en, struct pd_error *err)
{
        char name[PLACEMENT_NAME_MAX];

        for (size_t i = 0; i < w->offers.at.n; i++) {
                const struct placement_offer *o = &w->offers.at.at[w->choices[i].offer];

                if (!is_here(en, o))
                        return pd_fail(err, PD_E_CONFLICT, "the job runs on: no machine%s%s can take it now; %s: %s",
                                w->on ? " of " : "", str_or(w->on, ""), placement_offer_name(o, name),
                                w->choices[i].fits ? "left out by the job's own --on" : w->choices[i].why);
        }
        return pd_fail(err, PD_E_CONFLICT, "the job runs on: there is no other machine than the one that it is on");
}

static int choose(struct engine *e, struct wish *w, const struct entry *en, struct spec *s, const struct settings *set,
        size_t *ret, bool *ret_here, struct pd_error *err)
{
        struct placement_need own = offers_need(e, en, s, set);
        char *const said = s->on;
        int r;

        *ret_here = false;
        s->on = w->on ? (char *)(uintptr_t)w->on : said;
        r = offers_rank(e, en, s, set, &w->offers, &w->need, &w->choices, &w->ok, err);
        s->on = said;
        if (r < 0)
                return r;
        for (size_t i = 0; i < w->ok; i++) {
                const struct placement_offer *o = &w->offers.at.at[w->choices[i].offer];

                if (is_here(en, o) || !allowed(e, o, &own))
                        continue;
                *ret = w->choices[i].offer;
                return 0;
        }
        for (size_t i = 0; w->on && placement_pinned(w->on) && i < w->offers.at.n; i++) {
                char name[PLACEMENT_NAME_MAX];

                *ret_here |= is_here(en, &w->offers.at.at[i]) &&
                             streq(placement_offer_name(&w->offers.at.at[i], name), w->on);
        }
        return *ret_here ? 0 : none(w, en, err);
}

/* Asked again while it goes on: it is the same move, unless another place is meant now. */
static int going_on(struct engine *e, const struct entry *en, const char *on, struct pd_error *err)
{
        bool going = en->job.move == MOVE_TARGET || en->job.move == MOVE_SAVING;
        char to[192];
        size_t n = str_or(on, "")[0] ? strlen(on) : 0;

        move_name_of(e, going ? en->job.other : en->job.machine, to, sizeof to);
        if (en->job.move != MOVE_BACK && (n == 0 || (strncmp(to, on, n) == 0 && (to[n] == '\0' || to[n] == '/'))))
                return 0;
        if (en->job.move == MOVE_BACK)
                return pd_fail(err, PD_E_CONFLICT,
                        "the job is being taken up again on %s, which it was moved from: ask again once it runs", to);
        return pd_fail(err, PD_E_CONFLICT, "the job is on its way to %s already: ask again once it runs there", to);
}

int move_asked(struct turn *t, struct entry *en, const char *on, const char *user, struct pd_error *err)
{
        struct engine *e = t->engine;
        pd_cleanup(spec_freep) struct spec *s = NULL;
        struct wish w = { .on = on && *on ? on : NULL };
        struct settings set;
        size_t i = 0;
        bool here;
        int r;

        if (en->job.move != MOVE_NONE && en->job.move != MOVE_PROVED)
                return going_on(e, en, w.on, err);
        if (en->job.state != JOB_RUNNING || !en->live)
                return pd_fail(err, PD_E_CONFLICT, "the job is %s, so it cannot be moved: only a running job can",
                        job_state_name((enum job_state)en->job.state));
        if ((r = job_load_spec(e, en->job.id, &s, &set, NULL, NULL, err)) < 0)
                return r;
        if (s->on && placement_pinned(s->on) && (!w.on || !streq(w.on, s->on)))
                return pd_fail(err, PD_E_CONFLICT, "the job is pinned to %s (its --on), so it cannot be moved", s->on);
        r = choose(e, &w, en, s, &set, &i, &here, err);
        if (r >= 0 && !here) {
                const struct offer_of *of = &w.offers.of.at[i];

                en->live->reason =
                        (struct move_reason){ .cpu_milli = w.need.cpu_milli, .memory_bytes = w.need.memory_bytes };
                r = move_begin(t, en, of->conn, of->offer, of->machine, "user", "asked for", NULL, user, err);
        }
        wish_free(&w);
        return r;
}
