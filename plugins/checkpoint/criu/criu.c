/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `criu`: the kernel's whole view of the processes, without their help. README.md.
 *
 * The container's cgroup is frozen before the dump and stays so after it: criu gives a cgroup back as it found it, so that nothing of the job runs
 * between the dump and resume() or the end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgimage.h"
#include "check.h"
#include "gate.h"
#include "log.h"
#include "meta.h"
#include "precheck.h"
#include "run.h"

#define GATE_DIR "/run/portald-criu"
#define DUMP_US INT64_C(600000000) /* beside the call's own deadline */
#define CLEAN_US INT64_C(5000000)  /* for a tracer to let go         */

static int criu_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        (void)call;
        if (cfg && cfg->count > 0) {
                (void)pd_fail(err, PD_E_INVALID, "the capture \"criu\" has no option \"%.60s\": it has none",
                        cfg->pairs[0].key);
                return pd_fail_subject(err, cfg->pairs[0].key);
        }
        *ret_self = NULL;
        return 0;
}

static void criu_close(void *self)
{
        (void)self;
}

/* No PD_CAPTURE_USERNS: the runtime's mounts in a user namespace are not ones that criu can name (README.md). */
static int criu_caps(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        *ret = (struct pd_capture_caps){ .size = sizeof *ret, .flags = PD_CAPTURE_CARRIES };
        return 0;
}

static int criu_probe(void *self, struct pd_call *call, struct pd_error *err)
{
        (void)self;
        return gate_open(call, GATE_DIR, err);
}

/* ---- precheck ---- */

struct first {
        pd_value_fn each;
        void *arg;
        char path[120], reason[120];
};

static int note_first(void *arg, const struct pd_value *v)
{
        struct first *f = arg;

        if (!*f->path) {
                capture_text(f->path, sizeof f->path, v->path, "");
                capture_text(f->reason, sizeof f->reason, v->reason, "");
        }
        return f->each(f->arg, v);
}

static int refused(const struct first *f, size_t n, struct pd_error *err)
{
        (void)pd_fail(err, PD_E_REFUSED, "%s: %s%s", f->path, f->reason, n > 1 ? " (and more)" : "");
        return pd_fail_subject(err, f->path);
}

static int look(const struct pd_container *c, pd_value_fn each, void *arg, struct pd_error *err)
{
        struct first f = { .each = each, .arg = arg };
        struct pd_error why = { .size = sizeof why };
        size_t n = 0;
        int r = precheck_container(c, note_first, &f, &n, &why);

        if (r < 0 && err)
                *err = why;
        return r == 0 && n > 0 ? refused(&f, n, err) : r;
}

static int criu_precheck(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        (void)self, (void)call;
        return look(c, each, arg, err);
}

static int criu_estimate(
        void *self, struct pd_call *call, const struct pd_container *c, struct pd_estimate *ret, struct pd_error *err)
{
        struct proc_pids pids;
        uint64_t bytes = 0;
        int r = proc_pids(c->cgroup, &pids, err);

        (void)self, (void)call;
        if (r < 0)
                return r;
        for (size_t i = 0; i < pids.n; i++) {
                char *text = proc_text("/proc/%d/status", pids.at[i]);
                uint64_t anon = 0, shmem = 0, swap = 0;

                if (text) {
                        (void)parse_number(text, "RssAnon:", 10, &anon);
                        (void)parse_number(text, "RssShmem:", 10, &shmem);
                        (void)parse_number(text, "VmSwap:", 10, &swap);
                }
                bytes += (anon + shmem + swap) * 1024;
                free(text);
        }
        proc_pids_clear(&pids);
        *ret = (struct pd_estimate){ .size = sizeof *ret, .bytes = bytes };
        return 0;
}

/* ---- save ---- */

/* The main process has no debugger and no code of criu's in it. */
static bool marked(int32_t pid)
{
        struct parse_status s;
        char *maps;
        bool bad;

        if (!proc_status(pid, &s))
                return false;
        if (s.tracer)
                return true;
        maps = proc_text("/proc/%d/maps", pid);
        bad = maps && strstr(maps, "CRIUMFD");
        free(maps);
        return bad;
}

