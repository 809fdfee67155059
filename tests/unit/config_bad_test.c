/* SPDX-License-Identifier: Apache-2.0 */
/* Bad config files: a rule checks each message for value, place and fix. The files are in config_bad; NAME.part.conf, where there is one, is conf.d's. */
#include "config_site.h"

#include "tap.h"

static const struct {
        const char *file;
        int line;
        const char *key;   /* in the place, after FILE:LINE */
        const char *value; /* what the text must name       */
        const char *fix;
        int faults; /* how many in all; 0 = one */
} rows[] = {
        { "unknown-key", 4, "connections.lab.provder", "\"provder\"", "did you mean \"provider\"?", 2 },
        { "unknown-block", 1, "deamon", "\"deamon\"", "did you mean \"daemon\"?", 0 },
        { "unknown-far", 2, "runner.quota", "\"quota\"", "state_dir, run_dir, socket", 0 },
        { "unknown-in-cap", 2, "connections.lab.cap.perod", "\"perod\"", "did you mean \"period\"?", 0 },
        { "provider-missing", 2, "connections.lab", "\"provider\"", "provider = \"local\"", 0 },
        { "cap-without-amount", 2, "connections.lab.cap", "\"amount\"", "amount = \"100usd\"", 0 },
        { "wrong-type-number", 2, "daemon.state_dir", "5 is not an absolute path in quotes",
                "state_dir = \"/var/lib/portald\"", 0 },
        { "wrong-type-bool", 2, "runner.user_ns", "\"yes\" is not true or false", "user_ns = true", 0 },
        { "wrong-type-list", 2, "daemon.admin_uids", "1000 is not a list", "admin_uids = [ 1000 ]", 0 },
        { "wrong-type-block", 1, "daemon", "\"daemon\" is a block", "{ ... }", 0 },
        { "connection-no-block", 2, "connections.lab", "a connection is a block", "{ ... }", 0 },
        { "connection-name", 2, "connections", "\"Lab_1\"", "a-z, 0-9 and -", 0 },
        { "list-item", 2, "daemon.admin_groups", "empty", "[ \"adm\" ]", 0 },
        { "uid-negative", 2, "daemon.admin_uids", "-1 lies outside 0 to 4294967294", "[ 1000 ]", 0 },
        { "duration-no-unit", 2, "daemon.history", "\"60\" has no unit", "60h", 0 },
        { "duration-unquoted", 2, "", "60d is no plain whole number", "quoted string with its unit", 0 },
        { "duration-range", 2, "daemon.check_every", "\"100ms\" lies outside 1s to 1h", "check_every = \"60s\"", 0 },
        { "money-no-currency", 3, "connections.lab.cap.amount", "\"100\" has no currency", "20usd", 2 },
        { "money-float", 3, "", "100.5 is no plain whole number", "quoted string with its unit", 0 },
        { "money-infinite", 2, "", "1e400 is no plain whole number", "quoted string with its unit", 0 },
        { "money-infinite-quoted", 2, "connections.lab.cap.amount", "\"1e400usd\" has an exponent", "20usd", 2 },
        { "money-negative", 2, "connections.lab.cap.amount", "\"-5usd\" is negative", "20usd", 2 },
        { "integer-wraps", 2, "", "3000000000 has more than 9 digits", "\"3000000000\"", 0 },
        { "integer-quoted-high", 2, "runner.uid_base", "4294967295 lies outside", "uid_base = 900000000", 0 },
        { "integer-hex", 2, "", "0x10000000 is no plain whole number", "quoted string", 0 },
        { "ranges-too-many", 2, "runner.uid_base", "4294000000 + 65536 x 4096", "lower uid_base", 0 },
        { "path-relative", 2, "daemon.state_dir", "\"var/lib/portald\" is no absolute path", "\"/var/lib/portald\"",
                0 },
        { "path-dotdot", 2, "runner.image_roots", "\"/srv/../etc\"", "[ \"/srv/images\" ]", 0 },
        { "choice", 2, "daemon.log_level", "\"verbose\" is none of error|warning|info|debug", "log_level = \"info\"",
                0 },
        { "currency", 2, "connections.lab.currency", "\"dollar\"", "currency = \"USD\"", 0 },
        { "timezone", 2, "connections.lab.cap.timezone", "\"Mars Base\"", "timezone = \"UTC\"", 0 },
        { "plugin", 2, "vaults.store.plugin", "\"../evil.so\"", "plugin = \"file\"", 0 },
        { "option-number", 2, "connections.lab.options.cores", "is text", "cores = \"...\"", 0 },
        { "vaults-two", 2, "daemon.default_vault", "2 vaults", "default_vault = \"NAME\"", 0 },
        { "vault-unknown", 2, "daemon.default_vault", "\"store\"", "name a block of vaults", 0 },
        { "settings-no-value", 1, "settings", "\"ttl\" is not KEY=VALUE", "\"ttl=72h\"", 0 },
        { "settings-block", 1, "settings", "{} is not a list", "\"ttl=72h\"", 0 },
        { "settings-unknown", 2, "settings.tl", "\"tl\" is no setting", "did you mean \"ttl\"?", 0 },
        { "check-twice", 3, "daemon.check_every", "portald.conf:1", "keep one", 0 },
        { "credential-name", 2, "connections.lab.options.token", "\"credential:../shadow\"", "credential:NAME", 0 },
        { "credential-missing", 2, "connections.lab.options.token", "\"credential:lab-token\"",
                "LoadCredential=lab-token", 0 },
        { "notify-url", 2, "daemon.notify_url", "no https address", "https://HOST/PATH", 0 },
        { "include", 2, "", "@include", "conf.d", 0 },
        { "string-open", 2, "", "\"/var/lib/portald;", "close it with \"", 0 },
        { "comment-open", 2, "", "never closed", "*/", 0 },
        { "brace-open", 3, "", "the file ends where", "close each {", 0 },
        { "brace-extra", 2, "", "} stands where a key is wanted", "close each {", 0 },
        { "no-equals", 2, "", "\"/run/portald\" stands where \"=\" is wanted", "key = value;", 0 },
        { "word-unquoted", 2, "", "info stands where a value is wanted", "quote text", 0 },
        { "comma-last", 2, "", "] stands where a value is wanted", "quoted string", 0 },
        { "escape", 2, "", "\\U", "write \\\\ for a backslash", 0 },
        { "stray", 2, "", "$HOME means nothing here", "quote text", 0 },
        { "twice-in-a-file", 3, "", "duplicate", "each key once", 0 },
        { "twice-in-two", 3, "connections.lab.provider", "portald.conf:2", "keep one", 0 },
        { "not-utf8", 2, "daemon.run_dir", "not UTF-8", "save the file as UTF-8", 0 },
        { "nul", 2, "", "NUL", "text file", 0 },
        { "nul-escaped", 2, "", "\\x00", "leave it out", 0 },
        { "deep", 1, "", "deeper than 16", "no more than", 0 },
};

