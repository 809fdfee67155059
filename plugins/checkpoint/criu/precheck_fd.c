/* SPDX-License-Identifier: Apache-2.0 */
#include "precheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MEM_MAJOR 1
#define TTY_MAJOR 5
#define PTMX_MINOR 2
#define PTS_FIRST 136
#define PTS_LAST 143
#define NVIDIA_MAJOR 195
#define DRM_MAJOR 226

static bool starts(const char *text, const char *with)
{
        return strncmp(text, with, strlen(with)) == 0;
}

/* null, zero, full, random, urandom: criu opens them anew. */
static bool plain_device(dev_t d)
{
        unsigned int minor_ = minor(d);

        return (major(d) == MEM_MAJOR && (minor_ == 3 || minor_ == 5 || minor_ == 7 || minor_ == 8 || minor_ == 9)) ||
               (major(d) == TTY_MAJOR && minor_ == 0);
}

/* Has any process inside the master of that number open? */
static bool has_master(const struct look *l, uint64_t index)
{
        for (size_t i = 0; i < l->pids.n; i++)
                for (int32_t fd = 0; fd < 1024; fd++) {
                        char link[64];
                        uint64_t at;
                        char *info;
                        bool found;

                        if (!proc_link(link, sizeof link, "/proc/%d/fd/%d", l->pids.at[i], fd) || !strstr(link, "ptmx"))
                                continue;
                        info = proc_text("/proc/%d/fdinfo/%d", l->pids.at[i], fd);
                        found = info && parse_number(info, "tty-index:", 10, &at) && at == index;
                        free(info);
                        if (found)
                                return true;
                }
        return false;
}

static int look_device(struct look *l, int32_t fd, const char *link, dev_t d)
{
        if (plain_device(d) || (major(d) == TTY_MAJOR && minor(d) == PTMX_MINOR))
                return 0;
        if (major(d) >= PTS_FIRST && major(d) <= PTS_LAST)
                return has_master(l, (major(d) - PTS_FIRST) * 256 + minor(d))
                               ? 0
                               : look_value(l, fd, "terminal", "its other end is held outside of the container",
                                         "run the program without a terminal, or make the terminal inside", "%s", link);
        if (major(d) == NVIDIA_MAJOR || major(d) == DRM_MAJOR || starts(link, "/dev/nvidia") ||
                starts(link, "/dev/kfd"))
                return look_value(l, fd, "GPU", "what is in a GPU's memory is not in a checkpoint of the process",
                        "use checkpoint values or command for jobs on a GPU", "%s %u:%u", link, major(d), minor(d));
        return look_value(l, fd, "device", "what a device holds is not in a checkpoint of the process",
                "close the device before the save, or use checkpoint values or command", "%s %u:%u", link, major(d),
                minor(d));
}

static int look_deleted(struct look *l, int32_t fd, const char *link, const struct stat *st)
{
        if (!S_ISREG(st->st_mode))
                return S_ISDIR(st->st_mode)
                               ? 0
                               : look_value(l, fd, "deleted file", "it has no name any more", "close it", "%s", link);
        if (st->st_nlink > 0)
                return look_value(l, fd, "deleted file",
                        "this name was removed while the file has another, so it cannot be opened again by name",
                        "keep the name, or remove all of them", "%s", link);
        if (st->st_size <= PRECHECK_GHOST_MAX)
                return 0;
        return look_value(l, fd, "deleted file",
                "it has no name any more and is larger than the 1 MiB that travels with a checkpoint",
                "give the file a name, or close it", "%s %lld bytes", link, (long long)st->st_size);
}

static int look_inotify(struct look *l, int32_t fd)
{
        char *info = proc_text("/proc/%d/fdinfo/%d", l->pid, fd);
        bool watches = info && strstr(info, "inotify wd:");
        int r = 0;

        if (watches)
                r = look_value(l, fd, "inotify watch",
                        "a watched file on the container's layers cannot be found again by its handle",
                        "remove the watch before the save, or poll", "/proc/%d/fd/%d inotify", l->pid, fd);
        free(info);
        return r;
}

