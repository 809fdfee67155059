/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a placement, or of a save of it, as changes of its job: one function an outcome. */
#include "executor/observe.h"

#include "base/log.h"

/* The container's files go once portald has recorded the end. A notice and a release may cross: it is asked for once. */
void outcome_release(struct turn *t, struct mach *m, const struct seen *s)
{
        struct entry ghost = { .job = { .id = s->job, .generation = s->generation } };

        if (planted(PLANT_RELEASE_LEFT))
                return;
        for (const struct op *op = t->engine->ops; op; op = op->next)
                if (op->intent.kind == INTENT_RELEASE && id_equal(op->intent.job, s->job) &&
                        op->intent.generation == s->generation)
                        return;
        (void)intent_open(
                t, INTENT_RELEASE, &ghost, m, json_pack("{s:s,s:s}", "op", "release", "job", js_str(s->p, "job", "")));
}

/* When its container started, in terms of the present wall clock: how long it ran is counted on the boot clock, and the wall clock may have been
 * stepped since. */
static int64_t started_at(const struct seen *s, int64_t now_wall_us)
{
        int64_t started = js_int(s->p, "started_wall_us", 0), ran = js_int(s->p, "ran_us", -1);

        return started && ran >= 0 ? now_wall_us - ran : started;
}

void outcome_pid(struct turn *t, struct entry *en, const struct seen *s)
{
        struct live *l = en->live;
        int64_t started = started_at(s, t->now_wall_us);

        if (!l)
                return;
        l->seen = true;
        l->seq = s->seq;
        l->pid = (int32_t)js_int(s->p, "pid", 0);
        if (started && !l->container_wall_us)
                l->progress_wall_us = started;
        l->container_wall_us = started;
        if (en->job.started_wall_us)
                en->job.started_wall_us = started;
}

void went_running(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job before = en->job, after = before;
        bool restored = after.state == JOB_RESTORING;
        const char *digest = js_str(s->p, "image_digest", "");

        if (restored)
                move_running(&after, t->now_wall_us);
        after.state = JOB_RUNNING;
        after.started_wall_us = started_at(s, t->now_wall_us);
        after.tries = 0;
        /* the deadlines of the suspension end only now: a resume that never got this far kept them */
        after.ttl_wall_us = after.expire_wall_us = 0;
        after.flags &= (uint8_t) ~(JOB_FLAG_RESUMED | JOB_FLAG_FRESH | JOB_FLAG_WARNED);
        if (job_change(t, en, after, EVENT_STARTED, &(struct job_doc){ .image_digest = *digest ? digest : NULL },
                    restored ? "runs on from its checkpoint" : "runs") &&
                before.move != MOVE_NONE)
                move_ran(t, en, &before);
}

/* --- saves --- */
static enum op_mode mode_of(const char *save_mode)
{
        static const struct {
                const char *name;
                enum op_mode mode;
        } modes[] = { { "stop", OP_STOP_SAVE }, { "keep", OP_KEEP }, { "move", OP_MOVE } };

        for (size_t i = 0; i < ARRAY_LEN(modes); i++)
                if (streq(save_mode, modes[i].name))
                        return modes[i].mode;
        return OP_SUSPEND;
}

/* A save for a move, which its runner made another by its standing orders. */
void save_stronger(struct turn *t, struct entry *en, const struct seen *s)
{
        enum op_mode mode = mode_of(s->save_mode);
        struct job after;
        char message[200];

        if (en->job.op_mode != OP_MOVE || (mode != OP_SUSPEND && mode != OP_STOP_SAVE))
                return;
        (void)move_abandon(t, en, job_cause_text(s->save_cause));
        after = en->job;
        after.op_mode = (uint8_t)mode;
        after.cause = after.op_cause = (uint8_t)s->save_cause;
        (void)str_format(message, sizeof message, "is being saved: %s", job_cause_text(s->save_cause));
        (void)job_change(t, en, after, EVENT_SAVE, NULL, message);
}

