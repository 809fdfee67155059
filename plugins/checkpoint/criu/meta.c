/* SPDX-License-Identifier: Apache-2.0 */
#include "meta.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "proc.h"

#define FORMAT 1

/* The first processor's feature words. */
static json_t *cpu_features(void)
{
        char *text = proc_text("/proc/cpuinfo"), *save = NULL;
        char *line = text ? strstr(text, "\nflags") : NULL;
        json_t *list = json_array();

        if (!line && text)
                line = strstr(text, "\nFeatures"); /* arm64 */
        line = line ? strchr(line, ':') : NULL;
        if (line) {
                line[strcspn(line, "\n")] = '\0';
                for (char *w = strtok_r(line + 1, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
                        (void)json_array_append_new(list, json_string(w));
        }
        free(text);
        return list;
}

json_t *meta_here(const char *criu, const char *crun, struct pd_error *err)
{
        struct utsname u;
        json_t *v = NULL;

        if (uname(&u) == 0)
                v = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o}", "format", FORMAT, "arch", u.machine, "kernel",
                        u.release, "criu", criu, "crun", crun, "cpu", cpu_features());
        if (!v)
                (void)pd_fail(err, PD_E_NOMEM, "no memory for the record of this machine");
        return v;
}

static const char *text_of(const json_t *v, const char *key)
{
        const char *text = json_string_value(json_object_get(v, key));

        return text ? text : "";
}

static bool has_feature(const json_t *list, const char *name)
{
        for (size_t i = 0; i < json_array_size(list); i++)
                if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
                        return true;
        return false;
}

static int features_fit(const json_t *saved, const json_t *here, struct pd_error *err)
{
        for (size_t i = 0; i < json_array_size(saved); i++) {
                const char *name = json_string_value(json_array_get(saved, i));

                if (!name)
                        return pd_fail(err, PD_E_CORRUPT, "its list of CPU features is none");
                if (!has_feature(here, name))
                        return pd_fail(err, PD_E_UNSUPPORTED,
                                "it was saved on a CPU with \"%.40s\", which this machine's lacks: choose another "
                                "machine",
                                name);
        }
        return 0;
}

int meta_fits(const json_t *saved, const json_t *here, struct pd_error *err)
{
        static const struct {
                const char *key, *what;
        } newer[] = { { "kernel", "kernel" }, { "criu", "criu" } };

        if (json_integer_value(json_object_get(saved, "format")) != FORMAT ||
                !json_is_array(json_object_get(saved, "cpu")))
                return pd_fail(err, PD_E_CORRUPT, "its %s is missing or of another format", META_FILE);
        if (strcmp(text_of(saved, "arch"), text_of(here, "arch")) != 0)
                return pd_fail(err, PD_E_UNSUPPORTED, "it was saved on %.20s, and this machine is %.20s",
                        text_of(saved, "arch"), text_of(here, "arch"));
        for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
                if (strverscmp(text_of(saved, newer[i].key), text_of(here, newer[i].key)) > 0)
                        return pd_fail(err, PD_E_UNSUPPORTED, "it was saved with %s %.50s, and this machine has %.50s",
                                newer[i].what, text_of(saved, newer[i].key), text_of(here, newer[i].key));
        return features_fit(json_object_get(saved, "cpu"), json_object_get(here, "cpu"), err);
}
