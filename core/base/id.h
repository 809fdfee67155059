/* SPDX-License-Identifier: Apache-2.0 */
/* Ids: a UUIDv7 with a prefix that says what it names ("job_", "mch_", "ckp_", "int_", "dec_"), written as the prefix
 * and 26 characters of lower-case Crockford base 32, so that they sort by time and are safe in file names.
 * People may give any unique prefix of one. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/base.h"

struct id {
        uint8_t b[16];
};

enum id_kind { ID_JOB, ID_MACHINE, ID_CHECKPOINT, ID_INTENT, ID_DECISION, ID_INSTALLATION, ID_KIND_N };

#define ID_TEXT_MAX 32 /* prefix, 26 characters, NUL */

/* random: 10 bytes from the caller's source. */
struct id id_make(int64_t wall_us, const uint8_t random[10]);
char *id_format(enum id_kind kind, struct id id, char *buf);        /* buf >= ID_TEXT_MAX; returns buf */
bool id_parse(enum id_kind kind, const char *text, struct id *ret); /* the whole id only */
/* Is text (with or without the "job_" in front) a prefix of this id's text? At least 4 characters of the id itself. */
bool id_matches(enum id_kind kind, struct id id, const char *text);
static inline bool id_equal(struct id a, struct id b)
{
        return memcmp(a.b, b.b, sizeof a.b) == 0;
}
static inline bool id_is_null(struct id id)
{
        return id_equal(id, (struct id){ { 0 } });
}
const char *id_prefix(enum id_kind kind); /* "job_" */

#endif
