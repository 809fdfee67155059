/* SPDX-License-Identifier: Apache-2.0 */
#include "host/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/child.h"

#define FD_HIGH 10 /* out of the way of 0 to 3, which the child gets anew */
#define REAP_MS 2000

/* What a plugin may know of our environment: nothing that names a user, a session or a secret. The sanitizers' are for tests. */
static const char *const passed[] = { "TZ", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS" };

struct environment {
        char text[ARRAY_LEN(passed)][512];
        char *list[ARRAY_LEN(passed) + 3];
};

static void environment_fill(struct environment *e)
{
        static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    lang[] = "LANG=C.UTF-8";
        size_t n = 0;

        e->list[n++] = path;
        e->list[n++] = lang;
        for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
                const char *value = getenv(passed[i]);

                if (value && str_format(e->text[i], sizeof e->text[i], "%s=%s", passed[i], value))
                        e->list[n++] = e->text[i];
        }
        e->list[n] = NULL;
}

static int spawn_with(const char *program, uint64_t memory_max, int theirs, pid_t *ret,
        posix_spawn_file_actions_t *files, posix_spawnattr_t *attr)
{
        struct environment e;
        sigset_t none, all;
        char memory[32], parent[32];
        char *argv[] = { (char *)(uintptr_t)program, memory, parent, NULL };
        int r;

        environment_fill(&e);
        (void)str_format(memory, sizeof memory, "%llu", (unsigned long long)memory_max);
        (void)str_format(parent, sizeof parent, "%d", (int)getpid());
        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        (void)posix_spawnattr_setsigmask(attr, &none);
        (void)posix_spawnattr_setsigdefault(attr, &all);
        r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
                r = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDWR, 0);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(files, 0, 1);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(files, theirs, CHILD_FD);
        return r ? r : posix_spawn(ret, program, files, attr, argv, e.list);
}

static int spawn_child(const char *program, uint64_t memory_max, int theirs, pid_t *ret)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        int r = posix_spawn_file_actions_init(&files);

        if (r)
                return r;
        r = posix_spawnattr_init(&attr);
        if (r == 0) {
                r = spawn_with(program, memory_max, theirs, ret, &files, &attr);
                (void)posix_spawnattr_destroy(&attr);
        }
        (void)posix_spawn_file_actions_destroy(&files);
        return r;
}

int spawn_host(const char *program, uint64_t memory_max, struct spawned *ret, struct pd_error *err)
{
        pd_cleanup(closep) int theirs = -1;
        struct spawned s = SPAWNED_NONE;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return pd_fail(err, PD_E_IO, "no socket for a plugin: %s", strerror(errno));
        s.fd = pair[0];
        theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, FD_HIGH);
        r = theirs < 0 ? errno : 0;
        (void)safe_close(pair[1]);
        if (r == 0)
                r = spawn_child(program, memory_max, theirs, &s.pid);
        if (r) {
                (void)safe_close(s.fd);
                return pd_fail(err, PD_E_IO, "%s cannot be started: %s", program, strerror(r));
        }
        s.pidfd = pidfd_open(s.pid, 0);
        if (s.pidfd < 0) {
                r = errno;
                spawn_end(&s, 0, NULL, 0);
                return pd_fail(err, PD_E_IO, "%s cannot be watched: %s", program, strerror(r));
        }
        *ret = s;
        return 0;
}

static void say_how(const siginfo_t *info, char *how, size_t n)
{
        if (info->si_code == CLD_EXITED)
                (void)str_format(how, n, "called exit(%d)", info->si_status);
        else
                (void)str_format(how, n, "was killed by signal %d (%s)", info->si_status,
                        str_or(sigdescr_np(info->si_status), "unknown"));
}

void spawn_end(struct spawned *s, int64_t wait_us, char *how, size_t how_n)
{
        struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };
        siginfo_t info = { 0 };

        if (how)
                (void)str_format(how, how_n, "%s", "is not running");
        s->fd = safe_close(s->fd);
        if (s->pid <= 0)
                return;
        if (s->pidfd >= 0 && wait_us > 0)
                (void)poll(&ended, 1, (int)(wait_us / USEC_PER_MSEC));
        /* one that is dying already keeps its own status; helpers that it left behind go too */
        (void)kill(-s->pid, SIGKILL);
        (void)kill(s->pid, SIGKILL);
        if (s->pidfd >= 0)
                (void)poll(&ended, 1, REAP_MS);
        if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | (s->pidfd >= 0 ? WNOHANG : 0)) == 0 && info.si_pid && how)
                say_how(&info, how, how_n);
        s->pidfd = safe_close(s->pidfd);
        s->pid = 0;
}
