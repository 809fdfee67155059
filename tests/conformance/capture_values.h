/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `values` against scripted programs, and against a real one. */
#ifndef TESTS_CAPTURE_VALUES_H
#define TESTS_CAPTURE_VALUES_H

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include "capture_suite.h"

#define OK_LINE "{\"ok\":true}\n"
#define SAVED "{\"note\":\"threads run on\"}\n{\"ok\":true,\"save\":\"0a1b\",\"bytes\":9,\"progress\":\"step 120\"}\n"

static uint32_t crc32_of(const char *data, size_t n)
{
        uint32_t crc = ~UINT32_C(0);

        for (size_t i = 0; i < n; i++) {
                crc ^= (unsigned char)data[i];
                for (int k = 0; k < 8; k++)
                        crc = (crc >> 1) ^ (UINT32_C(0xEDB88320) & (0u - (crc & 1u)));
        }
        return ~crc;
}

/* A manifest that is right in itself, with the given lines. */
static void write_manifest(const char *dir, const char *lines)
{
        char text[1024];

        (void)snprintf(text, sizeof text, "portal-values 1 %08x\n%s", crc32_of(lines, strlen(lines)), lines);
        write_text(dir, "manifest", text, strlen(text));
}

#define LINES "save 0a1b\nby test\nfile v-0a1b-0.bin 9 "
static void write_good(const char *dir)
{
        char lines[256];

        write_text(dir, "v-0a1b-0.bin", "nine byte", 9);
        (void)snprintf(lines, sizeof lines, LINES "%08x\ntree 0\n", crc32_of("nine byte", 9));
        write_manifest(dir, lines);
}

/* ---- what the program may do to a save ---- */

static void no_manifest(const char *dir)
{
        char path[600];

        (void)snprintf(path, sizeof path, "%s/manifest", dir);
        (void)unlink(path);
}

static void other_save(const char *dir)
{
        char lines[256];

        (void)snprintf(lines, sizeof lines, "save ffff\nfile v-0a1b-0.bin 9 %08x\n", crc32_of("nine byte", 9));
        write_manifest(dir, lines);
}

static void shorter(const char *dir)
{
        write_text(dir, "v-0a1b-0.bin", "nine byt", 8);
}

static void flipped(const char *dir)
{
        write_text(dir, "v-0a1b-0.bin", "nine bytE", 9);
}

static void manifest_flipped(const char *dir)
{
        write_text(dir, "manifest", "portal-values 1 00000000\nsave 0a1b\n", 35);
}

static void manifest_newer(const char *dir)
{
        write_text(dir, "manifest", "portal-values 2 00000000\nsave 0a1b\n", 35);
}

static void replace(const char *dir, const char *name, const char *link, bool fifo)
{
        char path[600];

        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        (void)unlink(path);
        if (fifo ? mkfifo(path, 0600) < 0 : symlink(link, path) < 0)
                tap_note("%s: %s", path, strerror(errno));
}

static void data_link(const char *dir)
{
        replace(dir, "v-0a1b-0.bin", "/etc/passwd", false);
}

static void data_fifo(const char *dir)
{
        replace(dir, "v-0a1b-0.bin", NULL, true);
}

static void manifest_link(const char *dir)
{
        replace(dir, "manifest", "/etc/passwd", false);
}

static void manifest_fifo(const char *dir)
{
        replace(dir, "manifest", NULL, true);
}

static void name_up(const char *dir)
{
        write_manifest(dir, "save 0a1b\nfile ../x 9 00000000\n");
}

static void name_manifest(const char *dir)
{
        write_manifest(dir, "save 0a1b\nfile manifest 9 00000000\n");
}

static void huge_size(const char *dir)
{
        write_manifest(dir, "save 0a1b\nfile v-0a1b-0.bin 999999999999999999 00000000\n");
}

