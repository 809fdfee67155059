/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "runner/image.h"
#include "runner/serve.h"

/* A question to a plugin on behalf of a client who may be gone when the answer comes. */
struct question {
        struct runner *r;
        struct client *client;
        uint64_t request;
        struct host *host; /* its own, or NULL: the job's */
        json_t *answer;
        sd_event_source *soon;
        char capture[64];
};

static int on_question_end(sd_event_source *s, uint64_t usec, void *arg)
{
        struct question *q = arg;

        (void)s, (void)usec;
        sd_event_source_disable_unref(q->soon);
        q->host = host_free(q->host);
        json_decref(q->answer);
        free(q);
        return 0;
}

static void question_answer(struct question *q, json_t *body, const struct pd_error *why)
{
        if (serve_client_there(q->r, q->client)) {
                if (why)
                        (void)conn_answer_error(q->client->conn, q->request, why, NULL);
                else
                        (void)conn_answer(q->client->conn, q->request, body, NULL, 0, NULL);
        }
        json_decref(body);
        /* a plugin's process is not ended from inside its own answer */
        if (sd_event_add_time_relative(q->r->loop, &q->soon, CLOCK_BOOTTIME, 0, 1, on_question_end, q) < 0)
                log_error("no memory: a plugin's process stays");
}

static void on_prechecked(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct question *q = arg;
        json_t *body =
                json_pack("{s:b, s:s, s:o}", "usable", !err, "capture", q->capture, "values", capture_values(items));

        (void)ret, (void)text;
        if (err)
                (void)json_object_set_new(body, "error", js_from_error(err));
        question_answer(q, body, NULL);
}

int ask_precheck(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        js_owned *about = capture_container(a->job);
        struct question *q;
        int e;

        (void)ret;
        if (a->job->phase != PHASE_RUNNING)
                return pd_fail(err, PD_E_CONFLICT, "%s is %s: only a running job can be asked", a->job->id,
                        phase_text(a->job->phase));
        if ((e = capture_open(a->job, "capture", &a->job->capture, err)) < 0)
                return e;
        q = calloc(1, sizeof *q);
        if (!q || !about) {
                free(q);
                return pd_fail(err, PD_E_NOMEM, "no memory");
        }
        *q = (struct question){ .r = r, .client = a->client, .request = a->f->request };
        (void)str_format(
                q->capture, sizeof q->capture, "%s", js_str(json_object_get(a->job->order, "capture"), "name", ""));
        e = host_call(a->job->capture, "precheck", about, NULL, 0, NULL, SHORT_US, on_prechecked, q, err);
        if (e < 0)
                free(q);
        return e < 0 ? e : 1;
}

static void on_inspected(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct question *q = arg;

        (void)ret, (void)items, (void)text;
        question_answer(q, pd_steal(q->answer), err);
}

static json_t *inspect_warnings(struct runner *r)
{
        json_t *list = json_array();

        if (!r->cg.memory)
                (void)json_array_append_new(
                        list, json_string("this machine cannot enforce a memory limit: it has no memory controller"));
        if (!r->cg.cpu)
                (void)json_array_append_new(
                        list, json_string("this machine cannot enforce a CPU limit: it has no cpu controller"));
        return list;
}

int ask_inspect(struct runner *r, struct asked *a, json_t **ret, struct pd_error *err)
{
        const json_t *capture = json_object_get(a->body, "capture");
        const json_t *ref = json_object_get(a->body, "image");
        struct host_params p = { .name = js_str(capture, "name", "?"),
                .path = js_str(capture, "path", ""),
                .kind = PD_KIND_CHECKPOINT,
                .isolation = HOST_PROCESS,
                .program = r->cfg.plugin_host };
        struct question *q;
        json_t *image = NULL;
        int e = image_inspect(r, json_is_string(ref) ? json_string_value(ref) : js_str(ref, "ref", ""), &image, err);

        if (e < 0)
                return e;
        image = json_pack("{s:o, s:o}", "image", image, "warnings", inspect_warnings(r));
        if (!json_is_object(capture)) {
                *ret = image;
                return 0;
        }
        q = calloc(1, sizeof *q);
        if (!q || (e = host_open(&q->host, r->loop, &p, err)) < 0) {
                free(q);
                json_decref(image);
                return q ? e : pd_fail(err, PD_E_NOMEM, "no memory");
        }
        *q = (struct question){
                .r = r, .client = a->client, .request = a->f->request, .host = q->host, .answer = image
        };
        e = host_call(q->host, "probe", NULL, NULL, 0, NULL, SHORT_US, on_inspected, q, err);
        if (e == 0)
                return 1;
        (void)host_free(q->host);
        free(q);
        json_decref(image);
        return e;
}
