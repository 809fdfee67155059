/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_engine.h"

#include <stdio.h>

#include "base/id.h"

struct engine_ticket {
        struct engine_ticket *next;
        engine_reply_fn reply;
        void *arg;
};
struct engine_watch {
        struct engine *engine;
        engine_watch_fn fn;
        void *arg;
};

static void reply_now(struct engine *e, engine_reply_fn reply, void *arg)
{
        if (e->fail) {
                struct pd_error err;

                (void)pd_fail(&err, e->fail, "%s", e->fail_text ? e->fail_text : "scripted");
                err.retry_after_us = e->retry_after_us;
                reply(arg, &err, json_incref(e->body), NULL, 0);
                return;
        }
        reply(arg, NULL,
                e->body ? json_incref(e->body)
                        : json_pack("{s:s,s:s,s:O}", "verb", e->verb, "target", e->target, "args", e->args),
                e->blob, e->blob_n);
}

struct engine_ticket *engine_request(
        struct engine *e, const struct engine_request *rq, engine_reply_fn reply, void *arg)
{
        struct engine_ticket *t, **at;

        e->requests++;
        (void)snprintf(e->verb, sizeof e->verb, "%s", rq->verb);
        (void)snprintf(e->target, sizeof e->target, "%s", rq->target ? rq->target : "");
        (void)snprintf(e->key, sizeof e->key, "%s", rq->key ? rq->key : "");
        (void)snprintf(e->user, sizeof e->user, "%s", rq->actor.user);
        e->uid = rq->actor.uid;
        e->admin = rq->actor.admin;
        json_decref(e->args);
        e->args = rq->args ? json_deep_copy(rq->args) : json_object();
        if (!e->hold && !(e->wait_holds && js_int(rq->args, "wait_ms", 0) > 0)) {
                reply_now(e, reply, arg);
                return NULL;
        }
        t = calloc(1, sizeof *t);
        if (!t)
                abort();
        *t = (struct engine_ticket){ .reply = reply, .arg = arg };
        for (at = &e->held; *at; at = &(*at)->next)
                ;
        *at = t;
        return t;
}

void engine_request_cancel(struct engine *e, struct engine_ticket *t)
{
        for (struct engine_ticket **at = &e->held; *at; at = &(*at)->next)
                if (*at == t) {
                        *at = t->next;
                        free(t);
                        e->cancelled++;
                        return;
                }
        abort(); /* cancelled twice, or never asked */
}

void engine_fake_release(struct engine *e)
{
        while (e->held) {
                struct engine_ticket *t = e->held;

                e->held = t->next;
                reply_now(e, t->reply, t->arg);
                free(t);
        }
}

size_t engine_fake_held(const struct engine *e)
{
        size_t n = 0;

        for (const struct engine_ticket *t = e->held; t; t = t->next)
                n++;
        return n;
}

struct engine_watch *engine_watch_new(struct engine *e, engine_watch_fn fn, void *arg)
{
        struct engine_watch *w = calloc(1, sizeof *w);

        if (!w || e->watch)
                abort();
        *w = (struct engine_watch){ e, fn, arg };
        e->watch = w;
        e->watches++;
        return w;
}

void engine_watch_free(struct engine_watch *w)
{
        if (!w)
                return;
        w->engine->watch = NULL;
        free(w);
}

void engine_fake_change(struct engine *e, const char *job, uint32_t uid, json_t *job_json)
{
        struct id id;

        if (e->watch && id_parse(ID_JOB, job, &id))
                e->watch->fn(e->watch->arg, id, uid, job_json);
        json_decref(job_json);
}

void engine_fake_clear(struct engine *e)
{
        json_decref(e->args);
        *e = (struct engine){ 0 };
}
