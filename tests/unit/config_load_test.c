/* SPDX-License-Identifier: Apache-2.0 */
#include <syslog.h>

#include "config_site.h"

#include "config/internal.h"

#include "tap.h"

static void test_schema(void)
{
        for (size_t i = 0; i < schema_rows_n; i++) {
                const struct schema_row *row = &schema_rows[i];
                js_owned *fallback = value_fallback(row);
                struct pd_error err = { 0 };
                bool good = *row->help && (row->fallback || row->otherwise || row->required) &&
                            (!row->fallback || value_check(row, fallback, &err) == 0);

                if (!tap_ok(good, "key %s explains itself, and its default is one that it takes", row->key))
                        tap_note("%s", err.text);
        }
}

static void test_defaults(void)
{
        pd_cleanup(site_end) struct site s;
        pd_cleanup(config_freep) struct config *c = NULL;
        struct pd_error err = { 0 };
        char path[120];

        site_begin(&s);
        site_write(&s, "portald.conf", "");
        if (!tap_ok(site_load(&s, &c, &err) == 0, "an empty file is a config"))
                tap_note("%s", err.text);
        if (!c)
                return;
        tap_ok(streq(c->daemon.state_dir, "/var/lib/portald") && streq(c->daemon.socket, "/run/portald/portald.sock") &&
                        streq(c->daemon.socket_group, "portald"),
                "portald has its directories, socket and group");
        tap_ok(c->daemon.log_level == LOG_INFO && c->daemon.check_every_us == 60 * USEC_PER_SEC &&
                        c->daemon.history_us == 60 * USEC_PER_DAY && c->daemon.isolation == CONFIG_PROCESS,
                "and its spans and choices");
        tap_ok(c->daemon.admin_uids.n == 0 && c->daemon.admin_groups.n == 0, "no admin but root");
        (void)str_format(path, sizeof path, "%s/installation-id", s.dir);
        tap_str(c->daemon.installation_file, path, "the installation's id lies beside the config");
        tap_ok(streq(c->runner.socket, "/run/portal-runner/runner.sock") &&
                        streq(c->runner.image_store, "/var/lib/portal-runner/images") && !c->runner.runtime &&
                        !c->runner.conmon,
                "the runner has its socket and images, and looks for its programs");
        tap_ok(c->runner.user_ns && c->runner.uid_base == 900000000 && c->runner.uid_count == 65536 &&
                        c->runner.uid_ranges == 64 && c->runner.image_roots.n == 0,
                "and user namespaces with ranges");
        tap_ok(c->connections_n == 0 && c->sinks_n == 0 && json_object_size(c->settings) == 0,
                "no connection, sink or setting");
        tap_ok(c->captures_n == 4 && streq(c->captures[0].name, "values") &&
                        streq(c->captures[0].plugin, PORTALD_PLUGINDIR "/checkpoint-values.so"),
                "the shipped captures are there");
        tap_ok(c->vaults_n == 1 && streq(c->vaults[0].plugin, PORTALD_PLUGINDIR "/vault-file.so") &&
                        streq(js_str(c->vaults[0].options, "path", ""), "/var/lib/portal-runner/vault"),
                "and the shipped vault");
        tap_str(c->daemon.default_vault, "file", "which is the default");
        tap_str(config_origin(c, "daemon.socket"), "built-in", "what nobody wrote is built in");
        tap_ok(!config_origin(c, "daemon.sockets"), "what is no key has no origin");
}

