/* SPDX-License-Identifier: Apache-2.0 */
#include "placement/placement.h"

#include <inttypes.h>
#include <stdio.h>

char *placement_offer_name(const struct placement_offer *o, char *buf)
{
        (void)snprintf(buf, PLACEMENT_NAME_MAX, "%.48s/%.48s/%.64s%s", o->connection, o->zone, o->type,
                o->market == PD_MARKET_SPOT ? "/spot" : "");
        return buf;
}

bool placement_pinned(const char *on)
{
        struct spec_on parsed;

        return on && spec_on_parse(on, &parsed, NULL) == 0 && parsed.exact;
}

/* One rule's word on one offer: false = it rejects it, and c says why. The rules are asked in the table's order; the first no counts. */
struct judged {
        const struct placement_need *need;
        const struct placement_offer *offer;
        const struct spec_on *on; /* NULL = anywhere */
        int64_t now_wall_us;
};
typedef bool (*rule_fn)(const struct judged *j, struct placement_choice *c);

static bool part_matches(const char *asked, const char *have)
{
        return *asked == '\0' || streq(asked, have);
}

static bool rule_on(const struct judged *j, struct placement_choice *c)
{
        const struct spec_on *on = j->on;
        const struct placement_offer *o = j->offer;

        if (!on ||
                (part_matches(on->connection, o->connection) && part_matches(on->zone, o->zone) &&
                        part_matches(on->type, o->type) && (!on->exact || on->spot == (o->market == PD_MARKET_SPOT))))
                return true;
        (void)str_format(c->why, sizeof c->why, "is not what --on %.80s asks for", j->need->on);
        return false;
}

static bool rule_spot(const struct judged *j, struct placement_choice *c)
{
        if (!j->need->no_spot || j->offer->market != PD_MARKET_SPOT)
                return true;
        (void)str_format(c->why, sizeof c->why, "is a spot offer, and the job may not use one (spot.use = off)");
        return false;
}

static bool rule_cpu(const struct judged *j, struct placement_choice *c)
{
        char has[QUANTITY_MAX], asked[QUANTITY_MAX], lack[QUANTITY_MAX];

        if (j->need->cpu_milli <= j->offer->cpu_milli)
                return true;
        (void)str_format(c->why, sizeof c->why, "has %s cores, %s asked: %s too few",
                cpu_format(j->offer->cpu_milli, has), cpu_format(j->need->cpu_milli, asked),
                cpu_format(j->need->cpu_milli - j->offer->cpu_milli, lack));
        return false;
}

static bool bytes_suffice(uint64_t need, uint64_t have, const char *what, struct placement_choice *c)
{
        char has[QUANTITY_MAX], asked[QUANTITY_MAX], lack[QUANTITY_MAX];

        if (need <= have)
                return true;
        (void)str_format(c->why, sizeof c->why, "has %s of %s, %s asked: %s too little", size_format(have, has), what,
                size_format(need, asked), size_format(need - have, lack));
        return false;
}

static bool rule_memory(const struct judged *j, struct placement_choice *c)
{
        return bytes_suffice(j->need->memory_bytes, j->offer->memory_bytes, "memory", c);
}

static bool rule_disk(const struct judged *j, struct placement_choice *c)
{
        return j->offer->disk_bytes == 0 || bytes_suffice(j->need->disk_bytes, j->offer->disk_bytes, "disk", c);
}

static bool rule_gpus(const struct judged *j, struct placement_choice *c)
{
        if (j->need->gpus <= j->offer->gpus)
                return true;
        (void)str_format(c->why, sizeof c->why, "has %" PRId32 " GPUs, %" PRId32 " asked: %" PRId32 " too few",
                j->offer->gpus, j->need->gpus, j->need->gpus - j->offer->gpus);
        return false;
}

static bool rule_capture(const struct judged *j, struct placement_choice *c)
{
        if (!j->need->capture || !j->offer->captures)
                return true;
        for (const char *const *name = j->offer->captures; *name; name++)
                if (streq(*name, j->need->capture))
                        return true;
        if (j->offer->capture_why)
                (void)str_format(c->why, sizeof c->why, "cannot be moved by %.32s here: %.200s", j->need->capture,
                        j->offer->capture_why);
        else
                (void)str_format(c->why, sizeof c->why, "cannot checkpoint with \"%.32s\"", j->need->capture);
        return false;
}

/* P-06: a spot offer whose notice cannot save the state as measured last. Nothing measured, no rate learned, or pinned to it: only a warning. */
static bool rule_notice(const struct judged *j, struct placement_choice *c)
{
        char state[QUANTITY_MAX], saves[QUANTITY_MAX];
        uint64_t can;

        if (j->offer->market != PD_MARKET_SPOT)
                return true;
        if (j->need->state_bytes == 0)
                (void)str_format(c->warn, sizeof c->warn, "the job's state was not measured yet");
        else if (!market_can_save(&j->offer->notice, &can))
                (void)str_format(c->warn, sizeof c->warn, "how much its notice can save was not learned yet");
        else if (j->need->state_bytes > can) {
                (void)size_format(j->need->state_bytes, state);
                (void)str_format(c->warn, sizeof c->warn, "its notice can save %s, and the job's state is %s",
                        size_format(can, saves), state);
                if (j->on && j->on->exact)
                        return true;
                (void)str_format(c->why, sizeof c->why, "%s: %s too much", c->warn,
                        size_format(j->need->state_bytes - can, state));
                return false;
        }
        return true;
}

