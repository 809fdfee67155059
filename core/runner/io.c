/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_us(clockid_t clock)
{
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

int64_t now_wall_us(void)
{
        return clock_us(CLOCK_REALTIME);
}

int64_t now_boot_us(void)
{
        return clock_us(CLOCK_BOOTTIME);
}

char *path_fmt(const char *fmt, ...)
{
        va_list ap;
        char *s = NULL;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&s, fmt, ap);
        va_end(ap);
        return n < 0 ? NULL : s;
}

static int write_all(int fd, const char *p, size_t n)
{
        while (n > 0) {
                ssize_t k = write(fd, p, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -1;
                p += k;
                n -= (size_t)k;
        }
        return 0;
}

static int sync_dir_of(const char *path)
{
        char dir[PATH_MAX];
        const char *slash = strrchr(path, '/');
        pd_cleanup(closep) int fd = -1;

        if (!slash || !str_format(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path))
                return -1;
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -1 : fsync(fd);
}

int disk_write(const char *path, const void *bytes, size_t n, mode_t mode, struct pd_error *err)
{
        pd_cleanup(freep) char *temp = path_fmt("%s.tmp", path);
        pd_cleanup(closep) int fd = -1;

        if (!temp)
                return pd_fail(err, PD_E_NOMEM, "no memory for writing %s", path);
        fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd < 0 || fchmod(fd, mode) < 0 || write_all(fd, bytes, n) < 0 || fsync(fd) < 0)
                return pd_fail(
                        err, errno == ENOSPC || errno == EDQUOT ? PD_E_FULL : PD_E_IO, "cannot write %s: %m", temp);
        if (rename(temp, path) < 0 || sync_dir_of(path) < 0)
                return pd_fail(err, PD_E_IO, "cannot put %s in place: %m", path);
        return 0;
}

int disk_write_json(const char *path, const json_t *v, struct pd_error *err)
{
        pd_cleanup(freep) char *text = js_dump(v);

        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for writing %s", path);
        return disk_write(path, text, strlen(text), 0600, err);
}

int disk_read(const char *path, size_t max, char **ret, size_t *ret_n, struct pd_error *err)
{
        pd_cleanup(freep) char *buf = NULL;
        pd_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        size_t n = 0, room = 4096;

        if (fd < 0)
                return pd_fail(err, errno == ENOENT ? PD_E_NOT_FOUND : PD_E_IO, "cannot open %s: %m", path);
        for (;;) {
                char *bigger = realloc(buf, room + 1);
                ssize_t k;

                if (!bigger)
                        return pd_fail(err, PD_E_NOMEM, "no memory for reading %s", path);
                buf = bigger;
                k = read(fd, buf + n, room - n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return pd_fail(err, PD_E_IO, "cannot read %s: %m", path);
                if (k == 0)
                        break;
                n += (size_t)k;
                if (n > max)
                        return pd_fail(err, PD_E_FULL, "%s is longer than %zu bytes", path, max);
                if (n == room)
                        room *= 2;
        }
        buf[n] = 0;
        *ret = pd_steal(buf);
        if (ret_n)
                *ret_n = n;
        return 0;
}

int disk_read_json(const char *path, json_t **ret, struct pd_error *err)
{
        pd_cleanup(freep) char *text = NULL;
        struct pd_error why = { 0 };
        size_t n = 0;
        int r = disk_read(path, DISK_READ_MAX, &text, &n, err);

        if (r < 0)
                return r;
        if (js_parse(text, n, ret, &why) < 0)
                return pd_fail(err, PD_E_CORRUPT, "%s is damaged: %.150s", path, why.text);
        return 0;
}

int disk_poke(const char *path, const char *text, struct pd_error *err)
{
        pd_cleanup(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
                return pd_fail(err, PD_E_IO, "cannot write \"%s\" into %s: %m", text, path);
        return 0;
}

int disk_mkdir(const char *path, mode_t mode, struct pd_error *err)
{
        struct stat st;

        if (mkdir(path, mode) < 0 && errno != EEXIST)
                return pd_fail(err, PD_E_IO, "cannot make the directory %s: %m", path);
        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
                return pd_fail(err, PD_E_IO, "%s is there, but is no directory: move it away", path);
        if (chmod(path, mode) < 0)
                return pd_fail(err, PD_E_IO, "cannot set the mode of %s: %m", path);
        return 0;
}

bool disk_exists(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st, (void)kind, (void)at;
        return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int disk_rmtree(const char *path, struct pd_error *err)
{
        if (!disk_exists(path))
                return 0;
        if (nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 && errno != ENOENT)
                return pd_fail(err, PD_E_IO, "cannot remove %s: %m", path);
        return 0;
}

int disk_sync_tree(const char *path, struct pd_error *err)
{
        pd_cleanup(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || syncfs(fd) < 0)
                return pd_fail(err, PD_E_IO, "cannot sync %s: %m", path);
        return 0;
}

uint64_t proc_start_time(pid_t pid)
{
        char path[64], line[1024];
        pd_cleanup(closep) int fd = -1;
        const char *p;
        ssize_t n;

        if (pid <= 0 || !str_format(path, sizeof path, "/proc/%d/stat", (int)pid))
                return 0;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
        if (n <= 0)
                return 0;
        line[n] = 0;
        p = strrchr(line, ')'); /* the name may hold blanks and parentheses */
        if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
                return 0;
        p += 2;
        for (int field = 3; p && field < 22; field++) {
                p = strchr(p, ' ');
                p = p ? p + 1 : NULL;
        }
        return p ? strtoull(p, NULL, 10) : 0;
}
