/* SPDX-License-Identifier: Apache-2.0 */
/* What the API reads: nothing here changes a thing, but for a user's notice to a machine. */
#include "executor/request.h"

#define NOTICE_MAX_US USEC_PER_DAY

static const char *const conn_state_names[] = { "down", "reconciling", "ready" };

/* --- status, check --- */
static json_t *connections_json(const struct engine *e)
{
        json_t *list = json_array();

        vec_foreach (c, &e->connections) {
                int machines = 0;

                vec_foreach (m, &e->machines)
                        machines += (*m)->conn == *c;
                (void)json_array_append_new(
                        list, json_pack("{s:s,s:s,s:s,s:s,s:i}", "name", (*c)->name, "provider", (*c)->provider,
                                      "state", conn_state_names[(*c)->state], "why", (*c)->why, "machines", machines));
        }
        return list;
}

void request_status(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        int counts[JOB_STATE_N] = { 0 };
        json_t *jobs = json_object();

        (void)rq;
        for (size_t i = 0; i < e->slots_n; i++)
                if (e->slots[i])
                        counts[e->slots[i]->job.state]++;
        for (unsigned int s = 0; s < JOB_STATE_N; s++)
                if (counts[s] && s != JOB_ENDED)
                        (void)json_object_set_new(jobs, job_state_name((enum job_state)s), json_integer(counts[s]));
        ticket_reply(t, NULL,
                json_pack("{s:s,s:s,s:I,s:I,s:o,s:o,s:s,s:b}", "version", e->site->version, "installation",
                        store_installation(e->env->store), "started_wall_us", (json_int_t)e->started_wall_us,
                        "now_wall_us", (json_int_t)now_wall(e), "jobs", jobs, "connections", connections_json(e),
                        "user", t->user, "admin", t->actor.admin));
}

static void line(json_t *lines, const char *name, const char *result, const char *text, const char *fix)
{
        (void)json_array_append_new(
                lines, json_pack("{s:s,s:s,s:s,s:s}", "name", name, "result", result, "text", text, "fix", fix));
}

static void check_machine(json_t *lines, const struct mach *m)
{
        const char *name;
        char title[192];
        size_t i;
        json_t *v;

        machine_offer_name(m, title, sizeof title);
        if (!m->up) {
                line(lines, title, "fail", m->why, "is portal-runner running there? `systemctl status portal-runner`");
                return;
        }
        line(lines, title, "ok", "reached", "");
        json_object_foreach (json_object_get(m->caps, "captures"), name, v) {
                char text[300];

                (void)str_format(text, sizeof text, "checkpoint \"%s\": %s", name,
                        js_bool(v, "usable", false) ? "usable" : js_str(v, "why", ""));
                line(lines, title, js_bool(v, "usable", false) ? "ok" : "warn", text, "");
        }
        json_object_foreach (json_object_get(m->caps, "limits"), name, v)
                if (!json_is_true(v)) {
                        char text[160];

                        (void)str_format(text, sizeof text, "a %s limit cannot be enforced there", name);
                        line(lines, title, "warn", text,
                                "boot with the cgroup v2 controllers enabled (systemd.unified_cgroup_hierarchy=1)");
                }
        json_array_foreach (json_object_get(m->caps, "notes"), i, v)
                line(lines, title, "warn", json_string_value(v) ? json_string_value(v) : "", "");
}

void request_check(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        json_t *lines = json_array();

        (void)rq;
        line(lines, "store", e->broken ? "fail" : "ok",
                e->broken ? "writing failed: portald restarts itself" : "writes are on disk before they are answered",
                e->broken ? "look at the journal and the disk" : "");
        if (!e->connections.n)
                line(lines, "connections", "fail", "the site config has none",
                        "add a block to connections: { lab: { provider = \"local\"; }; };");
        vec_foreach (c, &e->connections)
                line(lines, (*c)->name, (*c)->state == CONN_READY ? "ok" : "fail",
                        (*c)->state == CONN_READY ? "reconciled" : (*c)->why,
                        (*c)->state == CONN_READY ? "" : "it is tried again by itself; the text says what to mend");
        vec_foreach (m, &e->machines)
                if ((*m)->rec.state != PD_MACHINE_GONE)
                        check_machine(lines, *m);
        if (!e->site->default_vault)
                line(lines, "vault", "fail", "no vault is configured: nothing can be saved",
                        "add vaults: { main: { ... }; }; to the config");
        ticket_reply(t, NULL, json_pack("{s:o}", "lines", lines));
}

