/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/io.h"

#define ERR_MAX 2048

struct proc {
        sd_event_source *exited, *timer, *out, *err;
        pid_t pid; /* 0 = waited for */
        bool detached, late;
        char *what;
        proc_done_fn done;
        void *arg;
        char *out_text;
        size_t out_n, err_n;
        char err_text[ERR_MAX + 1];
};

struct proc *proc_free(struct proc *p)
{
        if (!p)
                return NULL;
        if (p->pid > 0 && !p->detached) {
                (void)kill(-p->pid, SIGKILL);
                (void)kill(p->pid, SIGKILL);
                (void)waitpid(p->pid, NULL, 0);
        }
        sd_event_source_disable_unref(p->exited);
        sd_event_source_disable_unref(p->timer);
        sd_event_source_disable_unref(p->out);
        sd_event_source_disable_unref(p->err);
        free(p->what);
        free(p->out_text);
        free(p);
        return NULL;
}

static void take_out(struct proc *p, const char *bytes, size_t n)
{
        size_t room = PROC_OUT_MAX - p->out_n;

        n = n < room ? n : room;
        memcpy(p->out_text + p->out_n, bytes, n);
        p->out_n += n;
        p->out_text[p->out_n] = 0;
}

/* Keeps the end: what a program says last is why it failed. */
static void take_err(struct proc *p, const char *bytes, size_t n)
{
        if (n > ERR_MAX)
                bytes += n - ERR_MAX, n = ERR_MAX;
        if (p->err_n + n > ERR_MAX) {
                size_t drop = p->err_n + n - ERR_MAX;

                memmove(p->err_text, p->err_text + drop, p->err_n - drop);
                p->err_n -= drop;
        }
        memcpy(p->err_text + p->err_n, bytes, n);
        p->err_n += n;
        p->err_text[p->err_n] = 0;
}

static void drain(struct proc *p, sd_event_source *s)
{
        char buf[4096];
        int fd = s ? sd_event_source_get_io_fd(s) : -1;
        ssize_t n;

        while (fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0) {
                if (s == p->out)
                        take_out(p, buf, (size_t)n);
                else
                        take_err(p, buf, (size_t)n);
        }
}

