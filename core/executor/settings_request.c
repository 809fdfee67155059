/* SPDX-License-Identifier: Apache-2.0 */
/* The API's view of Settings: who may see and write which, what is refused, and the rows that a person reads. */
#include "executor/settings.h"

/* --- who --- */
static int may(const struct engine_ticket *t, const char *project, bool write, struct pd_error *err)
{
        if (t->actor.admin || (!*project && !write))
                return 0;
        if (!*project)
                return pd_fail(err, PD_E_PERM,
                        "only administrators may change everybody's settings: your own project's are changed with "
                        "--project %s",
                        t->user);
        if (streq(project, t->user))
                return 0;
        return pd_fail(err, PD_E_PERM,
                "project \"%.64s\" is not yours: user %.64s and administrators may %s its settings", project, project,
                write ? "change" : "see");
}

static int check_project(const char *project, struct pd_error *err)
{
        if (strlen(project) <= 64 && project[0] != '!')
                return 0;
        return pd_fail(err, PD_E_INVALID,
                "\"%.70s\" is no project: a project is named by a job's `project`, or its user", project);
}

static int check_key(const char *key, struct pd_error *err)
{
        return setting_find(key) ? 0 : setting_check(key, "", err);
}

/* --- reading --- */
static void add_text(json_t *o, const char *key, const char *text)
{
        if (text)
                (void)json_object_set_new(o, key, json_string(text));
}

static json_t *row_json(const struct setting_row *row, const struct settings_layers *l, bool project, json_t *origins)
{
        const json_t *o = json_object_get(origins, row->key), *bound = json_object_get(l->bounds, row->key);
        json_t *v = json_pack("{s:s,s:s,s:s,s:s,s:s}", "key", row->key, "value", js_str(o, "value", ""), "origin",
                js_str(o, "origin", ""), "default", row->fallback, "help", row->help);

        add_text(v, "choices", row->type == SPEC_BOOL ? "on|off" : row->choices);
        add_text(v, "set", js_str(project ? l->project : l->installation, row->key, NULL));
        add_text(v, "min", js_str(bound, "min", NULL));
        add_text(v, "max", js_str(bound, "max", NULL));
        if (js_bool(bound, "lock", false))
                (void)json_object_set_new(v, "locked", json_true());
        add_text(v, "bound_by", js_str(bound, "by", NULL));
        return v;
}

/* What a job of the project that says nothing itself goes by. */
static int render(struct engine *e, const struct engine_ticket *t, const char *project, const char *key, json_t **ret,
        struct pd_error *err)
{
        pd_cleanup(settings_layers_freep) struct settings_layers l = { 0 };
        js_owned *origins = NULL;
        json_t *rows = json_array();
        struct settings unused;
        int r = settings_layers_read(e, project, &l, err);

        if (r >= 0)
                r = settings_of(e, project, NULL, false, &unused, &origins, err);
        for (size_t i = 0; r >= 0 && i < setting_rows_n; i++)
                if (!key || streq(key, setting_rows[i].key))
                        (void)json_array_append_new(rows, row_json(&setting_rows[i], &l, *project != '\0', origins));
        if (r < 0) {
                json_decref(rows);
                return r;
        }
        *ret = json_pack(
                "{s:s,s:b,s:o}", "project", project, "may_change", may(t, project, true, NULL) == 0, "settings", rows);
        return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for the settings");
}

void request_settings(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        const char *project = js_str(rq->args, "project", ""), *key = js_str(rq->args, "key", NULL);
        struct pd_error err;
        json_t *o = NULL;
        int r = check_project(project, &err);

        if (r >= 0)
                r = may(t, project, false, &err);
        if (r >= 0 && key)
                r = check_key(key, &err);
        if (r >= 0)
                r = render(e, t, project, key, &o, &err);
        ticket_reply(t, r < 0 ? &err : NULL, o);
}

/* --- writing --- */
struct change {
        const char *project;
        const json_t *settings;   /* key -> text, or null = unset       */
        const json_t *bounds;     /* key -> {"min","max","lock"} or null */
        struct settings_layers l; /* as they will be */
};

