/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include "tap.h"

/* The quantity kinds behind one face, so that one table holds good and bad values of all. */
enum what { DURATION, SIZE, CPU, PERCENT, MONEY, RATE };

static int parse(enum what what, const char *text, int64_t *ret, char *ret_text, struct pd_error *err)
{
        struct money m = { 0 };
        uint64_t bytes = 0;
        int32_t n = 0;
        int r = 0;

        switch (what) {
        case DURATION:
                r = duration_parse(text, ret, err);
                return r < 0 ? r : (duration_format(*ret, ret_text), 0);
        case SIZE:
                r = size_parse(text, &bytes, err);
                *ret = (int64_t)bytes;
                return r < 0 ? r : (size_format(bytes, ret_text), 0);
        case CPU:
                r = cpu_parse(text, &n, err);
                *ret = n;
                return r < 0 ? r : (cpu_format(n, ret_text), 0);
        case PERCENT:
                r = percent_parse(text, &n, err);
                *ret = n;
                (void)strcpy(ret_text, "");
                return r;
        case MONEY:
                r = money_parse(text, &m, err);
                *ret = m.nano;
                return r < 0 ? r : (money_format(&m, ret_text), 0);
        case RATE:
                r = rate_parse(text, &m, err);
                *ret = m.nano;
                return r < 0 ? r : (rate_format(&m, ret_text), 0);
        }
        return r;
}

static const struct {
        enum what what;
        const char *text;
        int64_t want;
        const char *shown;
} good[] = {
        { DURATION, "0s", 0, "0s" },
        { DURATION, "1us", 1, "1us" },
        { DURATION, "250ms", 250000, "250ms" },
        { DURATION, "90s", 90 * USEC_PER_SEC, "90s" },
        { DURATION, "60s", USEC_PER_MIN, "1m" },
        { DURATION, "120s", 2 * USEC_PER_MIN, "2m" },
        { DURATION, "45m", 45 * USEC_PER_MIN, "45m" },
        { DURATION, "1.5h", 90 * USEC_PER_MIN, "1h30m" },
        { DURATION, "1h30m", 90 * USEC_PER_MIN, "1h30m" },
        { DURATION, "1h 30m", 90 * USEC_PER_MIN, "1h30m" },
        { DURATION, "72h", 72 * USEC_PER_HOUR, "72h" },
        { DURATION, "3d", 72 * USEC_PER_HOUR, "72h" },
        { DURATION, "7d", 7 * USEC_PER_DAY, "7d" },
        { DURATION, "2w", 14 * USEC_PER_DAY, "14d" },
        { DURATION, "7d1h", 7 * USEC_PER_DAY + USEC_PER_HOUR, "169h" },
        { DURATION, "1s500ms", 1500000, "1s500ms" },
        { DURATION, "61.5s", 61500000, "1m1s500ms" },
        { DURATION, "0.000001s", 1, "1us" },
        { DURATION, "1.50000000h", 90 * USEC_PER_MIN, "1h30m" },
        { DURATION, "9223372036854775807us", INT64_MAX, "2562047788h54s775ms807us" },
        { SIZE, "0B", 0, "0B" },
        { SIZE, "1023B", 1023, "1023B" },
        { SIZE, "1KB", 1000, "1000B" },
        { SIZE, "1KiB", 1024, "1KiB" },
        { SIZE, "1.5KiB", 1536, "1.5KiB" },
        { SIZE, "16 GiB", INT64_C(16) << 30, "16GiB" },
        { SIZE, "1048575B", 1048575, "1MiB" },
        { SIZE, "1.5TiB", INT64_C(3) << 39, "1.5TiB" },
        { SIZE, "2TB", INT64_C(2000000000000), "1.8TiB" },
        { SIZE, "18446744073709551615B", -1, "16777216TiB" },
        { CPU, "2", 2000, "2" },
        { CPU, "0.5", 500, "0.5" },
        { CPU, "500m", 500, "0.5" },
        { CPU, "250m", 250, "0.25" },
        { CPU, "1core", 1000, "1" },
        { CPU, "1.5 cores", 1500, "1.5" },
        { CPU, "2147483.647", INT32_MAX, "2147483.647" },
        { PERCENT, "0%", 0, "" },
        { PERCENT, "20%", 2000, "" },
        { PERCENT, "0.01%", 1, "" },
        { PERCENT, "100%", 10000, "" },
        { MONEY, "20usd", 20 * NANO, "20.00 USD" },
        { MONEY, "20.50 USD", 20 * NANO + NANO / 2, "20.50 USD" },
        { MONEY, "EUR 3", 3 * NANO, "3.00 EUR" },
        { MONEY, "eur0.000000001", 1, "0.000000001 EUR" },
        { MONEY, "0.123usd", 123000000, "0.123 USD" },
        { MONEY, "9223372036.854775807usd", INT64_MAX, "9223372036.854775807 USD" },
        { RATE, "0.35usd/h", 350000000, "0.35 USD/h" },
        { RATE, "USD 2/h", 2 * NANO, "2.00 USD/h" },
        { RATE, "0eur/h", 0, "0.00 EUR/h" },
};