static bool rule_usable(const struct judged *j, struct placement_choice *c)
{
        if (j->offer->usable)
                return true;
        c->later = true;
        (void)str_format(
                c->why, sizeof c->why, "%s", j->offer->why && *j->offer->why ? j->offer->why : "cannot be used now");
        return false;
}

static bool rule_reclaimed(const struct judged *j, struct placement_choice *c)
{
        char left[QUANTITY_MAX];

        if (j->offer->not_before_wall_us <= j->now_wall_us)
                return true;
        c->later = true;
        (void)str_format(c->why, sizeof c->why, "was reclaimed lately and is left out for %s more",
                duration_format(j->offer->not_before_wall_us - j->now_wall_us, left));
        return false;
}

static bool rule_free(const struct judged *j, struct placement_choice *c)
{
        const struct placement_need *need = j->need;
        const struct placement_offer *o = j->offer;
        char has[QUANTITY_MAX], asked[QUANTITY_MAX];

        if (!o->shared)
                return true;
        c->later = true;
        if (need->cpu_milli > o->free_cpu_milli)
                (void)str_format(c->why, sizeof c->why, "has %s cores free, %s asked: waits for other jobs there",
                        cpu_format(o->free_cpu_milli, has), cpu_format(need->cpu_milli, asked));
        else if (need->memory_bytes > o->free_memory_bytes)
                (void)str_format(c->why, sizeof c->why, "has %s of memory free, %s asked: waits for other jobs there",
                        size_format(o->free_memory_bytes, has), size_format(need->memory_bytes, asked));
        else if (need->gpus > o->free_gpus)
                (void)str_format(c->why, sizeof c->why,
                        "has %" PRId32 " GPUs free, %" PRId32 " asked: waits for other jobs there", o->free_gpus,
                        need->gpus);
        else
                c->later = false;
        return !c->later;
}

/* First what can never be, so that `later` is a promise. */
static const struct {
        const char *name;
        rule_fn ask;
} rules[] = {
        /* not here */
        { "on", rule_on },
        { "spot", rule_spot },
        { "cpu", rule_cpu },
        { "memory", rule_memory },
        { "disk", rule_disk },
        { "gpus", rule_gpus },
        { "checkpoint", rule_capture },
        { "notice", rule_notice },
        /* not just now */
        { "usable", rule_usable },
        { "left out", rule_reclaimed },
        { "room", rule_free },
};

static void judge(const struct judged *j, struct placement_choice *c)
{
        for (size_t i = 0; i < ARRAY_LEN(rules); i++)
                if (!rules[i].ask(j, c)) {
                        c->rule = rules[i].name;
                        return;
                }
        c->fits = true;
}

static int compare_price(const struct money *a, const struct money *b)
{
        bool a_free = a->nano == 0, b_free = b->nano == 0;

        if (a_free || b_free)
                return a_free && b_free ? 0 : a_free ? -1 : 1;
        if (!streq(a->currency, b->currency))
                return strcmp(a->currency, b->currency);
        return (a->nano > b->nano) - (a->nano < b->nano);
}

static int compare_choice(const void *a, const void *b, void *offers)
{
        const struct placement_choice *x = a, *y = b;
        const struct placement_offer *ox = (const struct placement_offer *)offers + x->offer;
        const struct placement_offer *oy = (const struct placement_offer *)offers + y->offer;
        char nx[PLACEMENT_NAME_MAX], ny[PLACEMENT_NAME_MAX];
        int d;

        if (x->fits != y->fits)
                return x->fits ? -1 : 1;
        if (x->later != y->later)
                return x->later ? -1 : 1;
        d = compare_price(&ox->price, &oy->price);
        if (d == 0)
                d = strcmp(placement_offer_name(ox, nx), placement_offer_name(oy, ny));
        return d ? d : (x->offer > y->offer) - (x->offer < y->offer); /* two of one name: as they came */
}

/* What the ones that fit cost, and by how much the others lost to the first. */
static void explain_price(const struct money *first, const struct money *price, struct placement_choice *c)
{
        struct money more = *price;
        char rate[QUANTITY_MAX], difference[QUANTITY_MAX];

        (void)rate_format(price, rate);
        more.nano -= first->nano;
        if (price == first)
                (void)str_format(c->why, sizeof c->why, "%s, the cheapest that fits", rate);
        else if (first->nano != 0 && !streq(first->currency, price->currency))
                (void)str_format(
                        c->why, sizeof c->why, "%s, not compared with %s: no exchange rate", rate, first->currency);
        else if (more.nano == 0)
                (void)str_format(c->why, sizeof c->why, "%s, as much as the first, which comes first by name", rate);
        else
                (void)str_format(
                        c->why, sizeof c->why, "%s, %s more than the first", rate, rate_format(&more, difference));
}

int placement_rank(const struct placement_need *need, const struct placement_offer *offers, size_t n,
        int64_t now_wall_us, struct placement_choice *ret, size_t *ret_ok, struct pd_error *err)
{
        struct spec_on on;
        size_t ok = 0;
        int r;

        if (need->on) {
                r = spec_on_parse(need->on, &on, err);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < n; i++) {
                const struct judged j = { need, &offers[i], need->on ? &on : NULL, now_wall_us };

                ret[i] = (struct placement_choice){ .offer = i };
                judge(&j, &ret[i]);
                ok += ret[i].fits;
        }
        if (n > 1)
                qsort_r(ret, n, sizeof *ret, compare_choice, (void *)(uintptr_t)offers);
        for (size_t i = 1; i < ok; i++)
                ret[i].rule = "price";
        for (size_t i = 0; i < ok; i++)
                explain_price(&offers[ret[0].offer].price, &offers[ret[i].offer].price, &ret[i]);
        *ret_ok = ok;
        return 0;
}
