/* SPDX-License-Identifier: Apache-2.0 */
/* What administrators allow of each setting (P-23): bounds refuse what is outside when it is set or submitted; what was said before is confined. */
#include "spec/check.h"

#include <inttypes.h>

/* A value in its type's own unit, so that two can be compared. */
struct amount {
        int64_t n; /* INT64_MAX = off, which is no limit */
        const char *currency;
        struct money money; /* what currency points into */
};

static bool has_amount(const struct setting_row *row)
{
        return row->type == SPEC_DURATION || row->type == SPEC_MONEY || row->type == SPEC_PERCENT;
}

static int amount_of(const struct setting_row *row, const char *text, struct amount *ret, struct pd_error *err)
{
        struct settings s = { 0 };
        const void *member = (const char *)&s + row->offset;
        int r = settings_take_key(row->key, text, &s, err);

        if (r < 0)
                return r;
        *ret = (struct amount){ .currency = "" };
        if (row->type == SPEC_DURATION)
                memcpy(&ret->n, member, sizeof ret->n);
        else if (row->type == SPEC_MONEY) {
                memcpy(&ret->money, member, sizeof ret->money);
                ret->n = ret->money.nano;
                ret->currency = ret->money.currency;
        } else {
                int32_t hundredths;

                memcpy(&hundredths, member, sizeof hundredths);
                ret->n = hundredths;
        }
        if (streq(text, "off"))
                ret->n = INT64_MAX;
        return 0;
}

enum side { SIDE_INSIDE, SIDE_BELOW, SIDE_ABOVE, SIDE_OTHER_CURRENCY };

/* text is a good value of the row. Money of another currency than the bound's cannot be compared, so it is not inside. */
static enum side side_of(const struct setting_row *row, const json_t *bound, const char *text)
{
        const char *min = js_str(bound, "min", NULL), *max = js_str(bound, "max", NULL);
        struct amount v, b;

        if (!has_amount(row) || amount_of(row, text, &v, NULL) < 0)
                return SIDE_INSIDE;
        for (int i = 0; i < 2; i++) {
                const char *limit = i ? max : min;

                if (!limit || amount_of(row, limit, &b, NULL) < 0)
                        continue;
                if (v.n != INT64_MAX && b.n != INT64_MAX && !streq(v.currency, b.currency))
                        return SIDE_OTHER_CURRENCY;
                if (i ? v.n > b.n : v.n < b.n)
                        return i ? SIDE_ABOVE : SIDE_BELOW;
        }
        return SIDE_INSIDE;
}

static int unknown(const char *key, struct pd_error *err)
{
        struct settings unused;

        return settings_take_key(key, "", &unused, err); /* its sentence has the nearest name */
}

