/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_oracle.h"

#include <stdlib.h>
#include <string.h>

/* --- integers of 192 bits, in digits of 32 --- */
#define DIGITS 6
#define MICROSECONDS_AN_HOUR 3600000000u /* one digit */

struct big {
        uint32_t digit[DIGITS]; /* the least first */
};

static struct big big_of(uint64_t x)
{
        return (struct big){ { (uint32_t)x, (uint32_t)(x >> 32) } };
}

static struct big big_product(uint64_t x, uint64_t y)
{
        struct big a = big_of(x), b = big_of(y), r = { { 0 } };

        for (int i = 0; i < 2; i++) {
                uint64_t carry = 0;

                for (int j = 0; j < 2; j++) {
                        uint64_t at = (uint64_t)a.digit[i] * b.digit[j] + r.digit[i + j] + carry;

                        r.digit[i + j] = (uint32_t)at;
                        carry = at >> 32;
                }
                r.digit[i + 2] = (uint32_t)carry;
        }
        return r;
}

/* School division; returns the remainder. */
static uint32_t big_divide(struct big *a, uint32_t by)
{
        uint64_t left = 0;

        for (int i = DIGITS - 1; i >= 0; i--) {
                left = left << 32 | a->digit[i];
                a->digit[i] = (uint32_t)(left / by);
                left %= by;
        }
        return (uint32_t)left;
}

static int64_t big_small(const struct big *a)
{
        for (int i = 2; i < DIGITS; i++)
                if (a->digit[i])
                        abort(); /* this world's prices never come near it */
        return (int64_t)((uint64_t)a->digit[1] << 32 | a->digit[0]);
}

int64_t oracle_cost(int64_t price, int64_t us)
{
        struct big cost = big_product((uint64_t)price, (uint64_t)us);
        uint32_t left = big_divide(&cost, MICROSECONDS_AN_HOUR);

        return big_small(&cost) + (left > 0);
}

/* --- one machine --- */
int64_t oracle_until(const struct oracle_machine *m)
{
        return m->segment[m->segments - 1].until;
}

int64_t oracle_time(const struct oracle_machine *m, int64_t clip)
{
        int64_t sum = 0;

        for (int i = 0; i < m->segments; i++) {
                int64_t until = m->segment[i].until < clip ? m->segment[i].until : clip;

                if (i == m->segments - 1 && clip >= m->segment[i].until)
                        until += m->extra;
                if (until > m->segment[i].from)
                        sum += oracle_cost(m->segment[i].price, until - m->segment[i].from);
        }
        return sum;
}

static int64_t flats_of(const struct oracle_machine *m, int64_t since)
{
        int64_t sum = 0;

        for (int i = 0; i < m->flats; i++)
                if (m->flat[i].at >= since)
                        sum += m->flat[i].nano;
        return sum;
}

int64_t oracle_other(const struct oracle_machine *m)
{
        return flats_of(m, INT64_MIN) + m->correction;
}

/* Steps are counted, not rounded to. */
static int64_t billed(const struct oracle_machine *m, int64_t us)
{
        int64_t whole = us;

        if (m->step) {
                int64_t steps = us / m->step;

                if (steps * m->step < us)
                        steps++;
                whole = steps * m->step;
        }
        return whole < m->minimum ? m->minimum : whole;
}

int64_t oracle_extra(const struct oracle_machine *m)
{
        int64_t lived = oracle_until(m) - m->from;

        return billed(m, lived) - lived;
}

int64_t oracle_worst(const struct oracle_machine *m, int64_t stop)
{
        int64_t ahead = billed(m, stop - m->from + m->lag) - (oracle_until(m) - m->from);
        int64_t other = oracle_other(m);

        return oracle_time(m, INT64_MAX) + (other < m->flat_worst ? m->flat_worst : other) + m->changes +
               (ahead > 0 ? oracle_cost(m->ceiling, ahead) : 0);
}

int64_t oracle_rest(const struct oracle_machine *m, int64_t worst)
{
        int64_t posted = oracle_time(m, INT64_MAX) + oracle_other(m);

        return m->closed || worst < posted ? 0 : worst - posted;
}

