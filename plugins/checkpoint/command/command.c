/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `command`: the job saves and loads itself, by a command of its own, or on a signal. README.md. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "exec.h"
#include "settings.h"

static int command_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        (void)call;
        if (cfg && cfg->count > 0) {
                (void)pd_fail(err, PD_E_INVALID,
                        "the capture \"command\" has no option \"%.60s\": the job's own checkpoint block says it all",
                        cfg->pairs[0].key);
                return pd_fail_subject(err, cfg->pairs[0].key);
        }
        *ret_self = NULL;
        return 0;
}

static void command_close(void *self)
{
        (void)self;
}

static int command_caps(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        *ret = (struct pd_capture_caps){ .size = sizeof *ret,
                .flags = PD_CAPTURE_CARRIES | PD_CAPTURE_NEEDS_JOB | PD_CAPTURE_USERNS };
        return 0;
}

static int command_probe(void *self, struct pd_call *call, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return 0;
}

/* "save command: python3 save.py" */
static const char *name_of(const char *const *argv, char *buf, size_t n)
{
        size_t at = (size_t)snprintf(buf, n, "save command:");

        for (size_t i = 0; argv[i] && at < n; i++)
                at += (size_t)snprintf(buf + at, n - at, " %s", argv[i]);
        return buf;
}

static int refuse(pd_value_fn each, void *arg, const char *path, const char *type, const char *reason, const char *fix,
        struct pd_error *err)
{
        int r = capture_value(each, arg, path, type, reason, fix);
        char subject[120], text[200];

        if (r != 0)
                return r;
        capture_text(subject, sizeof subject, path, "");
        capture_text(text, sizeof text, reason, "");
        (void)pd_fail(err, PD_E_REFUSED, "%s: %s", subject, text);
        return pd_fail_subject(err, subject);
}

/* ---- precheck: looks, runs nothing ---- */

/* SigCgt of /proc/PID/status: does the program catch it? 1, 0, or -1 = cannot be told. */
static int catches(int32_t pid, int number)
{
        char path[64], line[256];
        unsigned long long mask = 0;
        int found = -1;
        FILE *f;

        (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
        f = fopen(path, "re");
        while (f && found < 0 && fgets(line, sizeof line, f))
                if (sscanf(line, "SigCgt: %llx", &mask) == 1)
                        found = (int)((mask >> (number - 1)) & 1);
        if (f)
                (void)fclose(f);
        return found;
}

static int precheck_signal(
        const struct pd_container *c, const struct settings *s, pd_value_fn each, void *arg, struct pd_error *err)
{
        char path[64];

        if (c->pid <= 0)
                return pd_fail(err, PD_E_CONFLICT, "container %s has no main process now", c->id);
        if (catches(c->pid, s->signal) != 0)
                return 0;
        (void)snprintf(path, sizeof path, "signal SIG%s", sigabbrev_np(s->signal));
        return refuse(each, arg, path, "signal",
                "the main process has no handler for it: it would save nothing, or end",
                "install a handler early, or name another signal in checkpoint.signal", err);
}

/* Only a command with a path can be looked for; a bare name is found by the container's own PATH. Links in the container are followed
 * inside of it only. */
static int precheck_command(
        const struct pd_container *c, const struct settings *s, pd_value_fn each, void *arg, struct pd_error *err)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
        pd_cleanup(capture_closep) int root = -1;
        pd_cleanup(capture_closep) int at = -1;
        char path[64], name[300];

        if (*s->save[0] != '/' || c->pid <= 0)
                return 0;
        (void)snprintf(path, sizeof path, "/proc/%d/root", c->pid);
        root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        at = root < 0 ? -1 : (int)syscall(SYS_openat2, root, s->save[0], &how, sizeof how);
        if (root < 0 || at >= 0 || errno != ENOENT)
                return 0;
        return refuse(each, arg, name_of(s->save, name, sizeof name), "command",
                "there is no such file in the container", "put it into the image, or correct checkpoint.save", err);
}

static int command_precheck(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        struct settings s;
        int r = settings_parse(c->settings, &s, err);

        (void)self, (void)call;
        if (r < 0)
                return r;
        return s.signal ? precheck_signal(c, &s, each, arg, err) : precheck_command(c, &s, each, arg, err);
}

/* ---- save ---- */

