/* SPDX-License-Identifier: Apache-2.0 */
#include "api/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define MEMBERS_MAX 8

/* Does the path fit the pattern? The {id} segment goes to target (may be NULL) where it fits in there. */
static bool path_matches(const char *pattern, const char *path, char *target, bool *too_long)
{
        while (*pattern && *path) {
                if (*pattern == '{') {
                        size_t n = strcspn(path, "/");

                        if (n == 0)
                                return false;
                        *too_long = n > API_TARGET_MAX;
                        if (target && !*too_long) {
                                memcpy(target, path, n);
                                target[n] = '\0';
                        }
                        path += n;
                        pattern += strcspn(pattern, "/");
                } else if (*pattern++ != *path++) {
                        return false;
                }
        }
        return !*pattern && !*path;
}

const char *api_allowed(const char *path, char *buf, size_t n)
{
        bool too_long = false;
        size_t used = 0;

        buf[0] = '\0';
        for (size_t i = 0; i < api_routes_n; i++) {
                size_t m = strlen(api_routes[i].method);

                if (!path_matches(api_routes[i].pattern, path, NULL, &too_long) || used + m + 3 > n)
                        continue;
                used += (size_t)snprintf(buf + used, n - used, "%s%s", used ? ", " : "", api_routes[i].method);
        }
        return buf;
}

static int no_route(const char *method, const char *path, struct pd_error *err)
{
        const char *names[64];
        char allow[32];
        size_t n = 0;
        const char *near;

        if (*api_allowed(path, allow, sizeof allow))
                return pd_fail(err, PD_E_UNSUPPORTED, "%.16s is not for %.80s: it takes %s", method, path, allow);
        for (size_t i = 0; i < api_routes_n && n + 1 < ARRAY_LEN(names); i++)
                names[n++] = api_routes[i].pattern;
        names[n] = NULL;
        near = str_nearest(path, names);
        return pd_fail(err, PD_E_NOT_FOUND, "there is no path %.80s%s%s; /v1/openapi.json lists them all", path,
                near ? ": did you mean " : "", str_or(near, ""));
}

static int find(const char *method, const char *path, const struct api_route **ret, char *target, struct pd_error *err)
{
        bool too_long = false;

        for (size_t i = 0; i < api_routes_n; i++) {
                if (!streq(api_routes[i].method, method) ||
                        !path_matches(api_routes[i].pattern, path, target, &too_long))
                        continue;
                if (too_long)
                        return pd_fail(err, PD_E_INVALID,
                                "the id in the path is longer than %d bytes: give an id, a unique part of its "
                                "beginning, or a name",
                                API_TARGET_MAX);
                *ret = &api_routes[i];
                return 0;
        }
        return no_route(method, path, err);
}

int api_find_route(const char *method, const char *path, const struct api_route **ret, struct pd_error *err)
{
        return find(method, path, ret, NULL, err);
}

static const struct api_member *member_find(const struct api_member *list, size_t max, const char *name)
{
        for (size_t i = 0; i < max && list[i].type != API_T_END; i++)
                if (streq(list[i].name, name))
                        return &list[i];
        return NULL;
}

/* "unknown member" with the nearest of the known ones. */
static int unknown(const struct api_member *list, size_t max, const char *what, const char *name, const char *where,
        struct pd_error *err)
{
        const char *names[MEMBERS_MAX + 1] = { NULL };
        size_t n = 0;
        const char *near;

        for (; n < max && list[n].type != API_T_END; n++)
                names[n] = list[n].name;
        if (n == 0)
                return pd_fail(err, PD_E_INVALID, "%s \"%.64s\" is unknown: %s takes none", what, name, where);
        near = str_nearest(name, names);
        if (near)
                return pd_fail(err, PD_E_INVALID, "%s \"%.64s\" of %s is unknown: did you mean \"%s\"?", what, name,
                        where, near);
        return pd_fail(err, PD_E_INVALID, "%s \"%.64s\" of %s is unknown: it takes \"%s\"%s", what, name, where,
                names[0], n > 1 ? " and others, see /v1/openapi.json" : " only");
}

static bool text_to_int(const char *text, int64_t *ret)
{
        char *end;
        long long n;

        if (!*text || strspn(text, "0123456789") != strlen(text))
                return false;
        errno = 0;
        n = strtoll(text, &end, 10);
        if (errno || *end)
                return false;
        *ret = n;
        return true;
}

