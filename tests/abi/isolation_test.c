/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that misbehave, in a process of their own: each fault is an error of that call alone, and a plugin beside goes on answering.
 * What behaves, behaves alike under both isolations: one suite, run twice. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <portald/provider.h>

#include "plugin_dir.h"
#include "host_call.h"
#include "tap.h"

#define PROGRAM TEST_BINARY_DIR "/core/host/portald-plugin-host"
#define PLUGINS TEST_BINARY_DIR "/tests/abi/plugins"

static sd_event *loop;
static char dir[256], odd_path[512], concurrent_path[512], bare_path[512];

static int open_odd(struct host **ret, const char *path, const char *behave, const char *at,
        enum host_isolation isolation, struct pd_error *err)
{
        js_owned *config = json_pack("{s:s,s:s}", "behave", behave, "at", at);
        struct host_params p = { .name = "lab",
                .path = path,
                .kind = PD_KIND_PROVIDER,
                .config = config,
                .isolation = isolation,
                .program = PROGRAM,
                .owner_uid = geteuid(),
                .memory_max = UINT64_C(256) << 20 };

        return host_open(ret, loop, &p, err);
}

static struct host *must_open(const char *path, const char *behave, const char *at, enum host_isolation isolation)
{
        struct host *h = NULL;
        struct pd_error err;

        if (open_odd(&h, path, behave, at, isolation, &err) < 0) {
                tap_ok(false, "opens: %s", err.text);
                exit(tap_done());
        }
        return h;
}

static json_t *launch_args(void)
{
        return json_pack("{s:s,s:s,s:i,s:I,s:{s:s,s:s}}", "zone", "a", "type", "small", "market", PD_MARKET_SPOT,
                "stop_wall_us", (json_int_t)1900000000000000, "tags", "zz", "1", "portald", "ins_1");
}

/* Faults of the whole plugin: what the call gets as a query and with a token. `in_process` runs only where it can be survived. */
static const struct {
        const char *behave, *name, *part; /* part: of the sentence */
        bool limit;                       /* needs RLIMIT_AS */
} deaths[] = {
        { "segfault", "segfaults", "killed by signal 11", false },
        { "exit", "calls exit()", "called exit(3)", false },
        { "leak", "allocates without end", "killed by signal 6", true },
};

/* `beside` answers while the call into `h` is under way. */
static void answers_beside(struct host *beside, const char *name)
{
        struct reply r = { 0 };

        tap_ok(ask_wait(loop, beside, &r, "offers", NULL, NULL, 0, NULL) == 0 && json_array_size(r.items) == 2,
                "law 21: another instance answers while one %s", name);
        reply_clear(&r);
}

static void test_deaths(struct host *beside)
{
        for (size_t i = 0; i < ARRAY_LEN(deaths); i++) {
                struct reply r = { 0 }, again = { 0 };
                struct host *h;

#ifdef PORTALD_SANITIZED
                if (deaths[i].limit) {
                        tap_skip("a plugin that allocates without end", "a sanitizer maps more than the limit allows");
                        continue;
                }
#endif
                h = must_open(odd_path, deaths[i].behave, "offers", HOST_PROCESS);
                ask(h, &r, "offers", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC);
                answers_beside(beside, deaths[i].name);
                (void)turn_until(loop, &r.done, 25 * USEC_PER_SEC);
                tap_ok(r.rc == -PD_E_CRASHED && r.calls == 1, "a query into a plugin that %s is CRASHED, once (%d)",
                        deaths[i].name, r.rc);
#ifndef PORTALD_SANITIZED /* whose handlers turn signals into exits */
                tap_has(r.err.text, deaths[i].part, "... and says how it died");
#endif
                tap_has(r.err.text, "odd (lab)", "... naming plugin and connection");
                tap_ok(ask_wait(loop, h, &again, "caps", NULL, NULL, 0, NULL) == 0,
                        "... and the next call finds it started again: %s", again.err.text);
                reply_clear(&r);
                reply_clear(&again);
                host_free(h);
        }
}

