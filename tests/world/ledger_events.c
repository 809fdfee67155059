/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a random run: each is put to the ledger and foretold by the oracle. */
#include <stdlib.h>

#include "ledger_run.h"
#include "tap.h"

static void cap(struct run *w, int k);

/* Half of the owners then set another cap. */
static void refusal(struct run *w, const struct pd_error *err, int account)
{
        w->refused++;
        run_subject_check(w, err, account);
        run_check_account(w, account);
        if (run_chance(w, 50))
                cap(w, account);
}

/* --- the events --- */
static void random_terms(struct run *w, struct ledger_terms *t, int account[ORACLE_SCOPES])
{
        static const int64_t steps[] = { 0, 0, USEC_PER_SEC, USEC_PER_MIN, USEC_PER_HOUR };
        static const int64_t minimums[] = { 0, 0, USEC_PER_MIN, 10 * USEC_PER_MIN + 7 };
        bool eur = run_chance(w, 25);

        account[0] = eur ? CONNECTIONS - 1 : (int)run_below(w, CONNECTIONS - 1);
        account[1] = run_chance(w, 10) ? -1 : FIRST_PROJECT + (int)run_below(w, PROJECTS) + (eur ? PROJECTS : 0);
        account[2] = run_chance(w, 10) ? -1
                                       : FIRST_JOB + (eur ? JOBS * 3 / 4 + (int)run_below(w, JOBS / 4)
                                                          : (int)run_below(w, JOBS * 3 / 4));
        *t = (struct ledger_terms){ .out_of = LEDGER_NONE };
        t->price_nano_hour = run_chance(w, 5) ? 0 : run_chance(w, 10) ? run_below(w, 50) : run_below(w, 5 * NANO);
        t->ceiling_nano_hour = run_chance(w, 50) ? t->price_nano_hour : t->price_nano_hour + run_below(w, 3 * NANO);
        t->price_changes = run_chance(w, 50) ? 0 : (int32_t)run_below(w, 20);
        t->minimum_us = minimums[run_below(w, (int64_t)ARRAY_LEN(minimums))];
        t->step_us = steps[run_below(w, (int64_t)ARRAY_LEN(steps))];
        t->lag_us = run_chance(w, 50) ? 0 : run_below(w, 2 * USEC_PER_MIN);
        t->flat_nano = run_chance(w, 50) ? 0 : run_below(w, NANO / 10);
        t->found = run_chance(w, 1);
        t->what = id_make(w->now, (const uint8_t *)&(uint64_t[2]){ ++w->holds_made });
        t->job = id_make(START, (const uint8_t *)&(uint64_t[2]){ (uint64_t)account[2] + 2 });
}

static void foretell_new(struct run *w, const struct ledger_terms *t, const int account[ORACLE_SCOPES], int64_t stop,
        struct oracle_machine *m)
{
        *m = (struct oracle_machine){ .used = true,
                .from = w->now,
                .stop = stop,
                .minimum = t->minimum_us,
                .step = t->step_us,
                .lag = t->lag_us,
                .flat_worst = t->flat_nano,
                .changes = t->price_changes,
                .segments = 1,
                .storage = t->kind == LEDGER_STORAGE };
        memcpy(m->account, account, sizeof m->account);
        m->ceiling = t->ceiling_nano_hour > t->price_nano_hour ? t->ceiling_nano_hour : t->price_nano_hour;
        m->segment[0].from = m->segment[0].until = w->now;
        m->segment[0].price = t->price_nano_hour;
        m->worst = oracle_worst(m, stop);
}

static void check_longest_new(
        struct run *w, const struct ledger_terms *t, const int account[ORACLE_SCOPES], int64_t wanted, int64_t *stop)
{
        struct oracle_machine m;
        int64_t got = 0;
        int tightest, r = ledger_longest_new(&w->l, t, w->now, wanted, &got, NULL);

        foretell_new(w, t, account, w->now, &m);
        if (r < 0) {
                if ((m.worst == 0 && m.ceiling == 0) || oracle_fits(&w->o, account, m.worst, &tightest))
                        run_violation(w, "no stop is found though one fits");
                return;
        }
        foretell_new(w, t, account, got, &m);
        if (m.worst > 0 && !oracle_fits(&w->o, account, m.worst, &tightest))
                run_violation(w, "the longest first stop does not fit");
        foretell_new(w, t, account, got + 1, &m);
        if (got < wanted && oracle_fits(&w->o, account, m.worst, &tightest))
                run_violation(w, "a longer first stop would fit");
        *stop = got;
}

