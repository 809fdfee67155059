/* SPDX-License-Identifier: Apache-2.0 */
/* B-01 and B-02: what a sweep over the jobs and a price change cost with the index of core/market and the watches of core/policy, beside the plain way.
 *   market_load sweep|price JOBS OFFERS CLASSES ROUNDS random SEED
 *   market_load sweep|price JOBS OFFERS CLASSES ROUNDS catalog FILE    (machine_type,region,vcpu,ram_gib,gpu,gpu_count,usd_hour,usd_hour_spot)
 * Prints one JSON object a round; times in hundredths of a nanosecond. */
#include "market/market.h"
#include "policy/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NOW (INT64_C(1796000000) * USEC_PER_SEC)
#define GIB (UINT64_C(1) << 30)
#define OFFERS_MOST 100000
#define SAMPLE 200     /* jobs that the plain way is measured on: it costs each job the same */
#define CHANGES 200000 /* price changes a round */

static uint64_t seed = 20261130;

static int64_t below(int64_t n)
{
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (int64_t)((z ^ (z >> 31)) % (uint64_t)n);
}

static _Noreturn void die(const char *what)
{
        fprintf(stderr, "market_load: %s\n", what);
        exit(1);
}

static void *memory(size_t n, size_t size)
{
        void *p = calloc(n, size);

        if (!p)
                die("no memory");
        return p;
}

/* Time on a processor, so that what else the machine does counts less. */
static int64_t now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- offers --- */
static struct market_offer *offers;
static size_t offers_n;

static void add(const char *zone, const char *type, enum pd_market market, int32_t cpu, int32_t gpus, uint64_t ram,
        int64_t nano)
{
        if (offers_n < OFFERS_MOST && nano > 0)
                offers[offers_n++] = (struct market_offer){ .connection = "cloud",
                        .zone = zone,
                        .type = type,
                        .market = market,
                        .cpu_milli = cpu,
                        .gpus = gpus,
                        .memory_bytes = ram,
                        .price = { .hour = { nano, "USD" },
                                .at_wall_us = NOW,
                                .max_age_us = USEC_PER_DAY,
                                .paid = true,
                                .source = "price list" } };
}

static int64_t nano_of(const char *text)
{
        int64_t v = strtoll(text, (char **)(uintptr_t)&text, 10) * NANO, unit = NANO / 10;

        if (*text == '.')
                for (text++; *text >= '0' && *text <= '9' && unit; text++, unit /= 10)
                        v += (*text - '0') * unit;
        return v;
}

static void from_catalog(const char *path)
{
        FILE *f = fopen(path, "re");
        char line[512];

        if (!f || !fgets(line, sizeof line, f))
                die("the catalog cannot be read");
        while (fgets(line, sizeof line, f)) {
                char *at = line, *field[8];
                char *zone, *type;

                for (size_t i = 0; i < ARRAY_LEN(field); i++)
                        field[i] = at ? strsep(&at, ",\n") : "";
                zone = strdup(field[1]);
                type = strdup(field[0]);
                if (!zone || !type)
                        die("no memory");
                for (int spot = 0; spot < 2; spot++)
                        add(zone, type, spot ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND,
                                (int32_t)(nano_of(field[2]) / 1000000), (int32_t)strtol(field[5], NULL, 10),
                                (uint64_t)nano_of(field[3]) * GIB / NANO, nano_of(field[6 + spot]));
        }
        (void)fclose(f);
}

/* Every offer has a size of its own, so that none goes together with another; prices lie within a percent of each other. */
static void at_random(size_t n)
{
        for (size_t i = 0; i < n; i++)
                add("somewhere", "of-a-kind", below(2) ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND,
                        (int32_t)(500 + below(64000)), below(8) ? 0 : (int32_t)below(9),
                        (uint64_t)(1 + below(4096)) * GIB / 8, NANO + below(NANO / 100));
}

