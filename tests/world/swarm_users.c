/* SPDX-License-Identifier: Apache-2.0 */
/* The users of a swarm: what they ask for, and what they were answered. */
#include "base/quantity.h"
#include "world/swarm_parts.h"

static void law_16(struct swarm *s, const struct ask *a, const struct pd_error *err, const char *job)
{
        for (size_t i = 0; i < SWARM_KEYS; i++) {
                if (!streq(s->keys[i].key, a->key))
                        continue;
                s->o.held[16]++;
                if (streq(s->keys[i].body, a->body) ? !err && *s->keys[i].job && !streq(s->keys[i].job, job)
                                                    : !err && *s->keys[i].job)
                        oracle_broken(&s->o, 16, "key %s gave %s and then %s", a->key, s->keys[i].job, job);
                if (!err && !*s->keys[i].job)
                        (void)str_format(s->keys[i].job, sizeof s->keys[i].job, "%s", job);
                return;
        }
}

static void on_reply(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        struct ask *a = arg;
        struct swarm *s = a->s;
        const char *id = js_str(json_object_get(body, "job"), "id", "");

        (void)blob;
        (void)n;
        if (!s->w.dying) {
                oracle_log(&s->o, "<- %s %d %s%s", a->verb, err ? (int)err->code : 0, *id ? id + 22 : "",
                        err ? err->text : "");
                if (streq(a->verb, "submit") && !err) {
                        struct oracle_job *j = oracle_job(&s->o, id);

                        if (j && !j->acked) {
                                j->acked = true;
                                memcpy(j->on, a->on, sizeof j->on);
                                j->no_spot = a->no_spot;
                                j->ttl_keep_us = a->ttl_keep_us;
                                j->idle_after_us = a->idle_after_us;
                        }
                }
                if (*a->key)
                        law_16(s, a, err, id);
        }
        json_decref(body);
        s->asks[a->at] = NULL;
        free(a);
}

static int64_t as_span(const char *text, int64_t otherwise)
{
        int64_t us;
        struct pd_error err;

        return text && duration_parse(text, &us, &err) >= 0 ? us : otherwise;
}

static void ask(struct swarm *s, const char *verb, const char *target, json_t *args, const char *key, const char *body)
{
        const json_t *flags = json_object_get(json_object_get(args, "settings"), "flag");
        js_owned *given = args ? args : json_object();
        const struct engine_request rq = { .verb = verb,
                .actor = { .uid = 1000, .user = "ada", .admin = true },
                .target = target,
                .args = given,
                .key = key };
        struct ask *a;
        size_t at = 0;

        while (at < ARRAY_LEN(s->asks) && s->asks[at])
                at++;
        if (at == ARRAY_LEN(s->asks)) {
                oracle_broken(&s->o, 21, "64 requests wait for their answer");
                return;
        }
        a = calloc(1, sizeof *a);
        if (!a)
                abort();
        a->s = s;
        a->at = at;
        (void)str_format(a->verb, sizeof a->verb, "%s", verb);
        (void)str_format(a->key, sizeof a->key, "%s", key ? key : "");
        (void)str_format(a->body, sizeof a->body, "%s", body ? body : "");
        a->ttl_keep_us = as_span(js_str(flags, "ttl.keep", NULL), 7 * USEC_PER_DAY);
        a->idle_after_us = as_span(js_str(flags, "idle.after", NULL), 30 * USEC_PER_MIN);
        (void)str_format(a->on, sizeof a->on, "%s", js_str(json_object_get(args, "spec"), "on", ""));
        a->no_spot = streq(js_str(flags, "spot.use", ""), "off");
        s->asks[at] = a;
        oracle_log(&s->o, "ask %s %s", verb, target && strlen(target) > 22 ? target + 22 : "");
        (void)engine_request(s->w.engine, &rq, on_reply, a);
}

static const char *one_of(struct swarm *s, const char *const *list, size_t n)
{
        return list[swarm_dice(s, n)];
}

static void set(json_t *o, const char *key, const char *value)
{
        if (value)
                (void)json_object_set_new(o, key, json_string(value));
}