void save_begun(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job after = en->job;
        struct id ckp;
        char message[200];

        if (after.state != JOB_RUNNING || !id_parse(ID_CHECKPOINT, js_str(s->save, "checkpoint", ""), &ckp))
                return;
        after.state = JOB_SAVING;
        if (en->job.move == MOVE_TARGET) {
                (void)move_abandon(t, en, "its runner saves it by its standing orders");
                after = en->job;
                after.state = JOB_SAVING;
        }
        after.op_mode = (uint8_t)mode_of(s->save_mode);
        if (after.op_mode == OP_MOVE) /* what is held of it has nowhere to go any more, and runs on */
                after.move = MOVE_SAVING;
        after.cause = after.op_cause = (uint8_t)s->save_cause;
        after.op_checkpoint = ckp;
        (void)str_format(message, sizeof message, "is being saved: %s", job_cause_text(s->save_cause));
        if (job_change(t, en, after, EVENT_SAVE, NULL, message))
                act_decision(t, en->job.id, s->save_cause == CAUSE_NOTICE ? "spot" : js_str(s->save, "cause", ""),
                        "save", "its runner acted by its standing orders", json_deep_copy(s->save), NULL);
}

void outcome_checkpoint(struct turn *t, struct entry *en, struct job *after, const struct seen *s)
{
        struct checkpoint c = { .job = en->job.id, .generation = s->generation }, scratch;

        if (!id_parse(ID_CHECKPOINT, js_str(s->save, "checkpoint", ""), &c.id))
                return;
        c.bytes = (uint64_t)js_int(s->save, "bytes", 0);
        c.wall_us = js_int(s->save, "wall_us", t->now_wall_us);
        c.freeze_us = js_int(s->save, "freeze_us", 0);
        c.took_us = js_int(s->save, "took_us", 0);
        (void)str_format(c.capture, sizeof c.capture, "%s", en->live ? en->live->capture : "");
        (void)str_format(
                c.vault, sizeof c.vault, "%s", js_str(s->save, "vault", job_vault(t->engine, &en->job, &scratch)));
        (void)str_format(c.progress, sizeof c.progress, "%s", js_str(s->save, "progress", ""));
        (void)str_format(c.image_digest, sizeof c.image_digest, "%s", js_str(s->save, "image_digest", ""));
        txn_checkpoint(t->txn, &c);
        after->state_bytes = (uint64_t)js_int(s->save, "state_bytes", (int64_t)c.bytes);
        if (en->live && en->live->machine)
                offers_learn_save(t->engine, en->live->machine, after->state_bytes, c.took_us, c.freeze_us);
        /* law 12: the one before goes only when this one is on disk with it */
        if (!id_is_null(after->checkpoint) && !id_equal(after->checkpoint, c.id))
                checkpoint_drop(t, en, planted(PLANT_DROP_NEWEST) ? c.id : after->checkpoint);
        after->checkpoint = c.id;
}

/* The save did not come about and the job runs on (P-21, P-25): said by name, and tried again after 10 minutes, doubling to an hour. */
void save_gave_up(struct turn *t, struct entry *en, const json_t *error, const json_t *values, bool refused)
{
        js_owned *trouble = json_pack("{s:O?,s:O?,s:s,s:I}", "error", error, "values", values, "cause",
                job_cause_name((enum job_cause)en->job.op_cause), "at_wall_us", (json_int_t)t->now_wall_us);
        pd_cleanup(freep) char *text = trouble ? js_dump(trouble) : NULL;
        const char *policy = job_cause_name((enum job_cause)en->job.op_cause);
        const json_t *first = json_array_get(values, 0);
        struct job after = en->job;
        int64_t wait = RETRY_FIRST_US;
        char message[400], id[ID_TEXT_MAX];
        enum job_cause cause;
        struct pd_error err;
        bool ends;

        if (after.state != JOB_SAVING)
                return;
        if (en->job.move != MOVE_NONE) {
                (void)move_abandon(t, en, "its state could not be saved");
                after = en->job;
        }
        if (first)
                (void)str_format(message, sizeof message, "cannot be saved, so it runs on: %s (%s): %s%s",
                        js_str(first, "path", "?"), js_str(first, "type", "?"), js_str(first, "reason", ""),
                        json_array_size(values) > 1 ? ", and more: see `portal precheck`" : "");
        else
                (void)str_format(message, sizeof message, "could not be saved, so it runs on: %s",
                        js_str(error, "text", "no reason given"));
        if (en->live) {
                for (uint32_t i = 0; i < en->live->refusals && wait < RETRY_MAX_US; i++)
                        wait *= 2;
                en->live->refusals++;
                en->live->refused_cause = (enum job_cause)after.op_cause;
        }
        ends = after.op_mode == OP_STOP_SAVE || planted(PLANT_REFUSED_STOPS);
        cause = (enum job_cause)after.op_cause;
        after.state = JOB_RUNNING;
        after.cause = CAUSE_NONE;
        after.op_mode = OP_NONE;
        after.op_cause = CAUSE_NONE;
        after.op_checkpoint = (struct id){ { 0 } };
        after.next_try_wall_us = t->now_wall_us + (wait < RETRY_MAX_US ? wait : RETRY_MAX_US);
        if (!job_change(t, en, after, EVENT_REFUSED, &(struct job_doc){ .trouble = text }, message))
                return;
        act_decision(t, en->job.id, policy, refused ? "refused" : "failed", message,
                json_pack("{s:O?,s:O?}", "values", values, "error", error), NULL);
        /* a limit does not wait for a save that cannot be had: the runner ends it now, or is told to */
        if (ends && !planted(PLANT_TTL_HOT_LOOP) &&
                act_stop(t, en, cause, false, policy, "it could not be saved, so it is stopped without", NULL, &err) <
                        0)
                log_warning("job %s: %s", id_format(ID_JOB, en->job.id, id), err.text);
}