static void test_death_with_token(void)
{
        struct reply r = { 0 }, waiting = { 0 };
        struct host *h = must_open(odd_path, "segfault", "launch", HOST_PROCESS);

        ask(h, &r, "launch", launch_args(), NULL, 0, "tok-1", 20 * USEC_PER_SEC);
        ask(h, &waiting, "caps", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC);
        (void)turn_until(loop, &waiting.done, 25 * USEC_PER_SEC);
        tap_int(r.rc, -PD_E_UNKNOWN_OUTCOME, "a launch with a token that dies is an unknown outcome");
        tap_int(waiting.rc, 0, "a call that waited behind it is answered by the plugin's next process");
        reply_clear(&r);
        reply_clear(&waiting);
        host_free(h);
}

/* Three hang at once, so that one wait of deadline and grace serves them all. */
static void test_hangs(struct host *beside)
{
        struct reply query = { 0 }, token = { 0 }, inside = { 0 }, behind = { 0 }, after = { 0 }, stuck = { 0 },
                     refused = { 0 };
        struct host *a = must_open(odd_path, "hang", "offers", HOST_PROCESS),
                    *b = must_open(odd_path, "hang", "launch", HOST_PROCESS),
                    *c = must_open(odd_path, "slow", "offers", HOST_NONE),
                    *d = must_open(odd_path, "hang", "offers", HOST_NONE);

        ask(a, &query, "offers", NULL, NULL, 0, NULL, 100 * USEC_PER_MSEC);
        ask(b, &token, "launch", launch_args(), NULL, 0, "tok-2", 100 * USEC_PER_MSEC);
        ask(a, &behind, "caps", NULL, NULL, 0, NULL, 100 * USEC_PER_MSEC);
        ask(c, &inside, "offers", NULL, NULL, 0, NULL, 100 * USEC_PER_MSEC);
        ask(d, &stuck, "offers", NULL, NULL, 0, NULL, 100 * USEC_PER_MSEC);
        answers_beside(beside, "hangs past its deadline");
        (void)turn_until(loop, &behind.done, 5 * USEC_PER_SEC);
        tap_int(behind.rc, -PD_E_TRANSIENT, "a call whose deadline passes in the queue was never begun: TRANSIENT");
        (void)turn_until(loop, &inside.done, 5 * USEC_PER_SEC);
        tap_int(inside.rc, -PD_E_CANCELLED,
                "isolation none: cancelled() turns true at the deadline, and the plugin comes back by itself");
        (void)turn_until(loop, &query.done, 20 * USEC_PER_SEC);
        (void)turn_until(loop, &token.done, 20 * USEC_PER_SEC);
        tap_int(query.rc, -PD_E_DEADLINE, "a query that hangs is DEADLINE after the grace");
        tap_int(token.rc, -PD_E_UNKNOWN_OUTCOME, "a launch that hangs is an unknown outcome after the grace");
        tap_has(token.err.text, "launch did not return within", "... and says so");
        (void)turn_until(loop, &stuck.done, 20 * USEC_PER_SEC);
        tap_int(stuck.rc, -PD_E_DEADLINE, "isolation none: a call that never comes back is DEADLINE all the same");
        ask(d, &refused, "caps", NULL, NULL, 0, NULL, 200 * USEC_PER_MSEC);
        (void)turn_until(loop, &refused.done, 5 * USEC_PER_SEC);
        tap_int(refused.rc, -PD_E_TRANSIENT, "... and the plugin gets no other call while its thread is out");
        tap_ok(ask_wait(loop, a, &after, "caps", NULL, NULL, 0, NULL) == 0,
                "the killed plugin is started again for the next call");
        reply_clear(&query);
        reply_clear(&token);
        reply_clear(&inside);
        reply_clear(&behind);
        reply_clear(&after);
        host_free(a);
        host_free(b);
        host_free(c);
        host_free(d); /* leaves the thread alone */
        reply_clear(&stuck);
        reply_clear(&refused);
}

