/* SPDX-License-Identifier: Apache-2.0 */
/* What a job has cost and may still cost, for the policies and for people. */
#include "executor/money.h"

typedef __int128 wide;

/* --- what is spent --- */
/* Accounts of a job, one a currency; that of `currency`, or NULL. */
static const struct ledger_account *job_account(const struct engine *e, struct id job, const char *currency)
{
        char id[ID_TEXT_MAX];

        (void)id_format(ID_JOB, job, id);
        vec_foreach (at, &e->money->ledger.order) {
                const struct ledger_account *a = ledger_account_at(&e->money->ledger, *at);

                if (a->scope == LEDGER_JOB && streq(a->key, id) && streq(a->currency, currency))
                        return a;
        }
        return NULL;
}

static int64_t spent_by_now(const struct engine *e, const struct ledger_account *a, int64_t now_wall_us)
{
        wide nano = (wide)a->spent_nano + a->before_nano;

        vec_foreach (k, &e->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(&e->money->ledger, k->hold);

                if (h->account[a->scope] == a->id)
                        nano += money_unposted(h, now_wall_us);
        }
        return nano > INT64_MAX ? INT64_MAX : (int64_t)nano;
}

/* The tightest cap of a connection or project on this hold; the job's budget is another policy's. */
static const struct ledger_account *tightest_cap(const struct ledger *l, const struct ledger_hold *h, int64_t *ret_room)
{
        uint32_t account[LEDGER_SCOPE_N] = { h->account[LEDGER_CONNECTION], h->account[LEDGER_PROJECT], LEDGER_NONE };
        uint32_t id = ledger_tightest(l, account, ret_room);

        return ledger_account_at(l, id);
}

/* How long the cap lets it run on, at the worst price: what is promised and not spent yet, and the room. */
static int64_t lasts_us(const struct engine *e, const struct ledger_hold *h, int64_t room, int64_t now_wall_us)
{
        const struct ledger_margin none = { 0 };
        struct ledger_left left;
        wide rest = (wide)ledger_rest(h) - money_unposted(h, now_wall_us) + (room < INT64_MAX ? room : 0);
        int64_t flat = h->flat_worst_nano - h->other_nano, us;

        rest -= flat > 0 ? flat : 0;
        us = rest <= 0 ? 0 : ledger_time_for(rest > INT64_MAX ? INT64_MAX : (int64_t)rest, h->ceiling_nano_hour);
        if (ledger_left(&e->money->ledger, h->id, &none, &left, NULL) >= 0 && left.account != h->account[LEDGER_JOB] &&
                left.last_stop_wall_us < INT64_MAX && left.last_stop_wall_us + h->lag_us - now_wall_us < us)
                us = left.last_stop_wall_us + h->lag_us - now_wall_us;
        return us > 0 ? us : 0;
}

static void gather_cap(
        struct engine *e, const struct entry *en, const struct ledger_hold *h, struct policy_job *j, char *names)
{
        const struct ledger *l = &e->money->ledger;
        int64_t room, now = now_wall(e), us, nano;
        const struct ledger_account *a = tightest_cap(l, h, &room);

        if (!a)
                return;
        if (room < 0 && money_must_go(e, h->id, en->live->settings.save_deadline_us))
                us = 0;
        else
                us = lasts_us(e, h, room > 0 ? room : 0, now);
        nano = us == INT64_MAX || ledger_cost(h->price_nano_hour, us, &nano, NULL) < 0 ? INT64_MAX : nano;
        j->cap_left.nano = us == 0 ? 0 : nano;
        (void)str_format(j->cap_left.currency, sizeof j->cap_left.currency, "%s", a->currency);
        (void)str_format(names, 128, "%s %s", a->scope == LEDGER_CONNECTION ? "connection" : "project", a->key);
        j->cap_name = names;
}