/* n of them, spread evenly. */
static void thin_out(size_t n)
{
        if (n > offers_n)
                die("not so many offers");
        for (size_t i = 0; i < n; i++)
                offers[i] = offers[i * offers_n / n];
        offers_n = n;
}

static struct market_need need_of(uint32_t class)
{
        static const int32_t cores[] = { 1, 2, 4, 8, 16, 32 };
        int32_t cpu = cores[class % 6] * 1000;

        return (struct market_need){ .cpu_milli = cpu,
                .memory_bytes = (uint64_t)cpu / 1000 * (UINT64_C(1) << class / 6 % 4) * GIB,
                .gpus = class / 24 % 8 == 7 ? 1 : 0,
                .no_spot = class / 24 % 2 == 1,
                .disk_bytes = class / 24 };
}

static struct market *index_of(uint32_t classes)
{
        struct market *k;
        struct pd_error err;
        uint32_t id;

        if (market_new("USD", offers, offers_n, classes, NULL, NOW, &k, &err) < 0)
                die(err.text);
        for (uint32_t c = 0; c < classes; c++) {
                struct market_need need = need_of(c);

                if (market_class(k, &need, &id, &err) < 0 || id != c)
                        die("a class");
        }
        if (market_build(k, &err) < 0)
                die(err.text);
        return k;
}

/* --- jobs --- */
struct small_job { /* what the engine knows of one, but for what the bench has the same for all */
        int64_t rate_nano, ran_us, renewed_wall_us, looked_wall_us;
        uint32_t class;
};
static struct settings settings;
static const struct policy_offer least = { .name = "", .create_us = USEC_PER_MIN, .handover_us = 2 * USEC_PER_MIN };

static void offer_for(const struct market_offer *o, uint64_t key, int64_t rate, struct policy_offer *ret)
{
        *ret = least;
        ret->name = o->type;
        ret->key = key;
        ret->spot = o->market == PD_MARKET_SPOT;
        ret->rate = (struct money){ rate, "USD" };
}

static void spread(const struct small_job *s, int64_t now, struct policy_job *j, struct policy_machine *m,
        struct policy_measures *x)
{
        *j = (struct policy_job){ .state = JOB_RUNNING,
                .created_wall_us = now - s->ran_us,
                .term_wall_us = now - s->ran_us,
                .ran_us = s->ran_us,
                .ttl_us = 72 * USEC_PER_HOUR,
                .container_wall_us = now - s->ran_us,
                .looked_wall_us = s->looked_wall_us };
        *m = (struct policy_machine){ .stop_sure_wall_us = s->renewed_wall_us + USEC_PER_HOUR,
                .renewed_wall_us = s->renewed_wall_us,
                .rate = { s->rate_nano, "USD" } };
        *x = (struct policy_measures){ .window_us = 30 * USEC_PER_MIN,
                .cpu_us = 30 * USEC_PER_MIN,
                .progress_wall_us = now - USEC_PER_MIN,
                .gpu_percent = -1 };
}

/* All ten rows, with the few offers that the index finds; then the watch is made anew. Returns whether a row acts. */
static bool check(const struct market *k, struct small_job *s, struct policy_watch *w, int64_t now)
{
        uint32_t found[4];
        struct policy_offer few[4];
        struct policy_decision all[POLICY_N];
        struct policy_machine m;
        struct policy_measures x;
        struct policy_job j;
        int acts;

        spread(s, now, &j, &m, &x);
        j.offers_n = market_cheapest(k, s->class, ARRAY_LEN(few), found);
        j.offers = few;
        for (size_t i = 0; i < j.offers_n; i++)
                offer_for(market_offer(k, found[i]), found[i], market_rate_of(k, found[i]), &few[i]);
        acts = policy_check(&j, &m, &x, &settings, now, all);
        if (all[6].act == POLICY_RENEW)
                s->renewed_wall_us = now; /* as if it had been read back at once */
        if (all[8].looked)
                s->looked_wall_us = now;
        policy_watch_set(w, &j, &m, &x, &settings, now, all, &least);
        w->due_wall_us = all[6].act == POLICY_RENEW ? now + settings.lease_renew_us : w->due_wall_us;
        return acts >= 0;
}

