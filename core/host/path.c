/* SPDX-License-Identifier: Apache-2.0 */
/* Who could have written this file? Walks a path as the kernel would, link by link, and refuses each step that somebody else than root or
 * the owner could have put there. Nothing can change between the check and the use then, but by those two. */
#include "host/load.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40

struct walk {
        char done[PATH_MAX]; /* what was checked, without links; "" = the root */
        char rest[PATH_MAX]; /* what is still to come, without a leading slash */
        uint32_t owner_uid;
        int links;
};

static int check_step(const char *at, const struct stat *st, uint32_t owner_uid, struct pd_error *err)
{
        const char *what = S_ISDIR(st->st_mode) ? "directory" : S_ISLNK(st->st_mode) ? "link" : "file";

        if (st->st_uid != 0 && st->st_uid != owner_uid)
                return owner_uid ? pd_fail(err, PD_E_PERM,
                                           "%s: the %s belongs to user %u; only root or user %u may own it", at, what,
                                           st->st_uid, owner_uid)
                                 : pd_fail(err, PD_E_PERM, "%s: the %s belongs to user %u; only root may own it", at,
                                           what, st->st_uid);
        if (S_ISLNK(st->st_mode)) /* a link has no mode of its own */
                return 0;
        if (st->st_mode & S_IWOTH)
                return pd_fail(err, PD_E_PERM, "%s: the %s is writable by everyone; chmod o-w it", at, what);
        if (st->st_mode & S_IWGRP)
                return pd_fail(err, PD_E_PERM, "%s: the %s is writable by its group; chmod g-w it", at, what);
        return 0;
}

/* Cuts the next component off w->rest; false at the end. */
static bool next_part(struct walk *w, char *part)
{
        size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

        if (n == 0 || n > NAME_MAX)
                return false;
        memcpy(part, w->rest + skip, n);
        part[n] = '\0';
        memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
        return true;
}

static int follow(struct walk *w, const char *at, struct pd_error *err)
{
        char target[PATH_MAX], joined[PATH_MAX];
        ssize_t n = readlink(at, target, sizeof target - 1);

        if (n < 0)
                return pd_fail(err, PD_E_IO, "%s: cannot read the link: %s", at, strerror(errno));
        target[n] = '\0';
        if (++w->links > LINKS_MAX)
                return pd_fail(err, PD_E_INVALID, "%s: more than %d links on the way", at, LINKS_MAX);
        if (!str_format(joined, sizeof joined, "%s/%s", target, w->rest))
                return pd_fail(err, PD_E_INVALID, "%s: the path behind the link is too long", at);
        memcpy(w->rest, joined, sizeof joined);
        if (target[0] == '/')
                w->done[0] = '\0';
        return 0;
}

static int step(struct walk *w, const char *part, struct stat *st, struct pd_error *err)
{
        char at[PATH_MAX];
        char *slash;
        int r;

        if (streq(part, "."))
                return 0;
        if (streq(part, "..")) {
                slash = strrchr(w->done, '/');
                if (slash)
                        *slash = '\0';
                return 0;
        }
        if (!str_format(at, sizeof at, "%s/%s", w->done, part))
                return pd_fail(err, PD_E_INVALID, "the path is longer than %d bytes", PATH_MAX - 1);
        if (lstat(at, st) < 0)
                return pd_fail(err, errno == ENOENT ? PD_E_NOT_FOUND : PD_E_IO, "%s: %s", at, strerror(errno));
        r = check_step(at, st, w->owner_uid, err);
        if (r < 0)
                return r;
        if (S_ISLNK(st->st_mode))
                return follow(w, at, err);
        memcpy(w->done, at, sizeof at);
        return 0;
}

static const char *file_type(mode_t mode)
{
        return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a fifo" : S_ISSOCK(mode) ? "a socket" : "a device";
}

int path_check(const char *path, uint32_t owner_uid, char **ret, struct pd_error *err)
{
        struct walk w = { .owner_uid = owner_uid };
        char part[NAME_MAX + 1];
        struct stat st;
        int r;

        if (path[0] != '/')
                return pd_fail(err, PD_E_INVALID, "%s: a plugin's path must be absolute, with a / in front", path);
        if (!str_format(w.rest, sizeof w.rest, "%s", path))
                return pd_fail(err, PD_E_INVALID, "the path is longer than %d bytes", PATH_MAX - 1);
        if (lstat("/", &st) < 0)
                return pd_fail(err, PD_E_IO, "/: %s", strerror(errno));
        r = check_step("/", &st, owner_uid, err);
        while (r == 0 && next_part(&w, part))
                r = step(&w, part, &st, err);
        if (r < 0)
                return r;
        if (lstat(w.done[0] ? w.done : "/", &st) < 0)
                return pd_fail(err, PD_E_IO, "%s: %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return pd_fail(err, PD_E_INVALID, "%s: is %s, not a regular file", path, file_type(st.st_mode));
        *ret = strdup(w.done);
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for a path");
}
