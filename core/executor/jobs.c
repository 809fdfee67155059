/* SPDX-License-Identifier: Apache-2.0 */
/* The hot table of jobs, the one heap of due times, and the queue. */
#include "executor/internal.h"

#include "base/log.h"

/* The last 8 bytes of an id are random: they are the hash. */
static size_t slot_of(const struct engine *e, struct id id)
{
        uint64_t h;

        memcpy(&h, id.b + sizeof id.b - sizeof h, sizeof h);
        return (size_t)(h ^ (h >> 32)) & (e->slots_n - 1);
}

static bool slots_grow(struct engine *e)
{
        size_t n = e->slots_n ? e->slots_n * 2 : 64;
        struct entry **old = e->slots, **slots = calloc(n, sizeof *slots);
        size_t old_n = e->slots_n;

        if (!slots)
                return false;
        e->slots = slots;
        e->slots_n = n;
        for (size_t i = 0; i < old_n; i++)
                if (old[i]) {
                        size_t at = slot_of(e, old[i]->job.id);

                        while (slots[at])
                                at = (at + 1) & (n - 1);
                        slots[at] = old[i];
                }
        free(old);
        return true;
}

struct entry *jobs_add(struct engine *e, const struct job *j)
{
        struct entry *en;
        size_t at;

        if (e->entries_n * 4 >= e->slots_n * 3 && !slots_grow(e))
                return NULL;
        en = calloc(1, sizeof *en);
        if (!en)
                return NULL;
        en->job = *j;
        en->due_boot_us = INT64_MAX;
        for (at = slot_of(e, j->id); e->slots[at]; at = (at + 1) & (e->slots_n - 1))
                ;
        e->slots[at] = en;
        e->entries_n++;
        return en;
}

struct entry *jobs_find(const struct engine *e, struct id id)
{
        if (!e->slots_n)
                return NULL;
        for (size_t at = slot_of(e, id); e->slots[at]; at = (at + 1) & (e->slots_n - 1))
                if (id_equal(e->slots[at]->job.id, id))
                        return e->slots[at];
        return NULL;
}

/* Open addressing without tombstones: what follows the hole moves up. */
static void slots_close_hole(struct engine *e, size_t hole)
{
        size_t mask = e->slots_n - 1, at = hole;

        for (;;) {
                size_t home;

                at = (at + 1) & mask;
                if (!e->slots[at])
                        break;
                home = slot_of(e, e->slots[at]->job.id);
                if (((at - home) & mask) >= ((at - hole) & mask)) {
                        e->slots[hole] = e->slots[at];
                        hole = at;
                }
        }
        e->slots[hole] = NULL;
}

void jobs_remove(struct engine *e, struct entry *en)
{
        size_t at = slot_of(e, en->job.id);

        jobs_due(e, en, INT64_MAX);
        jobs_queue(e, en, false);
        live_free(en);
        while (e->slots[at] != en)
                at = (at + 1) & (e->slots_n - 1);
        slots_close_hole(e, at);
        e->entries_n--;
        free(en);
}

void jobs_free(struct engine *e)
{
        for (size_t i = 0; i < e->slots_n; i++)
                if (e->slots[i]) {
                        free(e->slots[i]->live); /* the machines are gone by now */
                        free(e->slots[i]);
                }
        free(e->slots);
        e->slots = NULL;
        e->slots_n = e->entries_n = 0;
        vec_free(&e->heap);
}

/* --- heap of due times --- */
static void heap_put(struct engine *e, size_t i, struct entry *en)
{
        e->heap.at[i] = en;
        en->heap_at = i + 1;
}

static void heap_up(struct engine *e, size_t i)
{
        struct entry *en = e->heap.at[i];

        while (i > 0 && e->heap.at[(i - 1) / 2]->due_boot_us > en->due_boot_us) {
                heap_put(e, i, e->heap.at[(i - 1) / 2]);
                i = (i - 1) / 2;
        }
        heap_put(e, i, en);
}

static void heap_down(struct engine *e, size_t i)
{
        struct entry *en = e->heap.at[i];

        for (;;) {
                size_t child = 2 * i + 1;

                if (child >= e->heap.n)
                        break;
                if (child + 1 < e->heap.n && e->heap.at[child + 1]->due_boot_us < e->heap.at[child]->due_boot_us)
                        child++;
                if (e->heap.at[child]->due_boot_us >= en->due_boot_us)
                        break;
                heap_put(e, i, e->heap.at[child]);
                i = child;
        }
        heap_put(e, i, en);
}

