/* SPDX-License-Identifier: Apache-2.0 */
/* One seed: what jobs do, what strikes when, and how time goes on. */
#include "simulate/parts.h"
#include "simulate/disk.h"
#include "world/swarm_parts.h"

#define EVENTS_MAX 4000000
/* --- dice --- */
uint64_t swarm_dice(struct swarm *s, uint64_t below)
{
        s->rng += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = s->rng;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return below ? z % below : 0;
}

bool swarm_percent(struct swarm *s, uint64_t p)
{
        return swarm_dice(s, 100) < p;
}

int64_t swarm_span(struct swarm *s, int64_t min_us, int64_t max_us)
{
        int64_t us = (int64_t)swarm_dice(s, (uint64_t)(max_us - min_us));

        for (uint64_t i = swarm_dice(s, 4); i > 0; i--)
                us /= 3;
        return min_us + us;
}

static struct swarm *swarm_of(struct world *w)
{
        return (struct swarm *)w;
}

/* --- what jobs do --- */
struct doing {
        char job[40];
        uint64_t generation;
        int what; /* 0 exits, 1 falls idle, 2 wakes up */
};

static void end_of(struct swarm *s, struct sim_job *j)
{
        static const struct {
                int code, sig;
                bool oom;
        } ends[] = { { 0, 0, false }, { 0, 0, false }, { 0, 0, false }, { 1, 0, false }, { 3, 0, false },
                { 139, 11, false }, { 137, 9, true } };
        size_t i = swarm_dice(s, ARRAY_LEN(ends));

        if (j->killing || !(streq(j->phase, "running") || streq(j->phase, "saving")))
                return;
        if (streq(j->phase, "saving"))
                (void)json_object_set_new(j->save, "state", json_string("failed"));
        sim_exit_as(&s->w, j, ends[i].code, ends[i].sig, ends[i].oom);
}

static void does(struct world *w, void *arg)
{
        struct doing *d = arg;
        struct sim_job *j = world_sim(w, d->job);

        if (j && j->generation == d->generation && d->what == 0)
                end_of(swarm_of(w), j);
        else if (j && j->generation == d->generation)
                j->idle = d->what == 1;
        free(d);
}

static void later(struct swarm *s, const struct sim_job *j, int what, int64_t us)
{
        struct doing *d = calloc(1, sizeof *d);

        if (!d)
                abort();
        *d = (struct doing){ .generation = j->generation, .what = what };
        (void)str_format(d->job, sizeof d->job, "%s", j->job);
        world_later(&s->w, us, does, d);
}

static void plan(struct swarm *s, const struct sim_job *j)
{
        if (s->quiet || swarm_percent(s, 75))
                later(s, j, 0, swarm_span(s, USEC_PER_MIN, s->quiet ? 12 * USEC_PER_HOUR : 2 * USEC_PER_DAY));
        if (swarm_percent(s, 40)) {
                int64_t from = swarm_span(s, USEC_PER_MIN, 8 * USEC_PER_HOUR);

                later(s, j, 1, from);
                if (swarm_percent(s, 50))
                        later(s, j, 2, from + swarm_span(s, USEC_PER_MIN, 4 * USEC_PER_HOUR));
        }
}

/* --- the world tells --- */
static void on_request(struct world *w, struct sim_machine *m, uint64_t generation, const json_t *body)
{
        const struct swarm_watch *watch = swarm_of(w)->run->watch;

        if (watch)
                watch->call(watch->arg, js_str(body, "op", "?"), body);
        oracle_request(&swarm_of(w)->o, m, generation, body);
}

static void on_truth(struct world *w, const struct sim_job *j)
{
        struct swarm *s = swarm_of(w);

        oracle_truth(&s->o, j);
        if (streq(j->phase, "running") && j->started_boot_us == w->boot_us && !json_is_object(j->save))
                plan(s, j);
}

static void on_gone(struct world *w, const struct sim_job *j)
{
        oracle_gone(&swarm_of(w)->o, j);
}

static void on_plugin(struct world *w, const char *connection, const char *slot, const json_t *args, const char *token)
{
        const struct swarm_watch *watch = swarm_of(w)->run->watch;

        if (watch)
                watch->call(watch->arg, slot, args);
        oracle_plugin(&swarm_of(w)->o, connection, slot, args, token);
}

