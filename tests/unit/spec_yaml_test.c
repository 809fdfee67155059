/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include <dirent.h>

#include "tap.h"

static int from_yaml(const char *text, json_t **ret, struct pd_error *err)
{
        return spec_from_yaml(text, strlen(text), "portal.yaml", ret, err);
}

/* YAML 1.2, restricted: what looks like something else elsewhere is a text here. want: JSON of the whole. */
static const struct {
        const char *yaml, *want;
} typing[] = {
        { "env: {A: no, B: yes, C: on, D: off, E: y, F: N}",
                "{\"env\":{\"A\":\"no\",\"B\":\"yes\",\"C\":\"on\",\"D\":\"off\",\"E\":\"y\",\"F\":\"N\"}}" },
        { "env: {A: true, B: False, C: null, D: ~, E: , F: ''}",
                "{\"env\":{\"A\":\"true\",\"B\":\"False\",\"C\":\"null\",\"D\":\"~\",\"E\":\"\",\"F\":\"\"}}" },
        { "env: {A: 012, B: 0x1F, C: 0o14, D: 1_000, E: 1:30, F: 12e03}",
                "{\"env\":{\"A\":\"012\",\"B\":\"0x1F\",\"C\":\"0o14\",\"D\":\"1_000\",\"E\":\"1:30\",\"F\":\"12e03\"}"
                "}" },
        { "env: {A: .inf, B: .nan, C: 2026-11-30, D: 1.10, E: +1, F: -0}",
                "{\"env\":{\"A\":\".inf\",\"B\":\".nan\",\"C\":\"2026-11-30\",\"D\":\"1.10\",\"E\":\"+1\",\"F\":\"-0\"}"
                "}" },
        { "gpus: 2", "{\"gpus\":2}" },
        { "gpus: -2", "{\"gpus\":-2}" },
        { "gpus: \"2\"", "{\"gpus\":\"2\"}" },
        { "gpus: 012", "{\"gpus\":\"012\"}" },
        { "gpus: 2.0", "{\"gpus\":\"2.0\"}" },
        { "gpus: +2", "{\"gpus\":\"+2\"}" },
        { "gpus: 99999999999999999999", "{\"gpus\":\"99999999999999999999\"}" },
        { "user_ns: true", "{\"user_ns\":true}" },
        { "user_ns: false", "{\"user_ns\":false}" },
        { "user_ns: True", "{\"user_ns\":\"True\"}" },
        { "user_ns: 'true'", "{\"user_ns\":\"true\"}" },
        { "cpus: 2", "{\"cpus\":\"2\"}" },
        { "name: 12", "{\"name\":\"12\"}" },
        { "name: true", "{\"name\":\"true\"}" },
        { "command: [python3, -c, 'print(1)', 012, no, ~]",
                "{\"command\":[\"python3\",\"-c\",\"print(1)\",\"012\",\"no\",\"~\"]}" },
        { "tags: {gpus: 2, user_ns: true, a: {b: [1, no]}}",
                "{\"tags\":{\"a\":{\"b\":[\"1\",\"no\"]},\"gpus\":\"2\",\"user_ns\":\"true\"}}" },
        { "settings: {idle: off, ttl: 6h}", "{\"settings\":{\"idle\":\"off\",\"ttl\":\"6h\"}}" },
        { "env:\nname: a", "{\"env\":null,\"name\":\"a\"}" },
        { "env: {A: |\n    one\n    two\n  }", NULL },
        { "env:\n  A: |\n    one\n     two\n  B: >\n    x\n    y\n",
                "{\"env\":{\"A\":\"one\\n two\\n\",\"B\":\"x y\\n\"}}" },
        { "env: {A: \"\\t\\u00e9\\\"\", B: 'it''s', C: ' x '}",
                "{\"env\":{\"A\":\"\\té\\\"\",\"B\":\"it's\",\"C\":\" x \"}}" },
        { "env: {Ä: ö ☃}", "{\"env\":{\"Ä\":\"ö ☃\"}}" },
        { "%YAML 1.2\n---\nname: a\n...\n", "{\"name\":\"a\"}" },
        { "\xef\xbb\xbfname: a", "{\"name\":\"a\"}" },
        { "", "{}" },
        { "# only a comment\n", "{}" },
        { "{}", "{}" },
        { "{\"name\": \"a\", \"gpus\": 2}", "{\"gpus\":2,\"name\":\"a\"}" },
};

static void test_typing(void)
{
        for (size_t i = 0; i < ARRAY_LEN(typing); i++) {
                js_owned *raw = NULL;
                struct pd_error e = { 0 };
                int r = from_yaml(typing[i].yaml, &raw, &e);
                pd_cleanup(freep) char *text = raw ? js_dump(raw) : NULL;

                if (typing[i].want)
                        (void)tap_str(r == 0 ? text : e.text, typing[i].want,
                                "YAML 1.2 typing: a text, unless the field wants a number or switch");
                else
                        (void)tap_ok(r < 0 && str_starts(e.text, "portal.yaml:"),
                                "a block text inside braces is refused: %s", e.text);
        }
}

