/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/cli.h"

/* A job's history, a line an edge, oldest first. */
void history_print(const struct cli *c, const json_t *history);
/* "10m" (ago) or "2026-11-30T20:00:00Z"; `flag` is the place in the sentence. */
int time_flag(const char *flag, const char *text, int64_t *ret_wall_us, struct pd_error *err);

#endif
