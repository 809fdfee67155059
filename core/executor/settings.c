/* SPDX-License-Identifier: Apache-2.0 */
/* Settings at run time (P-23): the five places of a job's settings under the administrators' bounds, and what follows at once when one of the
 * live places (site config, Settings) changes. */
#include "executor/settings.h"

#include "base/log.h"

static void layers_clear(struct settings_layers *l)
{
        json_decref(l->installation);
        json_decref(l->project);
        json_decref(l->bounds);
}

/* In the store a bound is the JSON text of its object. */
static int bounds_read(struct engine *e, json_t **ret, struct pd_error *err)
{
        js_owned *texts = NULL, *bounds = json_object();
        const char *key;
        json_t *text;
        int r = store_settings(e->env->store, SETTINGS_BOUNDS, &texts, err);

        json_object_foreach (texts, key, text) {
                const char *s = str_or(json_string_value(text), "");
                json_t *bound = NULL;

                if (js_parse(s, strlen(s), &bound, err) < 0 || json_object_set_new(bounds, key, bound) < 0)
                        return pd_fail(err, PD_E_CORRUPT, "the bound of %.40s in the store cannot be read", key);
        }
        if (r >= 0)
                *ret = pd_steal(bounds);
        return r;
}

int settings_layers_read(struct engine *e, const char *project, struct settings_layers *ret, struct pd_error *err)
{
        struct settings_layers l = { 0 };
        int r = store_settings(e->env->store, "", &l.installation, err);

        if (r >= 0 && *project)
                r = store_settings(e->env->store, project, &l.project, err);
        if (r >= 0)
                r = bounds_read(e, &l.bounds, err);
        if (r < 0) {
                layers_clear(&l);
                return r;
        }
        *ret = l;
        return 0;
}

void settings_layers_freep(struct settings_layers *l)
{
        layers_clear(l);
}

int settings_of(struct engine *e, const char *project, const json_t *said, bool admit, struct settings *ret,
        json_t **ret_origins, struct pd_error *err)
{
        pd_cleanup(settings_layers_freep) struct settings_layers l = { 0 };
        struct setting_sources from = { .site = e->site->settings,
                .file = json_object_get(said, "file"),
                .flag = json_object_get(said, "flag"),
                .built_in = &e->built_in };
        const json_t *strict[SETTING_LEVEL_N] = { NULL };
        int r = settings_layers_read(e, project, &l, err);

        if (r < 0)
                return r;
        from.installation = l.installation;
        from.project = l.project;
        from.bounds = l.bounds;
        if (admit) {
                strict[SETTING_FILE] = from.file;
                strict[SETTING_FLAG] = from.flag;
                r = settings_resolve(strict, ret, NULL, err); /* what they say together */
                if (r >= 0)
                        r = bound_admit_layer(from.bounds, from.file, setting_level_name(SETTING_FILE), err);
                if (r >= 0)
                        r = bound_admit_layer(from.bounds, from.flag, setting_level_name(SETTING_FLAG), err);
        }
        return r < 0 ? r : settings_confine(&from, ret, ret_origins, err);
}

/* --- at once --- */
static bool orders_differ(const struct settings *a, const struct settings *b)
{
        return a->ttl_us != b->ttl_us || a->spot != b->spot || a->stop_grace_us != b->stop_grace_us ||
               a->save_deadline_us != b->save_deadline_us;
}

/* Its runner, which acts on them with portald gone too, hears of the new ones. */
static void orders_tell(struct turn *t, struct entry *en, const struct settings *s)
{
        int64_t left = en->job.ttl_us == SETTING_OFF ? 0 : en->job.ttl_us - job_ran_us(t->engine, &en->job);
        char job[ID_TEXT_MAX];

        (void)intent_open(t, INTENT_ORDERS, en, en->live->machine,
                json_pack("{s:s,s:s,s:{s:o,s:b,s:I,s:I}}", "op", "orders", "job", id_format(ID_JOB, en->job.id, job),
                        "orders", "ttl_left_us",
                        en->job.ttl_us == SETTING_OFF ? json_null() : json_integer(left > 0 ? left : 0), "on_notice",
                        s->spot, "stop_grace_us", (json_int_t)s->stop_grace_us, "save_deadline_us",
                        (json_int_t)s->save_deadline_us));
}

