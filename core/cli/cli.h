/* SPDX-License-Identifier: Apache-2.0 */
/* The command line `portal`: a client of the API and nothing else. Commands and flags are tables; what a job may say comes from core/spec.
 *
 * May include base, spec, host (one local check of a plugin file) and its own files. Promises: a bad line is refused before anything is sent;
 * stdout has what was asked for (a job's bytes exactly), everything else goes to stderr; the exit code is one of enum cli_exit or the job's. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <signal.h>
#include <stdio.h>

#include "base/base.h"
#include "base/js.h"
#include "cli/http.h"
#include "spec/spec.h"

#define CLI_SOCKET "/run/portald/portald.sock"
#define CLI_FILE "portal.yaml"

/* Exit codes; a followed job's own code (128 + N after signal N) comes instead of the first two. number, name, meaning */
#define CLI_EXITS(X)                                                                                                 \
        X(0, OK, "done; for a followed job: it succeeded")                                                           \
        X(1, FAILED,                                                                                                 \
                "a fault of portald; for a followed job: it was stopped, or failed without an exit code of its own") \
        X(2, REFUSED, "a usage error, or refused: the sentence says what and what to do")                            \
        X(3, NOT_FOUND, "no such job or machine")                                                                    \
        X(4, CONFLICT, "the job's state does not allow that")                                                        \
        X(5, UNREACHABLE, "portald does not answer")                                                                 \
        X(75, TEMPORARY,                                                                                             \
                "temporary: try again later; for a followed job: it is suspended, `portal resume` continues it")     \
        X(130, DETACHED, "Ctrl-C while following: the job runs on")

#define CLI_EXIT_ENUM(n_, name_, text_) CLI_##name_ = (n_),
enum cli_exit { CLI_EXITS(CLI_EXIT_ENUM) };
#undef CLI_EXIT_ENUM

struct cli {
        const char *socket;
        struct http *http; /* NULL for commands that do not ask the daemon */
        bool colour_out, colour_err, quiet;
};

/* --- flags (flags.c) --- */
struct cli_flag {
        const char *name;    /* "--json"               */
        char letter;         /* 'y', 0 = none          */
        const char *metavar; /* NULL = takes no value  */
        const char *help;
};
enum { CLI_FLAGS_MAX = 12, CLI_GIVEN_MAX = 1024 };

struct cli_line;
struct cli_command {
        const char *name, *args; /* args as help shows them: "JOB..." */
        const char *summary;     /* one line  */
        const char *text;        /* more, for help and manual; may be NULL */
        struct cli_flag flags[CLI_FLAGS_MAX];
        size_t min_args, max_args;
        bool takes_spec; /* flags of spec_fields and setting_rows; all behind the first argument is the job's command */
        int (*run)(struct cli *c, const struct cli_line *line);
};
extern const struct cli_command cli_commands[];
extern const size_t cli_commands_n;
const struct cli_command *cli_command_find(const char *name);
extern const struct cli_flag cli_global_flags[]; /* end with a NULL name */

struct cli_given {
        const struct cli_flag *flag; /* or one of the next two */
        const struct spec_field *field;
        const struct setting_row *setting;
        const char *value; /* "" where the flag takes none */
};
struct cli_line {
        const struct cli_command *command;
        struct cli_given *given;
        size_t given_n;
        char **args; /* borrowed from argv */
        size_t args_n;
};
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_line *ret, struct pd_error *err);
void cli_line_clear(struct cli_line *line);
const char *cli_value(const struct cli_line *line, const char *flag); /* the last one given, NULL = not given */
static inline bool cli_has(const struct cli_line *line, const char *flag)
{
        return cli_value(line, flag) != NULL;
}

/* --- what people read (render.c) --- */
enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD, COLOUR_DIM, COLOUR_BOLD };
void say(const struct cli *c, const char *fmt, ...)
        __attribute__((format(printf, 2, 3))); /* stderr, "portal: " in front */
