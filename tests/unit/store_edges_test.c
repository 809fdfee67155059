/* SPDX-License-Identifier: Apache-2.0 */
/* What the store refuses before anything is queued: each edge that spec/life.h does not have, and the laws on a job's row. */
#include "store_lib.h"

static struct place p;

static bool edge_listed(int from, int event, int to, int result, int cause)
{
        struct pd_error err;

        return life_find((enum job_state)from, (enum job_event)event, (enum job_state)to, (enum job_result)result,
                (enum job_cause)cause, &err);
}

static int try_edge(int from, int event, int to, int result, int cause)
{
        struct job before = job_of(1), after = before;
        struct txn *t = txn_new();
        int r;

        before.state = (uint8_t)from;
        after.state = (uint8_t)to;
        after.result = (uint8_t)result;
        after.cause = (uint8_t)cause;
        txn_meta(t, "touched", "1");
        txn_job(t, from == JOB_STATE_N ? NULL : &before, &after, (enum job_event)event, &doc_plain, T0, NULL);
        if (!edge_listed(from, event, to, result, cause)) {
                r = store_apply(p.store, t, on_done, &p, &p.err);
                return r;
        }
        txn_free(t); /* a listed one is for the rows of the other test: this job is not in that state on disk */
        return 0;
}

/* The whole space: states x events x states x results x causes. */
static void test_every_edge(void)
{
        long long refused = 0, listed = 0, wrong = 0;

        for (int from = 0; from <= JOB_STATE_N; from++)
                for (int event = 0; event < EVENT_N; event++)
                        for (int to = 0; to < JOB_STATE_N; to++)
                                for (int result = 0; result < RESULT_N; result++)
                                        for (int cause = 0; cause < CAUSE_N; cause++) {
                                                int r = try_edge(from, event, to, result, cause);

                                                listed += r == 0;
                                                refused += r == -PD_E_INTERNAL;
                                                wrong += r != 0 && r != -PD_E_INTERNAL;
                                        }
        tap_note("%lld edges listed, %lld refused", listed, refused);
        tap_ok(wrong == 0 && listed > 0 &&
                        listed + refused == (long long)(JOB_STATE_N + 1) * EVENT_N * JOB_STATE_N * RESULT_N * CAUSE_N,
                "law 20 every edge that the table does not have is refused");
        tap_int((long long)store_queued(p.store), 0, "law 20 and not even queued");
        tap_int(place_count(&p, "SELECT count(*) FROM meta WHERE key='touched'"), 0,
                "law 20 nothing of such a transaction is written");
        tap_int(place_count(&p, "SELECT count(*) FROM history"), 0, "law 20 no history either");
}

struct change {
        const char *name;
        void (*make)(struct job *before, struct job *after);
        const char *says;
};
static void back(struct job *b, struct job *a)
{
        b->generation = 2, a->generation = 1;
}
static void owner(struct job *b, struct job *a)
{
        a->uid = b->uid + 1;
}
static void birth(struct job *b, struct job *a)
{
        a->created_wall_us = b->created_wall_us + 1;
}
static void other(struct job *b, struct job *a)
{
        (void)b, a->id = id_of(2);
}
static void state(struct job *b, struct job *a)
{
        (void)b, a->state = JOB_RUNNING;
}
static void result(struct job *b, struct job *a)
{
        (void)b, a->result = RESULT_FAILED;
}
static void null(struct job *b, struct job *a)
{
        b->id = a->id = (struct id){ { 0 } };
}

static void test_rows(void)
{
        static const struct change rows[] = {
                { "law 18 a generation that goes back", back, "generation would go back" },
                { "another owner", owner, "owner or creation time" },
                { "another creation time", birth, "owner or creation time" },
                { "a change that is of another job", other, "of another job" },
                { "the null id", null, "of another job" },
                { "law 20 a state without an event", state, "without an event" },
                { "law 20 a result without an event", result, "without an event" },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct job before = job_of(1), after = before;
                struct txn *t = txn_new();

                rows[i].make(&before, &after);
                txn_job(t, &before, &after, EVENT_N, NULL, T0, NULL);
                tap_ok(place_apply(&p, t) == -PD_E_INTERNAL && strstr(p.err.text, rows[i].says) &&
                                strstr(p.err.text, "job_"),
                        "%s is refused: %s", rows[i].name, p.err.text);
        }
        {
                struct job j = job_of(1);
                struct txn *t = txn_new();

                txn_job(t, NULL, &j, EVENT_SUBMIT, NULL, T0, NULL);
                tap_int(place_apply(&p, t), -PD_E_INTERNAL, "a new job without its doc is refused");
        }
        tap_int(place_apply(&p, NULL), -PD_E_NOMEM, "no memory for the transaction is a refusal, not a crash");
        tap_int(p.done_n, 0, "done is not called for what was refused");
}

