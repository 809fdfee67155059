/* SPDX-License-Identifier: Apache-2.0 */
/* The API on a real socket, in one thread with its clients; the engine behind it is scripted. */
#include "api/api.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api_harness.h"
#include "tap.h"

static void test_routes(void)
{
        static const struct {
                const char *name, *method, *target, *headers, *body;
                unsigned status;
                const char *has;
        } rows[] = {
                { "status is asked of the engine", "GET", "/v1/status", "", "", 200, "\"verb\":\"status\"" },
                { "submit answers 201", "POST", "/v1/jobs", "Idempotency-Key: k1\r\n",
                        "{\"spec\":{\"command\":[\"x\"]}}", 201, "\"verb\":\"submit\"" },
                { "a dry run answers 200", "POST", "/v1/jobs?dry_run=1", "", "{\"spec\":{}}", 200,
                        "\"verb\":\"plan\"" },
                { "a percent-encoded query is decoded", "GET", "/v1/jobs?name=a%2Db&all=1", "", "", 200,
                        "\"name\":\"a-b\"" },
                { "a path's id arrives", "GET", "/v1/jobs/train-1", "", "", 200, "\"target\":\"train-1\"" },
                { "suspend answers 202", "POST", "/v1/jobs/a/suspend", "", "", 202, "\"verb\":\"suspend\"" },
                { "stop answers 202", "POST", "/v1/jobs/a/stop", "", "{\"force\":true}", 202, "\"force\":true" },
                { "notice by root answers 202", "POST", "/v1/machines/m/notice", "", "{\"in\":\"2m\"}", 202,
                        "\"in\":\"2m\"" },
                { "the description", "GET", "/v1/openapi.json", "", "", 200, "\"openapi\":\"3.0.3\"" },
                { "the description has the fields of a job", "GET", "/v1/openapi.json", "", "", 200, "shm_size" },
                { "the description has the states", "GET", "/v1/openapi.json", "", "", 200, "\"restoring\"" },
                { "a bad path", "GET", "/v1/jbos", "", "", 404, "\"NOT_FOUND\"" },
                { "a bad method says which are good", "DELETE", "/v1/jobs", "", "", 405, "Allow: POST, GET" },
                { "a bad body", "POST", "/v1/jobs", "", "{", 400, "line 1" },
                { "an unknown member names the nearest", "POST", "/v1/jobs", "", "{\"spce\":{}}", 400,
                        "did you mean \\\"spec\\\"" },
                { "a bad key", "POST", "/v1/jobs", "Idempotency-Key: a b\r\n", "{\"spec\":{}}", 400,
                        "Idempotency-Key" },
                { "a bad query member", "GET", "/v1/jobs?limit=x", "", "", 400, "from 1 to 1000" },
                { "33 query members", "GET",
                        "/v1/jobs?a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a", "", "", 400,
                        "more than 32" },
        };

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(freep) char *got = ask(rows[i].method, rows[i].target, rows[i].headers, rows[i].body);

                if (!tap_ok(status_of(got) == rows[i].status && strstr(got, rows[i].has), "%s", rows[i].name))
                        tap_note("%.600s", got);
        }
        unserve();
}

static void test_engine_errors(void)
{
        static const struct {
                enum pd_code code;
                int64_t retry_us;
                unsigned status;
                const char *has;
        } rows[] = {
                { PD_E_PERM, 0, 403, "\"PERM\"" },
                { PD_E_CONFLICT, 0, 409, "\"CONFLICT\"" },
                { PD_E_FULL, 1500000, 503, "Retry-After: 2" },
                { PD_E_CAPACITY, 0, 503, "Retry-After: 1" },
                { PD_E_GONE, 0, 410, "\"GONE\"" },
                { PD_E_INTERNAL, 0, 500, "\"INTERNAL\"" },
        };
        pd_cleanup(freep) char *got = NULL, *faults = NULL;

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(freep) char *answer = NULL;

                t.engine.fail = rows[i].code;
                t.engine.retry_after_us = rows[i].retry_us;
                answer = ask("GET", "/v1/jobs/x", "", "");
                tap_ok(status_of(answer) == rows[i].status && strstr(answer, rows[i].has),
                        "an error of code %d answers %u", (int)rows[i].code, rows[i].status);
        }
        t.engine.fail = PD_E_REFUSED;
        t.engine.body = json_pack("{s:[{s:s}]}", "values", "path", "model.lock");
        got = ask("POST", "/v1/jobs/x/suspend", "", "");
        tap_ok(status_of(got) == 409 && strstr(got, "model.lock") && strstr(got, "\"REFUSED\""),
                "P-21 a refusal's values go beside the error");
        json_decref(t.engine.body);
        t.engine.body = NULL;
        t.engine.fail = PD_E_INVALID;
        faults = ask("POST", "/v1/jobs", "", "{\"spec\":{\"memory\":\"lots\",\"cpu\":\"2\"}}");
        if (!tap_ok(status_of(faults) == 400 && strstr(faults, "\"faults\"") && strstr(faults, "lots") &&
                            strstr(faults, "cpus"),
                    "a refused spec is answered with each of its faults"))
                tap_note("%s", faults);
        unserve();
}

