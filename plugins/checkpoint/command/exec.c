/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 96

extern char **environ;

struct child {
        pid_t pid;
        int pidfd, out; /* out: what it writes */
        char pid_file[4200];
};

/* The runtime's own arguments stand before the job's; none of the job's words can become an option. */
static int build_argv(const struct pd_container *c, const char *const *argv, const char *pid_file, char *dir_env,
        size_t dir_env_n, const char **ret, struct pd_error *err)
{
        const char *head[] = { c->runtime, "--root", c->runtime_root, "exec", "--pid-file", pid_file, "--env", dir_env,
                c->id };
        size_t n = 0;

        if (snprintf(dir_env, dir_env_n, "PORTAL_CHECKPOINT_DIR=%s", c->job_dir_inside) >= (int)dir_env_n)
                return pd_fail(err, PD_E_INVALID, "the path of the checkpoint directory is too long");
        for (size_t i = 0; i < sizeof head / sizeof *head; i++)
                ret[n++] = head[i];
        for (size_t i = 0; argv[i]; i++) {
                if (n == ARGS_MAX - 1)
                        return pd_fail(err, PD_E_INVALID, "a command of more than 64 words; put it into a script");
                ret[n++] = argv[i];
        }
        ret[n] = NULL;
        return 0;
}

static int spawn(struct child *k, const char *const *argv, struct pd_error *err)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        int out[2], e;

        if (pipe2(out, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "pipe: %s", strerror(errno));
        (void)posix_spawn_file_actions_init(&files);
        (void)posix_spawnattr_init(&attr);
        (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
        (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&files, out[1], 1);
        (void)posix_spawn_file_actions_adddup2(&files, out[1], 2);
        e = posix_spawn(&k->pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
        (void)posix_spawn_file_actions_destroy(&files);
        (void)posix_spawnattr_destroy(&attr);
        (void)close(out[1]);
        if (e != 0) {
                (void)close(out[0]);
                return pd_fail(err, PD_E_IO, "starting %.100s: %s", argv[0], strerror(e));
        }
        k->out = out[0];
        k->pidfd = (int)syscall(SYS_pidfd_open, k->pid, 0);
        (void)fcntl(k->out, F_SETFL, O_NONBLOCK);
        return 0;
}

/* Keeps the last bytes of what came. false = closed. */
static bool drain(int fd, char *tail)
{
        char buf[4096];
        ssize_t n;

        while ((n = read(fd, buf, sizeof buf)) > 0) {
                size_t keep = (size_t)n < EXEC_TAIL - 1 ? (size_t)n : EXEC_TAIL - 1, have = strlen(tail);
                size_t drop = have + keep > EXEC_TAIL - 1 ? have + keep - (EXEC_TAIL - 1) : 0;

                for (size_t i = 0; i < (size_t)n; i++)
                        buf[i] = buf[i] ? buf[i] : ' ';
                memmove(tail, tail + drop, have - drop);
                memcpy(tail + have - drop, buf + n - keep, keep);
                tail[have - drop + keep] = '\0';
        }
        return n < 0;
}

/* The command itself, by the number that the runtime wrote down: the runtime's client alone would leave it behind. */
static void kill_inside(const struct child *k)
{
        pd_cleanup(capture_closep) int fd = open(k->pid_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char text[16] = "";
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        long pid = n > 0 ? strtol(text, NULL, 10) : 0;

        if (pid > 1)
                (void)kill((pid_t)pid, SIGKILL);
        (void)kill(-k->pid, SIGKILL);
}

/* Until the runtime's client is gone. */
static int watch(
        struct pd_call *call, const struct child *k, int64_t until, struct exec_result *res, struct pd_error *err)
{
        for (;;) {
                struct pollfd p = { .fd = k->pidfd, .events = POLLIN };
                int r = capture_wait(call, k->out, POLLIN, capture_until(call, CAPTURE_SLICE_US / 2), err);

                if (r < 0)
                        return r;
                if (r > 0 && !drain(k->out, res->tail))
                        (void)poll(&p, 1, 50);
                if (k->pidfd >= 0 ? poll(&p, 1, 0) > 0 : kill(k->pid, 0) < 0)
                        return 0;
                if (capture_now(call) >= until) {
                        res->timed_out = true;
                        return 0;
                }
        }
}

int exec_inside(struct pd_call *call, const struct pd_container *c, const char *const *argv, int64_t timeout_us,
        struct exec_result *ret, struct pd_error *err)
{
        struct child k = { .pid = -1, .pidfd = -1, .out = -1 };
        struct exec_result res = { .status = 0 };
        const char *words[ARGS_MAX];
        char dir_env[4200];
        int r;

        if (snprintf(k.pid_file, sizeof k.pid_file, "%s/save.pid", c->bundle) >= (int)sizeof k.pid_file)
                return pd_fail(err, PD_E_INVALID, "the bundle's path is too long");
        (void)unlink(k.pid_file);
        r = build_argv(c, argv, k.pid_file, dir_env, sizeof dir_env, words, err);
        if (r < 0 || (r = spawn(&k, words, err)) < 0)
                return r;
        r = watch(call, &k, capture_until(call, timeout_us), &res, err);
        if (r < 0 || res.timed_out)
                kill_inside(&k);
        (void)waitpid(k.pid, &res.status, 0);
        (void)drain(k.out, res.tail);
        (void)close(k.out);
        capture_closep(&k.pidfd);
        (void)unlink(k.pid_file);
        if (r == 0)
                *ret = res;
        return r;
}
