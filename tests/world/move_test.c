/* SPDX-License-Identifier: Apache-2.0 */
/* A move in each of its phases, and what can come between: two machines of one's own, and one that is rented. Who looks on sees every change of a
 * placement as it truly happens. */
#include "simulate/cloud.h"
#include "world/scene.h"

#define SEC USEC_PER_SEC
#define SAVE_US (60 * SEC)
#define START_US (2 * MIN)

struct truth { /* what no run may ever show */
        int unfrozen_twice, ended_early, thawed_beside, backwards;
        uint64_t newest, proved; /* generations: begun, seen to run */
};

/* Law 1, 2, 11, 18: at each change of a placement. */
static void on_truth(struct world *w, const struct sim_job *s)
{
        struct truth *t = w->watch->arg;
        int unfrozen = 0;

        world_each_job(w, o)
        {
                if (!streq(o->job, s->job))
                        continue;
                unfrozen += streq(o->phase, "running") || streq(o->phase, "saving");
                if (o->proved && o->generation > t->proved)
                        t->proved = o->generation;
        }
        t->unfrozen_twice += unfrozen > 1;
        t->ended_early += streq(s->phase, "exited") && streq(s->cause, "move") && t->proved <= s->generation;
        if (streq(s->phase, "preparing")) {
                t->backwards += s->generation < t->newest;
                t->newest = s->generation > t->newest ? s->generation : t->newest;
        }
}

static struct truth truth;
static const struct world_watch watch = { .truth = on_truth, .arg = &truth };

static bool begin(struct world *w)
{
        js_owned *settings = json_pack("{s:s,s:s}", "cheaper", "off", "return", "off");

        truth = (struct truth){ 0 };
        if (world_new_with(w, &(struct world_options){ .settings = settings, .wait = true, .seed = 11 }) < 0)
                return false;
        (void)world_add_own(w, "barn", 8000, UINT64_C(16) << 30, 0);
        w->watch = &watch;
        w->save_us = SAVE_US;
        w->start_us = START_US;
        sim_tick_start(w);
        return world_start(w) == 0;
}

static void end(struct world *w, const char *name)
{
        bool good = !w->fatal.code && !truth.unfrozen_twice && !truth.ended_early && !truth.backwards;

        if (!tap_ok(good, "%s: laws 1, 2, 11, 18, 20", name))
                tap_note("edge: %s; at once on two machines: %d; source ended before proof: %d; generation back: %d",
                        w->fatal.code ? w->fatal.text : "", truth.unfrozen_twice, truth.ended_early, truth.backwards);
        world_free(w);
}

static struct sim_machine *other(struct world *w, const struct sim_machine *m)
{
        vec_foreach (o, &w->machines)
                if (*o != m && (*o)->own)
                        return *o;
        return NULL;
}

static struct sim_job *on(struct world *w, const char *id, const struct sim_machine *m)
{
        (void)w;
        return sim_find(m, id);
}

static const char *phase_on(struct world *w, const char *id, const struct sim_machine *m)
{
        const struct sim_job *s = on(w, id, m);

        return s ? s->phase : "";
}

/* --- one thing in one phase --- */
enum when { SAVING, HANDED, PROVED, BACK };
enum what {
        NOTHING,
        START_FAILS,
        TARGET_LOST,
        TARGET_BOOTS,
        SOURCE_LOST,
        SOURCE_BOOTS,
        SAVE_REFUSED,
        STOP,
        SUSPEND,
        NOTICE_SOURCE,
        NOTICE_TARGET,
        DIES,
        SOURCE_RUNNER_DIES,
        TARGET_RUNNER_DIES,
        SOURCE_DOWN,
        TARGET_DOWN,
        BOTH_LOST,
        MOVE_AGAIN,
        TTL
};
enum where { NOWHERE, SOURCE, TARGET };

