/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "config/internal.h"

void entries_clear(struct entries *e)
{
        vec_foreach (entry, &e->list) {
                free(entry->key);
                json_decref(entry->value);
        }
        vec_foreach (block, &e->blocks)
                free(block->name);
        vec_free(&e->list);
        vec_free(&e->blocks);
        json_decref(e->index);
        *e = (struct entries){ 0 };
}

const struct entry *entries_find(const struct entries *e, const char *key)
{
        const json_t *at = json_object_get(e->index, key);

        return at ? &e->list.at[json_integer_value(at)] : NULL;
}

const struct entry *entries_add(
        struct entries *e, const char *key, const struct schema_row *row, json_t *value, struct place at)
{
        js_owned *owned = value;
        const struct entry *before = entries_find(e, key);
        struct entry entry = { .row = row, .at = at };

        if (before)
                return before;
        if (!e->index)
                e->index = json_object();
        entry.key = strdup(key);
        entry.value = owned;
        if (!owned || !entry.key || !vec_push(&e->list, entry)) {
                free(entry.key);
                e->no_memory = true;
                return NULL;
        }
        owned = NULL;
        if (json_object_set_new(e->index, key, json_integer((json_int_t)e->list.n - 1)) < 0)
                e->no_memory = true; /* it is on the list and freed with it, but not found */
        return NULL;
}

void entries_add_block(struct entries *e, enum schema_named kind, const char *name, struct place at)
{
        struct block b = { .kind = kind, .at = at };

        vec_foreach (known, &e->blocks)
                if (known->kind == kind && streq(known->name, name))
                        return;
        b.name = strdup(name);
        if (!b.name || !vec_push(&e->blocks, b)) {
                free(b.name);
                e->no_memory = true;
        }
}

void *config_arena_take(struct arena *a, size_t n)
{
        void *p = calloc(1, n ? n : 1);

        if (p && !vec_push(&a->list, p)) {
                free(p);
                return NULL;
        }
        return p;
}

char *config_arena_format(struct arena *a, const char *fmt, ...)
{
        char *text = NULL;
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&text, fmt, ap);
        va_end(ap);
        if (n < 0)
                return NULL;
        if (!vec_push(&a->list, (void *)text)) {
                free(text);
                return NULL;
        }
        return text;
}

void config_arena_clear(struct arena *a)
{
        vec_foreach (p, &a->list)
                free(*p);
        vec_free(&a->list);
}