static void heap_out(struct engine *e, struct entry *en)
{
        size_t i = en->heap_at - 1;
        struct entry *last = e->heap.at[--e->heap.n];

        en->heap_at = 0;
        if (last == en)
                return;
        heap_put(e, i, last);
        heap_up(e, i);
        heap_down(e, last->heap_at - 1);
}

void jobs_due(struct engine *e, struct entry *en, int64_t due_boot_us)
{
        if (en->heap_at)
                heap_out(e, en);
        en->due_boot_us = due_boot_us;
        if (due_boot_us == INT64_MAX)
                return;
        if (!vec_push(&e->heap, en)) {
                log_error("no memory for a due time");
                e->broken = true;
                return;
        }
        en->heap_at = e->heap.n;
        heap_up(e, e->heap.n - 1);
}

void jobs_due_wall(struct engine *e, struct entry *en, int64_t due_wall_us)
{
        int64_t wait = due_wall_us == INT64_MAX ? REVIEW_MAX_US : due_wall_us - now_wall(e);

        if (wait > REVIEW_MAX_US)
                wait = REVIEW_MAX_US;
        jobs_due(e, en, now_boot(e) + (wait > 0 ? wait : 0));
        jobs_arm(e);
}

struct entry *jobs_next_due(struct engine *e, int64_t now_boot_us)
{
        struct entry *en = e->heap.n ? e->heap.at[0] : NULL;

        if (!en || en->due_boot_us > now_boot_us)
                return NULL;
        jobs_due(e, en, INT64_MAX);
        return en;
}

void jobs_arm(struct engine *e)
{
        e->env->ops->timer_set(e->tick, e->heap.n ? e->heap.at[0]->due_boot_us : INT64_MAX);
}

/* --- the queue: jobs that wait for a place, in the order of their creation --- */
void jobs_queue(struct engine *e, struct entry *en, bool queued)
{
        if (en->queued == queued)
                return;
        en->queued = queued;
        e->queue_n += queued ? 1 : (size_t)-1;
        if (queued) {
                en->queue_next = NULL;
                en->queue_prev = e->queue_last;
                if (e->queue_last)
                        e->queue_last->queue_next = en;
                else
                        e->queue_first = en;
                e->queue_last = en;
                return;
        }
        if (en->queue_prev)
                en->queue_prev->queue_next = en->queue_next;
        else
                e->queue_first = en->queue_next;
        if (en->queue_next)
                en->queue_next->queue_prev = en->queue_prev;
        else
                e->queue_last = en->queue_prev;
        en->queue_next = en->queue_prev = NULL;
}

/* --- changes --- */
struct live *live_new(struct entry *en, struct mach *m)
{
        struct live *l = calloc(1, sizeof *l);

        if (!l)
                return NULL;
        l->cpu_us = l->memory_bytes = l->memory_peak_bytes = l->progress_wall_us = l->oom_kills = -1;
        live_free(en);
        en->live = l;
        live_at(en, m);
        return l;
}

static void take(struct mach *m, const struct job *j, int sign)
{
        m->taken.cpu_milli += sign * j->cpu_milli;
        m->taken.memory_bytes += sign * (int64_t)j->memory_bytes;
        m->taken.gpus += sign * j->gpus;
}

void live_at(struct entry *en, struct mach *m)
{
        if (en->live->machine)
                take(en->live->machine, &en->job, -1);
        en->live->machine = m;
        if (m)
                take(m, &en->job, 1);
}

void live_other(struct entry *en, struct mach *m)
{
        if (en->live->other)
                take(en->live->other, &en->job, -1);
        en->live->other = m;
        if (m)
                take(m, &en->job, 1);
}

/* What is of the job, wherever it runs: as live_fill() has it, from its stay before. */
void live_take_over(struct live *l, const struct live *from)
{
        l->settings = from->settings;
        memcpy(l->capture, from->capture, sizeof l->capture);
        l->pinned = from->pinned;
        l->need = from->need;
        memcpy(l->on, from->on, sizeof l->on);
        memcpy(l->name, from->name, sizeof l->name);
}

void live_free(struct entry *en)
{
        if (en->live) {
                live_at(en, NULL);
                live_other(en, NULL);
                json_decref(en->live->held);
        }
        free(en->live);
        en->live = NULL;
}

static void changed(struct engine *e, void *arg)
{
        struct id *id = arg;

        watch_notify(e, *id);
        waiters_check(e, *id);
        free(id);
}

