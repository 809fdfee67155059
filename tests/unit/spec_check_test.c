/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include "tap.h"

static json_t *parse(const char *text)
{
        struct pd_error e = { 0 };
        json_t *v = NULL;

        if (js_parse(text, strlen(text), &v, &e) < 0)
                tap_note("the test's own JSON: %s", e.text);
        return v;
}

#define RUN "\"command\":[\"true\"]"

/* One fault each: where, which value, what to do. The first RUN keeps all but one from "there is no command". */
static const struct {
        const char *raw, *at, *value, *fix;
} bad[] = {
        { "[]", "spec", "no object", "write an object" },
        { "{}", "command", "none", "[\"python3\", \"train.py\"]" },
        { "{\"command\":null}", "command", "none", "[\"python3\", \"train.py\"]" },
        { "{\"command\":\"true\"}", "command", "\"true\"", "as a list" },
        { "{\"command\":[]}", "command", "0 items", "write the program" },
        { "{\"command\":[\"\"]}", "command[0]", "\"\"", "program's name" },
        { "{\"command\":[\"a\",5]}", "command[1]", "5", "in quotes" },
        { "{" RUN ",\"memroy\":\"1GiB\"}", "memroy", "\"memroy\"", "\"memory\"" },
        { "{" RUN ",\"idle.after\":\"1h\"}", "idle.after", "\"idle.after\"", "under \"settings\"" },
        { "{" RUN ",\"volumes\":[]}", "volumes", "\"volumes\"", "manual" },
        { "{" RUN ",\"name\":\"My Job\"}", "name", "\"My Job\"", "my-job" },
        { "{" RUN ",\"name\":5}", "name", "5", "1 to 64" },
        { "{" RUN ",\"name\":\"-a\"}", "name", "\"-a\"", "1 to 64" },
        { "{" RUN ",\"project\":\"a/b\"}", "project", "\"a/b\"", "a-b" },
        { "{" RUN ",\"image\":\"debian\"}", "image", "\"debian\"", "docker://debian" },
        { "{" RUN ",\"image\":\"/srv/x\"}", "image", "\"/srv/x\"", "oci:/srv/x" },
        { "{" RUN ",\"image\":\"oci:x\"}", "image", "\"oci:x\"", "oci:/srv/images/debian:latest" },
        { "{" RUN ",\"image\":\"oci:/x:\"}", "image", "tag", "oci:/srv/images/debian:latest" },
        { "{" RUN ",\"image\":\"oci:/x:a b\"}", "image", "tag", "oci:/srv/images/debian:latest" },
        { "{" RUN ",\"image\":\"docker://\"}", "image", "\"docker://\"", "docker://debian:12" },
        { "{" RUN ",\"image\":\"docker://a b\"}", "image", "\"docker://a b\"", "docker://debian:12" },
        { "{" RUN ",\"image\":\"dir:../x\"}", "image", "\"dir:../x\"", "dir:/srv/roots/debian" },
        { "{" RUN ",\"image\":\"dir:/a/../x\"}", "image", "\"..\"", "dir:/srv/roots/debian" },
        { "{" RUN ",\"image\":\"http://x:y:z\"}", "image", "http://x:y:z", "oci:DIR[:TAG]" },
        { "{" RUN ",\"image\":[]}", "image", "a list", "oci:DIR[:TAG]" },
        { "{" RUN ",\"on\":\"lab/\"}", "on", "\"lab/\"", "CONNECTION[/ZONE[/TYPE[/spot]]]" },
        { "{" RUN ",\"on\":true}", "on", "true", "CONNECTION[/ZONE[/TYPE[/spot]]]" },
        { "{" RUN ",\"workdir\":\"srv\"}", "workdir", "\"srv\"", "whole path" },
        { "{" RUN ",\"workdir\":\"/a\\u0001\"}", "workdir", "control character", "whole path" },
        { "{" RUN ",\"cpus\":0.5}", "cpus", "point", "\"0.5\"" },
        { "{" RUN ",\"cpus\":0}", "cpus", "\"0\"", "0.5" },
        { "{" RUN ",\"cpus\":\"5m\"}", "cpus", "\"5m\"", "from 0.01 to 1024" },
        { "{" RUN ",\"cpus\":2000}", "cpus", "\"2000\"", "from 0.01 to 1024" },
        { "{" RUN ",\"memory\":1024}", "memory", "1024", "in quotes" },
        { "{" RUN ",\"memory\":\"16\"}", "memory", "\"16\"", "16GiB" },
        { "{" RUN ",\"memory\":\"15MiB\"}", "memory", "\"15MiB\"", "from 16MiB to 64TiB" },
        { "{" RUN ",\"memory\":\"16777215TiB\"}", "memory", "\"16777215TiB\"", "from 16MiB to 64TiB" },
        { "{" RUN ",\"memory\":\"99999999999TiB\"}", "memory", "99999999999TiB", "16GiB" },
        { "{" RUN ",\"gpus\":9}", "gpus", "\"9\"", "1 to 8 for one machine, or 16" },
        { "{" RUN ",\"gpus\":15}", "gpus", "\"15\"", "1 to 8 for one machine, or 16" },
        { "{" RUN ",\"gpus\":17}", "gpus", "\"17\"", "from 0 to 16" },
        { "{" RUN ",\"gpus\":-1}", "gpus", "\"-1\"", "from 0 to 16" },
        { "{" RUN ",\"gpus\":\"1\"}", "gpus", "\"1\"", "without quotes" },
        { "{" RUN ",\"disk\":\"1B\"}", "disk", "\"1B\"", "from 16MiB" },
        { "{" RUN ",\"shm_size\":\"4095B\"}", "shm_size", "\"4095B\"", "from 4KiB" },
        { "{" RUN ",\"user_ns\":\"no\"}", "user_ns", "\"no\"", "true or false" },
        { "{" RUN ",\"mounts\":{}}", "mounts", "an object", "SOURCE:TARGET" },
        { "{" RUN ",\"mounts\":[5]}", "mounts[0]", "5", "SOURCE:TARGET" },
        { "{" RUN ",\"mounts\":[\"/a\"]}", "mounts[0]", "\"/a\"", "SOURCE:TARGET" },
        { "{" RUN ",\"mounts\":[\"/a:/b\",\"/c:/b:ro\"]}", "mounts[1]", "\"/c:/b:ro\"", "SOURCE:TARGET" },
        { "{" RUN ",\"env\":[]}", "env", "a list", "{\"EPOCHS\": \"20\"}" },
        { "{" RUN ",\"env\":{\"A\":1}}", "env.A", "must be a text", "in quotes" },
        { "{" RUN ",\"env\":{\"\":\"1\"}}", "env.", "no name", "without \"=\"" },
        { "{" RUN ",\"env\":{\"A=B\":\"1\"}}", "env.A=B", "no name", "without \"=\"" },
        { "{" RUN ",\"env\":{\"PORTAL_GENERATION\":\"1\"}}", "env.PORTAL_GENERATION", "sets this variable",
                "remove it" },
        { "{" RUN ",\"tags\":\"x\"}", "tags", "\"x\"", "{\"team\": \"vision\"}" },
        { "{" RUN ",\"tags\":{\"a\":{\"b\":[1,0.1]}}}", "tags.a.b[1]", "point", "in quotes" },
        { "{" RUN ",\"checkpoint\":\"magic\"}", "checkpoint", "\"magic\"", "values, command, criu or restart" },
        { "{" RUN ",\"checkpoint\":\"restrat\"}", "checkpoint", "\"restrat\"", "\"restart\" is the nearest" },
        { "{" RUN ",\"checkpoint\":7}", "checkpoint", "7", "values, command, criu or restart" },
        { "{" RUN ",\"checkpoint\":\"command\"}", "checkpoint", "\"command\"", "\"save\"" },
        { "{" RUN ",\"checkpoint\":{}}", "checkpoint", "which capture", "\"capture\"" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"save\":[\"x\"]}}", "checkpoint.save", "\"values\"",
                "remove it" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"save\":[\"x\"],\"signal\":\"USR1\"}}", "checkpoint",
                "both", "\"signal\"" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\"}}", "checkpoint", "a signal alone",
                "\"done_file\"" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"KILL\",\"done_file\":\"d\"}}",
                "checkpoint.signal", "\"KILL\"", "SIGUSR1" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\",\"done_file\":\"../d\"}}",
                "checkpoint.done_file", "../d", "file name" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"save\":\"x\"}}", "checkpoint.save", "\"x\"",
                "as a list" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"timeout\":\"2d\"}}", "checkpoint.timeout", "\"2d\"",
                "from 1s to 1d" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"timeout\":\"5\"}}", "checkpoint.timeout", "\"5\"", "5h" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"timout\":\"5m\"}}", "checkpoint.timout", "\"timout\"",
                "\"timeout\"" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\",\"done_file\":\"/d\"}}",
                "checkpoint.done_file", "/d", "file name" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\",\"done_file\":\"a/./d\"}}",
                "checkpoint.done_file", "a/./d", "file name" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\",\"done_file\":\"\"}}",
                "checkpoint.done_file", "\"\"", "file name" },
        { "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"timeout\":\"1000001us\"}}", "checkpoint.timeout",
                "1000001us", "whole milliseconds" },
        { "{" RUN ",\"settings\":[]}", "settings", "a list", "{\"idle.after\": \"1h\"}" },
        { "{" RUN ",\"settings\":{\"idle.after\":60}}", "settings.idle.after", "60", "in quotes" },
        { "{" RUN ",\"settings\":{\"idle.after\":\"60\"}}", "settings.idle.after", "\"60\"", "60h" },
        { "{" RUN ",\"settings\":{\"idle.aftr\":\"60m\"}}", "settings.idle.aftr", "\"idle.aftr\"", "\"idle.after\"" },
};