/* --- jobs --- */
struct list_arg {
        struct engine *e;
        json_t *jobs;
        struct id last;
};

static int list_one(void *arg, const struct job *j, const json_t *doc)
{
        struct list_arg *l = arg;

        l->last = j->id;
        return json_array_append_new(l->jobs, render_job(l->e, j, doc)) < 0 ? -(int)PD_E_NOMEM : 0;
}

void request_list(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        bool everyone = t->actor.admin && streq(js_str(rq->args, "user", t->actor.admin ? "*" : ""), "*");
        struct store_filter f = { .uid = t->actor.uid,
                .only_uid = !everyone,
                .ended_too = js_bool(rq->args, "all", false) || js_int(rq->args, "all", 0) != 0,
                .name = js_str(rq->args, "name", NULL) };
        struct list_arg l = { .e = e, .jobs = json_array() };
        int64_t limit = js_int(rq->args, "limit", 200);
        char next[ID_TEXT_MAX];
        struct pd_error err;

        if (limit < 1 || limit > 1000) {
                (void)pd_fail(&err, PD_E_INVALID, "limit is %lld: it must lie from 1 to 1000", (long long)limit);
                json_decref(l.jobs);
                ticket_fail(t, &err);
                return;
        }
        f.limit = (size_t)limit;
        if (json_object_get(rq->args, "before"))
                (void)id_parse(ID_JOB, js_str(rq->args, "before", ""), &f.before);
        if (store_scan_jobs(e->env->store, &f, list_one, &l, &err) < 0) {
                json_decref(l.jobs);
                ticket_fail(t, &err);
                return;
        }
        ticket_reply(t, NULL,
                json_pack("{s:o,s:o}", "jobs", l.jobs, "next",
                        json_array_size(l.jobs) == f.limit ? json_string(id_format(ID_JOB, l.last, next))
                                                           : json_null()));
}

static int checkpoint_one(void *arg, const struct checkpoint *c)
{
        json_t *list = arg;
        char id[ID_TEXT_MAX];

        return json_array_append_new(
                       list, json_pack("{s:s,s:I,s:I,s:I,s:s,s:s,s:b}", "id", id_format(ID_CHECKPOINT, c->id, id),
                                     "generation", (json_int_t)c->generation, "bytes", (json_int_t)c->bytes, "wall_us",
                                     (json_int_t)c->wall_us, "progress", c->progress, "capture", c->capture, "dropped",
                                     c->dropped)) < 0
                       ? -(int)PD_E_NOMEM
                       : 0;
}

void request_show(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        js_owned *doc = NULL, *origins = NULL, *history = NULL;
        json_t *o, *checkpoints = json_array();
        struct settings set;
        struct pd_error err;
        struct job j;

        if (request_find(e, t, str_or(rq->target, ""), &t->job, &j, &err) < 0 ||
                job_load_spec(e, t->job, NULL, &set, &doc, &origins, &err) < 0 ||
                store_history(e->env->store, t->job, &history, &err) < 0 ||
                store_checkpoints(e->env->store, t->job, checkpoint_one, checkpoints, &err) < 0) {
                json_decref(checkpoints);
                ticket_fail(t, &err);
                return;
        }
        if (store_get_job(e->env->store, t->job, &j, &err) < 0) {
                json_decref(checkpoints);
                ticket_fail(t, &err);
                return;
        }
        o = render_job(e, &j, doc);
        waits_for(e, &j, o);
        (void)json_object_set(o, "spec", json_object_get(doc, "spec"));
        (void)json_object_set(o, "settings", origins);
        (void)json_object_set(o, "history", history);
        (void)json_object_set_new(o, "checkpoints", checkpoints);
        ticket_reply(t, NULL, o);
}

/* --- machines, offers, plugins --- */
/* Seen in one list of its provider: it has no record, and gets one when it is seen once more. */
static json_t *render_orphan(const struct connection *c, const struct orphan *o)
{
        return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:s,s:b,s:s,s:[]}", "id", "", "connection", c->name, "offer",
                c->name, "provider_id", o->provider_id, "state", "found", "own", 0, "stream", "down", "orphan", 1,
                "why", "carries our tag and is not in the store: it is ended when it is listed once more", "jobs");
}

