/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that hold several values: the command, the environment, tags, mounts, settings. */
#include "spec/check.h"

#include <stdio.h>

#define ARGV_MOST 4096
#define ARG_LONGEST 131071 /* what Linux takes as one argument or variable, less its NUL */
#define VARIABLES_MOST 1024
#define TAGS_MOST 256
#define TAG_DEPTH_MOST 8
#define MOUNTS_MOST 64

bool check_argv(struct check *c, const char *at, const json_t *v)
{
        size_t before = c->n;
        char place[AT_MAX];

        if (!json_is_array(v)) {
                check_fault_type(c, at, v, "a list of texts",
                        "write the program and its arguments as a list, for example [\"python3\", \"train.py\"]");
                return false;
        }
        if (json_array_size(v) == 0 || json_array_size(v) > ARGV_MOST)
                check_fault(c, at, "write the program and then its arguments",
                        "it has %zu items, and 1 to %d are allowed", json_array_size(v), ARGV_MOST);
        for (size_t i = 0; i < json_array_size(v) && i < ARGV_MOST; i++) {
                const json_t *item = json_array_get(v, i);

                (void)check_at_index(place, at, i);
                if (!json_is_string(item))
                        check_fault_type(c, place, item, "a text", "write it in quotes");
                else if (i == 0 && json_string_length(item) == 0)
                        check_fault(c, place, "write the program's name or path", "\"\" names no program");
                else if (json_string_length(item) > ARG_LONGEST)
                        check_fault(c, place, "put it into a file, and pass the file's name",
                                "it is %zu bytes long, and Linux takes %d", json_string_length(item), ARG_LONGEST);
        }
        return c->n == before;
}

void take_argv(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        char ***member = check_member(s, f, char **);
        size_t n = json_array_size(v);
        char **argv;

        if (!check_argv(c, f->name, v))
                return;
        argv = calloc(n + 1, sizeof *argv);
        check_json(c, argv != NULL);
        for (size_t i = 0; argv && i < n && !c->no_memory; i++) /* a hole would hide what is behind it */
                check_keep(c, &argv[i], json_string_value(json_array_get(v, i)));
        *member = argv;
}

static bool is_object(struct check *c, const char *at, const json_t *v, const char *fix)
{
        if (json_is_object(v))
                return true;
        check_fault_type(c, at, v, "an object of names and values", fix);
        return false;
}

static void check_most(struct check *c, const char *at, size_t n, size_t most)
{
        if (n > most)
                check_fault(c, at, "leave some out, or put them into a file",
                        "it has %zu entries, and at most %zu are allowed", n, most);
}

/* What the runner itself tells the job. */
static const char *const own_variables[] = { "PORTAL_JOB_ID", "PORTAL_GENERATION", "PORTAL_RESUMED",
        "PORTAL_CHECKPOINT_DIR", "PORTAL_SOCKET" };

static void check_variable(struct check *c, const char *at, const char *name, const json_t *v)
{
        char place[AT_MAX];

        (void)check_at(place, at, name);
        if (*name == '\0' || strchr(name, '='))
                check_fault(c, place, "write a name without \"=\", for example HOME", "it is no name of a variable");
        for (size_t i = 0; i < ARRAY_LEN(own_variables); i++)
                if (streq(name, own_variables[i]))
                        check_fault(c, place, "remove it; choose another name for a value of your own",
                                "portald sets this variable itself");
        if (!json_is_string(v))
                check_fault(c, place, "write the value in quotes, for example \"1\"", "it must be a text");
        else if (strlen(name) + 1 + json_string_length(v) > ARG_LONGEST)
                check_fault(c, place, "put the value into a file, and pass the file's name",
                        "with its name it is %zu bytes long, and Linux takes %d",
                        strlen(name) + 1 + json_string_length(v), ARG_LONGEST);
}

/* A deep copy into the member; the caller's object stays its own. */
static void keep_copy(struct check *c, json_t **member, const json_t *v)
{
        json_t *copy = json_deep_copy(v);

        check_json(c, copy != NULL);
        json_decref(*member);
        *member = copy;
}

void take_env(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        size_t before = c->n;
        const char *name;
        json_t *value;

        if (!is_object(c, f->name, v, "write names and values, for example {\"EPOCHS\": \"20\"}"))
                return;
        check_most(c, f->name, json_object_size(v), VARIABLES_MOST);
        json_object_foreach ((json_t *)(uintptr_t)v, name, value)
                check_variable(c, f->name, name, value);
        if (c->n == before)
                keep_copy(c, check_member(s, f, json_t *), v);
}

