/* SPDX-License-Identifier: Apache-2.0 */
#include "api/parse.h"

#include "tap.h"

struct row {
        const char *name, *method, *path;
        struct api_pair query[3];
        const char *body, *key;
        int want;         /* 0 or -code                                              */
        const char *verb; /* of a good one                                           */
        const char *says; /* good: the arguments as JSON; bad: a part of the sentence */
        const char *target;
        unsigned status;
};

#define GOOD(verb_, args_) .verb = verb_, .says = args_
#define BAD(code_, says_) .want = -(int)(code_), .says = says_

static const struct row rows[] = {
        { "status", "GET", "/v1/status", GOOD("status", "{}") },
        { "check", "GET", "/v1/check", GOOD("check", "{}") },
        { "submit", "POST", "/v1/jobs", .body = "{\"spec\":{}}", GOOD("submit", "{\"spec\":{}}"), .status = 201 },
        { "submit with settings", "POST", "/v1/jobs", .body = "{\"spec\":{},\"settings\":{\"flag\":{\"ttl\":\"3h\"}}}",
                GOOD("submit", "{\"settings\":{\"flag\":{\"ttl\":\"3h\"}},\"spec\":{}}"), .status = 201 },
        { "submit with a key", "POST", "/v1/jobs", .body = "{\"spec\":{}}", .key = "aZ09-_",
                GOOD("submit", "{\"spec\":{}}"), .status = 201 },
        { "a dry run is a plan", "POST", "/v1/jobs", { { "dry_run", "1" } }, "{\"spec\":{}}",
                GOOD("plan", "{\"spec\":{}}") },
        { "dry_run=0 is none", "POST", "/v1/jobs", { { "dry_run", "0" } }, "{\"spec\":{}}",
                GOOD("submit", "{\"spec\":{}}"), .status = 201 },
        { "list", "GET", "/v1/jobs", GOOD("list", "{}") },
        { "list with a page", "GET", "/v1/jobs", { { "all", "1" }, { "limit", "1000" }, { "before", "job_x" } },
                GOOD("list", "{\"all\":true,\"before\":\"job_x\",\"limit\":1000}") },
        { "list of everybody", "GET", "/v1/jobs", { { "user", "*" } }, GOOD("list", "{\"user\":\"*\"}") },
        { "show", "GET", "/v1/jobs/train", GOOD("show", "{}"), .target = "train" },
        { "logs", "GET", "/v1/jobs/job_1/logs", { { "offset", "12" }, { "max", "1048576" }, { "wait_ms", "30000" } },
                GOOD("logs", "{\"max\":1048576,\"offset\":12,\"wait_ms\":30000}"), .target = "job_1" },
        { "logs by tail and time", "GET", "/v1/jobs/job_1/logs",
                { { "tail", "10" }, { "since_wall_us", "9223372036854775807" } },
                GOOD("logs", "{\"since_wall_us\":9223372036854775807,\"tail\":10}"), .target = "job_1" },
        { "explain", "GET", "/v1/jobs/a/explain", { { "at_wall_us", "5" } }, GOOD("explain", "{\"at_wall_us\":5}"),
                .target = "a" },
        { "precheck with an empty body", "POST", "/v1/jobs/a/precheck", GOOD("precheck", "{}"), .target = "a" },
        { "precheck with an empty object", "POST", "/v1/jobs/a/precheck", .body = "{}", GOOD("precheck", "{}"),
                .target = "a" },
        { "suspend that waits", "POST", "/v1/jobs/a/suspend", { { "wait_ms", "1" } },
                GOOD("suspend", "{\"wait_ms\":1}"), .target = "a", .status = 202 },
        { "resume", "POST", "/v1/jobs/a/resume", GOOD("resume", "{}"), .target = "a", .status = 202 },
        { "resume afresh", "POST", "/v1/jobs/a/resume", .body = "{\"fresh\":true}", GOOD("resume", "{\"fresh\":true}"),
                .target = "a", .status = 202 },
        { "stop", "POST", "/v1/jobs/a/stop", .body = "{\"force\":false}", GOOD("stop", "{\"force\":false}"),
                .target = "a", .status = 202 },
        { "machines", "GET", "/v1/machines", GOOD("machines", "{}") },
        { "notice", "POST", "/v1/machines/m/notice", .body = "{\"in\":\"2m\"}", GOOD("notice", "{\"in\":\"2m\"}"),
                .target = "m", .status = 202 },
        { "offers", "GET", "/v1/offers", GOOD("offers", "{}") },
        { "plugins", "GET", "/v1/plugins", GOOD("plugins", "{}") },
        { "reload is not the engine's", "POST", "/v1/reload", GOOD(NULL, "{}") },
        { "events of one job", "GET", "/v1/events", { { "job", "a" } }, GOOD(NULL, "{\"job\":\"a\"}") },
        { "openapi", "GET", "/v1/openapi.json", GOOD(NULL, "{}") },

        { "a path that is not there names the nearest", "GET", "/v1/job", BAD(PD_E_NOT_FOUND, "/v1/jobs") },
        { "the root", "GET", "/", BAD(PD_E_NOT_FOUND, "openapi.json") },
        { "an empty id", "GET", "/v1/jobs/", BAD(PD_E_NOT_FOUND, "/v1/jobs") },
        { "an empty id in the middle", "GET", "/v1/jobs//logs", BAD(PD_E_NOT_FOUND, "/v1/jobs") },
        { "a slash too many", "GET", "/v1/status/", BAD(PD_E_NOT_FOUND, "/v1/status") },
        { "another version", "GET", "/v2/status", BAD(PD_E_NOT_FOUND, "/v1/status") },
        { "a method that the path lacks", "DELETE", "/v1/jobs/a", BAD(PD_E_UNSUPPORTED, "it takes GET") },
        { "a path with two methods", "PUT", "/v1/jobs", BAD(PD_E_UNSUPPORTED, "POST, GET") },
        { "an id of 129 bytes", "GET",
                "/v1/jobs/"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaa",
                BAD(PD_E_INVALID, "128 bytes") },
        { "an unknown query member names the nearest", "GET", "/v1/jobs", { { "limt", "5" } },
                BAD(PD_E_INVALID, "did you mean \"limit\"") },
        { "an unknown query member where there are none", "GET", "/v1/status", { { "x", "5" } },
                BAD(PD_E_INVALID, "takes none") },
        { "a query member twice", "GET", "/v1/jobs", { { "limit", "5" }, { "limit", "6" } },
                BAD(PD_E_INVALID, "twice") },
        { "a limit of 0", "GET", "/v1/jobs", { { "limit", "0" } }, BAD(PD_E_INVALID, "from 1 to 1000") },
        { "a limit of 1001", "GET", "/v1/jobs", { { "limit", "1001" } }, BAD(PD_E_INVALID, "from 1 to 1000") },
        { "a limit of -1", "GET", "/v1/jobs", { { "limit", "-1" } }, BAD(PD_E_INVALID, "limit=-1") },
        { "a limit of 1e3", "GET", "/v1/jobs", { { "limit", "1e3" } }, BAD(PD_E_INVALID, "limit=1e3") },
        { "a limit with a space", "GET", "/v1/jobs", { { "limit", " 1" } }, BAD(PD_E_INVALID, "whole number") },
        { "a limit past 64 bits", "GET", "/v1/jobs", { { "limit", "92233720368547758080" } },
                BAD(PD_E_INVALID, "whole number") },
        { "a limit without a value", "GET", "/v1/jobs", { { "limit", NULL } }, BAD(PD_E_INVALID, "whole number") },
        { "all=yes", "GET", "/v1/jobs", { { "all", "yes" } }, BAD(PD_E_INVALID, "must be 1 or 0") },
        { "a name that is not UTF-8", "GET", "/v1/jobs", { { "name", "\xff" } }, BAD(PD_E_INVALID, "UTF-8") },
        { "a wait of 31 s", "GET", "/v1/jobs/a/logs", { { "wait_ms", "30001" } }, BAD(PD_E_INVALID, "30000") },
        { "a body on GET", "GET", "/v1/jobs", .body = "{}", BAD(PD_E_INVALID, "takes no body") },
        { "a body that is no JSON", "POST", "/v1/jobs", .body = "{\"spec\":", BAD(PD_E_INVALID, "line 1") },
        { "a body that is a list", "POST", "/v1/jobs", .body = "[]", BAD(PD_E_INVALID, "must be a JSON object") },
        { "a body with a key twice", "POST", "/v1/jobs", .body = "{\"spec\":{},\"spec\":{}}",
                BAD(PD_E_INVALID, "duplicate") },
        { "a body without its spec", "POST", "/v1/jobs", .body = "{}", BAD(PD_E_INVALID, "lacks \"spec\"") },
        { "no body where one is needed", "POST", "/v1/jobs", BAD(PD_E_INVALID, "lacks \"spec\"") },
        { "an unknown body member names the nearest", "POST", "/v1/jobs", .body = "{\"specs\":{}}",
                BAD(PD_E_INVALID, "did you mean \"spec\"") },
        { "a body member where there are none", "POST", "/v1/jobs/a/suspend", .body = "{\"a\":1}",
                BAD(PD_E_INVALID, "takes none") },
        { "a spec that is a string", "POST", "/v1/jobs", .body = "{\"spec\":\"x\"}",
                BAD(PD_E_INVALID, "\"spec\" must be an object") },
        { "settings of an unknown layer", "POST", "/v1/jobs", .body = "{\"spec\":{},\"settings\":{\"flags\":{}}}",
                BAD(PD_E_INVALID, "did you mean \"flag\"") },
        { "settings that are a list", "POST", "/v1/jobs", .body = "{\"spec\":{},\"settings\":[]}",
                BAD(PD_E_INVALID, "\"file\" and \"flag\"") },
        { "a settings layer that is a list", "POST", "/v1/jobs", .body = "{\"spec\":{},\"settings\":{\"flag\":[]}}",
                BAD(PD_E_INVALID, "settings.flag") },
        { "a setting that is a number", "POST", "/v1/jobs", .body = "{\"spec\":{},\"settings\":{\"flag\":{\"ttl\":3}}}",
                BAD(PD_E_INVALID, "must be a string") },
        { "fresh as a string", "POST", "/v1/jobs/a/resume", .body = "{\"fresh\":\"yes\"}",
                BAD(PD_E_INVALID, "true or false") },
        { "a notice without its time", "POST", "/v1/machines/m/notice", BAD(PD_E_INVALID, "lacks \"in\"") },
        { "a notice in a number", "POST", "/v1/machines/m/notice", .body = "{\"in\":2}", BAD(PD_E_INVALID, "2m") },
        { "a notice of 33 bytes", "POST", "/v1/machines/m/notice",
                .body = "{\"in\":\"222222222222222222222222222222222\"}", BAD(PD_E_INVALID, "32 bytes") },
        { "a key with a space", "POST", "/v1/jobs", .body = "{\"spec\":{}}", .key = "a b",
                BAD(PD_E_INVALID, "Idempotency-Key \"a b\"") },
        { "an empty key", "POST", "/v1/jobs", .body = "{\"spec\":{}}", .key = "", BAD(PD_E_INVALID, "1 to 64") },
        { "a key of 65 bytes", "POST", "/v1/jobs", .body = "{\"spec\":{}}",
                .key = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                BAD(PD_E_INVALID, "1 to 64") },
};

