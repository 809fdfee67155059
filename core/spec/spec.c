/* SPDX-License-Identifier: Apache-2.0 */
/* The checked form: its end, and its canonical JSON. */
#include "spec/check.h"

#include <inttypes.h>
#include <stdio.h>

struct spec *spec_free(struct spec *s)
{
        if (!s)
                return NULL;
        free(s->name);
        free(s->project);
        free(s->image);
        free(s->on);
        free(s->workdir);
        for (char **arg = s->command; arg && *arg; arg++)
                free(*arg);
        free(s->command);
        json_decref(s->env);
        json_decref(s->tags);
        json_decref(s->mounts);
        free(s->capture);
        json_decref(s->capture_settings);
        json_decref(s->settings);
        free(s);
        return NULL;
}

char *size_exact(uint64_t bytes, char *buf)
{
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        size_t i = 0;

        for (; bytes && bytes % 1024 == 0 && i + 1 < ARRAY_LEN(units); i++)
                bytes /= 1024;
        (void)snprintf(buf, QUANTITY_MAX, "%" PRIu64 "%s", bytes, units[i]);
        return buf;
}

static json_t *argv_json(char *const *argv)
{
        json_t *a = json_array();

        for (; a && argv && *argv; argv++)
                if (json_array_append_new(a, json_string(*argv)) < 0) {
                        json_decref(a);
                        return NULL;
                }
        return a;
}

static json_t *mounts_json(const json_t *mounts)
{
        js_owned *a = json_array();
        const json_t *m;
        size_t i;

        if (!a)
                return NULL;
        json_array_foreach (mounts, i, m)
                if (json_array_append_new(a, json_sprintf("%s:%s%s", js_str(m, "source", ""), js_str(m, "target", ""),
                                                     js_bool(m, "read_only", false) ? ":ro" : "")) < 0)
                        return NULL;
        return pd_steal(a);
}

/* "save.0", "save.1" ... back into a list; an empty one where there is none. */
static json_t *flat_list(const json_t *flat, const char *name)
{
        js_owned *a = json_array();
        json_t *item;
        char key[48];

        for (size_t i = 0; a; i++) {
                (void)str_format(key, sizeof key, "%s.%zu", name, i);
                item = json_object_get(flat, key);
                if (!item)
                        break;
                if (json_array_append(a, item) < 0)
                        return NULL;
        }
        return pd_steal(a);
}

static json_t *capture_json(const struct spec *s)
{
        static const char *const lists[] = { "save", "load" }, *const texts[] = { "signal", "done_file", "timeout" };
        js_owned *o = NULL;

        if (json_object_size(s->capture_settings) == 0)
                return json_string(s->capture);
        o = json_pack("{s:s}", "capture", s->capture);
        for (size_t i = 0; o && i < ARRAY_LEN(lists); i++) {
                js_owned *a = flat_list(s->capture_settings, lists[i]);

                if (!a || (json_array_size(a) > 0 && json_object_set(o, lists[i], a) < 0))
                        return NULL;
        }
        for (size_t i = 0; o && i < ARRAY_LEN(texts); i++) {
                json_t *v = json_object_get(s->capture_settings, texts[i]);

                if (v && json_object_set(o, texts[i], v) < 0)
                        return NULL;
        }
        return pd_steal(o);
}

#define AT(type_) (*(const type_ *)at)

/* A field that is one value. NULL = left out because it is not said; *ret_bad when memory ran out. */
static json_t *scalar_json(enum spec_type type, const void *at, bool *ret_bad)
{
        char buf[QUANTITY_MAX];
        json_t *v;

        if (type == SPEC_BOOL)
                v = json_boolean(AT(bool));
        else if (type == SPEC_INT)
                v = json_integer(AT(int32_t));
        else if (type == SPEC_CPU)
                v = json_string(cpu_format(AT(int32_t), buf));
        else if (type == SPEC_SIZE ? AT(uint64_t) == 0 : AT(char *) == NULL)
                return NULL;
        else
                v = json_string(type == SPEC_SIZE ? size_exact(AT(uint64_t), buf) : AT(char *));
        *ret_bad = !v;
        return v;
}

/* The same for the fields of several values. */
static json_t *field_json(const struct spec_field *f, const struct spec *s, bool *ret_bad)
{
        const void *at = (const char *)s + f->offset;
        json_t *v;

        if (f->type == SPEC_ARGV)
                v = argv_json(s->command);
        else if (f->type == SPEC_CHECKPOINT && s->capture)
                v = capture_json(s);
        else if (f->type == SPEC_MOUNTS && json_array_size(s->mounts) > 0)
                v = mounts_json(s->mounts);
        else if ((f->type == SPEC_ENV || f->type == SPEC_TAGS || f->type == SPEC_SETTINGS) &&
                 json_object_size(AT(json_t *)) > 0)
                v = json_deep_copy(AT(json_t *));
        else if (f->type == SPEC_CHECKPOINT || f->type == SPEC_MOUNTS || f->type == SPEC_ENV || f->type == SPEC_TAGS ||
                 f->type == SPEC_SETTINGS)
                return NULL;
        else
                return scalar_json(f->type, at, ret_bad);
        *ret_bad = !v;
        return v;
}

json_t *spec_to_json(const struct spec *s)
{
        js_owned *o = json_object();

        for (size_t i = 0; o && i < spec_fields_n; i++) {
                bool bad = false;
                json_t *v = field_json(&spec_fields[i], s, &bad);

                if (bad || (v && json_object_set_new(o, spec_fields[i].name, v) < 0))
                        return NULL;
        }
        return pd_steal(o);
}
