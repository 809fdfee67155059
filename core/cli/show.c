/* SPDX-License-Identifier: Apache-2.0 */
/* portal show, and the history of `portal logs --events`. */
#include "cli/cli.h"
#include "cli/show.h"

#include <inttypes.h>

static void row(const struct cli *c, const char *what, const char *text)
{
        char shown[1024];

        if (text && *text)
                (void)printf("%s%-16s%s %s\n", colour_on(c->colour_out, COLOUR_DIM), what, colour_off(c->colour_out),
                        plain(text, shown, sizeof shown));
}

static void row_time(const struct cli *c, const char *what, const json_t *job, const char *member, const char *note)
{
        char text[160], at[QUANTITY_MAX];

        if (js_int(job, member, 0) <= 0)
                return;
        (void)str_format(text, sizeof text, "%s%s%s", when(js_int(job, member, 0), at), *note ? "  " : "", note);
        row(c, what, text);
}

static void show_state(const struct cli *c, const json_t *job)
{
        const char *state = js_str(job, "state", "?"), *result = js_str(job, "result", ""),
                   *cause = js_str(job, "cause", "");
        const json_t *op = json_object_get(job, "operation");
        char text[300];

        (void)printf("%s%-16s%s %s%s%s", colour_on(c->colour_out, COLOUR_DIM), "state", colour_off(c->colour_out),
                colour_on(c->colour_out, colour_of_state(state, result)), state, colour_off(c->colour_out));
        (void)printf("%s%s%s%s%s\n", *result ? ", " : "", result, *cause ? " (" : "", cause, *cause ? ")" : "");
        row(c, "message", js_str(job, "message", ""));
        row(c, "waits", js_str(job, "waiting", ""));
        if (json_is_object(op)) {
                (void)str_format(
                        text, sizeof text, "%s, because of %s", js_str(op, "mode", "?"), js_str(op, "cause", "?"));
                row(c, "operation", text);
        }
        if (json_is_object(json_object_get(job, "move"))) {
                const json_t *move = json_object_get(job, "move");

                (void)str_format(text, sizeof text, "%s, from %s to %s", js_str(move, "phase", "?"),
                        js_str(move, "from", "?"), js_str(move, "to", "?"));
                row(c, "move", text);
        }
        if (streq(cause, "exit") || streq(cause, "signal") || js_int(job, "exit_code", 0) != 0 ||
                js_int(job, "signal", 0) > 0) {
                int64_t sig = js_int(job, "signal", 0);

                if (sig > 0)
                        (void)str_format(text, sizeof text, "signal %" PRId64, sig);
                else
                        (void)str_format(text, sizeof text, "%" PRId64, js_int(job, "exit_code", 0));
                row(c, "exit", text);
        }
}

static void show_place(const struct cli *c, const json_t *job)
{
        char text[400], cpu[QUANTITY_MAX], memory[QUANTITY_MAX], rate[QUANTITY_MAX];
        int64_t milli = js_int(job, "cpu_milli", 0), gpus = js_int(job, "gpus", 0);

        if (js_str(job, "offer", NULL)) {
                (void)str_format(text, sizeof text, "%s%s%s", js_str(job, "offer", ""),
                        json_is_object(json_object_get(job, "rate")) ? ", " : "",
                        json_is_object(json_object_get(job, "rate")) ? price(json_object_get(job, "rate"), rate) : "");
                row(c, "offer", text);
        }
        row(c, "machine", js_str(job, "machine", ""));
        (void)str_format(text, sizeof text, "%s CPU, %s", cpu_format((int32_t)milli, cpu),
                size_format((uint64_t)js_int(job, "memory_bytes", 0), memory));
        if (gpus > 0)
                (void)str_format(text + strlen(text), sizeof text - strlen(text), ", %" PRId64 " GPUs", gpus);
        row(c, "asked for", text);
}

static const char *amount(int64_t nano, const char *currency, char *buf)
{
        struct money m = { .nano = nano };

        (void)str_format(m.currency, sizeof m.currency, "%s", currency);
        return money_short(&m, buf);
}

static void show_cost(const struct cli *c, const json_t *cost)
{
        const json_t *cap = json_object_get(cost, "cap");
        const char *currency = js_str(cost, "currency", "");
        char text[300], spent[QUANTITY_MAX], open[QUANTITY_MAX], whole[QUANTITY_MAX];

        if (!json_is_object(cost))
                return;
        (void)str_format(text, sizeof text, "%s", amount(js_int(cost, "spent_nano", 0), currency, spent));
        if (js_int(cost, "open_nano", 0) > 0)
                (void)str_format(text + strlen(text), sizeof text - strlen(text),
                        ", and at worst %s more until its stop", amount(js_int(cost, "open_nano", 0), currency, open));
        row(c, "cost", text);
        if (!json_is_object(cap))
                return;
        (void)str_format(text, sizeof text, "%s: %s, of which %s is left",
                streq(js_str(cap, "name", ""), "budget") ? "its budget" : js_str(cap, "name", "?"),
                amount(js_int(cap, "nano", 0), currency, whole), amount(js_int(cap, "left_nano", 0), currency, open));
        row(c, "limit", text);
}

