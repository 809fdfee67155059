/* SPDX-License-Identifier: Apache-2.0 */
/* Machines and stays as reservations: made before anything is asked for, renewed as the caps allow, closed when the end is proven. */
#include "executor/money.h"

#include "base/log.h"

#define POST_EVERY_US USEC_PER_HOUR /* a line of the bill spans no more; between them the worst case covers what runs */
#define STAY_CHANGES 16             /* changes of price, steps of the clock among them, that a renewal provides for */

struct job_money {
        char job[ID_TEXT_MAX], project[65];
        struct settings settings;
};

static int job_money(struct engine *e, const struct entry *en, struct job_money *ret, struct pd_error *err)
{
        js_owned *doc = NULL;
        int r = job_load_spec(e, en->job.id, NULL, &ret->settings, &doc, NULL, err);

        if (r < 0)
                return r;
        (void)id_format(ID_JOB, en->job.id, ret->job);
        (void)str_format(ret->project, sizeof ret->project, "%s", js_str(doc, "project", ""));
        return 0;
}

/* --- what a machine may cost --- */
static bool same_place(const json_t *a, const json_t *b)
{
        return streq(js_str(a, "zone", ""), js_str(b, "zone", "")) &&
               streq(js_str(a, "type", ""), js_str(b, "type", ""));
}

/* Spot may rise to what the same machine costs on demand; where that is not offered, to twice its price. */
int64_t money_ceiling(const struct connection *c, const json_t *offer)
{
        int64_t price = js_int(offer, "price_nano_hour", 0), ceiling = 0;
        size_t i;
        json_t *o;

        if (js_int(offer, "market", PD_MARKET_ON_DEMAND) != PD_MARKET_SPOT)
                return price;
        json_array_foreach (c->offers, i, o)
                if (same_place(o, offer) && js_int(o, "market", PD_MARKET_SPOT) == PD_MARKET_ON_DEMAND)
                        ceiling = js_int(o, "price_nano_hour", 0);
        if (ceiling == 0)
                ceiling = price <= INT64_MAX / 2 ? 2 * price : price;
        return ceiling > price ? ceiling : price;
}

static int terms_of(const struct entry *en, const struct connection *c, const json_t *offer, struct ledger_terms *ret,
        struct pd_error *err)
{
        uint64_t state = en->job.state_bytes ? en->job.state_bytes : en->job.memory_bytes;
        struct ledger_terms t = { .kind = LEDGER_MACHINE,
                .job = en->job.id,
                .out_of = LEDGER_NONE,
                .price_changes = STAY_CHANGES,
                .price_nano_hour = js_int(offer, "price_nano_hour", 0),
                .ceiling_nano_hour = money_ceiling(c, offer),
                .minimum_us = c->caps.minimum_billing_us,
                .step_us = c->caps.billing_step_us,
                .lag_us = c->caps.stop_lag_us };
        int r = ledger_per_gib(state, js_int(offer, "egress_nano_gib", 0), &t.flat_nano, err);

        if (r >= 0)
                *ret = t;
        return r;
}

static void bill_of(const struct turn *t, const struct entry *en, const char *connection, const char *currency,
        const char *project, const char *offer, struct id machine, struct id what, struct store_bill *ret)
{
        *ret = (struct store_bill){ .what = what,
                .machine = machine,
                .job = en ? en->job.id : (struct id){ { 0 } },
                .uid = en ? en->job.uid : 0,
                .kind = LEDGER_MACHINE,
                .from_wall_us = t->now_wall_us };
        (void)str_format(ret->connection, sizeof ret->connection, "%s", connection);
        (void)str_format(ret->project, sizeof ret->project, "%s", project);
        (void)str_format(ret->offer, sizeof ret->offer, "%s", offer);
        (void)str_format(ret->currency, sizeof ret->currency, "%s", currency);
}

