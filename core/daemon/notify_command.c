/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.notify_command: a program of the site, once an event. It is told everything by PORTAL_... variables and nothing by arguments. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/quantity.h"
#include "daemon/notify.h"

struct notify_command {
        sd_event *loop;
        struct notify_queue queue;
        char *path;
        sd_event_source *child, *deadline;
        pid_t pid; /* 0 = none */
        int64_t deadline_us;
        bool late;
};

static void next(struct notify_command *c);

static const struct {
        const char *name, *member;
} variables[] = {
        { "PORTAL_KIND", "kind" },
        { "PORTAL_MESSAGE", "text" },
        { "PORTAL_JOB_ID", "job" },
        { "PORTAL_JOB_NAME", "name" },
        { "PORTAL_USER", "user" },
        { "PORTAL_PROJECT", "project" },
        { "PORTAL_STATE", "state" },
        { "PORTAL_RESULT", "result" },
        { "PORTAL_CAUSE", "cause" },
        { "PORTAL_RESUME", "resume_line" },
        { "PORTAL_DEADLINE_OF", "deadline" },
};
#define ENVIRONMENT_MAX (ARRAY_LEN(variables) + 5)

static char *variable(const char *name, const char *value)
{
        size_t n = strlen(name) + strlen(value) + 2;
        char *text = malloc(n);

        if (text)
                (void)str_format(text, n, "%s=%s", name, value);
        return text;
}

static void environment_free(char **list)
{
        for (size_t i = 0; i < ENVIRONMENT_MAX; i++)
                free(list[i]);
}

/* false = no memory */
static bool environment_fill(char **list, const json_t *event)
{
        pd_cleanup(freep) char *json = js_dump(event);
        int64_t end = js_int(event, "deadline_wall_us", 0);
        char until[QUANTITY_MAX];
        size_t n = 0;

        if (!json)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(variables); i++)
                list[n++] = variable(variables[i].name, js_str(event, variables[i].member, ""));
        list[n++] = variable("PORTAL_DEADLINE", end ? time_format_utc(end, until) : "");
        list[n++] = variable("PORTAL_EVENT", json);
        list[n++] = variable("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        list[n++] = variable("LANG", "C.UTF-8");
        for (size_t i = 0; i < n; i++)
                if (!list[i])
                        return false;
        return true;
}

static int spawn(const char *path, char **environment, pid_t *ret)
{
        char *argv[] = { (char *)(uintptr_t)path, NULL };
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        sigset_t none, all;
        int r = posix_spawn_file_actions_init(&files);

        if (r != 0)
                return -r;
        r = posix_spawnattr_init(&attr);
        if (r == 0) {
                (void)sigemptyset(&none);
                (void)sigfillset(&all);
                (void)posix_spawnattr_setsigmask(&attr, &none);
                (void)posix_spawnattr_setsigdefault(&attr, &all);
                (void)posix_spawnattr_setpgroup(&attr, 0); /* a deadline takes what it started along */
                (void)posix_spawnattr_setflags(
                        &attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
                (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
                (void)posix_spawn_file_actions_adddup2(&files, 2, 1); /* what it says goes to the log */
                r = posix_spawn(ret, path, &files, &attr, argv, environment);
                (void)posix_spawnattr_destroy(&attr);
        }
        (void)posix_spawn_file_actions_destroy(&files);
        return -r;
}

static int on_exit_of(sd_event_source *s, const siginfo_t *si, void *arg)
{
        struct notify_command *c = arg;

        (void)s;
        if (c->late)
                log_warning("%s took too long and was killed", c->path);
        else if (si->si_code != CLD_EXITED || si->si_status != 0)
                log_warning("%s %s %d: that event was not delivered by it, the journal has it", c->path,
                        si->si_code == CLD_EXITED ? "ended with code" : "died of signal", si->si_status);
        c->pid = 0;
        c->late = false;
        c->child = sd_event_source_disable_unref(c->child);
        c->deadline = sd_event_source_disable_unref(c->deadline);
        next(c);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *arg)
{
        struct notify_command *c = arg;

        (void)s;
        (void)usec;
        c->late = true;
        if (c->pid > 0)
                (void)kill(-c->pid, SIGKILL);
        return 0;
}

/* 0 = it runs, and on_exit_of() will be called */
static int run(struct notify_command *c, const json_t *event)
{
        char *environment[ENVIRONMENT_MAX] = { NULL };
        int r = environment_fill(environment, event) ? spawn(c->path, environment, &c->pid) : -ENOMEM;

        environment_free(environment);
        if (r < 0) {
                c->pid = 0;
                return r;
        }
        r = sd_event_add_child(c->loop, &c->child, c->pid, WEXITED, on_exit_of, c);
        if (r >= 0)
                r = sd_event_add_time_relative(
                        c->loop, &c->deadline, CLOCK_BOOTTIME, (uint64_t)c->deadline_us, 1, on_deadline, c);
        if (r >= 0)
                return 0;
        (void)kill(-c->pid, SIGKILL);
        (void)waitpid(c->pid, NULL, 0);
        c->child = sd_event_source_disable_unref(c->child);
        c->pid = 0;
        return r;
}

static void next(struct notify_command *c)
{
        while (c->path && c->pid == 0 && c->queue.n) {
                js_owned *event = notify_queue_take(&c->queue);
                int r = run(c, event);

                if (r < 0)
                        log_warning("%s cannot be run (%s): that event was not delivered by it, the journal has it",
                                c->path, strerror(-r));
        }
}

void notify_command_put(struct notify_command *c, const json_t *event)
{
        if (!c->path)
                return;
        notify_queue_put(&c->queue, event);
        next(c);
}

int notify_command_set(struct notify_command *c, const char *path, struct pd_error *err)
{
        char *copy = path ? strdup(path) : NULL;

        if (path && !copy)
                return pd_fail(err, PD_E_NOMEM, "no memory for daemon.notify_command");
        free(c->path);
        c->path = copy;
        if (!path)
                notify_queue_clear(&c->queue);
        next(c);
        return 0;
}

int notify_command_new(struct notify_command **ret, sd_event *loop, int64_t deadline_us, struct pd_error *err)
{
        struct notify_command *c = calloc(1, sizeof *c);
        sigset_t set;

        if (!c)
                return pd_fail(err, PD_E_NOMEM, "no memory for notifications");
        /* sd-event wants it so where the kernel gives it no descriptor of a process */
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        c->loop = sd_event_ref(loop);
        c->deadline_us = deadline_us;
        c->queue.what = "daemon.notify_command";
        *ret = c;
        return 0;
}

struct notify_command *notify_command_free(struct notify_command *c)
{
        if (!c)
                return NULL;
        c->child = sd_event_source_disable_unref(c->child);
        c->deadline = sd_event_source_disable_unref(c->deadline);
        if (c->pid > 0) {
                (void)kill(-c->pid, SIGKILL);
                (void)waitpid(c->pid, NULL, 0);
        }
        notify_queue_clear(&c->queue);
        free(c->path);
        (void)sd_event_unref(c->loop);
        free(c);
        return NULL;
}
