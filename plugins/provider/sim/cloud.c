/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in the cloud as time goes by. */
#include "cloud_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_US INT64_C(3600000000)

uint64_t cloud_dice(void *cloud)
{
        return sim_market_dice(&((struct cloud *)cloud)->dice);
}

/* About exponential: whole half-lives by the toss of a coin, and a part of one. Integers all the way. */
int64_t cloud_exponential(struct cloud *c, int64_t mean_us)
{
        int64_t half = mean_us / 10000 * 6931 + 1, t = 0;

        while (cloud_dice(c) & UINT64_C(1) << 63 && t < half * 60)
                t += half;
        return t + (int64_t)(cloud_dice(c) % (uint64_t)half);
}

/* ---- machines ---- */

void cloud_machine_free(struct cloud_machine *m)
{
        for (uint32_t i = 0; m && i < m->tags_n; i++) {
                free((char *)(uintptr_t)m->tags[i].key);
                free((char *)(uintptr_t)m->tags[i].value);
        }
        if (m) {
                free(m->tags);
                free(m->segments);
        }
        free(m);
}

static bool push(struct cloud_machine ***list, size_t *n, size_t *room, struct cloud_machine *m)
{
        if (*n == *room) {
                size_t want = *room ? 2 * *room : 16;
                struct cloud_machine **p = reallocarray(*list, want, sizeof *p);

                if (!p)
                        return false;
                *list = p;
                *room = want;
        }
        (*list)[(*n)++] = m;
        return true;
}

struct cloud_machine *cloud_add(struct cloud *c)
{
        struct cloud_machine *m = calloc(1, sizeof *m);

        if (!m || !push(&c->live, &c->live_n, &c->live_room, m)) {
                free(m);
                return NULL;
        }
        if (!push(&c->machines, &c->machines_n, &c->machines_room, m)) {
                c->live_n--;
                free(m);
                return NULL;
        }
        (void)snprintf(m->id, sizeof m->id, "sim-%06llu", (unsigned long long)++c->serial);
        m->state = PD_MACHINE_PENDING;
        m->created_wall_us = c->now_wall_us;
        m->ready_wall_us = m->stop_wall_us = m->lifetime_wall_us = m->life_wall_us = CLOUD_NEVER;
        m->notice_wall_us = m->false_wall_us = m->reclaim_wall_us = m->stopping_wall_us = CLOUD_NEVER;
        m->gone_due_wall_us = m->gone_wall_us = m->bill_end_wall_us = CLOUD_NEVER;
        return m;
}

bool cloud_tags(struct cloud_machine *m, const struct pd_kv *tags)
{
        uint32_t n = tags ? tags->count : 0;

        m->tags = n ? calloc(n, sizeof *m->tags) : NULL;
        if (n && !m->tags)
                return false;
        for (m->tags_n = 0; m->tags_n < n; m->tags_n++) {
                struct pd_pair *p = &m->tags[m->tags_n];

                p->key = strdup(tags->pairs[m->tags_n].key);
                p->value = strdup(tags->pairs[m->tags_n].value);
                if (!p->key || !p->value) {
                        m->tags_n++;
                        return false;
                }
        }
        return true;
}

void cloud_price(struct cloud_machine *m, int64_t at_wall_us, int64_t price_nano_hour)
{
        if (m->segments_n && m->segments[m->segments_n - 1].price_nano_hour == price_nano_hour)
                return;
        if (m->segments_n == m->segments_room) {
                size_t want = m->segments_room ? 2 * m->segments_room : 4;
                struct cloud_segment *p = reallocarray(m->segments, want, sizeof *p);

                if (!p)
                        return; /* the price stays as it was: told by the bill, lost by nobody */
                m->segments = p;
                m->segments_room = want;
        }
        m->segments[m->segments_n++] = (struct cloud_segment){ at_wall_us, price_nano_hour };
}

struct cloud_machine *cloud_find_id(const struct cloud *c, const char *id)
{
        for (size_t i = c->machines_n; i > 0; i--)
                if (strcmp(c->machines[i - 1]->id, id) == 0)
                        return c->machines[i - 1];
        return NULL;
}

