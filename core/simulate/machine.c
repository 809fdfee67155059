/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated machine as a whole: there, restarted, gone; its clock, its notices and its measures. */
#include "simulate/parts.h"

struct sim_machine *sim_machine_new(struct world *w, const char *name)
{
        struct sim_machine *m = calloc(1, sizeof *m);

        if (!m || !vec_push(&w->machines, m))
                abort();
        m->w = w;
        m->at = w->machines.n - 1;
        m->reachable = true;
        m->cpu_milli = 8000;
        m->memory_bytes = UINT64_C(16) << 30;
        (void)str_format(m->name, sizeof m->name, "%s", name);
        (void)str_format(m->endpoint, sizeof m->endpoint, "sim:%s", name);
        return m;
}

void sim_machine_free(struct sim_machine *m)
{
        vec_foreach (s, &m->jobs) {
                sim_job_clear(*s);
                free(*s);
        }
        vec_free(&m->jobs);
        free(m);
}

/* The wall clock there: own machines share the daemon's, rented ones have the true time. */
int64_t sim_wall_us(const struct sim_machine *m)
{
        return m->own ? m->w->wall_us : world_cloud_wall_us(m->w);
}

int64_t sim_boot_us(const struct sim_machine *m)
{
        return m->w->boot_us + m->boot_ahead_us;
}

struct sim_machine *world_machine(const struct world *w, const char *endpoint)
{
        vec_foreach (m, &w->machines)
                if (streq((*m)->endpoint, endpoint))
                        return *m;
        return NULL;
}

struct sim_job *world_next_job(const struct world *w, const struct sim_job *after)
{
        size_t at = after ? after->machine->at : 0, i = after ? after->at + 1 : 0;

        for (; at < w->machines.n; at++, i = 0)
                for (const struct sim_machine *m = w->machines.at[at]; i < m->jobs.n; i++)
                        if (m->jobs.at[i]->used)
                                return m->jobs.at[i];
        return NULL;
}

struct sim_job *sim_find(const struct sim_machine *m, const char *job)
{
        vec_foreach (s, &m->jobs)
                if ((*s)->used && streq((*s)->job, job))
                        return *s;
        return NULL;
}

struct sim_job *world_sim(const struct world *w, const char *job)
{
        struct sim_job *newest = NULL;

        world_each_job(w, s) if (streq(s->job, job) && (!newest || s->generation > newest->generation)) newest = s;
        return newest;
}

/* --- comes and goes --- */
static void told(struct sim_machine *m)
{
        if (m->w->watch && m->w->watch->machine)
                m->w->watch->machine(m->w, m);
}

static void come_up(struct world *w, void *arg)
{
        pd_cleanup(freep) char *endpoint = arg;
        struct sim_machine *m = world_machine(w, endpoint);

        if (m)
                sim_reach(m, true);
}

struct sim_machine *sim_machine_up(struct world_connection *c, const char *id, const char *endpoint, int64_t boot_us)
{
        struct world *w = c->w;
        struct sim_machine *m = sim_machine_new(w, id);
        char *text = strdup(endpoint);

        if (!text)
                abort();
        (void)str_format(m->endpoint, sizeof m->endpoint, "%s", endpoint);
        m->connection = c;
        m->reachable = false;
        m->up_boot_us = w->boot_us + boot_us;
        /* it was switched on just now: its clock has nothing to do with the daemon's */
        m->boot_ahead_us = 5 * USEC_PER_SEC - w->boot_us;
        told(m);
        world_later(w, boot_us, come_up, text);
        return m;
}

static void forget_all(struct sim_machine *m)
{
        vec_foreach (s, &m->jobs)
                if ((*s)->used) {
                        (*s)->phase = "failed";
                        if (m->w->watch && m->w->watch->gone)
                                m->w->watch->gone(m->w, *s);
                        sim_job_clear(*s);
                }
}

void sim_machine_gone(struct sim_machine *m)
{
        struct world *w = m->w;
        size_t at = m->at;

        sim_stream_lost(m);
        m->gone = true;
        m->reachable = false;
        forget_all(m);
        vec_swap_remove(&w->machines, at);
        if (at < w->machines.n)
                w->machines.at[at]->at = at;
        m->at = SIZE_MAX;
        if (!vec_push(&w->past_machines, m))
                abort();
        told(m);
}

/* The runner dies and comes back, by itself, when the caller lets it be reached again. */
void sim_runner_restart(struct sim_machine *m)
{
        sim_reach(m, false);
        vec_foreach (s, &m->jobs)
                sim_job_restarted(*s);
}

