/* SPDX-License-Identifier: Apache-2.0 */
#include "frame/conn.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

/* Two ends of a socketpair in one loop; what happened to either. */
struct end {
        struct conn *c;
        struct end *other;
        int frames, answers, lost;
        int fds_n, fds_at; /* of the last frame that had any, and which one that was */
        int fds[CONN_FDS_MAX];
        enum pd_code code; /* of the last answer */
        char text[232];    /* of the last error, or the last answer's "text" */
        size_t items, blob_n;
        uint64_t request, generation;
        bool inside, called_inside; /* conn_request is running; a callback came meanwhile */
        bool echo, free_on_frame, free_on_answer, silent;
};

static struct pair {
        sd_event *loop;
        struct end a, b;
} p;

static void on_frame(void *arg, struct conn *c, const struct frame *f, const int *fds, size_t n_fds)
{
        struct end *e = arg;
        struct pd_error err;

        e->frames++;
        e->called_inside |= e->inside;
        e->request = f->request;
        e->generation = f->generation;
        e->blob_n = f->blob_n;
        if (n_fds) {
                e->fds_n = (int)n_fds;
                e->fds_at = e->frames;
        }
        for (size_t i = 0; i < n_fds; i++)
                e->fds[i] = fds[i];
        (void)str_format(e->text, sizeof e->text, "%s", js_str(f->json, "text", ""));
        if (json_object_get(f->json, "_fds"))
                (void)strcpy(e->text, "the count leaks");
        if (e->free_on_frame) {
                e->c = conn_free(c);
                return;
        }
        if (f->request == 0 || e->silent)
                return;
        for (int64_t i = js_int(f->json, "items", 0); i > 0; i--)
                (void)conn_item(c, f->request, f->json, NULL);
        if (js_bool(f->json, "fail", false)) {
                (void)pd_fail(&err, PD_E_CAPACITY, "none left");
                (void)conn_answer_error(c, f->request, &err, NULL);
        } else {
                (void)conn_answer(c, f->request, f->json, f->blob, f->blob_n, NULL);
        }
}

static void on_lost(void *arg, struct conn *c, const struct pd_error *err)
{
        struct end *e = arg;

        (void)c;
        e->lost++;
        e->called_inside |= e->inside;
        (void)str_format(e->text, sizeof e->text, "%s", err->text);
}

static void on_answer(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items)
{
        struct end *e = arg;

        e->answers++;
        e->called_inside |= e->inside;
        e->code = err ? err->code : PD_OK;
        e->items = json_array_size(items);
        e->blob_n = answer ? answer->blob_n : 0;
        (void)str_format(e->text, sizeof e->text, "%s", err ? err->text : js_str(answer->json, "text", ""));
        if (e->free_on_answer)
                e->c = conn_free(e->c);
}

static void close_all(void)
{
        p.a.c = conn_free(p.a.c);
        p.b.c = conn_free(p.b.c);
        p.loop = sd_event_unref(p.loop);
        p = (struct pair){ 0 };
}

/* b_raw: the other end stays a bare descriptor. */
static int open_pair(int *b_raw)
{
        struct conn_events ea = { on_frame, on_lost, &p.a }, eb = { on_frame, on_lost, &p.b };
        int sv[2];

        close_all();
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0 || sd_event_new(&p.loop) < 0)
                abort();
        if (conn_new(&p.a.c, p.loop, sv[0], &ea, NULL) < 0)
                abort();
        if (b_raw)
                *b_raw = sv[1];
        else if (conn_new(&p.b.c, p.loop, sv[1], &eb, NULL) < 0)
                abort();
        return 0;
}

/* Turns the loop until *counter reaches want; false = it did not within 5 s. */
static bool run_until(const int *counter, int want)
{
        uint64_t start = 0, now = 0;

        (void)sd_event_now(p.loop, CLOCK_MONOTONIC, &start);
        while (*counter < want) {
                if (sd_event_run(p.loop, 1000000) < 0)
                        return false;
                (void)sd_event_now(p.loop, CLOCK_MONOTONIC, &now);
                if (now - start > 60000000)
                        return false;
        }
        return true;
}

