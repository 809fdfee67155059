/* SPDX-License-Identifier: Apache-2.0 */
/* Help, manual and what shells complete: all from the tables of commands, flags, fields and settings. */
#include "cli/cli.h"

/* --- one flag, however it came to be --- */
struct shown_flag {
        const char *name, *metavar, *help, *fallback, *choices;
        char letter;
};
typedef void (*flag_fn)(void *arg, const struct shown_flag *f);

/* A switch has two flags, each with what it says. */
static void setting_flags(const struct setting_row *s, flag_fn fn, void *arg)
{
        static const char *const metavars[SPEC_TYPE_N] = {
                [SPEC_DURATION] = "DURATION", [SPEC_MONEY] = "MONEY", [SPEC_PERCENT] = "PERCENT"
        };
        char no[SETTING_FLAG_MAX], help[300];

        if (s->type != SPEC_BOOL) {
                fn(arg, &(struct shown_flag){
                                s->flag, str_or(metavars[s->type], "VALUE"), s->help, s->fallback, s->choices, 0 });
                return;
        }
        for (int i = 0; i < 2; i++) {
                (void)str_format(help, sizeof help, "%s = %s: %s", s->key, i ? "off" : "on", s->help);
                fn(arg, &(struct shown_flag){ i ? setting_no_flag(s, no) : s->flag, NULL, help, NULL, NULL, 0 });
        }
}

static void each_flag(const struct cli_command *cmd, flag_fn fn, void *arg)
{
        for (size_t i = 0; i < CLI_FLAGS_MAX && cmd->flags[i].name; i++) {
                const struct cli_flag *f = &cmd->flags[i];

                fn(arg, &(struct shown_flag){ f->name, f->metavar, f->help, NULL, NULL, f->letter });
        }
        for (size_t i = 0; cmd->takes_spec && i < spec_fields_n; i++) {
                const struct spec_field *f = &spec_fields[i];

                if (f->flag)
                        fn(arg, &(struct shown_flag){
                                        f->flag, f->metavar, f->help, f->fallback, f->choices, f->letter });
        }
        for (size_t i = 0; cmd->takes_spec && i < setting_rows_n; i++)
                if (setting_rows[i].flag)
                        setting_flags(&setting_rows[i], fn, arg);
        for (size_t i = 0; cli_global_flags[i].name; i++) {
                const struct cli_flag *f = &cli_global_flags[i];

                fn(arg, &(struct shown_flag){ f->name, f->metavar, f->help, NULL, NULL, f->letter });
        }
}

static void print_flag(void *arg, const struct shown_flag *f)
{
        char left[80];

        (void)arg;
        if (f->letter)
                (void)str_format(left, sizeof left, "-%c, %s %s", f->letter, f->name, str_or(f->metavar, ""));
        else
                (void)str_format(left, sizeof left, "    %s %s", f->name, str_or(f->metavar, ""));
        (void)printf("  %-28s %s", left, f->help);
        if (f->choices)
                (void)printf(" (%s)", f->choices);
        if (f->fallback)
                (void)printf(" [%s]", f->fallback);
        (void)printf("\n");
}

static void print_settings(void)
{
        (void)printf("\nSettings for --set KEY=VALUE:\n");
        for (size_t i = 0; i < setting_rows_n; i++)
                (void)printf("  %-28s %s [%s]\n", setting_rows[i].key, setting_rows[i].help,
                        str_or(setting_rows[i].fallback, ""));
}

static void help_one(const struct cli_command *cmd)
{
        (void)printf(
                "portal %s%s%s\n\n%s.\n", cmd->name, *cmd->args ? " [FLAGS] " : " [FLAGS]", cmd->args, cmd->summary);
        if (cmd->text)
                (void)printf("%s\n", cmd->text);
        (void)printf("\nFlags:\n");
        each_flag(cmd, print_flag, NULL);
        if (cmd->takes_spec)
                print_settings();
}

static void help_all(void)
{
        (void)printf("portal COMMAND [FLAGS] [ARGUMENTS]: run jobs that survive the machine they are on.\n\n");
        for (size_t i = 0; i < cli_commands_n; i++)
                (void)printf("  %-10s %-18s %s\n", cli_commands[i].name,
                        strlen(cli_commands[i].args) > 18 ? "..." : cli_commands[i].args, cli_commands[i].summary);
        (void)printf("\n`portal help COMMAND` says more. Exit codes:");
#define SHOW_EXIT(n_, name_, text_) (void)printf("\n  %-4d %s", n_, text_);
        CLI_EXITS(SHOW_EXIT)
#undef SHOW_EXIT
        (void)printf("\n");
}

/* --- roff --- */
/* Text with what roff would read as its own taken out of its hands. */
static void roff(const char *text)
{
        for (const char *s = text; *s; s++) {
                if (*s == '\\')
                        (void)fputs("\\e", stdout);
                else if (*s == '-')
                        (void)fputs("\\-", stdout);
                else if ((*s == '.' || *s == '\'') && s == text)
                        (void)printf("\\&%c", *s);
                else
                        (void)putchar(*s);
        }
}

