/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the SDK <-> JSON, driven by tables: one field is one row (offset, type, name, what is allowed), so that one encoder, one
 * decoder and one judge serve every struct, in both directions and on both sides of the border.
 *
 *   encode  what a plugin handed out, which is not trusted: too short a struct reads as zeros, text is measured before it is read
 *   decode  JSON into a struct whose text and lists live in an arena and in the JSON itself
 *   judge   the rules of the rows against JSON, whoever made it
 *
 * Includes base only; touches no file, clock or plugin code. */
#ifndef HOST_MARSHAL_H
#define HOST_MARSHAL_H

#include "base/base.h"
#include "base/js.h"

enum field_type {
        FIELD_TEXT,
        FIELD_I32,
        FIELD_U32,
        FIELD_I64,
        FIELD_U64,
        FIELD_ENUM,
        FIELD_FLAGS,
        FIELD_KV,
        FIELD_ARGV
};

enum field_rule {
        RULE_NULL = 1,     /* text, kv: may be NULL (null or absent in JSON)  */
        RULE_EMPTY = 2,    /* text: may be ""                                 */
        RULE_CURRENCY = 4, /* text: an ISO 4217 code                          */
        RULE_ANY = 8,      /* text: control characters too (scripts, env)     */
};

struct field {
        const char *name;
        size_t offset;
        enum field_type type;
        uint32_t rules;    /* enum field_rule, or-ed                                               */
        uint32_t max;      /* text: bytes; kv and argv: members                                    */
        const char *chars; /* text: the only characters allowed, as in "a-z0-9"; NULL = all        */
        int64_t low, high; /* numbers: the range; enums: too; flags: high = the known bits         */
};

struct shape {
        const char *name; /* for messages: "offer"                                        */
        size_t size;      /* sizeof as this program knows it; 0 = has no `size` member    */
        const struct field *fields;
        size_t n;
};

#define MARSHAL_VALUE_MAX (UINT32_C(64) << 10) /* bytes of one value in a kv   */
#define MARSHAL_KEY_MAX 1024

/* Memory of one decoded call: blocks that live and die together. */
struct arena {
        struct arena_block *first;
};
void *arena_alloc(struct arena *a, size_t n); /* zeroed; NULL = no memory */
void arena_clear(struct arena *a);

/* from: a struct that begins with `uint32_t size`, of which no more than that many bytes are read (shape->size 0: memory of ours that
 * all the fields' offsets fit). -PD_E_INTERNAL with a sentence for what cannot be said in JSON: NULL, no size, text that is too long or not UTF-8. */
int marshal_encode(const struct shape *shape, const void *from, json_t **ret, struct pd_error *err);

/* to: a zeroed struct of shape->size bytes (or what the fields' offsets need); its `size` is set. Text points into `from`, which must
 * outlive it. Every row is judged first, unknown members are refused (-PD_E_INVALID). */
int marshal_decode(const struct shape *shape, const json_t *from, void *to, struct arena *arena, struct pd_error *err);

/* Do the members fit the rows? `code` is what to fail with. Unknown members are refused. */
int marshal_judge(const struct shape *shape, const json_t *object, enum pd_code code, struct pd_error *err);
int marshal_judge_text(const struct shape *shape, const struct field *f, const char *text, size_t n, enum pd_code code,
        struct pd_error *err);

bool currency_known(const char *code); /* ISO 4217, as of the table's date */

#endif
