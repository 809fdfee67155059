/* SPDX-License-Identifier: Apache-2.0 */
/* What the API asks: one row a verb. Answers that tell of a change leave when that change is on disk. */
#include "executor/request.h"

#include "base/log.h"

#define WAIT_MAX_US (30 * USEC_PER_SEC)

/* --- tickets --- */
static void ticket_free(struct engine_ticket *t)
{
        if (t->freed)
                *t->freed = true;
        if (t->prev)
                t->prev->next = t->next;
        else
                t->engine->tickets = t->next;
        if (t->next)
                t->next->prev = t->prev;
        if (t->timer)
                t->engine->env->ops->timer_free(t->timer);
        json_decref(t->hold);
        free(t->user);
        free(t);
}

void ticket_reply(struct engine_ticket *t, const struct pd_error *err, json_t *body)
{
        ticket_reply_blob(t, err, body, NULL, 0);
}

void ticket_reply_blob(struct engine_ticket *t, const struct pd_error *err, json_t *body, const void *blob, size_t n)
{
        if (t->reply)
                t->reply(t->arg, err, body, blob, n);
        else
                json_decref(body);
        ticket_free(t);
}

void ticket_fail(struct engine_ticket *t, const struct pd_error *err)
{
        ticket_reply(t, err, NULL);
}

void engine_request_cancel(struct engine *e, struct engine_ticket *t)
{
        (void)e;
        t->reply = NULL;
}

/* --- waits for the outcome of an act --- */
static void waiter_unlink(struct engine *e, struct engine_ticket *ticket)
{
        for (struct waiter **w = &e->waiters; *w; w = &(*w)->next)
                if ((*w)->ticket == ticket) {
                        struct waiter *gone = *w;

                        *w = gone->next;
                        free(gone);
                        return;
                }
}

static void reply_job(struct engine *e, struct engine_ticket *t)
{
        struct pd_error err;
        json_t *o = render_job_by_id(e, t->job, &err);

        ticket_reply(t, o ? NULL : &err, o);
}

static void wait_over(void *arg)
{
        struct engine_ticket *t = arg;

        waiter_unlink(t->engine, t);
        reply_job(t->engine, t);
}

void waiters_check(struct engine *e, struct id job)
{
        struct waiter **w = &e->waiters;
        const struct entry *en = jobs_find(e, job);

        while (*w) {
                struct waiter *here = *w;

                if (!id_equal(here->job, job) || (en && !here->settled(en, &en->job))) {
                        w = &here->next;
                        continue;
                }
                *w = here->next;
                reply_job(e, here->ticket);
                free(here);
        }
}

static bool suspend_settled(const struct entry *en, const struct job *j)
{
        (void)en;
        return j->state != JOB_SAVING && j->state != JOB_RUNNING && !move_suspends(j) ? true : j->op_mode == OP_NONE;
}

static bool resume_settled(const struct entry *en, const struct job *j)
{
        (void)en;
        /* a job that waits for a place may wait for long: it is not waited for, unless its turn is right now */
        return j->state == JOB_RUNNING || j->state == JOB_SUSPENDED || j->state == JOB_ENDED ||
               (j->state == JOB_QUEUED && j->tries > 0);
}

static bool move_settled(const struct entry *en, const struct job *j)
{
        (void)en;
        return j->move == MOVE_NONE || j->move == MOVE_PROVED;
}

static bool stop_settled(const struct entry *en, const struct job *j)
{
        (void)en;
        return j->state == JOB_ENDED;
}

struct act_note {
        struct engine_ticket *ticket;
        bool (*settled)(const struct entry *en, const struct job *j);
        int64_t wait_us;
};