static void new_machine(struct run *w, int parent)
{
        struct oracle_machine m, *p = parent < 0 ? NULL : &w->o.machine[parent];
        struct ledger_terms t;
        struct ledger_change c;
        struct pd_error err;
        int k = run_place(w), account[ORACLE_SCOPES], tightest = -1, r;
        int64_t stop, part = 0;
        bool fits;

        if (k < 0)
                return;
        random_terms(w, &t, account);
        if (p) {
                memcpy(account, p->account, sizeof account);
                t.kind = LEDGER_STORAGE;
                t.out_of = w->hold[parent];
                t.minimum_us = t.step_us = t.lag_us = 0;
                t.price_nano_hour = t.ceiling_nano_hour = run_below(w, 2000000);
        }
        for (int i = 0; i < ORACLE_SCOPES; i++)
                t.account[i] = account[i] < 0 ? LEDGER_NONE : w->id[account[i]];
        stop = w->now + run_below(w, p ? 3 * USEC_PER_DAY : 8 * USEC_PER_HOUR);
        if (!p && run_chance(w, 50))
                check_longest_new(w, &t, account, stop, &stop);
        foretell_new(w, &t, account, stop, &m);
        if (p) {
                part = p->flat_worst - oracle_other(p);
                part = part < p->rest ? part : p->rest;
                part = part < m.worst ? part : m.worst;
                part = part > 0 ? part : 0;
        }
        fits = t.found || m.worst - part <= 0 || oracle_fits(&w->o, account, m.worst - part, &tightest);
        w->acts++;
        r = ledger_reserve(&w->l, &t, w->now, stop, &w->hold[k], &c, &err);
        if (r < 0 && fits)
                tap_note("%s", err.text);
        run_expect(w, r, fits ? 0 : -PD_E_FULL, "a reservation is not answered as its figures say");
        if (r < 0) {
                refusal(w, &err, tightest);
                return;
        }
        {
                struct oracle_account before[ORACLE_ACCOUNTS];

                memcpy(before, w->o.account, sizeof before);

                w->o.machine[k] = m;
                w->lines[k] = 0;
                w->next_seq[k] = 0;
                w->changes_left[k] = m.changes;
                w->loose[k] = false;
                if (p) {
                        p->worst -= part;
                        p->flat_worst -= part;
                        oracle_count(&w->o, p);
                }
                run_settle(w, k, &c);
                if (!t.found)
                        run_check_act(w, before);
        }
}

static void renew(struct run *w)
{
        int k = run_pick(w, OPEN), tightest = -1, r, want = 0;
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        struct ledger_change c;
        struct pd_error err;
        int64_t stop = w->now + run_below(w, 12 * USEC_PER_HOUR), worst, more;
        struct oracle_account before[ORACLE_ACCOUNTS];
        bool longest = run_chance(w, 60), later;

        if (k < 0)
                return;
        if (stop < m->from)
                stop = m->from;
        if (longest && ledger_longest(&w->l, w->hold[k], stop, &stop, NULL) < 0)
                run_violation(w, "no longest stop of an open reservation");
        later = stop > m->stop;
        worst = oracle_worst(m, stop);
        worst = !later && worst > m->worst ? m->worst : worst;
        more = oracle_rest(m, worst) - m->rest;
        if (later && m->leaving)
                want = -PD_E_CONFLICT;
        else if (later && (m->ceiling > 0 || more > 0) && !oracle_fits(&w->o, m->account, more, &tightest))
                want = -PD_E_FULL;
        if (longest && want < 0)
                run_violation(w, "the longest stop of a renewal does not fit");
        w->acts++;
        r = ledger_renew(&w->l, w->hold[k], stop, &c, &err);
        run_expect(w, r, want, "a renewal is not answered as its figures say");
        if (r < 0) {
                if (r == -PD_E_FULL)
                        refusal(w, &err, tightest);
                return;
        }
        memcpy(before, w->o.account, sizeof before);
        m->stop = stop;
        m->worst = worst;
        if (later)
                w->changes_left[k] = m->changes;
        run_settle(w, k, &c);
        run_check_act(w, before);
}

