/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of core/api share: one record a connection, from accept to close. */
#ifndef API_INTERNAL_H
#define API_INTERNAL_H

#include <microhttpd.h>
#include <sys/queue.h>

#include "api/api.h"
#include "api/parse.h"

/* Older libmicrohttpd names these with int; 0.9.71 and later have the enum. */
enum conn_phase {
        CONN_READING,   /* a request, or idle between two */
        CONN_WAITING,   /* for the engine: suspended      */
        CONN_WRITING,   /* an answer                      */
        CONN_STREAMING, /* events                         */
};

struct peer {
        uint32_t uid;
        bool admin, member; /* member: may ask at all */
        char user[64];
};

struct conn {
        TAILQ_ENTRY(conn) all;
        struct api *api;
        struct MHD_Connection *mhd;
        int fd; /* MHD's */
        struct peer peer;
        bool served; /* has answered: what is idle now is closed without a word, which nobody can take for an answer */
        bool over;   /* past a limit: answered once with a sentence, then closed */
        enum conn_phase phase;
        int64_t deadline_boot_us; /* of the phase; INT64_MAX = none */

        /* the request */
        bool begun, too_big; /* too_big: read on and thrown away, answered 413 */
        char *body;          /* kept for the next request while small */
        size_t body_n, body_room;
        struct api_request rq;
        struct engine_ticket *ticket;
        bool replied, suspended, gone;
        sd_event_source *hangup; /* the client's end closed, while we wait for something else */

        /* the answer */
        struct MHD_Response *response;
        unsigned status;
        struct stream *stream; /* events */
};
TAILQ_HEAD(conn_list, conn);

struct stream;
LIST_HEAD(stream_list, stream);

struct api {
        sd_event *loop;
        struct engine *engine;
        struct MHD_Daemon *mhd;
        sd_event_source *io, *timer, *again, *deadlines, *comments;
        struct conn_list conns;
        size_t conns_n;
        int64_t armed_boot_us; /* of `deadlines`; INT64_MAX = off */

        uint32_t *admins, *admin_groups;
        size_t admins_n, admin_groups_n;
        uint32_t group;
        char group_name[33];
        uint32_t connections_max;
        int64_t request_timeout_us;
        int (*reload)(void *arg, json_t **ret_faults, struct pd_error *err);
        void *reload_arg;

        struct engine_watch *watch; /* while there are streams */
        struct stream_list streams;
        char *openapi; /* its text, made at the first request */
        bool closing;
};

/* server.c */
int64_t api_now(const struct api *a);
void conn_phase(struct conn *c, enum conn_phase phase, int64_t timeout_us); /* INT64_MAX = no deadline */
void conn_suspend(struct conn *c);
void conn_resume(struct conn *c);
int conn_watch_hangup(struct conn *c);

/* peer.c: who is at the other end */
void peer_read(const struct api *a, int fd, struct peer *ret);

/* reply.c: fill c->response and c->status; never fail but to a prepared 500 */
void reply_json(struct conn *c, unsigned status, const json_t *body);
void reply_text(struct conn *c, unsigned status, const char *type, const char *text); /* copied */
void reply_bytes(struct conn *c, const json_t *head, const void *blob, size_t n);
/* extra: object whose members go beside "error", may be NULL. status 0 = by the code. */
void reply_error(struct conn *c, const struct pd_error *err, const json_t *extra, unsigned status);
enum MHD_Result reply_send(struct conn *c);

/* exchange.c: one request */
void exchange_start(struct conn *c, const char *url, const char *method); /* the request is whole */
void exchange_withdraw(struct conn *c); /* its client is gone, or portald stops: the engine forgets who asked */
void exchange_clear(struct conn *c);
void exchange_late(struct conn *c); /* the engine did not answer in time */

/* events.c */
void events_start(struct conn *c);
void events_end(struct conn *c, bool broken);
void events_clear(struct conn *c);

#endif
