/* SPDX-License-Identifier: Apache-2.0 */
/* The vault `file`: objects as files below one directory. README.md. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <portald/vault.h>

#include "name.h"

#define CHUNK ((size_t)1 << 20)
#define TEMP_DIR "~tmp"                  /* '~' is in no object's name */
#define TEMP_AGE_US INT64_C(86400000000) /* what a dead put left behind goes after this long */
#define PROBE_NAME ".portald-probe"
#define RETRIES 16 /* of a put whose empty folder another one's remove took away */

struct vault {
        char *path;
        int root, temp; /* directories */
        bool shared;
};

static void closep(const int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
}

static int fail(struct pd_error *err, const struct vault *v, const char *doing, const char *name)
{
        int e = errno;
        enum pd_code code = e == ENOSPC || e == EDQUOT                  ? PD_E_FULL
                            : e == ENOENT                               ? PD_E_NOT_FOUND
                            : e == ELOOP || e == ENOTDIR || e == EISDIR ? PD_E_INVALID
                                                                        : PD_E_IO;

        (void)pd_fail(err, code, "vault %.80s: %s \"%.60s\": %s", v->path, doing, name, strerror(e));
        return pd_fail_subject(err, name);
}

static int check_call(struct pd_call *call, struct pd_error *err)
{
        if (call->host->cancelled(call))
                return pd_fail(err, PD_E_CANCELLED, "the caller withdrew it");
        if (call->host->now_boot_us(call) > call->deadline_boot_us)
                return pd_fail(err, PD_E_DEADLINE, "the call's deadline passed");
        return 0;
}

/* ---- open ---- */

static int yes_no(const struct pd_kv *cfg, const char *key, bool *ret, struct pd_error *err)
{
        const char *text = pd_kv_get(cfg, key);

        if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
                (void)pd_fail(err, PD_E_INVALID, "%s = \"%.60s\" is neither \"yes\" nor \"no\"", key, text);
                return pd_fail_subject(err, key);
        }
        *ret = text && strcmp(text, "yes") == 0;
        return 0;
}

static int check_keys(const struct pd_kv *cfg, struct pd_error *err)
{
        static const char *const known[] = { "path", "shared", "host_local" };
        const char *path = pd_kv_get(cfg, "path");

        for (uint32_t i = 0; cfg && i < cfg->count; i++) {
                bool found = false;

                for (size_t k = 0; k < sizeof known / sizeof *known; k++)
                        found |= strcmp(known[k], cfg->pairs[i].key) == 0;
                if (!found) {
                        (void)pd_fail(err, PD_E_INVALID,
                                "the vault \"file\" has no option \"%.60s\": it has path, shared and host_local",
                                cfg->pairs[i].key);
                        return pd_fail_subject(err, cfg->pairs[i].key);
                }
        }
        if (!path || *path != '/') {
                (void)pd_fail(err, PD_E_INVALID,
                        "path = \"%.80s\" is no absolute path; write for example path = \"/var/lib/portald/vault\"",
                        path ? path : "");
                return pd_fail_subject(err, "path");
        }
        return 0;
}

