/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle at the runner: each request that reaches it, and what truly happens to the placements there. */
#include "world/oracle_parts.h"

#define REQUESTS_AN_HOUR 150
/* --- requests that reach the runner --- */
/* Law 4: an open intent on disk that says this very thing. */
static void check_recorded(struct oracle *o, const char *op, const json_t *body)
{
        static const char *const kinds[] = { "start", "save", "stop", "release", "lease", "drop", "forget", "thaw",
                NULL };
        char *text;

        for (const char *const *k = kinds; *k; k++) {
                if (!streq(*k, op) || (streq(op, "lease") && ++o->leases % 8))
                        continue;
                text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
                oracle_held(o, 4);
                if (oracle_disk_int(o, "SELECT count(*) FROM intent WHERE closed_wall_us=0 AND kind=?1 AND body=?2", op,
                            text) < 1)
                        oracle_broken(o, 4, "\"%s\" reached the runner and no open intent on disk says so", op);
                free(text);
                return;
        }
}

/* Laws 1 and 2: while this generation begins, or goes on, nothing else of the job may run: held, ended or gone. */
static void check_alone(struct oracle *o, const struct oracle_job *j, const struct sim_machine *m, uint64_t generation,
        const char *what)
{
        oracle_held(o, 1);
        for (size_t i = 0; i < j->places_n; i++) {
                const struct sim_job *s = j->places[i].at;

                if (j->places[i].generation != s->generation || !streq(s->job, j->id) || !world_unfrozen(s) ||
                        (s->machine == m && s->generation >= generation))
                        continue;
                oracle_broken(o, 2, "generation %llu is to %s while %llu is %s on %s", (unsigned long long)generation,
                        what, (unsigned long long)s->generation, s->phase, s->machine->endpoint);
        }
}

/* By its connection: CONNECTION[/ZONE[/TYPE[/spot]]]. */
static bool is_there(const struct sim_machine *m, const char *on)
{
        size_t n = strcspn(on, "/");

        return strlen(m->connection->name) == n && strncmp(m->connection->name, on, n) == 0;
}

struct market {
        const struct sim_machine *m;
        struct cloud *cloud;
        bool spot;
};

static int look_for(void *arg, const struct cloud_machine *c)
{
        struct market *x = arg;
        struct pd_offer offer;

        if (streq(c->id, x->m->name) && cloud_offer(x->cloud, c->offer, &offer))
                x->spot = offer.market == PD_MARKET_SPOT;
        return 0;
}

static bool is_spot(const struct sim_machine *m)
{
        struct market x = { .m = m };

        if (m->own || !m->connection->plugin)
                return false;
        x.cloud = world_cloud_of(m->connection);
        (void)cloud_each(x.cloud, look_for, &x);
        return x.spot;
}

static void check_start(
        struct oracle *o, struct oracle_job *j, const struct sim_machine *m, uint64_t generation, const json_t *body)
{
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);
        const struct sim_job *s = sim_find(m, j->id);

        if (s && s->generation == generation)
                return; /* told twice */
        oracle_held(o, 18);
        if (js_int(body, "cpu_milli", 0) > m->cpu_milli || js_int(body, "gpus", 0) > m->gpus ||
                js_int(body, "memory_bytes", 0) > (int64_t)m->memory_bytes)
                oracle_broken(o, 20, "P-14 it is started on %s, which has less than it asks for", m->name);
        if (j->no_spot && is_spot(m))
                oracle_broken(o, 20, "it is started on %s, which is spot, and was submitted with --no-spot", m->name);
        if (*j->on && !is_there(m, j->on))
                oracle_broken(
                        o, 20, "it is started at %s of %s, and its --on says %s", m->name, m->connection->name, j->on);
        if (j->newest_generation)
                oracle_held(o, 2);
        check_alone(o, j, m, generation, "start");
        if (generation < j->newest_generation || (generation == j->newest_generation && !j->gone))
                oracle_broken(o, 18, "generation %llu is to start after %llu", (unsigned long long)generation,
                        (unsigned long long)j->newest_generation);
        if (j->newest[0])
                oracle_held(o, 5);
        if (j->rests)
                oracle_broken(o, 5, "it is %s and started again, and nobody asked for that", j->state);
        if (restore) {
                oracle_held(o, 12);
                oracle_held(o, 13);
                if (!json_object_get(o->w->checkpoints, restore))
                        oracle_broken(o, 12, "it is to run on from %s, which was dropped", restore);
                else if (!streq(restore, j->newest) && j->newest_told)
                        oracle_broken(
                                o, 13, "it is to run on from %s, and its newest state is in %s", restore, j->newest);
        }
}

