/* SPDX-License-Identifier: Apache-2.0 */
/* The config as the engine wants it: plain values that borrow from one struct config, and go with it. */
#ifndef DAEMON_SITE_H
#define DAEMON_SITE_H

#include "config/config.h"
#include "executor/engine.h"

struct site {
        struct engine_site engine; /* what engine_new() and engine_reload() get */
        struct config *config;     /* owned */
};
/* Takes the config over on success. */
int site_new(struct site **ret, struct config *config, struct pd_error *err);
struct site *site_free(struct site *s);
static inline void site_freep(struct site **s)
{
        site_free(*s);
}

/* Loads and checks everything there is to check without touching anything; the faults are sentences with file:line. */
int site_load(struct site **ret, const char *path, bool keep_secrets, json_t **ret_faults, struct pd_error *err);

#endif
