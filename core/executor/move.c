/* SPDX-License-Identifier: Apache-2.0 */
/* A job goes from one machine to another (ARCHITECTURE 5). What is on disk of it is enum move_phase; each phase can be found by a daemon that has just
 * started, by what the two runners list.
 *
 *   TARGET   the target is made ready, the job runs on            -> SAVING  (target up, the terms still hold)
 *   SAVING   the source saves, and will stand still               -> HANDED  (held is seen) | BACK (no target any more) | none (refused)
 *   HANDED   the target's generation counts; the source is held   -> PROVED  (target runs) | BACK (target proven ended) | suspended (both ended)
 *   PROVED   the source is ended and released                     -> none
 *   BACK     the source runs on under a generation of its own     -> none | suspended (it has ended, too)
 *
 * Law 2: a generation begins only once the one before is held or proven ended. Law 11: the source ends only once the target runs. */
#include "executor/move.h"

#include "base/log.h"

#define LEASE_MARGIN_US \
        (2 * USEC_PER_MIN) /* clocks differ: past a hard stop by this much nothing runs there any more */

static const struct id no_id;

void move_name_of(const struct engine *e, struct id machine, char *buf, size_t n)
{
        const struct mach *m = machine_find(e, machine);

        (void)str_format(buf, n, "a machine that is gone");
        if (m)
                machine_offer_name(m, buf, n);
}

static bool is_there(const struct mach *m)
{
        return m && m->rec.state != PD_MACHINE_GONE;
}

static const char *policy_of(const struct entry *en)
{
        return en->job.flags & JOB_FLAG_MOVE_USER    ? "user"
               : en->live && en->live->reason.policy ? en->live->reason.policy
                                                     : "move";
}

/* --- requests about the placement that is held --- */
static struct op *ghost_op(struct turn *t, enum intent_kind kind, const struct entry *en, struct mach *m,
        uint32_t generation, json_t *body)
{
        struct entry ghost = { .job = { .id = en->job.id, .generation = generation } };

        return intent_open(t, kind, &ghost, m, body);
}

bool move_ghost_open(
        const struct engine *e, enum intent_kind kind, struct id job, struct id machine, uint32_t generation)
{
        for (const struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == kind && id_equal(op->intent.job, job) && id_equal(op->intent.machine, machine) &&
                        op->intent.generation == generation)
                        return true;
        return false;
}

/* What stands still on the other machine is ended, at once: it has no use any more. */
void move_stop_held(struct turn *t, const struct entry *en)
{
        struct mach *m = machine_find(t->engine, en->job.other);
        char job[ID_TEXT_MAX];

        if (!m || !en->job.other_generation || planted(PLANT_MOVE_LITTER) ||
                move_ghost_open(t->engine, INTENT_STOP, en->job.id, en->job.other, en->job.other_generation))
                return;
        (void)ghost_op(t, INTENT_STOP, en, m, en->job.other_generation,
                json_pack("{s:s,s:s,s:s,s:i}", "op", "stop", "job", id_format(ID_JOB, en->job.id, job), "cause",
                        en->job.op_mode == OP_STOP || en->job.op_mode == OP_SUSPEND
                                ? job_cause_name((enum job_cause)en->job.op_cause)
                                : "move",
                        "grace_us", 0));
}

void move_thaw(struct turn *t, struct entry *en, struct mach *m)
{
        char job[ID_TEXT_MAX];

        (void)intent_open(t, INTENT_THAW, en, m,
                json_pack("{s:s,s:s,s:o}", "op", "thaw", "job", id_format(ID_JOB, en->job.id, job), "orders",
                        order_orders(t, en, &en->live->settings, m)));
}

/* --- the record --- */
static void clear(struct job *j)
{
        j->move = MOVE_NONE;
        j->other = no_id;
        j->other_generation = 0;
        j->flags &= (uint8_t)~JOB_FLAG_MOVE_USER;
}

/* The move is over, and the other machine has no part in the job any more. */
void move_finish(struct turn *t, struct entry *en)
{
        struct mach *m = machine_find(t->engine, en->job.other);
        struct job after = en->job;

        clear(&after);
        if (en->live) {
                live_other(en, NULL);
                en->live->reason = (struct move_reason){ 0 };
        }
        job_touch(t, en, after, NULL);
        if (m)
                rent_unneeded(t, m);
}

struct id move_over(struct turn *t, struct entry *en, struct job *after)
{
        struct id other = after->other;