static int query_int(const struct api_member *m, const char *text, json_t **ret, struct pd_error *err)
{
        int64_t n;

        if (!text_to_int(text, &n) || n < m->min || n > m->max)
                return pd_fail(err, PD_E_INVALID,
                        "query member %s=%.40s must be a whole number from %" PRId64 " to %" PRId64, m->name, text,
                        m->min, m->max);
        *ret = json_integer(n);
        return 0;
}

static int query_value(const struct api_member *m, const char *text, json_t **ret, struct pd_error *err)
{
        size_t max = m->max ? (size_t)m->max : API_TEXT_MAX;

        if (m->type == API_T_INT)
                return query_int(m, text, ret, err);
        if (m->type == API_T_BOOL) {
                bool yes = streq(text, "1") || streq(text, "true");

                if (!yes && !streq(text, "0") && !streq(text, "false"))
                        return pd_fail(err, PD_E_INVALID, "query member %s=%.40s must be 1 or 0", m->name, text);
                *ret = json_boolean(yes);
                return 0;
        }
        if (strlen(text) > max)
                return pd_fail(err, PD_E_INVALID, "query member %s is longer than %zu bytes: shorten it", m->name, max);
        *ret = json_string(text);
        if (!*ret)
                return pd_fail(
                        err, PD_E_INVALID, "query member %s is not UTF-8: send it as UTF-8, percent-encoded", m->name);
        return 0;
}

