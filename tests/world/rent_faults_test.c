/* SPDX-License-Identifier: Apache-2.0 */
/* Rented machines when things go wrong: answers that are lost, a daemon that dies at either side of a call, lists that lie, ends without a word. */
#include "world/rented.h"

static json_t *faults(const char *script)
{
        return json_pack("{s:s}", "faults", script);
}

/* --- launches --- */
static const struct {
        const char *name, *faults;
        int ever; /* machines that were made in all */
} launches[] = {
        { "law 1 an answer lost after the effect: found by its token, made once", "launch answer-lost #1", 1 },
        { "law 26 a request lost before its effect: proven absent, and then another is made", "launch request-lost #1",
                1 },
        { "a request that arrives twice makes one", "launch duplicate always", 1 },
        { "no capacity: the next offer, or the same later", "launch capacity #1", 1 },
        { "a quota: the next offer, or the same later", "launch quota #1", 1 },
        { "throttled: again later", "launch throttle #1 retry=10s", 1 },
        { "a passing fault: again later", "launch transient #1", 1 },
        { "N-05 a machine whose stop was not set gets it by a renewal", "launch no-stop #1", 1 },
        { "a machine that never boots is given up, and another is made", "boot never #1", 2 },
        { "a find without an answer is asked again", "launch answer-lost #1; find transient #1", 1 },
        { "lists that break off prove nothing", "launch answer-lost #1; list partial 1/2; find transient 1/2", 1 },
};

static void launch_row(size_t i)
{
        struct world w;
        char id[40];

        tap_note("%s", launches[i].name);
        if (!rented_begin(&w, faults(launches[i].faults)))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 90 * MIN);
        if (!tap_str(world_job(&w, id, "state"), "running", launches[i].name))
                tap_note("%s", world_job(&w, id, "message"));
        tap_int(rented_truth(&w).there, 1, "law 1 one machine is there");
        tap_int(rented_truth(&w).ever, launches[i].ever, "law 1 so many were made in all");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, 30 * MIN);
        tap_int(rented_truth(&w).there, 0, "law 24 none stays");
        rented_end(&w);
}

/* --- the daemon dies --- */
static void launch_called(
        struct world *w, const char *connection, const char *slot, const json_t *args, const char *token)
{
        bool *called = w->watch->arg;

        (void)connection, (void)args, (void)token;
        *called |= streq(slot, "launch");
}

static void dies_in_launch(bool after_effect)
{
        bool called = false;
        const struct world_watch watch = { .plugin = launch_called, .arg = &called };
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        w.watch = &watch;
        world_submit(&w, "{}", id);
        if (after_effect)
                while (!called && world_step(&w, INT64_MAX))
                        ;
        else
                w.rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = 10000;
        while (!after_effect && !w.dying && world_step(&w, INT64_MAX))
                ;
        w.rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = 0;
        w.watch = NULL;
        world_die(&w);
        tap_int(world_restart(&w), 0, "it starts again");
        world_run(&w, 2 * USEC_PER_SEC);
        tap_int(rented_truth(&w).ever, after_effect, "law 4 what was made before it died");
        world_run(&w, 40 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "law 3 the job runs all the same");
        tap_int(rented_truth(&w).there, 1, "law 1 law 9 on one machine");
        tap_int(rented_truth(&w).ever, 1, "law 1 the only one that was made");
        rented_end(&w);
}

static void dead_for_ever(const char *lease, const char *off)
{
        struct world w;
        char id[40];

        tap_note("lease %s", lease);
        if (!rented_begin(&w, json_pack("{s:s,s:s}", "lease", lease, "off", off)))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "P-11 it runs, its stop moved along");
        tap_int(rented_truth(&w).there, 1, "on one machine");
        world_die(&w);
        for (int64_t until = w.boot_us + 2 * HOUR; world_step(&w, until);)
                ;
        tap_int(rented_truth(&w).there, 0, "law 8 with the daemon dead the machine is gone by its stop");
        tap_int(world_restart(&w), 0, "it starts again");
        world_run(&w, 20 * MIN);
        /* its runner saved it, and could tell nobody: what no daemon heard of is not known from the vault */
        tap_str(world_job(&w, id, "state"), "ended", "the job is known to be lost");
        tap_str(world_job(&w, id, "cause"), "machine_lost", "with its cause");
        tap_ok(rented_machine(&w, 0) == NULL, "and the machine is known to be gone");
        rented_end(&w);
}

static void no_stop(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, faults("launch no-stop #1; renew transient always")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 9 * MIN);
        tap_int(rented_truth(&w).ever, 1, "N-05 a machine whose hard stop cannot be read back");
        tap_str(world_job(&w, id, "state"), "running", "... runs");
        world_run(&w, 5 * MIN);
        tap_int(rented_truth(&w).there, 0, "N-05 after 10 minutes it is ended");
        tap_str(world_job(&w, id, "cause"), "machine_lost", "and its job is lost, by cause");
        rented_end(&w);
}

/* What cannot be renewed ends by its stop, saved before by its runner. */
static void not_renewed(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, faults("renew transient always")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 40 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-11 it runs up to its stop");
        world_run(&w, 30 * MIN);
        tap_str(world_job(&w, id, "state"), "suspended", "P-11 and is saved before it");
        tap_str(world_job(&w, id, "cause"), "lease", "P-11 which is why");
        tap_int(rented_truth(&w).there, 0, "law 8 its machine is gone");
        rented_end(&w);
}

