/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include "tap.h"

/* P-23: the same key set at every place; each level wins over those before it. */
static void test_precedence(void)
{
        static const char *const values[SETTING_LEVEL_N] = { "30m", "31m", "32m", "33m", "34m" };

        for (unsigned int top = 0; top < SETTING_LEVEL_N; top++) {
                const json_t *layers[SETTING_LEVEL_N] = { NULL };
                js_owned *origins = NULL;
                struct settings s = { 0 };
                struct pd_error e = { 0 };
                const json_t *o;
                char name[96];
                int r;

                for (unsigned int level = SETTING_SITE; level <= top; level++)
                        layers[level] = json_pack("{s:s}", "idle.after", values[level]);
                r = settings_resolve(layers, &s, &origins, &e);
                (void)snprintf(name, sizeof name, "P-23: \"%s\" is above all before it", setting_level_name(top));
                (void)tap_int(r == 0 ? s.idle_after_us : -1, (30 + top) * USEC_PER_MIN, name);
                o = json_object_get(origins, "idle.after");
                (void)tap_str(js_str(o, "origin", ""), setting_level_name(top), "P-23 ... and is shown as the origin");
                (void)tap_str(js_str(o, "value", ""), values[top], "P-23 ... with its value");
                o = json_object_get(origins, "ttl");
                (void)tap_str(js_str(o, "origin", ""), "built-in", "P-23 ... while another key keeps its own");
                (void)tap_int((long long)json_object_size(origins), (long long)setting_rows_n,
                        "P-23 ... and every key has one");
                for (unsigned int level = 0; level < SETTING_LEVEL_N; level++)
                        json_decref((json_t *)(uintptr_t)layers[level]);
        }
}

static void test_every_key_at_every_level(void)
{
        long long bad = 0;

        for (size_t i = 0; i < setting_rows_n; i++)
                for (unsigned int level = SETTING_SITE; level < SETTING_LEVEL_N; level++) {
                        js_owned *layer = json_pack("{s:s}", setting_rows[i].key, setting_rows[i].fallback);
                        const json_t *layers[SETTING_LEVEL_N] = { NULL };
                        js_owned *origins = NULL;
                        struct settings s;

                        layers[level] = layer;
                        bad += settings_resolve(layers, &s, &origins, NULL) < 0 ||
                               !streq(js_str(json_object_get(origins, setting_rows[i].key), "origin", ""),
                                       setting_level_name(level));
                }
        (void)tap_int(bad, 0, "P-23: every key can be set at every place");
}

static void test_defaults(void)
{
        const json_t *none[SETTING_LEVEL_N] = { NULL };
        struct settings s = { 0 };

        (void)tap_ok(settings_resolve(none, &s, NULL, NULL) == 0, "the built-in settings stand by themselves");
        (void)tap_int(s.ttl_us, 72 * USEC_PER_HOUR, "P-01: ttl is 72h");
        (void)tap_int(s.ttl_keep_us, 7 * USEC_PER_DAY, "P-02: its checkpoint is kept 7 d");
        (void)tap_int(s.keep_us, 3 * USEC_PER_DAY, "P-03: a suspended job's checkpoint is kept 3 d");
        (void)tap_ok(s.spot && s.spot_move_when_over && s.oom && s.cheaper && s.ret && s.rightsize,
                "P-04 .. P-14: the policies are on");
        (void)tap_ok(s.budget.currency[0] == '\0' && !s.budget_stop, "P-07: no budget, and it would suspend");
        (void)tap_ok(s.idle && s.idle_after_us == 30 * USEC_PER_MIN && s.idle_cpu_percent == 500,
                "P-09: idle is 30 min under 5 %%");
        (void)tap_int(s.lifetime_before_us, 30 * USEC_PER_MIN, "P-10: lifetime is 30 min before");
        (void)tap_ok(s.lease_horizon_us == USEC_PER_HOUR && s.lease_renew_us == 10 * USEC_PER_MIN,
                "P-11: a lease is 1 h, renewed every 10 min");
        (void)tap_ok(s.look_every_us == 10 * USEC_PER_MIN && s.move_cooldown_us == 30 * USEC_PER_MIN,
                "P-12, P-16: looks every 10 min, not for 30 min after a move");
        (void)tap_ok(s.check_every_us == 60 * USEC_PER_SEC && s.pool_cooldown_us == 30 * USEC_PER_MIN,
                "P-15, P-17: checks every 60 s, pools out for 30 min");
        (void)tap_ok(s.expect_us == SETTING_OFF && s.stop_grace_us == 20 * USEC_PER_SEC &&
                             s.save_deadline_us == 10 * USEC_PER_MIN,
                "P-13, F-08: no expectation, 20 s of grace, 10 min to save");
}

