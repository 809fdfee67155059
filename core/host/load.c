/* SPDX-License-Identifier: Apache-2.0 */
#include "host/load.h"

#include <ctype.h>
#include <dlfcn.h>

#define VTABLE_MAX (UINT64_C(64) << 10) /* bytes; a larger size is no size */
#define NAME_BYTES 48

static int head_check(const struct pd_head *h, uint32_t expect_kind, const char *path, struct pd_error *err)
{
        if (h->magic != PD_MAGIC)
                return pd_fail(err, PD_E_ABI, "%s: not a portald plugin: its magic is 0x%08x, not 0x%08x", path,
                        h->magic, PD_MAGIC);
        if (h->abi_major != PD_ABI_MAJOR)
                return pd_fail(err, PD_E_ABI, "%s: built for plugin ABI %u.%u; this portald has %u.%u: build it again",
                        path, h->abi_major, h->abi_minor, PD_ABI_MAJOR, PD_ABI_MINOR);
        if (!kind_name(h->kind))
                return pd_fail(err, PD_E_ABI, "%s: its kind is %u, which this portald does not know", path, h->kind);
        if (expect_kind && h->kind != expect_kind)
                return pd_fail(err, PD_E_ABI, "%s: is a %s plugin, and a %s plugin is needed here", path,
                        kind_name(h->kind), str_or(kind_name(expect_kind), "?"));
        if (h->size < kind_size_1_0(h->kind))
                return pd_fail(err, PD_E_ABI,
                        "%s: its table of functions is cut short: %llu bytes, and a %s plugin has %zu or more", path,
                        (unsigned long long)h->size, kind_name(h->kind), kind_size_1_0(h->kind));
        if (h->size > VTABLE_MAX)
                return pd_fail(err, PD_E_ABI, "%s: its table of functions claims %llu bytes, and %llu are the most",
                        path, (unsigned long long)h->size, (unsigned long long)VTABLE_MAX);
        return 0;
}

/* 1-48 of [a-z0-9-], a letter first: it stands in messages, logs and file names. */
static bool good_name(const char *name)
{
        size_t n = strnlen(name, NAME_BYTES + 1);

        if (n == 0 || n > NAME_BYTES || !islower((unsigned char)name[0]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && name[i] != '-')
                        return false;
        return true;
}

static bool good_version(const char *version)
{
        size_t n = strnlen(version, NAME_BYTES + 1);

        if (n == 0 || n > NAME_BYTES)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isgraph((unsigned char)version[i]))
                        return false;
        return true;
}

static int names_check(const struct pd_head *h, const char *path, struct pd_error *err)
{
        if (!h->name)
                return pd_fail(err, PD_E_ABI, "%s: gives no name in its head", path);
        if (!good_name(h->name))
                return pd_fail(err, PD_E_ABI,
                        "%s: the name in its head must be 1 to %d of a-z, 0-9 and -, a letter first", path, NAME_BYTES);
        if (!h->version || !good_version(h->version))
                return pd_fail(err, PD_E_ABI, "%s: the version in its head must be 1 to %d printable characters", path,
                        NAME_BYTES);
        return 0;
}

static int slots_check(const struct plugin *p, const char *path, struct pd_error *err)
{
        size_t n;
        const struct slot *table = slot_table(p->kind, &n);
        const void *const *ends = (const void *const *)((const char *)&p->head + offsetof(struct pd_billing, open));

        /* open and close stand first in every vtable */
        static_assert(offsetof(struct pd_provider, open) == offsetof(struct pd_billing, open), "open is first");
        static_assert(offsetof(struct pd_vault, close) == offsetof(struct pd_checkpoint, close), "close is second");
        if (!ends[0] || !ends[1])
                return pd_fail(
                        err, PD_E_ABI, "%s: the required function %s is missing", path, ends[0] ? "close" : "open");
        for (size_t i = 0; i < n; i++)
                if (!table[i].absent && !slot_present(p, &table[i]))
                        return pd_fail(err, PD_E_ABI, "%s: the required function %s is missing", path, table[i].name);
        return 0;
}

