/* SPDX-License-Identifier: Apache-2.0 */
/* A vault stores opaque objects by name. It knows nothing of checkpoints.
 *
 * Names are 1-512 bytes of [A-Za-z0-9._/-], no empty or dot-only part. A vault may refuse two kinds of them with -PD_E_INVALID, as a
 * file system would: a part above 255 bytes, and a name that goes on where another object's ends ("a/b" beside "a"). An object is whole or absent: a reader never sees half
 * of one, and a put that returned 0 survives the loss of power. */
#ifndef PORTALD_VAULT_H
#define PORTALD_VAULT_H

#include <portald/host.h>
#include <portald/plugin.h>

struct pd_object {
        uint32_t size;
        const char *name;
        uint64_t bytes;
        int64_t modified_wall_us;
};
typedef int (*pd_object_fn)(void *arg, const struct pd_object *object);

enum pd_vault_cap {
        PD_VAULT_SHARED = 1 << 0, /* readable with the machine gone */
};

struct pd_vault {
        struct pd_head head;
        uint32_t flags; /* enum pd_flag */

        /* Required. cfg: the vault's block ("path", "endpoint" ...). */
        int (*open)(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err);
        /* Required. self may be NULL. */
        void (*close)(void *self);
        /* Required. *ret_flags: enum pd_vault_cap. Tries a put, get and delete of a small object of its own. */
        int (*probe)(void *self, struct pd_call *call, uint32_t *ret_flags, struct pd_error *err);
        /* Required. Stores all of from_fd, from its start, `bytes` long (-PD_E_INVALID if it is not). Replaces an object of the
         * same name in one step. Twice with the same content = once. Durable on return. */
        int (*put)(
                void *self, struct pd_call *call, const char *name, int from_fd, uint64_t bytes, struct pd_error *err);
        /* Required. Writes the object to to_fd. -PD_E_NOT_FOUND. */
        int (*get)(void *self, struct pd_call *call, const char *name, int to_fd, struct pd_error *err);
        /* Required. -PD_E_NOT_FOUND. One callback. */
        int (*stat)(
                void *self, struct pd_call *call, const char *name, pd_object_fn each, void *arg, struct pd_error *err);
        /* Required. All objects whose name begins with prefix, in byte order of the names. */
        int (*list)(void *self, struct pd_call *call, const char *prefix, pd_object_fn each, void *arg,
                struct pd_error *err);
        /* Required. Gone already = 0. */
        int (*remove)(void *self, struct pd_call *call, const char *name, struct pd_error *err);
};

#endif
