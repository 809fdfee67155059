/* SPDX-License-Identifier: Apache-2.0 */
/* The rule-bound optimum: who knows the whole window, and abides by portald's rules (replay.h has them).
 *
 * Backwards over the ticks, states (tick, slack used) as in free.c, of four kinds: `waits` for a place, all pools open; `starts` at a place (its
 * overhead and the cool-down in one step, until it may move or is reclaimed); `runs` there and may move; `lost` its zone just now. */
#include "replay/replay.h"

struct best_start { /* the cheapest start, and the cheapest elsewhere */
        int64_t cost, second;
        int32_t place;
};
struct bound {
        const struct replay_window *w;
        const struct replay_task *k;
        int32_t slack, places, ring; /* places: the zones, then on demand */
        int32_t *next_down;          /* [place][tick]: the first tick from this one on that it is down */
        int64_t *sum;                /* [place][tick]: prices of the ticks before */
        int64_t *starts, *runs, *lost;
        struct best_start *best; /* [ring][used] */
        int64_t *waits;          /* [tick][used] */
};

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static int64_t *cell(const struct bound *b, int64_t *table, int32_t tick, int32_t used, int32_t place)
{
        size_t layer = (size_t)(tick % b->ring);

        return &table[(layer * (size_t)(b->slack + 1) + (size_t)used) * (size_t)b->places + (size_t)place];
}

static struct best_start *best_at(const struct bound *b, int32_t tick, int32_t used)
{
        return &b->best[(size_t)(tick % b->ring) * (size_t)(b->slack + 1) + (size_t)used];
}

static int64_t *waits_at(const struct bound *b, int32_t tick, int32_t used)
{
        return &b->waits[(size_t)tick * (size_t)(b->slack + 1) + (size_t)used];
}

static size_t column(const struct bound *b, int32_t place, int32_t tick)
{
        return (size_t)place * (size_t)(b->k->deadline + 1) + (size_t)tick;
}

static int64_t price(const struct bound *b, int32_t place, int32_t tick)
{
        return b->sum[column(b, place, tick + 1)] - b->sum[column(b, place, tick)];
}

static int64_t span(const struct bound *b, int32_t place, int32_t from, int32_t to)
{
        return b->sum[column(b, place, to)] - b->sum[column(b, place, from)];
}

static void columns(const struct bound *b)
{
        for (int32_t p = 0; p < b->places; p++) {
                bool spot = p < b->w->zones;

                b->sum[column(b, p, 0)] = 0;
                b->next_down[column(b, p, b->k->deadline)] = INT32_MAX / 2;
                for (int32_t t = 0; t < b->k->deadline; t++) {
                        size_t i = (size_t)t * (size_t)b->w->zones + (size_t)p;

                        b->sum[column(b, p, t + 1)] =
                                b->sum[column(b, p, t)] + (spot ? b->w->price[i] : b->w->on_demand);
                }
                for (int32_t t = b->k->deadline - 1; t >= 0; t--) {
                        bool up = !spot || b->w->up[(size_t)t * (size_t)b->w->zones + (size_t)p];

                        b->next_down[column(b, p, t)] = up ? b->next_down[column(b, p, t + 1)] : t;
                }
        }
}

/* Starts at a tick; from tick + hold on it may move. */
static int64_t start(const struct bound *b, int32_t place, int32_t tick, int32_t used, int32_t hold)
{
        int32_t down = b->next_down[column(b, place, tick)], free_at = tick + hold, ran;
        int32_t done = tick + b->k->overhead + b->k->work - (tick - used);

        if (down == tick)
                return REPLAY_NEVER;
        if (done <= down && done <= free_at)
                return done <= b->k->deadline ? span(b, place, tick, done) : REPLAY_NEVER;
        if (free_at <= down) {
                if (used + b->k->overhead > b->slack)
                        return REPLAY_NEVER;
                return span(b, place, tick, free_at) + *cell(b, b->runs, free_at, used + b->k->overhead, place);
        }
        ran = down - tick < b->k->overhead ? down - tick : b->k->overhead;
        if (used + ran > b->slack)
                return REPLAY_NEVER;
        return span(b, place, tick, down) + *cell(b, b->lost, down, used + ran, place);
}

static void starts_layer(const struct bound *b, int32_t tick)
{
        int32_t hold = b->k->cooldown > b->k->overhead ? b->k->cooldown : b->k->overhead;

        for (int32_t used = 0; used <= b->slack && used <= tick; used++) {
                struct best_start s = { REPLAY_NEVER, REPLAY_NEVER, -1 };
                int64_t wait = used < b->slack ? *waits_at(b, tick + 1, used + 1) : REPLAY_NEVER;

                for (int32_t p = 0; p < b->places; p++) {
                        int64_t c = least(start(b, p, tick, used, hold), REPLAY_NEVER);

                        *cell(b, b->starts, tick, used, p) = c;
                        if (c < s.cost) {
                                s.second = s.cost;
                                s.cost = c;
                                s.place = p;
                        } else if (c < s.second) {
                                s.second = c;
                        }
                }
                *best_at(b, tick, used) = s;
                *waits_at(b, tick, used) = least(s.cost, wait);
        }
}

