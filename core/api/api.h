/* SPDX-License-Identifier: Apache-2.0 */
/* Speaks HTTP/1.1 and JSON over a unix socket, as core/api/API.md says, and asks core/executor to do the work.
 *
 * libmicrohttpd runs inside the caller's sd-event loop: no thread, no lock. Who asks is what the kernel says of the socket's other end.
 * May include base, spec and executor/engine.h; keeps no job. Promises: each request gets one answer or its connection is closed; a
 * client that is slow, silent or gone holds nothing for longer than the times below; memory is bounded by connections x (1 MiB + 16 KiB). */
#ifndef API_API_H
#define API_API_H

#include <systemd/sd-event.h>

#include "executor/engine.h"

#define API_BODY_MAX 1048576
#define API_CONNECTIONS_MAX 512
#define API_REQUEST_TIMEOUT_US \
        (30 * USEC_PER_SEC) /* from the connection's start, or the last answer, to a whole request */
#define API_REPLY_TIMEOUT_US \
        (120 * USEC_PER_SEC) /* for the engine, on top of the request's own wait_ms                 */
#define API_WRITE_TIMEOUT_US \
        (60 * USEC_PER_SEC)                /* for the client to take an answer                                     */
#define API_COMMENT_US (15 * USEC_PER_SEC) /* between comments on an event stream                                  */
#define API_ANY_GROUP UINT32_MAX

struct api_options {
        const uint32_t *admins; /* uids besides 0; copied                                                     */
        size_t admins_n;
        const uint32_t *admin_groups; /* gids whose members are administrators; copied                        */
        size_t admin_groups_n;
        uint32_t group;             /* only its members may ask (root and admins always); API_ANY_GROUP = everybody */
        const char *group_name;     /* for the sentence; NULL = "portald"; copied                                 */
        uint32_t connections_max;   /* 0 = API_CONNECTIONS_MAX; one user gets at most half of them               */
        int64_t request_timeout_us; /* 0 = API_REQUEST_TIMEOUT_US                                              */
        /* POST /v1/reload. *ret_faults (may stay NULL): array of {"at","text","fix"}, given to the caller. */
        int (*reload)(void *arg, json_t **ret_faults, struct pd_error *err);
        void *reload_arg;
};

struct api;

/* Serves from the loop's next turn on. listen_fd: bound and listening; taken over, also on failure. */
int api_new(struct api **ret, sd_event *loop, int listen_fd, struct engine *e, const struct api_options *options,
        struct pd_error *err);
/* After a reload of the config. Connections that are open keep what they were given. */
int api_set_admins(
        struct api *a, const uint32_t *uids, size_t uids_n, const uint32_t *gids, size_t gids_n, struct pd_error *err);
size_t api_connections(const struct api *a);
/* Waiting requests are answered 503 with Retry-After, event streams end, sockets close. Before engine_free(). Returns NULL. */
struct api *api_free(struct api *a);
static inline void api_freep(struct api **a)
{
        api_free(*a);
}

/* The description of the interface, made from the route table and the tables of core/spec. */
int api_openapi(json_t **ret, struct pd_error *err);

#endif