static int make_dir(int at, const char *path)
{
        if (mkdirat(at, path, 0700) < 0 && errno != EEXIST)
                return -1;
        return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Old files that a put began and did not end. What cannot be removed only costs room. */
static void sweep_temp(const struct vault *v, int64_t now_wall_us)
{
        int copy = openat(v->temp, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = copy < 0 ? NULL : fdopendir(copy);
        struct stat st;

        for (struct dirent *e; d && (e = readdir(d));)
                if (fstatat(v->temp, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
                        (int64_t)st.st_mtim.tv_sec * 1000000 < now_wall_us - TEMP_AGE_US)
                        (void)unlinkat(v->temp, e->d_name, 0);
        if (d)
                (void)closedir(d);
        else if (copy >= 0)
                (void)close(copy);
}

static void vault_close(void *self)
{
        struct vault *v = self;

        if (!v)
                return;
        closep(&v->temp);
        closep(&v->root);
        free(v->path);
        free(v);
}

static void vault_closep(struct vault **v)
{
        vault_close(*v);
}

static int vault_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        pd_cleanup(vault_closep) struct vault *v = NULL;
        bool shared, local;
        int r = check_keys(cfg, err);

        if (r < 0 || (r = yes_no(cfg, "shared", &shared, err)) < 0 || (r = yes_no(cfg, "host_local", &local, err)) < 0)
                return r;
        v = calloc(1, sizeof *v);
        if (!v || (v->root = v->temp = -1, !(v->path = strdup(pd_kv_get(cfg, "path")))))
                return pd_fail(err, PD_E_NOMEM, "no memory for a vault");
        v->shared = shared || local;
        v->root = make_dir(AT_FDCWD, v->path);
        if (v->root < 0)
                return fail(err, v, "opening the directory", v->path);
        v->temp = make_dir(v->root, TEMP_DIR);
        if (v->temp < 0)
                return fail(err, v, "making", TEMP_DIR);
        sweep_temp(v, call->host->now_wall_us(call));
        *ret_self = pd_steal(v);
        return 0;
}

/* ---- paths ---- */

static int check_name(const struct vault *v, const char *name, struct pd_error *err)
{
        if (name_ok(name))
                return 0;
        (void)pd_fail(err, PD_E_INVALID,
                "vault %.80s: \"%.60s\" is no object's name: 1-512 of [A-Za-z0-9._/-], no empty or dot-only part",
                v->path, name);
        return pd_fail_subject(err, name);
}

/* The folder of an object's path, step by step, through no symbolic link. make: what lacks is made, and durable. */
static int open_folder(const struct vault *v, const char *path, bool make, const char **ret_last)
{
        int at = openat(v->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char part[NAME_CHUNK + 4];

        for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                int next;

                (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
                if (make && mkdirat(at, part, 0700) == 0 && fsync(at) < 0)
                        return closep(&at), -1;
                next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0) {
                        int e = errno;

                        closep(&at);
                        return errno = e, -1;
                }
                closep(&at);
                at = next;
        }
        *ret_last = path;
        return at;
}

/* A regular file, through no link, for reading. */
static int open_object(const struct vault *v, const char *name, struct stat *ret)
{
        char path[NAME_PATH_MAX];
        const char *last = NULL;
        pd_cleanup(closep) int dir = -1;
        int fd;

        name_to_path(name, path);
        dir = open_folder(v, path, false, &last);
        fd = dir < 0 ? -1 : openat(dir, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return -1;
        if (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode)) {
                closep(&fd);
                return errno = ENOENT, -1;
        }
        return fd;
}

/* ---- put, get ---- */

static int pump(struct pd_call *call, const struct vault *v, int from, int to, const char *name, uint64_t *ret_bytes,
        struct pd_error *err)
{
        char *buf = malloc(CHUNK);
        uint64_t bytes = 0;
        int r = buf ? 0 : pd_fail(err, PD_E_NOMEM, "no memory to copy \"%.60s\"", name);
        ssize_t n;

        while (r == 0 && (n = read(from, buf, CHUNK)) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        r = fail(err, v, "reading", name);
                for (ssize_t at = 0, w; r == 0 && at < n; at += w) {
                        w = write(to, buf + at, (size_t)(n - at));
                        if (w < 0 && errno == EINTR)
                                w = 0;
                        else if (w <= 0)
                                r = fail(err, v, "writing", name);
                }
                bytes += n > 0 ? (uint64_t)n : 0;
                if (r == 0)
                        r = check_call(call, err);
        }
        free(buf);
        if (r == 0)
                *ret_bytes = bytes;
        return r;
}

static int temp_file(struct pd_call *call, const struct vault *v, char *ret, size_t n, struct pd_error *err)
{
        uint64_t random;
        int fd;

        if (call->host->random(call, &random, sizeof random) < 0)
                return pd_fail(err, PD_E_IO, "no random name for a new file");
        (void)snprintf(ret, n, "%016llx", (unsigned long long)random);
        fd = openat(v->temp, ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? fail(err, v, "making", ret) : fd;
}

static int move_in(const struct vault *v, const char *temp, const char *name, struct pd_error *err)
{
        char path[NAME_PATH_MAX];

        name_to_path(name, path);
        for (int i = 0;; i++) {
                const char *last = NULL;
                pd_cleanup(closep) int dir = open_folder(v, path, true, &last);

                if (dir >= 0 && renameat(v->temp, temp, dir, last) == 0)
                        return fsync(dir) < 0 ? fail(err, v, "writing to disk", name) : 0;
                if (errno != ENOENT || i == RETRIES)
                        return fail(err, v, "naming", name);
        }
}

static int vault_put(
        void *self, struct pd_call *call, const char *name, int from_fd, uint64_t bytes, struct pd_error *err)
{
        const struct vault *v = self;
        char temp[32];
        uint64_t got = 0;
        int r = check_name(v, name, err), fd;

        if (r < 0 || (fd = temp_file(call, v, temp, sizeof temp, err)) < 0)
                return r < 0 ? r : fd;
        if (lseek(from_fd, 0, SEEK_SET) < 0 && errno != ESPIPE)
                r = fail(err, v, "rewinding the source of", name);
        else
                r = pump(call, v, from_fd, fd, name, &got, err);
        if (r == 0 && got != bytes)
                r = pd_fail(err, PD_E_INVALID, "\"%.60s\" should be %llu bytes and its source has %llu", name,
                        (unsigned long long)bytes, (unsigned long long)got);
        if (r == 0 && fsync(fd) < 0)
                r = fail(err, v, "writing to disk", name);
        if (close(fd) < 0 && r == 0)
                r = fail(err, v, "closing", name);
        if (r == 0)
                r = move_in(v, temp, name, err);
        if (r < 0)
                (void)unlinkat(v->temp, temp, 0);
        return r;
}

static int vault_get(void *self, struct pd_call *call, const char *name, int to_fd, struct pd_error *err)
{
        const struct vault *v = self;
        struct stat st;
        pd_cleanup(closep) int fd = -1;
        uint64_t got;
        int r = check_name(v, name, err);

        if (r < 0)
                return r;
        fd = open_object(v, name, &st);
        if (fd < 0)
                return fail(err, v, "reading", name);
        return pump(call, v, fd, to_fd, name, &got, err);
}

static int tell(pd_object_fn each, void *arg, const char *name, const struct stat *st)
{
        struct pd_object o = { .size = sizeof o,
                .name = name,
                .bytes = (uint64_t)st->st_size,
                .modified_wall_us = (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000 };

        return each(arg, &o);
}

static int vault_stat(
        void *self, struct pd_call *call, const char *name, pd_object_fn each, void *arg, struct pd_error *err)
{
        const struct vault *v = self;
        struct stat st;
        pd_cleanup(closep) int fd = -1;
        int r = check_name(v, name, err);

        (void)call;
        if (r < 0)
                return r;
        fd = open_object(v, name, &st);
        return fd < 0 ? fail(err, v, "looking for", name) : tell(each, arg, name, &st);
}

/* ---- remove ---- */

/* Folders that became empty go too, from below; one that another put fills meanwhile stays, or that put makes it again. */
static void prune(const struct vault *v, char *path)
{
        for (char *slash; (slash = strrchr(path, '/'));) {
                const char *last = NULL;

                *slash = '\0';
                pd_cleanup(closep) int dir = open_folder(v, path, false, &last);

                if (dir < 0 || unlinkat(dir, last, AT_REMOVEDIR) < 0)
                        return;
        }
}

static int vault_remove(void *self, struct pd_call *call, const char *name, struct pd_error *err)
{
        const struct vault *v = self;
        char path[NAME_PATH_MAX];
        const char *last = NULL;
        pd_cleanup(closep) int dir = -1;
        int r = check_name(v, name, err);

        (void)call;
        if (r < 0)
                return r;
        name_to_path(name, path);
        dir = open_folder(v, path, false, &last);
        if (dir < 0)
                return errno == ENOENT ? 0 : fail(err, v, "removing", name);
        if (unlinkat(dir, last, 0) < 0)
                return errno == ENOENT ? 0 : fail(err, v, "removing", name);
        if (fsync(dir) < 0)
                return fail(err, v, "writing to disk", name);
        prune(v, path);
        return 0;
}

/* ---- list ---- */

struct found {
        char **names; /* owned */
        size_t n, room;
};

static bool found_add(struct found *f, const char *name)
{
        if (f->n == f->room) {
                size_t room = f->room ? 2 * f->room : 64;
                char **more = reallocarray(f->names, room, sizeof *more);

                if (!more)
                        return false;
                f->names = more, f->room = room;
        }
        f->names[f->n] = strdup(name);
        return f->names[f->n] ? (f->n++, true) : false;
}

static void found_clear(struct found *f)
{
        for (size_t i = 0; i < f->n; i++)
                free(f->names[i]);
        free(f->names);
}

/* Can there be names with the prefix in a folder that stands for `folder` ("" = the root, else "a/b/", or a part that goes on)? */
static bool may_hold(const char *folder, const char *prefix)
{
        size_t n = strlen(folder), p = strlen(prefix);

        return strncmp(folder, prefix, n < p ? n : p) == 0;
}

struct listing {
        struct pd_call *call;
        const struct vault *v;
        const char *prefix;
        struct found found;
};

static int gather(struct listing *l, int dir, const char *folder, struct pd_error *err);

static int gather_entry(struct listing *l, int dir, const char *folder, const char *entry, struct pd_error *err)
{
        char name[NAME_BYTES_MAX + 2];
        struct stat st;
        bool is_folder;

        (void)snprintf(name, sizeof name, "%s", folder);
        if (!name_append(name, entry, &is_folder) || fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0; /* not of our making; or gone meanwhile: not there */
        if (is_folder && S_ISDIR(st.st_mode) && may_hold(name, l->prefix)) {
                pd_cleanup(closep) int sub = openat(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                return sub < 0 ? 0 : gather(l, sub, name, err);
        }
        if (is_folder || !S_ISREG(st.st_mode) || !name_ok(name) || strncmp(name, l->prefix, strlen(l->prefix)) != 0)
                return 0;
        return found_add(&l->found, name) ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the list of a vault");
}

static int gather(struct listing *l, int dir, const char *folder, struct pd_error *err)
{
        int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *d = copy < 0 ? NULL : fdopendir(copy);

        if (!d) {
                closep(&copy);
                return fail(err, l->v, "listing", folder);
        }
        for (struct dirent *e; r == 0 && (errno = 0, e = readdir(d));) {
                r = gather_entry(l, dir, folder, e->d_name, err);
                if (r == 0)
                        r = check_call(l->call, err);
        }
        (void)closedir(d);
        return r;
}

static int by_bytes(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int vault_list(
        void *self, struct pd_call *call, const char *prefix, pd_object_fn each, void *arg, struct pd_error *err)
{
        const struct vault *v = self;
        struct listing l = { .call = call, .v = v, .prefix = prefix ? prefix : "" };
        struct stat st;
        int r = gather(&l, v->root, "", err);

        if (r == 0 && l.found.n > 0)
                qsort(l.found.names, l.found.n, sizeof *l.found.names, by_bytes);
        for (size_t i = 0; r == 0 && i < l.found.n; i++) {
                pd_cleanup(closep) int fd = open_object(v, l.found.names[i], &st);

                if (fd >= 0)
                        r = tell(each, arg, l.found.names[i], &st);
        }
        found_clear(&l.found);
        return r;
}

/* ---- probe ---- */

static int vault_probe(void *self, struct pd_call *call, uint32_t *ret_flags, struct pd_error *err)
{
        const struct vault *v = self;
        char name[64], text[16] = "portald", back[16] = "";
        FILE *in = tmpfile(), *out = tmpfile();
        int r = in && out && fwrite(text, sizeof text, 1, in) == 1 && fflush(in) == 0
                        ? 0
                        : pd_fail(err, PD_E_IO, "a temporary file: %s", strerror(errno));
        uint32_t random = 0;

        (void)call->host->random(call, &random, sizeof random);
        (void)snprintf(name, sizeof name, PROBE_NAME "-%08x", random);
        if (r == 0)
                r = vault_put(self, call, name, fileno(in), sizeof text, err);
        if (r == 0)
                r = vault_get(self, call, name, fileno(out), err);
        if (r == 0 && (pread(fileno(out), back, sizeof back, 0) != sizeof back || memcmp(text, back, sizeof text) != 0))
                r = pd_fail(err, PD_E_CORRUPT, "vault %.80s: what was read back is not what was written", v->path);
        if (r == 0)
                r = vault_remove(self, call, name, err);
        if (in)
                (void)fclose(in);
        if (out)
                (void)fclose(out);
        if (r == 0)
                *ret_flags = v->shared ? PD_VAULT_SHARED : 0;
        return r;
}

static const struct pd_vault file = {
        .head = PD_HEAD(PD_KIND_VAULT, struct pd_vault, "file"),
        .open = vault_open,
        .close = vault_close,
        .probe = vault_probe,
        .put = vault_put,
        .get = vault_get,
        .stat = vault_stat,
        .list = vault_list,
        .remove = vault_remove,
};
PD_EXPORT const struct pd_head *const portald_plugin = &file.head;
