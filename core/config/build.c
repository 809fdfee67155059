/* SPDX-License-Identifier: Apache-2.0 */
/* Entries to a struct config: defaults filled in, what must be there looked for, paths and options put together. */
#include "config/internal.h"

struct build {
        struct config_private *p;
        const struct config_params *params;
        struct faults *faults;
        bool no_memory;
};

static const struct place built_in = { NULL, 0 };

static const struct entry *find(const struct build *b, const char *prefix, const char *key)
{
        char whole[KEY_MAX];

        (void)str_format(whole, sizeof whole, "%s.%s", prefix, key);
        return entries_find(&b->p->entries, whole);
}

/* What holds without a key, as an entry of its own, so that --check-config -v and config_origin() show it. */
static const char *fill_in(struct build *b, const char *prefix, const struct schema_row *row, json_t *value)
{
        const struct entry *e;
        char whole[KEY_MAX];

        (void)str_format(whole, sizeof whole, "%s.%s", prefix, row->key);
        (void)entries_add(&b->p->entries, whole, row, value, built_in);
        e = entries_find(&b->p->entries, whole);
        if (!e)
                b->no_memory = true;
        return e ? json_string_value(e->value) : NULL;
}

__attribute__((format(printf, 5, 6))) static void derive(
        struct build *b, const char *prefix, const char *key, const char **member, const char *fmt, ...)
{
        char text[KEY_MAX + 1024];
        va_list ap;

        if (*member)
                return;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        for (size_t i = 0; i < schema_rows_n; i++) {
                const struct schema_row *row = &schema_rows[i];

                if (streq(row->key, key) && row->otherwise) {
                        *member = fill_in(b, prefix, row, json_string(text));
                        return;
                }
        }
}

/* Every row of a block into its struct. at: where the block is, for a key that is missing. */
static void fill_block(struct build *b, enum schema_block block, const char *prefix, void *into, struct place at)
{
        for (size_t i = 0; i < schema_rows_n; i++) {
                const struct schema_row *row = &schema_rows[i];
                const struct entry *e;
                char example[80], fix[100];

                if (row->block != block)
                        continue;
                e = find(b, prefix, row->key);
                if (!e && row->fallback) {
                        (void)fill_in(b, prefix, row, value_fallback(row));
                        e = find(b, prefix, row->key);
                }
                if (!e && row->required) {
                        (void)str_format(
                                fix, sizeof fix, "write for example %s", value_example(row, example, sizeof example));
                        faults_tell(b->faults, at, prefix, fix, "\"%s\" is missing", row->key);
                }
                if (e && row->offset != SCHEMA_NO_MEMBER && !value_store(row, e->value, into, &b->p->arena))
                        b->no_memory = true;
        }
}

static json_t *own_object(struct build *b)
{
        json_t *o = json_object();

        if (o && vec_push(&b->p->objects, o))
                return o;
        json_decref(o);
        b->no_memory = true;
        return NULL;
}

static void set(struct build *b, json_t *o, const char *key, const char *value)
{
        if (json_object_set_new(o, key, json_string(value)) < 0)
                b->no_memory = true;
}

static void set_option(struct build *b, json_t *options, const struct entry *e, const char *name)
{
        const char *text = json_string_value(e->value);
        pd_cleanup(freep) char *plain = NULL;
        struct pd_error err;

        if (b->params->keep_secrets || !str_starts(text, CREDENTIAL)) {
                set(b, options, name, text);
                return;
        }
        if (files_secret(text, &plain, &err) < 0) {
                faults_error(b->faults, e->at, e->key, &err);
                return;
        }
        if (json_object_set_new(options, name, json_string(plain)) < 0)
                faults_tell(b->faults, e->at, e->key, "a credential is one line of UTF-8 text", "\"%s\" is not UTF-8",
                        text);
}

static const json_t *options_of(struct build *b, const char *prefix)
{
        json_t *options = own_object(b);
        char begin[KEY_MAX];
        size_t n;

        (void)str_format(begin, sizeof begin, "%s.options.", prefix);
        n = strlen(begin);
        vec_foreach (e, &b->p->entries.list)
                if (strncmp(e->key, begin, n) == 0)
                        set_option(b, options, e, e->key + n);
        return options;
}

static enum config_isolation isolation_of(struct build *b, const char *prefix)
{
        const struct entry *e = find(b, prefix, "isolation");

        if (!e)
                return b->p->config.daemon.isolation;
        return streq(json_string_value(e->value), "none") ? CONFIG_NONE : CONFIG_PROCESS;
}

/* name: of the plugin where the block does not say. */
static const char *plugin_of(struct build *b, const char *prefix, enum schema_named kind, const char *name)
{
        const struct entry *e = find(b, prefix, "plugin");
        const char *path;

        if (e)
                name = json_string_value(e->value);
        if (name[0] == '/')
                return name;
        path = config_arena_format(
                &b->p->arena, "%s/%s-%s.so", b->p->config.daemon.plugin_dir, schema_named[kind].plugin_kind, name);
        b->no_memory |= !path;
        return path;
}

