/* SPDX-License-Identifier: Apache-2.0 */
/* From an order to a running container, step by step. */
#include "runner/start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/bundle.h"
#include "runner/rootfs.h"
#include "runner/user.h"

#define PIDS_DEFAULT 32768

static struct start *of(struct chain *c)
{
        return (struct start *)c;
}

/* ---- steps ---- */

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

static int own_dir(struct job *j, char *path_owned, mode_t mode, uint32_t uid, uint32_t gid, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_owned;
        int r = path ? disk_mkdir(path, mode, err) : pd_fail(err, PD_E_NOMEM, "no memory");

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
        uint32_t base = job_id_base(j);
        int r = own_dir(j, job_gen(j, ""), 0710, 0, base, err);

        if (r == 0)
                r = own_dir(j, job_gen(j, "bundle"), 0710, 0, base, err);
        if (r == 0)
                r = own_dir(j, job_gen(j, "exit"), 0700, 0, 0, err);
        if (r == 0) /* sticky: the job puts its socket and progress there, and cannot take away the rest */
                r = own_dir(j, job_file(j, "portal"), 01777, 0, 0, err);
        if (r == 0)
                r = own_dir(j, job_file(j, "portal/checkpoint"), 0755, 0, 0, err);
        if (r == 0)
                r = own_dir(j, job_file(j, "checkpoint"), 0755, base, base, err);
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
                .memory_bytes = (uint64_t)js_int(j->order, "memory_bytes", 0), .pids = PIDS_DEFAULT };

        return unit ? cgroup_make(&j->r->cg, unit, &l, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

/* The image's environment, then the order's, then ours. */
static json_t *environment(struct start *s)
{
        struct job *j = s->c.job;
        json_t *env = json_pack("{s:s, s:s}", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME", "/root");
        const json_t *line;
        char number[32];
        size_t i;

        json_array_foreach(json_object_get(s->image.config, "Env"), i, line) {
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
        b->mounts = json_object_get(j->order, "mounts");
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
        struct bundle b = { .rootfs = rootfs, .portal_dir = portal, .checkpoint_dir = checkpoint, .cgroup = cgroup,
                .args = args, .env = env };
        int r;

        if (!rootfs || !file || !portal || !checkpoint || !cgroup || !env || !args)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        fill(s, &b);
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
                (void)pd_fail(&s->sync_error, PD_E_IO, "the container's supervisor ended before it had created the container");
                return;
        }
        pid = js_int(o, "data", js_int(o, "pid", -1));
        if (pid <= 0) {
                const char *message = js_str(o, "message", "no reason given");

                (void)pd_fail(&s->sync_error, PD_E_IO, "the container could not be created: %.*s", (int)strcspn(message, "\n"), message);
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
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || sd_event_add_io(s->c.job->r->loop, &s->sync, fd, EPOLLIN, on_sync, s) < 0) {
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
        const char *argv[32], *env[2] = { NULL, NULL };
        char pipe_env[32];
        int fds[2], r;

        if (!cgroup)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = monitor_spawn_argv(j, -1, &words, err)) < 0)
                return r;
        for (size_t i = 0; i <= json_array_size(words) && i < ARRAY_LEN(argv); i++)
                argv[i] = json_string_value(json_array_get(words, i));
        if (pipe2(fds, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "no pipe for the supervisor: %m");
        (void)str_format(pipe_env, sizeof pipe_env, "_OCI_SYNCPIPE=%d", fds[1]);
        env[0] = pipe_env;
        r = watch_sync(s, fds[0], err);
        if (r == 0)
                r = chain_run_proc(c, &(struct proc_spec){ .argv = argv, .env = env, .cgroup = cgroup, .what = "conmon",
                        .timeout_us = SHORT_US, .detached = true, .pass_fd = fds[1] }, err);
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
        if ((r = monitor_watch(j, err)) < 0)
                return r;
        return chain_run_proc(c, &(struct proc_spec){ .argv = argv, .what = "starting the container", .timeout_us = SHORT_US }, err);
}

/* A command that is not there shows here: the runtime's own words are in what it printed. */
static int started(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        if (why) {
                *err = *why;
                return -(int)why->code;
        }
        measure_watch_progress(c->job);
        return 0;
}

static const struct chain_step steps[] = {
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
        { "starting the container", step_start, started },
        { "waiting until the job has taken its state up", restore_verify, restore_verified },
        { "letting the job run on", restore_let_go, prepared },
};
#define STEP_START 12 /* index of "starting the container" */

/* ---- begin and end ---- */

static struct start *start_free(struct start *s)
{
        if (!s)
                return NULL;
        image_forget(s->c.job->r, s);
        chain_clear(&s->c);
        sd_event_source_disable_unref(s->sync);
        image_clear(&s->image);
        json_decref(s->manifest);
        (void)safe_close(s->fd);
        free(s);
        return NULL;
}

const char *start_detail(const struct job *j)
{
        return j->chain && j->chain->at < j->chain->n ? j->chain->steps[j->chain->at].name : "";
}

bool start_verifying(const struct job *j)
{
        return j->chain && j->chain->at > STEP_START;
}

static void give_up(struct job *j, const struct pd_error *why)
{
        j->chain = (struct chain *)start_free((struct start *)j->chain);
        j->phase = PHASE_FAILED;
        j->pid = 0;
        job_set_error(j, why);
        j->capture = host_free(j->capture);
        j->vault = host_free(j->vault);
        finish_clean(j);
        job_changed(j);
        log_info("%s could not be started: %s", j->id, why->text);
}

static void on_done(struct chain *c, const struct pd_error *why)
{
        struct job *j = c->job;

        if (why) {
                give_up(j, why);
                return;
        }
        j->chain = (struct chain *)start_free(of(c));
        j->phase = PHASE_RUNNING;
        job_changed(j);
        if (j->exit) { /* it was that quick */
                finish_exited(j);
                return;
        }
        log_info("%s runs (generation %llu, pid %lld)", j->id, (unsigned long long)j->generation, (long long)j->pid);
        orders_check(j);
}

void start_cancel(struct job *j, const char *cause, const struct pd_error *why)
{
        if (!j->chain)
                return;
        if (cause)
                job_set_cause(j, cause);
        if (why)
                give_up(j, why);
        else
                j->chain = (struct chain *)start_free((struct start *)j->chain);
}

/* The container ended while its start was still going on. If it had been started, it ran: its exit is its result. */
bool start_container_ended(struct job *j)
{
        struct pd_error err;

        if (j->chain->at > STEP_START || js_int(j->exit, "code", 255) < 126) {
                j->chain = (struct chain *)start_free((struct start *)j->chain);
                return false;
        }
        if (j->chain->proc) /* the runtime says in a moment whether it could be started */
                return true;
        (void)pd_fail(&err, PD_E_IO, "the container ended before it had been started");
        give_up(j, &err);
        return true;
}

static void begin_at(struct job *j, size_t at)
{
        struct start *s = calloc(1, sizeof *s);
        struct pd_error err;

        if (!s) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the start");
                job_set_error(j, &err);
                j->phase = PHASE_FAILED;
                job_changed(j);
                return;
        }
        s->c = (struct chain){ .job = j, .steps = steps, .n = ARRAY_LEN(steps), .at = at, .done = on_done };
        s->fd = -1;
        j->chain = &s->c;
        chain_begin(&s->c);
}

static int check_order(struct runner *r, const json_t *order, struct pd_error *err)
{
        const char *text;
        struct id id;
        int e = js_need_str(order, "job", &text, err);

        if (e < 0)
                return e;
        if (!id_parse(ID_JOB, text, &id))
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" is no job id", text);
        if (!json_is_array(json_object_get(order, "command")) || !json_is_object(json_object_get(order, "image")))
                return pd_fail(err, PD_E_INVALID, "%s: the order has no \"image\" or no \"command\"", text);
        if (js_int(order, "gpus", 0) > 0)
                return pd_fail(err, PD_E_UNSUPPORTED, "%s asks for %lld GPUs: this runner has none to give", text, (long long)js_int(order, "gpus", 0));
        if (!js_bool(order, "user_ns", true) && r->cfg.user_ns)
                return pd_fail(err, PD_E_PERM, "%s asks to be root on the machine (user_ns = false): the site does not allow it", text);
        if (r->vacating)
                return pd_fail(err, PD_E_CAPACITY, "this machine is being shut down: nothing is started on it");
        return 0;
}

