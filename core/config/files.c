/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/internal.h"
#include "config/prescan.h"

#define FILES_MAX 256
#define SECRET_BYTES_MAX 65536

void files_clear(struct files *f)
{
        vec_foreach (path, &f->paths)
                free(*path);
        vec_free(&f->paths);
}

static int is_part(const struct dirent *d)
{
        size_t n = strlen(d->d_name);

        return d->d_name[0] != '.' && n > 5 && streq(d->d_name + n - 5, ".conf");
}

/* In the order of the bytes of the names, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
        return strcmp((*a)->d_name, (*b)->d_name);
}

static int add(struct files *f, const char *dir, const char *name, struct pd_error *err)
{
        char *path = NULL;

        if (asprintf(&path, "%s%s", dir, name) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        if (!vec_push(&f->paths, path)) {
                free(path);
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        }
        return 0;
}

int files_list(const char *main_path, struct files *ret, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = NULL;
        const char *slash = strrchr(main_path, '/');
        struct dirent **parts = NULL;
        struct files f = { 0 };
        int n, r;

        if (asprintf(&dir, "%.*sconf.d/", slash ? (int)(slash - main_path + 1) : 0, main_path) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        r = add(&f, "", main_path, err);
        n = r < 0 ? 0 : scandir(dir, &parts, is_part, by_name);
        if (n < 0 && errno != ENOENT)
                r = pd_fail(err, PD_E_IO, "%s cannot be read (%m): let the program's user read it, or remove it", dir);
        if (n > FILES_MAX)
                r = pd_fail(err, PD_E_FULL, "%s has %d files: at most %d are read, put several blocks into one", dir, n,
                        FILES_MAX);
        for (int i = 0; i < n; i++) {
                if (r == 0)
                        r = add(&f, dir, parts[i]->d_name, err);
                free(parts[i]);
        }
        free(parts);
        if (r < 0) {
                files_clear(&f);
                return r;
        }
        *ret = f;
        return 0;
}

/* Whoever writes the config owns the daemon: only root and the program's own user may. */
static int check_owner(const char *path, const struct stat *st, uint32_t owner_uid, struct pd_error *err)
{
        if (st->st_uid != 0 && st->st_uid != owner_uid)
                return pd_fail(err, PD_E_PERM, "%s belongs to user %u: run chown root on it", path, st->st_uid);
        if (st->st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
                return pd_fail(err, PD_E_PERM, "%s may be written by others (mode %04o): run chmod go-w on it", path,
                        (unsigned int)st->st_mode & 07777);
        return 0;
}

static int check_parent(const char *path, uint32_t owner_uid, struct pd_error *err)
{
        const char *slash = strrchr(path, '/');
        pd_cleanup(freep) char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
        struct stat st;

        if (!dir)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        if (stat(dir, &st) < 0)
                return pd_fail(err, PD_E_IO, "%s cannot be looked at (%m): is the path right?", dir);
        return check_owner(dir, &st, owner_uid, err);
}

/* Reads all there is, up to max; one byte more is an error. */
static int read_all(int fd, const char *path, size_t max, char **ret, size_t *ret_n, struct pd_error *err)
{
        pd_cleanup(freep) char *buf = malloc(max + 2);
        size_t n = 0;

        if (!buf)
                return pd_fail(err, PD_E_NOMEM, "no memory for %s", path);
        for (;;) {
                ssize_t got = read(fd, buf + n, max + 1 - n);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return pd_fail(err, PD_E_IO, "%s cannot be read (%m): look at the disk", path);
                n += (size_t)got;
                if (n > max)
                        return pd_fail(err, PD_E_FULL, "%s is longer than %zu KiB: split it over files in conf.d", path,
                                max / 1024);
                if (got == 0)
                        break;
        }
        buf[n] = buf[n + 1] = '\0';
        *ret = pd_steal(buf);
        *ret_n = n;
        return 0;
}

int files_read(const char *path, uint32_t owner_uid, char **ret, size_t *ret_n, struct pd_error *err)
{
        pd_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat st;
        int r;

        if (fd < 0 && errno == ENOENT)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "there is no config file: write one (start from the shipped portald.conf.example)");
        if (fd < 0 || fstat(fd, &st) < 0)
                return pd_fail(err, PD_E_IO, "it cannot be opened (%m): let the program's user read it");
        if (!S_ISREG(st.st_mode))
                return pd_fail(err, PD_E_INVALID, "%s is no regular file: the config is one", path);
        r = check_owner(path, &st, owner_uid, err);
        if (r == 0)
                r = check_parent(path, owner_uid, err);
        if (r == 0)
                r = read_all(fd, path, PRESCAN_BYTES_MAX, ret, ret_n, err);
        if (r == 0)
                (*ret)[*ret_n] = '\n'; /* libconfig 1.5 refuses a comment that ends with the file */
        return r;
}

static bool credential_name_good(const char *name)
{
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

        return name[0] && name[0] != '.' && name[strspn(name, allowed)] == '\0';
}

int files_secret(const char *text, char **ret, struct pd_error *err)
{
        const char *dir = getenv("CREDENTIALS_DIRECTORY"), *name = text + strlen(CREDENTIAL);
        pd_cleanup(freep) char *path = NULL, *secret = NULL;
        pd_cleanup(closep) int fd = -1;
        size_t n = 0;
        int r;

        if (!str_starts(text, CREDENTIAL)) {
                *ret = strdup(text);
                return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the config");
        }
        if (!credential_name_good(name))
                return pd_fail(err, PD_E_INVALID,
                        "\"%.80s\" names no credential: write credential:NAME with letters, digits, - _ and .", text);
        if (!dir || !*dir)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "\"%.80s\" is wanted and systemd gave this program no credentials: add LoadCredential=%.60s to "
                        "its unit",
                        text, name);
        if (asprintf(&path, "%s/%s", dir, name) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for the config");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "\"%.80s\" cannot be opened (%m): add LoadCredential=%.60s to the unit", text, name);
        r = read_all(fd, text, SECRET_BYTES_MAX, &secret, &n, err);
        if (r < 0)
                return r;
        if (n && secret[n - 1] == '\n')
                secret[--n] = '\0';
        if (n == 0 || strlen(secret) != n)
                return pd_fail(
                        err, PD_E_INVALID, "\"%.80s\" is empty or no text: a credential is one line of it", text);
        *ret = pd_steal(secret);
        return 0;
}