static void test_actor(void)
{
        static const uint32_t admins[] = { 65533 };
        struct client c;
        pd_cleanup(freep) char *notice = NULL, *reloaded = NULL;

        if (geteuid() != 0) {
                tap_skip("another user's uid", "not root");
                return;
        }
        serve(&(struct api_options){ .group = API_ANY_GROUP, .admins = admins, .admins_n = 1 });
        if (setegid(65534) < 0 || seteuid(65534) < 0)
                abort();
        c = client_new();
        notice = ask("POST", "/v1/machines/m/notice", "", "{\"in\":\"2m\"}");
        reloaded = ask("POST", "/v1/reload", "", "");
        client_request(&c, "GET", "/v1/jobs", "", "");
        (void)client_answer(&c);
        if (seteuid(0) < 0 || setegid(0) < 0)
                abort();
        tap_ok(t.engine.uid == 65534 && !t.engine.admin && streq(t.engine.user, "nobody"),
                "N-01 who asks is what the kernel says, and no administrator");
        tap_ok(status_of(notice) == 403 && status_of(reloaded) == 403 && t.engine.requests == 1,
                "notice and reload are refused before the engine");
        tap_has(notice, "user nobody is none", "and the sentence names the user");
        client_free(&c);
        if (seteuid(65533) < 0)
                abort();
        c = client_new();
        client_request(&c, "GET", "/v1/jobs", "", "");
        (void)client_answer(&c);
        if (seteuid(0) < 0)
                abort();
        tap_ok(t.engine.uid == 65533 && t.engine.admin && streq(t.engine.user, "65533"),
                "a listed uid is an administrator; a uid without a name is its number");
        client_free(&c);
        unserve();
}

static void test_group(void)
{
        pd_cleanup(freep) char *got = NULL, *root = NULL;
        struct client c;

        if (geteuid() != 0) {
                tap_skip("the group", "not root");
                return;
        }
        serve(&(struct api_options){ .group = 61234, .group_name = "portald" });
        if (setegid(65534) < 0 || seteuid(65534) < 0)
                abort();
        got = ask("GET", "/v1/jobs", "", "");
        if (seteuid(0) < 0 || setegid(61234) < 0 || seteuid(65534) < 0)
                abort();
        c = client_new();
        if (seteuid(0) < 0 || setegid(0) < 0)
                abort();
        tap_ok(status_of(got) == 403 && strstr(got, "usermod -aG portald nobody"),
                "a user outside of the group is refused with what to run");
        client_request(&c, "GET", "/v1/jobs", "", "");
        (void)client_answer(&c);
        tap_int(status_of(c.text), 200, "a member of the group is served");
        root = ask("GET", "/v1/jobs", "", "");
        tap_int(status_of(root), 200, "root is served whatever its groups");
        client_free(&c);
        unserve();
}

