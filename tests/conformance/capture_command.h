/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `command`, with a runtime that only does what `exec` needs, and real programs that take signals. */
#ifndef TESTS_CAPTURE_COMMAND_H
#define TESTS_CAPTURE_COMMAND_H

#include <spawn.h>
#include <sys/wait.h>

#include "capture_suite.h"

extern char **environ;

/* RUNTIME --root ROOT exec --process FILE --pid-file FILE ID: what it is asked for, as runc and crun do it. */
static const char runtime[] =
        "#!/usr/bin/env python3\n"
        "import json, os, sys\n"
        "a = sys.argv[1:]\n"
        "if a[0] != '--root' or a[2:4] != ['exec', '--process'] or a[5] != '--pid-file' or a[7:] != ['c1']:\n"
        "    sys.exit('no such container: %s' % a)\n"
        "p = json.load(open(a[4]))\n"
        "if p['terminal'] or p['user'] != {'uid': 0} or os.stat(a[4]).st_mode & 0o77:\n"
        "    sys.exit('not the process of the bundle: %s' % p)\n"
        "open(a[6], 'w').write(str(os.getpid()))\n"
        "os.execve(p['args'][0], p['args'], dict(e.split('=', 1) for e in p['env']))\n";
static const char config[] =
        "{\"process\":{\"args\":[\"job\"],\"env\":[\"PATH=/usr/bin:/bin\",\"SECRET=1\"],\"user\":{\"uid\":0},"
        "\"terminal\":true}}";

static void set(struct capture *x, ...)
{
        va_list ap;
        const char *key;

        json_object_clear(x->j.settings);
        va_start(ap, x);
        while ((key = va_arg(ap, const char *)))
                (void)json_object_set_new(x->j.settings, key, json_string(va_arg(ap, const char *)));
        va_end(ap);
}

static void set_script(struct capture *x, const char *script)
{
        set(x, "save.0", "/bin/sh", "save.1", "-c", "save.2", script, "timeout", "5s", NULL);
}

static void clear_ckpt(const struct capture *x)
{
        remove_tree(x->j.ckpt);
        (void)mkdir(x->j.ckpt, 0700);
}

static const struct {
        const char *name;
        const char *settings[4][2];
        const char *subject;
} bad_settings[] = {
        { "nothing at all", { { NULL } }, "save" },
        { "a signal without a done-file", { { "signal", "SIGUSR1" } }, "done_file" },
        { "a signal that nobody saves on", { { "signal", "SIGKILL" }, { "done_file", "d" } }, "signal" },
        { "both ways to save", { { "signal", "USR1" }, { "done_file", "d" }, { "save.0", "x" } }, "signal" },
        { "a gap in a command", { { "save.0", "x" }, { "save.2", "y" } }, "save.2" },
        { "a done-file that goes up", { { "signal", "USR1" }, { "done_file", "a/../../b" } }, "done_file" },
        { "a done-file from the root", { { "signal", "USR1" }, { "done_file", "/etc/x" } }, "done_file" },
        { "a timeout without a unit", { { "save.0", "x" }, { "timeout", "5" } }, "timeout" },
        { "a timeout of nothing", { { "save.0", "x" }, { "timeout", "0s" } }, "timeout" },
};

static void test_settings(struct capture *x)
{
        struct reply r = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(bad_settings); i++) {
                json_object_clear(x->j.settings);
                for (size_t k = 0; k < 4 && bad_settings[i].settings[k][0]; k++)
                        (void)json_object_set_new(x->j.settings, bad_settings[i].settings[k][0],
                                json_string(bad_settings[i].settings[k][1]));
                (void)capture_call(x, &r, "precheck", -1);
                tap_ok(r.rc == -PD_E_INVALID && streq(r.err.subject, bad_settings[i].subject),
                        "%s: %s is refused by name: %s", x->s->how, bad_settings[i].name, r.err.text);
        }
        reply_clear(&r);
}

static const struct {
        const char *name, *script, *type, *reason;
} refusals[] = {
        { "a command that fails", "echo bad luck >&2; exit 3", "exit code 3", "bad luck" },
        { "a command that is killed", "kill -9 $$", "ended by signal 9", "it failed" },
        { "a command that writes nothing", "true", "command", "wrote nothing into PORTAL_CHECKPOINT_DIR" },
        { "a command that only makes folders", "mkdir -p \"$PORTAL_CHECKPOINT_DIR/a/b\"", "command", "wrote nothing" },
        { "a command that never ends", "exec cat /dev/zero >/dev/null", "command", "timeout" },
        { "a command that leaves a fifo",
                "echo x >\"$PORTAL_CHECKPOINT_DIR/x\"; mkfifo \"$PORTAL_CHECKPOINT_DIR/pipe\"", "file", "fifo" },
};

