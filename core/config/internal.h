/* SPDX-License-Identifier: Apache-2.0 */
/* Within the room: files become entries (load.c), entries become a struct config (build.c). */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "base/vec.h"
#include "config/config.h"
#include "config/schema.h"

/* --- faults.c: every fault of a load --- */
struct faults {
        json_t *list;         /* of {"at","text","fix"}; at most CONFIG_FAULTS_MAX */
        size_t n;             /* all that there were                               */
        struct pd_error *err; /* the first; may be NULL                    */
};
struct place {
        const char *file;  /* NULL = built in */
        unsigned int line; /* 0 = the file as a whole */
};
#define KEY_MAX 256 /* a whole key, "connections.lab.options.price" */

void faults_tell(struct faults *f, struct place at, const char *key, const char *fix, const char *fmt, ...)
        __attribute__((format(printf, 5, 6)));
/* A refusal "what is wrong: what to do" as a fault. */
void faults_error(struct faults *f, struct place at, const char *key, const struct pd_error *e);
char *place_format(struct place at, char *buf, size_t n); /* "FILE:LINE", "FILE" or "built-in" */

/* --- files.c --- */
struct files {
        VEC(char *) paths; /* the main file first, then conf.d by name */
};
void files_clear(struct files *f);
/* The main file must be there; conf.d need not. */
int files_list(const char *main_path, struct files *ret, struct pd_error *err);
/* A whole file, and behind its bytes a newline and NUL that *ret_n leaves out; refuses what others may write, and more than PRESCAN_BYTES_MAX. *ret is to be freed. */
int files_read(const char *path, uint32_t owner_uid, char **ret, size_t *ret_n, struct pd_error *err);
/* The value of "credential:NAME"; text without the prefix is returned as it is. Free *ret. */
#define CREDENTIAL "credential:"
int files_secret(const char *text, char **ret, struct pd_error *err);

/* --- entries: every key that was given, or filled in, once --- */
struct entry {
        char *key; /* "daemon.state_dir" */
        const struct schema_row *row;
        json_t *value;
        struct place at;
        const char *origin; /* place_format() of it, once the load is done */
};
struct block { /* a named one; blocks of one name in several files are one */
        enum schema_named kind;
        char *name;
        struct place at; /* where it was first */
};
struct entries {
        VEC(struct entry) list;
        VEC(struct block) blocks;
        json_t *index; /* key -> number in list */
        bool no_memory;
};
void entries_clear(struct entries *e);
/* NULL = there is none. Valid until the next add. */
const struct entry *entries_find(const struct entries *e, const char *key);
/* Takes value. A key that is there already is left as it is, and the entry returned; else NULL. */
const struct entry *entries_add(
        struct entries *e, const char *key, const struct schema_row *row, json_t *value, struct place at);
void entries_add_block(struct entries *e, enum schema_named kind, const char *name, struct place at);

/* --- value.c: one value against its row --- */
int value_check(const struct schema_row *row, const json_t *value, struct pd_error *err);
bool value_name_good(const char *name);
/* The default of a row as the value that a file would give. NULL = none, or no memory. */
json_t *value_fallback(const struct schema_row *row);
/* `state_dir = "/var/lib/portald"`, for messages. */
char *value_example(const struct schema_row *row, char *buf, size_t n);
/* Writes a checked value into its member. Strings are borrowed from it. false = no memory. */
struct arena;
bool value_store(const struct schema_row *row, const json_t *value, void *block, struct arena *a);

/* Memory that lives as long as the config. */
struct arena {
        VEC(void *) list;
};
void *config_arena_take(struct arena *a, size_t n); /* zeroed; NULL = no memory */
char *config_arena_format(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void config_arena_clear(struct arena *a);

/* --- build.c --- */
struct config_private {
        struct config config; /* the public part */
        struct files files;   /* places point to these */
        struct entries entries;
        struct arena arena;
        VEC(json_t *) objects; /* options, settings */
};
/* entries and files are in p; fills the rest. Faults go to f. */
int build(struct config_private *p, const struct config_params *params, struct faults *f);

#endif
