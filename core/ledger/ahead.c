/* SPDX-License-Identifier: Apache-2.0 */
/* Looking ahead: how long the caps let a machine run, when to suspend, and who goes when a cap was lowered. All in closed form: no search, no slices. */
#include "ledger/internal.h"

/* What the hold costs at worst if its time from now on were free. */
static wide worst_without_time(const struct ledger_hold *h)
{
        int64_t flat = h->other_nano > h->flat_worst_nano ? h->other_nano : h->flat_worst_nano;

        return (wide)h->time_nano + h->price_changes + flat;
}

/* The latest stop of a machine that may cost `nano` in all, as a time; before the start = none, however soon. The inverse of worst_of(). */
static int64_t stop_within(const struct ledger_hold *h, wide nano)
{
        wide rest = nano - worst_without_time(h);
        wide span;

        if (rest < 0)
                return -1;
        if (h->ceiling_nano_hour == 0)
                return INT64_MAX;
        span = h->until_wall_us - h->from_wall_us + rest * HOUR / h->ceiling_nano_hour;
        if (span < h->minimum_us)
                return -1;
        if (h->step_us > 0)
                span -= span % h->step_us;
        return (int64_t)at_most(span + h->from_wall_us - h->lag_us, INT64_MAX);
}

/* Does a later stop raise anything? What raises nothing needs no room. */
static bool asks(const struct ledger_hold *h, wide promised)
{
        return h->ceiling_nano_hour > 0 || worst_without_time(h) > promised;
}

/* ... by the caps of its accounts; *ret_account is the tightest. */
static int64_t stop_by_caps(const struct ledger *l, const struct ledger_hold *h, wide promised, uint32_t *ret_account)
{
        int64_t room;

        *ret_account = ledger_tightest(l, h->account, &room);
        return *ret_account == LEDGER_NONE || !asks(h, promised) ? INT64_MAX : stop_within(h, promised + room);
}

static bool barred(const struct ledger *l, const struct ledger_hold *h)
{
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                const struct ledger_account *a = ledger_account_at(l, h->account[i]);

                if (a && barred_by(l, a))
                        return true;
        }
        return false;
}

static int64_t longest(const struct ledger *l, const struct ledger_hold *h, uint32_t *ret_account)
{
        wide promised = (wide)h->time_nano + h->other_nano + ledger_rest(h); /* what it counts for now */
        int64_t stop = stop_by_caps(l, h, promised, ret_account);

        if (asks(h, promised) && barred(l, h))
                return h->stop_wall_us;
        return stop > h->stop_wall_us && h->state == LEDGER_OPEN ? stop : h->stop_wall_us;
}

static int hold_of(const struct ledger *l, uint32_t id, const struct ledger_hold **ret, struct pd_error *err)
{
        *ret = ledger_hold_at(l, id);
        if (!*ret)
                return fail_hold(err, id);
        if ((*ret)->state == LEDGER_CLOSED)
                return pd_fail(err, PD_E_CONFLICT, "reservation %u was released: it has nothing ahead", (unsigned)id);
        return 0;
}

int ledger_longest(
        const struct ledger *l, uint32_t hold, int64_t wanted_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        const struct ledger_hold *h;
        uint32_t tightest;
        int r = hold_of(l, hold, &h, err);

        if (r < 0)
                return r;
        if (wanted_wall_us <= h->stop_wall_us)
                *ret_stop_wall_us = h->stop_wall_us;
        else
                *ret_stop_wall_us = (int64_t)at_most(longest(l, h, &tightest), wanted_wall_us);
        return 0;
}

int ledger_longest_new(const struct ledger *l, const struct ledger_terms *t, int64_t from_wall_us,
        int64_t wanted_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        struct ledger_hold h = { 0 };
        uint32_t tightest;
        int64_t stop;
        int r = hold_draft(t, from_wall_us, from_wall_us, &h, err);

        r = r < 0 ? r : accounts_check(l, t->account, err);
        if (r >= 0 && (h.worst_nano > 0 || h.ceiling_nano_hour > 0))
                r = caps_allow(l, t->account, h.worst_nano, err);
        if (r < 0)
                return r;
        stop = stop_by_caps(l, &h, 0, &tightest);
        *ret_stop_wall_us = stop < wanted_wall_us ? stop : wanted_wall_us;
        return 0;
}

/* --- when to suspend --- */
static bool margin_good(const struct ledger_margin *m)
{
        return m->save_deadline_us >= 0 && m->save_deadline_us <= LEDGER_SPAN_MAX && m->check_us >= 0 &&
               m->check_us <= LEDGER_SPAN_MAX && m->save_us >= 0 && m->save_us <= LEDGER_SPAN_MAX && m->save_nano >= 0;
}