        if (after->move == MOVE_HANDED || after->move == MOVE_BACK)
                move_stop_held(t, en);
        clear(after);
        return other;
}

bool move_needs(const struct engine *e, const struct mach *m)
{
        for (size_t i = 0; i < e->slots_n; i++) {
                const struct job *j = e->slots[i] ? &e->slots[i]->job : NULL;

                if (j && j->move != MOVE_NONE && j->move != MOVE_PROVED && id_equal(j->other, m->rec.id))
                        return true;
        }
        return false;
}

/* --- beginning --- */
static int already(struct turn *t, const struct entry *en, const struct mach *m, struct pd_error *err)
{
        bool going = en->job.move == MOVE_TARGET || en->job.move == MOVE_SAVING;
        struct id to = going ? en->job.other : en->job.machine;
        char name[192];

        move_name_of(t->engine, to, name, sizeof name);
        if (en->job.move == MOVE_BACK)
                return pd_fail(err, PD_E_CONFLICT,
                        "the job is being taken up again on %s, which it was moved from: ask again once it runs", name);
        if (m && id_equal(m->rec.id, to))
                return 0; /* P-26: asked twice, it is one */
        return pd_fail(err, PD_E_CONFLICT, "the job is on its way to %s already: ask again once it runs there", name);
}

static int may_move(const struct entry *en, struct pd_error *err)
{
        if (en->job.state != JOB_RUNNING || !en->live)
                return pd_fail(err, PD_E_CONFLICT, "the job is %s, so it cannot be moved: only a running job can",
                        job_state_name((enum job_state)en->job.state));
        return 0;
}

static json_t *decided(const char *from, const char *to, const json_t *evidence, const struct entry *en)
{
        json_t *o = evidence ? json_deep_copy(evidence) : json_object();

        (void)json_object_set_new(o, "from", json_string(from));
        (void)json_object_set_new(o, "to", json_string(to));
        if (streq(en->live->capture, "restart")) /* P-21: each use is listed */
                (void)json_object_set_new(o, "consents", json_pack("[s]", MOVE_RESTART_CONSENT));
        return o;
}

static void save_begin(struct turn *t, struct entry *en, const char *to)
{
        char why[240];

        (void)str_format(why, sizeof why, "it moves to %s", to);
        if (act_save(t, en, OP_MOVE, CAUSE_MOVE, policy_of(en), why, NULL) < 0)
                log_error("a job that is to be moved could not be saved");
}

static void resize(struct job *after, const struct move_reason *r)
{
        if (r->cpu_milli > after->cpu_milli)
                after->cpu_milli = r->cpu_milli;
        if (r->memory_bytes > after->memory_bytes)
                after->memory_bytes = r->memory_bytes;
}

/* N-04: a stay on an own machine that has a price is reserved like a machine, by the size that the job will have there. */
static int stay_allowed(struct turn *t, const struct entry *en, struct mach *m, struct pd_error *err)
{
        struct entry sized = *en;

        resize(&sized.job, &en->live->reason);
        return money_stay_reserve(t, &sized, m, err);
}

int move_begin(struct turn *t, struct entry *en, struct connection *c, const json_t *offer, struct mach *m,
        const char *policy, const char *why, const json_t *evidence, const char *user, struct pd_error *err)
{
        struct job after;
        char from[192], to[192], message[320];
        bool own = m != NULL;
        int r;

        if (en->job.move != MOVE_NONE && en->job.move != MOVE_PROVED)
                return already(t, en, m, err);
        if ((r = may_move(en, err)) < 0)
                return r;
        if (m && en->live->machine == m)
                return 0; /* it is there */
        if (m && (!m->up || machine_noticed(t->engine, m))) {
                machine_offer_name(m, to, sizeof to);
                return pd_fail(
                        err, PD_E_CONFLICT, "the job cannot be moved to %s: %s", to, m->up ? "it gave notice" : m->why);
        }
        if (m && (r = stay_allowed(t, en, m, err)) < 0)
                return r;
        if (!m && !(m = rent_machine(t, en, c, offer, &en->live->settings, err)))
                return -(int)err->code;
        if (en->job.move == MOVE_PROVED)
                move_finish(t, en); /* its end is on its way in any case: an open intent, and what is listed is ended */
        after = en->job;
        machine_offer_name(en->live->machine, from, sizeof from);
        machine_offer_name(m, to, sizeof to);
        after.move = MOVE_TARGET;
        after.other = m->rec.id;
        after.other_generation = 0;
        if (user)
                after.flags |= JOB_FLAG_MOVE_USER;
        live_other(en, m);
        (void)str_format(message, sizeof message, "runs on until %s is ready: it moves there, %s", to, why);
        job_touch(t, en, after, &(struct job_doc){ .message = message, .trouble = "" });
        act_decision(t, en->job.id, policy, "move", why, decided(from, to, evidence, en), user);
        if (own)
                save_begin(t, en, to);
        return 0;
}

