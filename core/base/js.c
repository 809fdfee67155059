/* SPDX-License-Identifier: Apache-2.0 */
#include "base/js.h"

const char *js_str(const json_t *o, const char *key, const char *fallback)
{
        const char *s = json_string_value(json_object_get(o, key));

        return s ? s : fallback;
}

int64_t js_int(const json_t *o, const char *key, int64_t fallback)
{
        const json_t *v = json_object_get(o, key);

        return json_is_integer(v) ? (int64_t)json_integer_value(v) : fallback;
}

bool js_bool(const json_t *o, const char *key, bool fallback)
{
        const json_t *v = json_object_get(o, key);

        return json_is_boolean(v) ? json_is_true(v) : fallback;
}

int js_need_str(const json_t *o, const char *key, const char **ret, struct pd_error *err)
{
        const json_t *v = json_object_get(o, key);

        if (!json_is_string(v))
                return pd_fail(err, PD_E_INVALID, "\"%s\" must be a string, and %s", key,
                        v ? "is of another type" : "is missing");
        *ret = json_string_value(v);
        return 0;
}

int js_need_int(const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret, struct pd_error *err)
{
        const json_t *v = json_object_get(o, key);
        int64_t n;

        if (!json_is_integer(v))
                return pd_fail(err, PD_E_INVALID, "\"%s\" must be a whole number, and %s", key,
                        v ? "is of another type" : "is missing");
        n = (int64_t)json_integer_value(v);
        if (n < min || n > max)
                return pd_fail(err, PD_E_INVALID, "\"%s\" is %lld: it must lie from %lld to %lld", key, (long long)n,
                        (long long)min, (long long)max);
        *ret = n;
        return 0;
}

#define DEPTH_MAX 64

/* jansson bounds depth by the C stack only; counting brackets outside of strings is enough to keep below ours. */
static bool too_deep(const char *text, size_t n)
{
        int depth = 0;
        bool in_string = false;

        for (size_t i = 0; i < n; i++) {
                if (in_string) {
                        if (text[i] == '\\')
                                i++;
                        else if (text[i] == '"')
                                in_string = false;
                } else if (text[i] == '"') {
                        in_string = true;
                } else if (text[i] == '[' || text[i] == '{') {
                        if (++depth > DEPTH_MAX)
                                return true;
                } else if (text[i] == ']' || text[i] == '}') {
                        depth--;
                }
        }
        return false;
}

int js_parse(const char *text, size_t n, json_t **ret, struct pd_error *err)
{
        json_error_t e;
        json_t *v;

        if (too_deep(text, n))
                return pd_fail(err, PD_E_INVALID, "JSON is nested deeper than %d levels", DEPTH_MAX);
        v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
        if (!v)
                return pd_fail(err, PD_E_INVALID, "not JSON at line %d, column %d: %s", e.line, e.column, e.text);
        *ret = v;
        return 0;
}

char *js_dump(const json_t *v)
{
        return json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

/* An error must always get through: where its text is not UTF-8 (cut in the middle of a character, or a plugin's), the bytes that
 * are not ASCII are lost. */
static json_t *any_string(const char *text)
{
        json_t *v = json_string(text);
        char plain[sizeof((struct pd_error *)NULL)->text];

        if (v)
                return v;
        (void)str_format(plain, sizeof plain, "%s", text);
        for (char *at = plain; *at; at++)
                if ((unsigned char)*at >= 0x80)
                        *at = '?';
        return json_string(plain);
}

json_t *js_from_error(const struct pd_error *err)
{
        const char *name = pd_code_name(err->code);

        return json_pack("{s:s,s:o,s:o,s:o,s:I}", "code", name ? name : "INTERNAL", "text", any_string(err->text),
                "subject", any_string(err->subject), "provider_code", any_string(err->provider_code), "retry_after_us",
                (json_int_t)err->retry_after_us);
}

static enum pd_code code_of(const char *name)
{
#define CODE_OF(n_, name_, text_) \
        if (streq(name, #name_))  \
                return PD_E_##name_;
        PD_CODES(CODE_OF)
#undef CODE_OF
        return PD_E_INTERNAL;
}

void js_to_error(const json_t *o, struct pd_error *ret)
{
        (void)pd_fail(ret, code_of(js_str(o, "code", "")), "%s", js_str(o, "text", ""));
        (void)str_format(ret->subject, sizeof ret->subject, "%s", js_str(o, "subject", ""));
        (void)str_format(ret->provider_code, sizeof ret->provider_code, "%s", js_str(o, "provider_code", ""));
        ret->retry_after_us = js_int(o, "retry_after_us", 0);
}
