/* SPDX-License-Identifier: Apache-2.0 */
/* From argv to a command. */
#include "cli/cli.h"

#include <curl/curl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#define ASK_TIMEOUT_US (150 * USEC_PER_SEC) /* above the daemon's own deadline, so that its sentence arrives */

bool ask(struct cli *c, const char *method, const char *path, const json_t *body, struct http_reply *ret, int *ret_exit)
{
        struct pd_error err;

        if (http_call(c->http, method, path, body, NULL, ASK_TIMEOUT_US, ret, &err) == 0)
                return true;
        *ret_exit = say_error(c, &err, ret);
        return false;
}

bool job_path(char *buf, size_t n, const char *id, const char *what)
{
        char *escaped = curl_easy_escape(NULL, id, 0);
        bool fits = escaped && *escaped &&
                    str_format(buf, n, "/v1/%s%s%s%s", streq(what, "notice") ? "machines/" : "jobs/", escaped,
                            *what ? "/" : "", what);

        curl_free(escaped);
        if (!fits)
                (void)fprintf(stderr, "portal: \"%.40s\" is no id and no name: `portal ps -a` lists the jobs\n", id);
        return fits;
}

static bool wants_colour(int fd)
{
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(fd) && !(no && *no) && !(term && streq(term, "dumb"));
}

static int unknown_command(const char *name)
{
        const char *names[64] = { NULL };
        const char *near;

        for (size_t i = 0; i < cli_commands_n && i < ARRAY_LEN(names) - 1; i++)
                names[i] = cli_commands[i].name;
        near = str_nearest(name, names);
        if (near)
                (void)fprintf(stderr, "portal: \"%.40s\" is no command: did you mean `portal %s`?\n", name, near);
        else
                (void)fprintf(stderr, "portal: \"%.40s\" is no command: `portal help` lists them\n", name);
        return CLI_REFUSED;
}

/* --help in any place is help, and says nothing to the daemon. */
static int help_on(struct cli *c, const struct cli_command *command)
{
        char *args[] = { (char *)(uintptr_t)command->name };
        struct cli_line line = { .command = cli_command_find("help"), .args = args, .args_n = 1 };

        return cmd_help(c, &line);
}

static int run_line(struct cli *c, const struct cli_line *line)
{
        struct pd_error err;
        int code;

        if (cli_has(line, "--help"))
                return help_on(c, line->command);
        if (cli_value(line, "--socket"))
                c->socket = cli_value(line, "--socket");
        if (!*c->socket) {
                say(c, "--socket \"\" is empty: name the socket's path, as " CLI_SOCKET);
                return CLI_REFUSED;
        }
        if (http_new(&c->http, c->socket, &err) < 0)
                return say_error(c, &err, NULL);
        code = line->command->run(c, line);
        c->http = http_free(c->http);
        return code;
}

static int run_command(struct cli *c, const struct cli_command *command, int argc, char **argv)
{
        struct cli_line line;
        struct pd_error err;
        int code;

        if (cli_parse(command, argc, argv, &line, &err) < 0) {
                (void)fprintf(stderr, "portal %s: %s\n", command->name, err.text);
                code = CLI_REFUSED;
        } else {
                code = run_line(c, &line);
        }
        cli_line_clear(&line);
        return code;
}

/* `portal --socket PATH COMMAND` is as good as `portal COMMAND --socket PATH`. */
static int leading_flags(struct cli *c, int argc, char **argv, int *i)
{
        for (; *i < argc && argv[*i][0] == '-'; ++*i) {
                if (streq(argv[*i], "--help") || streq(argv[*i], "-h")) {
                        argv[*i] = (char *)(uintptr_t) "help";
                        return 0;
                }
                if (streq(argv[*i], "--version")) {
                        argv[*i] = (char *)(uintptr_t) "version";
                        return 0;
                }
                if (str_starts(argv[*i], "--socket=")) {
                        c->socket = argv[*i] + 9;
                } else if (streq(argv[*i], "--socket") && *i + 1 < argc) {
                        c->socket = argv[++*i];
                } else {
                        (void)fprintf(stderr,
                                "portal: unknown flag %.60s in front of the command: only --socket PATH, --help and "
                                "--version go there\n",
                                argv[*i]);
                        return -1;
                }
        }
        return 0;
}

static int dispatch(struct cli *c, int argc, char **argv)
{
        const struct cli_command *command;
        int i = 1;

        if (leading_flags(c, argc, argv, &i) < 0)
                return CLI_REFUSED;
        command = cli_command_find(i < argc ? argv[i] : "help");
        if (!command)
                return unknown_command(argv[i]);
        return run_command(c, command, argc > i ? argc - i - 1 : 0, argv + i + 1);
}

int cli_main(int argc, char **argv)
{
        const char *name = argc > 0 ? argv[0] : "portal", *slash = strrchr(name, '/');
        struct cli c = { .socket = str_or(getenv("PORTALD_SOCKET"), CLI_SOCKET),
                .colour_out = wants_colour(STDOUT_FILENO),
                .colour_err = wants_colour(STDERR_FILENO) };
        int code;

        if (streq(slash ? slash + 1 : name, "forge")) {
                (void)fprintf(stderr, "forge: this version of portald has no forge yet: run jobs with `portal run`\n");
                return CLI_REFUSED;
        }
        (void)setlocale(LC_CTYPE, ""); /* for the width of characters in tables */
        (void)signal(SIGPIPE, SIG_IGN);
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
                return CLI_FAILED;
        code = dispatch(&c, argc, argv);
        curl_global_cleanup();
        return code;
}
