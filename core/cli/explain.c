/* SPDX-License-Identifier: Apache-2.0 */
/* portal explain and portal precheck: why, and whether it could. */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/show.h"

/* An evidence object as "name value, name value"; nested ones as JSON. */
static void evidence(const json_t *v, char *buf, size_t n)
{
        const json_t *member;
        const char *key;

        buf[0] = '\0';
        if (json_is_string(v))
                (void)str_format(buf, n, "%s", json_string_value(v));
        json_object_foreach ((json_t *)(uintptr_t)v, key, member) {
                pd_cleanup(freep) char *text =
                        json_is_string(member) ? strdup(json_string_value(member)) : js_dump(member);
                size_t used = strlen(buf);

                (void)str_format(buf + used, n - used, "%s%s %s", used ? ", " : "", key, str_or(text, "?"));
        }
}

static void decisions(const json_t *list)
{
        const json_t *d;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, d) {
                char at[QUANTITY_MAX], why[700], proof[1400], shown[1400], by[80];
                const char *user = js_str(d, "user", "");

                (void)printf("%s  %-10s %s: %s%s%s\n", when(js_int(d, "at_wall_us", 0), at), js_str(d, "policy", "?"),
                        js_str(d, "act", "?"), plain(js_str(d, "why", ""), why, sizeof why), *user ? "  by " : "",
                        plain(user, by, sizeof by));
                evidence(json_object_get(d, "evidence"), proof, sizeof proof);
                if (*proof)
                        (void)printf("    %s\n", plain(proof, shown, sizeof shown));
        }
}

static void intervals(const json_t *list)
{
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
                char from[QUANTITY_MAX], to[QUANTITY_MAX], why[700], margin[200];

                (void)printf("%s .. %s  %-10s did nothing %" PRId64 " time%s: %s%s%s\n",
                        when(js_int(v, "first_wall_us", 0), from), when(js_int(v, "last_wall_us", 0), to),
                        js_str(v, "policy", "?"), js_int(v, "count", 0), js_int(v, "count", 0) == 1 ? "" : "s",
                        plain(js_str(v, "why", ""), why, sizeof why),
                        *js_str(v, "best_margin", "") ? "; nearest: " : "",
                        plain(js_str(v, "best_margin", ""), margin, sizeof margin));
        }
}

static void now(const json_t *list)
{
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
                char why[700], would[700];

                (void)printf("  %-10s %-10s %s%s%s\n", js_str(v, "policy", "?"), js_str(v, "act", "?"),
                        plain(js_str(v, "why", ""), why, sizeof why),
                        *js_str(v, "would_act", "") ? "; would act: " : "",
                        plain(js_str(v, "would_act", ""), would, sizeof would));
        }
}

static void settings(const json_t *all)
{
        const json_t *s;
        const char *key;

        json_object_foreach ((json_t *)(uintptr_t)all, key, s)
                if (!streq(js_str(s, "origin", "built-in"), "built-in"))
                        (void)printf("  %-20s %s  (%s)\n", key, js_str(s, "value", "?"), js_str(s, "origin", "?"));
}

static int print_explain(struct cli *c, const json_t *e)
{
        bool colour = c->colour_out;

        (void)printf("%s is %s\n", js_str(e, "job", "?"), js_str(e, "state", "?"));
        if (json_array_size(json_object_get(e, "decisions")) > 0)
                (void)printf("%sdecisions%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        decisions(json_object_get(e, "decisions"));
        if (json_array_size(json_object_get(e, "intervals")) > 0)
                (void)printf("%snothing done%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        intervals(json_object_get(e, "intervals"));
        if (json_array_size(json_object_get(e, "now")) > 0)
                (void)printf("%snow%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        now(json_object_get(e, "now"));
        if (json_object_size(json_object_get(e, "settings")) > 0)
                (void)printf(
                        "%ssettings that are not built-in%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        settings(json_object_get(e, "settings"));
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

int cmd_explain(struct cli *c, const struct cli_line *line)
{
        const char *at = cli_value(line, "--at");
        struct http_reply reply = { 0 };
        char what[80] = "explain", path[320];
        struct pd_error err;
        int64_t wall_us = 0;
        int code = CLI_OK;

        if (at && time_flag("--at", at, &wall_us, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        if (at)
                (void)str_format(what, sizeof what, "explain?at_wall_us=%" PRId64, wall_us > 0 ? wall_us : 0);
        if (!job_path(path, sizeof path, line->args[0], what))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_explain(c, reply.json);
        http_reply_clear(&reply);
        return code;
}

static int print_precheck(struct cli *c, const json_t *p)
{
        bool usable = js_bool(p, "usable", false);
        char text[600], capture[64];

        if (*js_str(p, "text", ""))
                (void)printf("%s\n", plain(js_str(p, "text", ""), text, sizeof text));
        else
                (void)printf("%s by capture %s\n",
                        usable ? "a checkpoint can carry it" : "a checkpoint cannot carry it",
                        plain(js_str(p, "capture", "?"), capture, sizeof capture));
        (void)fflush(stdout);
        if (!usable && json_array_size(json_object_get(p, "values")) > 0)
                say(c, "these values cannot be carried:");
        say_values(json_object_get(p, "values"));
        return usable ? CLI_OK : CLI_REFUSED;
}

int cmd_precheck(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, line->args[0], "precheck"))
                return CLI_NOT_FOUND;
        if (ask(c, "POST", path, NULL, &reply, &code)) {
                if (!cli_has(line, "--json"))
                        code = print_precheck(c, reply.json);
                else if (print_json(reply.json) != CLI_OK || !js_bool(reply.json, "usable", false))
                        code = CLI_REFUSED;
        }
        http_reply_clear(&reply);
        return code;
}
