/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's arithmetic, at each boundary. */
#include "ledger_common.h"

static const struct {
        const char *name;
        int64_t price, us, want;
        int code;
} costs[] = {
        { "no time costs nothing", UNIT, 0, 0, 0 },
        { "a free machine costs nothing", 0, HOUR, 0, 0 },
        { "an hour costs the price", 350000001, HOUR, 350000001, 0 },
        { "1 us of the smallest price is rounded up to 1 nano", 1, 1, 1, 0 },
        { "1 us less than an hour at 1 nano is 1 nano", 1, HOUR - 1, 1, 0 },
        { "an hour at 1 nano is 1 nano", 1, HOUR, 1, 0 },
        { "1 us more is 2 nano", 1, HOUR + 1, 2, 0 },
        { "1 nano a us, exactly", 3600000000, 7, 7, 0 },
        { "the greatest price for an hour just fits", INT64_MAX, HOUR, INT64_MAX, 0 },
        { "... and 1 us more is a named error, never a wrap", INT64_MAX, HOUR + 1, 0, PD_E_INVALID },
        { "the greatest time at the greatest price is one too", INT64_MAX, INT64_MAX, 0, PD_E_INVALID },
        { "a negative price is refused", -1, 1, 0, PD_E_INVALID },
        { "a negative time is refused", 1, -1, 0, PD_E_INVALID },
};

static void cost_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
                int64_t got = 0;
                int r = ledger_cost(costs[i].price, costs[i].us, &got, NULL);

                tap_ok(r == -costs[i].code && got == costs[i].want, "%s", costs[i].name);
        }
}

static void overflow_named(void)
{
        struct pd_error err;
        int64_t got;

        (void)ledger_cost(INT64_MAX, HOUR + 1, &got, &err);
        tap_str(err.subject, "overflow", "an overflow is named");
        tap_has(err.text, "more than can be counted", "... and said in a sentence");
}

static const struct {
        const char *name;
        int64_t nano, price, want;
} times[] = {
        { "an hour for the price", UNIT, UNIT, HOUR },
        { "1 nano less buys less than an hour", 3599999999, 3600000000, HOUR - 1 },
        { "less than nothing buys nothing", -1, UNIT, 0 },
        { "a free machine has no end", 0, 0, INT64_MAX },
        { "the greatest amount is bounded", INT64_MAX, 1, INT64_MAX },
};

static const struct {
        const char *name;
        uint64_t bytes;
        int64_t price, want;
        int code;
} sizes[] = {
        { "a GiB costs the price", UINT64_C(1) << 30, 90000000, 90000000, 0 },
        { "a byte is rounded up", 1, 1, 1, 0 },
        { "a byte more than a GiB too", (UINT64_C(1) << 30) + 1, 1, 2, 0 },
        { "no bytes cost nothing", 0, UNIT, 0, 0 },
        { "16 EiB at the greatest price is a named error", UINT64_MAX, INT64_MAX, 0, PD_E_INVALID },
        { "a negative price is refused", 1, -1, 0, PD_E_INVALID },
        { "a price of 0 is one", UINT64_MAX, 0, 0, 0 },
        { "the greatest amount fits", UINT64_C(1) << 30, INT64_MAX, INT64_MAX, 0 },
        { "a byte more does not", (UINT64_C(1) << 30) + 1, INT64_MAX, 0, PD_E_INVALID },
};

static void time_and_size_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(times); i++)
                tap_int(ledger_time_for(times[i].nano, times[i].price), times[i].want, times[i].name);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                int64_t got = 0;
                int r = ledger_per_gib(sizes[i].bytes, sizes[i].price, &got, NULL);

                tap_ok(r == -sizes[i].code && got == sizes[i].want, "per GiB: %s", sizes[i].name);
        }
}

static const struct {
        const char *name;
        int64_t nano;
        size_t n;
        int64_t weight[4], want[4];
        int code;
} splits[] = {
        { "thirds: the nano that is left goes to the first", 10, 3, { 1, 1, 1 }, { 4, 3, 3 }, 0 },
        { "two are left: the first two", 11, 3, { 1, 1, 1 }, { 4, 4, 3 }, 0 },
        { "the largest remainder gets it, wherever it is", 10, 3, { 3, 3, 4 }, { 3, 3, 4 }, 0 },
        { "... here it is the last", 1, 3, { 1, 1, 2 }, { 0, 0, 1 }, 0 },
        { "greater ones first, then the earlier of equals", 8, 4, { 3, 3, 3, 5 }, { 2, 2, 1, 3 }, 0 },
        { "a part without weight gets nothing", 5, 3, { 0, 1, 0 }, { 0, 5, 0 }, 0 },
        { "nothing is split into nothings", 0, 2, { 1, 2 }, { 0, 0 }, 0 },
        { "the greatest amount and weights do not wrap", INT64_MAX, 2, { INT64_MAX - 1, 1 }, { INT64_MAX - 1, 1 }, 0 },
        { "no weight at all is refused", 1, 2, { 0, 0 }, { 0 }, PD_E_INVALID },
        { "no part at all is refused", 1, 0, { 0 }, { 0 }, PD_E_INVALID },
        { "a negative weight is refused", 1, 2, { 2, -1 }, { 0 }, PD_E_INVALID },
        { "a negative amount is refused", -1, 2, { 1, 1 }, { 0 }, PD_E_INVALID },
        { "weights that do not fit are a named error", 1, 2, { INT64_MAX, 1 }, { 0 }, PD_E_INVALID },
};

static void split_rows(void)
{
        for (size_t i = 0; i < ARRAY_LEN(splits); i++) {
                int64_t got[4] = { 0 };
                int r = ledger_split(splits[i].nano, splits[i].weight, splits[i].n, got, NULL);

                tap_ok(r == -splits[i].code && memcmp(got, splits[i].want, sizeof got) == 0, "split: %s",
                        splits[i].name);
        }
}

static void hour_rows(void)
{
        int64_t us[4], nano[4];

        tap_int((long long)ledger_hours_n(T0, T0 + HOUR), 1, "a whole hour is one hour of the bill");
        tap_int((long long)ledger_hours_n(T0, T0 + HOUR + 1), 2, "1 us more touches the next");
        tap_int((long long)ledger_hours_n(T0 + 1, T0 + HOUR), 1, "1 us less does not");
        tap_int((long long)ledger_hours_n(T0, T0), 0, "no time touches no hour");
        tap_int((long long)ledger_hours_n(-1, T0), 0, "nor does a time before all time");
        tap_ok(ledger_hours(T0 + 30 * MIN, T0 + 2 * HOUR + 1, 5, us, nano, NULL) == 0 && us[0] == 30 * MIN &&
                        us[1] == HOUR && us[2] == 1 && nano[0] + nano[1] + nano[2] == 5 && nano[1] == 3 && nano[0] == 2,
                "a segment's hours add up to its amount (largest remainder)");
        tap_int(ledger_hours(T0, T0, 5, us, nano, NULL), -PD_E_INVALID, "an amount without a time is refused");
        tap_ok(ledger_hours(INT64_MAX - 2, INT64_MAX, 2, us, nano, NULL) == 0 && us[0] == 2 && nano[0] == 2,
                "the last hour that can be counted is one");
}

int main(void)
{
        cost_rows();
        overflow_named();
        time_and_size_rows();
        split_rows();
        hour_rows();
        return tap_done();
}