/* A stay that would be suspended again as soon as it began is not begun: it must last for twice what a suspension needs. */
static int long_enough(const struct turn *t, const struct ledger_terms *terms, int64_t margin_us, int64_t wanted,
        int64_t *ret_stop, struct pd_error *err)
{
        struct ledger *l = &t->engine->money->ledger;
        int64_t least = t->now_wall_us + 2 * margin_us, stop = 0;
        int r;

        r = ledger_longest_new(l, terms, t->now_wall_us, wanted > least ? wanted : least, &stop, err);
        if (r < 0)
                return r;
        if (stop < least) { /* refused, by the ledger's own sentence, for the least that would be of use */
                uint32_t hold = LEDGER_NONE;

                if ((r = ledger_reserve(l, terms, t->now_wall_us, least, &hold, NULL, err)) < 0)
                        return r;
                (void)ledger_cancel(l, hold, NULL, NULL); /* it does fit: nothing of this was stored */
                (void)ledger_forget(l, hold, NULL, NULL);
                stop = least;
        }
        *ret_stop = stop < wanted ? stop : wanted;
        return 0;
}

int money_reserve(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer, struct id machine,
        int64_t wanted_stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        const char *currency = js_str(offer, "currency", "");
        struct ledger_terms terms;
        struct store_bill bill;
        struct job_money of;
        char name[180];
        int64_t stop = 0;
        int r = job_money(t->engine, en, &of, err);

        money_turn_months(t);
        r = r < 0 ? r : terms_of(en, c, offer, &terms, err);
        r = r < 0 ? r : money_budget(t, of.job, &of.settings.budget, err);
        r = r < 0 ? r : money_accounts(t, c->name, of.project, of.job, currency, terms.account, err);
        terms.what = machine;
        r = r < 0 ? r : long_enough(t, &terms, money_margin_us(&of.settings, c), wanted_stop_wall_us, &stop, err);
        if (planted(PLANT_CAP_UNCHECKED)) {
                terms.found = true;
                stop = wanted_stop_wall_us;
                r = 0;
        }
        if (r < 0)
                return r;
        (void)str_format(name, sizeof name, "%s/%s/%s%s", c->name, js_str(offer, "zone", ""), js_str(offer, "type", ""),
                js_int(offer, "market", PD_MARKET_ON_DEMAND) == PD_MARKET_SPOT ? "/spot" : "");
        bill_of(t, en, c->name, currency, of.project, name, machine, machine, &bill);
        r = money_open(t, &terms, &bill, false, stop, err);
        if (r >= 0)
                *ret_stop_wall_us = stop;
        return r;
}

void money_found(struct turn *t, struct mach *m)
{
        struct ledger_terms terms = { .kind = LEDGER_MACHINE,
                .what = m->rec.id,
                .out_of = LEDGER_NONE,
                .found = true,
                .price_changes = STAY_CHANGES,
                .price_nano_hour = m->rec.price_nano_hour,
                .ceiling_nano_hour = m->rec.price_nano_hour };
        int64_t stop = m->rec.stop_possible_wall_us;
        struct store_bill bill;
        struct pd_error err;
        char name[192];

        if (m->rec.own || money_stake_of_machine(t->engine, m->rec.id) || !m->rec.currency[0])
                return;
        if (m->conn) {
                terms.minimum_us = m->conn->caps.minimum_billing_us;
                terms.step_us = m->conn->caps.billing_step_us;
                terms.lag_us = m->conn->caps.stop_lag_us;
        }
        if (store_get_bill(t->engine->env->store, terms.what, &bill, &err) >= 0)
                terms.what = engine_id(t->engine); /* it was believed gone, and its bill closed: this is another one */
        money_turn_months(t);
        machine_offer_name(m, name, sizeof name);
        bill_of(t, NULL, m->rec.connection, m->rec.currency, "", name, m->rec.id, terms.what, &bill);
        if (money_accounts(t, m->rec.connection, NULL, NULL, m->rec.currency, terms.account, &err) < 0 ||
                money_open(t, &terms, &bill, false, stop > t->now_wall_us ? stop : t->now_wall_us, &err) < 0)
                log_error("a machine that was found is on no bill: %s", err.text);
}

