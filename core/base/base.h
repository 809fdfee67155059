/* SPDX-License-Identifier: Apache-2.0 */
/* The ground that every room stands on: errors, ownership, and small helpers on memory and text.
 * Includes nothing of ours but the SDK; keeps no state; touches no clock and no file. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <portald/error.h>
#include <portald/plugin.h>

#define ARRAY_LEN(a_) (sizeof(a_) / sizeof((a_)[0]))
#define BIT(n_) (UINT32_C(1) << (n_))

#define USEC_PER_MSEC INT64_C(1000)
#define USEC_PER_SEC INT64_C(1000000)
#define USEC_PER_MIN (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)

/* Cleanup helpers: `pd_cleanup(freep) char *s = NULL;`, `pd_cleanup(closep) int fd = -1;` */
static inline void freep(void *pp)
{
        free(*(void **)pp);
}
void closep(const int *fd);
/* Closes fd when it is >= 0, keeps errno, returns -1: `fd = safe_close(fd);` */
int safe_close(int fd);

static inline bool streq(const char *a, const char *b)
{
        return strcmp(a, b) == 0;
}
static inline const char *str_or(const char *s, const char *fallback)
{
        return s ? s : fallback;
}
bool str_starts(const char *s, const char *prefix);
/* snprintf into a fixed buffer that says when it did not fit; false = truncated. */
bool str_format(char *buf, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The known name that a person most likely meant, by edit distance; NULL when none is near. names ends with NULL. */
const char *str_nearest(const char *word, const char *const *names);

#endif
