/* SPDX-License-Identifier: Apache-2.0 */
/* What a job's `checkpoint:` block says for the capture `command`. Pure: settings in, a struct or a sentence out. */
#ifndef COMMAND_SETTINGS_H
#define COMMAND_SETTINGS_H

#include <portald/plugin.h>

#define SETTINGS_WORDS_MAX 64
#define SETTINGS_TIMEOUT_US INT64_C(600000000) /* where nobody said */

struct settings {
        const char *save[SETTINGS_WORDS_MAX + 1]; /* NULL-ended; empty = none. Borrowed from the pairs. */
        const char *load[SETTINGS_WORDS_MAX + 1];
        int signal;            /* 0 = none             */
        const char *done_file; /* NULL = none; a relative path without ".." */
        int64_t timeout_us;    /* of each: save, load  */
};

int settings_parse(const struct pd_kv *kv, struct settings *ret, struct pd_error *err);

#endif
