/* SPDX-License-Identifier: Apache-2.0 */
/* The other ways in, by the first byte: '{' or '[' a JSON body, '-' lines of "--flag value", '=' an env file. Whatever comes, it is a job whose
 * canonical form says the same, or a refusal with place and sentence that changed nothing. */
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void judge_settings(const json_t *settings)
{
        const json_t *layers[SETTING_LEVEL_N] = { [SETTING_FILE] = settings };
        js_owned *origins = NULL;
        struct pd_error e = { 0 };
        struct settings s;

        /* each value was checked; only a rule on several of them can still refuse */
        if (settings_resolve(layers, &s, &origins, &e) == 0 ? json_object_size(origins) != setting_rows_n
                                                            : !e.subject[0])
                abort();
}

static void judge_job(const struct spec *s)
{
        js_owned *once = spec_to_json(s), *twice = NULL;
        struct spec *again = NULL;

        if (!once || !s->command || !s->command[0] || s->cpu_milli <= 0 || s->memory_bytes == 0)
                abort();
        if (s->gpus < 0 || s->gpus > 16 || (s->gpus > 8 && s->gpus < 16))
                abort();
        if (spec_check(once, &again, NULL, NULL) < 0)
                abort();
        twice = spec_to_json(again);
        if (!twice || !json_equal(once, twice))
                abort();
        judge_settings(s->settings);
        spec_free(again);
}

static void judge_raw(const json_t *raw)
{
        js_owned *faults = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };
        json_t *f;
        size_t i;

        if (spec_check(raw, &s, &faults, &e) == 0) {
                judge_job(s);
                spec_free(s);
                return;
        }
        if (s || !e.text[0] || !e.subject[0] || json_array_size(faults) == 0 || json_array_size(faults) > 20)
                abort();
        json_array_foreach (faults, i, f)
                if (!*js_str(f, "at", "") || !*js_str(f, "text", "") || !*js_str(f, "fix", ""))
                        abort();
}

static void try_body(const char *text, size_t n)
{
        js_owned *raw = NULL;
        struct pd_error e = { 0 };

        if (js_parse(text, n, &raw, &e) == 0)
                judge_raw(raw);
}

/* "--flag value"; a flag that no row has sets a setting of that name, as --ttl does. */
static void try_flag(json_t *raw, const char *line)
{
        const char *space = strchr(line, ' ');
        char flag[32];
        js_owned *before = json_deep_copy(raw);
        const struct spec_field *f;
        struct pd_error e = { 0 };

        if (!space || (size_t)(space - line) >= sizeof flag)
                return;
        (void)str_format(flag, sizeof flag, "%.*s", (int)(space - line), line);
        f = spec_field_by_flag(flag);
        if (!f)
                f = spec_field_find(flag + strspn(flag, "-"));
        if (!f)
                (void)setting_check(flag + strspn(flag, "-"), space + 1, &e);
        else if (spec_set_flag(raw, f, space + 1, &e) < 0 && (!e.text[0] || !json_equal(before, raw)))
                abort();
}

static void try_flags(const char *text)
{
        js_owned *raw = json_pack("{s:[s]}", "command", "true");
        char *copy = strdup(text), *rest = copy, *line;

        while (copy && (line = strsep(&rest, "\n")))
                try_flag(raw, line);
        free(copy);
        judge_raw(raw);
}

static const char *getter(void *arg, const char *name)
{
        (void)arg;
        return name[0] == 'A' ? "from outside" : NULL;
}

static void try_env(const char *text, size_t n)
{
        js_owned *raw = json_pack("{s:[s]}", "command", "true"), *given = json_object();
        struct pd_error e = { 0 };

        if (spec_env_file(raw, text, n, "job.env", &e) < 0) {
                if (!str_starts(e.text, "job.env") || json_object_get(raw, "env"))
                        abort();
        }
        (void)spec_env_file_from(given, text, n, "job.env", getter, NULL, &e);
        judge_raw(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        pd_cleanup(freep) char *text = malloc(n + 1);

        if (!text || n == 0)
                return 0;
        memcpy(text, bytes, n);
        text[n] = '\0';
        if (text[0] == '-')
                try_flags(text);
        else if (text[0] == '=')
                try_env(text + 1, n - 1);
        else
                try_body(text, n);
        return 0;
}