static bool enabled(struct build *b, const char *prefix)
{
        const struct entry *e = find(b, prefix, "enabled");

        return !e || json_is_true(e->value);
}

static void build_daemon(struct build *b)
{
        struct config_daemon *d = &b->p->config.daemon;
        const char *main_file = b->p->files.paths.at[0], *slash = strrchr(main_file, '/');

        fill_block(b, SCHEMA_DAEMON, "daemon", d, built_in);
        if (b->no_memory)
                return;
        derive(b, "daemon", "socket", &d->socket, "%s/portald.sock", d->run_dir);
        derive(b, "daemon", "installation_file", &d->installation_file, "%.*sinstallation-id",
                slash ? (int)(slash - main_file + 1) : 0, main_file);
}

static void build_runner(struct build *b)
{
        struct config_runner *r = &b->p->config.runner;
        uint64_t last;

        fill_block(b, SCHEMA_RUNNER, "runner", r, built_in);
        if (b->no_memory)
                return;
        derive(b, "runner", "socket", &r->socket, "%s/runner.sock", r->run_dir);
        derive(b, "runner", "image_store", &r->image_store, "%s/images", r->state_dir);
        last = (uint64_t)r->uid_base + (uint64_t)r->uid_count * r->uid_ranges - 1;
        if (last > UINT32_MAX - 1) {
                const struct entry *e = find(b, "runner", "uid_base");

                faults_tell(b->faults, e->at, "runner.uid_base", "lower uid_base, uid_count or uid_ranges",
                        "%u + %u x %u ends above 4294967294, the last user number", r->uid_base, r->uid_count,
                        r->uid_ranges);
        }
}

static void build_connection(struct build *b, const struct block *block, struct config_connection *c)
{
        char prefix[KEY_MAX], cap[KEY_MAX];
        const struct entry *has_cap;
        bool said;

        (void)str_format(prefix, sizeof prefix, "connections.%s", block->name);
        (void)str_format(cap, sizeof cap, "%s.cap", prefix);
        c->name = block->name;
        fill_block(b, SCHEMA_CONNECTION, prefix, c, block->at);
        c->isolation = isolation_of(b, prefix);
        c->options = options_of(b, prefix);
        said = c->runner_socket;
        if (!said)
                c->runner_socket = b->p->config.runner.socket;
        if (!c->provider)
                return;
        c->plugin = plugin_of(b, prefix, SCHEMA_CONNECTIONS, c->provider);
        if ((said || streq(c->provider, "local")) && !json_object_get(c->options, "runner_socket"))
                set(b, (json_t *)(uintptr_t)c->options, "runner_socket", c->runner_socket);
        has_cap = find(b, prefix, "cap");
        if (has_cap) {
                c->cap.set = true;
                fill_block(b, SCHEMA_CAP, cap, &c->cap, has_cap->at);
        }
}

static void build_backend(struct build *b, const struct block *block, struct config_backend *k)
{
        char prefix[KEY_MAX];

        (void)str_format(prefix, sizeof prefix, "%s.%s", schema_named[block->kind].key, block->name);
        k->name = block->name;
        fill_block(b, SCHEMA_BACKEND, prefix, k, block->at);
        k->isolation = isolation_of(b, prefix);
        k->options = options_of(b, prefix);
        k->plugin = plugin_of(b, prefix, block->kind, block->name);
}

/* The shipped captures and vault hold where a site names none of its own. */
static void add_shipped(struct build *b)
{
        static const char *const captures[] = { "values", "command", "criu", "restart" };
        struct entries *e = &b->p->entries;
        bool any_capture = false, any_vault = false;

        vec_foreach (block, &e->blocks) {
                any_capture |= block->kind == SCHEMA_CAPTURES;
                any_vault |= block->kind == SCHEMA_VAULTS;
        }
        for (size_t i = 0; !any_capture && i < ARRAY_LEN(captures); i++)
                entries_add_block(e, SCHEMA_CAPTURES, captures[i], built_in);
        if (!any_vault) {
                char path[KEY_MAX + 1024];

                entries_add_block(e, SCHEMA_VAULTS, "file", built_in);
                (void)str_format(path, sizeof path, "%s/vault", b->p->config.runner.state_dir);
                (void)entries_add(e, "vaults.file.options.path", schema_find(SCHEMA_BACKEND, "options"),
                        json_string(path), built_in);
        }
        b->no_memory |= e->no_memory;
}

static size_t count_enabled(struct build *b, enum schema_named kind)
{
        size_t n = 0;

        vec_foreach (block, &b->p->entries.blocks) {
                char prefix[KEY_MAX];

                (void)str_format(prefix, sizeof prefix, "%s.%s", schema_named[kind].key, block->name);
                n += block->kind == kind && enabled(b, prefix);
        }
        return n;
}