static json_t *settings(struct swarm *s)
{
        static const char *const ttl[] = { NULL, NULL, "30m", "2h", "8h", "1d", "5d", "off", "off" };
        static const char *const keep[] = { NULL, NULL, "1h", "1d", "10d" };
        static const char *const ttl_keep[] = { NULL, NULL, "1h", "2d" };
        static const char *const idle[] = { NULL, NULL, "off" };
        static const char *const after[] = { NULL, NULL, "10m", "2h" };
        static const char *const spot[] = { NULL, NULL, NULL, "off" };
        static const char *const deadline[] = { NULL, NULL, "30s", "2m" };
        static const char *const budget[] = { NULL, NULL, NULL, NULL, "0.05usd", "0.5usd", "5usd" };
        static const char *const action[] = { NULL, NULL, "stop" };
        static const char *const expect[] = { NULL, NULL, "2h", "3d" };
        json_t *o = json_object();

        set(o, "ttl", one_of(s, ttl, ARRAY_LEN(ttl)));
        set(o, "checkpoint.keep", one_of(s, keep, ARRAY_LEN(keep)));
        set(o, "ttl.keep", one_of(s, ttl_keep, ARRAY_LEN(ttl_keep)));
        set(o, "idle", one_of(s, idle, ARRAY_LEN(idle)));
        set(o, "idle.after", one_of(s, after, ARRAY_LEN(after)));
        set(o, "spot", one_of(s, spot, ARRAY_LEN(spot)));
        set(o, "spot.use", one_of(s, spot, ARRAY_LEN(spot)));
        set(o, "budget", one_of(s, budget, ARRAY_LEN(budget)));
        set(o, "budget.action", one_of(s, action, ARRAY_LEN(action)));
        set(o, "cheaper", one_of(s, spot, ARRAY_LEN(spot)));
        set(o, "return", one_of(s, spot, ARRAY_LEN(spot)));
        set(o, "expect", one_of(s, expect, ARRAY_LEN(expect)));
        set(o, "save.deadline", one_of(s, deadline, ARRAY_LEN(deadline)));
        return o;
}

/* Where it may run: mostly anywhere, at times one connection, at times one offer and no other. */
static const char *place(struct swarm *s)
{
        static const char *const places[] = { NULL, NULL, NULL, "lab", "east", "east", "west", "west", "north",
                "lab/here/host", "east/sim-a/small", "east/sim-a/small/spot", "west/sim-a/small/spot" };
        const char *at = one_of(s, places, ARRAY_LEN(places));
        char name[49];

        (void)str_format(name, sizeof name, "%.*s", at ? (int)strcspn(at, "/") : 0, at ? at : "");
        for (size_t i = 0; at && i < s->w.site_connections.n; i++)
                if (streq(s->w.site_connections.at[i].name, name))
                        return at;
        return NULL;
}

static bool place_is_said(const json_t *args)
{
        return json_is_string(json_object_get(json_object_get(args, "spec"), "on"));
}

static void submit(struct swarm *s)
{
        static const char *const cpus[] = { "500m", "1", "1", "2", "4", "8" };
        json_t *set_of = settings(s), *args;
        char key[16] = "", body[8] = "";

        s->submitted++;
        if (swarm_percent(s, 30)) { /* a key, at times one that was used, at times with another body */
                size_t at = swarm_dice(s, SWARM_KEYS);

                (void)str_format(key, sizeof key, "key-%zu", at);
                (void)str_format(body, sizeof body, "b%d", swarm_percent(s, 15) ? 1 : 0);
                if (!*s->keys[at].key) {
                        (void)str_format(s->keys[at].key, sizeof s->keys[at].key, "%s", key);
                        (void)str_format(s->keys[at].body, sizeof s->keys[at].body, "%s", body);
                }
                (void)json_object_clear(set_of);
        }
        args = json_pack("{s:{s:s,s:[s,s],s:s,s:s,s:s?},s:{s:o}}", "spec", "image", "oci:/srv/images/debian", "command",
                "train", *body ? body : "x", "cpus", *key ? "1" : one_of(s, cpus, ARRAY_LEN(cpus)), "memory", "1GiB",
                "on", *key ? NULL : place(s), "settings", "flag", set_of);
        if (!place_is_said(args))
                (void)json_object_del(json_object_get(args, "spec"), "on");
        ask(s, "submit", NULL, args, *key ? key : NULL, body);
}