static int free_slot(const struct runner *r, int64_t *ret, struct pd_error *err)
{
        for (int64_t slot = 0; slot < r->cfg.uid_ranges; slot++) {
                bool taken = false;

                for (size_t i = 0; i < r->jobs.n && !taken; i++)
                        taken = r->jobs.at[i]->slot == slot && r->jobs.at[i]->order;
                if (!taken) {
                        *ret = slot;
                        return 0;
                }
        }
        return pd_fail(err, PD_E_FULL, "all %u id ranges are in use: forget old jobs, or raise runner.uid_ranges", r->cfg.uid_ranges);
}

/* A new generation takes over the record; only its id range, log and progress count stay. */
static void renew(struct job *j, uint64_t generation, json_t *order)
{
        j->capture = host_free(j->capture);
        j->vault = host_free(j->vault);
        json_decref(j->order);
        json_decref(j->save);
        json_decref(j->exit);
        json_decref(j->error);
        j->order = order;
        j->save = j->exit = j->error = NULL;
        j->generation = generation;
        j->phase = PHASE_PREPARING;
        j->released = false;
        j->pid = j->pid_start = j->monitor_pid = j->monitor_start = 0;
        j->started_wall_us = j->started_boot_us = j->frozen_boot_us = j->still_us = j->ran_us = 0;
        j->ttl_from_us = j->notice_wall_us = j->notice_boot_us = j->kill_boot_us = 0;
        j->cause[0] = j->notice_source[0] = j->image_digest[0] = 0;
        j->memory_peak = 0;
        j->orders_done = 0;
        (void)str_format(j->boot_id, sizeof j->boot_id, "%s", j->r->boot_id);
}

