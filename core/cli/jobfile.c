/* SPDX-License-Identifier: Apache-2.0 */
/* From portal.yaml, --env-file and flags to what is submitted: checked here as the daemon will check it, so that a bad line never leaves. */
#include "cli/jobfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 1048576

int file_read(const char *path, const char *what, char **ret, size_t *ret_n, struct pd_error *err)
{
        pd_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        pd_cleanup(freep) char *text = malloc(FILE_MAX + 1);
        size_t n = 0;
        ssize_t r;

        if (fd < 0)
                return pd_fail(err, PD_E_INVALID,
                        "%s %.120s cannot be read (%s): name a file that is there and readable", what, path,
                        strerror(errno));
        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for %s %.120s", what, path);
        while ((r = read(fd, text + n, FILE_MAX + 1 - n)) > 0)
                n += (size_t)r;
        if (r < 0)
                return pd_fail(err, PD_E_INVALID, "%s %.120s cannot be read (%s): name a text file", what, path,
                        strerror(errno));
        if (n > FILE_MAX)
                return pd_fail(err, PD_E_INVALID,
                        "%s %.120s is larger than %d KiB: it describes a job; put data into the image or a mount", what,
                        path, FILE_MAX / 1024);
        *ret = pd_steal(text);
        *ret_n = n;
        return 0;
}

static const char *from_environment(void *arg, const char *name)
{
        (void)arg;
        return getenv(name);
}

static int read_yaml(
        struct cli *c, const struct cli_line *line, json_t **ret_raw, json_t **ret_places, struct pd_error *err)
{
        const char *path = cli_value(line, "--file");
        pd_cleanup(freep) char *text = NULL;
        size_t n = 0;
        int r;

        if (!path && access(CLI_FILE, F_OK) == 0) {
                path = CLI_FILE;
                if (!c->quiet)
                        say(c, "using ./" CLI_FILE);
        }
        if (!path) {
                *ret_raw = json_object();
                return *ret_raw ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the job");
        }
        r = file_read(path, "--file", &text, &n, err);
        return r < 0 ? r : spec_from_yaml_places(text, n, path, ret_raw, ret_places, err);
}

static int env_file(json_t *raw, const char *path, struct pd_error *err)
{
        pd_cleanup(freep) char *text = NULL;
        size_t n = 0;
        int r = file_read(path, "--env-file", &text, &n, err);

        return r < 0 ? r : spec_env_file_from(raw, text, n, path, from_environment, NULL, err);
}

/* --set and the settings with a flag of their own go to the layer of flags; everything else into the job. In the line's order. */
static int take_flags(const struct cli_line *line, json_t *raw, json_t *layer, struct pd_error *err)
{
        struct pd_error why;
        int r = 0;

        for (size_t i = 0; i < line->given_n && r == 0; i++) {
                const struct cli_given *g = &line->given[i];

                if (g->field && g->field->type == SPEC_SETTINGS) {
                        if (setting_set(layer, g->value, &why) < 0)
                                r = pd_fail(err, PD_E_INVALID, "%s %.215s",
                                        str_starts(why.text, g->field->flag) ? "" : g->field->flag, why.text);
                } else if (g->setting) {
                        r = setting_check(g->setting->key, g->value, &why);
                        if (r < 0)
                                r = pd_fail(err, PD_E_INVALID, "%s %.215s", g->setting->flag, why.text);
                        else if (json_object_set_new(layer, g->setting->key, json_string(g->value)) < 0)
                                r = pd_fail(err, PD_E_NOMEM, "no memory for the flags");
                } else if (g->field) {
                        r = spec_set_flag(raw, g->field, g->value, err);
                } else if (g->flag && streq(g->flag->name, "--env-file")) {
                        r = env_file(raw, g->value, err);
                }
        }
        return r;
}

static int take_command(const struct cli_line *line, json_t *raw, struct pd_error *err)
{
        json_t *command;

        if (line->args_n == 0) {
                if (json_object_get(raw, "command"))
                        return 0;
                return pd_fail(err, PD_E_INVALID,
                        "CMD is missing: write it behind --, as `portal run -- python3 train.py`, or as `command:` "
                        "in " CLI_FILE);
        }
        command = json_array();
        for (size_t i = 0; i < line->args_n; i++)
                if (json_array_append_new(command, json_string(line->args[i])) < 0) {
                        json_decref(command);
                        return pd_fail(err, PD_E_INVALID,
                                "CMD: argument %zu is not UTF-8 text: pass such bytes in a file", i + 1);
                }
        return json_object_set_new(raw, "command", command) < 0 ? pd_fail(err, PD_E_NOMEM, "no memory for the command")
                                                                : 0;
}

/* The canonical spec, with what it says of settings taken out into a layer of its own. */
static int canonical(const json_t *raw, const json_t *places, json_t *flag_layer, json_t **ret, json_t **ret_faults,
        struct pd_error *err)
{
        pd_cleanup(spec_freep) struct spec *spec = NULL;
        js_owned *json = NULL, *file_layer = NULL;
        int r = spec_check(raw, &spec, ret_faults, err);

        if (r < 0) {
                if (*ret_faults && places)
                        (void)spec_place_faults(*ret_faults, places, NULL);
                return r;
        }
        json = spec_to_json(spec);
        if (!json)
                return pd_fail(err, PD_E_NOMEM, "no memory for the job");
        file_layer = json_incref(json_object_get(json, "settings"));
        (void)json_object_del(json, "settings");
        *ret = json_pack("{s:O,s:{s:o,s:O}}", "spec", json, "settings", "file",
                file_layer ? json_incref(file_layer) : json_object(), "flag", flag_layer);
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the job");
}

int jobfile_read(
        struct cli *c, const struct cli_line *line, json_t **ret_body, json_t **ret_faults, struct pd_error *err)
{
        js_owned *raw = NULL, *places = NULL, *layer = json_object();
        int r = layer ? read_yaml(c, line, &raw, &places, err) : pd_fail(err, PD_E_NOMEM, "no memory for the job");

        if (r == 0)
                r = take_flags(line, raw, layer, err);
        if (r == 0)
                r = take_command(line, raw, err);
        if (r == 0)
                r = canonical(raw, places, layer, ret_body, ret_faults, err);
        return r;
}
