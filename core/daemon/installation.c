/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/installation.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "base/id.h"
#include "store/store.h"

int installation_read(const char *path, char **ret, struct pd_error *err)
{
        pd_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        char buf[128];
        ssize_t n;

        if (fd < 0 && errno == ENOENT) {
                *ret = NULL;
                return 0;
        }
        n = fd < 0 ? -1 : read(fd, buf, sizeof buf - 1);
        if (n < 0)
                return pd_fail(err, PD_E_IO, "the installation id %s cannot be read: %s", path, strerror(errno));
        buf[n] = '\0';
        buf[strcspn(buf, "\r\n")] = '\0';
        *ret = strdup(buf);
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the installation id");
}

static int sync_parent(const char *path, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = strdup(path);
        char *slash = dir ? strrchr(dir, '/') : NULL;
        pd_cleanup(closep) int fd = -1;

        if (!slash)
                return pd_fail(err, PD_E_INVALID, "%s is not an absolute path", path);
        *slash = '\0';
        fd = open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 && fsync(fd) == 0 ? 0 : pd_fail(err, PD_E_IO, "%s: %s", dir, strerror(errno));
}

int installation_write(const char *path, const char *id, struct pd_error *err)
{
        char temporary[PATH_MAX], line[64];
        pd_cleanup(closep) int fd = -1;
        size_t n;

        if (!str_format(temporary, sizeof temporary, "%s.new", path) || !str_format(line, sizeof line, "%s\n", id))
                return pd_fail(err, PD_E_INVALID, "the path of the installation id is too long: %s", path);
        n = strlen(line);
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 || write(fd, line, n) != (ssize_t)n || fsync(fd) < 0 || rename(temporary, path) < 0)
                return pd_fail(err, PD_E_IO,
                        "the installation id %s cannot be written (%s): run `portald --new-installation "
                        "--check-config` once as root",
                        path, strerror(errno));
        return sync_parent(path, err);
}

static void fresh_id(char *buf)
{
        uint8_t random[10];
        struct timespec t;

        while (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                ;
        (void)clock_gettime(CLOCK_REALTIME, &t);
        (void)id_format(ID_INSTALLATION, id_make((int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000, random), buf);
}

static int open_once(const struct config *c, const char *id, struct pd_error *err)
{
        const struct store_options o = { .dir = c->daemon.state_dir, .installation = id, .new_installation = true };
        sd_event *loop = NULL;
        struct store *s = NULL;
        int r = sd_event_new(&loop) < 0 ? pd_fail(err, PD_E_NOMEM, "no event loop") : store_open(&s, loop, &o, err);

        (void)store_close(s);
        (void)sd_event_unref(loop);
        return r;
}

/* The store belongs to the service's user: it is made in a child that has become that user. */
static int open_once_as(const struct config *c, const char *id, const struct passwd *pw, struct pd_error *err)
{
        pid_t pid = fork();
        int status = 0;

        if (pid == 0) {
                if (setgid(pw->pw_gid) < 0 || initgroups(pw->pw_name, pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
                        _exit(1);
                if (open_once(c, id, err) < 0) {
                        (void)fprintf(stderr, "portald: %s\n", err->text);
                        _exit(1);
                }
                _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
                return pd_fail(
                        err, PD_E_IO, "the store in %s could not be made as user %s", c->daemon.state_dir, pw->pw_name);
        return 0;
}

int installation_prepare(const struct config *c, char **ret_id, struct pd_error *err)
{
        const struct passwd *pw = geteuid() == 0 ? getpwnam(INSTALLATION_USER) : NULL;
        const char *file = c->daemon.installation_file;
        char id[ID_TEXT_MAX];
        char *known = NULL;
        int r = installation_read(file, &known, err);

        if (r < 0)
                return r;
        if (known)
                (void)str_format(id, sizeof id, "%s", known);
        else
                fresh_id(id);
        free(known);
        r = installation_write(file, id, err);
        if (r >= 0 && mkdir(c->daemon.state_dir, 0700) < 0 && errno != EEXIST)
                r = pd_fail(err, PD_E_IO, "state directory %s: %s", c->daemon.state_dir, strerror(errno));
        if (r >= 0 && pw && chown(c->daemon.state_dir, pw->pw_uid, pw->pw_gid) < 0)
                r = pd_fail(err, PD_E_IO, "state directory %s cannot be given to user %s: %s", c->daemon.state_dir,
                        pw->pw_name, strerror(errno));
        if (r >= 0)
                r = pw ? open_once_as(c, id, pw, err) : open_once(c, id, err);
        if (r < 0)
                return r;
        *ret_id = strdup(id);
        return *ret_id ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the installation id");
}
