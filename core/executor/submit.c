/* SPDX-License-Identifier: Apache-2.0 */
/* A job comes in: checked whole, planned, written, answered. */
#include "executor/request.h"

#include <gnutls/gnutls.h>
#include <gnutls/crypto.h>
#include <stdio.h>

#include "base/log.h"

#define SUBMITS_AHEAD 8192

/* What was asked for, checked. */
struct submission {
        struct spec *spec;
        struct settings settings;
        json_t *layers; /* {"file", "flag"}, borrowed from the request */
        json_t *faults;
        json_t *plan;
};

static void submission_clear(struct submission *s)
{
        spec_free(s->spec);
        json_decref(s->layers);
        json_decref(s->faults);
        json_decref(s->plan);
}

/* The spec's own `settings:` (portal.yaml's) is the file level, where the caller has not sent one. */
static json_t *layers_of(const json_t *args, const struct spec *s)
{
        const json_t *given = json_object_get(args, "settings");
        json_t *file = json_object(), *flag = json_object();

        if (s->settings)
                (void)json_object_update(file, s->settings);
        if (json_is_object(json_object_get(given, "file")))
                (void)json_object_update(file, json_object_get(given, "file"));
        if (json_is_object(json_object_get(given, "flag")))
                (void)json_object_update(flag, json_object_get(given, "flag"));
        return json_pack("{s:o,s:o}", "file", file, "flag", flag);
}

static const char *project_of(const struct spec *s, const struct engine_ticket *t)
{
        return s->project ? s->project : t->user;
}

static int submission_read(
        struct engine *e, struct engine_ticket *t, const json_t *args, struct submission *s, struct pd_error *err)
{
        const json_t *raw = json_object_get(args, "spec");
        int r;

        if (!json_is_object(raw))
                return pd_fail(err, PD_E_INVALID, "\"spec\" must be an object with at least \"image\" and \"command\"");
        r = spec_check(raw, &s->spec, &s->faults, err);
        if (r < 0)
                return r;
        if (!s->spec || !s->spec->image)
                return pd_fail(err, PD_E_INVALID,
                        "the job has no image: give --image oci:DIR, docker://NAME or dir:PATH, or image: in "
                        "portal.yaml");
        s->layers = layers_of(args, s->spec);
        r = settings_of(e, project_of(s->spec, t), s->layers, true, &s->settings, NULL, err);
        if (r < 0)
                return r;
        s->plan = place_plan(e, s->spec, &s->settings, err);
        return s->plan ? 0 : -(int)(err->code ? err->code : PD_E_INTERNAL);
}

/* --- the record --- */
/* "python3-7f3k" for a job that was given no name: its command and the end of its id. */
static void name_of(const struct spec *s, struct id id, char *buf, size_t n)
{
        const char *base = strrchr(s->command[0], '/');
        char text[ID_TEXT_MAX], word[33];
        size_t w = 0;

        if (s->name) {
                (void)str_format(buf, n, "%s", s->name);
                return;
        }
        for (base = base ? base + 1 : s->command[0]; *base && w < sizeof word - 1; base++)
                if ((*base >= 'a' && *base <= 'z') || (*base >= '0' && *base <= '9'))
                        word[w++] = *base;
        word[w] = '\0';
        (void)id_format(ID_JOB, id, text);
        (void)str_format(buf, n, "%s-%s", w ? word : "job", text + strlen(text) - 4);
}

static struct job job_of(struct engine *e, const struct engine_ticket *t, const struct submission *s, int64_t now)
{
        return (struct job){
                .id = engine_id(e),
                .state = JOB_QUEUED,
                .uid = t->actor.uid,
                .cpu_milli = s->spec->cpu_milli,
                .gpus = s->spec->gpus,
                .memory_bytes = s->spec->memory_bytes,
                .created_wall_us = now,
                .since_wall_us = now,
                .term_wall_us = now,
                .ttl_us = s->settings.ttl_us,
        };
}

struct submit_note {
        struct engine_ticket *ticket;
        json_t *plan;
        char key[65];
        uint32_t uid;
};

static void key_forget(struct engine *e, uint32_t uid, const char *key)
{
        for (struct pending_key **k = &e->keys; *k; k = &(*k)->next)
                if ((*k)->uid == uid && streq((*k)->key, key)) {
                        struct pending_key *gone = *k;

                        *k = gone->next;
                        free(gone);
                        return;
                }
}

static void submitted(struct engine *e, void *arg)
{
        struct submit_note *n = arg;
        struct pd_error err;
        json_t *job = render_job_by_id(e, n->ticket->job, &err);

        key_forget(e, n->uid, n->key);
        if (job)
                ticket_reply(n->ticket, NULL, json_pack("{s:o,s:o?}", "job", job, "plan", pd_steal(n->plan)));
        else
                ticket_fail(n->ticket, &err);
        json_decref(n->plan);
        free(n);
        place_soon(e);
}

static void submit_dropped(void *arg)
{
        struct submit_note *n = arg;
        struct pd_error err;

        (void)pd_fail(&err, PD_E_INTERNAL, "the job could not be written to disk: it was not taken");
        ticket_fail(n->ticket, &err);
        json_decref(n->plan);
        free(n);
}

static int write_job(struct engine *e, struct engine_ticket *t, const struct engine_request *rq, const char *digest,
        struct submission *s, struct pd_error *err)
{
        struct submit_note *n = calloc(1, sizeof *n);
        struct turn *turn = n ? turn_new(e) : NULL;
        js_owned *spec = spec_to_json(s->spec);
        pd_cleanup(freep) char *spec_text = spec ? js_dump(spec) : NULL;
        pd_cleanup(freep) char *layers_text = js_dump(s->layers);
        char name[80];
        struct entry *en;
        struct job j;

