/* SPDX-License-Identifier: Apache-2.0 */
/* The random run of the ledger on the real store, with SIGKILL (N-04, B-15): a process applies each event as one transaction and says so once it is on
 * disk; killed at any instant, what the store then holds is what the same events leave in memory, where the oracle has proved them, to the nano.
 * TEST_SEED; TEST_FULL=1: 10^4 events, else 600; LEDGER_EVENTS: so many. */
#include <signal.h>
#include <sys/wait.h>

#include "../unit/store_lib.h"
#include "ledger_rows.h"
#include "ledger_run.h"

#define AHEAD 40 /* events that wait for the disk */

struct ack {
        int fd;
        long event;
};

/* --- the process that is killed --- */
struct writer {
        struct txn *t;
        struct id billed[ORACLE_MACHINES * 2]; /* holds that have their bill, by hold */
};

static void put_bill(struct txn *t, const struct ledger *l, const struct ledger_hold *h)
{
        struct store_bill b = { .what = h->what,
                .machine = h->what,
                .job = h->job,
                .uid = 1000,
                .kind = h->kind,
                .connection = "cloud",
                .project = "p",
                .offer = "cloud/z/small",
                .from_wall_us = h->from_wall_us };

        (void)str_format(
                b.currency, sizeof b.currency, "%s", ledger_account_at(l, h->account[LEDGER_CONNECTION])->currency);
        txn_bill(t, &b);
}

static void changed(void *arg, const struct ledger *l, const struct ledger_change *c)
{
        struct writer *w = arg;

        for (size_t i = 0; i < ARRAY_LEN(c->hold); i++) {
                const struct ledger_hold *h = ledger_hold_at(l, c->hold[i]);

                if (h && !id_equal(w->billed[h->id], h->what))
                        put_bill(w->t, l, h);
                if (h)
                        w->billed[h->id] = h->what;
        }
        txn_ledger(w->t, l, c);
}

static void on_ack(void *arg, const struct pd_error *err)
{
        struct ack *a = arg;

        if (err || write(a->fd, &a->event, sizeof a->event) != sizeof a->event)
                _exit(3);
        free(a);
}

/* At the start the accounts are made: that is event 0. */
static void event(struct run *w)
{
        if (w->now == 0)
                run_begin(w);
        else
                run_step(w);
}

static void apply_one(struct place *p, struct run *w, struct writer *writer, int fd)
{
        struct ack *a = malloc(sizeof *a);
        char text[24];

        writer->t = txn_new();
        event(w);
        if (!a || w->violations)
                _exit(4);
        *a = (struct ack){ fd, w->events };
        (void)snprintf(text, sizeof text, "%ld", w->events);
        txn_meta(writer->t, "events", text);
        while (store_queued(p->store) > AHEAD)
                (void)sd_event_run(p->loop, 1000000);
        if (store_apply(p->store, writer->t, on_ack, a, &p->err) < 0)
                _exit(5);
}

static char installation[64]; /* of the store */

static void child(const char *dir, struct run *w, int fd, long until, uint64_t bursts)
{
        struct writer writer = { 0 };
        struct place p = { 0 };

        (void)snprintf(p.dir, sizeof p.dir, "%s", dir);
        if (sd_event_new(&p.loop) < 0 || place_open(&p, installation, false) < 0)
                _exit(6);
        vec_foreach (h, &w->l.holds)
                if (h->state != LEDGER_FREE)
                        writer.billed[h->id] = h->what;
        w->on_change = changed;
        w->arg = &writer;
        while (w->now == 0 || w->events < until) {
                apply_one(&p, w, &writer, fd);
                /* bursts of uneven length, so that groups of every size are cut off */
                bursts = bursts * UINT64_C(6364136223846793005) + 1442695040888963407U;
                if (bursts >> 61 == 0)
                        (void)sd_event_run(p.loop, 1000000);
        }
        place_settle(&p);
        (void)pause(); /* killed here at the latest */
}

