/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_run.h"

#include <inttypes.h>

#include "tap.h"

void run_violation(struct run *w, const char *what)
{
        if (w->violations++ < 5)
                tap_note("event %ld: %s", w->events, what);
}

/* splitmix64 */
uint64_t run_dice(struct run *w)
{
        uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}
int64_t run_below(struct run *w, int64_t n)
{
        return (int64_t)(run_dice(w) % (uint64_t)n);
}
bool run_chance(struct run *w, int64_t percent)
{
        return run_below(w, 100) < percent;
}

/* --- the disk: only what a change names is written --- */
int run_machine_of(const struct run *w, uint32_t hold)
{
        for (int k = 0; k < ORACLE_MACHINES; k++)
                if (w->o.machine[k].used && w->hold[k] == hold)
                        return k;
        return -1;
}

void run_write_change(struct run *w, const struct ledger_change *c)
{
        for (size_t i = 0; i < ARRAY_LEN(c->account); i++) {
                const struct ledger_account *a = ledger_account_at(&w->l, c->account[i]);

                if (c->account[i] != LEDGER_NONE)
                        w->disk_accounts[c->account[i]] = a ? *a : (struct ledger_account){ 0 };
        }
        for (size_t i = 0; i < ARRAY_LEN(c->hold); i++) {
                const struct ledger_hold *h = ledger_hold_at(&w->l, c->hold[i]);

                if (c->hold[i] != LEDGER_NONE)
                        w->disk_holds[c->hold[i]] = h ? *h : (struct ledger_hold){ 0 };
        }
        for (size_t i = 0; i < c->lines_n; i++) {
                int k = run_machine_of(w, c->line[i].hold);

                if (k < 0 || c->line[i].seq != w->next_seq[k]++)
                        run_violation(w, "a line of no machine, or out of its order");
                else
                        w->lines[k] += c->line[i].nano;
                w->billed += c->line[i].nano;
                w->billed_n++;
        }
        if (w->on_change)
                w->on_change(w->arg, &w->l, c);
        w->over += c->over_nano > 0;
}

void run_crash(struct run *w)
{
        struct ledger_record r[ARRAY_LEN(w->disk_accounts) + ARRAY_LEN(w->disk_holds)];
        struct ledger back;
        struct pd_error err;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(w->disk_holds); i++)
                if (w->disk_holds[i].state != LEDGER_FREE)
                        r[n++] = (struct ledger_record){ .is_hold = true, .hold = w->disk_holds[i] };
        for (size_t i = 0; i < ARRAY_LEN(w->disk_accounts); i++)
                if (w->disk_accounts[i].live)
                        r[n++] = (struct ledger_record){ .account = w->disk_accounts[i] };
        w->crashes++;
        if (oracle_audit(&w->o))
                run_violation(w, "the oracle's sums are not those of the histories");
        if (ledger_import(r, n, &back, &err) < 0) {
                run_violation(w, err.text);
                return;
        }
        ledger_free(&w->l);
        w->l = back;
}

/* --- after each event --- */
void run_check_account(struct run *w, int k)
{
        const struct oracle_account *o = &w->o.account[k];
        const struct ledger_account *a = ledger_account_at(&w->l, w->id[k]);

        if (!a || a->spent_nano != o->present || a->open_nano != o->open || a->before_nano != o->total - o->present) {
                run_violation(w, "an account is not as its machines' histories say");
                if (a && w->violations <= 5)
                        tap_note("account %d: spent %" PRId64 " open %" PRId64 " before %" PRId64 ", want %" PRId64
                                 " %" PRId64 " %" PRId64,
                                k, a->spent_nano, a->open_nano, a->before_nano, o->present, o->open,
                                o->total - o->present);
        }
        if (o->capped && llabs(o->cap - oracle_used(o)) <= o->cap / 100)
                w->is_near = true;
}

/* Law 6: an act that raised a sum left it at or below the cap. */
void run_check_act(struct run *w, const struct oracle_account *before)
{
        for (int k = 0; k < ACCOUNTS; k++) {
                const struct oracle_account *a = &w->o.account[k];

                if (a->used && a->capped && oracle_used(a) > oracle_used(&before[k]) && oracle_used(a) > a->cap)
                        run_violation(w, "law 6: an act went above a cap");
        }
}

/* A machine within its terms never costs more than its worst case. */
static void check_bound(struct run *w, int k, const struct ledger_change *c)
{
        const struct oracle_machine *m = &w->o.machine[k];

        w->loose[k] |= oracle_other(m) > m->flat_worst;
        if (c->lines_n == 0 || w->loose[k] || w->changes_left[k] < 0 || oracle_until(m) > m->stop + m->lag)
                return;
        w->bounded++;
        if (c->over_nano)
                run_violation(w, "law 6: a machine within its terms cost more than its worst case");
}

void run_settle(struct run *w, int k, const struct ledger_change *c)
{
        struct oracle_machine *m = &w->o.machine[k];

        run_write_change(w, c);
        oracle_count(&w->o, m);
        check_bound(w, k, c);
        if (w->lines[k] != m->posted) {
                w->lost += llabs(w->lines[k] - m->posted);
                run_violation(w, "law 7: the lines are not the bill");
        }
        for (int i = 0; i < ORACLE_SCOPES; i++)
                if (m->account[i] >= 0)
                        run_check_account(w, m->account[i]);
}

void run_expect(struct run *w, int got, int want, const char *what)
{
        if (got == want)
                return;
        run_violation(w, what);
        if (w->violations <= 5)
                tap_note("got %d, want %d", got, want);
}

void run_subject_check(struct run *w, const struct pd_error *err, int account)
{
        const struct ledger_account *a = ledger_account_at(&w->l, w->id[account]);
        const char *space = strchr(err->subject, ' ');

        if (!a || !space || !streq(space + 1, a->key))
                run_violation(w, "a refusal names another cap than the tightest");
}

/* --- picking --- */
int run_pick(struct run *w, enum run_want want)
{
        int first = (int)run_below(w, ORACLE_MACHINES);

        for (int i = 0; i < ORACLE_MACHINES; i++) {
                int k = (first + i) % ORACLE_MACHINES;
                const struct oracle_machine *m = &w->o.machine[k];

                if (m->used && m->closed == (want == CLOSED) && !(want == OPEN_MACHINE && m->storage))
                        return k;
        }
        return -1;
}

int run_place(const struct run *w)
{
        for (int k = 0; k < ORACLE_MACHINES; k++)
                if (!w->o.machine[k].used)
                        return k;
        return -1;
}

int run_machines_on(const struct run *w, int account)
{
        int n = 0;

        for (int k = 0; k < ORACLE_MACHINES; k++)
                for (int i = 0; i < ORACLE_SCOPES; i++)
                        n += w->o.machine[k].used && w->o.machine[k].account[i] == account;
        return n;
}

int run_machines_open(const struct run *w)
{
        int n = 0;

        for (int k = 0; k < ORACLE_MACHINES; k++)
                n += w->o.machine[k].used && !w->o.machine[k].closed;
        return n;
}