void money_cancel(struct turn *t, struct id machine)
{
        struct stake *k = money_stake_of_machine(t->engine, machine);
        struct ledger *l = &t->engine->money->ledger;
        struct ledger_change c;
        struct pd_error err;

        if (!k || planted(PLANT_HOLD_LEFT))
                return;
        if (ledger_hold_at(l, k->hold)->lines > 0) { /* counted as if it ran: taken back to its start */
                money_close(t, k, ledger_hold_at(l, k->hold)->from_wall_us, 0);
                return;
        }
        if (ledger_cancel(l, k->hold, &c, &err) >= 0) {
                money_put(t, &c);
                if (ledger_forget(l, k->hold, &c, &err) >= 0)
                        money_put(t, &c);
                vec_swap_remove(&t->engine->money->stakes, k - t->engine->money->stakes.at);
        } else {
                log_error("the ledger did not cancel a reservation: %s", err.text);
        }
}

/* --- renewals --- */
static int64_t renew_one(struct turn *t, uint32_t hold, int64_t wanted)
{
        struct ledger *l = &t->engine->money->ledger;
        struct ledger_change c;
        struct pd_error err;
        int64_t stop = 0;

        if (planted(PLANT_RENEW_OVER))
                return wanted;
        if (ledger_longest(l, hold, wanted, &stop, &err) < 0 || ledger_renew(l, hold, stop, &c, &err) < 0) {
                log_error("the ledger did not renew a reservation: %s", err.text);
                return ledger_hold_at(l, hold)->stop_wall_us;
        }
        money_put(t, &c);
        return stop;
}

/* Does only the job's own budget hold it back? Then the other jobs of an own machine go on: the policy suspends this one. */
static bool only_budget(const struct ledger *l, const struct ledger_hold *h)
{
        int64_t room;
        uint32_t tightest = ledger_tightest(l, h->account, &room);

        return tightest != LEDGER_NONE && tightest == h->account[LEDGER_JOB];
}

/* All stays of an own machine share its one lease: it goes as far as the shortest of them. */
static int64_t renew_stays(struct turn *t, const struct mach *m, int64_t wanted)
{
        struct books *money = t->engine->money;
        int64_t stop = wanted;
        size_t n = 0;

        vec_foreach (k, &money->stakes)
                n += k->stay && id_equal(k->machine, m->rec.id);
        vec_foreach (k, &money->stakes) {
                int64_t got;

                if (!k->stay || !id_equal(k->machine, m->rec.id))
                        continue;
                got = renew_one(t, k->hold, wanted);
                if (got < stop && (n == 1 || !only_budget(&money->ledger, ledger_hold_at(&money->ledger, k->hold))))
                        stop = got;
        }
        if (n < 2 || stop == wanted)
                return stop;
        if (stop < m->rec.stop_possible_wall_us)
                stop = m->rec.stop_possible_wall_us; /* what was asked for before may still hold */
        vec_foreach (k, &money->stakes) /* what one took beyond that is room for the others at the next renewal */
                if (k->stay && id_equal(k->machine, m->rec.id) &&
                        ledger_hold_at(&money->ledger, k->hold)->stop_wall_us > stop)
                        (void)renew_one(t, k->hold, stop);
        return stop;
}

int64_t money_renew(struct turn *t, struct mach *m, int64_t wanted_stop_wall_us)
{
        struct stake *k = money_stake_of_machine(t->engine, m->rec.id);

        money_turn_months(t);
        if (m->rec.own)
                return renew_stays(t, m, wanted_stop_wall_us);
        if (!k) {
                money_found(t, m);
                k = money_stake_of_machine(t->engine, m->rec.id);
        }
        return k ? renew_one(t, k->hold, wanted_stop_wall_us) : wanted_stop_wall_us;
}

static void set_price(struct turn *t, uint32_t hold, int64_t at_wall_us, int64_t nano_hour)
{
        struct ledger_change c;
        struct pd_error err;

        money_turn_months(t);
        if (ledger_price(&t->engine->money->ledger, hold, at_wall_us, nano_hour, &c, &err) >= 0)
                money_put(t, &c);
        else
                log_error("the ledger did not take a new price: %s", err.text);
}

void money_price(struct turn *t, struct mach *m, int64_t nano_hour)
{
        struct stake *k = money_stake_of_machine(t->engine, m->rec.id);

        if (k)
                set_price(t, k->hold, t->now_wall_us, nano_hour);
}

void money_end(struct turn *t, struct mach *m, int64_t end_wall_us)
{
        struct stake *k = money_stake_of_machine(t->engine, m->rec.id);

        if (k && !planted(PLANT_BILL_OPEN))
                money_close(t, k, end_wall_us, m->billed ? m->bill_nano : -1);
}

