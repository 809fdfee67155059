/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define SHOWN_MAX 8 /* values of one log: the first say why, the rest follows from them */

static const struct {
        const char *says, *type, *fix;
} words[] = {
        { "onnected TCP socket", "established TCP connection", "close it before the save and connect again after" },
        { "xternal socket", "outside unix socket", "close it before the save and connect again after" },
        { "file locks", "file lock", "release it before the save" },
        { "io_uring", "io_uring", "turn io_uring off in the program" },
        { "inotify", "inotify watch", "remove the watch before the save" },
        { "ghost", "deleted file", "give the file a name, or close it" },
        { "lookup mount", "file from outside", "open it inside the container, or give it to the job as a mount" },
        { "tty", "terminal", "run the program without a terminal" },
        { "namespace", "nested namespace", "end the process that made it before the save" },
        { "fanotify", "fanotify watch", "remove the watch before the save" },
        { "mnt:", "mount", "unmount it before the save" },
};

const char *log_fix(const char *text, const char **ret_type)
{
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcasestr(text, words[i].says)) {
                        *ret_type = words[i].type;
                        return words[i].fix;
                }
        *ret_type = "what criu names";
        return "see what the text names, end it before the save, or use checkpoint values or command";
}

bool log_harmless(const char *text)
{
        return strstr(text, "rlimit: Can't setup RLIMIT_NOFILE for self") || strstr(text, "Dumping FAILED") ||
               strstr(text, "Restoring FAILED");
}

void log_first_error(const char *path, const char *tail, char *ret, size_t n)
{
        FILE *f = path ? fopen(path, "re") : NULL;
        char line[1024];
        const char *text;
        bool found = false;

        while (f && !found && fgets(line, sizeof line, f)) {
                line[strcspn(line, "\n")] = '\0';
                found = parse_log(line, &text) == LOG_ERROR && !log_harmless(text);
                if (found)
                        capture_text(ret, n, text, "");
        }
        if (f)
                (void)fclose(f);
        if (!found)
                capture_text(ret, n, tail, "it says nothing");
}

int log_values(const char *path, bool dropped, pd_value_fn each, void *arg, size_t *ret_n)
{
        FILE *f = fopen(path, "re");
        char line[1024];
        const char *text, *type, *fix;
        int r = 0;

        *ret_n = 0;
        while (f && r == 0 && fgets(line, sizeof line, f)) {
                line[strcspn(line, "\n")] = '\0';
                if (parse_log(line, &text) != (dropped ? LOG_DROPPED : LOG_ERROR) || log_harmless(text) ||
                        ++*ret_n > SHOWN_MAX)
                        continue;
                fix = log_fix(text, &type);
                r = capture_value(each, arg, text, type,
                        dropped ? "criu says that it left this out" : "criu refused to carry it", fix);
        }
        if (f)
                (void)fclose(f);
        return r;
}
