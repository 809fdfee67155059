/* SPDX-License-Identifier: Apache-2.0 */
#include "config/schema.h"

#include <stdio.h>

#define DAEMON(member_) .block = SCHEMA_DAEMON, .key = #member_, .offset = offsetof(struct config_daemon, member_)
#define DAEMON_AS(key_, member_) .block = SCHEMA_DAEMON, .key = key_, .offset = offsetof(struct config_daemon, member_)
#define RUNNER(member_) .block = SCHEMA_RUNNER, .key = #member_, .offset = offsetof(struct config_runner, member_)
#define CONNECTION(member_) \
        .block = SCHEMA_CONNECTION, .key = #member_, .offset = offsetof(struct config_connection, member_)
#define CONNECTION_AS(key_, member_) \
        .block = SCHEMA_CONNECTION, .key = key_, .offset = offsetof(struct config_connection, member_)
#define CAP(member_) .block = SCHEMA_CAP, .key = #member_, .offset = offsetof(struct config_cap, member_)
#define BACKEND(member_) .block = SCHEMA_BACKEND, .key = #member_, .offset = offsetof(struct config_backend, member_)
#define TOP(key_) .block = SCHEMA_TOP, .key = key_, .offset = SCHEMA_NO_MEMBER

#define UID_MAX_OURS INT64_C(4294967294) /* 2^32 - 1 means "no user" to the kernel */

