/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <string.h>

#define DIGITS "0123456789"

/* digits[.digits], passed over; in units of 10^-decimals. */
static bool take_decimal(const char **at, int decimals, int64_t *ret)
{
        size_t whole = strspn(*at, DIGITS), part = 0;
        int64_t n = 0;

        if (whole == 0 || whole > 18)
                return false;
        for (size_t i = 0; i < whole; i++)
                n = 10 * n + (*(*at)++ - '0');
        if (**at == '.') {
                (*at)++;
                part = strspn(*at, DIGITS);
                if (part == 0 || part > (size_t)decimals)
                        return false;
        }
        for (int i = 0; i < decimals; i++)
                if (__builtin_mul_overflow(n, 10, &n) ||
                        __builtin_add_overflow(n, (size_t)i < part ? *(*at)++ - '0' : 0, &n))
                        return false;
        *ret = n;
        return true;
}

static bool take_unit(const char **at, int64_t *ret_us)
{
        static const struct {
                const char *unit;
                int64_t us;
        } units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", INT64_C(3600000000) },
                { "d", INT64_C(86400000000) } };

        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
                size_t n = strlen(units[i].unit);

                if (strncmp(*at, units[i].unit, n) != 0)
                        continue;
                *at += n;
                *ret_us = units[i].us;
                return true;
        }
        return false;
}

bool word_span(const char *text, int64_t *ret_us)
{
        int64_t sum = 0, n, unit, part;

        if (strcmp(text, "0") == 0) {
                *ret_us = 0;
                return true;
        }
        if (!*text)
                return false;
        while (*text) {
                if (!take_decimal(&text, 0, &n) || !take_unit(&text, &unit) || __builtin_mul_overflow(n, unit, &part) ||
                        __builtin_add_overflow(sum, part, &sum) || sum > SIM_SPAN_MAX)
                        return false;
        }
        *ret_us = sum;
        return true;
}

bool word_money(const char *text, int64_t *ret_nano)
{
        int64_t nano;

        if (!take_decimal(&text, 9, &nano) || *text || nano >= 1000000 * NANO)
                return false;
        *ret_nano = nano;
        return true;
}

bool word_rate(const char *text, int64_t *ret_nano_hour, char ret_currency[4])
{
        char currency[4] = "";
        int64_t nano;

        if (!take_decimal(&text, 9, &nano) || nano >= 1000000 * NANO)
                return false;
        text += strspn(text, " ");
        for (int i = 0; i < 3; i++, text++) {
                if (*text >= 'a' && *text <= 'z')
                        currency[i] = (char)(*text - 'a' + 'A');
                else if (*text >= 'A' && *text <= 'Z')
                        currency[i] = *text;
                else
                        return false;
        }
        text += strspn(text, " ");
        if (strcmp(text, "/h") != 0)
                return false;
        *ret_nano_hour = nano;
        memcpy(ret_currency, currency, sizeof currency);
        return true;
}

bool word_size(const char *text, uint64_t *ret_bytes)
{
        static const struct {
                const char *unit;
                uint64_t bytes;
        } units[] = { { "B", 1 }, { "KB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 },
                { "TB", UINT64_C(1000000000000) }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 },
                { "TiB", UINT64_C(1099511627776) } };
        uint64_t bytes;
        int64_t n;

        if (!take_decimal(&text, 0, &n) || n <= 0)
                return false;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (strcmp(units[i].unit, text) == 0) {
                        if (__builtin_mul_overflow((uint64_t)n, units[i].bytes, &bytes) || bytes > INT64_MAX / 2)
                                return false;
                        *ret_bytes = bytes;
                        return true;
                }
        return false;
}

bool word_cpus(const char *text, int32_t *ret_milli)
{
        int64_t n;

        if (!take_decimal(&text, 3, &n) || *text || n <= 0 || n > INT64_C(1000000000))
                return false;
        *ret_milli = (int32_t)n;
        return true;
}

bool word_int(const char *text, int64_t low, int64_t high, int64_t *ret)
{
        bool minus = *text == '-';
        int64_t n;

        text += minus;
        if (!take_decimal(&text, 0, &n) || *text)
                return false;
        n = minus ? -n : n;
        if (n < low || n > high)
                return false;
        *ret = n;
        return true;
}

bool word_odds(const char *text, uint32_t *ret_num, uint32_t *ret_den, uint32_t *ret_nth)
{
        int64_t num = 1, den = 1, nth = 0;

        if (*text == '#') {
                if (!word_int(text + 1, 1, 1000000000, &nth))
                        return false;
        } else if (strcmp(text, "always") != 0) {
                if (!take_decimal(&text, 0, &num) || *text++ != '/' || !word_int(text, 1, 1000000000, &den) ||
                        num > den)
                        return false;
        }
        *ret_num = (uint32_t)num;
        *ret_den = (uint32_t)den;
        *ret_nth = (uint32_t)nth;
        return true;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
        int64_t era, of_era, of_year;

        y -= m <= 2;
        era = y / 400;
        of_era = y - era * 400;
        of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
        return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool take_digits(const char **at, int n, char after, int64_t low, int64_t high, int64_t *ret)
{
        int64_t v = 0;

        for (int i = 0; i < n; i++, (*at)++) {
                if (**at < '0' || **at > '9')
                        return false;
                v = 10 * v + (**at - '0');
        }
        if (**at != after || v < low || v > high)
                return false;
        *at += after != '\0';
        *ret = v;
        return true;
}

bool word_instant(const char *text, int64_t *ret_wall_us)
{
        static const int64_t last[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        int64_t y, mo, d, h, mi, s;

        if (!take_digits(&text, 4, '-', 1970, 2200, &y) || !take_digits(&text, 2, '-', 1, 12, &mo) ||
                !take_digits(&text, 2, 'T', 1, 31, &d) || !take_digits(&text, 2, ':', 0, 23, &h) ||
                !take_digits(&text, 2, ':', 0, 59, &mi) || !take_digits(&text, 2, 'Z', 0, 59, &s) || *text)
                return false;
        if (d > last[mo - 1] + (mo == 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)))
                return false;
        *ret_wall_us = ((days_of(y, mo, d) * 24 + h) * 60 + mi) * INT64_C(60000000) + s * 1000000;
        return true;
}

bool word_zone(const char *text)
{
        size_t n = strlen(text);

        return n >= 1 && n <= 48 && strspn(text, "abcdefghijklmnopqrstuvwxyz" DIGITS "-") == n;
}

bool word_type(const char *text)
{
        size_t n = strlen(text);

        return n >= 1 && n <= 64 &&
               strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS "._-") == n;
}

bool word_currency(const char *text)
{
        return strlen(text) == 3 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

bool word_next(const char **at, const char *end, char *buf, size_t n)
{
        size_t k = 0;

        while (*at < end && (**at == ' ' || **at == '\t'))
                (*at)++;
        while (*at < end && **at != ' ' && **at != '\t') {
                if (k + 1 >= n || **at == '\0')
                        return false;
                buf[k++] = *(*at)++;
        }
        buf[k] = '\0';
        return k > 0;
}