static void act_done(struct engine *e, void *arg)
{
        struct act_note *n = arg;
        struct engine_ticket *t = n->ticket;
        const struct entry *en = jobs_find(e, t->job);
        struct waiter *w = n->wait_us > 0 && en && !n->settled(en, &en->job) ? calloc(1, sizeof *w) : NULL;
        struct pd_error err;

        if (w && e->env->ops->timer_new(e->env, &t->timer, wait_over, t, &err) >= 0) {
                *w = (struct waiter){ .next = e->waiters, .ticket = t, .job = t->job, .settled = n->settled };
                e->waiters = w;
                e->env->ops->timer_set(t->timer, now_boot(e) + n->wait_us);
        } else {
                free(w);
                reply_job(e, t);
        }
        free(n);
}

static void act_dropped(void *arg)
{
        struct act_note *n = arg;
        struct pd_error err;

        (void)pd_fail(&err, PD_E_INTERNAL, "the change could not be written to disk: nothing was done");
        ticket_fail(n->ticket, &err);
        free(n);
}

/* --- finding a job --- */
/* Another user's job is refused, not denied to exist, when its whole id is known; names and prefixes only ever find one's own. */
int request_find(struct engine *e, struct engine_ticket *t, const char *target, struct id *ret, struct job *ret_job,
        struct pd_error *err)
{
        const struct entry *en;
        struct id id;
        int r;

        if (id_parse(ID_JOB, target, &id))
                r = 0;
        else
                r = store_find_job(e->env->store, t->actor.uid, t->actor.admin, target, &id, err);
        if (r < 0)
                return r;
        en = jobs_find(e, id);
        if (en)
                *ret_job = en->job;
        else if ((r = store_get_job(e->env->store, id, ret_job, err)) < 0)
                return r == -(int)PD_E_NOT_FOUND ? pd_fail(err, PD_E_NOT_FOUND, "no job \"%s\"", target) : r;
        if (ret_job->uid != t->actor.uid && !t->actor.admin)
                return pd_fail(err, PD_E_PERM, "job %s is another user's", target);
        *ret = id;
        return 0;
}

/* --- acts --- */
static void act(struct engine *e, struct engine_ticket *t, const struct engine_request *rq,
        int (*fn)(struct turn *turn, struct entry *en, const struct engine_request *rq, const char *user,
                struct pd_error *err),
        bool (*settled)(const struct entry *en, const struct job *j))
{
        int64_t wait = js_int(rq->args, "wait_ms", 0) * USEC_PER_MSEC;
        struct act_note *n = calloc(1, sizeof *n);
        struct pd_error err;
        struct entry *en;
        struct turn *turn;
        struct job j;

        if (!n || request_find(e, t, str_or(rq->target, ""), &t->job, &j, &err) < 0) {
                if (!n)
                        (void)pd_fail(&err, PD_E_NOMEM, "no memory for the request");
                free(n);
                ticket_fail(t, &err);
                return;
        }
        *n = (struct act_note){ t, settled, wait < WAIT_MAX_US ? wait : WAIT_MAX_US };
        en = jobs_find(e, t->job);
        turn = turn_new(e);
        if (!turn || fn(turn, en, rq, t->user, &err) < 0) {
                turn_end(turn);
                free(n);
                ticket_fail(t, &err);
                return;
        }
        turn_after(turn, act_done, act_dropped, n);
        turn_end(turn);
}

int request_disk_full(const struct engine *e, const char *refused, struct pd_error *err)
{
        int r;

        if (!store_is_low(e->env->store))
                return 0;
        r = pd_fail(err, PD_E_FULL,
                "the disk under the state directory is full: %s before there is room; what runs goes on", refused);
        err->retry_after_us = USEC_PER_MIN;
        return r;
}

static int over(struct pd_error *err, const char *verb)
{
        return pd_fail(err, PD_E_CONFLICT, "the job is ended, so it cannot be %s", verb);
}

static int do_suspend(
        struct turn *turn, struct entry *en, const struct engine_request *rq, const char *user, struct pd_error *err)
{
        (void)rq;
        return en ? act_suspend(turn, en, CAUSE_USER, "user", "asked for", user, err) : over(err, "suspended");
}