/* What a refusal must say besides the value itself. */
static const struct {
        enum what what;
        const char *text, *says, *fix;
} bad[] = {
        { DURATION, "72", "has no unit", "write 72h" },
        { DURATION, "", "is not a duration", "72h" },
        { DURATION, "h", "is not a duration", "72h" },
        { DURATION, " 5h", "is not a duration", "72h" },
        { DURATION, "-5h", "is negative", "72h" },
        { DURATION, "+5h", "is not a duration", "72h" },
        { DURATION, "1e400", "has an exponent", "72h" },
        { DURATION, "1e-3h", "has an exponent", "72h" },
        { DURATION, "inf", "is not a duration", "72h" },
        { DURATION, "5x", "has the unit \"x\"", "us, ms, s, m, h, d or w" },
        { DURATION, "5H", "has the unit \"H\"", "us, ms, s, m, h, d or w" },
        { DURATION, "1m30h", "\"h\" behind \"m\"", "1h30m" },
        { DURATION, "1h1h", "\"h\" behind \"h\"", "1h30m" },
        { DURATION, "0.0000001s", "no whole number of microseconds", "72h" },
        { DURATION, "1.", "has the unit \".\"", "72h" },
        { DURATION, "9223372036854775808us", "is too long", "15250284w" },
        { DURATION, "15250284w7d", "is too long", "15250284w" },
        { DURATION, "15250285w", "is too long", "15250284w" },
        { DURATION, "99999999999999999999999999999999999999999h", "has too many digits", "72h" },
        { DURATION, "5h\nrm", "\"5h?rm\"", "72h" },
        { SIZE, "16", "has no unit", "write 16GiB" },
        { SIZE, "16gb", "has the unit \"gb\"", "GB, GiB" },
        { SIZE, "0.1GiB", "no whole number of bytes", "16GiB" },
        { SIZE, "18446744073709551616B", "is too large", "16GiB" },
        { SIZE, "1GiB1MiB", "behind the unit", "16GiB" },
        { SIZE, "-1B", "is negative", "16GiB" },
        { SIZE, "1e9B", "has an exponent", "16GiB" },
        { CPU, "0", "no CPU at all", "500m" },
        { CPU, "0m", "no CPU at all", "500m" },
        { CPU, "0.0001", "no whole number of thousandth", "500m" },
        { CPU, "0.5m", "no whole number of thousandth", "500m" },
        { CPU, "2147483.648", "is too large", "500m" },
        { CPU, "-1", "is negative", "500m" },
        { CPU, "2 gpus", "has the unit", "m, cores or core" },
        { PERCENT, "20", "has no unit", "write 20%" },
        { PERCENT, "100.01%", "is above 100%", "0% to 100%" },
        { PERCENT, "0.001%", "no whole number of hundredth", "20%" },
        { PERCENT, "20%%", "has the unit", "20%" },
        { MONEY, "20", "has no currency", "20usd" },
        { MONEY, "20dollars", "has the currency \"dollars\"", "three letters" },
        { MONEY, "$20", "is not an amount", "20usd" },
        { MONEY, "20us", "has the currency \"us\"", "three letters" },
        { MONEY, "-1usd", "is negative", "20usd" },
        { MONEY, "0.0000000001usd", "more than 9 decimals", "20usd" },
        { MONEY, "9223372036.854775808usd", "is too large", "9223372036" },
        { MONEY, "1e400usd", "has an exponent", "20usd" },
        { MONEY, "20usd/h", "ends in \"/h\"", "20usd" },
        { MONEY, "20usdeur", "has the currency", "three letters" },
        { RATE, "0.35usd", "has no time", "0.35usd/h" },
        { RATE, "0.35/h", "has no currency", "0.35usd/h" },
        { RATE, "0.35usd/d", "ends in \"/d\"", "0.35usd/h" },
        { RATE, "0.35usd/hour", "ends in \"/hour\"", "0.35usd/h" },
};

