/* SPDX-License-Identifier: Apache-2.0 */
/* Write intent, call, write result. Each kind of outside act has one row here: where it goes and what its answer means. */
#include "executor/internal.h"

#include "base/log.h"

#ifdef PORTALD_TEST_HOOKS
#include <signal.h>
#include <stdio.h>

/* PORTALD_HOLD="save:after_commit" stops the daemon (SIGSTOP) there, once, so that a test can kill it from outside. */
void intent_hook(enum intent_kind kind, const char *stage)
{
        const char *want = getenv("PORTALD_HOLD");
        char here[64];

        (void)str_format(here, sizeof here, "%s:%s", intent_kind_name(kind), stage);
        if (!want || !streq(want, here))
                return;
        (void)fprintf(stderr, "portald: held at %s\n", here);
        (void)fflush(stderr);
        (void)unsetenv("PORTALD_HOLD");
        (void)raise(SIGSTOP);
}

bool planted(enum plant p)
{
        static int chosen = -1; /* read once: it is asked for in every turn */
        const char *text = chosen < 0 ? getenv("PORTALD_PLANT") : NULL;

        if (chosen < 0)
                chosen = text ? (int)strtol(text, NULL, 10) : PLANT_NONE;
        return chosen == (int)p;
}
#else
void intent_hook(enum intent_kind kind, const char *stage)
{
        (void)kind;
        (void)stage;
}
#endif

static void on_answer(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n);

/* --- what an answer means --- */
static struct entry *op_entry(const struct op *op)
{
        struct entry *en = id_is_null(op->intent.job) ? NULL : jobs_find(op->engine, op->intent.job);

        return en && en->job.generation == op->intent.generation ? en : NULL;
}

static void placement_answer(struct turn *t, struct op *op, const json_t *answer)
{
        (void)t;
        (void)op;
        (void)answer; /* what it says comes by observe_placement() right after: see on_answer() */
}

static void start_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct entry *en = op_entry(op);

        if (en && (en->job.state == JOB_STARTING || en->job.state == JOB_RESTORING || en->job.state == JOB_ENDING))
                start_failed(t, en, err);
}

/* The runner would not even begin. */
static void save_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct entry *en = op_entry(op);
        js_owned *error = js_from_error(err);

        if (en)
                save_gave_up(t, en, error, NULL, false);
}

static void ignored_error(struct turn *t, struct op *op, const struct pd_error *err)
{
        (void)t;
        /* fenced: a newer generation runs there, and what this asked for is done with the older one's end */
        log_fields(err->code == PD_E_CONFLICT || err->code == PD_E_NOT_FOUND ? LOG_DEBUG : LOG_WARNING, NULL, "%s: %s",
                intent_kind_name(op->intent.kind), err->text);
}

static void stop_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        ignored_error(t, op, err);
        if (err->code == PD_E_CONFLICT || err->code == PD_E_NOT_FOUND)
                move_stop_refused(t, op);
}

/* The runner took no notice of it: the machine stays in use. */
static void notice_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        struct mach *m = machine_find(t->engine, op->intent.machine);

        log_warning("a machine's notice was refused: %s", err->text);
        if (!m || !streq(js_str(op->body, "source", ""), "user"))
                return; /* what the provider says holds all the same */
        m->rec.notice_wall_us = 0;
        txn_machine(t->txn, &m->rec);
}

static void launch_answer(struct turn *t, struct op *op, const json_t *answer)
{
        const json_t *item = json_array_get(json_object_get(answer, "items"), 0);

        if (rent_is_launch(op))
                rent_launched(t, op, item);
        else
                machine_launched(t, op, item);
}

static void launch_refused(struct turn *t, struct op *op, const struct pd_error *err)
{
        if (rent_is_launch(op))
                rent_launch_failed(t, op, err);
        else
                machine_launch_failed(t, op, err);
}

