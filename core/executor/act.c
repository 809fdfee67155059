/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on a job: one at a time, stop > ttl > notice > others; a stronger one re-targets the weaker. */
#include "executor/internal.h"

#include <stdio.h>

void act_decision(struct turn *t, struct id job, const char *policy, const char *act, const char *why, json_t *evidence,
        const char *user)
{
        if (!evidence)
                evidence = pd_steal(t->evidence);
        txn_decision(t->txn, engine_id(t->engine), job, t->now_wall_us, policy, act, why, evidence, user);
        json_decref(evidence);
}

int64_t job_ran_us(const struct engine *e, const struct job *j)
{
        const struct entry *en = jobs_find(e, j->id);
        int64_t now = now_wall(e), started = j->started_wall_us;

        /* the hot record goes along with the steps of the wall clock (clock.c), what is on disk does not */
        if (started && en && en->job.generation == j->generation)
                started = en->job.started_wall_us;
        return j->ran_us + (started && now > started ? now - started : 0);
}

static int rank_of(enum op_mode mode, enum job_cause cause)
{
        if (mode == OP_NONE)
                return 0;
        if (mode == OP_STOP)
                return 5;
        if (mode == OP_STOP_SAVE)
                return 4;
        if (mode == OP_MOVE)
                return 1;
        return cause == CAUSE_NOTICE ? 3 : 2;
}

static int not_now(const struct entry *en, const char *verb, struct pd_error *err)
{
        return pd_fail(err, PD_E_CONFLICT, "the job is %s, so it cannot be %s",
                job_state_name((enum job_state)en->job.state), verb);
}

const char *act_save_mode(enum op_mode mode)
{
        return mode == OP_SUSPEND ? "suspend" : mode == OP_KEEP ? "keep" : mode == OP_MOVE ? "move" : "stop";
}

json_t *act_save_body(const struct entry *en)
{
        const char *mode = act_save_mode((enum op_mode)en->job.op_mode);
        char job[ID_TEXT_MAX], ckp[ID_TEXT_MAX];

        return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "op", "save", "job", id_format(ID_JOB, en->job.id, job), "mode",
                mode, "checkpoint", id_format(ID_CHECKPOINT, en->job.op_checkpoint, ckp), "cause",
                job_cause_name((enum job_cause)en->job.op_cause), "deadline_us",
                (json_int_t)en->live->settings.save_deadline_us);
}

int act_save(struct turn *t, struct entry *en, enum op_mode mode, enum job_cause cause, const char *policy,
        const char *why, const char *user)
{
        struct job after = en->job;
        char message[240];

        if (mode != OP_MOVE && en->job.move != MOVE_NONE) {
                (void)move_abandon(t, en, why);
                after = en->job;
        }
        if (mode == OP_MOVE)
                after.move = MOVE_SAVING;
        after.state = JOB_SAVING;
        after.op_mode = (uint8_t)mode;
        after.cause = after.op_cause = (uint8_t)cause;
        /* the runner may be at it by its standing orders: the same name makes it one save */
        if (en->job.state != JOB_SAVING || en->job.op_mode != OP_MOVE) /* else the save that goes on becomes this one */
                after.op_checkpoint = cause == CAUSE_NOTICE && !id_is_null(en->live->notice_checkpoint)
                                              ? en->live->notice_checkpoint
                                              : engine_id(t->engine);
        (void)str_format(message, sizeof message, "is being saved: %s", why);
        if (!job_change(t, en, after, EVENT_SAVE, &(struct job_doc){ .trouble = "" }, message))
                return -(int)PD_E_CONFLICT;
        act_decision(t, en->job.id, policy,
                mode == OP_SUSPEND ? "suspend"
                : mode == OP_MOVE  ? "save"
                                   : "stop",
                why, NULL, user);
        (void)intent_open(t, INTENT_SAVE, en, en->live->machine, act_save_body(en));
        return 0;
}

/* Between its machines: it follows once the job runs on one of them; if it runs on none, the checkpoint of the move is the suspension's. */
static int suspend_later(
        struct turn *t, struct entry *en, enum job_cause cause, const char *policy, const char *why, const char *user)
{
        struct job after = en->job;