/* The plain way: every offer is looked at in every check, and weighed when it fits and is a fifth cheaper. */
static size_t naive(const struct market *k, const struct small_job *s, int64_t now, struct policy_offer *room)
{
        struct policy_decision all[POLICY_N];
        struct policy_machine m;
        struct policy_measures x;
        struct policy_job j;
        size_t n = 0;

        spread(s, now, &j, &m, &x);
        j.looked_wall_us = 0;
        for (uint32_t i = 0; i < offers_n; i++)
                if (market_fits(k, s->class, i) && offers[i].price.hour.nano * 100 <= s->rate_nano * 80)
                        offer_for(&offers[i], i, offers[i].price.hour.nano, &room[n++]);
        j.offers = room;
        j.offers_n = n;
        return policy_check(&j, &m, &x, &settings, now, all) >= 0 ? n + 1 : n;
}

struct swept {
        int64_t ns;
        long long checked, acted;
};

static struct swept sweep(const struct market *k, struct small_job *jobs, struct policy_watch *w, size_t n, int64_t now)
{
        const int64_t *best = market_best_rates(k);
        struct swept r = { .ns = now_ns() };

        for (size_t i = 0; i < n; i++)
                if (!policy_watch_quiet(&w[i], best[w[i].class], now)) {
                        r.checked++;
                        r.acted += check(k, &jobs[i], &w[i], now);
                }
        r.ns = now_ns() - r.ns;
        return r;
}

static long long each(int64_t ns, long long n)
{
        return n ? ns * 100 / n : 0;
}

static int run_sweeps(size_t jobs_n, uint32_t classes, int rounds)
{
        struct market *k = index_of(classes);
        struct small_job *jobs = memory(jobs_n, sizeof *jobs);
        struct policy_watch *w = memory(jobs_n, sizeof *w);
        struct policy_offer *room = memory(offers_n, sizeof *room);
        const int64_t *best = market_best_rates(k);
        int64_t now = NOW;

        for (size_t i = 0; i < jobs_n; i++) {
                uint32_t c;

                do
                        c = (uint32_t)below(classes);
                while (best[c] == INT64_MAX);
                jobs[i] = (struct small_job){ .rate_nano = best[c] + best[c] * below(24) / 100,
                        .ran_us = below(24 * USEC_PER_HOUR),
                        .renewed_wall_us = NOW - below(10 * USEC_PER_MIN),
                        .looked_wall_us = NOW - below(10 * USEC_PER_MIN),
                        .class = c };
                w[i].class = c;
                (void)check(k, &jobs[i], &w[i], NOW);
        }
        for (int r = 0; r < rounds; r++) {
                struct swept minute, looks;
                int64_t plain, full;
                size_t sum = 0, sample = jobs_n < SAMPLE ? jobs_n : SAMPLE;

                now += USEC_PER_MIN; /* a minute of the steady state: a tenth of the leases and of the looks */
                minute = sweep(k, jobs, w, jobs_n, now);
                for (size_t i = 0; i < jobs_n; i++) {
                        w[i].due_wall_us = INT64_MAX; /* only prices are left to decide: everybody looks */
                        w[i].look_wall_us = now;
                }
                looks = sweep(k, jobs, w, jobs_n, now);
                full = now_ns();
                for (size_t i = 0; i < jobs_n && i < 10000; i++)
                        (void)check(k, &jobs[i], &w[i], now);
                full = now_ns() - full;
                for (size_t i = 0; i < jobs_n; i++)
                        w[i].due_wall_us = jobs[i].renewed_wall_us + settings.lease_renew_us;
                plain = now_ns();
                for (size_t i = 0; i < sample; i++)
                        sum += naive(k, &jobs[i * (jobs_n / sample)], now, room);
                plain = now_ns() - plain;
                printf("{\"look_all\": %lld, \"look_checked\": %lld, \"look_acted\": %lld, \"minute\": %lld, "
                       "\"minute_checked\": %lld, \"full_check\": %lld, "
                       "\"naive\": %lld, \"naive_weighed\": %lld}\n",
                        each(looks.ns, (long long)jobs_n), looks.checked, looks.acted,
                        each(minute.ns, (long long)jobs_n), minute.checked,
                        each(full, (long long)(jobs_n < 10000 ? jobs_n : 10000)), each(plain, (long long)sample),
                        (long long)(sum / sample));
                (void)fflush(stdout);
        }
        free(room);
        free(w);
        free(jobs);
        market_free(k);
        return 0;
}