static int take_place(struct runner *r, const json_t *order, struct job **ret, struct pd_error *err)
{
        const char *id = js_str(order, "job", "");
        struct job *j;
        int64_t slot;
        int e;

        if (r->jobs.n >= RUNNER_JOBS_MAX)
                return pd_fail(err, PD_E_FULL, "this machine holds %zu jobs already: the limit is %d", r->jobs.n, RUNNER_JOBS_MAX);
        if ((e = free_slot(r, &slot, err)) < 0 || (e = job_new(r, id, &j, err)) < 0)
                return e;
        j->slot = slot;
        *ret = j;
        return 0;
}

int start_job(struct runner *r, const json_t *order, uint64_t generation, struct job **ret, struct pd_error *err)
{
        js_owned *copy = json_deep_copy(order);
        struct job *j = NULL;
        bool fresh;
        int e;

        if ((e = check_order(r, order, err)) < 0)
                return e;
        j = job_find(r, js_str(order, "job", ""));
        fresh = !j;
        if (j && generation == j->generation) { /* told twice */
                *ret = j;
                return 0;
        }
        if (j && job_live(j))
                return pd_fail(err, PD_E_CONFLICT, "generation %llu of %s is still %s here", (unsigned long long)j->generation, j->id, phase_text(j->phase));
        if (j && !j->released && (e = finish_release(j, true, err)) < 0)
                return e;
        if (!copy || (!j && (e = take_place(r, order, &j, err)) < 0))
                return copy ? e : pd_fail(err, PD_E_NOMEM, "no memory for the order");
        renew(j, generation, pd_steal(copy));
        if ((e = own_dir(j, strdup(j->dir), 0710, 0, job_id_base(j), err)) < 0 || (e = job_store_order(j, err)) < 0) {
                if (fresh)
                        (void)job_free(j);
                return e;
        }
        job_changed(j);
        begin_at(j, 0);
        *ret = j;
        return 0;
}

static void clean_half_made(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *dir = job_gen(j, "");
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", j->r->cfg.state_dir);
        struct pd_error err;

        if (!unit || !dir || !root)
                return;
        cgroup_kill(&j->r->cg, unit, "");
        rootfs_umount(dir);
        if (runtime_delete_now(j->r, unit, &err) < 0)
                log_debug("%s: %s", j->id, err.text);
        cgroup_remove(&j->r->cg, unit);
        if (disk_rmtree(dir, &err) < 0)
                log_warning("%s", err.text);
        j->pid = j->pid_start = j->monitor_pid = j->monitor_start = 0;
}

/* What was being prepared when the runner died: not started yet = begins again; created or started = goes on from there. */
void start_resume_after_restart(struct job *j)
{
        struct pd_error err;
        char status[32];

        if (j->started_boot_us == 0) {
                clean_half_made(j);
                begin_at(j, 0);
                return;
        }
        if (runtime_status(j, status, sizeof status, &err) < 0)
                (void)str_format(status, sizeof status, "stopped");
        if (streq(status, "created")) {
                begin_at(j, STEP_START);
                return;
        }
        measure_watch_progress(j);
        if (monitor_watch(j, &err) < 0)
                log_error("%s", err.text);
        begin_at(j, STEP_START + 1); /* verify where it is a restore; else running at once */
}
