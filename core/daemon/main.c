/* SPDX-License-Identifier: Apache-2.0 */
/* portald: parse, build, run, free. */
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "daemon/env_real.h"
#include "daemon/installation.h"
#include "daemon/listen.h"
#include "daemon/notify.h"
#include "daemon/site.h"

#define BALLAST_BYTES (UINT64_C(16) << 20)

struct options {
        const char *config, *state_dir, *socket;
        bool new_installation, check_config, foreground;
        int verbose;
};

struct daemon {
        struct options options;
        sd_event *loop;
        struct site *site;
        struct store *store;
        struct notify *notify;
        struct env *env;
        struct engine *engine;
        struct api *api;
};

static const char help[] =
        "portald - the control plane of portal jobs\n"
        "\n"
        "Usage: portald [OPTIONS]\n"
        "  -c, --config FILE      read this site config (default " PORTALD_SYSCONFDIR "/portald.conf)\n"
        "      --state-dir DIR    keep the store here instead of daemon.state_dir\n"
        "      --socket PATH      listen here instead of daemon.socket\n"
        "      --new-installation make the store of a new installation; without it an empty state directory is "
        "refused\n"
        "      --check-config     check the config, say every fault with file and line, and exit (-v: print what is in "
        "force);\n"
        "                         with --new-installation, as root: also make the installation's id and its empty "
        "store\n"
        "      --foreground       log to standard error; nothing else differs\n"
        "  -v, --verbose          say more\n"
        "  -h, --help             this text\n"
        "      --version          print the version\n"
        "\n"
        "Exit status: 0 after an orderly stop; 1 when it cannot start or go on; 2 for wrong options or a refused "
        "config.\n"
        "See portald(8), portald.conf(5), portal(1).\n";

enum { OPT_STATE_DIR = 256, OPT_SOCKET, OPT_NEW, OPT_CHECK, OPT_FOREGROUND, OPT_VERSION };

/* 0 = go on, 1 = done, negative = wrong. */
static int parse(int argc, char **argv, struct options *ret)
{
        static const struct option known[] = {
                { "config", required_argument, NULL, 'c' },
                { "state-dir", required_argument, NULL, OPT_STATE_DIR },
                { "socket", required_argument, NULL, OPT_SOCKET },
                { "new-installation", no_argument, NULL, OPT_NEW },
                { "check-config", no_argument, NULL, OPT_CHECK },
                { "foreground", no_argument, NULL, OPT_FOREGROUND },
                { "verbose", no_argument, NULL, 'v' },
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, OPT_VERSION },
                { 0 },
        };
        int c;

        while ((c = getopt_long(argc, argv, "c:vh", known, NULL)) >= 0)
                switch (c) {
                case 'c':
                        ret->config = optarg;
                        break;
                case OPT_STATE_DIR:
                        ret->state_dir = optarg;
                        break;
                case OPT_SOCKET:
                        ret->socket = optarg;
                        break;
                case OPT_NEW:
                        ret->new_installation = true;
                        break;
                case OPT_CHECK:
                        ret->check_config = true;
                        break;
                case OPT_FOREGROUND:
                        ret->foreground = true;
                        break;
                case 'v':
                        ret->verbose++;
                        break;
                case 'h':
                        (void)fputs(help, stdout);
                        return 1;
                case OPT_VERSION:
                        (void)puts("portald " PORTALD_VERSION);
                        return 1;
                default:
                        return -1;
                }
        if (optind < argc) {
                (void)fprintf(stderr, "portald: \"%s\" is not an option: portald takes no other words (see --help)\n",
                        argv[optind]);
                return -1;
        }
        return 0;
}

static void say_faults(const json_t *faults, const struct pd_error *err)
{
        size_t i;
        json_t *f;

        json_array_foreach (faults, i, f)
                (void)fprintf(stderr, "portald: %s: %s%s%s\n", js_str(f, "at", ""), js_str(f, "text", ""),
                        *js_str(f, "fix", "") ? "; " : "", js_str(f, "fix", ""));
        if (!json_array_size(faults))
                (void)fprintf(stderr, "portald: %s\n", err->text);
}

