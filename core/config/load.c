/* SPDX-License-Identifier: Apache-2.0 */
/* Files to entries: each file by itself through the prescan, libconfig and the schema; then all of them merged, key by key. */
#include <libconfig.h>
#include <unistd.h>

#include "config/internal.h"
#include "config/prescan.h"

#define OPTION_NAME_MAX 64

struct item { /* where a value in a list stands, and the list's key */
        unsigned int key_line, line;
};

struct load {
        struct config_private *p;
        const struct config_params *params;
        struct faults faults;
        const char *file;       /* being read */
        VEC(struct item) items; /* of its lists, in order */
};

static struct place place_of(const struct load *l, const config_setting_t *s)
{
        return (struct place){ l->file, config_setting_source_line(s) };
}

/* A setting as JSON, whatever it is; NULL = no memory, or text that is not UTF-8. */
static json_t *to_json(const config_setting_t *s)
{
        switch (config_setting_type(s)) {
        case CONFIG_TYPE_STRING:
                return json_string(config_setting_get_string(s));
        case CONFIG_TYPE_BOOL:
                return json_boolean(config_setting_get_bool(s));
        case CONFIG_TYPE_INT:
                return json_integer(config_setting_get_int(s));
        case CONFIG_TYPE_GROUP:
                return json_object(); /* its rows are walked, not read as one */
        default:
                break;
        }
        js_owned *list = json_array();

        for (int i = 0; list && i < config_setting_length(s); i++)
                if (json_array_append_new(list, to_json(config_setting_get_elem(s, (unsigned int)i))) < 0)
                        return NULL;
        return pd_steal(list);
}

static void add(struct load *l, struct place at, const char *key, const struct schema_row *row, json_t *value)
{
        const struct entry *before = entries_add(&l->p->entries, key, row, value, at);
        char where[256];

        if (before)
                faults_tell(&l->faults, at, key, "keep one of the two", "it is also given in %s",
                        place_format(before->at, where, sizeof where));
}

static void not_utf8(struct load *l, const config_setting_t *s, const char *key)
{
        faults_tell(&l->faults, place_of(l, s), key, "save the file as UTF-8", "the text is not UTF-8");
}

/* One value of a row into an entry. */
static void take_value(struct load *l, const config_setting_t *s, const char *key, const struct schema_row *row)
{
        js_owned *value = to_json(s);
        struct pd_error err;

        if (!value)
                not_utf8(l, s, key);
        else if (value_check(row, value, &err) < 0)
                faults_error(&l->faults, place_of(l, s), key, &err);
        else
                add(l, place_of(l, s), key, row, json_incref(value));
}

/* options: strings only, one entry each. */
static void take_options(struct load *l, const config_setting_t *group, const char *key, const struct schema_row *row)
{
        for (int i = 0; i < config_setting_length(group); i++) {
                const config_setting_t *s = config_setting_get_elem(group, (unsigned int)i);
                js_owned *value = to_json(s);
                char whole[KEY_MAX], fix[96];

                (void)str_format(whole, sizeof whole, "%s.%s", key, config_setting_name(s));
                (void)str_format(
                        fix, sizeof fix, "quote it: write for example %.32s = \"...\"", config_setting_name(s));
                if (!value)
                        not_utf8(l, s, whole);
                else if (strlen(config_setting_name(s)) > OPTION_NAME_MAX)
                        faults_tell(&l->faults, place_of(l, s), key, "see the plugin's page for its options",
                                "\"%.40s...\" is no option's name: it is longer than %d", config_setting_name(s),
                                OPTION_NAME_MAX);
                else if (!json_is_string(value))
                        faults_tell(&l->faults, place_of(l, s), whole, fix, "an option is text, and this is not");
                else
                        add(l, place_of(l, s), whole, row, json_incref(value));
        }
}

static struct place place_of_item(const struct load *l, const config_setting_t *list, int i)
{
        unsigned int key_line = config_setting_source_line(list);

        vec_foreach (item, &l->items)
                if (item->key_line == key_line && i-- == 0)
                        return (struct place){ l->file, item->line };
        return place_of(l, list);
}