static void on_struck(struct world *w, enum world_fault f)
{
        oracle_log(&swarm_of(w)->o, "!! %s", world_fault_names[f]);
}

static void on_machine(struct world *w, struct sim_machine *m)
{
        oracle_machine(&swarm_of(w)->o, m);
}

static void on_started(struct world *w)
{
        oracle_up(&swarm_of(w)->o);
}

/* --- faults with a time of their own --- */
static void clock_step(struct swarm *s, int way)
{
        oracle_after(&s->o); /* what was due until now may have been done */
        s->o.skewed = true;
        s->o.stepped_from_wall_us = s->w.wall_us;
        s->o.stepped_boot_us = s->w.boot_us;
        world_step_clock(&s->w,
                way * (int64_t)(USEC_PER_SEC + (int64_t)world_chance(&s->w,
                                                       world_chance(&s->w, 2) ? 6 * USEC_PER_HOUR : USEC_PER_MIN)));
}

static void reload(struct swarm *s)
{
        struct engine_site *next = s->reloads++ % 2 ? &s->w.site : &s->other_site;
        struct pd_error err;

        if (!s->w.engine || s->w.dying)
                return;
        s->other_site = s->w.site;
        for (size_t i = 0; i < s->w.site_connections.n; i++)
                s->other_connections[i] = s->w.site_connections.at[i];
        s->other_connections[0].options = s->other_options;
        s->other_site.connections = s->other_connections;
        if (engine_reload(s->w.engine, next, &err) < 0)
                oracle_broken(&s->o, 21, "a good site was refused: %s", err.text);
}

/* One that answers, mostly one with something on it. */
static struct sim_machine *any_machine(struct swarm *s)
{
        size_t n = s->w.machines.n, from = world_chance(&s->w, n);

        for (size_t i = 0; i < 2 * n; i++) {
                struct sim_machine *m = s->w.machines.at[(from + i) % n];
                bool busy = false;

                vec_foreach (j, &m->jobs)
                        busy |= world_live(*j);
                if (m->reachable && (busy || i >= n))
                        return m;
        }
        return s->w.lab;
}

static void comes_back(struct world *w, void *arg)
{
        pd_cleanup(freep) char *endpoint = arg;
        struct sim_machine *m = world_machine(w, endpoint);

        if (m && !m->reachable)
                sim_reach(m, true);
}

static void down(struct swarm *s, const struct sim_machine *m, int64_t most_us)
{
        char *endpoint = strdup(m->endpoint);

        if (!endpoint)
                abort();
        world_later(&s->w, USEC_PER_SEC + (int64_t)world_chance(&s->w, (uint64_t)most_us), comes_back, endpoint);
}

static void strike_death(struct swarm *s)
{
        s->w.dying = true;
}

static void strike_stream(struct swarm *s)
{
        struct sim_machine *m = any_machine(s);

        sim_reach(m, false);
        down(s, m, world_chance(&s->w, 4) ? 5 * USEC_PER_MIN : 3 * USEC_PER_HOUR);
}

static void strike_runner(struct swarm *s)
{
        struct sim_machine *m = any_machine(s);

        sim_runner_restart(m);
        down(s, m, 20 * USEC_PER_SEC);
}

static void strike_reboot(struct swarm *s)
{
        struct sim_machine *m = any_machine(s);

        sim_reboot(m);
        down(s, m, 5 * USEC_PER_MIN);
}

static void strike_state(struct swarm *s)
{
        struct sim_machine *m = any_machine(s);

        sim_state_lost(m);
        down(s, m, 5 * USEC_PER_MIN);
}

static void strike_ahead(struct swarm *s)
{
        clock_step(s, 1);
}

static void strike_back(struct swarm *s)
{
        clock_step(s, -1);
}

static void strike_notice(struct swarm *s)
{
        s->o.any_notice = true;
        sim_notice(any_machine(s), 30 * USEC_PER_SEC + (int64_t)world_chance(&s->w, 3 * USEC_PER_MIN), "provider");
}

static void strike_measures(struct swarm *s)
{
        s->w.no_measures_until_boot_us = s->w.boot_us + (int64_t)world_chance(&s->w, 2 * USEC_PER_HOUR);
}

