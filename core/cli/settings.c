/* SPDX-License-Identifier: Apache-2.0 */
/* portal settings: what jobs go by, where it comes from, and changing it (P-23). */
#include "cli/cli.h"

#include <curl/curl.h>

#include "cli/settings_edit.h"

static const struct table_column columns[] = { { "KEY", false, false }, { "VALUE", false, false },
        { "ORIGIN", false, false }, { "BOUND", false, false }, { "WHAT IT IS", false, true } };

static void bound_text(const json_t *s, char *buf, size_t n)
{
        const char *min = js_str(s, "min", NULL), *max = js_str(s, "max", NULL), *by = js_str(s, "bound_by", "?");

        if (js_bool(s, "locked", false))
                (void)str_format(buf, n, "locked by %.32s", by);
        else if (min || max)
                (void)str_format(buf, n, "%s..%s by %.32s", str_or(min, ""), str_or(max, ""), by);
        else
                (void)str_format(buf, n, "-");
}

static void add_row(struct table *t, const char *key, const json_t *s)
{
        char bound[160];
        const char *origin = js_str(s, "origin", "?");
        const char *cells[ARRAY_LEN(columns)] = { key, js_str(s, "value", "?"), origin, bound, js_str(s, "help", "") };

        bound_text(s, bound, sizeof bound);
        table_row(t, cells, 2, streq(origin, "built-in") ? COLOUR_DIM : COLOUR_GOOD);
}

static int print_settings(struct cli *c, const json_t *answer)
{
        struct table *t = table_new(c, columns, ARRAY_LEN(columns));
        const json_t *s;
        size_t i;

        json_array_foreach (json_object_get(answer, "settings"), i, s)
                add_row(t, js_str(s, "key", "?"), s);
        return table_print(t);
}

/* --- get --- */
static bool settings_path(const struct cli_line *line, const char *key, char *buf, size_t n)
{
        const char *project = cli_value(line, "--project");
        char *p = curl_easy_escape(NULL, str_or(project, ""), 0), *k = curl_easy_escape(NULL, str_or(key, ""), 0);
        bool fits = p && k &&
                    str_format(buf, n, "/v1/settings%s%s%s%s", project ? "?project=" : "", project ? p : "",
                            !key      ? ""
                            : project ? "&key="
                                      : "?key=",
                            key ? k : "");

        curl_free(p);
        curl_free(k);
        return fits;
}

/* The value alone on stdout, for scripts. */
static int print_one(struct cli *c, const json_t *s)
{
        char bound[160];

        bound_text(s, bound, sizeof bound);
        (void)printf("%s\n", js_str(s, "value", "?"));
        say(c, "%s: origin %s, default %s, bound %s. %s", js_str(s, "key", "?"), js_str(s, "origin", "?"),
                js_str(s, "default", "?"), bound, js_str(s, "help", ""));
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int refuse(struct cli *c, const struct pd_error *err)
{
        say(c, "%s", err->text);
        return CLI_REFUSED;
}

static int get(struct cli *c, const struct cli_line *line, const char *key)
{
        struct http_reply reply = { 0 };
        struct pd_error err;
        char path[400];
        int code = CLI_OK;

        if (key && !setting_find(key)) {
                (void)setting_check(key, "", &err);
                return refuse(c, &err);
        }
        if (!settings_path(line, key, path, sizeof path)) {
                (void)pd_fail(&err, PD_E_INVALID, "--project \"%.40s\" is too long: leave it out for everybody's",
                        str_or(cli_value(line, "--project"), ""));
                return refuse(c, &err);
        }
        if (ask(c, "GET", path, NULL, &reply, &code)) {
                if (cli_has(line, "--json"))
                        code = print_json(reply.json);
                else if (key)
                        code = print_one(c, json_array_get(json_object_get(reply.json, "settings"), 0));
                else
                        code = print_settings(c, reply.json);
        }
        http_reply_clear(&reply);
        return code;
}

/* What one job goes by, its portal.yaml and flags included. */
static int effective(struct cli *c, const struct cli_line *line, const char *job, const char *key)
{
        struct http_reply reply = { 0 };
        struct table *t = NULL;
        const json_t *all;
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, job, ""))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code)) {
                all = json_object_get(reply.json, "settings");
                if (cli_has(line, "--json"))
                        code = print_json(all);
                else
                        t = table_new(c, columns, ARRAY_LEN(columns));
                for (size_t i = 0; t && i < setting_rows_n; i++) {
                        json_t *s = json_object_get(all, setting_rows[i].key);

                        if (!s || (key && !streq(key, setting_rows[i].key)))
                                continue;
                        (void)json_object_set_new(s, "help", json_string(setting_rows[i].help));
                        add_row(t, setting_rows[i].key, s);
                }
                if (t)
                        code = table_print(t);
        }
        http_reply_clear(&reply);
        return code;
}