static const char full_main[] =
        "daemon: {\n  state_dir = \"/srv/portald\"; run_dir = \"/srv/run\"; admin_uids = [ 1000, 1001 ]; admin_groups "
        "= ( \"adm\" );\n"
        "  log_level = \"debug\"; check_every = \"30s\"; history = \"90d\"; plugin_dir = \"/opt/plugins\"; isolation = "
        "\"none\";\n"
        "  default_vault = \"b\"; installation_file = \"/etc/id\"; socket_group = \"ops\"; plugin_host = "
        "\"/opt/host\";\n};\n"
        "runner: { state_dir = \"/srv/runner\"; image_roots = [ \"/srv/a\", \"/srv/b\" ]; runtime = \"/usr/bin/crun\"; "
        "conmon = \"/usr/bin/conmon\";\n"
        "  user_ns = false; uid_base = \"2000000000\"; uid_count = 1000; uid_ranges = 2; };\n"
        "connections: {\n  lab: {\n    provider = \"local\";\n    options: {\n      price = \"0.10usd/h\";\n      zone "
        "= \"here\";\n    };\n  };\n"
        "  off: { provider = \"local\"; enabled = false; };\n};\n"
        "vaults: { a: { plugin = \"file\"; }; b: { plugin = \"/opt/own.so\"; isolation = \"process\"; }; };\n"
        "captures: { values: { }; };\n"
        "sinks: { usage: { plugin = \"jsonl\"; options: { path = \"/srv/usage\"; }; }; };\n"
        "settings = [ \"ttl=24h\", \"idle.after=10m\" ];\n";
static const char full_part[] = "connections: { lab: {\n  currency = \"USD\"; price_max_age = \"10m\"; price_low = "
                                "5;\n  cap: { amount = \"100.50usd\"; period "
                                "= \"total\"; timezone = \"Europe/Berlin\"; };\n"
                                "  options: { cores = \"4\"; };\n}; cloud: { provider = \"own\"; plugin = "
                                "\"/opt/cloud.so\"; runner_socket = \"/run/x.sock\"; }; };\n"
                                "settings = [ \"spot.move_when_over=off\" ];\n";

static void test_full(void)
{
        pd_cleanup(site_end) struct site s;
        pd_cleanup(config_freep) struct config *c = NULL;
        const struct config_connection *lab, *cloud;
        struct pd_error err = { 0 };
        char want[160];

        site_begin(&s);
        site_write(&s, "portald.conf", full_main);
        site_write(&s, "conf.d/50-lab.conf", full_part);
        site_write(&s, "conf.d/ignored", "@");
        site_write(&s, "conf.d/.hidden.conf", "@");
        if (!tap_ok(site_load(&s, &c, &err) == 0, "a config of two files is read; other names in conf.d are not"))
                tap_note("%s", err.text);
        if (!c)
                return;
        tap_ok(streq(c->daemon.socket, "/srv/run/portald.sock") && c->daemon.log_level == LOG_DEBUG &&
                        c->daemon.isolation == CONFIG_NONE && c->daemon.check_every_us == 30 * USEC_PER_SEC,
                "what is written holds, and what follows from it follows");
        tap_ok(c->daemon.admin_uids.n == 2 && c->daemon.admin_uids.at[1] == 1001 && c->daemon.admin_groups.n == 1 &&
                        streq(c->daemon.admin_groups.at[0], "adm") && !c->daemon.admin_groups.at[1],
                "lists are read, with [ ] and with ( )");
        tap_ok(!c->runner.user_ns && c->runner.uid_base == 2000000000 && c->runner.image_roots.n == 2 &&
                        streq(c->runner.runtime, "/usr/bin/crun") && streq(c->runner.image_store, "/srv/runner/images"),
                "the runner's block alike; a number past 9 digits is quoted");
        lab = config_connection_find(c, "lab");
        cloud = config_connection_find(c, "cloud");
        if (!tap_ok(c->connections_n == 2 && lab && cloud && !config_connection_find(c, "off"),
                    "connections come from both files; a disabled one is none"))
                return;
        tap_ok(streq(lab->plugin, "/opt/plugins/provider-local.so") && streq(cloud->plugin, "/opt/cloud.so") &&
                        lab->isolation == CONFIG_NONE,
                "their plugins are found by name or path");
        tap_ok(streq(lab->currency, "USD") && lab->cap.set && lab->cap.amount.nano == 100500000000 &&
                        lab->cap.period == CONFIG_TOTAL && streq(lab->cap.timezone, "Europe/Berlin") && !cloud->cap.set,
                "blocks of one name in two files are one");
        tap_ok(lab->price_max_age_us == 10 * USEC_PER_MIN && lab->price_low == 5 && lab->price_high == 1000 &&
                        cloud->price_max_age_us == USEC_PER_HOUR,
                "how old a price may be, and what is believed of it");
        tap_ok(json_object_size(lab->options) == 4 && streq(js_str(lab->options, "price", ""), "0.10usd/h") &&
                        streq(js_str(lab->options, "cores", ""), "4") &&
                        streq(js_str(lab->options, "runner_socket", ""), "/run/portal-runner/runner.sock"),
                "options too, and the local provider learns where the runner is");
        tap_ok(streq(cloud->runner_socket, "/run/x.sock") &&
                        streq(js_str(cloud->options, "runner_socket", ""), "/run/x.sock"),
                "as does one that is told");
        tap_ok(c->vaults_n == 2 && streq(c->daemon.default_vault, "b") && streq(c->vaults[1].plugin, "/opt/own.so") &&
                        c->vaults[1].isolation == CONFIG_PROCESS,
                "vaults: one of two is the default");
        tap_ok(c->captures_n == 1 && c->sinks_n == 1 && streq(c->sinks[0].plugin, "/opt/plugins/billing-jsonl.so") &&
                        config_backend_find(c->sinks, 1, "usage") && !config_backend_find(c->sinks, 1, "x"),
                "captures named replace the shipped ones; sinks are read");
        tap_ok(json_object_size(c->settings) == 4 && streq(js_str(c->settings, "idle.after", ""), "10m") &&
                        streq(js_str(c->settings, "check.every", ""), "30s"),
                "settings come from both files, and check_every is one");
        (void)str_format(want, sizeof want, "%s/conf.d/50-lab.conf:3", s.dir);
        tap_str(config_origin(c, "connections.lab.cap.amount"), want, "an origin is a file and a line");
        (void)str_format(want, sizeof want, "%s:13", s.main);
        tap_str(config_origin(c, "connections.lab.options.zone"), want, "of each option too");
}

