/* SPDX-License-Identifier: Apache-2.0 */
/* `drop`: an expired checkpoint leaves the vault, its manifest first: from then on there is no checkpoint, only leftovers. */
#include "pack/pack.h"
#include "runner/chain.h"

#define DROP_US (5 * USEC_PER_MIN)

struct drop {
        struct chain c; /* first */
        struct client *client;
        uint64_t request;
        char checkpoint[ID_TEXT_MAX];
};

static int remove_object(struct chain *c, const char *object, struct pd_error *err)
{
        struct drop *d = (struct drop *)c;
        struct job *j = c->job;
        pd_cleanup(freep) char *name = path_fmt("%s/%s/%s", j->id, d->checkpoint, object);
        js_owned *args = json_pack("{s:s}", "name", str_or(name, ""));
        int r;

        if (!name || !args)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = capture_open(j, "vault", &j->vault, err)) < 0)
                return r;
        return chain_call_host(c, j->vault, "remove", args, NULL, 0, NULL, DROP_US, err);
}

static int step_manifest(struct chain *c, struct pd_error *err)
{
        return remove_object(c, "manifest.json", err);
}
static int step_payload(struct chain *c, struct pd_error *err)
{
        return remove_object(c, MANIFEST_PAYLOAD, err);
}
static int step_layer(struct chain *c, struct pd_error *err)
{
        return remove_object(c, MANIFEST_LAYER, err);
}

static const struct chain_step steps[] = {
        { "removing the manifest", step_manifest, NULL },
        { "removing the saved state", step_payload, NULL },
        { "removing the writable layer", step_layer, NULL },
};

static void on_done(struct chain *c, const struct pd_error *why)
{
        struct drop *d = (struct drop *)c;
        struct job *j = c->job;

        if (serve_client_there(j->r, d->client)) {
                if (why)
                        (void)conn_answer_error(d->client->conn, d->request, why, NULL);
                else
                        (void)conn_answer(d->client->conn, d->request, NULL, NULL, 0, NULL);
        }
        j->dropping = NULL;
        chain_clear(c);
        free(d);
}

int drop_begin(struct job *j, const char *checkpoint, struct client *c, uint64_t request, struct pd_error *err)
{
        struct drop *d;

        if (j->dropping)
                return pd_fail(err, PD_E_BUSY, "another checkpoint of %s is being removed: try again", j->id);
        if (j->saver && streq(js_str(j->save, "checkpoint", ""), checkpoint))
                return pd_fail(err, PD_E_CONFLICT, "%s is being written right now", checkpoint);
        if (!json_is_object(json_object_get(j->order, "vault")))
                return pd_fail(err, PD_E_UNSUPPORTED, "%s has no vault", j->id);
        d = calloc(1, sizeof *d);
        if (!d)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        *d = (struct drop){ .c = { .job = j, .steps = steps, .n = ARRAY_LEN(steps), .done = on_done },
                .client = c,
                .request = request };
        (void)str_format(d->checkpoint, sizeof d->checkpoint, "%s", checkpoint);
        j->dropping = &d->c;
        chain_begin(&d->c);
        return 0;
}