struct cloud_machine *cloud_find_token(const struct cloud *c, const char *token)
{
        for (size_t i = c->machines_n; token && *token && i > 0; i--)
                if (strcmp(c->machines[i - 1]->token, token) == 0)
                        return c->machines[i - 1];
        return NULL;
}

static bool leaving(const struct cloud_machine *m)
{
        return m->state == PD_MACHINE_STOPPING || m->state == PD_MACHINE_STOPPED || m->state == PD_MACHINE_GONE;
}

int32_t cloud_alive(const struct cloud *c, uint32_t offer)
{
        int32_t n = 0;

        for (size_t i = 0; i < c->live_n; i++)
                n += c->live[i]->offer == offer && !c->live[i]->foreign && !leaving(c->live[i]);
        return n;
}

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static int64_t machine_due(const struct cloud_machine *m)
{
        int64_t t = m->gone_due_wall_us;

        if (leaving(m) || m->foreign)
                return t;
        if (m->state == PD_MACHINE_PENDING)
                t = least(t, m->ready_wall_us);
        if (!m->noticed)
                t = least(t, m->notice_wall_us);
        t = least(t, least(m->reclaim_wall_us, m->false_wall_us));
        return least(least(t, m->life_wall_us), least(m->stop_wall_us, m->lifetime_wall_us));
}

void cloud_changed(struct cloud *c, const struct cloud_machine *m)
{
        if (m && c->watch)
                c->watch(c->watch_arg, m);
        c->machines_due_us = CLOUD_NEVER;
        for (size_t i = 0; i < c->live_n; i++)
                c->machines_due_us = least(c->machines_due_us, machine_due(c->live[i]));
}

void cloud_stop(struct cloud *c, struct cloud_machine *m, enum pd_machine_reason reason, int64_t late_us)
{
        if (m->state == PD_MACHINE_STOPPING || m->state == PD_MACHINE_GONE)
                return;
        if (m->reason == PD_REASON_NONE)
                m->reason = reason;
        m->leftover = m->state != PD_MACHINE_STOPPED &&
                      faults_strike(&c->p.faults, FAULT_AT_END, FAULT_LEFTOVER, cloud_dice, c) != NULL;
        m->state = PD_MACHINE_STOPPING;
        m->stopping_wall_us = c->now_wall_us;
        m->gone_due_wall_us = c->now_wall_us + c->p.stop_lag_us + late_us;
        /* what comes later than promised is not billed: stop_lag is the provider's word */
        m->bill_end_wall_us = c->now_wall_us + c->p.stop_lag_us;
        cloud_changed(c, m);
}

static void leave_live(struct cloud *c, const struct cloud_machine *m)
{
        for (size_t i = 0; i < c->live_n; i++)
                if (c->live[i] == m) {
                        memmove(&c->live[i], &c->live[i + 1], (c->live_n - i - 1) * sizeof *c->live);
                        c->live_n--;
                        return;
                }
}

/* It is there no more, or only as a leftover that costs. */
static void machine_ends(struct cloud *c, struct cloud_machine *m, enum pd_machine_reason reason)
{
        if (m->reason == PD_REASON_NONE)
                m->reason = reason;
        m->gone_due_wall_us = CLOUD_NEVER;
        if (m->stopping_wall_us == CLOUD_NEVER)
                m->stopping_wall_us = c->now_wall_us;
        if (m->leftover) {
                m->leftover = false;
                m->state = PD_MACHINE_STOPPED;
                m->bill_end_wall_us = CLOUD_NEVER;
                cloud_price(m, c->now_wall_us, c->market.now[m->offer].price_nano_hour / 100 * c->p.stopped_percent);
        } else {
                m->state = PD_MACHINE_GONE;
                m->gone_wall_us = c->now_wall_us;
                m->bill_end_wall_us = least(m->bill_end_wall_us, c->now_wall_us);
                leave_live(c, m);
        }
        cloud_changed(c, m);
}