/* The sentence on stderr, faults and values below it; returns the exit code. reply may be NULL. */
int say_error(const struct cli *c, const struct pd_error *err, const struct http_reply *reply);
void say_faults(const json_t *faults);
void say_values(const json_t *values); /* one a line: path, type, reason, fix */
const char *colour_on(bool wanted, enum colour colour);
const char *colour_off(bool wanted);
enum colour colour_of_state(const char *state, const char *result);
char *plain(const char *text, char *buf, size_t n);  /* without control characters, cut to fit */
char *when(int64_t wall_us, char *buf);              /* local time with offset; "-" for 0. buf >= QUANTITY_MAX */
char *ago(int64_t us, char *buf);                    /* whole seconds: "1h30m"; buf >= QUANTITY_MAX            */
char *money_short(const struct money *m, char *buf); /* to 4 decimals, rounded half up; buf >= QUANTITY_MAX */
char *cost_text(const json_t *job, char *buf);       /* JOB.cost's sum so far, "-" for none; buf >= QUANTITY_MAX */
char *price(const json_t *price_json, char *buf);    /* {"nano_hour","currency"}; buf >= QUANTITY_MAX */
int print_json(const json_t *v);                     /* stdout, with "X_utc" beside each "X_wall_us"           */
int print_json_line(const json_t *v);
int64_t now_wall_us(void);

struct table;
struct table_column {
        const char *name;
        bool right, cut; /* cut: shortened where the terminal is too narrow */
};
struct table *table_new(const struct cli *c, const struct table_column *columns, size_t n); /* NULL = no memory */
/* One cell a column; `coloured` is the index of the one to colour, -1 = none. */
void table_row(struct table *t, const char *const *cells, int coloured, enum colour colour);
int table_print(struct table *t); /* and frees it; an exit code */

/* --- Ctrl-C as an event (interrupt.c): http_interrupted() says that it came --- */
struct interrupt {
        int fd;
        sigset_t before;
};
void interrupt_begin(struct cli *c, struct interrupt *ret);
void interrupt_end(struct cli *c, struct interrupt *i);

/* --- a job's log and states until it is over (follow.c) --- */
struct follow_params {
        const char *job;       /* id, whole */
        int64_t offset;        /* of the log */
        int64_t retry_us;      /* how long to try again when portald does not answer */
        bool exit_code_of_job; /* else 0 when it is over */
        bool states;           /* tell state changes on stderr */
};
int follow(struct cli *c, const struct follow_params *p);
/* Digits alone, from 0 to max; false = anything else. */
bool count_parse(const char *text, long max, long *ret);
/* GET until portald answers, at most this long; ends an event stream that was open. Negative: its last word, or interrupted. */
int ask_again(struct cli *c, const char *path, int64_t retry_us, struct http_reply *ret, struct pd_error *err);
int cli_retry_for(const struct cli_line *line, int64_t *ret_us, struct pd_error *err);
int job_exit_code(const json_t *job); /* of an ended one */

/* --- asking (cli.c) --- */
/* GET or POST; on failure the sentence is said and *ret_exit set; false. The reply is the caller's to clear. */
bool ask(
        struct cli *c, const char *method, const char *path, const json_t *body, struct http_reply *ret, int *ret_exit);
/* "/v1/jobs/ID/WHAT" with ID percent-encoded; false (and said) when it does not fit. */
bool job_path(char *buf, size_t n, const char *id, const char *what);

int cmd_run(struct cli *c, const struct cli_line *line);
int cmd_ps(struct cli *c, const struct cli_line *line);
int cmd_show(struct cli *c, const struct cli_line *line);
int cmd_logs(struct cli *c, const struct cli_line *line);
int cmd_explain(struct cli *c, const struct cli_line *line);
int cmd_precheck(struct cli *c, const struct cli_line *line);
int cmd_cost(struct cli *c, const struct cli_line *line);
int cmd_move(struct cli *c, const struct cli_line *line);
int cmd_suspend(struct cli *c, const struct cli_line *line);
int cmd_resume(struct cli *c, const struct cli_line *line);
int cmd_stop(struct cli *c, const struct cli_line *line);
int cmd_machines(struct cli *c, const struct cli_line *line);
int cmd_notice(struct cli *c, const struct cli_line *line);
int cmd_offers(struct cli *c, const struct cli_line *line);
int cmd_prices(struct cli *c, const struct cli_line *line);
/* All rows of /v1/prices after that time; what stood in the way of it is said only where ret_code is given. */
json_t *prices_of(struct cli *c, int64_t after_wall_us, int *ret_code);
int cmd_plugins(struct cli *c, const struct cli_line *line);
int cmd_settings(struct cli *c, const struct cli_line *line);
int cmd_simulate(struct cli *c, const struct cli_line *line);
int cmd_demo(struct cli *c, const struct cli_line *line);
int cmd_check(struct cli *c, const struct cli_line *line);
int cmd_init(struct cli *c, const struct cli_line *line);
int cmd_reload(struct cli *c, const struct cli_line *line);
int cmd_version(struct cli *c, const struct cli_line *line);
int cmd_help(struct cli *c, const struct cli_line *line);

int cli_main(int argc, char **argv);

#endif
