/* SPDX-License-Identifier: Apache-2.0 */
/* portal.yaml into the raw object. libyaml reads the characters; what a value means is decided here, by YAML 1.2 and the field's row: `no`, `on`,
 * `012`, `1:30`, `~` stay the texts that they are. What makes a file say something other than what it looks like is refused: anchors, aliases, tags,
 * several documents, a key given twice. */
#include "spec/check.h"

#include <yaml.h>

#define DEPTH_MAX_YAML 16
#define FILE_MAX_YAML (1 << 20)
#define PATH_MAX_YAML 256
#define YAML_OWN_TAGS "tag:yaml.org,2002:" /* what a file writes as !! */

struct reader {
        yaml_parser_t parser;
        yaml_event_t event;
        bool have_event;
        const char *file;
        json_t *places; /* path -> "portal.yaml:3:5"; NULL = nobody wants them */
        struct pd_error *err;
};

static void reader_close(struct reader *r)
{
        if (r->have_event)
                yaml_event_delete(&r->event);
        yaml_parser_delete(&r->parser);
}

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
        char why[200], place[96];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(why, sizeof why, fmt, ap);
        va_end(ap);
        (void)str_format(place, sizeof place, "%.60s:%zu:%zu", r->file, at.line + 1, at.column + 1);
        (void)pd_fail(r->err, PD_E_INVALID, "%s: %s", place, why);
        return r->err ? pd_fail_subject(r->err, place) : -(int)PD_E_INVALID;
}

static int no_memory(struct reader *r)
{
        return pd_fail(r->err, PD_E_NOMEM, "no memory to read %.60s", r->file);
}

static const char *anchor_of(const yaml_event_t *e)
{
        switch (e->type) {
        case YAML_SCALAR_EVENT:
                return (const char *)e->data.scalar.anchor;
        case YAML_SEQUENCE_START_EVENT:
                return (const char *)e->data.sequence_start.anchor;
        case YAML_MAPPING_START_EVENT:
                return (const char *)e->data.mapping_start.anchor;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_STREAM_END_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
        case YAML_ALIAS_EVENT:
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                return NULL;
        }
        return NULL;
}

static const char *tag_of(const yaml_event_t *e)
{
        if (e->type == YAML_SCALAR_EVENT)
                return (const char *)e->data.scalar.tag;
        if (e->type == YAML_SEQUENCE_START_EVENT)
                return (const char *)e->data.sequence_start.tag;
        return e->type == YAML_MAPPING_START_EVENT ? (const char *)e->data.mapping_start.tag : NULL;
}

static int refuse_event(struct reader *r)
{
        const yaml_event_t *e = &r->event;
        const char *anchor = anchor_of(e), *tag = tag_of(e);

        if (e->type == YAML_ALIAS_EVENT)
                return refuse(r, e->start_mark, "the alias \"*%.30s\" is not allowed: write the value out",
                        (const char *)e->data.alias.anchor);
        if (anchor)
                return refuse(r, e->start_mark,
                        "the anchor \"&%.30s\" is not allowed: remove it, and write values out where they are used",
                        anchor);
        if (tag && str_starts(tag, YAML_OWN_TAGS))
                return refuse(r, e->start_mark, "the tag \"!!%.40s\" is not allowed: remove it; put a text into quotes",
                        tag + strlen(YAML_OWN_TAGS));
        if (tag)
                return refuse(
                        r, e->start_mark, "the tag \"%.40s\" is not allowed: remove it; put a text into quotes", tag);
        return 0;
}

/* libyaml's own words, made a sentence. */
static int syntax_error(struct reader *r)
{
        const yaml_parser_t *p = &r->parser;
        const char *problem = str_or(p->problem, "it cannot be read");

        if (p->error == YAML_MEMORY_ERROR)
                return no_memory(r);
        if (p->error == YAML_READER_ERROR)
                return refuse(r, p->mark, "%s, at byte %zu: write the file in UTF-8, without control characters",
                        problem, p->problem_offset);
        return refuse(r, p->problem_mark, "%s%s%s: mind indentation (spaces, no tabs), quotes and brackets", problem,
                p->context ? " " : "", str_or(p->context, ""));
}

/* The next event into r->event. */
static int next(struct reader *r)
{
        if (r->have_event)
                yaml_event_delete(&r->event);
        r->have_event = false;
        if (!yaml_parser_parse(&r->parser, &r->event))
                return syntax_error(r);
        r->have_event = true;
        return refuse_event(r);
}

