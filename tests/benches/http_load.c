/* SPDX-License-Identifier: Apache-2.0 */
/* Keep-alive HTTP clients in one epoll loop, over a unix socket or loopback: what the benches and nothing else load a server with.
 *
 *   http_load --unix PATH | --tcp PORT  --connections N --requests N [--warmup N] --method M --path P [--body FILE] [--header "K: V"]...
 *
 * Each connection has one request under way; "{n}" in path and body becomes the request's number (from --first). Prints one JSON object: rate and latencies
 * over the requests after the warm-up, statuses, and the first bad answer. A request without an answer in 30 s ends the run. */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define IN_MAX (1 << 20)
#define CONNECTIONS_MAX 1024

struct plan {
        const char *unix_path, *method, *path;
        int port, connections;
        long requests, warmup, first;
        char *body, headers[4096];
};

struct connection {
        int fd;
        bool busy;
        char *in;
        size_t in_n, out_n, out_at;
        char *out;
        int64_t began_ns;
        long number;
};

static struct plan plan = { .method = "GET", .path = "/", .connections = 64, .requests = 1000, .first = 1 };
static struct connection connections[CONNECTIONS_MAX];
static int64_t *took_ns;
static long sent, done, statuses[600], bad;
static char first_bad[600];

static _Noreturn void die(const char *what)
{
        fprintf(stderr, "http_load: %s: %s (after %ld answers)\n", what, strerror(errno), done);
        exit(1);
}

static int64_t now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *need(void *p)
{
        if (!p)
                die("memory");
        return p;
}

static char *read_file(const char *path)
{
        FILE *f = fopen(path, "rb");
        char *text = need(calloc(1, IN_MAX));

        if (!f || fread(text, 1, IN_MAX - 1, f) == 0)
                die(path);
        (void)fclose(f);
        return text;
}

/* "{n}" becomes the number. */
static size_t expand(char *to, size_t room, const char *from, long number)
{
        size_t n = 0;

        for (const char *at; (at = strstr(from, "{n}")) && n < room; from = at + 3)
                n += (size_t)snprintf(to + n, room - n, "%.*s%ld", (int)(at - from), from, number);
        n += (size_t)snprintf(to + n, n < room ? room - n : 0, "%s", from);
        return n < room ? n : room - 1;
}

static void dial(struct connection *c, int epoll)
{
        struct sockaddr_un local = { .sun_family = AF_UNIX };
        struct sockaddr_in tcp = {
                .sin_family = AF_INET, .sin_port = htons((uint16_t)plan.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
        };
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
        int one = 1;

        c->fd = socket(plan.unix_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0)
                die("socket");
        if (plan.unix_path) {
                (void)snprintf(local.sun_path, sizeof local.sun_path, "%s", plan.unix_path);
                if (connect(c->fd, (struct sockaddr *)&local, sizeof local) < 0)
                        die(plan.unix_path);
        } else {
                if (connect(c->fd, (struct sockaddr *)&tcp, sizeof tcp) < 0)
                        die("connect");
                (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        }
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e) < 0)
                die("epoll_ctl");
        c->in_n = 0;
}

/* Requests are small: a blocking write of one is not waited for by the server. */
static void write_out(struct connection *c)
{
        while (c->out_at < c->out_n) {
                ssize_t n = send(c->fd, c->out + c->out_at, c->out_n - c->out_at, MSG_NOSIGNAL);

                if (n < 0 && errno != EINTR)
                        die("send");
                c->out_at += n > 0 ? (size_t)n : 0;
        }
}

static void ask(struct connection *c)
{
        static char path[4096], body[IN_MAX];
        size_t body_n = 0;

        if (sent >= plan.requests + plan.warmup)
                return;
        c->number = sent++;
        (void)expand(path, sizeof path, plan.path, plan.first + c->number);
        if (plan.body)
                body_n = expand(body, sizeof body, plan.body, plan.first + c->number);
        c->out_n = (size_t)snprintf(c->out, IN_MAX, "%s %s HTTP/1.1\r\nHost: bench\r\nConnection: keep-alive\r\n%s",
                plan.method, path, plan.headers);
        if (plan.body)
                c->out_n += (size_t)snprintf(c->out + c->out_n, IN_MAX - c->out_n,
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_n);
        c->out_n += (size_t)snprintf(c->out + c->out_n, IN_MAX - c->out_n, "\r\n%s", plan.body ? body : "");
        c->out_at = 0;
        c->busy = true;
        c->began_ns = now_ns();
        write_out(c);
}

static void answered(struct connection *c, int status, const char *body, size_t body_n)
{
        if (c->number >= plan.warmup)
                took_ns[c->number - plan.warmup] = now_ns() - c->began_ns;
        if (status > 0 && status < 600)
                statuses[status]++;
        if ((status < 200 || status > 299) && bad++ == 0)
                (void)snprintf(
                        first_bad, sizeof first_bad, "%d %.*s", status, (int)(body_n < 500 ? body_n : 500), body);
        c->busy = false;
        done++;
}

