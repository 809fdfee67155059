/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

typedef __int128 wide;

struct unit {
        const char *name;
        uint64_t factor; /* of the smallest unit: microseconds, bytes, milli cores, hundredths of a percent */
};

/* One kind of quantity: what it is called, how it is written. The words of every refusal. */
struct kind {
        const char *what, *example;
        const char *suffix;       /* the unit that a person who left it out most likely meant */
        const char *step;         /* the smallest thing that is counted                       */
        const struct unit *units; /* ends with a NULL name; from small to large               */
};

static const struct unit duration_units[] = {
        { "us", 1 },
        { "ms", (uint64_t)USEC_PER_MSEC },
        { "s", (uint64_t)USEC_PER_SEC },
        { "m", (uint64_t)USEC_PER_MIN },
        { "h", (uint64_t)USEC_PER_HOUR },
        { "d", (uint64_t)USEC_PER_DAY },
        { "w", 7 * (uint64_t)USEC_PER_DAY },
        { 0 },
};
static const struct unit size_units[] = {
        { "B", 1 },
        { "KB", UINT64_C(1000) },
        { "KiB", UINT64_C(1) << 10 },
        { "MB", UINT64_C(1000000) },
        { "MiB", UINT64_C(1) << 20 },
        { "GB", UINT64_C(1000000000) },
        { "GiB", UINT64_C(1) << 30 },
        { "TB", UINT64_C(1000000000000) },
        { "TiB", UINT64_C(1) << 40 },
        { 0 },
};
static const struct unit cpu_units[] = { { "m", 1 }, { "cores", 1000 }, { "core", 1000 }, { "", 1000 }, { 0 } };
static const struct unit percent_units[] = { { "%", 100 }, { 0 } };

static const struct kind duration_kind = { "a duration", "72h", "h", "microsecond", duration_units };
static const struct kind size_kind = { "a size", "16GiB", "GiB", "byte", size_units };
static const struct kind cpu_kind = { "a CPU share", "0.5 or 500m", "", "thousandth of a core", cpu_units };
static const struct kind percent_kind = { "a percentage", "20%", "%", "hundredth of a percent", percent_units };
static const struct kind money_kind = { "an amount of money", "20usd", "usd", "billionth", NULL };
static const struct kind rate_kind = { "a rate", "0.35usd/h", "usd/h", "billionth", NULL };

#define SHOWN_MAX 44

/* One sentence: the value as a message may show it (short, printable), then what is wrong with it. */
__attribute__((format(printf, 3, 4))) static int refuse(struct pd_error *err, const char *text, const char *fmt, ...)
{
        char shown[SHOWN_MAX], why[160];
        size_t i;
        va_list ap;

        for (i = 0; text[i] && i < SHOWN_MAX - 4; i++)
                shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
        memcpy(shown + i, text[i] ? "..." : "", text[i] ? 4 : 1);
        va_start(ap, fmt);
        (void)vsnprintf(why, sizeof why, fmt, ap);
        va_end(ap);
        return pd_fail(err, PD_E_INVALID, "\"%s\" %s", shown, why);
}

static bool digit(char c)
{
        return c >= '0' && c <= '9';
}

/* A plain decimal number: mantissa / 10^decimals. */
struct decimal {
        wide mantissa;
        int decimals;
};

#define MANTISSA_MAX ((wide)1000000000000 * 1000000000000) /* 10^24: times any unit's factor it still fits a wide */

static bool exponent_at(const char *s)
{
        return (*s == 'e' || *s == 'E') && (digit(s[1]) || ((s[1] == '+' || s[1] == '-') && digit(s[2])));
}