static int read_query(const struct api_input *in, const struct api_route *route, json_t *args, struct pd_error *err)
{
        char where[96];

        (void)str_format(where, sizeof where, "%s %s", route->method, route->pattern);
        for (size_t i = 0; i < in->query_n; i++) {
                const char *name = in->query[i].name;
                const struct api_member *m = member_find(route->query, ARRAY_LEN(route->query), name);
                json_t *v = NULL;
                int r;

                if (!m)
                        return unknown(route->query, ARRAY_LEN(route->query), "query member", name, where, err);
                if (json_object_get(args, name))
                        return pd_fail(err, PD_E_INVALID, "query member \"%s\" is given twice: give it once", name);
                r = query_value(m, str_or(in->query[i].value, ""), &v, err);
                if (r < 0)
                        return r;
                if (json_object_set_new(args, name, v) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for the request");
        }
        return 0;
}

/* {"file": {key: text}, "flag": {...}}: the shape only; core/spec judges keys and values. */
static int check_layers(const json_t *v, struct pd_error *err)
{
        static const struct api_member layers[] = { { .name = "file", .type = API_T_OBJECT },
                { .name = "flag", .type = API_T_OBJECT } };
        const char *name, *key;
        json_t *layer, *text;

        if (!json_is_object(v))
                return pd_fail(
                        err, PD_E_INVALID, "body member \"settings\" must be an object with \"file\" and \"flag\"");
        json_object_foreach ((json_t *)(uintptr_t)v, name, layer) {
                if (!member_find(layers, ARRAY_LEN(layers), name))
                        return unknown(layers, ARRAY_LEN(layers), "member", name, "\"settings\"", err);
                if (!json_is_object(layer))
                        return pd_fail(err, PD_E_INVALID,
                                "body member \"settings.%s\" must be an object of key: \"text\"", name);
                json_object_foreach (layer, key, text) {
                        if (!json_is_string(text))
                                return pd_fail(err, PD_E_INVALID,
                                        "setting \"%.64s\" in \"settings.%s\" must be a string, as \"30m\"", key, name);
                }
        }
        return 0;
}

static int check_body_member(const struct api_member *m, const json_t *v, struct pd_error *err)
{
        switch (m->type) {
        case API_T_BOOL:
                if (!json_is_boolean(v))
                        return pd_fail(err, PD_E_INVALID, "body member \"%s\" must be true or false", m->name);
                return 0;
        case API_T_INT: {
                int64_t n = json_is_integer(v) ? (int64_t)json_integer_value(v) : m->min - 1;

                if (n < m->min || n > m->max)
                        return pd_fail(err, PD_E_INVALID,
                                "body member \"%s\" must be a whole number from %" PRId64 " to %" PRId64, m->name,
                                m->min, m->max);
                return 0;
        }
        case API_T_TEXT: {
                size_t max = m->max ? (size_t)m->max : API_TEXT_MAX;

                if (!json_is_string(v) || json_string_length(v) > max)
                        return pd_fail(err, PD_E_INVALID,
                                "body member \"%s\" must be a string of at most %zu bytes (%s)", m->name, max, m->help);
                return 0;
        }
        case API_T_LAYERS:
                return check_layers(v, err);
        case API_T_OBJECT:
                if (!json_is_object(v))
                        return pd_fail(err, PD_E_INVALID, "body member \"%s\" must be an object", m->name);
                return 0;
        case API_T_END:
                break;
        }
        return pd_fail(err, PD_E_INTERNAL, "the route table has a member without a type");
}

static int check_body(const struct api_route *route, const json_t *body, struct pd_error *err)
{
        const char *name;
        json_t *v;
        char where[96];

        (void)str_format(where, sizeof where, "%s %s", route->method, route->pattern);
        json_object_foreach ((json_t *)(uintptr_t)body, name, v) {
                const struct api_member *m = member_find(route->body, ARRAY_LEN(route->body), name);
                int r = m ? check_body_member(m, v, err)
                          : unknown(route->body, ARRAY_LEN(route->body), "body member", name, where, err);

                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ARRAY_LEN(route->body) && route->body[i].type != API_T_END; i++)
                if (route->body[i].needed && !json_object_get(body, route->body[i].name))
                        return pd_fail(err, PD_E_INVALID, "the body of %s lacks \"%s\": %s", where, route->body[i].name,
                                route->body[i].help);
        return 0;
}

static int read_body(const struct api_input *in, const struct api_route *route, json_t **ret, struct pd_error *err)
{
        js_owned *body = NULL;
        int r;

        if (in->body_n > 0 && streq(in->method, "GET"))
                return pd_fail(err, PD_E_INVALID, "GET %s takes no body: use the query", route->pattern);
        if (in->body_n > 0) {
                r = js_parse(in->body, in->body_n, &body, err);
                if (r < 0)
                        return r;
                if (!json_is_object(body))
                        return pd_fail(err, PD_E_INVALID, "the body of %s %s must be a JSON object", route->method,
                                route->pattern);
        } else if (!(body = json_object())) {
                return pd_fail(err, PD_E_NOMEM, "no memory for the request");
        }
        r = check_body(route, body, err);
        if (r < 0)
                return r;
        *ret = pd_steal(body);
        return 0;
}

static int check_key(const char *key, struct pd_error *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
        size_t n = strlen(key);

        if (n < 1 || n > API_KEY_MAX || strspn(key, letters) != n)
                return pd_fail(err, PD_E_INVALID,
                        "Idempotency-Key \"%.70s\" must be 1 to %d of the characters A-Z a-z 0-9 _ -", key,
                        API_KEY_MAX);
        return 0;
}

/* A dry run is another verb, and not a member that the engine would see. */
static void choose_verb(struct api_request *rq)
{
        rq->verb = rq->route->verb;
        rq->status = rq->route->status ? rq->route->status : 200;
        if (!rq->route->dry_verb)
                return;
        if (js_bool(rq->args, "dry_run", false)) {
                rq->verb = rq->route->dry_verb;
                rq->status = 200;
        }
        (void)json_object_del(rq->args, "dry_run");
}

int api_parse_request(const struct api_input *in, struct api_request *ret, struct pd_error *err)
{
        struct api_request rq = { 0 };
        js_owned *args = NULL;
        int r = find(in->method, in->path, &rq.route, rq.target, err);

        if (!rq.route)
                return r;
        r = read_body(in, rq.route, &args, err);
        if (r < 0)
                return r;
        r = read_query(in, rq.route, args, err);
        if (r < 0)
                return r;
        if (in->key && streq(in->method, "POST")) {
                r = check_key(in->key, err);
                if (r < 0)
                        return r;
                (void)str_format(rq.key, sizeof rq.key, "%s", in->key);
        }
        rq.args = pd_steal(args);
        choose_verb(&rq);
        *ret = rq;
        return 0;
}

void api_request_clear(struct api_request *rq)
{
        json_decref(rq->args);
        *rq = (struct api_request){ 0 };
}
