/* SPDX-License-Identifier: Apache-2.0 */
/* portal logs. */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/show.h"

#define LOG_MAX 1048576

int time_flag(const char *flag, const char *text, int64_t *ret_wall_us, struct pd_error *err)
{
        int64_t us;

        if (duration_parse(text, &us, NULL) == 0) {
                *ret_wall_us = now_wall_us() - us;
                return 0;
        }
        if (time_parse_utc(text, ret_wall_us, NULL) == 0)
                return 0;
        return pd_fail(err, PD_E_INVALID,
                "%s \"%.60s\" is no time: write a span as 10m (ago), or a time in UTC as 2026-11-30T20:00:00Z", flag,
                text);
}

/* The query of the first piece; the later ones go on from where it ended. */
static int first_query(const struct cli_line *line, char *buf, size_t n, struct pd_error *err)
{
        const char *since = cli_value(line, "--since"), *tail = cli_value(line, "--tail");
        int64_t wall_us;
        long lines;
        int r;

        (void)str_format(buf, n, "logs?max=%d", LOG_MAX);
        if (since) {
                r = time_flag("--since", since, &wall_us, err);
                if (r < 0)
                        return r;
                (void)str_format(
                        buf + strlen(buf), n - strlen(buf), "&since_wall_us=%" PRId64, wall_us > 0 ? wall_us : 0);
        }
        if (tail && !count_parse(tail, 1000000, &lines))
                return pd_fail(
                        err, PD_E_INVALID, "--tail \"%.60s\" is not a number of lines: write 0 to 1000000", tail);
        if (tail)
                (void)str_format(buf + strlen(buf), n - strlen(buf), "&tail=%s", tail);
        if (!since && !tail)
                (void)str_format(buf + strlen(buf), n - strlen(buf), "&offset=0");
        return 0;
}

static bool write_out(struct cli *c, const struct http_reply *reply)
{
        if (fwrite(reply->data ? reply->data : "", 1, reply->n, stdout) == reply->n && fflush(stdout) == 0)
                return true;
        say(c, "the log could not be written to stdout");
        return false;
}

/* All that is there by now; *ret_offset is where it ended. */
static int read_all(struct cli *c, const char *job, char *query, size_t query_n, int64_t *ret_offset)
{
        char path[512];
        bool more = true;
        int code = CLI_OK;

        while (more && code == CLI_OK) {
                struct http_reply reply = { 0 };

                if (!job_path(path, sizeof path, job, query))
                        return CLI_NOT_FOUND;
                if (ask(c, "GET", path, NULL, &reply, &code)) {
                        if (!write_out(c, &reply))
                                code = CLI_FAILED;
                        *ret_offset = reply.next;
                        more = reply.n > 0 && reply.next < reply.size;
                        (void)str_format(query, query_n, "logs?max=%d&offset=%" PRId64, LOG_MAX, reply.next);
                }
                http_reply_clear(&reply);
        }
        return code;
}

static int events(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, line->args[0], ""))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code)) {
                const json_t *history = json_object_get(reply.json, "history");

                if (cli_has(line, "--json"))
                        code = print_json(history);
                else
                        history_print(c, history);
        }
        http_reply_clear(&reply);
        return code;
}

/* Events are told by id: a name may be another job's by then. */
static int follow_named(struct cli *c, const char *job, int64_t offset, int64_t retry_us)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, job, ""))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code)) {
                const struct follow_params p = {
                        .job = js_str(reply.json, "id", job), .offset = offset, .retry_us = retry_us, .states = true
                };

                code = follow(c, &p);
        }
        http_reply_clear(&reply);
        return code;
}

static bool conflicting(struct cli *c, const struct cli_line *line)
{
        bool events_too = cli_has(line, "--events");

        if (cli_has(line, "--json") && !events_too) {
                say(c, "--json needs --events beside it: a job's output is bytes, not JSON");
                return true;
        }
        if (events_too && (cli_has(line, "--follow") || cli_has(line, "--since") || cli_has(line, "--tail"))) {
                say(c, "--events goes without --follow, --since and --tail: leave them out; `portal ps -w` "
                       "follows changes");
                return true;
        }
        return false;
}

int cmd_logs(struct cli *c, const struct cli_line *line)
{
        char query[256];
        struct pd_error err;
        int64_t offset = 0, retry_us;
        int code;

        if (conflicting(c, line))
                return CLI_REFUSED;
        if (cli_retry_for(line, &retry_us, &err) < 0 || first_query(line, query, sizeof query, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        if (cli_has(line, "--events"))
                return events(c, line);
        code = read_all(c, line->args[0], query, sizeof query, &offset);
        if (code != CLI_OK || !cli_has(line, "--follow"))
                return code;
        return follow_named(c, line->args[0], offset, retry_us);
}
