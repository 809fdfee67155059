/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "config/internal.h"

char *place_format(struct place at, char *buf, size_t n)
{
        if (!at.file)
                (void)str_format(buf, n, "built-in");
        else if (at.line)
                (void)str_format(buf, n, "%s:%u", at.file, at.line);
        else
                (void)str_format(buf, n, "%s", at.file);
        return buf;
}

/* A lack of memory for the list is no fault of the config; the first fault is in err all the same. */
static void keep(struct faults *f, const char *at, const char *text, const char *fix)
{
        if (f->n++ == 0)
                (void)pd_fail(f->err, PD_E_INVALID, "%s: %s: %s", at, text, fix);
        if (f->n > CONFIG_FAULTS_MAX)
                return;
        if (!f->list)
                f->list = json_array();
        (void)json_array_append_new(f->list, json_pack("{s:s,s:s,s:s}", "at", at, "text", text, "fix", fix));
}

void faults_tell(struct faults *f, struct place at, const char *key, const char *fix, const char *fmt, ...)
{
        char where[512], file[240], text[232];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        (void)str_format(where, sizeof where, "%s%s%s", place_format(at, file, sizeof file), *key ? " " : "", key);
        keep(f, where, text, fix);
}

void faults_error(struct faults *f, struct place at, const char *key, const struct pd_error *e)
{
        char text[sizeof e->text];
        const char *fix = "";

        memcpy(text, e->text, sizeof text);
        for (char *s = strstr(text, ": "); s; s = strstr(s + 1, ": "))
                fix = s;
        if (*fix) {
                text[fix - text] = '\0';
                fix += 2;
        }
        faults_tell(f, at, key, fix, "%s", text);
}