/* P-15: right before the save, on fresh values. A user's move holds whatever prices do. */
static bool still_holds(struct engine *e, struct entry *en, struct mach *target, char *why, size_t n)
{
        if (!target || machine_noticed(e, target)) {
                (void)str_format(why, n, "the target gave notice");
                return false;
        }
        if ((en->job.flags & JOB_FLAG_MOVE_USER) || planted(PLANT_MOVE_UNCHECKED))
                return true;
        return check_move_holds(e, en, why, n);
}

void move_target_up(struct turn *t, struct mach *m)
{
        struct engine *e = t->engine;

        for (size_t i = 0; i < e->slots_n; i++) {
                struct entry *en = e->slots[i];
                char why[240], to[192];

                if (en && en->job.move == MOVE_SAVING && id_equal(en->job.other, m->rec.id))
                        move_held_again(t, en, true);
                if (!en || en->job.move != MOVE_TARGET || !id_equal(en->job.other, m->rec.id) || !en->live ||
                        en->job.state != JOB_RUNNING)
                        continue;
                machine_offer_name(m, to, sizeof to);
                if (still_holds(e, en, m, why, sizeof why))
                        save_begin(t, en, to);
                else
                        (void)move_abandon(t, en, why);
        }
}

bool move_abandon(struct turn *t, struct entry *en, const char *why)
{
        char to[192], text[400];

        if (en->job.move != MOVE_TARGET && en->job.move != MOVE_SAVING && en->job.move != MOVE_PROVED)
                return en->job.move == MOVE_NONE;
        if (en->job.move != MOVE_PROVED) {
                move_name_of(t->engine, en->job.other, to, sizeof to);
                (void)str_format(text, sizeof text, "the move to %s is given up: %s", to, why);
                act_decision(t, en->job.id, policy_of(en), "stay", text, NULL, NULL);
        }
        move_finish(t, en);
        return true;
}

bool move_save_again(const struct job *j)
{
        return j->move == MOVE_SAVING;
}

/* --- saved and held: the target's turn, or back --- */
/* The stay at the source is over: its running time, its checkpoint, what its machine was worth. */
static struct job leave(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job after = en->job;

        outcome_checkpoint(t, en, &after, s);
        outcome_end(t, en, &after, s);
        after.state = JOB_RESTORING;
        after.cause = CAUSE_MOVE;
        after.generation += !planted(PLANT_MOVE_FENCELESS);
        return after;
}

/* The engine's bookkeeping of a job that changes its machine. after is on its way to the store. */
static bool take_over(struct turn *t, struct entry *en, const struct job *after, enum job_event event, struct mach *m,
        struct mach *other, const char *message)
{
        char offer[192];
        struct live *old = en->live, *l;
        struct mach *was = old->machine;

        machine_offer_name(m, offer, sizeof offer);
        check_flush(t, en);
        live_other(en, NULL);
        live_at(en, NULL); /* by its old size */
        if (!job_change(t, en, *after, event, &(struct job_doc){ .offer = offer, .trouble = "" }, message)) {
                live_at(en, was);
                return false;
        }
        en->live = NULL;
        l = live_new(en, m);
        if (!l) {
                log_error("no memory to move a job");
                en->live = old;
                live_at(en, m);
                return false;
        }
        live_take_over(l, old);
        l->other_seq = old->other_seq;
        json_decref(old->held);
        free(old);
        live_other(en, other);
        return true;
}

/* Saved, and nothing to go to: the source runs on. Only here and in HANDED is a held placement thawed: the target never began, or is proven ended. */
static void back(struct turn *t, struct entry *en, struct job after, struct mach *source, uint32_t held,
        struct mach *target, const char *why)
{
        char name[192], message[400];

