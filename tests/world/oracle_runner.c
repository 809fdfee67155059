/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle at the runner: each request that reaches it, and what truly happens to the placements there. */
#include "world/oracle_parts.h"

#define REQUESTS_AN_HOUR 150
#define PLUGIN_CALLS_AN_HOUR 1000

static const char *const policies[ORACLE_POLICY_N] = { "ttl", "idle", "notice", "lease" };

/* --- requests that reach the runner --- */
/* Law 4: an open intent on disk that says this very thing. */
static void check_recorded(struct oracle *o, const char *op, const json_t *body)
{
        static const char *const kinds[] = { "start", "save", "stop", "release", "lease", "notice", "drop", "forget",
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

static void check_start(struct oracle *o, struct oracle_job *j, uint64_t generation, const json_t *body)
{
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);
        const struct sim_job *s = oracle_placement(o, j);
        char on_disk[48];

        if (s && s->generation == generation)
                return; /* told twice */
        oracle_held(o, 1);
        oracle_held(o, 18);
        if (j->newest_generation)
                oracle_held(o, 2);
        if (j->live_generation && j->live_generation != generation)
                oracle_broken(o, 2, "generation %llu is to start while %llu lives", (unsigned long long)generation,
                        (unsigned long long)j->live_generation);
        if (generation < j->newest_generation || (generation == j->newest_generation && !j->gone))
                oracle_broken(o, 18, "generation %llu is to start after %llu", (unsigned long long)generation,
                        (unsigned long long)j->newest_generation);
        (void)str_format(on_disk, sizeof on_disk, "%llu", (unsigned long long)generation);
        if (j->newest[0])
                oracle_held(o, 5);
        if (j->rests)
                oracle_broken(o, 5, "it is %s and started again, and nobody asked for that", j->state);
        if (restore) {
                oracle_held(o, 12);
                if (!json_object_get(o->w->checkpoints, restore))
                        oracle_broken(o, 12, "it is to run on from %s, which was dropped", restore);
        }
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

static int policy_at(const char *cause)
{
        for (int i = 0; i < ORACLE_POLICY_N; i++)
                if (streq(policies[i], cause))
                        return i;
        return -1;
}

/* Nobody ends or suspends a job without a reason (laws 10, 20). */
static void check_save(struct oracle *o, const struct oracle_job *j, const json_t *body)
{
        const char *cause = js_str(body, "cause", "");
        const struct sim_job *s = oracle_placement(o, j);

        oracle_held(o, 20);
        if (streq(cause, "user") && !j->asked_suspend)
                oracle_broken(o, 20, "a save for a user who never asked");
        if (s && world_live(s) && streq(cause, "idle") &&
                o->w->boot_us - s->quiet_boot_us < j->idle_after_us - SLACK_US)
                oracle_broken(o, 20, "P-09 saved as idle after %lld s of quiet",
                        (long long)((o->w->boot_us - s->quiet_boot_us) / USEC_PER_SEC));
        if (s && world_live(s) && streq(cause, "ttl")) {
                oracle_held(o, 15);
                if (j->ttl_us >= 0 && j->ran_us + oracle_running_us(o, s) < j->ttl_us - 2 * USEC_PER_SEC)
                        oracle_broken(o, 15, "P-01 its time limit is %lld s and it ran for %lld",
                                (long long)(j->ttl_us / USEC_PER_SEC),
                                (long long)((j->ran_us + oracle_running_us(o, s)) / USEC_PER_SEC));
        }
        if (streq(cause, "notice") && !o->any_notice)
                oracle_broken(o, 20, "a save for a notice that nobody gave");
}

static void check_stop(struct oracle *o, const struct oracle_job *j, uint64_t generation, const json_t *body)
{
        const struct sim_job *s = oracle_placement(o, j);

        oracle_held(o, 20);
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

        (void)m;
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
                check_start(o, j, generation, body);
        else if (streq(op, "drop"))
                check_drop(o, j, body);
        else if (streq(op, "save"))
                check_save(o, j, body);
        else if (streq(op, "stop"))
                check_stop(o, j, generation, body);
}

void oracle_plugin(struct oracle *o, const char *connection, const char *slot, const json_t *args, const char *token)
{
        int64_t hour = o->w->boot_us / USEC_PER_HOUR;

        (void)connection, (void)args, (void)token;
        if (hour != o->plugin_hour) {
                o->plugin_hour = hour;
                o->plugin_calls = 0;
        }
        if (++o->plugin_calls > PLUGIN_CALLS_AN_HOUR)
                oracle_broken(o, 26, "more than %d provider calls in an hour, the last is \"%s\"", PLUGIN_CALLS_AN_HOUR,
                        slot);
        oracle_held(o, 17);
        if (streq(slot, "terminate"))
                oracle_broken(o, 17, "an own machine was ended");
}

/* --- what truly happens --- */
static void truth_saved(struct oracle *o, struct oracle_job *j, const struct sim_job *s)
{
        const char *state = js_str(s->save, "state", "");
        int p = policy_at(js_str(s->save, "cause", ""));

        if (streq(state, "committed")) {
                if (!streq(j->newest, js_str(s->save, "checkpoint", "")) && p >= 0)
                        o->acted[p]++;
                (void)str_format(j->newest, sizeof j->newest, "%s", js_str(s->save, "checkpoint", ""));
        } else if (streq(state, "refused")) {
                oracle_held(o, 10);
                if (p >= 0)
                        o->refused[p]++;
        }
}

void oracle_truth(struct oracle *o, const struct sim_job *s)
{
        struct oracle_job *j = oracle_job(o, s->job);
        bool live = world_live(s);

        oracle_log(o, "   %s %llu %s %s %s %s", s->job + 22, (unsigned long long)s->generation, s->phase, s->cause,
                js_str(s->save, "state", ""), js_str(s->save, "cause", ""));
        if (!j)
                return;
        if (s->generation > j->newest_generation) {
                j->newest_generation = s->generation;
                j->exited_counted = false;
        }
        j->live_generation = live ? s->generation : 0;
        j->gone = false;
        truth_saved(o, j, s);
        if (live || j->exited_counted)
                return;
        j->exited_counted = true;
        j->ran_us += s->ran_us;
        if (streq(s->cause, "ttl")) {
                oracle_held(o, 15);
                if (j->ttl_us >= 0 && j->ran_us + j->lost_us < j->ttl_us - 2 * USEC_PER_SEC)
                        oracle_broken(o, 15, "P-01 stopped for its time limit of %lld s after %lld s",
                                (long long)(j->ttl_us / USEC_PER_SEC), (long long)(j->ran_us / USEC_PER_SEC));
        }
}

void oracle_gone(struct oracle *o, const struct sim_job *s)
{
        struct oracle_job *j = oracle_job(o, s->job);

        if (!j)
                return;
        oracle_log(o, "   %s %llu is gone", s->job + 22, (unsigned long long)s->generation);
        j->gone = true;
        if (!s->released)
                j->lost_us += s->ran_us + oracle_running_us(o, s); /* nobody can know how long it ran to the end */
        j->live_generation = 0;
}
