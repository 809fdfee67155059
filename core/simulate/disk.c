/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/base.h"
#include "base/vec.h"

#define SECTOR 512 /* what a disk writes whole */
#define PATH_MAX_OURS 512

struct disk_write { /* one that is not synced */
        size_t file;
        int64_t at, size_before; /* the file's size before it, bytes */
        int n, n_before;
        unsigned char *data; /* n of it, then n_before of what stood there */
};

static struct {
        pthread_mutex_t lock;
        sqlite3_vfs vfs, *real;
        VEC(char *) files;
        VEC(struct disk_write) writes; /* oldest first */
        enum disk_trouble armed, now;
        uint64_t away;
        bool installed, lies, struck;
        char ballast[PATH_MAX]; /* disk_arm_full() */
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct file {
        sqlite3_file base; /* first */
        size_t at;         /* in disk.files; SIZE_MAX: not looked after */
        sqlite3_file *real;
};

static struct file *file_of(sqlite3_file *f)
{
        return (struct file *)(void *)f;
}

/* --- what happens --- */
/* With the lock: is this write or sync the one? */
static enum disk_trouble passes(void)
{
        if (disk.armed != DISK_GOOD && disk.away-- == 0) {
                disk.now = disk.armed;
                disk.armed = DISK_GOOD;
                disk.struck = true;
        }
        if (disk.now == DISK_FULL && disk.ballast[0] && access(disk.ballast, F_OK) != 0)
                disk.now = DISK_GOOD;
        return disk.now;
}

static bool remember(struct file *f, const void *buf, int n, int64_t at)
{
        sqlite3_int64 size = 0;
        struct disk_write w = { .file = f->at, .at = at, .n = n, .data = malloc((size_t)n * 2) };

        if (!w.data || f->real->pMethods->xFileSize(f->real, &size) != SQLITE_OK) {
                free(w.data);
                return false;
        }
        memcpy(w.data, buf, (size_t)n);
        w.size_before = size;
        w.n_before = size <= at ? 0 : size - at < n ? (int)(size - at) : n;
        if ((w.n_before > 0 && f->real->pMethods->xRead(f->real, w.data + n, w.n_before, at) != SQLITE_OK) ||
                !vec_push(&disk.writes, w)) {
                free(w.data);
                return false;
        }
        return true;
}

/* What is on the disk now stays there. */
static void forget(size_t file)
{
        size_t kept = 0;

        for (size_t i = 0; i < disk.writes.n; i++)
                if (disk.writes.at[i].file == file)
                        free(disk.writes.at[i].data);
                else
                        disk.writes.at[kept++] = disk.writes.at[i];
        disk.writes.n = kept;
}

/* --- the methods of a file --- */
static int disk_close(sqlite3_file *f)
{
        return file_of(f)->real->pMethods->xClose(file_of(f)->real);
}

static int disk_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
        return file_of(f)->real->pMethods->xRead(file_of(f)->real, buf, n, at);
}

static int disk_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
        struct file *x = file_of(f);
        bool was_good;
        int r;

        (void)pthread_mutex_lock(&disk.lock);
        was_good = disk.now == DISK_GOOD;
        switch (passes()) {
        case DISK_FULL:
                r = SQLITE_FULL;
                break;
        case DISK_ERROR:
                r = SQLITE_IOERR_WRITE;
                break;
        case DISK_CUT: /* the one that it strikes may still be on its way to the disk */
                r = SQLITE_IOERR_WRITE;
                if (was_good && x->at != SIZE_MAX && remember(x, buf, n, at))
                        (void)x->real->pMethods->xWrite(x->real, buf, n, at);
                break;
        case DISK_GOOD:
        default:
                r = x->at == SIZE_MAX || remember(x, buf, n, at) ? x->real->pMethods->xWrite(x->real, buf, n, at)
                                                                 : SQLITE_IOERR_NOMEM;
        }
        (void)pthread_mutex_unlock(&disk.lock);
        return r;
}