/* --check-config: everything that can be said without touching anything (but for --new-installation). */
static int check_config(const struct options *o)
{
        pd_cleanup(site_freep) struct site *s = NULL;
        pd_cleanup(freep) char *id = NULL;
        js_owned *faults = NULL;
        struct pd_error err;

        if (site_load(&s, o->config, true, &faults, &err) < 0) {
                say_faults(faults, &err);
                return 2;
        }
        if (o->verbose && config_print(s->config, stdout, &err) < 0)
                return 1;
        if (o->new_installation) {
                if (installation_prepare(s->config, &id, &err) < 0) {
                        (void)fprintf(stderr, "portald: %s\n", err.text);
                        return 1;
                }
                (void)printf("new installation %s, its store is in %s\n", id, s->config->daemon.state_dir);
        }
        (void)printf("the config is good: %zu connections\n", s->engine.connections_n);
        return 0;
}

/* --- building --- */
static int open_store(struct daemon *d, struct pd_error *err)
{
        const struct config_daemon *c = &d->site->config->daemon;
        pd_cleanup(freep) char *id = NULL;
        struct store_options o = { .dir = d->options.state_dir ? d->options.state_dir : c->state_dir,
                .new_installation = d->options.new_installation,
                .ballast_bytes = BALLAST_BYTES };
        int r = installation_read(c->installation_file, &id, err);

        if (r < 0)
                return r;
        o.installation = id;
        r = store_open(&d->store, d->loop, &o, err);
        if (r >= 0 && !id)
                r = installation_write(c->installation_file, store_installation(d->store), err);
        return r;
}

struct admins {
        uint32_t gids[32];
        size_t n;
};

static void admin_groups(const struct config *c, struct admins *ret)
{
        ret->n = 0;
        for (size_t i = 0; i < c->daemon.admin_groups.n && ret->n < ARRAY_LEN(ret->gids); i++) {
                const struct group *g = getgrnam(c->daemon.admin_groups.at[i]);

                if (g)
                        ret->gids[ret->n++] = g->gr_gid;
                else
                        log_warning("admin group \"%s\" does not exist", c->daemon.admin_groups.at[i]);
        }
}

/* A refused config changes nothing (S-01). */
static int reload(void *arg, json_t **ret_faults, struct pd_error *err)
{
        struct daemon *d = arg;
        pd_cleanup(site_freep) struct site *s = NULL;
        struct admins groups;
        int r;

        (void)sd_notify(0, "RELOADING=1");
        r = site_load(&s, d->options.config, false, ret_faults, err);
        if (r >= 0)
                r = engine_reload(d->engine, &s->engine, err);
        if (r >= 0) {
                struct site *old = d->site;

                d->site = pd_steal(s);
                site_free(old);
                admin_groups(d->site->config, &groups);
                r = api_set_admins(d->api, d->site->config->daemon.admin_uids.at, d->site->config->daemon.admin_uids.n,
                        groups.gids, groups.n, err);
                if (r >= 0)
                        r = notify_set(d->notify, d->site->config->daemon.notify_command,
                                d->site->config->daemon.notify_url, err);
                log_info("the config was read again");
        } else {
                log_warning("the new config is refused, the old one stays: %s", err->text);
        }
        (void)sd_notify(0, "READY=1");
        return r;
}

static int serve(struct daemon *d, struct pd_error *err)
{
        const struct config_daemon *c = &d->site->config->daemon;
        const struct group *g = getgrnam(c->socket_group);
        struct api_options o = { .admins = c->admin_uids.at,
                .admins_n = c->admin_uids.n,
                .group = g ? g->gr_gid : API_ANY_GROUP,
                .group_name = c->socket_group,
                .reload = reload,
                .reload_arg = d };
        struct admins groups;
        int fd;

        admin_groups(d->site->config, &groups);
        o.admin_groups = groups.gids;
        o.admin_groups_n = groups.n;
        if (mkdir(c->run_dir, 0755) < 0 && access(c->run_dir, F_OK) < 0)
                return pd_fail(err, PD_E_IO, "the directory %s (daemon.run_dir) cannot be made", c->run_dir);
        fd = listen_api(d->options.socket ? d->options.socket : c->socket, c->socket_group, err);
        return fd < 0 ? fd : api_new(&d->api, d->loop, fd, d->engine, &o, err);
}