static int save_by_command(struct pd_call *call, const struct pd_container *c, const struct settings *s,
        pd_value_fn each, void *arg, struct pd_error *err)
{
        struct exec_result res;
        char name[300], type[64], reason[EXEC_TAIL + 64];
        int r = exec_inside(call, c, s->save, s->timeout_us, &res, err);

        if (r < 0)
                return r;
        (void)name_of(s->save, name, sizeof name);
        if (res.timed_out)
                return refuse(each, arg, name, "command", "it had not ended by its timeout and was killed",
                        "make it faster, or raise checkpoint.timeout", err);
        if (WIFEXITED(res.status) && WEXITSTATUS(res.status) == 0)
                return 0;
        if (WIFEXITED(res.status))
                (void)snprintf(type, sizeof type, "exit code %d", WEXITSTATUS(res.status));
        else
                (void)snprintf(type, sizeof type, "ended by signal %d", WTERMSIG(res.status));
        (void)snprintf(reason, sizeof reason, "it failed%s%s", *res.tail ? "; the last that it wrote: " : "", res.tail);
        return refuse(each, arg, name, type, reason, "try it by hand in the container", err);
}

/* When the done-file was last changed, us; -1 = there is none. */
static int64_t done_at(int dir, const char *path)
{
        char part[256];
        pd_cleanup(capture_closep) int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                int next;

                (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
                next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                capture_closep(&at);
                at = next;
        }
        if (at < 0 || fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                return -1;
        return (int64_t)st.st_ctim.tv_sec * 1000000 + st.st_ctim.tv_nsec / 1000;
}

/* Wakes at what happens in the directory itself; a done-file further below is looked for at each slice. */
static int watch_dir(int dir)
{
        char path[64];
        int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
        if (fd >= 0 && inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB) < 0) {
                (void)close(fd);
                fd = -1;
        }
        return fd;
}

static bool gone(int pidfd)
{
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, 0) > 0;
}

static int save_by_signal(struct pd_call *call, const struct pd_container *c, const struct settings *s, int dir,
        pd_value_fn each, void *arg, struct pd_error *err)
{
        pd_cleanup(capture_closep) int pidfd = c->pid > 0 ? (int)syscall(SYS_pidfd_open, c->pid, 0) : -1;
        pd_cleanup(capture_closep) int events = watch_dir(dir);
        int64_t before = done_at(dir, s->done_file), until = capture_until(call, s->timeout_us);
        char buf[4096];

        if (pidfd < 0)
                return pd_fail(err, PD_E_CONFLICT, "container %s has no main process to signal", c->id);
        if (syscall(SYS_pidfd_send_signal, pidfd, s->signal, NULL, 0) < 0)
                return pd_fail(err, PD_E_IO, "sending SIG%s to process %d: %s", sigabbrev_np(s->signal), c->pid,
                        strerror(errno));
        for (;;) {
                int64_t at = done_at(dir, s->done_file);
                int r;

                if (at >= 0 && at != before)
                        return 0;
                if (gone(pidfd))
                        return pd_fail(err, PD_E_CONFLICT, "the main process ended on SIG%s, before it wrote \"%.60s\"",
                                sigabbrev_np(s->signal), s->done_file);
                if (capture_now(call) >= until)
                        return refuse(each, arg, s->done_file, "done-file",
                                "the job did not write it after the signal, within the timeout",
                                "raise checkpoint.timeout, or mend the handler", err);
                r = capture_wait(call, events, POLLIN, capture_until(call, CAPTURE_SLICE_US), err);
                if (r < 0)
                        return r;
                while (events >= 0 && read(events, buf, sizeof buf) > 0)
                        continue; /* only that something happened matters */
        }
}

/* After a save that wrote nothing there is nothing to carry: that is never a checkpoint. */
static int check_output(struct pd_call *call, const struct settings *s, int dir, int64_t since, pd_value_fn each,
        void *arg, struct pd_error *err)
{
        bool changed;
        uint64_t files;
        char name[300];
        int r = capture_changed_since(call, dir, since, &changed, &files, err);

        if (r < 0 || (changed && files > 0))
                return r;
        return refuse(each, arg, s->signal ? s->done_file : name_of(s->save, name, sizeof name),
                s->signal ? "done-file" : "command",
                files ? "it left PORTAL_CHECKPOINT_DIR as it was" : "it wrote nothing into PORTAL_CHECKPOINT_DIR",
                "write the state into the directory that PORTAL_CHECKPOINT_DIR names", err);
}

static int carry(struct pd_call *call, int from, int dir_fd, pd_value_fn each, void *arg, struct pd_error *err)
{
        struct pd_error why = { .size = sizeof why };
        int r = capture_copy_tree(call, from, dir_fd, NULL, &why);

        if (r == -PD_E_REFUSED)
                return refuse(each, arg, why.subject, "file", why.text,
                        "leave only files and folders in PORTAL_CHECKPOINT_DIR", err);
        if (r < 0 && err)
                *err = why;
        return r;
}

