/* SPDX-License-Identifier: Apache-2.0 */
/* A request as core/api sees it once libmicrohttpd has decoded it: METHOD PATH, then a line for each query member ("name=value", or "name"),
 * one "!KEY" for the Idempotency-Key, an empty line, and the body. It gives a checked request, or a sentence that can be sent as JSON. */
#include "api/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define PAIRS 16

static void judge(const struct api_request *rq)
{
        bool asks = rq->route->handler == API_ENGINE;

        if (!json_is_object(rq->args) || (rq->verb != NULL) != asks || rq->status < 200 || rq->status > 299)
                abort();
        if (strchr(rq->route->pattern, '{') ? !*rq->target || strchr(rq->target, '/') : *rq->target)
                abort();
        for (size_t i = 0; i < ARRAY_LEN(rq->route->body) && rq->route->body[i].type != API_T_END; i++)
                if (rq->route->body[i].needed && !json_object_get(rq->args, rq->route->body[i].name))
                        abort();
        if (*rq->key &&
                strspn(rq->key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != strlen(rq->key))
                abort();
}

static void judge_error(const struct pd_error *err)
{
        js_owned *body = api_error_json(err);
        char *text = body ? js_dump(body) : NULL;

        if (!*err->text || !text || api_status_of(err->code) < 400)
                abort();
        free(text);
}

/* Takes a line off the head and ends it with NUL; NULL = the empty line, or nothing left. */
static char *line_of(char **at, char *end)
{
        char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));

        if (start == end)
                return NULL;
        stop = stop ? stop : end;
        *stop = '\0';
        *at = stop < end ? stop + 1 : end;
        return *start ? start : NULL;
}

static void read_head(char **at, char *end, struct api_input *in, struct api_pair pairs[PAIRS])
{
        char *line = line_of(at, end), *space = line ? strchr(line, ' ') : NULL;

        if (space) {
                *space = '\0';
                in->method = line;
                in->path = space + 1;
        }
        while ((line = line_of(at, end)) && in->query_n < PAIRS) {
                char *equals = strchr(line, '=');

                if (*line == '!') {
                        in->key = line + 1;
                        continue;
                }
                if (equals)
                        *equals = '\0';
                pairs[in->query_n++] = (struct api_pair){ line, equals ? equals + 1 : NULL };
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
        char *text = malloc(n + 1), *at = text;
        struct api_pair pairs[PAIRS];
        struct api_input in = { .method = "GET", .path = "/", .query = pairs };
        struct api_request rq = { 0 };
        struct pd_error err = { 0 };
        char *body = NULL;

        if (!text)
                return 0;
        memcpy(text, bytes, n);
        text[n] = '\0';
        read_head(&at, text + n, &in, pairs);
        in.body_n = (size_t)(text + n - at);
        body = malloc(in.body_n); /* of its own, so that one byte too far is seen */
        if (in.body_n && body)
                memcpy(body, at, in.body_n);
        in.body = body;
        if (api_parse_request(&in, &rq, &err) == 0)
                judge(&rq);
        else
                judge_error(&err);
        api_request_clear(&rq);
        free(body);
        free(text);
        return 0;
}