static const struct {
        const char *name;
        const char *answer;
        void (*spoil)(const char *dir);
        enum pd_code want;
        const char *has;
} saves[] = {
        { "a program that says it saved, and has no manifest", SAVED, no_manifest, PD_E_NOT_FOUND, "manifest" },
        { "a manifest of another save", SAVED, other_save, PD_E_CORRUPT, "ffff" },
        { "a file that is shorter than its manifest says", SAVED, shorter, PD_E_CORRUPT,
                "8 bytes long and should be 9" },
        { "a file that does not match its checksum", SAVED, flipped, PD_E_CORRUPT, "does not match its checksum" },
        { "a manifest that does not match its checksum", SAVED, manifest_flipped, PD_E_CORRUPT,
                "does not match its checksum" },
        { "a manifest of a later version", SAVED, manifest_newer, PD_E_CORRUPT, "another version" },
        { "a symbolic link for a file", SAVED, data_link, PD_E_IO, "v-0a1b-0.bin" },
        { "a fifo for a file", SAVED, data_fifo, PD_E_CORRUPT, "not a regular file" },
        { "a symbolic link for the manifest", SAVED, manifest_link, PD_E_IO, "manifest" },
        { "a fifo for the manifest", SAVED, manifest_fifo, PD_E_CORRUPT, "manifest" },
        { "a file outside of the directory", SAVED, name_up, PD_E_CORRUPT, "bad line" },
        { "a file that is the manifest itself", SAVED, name_manifest, PD_E_CORRUPT, "bad line" },
        { "a size that no disk has", SAVED, huge_size, PD_E_CORRUPT, "should be 999999999999999999" },
        { "no JSON", "nonsense\n", NULL, PD_E_INVALID, "no JSON object" },
        { "JSON that is no answer", "{\"hello\":1}\n", NULL, PD_E_INVALID, "neither a value" },
        { "a value without a path", "{\"value\":{\"type\":\"x\"}}\n" OK_LINE, NULL, PD_E_INVALID, "without a path" },
        { "half a line, then gone", "{\"ok\":tr", NULL, PD_E_CONFLICT, "broke off" },
        { "gone at once", "", NULL, PD_E_CONFLICT, "broke off" },
        { "values named, and then ok", "{\"value\":{\"path\":\"a\",\"reason\":\"r\"}}\n" OK_LINE, NULL, PD_E_INVALID,
                "said that it can" },
        { "no safe point", "{\"ok\":false,\"code\":\"DEADLINE\",\"text\":\"the job reached no safe point in 5 s\"}\n",
                NULL, PD_E_DEADLINE, "no safe point" },
        { "busy", "{\"ok\":false,\"code\":\"BUSY\",\"text\":\"another request\"}\n", NULL, PD_E_BUSY,
                "another request" },
        { "a full disk", "{\"ok\":false,\"code\":\"FULL\",\"text\":\"no space\"}\n", NULL, PD_E_FULL, "no space" },
        { "a code that nobody knows", "{\"ok\":false,\"code\":\"WHAT\",\"text\":\"so\"}\n", NULL, PD_E_IO, "so" },
        { "a failure without a reason", "{\"ok\":false,\"code\":\"IO\"}\n", NULL, PD_E_IO, "no reason" },
};

static void test_bad_saves(struct capture *x)
{
        struct reply r = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(saves); i++) {
                int stage = capture_stage(x);

                write_good(x->j.ckpt);
                if (saves[i].spoil)
                        saves[i].spoil(x->j.ckpt);
                x->j.answers[0][0] = "save", x->j.answers[0][1] = saves[i].answer;
                (void)capture_call(x, &r, "save", stage);
                if (!tap_ok(r.rc == -(int)saves[i].want && strstr(r.err.text, saves[i].has) &&
                                    access("/etc/passwd", F_OK) == 0,
                            "%s: save() from %s", x->s->how, saves[i].name))
                        tap_note("%s: %s", pd_code_name((enum pd_code) - r.rc), r.err.text);
                (void)safe_close(stage);
        }
        no_manifest(x->j.ckpt);
        replace(x->j.ckpt, "v-0a1b-0.bin", "gone", false);
        reply_clear(&r);
}

static void test_slow(struct capture *x)
{
        struct reply r = { 0 };
        int stage = capture_stage(x);

        x->j.answers[0][0] = "save", x->j.answers[0][1] = NEVER;
        (void)capture_call_for(x, &r, "save", stage, USEC_PER_SEC);
        suite_is(x->s, &r, PD_E_DEADLINE, "save() from a program that never answers");
        (void)safe_close(stage);
        reply_clear(&r);
}

