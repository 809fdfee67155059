/* SPDX-License-Identifier: Apache-2.0 */
/* One request: checked, handed to the engine, answered. */
#include "api/internal.h"

#include "spec/spec.h"

#define QUERY_MAX 32

struct pairs {
        struct api_pair at[QUERY_MAX];
        size_t n;
        bool full;
};

static enum MHD_Result add_pair(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct pairs *p = arg;

        (void)kind;
        if (p->n == QUERY_MAX) {
                p->full = true;
                return MHD_NO;
        }
        p->at[p->n++] = (struct api_pair){ name, value };
        return MHD_YES;
}

static int parse(struct conn *c, const char *url, const char *method, struct pd_error *err)
{
        struct pairs query = { .n = 0 };
        struct api_input in = {
                .method = method, .path = url, .query = query.at, .body = c->body, .body_n = c->body_n
        };

        (void)MHD_get_connection_values(c->mhd, MHD_GET_ARGUMENT_KIND, add_pair, &query);
        if (query.full)
                return pd_fail(err, PD_E_INVALID, "the query has more than %d members", QUERY_MAX);
        in.query_n = query.n;
        in.key = MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, "Idempotency-Key");
        return api_parse_request(&in, &c->rq, err);
}

/* The engine says that a job's text is wrong; the person wants every fault of it, with place and fix. Only on that path is the spec read twice. */
static json_t *faults_of(const struct conn *c, const struct pd_error *err, const json_t *body)
{
        struct pd_error ignored;
        struct spec *spec = NULL;
        json_t *faults = NULL;
        const json_t *raw = json_object_get(c->rq.args, "spec");

        if (err->code != PD_E_INVALID || !raw || json_object_get(body, "faults"))
                return NULL;
        (void)spec_check(raw, &spec, &faults, &ignored);
        spec_free(spec);
        if (json_array_size(faults) > 0)
                return json_pack("{s:o}", "faults", faults);
        json_decref(faults);
        return NULL;
}

static void answer(struct conn *c, const struct pd_error *err, const json_t *body, const void *blob, size_t blob_n)
{
        if (err && err->code != PD_OK) {
                js_owned *extra = faults_of(c, err, body);

                reply_error(c, err, extra ? extra : body, 0);
        } else if (c->rq.route->bytes) {
                reply_bytes(c, body, blob, blob_n);
        } else {
                reply_json(c, c->rq.status, body);
        }
}

/* engine_reply_fn. Perhaps from within engine_request(). */
static void on_reply(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t blob_n)
{
        struct conn *c = arg;
        js_owned *owned = body;

        c->ticket = NULL;
        c->replied = true;
        answer(c, err, owned, blob, blob_n);
        conn_resume(c);
}

static void ask_engine(struct conn *c)
{
        const struct engine_request rq = {
                .verb = c->rq.verb,
                .actor = { .uid = c->peer.uid, .user = c->peer.user, .admin = c->peer.admin },
                .target = *c->rq.target ? c->rq.target : NULL,
                .args = c->rq.args,
                .key = *c->rq.key ? c->rq.key : NULL,
        };
        int64_t wait_us = js_int(c->rq.args, "wait_ms", 0) * USEC_PER_MSEC;
        struct engine_ticket *t;

        c->replied = false;
        t = engine_request(c->api->engine, &rq, on_reply, c);
        if (c->replied)
                return;
        c->ticket = t;
        conn_phase(c, CONN_WAITING, API_REPLY_TIMEOUT_US + wait_us);
        conn_suspend(c);
        if (wait_us > 0)
                (void)conn_watch_hangup(c); /* without it, a client that left is noticed when the wait is over */
}

static void do_reload(struct conn *c)
{
        struct pd_error err = { 0 };
        js_owned *faults = NULL, *extra = NULL, *done = NULL;
        int r = c->api->reload ? c->api->reload(c->api->reload_arg, &faults, &err)
                               : pd_fail(&err, PD_E_UNSUPPORTED,
                                         "this daemon was started without a config file: there is nothing to reload");

        if (r < 0) {
                if (faults)
                        extra = json_pack("{s:O}", "faults", faults);
                reply_error(c, &err, extra, 0);
                return;
        }
        done = json_pack("{s:b}", "reloaded", 1);
        reply_json(c, 200, done);
}

