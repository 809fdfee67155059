/* SPDX-License-Identifier: Apache-2.0 */
/* Many seeds of the simulated world, in processes of their own (issue 3, law 22).
 *
 *   world_swarm_test [--seed N] [--seeds N] [--from N] [--faults MASK] [--days N] [--verbose] [--no-shrink] [--no-kept]
 *
 * Exit: 0 all laws held; 2 a law was broken; 3 no progress; 4 the same seed gave another digest; 5 a crash. */
#include "tap.h"

#include <time.h>

#include "world/pool.h"

#define DAYS 30
#define FIRST 98963  /* of a normal run */
#define A_TIME 10    /* seeds between two looks at the clock */
#define JOBS 20      /* at least, in each seed that went through */
#define ENOUGH_S 150 /* of real time: a slow machine looks at fewer seeds, and says so */

/* Drops kinds of faults, and days, for as long as the same thing goes wrong. */
static struct swarm_run shrink(struct swarm_run run, const struct swarm_result *bad)
{
        run.faults &= bad->faults;
        for (enum world_fault f = 0; f < WORLD_FAULT_N; f++) {
                struct swarm_run less = run;
                struct swarm_result r;

                less.faults &= ~WORLD_FAULT_BIT(f);
                if (less.faults == run.faults)
                        continue;
                r = pool_run_one(&less);
                if (r.end == bad->end && r.law == bad->law)
                        run = less;
        }
        for (int days = run.days / 2; days >= 1; days /= 2) {
                struct swarm_run less = run;
                struct swarm_result r;

                less.days = days;
                r = pool_run_one(&less);
                if (r.end == bad->end && r.law == bad->law)
                        run = less;
        }
        return run;
}

/* As a row of tests/world/seeds.txt, in a file of its own beside the logs: TEST_SEEDS_DIR, or where the test runs. */
static void keep(const struct swarm_run *run, const struct swarm_result *r)
{
        char path[300];
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/seed-%llu.txt", str_or(getenv("TEST_SEEDS_DIR"), TEST_BINARY_DIR),
                (unsigned long long)run->seed);
        f = fopen(path, "we");
        if (!f)
                return;
        (void)fprintf(f, "%llu 0x%llx %d # law %d: %s: %s\n", (unsigned long long)run->seed,
                (unsigned long long)run->faults, run->days, r->law, swarm_end_name(r->end), r->text);
        (void)fclose(f);
        tap_note("kept: %s", path);
}

static void tell(const struct swarm_run *run, const struct swarm_result *r, bool shrinks)
{
        struct swarm_run least = *run;

        tap_note("seed %llu: %s: law %d: %s (signal or status %d)", (unsigned long long)run->seed,
                swarm_end_name(r->end), r->law, r->text, r->signal);
        for (size_t i = 0; i < ARRAY_LEN(r->trace); i++)
                if (r->trace[i][0])
                        tap_note("  %s", r->trace[i]);
        if (shrinks)
                least = shrink(*run, r);
        keep(&least, r);
        tap_note("again: world_swarm_test --seed %llu --faults 0x%llx --days %d --verbose",
                (unsigned long long)run->seed, (unsigned long long)least.faults, least.days);
        for (enum world_fault f = 0; f < WORLD_FAULT_N; f++)
                if (least.faults & r->faults & WORLD_FAULT_BIT(f))
                        tap_note("  with: %s", world_fault_names[f]);
}

static bool as_it_is; /* --no-shrink */

static int judge(const struct swarm_run *runs, const struct swarm_result *results, size_t n, const char *what)
{
        int worst = SWARM_OK, told = 0;
        size_t bad = 0;

        for (size_t i = 0; i < n; i++)
                if (results[i].end != SWARM_OK) {
                        bad++;
                        worst = (int)results[i].end > worst ? (int)results[i].end : worst;
                        if (told < 5)
                                tell(&runs[i], &results[i], told < 2 && !runs[i].verbose && !as_it_is);
                        told++;
                }
        tap_ok(bad == 0, "%s: %zu seeds, %zu bad", what, n, bad);
        return worst;
}

