/* SPDX-License-Identifier: Apache-2.0 */
/* The site config: /etc/portald/portald.conf and conf.d/NAME.conf beside it (sorted by name), read by portald and by portal-runner alike.
 *
 * libconfig syntax, narrowed by prescan.h before libconfig sees a byte: no @include, no floats, no integers over 9 digits, every string closed
 * on its line. Every quantity is a quoted string with its unit. Every key is a row of schema.c: type, range, default, help. An unknown key, a
 * wrong type, a bad value, a key given in two files (blocks of one name are merged key by key), a file that others may write: each is a
 * fault with file:line, the value and what to do. All faults of a load are told, up to CONFIG_FAULTS_MAX.
 *
 * Includes base, jansson and (inside) libconfig. Promises: a struct config is immutable and owns all it points to; a load that fails
 * gives none, so that a reload keeps the old one. No log, no clock; reads only the files named here.
 *
 *     connections: { lab: { provider = "local"; options: { price = "0.10usd/h"; }; }; };
 *     settings = [ "ttl=72h", "idle.after=30m" ];            -- the words of `portal run --set` */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdio.h>

#include "base/base.h"
#include "base/js.h"
#include "base/quantity.h"

#define CONFIG_PATH PORTALD_SYSCONFDIR "/portald.conf"
#define CONFIG_FAULTS_MAX 20

enum config_isolation { CONFIG_PROCESS, CONFIG_NONE }; /* a plugin in a process of its own, or inside the program */

struct config_strings { /* NULL-ended as well */
        const char **at;
        size_t n;
};
struct config_uids {
        uint32_t *at;
        size_t n;
};

struct config_daemon {
        const char *state_dir;         /* "/var/lib/portald"                                                  */
        const char *run_dir;           /* "/run/portald"                                                      */
        const char *socket;            /* run_dir "/portald.sock"                                             */
        const char *socket_group;      /* "portald": who may connect and submit                               */
        struct config_uids admin_uids; /* besides root: see and act on every job                              */
        struct config_strings admin_groups;
        struct config_strings exchange_rates; /* "EUR 1.08USD 2026-11-01"                                        */
        int64_t exchange_rates_max_age_us;
        int32_t log_level;               /* syslog's: LOG_ERR .. LOG_DEBUG, default LOG_INFO                    */
        int64_t check_every_us;          /* 60s; the same as the setting "check.every", which it also becomes   */
        int64_t history_us;              /* 60d: how long ended jobs stay                                       */
        int64_t price_history_us;        /* 30d: how long prices stay; 0 = none is kept                         */
        const char *plugin_dir;          /* where plugins without a path are: PLUGIN_DIR/KIND-NAME.so           */
        const char *plugin_host;         /* the program portald-plugin-host                                     */
        enum config_isolation isolation; /* of blocks that do not say                                        */
        const char *installation_file;   /* the installation's id: "installation-id" beside the config          */
        const char *default_vault;       /* name of a vault block; the only one, where there is one             */
        const char *notify_command;      /* run for each event that people are told; NULL = none                */
        const char *notify_url;          /* ... and POSTed to; NULL = none. https, or http of this machine      */
};

enum config_period { CONFIG_MONTH, CONFIG_TOTAL };
struct config_cap { /* N-04 */
        bool set;
        struct money amount;
        enum config_period period;
        const char *timezone; /* of the calendar month: "UTC" */
};

/* options: an object of strings, in the file's order, for the plugin's open(). A value "credential:NAME" is read from
 * $CREDENTIALS_DIRECTORY/NAME (one newline at its end taken off) unless the load said not to. */
struct config_connection {
        const char *name;     /* [a-z0-9][a-z0-9-]{0,47}                                              */
        const char *provider; /* "local"                                                              */
        const char *plugin;   /* path of the .so                                                      */
        enum config_isolation isolation;
        const json_t *options; /* never NULL                                                           */
        char currency[4];      /* "" = the provider's own                                              */
        struct config_cap cap;
        int64_t price_max_age_us;       /* of what is paid                                                       */
        uint32_t price_low, price_high; /* percent of the price on demand: what a spot price is believed within  */
        const char *
                runner_socket; /* for providers whose machines are this one: default runner.socket; it is also the option
                                       * "runner_socket" unless options has one                               */
};
struct config_backend { /* a capture, a vault or a billing sink */
        const char *name;
        const char *plugin; /* path of the .so */
        enum config_isolation isolation;
        const json_t *options;
};

struct config_runner {
        const char *state_dir;             /* "/var/lib/portal-runner"                                             */
        const char *run_dir;               /* "/run/portal-runner"                                                 */
        const char *socket;                /* run_dir "/runner.sock"                                               */
        const char *socket_group;          /* "portald"                                                            */
        struct config_strings image_roots; /* dir: and oci: images only below these; none = no such images     */
        const char *image_store;           /* state_dir "/images": unpacked images                                 */
        const char *runtime;               /* absolute path of runc or crun; NULL = the best one found             */
        const char *conmon;                /* absolute path; NULL = found in PATH                                  */
        bool user_ns;                      /* false: jobs may not be given one (and root inside is root outside)   */
        bool criu_without_user_ns;         /* jobs with the capture criu have none: criu cannot carry one            */
        uint32_t uid_base;                 /* first uid and gid on the machine for containers                      */
        uint32_t uid_count;                /* ids a container has                                                  */
        uint32_t uid_ranges;               /* ranges of uid_count, from uid_base on; each running job has its own  */
};

struct config {
        struct config_daemon daemon;
        struct config_runner runner;
        const struct config_connection *connections;
        size_t connections_n;
        const struct config_backend *captures, *vaults, *sinks; /* where no capture or vault is named, the shipped ones:
                                                                 * values, command, criu, restart; the vault "file" in the runner's state_dir */
        size_t captures_n, vaults_n, sinks_n;
        const json_t *settings; /* object key -> text: the site layer for settings_resolve() */
        struct config_private *private;
};

struct config_params {
        const char *path;   /* the main file; NULL = CONFIG_PATH                                               */
        bool keep_secrets;  /* leave "credential:NAME" as it is: the runner, --check-config without credentials */
        uint32_t owner_uid; /* besides root, the only owner that a file may have: the program's user            */
        /* spec's setting_check(), for faults with file:line; NULL = not checked here. */
        int (*check_setting)(const char *key, const char *value, struct pd_error *err);
};

/* *ret_faults (may be NULL; set on failure only): array of {"at": "FILE:LINE KEY", "text", "fix"}; err has the first. */
int config_load(struct config **ret, const struct config_params *params, json_t **ret_faults, struct pd_error *err);
struct config *config_free(struct config *c);
static inline void config_freep(struct config **c)
{
        config_free(*c);
}

const struct config_connection *config_connection_find(const struct config *c, const char *name); /* or NULL */
const struct config_backend *config_backend_find(const struct config_backend *list, size_t n, const char *name);

/* Where a key got its value: "daemon.state_dir", "connections.lab.options.price", "settings.idle.after". "FILE:LINE", or "built-in"; NULL = no such
 * key was loaded. */
const char *config_origin(const struct config *c, const char *key);
/* Every key in force with its value and origin, one a line; secrets by their names only. `portald --check-config -v`. */
int config_print(const struct config *c, FILE *out, struct pd_error *err);

#endif