static const struct {
        const char *name;
        enum when when;
        enum what what;
        const char *state, *cause;
        enum where where;
} rows[] = {
        { "nothing comes between", SAVING, NOTHING, "running", "", TARGET },
        { "P-21 law 10 the save is refused", SAVING, SAVE_REFUSED, "running", "", SOURCE },
        { "the target cannot start it", SAVING, START_FAILS, "running", "", SOURCE },
        { "the target forgot it is a target", SAVING, TARGET_LOST, "running", "", TARGET },
        { "the target boots before it has anything", SAVING, TARGET_BOOTS, "running", "", TARGET },
        { "the source forgets it during the save", SAVING, SOURCE_LOST, "ended", "machine_lost", NOWHERE },
        { "the source goes down during the save", SAVING, SOURCE_BOOTS, "ended", "machine_lost", NOWHERE },
        { "a stop during the save", SAVING, STOP, "ended", "user", NOWHERE },
        { "a suspension during the save", SAVING, SUSPEND, "suspended", "user", NOWHERE },
        { "P-04 the source's notice during the save", SAVING, NOTICE_SOURCE, "suspended", "notice", NOWHERE },
        { "the target's notice during the save", SAVING, NOTICE_TARGET, "running", "", SOURCE },
        { "portald dies during the save", SAVING, DIES, "running", "", TARGET },
        { "the source's runner is restarted during the save", SAVING, SOURCE_RUNNER_DIES, "running", "", SOURCE },
        { "the target's runner is restarted during the save", SAVING, TARGET_RUNNER_DIES, "running", "", TARGET },
        { "the source is out of reach at the save's end", SAVING, SOURCE_DOWN, "running", "", TARGET },
        { "the target is out of reach at the save's end", SAVING, TARGET_DOWN, "running", "", SOURCE },
        { "P-26 asked again during the save", SAVING, MOVE_AGAIN, "running", "", TARGET },
        { "P-01 its time is over during the save", SAVING, TTL, "ended", "ttl", NOWHERE },

        { "law 11 the target loses it before it ran", HANDED, TARGET_LOST, "running", "", SOURCE },
        { "the target goes down before it ran, and prepares it again", HANDED, TARGET_BOOTS, "running", "", TARGET },
        { "the source forgets what it held", HANDED, SOURCE_LOST, "running", "", TARGET },
        { "the source goes down with what it held", HANDED, SOURCE_BOOTS, "running", "", TARGET },
        { "both forget it", HANDED, BOTH_LOST, "suspended", "machine_lost", NOWHERE },
        { "a stop between the machines", HANDED, STOP, "ended", "user", NOWHERE },
        { "a suspension between the machines", HANDED, SUSPEND, "suspended", "user", NOWHERE },
        { "the source's notice while it holds", HANDED, NOTICE_SOURCE, "running", "", TARGET },
        { "P-04 the target's notice", HANDED, NOTICE_TARGET, "suspended", "notice", NOWHERE },
        { "portald dies between the machines", HANDED, DIES, "running", "", TARGET },
        { "the source's runner is restarted while it holds", HANDED, SOURCE_RUNNER_DIES, "running", "", TARGET },
        { "the target's runner is restarted while it prepares", HANDED, TARGET_RUNNER_DIES, "running", "", TARGET },
        { "the source is out of reach while it holds", HANDED, SOURCE_DOWN, "running", "", TARGET },
        { "the target is out of reach while it starts", HANDED, TARGET_DOWN, "running", "", TARGET },
        { "P-26 asked again between the machines", HANDED, MOVE_AGAIN, "running", "", TARGET },

        { "the source comes back after the target ran", PROVED, NOTHING, "running", "", TARGET },
        { "portald dies after the target ran", PROVED, DIES, "running", "", TARGET },
        { "the source forgot what it held, after the target ran", PROVED, SOURCE_LOST, "running", "", TARGET },
        { "the source went down after the target ran", PROVED, SOURCE_BOOTS, "running", "", TARGET },
        { "a stop while the source is still to be let go", PROVED, STOP, "ended", "user", NOWHERE },
        { "a suspension while the source is still to be let go", PROVED, SUSPEND, "suspended", "user", NOWHERE },
        { "the target is lost, the source still holds what it has outlived", PROVED, TARGET_LOST, "suspended",
                "machine_lost", NOWHERE },

        { "no target any more, and the source comes back", BACK, NOTHING, "running", "", SOURCE },
        { "portald dies on the way back", BACK, DIES, "running", "", SOURCE },
        { "the source forgot it on the way back", BACK, SOURCE_LOST, "suspended", "machine_lost", NOWHERE },
        { "the source went down on the way back", BACK, SOURCE_BOOTS, "suspended", "machine_lost", NOWHERE },
        { "a stop on the way back", BACK, STOP, "ended", "user", NOWHERE },
        { "a suspension on the way back", BACK, SUSPEND, "suspended", "user", NOWHERE },
};

