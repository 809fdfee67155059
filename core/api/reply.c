/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as libmicrohttpd wants them. */
#include "api/internal.h"

#include <inttypes.h>
#include <stdio.h>

static const char no_memory[] =
        "{\"error\":{\"code\":\"NOMEM\",\"text\":\"portald has no memory for this answer: try again later\","
        "\"subject\":\"\",\"provider_code\":\"\",\"retry_after_us\":1000000}}";

static void take(struct conn *c, unsigned status, struct MHD_Response *r, const char *type)
{
        if (c->response)
                MHD_destroy_response(c->response);
        c->response = r;
        c->status = status;
        if (!r)
                return;
        (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        if (c->over || c->api->closing)
                (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

static void reply_no_memory(struct conn *c)
{
        take(c, 500,
                MHD_create_response_from_buffer(
                        sizeof no_memory - 1, (void *)(uintptr_t)no_memory, MHD_RESPMEM_PERSISTENT),
                "application/json");
}

void reply_json(struct conn *c, unsigned status, const json_t *body)
{
        char *text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);
        struct MHD_Response *r = NULL;

        if (text)
                r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
        if (!r) {
                free(text);
                reply_no_memory(c);
                return;
        }
        take(c, status, r, "application/json");
}

void reply_text(struct conn *c, unsigned status, const char *type, const char *text)
{
        take(c, status, MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY),
                type);
        if (!c->response)
                reply_no_memory(c);
}

static void header_int(struct MHD_Response *r, const char *name, int64_t n)
{
        char text[24];

        (void)str_format(text, sizeof text, "%" PRId64, n);
        (void)MHD_add_response_header(r, name, text);
}

void reply_bytes(struct conn *c, const json_t *head, const void *blob, size_t n)
{
        int64_t offset = js_int(head, "offset", 0), next = js_int(head, "next", offset + (int64_t)n);

        take(c, 200, MHD_create_response_from_buffer(n, (void *)(uintptr_t)(blob ? blob : ""), MHD_RESPMEM_MUST_COPY),
                "application/octet-stream");
        if (!c->response) {
                reply_no_memory(c);
                return;
        }
        header_int(c->response, "X-Portal-Offset", offset);
        header_int(c->response, "X-Portal-Next", next);
        header_int(c->response, "X-Portal-Size", js_int(head, "size", next));
        header_int(c->response, "X-Portal-Eof", js_bool(head, "eof", false) ? 1 : 0);
}

void reply_error(struct conn *c, const struct pd_error *err, const json_t *extra, unsigned status)
{
        js_owned *body = api_error_json(err);

        status = status ? status : api_status_of(err->code);
        if (!body || (json_is_object(extra) && json_object_update_missing(body, (json_t *)(uintptr_t)extra) < 0)) {
                reply_no_memory(c);
                return;
        }
        reply_json(c, status, body);
        if (c->response && status == 503) {
                int64_t s = (err->retry_after_us + USEC_PER_SEC - 1) / USEC_PER_SEC;

                header_int(c->response, MHD_HTTP_HEADER_RETRY_AFTER, s > 0 ? s : 1);
        }
}

enum MHD_Result reply_send(struct conn *c)
{
        struct MHD_Response *r = pd_steal(c->response);
        enum MHD_Result ok;

        if (!r)
                return MHD_NO; /* no memory even for the sentence: closing is all that is left */
        ok = MHD_queue_response(c->mhd, c->status, r);
        MHD_destroy_response(r);
        return ok;
}