/* Turns the loop as long as there is something to do at once. */
static void run_dry(void)
{
        while (sd_event_run(p.loop, 0) > 0)
                ;
}

static int ask_with(json_t *body, const void *blob, size_t blob_n, const int *fds, size_t n_fds, int64_t timeout_us,
        struct pd_error *err)
{
        js_owned *owned = body;
        int r;

        p.a.inside = true;
        r = conn_request(p.a.c, 5, owned, blob, blob_n, fds, n_fds, timeout_us, on_answer, &p.a, err);
        p.a.inside = false;
        return r;
}

static int ask(json_t *body)
{
        return ask_with(body, NULL, 0, NULL, 0, 5 * USEC_PER_SEC, NULL);
}

static void test_answers(void)
{
        struct pd_error err;

        open_pair(NULL);
        tap_int(ask_with(json_pack("{s:s,s:s}", "op", "echo", "text", "hi"), "raw", 3, NULL, 0, USEC_PER_SEC, &err), 0,
                "a request is taken");
        tap_ok(run_until(&p.a.answers, 1) && p.a.code == PD_OK && streq(p.a.text, "hi") && p.a.blob_n == 3,
                "its answer comes with body and blob");
        tap_ok(p.b.generation == 5 && p.b.request != 0, "the peer saw generation and request id");
        ask(json_pack("{s:s,s:i}", "op", "list", "items", 100));
        tap_ok(run_until(&p.a.answers, 2) && p.a.items == 100,
                "items come before the answer and are handed over with it");
        ask(json_pack("{s:s,s:b}", "op", "x", "fail", 1));
        tap_ok(run_until(&p.a.answers, 3) && p.a.code == PD_E_CAPACITY && streq(p.a.text, "none left"),
                "an error is the peer's own");
        for (int i = 0; i < 500; i++)
                ask(json_pack("{s:s}", "op", "many"));
        tap_ok(run_until(&p.a.answers, 503) && p.b.frames == 503, "500 requests at once have 500 answers");
        (void)conn_event(p.b.c, 9, json_object_get(NULL, "x"), &err);
        tap_ok(err.code == PD_E_INVALID, "an event without a body is refused");
        js_owned *event = json_pack("{s:s}", "text", "news");
        (void)conn_event(p.b.c, 9, event, NULL);
        tap_ok(run_until(&p.a.frames, 1) && p.a.request == 0 && p.a.generation == 9 && streq(p.a.text, "news"),
                "an event comes with its generation and asks for nothing");
        tap_ok(!p.a.called_inside && !p.b.called_inside, "nothing was called back from inside conn_request");
        tap_int((long long)conn_queued(p.a.c), 0, "nothing is left queued");
}

static void test_deadline(void)
{
        struct pd_error err = { 0 };

        open_pair(NULL);
        p.b.silent = true;
        ask_with(json_pack("{s:s}", "op", "wait"), NULL, 0, NULL, 0, 10 * USEC_PER_MSEC, NULL);
        tap_ok(run_until(&p.a.answers, 1) && p.a.code == PD_E_DEADLINE && strstr(p.a.text, "\"wait\" within 10ms"),
                "a request without an answer ends at its deadline, by name");
        (void)conn_answer(p.b.c, p.b.request, NULL, NULL, 0, NULL);
        run_dry();
        tap_ok(p.a.answers == 1 && p.a.lost == 0, "an answer that comes later is dropped, and the stream lives");
        (void)conn_answer(p.b.c, 77, NULL, NULL, 0, NULL);
        tap_ok(run_until(&p.a.lost, 1) && strstr(p.a.text, "request 77"),
                "an answer to what was never asked ends the stream");
        tap_ok(ask_with(json_pack("{s:s}", "op", "x"), NULL, 0, NULL, 0, USEC_PER_SEC, &err) == -PD_E_TRANSIENT,
                "a lost stream refuses requests at once");
        open_pair(NULL);
        tap_ok(ask_with(json_pack("{s:s}", "op", "x"), NULL, 0, NULL, 0, 0, &err) == -PD_E_INVALID &&
                        strstr(err.text, "deadline"),
                "a request without a deadline is refused");
}

