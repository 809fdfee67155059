/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a C program be saved and go on elsewhere under portald (capture `values`): the counterpart of portal.py, one header, libc only.
 *
 *     #define PORTAL_IMPLEMENTATION          // in one source file
 *     #include "portal.h"
 *
 *     static double weights[4096];
 *     static long step;
 *     if (portal_register("weights", weights, sizeof weights) < 0 || portal_register("step", &step, sizeof step) < 0)
 *             return fprintf(stderr, "%s\n", portal_error()), 1;
 *     while (step < 1000) {
 *             train();
 *             step++;
 *             if (portal_safe_point() < 0)   // the only place where a save can happen
 *                     return fprintf(stderr, "%s\n", portal_error()), 1;
 *     }
 *
 * What is registered is carried as raw bytes: no pointers in it, and the program that resumes must be the same one on the same kind of
 * processor. No thread is started: requests are answered at safe points, from the thread that calls them. Without portald every
 * call does nothing and returns 0. Functions return 0 or -1 with portal_error(). Not for use by two threads at once. */
#ifndef PORTAL_H
#define PORTAL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* data stays where it is, as long as the program runs. On resume it is filled at once; a value that the checkpoint lacks, or has in another
 * size, is an error. name: 1-100 printable characters without spaces at its ends. At most 256 values. */
int portal_register(const char *name, void *data, size_t size);
/* Costs one poll(2) when nobody asks. While a save is taken, and until portald says to go on, it does not return. On resume the first one
 * fails if the checkpoint holds values that were not registered. */
int portal_safe_point(void);
/* How far the program is ("step 120"): shown by portald, and what keeps a job from counting as idle. */
void portal_progress(const char *text);
/* Says that an allocation failed (of main memory or a GPU's) while the program lives: with oom = on it is saved and suspended. */
void portal_out_of_memory(void);
/* 1 when this run continues from a checkpoint. */
int portal_resumed(void);
/* The last failure, a sentence. */
const char *portal_error(void);

#ifdef __cplusplus
}
#endif
#endif

#ifdef PORTAL_IMPLEMENTATION
#undef PORTAL_IMPLEMENTATION
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

enum { PORTAL_VALUES = 256, PORTAL_NAME = 101, PORTAL_FILES = 4096 };

struct portal_value {
        char name[PORTAL_NAME];
        void *data;
        size_t size;
};

struct portal_entry { /* a value of the checkpoint that this run continues from */
        char name[PORTAL_NAME], file[64];
        unsigned long long size;
        uint32_t crc;
        int taken;
};

static struct {
        int begun, resumed, reached, standing, listener, owner;
        long pid; /* a forked child is another program */
        const char *folder, *path;
        struct portal_value values[PORTAL_VALUES];
        size_t n;
        struct portal_entry *entries;
        size_t entries_n;
        char progress[201], error[512];
        time_t progress_at;
} portal_g;

__attribute__((format(printf, 1, 2))) static int portal_fail(const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(portal_g.error, sizeof portal_g.error, fmt, ap);
        va_end(ap);
        return -1;
}

static uint32_t portal_crc(uint32_t crc, const void *data, size_t n)
{
        static uint32_t table[256];
        const unsigned char *p = (const unsigned char *)data;

        if (!table[1])
                for (uint32_t i = 0; i < 256; i++) {
                        uint32_t c = i;

                        for (int k = 0; k < 8; k++)
                                c = (c >> 1) ^ (0xEDB88320u & (0u - (c & 1u)));
                        table[i] = c;
                }
        crc = ~crc;
        while (n--)
                crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
        return ~crc;
}

static char *portal_join(char *buf, size_t n, const char *name)
{
        (void)snprintf(buf, n, "%s/%s", portal_g.folder, name);
        return buf;
}

/* ---- resuming ---- */

static char *portal_read(const char *name, size_t limit, size_t *ret_n)
{
        char path[4096], *text = NULL;
        struct stat st;
        int fd = open(portal_join(path, sizeof path, name), O_RDONLY | O_CLOEXEC);
        size_t n = 0;
        ssize_t got = 0;

        if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size <= limit &&
                (text = (char *)malloc((size_t)st.st_size + 1)) != NULL) {
                while (n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
                        n += (size_t)got;
                text[n] = '\0';
                *ret_n = n;
        } else {
                (void)portal_fail("the checkpoint's %s cannot be read: %s", path,
                        fd < 0 ? strerror(errno) : "too large, or no memory");
        }
        if (fd >= 0)
                (void)close(fd);
        return text;
}