static const struct {
        bool provider; /* to the connection's plugin, else to the machine's runner */
        void (*good)(struct turn *t, struct op *op, const json_t *answer);
        void (*bad)(struct turn *t, struct op *op, const struct pd_error *err);
} rows[] = {
        [INTENT_LAUNCH] = { true, launch_answer, launch_refused },
        [INTENT_START] = { false, placement_answer, start_refused },
        [INTENT_SAVE] = { false, placement_answer, save_refused },
        [INTENT_STOP] = { false, placement_answer, stop_refused },
        [INTENT_RELEASE] = { false, placement_answer, ignored_error },
        [INTENT_LEASE] = { false, lease_read_back, ignored_error },
        [INTENT_NOTICE] = { false, placement_answer, notice_refused },
        [INTENT_DROP] = { false, placement_answer, ignored_error },
        [INTENT_FORGET] = { false, placement_answer, ignored_error },
        [INTENT_ORDERS] = { false, placement_answer, ignored_error },
        [INTENT_END] = { true, rent_ended, rent_end_refused },
        [INTENT_RENEW] = { true, lease_renewed, lease_not_renewed },
        [INTENT_THAW] = { false, placement_answer, thaw_refused },
};
static_assert(ARRAY_LEN(rows) == INTENT_N, "each kind of intent has its row");

/* --- sending --- */
static const char *const slots[INTENT_N] = {
        [INTENT_LAUNCH] = "launch", [INTENT_END] = "terminate", [INTENT_RENEW] = "renew"
};

/* Until its connection has been reconciled nothing is made or ended there; a hard stop is moved whenever it can be. */
static int send_to_plugin(struct op *op, struct pd_error *err)
{
        const char *name = js_str(op->body, "connection", "");
        const struct connection *c = connection_find(op->engine, name);
        char token[ID_TEXT_MAX];

        if (!c || !c->plugin || (c->state != CONN_READY && op->intent.kind != INTENT_RENEW))
                return pd_fail(err, PD_E_TRANSIENT, "connection \"%s\" is not ready%s%s", name, c ? ": " : "",
                        c ? c->why : "");
        return op->engine->env->ops->plugin_call(c->plugin, slots[op->intent.kind], json_object_get(op->body, "args"),
                id_format(ID_INTENT, op->intent.id, token), PLUGIN_TIMEOUT_US, on_answer, op, err);
}

/* What is to go from a vault can be asked of any machine once the one that it lay at is gone. */
static struct mach *runner_of(const struct op *op)
{
        struct mach *m = machine_find(op->engine, op->intent.machine), *other = NULL;

        if (op->intent.kind != INTENT_DROP || (m && m->rec.state != PD_MACHINE_GONE))
                return m;
        vec_foreach (p, &op->engine->machines)
                if ((*p)->up && (!other || (*p)->rec.own))
                        other = *p;
        return other;
}

/* A notice that is told late is told with what is left of it. NULL = no memory. */
static json_t *body_now(const struct op *op)
{
        json_t *body = json_copy(op->body);
        int64_t left = op->intent.opened_wall_us + js_int(op->body, "in_us", 0) - now_wall(op->engine);

        if (body && op->intent.kind == INTENT_NOTICE)
                (void)json_object_set_new(body, "in_us", json_integer(left > 0 ? left : 0));
        return body;
}

static int send_to_runner(struct op *op, struct pd_error *err)
{
        struct mach *m = runner_of(op);
        js_owned *body = body_now(op);

        if (!body)
                return pd_fail(err, PD_E_NOMEM, "no memory for the request");
        if (!m || !m->up)
                return pd_fail(err, PD_E_TRANSIENT, "its machine's stream is down");
        if (op->intent.kind == INTENT_START && m->rec.state == PD_MACHINE_STOPPING) /* void once it is gone */
                return pd_fail(err, PD_E_TRANSIENT, "its machine is being ended");
        return op->engine->env->ops->stream_request(
                m->stream, op->intent.generation, body, REQUEST_TIMEOUT_US, on_answer, op, err);
}

/* Known not to have left: a launch is not kept for later, its job takes the next look. */
static void never_left(struct op *op, const struct pd_error *err)
{
        struct turn *t = turn_new(op->engine);

        if (!t)
                return;
        rows[op->intent.kind].bad(t, op, err);
        intent_close(t, op, err->text);
        turn_end(t);
}

void intent_send(struct op *op)
{
        struct pd_error err;
        int r;

        if (op->sent)
                return;
        r = rows[op->intent.kind].provider ? send_to_plugin(op, &err) : send_to_runner(op, &err);
        op->sent = r >= 0;
        op->replay = r < 0; /* goes out when the way is there again */
        if (r < 0 && (rent_is_launch(op) || op->intent.kind == INTENT_RENEW))
                never_left(op, &err);
}

static void op_free(struct op *op)
{
        json_decref(op->body);
        free(op);
}

static void op_unlink(struct op *op)
{
        if (op->prev)
                op->prev->next = op->next;
        else
                op->engine->ops = op->next;
        if (op->next)
                op->next->prev = op->prev;
}