static void test_lost(void)
{
        open_pair(NULL);
        p.b.silent = true;
        ask(json_pack("{s:s}", "op", "one"));
        ask(json_pack("{s:s}", "op", "two"));
        run_until(&p.b.frames, 2);
        p.b.c = conn_free(p.b.c);
        tap_ok(run_until(&p.a.lost, 1) && p.a.answers == 2 && p.a.code == PD_E_UNKNOWN_OUTCOME,
                "a lost stream calls back every request, then its owner, once");
        p.a.c = conn_free(p.a.c);
        tap_ok(p.a.answers == 2 && p.a.lost == 1, "freeing it afterwards calls nothing again");
        open_pair(NULL);
        ask(json_pack("{s:s}", "op", "one"));
        p.a.c = conn_free(p.a.c);
        tap_ok(p.a.answers == 1 && p.a.code == PD_E_UNKNOWN_OUTCOME && p.a.lost == 0,
                "freeing calls back what is pending, and not its owner");
        open_pair(NULL);
        p.b.free_on_frame = true;
        ask(json_pack("{s:s}", "op", "one"));
        tap_ok(run_until(&p.a.lost, 1) && !p.b.c && p.a.answers == 1,
                "a conn may be freed from its own frame callback");
        open_pair(NULL);
        p.a.free_on_answer = true;
        ask(json_pack("{s:s}", "op", "one"));
        tap_ok(run_until(&p.a.answers, 1) && !p.a.c, "and from an answer's callback");
        open_pair(NULL);
        p.a.free_on_answer = p.b.silent = true;
        ask_with(json_pack("{s:s}", "op", "one"), NULL, 0, NULL, 0, 5 * USEC_PER_MSEC, NULL);
        tap_ok(run_until(&p.a.answers, 1) && !p.a.c && p.a.code == PD_E_DEADLINE, "and from a deadline's callback");
}

static void test_last_words(void)
{
        static const char *const names[] = { "hello", "hello2" };

        open_pair(NULL);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                js_owned *event = json_pack("{s:s}", "text", names[i]);

                (void)conn_event(p.b.c, 0, event, NULL);
        }
        p.b.c = conn_free(p.b.c);
        tap_ok(run_until(&p.a.lost, 1) && p.a.frames == 2, "what was sent before the end is heard");
}

static void test_bad_bytes(void)
{
        static const struct {
                const char *name, *bytes;
                size_t n;
                const char *says;
        } rows[] = {
                { "bytes that are no frame", "GET / HTTP/1.1\r\n", 16, "no frame" },
                { "a frame of another version", "PDF1\0\7\0\1\0\0\0\2\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1{}", 34,
                        "version 7" },
                { "a frame cut off", "PDF1\0\1\0\1\0\0\0\2", 12, "inside a frame" },
                { "nothing", "", 0, "closed the stream" },
                { "a claim of descriptors that did not come",
                        "PDF1\0\1\0\1\0\0\0\12\0\0\0\12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1{\"_fds\":1}", 42,
                        "claims 1 descriptors" },
                { "a claim of no descriptors",
                        "PDF1\0\1\0\1\0\0\0\12\0\0\0\12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1{\"_fds\":0}", 42,
                        "claims 0 descriptors" },
                { "a claim that is no number",
                        "PDF1\0\1\0\1\0\0\0\13\0\0\0\13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1{\"_fds\":{}}", 43,
                        "claims -1 descriptors" },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int fd = -1;

                open_pair(&fd);
                ask(json_pack("{s:s}", "op", "one"));
                (void)!write(fd, rows[i].bytes, rows[i].n);
                (void)shutdown(fd, SHUT_WR);
                if (!tap_ok(run_until(&p.a.lost, 1) && p.a.answers == 1 && p.a.code == PD_E_UNKNOWN_OUTCOME &&
                                    strstr(p.a.text, rows[i].says),
                            "%s ends the stream, and every request", rows[i].name))
                        tap_note("lost %d, answers %d: %s", p.a.lost, p.a.answers, p.a.text);
                (void)safe_close(fd);
        }
}