static void change_freep(struct change *c)
{
        settings_layers_freep(&c->l);
}

static int merge_settings(struct change *c, struct pd_error *err)
{
        json_t *layer = *c->project ? c->l.project : c->l.installation, *v;
        const char *key;
        int r = 0;

        json_object_foreach ((json_t *)(uintptr_t)c->settings, key, v) {
                const char *text = json_is_boolean(v) ? (json_is_true(v) ? "on" : "off") : json_string_value(v);

                if (json_is_null(v)) {
                        r = check_key(key, err);
                        (void)json_object_del(layer, key);
                } else if (!text) {
                        r = pd_fail(err, PD_E_INVALID,
                                "%.40s must be a text, or null to unset it: write the value in quotes", key);
                } else {
                        struct pd_error why;

                        r = setting_check(key, text, &why);
                        if (r < 0) {
                                (void)pd_fail(err, why.code, "%.40s: %s", key, why.text);
                                return pd_fail_subject(err, key);
                        }
                        (void)json_object_set_new(layer, key, json_string(text));
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static int merge_bound(json_t *bounds, const char *key, const json_t *said, const char *user, struct pd_error *err)
{
        static const char *const members[] = { "min", "max", "lock", NULL };
        json_t *old = json_object_get(bounds, key), *v;
        js_owned *bound = old ? json_copy(old) : json_object();
        const char *member;

        if (json_is_null(said)) {
                (void)json_object_del(bounds, key);
                return check_key(key, err);
        }
        if (!json_is_object(said) || !bound)
                return pd_fail(err, PD_E_INVALID, "bounds: %.40s must be an object of min, max and lock, or null", key);
        json_object_foreach ((json_t *)(uintptr_t)said, member, v) {
                if (!streq(member, "min") && !streq(member, "max") && !streq(member, "lock"))
                        return pd_fail(err, PD_E_INVALID, "bounds: %.40s: \"%.40s\" is unknown: did you mean \"%s\"?",
                                key, member, str_or(str_nearest(member, members), "min"));
                if (json_is_null(v) || json_is_false(v))
                        (void)json_object_del(bound, member);
                else if (streq(member, "lock") ? !json_is_true(v) : !json_is_string(v))
                        return pd_fail(err, PD_E_INVALID, "bounds: %.40s: %s must be %s", key, member,
                                streq(member, "lock") ? "true or false" : "a text");
                else
                        (void)json_object_set(bound, member, v);
        }
        (void)json_object_set_new(bound, "by", json_string(user));
        if (json_object_size(bound) == 1) {
                (void)json_object_del(bounds, key);
                return check_key(key, err);
        }
        (void)json_object_set(bounds, key, bound);
        return bound_check(key, bound, err);
}

static int merge_bounds(struct change *c, const char *user, struct pd_error *err)
{
        const char *key;
        json_t *v;
        int r;

        json_object_foreach ((json_t *)(uintptr_t)c->bounds, key, v) {
                r = merge_bound(c->l.bounds, key, v, user, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* As it will be: what everybody gets must lie inside of the bounds and fit together; a project's values too, and they may not touch a lock. */
static int judge(struct engine *e, const struct change *c, struct pd_error *err)
{
        const json_t *layers[SETTING_LEVEL_N] = { NULL };
        js_owned *merged = json_copy(c->l.installation), *origins = NULL;
        struct settings unused;
        const char *key;
        json_t *o;
        int r;

        if (*c->project) {
                json_object_foreach ((json_t *)(uintptr_t)c->settings, key, o) {
                        const char *text = json_is_null(o) ? NULL : js_str(c->l.project, key, NULL);

                        if (text && (r = bound_admit(c->l.bounds, key, text, true, err)) < 0)
                                return r;
                }
                (void)json_object_update(merged, c->l.project);
        }
        layers[SETTING_SITE] = e->site->settings;
        layers[SETTING_LIVE] = merged;
        r = settings_resolve(layers, &unused, &origins, err);
        if (r < 0 || *c->project)
                return r;
        json_object_foreach ((json_t *)(uintptr_t)c->settings, key, o)
                if (!json_is_null(o) && (r = bound_admit(c->l.bounds, key, js_str(merged, key, ""), false, err)) < 0)
                        return r;
        json_object_foreach (origins, key, o) {
                struct pd_error why;

                if (bound_admit(c->l.bounds, key, js_str(o, "value", ""), false, &why) < 0) {
                        (void)pd_fail(err, why.code, "%.180s; that is what everybody has (%s)", why.text,
                                js_str(o, "origin", ""));
                        return pd_fail_subject(err, key);
                }
        }
        return 0;
}

static void write_bounds(struct turn *t, const struct change *c)
{
        const char *key;
        json_t *v;

        json_object_foreach ((json_t *)(uintptr_t)c->bounds, key, v) {
                const json_t *bound = json_object_get(c->l.bounds, key);
                pd_cleanup(freep) char *text = bound ? js_dump(bound) : NULL;

                txn_setting(t->txn, SETTINGS_BOUNDS, key, text);
        }
}

static void write_settings(struct turn *t, const struct change *c)
{
        const json_t *layer = *c->project ? c->l.project : c->l.installation;
        const char *key;
        json_t *v;

        json_object_foreach ((json_t *)(uintptr_t)c->settings, key, v)
                txn_setting(t->txn, c->project, key, js_str(layer, key, NULL));
        settings_pending(t);
}

static void written(struct engine *e, void *arg)
{
        struct engine_ticket *t = arg;
        struct pd_error err;
        json_t *o = NULL;
        int r;

        settings_apply(e, false);
        r = render(e, t, js_str(t->hold, "project", ""), NULL, &o, &err);
        ticket_reply(t, r < 0 ? &err : NULL, o);
}

static void not_written(void *arg)
{
        struct pd_error err;

        (void)pd_fail(&err, PD_E_INTERNAL, "the settings could not be written to disk: nothing was changed");
        ticket_fail(arg, &err);
}

static int change_read(
        struct engine *e, const struct engine_ticket *t, const json_t *args, struct change *c, struct pd_error *err)
{
        int r;

        c->project = js_str(args, "project", "");
        c->settings = json_object_get(args, "settings");
        c->bounds = json_object_get(args, "bounds");
        r = check_project(c->project, err);
        if (r >= 0 && json_object_size(c->bounds) && !t->actor.admin)
                r = pd_fail(err, PD_E_PERM, "only administrators may bound or lock a setting");
        if (r >= 0 && json_object_size(c->bounds) && *c->project)
                r = pd_fail(err, PD_E_INVALID, "bounds and locks hold for everybody: leave --project out");
        if (r >= 0)
                r = may(t, c->project, true, err);
        if (r >= 0 && !json_object_size(c->settings) && !json_object_size(c->bounds))
                r = pd_fail(err, PD_E_INVALID, "nothing to change: give \"settings\" or \"bounds\"");
        if (r >= 0)
                r = settings_layers_read(e, c->project, &c->l, err);
        if (r >= 0)
                r = merge_settings(c, err);
        if (r >= 0)
                r = merge_bounds(c, t->user, err);
        return r < 0 ? r : judge(e, c, err);
}

void request_settings_change(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        pd_cleanup(change_freep) struct change c = { 0 };
        struct pd_error err;
        struct turn *turn = NULL;

        if (change_read(e, t, rq->args, &c, &err) < 0) {
                ticket_fail(t, &err);
                return;
        }
        t->hold = json_pack("{s:s}", "project", c.project);
        turn = t->hold ? turn_new(e) : NULL;
        if (!turn) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the settings");
                ticket_fail(t, &err);
                return;
        }
        write_settings(turn, &c);
        write_bounds(turn, &c);
        turn_after(turn, written, not_written, t);
        turn_end(turn);
}
