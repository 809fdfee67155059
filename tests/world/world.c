/* SPDX-License-Identifier: Apache-2.0 */
#include "world/world.h"

#include <portald/provider.h>
#include <stdio.h>
#include <unistd.h>

#include "world/sim.h"

struct env_timer {
        struct world *w;
        void (*fire)(void *arg);
        void *arg;
        int64_t at_boot_us;
        bool freed;
};

struct env_plugin {
        struct world *w;
};

static struct world *world_of(struct env *e)
{
        return (struct world *)e;
}

/* --- clock, chance, events --- */
static int64_t now_wall_us(struct env *e)
{
        return world_of(e)->wall_us;
}

static int64_t now_boot_us(struct env *e)
{
        return world_of(e)->boot_us;
}

static uint64_t rng_next(struct world *w) /* xorshift64* */
{
        w->rng ^= w->rng >> 12;
        w->rng ^= w->rng << 25;
        w->rng ^= w->rng >> 27;
        return w->rng * UINT64_C(2685821657736338717);
}

/* --- faults --- */
#define FAULT_NAME(name_, text_) text_,
const char *const world_fault_names[FAULT_N] = { WORLD_FAULTS(FAULT_NAME) };
#undef FAULT_NAME

uint64_t world_chance(struct world *w, uint64_t below)
{
        w->chance += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
        uint64_t z = w->chance;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return below ? z % below : 0;
}

bool world_at_work(const struct world *w)
{
        if (w->open_requests > 0 || (w->store && store_queued(w->store) > 0))
                return true;
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (world_live(&w->jobs[i]) && !streq(w->jobs[i].phase, "running"))
                        return true;
        return false;
}

void world_struck(struct world *w, enum world_fault f)
{
        w->struck[f]++;
        w->at_work[f] += world_at_work(w);
        if (w->watch && w->watch->struck)
                w->watch->struck(w, f);
}

bool world_fault(struct world *w, enum world_fault f)
{
        if (!w->rate[f] || w->dying || world_chance(w, 10000) >= w->rate[f])
                return false;
        world_struck(w, f);
        return true;
}

static void random_bytes(struct env *e, void *ret, size_t n)
{
        uint8_t *p = ret;

        for (size_t i = 0; i < n; i++)
                p[i] = (uint8_t)(rng_next(world_of(e)) >> 32);
}

void sim_later(struct world *w, int64_t us, void (*fire)(struct world *w, void *arg), void *arg)
{
        const struct sim_event ev = {
                .at_boot_us = w->boot_us + us, .order = w->next_order++, .fire = fire, .arg = arg
        };

        if (!vec_push(&w->events, ev))
                abort();
}

static int timer_new(struct env *e, struct env_timer **ret, void (*fire)(void *arg), void *arg, struct pd_error *err)
{
        struct world *w = world_of(e);
        struct env_timer *t = calloc(1, sizeof *t);

        (void)err;
        if (!t || !vec_push(&w->timers, t))
                abort();
        *t = (struct env_timer){ .w = w, .fire = fire, .arg = arg, .at_boot_us = INT64_MAX };
        *ret = t;
        return 0;
}

static void timer_set(struct env_timer *t, int64_t at_boot_us)
{
        t->at_boot_us = at_boot_us;
}

static void timer_free(struct env_timer *t)
{
        t->freed = true; /* swept by the loop: a timer may free itself while it fires */
        t->at_boot_us = INT64_MAX;
}

static void timers_sweep(struct world *w)
{
        for (size_t i = w->timers.n; i-- > 0;)
                if (w->timers.at[i]->freed) {
                        free(w->timers.at[i]);
                        vec_swap_remove(&w->timers, i);
                }
}

/* --- the provider: one own machine --- */
struct plugin_note {
        struct env_plugin *plugin;
        char slot[32];
        env_answer_fn done;
        void *arg;
};

