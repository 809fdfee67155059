/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/listen.h"

#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* A socket file that nobody answers on is left from a daemon that was killed; one that answers is another daemon's. */
static int clear_path(const struct sockaddr_un *a, struct pd_error *err)
{
        pd_cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct stat st;

        if (lstat(a->sun_path, &st) < 0)
                return 0;
        if (!S_ISSOCK(st.st_mode))
                return pd_fail(err, PD_E_CONFLICT, "%s is there and is no socket: remove it, or set daemon.socket",
                        a->sun_path);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) == 0)
                return pd_fail(err, PD_E_BUSY, "another portald answers on %s: stop it first", a->sun_path);
        (void)unlink(a->sun_path);
        return 0;
}

static int own(const char *path, const char *group, struct pd_error *err)
{
        const struct group *g = getgrnam(group);

        if (!g)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "there is no group \"%s\" (daemon.socket_group): create it with `groupadd --system %s`", group,
                        group);
        if (chown(path, (uid_t)-1, g->gr_gid) < 0 || chmod(path, 0660) < 0)
                return pd_fail(err, PD_E_IO, "%s cannot be given to group %s: %s", path, group, strerror(errno));
        return 0;
}

static int steal_fd(int *fd)
{
        int stolen = *fd;

        *fd = -1;
        return stolen;
}

int listen_api(const char *path, const char *group, struct pd_error *err)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        pd_cleanup(closep) int fd = -1;
        mode_t mask;
        int r;

        if (sd_listen_fds(1) > 0)
                return SD_LISTEN_FDS_START;
        if (!str_format(a.sun_path, sizeof a.sun_path, "%s", path))
                return pd_fail(
                        err, PD_E_INVALID, "the socket path %s is longer than %zu bytes", path, sizeof a.sun_path - 1);
        r = clear_path(&a, err);
        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        mask = umask(0177); /* nobody slips in between bind and chmod */
        r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, sizeof a);
        (void)umask(mask);
        if (r < 0)
                return pd_fail(err, PD_E_IO, "%s cannot be made: %s", path, strerror(errno));
        r = own(path, group, err);
        if (r < 0)
                return r;
        if (listen(fd, SOMAXCONN) < 0)
                return pd_fail(err, PD_E_IO, "%s: %s", path, strerror(errno));
        return steal_fd(&fd);
}
