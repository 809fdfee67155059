/* SPDX-License-Identifier: Apache-2.0 */
/* What people read: sentences, times, prices, tables. Texts of jobs and other users never bring control characters to the terminal. */
#include "cli/cli.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <time.h>

const char *colour_on(bool wanted, enum colour colour)
{
        static const char *const codes[] = { [COLOUR_NONE] = "",
                [COLOUR_GOOD] = "\033[32m",
                [COLOUR_WARN] = "\033[33m",
                [COLOUR_BAD] = "\033[31m",
                [COLOUR_DIM] = "\033[2m",
                [COLOUR_BOLD] = "\033[1m" };

        return wanted ? codes[colour] : "";
}

const char *colour_off(bool wanted)
{
        return wanted ? "\033[0m" : "";
}

enum colour colour_of_state(const char *state, const char *result)
{
        if (streq(state, "running"))
                return COLOUR_GOOD;
        if (streq(state, "suspended"))
                return COLOUR_WARN;
        if (streq(state, "ended"))
                return streq(result, "succeeded") ? COLOUR_GOOD : streq(result, "failed") ? COLOUR_BAD : COLOUR_DIM;
        return COLOUR_NONE;
}

char *plain(const char *text, char *buf, size_t n)
{
        size_t i;

        for (i = 0; text[i] && i + 1 < n; i++) {
                unsigned char ch = (unsigned char)text[i];

                /* C1 controls are C2 80 .. C2 9F in UTF-8 */
                buf[i] = ch < 0x20 || ch == 0x7f ||
                                         (ch >= 0x80 && ch < 0xa0 && i > 0 && (unsigned char)text[i - 1] == 0xc2)
                                 ? '?'
                                 : text[i];
        }
        while (text[i] && i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80) /* never half a character */
                i--;
        buf[i] = '\0';
        return buf;
}

void say(const struct cli *c, const char *fmt, ...)
{
        char text[2048], shown[2048];
        va_list ap;

        (void)c;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        (void)fprintf(stderr, "portal: %s\n", plain(text, shown, sizeof shown));
}

/* "AT: TEXT: FIX", one a line. */
void say_faults(const json_t *faults)
{
        const json_t *f;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)faults, i, f) {
                char at[160], text[320], fix[320];

                (void)fprintf(stderr, "  %s: %s: %s\n", plain(js_str(f, "at", ""), at, sizeof at),
                        plain(js_str(f, "text", ""), text, sizeof text), plain(js_str(f, "fix", ""), fix, sizeof fix));
        }
}

void say_values(const json_t *values)
{
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)values, i, v) {
                char path[320], type[160], reason[320], fix[320], of[64] = "";

                if (js_int(v, "pid", 0) > 0 && js_int(v, "fd", -1) >= 0)
                        (void)str_format(of, sizeof of, ", pid %lld fd %lld", (long long)js_int(v, "pid", 0),
                                (long long)js_int(v, "fd", -1));
                else if (js_int(v, "pid", 0) > 0)
                        (void)str_format(of, sizeof of, ", pid %lld", (long long)js_int(v, "pid", 0));
                (void)fprintf(stderr, "  %s (%s%s): %s; %s\n", plain(js_str(v, "path", "?"), path, sizeof path),
                        plain(js_str(v, "type", "?"), type, sizeof type), of,
                        plain(js_str(v, "reason", "cannot be carried"), reason, sizeof reason),
                        plain(js_str(v, "fix", "see `portal help suspend`"), fix, sizeof fix));
        }
}

static int exit_of(enum pd_code code)
{
        switch (code) {
        case PD_E_INVALID:
        case PD_E_REFUSED:
        case PD_E_PERM:
        case PD_E_AUTH:
        case PD_E_UNSUPPORTED:
        case PD_E_ABI:
                return CLI_REFUSED;
        case PD_E_NOT_FOUND:
                return CLI_NOT_FOUND;
        case PD_E_CONFLICT:
        case PD_E_GONE:
                return CLI_CONFLICT;
        case PD_E_IO:
                return CLI_UNREACHABLE;
        case PD_E_QUOTA:
        case PD_E_CAPACITY:
        case PD_E_THROTTLED:
        case PD_E_TRANSIENT:
        case PD_E_BUSY:
        case PD_E_FULL:
        case PD_E_DEADLINE:
                return CLI_TEMPORARY;
        case PD_E_CANCELLED:
                return CLI_DETACHED;
        case PD_OK:
        case PD_E_NOMEM:
        case PD_E_UNKNOWN_OUTCOME:
        case PD_E_CRASHED:
        case PD_E_INTERNAL:
        case PD_E_CORRUPT:
                break;
        }
        return CLI_FAILED;
}

int say_error(const struct cli *c, const struct pd_error *err, const struct http_reply *reply)
{
        const json_t *faults = reply ? json_object_get(reply->json, "faults") : NULL;

        say(c, "%s", err->text);
        if (json_array_size(faults) > 1) /* the first is the sentence above */
                say_faults(faults);
        if (reply)
                say_values(json_object_get(reply->json, "values"));
        return exit_of(err->code);
}

