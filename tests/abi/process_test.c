/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a plugin in a process of its own: nothing inherited, limits, an end with its parent, and one within its time. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_call.h"
#include "plugin_dir.h"
#include "tap.h"

#define PROGRAM TEST_BINARY_DIR "/core/host/portald-plugin-host"

static char dir[256], odd_path[512];

static struct host *open_odd(sd_event *loop, const char *behave, const char *at)
{
        js_owned *config = json_pack("{s:s,s:s}", "behave", behave, "at", at);
        struct host_params p = { .name = "lab",
                .path = odd_path,
                .kind = PD_KIND_PROVIDER,
                .config = config,
                .program = PROGRAM,
                .owner_uid = geteuid(),
                .memory_max = UINT64_C(512) << 20 };
        struct host *h = NULL;
        struct pd_error err = { 0 };

        if (host_open(&h, loop, &p, &err) < 0)
                tap_ok(false, "opens: %s", err.text);
        return h;
}

/* What the plugin says of its process; to be freed. */
static char *report(sd_event *loop, struct host *h)
{
        struct reply r = { 0 };
        char *text;

        (void)ask_wait(loop, h, &r, "validate", NULL, NULL, 0, NULL);
        text = strdup(js_str(r.text, "missing", ""));
        reply_clear(&r);
        return text;
}

static long long number(const char *report_text, const char *key)
{
        const char *at = strstr(report_text, key);

        return at ? strtoll(at + strlen(key), NULL, 10) : -99;
}

/* The names of what it found in its environment, with blanks between. */
static void environment(const char *report_text, char *to, size_t n)
{
        size_t len = 0;

        to[0] = '\0';
        for (const char *at = strstr(report_text, "\nenv "); at && len < n; at = strstr(at + 1, "\nenv "))
                if (!strstr(at, "SAN_OPTIONS=") || strstr(at, "SAN_OPTIONS=") > strchr(at + 1, '\n'))
                        len += (size_t)snprintf(to + len, n - len, "%.*s ", (int)strcspn(at + 5, "="), at + 5);
}

static void test_surroundings(sd_event *loop)
{
        struct host *h;
        pd_cleanup(freep) char *text = NULL;
        char names[512];
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        (void)setenv("SECRET_OF_THE_DAEMON", "1", 1);
        (void)unsetenv("TZ");
        tap_ok(null >= 0 && dup2(null, 77) == 77, "a descriptor that would be inherited is open");
        h = open_odd(loop, "report", "none");
        text = report(loop, h);
        environment(text, names, sizeof names);
        tap_str(names, "PATH LANG ", "law 19: nothing of the daemon's environment reaches a plugin");
        tap_int(number(text, "fd77="), -1, "no descriptor does");
        tap_ok(number(text, "pid=") > 0 && number(text, "pid=") == number(text, "session="),
                "it leads a session of its own");
        tap_int(number(text, "core="), 0, "it writes no core file");
        tap_int(number(text, "files="), 256, "it has 256 descriptors");
#ifdef PORTALD_SANITIZED
        tap_skip("its memory is limited", "a sanitizer maps more than the limit allows");
#else
        tap_int(number(text, "memory="), 512LL << 20, "its memory is limited");
#endif
        (void)close(77);
        (void)safe_close(null);
        host_free(h);
}

/* A process that opens a plugin, tells its host's pid and waits to be killed. */
static void be_a_daemon(int to)
{
        sd_event *loop = NULL;
        struct host *h;
        pd_cleanup(freep) char *text = NULL;
        int32_t pid;

        (void)sd_event_new(&loop);
        h = open_odd(loop, "report", "none");
        text = report(loop, h);
        pid = (int32_t)number(text, "pid=");
        (void)!write(to, &pid, sizeof pid);
        for (;;)
                (void)pause();
}

static bool ends(int pidfd, int ms)
{
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, ms) == 1;
}

static void test_orphan(void)
{
        int pipe_fds[2], pidfd;
        int32_t host_pid = 0;
        pid_t daemon;

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return;
        daemon = fork();
        if (daemon == 0)
                be_a_daemon(pipe_fds[1]);
        (void)!read(pipe_fds[0], &host_pid, sizeof host_pid);
        pidfd = pidfd_open(host_pid, 0);
        tap_ok(host_pid > 0 && pidfd >= 0 && !ends(pidfd, 0), "a plugin host runs below another process");
        (void)kill(daemon, SIGKILL);
        (void)waitpid(daemon, NULL, 0);
        tap_ok(ends(pidfd, 5000), "law 21: it ends when its parent is killed");
        (void)safe_close(pidfd);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
}

static int64_t now_us(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

/* Closing does not wait for a plugin that hangs. */
static void test_close_hung(sd_event *loop)
{
        struct host *h = open_odd(loop, "hang", "offers");
        struct reply hung = { 0 }, first = { 0 };
        int64_t start;

        (void)ask_wait(loop, h, &first, "caps", NULL, NULL, 0, NULL);
        ask(h, &hung, "offers", NULL, NULL, 0, NULL, USEC_PER_HOUR);
        (void)sd_event_run(loop, 100000);
        start = now_us();
        host_free(h);
        tap_ok(hung.done && hung.rc == -PD_E_CANCELLED, "a call that hangs is CANCELLED by host_free()");
        tap_ok(now_us() - start < 4 * USEC_PER_SEC, "... within two seconds and a kill (%lld ms)",
                (long long)(now_us() - start) / 1000);
        reply_clear(&hung);
        reply_clear(&first);
}

/* One that dies again and again is started again ever more slowly, and each call is told. */
static void test_backoff(sd_event *loop)
{
        struct host *h = open_odd(loop, "segfault", "offers");
        int64_t start = now_us();
        struct reply r = { 0 };
        int crashed = 0;

        for (int i = 0; i < 5; i++)
                crashed += ask_wait(loop, h, &r, "offers", NULL, NULL, 0, NULL) == -PD_E_CRASHED;
        tap_int(crashed, 5, "five calls into a plugin that dies each time are five errors");
        tap_ok(now_us() - start >= 1500 * USEC_PER_MSEC,
                "law 26: ... with 0.1, 0.2, 0.4 and 0.8 s of rest between (%lld ms)",
                (long long)(now_us() - start) / 1000);
        reply_clear(&r);
        host_free(h);
}

static void test_by_hand(void)
{
        int status = system(PROGRAM " >/dev/null 2>&1");

        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 2,
                "started by hand it says that it is not, and does nothing");
}

int main(void)
{
        sd_event *loop = NULL;

        if (!plugin_dir_make(dir) ||
                !plugin_dir_copy(dir, TEST_BINARY_DIR "/tests/abi/plugins/odd.so", NULL, odd_path) ||
                sd_event_new(&loop) < 0) {
                tap_ok(false, "plugins lie in a safe directory");
                return tap_done();
        }
        test_orphan();
        test_surroundings(loop);
        test_close_hung(loop);
        test_backoff(loop);
        test_by_hand();
        sd_event_unref(loop);
        plugin_dir_remove(dir);
        return tap_done();
}
