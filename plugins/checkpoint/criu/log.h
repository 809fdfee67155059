/* SPDX-License-Identifier: Apache-2.0 */
/* What criu wrote, in words for people. */
#ifndef CRIU_LOG_H
#define CRIU_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "../lib/capture.h"

/* The first error of a log file; else the end of `tail`; else "it says nothing". path may be NULL. */
void log_first_error(const char *path, const char *tail, char *ret, size_t n);
/* One callback for each error, or (dropped) for each warning that something was dropped or skipped. *ret_n = how many. */
int log_values(const char *path, bool dropped, pd_value_fn each, void *arg, size_t *ret_n);

/* Pure: what a person can do about that text of criu's; never NULL. */
const char *log_fix(const char *text, const char **ret_type);
/* Pure: errors that criu survives. */
bool log_harmless(const char *text);

#endif
