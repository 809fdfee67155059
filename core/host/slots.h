/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot of every vtable as one row: its name, whether a plugin must have it, what goes in and comes out, and how to call it. The
 * rows serve the loader (presence), the callers (checks of arguments), the invoker and the judge; adding a slot to the ABI is adding a
 * row here, a default in defaults.c and nothing else.
 *
 * Includes marshal and the SDK. Calls plugin code, on the thread that asks. */
#ifndef HOST_SLOTS_H
#define HOST_SLOTS_H

#include <portald/billing.h>
#include <portald/checkpoint.h>
#include <portald/provider.h>
#include <portald/vault.h>

#include "host/marshal.h"

#define SLOT_FDS_MAX 3
#define SLOT_ITEMS_MAX 100000u                /* callback items an answer  */
#define SLOT_ITEMS_BYTES (UINT32_C(32) << 20) /* their JSON text          */
#define SLOT_TEXT_BYTES (UINT32_C(1) << 20)   /* what put() takes an answer */

/* The arguments of any slot; a slot's rows say which members it has. */
struct slot_in {
        const char *id, *name, *prefix, *path, *op_token;
        const struct pd_kv *expect_tags;
        const char *const *argv;
        int64_t stop_wall_us, from_wall_us, to_wall_us;
        uint64_t bytes;
        struct pd_launch launch;
        struct pd_container container;
        struct pd_usage usage;
        int fds[SLOT_FDS_MAX];
};

/* The out-arguments of any slot. Room to spare behind each struct: a plugin that was built for a later minor version and does not
 * look at `size` must not reach other memory of ours. */
struct slot_out {
        union {
                struct pd_provider_caps provider_caps;
                struct pd_capture_caps capture_caps;
                struct pd_estimate estimate;
                char spare[1024];
        };
        int64_t stop_wall_us, at_wall_us, nano;
        int32_t is_estimate, status;
        uint32_t flags;
};

/* A plugin as loaded: the vtable copied into ours, absent slots NULL. */
struct plugin {
        enum pd_kind kind;
        char name[64], version[64];
        uint32_t abi_major, abi_minor;
        uint64_t size; /* of its own vtable */
        bool concurrent;
        union {
                struct pd_head head;
                struct pd_provider provider;
                struct pd_checkpoint checkpoint;
                struct pd_vault vault;
                struct pd_billing billing;
        };
        void *self; /* from open() */
        void *library;
};

/* Gathers what one call hands back: items by callback, text by put(), log lines. */
struct slot_call {
        struct pd_call pd; /* what the plugin sees; pd.context is this */
        const struct plugin *plugin;
        const struct slot *slot;
        struct slot_in in;
        struct slot_out out;
        json_t *text;
        size_t text_bytes;
        char *items; /* JSON text of the items, with commas between: a tree of 100,000 would be ten times as large */
        size_t items_n, items_bytes, items_room;
        struct pd_error items_err; /* the first item that could not be taken; code PD_OK = none */
        int (*cancelled)(void *arg);
        void (*log)(void *arg, int level, const char *text);
        void *arg;
};

typedef int (*slot_fn)(const struct plugin *p, struct slot_call *c, struct pd_error *err);

struct slot {
        const char *name;
        size_t offset; /* of the function pointer in the vtable                     */
        slot_fn invoke;
        slot_fn absent;           /* optional slots: the default (defaults.c); NULL = required */
        const struct shape *in;   /* offsets into struct slot_in                               */
        const struct shape *out;  /* offsets into struct slot_out                              */
        const struct shape *item; /* of the callback's struct; NULL = no struct items          */
        size_t n_fds;
        const char *put; /* the keys that put() may name, spaces between; NULL = none */
        const char *key; /* item members that must not come twice: "id"               */
        enum pd_kind kind;
        bool texts;    /* the callback hands plain strings                          */
        bool one_item; /* success means exactly one callback                        */
};

/* NULL = that kind has no such slot. */
const struct slot *slot_find(enum pd_kind kind, const char *name);
/* The kind's slots in vtable order; *ret_n of them. open and close are not among them. */
const struct slot *slot_table(enum pd_kind kind, size_t *ret_n);
const char *kind_name(uint32_t kind); /* "provider"; NULL = unknown */
size_t kind_size(uint32_t kind);      /* sizeof of our vtable; 0 = unknown */
size_t kind_size_1_0(uint32_t kind);  /* of ABI 1.0: the least that a plugin's vtable has */
bool slot_present(const struct plugin *p, const struct slot *s);

/* Does it with the plugin's function or the default. Returns 0 or a negative code; *err is then filled with clean text. */
int slot_invoke(const struct plugin *p, struct slot_call *c, struct pd_error *err);
/* A plugin's return code and error as ours: known code, ended and clean text. Returns what the call failed with. */
int slot_error(const struct slot_call *c, int rc, struct pd_error *err);
/* Collectors that the invokers and defaults hand to plugins; arg is the struct slot_call. */
int slot_take(struct slot_call *c, const void *item);
int slot_take_text(void *arg, const char *text);
extern const struct pd_host slot_host;

/* Decodes args and readies c for plugin p. args must outlive the call. */
int slot_prepare(struct slot_call *c, const struct plugin *p, const struct slot *s, const json_t *args,
        struct arena *arena, struct pd_error *err);
void slot_call_clear(struct slot_call *c);
/* The out-arguments as JSON. */
int slot_result(const struct slot_call *c, json_t **ret, struct pd_error *err);

/* defaults.c */
int default_nothing(const struct plugin *p, struct slot_call *c, struct pd_error *err);
int default_unsupported(const struct plugin *p, struct slot_call *c, struct pd_error *err);
int default_validate(const struct plugin *p, struct slot_call *c, struct pd_error *err);
int default_notice(const struct plugin *p, struct slot_call *c, struct pd_error *err);
int default_recipe(const struct plugin *p, struct slot_call *c, struct pd_error *err);
int default_cost(const struct plugin *p, struct slot_call *c, struct pd_error *err);

/* shapes.c: the SDK's structs */
extern const struct shape shape_offer, shape_machine, shape_launch, shape_provider_caps, shape_container, shape_value,
        shape_capture_caps, shape_estimate, shape_object, shape_usage;

#endif