/* Takes the number at *at; text is the whole value, for the refusals. */
static int take_number(
        const char **at, const char *text, const struct kind *k, struct decimal *ret, struct pd_error *err)
{
        struct decimal d = { 0 };
        const char *s = *at;
        bool point = false;

        if (*s == '-')
                return refuse(err, text, "is negative: %s is never below 0, write for example %s", k->what, k->example);
        if (!digit(*s))
                return refuse(err, text, "is not %s: write a number and its unit, for example %s", k->what, k->example);
        for (; digit(*s) || (*s == '.' && !point && digit(s[1])); s++) {
                if (*s == '.') {
                        point = true;
                        continue;
                }
                if (d.mantissa >= MANTISSA_MAX / 10)
                        return refuse(err, text, "has too many digits: write %s like %s", k->what, k->example);
                d.mantissa = d.mantissa * 10 + (*s - '0');
                d.decimals += point;
        }
        if (exponent_at(s))
                return refuse(err, text, "has an exponent: write the number out, for example %s", k->example);
        *at = s;
        *ret = d;
        return 0;
}

/* d x factor, if that is a whole number. */
static bool scaled(struct decimal d, uint64_t factor, wide *ret)
{
        wide v = d.mantissa * (wide)factor;

        for (; d.decimals > 0; d.decimals--) {
                if (v % 10 != 0)
                        return false;
                v /= 10;
        }
        *ret = v;
        return true;
}

static int too_fine(const char *text, const struct kind *k, struct pd_error *err)
{
        return refuse(err, text, "is no whole number of %ss, the smallest step of %s: write for example %s", k->step,
                k->what, k->example);
}

/* "us, ms, s, m, h, d or w" */
static const char *list_units(const struct unit *units, char *buf, size_t n)
{
        size_t used = 0;

        buf[0] = '\0';
        for (; units->name && *units->name && used < n; units++) {
                bool last = !units[1].name || !*units[1].name;

                used += (size_t)snprintf(buf + used, n - used, "%s%s", !used ? "" : last ? " or " : ", ", units->name);
        }
        return buf;
}

/* Takes the unit at *at: a run of letters, or "%". */
static int take_unit(const char **at, const char *text, const struct kind *k, struct unit *ret, struct pd_error *err)
{
        const char *s = *at + (**at == ' '), *end = s;
        char list[80];

        while (isalpha((unsigned char)*end) || *end == '%')
                end++;
        for (const struct unit *u = k->units; u->name; u++) {
                if (strlen(u->name) == (size_t)(end - s) && strncmp(u->name, s, (size_t)(end - s)) == 0) {
                        *at = end;
                        *ret = *u;
                        return 0;
                }
        }
        if (end == s && !*end)
                return refuse(err, text, "has no unit: write %.40s%s", text, k->suffix);
        return refuse(err, text, "has the unit \"%.12s\": %s is in %s, for example %s", s, k->what,
                list_units(k->units, list, sizeof list), k->example);
}

/* One number and one unit, nothing behind. */
static int parse_single(const char *text, const struct kind *k, wide max, wide *ret, struct pd_error *err)
{
        struct unit unit = { 0 };
        struct decimal d = { 0 };
        const char *s = text;
        wide v = 0;
        int r;

        r = take_number(&s, text, k, &d, err);
        if (r < 0)
                return r;
        r = take_unit(&s, text, k, &unit, err);
        if (r < 0)
                return r;
        if (*s)
                return refuse(err, text, "has \"%.12s\" behind the unit: write only %s, for example %s", s, k->what,
                        k->example);
        if (!scaled(d, unit.factor, &v))
                return too_fine(text, k, err);
        if (v > max)
                return refuse(err, text, "is too large: %s like %s is meant here", k->what, k->example);
        *ret = v;
        return 0;
}

int duration_parse(const char *text, int64_t *ret_us, struct pd_error *err)
{
        const struct kind *k = &duration_kind;
        struct unit unit = { 0 }, before = { 0 };
        const char *s = text;
        wide sum = 0;

        do {
                struct decimal d = { 0 };
                wide v = 0;
                int r;

                r = take_number(&s, text, k, &d, err);
                if (r < 0)
                        return r;
                r = take_unit(&s, text, k, &unit, err);
                if (r < 0)
                        return r;
                if (before.name && unit.factor >= before.factor)
                        return refuse(err, text,
                                "has \"%s\" behind \"%s\": write the larger unit first, for example 1h30m", unit.name,
                                before.name);
                if (!scaled(d, unit.factor, &v))
                        return too_fine(text, k, err);
                if (v > INT64_MAX || sum + v > INT64_MAX)
                        return refuse(err, text, "is too long: the longest duration is 15250284w");
                sum += v;
                before = unit;
                s += *s == ' ';
        } while (*s);
        *ret_us = (int64_t)sum;
        return 0;
}

