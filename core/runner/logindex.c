/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/logindex.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)256 * 1024)
#define RECORD_MAX ((size_t)128 * 1024) /* the supervisor cuts lines long before that */

void logindex_clear(struct logindex *x)
{
        vec_free(&x->marks);
        *x = (struct logindex){ .line_start = true };
}

static bool parse_time(const char *s, size_t n, int64_t *ret_us)
{
        char buf[48], *p;
        struct tm tm = { 0 };
        int64_t nano, hours, minutes;

        if (n < 30 || n >= sizeof buf)
                return false;
        memcpy(buf, s, n);
        buf[n] = 0;
        p = strptime(buf, "%Y-%m-%dT%H:%M:%S", &tm);
        if (!p || *p != '.')
                return false;
        nano = strtol(p + 1, &p, 10);
        if (*p != '+' && *p != '-')
                return false;
        hours = strtol(p + 1, &p, 10) * (*(p - 3) == '-' ? -1 : 1);
        if (*p != ':')
                return false;
        minutes = strtol(p + 1, &p, 10) * (hours < 0 ? -1 : 1);
        if (*p)
                return false;
        *ret_us = (int64_t)timegm(&tm) * USEC_PER_SEC + nano / 1000;
        *ret_us -= (hours * 60 + minutes) * USEC_PER_MIN;
        return true;
}

size_t logindex_record(const char *text, size_t n, struct logindex_record *ret)
{
        const char *end = memchr(text, '\n', n);
        const char *space, *tag;

        if (!end)
                return 0;
        *ret = (struct logindex_record){ .text = text, .n = (size_t)(end - text), .ends_line = true };
        space = memchr(text, ' ', (size_t)(end - text));
        tag = space ? memchr(space + 1, ' ', (size_t)(end - space - 1)) : NULL;
        if (tag && end - tag >= 3 && (tag[1] == 'F' || tag[1] == 'P') && tag[2] == ' ' &&
                parse_time(text, (size_t)(space - text), &ret->wall_us)) {
                ret->text = tag + 3;
                ret->n = (size_t)(end - ret->text);
                ret->ends_line = tag[1] == 'F';
        }
        return (size_t)(end - text) + 1;
}

static bool mark(struct logindex *x)
{
        if (x->marks.n > 0 && x->content - x->marks.at[x->marks.n - 1].content < LOGINDEX_STEP)
                return true;
        return vec_push(&x->marks, ((struct logindex_mark){ x->content, x->file, x->line_start }));
}

int logindex_scan(struct logindex *x, int fd, int64_t budget, bool *ret_more, struct pd_error *err)
{
        pd_cleanup(freep) char *buf = malloc(CHUNK);
        struct logindex_record rec;
        bool more = true;

        if (!buf)
                return pd_fail(err, PD_E_NOMEM, "no memory for the log");
        if (x->file == 0 && x->content == 0)
                x->line_start = true;
        while (more && budget > 0) {
                ssize_t n = pread(fd, buf, CHUNK, x->file);
                size_t at = 0, k;

                if (n < 0)
                        return pd_fail(err, PD_E_IO, "cannot read the log: %m");
                while (at < (size_t)n && (k = logindex_record(buf + at, (size_t)n - at, &rec)) > 0) {
                        if (!mark(x))
                                return pd_fail(err, PD_E_NOMEM, "no memory for the log's index");
                        at += k;
                        x->file += (int64_t)k;
                        x->content += (int64_t)rec.n + rec.ends_line;
                        x->line_start = rec.ends_line;
                }
                more = at > 0 && n == (ssize_t)CHUNK;
                if (at == 0 && n >= (ssize_t)RECORD_MAX)
                        return pd_fail(err, PD_E_CORRUPT, "the log has a line longer than %zu bytes", RECORD_MAX);
                budget -= (int64_t)at;
        }
        *ret_more = more;
        return 0;
}

static const struct logindex_mark *find_mark(const struct logindex *x, int64_t offset)
{
        size_t lo = 0, hi = x->marks.n;

        while (hi - lo > 1) {
                size_t mid = (lo + hi) / 2;

                if (x->marks.at[mid].content <= offset)
                        lo = mid;
                else
                        hi = mid;
        }
        return x->marks.n ? &x->marks.at[lo] : NULL;
}

/* Copies the part of one record's content that lies in [offset, offset + max). */
static void copy_part(
        const struct logindex_record *rec, int64_t begin, int64_t offset, size_t max, char *out, size_t *n)
{
        for (size_t i = 0, whole = rec->n + rec->ends_line; i < whole;) {
                int64_t at = begin + (int64_t)i;
                size_t k;

                if (at < offset) {
                        i += (size_t)(offset - at) < whole - i ? (size_t)(offset - at) : whole - i;
                        continue;
                }
                if (*n >= max)
                        return;
                if (i == rec->n) {
                        out[(*n)++] = '\n';
                        return;
                }
                k = rec->n - i < max - *n ? rec->n - i : max - *n;
                memcpy(out + *n, rec->text + i, k);
                *n += k;
                i += k;
        }
}

int logindex_read(const struct logindex *x, int fd, int64_t offset, size_t max, char **ret, size_t *ret_n,
        json_t *times, struct pd_error *err)
{
        const struct logindex_mark *m = find_mark(x, offset);
        pd_cleanup(freep) char *buf = malloc(CHUNK);
        pd_cleanup(freep) char *out = malloc(max + 1);
        int64_t content = m ? m->content : 0, file = m ? m->file : 0;
        bool line_start = m ? m->line_start : true, full = false;
        size_t n = 0;

        if (!buf || !out)
                return pd_fail(err, PD_E_NOMEM, "no memory for the log");
        while (!full && n < max && file < x->file) {
                ssize_t got = pread(fd, buf, CHUNK, file);
                struct logindex_record rec;
                size_t at = 0, k;

                if (got <= 0)
                        return pd_fail(err, PD_E_IO, "cannot read the log: %m");
                while (n < max && file < x->file && (k = logindex_record(buf + at, (size_t)got - at, &rec)) > 0) {
                        if (line_start && content > offset && json_array_size(times) >= LOGINDEX_LINES_MAX) {
                                full = true;
                                break;
                        }
                        if (line_start && content >= offset && rec.wall_us > 0)
                                (void)json_array_append_new(
                                        times, json_pack("[I, I]", (json_int_t)content, (json_int_t)rec.wall_us));
                        copy_part(&rec, content, offset, max, out, &n);
                        content += (int64_t)rec.n + rec.ends_line;
                        line_start = rec.ends_line;
                        at += k;
                        file += (int64_t)k;
                }
                if (at == 0 && !full)
                        return pd_fail(err, PD_E_CORRUPT, "the log changed under its index");
        }
        *ret = pd_steal(out);
        *ret_n = n;
        return 0;
}