static void show_times(const struct cli *c, const json_t *job)
{
        char text[200], ran[QUANTITY_MAX], ttl[QUANTITY_MAX];

        row_time(c, "created", job, "created_wall_us", "");
        row_time(c, "since", job, "since_wall_us", "in this state");
        row_time(c, "started", job, "started_wall_us", "");
        row_time(c, "ended", job, "ended_wall_us", "");
        if (json_is_integer(json_object_get(job, "ttl_us")))
                (void)str_format(text, sizeof text, "%s of %s", ago(js_int(job, "ran_us", 0), ran),
                        duration_format(js_int(job, "ttl_us", 0), ttl));
        else
                (void)str_format(text, sizeof text, "%s, without a limit", ago(js_int(job, "ran_us", 0), ran));
        row(c, "ran", text);
        show_cost(c, json_object_get(job, "cost"));
        row_time(c, "ends", job, "ttl_wall_us", "by its ttl, unless it is resumed before");
        row_time(c, "expires", job, "expire_wall_us", "its checkpoint, unless it is resumed before");
}

static void show_checkpoint(const struct cli *c, const json_t *job)
{
        const json_t *k = json_object_get(job, "checkpoint");
        char text[500], bytes[QUANTITY_MAX], at[QUANTITY_MAX];

        if (json_is_object(k)) {
                (void)str_format(text, sizeof text, "%s, %s by %s, %s%s%s", js_str(k, "id", "?"),
                        size_format((uint64_t)js_int(k, "bytes", 0), bytes), js_str(k, "capture", "?"),
                        when(js_int(k, "wall_us", 0), at), *js_str(k, "progress", "") ? ", at " : "",
                        js_str(k, "progress", ""));
                row(c, "checkpoint", text);
        }
}

static void show_measures(const struct cli *c, const json_t *job)
{
        const json_t *m = json_object_get(job, "measures");
        char text[400] = "", part[QUANTITY_MAX];

        if (!json_is_object(m))
                return;
        if (json_is_integer(json_object_get(m, "cpu_us")))
                (void)str_format(text, sizeof text, "%s of CPU", ago(js_int(m, "cpu_us", 0), part));
        if (json_is_integer(json_object_get(m, "memory_bytes")))
                (void)str_format(text + strlen(text), sizeof text - strlen(text), "%s%s of memory", *text ? ", " : "",
                        size_format((uint64_t)js_int(m, "memory_bytes", 0), part));
        if (*js_str(m, "progress", ""))
                (void)str_format(text + strlen(text), sizeof text - strlen(text), "%sprogress: %s", *text ? ", " : "",
                        js_str(m, "progress", ""));
        row(c, "measured", text);
}

static void show_trouble(const struct cli *c, const json_t *job)
{
        const json_t *t = json_object_get(job, "trouble"), *e = json_object_get(t, "error"), *v;
        size_t i;

        if (!json_is_object(t))
                return;
        row(c, "trouble", json_is_string(e) ? json_string_value(e) : js_str(e, "text", "a save was refused"));
        json_array_foreach (json_object_get(t, "values"), i, v) {
                char text[900];

                (void)str_format(text, sizeof text, "%.200s (%.80s): %.200s; %.200s", js_str(v, "path", "?"),
                        js_str(v, "type", "?"), js_str(v, "reason", ""), js_str(v, "fix", ""));
                row(c, "  value", text);
        }
}

static void show_spec(const struct cli *c, const json_t *job)
{
        const json_t *v;
        const char *key;

        json_object_foreach (json_object_get(job, "spec"), key, v) {
                pd_cleanup(freep) char *text = json_is_string(v) ? strdup(json_string_value(v)) : js_dump(v);
                char what[80];

                (void)str_format(what, sizeof what, "spec.%.70s", key);
                row(c, what, text);
        }
        json_object_foreach (json_object_get(job, "settings"), key, v) {
                char what[80], text[200];

                if (streq(js_str(v, "origin", "built-in"), "built-in"))
                        continue;
                (void)str_format(what, sizeof what, "set.%.70s", key);
                (void)str_format(text, sizeof text, "%s  (%s)", js_str(v, "value", "?"), js_str(v, "origin", "?"));
                row(c, what, text);
        }
}

void history_print(const struct cli *c, const json_t *history)
{
        const json_t *h;
        size_t i;

        (void)c;
        json_array_foreach ((json_t *)(uintptr_t)history, i, h) {
                const char *cause = js_str(h, "cause", "");
                char at[QUANTITY_MAX], message[600];

                (void)printf("%s  %-12s %s -> %s%s%s%s  %s\n", when(js_int(h, "at_wall_us", 0), at),
                        js_str(h, "event", "?"), *js_str(h, "from", "") ? js_str(h, "from", "") : "-",
                        js_str(h, "to", "?"), *cause ? " (" : "", cause, *cause ? ")" : "",
                        plain(js_str(h, "message", ""), message, sizeof message));
        }
}

static int print_job(struct cli *c, const json_t *job)
{
        row(c, "id", js_str(job, "id", ""));
        row(c, "name", js_str(job, "name", ""));
        row(c, "user", js_str(job, "user", ""));
        show_state(c, job);
        show_place(c, job);
        show_times(c, job);
        show_checkpoint(c, job);
        show_measures(c, job);
        show_trouble(c, job);
        show_spec(c, job);
        if (json_array_size(json_object_get(job, "history")) > 0) {
                (void)printf("%shistory%s\n", colour_on(c->colour_out, COLOUR_DIM), colour_off(c->colour_out));
                history_print(c, json_object_get(job, "history"));
        }
        if (streq(js_str(job, "state", ""), "suspended") || js_str(job, "resume_line", NULL))
                (void)printf("continue it with: %s%s\n", js_str(job, "resume_line", "portal resume "),
                        js_str(job, "resume_line", NULL) ? "" : js_str(job, "id", ""));
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

int cmd_show(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, line->args[0], ""))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_job(c, reply.json);
        http_reply_clear(&reply);
        return code;
}
