/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "base/log.h"
#include "base/quantity.h"
#include "config/config.h"
#include "runner/bundle.h"
#include "runner/image.h"
#include "runner/rootfs.h"
#include "runner/runner.h"
#include "runner/worker.h"

#define LOCK_US (5 * USEC_PER_SEC)

static const char help[] =
        "portal-runner - runs portald's jobs in containers on this machine\n"
        "\n"
        "  --config FILE            the site config (default " CONFIG_PATH ")\n"
        "  --socket PATH            listen here instead of runner.socket\n"
        "  --state-dir DIR          keep jobs here instead of runner.state_dir\n"
        "  --client-user NAME       besides root, who may command (default portald)\n"
        "  --network none|host      what jobs see of the network (default host)\n"
        "  --private-cgroup-mount   where /sys/fs/cgroup is not a cgroup v2 tree: mount one for the runner alone\n"
        "  --vacate-if-stopping     as a client: if the machine shuts down, have all jobs saved, and wait\n"
        "  --verbose                log more\n"
        "  --version, --help\n"
        "\n"
        "It serves the protocol of core/frame/RUNNER.md. SIGTERM ends it; its jobs run on, and the next one takes them "
        "over.\n";

struct options {
        const char *config, *socket, *state_dir, *client_user, *network, *plugin_dir, *plugin_host;
        bool private_cgroup_mount, vacate, verbose;
};

static int usage(const char *what, const char *value)
{
        (void)fprintf(stderr, "portal-runner: %s%s%s. See portal-runner --help\n", what, value ? " " : "",
                value ? value : "");
        return 2;
}

enum {
        OPT_CONFIG = 256,
        OPT_SOCKET,
        OPT_STATE,
        OPT_CLIENT,
        OPT_NETWORK,
        OPT_PLUGINS,
        OPT_HOST,
        OPT_PRIVATE,
        OPT_VACATE,
        OPT_VERBOSE,
        OPT_VERSION,
        OPT_HELP,
        OPT_WORKER
};

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct options *o)
{
        static const struct option longs[] = {
                { "config", required_argument, NULL, OPT_CONFIG },
                { "socket", required_argument, NULL, OPT_SOCKET },
                { "state-dir", required_argument, NULL, OPT_STATE },
                { "client-user", required_argument, NULL, OPT_CLIENT },
                { "network", required_argument, NULL, OPT_NETWORK },
                { "plugin-dir", required_argument, NULL, OPT_PLUGINS },
                { "plugin-host", required_argument, NULL, OPT_HOST },
                { "private-cgroup-mount", no_argument, NULL, OPT_PRIVATE },
                { "vacate-if-stopping", no_argument, NULL, OPT_VACATE },
                { "verbose", no_argument, NULL, OPT_VERBOSE },
                { "version", no_argument, NULL, OPT_VERSION },
                { "help", no_argument, NULL, OPT_HELP },
                { "worker", required_argument, NULL, OPT_WORKER },
                { NULL, 0, NULL, 0 },
        };
        int c;

        while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
                switch (c) {
                case OPT_CONFIG:
                        o->config = optarg;
                        break;
                case OPT_SOCKET:
                        o->socket = optarg;
                        break;
                case OPT_STATE:
                        o->state_dir = optarg;
                        break;
                case OPT_CLIENT:
                        o->client_user = optarg;
                        break;
                case OPT_NETWORK:
                        o->network = optarg;
                        break;
                case OPT_PLUGINS:
                        o->plugin_dir = optarg;
                        break;
                case OPT_HOST:
                        o->plugin_host = optarg;
                        break;
                case OPT_PRIVATE:
                        o->private_cgroup_mount = true;
                        break;
                case OPT_VACATE:
                        o->vacate = true;
                        break;
                case OPT_VERBOSE:
                        o->verbose = true;
                        break;
                case OPT_VERSION:
                        (void)puts("portal-runner " PORTALD_VERSION);
                        return 0;
                case OPT_HELP:
                        (void)fputs(help, stdout);
                        return 0;
                case OPT_WORKER:
                        return worker_main(optarg);
                default:
                        return usage("an option is not understood", NULL);
                }
        }
        if (optind < argc)
                return usage("nothing may follow the options, but there is", argv[optind]);
        if (!streq(o->network, "host") && !streq(o->network, "none"))
                return usage("--network must be host or none, not", o->network);
        return -1;
}

