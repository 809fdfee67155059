/* SPDX-License-Identifier: Apache-2.0 */
/* One line a call, to the journal with fields where stderr is the journal ($JOURNAL_STREAM), else to stderr.
 * Only daemon, executor, runner and host may log errors; every other room returns them. Never a secret. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <syslog.h>

#include "base/base.h"

void log_open(const char *program, int max_level); /* LOG_INFO ...; once, from main */
/* fields: "KEY=value" strings, may be NULL; ends with NULL. */
void log_fields(int level, const char *const *fields, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(...) log_fields(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_fields(LOG_WARNING, NULL, __VA_ARGS__)
#define log_info(...) log_fields(LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_fields(LOG_DEBUG, NULL, __VA_ARGS__)

#endif