/* After a dump that failed or was killed: proves that nothing of it is left in the job, or says that the job is damaged. */
static int prove_clean(struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        struct proc_pids pids = { 0 };
        int32_t bad = 0;
        int r = proc_pids(c->cgroup, &pids, err);

        for (int64_t left = CLEAN_US; r == 0 && left > 0; left -= CAPTURE_SLICE_US) {
                bad = 0;
                for (size_t i = 0; i < pids.n && !bad; i++)
                        if (marked(pids.at[i]))
                                bad = pids.at[i];
                if (!bad)
                        break;
                (void)poll(NULL, 0, (int)(CAPTURE_SLICE_US / 1000));
        }
        proc_pids_clear(&pids);
        (void)call;
        if (r == 0 && bad)
                r = pd_fail(err, PD_E_INTERNAL,
                        "the job is damaged: criu was stopped in the middle and has left its code in process %d. Stop "
                        "it "
                        "and resume its last checkpoint",
                        bad);
        return r;
}

/* A directory of root's beside the bundle's file. */
static int beside(const struct pd_container *c, const char *name, char *ret, size_t n, struct pd_error *err)
{
        if (snprintf(ret, n, "%s/%s", c->bundle, name) >= (int)n)
                return pd_fail(err, PD_E_INVALID, "the path of the bundle of container %s is too long", c->id);
        return 0;
}

static int fresh_dir(const char *path, struct pd_error *err)
{
        pd_cleanup(capture_closep) int fd = -1;
        int r;

        if (mkdir(path, 0700) == 0)
                return 0;
        if (errno != EEXIST)
                return pd_fail(err, PD_E_IO, "cannot make %.150s: %s", path, strerror(errno));
        r = capture_open_dir(path, &fd, err);
        return r < 0 ? r : capture_clear(fd, err);
}

static int dir_path(int fd, char *ret, size_t n, struct pd_error *err)
{
        if (!proc_link(ret, n, "/proc/self/fd/%d", fd))
                return pd_fail(err, PD_E_IO, "the staging directory has no path: %s", strerror(errno));
        return 0;
}

static void helper_group(const struct pd_container *c, char *ret, size_t n)
{
        (void)snprintf(ret, n, "%.*s/criu", (int)(strrchr(c->cgroup, '/') - c->cgroup), c->cgroup);
}

struct dump {
        char images[4300], work[4300], group[4300], log[4400];
        struct run_result res;
};

static int dump(struct pd_call *call, const struct pd_container *c, int dir_fd, struct dump *d, struct pd_error *err)
{
        char image_arg[4400], work_arg[4400];
        const char *argv[] = { c->runtime, "--root", c->runtime_root, "checkpoint", "--leave-running",
                "--manage-cgroups-mode=ignore", "--file-locks", image_arg, work_arg, c->id, NULL };
        int r = dir_path(dir_fd, d->images, sizeof d->images, err);

        if (r == 0)
                r = beside(c, "criu-work", d->work, sizeof d->work, err);
        if (r == 0)
                r = fresh_dir(d->work, err);
        if (r < 0)
                return r;
        helper_group(c, d->group, sizeof d->group);
        (void)snprintf(image_arg, sizeof image_arg, "--image-path=%s", d->images);
        (void)snprintf(work_arg, sizeof work_arg, "--work-path=%s", d->work);
        (void)snprintf(d->log, sizeof d->log, "%s/dump.log", d->work);
        return run_program(
                call, &(struct run_spec){ .argv = argv, .cgroup = d->group, .timeout_us = DUMP_US }, &d->res, err);
}

/* What criu named, as values; the job is let go. */
static int dump_refused(struct pd_call *call, const struct pd_container *c, const struct dump *d, bool dropped,
        pd_value_fn each, void *arg, struct pd_error *err)
{
        struct first f = { .each = each, .arg = arg };
        size_t n = 0;
        int r = log_values(d->log, dropped, note_first, &f, &n);

        if (r == 0 && n == 0) {
                char text[300];

                log_first_error(d->log, d->res.tail, text, sizeof text);
                n = 1;
                r = capture_value(note_first, &f, text, "what criu says", "criu could not dump the container",
                        "use checkpoint values or command");
        }
        if (r == 0)
                r = capture_freeze(call, c, false, err);
        if (r == 0)
                r = prove_clean(call, c, err);
        return r < 0 ? r : refused(&f, n, err);
}

