/* SPDX-License-Identifier: Apache-2.0 */
/* The real world behind executor/env.h: clocks, timers on CLOCK_BOOTTIME, streams to runners, plugin hosts, the store. */
#ifndef DAEMON_ENV_REAL_H
#define DAEMON_ENV_REAL_H

#include <systemd/sd-event.h>

#include "daemon/notify.h"
#include "executor/env.h"

struct env_real_options {
        const char *plugin_host; /* the program; NULL = the installed one */
        uint32_t owner_uid;      /* besides root, who may own a plugin    */
        struct notify *notify;   /* what people are told; borrowed, may be NULL */
};
/* Borrows loop and store. */
int env_real_new(struct env **ret, sd_event *loop, struct store *store, const struct env_real_options *options,
        struct pd_error *err);
struct env *env_real_free(struct env *e);

#endif