static int build(struct daemon *d, struct pd_error *err)
{
        struct env_real_options o;
        int r = open_store(d, err);

        if (r < 0)
                return r;
        r = notify_new(&d->notify, d->loop, err);
        if (r >= 0)
                r = notify_set(
                        d->notify, d->site->config->daemon.notify_command, d->site->config->daemon.notify_url, err);
        o = (struct env_real_options){
                .plugin_host = d->site->config->daemon.plugin_host, .owner_uid = geteuid(), .notify = d->notify
        };
        if (r >= 0)
                r = env_real_new(&d->env, d->loop, d->store, &o, err);
        if (r >= 0)
                r = engine_new(&d->engine, d->env, &d->site->engine, err);
        if (r >= 0)
                r = engine_start(d->engine, err);
        return r < 0 ? r : serve(d, err);
}

/* --- running --- */
static int on_stop(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
        (void)si;
        (void)arg;
        (void)sd_notify(0, "STOPPING=1");
        return sd_event_exit(sd_event_source_get_event(s), EXIT_SUCCESS);
}

static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
        js_owned *faults = NULL;
        struct pd_error err;

        (void)s;
        (void)si;
        if (reload(arg, &faults, &err) < 0)
                say_faults(faults, &err);
        return 0;
}

/* The watchdog is fed from the loop, at half its time, and only by an engine that can still write. */
static int on_beat(sd_event_source *s, uint64_t usec, void *arg)
{
        struct daemon *d = arg;
        uint64_t every = 0;

        if (sd_watchdog_enabled(0, &every) <= 0)
                return 0;
        if (engine_alive(d->engine))
                (void)sd_notify(0, "WATCHDOG=1");
        (void)sd_event_source_set_time(s, usec + every / 2);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int watch(struct daemon *d)
{
        sigset_t set;
        int r;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
        r = sd_event_add_signal(d->loop, NULL, SIGTERM, on_stop, d);
        if (r >= 0)
                r = sd_event_add_signal(d->loop, NULL, SIGINT, on_stop, d);
        if (r >= 0)
                r = sd_event_add_signal(d->loop, NULL, SIGHUP, on_hup, d);
        if (r >= 0 && sd_watchdog_enabled(0, NULL) > 0)
                r = sd_event_add_time(d->loop, NULL, CLOCK_MONOTONIC, 0, 0, on_beat, d);
        return r;
}

static void daemon_free(struct daemon *d)
{
        d->api = api_free(d->api);
        engine_stop(d->engine); /* the store calls back into it until it is closed */
        d->store = store_close(d->store);
        d->engine = engine_free(d->engine);
        d->env = env_real_free(d->env);
        d->notify = notify_free(d->notify);
        d->site = site_free(d->site);
        d->loop = sd_event_unref(d->loop);
}

static int run(const struct options *o)
{
        struct daemon d = { .options = *o };
        js_owned *faults = NULL;
        struct pd_error err;
        int r = site_load(&d.site, o->config, false, &faults, &err);

        if (r < 0) {
                say_faults(faults, &err);
                return 2;
        }
        log_open("portald", o->verbose ? LOG_DEBUG : d.site->config->daemon.log_level);
        if (sd_event_default(&d.loop) < 0 || watch(&d) < 0)
                r = pd_fail(&err, PD_E_INTERNAL, "no event loop");
        if (r >= 0)
                r = build(&d, &err);
        if (r < 0) {
                log_error("%s", err.text);
        } else {
                log_info("portald " PORTALD_VERSION " serves");
                (void)sd_notify(0, "READY=1");
                r = sd_event_loop(d.loop);
        }
        daemon_free(&d);
        return r == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
        struct options o = { 0 };
        int r = parse(argc, argv, &o);

        if (r != 0)
                return r < 0 ? 2 : 0;
        log_open("portald", LOG_INFO);
        return o.check_config ? check_config(&o) : run(&o);
}
