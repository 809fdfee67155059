/* SPDX-License-Identifier: Apache-2.0 */
/* P-23 with the engine and the store: Settings, bounds and locks, in force at once, and kept. */
#include "tap.h"
#include "simulate/world.h"

#define MIN USEC_PER_MIN
#define HOUR USEC_PER_HOUR

static void on_reply(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        struct reply *r = arg;

        (void)blob, (void)n;
        r->done = true;
        if (err)
                r->err = *err;
        r->body = body;
}

/* args is JSON text. As this user, no administrator unless it is root. */
static void ask(struct world *w, const char *user, const char *verb, const char *args, struct reply *ret)
{
        json_error_t e;
        js_owned *given = json_loads(args, 0, &e);
        const struct engine_request rq = { .verb = verb,
                .actor = { .uid = streq(user, "root") ? 0 : 1000, .user = user, .admin = streq(user, "root") },
                .args = given };

        if (!given)
                abort();
        *ret = (struct reply){ 0 };
        (void)engine_request(w->engine, &rq, on_reply, ret);
        world_run(w, USEC_PER_SEC);
}

static enum pd_code change(struct world *w, const char *user, const char *args, const char *has)
{
        struct reply r;
        enum pd_code code;

        ask(w, user, "settings_change", args, &r);
        code = r.err.code;
        if (has && !strstr(r.err.text, has)) {
                tap_note("\"%s\" is not in: %s", has, r.err.text);
                code = PD_E_INTERNAL;
        }
        reply_clear(&r);
        return code;
}

/* A row of what holds: its member as text, in a static buffer. */
static const char *row(struct world *w, const char *project, const char *key, const char *member)
{
        static char ring[8][160];
        static unsigned int at;
        char *buf = ring[at++ % 8], args[160];
        const json_t *first;
        struct reply r;

        (void)str_format(args, sizeof args, "{\"project\": \"%s\", \"key\": \"%s\"}", project, key);
        ask(w, "root", "settings", args, &r);
        first = json_array_get(json_object_get(r.body, "settings"), 0);
        (void)str_format(buf, sizeof ring[0], "%s", r.err.code ? r.err.text : js_str(first, member, "-"));
        reply_clear(&r);
        return buf;
}

/* Of a job, as explain tells it: "VALUE (ORIGIN)". */
static const char *of_job(struct world *w, const char *id, const char *key)
{
        static char ring[8][160];
        static unsigned int at;
        char *buf = ring[at++ % 8];
        const json_t *o;
        struct reply r;

        world_ask(w, "explain", id, NULL, NULL, &r);
        o = json_object_get(json_object_get(r.body, "settings"), key);
        (void)str_format(buf, sizeof ring[0], "%s (%s)", js_str(o, "value", "?"), js_str(o, "origin", "?"));
        reply_clear(&r);
        return buf;
}

static bool begin(struct world *w)
{
        js_owned *site = json_pack("{s:s}", "look.every", "9m");

        return tap_ok(world_new(w, site) == 0, "a world begins");
}

static void end(struct world *w)
{
        tap_int(w->fatal.code, PD_OK, "no change was outside of the table of edges");
        world_free(w);
}

static void precedence(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{\"idle.after\": \"44m\"}", id);
        world_run(&w, MIN);
        tap_str(of_job(&w, id, "look.every"), "9m (site config)", "P-23 site config goes before built-in");
        tap_int(change(&w, "root", "{\"settings\": {\"look.every\": \"8m\", \"idle.after\": \"20m\"}}", NULL), PD_OK,
                "P-23 an administrator sets everybody's");
        tap_str(of_job(&w, id, "look.every"), "8m (settings)", "P-23 Settings go before site config, at once");
        tap_int(change(&w, "ada", "{\"project\": \"ada\", \"settings\": {\"look.every\": \"7m\"}}", NULL), PD_OK,
                "P-23 a user sets their own project's");
        tap_str(of_job(&w, id, "look.every"), "7m (settings of the project)",
                "P-23 the project's go before everybody's");
        tap_str(of_job(&w, id, "idle.after"), "44m (flag)", "P-23 a flag goes before all of them");
        tap_str(row(&w, "ada", "look.every", "set"), "7m", "and settings show what is set there");
        tap_str(row(&w, "", "look.every", "value"), "8m", "and what everybody has");
        tap_str(row(&w, "", "cheaper", "choices"), "on|off", "and what a switch can be");
        tap_int(world_restart(&w), 0, "a restart");
        world_run(&w, MIN);
        tap_str(of_job(&w, id, "look.every"), "7m (settings of the project)", "S-01 Settings outlive it");
        tap_int(change(&w, "ada", "{\"project\": \"ada\", \"settings\": {\"look.every\": null}}", NULL), PD_OK,
                "unset");
        tap_str(of_job(&w, id, "look.every"), "8m (settings)", "P-23 what is unset falls back a level");
        end(&w);
}

