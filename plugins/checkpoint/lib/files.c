/* SPDX-License-Identifier: Apache-2.0 */
/* Files out of and into a directory that a job owns, and may change while we look. */
#include "capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)

static int fail_file(struct pd_error *err, const char *doing, const char *name)
{
        int e = errno;
        enum pd_code code = e == ENOSPC || e == EDQUOT ? PD_E_FULL : e == ENOENT ? PD_E_NOT_FOUND : PD_E_IO;

        (void)pd_fail(err, code, "%s \"%.100s\": %s", doing, name, strerror(e));
        (void)pd_fail_subject(err, name);
        return -(int)code;
}

int capture_open_dir(const char *path, int *ret_fd, struct pd_error *err)
{
        int fd = path && *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : (errno = ENOENT, -1);

        if (fd < 0)
                return fail_file(err, "opening the job's checkpoint directory", path ? path : "");
        *ret_fd = fd;
        return 0;
}

int capture_sync(int fd, const char *what, struct pd_error *err)
{
        return fsync(fd) < 0 ? fail_file(err, "writing to disk", what) : 0;
}

static int open_regular(int dir, const char *name, struct stat *ret, struct pd_error *err)
{
        /* O_NONBLOCK: a fifo that the job put there must not hold us */
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0)
                return fail_file(err, "reading", name);
        if (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode)) {
                (void)close(fd);
                return pd_fail(err, PD_E_CORRUPT, "\"%.100s\" is not a regular file", name);
        }
        return fd;
}

static int write_all(int fd, const char *buf, size_t n)
{
        while (n > 0) {
                ssize_t done = write(fd, buf, n);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done <= 0)
                        return -1;
                buf += done;
                n -= (size_t)done;
        }
        return 0;
}

/* Copies exactly `size` bytes; what grew meanwhile is cut, what shrank is an error. */
static int copy_bytes(struct pd_call *call, int from, int to, const char *name, uint64_t size, uint32_t *ret_crc,
        struct pd_error *err)
{
        char *buf = malloc(CHUNK);
        uint32_t crc = 0;
        int r = buf ? 0 : pd_fail(err, PD_E_NOMEM, "no memory to copy \"%.100s\"", name);

        while (r == 0 && size > 0) {
                ssize_t n = read(from, buf, size < CHUNK ? (size_t)size : CHUNK);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        r = n < 0 ? fail_file(err, "reading", name)
                                  : pd_fail(err, PD_E_CORRUPT, "\"%.100s\" became shorter while it was read", name);
                else if (write_all(to, buf, (size_t)n) < 0)
                        r = fail_file(err, "writing", name);
                else
                        r = capture_check(call, err);
                if (r == 0) {
                        crc = capture_crc(crc, buf, (size_t)n);
                        size -= (uint64_t)n;
                }
        }
        free(buf);
        if (r == 0 && ret_crc)
                *ret_crc = crc;
        return r;
}

int capture_copy(struct pd_call *call, int from_dir, int to_dir, const char *name, uint64_t size,
        const struct capture_owner *owner, uint32_t *ret_crc, struct pd_error *err)
{
        struct stat st;
        pd_cleanup(capture_closep) int from = open_regular(from_dir, name, &st, err);
        pd_cleanup(capture_closep) int to = -1;
        int r;

        if (from < 0)
                return from;
        if (size != UINT64_MAX && (uint64_t)st.st_size != size)
                return pd_fail(err, PD_E_CORRUPT, "\"%.100s\" is %lld bytes long and should be %llu", name,
                        (long long)st.st_size, (unsigned long long)size);
        if (unlinkat(to_dir, name, 0) < 0 && errno != ENOENT)
                return fail_file(err, "replacing", name);
        to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return fail_file(err, "making", name);
        r = copy_bytes(call, from, to, name, (uint64_t)st.st_size, ret_crc, err);
        if (r < 0)
                return r;
        if (owner && fchown(to, owner->uid, owner->gid) < 0)
                return fail_file(err, "giving the job", name);
        if (fchmod(to, st.st_mode & 0777) < 0)
                return fail_file(err, "setting the mode of", name);
        return capture_sync(to, name, err);
}

/* ---- whole trees ---- */

struct walk {
        struct pd_call *call;
        const struct capture_owner *owner;
        char path[4096]; /* from the job's directory, for messages */
        int64_t since_wall_us;
        bool changed;
        uint64_t files;
};