static void ask_move(struct world *w, const char *id, const struct sim_machine *to, const char *what)
{
        char offer[300];
        struct reply r;

        (void)str_format(offer, sizeof offer, "%s", to->connection->name);
        world_ask(w, "move", id, json_pack("{s:s}", "on", offer), NULL, &r);
        if (!tap_ok(r.err.code == PD_OK, "%s", what))
                tap_note("%s", r.err.text);
        reply_clear(&r);
}

static void reach_phase(
        struct world *w, const char *id, enum when when, struct sim_machine *from, struct sim_machine *to)
{
        static const char *const want[] = { "saving", "handed", "proved", "back" };
        struct reply r;

        world_run(w, 30 * SEC);
        if (when == SAVING)
                return;
        world_run(w, SAVE_US);
        if (when == BACK) { /* the source is out of reach when the target turns out to be no good */
                sim_reach(from, false);
                sim_state_lost(to);
                sim_reach(to, false);
                sim_reach(to, true);
                world_run(w, 20 * SEC);
        }
        if (when == PROVED) {
                sim_reach(from, false);
                world_run(w, START_US);
        }
        world_ask(w, "show", id, NULL, NULL, &r);
        (void)tap_ok(streq(js_str(json_object_get(r.body, "move"), "phase", "none"), want[when]), "... in phase %s",
                want[when]);
        reply_clear(&r);
}

/* A storm may come too late for it: that is an answer, too. */
static void act_quietly(struct world *w, const char *verb, const char *id)
{
        struct reply r;

        world_ask(w, verb, id, NULL, NULL, &r);
        reply_clear(&r);
}

static void relist(struct sim_machine *m)
{
        sim_reach(m, false);
        sim_reach(m, true);
}

static void strike(struct world *w, const char *id, enum what what, struct sim_machine *from, struct sim_machine *to)
{
        switch (what) {
        case NOTHING:
                break;
        case START_FAILS:
                w->start_error = "NOT_FOUND";
                break;
        case TARGET_LOST:
                sim_state_lost(to);
                relist(to);
                break;
        case TARGET_BOOTS:
                sim_reboot(to);
                relist(to);
                break;
        case SOURCE_LOST:
                sim_state_lost(from);
                relist(from);
                break;
        case SOURCE_BOOTS:
                sim_reboot(from);
                relist(from);
                break;
        case BOTH_LOST:
                sim_state_lost(from);
                sim_state_lost(to);
                relist(from);
                relist(to);
                break;
        case SAVE_REFUSED:
                w->refuse_path = "model.lock";
                break;
        case STOP:
                act_quietly(w, "stop", id);
                break;
        case SUSPEND:
                act_quietly(w, "suspend", id);
                break;
        case NOTICE_SOURCE:
                sim_notice(from, 30 * MIN, "provider");
                break;
        case NOTICE_TARGET:
                sim_notice(to, 30 * MIN, "provider");
                break;
        case DIES:
                world_die(w);
                (void)world_restart(w);
                break;
        case SOURCE_RUNNER_DIES:
                sim_runner_restart(from);
                relist(from);
                break;
        case TARGET_RUNNER_DIES:
                sim_runner_restart(to);
                relist(to);
                break;
        case SOURCE_DOWN:
                sim_reach(from, false);
                world_run(w, 5 * MIN);
                sim_reach(from, true);
                break;
        case TARGET_DOWN:
                sim_reach(to, false);
                world_run(w, 5 * MIN);
                sim_reach(to, true);
                break;
        case MOVE_AGAIN:
                ask_move(w, id, to, "... is the same move");
                break;
        case TTL:
                scene_act(w, "settings_change", NULL, json_pack("{s:{s:s}}", "settings", "ttl", "3m"));
                break;
        }
}

