/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor of a container: conmon, in the job's own cgroup. It holds the job's pipes, writes its log and its exit file, and needs
 * no runner to do so. Here: its command line, watching it by pidfd, and reading what it left. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/runner.h"

static int add(json_t *argv, char *text)
{
        int r = text ? json_array_append_new(argv, json_string(text)) : -1;

        free(text);
        return r;
}

/* The runtime brings the container back from a capture's images instead of creating it. */
static int add_restore(json_t *argv, const json_t *how)
{
        const char *images = js_str(how, "images", "");
        int bad = add(argv, path_fmt("--restore=%s", images)) |
                  add(argv, path_fmt("--runtime-opt=--image-path=%s", images));
        const json_t *v;
        size_t i;

        json_array_foreach (json_object_get(how, "options"), i, v)
                bad |= add(argv, path_fmt("--runtime-opt=%s", str_or(json_string_value(v), "")));
        return bad;
}

int monitor_spawn_argv(struct job *j, const json_t *restore, json_t **ret_argv, struct pd_error *err)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *dir = job_gen(j, "");
        js_owned *argv = json_pack("[s, s, s]", j->r->cfg.conmon, "--api-version", "1");
        int bad = 0;

        if (!unit || !dir || !argv)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        bad |= add(argv, path_fmt("--cid=%s", unit)) | add(argv, path_fmt("--cuuid=%s", unit));
        bad |= add(argv, path_fmt("--name=%s", unit)) | add(argv, path_fmt("--runtime=%s", j->r->rt.path));
        bad |= add(argv, path_fmt("--bundle=%s/bundle", dir)) | add(argv, path_fmt("--container-pidfile=%s/pid", dir));
        bad |= add(argv, path_fmt("--conmon-pidfile=%s/monitor.pid", dir));
        bad |= add(argv, path_fmt("--exit-dir=%s/exit", dir)) | add(argv, path_fmt("--persist-dir=%s/exit", dir));
        bad |= add(argv, path_fmt("--log-path=k8s-file:%s/log", j->dir)) | add(argv, strdup("--full-attach"));
        bad |= add(argv, path_fmt("--runtime-arg=--root=%s/runtime", j->r->cfg.state_dir));
        bad |= add(argv, path_fmt("--runtime-arg=--log=%s/runtime.log", dir));
        bad |= restore ? add_restore(argv, restore) : add(argv, strdup("--no-new-keyring"));
        if (bad)
                return pd_fail(err, PD_E_NOMEM, "no memory for the supervisor's command line");
        *ret_argv = json_incref(argv);
        return 0;
}

static int on_monitor_end(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
        struct job *j = arg;

        (void)s, (void)fd, (void)revents;
        j->monitor = sd_event_source_disable_unref(j->monitor);
        finish_exited(j);
        return 0;
}

static int on_gone_already(sd_event_source *s, uint64_t usec, void *arg)
{
        struct job *j = arg;

        (void)s, (void)usec;
        j->monitor = sd_event_source_disable_unref(j->monitor);
        finish_exited(j);
        return 0;
}

int monitor_watch(struct job *j, struct pd_error *err)
{
        int fd = j->monitor_pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)j->monitor_pid, 0) : -1;
        int r;

        j->monitor = sd_event_source_disable_unref(j->monitor);
        /* the number may be another process's by now: then ours is gone */
        if (fd >= 0 && proc_start_time((pid_t)j->monitor_pid) != (uint64_t)j->monitor_start)
                fd = safe_close(fd);
        if (fd < 0) {
                r = sd_event_add_time_relative(j->r->loop, &j->monitor, CLOCK_BOOTTIME, 0, 1, on_gone_already, j);
        } else {
                r = sd_event_add_io(j->r->loop, &j->monitor, fd, EPOLLIN, on_monitor_end, j);
                if (r >= 0)
                        (void)sd_event_source_set_io_fd_own(j->monitor, 1);
                else
                        (void)close(fd);
        }
        return r < 0 ? pd_fail(err, PD_E_NOMEM, "%s: its supervisor cannot be watched", j->id) : 0;
}

/* The supervisor's file has the exit code, or 128 + the signal: as shells tell it. A code of a process that really exited with more than
 * 128 cannot be told from a signal there; so what the runner sent itself (kill_boot_us) is no argument, only the number is. */
int monitor_read_exit(const struct job *j, json_t **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *path = unit ? job_gen(j, "exit/") : NULL;
        pd_cleanup(freep) char *file = path ? path_fmt("%s%s", path, unit) : NULL;
        pd_cleanup(freep) char *oom_file = path ? path_fmt("%soom", path) : NULL;
        pd_cleanup(freep) char *text = NULL;
        struct stat st;
        bool oom;
        char *end;
        long code;
        int r;

        if (!file || !oom_file)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        r = disk_read(file, 64, &text, NULL, err);
        if (r < 0)
                return r;
        code = strtol(text, &end, 10);
        if (end == text || code < 0 || code > 255 || stat(file, &st) < 0)
                return pd_fail(err, PD_E_CORRUPT, "%s has no exit code in it", file);
        /* the supervisor notes any kill for want of memory: the main process's own is what ends a job, and no kill of ours counts */
        oom = code == 128 + SIGKILL && disk_exists(oom_file) && !j->kill_boot_us && !save_committed(j);
        *ret = json_pack("{s:I, s:I, s:b, s:I}", "code", (json_int_t)code, "signal",
                (json_int_t)(code > 128 && code <= 128 + 64 ? code - 128 : 0), "oom", oom, "wall_us",
                (json_int_t)st.st_mtim.tv_sec * USEC_PER_SEC + st.st_mtim.tv_nsec / 1000);
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory");
}