static void check_thaw(struct oracle *o, const struct oracle_job *j, const struct sim_machine *m, uint64_t generation)
{
        const struct sim_job *s = sim_find(m, j->id);

        if (!s || !streq(s->phase, "held"))
                return;
        oracle_held(o, 2);
        oracle_held(o, 18);
        check_alone(o, j, m, generation, "thaw");
        if (generation <= j->newest_generation)
                oracle_broken(o, 18, "generation %llu is to be thawed after %llu", (unsigned long long)generation,
                        (unsigned long long)j->newest_generation);
}

/* Law 11: what is held may go only once what took over has proven itself, or by a stronger word. */
void oracle_held_ends(struct oracle *o, const struct sim_job *s, const char *by)
{
        struct oracle_job *j = streq(s->phase, "held") ? oracle_job(o, s->job) : NULL;

        if (!j)
                return;
        oracle_held(o, 11);
        if (j->proved_generation > s->generation || j->asked_stop || j->asked_suspend || !j->known ||
                !(streq(j->state, "restoring") || streq(j->state, "starting") || streq(j->state, "running")))
                return;
        oracle_broken(o, 11, "%s ends generation %llu, which is held, before another has proven itself", by,
                (unsigned long long)s->generation);
}

static void check_drop(struct oracle *o, const struct oracle_job *j, const json_t *body)
{
        const char *ckp = js_str(body, "checkpoint", "");

        oracle_held(o, 12);
        if (!streq(ckp, j->newest))
                return;
        if (!streq(j->state, "ended"))
                oracle_broken(o, 12, "its newest checkpoint is dropped while it is %s", j->state);
        else if (streq(j->cause, "ttl") && oracle_wall_most(o) < j->ended_wall_us + j->ttl_keep_us)
                oracle_broken(o, 12, "ttl ended it, and its checkpoint is dropped before its time");
}

/* Nobody ends or suspends a job without a reason (laws 10, 20). */
static void check_save(struct oracle *o, const struct oracle_job *j, const struct sim_machine *m, const json_t *body)
{
        const char *cause = js_str(body, "cause", "");
        const struct sim_job *s = sim_find(m, j->id);

        oracle_held(o, 20);
        if (streq(cause, "user") && !j->asked_suspend && !j->asked_move)
                oracle_broken(o, 20, "a save for a user who never asked");
        if (s && world_live(s) && streq(cause, "idle") &&
                o->w->boot_us - s->quiet_boot_us < j->idle_after_us - SLACK_US)
                oracle_broken(o, 20, "P-09 saved as idle after %lld s of quiet",
                        (long long)((o->w->boot_us - s->quiet_boot_us) / USEC_PER_SEC));
        if (s && world_live(s) && streq(cause, "ttl")) {
                oracle_held(o, 15);
                if (j->ttl_us >= 0 && oracle_ran_us(o, j) < j->ttl_us - 2 * USEC_PER_SEC)
                        oracle_broken(o, 15, "P-01 its time limit is %lld s and it ran for %lld",
                                (long long)(j->ttl_us / USEC_PER_SEC), (long long)(oracle_ran_us(o, j) / USEC_PER_SEC));
        }
        if (streq(cause, "notice") && !o->any_notice && !oracle_cloud_noticed(o, m))
                oracle_broken(o, 20, "a save for a notice that nobody gave");
}

static void check_stop(struct oracle *o, const struct oracle_job *j, const struct sim_machine *m, uint64_t generation,
        const json_t *body)
{
        const struct sim_job *s = sim_find(m, j->id);

        oracle_held(o, 20);
        if (s && s->generation == generation)
                oracle_held_ends(o, s, "a stop");
        if (!s || !world_live(s) || s->generation != generation)
                return;
        /* a stray: the record says that this stay is over */
        if (j->known &&
                (j->generation != (int64_t)generation || streq(j->state, "ended") || streq(j->state, "suspended")))
                return;
        if (streq(js_str(body, "cause", ""), "user") && !j->asked_stop)
                oracle_broken(o, 20, "a stop for a user who never asked; it is %s", j->state);
}

static void count(struct oracle *o, struct oracle_job *j, const char *op)
{
        int64_t hour = o->w->boot_us / USEC_PER_HOUR;

        if (j->hour != hour) {
                j->hour = hour;
                j->requests = 0;
        }
        oracle_held(o, 26);
        if (++j->requests > REQUESTS_AN_HOUR)
                oracle_broken(o, 26, "more than %d requests in an hour, the last is \"%s\"", REQUESTS_AN_HOUR, op);
}

