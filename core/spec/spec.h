/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may ask for: the job's fields and the policy settings, each a row of one table. Flags, portal.yaml, JSON bodies, help,
 * defaults, origins and bounds all come from these two tables. Pure but for libyaml and jansson; includes base only.
 *
 * A *spec* on the wire and in the store is a JSON object with these members, all optional but `command`, strings as people write them
 * ("1.5GiB", "72h"); unknown members are refused with the nearest name. spec_check() turns it into a struct spec. */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/base.h"
#include "base/js.h"
#include "base/quantity.h"

enum spec_type {
        SPEC_STRING,
        SPEC_NAME, /* [a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?              */
        SPEC_BOOL,
        SPEC_INT,
        SPEC_DURATION, /* "off" allowed where the row says so              */
        SPEC_SIZE,
        SPEC_CPU,
        SPEC_MONEY,
        SPEC_PERCENT,
        SPEC_CHOICE,     /* one of row.choices                               */
        SPEC_ARGV,       /* array of strings, not empty                      */
        SPEC_ENV,        /* object name -> string                            */
        SPEC_TAGS,       /* object, free form, kept byte for byte            */
        SPEC_MOUNTS,     /* array of "SOURCE:TARGET[:ro]"                    */
        SPEC_CHECKPOINT, /* name, or object {capture, save, load, signal, done_file, timeout} */
        SPEC_SETTINGS,   /* object of settings                               */
        SPEC_OFFER,      /* CONNECTION[/ZONE[/TYPE[/spot]]]                  */
        SPEC_IMAGE,      /* oci:DIR[:TAG], docker://REF, dir:PATH            */
        SPEC_PATH,       /* absolute, in the container                       */
        SPEC_TYPE_N,
};

struct spec_field {
        const char *name; /* in JSON and portal.yaml                          */
        enum spec_type type;
        char letter;          /* 'e' for -e, 0 = none                             */
        const char *flag;     /* "--memory", NULL = no flag of its own            */
        const char *metavar;  /* "SIZE"                                           */
        const char *fallback; /* default as text, NULL = none                     */
        const char *help;     /* one sentence                                     */
        const char *choices;  /* "values|command|criu|restart", else NULL              */
        int64_t min, max;     /* in the type's own unit; both 0 = no bound        */
        size_t offset;        /* of its member in struct spec                     */
};
extern const struct spec_field spec_fields[];
extern const size_t spec_fields_n;
const struct spec_field *spec_field_find(const char *name);    /* NULL = no such field                  */
const struct spec_field *spec_field_by_flag(const char *flag); /* "--memory" or "-e"; NULL = none       */
const char *spec_field_nearest(const char *name);              /* what was most likely meant, or NULL   */

/* The checked form. All pointers owned by it; optional ones NULL. */
struct spec {
        char *name, *project, *image, *on, *workdir; /* image: "oci:DIR", "docker://..", "dir:PATH"                */
        char **command;                              /* NULL-ended                                                 */
        json_t *env, *tags;                          /* objects                                                    */
        int32_t cpu_milli;                           /* default 1000                                               */
        uint64_t memory_bytes;                       /* default 1 GiB                                              */
        uint64_t disk_bytes, shm_bytes;              /* 0 = not said; shm default 64 MiB                           */
        int32_t gpus;
        bool user_ns;             /* default true                                               */
        json_t *mounts;           /* array of {source,target,read_only}                         */
        char *capture;            /* "values", "command", "restart"; NULL = not chosen          */
        json_t *capture_settings; /* object of strings: "save.0", "load.0", "signal", "done_file", "timeout" */
        json_t *settings;         /* object key -> text, checked keys and values                */
};
struct spec *spec_free(struct spec *s);
static inline void spec_freep(struct spec **s)
{
        spec_free(*s);
}

/* raw: an object as it came. Every fault is reported (up to 20), one a line in *ret_faults (array of {"at","text","fix"}; may be NULL), the first
 * also in err. `where` names the source in messages ("portal.yaml", "flag --memory", "body"). */
