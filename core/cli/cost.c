/* SPDX-License-Identifier: Apache-2.0 */
/* portal cost. */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/show.h"

char *money_short(const struct money *m, char *buf)
{
        const int64_t unit = NANO / 10000;
        struct money to = *m;
        int64_t rest = to.nano % unit;

        if (to.nano > INT64_MAX - unit || to.nano < INT64_MIN + unit)
                return money_format(m, buf);
        to.nano -= rest;
        if (rest >= unit / 2)
                to.nano += unit;
        else if (rest <= -unit / 2)
                to.nano -= unit;
        return money_format(&to, buf);
}

static char *sum(int64_t nano, const char *currency, char *buf)
{
        struct money m = { .nano = nano };

        (void)str_format(m.currency, sizeof m.currency, "%s", currency);
        return money_short(&m, buf);
}

char *cost_text(const json_t *job, char *buf)
{
        const json_t *cost = json_object_get(job, "cost");

        if (!json_is_object(cost)) {
                (void)str_format(buf, QUANTITY_MAX, "-");
                return buf;
        }
        return sum(js_int(cost, "spent_nano", 0), js_str(cost, "currency", ""), buf);
}

static int print_table(struct cli *c, const json_t *answer)
{
        const struct table_column columns[] = { { "WHAT", false, false }, { "TIME", true, false },
                { "COST", true, false } };
        const json_t *rows = json_object_get(answer, "rows"), *totals = json_object_get(answer, "totals"), *row;
        struct table *t;
        size_t i;

        if (json_array_size(rows) == 0) {
                say(c, "nothing was billed in that time");
                return CLI_OK;
        }
        t = table_new(c, columns, ARRAY_LEN(columns));
        json_array_foreach ((json_t *)(uintptr_t)rows, i, row) {
                char ran[QUANTITY_MAX], cost[QUANTITY_MAX];
                const char *cells[] = { *js_str(row, "key", "") ? js_str(row, "key", "") : "(none)",
                        ago(js_int(row, "us", 0), ran),
                        sum(js_int(row, "nano", 0), js_str(row, "currency", ""), cost) };

                table_row(t, cells, -1, COLOUR_NONE);
        }
        json_array_foreach ((json_t *)(uintptr_t)totals, i, row) {
                char cost[QUANTITY_MAX];
                const char *cells[] = { "in all", "", sum(js_int(row, "nano", 0), js_str(row, "currency", ""), cost) };

                table_row(t, cells, 2, COLOUR_BOLD);
        }
        return table_print(t);
}

/* Names are [a-z0-9-], ids and times need no quoting either; a project's name may. */
static void csv_text(const char *text)
{
        (void)putchar('"');
        for (; *text; text++) {
                if (*text == '"')
                        (void)putchar('"');
                (void)putchar(*text);
        }
        (void)putchar('"');
}

static int print_csv(const json_t *answer)
{
        const json_t *row;
        size_t i;

        (void)printf("%s,seconds,amount,currency\n", js_str(answer, "by", "job"));
        json_array_foreach (json_object_get(answer, "rows"), i, row) {
                int64_t nano = js_int(row, "nano", 0);
                uint64_t of = nano < 0 ? 0 - (uint64_t)nano : (uint64_t)nano;

                csv_text(js_str(row, "key", ""));
                (void)printf(",%" PRId64 ",%s%" PRIu64 ".%09" PRIu64 ",%s\n", js_int(row, "us", 0) / USEC_PER_SEC,
                        nano < 0 ? "-" : "", of / (uint64_t)NANO, of % (uint64_t)NANO, js_str(row, "currency", ""));
        }
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

/* What a query member is made of here needs no escaping; anything else names no job. */
static bool is_plain(const char *text)
{
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*");

        return text[n] == '\0' && n < 100;
}

static int path_of(const struct cli_line *line, char *buf, size_t n, struct pd_error *err)
{
        const struct {
                const char *flag, *member;
        } times[] = { { "--from", "from_wall_us" }, { "--to", "to_wall_us" } };
        const char *const texts[][2] = { { cli_value(line, "--by"), "by" }, { cli_value(line, "--user"), "user" },
                { line->args_n ? line->args[0] : NULL, "job" } };

        (void)str_format(buf, n, "/v1/cost?");
        for (size_t i = 0; i < ARRAY_LEN(times); i++) {
                const char *text = cli_value(line, times[i].flag);
                int64_t wall_us = 0;

                if (text && time_flag(times[i].flag, text, &wall_us, err) < 0)
                        return -(int)PD_E_INVALID;
                if (text)
                        (void)str_format(buf + strlen(buf), n - strlen(buf), "%s=%" PRId64 "&", times[i].member,
                                wall_us > 0 ? wall_us : 0);
        }
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                if (!texts[i][0])
                        continue;
                if (!is_plain(texts[i][0]))
                        return pd_fail(err, PD_E_INVALID, "\"%.60s\" is no %s: see `portal help cost`", texts[i][0],
                                texts[i][1]);
                (void)str_format(buf + strlen(buf), n - strlen(buf), "%s=%s&", texts[i][1], texts[i][0]);
        }
        buf[strlen(buf) - 1] = '\0'; /* the ? or the last & */
        return 0;
}

int cmd_cost(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        struct pd_error err;
        char path[640];
        int code = CLI_OK;

        if (path_of(line, path, sizeof path, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        if (ask(c, "GET", path, NULL, &reply, &code))
                code = cli_has(line, "--json")  ? print_json(reply.json)
                       : cli_has(line, "--csv") ? print_csv(reply.json)
                                                : print_table(c, reply.json);
        http_reply_clear(&reply);
        return code;
}