static void test_queue(void)
{
        pd_cleanup(freep) char *blob = calloc(1, FRAME_BLOB_MAX);
        struct pd_error err = { 0 };
        int fd = -1, n = 0, r;

        open_pair(&fd);
        do {
                r = ask_with(json_pack("{s:s}", "op", "big"), blob, FRAME_BLOB_MAX, NULL, 0, USEC_PER_HOUR, &err);
                n += r == 0;
        } while (r == 0 && n < 100);
        tap_ok(r == -PD_E_FULL && strstr(err.text, "wait to be sent"),
                "a peer that does not read fills the queue to its bound");
        tap_ok(n >= 31 && n <= 33 && conn_queued(p.a.c) <= CONN_QUEUE_MAX, "which is 32 MiB");
        tap_int(p.a.answers, 0, "the refusal is returned and not called back");
        r = ask_with(json_pack("{s:s}", "op", "late"), NULL, 0, NULL, 0, 5 * USEC_PER_MSEC, &err);
        tap_ok(r == 0 && run_until(&p.a.answers, 1) && strstr(p.a.text, "never sent"),
                "a request that never left is withdrawn at its deadline");
        (void)safe_close(fd);
        tap_ok(run_until(&p.a.lost, 1) && p.a.answers == 1 + n, "the peer's end ends them all");
}

static void test_many_pending(void)
{
        struct pd_error err = { 0 };
        int r = 0, n;

        open_pair(NULL);
        p.b.silent = true;
        for (n = 0; n <= CONN_PENDING_MAX && r == 0; n++) {
                r = ask_with(json_pack("{s:s}", "op", "x"), NULL, 0, NULL, 0, USEC_PER_HOUR, &err);
                if (n % 100 == 0)
                        run_dry();
        }
        tap_ok(r == -PD_E_FULL && n == CONN_PENDING_MAX + 1 && strstr(err.text, "wait for answers"),
                "requests without an answer are bounded");
}

static void test_fds(void)
{
        int pipes[2], fds[CONN_FDS_MAX + 1];
        struct pd_error err = { 0 };
        char got = 0;

        open_pair(NULL);
        if (pipe2(pipes, O_CLOEXEC) < 0)
                abort();
        for (int i = 0; i < 20; i++) /* frames without, before it: the kernel may hand both over at once */
                ask(json_pack("{s:s}", "op", "plain"));
        ask_with(json_pack("{s:s}", "op", "take"), NULL, 0, &pipes[1], 1, USEC_PER_SEC, NULL);
        ask(json_pack("{s:s}", "op", "plain"));
        (void)close(pipes[1]);
        tap_ok(run_until(&p.b.frames, 22) && p.b.fds_n == 1 && p.b.fds_at == 21 && streq(p.b.text, ""),
                "a descriptor arrives with its own frame");
        (void)!write(p.b.fds[0], "x", 1);
        tap_ok(read(pipes[0], &got, 1) == 1 && got == 'x' && (fcntl(p.b.fds[0], F_GETFD) & FD_CLOEXEC),
                "it is the same pipe, and closed on exec");
        (void)close(p.b.fds[0]);
        tap_ok(read(pipes[0], &got, 1) == 0, "nobody else holds it any more");
        for (int i = 0; i <= CONN_FDS_MAX; i++)
                fds[i] = pipes[0];
        ask_with(json_pack("{s:s}", "op", "take"), NULL, 0, fds, CONN_FDS_MAX, USEC_PER_SEC, NULL);
        tap_ok(run_until(&p.b.frames, 23) && p.b.fds_n == CONN_FDS_MAX, "four may ride on one frame");
        for (int i = 0; i < p.b.fds_n; i++)
                (void)close(p.b.fds[i]);
        tap_ok(ask_with(json_pack("{s:s}", "op", "take"), NULL, 0, fds, CONN_FDS_MAX + 1, USEC_PER_SEC, &err) ==
                        -PD_E_FULL,
                "five are refused");
        fds[0] = -7;
        tap_ok(ask_with(json_pack("{s:s}", "op", "take"), NULL, 0, fds, 1, USEC_PER_SEC, &err) == -PD_E_IO,
                "and so is one that is none");
        (void)close(pipes[0]);
}

