/* SPDX-License-Identifier: Apache-2.0 */
#include "config/prescan.h"

#include <libconfig.h>

#include "tap.h"

struct seen {
        size_t n;
        unsigned int line;
        char text[200], fix[200];
};

static void on_fault(void *arg, unsigned int line, const char *text, const char *fix)
{
        struct seen *s = arg;

        if (s->n++)
                return;
        s->line = line;
        (void)str_format(s->text, sizeof s->text, "%s", text);
        (void)str_format(s->fix, sizeof s->fix, "%s", fix);
}

static const struct prescan_events *events(struct seen *s)
{
        static struct prescan_events e;

        e = (struct prescan_events){ .fault = on_fault, .arg = s };
        return &e;
}

static const struct {
        const char *name, *text;
} good[] = {
        { "nothing", "" },
        { "blanks and comments", " \t\r\n\f# one\n// two\n/* three\n\n * */\n#" },
        { "every kind of value", "a = \"x\"; b = 1; c = -5; d = true; e = FALSE; f = { g = 1; }; h = [ 1, 2 ]; i = ( "
                                 "1, \"a\", { } ); j = []; k = ();" },
        { "colons, commas and none", "a: 1, b: 2 c: { d: 3 }" },
        { "strings that are joined", "a = \"one\" \"two\"\n  \"three\";" },
        { "escapes", "a = \"\\\\ \\\" \\n \\r \\t \\f \\x41\";" },
        { "comment marks in a string", "a = \"# // /* @include\";" },
        { "a quote in a comment", "# it's \" open\na = 1;" },
        { "bytes above ASCII in strings and comments", "# \xc3\xa4\na = \"\xc3\xa4\";" },
        { "nine digits", "a = 999999999; b = -999999999; c = +1;" },
        { "names with all that they may have", "a-b_c*9 = 1; *x = 2;" },
        { "16 levels", "a = ((((((((((((((((1))))))))))))))));" },
        { "true as a part of a name", "truely = 1; falsehood = 2;" },
};

static const struct {
        const char *name, *text;
        unsigned int line;
        const char *says;
} bad[] = {
        { "ten digits", "a = 1000000000;", 1, "1000000000 has more than 9 digits" },
        { "a wrapping integer", "\n\na = 3000000000;", 3, "3000000000" },
        { "a long integer", "a = 5L;", 1, "5L is no plain whole number" },
        { "hexadecimal", "a = 0xff;", 1, "0xff" },
        { "a float", "a = 1.5;", 1, "1.5" },
        { "a float without digits in front", "a = .5;", 1, ".5" },
        { "an exponent", "a = 1e400;", 1, "1e400" },
        { "a negative exponent", "a = 1e-4;", 1, "1e-4" },
        { "a rate without quotes", "a = 0.10usd/h;", 1, "0.10usd/h is no plain whole number" },
        { "a sign alone", "a = -;", 1, "- is no plain" },
        { "an include", "\n  @include \"x\"", 2, "@include" },
        { "an include in the middle of a line", "a = 1; @include \"x\"", 1, "@include" },
        { "a string to the end of the file", "a = \"abc", 1, "\"abc is never closed" },
        { "a string to the end of the line", "a = \"abc\nb = 1;", 1, "\"abc is never closed" },
        { "a string that ends in a backslash", "a = \"abc\\", 1, "escape" },
        { "an unknown escape", "a = \"\\q\";", 1, "\\q" },
        { "half a hexadecimal escape", "a = \"\\x4\";", 1, "\\x" },
        { "an escaped NUL", "a = \"\\x00\";", 1, "\\x00" },
        { "a control character", "a = \"\x1b[31m\";", 1, "0x1b" },
        { "a comment without an end", "a = 1;\n/* b\n\n", 2, "never closed" },
        { "a comment that only begins to end", "/*", 1, "never closed" },
        { "a slash", "a = 1 / 2;", 1, "/ means nothing" },
        { "bytes above ASCII outside strings", "\xc3\xa4 = 1;", 1, "?? means nothing" },
        { "a value without a key", "= 1;", 1, "= stands where a key is wanted" },
        { "a key alone", "a", 1, "the file ends where \"=\" is wanted" },
        { "a key without a value", "a =", 1, "the file ends where a value is wanted" },
        { "a word as a value", "a = yes;", 1, "yes stands where a value is wanted" },
        { "a keyword as a key", "true = 1;", 1, "true stands where a key is wanted" },
        { "two semicolons", "a = 1;;", 1, "; stands where a key is wanted" },
        { "an open block", "a = {\n b = 1;\n", 3, "the file ends where a key or \"}\" is wanted" },
        { "the wrong bracket", "a = [ 1 );", 1, ") stands where \"]\" is wanted" },
        { "a list in an array", "a = [ ( ) ];", 1, "( stands where a value is wanted" },
        { "a comma behind the last", "a = [ 1, ];", 1, "] stands where a value is wanted" },
        { "a bracket too many", "a = 1; }", 1, "} stands where a key is wanted" },
        { "17 levels", "a = (((((((((((((((((1)))))))))))))))));", 1, "deeper than 16" },
};