static void test_bodies(void)
{
        struct client c;
        char *big = malloc(API_BODY_MAX + 2);
        char head[160];
        int n;

        if (!big)
                abort();
        serve(&(struct api_options){ .group = API_ANY_GROUP });
        memset(big, ' ', API_BODY_MAX + 1);
        big[API_BODY_MAX + 1] = '\0';
        memcpy(big, "{\"spec\":{}}", 11);
        c = client_new();
        n = snprintf(
                head, sizeof head, "POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n", API_BODY_MAX);
        client_send(&c, head, (size_t)n);
        client_send(&c, big, API_BODY_MAX);
        tap_ok(client_answer(&c) && status_of(c.text) == 201, "a body of exactly 1 MiB is read");
        client_free(&c);
        c = client_new();
        n = snprintf(
                head, sizeof head, "POST /v1/jobs HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n", API_BODY_MAX + 1);
        client_send(&c, head, (size_t)n);
        tap_ok(client_answer(&c) && status_of(c.text) == 413, "one byte more is answered 413 before it is sent");
        client_free(&c);
        c = client_new();
        client_send(&c, "POST /v1/jobs HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n", 63);
        n = snprintf(head, sizeof head, "%x\r\n", API_BODY_MAX + 1);
        client_send(&c, head, (size_t)n);
        client_send(&c, big, API_BODY_MAX + 1);
        client_send(&c, "\r\n0\r\n\r\n", 7);
        tap_ok(client_answer(&c) && status_of(c.text) == 413, "a body in chunks that passes the limit is answered 413");
        client_free(&c);
        c = client_new();
        client_send(&c, "POST /v1/jobs HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n", 63);
        for (int i = 0; i < 12 && !c.closed; i++) {
                n = snprintf(head, sizeof head, "%x\r\n", API_BODY_MAX);
                client_send(&c, head, (size_t)n);
                client_send(&c, big, API_BODY_MAX);
                client_send(&c, "\r\n", 2);
        }
        tap_ok(client_wait(&c, NULL), "a body without an end is cut off");
        tap_int(t.engine.requests, 1, "none of them reached the engine");
        client_free(&c);
        free(big);
        unserve();
}

static void test_slow(void)
{
        struct client c, idle;

        serve(&(struct api_options){ .group = API_ANY_GROUP, .request_timeout_us = 50000 });
        c = client_new();
        idle = client_new();
        client_send(&c, "GET /v1/st", 10);
        for (int i = 0; i < 200 && !c.closed; i++) { /* a byte at each turn of the loop keeps nothing alive */
                client_send(&c, "a", 1);
                turn();
        }
        tap_ok(client_wait(&c, NULL) && status_of(c.text) == 408,
                "a request that trickles in is answered 408 and closed");
        tap_ok(c.n > 0 && body_of(c.text) && strlen(body_of(c.text)) == 138, "its answer has the length that it says");
        tap_ok(client_wait(&idle, NULL), "a connection without a request is closed as well");
        for (int i = 0; i < 50 && api_connections(t.api); i++)
                turn();
        tap_int((long long)api_connections(t.api), 0, "and nothing is held");
        client_free(&c);
        c = client_new();
        client_request(&c, "GET", "/v1/status", "", "");
        (void)client_answer(&c);
        client_again(&c);
        tap_ok(client_wait(&c, NULL) && c.n == 0, "one that is idle after an answer is closed without a word");
        client_free(&c);
        client_free(&idle);
        unserve();
}

static void test_keep_alive(void)
{
        struct client c;

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        c = client_new();
        for (int i = 0; i < 3; i++) {
                t.engine.hold = i == 1;
                client_again(&c);
                client_request(&c, "POST", "/v1/jobs", "", "{\"spec\":{}}");
                for (int k = 0; k < 20 && t.engine.hold && !engine_fake_held(&t.engine); k++)
                        turn();
                engine_fake_release(&t.engine);
                tap_ok(client_answer(&c) && status_of(c.text) == 201, "request %d on one connection is answered",
                        i + 1);
        }
        tap_ok(!c.closed && api_connections(t.api) == 1, "and it stays open");
        client_again(&c);
        t.engine.hold = false;
        client_send(&c, "GET /v1/status HTTP/1.1\r\nHost: p\r\n\r\nGET /v1/offers HTTP/1.1\r\nHost: p\r\n\r\n", 72);
        tap_ok(client_wait(&c, "\"verb\":\"offers\"") && strstr(c.text, "\"verb\":\"status\""),
                "two requests sent at once are answered in order");
        client_free(&c);
        unserve();
}