static int do_stop(
        struct turn *turn, struct entry *en, const struct engine_request *rq, const char *user, struct pd_error *err)
{
        if (en && js_bool(rq->args, "force", false))
                return act_kill(turn, en, user, err);
        return en ? act_stop(turn, en, CAUSE_USER, false, "user", "asked for", user, err) : 0;
}

static int do_move(
        struct turn *turn, struct entry *en, const struct engine_request *rq, const char *user, struct pd_error *err)
{
        int r = request_disk_full(turn->engine, "no job is moved", err);

        if (r < 0)
                return r;
        return en ? move_asked(turn, en, js_str(rq->args, "on", NULL), user, err) : over(err, "moved");
}

static int do_resume(
        struct turn *turn, struct entry *en, const struct engine_request *rq, const char *user, struct pd_error *err)
{
        int r = request_disk_full(turn->engine, "no job is resumed", err);

        if (r < 0)
                return r;
        if (!en)
                return pd_fail(err, PD_E_CONFLICT, "the job has ended and has no checkpoint to resume from");
        return resume_asked(turn, en, rq->args, user, err);
}

static void verb_suspend(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        act(e, t, rq, do_suspend, suspend_settled);
}

static void verb_resume(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        act(e, t, rq, do_resume, resume_settled);
}

static void verb_move(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        act(e, t, rq, do_move, move_settled);
}

static void verb_stop(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        act(e, t, rq, do_stop, stop_settled);
}

/* --- questions to a runner --- */
static void on_runner(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct engine_ticket *t = arg;
        json_t *body = err ? NULL : json_copy((json_t *)(uintptr_t)answer);

        (void)items;
        if (body) {
                (void)json_object_del(body, "ok");
        }
        ticket_reply_blob(t, err, body, blob, n);
}

static int ask_runner(struct engine *e, struct engine_ticket *t, const struct job *j, json_t *body, int64_t timeout_us,
        env_answer_fn done, struct pd_error *err)
{
        struct mach *m = machine_find(e, j->machine);
        js_owned *ask = body;

        if (!ask)
                return pd_fail(err, PD_E_NOMEM, "no memory for the request");
        if (!m || !m->stream || !m->up)
                return pd_fail(err, PD_E_TRANSIENT, "its machine cannot be reached: %s", m ? m->why : "it is gone");
        return e->env->ops->stream_request(m->stream, j->generation, ask, timeout_us, done, t, err);
}

/* --- logs --- */
#define LOG_NOT_YET_US (500 * USEC_PER_MSEC)

static json_t *empty_log(bool eof)
{
        return json_pack("{s:i,s:i,s:i,s:b}", "offset", 0, "next", 0, "size", 0, "eof", eof);
}

static void log_not_yet(void *arg)
{
        ticket_reply(arg, NULL, empty_log(false));
}

/* A job that no runner has heard of yet has an empty log; who waits for more is not answered at once, so that nobody spins. */
static void no_log_yet(struct engine *e, struct engine_ticket *t, bool eof, int64_t wait_us)
{
        struct pd_error err;

        if (eof || wait_us <= 0 || e->env->ops->timer_new(e->env, &t->timer, log_not_yet, t, &err) < 0) {
                ticket_reply(t, NULL, empty_log(eof));
                return;
        }
        e->env->ops->timer_set(t->timer, now_boot(e) + (wait_us < LOG_NOT_YET_US ? wait_us : LOG_NOT_YET_US));
}

static void on_logs(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct engine_ticket *t = arg;
        const struct entry *en = jobs_find(t->engine, t->job);

        if (err && err->code == PD_E_NOT_FOUND && !t->engine->stopping && en && en->job.state != JOB_ENDED)
                no_log_yet(t->engine, t, false, js_int(t->hold, "wait_us", 0));
        else
                on_runner(arg, err, answer, items, blob, n);
}