/* "file NAME BYTES CRC" lines number the files; "value INDEX NAME" lines name them. */
static int portal_parse(char *body)
{
        struct portal_entry *files = (struct portal_entry *)calloc(PORTAL_FILES, sizeof *files);
        size_t n = 0, index;
        int at;

        portal_g.entries = (struct portal_entry *)calloc(PORTAL_VALUES, sizeof *files);
        if (!files || !portal_g.entries)
                return free(files), portal_fail("no memory for the checkpoint's manifest");
        for (char *save = NULL, *line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                unsigned crc;

                at = 0;
                if (n < PORTAL_FILES && sscanf(line, "file %63s %llu %8x", files[n].file, &files[n].size, &crc) == 3)
                        files[n++].crc = crc;
                else if (sscanf(line, "value %zu %n", &index, &at) == 1 && at > 0 && index < n &&
                         portal_g.entries_n < PORTAL_VALUES) {
                        portal_g.entries[portal_g.entries_n] = files[index];
                        (void)snprintf(portal_g.entries[portal_g.entries_n++].name, PORTAL_NAME, "%s", line + at);
                }
        }
        free(files);
        return 0;
}

static int portal_load(void)
{
        size_t n = 0;
        char *text = portal_read("manifest", (size_t)64 << 20, &n), *body;
        unsigned version, crc;
        int at = 0, r;

        if (!text)
                return -1;
        body = strchr(text, '\n');
        if (!body || sscanf(text, "portal-values %u %8x%n", &version, &crc, &at) != 2 || text + at != body)
                r = portal_fail("the checkpoint's manifest is none of saved values");
        else if (version != 1)
                r = portal_fail("the checkpoint has version %u of its format; this portal.h reads version 1", version);
        else if (portal_crc(0, body + 1, n - (size_t)(body + 1 - text)) != crc)
                r = portal_fail("the checkpoint's manifest does not match its checksum: it is damaged");
        else
                r = portal_parse(body + 1);
        free(text);
        return r;
}

static int portal_take(const struct portal_value *v)
{
        for (size_t i = 0; i < portal_g.entries_n; i++) {
                struct portal_entry *e = &portal_g.entries[i];
                size_t n = 0;
                char *data;

                if (strcmp(e->name, v->name) != 0)
                        continue;
                if (e->size != v->size)
                        return portal_fail("the saved value \"%s\" has %llu bytes and not %zu: it was saved by another "
                                           "version of this program",
                                v->name, e->size, v->size);
                if (strchr(e->file, '/') || !(data = portal_read(e->file, v->size, &n)))
                        return *portal_g.error ? -1 : portal_fail("the checkpoint names a file outside of itself");
                if (n != v->size || portal_crc(0, data, n) != e->crc)
                        return free(data),
                               portal_fail("%s of the checkpoint does not match its checksum: it is damaged", e->file);
                memcpy(v->data, data, n);
                e->taken = 1;
                return free(data), 0;
        }
        return portal_fail("the checkpoint holds no value named \"%s\": it was saved by another program, or by another "
                           "version of this one",
                v->name);
}

static const char *portal_left(void)
{
        for (size_t i = 0; i < portal_g.entries_n; i++)
                if (!portal_g.entries[i].taken)
                        return portal_g.entries[i].name;
        return NULL;
}

/* ---- beginning ---- */

static int portal_listen(void)
{
        struct sockaddr_un at;
        char path[4200];

        (void)snprintf(path, sizeof path, "%s.owner", portal_g.path);
        portal_g.owner = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (portal_g.owner < 0 || flock(portal_g.owner, LOCK_EX | LOCK_NB) < 0)
                return portal_fail("another process of this job is the one that is saved already: values can be "
                                   "registered in one process");
        memset(&at, 0, sizeof at);
        at.sun_family = AF_UNIX;
        if (snprintf(at.sun_path, sizeof at.sun_path, "%s.%ld", portal_g.path, (long)getpid()) >=
                (int)sizeof at.sun_path)
                return portal_fail("PORTAL_SOCKET is too long for a socket");
        portal_g.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)unlink(at.sun_path);
        if (portal_g.listener < 0 || bind(portal_g.listener, (struct sockaddr *)&at, sizeof at) < 0 ||
                listen(portal_g.listener, 8) < 0 || rename(at.sun_path, portal_g.path) < 0)
                return portal_fail(
                        "portald cannot be answered: the socket %s cannot be made: %s", portal_g.path, strerror(errno));
        return 0;
}