static void test_long_poll(void)
{
        struct client c;

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        t.engine.wait_holds = true;
        c = client_new();
        client_request(&c, "GET", "/v1/jobs/a/logs?wait_ms=30000", "", "");
        for (int i = 0; i < 50 && !engine_fake_held(&t.engine); i++)
                turn();
        tap_int((long long)engine_fake_held(&t.engine), 1, "a waiting request is with the engine");
        close(c.fd);
        c.fd = -1;
        for (int i = 0; i < 50 && api_connections(t.api); i++)
                turn();
        tap_ok(t.engine.cancelled == 1 && api_connections(t.api) == 0,
                "its client goes: the engine is told, the connection is gone");
        client_free(&c);

        c = client_new();
        t.engine.body = json_pack("{s:i,s:i,s:i,s:b}", "offset", 4, "next", 9, "size", 20, "eof", 0);
        t.engine.blob = "ab\0c\n";
        t.engine.blob_n = 5;
        client_request(&c, "GET", "/v1/jobs/a/logs?wait_ms=30000&offset=4", "", "");
        for (int i = 0; i < 50 && !engine_fake_held(&t.engine); i++)
                turn();
        engine_fake_release(&t.engine);
        tap_ok(client_wait(&c, "X-Portal-Next: 9") && strstr(c.text, "X-Portal-Offset: 4") &&
                        strstr(c.text, "X-Portal-Size: 20") && strstr(c.text, "X-Portal-Eof: 0"),
                "log bytes come with their offsets");
        tap_ok(body_of(c.text) && memcmp(body_of(c.text), "ab\0c\n", 5) == 0 &&
                        strstr(c.text, "application/octet-stream"),
                "byte for byte");
        json_decref(t.engine.body);
        t.engine.body = NULL;
        client_free(&c);
        unserve();
}

static json_t *job(const char *id, const char *state)
{
        return json_pack("{s:s,s:s}", "id", id, "state", state);
}

