/* SPDX-License-Identifier: Apache-2.0 */
/* What is posted on a hold: time by segments, what it costs besides, the end, and the provider's own bill. */
#include "ledger/internal.h"

/* Time of a period that has ended may not be booked on it: the caller begins the next one first. */
static int period_open(const struct ledger *l, const struct ledger_hold *h, int64_t at_wall_us, struct pd_error *err)
{
        char end[QUANTITY_MAX];

        for (size_t i = 0; i < LEDGER_SCOPE_N; i++) {
                const struct ledger_account *a = ledger_account_at(l, h->account[i]);

                if (a && at_wall_us > a->until_wall_us)
                        return pd_fail(err, PD_E_CONFLICT,
                                "the period of \"%.64s\" ended at %s: begin the next one before posting beyond it",
                                a->key, time_format_utc(a->until_wall_us, end));
        }
        return 0;
}

/* The line for the time up to `until` (not before the segment's start), and the hold as it is after it. */
static int time_line(const struct ledger_hold *h, int64_t until_wall_us, struct ledger_hold *next,
        struct ledger_line *line, struct pd_error *err)
{
        int64_t cost;
        wide sum;
        int r = ledger_cost(h->price_nano_hour, until_wall_us - h->segment_wall_us, &cost, err);

        if (r < 0)
                return r;
        sum = (wide)h->time_nano - h->segment_nano + cost;
        if (sum + h->other_nano > INT64_MAX)
                return fail_overflow(err, "the bill of that machine");
        *line = (struct ledger_line){ .kind = LEDGER_TIME,
                .from_wall_us = h->until_wall_us,
                .until_wall_us = until_wall_us,
                .price_nano_hour = h->price_nano_hour,
                .us = until_wall_us - h->until_wall_us,
                .nano = cost - h->segment_nano };
        next->until_wall_us = until_wall_us;
        next->segment_nano = cost;
        next->time_nano = (int64_t)sum;
        return 0;
}

int ledger_post(
        struct ledger *l, uint32_t hold, int64_t until_wall_us, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h, next;
        struct ledger_line line;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        if (r < 0 || until_wall_us <= h->until_wall_us)
                return r;
        next = *h;
        r = period_open(l, h, until_wall_us, err);
        r = r < 0 ? r : time_line(h, until_wall_us, &next, &line, err);
        return r < 0 ? r : book(l, &next, &line, 1, change, err);
}

/* A new segment; above the ceiling, the worst case grows: a fact. */
static int segment_begin(struct ledger_hold *next, int64_t price_nano_hour, struct pd_error *err)
{
        int64_t worst = next->worst_nano;

        next->segment_wall_us = next->until_wall_us;
        next->segment_nano = 0;
        next->price_nano_hour = price_nano_hour;
        if (price_nano_hour <= next->ceiling_nano_hour)
                return 0;
        next->ceiling_nano_hour = price_nano_hour;
        if (!worst_of(next, &next->worst_nano))
                return fail_overflow(err, "the worst case of that machine");
        if (next->worst_nano < worst)
                next->worst_nano = worst;
        return 0;
}

int ledger_price(struct ledger *l, uint32_t hold, int64_t at_wall_us, int64_t price_nano_hour,
        struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h, next;
        struct ledger_line line;
        bool posts;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        if (r < 0)
                return r;
        if (price_nano_hour < 0)
                return pd_fail(err, PD_E_INVALID, "a price cannot be negative");
        posts = at_wall_us > h->until_wall_us;
        next = *h;
        r = period_open(l, h, at_wall_us, err);
        if (r >= 0 && posts)
                r = time_line(h, at_wall_us, &next, &line, err);
        if (r >= 0 && price_nano_hour != h->price_nano_hour)
                r = segment_begin(&next, price_nano_hour, err);
        return r < 0 ? r : book(l, &next, &line, posts, change, err);
}