static int portal_begin(void)
{
        const char *resumed = getenv("PORTAL_RESUMED");

        if (portal_g.begun)
                return 0;
        portal_g.begun = 1, portal_g.listener = -1, portal_g.owner = -1, portal_g.pid = (long)getpid();
        portal_g.folder = getenv("PORTAL_CHECKPOINT_DIR"), portal_g.path = getenv("PORTAL_SOCKET");
        if (!portal_g.folder || !portal_g.path)
                return 0;
        portal_g.resumed = resumed && strcmp(resumed, "1") == 0;
        if (portal_g.resumed && portal_load() < 0)
                return -1;
        return portal_listen();
}

int portal_register(const char *name, void *data, size_t size)
{
        struct portal_value *v = &portal_g.values[portal_g.n];
        size_t len = name ? strlen(name) : 0;

        if (portal_begin() < 0)
                return -1;
        if (len == 0 || len >= PORTAL_NAME || name[0] == ' ' || name[len - 1] == ' ' || strpbrk(name, "\n\r\t\"\\"))
                return portal_fail("a value's name is 1-100 printable characters");
        for (size_t i = 0; i < portal_g.n; i++)
                if (strcmp(portal_g.values[i].name, name) == 0)
                        return portal_fail("a value named \"%s\" is registered already", name);
        if (portal_g.n == PORTAL_VALUES)
                return portal_fail(
                        "at most %d values can be registered; put several into one struct", (int)PORTAL_VALUES);
        (void)snprintf(v->name, sizeof v->name, "%s", name);
        v->data = data, v->size = size;
        if (portal_g.resumed && !portal_g.reached && portal_take(v) < 0)
                return -1;
        portal_g.n++;
        return 0;
}

/* ---- saving ---- */

