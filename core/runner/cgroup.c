/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runner/io.h"

#define FREEZE_WAIT_US (1 * USEC_PER_SEC)

static bool is_cgroup2(const char *path)
{
        struct statfs s;

        return statfs(path, &s) == 0 && s.f_type == CGROUP2_SUPER_MAGIC;
}

static int make_private(struct cgroups *c, struct pd_error *err)
{
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return pd_fail(err, PD_E_IO, "cannot make a mount namespace of its own: %m");
        if (umount2(c->mount, MNT_DETACH) < 0 && errno != EINVAL)
                return pd_fail(err, PD_E_IO, "cannot unmount %s: %m", c->mount);
        if (mount("none", c->mount, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return pd_fail(err, PD_E_IO, "cannot mount cgroup2 at %s: %m", c->mount);
        c->remade = true;
        return 0;
}

/* This process's path in the v2 tree. */
static int own_path(char *ret, size_t n, struct pd_error *err)
{
        pd_cleanup(freep) char *text = NULL;
        char *line, *end;
        int r = disk_read("/proc/self/cgroup", 65536, &text, NULL, err);

        if (r < 0)
                return r;
        line = str_starts(text, "0::") ? text : strstr(text, "\n0::");
        if (!line)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "this machine has no cgroup v2: boot it with systemd.unified_cgroup_hierarchy=1");
        line = strchr(line, '/');
        end = strchr(line, '\n');
        if (!str_format(ret, n, "%.*s", (int)(end ? end - line : (ptrdiff_t)strlen(line)), line))
                return pd_fail(err, PD_E_FULL, "the cgroup path of this process is too long");
        return 0;
}

/* Two runners on one machine (two state directories) have a group each. FNV-1a. */
static uint32_t hash(const char *text)
{
        uint32_t h = UINT32_C(2166136261);

        for (; *text; text++)
                h = (h ^ (uint8_t)*text) * UINT32_C(16777619);
        return h;
}

static void choose_base(struct cgroups *c, const char *own, const char *state_dir)
{
        const char *leaf = strrchr(own, '/');
        pd_cleanup(freep) char *parent = NULL;
        char flag[4] = "";

        if (leaf && leaf > own && streq(leaf, "/runner") &&
                (parent = path_fmt("%s%.*s", c->mount, (int)(leaf - own), own)) &&
                getxattr(parent, "trusted.delegate", flag, sizeof flag - 1) > 0 && flag[0] == '1') {
                (void)str_format(c->base, sizeof c->base, "%.*s", (int)(leaf - own), own);
                return;
        }
        (void)str_format(c->base, sizeof c->base, "/portal-runner.%08x", hash(state_dir));
        c->at_root = true;
}

static bool has_word(const char *list, const char *word)
{
        size_t n = strlen(word);

        for (const char *p = list; (p = strstr(p, word)); p += n)
                if ((p == list || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ' || p[n] == '\n'))
                        return true;
        return false;
}

static const char *const wanted[] = { "cpu", "memory", "io", "pids" };

/* Enables the controllers that jobs use in one group, each by itself: one that is missing does not keep the others out. */
static void enable_in(const struct cgroups *c, const char *path)
{
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
                pd_cleanup(freep) char *file = path_fmt("%s%s/cgroup.subtree_control", c->mount, path);
                pd_cleanup(freep) char *word = path_fmt("+%s", wanted[i]);

                if (file && word)
                        (void)disk_poke(file, word, NULL);
        }
}

static char *read_group(const struct cgroups *c, const char *path, const char *file)
{
        pd_cleanup(freep) char *name = path_fmt("%s%s/%s", c->mount, path, file);
        char *text = NULL;

        if (!name || disk_read(name, 65536, &text, NULL, NULL) < 0)
                return NULL;
        return text;
}

static int make_groups(struct cgroups *c, struct pd_error *err)
{
        pd_cleanup(freep) char *base = path_fmt("%s%s", c->mount, c->base);
        pd_cleanup(freep) char *jobs = path_fmt("%s%s/jobs", c->mount, c->base);
        pd_cleanup(freep) char *path = path_fmt("%s/jobs", c->base);

        if (!base || !jobs || !path)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((mkdir(base, 0755) < 0 && errno != EEXIST))
                return pd_fail(err, PD_E_IO, "cannot make the cgroup %s: %m", base);
        if (c->at_root) /* the root is ours to ask; a delegated group's parent is not */
                enable_in(c, "");
        enable_in(c, c->base);
        if (mkdir(jobs, 0755) < 0 && errno != EEXIST)
                return pd_fail(err, PD_E_IO, "cannot make the cgroup %s: %m", jobs);
        enable_in(c, path);
        return 0;
}

int cgroups_open(struct cgroups *c, const char *state_dir, bool private_mount, struct pd_error *err)
{
        pd_cleanup(freep) char *before = NULL;
        pd_cleanup(freep) char *have = NULL;
        pd_cleanup(freep) char *path = NULL;
        char own[1024];
        int r;

        *c = (struct cgroups){ .mount = "/sys/fs/cgroup" };
        (void)str_format(c->record, sizeof c->record, "%s/cgroup.before", state_dir);
        if (!is_cgroup2(c->mount)) {
                if (!private_mount)
                        return pd_fail(err, PD_E_UNSUPPORTED,
                                "%s is not a unified cgroup v2 tree: start with --private-cgroup-mount, or boot with "
                                "systemd.unified_cgroup_hierarchy=1",
                                c->mount);
                if ((r = make_private(c, err)) < 0)
                        return r;
        }
        if ((r = own_path(own, sizeof own, err)) < 0)
                return r;
        choose_base(c, own, state_dir);
        if (!disk_exists(c->record) && (before = read_group(c, "", "cgroup.subtree_control")) &&
                (r = disk_write(c->record, before, strlen(before), 0600, err)) < 0)
                return r;
        if ((r = make_groups(c, err)) < 0)
                return r;
        path = path_fmt("%s/jobs", c->base);
        have = path ? read_group(c, path, "cgroup.subtree_control") : NULL;
        c->cpu = have && has_word(have, "cpu");
        c->memory = have && has_word(have, "memory");
        c->io = have && has_word(have, "io");
        c->pids = have && has_word(have, "pids");
        return 0;
}

void cgroups_tidy(struct cgroups *c)
{
        pd_cleanup(freep) char *base = path_fmt("%s%s", c->mount, c->base);
        pd_cleanup(freep) char *jobs = path_fmt("%s%s/jobs", c->mount, c->base);
        pd_cleanup(freep) char *before = NULL;
        pd_cleanup(freep) char *now = NULL;
        char *save = NULL;

        if (!jobs || !base || (rmdir(jobs) < 0 && errno != ENOENT) || !c->at_root || rmdir(base) < 0)
                return; /* another runner's jobs, or systemd's own group */
        if (disk_read(c->record, 65536, &before, NULL, NULL) < 0 ||
                !(now = read_group(c, "", "cgroup.subtree_control")))
                return;
        for (char *w = strtok_r(now, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
                pd_cleanup(freep) char *file = path_fmt("%s/cgroup.subtree_control", c->mount);
                pd_cleanup(freep) char *word = path_fmt("-%s", w);

                if (file && word && !has_word(before, w))
                        (void)disk_poke(file, word, NULL);
        }
        (void)unlink(c->record);
}

int cgroups_list(const struct cgroups *c, json_t *names, struct pd_error *err)
{
        pd_cleanup(freep) char *jobs = path_fmt("%s%s/jobs", c->mount, c->base);
        DIR *d = jobs ? opendir(jobs) : NULL;

        if (!d)
                return pd_fail(err, PD_E_IO, "cannot read %s: %m", str_or(jobs, "the cgroups"));
        for (struct dirent *e; (e = readdir(d));)
                if (e->d_type == DT_DIR && e->d_name[0] != '.')
                        (void)json_array_append_new(names, json_string(e->d_name));
        (void)closedir(d);
        return 0;
}

char *cgroup_path(const struct cgroups *c, const char *name, const char *leaf)
{
        return path_fmt("%s/jobs/%s%s%s", c->base, name, *leaf ? "/" : "", leaf);
}

char *cgroup_dir(const struct cgroups *c, const char *name, const char *leaf)
{
        return path_fmt("%s%s/jobs/%s%s%s", c->mount, c->base, name, *leaf ? "/" : "", leaf);
}

static int set_number(const char *dir, const char *file, const char *text, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/%s", dir, file);

        return path ? disk_poke(path, text, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

static int set_limits(const struct cgroups *c, const char *dir, const struct cgroup_limits *l, struct pd_error *err)
{
        char text[64];
        int r = 0;

        if (c->cpu && l->cpu_milli > 0) { /* quota of 100 ms periods */
                (void)str_format(text, sizeof text, "%lld 100000", (long long)l->cpu_milli * 100);
                r = set_number(dir, "cpu.max", text, err);
        }
        if (r == 0 && c->memory && l->memory_bytes > 0) {
                (void)str_format(text, sizeof text, "%llu", (unsigned long long)l->memory_bytes);
                r = set_number(dir, "memory.max", text, err);
                if (r == 0)
                        (void)set_number(dir, "memory.swap.max", "0", NULL);
        }
        if (r == 0 && c->pids && l->pids > 0) {
                (void)str_format(text, sizeof text, "%llu", (unsigned long long)l->pids);
                r = set_number(dir, "pids.max", text, err);
        }
        return r;
}

int cgroup_make(struct cgroups *c, const char *name, const struct cgroup_limits *limits, struct pd_error *err)
{
        pd_cleanup(freep) char *own = cgroup_dir(c, name, "");
        pd_cleanup(freep) char *path = cgroup_path(c, name, "");
        pd_cleanup(freep) char *payload = cgroup_dir(c, name, "payload");
        pd_cleanup(freep) char *supervisor = cgroup_dir(c, name, "supervisor");
        int r = make_groups(c, err);

        if (r < 0)
                return r;
        if (!own || !path || !payload || !supervisor)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (mkdir(own, 0755) < 0 && errno != EEXIST)
                return pd_fail(err, PD_E_IO, "cannot make the cgroup %s: %m", own);
        enable_in(c, path);
        if ((mkdir(payload, 0755) < 0 && errno != EEXIST) || (mkdir(supervisor, 0755) < 0 && errno != EEXIST))
                return pd_fail(err, PD_E_IO, "cannot make the cgroups below %s: %m", own);
        return set_limits(c, payload, limits, err);
}

/* Kernels before 5.14 have no cgroup.kill. */
static void kill_each(const char *dir)
{
        pd_cleanup(freep) char *procs = path_fmt("%s/cgroup.procs", dir);
        pd_cleanup(freep) char *text = NULL;
        char *save = NULL;

        if (!procs || disk_read(procs, 1 << 20, &text, NULL, NULL) < 0)
                return;
        for (char *w = strtok_r(text, "\n", &save); w; w = strtok_r(NULL, "\n", &save))
                if (strtol(w, NULL, 10) > 1)
                        (void)kill((pid_t)strtol(w, NULL, 10), SIGKILL);
}

void cgroup_kill(struct cgroups *c, const char *name, const char *leaf)
{
        pd_cleanup(freep) char *dir = cgroup_dir(c, name, leaf);
        pd_cleanup(freep) char *file = dir ? path_fmt("%s/cgroup.kill", dir) : NULL;

        if (file && disk_poke(file, "1", NULL) < 0)
                kill_each(dir);
}

static int64_t find_number(const char *text, const char *key)
{
        size_t n = strlen(key);

        for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
                if (strncmp(p, key, n) == 0 && p[n] == ' ')
                        return strtoll(p + n + 1, NULL, 10);
        return -1;
}

static int64_t events_number(const struct cgroups *c, const char *name, const char *leaf, const char *key)
{
        pd_cleanup(freep) char *path = cgroup_path(c, name, leaf);
        pd_cleanup(freep) char *text = path ? read_group(c, path, "cgroup.events") : NULL;

        return text ? find_number(text, key) : -1;
}

bool cgroup_populated(const struct cgroups *c, const char *name, const char *leaf)
{
        return events_number(c, name, leaf, "populated") == 1;
}

int cgroup_freeze(struct cgroups *c, const char *name, bool frozen, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = cgroup_dir(c, name, "payload");
        pd_cleanup(freep) char *events = dir ? path_fmt("%s/cgroup.events", dir) : NULL;
        int64_t until = now_boot_us() + FREEZE_WAIT_US;
        pd_cleanup(closep) int fd = events ? open(events, O_RDONLY | O_CLOEXEC) : -1;
        int r = fd < 0 ? pd_fail(err, PD_E_IO, "%s has no cgroup any more", name)
                       : set_number(dir, "cgroup.freeze", frozen ? "1" : "0", err);

        while (r == 0 && frozen && events_number(c, name, "payload", "frozen") != 1) {
                struct pollfd p = { .fd = fd, .events = POLLPRI };
                int64_t left = until - now_boot_us();

                if (left <= 0) {
                        (void)set_number(dir, "cgroup.freeze", "0", NULL);
                        return pd_fail(err, PD_E_BUSY,
                                "%s did not stand still within 1 s: a process hangs in the kernel", name);
                }
                (void)poll(&p, 1, (int)(left / 1000) + 1);
                /* a read re-arms the event */
                (void)lseek(fd, 0, SEEK_SET);
                (void)!read(fd, (char[256]){ 0 }, 256);
        }
        return r;
}

static void remove_tree(const char *dir)
{
        pd_cleanup(freep) char *payload = path_fmt("%s/payload", dir);
        pd_cleanup(freep) char *supervisor = path_fmt("%s/supervisor", dir);

        if (payload)
                (void)rmdir(payload);
        if (supervisor)
                (void)rmdir(supervisor);
        (void)rmdir(dir);
}

void cgroup_remove(struct cgroups *c, const char *name)
{
        pd_cleanup(freep) char *dir = cgroup_dir(c, name, "");

        if (dir)
                remove_tree(dir);
}

/* Without a memory controller: the processes' own shares, added up. */
static int64_t summed_rss(const char *procs_text)
{
        pd_cleanup(freep) char *copy = strdup(procs_text);
        char *save = NULL;
        int64_t sum = 0;

        for (char *w = copy ? strtok_r(copy, "\n", &save) : NULL; w; w = strtok_r(NULL, "\n", &save)) {
                pd_cleanup(freep) char *path = path_fmt("/proc/%ld/smaps_rollup", strtol(w, NULL, 10));
                pd_cleanup(freep) char *text = NULL;
                const char *pss;

                if (path && disk_read(path, 65536, &text, NULL, NULL) == 0 && (pss = strstr(text, "\nPss:")))
                        sum += strtoll(pss + 5, NULL, 10) * 1024;
        }
        return sum;
}

static void measure_io(const char *text, struct cgroup_measure *m)
{
        m->io_read_bytes = m->io_write_bytes = 0;
        for (const char *p = text; (p = strstr(p, "bytes=")); p += 6) {
                if (p[-1] == 'r')
                        m->io_read_bytes += strtoll(p + 6, NULL, 10);
                else if (p[-1] == 'w')
                        m->io_write_bytes += strtoll(p + 6, NULL, 10);
        }
}

/* "some avg10=1.23 avg60=..": 123; -1 = the kernel does not tell. */
static int64_t stalled_of(const char *pressure)
{
        const char *p = pressure ? strstr(pressure, "some avg10=") : NULL;
        int whole = 0, part = 0;

        return p && sscanf(p + strlen("some avg10="), "%d.%2d", &whole, &part) == 2 ? whole * 100LL + part : -1;
}

static void measure_memory(const struct cgroups *c, const char *path, struct cgroup_measure *m)
{
        pd_cleanup(freep) char *current = read_group(c, path, "memory.current");
        pd_cleanup(freep) char *peak = read_group(c, path, "memory.peak");
        pd_cleanup(freep) char *events = read_group(c, path, "memory.events");
        pd_cleanup(freep) char *stat = read_group(c, path, "memory.stat");
        pd_cleanup(freep) char *pressure = read_group(c, path, "memory.pressure");

        if (stat)
                m->reclaimable_bytes = find_number(stat, "inactive_file");
        m->stalled = stalled_of(pressure);
        if (current)
                m->memory_bytes = strtoll(current, NULL, 10);
        if (peak)
                m->memory_peak_bytes = strtoll(peak, NULL, 10);
        if (events)
                m->oom_kills = find_number(events, "oom_kill");
}

void cgroup_measure(const struct cgroups *c, const char *name, struct cgroup_measure *ret)
{
        pd_cleanup(freep) char *path = cgroup_path(c, name, "payload");
        pd_cleanup(freep) char *cpu = path ? read_group(c, path, "cpu.stat") : NULL;
        pd_cleanup(freep) char *io = path ? read_group(c, path, "io.stat") : NULL;
        pd_cleanup(freep) char *procs = path ? read_group(c, path, "cgroup.procs") : NULL;

        *ret = (struct cgroup_measure){ -1, -1, -1, -1, -1, -1, -1, -1, -1 };
        if (cpu)
                ret->cpu_us = find_number(cpu, "usage_usec");
        if (io)
                measure_io(io, ret);
        if (path)
                measure_memory(c, path, ret);
        if (procs) {
                ret->pids = 0;
                for (const char *p = procs; *p; p++)
                        ret->pids += *p == '\n';
                if (ret->memory_bytes < 0 && *procs)
                        ret->memory_bytes = summed_rss(procs);
        }
}
