/* SPDX-License-Identifier: Apache-2.0 */
/* Law 20 through the API's own words: what `explain --json` tells of every job of a busy world, replayed row by row, is what `show` says; and at any
 * instant before, it tells of nothing later. */
#include "simulate/cloud.h"
#include "world/scene.h"

#define JOBS 48

struct jobs {
        char id[JOBS][40];
        size_t n;
};

static bool begin(struct world *w)
{
        js_owned *options =
                json_pack("{s:s,s:s,s:s,s:s}", "seed", "11", "types", "small", "life", "5h", "notice", "2m");
        struct pd_error err;

        if (world_new_with(w, &(struct world_options){ .wait = true, .seed = 11 }) != 0)
                return false;
        sim_tick_start(w);
        return world_add_sim(w, "cloud", options, &err) != NULL && world_start(w) == 0;
}

/* Users, exits and a death of the daemon, for a week. */
static void live(struct world *w, struct jobs *j)
{
        static const char *const verbs[] = { "suspend", "resume", "resume", "stop", "move" };

        for (int i = 0; i < 400; i++) {
                const char *id = j->n ? j->id[world_chance(w, j->n)] : "";
                uint64_t dice = world_chance(w, 10);
                struct sim_job *s = NULL;
                struct reply r;

                if (j->n < JOBS && (dice < 3 || !j->n)) {
                        world_submit(w, "{\"expect\": \"100h\"}", j->id[j->n]);
                        j->n += j->id[j->n][0] != '\0';
                } else if (dice == 3) {
                        s = world_sim(w, id);
                        if (s && world_live(s))
                                sim_exit(w, s, (int)world_chance(w, 2), 0, "");
                } else if (dice == 4 && world_chance(w, 4) == 0) {
                        (void)world_restart(w);
                } else if (dice > 5) {
                        world_ask(w, verbs[world_chance(w, ARRAY_LEN(verbs))], id, NULL, NULL, &r);
                        reply_clear(&r);
                }
                world_run(w, (int64_t)world_chance(w, 40 * MIN));
        }
        world_run(w, HOUR);
}

/* Each row begins where the one before ended. */
static bool chains(const json_t *history)
{
        const char *state = "";
        const json_t *row;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)history, i, row) {
                if (i > 0 && !streq(js_str(row, "from", "?"), state))
                        return false;
                state = js_str(row, "to", "?");
        }
        return i > 0;
}

static bool same(const json_t *then, const json_t *shown)
{
        const char *machine = js_str(then, "machine", "");

        return streq(js_str(then, "state", "?"), js_str(shown, "state", "")) &&
               streq(js_str(then, "result", "?"), js_str(shown, "result", "")) &&
               streq(js_str(then, "cause", "?"), js_str(shown, "cause", "")) &&
               js_int(then, "generation", -1) == js_int(shown, "generation", -2) &&
               streq(machine, js_str(shown, "machine", "")) &&
               js_int(then, "since_wall_us", -1) == js_int(shown, "since_wall_us", -2);
}

/* Every decision has a sentence and evidence; the ones that chose an offer name it with its price. */
static bool grounded(const json_t *decisions)
{
        const json_t *d;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)decisions, i, d) {
                const json_t *proof = json_object_get(d, "evidence");
                bool chose = streq(js_str(d, "act", ""), "place");

                if (!*js_str(d, "why", "") || !*js_str(d, "policy", ""))
                        return false;
                if (chose && (!*js_str(proof, "offer", "") || !json_object_get(proof, "price") ||
                                     json_array_size(json_object_get(proof, "losers")) > 8))
                        return false;
        }
        return true;
}

static bool nothing_later(struct world *w, const char *id, int64_t at)
{
        struct reply r;
        const json_t *d;
        bool good = true;
        size_t i;

        world_ask(w, "explain", id, json_pack("{s:I}", "at_wall_us", (json_int_t)at), NULL, &r);
        json_array_foreach (json_object_get(r.body, "decisions"), i, d)
                good = good && js_int(d, "at_wall_us", INT64_MAX) <= at;
        json_array_foreach (json_object_get(r.body, "intervals"), i, d)
                good = good && js_int(d, "first_wall_us", INT64_MAX) <= at && js_int(d, "last_wall_us", 0) >= at;
        json_array_foreach (json_object_get(r.body, "history"), i, d)
                good = good && js_int(d, "at_wall_us", INT64_MAX) <= at;
        reply_clear(&r);
        return good;
}

static void look(struct world *w, const struct jobs *j)
{
        size_t chained = 0, replayed = 0, founded = 0, bounded = 0;

        for (size_t i = 0; i < j->n; i++) {
                struct reply e, s;

                world_settle(w);
                world_ask(w, "explain", j->id[i], NULL, NULL, &e);
                world_ask(w, "show", j->id[i], NULL, NULL, &s);
                chained += chains(json_object_get(e.body, "history"));
                replayed += same(json_object_get(e.body, "then"), s.body);
                if (!same(json_object_get(e.body, "then"), s.body)) {
                        char *text = js_dump(json_object_get(e.body, "then"));

                        tap_note("%s: %s, shown %s since %lld on %s", j->id[i], text, js_str(s.body, "state", ""),
                                (long long)js_int(s.body, "since_wall_us", 0), js_str(s.body, "machine", "-"));
                        free(text);
                }
                founded += grounded(json_object_get(e.body, "decisions"));
                bounded += nothing_later(w, j->id[i], w->wall_us - 3 * HOUR);
                reply_clear(&e);
                reply_clear(&s);
        }
        tap_int((long long)chained, (long long)j->n,
                "law 20 each row of a job's history begins where the one before ended");
        tap_int((long long)replayed, (long long)j->n, "law 20 P-22 explain replays to what show says, for every job");
        tap_int((long long)founded, (long long)j->n, "P-22 every decision has its reason, and a placement its figures");
        tap_int((long long)bounded, (long long)j->n, "P-22 as of an instant, nothing later is told");
}

int main(void)
{
        struct jobs j = { .n = 0 };
        struct world w;

        if (!tap_ok(begin(&w), "a world of an own machine and a cloud begins"))
                return tap_done();
        live(&w, &j);
        tap_int((long long)j.n, JOBS, "so many jobs");
        look(&w, &j);
        tap_int(w.fatal.code, PD_OK, "no change was outside of the table of edges (law 20)");
        world_free(&w);
        return tap_done();
}