        machine_offer_name(source, name, sizeof name);
        after.machine = after.other = source->rec.id;
        after.other_generation = held;
        after.move = MOVE_BACK;
        after.left_rate_nano = after.move_cost_nano = 0;
        (void)str_format(message, sizeof message, "runs on where it was, on %s: %s", name, why);
        if (!take_over(t, en, &after, EVENT_RETURN, source, NULL, message))
                return;
        act_decision(t, en->job.id, policy_of(en), "return to source", message, NULL, NULL);
        move_thaw(t, en, source);
        if (target)
                rent_unneeded(t, target);
}

static bool start_there(struct turn *t, struct entry *en, struct mach *target, struct pd_error *err)
{
        pd_cleanup(spec_freep) struct spec *s = NULL;
        js_owned *doc = NULL;
        struct settings set;
        json_t *order;

        if (job_load_spec(t->engine, en->job.id, &s, &set, &doc, NULL, err) < 0)
                return false;
        s->cpu_milli = en->job.cpu_milli; /* P-14: what it asks of this machine */
        s->memory_bytes = en->job.memory_bytes;
        order = order_make(t, en, s, &set, doc, target);
        if (!order) {
                (void)pd_fail(err, PD_E_INVALID, "its checkpoint or vault is not in the site's config any more");
                return false;
        }
        (void)intent_open(t, INTENT_START, en, target, order);
        return true;
}

static void keep_stop(struct turn *t, const struct entry *en, struct mach *m)
{
        int64_t stop = m->rec.own ? money_renew(t, m, t->now_wall_us + en->live->settings.lease_horizon_us) : 0;

        if (m->rec.stop_possible_wall_us >= stop)
                return;
        m->rec.stop_possible_wall_us = stop;
        txn_machine(t->txn, &m->rec);
}

/* `held`, with its checkpoint committed, is what the source wrote down before it said so. there: it stands still; else it has ended since. */
void move_hand_over(struct turn *t, struct entry *en, struct mach *source, const struct seen *s, bool there)
{
        struct mach *target = machine_find(t->engine, en->job.other);
        bool good = is_there(target) && target->up && !machine_noticed(t->engine, target);
        struct move_reason reason = en->live->reason;
        char to[192], message[320];
        struct pd_error err;
        struct job after;

        move_name_of(t->engine, en->job.other, to, sizeof to);
        if (!good && !there) {
                went_suspended(t, en, s, s->cause ? s->cause : CAUSE_MACHINE_LOST);
                return;
        }
        after = leave(t, en, s);
        en->live->other_seq = s->seq;
        if (!good) {
                back(t, en, after, source, s->generation, target,
                        "the machine that it was to move to is not there any more");
                return;
        }
        after.machine = target->rec.id;
        after.other = there ? source->rec.id : no_id;
        after.other_generation = there ? s->generation : 0;
        after.move = MOVE_HANDED;
        after.left_rate_nano = reason.left_rate_nano;
        after.move_cost_nano = reason.cost_nano;
        resize(&after, &reason);
        (void)str_format(message, sizeof message, "is taken up on %s", to);
        if (!take_over(t, en, &after, EVENT_HANDED, target, there ? source : NULL, message))
                return;
        en->live->reason = reason;
        keep_stop(t, en, target);
        if (planted(PLANT_MOVE_ENDS_EARLY))
                move_stop_held(t, en);
        if (planted(PLANT_MOVE_THAWS))
                move_thaw(t, en, source);
        if (!start_there(t, en, target, &err))
                move_target_failed(t, en, target, err.text);
}

/* --- the target has failed, by proof --- */
void move_both_lost(struct turn *t, struct entry *en)
{
        struct seen nothing = SEEN_NOTHING;

        went_lost(t, en, &nothing, CAUSE_MACHINE_LOST);
}

static void suspend_instead(struct turn *t, struct entry *en, const char *why)
{
        struct job after = en->job;
        char message[400];

        after.state = JOB_SUSPENDED;
        after.cause = after.op_cause;
        after.op_mode = OP_NONE;
        after.op_cause = CAUSE_NONE;
        after.ttl_wall_us = after.ttl_us == SETTING_OFF ? 0 : after.term_wall_us + after.ttl_us;
        after.expire_wall_us = t->now_wall_us + en->live->settings.keep_us;
        (void)str_format(message, sizeof message, "suspended, %s: saved for its move, which ended there (%s)",
                job_cause_text((enum job_cause)after.cause), why);
        (void)job_change(t, en, after, EVENT_START_FAILED, NULL, message);
}