void save_refused(struct turn *t, struct entry *en, const struct seen *s)
{
        save_gave_up(t, en, json_object_get(s->save, "error"), json_object_get(s->save, "values"),
                streq(s->save_state, "refused"));
}

void save_kept(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job after = en->job;

        if (after.state != JOB_SAVING)
                return;
        outcome_checkpoint(t, en, &after, s);
        after.state = JOB_RUNNING;
        after.cause = CAUSE_NONE;
        after.op_mode = OP_NONE;
        after.op_cause = CAUSE_NONE;
        (void)job_change(t, en, after, EVENT_KEPT, NULL, "saved, and runs on");
}

/* --- ends --- */
static void op_over(struct job *after)
{
        after->op_mode = OP_NONE;
        after->op_cause = CAUSE_NONE;
        after->op_checkpoint = (struct id){ { 0 } };
        after->next_try_wall_us = 0;
}

void outcome_end(struct turn *t, struct entry *en, struct job *after, const struct seen *s)
{
        move_stay_over(t, en, after);
        if (!planted(PLANT_TTL_FORGETS))
                after->ran_us += js_int(s->p, "ran_us", 0);
        after->started_wall_us = 0;
        op_over(after);
        if (after->state == JOB_ENDED)
                after->ended_wall_us = t->now_wall_us;
}

/* Both deadlines of P-02 and P-03; past due already: it ends in this very transaction. */
static void suspend_deadlines(struct turn *t, const struct entry *en, struct job *after)
{
        const struct settings *s = en->live ? &en->live->settings : NULL;

        after->ttl_wall_us = after->ttl_us == SETTING_OFF ? 0 : after->term_wall_us + after->ttl_us;
        after->expire_wall_us = t->now_wall_us + (s ? s->keep_us : 3 * USEC_PER_DAY);
        if (planted(PLANT_KEEP_FOREVER))
                after->expire_wall_us += 365 * USEC_PER_DAY;
}

void went_suspended(struct turn *t, struct entry *en, const struct seen *s, enum job_cause cause)
{
        struct job after = en->job;
        char message[320], size[QUANTITY_MAX];
        char bytes[QUANTITY_MAX];

        outcome_checkpoint(t, en, &after, s);
        after.state = JOB_SUSPENDED;
        after.cause = (uint8_t)cause;
        outcome_end(t, en, &after, s);
        suspend_deadlines(t, en, &after);
        (void)str_format(message, sizeof message, "suspended, %s: saved%s%s (%s in %s)", job_cause_text(cause),
                *js_str(s->save, "progress", "") ? " at " : "", js_str(s->save, "progress", ""),
                size_format((uint64_t)js_int(s->save, "bytes", 0), bytes),
                duration_format(js_int(s->save, "took_us", 0) / USEC_PER_MSEC * USEC_PER_MSEC, size));
        if (!job_change(t, en, after, EVENT_SAVED, &(struct job_doc){ .trouble = "" }, message))
                return;
        if (after.ttl_wall_us && after.ttl_wall_us <= t->now_wall_us)
                act_end_waiting(
                        t, en, CAUSE_TTL, "its time limit on the clock had passed already when it was suspended");
}

static int64_t ttl_keep(const struct entry *en)
{
        return en->live ? en->live->settings.ttl_keep_us : 7 * USEC_PER_DAY;
}