/* --- accounts --- */
int64_t oracle_used(const struct oracle_account *a)
{
        return a->present + a->open;
}

bool oracle_fits(const struct oracle *o, const int account[ORACLE_SCOPES], int64_t more, int *ret_account)
{
        int64_t least = INT64_MAX;

        *ret_account = -1;
        for (int i = 0; i < ORACLE_SCOPES; i++) {
                const struct oracle_account *a = account[i] < 0 ? NULL : &o->account[account[i]];

                if (!a || a->sibling < 0 || !o->account[a->sibling].used || !o->account[a->sibling].capped)
                        continue;
                *ret_account = account[i];
                return false;
        }
        for (int i = ORACLE_SCOPES - 1; i >= 0; i--) {
                const struct oracle_account *a = account[i] < 0 ? NULL : &o->account[account[i]];

                if (!a || !a->capped || a->cap - oracle_used(a) >= least)
                        continue;
                least = a->cap - oracle_used(a);
                *ret_account = account[i];
        }
        return *ret_account < 0 || more <= least;
}

/* Of m's bill, what lies at or after an instant. */
static int64_t since(const struct oracle_machine *m, int64_t start)
{
        int64_t end = oracle_until(m);

        return oracle_time(m, INT64_MAX) - oracle_time(m, start) + flats_of(m, start) +
               (end > start ? m->correction : 0);
}

void oracle_count(struct oracle *o, struct oracle_machine *m)
{
        int64_t posted = oracle_time(m, INT64_MAX) + oracle_other(m), rest = oracle_rest(m, m->worst);

        for (int i = 0; i < ORACLE_SCOPES; i++) {
                struct oracle_account *a = m->account[i] < 0 ? NULL : &o->account[m->account[i]];
                int64_t present = a ? since(m, a->start) : 0;

                if (!a)
                        continue;
                a->total += posted - m->posted;
                a->open += rest - m->rest;
                a->present += present - m->present[i];
                m->present[i] = present;
        }
        m->posted = posted;
        m->rest = rest;
}

void oracle_corrected(struct oracle *o, struct oracle_machine *m)
{
        for (int i = 0; i < ORACLE_SCOPES; i++) {
                struct oracle_account *a = m->account[i] < 0 ? NULL : &o->account[m->account[i]];

                if (!a || a->present >= 0)
                        continue;
                a->lifted -= a->present;
                a->present = 0;
        }
}

void oracle_forget(struct oracle *o, struct oracle_machine *m)
{
        for (int i = 0; i < ORACLE_SCOPES; i++) {
                struct oracle_account *a = m->account[i] < 0 ? NULL : &o->account[m->account[i]];

                if (!a)
                        continue;
                a->gone_total += m->posted;
                a->gone_present += m->present[i];
        }
        m->used = false;
}

static int scope_in(const struct oracle_machine *m, int account)
{
        for (int i = 0; i < ORACLE_SCOPES; i++)
                if (m->used && m->account[i] == account)
                        return i;
        return -1;
}

void oracle_turn(struct oracle *o, int account, int64_t start, int64_t end)
{
        struct oracle_account *a = &o->account[account];

        a->start = start;
        a->end = end;
        a->present = a->gone_present = a->lifted = 0;
        for (int k = 0; k < ORACLE_MACHINES; k++) {
                struct oracle_machine *m = &o->machine[k];
                int i = scope_in(m, account);

                if (i < 0)
                        continue;
                m->present[i] = since(m, start);
                a->present += m->present[i];
        }
}

int oracle_audit(const struct oracle *o)
{
        int bad = 0;

        for (int k = 0; k < ORACLE_ACCOUNTS; k++) {
                const struct oracle_account *a = &o->account[k];
                int64_t total = a->gone_total, present = a->gone_present + a->lifted, open = 0;

                for (int i = 0; a->used && i < ORACLE_MACHINES; i++) {
                        const struct oracle_machine *m = &o->machine[i];

                        if (scope_in(m, k) < 0)
                                continue;
                        total += oracle_time(m, INT64_MAX) + oracle_other(m);
                        present += since(m, a->start);
                        open += oracle_rest(m, m->worst);
                }
                bad += a->used && (total != a->total || present != a->present || open != a->open);
        }
        return bad;
}
