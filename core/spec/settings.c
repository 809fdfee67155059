/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from text to values, and which of five places each came from (P-23). */
#include "spec/check.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const level_names[] = {
        [SETTING_BUILT_IN] = "built-in",
        [SETTING_SITE] = "site config",
        [SETTING_LIVE] = "settings",
        [SETTING_FILE] = "portal.yaml",
        [SETTING_FLAG] = "flag",
};
static_assert(ARRAY_LEN(level_names) == SETTING_LEVEL_N, "a name each");

const char *setting_level_name(enum setting_level level)
{
        return level < SETTING_LEVEL_N ? level_names[level] : "?";
}

#define MEMBER(type_) (*(type_ *)(void *)((char *)s + row->offset))

static char *format_bound(const struct setting_row *row, int64_t bound, char *buf)
{
        if (row->type == SPEC_DURATION)
                return duration_format(bound, buf);
        (void)snprintf(buf, QUANTITY_MAX, "%" PRId64 ".%02" PRId64 "%%", bound / 100, bound % 100);
        return buf;
}

static int check_bounds(const struct setting_row *row, int64_t value, const char *text, struct pd_error *err)
{
        char low[QUANTITY_MAX], high[QUANTITY_MAX], shown[SHOWN_MAX];

        if ((row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max))
                return 0;
        if (row->type == SPEC_MONEY)
                return pd_fail(err, PD_E_INVALID,
                        "\"%s\" is nothing to spend: write more than 0, for example 20usd, or off for no limit",
                        check_shown(text, shown));
        return pd_fail(err, PD_E_INVALID, "\"%s\" is %s: write a value from %s to %s%s", check_shown(text, shown),
                value < row->min ? "too small" : "too large", format_bound(row, row->min, low),
                format_bound(row, row->max, high), row->may_be_off ? ", or off" : "");
}

static int set_duration(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        int64_t us;
        int r = duration_parse(text, &us, err);

        if (r == 0)
                r = check_bounds(row, us, text, err);
        if (r == 0)
                MEMBER(int64_t) = us;
        return r;
}

static int set_money(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        struct money m;
        int r = money_parse(text, &m, err);

        if (r == 0)
                r = check_bounds(row, m.nano, text, err);
        if (r == 0)
                MEMBER(struct money) = m;
        return r;
}

static int set_percent(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        int32_t hundredths;
        int r = percent_parse(text, &hundredths, err);

        if (r == 0)
                r = check_bounds(row, hundredths, text, err);
        if (r == 0)
                MEMBER(int32_t) = hundredths;
        return r;
}

static int set_switch(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        bool on = streq(text, "on") || streq(text, "true");
        char shown[SHOWN_MAX];

        if (!on && !streq(text, "off") && !streq(text, "false"))
                return pd_fail(
                        err, PD_E_INVALID, "\"%s\" is neither on nor off: write on or off", check_shown(text, shown));
        MEMBER(bool) = on;
        return 0;
}

static int set_choice(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        size_t first = strcspn(row->choices, "|");
        char shown[SHOWN_MAX];
        bool second = streq(text, row->choices + first + 1);

        if (!second && (strlen(text) != first || strncmp(text, row->choices, first) != 0))
                return pd_fail(err, PD_E_INVALID, "\"%s\" is none of the choices: write %.*s or %s",
                        check_shown(text, shown), (int)first, row->choices, row->choices + first + 1);
        MEMBER(bool) = second;
        return 0;
}

static void set_off(const struct setting_row *row, struct settings *s)
{
        if (row->type == SPEC_MONEY)
                MEMBER(struct money) = (struct money){ 0 };
        else
                MEMBER(int64_t) = SETTING_OFF;
}

static int set_row(const struct setting_row *row, const char *text, struct settings *s, struct pd_error *err)
{
        if (streq(text, "off") && row->may_be_off) {
                set_off(row, s);
                return 0;
        }
        if (streq(text, "off") && row->type != SPEC_BOOL)
                return pd_fail(err, PD_E_INVALID,
                        "\"off\" is not possible here, this cannot be turned off: write a value, for example %s",
                        row->fallback);
        if (row->type == SPEC_DURATION)
                return set_duration(row, text, s, err);
        if (row->type == SPEC_MONEY)
                return set_money(row, text, s, err);
        if (row->type == SPEC_PERCENT)
                return set_percent(row, text, s, err);
        if (row->type == SPEC_CHOICE)
                return set_choice(row, text, s, err);
        return set_switch(row, text, s, err);
}

static int unknown_key(const char *key, struct pd_error *err)
{
        char shown[SHOWN_MAX];
        const char *near = setting_nearest(key);

        (void)check_shown(key, shown);
        if (near)
                return pd_fail(err, PD_E_INVALID, "\"%s\" is no setting: write \"%s\", if that is what was meant",
                        shown, near);
        return pd_fail(
                err, PD_E_INVALID, "\"%s\" is no setting: the settings are in the manual, portal.yaml(5)", shown);
}