static struct stake *stake_of(const struct engine *e, const struct entry *en)
{
        const struct mach *m = en->live ? en->live->machine : NULL;

        if (!m || !e->money)
                return NULL;
        return m->rec.own ? money_stake_of_stay(e, m->rec.id, en->job.id) : money_stake_of_machine(e, m->rec.id);
}

void money_gather(struct engine *e, const struct entry *en, struct policy_job *j, struct policy_machine *m, char *names)
{
        const struct stake *k = stake_of(e, en);
        const struct mach *at = en->live ? en->live->machine : NULL;
        const struct ledger_hold *h = k ? ledger_hold_at(&e->money->ledger, k->hold) : NULL;
        const struct ledger_account *a;

        if (!at || !at->rec.currency[0] || !e->money)
                return;
        memcpy(m->rate.currency, at->rec.currency, sizeof m->rate.currency);
        m->rate.nano = h ? h->price_nano_hour : at->rec.own ? 0 : at->rec.price_nano_hour;
        m->stop_lag_us = h ? h->lag_us : at->conn ? at->conn->caps.stop_lag_us : 0;
        memcpy(j->spent.currency, at->rec.currency, sizeof j->spent.currency);
        a = h ? ledger_account_at(&e->money->ledger, h->account[LEDGER_JOB]) : NULL;
        j->spent.nano = a ? spent_by_now(e, a, now_wall(e)) : 0;
        if (h)
                gather_cap(e, en, h, j, names);
}

/* --- a resume --- */
static int refuse_budget(const struct entry *en, const struct money *budget, int64_t spent, struct pd_error *err)
{
        struct money of = *budget;
        char has[QUANTITY_MAX], was[QUANTITY_MAX], id[ID_TEXT_MAX];

        of.nano = spent;
        (void)pd_fail(err, PD_E_FULL,
                "its budget of %s does not let it run on: %s is spent. Give it a larger one: portal resume %s "
                "--budget AMOUNT",
                money_format(budget, has), money_format(&of, was), id_format(ID_JOB, en->job.id, id));
        if (err)
                (void)str_format(err->subject, sizeof err->subject, "budget");
        return -(int)PD_E_FULL;
}

/* Would the least stay of use fit on any offer there? The error names the cap. */
static int connection_lets(struct engine *e, const struct connection *c, const struct job *j, int64_t margin_us,
        bool *ret_known, struct pd_error *err)
{
        struct ledger *l = &e->money->ledger;
        int64_t now = now_wall(e), stop;
        int r = 0;
        size_t i;
        json_t *o;

        json_array_foreach (c->offers, i, o) {
                const struct mach *own = machine_of_offer(e, c, js_str(o, "zone", ""), js_str(o, "type", ""),
                        (uint8_t)js_int(o, "market", PD_MARKET_ON_DEMAND));
                struct ledger_terms terms = { .kind = LEDGER_MACHINE,
                        .out_of = LEDGER_NONE,
                        .account = { LEDGER_NONE, LEDGER_NONE, LEDGER_NONE },
                        .price_nano_hour = js_int(o, "price_nano_hour", 0),
                        .ceiling_nano_hour = money_ceiling(c, o),
                        .minimum_us = c->caps.minimum_billing_us,
                        .step_us = c->caps.billing_step_us,
                        .lag_us = c->caps.stop_lag_us };

                if (own && own->rec.own)
                        terms.price_nano_hour = terms.ceiling_nano_hour = money_stay_rate(own, j);
                vec_foreach (a, &l->accounts)
                        if (a->live && a->scope == LEDGER_CONNECTION && a->capped && streq(a->key, c->name) &&
                                streq(a->currency, js_str(o, "currency", "")))
                                terms.account[LEDGER_CONNECTION] = a->id;
                *ret_known = true;
                r = ledger_longest_new(l, &terms, now, now + 2 * margin_us, &stop, err);
                if (r >= 0 && stop >= now + 2 * margin_us)
                        return 0;
                if (r >= 0) {
                        uint32_t hold = LEDGER_NONE;

                        r = ledger_reserve(l, &terms, now, now + 2 * margin_us, &hold, NULL, err);
                        if (r >= 0) { /* it fits after all: nothing of this was stored */
                                (void)ledger_cancel(l, hold, NULL, NULL);
                                (void)ledger_forget(l, hold, NULL, NULL);
                                return 0;
                        }
                }
        }
        return r;
}