/* Nonsense that is judged: behaviour, slot, with a token?, a part of the sentence. */
static const struct {
        const char *behave, *slot, *part;
        bool token;
} nonsense[] = {
        { "negative price", "offers", "price_nano_hour is -1", false },
        { "unknown currency", "offers", "\"XXQ\" is no ISO 4217", false },
        { "unknown enum", "offers", "market 7", false },
        { "null name", "offers", "zone is NULL", false },
        { "bad name", "offers", "may only have the characters", false },
        { "not utf-8", "offers", "not UTF-8", false },
        { "no size", "offers", "its size is 0", false },
        { "huge text", "offers", "gpu_model is longer than 64", false },
        { "null item", "offers", "handed out as NULL", false },
        { "twice", "offers", "came twice", false },
        { "a million items", "offers", "more than 100000 items", false },
        { "unknown lease", "caps", "lease 99", false },
        { "unknown flag", "caps", "flags 0x40000003", false },
        { "negative time", "caps", "settle_us is -1", false },
        { "null id", "launch", "id is NULL", true },
        { "empty id", "launch", "id is empty", true },
        { "another token", "launch", "\"somebody-elses\"", true },
        { "no machine", "launch", "0 items", true },
        { "two machines", "launch", "2 items", true },
        { "another id", "describe", "\"i-of-another\"", false },
        { "another token", "find", "was asked about \"tok-9\"", false },
        { "another's", "list_owned", "it is another's", false },
        { "negative stop", "renew", "stop_wall_us is -5", true },
        { "no code", "offers", "returned 77, which is no code", false },
};

static json_t *args_for(const char *slot)
{
        if (streq(slot, "launch"))
                return launch_args();
        if (streq(slot, "describe"))
                return json_pack("{s:s}", "id", "i-1");
        if (streq(slot, "find"))
                return json_pack("{s:s}", "op_token", "tok-9");
        if (streq(slot, "list_owned"))
                return json_pack("{s:{s:s}}", "expect_tags", "portald", "ins_1");
        if (streq(slot, "renew"))
                return json_pack("{s:s,s:{s:s},s:I}", "id", "i-1", "expect_tags", "portald", "ins_1", "stop_wall_us",
                        (json_int_t)1900000000000001);
        return NULL;
}

static void test_nonsense(enum host_isolation isolation, const char *how)
{
        for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
                struct host *h = must_open(odd_path, nonsense[i].behave, nonsense[i].slot, isolation);
                int want = nonsense[i].token ? -PD_E_UNKNOWN_OUTCOME : -PD_E_INTERNAL;
                struct reply r = { 0 };
                int rc = ask_wait(loop, h, &r, nonsense[i].slot, args_for(nonsense[i].slot), NULL, 0,
                        nonsense[i].token ? "tok-9" : NULL);

                tap_ok(rc == want && r.calls == 1 && strstr(r.err.text, nonsense[i].part) &&
                                strstr(r.err.text, "plugin odd"),
                        "%s: %s by %s is refused, naming the plugin: %s", how, nonsense[i].behave, nonsense[i].slot,
                        r.err.text);
                reply_clear(&r);
                host_free(h);
        }
}

/* What behaves. */

static void test_errors(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "capacity", "launch", isolation),
                    *bad = must_open(odd_path, "bad error", "launch", isolation);
        struct reply r = { 0 };

        (void)ask_wait(loop, h, &r, "launch", launch_args(), NULL, 0, "tok-3");
        tap_ok(r.rc == -PD_E_CAPACITY && streq(r.err.text, "none left in a") && r.err.retry_after_us == 5000000 &&
                        streq(r.err.provider_code, "InsufficientInstanceCapacity"),
                "%s: a plugin's error comes with its text, its provider's code and when to ask again", how);
        (void)ask_wait(loop, bad, &r, "launch", launch_args(), NULL, 0, "tok-4");
        tap_ok(r.rc == -PD_E_CAPACITY && strstr(r.err.text, "no explanation"),
                "%s: an error filled with rubbish keeps its code only", how);
        (void)ask_wait(loop, h, &r, "validate", NULL, NULL, 0, NULL);
        tap_ok(r.rc == -PD_E_AUTH && streq(js_str(r.text, "missing", ""), "ec2:RunInstances"),
                "%s: put() refuses unknown keys and a MiB, replaces, and its text comes with an error too: %s", how,
                r.err.text);
        reply_clear(&r);
        host_free(h);
        host_free(bad);
}

