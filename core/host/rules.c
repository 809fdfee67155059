/* SPDX-License-Identifier: Apache-2.0 */
/* The rows' rules against JSON: what a caller may ask, and what a plugin may answer. */
#include "host/marshal.h"

static bool in_class(const char *chars, char c)
{
        for (const char *p = chars; *p; p++) {
                if (p[1] == '-' && p[2]) {
                        if (c >= p[0] && c <= p[2])
                                return true;
                        p += 2;
                } else if (*p == c) {
                        return true;
                }
        }
        return false;
}

int marshal_judge_text(const struct shape *s, const struct field *f, const char *text, size_t n, enum pd_code code,
        struct pd_error *err)
{
        if (n > f->max)
                return pd_fail(
                        err, code, "%s: %s is %zu bytes long, and at most %u are allowed", s->name, f->name, n, f->max);
        if (n == 0)
                return f->rules & RULE_EMPTY ? 0 : pd_fail(err, code, "%s: %s is empty", s->name, f->name);
        if ((f->rules & RULE_CURRENCY) && !currency_known(text))
                return pd_fail(err, code, "%s: %s \"%s\" is no ISO 4217 code", s->name, f->name, text);
        for (size_t i = 0; i < n; i++) {
                if (f->chars && !in_class(f->chars, text[i]))
                        return pd_fail(err, code, "%s: %s \"%.64s\" may only have the characters %s", s->name, f->name,
                                text, f->chars);
                if (!(f->rules & RULE_ANY) && (unsigned char)text[i] < ' ')
                        return pd_fail(err, code, "%s: %s has a control character at byte %zu", s->name, f->name, i);
        }
        return 0;
}

static int judge_kv(
        const struct shape *s, const struct field *f, const json_t *v, enum pd_code code, struct pd_error *err)
{
        const char *key;
        json_t *value;

        if (!json_is_object(v))
                return pd_fail(err, code, "%s: %s must be an object of strings", s->name, f->name);
        if (json_object_size(v) > f->max)
                return pd_fail(err, code, "%s: %s has %zu members, and at most %u are allowed", s->name, f->name,
                        json_object_size(v), f->max);
        json_object_foreach ((json_t *)(uintptr_t)v, key, value) {
                if (!json_is_string(value))
                        return pd_fail(err, code, "%s: %s.%.64s must be a string", s->name, f->name, key);
                if (strlen(key) > MARSHAL_KEY_MAX || json_string_length(value) > MARSHAL_VALUE_MAX)
                        return pd_fail(err, code, "%s: %s.%.64s is longer than %u bytes", s->name, f->name, key,
                                MARSHAL_VALUE_MAX);
        }
        return 0;
}

static int judge_argv(
        const struct shape *s, const struct field *f, const json_t *v, enum pd_code code, struct pd_error *err)
{
        if (!json_is_array(v) || json_array_size(v) == 0 || json_array_size(v) > f->max)
                return pd_fail(err, code, "%s: %s must be a list of 1 to %u strings", s->name, f->name, f->max);
        for (size_t i = 0; i < json_array_size(v); i++)
                if (!json_is_string(json_array_get(v, i)))
                        return pd_fail(err, code, "%s: %s[%zu] must be a string", s->name, f->name, i);
        return 0;
}

static int judge_number(
        const struct shape *s, const struct field *f, const json_t *v, enum pd_code code, struct pd_error *err)
{
        int64_t n;

        if (v && !json_is_integer(v))
                return pd_fail(err, code, "%s: %s must be a whole number", s->name, f->name);
        n = v ? (int64_t)json_integer_value(v) : 0;
        if (f->type == FIELD_ENUM && (n < f->low || n > f->high))
                return pd_fail(err, code, "%s: %s %lld is no value that this version knows (%lld to %lld)", s->name,
                        f->name, (long long)n, (long long)f->low, (long long)f->high);
        if (f->type == FIELD_FLAGS && (n < 0 || (n & ~f->high)))
                return pd_fail(err, code, "%s: %s 0x%llx has bits that this version does not know (0x%llx)", s->name,
                        f->name, (unsigned long long)n, (unsigned long long)f->high);
        if (n < f->low || n > f->high)
                return pd_fail(err, code, "%s: %s is %lld: it must lie from %lld to %lld", s->name, f->name,
                        (long long)n, (long long)f->low, (long long)f->high);
        return 0;
}

static int judge_field(
        const struct shape *s, const struct field *f, const json_t *v, enum pd_code code, struct pd_error *err)
{
        if (json_is_null(v))
                v = NULL;
        switch (f->type) {
        case FIELD_TEXT:
        case FIELD_KV:
        case FIELD_ARGV:
                if (!v)
                        return f->rules & RULE_NULL ? 0 : pd_fail(err, code, "%s: %s is missing", s->name, f->name);
                if (f->type == FIELD_KV)
                        return judge_kv(s, f, v, code, err);
                if (f->type == FIELD_ARGV)
                        return judge_argv(s, f, v, code, err);
                if (!json_is_string(v))
                        return pd_fail(err, code, "%s: %s must be a string", s->name, f->name);
                return marshal_judge_text(s, f, json_string_value(v), json_string_length(v), code, err);
        case FIELD_I32:
        case FIELD_U32:
        case FIELD_I64:
        case FIELD_U64:
        case FIELD_ENUM:
        case FIELD_FLAGS:
                break;
        }
        return judge_number(s, f, v, code, err);
}

static int unknown_member(const struct shape *s, const char *key, enum pd_code code, struct pd_error *err)
{
        const char *names[64] = { NULL };
        const char *near;

        for (size_t i = 0; i < s->n && i < ARRAY_LEN(names) - 1; i++)
                names[i] = s->fields[i].name;
        near = str_nearest(key, names);
        return near ? pd_fail(err, code, "%s: there is no \"%.64s\"; did you mean \"%s\"?", s->name, key, near)
                    : pd_fail(err, code, "%s: there is no \"%.64s\"", s->name, key);
}

static bool has_field(const struct shape *s, const char *key)
{
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->fields[i].name, key))
                        return true;
        return false;
}

int marshal_judge(const struct shape *shape, const json_t *object, enum pd_code code, struct pd_error *err)
{
        const char *key;
        json_t *v;

        if (object && !json_is_object(object))
                return pd_fail(err, code, "%s: must be an object", shape->name);
        json_object_foreach ((json_t *)(uintptr_t)object, key, v)
                if (!has_field(shape, key))
                        return unknown_member(shape, key, code, err);
        for (size_t i = 0; i < shape->n; i++) {
                int r = judge_field(
                        shape, &shape->fields[i], json_object_get(object, shape->fields[i].name), code, err);

                if (r < 0)
                        return r;
        }
        return 0;
}
