/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

/* --- faults --- */

void check_json(struct check *c, bool stored)
{
        if (!stored)
                c->no_memory = true;
}

static void record(struct check *c, const char *at, const char *text, const char *fix)
{
        if (c->n++ == 0) {
                (void)pd_fail(c->err, PD_E_INVALID, "%s: %s: %s", at, text, fix);
                (void)pd_fail_subject(c->err, at);
        }
        if (c->faults && c->n <= FAULTS_MAX)
                check_json(c, json_array_append_new(
                                      c->faults, json_pack("{s:s,s:s,s:s}", "at", at, "text", text, "fix", fix)) == 0);
}

void check_fault(struct check *c, const char *at, const char *fix, const char *fmt, ...)
{
        char text[200];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        record(c, at, text, fix);
}

void check_fault_error(struct check *c, const char *at, const struct pd_error *e)
{
        char text[sizeof e->text];
        char *fix = NULL;

        (void)str_format(text, sizeof text, "%s", e->text);
        for (char *s = text; (s = strstr(s, ": ")); s++)
                fix = s; /* the last one: a value in the sentence may hold one too */
        if (fix)
                *fix = '\0';
        record(c, at, text, fix ? fix + 2 : "see the manual, portal.yaml(5)");
}

const char *check_shown(const char *text, char *buf)
{
        size_t i;

        for (i = 0; text[i] && i < SHOWN_MAX - 4; i++)
                buf[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
        memcpy(buf + i, text[i] ? "..." : "", text[i] ? 4 : 1);
        return buf;
}

static const char *describe(const json_t *v, char *buf, size_t n)
{
        char shown[SHOWN_MAX];

        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return "is an object";
        case JSON_ARRAY:
                return "is a list";
        case JSON_STRING:
                (void)str_format(buf, n, "is the text \"%s\"", check_shown(json_string_value(v), shown));
                return buf;
        case JSON_INTEGER:
                (void)str_format(buf, n, "is the number %" JSON_INTEGER_FORMAT, json_integer_value(v));
                return buf;
        case JSON_REAL:
                return "is a number with a point or an exponent";
        case JSON_TRUE:
                return "is true";
        case JSON_FALSE:
                return "is false";
        case JSON_NULL:
                return "is null";
        }
        return "is of an unknown type";
}

void check_fault_type(struct check *c, const char *at, const json_t *v, const char *want, const char *fix)
{
        char buf[96];

        check_fault(c, at, fix, "%s and must be %s", describe(v, buf, sizeof buf), want);
}

const char *check_at(char *buf, const char *at, const char *key)
{
        char shown[SHOWN_MAX];

        (void)str_format(buf, AT_MAX, "%.60s.%s", at, check_shown(key, shown));
        return buf;
}

const char *check_at_index(char *buf, const char *at, size_t i)
{
        (void)str_format(buf, AT_MAX, "%.60s[%zu]", at, i);
        return buf;
}

void check_keep(struct check *c, char **member, const char *text)
{
        free(*member);
        *member = strdup(text);
        check_json(c, *member != NULL);
}

/* --- fields of one value --- */

static char *format_bound(enum spec_type type, int64_t bound, char *buf)
{
        if (type == SPEC_SIZE)
                return size_exact((uint64_t)bound, buf);
        if (type == SPEC_CPU)
                return cpu_format((int32_t)bound, buf);
        (void)snprintf(buf, QUANTITY_MAX, "%" PRId64, bound);
        return buf;
}

static bool in_bounds(struct check *c, const struct spec_field *f, int64_t value, const char *shown)
{
        char low[QUANTITY_MAX], high[QUANTITY_MAX], fix[2 * QUANTITY_MAX + 32];

        if ((f->min == 0 && f->max == 0) || (value >= f->min && value <= f->max))
                return true;
        (void)str_format(fix, sizeof fix, "write a value from %s to %s", format_bound(f->type, f->min, low),
                format_bound(f->type, f->max, high));
        if (value < f->min)
                check_fault(c, f->name, fix, "\"%s\" is below the least, %s", shown, low);
        else
                check_fault(c, f->name, fix, "\"%s\" is above the most, %s", shown, high);
        return false;
}

static void take_bool(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        if (!json_is_boolean(v))
                check_fault_type(c, f->name, v, "true or false", "write true or false, without quotes");
        else
                *check_member(s, f, bool) = json_is_true(v);
}

static void take_int(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        char shown[QUANTITY_MAX];
        int64_t n = (int64_t)json_integer_value(v);

        if (!json_is_integer(v)) {
                check_fault_type(
                        c, f->name, v, "a whole number", "write its digits alone, without quotes, for example 1");
                return;
        }
        (void)snprintf(shown, sizeof shown, "%" PRId64, n);
        if (!in_bounds(c, f, n, shown))
                return;
        if (f->offset == offsetof(struct spec, gpus) && n > 8 && n < 16) {
                check_fault(c, f->name, "write 1 to 8 for one machine, or 16 for two",
                        "\"%s\" is no number of GPUs that one job can have", shown);
                return;
        }
        *check_member(s, f, int32_t) = (int32_t)n;
}

static void take_cpu(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        char digits[24], shown[SHOWN_MAX];
        const char *text = json_string_value(v);
        struct pd_error e;
        int32_t milli;

        if (json_is_integer(v)) {
                (void)snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
                text = digits;
        }
        if (!text)
                check_fault_type(
                        c, f->name, v, "a number of cores", "write a whole number, or a text like \"0.5\" or \"500m\"");
        else if (cpu_parse(text, &milli, &e) < 0)
                check_fault_error(c, f->name, &e);
        else if (in_bounds(c, f, milli, check_shown(text, shown)))
                *check_member(s, f, int32_t) = milli;
}