static void test_print(void)
{
        pd_cleanup(site_end) struct site s;
        pd_cleanup(config_freep) struct config *c = NULL;
        pd_cleanup(freep) char *text = NULL;
        struct pd_error err = { 0 };
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        char line[240];

        site_begin(&s);
        site_write(&s, "portald.conf",
                "connections: { lab: { provider = \"local\";\n  options: { token = \"credential:tok\"; }; cap: { "
                "amount = \"5usd\"; }; }; };");
        site_write(&s, "tok", "planted-secret\n");
        (void)setenv("CREDENTIALS_DIRECTORY", s.dir, 1);
        tap_ok(out && site_load(&s, &c, &err) == 0 && c &&
                        streq(js_str(c->connections[0].options, "token", ""), "planted-secret"),
                "a credential is read, without its newline");
        if (!c || !out)
                return;
        tap_int(config_print(c, out, &err), 0, "the config in force is printed");
        (void)fclose(out);
        (void)str_format(line, sizeof line, "connections.lab.options.token = \"credential:tok\"  # %s:2\n", s.main);
        tap_has(text, line, "each key with value and origin");
        tap_has(text, "daemon.check_every = \"60s\"  # built-in\n", "defaults alike");
        tap_ok(!strstr(text, "planted-secret"), "law 19: the secret itself is not in it");
        (void)unsetenv("CREDENTIALS_DIRECTORY");
}