void cloud_guest_off(struct cloud *c, int64_t now_wall_us, const char *id)
{
        struct cloud_machine *m;

        cloud_begin(c, now_wall_us);
        m = cloud_find_id(c, id);
        if (!m || leaving(m))
                return;
        m->leftover = !c->p.off_ends;
        machine_ends(c, m, PD_REASON_GUEST);
}

/* ---- reclaims ---- */

/* Announced now, taken away after `notice_us`. */
static void reclaim(struct cloud *c, struct cloud_machine *m, int64_t notice_us)
{
        const struct fault_rule *f;

        m->reclaim_wall_us = c->now_wall_us + notice_us;
        m->said_wall_us = m->reclaim_wall_us;
        m->notice_wall_us = notice_us ? c->now_wall_us : CLOUD_NEVER;
        m->noticed = false;
        if (faults_strike(&c->p.faults, FAULT_AT_NOTICE, FAULT_MISSING, cloud_dice, c)) {
                m->notice_wall_us = CLOUD_NEVER;
                m->said_wall_us = 0;
        } else if ((f = faults_strike(&c->p.faults, FAULT_AT_NOTICE, FAULT_SHORTER, cloud_dice, c)) &&
                   f->span_us < notice_us) {
                m->notice_wall_us = m->reclaim_wall_us - f->span_us;
        }
        cloud_changed(c, NULL);
}

/* n of the offer's machines, by the dice; those that are to go already count. */
static void reclaim_some(struct cloud *c, uint32_t offer, int64_t n, int64_t notice_us)
{
        while (n > 0) {
                struct cloud_machine *pick = NULL;
                uint64_t seen = 0;

                for (size_t i = 0; i < c->live_n; i++) {
                        struct cloud_machine *m = c->live[i];

                        if (m->offer != offer || m->foreign || leaving(m) || m->reclaim_wall_us != CLOUD_NEVER)
                                continue;
                        if (cloud_dice(c) % ++seen == 0)
                                pick = m;
                }
                if (!pick)
                        return;
                reclaim(c, pick, notice_us);
                n--;
        }
}

static int32_t staying(const struct cloud *c, uint32_t offer)
{
        int32_t n = 0;

        for (size_t i = 0; i < c->live_n; i++)
                n += c->live[i]->offer == offer && !c->live[i]->foreign && !leaving(c->live[i]) &&
                     c->live[i]->reclaim_wall_us == CLOUD_NEVER;
        return n;
}

static void new_price(struct cloud *c, uint32_t offer, int64_t price)
{
        for (size_t i = 0; i < c->live_n; i++) {
                struct cloud_machine *m = c->live[i];

                if (m->offer != offer || m->foreign)
                        continue;
                cloud_price(
                        m, c->now_wall_us, m->state == PD_MACHINE_STOPPED ? price / 100 * c->p.stopped_percent : price);
                if (m->ceiling_nano_hour && price > m->ceiling_nano_hour && !leaving(m) &&
                        m->reclaim_wall_us == CLOUD_NEVER && c->market.t.offers[offer].market == PD_MARKET_SPOT)
                        reclaim(c, m, c->market.t.offers[offer].notice_us);
        }
}

static void market_event(struct cloud *c, const struct trace_event *ev)
{
        int64_t notice = ev->gone_us >= 0 ? ev->gone_us
                         : ev->what == TRACE_CAPACITY || ev->what == TRACE_RECLAIM
                                 ? c->market.t.offers[ev->offer].notice_us
                                 : 0;

        switch ((enum trace_what)ev->what) {
        case TRACE_PRICE:
                new_price(c, ev->offer, ev->value);
                return;
        case TRACE_CAPACITY:
                if (ev->value >= 0)
                        reclaim_some(c, ev->offer, staying(c, ev->offer) - ev->value, notice);
                return;
        case TRACE_RECLAIM:
                reclaim_some(c, ev->offer, ev->value < 0 ? INT32_MAX : ev->value, notice);
                return;
        case TRACE_LATENCY:
                c->base_latency_us = ev->value;
                return;
        case TRACE_OUTAGE:
                c->outage_until_wall_us = c->now_wall_us + ev->value;
                return;
        case TRACE_LISTED:
        case TRACE_QUOTA:
                return;
        }
}