static void test_bad(void)
{
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                js_owned *raw = parse(bad[i].raw), *faults = NULL;
                struct spec *s = NULL;
                struct pd_error e = { 0 };
                int r = spec_check(raw, &s, &faults, &e);
                const json_t *f = json_array_get(faults, 0);

                (void)tap_ok(
                        r == -PD_E_INVALID && !s && json_array_size(faults) == 1, "%s is refused once", bad[i].raw);
                (void)tap_str(js_str(f, "at", ""), bad[i].at, "... with its place");
                (void)tap_has(js_str(f, "text", ""), bad[i].value, "... its value");
                (void)tap_has(js_str(f, "fix", ""), bad[i].fix, "... and the fix");
                (void)tap_ok(strstr(e.text, bad[i].at) && streq(e.subject, bad[i].at),
                        "... all of it in the one sentence: %s", e.text);
                spec_free(s);
        }
}

static void test_all_at_once(void)
{
        js_owned *
                raw = parse(
                       "{\"cpus\":\"x\",\"memory\":\"x\",\"gpus\":9,\"name\":\"X Y\",\"unknown_a\":1,\"unknown_b\":1}"),
               *faults = NULL;
        js_owned *many = parse("{" RUN "}"), *cut = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };
        char key[32];

        (void)tap_ok(spec_check(raw, &s, &faults, &e) < 0, "a spec with seven faults is refused");
        (void)tap_int((long long)json_array_size(faults), 7, "... and all seven are told");
        for (int i = 0; i < 50; i++) {
                (void)snprintf(key, sizeof key, "unknown%d", i);
                (void)json_object_set_new(many, key, json_true());
        }
        (void)tap_ok(spec_check(many, &s, &cut, &e) < 0 && json_array_size(cut) == 20, "of fifty, the first twenty");
        (void)tap_ok(spec_check(many, &s, NULL, NULL) < 0, "nobody needs to want the list");
}

