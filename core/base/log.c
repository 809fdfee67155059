/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#define FIELDS_MAX 16

static struct {
        const char *program;
        int max_level;
        bool journal;
} out = { .program = "portald", .max_level = LOG_INFO };

void log_open(const char *program, int max_level)
{
        out.program = program;
        out.max_level = max_level;
        /* sd_journal_send() answers 0 without a journald and the record is lost: only trust it where systemd says so */
        out.journal = getenv("JOURNAL_STREAM") != NULL;
}

static void to_journal(int level, const char *const *fields, const char *text)
{
        char priority[16], message[2048];
        struct iovec iov[FIELDS_MAX + 2];
        int n = 0;

        (void)str_format(priority, sizeof priority, "PRIORITY=%d", level);
        (void)str_format(message, sizeof message, "MESSAGE=%s", text);
        iov[n++] = (struct iovec){ message, strlen(message) };
        iov[n++] = (struct iovec){ priority, strlen(priority) };
        for (; fields && *fields && n < FIELDS_MAX; fields++)
                iov[n++] = (struct iovec){ (void *)(uintptr_t)*fields, strlen(*fields) };
        (void)sd_journal_sendv(iov, n);
}

void log_fields(int level, const char *const *fields, const char *fmt, ...)
{
        char text[2000];
        va_list ap;

        if (level > out.max_level)
                return;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (out.journal)
                to_journal(level, fields, text);
        else
                (void)fprintf(stderr, "%s: %s%s\n", out.program,
                        level <= LOG_ERR       ? "error: "
                        : level == LOG_WARNING ? "warning: "
                                               : "",
                        text);
}