/* --- the sums --- */
static const struct {
        int law;
        const char *text;
} laws[] = {
        { 1, "law 1 N-01 at most one live placement per job" },
        { 2, "law 2 a generation runs only after the one before is over" },
        { 3, "law 3 S-01 an acknowledged job is never lost" },
        { 4, "law 4 nothing leaves before its record is on disk" },
        { 5, "law 5 N-01 no resume without a user's request" },
        { 6, "law 6 N-04 no act raises what is spent and promised above a cap" },
        { 7, "law 7 the ledger's lines equal a bill of 128 bits" },
        { 8, "law 8 N-05 a hard stop from creation on, also with portald dead for ever" },
        { 9, "law 9 N-06 no orphan, and no machine of somebody else touched" },
        { 10, "law 10 P-21 a refused save names its value" },
        { 11, "law 11 the source of a move ends only after proof of life" },
        { 12, "law 12 the newest good checkpoint is never dropped early" },
        { 13, "law 13 what is restored is what was saved last" },
        { 14, "law 14 P-15 one decision a check" },
        { 15, "law 15 P-01 P-02 P-03 the ttl clocks hold" },
        { 16, "law 16 same key, same job" },
        { 17, "law 17 N-02 no power call for an own machine" },
        { 18, "law 18 generations only grow" },
        { 19, "law 19 a planted secret is nowhere in the store" },
        { 20, "law 20 P-22 history has causes, and replays to the present state" },
        { 21, "law 21 queues are bounded" },
        { 23, "law 23 every job settles" },
        { 24, "law 24 unneeded rented machines are gone" },
        { 25, "law 25 reservations are closed" },
        { 26, "law 26 no retry without back-off" },
};

static void sums(const struct swarm_result *results, size_t n, bool many)
{
        struct swarm_result all = { 0 };
        uint64_t fewest = UINT64_MAX; /* a seed that broke a law ended early */

        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < ORACLE_LAWS; k++)
                        all.held[k] += results[i].held[k];
                for (size_t k = 0; k < WORLD_FAULT_N; k++)
                        all.struck[k] += results[i].struck[k], all.at_work[k] += results[i].at_work[k];
                for (size_t k = 0; k < ORACLE_POLICY_N; k++) {
                        all.acted[k] += results[i].acted[k], all.refused[k] += results[i].refused[k];
                        all.kept[k] += results[i].kept[k];
                }
                for (size_t k = 0; k < FAULT_KIND_N; k++)
                        all.cloud_struck[k] += results[i].cloud_struck[k];
                all.machines += results[i].machines;
                all.reclaims += results[i].reclaims;
                all.bills += results[i].bills;
                all.bills_equal += results[i].bills_equal;
                all.jobs += results[i].jobs;
                if (results[i].end == SWARM_OK && results[i].jobs < fewest)
                        fewest = results[i].jobs;
                all.events += results[i].events;
        }
        tap_ok(!many || (fewest >= JOBS && fewest != UINT64_MAX),
                "%llu jobs, at least %llu in each seed that went through", (unsigned long long)all.jobs,
                (unsigned long long)fewest);
        tap_note("%llu events", (unsigned long long)all.events);
        for (size_t k = 0; k < ARRAY_LEN(laws); k++)
                tap_ok(!many || all.held[laws[k].law] > 0, "%s: looked at %llu times", laws[k].text,
                        (unsigned long long)all.held[laws[k].law]);
        for (size_t k = 0; k < WORLD_FAULT_N; k++)
                tap_ok(!many || (all.struck[k] > 0 && all.at_work[k] > 0),
                        "fault: %s: %llu times, %llu with work in flight", world_fault_names[k],
                        (unsigned long long)all.struck[k], (unsigned long long)all.at_work[k]);
        for (size_t k = 0; k < FAULT_KIND_N; k++)
                tap_ok(!many || all.cloud_struck[k] > 0, "fault of a cloud: %s: %llu times", fault_kind_names[k],
                        (unsigned long long)all.cloud_struck[k]);
        for (size_t k = 0; k < ORACLE_POLICY_N; k++)
                tap_ok(!many || (all.acted[k] > 0 && all.refused[k] + all.kept[k] > 0),
                        "policy %s: acted %llu times, refused %llu times, kept %llu stretches", oracle_policies[k],
                        (unsigned long long)all.acted[k], (unsigned long long)all.refused[k],
                        (unsigned long long)all.kept[k]);
        tap_note("%llu machines came up, %llu were reclaimed; %llu of %llu bills are the cloud's own to the nano",
                (unsigned long long)all.machines, (unsigned long long)all.reclaims, (unsigned long long)all.bills_equal,
                (unsigned long long)all.bills);
}

/* tests/world/seeds.txt: SEED FAULTS DAYS # why */
static size_t kept_seeds(struct swarm_run *runs, size_t max)
{
        FILE *f = fopen(TEST_SOURCE_DIR "/tests/world/seeds.txt", "re");
        char line[256];
        size_t n = 0;

        while (f && n < max && fgets(line, sizeof line, f)) {
                char *end = line;
                struct swarm_run run = { .seed = strtoull(line, &end, 10) };

                if (end == line)
                        continue;
                run.faults = strtoull(end, &end, 16);
                run.days = (int)strtol(end, &end, 10);
                runs[n++] = run;
        }
        if (f)
                (void)fclose(f);
        return n;
}

