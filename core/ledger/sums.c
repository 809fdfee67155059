/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic: products in 128 bits, rounding up, and splitting so that nothing is lost. */
#include "ledger/internal.h"

int fail_overflow(struct pd_error *err, const char *what)
{
        (void)pd_fail(err, PD_E_INVALID,
                "%s is more than can be counted (9.2e18 billionths): check the price and the time", what);
        return err ? pd_fail_subject(err, "overflow") : -(int)PD_E_INVALID;
}

wide at_most(wide value, wide limit)
{
        return value < limit ? value : limit;
}

int ledger_cost(int64_t price_nano_hour, int64_t us, int64_t *ret_nano, struct pd_error *err)
{
        wide cost = ((wide)price_nano_hour * us + HOUR - 1) / HOUR;

        if (price_nano_hour < 0 || us < 0)
                return pd_fail(err, PD_E_INVALID, "a price and a time to pay for cannot be negative");
        if (cost > INT64_MAX)
                return fail_overflow(err, "the cost of that time");
        *ret_nano = (int64_t)cost;
        return 0;
}

int64_t ledger_time_for(int64_t nano, int64_t price_nano_hour)
{
        if (nano < 0)
                return 0;
        if (price_nano_hour <= 0)
                return INT64_MAX;
        return (int64_t)at_most((wide)nano * HOUR / price_nano_hour, INT64_MAX);
}

int ledger_per_gib(uint64_t bytes, int64_t nano_gib, int64_t *ret_nano, struct pd_error *err)
{
        const uint64_t gib = UINT64_C(1) << 30;
        unsigned __int128 nano;

        if (nano_gib < 0)
                return pd_fail(err, PD_E_INVALID, "a price per GiB cannot be negative");
        nano = ((unsigned __int128)bytes * (uint64_t)nano_gib + gib - 1) / gib;
        if (nano > INT64_MAX)
                return fail_overflow(err, "the cost of that many bytes");
        *ret_nano = (int64_t)nano;
        return 0;
}

wide billed_us(const struct ledger_hold *h, wide us)
{
        if (h->step_us > 0)
                us = (us + h->step_us - 1) / h->step_us * h->step_us;
        return us > h->minimum_us ? us : h->minimum_us;
}

/* Each posting so far rounded up for itself, and so may each later price change: ceil(a) + ceil(b) >= ceil(a + b), by at most one nano. */
bool worst_of(const struct ledger_hold *h, int64_t *ret)
{
        wide whole = billed_us(h, (wide)h->stop_wall_us + h->lag_us - h->from_wall_us);
        wide rest = whole - (h->until_wall_us - h->from_wall_us);
        wide sum = (wide)h->time_nano + h->price_changes;

        sum += h->other_nano > h->flat_worst_nano ? h->other_nano : h->flat_worst_nano;
        if (rest > 0)
                sum += (rest * h->ceiling_nano_hour + HOUR - 1) / HOUR;
        if (sum > INT64_MAX)
                return false;
        *ret = (int64_t)sum;
        return true;
}

/* --- largest remainder --- */
struct share {
        int64_t nano, total;
        const int64_t *weight;
        size_t n;
};

static int64_t share_floor(const struct share *s, size_t i)
{
        return (int64_t)((wide)s->nano * s->weight[i] / s->total);
}

static int64_t share_remainder(const struct share *s, size_t i)
{
        return (int64_t)((wide)s->nano * s->weight[i] % s->total);
}

static size_t share_at_least(const struct share *s, int64_t remainder)
{
        size_t count = 0;

        for (size_t i = 0; i < s->n; i++)
                count += share_remainder(s, i) >= remainder;
        return count;
}

/* The greatest remainder that at least `left` parts reach: those above it get a nano, and as many of the equal ones as are left. */
static int64_t share_threshold(const struct share *s, size_t left)
{
        int64_t low = 0, high = s->total - 1;

        while (low < high) {
                int64_t mid = low + (high - low + 1) / 2;

                if (share_at_least(s, mid) >= left)
                        low = mid;
                else
                        high = mid - 1;
        }
        return low;
}

static int share_total(const int64_t *weight, size_t n, int64_t *ret, struct pd_error *err)
{
        wide total = 0;

        for (size_t i = 0; i < n; i++) {
                if (weight[i] < 0)
                        return pd_fail(err, PD_E_INVALID, "a part of an amount cannot have a negative weight");
                total += weight[i];
        }
        if (total == 0)
                return pd_fail(err, PD_E_INVALID, "an amount cannot be split over no time");
        if (total > INT64_MAX)
                return fail_overflow(err, "the sum of the weights");
        *ret = (int64_t)total;
        return 0;
}

int ledger_split(int64_t nano, const int64_t *weight, size_t n, int64_t *ret, struct pd_error *err)
{
        struct share s = { .nano = nano < 0 ? 0 : nano, .total = 1, .weight = weight, .n = n };
        int64_t left = s.nano, threshold;
        size_t equal;
        int r = share_total(weight, n, &s.total, err);

        if (r < 0)
                return r;
        if (nano < 0)
                return pd_fail(err, PD_E_INVALID,
                        "an amount to split cannot be negative: split what it takes back, and subtract");
        for (size_t i = 0; i < n; i++)
                left -= share_floor(&s, i);
        threshold = share_threshold(&s, (size_t)left);
        equal = (size_t)left - share_at_least(&s, threshold + 1);
        for (size_t i = 0; i < n; i++) {
                int64_t remainder = share_remainder(&s, i);
                bool one = remainder > threshold;

                if (remainder == threshold && equal > 0) {
                        one = true;
                        equal--;
                }
                ret[i] = share_floor(&s, i) + one;
        }
        return 0;
}

size_t ledger_hours_n(int64_t from_wall_us, int64_t until_wall_us)
{
        if (from_wall_us < 0 || until_wall_us <= from_wall_us)
                return 0;
        return (size_t)((until_wall_us - 1) / USEC_PER_HOUR - from_wall_us / USEC_PER_HOUR + 1);
}

int ledger_hours(int64_t from_wall_us, int64_t until_wall_us, int64_t nano, int64_t *ret_us, int64_t *ret_nano,
        struct pd_error *err)
{
        size_t n = ledger_hours_n(from_wall_us, until_wall_us);
        int64_t at = from_wall_us;

        for (size_t i = 0; i < n; i++) {
                int64_t hour = at / USEC_PER_HOUR * USEC_PER_HOUR;
                int64_t end = until_wall_us - hour > USEC_PER_HOUR ? hour + USEC_PER_HOUR : until_wall_us;

                ret_us[i] = end - at;
                at = end;
        }
        return ledger_split(nano, ret_us, n, ret_nano, err);
}
