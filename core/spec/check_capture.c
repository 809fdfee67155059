/* SPDX-License-Identifier: Apache-2.0 */
/* `checkpoint`: a capture's name, or an object that also says how the job itself saves and loads. */
#include "spec/check.h"

#include <stdio.h>

#define CAPTURE_FIX "write values, command, criu or restart"
#define COMMAND_FIX                                                                                                   \
        "write {\"capture\": \"command\", \"save\": [\"./save.sh\"], \"load\": [\"./load.sh\"]}, or \"signal\" with " \
        "\"done_file\""
#define WORDS_MOST 64
#define TIMEOUT_LEAST USEC_PER_SEC
#define TIMEOUT_MOST USEC_PER_DAY

/* One member of the object into s->capture_settings. */
struct capture_member {
        const char *name;
        void (*take)(struct check *c, const char *at, const char *name, const json_t *v, struct spec *s);
        bool of_command; /* only the capture `command` has it */
};

static void put(struct check *c, struct spec *s, const char *key, const char *text)
{
        check_json(c, json_object_set_new(s->capture_settings, key, json_string(text)) == 0);
}

/* "save.0", "save.1" ...: a plugin's settings are flat. */
static void take_commands(struct check *c, const char *at, const char *name, const json_t *v, struct spec *s)
{
        char key[48];

        if (!check_argv(c, at, v))
                return;
        if (json_array_size(v) > WORDS_MOST) {
                check_fault(c, at, "put it into a script", "it has %zu words, and at most %d are allowed",
                        json_array_size(v), WORDS_MOST);
                return;
        }
        for (size_t i = 0; i < json_array_size(v); i++) {
                (void)str_format(key, sizeof key, "%s.%zu", name, i);
                put(c, s, key, json_string_value(json_array_get(v, i)));
        }
}

static const char *text_member(struct check *c, const char *at, const json_t *v, const char *fix)
{
        if (!json_is_string(v))
                check_fault_type(c, at, v, "a text", fix);
        return json_string_value(v);
}

static void take_signal(struct check *c, const char *at, const char *name, const json_t *v, struct spec *s)
{
        static const char *const known[] = { "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM",
                "SIGWINCH" };
        const char *fix = "write SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM or SIGWINCH";
        const char *text = text_member(c, at, v, fix);
        char shown[SHOWN_MAX];

        for (size_t i = 0; text && i < ARRAY_LEN(known); i++)
                if (streq(text, known[i]) || streq(text, known[i] + 3)) {
                        put(c, s, name, known[i]);
                        return;
                }
        if (text)
                check_fault(c, at, fix, "\"%s\" is no signal that a program can save on", check_shown(text, shown));
}

/* A file inside of the checkpoint directory: relative, and no part of it empty, "." or "..". */
static bool inside(const char *path)
{
        if (*path == '\0' || strlen(path) > 255)
                return false;
        for (const char *s = path; s; s = strchr(s, '/'), s = s ? s + 1 : NULL) {
                size_t n = strcspn(s, "/");

                if (n == 0 || (n <= 2 && strspn(s, ".") >= n))
                        return false;
        }
        return true;
}

static void take_done_file(struct check *c, const char *at, const char *name, const json_t *v, struct spec *s)
{
        const char *fix = "write a file name in the checkpoint directory, for example done";
        const char *text = text_member(c, at, v, fix);
        char shown[SHOWN_MAX];

        if (!text)
                return;
        if (!inside(text))
                check_fault(c, at, fix, "\"%s\" is no path of 1 to 255 bytes inside of the checkpoint directory",
                        check_shown(text, shown));
        else
                put(c, s, name, text);
}

