/* SPDX-License-Identifier: Apache-2.0 */
/* The free optimum: who knows the whole window and is bound by physics alone.
 *
 * A state is (tick, slack used, place); work done = tick - slack used. Backwards over the ticks, with a ring of the layers that a start reaches. To leave
 * a place within its overhead gains nothing, so a start is one step of `overhead` ticks. */
#include "replay/replay.h"

struct table {
        const struct replay_window *w;
        const struct replay_task *k;
        int32_t slack, places, ring; /* place 0 .. zones - 1, then on demand, then nowhere */
        int64_t *at;
};

static int64_t *cell(const struct table *b, int32_t tick, int32_t used, int32_t place)
{
        size_t layer = (size_t)(tick % b->ring);

        return &b->at[(layer * (size_t)(b->slack + 1) + (size_t)used) * (size_t)b->places + (size_t)place];
}

static bool up(const struct table *b, int32_t tick, int32_t place)
{
        return place == b->w->zones || b->w->up[(size_t)tick * (size_t)b->w->zones + (size_t)place];
}

static int64_t price(const struct table *b, int32_t tick, int32_t place)
{
        return place == b->w->zones ? b->w->on_demand : b->w->price[(size_t)tick * (size_t)b->w->zones + (size_t)place];
}

/* The overhead of a start at this tick; REPLAY_NEVER = it cannot be had for so long. */
static int64_t overhead(const struct table *b, int32_t tick, int32_t place)
{
        int64_t sum = 0;

        if (tick + b->k->overhead > b->k->deadline)
                return REPLAY_NEVER;
        for (int32_t t = tick; t < tick + b->k->overhead; t++) {
                if (!up(b, t, place))
                        return REPLAY_NEVER;
                sum += price(b, t, place);
        }
        return sum;
}

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static void layer(const struct table *b, int32_t tick)
{
        int64_t starts[REPLAY_ZONES_MAX + 1];
        int32_t nowhere = b->places - 1;

        for (int32_t p = 0; p < nowhere; p++)
                starts[p] = overhead(b, tick, p);
        for (int32_t used = 0; used <= b->slack && used <= tick; used++) {
                int64_t best = used < b->slack ? *cell(b, tick + 1, used + 1, nowhere) : REPLAY_NEVER;

                for (int32_t p = 0; p < nowhere && used + b->k->overhead <= b->slack; p++)
                        if (starts[p] < REPLAY_NEVER)
                                best = least(
                                        best, starts[p] + *cell(b, tick + b->k->overhead, used + b->k->overhead, p));
                if (tick - used >= b->k->work)
                        best = 0;
                best = least(best, REPLAY_NEVER);
                *cell(b, tick, used, nowhere) = best;
                for (int32_t p = 0; p < nowhere; p++) {
                        int64_t stay = up(b, tick, p) ? price(b, tick, p) + *cell(b, tick + 1, used, p) : REPLAY_NEVER;

                        *cell(b, tick, used, p) = least(stay, best);
                }
        }
}

int64_t replay_free(const struct replay_window *w, const struct replay_task *k)
{
        struct table b = { .w = w, .k = k, .slack = replay_slack(k), .places = w->zones + 2, .ring = k->overhead + 2 };
        pd_cleanup(freep) int64_t *memory = NULL;
        size_t n;

        if (b.slack < 0)
                return REPLAY_NEVER;
        n = (size_t)b.ring * (size_t)(b.slack + 1) * (size_t)b.places;
        memory = b.at = malloc(n * sizeof *memory);
        if (!memory)
                abort();
        for (size_t i = 0; i < n; i++)
                memory[i] = REPLAY_NEVER;
        for (int32_t used = 0; used <= b.slack;
                used++) /* who has used no more than the slack by the deadline is done */
                for (int32_t p = 0; p < b.places; p++)
                        *cell(&b, k->deadline, used, p) = 0;
        for (int32_t t = k->deadline - 1; t >= 0; t--)
                layer(&b, t);
        return *cell(&b, 0, 0, b.places - 1);
}
