/* SPDX-License-Identifier: Apache-2.0 */
/* A command's line against its tables. Values are only kept here; what takes them judges them. */
#include "cli/cli.h"

const struct cli_flag cli_global_flags[] = {
        { "--socket", 0, "PATH", "where portald listens; $PORTALD_SOCKET, else " CLI_SOCKET },
        { "--help", 'h', NULL, "this help" },
        { .name = NULL },
};

static const struct cli_flag *flag_in(const struct cli_flag *list, size_t max, const char *name, size_t n, char letter)
{
        for (size_t i = 0; i < max && list[i].name; i++)
                if (letter ? list[i].letter == letter : strlen(list[i].name) == n && memcmp(list[i].name, name, n) == 0)
                        return &list[i];
        return NULL;
}

/* name of n bytes ("--memory"), or the letter of "-e". */
static bool find(const struct cli_command *cmd, const char *name, size_t n, char letter, struct cli_given *ret)
{
        char text[64];

        *ret = (struct cli_given){ .value = "" };
        ret->flag = flag_in(cmd->flags, CLI_FLAGS_MAX, name, n, letter);
        if (!ret->flag)
                ret->flag = flag_in(cli_global_flags, SIZE_MAX, name, n, letter);
        if (ret->flag)
                return true;
        if (letter ? !str_format(text, sizeof text, "-%c", letter)
                   : !str_format(text, sizeof text, "%.*s", (int)n, name))
                return false;
        if (cmd->takes_spec)
                ret->field = spec_field_by_flag(text);
        if (cmd->takes_spec && !ret->field)
                ret->setting = setting_by_flag(text);
        if (ret->setting)
                ret->value = str_or(setting_flag_value(ret->setting, text), "");
        return ret->field || ret->setting;
}

/* Flags that say everything by being there; a switch of the settings among them ("--no-idle"), its value set already. */
static bool is_switch(const struct cli_given *g)
{
        return g->flag ? !g->flag->metavar : g->setting && g->setting->type == SPEC_BOOL;
}

static const char *metavar_of(const struct cli_given *g)
{
        return g->flag ? g->flag->metavar : g->field ? g->field->metavar : "VALUE";
}

static const char *help_of(const struct cli_given *g)
{
        return g->flag ? g->flag->help : g->field ? g->field->help : g->setting->help;
}

static int unknown(const struct cli_command *cmd, const char *name, size_t n, struct pd_error *err)
{
        const char *names[128] = { NULL };
        char text[64], negated[16][SETTING_FLAG_MAX];
        const char *near;
        size_t k = 0, m = 0;

        (void)str_format(text, sizeof text, "%.*s", (int)(n < 60 ? n : 60), name);
        for (size_t i = 0; i < CLI_FLAGS_MAX && cmd->flags[i].name; i++)
                names[k++] = cmd->flags[i].name;
        for (size_t i = 0; cli_global_flags[i].name; i++)
                names[k++] = cli_global_flags[i].name;
        for (size_t i = 0; cmd->takes_spec && i < spec_fields_n && k < 60; i++)
                if (spec_fields[i].flag)
                        names[k++] = spec_fields[i].flag;
        for (size_t i = 0; cmd->takes_spec && i < setting_rows_n && k < 126; i++) {
                if (!setting_rows[i].flag)
                        continue;
                names[k++] = setting_rows[i].flag;
                if (setting_rows[i].type == SPEC_BOOL && m < ARRAY_LEN(negated))
                        names[k++] = setting_no_flag(&setting_rows[i], negated[m++]);
        }
        near = str_nearest(text, names);
        if (near)
                return pd_fail(err, PD_E_INVALID, "unknown flag %s: did you mean %s?", text, near);
        return pd_fail(err, PD_E_INVALID, "unknown flag %s: `portal help %s` lists the flags", text, cmd->name);
}

static int keep(struct cli_line *line, const struct cli_given *g, struct pd_error *err)
{
        if (!line->given && !(line->given = calloc(CLI_GIVEN_MAX, sizeof *line->given)))
                return pd_fail(err, PD_E_NOMEM, "no memory for the flags");
        if (line->given_n == CLI_GIVEN_MAX)
                return pd_fail(err, PD_E_INVALID,
                        "%s: there are more than %d flags: put the rest into portal.yaml or an --env-file", g->value,
                        CLI_GIVEN_MAX);
        line->given[line->given_n++] = *g;
        return 0;
}

