/* SPDX-License-Identifier: Apache-2.0 */
/* A capture may ask (checkpoint.h, restore: "prestart") for a command that runs to its end before the job's own. It runs in the job's own
 * container, as its first process, which then becomes the job's: same root filesystem, mounts, environment and limits, same pid. */
#include <sys/stat.h>
#include <unistd.h>

#include "runner/start.h"

/* One word for /bin/sh, in single quotes. */
static bool quote(const char *word, char **text, size_t *n)
{
        size_t need = *n + 3;
        char *more;

        for (const char *s = word; *s; s++)
                need += *s == '\'' ? 4 : 1;
        more = realloc(*text, need + 1);
        if (!more)
                return false;
        *text = more;
        more[(*n)++] = '\'';
        for (const char *s = word; *s; s++) {
                if (*s == '\'') {
                        memcpy(more + *n, "'\\''", 4);
                        *n += 4;
                } else {
                        more[(*n)++] = *s;
                }
        }
        more[(*n)++] = '\'';
        more[(*n)++] = ' ';
        more[*n] = '\0';
        return true;
}

/* The load command; when it fails the job does not begin, and its log says why. */
static json_t *with_load(const json_t *load, const json_t *args)
{
        pd_cleanup(freep) char *words = NULL;
        size_t n = 0, i;
        json_t *word, *all;

        json_array_foreach ((json_t *)(uintptr_t)load, i, word)
                if (!json_is_string(word) || !quote(json_string_value(word), &words, &n))
                        return NULL;
        if (!words)
                return NULL;
        all = json_pack("[s, s, o, s]", "/bin/sh", "-c",
                json_sprintf("%s|| { e=$?; echo \"portal: the load command failed with exit code $e\" >&2; exit $e; }; "
                             "exec \"$@\"",
                        words),
                "sh");
        (void)json_array_extend(all, (json_t *)(uintptr_t)args);
        return all;
}

int prestart_into_bundle(struct job *j, const char *text, struct pd_error *err)
{
        pd_cleanup(freep) char *file = job_gen(j, "bundle/config.json");
        pd_cleanup(freep) char *shell = job_gen(j, "rootfs/bin/sh");
        js_owned *load = NULL;
        js_owned *config = NULL;
        json_t *process, *args;
        struct stat st;
        int r;

        if (!file || !shell)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = js_parse(text, strlen(text), &load, err)) < 0 || (r = disk_read_json(file, &config, err)) < 0)
                return r;
        if (lstat(shell, &st) < 0)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "checkpoint.load needs /bin/sh, which the image lacks: let the "
                        "program itself load when PORTAL_RESUMED is 1");
        process = json_object_get(config, "process");
        args = with_load(load, json_object_get(process, "args"));
        if (!args || json_object_set_new(process, "args", args) < 0)
                return pd_fail(err, PD_E_INVALID, "the capture's command before the start is no list of words");
        if (stat(file, &st) < 0 || (r = disk_write_json(file, config, err)) < 0)
                return r < 0 ? r : pd_fail(err, PD_E_IO, "cannot read %s: %m", file);
        if (chown(file, st.st_uid, st.st_gid) < 0 || chmod(file, st.st_mode & 07777) < 0)
                return pd_fail(err, PD_E_IO, "cannot set the owner of %s: %m", file);
        return 0;
}
