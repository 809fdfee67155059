/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a socket, from the kernel; the name from the user database, by uid. */
#include "api/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#define GROUPS_MAX 1024

static void user_name(uint32_t uid, char *buf, size_t n)
{
        char space[4096];
        struct passwd pw, *found = NULL;

        if (getpwuid_r((uid_t)uid, &pw, space, sizeof space, &found) == 0 && found && *pw.pw_name &&
                str_format(buf, n, "%s", pw.pw_name))
                return;
        (void)str_format(buf, n, "%" PRIu32, uid);
}

/* The groups that the process had when it connected: no look-up, and no answer that a later usermod changes. */
struct groups {
        gid_t at[GROUPS_MAX + 1];
        size_t n;
};

static void groups_read(int fd, gid_t primary, struct groups *ret)
{
        socklen_t len = sizeof ret->at - sizeof *ret->at;

        ret->at[0] = primary;
        ret->n = 1;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, ret->at + 1, &len) == 0)
                ret->n += len / sizeof *ret->at;
}

static bool groups_have(const struct groups *g, uint32_t group)
{
        for (size_t i = 0; i < g->n; i++)
                if (g->at[i] == group)
                        return true;
        return false;
}

static bool is_admin(const struct api *a, uint32_t uid, const struct groups *g)
{
        if (uid == 0)
                return true;
        for (size_t i = 0; i < a->admins_n; i++)
                if (a->admins[i] == uid)
                        return true;
        for (size_t i = 0; i < a->admin_groups_n; i++)
                if (groups_have(g, a->admin_groups[i]))
                        return true;
        return false;
}

void peer_read(const struct api *a, int fd, struct peer *ret)
{
        struct ucred cred;
        socklen_t len = sizeof cred;
        struct peer p = { .uid = UINT32_MAX, .user = "nobody" };
        struct groups groups;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid != (uid_t)-1) {
                groups_read(fd, cred.gid, &groups);
                p.uid = cred.uid;
                p.admin = is_admin(a, cred.uid, &groups);
                p.member = p.admin || a->group == API_ANY_GROUP || groups_have(&groups, a->group);
                user_name(p.uid, p.user, sizeof p.user);
        }
        *ret = p;
}
