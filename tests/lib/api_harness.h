/* SPDX-License-Identifier: Apache-2.0 */
/* A server of core/api with a scripted engine, and clients of it, all in one thread. One test program includes this. */
#ifndef TESTS_API_HARNESS_H
#define TESTS_API_HARNESS_H

#include "api/api.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_engine.h"

#define ANSWER_MAX (4 * 1024 * 1024)
#define JOB_A "job_00000000000000000000000000"
#define JOB_B "job_00000000000000000000000001"

static struct {
        sd_event *loop;
        struct engine engine;
        struct api *api;
        char path[108];
        int reload_result;
} t;

/* --- the server --- */
static int reload(void *arg, json_t **ret_faults, struct pd_error *err)
{
        (void)arg;
        if (t.reload_result == 0)
                return 0;
        *ret_faults = json_pack(
                "[{s:s,s:s,s:s}]", "at", "portald.conf:3", "text", "unknown key", "fix", "did you mean runner?");
        return pd_fail(err, PD_E_INVALID, "portald.conf:3: unknown key \"runer\"");
}

static int listener(void)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(t.path, sizeof t.path, "/tmp/api-test-%d.sock", getpid());
        (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", t.path);
        (void)unlink(t.path);
        if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || chmod(t.path, 0666) < 0 || listen(fd, 128) < 0)
                abort();
        return fd;
}

static void serve(const struct api_options *options)
{
        struct pd_error err;

        t.engine = (struct engine){ 0 };
        if (sd_event_new(&t.loop) < 0 || api_new(&t.api, t.loop, listener(), &t.engine, options, &err) < 0)
                abort();
}

static void unserve(void)
{
        t.api = api_free(t.api);
        t.loop = sd_event_unref(t.loop);
        engine_fake_clear(&t.engine);
        (void)unlink(t.path);
}

/* --- a client --- */
struct client {
        int fd;
        char *text; /* what came so far */
        size_t n;
        bool closed;
};

static struct client client_new(void)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct client c = { .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                .text = calloc(1, ANSWER_MAX) };

        (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", t.path);
        if (c.fd < 0 || !c.text || connect(c.fd, (struct sockaddr *)&at, sizeof at) < 0)
                abort();
        return c;
}

static void client_free(struct client *c)
{
        if (c->fd >= 0)
                close(c->fd);
        free(c->text);
}

static void turn(void)
{
        (void)sd_event_run(t.loop, 5000);
}

static void client_read(struct client *c)
{
        ssize_t r;

        while ((r = recv(c->fd, c->text + c->n, ANSWER_MAX - 1 - c->n, MSG_DONTWAIT)) > 0)
                c->n += (size_t)r;
        c->closed |= r == 0 || (r < 0 && errno != EAGAIN);
        c->text[c->n] = '\0';
}

static void client_send(struct client *c, const char *data, size_t n)
{
        for (int i = 0; n > 0 && i < 100000; i++) {
                ssize_t r = send(c->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (r > 0) {
                        data += r;
                        n -= (size_t)r;
                } else {
                        if (errno == EPIPE)
                                return;
                        turn();
                }
                client_read(c);
        }
}

/* Turns the loop until the client has `what`, or is closed, or 10 s are over. */
static bool client_wait(struct client *c, const char *what)
{
        uint64_t start, now;

        (void)sd_event_now(t.loop, CLOCK_MONOTONIC, &start);
        do {
                client_read(c);
                if (what ? strstr(c->text, what) != NULL : c->closed)
                        return true;
                if (c->closed)
                        return false;
                turn();
                (void)sd_event_now(t.loop, CLOCK_MONOTONIC, &now);
        } while (now - start < 10 * 1000000);
        return false;
}

static const char *body_of(const char *answer)
{
        const char *b = strstr(answer, "\r\n\r\n");

        return b ? b + 4 : NULL;
}

/* A whole answer with a Content-Length. */
static bool client_answer(struct client *c)
{
        const char *length;
        uint64_t start, now;

        (void)sd_event_now(t.loop, CLOCK_MONOTONIC, &start);
        do {
                client_read(c);
                length = strstr(c->text, "Content-Length: ");
                if (body_of(c->text) && length && strlen(body_of(c->text)) >= strtoul(length + 16, NULL, 10))
                        return true;
                if (c->closed)
                        return false;
                turn();
                (void)sd_event_now(t.loop, CLOCK_MONOTONIC, &now);
        } while (now - start < 10 * 1000000);
        return false;
}

static void client_again(struct client *c)
{
        memset(c->text, 0, c->n);
        c->n = 0;
}

static void client_request(
        struct client *c, const char *method, const char *target, const char *headers, const char *body)
{
        char *text;
        int n = asprintf(&text, "%s %s HTTP/1.1\r\nHost: portald\r\n%sContent-Length: %zu\r\n\r\n%s", method, target,
                headers, strlen(body), body);

        if (n < 0)
                abort();
        client_send(c, text, (size_t)n);
        free(text);
}

/* One request on a connection of its own; the answer's text, freed by the caller. */
static char *ask(const char *method, const char *target, const char *headers, const char *body)
{
        struct client c = client_new();
        char *answer;

        client_request(&c, method, target, headers, body);
        (void)client_answer(&c);
        answer = strdup(c.text);
        client_free(&c);
        return answer;
}

static unsigned status_of(const char *answer)
{
        return str_starts(answer, "HTTP/1.1 ") ? (unsigned)strtoul(answer + 9, NULL, 10) : 0;
}

#endif
