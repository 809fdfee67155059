/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/month.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 5000

/* Reads one line, or until the deadline; the child is reaped in every case. */
static bool answer(int fd, pid_t pid, char *buf, size_t room)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        size_t n = 0;
        ssize_t got;
        int status = -1;

        while (n + 1 < room && poll(&p, 1, ANSWER_MS) > 0 && (got = read(fd, buf + n, room - n - 1)) > 0)
                n += (size_t)got;
        buf[n] = '\0';
        if (n == 0 || buf[n - 1] != '\n')
                (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool date(const char *zone, const char *when, const char *format, char *buf, size_t room)
{
        char tz[128], when_arg[64];
        char *argv[] = { (char *)(uintptr_t) "date", when_arg, (char *)(uintptr_t)format, NULL };
        char *envp[] = { tz, (char *)(uintptr_t) "LC_ALL=C", NULL };
        posix_spawn_file_actions_t actions;
        int fds[2];
        pid_t pid = 0;
        bool ok;

        if (!str_format(tz, sizeof tz, "TZ=%s", zone) || !str_format(when_arg, sizeof when_arg, "--date=%s", when) ||
                pipe2(fds, O_CLOEXEC) < 0)
                return false;
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
        ok = posix_spawn(&pid, "/bin/date", &actions, NULL, argv, envp) == 0;
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)close(fds[1]);
        ok = ok && answer(fds[0], pid, buf, room);
        (void)close(fds[0]);
        return ok;
}

/* The first instant of a day: midnight, or 01:00 where the clocks are put forward at midnight. */
static bool day_start(const char *zone, int year, int month, int64_t *ret_wall_us)
{
        char when[40], out[32];

        for (int hour = 0; hour < 2; hour++) {
                (void)str_format(when, sizeof when, "%04d-%02d-01 %02d:00:00", year, month, hour);
                if (date(zone, when, "+%s", out, sizeof out)) {
                        *ret_wall_us = (int64_t)strtoll(out, NULL, 10) * USEC_PER_SEC;
                        return true;
                }
        }
        return false;
}

int month_of(const char *zone, int64_t at_wall_us, int64_t *ret_from_wall_us, int64_t *ret_until_wall_us,
        struct pd_error *err)
{
        char when[40], out[32], path[256];
        int64_t from, until;
        int year, month;

        (void)str_format(when, sizeof when, "@%lld", (long long)(at_wall_us / USEC_PER_SEC));
        /* an unknown zone is UTC to the C library, and must not be to us */
        if (strchr(zone, '.') || !str_format(path, sizeof path, "/usr/share/zoneinfo/%s", zone) ||
                (access(path, R_OK) < 0 && !streq(zone, "UTC")))
                return pd_fail(err, PD_E_NOT_FOUND, "this system does not know the time zone \"%s\"", zone);
        if (!date(zone, when, "+%Y %m", out, sizeof out))
                return pd_fail(err, PD_E_IO, "date(1) does not tell the month of time zone \"%s\"", zone);
        year = (int)strtol(out, NULL, 10);
        month = (int)strtol(out + 5, NULL, 10);
        if (!day_start(zone, year, month, &from) ||
                !day_start(zone, month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, &until))
                return pd_fail(err, PD_E_IO, "date(1) does not tell the first of a month in time zone \"%s\"", zone);
        *ret_from_wall_us = from;
        *ret_until_wall_us = until;
        return 0;
}
