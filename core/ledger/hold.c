/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a reservation: reserved, renewed, left, cancelled, forgotten. How it is billed is in bill.c. */
#include "ledger/internal.h"

/* --- from terms to a hold --- */
static bool span_good(int64_t us)
{
        return us >= 0 && us <= LEDGER_SPAN_MAX;
}

static int terms_check(const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us, struct pd_error *err)
{
        if (t->price_nano_hour < 0 || t->ceiling_nano_hour < 0 || t->flat_nano < 0 || t->price_changes < 0)
                return pd_fail(err, PD_E_INVALID, "a price, and what a machine costs besides, cannot be negative");
        if (!span_good(t->minimum_us) || !span_good(t->step_us) || !span_good(t->lag_us))
                return pd_fail(err, PD_E_INVALID, "minimum billing, billing step and stop lag are from 0 to 100 years");
        if (t->kind != LEDGER_MACHINE && t->kind != LEDGER_STORAGE)
                return pd_fail(err, PD_E_INVALID, "%u is no kind of reservation", (unsigned)t->kind);
        if (from_wall_us < 0 || stop_wall_us < from_wall_us)
                return pd_fail(err, PD_E_INVALID, "a hard stop cannot be before the start of what it stops");
        return 0;
}

int hold_draft(const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us, struct ledger_hold *ret,
        struct pd_error *err)
{
        int r = terms_check(t, from_wall_us, stop_wall_us, err);
        int64_t ceiling = t->ceiling_nano_hour > t->price_nano_hour ? t->ceiling_nano_hour : t->price_nano_hour;
        struct ledger_hold h = {
                .id = LEDGER_NONE,
                .what = t->what,
                .job = t->job,
                .kind = (uint8_t)t->kind,
                .state = LEDGER_OPEN,
                .price_changes = t->price_changes,
                .price_nano_hour = t->price_nano_hour,
                .ceiling_nano_hour = ceiling,
                .minimum_us = t->minimum_us,
                .step_us = t->step_us,
                .lag_us = t->lag_us,
                .flat_worst_nano = t->flat_nano,
                .from_wall_us = from_wall_us,
                .stop_wall_us = stop_wall_us,
                .segment_wall_us = from_wall_us,
                .until_wall_us = from_wall_us,
        };

        if (r < 0)
                return r;
        memcpy(h.account, t->account, sizeof h.account);
        if (!worst_of(&h, &h.worst_nano))
                return fail_overflow(err, "the worst case of that machine");
        *ret = h;
        return 0;
}

int ledger_worst(
        const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us, int64_t *ret, struct pd_error *err)
{
        struct ledger_hold h = { 0 };
        int r = hold_draft(t, from_wall_us, stop_wall_us, &h, err);

        if (r < 0)
                return r;
        *ret = h.worst_nano;
        return 0;
}

int accounts_check(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], struct pd_error *err)
{
        const char *currency = NULL;

        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                const struct ledger_account *a = ledger_account_at(l, account[i]);

                if (account[i] == LEDGER_NONE)
                        continue;
                if (!a)
                        return fail_account(err, account[i]);
                if (a->scope != i || !streq(str_or(currency, a->currency), a->currency))
                        return pd_fail(err, PD_E_INVALID,
                                "the account \"%.64s\" is not of the wanted scope and currency", a->key);
                currency = a->currency;
        }
        return 0;
}

/* --- reserving --- */
/* What the new hold takes along of its parent's unused flat part. */
static int parent_part(
        struct ledger *l, const struct ledger_terms *t, int64_t worst, int64_t *ret, struct pd_error *err)
{
        struct ledger_hold *p = NULL;
        wide part;
        int r;

        *ret = 0;
        if (t->out_of == LEDGER_NONE)
                return 0;
        r = open_hold(l, t->out_of, &p, err);
        if (r < 0)
                return r;
        if (memcmp(p->account, t->account, sizeof p->account) != 0)
                return pd_fail(err, PD_E_INVALID, "a reservation can only be taken out of one of the same accounts");
        part = at_most(at_most(worst, ledger_rest(p)), (wide)p->flat_worst_nano - p->other_nano);
        *ret = part > 0 ? (int64_t)part : 0;
        return 0;
}

static int hold_room(struct ledger *l, struct pd_error *err)
{
        if (l->free_holds.n == 0 && l->holds.n >= LEDGER_IDS_MAX)
                return pd_fail(
                        err, PD_E_FULL, "the ledger has %u reservations, and no more can be counted", LEDGER_IDS_MAX);
        if (!vec_grow((void **)&l->free_holds.at, l->holds.n, &l->free_holds.room, sizeof *l->free_holds.at) ||
                !vec_grow((void **)&l->holds.at, l->holds.n, &l->holds.room, sizeof *l->holds.at))
                return pd_fail(err, PD_E_NOMEM, "no memory for a reservation");
        return 0;
}

