/* SPDX-License-Identifier: Apache-2.0 */
#include <syslog.h>

#include "config/internal.h"

#define STRING_MAX 1024
#define NAME_MAX_OURS 48
#define LIST_MAX 64

bool value_name_good(const char *name)
{
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return n > 0 && n <= NAME_MAX_OURS && name[n] == '\0' && name[0] != '-';
}

static bool path_good(const char *path)
{
        size_t n = strlen(path);

        return path[0] == '/' && n <= STRING_MAX && !strstr(path, "/../") && !(n >= 3 && streq(path + n - 3, "/.."));
}

char *value_example(const struct schema_row *row, char *buf, size_t n)
{
        bool quoted = row->type != SCHEMA_BOOL && row->type != SCHEMA_COUNT && row->type != SCHEMA_STRINGS &&
                      row->type != SCHEMA_PATHS && row->type != SCHEMA_UIDS && row->type != SCHEMA_OPTIONS &&
                      row->type != SCHEMA_SETTINGS && row->type != SCHEMA_GROUP;
        const char *value = row->fallback ? row->fallback : str_or(row->example, "{ }");

        (void)str_format(buf, n, "%s = %s%s%s", row->key, quoted ? "\"" : "", value, quoted ? "\"" : "");
        return buf;
}

__attribute__((format(printf, 3, 4))) static int refuse(
        struct pd_error *err, const struct schema_row *row, const char *fmt, ...)
{
        char why[140], example[80];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(why, sizeof why, fmt, ap);
        va_end(ap);
        return pd_fail(err, PD_E_INVALID, "%s: write for example %s", why, value_example(row, example, sizeof example));
}

static int wrong_type(const struct schema_row *row, const json_t *v, struct pd_error *err)
{
        pd_cleanup(freep) char *text = js_dump(v);

        return refuse(err, row, "%.40s is not %s", str_or(text, "this"), schema_type_wants(row->type));
}

/* Each takes a string that is not longer than STRING_MAX. */
static int check_name(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return value_name_good(s)
                       ? 0
                       : refuse(err, row, "\"%.60s\" is no name (a-z, 0-9 and -, at most %d)", s, NAME_MAX_OURS);
}

static int check_path(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return path_good(s) ? 0 : refuse(err, row, "\"%.60s\" is no absolute path without \"..\"", s);
}

static int check_program(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return streq(s, "auto") || path_good(s)
                       ? 0
                       : refuse(err, row, "\"%.60s\" is neither \"auto\" nor an absolute path", s);
}

static int check_plugin(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return value_name_good(s) || path_good(s)
                       ? 0
                       : refuse(err, row, "\"%.60s\" is neither a plugin's name nor an absolute path", s);
}

static int check_duration(const struct schema_row *row, const char *s, struct pd_error *err)
{
        char least[QUANTITY_MAX], most[QUANTITY_MAX];
        int64_t us;
        int r = duration_parse(s, &us, err);

        if (r < 0)
                return r;
        if (us < row->min || us > row->max)
                return refuse(err, row, "\"%.40s\" lies outside %s to %s", s, duration_format(row->min, least),
                        duration_format(row->max, most));
        return 0;
}

static int check_money(const struct schema_row *row, const char *s, struct pd_error *err)
{
        struct money m;

        (void)row;
        return money_parse(s, &m, err);
}

static int check_currency(const struct schema_row *row, const char *s, struct pd_error *err)
{
        bool good = strlen(s) == 3 && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;

        return good ? 0 : refuse(err, row, "\"%.60s\" is no ISO 4217 code (three capital letters)", s);
}

static int check_timezone(const struct schema_row *row, const char *s, struct pd_error *err)
{
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/");
        bool good = n > 0 && n <= 64 && s[n] == '\0' && s[0] != '/';

        return good ? 0 : refuse(err, row, "\"%.60s\" is no time zone's name", s);
}