static void test_secrets(void)
{
        static const struct {
                const char *name, *text;
                size_t n;
                const char *says;
        } rows[] = {
                { "an empty credential", "", 0, "empty" },
                { "a credential with a NUL", "a\0b", 3, "no text" },
                { "a credential that is not UTF-8", "\xff\xfe", 2, "UTF-8" },
        };
        pd_cleanup(site_end) struct site s;
        struct config *c = NULL;
        struct pd_error err = { 0 };

        site_begin(&s);
        site_write(&s, "portald.conf",
                "connections: { lab: { provider = \"local\"; options: { token = \"credential:tok\"; }; }; };");
        (void)setenv("CREDENTIALS_DIRECTORY", s.dir, 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                site_write_bytes(&s, "tok", rows[i].text, rows[i].n);
                if (!tap_ok(site_load(&s, &c, &err) < 0 && strstr(err.text, rows[i].says) &&
                                    strstr(err.text, "portald.conf:1 connections.lab.options.token"),
                            "%s is refused", rows[i].name))
                        tap_note("%s", err.text);
        }
        (void)unsetenv("CREDENTIALS_DIRECTORY");
        tap_ok(site_load_as(&s, true, &c, NULL, &err, NULL) == 0 &&
                        streq(js_str(c->connections[0].options, "token", ""), "credential:tok"),
                "the runner reads the same file without credentials");
        c = config_free(c);
}

/* Who may write the config owns the daemon. */
static void test_permissions(void)
{
        static const struct {
                const char *name, *path;
                mode_t mode;
                const char *says;
        } rows[] = {
                { "a file that its group may write", "portald.conf", 0664, "chmod go-w" },
                { "a file that others may write", "portald.conf", 0646, "mode 0646" },
                { "a part that others may write", "conf.d/a.conf", 0666, "conf.d/a.conf" },
                { "a folder that others may write", ".", 0777, "chmod go-w" },
                { "conf.d that others may write", "conf.d", 0777, "chmod go-w" },
        };
        struct config *c = NULL;
        struct pd_error err = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(site_end) struct site s;
                char path[160];

                site_begin(&s);
                site_write(&s, "portald.conf", "");
                site_write(&s, "conf.d/a.conf", "");
                (void)str_format(path, sizeof path, "%s/%s", s.dir, rows[i].path);
                (void)chmod(path, rows[i].mode);
                if (!tap_ok(site_load(&s, &c, &err) < 0 && !c && strstr(err.text, rows[i].says), "%s is refused",
                            rows[i].name))
                        tap_note("%s", err.text);
        }
}

static void test_owner_and_kind(void)
{
        pd_cleanup(site_end) struct site s;
        struct config *c = NULL;
        struct pd_error err = { 0 };
        char path[160];

        site_begin(&s);
        tap_ok(site_load(&s, &c, &err) < 0 && strstr(err.text, s.main) && strstr(err.text, "no config file"),
                "a config that is not there is said to be so");
        (void)str_format(path, sizeof path, "%s/portald.conf", s.dir);
        (void)mkdir(path, 0755);
        tap_ok(site_load(&s, &c, &err) < 0 && strstr(err.text, "no regular file"), "a folder is no config");
        (void)rmdir(path);
        (void)mkfifo(path, 0600);
        tap_ok(site_load(&s, &c, &err) < 0 && strstr(err.text, "no regular file"),
                "nor is a pipe, and nobody waits for it");
        (void)unlink(path);
        site_write(&s, "portald.conf", "");
        if (geteuid() != 0) {
                tap_skip("a file of another user is refused", "needs root");
                return;
        }
        (void)!chown(path, 12345, 0);
        tap_ok(site_load(&s, &c, &err) < 0 && strstr(err.text, "user 12345") && strstr(err.text, "chown root"),
                "a file of another user is refused");
}