/* Zone z goes down at this tick. */
static int64_t lost(const struct bound *b, int32_t z, int32_t tick, int32_t used)
{
        int32_t last = tick + b->slack - b->k->overhead - used; /* the last instant on demand */
        int32_t from = tick + b->k->delay, open = tick + b->k->exclusion;
        int64_t best = REPLAY_NEVER;

        if (last < tick)
                return REPLAY_NEVER;
        if (from > last) /* no slack is left then: on demand to the end */
                return span(b, b->places - 1, last, b->k->deadline);
        for (int32_t t = from; t < open && t <= last; t++) {
                const struct best_start *s = best_at(b, t, used + t - tick);

                best = least(best, s->place == z ? s->second : s->cost);
        }
        if (open < from)
                open = from;
        return open <= last ? least(best, *waits_at(b, open, used + open - tick)) : best;
}

static int64_t runs(const struct bound *b, int32_t place, int32_t tick, int32_t used)
{
        int32_t left = b->k->work - (tick - used);
        int64_t now = price(b, place, tick), best;

        if (left <= 0)
                return 0;
        best = now + *cell(b, b->runs, tick + 1, used, place);
        for (int32_t z = 0; z < b->places; z++)
                if (z != place && b->next_down[column(b, z, tick)] > tick &&
                        replay_may_move(now, price(b, z, tick), left, b->k->overhead))
                        best = least(best, *cell(b, b->starts, tick, used, z));
        return least(best, REPLAY_NEVER);
}

static void layer(const struct bound *b, int32_t tick)
{
        starts_layer(b, tick);
        for (int32_t p = 0; p < b->w->zones; p++) {
                bool fell = b->next_down[column(b, p, tick)] == tick && tick > 0 &&
                            b->next_down[column(b, p, tick - 1)] == tick;

                for (int32_t used = 0; fell && used <= b->slack && used <= tick; used++)
                        *cell(b, b->lost, tick, used, p) =
                                tick - used >= b->k->work ? 0 : least(lost(b, p, tick, used), REPLAY_NEVER);
        }
        for (int32_t p = 0; p < b->places; p++) {
                bool down = b->next_down[column(b, p, tick)] == tick;

                for (int32_t used = 0; used <= b->slack && used <= tick; used++)
                        *cell(b, b->runs, tick, used, p) =
                                down ? *cell(b, b->lost, tick, used, p) : runs(b, p, tick, used);
        }
}

/* The first start: nothing has changed place yet, so there is no cool-down. */
static int64_t first(const struct bound *b, int32_t tick)
{
        int64_t best = REPLAY_NEVER;

        for (int32_t p = 0; tick <= b->slack && p < b->places; p++)
                best = least(best, start(b, p, tick, tick, b->k->overhead));
        return best;
}

static int64_t solve(struct bound *b)
{
        int64_t best = REPLAY_NEVER;

        columns(b);
        for (int32_t used = 0; used <= b->slack; used++) {
                *waits_at(b, b->k->deadline, used) = 0;
                for (int32_t p = 0; p < b->places; p++)
                        *cell(b, b->runs, b->k->deadline, used, p) = 0;
        }
        for (int32_t t = b->k->deadline - 1; t >= 0; t--) {
                layer(b, t);
                best = least(best, first(b, t));
        }
        return best;
}

static void *memory(size_t n, size_t size)
{
        void *p = calloc(n, size);

        if (!p)
                abort();
        return p;
}

int64_t replay_bound(const struct replay_window *w, const struct replay_task *k)
{
        struct bound b = { .w = w, .k = k, .slack = replay_slack(k), .places = w->zones + 1 };
        int32_t reach = k->exclusion;
        size_t cells, table;
        int64_t best;

        if (b.slack < 0)
                return REPLAY_NEVER;
        reach = reach > k->cooldown ? reach : k->cooldown;
        reach = reach > k->overhead ? reach : k->overhead;
        b.ring = reach + k->overhead + 2;
        cells = (size_t)(b.slack + 1) * (size_t)b.ring;
        table = (size_t)b.places * (size_t)(k->deadline + 1);
        b.next_down = memory(table, sizeof *b.next_down);
        b.sum = memory(table, sizeof *b.sum);
        b.starts = memory(cells * (size_t)b.places, sizeof *b.starts);
        b.runs = memory(cells * (size_t)b.places, sizeof *b.runs);
        b.lost = memory(cells * (size_t)b.places, sizeof *b.lost);
        b.best = memory(cells, sizeof *b.best);
        b.waits = memory((size_t)(b.slack + 1) * (size_t)(k->deadline + 1), sizeof *b.waits);
        best = solve(&b);
        free(b.next_down);
        free(b.sum);
        free(b.starts);
        free(b.runs);
        free(b.lost);
        free(b.best);
        free(b.waits);
        return best;
}