static bool is_where(
        struct world *w, const char *id, enum where where, struct sim_machine *from, struct sim_machine *to)
{
        const struct sim_job *a = on(w, id, from), *b = on(w, id, to);
        bool at_a = a && world_live(a), at_b = b && world_live(b);

        return at_a == (where == SOURCE) && at_b == (where == TARGET);
}

static void scene(size_t i)
{
        struct sim_machine *from, *to;
        struct world w;
        char id[40];
        bool good;

        if (!begin(&w)) {
                tap_ok(false, "%s: a world begins", rows[i].name);
                return;
        }
        world_run(&w, MIN);
        world_submit(&w, rows[i].what == TTL ? "{\"ttl\": \"225s\"}" : "{}", id);
        world_run(&w, START_US + MIN);
        from = world_sim(&w, id) ? world_sim(&w, id)->machine : NULL;
        to = from ? other(&w, from) : NULL;
        if (!tap_ok(to != NULL, "%s", rows[i].name)) {
                world_free(&w);
                return;
        }
        ask_move(&w, id, to, "... it moves");
        reach_phase(&w, id, rows[i].when, from, to);
        if (rows[i].what != TTL)
                strike(&w, id, rows[i].what, from, to);
        world_run(&w, MIN);
        sim_reach(from, true);
        sim_reach(to, true);
        world_run(&w, HOUR);
        w.start_error = w.refuse_path = NULL;
        world_run(&w, HOUR);
        good = tap_ok(streq(world_job(&w, id, "state"), rows[i].state), "... and is %s", rows[i].state);
        good = tap_ok(streq(world_job(&w, id, "cause"), rows[i].cause), "... because: \"%s\"", rows[i].cause) && good;
        good = tap_ok(is_where(&w, id, rows[i].where, from, to), "... where it ought to be") && good;
        good = tap_str(world_job(&w, id, "move"), "", "... and no move is left") && good;
        if (!good)
                tap_note("source %s, target %s: %s", phase_on(&w, id, from), phase_on(&w, id, to),
                        world_job(&w, id, "message"));
        end(&w, "... throughout");
}

/* --- death at every instant, and everything at once --- */
static bool start_one(struct world *w, char id[40], struct sim_machine **from, struct sim_machine **to)
{
        if (!begin(w))
                return false;
        world_run(w, MIN);
        world_submit(w, "{}", id);
        world_run(w, START_US + MIN);
        *from = world_sim(w, id) ? world_sim(w, id)->machine : NULL;
        *to = *from ? other(w, *from) : NULL;
        return *to != NULL;
}

static bool move_quietly(struct world *w, const char *id, const struct sim_machine *to)
{
        struct reply r;
        bool good;

        world_ask(w, "move", id, json_pack("{s:s}", "on", to->connection->name), NULL, &r);
        good = r.err.code == PD_OK;
        reply_clear(&r);
        return good;
}

/* Settled: it runs in one place, or nowhere and for a reason; and nothing is left of the move. */
static bool settled(struct world *w, const char *id, struct sim_machine *from, struct sim_machine *to)
{
        pd_cleanup(freep) char *state = strdup(world_job(w, id, "state"));
        const struct sim_job *a = sim_find(from, id), *b = sim_find(to, id);
        int live = (a && world_live(a)) + (b && world_live(b)),
            unfrozen = (a && world_unfrozen(a)) + (b && world_unfrozen(b));
        bool good = streq(state, "running") ? live == 1 && unfrozen == 1
                                            : live == 0 && (streq(state, "suspended") || streq(state, "ended"));

        good = good && !*world_job(w, id, "move") && !w->fatal.code && !truth.unfrozen_twice && !truth.ended_early &&
               !truth.backwards;
        if (!good)
                tap_note("%s: source %s, target %s, %s; %s; twice %d, early %d, back %d, %s", state,
                        phase_on(w, id, from), phase_on(w, id, to), world_job(w, id, "move"),
                        world_job(w, id, "message"), truth.unfrozen_twice, truth.ended_early, truth.backwards,
                        w->fatal.code ? w->fatal.text : "");
        return good;
}

