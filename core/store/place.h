/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: who may hold it, whose it is, and the store itself as this room sees it. Of this room only. */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>

#include "store/store.h"
#include "store/txn.h"

/* Handed over and not yet called back: more is -PD_E_FULL. One group commit takes at most STORE_GROUP of them, which bounds how long the
 * first of a group waits for the last. */
#define STORE_QUEUE_MAX 16384
#define STORE_QUEUE_BYTES (64 << 20)
#define STORE_GROUP 2048
/* The writer is woken at the end of the loop's turn, so that what one turn changes shares a sync; at once when this many wait already. */
#define STORE_WAKE_AT 256
/* Pages of the log: copied back once the queue is empty above the first figure, and in any case above the second (64 MiB). */
#define STORE_LOG_IDLE 2000
#define STORE_LOG_MAX 16384

enum read_stmt {
        READ_LIVE_JOBS,
        READ_KEPT_JOBS,
        READ_OLD_JOBS,
        READ_MACHINES,
        READ_INTENTS,
        READ_JOB,
        READ_DOC,
        READ_SCAN,
        READ_SCAN_OWNER,
        READ_SCAN_LIVE,
        READ_SCAN_NAME,
        READ_FIND_NAME,
        READ_FIND_RANGE,
        READ_HISTORY,
        READ_DECISIONS,
        READ_INTERVALS,
        READ_CHECKPOINTS,
        READ_CHECKPOINT,
        READ_KEY,
        READ_SETTINGS,
        READ_META,
        READ_PRICES,
        READ_ACCOUNTS,
        READ_HOLDS,
        READ_BILL,
        READ_BILL_JOB,
        READ_BILL_OF,
        READ_N
};

struct store {
        /* the loop's */
        sqlite3 *reader;
        sqlite3_stmt *reads[READ_N];
        sd_event_source *source, *turn_end;
        size_t queued, queued_bytes, unwoken;
        struct txn *keys; /* in flight with an idempotency key */
        char path[PATH_MAX], ballast_path[PATH_MAX], installation[ID_TEXT_MAX];
        int lock_fd;

        /* both, under lock */
        pthread_mutex_t lock;
        pthread_cond_t wake;
        struct txn *queue, **queue_end, *over, **over_end;
        bool stop, broken, low;
        struct pd_error failure; /* why broken; written once */
        int event_fd;

        /* the writer's */
        pthread_t thread;
        bool has_thread;
        sqlite3 *writer;
        sqlite3_stmt *writes[STMT_N];
        bool simulated;
        int log_pages;
        uint64_t ballast_bytes;
        int64_t ballast_try_boot_us; /* next look whether there is room for it again */
};

/* place.c */
int place_take(
        struct store *s, const struct store_options *o, struct pd_error *err); /* directory, its mode, its lock */
int place_check(struct store *s, const struct store_options *o, bool empty,
        struct pd_error *err);                                                       /* empty directory, backups */
int place_own(struct store *s, const struct store_options *o, struct pd_error *err); /* the installation id */
/* ballast.c: true = the room is held. Drop: frees it, false when there was none. */
bool ballast_hold(const char *path, uint64_t bytes);
bool ballast_drop(const char *path);
/* writer.c */
int writer_start(struct store *s, sd_event *loop, struct pd_error *err);
void writer_stop(struct store *s); /* writes what is queued; calls what is over */

#endif