static void test_good(void)
{
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                struct seen s = { 0 };
                char text[256];
                config_t c;

                config_init(&c);
                if (!tap_ok(prescan(good[i].text, strlen(good[i].text), events(&s)) == 0 &&
                                    str_format(text, sizeof text, "%s\n", good[i].text) &&
                                    config_read_string(&c, text) == CONFIG_TRUE,
                            "%s: passed, and libconfig agrees", good[i].name))
                        tap_note("line %u: %s; libconfig: %s", s.line, s.text, str_or(config_error_text(&c), "fine"));
                config_destroy(&c);
        }
}

static void test_bad(void)
{
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct seen s = { 0 };
                size_t n = prescan(bad[i].text, strlen(bad[i].text), events(&s));

                if (!tap_ok(n > 0 && s.n == n && s.line == bad[i].line && strstr(s.text, bad[i].says) && s.fix[0],
                            "%s: refused with its line and a fix", bad[i].name))
                        tap_note("%zu faults, line %u: %s: %s", n, s.line, s.text, s.fix);
        }
}

static void test_whole_files(void)
{
        pd_cleanup(freep) char *large = malloc(PRESCAN_BYTES_MAX + 1);
        struct seen s = { 0 };

        memset(large, ' ', PRESCAN_BYTES_MAX + 1);
        tap_int((long long)prescan(large, PRESCAN_BYTES_MAX, events(&s)), 0, "a file may have 1 MiB");
        tap_ok(prescan(large, PRESCAN_BYTES_MAX + 1, events(&s)) == 1 && strstr(s.text, "1 MiB"),
                "and not a byte more");
        s = (struct seen){ 0 };
        tap_ok(prescan("a = 1;\n\0b = 2;", 14, events(&s)) == 1 && s.line == 2 && strstr(s.text, "NUL"),
                "a NUL byte is refused with its line");
        s = (struct seen){ 0 };
        memset(large, '(', 100000);
        memcpy(large, "a = ", 4);
        tap_ok(prescan(large, 100000, events(&s)) == 1 && strstr(s.text, "deeper"),
                "100000 brackets are refused without using the stack");
        s = (struct seen){ 0 };
        for (size_t i = 0; i < 1000; i++)
                memcpy(large + i * 4, "@ \n ", 4);
        tap_ok(prescan(large, 4000, events(&s)) >= 20 && s.n == 20, "no more than 20 faults are told");
        tap_int((long long)prescan(NULL, 0, events(&s)), 0, "no bytes are an empty file");
}

int main(void)
{
        test_good();
        test_bad();
        test_whole_files();
        return tap_done();
}