/* Who or what ended it: an order's cause stands above the exit code (an exit 0 in the grace is still stopped). */
static void went_ended(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job after = en->job;
        int64_t code = js_int(s->exit, "code", 0), sig = js_int(s->exit, "signal", 0);
        bool oom = js_bool(s->exit, "oom", false), saved = streq(s->save_state, "committed");
        char message[320];

        if (saved)
                outcome_checkpoint(t, en, &after, s);
        after.state = JOB_ENDED;
        after.exit_code = (uint8_t)code;
        after.signal = (uint8_t)sig;
        if (s->cause == CAUSE_USER || s->cause == CAUSE_TTL || s->cause == CAUSE_BUDGET || s->cause == CAUSE_CAP) {
                after.result = RESULT_STOPPED;
                after.cause = (uint8_t)s->cause;
                (void)str_format(message, sizeof message, "stopped: %s%s", job_cause_text(s->cause),
                        saved ? "; saved first" : "");
        } else if (oom) {
                after.result = RESULT_FAILED;
                after.cause = CAUSE_OOM;
                (void)str_format(message, sizeof message, "failed: its main process was killed, out of memory");
        } else if (sig) {
                after.result = RESULT_FAILED;
                after.cause = CAUSE_SIGNAL;
                (void)str_format(message, sizeof message, "failed: it died of signal %lld", (long long)sig);
        } else {
                after.result = code == 0 ? RESULT_SUCCEEDED : RESULT_FAILED;
                after.cause = CAUSE_EXIT;
                (void)str_format(message, sizeof message, code == 0 ? "succeeded" : "failed: it exited with code %lld",
                        (long long)code);
        }
        outcome_end(t, en, &after, s);
        /* a resume continues a job that a limit stopped, for as long as its checkpoint is kept */
        after.expire_wall_us = after.cause == CAUSE_TTL && !id_is_null(after.checkpoint) ? t->now_wall_us + ttl_keep(en)
                                                                                         : t->now_wall_us;
        after.ttl_wall_us = 0;
        if (!job_change(t, en, after, EVENT_EXITED, NULL, message))
                return;
        if (s->cause == CAUSE_TTL)
                act_decision(t, en->job.id, "ttl", "stop", message, json_deep_copy(s->p), NULL);
}

/* P-25: notice or lease took a job that could not be saved: as for a machine that vanished. */
void went_lost(struct turn *t, struct entry *en, const struct seen *s, enum job_cause cause)
{
        struct job after = en->job;
        char message[320], lost[QUANTITY_MAX];

        /* a machine that does not know the job any more cannot say how long it ran: the time up to its last sign of life counts (law 15) */
        if (!s->p && en->live && after.started_wall_us && en->live->measured_wall_us > after.started_wall_us)
                after.ran_us += en->live->measured_wall_us - after.started_wall_us;
        outcome_end(t, en, &after, s);
        if (after.state == JOB_STARTING) {
                after.state = JOB_QUEUED;
                (void)job_change(t, en, after, EVENT_LOST, NULL, "its machine went away before it ran: queued again");
                return;
        }
        if (after.state == JOB_ENDING) {
                after.state = JOB_ENDED;
                after.result = RESULT_STOPPED;
                after.ended_wall_us = t->now_wall_us;
                (void)job_change(t, en, after, EVENT_LOST, NULL, "stopped, and its machine is gone");
                return;
        }
        if (!id_is_null(after.checkpoint)) {
                struct checkpoint c;
                struct pd_error err;
                int64_t saved_at =
                        store_get_checkpoint(t->engine->env->store, after.checkpoint, &c, &err) < 0 ? 0 : c.wall_us;

                after.state = JOB_SUSPENDED;
                after.cause = (uint8_t)(en->job.state == JOB_RESTORING ? CAUSE_MACHINE_LOST : cause);
                suspend_deadlines(t, en, &after);
                (void)str_format(message, sizeof message, "suspended on its newest checkpoint, %s: %s of work is lost",
                        job_cause_text(cause),
                        duration_format(
                                saved_at ? (t->now_wall_us - saved_at) / USEC_PER_SEC * USEC_PER_SEC : 0, lost));
                (void)job_change(t, en, after, EVENT_LOST, NULL, message);
                return;
        }
        after.state = JOB_ENDED;
        after.result = RESULT_FAILED;
        after.cause = CAUSE_MACHINE_LOST;
        after.ended_wall_us = t->now_wall_us;
        (void)str_format(message, sizeof message, "failed: %s and no checkpoint could be taken", job_cause_text(cause));
        (void)job_change(t, en, after, EVENT_LOST, NULL, message);
}

