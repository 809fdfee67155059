/* SPDX-License-Identifier: Apache-2.0 */
/* portal check, portal version. */
#include "cli/cli.h"

static bool print_line(struct cli *c, const json_t *line)
{
        const char *result = js_str(line, "result", "?"), *fix = js_str(line, "fix", "");
        bool fail = streq(result, "fail"), warn = streq(result, "warn");
        enum colour colour = fail ? COLOUR_BAD : warn ? COLOUR_WARN : COLOUR_GOOD;
        char name[120], text[600], shown[600];

        (void)printf("%s%-4s%s  %-18s %s\n", colour_on(c->colour_out, colour), result, colour_off(c->colour_out),
                plain(js_str(line, "name", "?"), name, sizeof name),
                plain(js_str(line, "text", ""), text, sizeof text));
        if (*fix && (fail || warn))
                (void)printf("      fix: %s\n", plain(fix, shown, sizeof shown));
        return fail;
}

int cmd_check(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        const json_t *v;
        size_t i, failed = 0;
        int code = CLI_OK;

        if (!ask(c, "GET", "/v1/check", NULL, &reply, &code)) {
                http_reply_clear(&reply);
                return code;
        }
        json_array_foreach (json_object_get(reply.json, "lines"), i, v)
                failed += cli_has(line, "--json") ? streq(js_str(v, "result", ""), "fail") : print_line(c, v);
        if (cli_has(line, "--json"))
                code = print_json(reply.json);
        else
                code = fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
        http_reply_clear(&reply);
        return failed > 0 ? CLI_FAILED : code;
}

/* The daemon's version where it answers; that it does not is no failure here. */
int cmd_version(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        js_owned *answer = NULL;
        struct pd_error err;
        const char *daemon = NULL;
        int code = CLI_OK;

        if (http_call(c->http, "GET", "/v1/status", NULL, NULL, 10 * USEC_PER_SEC, &reply, &err) == 0)
                daemon = js_str(reply.json, "version", NULL);
        if (cli_has(line, "--json")) {
                answer = json_pack("{s:s,s:s?}", "portal", PORTALD_VERSION, "portald", daemon);
                code = print_json(answer);
        } else {
                char text[64];

                (void)printf("portal %s\n", PORTALD_VERSION);
                if (daemon)
                        (void)printf("portald %s\n", plain(daemon, text, sizeof text));
                else
                        (void)printf("portald does not answer at %s\n", c->socket);
        }
        http_reply_clear(&reply);
        return code;
}
