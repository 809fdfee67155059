/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "store/place.h"
#include "store/read.h"
#include "store/schema.h"

#define BALLAST_TRY_US USEC_PER_MIN

/* --- the writer thread --- */

static int bind_value(sqlite3_stmt *st, int at, const struct value *v)
{
        switch (v->tag) {
        case VALUE_NULL:
                return sqlite3_bind_null(st, at);
        case VALUE_INT:
                return sqlite3_bind_int64(st, at, v->i);
        case VALUE_TEXT:
                return sqlite3_bind_text(st, at, v->at, (int)v->n, SQLITE_STATIC);
        case VALUE_BLOB:
                return sqlite3_bind_blob(st, at, v->at, (int)v->n, SQLITE_STATIC);
        }
        return SQLITE_MISUSE;
}

static int write_op(struct store *s, const struct txn *t, size_t *at, enum stmt stmt, int values, struct pd_error *err)
{
        sqlite3_stmt *st = s->writes[stmt];
        int r = SQLITE_OK;

        for (int i = 1; i <= values; i++) {
                struct value v = txn_next_value(t, at);

                if (r == SQLITE_OK)
                        r = bind_value(st, i, &v);
        }
        if (r == SQLITE_OK)
                r = sqlite3_step(st);
        if (r != SQLITE_DONE) {
                r = store_sqlite_fail(s->writer, "writing a change", err);
                (void)sqlite3_reset(st);
                return r;
        }
        (void)sqlite3_reset(st);
        if (store_statements[stmt].one_row && sqlite3_changes(s->writer) != 1)
                return pd_fail(err, PD_E_INTERNAL,
                        "store: a change did not find the one row that it was made for (statement %d): the engine's "
                        "picture is not the store's",
                        (int)stmt);
        return 0;
}

static int write_txn(struct store *s, const struct txn *t, struct pd_error *err)
{
        enum stmt stmt;
        size_t at = 0;
        int values, r = 0;

        while (r >= 0 && txn_next_op(t, &at, &stmt, &values))
                r = write_op(s, t, &at, stmt, values, err);
        return r;
}

/* All or none: a group that fails was acknowledged to nobody. */
static int write_group(struct store *s, const struct txn *group, struct pd_error *err)
{
        int r = store_exec(s->writer, "BEGIN IMMEDIATE", "beginning a transaction", err);

        if (r < 0)
                return r;
        for (const struct txn *t = group; t && r >= 0; t = t->next)
                r = write_txn(s, t, err);
        if (r >= 0)
                r = store_exec(s->writer, "COMMIT", "committing", err);
        if (r < 0 && !sqlite3_get_autocommit(s->writer))
                (void)sqlite3_exec(s->writer, "ROLLBACK", NULL, NULL, NULL);
        return r;
}

