/* SPDX-License-Identifier: Apache-2.0 */
/* B-14: every side on each window of standard input, one JSON line each.
 *
 * bench_replay SPLIT OVERHEAD-S DEADLINE-H SPOT-NANO DELAY-S... < list; a line: FIRST PATH... (the tick to begin at, and a file a zone). The task is 48 h,
 * on demand 3.06 USD an hour; SPOT-NANO 0 = the file's prices. Spans are rounded up to the tick for all sides alike, the deadline down. */
#include <inttypes.h>
#include <stdio.h>

#include "replay/replay.h"

#define TASK_H 48
#define ON_DEMAND_NANO INT64_C(3060000000)

static const int32_t patience[] = { 0, 50, 100, 150, REPLAY_PATIENT };
static const char *const patience_names[] = { "0", "50", "100", "150", "patient" };

struct setting {
        struct replay_source source;
        int64_t overhead_us, deadline_us, delays_us[8];
        size_t delays_n;
};

static int32_t ticks(const struct replay_window *w, int64_t us)
{
        return (int32_t)((us + w->tick_us - 1) / w->tick_us);
}

static void print_result(const char *name, const struct replay_window *w, const struct replay_result *r)
{
        (void)printf("\"%s\":{\"nano\":%" PRId64 ",\"missed\":%d,\"moves\":%d,\"reclaims\":%d,\"on_demand_ticks\":%d}",
                name, replay_nano(w, r->cost), r->missed, r->moves, r->reclaims, r->on_demand_ticks);
}

static void print_delay(const struct replay_window *w, struct replay_task k, int64_t delay_us)
{
        k.delay = ticks(w, delay_us);
        (void)printf("\"%" PRId64 "\":{\"bound\":{\"nano\":%" PRId64 "}", delay_us / USEC_PER_SEC,
                replay_nano(w, replay_bound(w, &k)));
        for (size_t i = 0; i < ARRAY_LEN(patience); i++) {
                char name[32];
                struct replay_agent agent;
                struct replay_result r;

                replay_agent_init(&agent, patience[i]);
                replay_run(w, &k, replay_portald, &agent, &r, NULL);
                (void)snprintf(name, sizeof name, "portald_%s", patience_names[i]);
                (void)printf(",");
                print_result(name, w, &r);
        }
        (void)printf("}");
}

static void play(const struct setting *s, const struct replay_window *w)
{
        static const struct {
                const char *name;
                replay_side_fn fn;
        } rivals[] = { { "on_demand", replay_on_demand }, { "greedy", replay_greedy }, { "uniform", replay_uniform } };
        struct replay_task k = { .work = ticks(w, TASK_H * USEC_PER_HOUR),
                .deadline = (int32_t)(s->deadline_us / w->tick_us),
                .overhead = ticks(w, s->overhead_us),
                .cooldown = ticks(w, 30 * USEC_PER_MIN),
                .exclusion = ticks(w, 30 * USEC_PER_MIN) };
        struct replay_result r;

        (void)printf("{\"tick_s\":%" PRId64 ",\"zones\":%d", w->tick_us / USEC_PER_SEC, w->zones);
        for (size_t i = 0; i < ARRAY_LEN(rivals); i++) {
                replay_run(w, &k, rivals[i].fn, NULL, &r, NULL);
                (void)printf(",");
                print_result(rivals[i].name, w, &r);
        }
        (void)printf(",\"free\":{\"nano\":%" PRId64 "},\"delays\":{", replay_nano(w, replay_free(w, &k)));
        for (size_t i = 0; i < s->delays_n; i++) {
                (void)printf("%s", i ? "," : "");
                print_delay(w, k, s->delays_us[i]);
        }
        (void)printf("}}\n");
        (void)fflush(stdout);
}

static int one(struct setting *s, char *line)
{
        const char *paths[REPLAY_ZONES_MAX];
        char *save, *word = strtok_r(line, " \n", &save);
        struct replay_window w;
        struct pd_error err;

        s->source.paths = paths;
        s->source.paths_n = 0;
        s->source.first = word ? (int32_t)strtol(word, NULL, 10) : 0;
        while ((word = strtok_r(NULL, " \n", &save)) && s->source.paths_n < REPLAY_ZONES_MAX)
                paths[s->source.paths_n++] = word;
        if (replay_load(&s->source, &w, &err) < 0) {
                (void)fprintf(stderr, "bench_replay: %s\n", err.text);
                return 1;
        }
        if ((int64_t)w.ticks * w.tick_us < s->deadline_us) {
                (void)fprintf(stderr, "bench_replay: %s: the window is shorter than the deadline\n", paths[0]);
                replay_clear(&w);
                return 1;
        }
        play(s, &w);
        replay_clear(&w);
        return 0;
}

int main(int argc, char **argv)
{
        struct setting s = { .source = { .most = INT32_MAX, .on_demand_nano = ON_DEMAND_NANO } };
        static char line[8192];

        if (argc < 6 || argc > 13) {
                (void)fprintf(stderr, "bench_replay SPLIT OVERHEAD-S DEADLINE-H SPOT-NANO DELAY-S... < list\n");
                return 2;
        }
        s.source.split = (int32_t)strtol(argv[1], NULL, 10);
        s.overhead_us = strtoll(argv[2], NULL, 10) * USEC_PER_SEC;
        s.deadline_us = strtoll(argv[3], NULL, 10) * USEC_PER_HOUR;
        s.source.spot_nano = strtoll(argv[4], NULL, 10);
        for (int i = 5; i < argc; i++)
                s.delays_us[s.delays_n++] = strtoll(argv[i], NULL, 10) * USEC_PER_SEC;
        while (fgets(line, sizeof line, stdin))
                if (one(&s, line))
                        return 1;
        return 0;
}