static void test_defaults(void)
{
        js_owned *raw = parse("{" RUN ",\"name\":null}"), *faults = NULL;
        pd_cleanup(spec_freep) struct spec *s = NULL;
        struct pd_error e = { 0 };

        (void)tap_ok(spec_check(raw, &s, &faults, &e) == 0 && json_array_size(faults) == 0,
                "a command alone is a job %s", e.text);
        if (!s)
                return;
        (void)tap_ok(s->cpu_milli == 1000 && s->memory_bytes == UINT64_C(1) << 30 && s->gpus == 0,
                "... of 1 core, 1 GiB and no GPU");
        (void)tap_ok(s->disk_bytes == 0 && s->shm_bytes == UINT64_C(64) << 20 && s->user_ns,
                "... with 64 MiB of shm and a user namespace");
        (void)tap_ok(!s->name && !s->project && !s->image && !s->on && !s->workdir && !s->capture,
                "... and nothing made up");
        (void)tap_ok(json_is_object(s->env) && json_is_object(s->tags) && json_is_array(s->mounts) &&
                             json_is_object(s->settings) && json_is_object(s->capture_settings),
                "... its lists are there, and empty");
        (void)tap_ok(streq(s->command[0], "true") && !s->command[1], "... and its command ends with NULL");
}

