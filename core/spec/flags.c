/* SPDX-License-Identifier: Apache-2.0 */
/* Command line flags and --env-file lines into the raw object, so that one check serves every way in. */
#include "spec/check.h"

#include <stdio.h>

#define VARIABLE_NAME_MAX 256

static const char *flag_of(const struct spec_field *f)
{
        return f->flag ? f->flag : f->name;
}

static int out_of_memory(struct pd_error *err)
{
        return pd_fail(err, PD_E_NOMEM, "no memory for a flag's value");
}

/* v is taken over. */
static int put(json_t *raw, const char *name, json_t *v, struct pd_error *err)
{
        return json_object_set_new(raw, name, v) < 0 ? out_of_memory(err) : 0;
}

/* A text from outside as JSON; it must be UTF-8. The value itself is not shown: it may be a secret of -e. */
static int text_json(const char *at, const char *text, json_t **ret, struct pd_error *err)
{
        json_t *v = json_string(text);

        if (!v)
                return pd_fail(err, PD_E_INVALID,
                        "%.80s: the value is not UTF-8 text: write it in UTF-8, or put it into a file", at);
        *ret = v;
        return 0;
}

/* The object or list that a repeated flag adds to. */
static int member(json_t *raw, const struct spec_field *f, json_t **ret, struct pd_error *err)
{
        bool list = f->type == SPEC_MOUNTS;
        json_t *m = json_object_get(raw, f->name);

        if (m && !json_is_null(m)) {
                if (list ? !json_is_array(m) : !json_is_object(m))
                        return pd_fail(err, PD_E_INVALID,
                                "%s cannot add to \"%s\", which is of another type: write it as %s", flag_of(f),
                                f->name, list ? "a list" : "an object");
                *ret = m;
                return 0;
        }
        m = list ? json_array() : json_object();
        if (json_object_set_new(raw, f->name, m) < 0)
                return out_of_memory(err);
        *ret = m;
        return 0;
}

/* NAME=VALUE into an object; `at` is the flag, or the line of a file. */
static int add_pair(json_t *object, const char *at, const char *text, struct pd_error *err)
{
        const char *equals = strchr(text, '=');
        char name[VARIABLE_NAME_MAX], shown[SHOWN_MAX];
        json_t *v = NULL;
        int r;

        if (!equals)
                return pd_fail(
                        err, PD_E_INVALID, "%.80s \"%s\" has no \"=\": write NAME=VALUE", at, check_shown(text, shown));
        if (equals == text || (size_t)(equals - text) >= sizeof name)
                return pd_fail(err, PD_E_INVALID,
                        "%.80s: there is no name of 1 to %d bytes in front of \"=\": write NAME=VALUE", at,
                        VARIABLE_NAME_MAX - 1);
        (void)str_format(name, sizeof name, "%.*s", (int)(equals - text), text);
        r = text_json(at, equals + 1, &v, err);
        if (r < 0)
                return r;
        if (json_object_set_new(object, name, v) < 0)
                return pd_fail(err, PD_E_INVALID, "%.80s: the name is not UTF-8 text: write it in UTF-8", at);
        return 0;
}

static bool whole_number(const char *text)
{
        const char *digits = text + (*text == '-');
        size_t n = strspn(digits, "0123456789");

        return n > 0 && n < 19 && digits[n] == '\0' && (digits[0] != '0' || n == 1);
}

static bool is_switch(const char *text, bool *ret)
{
        *ret = streq(text, "true") || streq(text, "on");
        return *ret || streq(text, "false") || streq(text, "off");
}

static int scalar_json(const struct spec_field *f, const char *text, json_t **ret, struct pd_error *err)
{
        bool on;

        if (f->type == SPEC_INT && whole_number(text))
                *ret = json_integer(strtoll(text, NULL, 10));
        else if (f->type == SPEC_BOOL && is_switch(text, &on))
                *ret = json_boolean(on);
        else
                return text_json(flag_of(f), text, ret, err);
        return *ret ? 0 : out_of_memory(err);
}

static int set_scalar(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err)
{
        js_owned *v = NULL;
        int r;

        r = scalar_json(f, value, &v, err);
        if (r < 0)
                return r;
        r = check_value(f, v, flag_of(f), err);
        return r < 0 ? r : put(raw, f->name, pd_steal(v), err);
}

/* --checkpoint NAME: the file's block stays when it is of that capture; another capture replaces it whole. */
static int set_capture(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err)
{
        const char *in_file = js_str(json_object_get(raw, f->name), "capture", NULL);

        return in_file && streq(in_file, value) ? 0 : set_scalar(raw, f, value, err);
}

