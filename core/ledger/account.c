/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: who spends, up to which cap, in which period. */
#include <stdio.h>

#include "ledger/internal.h"

static const char *const scope_names[LEDGER_SCOPE_N] = { "connection", "project", "job" };
static const char *const cap_names[LEDGER_SCOPE_N] = { "the cap of connection", "the cap of project",
        "the budget of job" };

void ledger_free(struct ledger *l)
{
        vec_free(&l->accounts);
        vec_free(&l->holds);
        vec_free(&l->order);
        vec_free(&l->free_accounts);
        vec_free(&l->free_holds);
}

int fail_account(struct pd_error *err, uint32_t id)
{
        return pd_fail(err, PD_E_NOT_FOUND, "the ledger has no account %u", (unsigned)id);
}

struct ledger_change *change_begin(struct ledger_change *c, struct ledger_change *unused)
{
        c = c ? c : unused;
        *c = (struct ledger_change){ .account = { LEDGER_NONE, LEDGER_NONE, LEDGER_NONE },
                .hold = { LEDGER_NONE, LEDGER_NONE } };
        return c;
}

const struct ledger_account *ledger_account_at(const struct ledger *l, uint32_t id)
{
        return id < l->accounts.n && l->accounts.at[id].live ? &l->accounts.at[id] : NULL;
}

/* --- the order by name: the job accounts last, since their ids grow with time and so are appended --- */
static int order_compare(const struct ledger_account *a, enum ledger_scope scope, const char *key, const char *currency)
{
        int c = (int)a->scope - (int)scope;

        c = c ? c : strcmp(a->key, key);
        return c ? c : strcmp(a->currency, currency);
}

