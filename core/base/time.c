/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <stdio.h>

struct civil {
        int64_t year;
        unsigned int month, day; /* 1..12, 1..31 */
};

#define DAYS_400Y INT64_C(146097)
#define DAYS_TO_1970 INT64_C(719468) /* from 0000-03-01 */

static int64_t floor_div(int64_t a, int64_t b)
{
        return a / b - (a % b < 0);
}

/* The proleptic Gregorian calendar, counted in eras of 400 years that begin on March 1st, so that the leap day is the last. */
static struct civil civil_of(int64_t days)
{
        int64_t era, doe, yoe, doy, mp;
        struct civil c;

        days += DAYS_TO_1970;
        era = floor_div(days, DAYS_400Y);
        doe = days - era * DAYS_400Y;
        yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
        doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        mp = (5 * doy + 2) / 153;
        c.day = (unsigned int)(doy - (153 * mp + 2) / 5 + 1);
        c.month = (unsigned int)(mp < 10 ? mp + 3 : mp - 9);
        c.year = yoe + era * 400 + (c.month <= 2);
        return c;
}

static int64_t days_of(struct civil c)
{
        int64_t year = c.year - (c.month <= 2), era = floor_div(year, 400), yoe = year - era * 400;
        int64_t doy = (153 * (int64_t)(c.month > 2 ? c.month - 3 : c.month + 9) + 2) / 5 + c.day - 1;

        return era * DAYS_400Y + yoe * 365 + yoe / 4 - yoe / 100 + doy - DAYS_TO_1970;
}

static void format_clock(int64_t wall_us, const char *separator, char *buf)
{
        int64_t s = floor_div(wall_us, USEC_PER_SEC), days = floor_div(s, 86400), second = s - days * 86400;
        struct civil c = civil_of(days);

        (void)snprintf(buf, QUANTITY_MAX, "%04lld-%02u-%02u%s%02d:%02d:%02d", (long long)c.year, c.month, c.day,
                separator, (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
}

char *time_format_utc(int64_t wall_us, char *buf)
{
        int us = (int)(wall_us % USEC_PER_SEC);
        size_t n;

        format_clock(wall_us, "T", buf);
        n = strlen(buf);
        (void)snprintf(buf + n, QUANTITY_MAX - n, ".%06dZ", us < 0 ? us + (int)USEC_PER_SEC : us);
        return buf;
}

char *time_format_local(int64_t wall_us, int32_t offset_s, char *buf)
{
        int minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
        int64_t local;
        size_t n;

        if (__builtin_add_overflow(wall_us, offset_s * USEC_PER_SEC, &local))
                local = wall_us;
        format_clock(local, " ", buf);
        n = strlen(buf);
        (void)snprintf(buf + n, QUANTITY_MAX - n, " %c%02d:%02d", offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
        return buf;
}

/* n digits at *at, at most 6; -1 = there are not that many. */
static int take_digits(const char **at, int n)
{
        int v = 0;

        for (int i = 0; i < n; i++, (*at)++) {
                if (**at < '0' || **at > '9')
                        return -1;
                v = v * 10 + (**at - '0');
        }
        return v;
}

static bool take_char(const char **at, char c)
{
        if (**at != c)
                return false;
        (*at)++;
        return true;
}

/* ".123" in microseconds, 0 when absent; -1 = no digit, or more than 6. */
static int take_fraction(const char **at)
{
        int v = 0, digits = 0;

        if (!take_char(at, '.'))
                return 0;
        for (; **at >= '0' && **at <= '9'; (*at)++, digits++) {
                if (digits == 6)
                        return -1;
                v = v * 10 + (**at - '0');
        }
        if (!digits)
                return -1;
        for (; digits < 6; digits++)
                v *= 10;
        return v;
}

static bool valid_day(struct civil c)
{
        struct civil back = civil_of(days_of(c));

        return back.year == c.year && back.month == c.month && back.day == c.day;
}

#define TIME_EXAMPLE "2026-11-30T20:36:24Z"

int time_parse_utc(const char *text, int64_t *ret_wall_us, struct pd_error *err)
{
        static const char separators[] = "--T::";
        static const int widths[] = { 4, 2, 2, 2, 2, 2 };
        int f[6], us;
        const char *s = text;
        struct civil c;

        for (size_t i = 0; i < ARRAY_LEN(f); i++) {
                f[i] = take_digits(&s, widths[i]);
                if (f[i] < 0 || (i < 5 && !take_char(&s, separators[i])))
                        return pd_fail(
                                err, PD_E_INVALID, "\"%.40s\" is not a time in UTC: write it like " TIME_EXAMPLE, text);
        }
        us = take_fraction(&s);
        if (us < 0 || !streq(s, "Z"))
                return pd_fail(err, PD_E_INVALID,
                        "\"%.40s\" must end in at most 6 decimals and Z (UTC): write it like " TIME_EXAMPLE, text);
        c = (struct civil){ f[0], (unsigned int)f[1], (unsigned int)f[2] };
        if (f[1] < 1 || f[1] > 12 || f[2] < 1 || !valid_day(c) || f[3] > 23 || f[4] > 59 || f[5] > 59)
                return pd_fail(err, PD_E_INVALID,
                        "\"%.40s\" is no day and time of the calendar: write it like " TIME_EXAMPLE, text);
        *ret_wall_us = (days_of(c) * 86400 + (int64_t)f[3] * 3600 + (int64_t)f[4] * 60 + f[5]) * USEC_PER_SEC + us;
        return 0;
}
