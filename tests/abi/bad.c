/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are no good plugin, one BAD_... each; without any it is a good one. Nothing in them is ever to be called. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <portald/billing.h>

static int bad_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        (void)call, (void)cfg, (void)err;
        *ret_self = NULL;
        return 0;
}

__attribute__((unused)) static void bad_close(void *self)
{
        (void)self;
}

__attribute__((unused)) static int bad_record(
        void *self, struct pd_call *call, const struct pd_usage *usage, struct pd_error *err)
{
        (void)self, (void)call, (void)usage, (void)err;
        return 0;
}

#ifndef BAD_MAGIC
#define BAD_MAGIC PD_MAGIC
#endif
#ifndef BAD_KIND
#define BAD_KIND PD_KIND_BILLING
#endif
#ifndef BAD_MAJOR
#define BAD_MAJOR PD_ABI_MAJOR
#endif
#ifndef BAD_MINOR
#define BAD_MINOR PD_ABI_MINOR
#endif
#ifndef BAD_SIZE
#define BAD_SIZE sizeof(struct pd_billing)
#endif
#ifndef BAD_NAME
#define BAD_NAME "good"
#endif
#ifndef BAD_VERSION
#define BAD_VERSION "1.0"
#endif
#ifndef BAD_FLAGS
#define BAD_FLAGS 0
#endif

/* A later minor version's table: longer than ours. */
struct later {
        struct pd_billing now;
        void (*more[16])(void);
};

__attribute__((unused)) static const struct later table = {
        .now = {
                .head = { .magic = BAD_MAGIC, .kind = BAD_KIND, .abi_major = BAD_MAJOR, .abi_minor = BAD_MINOR, .size = BAD_SIZE,
                        .name = BAD_NAME, .version = BAD_VERSION },
                .flags = BAD_FLAGS,
                .open = bad_open,
#ifndef BAD_NO_CLOSE
                .close = bad_close,
#endif
#ifndef BAD_NO_RECORD
                .record = bad_record,
#endif
        },
};

#ifdef BAD_CONSTRUCTOR
__attribute__((constructor)) static void at_load(void)
{
        BAD_CONSTRUCTOR;
}
#endif

#ifdef BAD_UNDEFINED
extern int no_library_has_this_function(void);
int calls_it(void);
PD_EXPORT int calls_it(void)
{
        return no_library_has_this_function();
}
#endif

#ifdef BAD_NO_SYMBOL
PD_EXPORT const struct pd_head *const portald_plug_in = &table.now.head;
#elif defined BAD_POINTER
PD_EXPORT const struct pd_head *const portald_plugin = BAD_POINTER;
#else
PD_EXPORT const struct pd_head *const portald_plugin = &table.now.head;
#endif
