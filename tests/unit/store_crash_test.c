/* SPDX-License-Identifier: Apache-2.0 */
/* Laws 3 and 4 on the real disk: a process killed in the middle of its applies, and a disk that fills up. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store_lib.h"

#define APPLIES 1000
#define JOBS 64
#define ROUNDS 24

static uint32_t mix(uint32_t x)
{
        x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU;
        return x ^ x >> 16;
}

/* What the jobs look like after the first k applies: ran_us of each is the last apply that touched it, -1 = not there. */
struct model {
        int64_t last[JOBS];
};

static uint32_t job_touched(uint32_t seed, uint32_t k)
{
        return mix(seed + k * 2654435761U) % JOBS;
}

static void model_to(struct model *m, uint32_t seed, uint32_t k)
{
        for (int i = 0; i < JOBS; i++)
                m->last[i] = -1;
        for (uint32_t i = 1; i <= k; i++)
                m->last[job_touched(seed, i)] = i;
}

static struct txn *apply_of(struct model *m, uint32_t seed, uint32_t k)
{
        uint32_t which = job_touched(seed, k);
        struct job before = job_of(which), after = before;
        struct txn *t = txn_new();
        char text[16];

        before.ran_us = m->last[which];
        after.ran_us = k;
        if (m->last[which] < 0)
                txn_job(t, NULL, &after, EVENT_SUBMIT, &doc_plain, T0, NULL);
        else
                txn_job(t, &before, &after, EVENT_N, NULL, T0, NULL);
        m->last[which] = k;
        (void)snprintf(text, sizeof text, "%u", k);
        txn_meta(t, "applies", text);
        return t;
}

struct ack {
        int fd;
        uint32_t k;
};

static void on_ack(void *arg, const struct pd_error *err)
{
        struct ack *a = arg;

        if (err || write(a->fd, &a->k, sizeof a->k) != sizeof a->k)
                _exit(3);
}

static void child_applies(const char *dir, int fd, uint32_t seed)
{
        static struct ack acks[APPLIES + 1];
        struct place p = { 0 };
        struct model m;

        (void)snprintf(p.dir, sizeof p.dir, "%s", dir);
        model_to(&m, seed, 0);
        if (sd_event_new(&p.loop) < 0 || place_open(&p, NULL, true) < 0)
                _exit(4);
        for (uint32_t k = 1; k <= APPLIES; k++) {
                acks[k] = (struct ack){ fd, k };
                if (store_apply(p.store, apply_of(&m, seed, k), on_ack, &acks[k], &p.err) < 0)
                        _exit(5);
                /* bursts of uneven length, so that groups of every size are cut off */
                if (mix(k ^ seed) % 7 == 0)
                        (void)sd_event_run(p.loop, 1000000);
        }
        place_settle(&p);
        (void)pause(); /* the parent kills it here at the latest */
}