static char *dup_or(const char *first, const char *second)
{
        const char *s = first ? first : second;

        return s ? strdup(s) : NULL;
}

/* The user of portald; where there is none, only root commands. */
static int find_client(struct runner *r, const char *name, struct pd_error *err)
{
        const struct passwd *p = getpwnam(name ? name : "portald");

        if (!p && name)
                return pd_fail(err, PD_E_NOT_FOUND, "--client-user %s: there is no such user", name);
        r->cfg.client_uid = p ? p->pw_uid : 0;
        return 0;
}

static int take_config(struct runner *r, const struct options *o, const struct config *c, struct pd_error *err)
{
        struct runner_config *k = &r->cfg;

        k->state_dir = dup_or(o->state_dir, c->runner.state_dir);
        k->socket = dup_or(o->socket, c->runner.socket);
        k->socket_group = dup_or(c->runner.socket_group, NULL);
        k->runtime = dup_or(c->runner.runtime, NULL);
        k->conmon = dup_or(c->runner.conmon, "conmon");
        k->plugin_dir = dup_or(o->plugin_dir, c->daemon.plugin_dir);
        k->plugin_host = dup_or(o->plugin_host, c->daemon.plugin_host);
        k->image_store = o->state_dir ? path_fmt("%s/images", o->state_dir) : dup_or(c->runner.image_store, NULL);
        k->user_ns = c->runner.user_ns;
        k->criu_without_user_ns = c->runner.criu_without_user_ns;
        k->uid_base = c->runner.uid_base;
        k->uid_ranges = c->runner.uid_ranges;
        k->own_network = streq(o->network, "none");
        k->private_cgroup_mount = o->private_cgroup_mount;
        k->measure_us = 10 * USEC_PER_SEC;
#ifdef PORTALD_TEST_HOOKS
        k->measure_us = strtoll(str_or(getenv("PORTAL_RUNNER_MEASURE_US"), "10000000"), NULL, 10);
#endif
        k->image_roots = json_array();
        for (size_t i = 0; i < c->runner.image_roots.n; i++)
                (void)json_array_append_new(k->image_roots, json_string(c->runner.image_roots.at[i]));
        if (c->runner.uid_count != BUNDLE_IDS)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "runner.uid_count is %u: this version gives each container %u ids", c->runner.uid_count,
                        BUNDLE_IDS);
        if (!k->state_dir || !k->socket || !k->conmon || !k->image_store || !k->image_roots)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        return find_client(r, o->client_user, err);
}

static int read_config(struct runner *r, const struct options *o, struct pd_error *err)
{
        pd_cleanup(config_freep) struct config *c = NULL;
        js_owned *faults = NULL;
        const json_t *f;
        size_t i;
        int e = config_load(&c, &(struct config_params){ .path = o->config, .keep_secrets = true }, &faults, err);

        json_array_foreach (faults, i, f)
                log_error("%s: %s. %s", js_str(f, "at", ""), js_str(f, "text", ""), js_str(f, "fix", ""));
        return e < 0 ? e : take_config(r, o, c, err);
}

/* The state directory may be passed by a container's own root on its way to its files, and read by nobody. */
static int make_dirs(struct runner *r, struct pd_error *err)
{
        static const struct {
                const char *name;
                mode_t mode;
        } dirs[] = { { "jobs", 0711 }, { "runtime", 0711 }, { "trash", 0700 } };
        int e = disk_mkdir(r->cfg.state_dir, 0711, err);

        for (size_t i = 0; e == 0 && i < ARRAY_LEN(dirs); i++) {
                pd_cleanup(freep) char *path = path_fmt("%s/%s", r->cfg.state_dir, dirs[i].name);

                e = path ? disk_mkdir(path, dirs[i].mode, err) : pd_fail(err, PD_E_NOMEM, "no memory");
        }
        return e < 0 ? e : disk_mkdir(r->cfg.image_store, 0700, err); /* unpacked images hold set-id files */
}