static int caps_let(struct engine *e, const struct job *j, const struct settings *s, struct pd_error *err)
{
        bool known = false;
        int r = 0;

        vec_foreach (c, &e->connections) {
                if ((*c)->removed)
                        continue;
                r = connection_lets(e, *c, j, money_margin_us(s, *c), &known, err);
                if (r >= 0 && known)
                        return 0;
        }
        return r;
}

int money_may_resume(struct turn *t, const struct entry *en, const struct settings *s, struct pd_error *err)
{
        struct engine *e = t->engine;
        const struct money *budget = &s->budget;
        const struct ledger_account *a = budget->currency[0] ? job_account(e, en->job.id, budget->currency) : NULL;
        int64_t spent = a ? spent_by_now(e, a, t->now_wall_us) : 0;
        char id[ID_TEXT_MAX];

        if (a && (spent >= budget->nano || (en->job.cause == CAUSE_BUDGET && a->capped && budget->nano <= a->cap_nano)))
                return refuse_budget(en, budget, spent, err);
        if (en->job.cause == CAUSE_CAP && caps_let(e, &en->job, s, err) < 0)
                return -(int)PD_E_FULL;
        return a ? money_budget(t, id_format(ID_JOB, en->job.id, id), budget, err) : 0;
}

/* --- the API's JOB.cost --- */
struct cost {
        struct engine *engine;
        json_t *segments;
        int64_t nano;
        char currency[4];
        struct id what;
};

static json_t *segment(
        const char *kind, const char *offer, int64_t from, int64_t until, int64_t price, int64_t us, int64_t nano)
{
        return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I}", "kind", kind, "offer", offer, "from_wall_us",
                (json_int_t)from, "until_wall_us", (json_int_t)until, "nano_hour", (json_int_t)price, "us",
                (json_int_t)us, "nano", (json_int_t)nano);
}

/* Time at one price that goes on is one segment, however often it was posted. */
static bool goes_on(const struct cost *x, json_t *last, struct id what, int64_t from, int64_t price)
{
        return last && id_equal(x->what, what) && streq(js_str(last, "kind", ""), "time") &&
               js_int(last, "until_wall_us", 0) == from && js_int(last, "nano_hour", 0) == price;
}

static void add_time(struct cost *x, struct id what, const char *offer, int64_t from, int64_t until, int64_t price,
        int64_t us, int64_t nano)
{
        json_t *last = json_array_get(x->segments, json_array_size(x->segments) - 1);

        if (!goes_on(x, last, what, from, price)) {
                (void)json_array_append_new(x->segments, segment("time", offer, from, until, price, us, nano));
        } else {
                (void)json_object_set_new(last, "until_wall_us", json_integer((json_int_t)until));
                (void)json_object_set_new(last, "us", json_integer((json_int_t)(js_int(last, "us", 0) + us)));
                (void)json_object_set_new(last, "nano", json_integer((json_int_t)(js_int(last, "nano", 0) + nano)));
        }
        x->what = what;
}

static int cost_line(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        struct cost *x = arg;

        x->nano += line->nano;
        (void)str_format(x->currency, sizeof x->currency, "%s", b->currency);
        if (line->kind == LEDGER_TIME && line->price_nano_hour == 0)
                return 0; /* a stay before its container ran */
        if (line->kind == LEDGER_TIME)
                add_time(x, line->what, b->offer, line->from_wall_us, line->until_wall_us, line->price_nano_hour,
                        line->us, line->nano);
        else
                (void)json_array_append_new(
                        x->segments, segment(ledger_line_kind_name(line->kind), b->offer, line->from_wall_us,
                                             line->until_wall_us, 0, line->us, line->nano));
        return 0;
}