static const struct {
        const char *key, *value;
        bool good;
        const char *has, *fix;
} rows[] = {
        { "ttl", "6h", true, NULL, NULL },
        { "ttl", "off", true, NULL, NULL },
        { "ttl", "1s", true, NULL, NULL },
        { "ttl", "365d", true, NULL, NULL },
        { "ttl", "999999us", false, "999999us", "from 1s to" },
        { "ttl", "366d", false, "366d", "or off" },
        { "ttl", "72", false, "72", "72h" },
        { "ttl", "never", false, "never", "write" },
        { "ttl", "-1h", false, "-1h", "write" },
        { "ttl.keep", "off", false, "off", "write a value" },
        { "idle", "on", true, NULL, NULL },
        { "idle", "off", true, NULL, NULL },
        { "idle", "true", true, NULL, NULL },
        { "idle", "no", false, "no", "write on or off" },
        { "idle", "30m", false, "30m", "write on or off" },
        { "idle", "", false, "\"\"", "write on or off" },
        { "idle.cpu", "5%", true, NULL, NULL },
        { "idle.cpu", "0%", false, "0%", "from 0.01%" },
        { "idle.cpu", "101%", false, "101%", "write" },
        { "idle.cpu", "5", false, "5", "%" },
        { "budget", "20usd", true, NULL, NULL },
        { "budget", "off", true, NULL, NULL },
        { "budget", "0usd", false, "0usd", "more than 0" },
        { "budget", "20", false, "20", "20usd" },
        { "budget.action", "stop", true, NULL, NULL },
        { "budget.action", "suspend", true, NULL, NULL },
        { "budget.action", "suspen", false, "suspen", "write suspend or stop" },
        { "budget.action", "off", false, "off", "suspend" },
        { "lease.horizon", "off", false, "off", "cannot be turned off" },
        { "idle.aftr", "1h", false, "idle.aftr", "idle.after" },
        { "lease", "off", false, "lease", "manual" },
        { "zzzzzzzzz", "1", false, "zzzzzzzzz", "manual" },
};

static void test_values(void)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pd_error e = { 0 };
                int r = setting_check(rows[i].key, rows[i].value, &e);

                (void)tap_ok((r == 0) == rows[i].good, "%s = \"%s\" is %s", rows[i].key, rows[i].value,
                        rows[i].good ? "taken" : "refused");
                if (rows[i].good)
                        continue;
                (void)tap_ok(
                        strstr(e.text, rows[i].has) && strstr(e.text, rows[i].fix) && streq(e.subject, rows[i].key),
                        "... with value, key and fix: %s", e.text);
        }
}

