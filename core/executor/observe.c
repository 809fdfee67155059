/* SPDX-License-Identifier: Apache-2.0 */
/* What a runner says about a placement becomes what portald knows about the job. The runner's state is level, not edge: this reads how things stand
 * and takes the edges that are missing, so that ten lost events cost nothing. */
#include "executor/observe.h"

#include "base/log.h"

static enum job_cause cause_of(const char *name)
{
        enum job_cause c;

        return job_cause_parse(name, &c) ? c : CAUSE_NONE;
}

bool seen_read(const json_t *p, struct seen *ret)
{
        struct seen s = { .p = p, .save = json_object_get(p, "save"), .exit = json_object_get(p, "exit") };

        if (!id_parse(ID_JOB, js_str(p, "job", ""), &s.job))
                return false;
        s.generation = (uint32_t)js_int(p, "generation", 0);
        s.seq = (uint64_t)js_int(p, "seq", 0);
        s.phase = js_str(p, "phase", "");
        s.save_state = js_str(s.save, "state", "");
        s.save_mode = js_str(s.save, "mode", "");
        s.cause = cause_of(js_str(p, "cause", ""));
        s.save_cause = cause_of(js_str(s.save, "cause", ""));
        if (s.cause == CAUSE_NONE && streq(s.save_state, "committed") && streq(s.save_mode, "stop"))
                s.cause = s.save_cause;
        s.proved = js_bool(p, "proved", false);
        *ret = s;
        return true;
}

bool seen_over(const struct seen *s)
{
        return streq(s->phase, "exited") || streq(s->phase, "failed");
}

bool same_save(const struct entry *en, const struct seen *s)
{
        struct id ckp;

        return id_parse(ID_CHECKPOINT, js_str(s->save, "checkpoint", ""), &ckp) && id_equal(ckp, en->job.op_checkpoint);
}

static bool settled(const struct seen *s)
{
        return streq(s->save_state, "refused") || streq(s->save_state, "failed");
}

/* The runner is saving under another name than ours: its standing orders were first. What it does is what counts. */
static void adopt(struct turn *t, struct entry *en, const struct seen *s)
{
        struct job after = en->job;

        if (!id_parse(ID_CHECKPOINT, js_str(s->save, "checkpoint", ""), &after.op_checkpoint))
                return;
        job_touch(t, en, after, NULL);
}

/* A save that our own order began, or one of the standing orders. */
static void look_at_save(struct turn *t, struct entry *en, const struct seen *s)
{
        bool ours = en->job.state == JOB_SAVING && same_save(en, s);

        if (!json_is_object(s->save))
                return;
        if (streq(s->save_state, "saving")) {
                save_begun(t, en, s);
                if (en->job.state == JOB_SAVING && !same_save(en, s))
                        adopt(t, en, s);
                if (en->job.state == JOB_SAVING)
                        save_stronger(t, en, s);
        } else if (streq(s->phase, "held") && streq(s->save_mode, "move") && en->job.state == JOB_RUNNING) {
                save_begun(t, en,
                        s); /* it began and was committed since we last looked: the next look goes on from there */
                machine_ask_again(en->live->machine);
        } else if (ours && streq(s->save_state, "committed") && streq(s->save_mode, "keep")) {
                save_kept(t, en, s);
        } else if (ours && settled(s)) {
                save_refused(t, en, s);
        } else if (en->job.state == JOB_RUNNING && settled(s) && en->live && en->live->seq < s->seq &&
                   js_int(s->save, "wall_us", 0) > en->job.since_wall_us) {
                save_begun(t, en, s); /* it began and was refused since we last looked */
                save_refused(t, en, s);
        }
}

/* After a stream came up: what the job's record wants of the runner, where no open intent carries it (a runner that lost its last word). */
static void want_again(struct turn *t, struct entry *en, struct mach *m, const struct seen *s)
{
        const struct job *j = &en->job;
        char job[ID_TEXT_MAX];

        if (j->state == JOB_SAVING && !same_save(en, s) && streq(s->phase, "running") && en->live &&
                !intent_find(t->engine, INTENT_SAVE, j->id))
                (void)intent_open(t, INTENT_SAVE, en, m, act_save_body(en));
        if (j->state == JOB_ENDING && !s->cause && !intent_find(t->engine, INTENT_STOP, j->id))
                (void)intent_open(t, INTENT_STOP, en, m,
                        json_pack("{s:s,s:s,s:s,s:I}", "op", "stop", "job", id_format(ID_JOB, j->id, job), "cause",
                                job_cause_name((enum job_cause)j->op_cause), "grace_us",
                                (json_int_t)(en->live ? en->live->settings.stop_grace_us : 20 * USEC_PER_SEC)));
}

