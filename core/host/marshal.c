/* SPDX-License-Identifier: Apache-2.0 */
#include "host/marshal.h"

struct arena_block {
        struct arena_block *next;
        max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t n)
{
        struct arena_block *b = calloc(1, sizeof *b + n);

        if (!b)
                return NULL;
        b->next = a->first;
        a->first = b;
        return b->data;
}

void arena_clear(struct arena *a)
{
        while (a->first) {
                struct arena_block *b = a->first;

                a->first = b->next;
                free(b);
        }
}

/* The plain value of a number's field, whatever its width; u64 above INT64_MAX saturates and is then refused by the judge. */
static int64_t number_at(const struct field *f, const char *base)
{
        const void *p = base + f->offset;
        uint64_t u;

        switch (f->type) {
        case FIELD_I32:
        case FIELD_ENUM:
                return *(const int32_t *)p;
        case FIELD_U32:
        case FIELD_FLAGS:
                return *(const uint32_t *)p;
        case FIELD_U64:
                u = *(const uint64_t *)p;
                return u > INT64_MAX ? INT64_MAX : (int64_t)u;
        case FIELD_I64:
        case FIELD_TEXT:
        case FIELD_KV:
        case FIELD_ARGV:
                break;
        }
        return *(const int64_t *)p;
}

static void number_set(const struct field *f, char *base, int64_t n)
{
        void *p = base + f->offset;

        switch (f->type) {
        case FIELD_I32:
        case FIELD_ENUM:
                *(int32_t *)p = (int32_t)n;
                break;
        case FIELD_U32:
        case FIELD_FLAGS:
                *(uint32_t *)p = (uint32_t)n;
                break;
        case FIELD_I64:
        case FIELD_U64:
                *(int64_t *)p = n;
                break;
        case FIELD_TEXT:
        case FIELD_KV:
        case FIELD_ARGV:
                break;
        }
}

/* Encoding: a plugin's memory, read with care. */

static int encode_text(
        const char *where, const char *name, const char *text, size_t max, json_t **ret, struct pd_error *err)
{
        size_t n = strnlen(text, max + 1);

        if (n > max)
                return pd_fail(err, PD_E_INTERNAL, "%s: %s is longer than %zu bytes", where, name, max);
        *ret = json_stringn(text, n);
        if (!*ret)
                return pd_fail(err, PD_E_INTERNAL, "%s: %s is not UTF-8 text", where, name);
        return 0;
}

static int encode_pair(
        const struct shape *s, const struct field *f, const struct pd_pair *pair, json_t *to, struct pd_error *err)
{
        js_owned *value = NULL;
        int r;

        if (!pair->key || !pair->value)
                return pd_fail(err, PD_E_INTERNAL, "%s: %s has a pair whose name or value is NULL", s->name, f->name);
        if (strnlen(pair->key, MARSHAL_KEY_MAX + 1) > MARSHAL_KEY_MAX)
                return pd_fail(err, PD_E_INTERNAL, "%s: a name in %s is longer than %d bytes", s->name, f->name,
                        MARSHAL_KEY_MAX);
        if (json_object_get(to, pair->key))
                return pd_fail(err, PD_E_INTERNAL, "%s: %s names %.64s twice", s->name, f->name, pair->key);
        r = encode_text(s->name, f->name, pair->value, MARSHAL_VALUE_MAX, &value, err);
        if (r < 0)
                return r;
        if (json_object_set(to, pair->key, value) < 0)
                return pd_fail(err, PD_E_INTERNAL, "%s: a name in %s is not UTF-8 text", s->name, f->name);
        return 0;
}

static int encode_kv(
        const struct shape *s, const struct field *f, const struct pd_kv *kv, json_t **ret, struct pd_error *err)
{
        js_owned *o = json_object();

        if (kv->size < sizeof *kv || kv->count > f->max || (kv->count && !kv->pairs))
                return pd_fail(err, PD_E_INTERNAL, "%s: %s is no list of at most %u pairs", s->name, f->name, f->max);
        for (uint32_t i = 0; i < kv->count; i++) {
                int r = encode_pair(s, f, &kv->pairs[i], o, err);

                if (r < 0)
                        return r;
        }
        *ret = pd_steal(o);
        return 0;
}