int spec_check(const json_t *raw, struct spec **ret, json_t **ret_faults, struct pd_error *err);
json_t *spec_to_json(const struct spec *s); /* canonical: spec_check() of it gives an equal spec */

/* portal.yaml by libyaml, YAML 1.2 core typing restricted: only plain true/false are booleans and only [-]digits are integers where a field wants
 * one; `no`, `on`, `012`, `1:30` are strings; aliases, anchors, tags, several documents, duplicate keys, depth over 16 are refused with file:line:column. */
int spec_from_yaml(const char *text, size_t n, const char *file, json_t **ret, struct pd_error *err);
/* One flag into the raw object: field by spec_fields; repeated env/tags/mounts add up. */
int spec_set_flag(json_t *raw, const struct spec_field *f, const char *value, struct pd_error *err);
/* An --env-file: KEY=VALUE lines, # comments, no expansion; a key without '=' is taken from environ by the caller's getter. */
int spec_env_file(json_t *raw, const char *text, size_t n, const char *file, struct pd_error *err);
/* ... with that getter (getenv, say; NULL = such a line is refused). A key that it does not know is left out, as other tools do. */
int spec_env_file_from(json_t *raw, const char *text, size_t n, const char *file,
        const char *(*get)(void *arg, const char *name), void *arg, struct pd_error *err);

/* The same, and where each value stands: *ret_places (may be NULL) is an object "env.HOME" -> "portal.yaml:3:5". */
int spec_from_yaml_places(
        const char *text, size_t n, const char *file, json_t **ret, json_t **ret_places, struct pd_error *err);
/* Puts the place of each fault of spec_check() that has one in front of its "at": "portal.yaml:3:5 memory". */
int spec_place_faults(json_t *faults, const json_t *places, struct pd_error *err);

/* --on, taken apart. Exact (all three parts said) names one offer: without /spot the on-demand one. */
struct spec_on {
        char connection[49], zone[49], type[65]; /* "" = any */
        bool spot, exact;
};
int spec_on_parse(const char *text, struct spec_on *ret, struct pd_error *err);

/* --- settings: what the policies go by (P-23) --- */
enum setting_level { SETTING_BUILT_IN, SETTING_SITE, SETTING_LIVE, SETTING_FILE, SETTING_FLAG, SETTING_LEVEL_N };

struct setting_row {
        const char *key; /* "idle.after"                                     */
        enum spec_type type;
        bool may_be_off;      /* "off" allowed                                    */
        const char *fallback; /* "30m"                                            */
        const char
                *flag; /* "--ttl", NULL = only --set; of a BOOL "--cheaper": that and "--no-cheaper", without a value */
        const char *help;
        int64_t min, max;    /* in the type's own unit; both 0 = no bound        */
        const char *choices; /* "suspend|stop": the member is a bool, true = the second */
        size_t offset;       /* of its member in struct settings                 */
};
extern const struct setting_row setting_rows[];
extern const size_t setting_rows_n;