void oracle_request(struct oracle *o, const struct sim_machine *m, uint64_t generation, const json_t *body)
{
        const char *op = js_str(body, "op", "");
        struct oracle_job *j = oracle_job(o, js_str(body, "job", ""));

        if (!streq(op, "lease") && !streq(op, "hello") && !streq(op, "list"))
                oracle_log(o, "-> %s %s %llu %s", op, j ? j->id + 22 : "", (unsigned long long)generation,
                        js_str(body, "cause", ""));
        check_recorded(o, op, body);
        if (streq(op, "notice"))
                o->any_notice = true;
        if (!j)
                return;
        count(o, j, op);
        if (streq(op, "start"))
                check_start(o, j, m, generation, body);
        else if (streq(op, "drop"))
                check_drop(o, j, body);
        else if (streq(op, "save"))
                check_save(o, j, m, body);
        else if (streq(op, "stop"))
                check_stop(o, j, m, generation, body);
        else if (streq(op, "thaw"))
                check_thaw(o, j, m, generation);
}

/* --- what truly happens --- */
static void truth_saved(struct oracle *o, struct oracle_job *j, const struct sim_job *s)
{
        const char *state = js_str(s->save, "state", ""), *id = js_str(s->save, "checkpoint", "");

        if (streq(state, "refused"))
                oracle_held(o, 10);
        /* what an older stay still shows of its save (held, and ended now) is no newer for that */
        if (!streq(state, "committed") || streq(j->newest, id) || s->generation < j->newest_from)
                return;
        j->newest_from = s->generation;
        (void)str_format(j->newest, sizeof j->newest, "%s", id);
        j->newest_told = false;
}

static struct oracle_place *place_of(struct oracle_job *j, const struct sim_job *s)
{
        struct oracle_place *p = NULL;

        for (size_t i = 0; i < j->places_n; i++)
                if (j->places[i].at == s)
                        p = &j->places[i];
        for (size_t i = 0; !p && i < j->places_n; i++) /* one whose record is another job's by now, or was counted */
                if (j->places[i].counted)
                        p = &j->places[i], *p = (struct oracle_place){ .at = s };
        if (!p && j->places_n < ORACLE_PLACES) {
                p = &j->places[j->places_n++];
                *p = (struct oracle_place){ .at = s };
        }
        if (p && p->generation != s->generation) {
                if (streq(s->phase, "preparing"))
                        p->counted = false;
                else
                        j->ran_us += p->held_us;
                p->held_us = 0;
        }
        if (p && streq(s->phase, "held"))
                p->held_us = s->ran_us;
        if (p)
                p->generation = s->generation;
        return p;
}

/* Law 1, as things stand now. */
static void alone(struct oracle *o, const struct oracle_job *j)
{
        int n = 0;

        for (size_t i = 0; i < j->places_n; i++)
                n += streq(j->places[i].at->job, j->id) && world_unfrozen(j->places[i].at);
        if (n > 1)
                oracle_broken(o, 1, "%d placements of %s live at once", n, j->id);
}

static void over(struct oracle *o, struct oracle_job *j, struct oracle_place *p, const struct sim_job *s)
{
        p->counted = true;
        j->ran_us += s->ran_us;
        if (!streq(s->cause, "ttl"))
                return;
        oracle_held(o, 15);
        if (j->ttl_us >= 0 && j->ran_us + j->lost_us < j->ttl_us - 2 * USEC_PER_SEC)
                oracle_broken(o, 15, "P-01 stopped for its time limit of %lld s after %lld s",
                        (long long)(j->ttl_us / USEC_PER_SEC), (long long)(j->ran_us / USEC_PER_SEC));
}

void oracle_truth(struct oracle *o, const struct sim_job *s)
{
        struct oracle_job *j = oracle_job(o, s->job);
        struct oracle_place *p = j ? place_of(j, s) : NULL;

        oracle_log(o, "   %s %llu %s %s %s %s %s", s->job + 22, (unsigned long long)s->generation, s->phase, s->cause,
                js_str(s->save, "state", ""), js_str(s->save, "cause", ""), s->machine->endpoint + 4);
        if (!j)
                return;
        if (!p) {
                oracle_broken(o, 1, "more than %d placements of a job are not over", ORACLE_PLACES);
                return;
        }
        if (s->generation > j->newest_generation)
                j->newest_generation = s->generation;
        if (streq(s->phase, "running") && s->generation > j->proved_generation)
                j->proved_generation = s->generation;
        j->gone = false;
        alone(o, j);
        truth_saved(o, j, s);
        if (!world_live(s) && !p->counted)
                over(o, j, p, s);
}

void oracle_gone(struct oracle *o, const struct sim_job *s)
{
        struct oracle_job *j = oracle_job(o, s->job);
        struct oracle_place *p = j ? place_of(j, s) : NULL;

        if (!j)
                return;
        oracle_log(o, "   %s %llu is gone", s->job + 22, (unsigned long long)s->generation);
        if (s->generation == j->newest_generation)
                j->gone = true;
        if (!s->released &&
                p) /* nobody can know how long it ran to the end, nor, if portald had not heard of it, that it was over */
                j->lost_us += s->ran_us + (p->counted ? 0 : oracle_running_us(o, s));
        if (p)
                p->counted = true;
}