static int check_limit(const struct setting_row *row, const json_t *limit, const char *which, struct pd_error *err)
{
        const char *text = json_string_value(limit);
        struct pd_error why;
        struct amount unused;

        if (!limit || json_is_null(limit))
                return 0;
        if (!text)
                return pd_fail(
                        err, PD_E_INVALID, "%s: %s must be a text, for example \"%s\"", row->key, which, row->fallback);
        if (amount_of(row, text, &unused, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "%s: %s: %s", row->key, which, why.text);
        return 0;
}

int bound_check(const char *key, const json_t *bound, struct pd_error *err)
{
        const struct setting_row *row = setting_find(key);
        const char *min = js_str(bound, "min", NULL), *max = js_str(bound, "max", NULL);
        int r;

        if (!row)
                return unknown(key, err);
        if ((min || max) && !has_amount(row))
                return pd_fail(err, PD_E_INVALID,
                        "%s is no amount, so it has no bounds: write `portal settings lock %s=VALUE` to hold one value",
                        key, key);
        r = check_limit(row, json_object_get(bound, "min"), "min", err);
        if (r == 0)
                r = check_limit(row, json_object_get(bound, "max"), "max", err);
        if (r < 0)
                return r;
        if (!min && !max && !js_bool(bound, "lock", false))
                return pd_fail(err, PD_E_INVALID, "%s: a bound has a min, a max, or both", key);
        if (min && max && side_of(row, bound, min) != SIDE_INSIDE)
                return pd_fail(err, PD_E_INVALID,
                        "%s: min %.40s is above max %.40s, or of another currency: write a min up to the max", key, min,
                        max);
        return 0;
}

static int outside(const char *key, const char *value, const json_t *bound, enum side side, struct pd_error *err)
{
        const char *min = js_str(bound, "min", NULL), *max = js_str(bound, "max", NULL);
        char shown[SHOWN_MAX];

        (void)pd_fail(err, PD_E_REFUSED, "%s: \"%s\" is %s the bound that %.32s set: write a value %s%s%s%s%s", key,
                check_shown(value, shown),
                side == SIDE_BELOW   ? "below"
                : side == SIDE_ABOVE ? "above"
                                     : "of another currency than",
                js_str(bound, "by", "an administrator"), min ? "from " : "", str_or(min, ""), min && max ? " " : "",
                max ? "up to " : "", str_or(max, ""));
        return err ? pd_fail_subject(err, key) : -(int)PD_E_REFUSED;
}

int bound_admit(const json_t *bounds, const char *key, const char *value, bool lockable, struct pd_error *err)
{
        const struct setting_row *row = setting_find(key);
        const json_t *bound = json_object_get(bounds, key);
        enum side side = row && bound ? side_of(row, bound, value) : SIDE_INSIDE;

        if (lockable && js_bool(bound, "lock", false)) {
                (void)pd_fail(err, PD_E_REFUSED,
                        "%s is locked by %.32s for everybody: leave it out; `portal settings get %s` shows its value",
                        key, js_str(bound, "by", "an administrator"), key);
                return err ? pd_fail_subject(err, key) : -(int)PD_E_REFUSED;
        }
        return side == SIDE_INSIDE ? 0 : outside(key, value, bound, side, err);
}

int bound_admit_layer(const json_t *bounds, const json_t *layer, const char *where, struct pd_error *err)
{
        struct pd_error why;
        const char *key;
        json_t *v;

        json_object_foreach ((json_t *)(uintptr_t)layer, key, v) {
                const char *text = json_is_boolean(v) ? (json_is_true(v) ? "on" : "off") : json_string_value(v);

                if (text && bound_admit(bounds, key, text, true, &why) < 0) {
                        (void)pd_fail(err, why.code, "%s: %s", where, why.text);
                        return err ? pd_fail_subject(err, key) : -(int)why.code;
                }
        }
        return 0;
}

/* --- what counts --- */
static void note(json_t *origins, const char *key, const char *value, const char *origin)
{
        json_t *o = json_object_get(origins, key);

        if (value)
                (void)json_object_set_new(o, "value", json_string(value));
        (void)json_object_set_new(o, "origin", json_string(origin));
}

/* What is in *s of this key is put inside of its bound. */
static int confine_key(const char *key, const json_t *bound, struct settings *s, json_t *origins, struct pd_error *err)
{
        const char *by = js_str(bound, "by", "an administrator");
        const char *value = js_str(json_object_get(origins, key), "value", "");
        const struct setting_row *row = setting_find(key);
        enum side side = row ? side_of(row, bound, value) : SIDE_INSIDE;
        const char *limit = js_str(bound, side == SIDE_BELOW ? "min" : "max", js_str(bound, "min", NULL));
        char origin[160];
        int r;

        if (side != SIDE_INSIDE && limit) {
                r = settings_take_key(key, limit, s, err);
                if (r < 0)
                        return r;
                (void)str_format(origin, sizeof origin, "bound by %.32s", by);
                note(origins, key, limit, origin);
        }
        if (js_bool(bound, "lock", false)) {
                (void)str_format(origin, sizeof origin, "%.80s, locked by %.32s",
                        js_str(json_object_get(origins, key), "origin", "built-in"), by);
                note(origins, key, NULL, origin);
        }
        return 0;
}

static void fit_lease(struct settings *s, json_t *origins)
{
        char text[QUANTITY_MAX];

        if (s->lease_renew_us < s->lease_horizon_us)
                return;
        s->lease_renew_us = s->lease_horizon_us / 6;
        note(origins, "lease.renew", duration_format(s->lease_renew_us, text), "to fit lease.horizon");
}

int settings_confine(
        const struct setting_sources *from, struct settings *ret, json_t **ret_origins, struct pd_error *err)
{
        const struct {
                const json_t *layer;
                const char *origin;
                bool lockable;
        } steps[] = {
                { from->site, setting_level_name(SETTING_SITE), false },
                { from->installation, setting_level_name(SETTING_LIVE), false },
                { from->project, "settings of the project", true },
                { from->file, setting_level_name(SETTING_FILE), true },
                { from->flag, setting_level_name(SETTING_FLAG), true },
        };
        bool noted = ret_origins || json_object_size(from->bounds) > 0; /* a bound goes by what was said */
        js_owned *origins = noted ? json_object() : NULL;
        struct settings s = { 0 };
        const char *key;
        json_t *bound;
        int r = 0;

        if (noted && !origins)
                return pd_fail(err, PD_E_NOMEM, "no memory for the origins of settings");
        if (from->built_in && !noted)
                s = *from->built_in;
        else
                r = settings_take_built_in(&s, origins, err);
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++)
                r = settings_take_layer(
                        steps[i].layer, steps[i].origin, steps[i].lockable ? from->bounds : NULL, &s, origins, err);
        if (r < 0)
                return r;
        json_object_foreach ((json_t *)(uintptr_t)from->bounds, key, bound) {
                r = confine_key(key, bound, &s, origins, err);
                if (r < 0)
                        return r;
        }
        fit_lease(&s, origins);
        *ret = s;
        if (ret_origins)
                *ret_origins = pd_steal(origins);
        return 0;
}