static json_t *machine_item(void)
{
        return json_pack("[{s:s,s:s,s:s,s:i,s:i,s:i,s:s,s:i,s:i,s:s}]", "id", "own-1", "zone", "here", "type", "host",
                "market", PD_MARKET_ON_DEMAND, "state", PD_MACHINE_RUNNING, "reason", 0, "endpoint", "sim",
                "created_wall_us", 0, "stop_wall_us", 0, "op_token", "");
}

static void plugin_answer(struct world *w, void *arg)
{
        struct plugin_note *n = arg;
        js_owned *answer = NULL, *items = NULL;

        if (streq(n->slot, "caps"))
                answer = json_pack("{s:{s:i,s:i,s:i}}", "ret", "flags", PD_CAP_OWN_MACHINES, "lease", PD_LEASE_JOB_ONLY,
                        "stream", PD_STREAM_UNIX);
        else
                answer = json_pack("{s:{}}", "ret");
        if (streq(n->slot, "offers"))
                items = json_pack("[{s:s,s:s,s:i,s:s,s:I,s:i,s:i,s:I,s:I}]", "zone", "here", "type", "host", "market",
                        PD_MARKET_ON_DEMAND, "currency", "USD", "price_nano_hour", (json_int_t)100000000, "cpu_milli",
                        8000, "gpus", 0, "memory_bytes", (json_int_t)16 << 30, "price_at_wall_us",
                        (json_int_t)w->wall_us);
        else if (streq(n->slot, "launch") || streq(n->slot, "find") || streq(n->slot, "describe"))
                items = machine_item();
        else if (streq(n->slot, "list_owned"))
                items = json_array();
        else if (streq(n->slot, "terminate"))
                w->power_calls++;
        if (w->watch && w->watch->plugin)
                w->watch->plugin(w, n->slot);
        if (world_fault(w, FAULT_PLUGIN_FAILS)) {
                struct pd_error err;

                (void)pd_fail(&err, PD_E_TRANSIENT, "the provider cannot be reached");
                n->done(n->arg, &err, NULL, NULL, NULL, 0);
        } else {
                n->done(n->arg, NULL, answer, items, NULL, 0);
        }
        free(n);
}

static int plugin_open(struct env *e, const char *name, const char *path, enum pd_kind kind, const json_t *config,
        bool in_process, struct env_plugin **ret, struct pd_error *err)
{
        struct env_plugin *p = calloc(1, sizeof *p);

        (void)name, (void)path, (void)kind, (void)config, (void)in_process, (void)err;
        if (!p)
                abort();
        p->w = world_of(e);
        *ret = p;
        return 0;
}

static int plugin_call(struct env_plugin *p, const char *slot, const json_t *args, const char *token,
        int64_t timeout_us, env_answer_fn done, void *arg, struct pd_error *err)
{
        struct plugin_note *n;

        (void)args, (void)token, (void)timeout_us;
        if (p->w->dying)
                return pd_fail(err, PD_E_TRANSIENT, "the daemon is dead");
        n = calloc(1, sizeof *n);
        if (!n)
                abort();
        (void)str_format(n->slot, sizeof n->slot, "%s", slot);
        n->plugin = p;
        n->done = done;
        n->arg = arg;
        sim_later(p->w, USEC_PER_MSEC, plugin_answer, n);
        return 0;
}

