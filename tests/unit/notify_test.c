/* SPDX-License-Identifier: Apache-2.0 */
/* Telling people: the command and the webhook, and that neither ever holds the loop up. */
#include "daemon/notify.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "tap.h"

static sd_event *loop;
static char dir[] = "/var/tmp/portald-notify-XXXXXX";

static int64_t now_us(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static bool run_until(bool (*good)(void *arg), void *arg)
{
        int64_t end = now_us() + 20 * USEC_PER_SEC;

        while (!good(arg) && now_us() < end)
                (void)sd_event_run(loop, 100000);
        return good(arg);
}

static json_t *event_of(int i)
{
        return json_pack("{s:s,s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:I}", "kind", "suspended", "text",
                "a notice; \"quoted\" $(x)", "n", i, "job", "job_1", "name", "train", "user", "ada", "state",
                "suspended", "cause", "notice", "resume_line", "portal resume job_1", "deadline_wall_us",
                (json_int_t)1764536184000001);
}

static const char *path_in(const char *name)
{
        static char ring[4][128];
        static unsigned int at;
        char *buf = ring[at++ % 4];

        (void)str_format(buf, sizeof ring[0], "%s/%s", dir, name);
        return buf;
}

static const char *script(const char *name, const char *text)
{
        const char *path = path_in(name);
        FILE *f = fopen(path, "we");

        if (!f || fprintf(f, "#!/bin/sh\n%s\n", text) < 0 || fclose(f) != 0 || chmod(path, 0755) < 0)
                abort();
        return path;
}

static bool has_lines(void *arg)
{
        const char *want = arg;
        static char text[1 << 20];
        FILE *f = fopen(path_in("out"), "re");
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

        text[n] = '\0';
        if (f)
                (void)fclose(f);
        return strstr(text, want) != NULL;
}

static void say(struct notify_command *c, int i)
{
        js_owned *e = event_of(i);

        notify_command_put(c, e);
}

static void test_command(void)
{
        struct notify_command *c = NULL;
        struct pd_error err;
        char text[600];
        int64_t begun;

        (void)tap_int(notify_command_new(&c, loop, 300 * USEC_PER_MSEC, &err), 0, "a command hook");
        say(c, 0);
        (void)str_format(text, sizeof text,
                "printf '%%s|' \"$PORTAL_KIND\" \"$PORTAL_USER\" \"$PORTAL_JOB_ID\" \"$PORTAL_CAUSE\" "
                "\"$PORTAL_RESUME\" "
                "\"$PORTAL_DEADLINE\" \"$PORTAL_MESSAGE\" >>%s/out; printf '%%s' \"$PORTAL_EVENT\" >>%s/out; echo end "
                ">>%s/out",
                dir, dir, dir);
        (void)tap_int(notify_command_set(c, script("tell", text), &err), 0, "is set");
        say(c, 1);
        (void)tap_ok(run_until(has_lines, (void *)(uintptr_t) "suspended|ada|job_1|notice|portal resume "
                                                              "job_1|2025-11-30T20:56:24.000001Z|a "
                                                              "notice; \"quoted\" $(x)|{"),
                "each event is in its environment, byte for byte");
        (void)tap_ok(run_until(has_lines, (void *)(uintptr_t) "}end"), "as JSON, too");

        (void)str_format(text, sizeof text,
                "case \"$PORTAL_EVENT\" in *'\"n\":2,'*) tail -f /dev/null;; *'\"n\":3,'*) exit 7;; esac; echo "
                "\"after $PORTAL_EVENT\" >>%s/out",
                dir);
        (void)notify_command_set(c, script("slow", text), &err);
        begun = now_us();
        for (int i = 2; i < 300; i++)
                say(c, i);
        (void)tap_ok(now_us() - begun < 2 * USEC_PER_SEC, "300 events take no time to hand over");
        (void)tap_ok(run_until(has_lines, (void *)(uintptr_t) "\"n\":4"),
                "one that hangs is killed, one that fails is said, and the next is told");
        (void)tap_ok(!has_lines((void *)(uintptr_t) "\"n\":299"), "what is more than the queue holds is dropped");
        (void)tap_int(notify_command_set(c, path_in("none"), &err), 0, "a program that is not there");
        say(c, 300);
        for (int i = 0; i < 20; i++)
                (void)sd_event_run(loop, 10000);
        (void)notify_command_set(c, script("tell", text), &err);
        say(c, 301);
        (void)tap_ok(run_until(has_lines, (void *)(uintptr_t) "\"n\":301"), "costs its own events and no more");
        c = notify_command_free(c);
}

/* --- a site's endpoint: answers what it is told to, one connection at a time, on a thread of its own --- */
static struct endpoint {
        int fd;
        char got[64][700];
        atomic_size_t n;
        int answers[8]; /* the first ones; then 200 */
} endpoint;

static void answer_one(struct endpoint *e, int c)
{
        size_t at = e->n, n = 0;
        int code = at < ARRAY_LEN(e->answers) && e->answers[at] ? e->answers[at] : 200;
        char answer[128], *body = NULL;

        while (!body || body[strlen(body) - 1] != '}') {
                ssize_t k = read(c, e->got[at] + n, sizeof e->got[0] - 1 - n);

                if (k <= 0)
                        break;
                n += (size_t)k;
                e->got[at][n] = '\0';
                body = strstr(e->got[at], "\r\n\r\n");
        }
        (void)str_format(
                answer, sizeof answer, "HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code);
        (void)!write(c, answer, strlen(answer));
        (void)close(c);
        e->n++;
}

static void *serve(void *arg)
{
        struct endpoint *e = arg;
        int c;

        while (e->n < ARRAY_LEN(e->got) && (c = accept(e->fd, NULL, NULL)) >= 0)
                answer_one(e, c);
        return NULL;
}

static int listen_at(char *url, size_t n)
{
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof a;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 16) < 0 ||
                getsockname(fd, (struct sockaddr *)&a, &len) < 0)
                abort();
        (void)str_format(url, n, "http://127.0.0.1:%d/hook", ntohs(a.sin_port));
        return fd;
}