static void test_refusals(struct capture *x)
{
        struct reply r = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
                int stage = capture_stage(x);
                pd_cleanup(freep) char *frozen = NULL;

                clear_ckpt(x);
                set_script(x, refusals[i].script);
                if (strstr(refusals[i].name, "never"))
                        (void)json_object_set_new(x->j.settings, "timeout", json_string("300ms"));
                (void)capture_call(x, &r, "save", stage);
                frozen = read_text(x->j.cgroup, "cgroup.freeze");
                if (!tap_ok(r.rc == -PD_E_REFUSED && json_array_size(r.items) == 1 &&
                                    streq(js_str(json_array_get(r.items, 0), "type", ""), refusals[i].type) &&
                                    strstr(js_str(json_array_get(r.items, 0), "reason", ""), refusals[i].reason) &&
                                    *r.err.subject && streq(frozen, "0\n"),
                            "%s: P-21 %s is refused by name, and the job runs on", x->s->how, refusals[i].name)) {
                        pd_cleanup(freep) char *text = js_dump(r.items);

                        tap_note("%s: %s: %s", pd_code_name((enum pd_code) - r.rc), r.err.text, text);
                }
                (void)safe_close(stage);
        }
        reply_clear(&r);
}

static void test_carries(struct capture *x)
{
        struct reply r = { 0 };
        int stage = capture_stage(x);
        pd_cleanup(freep) char *frozen = NULL, *state = NULL, *thawed = NULL, *again = NULL, *load = NULL;
        char path[600], target[64] = "";

        clear_ckpt(x);
        set_script(x, "cd \"$PORTAL_CHECKPOINT_DIR\" && mkdir -p a/b && echo 42 >a/b/state && ln -s a/b latest && ln "
                      "-s /etc/passwd out");
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_OK, "save() by a command");
        frozen = read_text(x->j.cgroup, "cgroup.freeze");
        state = read_text(x->stage, "a/b/state");
        (void)snprintf(path, sizeof path, "%s/out", x->stage);
        tap_ok(streq(frozen, "1\n") && streq(state, "42\n") && readlink(path, target, sizeof target - 1) > 0 &&
                        streq(target, "/etc/passwd"),
                "%s: the job stands still, and what it wrote is carried: folders as folders, links as links",
                x->s->how);
        (void)capture_call(x, &r, "resume", -1);
        thawed = read_text(x->j.cgroup, "cgroup.freeze");
        tap_ok(r.rc == 0 && streq(thawed, "0\n"), "%s: resume() lets it go", x->s->how);
        set_script(x, "true");
        {
                int other = open(x->j.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                (void)capture_call(x, &r, "save", other);
                tap_ok(r.rc == -PD_E_REFUSED && strstr(r.err.text, "left PORTAL_CHECKPOINT_DIR as it was"),
                        "%s: a later save that writes nothing is no save, whatever was there before: %s", x->s->how,
                        r.err.text);
                (void)safe_close(other);
        }
        set(x, "save.0", "x", "load.0", "python3", "load.1", "load \"it\"", NULL);
        write_text(x->j.ckpt, "older", "x", 1);
        (void)capture_call(x, &r, "restore", stage);
        load = strdup(js_str(r.text, "prestart", ""));
        again = read_text(x->j.ckpt, "a/b/state");
        (void)snprintf(path, sizeof path, "%s/older", x->j.ckpt);
        tap_ok(r.rc == 0 && streq(again, "42\n") && access(path, F_OK) < 0,
                "%s: restore() lays out the checkpoint and nothing else: %s", x->s->how, r.err.text);
        tap_str(load, "[\"python3\",\"load \\\"it\\\"\"]", "... and asks for the load command before the start");
        (void)safe_close(stage);
        reply_clear(&r);
}

static void test_runtime(struct capture *x)
{
        struct reply r = { 0 };
        int stage = capture_stage(x);
        const char *kept = x->j.runtime;
        char cgroup[sizeof x->j.cgroup];

        set_script(x, "echo 1 >\"$PORTAL_CHECKPOINT_DIR/x\"");
        x->j.runtime = "/no/such/runtime";
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_E_IO, "save() without its runtime");
        x->j.runtime = kept;
        (void)snprintf(cgroup, sizeof cgroup, "%s", x->j.cgroup);
        (void)snprintf(x->j.cgroup, sizeof x->j.cgroup, "/no/such/cgroup");
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_E_UNSUPPORTED, "save() where nothing can be frozen is refused before the command runs");
        (void)snprintf(x->j.cgroup, sizeof x->j.cgroup, "%s", cgroup);
        (void)safe_close(stage);
        reply_clear(&r);
}