static int tool_version(struct pd_call *call, const char *program, char *ret, size_t n, struct pd_error *err)
{
        const char *argv[] = { program, "--version", NULL };
        struct run_result res;
        const char *at;
        int r = run_program(call, &(struct run_spec){ .argv = argv, .timeout_us = DUMP_US }, &res, err);

        if (r < 0)
                return r;
        at = strcasestr(res.tail, "version");
        at = at ? at + strcspn(at, " ") : "";
        at += strspn(at, " ");
        (void)snprintf(ret, n, "%.*s", (int)strcspn(at, " \n"), at);
        return 0;
}

static int machine(struct pd_call *call, json_t **ret, struct pd_error *err)
{
        struct gate_tools t;
        char criu[40], crun[40];
        int r = gate_tools(&t, err);

        if (r == 0)
                r = tool_version(call, t.criu, criu, sizeof criu, err);
        if (r == 0)
                r = tool_version(call, t.crun, crun, sizeof crun, err);
        if (r < 0)
                return r;
        *ret = meta_here(criu, crun, err);
        return *ret ? 0 : -PD_E_NOMEM;
}

/* The images are whole: criu's own inventory is written last but the record is ours. */
static int write_meta(struct pd_call *call, int dir_fd, struct pd_error *err)
{
        json_t *here = NULL;
        struct stat st;
        int fd, r = machine(call, &here, err);

        if (r < 0)
                return r;
        if (fstatat(dir_fd, "inventory.img", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == 0 ||
                fstatat(dir_fd, "pstree.img", &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == 0)
                r = pd_fail(err, PD_E_CORRUPT, "criu says that it has dumped, and has written no images");
        fd = r == 0 ? openat(dir_fd, META_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
        if (r == 0 && (fd < 0 || json_dumpfd(here, fd, JSON_COMPACT) < 0))
                r = pd_fail(err, PD_E_IO, "writing %s: %s", META_FILE, strerror(errno));
        capture_closep(&fd);
        json_decref(here);
        return r;
}

static int save_frozen(struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        struct dump d;
        struct first none = { .each = each, .arg = arg };
        size_t dropped = 0;
        int r = look(c, each, arg, err); /* again: what came between the first look and the freeze */

        if (r == -PD_E_REFUSED)
                (void)capture_freeze(call, c, false, NULL);
        if (r < 0 || (r = dump(call, c, dir_fd, &d, err)) < 0)
                return r;
        if (d.res.timed_out)
                return pd_fail(err, PD_E_DEADLINE, "criu had not ended after %d s", (int)(DUMP_US / 1000000));
        if (!WIFEXITED(d.res.status) || WEXITSTATUS(d.res.status) != 0)
                return dump_refused(call, c, &d, false, each, arg, err);
        if ((r = log_values(d.log, true, note_first, &none, &dropped)) < 0)
                return r;
        if (dropped) {
                r = capture_freeze(call, c, false, err);
                return r < 0 ? r : refused(&none, dropped, err);
        }
        return write_meta(call, dir_fd, err);
}

static int criu_save(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each,
        void *arg, struct pd_error *err)
{
        int64_t from;
        char text[24];
        int r;

        (void)self;
        if (!strrchr(c->cgroup, '/') || !capture_can_freeze(c))
                return pd_fail(err, PD_E_UNSUPPORTED, "container %s has no cgroup v2 that can be frozen", c->id);
        r = look(c, each, arg, err);
        if (r == 0)
                r = capture_freeze(call, c, true, err);
        if (r < 0)
                return r;
        from = capture_now(call);
        r = save_frozen(call, c, dir_fd, each, arg, err);
        (void)snprintf(text, sizeof text, "%lld", (long long)(capture_now(call) - from));
        if (r == 0)
                (void)call->host->put(call, "still_us", text); /* an older portald counts from the call's end */
        return r;
}

static int criu_resume(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self;
        return capture_freeze(call, c, false, err);
}

/* A criu whose caller died may still be at work: it ends first, for it would freeze the job again. */
static int criu_abort(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        char group[4300];
        int r;

        if (strrchr(c->cgroup, '/')) {
                helper_group(c, group, sizeof group);
                run_end_group(group);
        }
        r = criu_resume(self, call, c, err);
        return r < 0 || c->pid <= 0 ? r : prove_clean(call, c, err);
}

/* ---- restore ---- */

static int read_meta(int dir_fd, json_t **ret, struct pd_error *err)
{
        int fd = openat(dir_fd, META_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        json_error_t why;

        *ret = fd >= 0 ? json_loadfd(fd, 0, &why) : NULL;
        capture_closep(&fd);
        return *ret ? 0 : pd_fail(err, PD_E_CORRUPT, "its %s is missing or damaged", META_FILE);
}

static int fits(struct pd_call *call, int dir_fd, struct pd_error *err)
{
        json_t *saved = NULL, *here = NULL;
        int r = read_meta(dir_fd, &saved, err);

        if (r == 0)
                r = machine(call, &here, err);
        if (r == 0)
                r = meta_fits(saved, here, err);
        json_decref(saved);
        json_decref(here);
        return r;
}

/* The job's cgroup as criu names it: from the tree's root on. */
static const char *group_of(const struct pd_container *c)
{
        static const char root[] = "/sys/fs/cgroup";

        return strncmp(c->cgroup, root, sizeof root - 1) == 0 ? c->cgroup + sizeof root - 1 : c->cgroup;
}

/* criu's options by a file: crun has no flag for them. */
static int write_config(const char *path, struct pd_error *err)
{
        static const char text[] = "leave-stopped\n";
        int fd;

        (void)unlink(path);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1) {
                capture_closep(&fd);
                return pd_fail(err, PD_E_IO, "writing %.150s: %s", path, strerror(errno));
        }
        return close(fd) < 0 ? pd_fail(err, PD_E_IO, "writing %.150s: %s", path, strerror(errno)) : 0;
}

#define GROUPS_FILE "cgroup.img"
#define GROUPS_MAX (1 << 20)

/* The processes come back in the group that portald's record says, whatever the images say. */
static int into_group(int images, const char *group, struct pd_error *err)
{
        int fd = openat(images, GROUPS_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC), r = 0;
        uint8_t *old = malloc(GROUPS_MAX), *new = NULL;
        ssize_t n = fd >= 0 && old ? read(fd, old, GROUPS_MAX) : -1;
        size_t new_n;

        if (n < 0 || !cgimage_rewrite(old, (size_t)n, group, &new, &new_n))
                r = pd_fail(err, PD_E_CORRUPT, "its %s is missing or damaged", GROUPS_FILE);
        else if (ftruncate(fd, 0) < 0 || pwrite(fd, new, new_n, 0) != (ssize_t)new_n)
                r = pd_fail(err, PD_E_IO, "writing %s: %s", GROUPS_FILE, strerror(errno));
        capture_closep(&fd);
        free(old);
        free(new);
        return r;
}

static int put_restore(
        struct pd_call *call, const char *images, const char *config, const char *work, struct pd_error *err)
{
        char log[4400];
        json_t *how;
        char *text, arg[4400];
        int r = 0;

        (void)snprintf(log, sizeof log, "%s/restore.log", work);
        how = json_pack("{s:s, s:s, s:s, s:[s, s]}", "images", images, "config", config, "log", log, "options",
                "--manage-cgroups-mode=ignore", "--file-locks");

        (void)snprintf(arg, sizeof arg, "--work-path=%s", work);
        (void)json_array_append_new(json_object_get(how, "options"), json_string(arg));
        text = how ? json_dumps(how, JSON_COMPACT) : NULL;
        if (!text)
                r = pd_fail(err, PD_E_NOMEM, "no memory for how to restore");
        else if (call->host->put(call, "restore", text) < 0)
                r = pd_fail(err, PD_E_UNSUPPORTED, "this portald cannot restore by its runtime");
        free(text);
        json_decref(how);
        return r;
}

/* A copy of its own: criu opens images by name for as long as it restores, and nobody else may write there. */
static int criu_restore(
        void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err)
{
        pd_cleanup(capture_closep) int to = -1;
        char images[4300], config[4300], work[4300];
        int r = fits(call, dir_fd, err);

        (void)self;
        if (r == 0)
                r = beside(c, "criu-images", images, sizeof images, err);
        if (r == 0)
                r = beside(c, "criu.conf", config, sizeof config, err);
        if (r == 0)
                r = beside(c, "criu-work", work, sizeof work, err);
        if (r == 0)
                r = fresh_dir(images, err);
        if (r == 0)
                r = fresh_dir(work, err);
        if (r == 0)
                r = capture_open_dir(images, &to, err);
        if (r == 0)
                r = capture_copy_tree(call, dir_fd, to, NULL, err);
        if (r == 0 && fchmod(to, 0500) < 0)
                r = pd_fail(err, PD_E_IO, "%.150s: %s", images, strerror(errno));
        if (r == 0)
                r = write_config(config, err);
        if (r == 0)
                r = into_group(to, group_of(c), err);
        return r == 0 ? put_restore(call, images, config, work, err) : r;
}

/* criu leaves the processes in the group that it ran in, the supervisor's; those of the container's pid namespace go to the job's. */
static int gather(const struct pd_container *c, struct pd_error *err)
{
        char from[4300], to[4300], ours[64], theirs[64];
        struct proc_pids pids = { 0 };
        int r;

        (void)snprintf(from, sizeof from, "%.*s/supervisor", (int)(strrchr(c->cgroup, '/') - c->cgroup), c->cgroup);
        (void)snprintf(to, sizeof to, "%s/cgroup.procs", c->cgroup);
        r = proc_pids(from, &pids, err);
        if (r == 0 && !proc_link(ours, sizeof ours, "/proc/%d/ns/pid", c->pid))
                r = pd_fail(err, PD_E_CONFLICT, "the restored program has ended already");
        for (size_t i = 0; r == 0 && i < pids.n; i++) {
                pd_cleanup(capture_closep) int fd = -1;
                char pid[16];
                int n = snprintf(pid, sizeof pid, "%d", pids.at[i]);

                if (!proc_link(theirs, sizeof theirs, "/proc/%d/ns/pid", pids.at[i]) || strcmp(ours, theirs) != 0)
                        continue;
                fd = open(to, O_WRONLY | O_CLOEXEC);
                if ((fd < 0 || write(fd, pid, (size_t)n) != n) && errno != ESRCH)
                        r = pd_fail(err, PD_E_IO, "moving process %d into the job's cgroup: %s", pids.at[i],
                                strerror(errno));
        }
        proc_pids_clear(&pids);
        return r;
}

/* Continued while the cgroup is frozen: they run when it thaws. */
static int wake_stopped(const struct pd_container *c, struct pd_error *err)
{
        struct proc_pids pids = { 0 };
        struct parse_status s;
        int r = proc_pids(c->cgroup, &pids, err);

        for (size_t i = 0; r == 0 && i < pids.n; i++)
                if (proc_status(pids.at[i], &s) && s.state == 'T')
                        (void)kill(pids.at[i], SIGCONT);
        proc_pids_clear(&pids);
        return r;
}

/* Once, before anything of the job runs. A second question finds nothing to do and compares again. */
static int criu_verify(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        int r;

        (void)self;
        if (c->pid <= 0 || !strrchr(c->cgroup, '/'))
                return pd_fail(err, PD_E_CONFLICT, "container %s has no main process", c->id);
        r = gather(c, err);
        if (r == 0)
                r = capture_freeze(call, c, true, err);
        if (r == 0)
                r = check_container(c, err);
        return r == 0 ? wake_stopped(c, err) : r;
}

static int criu_destroy(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        static const char *const dirs[] = { "criu-images", "criu-work" };

        (void)self, (void)call;
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                char path[4300];
                pd_cleanup(capture_closep) int fd = -1;
                int r = beside(c, dirs[i], path, sizeof path, err);

                if (r < 0)
                        return r;
                if (access(path, F_OK) < 0)
                        continue;
                (void)chmod(path, 0700);
                if ((r = capture_open_dir(path, &fd, err)) < 0 || (r = capture_clear(fd, err)) < 0)
                        return r;
                (void)rmdir(path);
        }
        return 0;
}

static const struct pd_checkpoint criu = {
        .head = PD_HEAD(PD_KIND_CHECKPOINT, struct pd_checkpoint, "criu"),
        .open = criu_open,
        .close = criu_close,
        .caps = criu_caps,
        .probe = criu_probe,
        .precheck = criu_precheck,
        .estimate = criu_estimate,
        .save = criu_save,
        .abort = criu_abort,
        .restore = criu_restore,
        .verify = criu_verify,
        .resume = criu_resume,
        .destroy = criu_destroy,
};
PD_EXPORT const struct pd_head *const portald_plugin = &criu.head;
