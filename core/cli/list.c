/* SPDX-License-Identifier: Apache-2.0 */
/* portal ps. */
#include "cli/cli.h"

#include <inttypes.h>
#include <unistd.h>

#define WAIT_US (3600 * USEC_PER_SEC)

static const struct table_column columns[] = { { "ID", false, false }, { "NAME", false, false },
        { "STATE", false, false }, { "SINCE", false, false }, { "RAN", true, false }, { "COST", true, false },
        { "OFFER", false, false }, { "USER", false, false }, { "WHY", false, true } };

static void add_job(struct table *t, const json_t *job)
{
        const char *state = js_str(job, "state", "?"), *result = js_str(job, "result", ""),
                   *waiting = js_str(job, "waiting", "");
        char since[QUANTITY_MAX], ran[QUANTITY_MAX], cost[QUANTITY_MAX];
        const char *cells[ARRAY_LEN(columns)] = { js_str(job, "id", "?"), js_str(job, "name", ""),
                streq(state, "ended") && *result ? result : state, when(js_int(job, "since_wall_us", 0), since),
                ago(js_int(job, "ran_us", 0), ran), cost_text(job, cost), js_str(job, "offer", "-"),
                js_str(job, "user", ""), *waiting ? waiting : js_str(job, "message", "") };

        table_row(t, cells, 2, colour_of_state(state, result));
}

static int print_jobs(struct cli *c, const json_t *answer)
{
        const json_t *jobs = json_object_get(answer, "jobs"), *job;
        struct table *t;
        size_t i;

        if (json_array_size(jobs) == 0) {
                say(c, "no jobs; `portal run` makes one, `portal ps -a` shows ended ones too");
                return CLI_OK;
        }
        t = table_new(c, columns, ARRAY_LEN(columns));
        json_array_foreach ((json_t *)(uintptr_t)jobs, i, job)
                add_job(t, job);
        if (*js_str(answer, "next", ""))
                say(c, "there are more: raise --limit");
        return table_print(t);
}

static bool list_path(const struct cli_line *line, char *buf, size_t n, struct pd_error *err)
{
        const char *user = cli_value(line, "--user"), *limit = str_or(cli_value(line, "--limit"), "1000");
        long jobs;

        if (user && !streq(user, "*")) {
                (void)pd_fail(err, PD_E_INVALID,
                        "--user \"%.60s\" is not known: write --user '*' for every user's jobs, or leave it out for "
                        "your own",
                        user);
                return false;
        }
        if (!count_parse(limit, 1000, &jobs) || jobs < 1) {
                (void)pd_fail(err, PD_E_INVALID, "--limit \"%.60s\" is not a number of jobs: write 1 to 1000", limit);
                return false;
        }
        return str_format(
                buf, n, "/v1/jobs?limit=%s%s%s", limit, cli_has(line, "--all") ? "&all=1" : "", user ? "&user=*" : "");
}

static int list_once(struct cli *c, const struct cli_line *line, const char *path)
{
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        if (ask(c, "GET", path, NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_jobs(c, reply.json);
        http_reply_clear(&reply);
        return code;
}

/* --- -w: the list anew at each change on a terminal, else a line a change --- */
struct watching {
        struct cli *c;
        const char *path;
        int64_t retry_us;
        bool json, terminal;
};

static bool on_change(void *arg, const json_t *job)
{
        struct watching *w = arg;
        char at[QUANTITY_MAX], name[96], why[400];
        const char *state = js_str(job, "state", "?"), *result = js_str(job, "result", "");

        if (w->terminal)
                return true;
        if (w->json)
                return print_json_line(job) != CLI_OK;
        (void)printf("%s  %s  %s  %s  %s\n", when(js_int(job, "since_wall_us", 0), at), js_str(job, "id", "?"),
                plain(js_str(job, "name", ""), name, sizeof name), streq(state, "ended") && *result ? result : state,
                plain(js_str(job, "message", ""), why, sizeof why));
        return fflush(stdout) != 0;
}

/* The list as it is now stands in for the changes that were missed. */
static int list_anew(struct watching *w, const struct http_reply *reply)
{
        const json_t *job;
        size_t i;

        if (!w->json)
                return print_jobs(w->c, reply->json);
        json_array_foreach (json_object_get(reply->json, "jobs"), i, job)
                if (print_json_line(job) != CLI_OK)
                        return CLI_FAILED;
        return CLI_OK;
}

/* portald went away, or restarts: waited for, within the bound. */
static int reconnect(struct watching *w, struct pd_error *err)
{
        struct http_reply reply = { 0 };
        char span[QUANTITY_MAX];
        int r;

        say(w->c, "%s", err->text);
        say(w->c, "the jobs are not touched by that; trying again for %s", ago(w->retry_us, span));
        r = ask_again(w->c, w->path, w->retry_us, &reply, err);
        if (r == 0)
                r = http_events_open(w->c->http, "/v1/events", on_change, w, err);
        if (r == 0) {
                say(w->c, "portald answers again");
                r = list_anew(w, &reply) == CLI_OK ? 0 : pd_fail(err, PD_E_CANCELLED, "stdout is closed");
        }
        http_reply_clear(&reply);
        return r;
}

static int watch_on(struct watching *w, const struct cli_line *line)
{
        struct pd_error err;
        int code = CLI_OK, r = 0;

        while (code == CLI_OK && r == 0 && !http_interrupted(w->c->http) && !ferror(stdout)) {
                if (http_events_state(w->c->http, &err) < 0) {
                        r = reconnect(w, &err);
                        continue;
                }
                if (!http_wait(w->c->http, WAIT_US) || !w->terminal)
                        continue;
                (void)printf("\033[H\033[2J");
                code = list_once(w->c, line, w->path);
        }
        if (code == CLI_OK && r < 0 && !http_interrupted(w->c->http) && !ferror(stdout))
                code = say_error(w->c, &err, NULL);
        return code;
}

static int watch(struct cli *c, const struct cli_line *line, const char *path)
{
        struct watching w = { .c = c,
                .path = path,
                .json = cli_has(line, "--json"),
                .terminal = isatty(STDOUT_FILENO) && !cli_has(line, "--json") };
        struct interrupt interrupt;
        struct pd_error err;
        int code;

        if (cli_retry_for(line, &w.retry_us, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        interrupt_begin(c, &interrupt);
        code = http_events_open(c->http, "/v1/events", on_change, &w, &err) < 0 ? say_error(c, &err, NULL) : CLI_OK;
        if (code == CLI_OK && !w.json)
                code = list_once(c, line, path);
        if (code == CLI_OK)
                code = watch_on(&w, line);
        http_events_close(c->http);
        interrupt_end(c, &interrupt);
        return code;
}

int cmd_ps(struct cli *c, const struct cli_line *line)
{
        struct pd_error err;
        char path[128];

        if (!list_path(line, path, sizeof path, &err)) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        return cli_has(line, "--watch") ? watch(c, line, path) : list_once(c, line, path);
}