/* ---- time ---- */

/* The one thing of a machine that is due now; the end comes before all else. */
static void machine_happens(struct cloud *c, struct cloud_machine *m)
{
        int64_t now = c->now_wall_us;

        if (m->gone_due_wall_us <= now)
                return machine_ends(c, m, PD_REASON_NONE);
        if (m->reclaim_wall_us <= now) {
                m->leftover = faults_strike(&c->p.faults, FAULT_AT_END, FAULT_LEFTOVER, cloud_dice, c) != NULL;
                return machine_ends(c, m, PD_REASON_RECLAIM);
        }
        if (m->stop_wall_us <= now)
                return cloud_stop(c, m, PD_REASON_LEASE, 0);
        if (m->lifetime_wall_us <= now)
                return cloud_stop(c, m, PD_REASON_LIFETIME, 0);
        if (m->life_wall_us <= now) {
                m->life_wall_us = CLOUD_NEVER;
                if (m->reclaim_wall_us == CLOUD_NEVER)
                        reclaim(c, m, c->market.t.offers[m->offer].notice_us);
                else
                        cloud_changed(c, NULL);
                return;
        }
        if (m->false_wall_us <= now) {
                m->false_wall_us = CLOUD_NEVER;
                if (m->reclaim_wall_us == CLOUD_NEVER) {
                        m->said_wall_us = now + c->market.t.offers[m->offer].notice_us;
                        m->notice_wall_us = now;
                }
                return cloud_changed(c, NULL);
        }
        if (m->state == PD_MACHINE_PENDING && m->ready_wall_us <= now)
                m->state = PD_MACHINE_RUNNING;
        else
                m->noticed = true;
        cloud_changed(c, m);
}

int64_t cloud_next_us(struct cloud *c)
{
        int64_t market;

        if (!c->start_wall_us)
                return CLOUD_NEVER; /* nobody has called yet */
        market = sim_market_next_us(&c->market);
        return least(market == INT64_MAX ? CLOUD_NEVER : c->start_wall_us + market, c->machines_due_us);
}

void cloud_advance(struct cloud *c, int64_t now_wall_us)
{
        const struct trace_event *ev;

        if (!c->start_wall_us)
                c->start_wall_us = now_wall_us;
        for (int64_t t; (t = cloud_next_us(c)) <= now_wall_us;) {
                if (t > c->now_wall_us)
                        c->now_wall_us = t;
                if (c->machines_due_us > t) {
                        if (sim_market_take(&c->market, &ev))
                                market_event(c, ev);
                        continue;
                }
                for (size_t i = 0; i < c->live_n; i++)
                        if (machine_due(c->live[i]) <= t) {
                                machine_happens(c, c->live[i]);
                                break;
                        }
        }
        if (now_wall_us > c->now_wall_us)
                c->now_wall_us = now_wall_us;
}

void cloud_begin(struct cloud *c, int64_t now_wall_us)
{
        cloud_advance(c, now_wall_us);
        c->latency_us = c->base_latency_us;
}

/* ---- the bill ---- */