/* Down for two days: the machine is gone, the bill ends with its stop, and nothing is done to many at once. */
static void comes_back_late(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        world_die(&w);
        for (int64_t until = w.boot_us + 20 * MIN; world_step(&w, until);)
                ;
        tap_int(world_restart(&w), 0, "it starts again after 20 minutes");
        world_run(&w, 3 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "its lease is renewed at once: the job never knew");
        tap_int(world_job_int(&w, id, "generation"), 1, "it is the same stay");
        rented_end(&w);
}

/* A launch whose answer nobody heard, and its provider asked only when the machine has ended by itself and is forgotten: its cost is no secret of the
 * bill's. */
static void forgotten(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        for (int i = 0; i < 200 && rented_truth(&w).ever == 0; i++)
                (void)world_step(&w, w.boot_us + MIN);
        world_die(&w);
        for (int64_t until = w.boot_us + 5 * HOUR; world_step(&w, until);)
                ;
        tap_int(rented_truth(&w).ever, 1, "a machine was made, and its answer was not heard");
        tap_int(rented_truth(&w).there, 0, "law 8 and it ended by its hard stop");
        tap_int(world_restart(&w), 0, "five hours later portald starts again");
        world_run(&w, USEC_PER_SEC);
        tap_ok(rented_counted(&w) <= rented_billed(&w),
                "N-04 and counts no time behind the hard stop, not even at first");
        world_run(&w, 2 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "and its job runs elsewhere");
        sim_exit(&w, world_sim(&w, id), 0, 0, "");
        world_run(&w, HOUR);
        tap_ok(rented_counted(&w) >= rented_billed(&w) && rented_counted(&w) - rented_billed(&w) < rented_billed(&w),
                "N-04 what it cost is counted: %lld nano, billed %lld", (long long)rented_counted(&w),
                (long long)rented_billed(&w));
        rented_end(&w);
}

static void clock_steps(int64_t by_us)
{
        struct world w;
        char id[40];

        tap_note("by %lld min", (long long)(by_us / MIN));
        if (!rented_begin(&w, NULL))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        world_step_clock(&w, by_us);
        world_run(&w, 6 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "law 15 no step of the clock ends a machine");
        tap_int(world_job_int(&w, id, "generation"), 1, "nor moves its job");
        rented_end(&w);
}

/* --- lists that lie --- */
static void lists_lie(const char *script)
{
        struct world w;
        char id[40];

        tap_note("%s", script);
        if (!rented_begin(&w, faults(script)))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 12 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "a list that lies is not believed: the job runs on");
        tap_int(world_job_int(&w, id, "generation"), 1, "where it always was");
        tap_int(rented_truth(&w).ever, 1, "on the only machine that was ever made");
        scene_act(&w, "stop", id, NULL);
        world_run(&w, 30 * MIN);
        tap_str(world_job(&w, id, "result"), "stopped", "and stops");
        tap_int(rented_truth(&w).there, 0, "law 24 law 9 its machine is ended");
        rented_end(&w);
}

/* Its provider refuses to end it: said, and asked for again. */
static void end_refused(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, faults("terminate auth #1; terminate auth #2")))
                return;
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        scene_act(&w, "stop", id, NULL);
        world_run(&w, MIN);
        tap_int(rented_truth(&w).there, 1, "a machine that its provider will not end is there yet");
        tap_has(js_str(rented_machine(&w, 0), "why", ""), "could not be ended", "... which is said");
        world_run(&w, 30 * MIN);
        tap_int(rented_truth(&w).there, 0, "law 24 asked for again, it is ended");
        tap_int(rented_counted(&w), rented_billed(&w), "law 7 what it cost in between is on the bill, to the nano");
        rented_end(&w);
}

/* Given up for not being heard, and heard before its end is accepted: nothing starts there any more. */
static void heard_too_late(void)
{
        struct world w;
        char id[40];

        if (!rented_begin(&w, faults("boot late 20m #1; terminate auth #1; terminate auth #2")))
                return;
        world_submit(&w, "{\"idle\": \"off\"}", id);
        world_run(&w, 2 * HOUR);
        tap_str(world_job(&w, id, "state"), "running", "a machine that is heard after it was given up: its job runs");
        tap_int(rented_truth(&w).ever, 2, "... on another");
        tap_int((long long)w.starts, 1, "law 11 and was never begun on what was being ended");
        rented_end(&w);
}

int main(void)
{
        static const char *const lies[] = { "list short 1/3", "list stale 60s 1/2", "list partial 1/2",
                "any transient 1/5", "any throttle 1/5", "renew earlier 10m 1/2", "renew answer-lost 1/2",
                "renew request-lost 1/2", "terminate answer-lost always", "terminate late 5m always",
                "end leftover always", "notice false 1/2" };
        static const char *const leases[] = { "native", "external", "guest" };

        for (size_t i = 0; i < ARRAY_LEN(launches); i++)
                launch_row(i);
        dies_in_launch(true);
        dies_in_launch(false);
        for (size_t i = 0; i < ARRAY_LEN(leases); i++)
                dead_for_ever(leases[i], "ends");
        no_stop();
        not_renewed();
        comes_back_late();
        forgotten();
        end_refused();
        heard_too_late();
        clock_steps(3 * HOUR);
        clock_steps(-3 * HOUR);
        for (size_t i = 0; i < ARRAY_LEN(lies); i++)
                lists_lie(lies[i]);
        return tap_done();
}