/* As the real one: what is pending is called back before it is gone. */
static void plugin_close(struct env_plugin *p)
{
        struct world *w = p->w;

        for (size_t i = w->events.n; i-- > 0;) {
                struct plugin_note *n = w->events.at[i].arg;
                struct pd_error err;

                if (w->events.at[i].fire != plugin_answer || n->plugin != p)
                        continue;
                vec_swap_remove(&w->events, i);
                (void)pd_fail(&err, PD_E_CANCELLED, "the plugin is closed");
                n->done(n->arg, &err, NULL, NULL, NULL, 0);
                free(n);
        }
        free(p);
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

static int apply(struct env *e, struct txn *t, store_done_fn done, void *arg, struct pd_error *err)
{
        struct world *w = world_of(e);
        struct last_word *l;
        int r;

        if (w->dying || (w->engine && world_fault(w, FAULT_DEATH_BEFORE_COMMIT))) {
                w->dying = true;
                txn_free(t);
                return pd_fail(err, PD_E_CANCELLED, "the daemon died before it was on disk");
        }
        l = calloc(1, sizeof *l);
        if (!l)
                abort();
        *l = (struct last_word){ w, done, arg };
        r = store_apply(e->store, t, on_disk, l, err);
        if (r < 0)
                free(l);
        else if (w->engine && world_fault(w, FAULT_DEATH_AFTER_COMMIT))
                w->dying = true;
        return r;
}

static void fatal(struct env *e, const struct pd_error *why)
{
        struct world *w = world_of(e);

        if (w->dying)
                return;
        w->fatal = *why;
        printf("# fatal: %s\n", why->text);
}

static const struct env_ops ops = {
        .now_wall_us = now_wall_us,
        .now_boot_us = now_boot_us,
        .random = random_bytes,
        .timer_new = timer_new,
        .timer_set = timer_set,
        .timer_free = timer_free,
        .stream_open = sim_stream_open,
        .stream_request = sim_stream_request,
        .stream_close = sim_stream_close,
        .plugin_open = plugin_open,
        .plugin_call = plugin_call,
        .plugin_close = plugin_close,
        .apply = apply,
        .fatal = fatal,
};

/* --- running --- */
void world_settle(struct world *w)
{
        while (w->store && store_queued(w->store) > 0 && !w->fatal.code)
                (void)sd_event_run(w->loop, 1000000);
}

bool world_step(struct world *w, int64_t until)
{
        struct env_timer *t = NULL;
        size_t ev = SIZE_MAX;
        int64_t at = until;

        for (size_t i = 0; i < w->events.n; i++) {
                const struct sim_event *x = &w->events.at[i];

                if (x->at_boot_us > at || (ev != SIZE_MAX && x->at_boot_us == at && x->order > w->events.at[ev].order))
                        continue;
                at = x->at_boot_us;
                ev = i;
        }
        vec_foreach (p, &w->timers)
                if ((*p)->at_boot_us < at || (ev == SIZE_MAX && !t && (*p)->at_boot_us <= at)) {
                        t = *p;
                        at = t->at_boot_us;
                }
        if (!t && ev == SIZE_MAX)
                return false;
        if (at > w->boot_us) {
                w->wall_us += at - w->boot_us;
                w->boot_us = at;
        }
        if (t) {
                t->at_boot_us = INT64_MAX;
                t->fire(t->arg);
        } else {
                struct sim_event x = w->events.at[ev];

                vec_swap_remove(&w->events, ev);
                x.fire(w, x.arg);
        }
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
        const struct store_options o = {
                .dir = w->dir, .new_installation = fresh, .installation = "ins_00000000000000000000000000"
        };
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

int world_new(struct world *w, const json_t *site_settings)
{
        *w = (struct world){ .wall_us = INT64_C(1796000000) * USEC_PER_SEC,
                .boot_us = USEC_PER_HOUR,
                .rng = 88172645463325252,
                .reachable = true,
                .save_us = 2 * USEC_PER_SEC,
                .start_us = 3 * USEC_PER_SEC,
                .stop_us = USEC_PER_SEC };
        (void)str_format(w->dir, sizeof w->dir, "%s/portald-world-XXXXXX", /* in memory, the same code costs no disk */
                str_or(getenv("PORTALD_WORLD_DIR"), access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp"));
        if (!mkdtemp(w->dir) || sd_event_new(&w->loop) < 0)
                return -1;
        w->checkpoints = json_object();
        w->site_settings = site_settings ? json_deep_copy(site_settings) : json_object();
        w->connection = (struct engine_connection){ .name = "lab", .provider = "local", .plugin = "/none" };
        w->captures[0] = (struct engine_backend){ .name = "values", .plugin = "/none" };
        w->captures[1] = (struct engine_backend){ .name = "command", .plugin = "/none" };
        w->captures[2] = (struct engine_backend){ .name = "restart", .plugin = "/none" };
        w->vault = (struct engine_backend){ .name = "main", .plugin = "/none" };
        w->site = (struct engine_site){ .connections = &w->connection,
                .connections_n = 1,
                .captures = w->captures,
                .captures_n = 3,
                .vaults = &w->vault,
                .vaults_n = 1,
                .default_vault = "main",
                .settings = w->site_settings,
                .history_us = 60 * USEC_PER_DAY,
                .version = "world" };
        return start(w, true);
}

static void stop(struct world *w)
{
        world_settle(w);
        w->engine = engine_free(w->engine);
        w->store = store_close(w->store);
        timers_sweep(w);
        sim_forget_requests(w);
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
        vec_foreach (t, &w->timers)
                free(*t);
        vec_free(&w->timers);
        vec_foreach (x, &w->events)
                free(x->arg);
        vec_free(&w->events);
        for (size_t i = 0; i < SIM_JOBS; i++)
                sim_job_clear(&w->jobs[i]);
        json_decref(w->checkpoints);
        json_decref(w->site_settings);
        (void)sd_event_unref(w->loop);
        (void)str_format(command, sizeof command, "rm -rf '%s'", w->dir);
        if (system(command) != 0)
                printf("# %s stays\n", w->dir);
}

/* --- asking --- */
static void on_reply(void *arg, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        struct reply *r = arg;

        (void)blob;
        (void)n;
        r->done = true;
        if (err)
                r->err = *err;
        r->body = body;
}

void reply_clear(struct reply *r)
{
        json_decref(r->body);
        *r = (struct reply){ 0 };
}

void world_ask(struct world *w, const char *verb, const char *target, json_t *args, const char *key, struct reply *ret)
{
        js_owned *given = args ? args : json_object();
        const struct engine_request rq = { .verb = verb,
                .actor = { .uid = 1000, .user = "ada", .admin = true },
                .target = target,
                .args = given,
                .key = key };

        *ret = (struct reply){ 0 };
        (void)engine_request(w->engine, &rq, on_reply, ret);
        world_settle(w);
        for (int i = 0; i < 600 && !ret->done && !w->fatal.code && !w->dying; i++)
                world_run(w, 100 * USEC_PER_MSEC);
}

void world_submit(struct world *w, const char *settings, char id[40])
{
        json_error_t e;
        json_t *set = json_loads(settings, 0, &e);
        struct reply r;

        id[0] = '\0';
        world_ask(w, "submit", NULL,
                json_pack("{s:{s:s,s:[s,s]},s:o}", "spec", "image", "oci:/srv/images/debian", "command", "train", "x",
                        "settings", json_pack("{s:o}", "flag", set ? set : json_object())),
                NULL, &r);
        if (r.err.code)
                printf("# submit: %s\n", r.err.text);
        (void)str_format(id, 40, "%s", js_str(json_object_get(r.body, "job"), "id", ""));
        reply_clear(&r);
}

const char *world_job(struct world *w, const char *id, const char *member)
{
        static char ring[8][512];
        static unsigned int at;
        char *buf = ring[at++ % 8];
        struct reply r;

        world_ask(w, "show", id, NULL, NULL, &r);
        (void)str_format(buf, sizeof ring[0], "%s", r.err.code ? r.err.text : js_str(r.body, member, ""));
        reply_clear(&r);
        return buf;
}

int64_t world_job_int(struct world *w, const char *id, const char *member)
{
        struct reply r;
        int64_t v;

        world_ask(w, "show", id, NULL, NULL, &r);
        v = js_int(r.body, member, INT64_MIN);
        reply_clear(&r);
        return v;
}
