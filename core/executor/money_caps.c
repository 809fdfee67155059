/* SPDX-License-Identifier: Apache-2.0 */
/* Caps and budgets: from the site and the settings into the ledger's accounts, month by month (N-04, P-07). */
#include "executor/money.h"

#include <time.h>

#include "base/log.h"

#define MONTH_LOOK_US USEC_PER_HOUR /* the clock may step: no month's end is trusted for longer unseen */

/* --- months --- */
static void month_utc(int64_t at_wall_us, int64_t *ret_from, int64_t *ret_until)
{
        time_t at = (time_t)(at_wall_us / USEC_PER_SEC);
        struct tm day = { 0 }, next;

        (void)gmtime_r(&at, &day);
        next = day = (struct tm){ .tm_year = day.tm_year, .tm_mon = day.tm_mon, .tm_mday = 1 };
        next.tm_mon++;
        *ret_from = (int64_t)timegm(&day) * USEC_PER_SEC;
        *ret_until = (int64_t)timegm(&next) * USEC_PER_SEC;
}

static void period_of(struct engine *e, const struct engine_cap *cap, struct ledger_cap *ret)
{
        int64_t now = now_wall(e);
        struct pd_error err;

        ret->from_wall_us = INT64_MIN;
        ret->until_wall_us = INT64_MAX;
        if (!cap->month)
                return;
        if (e->env->ops->month_of && !streq(str_or(cap->timezone, "UTC"), "UTC")) {
                if (e->env->ops->month_of(e->env, cap->timezone, now, &ret->from_wall_us, &ret->until_wall_us, &err) >=
                        0)
                        return;
                log_error("the month of time zone \"%s\" cannot be told (%s): the cap goes by that of UTC",
                        cap->timezone, err.text);
        }
        month_utc(now, &ret->from_wall_us, &ret->until_wall_us);
}

/* --- what was spent in a period that is not the one counted so far --- */
struct recount {
        const char *currency;
        int64_t from, until, nano;
};

static int recount_line(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        struct recount *x = arg;
        int64_t from = line->from_wall_us > x->from ? line->from_wall_us : x->from;
        int64_t until = line->until_wall_us < x->until ? line->until_wall_us : x->until;
        int64_t all = line->until_wall_us - line->from_wall_us;

        if (!streq(b->currency, x->currency))
                return 0;
        if (all <= 0 || until - from == all)
                x->nano += line->nano;
        else if (until > from) /* in proportion, rounded up: a cap is rather too tight than too wide */
                x->nano += (int64_t)(((__int128)line->nano * (until - from) + all - 1) / all);
        return 0;
}

static void recount(struct engine *e, const struct ledger_account *a, struct ledger_cap *cap)
{
        struct recount x = { .currency = a->currency, .from = cap->from_wall_us, .until = cap->until_wall_us };
        const struct store_bill_filter f = { .connection = a->key, .from_wall_us = x.from, .until_wall_us = x.until };
        struct pd_error err;

        if (store_scan_bill(e->env->store, &f, recount_line, &x, &err) < 0) {
                log_error("what was spent on %s cannot be counted again (%s): what is counted stays", a->key, err.text);
                return;
        }
        cap->recounted = true;
        cap->spent_nano = x.nano > 0 ? x.nano : 0;
}

static void set_cap(struct turn *t, uint32_t account, const struct ledger_cap *cap)
{
        struct ledger_change c;
        struct pd_error err;

        if (ledger_cap(&t->engine->money->ledger, account, cap, &c, &err) >= 0)
                money_put(t, &c);
        else
                log_error("a cap could not be set: %s", err.text);
}

static void cap_connection(struct turn *t, const struct engine_connection *site)
{
        struct engine *e = t->engine;
        const struct ledger_account *a;
        struct ledger_cap cap = { .nano = site->cap.amount.nano };
        struct ledger_change c;
        struct pd_error err;
        uint32_t id;

        if (ledger_account(&e->money->ledger, LEDGER_CONNECTION, site->name, site->cap.amount.currency, &id, &c, &err) <
                0) {
                log_error("the cap of connection %s could not be set: %s", site->name, err.text);
                return;
        }
        money_put(t, &c);
        a = ledger_account_at(&e->money->ledger, id);
        period_of(e, &site->cap, &cap);
        if (a->from_wall_us != cap.from_wall_us && cap.from_wall_us < a->until_wall_us &&
                a->spent_nano + a->before_nano > 0)
                recount(e, a, &cap);
        set_cap(t, id, &cap);
}

