/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked, as one table, and the check of a request against it. Pure: text in, values out; no socket, no clock. */
#ifndef API_PARSE_H
#define API_PARSE_H

#include "base/base.h"
#include "base/js.h"

enum api_type {
        API_T_END,    /* ends a member list                                  */
        API_T_BOOL,   /* query: 0, 1, true, false; body: true, false         */
        API_T_INT,    /* min..max                                            */
        API_T_TEXT,   /* max = bytes, 0 = API_TEXT_MAX                       */
        API_T_OBJECT, /* any object; its reader judges it                    */
        API_T_LAYERS, /* {"file": {key: text}, "flag": {key: text}}          */
};

#define API_TEXT_MAX 256
#define API_TARGET_MAX 128
#define API_KEY_MAX 64

struct api_member {
        const char *name;
        enum api_type type;
        int64_t min, max;
        bool needed;
        const char *help;
};

enum api_handler { API_ENGINE, API_OPENAPI, API_RELOAD, API_EVENTS };

struct api_route {
        const char *method;
        const char *pattern; /* segments; "{id}" takes one of any text                      */
        const char *verb;    /* engine_request.verb; with dry_run the other one             */
        const char *dry_verb;
        enum api_handler handler;
        bool admin;      /* administrators only                                         */
        bool bytes;      /* answers bytes with X-Portal headers, not JSON               */
        uint16_t status; /* of a success                                                */
        const char *summary;
        struct api_member query[8];
        struct api_member body[4];
};
extern const struct api_route api_routes[];
extern const size_t api_routes_n;

struct api_pair {
        const char *name, *value; /* decoded; value NULL = "name" without "=" */
};
struct api_input {
        const char *method, *path; /* decoded path, without the query        */
        const struct api_pair *query;
        size_t query_n;
        const char *body;
        size_t body_n;
        const char *key; /* Idempotency-Key or NULL */
};
struct api_request {
        const struct api_route *route;
        const char *verb;                /* NULL where the handler is not the engine */
        char target[API_TARGET_MAX + 1]; /* "" where the route has no {id}           */
        char key[API_KEY_MAX + 1];       /* "" = none                                */
        json_t *args;                    /* owned: members of body and query         */
        uint16_t status;                 /* of a success                             */
};

/* The route alone: wanted before a body is there. -PD_E_NOT_FOUND or -PD_E_UNSUPPORTED (the path is known, the method is not). */
int api_find_route(const char *method, const char *path, const struct api_route **ret, struct pd_error *err);
/* Methods of a path as an Allow header says them ("GET, POST"); buf >= 32 bytes. */
const char *api_allowed(const char *path, char *buf, size_t n);
/* The whole request. Errors name the value, the place and what is allowed. */
int api_parse_request(const struct api_input *in, struct api_request *ret, struct pd_error *err);
void api_request_clear(struct api_request *rq);

/* HTTP status of an error. */
unsigned api_status_of(enum pd_code code);
/* {"error": {...}} with every text made valid UTF-8; NULL = no memory. */
json_t *api_error_json(const struct pd_error *err);

#endif