/* A descriptor of a process is carried when that process is. */
static bool pidfd_inside(const struct look *l, int32_t fd)
{
        char *info = proc_text("/proc/%d/fdinfo/%d", l->pid, fd);
        uint64_t pid = 0;
        bool inside = info && parse_number(info, "Pid:", 10, &pid) && proc_pids_has(&l->pids, (int32_t)pid);

        free(info);
        return inside;
}

static int look_kernel(struct look *l, int32_t fd, const char *link, const char *name)
{
        static const struct {
                const char *name, *type, *reason, *fix;
        } known[] = {
                { "io_uring", "io_uring", "requests in the ring belong to the kernel, and criu does not carry them",
                        "turn io_uring off in the program (for example UV_USE_IO_URING=0)" },
                { "userfaultfd", "userfaultfd", "page faults are handled through it, and criu does not carry that",
                        "turn its use off in the program" },
                { "perf_event", "perf event", "a hardware or kernel counter stays on this machine",
                        "end the profiling before the save" },
                { "bpf-prog", "eBPF program", "it is loaded into this machine's kernel", "close it before the save" },
                { "bpf-map", "eBPF map", "its content is in this machine's kernel", "close it before the save" },
                { "bpf_link", "eBPF link", "it is attached in this machine's kernel", "close it before the save" },
        };

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (strcmp(known[i].name, name) == 0)
                        return look_value(l, fd, known[i].type, known[i].reason, known[i].fix, "%s", link);
        if (strcmp(name, "pidfd") == 0)
                return pidfd_inside(l, fd)
                               ? 0
                               : look_value(l, fd, "pidfd",
                                         "it names a process outside of the container, or one that has ended",
                                         "close it before the save", "%s", link);
        return look_value(l, fd, "kernel object", "criu does not carry objects of this kind",
                "close it before the save, or use checkpoint values or command", "%s", link);
}

/* Nothing that was opened in another mount namespace can be found again by its path. */
static bool foreign_mount(const struct look *l, int32_t fd)
{
        char *info = proc_text("/proc/%d/fdinfo/%d", l->pid, fd);
        char *mounts = proc_text("/proc/%d/mountinfo", l->pid);
        char line[32];
        uint64_t id = 0;
        bool foreign = false;

        if (info && mounts && parse_number(info, "mnt_id:", 10, &id)) {
                (void)snprintf(line, sizeof line, "\n%llu ", (unsigned long long)id);
                foreign = !strstr(mounts, line) && strstr(mounts, line + 1) != mounts;
        }
        free(info);
        free(mounts);
        return foreign;
}

static int look_path(struct look *l, int32_t fd, const char *link, const struct stat *st)
{
        if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
                return look_device(l, fd, link, st->st_rdev);
        if (foreign_mount(l, fd))
                return look_value(l, fd, "file from outside", "it was opened outside of the container's file systems",
                        "open it inside, or give it to the job as a mount", "%s", link);
        return 0;
}

int look_fd(struct look *l, int32_t fd)
{
        struct parse_link_of of;
        char link[4200], path[64];
        struct stat st;

        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", l->pid, fd);
        if (!proc_link(link, sizeof link, "/proc/%d/fd/%d", l->pid, fd) || stat(path, &st) < 0)
                return 0; /* closed meanwhile */
        parse_link(link, &of);
        switch (of.kind) {
        case LINK_SOCKET:
                return look_socket(l, fd, of.inode);
        case LINK_DELETED:
                return look_deleted(l, fd, link, &st);
        case LINK_PATH:
                return look_path(l, fd, link, &st);
        case LINK_OTHER:
                return look_kernel(l, fd, link, of.type);
        case LINK_GOOD:
                return strcmp(of.type, "inotify") == 0 ? look_inotify(l, fd) : 0;
        case LINK_PIPE:
        case LINK_MEMFD:
                return 0;
        }
        return 0;
}
