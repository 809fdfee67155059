/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asks of the engine, and waits for. */
#include <stdio.h>
#include <stdlib.h>

#include "simulate/parts.h"

struct asked {
        struct reply *ret; /* NULL = who asked has gone on: the daemon died, or took too long */
};

static void on_reply(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        struct asked *a = arg;

        (void)blob;
        (void)n;
        if (!a->ret) {
                json_decref(body);
                free(a);
                return;
        }
        a->ret->done = true;
        if (err)
                a->ret->err = *err;
        a->ret->body = body;
}

void reply_clear(struct reply *r)
{
        json_decref(r->body);
        *r = (struct reply){ 0 };
}

void world_ask(struct world *w, const char *verb, const char *target, json_t *args, const char *key, struct reply *ret)
{
        js_owned *given = args ? args : json_object();
        const struct engine_request rq = { .verb = verb,
                .actor = { .uid = 1000, .user = "ada", .admin = true },
                .target = target,
                .args = given,
                .key = key };
        struct asked *a = malloc(sizeof *a);

        if (!a)
                abort();
        *ret = (struct reply){ 0 };
        a->ret = ret;
        (void)engine_request(w->engine, &rq, on_reply, a);
        world_settle(w);
        for (int i = 0; i < 600 && !ret->done && !w->fatal.code && !w->dying; i++)
                world_run(w, 100 * USEC_PER_MSEC);
        if (ret->done)
                free(a);
        else
                a->ret = NULL;
}

void world_submit(struct world *w, const char *settings, char id[40])
{
        json_error_t e;
        json_t *set = json_loads(settings, 0, &e);
        struct reply r;

        id[0] = '\0';
        world_ask(w, "submit", NULL,
                json_pack("{s:{s:s,s:[s,s]},s:o}", "spec", "image", "oci:/srv/images/debian", "command", "train", "x",
                        "settings", json_pack("{s:o}", "flag", set ? set : json_object())),
                NULL, &r);
        if (r.err.code)
                printf("# submit: %s\n", r.err.text);
        (void)str_format(id, 40, "%s", js_str(json_object_get(r.body, "job"), "id", ""));
        reply_clear(&r);
}

const char *world_job(struct world *w, const char *id, const char *member)
{
        static char ring[8][512];
        static unsigned int at;
        char *buf = ring[at++ % 8];
        struct reply r;

        world_ask(w, "show", id, NULL, NULL, &r);
        (void)str_format(buf, sizeof ring[0], "%s", r.err.code ? r.err.text : js_str(r.body, member, ""));
        reply_clear(&r);
        return buf;
}

int64_t world_job_int(struct world *w, const char *id, const char *member)
{
        struct reply r;
        int64_t v;

        world_ask(w, "show", id, NULL, NULL, &r);
        v = js_int(r.body, member, INT64_MIN);
        reply_clear(&r);
        return v;
}