void request_machines(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        bool orphans = js_bool(rq->args, "orphans", false);
        json_t *list = json_array();

        vec_foreach (m, &e->machines)
                if ((*m)->rec.state != PD_MACHINE_GONE && (!orphans || (*m)->orphan))
                        (void)json_array_append_new(list, render_machine(e, *m));
        vec_foreach (c, &e->connections)
                for (size_t i = 0; orphans && i < (*c)->orphans.n; i++)
                        (void)json_array_append_new(list, render_orphan(*c, &(*c)->orphans.at[i]));
        ticket_reply(t, NULL, json_pack("{s:o}", "machines", list));
}

static struct mach *machine_named(const struct engine *e, const char *text, struct pd_error *err)
{
        struct mach *found = NULL;

        vec_foreach (m, &e->machines) {
                char offer[192];

                machine_offer_name(*m, offer, sizeof offer);
                if ((*m)->rec.state == PD_MACHINE_GONE ||
                        !(id_matches(ID_MACHINE, (*m)->rec.id, text) || streq(offer, text) ||
                                streq((*m)->rec.connection, text)))
                        continue;
                if (found) {
                        (void)pd_fail(err, PD_E_CONFLICT,
                                "\"%s\" fits several machines: see `portal machines` and give more of the id", text);
                        return NULL;
                }
                found = *m;
        }
        if (!found)
                (void)pd_fail(err, PD_E_NOT_FOUND, "no machine \"%s\": see `portal machines`", text);
        return found;
}

static void noticed(struct engine *e, void *arg)
{
        struct engine_ticket *t = arg;
        struct mach *m = machine_find(e, t->job); /* the ticket's id names the machine here */

        ticket_reply(t, NULL, m ? render_machine(e, m) : json_object());
}

void request_notice(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        const char *in = js_str(rq->args, "in", "2m");
        struct pd_error err;
        struct turn *turn;
        struct mach *m;
        int64_t in_us = 0;
        int r = 0;

        m = machine_named(e, str_or(rq->target, ""), &err);
        if (!t->actor.admin)
                r = pd_fail(&err, PD_E_PERM, "only an administrator may give a machine notice");
        else if (!m)
                r = -(int)PD_E_NOT_FOUND;
        else if (!m->up)
                r = pd_fail(&err, PD_E_TRANSIENT, "its runner cannot be reached: %s", m->why);
        else
                r = duration_parse(in, &in_us, &err);
        if (r >= 0 && in_us > NOTICE_MAX_US)
                r = pd_fail(&err, PD_E_INVALID, "a notice of %s is too long: it must lie from 0s to 24h", in);
        turn = r >= 0 ? turn_new(e) : NULL;
        if (!turn) {
                ticket_fail(t, &err);
                return;
        }
        m->rec.notice_wall_us = turn->now_wall_us + in_us;
        txn_machine(turn->txn, &m->rec);
        if (!planted(PLANT_NOTICE_UNTOLD))
                (void)intent_open(turn, INTENT_NOTICE, NULL, m,
                        json_pack("{s:s,s:I,s:s}", "op", "notice", "in_us", (json_int_t)in_us, "source", "user"));
        t->job = m->rec.id;
        turn_after(turn, noticed, NULL, t);
        turn_end(turn);
}

static void plugin_line(json_t *list, const char *path, const char *kind, const char *name, const char *used_by,
        const char *state, const char *why, bool in_process)
{
        (void)json_array_append_new(
                list, json_pack("{s:s,s:s,s:s,s:[s],s:s,s:s,s:s}", "path", path, "kind", kind, "name", name, "used_by",
                              used_by, "isolation", in_process ? "none" : "process", "state", state, "error", why));
}

void request_plugins(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        const struct engine_site *s = e->site;
        json_t *list = json_array();

        (void)rq;
        vec_foreach (c, &e->connections)
                plugin_line(list, (*c)->plugin_path, "provider", (*c)->provider, (*c)->name,
                        (*c)->plugin ? "open" : "down", (*c)->why, (*c)->in_process);
        for (size_t i = 0; i < s->captures_n; i++)
                plugin_line(list, s->captures[i].plugin, "checkpoint", s->captures[i].name, "runners",
                        "on the machines", "", false);
        for (size_t i = 0; i < s->vaults_n; i++)
                plugin_line(
                        list, s->vaults[i].plugin, "vault", s->vaults[i].name, "runners", "on the machines", "", false);
        ticket_reply(t, NULL, json_pack("{s:o}", "plugins", list));
}