static void test_exec(struct host *h, const char *how)
{
        int in[2], out[2], err_pipe[2];
        struct reply r = { 0 };
        char got[64] = "";

        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(err_pipe, O_CLOEXEC) < 0 ||
                write(in[1], "hello", 5) != 5) {
                tap_ok(false, "pipes");
                return;
        }
        (void)close(in[1]);
        (void)ask_wait(loop, h, &r, "exec", json_pack("{s:s,s:[s,s]}", "id", "i-1", "argv", "cat", "-u"),
                (int[]){ in[0], out[1], err_pipe[1] }, 3, NULL);
        tap_ok(r.rc == 0 && js_int(r.ret, "status", 0) == 7 << 8, "%s: exec returns the wait status", how);
        tap_ok(read(out[0], got, sizeof got - 1) > 0 && streq(got, "cat -u hello"),
                "%s: three descriptors and argv arrive in order", how);
        reply_clear(&r);
        (void)close(in[0]);
        (void)close(out[0]);
        (void)close(out[1]);
        (void)close(err_pipe[0]);
        (void)close(err_pipe[1]);
}

static void test_well(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "well", "none", isolation);
        struct reply r = { 0 };
        const json_t *tags;

        tap_str(host_plugin_name(h), "odd", "the plugin's name is the head's");
        tap_str(host_plugin_version(h), "1.0", "and so is its version");
        (void)ask_wait(loop, h, &r, "caps", NULL, NULL, 0, NULL);
        tap_ok(r.rc == 0 && js_int(r.ret, "lease", 0) == PD_LEASE_NATIVE_MOVABLE && json_array_size(r.items) == 0,
                "%s: caps", how);
        (void)ask_wait(loop, h, &r, "launch", launch_args(), NULL, 0, "tok-5");
        tags = json_object_get(json_array_get(r.items, 0), "tags");
        tap_ok(r.rc == 0 && streq(js_str(json_array_get(r.items, 0), "op_token", ""), "tok-5"),
                "%s: the token reaches the plugin", how);
        tap_str(json_object_iter_key(json_object_iter((json_t *)(uintptr_t)tags)), "zz",
                "tags go out and come back in the caller's order");
        (void)ask_wait(loop, h, &r, "notice", json_pack("{s:s}", "id", "i-1"), NULL, 0, NULL);
        tap_ok(r.rc == 0 && js_int(r.ret, "at_wall_us", -1) == 0, "%s: an absent notice() means none", how);
        (void)ask_wait(loop, h, &r, "guest_stop_recipe", json_pack("{s:s}", "id", "i-1"), NULL, 0, NULL);
        tap_ok(r.rc == 0 && streq(js_str(r.text, "recipe", "?"), ""), "%s: an absent guest_stop_recipe() is empty",
                how);
        (void)ask_wait(loop, h, &r, "cost",
                json_pack(
                        "{s:s,s:i,s:I}", "id", "i-1", "from_wall_us", 0, "to_wall_us", (json_int_t)(2 * USEC_PER_HOUR)),
                NULL, 0, NULL);
        tap_ok(r.rc == 0 && js_int(r.ret, "nano", 0) == 700000000 && js_int(r.ret, "is_estimate", 0) == 1,
                "%s: an absent cost() is price x time, and an estimate", how);
        (void)ask_wait(loop, h, &r, "put", json_pack("{s:s,s:s}", "id", "i-1", "path", "/x"), (int[]){ 0 }, 1, NULL);
        tap_int(r.rc, -PD_E_UNSUPPORTED, "an absent put() is UNSUPPORTED");
        (void)ask_wait(loop, h, &r, "actions", NULL, NULL, 0, NULL);
        tap_ok(r.rc == 0 && streq(json_string_value(json_array_get(r.items, 1)), "odd:Run"),
                "%s: actions are plain strings", how);
        (void)ask_wait(loop, h, &r, "terminate", json_pack("{s:s}", "id", "i-1"), NULL, 0, "tok-6");
        tap_int(r.rc, -PD_E_PERM, "no tags given is NULL for the plugin");
        test_exec(h, how);
        reply_clear(&r);
        host_free(h);
}

