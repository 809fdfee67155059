/* SPDX-License-Identifier: Apache-2.0 */
/* Every key of the site config, one row each: what reading, defaults, messages, the shipped example and its test go by. */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include "config/config.h"

enum schema_type {
        SCHEMA_STRING,   /* 1-1024 bytes                                    */
        SCHEMA_NAME,     /* [a-z0-9][a-z0-9-]{0,47}                         */
        SCHEMA_PATH,     /* absolute, no "..", kept as written              */
        SCHEMA_PROGRAM,  /* "auto" or an absolute path                      */
        SCHEMA_PLUGIN,   /* a name, or the absolute path of a .so           */
        SCHEMA_BOOL,     /* true or false, unquoted                         */
        SCHEMA_COUNT,    /* a whole number, unquoted; quoted past 9 digits  */
        SCHEMA_DURATION, /* quoted, with its unit                           */
        SCHEMA_MONEY,    /* quoted, with its currency                       */
        SCHEMA_CURRENCY, /* ISO 4217                                        */
        SCHEMA_TIMEZONE, /* "Europe/Berlin"                                 */
        SCHEMA_CHOICE,   /* one of row.choices                              */
        SCHEMA_STRINGS,  /* [ "a", "b" ]                                    */
        SCHEMA_PATHS,    /* [ "/a", "/b" ]                                  */
        SCHEMA_UIDS,     /* [ 1000, 1001 ]                                  */
        SCHEMA_OPTIONS,  /* { key = "text"; }: free, strings only           */
        SCHEMA_SETTINGS, /* [ "KEY=VALUE" ]                                 */
        SCHEMA_GROUP,    /* a block with rows of its own                    */
        SCHEMA_TYPE_N,
};

enum schema_block { /* what a row stands in */
        SCHEMA_TOP,
        SCHEMA_DAEMON,
        SCHEMA_RUNNER,
        SCHEMA_CONNECTION, /* connections.NAME      */
        SCHEMA_CAP,        /* connections.NAME.cap  */
        SCHEMA_BACKEND,    /* captures.NAME, vaults.NAME, sinks.NAME */
        SCHEMA_BLOCK_N,
};

#define SCHEMA_NO_MEMBER SIZE_MAX /* read by build.c itself */

struct schema_row {
        enum schema_block block;
        enum schema_type type;
        const char *key;
        size_t offset;         /* of the member in the block's struct                                     */
        const char *fallback;  /* the default as written in a file; NULL = none, or as `otherwise` says   */
        const char *otherwise; /* what holds without it, where that is no constant                        */
        const char *example;   /* a value for messages and the example, where fallback is none            */
        const char *help;      /* one sentence                                                            */
        const char *choices;   /* "a|b", in the order of the enum                                         */
        int64_t min, max;      /* COUNT, DURATION (us); both 0 = no bound                                 */
        bool required;
};
extern const struct schema_row schema_rows[];
extern const size_t schema_rows_n;

const struct schema_row *schema_find(enum schema_block block, const char *key); /* NULL = no such key */
/* The key that was most likely meant, or NULL. */
const char *schema_nearest(enum schema_block block, const char *key);
/* "a, b and c": every key of the block; cut to what fits. */
const char *schema_list(enum schema_block block, char *buf, size_t n);
const char *schema_type_wants(enum schema_type type); /* "an absolute path in quotes" */

/* The named blocks of the top level. */
enum schema_named { SCHEMA_CONNECTIONS, SCHEMA_CAPTURES, SCHEMA_VAULTS, SCHEMA_SINKS, SCHEMA_NAMED_N };
extern const struct schema_named_row {
        const char *key;         /* "captures"                                   */
        const char *what;        /* "a capture"                                  */
        const char *plugin_kind; /* "checkpoint": PLUGIN_DIR/checkpoint-NAME.so  */
        enum schema_block block;
} schema_named[SCHEMA_NAMED_N];

#endif