/* Away for the ten seconds in which the save ends: the source, which stands still, is not thawed for that. */
static void a_blink(void)
{
        struct sim_machine *from, *to;
        struct world w;
        char id[40];

        if (!tap_ok(start_one(&w, id, &from, &to) && move_quietly(&w, id, to), "a move begins"))
                return;
        world_run(&w, SAVE_US - 5 * SEC);
        sim_reach(to, false);
        world_run(&w, 10 * SEC);
        tap_str(world_job(&w, id, "state"), "saving", "saved, and its target is out of reach: it is waited for");
        sim_reach(to, true);
        world_run(&w, 10 * MIN);
        tap_ok(settled(&w, id, from, to) && sim_find(to, id) && world_unfrozen(sim_find(to, id)),
                "law 11 and runs on there when it is back");
        end(&w, "a blink of the target");
}

static void dies_everywhere(void)
{
        int bad = 0, there = 0, n = 0;

        for (int steps = 0; steps < 240; steps += steps < 40 ? 1 : 5, n++) {
                struct sim_machine *from, *to;
                struct world w;
                char id[40];

                if (!start_one(&w, id, &from, &to) || !move_quietly(&w, id, to)) {
                        bad++;
                        world_free(&w);
                        continue;
                }
                for (int i = 0; i < steps; i++)
                        (void)world_step(&w, w.boot_us + MIN);
                world_die(&w);
                bad += world_restart(&w) < 0;
                world_run(&w, HOUR);
                bad += !settled(&w, id, from, to);
                there += on(&w, id, to) && world_live(on(&w, id, to));
                world_free(&w);
        }
        tap_int(bad, 0, "law 3 portald dies after each of many events of a move, and the job goes on");
        tap_ok(there > n * 3 / 4, "... mostly where it was to go: %d of %d", there, n);
}

static uint64_t dice(uint64_t *x, uint64_t below)
{
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        return *x % below;
}

static bool one_storm(uint64_t seed)
{
        static const enum what all[] = { START_FAILS, TARGET_LOST, TARGET_BOOTS, SOURCE_LOST, SOURCE_BOOTS,
                SAVE_REFUSED, STOP, SUSPEND, NOTICE_SOURCE, NOTICE_TARGET, DIES, DIES, SOURCE_RUNNER_DIES,
                TARGET_RUNNER_DIES, SOURCE_DOWN, TARGET_DOWN };
        uint64_t x = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
        struct sim_machine *from, *to;
        struct world w;
        char id[40];
        bool good = start_one(&w, id, &from, &to) && move_quietly(&w, id, to);

        for (uint64_t n = good ? 1 + dice(&x, 4) : 0; n > 0; n--) {
                world_run(&w, (int64_t)dice(&x, 150) * SEC + (int64_t)dice(&x, 1000000));
                strike(&w, id, all[dice(&x, ARRAY_LEN(all))], from, to);
                if (dice(&x, 3) == 0) {
                        sim_reach(dice(&x, 2) ? from : to, false);
                        if (dice(&x, 2))
                                world_run(&w, (int64_t)dice(&x, 60) * SEC);
                }
                if (dice(&x, 4) == 0)
                        w.start_error = w.refuse_path = NULL;
        }
        if (good) {
                world_run(&w, (int64_t)dice(&x, 300) * SEC);
                w.start_error = w.refuse_path = NULL;
                sim_reach(from, true);
                sim_reach(to, true);
                world_run(&w, 2 * HOUR);
                good = settled(&w, id, from, to);
        }
        world_free(&w);
        return good;
}