static int on_output(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
        struct proc *p = arg;

        (void)fd;
        drain(p, s);
        if (revents & (EPOLLHUP | EPOLLERR))
                (void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static void one_line(char *s)
{
        size_t n = strlen(s);

        while (n > 0 && (s[n - 1] == '\n' || s[n - 1] == ' '))
                s[--n] = 0;
        for (; *s; s++)
                if ((unsigned char)*s < ' ')
                        *s = ' ';
}

static int on_exit_of(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
        struct proc *p = arg;
        struct proc_result result;
        struct pd_error err = { 0 };
        int status = 0;

        (void)s, (void)fd, (void)revents;
        if (waitpid(p->pid, &status, WNOHANG) == 0)
                return 0;
        if (!p->detached) /* what it started goes with it */
                (void)kill(-p->pid, SIGKILL);
        p->pid = 0;
        drain(p, p->out);
        drain(p, p->err);
        one_line(p->err_text);
        result = (struct proc_result){ .code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                .out = p->out_text,
                .err = p->err_text };
        if (p->late)
                (void)pd_fail(&err, PD_E_DEADLINE, "%.100s took too long and was ended%s%.80s", p->what,
                        *p->err_text ? ": " : "", p->err_text);
        else if (result.code != 0)
                (void)pd_fail(&err, PD_E_IO, "%.60s failed (exit %d): %.140s", p->what, result.code,
                        *p->err_text ? p->err_text : "it gave no reason");
        p->done(p->arg, err.code ? &err : NULL, &result);
        proc_free(p);
        return 0;
}

static int on_late(sd_event_source *s, uint64_t usec, void *arg)
{
        struct proc *p = arg;

        (void)s, (void)usec;
        p->late = true;
        (void)kill(-p->pid, SIGKILL);
        (void)kill(p->pid, SIGKILL);
        return 0;
}

static void child_env(const struct proc_spec *spec)
{
        const char *path = getenv("PATH"), *home = getenv("HOME");
        static char p[4096], h[4096];

        (void)str_format(p, sizeof p, "%s", path && *path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
        (void)str_format(h, sizeof h, "%s", home && *home ? home : "/root");
        (void)clearenv();
        (void)setenv("PATH", p, 1);
        (void)setenv("HOME", h, 1);
        (void)setenv("LC_ALL", "C.UTF-8", 1);
        for (const char *const *e = spec->env; e && *e; e++)
                (void)putenv((char *)(uintptr_t)*e);
}

/* After fork: nothing here returns. */
static void child(const struct proc_spec *spec, int out, int err, pid_t parent)
{
        sigset_t none;
        int null = open("/dev/null", O_RDONLY);

        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)setsid();
        if (spec->cgroup) {
                pd_cleanup(freep) char *procs = path_fmt("%s/cgroup.procs", spec->cgroup);
                struct pd_error why;

                if (!procs || disk_poke(procs, "0", &why) < 0) {
                        dprintf(err, "%s\n", procs ? why.text : "no memory");
                        _exit(126);
                }
        }
        if (!spec->detached) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(126);
        }
        if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
                _exit(126);
        if (spec->pass_fd > 2)
                (void)fcntl(spec->pass_fd, F_SETFD, 0);
        child_env(spec);
        execvp(spec->argv[0], (char *const *)(uintptr_t)spec->argv);
        dprintf(2, "cannot start %s: %m\n", spec->argv[0]);
        _exit(127);
}

static int watch(struct proc *p, sd_event *loop, int out, int err_fd, int64_t timeout_us)
{
        int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

        if (fd < 0)
                return -errno;
        if (sd_event_add_io(loop, &p->exited, fd, EPOLLIN, on_exit_of, p) < 0) {
                (void)close(fd);
                return -ENOMEM;
        }
        (void)sd_event_source_set_io_fd_own(p->exited, 1);
        if (sd_event_add_io(loop, &p->out, out, EPOLLIN, on_output, p) < 0 ||
                sd_event_add_io(loop, &p->err, err_fd, EPOLLIN, on_output, p) < 0 ||
                sd_event_add_time_relative(loop, &p->timer, CLOCK_BOOTTIME, (uint64_t)timeout_us, 0, on_late, p) < 0)
                return -ENOMEM;
        /* output is taken before the end is told */
        (void)sd_event_source_set_priority(p->exited, SD_EVENT_PRIORITY_NORMAL + 1);
        return 0;
}

int proc_run(struct proc **ret, sd_event *loop, const struct proc_spec *spec, proc_done_fn done, void *arg,
        struct pd_error *err)
{
        pd_cleanup(proc_freep) struct proc *p = calloc(1, sizeof *p);
        int out[2] = { -1, -1 }, errs[2] = { -1, -1 };
        pid_t self = getpid();

        if (!p || !(p->what = strdup(spec->what)) || !(p->out_text = malloc(PROC_OUT_MAX + 1)))
                return pd_fail(err, PD_E_NOMEM, "no memory for starting %s", spec->what);
        p->out_text[0] = 0;
        p->done = done;
        p->arg = arg;
        p->detached = spec->detached;
        if (pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
                return pd_fail(err, PD_E_IO, "no pipe for %s: %m", spec->what);
        if (pipe2(errs, O_CLOEXEC | O_NONBLOCK) < 0) {
                (void)close(out[0]), (void)close(out[1]);
                return pd_fail(err, PD_E_IO, "no pipe for %s: %m", spec->what);
        }
        /* the child's ends block, as programs expect */
        (void)fcntl(out[1], F_SETFL, 0);
        (void)fcntl(errs[1], F_SETFL, 0);
        p->pid = fork();
        if (p->pid == 0)
                child(spec, out[1], errs[1], self);
        (void)close(out[1]), (void)close(errs[1]);
        if (p->pid < 0 || watch(p, loop, out[0], errs[0], spec->timeout_us) < 0) {
                if (!p->out)
                        (void)close(out[0]);
                if (!p->err)
                        (void)close(errs[0]);
                p->detached = false;
                return pd_fail(err, PD_E_IO, "cannot start %s: %m", spec->what);
        }
        (void)sd_event_source_set_io_fd_own(p->out, 1);
        (void)sd_event_source_set_io_fd_own(p->err, 1);
        *ret = pd_steal(p);
        return 0;
}

struct now {
        sd_event *loop;
        char *out;
        size_t out_n;
        int code;
        struct pd_error err;
};

static void on_now(void *arg, const struct pd_error *err, const struct proc_result *result)
{
        struct now *n = arg;

        n->code = result->code;
        if (err && err->code == PD_E_DEADLINE)
                n->err = *err;
        (void)str_format(n->out, n->out_n, "%s%s", result->out, result->err);
        (void)sd_event_exit(n->loop, 0);
}

int proc_run_now(const char *const *argv, int64_t timeout_us, char *out, size_t out_n, struct pd_error *err)
{
        struct now n = { .out = out, .out_n = out_n };
        struct proc *p;
        int r;

        *out = 0;
        if (sd_event_new(&n.loop) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for %s", argv[0]);
        r = proc_run(&p, n.loop, &(struct proc_spec){ .argv = argv, .what = argv[0], .timeout_us = timeout_us }, on_now,
                &n, err);
        if (r == 0)
                (void)sd_event_loop(n.loop);
        sd_event_unref(n.loop);
        if (r == 0 && n.err.code) {
                *err = n.err;
                r = -(int)n.err.code;
        }
        return r < 0 ? r : n.code;
}
