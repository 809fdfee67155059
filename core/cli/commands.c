/* SPDX-License-Identifier: Apache-2.0 */
/* Every command: its arguments, flags and help. Help, manual and completion are made from this table. */
#include "cli/cli.h"

#define JSON_FLAG                                                 \
        {                                                         \
                "--json", 0, NULL, "JSON on stdout; times in UTC" \
        }
#define RETRY_FLAG                                                                                       \
        {                                                                                                \
                "--retry-for", 0, "DURATION", "how long to try again when portald does not answer (60s)" \
        }
#define JOB_TEXT "JOB is an id, a unique part of its beginning, or a name (then the newest job of yours with it)."
#define ALL SIZE_MAX

const struct cli_command cli_commands[] = {
        { .name = "run",
                .args = "[--] CMD...",
                .summary = "Run a command as a job",
                .takes_spec = true,
                .max_args = ALL,
                .run = cmd_run,
                .text = "Shows what would happen (offer, price, worst case, which capture applies, what a notice, "
                        "idle, budget and ttl will do) and asks, "
                        "unless -y is given. Without -d it follows the job: its output goes to stdout byte for byte, "
                        "its states to stderr, and the "
                        "exit code is the job's. A portal.yaml in the current directory is used and said so; flags go "
                        "before it.",
                .flags = { { "--file", 'f', "FILE", "a portal.yaml to begin with (./" CLI_FILE " where there is one)" },
                        { "--env-file", 0, "FILE",
                                "environment variables, NAME=VALUE lines; a NAME alone is taken from the environment" },
                        { "--detach", 'd', NULL, "do not follow: print the job's id" },
                        { "--yes", 'y', NULL, "do not ask" },
                        { "--dry-run", 0, NULL, "only show the plan: nothing is submitted" },
                        { "--json", 0, NULL, "JSON on stdout; with -d or --dry-run" }, RETRY_FLAG } },
        { .name = "ps",
                .args = "",
                .summary = "List jobs",
                .run = cmd_ps,
                .flags = { { "--all", 'a', NULL, "ended ones too" },
                        { "--watch", 'w', NULL, "stay, and show each change" },
                        { "--user", 0, "*", "* = every user's (administrators)" },
                        { "--limit", 0, "N", "at most N jobs (1000)" }, RETRY_FLAG, JSON_FLAG } },
        { .name = "show",
                .args = "JOB",
                .summary = "Everything about one job",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_show,
                .text = JOB_TEXT,
                .flags = { JSON_FLAG } },
        { .name = "logs",
                .args = "JOB",
                .summary = "A job's output",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_logs,
                .text = "Bytes as the job wrote them, stdout and stderr in one. -f stays until the job is over or "
                        "suspended; Ctrl-C leaves it running.",
                .flags = { { "--follow", 'f', NULL, "stay for more" },
                        { "--since", 0, "TIME", "only lines since then: 10m (ago), or 2026-11-30T20:00:00Z" },
                        { "--tail", 0, "N", "only the last N lines" },
                        { "--events", 0, NULL, "the job's history instead of its output" },
                        { "--json", 0, NULL, "with --events: JSON on stdout" }, RETRY_FLAG } },
        { .name = "explain",
                .args = "JOB",
                .summary = "Why a job is where it is: each decision with its evidence",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_explain,
                .text = "Each decision has its figures, the offers that lost and the rule that rejected each; where "
                        "nothing "
                        "was done, it says for how long and what would have made it act. --why-not ranks one offer for "
                        "the "
                        "job now: what stands against it, by how much, and what would change that.",
                .flags = { { "--at", 0, "TIME", "as it was known then: 10m (ago), or 2026-11-30T20:00:00Z" },
                        { "--why-not", 0, "OFFER", "why it is not on this offer: CONNECTION/ZONE/TYPE[/spot]" },
                        JSON_FLAG } },
        { .name = "precheck",
                .args = "JOB",
                .summary = "Could a checkpoint carry the job now? Changes nothing",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_precheck,
                .text = "Exit code 2 when not: each value that cannot be carried is listed with its path, type, reason "
                        "and fix.",
                .flags = { JSON_FLAG } },
        { .name = "suspend",
                .args = "JOB...",
                .summary = "Save a job's state and free its machine",
                .min_args = 1,
                .max_args = ALL,
                .run = cmd_suspend,
                .text = "Waits until it is saved. When values cannot be carried they are listed, the job runs on, and "
                        "the exit code is 2.",
                .flags = { { "--no-wait", 0, NULL, "only ask for it" }, JSON_FLAG } },
        { .name = "move",
                .args = "JOB",
                .summary = "Take a running job to another machine",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_move,
                .text = "Its state is saved, the other machine takes it up, and only once it runs there is the first "
                        "one "
                        "let go; otherwise it runs on where it was. When values cannot be carried they are listed, "
                        "the job runs on, and the exit code is 2. With --wait it answers when the job runs there.",
                .flags = { { "--on", 0, "OFFER", "CONNECTION[/ZONE[/TYPE[/spot]]]; else wherever is best" },
                        { "--wait", 0, NULL, "until it runs there, or has been refused" }, JSON_FLAG } },
        { .name = "resume",
                .args = "JOB... | --all | --cause CAUSE",
                .summary = "Continue suspended jobs",
                .max_args = ALL,
                .run = cmd_resume,
                .text = "Waits until they run again. A job that cannot be taken up stays suspended, is told with the "
                        "reason, "
                        "and the exit code is 2; one that waits for a place is left to wait. --all and --cause ask "
                        "for each suspended job of yours, and wait for none.",
                .flags = { { "--all", 0, NULL, "every suspended job of yours" },
                        { "--cause", 0, "CAUSE", "those of yours that this suspended: notice, idle, budget ..." },
                        { "--fresh", 0, NULL, "start the command anew, without the checkpoint" },
                        { "--budget", 0, "AMOUNT", "a larger budget, for a job whose budget is spent: 30usd" },
                        { "--no-wait", 0, NULL, "only ask for it" }, JSON_FLAG } },
        { .name = "stop",
                .args = "JOB...",
                .summary = "End jobs; twice is no error",
                .min_args = 1,
                .max_args = ALL,
                .run = cmd_stop,
                .flags = { { "--force", 0, NULL, "kill at once, without the grace" }, JSON_FLAG } },
        { .name = "cost",
                .args = "[JOB]",
                .summary = "What jobs have cost",
                .max_args = 1,
                .run = cmd_cost,
                .text = "By what is on the bills, and what runs by now, in the currency that is paid. --by hour is in "
                        "hours of UTC.",
                .flags = { { "--from", 0, "TIME", "from then on: 7d (ago), or 2026-11-30T20:00:00Z" },
                        { "--to", 0, "TIME", "until then" },
                        { "--by", 0, "WHAT", "a line for each job, connection, project or hour" },
                        { "--user", 0, "'*'", "every user's (administrators)" },
                        { "--csv", 0, NULL, "comma-separated values on stdout" }, JSON_FLAG } },
        { .name = "machines",
                .args = "",
                .summary = "The machines at hand",
                .run = cmd_machines,
                .flags = { { "--orphans", 0, NULL, "only those found at a provider without a record here" },
                        JSON_FLAG } },
        { .name = "notice",
                .args = "MACHINE",
                .summary = "Vacate a machine, as a spot notice would (administrators)",
                .min_args = 1,
                .max_args = 1,
                .run = cmd_notice,
                .flags = { { "--in", 0, "DURATION", "the time that its jobs have: 2m" }, JSON_FLAG } },
        { .name = "offers",
                .args = "",
                .summary = "Kinds of machine, their places and prices",
                .run = cmd_offers,
                .text = "What they cost before is in `portal prices`.",
                .flags = { JSON_FLAG } },
        { .name = "prices",
                .args = "[OFFER]",
                .summary = "What offers have cost, as portald saw it",
                .max_args = 1,
                .run = cmd_prices,
                .text = "A line where a price changed by 1 % or more, or an offer came or went. OFFER: only those "
                        "whose name begins so. They are kept for daemon.price_history (30d), and `portal simulate` "
                        "goes by them.",
                .flags = { { "--since", 0, "TIME", "only since then: 24h (ago), or 2026-11-30T20:00:00Z" },
                        JSON_FLAG } },
        { .name = "plugins",
                .args = "[check FILE...]",
                .summary = "The plugins in use, or a check of a plugin file",
                .max_args = ALL,
                .run = cmd_plugins,
                .text = "check looks at the file as the daemon would, in a process of its own, and calls nothing of "
                        "it.",
                .flags = { JSON_FLAG } },
        { .name = "settings",
                .args = "[get [KEY] | set KEY=VALUE... | unset KEY... | edit | bound KEY | lock KEY[=VALUE]... | "
                        "unlock KEY...]",
                .summary = "What the policies go by: see it and its origins, change it",
                .max_args = ALL,
                .run = cmd_settings,
                .text = "Built-in < site config < Settings (everybody's, then the project's) < portal.yaml < flags. A "
                        "change "
                        "is in force at once, for running jobs too. Everybody's settings, bounds and locks are the "
                        "administrators'; a project's are those of the user whose name it is. A value outside of a "
                        "bound "
                        "is refused; a locked key holds everybody's value whatever portal.yaml and flags say. "
                        "`bound KEY` without --min and --max takes the bound away.",
                .flags = { { "--project", 0, "NAME", "this project's settings instead of everybody's" },
                        { "--effective", 0, "JOB", "with get: what this job goes by" },
                        { "--min", 0, "VALUE", "with bound: no less" }, { "--max", 0, "VALUE", "with bound: no more" },
                        JSON_FLAG } },
        { .name = "simulate",
                .args = "",
                .summary = "What would other settings have cost? portald's own engine over past jobs and prices",
                .run = cmd_simulate,
                .text = "Days in seconds, on simulated machines: nothing is started and nothing is paid. --settings "
                        "may be "
                        "given several times, one KEY=VALUE a line in each file; they stand side by side: cost, moves, "
                        "refusals, notices, lost hours, missed deadlines. --jobs: JSON, [{\"name\": \"a\", \"work\": "
                        "\"48h\", \"deadline\": \"52h\", \"at\": \"0\", \"gpus\": 1, \"state\": \"4GiB\"}]; else "
                        "the jobs that portald knows. --prices: a trace (contrib/traces has some, and converters); "
                        "else "
                        "portald's present offers and what they cost before (`portal prices`); a price stays as it was "
                        "seen last, and a spot pool that had none to be had takes its machines away. The simulated "
                        "user resumes what "
                        "was suspended, and where a deadline is near goes on demand at the last instant.",
                .flags = { { "--settings", 0, "FILE", "settings to try; several files are compared" },
                        { "--jobs", 0, "FILE", "the jobs" },
                        { "--prices", 0, "FILE",
                                "the market: a trace, or {\"offers\", \"prices\"} as the API has them" },
                        { "--from", 0, "DURATION", "begin so far into the trace (0)" },
                        { "--to", 0, "DURATION", "end there" },
                        { "--resume-delay", 0, "DURATION", "from a suspension to the user's resume (10m)" },
                        { "--boot", 0, "DURATION", "how long a machine takes until the job runs on it (1m)" },
                        { "--seed", 0, "N", "of all chance (1)" }, { "--csv", 0, NULL, "CSV on stdout" }, JSON_FLAG } },
        { .name = "demo",
                .args = "",
                .summary = "Two days of spot machines in seconds: no account, no root, no daemon",
                .run = cmd_demo,
                .text = "A cloud that is made up takes machines away and changes its prices; three jobs are saved, "
                        "suspended, "
                        "resumed and moved by portald's own engine, a save is refused by the name of what it cannot "
                        "carry, and "
                        "what it cost stands at the end. The same seed tells the same story.",
                .flags = { { "--seed", 0, "N", "another cloud (1)" },
                        { "--speed", 0, "N",
                                "simulated hours a second; 0 = as fast as it goes (12 on a terminal, else 0)" },
                        JSON_FLAG } },
        { .name = "check",
                .args = "",
                .summary = "Look at everything that a job needs, line by line, with the fix",
                .run = cmd_check,
                .text = "Exit code 1 when a line fails, 5 when portald does not answer.",
                .flags = { JSON_FLAG } },
        { .name = "init", .args = "", .summary = "Write a commented portal.yaml into this directory", .run = cmd_init },
        { .name = "reload",
                .args = "",
                .summary = "Let portald read its config again (administrators)",
                .run = cmd_reload },
        { .name = "version",
                .args = "",
                .summary = "The version of this program and of portald",
                .run = cmd_version,
                .flags = { JSON_FLAG } },
        { .name = "help",
                .args = "[COMMAND]",
                .summary = "Help on a command",
                .max_args = 1,
                .run = cmd_help,
                .flags = { { "--man", 0, NULL, "the whole manual page, as roff" },
                        { "--commands", 0, NULL, "the names alone, for shells" },
                        { "--flags", 0, NULL, "the flags of COMMAND alone, for shells" } } },
};
const size_t cli_commands_n = ARRAY_LEN(cli_commands);

const struct cli_command *cli_command_find(const char *name)
{
        for (size_t i = 0; i < cli_commands_n; i++)
                if (streq(cli_commands[i].name, name))
                        return &cli_commands[i];
        return NULL;
}
