/* SPDX-License-Identifier: Apache-2.0 */
/* portal explain and portal precheck: why, and whether it could. */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/show.h"

static bool is_money(const json_t *v)
{
        return json_is_string(json_object_get(v, "currency")) &&
               (json_is_integer(json_object_get(v, "nano")) || json_is_integer(json_object_get(v, "nano_hour")));
}

/* A member of the evidence for people: money and rates as such, spans and sizes by the ending of their name. */
static void member_text(const char *key, const json_t *v, char *buf, size_t n)
{
        size_t len = strlen(key);
        pd_cleanup(freep) char *text = NULL;
        char figure[QUANTITY_MAX];

        if (is_money(v)) {
                struct money m = { .nano = js_int(v, "nano", js_int(v, "nano_hour", 0)) };

                (void)str_format(m.currency, sizeof m.currency, "%s", js_str(v, "currency", ""));
                (void)str_format(
                        buf, n, "%s", json_object_get(v, "nano") ? money_format(&m, figure) : rate_format(&m, figure));
        } else if (json_is_integer(v) && len > 8 && streq(key + len - 8, "_wall_us"))
                (void)str_format(buf, n, "%s", when(json_integer_value(v), figure));
        else if (json_is_integer(v) && len > 3 && streq(key + len - 3, "_us"))
                (void)str_format(buf, n, "%s", duration_format(json_integer_value(v), figure));
        else if (json_is_integer(v) && json_integer_value(v) >= 0 && len > 6 && streq(key + len - 6, "_bytes"))
                (void)str_format(buf, n, "%s", size_format((uint64_t)json_integer_value(v), figure));
        else if (json_is_string(v))
                (void)str_format(buf, n, "%s", json_string_value(v));
        else {
                text = js_dump(v);
                (void)str_format(buf, n, "%s", str_or(text, "?"));
        }
}

/* An evidence object as "name value, name value"; what lost has lines of its own. */
static void evidence(const json_t *v, char *buf, size_t n)
{
        const json_t *member;
        const char *key;

        buf[0] = '\0';
        if (json_is_string(v))
                (void)str_format(buf, n, "%s", json_string_value(v));
        json_object_foreach ((json_t *)(uintptr_t)v, key, member) {
                size_t used = strlen(buf);
                char text[300];

                if (streq(key, "losers") || streq(key, "rules"))
                        continue;
                member_text(key, member, text, sizeof text);
                (void)str_format(buf + used, n - used, "%s%s %s", used ? ", " : "", key, text);
        }
}

static void losers(const json_t *proof)
{
        const json_t *list = json_object_get(proof, "losers"), *l, *count;
        char offer[200], why[300];
        const char *rule;
        size_t i, all = 0;

        json_object_foreach ((json_t *)(uintptr_t)json_object_get(proof, "rules"), rule, count)
                all += (size_t)json_integer_value(count);
        json_array_foreach ((json_t *)(uintptr_t)list, i, l)
                (void)printf("    not %s: %s\n", plain(js_str(l, "offer", "?"), offer, sizeof offer),
                        plain(js_str(l, "why", ""), why, sizeof why));
        if (all <= json_array_size(list))
                return;
        (void)printf("    in all %zu offers lost, by rule:", all);
        json_object_foreach ((json_t *)(uintptr_t)json_object_get(proof, "rules"), rule, count)
                (void)printf(" %s %" PRId64, rule, (int64_t)json_integer_value(count));
        (void)printf("\n");
}

static void decisions(const json_t *list)
{
        const json_t *d;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, d) {
                char at[QUANTITY_MAX], why[700], proof[1400], shown[1400], by[80];
                const char *user = js_str(d, "user", "");

                (void)printf("%s  %-10s %s: %s%s%s\n", when(js_int(d, "at_wall_us", 0), at), js_str(d, "policy", "?"),
                        js_str(d, "act", "?"), plain(js_str(d, "why", ""), why, sizeof why), *user ? "  by " : "",
                        plain(user, by, sizeof by));
                evidence(json_object_get(d, "evidence"), proof, sizeof proof);
                if (*proof)
                        (void)printf("    %s\n", plain(proof, shown, sizeof shown));
                losers(json_object_get(d, "evidence"));
        }
}