static const struct engine_connection *capped_by(
        const struct engine_site *site, const char *connection, const char *currency)
{
        for (size_t i = 0; i < site->connections_n; i++)
                if (streq(site->connections[i].name, connection) && site->connections[i].cap.amount.currency[0] &&
                        (!currency || streq(site->connections[i].cap.amount.currency, currency)))
                        return &site->connections[i];
        return NULL;
}

static void post_all(struct turn *t, uint32_t account, int64_t until)
{
        struct ledger *l = &t->engine->money->ledger;
        struct ledger_change c;
        struct pd_error err;

        vec_foreach (k, &t->engine->money->stakes) {
                const struct ledger_hold *h = ledger_hold_at(l, k->hold);

                if (h->account[LEDGER_CONNECTION] != account || h->until_wall_us >= until)
                        continue;
                if (ledger_post(l, k->hold, until, &c, &err) >= 0)
                        money_put(t, &c);
                else
                        log_error("the ledger did not post up to the end of a month: %s", err.text);
        }
}

/* The account whose period is over, or LEDGER_NONE; *ret_next is the next end of one. */
static uint32_t over_at(const struct ledger *l, int64_t now_wall_us, int64_t *ret_next)
{
        *ret_next = INT64_MAX;
        vec_foreach (a, &l->accounts) {
                if (!a->live || a->scope != LEDGER_CONNECTION || !a->capped)
                        continue;
                if (a->until_wall_us <= now_wall_us)
                        return a->id;
                *ret_next = a->until_wall_us < *ret_next ? a->until_wall_us : *ret_next;
        }
        return LEDGER_NONE;
}

static void months_arm(struct engine *e, int64_t next_wall_us)
{
        int64_t in = next_wall_us == INT64_MAX ? INT64_MAX : next_wall_us - now_wall(e);

        if (in > MONTH_LOOK_US && in != INT64_MAX)
                in = MONTH_LOOK_US;
        e->env->ops->timer_set(e->money->month, in == INT64_MAX ? in : now_boot(e) + in);
}

void money_turn_months(struct turn *t)
{
        struct ledger *l = &t->engine->money->ledger;
        int64_t next;
        uint32_t id;

        if (t->now_wall_us < t->engine->money->month_ends_wall_us)
                return;
        while ((id = over_at(l, t->now_wall_us, &next)) != LEDGER_NONE) {
                const struct ledger_account *a = ledger_account_at(l, id);
                const struct engine_connection *site = capped_by(t->engine->site, a->key, a->currency);
                struct ledger_cap cap = { .nano = a->cap_nano };
                int64_t until = a->until_wall_us;

                post_all(t, id, until);
                if (site)
                        period_of(t->engine, &site->cap, &cap);
                if (!site || cap.until_wall_us <= t->now_wall_us) { /* its cap has gone: all is one period */
                        set_cap(t, id, NULL);
                        continue;
                }
                set_cap(t, id, &cap);
                log_info("a new month begins for the cap of connection %s", ledger_account_at(l, id)->key);
        }
        t->engine->money->month_ends_wall_us = next;
}

static void on_month(void *arg)
{
        struct engine *e = arg;
        struct turn *t = e->stopping || e->broken ? NULL : turn_new(e);

        if (!t)
                return;
        money_turn_months(t);
        months_arm(e, e->money->month_ends_wall_us);
        turn_end(t);
        place_anew(e); /* what the old month's cap refused may fit now */
}

/* --- the site's caps --- */
static void check_leavers(struct engine *e, uint32_t account)
{
        struct ledger_leavers list = { 0 };
        struct pd_error err;

        if (ledger_over(&e->money->ledger, account, 10 * USEC_PER_MIN, &list, &err) < 0)
                log_error("who must go for a cap cannot be told: %s", err.text);
        for (size_t i = 0; i < list.n; i++)
                vec_foreach (k, &e->money->stakes)
                        if (k->hold == list.at[i].hold && jobs_find(e, k->job))
                                jobs_due(e, jobs_find(e, k->job), now_boot(e));
        vec_free(&list);
        jobs_arm(e);
}

