/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a container: asked for (SIGTERM, then the whole cgroup), or come by itself; and what is cleared away after it. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/rootfs.h"
#include "runner/runner.h"

#define LOOK_AGAIN_US (20 * USEC_PER_MSEC)
#define LEAVE_US (500 * USEC_PER_MSEC) /* for killed processes to be gone */

static void signal_main(struct job *j, int sig)
{
        int fd = j->pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)j->pid, 0) : -1;

        if (fd >= 0 && proc_start_time((pid_t)j->pid) == (uint64_t)j->pid_start)
                (void)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
        if (fd >= 0)
                (void)close(fd);
}

void finish_term(struct job *j, const char *cause, int64_t grace_us)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        int64_t kill_at = now_boot_us() + grace_us;

        if (j->kill_boot_us && j->kill_boot_us <= kill_at)
                return; /* asked before: an earlier end stays */
        if (!j->kill_boot_us && !(j->phase == PHASE_HELD &&
                                        *j->cause)) /* what is held by a suspension is being ended for its own cause */
                job_set_cause(j, cause);
        if (j->phase ==
                PHASE_HELD) /* law 1: nothing of it runs, nor may it: no signal could be answered, so it ends at once */
                kill_at = now_boot_us();
        j->kill_boot_us = kill_at > 0 ? kill_at : 1;
        job_changed(j);
        if (j->phase == PHASE_HELD) {
                orders_check(j);
                return;
        }
        if (unit)
                (void)cgroup_freeze(&j->r->cg, unit, false, NULL);
        signal_main(j, SIGTERM);
        orders_check(j);
}

void finish_kill(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);

        if (unit)
                cgroup_kill(&j->r->cg, unit, "payload");
}

static void no_longer(struct job *j)
{
        j->timer = sd_event_source_disable_unref(j->timer);
        j->progress_watch = sd_event_source_disable_unref(j->progress_watch);
        j->monitor = sd_event_source_disable_unref(j->monitor);
}

static void tidy_groups(struct runner *r)
{
        for (size_t i = 0; i < r->jobs.n; i++)
                if (job_live(r->jobs.at[i]))
                        return;
        cgroups_tidy(&r->cg);
}

struct deletion {
        struct runner *r;
        char unit[64];
};

static void on_deleted(void *arg, const struct pd_error *err, const struct proc_result *result)
{
        struct deletion *d = arg;

        (void)err, (void)result; /* "does not exist" is the usual answer: the container's end took it along */
        cgroup_remove(&d->r->cg, d->unit);
        tidy_groups(d->r);
        free(d);
}

/* The runtime keeps a record of the container until it is told to forget it. */
static void delete_record(struct runner *r, const char *unit)
{
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", r->cfg.state_dir);
        const char *argv[] = { r->rt.path, "--root", root, "delete", "--force", unit, NULL };
        struct deletion *d = calloc(1, sizeof *d);
        struct proc *p;
        struct pd_error err;

        if (!root || !d || !str_format(d->unit, sizeof d->unit, "%s", unit)) {
                free(d);
                return;
        }
        d->r = r;
        if (proc_run(&p, r->loop,
                    &(struct proc_spec){
                            .argv = argv, .what = "runtime delete", .timeout_us = SHORT_US, .detached = true },
                    on_deleted, d, &err) < 0) {
                log_warning("%s: %s", unit, err.text);
                free(d);
        }
}

void finish_clean(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *dir = job_gen(j, "");

        no_longer(j);
        if (!unit || !dir)
                return;
        cgroup_kill(&j->r->cg, unit, "");
        rootfs_umount(dir);
        delete_record(j->r, unit);
}

static bool is_live_unit(const struct runner *r, const char *unit)
{
        for (size_t i = 0; i < r->jobs.n; i++) {
                pd_cleanup(freep) char *own = job_unit(r->jobs.at[i]);

                if (own && streq(own, unit) && job_live(r->jobs.at[i]))
                        return true;
        }
        return false;
}