void money_leave(struct turn *t, struct mach *m)
{
        struct stake *k = money_stake_of_machine(t->engine, m->rec.id);
        struct ledger_change c;
        struct pd_error err;

        if (!k)
                return;
        if (ledger_leave(&t->engine->money->ledger, k->hold, &c, &err) >= 0)
                money_put(t, &c);
        else
                log_error("the ledger did not note that a machine is left: %s", err.text);
}

/* --- stays on own machines --- */
static int64_t share_of(int64_t price, int64_t part, int64_t whole)
{
        __int128 nano;

        if (part <= 0)
                return 0;
        if (whole <= 0 || part >= whole)
                return price;
        nano = ((__int128)price * part + whole - 1) / whole;
        return (int64_t)nano;
}

/* By the largest of its shares of the machine. */
int64_t money_stay_rate(const struct mach *m, const struct job *j)
{
        int64_t price = m->rec.price_nano_hour, rate = share_of(price, j->cpu_milli, js_int(m->caps, "cpu_milli", 0));
        int64_t memory = share_of(price, (int64_t)j->memory_bytes, js_int(m->caps, "memory_bytes", 0));
        int64_t gpus = share_of(price, j->gpus, js_int(m->caps, "gpus", 0));

        rate = memory > rate ? memory : rate;
        return gpus > rate ? gpus : rate;
}

static bool stay_costs(const struct mach *m)
{
        return m->rec.own && m->rec.price_nano_hour > 0 && m->rec.currency[0];
}

/* found: it is there already, and no cap is asked. Until the container runs it costs nothing. */
static int stay_open(struct turn *t, const struct entry *en, struct mach *m, bool found, struct pd_error *err)
{
        struct ledger_terms terms = { .kind = LEDGER_MACHINE,
                .what = engine_id(t->engine),
                .job = en->job.id,
                .out_of = LEDGER_NONE,
                .found = found,
                .price_changes = STAY_CHANGES,
                .ceiling_nano_hour = money_stay_rate(m, &en->job),
                .lag_us = m->conn ? m->conn->caps.stop_lag_us : 0 };
        int64_t wanted = m->rec.stop_possible_wall_us, stop;
        struct store_bill bill;
        struct job_money of;
        char name[192];
        int r = job_money(t->engine, en, &of, err);

        money_turn_months(t);
        if (r < 0)
                return r;
        if (wanted < t->now_wall_us + of.settings.lease_horizon_us)
                wanted = t->now_wall_us + of.settings.lease_horizon_us;
        stop = wanted;
        r = money_budget(t, of.job, &of.settings.budget, err);
        r = r < 0 ? r : money_accounts(t, m->rec.connection, of.project, of.job, m->rec.currency, terms.account, err);
        if (r >= 0 && !found)
                r = long_enough(t, &terms, money_margin_us(&of.settings, m->conn), wanted, &stop, err);
        if (r < 0)
                return r;
        machine_offer_name(m, name, sizeof name);
        bill_of(t, en, m->rec.connection, m->rec.currency, of.project, name, m->rec.id, terms.what, &bill);
        return money_open(t, &terms, &bill, true, stop, err);
}

int money_stay_reserve(struct turn *t, const struct entry *en, struct mach *m, struct pd_error *err)
{
        if (!stay_costs(m) || planted(PLANT_STAY_FREE) || money_stake_of_stay(t->engine, m->rec.id, en->job.id))
                return 0;
        return stay_open(t, en, m, false, err);
}

void money_stay_begin(struct turn *t, struct entry *en)
{
        struct mach *m = machine_find(t->engine, en->job.machine);
        struct stake *k = m ? money_stake_of_stay(t->engine, m->rec.id, en->job.id) : NULL;
        const struct ledger_hold *h;
        struct pd_error err;
        int64_t at;

        if (!m || !stay_costs(m) || planted(PLANT_STAY_FREE))
                return;
        if (!k && stay_open(t, en, m, true, &err) < 0) {
                log_error("a job's stay is on no bill: %s", err.text);
                return;
        }
        k = money_stake_of_stay(t->engine, m->rec.id, en->job.id);
        h = ledger_hold_at(&t->engine->money->ledger, k->hold);
        at = en->job.started_wall_us > h->until_wall_us ? en->job.started_wall_us : h->until_wall_us;
        if (h->price_nano_hour == 0)
                set_price(t, k->hold, at < t->now_wall_us ? at : t->now_wall_us, money_stay_rate(m, &en->job));
}