static void test_many_faults(void)
{
        pd_cleanup(site_end) struct site s;
        struct config_params params = { 0 };
        struct config *c = NULL;
        js_owned *faults = NULL;
        struct pd_error err = { 0 };
        char text[4096] = "daemon: {\n";

        site_begin(&s);
        for (int i = 0; i < 30; i++)
                (void)str_format(text + strlen(text), sizeof text - strlen(text), "  key%d = %d;\n", i, i);
        (void)strcat(text, "};\n");
        site_write(&s, "portald.conf", text);
        site_write(&s, "conf.d/b.conf", "runner: { uid_base = 5; };");
        params = (struct config_params){ .path = s.main, .owner_uid = geteuid() };
        tap_ok(config_load(&c, &params, &faults, &err) < 0 && json_array_size(faults) == CONFIG_FAULTS_MAX,
                "31 faults are told up to the 20th");
        tap_has(err.text, "portald.conf:2 daemon.key0", "the first stands in the error");
        site_write(&s, "portald.conf", "daemon: { run_dir = 1; };\nrunner: { run_dir = 2; };\nx = 3;\n");
        json_decref(pd_steal(faults));
        (void)config_load(&c, &params, &faults, &err);
        tap_int((long long)json_array_size(faults), 4, "faults of all blocks and files are told at once");
}

/* "  # key = value;" with the mark taken off: what is only shown must be right as well. */
static void uncomment(char *text)
{
        char *to = text;

        for (char *line = text; *line;) {
                char *end = strchr(line, '\n'), *mark = strchr(line, '#');
                size_t blanks = strspn(line, " ");
                bool setting = mark == line + blanks && mark[1] == ' ' &&
                               (memchr(mark, '=', (size_t)(end - mark)) || memchr(mark, '{', (size_t)(end - mark)) ||
                                       strncmp(mark, "# }", 3) == 0) &&
                               (end[-1] == ';' || end[-1] == '{');

                if (setting)
                        line = mark + 2;
                memmove(to, line, (size_t)(end + 1 - line));
                to += end + 1 - line;
                line = end + 1;
        }
        *to = '\0';
}

static bool names_key(const char *text, const char *key)
{
        size_t n = strlen(key);

        for (const char *at = strstr(text, key); at; at = strstr(at + 1, key))
                if (at > text && (at[-1] == ' ' || at[-1] == '\n') &&
                        (strncmp(at + n, " = ", 3) == 0 || strncmp(at + n, ": {", 3) == 0))
                        return true;
        return false;
}

static void test_example(void)
{
        pd_cleanup(site_end) struct site s;
        pd_cleanup(config_freep) struct config *c = NULL, *all = NULL;
        struct pd_error err = { 0 };
        size_t n = 0;
        pd_cleanup(freep) char *text = site_read("contrib/portald.conf.example", &n);

        if (!tap_ok(text, "the example is there"))
                return;
        site_begin(&s);
        for (size_t i = 0; i < schema_rows_n; i++) {
                const struct schema_row *row = &schema_rows[i];
                char shown[160];

                tap_ok(names_key(text, row->key), "the example explains %s", row->key);
                if (row->fallback && !str_starts(row->fallback, PORTALD_PLUGINDIR) &&
                        !str_starts(row->fallback, PORTALD_LIBEXECDIR) &&
                        !tap_ok(strstr(text, value_example(row, shown, sizeof shown)), "and shows its default"))
                        tap_note("%s", shown);
        }
        site_write(&s, "portald.conf", text);
        if (!tap_ok(site_load(&s, &c, &err) == 0 && c->connections_n == 1 && streq(c->connections[0].name, "lab"),
                    "the example is a config, with one connection"))
                tap_note("%s", err.text);
        uncomment(text);
        site_write(&s, "portald.conf", text);
        if (!tap_ok(site_load(&s, &all, &err) == 0 && all->connections[0].cap.set && all->captures_n == 3 &&
                            all->vaults_n == 1 && all->sinks_n == 1 && json_object_size(all->settings) == 3,
                    "and so is all that it only shows"))
                tap_note("%s", err.text);
}

int main(void)
{
        (void)unsetenv("CREDENTIALS_DIRECTORY");
        test_schema();
        test_defaults();
        test_full();
        test_print();
        test_secrets();
        test_permissions();
        test_owner_and_kind();
        test_many_faults();
        test_example();
        return tap_done();
}