int ledger_post_flat(struct ledger *l, uint32_t hold, enum ledger_line_kind kind, int64_t at_wall_us, int64_t nano,
        struct ledger_change *change, struct pd_error *err)
{
        struct ledger_line line = {
                .kind = kind, .from_wall_us = at_wall_us, .until_wall_us = at_wall_us, .nano = nano
        };
        struct ledger_change unused;
        struct ledger_hold *h, next;
        int r;

        change = change_begin(change, &unused);
        if ((kind != LEDGER_SAVE && kind != LEDGER_EGRESS) || nano < 0)
                return pd_fail(err, PD_E_INVALID, "what is posted besides time is a save or egress, of 0 or more");
        r = open_hold(l, hold, &h, err);
        r = r < 0 ? r : period_open(l, h, at_wall_us, err);
        if (r < 0)
                return r;
        if ((wide)h->time_nano + h->other_nano + nano > INT64_MAX)
                return fail_overflow(err, "the bill of that machine");
        next = *h;
        next.other_nano += nano;
        return book(l, &next, &line, 1, change, err);
}

/* Minimum billing and the step, at the last price. *ret_n counts the line, where there is one. */
static int rounding_line(struct ledger_hold *next, struct ledger_line *line, size_t *ret_n, struct pd_error *err)
{
        wide lived = next->until_wall_us - next->from_wall_us;
        wide extra = billed_us(next, lived) - lived;
        wide us = extra + next->until_wall_us - next->segment_wall_us;
        wide cost = (us * next->price_nano_hour + HOUR - 1) / HOUR;

        if (extra == 0)
                return 0;
        if ((wide)next->time_nano - next->segment_nano + cost + next->other_nano > INT64_MAX)
                return fail_overflow(err, "the bill of that machine");
        *line = (struct ledger_line){ .kind = LEDGER_ROUNDING,
                .from_wall_us = next->until_wall_us,
                .until_wall_us = next->until_wall_us,
                .price_nano_hour = next->price_nano_hour,
                .us = (int64_t)extra,
                .nano = (int64_t)(cost - next->segment_nano) };
        next->time_nano += line->nano;
        next->segment_nano += line->nano;
        ++*ret_n;
        return 0;
}

int ledger_release(
        struct ledger *l, uint32_t hold, int64_t end_wall_us, struct ledger_change *change, struct pd_error *err)
{
        struct ledger_change unused;
        struct ledger_hold *h, next;
        struct ledger_line lines[2];
        size_t n = 0;
        int r;

        change = change_begin(change, &unused);
        r = open_hold(l, hold, &h, err);
        r = r < 0 ? r : period_open(l, h, end_wall_us, err);
        if (r < 0)
                return r;
        next = *h;
        if (end_wall_us < h->segment_wall_us)
                end_wall_us = h->segment_wall_us;
        if (end_wall_us != h->until_wall_us) {
                r = time_line(h, end_wall_us, &next, &lines[n], err);
                n++;
        }
        r = r < 0 ? r : rounding_line(&next, &lines[n], &n, err);
        next.state = LEDGER_CLOSED;
        return r < 0 ? r : book(l, &next, lines, n, change, err);
}

int ledger_correct(
        struct ledger *l, uint32_t hold, int64_t bill_nano, struct ledger_change *change, struct pd_error *err)
{
        const struct ledger_hold *h = ledger_hold_at(l, hold);
        struct ledger_change unused;
        struct ledger_line line;
        struct ledger_hold next;

        change = change_begin(change, &unused);
        if (!h)
                return fail_hold(err, hold);
        if (h->state != LEDGER_CLOSED)
                return pd_fail(err, PD_E_CONFLICT,
                        "reservation %u is open: its bill can be corrected once it is released", (unsigned)hold);
        if (bill_nano < 0)
                return pd_fail(err, PD_E_INVALID, "a bill cannot be negative");
        line = (struct ledger_line){ .kind = LEDGER_CORRECTION,
                .from_wall_us = h->from_wall_us,
                .until_wall_us = h->until_wall_us,
                .nano = bill_nano - (h->time_nano + h->other_nano) };
        next = *h;
        next.other_nano += line.nano;
        return book(l, &next, &line, line.nano != 0, change, err);
}
