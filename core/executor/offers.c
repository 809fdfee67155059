/* SPDX-License-Identifier: Apache-2.0 */
/* What could be had, as placement wants it: own machines that are there, and kinds of machine that can be rented; and what a job asks of them. */
#include "executor/known.h"

#define CAPTURES_MAX 16

void offers_free(struct offers *k)
{
        vec_foreach (s, &k->texts)
                free(*s);
        vec_foreach (l, &k->lists)
                free((void *)*l);
        vec_free(&k->texts);
        vec_free(&k->lists);
        vec_free(&k->at);
        vec_free(&k->of);
}

static const char **usable_captures(struct offers *k, const struct mach *m)
{
        const char **list = calloc(CAPTURES_MAX + 1, sizeof *list);
        const char *name;
        json_t *v;
        size_t n = 0;

        if (!list || !vec_push(&k->lists, list)) {
                free((void *)list);
                return NULL;
        }
        json_object_foreach (json_object_get(m->caps, "captures"), name, v)
                if (js_bool(v, "usable", false) && n < CAPTURES_MAX)
                        list[n++] = name;
        return list;
}

/* Why the asked capture cannot be used there, in the words of its own probe; NULL = it can, or nothing is known of it. */
static const char *capture_why(const struct mach *m, const struct placement_need *need)
{
        const json_t *v =
                need && need->capture ? json_object_get(json_object_get(m->caps, "captures"), need->capture) : NULL;

        return v && !js_bool(v, "usable", false) ? js_str(v, "why", NULL) : NULL;
}

static void of_machine(struct offers *k, struct placement_offer *o, const struct engine *e, const struct mach *m,
        const struct placement_need *need)
{
        int64_t cpu, memory, gpus;

        o->shared = m->rec.own;
        o->usable = m->up && !machine_noticed(e, m);
        if (machine_noticed(e, m))
                o->why = "it gave notice, and takes no job before that is over";
        else if (!m->up)
                o->why = *m->why ? m->why : "its runner cannot be reached";
        if (!m->caps)
                return;
        machine_free_room(e, m, &cpu, &memory, &gpus);
        o->cpu_milli = (int32_t)js_int(m->caps, "cpu_milli", 0);
        o->memory_bytes = (uint64_t)js_int(m->caps, "memory_bytes", 0);
        o->gpus = (int32_t)js_int(m->caps, "gpus", 0);
        o->free_cpu_milli = (int32_t)cpu;
        o->free_memory_bytes = memory > 0 ? (uint64_t)memory : 0;
        o->free_gpus = (int32_t)gpus;
        o->captures = usable_captures(k, m);
        o->capture_why = capture_why(m, need);
}

static const char *kept(struct offers *k, const char *text)
{
        char *copy = strdup(text);

        if (!copy || !vec_push(&k->texts, copy)) {
                free(copy);
                return "its price is not acted on";
        }
        return copy;
}

/* One that is to be rented. What it will be able to save with is not known before it is there. */
static void to_rent(struct offers *k, struct placement_offer *o, const struct engine *e, const struct known *from)
{
        char why[MARKET_WHY_MAX];

        o->usable = false;
        if (from->conn->state != CONN_READY)
                o->why = from->conn->why;
        else if (from->stock == 0)
                o->why = "its provider has none of it to be had now";
        else if (!known_payable(from, now_wall(e)) && known_fault(from, now_wall(e), why))
                o->why = kept(k, why);
        else if (o->not_before_wall_us > now_wall(e) && from->pool && !from->pool->reclaimed)
                o->why = from->pool->why;
        else
                o->usable = true;
}

bool known_offer(struct offers *k, struct engine *e, const struct known *o, const struct placement_need *need)
{
        struct placement_offer p = o->base;
        struct offer_of of = { .conn = o->conn, .offer = o->offer };

        if (o->own)
                of.machine = machine_of_offer(e, o->conn, p.zone, p.type, (uint8_t)p.market);
        if (of.machine)
                of_machine(k, &p, e, of.machine, need);
        else if (o->own)
                p.why = o->conn->state != CONN_READY ? o->conn->why : "its machine has not been taken up yet";
        else
                to_rent(k, &p, e, o);
        if (o->own && need)
                p.price.nano = known_share(p.price.nano, &p, need->cpu_milli, need->memory_bytes, need->gpus);
        return vec_push(&k->at, p) && vec_push(&k->of, of);
}

static bool fill(struct offers *k, struct engine *e, const struct placement_need *need)
{
        const struct offers_known *known = known_now(e);

        if (!known)
                return false;
        vec_foreach (o, &known->at)
                if (!known_offer(k, e, o, need))
                        return false;
        return true;
}

bool offers_fill(struct offers *k, struct engine *e, const struct entry *en)
{
        struct placement_need need = { 0 };

        if (!en)
                return fill(k, e, NULL);
        need.cpu_milli = en->job.cpu_milli;
        need.memory_bytes = en->job.memory_bytes;
        need.gpus = en->job.gpus;
        return fill(k, e, &need);
}

/* --- what a job asks for --- */
struct placement_need offers_need(
        const struct engine *e, const struct entry *en, const struct spec *s, const struct settings *set)
{
        struct placement_need need = { .cpu_milli = s->cpu_milli,
                .gpus = s->gpus,
                .memory_bytes = s->memory_bytes,
                .disk_bytes = s->disk_bytes,
                .on = s->on,
                .capture = s->capture ? s->capture : "values",
                .no_spot = !set->spot_use };
        struct policy_job j = { .pinned = placement_pinned(s->on) };
        struct policy_measures x = { 0 };
        struct policy_size size;

        (void)e;
        if (!en)
                return need;
        need.state_bytes = en->job.state_bytes;
        j.cpu_milli = s->cpu_milli;
        j.memory_bytes = s->memory_bytes;
        gather_peaks(en, &x);
        size = policy_size(&j, &x, set);
        need.cpu_milli = size.cpu_milli;
        need.memory_bytes = size.memory_bytes;
        return need;
}

int offers_rank(struct engine *e, const struct entry *en, const struct spec *s, const struct settings *set,
        struct offers *k, struct placement_need *ret_need, struct placement_choice **ret, size_t *ret_ok,
        struct pd_error *err)
{
        struct placement_need need = offers_need(e, en, s, set);
        pd_cleanup(freep) struct placement_choice *c = NULL;
        int r;

        if (!fill(k, e, &need))
                return pd_fail(err, PD_E_NOMEM, "no memory for the offers");
        c = calloc(k->at.n + 1, sizeof *c);
        if (!c)
                return pd_fail(err, PD_E_NOMEM, "no memory for %zu offers", k->at.n);
        r = placement_rank(&need, k->at.at, k->at.n, now_wall(e), c, ret_ok, err);
        if (r >= 0 && *ret_ok == 0 && (need.cpu_milli != s->cpu_milli || need.memory_bytes != s->memory_bytes)) {
                /* P-14 chooses a better size; it keeps no job waiting for one */
                need.cpu_milli = s->cpu_milli;
                need.memory_bytes = s->memory_bytes;
                r = placement_rank(&need, k->at.at, k->at.n, now_wall(e), c, ret_ok, err);
        }
        if (r < 0)
                return r;
        *ret_need = need;
        *ret = pd_steal(c);
        return 0;
}
