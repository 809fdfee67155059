/* SPDX-License-Identifier: Apache-2.0 */
/* The interface described by the tables that it is made of: routes here, job fields and settings in core/spec, states in spec/life.h. */
#include "api/api.h"
#include "api/parse.h"

#include <stdio.h>

#include "spec/life.h"
#include "spec/spec.h"

/* Adds to an object or array and owns the value; one flag at the end says whether anything failed. */
static void put(json_t *o, const char *key, json_t *v, bool *bad)
{
        if (json_object_set_new(o, key, v) < 0)
                *bad = true;
}
static void push(json_t *a, json_t *v, bool *bad)
{
        if (json_array_append_new(a, v) < 0)
                *bad = true;
}

static json_t *text_schema(const char *help)
{
        return json_pack("{s:s,s:s}", "type", "string", "description", help);
}

static json_t *choices_schema(const char *choices, const char *help)
{
        json_t *s = text_schema(help), *list = json_array();
        bool bad = false;

        for (const char *at = choices; *at; at += strcspn(at, "|"), at += *at == '|')
                push(list, json_stringn(at, strcspn(at, "|")), &bad);
        if (json_object_set_new(s, "enum", list) < 0 || bad)
                return json_decref(s), NULL;
        return s;
}

/* How a field of the job looks in JSON. Every quantity is a string with its unit. */
static json_t *field_schema(const struct spec_field *f)
{
        switch (f->type) {
        case SPEC_BOOL:
                return json_pack("{s:s,s:s}", "type", "boolean", "description", f->help);
        case SPEC_INT:
                return json_pack("{s:s,s:I,s:I,s:s}", "type", "integer", "minimum", (json_int_t)f->min, "maximum",
                        (json_int_t)(f->max ? f->max : INT64_MAX), "description", f->help);
        case SPEC_CHOICE:
                return choices_schema(str_or(f->choices, ""), f->help);
        case SPEC_ARGV:
        case SPEC_MOUNTS:
                return json_pack(
                        "{s:s,s:{s:s},s:s}", "type", "array", "items", "type", "string", "description", f->help);
        case SPEC_ENV:
        case SPEC_SETTINGS:
                return json_pack("{s:s,s:{s:s},s:s}", "type", "object", "additionalProperties", "type", "string",
                        "description", f->help);
        case SPEC_TAGS:
                return json_pack("{s:s,s:s}", "type", "object", "description", f->help);
        case SPEC_CHECKPOINT:
                return json_pack(
                        "{s:[{s:s},{s:s}],s:s}", "oneOf", "type", "string", "type", "object", "description", f->help);
        case SPEC_STRING:
        case SPEC_NAME:
        case SPEC_DURATION:
        case SPEC_SIZE:
        case SPEC_CPU:
        case SPEC_MONEY:
        case SPEC_PERCENT:
        case SPEC_OFFER:
        case SPEC_IMAGE:
        case SPEC_PATH:
        case SPEC_TYPE_N:
                break;
        }
        return text_schema(f->help);
}

static json_t *spec_schema(bool *bad)
{
        json_t *fields = json_object();

        for (size_t i = 0; i < spec_fields_n; i++)
                put(fields, spec_fields[i].name, field_schema(&spec_fields[i]), bad);
        return json_pack("{s:s,s:[s],s:b,s:o}", "type", "object", "required", "command", "additionalProperties", 0,
                "properties", fields);
}

static json_t *settings_schema(bool *bad)
{
        json_t *keys = json_object();

        for (size_t i = 0; i < setting_rows_n; i++) {
                const struct setting_row *row = &setting_rows[i];
                json_t *s = row->choices ? choices_schema(row->choices, row->help) : text_schema(row->help);

                put(s, "default", json_string(str_or(row->fallback, "")), bad);
                put(keys, row->key, s, bad);
        }
        return json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0, "properties", keys);
}

#define NAME_OF(name_, text_, ...) text_,
static json_t *enum_schema(const char *const *names, size_t n, bool *bad)
{
        json_t *list = json_array();

        for (size_t i = 0; i < n; i++)
                push(list, json_string(names[i]), bad);
        return json_pack("{s:s,s:o}", "type", "string", "enum", list);
}

static json_t *job_schema(bool *bad)
{
        static const char *const states[] = { JOB_STATES(NAME_OF) };
        static const char *const results[] = { JOB_RESULTS(NAME_OF) };
        static const char *const causes[] = { JOB_CAUSES(NAME_OF) };
        json_t *p = json_object();

        put(p, "id", json_pack("{s:s}", "type", "string"), bad);
        put(p, "name", json_pack("{s:s}", "type", "string"), bad);
        put(p, "user", json_pack("{s:s}", "type", "string"), bad);
        put(p, "state", enum_schema(states, ARRAY_LEN(states), bad), bad);
        put(p, "result", enum_schema(results, ARRAY_LEN(results), bad), bad);
        put(p, "cause", enum_schema(causes, ARRAY_LEN(causes), bad), bad);
        put(p, "message", json_pack("{s:s}", "type", "string"), bad);
        put(p, "generation", json_pack("{s:s}", "type", "integer"), bad);
        return json_pack("{s:s,s:[s,s],s:o}", "type", "object", "required", "id", "state", "properties", p);
}

static json_t *error_schema(bool *bad)
{
        static const char *const codes[] = {
#define CODE_NAME(n_, name_, text_) #name_,
                PD_CODES(CODE_NAME)
#undef CODE_NAME
        };

        return json_pack("{s:s,s:[s],s:{s:{s:s,s:{s:o,s:{s:s},s:{s:s},s:{s:s},s:{s:s}}},s:{s:s}}}", "type", "object",
                "required", "error", "properties", "error", "type", "object", "properties", "code",
                enum_schema(codes, ARRAY_LEN(codes), bad), "text", "type", "string", "subject", "type", "string",
                "provider_code", "type", "string", "retry_after_us", "type", "integer", "faults", "type", "array");
}