        if (!n || !turn || !spec_text || !layers_text) {
                if (turn)
                        turn_end(turn);
                free(n);
                return pd_fail(err, PD_E_NOMEM, "no memory for the job");
        }
        j = job_of(e, t, s, turn->now_wall_us);
        name_of(s->spec, j.id, name, sizeof name);
        en = jobs_add(e, &j);
        if (!en) {
                turn_end(turn);
                free(n);
                return pd_fail(err, PD_E_NOMEM, "no memory for the job");
        }
        txn_job(turn->txn, NULL, &j, EVENT_SUBMIT,
                &(struct job_doc){ .name = name,
                        .user = t->user,
                        .project = project_of(s->spec, t),
                        .spec = spec_text,
                        .settings = layers_text,
                        .offer = "",
                        .image_digest = "",
                        .trouble = "" },
                turn->now_wall_us, "waits for a place");
        if (rq->key)
                txn_idempotency(turn->txn, t->actor.uid, rq->key, digest, j.id, turn->now_wall_us);
        act_decision(turn, j.id, "user", "submit", "asked for", NULL, t->user);
        t->job = j.id;
        *n = (struct submit_note){ .ticket = t, .plan = pd_steal(s->plan), .uid = t->actor.uid };
        if (rq->key) {
                struct pending_key *k = calloc(1, sizeof *k);

                (void)str_format(n->key, sizeof n->key, "%s", rq->key);
                if (k) {
                        *k = (struct pending_key){ .next = e->keys, .uid = t->actor.uid, .job = j.id };
                        (void)str_format(k->key, sizeof k->key, "%s", rq->key);
                        (void)str_format(k->digest, sizeof k->digest, "%s", digest);
                        e->keys = k;
                }
        }
        turn_after(turn, submitted, submit_dropped, n);
        jobs_queue(e, en, true);
        turn_end(turn);
        return 0;
}

/* --- idempotency (law 16) --- */
static bool digest_of(const json_t *args, char ret[65])
{
        pd_cleanup(freep) char *text = js_dump(args);
        uint8_t raw[32];

        if (!text || gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), raw) < 0)
                return false;
        for (size_t i = 0; i < sizeof raw; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", raw[i]);
        return true;
}

struct again_note {
        struct engine_ticket *ticket;
};

static void answer_again(struct engine *e, void *arg)
{
        struct again_note *n = arg;
        struct pd_error err;
        json_t *job = render_job_by_id(e, n->ticket->job, &err);

        if (job)
                ticket_reply(n->ticket, NULL, json_pack("{s:o,s:n}", "job", job, "plan"));
        else
                ticket_fail(n->ticket, &err);
        free(n);
}

/* 1: the key is known and the ticket is taken care of; 0: a new one. */
static int seen_before(
        struct engine *e, struct engine_ticket *t, const char *key, const char *digest, struct pd_error *err)
{
        struct again_note *n;
        struct turn *turn;
        int r;

        t->job = (struct id){ { 0 } };
        for (const struct pending_key *k = e->keys; k; k = k->next)
                if (k->uid == t->actor.uid && streq(k->key, key)) {
                        if (!streq(k->digest, digest))
                                return pd_fail(err, PD_E_CONFLICT,
                                        "Idempotency-Key \"%s\" was used with another body just now", key);
                        t->job = k->job;
                }
        if (id_is_null(t->job)) {
                if (planted(PLANT_KEY_FORGOTTEN))
                        return 0;
                r = store_find_key(e->env->store, t->actor.uid, key, digest, &t->job, err);
                if (r < 0 || id_is_null(t->job))
                        return r;
        }
        n = calloc(1, sizeof *n);
        turn = n ? turn_new(e) : NULL;
        if (!turn) {
                free(n);
                return pd_fail(err, PD_E_NOMEM, "no memory for the request");
        }
        n->ticket = t;
        turn_after(turn, answer_again, free, n); /* after the one that made it is on disk */
        turn_end(turn);
        return 1;
}

void request_submit(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        bool dry =
                streq(rq->verb, "plan") || js_int(rq->args, "dry_run", 0) != 0 || js_bool(rq->args, "dry_run", false);
        struct submission s = { 0 };
        struct pd_error err = { .code = PD_OK };
        char digest[65] = "";
        int r = 0;

        if (!dry && request_disk_full(e, "no new job is taken", &err) < 0) {
                ticket_fail(t, &err);
                return;
        }
        if (!dry && store_queued(e->env->store) > SUBMITS_AHEAD) {
                (void)pd_fail(&err, PD_E_FULL,
                        "%zu changes wait for the disk: no new job is taken before they are written; try again in a "
                        "moment",
                        store_queued(e->env->store));
                err.retry_after_us = USEC_PER_SEC;
                ticket_fail(t, &err);
                return;
        }
        if (rq->key && !dry) {
                if (!digest_of(rq->args, digest))
                        r = pd_fail(&err, PD_E_NOMEM, "no memory for the request");
                else
                        r = seen_before(e, t, rq->key, digest, &err);
                if (r == 1)
                        return;
        }
        if (r >= 0)
                r = submission_read(e, t, rq->args, &s, &err);
        if (r >= 0 && !dry)
                r = write_job(e, t, rq, digest, &s, &err);
        if (r < 0)
                ticket_reply(t, &err, json_array_size(s.faults) ? json_pack("{s:O}", "faults", s.faults) : NULL);
        else if (dry)
                ticket_reply(t, NULL, json_pack("{s:O}", "plan", s.plan));
        submission_clear(&s);
}