static void intervals(const json_t *list)
{
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
                char from[QUANTITY_MAX], to[QUANTITY_MAX], why[700], margin[200];

                (void)printf("%s .. %s  %-10s did nothing %" PRId64 " time%s: %s%s%s\n",
                        when(js_int(v, "first_wall_us", 0), from), when(js_int(v, "last_wall_us", 0), to),
                        js_str(v, "policy", "?"), js_int(v, "count", 0), js_int(v, "count", 0) == 1 ? "" : "s",
                        plain(js_str(v, "why", ""), why, sizeof why),
                        *js_str(v, "best_margin", "") ? "; nearest: " : "",
                        plain(js_str(v, "best_margin", ""), margin, sizeof margin));
        }
}

static void now(const json_t *list)
{
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
                char why[700], would[700];

                (void)printf("  %-10s %-10s %s%s%s\n", js_str(v, "policy", "?"), js_str(v, "act", "?"),
                        plain(js_str(v, "why", ""), why, sizeof why),
                        *js_str(v, "would_act", "") ? "; would act: " : "",
                        plain(js_str(v, "would_act", ""), would, sizeof would));
        }
}

static void settings(const json_t *all)
{
        const json_t *s;
        const char *key;

        json_object_foreach ((json_t *)(uintptr_t)all, key, s)
                if (!streq(js_str(s, "origin", "built-in"), "built-in"))
                        (void)printf("  %-20s %s  (%s)\n", key, js_str(s, "value", "?"), js_str(s, "origin", "?"));
}

/* As it stood at the instant asked for. */
static void then(const json_t *e)
{
        const json_t *state = json_object_get(e, "then");
        char at[QUANTITY_MAX], since[QUANTITY_MAX], text[400];

        (void)when(js_int(e, "at_wall_us", 0), at);
        if (!json_is_object(state)) {
                (void)printf("%s was not there at %s\n", js_str(e, "job", "?"), at);
                return;
        }
        (void)printf("%s was %s at %s, since %s%s%s\n", js_str(e, "job", "?"), js_str(state, "state", "?"), at,
                when(js_int(state, "since_wall_us", 0), since), *js_str(state, "machine", "") ? ", on " : "",
                js_str(state, "machine", ""));
        if (*js_str(state, "message", ""))
                (void)printf("    %s\n", plain(js_str(state, "message", ""), text, sizeof text));
}

static void placement(const json_t *v)
{
        if (!v)
                return;
        if (*js_str(v, "offer", ""))
                (void)printf("its turn comes next, on %s\n", js_str(v, "offer", ""));
        losers(v);
}

static void why_not(const json_t *v)
{
        char offer[200], why[300], would[200], figures[900], shown[900];
        js_owned *rest = json_object();
        const json_t *member;
        const char *key;

        if (!v)
                return;
        (void)printf("%s: %s%s%s%s\n", plain(js_str(v, "offer", "?"), offer, sizeof offer),
                plain(js_str(v, "why", "?"), why, sizeof why), *js_str(v, "rule", "") ? " (rule " : "",
                js_str(v, "rule", ""), *js_str(v, "rule", "") ? ")" : "");
        if (*js_str(v, "would", ""))
                (void)printf("    %s\n", plain(js_str(v, "would", ""), would, sizeof would));
        json_object_foreach ((json_t *)(uintptr_t)v, key, member)
                if (!json_is_string(member) && !json_is_boolean(member) && !streq(key, "rank") &&
                        !streq(key, "rate_max_nano_hour"))
                        (void)json_object_set(rest, key, (json_t *)(uintptr_t)member);
        evidence(rest, figures, sizeof figures);
        if (*figures)
                (void)printf("    %s\n", plain(figures, shown, sizeof shown));
}

