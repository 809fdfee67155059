/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/vec.h"
#include "pack/digest.h"
#include "pack/xattrs.h"

#define DEPTH_MAX 512

struct link { /* a file with several names: where it went first */
        dev_t dev;
        ino_t ino;
        char *path;
};
struct packer {
        const struct pack_params *p;
        struct archive *a;
        int fd;
        struct digest digest;
        uint64_t bytes, plain_bytes;
        VEC(struct link) links;
        char *buf;
        uint8_t *value;
};

static void packer_clear(struct packer *k)
{
        if (k->a)
                (void)archive_write_free(k->a);
        digest_clear(&k->digest);
        vec_foreach (l, &k->links)
                free(l->path);
        vec_free(&k->links);
        free(k->buf);
        free(k->value);
        (void)safe_close(k->fd);
}

static la_ssize_t on_write(struct archive *a, void *arg, const void *bytes, size_t n)
{
        struct packer *k = arg;
        const char *p = bytes;

        for (size_t left = n; left > 0;) {
                ssize_t got = write(k->fd, p, left);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0) {
                        archive_set_error(a, errno, "%s", strerror(errno));
                        return -1;
                }
                p += got;
                left -= (size_t)got;
        }
        if (!digest_add(&k->digest, bytes, n))
                return -1;
        k->bytes += n;
        return (la_ssize_t)n;
}

static int64_t inside(const struct packer *k, uint32_t id)
{
        if (!k->p->layer)
                return 0; /* a payload belongs to nobody */
        return id >= k->p->id_base && id - k->p->id_base < PACK_IDS ? id - k->p->id_base : PACK_NOBODY;
}

static void add_xattrs(struct packer *k, struct archive_entry *e, const char *proc_path)
{
        char names[8192];
        ssize_t n = k->p->layer ? listxattr(proc_path, names, sizeof names) : 0;

        for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
                ssize_t got = xattr_travels(name) ? getxattr(proc_path, name, k->value, XATTR_VALUE_MAX) : -1;
                size_t len = (size_t)got;

                if (got >= 0 && xattr_shift(name, k->value, &len, k->p->id_base, true))
                        archive_entry_xattr_add_entry(e, name, k->value, len);
        }
}

static const char *known_link(struct packer *k, const struct stat *st, const char *path, struct pd_error *err, int *ret)
{
        *ret = 0;
        if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
                return NULL;
        vec_foreach (l, &k->links)
                if (l->dev == st->st_dev && l->ino == st->st_ino)
                        return l->path;
        if (!vec_push(&k->links, ((struct link){ st->st_dev, st->st_ino, strdup(path) })))
                *ret = pd_fail(err, PD_E_NOMEM, "no memory for the links in %s", path);
        return NULL;
}

static int write_content(struct packer *k, int fd, const struct stat *st, const char *path, struct pd_error *err)
{
        for (off_t left = st->st_size; left > 0;) {
                ssize_t n = read(fd, k->buf, left < (1 << 18) ? (size_t)left : 1 << 18);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return pd_fail(err, PD_E_IO, "%s could not be read to its end: %s", path,
                                n < 0 ? strerror(errno) : "it became shorter");
                if (archive_write_data(k->a, k->buf, (size_t)n) != n)
                        return pd_fail(
                                err, PD_E_IO, "the archive cannot be written: %.120s", archive_error_string(k->a));
                k->plain_bytes += (uint64_t)n;
                left -= n;
        }
        return 0;
}

static bool wanted(const struct packer *k, const struct stat *st)
{
        if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode))
                return true;
        if (!k->p->layer || S_ISSOCK(st->st_mode)) /* a socket without its listener is nothing */
                return false;
        return S_ISFIFO(st->st_mode) || (S_ISCHR(st->st_mode) && st->st_rdev == 0);
}