static void storms(void)
{
        const char *one = getenv("MOVE_STORM"), *full = getenv("TEST_FULL");
        uint64_t n = full && streq(full, "1") ? 5000 : 300;
        int bad = 0;

        if (one) {
                tap_ok(one_storm(strtoull(one, NULL, 10)), "storm %s", one);
                return;
        }
        for (uint64_t seed = 1; seed <= n; seed++)
                if (!one_storm(seed)) {
                        tap_note("storm %llu: again with MOVE_STORM=%llu", (unsigned long long)seed,
                                (unsigned long long)seed);
                        bad++;
                }
        tap_ok(bad == 0, "law 1, 2, 3, 11, 20, 23: %llu moves through storms of what can come between: %d bad",
                (unsigned long long)n, bad);
}

/* --- P-25: what the policies do where a save is refused --- */
static bool has_act(struct world *w, const char *id, const char *policy, const char *act)
{
        struct reply r;
        const json_t *d;
        size_t i;
        bool found = false;

        world_ask(w, "explain", id, NULL, NULL, &r);
        json_array_foreach (json_object_get(r.body, "decisions"), i, d)
                found |= streq(js_str(d, "policy", ""), policy) && streq(js_str(d, "act", ""), act);
        reply_clear(&r);
        return found;
}

static void ends_unsaved(void)
{
        struct world w;
        char id[40];

        if (!tap_ok(begin(&w), "a job that cannot be saved, near its budget"))
                return;
        w.refuse_path = "model.lock";
        vec_foreach (c, &w.connections)
                (*c)->price_nano_hour = INT64_C(100000000);
        world_submit(&w, "{\"budget\": \"0.01usd\"}", id);
        world_run(&w, 20 * MIN);
        tap_str(world_job(&w, id, "state"), "running", "P-25 the save is refused, and it runs on");
        world_run(&w, HOUR);
        tap_str(world_job(&w, id, "state"), "ended", "P-25 at the end of its budget it is stopped without a save");
        tap_str(world_job(&w, id, "result"), "stopped", "... as stopped");
        tap_str(world_job(&w, id, "cause"), "budget", "... by its budget");
        end(&w, "... throughout");
        if (!tap_ok(begin(&w), "a job that cannot be saved, on a machine that goes away"))
                return;
        world_run(&w, MIN);
        world_submit(&w, "{}", id);
        world_run(&w, 10 * MIN);
        w.refuse_path = "model.lock";
        sim_notice(world_sim(&w, id)->machine, 10 * MIN, "provider");
        world_run(&w, 30 * MIN);
        tap_str(world_job(&w, id, "state"), "ended", "P-25 a notice takes it, and it had no checkpoint");
        tap_str(world_job(&w, id, "cause"), "machine_lost", "... as for a machine that vanished");
        tap_ok(has_act(&w, id, "spot", "signal"), "P-25 SIGTERM was sent before the deadline, and explain says so");
        end(&w, "... throughout");
}

/* F-12: its log lies where it ran; both parts go when its time is over. */
static void forgotten_everywhere(void)
{
        struct sim_machine *from, *to;
        struct world w;
        char id[40];

        if (!tap_ok(start_one(&w, id, &from, &to) && move_quietly(&w, id, to), "a job is moved"))
                return;
        world_run(&w, 10 * MIN);
        act_quietly(&w, "stop", id);
        world_run(&w, 10 * MIN);
        tap_ok(sim_find(from, id) && sim_find(to, id), "... and over; both runners know of it");
        world_run(&w, 61 * DAY);
        tap_ok(!sim_find(from, id) && !sim_find(to, id), "F-12 after 60 days neither does any more");
        end(&w, "... throughout");
}

int main(void)
{
        if (getenv("MOVE_STORM")) {
                storms();
                return tap_done();
        }
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                scene(i);
        ends_unsaved();
        forgotten_everywhere();
        a_blink();
        dies_everywhere();
        storms();
        return tap_done();
}