struct options {
        struct swarm_run run;
        size_t seeds;
        bool one, all, no_kept;
};

/* A normal run takes the same seeds each time, so that one that breaks is news of the change at hand; --full, and --seed, look at others. */
static struct options read_options(int argc, char **argv)
{
        const char *full = getenv("TEST_FULL"), *given = getenv("TEST_SEED_GIVEN");
        bool all = full && streq(full, "1"), any = all || (given && streq(given, "1"));
        const char *from = any ? getenv("TEST_SEED") : NULL;
        struct options o = {
                .run = { .seed = from ? strtoull(from, NULL, 10) : FIRST, .faults = FAULTS_ALL, .days = DAYS },
                .seeds = all ? 2000 : 90,
                .all = all
        };

        for (int i = 1; i < argc; i++) {
                const char *v = i + 1 < argc ? argv[i + 1] : "";

                if (streq(argv[i], "--no-shrink"))
                        as_it_is = true;
                else if (streq(argv[i], "--no-kept"))
                        o.no_kept = true;
                else if (streq(argv[i], "--verbose"))
                        o.run.verbose = true;
                else if (streq(argv[i], "--seed"))
                        o.run.seed = strtoull(v, NULL, 10), o.one = true, i++;
                else if (streq(argv[i], "--from"))
                        o.run.seed = strtoull(v, NULL, 10), i++;
                else if (streq(argv[i], "--seeds"))
                        o.seeds = strtoull(v, NULL, 10), o.all = true, i++;
                else if (streq(argv[i], "--faults"))
                        o.run.faults = strtoull(v, NULL, 16), i++;
                else if (streq(argv[i], "--days"))
                        o.run.days = (int)strtol(v, NULL, 10), i++;
        }
        return o;
}

static void another_time(const struct swarm_run *runs, const struct swarm_result *results, size_t n, int *worst)
{
        struct swarm_run again[64];
        struct swarm_result same[64];
        size_t twice = 0;

        for (size_t i = 0; i < n && twice < ARRAY_LEN(again); i += 50)
                again[twice++] = runs[i];
        pool_run(again, same, twice);
        for (size_t i = 0; i < twice; i++) {
                if (same[i].digest != results[i * 50].digest && *worst < SWARM_DIFFERS)
                        *worst = SWARM_DIFFERS;
                tap_ok(same[i].digest == results[i * 50].digest, "law 22 seed %llu twice, the same digest",
                        (unsigned long long)again[i].seed);
        }
}

static int run_seeds(const struct options *o, time_t began)
{
        size_t n = 0;
        struct swarm_run *runs = calloc(o->seeds + 1, sizeof *runs);
        struct swarm_result *results = calloc(o->seeds + 1, sizeof *results);
        int worst;

        if (!runs || !results)
                abort();
        for (size_t i = 0; i < o->seeds; i++) {
                runs[i] = o->run;
                runs[i].seed = o->run.seed + i;
        }
        while (n < o->seeds && (o->all || time(NULL) - began < ENOUGH_S)) {
                size_t some = o->seeds - n < A_TIME ? o->seeds - n : A_TIME;

                pool_run(runs + n, results + n, some);
                n += some;
        }
        if (n < o->seeds)
                tap_note("%zu of %zu seeds in the time that there is: TEST_FULL=1 runs 2000", n, o->seeds);
        as_it_is = as_it_is ||
                   !o->all; /* what breaks is made smaller by --full, or by its --seed alone: that takes long */
        worst = judge(runs, results, n, "laws");
        another_time(runs, results, n, &worst);
        sums(results, n, n >= 100);
        free(runs);
        free(results);
        return worst;
}

int main(int argc, char **argv)
{
        const struct options o = read_options(argc, argv);
        struct swarm_run kept[64];
        struct swarm_result kept_results[64];
        time_t began = time(NULL);
        size_t kept_n;
        int worst, kept_worst;

        if (o.one) {
                struct swarm_result r = pool_run_one(&o.run);

                worst = judge(&o.run, &r, 1, "laws");
                tap_note("digest %016llx, %llu events, %llu jobs", (unsigned long long)r.digest,
                        (unsigned long long)r.events, (unsigned long long)r.jobs);
                return tap_done() ? worst ? worst : 1 : 0;
        }
        kept_n = o.no_kept ? 0 : kept_seeds(kept, ARRAY_LEN(kept));
        pool_run(kept, kept_results, kept_n);
        kept_worst = judge(kept, kept_results, kept_n, "kept seeds");
        worst = run_seeds(&o, began);
        tap_note("%lld s", (long long)(time(NULL) - began));
        worst = kept_worst > worst ? kept_worst : worst;
        return tap_done() ? worst ? worst : 1 : 0;
}
