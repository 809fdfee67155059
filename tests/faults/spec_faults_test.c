/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out at call 1, 2, 3 ... of everything that the room does, until the job passes untouched: each time it is either the whole job or
 * NOMEM, never a part of it. Under the sanitizers also: nothing leaks. */
#include "spec/spec.h"

#include "tap.h"

static long countdown = -1; /* calls until the one that fails; -1 = none does */
static long calls;

static bool hit(void)
{
        calls++;
        return countdown >= 0 && countdown-- == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
        return hit() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
        return hit() ? NULL : __real_calloc(n, size);
}
char *__wrap_strdup(const char *s)
{
        return hit() ? NULL : __real_strdup(s);
}
char *__wrap_strndup(const char *s, size_t n)
{
        return hit() ? NULL : __real_strndup(s, n);
}

static const char job[] = "{\"name\":\"a\",\"project\":\"p\",\"image\":\"oci:/"
                          "x:y\",\"command\":[\"a\",\"b\"],\"on\":\"a/b/c\",\"workdir\":\"/w\",\"cpus\":2,"
                          "\"memory\":\"2GiB\",\"gpus\":1,\"disk\":\"1GiB\",\"shm_size\":\"1MiB\",\"user_ns\":false,"
                          "\"mounts\":[\"/a:/b:ro\",\"/c:/d\"],"
                          "\"env\":{\"A\":\"1\"},\"tags\":{\"a\":[1,{\"b\":null}]},\"checkpoint\":{\"capture\":"
                          "\"command\",\"save\":[\"s\",\"t\"],\"load\":[\"l\"],"
                          "\"timeout\":\"5m\"},\"settings\":{\"idle\":false,\"ttl\":\"6h\"}}";
static const char yaml[] = "command: [a, b]\nenv:\n  A: x\n  B: y\ngpus: 2\nuser_ns: true\nsettings: {ttl: 6h}\n";

static json_t *parse(void)
{
        json_t *v = NULL;

        (void)js_parse(job, sizeof job - 1, &v, NULL);
        return v;
}

/* Each gives 0 and its result as text, or an error; *ret is NULL then. */
static int do_check(const json_t *raw, char **ret, struct pd_error *err)
{
        js_owned *faults = NULL, *out = NULL;
        struct spec *s = NULL;
        int r = spec_check(raw, &s, &faults, err);

        if (r == 0) {
                out = spec_to_json(s);
                r = out ? 0 : pd_fail(err, PD_E_NOMEM, "no memory");
        }
        spec_free(s);
        countdown = -1;
        *ret = out ? js_dump(out) : NULL;
        return r;
}

static int do_faults(const json_t *raw, char **ret, struct pd_error *err)
{
        js_owned *bad = json_pack("{s:s,s:i,s:s}", "name", "X Y", "gpus", 9, "nothing", ""), *faults = NULL;
        struct spec *s = NULL;
        int r = bad ? spec_check(bad, &s, &faults, err) : pd_fail(err, PD_E_NOMEM, "no memory");

        (void)raw;
        countdown = -1;
        *ret = r == -PD_E_INVALID ? js_dump(faults) : NULL;
        return r == -PD_E_INVALID ? 0 : r;
}

static int do_yaml(const json_t *raw, char **ret, struct pd_error *err)
{
        js_owned *out = NULL, *places = NULL;
        int r = spec_from_yaml_places(yaml, sizeof yaml - 1, "portal.yaml", &out, &places, err);

        (void)raw;
        countdown = -1;
        *ret = out ? js_dump(out) : NULL;
        return r;
}

static int do_flags(const json_t *raw, char **ret, struct pd_error *err)
{
        static const char *const flags[][2] = { { "-e", "A=1" }, { "--mount", "/a:/b" }, { "--cpus", "2" },
                { "--set", "ttl=6h" }, { "--checkpoint", "values" }, { "--gpus", "2" } };
        js_owned *out = json_object();
        int r = out ? 0 : pd_fail(err, PD_E_NOMEM, "no memory");

        (void)raw;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(flags); i++)
                r = spec_set_flag(out, spec_field_by_flag(flags[i][0]), flags[i][1], err);
        if (r == 0)
                r = spec_env_file(out, "B=2\nC=3\n", 8, "job.env", err);
        countdown = -1;
        *ret = r == 0 ? js_dump(out) : NULL;
        return r;
}

static int do_settings(const json_t *raw, char **ret, struct pd_error *err)
{
        const json_t *layers[SETTING_LEVEL_N] = { [SETTING_FILE] = json_object_get(raw, "settings") };
        js_owned *origins = NULL;
        struct settings s;
        int r = settings_resolve(layers, &s, &origins, err);

        countdown = -1;
        *ret = origins ? js_dump(origins) : NULL;
        return r;
}

static const struct {
        const char *name;
        int (*act)(const json_t *raw, char **ret, struct pd_error *err);
} acts[] = {
        { "a whole job is checked and written out", do_check },
        { "three faults are told", do_faults },
        { "a portal.yaml is read", do_yaml },
        { "flags and an env file are taken", do_flags },
        { "settings are resolved", do_settings },
};

/* UTF-8 and memory are one NULL to jansson, so a refused text may name the text: any refusal is right, a half result is not. */
static void test_act(size_t i)
{
        js_owned *raw = parse();
        pd_cleanup(freep) char *want = NULL;
        struct pd_error e = { 0 };
        long all, wrong = 0, refused = 0;

        calls = 0;
        countdown = -1;
        (void)tap_ok(acts[i].act(raw, &want, &e) == 0 && want, "%s %s", acts[i].name, e.text);
        all = calls;
        for (long n = 0; n < all; n++) {
                pd_cleanup(freep) char *got = NULL;
                int r;

                e = (struct pd_error){ 0 };
                countdown = n;
                r = acts[i].act(raw, &got, &e);
                countdown = -1;
                refused += r < 0;
                wrong += r < 0 ? got != NULL || !e.text[0] : !got || strcmp(got, want) != 0;
        }
        (void)tap_ok(
                wrong == 0, "... with no memory at each of %ld calls: the whole or nothing (%ld wrong)", all, wrong);
        (void)tap_ok(refused > 10, "... and it does matter: %ld refusals", refused);
}

int main(void)
{
        json_set_alloc_funcs(__wrap_malloc, free);
        for (size_t i = 0; i < ARRAY_LEN(acts); i++)
                test_act(i);
        return tap_done();
}
