/* SPDX-License-Identifier: Apache-2.0 */
/* Settings at run time, between settings.c (what is in force) and settings_request.c (the API's verbs). */
#ifndef EXECUTOR_SETTINGS_H
#define EXECUTOR_SETTINGS_H

#include "executor/request.h"

#define SETTINGS_BOUNDS "!bounds" /* where the store keeps bounds and locks: no project can have that name */

struct settings_layers { /* owned */
        json_t *installation, *project, *bounds;
};
int settings_layers_read(struct engine *e, const char *project, struct settings_layers *ret, struct pd_error *err);
void settings_layers_freep(struct settings_layers *l);

#endif