static void test_large(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "many items", "none", isolation),
                    *log = must_open(odd_path, "chatty", "none", isolation);
        struct reply r = { 0 };

        (void)ask_wait(loop, h, &r, "offers", NULL, NULL, 0, NULL);
        tap_ok(r.rc == 0 && json_array_size(r.items) == 20002 &&
                        streq(js_str(json_array_get(r.items, 19999), "type", ""), "t19999"),
                "%s: 20002 offers, several frames long, arrive whole and in order", how);
        (void)ask_wait(loop, log, &r, "offers", NULL, NULL, 0, NULL);
        tap_int(r.rc, 0, "a plugin that logs 5000 lines in one call is answered all the same");
        reply_clear(&r);
        host_free(h);
        host_free(log);
}

/* Refusals of host_call() itself. */
static void test_refusals(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "well", "none", isolation);
        struct reply r = { 0 };

        ask(h, &r, "no_such", NULL, NULL, 0, NULL, USEC_PER_SEC);
        tap_ok(r.refused && r.rc == -PD_E_UNSUPPORTED, "%s: a slot that no provider has is refused at once: %s", how,
                r.err.text);
        ask(h, &r, "describe", json_pack("{s:s,s:i}", "id", "i-1", "nmae", 1), NULL, 0, NULL, USEC_PER_SEC);
        tap_ok(r.refused && r.rc == -PD_E_INVALID && strstr(r.err.text, "\"nmae\""),
                "%s: an unknown argument is refused: %s", how, r.err.text);
        ask(h, &r, "describe", NULL, NULL, 0, NULL, USEC_PER_SEC);
        tap_ok(r.refused && strstr(r.err.text, "id is missing"), "%s: a missing argument is refused: %s", how,
                r.err.text);
        ask(h, &r, "exec", json_pack("{s:s,s:[s]}", "id", "i-1", "argv", "x"), NULL, 0, NULL, USEC_PER_SEC);
        tap_ok(r.refused && strstr(r.err.text, "3 descriptors"), "%s: missing descriptors are refused: %s", how,
                r.err.text);
        ask(h, &r, "launch", launch_args(), NULL, 0, "no blanks", USEC_PER_SEC);
        tap_ok(r.refused && strstr(r.err.text, "token"), "%s: a token with a blank is refused: %s", how, r.err.text);
        ask(h, &r, "caps", NULL, NULL, 0, NULL, 0);
        tap_ok(r.refused && strstr(r.err.text, "deadline"), "%s: no deadline is refused: %s", how, r.err.text);
        reply_clear(&r);
        host_free(h);
}

static void test_queue(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "well", "none", isolation);
        static struct reply r[HOST_QUEUE_MAX + 1];
        int good = 0, cancelled = 0;

        for (size_t i = 0; i <= HOST_QUEUE_MAX; i++)
                ask(h, &r[i], "caps", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC);
        tap_ok(r[HOST_QUEUE_MAX].refused && r[HOST_QUEUE_MAX].rc == -PD_E_FULL && !r[0].done,
                "%s: the queue holds 256 calls, refuses one more, and calls nobody back meanwhile", how);
        (void)turn_until(loop, &r[HOST_QUEUE_MAX - 1].done, 30 * USEC_PER_SEC);
        for (size_t i = 0; i < HOST_QUEUE_MAX; i++)
                good += r[i].rc == 0 && r[i].calls == 1;
        tap_int(good, HOST_QUEUE_MAX, "each of them is called back once, in order");
        for (size_t i = 0; i < 5; i++)
                ask(h, &r[i], "caps", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC);
        host_free(h);
        for (size_t i = 0; i < 5; i++)
                cancelled += r[i].rc == -PD_E_CANCELLED && r[i].calls == 1;
        tap_int(cancelled, 5, "host_free() calls the pending ones back as CANCELLED");
        for (size_t i = 0; i <= HOST_QUEUE_MAX; i++)
                reply_clear(&r[i]);
}

static void free_in_callback(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct host **h = arg;

        (void)err, (void)ret, (void)items, (void)text;
        *h = host_free(*h);
}

