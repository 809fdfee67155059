/* SPDX-License-Identifier: Apache-2.0 */
#include "precheck.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define TCP_CLOSED 7
#define TCP_LISTENS 10

/* The row of that socket among the files of net/; *ret_udp = it was one of udp's. */
static bool find_inet(const struct look *l, uint64_t inode, struct parse_inet *ret, bool *ret_udp)
{
        for (size_t i = 0; i < sizeof l->net / sizeof *l->net; i++)
                for (const char *at = l->net[i]; at && *at;) {
                        if (parse_inet(at, i % 2 == 1, ret) && ret->inode == inode) {
                                *ret_udp = i >= 2;
                                return true;
                        }
                        at = parse_next(at);
                }
        return false;
}

static int look_inet(struct look *l, int32_t fd, const struct parse_inet *s, bool udp)
{
        if (udp)
                return s->received == 0
                               ? 0
                               : look_value(l, fd, "unread datagrams", "what was received and not read would be lost",
                                         "let the program read them, and try again", "udp %s, %llu bytes", s->local,
                                         (unsigned long long)s->received);
        if (s->state == TCP_LISTENS || s->state == TCP_CLOSED)
                return 0;
        return look_value(l, fd, "established TCP connection",
                "the other side would see it break: an address stays with its machine",
                "close it before the save and connect again after", "tcp %s -> %s", s->local, s->remote);
}

/* A process on this machine that has the socket open; 0 = none is seen. */
static int32_t owner_of(uint32_t inode)
{
        char want[32], link[64], path[300];
        DIR *all = opendir("/proc");
        int32_t found = 0;

        (void)snprintf(want, sizeof want, "socket:[%u]", inode);
        for (struct dirent *p; all && !found && (p = readdir(all));) {
                DIR *fds;

                if (*p->d_name < '1' || *p->d_name > '9')
                        continue;
                (void)snprintf(path, sizeof path, "/proc/%s/fd", p->d_name);
                fds = opendir(path);
                for (struct dirent *e; fds && !found && (e = readdir(fds));)
                        if (proc_link(link, sizeof link, "/proc/%.10s/fd/%.10s", p->d_name, e->d_name) &&
                                strcmp(link, want) == 0)
                                found = (int32_t)strtol(p->d_name, NULL, 10);
                if (fds)
                        (void)closedir(fds);
        }
        if (all)
                (void)closedir(all);
        return found;
}

/* The name that a unix socket is bound to; "" = none. The inode is the seventh word of its row, the path the eighth. */
static void name_of(const char *rows, uint64_t inode, char *ret, size_t n)
{
        *ret = '\0';
        for (const char *at = rows; at && *at;) {
                unsigned long long of;
                int end = 0;

                if (sscanf(at, "%*[0-9a-f]: %*x %*x %*x %*x %*x %llu%n", &of, &end) == 1 && end && of == inode) {
                        at += end;
                        at += strspn(at, " ");
                        (void)snprintf(ret, n, "%.*s", (int)strcspn(at, "\n"), at);
                        return;
                }
                at = parse_next(at);
        }
}

static int look_unix(struct look *l, int32_t fd, uint64_t inode)
{
        uint32_t peer = proc_unix_peer(&l->unixes, (uint32_t)inode);
        char name[200];

        for (size_t i = 0; i < l->sockets_n; i++)
                if (l->sockets[i] == peer)
                        return 0;
        if (!peer)
                return 0;
        name_of(l->net_unix, peer, name, sizeof name);
        return look_value(l, fd, "outside unix socket",
                "its other end belongs to a process that does not travel with the job",
                "close it before the save and connect again after", "unix %s peer %u of pid %d",
                *name ? name : "(no name)", peer, owner_of(peer));
}

/* What criu dumps at all. */
static bool carried(const char *protocol)
{
        static const char *const names[] = { "TCP", "TCPv6", "UDP", "UDPv6", "UDP-Lite", "UDPLITEv6", "UNIX",
                "UNIX-STREAM", "NETLINK", "PACKET", "RAW", "RAWv6" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i], protocol) == 0)
                        return true;
        return false;
}

int look_socket(struct look *l, int32_t fd, uint64_t inode)
{
        char path[64], protocol[64] = "";
        struct parse_inet s;
        bool udp;
        ssize_t n;

        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", l->pid, fd);
        n = getxattr(path, "system.sockprotoname", protocol, sizeof protocol - 1);
        if (n > 0 && !carried(protocol))
                return look_value(l, fd, "socket", "criu does not carry sockets of this kind",
                        "close it before the save", "socket %s of pid %d", protocol, l->pid);
        if (find_inet(l, inode, &s, &udp))
                return look_inet(l, fd, &s, udp);
        return look_unix(l, fd, inode);
}
