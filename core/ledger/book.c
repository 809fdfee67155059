/* SPDX-License-Identifier: Apache-2.0 */
/* Booking: one drafted hold and its lines onto all its accounts at once, or not at all. */
#include "ledger/internal.h"

int fail_hold(struct pd_error *err, uint32_t id)
{
        return pd_fail(err, PD_E_NOT_FOUND, "the ledger has no reservation %u", (unsigned)id);
}

const struct ledger_hold *ledger_hold_at(const struct ledger *l, uint32_t id)
{
        return id < l->holds.n && l->holds.at[id].state != LEDGER_FREE ? &l->holds.at[id] : NULL;
}

int open_hold(struct ledger *l, uint32_t id, struct ledger_hold **ret, struct pd_error *err)
{
        if (!ledger_hold_at(l, id))
                return fail_hold(err, id);
        if (l->holds.at[id].state == LEDGER_CLOSED)
                return pd_fail(
                        err, PD_E_CONFLICT, "reservation %u was released: nothing more is posted on it", (unsigned)id);
        *ret = &l->holds.at[id];
        return 0;
}

int64_t ledger_rest(const struct ledger_hold *h)
{
        wide rest = (wide)h->worst_nano - h->time_nano - h->other_nano;

        if (h->state == LEDGER_FREE || h->state == LEDGER_CLOSED)
                return 0;
        return rest > 0 ? (int64_t)rest : 0;
}

/* Cost of h's present segment from its start to x. It was posted that far, or is about to be: so it fits. */
static int64_t segment_cost(const struct ledger_hold *h, int64_t x)
{
        return x > h->segment_wall_us ? money_cost(h->price_nano_hour, x - h->segment_wall_us) : 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* How much of a line belongs to what was before the account's period. h as it was before the line. */
static int64_t line_before(const struct ledger_account *a, const struct ledger_hold *h, const struct ledger_line *line)
{
        int64_t start = a->from_wall_us;
        bool ends = line->kind == LEDGER_ROUNDING || line->kind == LEDGER_CORRECTION;

        if (line->kind == LEDGER_TIME)
                return segment_cost(h, earlier(start, line->until_wall_us)) -
                       segment_cost(h, earlier(start, line->from_wall_us));
        /* what ended at the boundary is of the period before it; what happened at it, of the one after */
        return line->until_wall_us < start + ends ? line->nano : 0;
}

/* False = a sum does not fit. Less than nothing is never spent in a period: what is taken back beyond it is of the time before. */
static bool account_add(struct ledger_account *a, wide before, wide present, wide open)
{
        present += a->spent_nano;
        before += a->before_nano + (present < 0 ? present : 0);
        present = present < 0 ? 0 : present;
        open += a->open_nano;
        if (before > INT64_MAX || present + open > INT64_MAX)
                return false;
        a->before_nano = (int64_t)before;
        a->spent_nano = (int64_t)present;
        a->open_nano = (int64_t)open;
        return true;
}

static bool account_book(struct ledger_account *a, const struct ledger_hold *old, const struct ledger_hold *draft,
        const struct ledger_line *lines, size_t lines_n)
{
        wide before = 0, all = 0;

        for (size_t i = 0; i < lines_n; i++) {
                before += line_before(a, old, &lines[i]);
                all += lines[i].nano;
        }
        return account_add(a, before, all - before, (wide)ledger_rest(draft) - ledger_rest(old));
}

static void change_fill(
        struct ledger_change *change, struct ledger_hold *h, const struct ledger_line *lines, size_t lines_n)
{
        for (size_t i = 0; i < lines_n; i++) {
                struct ledger_line *line = &change->line[i];

                *line = lines[i];
                line->hold = h->id;
                line->what = h->what;
                line->job = h->job;
                line->seq = h->lines++;
        }
        change->lines_n = lines_n;
        change->hold[0] = h->id;
}

/* What this booking posted beyond the worst case. */
static int64_t over_of(const struct ledger_hold *h)
{
        wide over = (wide)h->time_nano + h->other_nano - h->worst_nano;

        return over > 0 ? (int64_t)over : 0;
}

int book(struct ledger *l, const struct ledger_hold *draft, const struct ledger_line *lines, size_t lines_n,
        struct ledger_change *change, struct pd_error *err)
{
        struct ledger_hold *h = &l->holds.at[draft->id];
        struct ledger_account next[LEDGER_SCOPE_N];
        int64_t over = over_of(h);

        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                if (draft->account[i] == LEDGER_NONE)
                        continue;
                next[i] = l->accounts.at[draft->account[i]];
                if (!account_book(&next[i], h, draft, lines, lines_n))
                        return fail_overflow(err, "the sum of an account");
        }
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                change->account[i] = draft->account[i];
                if (draft->account[i] != LEDGER_NONE)
                        l->accounts.at[draft->account[i]] = next[i];
        }
        *h = *draft;
        over = over_of(h) - over;
        change->over_nano = over > 0 ? over : 0;
        change_fill(change, h, lines, lines_n);
        return 0;
}