/* A child of a job is killed for memory, or it says itself that it got none; it lives on. */
static void strike_memory(struct swarm *s)
{
        world_each_job(&s->w, j) if (streq(j->phase, "running") && world_chance(&s->w, 2))
        {
                if (world_chance(&s->w, 2))
                        j->oom_kills++;
                else
                        j->oom_reports++;
                return;
        }
}

static void (*const strikes[WORLD_FAULT_N])(struct swarm *s) = {
        [WORLD_FAULT_DEATH] = strike_death,
        [WORLD_FAULT_STREAM_DOWN] = strike_stream,
        [WORLD_FAULT_RUNNER_RESTART] = strike_runner,
        [WORLD_FAULT_REBOOT] = strike_reboot,
        [WORLD_FAULT_STATE_LOST] = strike_state,
        [WORLD_FAULT_CLOCK_AHEAD] = strike_ahead,
        [WORLD_FAULT_CLOCK_BACK] = strike_back,
        [WORLD_FAULT_RELOAD] = reload,
        [WORLD_FAULT_NOTICE_FALSE] = strike_notice,
        [WORLD_FAULT_NO_MEASURES] = strike_measures,
        [WORLD_FAULT_CAP_LOWERED] = swarm_lower_cap,
        [WORLD_FAULT_MEMORY_SHORT] = strike_memory,
};

/* Which kinds there are this time, and how often: a run with all of them hides what two of them do together. */
static uint64_t choose_faults(struct swarm *s)
{
        static const uint32_t rates[] = { 20, 100, 500, 2000 };
        uint64_t on = 0;

        for (enum world_fault f = 0; f < WORLD_FAULT_N; f++) {
                bool chosen = world_chance(&s->w, 100) < 45;
                uint32_t rate = rates[world_chance(&s->w, ARRAY_LEN(rates))];
                int64_t every = USEC_PER_HOUR * (int64_t)(3 + world_chance(&s->w, 60));

                if (!chosen || !(s->run->faults & WORLD_FAULT_BIT(f)))
                        continue;
                on |= WORLD_FAULT_BIT(f);
                if (strikes[f])
                        s->every_us[f] = every;
                else if (f == WORLD_FAULT_DEATH_BEFORE_COMMIT || f == WORLD_FAULT_DEATH_AFTER_COMMIT ||
                         f >= WORLD_FAULT_POWER_CUT)
                        s->w.rate[f] = rate / 20 + 1;
                else if (f == WORLD_FAULT_SAVE_SLOW || f == WORLD_FAULT_SAVE_REFUSED || f == WORLD_FAULT_SAVE_FAILS)
                        s->w.rate[f] = rate * 3; /* there are fewer saves than requests */
                else
                        s->w.rate[f] = f == WORLD_FAULT_START_FOR_GOOD && rate > 500 ? 500 : rate;
        }
        return on;
}

/* --- time --- */
static int64_t earliest(const struct swarm *s, int64_t until, enum world_fault *ret_f)
{
        *ret_f = WORLD_FAULT_N;
        if (!s->quiet && s->act_boot_us < until)
                until = s->act_boot_us;
        if (s->up_boot_us && s->up_boot_us < until)
                until = s->up_boot_us;
        for (enum world_fault f = 0; !s->quiet && f < WORLD_FAULT_N; f++)
                if (s->every_us[f] && s->timed_boot_us[f] < until) {
                        until = s->timed_boot_us[f];
                        *ret_f = f;
                }
        return until;
}

static void forget_asks(struct swarm *s)
{
        for (size_t i = 0; i < ARRAY_LEN(s->asks); i++) {
                free(s->asks[i]);
                s->asks[i] = NULL;
        }
}

static void die(struct swarm *s)
{
        oracle_log(&s->o, "== the daemon is dead");
        world_die(&s->w); /* what its last requests do at the runner is looked at, too */
        oracle_down(&s->o);
        forget_asks(s);
        s->w.dying = false;
        s->up_boot_us = s->w.boot_us + USEC_PER_MSEC +
                        (int64_t)world_chance(&s->w, world_chance(&s->w, 8) ? 10 * USEC_PER_SEC : 2 * USEC_PER_HOUR);
}

