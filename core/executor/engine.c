/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/internal.h"

#include "base/log.h"

struct id engine_id(struct engine *e)
{
        uint8_t random[10];

        e->env->ops->random(e->env, random, sizeof random);
        return id_make(now_wall(e), random);
}

static void on_tick(void *arg)
{
        check_due(arg);
}

static void on_lease(void *arg)
{
        struct engine *e = arg;

        if (!e->stopping && !e->broken)
                leases_review(e);
}

int engine_new(struct engine **ret, struct env *env, const struct engine_site *site, struct pd_error *err)
{
        pd_cleanup(engine_freep) struct engine *e = calloc(1, sizeof *e);
        int r;

        if (!e)
                return pd_fail(err, PD_E_NOMEM, "no memory for the engine");
        e->env = env;
        e->site = site;
        e->started_wall_us = now_wall(e);
        e->wall_ahead_us = e->started_wall_us - now_boot(e);
        r = env->ops->timer_new(env, &e->tick, on_tick, e, err);
        if (r >= 0)
                r = env->ops->timer_new(env, &e->lease_timer, on_lease, e, err);
        if (r >= 0)
                r = place_start(e, err);
        if (r >= 0)
                r = env->ops->timer_new(env, &e->prune_timer, prune_due, e, err);
        if (r >= 0)
                r = settings_resolve((const json_t *const[SETTING_LEVEL_N]){ NULL }, &e->built_in, NULL, err);
        if (r < 0)
                return r;
        *ret = pd_steal(e);
        return 0;
}

void engine_stop(struct engine *e)
{
        if (e)
                e->stopping = true;
}

struct engine *engine_free(struct engine *e)
{
        struct env_timer *timers[4];

        if (!e)
                return NULL;
        memcpy(timers, (struct env_timer *[]){ e->tick, e->lease_timer, e->place_timer, e->prune_timer },
                sizeof timers);
        e->stopping = true;
        connections_free(e);
        offers_end(e);
        intents_free(e);
        for (size_t i = 0; i < ARRAY_LEN(timers); i++)
                if (timers[i])
                        e->env->ops->timer_free(timers[i]);
        while (e->waiters) {
                struct waiter *w = e->waiters;

                e->waiters = w->next;
                free(w);
        }
        while (e->tickets) {
                struct pd_error err;

                (void)pd_fail(&err, PD_E_TRANSIENT, "portald is stopping: ask again");
                ticket_reply(e->tickets, &err, NULL);
        }
        while (e->watches)
                engine_watch_free(e->watches);
        while (e->keys) {
                struct pending_key *k = e->keys;

                e->keys = k->next;
                free(k);
        }
        jobs_free(e);
        money_free(e);
        free(e);
        return NULL;
}

/* --- start: load store -> renew leases -> serve -> reconcile, connection by connection --- */
static int load_job(void *arg, const struct job *j)
{
        struct engine *e = arg;
        struct entry *en = jobs_add(e, j);

        if (!en)
                return -(int)PD_E_NOMEM;
        if (j->state == JOB_QUEUED)
                jobs_queue(e, en, true);
        if (!planted(PLANT_CLOCKS_UNCHECKED))
                jobs_due(e, en, now_boot(e));
        return 0;
}

static int load_machine(void *arg, const struct machine *m)
{
        return machine_load(arg, m);
}

static int load_intent(void *arg, const struct intent *i)
{
        return intent_load(arg, i);
}

/* Jobs that had a machine get the engine's own bookkeeping back; the runner's list brings the rest. */
static int load_live(struct engine *e, struct entry *en, struct pd_error *err)
{
        struct mach *m = machine_find(e, en->job.machine);
        pd_cleanup(spec_freep) struct spec *s = NULL;
        js_owned *doc = NULL;
        struct settings set;
        int r;

        if (!m || !live_new(en, m))
                return pd_fail(err, PD_E_CORRUPT, "a placed job's machine is not in the store");
        r = job_load_spec(e, en->job.id, &s, &set, &doc, NULL, err);
        if (r < 0)
                return r;
        live_fill(en->live, s, &set, doc);
        if (en->job.move != MOVE_NONE && !id_equal(en->job.other, en->job.machine))
                live_other(en, machine_find(e, en->job.other));
        en->live->container_wall_us = en->job.started_wall_us;
        return 0;
}