static void changed_after(struct turn *t, struct id id)
{
        struct id *copy = malloc(sizeof *copy);

        if (!copy)
                return;
        *copy = id;
        turn_after(t, changed, free, copy);
}

/* A state decides what of the engine's own bookkeeping a job needs. */
static void settle(struct engine *e, struct entry *en)
{
        enum job_state s = en->job.state;

        jobs_queue(e, en, s == JOB_QUEUED);
        jobs_due_wall(e, en, now_wall(e)); /* the next check finds the right due time */
        if (job_state_placed(s) || !en->live) {
                place_soon(e);
                return;
        }
        live_free(en);
        place_freed(e);
}

/* P-14 wants the peaks of all stays: what this one used goes with its record. One that leaves its place asks for what its user did. */
static void keep_sizes(const struct entry *en, struct job *after)
{
        struct policy_measures x = { 0 };
        uint64_t mib;

        if (!en->live)
                return;
        gather_peaks(en, &x);
        mib = (x.peak_memory_bytes + (UINT64_C(1) << 20) - 1) >> 20;
        after->peak_cpu_milli = x.peak_cpu_milli;
        after->peak_memory_mib = mib > UINT32_MAX ? UINT32_MAX : (uint32_t)mib;
        if (!job_state_placed(after->state) && en->live->need.cpu_milli) {
                after->cpu_milli = en->live->need.cpu_milli;
                after->memory_bytes = en->live->need.memory_bytes;
        }
}

/* Its machines' room goes along with what it asks for. */
static void put(struct entry *en, const struct job *after)
{
        struct mach *m = en->live ? en->live->machine : NULL, *other = en->live ? en->live->other : NULL;

        if (m)
                live_at(en, NULL);
        if (other)
                live_other(en, NULL);
        en->job = *after;
        if (m)
                live_at(en, m);
        if (other)
                live_other(en, other);
}

bool job_change(struct turn *t, struct entry *en, struct job after, enum job_event event, const struct job_doc *doc,
        const char *message)
{
        struct pd_error err;
        struct job before = en->job;
        struct id left = { { 0 } };
        struct mach *unneeded, *was = en->live ? en->live->machine : NULL;

        if (!life_find(before.state, event, after.state, after.result, after.cause, &err)) {
                char id[ID_TEXT_MAX];

                log_error("%s: %s: not done", id_format(ID_JOB, before.id, id), err.text);
                return false;
        }
        if (after.state != before.state)
                after.since_wall_us = t->now_wall_us;
        if (en->live && !job_state_placed(after.state))
                check_flush(t, en);
        if (after.move != MOVE_NONE && !job_state_placed(after.state))
                left = move_over(t, en, &after);
        if (event == EVENT_SAVED || event == EVENT_LOST) /* deadlines of its own */
                after.flags &= (uint8_t) ~(JOB_FLAG_TOLD_DAY | JOB_FLAG_TOLD_HOURS);
        keep_sizes(en, &after);
        txn_job(t->txn, &before, &after, event, doc, t->now_wall_us, message);
        put(en, &after);
        money_job_changed(t, en, &before);
        changed_after(t, after.id);
        tell_change(t, &before, &after, event, message);
        settle(t->engine, en);
        if (was && !en->live)
                rent_unneeded(t, was);
        unneeded = id_is_null(left) ? NULL : machine_find(t->engine, left);
        if (unneeded)
                rent_unneeded(t, unneeded);
        return true;
}

void job_touch(struct turn *t, struct entry *en, struct job after, const struct job_doc *doc)
{
        struct job before = en->job;

        txn_job(t->txn, &before, &after, EVENT_N, doc, t->now_wall_us, NULL);
        put(en, &after);
        money_job_changed(t, en, &before);
        changed_after(t, after.id);
}

int job_load_spec(struct engine *e, struct id id, struct spec **ret_spec, struct settings *ret_settings,
        json_t **ret_doc, json_t **ret_origins, struct pd_error *err)
{
        js_owned *doc = NULL;
        int r = store_get_doc(e->env->store, id, &doc, err);

        if (r >= 0 && ret_settings)
                r = settings_of(e, js_str(doc, "project", ""), json_object_get(doc, "settings"), false, ret_settings,
                        ret_origins, err);
        if (r >= 0 && ret_spec)
                r = spec_check(json_object_get(doc, "spec"), ret_spec, NULL, err);
        if (r >= 0 && ret_doc)
                *ret_doc = pd_steal(doc);
        return r < 0 ? r : 0;
}
