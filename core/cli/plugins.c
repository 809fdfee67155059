/* SPDX-License-Identifier: Apache-2.0 */
/* portal plugins: those in use, and a check of a file as the daemon's loader would do it. */
#include "cli/cli.h"

#include <unistd.h>

#include "host/host.h"

static int print_plugins(struct cli *c, const json_t *answer)
{
        static const struct table_column columns[] = { { "NAME", false, false }, { "KIND", false, false },
                { "VERSION", false, false }, { "ABI", false, false }, { "STATE", false, false },
                { "ISOLATION", false, false }, { "USED BY", false, false }, { "PATH", false, true },
                { "ERROR", false, true } };
        struct table *t = table_new(c, columns, ARRAY_LEN(columns));
        const json_t *p, *user;
        size_t i, k;

        json_array_foreach (json_object_get(answer, "plugins"), i, p) {
                pd_cleanup(freep) char *abi = js_dump(json_object_get(p, "abi")),
                                       *kind = js_dump(json_object_get(p, "kind"));
                char users[300] = "";

                json_array_foreach (json_object_get(p, "used_by"), k, user) {
                        size_t n = strlen(users);

                        (void)str_format(users + n, sizeof users - n, "%s%s", n ? ", " : "",
                                json_is_string(user) ? json_string_value(user) : "?");
                }
                {
                        const char *state = js_str(p, "state", "?");
                        const char *cells[] = { js_str(p, "name", "?"), js_str(p, "kind", str_or(kind, "?")),
                                js_str(p, "version", "?"), js_str(p, "abi", str_or(abi, "?")), state,
                                js_str(p, "isolation", "?"), users, js_str(p, "path", "?"), js_str(p, "error", "") };

                        table_row(t, cells, 4, *js_str(p, "error", "") ? COLOUR_BAD : COLOUR_GOOD);
                }
        }
        return table_print(t);
}

/* Slots as "launch, renew; absent: exec". */
static void print_slots(const json_t *slots)
{
        for (int present = 1; present >= 0; present--) {
                const char *name;
                const json_t *v;
                bool first = true;

                json_object_foreach ((json_t *)(uintptr_t)slots, name, v) {
                        if (json_is_true(v) != (present == 1))
                                continue;
                        (void)printf("%s%s", first ? (present ? "  slots: " : "  absent, with their defaults: ") : ", ",
                                name);
                        first = false;
                }
                if (!first)
                        (void)printf("\n");
        }
}

/* list: what JSON has of it; NULL = people read. */
static int check_file(struct cli *c, const char *path, json_t *list)
{
        pd_cleanup(freep) char *whole = realpath(path, NULL);
        js_owned *info = NULL;
        struct pd_error err;

        if (host_check_file(whole ? whole : path, 0, (uint32_t)geteuid(), getenv("PORTALD_PLUGIN_HOST"), &info, &err) <
                0) {
                if (list)
                        (void)json_array_append_new(
                                list, json_pack("{s:s,s:b,s:s}", "path", path, "good", 0, "error", err.text));
                say(c, "%s: %s", path, err.text);
                return CLI_REFUSED;
        }
        if (list) {
                (void)json_object_set_new(info, "path", json_string(path));
                (void)json_object_set_new(info, "good", json_true());
                (void)json_array_append(list, info);
                return CLI_OK;
        }
        (void)printf("%s: good: %s %s %s, ABI %s\n", path, js_str(info, "kind", "plugin"), js_str(info, "name", "?"),
                js_str(info, "version", ""), js_str(info, "abi", "?"));
        print_slots(json_object_get(info, "slots"));
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

static int check_files(struct cli *c, const struct cli_line *line)
{
        js_owned *list = cli_has(line, "--json") ? json_array() : NULL, *answer = NULL;
        int first = CLI_OK;

        if (line->args_n < 2) {
                say(c, "FILE is missing: write portal plugins check FILE.so");
                return CLI_REFUSED;
        }
        for (size_t i = 1; i < line->args_n; i++) {
                int code = check_file(c, line->args[i], list);

                if (first == CLI_OK)
                        first = code;
        }
        if (!list)
                return first;
        answer = json_pack("{s:O}", "plugins", list);
        return print_json(answer) == CLI_OK ? first : CLI_FAILED;
}

int cmd_plugins(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        if (line->args_n > 0 && streq(line->args[0], "check"))
                return check_files(c, line);
        if (line->args_n > 0) {
                say(c, "\"%s\" is not known here: write portal plugins, or portal plugins check FILE.so",
                        line->args[0]);
                return CLI_REFUSED;
        }
        if (ask(c, "GET", "/v1/plugins", NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_plugins(c, reply.json);
        http_reply_clear(&reply);
        return code;
}