/* One value into *s; err's subject is the key. */
int settings_take_key(const char *key, const char *text, struct settings *s, struct pd_error *err)
{
        const struct setting_row *row = setting_find(key);
        int r = row ? set_row(row, text, s, err) : unknown_key(key, err);

        return r < 0 ? (err ? pd_fail_subject(err, key) : r) : 0;
}

int setting_check(const char *key, const char *value, struct pd_error *err)
{
        struct settings unused = { 0 };

        return settings_take_key(key, value, &unused, err);
}

int setting_set(json_t *layer, const char *key_value, struct pd_error *err)
{
        const char *equals = strchr(key_value, '=');
        char shown[SHOWN_MAX], key[64];
        struct pd_error e;
        int r;

        if (!equals || equals == key_value || (size_t)(equals - key_value) >= sizeof key)
                return pd_fail(err, PD_E_INVALID,
                        "--set \"%s\" is not KEY=VALUE: write for example --set idle.after=1h",
                        check_shown(key_value, shown));
        (void)str_format(key, sizeof key, "%.*s", (int)(equals - key_value), key_value);
        r = setting_check(key, equals + 1, &e);
        if (r < 0)
                return pd_fail(err, e.code, "--set %s: %s", key, e.text);
        if (json_object_set_new(layer, key, json_string(equals + 1)) < 0)
                return pd_fail(err, PD_E_INVALID, "--set %s: the value is not UTF-8 text: write it in UTF-8", key);
        return 0;
}

/* JSON's own true and false are what YAML and JSON writers mean by on and off. */
static const char *setting_text(const json_t *v)
{
        return json_is_boolean(v) ? (json_is_true(v) ? "on" : "off") : json_string_value(v);
}

static int note_origin(json_t *origins, const char *key, const char *text, const char *origin)
{
        if (!origins)
                return 0;
        return json_object_set_new(origins, key, json_pack("{s:s,s:s}", "value", text, "origin", origin));
}

int settings_take_layer(const json_t *layer, const char *origin, const json_t *bounds, struct settings *s,
        json_t *origins, struct pd_error *err)
{
        struct pd_error e;
        const char *key, *text;
        json_t *v;
        int r;

        json_object_foreach ((json_t *)(uintptr_t)layer, key, v) {
                if (js_bool(json_object_get(bounds, key), "lock", false))
                        continue;
                text = setting_text(v);
                if (!text)
                        return pd_fail(
                                err, PD_E_INVALID, "%s: %.40s must be a text: write the value in quotes", origin, key);
                r = settings_take_key(key, text, s, &e);
                if (r < 0) {
                        (void)pd_fail(err, e.code, "%s: %.40s: %s", origin, key, e.text);
                        return err ? pd_fail_subject(err, key) : r;
                }
                if (note_origin(origins, key, text, origin) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for the origin of %.40s", key);
        }
        return 0;
}

int settings_take_built_in(struct settings *s, json_t *origins, struct pd_error *err)
{
        for (size_t i = 0; i < setting_rows_n; i++) {
                int r = set_row(&setting_rows[i], setting_rows[i].fallback, s, err);

                if (r < 0)
                        return r;
                if (note_origin(origins, setting_rows[i].key, setting_rows[i].fallback, level_names[0]) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for the origin of %s", setting_rows[i].key);
        }
        return 0;
}

/* Rules on several keys, which no single value can break. */
static int check_together(const struct settings *s, struct pd_error *err)
{
        char renew[QUANTITY_MAX], horizon[QUANTITY_MAX];

        if (s->lease_renew_us < s->lease_horizon_us)
                return 0;
        (void)pd_fail(err, PD_E_INVALID,
                "lease.renew is %s and lease.horizon %s, so the hard stop would come before its renewal: set "
                "lease.renew well below lease.horizon",
                duration_format(s->lease_renew_us, renew), duration_format(s->lease_horizon_us, horizon));
        return err ? pd_fail_subject(err, "lease.renew") : -(int)PD_E_INVALID;
}

int settings_resolve(
        const json_t *const layers[SETTING_LEVEL_N], struct settings *ret, json_t **ret_origins, struct pd_error *err)
{
        js_owned *origins = ret_origins ? json_object() : NULL;
        struct settings s = { 0 };
        int r;

        if (ret_origins && !origins)
                return pd_fail(err, PD_E_NOMEM, "no memory for the origins of settings");
        r = settings_take_built_in(&s, origins, err);
        for (int level = SETTING_SITE; r == 0 && level < SETTING_LEVEL_N; level++)
                r = settings_take_layer(layers[level], level_names[level], NULL, &s, origins, err);
        if (r == 0)
                r = check_together(&s, err);
        if (r < 0)
                return r;
        *ret = s;
        if (ret_origins)
                *ret_origins = pd_steal(origins);
        return 0;
}