        if (after.op_mode == OP_SUSPEND)
                return 0;
        after.op_mode = OP_SUSPEND;
        after.op_cause = (uint8_t)cause;
        job_touch(t, en, after, &(struct job_doc){ .message = "is suspended as soon as its move is through" });
        act_decision(t, en->job.id, policy, "suspend", why, NULL, user);
        return 0;
}

int act_suspend(struct turn *t, struct entry *en, enum job_cause cause, const char *policy, const char *why,
        const char *user, struct pd_error *err)
{
        if (en->job.state == JOB_SUSPENDED ||
                (en->job.state == JOB_SAVING && en->job.op_mode == OP_SUSPEND && !planted(PLANT_SUSPEND_TWICE)))
                return 0; /* it is there, or on its way (P-26: twice is once) */
        if (move_suspends(&en->job))
                return suspend_later(t, en, cause, policy, why, user);
        if (planted(PLANT_MOVE_DEAF) && en->job.state == JOB_SAVING)
                return 0;
        if (!en->live ||
                (en->job.state != JOB_RUNNING &&
                        !(en->job.state == JOB_SAVING && (en->job.op_mode == OP_MOVE || planted(PLANT_SUSPEND_TWICE)))))
                return not_now(en, "suspended", err);
        return act_save(t, en, OP_SUSPEND, cause, policy, why, user);
}

static int end_queued(struct turn *t, struct entry *en, const char *policy, const char *why, const char *user)
{
        struct job after = en->job;

        after.state = JOB_ENDED;
        after.result = RESULT_STOPPED;
        after.cause = CAUSE_USER;
        after.ended_wall_us = after.expire_wall_us = t->now_wall_us;
        after.ttl_wall_us = 0;
        if (!job_change(t, en, after, EVENT_STOP, NULL, why))
                return -(int)PD_E_CONFLICT;
        act_decision(t, en->job.id, policy, "stop", why, NULL, user);
        return 0;
}

static json_t *stop_body(const struct entry *en, int64_t grace_us)
{
        char job[ID_TEXT_MAX];

        return json_pack("{s:s,s:s,s:s,s:I}", "op", "stop", "job", id_format(ID_JOB, en->job.id, job), "cause",
                job_cause_name((enum job_cause)en->job.op_cause), "grace_us", (json_int_t)grace_us);
}

int act_stop(struct turn *t, struct entry *en, enum job_cause cause, bool save_first, const char *policy,
        const char *why, const char *user, struct pd_error *err)
{
        enum op_mode mode = save_first ? OP_STOP_SAVE : OP_STOP;
        struct job after = en->job;
        bool waits;

        if (en->job.state == JOB_ENDED || en->job.state == JOB_ENDING)
                return 0; /* idempotent */
        if (en->job.state == JOB_QUEUED || en->job.state == JOB_SUSPENDED)
                return end_queued(t, en, policy, why, user);
        if (!en->live)
                return not_now(en, "stopped", err);
        if (planted(PLANT_STOP_WAITS) && en->job.state == JOB_SAVING)
                return 0;
        if (rank_of((enum op_mode)en->job.op_mode, (enum job_cause)en->job.op_cause) >= rank_of(mode, cause))
                return 0;
        if (save_first && (en->job.state == JOB_RUNNING || en->job.state == JOB_SAVING))
                return act_save(t, en, OP_STOP_SAVE, cause, policy, why, user);
        (void)move_abandon(t, en, why);
        waits = en->job.state == JOB_STARTING || en->job.state == JOB_RESTORING;
        after = en->job;
        after.state = JOB_ENDING;
        after.op_mode = OP_STOP;
        after.cause = after.op_cause = (uint8_t)cause;
        if (!job_change(t, en, after, EVENT_STOP, NULL, why))
                return -(int)PD_E_CONFLICT;
        act_decision(t, en->job.id, policy, "stop", why, NULL, user);
        move_stop_other(t, en); /* between its machines both ends are stopped */
        (void)intent_open(t, INTENT_STOP, en, en->live->machine, stop_body(en, en->live->settings.stop_grace_us));
        if (waits && !en->live->machine->was_up) /* one that is still being made is not waited for */
                rent_end(t, en->live->machine, "its job was stopped before it was ready");
        return 0;
}

