/* SPDX-License-Identifier: Apache-2.0 */
#include "market/internal.h"

#include <stdio.h>

/* --- what an offer's price is worth now --- */
static enum market_fault fault_of(
        const struct market *k, const struct market_offer *o, int64_t now_wall_us, int64_t *ret_rate)
{
        enum market_fault fault = market_judge(&o->price, now_wall_us);
        struct money here;

        if (fault != MARKET_FIT)
                return fault;
        if (o->not_before_wall_us > now_wall_us)
                return MARKET_OUT;
        if (market_convert(&o->price.hour, k->currency, k->rates, now_wall_us, &here, NULL) < 0)
                return MARKET_RATE;
        *ret_rate = here.nano;
        return MARKET_FIT;
}

static int64_t later(int64_t wall_us, int64_t span_us)
{
        int64_t sum;

        return __builtin_add_overflow(wall_us, span_us, &sum) ? INT64_MAX : sum;
}

static void earlier(int64_t *at, int64_t candidate, int64_t now_wall_us)
{
        if (candidate > now_wall_us && candidate < *at)
                *at = candidate;
}

/* The next instant after now at which the passing of time alone may change the verdict. */
static int64_t change_of(const struct market *k, const struct market_offer *o, int64_t now_wall_us)
{
        int64_t at = INT64_MAX;

        earlier(&at, o->price.at_wall_us, now_wall_us);
        earlier(&at, later(later(o->price.at_wall_us, o->price.max_age_us), 1), now_wall_us);
        earlier(&at, o->not_before_wall_us, now_wall_us);
        if (streq(o->price.hour.currency, k->currency))
                return at;
        for (size_t i = 0; k->rates && i < k->rates->n; i++) {
                earlier(&at, k->rates->rates[i].at_wall_us, now_wall_us);
                earlier(&at, later(later(k->rates->rates[i].at_wall_us, k->rates->max_age_us), 1), now_wall_us);
        }
        return at;
}

static void judge(struct market *k, uint32_t offer, int64_t now_wall_us)
{
        int64_t rate = INT64_MAX;

        (void)fault_of(k, &k->offers[offer], now_wall_us, &rate);
        k->rate[offer] = rate;
        k->change[offer] = change_of(k, &k->offers[offer], now_wall_us);
        if (k->change[offer] < k->change_first)
                k->change_first = k->change[offer];
        market_put_rate(k, offer);
}

void market_set_price(struct market *k, uint32_t offer, const struct market_price *price, int64_t now_wall_us)
{
        k->offers[offer].price = *price;
        judge(k, offer, now_wall_us);
}

void market_leave_out(struct market *k, uint32_t offer, int64_t not_before_wall_us, int64_t now_wall_us)
{
        k->offers[offer].not_before_wall_us = not_before_wall_us;
        judge(k, offer, now_wall_us);
}

void market_set_rates(struct market *k, const struct market_rates *rates, int64_t now_wall_us)
{
        k->rates = rates;
        k->change_first = INT64_MAX;
        for (uint32_t i = 0; i < k->offers_n; i++)
                judge(k, i, now_wall_us);
}

int64_t market_tick(struct market *k, int64_t now_wall_us)
{
        int64_t first = INT64_MAX;

        if (now_wall_us < k->change_first)
                return k->change_first;
        for (uint32_t i = 0; i < k->offers_n; i++) {
                if (k->change[i] <= now_wall_us)
                        judge(k, i, now_wall_us);
                if (k->change[i] < first)
                        first = k->change[i];
        }
        k->change_first = first;
        return first;
}

/* --- its memory --- */
struct market *market_free(struct market *k)
{
        if (k)
                free(k->groups);
        free(k);
        return NULL;
}

int market_new(const char *currency, const struct market_offer *offers, size_t n, uint32_t classes_max,
        const struct market_rates *rates, int64_t now_wall_us, struct market **ret, struct pd_error *err)
{
        size_t words = ((size_t)classes_max + 63) / 64, classes = 64 * words;
        struct market *k;

        if (n > MARKET_OFFERS_MAX)
                return pd_fail(
                        err, PD_E_FULL, "%zu offers are more than the %u that are indexed", n, MARKET_OFFERS_MAX);
        k = calloc(1, sizeof *k +
                              n * (sizeof *k->offers + sizeof *k->rate + sizeof *k->change + words * sizeof *k->fits) +
                              classes * (sizeof *k->best + sizeof *k->classes));
        if (!k)
                return pd_fail(err, PD_E_NOMEM, "no memory for %zu offers", n);
        *k = (struct market){
                .offers_n = (uint32_t)n, .classes_max = classes_max, .words = (uint32_t)words, .rates = rates
        };
        (void)str_format(k->currency, sizeof k->currency, "%.3s", currency);
        k->rate = (int64_t *)(void *)(k + 1);
        k->change = k->rate + n;
        k->fits = (uint64_t *)(void *)(k->change + n);
        k->best = (int64_t *)(void *)(k->fits + n * words);
        k->offers = (struct market_offer *)(void *)(k->best + classes);
        k->classes = (struct class *)(void *)(k->offers + n);
        if (n)
                memcpy(k->offers, offers, n * sizeof *offers);
        market_set_rates(k, rates, now_wall_us);
        *ret = k;
        return 0;
}

