/* SPDX-License-Identifier: Apache-2.0 */
/* Time, chance and faults: one heap of what is due, and two dice, so that a fault more or less does not change what users do. */
#include "simulate/parts.h"

/* --- the heap: earliest first, ties in the order in which they were made --- */
static bool before(const struct world_due *a, const struct world_due *b)
{
        return a->at_boot_us != b->at_boot_us ? a->at_boot_us < b->at_boot_us : a->order < b->order;
}

static void put(struct world *w, size_t i, struct world_due *d)
{
        w->heap.at[i] = d;
        d->heap_at = i + 1;
}

static void sift(struct world *w, size_t i)
{
        struct world_due *d = w->heap.at[i];

        for (; i > 0 && before(d, w->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
                put(w, i, w->heap.at[(i - 1) / 2]);
        for (size_t child = 2 * i + 1; child < w->heap.n; child = 2 * i + 1) {
                if (child + 1 < w->heap.n && before(w->heap.at[child + 1], w->heap.at[child]))
                        child++;
                if (!before(w->heap.at[child], d))
                        break;
                put(w, i, w->heap.at[child]);
                i = child;
        }
        put(w, i, d);
}

void due_cancel(struct world *w, struct world_due *d)
{
        size_t i = d->heap_at - 1;

        if (!d->heap_at)
                return;
        d->heap_at = 0;
        vec_swap_remove(&w->heap, i);
        if (i < w->heap.n) {
                w->heap.at[i]->heap_at = i + 1;
                sift(w, i);
        }
}

void due_at(struct world *w, struct world_due *d, int64_t at_boot_us)
{
        due_cancel(w, d);
        d->at_boot_us = at_boot_us;
        d->order = w->next_order++;
        if (!vec_push(&w->heap, d))
                abort();
        d->heap_at = w->heap.n;
        sift(w, w->heap.n - 1);
}

/* --- things of a caller's own --- */
struct later {
        struct world_due due; /* first */
        void (*fire)(struct world *w, void *arg);
        void *arg;
};

static void fire_later(struct world *w, struct world_due *d)
{
        struct later l = *(struct later *)d;

        free(d);
        l.fire(w, l.arg);
}

void world_later(struct world *w, int64_t us, void (*fire)(struct world *w, void *arg), void *arg)
{
        struct later *l = calloc(1, sizeof *l);

        if (!l)
                abort();
        *l = (struct later){ .due.fire = fire_later, .fire = fire, .arg = arg };
        due_at(w, &l->due, w->boot_us + us);
}

/* At the world's end: all that is left in the heap is things of this kind. */
void later_free_all(struct world *w)
{
        while (w->heap.n) {
                struct world_due *d = w->heap.at[0];

                due_cancel(w, d);
                if (d->fire == fire_later) {
                        free(((struct later *)d)->arg);
                        free(d);
                }
        }
        vec_free(&w->heap);
}

/* --- timers of the engine --- */
struct env_timer {
        struct world_due due; /* first */
        struct world *w;
        void (*fire)(void *arg);
        void *arg;
};

static void fire_timer(struct world *w, struct world_due *d)
{
        struct env_timer *t = (struct env_timer *)d;

        (void)w;
        t->fire(t->arg);
}

int env_timer_new(struct env *e, struct env_timer **ret, void (*fire)(void *arg), void *arg, struct pd_error *err)
{
        struct env_timer *t = calloc(1, sizeof *t);

        (void)err;
        if (!t)
                abort();
        *t = (struct env_timer){ .due.fire = fire_timer, .w = (struct world *)e, .fire = fire, .arg = arg };
        *ret = t;
        return 0;
}

void env_timer_set(struct env_timer *t, int64_t at_boot_us)
{
        if (at_boot_us == INT64_MAX)
                due_cancel(t->w, &t->due);
        else
                due_at(t->w, &t->due, at_boot_us);
}

void env_timer_free(struct env_timer *t)
{
        due_cancel(t->w, &t->due);
        if (!vec_push(&t->w->freed_timers, t))
                abort();
}

void timers_sweep(struct world *w)
{
        vec_foreach (t, &w->freed_timers)
                free(*t);
        w->freed_timers.n = 0;
}

/* --- chance --- */
void env_random(struct env *e, void *ret, size_t n)
{
        struct world *w = (struct world *)e;
        uint8_t *p = ret;

        for (size_t i = 0; i < n; i++) { /* xorshift64* */
                w->rng ^= w->rng >> 12;
                w->rng ^= w->rng << 25;
                w->rng ^= w->rng >> 27;
                p[i] = (uint8_t)((w->rng * UINT64_C(2685821657736338717)) >> 32);
        }
}

uint64_t world_chance(struct world *w, uint64_t below)
{
        w->chance += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
        uint64_t z = w->chance;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return below ? z % below : 0;
}

/* --- faults --- */
#define WORLD_FAULT_NAME(name_, text_) text_,
const char *const world_fault_names[WORLD_FAULT_N] = { WORLD_FAULTS(WORLD_FAULT_NAME) };
#undef WORLD_FAULT_NAME

bool world_at_work(const struct world *w)
{
        if (w->open_requests > 0 || w->open_calls > 0 || (w->store && store_queued(w->store) > 0))
                return true;
        world_each_job(w, s) if (world_live(s) && !streq(s->phase, "running")) return true;
        return false;
}

void world_struck(struct world *w, enum world_fault f)
{
        w->struck[f]++;
        w->at_work[f] += world_at_work(w);
        if (w->watch && w->watch->struck)
                w->watch->struck(w, f);
}

bool world_fault(struct world *w, enum world_fault f)
{
        if (!w->rate[f] || w->dying || world_chance(w, 10000) >= w->rate[f])
                return false;
        world_struck(w, f);
        return true;
}
