/* SPDX-License-Identifier: Apache-2.0 */
/* The world's life: the daemon on it, its store, its deaths; and how time goes on. */
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "simulate/disk.h"
#include "simulate/parts.h"

#define WALL_US (INT64_C(1796000000) * USEC_PER_SEC)

static struct world *world_of(struct env *e)
{
        return (struct world *)e;
}

static int64_t now_wall_us(struct env *e)
{
        return world_of(e)->wall_us;
}

static int64_t now_boot_us(struct env *e)
{
        return world_of(e)->boot_us;
}

/* --- the store: the real one, and a daemon that can die on either side of a commit --- */
struct last_word {
        struct world *w;
        store_done_fn done;
        void *arg;
};

static void on_disk(void *arg, const struct pd_error *err)
{
        struct last_word *l = arg;
        struct pd_error dead;

        (void)pd_fail(&dead, PD_E_CANCELLED, "the daemon died before it heard of it");
        if (l->done)
                l->done(l->arg, l->w->dying ? &dead : err);
        free(l);
}

/* The change that is handed over next meets it, and no other: which of a commit's writes is struck would else depend on the threads. */
static void disk_strikes(struct world *w)
{
        if (!w->vfs || !w->engine || store_queued(w->store) > 0)
                return;
        if (world_fault(w, WORLD_FAULT_POWER_CUT)) {
                disk_arm(DISK_CUT, world_chance(w, 16));
                w->dying = w->power_cut = true;
        } else if (world_fault(w, WORLD_FAULT_DISK_FULL)) {
                disk_arm(DISK_FULL, world_chance(w, 2));
        } else if (world_fault(w, WORLD_FAULT_DISK_ERROR)) {
                disk_arm(DISK_ERROR, world_chance(w, 3));
        }
}

static int apply(struct env *e, struct txn *t, store_done_fn done, void *arg, struct pd_error *err)
{
        struct world *w = world_of(e);
        struct last_word *l;
        int r;

        if (w->dying || (w->engine && world_fault(w, WORLD_FAULT_DEATH_BEFORE_COMMIT))) {
                w->dying = true;
                txn_free(t);
                return pd_fail(err, PD_E_CANCELLED, "the daemon died before it was on disk");
        }
        l = calloc(1, sizeof *l);
        if (!l)
                abort();
        disk_strikes(w);
        *l = (struct last_word){ w, done, arg };
        r = store_apply(e->store, t, on_disk, l, err);
        if (r < 0)
                free(l);
        else if (w->engine && world_fault(w, WORLD_FAULT_DEATH_AFTER_COMMIT))
                w->dying = true;
        return r;
}

static void fatal(struct env *e, const struct pd_error *why)
{
        struct world *w = world_of(e);

        if (w->dying)
                return;
        if (w->vfs && disk_struck()) { /* it gives up, as it must, and is started again */
                w->dying = true;
                return;
        }
        w->fatal = *why;
        printf("# fatal: %s\n", why->text);
}

static const struct env_ops ops = {
        .now_wall_us = now_wall_us,
        .now_boot_us = now_boot_us,
        .random = env_random,
        .timer_new = env_timer_new,
        .timer_set = env_timer_set,
        .timer_free = env_timer_free,
        .stream_open = sim_stream_open,
        .stream_request = sim_stream_request,
        .stream_close = sim_stream_close,
        .plugin_open = env_plugin_open,
        .plugin_call = env_plugin_call,
        .plugin_close = env_plugin_close,
        .apply = apply,
        .fatal = fatal,
};

/* --- running --- */
void world_settle(struct world *w)
{
        while (w->store && store_queued(w->store) > 0 && !w->fatal.code)
                if (w->durable)
                        (void)sd_event_run(w->loop, 1000000);
                else
                        store_flush(w->store);
}

bool world_step(struct world *w, int64_t until)
{
        struct world_due *d = w->heap.n ? w->heap.at[0] : NULL;

        if (!d || d->at_boot_us > until)
                return false;
        if (d->at_boot_us > w->boot_us) {
                w->wall_us += d->at_boot_us - w->boot_us;
                w->boot_us = d->at_boot_us;
        }
        due_cancel(w, d);
        w->events_n++;
        d->fire(w, d);
        world_settle(w);
        timers_sweep(w);
        return true;
}

void world_run(struct world *w, int64_t us)
{
        int64_t until = w->boot_us + us;

        world_settle(w);
        while (!w->fatal.code && !w->dying && world_step(w, until))
                ;
        if (w->dying)
                return;
        w->wall_us += until - w->boot_us;
        w->boot_us = until;
}

