/* SPDX-License-Identifier: Apache-2.0 */
/* `portal demo`: a day or two of a few jobs on a made-up cloud, told as they happen, and what they came to. */
#include "tryout/tryout.h"

#include <getopt.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define USAGE 2
#define SPAN_US (7 * USEC_PER_DAY)

struct demo {
        int64_t start_wall_us, last_wall_us;
        int64_t speed; /* virtual hours a second; 0 = as fast as it goes */
        bool quiet;
};

/* A terminal is read by a person: let the time between two lines pass, so many hours a second. */
static void pace(struct demo *d, int64_t wall_us)
{
        int64_t us = d->speed > 0 ? (wall_us - d->last_wall_us) / 3600 / d->speed : 0;
        const struct timespec t = { .tv_sec = us / USEC_PER_SEC, .tv_nsec = us % USEC_PER_SEC * 1000 };

        d->last_wall_us = wall_us;
        if (us > 0)
                (void)nanosleep(&t, NULL);
}

static void stamp(struct demo *d, int64_t wall_us, char *buf, size_t n)
{
        int64_t minutes = (wall_us - d->start_wall_us) / USEC_PER_MIN;

        pace(d, wall_us);
        (void)str_format(buf, n, "day %lld %02lld:%02lld", (long long)(minutes / 1440 + 1),
                (long long)(minutes / 60 % 24), (long long)(minutes % 60));
}

/* Edges that a person wants to hear of; the others are steps on the way. */
static const char *word_of(const json_t *row)
{
        static const struct {
                const char *event, *to, *word;
        } words[] = { { "submit", "queued", "submitted" }, { "started", "running", "RUNS" },
                { "handed", "restoring", "MOVED" }, { "refused", "running", "REFUSED" }, { "exited", "ended", "ENDED" },
                { "lost", "suspended", "LOST" }, { "saved", "suspended", "SUSPENDED" },
                { "exited", "suspended", "SUSPENDED" }, { "return", "restoring", "MOVED BACK" },
                { "resume", "queued", "resumed" } };

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                if (streq(words[i].event, js_str(row, "event", "")) && streq(words[i].to, js_str(row, "to", "")))
                        return words[i].word;
        return NULL;
}

static void on_row(void *arg, const struct try_life *l, const json_t *row)
{
        struct demo *d = arg;
        const char *word = word_of(row);
        char at[64];

        if (!word || d->quiet)
                return;
        stamp(d, js_int(row, "at_wall_us", 0), at, sizeof at);
        (void)printf("%s  %-8s %-10s %s\n", at, l->job->name, word, js_str(row, "message", ""));
        (void)fflush(stdout);
}

static void on_decision(void *arg, const struct try_life *l, const json_t *decision)
{
        struct demo *d = arg;
        const char *act = js_str(decision, "act", "");
        char at[64];

        if (d->quiet || !(streq(act, "move") || streq(act, "place") || streq(act, "refused") || streq(act, "stay")))
                return;
        stamp(d, js_int(decision, "at_wall_us", 0), at, sizeof at);
        (void)printf(
                "%s  %-8s   %s: %s\n", at, l->job->name, js_str(decision, "policy", ""), js_str(decision, "why", ""));
        (void)fflush(stdout);
}

static void money(const struct try_result *r, int64_t nano, char *buf, size_t n)
{
        (void)str_format(buf, n, "%lld.%02lld %s", (long long)(nano / 1000000000),
                (long long)(nano % 1000000000 / 10000000), *r->currency ? r->currency : "USD");
}

static void say_money(const char *at, const struct try_result *r)
{
        int64_t saved = r->on_demand_nano - r->ledger_nano;
        char spent[48], other[48];

        money(r, r->ledger_nano, spent, sizeof spent);
        money(r, r->on_demand_nano, other, sizeof other);
        (void)printf("%s  spent %s; the same work on demand: %s", at, spent, other);
        if (r->on_demand_nano > 0)
                (void)printf("; SAVED %lld %%", (long long)(saved * 100 / r->on_demand_nano));
        (void)printf("\n");
        (void)fflush(stdout);
}

static void on_hour(void *arg, const struct try_result *so_far, int64_t wall_us)
{
        struct demo *d = arg;
        char at[64];

        if (d->quiet || (wall_us - d->start_wall_us) / USEC_PER_HOUR % 12 != 0)
                return;
        stamp(d, wall_us, at, sizeof at);
        say_money(at, so_far);
}