/* Each change makes the offer a little cheaper or dearer than the class's best, so that most of them change who is the cheapest; every other
 * one is an ordinary change of up to 10 %. */
static int run_prices(uint32_t classes, int rounds)
{
        struct market *k = index_of(classes);
        struct market_price *prices = memory(CHANGES, sizeof *prices);
        uint32_t *which = memory(CHANGES, sizeof *which);

        for (int r = 0; r < rounds; r++) {
                int64_t took, wild, rebuilt;
                struct market *again;

                for (size_t i = 0; i < CHANGES; i++) {
                        which[i] = (uint32_t)below((int64_t)offers_n);
                        prices[i] = offers[which[i]].price;
                        prices[i].hour.nano += prices[i].hour.nano * (below(21) - 10) / 100;
                }
                took = now_ns();
                for (size_t i = 0; i < CHANGES; i++)
                        market_set_price(k, which[i], &prices[i], NOW);
                took = now_ns() - took;
                for (size_t i = 0; i < CHANGES; i++)
                        prices[i].hour.nano = i % 2 ? 1 + below(1000) : NANO; /* the cheapest of all, and back */
                wild = now_ns();
                for (size_t i = 0; i < CHANGES; i++)
                        market_set_price(k, which[i / 2], &prices[i], NOW);
                wild = now_ns() - wild;
                rebuilt = now_ns();
                again = index_of(classes);
                rebuilt = now_ns() - rebuilt;
                for (uint32_t i = 0; i < offers_n; i++)
                        market_set_price(k, i, &offers[i].price, NOW);
                for (uint32_t c = 0; c < classes; c++)
                        if (market_best(k, c) != market_best(again, c))
                                die("the index and its rebuilt twin disagree");
                market_free(again);
                printf("{\"change\": %lld, \"worst\": %lld, \"rebuild\": %lld}\n", each(took, CHANGES),
                        each(wild, CHANGES), each(rebuilt, 1));
                (void)fflush(stdout);
        }
        free(which);
        free(prices);
        market_free(k);
        return 0;
}

int main(int argc, char **argv)
{
        const json_t *none[SETTING_LEVEL_N] = { NULL };
        size_t jobs_n, n;
        uint32_t classes;

        if (argc != 8 || (!streq(argv[6], "random") && !streq(argv[6], "catalog")))
                die("sweep|price JOBS OFFERS CLASSES ROUNDS random SEED|catalog FILE");
        jobs_n = strtoull(argv[2], NULL, 10);
        n = strtoull(argv[3], NULL, 10);
        classes = (uint32_t)strtoul(argv[4], NULL, 10);
        (void)settings_resolve(none, &settings, NULL, NULL);
        offers = memory(OFFERS_MOST, sizeof *offers);
        if (streq(argv[6], "catalog"))
                from_catalog(argv[7]);
        else {
                seed = strtoull(argv[7], NULL, 10);
                at_random(n);
        }
        thin_out(n);
        return streq(argv[1], "sweep") ? run_sweeps(jobs_n, classes, (int)strtol(argv[5], NULL, 10))
                                       : run_prices(classes, (int)strtol(argv[5], NULL, 10));
}
