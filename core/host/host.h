/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plugins and calls them: in a process of their own (portald-plugin-host, the default) or inside this one.
 *
 * One struct host is one *instance*: one connection, one sink, one capture or vault as configured. Calls go in and out as JSON
 * objects whose members are the SDK's struct fields by name (kv as an object in order, codes and enums as numbers, u64 as integers),
 * so that both isolations, the tests and the logs see the same thing. Descriptors ride beside ("fds"). In detail:
 *   args    the slot's scalar and text arguments by name; a struct argument's members stand there themselves, not below its name:
 *           launch {"zone", "type", "market": 2, "tags": {..}}, renew {"id", "expect_tags": {..}, "stop_wall_us"}, save {"id",
 *           "runtime", ..., "settings": {..}}, vault put {"name", "bytes"}, exec {"id", "argv": [..]}. Absent = 0 or NULL where the SDK allows that; an
 *           unknown member is refused.
 *   ret     out-arguments by name without "ret_": renew {"stop_wall_us"}; an out-struct's members themselves: caps {"lease", ..}.
 *   items   objects with the struct's members ("size" left out); plain strings for actions().
 *   text    what the plugin put(): {"missing": "..."}.
 *
 * Used by core/executor (providers, sinks) and core/runner (captures, vaults). Promises: every call ends in exactly one callback, never
 * from inside host_call(); one call at a time unless the vtable says CONCURRENT (others wait in a bounded queue); a child that is late
 * by HOST_GRACE_US is killed and that call is -PD_E_UNKNOWN_OUTCOME (with token) or -PD_E_DEADLINE (a query); a child that dies gives
 * -PD_E_CRASHED (query) or -PD_E_UNKNOWN_OUTCOME (with token) to the call it was in, is started again for the next one with back-off, and
 * touches nobody else. Answers are judged (host/judge.c): negative price, unknown currency or enum, id of another connection, missing
 * members: an error that names the plugin. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <systemd/sd-event.h>

#include "base/base.h"
#include "base/js.h"

#define HOST_GRACE_US (5 * USEC_PER_SEC)
#define HOST_QUEUE_MAX 256

enum host_isolation { HOST_PROCESS, HOST_NONE };

struct host_params {
        const char *name;     /* for messages and logs: the connection's or backend's name            */
        const char *path;     /* the .so, absolute                                                    */
        enum pd_kind kind;    /* what it must be                                                      */
        const json_t *config; /* object of strings, becomes open()'s cfg; copied                      */
        enum host_isolation isolation;
        const char *program; /* portald-plugin-host; NULL = PORTALD_LIBEXECDIR "/portald-plugin-host"*/
        uint32_t owner_uid;  /* besides root, the only owner that the file may have                  */
        uint64_t memory_max; /* RLIMIT_AS of the child, bytes; 0 = 1 GiB                             */
};

struct host;

/* Checks the file, starts the child (HOST_PROCESS), reads the head and calls open(). Blocking, at most 10 s. */
int host_open(struct host **ret, sd_event *loop, const struct host_params *params, struct pd_error *err);
struct host *host_free(struct host *h); /* pending calls are called back with -PD_E_CANCELLED first; returns NULL */
static inline void host_freep(struct host **h)
{
        host_free(*h);
}

/* err NULL = success: ret has the slot's return values by name; items the callback items in order ([] when none); text what put() gave.
 * err not NULL: ret is NULL; items and text hold what came before the error (the values of a -PD_E_REFUSED precheck or save; [] and {}
 * when nothing). All borrowed. An answer that was judged bad is -PD_E_INTERNAL for a query and -PD_E_UNKNOWN_OUTCOME with a token:
 * something may have been done. */
typedef void (*host_done_fn)(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text);

/* slot: the vtable member's name ("launch"). args: object of its arguments by name (borrowed; NULL = {}). token NULL = a query. timeout_us > 0.
 * fds fill the slot's descriptor arguments in order (borrowed until the callback). A refusal here (-PD_E_FULL, -PD_E_NOMEM,
 * -PD_E_UNSUPPORTED for a slot the kind does not have, -PD_E_INVALID for args that do not fit the slot) is returned and not called
 * back. A call that waited in the queue until its deadline and was never handed to the plugin is -PD_E_TRANSIENT. */
int host_call(struct host *h, const char *slot, const json_t *args, const int *fds, size_t n_fds, const char *token,
        int64_t timeout_us, host_done_fn done, void *arg, struct pd_error *err);

const char *host_plugin_name(const struct host *h);    /* head.name, e.g. "local" */
const char *host_plugin_version(const struct host *h); /* head.version            */

/* The loader alone: every check on the file and its head, nothing called. Each refusal is a sentence of its own.
 * expect_kind 0 = any. *ret_info (may be NULL): {"name","version","kind","abi","size","slots":{name: bool present}}. In a child process, so that a
 * hostile file cannot hurt the caller. */
int host_check_file(const char *path, uint32_t expect_kind, uint32_t owner_uid, const char *program, json_t **ret_info,
        struct pd_error *err);

#endif
