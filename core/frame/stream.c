/* SPDX-License-Identifier: Apache-2.0 */
#include "frame/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK (UINT32_C(64) << 10)
#define CHUNKS_A_TURN 8 /* then the loop's other sources get their turn */
#define COUNT_KEY "_fds"

struct stream_out {
        struct stream_out *next;
        enum frame_kind kind;
        uint64_t request;
        size_t n, sent, n_fds;
        int fds[STREAM_FDS_MAX]; /* duplicates, closed once they are sent */
        uint8_t *bytes;
};

static int sockopt(int fd, int name)
{
        int v = -1;
        socklen_t n = sizeof v;

        return getsockopt(fd, SOL_SOCKET, name, &v, &n) < 0 ? -1 : v;
}

int stream_init(struct stream *s, int fd, struct pd_error *err)
{
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return pd_fail(err, PD_E_IO, "descriptor %d is no stream: %m", fd);
        *s = (struct stream){ .fd = fd };
        s->last = &s->first;
        s->socket = sockopt(fd, SO_TYPE) >= 0;
        s->unix_socket = sockopt(fd, SO_DOMAIN) == AF_UNIX;
        return 0;
}

static void close_fds(int *fds, size_t *n)
{
        for (size_t i = 0; i < *n; i++)
                (void)safe_close(fds[i]);
        *n = 0;
}

static void out_free(struct stream_out *o)
{
        close_fds(o->fds, &o->n_fds);
        free(o->bytes);
        free(o);
}

static void out_freep(struct stream_out **o)
{
        if (*o)
                out_free(*o);
}

/* Unlinks the item that *at points to and frees it. */
static void out_drop(struct stream *s, struct stream_out **at)
{
        struct stream_out *o = *at;

        *at = o->next;
        if (!*at)
                s->last = at;
        s->queued -= o->n;
        out_free(o);
}

void stream_clear(struct stream *s)
{
        while (s->first)
                out_drop(s, &s->first);
        close_fds(s->fds, &s->n_fds);
        frame_reader_clear(&s->in);
        s->fd = safe_close(s->fd);
}

static int copy_fds(struct stream_out *o, const int *fds, size_t n, struct pd_error *err)
{
        for (; o->n_fds < n; o->n_fds++) {
                int fd = fcntl(fds[o->n_fds], F_DUPFD_CLOEXEC, 3);

                if (fd < 0)
                        return pd_fail(err, PD_E_IO, "descriptor %d cannot be sent: %m", fds[o->n_fds]);
                o->fds[o->n_fds] = fd;
        }
        return 0;
}

static int encode(const struct frame *f, size_t n_fds, struct stream_out *o, struct pd_error *err)
{
        js_owned *copy = NULL;

        if (n_fds) {
                copy = json_copy(f->json);
                if (!copy || json_object_set_new(copy, COUNT_KEY, json_integer((json_int_t)n_fds)) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for a frame");
        }
        return frame_encode(
                f->kind, f->generation, f->request, copy ? copy : f->json, f->blob, f->blob_n, &o->bytes, &o->n, err);
}

int stream_queue(
        struct stream *s, const struct frame *f, const int *fds, size_t n_fds, size_t queue_max, struct pd_error *err)
{
        pd_cleanup(out_freep) struct stream_out *o = NULL;
        int r;

        if (n_fds > STREAM_FDS_MAX)
                return pd_fail(
                        err, PD_E_FULL, "%zu descriptors are too many: a frame carries %d", n_fds, STREAM_FDS_MAX);
        if (n_fds && !s->unix_socket)
                return pd_fail(err, PD_E_UNSUPPORTED, "descriptors travel on unix sockets only");
        o = calloc(1, sizeof *o);
        if (!o)
                return pd_fail(err, PD_E_NOMEM, "no memory for a frame");
        o->kind = f->kind;
        o->request = f->request;
        r = encode(f, n_fds, o, err);
        if (r < 0)
                return r;
        if (o->n > queue_max - s->queued || s->queued > queue_max)
                return pd_fail(err, PD_E_FULL,
                        "%zu bytes wait to be sent: the peer does not read, and at most %zu may wait", s->queued,
                        queue_max);
        r = copy_fds(o, fds, n_fds, err);
        if (r < 0)
                return r;
        s->queued += o->n;
        *s->last = o;
        s->last = &o->next;
        o = NULL;
        return 0;
}

bool stream_withdraw(struct stream *s, uint64_t request)
{
        for (struct stream_out **at = &s->first; *at; at = &(*at)->next) {
                if ((*at)->kind != FRAME_REQUEST || (*at)->request != request)
                        continue;
                if ((*at)->sent)
                        return false;
                out_drop(s, at);
                return true;
        }
        return false;
}

static ssize_t send_some(struct stream *s, struct stream_out *o)
{
        union {
                char buf[CMSG_SPACE(sizeof(int) * STREAM_FDS_MAX)];
                struct cmsghdr align;
        } control = { 0 };
        struct iovec iov = { o->bytes + o->sent, o->n - o->sent };
        struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (!s->socket)
                return write(s->fd, iov.iov_base, iov.iov_len);
        if (o->n_fds) {
                control.align.cmsg_level = SOL_SOCKET;
                control.align.cmsg_type = SCM_RIGHTS;
                control.align.cmsg_len = CMSG_LEN(sizeof(int) * o->n_fds);
                memcpy(CMSG_DATA(&control.align), o->fds, sizeof(int) * o->n_fds);
                m.msg_control = control.buf;
                m.msg_controllen = CMSG_SPACE(sizeof(int) * o->n_fds);
        }
        return sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int stream_flush(struct stream *s, struct pd_error *err)
{
        while (s->first) {
                struct stream_out *o = s->first;
                ssize_t n = send_some(s, o);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        return 0;
                if (n < 0)
                        return pd_fail(err, PD_E_IO, "the peer cannot be written to: %m");
                close_fds(o->fds, &o->n_fds);
                o->sent += (size_t)n;
                if (o->sent == o->n)
                        out_drop(s, &s->first);
        }
        return 0;
}

/* Takes over the descriptors that came with a message. */
static int keep_fds(struct stream *s, struct msghdr *m, struct pd_error *err)
{
        bool full = false;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                        full = s->n_fds == STREAM_FDS_PENDING;
                        if (full)
                                (void)safe_close(fd);
                        else
                                s->fds[s->n_fds++] = fd;
                }
        }
        if (full || (m->msg_flags & MSG_CTRUNC))
                return pd_fail(err, PD_E_CORRUPT, "the peer sent more descriptors than its frames claim");
        return 0;
}