const struct schema_row schema_rows[] = {
        { DAEMON(state_dir), .type = SCHEMA_PATH, .fallback = "/var/lib/portald",
                .help = "Where portald keeps its store." },
        { DAEMON(run_dir), .type = SCHEMA_PATH, .fallback = "/run/portald",
                .help = "Where its socket is; empty after a boot." },
        { DAEMON(socket), .type = SCHEMA_PATH, .otherwise = "run_dir/portald.sock",
                .example = "/run/portald/portald.sock", .help = "The socket of the API." },
        { DAEMON(socket_group), .type = SCHEMA_STRING, .fallback = "portald",
                .help = "The group whose members may connect, submit jobs and see their own." },
        { DAEMON(admin_uids), .type = SCHEMA_UIDS, .otherwise = "root alone", .example = "[ 1000 ]", .min = 0,
                .max = UID_MAX_OURS, .help = "Users, by number, who see and act on every job." },
        { DAEMON(admin_groups), .type = SCHEMA_STRINGS, .otherwise = "none", .example = "[ \"adm\" ]",
                .help = "Groups whose members see and act on every job." },
        { DAEMON(log_level), .type = SCHEMA_CHOICE, .fallback = "info", .choices = "error|warning|info|debug",
                .help = "How much goes to the journal." },
        { DAEMON_AS("check_every", check_every_us), .type = SCHEMA_DURATION, .fallback = "60s", .min = USEC_PER_SEC,
                .max = USEC_PER_HOUR,
                .help = "How often each running job is looked at; the setting check.every under another name." },
        { DAEMON(exchange_rates), .type = SCHEMA_STRINGS,
                .otherwise = "none: prices in two currencies are not compared",
                .example = "[ \"EUR 1.08USD 2026-11-01\" ]",
                .help = "What one unit of a currency was worth on a day, for moves between connections in two "
                        "currencies." },
        { DAEMON_AS("exchange_rates_max_age", exchange_rates_max_age_us), .type = SCHEMA_DURATION, .fallback = "31d",
                .min = USEC_PER_HOUR, .max = 3660 * USEC_PER_DAY, .help = "An older rate is not used." },
        { DAEMON_AS("history", history_us), .type = SCHEMA_DURATION, .fallback = "60d", .min = USEC_PER_SEC,
                .max = 3660 * USEC_PER_DAY, .help = "How long ended jobs, their logs and their decisions stay." },
        { DAEMON_AS("price_history", price_history_us), .type = SCHEMA_DURATION, .fallback = "30d",
                .max = 3660 * USEC_PER_DAY,
                .help = "How long the prices that were seen stay, for `portal prices` and `portal simulate`; 0 = "
                        "none is kept." },
        { DAEMON(plugin_dir), .type = SCHEMA_PATH, .fallback = PORTALD_PLUGINDIR,
                .help = "Where plugins without a path are: KIND-NAME.so." },
        { DAEMON(plugin_host), .type = SCHEMA_PATH, .fallback = PORTALD_LIBEXECDIR "/portald-plugin-host",
                .help = "The program that a plugin runs in." },
        { DAEMON(isolation), .type = SCHEMA_CHOICE, .fallback = "process", .choices = "process|none",
                .help = "A process for each plugin, or none: inside portald, where its crash is portald's." },
        { DAEMON(installation_file), .type = SCHEMA_PATH, .otherwise = "installation-id beside this file",
                .example = "/etc/portald/installation-id",
                .help = "The id of this installation; with a state directory of another one nothing starts." },
        { DAEMON(default_vault), .type = SCHEMA_NAME, .otherwise = "the only vault, where there is one",
                .example = "local", .help = "The vault that checkpoints go to." },
        { DAEMON(notify_command), .type = SCHEMA_PATH, .otherwise = "none", .example = "/usr/local/lib/portald/notify",
                .help = "A program that is run, as portald's own user, for each suspension, end, refusal and "
                        "warning." },
        { DAEMON(notify_url), .type = SCHEMA_STRING, .otherwise = "none", .example = "https://hooks.example.org/portal",
                .help = "Where each of them is POSTed to as JSON; https. \"credential:NAME\" is read from a systemd "
                        "credential." },

        { RUNNER(state_dir), .type = SCHEMA_PATH, .fallback = "/var/lib/portal-runner",
                .help = "Where the runner keeps containers, logs and standing orders." },
        { RUNNER(run_dir), .type = SCHEMA_PATH, .fallback = "/run/portal-runner",
                .help = "Where its socket is; empty after a boot." },
        { RUNNER(socket), .type = SCHEMA_PATH, .otherwise = "run_dir/runner.sock",
                .example = "/run/portal-runner/runner.sock", .help = "The socket on which portald reaches it." },
        { RUNNER(socket_group), .type = SCHEMA_STRING, .fallback = "portald",
                .help = "The group that may connect to it: portald's own." },
        { RUNNER(image_roots), .type = SCHEMA_PATHS, .otherwise = "no such images", .example = "[ \"/srv/images\" ]",
                .help = "Images of the kinds dir: and oci: are taken from below these directories only." },
        { RUNNER(image_store), .type = SCHEMA_PATH, .otherwise = "state_dir/images",
                .example = "/var/lib/portal-runner/images", .help = "Where fetched and unpacked images are kept." },
        { RUNNER(runtime), .type = SCHEMA_PROGRAM, .fallback = "auto",
                .help = "The OCI runtime, runc or crun; auto takes the one that can do most." },
        { RUNNER(conmon), .type = SCHEMA_PROGRAM, .fallback = "auto",
                .help = "The program that holds a container's output; auto looks in PATH." },
        { RUNNER(user_ns), .type = SCHEMA_BOOL, .fallback = "true",
                .help = "Containers have a user namespace: root in one is nobody outside." },
        { RUNNER(criu_without_user_ns), .type = SCHEMA_BOOL, .fallback = "false",
                .help = "Jobs with checkpoint criu run without a user namespace, which criu cannot carry: root in one "
                        "is "
                        "root outside. false: no job can have criu." },
        { RUNNER(uid_base), .type = SCHEMA_COUNT, .fallback = "900000000", .min = 65536, .max = UID_MAX_OURS,
                .help = "The first user and group number that containers have on the machine; no account may lie in "
                        "the range." },
        { RUNNER(uid_count), .type = SCHEMA_COUNT, .fallback = "65536", .min = 1000, .max = 1 << 24,
                .help = "How many numbers a container has." },
        { RUNNER(uid_ranges), .type = SCHEMA_COUNT, .fallback = "64", .min = 1, .max = 4096,
                .help = "How many containers have numbers of their own at a time." },

        { CONNECTION(provider), .type = SCHEMA_NAME, .required = true, .example = "local",
                .help = "Which provider plugin: local is this machine." },
        { .block = SCHEMA_CONNECTION,
                .key = "enabled",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_BOOL,
                .fallback = "true",
                .help = "false: as if the block were not there." },
        { .block = SCHEMA_CONNECTION,
                .key = "plugin",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_PLUGIN,
                .otherwise = "plugin_dir/provider-PROVIDER.so",
                .example = "/opt/plugins/provider-own.so",
                .help = "The plugin's file, where it is not in plugin_dir." },
        { .block = SCHEMA_CONNECTION,
                .key = "isolation",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_CHOICE,
                .otherwise = "as the daemon block says",
                .choices = "process|none",
                .example = "process",
                .help = "As in the daemon block, for this one." },
        { .block = SCHEMA_CONNECTION,
                .key = "options",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_OPTIONS,
                .otherwise = "none",
                .example = "{ price = \"0.10usd/h\"; }",
                .help = "What the provider's own page lists, as strings; \"credential:NAME\" is read from a systemd "
                        "credential." },
        { CONNECTION(currency), .type = SCHEMA_CURRENCY, .otherwise = "the provider's", .example = "USD",
                .help = "The currency of the account, ISO 4217." },
        { CONNECTION_AS("price_max_age", price_max_age_us), .type = SCHEMA_DURATION, .fallback = "1h",
                .min = USEC_PER_SEC, .max = 3660 * USEC_PER_DAY,
                .help = "An older price of what is paid moves no job by itself." },
        { CONNECTION(price_low), .type = SCHEMA_COUNT, .fallback = "1", .min = 1, .max = 100,
                .help = "A spot price under this percentage of the price on demand is not believed." },
        { CONNECTION(price_high), .type = SCHEMA_COUNT, .fallback = "1000", .min = 1, .max = 100000,
                .help = "A spot price over this percentage of the price on demand is not believed." },
        { CONNECTION(runner_socket), .type = SCHEMA_PATH, .otherwise = "the runner block's socket",
                .example = "/run/portal-runner/runner.sock", .help = "Where the runner of this machine listens." },
        { .block = SCHEMA_CONNECTION,
                .key = "cap",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_GROUP,
                .otherwise = "no cap",
                .example = "{ amount = \"100usd\"; }",
                .help = "The most that portald may spend here: a block." },
        { CAP(amount), .type = SCHEMA_MONEY, .required = true, .example = "100usd",
                .help = "No act of portald goes above it." },
        { CAP(period), .type = SCHEMA_CHOICE, .fallback = "month", .choices = "month|total",
                .help = "Counted anew each calendar month, or for ever." },
        { CAP(timezone), .type = SCHEMA_TIMEZONE, .fallback = "UTC", .help = "Whose midnight ends the month." },

        { .block = SCHEMA_BACKEND,
                .key = "enabled",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_BOOL,
                .fallback = "true",
                .help = "false: as if the block were not there." },
        { .block = SCHEMA_BACKEND,
                .key = "plugin",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_PLUGIN,
                .otherwise = "the block's own name",
                .example = "file",
                .help = "The plugin's name in plugin_dir, or its file." },
        { .block = SCHEMA_BACKEND,
                .key = "isolation",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_CHOICE,
                .otherwise = "as the daemon block says",
                .choices = "process|none",
                .example = "process",
                .help = "As in the daemon block, for this one." },
        { .block = SCHEMA_BACKEND,
                .key = "options",
                .offset = SCHEMA_NO_MEMBER,
                .type = SCHEMA_OPTIONS,
                .otherwise = "none",
                .example = "{ path = \"/srv/vault\"; }",
                .help = "What the plugin's own page lists, as strings; \"credential:NAME\" is read from a systemd "
                        "credential." },

        { TOP("settings"), .type = SCHEMA_SETTINGS, .otherwise = "the built-in policy settings",
                .example = "[ \"ttl=72h\", \"idle.after=30m\" ]",
                .help = "Policy settings for the site, in the words of `portal run --set`." },
        { TOP("daemon"), .type = SCHEMA_GROUP, .otherwise = "every default", .help = "portald itself." },
        { TOP("runner"), .type = SCHEMA_GROUP, .otherwise = "every default",
                .help = "portal-runner, on each machine that runs jobs." },
        { TOP("connections"), .type = SCHEMA_GROUP, .otherwise = "none",
                .help = "Accounts at providers and machines of your own." },
        { TOP("captures"), .type = SCHEMA_GROUP, .otherwise = "values, command, criu and restart",
                .help = "Ways to take the state of a job." },
        { TOP("vaults"), .type = SCHEMA_GROUP, .otherwise = "file, in the runner's state_dir",
                .help = "Places where checkpoints lie." },
        { TOP("sinks"), .type = SCHEMA_GROUP, .otherwise = "none", .help = "Where usage records go." },
};
const size_t schema_rows_n = ARRAY_LEN(schema_rows);

