/* SPDX-License-Identifier: Apache-2.0 */
/* `portal move`: asks for it once, and with --wait looks on until it is through. */
#include <unistd.h>

#include "cli/cli.h"

#define LOOK_US (500 * USEC_PER_MSEC)
#define LOOKS 3600 /* half an hour: a machine may have to be rented first */

static bool on_its_way(const json_t *job)
{
        const char *phase = js_str(json_object_get(job, "move"), "phase", "");

        return *phase && !streq(phase, "proved");
}

static void consents(struct cli *c, const json_t *job)
{
        const json_t *text;
        size_t i;

        json_array_foreach (json_object_get(json_object_get(job, "move"), "consents"), i, text)
                say(c, "by your own word, %s", json_string_value(text));
}

/* There, refused with each value on a line of its own, or not moved for another reason that the daemon says. */
static int outcome(struct cli *c, const struct cli_line *line, const json_t *job, const char *to)
{
        const json_t *trouble = json_object_get(job, "trouble"), *error = json_object_get(trouble, "error");
        const char *message = js_str(job, "message", ""), *name = js_str(job, "name", "?");
        bool there = streq(js_str(job, "offer", ""), to) || !*to;

        if (cli_has(line, "--json"))
                (void)print_json(job);
        if (there && streq(js_str(job, "state", ""), "running")) {
                say(c, "%s runs on %s", name, js_str(job, "offer", "its machine"));
                return CLI_OK;
        }
        say(c, "%s was not moved, it is %s: %s", name, js_str(job, "state", "?"), js_str(error, "text", message));
        say_values(json_object_get(trouble, "values"));
        return CLI_REFUSED;
}

static int look_on(struct cli *c, const struct cli_line *line, const char *id, const char *to)
{
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, id, ""))
                return CLI_NOT_FOUND;
        for (int i = 0; i < LOOKS; i++) {
                struct http_reply reply = { 0 };
                bool more = false;

                if (ask(c, "GET", path, NULL, &reply, &code)) {
                        more = on_its_way(reply.json);
                        if (!more)
                                code = outcome(c, line, reply.json, to);
                }
                http_reply_clear(&reply);
                if (!more)
                        return code;
                (void)usleep(LOOK_US);
        }
        say(c, "%s is still on its way; `portal show %s` tells how it goes on", id, id);
        return CLI_TEMPORARY;
}

int cmd_move(struct cli *c, const struct cli_line *line)
{
        const char *on = cli_value(line, "--on"), *id = line->args[0];
        bool wait = cli_has(line, "--wait"), going;
        js_owned *body = on ? json_pack("{s:s}", "on", on) : json_object();
        struct http_reply reply = { 0 };
        char path[320], what[48] = "move", to[192];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, id, what))
                return CLI_NOT_FOUND;
        if (!ask(c, "POST", path, body, &reply, &code)) {
                http_reply_clear(&reply);
                return code;
        }
        consents(c, reply.json);
        going = on_its_way(reply.json);
        (void)str_format(to, sizeof to, "%s",
                going ? js_str(json_object_get(reply.json, "move"), "to", "") : js_str(reply.json, "offer", ""));
        if (going && wait)
                code = look_on(c, line, id, to);
        else if (going) {
                if (cli_has(line, "--json"))
                        (void)print_json(reply.json);
                say(c, "%s moves to %s", js_str(reply.json, "name", "?"), to);
        } else {
                code = outcome(c, line, reply.json, to);
        }
        http_reply_clear(&reply);
        return code;
}
