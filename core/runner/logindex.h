/* SPDX-License-Identifier: Apache-2.0 */
/* A job's log by the offset of its *content*: the supervisor writes lines framed as Kubernetes does
 *     2026-11-30T20:36:24.000000001+00:00 stdout F text\n      (F = a whole line or a line's end; P = a part, no newline of the job's)
 * and people ask for bytes of what the job wrote. The index remembers one position each LOGINDEX_STEP bytes of content, so that a
 * read costs at most one step of scanning; it is made by scanning and can be made again at any time. Includes base only; reads one file. */
#ifndef RUNNER_LOGINDEX_H
#define RUNNER_LOGINDEX_H

#include "base/js.h"
#include "base/vec.h"

#define LOGINDEX_STEP INT64_C(65536)
#define LOGINDEX_LINES_MAX 16000 /* lines in one answer: their times must fit into a frame, too */

struct logindex_mark {
        int64_t content, file; /* the record that begins at `file` begins with this byte of content */
        bool line_start;       /* and it begins a line */
};
struct logindex {
        VEC(struct logindex_mark) marks;
        int64_t content; /* bytes of content up to `file` */
        int64_t file;    /* scanned up to here: always a record's begin */
        bool line_start; /* the next record begins a line */
};
void logindex_clear(struct logindex *x);

/* Scans what was added to fd, at most `budget` bytes of file. *ret_more: there is more to scan now. */
int logindex_scan(struct logindex *x, int fd, int64_t budget, bool *ret_more, struct pd_error *err);
/* At most max bytes and LOGINDEX_LINES_MAX line starts from offset (<= x->content). *ret is to be freed; times: [[offset, wall_us]...] of the lines that begin inside. */
int logindex_read(const struct logindex *x, int fd, int64_t offset, size_t max, char **ret, size_t *ret_n,
        json_t *times, struct pd_error *err);

/* One record at the start of text[0..n). Its length with the newline, or 0: not whole yet. Text that is no record counts as content. */
struct logindex_record {
        int64_t wall_us;
        const char *text;
        size_t n;
        bool ends_line;
};
size_t logindex_record(const char *text, size_t n, struct logindex_record *ret);

#endif