/* --- changing --- */
/* Takes settings and bounds. */
static int patch(struct cli *c, const struct cli_line *line, json_t *settings, json_t *bounds)
{
        js_owned *body = json_pack("{s:o*,s:o*}", "settings", settings, "bounds", bounds);
        const char *project = cli_value(line, "--project");
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        if (!body || (project && json_object_set_new(body, "project", json_string(project)) < 0)) {
                say(c, "no memory for the request, or --project is not UTF-8 text: write it in UTF-8");
                return CLI_REFUSED;
        }
        if (ask(c, "PATCH", "/v1/settings", body, &reply, &code)) {
                if (cli_has(line, "--json"))
                        code = print_json(reply.json);
                else
                        say(c, "changed %s%s, at once and for running jobs too; `portal settings` shows what holds now",
                                project ? "for project " : "for everybody", str_or(project, ""));
        }
        http_reply_clear(&reply);
        return code;
}

static int set(struct cli *c, const struct cli_line *line, char *const *pairs, size_t n)
{
        js_owned *settings = json_object();
        struct pd_error err;

        for (size_t i = 0; i < n; i++)
                if (settings_edit_pair(settings, pairs[i], "set", &err) < 0)
                        return refuse(c, &err);
        return patch(c, line, json_incref(settings), NULL);
}

/* {KEY: value} of each, value taken once a key. */
static int of_keys(struct cli *c, char *const *keys, size_t n, const char *value, json_t **ret)
{
        js_owned *o = json_object();
        struct pd_error err;

        for (size_t i = 0; i < n; i++) {
                if (!setting_find(keys[i])) {
                        (void)setting_check(keys[i], "", &err);
                        return refuse(c, &err);
                }
                (void)json_object_set_new(o, keys[i], json_loads(value, JSON_DECODE_ANY, NULL));
        }
        *ret = pd_steal(o);
        return CLI_OK;
}

static int unset(struct cli *c, const struct cli_line *line, char *const *keys, size_t n)
{
        json_t *settings = NULL;
        int code = of_keys(c, keys, n, "null", &settings);

        return code == CLI_OK ? patch(c, line, settings, NULL) : code;
}

static int unlock(struct cli *c, const struct cli_line *line, char *const *keys, size_t n)
{
        json_t *bounds = NULL;
        int code = of_keys(c, keys, n, "{\"lock\": false}", &bounds);

        return code == CLI_OK ? patch(c, line, NULL, bounds) : code;
}

static int lock(struct cli *c, const struct cli_line *line, char *const *args, size_t n)
{
        js_owned *settings = json_object(), *bounds = json_object();
        struct pd_error err;

        for (size_t i = 0; i < n; i++) {
                size_t k = strcspn(args[i], "=");
                char key[64];

                (void)str_format(key, sizeof key, "%.*s", (int)(k < 60 ? k : 60), args[i]);
                if (args[i][k] ? settings_edit_pair(settings, args[i], "lock", &err) < 0
                               : !setting_find(key) && setting_check(key, "", &err) < 0)
                        return refuse(c, &err);
                (void)json_object_set_new(bounds, key, json_pack("{s:b}", "lock", 1));
        }
        return patch(c, line, json_object_size(settings) ? json_incref(settings) : NULL, json_incref(bounds));
}