static bool is_lost_cause(enum job_cause c)
{
        return c == CAUSE_NOTICE || c == CAUSE_LEASE || c == CAUSE_LIFETIME || c == CAUSE_MACHINE_LOST;
}

void went_exited(struct turn *t, struct entry *en, struct mach *m, const struct seen *s)
{
        /* saved for a move, and taken by its machine before anybody went on with it: the checkpoint is there all the same */
        bool taken = streq(s->save_mode, "move") && (is_lost_cause(s->cause) || s->cause == CAUSE_NONE);
        bool saved = streq(s->save_state, "committed") && (streq(s->save_mode, "suspend") || taken);
        struct seen by_order = *s;

        by_order.cause = (enum job_cause)en->job.op_cause;
        /* it ran, and is over, since we last looked: the edges between are taken too */
        if (job_state_placed(en->job.state) && (en->job.state == JOB_STARTING || en->job.state == JOB_RESTORING) &&
                js_int(s->p, "started_wall_us", 0))
                went_running(t, en, s);
        if (saved && (en->job.state == JOB_RUNNING || en->job.state == JOB_SAVING))
                went_suspended(t, en, s,
                        taken           ? s->cause ? s->cause : CAUSE_MACHINE_LOST
                        : s->save_cause ? s->save_cause
                                        : CAUSE_USER);
        else if (saved && en->job.state == JOB_ENDING)
                went_ended(t, en, &by_order); /* the stop that came meanwhile says what the end is called */
        else if (is_lost_cause(s->cause))
                went_lost(t, en, s, s->cause);
        else
                went_ended(t, en, s);
        if (!job_state_placed(en->job.state))
                outcome_release(t, m, s);
}

void start_failed(struct turn *t, struct entry *en, const struct pd_error *why)
{
        struct job after = en->job;
        bool passing = why->code == PD_E_TRANSIENT || why->code == PD_E_BUSY || why->code == PD_E_FULL ||
                       why->code == PD_E_CAPACITY || why->code == PD_E_CONFLICT;
        int64_t wait = PLACE_RETRY_US;
        char message[400];

        if (en->job.state == JOB_RESTORING && en->job.move == MOVE_HANDED && en->live) {
                move_target_failed(t, en, en->live->machine, why->text);
                return;
        }
        if (en->job.state == JOB_ENDING) {
                after.state = JOB_ENDED;
                after.result = RESULT_STOPPED;
                after.ended_wall_us = t->now_wall_us;
                op_over(&after);
                (void)job_change(t, en, after, EVENT_START_FAILED, NULL, "stopped before it ran");
                return;
        }
        if (passing) {
                for (uint32_t i = 0; i < after.tries && wait < PLACE_RETRY_MAX_US; i++)
                        wait *= 2;
                after.state = JOB_QUEUED;
                after.tries++;
                after.next_try_wall_us = t->now_wall_us + wait;
                (void)str_format(
                        message, sizeof message, "could not be started just now, is tried again: %s", why->text);
                (void)job_change(t, en, after, EVENT_UNPLACE, NULL, message);
                return;
        }
        (void)str_format(message, sizeof message, "could not be %s: %s",
                after.state == JOB_RESTORING ? "resumed" : "started", why->text);
        if (after.state == JOB_RESTORING) {
                after.state = JOB_SUSPENDED;
                after.cause = CAUSE_START;
                if (!after.expire_wall_us && en->live)
                        after.expire_wall_us = t->now_wall_us + en->live->settings.keep_us;
        } else {
                after.state = JOB_ENDED;
                after.result = RESULT_FAILED;
                after.cause = CAUSE_START;
                after.ended_wall_us = t->now_wall_us;
        }
        (void)job_change(t, en, after, EVENT_START_FAILED, NULL, message);
}

/* --- one placement --- */
void went_failed(struct turn *t, struct entry *en, struct mach *m, const struct seen *s)
{
        struct pd_error why;

        js_to_error(json_object_get(s->p, "error"), &why);
        if (en->job.state == JOB_STARTING || en->job.state == JOB_RESTORING || en->job.state == JOB_ENDING)
                start_failed(t, en, &why);
        else if (job_state_placed(en->job.state))
                went_lost(t, en, s, CAUSE_MACHINE_LOST);
        if (!job_state_placed(en->job.state))
                outcome_release(t, m, s);
}