void move_handed_failed(struct turn *t, struct entry *en, const char *why)
{
        struct mach *source = machine_find(t->engine, en->job.other), *target = en->live->machine;
        char name[192], text[400];

        machine_offer_name(target, name, sizeof name);
        (void)str_format(text, sizeof text, "%s could not take it up: %s", name, why);
        if (en->job.op_mode == OP_SUSPEND) {
                suspend_instead(t, en, text);
        } else if (!is_there(source) || !en->job.other_generation || planted(PLANT_MOVE_NO_RETURN)) {
                log_warning("a job was lost on both machines of its move: %s", text);
                move_both_lost(t, en);
        } else {
                struct job after = en->job;

                after.generation++;
                after.cause = CAUSE_MOVE;
                back(t, en, after, source, en->job.other_generation, target, text);
        }
}

void move_target_failed(struct turn *t, struct entry *en, struct mach *m, const char *why)
{
        struct job after = en->job;

        (void)m;
        if (en->job.move == MOVE_TARGET) {
                (void)move_abandon(t, en, why);
        } else if (en->job.move ==
                   MOVE_SAVING) { /* its save goes on: what is held then has nowhere to go, and runs on */
                struct mach *target = machine_find(t->engine, en->job.other);

                after.other = no_id;
                live_other(en, NULL);
                job_touch(t, en, after, NULL);
                if (target)
                        rent_unneeded(t, target);
        } else if (en->job.move == MOVE_HANDED && en->job.state == JOB_RESTORING) {
                move_handed_failed(t, en, why);
        }
}

void move_source_gone(struct turn *t, struct entry *en)
{
        struct job after = en->job;

        after.other = no_id;
        after.other_generation = 0;
        live_other(en, NULL);
        job_touch(t, en, after, NULL);
}

void move_machine_gone(struct turn *t, struct entry *en, struct mach *m)
{
        bool other = id_equal(en->job.other, m->rec.id);

        switch ((enum move_phase)en->job.move) {
        case MOVE_TARGET:
        case MOVE_SAVING:
                if (other)
                        move_target_failed(t, en, m, "its machine is gone");
                else
                        move_both_lost(t, en);
                break;
        case MOVE_HANDED:
                if (other)
                        move_source_gone(t, en);
                else if (en->job.state == JOB_RESTORING)
                        move_handed_failed(t, en, "its machine is gone");
                else
                        move_both_lost(t, en);
                break;
        case MOVE_PROVED:
                if (other)
                        move_finish(t, en);
                else
                        move_both_lost(t, en);
                break;
        case MOVE_BACK:
                move_both_lost(t, en);
                break;
        case MOVE_NONE:
                break;
        }
}

void thaw_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct entry *en = jobs_find(t->engine, op->intent.job);

        if (!en || en->job.generation != op->intent.generation || en->job.move != MOVE_BACK || !en->live)
                return;
        log_warning("what was held for a move cannot run on: %s", err->text);
        if (en->job.state == JOB_RESTORING && en->job.op_mode == OP_SUSPEND)
                suspend_instead(t, en, err->text);
        else
                move_both_lost(t, en);
}

/* --- the container runs where the record wants it --- */
void move_running(struct job *after, int64_t now_wall_us)
{
        if (after->state == JOB_RESTORING || after->move != MOVE_NONE)
                after->moved_wall_us = now_wall_us; /* P-16: a resume, too */
        if (after->move == MOVE_HANDED)
                after->move = MOVE_PROVED;
        else if (after->move == MOVE_BACK)
                clear(after);
        after->op_mode = OP_NONE; /* a suspension that had to wait for this follows at once */
        after->op_cause = CAUSE_NONE;
        after->cause = CAUSE_NONE;
}

void move_ran(struct turn *t, struct entry *en, const struct job *before)
{
        struct pd_error err;

        if (before->move == MOVE_HANDED) {
                struct mach *source = machine_find(t->engine, en->job.other);

                move_count_from_here(t, en);
                if (source && source->rec.own)
                        move_stop_held(t, en);
                if (!source || !en->job.other_generation || !source->rec.own)
                        move_finish(t, en); /* a rented one ends whole, whether its runner can be reached or not */
        }
        if (before->op_mode == OP_SUSPEND && en->live &&
                act_suspend(t, en, (enum job_cause)before->op_cause,
                        before->op_cause == CAUSE_USER ? "user" : job_cause_name((enum job_cause)before->op_cause),
                        "asked for while it was being moved", NULL, &err) < 0)
                log_warning("%s", err.text);
}