static bool has_posts(void *arg)
{
        return endpoint.n >= *(size_t *)arg;
}

static void test_url(void)
{
        struct notify_url *u = NULL;
        struct pd_error err;
        char url[64], dead[64];
        int gone = listen_at(dead, sizeof dead);
        size_t want = 1;
        pthread_t thread;
        int64_t begun;

        (void)close(gone); /* nobody listens there any more */
        endpoint.fd = listen_at(url, sizeof url);
        endpoint.answers[1] = 503;
        endpoint.answers[3] = 404;
        if (pthread_create(&thread, NULL, serve, &endpoint) != 0)
                abort();
        (void)tap_int(notify_url_new(&u, loop, &err), 0, "a webhook");
        (void)tap_int(notify_url_set(u, url, &err), 0, "is set");
        for (int i = 1; i <= 3; i++) {
                js_owned *e = event_of(i);

                notify_url_put(u, e);
        }
        want = 4;
        (void)tap_ok(run_until(has_posts, &want), "each event is posted, one after another");
        (void)tap_ok(str_starts(endpoint.got[0], "POST /hook ") && strstr(endpoint.got[0], "application/json") &&
                             strstr(endpoint.got[0], "\"n\":1") && strstr(endpoint.got[0], "a notice"),
                "as JSON");
        (void)tap_ok(strstr(endpoint.got[1], "\"n\":2") && strstr(endpoint.got[2], "\"n\":2"),
                "503 is tried again after a while");
        (void)tap_has(endpoint.got[3], "\"n\":3", "and then the next");
        {
                js_owned *e = event_of(4);

                notify_url_put(u, e);
        }
        want = 5;
        (void)tap_ok(run_until(has_posts, &want) && strstr(endpoint.got[4], "\"n\":4"),
                "404 is not tried again, and costs that event only");
        (void)notify_url_set(u, dead, &err);
        begun = now_us();
        for (int i = 0; i < 400; i++) {
                js_owned *e = event_of(5 + i);

                notify_url_put(u, e);
                if (i % 40 == 0)
                        (void)sd_event_run(loop, 0);
        }
        (void)tap_ok(now_us() - begun < USEC_PER_SEC, "a dead endpoint holds nothing up");
        (void)notify_url_set(u, url, &err);
        want = 7; /* what was under way at the change is posted once more: told twice rather than not at all */
        (void)tap_ok(run_until(has_posts, &want) &&
                             (strstr(endpoint.got[5], "\"n\":5") || strstr(endpoint.got[6], "\"n\":5")),
                "and a reload to a good one delivers what waited");
        (void)notify_url_set(u, NULL, &err);
        u = notify_url_free(u);
        (void)shutdown(endpoint.fd, SHUT_RDWR);
        (void)pthread_join(thread, NULL);
        (void)close(endpoint.fd);
}

int main(void)
{
        char command[128];

        if (!mkdtemp(dir) || sd_event_new(&loop) < 0)
                return 1;
        log_open("notify", LOG_WARNING);
        test_command();
        test_url();
        (void)sd_event_unref(loop);
        (void)str_format(command, sizeof command, "rm -rf '%s'", dir);
        if (system(command) != 0)
                tap_note("%s stays", dir);
        return tap_done();
}