static const char *const good[] = {
        "{" RUN "}",
        "{" RUN
        ",\"name\":\"a\",\"project\":\"p\",\"image\":\"oci:/srv/x:latest\",\"on\":\"a/b/c/spot\",\"workdir\":\"/w\"}",
        "{" RUN ",\"cpus\":\"1.5\",\"memory\":\"1500MB\",\"gpus\":16,\"disk\":\"16385KiB\",\"shm_size\":\"4097B\","
        "\"user_ns\":false}",
        "{" RUN ",\"cpus\":3,\"disk\":\"16777217B\",\"gpus\":8}",
        "{" RUN ",\"mounts\":[\"/a:/b\",\"/c d:/e:ro\",\"/f:/g:rw\"]}",
        "{" RUN ",\"env\":{\"A\":\" x "
        "\\n\\t\\u00e4\",\"B\":\"\"},\"tags\":{\"n\":1,\"l\":[true,null,\"x\"],\"o\":{\"k\":\"v\"}}}",
        "{" RUN ",\"checkpoint\":\"values\"}",
        "{" RUN ",\"checkpoint\":{\"capture\":\"values\",\"timeout\":\"5m\"}}",
        "{" RUN
        ",\"checkpoint\":{\"capture\":\"command\",\"save\":[\"./s\",\"x\"],\"load\":[\"./l\"],\"timeout\":\"90s\"}}",
        "{" RUN ",\"checkpoint\":{\"capture\":\"command\",\"signal\":\"USR1\",\"done_file\":\"d\"}}",
        "{" RUN ",\"checkpoint\":{\"capture\":\"restart\"}}",
        "{" RUN ",\"settings\":{\"idle\":false,\"ttl\":\"off\",\"budget\":\"20usd\",\"idle.after\":\"1h30m\"}}",
        "{\"command\":[\"a\",\"\",\"b c\",\"\\u2603\"]}",
};

static void test_round_trip(void)
{
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                js_owned *raw = parse(good[i]), *once = NULL, *twice = NULL;
                pd_cleanup(spec_freep) struct spec *a = NULL, *b = NULL;
                struct pd_error e = { 0 };

                if (spec_check(raw, &a, NULL, &e) == 0)
                        once = spec_to_json(a);
                if (once && spec_check(once, &b, NULL, &e) == 0)
                        twice = spec_to_json(b);
                (void)tap_ok(once && twice && json_equal(once, twice), "the canonical form of %s is its own %s",
                        good[i], e.text);
                (void)tap_ok(a && b && a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
                                     a->gpus == b->gpus && a->disk_bytes == b->disk_bytes &&
                                     a->shm_bytes == b->shm_bytes && a->user_ns == b->user_ns &&
                                     json_equal(a->env, b->env) && json_equal(a->tags, b->tags) &&
                                     json_equal(a->mounts, b->mounts) && json_equal(a->settings, b->settings) &&
                                     json_equal(a->capture_settings, b->capture_settings),
                        "... and says the same job");
        }
}