/* Descriptors that no frame speaks of: the last byte of a plain frame with a descriptor on it. */
static void test_stray_fds(void)
{
        static char frame[] = "PDF1\0\1\0\4\0\0\0\2\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0{}";
        union {
                char buf[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = { 0 };
        struct iovec iov = { frame, sizeof frame - 1 };
        struct msghdr m = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof control.buf
        };
        int fd = -1;

        open_pair(&fd);
        CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof fd);
        (void)sendmsg(fd, &m, 0);
        tap_ok(run_until(&p.a.lost, 1) && p.a.frames == 1 && strstr(p.a.text, "no frame claims"),
                "descriptors that no frame claims end the stream");
        (void)safe_close(fd);
}

static void test_items_bound(void)
{
        pd_cleanup(freep) char *text = malloc(1000001);
        js_owned *item = NULL;

        memset(text, 'x', 1000000);
        text[1000000] = '\0';
        item = json_pack("{s:s}", "t", text);
        open_pair(NULL);
        p.b.silent = true;
        ask(json_pack("{s:s}", "op", "list"));
        run_until(&p.b.frames, 1);
        for (int i = 0; i < 70 && p.a.answers == 0; i++) {
                (void)conn_item(p.b.c, p.b.request, item, NULL);
                run_dry();
        }
        tap_ok(p.a.answers == 1 && p.a.code == PD_E_FULL && p.a.lost == 0,
                "an answer with too many items is given up, and the stream lives");
}

static void test_peer(void)
{
        struct conn_events none = { 0 };
        struct pd_error err = { 0 };
        struct conn *c = NULL;
        uint32_t uid = 1, gid = 1;
        int32_t pid = 0;
        int pipes[2], null;

        open_pair(NULL);
        tap_ok(conn_peer(p.a.c, &pid, &uid, &gid) == 0 && pid == getpid() && uid == getuid() && gid == getgid(),
                "a unix socket says who is there");
        if (pipe2(pipes, O_CLOEXEC) < 0)
                abort();
        tap_int(conn_new(&c, p.loop, pipes[0], &none, &err), 0, "any byte stream will do");
        tap_ok(conn_peer(c, &pid, &uid, &gid) < 0, "a pipe does not say who is there");
        js_owned *body = json_pack("{s:s}", "op", "x");
        tap_ok(conn_request(c, 0, body, NULL, 0, &pipes[1], 1, USEC_PER_SEC, on_answer, &p.a, &err) ==
                        -PD_E_UNSUPPORTED,
                "and carries no descriptors");
        c = conn_free(c);
        (void)close(pipes[1]);
        null = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
        if (null >= 0)
                tap_ok(conn_new(&c, p.loop, null, &none, &err) < 0 && fcntl(null, F_GETFD) >= 0,
                        "a file is no stream, and stays the caller's");
        (void)safe_close(null);
        tap_ok(conn_new(&c, p.loop, -1, &none, &err) == -PD_E_IO, "no descriptor is none either");
}

int main(void)
{
        test_answers();
        test_deadline();
        test_lost();
        test_last_words();
        test_bad_bytes();
        test_queue();
        test_many_pending();
        test_fds();
        test_stray_fds();
        test_items_bound();
        test_peer();
        close_all();
        return tap_done();
}