static void build_connections(struct build *b)
{
        struct config *c = &b->p->config;
        struct config_connection *list =
                config_arena_take(&b->p->arena, count_enabled(b, SCHEMA_CONNECTIONS) * sizeof *list);

        c->connections = list;
        if (!list) {
                b->no_memory = true;
                return;
        }
        vec_foreach (block, &b->p->entries.blocks) {
                char prefix[KEY_MAX];

                (void)str_format(prefix, sizeof prefix, "connections.%s", block->name);
                if (block->kind == SCHEMA_CONNECTIONS && enabled(b, prefix))
                        build_connection(b, block, &list[c->connections_n++]);
        }
}

static void build_backends(struct build *b, enum schema_named kind, const struct config_backend **ret, size_t *ret_n)
{
        struct config_backend *list = config_arena_take(&b->p->arena, count_enabled(b, kind) * sizeof *list);
        size_t n = 0;

        if (!list) {
                b->no_memory = true;
                return;
        }
        vec_foreach (block, &b->p->entries.blocks) {
                char prefix[KEY_MAX];

                (void)str_format(prefix, sizeof prefix, "%s.%s", schema_named[kind].key, block->name);
                if (block->kind == kind && enabled(b, prefix))
                        build_backend(b, block, &list[n++]);
        }
        *ret = list;
        *ret_n = n;
}

static void choose_vault(struct build *b)
{
        struct config *c = &b->p->config;
        const struct entry *said = find(b, "daemon", "default_vault");

        if (said) {
                if (!config_backend_find(c->vaults, c->vaults_n, c->daemon.default_vault))
                        faults_tell(b->faults, said->at, said->key, "name a block of vaults that is enabled",
                                "there is no vault \"%s\"", c->daemon.default_vault);
        } else if (c->vaults_n == 1) {
                derive(b, "daemon", "default_vault", &c->daemon.default_vault, "%s", c->vaults[0].name);
        } else {
                vec_foreach (block, &b->p->entries.blocks) {
                        if (block->kind != SCHEMA_VAULTS)
                                continue;
                        faults_tell(b->faults, block->at, "daemon.default_vault",
                                "say which one checkpoints go to: default_vault = \"NAME\" in the daemon block",
                                "there are %zu vaults", c->vaults_n);
                        return;
                }
        }
}

/* A url with a secret in it is a credential; it never goes in the clear but within this machine. */
static void build_notify(struct build *b)
{
        static const char *const good[] = { "https://", "http://127.0.0.1", "http://localhost", "http://[::1]" };
        const struct entry *said = find(b, "daemon", "notify_url");
        const char **url = &b->p->config.daemon.notify_url;
        pd_cleanup(freep) char *plain = NULL;
        struct pd_error err;

        if (!said || !*url || (b->params->keep_secrets && str_starts(*url, CREDENTIAL)))
                return;
        if (files_secret(*url, &plain, &err) < 0) {
                faults_error(b->faults, said->at, said->key, &err);
                return;
        }
        *url = config_arena_format(&b->p->arena, "%s", plain);
        if (!*url)
                b->no_memory = true;
        for (size_t i = 0; *url && i < ARRAY_LEN(good); i++) {
                size_t n = strlen(good[i]);

                if (str_starts(*url, good[i]) && (i == 0 || (*url)[n] == ':' || (*url)[n] == '/'))
                        return;
        }
        faults_tell(b->faults, said->at, said->key,
                "write https://HOST/PATH; http:// only for this machine, as http://localhost/",
                "it is no https address");
}

/* The site's layer of settings; daemon.check_every is one of them under another name. */
static void build_settings(struct build *b)
{
        const struct entry *check = find(b, "daemon", "check_every"),
                           *same = entries_find(&b->p->entries, "settings.check.every");
        json_t *settings = own_object(b);
        char where[256];

        vec_foreach (e, &b->p->entries.list)
                if (str_starts(e->key, "settings."))
                        set(b, settings, e->key + strlen("settings."), json_string_value(e->value));
        if (same && check && check->at.file)
                faults_tell(b->faults, check->at, check->key, "keep one of the two",
                        "the setting check.every says it too, in %s", place_format(same->at, where, sizeof where));
        else if (same)
                (void)duration_parse(json_string_value(same->value), &b->p->config.daemon.check_every_us, NULL);
        else if (check && check->at.file)
                set(b, settings, "check.every", json_string_value(check->value));
        b->p->config.settings = settings;
}

int build(struct config_private *p, const struct config_params *params, struct faults *f)
{
        struct build b = { .p = p, .params = params, .faults = f };
        struct config *c = &p->config;

        b.no_memory = p->entries.no_memory;
        build_daemon(&b);
        build_runner(&b);
        if (b.no_memory)
                return -PD_E_NOMEM;
        add_shipped(&b);
        if (b.no_memory)
                return -PD_E_NOMEM;
        build_connections(&b);
        build_backends(&b, SCHEMA_CAPTURES, &c->captures, &c->captures_n);
        build_backends(&b, SCHEMA_VAULTS, &c->vaults, &c->vaults_n);
        build_backends(&b, SCHEMA_SINKS, &c->sinks, &c->sinks_n);
        if (b.no_memory)
                return -PD_E_NOMEM;
        choose_vault(&b);
        build_notify(&b);
        build_settings(&b);
        return b.no_memory ? -PD_E_NOMEM : 0;
}
