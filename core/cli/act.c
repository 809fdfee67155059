/* SPDX-License-Identifier: Apache-2.0 */
/* What a user does to a job: suspend, resume, stop (P-26). Several jobs: each is tried, the first failure's code is the exit code. */
#include "cli/cli.h"

#include "spec/life.h"

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

static json_t *resume_body(const struct cli_line *line)
{
        json_t *body = cli_has(line, "--fresh") ? json_pack("{s:b}", "fresh", 1) : json_object();

        if (cli_has(line, "--budget"))
                (void)json_object_set_new(body, "budget", json_string(cli_value(line, "--budget")));
        return body;
}

static int resume(struct cli *c, const struct cli_line *line, const char *id)
{
        js_owned *body = resume_body(line);
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

/* --- resume --all, resume --cause: what the user's own suspended jobs are is asked, then each is resumed by name --- */
struct chosen {
        const char *cause; /* NULL = any */
        json_t *ids;
};

static bool choose_page(struct cli *c, struct chosen *ch, char *before, size_t n, int *ret_exit)
{
        struct http_reply reply = { 0 };
        const json_t *job;
        char path[160];
        size_t i;
        bool more;

        (void)str_format(path, sizeof path, "/v1/jobs?user=&limit=1000%s%.80s", *before ? "&before=" : "", before);
        if (!ask(c, "GET", path, NULL, &reply, ret_exit)) {
                http_reply_clear(&reply);
                return false;
        }
        json_array_foreach (json_object_get(reply.json, "jobs"), i, job)
                if (streq(js_str(job, "state", ""), "suspended") &&
                        (!ch->cause || streq(js_str(job, "cause", ""), ch->cause)))
                        (void)json_array_append_new(ch->ids, json_string(js_str(job, "id", "")));
        (void)str_format(before, n, "%s", js_str(reply.json, "next", ""));
        more = *before != '\0';
        http_reply_clear(&reply);
        return more;
}

static int resume_chosen(struct cli *c, const struct cli_line *line)
{
        js_owned *ids = json_array(), *body = cli_has(line, "--fresh") ? json_pack("{s:b}", "fresh", 1) : json_object();
        struct chosen ch = { .cause = cli_value(line, "--cause"), .ids = ids };
        char before[96] = "";
        int code = CLI_OK, first;
        const json_t *id;
        size_t i;

        while (choose_page(c, &ch, before, sizeof before, &code))
                ;
        first = code;
        if (code == CLI_OK && json_array_size(ids) == 0)
                say(c, "no job of yours is suspended%s%s", ch.cause ? " by " : "", str_or(ch.cause, ""));
        json_array_foreach (ids, i, id) {
                code = with_body(c, line, json_string_value(id), "resume", body);
                if (first == CLI_OK)
                        first = code;
        }
        return first;
}

static int check_chosen(struct cli *c, const struct cli_line *line)
{
        const char *cause = cli_value(line, "--cause");
        enum job_cause unused;

        if (cause && !job_cause_parse(cause, &unused)) {
                say(c, "--cause \"%.40s\" is no cause: write what `portal ps` shows, as notice, idle, budget or user",
                        cause);
                return CLI_REFUSED;
        }
        if (line->args_n == 0 && !cause && !cli_has(line, "--all")) {
                say(c, "JOB is missing: name jobs, or write --all or --cause CAUSE");
                return CLI_REFUSED;
        }
        if (line->args_n > 0 && (cause || cli_has(line, "--all"))) {
                say(c, "\"%.40s\" beside --all or --cause: name jobs, or leave them out", line->args[0]);
                return CLI_REFUSED;
        }
        return CLI_OK;
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
        int code = check_chosen(c, line);

        if (code != CLI_OK)
                return code;
        return line->args_n ? each(c, line, resume) : resume_chosen(c, line);
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