static void do_openapi(struct conn *c)
{
        struct api *a = c->api;
        struct pd_error err = { 0 };

        if (!a->openapi) {
                js_owned *doc = NULL;

                if (api_openapi(&doc, &err) == 0 && !(a->openapi = json_dumps(doc, JSON_COMPACT)))
                        (void)pd_fail(&err, PD_E_NOMEM, "no memory for the description");
        }
        if (a->openapi)
                reply_text(c, 200, "application/json", a->openapi);
        else
                reply_error(c, &err, NULL, 0);
}

static int may_ask(struct conn *c, struct pd_error *err)
{
        if (c->over)
                return pd_fail(err, PD_E_FULL,
                        "portald serves %u connections at once, and at most half of them for one user: close some of "
                        "yours, or try again",
                        c->api->connections_max);
        if (c->peer.member)
                return 0;
        return pd_fail(err, PD_E_PERM,
                "user %s is not in group %s: an administrator can run `usermod -aG %s %s`; then log in again",
                c->peer.user, c->api->group_name, c->api->group_name, c->peer.user);
}

static int check_admin(const struct conn *c, struct pd_error *err)
{
        if (!c->rq.route->admin || c->peer.admin)
                return 0;
        return pd_fail(err, PD_E_PERM,
                "%s %s is for administrators, and user %s is none: root and the `admins` of the config are",
                c->rq.route->method, c->rq.route->pattern, c->peer.user);
}

/* 405 needs its Allow header, 413 its own status: both are known before the request is parsed. */
static bool refuse_early(struct conn *c, const char *url, const char *method)
{
        const struct api_route *route;
        struct pd_error err = { 0 };
        char allow[32];
        int r = may_ask(c, &err);

        if (r == 0 && c->too_big)
                r = pd_fail(&err, PD_E_INVALID,
                        "the body is larger than %d bytes: a job's spec is small; put data into the image or a mount",
                        API_BODY_MAX);
        else if (r == 0)
                r = api_find_route(method, url, &route, &err);
        if (r == 0)
                return false;
        reply_error(c, &err, NULL, c->too_big && err.code == PD_E_INVALID ? 413 : r == -PD_E_UNSUPPORTED ? 405 : 0);
        if (r == -PD_E_UNSUPPORTED && c->response)
                (void)MHD_add_response_header(
                        c->response, MHD_HTTP_HEADER_ALLOW, api_allowed(url, allow, sizeof allow));
        return true;
}

void exchange_start(struct conn *c, const char *url, const char *method)
{
        struct pd_error err = { 0 };
        int r;

        if (refuse_early(c, url, method))
                return;
        r = parse(c, url, method, &err);
        if (r == 0)
                r = check_admin(c, &err);
        if (r < 0) {
                reply_error(c, &err, NULL, 0);
                return;
        }
        switch (c->rq.route->handler) {
        case API_ENGINE:
                ask_engine(c);
                break;
        case API_OPENAPI:
                do_openapi(c);
                break;
        case API_RELOAD:
                do_reload(c);
                break;
        case API_EVENTS:
                events_start(c);
                break;
        }
}

void exchange_withdraw(struct conn *c)
{
        if (c->ticket)
                engine_request_cancel(c->api->engine, c->ticket);
        c->ticket = NULL;
}

void exchange_late(struct conn *c)
{
        struct pd_error err;

        exchange_withdraw(c);
        (void)pd_fail(&err, PD_E_DEADLINE,
                "portald did not answer within its own deadline; the request may still take effect: look with `portal "
                "ps`, and see `portal check`");
        reply_error(c, &err, NULL, 0);
        conn_resume(c);
}

void exchange_clear(struct conn *c)
{
        exchange_withdraw(c);
        events_clear(c);
        c->hangup = sd_event_source_disable_unref(c->hangup);
        api_request_clear(&c->rq);
        if (c->response)
                MHD_destroy_response(c->response);
        c->response = NULL;
        c->status = 0;
        c->begun = c->too_big = c->gone = c->replied = false;
        c->body_n = 0;
        if (c->body_room > 65536) {
                free(c->body);
                c->body = NULL;
                c->body_room = 0;
        }
}