static int needs_value(const char *name, const struct cli_given *g, struct pd_error *err)
{
        return pd_fail(err, PD_E_INVALID, "%.60s needs a value and has none: write %.60s %s (%.100s)", name, name,
                str_or(metavar_of(g), "VALUE"), help_of(g));
}

/* "--flag", "--flag VALUE", "--flag=VALUE". *i stands on it, and on the value afterwards. */
static int take_long(struct cli_line *line, int argc, char **argv, int *i, struct pd_error *err)
{
        char *word = argv[*i], *equals = strchr(word, '=');
        size_t n = equals ? (size_t)(equals - word) : strlen(word);
        struct cli_given g;

        if (!find(line->command, word, n, 0, &g))
                return unknown(line->command, word, n, err);
        if (is_switch(&g)) {
                if (equals)
                        return pd_fail(err, PD_E_INVALID,
                                "%.*s takes no value, and \"%.60s\" was given: write %.*s alone", (int)n, word,
                                equals + 1, (int)n, word);
                return keep(line, &g, err);
        }
        if (equals)
                g.value = equals + 1;
        else if (*i + 1 < argc && !streq(argv[*i + 1], "--"))
                g.value = argv[++*i];
        else
                return needs_value(word, &g, err);
        return keep(line, &g, err);
}

/* "-dy", "-e VALUE", "-eVALUE". */
static int take_letters(struct cli_line *line, int argc, char **argv, int *i, struct pd_error *err)
{
        const char *word = argv[*i];

        for (const char *at = word + 1; *at; at++) {
                char name[3] = { '-', *at, '\0' };
                struct cli_given g;
                int r;

                if (!find(line->command, NULL, 0, *at, &g))
                        return word[2] ? unknown(line->command, word, strlen(word), err)
                                       : unknown(line->command, name, 2, err);
                if (is_switch(&g)) {
                        r = keep(line, &g, err);
                        if (r < 0)
                                return r;
                        continue;
                }
                if (at[1])
                        g.value = at + 1;
                else if (*i + 1 < argc && !streq(argv[*i + 1], "--"))
                        g.value = argv[++*i];
                else
                        return needs_value(name, &g, err);
                return keep(line, &g, err);
        }
        return 0;
}

static int check_count(const struct cli_line *line, struct pd_error *err)
{
        const struct cli_command *cmd = line->command;

        if (line->args_n < cmd->min_args && !cli_has(line, "--help"))
                return pd_fail(err, PD_E_INVALID, "%s is missing: write portal %s %s", cmd->args, cmd->name, cmd->args);
        if (line->args_n > cmd->max_args)
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" is one argument too many: write portal %s %s",
                        line->args[cmd->max_args], cmd->name, cmd->args);
        return 0;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_line *ret, struct pd_error *err)
{
        int i, r = 0;
        size_t n = 0;

        *ret = (struct cli_line){ .command = command, .args = argv };
        for (i = 0; i < argc && r == 0; i++) {
                bool flag = argv[i][0] == '-' && argv[i][1];

                if (streq(argv[i], "--")) {
                        i++;
                        break;
                }
                if (!flag && command->takes_spec) /* the job's command begins: its flags are its own */
                        break;
                if (!flag)
                        argv[n++] = argv[i];
                else if (argv[i][1] == '-')
                        r = take_long(ret, argc, argv, &i, err);
                else
                        r = take_letters(ret, argc, argv, &i, err);
        }
        if (r < 0)
                return r;
        for (; i < argc; i++)
                argv[n++] = argv[i];
        ret->args_n = n;
        return check_count(ret, err);
}

void cli_line_clear(struct cli_line *line)
{
        free(line->given);
        line->given = NULL;
        line->given_n = 0;
}

const char *cli_value(const struct cli_line *line, const char *flag)
{
        const char *value = NULL;

        for (size_t i = 0; i < line->given_n; i++)
                if (line->given[i].flag && streq(line->given[i].flag->name, flag))
                        value = line->given[i].value;
        return value;
}