/* A plugin reads it too, and knows whole milliseconds only. */
static void take_timeout(struct check *c, const char *at, const char *name, const json_t *v, struct spec *s)
{
        const char *text = text_member(c, at, v, "write a duration in quotes, for example \"5m\"");
        char shown[SHOWN_MAX], canonical[QUANTITY_MAX];
        struct pd_error e;
        int64_t us;

        if (!text)
                return;
        if (duration_parse(text, &us, &e) < 0)
                check_fault_error(c, at, &e);
        else if (us < TIMEOUT_LEAST || us > TIMEOUT_MOST || us % USEC_PER_MSEC)
                check_fault(c, at, "write a duration from 1s to 1d in whole milliseconds, for example 5m",
                        "\"%s\" is out of bounds, or too fine", check_shown(text, shown));
        else
                put(c, s, name, duration_format(us, canonical));
}

static const struct capture_member members[] = {
        { "save", take_commands, true },
        { "load", take_commands, true },
        { "signal", take_signal, true },
        { "done_file", take_done_file, true },
        { "timeout", take_timeout, false },
};

static void take_capture_name(
        struct check *c, const struct spec_field *f, const char *at, const json_t *v, struct spec *s)
{
        static const char *const names[] = { "values", "command", "criu", "restart", NULL };
        const char *text = json_string_value(v), *near;
        char shown[SHOWN_MAX], fix[96] = CAPTURE_FIX;

        if (!text) {
                check_fault_type(c, at, v, "the name of a capture", fix);
                return;
        }
        for (size_t i = 0; names[i]; i++)
                if (streq(names[i], text)) {
                        check_keep(c, check_member(s, f, char *), text);
                        return;
                }
        near = str_nearest(text, names);
        if (near)
                (void)str_format(fix, sizeof fix, CAPTURE_FIX "; \"%s\" is the nearest", near);
        check_fault(c, at, fix, "\"%s\" is no capture that a job can choose", check_shown(text, shown));
}

static void take_member(struct check *c, const struct spec_field *f, const char *key, const json_t *v, struct spec *s)
{
        const char *names[ARRAY_LEN(members) + 2] = { "capture" };
        char place[AT_MAX], shown[SHOWN_MAX], fix[160];
        const char *near;

        (void)check_at(place, f->name, key);
        if (streq(key, "capture")) {
                take_capture_name(c, f, place, v, s);
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
                if (streq(members[i].name, key)) {
                        members[i].take(c, place, key, v, s);
                        return;
                }
                names[i + 1] = members[i].name;
        }
        near = str_nearest(key, names);
        (void)str_format(
                fix, sizeof fix, near ? "write \"%s\", if that is what was meant" : "remove it%s", near ? near : "");
        check_fault(c, place, fix, "\"%s\" is nothing that a checkpoint has", check_shown(key, shown));
}

/* What must and may stand beside each other, once each member is right by itself. */
static void check_together(struct check *c, const char *at, const json_t *v, const struct spec *s)
{
        bool save = json_object_get(v, "save") != NULL, signal = json_object_get(v, "signal") != NULL;
        char place[AT_MAX];

        if (!streq(s->capture, "command")) {
                for (size_t i = 0; i < ARRAY_LEN(members); i++)
                        if (members[i].of_command && json_object_get(v, members[i].name))
                                check_fault(c, check_at(place, at, members[i].name),
                                        "remove it, or write \"capture\": \"command\"",
                                        "the capture \"%s\" does not have it", s->capture);
        } else if (save == signal) {
                check_fault(c, at, COMMAND_FIX,
                        save ? "\"command\" has both save and signal"
                             : "\"command\" says neither how to save nor which signal to send");
        } else if (signal && !json_object_get(v, "done_file")) {
                check_fault(c, at, "write also \"done_file\": the file that the job writes once it has saved",
                        "a signal alone does not say when the job has saved");
        }
}

void take_checkpoint(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        size_t before = c->n;
        const char *key;
        json_t *item;

        if (json_is_object(v)) {
                json_object_foreach ((json_t *)(uintptr_t)v, key, item)
                        take_member(c, f, key, item, s);
                if (!json_object_get(v, "capture"))
                        check_fault(c, f->name, "write also \"capture\": values, command, criu or restart",
                                "it does not say which capture");
        } else {
                take_capture_name(c, f, f->name, v, s);
        }
        if (c->n == before && s->capture)
                check_together(c, f->name, v, s);
}
