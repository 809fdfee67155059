/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: one check of one spec. Every fault goes through check_fault(), so that all of them are told at once, each with the place,
 * the value and what to do. Values of `env` are never shown: they may be secrets whatever the manual says. */
#ifndef SPEC_CHECK_H
#define SPEC_CHECK_H

#include "spec/spec.h"

#define FAULTS_MAX 20
#define AT_MAX 128
#define SHOWN_MAX 48

struct check {
        json_t *faults; /* NULL = nobody wants the list */
        size_t n;       /* faults so far                */
        bool no_memory;
        struct pd_error *err;
};

/* text: what is wrong with which value; fix: what to write instead. */
void check_fault(struct check *c, const char *at, const char *fix, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
/* A refusal of base/quantity.h or the like ("VALUE is wrong: fix") as a fault. */
void check_fault_error(struct check *c, const char *at, const struct pd_error *e);
/* v is not of the wanted kind ("a string"). */
void check_fault_type(struct check *c, const char *at, const json_t *v, const char *want, const char *fix);
/* text as a message may show it: short and printable; buf >= SHOWN_MAX. */
const char *check_shown(const char *text, char *buf);
/* "env.HOME", "command[2]"; buf >= AT_MAX */
const char *check_at(char *buf, const char *at, const char *key);
const char *check_at_index(char *buf, const char *at, size_t i);
/* A new string in a member; notes a lack of memory. */
void check_keep(struct check *c, char **member, const char *text);
void check_json(struct check *c, bool stored); /* false = no memory */

/* One field's value into its member of s; v is never null. */
typedef void (*check_take)(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
extern const check_take check_takers[SPEC_TYPE_N];
#define check_member(s_, f_, type_) ((type_ *)(void *)((char *)(s_) + (f_)->offset))

/* The takers of check_text.c and check_list.c. */
void take_name(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_offer(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_image(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_path(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_argv(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_env(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_tags(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_mounts(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_settings(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);
void take_checkpoint(struct check *c, const struct spec_field *f, const json_t *v, struct spec *s);

/* What may be wrong with an absolute path, or NULL: a half sentence ("is not absolute"). */
const char *path_fault(const char *path);
/* One argument list: the shared rules of `command`, `checkpoint.save` and `checkpoint.load`; false = a fault was told. */
bool check_argv(struct check *c, const char *at, const json_t *v);

/* In check.c, for flags: one value of one field alone, with `at` as the place. */
int check_value(const struct spec_field *f, const json_t *v, const char *at, struct pd_error *err);

/* In settings.c, for bounds.c: the steps of settings_resolve(). One value; then one layer, without the keys that are locked by bounds (NULL = none). */
int settings_take_key(const char *key, const char *text, struct settings *s, struct pd_error *err);
int settings_take_built_in(struct settings *s, json_t *origins, struct pd_error *err);
int settings_take_layer(const json_t *layer, const char *origin, const json_t *bounds, struct settings *s,
        json_t *origins, struct pd_error *err);

/* A size in the largest unit that says it exactly; buf >= QUANTITY_MAX. */
char *size_exact(uint64_t bytes, char *buf);

#endif
