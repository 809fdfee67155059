/* SPDX-License-Identifier: Apache-2.0 */
/* What every portald plugin is: one shared object that exports one const data symbol, `portald_plugin`.
 *
 *     static const struct pd_billing jsonl = {
 *             .head = PD_HEAD(PD_KIND_BILLING, struct pd_billing, "jsonl"),
 *             .open = jsonl_open, .close = jsonl_close, .record = jsonl_record,
 *     };
 *     PD_EXPORT const struct pd_head *const portald_plugin = &jsonl.head;
 *
 * Rules that hold for every kind:
 *   - The loader reads the symbol before it calls anything. A plugin does nothing at load time.
 *   - A vtable only grows at its end; a slot's comment says since when. A slot that is NULL, or beyond head.size,
 *     gets the default that its comment names.
 *   - Every struct that crosses begins with `uint32_t size`, set by whoever fills it; a reader takes no more than that.
 *   - Nobody frees across the border. Arguments are borrowed for the call. Lists cross one item per callback, text by
 *     host->put(). Whatever a callback is handed is borrowed until it returns.
 *   - No state in globals: two accounts are two instances, each with its own `self`.
 *   - No exit(), abort(), signal handlers or threads that outlive close(). Failure is a return value (error.h).
 *   - Calls on one instance come one at a time, on any thread, unless the vtable's flags say PD_FLAG_CONCURRENT.
 *   - Units are in the names: _us (microseconds), _nano (1e-9 of a currency unit), _bytes. No double anywhere. */
#ifndef PORTALD_PLUGIN_H
#define PORTALD_PLUGIN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <portald/error.h>

#define PD_MAGIC UINT32_C(0x70644c31) /* "pdL1" */
#define PD_ABI_MAJOR 1
#define PD_ABI_MINOR 0
#define PD_SDK_VERSION "1.0"

#ifdef __cplusplus
#define PD_EXTERN extern "C"
#else
#define PD_EXTERN extern
#endif
/* In front of the one exported symbol. */
#define PD_EXPORT __attribute__((visibility("default")))
#define PD_SYMBOL "portald_plugin"

enum pd_kind {
        PD_KIND_PROVIDER = 1,
        PD_KIND_CHECKPOINT = 2, /* a capture                       */
        PD_KIND_VAULT = 3,      /* a store of checkpoint objects   */
        PD_KIND_BILLING = 4,    /* a sink of usage records         */
};

struct pd_head { /* first member of every vtable; frozen for ever */
        uint32_t magic, kind;
        uint32_t abi_major, abi_minor; /* as the plugin was compiled                 */
        uint64_t size;                 /* sizeof(vtable) as the plugin saw it, bytes */
        const char *name, *version;    /* static storage inside the .so              */
};
static_assert(offsetof(struct pd_head, size) == 16, "the head never moves");

#define PD_HEAD(kind_, type_, name_)                                                                      \
        {                                                                                                 \
                .magic = PD_MAGIC, .kind = (kind_), .abi_major = PD_ABI_MAJOR, .abi_minor = PD_ABI_MINOR, \
                .size = sizeof(type_), .name = (name_), .version = PD_SDK_VERSION                         \
        }

/* Vtable flags, in each vtable's `flags`. */
enum pd_flag {
        PD_FLAG_CONCURRENT = 1, /* calls on one instance may overlap */
};

/* A list of names with values: a config block, tags, environment. Order is kept; names are unique but for none. */
struct pd_pair {
        const char *key, *value; /* never NULL */
};
struct pd_kv {
        uint32_t size;  /* sizeof(struct pd_kv) */
        uint32_t count; /* pairs                */
        const struct pd_pair *pairs;
};

static inline const char *pd_kv_get(const struct pd_kv *kv, const char *key)
{
        for (uint32_t i = 0; kv && i < kv->count; i++)
                if (__builtin_strcmp(kv->pairs[i].key, key) == 0)
                        return kv->pairs[i].value;
        return NULL;
}

struct pd_host;

/* One call into a plugin. Valid until the slot returns; so is its host. */
struct pd_call {
        uint32_t size;
        int64_t deadline_boot_us;   /* CLOCK_BOOTTIME; the host kills a plugin that is late by 5 s          */
        const char *op_token;       /* idempotency key of this act, 1-64 of [A-Za-z0-9_-]; NULL for a query */
        const struct pd_host *host; /* host.h                                                               */
        void *context;              /* the host's own; hand it back in every host call                      */
};

/* Ownership in C: a local that owns carries its cleanup; giving away is spelled pd_steal(). */
#define pd_cleanup(func_) __attribute__((cleanup(func_)))
#define pd_steal(ptr_)                             \
        __extension__({                            \
                __typeof__(ptr_) *pd_p_ = &(ptr_); \
                __typeof__(ptr_) pd_v_ = *pd_p_;   \
                *pd_p_ = NULL;                     \
                pd_v_;                             \
        })

#endif
