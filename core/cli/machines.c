/* SPDX-License-Identifier: Apache-2.0 */
/* portal machines, portal offers, portal notice. */
#include "cli/cli.h"

#include <inttypes.h>

/* What was read back, and the latest that was asked for where that is not the same. */
static void hard_stop(const json_t *m, char *buf, size_t n)
{
        int64_t sure = js_int(m, "stop_sure_wall_us", 0), possible = js_int(m, "stop_possible_wall_us", 0);
        char a[QUANTITY_MAX], b[QUANTITY_MAX];

        if (!js_bool(m, "own", true) && possible > sure + USEC_PER_SEC)
                (void)str_format(buf, n, "%s, at most %s", when(sure, a), when(possible, b));
        else
                (void)str_format(buf, n, "%s", when(sure, a));
}

static void add_machine(struct table *t, const json_t *m)
{
        char stop[2 * QUANTITY_MAX + 16], notice[QUANTITY_MAX], rate[QUANTITY_MAX], jobs[48], why[600] = "";
        const json_t *at = json_object_get(m, "jobs");
        const json_t *note;
        size_t i;

        if (!js_bool(m, "own", true) && json_array_size(at) == 1) /* it is there for that one */
                (void)str_format(jobs, sizeof jobs, "%s", json_string_value(json_array_get(at, 0)));
        else
                (void)str_format(jobs, sizeof jobs, "%zu", json_array_size(at));
        hard_stop(m, stop, sizeof stop);
        (void)str_format(why, sizeof why, "%s", js_str(m, "why", ""));
        json_array_foreach (json_object_get(json_object_get(m, "caps"), "notes"), i, note) {
                size_t used = strlen(why);

                (void)str_format(why + used, sizeof why - used, "%s%s", used ? "; " : "",
                        json_is_string(note) ? json_string_value(note) : "");
        }
        {
                const char *state = js_str(m, "state", "?");
                const char *cells[] = { js_str(m, "id", "?"), js_str(m, "offer", "?"), state, js_str(m, "stream", "?"),
                        jobs, price(json_object_get(m, "price"), rate), stop,
                        when(js_int(m, "notice_wall_us", 0), notice), why };

                table_row(t, cells, 3, streq(js_str(m, "stream", ""), "up") ? COLOUR_GOOD : COLOUR_BAD);
        }
}

static int print_machines(struct cli *c, const json_t *answer)
{
        static const struct table_column columns[] = { { "ID", false, false }, { "OFFER", false, false },
                { "STATE", false, false }, { "STREAM", false, false }, { "JOBS", true, false },
                { "PRICE", true, false }, { "HARD STOP", false, false }, { "NOTICE", false, false },
                { "WHY", false, true } };
        const json_t *m;
        struct table *t;
        size_t i;

        if (json_array_size(json_object_get(answer, "machines")) == 0) {
                say(c, "no machines; `portal check` says what is missing, `portal offers` what could be used");
                return CLI_OK;
        }
        t = table_new(c, columns, ARRAY_LEN(columns));
        json_array_foreach (json_object_get(answer, "machines"), i, m)
                add_machine(t, m);
        return table_print(t);
}

static int64_t whole_seconds(int64_t us)
{
        return us / USEC_PER_SEC * USEC_PER_SEC;
}

/* How old its price is; own machines' stand in the config. */
static const char *price_age(const json_t *o, char *buf)
{
        int64_t at = js_int(o, "price_at_wall_us", 0), age = now_wall_us() - at;

        if (at <= 0 || js_bool(o, "own", false))
                return "-";
        return duration_format(age > 0 ? whole_seconds(age) : 0, buf);
}

static const char *offer_why(const json_t *o, char *buf, size_t n)
{
        char until[QUANTITY_MAX];
        int64_t out = js_int(o, "out_until_wall_us", 0);

        if (out > 0)
                (void)str_format(
                        buf, n, "%s: left out until %s", js_str(o, "out_why", "it failed lately"), when(out, until));
        else
                (void)str_format(
                        buf, n, "%s", *js_str(o, "why", "") ? js_str(o, "why", "") : js_str(o, "price_fault", ""));
        return buf;
}