static void test_endless(struct capture *x)
{
        struct reply r = { 0 };
        char *line = malloc(400001);
        int stage = capture_stage(x);

        if (line) {
                memset(line, 'x', 400000);
                line[400000] = '\0';
        }
        x->j.answers[0][0] = "save", x->j.answers[0][1] = str_or(line, "");
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_E_INVALID, "save() from a program that sends an endless line");
        (void)safe_close(stage);
        free(line);
        reply_clear(&r);
}

/* ---- what is right ---- */

static void test_refusal(struct capture *x)
{
        struct reply r = { 0 };
        int stage = capture_stage(x);
        const json_t *v;

        x->j.answers[0][1] = "{\"value\":{\"path\":\"model.cfg['w'][2].lock\",\"type\":\"_thread.lock\",\"reason\":"
                             "\"not on\\nthe list\",\"fix\":\"f\"}}\n"
                             "{\"value\":{\"path\":\"b\",\"type\":\"t\",\"reason\":\"\"}}\n"
                             "{\"ok\":false,\"code\":\"REFUSED\",\"text\":\"2 values cannot be carried\"}\n";
        for (int i = 0; i < 2; i++) {
                x->j.answers[0][0] = i ? "precheck" : "save";
                (void)capture_call(x, &r, i ? "precheck" : "save", i ? -1 : stage);
                v = json_array_get(r.items, 0);
                tap_ok(r.rc == -PD_E_REFUSED && json_array_size(r.items) == 2 &&
                                streq(js_str(v, "path", ""), "model.cfg['w'][2].lock") &&
                                streq(js_str(v, "reason", ""), "not on the list") &&
                                streq(r.err.subject, "model.cfg['w'][2].lock"),
                        "%s: P-21 %s() names every value, the first as the error's subject", x->s->how,
                        i ? "precheck" : "save");
        }
        tap_int(entries(x->stage), 0, "P-21 a refused save leaves the staging directory empty");
        (void)safe_close(stage);
        reply_clear(&r);
}

static void test_good(struct capture *x)
{
        struct reply r = { 0 };
        pd_cleanup(freep) char *data = NULL, *frozen = NULL, *thawed = NULL;
        int stage = capture_stage(x);
        struct stat st;
        char path[600];

        write_good(x->j.ckpt);
        x->j.answers[0][0] = "save", x->j.answers[0][1] = SAVED;
        x->j.answers[1][0] = "resume", x->j.answers[1][1] = OK_LINE;
        x->j.answers[2][0] = "abort", x->j.answers[2][1] = OK_LINE;
        x->j.answers[3][0] = "precheck", x->j.answers[3][1] = "{\"note\":\"threads\"}\n{\"note\":\"files\"}\n" OK_LINE;
        x->j.answers[4][0] = "estimate", x->j.answers[4][1] = "{\"ok\":true,\"bytes\":4096,\"freeze_us\":77}\n";
        (void)capture_call(x, &r, "precheck", -1);
        tap_ok(r.rc == 0 && streq(js_str(r.text, "notes", ""), "threads\nfiles"), "%s: precheck() hands the notes on",
                x->s->how);
        (void)capture_call(x, &r, "estimate", -1);
        tap_ok(r.rc == 0 && js_int(r.ret, "bytes", 0) == 4096 && js_int(r.ret, "freeze_us", 0) == 77, "%s: estimate()",
                x->s->how);
        (void)capture_call(x, &r, "save", stage);
        data = read_text(x->stage, "v-0a1b-0.bin");
        tap_ok(r.rc == 0 && streq(js_str(r.text, "progress", ""), "step 120") && entries(x->stage) == 2 &&
                        streq(data, "nine byte"),
                "%s: save() copies what the manifest names, and says how far it is: %s", x->s->how, r.err.text);
        if (*x->j.cgroup) {
                frozen = read_text(x->j.cgroup, "cgroup.freeze");
                (void)capture_call(x, &r, "resume", -1);
                thawed = read_text(x->j.cgroup, "cgroup.freeze");
                tap_ok(streq(frozen, "1\n") && streq(thawed, "0\n"),
                        "%s: the whole cgroup stands still from save() to resume()", x->s->how);
        } else {
                tap_skip("the whole cgroup stands still from save() to resume()", "no cgroup v2 tree to write to here");
        }
        x->j.seen[0] = '\0';
        (void)capture_call(x, &r, "abort", -1);
        (void)capture_call(x, &r, "resume", -1);
        tap_str(x->j.seen, "abort,resume,", "abort() and resume() are told to the program");
        (void)snprintf(path, sizeof path, "%s/v-0a1b-0.bin", x->j.ckpt);
        write_text(x->j.ckpt, "older", "x", 1);
        (void)capture_call(x, &r, "restore", stage);
        free(data);
        data = read_text(x->j.ckpt, "v-0a1b-0.bin");
        tap_ok(r.rc == 0 && entries(x->j.ckpt) == 2 && streq(data, "nine byte") && stat(path, &st) == 0 &&
                        st.st_uid == geteuid(),
                "%s: restore() lays out the checkpoint and nothing else: %s", x->s->how, r.err.text);
        flipped(x->stage);
        (void)capture_call(x, &r, "restore", stage);
        suite_is(x->s, &r, PD_E_CORRUPT, "restore() of a damaged checkpoint");
        (void)safe_close(stage);
        reply_clear(&r);
}