static struct oracle_job *any_job(struct swarm *s, const char *state)
{
        size_t from = s->o.jobs_n ? swarm_dice(s, s->o.jobs_n) : 0;

        if (s->racing && s->last_job < s->o.jobs_n && swarm_percent(s, 70))
                return &s->o.jobs[s->last_job];
        for (size_t i = 0; i < s->o.jobs_n; i++) {
                struct oracle_job *j = &s->o.jobs[(from + i) % s->o.jobs_n];

                if (j->known && (!*state || streq(j->state, state))) {
                        s->last_job = (from + i) % s->o.jobs_n;
                        return j;
                }
        }
        s->last_job = from;
        return s->o.jobs_n ? &s->o.jobs[from] : NULL;
}

static json_t *may_wait(struct swarm *s)
{
        return swarm_percent(s, 50) ? json_pack("{s:i}", "wait_ms", (int)swarm_dice(s, 20000)) : json_object();
}

static void act_on(struct swarm *s, uint64_t what)
{
        struct oracle_job *j;

        if (what < 22) {
                j = any_job(s, swarm_percent(s, 80) ? "running" : "");
                if (j)
                        j->asked_suspend = true, ask(s, "suspend", j->id, may_wait(s), NULL, NULL);
        } else if (what < 50) {
                j = any_job(s, swarm_percent(s, 80) ? "suspended" : "");
                if (j) {
                        json_t *args = may_wait(s);

                        if (swarm_percent(s, 10))
                                (void)json_object_set_new(args, "fresh", json_true());
                        j->rests = false;
                        ask(s, "resume", j->id, args, NULL, NULL);
                }
        } else if (what < 60) {
                j = any_job(s, swarm_percent(s, 70) ? "running" : "");
                if (j)
                        j->asked_stop = true,
                        ask(s, "stop", j->id, json_pack("{s:b}", "force", swarm_percent(s, 30)), NULL, NULL);
        } else if (what < 64) {
                static const char *const where[] = { NULL, "lab", "lab2", "east", "west", "east/sim-a/small/spot" };
                const char *on = one_of(s, where, ARRAY_LEN(where));

                j = any_job(s, swarm_percent(s, 90) ? "running" : "");
                if (j)
                        j->asked_move = true,
                        ask(s, "move", j->id, on ? json_pack("{s:s}", "on", on) : json_object(), NULL, NULL);
        } else if (what < 68) {
                j = any_job(s, "running");
                if (j)
                        ask(s, "precheck", j->id, NULL, NULL, NULL);
        } else if (what < 72) {
                s->o.any_notice = true;
                ask(s, "notice", "lab", json_pack("{s:s}", "in", swarm_percent(s, 50) ? "2m" : "30s"), NULL, NULL);
        } else {
                static const char *const reads[] = { "show", "explain", "logs" };

                j = any_job(s, "");
                if (j)
                        ask(s, reads[swarm_dice(s, 3)], j->id, NULL, NULL, NULL);
        }
}

/* In the quiet week: who waits for a place that there is not gives up. */
void swarm_give_up(struct swarm *s)
{
        oracle_refresh(&s->o);
        for (size_t i = 0; i < s->o.jobs_n; i++)
                if (streq(s->o.jobs[i].state, "queued")) {
                        if (!*s->o.jobs[i].on)
                                oracle_broken(&s->o, 23, "%s still waits after five quiet days, and may run anywhere",
                                        s->o.jobs[i].id);
                        s->o.jobs[i].asked_stop = true;
                        ask(s, "stop", s->o.jobs[i].id, NULL, NULL, NULL);
                }
}

void swarm_user(struct swarm *s)
{
        uint64_t left = s->jobs_wanted > s->o.jobs_n ? s->jobs_wanted - s->o.jobs_n : 0;

        if (s->w.engine && !s->w.dying) {
                if (left && swarm_percent(s, s->submitted < 3 ? 100 : 30))
                        submit(s);
                else
                        act_on(s, swarm_dice(s, 90));
        }
        s->racing = swarm_percent(s, 40);
        s->act_boot_us = s->w.boot_us + (s->racing ? (int64_t)swarm_dice(s, 4 * USEC_PER_SEC)
                                                   : swarm_span(s, USEC_PER_SEC, s->run->days * USEC_PER_DAY / 45));
}
