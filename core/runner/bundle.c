/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/bundle.h"

static const char *const capabilities[] = {
        "CAP_CHOWN",
        "CAP_DAC_OVERRIDE",
        "CAP_FOWNER",
        "CAP_FSETID",
        "CAP_KILL",
        "CAP_SETGID",
        "CAP_SETUID",
        "CAP_SETPCAP",
        "CAP_NET_BIND_SERVICE",
        "CAP_SYS_CHROOT",
};
static const char *const masked[] = {
        "/proc/acpi",
        "/proc/asound",
        "/proc/kcore",
        "/proc/keys",
        "/proc/latency_stats",
        "/proc/sched_debug",
        "/proc/scsi",
        "/proc/timer_list",
        "/proc/timer_stats",
        "/sys/dev/block",
        "/sys/devices/virtual/powercap",
        "/sys/firmware",
        "/sys/fs/bpf",
        "/sys/fs/pstore",
        "/sys/kernel/debug",
        "/sys/kernel/security",
        "/sys/kernel/tracing",
};
static const char *const read_only[] = {
        "/proc/bus",
        "/proc/fs",
        "/proc/irq",
        "/proc/sys",
        "/proc/sysrq-trigger",
};

static json_t *strings(const char *const *list, size_t n)
{
        json_t *a = json_array();

        for (size_t i = 0; i < n; i++)
                (void)json_array_append_new(a, json_string(list[i]));
        return a;
}
#define STRINGS(list_) strings(list_, ARRAY_LEN(list_))

static void add_mount(json_t *list, const char *target, const char *type, const char *source, const char *options)
{
        json_t *opts = json_array();
        const char *p = options;

        while (*p) {
                size_t n = strcspn(p, ",");

                (void)json_array_append_new(opts, json_stringn(p, n));
                p += n + (p[n] == ',');
        }
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "destination", target, "type", type,
                                                  "source", source, "options", opts));
}

/* A container on the machine's network in a user namespace cannot mount a sysfs of its own: it gets the machine's, read-only. */
static void add_sys(const struct bundle *b, json_t *list)
{
        if (b->own_network || b->id_base == 0)
                add_mount(list, "/sys", "sysfs", "sysfs", "nosuid,noexec,nodev,ro");
        else
                add_mount(list, "/sys", "none", "/sys", "rbind,rprivate,nosuid,noexec,nodev,ro");
        if (b->cgroup2_ro)
                add_mount(list, "/sys/fs/cgroup", "cgroup", "cgroup", "nosuid,noexec,nodev,relatime,ro");
}

static json_t *mounts(const struct bundle *b)
{
        json_t *list = json_array();
        char shm[96];
        const json_t *m;
        size_t i;

        (void)str_format(shm, sizeof shm, "nosuid,noexec,nodev,mode=1777,size=%llu", (unsigned long long)b->shm_bytes);
        add_mount(list, "/proc", "proc", "proc", "nosuid,noexec,nodev");
        add_mount(list, "/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k");
        add_mount(list, "/dev/pts", "devpts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620");
        add_mount(list, "/dev/shm", "tmpfs", "shm", shm);
        add_mount(list, "/dev/mqueue", "mqueue", "mqueue", "nosuid,noexec,nodev");
        add_sys(b, list);
        if (!b->own_network && b->resolv_conf)
                add_mount(list, "/etc/resolv.conf", "bind", "/etc/resolv.conf", "bind,private,nosuid,noexec,nodev,ro");
        add_mount(list, "/run/portal", "bind", b->portal_dir, "bind,private,nosuid,nodev,noexec,rw");
        add_mount(list, "/run/portal/checkpoint", "bind", b->checkpoint_dir, "bind,private,nosuid,nodev,noexec,rw");
        json_array_foreach ((json_t *)(uintptr_t)b->mounts, i, m)
                add_mount(list, js_str(m, "target", ""), "bind", js_str(m, "source", ""),
                        js_bool(m, "read_only", false) ? "rbind,rprivate,nosuid,nodev,ro"
                                                       : "rbind,rprivate,nosuid,nodev,rw");
        return list;
}

static json_t *environment(const json_t *env)
{
        json_t *list = json_array();
        const char *key;
        json_t *v;

        json_object_foreach ((json_t *)(uintptr_t)env, key, v)
                (void)json_array_append_new(list, json_sprintf("%s=%s", key, json_string_value(v)));
        return list;
}