static void test_verify(struct capture *x)
{
        struct reply r = { 0 };

        x->j.answers[0][0] = "verify",
        x->j.answers[0][1] = "{\"ok\":false,\"code\":\"BUSY\",\"text\":\"not yet: model\"}\n";
        (void)capture_call(x, &r, "verify", -1);
        suite_is(x->s, &r, PD_E_BUSY, "verify() while a value was not taken up");
        x->j.answers[0][1] = OK_LINE;
        (void)capture_call(x, &r, "verify", -1);
        suite_is(x->s, &r, PD_OK, "verify() once all were");
        fake_deaf(&x->j);
        (void)capture_call(x, &r, "verify", -1);
        suite_is(x->s, &r, PD_E_BUSY, "verify() before the program listens");
        (void)capture_call(x, &r, "precheck", -1);
        suite_is(x->s, &r, PD_E_CONFLICT, "precheck() of a program that does not take part");
        tap_has(r.err.text, "portal.state()", "... says how to");
        reply_clear(&r);
}

/* Somebody else's socket, behind a link in the job's own directory. */
static void test_link(struct capture *x)
{
        struct reply r = { 0 };
        struct fake_job other = x->j;

        other.listener = -1;
        (void)snprintf(other.sock, sizeof other.sock, "%s/other.sock", x->j.dir);
        other.answers[0][0] = "precheck", other.answers[0][1] = OK_LINE;
        other.seen[0] = '\0';
        if (!fake_listen(&other, x->s->loop) || symlink(other.sock, x->j.sock) < 0)
                tap_note("%s", strerror(errno));
        (void)capture_call(x, &r, "precheck", -1);
        tap_ok(r.rc == -PD_E_CONFLICT && !*other.seen, "%s: a symbolic link for the socket is not followed: %s",
                x->s->how, r.err.text);
        (void)unlink(x->j.sock);
        fake_deaf(&other);
        reply_clear(&r);
}

/* ---- a real program ---- */

extern char **environ;