static void test_refused_layers(void)
{
        js_owned *bad = json_pack("{s:s}", "idle.after", "soon"), *number = json_pack("{s:i}", "idle.after", 5);
        js_owned *renew = json_pack("{s:s}", "lease.renew", "2h"), *flag = json_pack("{s:b}", "idle", 0);
        const json_t *layers[SETTING_LEVEL_N] = { NULL };
        struct settings s = { .ttl_us = 7 };
        struct pd_error e = { 0 };

        layers[SETTING_FILE] = bad;
        (void)tap_ok(settings_resolve(layers, &s, NULL, &e) < 0 && s.ttl_us == 7,
                "a bad value is refused, and nothing is written");
        (void)tap_has(e.text, "portal.yaml: idle.after: \"soon\"", "P-23 ... naming place, key and value");
        layers[SETTING_FILE] = number;
        (void)tap_ok(settings_resolve(layers, &s, NULL, &e) < 0, "a number is refused");
        (void)tap_has(e.text, "in quotes", "... with the fix");
        layers[SETTING_FILE] = renew;
        (void)tap_ok(settings_resolve(layers, &s, NULL, &e) < 0, "P-11: a renewal after the hard stop is refused");
        (void)tap_has(e.text, "lease.horizon 1h", "... naming both");
        layers[SETTING_FILE] = flag;
        (void)tap_ok(settings_resolve(layers, &s, NULL, &e) == 0 && !s.idle, "JSON's false is off");
}

static void test_set(void)
{
        static const char *const bad[] = { "ttl", "=1h", "ttl=", "tttl=1h", "ttl=1h30", "" };
        js_owned *layer = json_object();
        struct pd_error e = { 0 };

        (void)tap_ok(setting_set(layer, "ttl=6h", &e) == 0 && setting_set(layer, "ttl=7h", &e) == 0,
                "--set ttl=7h after ttl=6h");
        (void)tap_str(js_str(layer, "ttl", ""), "7h", "... the last one counts");
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                (void)tap_ok(setting_set(layer, bad[i], &e) < 0, "--set \"%s\" is refused", bad[i]);
                (void)tap_ok(str_starts(e.text, "--set") && strstr(e.text, "write"),
                        "... saying where and what to write: %s", e.text);
        }
        (void)tap_int((long long)json_object_size(layer), 1, "... and nothing was added");
}

static const struct {
        const char *key, *bound, *value;
        bool good;
        const char *has;
} bound_rows[] = {
        { "ttl", "{\"min\": \"1h\", \"max\": \"7d\", \"by\": \"root\"}", "1h", true, NULL },
        { "ttl", "{\"min\": \"1h\", \"max\": \"7d\", \"by\": \"root\"}", "7d", true, NULL },
        { "ttl", "{\"min\": \"1h\", \"max\": \"7d\", \"by\": \"root\"}", "3599999999us", false, "from 1h up to 7d" },
        { "ttl", "{\"min\": \"1h\", \"max\": \"7d\", \"by\": \"root\"}", "604800000001us", false,
                "above the bound that root" },
        { "ttl", "{\"max\": \"7d\"}", "off", false, "up to 7d" },
        { "ttl", "{\"min\": \"1h\"}", "off", true, NULL },
        { "budget", "{\"max\": \"20usd\"}", "20usd", true, NULL },
        { "budget", "{\"max\": \"20usd\"}", "20.000000001usd", false, "above" },
        { "budget", "{\"max\": \"20usd\"}", "1eur", false, "of another currency" },
        { "budget", "{\"max\": \"20usd\"}", "off", false, "up to 20usd" },
        { "idle.cpu", "{\"max\": \"10%\"}", "10.01%", false, "above" },
        { "spot", "{\"lock\": true, \"by\": \"root\"}", "off", false, "locked by root" },
        { "idle", "{\"max\": \"10%\"}", "on", true, NULL },
};