static void strike(struct swarm *s, enum world_fault f)
{
        world_struck(&s->w, f);
        strikes[f](s);
        s->armed &= ~WORLD_FAULT_BIT(f);
}

static bool runs(const struct swarm *s)
{
        world_each_job(&s->w, j) if (world_live(j)) return true;
        return false;
}

/* Those that wait for a moment at which they hurt. */
static void strike_armed(struct swarm *s)
{
        if (!s->armed || s->quiet)
                return;
        if (world_at_work(&s->w) ? world_chance(&s->w, 6) != 0 : !runs(s) || world_chance(&s->w, 200) != 0)
                return;
        for (enum world_fault f = (enum world_fault)world_chance(&s->w, WORLD_FAULT_N), i = 0; i < WORLD_FAULT_N;
                i++, f++)
                if (s->armed & WORLD_FAULT_BIT(f % WORLD_FAULT_N)) {
                        strike(s, f % WORLD_FAULT_N);
                        return;
                }
}

static void due(struct swarm *s, enum world_fault f)
{
        if (s->up_boot_us && s->w.boot_us >= s->up_boot_us) {
                s->up_boot_us = 0;
                oracle_log(&s->o, "== the daemon starts");
                if (world_restart(&s->w) < 0)
                        oracle_broken(&s->o, 3, "the daemon cannot start from what is on disk");
        } else if (f != WORLD_FAULT_N && s->w.boot_us >= s->timed_boot_us[f]) {
                s->timed_boot_us[f] =
                        s->w.boot_us + s->every_us[f] / 8 + (int64_t)world_chance(&s->w, (uint64_t)s->every_us[f] * 2);
                if (world_chance(&s->w, 3))
                        s->armed |= WORLD_FAULT_BIT(f);
                else
                        strike(s, f);
        } else if (!s->quiet && s->w.boot_us >= s->act_boot_us) {
                swarm_user(s);
        }
        if (s->w.engine)
                world_settle(&s->w);
}

static void show_hour(struct swarm *s)
{
        const struct swarm_watch *watch = s->run->watch;
        int64_t hour = s->w.boot_us / USEC_PER_HOUR;

        if (!watch || hour == s->hour || !s->w.engine || s->w.dying)
                return;
        s->hour = hour;
        watch->hour(watch->arg, &s->w, s->quiet);
}

static bool go_on(struct swarm *s, int64_t until, uint64_t *events)
{
        struct world *w = &s->w;
        enum world_fault f;

        while (w->boot_us < until && !s->o.law) {
                int64_t next = earliest(s, until, &f);
                bool moved = world_step(w, next);

                if (!moved) {
                        w->wall_us += next > w->boot_us ? next - w->boot_us : 0;
                        w->boot_us = next > w->boot_us ? next : w->boot_us;
                        due(s, f);
                }
                if (moved && !w->dying)
                        strike_armed(s);
                show_hour(s);
                if (w->dying)
                        die(s);
                oracle_after(&s->o);
                if (++*events > EVENTS_MAX)
                        return false;
        }
        return true;
}

/* --- one seed --- */
static void begin_quiet(struct swarm *s)
{
        s->quiet = true;
        s->armed = 0;
        memset(s->w.rate, 0, sizeof s->w.rate);
        s->w.no_measures_until_boot_us = 0;
        oracle_log(&s->o, "== quiet");
        if (!s->up_boot_us && !s->w.engine)
                s->up_boot_us = s->w.boot_us;
        vec_foreach (m, &s->w.machines)
                if (!(*m)->reachable)
                        down(s, *m, USEC_PER_SEC);
        world_each_job(&s->w, j) if (world_live(j)) later(s, j, 0, swarm_span(s, USEC_PER_MIN, USEC_PER_DAY));
}

/* What a job of that id uses: mostly little, at times more than a notice can save. */
static int64_t memory_of(struct world *w, const char *job)
{
        uint64_t z = swarm_of(w)->run->seed;

        for (const char *p = job; *p; p++)
                z = (z ^ (uint8_t)*p) * UINT64_C(1099511628211);
        return (INT64_C(20) << 20) << (z >> 32) % 9;
}

