/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as a flat array of records, and back: every sum is counted again. */
#include "ledger/internal.h"

size_t ledger_export_n(const struct ledger *l)
{
        size_t n = l->order.n;

        vec_foreach (h, &l->holds)
                n += h->state != LEDGER_FREE;
        return n;
}

void ledger_export(const struct ledger *l, struct ledger_record *ret)
{
        vec_foreach (id, &l->order)
                *ret++ = (struct ledger_record){ .account = l->accounts.at[*id] };
        vec_foreach (h, &l->holds)
                if (h->state != LEDGER_FREE)
                        *ret++ = (struct ledger_record){ .is_hold = true, .hold = *h };
}

static int fail_record(struct pd_error *err, const char *what, uint32_t id)
{
        return pd_fail(err, PD_E_CORRUPT, "the stored %s %u of the ledger does not add up: restore a backup", what,
                (unsigned)id);
}

static bool account_good(const struct ledger_account *a)
{
        return a->live && a->scope < LEDGER_SCOPE_N && a->key[0] && memchr(a->key, '\0', sizeof a->key) &&
               memchr(a->currency, '\0', sizeof a->currency) && a->from_wall_us < a->until_wall_us &&
               a->cap_nano >= 0 && a->spent_nano >= 0 && a->open_nano >= 0 && a->spent_nano <= INT64_MAX - a->open_nano;
}

static bool hold_states_good(const struct ledger_hold *h)
{
        return h->kind <= LEDGER_STORAGE && h->state >= LEDGER_OPEN && h->state <= LEDGER_CLOSED;
}

static bool hold_times_good(const struct ledger_hold *h)
{
        return h->from_wall_us >= 0 && h->from_wall_us <= h->segment_wall_us &&
               h->segment_wall_us <= h->until_wall_us && h->stop_wall_us >= h->from_wall_us;
}

static bool span_bad(int64_t us)
{
        return us < 0 || us > LEDGER_SPAN_MAX;
}

static bool hold_terms_good(const struct ledger_hold *h)
{
        return h->price_nano_hour >= 0 && h->price_nano_hour <= h->ceiling_nano_hour && h->price_changes >= 0 &&
               h->flat_worst_nano >= 0 && !span_bad(h->minimum_us) && !span_bad(h->step_us) && !span_bad(h->lag_us);
}

static bool hold_sums_good(const struct ledger_hold *h)
{
        wide posted = (wide)h->time_nano + h->other_nano;

        return h->worst_nano >= 0 && h->segment_nano >= 0 && h->segment_nano <= h->time_nano && posted >= 0 &&
               posted <= INT64_MAX;
}

/* --- places for the ids --- */
/* Zeroed places 0 .. n - 1, each knowing its id, and room for as many free ids. */
static bool places(struct ledger *l, size_t accounts_n, size_t holds_n)
{
        l->accounts.at = calloc(accounts_n + 1, sizeof *l->accounts.at);
        l->order.at = calloc(accounts_n + 1, sizeof *l->order.at);
        l->free_accounts.at = calloc(accounts_n + 1, sizeof *l->free_accounts.at);
        l->holds.at = calloc(holds_n + 1, sizeof *l->holds.at);
        l->free_holds.at = calloc(holds_n + 1, sizeof *l->free_holds.at);
        if (!l->accounts.at || !l->order.at || !l->free_accounts.at || !l->holds.at || !l->free_holds.at)
                return false;
        l->accounts.room = l->order.room = l->free_accounts.room = accounts_n + 1;
        l->holds.room = l->free_holds.room = holds_n + 1;
        l->accounts.n = accounts_n;
        l->holds.n = holds_n;
        return true;
}

