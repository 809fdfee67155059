/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance suites share: one plugin, its configuration, both isolations.
 *
 *   SUITE PLUGIN.so [CONFIG | KEY=VALUE...] [OPTIONS]
 *
 * CONFIG is a JSON object of strings; "@DIR@" in a value is an empty directory made for the run (a new one for each isolation). A plugin
 * that lies where others could write (a build below /tmp) is copied to a safe place first. Options:
 *   --isolation process|none   only this one
 *   --host PROGRAM             portald-plugin-host
 *   --clock KEY                providers: the setting that names a file with a duration by which the provider's clock is ahead
 *   --storm N                  providers: only this: N creates at once, with settings that make calls fail
 *   --market spot|on-demand    providers: of the offers only these
 *   --notice 1                 providers: the offer is reclaimed sooner or later
 *   --quota ID                 providers: this quota is met within 200 machines */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <unistd.h>

#include "host_call.h"
#include "plugin_dir.h"
#include "tap.h"

struct suite {
        sd_event *loop;
        enum pd_kind kind;
        char plugin[512], program[512];
        json_t *config; /* with the directory filled in */
        enum host_isolation isolation;
        const char *how; /* "process", for the rows' names */
        struct host *h;
        const char *clock, *quota;
        int storm, notice, market;
};

static int suite_open_with(const struct suite *s, const json_t *config, struct host **ret, struct pd_error *err)
{
        struct host_params p = { .name = "suite",
                .path = s->plugin,
                .kind = s->kind,
                .config = config,
                .isolation = s->isolation,
                .program = s->program,
                .owner_uid = geteuid() };

        return host_open(ret, s->loop, &p, err);
}

__attribute__((unused)) static int suite_call(
        const struct suite *s, struct reply *r, const char *slot, json_t *args, const char *token)
{
        return ask_wait(s->loop, s->h, r, slot, args, NULL, 0, token);
}

/* One row about what a call came to. */
__attribute__((unused, format(printf, 4, 5))) static bool suite_is(
        const struct suite *s, const struct reply *r, enum pd_code want, const char *fmt, ...)
{
        char name[256];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(name, sizeof name, fmt, ap);
        va_end(ap);
        if (tap_ok(r->rc == -(int)want && (r->rc == 0 || r->err.text[0]), "%s: %s", s->how, name))
                return true;
        tap_note("%s, want %s: %s", pd_code_name((enum pd_code) - r->rc), pd_code_name(want), r->err.text);
        return false;
}

/* Every plugin refuses a setting that it does not know, and names it. */
static void suite_unknown_setting(const struct suite *s)
{
        js_owned *config = json_deep_copy(s->config);
        struct host *h = NULL;
        struct pd_error err = { 0 };
        int rc;

        (void)json_object_set_new(config, "no-such-setting", json_string("1"));
        rc = suite_open_with(s, config, &h, &err);
        tap_ok(rc == -(int)PD_E_INVALID && streq(err.subject, "no-such-setting"),
                "%s: a setting that it does not know is refused by name: %s", s->how, err.text);
        host_free(h);
}

static json_t *suite_config(const json_t *from, const char *dir)
{
        json_t *config = json_object();
        const char *key;
        json_t *v;

        json_object_foreach ((json_t *)(uintptr_t)from, key, v) {
                const char *text = str_or(json_string_value(v), ""), *at = strstr(text, "@DIR@");

                (void)json_object_set_new(config, key,
                        at ? json_sprintf("%.*s%s%s", (int)(at - text), text, dir, at + 5) : json_string(text));
        }
        return config;
}

static void suite_run_one(struct suite *s, const json_t *config, void (*run)(struct suite *s))
{
        char dir[256];
        struct pd_error err = { 0 };

        if (!plugin_dir_make(dir)) {
                tap_ok(false, "a directory could be made");
                return;
        }
        s->how = s->isolation == HOST_PROCESS ? "process" : "none";
        s->config = suite_config(config, dir);
        if (tap_ok(suite_open_with(s, s->config, &s->h, &err) == 0, "%s: opens with the configuration given: %s",
                    s->how, err.text)) {
                suite_unknown_setting(s);
                run(s);
        }
        s->h = host_free(s->h);
        json_decref(s->config);
        plugin_dir_remove(dir);
}