/* Law 8: nobody renews, nobody ends anything from now on. */
static bool die_for_ever(struct swarm *s, uint64_t *events)
{
        if (s->w.engine)
                die(s);
        s->up_boot_us = 0;
        s->dead = true;
        s->o.dead_since_us = s->w.boot_us;
        oracle_log(&s->o, "== for ever");
        return go_on(s, s->w.boot_us + 27 * USEC_PER_HOUR, events);
}

static void report(const struct swarm *s, struct swarm_result *ret)
{
        const struct oracle *o = &s->o;
        size_t keep = ARRAY_LEN(ret->trace), n = o->trace_n < keep ? o->trace_n : keep;

        ret->digest = o->digest;
        ret->law = o->law;
        memcpy(ret->text, o->text, sizeof ret->text);
        memcpy(ret->held, o->held, sizeof ret->held);
        memcpy(ret->struck, s->w.struck, sizeof ret->struck);
        memcpy(ret->at_work, s->w.at_work, sizeof ret->at_work);
        memcpy(ret->acted, o->acted, sizeof ret->acted);
        memcpy(ret->refused, o->refused, sizeof ret->refused);
        memcpy(ret->kept, o->kept, sizeof ret->kept);
        memcpy(ret->cloud_struck, o->cloud_struck, sizeof ret->cloud_struck);
        ret->machines = o->machines;
        ret->reclaims = o->reclaims;
        ret->bills = o->bills;
        ret->bills_equal = o->bills_equal;
        ret->jobs = o->jobs_n;
        for (size_t i = 0; i < n; i++)
                memcpy(ret->trace[i], o->trace[(o->trace_n - n + i) % ARRAY_LEN(o->trace)], sizeof ret->trace[0]);
}

void swarm(const struct swarm_run *run, struct swarm_result *ret)
{
        struct swarm *s = calloc(1, sizeof *s);
        js_owned *site = json_object();
        bool finished;

        if (!s || !site)
                abort();
        s->run = run;
        s->rng = run->seed * 2 + 1;
        s->jobs_wanted = 20 + swarm_dice(s, 25);
        s->other_options = json_pack("{s:s}", "note", "other");
        oracle_init(&s->o, &s->w);
        s->o.verbose = run->verbose;
        if (disk_install() < 0 || world_new_with(&s->w, &(struct world_options){ .settings = site,
                                                                .seed = run->seed,
                                                                .wait = true,
                                                                .vfs = run->seed % 3 ? NULL : DISK_VFS }) < 0)
                abort();
        s->watch = (struct world_watch){ on_request, on_truth, on_gone, on_plugin, on_struck, on_started, on_machine,
                NULL };
        s->w.watch = &s->watch;
        s->w.memory_of = memory_of;
        if (!swarm_site(s) || world_start(&s->w) < 0)
                abort();
        sim_tick_start(&s->w);
        ret->faults = choose_faults(s);
        for (enum world_fault f = 0; f < WORLD_FAULT_N; f++)
                s->timed_boot_us[f] = s->w.boot_us + (int64_t)world_chance(&s->w, (uint64_t)s->every_us[f]);
        s->act_boot_us = s->w.boot_us;
        finished = go_on(s, s->w.boot_us + run->days * USEC_PER_DAY, &ret->events);
        if (finished && !s->o.law) {
                begin_quiet(s);
                if (run->seed % 5 == 3) {
                        oracle_sums(&s->o);
                        finished = die_for_ever(s, &ret->events);
                        if (finished && !s->o.law)
                                oracle_dead(&s->o);
                } else {
                        finished = go_on(s, s->w.boot_us + 5 * USEC_PER_DAY, &ret->events);
                        if (finished && !s->o.law)
                                swarm_give_up(s);
                        finished = finished && go_on(s, s->w.boot_us + USEC_PER_DAY, &ret->events);
                        if (finished && !s->o.law)
                                swarm_give_up(s); /* whose machine was taken away since */
                        finished = finished && go_on(s, s->w.boot_us + USEC_PER_DAY, &ret->events);
                        if (finished && !s->o.law)
                                oracle_settled(&s->o);
                        oracle_sums(&s->o);
                }
        }
        report(s, ret);
        ret->end = s->o.law ? SWARM_LAW : finished ? SWARM_OK : SWARM_STUCK;
        oracle_close(&s->o);
        world_free(&s->w);
        forget_asks(s);
        json_decref(s->other_options);
        free(s);
}