static int disk_sync(sqlite3_file *f, int flags)
{
        struct file *x = file_of(f);
        int r = SQLITE_OK;

        (void)flags;
        (void)pthread_mutex_lock(&disk.lock);
        if (passes() == DISK_CUT || disk.now == DISK_ERROR)
                r = SQLITE_IOERR_FSYNC;
        else if (!disk.lies && disk.now == DISK_GOOD) {
                forget(x->at); /* whether the machine that simulates it syncs is of no account */
        }
        (void)pthread_mutex_unlock(&disk.lock);
        return r;
}

/* A shorter file counts as synced: what is left of it is judged by its own writes. */
static int disk_truncate(sqlite3_file *f, sqlite3_int64 size)
{
        return disk.now == DISK_GOOD ? file_of(f)->real->pMethods->xTruncate(file_of(f)->real, size)
                                     : SQLITE_IOERR_TRUNCATE;
}

static int disk_file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
        return file_of(f)->real->pMethods->xFileSize(file_of(f)->real, ret);
}

static int disk_lock(sqlite3_file *f, int level)
{
        return file_of(f)->real->pMethods->xLock(file_of(f)->real, level);
}

static int disk_unlock(sqlite3_file *f, int level)
{
        return file_of(f)->real->pMethods->xUnlock(file_of(f)->real, level);
}

static int disk_check_lock(sqlite3_file *f, int *ret)
{
        return file_of(f)->real->pMethods->xCheckReservedLock(file_of(f)->real, ret);
}

static int disk_control(sqlite3_file *f, int op, void *arg)
{
        return file_of(f)->real->pMethods->xFileControl(file_of(f)->real, op, arg);
}

static int disk_sector(sqlite3_file *f)
{
        (void)f;
        return SECTOR;
}

static int disk_character(sqlite3_file *f)
{
        (void)f;
        return 0; /* promises nothing, whatever the system's file system would */
}

static int disk_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
        return file_of(f)->real->pMethods->xShmMap(file_of(f)->real, page, size, extend, ret);
}

static int disk_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
        return file_of(f)->real->pMethods->xShmLock(file_of(f)->real, at, n, flags);
}

static void disk_shm_barrier(sqlite3_file *f)
{
        file_of(f)->real->pMethods->xShmBarrier(file_of(f)->real);
}

static int disk_shm_unmap(sqlite3_file *f, int remove)
{
        return file_of(f)->real->pMethods->xShmUnmap(file_of(f)->real, remove);
}

static const sqlite3_io_methods methods = {
        .iVersion = 2, /* no mapped reads: they would not pass here */
        .xClose = disk_close,
        .xRead = disk_read,
        .xWrite = disk_write,
        .xTruncate = disk_truncate,
        .xSync = disk_sync,
        .xFileSize = disk_file_size,
        .xLock = disk_lock,
        .xUnlock = disk_unlock,
        .xCheckReservedLock = disk_check_lock,
        .xFileControl = disk_control,
        .xSectorSize = disk_sector,
        .xDeviceCharacteristics = disk_character,
        .xShmMap = disk_shm_map,
        .xShmLock = disk_shm_lock,
        .xShmBarrier = disk_shm_barrier,
        .xShmUnmap = disk_shm_unmap,
};

/* --- the VFS --- */
static size_t file_named(const char *path)
{
        char *copy;

        for (size_t i = 0; i < disk.files.n; i++)
                if (streq(disk.files.at[i], path))
                        return i;
        copy = strdup(path);
        if (!copy || !vec_push(&disk.files, copy)) {
                free(copy);
                return SIZE_MAX;
        }
        return disk.files.n - 1;
}

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
        struct file *x = file_of(f);
        int r;

        (void)vfs;
        *x = (struct file){ .at = SIZE_MAX, .real = (sqlite3_file *)(void *)(x + 1) };
        r = disk.real->xOpen(disk.real, path, x->real, flags, ret_flags);
        if (r != SQLITE_OK)
                return r;
        (void)pthread_mutex_lock(&disk.lock);
        if (path && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)))
                x->at = file_named(path);
        (void)pthread_mutex_unlock(&disk.lock);
        x->base.pMethods = &methods;
        return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
        int r = SQLITE_OK;

        (void)vfs;
        (void)pthread_mutex_lock(&disk.lock);
        if (disk.now == DISK_GOOD) {
                forget(file_named(path));
                r = disk.real->xDelete(disk.real, path, sync_dir);
        }
        (void)pthread_mutex_unlock(&disk.lock);
        return r;
}