static void take_size(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        char shown[SHOWN_MAX];
        struct pd_error e;
        uint64_t bytes;

        if (!json_is_string(v))
                check_fault_type(c, f->name, v, "a text with a unit",
                        "write a number and its unit in quotes, for example \"16GiB\"");
        else if (size_parse(json_string_value(v), &bytes, &e) < 0)
                check_fault_error(c, f->name, &e);
        else if (in_bounds(c, f, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes,
                         check_shown(json_string_value(v), shown)))
                *check_member(s, f, uint64_t) = bytes;
}

const check_take check_takers[SPEC_TYPE_N] = {
        [SPEC_NAME] = take_name,
        [SPEC_BOOL] = take_bool,
        [SPEC_INT] = take_int,
        [SPEC_SIZE] = take_size,
        [SPEC_CPU] = take_cpu,
        [SPEC_ARGV] = take_argv,
        [SPEC_ENV] = take_env,
        [SPEC_TAGS] = take_tags,
        [SPEC_MOUNTS] = take_mounts,
        [SPEC_CHECKPOINT] = take_checkpoint,
        [SPEC_SETTINGS] = take_settings,
        [SPEC_OFFER] = take_offer,
        [SPEC_IMAGE] = take_image,
        [SPEC_PATH] = take_path,
};

/* --- the whole --- */

static void refuse_unknown(struct check *c, const char *key)
{
        char shown[SHOWN_MAX], fix[160];
        const char *near = spec_field_nearest(key);

        (void)check_shown(key, shown);
        if (setting_find(key))
                (void)str_format(fix, sizeof fix, "\"%s\" is a policy setting: write it under \"settings\"", shown);
        else if (near)
                (void)str_format(fix, sizeof fix, "write \"%s\", if that is what was meant", near);
        else
                (void)str_format(fix, sizeof fix, "remove it; the fields are in the manual, portal.yaml(5)");
        check_fault(c, *shown ? shown : "\"\"", fix, "\"%s\" is no field of a job", shown);
}

/* The defaults are values like any other: taken by the same takers, so a bad one in the table shows in every test. */
static void take_defaults(struct check *c, struct spec *s)
{
        for (size_t i = 0; i < spec_fields_n; i++) {
                const struct spec_field *f = &spec_fields[i];
                js_owned *v = NULL;

                if (!f->fallback)
                        continue;
                if (f->type == SPEC_BOOL)
                        v = json_boolean(streq(f->fallback, "true"));
                else if (f->type == SPEC_INT)
                        v = json_integer(strtoll(f->fallback, NULL, 10));
                else
                        v = json_string(f->fallback);
                check_json(c, v != NULL);
                if (v)
                        check_takers[f->type](c, f, v, s);
        }
}

static void take_fields(struct check *c, const json_t *raw, struct spec *s)
{
        const char *key;
        json_t *v;

        for (size_t i = 0; i < spec_fields_n; i++) {
                v = json_object_get(raw, spec_fields[i].name);
                if (v && !json_is_null(v))
                        check_takers[spec_fields[i].type](c, &spec_fields[i], v, s);
        }
        json_object_foreach ((json_t *)(uintptr_t)raw, key, v)
                if (!spec_field_find(key))
                        refuse_unknown(c, key);
        v = json_object_get(raw, "command");
        if (!v || json_is_null(v))
                check_fault(c, "command",
                        "write what to run, for example [\"python3\", \"train.py\"], or after -- on the command line",
                        "there is none, and a job needs one");
}

static bool fill_empty(json_t **member, json_t *(*make)(void))
{
        if (!*member)
                *member = make();
        return *member != NULL;
}

static int spec_new(struct check *c, struct spec **ret)
{
        struct spec *s = calloc(1, sizeof *s);

        if (!s)
                return pd_fail(c->err, PD_E_NOMEM, "no memory for a job's spec");
        take_defaults(c, s);
        check_json(c, fill_empty(&s->env, json_object) && fill_empty(&s->tags, json_object) &&
                              fill_empty(&s->mounts, json_array) && fill_empty(&s->settings, json_object) &&
                              fill_empty(&s->capture_settings, json_object));
        *ret = s;
        return 0;
}

static int verdict(const struct check *c)
{
        if (c->no_memory)
                return pd_fail(c->err, PD_E_NOMEM, "no memory to check a job's spec");
        return c->n ? -(int)PD_E_INVALID : 0;
}

int spec_check(const json_t *raw, struct spec **ret, json_t **ret_faults, struct pd_error *err)
{
        js_owned *faults = ret_faults ? json_array() : NULL;
        struct check c = { .faults = faults, .no_memory = ret_faults && !faults, .err = err };
        pd_cleanup(spec_freep) struct spec *s = NULL;
        int r;

        r = spec_new(&c, &s);
        if (r < 0)
                return r;
        if (json_is_object(raw))
                take_fields(&c, raw, s);
        else
                check_fault(&c, "spec", "write an object, for example {\"command\": [\"true\"]}", "it is no object");
        r = verdict(&c);
        if (ret_faults && r != -PD_E_NOMEM)
                *ret_faults = pd_steal(faults);
        if (r < 0)
                return r;
        *ret = pd_steal(s);
        return 0;
}

int check_value(const struct spec_field *f, const json_t *v, const char *at, struct pd_error *err)
{
        struct spec_field row = *f;
        struct check c = { .err = err };
        pd_cleanup(spec_freep) struct spec *s = NULL;
        int r;

        r = spec_new(&c, &s);
        if (r < 0)
                return r;
        row.name = at;
        check_takers[f->type](&c, &row, v, s);
        return verdict(&c);
}