/* One runner a state directory. The lock goes with the process, however it ends. */
static int lock_state(struct runner *r, int *ret_fd, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/lock", r->cfg.state_dir);
        int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

        if (fd < 0)
                return pd_fail(err, PD_E_IO, "cannot open %s: %m", str_or(path, "the lock"));
        /* one that was just killed may need a moment to be gone */
        for (int64_t until = now_boot_us() + LOCK_US; flock(fd, LOCK_EX | LOCK_NB) < 0;) {
                if (errno == EWOULDBLOCK && now_boot_us() < until) {
                        (void)usleep(20000);
                        continue;
                }
                (void)close(fd);
                return pd_fail(err, PD_E_BUSY, "another portal-runner uses %s", r->cfg.state_dir);
        }
        *ret_fd = fd;
        return 0;
}

static void read_ids(struct runner *r)
{
        pd_cleanup(freep) char *path = path_fmt("%s/owner.json", r->cfg.state_dir);
        js_owned *owner = NULL;
        sd_id128_t id;

        if (sd_id128_get_boot(&id) >= 0)
                (void)sd_id128_to_string(id, r->boot_id);
        if (sd_id128_get_machine(&id) >= 0)
                (void)sd_id128_to_string(id, r->machine_id);
        if (path && disk_read_json(path, &owner, NULL) == 0) {
                (void)str_format(r->installation, sizeof r->installation, "%s", js_str(owner, "installation", ""));
                r->epoch = js_int(owner, "epoch", 0);
        }
}

static void say_what_is_missing(struct runner *r)
{
        struct pd_error err = { 0 };

        if (r->cg.remade)
                caps_note(r, "this machine has no unified cgroup v2 tree: the runner has mounted one for itself");
        if (!r->cg.cpu)
                caps_note(r, "CPU limits cannot be enforced: there is no cpu controller");
        if (!r->cg.memory)
                caps_note(r, "memory limits cannot be enforced: there is no memory controller; memory is measured by "
                             "adding up the processes' own shares, its peak from samples");
        if (!r->cg.pids)
                caps_note(r, "the number of processes cannot be limited: there is no pids controller");
        r->can_idmap = r->cfg.user_ns && rootfs_can_idmap(r->cfg.state_dir, &err);
#ifdef PORTALD_TEST_HOOKS
        if (getenv("PORTAL_RUNNER_NO_IDMAP")) {
                r->can_idmap = false;
                (void)pd_fail(&err, PD_E_UNSUPPORTED, "a test says so");
        }
#endif
        if (!r->cfg.user_ns)
                caps_note(r, "jobs run without a user namespace: root in a container is root on this machine");
        else if (r->can_idmap)
                caps_note(r, "each job has its own range of ids, by id-mapped mounts");
        else
                caps_note(r,
                        "all jobs share one range of ids, and images are copied for it: id-mapped mounts do not work "
                        "here (%.150s)",
                        err.text);
        caps_note_tools(r);
        if (!r->cfg.own_network)
                caps_note(r, "jobs use this machine's network");
        if (!r->rt.checkpoint)
                caps_note(r, "%s cannot checkpoint processes here: the capture criu is not available", r->rt.name);
}

/* What the runner before this one left: containers are taken over, what was half done begins again or is undone. */
static void adopt(struct runner *r)
{
        for (size_t i = 0; i < r->jobs.n; i++) {
                struct job *j = r->jobs.at[i];
                struct pd_error err;

                if (!job_live(j))
                        continue;
                if (j->phase == PHASE_PREPARING) {
                        start_resume_after_restart(j);
                        continue;
                }
                measure_watch_progress(j);
                if (monitor_watch(j, &err) < 0)
                        log_error("%s", err.text);
                if (hold_is(j))
                        hold_after_restart(j);
                else
                        save_after_restart(j);
                log_info("%s is taken over (%s, generation %llu)", j->id, phase_text(j->phase),
                        (unsigned long long)j->generation);
                orders_check(j);
        }
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
        (void)arg;
        log_info("signal %u: the runner ends, jobs run on", si->ssi_signo);
        (void)sd_notify(0, "STOPPING=1");
        return sd_event_exit(sd_event_source_get_event(s), 0);
}

static int open_loop(struct runner *r, struct pd_error *err)
{
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
        if (sd_event_default(&r->loop) < 0 ||
                sd_event_add_signal(r->loop, &r->stop_signal[0], SIGTERM, on_signal, r) < 0 ||
                sd_event_add_signal(r->loop, &r->stop_signal[1], SIGINT, on_signal, r) < 0)
                return pd_fail(err, PD_E_NOMEM, "no event loop: %m");
        (void)sd_event_set_watchdog(r->loop, 1); /* only a live loop feeds it */
        return 0;
}