static void test_bytes(void)
{
        js_owned *raw =
                parse("{" RUN
                      ",\"env\":{\"K\":\" \\\\ \\\"q\\\" \\u00fc\\u0001 $X ${Y} %s\\r\\n\"},\"tags\":{\"no\":\"012\"},"
                      "\"checkpoint\":{\"capture\":\"command\",\"save\":[\"s\",\"a b\"],\"timeout\":\"1.5m "
                      "500ms\",\"signal\":null}}");
        pd_cleanup(spec_freep) struct spec *s = NULL;
        struct pd_error e = { 0 };

        (void)json_object_del(json_object_get(raw, "checkpoint"), "signal");
        (void)tap_ok(spec_check(raw, &s, NULL, &e) == 0, "odd bytes are taken %s", e.text);
        if (!s)
                return;
        (void)tap_str(
                js_str(s->env, "K", ""), " \\ \"q\" \xc3\xbc\x01 $X ${Y} %s\r\n", "F-03: env is kept byte for byte");
        (void)tap_str(js_str(s->tags, "no", ""), "012", "F-03: so are tags");
        (void)tap_str(js_str(s->capture_settings, "save.1", ""), "a b", "a plugin gets the save command flat");
        (void)tap_str(js_str(s->capture_settings, "timeout", ""), "1m30s500ms", "... and a timeout in whole units");
}

/* Law 19: whatever is wrong with a variable, its value is not told. */
static void test_secrets(void)
{
        static const char *const raws[] = {
                "{" RUN ",\"env\":{\"A=B\":\"s3cr3t-value\"}}",
                "{" RUN ",\"env\":{\"PORTAL_SOCKET\":\"s3cr3t-value\"}}",
                "{" RUN ",\"env\":{\"A\":[\"s3cr3t-value\"]}}",
        };

        for (size_t i = 0; i < ARRAY_LEN(raws); i++) {
                js_owned *raw = parse(raws[i]), *faults = NULL;
                struct spec *s = NULL;
                struct pd_error e = { 0 };
                int r = spec_check(raw, &s, &faults, &e);
                pd_cleanup(freep) char *text = js_dump(faults);

                (void)tap_ok(r < 0 && !strstr(text, "s3cr3t") && !strstr(e.text, "s3cr3t"),
                        "law 19: a refused variable's value is not shown: %s", e.text);
        }
}

static void test_words(void)
{
        js_owned *words = json_array(), *raw = NULL, *faults = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };

        for (int i = 0; i < 64; i++)
                (void)json_array_append_new(words, json_string("x"));
        raw = json_pack("{s:[s],s:{s:s,s:O}}", "command", "true", "checkpoint", "capture", "command", "save", words);
        (void)tap_ok(spec_check(raw, &s, NULL, &e) == 0, "a save command of 64 words is taken %s", e.text);
        spec_free(s);
        (void)json_array_append_new(words, json_string("x"));
        (void)tap_ok(spec_check(raw, &s, &faults, &e) < 0, "... and of 65 refused");
        (void)tap_has(e.text, "checkpoint.save: it has 65 words, and at most 64 are allowed: put it into a script",
                "... saying so");
}

static void test_limits(void)
{
        pd_cleanup(freep) char *big = malloc(200001);
        js_owned *raw = parse("{}"), *faults = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };

        memset(big, 'x', 200000);
        big[200000] = '\0';
        (void)json_object_set_new(raw, "command", json_pack("[s,s]", "true", big));
        (void)json_object_set_new(raw, "env", json_pack("{s:s}", "A", big));
        (void)tap_ok(spec_check(raw, &s, &faults, &e) < 0 && json_array_size(faults) == 2,
                "law 21: what Linux cannot pass to a program is refused");
        (void)tap_has(e.text, "131071", "... with the limit");
        (void)tap_has(e.text, "put it into a file", "... and the way out");
}

int main(void)
{
        test_bad();
        test_all_at_once();
        test_defaults();
        test_round_trip();
        test_bytes();
        test_secrets();
        test_words();
        test_limits();
        spec_free(NULL);
        return tap_done();
}