/* Flags stand right behind the head in every vtable. */
static int flags_check(const struct plugin *p, const char *path, struct pd_error *err)
{
        uint32_t flags = p->billing.flags;

        static_assert(
                offsetof(struct pd_provider, flags) == offsetof(struct pd_billing, flags), "flags are behind the head");
        if (p->abi_minor <= PD_ABI_MINOR && (flags & ~(uint32_t)PD_FLAG_CONCURRENT))
                return pd_fail(err, PD_E_ABI, "%s: flags 0x%x hold bits that ABI %u.%u does not have", path, flags,
                        p->abi_major, p->abi_minor);
        return 0;
}

int plugin_read(
        const struct pd_head *head, uint32_t expect_kind, const char *path, struct plugin *ret, struct pd_error *err)
{
        struct plugin p = { 0 };
        int r;

        if (!head)
                return pd_fail(err, PD_E_ABI, "%s: its %s points nowhere", path, PD_SYMBOL);
        r = head_check(head, expect_kind, path, err);
        if (r == 0)
                r = names_check(head, path, err);
        if (r < 0)
                return r;
        memcpy(&p.head, head, head->size < kind_size(head->kind) ? head->size : kind_size(head->kind));
        p.kind = (enum pd_kind)head->kind;
        p.abi_major = head->abi_major;
        p.abi_minor = head->abi_minor;
        p.size = head->size;
        (void)str_format(p.name, sizeof p.name, "%s", head->name);
        (void)str_format(p.version, sizeof p.version, "%s", head->version);
        r = slots_check(&p, path, err);
        if (r == 0)
                r = flags_check(&p, path, err);
        if (r < 0)
                return r;
        p.concurrent = p.billing.flags & PD_FLAG_CONCURRENT;
        *ret = p;
        return 0;
}

void plugin_unload(struct plugin *p)
{
#ifndef PORTALD_SANITIZED /* leak reports need the symbols */
        if (p->library)
                (void)dlclose(p->library);
#endif
        p->library = NULL;
}

int plugin_load(const char *path, uint32_t expect_kind, uint32_t owner_uid, struct plugin *ret, struct pd_error *err)
{
        pd_cleanup(freep) char *real = NULL;
        struct plugin p = { 0 };
        const void *symbol;
        void *library;
        int r = path_check(path, owner_uid, &real, err);

        if (r < 0)
                return r;
        library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return pd_fail(err, PD_E_ABI, "cannot be loaded: %.200s", dlerror());
        symbol = dlsym(library, PD_SYMBOL);
        r = symbol ? plugin_read(*(const struct pd_head *const *)symbol, expect_kind, path, &p, err)
                   : pd_fail(err, PD_E_ABI, "%s: is a library, but not a plugin: it exports no %s", path, PD_SYMBOL);
        p.library = library;
        if (r < 0)
                plugin_unload(&p);
        else
                *ret = p;
        return r;
}

int plugin_info(const struct plugin *p, json_t **ret, struct pd_error *err)
{
        js_owned *slots = json_object(), *info = NULL;
        char abi[32];
        size_t n;
        const struct slot *table = slot_table(p->kind, &n);

        for (size_t i = 0; i < n; i++)
                if (json_object_set_new(slots, table[i].name, json_boolean(slot_present(p, &table[i]))) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for a plugin's description");
        (void)str_format(abi, sizeof abi, "%u.%u", p->abi_major, p->abi_minor);
        info = json_pack("{s:s,s:s,s:s,s:s,s:I,s:b,s:O}", "name", p->name, "version", p->version, "kind",
                kind_name(p->kind), "abi", abi, "size", (json_int_t)p->size, "concurrent", p->concurrent, "slots",
                slots);
        if (!info)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin's description");
        *ret = pd_steal(info);
        return 0;
}

/* open and close have one signature in every kind: billing's stands for all. */
int plugin_open(struct plugin *p, struct slot_call *c, const struct pd_kv *cfg, struct pd_error *err)
{
        struct {
                struct pd_error e;
                char spare[256];
        } theirs = { .e = { .size = sizeof theirs.e } };
        void *self = NULL;
        int r;

        c->pd.size = sizeof c->pd;
        c->pd.host = &slot_host;
        c->pd.context = c;
        c->plugin = p;
        r = p->billing.open(&c->pd, cfg, &self, &theirs.e);
        if (r != 0) {
                *err = theirs.e;
                return slot_error(c, r, err);
        }
        p->self = self;
        return 0;
}

void plugin_close(struct plugin *p)
{
        p->billing.close(p->self);
        p->self = NULL;
}
