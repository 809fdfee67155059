/* SPDX-License-Identifier: Apache-2.0 */
#include "base/js.h"

#include "tap.h"

static char *nested(size_t depth, const char *inside)
{
        size_t n = strlen(inside);
        char *s = malloc(2 * depth + n + 1);

        if (!s)
                abort();
        memset(s, '[', depth);
        memcpy(s + depth, inside, n);
        memset(s + depth + n, ']', depth);
        s[2 * depth + n] = '\0';
        return s;
}

static void test_depth(void)
{
        static const struct {
                const char *name;
                size_t depth;
                const char *inside;
                bool good;
        } rows[] = {
                { "64 levels are read", 64, "1", true },
                { "65 levels are refused", 65, "1", false },
                { "a million levels are refused without using the stack", 1000000, "1", false },
                { "brackets in a string are no levels", 64, "\"[[[[{{{{\"", true },
                { "an escaped quote does not end a string", 64, "\"\\\"[[[[\"", true },
                { "an escaped backslash before the end does", 63, "\"\\\\\",[[1]]", false },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(freep) char *text = nested(rows[i].depth, rows[i].inside);
                struct pd_error err = { 0 };
                js_owned *v = NULL;
                int r = js_parse(text, strlen(text), &v, &err);

                tap_ok((r == 0) == rows[i].good && (r == 0 || strstr(err.text, "64 levels")), "%s", rows[i].name);
        }
}

static void test_refuses(void)
{
        static const struct {
                const char *name, *text;
                size_t n;
                const char *says;
        } rows[] = {
                { "a key given twice", "{\"a\":1,\"a\":2}", 13, "duplicate" },
                { "a key given twice inside", "{\"b\":[{\"a\":1,\"a\":2}]}", 21, "duplicate" },
                { "text behind the value", "{} x", 4, "end of file expected" },
                { "a NUL in the text", "{\"a\":1}\0", 8, "line 1" },
                { "an escaped NUL", "\"\\u0000\"", 8, "line 1" },
                { "half an object", "{\"a\":", 5, "line 1" },
                { "nothing", "", 0, "line 1" },
                { "bytes that are no UTF-8", "\"\xff\"", 3, "line 1" },
                { "a real that is infinite", "1e400", 5, "line 1" },
                { "an integer past 64 bits", "92233720368547758080", 20, "too big" },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pd_error err = { 0 };
                js_owned *v = NULL;
                int r = js_parse(rows[i].text, rows[i].n, &v, &err);

                if (!tap_ok(r == -PD_E_INVALID && !v && strstr(err.text, rows[i].says), "%s is refused with its place",
                            rows[i].name))
                        tap_note("r %d: %s", r, err.text);
        }
}

static void test_reads(void)
{
        static const char text[] = "{\"s\":\"x\",\"n\":7,\"b\":true,\"z\":null}";
        struct pd_error err = { 0 };
        js_owned *o = NULL;
        const char *s = NULL;
        int64_t n = 0;

        tap_int(js_parse(text, strlen(text), &o, &err), 0, "an object is read");
        tap_ok(streq(js_str(o, "s", ""), "x") && streq(js_str(o, "n", "f"), "f") && streq(js_str(o, "z", "f"), "f"),
                "another type and null are the fallback");
        tap_ok(js_int(o, "n", 1) == 7 && js_int(o, "s", 1) == 1 && js_int(NULL, "n", 1) == 1,
                "integers alike, and without an object");
        tap_ok(js_bool(o, "b", false) && !js_bool(o, "n", false), "booleans alike");
        tap_ok(js_need_str(o, "s", &s, &err) == 0 && streq(s, "x"), "a needed string is there");
        tap_ok(js_need_str(o, "q", &s, &err) == -PD_E_INVALID && strstr(err.text, "\"q\"") &&
                        strstr(err.text, "missing"),
                "a missing one is named");
        tap_ok(js_need_int(o, "s", 0, 9, &n, &err) == -PD_E_INVALID && strstr(err.text, "another type"),
                "a wrong type is said");
        tap_ok(js_need_int(o, "n", 0, 6, &n, &err) == -PD_E_INVALID && strstr(err.text, "from 0 to 6") && n == 0,
                "a value out of range is said, and nothing written");
        tap_ok(js_need_int(o, "n", 7, 7, &n, &err) == 0 && n == 7, "the bounds are inside the range");
}

static void test_errors_travel(void)
{
        struct pd_error in, out;
        js_owned *o = NULL;

        (void)pd_fail(&in, PD_E_CAPACITY, "none of \"%s\" left", "a1");
        (void)pd_fail_subject(&in, "quota-7");
        (void)strcpy(in.provider_code, "NoCapacity");
        in.retry_after_us = 5 * USEC_PER_SEC;
        o = js_from_error(&in);
        js_to_error(o, &out);
        tap_ok(memcmp(&in, &out, sizeof in) == 0, "an error read from its JSON is the same error");
        (void)json_object_set_new(o, "code", json_string("NEWER_THAN_US"));
        js_to_error(o, &out);
        tap_int(out.code, PD_E_INTERNAL, "a code that we do not know is INTERNAL");
        (void)pd_fail(&in, PD_E_IO, "caf\xc3");
        json_decref(pd_steal(o));
        o = js_from_error(&in);
        js_to_error(o, &out);
        tap_ok(out.code == PD_E_IO && streq(out.text, "caf?"),
                "an error cut in the middle of a character still gets through");
}

static void test_dump(void)
{
        js_owned *v = json_pack("{s:i,s:[i],s:i}", "b", 1, "a", 2, "c", 3);
        pd_cleanup(freep) char *text = js_dump(v);

        tap_str(text, "{\"a\":[2],\"b\":1,\"c\":3}", "what is written is compact and sorted");
}

int main(void)
{
        test_depth();
        test_refuses();
        test_reads();
        test_errors_travel();
        test_dump();
        return tap_done();
}