/* A job that another boot left behind has ended with it; its exit code went with that, too. */
static void forget_other_boots(struct runner *r)
{
        for (size_t i = 0; i < r->jobs.n; i++) {
                struct job *j = r->jobs.at[i];

                if (streq(j->boot_id, r->boot_id))
                        continue;
                j->pid = j->pid_start = j->monitor_pid = j->monitor_start = 0;
                j->notice_boot_us = 0; /* counted on a clock that has begun anew */
                if (j->started_boot_us && job_live(j) && !j->frozen_boot_us)
                        j->frozen_boot_us =
                                j->started_boot_us + j->still_us; /* how long it ran is not known: nothing is counted */
                if (job_live(j) && j->phase != PHASE_PREPARING && !save_committed(j))
                        job_set_cause(j, "machine_lost");
                (void)str_format(j->boot_id, sizeof j->boot_id, "%s", r->boot_id);
        }
}

static int open_all(struct runner *r, struct pd_error *err)
{
        int e;

        if ((e = runtime_probe(r, err)) < 0 ||
                (e = cgroups_open(&r->cg, r->cfg.state_dir, r->cfg.private_cgroup_mount, err)) < 0)
                return e;
        say_what_is_missing(r);
        images_tidy(r);
        if ((e = jobs_load(r, err)) < 0 || (e = orders_load(r, err)) < 0)
                return e;
        r->loaded = true;
        forget_other_boots(r);
        finish_sweep(r);
        adopt(r);
        if ((e = captures_probe(r, err)) < 0 || (e = serve_open(r, err)) < 0)
                return e;
        return measure_open(r, err);
}

static void close_all(struct runner *r)
{
        serve_close(r);
        logs_close(r);
        if (r->loaded)
                finish_leave(r);
        while (r->jobs.n > 0)
                (void)job_free(r->jobs.at[0]);
        vec_free(&r->jobs);
        images_close(r);
        sd_event_source_disable_unref(r->ticker);
        sd_event_source_disable_unref(r->stop_signal[0]);
        sd_event_source_disable_unref(r->stop_signal[1]);
        json_decref(r->captures);
        json_decref(r->notes);
        json_decref(r->cfg.image_roots);
        free(r->rt.path);
        free(r->cfg.state_dir), free(r->cfg.socket), free(r->cfg.socket_group), free(r->cfg.runtime),
                free(r->cfg.conmon);
        free(r->cfg.plugin_dir), free(r->cfg.plugin_host), free(r->cfg.image_store);
        sd_event_unref(r->loop);
}

static int run(struct runner *r, const struct options *o, struct pd_error *err)
{
        pd_cleanup(closep) int lock = -1;
        int e;

        if ((e = read_config(r, o, err)) < 0)
                return e;
        if (o->vacate)
                return vacate_main(r->cfg.socket);
        if (geteuid() != 0)
                return pd_fail(err, PD_E_PERM,
                        "portal-runner must be started by root: it makes namespaces, mounts and cgroups");
        if ((e = make_dirs(r, err)) < 0 || (e = lock_state(r, &lock, err)) < 0 || (e = open_loop(r, err)) < 0)
                return e;
        read_ids(r);
        r->notes = json_array();
        if ((e = open_all(r, err)) < 0)
                return e;
        (void)sd_notify(0, "READY=1");
        log_info("portal-runner %s is ready at %s: %zu jobs known", PORTALD_VERSION, r->cfg.socket, r->jobs.n);
        e = sd_event_loop(r->loop);
        return e < 0 ? pd_fail(err, PD_E_INTERNAL, "the event loop failed: %s", strerror(-e)) : e;
}

int main(int argc, char **argv)
{
        struct options o = { .network = "host" };
        struct runner r = { .listen_fd = -1 };
        struct pd_error err = { 0 };
        int code = parse(argc, argv, &o);

        if (code >= 0)
                return code;
        log_open("portal-runner", o.verbose ? LOG_DEBUG : LOG_INFO);
        (void)umask(022);
        code = run(&r, &o, &err);
        if (code < 0)
                log_error("%s", err.text);
        close_all(&r);
        return code < 0 ? 1 : code;
}