static json_t *process(const struct bundle *b)
{
        json_t *caps = STRINGS(capabilities);
        json_t *p = json_pack("{s:b, s:{s:I, s:I}, s:O, s:o, s:s, s:{s:O, s:O, s:O, s:o}, s:b, s:i}", "terminal", 0,
                "user", "uid", (json_int_t)b->uid, "gid", (json_int_t)b->gid, "args", b->args, "env",
                environment(b->env), "cwd", b->workdir, "capabilities", "bounding", caps, "effective", caps,
                "permitted", caps, "ambient", json_array(), "noNewPrivileges", 1, "oomScoreAdj", b->oom_score_adj);

        json_decref(caps);
        (void)json_object_set_new(p, "rlimits",
                json_pack("[{s:s, s:I, s:I}, {s:s, s:I, s:I}]", "type", "RLIMIT_NOFILE", "hard",
                        (json_int_t)b->nofile_max, "soft", (json_int_t)b->nofile_max, "type", "RLIMIT_CORE", "hard",
                        (json_int_t)0, "soft", (json_int_t)0));
        return p;
}

static json_t *namespaces(const struct bundle *b)
{
        json_t *list = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]", "type", "pid", "type", "mount", "type", "ipc",
                "type", "uts", "type", "cgroup");

        if (b->own_network)
                (void)json_array_append_new(list, json_pack("{s:s}", "type", "network"));
        if (b->id_base > 0)
                (void)json_array_append_new(list, json_pack("{s:s}", "type", "user"));
        return list;
}

static json_t *linux_part(const struct bundle *b)
{
        json_t *l = json_pack("{s:o, s:s, s:o, s:o, s:o, s:{s:[{s:b, s:s}]}}", "namespaces", namespaces(b),
                "cgroupsPath", b->cgroup, "maskedPaths", STRINGS(masked), "readonlyPaths", STRINGS(read_only),
                "seccomp", seccomp_default(), "resources", "devices", "allow", 0, "access", "rwm");

        if (b->id_base > 0) {
                json_t *map = json_pack("[{s:i, s:I, s:I}]", "containerID", 0, "hostID", (json_int_t)b->id_base, "size",
                        (json_int_t)BUNDLE_IDS);

                (void)json_object_set(l, "uidMappings", map);
                (void)json_object_set_new(l, "gidMappings", map);
        }
        return l;
}

static int check(const struct bundle *b, struct pd_error *err)
{
        const json_t *v;
        const char *key;
        size_t i;

        if (json_array_size(b->args) == 0)
                return pd_fail(err, PD_E_INVALID,
                        "there is no command: the job names none and its image has none either. Give one after --");
        json_array_foreach ((json_t *)(uintptr_t)b->args, i, v)
                if (!json_is_string(v))
                        return pd_fail(err, PD_E_INVALID, "command word %zu is no string", i + 1);
        json_object_foreach ((json_t *)(uintptr_t)b->env, key, v)
                if (!json_is_string(v) || !*key || strchr(key, '='))
                        return pd_fail(
                                err, PD_E_INVALID, "environment variable \"%s\": the name or value is not usable", key);
        json_array_foreach ((json_t *)(uintptr_t)b->mounts, i, v) {
                const char *source = js_str(v, "source", ""), *target = js_str(v, "target", "");

                if (*source != '/' || *target != '/' || streq(target, "/") || strstr(target, ".."))
                        return pd_fail(err, PD_E_INVALID,
                                "mount %s -> %s: both paths must be absolute, the target not /", source, target);
        }
        if (*b->workdir != '/')
                return pd_fail(err, PD_E_INVALID, "the working directory \"%s\" must be an absolute path", b->workdir);
        return 0;
}

int bundle_make(const struct bundle *b, json_t **ret, struct pd_error *err)
{
        int r = check(b, err);
        char hostname[64]; /* what the kernel takes */
        json_t *v;

        if (r < 0)
                return r;
        (void)str_format(hostname, sizeof hostname, "%s", b->hostname);
        v = json_pack("{s:s, s:o, s:{s:s, s:b}, s:s, s:o, s:o, s:{s:s}}", "ociVersion", "1.0.2", "process", process(b),
                "root", "path", b->rootfs, "readonly", 0, "hostname", hostname, "mounts", mounts(b), "linux",
                linux_part(b), "annotations", "io.portald.job", b->job);
        if (!v)
                return pd_fail(err, PD_E_NOMEM, "the bundle of %s could not be put together", b->job);
        *ret = v;
        return 0;
}