static void post(struct run *w, int k, int64_t until)
{
        struct oracle_machine *m = &w->o.machine[k];
        struct ledger_change c;

        run_expect(w, ledger_post(&w->l, w->hold[k], until, &c, NULL), 0, "a posting is refused");
        if (until > oracle_until(m))
                m->segment[m->segments - 1].until = until;
        run_settle(w, k, &c);
}

static void price(struct run *w)
{
        int k = run_pick(w, OPEN);
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        struct ledger_change c;
        int64_t to, at = w->now - (run_chance(w, 20) ? run_below(w, USEC_PER_MIN) : 0), worst;

        if (k < 0 || m->segments == ORACLE_SEGMENTS)
                return;
        to = run_chance(w, 90) ? run_below(w, m->ceiling + 1) : m->ceiling + run_below(w, NANO);
        run_expect(w, ledger_price(&w->l, w->hold[k], at, to, &c, NULL), 0, "a price is refused");
        if (at > oracle_until(m))
                m->segment[m->segments - 1].until = at;
        if (to != m->segment[m->segments - 1].price) {
                int64_t from = oracle_until(m);

                m->segment[m->segments].from = m->segment[m->segments].until = from;
                m->segment[m->segments++].price = to;
                w->changes_left[k]--;
        }
        if (to > m->ceiling) {
                w->loose[k] = true;
                m->ceiling = to;
                worst = oracle_worst(m, m->stop);
                m->worst = worst > m->worst ? worst : m->worst;
        }
        run_settle(w, k, &c);
}

static void flat(struct run *w)
{
        int k = run_pick(w, OPEN);
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        int64_t nano = run_below(w, NANO / 40), at = w->now - run_below(w, USEC_PER_MIN);
        struct ledger_change c;

        if (k < 0 || m->flats == ORACLE_FLATS)
                return;
        run_expect(w,
                ledger_post_flat(
                        &w->l, w->hold[k], run_chance(w, 50) ? LEDGER_SAVE : LEDGER_EGRESS, at, nano, &c, NULL),
                0, "a save or egress is refused");
        m->flat[m->flats].at = at;
        m->flat[m->flats++].nano = nano;
        run_settle(w, k, &c);
}

static void leave(struct run *w)
{
        int k = run_pick(w, OPEN_MACHINE);
        struct ledger_change c;

        if (k < 0)
                return;
        run_expect(w, ledger_leave(&w->l, w->hold[k], &c, NULL), 0, "leaving is refused");
        w->o.machine[k].leaving = true;
        run_settle(w, k, &c);
}

static void release(struct run *w)
{
        int k = run_pick(w, OPEN);
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        int64_t end = w->now - (run_chance(w, 30) ? run_below(w, 20 * USEC_PER_MIN) : 0);
        struct ledger_change c;

        if (k < 0)
                return;
        run_expect(w, ledger_release(&w->l, w->hold[k], end, &c, NULL), 0, "a release is refused");
        if (end < m->segment[m->segments - 1].from)
                end = m->segment[m->segments - 1].from;
        m->segment[m->segments - 1].until = end;
        m->extra = oracle_extra(m);
        m->closed = true;
        run_settle(w, k, &c);
        if (m->rest)
                run_violation(w, "law 7: a closed reservation holds something");
}

static void cancel(struct run *w)
{
        int k = run_pick(w, OPEN);
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        struct ledger_change c;
        int r;

        if (k < 0)
                return;
        r = ledger_cancel(&w->l, w->hold[k], &c, NULL);
        run_expect(w, r, w->next_seq[k] ? -PD_E_CONFLICT : 0, "a cancellation is not answered as its bill says");
        if (r < 0)
                return;
        m->closed = true;
        run_settle(w, k, &c);
}

static void finish(struct run *w)
{
        int k = run_pick(w, CLOSED);
        struct oracle_machine *m = &w->o.machine[k < 0 ? 0 : k];
        struct ledger_change c;

        if (k < 0)
                return;
        if (run_chance(w, 30)) {
                int64_t bill =
                        m->posted + (run_chance(w, 50) ? run_below(w, NANO / 100) : -run_below(w, m->posted + 1));

                run_expect(w, ledger_correct(&w->l, w->hold[k], bill, &c, NULL), 0, "a correction is refused");
                m->correction += bill - m->posted;
                oracle_count(&w->o, m);
                oracle_corrected(&w->o, m);
                run_settle(w, k, &c);
                w->corrections++;
        }
        run_expect(w, ledger_forget(&w->l, w->hold[k], &c, NULL), 0, "forgetting is refused");
        run_write_change(w, &c);
        oracle_forget(&w->o, m);
}

