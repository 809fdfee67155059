/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon dies at each event of a rented machine's life (launch, renewal, end: the kinds of intent that a provider which rents answers), between
 * events and on either side of a commit, and starts again: the end is the same as without. */
#include "world/rented.h"

enum death { BETWEEN, BEFORE_COMMIT, AFTER_COMMIT, DEATH_N };
static const char *const death_names[DEATH_N] = { "between events", "before a commit", "after a commit" };

struct phase {
        const char *name;
        int64_t after_us; /* the job has run for so long when the steps begin */
        bool exits;       /* and ends then */
        int steps;
        const char *state, *result;
        int there;
};

static const struct phase phases[] = {
        { "launch", -1, false, 40, "running", "", 1 },
        { "renew", 8 * MIN, false, 40, "running", "", 1 },
        { "end", 10 * MIN, true, 30, "ended", "succeeded", 0 },
};

static void step_and_die(struct world *w, int steps, enum death how)
{
        for (int i = 0; i < steps; i++)
                (void)world_step(w, w->boot_us + 3 * MIN);
        w->rate[WORLD_FAULT_DEATH_BEFORE_COMMIT] = how == BEFORE_COMMIT ? 10000 : 0;
        w->rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = how == AFTER_COMMIT ? 10000 : 0;
        for (int i = 0; i < 200 && how != BETWEEN && !w->dying; i++)
                (void)world_step(w, w->boot_us + 3 * MIN);
        w->rate[WORLD_FAULT_DEATH_BEFORE_COMMIT] = w->rate[WORLD_FAULT_DEATH_AFTER_COMMIT] = 0;
        world_die(w);
}

static bool same_end(struct world *w, const struct phase *p, const char *id, int steps)
{
        const char *state = world_job(w, id, "state"), *result = world_job(w, id, "result");
        struct rented_truth truth = rented_truth(w);
        bool good = streq(state, p->state) && streq(result, p->result) && truth.there == p->there && truth.ever == 1 &&
                    world_job_int(w, id, "generation") <= (p->after_us < 0 ? 2 : 1) /* proven absent: placed anew */ &&
                    !w->fatal.code;

        if (good && !p->there)
                good = rented_counted(w) == rented_billed(w);
        if (!good)
                tap_note("step %d: %s %s: %s; %d of %d machines are there; counted %lld of %lld", steps, state, result,
                        world_job(w, id, "message"), truth.there, truth.ever, (long long)rented_counted(w),
                        (long long)rented_billed(w));
        return good;
}

static bool dies(const struct phase *p, enum death how, int steps)
{
        struct world w;
        char id[40];
        bool good;

        if (!rented_quietly(&w, NULL))
                return false;
        world_submit(&w, "{}", id);
        if (p->after_us >= 0)
                world_run(&w, 2 * MIN + p->after_us);
        if (p->exits)
                sim_exit(&w, world_sim(&w, id), 0, 0, "");
        step_and_die(&w, steps, how);
        good = world_restart(&w) >= 0;
        world_run(&w, HOUR);
        good = same_end(&w, p, id, steps) && good;
        world_free(&w);
        return good;
}

int main(void)
{
        for (size_t i = 0; i < ARRAY_LEN(phases); i++)
                for (int how = 0; how < DEATH_N; how++) {
                        int bad = 0;

                        for (int steps = 0; steps < phases[i].steps; steps++)
                                bad += !dies(&phases[i], (enum death)how, steps);
                        tap_ok(bad == 0, "law 3 law 4 killed at %s %s %d times, the end is the same", phases[i].name,
                                death_names[how], phases[i].steps);
                }
        return tap_done();
}