/* Typed, for the policies. SETTING_OFF in a duration = off. */
#define SETTING_OFF INT64_MIN
struct settings {
        int64_t ttl_us;             /* "ttl" 72h, off                                                       */
        int64_t ttl_keep_us;        /* "ttl.keep" 7d: a checkpoint after the clock limit                     */
        bool spot;                  /* "spot" on|off: act on notices                                         */
        bool spot_use;              /* "spot.use" on: may be placed on, and moved to, spot offers            */
        bool spot_move_when_over;   /* "spot.move_when_over" on                                              */
        bool idle;                  /* "idle" on                                                             */
        int64_t idle_after_us;      /* "idle.after" 30m                                                      */
        int32_t idle_cpu_percent;   /* "idle.cpu" 5% of a core, hundredths of a percent                      */
        bool oom;                   /* "oom" on                                                              */
        int64_t keep_us;            /* "checkpoint.keep" 3d after a suspension                               */
        int64_t save_deadline_us;   /* "save.deadline" 10m: a save by request; a notice has its own          */
        int64_t stop_grace_us;      /* "stop.grace" 20s                                                      */
        int64_t lease_horizon_us;   /* "lease.horizon" 1h                                                    */
        int64_t lease_renew_us;     /* "lease.renew" 10m                                                     */
        int64_t check_every_us;     /* "check.every" 60s                                                     */
        struct money budget;        /* "budget" off = currency ""                                            */
        bool budget_stop;           /* "budget.action" suspend|stop                                          */
        bool cheaper, ret;          /* "cheaper" on, "return" on                                             */
        int64_t look_every_us;      /* "look.every" 10m                                                      */
        int64_t move_cooldown_us;   /* "move.cooldown" 30m                                                   */
        int64_t pool_cooldown_us;   /* "pool.cooldown" 30m                                                   */
        int64_t lifetime_before_us; /* "lifetime.before" 30m, off                                            */
        bool rightsize;             /* "rightsize" on                                                        */
        int64_t expect_us;          /* "expect" off: total running time that the user expects                */
};

/* One value against its row; unknown key names the nearest. The sentence in err begins with the value; err's subject is the key. */
int setting_check(const char *key, const char *value, struct pd_error *err);
/* layers[level]: object key -> text (may be NULL); built-in comes from the table. *ret_origins (may be NULL): object key -> {"value","origin"}. */
int settings_resolve(
        const json_t *const layers[SETTING_LEVEL_N], struct settings *ret, json_t **ret_origins, struct pd_error *err);
const struct setting_row *setting_find(const char *key);     /* NULL = no such key            */
const struct setting_row *setting_by_flag(const char *flag); /* "--ttl"; NULL = none          */
/* What a flag without a value says: "on" or "off" of a switch ("--spot", "--no-spot"); NULL = this flag takes a value. */
const char *setting_flag_value(const struct setting_row *row, const char *flag);
/* Both flags of a switch; buf >= SETTING_FLAG_MAX. */
#define SETTING_FLAG_MAX 48
const char *setting_no_flag(const struct setting_row *row, char *buf); /* "--no-spot" */
const char *setting_nearest(const char *key);                          /* or NULL                       */
/* One "KEY=VALUE" of --set into a layer (object key -> text), checked. */
int setting_set(json_t *layer, const char *key_value, struct pd_error *err);
const char *setting_level_name(
        enum setting_level level); /* "built-in", "site config", "settings", "portal.yaml", "flag" */

/* --- what administrators allow (bounds.c) ---
 * bounds: object key -> {"min"?, "max"?: text, "lock"?: true, "by": who}. A lock holds the installation's own value: what a project, portal.yaml and
 * flags say of the key is refused, and without effect where it was said before. "off" of a limit counts as more than any value. */
struct setting_sources { /* key -> text; NULL = none */
        const json_t *site, *installation, *project, *file, *flag;
        const json_t *bounds;
        const struct settings *built_in; /* settings_resolve() of no layer, worked out before; NULL = anew */
};
/* Is it a bound that the key can have? by is not looked at. */
int bound_check(const char *key, const json_t *bound, struct pd_error *err);
/* One good value of a key: refused by name when it is outside of its bound, or the key is locked and lockable is set (installation level: it is not). */
int bound_admit(const json_t *bounds, const char *key, const char *value, bool lockable, struct pd_error *err);
/* Each value of a layer; where: "portal.yaml", "flag". Then a submit may go on. */
int bound_admit_layer(const json_t *bounds, const json_t *layer, const char *where, struct pd_error *err);
/* Every level, under the bounds: a value that is outside of them by now counts as the nearest that is inside. Never fails for what two keys say
 * together: lease.renew gives way to lease.horizon. Origins as settings_resolve(), and "bound by WHO", "..., locked by WHO". */
int settings_confine(
        const struct setting_sources *from, struct settings *ret, json_t **ret_origins, struct pd_error *err);

#endif