/* A runner that was killed while it cleared away left groups, mounts or records of containers that are over. */
void finish_sweep(struct runner *r)
{
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", r->cfg.state_dir);
        js_owned *names = json_array();
        struct pd_error err;
        const json_t *name;
        DIR *d = root ? opendir(root) : NULL;
        size_t i;

        if (cgroups_list(&r->cg, names, &err) < 0)
                log_warning("%s", err.text);
        for (struct dirent *e; d && (e = readdir(d));)
                if (str_starts(e->d_name, id_prefix(ID_JOB)))
                        (void)json_array_append_new(names, json_string(e->d_name));
        if (d)
                (void)closedir(d);
        json_array_foreach (names, i, name)
                if (!is_live_unit(r, json_string_value(name))) {
                        cgroup_kill(&r->cg, json_string_value(name), "");
                        delete_record(r, json_string_value(name));
                }
        for (i = 0; i < r->jobs.n; i++) {
                pd_cleanup(freep) char *dir = job_gen(r->jobs.at[i], "");

                if (dir && !job_live(r->jobs.at[i]))
                        rootfs_umount(dir);
        }
}

/* At the runner's own end: what the runtime's answers would have cleared away in a moment. Live jobs and their groups stay. */
void finish_leave(struct runner *r)
{
        js_owned *names = json_array();
        int64_t until = now_boot_us() + LEAVE_US;
        const json_t *name;
        size_t i;

        if (cgroups_list(&r->cg, names, NULL) < 0)
                return;
        json_array_foreach (names, i, name) {
                const char *unit = json_string_value(name);

                if (is_live_unit(r, unit))
                        continue;
                cgroup_kill(&r->cg, unit, "");
                while (cgroup_populated(&r->cg, unit, "") && now_boot_us() < until)
                        (void)usleep(1000);
                cgroup_remove(&r->cg, unit);
        }
        tidy_groups(r);
}

/* A capture that cleans up after its job, and its process's last turn. */
struct farewell {
        struct host *host;
        sd_event *loop;
        sd_event_source *soon;
};

static int on_farewell_end(sd_event_source *s, uint64_t usec, void *arg)
{
        struct farewell *f = arg;

        (void)s, (void)usec;
        sd_event_source_disable_unref(f->soon);
        (void)host_free(f->host);
        free(f);
        return 0;
}

static void on_destroyed(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct farewell *f = arg;

        (void)ret, (void)items, (void)text;
        if (err && err->code != PD_E_CANCELLED)
                log_warning("a capture could not clean up: %s", err->text);
        /* not from inside its own callback */
        if (sd_event_add_time_relative(f->loop, &f->soon, CLOCK_BOOTTIME, 0, 1, on_farewell_end, f) < 0)
                log_error("no memory: a plugin's process stays");
}

static void destroy_capture(struct job *j)
{
        js_owned *about = capture_container(j);
        struct farewell *f = calloc(1, sizeof *f);
        struct pd_error err;

        j->vault = host_free(j->vault);
        if (f && about && json_is_object(json_object_get(j->order, "capture")) &&
                capture_open(j, "capture", &j->capture, &err) == 0) {
                *f = (struct farewell){ .host = j->capture, .loop = j->r->loop };
                if (host_call(f->host, "destroy", about, NULL, 0, NULL, GRACE_US, on_destroyed, f, &err) == 0) {
                        j->capture = NULL;
                        return;
                }
                log_warning("%s: %s", j->id, err.text);
        }
        free(f);
        j->capture = host_free(j->capture);
}

/* When the container really ended, on boot time: the exit file's time, for the runner may have been away. */
static void stop_clock(struct job *j)
{
        int64_t now = now_boot_us(), at = now - (now_wall_us() - js_int(j->exit, "wall_us", now_wall_us()));

        if (!j->frozen_boot_us && at > j->started_boot_us + j->still_us && at < now)
                j->frozen_boot_us = at;
        j->ran_us = job_ran_us(j);
}

static int on_look_again(sd_event_source *s, uint64_t usec, void *arg)
{
        struct job *j = arg;

        (void)s, (void)usec;
        j->monitor = sd_event_source_disable_unref(j->monitor);
        finish_exited(j);
        return 0;
}