static void add_offer(struct table *t, const json_t *o)
{
        char rate[QUANTITY_MAX], cpu[QUANTITY_MAX], memory[QUANTITY_MAX], gpus[120], notice[QUANTITY_MAX];
        int64_t notice_us = js_int(o, "notice_us", 0);
        bool usable = js_bool(o, "usable", false);
        char age[QUANTITY_MAX], boot[QUANTITY_MAX], saves[QUANTITY_MAX], why[400];
        const char *cells[12];

        if (js_int(o, "gpus", 0) > 0)
                (void)str_format(gpus, sizeof gpus, "%" PRId64 " %s", js_int(o, "gpus", 0), js_str(o, "gpu_model", ""));
        else
                (void)str_format(gpus, sizeof gpus, "-");
        cells[0] = js_str(o, "name", "?");
        cells[1] = price(json_object_get(o, "price"), rate);
        cells[2] = cpu_format((int32_t)js_int(o, "cpu_milli", 0), cpu);
        cells[3] = size_format((uint64_t)js_int(o, "memory_bytes", 0), memory);
        cells[4] = gpus;
        cells[5] = notice_us > 0 ? duration_format(notice_us, notice) : "-";
        cells[6] = js_int(o, "can_save_bytes", -1) >= 0 ? size_format((uint64_t)js_int(o, "can_save_bytes", 0), saves)
                                                        : "-";
        cells[7] = js_int(o, "boot_us", 0) > 0 ? duration_format(whole_seconds(js_int(o, "boot_us", 0)), boot) : "-";
        cells[8] = js_str(o, "price_source", "");
        cells[9] = price_age(o, age);
        cells[10] = usable ? "yes" : "no";
        cells[11] = offer_why(o, why, sizeof why);
        table_row(t, cells, 10, usable ? COLOUR_GOOD : COLOUR_BAD);
}

static int print_offers(struct cli *c, const json_t *answer)
{
        static const struct table_column columns[] = { { "OFFER", false, false }, { "PRICE", true, false },
                { "CORES", true, false }, { "MEMORY", true, false }, { "GPUS", false, false },
                { "NOTICE", true, false }, { "SAVES", true, false }, { "BOOT", true, false },
                { "SOURCE", false, false }, { "AGE", true, false }, { "USABLE", false, false },
                { "WHY", false, true } };
        const json_t *o;
        struct table *t;
        size_t i;

        if (json_array_size(json_object_get(answer, "offers")) == 0) {
                say(c, "no offers: name a connection in portald.conf, then `portal reload`");
                return CLI_OK;
        }
        t = table_new(c, columns, ARRAY_LEN(columns));
        json_array_foreach (json_object_get(answer, "offers"), i, o)
                add_offer(t, o);
        return table_print(t);
}

int cmd_machines(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        if (ask(c, "GET", cli_has(line, "--orphans") ? "/v1/machines?orphans=1" : "/v1/machines", NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_machines(c, reply.json);
        http_reply_clear(&reply);
        return code;
}

int cmd_offers(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        int code = CLI_OK;

        if (ask(c, "GET", "/v1/offers", NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_offers(c, reply.json);
        http_reply_clear(&reply);
        return code;
}

int cmd_notice(struct cli *c, const struct cli_line *line)
{
        const char *in = cli_value(line, "--in");
        struct http_reply reply = { 0 };
        js_owned *body = NULL;
        struct pd_error err;
        char path[320], at[QUANTITY_MAX];
        int64_t us;
        int code = CLI_OK;

        if (!in) {
                say(c, "--in is missing: write portal notice %s --in 2m, the time that its jobs have to be saved",
                        line->args[0]);
                return CLI_REFUSED;
        }
        if (duration_parse(in, &us, &err) < 0) {
                say(c, "--in %s", err.text);
                return CLI_REFUSED;
        }
        if (!job_path(path, sizeof path, line->args[0], "notice"))
                return CLI_NOT_FOUND;
        body = json_pack("{s:s}", "in", in);
        if (ask(c, "POST", path, body, &reply, &code)) {
                if (cli_has(line, "--json"))
                        code = print_json(reply.json);
                else
                        (void)printf("%s is vacated by %s; its jobs are saved and suspended\n",
                                js_str(reply.json, "id", line->args[0]),
                                when(js_int(reply.json, "notice_wall_us", 0), at));
        }
        http_reply_clear(&reply);
        return code;
}