/* The config was edited while the daemon was down: what runs has it after the start. */
static void site_edited(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, MIN);
        tap_str(of_job(&w, id, "look.every"), "9m (site config)", "P-23 a running job has the site's");
        (void)json_object_set_new(w.site_settings, "look.every", json_string("6m"));
        (void)json_object_set_new(w.site_settings, "ttl", json_string("100h"));
        tap_int(world_restart(&w), 0, "a restart with another config");
        world_run(&w, MIN);
        tap_str(of_job(&w, id, "look.every"), "6m (site config)", "P-23 a running job has the site's new one");
        world_run(&w, 90 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-23 P-01 and its runner heard of the longer ttl");
        world_run(&w, 11 * HOUR);
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 which ends it");
        end(&w);
}

static void refusals(void)
{
        struct world w;

        if (!begin(&w))
                return;
        tap_int(change(&w, "ada", "{\"settings\": {\"ttl\": \"1h\"}}", "--project ada"), PD_E_PERM,
                "P-23 everybody's are the administrators'");
        tap_int(change(&w, "ada", "{\"project\": \"bob\", \"settings\": {\"ttl\": \"1h\"}}", "bob"), PD_E_PERM,
                "P-23 another user's project is not mine");
        tap_int(change(&w, "ada", "{\"bounds\": {\"ttl\": {\"max\": \"1h\"}}}", "bound or lock"), PD_E_PERM,
                "P-23 only administrators bound");
        tap_int(change(&w, "root", "{\"settings\": {\"idle.aftr\": \"1h\"}}", "\"idle.after\""), PD_E_INVALID,
                "P-23 an unknown key is refused with the nearest name");
        tap_int(change(&w, "root", "{\"settings\": {\"idle.aftr\": null}}", "\"idle.after\""), PD_E_INVALID,
                "P-23 when it is unset, too");
        tap_int(change(&w, "root", "{\"settings\": {\"ttl\": \"72\"}}", "72h"), PD_E_INVALID,
                "P-23 a value is checked");
        tap_int(change(&w, "root", "{\"settings\": {\"lease.renew\": \"2h\"}}", "lease.horizon"), PD_E_INVALID,
                "P-11 what two keys say together, too");
        tap_int(change(&w, "root", "{\"settings\": {\"cap\": \"1usd\"}}", "no setting"), PD_E_INVALID,
                "P-23 N-04 no Settings raise a cap: there is no such key");
        tap_int(change(&w, "root", "{}", "nothing to change"), PD_E_INVALID, "nothing is refused");
        tap_int(change(&w, "root", "{\"project\": \"!bounds\", \"settings\": {\"ttl\": \"1h\"}}", "no project"),
                PD_E_INVALID, "the store's own names are no project");
        tap_int(change(&w, "root", "{\"bounds\": {\"ttl\": {\"mxa\": \"1h\"}}}", "\"max\""), PD_E_INVALID,
                "an unknown member of a bound is refused with the nearest");
        tap_int(change(&w, "root", "{\"bounds\": {\"ttl\": {\"max\": \"1h\"}}}", "that is what everybody has"),
                PD_E_REFUSED, "P-23 a bound that everybody's own value is outside of is refused");
        tap_str(row(&w, "", "ttl", "value"), "72h", "and none of all that changed a thing");
        end(&w);
}

static enum pd_code submit(struct world *w, const char *settings, const char *has)
{
        char args[400];
        struct reply r;
        enum pd_code code;

        (void)str_format(args, sizeof args,
                "{\"spec\": {\"image\": \"oci:/srv/i\", \"command\": [\"x\"]}, \"settings\": %s}", settings);
        ask(w, "ada", "submit", args, &r);
        code = has && !strstr(r.err.text, has) ? PD_E_INTERNAL : r.err.code;
        if (code == PD_E_INTERNAL)
                tap_note("%s", r.err.text);
        reply_clear(&r);
        return code;
}