/* Opens once more, as after a restart: what was done before must still be there. */
__attribute__((unused)) static bool suite_reopen(struct suite *s)
{
        struct pd_error err = { 0 };

        s->h = host_free(s->h);
        return tap_ok(suite_open_with(s, s->config, &s->h, &err) == 0, "%s: opens again: %s", s->how, err.text);
}

/* The plugin as it can be loaded; copied to `safe` where it has to be. */
static bool suite_place(struct suite *s, const char *plugin, const char *safe)
{
        pd_cleanup(freep) char *real = realpath(plugin, NULL);
        struct pd_error err = { 0 };

        if (!real || !str_format(s->plugin, sizeof s->plugin, "%s", real))
                return tap_ok(false, "%s is there", plugin);
        if (host_check_file(s->plugin, s->kind, geteuid(), s->program, NULL, &err) == -(int)PD_E_PERM &&
                !plugin_dir_copy(safe, plugin, NULL, s->plugin))
                return tap_ok(false, "%s could be copied to %s", plugin, safe);
        return tap_ok(host_check_file(s->plugin, s->kind, geteuid(), s->program, NULL, &err) == 0,
                "the loader accepts it: %s", err.text);
}

static bool suite_option(struct suite *s, const char *key, const char *value, const char **only)
{
        if (streq(key, "--isolation"))
                *only = value;
        else if (streq(key, "--host"))
                (void)snprintf(s->program, sizeof s->program, "%s", value);
        else if (streq(key, "--clock"))
                s->clock = value;
        else if (streq(key, "--quota"))
                s->quota = value;
        else if (streq(key, "--storm"))
                s->storm = atoi(value); /* NOLINT(cert-err34-c) */
        else if (streq(key, "--notice"))
                s->notice = streq(value, "1");
        else if (streq(key, "--market"))
                s->market = streq(value, "spot") ? 2 : 1;
        else
                return false;
        return true;
}

/* NULL = wrong use. */
static json_t *suite_arguments(struct suite *s, int argc, char **argv, const char **only)
{
        json_t *config = argc >= 3 && argv[2][0] == '{' ? json_loads(argv[2], 0, NULL) : json_object();
        int i = argc >= 3 && argv[2][0] == '{' ? 3 : 2;

        for (; config && i < argc; i++) {
                char *eq = strchr(argv[i], '=');

                if (strncmp(argv[i], "--", 2) != 0 && eq) {
                        *eq = '\0';
                        (void)json_object_set_new(config, argv[i], json_string(eq + 1));
                } else if (i + 1 == argc || !suite_option(s, argv[i], argv[i + 1], only)) {
                        json_decref(config);
                        return NULL;
                } else {
                        i++;
                }
        }
        return config;
}

__attribute__((unused)) static int suite_main(int argc, char **argv, enum pd_kind kind, void (*run)(struct suite *s))
{
        struct suite s = { .kind = kind };
        js_owned *config = NULL;
        const char *only = NULL;
        char safe[256];

        (void)snprintf(s.program, sizeof s.program, "%s", TEST_BINARY_DIR "/core/host/portald-plugin-host");
        config = argc >= 2 ? suite_arguments(&s, argc, argv, &only) : NULL;
        if (!json_is_object(config)) {
                (void)fprintf(stderr,
                        "usage: %s PLUGIN.so ['{\"setting\": \"value, or @DIR@\"}' | SETTING=VALUE...] [--isolation "
                        "process|none] [--host PROGRAM] [--clock SETTING] [--storm N] [--market spot|on-demand] "
                        "[--notice 1] "
                        "[--quota ID]\n",
                        argv[0]);
                return 2;
        }
        if (sd_event_new(&s.loop) < 0 || !plugin_dir_make(safe))
                return 2;
        if (suite_place(&s, argv[1], safe))
                for (s.isolation = HOST_PROCESS; s.isolation <= HOST_NONE; s.isolation++)
                        if (!only || streq(only, s.isolation == HOST_PROCESS ? "process" : "none"))
                                suite_run_one(&s, config, run);
        plugin_dir_remove(safe);
        sd_event_unref(s.loop);
        return tap_done();
}

#endif