static json_t *member_schema(const struct api_member *m, const char *owner)
{
        if (streq(owner, "POST /v1/jobs") && streq(m->name, "spec"))
                return json_pack("{s:s}", "$ref", "#/components/schemas/Spec");
        switch (m->type) {
        case API_T_BOOL:
                return json_pack("{s:s,s:s}", "type", "boolean", "description", m->help);
        case API_T_INT:
                return json_pack("{s:s,s:I,s:I,s:s}", "type", "integer", "minimum", (json_int_t)m->min, "maximum",
                        (json_int_t)m->max, "description", m->help);
        case API_T_OBJECT:
                return json_pack("{s:s,s:s}", "type", "object", "description", m->help);
        case API_T_LAYERS:
                return json_pack("{s:s,s:b,s:{s:{s:s},s:{s:s}}}", "type", "object", "additionalProperties", 0,
                        "properties", "file", "$ref", "#/components/schemas/Settings", "flag", "$ref",
                        "#/components/schemas/Settings");
        case API_T_TEXT:
        case API_T_END:
                break;
        }
        return json_pack("{s:s,s:I,s:s}", "type", "string", "maxLength", (json_int_t)(m->max ? m->max : API_TEXT_MAX),
                "description", m->help);
}

static json_t *parameters(const struct api_route *r, bool *bad)
{
        json_t *list = json_array();

        if (strchr(r->pattern, '{'))
                push(list,
                        json_pack("{s:s,s:s,s:b,s:{s:s,s:i},s:s}", "name", "id", "in", "path", "required", 1, "schema",
                                "type", "string", "maxLength", API_TARGET_MAX, "description",
                                "a whole id, a unique part of its beginning, or a name"),
                        bad);
        if (streq(r->method, "POST"))
                push(list,
                        json_pack("{s:s,s:s,s:{s:s,s:s}}", "name", "Idempotency-Key", "in", "header", "schema", "type",
                                "string", "pattern", "^[A-Za-z0-9_-]{1,64}$"),
                        bad);
        for (size_t i = 0; i < ARRAY_LEN(r->query) && r->query[i].type != API_T_END; i++)
                push(list,
                        json_pack("{s:s,s:s,s:o}", "name", r->query[i].name, "in", "query", "schema",
                                member_schema(&r->query[i], "")),
                        bad);
        return list;
}

static json_t *body_schema(const struct api_route *r, bool *bad)
{
        json_t *members = json_object(), *needed = json_array(), *schema;
        char owner[96];

        (void)str_format(owner, sizeof owner, "%s %s", r->method, r->pattern);
        for (size_t i = 0; i < ARRAY_LEN(r->body) && r->body[i].type != API_T_END; i++) {
                put(members, r->body[i].name, member_schema(&r->body[i], owner), bad);
                if (r->body[i].needed)
                        push(needed, json_string(r->body[i].name), bad);
        }
        schema = json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0, "properties", members);
        if (json_array_size(needed) > 0)
                put(schema, "required", needed, bad);
        else
                json_decref(needed);
        return json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema", schema);
}

static json_t *operation(const struct api_route *r, bool *bad)
{
        const char *type = r->bytes                   ? "application/octet-stream"
                           : r->handler == API_EVENTS ? "text/event-stream"
                                                      : "application/json";
        json_t *op = json_pack("{s:s,s:o,s:{}}", "summary", r->summary, "parameters", parameters(r, bad), "responses");
        char status[8];

        (void)str_format(status, sizeof status, "%u", r->status ? r->status : 200U);
        put(json_object_get(op, "responses"), status,
                json_pack("{s:s,s:{s:{}}}", "description", r->summary, "content", type), bad);
        put(json_object_get(op, "responses"), "default",
                json_pack("{s:s,s:{s:{s:{s:s}}}}", "description", "what was refused, and what to do", "content",
                        "application/json", "schema", "$ref", "#/components/schemas/Error"),
                bad);
        if (r->body[0].type != API_T_END)
                put(op, "requestBody", body_schema(r, bad), bad);
        return op;
}

static json_t *paths(bool *bad)
{
        json_t *all = json_object();

        for (size_t i = 0; i < api_routes_n; i++) {
                const struct api_route *r = &api_routes[i];
                json_t *path = json_object_get(all, r->pattern);

                if (!path) {
                        put(all, r->pattern, json_object(), bad);
                        path = json_object_get(all, r->pattern);
                }
                put(path,
                        streq(r->method, "GET")     ? "get"
                        : streq(r->method, "PATCH") ? "patch"
                                                    : "post",
                        operation(r, bad), bad);
        }
        return all;
}

int api_openapi(json_t **ret, struct pd_error *err)
{
        bool bad = false;
        js_owned *doc = json_pack("{s:s,s:{s:s,s:s},s:o,s:{s:{s:o,s:o,s:o,s:o}}}", "openapi", "3.0.3", "info", "title",
                "portald", "version", PORTALD_VERSION, "paths", paths(&bad), "components", "schemas", "Spec",
                spec_schema(&bad), "Settings", settings_schema(&bad), "Job", job_schema(&bad), "Error",
                error_schema(&bad));

        if (!doc || bad)
                return pd_fail(err, PD_E_NOMEM, "no memory for the description of the API");
        *ret = pd_steal(doc);
        return 0;
}