/* The engine's picture and the disk differ: that is a fault of ours, and the store stops there. */
static void test_picture(void)
{
        struct job j = job_of(5), wrong, after;
        struct txn *t = txn_new();

        txn_submit(t, &j);
        tap_int(place_apply(&p, t), 0, "a job is submitted");
        wrong = j;
        wrong.state = JOB_SUSPENDED;
        after = wrong;
        after.state = JOB_QUEUED;
        t = txn_new();
        txn_meta(t, "beside", "1");
        txn_job(t, &wrong, &after, EVENT_RESUME, NULL, T0, NULL);
        tap_int(place_apply(&p, t), 0, "an edge of the table from a state that the disk does not have is queued");
        tap_ok(p.done_bad == 1 && p.done_err.code == PD_E_INTERNAL, "and comes back as a fault: %s", p.done_err.text);
        tap_int(place_count(&p, "SELECT count(*) FROM meta WHERE key='beside'"), 0, "nothing of it is written");
        t = txn_new();
        txn_meta(t, "after", "1");
        tap_int(place_apply(&p, t), -PD_E_INTERNAL, "every later apply is refused");
        tap_str(p.err.text, p.done_err.text, "with the first reason");
        tap_int(p.done_n, 2, "and without a callback");
        tap_int(store_get_job(p.store, j.id, &after, &p.err), 0, "reads go on");
}

/* A full queue is a refusal of new work only: what is in it goes to disk. */
static void test_bound(void)
{
        int r = 0, n = 0;

        place_end(&p);
        place_begin(&p);
        while (r == 0 && n < 100000) {
                struct txn *t = txn_new();

                txn_meta(t, "n", "1");
                r = store_apply(p.store, t, on_done, &p, &p.err);
                n += r == 0;
        }
        tap_ok(r == -PD_E_FULL && n == 16384, "law 21 the queue has a bound (%d): %s", n, p.err.text);
        place_settle(&p);
        tap_ok(p.done_n == n && p.done_bad == 0, "all that was taken is on disk");
        r = place_apply(&p, ({
                struct txn *t = txn_new();
                txn_meta(t, "n", "2");
                t;
        }));
        tap_int(r, 0, "and then there is room again");
}

static int read_meanwhile(void *arg, const struct job *j)
{
        (void)arg, (void)j;
        return 0;
}

/* 20000 changes of 8 KiB, never an idle moment, reads in between: the log stays within its bound. */
static void test_log_bound(void)
{
        static char big[8192];
        char path[PATH_MAX];
        struct stat st;
        off_t largest = 0;

        memset(big, 'x', sizeof big - 1);
        (void)snprintf(path, sizeof path, "%s/portald.db-wal", p.dir);
        for (int i = 0; i < 20000; i++) {
                struct txn *t = txn_new();
                char key[16];

                (void)snprintf(key, sizeof key, "big%d", i % 500);
                txn_meta(t, key, big);
                while (store_queued(p.store) > 1000)
                        (void)sd_event_run(p.loop, 1000000);
                (void)store_apply(p.store, t, on_done, &p, &p.err);
                if (i % 10 == 0)
                        (void)store_load(p.store, read_meanwhile, NULL, NULL, NULL, &p.err);
                if (i % 100 == 0 && stat(path, &st) == 0 && st.st_size > largest)
                        largest = st.st_size;
        }
        place_settle(&p);
        tap_int(p.done_bad, 0, "20000 changes of 8 KiB in a row are written");
        tap_ok(largest > 0 && largest < 160 << 20, "law 21 the log of the database is bounded: %lld MiB at most",
                (long long)largest >> 20);
}

int main(void)
{
        place_begin(&p);
        test_every_edge();
        test_rows();
        test_picture();
        test_bound();
        test_log_bound();
        place_end(&p);
        return tap_done();
}