static struct op *op_link(struct engine *e, const struct intent *i, json_t *body)
{
        struct op *op = calloc(1, sizeof *op);

        if (!op || !body) {
                json_decref(body);
                free(op);
                e->broken = true;
                log_error("no memory for an intent");
                return NULL;
        }
        *op = (struct op){ .engine = e, .intent = *i, .body = body, .next = e->ops };
        op->intent.body = NULL;
        if (e->ops)
                e->ops->prev = op;
        e->ops = op;
        return op;
}

struct send_note {
        struct id id;
};

static void send_after(struct engine *e, void *arg)
{
        struct send_note *n = arg;

        for (struct op *op = e->ops; op; op = op->next)
                if (id_equal(op->intent.id, n->id)) {
                        intent_hook(op->intent.kind, "after_commit");
                        intent_send(op);
                        break;
                }
        free(n);
}

struct op *intent_open(
        struct turn *t, enum intent_kind kind, const struct entry *en, const struct mach *m, json_t *body)
{
        return intent_open_as(t, engine_id(t->engine), kind, en, m ? m->rec.id : (struct id){ { 0 } }, body);
}

struct op *intent_open_as(
        struct turn *t, struct id id, enum intent_kind kind, const struct entry *en, struct id machine, json_t *body)
{
        struct engine *e = t->engine;
        pd_cleanup(freep) char *text = body ? js_dump(body) : NULL;
        struct send_note *note = malloc(sizeof *note);
        struct intent i = {
                .id = id, .machine = machine, .kind = (uint8_t)kind, .opened_wall_us = t->now_wall_us, .body = text
        };
        struct op *op;

        if (en) {
                i.job = en->job.id;
                i.generation = en->job.generation;
        }
        op = text && note ? op_link(e, &i, body) : NULL;
        if (!op) {
                free(note);
                return NULL;
        }
        intent_hook(kind, "before_commit");
        txn_intent_open(t->txn, &i);
        note->id = i.id;
        turn_after(t, send_after, free, note);
        return op;
}

struct result_note {
        uint8_t kind;
};

static void hook_after_result(struct engine *e, void *arg)
{
        struct result_note *n = arg;

        (void)e;
        intent_hook(n->kind, "after_result");
        free(n);
}

void intent_close(struct turn *t, struct op *op, const char *outcome)
{
        struct result_note *n = malloc(sizeof *n);

        txn_intent_close(t->txn, op->intent.id, outcome, t->now_wall_us);
        if (n) {
                n->kind = op->intent.kind;
                turn_after(t, hook_after_result, free, n);
        }
        op_unlink(op);
        op_free(op);
}

/* No answer, or one that says nothing about the outcome: the intent stays open and is sent again once its machine has been listed. Runner
 * requests are idempotent by what they say and provider calls carry the token, so that this is one act all the same. */
static bool outcome_unknown(const struct op *op, const struct pd_error *err)
{
        /* of a launch only what says that nothing was made is an outcome; a renewal is asked for anew in any case */
        if (rent_is_launch(op))
                return err->code == PD_E_UNKNOWN_OUTCOME || err->code == PD_E_DEADLINE || err->code == PD_E_CANCELLED ||
                       err->code == PD_E_CRASHED || err->code == PD_E_IO || err->code == PD_E_INTERNAL ||
                       err->code == PD_E_CORRUPT;
        if (op->intent.kind == INTENT_RENEW)
                return false;
        if (op->intent.kind == INTENT_END && (err->code == PD_E_THROTTLED || err->code == PD_E_BUSY))
                return true;
        return err->code == PD_E_UNKNOWN_OUTCOME || err->code == PD_E_DEADLINE || err->code == PD_E_CANCELLED ||
               err->code == PD_E_CRASHED || err->code == PD_E_TRANSIENT;
}

/* A runner's answer is the placement itself, or an object that holds one. */
static const json_t *placement_of(const json_t *answer)
{
        return json_object_get(answer, "phase") ? answer : json_object_get(answer, "placement");
}

