/* SPDX-License-Identifier: Apache-2.0 */
/* TAP for the C tests: a row is a sentence, failures go on. One test program = one translation unit with TAP_MAIN. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_n, tap_bad;

__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool good, const char *fmt, ...)
{
        va_list ap;

        tap_n++;
        tap_bad += !good;
        printf("%sok %d - ", good ? "" : "not ", tap_n);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
        fflush(stdout);
        return good;
}

__attribute__((format(printf, 1, 2), unused)) static void tap_note(const char *fmt, ...)
{
        va_list ap;

        fputs("# ", stdout);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
        fflush(stdout);
}

__attribute__((unused)) static void tap_skip(const char *name, const char *reason)
{
        printf("ok %d - %s # SKIP %s\n", ++tap_n, name, reason);
        fflush(stdout);
}

__attribute__((unused)) static bool tap_int(long long got, long long want, const char *name)
{
        if (tap_ok(got == want, "%s", name))
                return true;
        tap_note("got %lld, want %lld", got, want);
        return false;
}

__attribute__((unused)) static bool tap_str(const char *got, const char *want, const char *name)
{
        bool same = got && want ? strcmp(got, want) == 0 : got == want;

        if (tap_ok(same, "%s", name))
                return true;
        tap_note("got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
        return false;
}

/* want is a part of got. */
__attribute__((unused)) static bool tap_has(const char *got, const char *want, const char *name)
{
        if (tap_ok(got && strstr(got, want), "%s", name))
                return true;
        tap_note("\"%s\" does not contain \"%s\"", got ? got : "(null)", want);
        return false;
}

/* return tap_done(); from main. */
__attribute__((unused)) static int tap_done(void)
{
        printf("1..%d\n", tap_n);
        return tap_bad ? 1 : 0;
}

#endif
