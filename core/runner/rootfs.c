/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/bundle.h"
#include "runner/io.h"

/* <sys/mount.h> and <linux/mount.h> do not go together in every libc. */
int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
int umount2(const char *target, int flags);
#define UMOUNT_DETACH 2
#define EMPTY_PATH 0x1000
#define RECURSIVE 0x8000
#define PRIVATE_MOUNT (UINT64_C(1) << 18)

static int write_map(pid_t pid, const char *file, uint32_t id_base)
{
        char path[64], line[64];

        (void)str_format(path, sizeof path, "/proc/%d/%s", (int)pid, file);
        (void)str_format(line, sizeof line, "0 %u %u", id_base, BUNDLE_IDS);
        return disk_poke(path, line, NULL);
}

static void wait_in_namespace(int ready, pid_t parent)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || unshare(CLONE_NEWUSER) < 0)
                _exit(1);
        (void)!write(ready, "r", 1);
        for (;;)
                (void)pause();
}

/* A descriptor of a user namespace that maps 0.. to id_base..: what a mapped mount is described by. */
static int map_fd(uint32_t id_base, struct pd_error *err)
{
        int ready[2], fd = -1;
        pid_t self = getpid(), pid;
        char path[64], byte;

        if (pipe2(ready, O_CLOEXEC) < 0)
                return pd_fail(err, PD_E_IO, "no pipe: %m");
        pid = fork();
        if (pid == 0)
                wait_in_namespace(ready[1], self);
        (void)close(ready[1]);
        if (pid > 0 && read(ready[0], &byte, 1) == 1 && write_map(pid, "uid_map", id_base) == 0 &&
                write_map(pid, "gid_map", id_base) == 0) {
                (void)str_format(path, sizeof path, "/proc/%d/ns/user", (int)pid);
                fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        (void)close(ready[0]);
        if (pid > 0) {
                (void)kill(pid, SIGKILL);
                (void)waitpid(pid, NULL, 0);
        }
        if (fd < 0)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "this machine lets nobody make a user namespace (user.max_user_namespaces?)");
        return fd;
}

static int mount_lower(const char *image, const char *target, uint32_t id_base, bool mapped, struct pd_error *err)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, .propagation = PRIVATE_MOUNT };
        pd_cleanup(closep) int users = -1;
        pd_cleanup(closep) int tree = (int)syscall(SYS_open_tree, AT_FDCWD, image, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        if (tree < 0)
                return pd_fail(err, PD_E_IO, "cannot open the image at %s: %m", image);
        if (mapped && id_base > 0) {
                users = map_fd(id_base, err);
                if (users < 0)
                        return users;
                attr.attr_set |= MOUNT_ATTR_IDMAP;
                attr.userns_fd = (unsigned long long)users;
        }
        if (syscall(SYS_mount_setattr, tree, "", EMPTY_PATH, &attr, sizeof attr) < 0)
                return pd_fail(err, PD_E_UNSUPPORTED, "cannot map the ids of %s: %m", image);
        if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return pd_fail(err, PD_E_IO, "cannot mount the image at %s: %m", target);
        return 0;
}

/* Overlay's options name directories below the current one: no path of ours can then break the option's syntax. */
static int mount_overlay(const char *dir, struct pd_error *err)
{
        pd_cleanup(closep) int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = 0;

        if (here < 0 || chdir(dir) < 0)
                return pd_fail(err, PD_E_IO, "cannot enter %s: %m", dir);
        if (mount("overlay", "rootfs", "overlay", 0,
                    "lowerdir=lower,upperdir=upper,workdir=work,metacopy=off,redirect_dir=off,index=off,xino=off") < 0)
                r = pd_fail(err, PD_E_IO, "cannot mount the overlay at %s/rootfs: %m", dir);
        (void)!fchdir(here);
        return r;
}

static int make_dirs(const char *dir, const char *image, uint32_t id_base, struct pd_error *err)
{
        static const char *const names[] = { "lower", "upper", "work", "rootfs" };
        struct stat st;

        if (stat(image, &st) < 0 || !S_ISDIR(st.st_mode))
                return pd_fail(err, PD_E_NOT_FOUND, "%s is no directory with an image", image);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                pd_cleanup(freep) char *path = path_fmt("%s/%s", dir, names[i]);
                bool fresh = path && !disk_exists(path);

                if (!path)
                        return pd_fail(err, PD_E_NOMEM, "no memory");
                if (fresh && mkdir(path, 0755) < 0)
                        return pd_fail(err, PD_E_IO, "cannot make %s: %m", path);
                /* the root of the sum has the owner and mode of the layer's root */
                if (fresh && streq(names[i], "upper") &&
                        (chown(path, id_base, id_base) < 0 || chmod(path, st.st_mode & 07777) < 0))
                        return pd_fail(err, PD_E_IO, "cannot give %s to the job: %m", path);
        }
        return 0;
}

int rootfs_mount(const char *dir, const char *image, uint32_t id_base, bool mapped, struct pd_error *err)
{
        pd_cleanup(freep) char *lower = path_fmt("%s/lower", dir);
        int r = lower ? make_dirs(dir, image, id_base, err) : pd_fail(err, PD_E_NOMEM, "no memory");

        rootfs_umount(dir);
        if (r == 0)
                r = mount_lower(image, lower, id_base, mapped, err);
        if (r == 0)
                r = mount_overlay(dir, err);
        if (r < 0)
                rootfs_umount(dir);
        return r;
}

void rootfs_umount(const char *dir)
{
        static const char *const names[] = { "rootfs", "lower" };

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                pd_cleanup(freep) char *path = path_fmt("%s/%s", dir, names[i]);

                while (path && umount2(path, UMOUNT_DETACH) == 0)
                        ;
        }
}

bool rootfs_can_idmap(const char *dir, struct pd_error *err)
{
        pd_cleanup(freep) char *probe = path_fmt("%s/probe.idmap", dir);
        pd_cleanup(freep) char *image = path_fmt("%s/probe.idmap/image", dir);
        pd_cleanup(freep) char *file = path_fmt("%s/probe.idmap/image/file", dir);
        pd_cleanup(freep) char *seen = path_fmt("%s/probe.idmap/rootfs/file", dir);
        const uint32_t base = 0x50000000;
        struct stat st = { 0 };
        bool good;

        if (!probe || !image || !file || !seen)
                return false;
        (void)disk_rmtree(probe, NULL);
        if (disk_mkdir(probe, 0700, err) < 0 || disk_mkdir(image, 0755, err) < 0 ||
                disk_write(file, "x", 1, 0644, err) < 0)
                return false;
        good = rootfs_mount(probe, image, base, true, err) == 0 && stat(seen, &st) == 0 && st.st_uid == base &&
               chown(seen, base + 1, base + 1) == 0 && stat(file, &st) == 0 && st.st_uid == 0;
        rootfs_umount(probe);
        (void)disk_rmtree(probe, NULL);
        return good;
}
