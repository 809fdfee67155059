/* SPDX-License-Identifier: Apache-2.0 */
#include "precheck.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int look_value(
        struct look *l, int32_t fd, const char *type, const char *reason, const char *fix, const char *path_fmt, ...)
{
        char path[900];
        va_list ap;

        if (l->found++ >= PRECHECK_VALUES_MAX)
                return 0;
        va_start(ap, path_fmt);
        (void)vsnprintf(path, sizeof path, path_fmt, ap);
        va_end(ap);
        return capture_value_at(l->each, l->arg, path, type, reason, fix, l->pid, fd);
}

/* ---- one process ---- */

static const char *const spaces[] = { "pid", "mnt", "user", "net", "ipc", "uts", "cgroup", "time", "pid_for_children" };

static int look_namespaces(struct look *l)
{
        char main[128], own[128];
        int r = 0;

        for (size_t i = 0; r == 0 && i < sizeof spaces / sizeof *spaces; i++) {
                const char *of_main = strcmp(spaces[i], "pid_for_children") == 0 ? "pid" : spaces[i];

                if (proc_link(main, sizeof main, "/proc/%d/ns/%s", l->c->pid, of_main) &&
                        proc_link(own, sizeof own, "/proc/%d/ns/%s", l->pid, spaces[i]) && strcmp(main, own) != 0)
                        r = look_value(l, -1, "nested namespace",
                                "the process has left the container's own namespace, and a checkpoint carries one of "
                                "each",
                                "let it not call unshare or setns, or end it before the save", "/proc/%d/ns/%s %s",
                                l->pid, spaces[i], own);
        }
        return r;
}

/* Only what descends from the main process is in its tree. */
static bool descends(const struct look *l, int32_t pid)
{
        struct parse_status s;

        for (int depth = 0; depth < 4096 && pid > 1; depth++) {
                if (pid == l->c->pid)
                        return true;
                if (!proc_status(pid, &s))
                        return true; /* it has just ended */
                pid = s.parent;
        }
        return false;
}

static int look_status(struct look *l)
{
        struct parse_status s;
        char exe[512] = "";

        if (!proc_status(l->pid, &s))
                return 0;
        (void)proc_link(exe, sizeof exe, "/proc/%d/exe", l->pid);
        if (s.tracer)
                return look_value(l, -1, "traced process",
                        "a debugger or tracer holds it, and criu must trace it itself",
                        "detach the tracer (its pid is named)", "/proc/%d traced by pid %d", l->pid, s.tracer);
        if (!descends(l, l->pid))
                return look_value(l, -1, "process from outside",
                        "it is in the container, but no child of its main process (an exec, for example)",
                        "end it before the save", "/proc/%d %s", l->pid, exe);
        return 0;
}

static int each_fd(struct look *l, int (*fn)(struct look *l, int32_t fd))
{
        char path[64];
        DIR *d;
        int r = 0;

        (void)snprintf(path, sizeof path, "/proc/%d/fd", l->pid);
        d = opendir(path);
        for (struct dirent *e; r == 0 && d && (e = readdir(d));)
                if (*e->d_name != '.')
                        r = fn(l, (int32_t)strtol(e->d_name, NULL, 10));
        if (d)
                (void)closedir(d);
        return r;
}

static int note_socket(struct look *l, int32_t fd)
{
        struct parse_link_of of;
        char link[512];

        if (!proc_link(link, sizeof link, "/proc/%d/fd/%d", l->pid, fd))
                return 0;
        parse_link(link, &of);
        if (of.kind != LINK_SOCKET)
                return 0;
        if (l->sockets_n % 64 == 0) {
                uint64_t *more = reallocarray(l->sockets, l->sockets_n + 64, sizeof *more);

                if (!more)
                        return -PD_E_NOMEM;
                l->sockets = more;
        }
        l->sockets[l->sockets_n++] = of.inode;
        return 0;
}

static int look_process(struct look *l)
{
        int r = look_status(l);

        if (r == 0)
                r = look_namespaces(l);
        if (r == 0)
                r = each_fd(l, look_fd);
        return r == 0 ? look_maps(l) : r;
}

/* ---- all ---- */

static int begin(struct look *l, struct pd_error *err)
{
        static const char *const files[] = { "tcp", "tcp6", "udp", "udp6" };
        int r = proc_pids(l->c->cgroup, &l->pids, err);

        if (r == 0)
                r = proc_unixes(&l->unixes, err);
        for (size_t i = 0; r == 0 && i < sizeof files / sizeof *files; i++)
                l->net[i] = proc_text("/proc/%d/net/%s", l->c->pid, files[i]);
        l->net_unix = r == 0 ? proc_text("/proc/%d/net/unix", l->c->pid) : NULL;
        for (size_t i = 0; r == 0 && i < l->pids.n; i++) {
                l->pid = l->pids.at[i];
                r = each_fd(l, note_socket);
        }
        return r;
}

static void end(struct look *l)
{
        proc_pids_clear(&l->pids);
        free(l->unixes.at);
        free(l->sockets);
        for (size_t i = 0; i < sizeof l->net / sizeof *l->net; i++)
                free(l->net[i]);
        free(l->net_unix);
}

int precheck_container(const struct pd_container *c, pd_value_fn each, void *arg, size_t *ret_n, struct pd_error *err)
{
        struct look l = { .c = c, .each = each, .arg = arg };
        int r;

        if (c->pid <= 0)
                return pd_fail(err, PD_E_CONFLICT, "container %s has no main process now", c->id);
        r = begin(&l, err);
        for (size_t i = 0; r == 0 && i < l.pids.n; i++) {
                l.pid = l.pids.at[i];
                r = look_process(&l);
        }
        if (r == 0)
                r = look_locks(&l);
        *ret_n = l.found;
        end(&l);
        return r < 0 && err && !err->code ? pd_fail(err, PD_E_IO, "/proc of container %s could not be read", c->id) : r;
}