static void describe(struct packer *k, struct archive_entry *e, const char *path, const struct stat *st)
{
        archive_entry_set_pathname(e, path);
        archive_entry_set_filetype(e, st->st_mode & S_IFMT);
        archive_entry_set_perm(e, st->st_mode & 07777);
        archive_entry_set_uid(e, inside(k, st->st_uid));
        archive_entry_set_gid(e, inside(k, st->st_gid));
        archive_entry_set_mtime(e, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        archive_entry_set_size(e, S_ISREG(st->st_mode) ? st->st_size : 0);
        if (S_ISCHR(st->st_mode)) {
                archive_entry_set_rdevmajor(e, 0);
                archive_entry_set_rdevminor(e, 0);
        }
}

/* One entry; fd is open for files and directories, else -1. */
static int add_entry(struct packer *k, int at, const char *name, int fd, const char *path, const struct stat *st,
        struct pd_error *err)
{
        struct archive_entry *e = archive_entry_new();
        char target[4096], proc_path[64];
        const char *first;
        ssize_t n;
        int r = 0;

        if (!e)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        describe(k, e, path, st);
        first = known_link(k, st, path, err, &r);
        if (r == 0 && first) {
                archive_entry_set_hardlink(e, first);
                archive_entry_set_size(e, 0);
        } else if (r == 0 && S_ISLNK(st->st_mode)) {
                n = readlinkat(at, name, target, sizeof target - 1);
                if (n < 0)
                        r = pd_fail(err, PD_E_IO, "cannot read the link %s: %m", path);
                else
                        target[n] = 0, archive_entry_set_symlink(e, target);
        } else if (r == 0 && fd >= 0) {
                (void)str_format(proc_path, sizeof proc_path, "/proc/self/fd/%d", fd);
                add_xattrs(k, e, proc_path);
        }
        if (r == 0 && archive_write_header(k->a, e) < ARCHIVE_WARN)
                r = pd_fail(err, PD_E_IO, "the archive cannot be written: %.120s", archive_error_string(k->a));
        if (r == 0 && !first && S_ISREG(st->st_mode))
                r = write_content(k, fd, st, path, err);
        archive_entry_free(e);
        return r;
}

static int add_dir(struct packer *k, int fd, const char *path, int depth, struct pd_error *err);

static int add_one(struct packer *k, int at, const char *name, const char *path, int depth, struct pd_error *err)
{
        pd_cleanup(closep) int fd = -1;
        struct stat st;
        int r;

        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return pd_fail(err, PD_E_IO, "cannot look at %s: %m", path);
        if (!wanted(k, &st))
                return 0;
        if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
                fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
                if (fd < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
                        return pd_fail(err, PD_E_IO, "cannot open %s: %m", path);
        }
        r = add_entry(k, at, name, fd, path, &st, err);
        return r < 0 || !S_ISDIR(st.st_mode) ? r : add_dir(k, fd, path, depth + 1, err);
}

static int add_dir(struct packer *k, int fd, const char *path, int depth, struct pd_error *err)
{
        struct dirent **list = NULL;
        int n = depth > DEPTH_MAX ? -1 : scandirat(fd, ".", &list, NULL, alphasort), r = 0;

        if (n < 0)
                return pd_fail(err, PD_E_IO, "cannot read the directory %s: %s", path,
                        depth > DEPTH_MAX ? "it is too deep" : strerror(errno));
        for (int i = 0; i < n; i++) {
                const char *name = list[i]->d_name;
                char below[8192];

                if (r == 0 && !streq(name, ".") && !streq(name, "..")) {
                        if (!str_format(below, sizeof below, "%s%s%s", streq(path, ".") ? "" : path,
                                    streq(path, ".") ? "" : "/", name))
                                r = pd_fail(err, PD_E_FULL, "a path below %.100s is too long", path);
                        else
                                r = add_one(k, fd, name, below, depth, err);
                }
                free(list[i]);
        }
        free(list);
        return r;
}

static int open_out(struct packer *k, const char *to, struct pd_error *err)
{
        int r;

        k->buf = malloc(1 << 18);
        k->value = malloc(XATTR_VALUE_MAX + 8);
        k->a = archive_write_new();
        if (!k->buf || !k->value || !k->a)
                return pd_fail(err, PD_E_NOMEM, "no memory for packing");
        if ((r = digest_start(&k->digest, err)) < 0)
                return r;
        k->fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (k->fd < 0)
                return pd_fail(err, PD_E_IO, "cannot make %s: %m", to);
        if (archive_write_set_format_pax(k->a) != ARCHIVE_OK || archive_write_add_filter_zstd(k->a) != ARCHIVE_OK ||
                archive_write_set_bytes_in_last_block(k->a, 1) != ARCHIVE_OK ||
                archive_write_open(k->a, k, NULL, on_write, NULL) != ARCHIVE_OK)
                return pd_fail(err, PD_E_IO, "cannot begin %s: %.120s", to, archive_error_string(k->a));
        return 0;
}

int pack_tree(
        const char *dir, const char *to, const struct pack_params *p, struct pack_result *ret, struct pd_error *err)
{
        pd_cleanup(packer_clear) struct packer k = { .p = p, .fd = -1 };
        pd_cleanup(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return pd_fail(err, PD_E_IO, "cannot open %s: %m", dir);
        if ((r = open_out(&k, to, err)) < 0 || (r = add_entry(&k, AT_FDCWD, dir, fd, ".", &st, err)) < 0 ||
                (r = add_dir(&k, fd, ".", 0, err)) < 0)
                return r;
        if (archive_write_close(k.a) != ARCHIVE_OK)
                return pd_fail(err, PD_E_IO, "%s cannot be finished: %.120s", to, archive_error_string(k.a));
        if (fsync(k.fd) < 0)
                return pd_fail(err, PD_E_IO, "%s cannot be synced: %m", to);
        *ret = (struct pack_result){ .bytes = k.bytes, .plain_bytes = k.plain_bytes };
        return digest_end(&k.digest, ret->sha256) ? 0 : pd_fail(err, PD_E_INTERNAL, "no digest of %s", to);
}