/* Stands for spec's setting_check(). */
static int check_setting(const char *key, const char *value, struct pd_error *err)
{
        static const char *const known[] = { "ttl", "check.every", "idle.after", NULL };

        (void)value;
        for (size_t i = 0; known[i]; i++)
                if (streq(known[i], key))
                        return 0;
        return pd_fail(err, PD_E_INVALID, "\"%s\" is no setting: did you mean \"%s\"?", key,
                str_or(str_nearest(key, known), "ttl"));
}

static void copy(const struct site *s, const char *name, const char *suffix, const char *as)
{
        char path[200];
        size_t n = 0;

        (void)str_format(path, sizeof path, "tests/unit/config_bad/%s%s", name, suffix);
        pd_cleanup(freep) char *text = site_read(path, &n);
        if (text)
                site_write_bytes(s, as, text, n);
}

int main(void)
{
        (void)unsetenv("CREDENTIALS_DIRECTORY");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                pd_cleanup(site_end) struct site s;
                pd_cleanup(config_freep) struct config *c = NULL;
                js_owned *faults = NULL;
                struct pd_error err = { 0 };
                char at[300], part[80];
                const json_t *first;
                bool good;
                int r;

                site_begin(&s);
                copy(&s, rows[i].file, ".conf", "portald.conf");
                copy(&s, rows[i].file, ".part.conf", "conf.d/part.conf");
                (void)str_format(part, sizeof part, "%s/conf.d/part.conf", s.dir);
                (void)str_format(at, sizeof at, "%s:%d%s%s", access(part, F_OK) == 0 ? part : s.main, rows[i].line,
                        *rows[i].key ? " " : "", rows[i].key);
                r = site_load_as(&s, false, &c, &faults, &err, check_setting);
                first = json_array_get(faults, 0);
                good = r < 0 && !c && streq(js_str(first, "at", ""), at) &&
                       strstr(js_str(first, "text", ""), rows[i].value) &&
                       strstr(js_str(first, "fix", ""), rows[i].fix) && str_starts(err.text, s.dir);
                if (!tap_ok(good && (int)json_array_size(faults) == (rows[i].faults ? rows[i].faults : 1),
                            "%s is refused with value, place and fix", rows[i].file)) {
                        pd_cleanup(freep) char *text = js_dump(faults);

                        tap_note("r %d, want %s: %s", r, at, str_or(text, err.text));
                }
        }
        return tap_done();
}