static int portal_write(const char *name, const void *head, size_t head_n, const void *data, size_t n)
{
        char path[4096];
        int fd = open(portal_join(path, sizeof path, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), e;
        const char *parts[2] = { (const char *)head, (const char *)data };
        size_t sizes[2] = { head_n, n };

        for (int i = 0; fd >= 0 && i < 2; i++)
                for (size_t at = 0; at < sizes[i];) {
                        ssize_t done = write(fd, parts[i] + at, sizes[i] - at);

                        if (done < 0 && errno == EINTR)
                                continue;
                        if (done <= 0)
                                return e = errno, (void)close(fd), (void)unlink(path), errno = e, -1;
                        at += (size_t)done;
                }
        if (fd < 0)
                return -1;
        if (fsync(fd) < 0)
                return e = errno, (void)close(fd), errno = e, -1;
        return close(fd);
}

static int portal_sync_dir(void)
{
        int fd = open(portal_g.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = fd < 0 ? -1 : fsync(fd);

        if (fd >= 0)
                (void)close(fd);
        return r;
}

/* Removes data files: those of `save`, or all but those. */
static void portal_sweep(const char *save, int of_it)
{
        DIR *d = opendir(portal_g.folder);
        char path[4096];

        for (struct dirent *e; d && (e = readdir(d)) != NULL;)
                if (strncmp(e->d_name, "v-", 2) == 0 && (strncmp(e->d_name + 2, save, strlen(save)) == 0) == of_it)
                        (void)unlink(portal_join(path, sizeof path, e->d_name));
        if (d)
                (void)closedir(d);
}

static int portal_write_manifest(const char *save, const char *body, size_t n)
{
        char head[64], temp[64], from[4096], to[4096];

        (void)snprintf(head, sizeof head, "portal-values 1 %08x\n", portal_crc(0, body, n));
        (void)snprintf(temp, sizeof temp, ".manifest-%s", save);
        if (portal_write(temp, head, strlen(head), body, n) < 0 || portal_sync_dir() < 0)
                return -1;
        if (rename(portal_join(from, sizeof from, temp), portal_join(to, sizeof to, "manifest")) < 0)
                return -1;
        return portal_sync_dir();
}

/* Data first, the manifest last; the checkpoint before it stays until that is renamed. */
static int portal_save(char save[16], unsigned long long *ret_bytes)
{
        const size_t room = 512 + portal_g.n * 256;
        char *body = (char *)malloc(room), name[64];
        struct timespec now;
        size_t at;
        int r = body ? 0 : -1;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(save, 16, "%08x%04x", (unsigned)now.tv_sec, (unsigned)(now.tv_nsec >> 12) & 0xffff);
        *ret_bytes = 0;
        at = body ? (size_t)snprintf(body, room, "save %s\nby c\n%s%s%s", save, *portal_g.progress ? "progress " : "",
                            portal_g.progress, *portal_g.progress ? "\n" : "")
                  : 0;
        for (size_t i = 0; r == 0 && i < portal_g.n; i++) {
                const struct portal_value *v = &portal_g.values[i];

                (void)snprintf(name, sizeof name, "v-%s-%zu.bin", save, i);
                r = portal_write(name, "", 0, v->data, v->size);
                at += (size_t)snprintf(
                        body + at, room - at, "file %s %zu %08x\n", name, v->size, portal_crc(0, v->data, v->size));
                *ret_bytes += v->size;
        }
        for (size_t i = 0; r == 0 && i < portal_g.n; i++)
                at += (size_t)snprintf(body + at, room - at, "value %zu %s\n", i, portal_g.values[i].name);
        if (r == 0)
                r = portal_write_manifest(save, body, at);
        if (r < 0)
                (void)portal_fail("the save could not be written: %s", body ? strerror(errno) : "no memory");
        portal_sweep(save, r < 0);
        free(body);
        return r;
}

/* ---- the talk ---- */

static int portal_has(const char *request, const char *op)
{
        const char *at = strstr(request, "\"op\"");
        size_t n = strlen(op);

        if (!at)
                return 0;
        at += 4;
        at += strspn(at, " :");
        return *at == '"' && strncmp(at + 1, op, n) == 0 && at[1 + n] == '"';
}

static void portal_no(char *reply, size_t n, const char *code, const char *text)
{
        size_t at = (size_t)snprintf(reply, n, "{\"ok\":false,\"code\":\"%s\",\"text\":\"", code);

        for (; *text && at + 8 < n; text++)
                reply[at++] = *text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '\'' : *text;
        (void)snprintf(reply + at, n - at, "\"}\n");
}

static void portal_do_save(char *reply, size_t n)
{
        char save[16], progress[401];
        unsigned long long bytes;
        size_t at = 0;

        if (portal_g.standing) {
                portal_no(reply, n, "CONFLICT", "it is saved and stands still already");
        } else if (portal_g.n == 0) {
                portal_no(reply, n, "CONFLICT",
                        "the program has registered no value: call portal_register() before the first safe point");
        } else if (portal_save(save, &bytes) < 0) {
                portal_no(reply, n, errno == ENOSPC || errno == EDQUOT ? "FULL" : "IO", portal_g.error);
        } else {
                for (const char *s = portal_g.progress; *s && at + 2 < sizeof progress; s++)
                        progress[at++] = *s == '"' || *s == '\\' ? '\'' : *s;
                progress[at] = '\0';
                (void)snprintf(reply, n, "{\"ok\":true,\"save\":\"%s\",\"bytes\":%llu,\"progress\":\"%s\"}\n", save,
                        bytes, progress);
                portal_g.standing = 1;
        }
}

static void portal_reply(const char *request, char *reply, size_t n)
{
        unsigned long long bytes = 0;

        for (size_t i = 0; i < portal_g.n; i++)
                bytes += portal_g.values[i].size;
        if (portal_has(request, "save")) {
                portal_do_save(reply, n);
        } else if (portal_has(request, "precheck") || portal_has(request, "estimate")) {
                if (portal_g.n == 0)
                        portal_no(reply, n, "CONFLICT", "the program has registered no value");
                else
                        (void)snprintf(
                                reply, n, "{\"ok\":true,\"bytes\":%llu,\"freeze_us\":%llu}\n", bytes, bytes / 200);
        } else if (portal_has(request, "resume") || portal_has(request, "abort")) {
                portal_g.standing = 0;
                (void)snprintf(reply, n, "{\"ok\":true}\n");
        } else if (portal_has(request, "verify")) {
                if (!portal_g.resumed)
                        portal_no(reply, n, "CONFLICT", "the program was not started as a resumed one");
                else
                        (void)snprintf(
                                reply, n, "{\"ok\":true}\n"); /* a safe point was reached, so every value was taken */
        } else if (portal_has(request, "hello")) {
                (void)snprintf(reply, n,
                        "{\"ok\":true,\"version\":1,\"by\":\"c\",\"pid\":%ld,\"resumed\":%s,\"standing\":%s}\n",
                        (long)getpid(), portal_g.resumed ? "true" : "false", portal_g.standing ? "true" : "false");
        } else {
                portal_no(reply, n, "UNSUPPORTED", "unknown request");
        }
}

/* One request of one talker; whoever is slower than 5 s is hung up on. */
static void portal_talk(int fd)
{
        char request[1024], reply[1024];
        struct pollfd p = { fd, POLLIN, 0 };
        struct timeval limit = { 5, 0 };
        size_t n = 0;
        ssize_t got = 1;
        int saved = portal_g.standing;

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        while (n + 1 < sizeof request && (n == 0 || request[n - 1] != '\n') && poll(&p, 1, 5000) > 0 &&
                (got = recv(fd, request + n, sizeof request - 1 - n, 0)) > 0)
                n += (size_t)got;
        request[n] = '\0';
        if (n == 0 || request[n - 1] != '\n')
                return;
        portal_reply(request, reply, sizeof reply);
        if (send(fd, reply, strlen(reply), MSG_NOSIGNAL) < 0)
                portal_g.standing = saved; /* nobody knows of this save: it must not hold the program */
}

int portal_safe_point(void)
{
        if (portal_begin() < 0)
                return -1;
        if (portal_g.listener < 0 || portal_g.pid != (long)getpid())
                return 0;
        if (!portal_g.reached && portal_left())
                return portal_fail(
                        "the checkpoint holds a value that this program never registered: \"%s\"", portal_left());
        portal_g.reached = 1;
        for (;;) {
                struct pollfd p = { portal_g.listener, POLLIN, 0 };
                int fd;

                if (poll(&p, 1, portal_g.standing ? -1 : 0) <= 0) {
                        if (!portal_g.standing)
                                return 0;
                        continue;
                }
                fd = accept4(portal_g.listener, NULL, NULL, SOCK_CLOEXEC);
                if (fd >= 0) {
                        portal_talk(fd);
                        (void)close(fd);
                }
        }
}

/* Beside the job's socket, replaced in one step. What cannot be written must not end the program. */
static void portal_tell(const char *name, const char *text)
{
        char path[4200], temp[4300], *slash;
        FILE *f;

        (void)snprintf(path, sizeof path, "%s", portal_g.path);
        slash = strrchr(path, '/');
        (void)snprintf(slash ? slash : path, sizeof path - (size_t)(slash ? slash - path : 0), "/%s", name);
        (void)snprintf(temp, sizeof temp, "%s.%ld", path, (long)getpid());
        f = fopen(temp, "we");
        if (f) {
                (void)fprintf(f, "%s\n", text);
                (void)fclose(f);
                (void)rename(temp, path);
        }
}

void portal_progress(const char *text)
{
        size_t n = 0;
        time_t now = time(NULL);

        for (; *text && n + 1 < sizeof portal_g.progress; text++)
                portal_g.progress[n++] = (unsigned char)*text < ' ' ? ' ' : *text;
        portal_g.progress[n] = '\0';
        if (portal_begin() < 0 || portal_g.listener < 0 || portal_g.progress_at == now)
                return; /* once a second is as often as anyone looks */
        portal_g.progress_at = now;
        portal_tell("progress", portal_g.progress);
}

void portal_out_of_memory(void)
{
        if (portal_begin() >= 0 && portal_g.listener >= 0)
                portal_tell("oom", "");
}

int portal_resumed(void)
{
        (void)portal_begin();
        return portal_g.resumed;
}

const char *portal_error(void)
{
        return portal_g.error;
}
#endif