static int print_explain(struct cli *c, const json_t *e)
{
        bool colour = c->colour_out;

        if (json_object_get(e, "at_wall_us"))
                then(e);
        else
                (void)printf("%s is %s\n", js_str(e, "job", "?"), js_str(e, "state", "?"));
        placement(json_object_get(e, "placement"));
        why_not(json_object_get(e, "why_not"));
        if (json_array_size(json_object_get(e, "decisions")) > 0)
                (void)printf("%sdecisions%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        decisions(json_object_get(e, "decisions"));
        if (json_array_size(json_object_get(e, "intervals")) > 0)
                (void)printf("%snothing done%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        intervals(json_object_get(e, "intervals"));
        if (json_array_size(json_object_get(e, "now")) > 0)
                (void)printf("%snow%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        now(json_object_get(e, "now"));
        if (json_object_size(json_object_get(e, "settings")) > 0)
                (void)printf(
                        "%ssettings that are not built-in%s\n", colour_on(colour, COLOUR_BOLD), colour_off(colour));
        settings(json_object_get(e, "settings"));
        return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
}

/* What an offer's name is made of needs no escaping in a query. */
static bool is_offer_name(const char *text)
{
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/");

        return n > 0 && text[n] == '\0' && n < 200;
}

int cmd_explain(struct cli *c, const struct cli_line *line)
{
        const char *at = cli_value(line, "--at");
        struct http_reply reply = { 0 };
        const char *offer = cli_value(line, "--why-not");
        char what[320], path[640], when_asked[48] = "";
        struct pd_error err;
        int64_t wall_us = 0;
        int code = CLI_OK;

        if (at && time_flag("--at", at, &wall_us, &err) < 0) {
                say(c, "%s", err.text);
                return CLI_REFUSED;
        }
        if (at)
                (void)str_format(when_asked, sizeof when_asked, "at_wall_us=%" PRId64 "&", wall_us > 0 ? wall_us : 0);
        if (offer && !is_offer_name(offer)) {
                say(c, "--why-not \"%s\": write an offer as `portal offers` lists it, CONNECTION/ZONE/TYPE[/spot]",
                        offer);
                return CLI_REFUSED;
        }
        (void)str_format(what, sizeof what, "explain?%s%s%s", when_asked, offer ? "why_not=" : "", str_or(offer, ""));
        if (!job_path(path, sizeof path, line->args[0], what))
                return CLI_NOT_FOUND;
        if (ask(c, "GET", path, NULL, &reply, &code))
                code = cli_has(line, "--json") ? print_json(reply.json) : print_explain(c, reply.json);
        http_reply_clear(&reply);
        return code;
}

static int print_precheck(struct cli *c, const json_t *p)
{
        bool usable = js_bool(p, "usable", false);
        char text[600], capture[64];

        if (*js_str(p, "text", ""))
                (void)printf("%s\n", plain(js_str(p, "text", ""), text, sizeof text));
        else
                (void)printf("%s by capture %s\n",
                        usable ? "a checkpoint can carry it" : "a checkpoint cannot carry it",
                        plain(js_str(p, "capture", "?"), capture, sizeof capture));
        (void)fflush(stdout);
        if (!usable && json_array_size(json_object_get(p, "values")) > 0)
                say(c, "these values cannot be carried:");
        say_values(json_object_get(p, "values"));
        return usable ? CLI_OK : CLI_REFUSED;
}

int cmd_precheck(struct cli *c, const struct cli_line *line)
{
        struct http_reply reply = { 0 };
        char path[320];
        int code = CLI_OK;

        if (!job_path(path, sizeof path, line->args[0], "precheck"))
                return CLI_NOT_FOUND;
        if (ask(c, "POST", path, NULL, &reply, &code)) {
                if (!cli_has(line, "--json"))
                        code = print_precheck(c, reply.json);
                else if (print_json(reply.json) != CLI_OK || !js_bool(reply.json, "usable", false))
                        code = CLI_REFUSED;
        }
        http_reply_clear(&reply);
        return code;
}
