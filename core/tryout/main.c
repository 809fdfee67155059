/* SPDX-License-Identifier: Apache-2.0 */
/* portal-simulate simulate|demo ...: what `portal simulate` and `portal demo` run. */
#include "tryout/tryout.h"

#include <getopt.h>
#include <stdio.h>

#include "base/log.h"

#define USAGE 2
#define BOOT_MAX_US (5 * USEC_PER_MIN) /* of a start's time, the machine's part; what is more is the container's */

static int wrong(const char *verb, const struct pd_error *err)
{
        (void)fprintf(stderr, "portal %s: %s\n", verb, err->text);
        return USAGE;
}

struct given {
        const char *jobs, *prices, *settings[16];
        size_t settings_n;
        int64_t from_us, to_us, resume_us, boot_us;
        uint64_t seed;
        bool json, csv;
};

static const struct option flags[] = { { "settings", required_argument, NULL, 's' },
        { "jobs", required_argument, NULL, 'j' }, { "prices", required_argument, NULL, 'p' },
        { "from", required_argument, NULL, 'f' }, { "to", required_argument, NULL, 't' },
        { "resume-delay", required_argument, NULL, 'd' }, { "boot", required_argument, NULL, 'b' },
        { "seed", required_argument, NULL, 'n' }, { "json", no_argument, NULL, 'J' }, { "csv", no_argument, NULL, 'C' },
        { 0 } };

static int span_flag(const char *name, const char *text, int64_t *ret, struct pd_error *err)
{
        struct pd_error why;

        if (duration_parse(text, ret, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "--%s: %s", name, why.text);
        return 0;
}

static int take(struct given *g, int letter, const char *text, struct pd_error *err)
{
        char *end;

        switch (letter) {
        case 's':
                if (g->settings_n == ARRAY_LEN(g->settings))
                        return pd_fail(
                                err, PD_E_INVALID, "at most %zu settings can be compared", ARRAY_LEN(g->settings));
                g->settings[g->settings_n++] = text;
                return 0;
        case 'j':
                g->jobs = text;
                return 0;
        case 'p':
                g->prices = text;
                return 0;
        case 'f':
                return span_flag("from", text, &g->from_us, err);
        case 't':
                return span_flag("to", text, &g->to_us, err);
        case 'd':
                return span_flag("resume-delay", text, &g->resume_us, err);
        case 'b':
                return span_flag("boot", text, &g->boot_us, err);
        case 'n':
                g->seed = strtoull(text, &end, 10);
                return *text && !*end ? 0 : pd_fail(err, PD_E_INVALID, "--seed \"%.20s\" is no number", text);
        case 'J':
                g->json = true;
                return 0;
        case 'C':
                g->csv = true;
                return 0;
        default:
                return pd_fail(err, PD_E_INVALID, "`portal help simulate` has the flags");
        }
}

static int parse(int argc, char **argv, struct given *ret, struct pd_error *err)
{
        int letter;

        optind = 1;
        while ((letter = getopt_long(argc, argv, "", flags, NULL)) != -1)
                if (take(ret, letter, optarg, err) < 0)
                        return -(int)err->code;
        if (optind < argc)
                return pd_fail(err, PD_E_INVALID, "\"%.40s\" is one word too many", argv[optind]);
        if (ret->json && ret->csv)
                return pd_fail(err, PD_E_INVALID, "--json and --csv exclude each other");
        return 0;
}

static int plan_of(const struct given *g, struct try_plan *p, struct pd_error *err)
{
        int64_t boot_us = g->boot_us < BOOT_MAX_US ? g->boot_us : BOOT_MAX_US;
        char boot[QUANTITY_MAX];

        *p = (struct try_plan){
                .resume_us = g->resume_us, .seed = g->seed, .overhead_us = g->boot_us + 2 * USEC_PER_MIN
        };
        for (size_t i = 0; i < g->settings_n; i++)
                if (try_add_variant(p, g->settings[i], err) < 0)
                        return -(int)err->code;
        if (g->settings_n == 0 && try_add_variant(p, NULL, err) < 0)
                return -(int)err->code;
        if (try_add_jobs(p, g->jobs, err) < 0 || try_set_prices(p, g->prices, g->from_us, g->to_us, err) < 0)
                return -(int)err->code;
        (void)json_object_set_new(p->cloud, "boot", json_string(duration_format(boot_us, boot)));
        p->start_us = g->boot_us - boot_us;
        return 0;
}

int try_simulate(int argc, char **argv)
{
        struct given g = { .resume_us = 10 * USEC_PER_MIN, .boot_us = USEC_PER_MIN, .seed = 1 };
        struct try_result results[ARRAY_LEN(g.settings)] = { 0 };
        struct try_plan p = { 0 };
        struct pd_error err;
        size_t n = 0;
        int code = 0;

        if (parse(argc, argv, &g, &err) < 0 || plan_of(&g, &p, &err) < 0)
                code = wrong("simulate", &err);
        for (; code == 0 && n < p.variants.n; n++)
                if (try_run(&p, &p.variants.at[n], NULL, &results[n], &err) < 0)
                        code = wrong("simulate", &err);
        if (code == 0)
                code = g.json  ? try_report_json(&p, results, n)
                       : g.csv ? try_report_csv(results, n)
                               : try_report_table(&p, results, n);
        for (size_t i = 0; i < n; i++)
                try_result_clear(&results[i]);
        try_plan_clear(&p);
        return code;
}

int main(int argc, char **argv)
{
        log_open("portal-simulate", LOG_ERR); /* what the simulated portald has to say is in the report */
        if (argc > 1 && streq(argv[1], "simulate"))
                return try_simulate(argc - 1, argv + 1);
        if (argc > 1 && streq(argv[1], "demo"))
                return try_demo(argc - 1, argv + 1);
        (void)fprintf(stderr, "portal-simulate: `portal simulate` and `portal demo` run this\n");
        return USAGE;
}