static void on_answer(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct op *op = arg;
        struct engine *e = op->engine;
        struct mach *m = machine_find(e, op->intent.machine);
        const enum intent_kind kind = (enum intent_kind)op->intent.kind;
        js_owned *with_items = NULL, *placement = NULL;
        struct turn *t;
        char outcome[320];

        (void)blob;
        (void)n;
        op->sent = false;
        if (e->stopping)
                return;
        if (err && outcome_unknown(op, err)) {
                op->replay = true;
                if (rows[kind].provider)
                        rent_unknown(op);
                else if (m)
                        machine_ask_again(m); /* the stream may well stay up */
                return;
        }
        intent_hook(op->intent.kind, "after_call");
        t = turn_new(e);
        if (!t)
                return;
        if (err) {
                (void)str_format(outcome, sizeof outcome, "%s: %s", str_or(pd_code_name(err->code), "?"), err->text);
                rows[op->intent.kind].bad(t, op, err);
        } else {
                with_items = json_pack("{s:O?,s:O?}", "answer", answer, "items", items);
                (void)str_format(outcome, sizeof outcome, "ok");
                rows[op->intent.kind].good(t, op, rows[op->intent.kind].provider ? with_items : answer);
                placement = json_incref((json_t *)(uintptr_t)placement_of(answer));
        }
        intent_close(t, op, outcome);
        turn_end(t);
        if (placement && m && kind != INTENT_RELEASE)
                observe_placement(e, m, placement, false);
}

/* What its job has outlived: a start or a save of a stay that is past them. Sent again it could only do harm: a machine that lost its state knows no
 * generation that would fence it. */
static bool outlived(const struct op *op)
{
        const struct entry *en = op_entry(op);

        if (planted(PLANT_START_AGAIN))
                return false;
        if (op->intent.kind == INTENT_RENEW)
                return true; /* its hard stop is looked at anew, and moved from where it is */
        if (!rows[op->intent.kind].provider && op->intent.kind != INTENT_DROP && !id_is_null(op->intent.machine)) {
                const struct mach *m = machine_find(op->engine, op->intent.machine);

                if (!m || m->rec.state == PD_MACHINE_GONE)
                        return true;
        }
        if (op->intent.kind == INTENT_START)
                return !en || (en->job.state != JOB_STARTING && en->job.state != JOB_RESTORING);
        if (op->intent.kind == INTENT_SAVE) /* or of one that has become another since */
                return !en || en->job.state != JOB_SAVING ||
                       !streq(js_str(op->body, "mode", ""), act_save_mode((enum op_mode)en->job.op_mode));
        if (op->intent.kind == INTENT_THAW)
                return !en || en->job.move != MOVE_BACK;
        return false;
}

static void close_outlived(struct engine *e)
{
        struct turn *t = turn_new(e);

        for (struct op *op = t ? e->ops : NULL, *next; op; op = next) {
                next = op->next;
                if (op->replay && !op->sent && outlived(op))
                        intent_close(t, op, "void: its job has gone on");
        }
        if (t)
                turn_end(t);
}

struct op *intent_find(const struct engine *e, enum intent_kind kind, struct id job)
{
        for (struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == kind && id_equal(op->intent.job, job) && !outlived(op))
                        return op;
        return NULL;
}

struct op *intent_of_machine(const struct engine *e, enum intent_kind kind, struct id machine)
{
        for (struct op *op = e->ops; op; op = op->next)
                if (op->intent.kind == kind && id_equal(op->intent.machine, machine))
                        return op;
        return NULL;
}

void intent_replay(struct engine *e, struct mach *m)
{
        close_outlived(e);
        for (struct op *op = e->ops; op; op = op->next)
                if (!rows[op->intent.kind].provider && op->replay && !op->sent && runner_of(op) == m)
                        intent_send(op);
}

void intent_replay_at(struct engine *e, struct connection *c)
{
        close_outlived(e);
        for (struct op *op = e->ops, *next; op; op = next) {
                next = op->next;
                if (rows[op->intent.kind].provider && op->replay && !op->sent && !rent_is_launch(op) &&
                        streq(js_str(op->body, "connection", ""), c->name))
                        intent_send(op);
        }
}

int intent_load(struct engine *e, const struct intent *i)
{
        json_t *body = NULL;
        struct pd_error err;
        struct op *op;

        if (js_parse(i->body, strlen(i->body), &body, &err) < 0) {
                log_error("an open intent in the store cannot be read: %s", err.text);
                return -PD_E_CORRUPT;
        }
        op = op_link(e, i, body);
        if (!op)
                return -PD_E_NOMEM;
        op->replay = true;
        if (rent_is_launch(op))
                op->unknown_boot_us = now_boot(e); /* sent or not before we died: that is not known */
        return 0;
}

void intents_free(struct engine *e)
{
        while (e->ops) {
                struct op *op = e->ops;

                e->ops = op->next;
                op_free(op);
        }
}