static int copy_link(const struct walk *w, int from_dir, int to_dir, const char *name, struct pd_error *err)
{
        char target[4096];
        ssize_t n = readlinkat(from_dir, name, target, sizeof target);

        if (n < 0 || n >= (ssize_t)sizeof target)
                return fail_file(err, "reading the link", w->path);
        target[n] = '\0';
        if (symlinkat(target, to_dir, name) < 0)
                return fail_file(err, "making the link", w->path);
        if (w->owner && fchownat(to_dir, name, w->owner->uid, w->owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
                return fail_file(err, "giving the job", w->path);
        return 0;
}

static const char *kind_text(mode_t mode)
{
        return S_ISFIFO(mode)                   ? "fifo"
               : S_ISSOCK(mode)                 ? "socket"
               : S_ISBLK(mode) || S_ISCHR(mode) ? "device"
                                                : "file of an unknown kind";
}

typedef int (*entry_fn)(struct walk *w, int from_dir, int to_dir, const char *name, const struct stat *st, int depth,
        struct pd_error *err);

/* Calls fn for each entry of a folder, in whatever order; w->path names it meanwhile. */
static int each_entry(struct walk *w, int from_dir, int to_dir, int depth, entry_fn fn, struct pd_error *err)
{
        int copy = openat(from_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *d = copy < 0 ? NULL : fdopendir(copy);
        size_t at = strlen(w->path);
        struct stat st;

        if (!d) {
                if (copy >= 0)
                        (void)close(copy);
                return fail_file(err, "listing", w->path);
        }
        for (struct dirent *e; r == 0 && (errno = 0, e = readdir(d));) {
                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                if (snprintf(w->path + at, sizeof w->path - at, "%s%s", at ? "/" : "", e->d_name) >=
                        (int)(sizeof w->path - at))
                        r = pd_fail(err, PD_E_INVALID, "a path in the checkpoint directory is longer than %zu bytes",
                                sizeof w->path);
                else if (fstatat(from_dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        r = errno == ENOENT ? 0 : fail_file(err, "reading", w->path);
                else
                        r = fn(w, from_dir, to_dir, e->d_name, &st, depth, err);
                w->path[at] = '\0';
                if (r == 0 && w->call)
                        r = capture_check(w->call, err);
        }
        (void)closedir(d);
        return r;
}

static int copy_entry(struct walk *w, int from_dir, int to_dir, const char *name, const struct stat *st, int depth,
        struct pd_error *err);

static int copy_folder(
        struct walk *w, int from_dir, int to_dir, const char *name, mode_t mode, int depth, struct pd_error *err)
{
        pd_cleanup(capture_closep) int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        pd_cleanup(capture_closep) int to = -1;
        int r;

        if (depth >= CAPTURE_DEPTH_MAX)
                return pd_fail(err, PD_E_INVALID, "folders in the checkpoint directory are nested deeper than %d",
                        CAPTURE_DEPTH_MAX);
        if (from < 0 || (mkdirat(to_dir, name, 0700) < 0))
                return fail_file(err, "copying the folder", w->path);
        to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (to < 0)
                return fail_file(err, "copying the folder", w->path);
        r = each_entry(w, from, to, depth + 1, copy_entry, err);
        if (r < 0)
                return r;
        if ((w->owner && fchown(to, w->owner->uid, w->owner->gid) < 0) || fchmod(to, mode & 0777) < 0)
                return fail_file(err, "giving the job", w->path);
        return capture_sync(to, w->path, err);
}

static int copy_entry(struct walk *w, int from_dir, int to_dir, const char *name, const struct stat *st, int depth,
        struct pd_error *err)
{
        if (S_ISREG(st->st_mode))
                return capture_copy(w->call, from_dir, to_dir, name, UINT64_MAX, w->owner, NULL, err);
        if (S_ISDIR(st->st_mode))
                return copy_folder(w, from_dir, to_dir, name, st->st_mode, depth, err);
        if (S_ISLNK(st->st_mode))
                return copy_link(w, from_dir, to_dir, name, err);
        (void)pd_fail(err, PD_E_REFUSED, "a %s cannot be carried", kind_text(st->st_mode));
        return pd_fail_subject(err, w->path);
}

int capture_copy_tree(
        struct pd_call *call, int from_dir, int to_dir, const struct capture_owner *owner, struct pd_error *err)
{
        struct walk w = { .call = call, .owner = owner };
        int r = each_entry(&w, from_dir, to_dir, 0, copy_entry, err);

        return r < 0 ? r : capture_sync(to_dir, "the checkpoint directory", err);
}

static int clear_entry(
        struct walk *w, int dir, int unused, const char *name, const struct stat *st, int depth, struct pd_error *err)
{
        int r = 0;

        if (S_ISDIR(st->st_mode)) {
                pd_cleanup(capture_closep) int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (sub < 0 || depth >= CAPTURE_DEPTH_MAX)
                        return fail_file(err, "clearing", w->path);
                r = each_entry(w, sub, unused, depth + 1, clear_entry, err);
        }
        if (r == 0 && unlinkat(dir, name, S_ISDIR(st->st_mode) ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
                return fail_file(err, "clearing", w->path);
        return r;
}

int capture_clear(int dir, struct pd_error *err)
{
        struct walk w = { .call = NULL };

        return each_entry(&w, dir, -1, 0, clear_entry, err);
}

static int look_entry(
        struct walk *w, int dir, int unused, const char *name, const struct stat *st, int depth, struct pd_error *err)
{
        if (S_ISDIR(st->st_mode)) {
                pd_cleanup(capture_closep) int sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (sub < 0 || depth >= CAPTURE_DEPTH_MAX)
                        return fail_file(err, "reading the folder", w->path);
                return each_entry(w, sub, unused, depth + 1, look_entry, err);
        }
        if (S_ISREG(st->st_mode)) {
                w->files++;
                w->changed |= (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000 >= w->since_wall_us;
        }
        return 0;
}

int capture_changed_since(struct pd_call *call, int dir, int64_t since_wall_us, bool *ret_changed, uint64_t *ret_files,
        struct pd_error *err)
{
        struct walk w = { .call = call, .since_wall_us = since_wall_us };
        int r = each_entry(&w, dir, -1, 0, look_entry, err);

        if (r < 0)
                return r;
        *ret_changed = w.changed;
        *ret_files = w.files;
        return 0;
}