static size_t pairs_of(const struct row *r)
{
        size_t n = 0;

        while (n < ARRAY_LEN(r->query) && r->query[n].name)
                n++;
        return n;
}

static void good(const struct row *r, const struct api_request *rq)
{
        pd_cleanup(freep) char *args = js_dump(rq->args);
        bool same_verb = r->verb ? rq->verb && streq(rq->verb, r->verb) : !rq->verb;

        if (!tap_ok(same_verb && args && streq(args, r->says) && streq(rq->target, str_or(r->target, "")) &&
                            rq->status == (r->status ? r->status : 200) && streq(rq->key, str_or(r->key, "")),
                    "%s", r->name))
                tap_note("verb %s, args %s, target %s, status %u", str_or(rq->verb, "(none)"), args, rq->target,
                        rq->status);
}

static void test_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct row *r = &rows[i];
                struct api_input in = { r->method, r->path, r->query, pairs_of(r), r->body,
                        r->body ? strlen(r->body) : 0, r->key };
                struct api_request rq = { 0 };
                struct pd_error err = { 0 };
                int got = api_parse_request(&in, &rq, &err);

                if (got == 0 && r->want == 0)
                        good(r, &rq);
                else if (!tap_ok(got == r->want && strstr(err.text, r->says) && !rq.args,
                                 "%s is refused with what to do", r->name))
                        tap_note("got %d: %s", got, err.text);
                api_request_clear(&rq);
        }
}

