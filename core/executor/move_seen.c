/* SPDX-License-Identifier: Apache-2.0 */
/* What the two runners say of a job that moves, by the generation and the machine that they say it of. */
#include "executor/move.h"

#define LEASE_MARGIN_US \
        (2 * USEC_PER_MIN) /* clocks differ: past a hard stop by this much nothing runs there any more */
#define HELD_WAIT_US (30 * USEC_PER_SEC)

static bool is_held(const struct seen *s)
{
        return streq(s->phase, "held") && streq(s->save_state, "committed") && streq(s->save_mode, "move");
}

static bool took_the_machine(enum job_cause c)
{
        return c == CAUSE_NOTICE || c == CAUSE_LEASE || c == CAUSE_MACHINE_LOST || c == CAUSE_NONE;
}

/* Stopped between its machines, under a generation that never ran: nothing of it is left. */
static void stopped_still(struct turn *t, struct entry *en)
{
        struct job after = en->job;

        after.state = JOB_ENDED;
        after.result = RESULT_STOPPED;
        after.cause = after.op_cause;
        after.ended_wall_us = t->now_wall_us;
        after.expire_wall_us = t->now_wall_us;
        if (after.cause == CAUSE_TTL && !id_is_null(after.checkpoint))
                after.expire_wall_us += en->live->settings.ttl_keep_us;
        after.op_mode = OP_NONE;
        after.op_cause = CAUSE_NONE;
        after.ttl_wall_us = 0;
        (void)job_change(t, en, after, EVENT_EXITED, NULL, "stopped while it was being moved");
}

/* The placement that was held, by its older generation. */
static bool observe_source(struct turn *t, struct mach *m, struct entry *en, const struct seen *s, bool listed_anew)
{
        bool over = seen_over(s), back_here = en->job.move == MOVE_BACK;

        if (s->seq < en->live->other_seq)
                return true; /* overtaken: it was told before it stood still */
        en->live->other_seq = s->seq;
        if (!over && !streq(s->phase, "held"))
                return false; /* it was thawed by nobody of us: ended like every stray */
        if (over && back_here && en->job.state == JOB_ENDING)
                stopped_still(t, en);
        else if (over && back_here)
                move_both_lost(t, en);
        else if (over && en->job.move == MOVE_HANDED)
                move_source_gone(t, en);
        else if (over)
                move_finish(t, en);
        if (over) {
                outcome_release(t, m, s);
                return true;
        }
        if (!listed_anew)
                return true;
        if (en->job.move == MOVE_PROVED || en->job.state == JOB_ENDING)
                move_stop_held(t, en);
        else if (back_here && !move_ghost_open(t->engine, INTENT_THAW, en->job.id, m->rec.id, en->job.generation))
                move_thaw(t, en, m);
        return true;
}

/* A target whose stream is down for a moment (a restart, the network) is waited for, but not for long: the job stands still. */
static bool worth_waiting(struct engine *e, const struct entry *en)
{
        const struct mach *target = machine_find(e, en->job.other);

        return target && target->rec.state != PD_MACHINE_GONE && !target->up && !machine_noticed(e, target) &&
               now_boot(e) < en->live->held_boot_us + HELD_WAIT_US;
}

static bool observe_saving(struct turn *t, struct mach *m, struct entry *en, const struct seen *s)
{
        bool ended = streq(s->phase, "exited") && streq(s->save_state, "committed") && streq(s->save_mode, "move") &&
                     took_the_machine(s->cause);

        if (en->job.state != JOB_SAVING || en->job.op_mode != OP_MOVE || (!is_held(s) && !ended))
                return false;
        if (!en->live->held)
                en->live->held_boot_us = now_boot(t->engine);
        json_decref(en->live->held);
        en->live->held = NULL;
        if (!ended && worth_waiting(t->engine, en)) {
                en->live->held = json_deep_copy(s->p);
                jobs_due(t->engine, en, en->live->held_boot_us + HELD_WAIT_US);
                jobs_arm(t->engine);
                return true;
        }
        move_hand_over(t, en, m, s, !ended);
        if (ended)
                outcome_release(t, m, s);
        return true;
}

void move_held_again(struct turn *t, struct entry *en, bool up)
{
        js_owned *held = en->live ? en->live->held : NULL;
        struct seen s;

        if (!held || (!up && worth_waiting(t->engine, en)) || !seen_read(held, &s)) {
                held = NULL;
                return;
        }
        en->live->held = NULL;
        if (en->job.state == JOB_SAVING && en->job.op_mode == OP_MOVE)
                move_hand_over(t, en, en->live->machine, &s, true);
}

static bool observe_target(struct turn *t, struct mach *m, struct entry *en, const struct seen *s)
{
        struct pd_error why;
        bool never_ran = streq(s->phase, "exited") && !s->proved && js_int(s->exit, "code", 1) != 0;

        if (en->job.state != JOB_RESTORING || !(streq(s->phase, "failed") || never_ran))
                return false;
        js_to_error(json_object_get(s->p, "error"), &why);
        move_target_failed(t, en, m, never_ran ? "its container ended before it had taken its state up" : why.text);
        outcome_release(t, m, s);
        return true;
}

