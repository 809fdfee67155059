/* SPDX-License-Identifier: Apache-2.0 */
/* Where a reader begins who asks for the last lines of a log, or for those since a time. Includes logindex only; reads one file.
 * Promises: an offset that begins a line (or the log's end); at most LOGSEEK_BYTES are read. */
#ifndef RUNNER_LOGSEEK_H
#define RUNNER_LOGSEEK_H

#include "runner/logindex.h"

#define LOGSEEK_BYTES (INT64_C(32) << 20) /* of content: a --tail beyond that begins there */

/* The offset from which `lines` lines follow; a last line without its end counts as one. */
int logseek_tail(const struct logindex *x, int fd, int64_t lines, int64_t *ret, struct pd_error *err);
/* The offset of the first line that began at wall_us or later; the log's end where none did. */
int logseek_since(const struct logindex *x, int fd, int64_t wall_us, int64_t *ret, struct pd_error *err);

#endif
