/* SPDX-License-Identifier: Apache-2.0 */
/* portal run: the plan, the question, the submit, and then the job. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/jobfile.h"

#define SUBMIT_TIMEOUT_US (60 * USEC_PER_SEC)
#define SUBMIT_TRIES 6 /* with the same key: the job is made once */

static void plan_line(FILE *to, bool colour, const char *what, const char *text)
{
        char shown[700];

        (void)fprintf(to, "  %s%-11s%s %s\n", colour_on(colour, COLOUR_DIM), what, colour_off(colour),
                plain(text, shown, sizeof shown));
}

static void plan_worst_case(FILE *to, bool colour, const json_t *plan)
{
        const json_t *worst = json_object_get(plan, "worst_case");
        struct money m = { .nano = js_int(worst, "nano", 0) };
        char text[600], amount[QUANTITY_MAX];

        if (!json_is_object(worst))
                return;
        (void)str_format(m.currency, sizeof m.currency, "%s", js_str(worst, "currency", ""));
        (void)str_format(text, sizeof text, "%s%s%s", *m.currency ? money_format(&m, amount) : "nothing",
                *js_str(worst, "why", "") ? ": " : "", js_str(worst, "why", ""));
        plan_line(to, colour, "worst case", text);
}

static void plan_offer(FILE *to, bool colour, const json_t *plan)
{
        const char *offer = js_str(plan, "offer", NULL);
        char text[400], rate[QUANTITY_MAX];

        if (!offer) {
                plan_line(to, colour, "offer", "none fits now: the job will wait in the queue");
                return;
        }
        (void)str_format(text, sizeof text, "%s, %s", offer, price(json_object_get(plan, "price"), rate));
        plan_line(to, colour, "offer", text);
}

static void plan_capture(FILE *to, bool colour, const json_t *plan)
{
        char text[600];

        (void)str_format(text, sizeof text, "%s%s%s", js_str(plan, "capture", "none"),
                *js_str(plan, "capture_why", "") ? ": " : "", js_str(plan, "capture_why", ""));
        plan_line(to, colour, "checkpoint", text);
}

static void plan_show(FILE *to, bool colour, const json_t *plan, bool losers)
{
        static const char *const sentences[] = { "notice", "idle", "budget", "ttl" };
        const json_t *v;
        size_t i;

        plan_offer(to, colour, plan);
        plan_worst_case(to, colour, plan);
        plan_capture(to, colour, plan);
        for (i = 0; i < ARRAY_LEN(sentences); i++)
                if (*js_str(plan, sentences[i], ""))
                        plan_line(to, colour, sentences[i], js_str(plan, sentences[i], ""));
        json_array_foreach (json_object_get(plan, "warnings"), i, v)
                plan_line(to, colour, "warning", json_is_string(v) ? json_string_value(v) : "?");
        if (!losers && js_str(plan, "offer", NULL))
                return;
        json_array_foreach (json_object_get(plan, "losers"), i, v) {
                char text[600];

                (void)str_format(text, sizeof text, "%s: %s", js_str(v, "offer", "?"), js_str(v, "why", "?"));
                plan_line(to, colour, "not chosen", text);
        }
}

/* -1 = no; 0 = yes */
static int confirm(struct cli *c)
{
        char answer[16] = "";

        (void)fprintf(stderr, "Submit it? [y/N] ");
        (void)fflush(stderr);
        if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
                return 0;
        say(c, "nothing was submitted");
        return -1;
}

static bool make_key(char key[33])
{
        uint8_t random[16];

        if (getrandom(random, sizeof random, 0) != sizeof random)
                return false;
        for (size_t i = 0; i < sizeof random; i++)
                (void)snprintf(key + 2 * i, 3, "%02x", random[i]);
        return true;
}

