/* SPDX-License-Identifier: Apache-2.0 */
/* The route table: core/api/API.md as data. Paths, members and their bounds are only written here. */
#include "api/api.h"
#include "api/parse.h"

#define WAIT_MAX_MS 30000
#define TEXT(name_, help_)                                       \
        {                                                        \
                .name = name_, .type = API_T_TEXT, .help = help_ \
        }
#define FLAG(name_, help_)                                       \
        {                                                        \
                .name = name_, .type = API_T_BOOL, .help = help_ \
        }
#define INT(name_, min_, max_, help_)                                                     \
        {                                                                                 \
                .name = name_, .type = API_T_INT, .min = min_, .max = max_, .help = help_ \
        }
#define WAIT(help_) INT("wait_ms", 0, WAIT_MAX_MS, help_)

const struct api_route api_routes[] = {
        { .method = "GET",
                .pattern = "/v1/status",
                .verb = "status",
                .summary = "The daemon, its connections, and who you are to it" },
        { .method = "GET",
                .pattern = "/v1/check",
                .verb = "check",
                .summary = "Everything that a job needs, looked at one by one" },
        { .method = "POST",
                .pattern = "/v1/jobs",
                .verb = "submit",
                .dry_verb = "plan",
                .status = 201,
                .summary = "Submit a job, or with dry_run=1 only say what would happen",
                .query = { FLAG("dry_run", "only the plan: nothing is written") },
                .body = { { .name = "spec", .type = API_T_OBJECT, .needed = true, .help = "the job" },
                        { .name = "settings",
                                .type = API_T_LAYERS,
                                .help = "policy settings by where they were given" } } },
        { .method = "GET",
                .pattern = "/v1/jobs",
                .verb = "list",
                .summary = "Jobs, newest first",
                .query = { FLAG("all", "ended ones too"), TEXT("user", "* = every user's (administrators)"),
                        TEXT("name", "only jobs of this name"), INT("limit", 1, 1000, "at most so many"),
                        TEXT("before", "the `next` of the page before") } },
        { .method = "GET",
                .pattern = "/v1/jobs/{id}",
                .verb = "show",
                .summary = "One job with its spec, settings, history and checkpoints" },
        { .method = "GET",
                .pattern = "/v1/jobs/{id}/logs",
                .verb = "logs",
                .bytes = true,
                .summary = "Bytes of a job's output",
                .query = { INT("offset", 0, INT64_MAX, "first byte wanted"),
                        INT("max", 1, API_BODY_MAX, "at most so many bytes"), WAIT("wait for a first byte"),
                        INT("tail", 0, 1000000, "only the last lines"),
                        INT("since_wall_us", 0, INT64_MAX, "only lines written since") } },
        { .method = "GET",
                .pattern = "/v1/jobs/{id}/explain",
                .verb = "explain",
                .summary = "Each decision on a job, with its evidence",
                .query = { INT("at_wall_us", 0, INT64_MAX, "as it was known then") } },
        { .method = "POST",
                .pattern = "/v1/jobs/{id}/precheck",
                .verb = "precheck",
                .summary = "Could a checkpoint carry it? Changes nothing" },
        { .method = "POST",
                .pattern = "/v1/jobs/{id}/suspend",
                .verb = "suspend",
                .status = 202,
                .summary = "Save its state and free its machine",
                .query = { WAIT("answer when it is suspended, refused or gone on") } },
        { .method = "POST",
                .pattern = "/v1/jobs/{id}/resume",
                .verb = "resume",
                .status = 202,
                .summary = "Continue a suspended job",
                .query = { WAIT("answer when it runs, or could not be taken up") },
                .body = { FLAG("fresh", "start its command anew, without the checkpoint") } },
        { .method = "POST",
                .pattern = "/v1/jobs/{id}/stop",
                .verb = "stop",
                .status = 202,
                .summary = "End a job; asked twice, ended once",
                .query = { WAIT("answer when it is over") },
                .body = { FLAG("force", "kill at once, without the grace") } },
        { .method = "GET", .pattern = "/v1/machines", .verb = "machines", .summary = "The machines at hand" },
        { .method = "POST",
                .pattern = "/v1/machines/{id}/notice",
                .verb = "notice",
                .status = 202,
                .admin = true,
                .summary = "Vacate a machine, as a spot notice would",
                .body = { { .name = "in",
                        .type = API_T_TEXT,
                        .needed = true,
                        .max = 32,
                        .help = "the time left, as \"2m\"" } } },
        { .method = "GET",
                .pattern = "/v1/offers",
                .verb = "offers",
                .summary = "Kinds of machine, their places and prices" },
        { .method = "GET", .pattern = "/v1/plugins", .verb = "plugins", .summary = "The plugins in use" },
        { .method = "POST",
                .pattern = "/v1/reload",
                .handler = API_RELOAD,
                .admin = true,
                .summary = "Read the config again; a bad one is refused whole" },
        { .method = "GET",
                .pattern = "/v1/events",
                .handler = API_EVENTS,
                .summary = "Server-sent events: each change of your jobs",
                .query = { TEXT("job", "only this job, beginning with how it stands") } },
        { .method = "GET", .pattern = "/v1/openapi.json", .handler = API_OPENAPI, .summary = "This description" },
};
const size_t api_routes_n = ARRAY_LEN(api_routes);