/* The machine goes down without a word, with all that runs on it. */
void sim_reboot(struct sim_machine *m)
{
        sim_reach(m, false);
        m->told_notice_wall_us = 0;
        vec_foreach (s, &m->jobs)
                sim_job_vanished(*s);
}

void sim_state_lost(struct sim_machine *m)
{
        sim_reach(m, false);
        forget_all(m);
}

/* --- notices --- */
static void notice_near(struct world *w, void *arg)
{
        pd_cleanup(freep) char *endpoint = arg;
        struct sim_machine *m = world_machine(w, endpoint);

        for (size_t i = 0; m && m->notice_boot_us && i < m->jobs.n; i++)
                if (world_live(m->jobs.at[i]))
                        sim_orders_check(m->jobs.at[i]);
}

void sim_notice(struct sim_machine *m, int64_t in_us, const char *source)
{
        js_owned *event = json_pack("{s:s,s:I,s:s}", "event", "notice", "deadline_wall_us",
                (json_int_t)(m->w->wall_us + in_us), "source", source);
        char *text = strdup(m->endpoint);

        if (!text)
                abort();
        m->notice_boot_us = m->w->boot_us + in_us;
        m->told_notice_wall_us = m->w->wall_us + in_us;
        sim_stream_event(m, event);
        vec_foreach (s, &m->jobs)
                if ((*s)->used && streq((*s)->phase, "running"))
                        sim_take_notice(*s);
        world_later(m->w, in_us > 20 * USEC_PER_SEC ? in_us - 20 * USEC_PER_SEC : 0, notice_near, text);
}

void world_notice(struct world *w, int64_t in_us)
{
        sim_notice(w->lab, in_us, "provider");
}

static void notice_over(struct sim_machine *m)
{
        m->notice_boot_us = 0;
        vec_foreach (s, &m->jobs)
                (*s)->did_notice = false;
}

/* --- measures, and the look at the orders --- */
static void measures(struct sim_machine *m)
{
        struct world *w = m->w;
        json_t *items = json_array();
        js_owned *event = json_pack("{s:s,s:o}", "event", "measures", "items", items);

        vec_foreach (at, &m->jobs) {
                struct sim_job *s = *at;
                json_t *item;

                if (!s->used || !streq(s->phase, "running"))
                        continue;
                if (!s->idle) {
                        s->cpu_us += SIM_TICK_US / 2;
                        s->progress_seq++;
                        s->quiet_boot_us = w->boot_us;
                }
                item = json_pack("{s:s,s:I,s:I,s:I,s:I}", "job", s->job, "generation", (json_int_t)s->generation,
                        "cpu_us", (json_int_t)s->cpu_us, "log_bytes", (json_int_t)s->progress_seq, "progress_seq",
                        (json_int_t)s->progress_seq);
                if (s->memory_bytes) {
                        (void)json_object_set_new(item, "memory_bytes", json_integer(s->memory_bytes));
                        (void)json_object_set_new(item, "memory_peak_bytes", json_integer(s->memory_bytes));
                        (void)json_object_set_new(item, "oom_kills", json_integer(s->oom_kills));
                        (void)json_object_set_new(item, "oom_reports", json_integer(s->oom_reports));
                }
                (void)json_array_append_new(items, item);
        }
        if (json_array_size(items) && w->boot_us >= w->no_measures_until_boot_us)
                sim_stream_event(m, event);
}

/* The runner's own timer, on both clocks: the earlier ends the machine. */
static bool guest_is_due(const struct sim_machine *m)
{
        return m->connection->guest && ((m->stop_wall_us && sim_wall_us(m) >= m->stop_wall_us) ||
                                               (m->stop_boot_us && sim_boot_us(m) >= m->stop_boot_us));
}

static void machine_tick(struct sim_machine *m)
{
        bool live = false;

        if (m->notice_boot_us && m->w->boot_us >= m->notice_boot_us + SIM_TICK_US)
                notice_over(m);
        vec_foreach (s, &m->jobs)
                if (world_live(*s)) {
                        live = true;
                        sim_orders_check(*s);
                }
        if (live)
                measures(m);
}

static void tick(struct world *w, struct world_due *due)
{
        for (size_t i = w->machines.n; i-- > 0;) {
                struct sim_machine *m = w->machines.at[i];

                machine_tick(m);
                if (guest_is_due(m))
                        m->connection->cloud->guest_stops(m->connection, m);
        }
        due_at(w, due, w->boot_us + SIM_TICK_US);
}

void sim_tick_start(struct world *w)
{
        w->ticking = true;
        w->tick.fire = tick;
        due_at(w, &w->tick, w->boot_us + SIM_TICK_US);
}