static int64_t boot_now(void)
{
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_BOOTTIME, &now);
        return (int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static void set_low(struct store *s, bool low)
{
        (void)pthread_mutex_lock(&s->lock);
        s->low = low;
        (void)pthread_mutex_unlock(&s->lock);
}

/* The disk is full: the ballast's room goes to what is under way, once. */
static int write_with_ballast(struct store *s, const struct txn *group, struct pd_error *err)
{
        int r = write_group(s, group, err);

        if ((r != -PD_E_FULL && r != -PD_E_IO) || !ballast_drop(s->ballast_path))
                return r;
        set_low(s, true);
        s->ballast_try_boot_us = boot_now() + BALLAST_TRY_US;
        return write_group(s, group, err);
}

static void ballast_back(struct store *s)
{
        bool low;

        (void)pthread_mutex_lock(&s->lock);
        low = s->low;
        (void)pthread_mutex_unlock(&s->lock);
        if (!low || s->ballast_bytes == 0 || boot_now() < s->ballast_try_boot_us)
                return;
        s->ballast_try_boot_us = boot_now() + BALLAST_TRY_US;
        if (ballast_hold(s->ballast_path, s->ballast_bytes))
                set_low(s, false);
}

static int on_commit_to_log(void *arg, sqlite3 *db, const char *name, int pages)
{
        struct store *s = arg;

        (void)db, (void)name;
        s->log_pages = pages;
        return SQLITE_OK;
}

/* Copies the log back, so that it starts again at its beginning. A reader at work or a full disk puts it off (the data is safe in the log), but not
 * for ever: a log that is too long waits for the readers, which are short. */
static int copy_back(struct store *s, struct pd_error *err)
{
        int mode = s->log_pages >= STORE_LOG_MAX ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
        int r = sqlite3_wal_checkpoint_v2(s->writer, NULL, mode, NULL, NULL);

        s->log_pages = 0; /* until the next commit says how long it is */
        if (r == SQLITE_OK || (r & 0xff) == SQLITE_BUSY || (r & 0xff) == SQLITE_FULL)
                return 0;
        return store_sqlite_fail(s->writer, "copying the log back", err);
}

/* At most STORE_GROUP from the queue; NULL = told to stop (or simulated) and nothing is left. */
static struct txn *take_group(struct store *s, bool *ret_broken)
{
        struct txn *group, **last;

        (void)pthread_mutex_lock(&s->lock);
        while (!s->queue && !s->stop && !s->simulated)
                (void)pthread_cond_wait(&s->wake, &s->lock);
        group = s->queue;
        last = &s->queue;
        for (size_t n = 0; *last && n < STORE_GROUP; n++)
                last = &(*last)->next;
        s->queue = *last;
        if (!s->queue)
                s->queue_end = &s->queue;
        if (group)
                *last = NULL;
        *ret_broken = s->broken;
        (void)pthread_mutex_unlock(&s->lock);
        return group;
}

static void break_store(struct store *s, const struct pd_error *why)
{
        (void)pthread_mutex_lock(&s->lock);
        if (!s->broken)
                s->failure = *why;
        s->broken = true;
        (void)pthread_mutex_unlock(&s->lock);
}

static void give_back(struct store *s, struct txn *group, bool failed)
{
        uint64_t one = 1;
        struct txn *last = group;

        for (struct txn *t = group; t; t = t->next) {
                t->failed = failed;
                last = t;
        }
        (void)pthread_mutex_lock(&s->lock);
        *s->over_end = group;
        s->over_end = &last->next;
        (void)pthread_mutex_unlock(&s->lock);
        while (!s->simulated && write(s->event_fd, &one, sizeof one) < 0 && errno == EINTR)
                ;
}

static bool queue_is_empty(struct store *s)
{
        bool empty;

        (void)pthread_mutex_lock(&s->lock);
        empty = !s->queue;
        (void)pthread_mutex_unlock(&s->lock);
        return empty;
}

static bool write_next(struct store *s)
{
        struct pd_error err = { 0 };
        bool broken;
        struct txn *group = take_group(s, &broken);

        if (!group)
                return false;
        if (!broken && write_with_ballast(s, group, &err) < 0) {
                break_store(s, &err);
                broken = true;
        }
        give_back(s, group, broken);
        if (broken)
                return true;
        ballast_back(s);
        if ((s->log_pages >= STORE_LOG_MAX || (s->log_pages >= STORE_LOG_IDLE && queue_is_empty(s))) &&
                copy_back(s, &err) < 0)
                break_store(s, &err);
        return true;
}

static void *writer_main(void *arg)
{
        while (write_next(arg))
                ;
        return NULL;
}

/* --- the loop's side --- */

static void forget_key(struct store *s, struct txn *t)
{
        for (struct txn **k = &s->keys; t->key && *k; k = &(*k)->next_key)
                if (*k == t) {
                        *k = t->next_key;
                        return;
                }
}

static void call_done(struct store *s)
{
        struct txn *t, *next;

        read_forget(s); /* what is called now must see what it is told of */
        (void)pthread_mutex_lock(&s->lock);
        t = s->over;
        s->over = NULL;
        s->over_end = &s->over;
        (void)pthread_mutex_unlock(&s->lock);
        for (; t; t = next) {
                next = t->next;
                s->queued--;
                s->queued_bytes -= t->n;
                forget_key(s, t);
                if (t->done) /* failure was written before t came back, and never again */
                        t->done(t->arg, t->failed ? &s->failure : NULL);
                txn_free(t);
        }
}

void store_flush(struct store *s)
{
        do {
                read_forget(s); /* a file in memory is not written while it is read */
                while (s->simulated && write_next(s))
                        ;
                call_done(s);
        } while (s->simulated && s->queued > 0);
}

static int on_event(sd_event_source *source, int fd, uint32_t events, void *arg)
{
        uint64_t n;

        (void)source, (void)events;
        if (read(fd, &n, sizeof n) < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        call_done(arg);
        return 0;
}

static void wake_writer(struct store *s)
{
        (void)pthread_mutex_lock(&s->lock);
        (void)pthread_cond_signal(&s->wake);
        (void)pthread_mutex_unlock(&s->lock);
        s->unwoken = 0;
}

static int on_turn_end(sd_event_source *source, void *arg)
{
        struct store *s = arg;

        (void)source;
        read_forget(s);
        if (s->unwoken > 0)
                wake_writer(s);
        return 0;
}

/* Of the same priority as all others, which then take turns: a source that is always ready cannot keep the writer asleep. */
static int add_turn_end(struct store *s, sd_event *loop)
{
        int r = sd_event_add_defer(loop, &s->turn_end, on_turn_end, s);

        return r >= 0 ? sd_event_source_set_enabled(s->turn_end, SD_EVENT_OFF) : r;
}

int writer_start(struct store *s, sd_event *loop, struct pd_error *err)
{
        sigset_t all, before;
        int r;

        s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (s->event_fd < 0)
                return pd_fail(err, PD_E_IO, "store: eventfd: %s", strerror(errno));
        r = sd_event_add_io(loop, &s->source, s->event_fd, EPOLLIN, on_event, s);
        if (r >= 0)
                r = add_turn_end(s, loop);
        if (r < 0)
                return pd_fail(err, PD_E_IO, "store: event source: %s", strerror(-r));
        (void)sqlite3_wal_autocheckpoint(s->writer, 0);
        (void)sqlite3_wal_hook(s->writer, on_commit_to_log, s);
        if (s->simulated)
                return 0;
        /* signals are the loop's */
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&s->thread, NULL, writer_main, s);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return pd_fail(err, PD_E_IO, "store: the writer thread: %s", strerror(r));
        s->has_thread = true;
        return 0;
}

void writer_stop(struct store *s)
{
        if (s->simulated && s->writer)
                store_flush(s);
        if (s->has_thread) {
                (void)pthread_mutex_lock(&s->lock);
                s->stop = true;
                (void)pthread_cond_signal(&s->wake);
                (void)pthread_mutex_unlock(&s->lock);
                (void)pthread_join(s->thread, NULL);
                s->has_thread = false;
                call_done(s);
        }
        s->source = sd_event_source_disable_unref(s->source);
        s->turn_end = sd_event_source_disable_unref(s->turn_end);
}

/* A key that is being written, or is there: two requests that crossed. Never a fault of the store. */
static int check_key(struct store *s, const struct txn *t, struct pd_error *err)
{
        struct id job;
        int r;

        if (!t->key)
                return 0;
        for (const struct txn *k = s->keys; k; k = k->next_key)
                if (k->key_uid == t->key_uid && streq(k->key, t->key))
                        return pd_fail(err, PD_E_BUSY,
                                "a request with the Idempotency-Key \"%s\" is being written: ask again", t->key);
        r = store_find_key(s, t->key_uid, t->key, NULL, &job, err);
        if (r < 0)
                return r;
        return id_is_null(job)
                       ? 0
                       : pd_fail(err, PD_E_CONFLICT, "the Idempotency-Key \"%s\" was used already: ask again", t->key);
}

static int check(struct store *s, const struct txn *t, struct pd_error *err)
{
        if (!t || t->no_memory)
                return pd_fail(err, PD_E_NOMEM, "no memory for a change of the store");
        if (t->fault) {
                if (err)
                        *err = *t->fault;
                return -(int)t->fault->code;
        }
        if (s->queued >= STORE_QUEUE_MAX || s->queued_bytes + t->n > STORE_QUEUE_BYTES)
                return pd_fail(
                        err, PD_E_FULL, "%zu changes wait for the disk, which is the limit: try again", s->queued);
        return check_key(s, t, err);
}

static int hand_over(struct store *s, struct txn *t, struct pd_error *err)
{
        int r = 0;

        (void)pthread_mutex_lock(&s->lock);
        if (s->broken || s->stop) {
                if (err)
                        *err = s->failure;
                r = s->broken ? -(int)s->failure.code : pd_fail(err, PD_E_CANCELLED, "the store is being closed");
        } else {
                *s->queue_end = t;
                s->queue_end = &t->next;
        }
        (void)pthread_mutex_unlock(&s->lock);
        return r;
}

int store_apply(struct store *s, struct txn *t, store_done_fn done, void *arg, struct pd_error *err)
{
        int r = check(s, t, err);

        if (r >= 0) {
                t->done = done;
                t->arg = arg;
                if (t->key) {
                        t->next_key = s->keys;
                        s->keys = t;
                }
                r = hand_over(s, t, err);
                if (r < 0)
                        forget_key(s, t);
        }
        if (r < 0) {
                txn_free(t);
                return r;
        }
        if (!s->simulated &&
                (++s->unwoken >= STORE_WAKE_AT || sd_event_source_set_enabled(s->turn_end, SD_EVENT_ONESHOT) < 0))
                wake_writer(s);
        s->queued++;
        s->queued_bytes += t->n; /* only call_done(), on this thread, frees it */
        return 0;
}

size_t store_queued(const struct store *s)
{
        return s->queued;
}

bool store_is_low(struct store *s)
{
        bool low;

        (void)pthread_mutex_lock(&s->lock);
        low = s->low;
        (void)pthread_mutex_unlock(&s->lock);
        return low;
}
