/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GONE_US INT64_C(5000000) /* for killed helpers to leave their cgroup */

struct child {
        pid_t pid;
        int pidfd, out;
};

bool run_find(const char *name, char *ret, size_t n)
{
        static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin",
                "/bin" };

        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                if (snprintf(ret, n, "%s/%s", dirs[i], name) < (int)n && access(ret, X_OK) == 0)
                        return true;
        return false;
}

static int open_group(const char *dir, const char *file, int flags)
{
        char path[4300];

        if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path) {
                errno = ENAMETOOLONG;
                return -1;
        }
        return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

/* After fork(): only what a signal handler may do. The plugin's host keeps itself small by soft limits; criu must not inherit them. */
static void become(const struct run_spec *spec, char *const *env, int group, int out)
{
        static const __rlimit_resource_t lifted[] = { RLIMIT_AS, RLIMIT_NOFILE };
        struct rlimit have;
        int null = open("/dev/null", O_RDONLY);
        sigset_t none;

        (void)setsid();
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        for (size_t i = 0; i < sizeof lifted / sizeof *lifted; i++)
                if (getrlimit(lifted[i], &have) == 0)
                        (void)setrlimit(lifted[i], &(struct rlimit){ have.rlim_max, have.rlim_max });
        if (group >= 0 && write(group, "0", 1) != 1)
                _exit(126);
        if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || close_range(3, ~0U, 0) < 0)
                _exit(126);
        (void)execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv, env);
        _exit(127);
}

static int spawn(const struct run_spec *spec, struct child *k, struct pd_error *err)
{
        pd_cleanup(capture_closep) int group = spec->cgroup ? open_group(spec->cgroup, "cgroup.procs", O_WRONLY) : -1;
        char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", config[4300];
        char *const env[] = { path, spec->config ? config : NULL, NULL };
        int out[2];

        (void)snprintf(config, sizeof config, "CRIU_CONFIG_FILE=%s", spec->config ? spec->config : "");
        if (spec->cgroup && group < 0)
                return pd_fail(err, PD_E_IO, "no cgroup for criu at %.150s: %s", spec->cgroup, strerror(errno));
        if (pipe2(out, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "pipe: %s", strerror(errno));
        k->pid = fork();
        if (k->pid == 0)
                become(spec, env, group, out[1]);
        (void)close(out[1]);
        if (k->pid < 0) {
                (void)close(out[0]);
                return pd_fail(err, PD_E_IO, "starting %.100s: %s", spec->argv[0], strerror(errno));
        }
        k->out = out[0];
        k->pidfd = (int)syscall(SYS_pidfd_open, k->pid, 0);
        (void)fcntl(k->out, F_SETFL, O_NONBLOCK);
        return 0;
}

static void drain(int fd, char *tail)
{
        char buf[RUN_TAIL - 1];
        ssize_t n;

        while ((n = read(fd, buf, sizeof buf)) > 0) {
                size_t have = strlen(tail), keep = (size_t)n;
                size_t drop = have + keep > RUN_TAIL - 1 ? have + keep - (RUN_TAIL - 1) : 0;

                for (size_t i = 0; i < keep; i++)
                        buf[i] = buf[i] ? buf[i] : ' ';
                memmove(tail, tail + drop, have - drop);
                memcpy(tail + have - drop, buf, keep);
                tail[have - drop + keep] = '\0';
        }
}

static bool ended(const struct child *k)
{
        struct pollfd p = { .fd = k->pidfd, .events = POLLIN };

        return k->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(k->pid, 0) < 0;
}

static int watch(
        struct pd_call *call, const struct child *k, int64_t until, struct run_result *res, struct pd_error *err)
{
        while (!ended(k)) {
                int r = capture_wait(call, k->pidfd, POLLIN, capture_until(call, CAPTURE_SLICE_US), err);

                if (r < 0)
                        return r;
                drain(k->out, res->tail);
                if (capture_now(call) >= until) {
                        res->timed_out = true;
                        return 0;
                }
        }
        return 0;
}

static bool populated(const char *dir)
{
        pd_cleanup(capture_closep) int fd = open_group(dir, "cgroup.events", O_RDONLY);
        char text[128] = "";

        return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, "populated 1");
}

/* By the kernel's own kill of a whole cgroup; past the call's deadline too, for the job's sake. */
static void kill_group(const char *dir)
{
        pd_cleanup(capture_closep) int fd = open_group(dir, "cgroup.kill", O_WRONLY);
        pd_cleanup(capture_closep) int events = open_group(dir, "cgroup.events", O_RDONLY);
        struct pollfd p = { .fd = events, .events = POLLPRI };

        if (fd >= 0)
                (void)!write(fd, "1", 1);
        for (int64_t left = GONE_US; left > 0 && populated(dir); left -= CAPTURE_SLICE_US)
                (void)poll(&p, 1, (int)(CAPTURE_SLICE_US / 1000));
}

void run_end_group(const char *dir)
{
        if (access(dir, F_OK) < 0)
                return;
        kill_group(dir);
        (void)rmdir(dir);
}

int run_program(struct pd_call *call, const struct run_spec *spec, struct run_result *ret, struct pd_error *err)
{
        struct child k = { .pid = -1, .pidfd = -1, .out = -1 };
        int r;

        *ret = (struct run_result){ 0 };
        if (spec->cgroup && mkdir(spec->cgroup, 0755) < 0 && errno != EEXIST)
                return pd_fail(err, PD_E_IO, "no cgroup for criu at %.150s: %s", spec->cgroup, strerror(errno));
        r = spawn(spec, &k, err);
        if (r == 0) {
                r = watch(call, &k, capture_until(call, spec->timeout_us), ret, err);
                if (r < 0 || ret->timed_out)
                        (void)kill(-k.pid, SIGKILL);
                if (spec->cgroup && (r < 0 || ret->timed_out || !spec->keeps))
                        kill_group(spec->cgroup);
                (void)waitpid(k.pid, &ret->status, 0);
                drain(k.out, ret->tail);
                (void)close(k.out);
                capture_closep(&k.pidfd);
        }
        if (spec->cgroup)
                (void)rmdir(spec->cgroup);
        return r;
}