/* The jobs to suspend: the newest first, enough of them, and not one too many. */
static void check_over(struct run *w, int account)
{
        const struct oracle_account *a = &w->o.account[account];
        struct ledger_leavers list = { 0 };
        int64_t excess = oracle_used(a) - a->cap, frees = 0;

        if (ledger_over(&w->l, w->id[account], USEC_PER_MIN, &list, NULL) < 0)
                run_violation(w, "no list of jobs to suspend");
        for (size_t i = 0; i < list.n; i++) {
                int k = run_machine_of(w, list.at[i].hold);

                if (k < 0 || w->o.machine[k].closed || w->o.machine[k].leaving || w->o.machine[k].storage ||
                        (i && list.at[i].from_wall_us > list.at[i - 1].from_wall_us))
                        run_violation(w, "a wrong machine must go, or in a wrong order");
                if (excess <= 0 || frees >= excess)
                        run_violation(w, "one too many must go");
                frees += list.at[i].frees_nano;
        }
        vec_free(&list);
}

static int64_t random_cap(struct run *w, int64_t used)
{
        int64_t which = run_below(w, 100);

        if (which < 10)
                return used * 9 / 10;
        if (which < 20)
                return used;
        if (which < 25)
                return used > 0 ? used - 1 : 0;
        if (which < 65)
                return used + run_below(w, used / 80 + 2);
        return used + run_below(w, used / 2 + 5 * NANO);
}

static void cap(struct run *w, int k)
{
        struct oracle_account *a = &w->o.account[k];
        int64_t used = oracle_used(a);
        struct ledger_cap to = { .from_wall_us = a->start, .until_wall_us = a->end };
        struct ledger_change c;

        if (!a->used)
                return;
        to.nano = random_cap(w, used);
        a->capped = !(k >= FIRST_PROJECT && k < FIRST_JOB && run_chance(w, 50));
        if (!a->capped && (a->start != INT64_MIN || a->end != INT64_MAX))
                a->capped = true;
        a->cap = to.nano;
        run_expect(w, ledger_cap(&w->l, w->id[k], a->capped ? &to : NULL, &c, NULL), 0, "a cap is refused");
        run_write_change(w, &c);
        run_check_account(w, k);
        if (a->capped && (a->sibling < 0 || !w->o.account[a->sibling].capped))
                check_over(w, k);
}

/* A job's account, new: at the start, and when a job that holds nothing makes way for the next. */
static void new_job(struct run *w, int k)
{
        const struct ledger_account *old = w->o.account[k].used ? ledger_account_at(&w->l, w->id[k]) : NULL;
        struct ledger_cap to = {
                .nano = run_below(w, 20 * NANO), .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX
        };
        struct ledger_change c;
        char key[32];

        if (old) {
                run_expect(w, ledger_account_close(&w->l, w->id[k], &c, NULL),
                        run_machines_on(w, k) ? -PD_E_CONFLICT : 0,
                        "closing an account is not answered as its machines say");
                if (run_machines_on(w, k))
                        return;
                run_write_change(w, &c);
        }
        (void)str_format(key, sizeof key, "job_%010u", w->jobs_made++);
        (void)ledger_account(&w->l, LEDGER_JOB, key, k < FIRST_JOB + JOBS * 3 / 4 ? "USD" : "EUR", &w->id[k], &c, NULL);
        run_write_change(w, &c);
        w->o.account[k] = (struct oracle_account){ .used = true,
                .sibling = -1,
                .start = INT64_MIN,
                .end = INT64_MAX,
                .cap = to.nano,
                .capped = run_chance(w, 80) };
        if (!w->o.account[k].capped)
                return;
        (void)ledger_cap(&w->l, w->id[k], &to, &c, NULL);
        run_write_change(w, &c);
}

