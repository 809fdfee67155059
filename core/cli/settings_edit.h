/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SETTINGS_EDIT_H
#define CLI_SETTINGS_EDIT_H

#include "cli/cli.h"

/* "KEY=VALUE", checked, into an object; what: the word that the sentence names. */
int settings_edit_pair(json_t *into, const char *pair, const char *what, struct pd_error *err);
/* The settings that are set, as lines in $VISUAL or $EDITOR; *ret_changes: key -> text, or null for what is gone. */
int settings_edit(const json_t *settings, json_t **ret_changes, struct pd_error *err);

#endif