static int64_t price_of(int64_t price_nano_hour, int64_t us) /* ceil */
{
        __int128 n = (__int128)price_nano_hour * us;

        n = (n + HOUR_US - 1) / HOUR_US;
        return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* What is billed beyond the time that it was there: minimum and step. */
static int64_t rounding_us(const struct cloud *c, int64_t us)
{
        int64_t billed = us < c->p.minimum_us ? c->p.minimum_us : us;

        if (c->p.step_us > 0 && billed % c->p.step_us)
                billed += c->p.step_us - billed % c->p.step_us;
        return billed - us;
}

int64_t cloud_bill(const struct cloud *c, const struct cloud_machine *m, int64_t until_wall_us)
{
        bool over = m->bill_end_wall_us <= until_wall_us && m->gone_wall_us != CLOUD_NEVER;
        int64_t end = least(until_wall_us, m->bill_end_wall_us), sum = 0;

        if (end <= m->created_wall_us && !over)
                return 0;
        for (size_t i = 0; i < m->segments_n; i++) {
                int64_t from = m->segments[i].from_wall_us,
                        to = i + 1 < m->segments_n ? least(m->segments[i + 1].from_wall_us, end) : end;
                bool last = i + 1 == m->segments_n || m->segments[i + 1].from_wall_us >= end;

                if (last && over)
                        to += rounding_us(c, end - m->created_wall_us);
                if (to > from)
                        sum += price_of(m->segments[i].price_nano_hour, to - from);
                if (last)
                        break;
        }
        return sum;
}

/* ---- from birth to death ---- */

static const struct pd_pair others[] = { { "portald-installation", "ins_somebody-else" }, { "Name", "do-not-touch" } };

/* Somebody else's machines stand in the same account from the first instant on, and never change. */
static bool add_foreign(struct cloud *c)
{
        struct pd_kv tags = { sizeof tags, 2, others };

        for (uint32_t i = 0; i < c->p.foreign; i++) {
                struct cloud_machine *m = cloud_add(c);

                if (!m || !cloud_tags(m, &tags))
                        return false;
                m->foreign = true;
                m->state = PD_MACHINE_RUNNING;
                m->offer = i % (uint32_t)c->market.t.offers_n;
                m->ready_wall_us = m->created_wall_us = 0;
        }
        return true;
}

static int add_quota(struct cloud *c, struct pd_error *err)
{
        if (!c->p.quota.id[0])
                return 0;
        if (c->market.t.quotas_n == TRACE_QUOTAS_MAX)
                return pd_fail(err, PD_E_INVALID, "the trace has %u quotas already", TRACE_QUOTAS_MAX);
        c->market.quotas[c->market.t.quotas_n] = c->p.quota;
        c->market.t.quotas[c->market.t.quotas_n++] = c->p.quota;
        return 0;
}

static void cloud_freep(struct cloud **c)
{
        cloud_free(*c);
}

int cloud_new(struct cloud **ret, struct cloud_params *p, struct pd_error *err)
{
        pd_cleanup(cloud_freep) struct cloud *c = calloc(1, sizeof *c);
        int r;

        if (!c) {
                trace_clear(&p->market.trace);
                return pd_fail(err, PD_E_NOMEM, "no memory for a cloud");
        }
        r = sim_market_init(&c->market, &p->market, err);
        c->p = *p;
        if (r == 0)
                r = add_quota(c, err);
        if (r < 0)
                return r;
        c->dice = p->seed;
        c->start_wall_us = p->start_wall_us;
        c->base_latency_us = p->latency_us;
        c->machines_due_us = CLOUD_NEVER;
        if (!add_foreign(c))
                return pd_fail(err, PD_E_NOMEM, "no memory for %u machines", p->foreign);
        *ret = pd_steal(c);
        return 0;
}

struct cloud *cloud_free(struct cloud *c)
{
        for (size_t i = 0; c && i < c->machines_n; i++)
                cloud_machine_free(c->machines[i]);
        if (c) {
                sim_market_clear(&c->market);
                free(c->machines);
                free(c->live);
        }
        free(c);
        return NULL;
}

void cloud_watch(struct cloud *c, cloud_watch_fn fn, void *arg)
{
        c->watch = fn;
        c->watch_arg = arg;
}

int64_t cloud_latency_us(const struct cloud *c)
{
        return c->latency_us;
}

const struct cloud_params *cloud_params(const struct cloud *c)
{
        return &c->p;
}

int cloud_each(const struct cloud *c, int (*fn)(void *arg, const struct cloud_machine *m), void *arg)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < c->machines_n; i++)
                r = fn(arg, c->machines[i]);
        return r;
}

const struct cloud_machine *cloud_machine(const struct cloud *c, const char *id)
{
        return cloud_find_id(c, id);
}

uint64_t cloud_struck(const struct cloud *c, enum fault_kind kind)
{
        uint64_t n = 0;

        for (size_t i = 0; i < c->p.faults.n; i++)
                n += c->p.faults.rules[i].kind == kind ? c->p.faults.rules[i].struck : 0;
        return n;
}
