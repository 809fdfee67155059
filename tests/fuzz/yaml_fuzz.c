/* SPDX-License-Identifier: Apache-2.0 */
/* portal.yaml, whole: it gives an object that the check takes or refuses by place, or one sentence with file:line:column. What is taken has a
 * canonical form that says the same. */
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void judge_faults(json_t *faults, const json_t *places)
{
        json_t *f;
        size_t i;

        if (json_array_size(faults) == 0 || json_array_size(faults) > 20 || spec_place_faults(faults, places, NULL) < 0)
                abort();
        json_array_foreach (faults, i, f)
                if (!*js_str(f, "at", "") || !*js_str(f, "text", "") || !*js_str(f, "fix", ""))
                        abort();
}

static void judge_canonical(const struct spec *s)
{
        js_owned *once = spec_to_json(s), *twice = NULL;
        struct spec *again = NULL;

        if (!once || spec_check(once, &again, NULL, NULL) < 0)
                abort();
        twice = spec_to_json(again);
        if (!twice || !json_equal(once, twice))
                abort();
        spec_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        js_owned *raw = NULL, *places = NULL, *faults = NULL;
        struct spec *s = NULL;
        struct pd_error e = { 0 };

        if (spec_from_yaml_places((const char *)bytes, n, "portal.yaml", &raw, &places, &e) < 0) {
                if (raw || places || !str_starts(e.text, "portal.yaml") || !strchr(e.text, ' '))
                        abort();
                return 0;
        }
        if (!json_is_object(raw))
                abort();
        if (spec_check(raw, &s, &faults, &e) < 0) {
                if (s || !e.text[0])
                        abort();
                judge_faults(faults, places);
                return 0;
        }
        judge_canonical(s);
        spec_free(s);
        return 0;
}