/* A container that no record wants (an older generation, or a job that waits or is over by now) is ended, whatever its runner thinks (law 2). Of a
 * job that is not in the store we know nothing: it is said, and left alone. */
static void stray(struct engine *e, struct mach *m, const struct seen *s, bool known, bool listed_anew)
{
        struct entry ghost = { .job = { .id = s->job, .generation = s->generation } };
        bool over = seen_over(s);
        struct turn *t;

        if (!known && !over) {
                log_warning("job %s generation %u is on a machine and not in the store: left alone",
                        js_str(s->p, "job", ""), s->generation);
                return;
        }
        if (over ? !listed_anew : s->cause || intent_find(e, INTENT_STOP, s->job))
                return; /* it is being ended already; what is over is released when it is still listed after a stream came up */
        t = turn_new(e);
        if (!t)
                return;
        if (over)
                outcome_release(t, m, s);
        else
                (void)intent_open(t, INTENT_STOP, &ghost, m,
                        json_pack("{s:s,s:s,s:s,s:I}", "op", "stop", "job", js_str(s->p, "job", ""), "cause", "user",
                                "grace_us", (json_int_t)(20 * USEC_PER_SEC)));
        turn_end(t);
}

void observe_placement(struct engine *e, struct mach *m, const json_t *placement, bool listed_anew)
{
        struct pd_error err;
        struct job ended;
        struct seen s;
        struct entry *en;
        struct turn *t;

        if (!seen_read(placement, &s)) {
                log_warning("a runner sent a placement without a job id");
                return;
        }
        en = jobs_find(e, s.job);
        if (!en && store_get_job(e->env->store, s.job, &ended, &err) >= 0) {
                stray(e, m, &s, true, listed_anew); /* over for long, and out of memory */
                return;
        }
        if (en && en->job.move != MOVE_NONE && move_observe(e, m, en, placement, listed_anew))
                return;
        if (!en || en->job.generation != s.generation || !job_state_placed(en->job.state)) {
                stray(e, m, &s, en != NULL, listed_anew);
                return;
        }
        if (en->live && en->live->seen && s.seq < en->live->seq && !planted(PLANT_EVENT_OLD))
                return; /* an answer that was overtaken */
        t = turn_new(e);
        if (!t)
                return;
        if (streq(s.phase, "failed")) {
                went_failed(t, en, m, &s);
        } else if (streq(s.phase, "exited")) {
                outcome_pid(t, en, &s);
                went_exited(t, en, m, &s);
        } else {
                if ((streq(s.phase, "running") || streq(s.phase, "saving") || streq(s.phase, "held")) &&
                        (en->job.state == JOB_STARTING || en->job.state == JOB_RESTORING))
                        went_running(t, en, &s);
                look_at_save(t, en, &s);
                if (listed_anew)
                        want_again(t, en, m, &s);
                outcome_pid(t, en, &s);
        }
        turn_end(t);
}

/* --- jobs that should be on a machine and are not --- */
static bool listed(const json_t *placements, const struct job *j)
{
        char id[ID_TEXT_MAX];
        size_t i;
        json_t *p;

        (void)id_format(ID_JOB, j->id, id);
        json_array_foreach (placements, i, p)
                if (streq(js_str(p, "job", ""), id) && js_int(p, "generation", 0) == j->generation)
                        return true;
        return false;
}

void observe_missing(struct engine *e, struct mach *m, const json_t *placements)
{
        for (size_t i = 0; i < e->slots_n; i++) {
                struct entry *en = e->slots[i];
                struct seen s = SEEN_NOTHING;
                struct turn *t;

                if (en && en->job.move != MOVE_NONE && move_missing(e, m, en, placements))
                        continue;
                if (!en || !en->live || en->live->machine != m || listed(placements, &en->job) ||
                        intent_find(e, INTENT_START, en->job.id))
                        continue;
                t = turn_new(e);
                if (!t)
                        return;
                log_warning("a job's machine does not know it any more");
                went_lost(t, en, &s, CAUSE_MACHINE_LOST);
                turn_end(t);
        }
}