static ssize_t receive_some(struct stream *s, uint8_t *buf, size_t n, struct pd_error *err)
{
        union {
                char buf[CMSG_SPACE(sizeof(int) * STREAM_FDS_PENDING)];
                struct cmsghdr align;
        } control;
        struct iovec iov = { buf, n };
        struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
        ssize_t got;

        if (!s->socket) {
                got = read(s->fd, buf, n);
        } else {
                if (s->unix_socket) {
                        m.msg_control = control.buf;
                        m.msg_controllen = sizeof control.buf;
                }
                got = recvmsg(s->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
                if (got >= 0 && keep_fds(s, &m, err) < 0)
                        return -PD_E_CORRUPT;
        }
        if (got < 0)
                return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
                               ? -PD_E_BUSY
                               : pd_fail(err, PD_E_IO, "the peer cannot be read from: %m");
        return got;
}

int stream_fill(struct stream *s, struct pd_error *err)
{
        uint8_t chunk[CHUNK];

        for (int i = 0; i < CHUNKS_A_TURN; i++) {
                ssize_t n = receive_some(s, chunk, sizeof chunk, err);
                int r;

                if (n == -PD_E_BUSY)
                        return 0;
                if (n < 0)
                        return (int)n;
                if (n == 0)
                        return 1;
                r = frame_reader_feed(&s->in, chunk, (size_t)n, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int stream_next(struct stream *s, struct frame *ret, int fds[STREAM_FDS_MAX], size_t *ret_n_fds, struct pd_error *err)
{
        struct frame f = { 0 };
        int64_t n = 0;
        int r = frame_reader_next(&s->in, &f, err);

        if (r == 0 && s->n_fds && !stream_torn(s)) {
                s->in.broken = true;
                return pd_fail(err, PD_E_CORRUPT, "the peer sent %zu descriptors that no frame claims", s->n_fds);
        }
        if (r <= 0)
                return r;
        if (json_object_get(f.json, COUNT_KEY)) {
                n = js_int(f.json, COUNT_KEY, -1);
                if (n < 1 || n > STREAM_FDS_MAX || (size_t)n > s->n_fds) {
                        frame_clear(&f);
                        s->in.broken = true;
                        return pd_fail(err, PD_E_CORRUPT,
                                "a frame claims %lld descriptors: %zu came, and %d are allowed", (long long)n, s->n_fds,
                                STREAM_FDS_MAX);
                }
                (void)json_object_del(f.json, COUNT_KEY);
                memcpy(fds, s->fds, sizeof *fds * (size_t)n);
                s->n_fds -= (size_t)n;
                memmove(s->fds, s->fds + n, sizeof *fds * s->n_fds);
        }
        *ret = f;
        *ret_n_fds = (size_t)n;
        return 1;
}

bool stream_torn(const struct stream *s)
{
        return s->in.n > s->in.at;
}