/* Asked again while the order is on its way, it is the same order. */
static bool killed_already(const struct engine *e, const struct entry *en)
{
        for (const struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == INTENT_STOP && id_equal(op->intent.job, en->job.id) &&
                        js_int(op->body, "grace_us", -1) == 0)
                        return true;
        return false;
}

int act_kill(struct turn *t, struct entry *en, const char *user, struct pd_error *err)
{
        int r = en->job.state == JOB_ENDING
                        ? 0
                        : act_stop(t, en, CAUSE_USER, false, "user", "asked for, at once", user, err);

        if (r < 0 || en->job.state != JOB_ENDING || !en->live || killed_already(t->engine, en))
                return r;
        (void)intent_open(t, INTENT_STOP, en, en->live->machine, stop_body(en, 0));
        return 0;
}

int act_resume(struct turn *t, struct entry *en, const char *user, bool fresh, struct pd_error *err)
{
        struct job after = en->job;
        bool term = en->job.state == JOB_ENDED;

        if (en->job.state != JOB_SUSPENDED && en->job.state != JOB_ENDED) {
                if (en->job.flags & JOB_FLAG_RESUMED)
                        return 0; /* asked before, and still on its way */
                return not_now(en, "resumed", err);
        }
        if (id_is_null(en->job.checkpoint) || (term && en->job.expire_wall_us <= t->now_wall_us))
                return pd_fail(err, PD_E_CONFLICT, "the job has no checkpoint to resume from%s",
                        term ? ": it ended, and what it had is gone" : "");
        after.state = JOB_QUEUED;
        after.result = RESULT_NONE;
        after.cause = CAUSE_NONE;
        after.flags = (uint8_t)((after.flags & ~JOB_FLAG_FRESH) | JOB_FLAG_RESUMED | (fresh ? JOB_FLAG_FRESH : 0));
        after.tries = 0;
        after.next_try_wall_us = 0;
        after.op_mode = OP_NONE;
        after.op_cause = CAUSE_NONE;
        if (term) { /* P-02: a new term, running time from 0, same job */
                after.ran_before_us += after.ran_us;
                after.ran_us = 0;
                after.term_wall_us = t->now_wall_us;
                after.ended_wall_us = 0;
                after.ttl_wall_us = after.ttl_us == SETTING_OFF ? 0 : t->now_wall_us + after.ttl_us;
        }
        if (!job_change(t, en, after, EVENT_RESUME, NULL, "waits for a place, resumed by its user"))
                return pd_fail(err, PD_E_INTERNAL, "the job cannot be resumed from here");
        act_decision(
                t, en->job.id, "user", "resume", fresh ? "asked for, from the beginning" : "asked for", NULL, user);
        return 0;
}

/* A job that waits (suspended, or queued by resume) and whose time is over. The checkpoint outlives a clock limit by 7 days. */
void act_end_waiting(struct turn *t, struct entry *en, enum job_cause cause, const char *why)
{
        struct job after = en->job;
        struct settings s;
        struct pd_error err;
        int64_t keep = 7 * USEC_PER_DAY;

        if (job_load_spec(t->engine, after.id, NULL, &s, NULL, NULL, &err) >= 0)
                keep = s.ttl_keep_us;
        after.state = JOB_ENDED;
        after.result = cause == CAUSE_TTL ? RESULT_STOPPED : RESULT_FAILED;
        after.cause = (uint8_t)cause;
        after.ended_wall_us = t->now_wall_us;
        after.ttl_wall_us = 0;
        after.expire_wall_us = cause == CAUSE_TTL ? t->now_wall_us + keep : t->now_wall_us;
        after.flags &= (uint8_t)~JOB_FLAG_RESUMED;
        if (job_change(t, en, after, cause == CAUSE_TTL ? EVENT_TTL : EVENT_EXPIRE, NULL, why))
                act_decision(t, en->job.id, "ttl", cause == CAUSE_TTL ? "stop" : "expire", why, NULL, NULL);
}
