/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start: image, directories, root file system, cgroup, bundle, supervisor, container. Those of a restore are in restore.c. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/bundle.h"
#include "runner/rootfs.h"
#include "runner/start.h"
#include "runner/user.h"

#define PIDS_DEFAULT 32768

static struct start *of(struct chain *c)
{
        return (struct start *)c;
}

static void on_image(void *arg, const struct pd_error *err, struct image *image)
{
        struct start *s = arg;

        if (!err) {
                s->image = *image;
                *image = (struct image){ 0 };
                (void)str_format(s->c.job->image_digest, sizeof s->c.job->image_digest, "%s", s->image.digest);
        }
        chain_wake(&s->c, err);
}

static int step_image(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        int r = image_get(j->r, js_str(json_object_get(j->order, "image"), "ref", ""),
                js_str(of(c)->manifest, "image_digest", ""), job_id_base(j), on_image, c, err);

        return r < 0 ? r : CHAIN_WAIT;
}

int start_own_dir(struct job *j, char *path_owned, mode_t mode, uint32_t uid, uint32_t gid, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_owned;
        int r;

        if (!path)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        r = disk_mkdir(path, mode, err);
        if (r == 0 && chown(path, uid, gid) < 0)
                return pd_fail(err, PD_E_IO, "%s: cannot give %s to the job: %m", j->id, path);
        if (r == 0 && chmod(path, mode) < 0) /* chown takes set-id bits away */
                return pd_fail(err, PD_E_IO, "%s: cannot set the mode of %s: %m", j->id, path);
        return r;
}

/* Others on the machine may not pass: a job's layer can hold set-id files. The job's own root may, by its group. */
static int step_dirs(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        pd_cleanup(freep) char *checkpoint = job_file(j, "checkpoint");
        uint32_t base = job_id_base(j);
        int r = checkpoint ? disk_rmtree(checkpoint, err) : pd_fail(err, PD_E_NOMEM, "no memory");

        /* what an earlier generation left there belongs to ids that may be another job's by now */
        if (r == 0)
                r = start_own_dir(j, job_gen(j, ""), 0710, 0, base, err);

        if (r == 0)
                r = start_own_dir(j, job_gen(j, "bundle"), 0710, 0, base, err);
        if (r == 0)
                r = start_own_dir(j, job_gen(j, "exit"), 0700, 0, 0, err);
        if (r == 0) /* sticky: the job puts its socket and progress there, and cannot take away the rest */
                r = start_own_dir(j, job_file(j, "portal"), 01777, 0, 0, err);
        if (r == 0)
                r = start_own_dir(j, job_file(j, "portal/checkpoint"), 0755, 0, 0, err);
        if (r == 0)
                r = start_own_dir(j, job_file(j, "checkpoint"), 0755, base, base, err);
        return r;
}

static int step_mount(struct chain *c, struct pd_error *err)
{
        struct start *s = of(c);
        pd_cleanup(freep) char *dir = job_gen(c->job, "");

        return dir ? rootfs_mount(dir, s->image.path, job_id_base(c->job), !s->image.shifted, err)
                   : pd_fail(err, PD_E_NOMEM, "no memory");
}

