/* SPDX-License-Identifier: Apache-2.0 */
/* The capture criu: lines of /proc and of criu's log to values, and the groups of its image. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cgimage.h"
#include "parse.h"
#include "tap.h"

static void test_inet(void)
{
        static const char four[] =
                "   7: 0100007F:1F90 0200000A:01BB 01 00000000:0000001C 00:00000000 00000000  1000        "
                "0 318318 1 0000000000000000 20 4 30 10 -1";
        static const char six[] =
                "   1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A "
                "00000000:00000000 00:00000000 00000000     0        0 42 1 0000000000000000";
        struct parse_inet s = { 0 };

        tap_ok(parse_inet(four, false, &s), "a row of /proc/net/tcp");
        tap_str(s.local, "127.0.0.1:8080", "... its own address");
        tap_str(s.remote, "10.0.0.2:443", "... and the other side's");
        tap_ok(s.state == 1 && s.received == 0x1c && s.inode == 318318, "... state, unread bytes, inode");
        tap_ok(parse_inet(six, true, &s), "a row of /proc/net/tcp6");
        tap_str(s.local, "[::1]:22", "... in brackets");
        tap_ok(s.state == 10, "... that listens");
        tap_ok(!parse_inet(six, false, &s) && !parse_inet(four, true, &s), "of the other kind it is none");
        tap_ok(!parse_inet("  sl  local_address rem_address   st tx_queue", false, &s) && !parse_inet("", false, &s),
                "a headline is no row");
}

static void test_maps(void)
{
        struct parse_map m = { 0 };

        tap_ok(parse_map("7f00-7f10 rw-s 00000000 00:01 1024                       /memfd:x (deleted)\n7f", &m) &&
                        m.shared && m.inode == 1024 && m.minor == 1 && str_starts(m.name, "/memfd:x (deleted)\n"),
                "a shared mapping with its name");
        tap_ok(parse_map("7f00-7f10 rw-p 00000000 00:00 0 ", &m) && !m.shared && !m.inode && !*m.name,
                "private memory has none");
        tap_ok(!parse_map("what is this", &m), "another line is none");
}

static void test_locks(void)
{
        struct parse_lock l = { 0 };

        tap_ok(parse_lock("1: POSIX  ADVISORY  WRITE 4711 fe:00:262153 0 EOF", &l) && l.pid == 4711 &&
                        l.major == 0xfe && l.inode == 262153 && !l.waits && streq(l.kind, "POSIX"),
                "a lock that is held");
        tap_ok(parse_lock("1: -> FLOCK  ADVISORY  WRITE 12 00:2a:7 0 EOF", &l) && l.waits && l.pid == 12,
                "one that waits for it");
        tap_ok(!parse_lock("no lock", &l) && !parse_lock("1: POSIX", &l), "another line is none");
}

static void test_status(void)
{
        struct parse_status s;

        parse_status(
                "Name:\tpython3\nState:\tT (stopped)\nPPid:\t7\nTracerPid:\t99\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n"
                "CapInh:\t0000000000000000\nCapPrm:\t00000000a80425fb\nCapEff:\t00000000a80425fb\n"
                "CapBnd:\t00000000a80425fb\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n"
                "SigCgt:\t0000000000020000\n",
                &s);
        tap_ok(s.state == 'T' && s.parent == 7 && s.tracer == 99, "/proc/PID/status: state, parent, tracer");
        tap_ok(s.permitted == 0xa80425fb && s.bounding == 0xa80425fb && s.ambient == 0, "... capabilities");
        tap_ok(s.no_new_privs && s.seccomp == 2 && s.filters == 3, "... seccomp");
        tap_ok(s.uid[0] == 1 && s.uid[3] == 4 && s.gid[0] == 5, "... ids");
        parse_status("", &s);
        tap_ok(s.state == 0 && s.tracer == 0 && s.seccomp == 0, "of an empty file nothing");
}

static void test_links(void)
{
        static const struct {
                const char *link;
                enum parse_link kind;
                const char *type;
        } rows[] = { { "socket:[318318]", LINK_SOCKET, "" }, { "pipe:[9]", LINK_PIPE, "" }, { "/tmp/x", LINK_PATH, "" },
                { "/tmp/x (deleted)", LINK_DELETED, "" }, { "/memfd:y (deleted)", LINK_MEMFD, "" },
                { "anon_inode:[io_uring]", LINK_OTHER, "io_uring" },
                { "anon_inode:[eventpoll]", LINK_GOOD, "eventpoll" }, { "anon_inode:inotify", LINK_GOOD, "inotify" },
                { "anon_inode:bpf-map", LINK_OTHER, "bpf-map" },
                { "anon_inode:[userfaultfd]", LINK_OTHER, "userfaultfd" },
                { "anon_inode:[pidfd]", LINK_OTHER, "pidfd" }, { "pidfd:[12]", LINK_OTHER, "pidfd" },
                { "mnt:[4026531841]", LINK_OTHER, "mnt" }, { " (deleted)", LINK_OTHER, " (deleted)" } };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct parse_link_of of;

                parse_link(rows[i].link, &of);
                tap_ok(of.kind == rows[i].kind && streq(of.type, rows[i].type), "P-21 the link %s", rows[i].link);
        }
}

static void test_log(void)
{
        const char *text;

        tap_ok(parse_log("(00.002618) Error (criu/mount.c:381): mnt: No parent found", &text) == LOG_ERROR &&
                        streq(text, "mnt: No parent found"),
                "criu's error, without its place");
        tap_ok(parse_log("(00.1) Warn  (criu/sk-unix.c:1): Skipped data of 3", &text) == LOG_DROPPED,
                "P-21 a warning that something was skipped is one that counts");
        tap_ok(parse_log("(00.1) Warn  (criu/x.c:1): packet was DROPPED", &text) == LOG_DROPPED, "... or dropped");
        tap_ok(parse_log("(00.1) Warn  (criu/x.c:1): no TCP repair", &text) == LOG_PLAIN &&
                        parse_log("(00.1) skipping nothing", &text) == LOG_PLAIN && parse_log("", &text) == LOG_PLAIN,
                "another line does not");
}

/* One set with the unified tree's group and one of an older hierarchy; a controller after them. */
static const uint8_t image[] = { 'm', 'a', 'g', 'i', 'c', 'm', 'a', 'g', 31, 0, 0, 0, /* */
        0x0a, 23, 0x08, 1,                                                            /* set 1, id 1 */
        0x12, 10, 0x0a, 0, 0x12, 4, '/', 'o', 'l', 'd', 0x18, 4 /* */, 0x12, 7, 0x0a, 2, 'v', '1', 0x12, 1,
        '/', /* "v1" stays at its root */
        0x12, 4, 0x0a, 2, 'v', '1' };

