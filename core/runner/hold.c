/* SPDX-License-Identifier: Apache-2.0 */
/* Held: saved in mode move, committed, and standing still. The record said so before anybody was told, so a runner that comes back finds it and
 * lets nothing of it run: only a thaw (a newer generation: portald has proof that no other machine runs the job), a stop, or a deadline goes on. */
#include "base/log.h"
#include "runner/runner.h"

#define LET_GO_US (30 * USEC_PER_SEC)

bool hold_is(const struct job *j)
{
        return j->phase == PHASE_HELD && streq(js_str(j->save, "mode", ""), save_mode_text(SAVE_MOVE));
}

void hold_after_restart(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        struct pd_error err;

        if (unit && cgroup_freeze(&j->r->cg, unit, true, &err) == 0)
                return;
        if (unit && !cgroup_populated(&j->r->cg, unit, "payload"))
                return; /* it has ended: its supervisor tells */
        log_error("%s is held for a move and cannot be made to stand still, so it is ended: %s", j->id, err.text);
        finish_kill(j);
}

int hold_becomes(struct job *j, enum save_mode mode, const char *cause, struct pd_error *err)
{
        if (j->kill_boot_us)
                return pd_fail(err, PD_E_CONFLICT, "%s is being stopped", j->id);
        (void)json_object_set_new(j->save, "mode", json_string(save_mode_text(mode)));
        (void)json_object_set_new(j->save, "cause", json_string(cause));
        job_set_cause(j, cause);
        log_info("%s was held for a move, and ends: %s (%s)", j->id, save_mode_text(mode), cause);
        job_changed(j);
        finish_kill(j);
        return 0;
}

/* --- thaw --- */
/* A stay of its own: what it ran before was counted when it was held. */
static void begin_anew(struct job *j, uint64_t generation)
{
        j->generation = generation;
        j->phase = PHASE_RUNNING;
        j->started_wall_us = now_wall_us();
        j->started_boot_us = now_boot_us();
        j->still_us = j->frozen_boot_us = j->ran_us = j->ttl_from_us = 0;
        json_decref(j->save);
        j->save = NULL;
        j->orders_done = 0;
        j->thawing = j->proved = 1;
}

static int take_orders(struct job *j, uint64_t generation, const json_t *orders, struct pd_error *err)
{
        json_t *mine = json_object_get(j->order, "orders");

        if (orders && !json_is_object(orders))
                return pd_fail(err, PD_E_INVALID, "\"orders\" is no object");
        if (!json_is_object(mine)) {
                mine = json_object();
                (void)json_object_set_new(j->order, "orders", mine);
        }
        (void)json_object_set_new(j->order, "generation", json_integer((json_int_t)generation));
        if (orders)
                (void)json_object_update(mine, (json_t *)(uintptr_t)orders);
        return job_store_order(j, err);
}

int hold_thaw(struct job *j, uint64_t generation, const json_t *orders, struct pd_error *err)
{
        int r;

        if (generation == j->generation && j->home != (int64_t)generation)
                return 0; /* told twice */
        if (!hold_is(j) || j->kill_boot_us)
                return pd_fail(err, PD_E_CONFLICT,
                        "%s is %s: only what was saved in mode move and is held can be thawed", j->id,
                        j->kill_boot_us ? "being ended" : phase_text(j->phase));
        if (generation == j->generation)
                return pd_fail(err, PD_E_CONFLICT,
                        "generation %llu of %s is the one that is held: a thaw brings a newer one",
                        (unsigned long long)generation, j->id);
        if ((r = take_orders(j, generation, orders, err)) < 0)
                return r;
        begin_anew(j, generation);
        job_changed(j);
        log_info("%s was held for a move, and runs on (generation %llu)", j->id, (unsigned long long)generation);
        orders_check(j);
        return 0;
}

struct release {
        struct runner *r;
        char id[ID_TEXT_MAX];
};

static void on_let_go(void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct release *l = arg;
        struct job *j = job_find(l->r, l->id);

        (void)ret, (void)items, (void)text;
        free(l);
        if (!j || !j->letting_go)
                return;
        j->letting_go = false;
        if (err && err->code == PD_E_CANCELLED)
                return;
        if (err && err->code != PD_E_UNSUPPORTED) { /* tried again with the next look at its standing orders */
                log_warning("%s: its capture has not let it go yet: %s", j->id, err->text);
                return;
        }
        j->thawing = 0;
        job_changed(j);
}

void hold_let_go(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        js_owned *about = capture_container(j);
        struct release *l = j->letting_go ? NULL : calloc(1, sizeof *l);
        struct pd_error err;

        if (!l || !unit || !about || !str_format(l->id, sizeof l->id, "%s", j->id)) {
                free(l);
                return;
        }
        l->r = j->r;
        j->letting_go = true;
        (void)cgroup_freeze(&j->r->cg, unit, false, NULL);
        if (capture_open(j, "capture", &j->capture, &err) == 0 &&
                host_call(j->capture, "resume", about, NULL, 0, NULL, LET_GO_US, on_let_go, l, &err) == 0)
                return;
        log_warning("%s: %s", j->id, err.text);
        j->letting_go = false;
        free(l);
}
