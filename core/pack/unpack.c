/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/vec.h"
#include "pack/xattrs.h"

#define ENTRIES_MAX 20000000

struct dir_time { /* set last: what is put into a directory touches its time */
        char *path;
        struct timespec mtime;
};
struct unpacker {
        const struct pack_params *p;
        struct archive *a;
        int root;
        uint64_t plain_bytes, entries;
        VEC(struct dir_time) dirs;
        uint8_t *value;
};

static void unpacker_clear(struct unpacker *u)
{
        if (u->a)
                (void)archive_read_free(u->a);
        vec_foreach (d, &u->dirs)
                free(d->path);
        vec_free(&u->dirs);
        free(u->value);
        (void)safe_close(u->root);
}

/* "a/b" with neither empty nor dot parts. */
static bool path_good(const char *p)
{
        if (!*p || *p == '/')
                return false;
        while (*p) {
                size_t n = strcspn(p, "/");

                if (n == 0 || n > 255 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += n;
                if (*p == '/' && !*++p)
                        return false;
        }
        return true;
}

static int open_below(const struct unpacker *u, const char *path, int flags)
{
        struct open_how how = { .flags = (unsigned long long)(flags | O_CLOEXEC | O_NOFOLLOW),
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };

        return (int)syscall(SYS_openat2, u->root, path, &how, sizeof how);
}

/* The directory that holds path, and path's last part. */
static int open_parent(const struct unpacker *u, const char *path, const char **ret_name, struct pd_error *err)
{
        const char *slash = strrchr(path, '/');
        pd_cleanup(freep) char *parent = strndup(slash ? path : ".", slash ? (size_t)(slash - path) : 1);
        int fd = parent ? open_below(u, parent, O_PATH | O_DIRECTORY) : -1;

        if (fd < 0)
                return pd_fail(err, PD_E_CORRUPT, "\"%.150s\" in the archive lies in no directory of it: %m", path);
        *ret_name = slash ? slash + 1 : path;
        return fd;
}

static int put_content(struct unpacker *u, int at, const char *name, const char *path, struct pd_error *err)
{
        pd_cleanup(closep) int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        const void *block;
        la_int64_t offset;
        size_t n;
        int r;

        if (fd < 0)
                return pd_fail(err, PD_E_CORRUPT, "cannot make \"%.150s\": %m", path);
        while ((r = archive_read_data_block(u->a, &block, &n, &offset)) == ARCHIVE_OK) {
                u->plain_bytes += n;
                if (u->plain_bytes > u->p->plain_max)
                        return pd_fail(err, PD_E_CORRUPT,
                                "the archive holds more than the %llu bytes that its manifest says",
                                (unsigned long long)u->p->plain_max);
                for (size_t done = 0; done < n;) {
                        ssize_t k = pwrite(fd, (const char *)block + done, n - done, offset + (la_int64_t)done);

                        if (k < 0 && errno == EINTR)
                                continue;
                        if (k < 0)
                                return pd_fail(err, PD_E_IO, "cannot write %.150s: %m", path);
                        done += (size_t)k;
                }
        }
        if (r != ARCHIVE_EOF)
                return pd_fail(err, PD_E_CORRUPT, "\"%.100s\" in the archive is damaged: %.100s", path,
                        str_or(archive_error_string(u->a), ""));
        return 0;
}

static int put_link(struct unpacker *u, int at, const char *name, const char *target, struct pd_error *err)
{
        const char *target_name = "";
        pd_cleanup(closep) int from = -1;
        struct stat st;

        while (str_starts(target, "./"))
                target += 2;
        if (!path_good(target))
                return pd_fail(err, PD_E_CORRUPT, "a link in the archive leads outside of it: \"%.150s\"", target);
        from = open_parent(u, target, &target_name, err);
        if (from < 0)
                return from;
        if (fstatat(from, target_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
                linkat(from, target_name, at, name, 0) < 0)
                return pd_fail(err, PD_E_CORRUPT, "a link in the archive has no target: \"%.150s\": %m", target);
        return 0;
}

static int make(
        struct unpacker *u, struct archive_entry *e, int at, const char *name, const char *path, struct pd_error *err)
{
        mode_t type = archive_entry_filetype(e);
        bool layer = u->p->layer;
        int r = 0;

        if (type == AE_IFREG)
                return put_content(u, at, name, path, err);
        if (type == AE_IFDIR)
                r = mkdirat(at, name, 0700);
        else if (type == AE_IFLNK)
                r = symlinkat(str_or(archive_entry_symlink(e), ""), at, name);
        else if (type == AE_IFIFO && layer)
                r = mkfifoat(at, name, 0600);
        else if (type == AE_IFCHR && layer && archive_entry_rdevmajor(e) == 0 && archive_entry_rdevminor(e) == 0)
                r = mknodat(at, name, S_IFCHR, 0); /* a whiteout */
        else
                return pd_fail(err, PD_E_CORRUPT,
                        "\"%.150s\" in the archive is a device or of another kind that may not travel", path);
        return r < 0 ? pd_fail(err, PD_E_CORRUPT, "cannot make \"%.150s\": %m", path) : 0;
}

static int set_xattrs(
        struct unpacker *u, struct archive_entry *e, int at, const char *name, const char *path, struct pd_error *err)
{
        const char *key;
        const void *value;
        size_t n;
        pd_cleanup(closep) int fd = -1;
        char proc_path[64];

        if (archive_entry_xattr_reset(e) == 0)
                return 0;
        fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return pd_fail(err, PD_E_IO, "cannot open %.150s: %m", path);
        (void)str_format(proc_path, sizeof proc_path, "/proc/self/fd/%d", fd);
        while (archive_entry_xattr_next(e, &key, &value, &n) == ARCHIVE_OK) {
                size_t len = n;

                if (!key || n > XATTR_VALUE_MAX || !xattr_travels(key))
                        return pd_fail(err, PD_E_CORRUPT,
                                "\"%.100s\" in the archive has the attribute \"%.60s\", which may not travel", path,
                                str_or(key, "?"));
                memcpy(u->value, value, n);
                if (!xattr_shift(key, u->value, &len, u->p->id_base, false)) {
                        if (streq(key, "security.capability") && u->p->id_base == 0)
                                continue; /* it would be one of the machine */
                        return pd_fail(err, PD_E_CORRUPT, "\"%.100s\" in the archive has a bad attribute \"%.60s\"",
                                path, key);
                }
                if (setxattr(proc_path, key, u->value, len, 0) < 0)
                        return pd_fail(err, PD_E_IO, "cannot set \"%.60s\" of %.100s: %m", key, path);
        }
        return 0;
}

/* Owner first: changing it takes set-id bits and capabilities away. */
static int set_owner_and_mode(
        struct unpacker *u, struct archive_entry *e, int at, const char *name, const char *path, struct pd_error *err)
{
        int64_t uid = archive_entry_uid(e), gid = archive_entry_gid(e);
        mode_t mode = archive_entry_perm(e) & 07777;

        if (uid < 0 || uid >= (int64_t)PACK_IDS || gid < 0 || gid >= (int64_t)PACK_IDS)
                return pd_fail(err, PD_E_CORRUPT,
                        "\"%.120s\" in the archive belongs to %lld:%lld: ids must lie in 0..65535", path,
                        (long long)uid, (long long)gid);
        if (!u->p->layer || u->p->id_base == 0) /* root inside would be root outside: no set-id file from an archive */
                mode &= 01777;
        if (!u->p->layer)
                uid = gid = 0;
        else
                uid += u->p->id_base, gid += u->p->id_base;
        if (fchownat(at, name, (uid_t)uid, (gid_t)gid, AT_SYMLINK_NOFOLLOW) < 0)
                return pd_fail(err, PD_E_IO, "cannot set the owner of %.150s: %m", path);
        if (archive_entry_filetype(e) != AE_IFLNK && archive_entry_filetype(e) != AE_IFCHR &&
                fchmodat(at, name, mode, 0) < 0)
                return pd_fail(err, PD_E_IO, "cannot set the mode of %.150s: %m", path);
        return 0;
}

static int set_time(
        struct unpacker *u, struct archive_entry *e, int at, const char *name, const char *path, struct pd_error *err)
{
        struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                { .tv_sec = archive_entry_mtime(e), .tv_nsec = archive_entry_mtime_nsec(e) } };

        if (archive_entry_filetype(e) == AE_IFDIR) {
                if (!vec_push(&u->dirs, ((struct dir_time){ strdup(path), times[1] })))
                        return pd_fail(err, PD_E_NOMEM, "no memory");
                return 0;
        }
        (void)utimensat(at, name, times, AT_SYMLINK_NOFOLLOW);
        return 0;
}

static int put_root(struct unpacker *u, struct archive_entry *e, struct pd_error *err)
{
        int r;

        if (archive_entry_filetype(e) != AE_IFDIR)
                return pd_fail(err, PD_E_CORRUPT, "the archive's root is no directory");
        r = set_owner_and_mode(u, e, u->root, ".", ".", err);
        if (r == 0)
                r = set_xattrs(u, e, u->root, ".", ".", err);
        return r == 0 ? set_time(u, e, u->root, ".", ".", err) : r;
}

static int put_entry(struct unpacker *u, struct archive_entry *e, struct pd_error *err)
{
        const char *path = archive_entry_pathname(e), *name = "", *link = archive_entry_hardlink(e);
        pd_cleanup(freep) char *trimmed = NULL;
        pd_cleanup(closep) int at = -1;
        size_t n;
        int r;

        if (++u->entries > ENTRIES_MAX)
                return pd_fail(err, PD_E_CORRUPT, "the archive has more than %d entries", ENTRIES_MAX);
        while (path && str_starts(path, "./"))
                path += 2;
        if (!path || !*path || streq(path, "."))
                return put_root(u, e, err);
        n = strlen(path);
        trimmed = strndup(path,
                path[n - 1] == '/' && archive_entry_filetype(e) == AE_IFDIR ? n - 1 : n); /* tar ends directories so */
        if (!trimmed || !path_good(trimmed))
                return pd_fail(err, PD_E_CORRUPT, "the archive has a path that leads outside of it: \"%.150s\"", path);
        at = open_parent(u, trimmed, &name, err);
        if (at < 0)
                return at;
        if (link)
                return put_link(u, at, name, link, err);
        if ((r = make(u, e, at, name, trimmed, err)) < 0 || (r = set_owner_and_mode(u, e, at, name, trimmed, err)) < 0)
                return r;
        if (archive_entry_filetype(e) == AE_IFREG || archive_entry_filetype(e) == AE_IFDIR)
                r = set_xattrs(u, e, at, name, trimmed, err);
        return r < 0 ? r : set_time(u, e, at, name, trimmed, err);
}

static int read_all(struct unpacker *u, struct pd_error *err)
{
        struct archive_entry *e;
        int r;

        while ((r = archive_read_next_header(u->a, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN) {
                int put = put_entry(u, e, err);

                if (put < 0)
                        return put;
        }
        if (r != ARCHIVE_EOF)
                return pd_fail(err, PD_E_CORRUPT, "the archive is damaged: %.150s",
                        str_or(archive_error_string(u->a), "it ends early"));
        for (size_t i = u->dirs.n; i-- > 0;) {
                struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, u->dirs.at[i].mtime };
                pd_cleanup(closep) int fd =
                        u->dirs.at[i].path ? open_below(u, u->dirs.at[i].path, O_RDONLY | O_DIRECTORY) : -1;

                if (fd >= 0)
                        (void)futimens(fd, times);
        }
        return 0;
}

int unpack_tree(const char *from, const char *dir, const struct pack_params *p, const char *sha256, uint64_t bytes,
        struct pd_error *err)
{
        pd_cleanup(unpacker_clear) struct unpacker u = { .p = p,
                .root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) };
        char digest[PACK_SHA_MAX];
        uint64_t got;
        int r = pack_digest(from, digest, &got, err);

        if (r < 0)
                return r;
        if (got != bytes)
                return pd_fail(err, PD_E_CORRUPT, "it has %llu bytes, its manifest says %llu", (unsigned long long)got,
                        (unsigned long long)bytes);
        if (!streq(digest, sha256))
                return pd_fail(err, PD_E_CORRUPT, "its SHA-256 is %.16s.., its manifest says %.16s..", digest, sha256);
        if (u.root < 0)
                return pd_fail(err, PD_E_IO, "cannot open %s: %m", dir);
        u.value = malloc(XATTR_VALUE_MAX + 8);
        u.a = archive_read_new();
        if (!u.value || !u.a)
                return pd_fail(err, PD_E_NOMEM, "no memory for unpacking");
        if (archive_read_support_filter_zstd(u.a) != ARCHIVE_OK || archive_read_support_format_tar(u.a) != ARCHIVE_OK ||
                archive_read_open_filename(u.a, from, 1 << 17) != ARCHIVE_OK)
                return pd_fail(
                        err, PD_E_CORRUPT, "it is no tar.zst file: %.150s", str_or(archive_error_string(u.a), ""));
        return read_all(&u, err);
}
