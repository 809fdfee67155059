/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/place.h"
#include "store/schema.h"

/* Only we may look inside. A directory of ours that is open is closed; one of another owner, or a shared one, is refused. */
static int own_directory(const char *dir, struct pd_error *err)
{
        struct stat st;
        pd_cleanup(closep) int fd = -1;

        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                return pd_fail(err, PD_E_IO, "state directory %s: %s; create it (mode 0700, owned by portald's user)",
                        dir, strerror(errno));
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return pd_fail(err, PD_E_IO, "state directory %s: %s", dir, strerror(errno));
        if (st.st_uid != geteuid() || (st.st_mode & S_ISVTX) != 0)
                return pd_fail(err, PD_E_PERM,
                        "state directory %s is not portald's own (owner %u, mode %04o): `chown %u` it, or set another "
                        "directory",
                        dir, st.st_uid, st.st_mode & 07777, geteuid());
        if ((st.st_mode & 0077) != 0 && fchmod(fd, 0700) < 0)
                return pd_fail(
                        err, PD_E_IO, "state directory %s is open to others: chmod 0700 it (%s)", dir, strerror(errno));
        return 0;
}

int place_take(struct store *s, const struct store_options *o, struct pd_error *err)
{
        char lock[PATH_MAX];
        int r;

        if (!str_format(s->path, sizeof s->path, "%s/portald.db", o->dir) ||
                !str_format(lock, sizeof lock, "%s/lock", o->dir) ||
                !str_format(s->ballast_path, sizeof s->ballast_path, "%s/ballast", o->dir))
                return pd_fail(err, PD_E_INVALID, "the state directory's path is longer than %d bytes", PATH_MAX);
        if ((r = own_directory(o->dir, err)) < 0)
                return r;
        s->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (s->lock_fd < 0)
                return pd_fail(err, PD_E_IO, "the lock %s cannot be opened: %s", lock, strerror(errno));
        if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
                return pd_fail(err, PD_E_BUSY,
                        "another portald uses the state directory %s: stop it first (systemctl stop portald)", o->dir);
        return 0;
}

static bool has_backup(const char *dir)
{
        DIR *d = opendir(dir);
        bool found = false;

        for (struct dirent *e; d && !found && (e = readdir(d));)
                found = str_starts(e->d_name, "portald.db.before-v");
        if (d)
                closedir(d);
        return found;
}

int place_check(struct store *s, const struct store_options *o, bool empty, struct pd_error *err)
{
        if (!empty)
                return 0;
        if (has_backup(o->dir))
                return pd_fail(err, PD_E_CORRUPT,
                        "%s is missing, but backups of it lie beside it: copy the newest portald.db.before-v* to it",
                        s->path);
        if (!o->new_installation)
                return pd_fail(err, PD_E_REFUSED,
                        "the state directory %s is empty: put a backup there or mount its disk; only for a new "
                        "installation start once with --new-installation",
                        o->dir);
        return 0;
}

static int new_id(char *buf, struct pd_error *err)
{
        uint8_t random[10];
        struct timespec now;

        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random || clock_gettime(CLOCK_REALTIME, &now) < 0)
                return pd_fail(err, PD_E_IO, "no random bytes for an installation id: %s", strerror(errno));
        id_format(ID_INSTALLATION, id_make((int64_t)now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000, random), buf);
        return 0;
}

static int write_id(struct store *s, const char *given, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        struct id id;
        int r;

        if (given && !id_parse(ID_INSTALLATION, given, &id))
                return pd_fail(err, PD_E_INVALID,
                        "the installation id file says \"%.40s\", which is no id: remove the file, and one is made",
                        given);
        if (given)
                (void)str_format(s->installation, sizeof s->installation, "%s", given);
        else if ((r = new_id(s->installation, err)) < 0)
                return r;
        r = 0;
        if (sqlite3_prepare_v2(s->writer, "INSERT INTO meta(key,value)VALUES('installation',?)", -1, &st, NULL) !=
                        SQLITE_OK ||
                sqlite3_bind_text(st, 1, s->installation, -1, SQLITE_STATIC) != SQLITE_OK ||
                sqlite3_step(st) != SQLITE_DONE)
                r = store_sqlite_fail(s->writer, "writing the installation id", err);
        sqlite3_finalize(st);
        return r < 0 ? r : store_fsync_dir(s->path, err);
}

static int read_id(struct store *s, bool *ret_found, struct pd_error *err)
{
        sqlite3_stmt *st = NULL;
        int r = sqlite3_prepare_v2(s->writer, "SELECT value FROM meta WHERE key='installation'", -1, &st, NULL);

        if (r == SQLITE_OK)
                r = sqlite3_step(st);
        *ret_found = r == SQLITE_ROW && str_format(s->installation, sizeof s->installation, "%s",
                                                str_or((const char *)sqlite3_column_text(st, 0), ""));
        sqlite3_finalize(st);
        return r == SQLITE_ROW || r == SQLITE_DONE ? 0
                                                   : store_sqlite_fail(s->writer, "reading the installation id", err);
}

/* A database without an id is one whose making was cut off between schema and id: it is still new. */
int place_own(struct store *s, const struct store_options *o, struct pd_error *err)
{
        bool found = false;
        int r = read_id(s, &found, err);

        if (r < 0)
                return r;
        if (!found)
                return write_id(s, o->installation, err);
        if (!o->installation && !o->new_installation)
                return pd_fail(err, PD_E_REFUSED,
                        "the installation id file is missing beside the config; if %s is the right store, write %s "
                        "into it",
                        s->path, s->installation);
        if (o->installation && !streq(o->installation, s->installation))
                return pd_fail(err, PD_E_REFUSED,
                        "the store belongs to %s, the config to \"%.40s\": set the right state directory, or the right "
                        "id file",
                        s->installation, o->installation);
        return 0;
}