/* "KEY=VALUE" each; the entry is settings.KEY. */
static void take_settings(struct load *l, const config_setting_t *list, const struct schema_row *row)
{
        js_owned *all = to_json(list);
        struct pd_error err;

        if (!all) {
                not_utf8(l, list, row->key);
                return;
        }
        if (value_check(row, all, &err) < 0) {
                faults_error(&l->faults, place_of(l, list), row->key, &err);
                return;
        }
        for (int i = 0; i < config_setting_length(list); i++) {
                const config_setting_t *s = config_setting_get_elem(list, (unsigned int)i);
                const char *text = config_setting_get_string(s), *equals = strchr(text, '=');
                struct place at = place_of_item(l, list, i);
                char key[KEY_MAX], name[KEY_MAX];

                if (!str_format(name, sizeof name, "%.*s", (int)(equals - text), text) ||
                        !str_format(key, sizeof key, "settings.%s", name))
                        faults_tell(&l->faults, at, "settings", "see the table of settings",
                                "\"%.40s...\" is no setting", text);
                else if (l->params->check_setting && l->params->check_setting(name, equals + 1, &err) < 0)
                        faults_error(&l->faults, at, key, &err);
                else
                        add(l, at, key, row, json_string(equals + 1));
        }
}

static void unknown_key(struct load *l, const config_setting_t *s, enum schema_block block, const char *whole)
{
        const char *name = config_setting_name(s), *near = schema_nearest(block, name);
        char fix[300], list[240];

        if (near)
                (void)str_format(fix, sizeof fix, "did you mean \"%s\"?", near);
        else
                (void)str_format(fix, sizeof fix, "the keys here are %s", schema_list(block, list, sizeof list));
        faults_tell(&l->faults, place_of(l, s), whole, fix, "unknown key \"%.60s\"", name);
}

static void take_block(struct load *l, const config_setting_t *group, enum schema_block block, const char *prefix);

/* The block itself is noted too: an empty cap is a mistake, and not none. */
static void take_cap(struct load *l, const config_setting_t *s, const char *key, const struct schema_row *row)
{
        (void)entries_add(&l->p->entries, key, row, json_object(), place_of(l, s));
        take_block(l, s, SCHEMA_CAP, key);
}

/* The rows of one block. prefix: "daemon", "connections.lab". */
static void take_block(struct load *l, const config_setting_t *group, enum schema_block block, const char *prefix)
{
        for (int i = 0; i < config_setting_length(group); i++) {
                const config_setting_t *s = config_setting_get_elem(group, (unsigned int)i);
                const struct schema_row *row = schema_find(block, config_setting_name(s));
                char key[KEY_MAX];

                (void)str_format(key, sizeof key, "%s.%s", prefix, config_setting_name(s));
                if (!row)
                        unknown_key(l, s, block, key);
                else if ((row->type != SCHEMA_OPTIONS && row->type != SCHEMA_GROUP) || !config_setting_is_group(s))
                        take_value(l, s, key, row); /* of a block that is none: tells what is wanted */
                else if (row->type == SCHEMA_OPTIONS)
                        take_options(l, s, key, row);
                else
                        take_cap(l, s, key, row);
        }
}

static void take_named(struct load *l, const config_setting_t *group, enum schema_named kind)
{
        const struct schema_named_row *named = &schema_named[kind];

        for (int i = 0; i < config_setting_length(group); i++) {
                const config_setting_t *s = config_setting_get_elem(group, (unsigned int)i);
                const char *name = config_setting_name(s);
                char key[KEY_MAX];

                (void)str_format(key, sizeof key, "%s.%s", named->key, name);
                if (!value_name_good(name)) {
                        faults_tell(&l->faults, place_of(l, s), named->key,
                                "use a-z, 0-9 and -, at most 48, as in \"lab\"", "\"%.60s\" cannot name %s", name,
                                named->what);
                } else if (!config_setting_is_group(s)) {
                        faults_tell(&l->faults, place_of(l, s), key, "write NAME: { ... };",
                                "%s is a block, and this is none", named->what);
                } else {
                        entries_add_block(&l->p->entries, kind, name, place_of(l, s));
                        take_block(l, s, named->block, key);
                }
        }
}