bool count_parse(const char *text, long max, long *ret)
{
        long n;

        if (!*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
                return false;
        n = strtol(text, NULL, 10);
        if (n > max)
                return false;
        *ret = n;
        return true;
}

int64_t now_wall_us(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

char *when(int64_t wall_us, char *buf)
{
        time_t t = (time_t)(wall_us / USEC_PER_SEC);
        struct tm tm;

        if (wall_us <= 0 || !localtime_r(&t, &tm)) {
                (void)str_format(buf, QUANTITY_MAX, "-");
                return buf;
        }
        return time_format_local(wall_us, (int32_t)tm.tm_gmtoff, buf);
}

char *ago(int64_t us, char *buf)
{
        int64_t s = us > 0 ? us / USEC_PER_SEC : 0;

        return duration_format(s * USEC_PER_SEC, buf);
}

char *price(const json_t *price_json, char *buf)
{
        struct money m = { .nano = js_int(price_json, "nano_hour", 0) };

        (void)str_format(m.currency, sizeof m.currency, "%s", js_str(price_json, "currency", ""));
        if (!*m.currency) {
                (void)str_format(buf, QUANTITY_MAX, "%s", json_is_object(price_json) ? "free" : "-");
                return buf;
        }
        return rate_format(&m, buf);
}

/* --- JSON for programs: each "X_wall_us" gets its "X_utc" beside it --- */
static void add_utc(json_t *v)
{
        const char *key;
        json_t *member;
        void *next;
        size_t i;

        if (json_is_array(v))
                json_array_foreach (v, i, member)
                        add_utc(member);
        if (!json_is_object(v))
                return;
        json_object_foreach_safe(v, next, key, member)
        {
                size_t n = strlen(key);
                char utc[QUANTITY_MAX], name[80];

                add_utc(member);
                if (n > 8 && streq(key + n - 8, "_wall_us") && json_is_integer(member) &&
                        json_integer_value(member) > 0 && str_format(name, sizeof name, "%.*s_utc", (int)(n - 8), key))
                        (void)json_object_set_new(
                                v, name, json_string(time_format_utc((int64_t)json_integer_value(member), utc)));
        }
}

static int print_as(const json_t *v, size_t flags)
{
        js_owned *copy = json_deep_copy(v);
        pd_cleanup(freep) char *text = NULL;

        add_utc(copy);
        text = copy ? json_dumps(copy, flags | JSON_ENCODE_ANY) : NULL;
        if (!text || printf("%s\n", text) < 0 || fflush(stdout) != 0) {
                (void)fprintf(stderr, "portal: the answer could not be written to stdout\n");
                return CLI_FAILED;
        }
        return CLI_OK;
}

int print_json(const json_t *v)
{
        return print_as(v, JSON_INDENT(2));
}

int print_json_line(const json_t *v)
{
        return print_as(v, JSON_COMPACT);
}

/* --- tables --- */
struct table {
        struct libscols_table *scols;
        size_t columns;
        bool failed, colour;
};

struct table *table_new(const struct cli *c, const struct table_column *columns, size_t n)
{
        struct table *t = calloc(1, sizeof *t);

        if (!t || !(t->scols = scols_new_table())) {
                free(t);
                return NULL;
        }
        t->columns = n;
        t->colour = c->colour_out;
        (void)scols_table_enable_colors(t->scols, c->colour_out);
        for (size_t i = 0; i < n; i++)
                t->failed |= !scols_table_new_column(t->scols, columns[i].name, 0,
                        (columns[i].right ? SCOLS_FL_RIGHT : 0) | (columns[i].cut ? SCOLS_FL_TRUNC : 0));
        return t;
}

void table_row(struct table *t, const char *const *cells, int coloured, enum colour colour)
{
        static const char *const names[] = { [COLOUR_NONE] = NULL,
                [COLOUR_GOOD] = "green",
                [COLOUR_WARN] = "brown",
                [COLOUR_BAD] = "red",
                [COLOUR_DIM] = "darkgray",
                [COLOUR_BOLD] = "white" };
        struct libscols_line *line = t ? scols_table_new_line(t->scols, NULL) : NULL;

        if (!line)
                return;
        for (size_t i = 0; i < t->columns; i++) {
                char shown[512];

                t->failed |= scols_line_set_data(line, i, plain(str_or(cells[i], "-"), shown, sizeof shown)) != 0;
                if (t->colour && (int)i == coloured && names[colour])
                        (void)scols_cell_set_color(scols_line_get_cell(line, i), names[colour]);
        }
}

int table_print(struct table *t)
{
        bool good = t && !t->failed && scols_print_table(t->scols) == 0 && fflush(stdout) == 0;

        if (t)
                scols_unref_table(t->scols);
        free(t);
        if (!good)
                (void)fprintf(stderr, "portal: the table could not be written to stdout\n");
        return good ? CLI_OK : CLI_FAILED;
}
