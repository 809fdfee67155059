/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's numbers. */
static const char *const caps[] = { "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID",
        "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK",
        "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT",
        "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL",
        "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
        "CHECKPOINT_RESTORE" };

static uint64_t bounding(const json_t *config)
{
        const json_t *list =
                json_object_get(json_object_get(json_object_get(config, "process"), "capabilities"), "bounding");
        uint64_t mask = 0;

        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *name = json_string_value(json_array_get(list, i));

                for (size_t n = 0; name && n < sizeof caps / sizeof *caps; n++)
                        if (strncmp(name, "CAP_", 4) == 0 && strcmp(name + 4, caps[n]) == 0)
                                mask |= UINT64_C(1) << n;
        }
        return mask;
}

static bool in_range(const uint32_t ids[4], uint32_t base, uint32_t n)
{
        for (int i = 0; i < 4; i++)
                if (n && (ids[i] < base || ids[i] - base >= n))
                        return false;
        return true;
}

int check_process(
        const json_t *config, const struct parse_status *s, uint32_t id_base, uint32_t id_n, struct pd_error *err)
{
        const json_t *process = json_object_get(config, "process");
        uint64_t have = s->permitted | s->effective | s->inheritable | s->ambient | s->bounding;
        uint64_t more = have & ~bounding(config);

        if (more)
                return pd_fail(err, PD_E_CORRUPT, "a restored process has capabilities that the job has not (0x%llx)",
                        (unsigned long long)more);
        if (json_object_get(json_object_get(config, "linux"), "seccomp") && (s->seccomp != 2 || s->filters == 0))
                return pd_fail(err, PD_E_CORRUPT, "a restored process is without the job's seccomp filter");
        if (json_is_true(json_object_get(process, "noNewPrivileges")) && !s->no_new_privs)
                return pd_fail(err, PD_E_CORRUPT, "a restored process may gain privileges, and the job's may not");
        if (!in_range(s->uid, id_base, id_n) || !in_range(s->gid, id_base, id_n))
                return pd_fail(err, PD_E_CORRUPT, "a restored process runs under ids that are not the job's (%u, %u)",
                        s->uid[0], s->gid[0]);
        return 0;
}

static const char *link_of(const char *type)
{
        static const char *const names[][2] = { { "pid", "pid" }, { "mount", "mnt" }, { "ipc", "ipc" },
                { "uts", "uts" }, { "cgroup", "cgroup" }, { "network", "net" }, { "user", "user" } };

        for (size_t i = 0; type && i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i][0], type) == 0)
                        return names[i][1];
        return NULL;
}

static int check_namespaces(const json_t *config, int32_t pid, struct pd_error *err)
{
        const json_t *list = json_object_get(json_object_get(config, "linux"), "namespaces");
        char ours[64], theirs[64];

        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *type = json_string_value(json_object_get(json_array_get(list, i), "type"));
                const char *name = link_of(type);

                if (!name)
                        return pd_fail(err, PD_E_UNSUPPORTED, "a bundle with a namespace of the kind \"%.20s\"",
                                type ? type : "");
                if (!proc_link(ours, sizeof ours, "/proc/self/ns/%s", name) ||
                        !proc_link(theirs, sizeof theirs, "/proc/%d/ns/%s", pid, name))
                        return pd_fail(err, PD_E_IO, "process %d has ended while it was compared", pid);
                if (strcmp(ours, theirs) == 0)
                        return pd_fail(err, PD_E_CORRUPT, "a restored process has not got its own %s namespace", name);
        }
        return 0;
}

static uint32_t id_count(const json_t *config)
{
        const json_t *map = json_array_get(json_object_get(json_object_get(config, "linux"), "uidMappings"), 0);

        return (uint32_t)json_integer_value(json_object_get(map, "size"));
}

int check_container(const struct pd_container *c, struct pd_error *err)
{
        struct proc_pids pids = { 0 };
        struct parse_status s;
        char path[4300];
        json_t *config;
        int r;

        (void)snprintf(path, sizeof path, "%s/config.json", c->bundle);
        config = json_load_file(path, 0, NULL);
        r = config ? proc_pids(c->cgroup, &pids, err) : pd_fail(err, PD_E_IO, "cannot read %.150s", path);
        if (r == 0 && !proc_pids_has(&pids, c->pid))
                r = pd_fail(err, PD_E_CORRUPT, "the restored main process is not in the job's cgroup");
        for (size_t i = 0; r == 0 && i < pids.n; i++)
                if (proc_status(pids.at[i], &s) && s.state != 'Z') {
                        r = check_process(config, &s, (uint32_t)c->uid, id_count(config), err);
                        if (r == 0)
                                r = check_namespaces(config, pids.at[i], err);
                }
        proc_pids_clear(&pids);
        json_decref(config);
        return r;
}