static void ttl_changes(struct turn *t, struct entry *en, const struct settings *s, const char *origin)
{
        struct job after = en->job;
        char now[QUANTITY_MAX], why[160];

        after.ttl_us = s->ttl_us;
        if (after.state == JOB_SUSPENDED || (after.flags & JOB_FLAG_RESUMED))
                after.ttl_wall_us = s->ttl_us == SETTING_OFF ? 0 : after.term_wall_us + s->ttl_us;
        after.flags &= (uint8_t) ~(JOB_FLAG_TOLD_DAY | JOB_FLAG_TOLD_HOURS);
        job_touch(t, en, after, NULL);
        (void)str_format(why, sizeof why, "ttl is %s from now on (%s)",
                s->ttl_us == SETTING_OFF ? "off" : duration_format(s->ttl_us, now), origin);
        act_decision(t, en->job.id, "settings", "change", why, NULL, NULL);
}

static void apply_to(struct turn *t, struct entry *en, bool afresh)
{
        js_owned *origins = NULL;
        struct settings s;
        struct pd_error err;
        bool orders;

        if (job_load_spec(t->engine, en->job.id, NULL, &s, NULL, &origins, &err) < 0) {
                log_error("a job's settings cannot be read, it goes by those that it had: %s", err.text);
                return;
        }
        orders = en->live && (afresh || orders_differ(&en->live->settings, &s));
        if (en->live)
                en->live->settings = s;
        if (s.ttl_us != en->job.ttl_us)
                ttl_changes(t, en, &s, js_str(json_object_get(origins, "ttl"), "origin", "settings"));
        else if (!orders)
                return;
        if (orders)
                orders_tell(t, en, &s);
}

#define JOBS_A_TURN 256 /* many jobs are few transactions */
#define META_SITE "site_settings"
#define META_PENDING "settings_pending"

void settings_pending(struct turn *t)
{
        txn_meta(t->txn, META_PENDING, "1");
}

/* Did the site's settings, or everybody's, change without having been applied (a restart with another config, a death in between)? */
bool settings_are_stale(struct engine *e)
{
        pd_cleanup(freep) char *now = e->site->settings ? js_dump(e->site->settings) : strdup("{}");
        pd_cleanup(freep) char *then = NULL;
        pd_cleanup(freep) char *pending = NULL;
        struct pd_error err;

        if (store_get_meta(e->env->store, META_SITE, &then, &err) < 0 ||
                store_get_meta(e->env->store, META_PENDING, &pending, &err) < 0)
                return true;
        return !now || !then || !streq(now, then) || (pending && streq(pending, "1"));
}

void settings_apply(struct engine *e, bool afresh)
{
        pd_cleanup(freep) char *site = e->site->settings ? js_dump(e->site->settings) : strdup("{}");
        struct turn *t = NULL;
        size_t n = 0;

        for (size_t i = 0; i < e->slots_n; i++) {
                struct entry *en = e->slots[i];

                if (!en || en->job.state == JOB_ENDED)
                        continue;
                if (!t && !(t = turn_new(e)))
                        return;
                apply_to(t, en, afresh);
                jobs_due(e, en, now_boot(e));
                if (++n % JOBS_A_TURN == 0) {
                        turn_end(t);
                        t = NULL;
                }
        }
        if (!t && !(t = turn_new(e)))
                return;
        if (site)
                txn_meta(t->txn, META_SITE, site);
        txn_meta(t->txn, META_PENDING, "0");
        turn_end(t);
        jobs_arm(e);
}
