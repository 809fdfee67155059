/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_GRACE_US INT64_C(2000000) /* the program answers a little after its own deadline */

/* The job owns the folder that the socket is in: a symbolic link there must not lead us to another program's socket. Returns an O_PATH
 * descriptor of the socket itself, or -1 with errno. */
static int open_socket_file(const char *path)
{
        char folder[4096], name[4096];
        pd_cleanup(capture_closep) int dir = -1;
        struct stat st;
        int fd;

        if (!path || snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder ||
                snprintf(name, sizeof name, "%s", path) < 1)
                return errno = ENOENT, -1;
        dir = open(dirname(folder), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0)
                return -1;
        fd = openat(dir, basename(name), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))) {
                (void)close(fd);
                return errno = ENOTSOCK, -1;
        }
        return fd;
}

static int connect_once(const char *path)
{
        pd_cleanup(capture_closep) int file = open_socket_file(path);
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        int fd;

        if (file < 0)
                return -1;
        (void)snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d", file);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
                int e = errno;

                (void)close(fd);
                return errno = e, -1;
        }
        return fd;
}

int talk_open(struct talk *t, struct pd_call *call, const struct pd_container *c, int64_t wait_us, struct pd_error *err)
{
        int64_t until = capture_until(call, wait_us);

        *t = (struct talk){ .fd = connect_once(c->socket_path) };
        while (t->fd < 0 && (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN) &&
                capture_now(call) < until) {
                int r = capture_wait(call, -1, 0, until, err);

                if (r < 0)
                        return r;
                t->fd = connect_once(c->socket_path);
        }
        if (t->fd < 0)
                return pd_fail(err, PD_E_CONFLICT,
                        "the program does not answer on PORTAL_SOCKET (%s): it takes part by portal.state() of "
                        "portal.py, or by portal.h",
                        strerror(errno));
        t->buf = malloc(WIRE_LINE_MAX);
        if (!t->buf) {
                talk_close(t);
                return pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        }
        return 0;
}

void talk_close(struct talk *t)
{
        if (t->fd >= 0)
                (void)close(t->fd);
        free(t->buf);
        *t = (struct talk){ .fd = -1 };
}

static int send_all(const struct talk *t, const char *text)
{
        size_t n = strlen(text);

        /* a request is far shorter than a socket's buffer: a part of it only means that the peer is gone */
        return send(t->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

/* One line into *ret_line (without its newline, in t->buf); the next call drops it. */
static int read_line(
        struct talk *t, struct pd_call *call, size_t *used, int64_t until, size_t *ret_n, struct pd_error *err)
{
        memmove(t->buf, t->buf + *used, t->n - *used);
        t->n -= *used;
        *used = 0;
        for (;;) {
                char *end = memchr(t->buf, '\n', t->n);
                ssize_t n;
                int r;

                if (end) {
                        *ret_n = (size_t)(end - t->buf);
                        *used = *ret_n + 1;
                        return 0;
                }
                if (t->n == WIRE_LINE_MAX)
                        return pd_fail(
                                err, PD_E_INVALID, "the program's answer has a line over %zu KiB", WIRE_LINE_MAX >> 10);
                r = capture_wait(call, t->fd, POLLIN, until, err);
                if (r < 0)
                        return r;
                if (r == 0)
                        return pd_fail(err, PD_E_DEADLINE, "the program did not answer in time");
                n = recv(t->fd, t->buf + t->n, WIRE_LINE_MAX - t->n, 0);
                if (n < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n <= 0)
                        return pd_fail(err, PD_E_CONFLICT, "the program ended, or broke off, before it had answered");
                t->n += (size_t)n;
        }
}

static int end_error(const struct wire_answer *end, const char *first_path, struct pd_error *err)
{
        char text[200];

        capture_text(text, sizeof text, end->text, "the program gave no reason");
        (void)pd_fail(err, end->code, "%s", text);
        return *first_path ? pd_fail_subject(err, first_path) : -(int)end->code;
}

/* What does not fit any more is left out: notes are for reading. */
static void keep_note(struct talk *t, const char *note)
{
        size_t at = strlen(t->notes);
        char text[512];

        capture_text(text, sizeof text, note, "");
        if (at + strlen(text) + 2 <= sizeof t->notes)
                (void)snprintf(t->notes + at, sizeof t->notes - at, "%s%s", at ? "\n" : "", text);
}

int talk_ask(struct talk *t, struct pd_call *call, const char *op, int64_t timeout_us, pd_value_fn each, void *arg,
        struct wire_answer *ret_end, struct pd_error *err)
{
        int64_t until = capture_until(call, timeout_us + ANSWER_GRACE_US);
        char request[128], first[128] = "";
        size_t used = 0, n = 0;

        if (!wire_request(request, sizeof request, op, timeout_us) || send_all(t, request) < 0)
                return pd_fail(err, PD_E_CONFLICT, "the program broke off: %s", strerror(errno));
        for (;;) {
                struct wire_answer a = { 0 };
                int r = read_line(t, call, &used, until, &n, err);

                if (r < 0 || (r = wire_answer_parse(t->buf, n, &a, err)) < 0)
                        return r;
                if (a.kind == WIRE_VALUE) {
                        if (!*first)
                                capture_text(first, sizeof first, a.path, "");
                        r = each ? capture_value(each, arg, a.path, a.type, a.reason, a.fix) : 0;
                } else if (a.kind == WIRE_NOTE) {
                        keep_note(t, a.note);
                } else {
                        if (a.ok && !*first) {
                                *ret_end = a;
                                return 0;
                        }
                        r = a.ok ? pd_fail(err, PD_E_INVALID,
                                           "the program named values that it cannot carry, and said that it can")
                                 : end_error(&a, first, err);
                }
                wire_answer_clear(&a);
                if (r != 0)
                        return r;
        }
}
