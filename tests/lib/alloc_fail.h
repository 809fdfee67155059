/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out at allocation number N, of ours and of jansson's: a test loops N = 1, 2, 3 ... until all goes through untouched.
 * Link with -Wl,--wrap=NAME for each function wrapped here. */
#ifndef TESTS_ALLOC_FAIL_H
#define TESTS_ALLOC_FAIL_H

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static long alloc_left = -1; /* allocations that still succeed; -1 = all of them */
static bool alloc_failed;

static bool alloc_hit(void)
{
        if (alloc_left < 0 || alloc_left-- > 0)
                return false;
        alloc_left = -1; /* one failure, then memory is there again: the hardest case */
        alloc_failed = true;
        errno = ENOMEM;
        return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_malloc(size_t n)
{
        return alloc_hit() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
        return alloc_hit() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
        return alloc_hit() ? NULL : __real_realloc(p, n);
}
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
        return alloc_hit() ? NULL : __real_reallocarray(p, n, size);
}
char *__wrap_strdup(const char *s)
{
        return alloc_hit() ? NULL : __real_strdup(s);
}
char *__wrap_strndup(const char *s, size_t n)
{
        return alloc_hit() ? NULL : __real_strndup(s, n);
}
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
        return alloc_hit() ? -1 : __real_vasprintf(ret, fmt, ap);
}
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = __wrap_vasprintf(ret, fmt, ap);
        va_end(ap);
        return r;
}

/* Before the first JSON value is made. */
__attribute__((unused)) static void alloc_begin(void)
{
        json_set_alloc_funcs(__wrap_malloc, free);
}
__attribute__((unused)) static void alloc_fail_at(long n)
{
        alloc_left = n;
        alloc_failed = false;
}
/* Did the planned failure happen? Ends the plan. */
__attribute__((unused)) static bool alloc_end(void)
{
        alloc_left = -1;
        return alloc_failed;
}

#endif