static pid_t start_python(const struct capture *x, const char *program, bool resumed)
{
        char sock[400], ckpt[400], path[600], out[600];
        const char *argv[] = { "env", sock, ckpt, resumed ? "PORTAL_RESUMED=1" : "PORTAL_RESUMED=0",
                "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" TEST_SOURCE_DIR "/contrib/python", "python3", path, NULL };
        posix_spawn_file_actions_t files;
        pid_t pid = -1;

        (void)snprintf(sock, sizeof sock, "PORTAL_SOCKET=%s", x->j.sock);
        (void)snprintf(ckpt, sizeof ckpt, "PORTAL_CHECKPOINT_DIR=%s", x->j.ckpt);
        (void)snprintf(path, sizeof path, "%s/job.py", x->j.dir);
        (void)snprintf(out, sizeof out, "%s/out", x->j.dir);
        write_text(x->j.dir, "job.py", program, strlen(program));
        (void)posix_spawn_file_actions_init(&files);
        (void)posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (posix_spawnp(&pid, "env", &files, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
                pid = -1;
        (void)posix_spawn_file_actions_destroy(&files);
        return pid;
}

static void end_python(pid_t pid)
{
        if (pid > 0) {
                (void)kill(pid, SIGKILL);
                (void)waitpid(pid, NULL, 0);
        }
}

static bool enter_cgroup(const struct capture *x, pid_t pid)
{
        char path[500];
        FILE *f;
        bool good;

        (void)snprintf(path, sizeof path, "%s/cgroup.procs", x->j.cgroup);
        f = *x->j.cgroup ? fopen(path, "we") : NULL;
        good = f && fprintf(f, "%d", pid) > 0;
        return (f && fclose(f) == 0) && good;
}

static int last_number(const struct capture *x)
{
        pd_cleanup(freep) char *text = read_text(x->j.dir, "out");
        char *end = text ? strrchr(text, '\n') : NULL;

        if (!end)
                return -1;
        *end = '\0';
        end = strrchr(text, '\n');
        return atoi(end ? end + 1 : text);
}

#define COUNTS                                                                                                         \
        "import portal, select, os, threading\n"                                                                       \
        "class Model: pass\n"                                                                                          \
        "m = Model(); m.cfg = {'w': [1, 2, Model()]}\n"                                                                \
        "if os.path.exists(os.environ['PORTAL_CHECKPOINT_DIR'] + '/../lock'): m.cfg['w'][2].lock = threading.Lock()\n" \
        "s = portal.state(step=0, model=m)\n"                                                                          \
        "while True:\n"                                                                                                \
        "    s.step += 1\n"                                                                                            \
        "    print(s.step, flush=True)\n"                                                                              \
        "    select.select([], [], [], 0.002)\n"                                                                       \
        "    portal.safe_point()\n"

static void test_real(struct capture *x)
{
        struct reply r = { 0 };
        int stage = capture_stage(x), saved, tries = 0;
        pid_t pid;

        write_text(x->j.dir, "lock", "", 0);
        pid = start_python(x, COUNTS, false);
        (void)capture_call(x, &r, "save", stage);
        tap_ok(r.rc == -PD_E_REFUSED && streq(r.err.subject, "model.cfg['w'][2].lock") && kill(pid, 0) == 0 &&
                        entries(x->stage) == 0,
                "%s: P-21 a real program with a lock is refused by name and runs on: %s", x->s->how, r.err.text);
        end_python(pid);
        (void)unlink(x->j.sock);
        remove_tree(x->j.ckpt);
        (void)mkdir(x->j.ckpt, 0700);
        {
                char lock[600];

                (void)snprintf(lock, sizeof lock, "%s/lock", x->j.dir);
                (void)unlink(lock);
        }
        pid = start_python(x, COUNTS, false);
        (void)enter_cgroup(x, pid);
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_OK, "a real program without it is saved");
        saved = last_number(x);
        (void)capture_call(x, &r, "resume", -1);
        suite_is(x->s, &r, PD_OK, "... and lives on by resume()");
        (void)safe_close(stage);
        stage = capture_stage(x);
        (void)capture_call(x, &r, "save", stage);
        tap_ok(r.rc == 0 && last_number(x) > saved, "%s: ... counts on, and is saved again", x->s->how);
        saved = last_number(x);
        tap_ok(kill(pid, 0) == 0 && last_number(x) == saved, "%s: ... and stands still", x->s->how);
        end_python(pid);
        (void)capture_call(x, &r, "destroy", -1);
        (void)capture_call(x, &r, "restore", stage);
        suite_is(x->s, &r, PD_OK, "restore()");
        pid = start_python(x, COUNTS, true);
        do {
                (void)poll(NULL, 0, 5);
                (void)capture_call(x, &r, "verify", -1);
        } while (r.rc == -PD_E_BUSY && ++tries < 4000);
        suite_is(x->s, &r, PD_OK, "verify() once the real program has taken its values up");
        while (last_number(x) < 0 && kill(pid, 0) == 0)
                (void)capture_call(x, &r, "verify", -1);
        {
                pd_cleanup(freep) char *out = read_text(x->j.dir, "out");

                tap_int(atoi(str_or(out, "0")), saved + 1,
                        "law 13 the first step after the resume is the saved one plus one");
        }
        end_python(pid);
        (void)safe_close(stage);
        reply_clear(&r);
}

static void test_values(struct capture *x)
{
        if (!tap_ok(fake_listen(&x->j, x->s->loop), "%s: the fake program listens", x->s->how))
                return;
        test_bad_saves(x);
        test_slow(x);
        test_endless(x);
        test_refusal(x);
        test_good(x);
        test_verify(x);
        test_link(x);
        test_real(x);
}

#endif
