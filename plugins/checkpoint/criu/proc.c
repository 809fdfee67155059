/* SPDX-License-Identifier: Apache-2.0 */
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)8 << 20)
#define DEPTH_MAX 16

static char *read_all(int fd)
{
        size_t n = 0, room = 8192;
        char *text = malloc(room);
        ssize_t got;

        while (text && (got = read(fd, text + n, room - n - 1)) > 0) {
                n += (size_t)got;
                if (n + 1 < room)
                        continue;
                char *more = room < TEXT_MAX ? realloc(text, room *= 2) : NULL;
                if (!more) {
                        free(text);
                        return NULL;
                }
                text = more;
        }
        if (text)
                text[n] = '\0';
        return text;
}

char *proc_text(const char *fmt, ...)
{
        char path[4300];
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vsnprintf(path, sizeof path, fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized) */
        va_end(ap);
        if (n < 0 || n >= (int)sizeof path)
                return NULL;
        pd_cleanup(capture_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? NULL : read_all(fd);
}

bool proc_link(char *ret, size_t n, const char *fmt, ...)
{
        char path[256];
        va_list ap;
        ssize_t got;

        va_start(ap, fmt);
        (void)vsnprintf(path, sizeof path, fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized) */
        va_end(ap);
        got = readlink(path, ret, n - 1);
        if (got < 0)
                return false;
        ret[got] = '\0';
        return true;
}

bool proc_status(int32_t pid, struct parse_status *ret)
{
        char *text = proc_text("/proc/%d/status", pid);

        if (!text)
                return false;
        parse_status(text, ret);
        free(text);
        return true;
}

/* ---- the processes of a cgroup ---- */

static int add_pids(const char *text, struct proc_pids *p, struct pd_error *err)
{
        for (char *end; *text; text = end) {
                long pid = strtol(text, &end, 10);

                if (end == text)
                        break;
                if (pid <= 0)
                        continue;
                if (p->n % 64 == 0) {
                        int32_t *more = p->n < PROC_PIDS_MAX ? reallocarray(p->at, p->n + 64, sizeof *more) : NULL;

                        if (!more)
                                return pd_fail(err, PD_E_FULL, "more than %d processes", PROC_PIDS_MAX);
                        p->at = more;
                }
                p->at[p->n++] = (int32_t)pid;
        }
        return 0;
}

static int walk_group(const char *dir, int depth, struct proc_pids *p, struct pd_error *err)
{
        char *text = proc_text("%s/cgroup.procs", dir);
        int r = text ? add_pids(text, p, err) : 0;
        DIR *d = r == 0 && depth < DEPTH_MAX ? opendir(dir) : NULL;

        free(text);
        for (struct dirent *e; r == 0 && d && (e = readdir(d));) {
                char below[4300];

                if (e->d_type == DT_DIR && *e->d_name != '.' &&
                        snprintf(below, sizeof below, "%s/%s", dir, e->d_name) < (int)sizeof below)
                        r = walk_group(below, depth + 1, p, err);
        }
        if (d)
                (void)closedir(d);
        return r;
}

int proc_pids(const char *cgroup, struct proc_pids *ret, struct pd_error *err)
{
        struct proc_pids p = { 0 };
        int r = walk_group(cgroup, 0, &p, err);

        if (r < 0) {
                proc_pids_clear(&p);
                return r;
        }
        *ret = p;
        return 0;
}

void proc_pids_clear(struct proc_pids *p)
{
        free(p->at);
        *p = (struct proc_pids){ 0 };
}

bool proc_pids_has(const struct proc_pids *p, int32_t pid)
{
        for (size_t i = 0; i < p->n; i++)
                if (p->at[i] == pid)
                        return true;
        return false;
}

/* ---- unix sockets: /proc/net/unix does not say who is at the other end ---- */

static int ask_unix(int fd, struct pd_error *err)
{
        struct {
                struct nlmsghdr head;
                struct unix_diag_req body;
        } ask = { .head = { .nlmsg_len = sizeof ask,
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
                .body = { .sdiag_family = AF_UNIX, .udiag_states = ~0U, .udiag_show = UDIAG_SHOW_PEER } };

        if (fd < 0 || send(fd, &ask, sizeof ask, 0) < 0)
                return pd_fail(err, PD_E_IO, "the kernel does not tell of unix sockets: %s", strerror(errno));
        return 0;
}

static int take_unix(const struct nlmsghdr *h, struct proc_unixes *u, struct pd_error *err)
{
        const struct unix_diag_msg *m = NLMSG_DATA(h);
        size_t left = h->nlmsg_len;
        struct proc_unix row;

        if (left < NLMSG_LENGTH(sizeof *m))
                return 0;
        left -= NLMSG_LENGTH(sizeof *m);
        row = (struct proc_unix){ .inode = m->udiag_ino };
        for (const struct rtattr *a = (const void *)(m + 1);
                left >= sizeof *a && a->rta_len >= sizeof *a && a->rta_len <= left;) {
                size_t whole = RTA_ALIGN(a->rta_len);

                if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof row.peer)
                        memcpy(&row.peer, RTA_DATA(a), sizeof row.peer);
                if (whole >= left)
                        break;
                left -= whole;
                a = (const void *)((const char *)a + whole);
        }
        if (u->n % 256 == 0) {
                struct proc_unix *more = reallocarray(u->at, u->n + 256, sizeof *more);

                if (!more)
                        return pd_fail(err, PD_E_NOMEM, "no memory for the list of unix sockets");
                u->at = more;
        }
        u->at[u->n++] = row;
        return 0;
}

int proc_unixes(struct proc_unixes *ret, struct pd_error *err)
{
        pd_cleanup(capture_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        struct proc_unixes u = { 0 };
        _Alignas(struct nlmsghdr) char buf[32768];
        int r = ask_unix(fd, err);

        for (bool more = true; r == 0 && more;) {
                ssize_t n = recv(fd, buf, sizeof buf, 0);

                if (n <= 0)
                        r = pd_fail(err, PD_E_IO, "the kernel's list of unix sockets: %s", strerror(errno));
                for (size_t at = 0; r == 0 && at + sizeof(struct nlmsghdr) <= (size_t)n;) {
                        const struct nlmsghdr *h = (const void *)(buf + at);

                        if (h->nlmsg_len < sizeof *h || h->nlmsg_len > (size_t)n - at)
                                break;
                        at += NLMSG_ALIGN(h->nlmsg_len);
                        if (h->nlmsg_type == NLMSG_ERROR)
                                r = pd_fail(err, PD_E_IO, "the kernel does not list unix sockets");
                        if (h->nlmsg_type == NLMSG_DONE || r < 0) {
                                more = false;
                                break;
                        }
                        r = take_unix(h, &u, err);
                }
        }
        if (r < 0) {
                free(u.at);
                return r;
        }
        *ret = u;
        return 0;
}

uint32_t proc_unix_peer(const struct proc_unixes *u, uint32_t inode)
{
        for (size_t i = 0; i < u->n; i++)
                if (u->at[i].inode == inode)
                        return u->at[i].peer;
        return 0;
}
