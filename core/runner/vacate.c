/* SPDX-License-Identifier: Apache-2.0 */
/* `portal-runner --vacate-if-stopping`: what systemd runs when the service stops. A restart is left alone: jobs run on. When the machine
 * itself shuts down, the running runner is told, and this waits until nothing runs any more. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/runner.h"

#define VACATE_US (9 * USEC_PER_MIN) /* the service's TimeoutStopSec is 10 min */
#define ASK_EVERY_US (500 * USEC_PER_MSEC)

struct vacate {
        sd_event *loop;
        struct conn *conn;
        sd_event_source *again;
        int64_t until_boot_us;
        int result;
};

static void end(struct vacate *v, int result, const char *why)
{
        if (why)
                log_error("%s", why);
        v->result = result;
        (void)sd_event_exit(v->loop, 0);
}

static int ask_list(sd_event_source *s, uint64_t usec, void *arg);

static void on_list(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items)
{
        struct vacate *v = arg;
        const json_t *p;
        size_t i, live = 0;

        (void)items;
        if (err) {
                end(v, 1, err->text);
                return;
        }
        json_array_foreach (json_object_get(answer->json, "placements"), i, p) {
                const char *phase = js_str(p, "phase", "");

                live += !streq(phase, "exited") && !streq(phase, "failed");
        }
        if (live == 0)
                end(v, 0, NULL);
        else if (now_boot_us() > v->until_boot_us)
                end(v, 1, "jobs still run, and the time is over");
        else if (sd_event_add_time_relative(v->loop, &v->again, CLOCK_BOOTTIME, ASK_EVERY_US, 1000, ask_list, v) < 0)
                end(v, 1, "no memory");
}

static int ask_list(sd_event_source *s, uint64_t usec, void *arg)
{
        struct vacate *v = arg;
        js_owned *body = json_pack("{s:s}", "op", "list");
        struct pd_error err;

        (void)s, (void)usec;
        v->again = sd_event_source_disable_unref(v->again);
        if (conn_request(v->conn, 0, body, NULL, 0, NULL, 0, SHORT_US, on_list, v, &err) < 0)
                end(v, 1, err.text);
        return 0;
}

static void on_notice(void *arg, const struct pd_error *err, const struct frame *answer, json_t *items)
{
        struct vacate *v = arg;

        (void)answer, (void)items;
        if (err)
                end(v, 1, err->text);
        else
                (void)ask_list(NULL, 0, v);
}

static void on_frame(void *arg, struct conn *c, const struct frame *f, const int *fds, size_t n)
{
        (void)arg, (void)c, (void)f; /* events: the list says it all */
        for (size_t i = 0; i < n; i++)
                (void)close(fds[i]);
}

static void on_lost(void *arg, struct conn *c, const struct pd_error *err)
{
        (void)c;
        end(arg, 1, err ? err->text : "the runner went away");
}

static int connect_to(const char *path)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || !str_format(a.sun_path, sizeof a.sun_path, "%s", path) ||
                connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
                return safe_close(fd);
        return fd;
}

/* `systemctl is-system-running` exits 1 for any state but running: its word is what counts. */
static bool machine_stops(void)
{
        const char *argv[] = { "systemctl", "is-system-running", NULL };
        char out[256];
        struct pd_error err;

        return proc_run_now(argv, 10 * USEC_PER_SEC, out, sizeof out, &err) >= 0 && str_starts(out, "stopping");
}

static int vacate(const char *socket_path, int64_t span_us)
{
        struct vacate v = { .until_boot_us = now_boot_us() + span_us, .result = 1 };
        struct conn_events events = { .on_frame = on_frame, .on_lost = on_lost, .arg = &v };
        js_owned *body =
                json_pack("{s:s, s:I, s:s}", "op", "notice", "in_us", (json_int_t)span_us, "source", "shutdown");
        struct pd_error err;
        int fd = connect_to(socket_path);

        if (fd < 0) {
                log_warning("no runner answers at %s: nothing to vacate", socket_path);
                return 0;
        }
        if (sd_event_new(&v.loop) < 0 || conn_new(&v.conn, v.loop, fd, &events, &err) < 0 ||
                conn_request(v.conn, 0, body, NULL, 0, NULL, 0, SHORT_US, on_notice, &v, &err) < 0) {
                log_error("the runner cannot be told that the machine stops");
        } else {
                (void)sd_event_loop(v.loop);
        }
        sd_event_source_disable_unref(v.again);
        (void)conn_free(v.conn);
        sd_event_unref(v.loop);
        return v.result;
}

int vacate_main(const char *socket_path)
{
        const char *forced = getenv("PORTAL_RUNNER_VACATE_US"); /* for tests, and for machines without systemd */

        if (forced)
                return vacate(socket_path, strtoll(forced, NULL, 10));
        return machine_stops() ? vacate(socket_path, VACATE_US) : 0;
}