static void test_freed_inside(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(odd_path, "well", "none", isolation);
        struct reply behind = { 0 };
        struct pd_error err;

        (void)host_call(h, "caps", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC, free_in_callback, &h, &err);
        ask(h, &behind, "caps", NULL, NULL, 0, NULL, 20 * USEC_PER_SEC);
        (void)turn_until(loop, &behind.done, 25 * USEC_PER_SEC);
        tap_ok(!h && behind.rc == -PD_E_CANCELLED, "%s: a callback may free the host", how);
        reply_clear(&behind);
}

static void test_concurrent(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(concurrent_path, "slow", "offers", isolation);
        struct reply slow = { 0 }, quick = { 0 };

        ask(h, &slow, "offers", NULL, NULL, 0, NULL, 500 * USEC_PER_MSEC);
        (void)ask_wait(loop, h, &quick, "caps", NULL, NULL, 0, NULL);
        tap_ok(quick.rc == 0 && !slow.done, "%s: a plugin that says CONCURRENT answers one call during another", how);
        (void)turn_until(loop, &slow.done, 10 * USEC_PER_SEC);
        tap_int(slow.rc, -PD_E_CANCELLED, "... and the other one afterwards");
        reply_clear(&slow);
        reply_clear(&quick);
        host_free(h);
}

static void test_bare(enum host_isolation isolation, const char *how)
{
        struct host *h = must_open(bare_path, "well", "none", isolation);
        struct reply r = { 0 };

        (void)ask_wait(loop, h, &r, "validate", NULL, NULL, 0, NULL);
        tap_ok(r.rc == 0 && json_object_size(r.text) == 0, "%s: an absent validate() asks caps()", how);
        reply_clear(&r);
        host_free(h);
}

static void test_open(enum host_isolation isolation, const char *how)
{
        struct host *h = NULL;
        struct pd_error err;
        int rc = open_odd(&h, odd_path, "refuse", "open", isolation, &err);

        tap_ok(!h && rc == -PD_E_AUTH && streq(err.subject, "behave"),
                "%s: an error of open() reaches host_open() whole: %s", how, err.text);
        host_free(h);
}

static void test_open_dies(void)
{
        struct host *h = NULL;
        struct pd_error err;
        int rc = open_odd(&h, odd_path, "die open", "open", HOST_PROCESS, &err);

        tap_ok(!h && rc == -PD_E_CRASHED && strstr(err.text, "while it was loaded"),
                "a plugin that dies in open() is an error: %s", err.text);
        host_free(h);
}

int main(void)
{
        static const struct {
                enum host_isolation isolation;
                const char *how;
        } both[] = { { HOST_PROCESS, "process" }, { HOST_NONE, "none" } };
        struct host *beside;

        if (!plugin_dir_make(dir) || !plugin_dir_copy(dir, PLUGINS "/odd.so", NULL, odd_path) ||
                !plugin_dir_copy(dir, PLUGINS "/odd-concurrent.so", NULL, concurrent_path) ||
                !plugin_dir_copy(dir, PLUGINS "/odd-bare.so", NULL, bare_path) || sd_event_new(&loop) < 0) {
                tap_ok(false, "plugins lie in a safe directory");
                return tap_done();
        }
        beside = must_open(odd_path, "well", "none", HOST_PROCESS);
        test_deaths(beside);
        test_death_with_token();
        test_hangs(beside);
        test_open_dies();
        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
                test_open(both[i].isolation, both[i].how);
                test_well(both[i].isolation, both[i].how);
                test_errors(both[i].isolation, both[i].how);
                test_nonsense(both[i].isolation, both[i].how);
                test_large(both[i].isolation, both[i].how);
                test_refusals(both[i].isolation, both[i].how);
                test_queue(both[i].isolation, both[i].how);
                test_freed_inside(both[i].isolation, both[i].how);
                test_concurrent(both[i].isolation, both[i].how);
                test_bare(both[i].isolation, both[i].how);
        }
        host_free(beside);
        sd_event_unref(loop);
        plugin_dir_remove(dir);
        return tap_done();
}
