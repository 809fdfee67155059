/* SPDX-License-Identifier: Apache-2.0 */
#include "config/internal.h"

const struct config_connection *config_connection_find(const struct config *c, const char *name)
{
        for (size_t i = 0; i < c->connections_n; i++)
                if (streq(c->connections[i].name, name))
                        return &c->connections[i];
        return NULL;
}

const struct config_backend *config_backend_find(const struct config_backend *list, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++)
                if (streq(list[i].name, name))
                        return &list[i];
        return NULL;
}

const char *config_origin(const struct config *c, const char *key)
{
        const struct entry *e = entries_find(&c->private->entries, key);

        return e ? e->origin : NULL;
}

static int by_key(const void *a, const void *b)
{
        return strcmp((*(const struct entry *const *)a)->key, (*(const struct entry *const *)b)->key);
}

int config_print(const struct config *c, FILE *out, struct pd_error *err)
{
        const struct entries *all = &c->private->entries;
        pd_cleanup(freep) const struct entry **sorted = calloc(all->list.n + 1, sizeof *sorted);

        if (!sorted)
                return pd_fail(err, PD_E_NOMEM, "no memory to print the config");
        for (size_t i = 0; i < all->list.n; i++)
                sorted[i] = &all->list.at[i];
        qsort(sorted, all->list.n, sizeof *sorted, by_key);
        for (size_t i = 0; i < all->list.n; i++) {
                pd_cleanup(freep) char *text = js_dump(sorted[i]->value);

                if (sorted[i]->row->type == SCHEMA_GROUP)
                        continue;
                if (!text)
                        return pd_fail(err, PD_E_NOMEM, "no memory to print the config");
                (void)fprintf(out, "%s = %s  # %s\n", sorted[i]->key, text, sorted[i]->origin);
        }
        return ferror(out) ? pd_fail(err, PD_E_IO, "the config cannot be printed: %m") : 0;
}