static int step_cgroup(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        pd_cleanup(freep) char *unit = job_unit(j);
        struct cgroup_limits l = { .cpu_milli = js_int(j->order, "cpu_milli", 0),
                .memory_bytes = (uint64_t)js_int(j->order, "memory_bytes", 0),
                .pids = PIDS_DEFAULT };

        return unit ? cgroup_make(&j->r->cg, unit, &l, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

/* The image's environment, then the order's, then ours. */
static json_t *environment(struct start *s)
{
        struct job *j = s->c.job;
        json_t *env = json_pack(
                "{s:s, s:s}", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME", "/root");
        const json_t *line;
        char number[32];
        size_t i;

        json_array_foreach (json_object_get(s->image.config, "Env"), i, line) {
                const char *text = json_string_value(line), *eq = text ? strchr(text, '=') : NULL;

                if (eq && eq > text) {
                        pd_cleanup(freep) char *key = strndup(text, (size_t)(eq - text));

                        if (key)
                                (void)json_object_set_new(env, key, json_string(eq + 1));
                }
        }
        (void)json_object_update(env, json_object_get(j->order, "env"));
        (void)str_format(number, sizeof number, "%llu", (unsigned long long)j->generation);
        (void)json_object_set_new(env, "PORTAL_JOB_ID", json_string(j->id));
        (void)json_object_set_new(env, "PORTAL_GENERATION", json_string(number));
        (void)json_object_set_new(env, "PORTAL_RESUMED", json_string(restore_checkpoint(j) ? "1" : "0"));
        (void)json_object_set_new(env, "PORTAL_CHECKPOINT_DIR", json_string("/run/portal/checkpoint"));
        (void)json_object_set_new(env, "PORTAL_SOCKET", json_string("/run/portal/job.sock"));
        return env;
}

static json_t *arguments(struct start *s)
{
        json_t *command = json_object_get(s->c.job->order, "command");
        json_t *args;

        if (json_array_size(command) > 0)
                return json_deep_copy(command);
        args = json_array();
        (void)json_array_extend(args, json_object_get(s->image.config, "Entrypoint"));
        (void)json_array_extend(args, json_object_get(s->image.config, "Cmd"));
        return args;
}

static int32_t oom_adjust(void)
{
        pd_cleanup(freep) char *text = NULL;
        long own = disk_read("/proc/self/oom_score_adj", 64, &text, NULL, NULL) == 0 ? strtol(text, NULL, 10) : 0;

        return (int32_t)(own < 900 ? own + 100 : own); /* a job goes before the machine's services */
}

/* A mount gives no more than the machine gives to anybody: each directory on the way to its source must let others pass. */
static int reachable(const char *job, char *path, struct pd_error *err)
{
        struct stat st;

        for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
                int r;

                *slash = 0;
                r = stat(path, &st);
                *slash = '/';
                if (r < 0 || !(st.st_mode & S_IXOTH))
                        return pd_fail(err, PD_E_PERM,
                                "%s: %.*s is not open to everyone on this machine (chmod o+x), so nothing below it can "
                                "be mounted",
                                job, (int)(slash - path), path);
        }
        return 0;
}

/* The order's mounts with their real paths. */
static int real_mounts(struct job *j, json_t **ret, struct pd_error *err)
{
        js_owned *list = json_deep_copy(json_object_get(j->order, "mounts"));
        json_t *m;
        size_t i;
        int r;

        json_array_foreach (list, i, m) {
                const char *source = js_str(m, "source", "");
                pd_cleanup(freep) char *real = *source == '/' ? realpath(source, NULL) : NULL;

                if (!real)
                        return pd_fail(err, PD_E_NOT_FOUND, "%s: the mount's source \"%.120s\" is not on this machine",
                                j->id, source);
                if ((r = reachable(j->id, real, err)) < 0)
                        return r;
                (void)json_object_set_new(m, "source", json_string(real));
        }
        *ret = json_incref(list);
        return 0;
}

static void fill(struct start *s, struct bundle *b)
{
        struct job *j = s->c.job;
        struct rlimit files = { 1024, 1024 };
        int64_t shm = js_int(j->order, "shm_bytes", 0);
        const char *dir = js_str(s->image.config, "WorkingDir", "");

        (void)getrlimit(RLIMIT_NOFILE, &files);
        b->job = j->id;
        b->hostname = js_str(j->order, "name", "");
        if (!*b->hostname)
                b->hostname = "job";
        b->workdir = js_str(j->order, "workdir", *dir ? dir : "/");
        b->id_base = job_id_base(j);
        b->own_network = j->r->cfg.own_network;
        b->cgroup2_ro = true;
        b->resolv_conf = access("/etc/resolv.conf", R_OK) == 0;
        b->shm_bytes = shm > 0 ? (uint64_t)shm : UINT64_C(64) << 20;
        b->nofile_max = files.rlim_max < 1048576 ? files.rlim_max : 1048576;
        b->oom_score_adj = oom_adjust();
}

static int step_bundle(struct chain *c, struct pd_error *err)
{
        struct start *s = of(c);
        struct job *j = c->job;
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *rootfs = job_gen(j, "rootfs");
        pd_cleanup(freep) char *file = job_gen(j, "bundle/config.json");
        pd_cleanup(freep) char *portal = job_file(j, "portal");
        pd_cleanup(freep) char *checkpoint = job_file(j, "checkpoint");
        pd_cleanup(freep) char *cgroup = unit ? cgroup_path(&j->r->cg, unit, "payload") : NULL;
        js_owned *env = environment(s);
        js_owned *args = arguments(s);
        js_owned *config = NULL;
        js_owned *mounts = NULL;
        struct bundle b = { .rootfs = rootfs,
                .portal_dir = portal,
                .checkpoint_dir = checkpoint,
                .cgroup = cgroup,
                .args = args,
                .env = env };
        int r;

        if (!rootfs || !file || !portal || !checkpoint || !cgroup || !env || !args)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        fill(s, &b);
        if ((r = real_mounts(j, &mounts, err)) < 0)
                return r;
        b.mounts = mounts;
        r = user_resolve(rootfs, js_str(s->image.config, "User", ""), &b.uid, &b.gid, err);
        if (r == 0)
                r = bundle_make(&b, &config, err);
        if (r == 0)
                r = disk_write_json(file, config, err);
        if (r == 0 && (chown(file, 0, b.id_base) < 0 || chmod(file, 0640) < 0))
                return pd_fail(err, PD_E_IO, "cannot set the owner of %s: %m", file);
        return r;
}

static int step_capture(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        js_owned *about = capture_container(j);
        int r;

        if (!json_is_object(json_object_get(j->order, "capture")))
                return 0;
        r = capture_open(j, "capture", &j->capture, err);
        return r < 0 ? r : chain_call_host(c, j->capture, "prepare", about, NULL, 0, NULL, SHORT_US, err);
}

static int prepared(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        (void)c;
        if (!why || why->code == PD_E_UNSUPPORTED) /* an optional slot */
                return 0;
        *err = *why;
        return -(int)why->code;
}

/* ---- the supervisor ---- */

/* The supervisor writes {"data": PID} when the container is created, or a negative number and "message". */
static void judge_sync(struct start *s)
{
        struct job *j = s->c.job;
        js_owned *o = NULL;
        struct pd_error why;
        pd_cleanup(freep) char *file = job_gen(j, "monitor.pid");
        pd_cleanup(freep) char *text = NULL;
        int64_t pid;

        s->sync_done = true;
        if (js_parse(s->sync_text, s->sync_n, &o, &why) < 0) {
                (void)pd_fail(&s->sync_error, PD_E_IO,
                        "the container's supervisor ended before it had created the container");
                return;
        }
        pid = js_int(o, "data", js_int(o, "pid", -1));
        if (pid <= 0) {
                const char *message = js_str(o, "message", "no reason given");

                if (s->by_runtime && restore_log_said(s->by_runtime, &s->sync_error))
                        return;
                (void)pd_fail(&s->sync_error, PD_E_IO, "the container could not be created: %.*s",
                        (int)strcspn(message, "\n"), message);
                return;
        }
        if (!file || disk_read(file, 64, &text, NULL, &why) < 0) {
                (void)pd_fail(&s->sync_error, PD_E_IO, "the supervisor's pid is not known");
                return;
        }
        j->pid = pid;
        j->pid_start = (int64_t)proc_start_time((pid_t)pid);
        j->monitor_pid = strtoll(text, NULL, 10);
        j->monitor_start = (int64_t)proc_start_time((pid_t)j->monitor_pid);
}

static void wake_if_both(struct start *s)
{
        if (s->spawned && s->sync_done)
                chain_wake(&s->c, s->sync_error.code ? &s->sync_error : NULL);
}

static int on_sync(sd_event_source *src, int fd, uint32_t revents, void *arg)
{
        struct start *s = arg;
        ssize_t n = read(fd, s->sync_text + s->sync_n, sizeof s->sync_text - 1 - s->sync_n);

        (void)src, (void)revents;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0)
                s->sync_n += (size_t)n;
        if (n > 0 && !memchr(s->sync_text, '\n', s->sync_n) && s->sync_n < sizeof s->sync_text - 1)
                return 0;
        s->sync = sd_event_source_disable_unref(s->sync);
        judge_sync(s);
        wake_if_both(s);
        return 0;
}

static int watch_sync(struct start *s, int fd, struct pd_error *err)
{
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
                sd_event_add_io(s->c.job->r->loop, &s->sync, fd, EPOLLIN, on_sync, s) < 0) {
                (void)close(fd);
                return pd_fail(err, PD_E_NOMEM, "no memory for the supervisor's pipe");
        }
        (void)sd_event_source_set_io_fd_own(s->sync, 1);
        return 0;
}