static void test_bounds(void)
{
        static const struct {
                const char *key, *bound, *has;
        } bad[] = {
                { "idle", "{\"max\": \"on\"}", "is no amount" },
                { "ttl", "{\"max\": \"soon\"}", "max" },
                { "ttl", "{\"max\": \"1h\", \"min\": \"2h\"}", "above max" },
                { "ttl", "{}", "a min, a max" },
                { "ttl", "{\"max\": 5}", "must be a text" },
                { "tttl", "{\"max\": \"1h\"}", "\"ttl\"" },
                { "budget", "{\"min\": \"1eur\", \"max\": \"2usd\"}", "another currency" },
        };
        struct pd_error e;

        for (size_t i = 0; i < ARRAY_LEN(bound_rows); i++) {
                js_owned *bounds =
                        json_pack("{s:o}", bound_rows[i].key, json_loads(bound_rows[i].bound, JSON_DECODE_ANY, NULL));

                e = (struct pd_error){ 0 };
                (void)tap_ok((bound_admit(bounds, bound_rows[i].key, bound_rows[i].value, true, &e) == 0) ==
                                     bound_rows[i].good,
                        "P-23: %s = %s under %s is %s", bound_rows[i].key, bound_rows[i].value, bound_rows[i].bound,
                        bound_rows[i].good ? "taken" : "refused");
                if (!bound_rows[i].good)
                        (void)tap_ok(e.code == PD_E_REFUSED && strstr(e.text, bound_rows[i].has) &&
                                             streq(e.subject, bound_rows[i].key),
                                "P-23 ... by name: %s", e.text);
        }
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                js_owned *bound = json_loads(bad[i].bound, 0, NULL);

                (void)tap_ok(bound_check(bad[i].key, bound, &e) < 0 && strstr(e.text, bad[i].has),
                        "P-23: %s cannot be bound by %s: %s", bad[i].key, bad[i].bound, e.text);
        }
}

static void test_confine(void)
{
        js_owned *site = json_pack("{s:s}", "idle.after", "31m");
        js_owned *all = json_pack("{s:s,s:s}", "idle.after", "32m", "cheaper", "off");
        js_owned *project = json_pack("{s:s,s:s}", "idle.after", "33m", "return", "off");
        js_owned *file = json_pack("{s:s,s:s}", "ttl", "30d", "spot", "off");
        js_owned *flag = json_pack("{s:s,s:s,s:s}", "spot", "off", "lease.renew", "2h", "budget", "5eur");
        js_owned *bounds = json_loads("{\"ttl\": {\"max\": \"7d\", \"by\": \"root\"}, \"spot\": {\"lock\": true, "
                                      "\"by\": \"root\"}, \"budget\": {\"max\": \"20usd\", \"by\": \"eve\"}}",
                0, NULL);
        const struct setting_sources from = { site, all, project, file, flag, bounds, NULL };
        js_owned *origins = NULL;
        struct settings s;
        struct pd_error e;

        (void)tap_int(settings_confine(&from, &s, &origins, &e), 0, "P-23: all places under bounds");
        (void)tap_int(s.idle_after_us, 33 * USEC_PER_MIN, "P-23: a project's settings go before everybody's");
        (void)tap_str(js_str(json_object_get(origins, "idle.after"), "origin", ""), "settings of the project",
                "P-23 ... and are the origin");
        (void)tap_str(js_str(json_object_get(origins, "cheaper"), "origin", ""), "settings",
                "P-23: what the project does not say is everybody's");
        (void)tap_int(s.ttl_us, 7 * USEC_PER_DAY, "P-23: a value from before the bound counts as the bound");
        (void)tap_str(
                js_str(json_object_get(origins, "ttl"), "origin", ""), "bound by root", "P-23 ... and says whose");
        (void)tap_ok(s.spot, "P-23: a locked key is not overridden by portal.yaml or flags");
        (void)tap_str(js_str(json_object_get(origins, "spot"), "origin", ""), "built-in, locked by root",
                "P-23 ... and says who locked it");
        (void)tap_ok(s.budget.nano == 20 * NANO && streq(s.budget.currency, "USD"),
                "P-23: what cannot be compared counts as the bound");
        (void)tap_ok(s.lease_renew_us < s.lease_horizon_us, "P-11: a renewal always comes before the hard stop");
        (void)tap_int((long long)json_object_size(origins), (long long)setting_rows_n, "P-23: every key has an origin");
}

int main(void)
{
        test_bounds();
        test_confine();
        test_defaults();
        test_precedence();
        test_every_key_at_every_level();
        test_values();
        test_refused_layers();
        test_set();
        (void)tap_str(setting_level_name(SETTING_LEVEL_N), "?", "a level out of range has no name");
        return tap_done();
}
