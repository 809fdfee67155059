/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_job.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/socket.h>
#include <sys/un.h>

static void fake_answer(struct fake_job *j, int fd)
{
        char request[512] = "", op[32] = "";
        ssize_t n = recv(fd, request, sizeof request - 1, 0);
        const char *text = "";

        if (n > 0)
                (void)sscanf(request, "{\"op\":\"%31[a-z]\"", op);
        (void)snprintf(j->seen + strlen(j->seen), sizeof j->seen - strlen(j->seen), "%s,", op);
        for (size_t i = 0; i < ARRAY_LEN(j->answers) && j->answers[i][0]; i++)
                if (streq(j->answers[i][0], op))
                        text = j->answers[i][1];
        if (streq(text, NEVER) && j->held_n < ARRAY_LEN(j->held)) {
                j->held[j->held_n++] = fd;
                return;
        }
        for (size_t at = 0, len = strlen(text); at < len;) {
                ssize_t w = send(fd, text + at, len - at, MSG_NOSIGNAL);

                if (w <= 0)
                        break;
                at += (size_t)w;
        }
        (void)close(fd);
}

static int on_connection(sd_event_source *s, int listener, uint32_t events, void *arg)
{
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        (void)s, (void)events;
        if (fd >= 0)
                fake_answer(arg, fd);
        return 0;
}

bool fake_listen(struct fake_job *j, sd_event *loop)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };

        (void)snprintf(at.sun_path, sizeof at.sun_path, "%.100s", j->sock);
        (void)unlink(j->sock);
        j->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return bind(j->listener, (const struct sockaddr *)&at, sizeof at) == 0 && listen(j->listener, 16) == 0 &&
               sd_event_add_io(loop, &j->accept_source, j->listener, EPOLLIN, on_connection, j) >= 0;
}

void fake_deaf(struct fake_job *j)
{
        j->accept_source = sd_event_source_disable_unref(j->accept_source);
        j->listener = safe_close(j->listener);
        (void)unlink(j->sock);
        while (j->held_n > 0)
                (void)close(j->held[--j->held_n]);
}

void fake_cgroup(struct fake_job *j)
{
        char line[1024], mount[256];
        FILE *f = fopen("/proc/self/mountinfo", "re");

        while (f && !*j->cgroup && fgets(line, sizeof line, f))
                if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %255s", mount) == 1) {
                        (void)snprintf(j->cgroup, sizeof j->cgroup, "%s/portald-capture-suite-%d", mount, getpid());
                        if (mkdir(j->cgroup, 0755) < 0 && errno != EEXIST)
                                j->cgroup[0] = '\0';
                }
        if (f)
                (void)fclose(f);
}

bool fake_make(struct fake_job *j)
{
        *j = (struct fake_job){ .listener = -1, .runtime = "/bin/false", .settings = json_object() };
        (void)snprintf(j->dir, sizeof j->dir, "/tmp/portald-capture.XXXXXX");
        if (!mkdtemp(j->dir))
                return false;
        (void)snprintf(j->ckpt, sizeof j->ckpt, "%s/checkpoint", j->dir);
        (void)snprintf(j->sock, sizeof j->sock, "%s/job.sock", j->dir);
        return mkdir(j->ckpt, 0700) == 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st, (void)kind, (void)at;
        return remove(path);
}

void remove_tree(const char *path)
{
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void fake_remove(struct fake_job *j)
{
        fake_deaf(j);
        if (*j->cgroup)
                (void)rmdir(j->cgroup);
        remove_tree(j->dir);
        json_decref(j->settings);
}

json_t *fake_container(const struct fake_job *j)
{
        return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:s,s:s,s:s,s:O}", "id", "c1", "runtime", j->runtime,
                "runtime_root", j->dir, "bundle", j->dir, "cgroup", j->cgroup, "job", "job_suite", "generation", 1,
                "pid", (int)j->pid, "uid", (int)geteuid(), "gid", (int)getegid(), "job_dir", j->ckpt, "job_dir_inside",
                j->ckpt, "socket_path", j->sock, "settings", j->settings);
}

void write_text(const char *dir, const char *name, const char *text, size_t n)
{
        char path[600];
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        (void)unlink(path);
        f = fopen(path, "we");
        if (f) {
                (void)fwrite(text, 1, n, f);
                (void)fclose(f);
        }
}

char *read_text(const char *dir, const char *name)
{
        char path[600];
        char *text = calloc(1, 65536);
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        f = fopen(path, "re");
        if (f && text)
                text[fread(text, 1, 65535, f)] = '\0';
        if (f)
                (void)fclose(f);
        return text;
}

int entries(const char *dir)
{
        DIR *d = opendir(dir);
        int n = 0;

        while (d && readdir(d))
                n++;
        if (d)
                (void)closedir(d);
        return d ? n - 2 : -1;
}