static int add_mount(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err)
{
        js_owned *alone = json_pack("[s]", value);
        json_t *list = NULL;
        int r;

        if (!alone)
                return pd_fail(
                        err, PD_E_INVALID, "%s: the path is not UTF-8 text: mount a directory whose name is", f->flag);
        r = check_value(f, alone, f->flag, err);
        if (r < 0)
                return r;
        r = member(raw, f, &list, err);
        if (r < 0)
                return r;
        return json_array_append(list, json_array_get(alone, 0)) < 0 ? out_of_memory(err) : 0;
}

static int add_named(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err)
{
        js_owned *alone = json_object();
        json_t *object = NULL;
        int r;

        if (!alone)
                return out_of_memory(err);
        r = f->type == SPEC_SETTINGS ? setting_set(alone, value, err) : add_pair(alone, f->flag, value, err);
        if (r == 0)
                r = check_value(f, alone, f->flag, err);
        if (r == 0)
                r = member(raw, f, &object, err);
        if (r < 0)
                return r;
        return json_object_update(object, alone) < 0 ? out_of_memory(err) : 0;
}

int spec_set_flag(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err)
{
        if (f->type == SPEC_ENV || f->type == SPEC_TAGS || f->type == SPEC_SETTINGS)
                return add_named(raw, f, value, err);
        if (f->type == SPEC_MOUNTS)
                return add_mount(raw, f, value, err);
        if (f->type == SPEC_CHECKPOINT)
                return set_capture(raw, f, value, err);
        if (f->type == SPEC_ARGV)
                return pd_fail(err, PD_E_INVALID, "\"%s\" has no flag: write it behind --", f->name);
        return set_scalar(raw, f, value, err);
}

/* --- env files --- */

struct env_file {
        json_t *env;
        const char *file;
        const char *(*get)(void *arg, const char *name);
        void *arg;
};

static int take_line(const struct env_file *e, const char *line, size_t number, struct pd_error *err)
{
        char at[96];
        const char *value;
        json_t *v = NULL;
        int r;

        if (*line == '\0' || *line == '#')
                return 0;
        (void)str_format(at, sizeof at, "%.60s:%zu:", e->file, number);
        if (strchr(line, '='))
                return add_pair(e->env, at, line, err);
        if (!e->get) /* not shown: it may be the second line of a secret */
                return pd_fail(err, PD_E_INVALID, "%s the line has no \"=\": write NAME=VALUE, on one line", at);
        value = e->get(e->arg, line);
        if (!value)
                return 0;
        r = text_json(at, value, &v, err);
        if (r < 0)
                return r;
        return json_object_set_new(e->env, line, v) < 0
                       ? pd_fail(err, PD_E_INVALID, "%s the name is not UTF-8 text: write it in UTF-8", at)
                       : 0;
}

static int take_lines(const struct env_file *e, const char *text, size_t n, struct pd_error *err)
{
        const char *end = text + n, *s = text;

        for (size_t number = 1; s < end; number++) {
                const char *newline = memchr(s, '\n', (size_t)(end - s)), *stop = newline ? newline : end;
                char *line;
                int r;

                if (memchr(s, '\0', (size_t)(stop - s)))
                        return pd_fail(err, PD_E_INVALID,
                                "%.60s:%zu: the line holds a NUL byte: an environment cannot carry one, remove it",
                                e->file, number);
                line = strndup(s, (size_t)(stop - s) - (stop > s && stop[-1] == '\r'));
                if (!line)
                        return out_of_memory(err);
                r = take_line(e, line, number, err);
                free(line);
                if (r < 0)
                        return r;
                s = stop + 1;
        }
        return 0;
}

int spec_env_file_from(json_t *raw, const char *text, size_t n, const char *file,
        const char *(*get)(void *arg, const char *name), void *arg, struct pd_error *err)
{
        const struct spec_field *f = spec_field_find("env");
        js_owned *read = json_object();
        const struct env_file e = { read, file, get, arg };
        json_t *env = NULL;
        int r;

        if (!read)
                return out_of_memory(err);
        r = take_lines(&e, text, n, err);
        if (r == 0)
                r = check_value(f, read, file, err);
        if (r == 0)
                r = member(raw, f, &env, err);
        if (r < 0)
                return r;
        return json_object_update(env, read) < 0 ? out_of_memory(err) : 0;
}

int spec_env_file(json_t *raw, const char *text, size_t n, const char *file, struct pd_error *err)
{
        return spec_env_file_from(raw, text, n, file, NULL, NULL, err);
}