int money_site(struct engine *e, struct pd_error *err)
{
        struct turn *t = turn_new(e);
        int64_t next;

        if (!t)
                return pd_fail(err, PD_E_NOMEM, "no memory for the caps");
        money_turn_months(t);
        for (uint32_t i = 0; i < e->money->ledger.accounts.n; i++) {
                const struct ledger_account *a = ledger_account_at(&e->money->ledger, i);

                if (a && a->scope == LEDGER_CONNECTION && a->capped && !capped_by(e->site, a->key, a->currency))
                        set_cap(t, i, NULL);
        }
        for (size_t i = 0; i < e->site->connections_n; i++)
                if (e->site->connections[i].cap.amount.currency[0])
                        cap_connection(t, &e->site->connections[i]);
        (void)over_at(&e->money->ledger, t->now_wall_us, &next);
        e->money->month_ends_wall_us = next;
        turn_end(t);
        months_arm(e, next);
        for (uint32_t i = 0; i < e->money->ledger.accounts.n; i++) {
                const struct ledger_account *a = ledger_account_at(&e->money->ledger, i);

                if (a && a->capped && ledger_room(a) < 0)
                        check_leavers(e, i);
        }
        place_anew(e);
        return 0;
}

int money_start(struct engine *e, struct pd_error *err)
{
        struct books *m = e->money = calloc(1, sizeof *m);
        int r = m ? e->env->ops->timer_new(e->env, &m->month, on_month, e, err)
                  : pd_fail(err, PD_E_NOMEM, "no memory for the ledger");

        if (r < 0 || (r = store_load_ledger(e->env->store, &m->ledger, err)) < 0)
                return r;
        vec_foreach (h, &m->ledger.holds) {
                struct store_bill b;

                if (h->state == LEDGER_FREE)
                        continue;
                if ((r = store_get_bill(e->env->store, h->what, &b, err)) < 0)
                        return r;
                if (!vec_push(&m->stakes, ((struct stake){ .hold = h->id,
                                                  .machine = b.machine,
                                                  .job = b.job,
                                                  .stay = !id_equal(b.what, b.machine) })))
                        return pd_fail(err, PD_E_NOMEM, "no memory for the ledger");
        }
        return money_site(e, err);
}

void money_free(struct engine *e)
{
        if (!e->money)
                return;
        if (e->money->month)
                e->env->ops->timer_free(e->money->month);
        ledger_free(&e->money->ledger);
        vec_free(&e->money->stakes);
        free(e->money);
        e->money = NULL;
}

/* --- budgets --- */
int money_budget(struct turn *t, const char *job, const struct money *budget, struct pd_error *err)
{
        struct ledger *l = &t->engine->money->ledger;
        struct ledger_cap cap = { .nano = budget->nano, .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        const struct ledger_account *a;
        struct ledger_change c;
        uint32_t id = LEDGER_NONE;
        int r;

        vec_foreach (other, &l->accounts) /* of one job only one currency has a cap */
                if (other->live && other->scope == LEDGER_JOB && other->capped && streq(other->key, job) &&
                        !streq(other->currency, budget->currency))
                        set_cap(t, other->id, NULL);
        if (!budget->currency[0])
                return 0;
        r = ledger_account(l, LEDGER_JOB, job, budget->currency, &id, &c, err);
        if (r < 0)
                return r;
        money_put(t, &c);
        a = ledger_account_at(l, id);
        if (a->capped && a->cap_nano == budget->nano)
                return 0;
        r = ledger_cap(l, id, &cap, &c, err);
        if (r >= 0)
                money_put(t, &c);
        return r;
}

bool money_must_go(const struct engine *e, uint32_t hold, int64_t keep_us)
{
        const struct ledger *l = &e->money->ledger;
        const struct ledger_hold *h = ledger_hold_at(l, hold);
        struct ledger_leavers list = { 0 };
        bool goes = false;

        for (int i = LEDGER_CONNECTION; i <= LEDGER_PROJECT; i++) {
                const struct ledger_account *a = ledger_account_at(l, h->account[i]);

                if (a && a->capped && ledger_room(a) < 0 && ledger_over(l, a->id, keep_us, &list, NULL) < 0)
                        goes = true; /* no memory to tell: rather too many than above the cap */
        }
        for (size_t i = 0; i < list.n; i++)
                goes |= list.at[i].hold == hold;
        vec_free(&list);
        return goes;
}

int64_t money_margin_us(const struct settings *s, const struct connection *c)
{
        return s->check_every_us + s->save_deadline_us + (c ? c->caps.stop_lag_us : 0);
}