bool move_observe(struct engine *e, struct mach *m, struct entry *en, const json_t *placement, bool listed_anew)
{
        struct seen s;
        bool here, there, done = false;
        struct turn *t;

        if (!en->live || !seen_read(placement, &s))
                return false;
        here = en->live->machine == m && s.generation == en->job.generation;
        there = id_equal(en->job.other, m->rec.id) && en->job.other_generation &&
                s.generation == en->job.other_generation;
        if (here && en->live->seen && s.seq < en->live->seq)
                return false;
        t = here || there ? turn_new(e) : NULL;
        if (!t)
                return false;
        if (there)
                done = observe_source(t, m, en, &s, listed_anew);
        else if (en->job.move == MOVE_SAVING)
                done = observe_saving(t, m, en, &s);
        else if (en->job.move == MOVE_HANDED)
                done = observe_target(t, m, en, &s);
        turn_end(t);
        return done;
}

static bool has(const json_t *placements, const struct job *j, uint32_t generation)
{
        char id[ID_TEXT_MAX];
        size_t i;
        json_t *p;

        (void)id_format(ID_JOB, j->id, id);
        json_array_foreach (placements, i, p)
                if (streq(js_str(p, "job", ""), id) && js_int(p, "generation", 0) == generation)
                        return true;
        return false;
}

bool move_missing(struct engine *e, struct mach *m, struct entry *en, const json_t *placements)
{
        const struct job *j = &en->job;
        bool here = en->live && en->live->machine == m, there = id_equal(j->other, m->rec.id) && j->other_generation;
        bool held = there && has(placements, j, j->other_generation), done = false;
        struct turn *t;

        if (here && j->move == MOVE_BACK && !has(placements, j, j->generation))
                return held || move_ghost_open(e, INTENT_THAW, j->id, m->rec.id, j->generation);
        if ((!here && !there) || held)
                return !here;
        if (here && (j->move != MOVE_HANDED || j->state != JOB_RESTORING || has(placements, j, j->generation) ||
                            intent_find(e, INTENT_START, j->id)))
                return false;
        t = turn_new(e);
        if (!t)
                return true;
        if (here)
                move_handed_failed(t, en, "its machine does not know it any more");
        else if (j->move == MOVE_HANDED)
                move_source_gone(t, en);
        else if (j->move == MOVE_PROVED)
                move_finish(t, en);
        done = true;
        turn_end(t);
        return done;
}

/* --- a stronger operation --- */
bool move_suspends(const struct job *j)
{
        return j->state == JOB_RESTORING && (j->move == MOVE_HANDED || j->move == MOVE_BACK);
}

void move_stop_other(struct turn *t, struct entry *en)
{
        if (en->job.move == MOVE_HANDED || en->job.move == MOVE_BACK)
                move_stop_held(t, en);
}

void move_stop_refused(struct turn *t, const struct op *op)
{
        struct entry *en = jobs_find(t->engine, op->intent.job);

        if (en && en->job.move == MOVE_PROVED && id_equal(op->intent.machine, en->job.other) &&
                op->intent.generation == en->job.other_generation)
                move_finish(t, en);
}

/* A target that is out of reach is not ended; one whose hard stop is past is: its runner ended what ran there by its lease. */
void move_check(struct engine *e, struct entry *en)
{
        const struct mach *m = en->live ? en->live->machine : NULL;
        struct turn *t = en->live && en->live->held ? turn_new(e) : NULL;

        if (t) {
                move_held_again(t, en, false);
                turn_end(t);
                return;
        }
        if (en->job.move != MOVE_HANDED || en->job.state != JOB_RESTORING || !m || m->up || !m->rec.own ||
                !m->rec.stop_possible_wall_us || now_wall(e) < m->rec.stop_possible_wall_us + LEASE_MARGIN_US)
                return;
        t = turn_new(e);
        if (!t)
                return;
        move_handed_failed(t, en, "it is out of reach, and its hard stop is past");
        turn_end(t);
}

/* --- what people see of it --- */
json_t *move_render(struct engine *e, const struct job *j)
{
        static const char *const names[] = { "", "target", "saving", "handed", "proved", "back" };
        bool going = j->move == MOVE_TARGET || j->move == MOVE_SAVING;
        const struct entry *en = jobs_find(e, j->id);
        char here[192], other[192];
        json_t *o;

        if (j->move == MOVE_NONE)
                return NULL;
        move_name_of(e, j->machine, here, sizeof here);
        move_name_of(e, j->other, other, sizeof other);
        o = json_pack("{s:s,s:s,s:s,s:b}", "phase", names[j->move], "from", going ? here : other, "to",
                going ? other : here, "user", (j->flags & JOB_FLAG_MOVE_USER) != 0);
        if (en && en->live &&
                streq(en->live->capture, "restart")) /* P-21: what goes only by an explicit word is said each time */
                (void)json_object_set_new(o, "consents", json_pack("[s]", MOVE_RESTART_CONSENT));
        return o;
}