static void verb_logs(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        int64_t wait = js_int(rq->args, "wait_ms", 0) * USEC_PER_MSEC;
        char id[ID_TEXT_MAX];
        struct pd_error err;
        struct job j;
        json_t *body;

        if (request_find(e, t, str_or(rq->target, ""), &t->job, &j, &err) < 0) {
                ticket_fail(t, &err);
                return;
        }
        if (id_is_null(j.machine)) { /* never placed */
                no_log_yet(e, t, j.state == JOB_ENDED, wait);
                return;
        }
        body = json_pack("{s:s,s:s,s:I,s:I,s:I}", "op", "logs", "job", id_format(ID_JOB, j.id, id), "offset",
                (json_int_t)js_int(rq->args, "offset", 0), "max", (json_int_t)js_int(rq->args, "max", INT64_C(262144)),
                "wait_us", (json_int_t)(wait < WAIT_MAX_US ? wait : WAIT_MAX_US));
        for (const char *const *k = (const char *const[]){ "tail", "since_wall_us", NULL }; *k; k++)
                if (json_object_get(rq->args, *k))
                        (void)json_object_set(body, *k, json_object_get(rq->args, *k));
        t->hold = json_pack("{s:I}", "wait_us", (json_int_t)wait);
        if (ask_runner(e, t, &j, body, REQUEST_TIMEOUT_US + wait, on_logs, &err) < 0)
                ticket_fail(t, &err);
}

static void verb_precheck(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        char id[ID_TEXT_MAX];
        struct pd_error err;
        struct job j;

        if (request_find(e, t, str_or(rq->target, ""), &t->job, &j, &err) < 0) {
                ticket_fail(t, &err);
                return;
        }
        if (j.state != JOB_RUNNING) {
                (void)pd_fail(&err, PD_E_CONFLICT, "the job is %s: only a running job can be asked",
                        job_state_name((enum job_state)j.state));
                ticket_fail(t, &err);
                return;
        }
        if (ask_runner(e, t, &j, json_pack("{s:s,s:s}", "op", "precheck", "job", id_format(ID_JOB, j.id, id)),
                    2 * REQUEST_TIMEOUT_US, on_runner, &err) < 0)
                ticket_fail(t, &err);
}

/* --- the table --- */
static const struct {
        const char *verb;
        void (*fn)(struct engine *e, struct engine_ticket *t, const struct engine_request *rq);
} verbs[] = {
        { "status", request_status },
        { "check", request_check },
        { "submit", request_submit },
        { "plan", request_submit },
        { "list", request_list },
        { "show", request_show },
        { "explain", request_explain },
        { "logs", verb_logs },
        { "precheck", verb_precheck },
        { "suspend", verb_suspend },
        { "resume", verb_resume },
        { "stop", verb_stop },
        { "move", verb_move },
        { "cost", request_cost },
        { "machines", request_machines },
        { "notice", request_notice },
        { "offers", request_offers },
        { "prices", request_prices },
        { "plugins", request_plugins },
        { "settings", request_settings },
        { "settings_change", request_settings_change },
};

struct engine_ticket *engine_request(
        struct engine *e, const struct engine_request *rq, engine_reply_fn reply, void *arg)
{
        struct engine_ticket *t = calloc(1, sizeof *t);
        struct pd_error err;
        bool freed = false;

        if (!t) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the request");
                reply(arg, &err, NULL, NULL, 0);
                return NULL;
        }
        *t = (struct engine_ticket){ .engine = e, .reply = reply, .arg = arg, .actor = rq->actor, .freed = &freed };
        t->next = e->tickets;
        if (e->tickets)
                e->tickets->prev = t;
        e->tickets = t;
        t->user = strdup(str_or(rq->actor.user, "?"));
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                if (streq(verbs[i].verb, rq->verb)) {
                        verbs[i].fn(e, t, rq);
                        if (freed)
                                return NULL;
                        t->freed = NULL;
                        return t;
                }
        (void)pd_fail(&err, PD_E_UNSUPPORTED, "\"%s\" is not something that portald can be asked", rq->verb);
        ticket_fail(t, &err);
        return NULL;
}