static int step_monitor(struct chain *c, struct pd_error *err)
{
        struct start *s = of(c);
        struct job *j = c->job;
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *cgroup = unit ? cgroup_dir(&j->r->cg, unit, "supervisor") : NULL;
        js_owned *words = NULL;
        const char *argv[40], *env[3] = { NULL, NULL, NULL };
        pd_cleanup(freep) char *config_env = path_fmt("CRIU_CONFIG_FILE=%s", js_str(s->by_runtime, "config", ""));
        char pipe_env[32];
        int fds[2], r;

        if (!cgroup || !config_env)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = monitor_spawn_argv(j, s->by_runtime, &words, err)) < 0)
                return r;
        for (size_t i = 0; i <= json_array_size(words) && i < ARRAY_LEN(argv); i++)
                argv[i] = json_string_value(json_array_get(words, i));
        if (pipe2(fds, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "no pipe for the supervisor: %m");
        (void)str_format(pipe_env, sizeof pipe_env, "_OCI_SYNCPIPE=%d", fds[1]);
        env[0] = pipe_env;
        env[1] = s->by_runtime ? config_env : NULL;
        r = watch_sync(s, fds[0], err);
        if (r == 0)
                r = chain_run_proc(c,
                        &(struct proc_spec){ .argv = argv,
                                .env = env,
                                .cgroup = cgroup,
                                .what = "conmon",
                                .timeout_us = SHORT_US,
                                .detached = true,
                                .pass_fd = fds[1] },
                        err);
        (void)close(fds[1]);
        return r;
}

