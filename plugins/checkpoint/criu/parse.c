/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *parse_next(const char *text)
{
        const char *end = strchr(text, '\n');

        return end ? end + 1 : NULL;
}

static bool hex_digits(const char *text, size_t n)
{
        return strspn(text, "0123456789ABCDEFabcdef") >= n;
}

/* "0100007F:1F90": each word of four bytes is as the machine keeps it. */
static bool address(const char *text, bool six, char ret[64])
{
        size_t words = six ? 4 : 1;
        uint32_t raw[4];
        char shown[INET6_ADDRSTRLEN];
        char word[9];

        if (!hex_digits(text, words * 8) || text[words * 8] != ':' || !hex_digits(text + words * 8 + 1, 4))
                return false;
        for (size_t i = 0; i < words; i++) {
                (void)snprintf(word, sizeof word, "%.8s", text + i * 8);
                raw[i] = (uint32_t)strtoul(word, NULL, 16);
        }
        if (!inet_ntop(six ? AF_INET6 : AF_INET, raw, shown, sizeof shown))
                return false;
        (void)snprintf(word, sizeof word, "%.4s", text + words * 8 + 1);
        (void)snprintf(ret, 64, six ? "[%s]:%lu" : "%s:%lu", shown, strtoul(word, NULL, 16));
        return true;
}

bool parse_inet(const char *line, bool six, struct parse_inet *ret)
{
        struct parse_inet row = { 0 };
        char local[48], remote[48];
        unsigned long received;
        unsigned long long inode;
        unsigned int state;

        if (sscanf(line, " %*u: %47[0-9A-Fa-f:] %47[0-9A-Fa-f:] %x %*x:%lx %*x:%*x %*x %*u %*d %llu", local, remote,
                    &state, &received, &inode) != 5 ||
                !address(local, six, row.local) || !address(remote, six, row.remote))
                return false;
        row.state = state;
        row.received = received;
        row.inode = inode;
        *ret = row;
        return true;
}

bool parse_map(const char *line, struct parse_map *ret)
{
        char perms[5];
        unsigned int major, minor;
        unsigned long long inode;
        int end = 0;

        if (sscanf(line, "%*x-%*x %4s %*x %x:%x %llu%n", perms, &major, &minor, &inode, &end) != 4 ||
                strlen(perms) != 4)
                return false;
        *ret = (struct parse_map){ .shared = perms[3] == 's', .major = major, .minor = minor, .inode = inode };
        ret->name = line + end + strspn(line + end, " ");
        return true;
}

bool parse_lock(const char *line, struct parse_lock *ret)
{
        struct parse_lock row = { 0 };
        const char *at = strchr(line, ':');
        unsigned int major, minor;
        unsigned long long inode;
        int pid;

        if (!at)
                return false;
        at += 1 + strspn(at + 1, " ");
        row.waits = strncmp(at, "-> ", 3) == 0;
        if (row.waits)
                at += 3;
        if (sscanf(at, "%15s %*15s %*15s %d %x:%x:%llu", row.kind, &pid, &major, &minor, &inode) != 5)
                return false;
        row.pid = pid;
        row.major = major;
        row.minor = minor;
        row.inode = inode;
        *ret = row;
        return true;
}

static const char *line_of(const char *text, const char *key)
{
        size_t n = strlen(key);

        while (text && *text) {
                if (strncmp(text, key, n) == 0)
                        return text + n;
                text = parse_next(text);
        }
        return NULL;
}

bool parse_number(const char *text, const char *key, int base, uint64_t *ret)
{
        const char *at = line_of(text, key);
        char *end;
        unsigned long long v;

        if (!at)
                return false;
        at += strspn(at, " \t");
        errno = 0;
        v = strtoull(at, &end, base);
        if (end == at || errno)
                return false;
        *ret = v;
        return true;
}