/* Reads acknowledgements until the given one, kills, and returns the last one that came. */
static uint32_t kill_after(const char *dir, uint32_t seed, uint32_t until)
{
        uint32_t k = 0, last = 0;
        int fds[2];
        pid_t pid;

        if (pipe(fds) < 0)
                abort();
        pid = fork();
        if (pid == 0) {
                (void)close(fds[0]);
                child_applies(dir, fds[1], seed);
                _exit(6);
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

static bool equals_model(struct place *p, const struct model *m)
{
        bool good = true;

        for (unsigned int i = 0; i < JOBS; i++) {
                struct job j;
                int r = store_get_job(p->store, id_of(i), &j, &p->err);

                if (m->last[i] < 0)
                        good = good && r == -PD_E_NOT_FOUND;
                else
                        good = good && r == 0 && j.ran_us == m->last[i];
        }
        return good;
}

static void test_kill(void)
{
        for (uint32_t round = 0; round < ROUNDS; round++) {
                uint32_t until = round == ROUNDS - 1 ? APPLIES : 1 + mix(round) % (APPLIES - 100), last, there;
                struct place p;
                struct model m;
                char *text = NULL;

                place_make(&p);
                last = kill_after(p.dir, round, until);
                if (!tap_ok(place_open(&p, NULL, true) == 0,
                            "law 3 killed after %u acknowledged changes: it opens again", last)) {
                        tap_note("%s", p.err.text);
                        place_end(&p);
                        continue;
                }
                (void)store_get_meta(p.store, "applies", &text, &p.err);
                there = text ? (uint32_t)strtoul(text, NULL, 10) : 0;
                free(text);
                tap_ok(there >= last, "law 3 everything acknowledged is there (%u acknowledged, %u on disk)", last,
                        there);
                model_to(&m, round, there);
                tap_ok(equals_model(&p, &m), "law 4 and what is there is exactly the first %u changes, whole", there);
                tap_int(place_count(&p, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'"), 0,
                        "and the file is sound");
                place_end(&p);
        }
}

/* --- a full disk: in a child, since limits and mounts are the process's --- */

struct full {
        int taken, on_disk, refused;
        bool was_low;
        struct pd_error first, later;
};

static void on_full(void *arg, const struct pd_error *err)
{
        struct full *f = arg;

        f->on_disk += !err;
        if (err && f->first.code == PD_OK)
                f->first = *err;
}

static void fill(struct place *p, struct full *f)
{
        static char big[8000];

        memset(big, 'x', sizeof big - 1);
        for (int i = 0; i < 5000 && f->refused < 3; i++) {
                struct txn *t = txn_new();
                char key[16];

                (void)snprintf(key, sizeof key, "k%05d", i);
                txn_meta(t, key, big);
                if (store_apply(p->store, t, on_full, f, &f->later) < 0)
                        f->refused++;
                else
                        f->taken++;
                if (i % 5 == 0 || f->first.code)
                        place_settle(p);
                f->was_low = f->was_low || store_is_low(p->store);
        }
}

/* Exit status of the child: 0 = as wanted, else the number of the check that failed. */
static int check_full(struct place *p, const struct full *f, enum pd_code code, bool low)
{
        char id[ID_TEXT_MAX];
        int n;

        if (f->first.code != code || f->on_disk == 0)
                return 20;
        if (f->refused != 3 || f->later.code != code || !streq(f->later.text, f->first.text))
                return 21;
        if (f->was_low != low)
                return 22;
        (void)snprintf(id, sizeof id, "%s", store_installation(p->store));
        p->store = store_close(p->store);
        /* room again */
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
        if (low && mount(NULL, p->dir, NULL, MS_REMOUNT, "size=64m") < 0)
                return 23;
        if (place_open(p, id, false) < 0)
                return 24;
        n = (int)place_count(p, "SELECT count(*) FROM meta WHERE key LIKE 'k%'");
        p->store = store_close(p->store);
        return n == f->on_disk ? 0 : 25;
}

static int child_limit(struct place *p)
{
        struct full f = { 0 };

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 600000, RLIM_INFINITY }) < 0)
                return 10;
        if (place_open(p, NULL, true) < 0)
                return 11;
        fill(p, &f);
        return check_full(p, &f, PD_E_IO, false);
}

static int child_tmpfs(struct place *p)
{
        struct full f = { 0 };

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                mount("none", p->dir, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0700") < 0)
                return 99;
        if (store_open(&p->store, p->loop,
                    &(struct store_options){ .dir = p->dir, .new_installation = true, .ballast_bytes = 1 << 20 },
                    &p->err) < 0)
                return 11;
        fill(p, &f);
        return check_full(p, &f, PD_E_FULL, true);
}

static void test_full(int (*child)(struct place *p), const char *name)
{
        struct place p;
        int status = 0;
        pid_t pid;

        place_make(&p);
        pid = fork();
        if (pid == 0) {
                sd_event_unref(p.loop); /* the parent's */
                if (sd_event_new(&p.loop) < 0)
                        _exit(12);
                _exit(child(&p));
        }
        (void)waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
                tap_skip(name, "no mount namespace here");
        else if (!tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", name))
                tap_note("child: status %d", status);
        place_end(&p);
}

int main(void)
{
        test_kill();
        test_full(child_limit, "a write that fails: its change comes back with the reason, later ones are refused with "
                               "it, what was acknowledged is there");
        test_full(child_tmpfs, "a full disk: the ballast is spent first and new work is told so, then as above; with "
                               "room again all that was acknowledged is there");
        return tap_done();
}