static int note_place(struct reader *r, const char *path, yaml_mark_t at)
{
        json_t *v;

        if (!r->places || *path == '\0')
                return 0;
        v = json_sprintf("%.60s:%zu:%zu", r->file, at.line + 1, at.column + 1);
        return json_object_set_new(r->places, path, v) < 0 ? no_memory(r) : 0;
}

static bool is_whole_number(const char *s)
{
        size_t n;

        s += *s == '-';
        n = strspn(s, "0123456789");
        return n > 0 && n < 19 && s[n] == '\0' && (s[0] != '0' || n == 1);
}

/* Only a plain scalar of a field that wants a number or a switch is anything but a text. f is NULL below the top. */
static json_t *typed(const struct spec_field *f, const char *text, size_t n, bool plain)
{
        if (f && plain && n == 0)
                return json_null();
        if (f && plain && f->type == SPEC_INT && is_whole_number(text))
                return json_integer(strtoll(text, NULL, 10));
        if (f && plain && f->type == SPEC_BOOL && (streq(text, "true") || streq(text, "false")))
                return json_boolean(streq(text, "true"));
        return json_stringn(text, n);
}

static int read_scalar(struct reader *r, const struct spec_field *f, json_t **ret)
{
        const yaml_event_t *e = &r->event;
        const char *text = (const char *)e->data.scalar.value;
        size_t n = e->data.scalar.length;

        if (memchr(text, '\0', n))
                return refuse(
                        r, e->start_mark, "the text holds a NUL byte: remove it, no value of a job can carry one");
        *ret = typed(f, text, n, e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
        return *ret ? 0 : refuse(r, e->start_mark, "the text is not UTF-8: write the file in UTF-8");
}

static int read_value(struct reader *r, const struct spec_field *f, const char *path, int depth, json_t **ret);

static int read_sequence(struct reader *r, const char *path, int depth, json_t **ret)
{
        js_owned *list = json_array();
        char place[PATH_MAX_YAML];
        int e;

        if (!list)
                return no_memory(r);
        for (;;) {
                json_t *item = NULL;

                e = next(r);
                if (e < 0)
                        return e;
                if (r->event.type == YAML_SEQUENCE_END_EVENT)
                        break;
                (void)str_format(place, sizeof place, "%.*s[%zu]", PATH_MAX_YAML - 32, path, json_array_size(list));
                e = read_value(r, NULL, place, depth + 1, &item);
                if (e < 0)
                        return e;
                if (json_array_append_new(list, item) < 0)
                        return no_memory(r);
        }
        *ret = pd_steal(list);
        return 0;
}

/* The key at r->event, as its own copy. */
static int read_key(struct reader *r, const json_t *object, char **ret)
{
        const yaml_event_t *e = &r->event;
        const char *text = (const char *)e->data.scalar.value;
        char shown[SHOWN_MAX];

        if (e->type != YAML_SCALAR_EVENT)
                return refuse(
                        r, e->start_mark, "a key is a list or an object: write a plain name in front of the colon");
        if (memchr(text, '\0', e->data.scalar.length))
                return refuse(r, e->start_mark, "the key holds a NUL byte: remove it");
        if (json_object_get(object, text))
                return refuse(
                        r, e->start_mark, "the key \"%s\" stands twice: keep one of the two", check_shown(text, shown));
        *ret = strdup(text);
        return *ret ? 0 : no_memory(r);
}

static int read_member(struct reader *r, const char *path, int depth, json_t *object)
{
        pd_cleanup(freep) char *key = NULL;
        char place[PATH_MAX_YAML];
        yaml_mark_t at = r->event.start_mark;
        json_t *item = NULL;
        int e;

        e = read_key(r, object, &key);
        if (e < 0)
                return e;
        (void)str_format(place, sizeof place, "%.*s%s%.80s", PATH_MAX_YAML - 96, path, *path ? "." : "", key);
        e = note_place(r, place, at);
        if (e < 0)
                return e;
        e = next(r);
        if (e < 0)
                return e;
        e = read_value(r, depth == 1 ? spec_field_find(key) : NULL, place, depth + 1, &item);
        if (e < 0)
                return e;
        return json_object_set_new(object, key, item) < 0 ? no_memory(r) : 0;
}

static int read_mapping(struct reader *r, const char *path, int depth, json_t **ret)
{
        js_owned *object = json_object();
        int e;

        if (!object)
                return no_memory(r);
        for (;;) {
                e = next(r);
                if (e < 0)
                        return e;
                if (r->event.type == YAML_MAPPING_END_EVENT)
                        break;
                e = read_member(r, path, depth, object);
                if (e < 0)
                        return e;
        }
        *ret = pd_steal(object);
        return 0;
}

/* The value that begins at r->event; path is its place in the spec, depth 1 the document's own mapping. */
static int read_value(struct reader *r, const struct spec_field *f, const char *path, int depth, json_t **ret)
{
        yaml_mark_t at = r->event.start_mark;
        int e;

        if (depth > DEPTH_MAX_YAML)
                return refuse(r, at, "it is nested deeper than %d levels: write it flatter", DEPTH_MAX_YAML);
        e = note_place(r, path, at);
        if (e < 0)
                return e;
        if (r->event.type == YAML_SEQUENCE_START_EVENT)
                return read_sequence(r, path, depth, ret);
        if (r->event.type == YAML_MAPPING_START_EVENT)
                return read_mapping(r, path, depth, ret);
        return read_scalar(r, f, ret);
}

static int check_directives(struct reader *r)
{
        const yaml_event_t *e = &r->event;
        const yaml_version_directive_t *v = e->data.document_start.version_directive;

        if (v && (v->major != 1 || v->minor != 2))
                return refuse(r, e->start_mark,
                        "the file asks for YAML %d.%d: remove that line, it is read as YAML 1.2", v->major, v->minor);
        if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
                return refuse(r, e->start_mark, "a %%TAG line is not allowed: remove it");
        return 0;
}

static int read_document(struct reader *r, json_t **ret)
{
        int e = check_directives(r);

        if (e == 0)
                e = next(r);
        if (e < 0)
                return e;
        if (r->event.type != YAML_MAPPING_START_EVENT)
                return refuse(r, r->event.start_mark,
                        "the file is no list of fields: write lines like \"image: docker://debian:12\"");
        return read_value(r, NULL, "", 1, ret);
}

static int read_stream(struct reader *r, json_t **ret)
{
        js_owned *object = NULL;
        int e = next(r); /* the stream's start */

        if (e == 0)
                e = next(r);
        if (e < 0)
                return e;
        if (r->event.type == YAML_STREAM_END_EVENT) {
                *ret = json_object();
                return *ret ? 0 : no_memory(r);
        }
        e = read_document(r, &object);
        if (e == 0)
                e = next(r); /* the document's end */
        if (e == 0)
                e = next(r);
        if (e < 0)
                return e;
        if (r->event.type != YAML_STREAM_END_EVENT)
                return refuse(r, r->event.start_mark,
                        "a second document begins: keep one, and remove the line \"---\" in front of the other");
        *ret = pd_steal(object);
        return 0;
}

int spec_from_yaml_places(
        const char *text, size_t n, const char *file, json_t **ret, json_t **ret_places, struct pd_error *err)
{
        js_owned *places = ret_places ? json_object() : NULL;
        struct reader r = { .file = file, .places = places, .err = err };
        json_t *object = NULL;
        int e;

        if (n > FILE_MAX_YAML)
                return pd_fail(err, PD_E_INVALID,
                        "%.60s is %zu bytes long, and at most %d are read: is it the right file?", file, n,
                        FILE_MAX_YAML);
        if ((ret_places && !places) || !yaml_parser_initialize(&r.parser))
                return no_memory(&r);
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
        e = read_stream(&r, &object);
        reader_close(&r);
        if (e < 0)
                return e;
        *ret = object;
        if (ret_places)
                *ret_places = pd_steal(places);
        return 0;
}

int spec_from_yaml(const char *text, size_t n, const char *file, json_t **ret, struct pd_error *err)
{
        return spec_from_yaml_places(text, n, file, ret, NULL, err);
}

int spec_place_faults(json_t *faults, const json_t *places, struct pd_error *err)
{
        json_t *fault;
        size_t i;

        json_array_foreach (faults, i, fault) {
                const char *at = js_str(fault, "at", ""), *place = js_str(places, at, NULL);

                if (place && json_object_set_new(fault, "at", json_sprintf("%s %s", place, at)) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory for the places of faults");
        }
        return 0;
}