static int count_ids(
        const struct ledger_record *records, size_t n, size_t *ret_accounts, size_t *ret_holds, struct pd_error *err)
{
        size_t max[2] = { 0, 0 };

        for (size_t i = 0; i < n; i++) {
                bool is_hold = records[i].is_hold;
                uint32_t id = is_hold ? records[i].hold.id : records[i].account.id;

                if (id >= LEDGER_IDS_MAX)
                        return fail_record(err, is_hold ? "reservation" : "account", id);
                if (max[is_hold] <= id)
                        max[is_hold] = (size_t)id + 1;
        }
        *ret_accounts = max[0];
        *ret_holds = max[1];
        return 0;
}

/* --- taking the records in --- */
static int take_account(struct ledger *l, const struct ledger_account *a, struct pd_error *err)
{
        size_t at;
        bool there;

        if (!account_good(a) || l->accounts.at[a->id].live)
                return fail_record(err, "account", a->id);
        at = order_find(l, a->scope, a->key, a->currency, &there);
        if (there)
                return fail_record(err, "account", a->id);
        memmove(l->order.at + at + 1, l->order.at + at, (l->order.n++ - at) * sizeof *l->order.at);
        l->order.at[at] = a->id;
        l->accounts.at[a->id] = *a;
        return 0;
}

static int take_hold(struct ledger *l, const struct ledger_hold *h, struct pd_error *err)
{
        if (!hold_states_good(h) || !hold_times_good(h) || !hold_terms_good(h) || !hold_sums_good(h) ||
                l->holds.at[h->id].state != LEDGER_FREE || accounts_check(l, h->account, NULL) < 0)
                return fail_record(err, "reservation", h->id);
        l->holds.at[h->id] = *h;
        return 0;
}

static int take(struct ledger *l, const struct ledger_record *records, size_t n, struct pd_error *err)
{
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                if (!records[i].is_hold)
                        r = take_account(l, &records[i].account, err);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (records[i].is_hold)
                        r = take_hold(l, &records[i].hold, err);
        return r;
}

/* Counts down each account's open sum and holds: nothing may be left over. */
static int audit(struct ledger *l, struct pd_error *err)
{
        pd_cleanup(freep) struct count {
                wide open;
                uint32_t holds;
        } *counts = calloc(l->accounts.n + 1, sizeof *counts);

        if (!counts)
                return pd_fail(err, PD_E_NOMEM, "no memory for the ledger");
        for (size_t k = 0; k < l->holds.n; k++)
                for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                        const struct ledger_hold *h = &l->holds.at[k];

                        if (h->state != LEDGER_FREE && h->account[i] != LEDGER_NONE) {
                                counts[h->account[i]].open += ledger_rest(h);
                                counts[h->account[i]].holds++;
                        }
                }
        for (size_t i = 0; i < l->accounts.n; i++)
                if (counts[i].open != l->accounts.at[i].open_nano || counts[i].holds != l->accounts.at[i].holds)
                        return fail_record(err, "account", (uint32_t)i);
        return 0;
}

static void note_free(struct ledger *l)
{
        for (uint32_t i = 0; i < l->accounts.n; i++) {
                l->accounts.at[i].id = i;
                if (!l->accounts.at[i].live)
                        l->free_accounts.at[l->free_accounts.n++] = i;
        }
        for (uint32_t i = 0; i < l->holds.n; i++) {
                l->holds.at[i].id = i;
                if (l->holds.at[i].state == LEDGER_FREE)
                        l->free_holds.at[l->free_holds.n++] = i;
        }
}

int ledger_import(const struct ledger_record *records, size_t n, struct ledger *ret, struct pd_error *err)
{
        struct ledger l = { 0 };
        size_t accounts_n = 0, holds_n = 0;
        int r = count_ids(records, n, &accounts_n, &holds_n, err);

        if (r < 0)
                return r;
        if (!places(&l, accounts_n, holds_n))
                r = pd_fail(err, PD_E_NOMEM, "no memory for the ledger");
        r = r < 0 ? r : take(&l, records, n, err);
        r = r < 0 ? r : audit(&l, err);
        if (r < 0) {
                ledger_free(&l);
                return r;
        }
        note_free(&l);
        *ret = l;
        return 0;
}