/* What runs on and is not on the bill yet. */
static void cost_running(struct cost *x, struct id job, int64_t *ret_open)
{
        struct engine *e = x->engine;
        int64_t now = now_wall(e);

        vec_foreach (k, &e->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(&e->money->ledger, k->hold);
                const struct mach *m = machine_find(e, k->machine);
                int64_t more = money_unposted(h, now);
                char name[192] = "";

                if (!id_equal(k->job, job))
                        continue;
                *ret_open += ledger_rest(h) - more > 0 ? ledger_rest(h) - more : 0;
                x->nano += more;
                if (m) {
                        machine_offer_name(m, name, sizeof name);
                        (void)str_format(x->currency, sizeof x->currency, "%s", m->rec.currency);
                }
                if (now > h->until_wall_us && h->price_nano_hour > 0)
                        add_time(x, h->what, name, h->until_wall_us, now, h->price_nano_hour, now - h->until_wall_us,
                                more);
        }
}

static json_t *render_cap(const struct engine *e, struct id job)
{
        vec_foreach (k, &e->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(&e->money->ledger, k->hold);
                int64_t room;
                uint32_t id;
                const struct ledger_account *a;

                if (!id_equal(k->job, job))
                        continue;
                id = ledger_tightest(&e->money->ledger, h->account, &room);
                a = ledger_account_at(&e->money->ledger, id);
                if (!a)
                        continue;
                return json_pack("{s:s,s:I,s:I,s:I,s:I,s:s}", "name", a->scope == LEDGER_JOB ? "budget" : a->key,
                        "nano", (json_int_t)a->cap_nano, "spent_nano", (json_int_t)a->spent_nano, "open_nano",
                        (json_int_t)a->open_nano, "left_nano", (json_int_t)room, "currency", a->currency);
        }
        return json_null();
}

json_t *money_render(struct engine *e, const struct job *j)
{
        struct cost x = { .engine = e, .segments = json_array() };
        const struct store_bill_filter f = { .job = j->id, .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        const struct entry *en = jobs_find(e, j->id);
        const struct money *budget = en && en->live ? &en->live->settings.budget : NULL;
        struct pd_error err;
        int64_t open = 0;

        if (!e->money || !x.segments || store_scan_bill(e->env->store, &f, cost_line, &x, &err) < 0) {
                json_decref(x.segments);
                return NULL;
        }
        cost_running(&x, j->id, &open);
        if (!x.currency[0]) {
                json_decref(x.segments);
                return NULL;
        }
        return json_pack("{s:s,s:I,s:I,s:o,s:o,s:o}", "currency", x.currency, "spent_nano", (json_int_t)x.nano,
                "open_nano", (json_int_t)open, "budget_nano",
                budget && budget->currency[0] ? json_integer((json_int_t)budget->nano) : json_null(), "cap",
                render_cap(e, j->id), "segments", x.segments);
}

void money_job_over(struct engine *e, struct id job)
{
        struct turn *t = NULL;
        struct ledger_change c;
        char id[ID_TEXT_MAX];

        (void)id_format(ID_JOB, job, id);
        for (uint32_t i = 0; e->money && i < e->money->ledger.accounts.n; i++) {
                const struct ledger_account *a = ledger_account_at(&e->money->ledger, i);

                if (!a || a->scope != LEDGER_JOB || a->holds > 0 || !streq(a->key, id) || (!t && !(t = turn_new(e))))
                        continue;
                if (ledger_account_close(&e->money->ledger, i, &c, NULL) >= 0)
                        money_put(t, &c);
        }
        if (t)
                turn_end(t);
}
