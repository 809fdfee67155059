/* SPDX-License-Identifier: Apache-2.0 */
/* Delivers what the engine tells (executor/tell.h): always to the journal, and where the config says so to a command and a webhook.
 *
 * Nothing here blocks the loop or waits on anyone: each way has a queue of NOTIFY_QUEUE events, a deadline a try, and says in the log what it had to drop.
 * A command hears of an event at most once, an address at least once where it answers at all. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <systemd/sd-event.h>

#include "base/base.h"
#include "base/js.h"

#define NOTIFY_QUEUE 256
#define NOTIFY_COMMAND_US (30 * USEC_PER_SEC) /* then it is killed                        */
#define NOTIFY_POST_US (15 * USEC_PER_SEC)    /* for one POST                             */
#define NOTIFY_AGAIN_US USEC_PER_SEC          /* after a failed one, doubling to ...      */
#define NOTIFY_AGAIN_MAX_US (5 * USEC_PER_MIN)
#define NOTIFY_TRIES 8 /* of one event */

struct notify;
int notify_new(struct notify **ret, sd_event *loop, struct pd_error *err);
/* At start and at a reload. NULL = not this way. Both copied; what is queued goes the new way. */
int notify_set(struct notify *n, const char *command, const char *url, struct pd_error *err);
void notify_tell(struct notify *n, const json_t *event);
struct notify *notify_free(
        struct notify *n); /* a command under way is killed; what is queued is lost, the journal has it */

/* --- within the room: a bounded queue of events, shared by both ways --- */
struct notify_queue {
        json_t *at[NOTIFY_QUEUE]; /* a ring */
        size_t first, n;
        size_t dropped;
        const char *what; /* "the notify command", for the log */
};
void notify_queue_put(struct notify_queue *q, const json_t *event);
json_t *notify_queue_take(struct notify_queue *q); /* the oldest, to be given back; NULL = empty */
void notify_queue_clear(struct notify_queue *q);

/* notify_command.c: one process at a time, as portald's own user, the event in its environment. */
struct notify_command;
int notify_command_new(struct notify_command **ret, sd_event *loop, int64_t deadline_us, struct pd_error *err);
int notify_command_set(struct notify_command *c, const char *path, struct pd_error *err);
void notify_command_put(struct notify_command *c, const json_t *event);
struct notify_command *notify_command_free(struct notify_command *c);

/* notify_url.c: POST of the event as JSON, one at a time, by libcurl in the loop. */
struct notify_url;
int notify_url_new(struct notify_url **ret, sd_event *loop, struct pd_error *err);
int notify_url_set(struct notify_url *u, const char *url, struct pd_error *err);
void notify_url_put(struct notify_url *u, const json_t *event);
struct notify_url *notify_url_free(struct notify_url *u);

#endif