/* Posts what runs on it up to the boundary, and begins the next period. */
static void turn(struct run *w, int k, int64_t boundary)
{
        struct oracle_account *a = &w->o.account[k];
        struct ledger_cap next = { .nano = a->cap, .from_wall_us = boundary, .until_wall_us = boundary + PERIOD };
        struct ledger_change c;

        for (int i = 0; i < ORACLE_MACHINES; i++)
                for (int s = 0; s < ORACLE_SCOPES; s++)
                        if (w->o.machine[i].used && !w->o.machine[i].closed && w->o.machine[i].account[s] == k)
                                post(w, i, boundary);
        run_expect(w, ledger_cap(&w->l, w->id[k], &next, &c, NULL), 0, "the next period is refused");
        run_write_change(w, &c);
        oracle_turn(&w->o, k, boundary, boundary + PERIOD);
        run_check_account(w, k);
        w->turns++;
}

static void advance(struct run *w, int64_t us)
{
        int64_t to = w->now + us;

        for (;;) {
                int first = -1;

                for (int k = 0; k < ACCOUNTS; k++)
                        if (w->o.account[k].end <= to && (first < 0 || w->o.account[k].end < w->o.account[first].end))
                                first = k;
                if (first < 0)
                        break;
                w->now = w->o.account[first].end;
                turn(w, first, w->now);
        }
        w->now = to;
}

/* The more there are, the more end. */
void run_step(struct run *w)
{
        int64_t what = run_below(w, 100);
        int k = run_pick(w, OPEN);
        bool crowded = run_below(w, ORACLE_MACHINES * 3 / 4) < run_machines_open(w);

        w->is_near = false;
        advance(w, run_below(w, USEC_PER_MIN));
        if (what < 14)
                new_machine(w, -1);
        else if (what < 40)
                renew(w);
        else if (what < 62 && k >= 0)
                post(w, k, w->now - (run_chance(w, 5) ? run_below(w, USEC_PER_HOUR) : 0));
        else if (what < 70)
                price(w);
        else if (what < 74)
                flat(w);
        else if (what < 76)
                leave(w);
        else if (what < 84 && crowded)
                release(w);
        else if (what < 86 && crowded)
                cancel(w);
        else if (what < 90)
                new_machine(w, run_pick(w, OPEN_MACHINE));
        else if (what < 97)
                finish(w);
        else if (what < 99)
                cap(w, (int)run_below(w, ACCOUNTS));
        else
                new_job(w, FIRST_JOB + (int)run_below(w, JOBS));
        w->events++;
        w->near += w->is_near;
}

void run_end(struct run *w)
{
        for (int k; (k = run_pick(w, OPEN)) >= 0 || run_pick(w, CLOSED) >= 0;)
                k >= 0 ? release(w) : finish(w);
        for (int k = 0; k < ACCOUNTS; k++)
                w->lost += llabs(w->o.account[k].open);
}

void run_begin(struct run *w)
{
        struct ledger_change c;

        w->now = START;
        for (int k = 0; k < FIRST_JOB; k++) {
                bool connection = k < CONNECTIONS,
                     eur = connection ? k == CONNECTIONS - 1 : k >= FIRST_PROJECT + PROJECTS;
                char key[8];

                (void)str_format(key, sizeof key, "%c%d", connection ? 'c' : 'p',
                        connection ? k : (k - FIRST_PROJECT) % PROJECTS);
                (void)ledger_account(&w->l, connection ? LEDGER_CONNECTION : LEDGER_PROJECT, key, eur ? "EUR" : "USD",
                        &w->id[k], &c, NULL);
                run_write_change(w, &c);
                w->o.account[k] = (struct oracle_account){ .used = true,
                        .start = INT64_MIN,
                        .end = INT64_MAX,
                        .sibling = connection ? -1
                                   : eur      ? k - PROJECTS
                                              : k + PROJECTS };
        }
        for (int k = 0; k < FIRST_PROJECT + 2;
                k++) { /* the connections and two projects by the month, each in a zone of its own */
                struct ledger_cap to = { .nano = 50 * NANO, .from_wall_us = START - k * USEC_PER_HOUR };

                to.until_wall_us = to.from_wall_us + PERIOD;
                w->o.account[k].start = to.from_wall_us;
                w->o.account[k].end = to.until_wall_us;
                w->o.account[k].capped = true;
                w->o.account[k].cap = to.nano;
                (void)ledger_cap(&w->l, w->id[k], &to, &c, NULL);
                run_write_change(w, &c);
        }
        for (int k = FIRST_JOB; k < ACCOUNTS; k++)
                new_job(w, k);
}