void money_stay_end(struct turn *t, struct entry *en, int64_t end_wall_us)
{
        struct stake *k = money_stake_of_stay(t->engine, en->job.machine, en->job.id);

        if (k)
                money_close(t, k, end_wall_us < t->now_wall_us ? end_wall_us : t->now_wall_us, -1);
}

/* Is it there for the job: does the job run on it, or move to or from it? */
static bool stays_on(const struct job *j, struct id machine)
{
        return job_state_placed((enum job_state)j->state) &&
               (id_equal(j->machine, machine) || id_equal(j->other, machine));
}

/* Its container ran for as long as its runner says: the time since portald heard of its end is nobody's. */
static int64_t stay_over(const struct turn *t, const struct job *before, const struct job *after)
{
        int64_t ran = after->ran_us - before->ran_us;

        return before->started_wall_us > 0 && ran >= 0 && before->started_wall_us + ran < t->now_wall_us
                       ? before->started_wall_us + ran
                       : t->now_wall_us;
}

void money_job_changed(struct turn *t, struct entry *en, const struct job *before)
{
        const struct job *after = &en->job;
        struct books *m = t->engine->money;

        if (!m)
                return;
        for (size_t i = m->stakes.n; i-- > 0;) { /* from the end: one that is closed takes the last one's place */
                struct stake *k = &m->stakes.at[i];

                if (!k->stay || !id_equal(k->job, after->id) || stays_on(after, k->machine))
                        continue;
                money_close(
                        t, k, id_equal(k->machine, before->machine) ? stay_over(t, before, after) : t->now_wall_us, -1);
        }
        if (after->state == JOB_RUNNING && before->state != JOB_RUNNING)
                money_stay_begin(t, en);
}

/* --- the regular check --- */
void money_check(struct turn *t, struct entry *en)
{
        struct books *money = t->engine->money;
        struct mach *m = en->live ? en->live->machine : NULL;
        struct stake *k;
        const struct ledger_hold *h;
        char job[ID_TEXT_MAX];
        struct pd_error err;
        int64_t until;

        if (!m || !m->rec.currency[0])
                return;
        if (en->job.state == JOB_RUNNING)
                money_stay_begin(t, en);
        k = m->rec.own ? money_stake_of_stay(t->engine, m->rec.id, en->job.id)
                       : money_stake_of_machine(t->engine, m->rec.id);
        if (!k)
                return;
        if (memcmp(&k->budget, &en->live->settings.budget, sizeof k->budget) != 0) {
                if (money_budget(t, id_format(ID_JOB, en->job.id, job), &en->live->settings.budget, &err) < 0)
                        log_error("the budget of %s could not be set: %s", job, err.text);
                k->budget = en->live->settings.budget;
        }
        h = ledger_hold_at(&money->ledger, k->hold);
        if (k->stay && m->caps && h->price_nano_hour > 0 && h->price_nano_hour != money_stay_rate(m, &en->job))
                set_price(t, k->hold, t->now_wall_us, money_stay_rate(m, &en->job));
        until = rent_lived_until(m, t->now_wall_us);
        if (until - h->until_wall_us >= POST_EVERY_US)
                money_post(t, k->hold, until);
}

/* The wall clock was set ahead: the time that did not pass costs nothing. A step back is covered by what was posted. */
void money_clock_stepped(struct engine *e, int64_t by_us)
{
        struct turn *t;

        if (!e->money || by_us <= 0 || e->money->stakes.n == 0 || !(t = turn_new(e)))
                return;
        vec_foreach (k, &e->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(&e->money->ledger, k->hold);
                int64_t price = h->price_nano_hour, was = t->now_wall_us - by_us;

                if (!k->stay || price == 0)
                        continue; /* a provider has a clock of its own */
                set_price(t, k->hold, was > h->until_wall_us ? was : h->until_wall_us, 0);
                set_price(t, k->hold, t->now_wall_us, price);
        }
        turn_end(t);
}
