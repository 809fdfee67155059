/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc to values. Pure: text in, values out; the text is a container's and is believed in nothing but its form.
 *
 * Promises: a line that does not have the form is false and leaves *ret alone; no read past the text's end. */
#ifndef CRIU_PARSE_H
#define CRIU_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Where the next line begins; NULL = there is none. */
const char *parse_next(const char *text);

/* A row of /proc/PID/net/tcp, tcp6, udp, udp6. */
struct parse_inet {
        char local[64], remote[64]; /* "127.0.0.1:80", "[::1]:80" */
        uint32_t state;             /* the kernel's: 1 = established, 7 = closed, 10 = listening */
        uint64_t received;          /* bytes that nobody has read    */
        uint64_t inode;
};
bool parse_inet(const char *line, bool six, struct parse_inet *ret);

/* A row of /proc/PID/maps. */
struct parse_map {
        bool shared;
        uint32_t major, minor;
        uint64_t inode;
        const char *name; /* into the line; "" = anonymous */
};
bool parse_map(const char *line, struct parse_map *ret);

/* A row of /proc/locks, or of fdinfo after "lock:\t". */
struct parse_lock {
        bool waits; /* blocked by the lock above it */
        char kind[16];
        int32_t pid; /* -1 = of an open file, not of a process */
        uint32_t major, minor;
        uint64_t inode;
};
bool parse_lock(const char *line, struct parse_lock *ret);

/* "/proc/PID/status", whole. A member that is missing stays 0. */
struct parse_status {
        char state; /* R, S, Z ...          */
        int32_t parent, tracer;
        uint64_t caught; /* SigCgt */
        uint64_t inheritable, permitted, effective, bounding, ambient;
        uint32_t seccomp, filters;
        bool no_new_privs;
        uint32_t uid[4], gid[4];
};
void parse_status(const char *text, struct parse_status *ret);

/* The first whole number after `key` at the beginning of a line; false = there is none. */
bool parse_number(const char *text, const char *key, int base, uint64_t *ret);

/* What a descriptor's link says that it is. */
enum parse_link {
        LINK_PATH,    /* anything with a path           */
        LINK_DELETED, /* ... that has no name any more  */
        LINK_SOCKET,
        LINK_PIPE,
        LINK_MEMFD,
        LINK_GOOD,  /* an anonymous kernel object that criu carries */
        LINK_OTHER, /* one that it does not                         */
};
struct parse_link_of {
        enum parse_link kind;
        uint64_t inode; /* of a socket or pipe     */
        char type[64];  /* of LINK_OTHER: "io_uring" */
};
void parse_link(const char *link, struct parse_link_of *ret);

/* One line of criu's log. */
enum parse_log {
        LOG_PLAIN,
        LOG_ERROR,   /* "Error (file:line): text"                                   */
        LOG_DROPPED, /* a warning that says that something was dropped or skipped   */
};
/* *ret_text = the text after "(file:line): ", into the line. */
enum parse_log parse_log(const char *line, const char **ret_text);

#endif