static int plan_of(struct try_plan *p, uint64_t seed, struct pd_error *err)
{
        char market[64];
        static const char *const jobs[][4] = { { "train", "26h", "0", "6GiB" }, { "finetune", "20h", "2h", "9GiB" },
                { "render", "14h", "5h", "2GiB" } };

        *p = (struct try_plan){
                .seed = seed, .resume_us = 20 * USEC_PER_MIN, .overhead_us = 3 * USEC_PER_MIN, .demo = true
        };
        if (try_add_variant(p, NULL, err) < 0)
                return -(int)err->code;
        for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
                struct try_job j = { .spec = json_pack("{s:s,s:[s],s:s,s:i,s:s,s:s}", "image", "oci:/srv/images/job",
                                             "command", "work", "checkpoint", "values", "gpus", 1, "cpus", "4",
                                             "memory", "16GiB"),
                        .settings = json_pack("{s:s}", "expect", jobs[i][1]) };
                uint64_t state = 0;

                (void)str_format(j.name, sizeof j.name, "%s", jobs[i][0]);
                (void)duration_parse(jobs[i][1], &j.work_us, err);
                (void)duration_parse(jobs[i][2], &j.at_us, err);
                (void)size_parse(jobs[i][3], &state, err);
                j.state_bytes = (int64_t)state;
                if (!vec_push(&p->jobs, j))
                        return pd_fail(err, PD_E_NOMEM, "jobs");
        }
        if (try_demo_market(seed, SPAN_US, market, sizeof market, err) < 0)
                return -(int)err->code;
        return try_set_prices(p, market, 0, SPAN_US, err);
}

static void summary(const struct try_result *r, const struct try_plan *p)
{
        char span[QUANTITY_MAX];

        (void)printf("\n%s of %zu jobs on a cloud that is made up (seed %llu)\n", duration_format(r->span_us, span),
                p->jobs.n, (unsigned long long)p->seed);
        (void)printf("  %d of %zu jobs done, on %d machines\n", r->done, p->jobs.n, r->machines);
        (void)printf("  %d notices, %d suspensions, %d resumes by the user, %lld minutes of work done twice\n",
                r->notices, r->suspensions, r->resumes, (long long)(r->redone_us / USEC_PER_MIN));
        (void)printf("  %d moves to a cheaper machine, %d saves refused by name\n", r->moves, r->refusals);
        say_money(" ", r);
        (void)printf("\nThe same engine, on your own jobs: `contrib/quickstart`; on your own settings and prices: "
                     "`portal simulate`.\n"
                     "Another cloud: `portal demo --seed %llu`; all of it, with each decision and each line of the "
                     "ledger: --json.\n",
                (unsigned long long)p->seed + 1);
}

static int run(struct demo *d, uint64_t seed)
{
        struct try_result r = { 0 };
        struct try_plan p = { 0 };
        struct try_watch watch = { on_row, on_decision, on_hour, d };
        struct pd_error err;
        int code = 0;

        if (plan_of(&p, seed, &err) < 0)
                code = USAGE;
        d->start_wall_us = d->last_wall_us = p.wall_us ? p.wall_us : INT64_C(1796000000) * USEC_PER_SEC;
        if (code == 0 && try_run(&p, p.variants.at, &watch, &r, &err) < 0)
                code = 1;
        if (code)
                (void)fprintf(stderr, "portal demo: %s\n", err.text);
        else if (d->quiet)
                code = try_report_json(&p, &r, 1);
        else
                summary(&r, &p);
        try_result_clear(&r);
        try_plan_clear(&p);
        return code;
}

int try_demo(int argc, char **argv)
{
        static const struct option flags[] = { { "seed", required_argument, NULL, 'n' },
                { "speed", required_argument, NULL, 's' }, { "json", no_argument, NULL, 'J' }, { 0 } };
        struct demo d = { .speed = isatty(STDOUT_FILENO) ? 12 : 0 };
        uint64_t seed = 1;
        char *end = NULL;
        int letter;

        optind = 1;
        while ((letter = getopt_long(argc, argv, "", flags, NULL)) != -1) {
                if (letter == 'n')
                        seed = strtoull(optarg, &end, 10);
                else if (letter == 's')
                        d.speed = (int64_t)strtoull(optarg, &end, 10);
                else if (letter == 'J')
                        d.quiet = true;
                else
                        return USAGE;
                if (letter != 'J' && (*optarg < '0' || *optarg > '9' || *end)) {
                        (void)fprintf(stderr, "portal demo: \"%.20s\" is no number\n", optarg);
                        return USAGE;
                }
        }
        if (d.quiet)
                d.speed = 0;
        return run(&d, seed);
}