int disk_install(void)
{
        if (disk.installed)
                return 0;
        disk.real = sqlite3_vfs_find(NULL);
        if (!disk.real)
                return -1;
        disk.vfs = *disk.real; /* all else is the system's; its functions take their own state from pAppData */
        disk.vfs.pNext = NULL;
        disk.vfs.zName = DISK_VFS;
        disk.vfs.szOsFile = (int)sizeof(struct file) + disk.real->szOsFile;
        disk.vfs.xOpen = disk_open;
        disk.vfs.xDelete = disk_delete;
        disk.installed = sqlite3_vfs_register(&disk.vfs, 0) == SQLITE_OK;
        return disk.installed ? 0 : -1;
}

/* --- what the world says --- */
void disk_arm(enum disk_trouble what, uint64_t away)
{
        (void)pthread_mutex_lock(&disk.lock);
        disk.armed = what;
        disk.away = away;
        disk.struck = false;
        disk.ballast[0] = '\0';
        (void)pthread_mutex_unlock(&disk.lock);
}

void disk_arm_full(const char *ballast, uint64_t away)
{
        disk_arm(DISK_FULL, away);
        (void)str_format(disk.ballast, sizeof disk.ballast, "%s", ballast);
}

bool disk_struck(void)
{
        bool struck;

        (void)pthread_mutex_lock(&disk.lock);
        struck = disk.struck;
        (void)pthread_mutex_unlock(&disk.lock);
        return struck;
}

void disk_mend(void)
{
        (void)pthread_mutex_lock(&disk.lock);
        disk.armed = disk.now = DISK_GOOD;
        (void)pthread_mutex_unlock(&disk.lock);
}

void disk_cut(void)
{
        (void)pthread_mutex_lock(&disk.lock);
        disk.now = DISK_CUT;
        disk.armed = DISK_GOOD;
        (void)pthread_mutex_unlock(&disk.lock);
}

void disk_lie(bool lies)
{
        disk.lies = lies;
}

uint64_t disk_unsynced(void)
{
        return disk.writes.n;
}

/* --- the power is back --- */
static uint64_t dice(uint64_t *seed) /* splitmix64 */
{
        uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static bool put(int fd, const unsigned char *data, size_t n, int64_t at)
{
        return n == 0 || pwrite(fd, data, n, (off_t)at) == (ssize_t)n;
}

/* All of it, none, or some of its sectors. */
static bool leave(int fd, const struct disk_write *w, uint64_t *seed)
{
        uint64_t how = dice(seed) % 4;
        size_t n = (size_t)w->n;

        if (how == 0)
                return true;
        if (how == 1)
                return put(fd, w->data, n, w->at);
        for (size_t from = 0; from < n; from += SECTOR)
                if (dice(seed) % 2 &&
                        !put(fd, w->data + from, n - from < SECTOR ? n - from : SECTOR, w->at + (int64_t)from))
                        return false;
        return true;
}

static bool tear_file(size_t file, uint64_t *seed)
{
        pd_cleanup(closep) int fd = open(disk.files.at[file], O_RDWR | O_CLOEXEC);

        if (fd < 0)
                return false;
        for (size_t i = disk.writes.n; i-- > 0;) { /* back to what was synced */
                const struct disk_write *w = &disk.writes.at[i];

                if (w->file == file && (!put(fd, w->data + w->n, (size_t)w->n_before, w->at) ||
                                               ftruncate(fd, (off_t)w->size_before) != 0))
                        return false;
        }
        vec_foreach (w, &disk.writes)
                if (w->file == file && !leave(fd, w, seed))
                        return false;
        return true;
}

bool disk_power_back(uint64_t seed)
{
        bool good = true;

        (void)pthread_mutex_lock(&disk.lock);
        for (size_t f = 0; f < disk.files.n; f++) {
                bool any = false;

                vec_foreach (w, &disk.writes)
                        any = any || w->file == f;
                if (any)
                        good = tear_file(f, &seed) && good;
                forget(f);
        }
        disk.now = disk.armed = DISK_GOOD;
        (void)pthread_mutex_unlock(&disk.lock);
        return good;
}
