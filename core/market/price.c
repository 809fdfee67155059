/* SPDX-License-Identifier: Apache-2.0 */
#include "market/market.h"

typedef __int128 wide;

enum market_fault market_judge(const struct market_price *p, int64_t now_wall_us)
{
        if (p->hour.currency[0] == '\0' || p->at_wall_us == 0)
                return MARKET_MISSING;
        if (p->hour.nano < 0)
                return MARKET_NEGATIVE;
        if (p->hour.nano == 0 && p->paid)
                return MARKET_FREE;
        if (p->at_wall_us > now_wall_us)
                return MARKET_FUTURE;
        if (now_wall_us - p->at_wall_us > p->max_age_us)
                return MARKET_STALE;
        if (p->low_nano_hour != 0 && p->hour.nano < p->low_nano_hour)
                return MARKET_LOW;
        return p->high_nano_hour != 0 && p->hour.nano > p->high_nano_hour ? MARKET_HIGH : MARKET_FIT;
}

static int64_t held(wide v)
{
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

void market_band(struct market_price *p, int64_t reference_nano_hour, int32_t low_percent, int32_t high_percent)
{
        p->low_nano_hour = held(((wide)reference_nano_hour * low_percent + 99) / 100);
        p->high_nano_hour = held((wide)reference_nano_hour * high_percent / 100);
}

static bool in_date(const struct market_rate *r, int64_t max_age_us, int64_t now_wall_us)
{
        return r->nano > 0 && r->at_wall_us != 0 && r->at_wall_us <= now_wall_us &&
               now_wall_us - r->at_wall_us <= max_age_us;
}

static bool leads(const struct market_rate *r, const char *from, const char *to)
{
        return streq(r->from, from) && streq(r->to, to);
}

/* nano x by / over, rounded up. */
static int64_t scaled(int64_t nano, int64_t by, int64_t over)
{
        return held(((wide)nano * by + over - 1) / over);
}

static int refused(const struct money *m, const char *to, const struct market_rate *old, struct pd_error *err)
{
        char at[QUANTITY_MAX];

        if (!old)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "%.3s and %.3s are not compared: the site config gives no dated rate between them", m->currency,
                        to);
        return pd_fail(err, PD_E_NOT_FOUND,
                "%.3s and %.3s are not compared: the rate of %s is not in date; give a newer one in the site config",
                m->currency, to, time_format_utc(old->at_wall_us, at));
}

int market_convert(const struct money *m, const char *to, const struct market_rates *t, int64_t now_wall_us,
        struct money *ret, struct pd_error *err)
{
        const struct market_rate *old = NULL;
        struct money v = { .nano = m->nano };

        (void)str_format(v.currency, sizeof v.currency, "%.3s", to);
        if (m->nano == 0 || streq(m->currency, to)) {
                *ret = v;
                return 0;
        }
        for (size_t i = 0; t && i < t->n; i++) {
                const struct market_rate *r = &t->rates[i];
                bool there = leads(r, m->currency, to), back = leads(r, to, m->currency);

                if (!there && !back)
                        continue;
                if (in_date(r, t->max_age_us, now_wall_us)) {
                        v.nano = there ? scaled(m->nano, r->nano, NANO) : scaled(m->nano, NANO, r->nano);
                        *ret = v;
                        return 0;
                }
                if (r->at_wall_us != 0)
                        old = r;
        }
        return refused(m, to, old, err);
}