/* --- yaml_bad/NAME.yaml: "# want: PLACE | VALUE | FIX" in its first line --- */

#define BAD_DIR TEST_SOURCE_DIR "/tests/unit/yaml_bad"

struct bad_file {
        char text[8192], place[32], value[64], fix[64];
        size_t n;
};

static void trim(char *s)
{
        size_t n = strlen(s);

        while (n && s[n - 1] == ' ')
                s[--n] = '\0';
}

static bool load(const char *name, struct bad_file *ret)
{
        char path[512];
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s", BAD_DIR, name);
        f = fopen(path, "re");
        if (!f)
                return false;
        ret->n = fread(ret->text, 1, sizeof ret->text - 1, f);
        (void)fclose(f);
        ret->text[ret->n] = '\0';
        if (sscanf(ret->text, "# want: %31[^|]| %63[^|]| %63[^\n]", ret->place, ret->value, ret->fix) != 3) {
                ret->place[0] = '\0';
                if (sscanf(ret->text, "# want: | %63[^|]| %63[^\n]", ret->value, ret->fix) != 2)
                        return false;
        }
        trim(ret->place);
        trim(ret->value);
        return true;
}

/* The whole way of a file: YAML, then the check, then the places. One sentence comes out. */
static bool refused(const char *name, const struct bad_file *b, char *ret, size_t size)
{
        js_owned *raw = NULL, *places = NULL, *faults = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };
        const json_t *f;

        if (spec_from_yaml_places(b->text, b->n, name, &raw, &places, &e) < 0) {
                (void)snprintf(ret, size, "%s", e.text);
                return true;
        }
        if (spec_check(raw, &s, &faults, &e) == 0) {
                spec_free(s);
                return false;
        }
        (void)spec_place_faults(faults, places, &e);
        f = json_array_get(faults, 0);
        (void)snprintf(ret, size, "%s: %s: %s", js_str(f, "at", ""), js_str(f, "text", ""), js_str(f, "fix", ""));
        return true;
}

static void test_bad_file(const char *name)
{
        char said[1024] = "", begin[128];
        struct bad_file b = { .n = 0 };

        if (!tap_ok(load(name, &b), "%s says what is wanted", name))
                return;
        if (!tap_ok(refused(name, &b, said, sizeof said), "... and is refused: %s", said))
                return;
        (void)snprintf(begin, sizeof begin, "%s:%s", name, b.place);
        (void)tap_ok(b.place[0] ? str_starts(said, begin) : strchr(said, ':') != NULL, "... at %s",
                b.place[0] ? begin : "a field");
        (void)tap_has(said, b.value, "... with the value");
        (void)tap_has(said, b.fix, "... and what to do");
}

static int is_yaml(const struct dirent *d)
{
        return strstr(d->d_name, ".yaml") != NULL;
}

static void test_bad_files(void)
{
        struct dirent **names = NULL;
        int n = scandir(BAD_DIR, &names, is_yaml, alphasort);

        (void)tap_ok(n >= 25, "there are %d bad files", n);
        for (int i = 0; i < n; i++) {
                test_bad_file(names[i]->d_name);
                free(names[i]);
        }
        free(names);
}

static void test_places(void)
{
        static const char text[] = "command:\n  - python3\n  - train.py\nenv:\n  HOME: /root\nsettings: {ttl: 6h}\n";
        js_owned *raw = NULL, *places = NULL;
        struct pd_error e = { 0 };

        (void)tap_ok(
                spec_from_yaml_places(text, sizeof text - 1, "portal.yaml", &raw, &places, &e) == 0, "places are kept");
        (void)tap_str(js_str(places, "command[1]", ""), "portal.yaml:3:5", "... of an item");
        (void)tap_str(js_str(places, "env.HOME", ""), "portal.yaml:5:9", "... of a member");
        (void)tap_str(js_str(places, "settings.ttl", ""), "portal.yaml:6:17", "... of a setting");
}

static void test_size(void)
{
        size_t n = (1 << 20) + 1;
        pd_cleanup(freep) char *big = malloc(n);
        js_owned *raw = NULL;
        struct pd_error e = { 0 };

        memset(big, ' ', n);
        (void)tap_ok(spec_from_yaml(big, n, "portal.yaml", &raw, &e) < 0, "law 21: more than 1 MiB is refused");
        (void)tap_has(e.text, "1048577", "... with its size");
        (void)tap_ok(spec_from_yaml("name: \xff", 7, "portal.yaml", &raw, &e) < 0, "what is not UTF-8 is refused");
        (void)tap_has(e.text, "UTF-8", "... saying so");
}

int main(void)
{
        test_typing();
        test_bad_files();
        test_places();
        test_size();
        return tap_done();
}