/* P-07: a little before the budget is spent = the cost of the time to the next check, and of the measured save. */
static int64_t budget_end(const struct ledger *l, const struct ledger_hold *h, const struct ledger_margin *m)
{
        const struct ledger_account *a = ledger_account_at(l, h->account[LEDGER_JOB]);
        int64_t price = h->price_nano_hour;
        wide little = ((wide)price * (m->check_us + m->save_us) + HOUR - 1) / HOUR + m->save_nano;
        wide left, at;

        if (!a || !a->capped)
                return INT64_MAX;
        left = (wide)a->cap_nano - a->spent_nano - little;
        if (left <= 0)
                return h->until_wall_us;
        if (price == 0)
                return INT64_MAX;
        at = h->segment_wall_us + (left + h->segment_nano) * HOUR / price;
        return (int64_t)at_most(at, INT64_MAX);
}

int ledger_left(const struct ledger *l, uint32_t hold, const struct ledger_margin *margin, struct ledger_left *ret,
        struct pd_error *err)
{
        struct ledger_left left;
        const struct ledger_hold *h;
        int r = hold_of(l, hold, &h, err);

        if (r < 0)
                return r;
        if (!margin_good(margin))
                return pd_fail(err, PD_E_INVALID,
                        "save deadline, check and save are from 0 to 100 years, and a save costs 0 or more");
        left.last_stop_wall_us = longest(l, h, &left.account);
        left.suspend_wall_us = left.last_stop_wall_us;
        if (left.last_stop_wall_us != INT64_MAX)
                left.suspend_wall_us -= margin->save_deadline_us + h->lag_us + margin->check_us;
        left.budget_wall_us = budget_end(l, h, margin);
        *ret = left;
        return 0;
}

/* --- a cap below what is used --- */
/* What the hold's end gives back: its rest, less what it still costs until it is gone, and less what was put aside for its save and its checkpoint. */
static int64_t frees(const struct ledger_hold *h, int64_t keep_us)
{
        wide rest = ledger_rest(h);

        rest -= ((wide)h->ceiling_nano_hour * (keep_us + h->lag_us) + HOUR - 1) / HOUR;
        if (h->flat_worst_nano > h->other_nano)
                rest -= (wide)h->flat_worst_nano - h->other_nano;
        return rest > 0 ? (int64_t)rest : 0;
}

static int newest_first(const void *a, const void *b)
{
        const struct ledger_leaver *x = a, *y = b;
        int by_start = (x->from_wall_us < y->from_wall_us) - (x->from_wall_us > y->from_wall_us);

        return by_start ? by_start : (x->hold < y->hold) - (x->hold > y->hold);
}

/* The account's machines, to *list where they stay; what those that leave give back is taken off *excess. */
static bool gather(const struct ledger *l, const struct ledger_account *a, int64_t keep_us, struct ledger_leavers *list,
        wide *excess)
{
        vec_foreach (h, &l->holds) {
                struct ledger_leaver one = {
                        .hold = h->id, .from_wall_us = h->from_wall_us, .frees_nano = frees(h, keep_us)
                };

                if (h->account[a->scope] != a->id || h->kind != LEDGER_MACHINE || h->ceiling_nano_hour == 0)
                        continue;
                if (h->state == LEDGER_LEAVING)
                        *excess -= one.frees_nano;
                else if (h->state == LEDGER_OPEN && !vec_push(list, one))
                        return false;
        }
        return true;
}

int ledger_over(
        const struct ledger *l, uint32_t account, int64_t keep_us, struct ledger_leavers *list, struct pd_error *err)
{
        const struct ledger_account *a = ledger_account_at(l, account);
        size_t first = list->n, kept;
        wide excess;

        if (!a)
                return fail_account(err, account);
        if (keep_us < 0 || keep_us > LEDGER_SPAN_MAX)
                return pd_fail(err, PD_E_INVALID, "a save deadline is from 0 to 100 years");
        excess = barred_by(l, a) ? (wide)INT64_MAX * LEDGER_IDS_MAX : -(wide)ledger_room(a);
        if (excess <= 0)
                return 0;
        if (!gather(l, a, keep_us, list, &excess)) {
                list->n = first;
                return pd_fail(err, PD_E_NOMEM, "no memory for the list of jobs to suspend");
        }
        if (list->n > first)
                qsort(list->at + first, list->n - first, sizeof *list->at, newest_first);
        for (kept = first; kept < list->n && excess > 0; kept++)
                excess -= list->at[kept].frees_nano;
        list->n = kept;
        return 0;
}