static int hold_new(struct ledger *l, struct ledger_hold *draft, struct ledger_change *change, struct pd_error *err)
{
        bool again = l->free_holds.n > 0;
        int r;

        draft->id = again ? l->free_holds.at[l->free_holds.n - 1] : (uint32_t)l->holds.n;
        l->holds.at[draft->id] = (struct ledger_hold){ .id = draft->id };
        r = book(l, draft, NULL, 0, change, err);
        if (r < 0)
                return r;
        if (again)
                l->free_holds.n--;
        else
                l->holds.n++;
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++)
                if (draft->account[i] != LEDGER_NONE)
                        l->accounts.at[draft->account[i]].holds++;
        return 0;
}

/* A part is at most the parent's rest and its unused flat part: the sums only become smaller, so this cannot fail. */
static void parent_gives(struct ledger *l, uint32_t parent, int64_t part)
{
        struct ledger_hold *p = &l->holds.at[parent];

        p->flat_worst_nano -= part;
        p->worst_nano -= part;
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++)
                if (p->account[i] != LEDGER_NONE)
                        l->accounts.at[p->account[i]].open_nano -= part;
}

int ledger_reserve(struct ledger *l, const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us,
        uint32_t *ret, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold draft = { 0 };
        int64_t part = 0;
        int r;

        change = change_begin(change, &unused);
        r = hold_draft(t, from_wall_us, stop_wall_us, &draft, err);
        r = r < 0 ? r : accounts_check(l, t->account, err);
        r = r < 0 ? r : parent_part(l, t, draft.worst_nano, &part, err);
        if (r < 0)
                return r;
        if (!t->found && draft.worst_nano > part)
                r = caps_allow(l, t->account, draft.worst_nano - part, err);
        r = r < 0 ? r : hold_room(l, err);
        r = r < 0 ? r : hold_new(l, &draft, change, err);
        if (r < 0)
                return r;
        if (part > 0) {
                parent_gives(l, t->out_of, part);
                change->hold[1] = t->out_of;
        }
        *ret = draft.id;
        return 0;
}

/* The hold with its new stop and worst case. */
static int renew_draft(const struct ledger_hold *h, int64_t stop_wall_us, struct ledger_hold *ret, struct pd_error *err)
{
        bool later = stop_wall_us > h->stop_wall_us;
        struct ledger_hold next = *h;

        if (stop_wall_us < h->from_wall_us)
                return pd_fail(err, PD_E_INVALID, "a hard stop cannot be before the start of what it stops");
        if (later && h->state == LEDGER_LEAVING)
                return pd_fail(err, PD_E_CONFLICT, "reservation %u is on its way out: its hard stop is not moved ahead",
                        (unsigned)h->id);
        next.stop_wall_us = stop_wall_us;
        if (!worst_of(&next, &next.worst_nano))
                return fail_overflow(err, "the worst case of that machine");
        if (!later && next.worst_nano > h->worst_nano)
                next.worst_nano = h->worst_nano; /* counted anew, roundings may add up to more than they did */
        *ret = next;
        return 0;
}

int ledger_renew(
        struct ledger *l, uint32_t hold, int64_t stop_wall_us, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h = NULL, next = { 0 };
        int64_t more;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        r = r < 0 ? r : renew_draft(h, stop_wall_us, &next, err);
        if (r < 0)
                return r;
        more = ledger_rest(&next) - ledger_rest(h);
        if (stop_wall_us > h->stop_wall_us && (h->ceiling_nano_hour > 0 || more > 0))
                r = caps_allow(l, h->account, more, err);
        return r < 0 ? r : book(l, &next, NULL, 0, change, err);
}

int ledger_leave(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        if (r < 0)
                return r;
        h->state = LEDGER_LEAVING;
        change->hold[0] = hold;
        return 0;
}

int ledger_cancel(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h, next;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        if (r < 0)
                return r;
        if (h->lines > 0)
                return pd_fail(err, PD_E_CONFLICT, "reservation %u has lines on its bill: release it", (unsigned)hold);
        next = *h;
        next.state = LEDGER_CLOSED;
        return book(l, &next, NULL, 0, change, err);
}

int ledger_forget(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err)
{
        const struct ledger_hold *h = ledger_hold_at(l, hold);
        struct ledger_change unused;

        change = change_begin(change, &unused);
        if (!h)
                return fail_hold(err, hold);
        if (h->state != LEDGER_CLOSED)
                return pd_fail(
                        err, PD_E_CONFLICT, "reservation %u is open: release or cancel it first", (unsigned)hold);
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                change->account[i] = h->account[i];
                if (h->account[i] != LEDGER_NONE)
                        l->accounts.at[h->account[i]].holds--;
        }
        change->hold[0] = hold;
        l->holds.at[hold] = (struct ledger_hold){ .id = hold };
        l->free_holds.at[l->free_holds.n++] = hold;
        return 0;
}
