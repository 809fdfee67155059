/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

#define LOCK_TRIES 1000
#define LOCK_WAIT_NS 10000000L
#define STATE_MAX (UINT64_C(1) << 30)

struct disk {
        char path[256], lock_path[264], temp_path[264];
        int lock, directory;
        struct stat seen; /* of the file that was last read or written */
        bool have;
        char *text; /* the state as it lies there, up to the line of the time */
};

void disk_free(struct disk *d)
{
        if (!d)
                return;
        if (d->lock >= 0)
                (void)close(d->lock);
        if (d->directory >= 0)
                (void)close(d->directory);
        free(d->text);
        free(d);
}

static int fail_state(const struct disk *d, enum pd_code code, const char *what, struct pd_error *err)
{
        (void)pd_fail(err, code, "state = \"%.120s\": %s: %s", d->path, what, strerror(errno));
        return pd_fail_subject(err, "state");
}

static int open_files(struct disk *d, struct pd_error *err)
{
        char folder[256];
        char *slash;

        (void)snprintf(folder, sizeof folder, "%s", d->path);
        slash = strrchr(folder, '/');
        slash[slash == folder] = '\0';
        d->directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (d->directory < 0)
                return fail_state(d, PD_E_INVALID, "its directory", err);
        d->lock = open(d->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        return d->lock < 0 ? fail_state(d, PD_E_INVALID, "its lock", err) : 0;
}

static void disk_freep(struct disk **d)
{
        disk_free(*d);
}

int disk_new(struct disk **ret, const char *path, struct pd_error *err)
{
        pd_cleanup(disk_freep) struct disk *d = calloc(1, sizeof *d);
        int r;

        if (!d)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        d->lock = d->directory = -1;
        (void)snprintf(d->path, sizeof d->path, "%s", path);
        (void)snprintf(d->lock_path, sizeof d->lock_path, "%s.lock", path);
        (void)snprintf(d->temp_path, sizeof d->temp_path, "%s.new", path);
        r = open_files(d, err);
        if (r == 0)
                *ret = pd_steal(d);
        return r;
}

/* Another process may just be at its end with it; it is never held for long. */
int disk_lock(struct disk *d, struct pd_error *err)
{
        for (int i = 0; i < LOCK_TRIES; i++) {
                if (flock(d->lock, LOCK_EX | LOCK_NB) == 0)
                        return 0;
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return fail_state(d, PD_E_IO, "its lock", err);
                (void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_WAIT_NS }, NULL);
        }
        return fail_state(d, PD_E_TRANSIENT, "another process holds it", err);
}

void disk_unlock(struct disk *d)
{
        (void)flock(d->lock, LOCK_UN);
}

bool disk_changed(struct disk *d)
{
        struct stat st;

        if (stat(d->path, &st) < 0)
                return false; /* a new one, or it was taken away: what is known here is the cloud */
        return !d->have || st.st_ino != d->seen.st_ino || st.st_size != d->seen.st_size ||
               st.st_mtim.tv_sec != d->seen.st_mtim.tv_sec || st.st_mtim.tv_nsec != d->seen.st_mtim.tv_nsec;
}

/* Keeps the text up to the line of the time. */
static void remember(struct disk *d, char *text)
{
        char *now = strstr(text, "\nnow at=");

        if (now)
                *now = '\0';
        free(d->text);
        d->text = text;
        d->have = stat(d->path, &d->seen) == 0;
}

int disk_load(struct disk *d, struct cloud *c, struct pd_error *err)
{
        char *text;
        size_t n;
        int r = sim_file_read(d->path, STATE_MAX, &text, &n, err);

        if (r < 0)
                return r;
        r = cloud_load(c, text, n, err);
        if (r < 0) {
                d->have = false;
                free(text);
                return r;
        }
        remember(d, text);
        return 0;
}

static int write_new(const struct disk *d, const char *text, size_t n)
{
        int fd = open(d->temp_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), bad = 0;

        if (fd < 0)
                return -1;
        for (size_t done = 0; done < n && !bad;) {
                ssize_t k = write(fd, text + done, n - done);

                if (k < 0 && errno != EINTR)
                        bad = errno;
                done += k > 0 ? (size_t)k : 0;
        }
        if (!bad && fsync(fd) < 0)
                bad = errno;
        (void)close(fd);
        if (!bad && rename(d->temp_path, d->path) < 0)
                bad = errno;
        if (!bad && fsync(d->directory) < 0)
                bad = errno;
        errno = bad;
        return bad ? -1 : 0;
}

int disk_save(struct disk *d, const struct cloud *c, struct pd_error *err)
{
        char *text, *now;
        size_t n;
        bool same;
        int r = cloud_save(c, &text, &n, err);

        if (r < 0)
                return r;
        now = strstr(text, "\nnow at=");
        same = d->have && d->text && now && strlen(d->text) == (size_t)(now - text) &&
               memcmp(d->text, text, (size_t)(now - text)) == 0;
        if (same) {
                free(text);
                return 0;
        }
        if (write_new(d, text, n) < 0) {
                free(text);
                return fail_state(d, PD_E_IO, "not written", err);
        }
        remember(d, text);
        return 0;
}

void disk_recipes(struct disk *d, struct cloud *c, int64_t now_wall_us)
{
        char pattern[280];
        glob_t found;

        (void)snprintf(pattern, sizeof pattern, "%s.off.*", d->path);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
                return;
        for (size_t i = 0; i < found.gl_pathc; i++) {
                const char *id = found.gl_pathv[i] + strlen(d->path) + strlen(".off.");

                cloud_guest_off(c, now_wall_us, id);
                (void)unlink(found.gl_pathv[i]);
        }
        globfree(&found);
}