static void test_good(void)
{
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                char shown[QUANTITY_MAX] = "";
                struct pd_error err = { 0 };
                int64_t got = -2;
                int r = parse(good[i].what, good[i].text, &got, shown, &err);

                if (!tap_ok(r == 0 && got == good[i].want && streq(shown, good[i].shown),
                            "\"%s\" reads as %lld and shows as \"%s\"", good[i].text, (long long)good[i].want,
                            good[i].shown))
                        tap_note("r %d, got %lld, shown \"%s\", %s", r, (long long)got, shown, err.text);
        }
}

static void test_bad(void)
{
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                char shown[QUANTITY_MAX] = "";
                struct pd_error err = { 0 };
                int64_t got = -2;
                int r = parse(bad[i].what, bad[i].text, &got, shown, &err);
                bool named = strstr(err.text, bad[i].says) && strstr(err.text, bad[i].fix);

                if (!strchr(bad[i].text, '\n'))
                        named = named && strncmp(err.text + 1, bad[i].text,
                                                 strlen(bad[i].text) < 30 ? strlen(bad[i].text) : 30) == 0;
                if (!tap_ok(r == -PD_E_INVALID && named, "\"%s\" is refused with its value, the rule and an example",
                            bad[i].what == DURATION && strchr(bad[i].text, '\n') ? "a newline" : bad[i].text))
                        tap_note("r %d: %s", r, err.text);
        }
}

/* Whatever a duration is, what is shown of it reads back as the same. */
static void test_round_trips(void)
{
        uint64_t x = 88172645463325252u;
        size_t wrong = 0;

        for (int i = 0; i < 20000; i++) {
                char buf[QUANTITY_MAX];
                int64_t us, back = -1;
                struct money m, again;

                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                us = (int64_t)(x >> (1 + x % 62));
                wrong += duration_parse(duration_format(us, buf), &back, NULL) < 0 || back != us;
                m = (struct money){ us, "EUR" };
                wrong += money_parse(money_format(&m, buf), &again, NULL) < 0 || again.nano != us;
                wrong += rate_parse(rate_format(&m, buf), &again, NULL) < 0 || again.nano != us;
        }
        tap_int((long long)wrong, 0, "20000 random durations, amounts and rates read back as they are shown");
}

static void test_negative_shown(void)
{
        char buf[QUANTITY_MAX];
        struct money m = { -350000000, "USD" };

        tap_str(money_format(&m, buf), "-0.35 USD", "a correction below 0 is shown with its sign");
        m = (struct money){ INT64_MIN, "" };
        tap_str(money_format(&m, buf), "-9223372036.854775808", "the least amount is shown exactly");
        tap_str(duration_format(-90 * USEC_PER_SEC, buf), "-90s", "a span below 0 is shown with its sign");
        tap_str(duration_format(INT64_MIN, buf), "-2562047788h54s775ms808us", "the least span is shown exactly");
}