/* The number of s in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *s)
{
        size_t n = strlen(s);

        for (int i = 0; choices; i++) {
                const char *bar = strchr(choices, '|');
                size_t len = bar ? (size_t)(bar - choices) : strlen(choices);

                if (len == n && strncmp(choices, s, n) == 0)
                        return i;
                choices = bar ? bar + 1 : NULL;
        }
        return -1;
}

static int check_choice(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return choice_index(row->choices, s) >= 0 ? 0 : refuse(err, row, "\"%.60s\" is none of %s", s, row->choices);
}

static int check_setting(const struct schema_row *row, const char *s, struct pd_error *err)
{
        const char *equals = strchr(s, '=');

        return equals && equals > s && equals[1] ? 0 : refuse(err, row, "\"%.60s\" is not KEY=VALUE", s);
}

static int check_string(const struct schema_row *row, const char *s, struct pd_error *err)
{
        return *s ? 0 : refuse(err, row, "it is empty");
}

typedef int (*check_fn)(const struct schema_row *row, const char *s, struct pd_error *err);

/* How the one text of a type, or each text of a list, is checked. */
static const check_fn text_checks[SCHEMA_TYPE_N] = {
        [SCHEMA_STRING] = check_string,
        [SCHEMA_NAME] = check_name,
        [SCHEMA_PATH] = check_path,
        [SCHEMA_PROGRAM] = check_program,
        [SCHEMA_PLUGIN] = check_plugin,
        [SCHEMA_DURATION] = check_duration,
        [SCHEMA_MONEY] = check_money,
        [SCHEMA_CURRENCY] = check_currency,
        [SCHEMA_TIMEZONE] = check_timezone,
        [SCHEMA_CHOICE] = check_choice,
        [SCHEMA_STRINGS] = check_string,
        [SCHEMA_PATHS] = check_path,
        [SCHEMA_SETTINGS] = check_setting,
};

static int check_text(const struct schema_row *row, const json_t *v, struct pd_error *err)
{
        if (!json_is_string(v))
                return wrong_type(row, v, err);
        if (json_string_length(v) > STRING_MAX)
                return refuse(err, row, "\"%.20s...\" has %zu bytes, and %d are allowed", json_string_value(v),
                        json_string_length(v), STRING_MAX);
        return text_checks[row->type](row, json_string_value(v), err);
}

/* Digits only, as a file gives numbers that libconfig cannot hold: quoted. */
static bool count_of(const json_t *v, int64_t *ret)
{
        const char *s = json_string_value(v);
        int64_t n = 0;

        if (json_is_integer(v)) {
                *ret = (int64_t)json_integer_value(v);
                return true;
        }
        if (!s || !*s || strlen(s) > 18)
                return false;
        for (; *s; s++) {
                if (*s < '0' || *s > '9')
                        return false;
                n = n * 10 + (*s - '0');
        }
        *ret = n;
        return true;
}

static int check_count(const struct schema_row *row, const json_t *v, struct pd_error *err)
{
        int64_t n;

        if (!count_of(v, &n))
                return wrong_type(row, v, err);
        if (n < row->min || n > row->max)
                return refuse(err, row, "%lld lies outside %lld to %lld", (long long)n, (long long)row->min,
                        (long long)row->max);
        return 0;
}

static int check_list(const struct schema_row *row, const json_t *v, struct pd_error *err)
{
        size_t i;
        const json_t *item;

        if (!json_is_array(v))
                return wrong_type(row, v, err);
        if (json_array_size(v) > LIST_MAX)
                return refuse(err, row, "%zu values are too many (at most %d)", json_array_size(v), LIST_MAX);
        json_array_foreach (v, i, item) {
                int r = row->type == SCHEMA_UIDS ? check_count(row, item, err) : check_text(row, item, err);

                if (r < 0)
                        return r;
        }
        return 0;
}