#define TICK_MAX_US 100000 /* far above any kernel's tick; a clock that stands still must not hold a save */

/* The clock that file times are taken from, which ticks every few milliseconds: a finer one would be ahead of a file written just now. */
static int64_t file_clock(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &t);
        return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Its next tick: what the save before this one wrote a moment ago bears an earlier time than what is written from now on. */
static int next_tick(struct pd_call *call, int64_t *ret, struct pd_error *err)
{
        int64_t now = file_clock(), until = capture_until(call, TICK_MAX_US);

        for (;;) {
                int r;

                *ret = file_clock();
                if (*ret != now || capture_now(call) >= until)
                        return 0;
                r = capture_wait(call, -1, 0, capture_until(call, 1000), err);
                if (r < 0)
                        return r;
        }
}

static int command_save(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each,
        void *arg, struct pd_error *err)
{
        pd_cleanup(capture_closep) int from = -1;
        int64_t since;
        struct settings s;
        int r = settings_parse(c->settings, &s, err);

        (void)self;
        if (r < 0 || (r = capture_open_dir(c->job_dir, &from, err)) < 0 || (r = next_tick(call, &since, err)) < 0)
                return r;
        if (!capture_can_freeze(c))
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "container %s cannot be made to stand still after its save: no cgroup v2 freezer", c->id);
        r = s.signal ? save_by_signal(call, c, &s, from, each, arg, err) : save_by_command(call, c, &s, each, arg, err);
        if (r != 0)
                return r;
        r = capture_freeze(call, c, true, err);
        if (r < 0)
                return r;
        r = check_output(call, &s, from, since, each, arg, err);
        if (r == 0)
                r = carry(call, from, dir_fd, each, arg, err);
        if (r == -PD_E_REFUSED)
                (void)capture_freeze(
                        call, c, false, NULL); /* a refusal leaves the job running; err says why it was one */
        return r;
}

static int command_go_on(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self;
        return capture_freeze(call, c, false, err);
}

/* ---- restore ---- */

static int put_prestart(struct pd_call *call, const struct settings *s, struct pd_error *err)
{
        json_t *argv = json_array();
        char *text = NULL;
        int r = 0;

        for (size_t i = 0; argv && s->load[i]; i++)
                if (json_array_append_new(argv, json_string(s->load[i])) < 0)
                        r = pd_fail(err, PD_E_INVALID, "checkpoint.load: word %zu is not UTF-8", i);
        if (r == 0 && (!argv || !(text = json_dumps(argv, JSON_COMPACT))))
                r = pd_fail(err, PD_E_NOMEM, "no memory for the load command");
        if (r == 0 && call->host->put(call, "prestart", text) < 0)
                r = pd_fail(err, PD_E_UNSUPPORTED, "this portald cannot run a load command before the job's start");
        free(text);
        json_decref(argv);
        return r;
}

static int command_restore(
        void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err)
{
        const struct capture_owner owner = { (uid_t)c->uid, (gid_t)c->gid };
        pd_cleanup(capture_closep) int to = -1;
        struct settings s;
        int r = settings_parse(c->settings, &s, err);

        (void)self;
        if (r < 0 || (r = capture_open_dir(c->job_dir, &to, err)) < 0 || (r = capture_clear(to, err)) < 0 ||
                (r = capture_copy_tree(call, dir_fd, to, &owner, err)) < 0)
                return r;
        return s.load[0] ? put_prestart(call, &s, err) : 0;
}

/* The load command has ended well before the start; without one the program alone knows, and it runs. */
static int command_verify(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self, (void)call;
        if (c->pid > 0 && kill(c->pid, 0) < 0 && errno == ESRCH)
                return pd_fail(err, PD_E_CONFLICT, "the resumed program has ended already");
        return 0;
}

static int command_destroy(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self, (void)call, (void)c, (void)err;
        return 0;
}

static const struct pd_checkpoint command = {
        .head = PD_HEAD(PD_KIND_CHECKPOINT, struct pd_checkpoint, "command"),
        .open = command_open,
        .close = command_close,
        .caps = command_caps,
        .probe = command_probe,
        .precheck = command_precheck,
        .save = command_save,
        .abort = command_go_on,
        .restore = command_restore,
        .verify = command_verify,
        .resume = command_go_on,
        .destroy = command_destroy,
};
PD_EXPORT const struct pd_head *const portald_plugin = &command.head;