/* Woken twice at most: by the end of the process that started the supervisor, and by the pipe. */
static int monitor_made(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        struct start *s = of(c);

        if (why) {
                *err = *why;
                return -(int)why->code;
        }
        if (!s->spawned) {
                s->spawned = true;
                if (!s->sync_done)
                        return CHAIN_WAIT;
                if (s->sync_error.code) {
                        *err = s->sync_error;
                        return -(int)err->code;
                }
        }
        job_changed(c->job);
        return 0;
}

/* Before the runtime is asked to start it, the record says that it may have started: after a crash nothing is run twice. */
static int step_start(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", j->r->cfg.state_dir);
        const char *argv[] = { j->r->rt.path, "--root", root, "start", unit, NULL };
        int r;

        if (!unit || !root)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        j->started_wall_us = now_wall_us();
        j->started_boot_us = now_boot_us();
        job_changed(j);
        measure_watch_progress(j);
        if ((r = monitor_watch(j, err)) < 0)
                return r;
        if (of(c)->by_runtime)
                return 0; /* it is there, and stands still until it has been looked at */
        return chain_run_proc(
                c, &(struct proc_spec){ .argv = argv, .what = "starting the container", .timeout_us = SHORT_US }, err);
}

const struct chain_step start_steps[START_STEPS] = {
        { "reading the checkpoint's manifest", restore_fetch_manifest, restore_manifest_here },
        { "fetching the image", step_image, NULL },
        { "making directories", step_dirs, NULL },
        { "fetching the writable layer", restore_fetch_layer, restore_object_here },
        { "fetching the saved state", restore_fetch_payload, restore_object_here },
        { "unpacking the checkpoint", restore_unpack, restore_unpacked },
        { "mounting the root file system", step_mount, NULL },
        { "making the cgroup", step_cgroup, NULL },
        { "writing the bundle", step_bundle, NULL },
        { "preparing the capture", step_capture, prepared },
        { "laying out the saved state", restore_capture, restore_captured },
        { "creating the container", step_monitor, monitor_made },
        { "starting the container", step_start, NULL },
        { "waiting until the job has taken its state up", restore_verify, restore_verified },
        { "letting the job run on", restore_let_go, prepared },
};
