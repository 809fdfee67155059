/* SPDX-License-Identifier: Apache-2.0 */
/* What a user does to a job: suspend, resume, stop (P-26). Several jobs: each is tried, the first failure's code is the exit code. */
#include "cli/cli.h"

#define SUSPEND_WAIT_MS 30000
#define RESUME_WAIT_MS 25000
#define SUSPEND_ROUNDS 40 /* x 30 s: above the longest default save */

typedef int (*act_fn)(struct cli *c, const struct cli_line *line, const char *id);

static int each(struct cli *c, const struct cli_line *line, act_fn act)
{
        int first = CLI_OK;

        for (size_t i = 0; i < line->args_n; i++) {
                int code = act(c, line, line->args[i]);

                if (first == CLI_OK)
                        first = code;
        }
        return first;
}

static int print_act(struct cli *c, const struct cli_line *line, const json_t *job)
{
        char name[96], message[600];
        const char *text = js_str(job, "message", "");

        if (cli_has(line, "--json"))
                return print_json(job);
        (void)printf("%s %s\n", js_str(job, "id", "?"), js_str(job, "state", "?"));
        (void)fflush(stdout);
        say(c, "%s is %s%s%s", plain(js_str(job, "name", "?"), name, sizeof name), js_str(job, "state", "?"),
                *text ? ": " : "", plain(text, message, sizeof message));
        return CLI_OK;
}

/* The job runs on, and the daemon says why: each value on a line of its own. */
static int refused(struct cli *c, const struct cli_line *line, const json_t *job, const char *id)
{
        const json_t *trouble = json_object_get(job, "trouble"), *error = json_object_get(trouble, "error");

        if (cli_has(line, "--json"))
                (void)print_json(job);
        say(c, "%s was not suspended and runs on: %s", js_str(job, "name", id),
                json_is_string(error) ? json_string_value(error)
                                      : js_str(error, "text", js_str(job, "message", "its save was refused")));
        say_values(json_object_get(trouble, "values"));
        return CLI_REFUSED;
}

static int suspended(struct cli *c, const struct cli_line *line, const json_t *job, const char *id)
{
        const char *state = js_str(job, "state", "");
        int code;

        if (streq(state, "running") && json_is_object(json_object_get(job, "trouble")))
                return refused(c, line, job, id);
        code = print_act(c, line, job);
        if (code == CLI_OK && streq(state, "suspended") && !cli_has(line, "--json"))
                say(c, "continue it with `%s%s`", js_str(job, "resume_line", "portal resume "),
                        js_str(job, "resume_line", NULL) ? "" : js_str(job, "id", id));
        return code == CLI_OK && streq(state, "ended") ? CLI_CONFLICT : code;
}

static bool still_saving(const json_t *job)
{
        const char *state = js_str(job, "state", "");

        return streq(state, "saving") || (streq(state, "running") && json_is_object(json_object_get(job, "operation")));
}

/* The daemon waits at most half a minute at a time; the request is idempotent, so it is made again until the save is over. */
static int suspend(struct cli *c, const struct cli_line *line, const char *id)
{
        bool wait = !cli_has(line, "--no-wait");
        char what[48] = "suspend", path[320];
        int code = CLI_OK;

        if (wait)
                (void)str_format(what, sizeof what, "suspend?wait_ms=%d", SUSPEND_WAIT_MS);
        if (!job_path(path, sizeof path, id, what))
                return CLI_NOT_FOUND;
        for (int i = 0; i < SUSPEND_ROUNDS; i++) {
                struct http_reply reply = { 0 };
                bool more = false;

                if (ask(c, "POST", path, NULL, &reply, &code)) {
                        more = wait && still_saving(reply.json);
                        if (!more)
                                code = wait ? suspended(c, line, reply.json, id) : print_act(c, line, reply.json);
                        else if (i == 0)
                                say(c, "still saving");
                }
                http_reply_clear(&reply);
                if (!more)
                        return code;
        }
        say(c, "%s is still saving; `portal show %s` tells how it goes on", id, id);
        return CLI_TEMPORARY;
}

static int with_body(struct cli *c, const struct cli_line *line, const char *id, const char *what, const json_t *body)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, id, what))
                return CLI_NOT_FOUND;
        if (ask(c, "POST", path, body, &reply, &code))
                code = print_act(c, line, reply.json);
        http_reply_clear(&reply);
        return code;
}

static int resumed(struct cli *c, const struct cli_line *line, const json_t *job)
{
        if (!streq(js_str(job, "state", ""), "suspended"))
                return print_act(c, line, job);
        if (cli_has(line, "--json"))
                (void)print_json(job);
        say(c, "%s stays suspended: %s", js_str(job, "name", "?"), js_str(job, "message", "it could not be taken up"));
        return CLI_REFUSED;
}

static int resume(struct cli *c, const struct cli_line *line, const char *id)
{
        js_owned *body = cli_has(line, "--fresh") ? json_pack("{s:b}", "fresh", 1) : json_object();
        struct http_reply reply = { 0 };
        char what[48] = "resume", path[320];
        int code = CLI_OK;

        if (!cli_has(line, "--no-wait"))
                (void)str_format(what, sizeof what, "resume?wait_ms=%d", RESUME_WAIT_MS);
        if (!job_path(path, sizeof path, id, what))
                return CLI_NOT_FOUND;
        if (ask(c, "POST", path, body, &reply, &code))
                code = resumed(c, line, reply.json);
        http_reply_clear(&reply);
        return code;
}

static int stop(struct cli *c, const struct cli_line *line, const char *id)
{
        js_owned *body = cli_has(line, "--force") ? json_pack("{s:b}", "force", 1) : json_object();

        return with_body(c, line, id, "stop", body);
}

int cmd_suspend(struct cli *c, const struct cli_line *line)
{
        return each(c, line, suspend);
}

int cmd_resume(struct cli *c, const struct cli_line *line)
{
        return each(c, line, resume);
}

int cmd_stop(struct cli *c, const struct cli_line *line)
{
        return each(c, line, stop);
}

int cmd_reload(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        (void)line;
        if (ask(c, "POST", "/v1/reload", NULL, &reply, &code))
                say(c, "the new config is in force");
        else if (code == CLI_REFUSED)
                say(c, "the config was not changed: portald goes on with the one it has");
        http_reply_clear(&reply);
        return code;
}