static int start(struct world *w, bool fresh)
{
        const struct store_options o = { .dir = w->dir,
                .new_installation = fresh || w->keeper,
                .ballast_bytes = w->ballast_bytes,
                .vfs = w->vfs,
                .simulated = !w->durable,
                .installation = "ins_00000000000000000000000000" };
        struct pd_error err;

        if (store_open(&w->store, w->loop, &o, &err) < 0) {
                printf("# %s\n", err.text);
                return -1;
        }
        w->env = (struct env){ .ops = &ops, .store = w->store };
        w->dying = false;
        if (engine_new(&w->engine, &w->env, &w->site, &err) < 0 || engine_start(w->engine, &err) < 0) {
                printf("# %s\n", err.text);
                return -1;
        }
        if (w->watch && w->watch->started)
                w->watch->started(w);
        return 0;
}

static void site_init(struct world *w, const json_t *settings)
{
        static const char *const captures[] = { "values", "command", "restart" };

        w->checkpoints = json_object();
        w->site_settings = settings ? json_deep_copy(settings) : json_object();
        for (size_t i = 0; i < ARRAY_LEN(captures); i++)
                w->captures[i] = (struct engine_backend){ .name = captures[i], .plugin = "/none" };
        w->vault = (struct engine_backend){ .name = "main", .plugin = "/none" };
        w->site = (struct engine_site){ .captures = w->captures,
                .captures_n = ARRAY_LEN(w->captures),
                .vaults = &w->vault,
                .vaults_n = 1,
                .default_vault = "main",
                .settings = w->site_settings,
                .history_us = 60 * USEC_PER_DAY,
                .version = "world" };
}

/* SQLite's own memory files live as long as one connection does: this one. Nothing is written, and a death loses what it should lose. */
static int memory_init(struct world *w)
{
        char path[128];

        if (w->durable || w->vfs)
                return 0;
        w->vfs = "memdb";
        (void)str_format(path, sizeof path, "%s/portald.db", w->dir);
        return sqlite3_open_v2(path, (sqlite3 **)&w->keeper, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, w->vfs) ==
                               SQLITE_OK
                       ? 0
                       : -1;
}

int world_new_with(struct world *w, const struct world_options *o)
{
        const char *parent = str_or(getenv("PORTALD_WORLD_DIR"), /* in memory, the same code costs no disk */
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp");

        *w = (struct world){ .wall_us = o->wall_us ? o->wall_us : WALL_US,
                .boot_us = USEC_PER_HOUR,
                .rng = o->seed * 6364136223846793005U + 88172645463325252U,
                .chance = o->seed,
                .save_us = 2 * USEC_PER_SEC,
                .start_us = 3 * USEC_PER_SEC,
                .stop_us = USEC_PER_SEC,
                .durable = o->durable,
                .ballast_bytes = o->ballast_bytes,
                .vfs = o->vfs };
        (void)str_format(w->dir, sizeof w->dir, "%s/portald-world-XXXXXX", o->dir ? o->dir : parent);
        if (!mkdtemp(w->dir) || sd_event_new(&w->loop) < 0)
                return -1;
        site_init(w, o->settings);
        if (memory_init(w) < 0)
                return -1;
        if (!o->no_lab) {
                (void)world_add_own(w, "lab", 8000, UINT64_C(16) << 30, 0);
                w->lab = w->machines.at[0];
        }
        return o->wait ? 0 : start(w, true);
}

int world_new(struct world *w, const json_t *site_settings)
{
        return world_new_with(w, &(struct world_options){ .settings = site_settings });
}

int world_start(struct world *w)
{
        return start(w, true);
}

int world_reload(struct world *w, struct pd_error *err)
{
        return engine_reload(w->engine, &w->site, err);
}

static void stop(struct world *w)
{
        world_settle(w);
        w->engine = engine_free(w->engine);
        if (w->power_cut)
                disk_cut();
        else if (w->vfs)
                disk_mend();
        w->store = store_close(w->store);
        if (w->power_cut && !disk_power_back(world_chance(w, UINT64_MAX)))
                abort();
        w->power_cut = false;
        timers_sweep(w);
        sim_forget_streams(w);
}

void world_die(struct world *w)
{
        w->dying = true;
        stop(w);
}

int world_restart(struct world *w)
{
        if (w->engine)
                stop(w);
        return start(w, false);
}

void world_free(struct world *w)
{
        char command[128];

        if (w->engine || w->store)
                stop(w);
        (void)sqlite3_close(w->keeper);
        later_free_all(w);
        vec_free(&w->freed_timers);
        connections_free_all(w);
        vec_foreach (m, &w->machines)
                sim_machine_free(*m);
        vec_foreach (m, &w->past_machines)
                sim_machine_free(*m);
        vec_free(&w->machines);
        vec_free(&w->past_machines);
        json_decref(w->checkpoints);
        json_decref(w->site_settings);
        (void)sd_event_unref(w->loop);
        (void)str_format(command, sizeof command, "rm -rf '%s'", w->dir);
        if (system(command) != 0)
                printf("# %s stays\n", w->dir);
}