static void test_events(void)
{
        struct client all, one, gone;
        struct json_t *first;

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        all = client_new();
        client_request(&all, "GET", "/v1/events", "", "");
        tap_ok(client_wait(&all, ": portald") && strstr(all.text, "text/event-stream"),
                "an event stream opens at once");
        first = job(JOB_A, "running");
        t.engine.body = first;
        t.engine.hold = true;
        one = client_new();
        client_request(&one, "GET", "/v1/events?job=train", "", "");
        for (int i = 0; i < 50 && !engine_fake_held(&t.engine); i++)
                turn();
        engine_fake_release(&t.engine);
        tap_ok(client_wait(&one, "\"state\":\"running\"") && streq(t.engine.verb, "show") &&
                        streq(t.engine.target, "train"),
                "a job's stream begins with how it stands");
        json_decref(first);
        t.engine.body = NULL;
        engine_fake_change(&t.engine, JOB_B, 0, job(JOB_B, "saving"));
        engine_fake_change(&t.engine, JOB_A, 0, job(JOB_A, "suspended"));
        tap_ok(client_wait(&all, "suspended") && strstr(all.text, "event: job\ndata: {\"id\":\"" JOB_B),
                "a stream has every change");
        tap_ok(client_wait(&one, "suspended") && !strstr(one.text, JOB_B), "a job's stream has only its own");
        tap_int(t.engine.watches, 1, "all streams share one watch");
        gone = one;
        close(gone.fd);
        gone.fd = -1;
        for (int i = 0; i < 50 && api_connections(t.api) > 1; i++)
                turn();
        tap_int((long long)api_connections(t.api), 1, "a client that leaves frees its stream");
        client_free(&gone);
        for (int i = 0; i < 3000; i++) /* nobody reads `all` here: 3000 x 1 KiB is past the bound */
                engine_fake_change(&t.engine, JOB_A, 0,
                        json_pack("{s:s,s:s+}", "id", JOB_A, "state",
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
        tap_ok(client_wait(&all, NULL), "law 21 a stream that is not read is ended at its bound");
        tap_ok(!t.engine.watch, "and with the last stream the watch goes");
        client_free(&all);
        unserve();
}

static void test_events_of_others(void)
{
        struct client c;

        if (geteuid() != 0) {
                tap_skip("events of others", "not root");
                return;
        }
        serve(&(struct api_options){ .group = API_ANY_GROUP });
        if (seteuid(65534) < 0)
                abort();
        c = client_new();
        if (seteuid(0) < 0)
                abort();
        client_request(&c, "GET", "/v1/events", "", "");
        (void)client_wait(&c, ": portald");
        engine_fake_change(&t.engine, JOB_A, 1000, job(JOB_A, "running"));
        engine_fake_change(&t.engine, JOB_B, 65534, job(JOB_B, "running"));
        tap_ok(client_wait(&c, JOB_B) && !strstr(c.text, JOB_A), "another user's changes are never told");
        client_free(&c);
        unserve();
}

static void test_many(void)
{
        static struct client many[64];
        struct client extra;
        size_t answered = 0;

        serve(&(struct api_options){ .group = API_ANY_GROUP, .connections_max = 64 });
        t.engine.hold = true;
        for (size_t i = 0; i < ARRAY_LEN(many); i++) {
                many[i] = client_new();
                client_request(&many[i], "POST", "/v1/jobs", "", "{\"spec\":{}}");
        }
        for (int i = 0; i < 1000 && engine_fake_held(&t.engine) < ARRAY_LEN(many); i++)
                turn();
        tap_int((long long)engine_fake_held(&t.engine), 64, "64 connections ask at once");
        extra = client_new();
        client_request(&extra, "GET", "/v1/status", "", "");
        tap_ok(client_answer(&extra) && status_of(extra.text) == 503 && strstr(extra.text, "64 connections at once") &&
                        strstr(extra.text, "Connection: close"),
                "the 65th hears that the limit is reached");
        tap_ok(client_wait(&extra, NULL), "and is closed");
        client_free(&extra);
        engine_fake_release(&t.engine);
        for (size_t i = 0; i < ARRAY_LEN(many); i++)
                answered += client_answer(&many[i]) && status_of(many[i].text) == 201;
        tap_int((long long)answered, 64, "all of the 64 are answered");
        for (size_t i = 0; i < ARRAY_LEN(many); i++)
                client_free(&many[i]);
        unserve();
}

static void test_reload(void)
{
        pd_cleanup(freep) char *good = NULL, *bad = NULL, *none = NULL;

        serve(&(struct api_options){ .group = API_ANY_GROUP, .reload = reload });
        good = ask("POST", "/v1/reload", "", "");
        t.reload_result = -1;
        bad = ask("POST", "/v1/reload", "", "");
        tap_ok(status_of(good) == 200 && strstr(good, "\"reloaded\":true"),
                "S-01 a reload that is accepted answers 200");
        tap_ok(status_of(bad) == 400 && strstr(bad, "portald.conf:3") && strstr(bad, "\"faults\""),
                "S-01 one that is refused answers 400 with its faults");
        unserve();
        serve(&(struct api_options){ .group = API_ANY_GROUP });
        none = ask("POST", "/v1/reload", "", "");
        tap_has(none, "nothing to reload", "without a config there is nothing to reload");
        unserve();
}

static void test_stop(void)
{
        struct client waiting, stream;

        serve(&(struct api_options){ .group = API_ANY_GROUP });
        t.engine.hold = true;
        waiting = client_new();
        client_request(&waiting, "GET", "/v1/jobs/a/logs?wait_ms=1000", "", "");
        stream = client_new();
        client_request(&stream, "GET", "/v1/events", "", "");
        (void)client_wait(&stream, ": portald");
        for (int i = 0; i < 50 && !engine_fake_held(&t.engine); i++)
                turn();
        t.api = api_free(t.api);
        client_read(&waiting);
        client_read(&stream);
        tap_ok(status_of(waiting.text) == 503 && strstr(waiting.text, "Retry-After: 2") &&
                        strstr(waiting.text, "stopping"),
                "S-01 at the end a waiting client hears why");
        tap_ok(stream.closed && strstr(stream.text, "0\r\n\r\n"), "an event stream is ended in form");
        tap_ok(t.engine.cancelled == 1 && !t.engine.watch, "and the engine is left with nothing");
        client_free(&waiting);
        client_free(&stream);
        unserve();
}

int main(void)
{
        (void)signal(SIGPIPE, SIG_IGN);
        test_routes();
        test_engine_errors();
        test_actor();
        test_group();
        test_bodies();
        test_slow();
        test_keep_alive();
        test_long_poll();
        test_events();
        test_events_of_others();
        test_many();
        test_reload();
        test_stop();
        return tap_done();
}