/* The supervisor is gone, but not all of its container (it was killed itself): nothing counts as ended while something of it lives. */
static bool still_there(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);

        if (!unit || !cgroup_populated(&j->r->cg, unit, "payload"))
                return false;
        cgroup_kill(&j->r->cg, unit, "payload");
        j->monitor = sd_event_source_disable_unref(j->monitor);
        return sd_event_add_time_relative(
                       j->r->loop, &j->monitor, CLOCK_BOOTTIME, LOOK_AGAIN_US, 1000, on_look_again, j) >= 0;
}

void finish_exited(struct job *j)
{
        struct pd_error err;
        json_t *result = NULL;

        if (still_there(j))
                return;

        progress_read(j);
        if (monitor_read_exit(j, &result, &err) < 0) {
                log_warning("%s: its supervisor ended without an exit code: %s", j->id, err.text);
                result = json_pack("{s:i, s:i, s:b, s:I}", "code", 137, "signal", SIGKILL, "oom", 0, "wall_us",
                        (json_int_t)now_wall_us());
        }
        json_decref(j->exit);
        j->exit = result;
        if (j->chain && start_container_ended(j)) /* it ended while it was still being started or verified */
                return;
        if (j->saver) {
                save_container_ended(j);
                if (save_holds_end(j))
                        return;
        }
        stop_clock(j);
        if (!*j->cause)
                job_set_cause(j, "exit");
        j->phase = PHASE_EXITED;
        j->pid = 0;
        destroy_capture(j);
        finish_clean(j);
        job_changed(j);
}

static int remove_later(struct job *j, const char *path, struct pd_error *err)
{
        pd_cleanup(freep) char *moved =
                path_fmt("%s/trash/%s.%lld", j->r->cfg.state_dir, j->id, (long long)now_boot_us());
        js_owned *task = json_pack("{s:s, s:s}", "op", "rmtree", "path", str_or(moved, ""));
        pd_cleanup(freep) char *text = js_dump(task);
        const char *argv[] = { "/proc/self/exe", "--worker", text, NULL };
        struct proc *p;

        if (!moved || !text)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (rename(path, moved) < 0)
                return errno == ENOENT ? 0 : pd_fail(err, PD_E_IO, "cannot remove %s: %m", path);
        return proc_run(&p, j->r->loop,
                &(struct proc_spec){
                        .argv = argv, .what = "removing a job's files", .timeout_us = PULL_US, .detached = true },
                finish_ignore, j->r, err);
}

void finish_ignore(void *arg, const struct pd_error *err, const struct proc_result *result)
{
        (void)arg, (void)result;
        if (err)
                log_warning("%s", err->text);
}

int finish_release(struct job *j, bool drop_checkpoint_dir, struct pd_error *err)
{
        static const char *const names[] = { "portal", "restore", "staging", "checkpoint" };
        pd_cleanup(freep) char *dir = job_gen(j, "");
        int r;

        if (job_live(j))
                return pd_fail(err, PD_E_CONFLICT, "%s is %s: only what has ended can be released", j->id,
                        phase_text(j->phase));
        if (!dir)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        rootfs_umount(dir);
        if ((r = remove_later(j, dir, err)) < 0)
                return r;
        for (size_t i = 0; i < ARRAY_LEN(names) - !drop_checkpoint_dir; i++) {
                pd_cleanup(freep) char *path = job_file(j, names[i]);

                if (path && (r = remove_later(j, path, err)) < 0)
                        return r;
        }
        if (!j->released) {
                if (chown(j->dir, 0, 0) < 0) /* its ids are free for others from here on */
                        return pd_fail(err, PD_E_IO, "cannot take %s back: %m", j->dir);
                j->released = true;
                job_changed(j);
        }
        return 0;
}

int finish_forget(struct job *j, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = strdup(j->dir);
        int r;

        if (job_live(j))
                return pd_fail(err, PD_E_CONFLICT, "%s is %s: only what has ended can be forgotten", j->id,
                        phase_text(j->phase));
        if (j->dropping)
                return pd_fail(err, PD_E_BUSY, "a checkpoint of %s is being removed: try again", j->id);
        r = finish_release(j, true, err);
        if (r < 0 || !dir)
                return r;
        if ((r = remove_later(j, dir, err)) < 0)
                return r;
        (void)job_free(j);
        return 0;
}
