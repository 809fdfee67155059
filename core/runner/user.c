/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/user.h"

#include <ctype.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *open_inside(const char *rootfs, const char *path)
{
        struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
        pd_cleanup(closep) int root = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof how);
        FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

        if (fd >= 0 && !f)
                (void)close(fd);
        return f;
}

static bool number(const char *s, uint32_t *ret)
{
        unsigned long v;
        char *end;

        if (!isdigit((unsigned char)*s))
                return false;
        v = strtoul(s, &end, 10);
        if (*end || v > 65535)
                return false;
        *ret = (uint32_t)v;
        return true;
}

static bool find_user(const char *rootfs, const char *name, uint32_t *uid, uint32_t *gid)
{
        FILE *f = open_inside(rootfs, "etc/passwd");
        struct passwd *p;
        uint32_t id;
        bool numeric = number(name, &id), found = false;

        while (f && !found && (p = fgetpwent(f)))
                if (numeric ? p->pw_uid == id : streq(p->pw_name, name)) {
                        *uid = p->pw_uid;
                        *gid = p->pw_gid;
                        found = true;
                }
        if (f)
                (void)fclose(f);
        if (!found && numeric) {
                *uid = id;
                *gid = 0;
                found = true;
        }
        return found && *uid <= 65535 && *gid <= 65535;
}

static bool find_group(const char *rootfs, const char *name, uint32_t *gid)
{
        FILE *f;
        struct group *g;
        bool found = false;

        if (number(name, gid))
                return true;
        f = open_inside(rootfs, "etc/group");
        while (f && !found && (g = fgetgrent(f)))
                if (streq(g->gr_name, name)) {
                        *gid = g->gr_gid;
                        found = true;
                }
        if (f)
                (void)fclose(f);
        return found && *gid <= 65535;
}

int user_resolve(const char *rootfs, const char *user, uint32_t *ret_uid, uint32_t *ret_gid, struct pd_error *err)
{
        const char *colon = strchr(user, ':');
        pd_cleanup(freep) char *name = strndup(user, colon ? (size_t)(colon - user) : strlen(user));
        uint32_t uid = 0, gid = 0;

        if (!name)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (*name && !find_user(rootfs, name, &uid, &gid))
                return pd_fail(err, PD_E_INVALID,
                        "the image wants to run as \"%.60s\", and its /etc/passwd has no such user", user);
        if (colon && colon[1] && !find_group(rootfs, colon + 1, &gid))
                return pd_fail(err, PD_E_INVALID,
                        "the image wants to run as \"%.60s\", and its /etc/group has no such group", user);
        *ret_uid = uid;
        *ret_gid = gid;
        return 0;
}
