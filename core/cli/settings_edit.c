/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as lines of text in the user's editor: what differs afterwards is the change. */
#include "cli/settings_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int settings_edit_pair(json_t *into, const char *pair, const char *what, struct pd_error *err)
{
        size_t n = strcspn(pair, "=");
        struct pd_error why;
        char key[64];

        if (!pair[n] || n == 0 || n >= sizeof key)
                return pd_fail(err, PD_E_INVALID, "%s \"%.60s\" is not KEY=VALUE: write for example idle.after=1h",
                        what, pair);
        (void)str_format(key, sizeof key, "%.*s", (int)n, pair);
        if (setting_check(key, pair + n + 1, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "%s %.40s: %s", what, key, why.text);
        if (json_object_set_new(into, key, json_string(pair + n + 1)) < 0)
                return pd_fail(
                        err, PD_E_INVALID, "%s %.40s: the value is not UTF-8 text: write it in UTF-8", what, key);
        return 0;
}

static void write_lines(FILE *to, const json_t *settings)
{
        const json_t *s;
        size_t i;

        (void)fprintf(to, "# One KEY=VALUE a line; a line that is taken away, or begins with #, is not set.\n");
        json_array_foreach ((json_t *)(uintptr_t)settings, i, s) {
                const char *set = js_str(s, "set", NULL);

                (void)fprintf(to, "\n# %s\n%s%s=%s\n", js_str(s, "help", ""), set ? "" : "#", js_str(s, "key", "?"),
                        str_or(set, js_str(s, "value", "")));
        }
}

static int run_editor(const char *path, struct pd_error *err)
{
        const char *editor = getenv("VISUAL");
        char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", NULL, (char *)(uintptr_t) "sh",
                (char *)(uintptr_t)path, NULL };
        char command[512];
        int status = -1, r;
        pid_t pid;

        if (!editor || !*editor)
                editor = getenv("EDITOR");
        if (!editor || !*editor)
                editor = "vi";
        (void)str_format(command, sizeof command, "%s \"$1\"", editor);
        argv[2] = command;
        r = posix_spawnp(&pid, "sh", NULL, NULL, argv, environ);
        if (r == 0)
                while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                        ;
        if (r != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return pd_fail(err, PD_E_INVALID,
                        "the editor \"%.60s\" failed: nothing was changed; set EDITOR, or use `portal settings set`",
                        editor);
        return 0;
}

static int read_lines(FILE *from, json_t *into, struct pd_error *err)
{
        char line[512], what[24];
        int r = 0;

        for (int number = 1; r == 0 && fgets(line, sizeof line, from); number++) {
                line[strcspn(line, "\r\n")] = '\0';
                (void)str_format(what, sizeof what, "line %d:", number);
                if (line[0] != '\0' && line[0] != '#')
                        r = settings_edit_pair(into, line, what, err);
        }
        return r;
}

static json_t *difference(const json_t *settings, const json_t *edited)
{
        json_t *changes = json_object();
        const json_t *s;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)settings, i, s) {
                const char *key = js_str(s, "key", ""), *was = js_str(s, "set", NULL), *is = js_str(edited, key, NULL);

                if (!is && was)
                        (void)json_object_set_new(changes, key, json_null());
                else if (is && (!was || !streq(is, was)))
                        (void)json_object_set_new(changes, key, json_string(is));
        }
        return changes;
}

int settings_edit(const json_t *settings, json_t **ret_changes, struct pd_error *err)
{
        char path[] = "/tmp/portal-settings-XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC), r = 0;
        FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
        js_owned *edited = json_object();

        if (!file)
                return pd_fail(err, PD_E_IO, "%s cannot be made: %s", path, strerror(errno));
        write_lines(file, settings);
        if (fclose(file) != 0)
                r = pd_fail(err, PD_E_IO, "%s cannot be written: %s", path, strerror(errno));
        if (r == 0)
                r = run_editor(path, err);
        if (r == 0) {
                file = fopen(path, "re"); /* an editor may have put another file in its place */
                r = file ? read_lines(file, edited, err) : pd_fail(err, PD_E_IO, "%s: %s", path, strerror(errno));
                if (file)
                        (void)fclose(file);
        }
        (void)unlink(path);
        if (r == 0)
                *ret_changes = difference(settings, edited);
        return r;
}
