/* SPDX-License-Identifier: Apache-2.0 */
/* portal prices: what offers have cost, page by page. */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/show.h"

json_t *prices_of(struct cli *c, int64_t after_wall_us, int *ret_code)
{
        js_owned *all = json_array();

        while (after_wall_us >= 0) {
                struct http_reply reply = { 0 };
                struct pd_error err;
                char path[80];
                int64_t next = -1;

                (void)str_format(path, sizeof path, "/v1/prices?after_wall_us=%" PRId64, after_wall_us);
                if (ret_code ? ask(c, "GET", path, NULL, &reply, ret_code)
                             : http_call(c->http, "GET", path, NULL, NULL, 5 * USEC_PER_SEC, &reply, &err) == 0 &&
                                        reply.status == 200) {
                        (void)json_array_extend(all, json_object_get(reply.json, "prices"));
                        next = js_int(reply.json, "next_wall_us", -1);
                }
                http_reply_clear(&reply);
                after_wall_us = next > after_wall_us ? next : -1;
        }
        return pd_steal(all);
}

static bool asked_for(const json_t *row, const char *prefix)
{
        return str_starts(js_str(row, "offer", ""), prefix);
}

static int print_table(struct cli *c, const json_t *rows)
{
        static const struct table_column columns[] = { { "AT", false, false }, { "OFFER", false, false },
                { "PRICE", true, false }, { "", false, true } };
        struct table *t = table_new(c, columns, ARRAY_LEN(columns));
        const json_t *row;
        size_t i;

        json_array_foreach (rows, i, row) {
                char at[QUANTITY_MAX], rate[QUANTITY_MAX];
                const char *cells[4] = { when(js_int(row, "at_wall_us", 0), at), js_str(row, "offer", "?"),
                        price(json_object_get(row, "price"), rate),
                        js_bool(row, "to_be_had", true) ? "" : "none to be had" };

                table_row(t, cells, 3, js_bool(row, "to_be_had", true) ? COLOUR_NONE : COLOUR_BAD);
        }
        return table_print(t);
}

int cmd_prices(struct cli *c, const struct cli_line *line)
{
        const char *since = cli_value(line, "--since"), *prefix = line->args_n ? line->args[0] : "";
        js_owned *all = NULL, *rows = json_array();
        int64_t after = 0;
        struct pd_error err;
        json_t *row;
        int code = CLI_OK;
        size_t i;

        if (since && time_flag("--since", since, &after, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        all = prices_of(c, after > 0 ? after : 0, &code);
        if (code != CLI_OK)
                return code;
        json_array_foreach (all, i, row)
                if (asked_for(row, prefix))
                        (void)json_array_append(rows, row);
        if (cli_has(line, "--json")) {
                js_owned *o = json_pack("{s:O}", "prices", rows);

                return print_json(o);
        }
        if (json_array_size(rows) == 0) {
                say(c, "no prices were seen yet: `portal offers` has the present ones; own machines' stand in "
                       "portald.conf");
                return CLI_OK;
        }
        return print_table(c, rows);
}