const struct schema_named_row schema_named[SCHEMA_NAMED_N] = {
        [SCHEMA_CONNECTIONS] = { "connections", "a connection", "provider", SCHEMA_CONNECTION },
        [SCHEMA_CAPTURES] = { "captures", "a capture", "checkpoint", SCHEMA_BACKEND },
        [SCHEMA_VAULTS] = { "vaults", "a vault", "vault", SCHEMA_BACKEND },
        [SCHEMA_SINKS] = { "sinks", "a billing sink", "billing", SCHEMA_BACKEND },
};

const struct schema_row *schema_find(enum schema_block block, const char *key)
{
        for (size_t i = 0; i < schema_rows_n; i++)
                if (schema_rows[i].block == block && streq(schema_rows[i].key, key))
                        return &schema_rows[i];
        return NULL;
}

const char *schema_nearest(enum schema_block block, const char *key)
{
        const char *names[ARRAY_LEN(schema_rows) + 1] = { NULL };
        size_t n = 0;

        for (size_t i = 0; i < schema_rows_n; i++)
                if (schema_rows[i].block == block)
                        names[n++] = schema_rows[i].key;
        return str_nearest(key, names);
}

const char *schema_list(enum schema_block block, char *buf, size_t n)
{
        size_t used = 0, left = 0;

        for (size_t i = 0; i < schema_rows_n; i++)
                left += schema_rows[i].block == block;
        buf[0] = '\0';
        for (size_t i = 0; i < schema_rows_n && used < n; i++) {
                if (schema_rows[i].block != block)
                        continue;
                left--;
                used += (size_t)snprintf(buf + used, n - used, "%s%s",
                        !used  ? ""
                        : left ? ", "
                               : " and ",
                        schema_rows[i].key);
        }
        return buf;
}