size_t order_find(
        const struct ledger *l, enum ledger_scope scope, const char *key, const char *currency, bool *ret_there)
{
        size_t low = 0, high = l->order.n;

        *ret_there = false;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                int c = order_compare(&l->accounts.at[l->order.at[mid]], scope, key, currency);

                *ret_there |= c == 0;
                if (c < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

const struct ledger_account *barred_by(const struct ledger *l, const struct ledger_account *a)
{
        bool there;

        for (size_t i = order_find(l, a->scope, a->key, "", &there); i < l->order.n; i++) {
                const struct ledger_account *other = &l->accounts.at[l->order.at[i]];

                if (other->scope != a->scope || !streq(other->key, a->key))
                        return NULL;
                if (other->capped && other != a)
                        return other;
        }
        return NULL;
}

/* --- making and ending --- */
static int name_check(enum ledger_scope scope, const char *key, const char *currency, struct pd_error *err)
{
        if ((unsigned)scope >= LEDGER_SCOPE_N)
                return pd_fail(err, PD_E_INVALID, "%u is no scope of an account", (unsigned)scope);
        if (key[0] == '\0' || strlen(key) >= LEDGER_KEY_MAX)
                return pd_fail(
                        err, PD_E_INVALID, "\"%.80s\" cannot name an account: 1 to %d bytes", key, LEDGER_KEY_MAX - 1);
        if (strlen(currency) != 3)
                return pd_fail(err, PD_E_INVALID, "\"%.8s\" is no currency of an account: an ISO 4217 code", currency);
        return 0;
}

/* Room in every array that making, and later ending, the account needs. */
static int account_room(struct ledger *l, struct pd_error *err)
{
        if (l->free_accounts.n == 0 && l->accounts.n >= LEDGER_IDS_MAX)
                return pd_fail(
                        err, PD_E_FULL, "the ledger has %u accounts, and no more can be counted", LEDGER_IDS_MAX);
        if (!vec_grow((void **)&l->order.at, l->order.n, &l->order.room, sizeof *l->order.at) ||
                !vec_grow((void **)&l->free_accounts.at, l->accounts.n, &l->free_accounts.room,
                        sizeof *l->free_accounts.at) ||
                !vec_grow((void **)&l->accounts.at, l->accounts.n, &l->accounts.room, sizeof *l->accounts.at))
                return pd_fail(err, PD_E_NOMEM, "no memory for an account");
        return 0;
}

int ledger_account(struct ledger *l, enum ledger_scope scope, const char *key, const char *currency, uint32_t *ret,
        struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_account *a;
        uint32_t id;
        size_t at;
        bool there;
        int r;

        change = change_begin(change, &unused);
        r = name_check(scope, key, currency, err);
        if (r < 0)
                return r;
        at = order_find(l, scope, key, currency, &there);
        if (there) {
                *ret = l->order.at[at];
                return 0;
        }
        r = account_room(l, err);
        if (r < 0)
                return r;
        id = l->free_accounts.n ? l->free_accounts.at[--l->free_accounts.n] : (uint32_t)l->accounts.n++;
        memmove(l->order.at + at + 1, l->order.at + at, (l->order.n++ - at) * sizeof *l->order.at);
        l->order.at[at] = id;
        a = &l->accounts.at[id];
        *a = (struct ledger_account){
                .id = id, .scope = (uint8_t)scope, .live = true, .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX
        };
        (void)str_format(a->key, sizeof a->key, "%s", key);
        (void)str_format(a->currency, sizeof a->currency, "%s", currency);
        change->account[scope] = *ret = id;
        return 0;
}

int ledger_account_close(struct ledger *l, uint32_t account, struct ledger_change *change, struct pd_error *err)
{
        const struct ledger_account *a = ledger_account_at(l, account);
        struct ledger_change unused;
        size_t at;
        bool there;

        change = change_begin(change, &unused);
        if (!a)
                return fail_account(err, account);
        if (a->holds > 0)
                return pd_fail(err, PD_E_CONFLICT, "the account of %s \"%s\" has %u reservations: forget them first",
                        scope_names[a->scope], a->key, (unsigned)a->holds);
        at = order_find(l, a->scope, a->key, a->currency, &there);
        l->order.n--;
        memmove(l->order.at + at, l->order.at + at + 1, (l->order.n - at) * sizeof *l->order.at);
        change->account[a->scope] = account;
        l->accounts.at[account] = (struct ledger_account){ .id = account };
        l->free_accounts.at[l->free_accounts.n++] = account;
        return 0;
}

/* --- caps --- */
/* What was spent goes to the period or to the time before it; false = a sum does not fit. */
static bool spent_split(struct ledger_account *a, wide present)
{
        wide before = (wide)a->before_nano + a->spent_nano - present;

        if (before > INT64_MAX || present + a->open_nano > INT64_MAX)
                return false;
        a->before_nano = (int64_t)before;
        a->spent_nano = (int64_t)present;
        return true;
}

static bool period_turn(struct ledger_account *a, const struct ledger_cap *cap)
{
        bool total = cap->from_wall_us == INT64_MIN;
        wide present = a->spent_nano;

        if (cap->recounted)
                present = cap->spent_nano;
        else if (total)
                present += a->before_nano;
        else if (cap->from_wall_us >= a->until_wall_us)
                present = 0;
        if (!spent_split(a, present))
                return false;
        if (cap->recounted || total || cap->from_wall_us > a->from_wall_us)
                a->from_wall_us = cap->from_wall_us;
        a->until_wall_us = cap->until_wall_us;
        return true;
}

static int cap_check(const struct ledger_account *a, const struct ledger_cap *cap, struct pd_error *err)
{
        if (cap->nano < 0)
                return pd_fail(err, PD_E_INVALID, "a cap cannot be negative: 0 lets nothing be spent");
        if (cap->until_wall_us <= cap->from_wall_us)
                return pd_fail(err, PD_E_INVALID, "the period of a cap ends after it begins");
        if (cap->recounted && (cap->spent_nano < 0 || cap->spent_nano > (wide)a->before_nano + a->spent_nano))
                return pd_fail(err, PD_E_INVALID,
                        "%s \"%s\" cannot have spent more in a period, or less than nothing, than in all",
                        scope_names[a->scope], a->key);
        return 0;
}

int ledger_cap(struct ledger *l, uint32_t account, const struct ledger_cap *cap, struct ledger_change *change,
        struct pd_error *err)
{
        static const struct ledger_cap none = { .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        const struct ledger_cap *to = cap ? cap : &none;
        struct ledger_change unused;
        struct ledger_account next;
        int r;

        change = change_begin(change, &unused);
        if (!ledger_account_at(l, account))
                return fail_account(err, account);
        next = l->accounts.at[account];
        r = cap_check(&next, to, err);
        if (r < 0)
                return r;
        if (!period_turn(&next, to))
                return fail_overflow(err, "what was spent in all periods");
        next.capped = cap != NULL;
        next.cap_nano = to->nano;
        l->accounts.at[account] = next;
        change->account[next.scope] = account;
        return 0;
}

int64_t ledger_room(const struct ledger_account *a)
{
        return a->capped ? a->cap_nano - (a->spent_nano + a->open_nano) : INT64_MAX;
}

uint32_t ledger_tightest(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], int64_t *ret_room)
{
        uint32_t tightest = LEDGER_NONE;

        *ret_room = INT64_MAX;
        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                const struct ledger_account *a = ledger_account_at(l, account[i]);

                if (!a || !a->capped || ledger_room(a) > *ret_room)
                        continue;
                *ret_room = ledger_room(a);
                tightest = account[i];
        }
        return tightest;
}

static int refused(struct pd_error *err, const struct ledger_account *a)
{
        if (err)
                (void)snprintf(err->subject, sizeof err->subject, "%s %s", scope_names[a->scope], a->key);
        return -(int)PD_E_FULL;
}

static int refuse_currency(struct pd_error *err, const struct ledger_account *a, const struct ledger_account *cap)
{
        (void)pd_fail(err, PD_E_FULL, "a price in %s is refused: %s \"%.64s\" is in %s. Choose an offer in %s",
                a->currency, cap_names[a->scope], a->key, cap->currency, cap->currency);
        return refused(err, a);
}

static const char *amount(const struct ledger_account *a, int64_t nano, char *buf)
{
        struct money m = { .nano = nano };

        (void)str_format(m.currency, sizeof m.currency, "%s", a->currency);
        return money_format(&m, buf);
}

static int refuse_cap(struct pd_error *err, const struct ledger_account *a, int64_t more)
{
        char need[QUANTITY_MAX], cap[QUANTITY_MAX], spent[QUANTITY_MAX], open[QUANTITY_MAX], left[QUANTITY_MAX];
        int64_t room = ledger_room(a);

        (void)pd_fail(err, PD_E_FULL,
                "%s more is refused: %s \"%.40s\" is %s, of which %s is spent and %s reserved: %s %s",
                amount(a, more > 0 ? more : 0, need), cap_names[a->scope], a->key, amount(a, a->cap_nano, cap),
                amount(a, a->spent_nano, spent), amount(a, a->open_nano, open),
                amount(a, room < 0 ? -room : room, left), room < 0 ? "too much" : "is left");
        return refused(err, a);
}

int caps_allow(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], int64_t more, struct pd_error *err)
{
        uint32_t tightest;
        int64_t room;

        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                const struct ledger_account *a = ledger_account_at(l, account[i]);
                const struct ledger_account *cap = a ? barred_by(l, a) : NULL;

                if (cap)
                        return refuse_currency(err, a, cap);
        }
        tightest = ledger_tightest(l, account, &room);
        return room < more ? refuse_cap(err, &l->accounts.at[tightest], more) : 0;
}