static void take_top(struct load *l, const config_setting_t *s)
{
        const char *name = config_setting_name(s);
        const struct schema_row *row = schema_find(SCHEMA_TOP, name);

        if (!row) {
                unknown_key(l, s, SCHEMA_TOP, name);
                return;
        }
        if (row->type == SCHEMA_SETTINGS) {
                take_settings(l, s, row);
                return;
        }
        if (!config_setting_is_group(s)) {
                faults_tell(&l->faults, place_of(l, s), name, "write NAME: { ... };",
                        "\"%s\" is a block, and this is none", name);
                return;
        }
        for (enum schema_named kind = 0; kind < SCHEMA_NAMED_N; kind++) {
                if (streq(schema_named[kind].key, name)) {
                        take_named(l, s, kind);
                        return;
                }
        }
        take_block(l, s, streq(name, "daemon") ? SCHEMA_DAEMON : SCHEMA_RUNNER, name);
}

static void on_prescan(void *arg, unsigned int line, const char *text, const char *fix)
{
        struct load *l = arg;

        faults_tell(&l->faults, (struct place){ l->file, line }, "", fix, "%s", text);
}

static void on_item(void *arg, unsigned int key_line, unsigned int line)
{
        struct load *l = arg;

        if (!vec_push(&l->items, ((struct item){ key_line, line })))
                l->p->entries.no_memory = true;
}

static void parse(struct load *l, const char *text)
{
        config_t c;

        config_init(&c);
        if (config_read_string(&c, text) == CONFIG_TRUE) {
                const config_setting_t *root = config_root_setting(&c);

                for (int i = 0; i < config_setting_length(root); i++)
                        take_top(l, config_setting_get_elem(root, (unsigned int)i));
        } else {
                faults_tell(&l->faults, (struct place){ l->file, (unsigned int)config_error_line(&c) }, "",
                        "give each key once in a block; the values of a list in [ ] are all of one type", "%s",
                        str_or(config_error_text(&c), "not understood"));
        }
        config_destroy(&c);
}

static void take_file(struct load *l, const char *path)
{
        const struct prescan_events events = { on_prescan, on_item, l };
        pd_cleanup(freep) char *text = NULL;
        struct pd_error err;
        size_t n = 0;

        l->file = path;
        l->items.n = 0;
        if (files_read(path, l->params->owner_uid, &text, &n, &err) < 0) {
                faults_error(&l->faults, (struct place){ path, 0 }, "", &err);
                return;
        }
        if (prescan(text, n, &events) == 0)
                parse(l, text);
}

struct config *config_free(struct config *c)
{
        struct config_private *p = c ? c->private : NULL;

        if (!p)
                return NULL;
        entries_clear(&p->entries);
        files_clear(&p->files);
        config_arena_clear(&p->arena);
        vec_foreach (o, &p->objects)
                json_decref(*o);
        vec_free(&p->objects);
        free(p);
        return NULL;
}

static int note_origins(struct config_private *p)
{
        vec_foreach (e, &p->entries.list) {
                char where[KEY_MAX + 1024];

                e->origin = config_arena_format(&p->arena, "%s", place_format(e->at, where, sizeof where));
                if (!e->origin)
                        return -PD_E_NOMEM;
        }
        return 0;
}

int config_load(struct config **ret, const struct config_params *params, json_t **ret_faults, struct pd_error *err)
{
        struct pd_error first = { 0 };
        struct load l = { .params = params, .faults = { .err = &first } };
        pd_cleanup(config_freep) struct config *c = NULL;
        js_owned *list = NULL;
        int r;

        l.p = calloc(1, sizeof *l.p);
        if (!l.p)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        c = &l.p->config;
        c->private = l.p;
        r = files_list(params->path ? params->path : CONFIG_PATH, &l.p->files, err);
        if (r < 0)
                return r;
        vec_foreach (path, &l.p->files.paths)
                take_file(&l, *path);
        vec_free(&l.items);
        r = build(l.p, params, &l.faults);
        list = l.faults.list;
        if (r == 0)
                r = note_origins(l.p);
        if (r < 0 || l.p->entries.no_memory)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        if (l.faults.n) {
                if (ret_faults)
                        *ret_faults = pd_steal(list);
                if (err)
                        *err = first;
                return -(int)first.code;
        }
        *ret = pd_steal(c);
        return 0;
}
