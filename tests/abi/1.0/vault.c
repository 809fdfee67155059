/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot that a vault had in 1.0. */
#include "common.h"

#include <portald/vault.h>

static int probe(void *self, struct pd_call *call, uint32_t *ret_flags, struct pd_error *err)
{
        *ret_flags = PD_VAULT_SHARED;
        return common_check(self, call, err);
}

static int put(void *self, struct pd_call *call, const char *name, int from_fd, uint64_t bytes, struct pd_error *err)
{
        return strcmp(name, "a/b") == 0 && from_fd >= 0 && bytes == 3 ? common_check(self, call, err)
                                                                      : pd_fail(err, PD_E_INVALID, "put");
}

static int get(void *self, struct pd_call *call, const char *name, int to_fd, struct pd_error *err)
{
        return strcmp(name, "a/b") == 0 && to_fd >= 0 ? common_check(self, call, err)
                                                      : pd_fail(err, PD_E_INVALID, "get");
}

static int one(const char *name, pd_object_fn each, void *arg)
{
        struct pd_object o = { .size = sizeof o, .name = name, .bytes = 3, .modified_wall_us = 4 };

        return each(arg, &o);
}

static int old_stat(
        void *self, struct pd_call *call, const char *name, pd_object_fn each, void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return one(name, each, arg);
}

static int list(
        void *self, struct pd_call *call, const char *prefix, pd_object_fn each, void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return strcmp(prefix, "a/") == 0 && one("a/b", each, arg) == 0 ? one("a/c", each, arg) : -(int)PD_E_INVALID;
}

static int old_remove(void *self, struct pd_call *call, const char *name, struct pd_error *err)
{
        return strcmp(name, "a/b") == 0 ? common_check(self, call, err) : pd_fail(err, PD_E_INVALID, "remove");
}

static const struct pd_vault old = {
        .head = PD_HEAD(PD_KIND_VAULT, struct pd_vault, "old-vault"),
        .open = common_open,
        .close = common_close,
        .probe = probe,
        .put = put,
        .get = get,
        .stat = old_stat,
        .list = list,
        .remove = old_remove,
};
PD_EXPORT const struct pd_head *const portald_plugin = &old.head;