/* --- classes --- */
static bool part_matches(const char *asked, const char *have)
{
        return *asked == '\0' || streq(asked, have);
}

static bool is_on(const struct spec_on *on, const struct market_offer *o)
{
        return part_matches(on->connection, o->connection) && part_matches(on->zone, o->zone) &&
               part_matches(on->type, o->type) && (!on->exact || on->spot == (o->market == PD_MARKET_SPOT));
}

static bool fits(const struct class *c, const struct market_offer *o)
{
        const struct market_need *need = &c->need;

        if (o->market == PD_MARKET_SPOT ? need->no_spot : need->no_on_demand)
                return false;
        if (need->cpu_milli > o->cpu_milli || need->gpus > o->gpus || need->memory_bytes > o->memory_bytes)
                return false;
        if (o->disk_bytes != 0 && need->disk_bytes > o->disk_bytes)
                return false;
        return c->anywhere || is_on(&c->on, o);
}

static bool same_class(const struct class *a, const struct class *b)
{
        const struct market_need *x = &a->need, *y = &b->need;

        return x->cpu_milli == y->cpu_milli && x->gpus == y->gpus && x->memory_bytes == y->memory_bytes &&
               x->disk_bytes == y->disk_bytes && x->no_spot == y->no_spot && x->no_on_demand == y->no_on_demand &&
               a->anywhere == b->anywhere && streq(a->on.connection, b->on.connection) &&
               streq(a->on.zone, b->on.zone) && streq(a->on.type, b->on.type) && a->on.spot == b->on.spot;
}

/* The class itself, or the place for it; MARKET_NONE = there is none. */
static uint32_t find(const struct market *k, const struct class *c)
{
        uint32_t place = MARKET_NONE;

        for (uint32_t i = 0; i < k->classes_n; i++) {
                if (k->classes[i].uses && same_class(&k->classes[i], c))
                        return i;
                if (!k->classes[i].uses && place == MARKET_NONE)
                        place = i;
        }
        if (place == MARKET_NONE && k->classes_n < k->classes_max)
                place = k->classes_n;
        return place;
}

static void mark_fits(struct market *k, uint32_t class)
{
        uint64_t bit = UINT64_C(1) << (class % 64);

        for (uint32_t i = 0; i < k->offers_n; i++) {
                uint64_t *word = &k->fits[(size_t)i * k->words + class / 64];

                *word = fits(&k->classes[class], &k->offers[i]) ? *word | bit : *word & ~bit;
        }
        free(k->groups);
        k->groups = NULL;
}

int market_class(struct market *k, const struct market_need *need, uint32_t *ret_class, struct pd_error *err)
{
        struct class c = { .need = *need, .anywhere = !need->on };
        uint32_t at;
        int r;

        c.need.on = NULL;
        if (need->on) {
                r = spec_on_parse(need->on, &c.on, err);
                if (r < 0)
                        return r;
        }
        at = find(k, &c);
        if (at == MARKET_NONE)
                return pd_fail(err, PD_E_FULL, "%u kinds of needs are in use, which is the most that are indexed",
                        k->classes_max);
        if (!k->classes[at].uses) {
                k->classes[at] = c;
                k->classes_n += at == k->classes_n;
                mark_fits(k, at);
        }
        k->classes[at].uses++;
        *ret_class = at;
        return 0;
}

void market_class_drop(struct market *k, uint32_t class)
{
        k->classes[class].uses--;
}

/* --- questions --- */
const int64_t *market_best_rates(const struct market *k)
{
        return k->best;
}

const struct market_offer *market_offer(const struct market *k, uint32_t offer)
{
        return &k->offers[offer];
}

int64_t market_rate_of(const struct market *k, uint32_t offer)
{
        return k->rate[offer];
}

const char *market_why(const struct market *k, uint32_t offer, int64_t now_wall_us, char *buf)
{
#define TEXT(name_, text_) text_,
        static const char *const texts[] = { MARKET_FAULTS(TEXT) };
#undef TEXT
        const struct market_offer *o = &k->offers[offer];
        char rate[QUANTITY_MAX], at[QUANTITY_MAX];
        int64_t unused;
        enum market_fault fault = fault_of(k, o, now_wall_us, &unused);

        if (fault == MARKET_FIT)
                return NULL;
        if (fault == MARKET_MISSING)
                (void)snprintf(buf, MARKET_WHY_MAX, "%s", texts[fault]);
        else
                (void)snprintf(buf, MARKET_WHY_MAX, "%s: %s of %s, from %.48s", texts[fault],
                        rate_format(&o->price.hour, rate), time_format_utc(o->price.at_wall_us, at),
                        str_or(o->price.source, "a source that is not named"));
        return buf;
}
