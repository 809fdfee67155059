/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NANO INT64_C(1000000000)

/* digits[.digits], passed over; in units of 10^-decimals. */
static bool take_decimal(const char **at, int decimals, int64_t *ret)
{
        size_t whole = strspn(*at, "0123456789"), part = 0;
        int64_t n = 0;

        if (whole == 0 || whole > 9)
                return false;
        for (size_t i = 0; i < whole; i++)
                n = 10 * n + (*(*at)++ - '0');
        if (**at == '.') {
                (*at)++;
                part = strspn(*at, "0123456789");
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

static void skip_space(const char **at)
{
        *at += strspn(*at, " ");
}

static bool take_currency(const char **at, char ret[4])
{
        for (int i = 0; i < 3; i++) {
                if (!isalpha((unsigned char)(*at)[i]))
                        return false;
                ret[i] = (char)toupper((unsigned char)(*at)[i]);
        }
        ret[3] = '\0';
        *at += 3;
        return !isalpha((unsigned char)**at);
}

bool config_rate(const char *text, int64_t *ret_nano_hour, char ret_currency[4])
{
        char currency[4];
        int64_t nano;
        bool before;

        skip_space(&text);
        before = isalpha((unsigned char)*text);
        if (before && !take_currency(&text, currency))
                return false;
        skip_space(&text);
        if (!take_decimal(&text, 9, &nano) || nano >= 1000000 * NANO)
                return false;
        skip_space(&text);
        if (!before && !take_currency(&text, currency))
                return false;
        skip_space(&text);
        if (strcmp(text, "/h") != 0)
                return false;
        *ret_nano_hour = nano;
        memcpy(ret_currency, currency, sizeof currency);
        return true;
}

bool config_span(const char *text, int64_t *ret_us)
{
        static const char units[] = "smhd";
        static const int64_t us[] = { 1000000, 60000000, INT64_C(3600000000), INT64_C(86400000000) };
        int64_t sum = 0, n;

        if (!*text)
                return false;
        while (*text) {
                const char *unit;

                if (!take_decimal(&text, 0, &n) || !*text || !(unit = strchr(units, *text)))
                        return false;
                if (n > 30 * us[3] / us[unit - units] || (sum += n * us[unit - units]) > 30 * us[3])
                        return false;
                text++;
        }
        *ret_us = sum;
        return true;
}

bool config_size(const char *text, uint64_t *ret_bytes)
{
        static const struct {
                const char *unit;
                uint64_t bytes;
        } units[] = { { "B", 1 }, { "KB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 },
                { "TB", UINT64_C(1000000000000) }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 },
                { "TiB", UINT64_C(1099511627776) } };
        int64_t n;

        if (!take_decimal(&text, 0, &n))
                return false;
        skip_space(&text);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (strcmp(units[i].unit, text) == 0)
                        return n > 0 && !__builtin_mul_overflow((uint64_t)n, units[i].bytes, ret_bytes);
        return false;
}

bool config_cpus(const char *text, int32_t *ret_milli)
{
        int64_t n;
        const char *at = text;
        size_t digits = strspn(text, "0123456789");

        if (text[digits] == 'm' && text[digits + 1] == '\0') {
                if (!take_decimal(&at, 0, &n))
                        return false;
        } else if (!take_decimal(&at, 3, &n) || *at) {
                return false;
        }
        if (n <= 0 || n > INT64_C(1000000000))
                return false;
        *ret_milli = (int32_t)n;
        return true;
}

bool config_zone(const char *text)
{
        size_t n = strlen(text);

        return n >= 1 && n <= 48 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

bool config_type(const char *text)
{
        size_t n = strlen(text);

        return n >= 1 && n <= 64 &&
               strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}