/* A connection that breaks leaves open whether the job was made; the key makes asking again harmless. */
static int submit(struct cli *c, const json_t *body, struct http_reply *ret, struct pd_error *err)
{
        int64_t delay = 200 * USEC_PER_MSEC;
        char key[33];
        int r = 0;

        if (!make_key(key))
                return pd_fail(err, PD_E_INTERNAL, "no random bytes for the request's key: %s", strerror(errno));
        for (int i = 0; i < SUBMIT_TRIES; i++) {
                r = http_call(c->http, "POST", "/v1/jobs", body, key, SUBMIT_TIMEOUT_US, ret, err);
                if (r != -PD_E_IO && r != -PD_E_TRANSIENT && r != -PD_E_BUSY)
                        return r;
                if (i + 1 == SUBMIT_TRIES)
                        break;
                if (i == 0)
                        say(c, "%s; trying again, the job is made once at most", err->text);
                http_reply_clear(ret);
                (void)http_wait(c->http, delay);
                delay *= 2;
        }
        return r;
}

static bool conflicting(struct cli *c, const struct cli_line *line)
{
        bool dry = cli_has(line, "--dry-run");

        if (cli_has(line, "--json") && !dry && !cli_has(line, "--detach")) {
                say(c, "--json needs -d or --dry-run beside it: without them stdout has the job's own output");
                return true;
        }
        if (!dry && !cli_has(line, "--yes") && !isatty(STDIN_FILENO)) {
                say(c, "-y is missing: stdin is no terminal, so there is nobody to ask whether to submit; add -y, or "
                       "look first with --dry-run");
                return true;
        }
        return false;
}

static int dry_run(struct cli *c, const struct cli_line *line, const json_t *plan)
{
        if (cli_has(line, "--json"))
                return print_json(plan);
        plan_show(stdout, c->colour_out, plan, true);
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int submitted(struct cli *c, const struct cli_line *line, const json_t *answer, int64_t retry_us)
{
        const json_t *job = json_object_get(answer, "job");
        const char *id = js_str(job, "id", NULL);
        struct follow_params p = { .job = id, .retry_us = retry_us, .exit_code_of_job = true, .states = true };

        if (!id) {
                say(c, "portald took the job and gave no id for it: `portal ps` shows it");
                return CLI_FAILED;
        }
        if (cli_has(line, "--json"))
                return print_json(answer);
        if (cli_has(line, "--detach")) {
                (void)printf("%s\n", id);
                say(c, "submitted as %s; follow it with `portal logs -f %s`", js_str(job, "name", id), id);
                return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
        }
        say(c, "submitted as %s (%s); Ctrl-C leaves it running", js_str(job, "name", id), id);
        return follow(c, &p);
}

static int run_job(struct cli *c, const struct cli_line *line, const json_t *body, int64_t retry_us)
{
        struct http_reply reply = { 0 };
        struct pd_error err;
        const json_t *plan;
        int code = CLI_OK;

        if (!ask(c, "POST", "/v1/jobs?dry_run=1", body, &reply, &code)) {
                http_reply_clear(&reply);
                return code;
        }
        plan = json_object_get(reply.json, "plan");
        if (cli_has(line, "--dry-run")) {
                code = dry_run(c, line, plan);
                http_reply_clear(&reply);
                return code;
        }
        if (!c->quiet)
                plan_show(stderr, c->colour_err, plan, false);
        http_reply_clear(&reply);
        if (!cli_has(line, "--yes") && confirm(c) < 0)
                return CLI_REFUSED;
        if (submit(c, body, &reply, &err) < 0)
                code = say_error(c, &err, &reply);
        else
                code = submitted(c, line, reply.json, retry_us);
        http_reply_clear(&reply);
        return code;
}

int cmd_run(struct cli *c, const struct cli_line *line)
{
        js_owned *body = NULL, *faults = NULL;
        struct pd_error err;
        int64_t retry_us;

        c->quiet = cli_has(line, "--json");
        if (conflicting(c, line))
                return CLI_REFUSED;
        if (cli_retry_for(line, &retry_us, &err) < 0 || jobfile_read(c, line, &body, &faults, &err) < 0) {
                if (json_array_size(faults) > 0) {
                        say(c, "the job cannot be submitted as it stands:");
                        say_faults(faults);
                } else {
                        say(c, "%s", err.text);
                }
                return CLI_REFUSED;
        }
        return run_job(c, line, body, retry_us);
}