static uint64_t number_or_0(const char *text, const char *key, int base)
{
        uint64_t v = 0;

        (void)parse_number(text, key, base, &v);
        return v;
}

static void ids(const char *text, const char *key, uint32_t ret[4])
{
        const char *at = line_of(text, key);

        if (at)
                (void)sscanf(at, " %u %u %u %u", &ret[0], &ret[1], &ret[2], &ret[3]);
}

void parse_status(const char *text, struct parse_status *ret)
{
        const char *state = line_of(text, "State:");

        *ret = (struct parse_status){ .parent = (int32_t)number_or_0(text, "PPid:", 10),
                .tracer = (int32_t)number_or_0(text, "TracerPid:", 10),
                .caught = number_or_0(text, "SigCgt:", 16),
                .inheritable = number_or_0(text, "CapInh:", 16),
                .permitted = number_or_0(text, "CapPrm:", 16),
                .effective = number_or_0(text, "CapEff:", 16),
                .bounding = number_or_0(text, "CapBnd:", 16),
                .ambient = number_or_0(text, "CapAmb:", 16),
                .seccomp = (uint32_t)number_or_0(text, "Seccomp:", 10),
                .filters = (uint32_t)number_or_0(text, "Seccomp_filters:", 10),
                .no_new_privs = number_or_0(text, "NoNewPrivs:", 10) == 1 };
        ids(text, "Uid:", ret->uid);
        ids(text, "Gid:", ret->gid);
        if (state)
                ret->state = state[strspn(state, " \t")];
}

/* "socket:[123]" */
static bool numbered(const char *link, const char *prefix, uint64_t *ret)
{
        size_t n = strlen(prefix);

        if (strncmp(link, prefix, n) != 0)
                return false;
        *ret = strtoull(link + n, NULL, 10);
        return true;
}

static void anonymous(const char *name, struct parse_link_of *ret)
{
        static const char *const carried[] = { "[eventfd]", "[eventpoll]", "[signalfd]", "[timerfd]", "inotify" };

        ret->kind = LINK_OTHER;
        for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++)
                if (strcmp(name, carried[i]) == 0)
                        ret->kind = LINK_GOOD;
        (void)snprintf(
                ret->type, sizeof ret->type, "%.*s", (int)strcspn(name + (*name == '['), "]"), name + (*name == '['));
}

void parse_link(const char *link, struct parse_link_of *ret)
{
        static const char deleted[] = " (deleted)";
        size_t n = strlen(link), d = sizeof deleted - 1;

        *ret = (struct parse_link_of){ .kind = LINK_PATH };
        if (numbered(link, "socket:[", &ret->inode)) {
                ret->kind = LINK_SOCKET;
        } else if (numbered(link, "pipe:[", &ret->inode)) {
                ret->kind = LINK_PIPE;
        } else if (strncmp(link, "anon_inode:", 11) == 0) {
                anonymous(link + 11, ret);
        } else if (strncmp(link, "/memfd:", 7) == 0) {
                ret->kind = LINK_MEMFD;
        } else if (*link != '/') { /* pidfd:[1], mnt:[4026531841], net:[...] */
                ret->kind = LINK_OTHER;
                (void)snprintf(ret->type, sizeof ret->type, "%.*s", (int)strcspn(link, ":"), link);
        } else if (n > d && strcmp(link + n - d, deleted) == 0) {
                ret->kind = LINK_DELETED;
        }
}

enum parse_log parse_log(const char *line, const char **ret_text)
{
        const char *error = strstr(line, "Error ("), *warn = strstr(line, "Warn  (");
        const char *at = error ? error : warn, *text;

        *ret_text = line;
        if (!at || !(text = strstr(at, "): ")))
                return LOG_PLAIN;
        *ret_text = text + 3;
        if (error)
                return LOG_ERROR;
        return strcasestr(text, "dropp") || strcasestr(text, "skipp") ? LOG_DROPPED : LOG_PLAIN;
}