int engine_start(struct engine *e, struct pd_error *err)
{
        int r = store_load(e->env->store, load_job, load_machine, load_intent, e, err);

        for (size_t i = 0; r >= 0 && i < e->slots_n; i++)
                if (e->slots[i] && job_state_placed((enum job_state)e->slots[i]->job.state))
                        r = load_live(e, e->slots[i], err);
        if (r >= 0)
                r = offers_start(e, err);
        if (r >= 0)
                r = money_start(e, err);
        if (r >= 0)
                r = connections_start(e, err);
        if (r < 0)
                return r;
        log_info("%zu jobs, %zu machines, %zu connections", e->entries_n, e->machines.n, e->connections.n);
        if (settings_are_stale(e))
                settings_apply(e, true);
        jobs_arm(e);
        leases_review(e);
        place_soon(e);
        e->env->ops->timer_set(e->prune_timer, now_boot(e) + 5 * USEC_PER_SEC);
        return 0;
}

/* --- reload --- */
static bool keeps_machines(const struct engine *e, const struct engine_site *site, struct pd_error *err)
{
        for (size_t i = 0; i < e->slots_n; i++) {
                const struct live *l = e->slots[i] ? e->slots[i]->live : NULL;
                bool there = false;

                if (!l)
                        continue;
                for (size_t k = 0; k < site->connections_n; k++)
                        there |= streq(site->connections[k].name, l->machine->rec.connection);
                if (!there) {
                        (void)pd_fail(err, PD_E_CONFLICT,
                                "connection \"%s\" has live jobs: stop or suspend them before it is removed",
                                l->machine->rec.connection);
                        return false;
                }
        }
        vec_foreach (m, &e->machines) {
                bool there = false;

                if ((*m)->rec.own || (*m)->rec.state == PD_MACHINE_GONE)
                        continue;
                for (size_t k = 0; k < site->connections_n; k++)
                        there |= streq(site->connections[k].name, (*m)->rec.connection);
                if (!there) {
                        (void)pd_fail(err, PD_E_CONFLICT,
                                "connection \"%s\" has a machine that costs: it can go once `portal machines` lists "
                                "none of it",
                                (*m)->rec.connection);
                        return false;
                }
        }
        return true;
}

static int check_settings(const struct engine_site *site, struct pd_error *err)
{
        const json_t *layers[SETTING_LEVEL_N] = { NULL };
        struct settings s;

        layers[SETTING_SITE] = site->settings;
        return settings_resolve(layers, &s, NULL, err);
}

int engine_reload(struct engine *e, const struct engine_site *site, struct pd_error *err)
{
        const struct engine_site *old = e->site;
        int r = check_settings(site, err);

        if (r < 0 || !keeps_machines(e, site, err))
                return r < 0 ? r : -(int)PD_E_CONFLICT;
        e->site = site;
        r = connections_start(e, err);
        offers_fetched(e, NULL); /* price_max_age and the like may be others */
        if (r < 0)
                e->site = old;
        if (r >= 0)
                settings_apply(e, false);
        if (r >= 0)
                r = money_site(e, err);
        return r;
}

/* --- watches --- */
struct engine_watch *engine_watch_new(struct engine *e, engine_watch_fn fn, void *arg)
{
        struct engine_watch *w = calloc(1, sizeof *w);

        if (!w)
                return NULL;
        *w = (struct engine_watch){ .next = e->watches, .engine = e, .fn = fn, .arg = arg };
        e->watches = w;
        return w;
}

void engine_watch_free(struct engine_watch *w)
{
        for (struct engine_watch **at = w ? &w->engine->watches : NULL; at && *at; at = &(*at)->next)
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        free(w);
}

bool engine_alive(const struct engine *e)
{
        return !e->broken;
}