static int bound(struct cli *c, const struct cli_line *line, char *const *keys, size_t n)
{
        const char *min = cli_value(line, "--min"), *max = cli_value(line, "--max");
        js_owned *b = json_pack("{s:s?,s:s?}", "min", min, "max", max);
        struct pd_error err;

        (void)n;
        if (!b) {
                (void)pd_fail(&err, PD_E_INVALID, "--min or --max is not UTF-8 text: write it in UTF-8");
                return refuse(c, &err);
        }
        if ((min || max || !setting_find(keys[0])) && bound_check(keys[0], b, &err) < 0)
                return refuse(c, &err);
        return patch(c, line, NULL, json_pack("{s:O}", keys[0], b));
}

static int edit(struct cli *c, const struct cli_line *line, char *const *args, size_t n)
{
        struct http_reply reply = { 0 };
        json_t *changes = NULL;
        struct pd_error err;
        char path[400];
        int code = CLI_OK, r = 0;

        (void)args;
        (void)n;
        if (!settings_path(line, NULL, path, sizeof path))
                return CLI_REFUSED;
        if (ask(c, "GET", path, NULL, &reply, &code))
                r = settings_edit(json_object_get(reply.json, "settings"), &changes, &err);
        http_reply_clear(&reply);
        if (code != CLI_OK)
                return code;
        if (r < 0)
                return refuse(c, &err);
        if (json_object_size(changes) == 0) {
                json_decref(changes);
                say(c, "nothing was changed");
                return CLI_OK;
        }
        return patch(c, line, changes, NULL);
}

static const struct {
        const char *name;
        size_t min, max;
        const char *usage;
        int (*run)(struct cli *c, const struct cli_line *line, char *const *args, size_t n);
} verbs[] = {
        { "set", 1, SIZE_MAX, "KEY=VALUE...", set },
        { "unset", 1, SIZE_MAX, "KEY...", unset },
        { "edit", 0, 0, "", edit },
        { "bound", 1, 1, "KEY [--min VALUE] [--max VALUE]", bound },
        { "lock", 1, SIZE_MAX, "KEY[=VALUE]...", lock },
        { "unlock", 1, SIZE_MAX, "KEY...", unlock },
};

static int change(struct cli *c, const struct cli_line *line)
{
        const char *names[] = { "get", "set", "unset", "edit", "bound", "lock", "unlock", NULL }, *near;
        struct pd_error err;

        for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
                size_t n = line->args_n - 1;

                if (!streq(verbs[i].name, line->args[0]))
                        continue;
                if (n >= verbs[i].min && n <= verbs[i].max)
                        return verbs[i].run(c, line, line->args + 1, n);
                (void)pd_fail(&err, PD_E_INVALID, "%s has %zu words too %s: write portal settings %s %s", verbs[i].name,
                        n < verbs[i].min ? verbs[i].min - n : n - verbs[i].max, n < verbs[i].min ? "few" : "many",
                        verbs[i].name, verbs[i].usage);
                return refuse(c, &err);
        }
        near = str_nearest(line->args[0], names);
        (void)pd_fail(&err, PD_E_INVALID, "settings \"%.40s\" is unknown: did you mean %s?", line->args[0],
                str_or(near, "get, set, unset, edit, bound, lock or unlock"));
        return refuse(c, &err);
}

int cmd_settings(struct cli *c, const struct cli_line *line)
{
        bool reads = line->args_n == 0 || streq(line->args[0], "get");
        const char *key = line->args_n > 1 ? line->args[1] : NULL, *job = cli_value(line, "--effective");
        bool bounds = cli_has(line, "--min") || cli_has(line, "--max");

        if (bounds && (reads || !streq(line->args[0], "bound"))) {
                say(c, "--min and --max belong to `portal settings bound KEY`: leave them out");
                return CLI_REFUSED;
        }
        if (!reads && job) {
                say(c,
                        "--effective shows a job's settings and changes none: leave it out, or write `portal settings "
                        "get "
                        "--effective %.80s`",
                        job);
                return CLI_REFUSED;
        }
        if (!reads)
                return change(c, line);
        if (line->args_n > 2) {
                say(c, "\"%.40s\" is one word too many: write portal settings get [KEY]", line->args[2]);
                return CLI_REFUSED;
        }
        return job ? effective(c, line, job, key) : get(c, line, key);
}