int value_check(const struct schema_row *row, const json_t *v, struct pd_error *err)
{
        switch (row->type) {
        case SCHEMA_BOOL:
                return json_is_boolean(v) ? 0 : wrong_type(row, v, err);
        case SCHEMA_COUNT:
                return check_count(row, v, err);
        case SCHEMA_STRINGS:
        case SCHEMA_PATHS:
        case SCHEMA_UIDS:
        case SCHEMA_SETTINGS:
                return check_list(row, v, err);
        case SCHEMA_OPTIONS:
        case SCHEMA_GROUP:
                return json_is_object(v) ? 0 : wrong_type(row, v, err);
        case SCHEMA_STRING:
        case SCHEMA_NAME:
        case SCHEMA_PATH:
        case SCHEMA_PROGRAM:
        case SCHEMA_PLUGIN:
        case SCHEMA_DURATION:
        case SCHEMA_MONEY:
        case SCHEMA_CURRENCY:
        case SCHEMA_TIMEZONE:
        case SCHEMA_CHOICE:
                return check_text(row, v, err);
        case SCHEMA_TYPE_N:
                break;
        }
        return pd_fail(err, PD_E_INTERNAL, "%s has a type that is not known", row->key);
}

json_t *value_fallback(const struct schema_row *row)
{
        int64_t n;

        if (!row->fallback)
                return NULL;
        if (row->type == SCHEMA_BOOL)
                return json_boolean(streq(row->fallback, "true"));
        if (row->type == SCHEMA_COUNT) {
                js_owned *text = json_string(row->fallback);

                return count_of(text, &n) ? json_integer((json_int_t)n) : NULL;
        }
        return json_string(row->fallback);
}

static bool store_strings(const json_t *v, struct config_strings *ret, struct arena *a)
{
        size_t n = json_array_size(v);

        ret->at = config_arena_take(a, (n + 1) * sizeof *ret->at);
        for (; ret->at && ret->n < n; ret->n++)
                ret->at[ret->n] = json_string_value(json_array_get(v, ret->n));
        return ret->at;
}

static bool store_uids(const json_t *v, struct config_uids *ret, struct arena *a)
{
        size_t n = json_array_size(v);
        int64_t uid = 0;

        ret->at = config_arena_take(a, n * sizeof *ret->at);
        for (; ret->at && ret->n < n; ret->n++) {
                (void)count_of(json_array_get(v, ret->n), &uid);
                ret->at[ret->n] = (uint32_t)uid;
        }
        return ret->at;
}

static const int log_levels[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* log_level keeps syslog's number, every other choice its place in the row. */
static int choice_value(const struct schema_row *row, const char *s)
{
        int i = choice_index(row->choices, s);

        return i >= 0 && streq(row->key, "log_level") ? log_levels[i] : i;
}

bool value_store(const struct schema_row *row, const json_t *v, void *block, struct arena *a)
{
        void *member = (char *)block + row->offset;
        const char *s = json_string_value(v);
        int64_t n = 0;

        switch (row->type) {
        case SCHEMA_STRING:
        case SCHEMA_NAME:
        case SCHEMA_PATH:
        case SCHEMA_PLUGIN:
        case SCHEMA_TIMEZONE:
                *(const char **)member = s;
                return true;
        case SCHEMA_PROGRAM:
                *(const char **)member = streq(s, "auto") ? NULL : s;
                return true;
        case SCHEMA_BOOL:
                *(bool *)member = json_is_true(v);
                return true;
        case SCHEMA_COUNT:
                (void)count_of(v, &n);
                *(uint32_t *)member = (uint32_t)n;
                return true;
        case SCHEMA_DURATION:
                return duration_parse(s, member, NULL) == 0;
        case SCHEMA_MONEY:
                return money_parse(s, member, NULL) == 0;
        case SCHEMA_CURRENCY:
                memcpy(member, s, 4);
                return true;
        case SCHEMA_CHOICE:
                *(int *)member = choice_value(row, s);
                return true;
        case SCHEMA_STRINGS:
        case SCHEMA_PATHS:
                return store_strings(v, member, a);
        case SCHEMA_UIDS:
                return store_uids(v, member, a);
        case SCHEMA_OPTIONS:
        case SCHEMA_SETTINGS:
        case SCHEMA_GROUP:
        case SCHEMA_TYPE_N:
                break;
        }
        return false;
}