static void test_cost(void)
{
        static const struct {
                const char *name;
                int64_t price, us, want;
        } rows[] = {
                { "nothing costs nothing", 0, INT64_MAX, 0 },
                { "no time costs nothing", NANO, 0, 0 },
                { "an hour costs the price", 350000000, USEC_PER_HOUR, 350000000 },
                { "a microsecond at the smallest price is rounded up", 1, 1, 1 },
                { "an hour at the smallest price is not", 1, USEC_PER_HOUR, 1 },
                { "a microsecond more is", 1, USEC_PER_HOUR + 1, 2 },
                { "a third is rounded up", 1000, USEC_PER_HOUR / 3, 334 },
                { "a product past 64 bits stays exact", 100 * NANO, 720 * USEC_PER_HOUR, 72000 * NANO },
                { "what does not fit saturates", INT64_MAX, INT64_MAX, INT64_MAX },
                { "the largest that fits is exact", INT64_MAX, USEC_PER_HOUR, INT64_MAX },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                tap_int(money_cost(rows[i].price, rows[i].us), rows[i].want, rows[i].name);
}

static void test_time(void)
{
        static const struct {
                const char *utc;
                int64_t us;
        } rows[] = {
                { "1970-01-01T00:00:00.000000Z", 0 },
                { "1969-12-31T23:59:59.999999Z", -1 },
                { "2000-02-29T12:00:00.000000Z", INT64_C(951825600000000) },
                { "2026-11-30T20:36:24.000001Z", INT64_C(1796070984000001) },
                { "2100-02-28T23:59:59.999999Z", INT64_C(4107542399999999) },
                { "2100-03-01T00:00:00.000000Z", INT64_C(4107542400000000) },
        };
        static const char *const wrong[] = { "", "2026-11-30", "2026-11-30 20:36:24Z", "2026-11-30T20:36:24",
                "2026-11-31T00:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
                "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
                "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00+01:00",
                "2026-01-01T00:00:00Zx", "26-01-01T00:00:00Z" };
        char buf[QUANTITY_MAX];
        struct pd_error err;
        int64_t us = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                tap_str(time_format_utc(rows[i].us, buf), rows[i].utc, rows[i].utc);
                tap_ok(time_parse_utc(rows[i].utc, &us, &err) == 0 && us == rows[i].us, "%s reads back", rows[i].utc);
        }
        tap_ok(time_parse_utc("2026-11-30T20:36:24.5Z", &us, &err) == 0 && us % USEC_PER_SEC == 500000,
                "half a second has one decimal");
        for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
                tap_ok(time_parse_utc(wrong[i], &us, &err) == -PD_E_INVALID && strstr(err.text, wrong[i]) &&
                                strstr(err.text, "2026-11-30T20:36:24Z"),
                        "\"%s\" is no time", wrong[i]);
        tap_str(time_format_local(0, 0, buf), "1970-01-01 00:00:00 +00:00", "local time carries its offset");
        tap_str(time_format_local(0, 19800, buf), "1970-01-01 05:30:00 +05:30", "an offset may be half hours");
        tap_str(time_format_local(0, -12600, buf), "1969-12-31 20:30:00 -03:30", "an offset may lie behind");
        tap_str(time_format_utc(INT64_MAX, buf), "294247-01-10T04:00:54.775807Z", "the last time is shown");
        tap_str(time_format_utc(INT64_MIN, buf), "-290308-12-21T19:59:05.224192Z", "the first time is shown");
        tap_ok(strlen(time_format_local(INT64_MAX, 86399, buf)) < QUANTITY_MAX,
                "the last local time does not overflow");
}

int main(void)
{
        test_good();
        test_bad();
        test_round_trips();
        test_negative_shown();
        test_cost();
        test_time();
        return tap_done();
}