/* Free form, but for what JSON itself does not keep byte for byte. */
static void check_tag(struct check *c, const char *at, const json_t *v, int depth)
{
        char place[AT_MAX];
        const char *key;
        json_t *item;
        size_t i;

        if (depth > TAG_DEPTH_MOST) {
                check_fault(c, at, "write it flatter, or as one text", "it is nested deeper than %d levels",
                        TAG_DEPTH_MOST);
                return;
        }
        if (json_is_real(v))
                check_fault(c, at, "write it in quotes",
                        "a number with a point or an exponent cannot be kept as it was written");
        json_object_foreach ((json_t *)(uintptr_t)v, key, item)
                check_tag(c, check_at(place, at, key), item, depth + 1);
        if (json_is_array(v))
                json_array_foreach (v, i, item)
                        check_tag(c, check_at_index(place, at, i), item, depth + 1);
}

void take_tags(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        size_t before = c->n;

        if (!is_object(c, f->name, v, "write names and values, for example {\"team\": \"vision\"}"))
                return;
        check_most(c, f->name, json_object_size(v), TAGS_MOST);
        check_tag(c, f->name, v, 0);
        if (c->n == before)
                keep_copy(c, check_member(s, f, json_t *), v);
}

#define MOUNT_FIX "write SOURCE:TARGET or SOURCE:TARGET:ro, both absolute, for example /data:/data:ro"

struct mount {
        char source[4097], target[4097];
        bool read_only;
};

static const char *part_fault(const char *begin, size_t n, char *ret, size_t size)
{
        if (n >= size)
                return "has a path longer than 4095 bytes";
        memcpy(ret, begin, n);
        ret[n] = '\0';
        return path_fault(ret);
}

static const char *parse_mount(const char *text, struct mount *ret)
{
        const char *colon = strchr(text, ':'), *rest, *wrong;
        size_t n;

        if (!colon)
                return "has no target";
        n = strcspn(colon + 1, ":");
        rest = colon + 1 + n;
        if (*rest && !streq(rest, ":ro") && !streq(rest, ":rw"))
                return "has something other than ro behind the target";
        ret->read_only = streq(rest, ":ro");
        wrong = part_fault(text, (size_t)(colon - text), ret->source, sizeof ret->source);
        if (!wrong)
                wrong = part_fault(colon + 1, n, ret->target, sizeof ret->target);
        return !wrong && streq(ret->target, "/") ? "would cover the container's own root" : wrong;
}

static bool target_taken(const json_t *mounts, const char *target)
{
        const json_t *m;
        size_t i;

        json_array_foreach (mounts, i, m)
                if (streq(js_str(m, "target", ""), target))
                        return true;
        return false;
}

static void take_mount(struct check *c, const char *at, const json_t *v, json_t *mounts)
{
        char shown[SHOWN_MAX];
        const char *wrong;
        struct mount m;

        if (!json_is_string(v)) {
                check_fault_type(c, at, v, "a text", MOUNT_FIX);
                return;
        }
        wrong = parse_mount(json_string_value(v), &m);
        if (!wrong && target_taken(mounts, m.target))
                wrong = "has a target that another mount has already";
        if (wrong)
                check_fault(c, at, MOUNT_FIX, "\"%s\" %s", check_shown(json_string_value(v), shown), wrong);
        else
                check_json(c, json_array_append_new(mounts, json_pack("{s:s,s:s,s:b}", "source", m.source, "target",
                                                                    m.target, "read_only", m.read_only)) == 0);
}

void take_mounts(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        js_owned *mounts = json_array();
        char place[AT_MAX];

        check_json(c, mounts != NULL);
        if (!json_is_array(v)) {
                check_fault_type(c, f->name, v, "a list of texts", MOUNT_FIX);
                return;
        }
        check_most(c, f->name, json_array_size(v), MOUNTS_MOST);
        for (size_t i = 0; mounts && i < json_array_size(v) && i < MOUNTS_MOST; i++)
                take_mount(c, check_at_index(place, f->name, i), json_array_get(v, i), mounts);
        json_decref(*check_member(s, f, json_t *));
        *check_member(s, f, json_t *) = pd_steal(mounts);
}

void take_settings(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s)
{
        js_owned *kept = json_object();
        char place[AT_MAX];
        const char *key, *text;
        struct pd_error e;
        json_t *value;

        check_json(c, kept != NULL);
        if (!is_object(c, f->name, v, "write keys and values, for example {\"idle.after\": \"1h\"}"))
                return;
        json_object_foreach ((json_t *)(uintptr_t)v, key, value) {
                (void)check_at(place, f->name, key);
                text = json_is_boolean(value) ? (json_is_true(value) ? "on" : "off") : json_string_value(value);
                if (!text)
                        check_fault_type(c, place, value, "a text", "write the value in quotes, for example \"1h\"");
                else if (setting_check(key, text, &e) < 0)
                        check_fault_error(c, place, &e);
                else
                        check_json(c, json_object_set_new(kept, key, json_string(text)) == 0);
        }
        json_decref(*check_member(s, f, json_t *));
        *check_member(s, f, json_t *) = pd_steal(kept);
}
