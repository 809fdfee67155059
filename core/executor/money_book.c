/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's books: what the ledger changes goes into the transaction of its cause, and stays known by machine and job. */
#include "executor/money.h"

#include "base/log.h"

void money_put(struct turn *t, const struct ledger_change *c)
{
        if (c->over_nano > 0)
                log_warning("a machine cost %lld nano more than its worst case: it outlived its hard stop, or its "
                            "price passed its ceiling",
                        (long long)c->over_nano);
        txn_ledger(t->txn, &t->engine->money->ledger, c);
}

struct stake *money_stake_of_machine(const struct engine *e, struct id machine)
{
        vec_foreach (k, &e->money->stakes)
                if (!k->stay && id_equal(k->machine, machine))
                        return k;
        return NULL;
}

struct stake *money_stake_of_stay(const struct engine *e, struct id machine, struct id job)
{
        vec_foreach (k, &e->money->stakes)
                if (k->stay && id_equal(k->machine, machine) && id_equal(k->job, job))
                        return k;
        return NULL;
}

int money_accounts(struct turn *t, const char *connection, const char *project, const char *job, const char *currency,
        uint32_t ret[LEDGER_SCOPE_N], struct pd_error *err)
{
        const char *keys[LEDGER_SCOPE_N] = { connection, project, job };
        struct ledger_change c;
        int r;

        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                ret[i] = LEDGER_NONE;
                if (!keys[i] || !keys[i][0])
                        continue;
                r = ledger_account(
                        &t->engine->money->ledger, (enum ledger_scope)i, keys[i], currency, &ret[i], &c, err);
                if (r < 0)
                        return r;
                money_put(t, &c);
        }
        return 0;
}

int money_open(struct turn *t, const struct ledger_terms *terms, const struct store_bill *bill, bool stay,
        int64_t stop_wall_us, struct pd_error *err)
{
        struct books *m = t->engine->money;
        struct ledger_change c;
        struct stake k = { .machine = bill->machine, .job = bill->job, .stay = stay };
        int r;

        if (!vec_push(&m->stakes, k)) /* before the ledger changes, so that nothing is left half done */
                return pd_fail(err, PD_E_NOMEM, "no memory for a reservation");
        r = ledger_reserve(&m->ledger, terms, t->now_wall_us, stop_wall_us, &k.hold, &c, err);
        if (r < 0) {
                m->stakes.n--;
                return r;
        }
        m->stakes.at[m->stakes.n - 1] = k;
        txn_bill(t->txn, bill);
        money_put(t, &c);
        return 0;
}

/* What a call says that cannot happen: the books would be wrong, so it is told and nothing is hidden. */
static bool done(int r, const struct pd_error *err, const char *what)
{
        if (r < 0)
                log_error("the ledger did not %s: %s", what, err->text);
        return r >= 0;
}

void money_post(struct turn *t, uint32_t hold, int64_t until_wall_us)
{
        struct ledger_change c;
        struct pd_error err;

        money_turn_months(t);
        if (done(ledger_post(&t->engine->money->ledger, hold, until_wall_us, &c, &err), &err, "post time"))
                money_put(t, &c);
}

void money_close(struct turn *t, struct stake *k, int64_t end_wall_us, int64_t bill_nano)
{
        struct books *m = t->engine->money;
        const struct ledger_hold *h = ledger_hold_at(&m->ledger, k->hold);
        struct ledger_change c;
        struct pd_error err;
        bool closed;

        money_turn_months(t);
        if (end_wall_us < h->from_wall_us)
                end_wall_us = h->from_wall_us;
        closed = done(ledger_release(&m->ledger, k->hold, end_wall_us, &c, &err), &err, "release a reservation");
        if (!closed)
                return;
        money_put(t, &c);
        if (bill_nano >= 0 && done(ledger_correct(&m->ledger, k->hold, bill_nano, &c, &err), &err, "correct a bill"))
                money_put(t, &c);
        if (done(ledger_forget(&m->ledger, k->hold, &c, &err), &err, "forget a reservation"))
                money_put(t, &c);
        vec_swap_remove(&m->stakes, k - m->stakes.at);
}

int64_t money_unposted(const struct ledger_hold *h, int64_t now_wall_us)
{
        if (now_wall_us <= h->until_wall_us)
                return 0;
        return money_cost(h->price_nano_hour, now_wall_us - h->segment_wall_us) - h->segment_nano;
}
