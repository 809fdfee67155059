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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

extern char **environ;

struct child {
        pid_t pid;
        int pidfd, out; /* out: what it writes */
        char pid_file[4200], process_file[4200];
};

/* Is a variable of that name among "NAME=VALUE" texts? */
static bool has_env(const json_t *env, const char *name)
{
        size_t i, n = strlen(name);
        json_t *v;

        json_array_foreach ((json_t *)(uintptr_t)env, i, v) {
                const char *text = json_string_value(v);

                if (text && strncmp(text, name, n) == 0 && text[n] == '=')
                        return true;
        }
        return false;
}

/* The container's own process, as its bundle describes it (user, environment, capabilities, limits), with other words. By a file, for what is
 * in the environment must be in no argument list; and crun would start from an empty one. */
static int write_process(const struct pd_container *c, const char *const *argv, const char *path, struct pd_error *err)
{
        char from[4200], dir[4200];
        json_error_t why;
        json_t *config, *process, *args = json_array(), *env;
        int r = 0, fd;

        (void)snprintf(from, sizeof from, "%s/config.json", c->bundle);
        config = json_load_file(from, 0, &why);
        process = json_object_get(config, "process");
        env = json_object_get(process, "env");
        for (size_t i = 0; argv[i]; i++)
                (void)json_array_append_new(args, json_string(argv[i]));
        if (!json_is_object(process) || (env && !json_is_array(env)) || json_object_set_new(process, "args", args) < 0)
                r = pd_fail(err, PD_E_IO, "the bundle of container %s describes no process: %.100s", c->id,
                        config ? "" : why.text);
        if (r == 0 && !env && json_object_set_new(process, "env", env = json_array()) < 0)
                r = pd_fail(err, PD_E_NOMEM, "no memory for a command's environment");
        (void)snprintf(dir, sizeof dir, "PORTAL_CHECKPOINT_DIR=%s", c->job_dir_inside);
        if (r == 0 && !has_env(env, "PORTAL_CHECKPOINT_DIR") && json_array_append_new(env, json_string(dir)) < 0)
                r = pd_fail(err, PD_E_NOMEM, "no memory for a command's environment");
        if (r == 0) {
                (void)json_object_set_new(process, "terminal", json_false());
                fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
                if (fd < 0 || json_dumpfd(process, fd, JSON_COMPACT) < 0)
                        r = pd_fail(err, PD_E_IO, "writing %.150s: %s", path, strerror(errno));
                capture_closep(&fd);
        }
        json_decref(config);
        return r;
}

/* The host keeps this process small by soft limits; the job's command is not to inherit them. Raised around the spawn. */
static const __rlimit_resource_t lifted[] = { RLIMIT_AS, RLIMIT_NOFILE };
#define LIFTED (sizeof lifted / sizeof *lifted)

static void lift_limits(struct rlimit kept[LIFTED])
{
        for (size_t i = 0; i < LIFTED; i++)
                if (getrlimit(lifted[i], &kept[i]) < 0 ||
                        setrlimit(lifted[i], &(struct rlimit){ kept[i].rlim_max, kept[i].rlim_max }) < 0)
                        kept[i].rlim_cur = RLIM_INFINITY; /* as it was: nothing to put back */
}

static void put_limits_back(const struct rlimit kept[LIFTED])
{
        for (size_t i = 0; i < LIFTED; i++)
                if (kept[i].rlim_cur != RLIM_INFINITY)
                        (void)setrlimit(lifted[i], &kept[i]);
}

static int spawn(struct child *k, const char *const *argv, struct pd_error *err)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        struct rlimit kept[LIFTED];
        int out[2], e;

        if (pipe2(out, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "pipe: %s", strerror(errno));
        (void)posix_spawn_file_actions_init(&files);
        (void)posix_spawnattr_init(&attr);
        (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
        (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&files, out[1], 1);
        (void)posix_spawn_file_actions_adddup2(&files, out[1], 2);
        lift_limits(kept);
        e = posix_spawn(&k->pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
        put_limits_back(kept);
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

static int files_of(struct child *k, const struct pd_container *c, struct pd_error *err)
{
        if (snprintf(k->pid_file, sizeof k->pid_file, "%s/save.pid", c->bundle) >= (int)sizeof k->pid_file ||
                snprintf(k->process_file, sizeof k->process_file, "%s/save.process.json", c->bundle) >=
                        (int)sizeof k->process_file)
                return pd_fail(err, PD_E_INVALID, "the path of the bundle of container %s is too long", c->id);
        (void)unlink(k->pid_file);
        (void)unlink(k->process_file);
        return 0;
}

int exec_inside(struct pd_call *call, const struct pd_container *c, const char *const *argv, int64_t timeout_us,
        struct exec_result *ret, struct pd_error *err)
{
        struct child k = { .pid = -1, .pidfd = -1, .out = -1 };
        struct exec_result res = { .status = 0 };
        const char *words[] = { c->runtime, "--root", c->runtime_root, "exec", "--process", k.process_file,
                "--pid-file", k.pid_file, c->id, NULL };
        int r = files_of(&k, c, err);

        if (r == 0)
                r = write_process(c, argv, k.process_file, err);
        if (r == 0)
                r = spawn(&k, words, err);
        if (r == 0) {
                r = watch(call, &k, capture_until(call, timeout_us), &res, err);
                if (r < 0 || res.timed_out)
                        kill_inside(&k);
                (void)waitpid(k.pid, &res.status, 0);
                (void)drain(k.out, res.tail);
                (void)close(k.out);
                capture_closep(&k.pidfd);
        }
        (void)unlink(k.pid_file);
        (void)unlink(k.process_file);
        if (r == 0)
                *ret = res;
        return r;
}
