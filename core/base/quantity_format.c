/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t magnitude(int64_t v)
{
        return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

struct part {
        const char *unit;
        uint64_t us;
};

/* People say 72h but 7d, 90s but 1h30m: days only for whole days past 72 h, minutes only from two minutes on. */
static const struct part *first_part(uint64_t us)
{
        static const struct part parts[] = {
                { "d", (uint64_t)USEC_PER_DAY },
                { "h", (uint64_t)USEC_PER_HOUR },
                { "m", (uint64_t)USEC_PER_MIN },
                { "s", (uint64_t)USEC_PER_SEC },
                { "ms", (uint64_t)USEC_PER_MSEC },
                { "us", 1 },
        };
        const struct part *p = parts;

        if (us <= 72 * (uint64_t)USEC_PER_HOUR || us % (uint64_t)USEC_PER_DAY != 0)
                p++;
        if (us > (uint64_t)USEC_PER_MIN && us < 2 * (uint64_t)USEC_PER_MIN && us % (uint64_t)USEC_PER_SEC == 0)
                return parts + 3;
        while (p->us > 1 && us < p->us)
                p++;
        return p;
}

char *duration_format(int64_t us, char *buf)
{
        uint64_t left = magnitude(us);
        size_t n = 0;

        if (us == 0) {
                memcpy(buf, "0s", 3);
                return buf;
        }
        if (us < 0)
                buf[n++] = '-';
        for (const struct part *p = first_part(left); left > 0; p++) {
                if (left >= p->us)
                        n += (size_t)snprintf(buf + n, QUANTITY_MAX - n, "%" PRIu64 "%s", left / p->us, p->unit);
                left %= p->us;
        }
        return buf;
}

char *size_format(uint64_t bytes, char *buf)
{
        static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        size_t i = 0;
        unsigned __int128 tenths = (unsigned __int128)bytes * 10;

        /* 1023.95 of a unit would round to 1024.0: that is 1 of the next */
        while (i + 1 < ARRAY_LEN(names) && (i ? (tenths + (UINT64_C(1) << (10 * i - 1))) >> (10 * i) : tenths) >= 10240)
                i++;
        if (i)
                tenths = (tenths + (UINT64_C(1) << (10 * i - 1))) >> (10 * i);
        if (tenths % 10 == 0)
                (void)snprintf(buf, QUANTITY_MAX, "%" PRIu64 "%s", (uint64_t)(tenths / 10), names[i]);
        else
                (void)snprintf(buf, QUANTITY_MAX, "%" PRIu64 ".%u%s", (uint64_t)(tenths / 10),
                        (unsigned int)(tenths % 10), names[i]);
        return buf;
}

/* value / 10^decimals with at least `least` of them; returns the length. */
static size_t format_decimal(char *buf, size_t n, int64_t value, int decimals, int least)
{
        uint64_t v = magnitude(value), scale = 1;
        int r;

        for (; decimals > least && v % 10 == 0; decimals--)
                v /= 10;
        for (int i = 0; i < decimals; i++)
                scale *= 10;
        if (decimals == 0)
                r = snprintf(buf, n, "%s%" PRIu64, value < 0 ? "-" : "", v);
        else
                r = snprintf(buf, n, "%s%" PRIu64 ".%0*" PRIu64, value < 0 ? "-" : "", v / scale, decimals, v % scale);
        return (size_t)r;
}

char *cpu_format(int32_t milli, char *buf)
{
        (void)format_decimal(buf, QUANTITY_MAX, milli, 3, 0);
        return buf;
}

char *money_format(const struct money *m, char *buf)
{
        size_t n = format_decimal(buf, QUANTITY_MAX, m->nano, 9, 2);

        if (m->currency[0])
                (void)snprintf(buf + n, QUANTITY_MAX - n, " %.3s", m->currency);
        return buf;
}

char *rate_format(const struct money *hour, char *buf)
{
        size_t n = strlen(money_format(hour, buf));

        memcpy(buf + n, "/h", 3);
        return buf;
}