static void bounds(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{\"ttl\": \"off\", \"spot\": \"off\"}", id);
        world_run(&w, MIN);
        tap_int(change(&w, "root",
                        "{\"settings\": {\"ttl\": \"12h\"}, \"bounds\": {\"ttl\": {\"min\": \"1h\", \"max\": \"1d\"}}}",
                        NULL),
                PD_OK, "P-23 an administrator bounds a key, with a value inside");
        tap_str(of_job(&w, id, "ttl"), "1d (bound by root)",
                "P-23 a running job's value from before counts as the bound");
        tap_int((long long)world_job_int(&w, id, "ttl_us"), 24 * HOUR, "P-01 and is its time limit now");
        tap_int(submit(&w, "{\"flag\": {\"ttl\": \"25h\"}}", "flag: ttl: \"25h\" is above the bound that root set"),
                PD_E_REFUSED, "P-23 a flag outside is refused by name");
        tap_int(submit(&w, "{\"file\": {\"ttl\": \"off\"}}", "portal.yaml: ttl"), PD_E_REFUSED,
                "P-23 portal.yaml, too");
        tap_int(submit(&w, "{\"flag\": {\"ttl\": \"24h\"}}", NULL), PD_OK, "P-23 the bound itself is inside");
        tap_int(change(&w, "ada", "{\"project\": \"ada\", \"settings\": {\"ttl\": \"30m\"}}", "below the bound"),
                PD_E_REFUSED, "P-23 Settings of a project, too");
        tap_int(change(&w, "root", "{\"settings\": {\"ttl\": \"2d\"}}", "above the bound"), PD_E_REFUSED,
                "P-23 everybody's, too");
        tap_int(change(&w, "root", "{\"bounds\": {\"spot\": {\"lock\": true}}}", NULL), PD_OK, "P-23 and locks one");
        tap_str(of_job(&w, id, "spot"), "on (built-in, locked by root)", "P-23 a lock holds for a running job's flag");
        tap_int(submit(&w, "{\"flag\": {\"spot\": \"off\"}}", "locked by root"), PD_E_REFUSED,
                "P-23 a locked key is refused in a flag, and who locked it is said");
        tap_int(submit(&w, "{\"file\": {\"spot\": \"on\"}}", "locked by root"), PD_E_REFUSED,
                "P-23 and in portal.yaml");
        tap_int(change(&w, "ada", "{\"project\": \"ada\", \"settings\": {\"spot\": \"off\"}}", "locked by root"),
                PD_E_REFUSED, "P-23 and in a project's Settings");
        tap_str(row(&w, "", "ttl", "max"), "1d", "settings show the bound");
        tap_int(world_restart(&w), 0, "a restart");
        world_run(&w, MIN);
        tap_str(of_job(&w, id, "spot"), "on (built-in, locked by root)", "S-01 locks outlive it");
        tap_int(change(&w, "root", "{\"bounds\": {\"spot\": {\"lock\": false}, \"ttl\": null}}", NULL), PD_OK,
                "both are taken away");
        tap_str(of_job(&w, id, "spot"), "off (flag)", "P-23 and the job goes by its own again");
        tap_str(of_job(&w, id, "ttl"), "off (flag)", "P-23 its time limit, too");
        end(&w);
}

static void at_once(void)
{
        struct world w;
        struct reply r;
        char id[40], other[40];
        pd_cleanup(freep) char *text = NULL;

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_submit(&w, "{}", other);
        world_run(&w, 3 * HOUR);
        world_ask(&w, "suspend", other, json_pack("{s:i}", "wait_ms", 20000), NULL, &r);
        reply_clear(&r);
        tap_int(change(&w, "root", "{\"settings\": {\"ttl\": \"6h\"}}", NULL), PD_OK, "a new ttl for everybody");
        tap_int((long long)world_job_int(&w, id, "ttl_us"), 6 * HOUR, "P-23 P-01 is a running job's at once");
        tap_ok(world_job_int(&w, other, "ttl_wall_us") < w.wall_us + 3 * HOUR,
                "P-23 P-02 and moves a suspended job's deadline");
        world_ask(&w, "explain", id, NULL, NULL, &r);
        text = js_dump(r.body);
        tap_has(text, "ttl is 6h from now on (settings)", "P-22 explain says so");
        reply_clear(&r);
        world_run(&w, 2 * HOUR + 55 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-01 it runs up to it");
        world_run(&w, 10 * MIN);
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 and no longer");
        tap_str(world_job(&w, other, "cause"), "ttl", "P-02 the suspended one ends by it as well");
        end(&w);
}

/* The runner acts by its standing orders with portald gone: it must have heard of the new ones. */
static void orders(void)
{
        struct world w;
        char id[40];

        if (!begin(&w))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, HOUR);
        tap_int(change(&w, "root", "{\"settings\": {\"ttl\": \"100h\"}}", NULL), PD_OK, "a longer ttl for everybody");
        world_run(&w, 90 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-23 P-01 a runner's standing orders are longer at once, too");
        world_run(&w, 11 * HOUR);
        tap_str(world_job(&w, id, "cause"), "ttl", "P-01 and end it then");
        end(&w);
}

int main(void)
{
        orders();
        precedence();
        site_edited();
        refusals();
        bounds();
        at_once();
        return tap_done();
}
