/* SPDX-License-Identifier: Apache-2.0 */
/* Rented machines in a storm: every call, list, answer and commit may fail, machines are taken away, the daemon dies, users stop and resume. While it
 * lasts no job runs twice; when it is over every job settles, and nothing is there that no job needs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/rented.h"

#define JOBS 6
#define STORM_DAYS 3

struct storm {
        struct world w;
        uint64_t seed, dice;
        char ids[64][40];
        size_t ids_n;
        size_t deaths, twice;
};

static uint64_t dice(struct storm *s, uint64_t below)
{
        s->dice = s->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (s->dice >> 33) % below;
}

/* Law 1, by the truth: at most one placement of a job has an unfrozen process. */
static void look(struct world *w, const struct sim_job *changed)
{
        struct storm *s = w->watch->arg;
        size_t n = 0;

        world_each_job(w, j) n += streq(j->job, changed->job) && world_unfrozen(j);
        if (n > 1 && s->twice++ == 0)
                tap_note("%s runs %zu times, seed %llu", changed->job, n, (unsigned long long)s->seed);
}

static const enum world_fault seams[] = { WORLD_FAULT_REQUEST_LOST, WORLD_FAULT_ANSWER_LOST, WORLD_FAULT_EVENT_LATE,
        WORLD_FAULT_START_PASSING, WORLD_FAULT_SAVE_FAILS, WORLD_FAULT_CALL_LOST, WORLD_FAULT_CALL_UNANSWERED,
        WORLD_FAULT_CALL_THROTTLED, WORLD_FAULT_CALL_SLOW, WORLD_FAULT_LIST_STALE, WORLD_FAULT_LIST_PARTIAL };

static void rates(struct storm *s, bool on)
{
        for (size_t i = 0; i < ARRAY_LEN(seams); i++)
                s->w.rate[seams[i]] = on && dice(s, 2) ? 300 : 0;
        s->w.rate[WORLD_FAULT_DEATH_BEFORE_COMMIT] = on ? 5 : 0;
        s->w.rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = on ? 5 : 0;
}

static void lives(struct storm *s)
{
        if (!s->w.dying)
                return;
        s->deaths++;
        world_die(&s->w);
        rates(s, false);
        if (world_restart(&s->w) < 0)
                tap_ok(false, "it starts again, seed %llu", (unsigned long long)s->seed);
        rates(s, true);
}

static void user(struct storm *s)
{
        static const char *const verbs[] = { "suspend", "resume", "resume", "resume", "stop" };
        const char *verb = verbs[dice(s, ARRAY_LEN(verbs))];
        struct reply r;

        if (s->ids_n < JOBS || (s->ids_n < 40 && dice(s, 8) == 0)) {
                world_submit(&s->w, "{}", s->ids[s->ids_n]);
                s->ids_n += s->ids[s->ids_n][0] != '\0';
                return;
        }
        if (streq(verb, "stop") && dice(s, 4))
                return;
        world_ask(&s->w, verb, s->ids[dice(s, s->ids_n)], NULL, NULL, &r);
        reply_clear(&r);
}

static void trouble(struct storm *s)
{
        if (s->w.machines.n && dice(&*s, 6) == 0) {
                struct sim_machine *m = s->w.machines.at[dice(s, s->w.machines.n)];

                if (dice(s, 2))
                        sim_runner_restart(m);
                else
                        sim_reach(m, !m->reachable);
        }
        if (dice(s, 20) == 0)
                s->w.dying = true;
}

static void storm(struct storm *s)
{
        int64_t until = s->w.boot_us + STORM_DAYS * DAY;

        while (s->w.boot_us < until && !s->w.fatal.code) {
                world_run(&s->w, (int64_t)(1 + dice(s, 30)) * MIN);
                lives(s);
                user(s);
                lives(s);
                trouble(s);
                lives(s);
        }
}

static bool unsettled(struct storm *s, int *ret_placed)
{
        bool bad = false;

        *ret_placed = 0;
        for (size_t i = 0; i < s->ids_n; i++) {
                const char *state = world_job(&s->w, s->ids[i], "state");

                *ret_placed += streq(state, "running");
                if (!streq(state, "running") && !streq(state, "suspended") && !streq(state, "ended")) {
                        tap_note("%s is %s: %s", s->ids[i], state, world_job(&s->w, s->ids[i], "message"));
                        bad = true;
                }
        }
        return bad;
}

static void one(uint64_t seed, const char *lease)
{
        struct storm *s = calloc(1, sizeof *s);
        const struct world_watch watch = { .truth = look, .arg = s };
        char text[24];
        int placed;

        if (!s)
                abort();
        s->seed = seed;
        s->dice = seed * 7919 + 1;
        (void)str_format(text, sizeof text, "%llu", (unsigned long long)seed);
        tap_note("seed %s, lease %s", text, lease);
        if (!rented_begin(&s->w, json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "seed", text, "spot", "yes", "zones", "2",
                                         "life", "5h", "lease", lease, "faults",
                                         "launch capacity 1/10; launch no-stop 1/20; boot late 10m 1/20; boot never "
                                         "1/40; notice missing 1/4; notice false 1/40; terminate late 5m 1/10; end "
                                         "leftover 1/10; renew earlier 10m 1/20")))
                return;
        s->w.chance = seed;
        s->w.watch = &watch;
        rates(s, true);
        storm(s);
        rates(s, false);
        vec_foreach (m, &s->w.machines)
                sim_reach(*m, true);
        world_run(&s->w, 4 * HOUR);
        tap_ok(s->twice == 0, "law 1 law 2 no job ran twice in %zu deaths, seed %s", s->deaths, text);
        tap_ok(!unsettled(s, &placed), "law 23 every job settles, seed %s", text);
        if (!tap_ok(rented_truth(&s->w).there == placed,
                    "law 24 law 9 a machine for each job that runs, and none besides, seed %s", text))
                tap_note("%d machines, %d jobs run", rented_truth(&s->w).there, placed);
        for (size_t i = 0; i < s->ids_n; i++)
                scene_act(&s->w, "stop", s->ids[i], NULL);
        world_run(&s->w, HOUR);
        tap_int(rented_truth(&s->w).there, 0, "law 24 none stays when all are stopped");
        tap_int(rented_counted(&s->w), rented_billed(&s->w), "law 7 law 25 the ledger equals the bill, to the nano");
        tap_note("%zu jobs, %d machines in all, %zu deaths", s->ids_n, rented_truth(&s->w).ever, s->deaths);
        rented_end(&s->w);
        free(s);
}

int main(void)
{
        static const char *const leases[] = { "native", "external", "guest", "fixed" };
        const char *only = getenv("STORM_SEED"), *n = getenv("STORM_SEEDS"), *full = getenv("TEST_FULL");

        for (uint64_t seed = 1; seed <= (n ? strtoull(n, NULL, 10) : full && streq(full, "1") ? 60 : 4); seed++)
                if (!only || strtoull(only, NULL, 10) == seed)
                        one(seed, leases[seed % 4]);
        return tap_done();
}
