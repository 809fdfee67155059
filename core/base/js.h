/* SPDX-License-Identifier: Apache-2.0 */
/* Short hands over jansson: cleanup, typed reads with a sentence for what is wrong, and writes that cannot be half done. */
#ifndef BASE_JS_H
#define BASE_JS_H

#include <jansson.h>

#include "base/base.h"

static inline void js_unrefp(json_t **v)
{
        json_decref(*v);
}
#define js_owned pd_cleanup(js_unrefp) json_t

/* Field of an object. Absent or null = the fallback; a wrong type = the fallback too: for messages of our own making that were
 * validated before. Strings are borrowed from the object. */
const char *js_str(const json_t *o, const char *key, const char *fallback);
int64_t js_int(const json_t *o, const char *key, int64_t fallback);
bool js_bool(const json_t *o, const char *key, bool fallback);

/* The same for input that is not ours: absent or of another type is an error that names the key. */
int js_need_str(const json_t *o, const char *key, const char **ret, struct pd_error *err);
int js_need_int(const json_t *o, const char *key, int64_t min, int64_t max, int64_t *ret, struct pd_error *err);

/* Parses with what is refused by us everywhere: duplicate keys, NUL, depth over 64 (jansson's own 2048 is cut down), trailing
 * text. err gets line and column. */
int js_parse(const char *text, size_t n, json_t **ret, struct pd_error *err);
/* Compact text, keys sorted; NULL = no memory. Free it. */
char *js_dump(const json_t *v);

/* An error as a JSON object {"code","text","subject","provider_code","retry_after_us"} and back. */
json_t *js_from_error(const struct pd_error *err);
void js_to_error(const json_t *o, struct pd_error *ret);

#endif