const char *schema_type_wants(enum schema_type type)
{
        static const char *const wants[] = {
                [SCHEMA_STRING] = "text in quotes",
                [SCHEMA_NAME] = "a name in quotes (a-z, 0-9, -)",
                [SCHEMA_PATH] = "an absolute path in quotes",
                [SCHEMA_PROGRAM] = "\"auto\" or an absolute path in quotes",
                [SCHEMA_PLUGIN] = "a plugin's name, or its absolute path, in quotes",
                [SCHEMA_BOOL] = "true or false, without quotes",
                [SCHEMA_COUNT] = "a whole number without quotes",
                [SCHEMA_DURATION] = "a duration in quotes, with its unit",
                [SCHEMA_MONEY] = "an amount of money in quotes, with its currency",
                [SCHEMA_CURRENCY] = "a currency in quotes, by its ISO 4217 code",
                [SCHEMA_TIMEZONE] = "a time zone in quotes",
                [SCHEMA_CHOICE] = "one of its words in quotes",
                [SCHEMA_STRINGS] = "a list of quoted texts",
                [SCHEMA_PATHS] = "a list of quoted absolute paths",
                [SCHEMA_UIDS] = "a list of user numbers",
                [SCHEMA_OPTIONS] = "a block of quoted texts",
                [SCHEMA_SETTINGS] = "a list of quoted KEY=VALUE",
                [SCHEMA_GROUP] = "a block { ... }",
        };
        static_assert(ARRAY_LEN(wants) == SCHEMA_TYPE_N, "each type says what it wants");

        return wants[type];
}