static bool differ(const struct api_member *query, size_t n, const struct api_member *body, size_t m)
{
        for (size_t i = 0; i < n && query[i].name; i++)
                for (size_t j = 0; j < m && body[j].name; j++)
                        if (streq(query[i].name, body[j].name))
                                return false;
        return true;
}

static void test_table(void)
{
        for (size_t i = 0; i < api_routes_n; i++) {
                const struct api_route *r = &api_routes[i];

                tap_ok(differ(r->query, ARRAY_LEN(r->query), r->body, ARRAY_LEN(r->body)) &&
                                (r->handler != API_ENGINE || r->verb) && r->summary && str_starts(r->pattern, "/v1/"),
                        "route %s %s: a verb, a summary, and no name in both query and body", r->method, r->pattern);
        }
}

static void test_errors(void)
{
        static const struct {
                enum pd_code code;
                unsigned status;
        } want[] = { { PD_E_INVALID, 400 }, { PD_E_PERM, 403 }, { PD_E_AUTH, 403 }, { PD_E_NOT_FOUND, 404 },
                { PD_E_CONFLICT, 409 }, { PD_E_REFUSED, 409 }, { PD_E_QUOTA, 503 }, { PD_E_CAPACITY, 503 },
                { PD_E_FULL, 503 }, { PD_E_BUSY, 503 }, { PD_E_THROTTLED, 503 }, { PD_E_TRANSIENT, 503 },
                { PD_E_DEADLINE, 504 }, { PD_E_GONE, 410 }, { PD_E_INTERNAL, 500 }, { PD_E_NOMEM, 500 },
                { PD_E_CORRUPT, 500 }, { (enum pd_code)999, 500 } };
        struct pd_error err = { 0 };
        js_owned *body = NULL;

        for (size_t i = 0; i < ARRAY_LEN(want); i++)
                tap_ok(api_status_of(want[i].code) == want[i].status, "error %d is status %u", (int)want[i].code,
                        want[i].status);
        (void)pd_fail(&err, PD_E_INVALID, "cut \xc3");
        body = api_error_json(&err);
        tap_str(js_str(json_object_get(body, "error"), "text", ""), "cut ?",
                "an error text cut inside a character is still JSON");
}

int main(void)
{
        test_rows();
        test_table();
        test_errors();
        return tap_done();
}