static void test_groups(void)
{
        static const uint8_t want[] = { 'm', 'a', 'g', 'i', 'c', 'm', 'a', 'g', 34, 0, 0, 0, 0x0a, 26, 0x08, 1, /* */
                0x12, 13, 0x0a, 0, 0x12, 7, '/', 'n', 'e', 'w', '/', 'i', 'd', 0x18, 7,                         /* */
                0x12, 7, 0x0a, 2, 'v', '1', 0x12, 1, '/', 0x12, 4, 0x0a, 2, 'v', '1' };
        uint8_t *ret = NULL;
        size_t n = 0, bad = 0;

        tap_ok(cgimage_rewrite(image, sizeof image, "/new/id", &ret, &n), "criu's image of groups");
        tap_ok(n == sizeof want && memcmp(ret, want, n) == 0,
                "the group is portald's own, the rest of the image as it was");
        free(ret);
        for (size_t cut = 0; cut < sizeof image; cut++) {
                bool good = cgimage_rewrite(image, cut, "/new/id", &ret, &n);

                bad += good;
                if (good)
                        free(ret);
        }
        tap_int((int64_t)bad, 0, "a shorter one is none");
}

int main(void)
{
        test_inet();
        test_maps();
        test_locks();
        test_status();
        test_links();
        test_log();
        test_groups();
        return tap_done();
}