/* ---- signals ---- */

static int32_t start_program(const struct capture *x, const char *program)
{
        const char *argv[] = { "python3", "-c", program, x->j.ckpt, NULL };
        char ready[600];
        pid_t pid = -1;

        (void)snprintf(ready, sizeof ready, "%s/../ready", x->j.ckpt);
        (void)unlink(ready);
        if (posix_spawnp(&pid, "python3", NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
                return 0;
        for (int i = 0; i < 10000 && access(ready, F_OK) < 0 && kill(pid, 0) == 0; i++)
                (void)sd_event_run(x->s->loop, 2000);
        return pid;
}

static void end_program(struct capture *x)
{
        if (x->j.pid > 0) {
                (void)kill(x->j.pid, SIGKILL);
                (void)waitpid(x->j.pid, NULL, 0);
        }
        x->j.pid = 0;
}

#define READY "open(sys.argv[1] + '/../ready', 'w').close()\n"
#define HANDLES(body_)             \
        "import os, signal, sys\n" \
        "d = sys.argv[1] + '/'\n"  \
        "def save(*_):\n" body_ "signal.signal(signal.SIGUSR1, save)\n" READY "while True: signal.pause()\n"
#define WRITES "    open(d + 'state', 'w').write('7')\n"
#define NO_HANDLER "import os, signal, sys\n" READY "while True: signal.pause()\n"

static const struct {
        const char *name, *program, *done_file, *slot;
        enum pd_code want;
        const char *has;
} signals[] = {
        { "a handler that writes its state and the done-file", HANDLES(WRITES "    open(d + 'done', 'w').close()\n"),
                "done", "save", PD_OK, "" },
        { "a done-file in a folder", HANDLES(WRITES "    os.mkdir(d + 'a')\n    open(d + 'a/done', 'w').close()\n"),
                "a/done", "save", PD_OK, "" },
        { "a handler that never writes the done-file", HANDLES(WRITES), "done", "save", PD_E_REFUSED,
                "did not write it after the signal" },
        { "a program that ends on the signal", NO_HANDLER, "done", "save", PD_E_CONFLICT, "ended on SIGUSR1" },
        { "a program without a handler", NO_HANDLER, "done", "precheck", PD_E_REFUSED, "no handler" },
        { "a program with one", HANDLES(WRITES), "done", "precheck", PD_OK, "" },
};

static void test_signals(struct capture *x)
{
        struct reply r = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
                bool save = streq(signals[i].slot, "save");
                int stage = capture_stage(x);
                pd_cleanup(freep) char *state = NULL;

                clear_ckpt(x);
                set(x, "signal", "SIGUSR1", "done_file", signals[i].done_file, "timeout", "1s", NULL);
                x->j.pid = start_program(x, signals[i].program);
                (void)capture_call(x, &r, signals[i].slot, save ? stage : -1);
                state = read_text(x->stage, "state");
                tap_ok(r.rc == -(int)signals[i].want && strstr(r.err.text, signals[i].has) &&
                                (!save || r.rc < 0 || streq(state, "7")),
                        "%s: %s(): %s: %s", x->s->how, signals[i].slot, signals[i].name, r.err.text);
                (void)capture_call(x, &r, "abort", -1);
                end_program(x);
                (void)safe_close(stage);
        }
        reply_clear(&r);
}

static void test_precheck_path(struct capture *x)
{
        struct reply r = { 0 };

        x->j.pid = (int32_t)getpid();
        set(x, "save.0", "/no/such/save", NULL);
        (void)capture_call(x, &r, "precheck", -1);
        tap_ok(r.rc == -PD_E_REFUSED && streq(r.err.subject, "save command: /no/such/save"),
                "%s: P-20 precheck() of a command that is not there: %s", x->s->how, r.err.text);
        set(x, "save.0", "/bin/sh", NULL);
        (void)capture_call(x, &r, "precheck", -1);
        suite_is(x->s, &r, PD_OK, "precheck() of one that is");
        x->j.pid = 0;
        reply_clear(&r);
}

static void test_command(struct capture *x)
{
        char path[300];

        (void)snprintf(path, sizeof path, "%s/runtime", x->j.dir);
        write_text(x->j.dir, "runtime", runtime, strlen(runtime));
        write_text(x->j.dir, "config.json", config, strlen(config));
        (void)chmod(path, 0700);
        x->j.runtime = path;
        test_settings(x);
        test_precheck_path(x);
        if (!*x->j.cgroup) {
                tap_skip("save() by a command or a signal", "no cgroup v2 tree to write to here");
        } else {
                test_refusals(x);
                test_carries(x);
                test_runtime(x);
                test_signals(x);
        }
        x->j.runtime = "/bin/false";
}

#endif