/* One whole answer at the front of the buffer? Its length, 0 = not yet. Only Content-Length is understood; none = no body. */
static size_t whole_answer(struct connection *c, int *ret_status, size_t *ret_head, bool *ret_last)
{
        char *end = memmem(c->in, c->in_n, "\r\n\r\n", 4), *length;
        size_t head, body = 0;

        if (!end)
                return 0;
        head = (size_t)(end - c->in) + 4;
        *end = '\0';
        length = strcasestr(c->in, "\r\nContent-Length:");
        if (length)
                body = strtoul(length + 17, NULL, 10);
        else if (strcasestr(c->in, "chunked"))
                errno = EPROTO, die("a chunked answer is not understood");
        *ret_last = strcasestr(c->in, "\r\nConnection: close") != NULL;
        *end = '\r';
        if (sscanf(c->in, "HTTP/1.%*d %d", ret_status) != 1)
                errno = EPROTO, die("not HTTP");
        *ret_head = head;
        return c->in_n >= head + body ? head + body : 0;
}

static void readable(struct connection *c, int epoll)
{
        ssize_t n = recv(c->fd, c->in + c->in_n, IN_MAX - c->in_n, 0);
        size_t whole, head = 0;
        bool last = false;
        int status = 0;

        if (n <= 0) {
                (void)close(c->fd);
                if (c->busy && c->in_n > 0)
                        errno = EPROTO, die("cut off in an answer");
                dial(c, epoll); /* a server may end a kept connection; the request under way goes again */
                if (c->busy)
                        c->out_at = 0, write_out(c);
                return;
        }
        c->in_n += (size_t)n;
        whole = whole_answer(c, &status, &head, &last);
        if (whole == 0)
                return;
        answered(c, status, c->in + head, whole - head);
        memmove(c->in, c->in + whole, c->in_n - whole);
        c->in_n -= whole;
        if (last) { /* a server that keeps no connection is dialled anew */
                (void)close(c->fd);
                dial(c, epoll);
        }
        ask(c);
}

static int by_value(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static void report(int64_t ns)
{
        long n = plan.requests;

        qsort(took_ns, (size_t)n, sizeof *took_ns, by_value);
        printf("{\"requests\":%ld,\"bad\":%ld,\"us\":%lld,\"per_s\":%lld,\"p50_us\":%lld,\"p99_us\":%lld,\"max_us\":%"
               "lld,\"statuses\":{",
                n, bad, (long long)(ns / 1000), (long long)(n * (__int128)1000000000 / (ns ? ns : 1)),
                (long long)(took_ns[n / 2] / 1000), (long long)(took_ns[n * 99 / 100] / 1000),
                (long long)(took_ns[n - 1] / 1000));
        for (int i = 0, first = 1; i < 600; i++)
                if (statuses[i]) {
                        printf("%s\"%d\":%ld", first ? "" : ",", i, statuses[i]);
                        first = 0;
                }
        printf("}}\n");
        if (bad)
                fprintf(stderr, "http_load: %ld bad answers, the first: %s\n", bad, first_bad);
}

static void run(int epoll)
{
        struct epoll_event events[64];
        int64_t began = 0;

        for (int i = 0; i < plan.connections; i++) {
                connections[i].in = need(malloc(IN_MAX));
                connections[i].out = need(malloc(IN_MAX));
                dial(&connections[i], epoll);
        }
        began = now_ns();
        for (int i = 0; i < plan.connections; i++)
                ask(&connections[i]);
        while (done < plan.requests + plan.warmup) {
                int n = epoll_wait(epoll, events, 64, 30000);

                if (n == 0 || (n < 0 && errno != EINTR)) {
                        errno = n == 0 ? ETIMEDOUT : errno;
                        die("waiting for answers");
                }
                for (int i = 0; i < n; i++) {
                        bool warm = done < plan.warmup;

                        readable(events[i].data.ptr, epoll);
                        if (warm && done >= plan.warmup)
                                began = now_ns();
                }
        }
        report(now_ns() - began);
}

static void parse(int argc, char **argv)
{
        static const struct option options[] = { { "unix", 1, NULL, 'u' }, { "tcp", 1, NULL, 't' },
                { "connections", 1, NULL, 'c' }, { "requests", 1, NULL, 'n' }, { "warmup", 1, NULL, 'w' },
                { "method", 1, NULL, 'm' }, { "path", 1, NULL, 'p' }, { "body", 1, NULL, 'b' },
                { "header", 1, NULL, 'h' }, { "first", 1, NULL, 'f' }, { 0 } };
        size_t used = 0;

        for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
                switch (o) {
                case 'u':
                        plan.unix_path = optarg;
                        break;
                case 't':
                        plan.port = atoi(optarg);
                        break;
                case 'c':
                        plan.connections = atoi(optarg);
                        break;
                case 'n':
                        plan.requests = atol(optarg);
                        break;
                case 'w':
                        plan.warmup = atol(optarg);
                        break;
                case 'm':
                        plan.method = optarg;
                        break;
                case 'p':
                        plan.path = optarg;
                        break;
                case 'b':
                        plan.body = read_file(optarg);
                        break;
                case 'f':
                        plan.first = atol(optarg);
                        break;
                case 'h':
                        used += (size_t)snprintf(plan.headers + used, sizeof plan.headers - used, "%s\r\n", optarg);
                        break;
                default:
                        exit(2);
                }
        if (used >= sizeof plan.headers || plan.requests < 1 || plan.connections < 1 ||
                plan.connections > CONNECTIONS_MAX || (!plan.unix_path && !plan.port))
                exit(2);
}

int main(int argc, char **argv)
{
        int epoll = epoll_create1(EPOLL_CLOEXEC);

        parse(argc, argv);
        if (epoll < 0)
                die("epoll_create1");
        took_ns = need(calloc((size_t)plan.requests, sizeof *took_ns));
        run(epoll);
        return bad ? 1 : 0;
}