static void roff_flag(void *arg, const struct shown_flag *f)
{
        (void)arg;
        (void)printf(".TP\n.B ");
        if (f->letter)
                (void)printf("\\-%c, ", f->letter);
        roff(f->name);
        if (f->metavar)
                (void)printf(" \\fI%s\\fR", f->metavar);
        (void)printf("\n");
        roff(f->help);
        if (f->choices)
                (void)printf(" (%s)", f->choices);
        if (f->fallback)
                (void)printf(" Default: %s.", f->fallback);
        (void)printf("\n");
}

static void roff_command(const struct cli_command *cmd)
{
        (void)printf(".SS portal %s ", cmd->name);
        roff(cmd->args);
        (void)printf("\n");
        roff(cmd->summary);
        (void)printf(".\n");
        if (cmd->text) {
                roff(cmd->text);
                (void)printf("\n");
        }
        each_flag(cmd, roff_flag, NULL);
}

static void roff_tables(void)
{
        (void)printf(".SH SETTINGS\nFor \\-\\-set KEY=VALUE, and under \\fBsettings:\\fR in portal.yaml.\n");
        for (size_t i = 0; i < setting_rows_n; i++) {
                (void)printf(".TP\n.B %s\n", setting_rows[i].key);
                roff(setting_rows[i].help);
                (void)printf(" Default: %s.\n", str_or(setting_rows[i].fallback, "none"));
        }
        (void)printf(".SH PORTAL.YAML\nThe fields of a job; `portal init` writes a file with all of them.\n");
        for (size_t i = 0; i < spec_fields_n; i++) {
                (void)printf(".TP\n.B %s\n", spec_fields[i].name);
                roff(spec_fields[i].help);
                if (spec_fields[i].fallback)
                        (void)printf(" Default: %s.", spec_fields[i].fallback);
                (void)printf("\n");
        }
}

static void help_man(void)
{
        (void)printf(".TH PORTAL 1 \"\" \"portald %s\"\n.SH NAME\nportal \\- run jobs that survive the machine they "
                     "are on\n",
                PORTALD_VERSION);
        (void)printf(".SH SYNOPSIS\n.B portal\n\\fICOMMAND\\fR [\\fIFLAGS\\fR] [\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n");
        roff("portal asks the daemon portald, over its unix socket. A job's output goes to stdout byte for byte; "
             "everything else goes to stderr. Times are local with their "
             "offset; in JSON they are UTC. Colours are off where NO_COLOR is set or the stream is no terminal.");
        (void)printf("\n.SH COMMANDS\n");
        for (size_t i = 0; i < cli_commands_n; i++)
                roff_command(&cli_commands[i]);
        roff_tables();
        (void)printf(".SH EXIT STATUS\n");
#define ROFF_EXIT(n_, name_, text_)       \
        (void)printf(".TP\n.B %d\n", n_); \
        roff(text_);                      \
        (void)printf(".\n");
        CLI_EXITS(ROFF_EXIT)
#undef ROFF_EXIT
        (void)printf("A followed job's own code stands in place of 0 and 1: 128 + N where signal N ended it.\n");
        (void)printf(".SH ENVIRONMENT\n.TP\n.B PORTALD_SOCKET\nWhere portald listens.\n.TP\n.B NO_COLOR\nNo "
                     "colours.\n.SH FILES\n.TP\n.I ./portal.yaml\n"
                     "What `portal run` submits.\n.TP\n.I %s\nportald's socket.\n",
                CLI_SOCKET);
}

/* --- for shells: one word a line --- */
static void word_flag(void *arg, const struct shown_flag *f)
{
        (void)arg;
        (void)printf("%s\n", f->name);
}

static int words(struct cli *c, const struct cli_command *cmd)
{
        if (!cmd) {
                say(c, "--flags needs a COMMAND beside it: write portal help --flags run");
                return CLI_REFUSED;
        }
        each_flag(cmd, word_flag, NULL);
        return CLI_OK;
}

static int print_help(struct cli *c, const struct cli_line *line, const struct cli_command *cmd)
{
        if (cli_has(line, "--flags"))
                return words(c, cmd);
        if (cli_has(line, "--commands"))
                for (size_t i = 0; i < cli_commands_n; i++)
                        (void)printf("%s\n", cli_commands[i].name);
        else if (cli_has(line, "--man"))
                help_man();
        else if (cmd)
                help_one(cmd);
        else
                help_all();
        return CLI_OK;
}

int cmd_help(struct cli *c, const struct cli_line *line)
{
        const struct cli_command *cmd = line->args_n > 0 ? cli_command_find(line->args[0]) : NULL;
        int code;

        if (line->args_n > 0 && !cmd) {
                say(c, "\"%.40s\" is no command: `portal help` lists them", line->args[0]);
                return CLI_REFUSED;
        }
        code = print_help(c, line, cmd);
        return fflush(stdout) == 0 ? code : CLI_FAILED;
}