static int encode_field(
        const struct shape *s, const struct field *f, const char *base, json_t **ret, struct pd_error *err)
{
        const void *p;

        if (f->type != FIELD_TEXT && f->type != FIELD_KV && f->type != FIELD_ARGV) {
                *ret = json_integer(number_at(f, base));
                return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        }
        p = *(const void *const *)(base + f->offset);
        if (!p) {
                *ret = json_null();
                return f->rules & RULE_NULL ? 0 : pd_fail(err, PD_E_INTERNAL, "%s: %s is NULL", s->name, f->name);
        }
        if (f->type == FIELD_KV)
                return encode_kv(s, f, p, ret, err);
        return encode_text(s->name, f->name, p, f->max, ret, err);
}

/* The struct as this program knows it: what an older plugin's does not have is zero. */
static int read_struct(const struct shape *s, const void *from, char **ret, struct pd_error *err)
{
        uint32_t size;
        char *copy;

        if (!from)
                return pd_fail(err, PD_E_INTERNAL, "%s: handed out as NULL", s->name);
        memcpy(&size, from, sizeof size);
        if (size < 2 * sizeof size)
                return pd_fail(err, PD_E_INTERNAL, "%s: its size is %u, which is none", s->name, size);
        copy = calloc(1, s->size);
        if (!copy)
                return pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        memcpy(copy, from, size < s->size ? size : s->size);
        *ret = copy;
        return 0;
}

int marshal_encode(const struct shape *shape, const void *from, json_t **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *copy = NULL;
        js_owned *o = json_object();
        int r = shape->size ? read_struct(shape, from, &copy, err) : 0;

        for (size_t i = 0; i < shape->n && r == 0; i++) {
                js_owned *v = NULL;

                r = encode_field(shape, &shape->fields[i], copy ? copy : from, &v, err);
                if (r == 0 && json_object_set(o, shape->fields[i].name, v) < 0)
                        r = pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        }
        if (r < 0)
                return r;
        *ret = pd_steal(o);
        return 0;
}

/* Decoding: JSON that was judged. */

static int decode_kv(const json_t *o, const struct pd_kv **ret, struct arena *arena, struct pd_error *err)
{
        size_t n = json_object_size(o), i = 0;
        struct pd_kv *kv = arena_alloc(arena, sizeof *kv);
        struct pd_pair *pairs = arena_alloc(arena, (n + 1) * sizeof *pairs);
        const char *key;
        json_t *v;

        if (!kv || !pairs)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call");
        json_object_foreach ((json_t *)(uintptr_t)o, key, v)
                pairs[i++] = (struct pd_pair){ key, json_string_value(v) };
        *kv = (struct pd_kv){ .size = (uint32_t)sizeof *kv, .count = (uint32_t)n, .pairs = pairs };
        *ret = kv;
        return 0;
}

static int decode_argv(const json_t *list, const char *const **ret, struct arena *arena, struct pd_error *err)
{
        size_t n = json_array_size(list);
        const char **argv = arena_alloc(arena, (n + 1) * sizeof *argv);

        if (!argv)
                return pd_fail(err, PD_E_NOMEM, "no memory for a call");
        for (size_t i = 0; i < n; i++)
                argv[i] = json_string_value(json_array_get(list, i));
        *ret = argv;
        return 0;
}

static int decode_field(const struct field *f, const json_t *v, char *base, struct arena *arena, struct pd_error *err)
{
        void *p = base + f->offset;

        if (!v || json_is_null(v))
                return 0;
        switch (f->type) {
        case FIELD_TEXT:
                *(const char **)p = json_string_value(v);
                return 0;
        case FIELD_KV:
                return decode_kv(v, p, arena, err);
        case FIELD_ARGV:
                return decode_argv(v, p, arena, err);
        case FIELD_I32:
        case FIELD_U32:
        case FIELD_I64:
        case FIELD_U64:
        case FIELD_ENUM:
        case FIELD_FLAGS:
                break;
        }
        number_set(f, base, (int64_t)json_integer_value(v));
        return 0;
}

int marshal_decode(const struct shape *shape, const json_t *from, void *to, struct arena *arena, struct pd_error *err)
{
        int r = marshal_judge(shape, from, PD_E_INVALID, err);

        for (size_t i = 0; i < shape->n && r == 0; i++)
                r = decode_field(&shape->fields[i], json_object_get(from, shape->fields[i].name), to, arena, err);
        if (r == 0 && shape->size) {
                uint32_t size = (uint32_t)shape->size;

                memcpy(to, &size, sizeof size);
        }
        return r;
}