/* The last event that was acknowledged by the time that the process was dead; -1 = none. */
static long kill_after(const char *dir, struct run *w, long until, long wanted)
{
        long last = -1, k;
        int fds[2];
        pid_t pid;

        if (pipe(fds) < 0)
                abort();
        pid = fork();
        if (pid == 0) {
                (void)close(fds[0]);
                child(dir, w, fds[1], wanted, (uint64_t)until);
                _exit(7);
        }
        (void)close(fds[1]);
        while (last < until && read(fds[0], &k, sizeof k) == sizeof k)
                last = k;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        while (read(fds[0], &k, sizeof k) == sizeof k)
                last = k;
        (void)close(fds[0]);
        return last;
}

/* --- what is on disk then --- */
struct sum {
        long n;
        int64_t nano;
};

static int add(void *arg, const struct store_bill *b, const struct ledger_line *line)
{
        struct sum *s = arg;

        (void)b;
        s->n++;
        s->nano += line->nano;
        return 0;
}

struct figures {
        long kills, lost_events, differing;
        int64_t lost_nano;
};

/* Goes on in memory to the event that the store ends with, compares, and goes on from what the store holds. */
static bool look(struct place *p, struct run *w, long acknowledged, struct figures *f)
{
        const struct store_bill_filter all = { .from_wall_us = INT64_MIN, .until_wall_us = INT64_MAX };
        struct ledger back = { 0 };
        struct sum s = { 0 };
        char *text = NULL;
        long there;

        if (place_open(p, installation, false) < 0 || store_get_meta(p->store, "events", &text, &p->err) < 0 ||
                store_load_ledger(p->store, &back, &p->err) < 0 ||
                store_scan_bill(p->store, &all, add, &s, &p->err) < 0) {
                tap_note("%s", p->err.text);
                return false;
        }
        p->store = store_close(p->store);
        there = text ? strtol(text, NULL, 10) : -1;
        free(text);
        f->kills++;
        f->lost_events += there < acknowledged ? acknowledged - there : 0;
        if (there >= 0 && w->now == 0)
                event(w);
        while (w->events < there)
                event(w);
        f->differing += rows_differing(&w->l, &back) + labs(w->billed_n - s.n);
        f->lost_nano += llabs(w->billed - s.nano);
        ledger_free(&w->l);
        w->l = back;
        return true;
}

int main(void)
{
        static struct run w;
        const char *seed = getenv("TEST_SEED"), *n = getenv("LEDGER_EVENTS"), *full = getenv("TEST_FULL");
        long wanted = n ? strtol(n, NULL, 10) : full && streq(full, "1") ? 10000 : 600;
        struct figures f = { 0 };
        struct place p;
        bool good = true;

        w.random = seed ? strtoull(seed, NULL, 10) : 1;
        place_begin(&p);
        (void)str_format(installation, sizeof installation, "%s", store_installation(p.store));
        p.store = store_close(p.store);
        for (uint64_t dice = w.random; good && w.events < wanted && w.violations == 0;) {
                long until;

                dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407U;
                until = w.events + 1 + (long)((dice >> 33) % (uint64_t)(wanted / 20));
                good = look(&p, &w, kill_after(p.dir, &w, until < wanted ? until : wanted, wanted), &f);
        }
        tap_note("seed %s: %ld events, %ld within 1 %% of a cap, %ld lines of bills, %ld kills", seed ? seed : "1",
                w.events, w.near, w.billed_n, f.kills);
        tap_ok(good && w.events >= wanted && f.kills > 5, "N-04 %ld random events on the real store: %ld kills",
                w.events, f.kills);
        tap_ok(w.violations == 0, "N-04 law 6 %ld random events: %ld violations", w.events, w.violations);
        tap_ok(f.lost_events == 0, "law 3 law 4 no event that was acknowledged is lost: %ld", f.lost_events);
        tap_ok(f.differing == 0, "law 7 each row is as in memory: %ld are not", f.differing);
        tap_ok(f.lost_nano == 0, "law 7 the lines on disk are the independent bill: %lld nano lost",
                (long long)f.lost_nano);
        ledger_free(&w.l);
        place_end(&p);
        return tap_done();
}