int size_parse(const char *text, uint64_t *ret_bytes, struct pd_error *err)
{
        wide v = 0;
        int r = parse_single(text, &size_kind, UINT64_MAX, &v, err);

        if (r < 0)
                return r;
        *ret_bytes = (uint64_t)v;
        return 0;
}

int cpu_parse(const char *text, int32_t *ret_milli, struct pd_error *err)
{
        wide v = 0;
        int r = parse_single(text, &cpu_kind, INT32_MAX, &v, err);

        if (r < 0)
                return r;
        if (v == 0)
                return refuse(err, text, "is no CPU at all: a job needs more than 0, for example 0.5 or 500m");
        *ret_milli = (int32_t)v;
        return 0;
}

int percent_parse(const char *text, int32_t *ret_hundredths, struct pd_error *err)
{
        wide v = 0;
        int r = parse_single(text, &percent_kind, INT64_MAX, &v, err);

        if (r < 0)
                return r;
        if (v > 10000)
                return refuse(err, text, "is above 100%%: write 0%% to 100%%, for example 20%%");
        *ret_hundredths = (int32_t)v;
        return 0;
}

/* Three letters and no more, into a currency; false = it is not that. */
static bool take_currency(const char **at, char ret[4])
{
        const char *s = *at;

        for (int i = 0; i < 3; i++) {
                if (!isalpha((unsigned char)s[i]))
                        return false;
                ret[i] = (char)toupper((unsigned char)s[i]);
        }
        if (isalpha((unsigned char)s[3]))
                return false;
        ret[3] = '\0';
        *at = s + 3;
        return true;
}

/* An amount with its currency on either side; end is what must follow it ("" or "/h"). */
static int parse_money(const char *text, const struct kind *k, const char *end, struct money *ret, struct pd_error *err)
{
        const char *s = text;
        struct money m = { 0 };
        struct decimal d = { 0 };
        bool in_front;
        wide v = 0;
        int r;

        in_front = take_currency(&s, m.currency);
        if (in_front)
                s += *s == ' ';
        r = take_number(&s, text, k, &d, err);
        if (r < 0)
                return r;
        if (!in_front) {
                s += *s == ' ';
                if (!*s || *s == '/')
                        return refuse(
                                err, text, "has no currency: write it as an ISO 4217 code, for example %s", k->example);
                if (!take_currency(&s, m.currency))
                        return refuse(err, text,
                                "has the currency \"%.12s\": write an ISO 4217 code of three letters, for example %s",
                                s, k->example);
        }
        if (*end && !*s)
                return refuse(err, text, "has no time: %s is an amount an hour, for example %s", k->what, k->example);
        if (!streq(s, end))
                return refuse(err, text, "ends in \"%.12s\": write %s like %s", s, k->what, k->example);
        if (d.decimals > 9 || !scaled(d, (uint64_t)NANO, &v))
                return refuse(err, text, "has more than 9 decimals: write for example %s", k->example);
        if (v > INT64_MAX)
                return refuse(err, text, "is too large: the most is 9223372036 of a currency");
        m.nano = (int64_t)v;
        *ret = m;
        return 0;
}

int money_parse(const char *text, struct money *ret, struct pd_error *err)
{
        return parse_money(text, &money_kind, "", ret, err);
}

int rate_parse(const char *text, struct money *ret_hour, struct pd_error *err)
{
        return parse_money(text, &rate_kind, "/h", ret_hour, err);
}

int64_t money_cost(int64_t price_nano_hour, int64_t cumulative_us)
{
        static const wide hour = (wide)60 * 60 * 1000000;
        wide cost = ((wide)price_nano_hour * cumulative_us + hour - 1) / hour;

        return cost > INT64_MAX ? INT64_MAX : (int64_t)cost;
}
