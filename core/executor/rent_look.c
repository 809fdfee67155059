/* SPDX-License-Identifier: Apache-2.0 */
/* A launch without an answer: looked for by its token, never sent again, until it is found or absence counts. */
#include "executor/internal.h"

#include "base/log.h"

#define LOOK_US (5 * USEC_PER_SEC)
#define LOOK_MAX_US USEC_PER_MIN

static struct op *op_of(const struct engine *e, struct id id)
{
        for (struct op *op = e->ops; op; op = op->next)
                if (id_equal(op->intent.id, id))
                        return op;
        return NULL;
}

struct look_note {
        struct engine *engine;
        struct id id;
        int64_t asked_boot_us;
};

/* The call may have had its effect up to its deadline, and the provider may show it as late as it settles. */
static bool absence_counts(const struct op *op, const struct look_note *n)
{
        const struct mach *m = machine_find(op->engine, op->intent.machine);

        if (planted(PLANT_LAUNCH_TWICE))
                return true;
        return m && m->conn && n->asked_boot_us >= op->unknown_boot_us + PLUGIN_TIMEOUT_US + m->conn->caps.settle_us;
}

/* Absent, but asked too late: one that was made would have ended by its hard stop, and its provider need not remember it. Then it counts as made: what
 * was reserved for it is spent up to that stop, for money that may have been spent is never free again. */
static bool may_be_forgotten(const struct turn *t, const struct mach *m)
{
        return m && m->rec.stop_possible_wall_us && t->now_wall_us > m->rec.stop_possible_wall_us;
}

static void look_over(struct op *op, const struct look_note *n, const struct pd_error *err, const json_t *item)
{
        struct mach *m = machine_find(op->engine, op->intent.machine);
        bool none = (err && err->code == PD_E_NOT_FOUND) || (!err && !item), gone = err && err->code == PD_E_GONE;
        struct pd_error why;
        struct turn *t;

        if (item ? false : !gone && !(none && absence_counts(op, n))) {
                rent_unknown(op);
                return;
        }
        t = turn_new(op->engine);
        if (!t)
                return;
        if (!item && !gone && may_be_forgotten(t, m)) {
                gone = true;
                log_warning("machine %s/%s: no answer came to its launch, and its provider could be asked only after "
                            "its hard stop: it is counted as if it had run until then",
                        m->rec.connection, m->rec.zone);
        }
        (void)pd_fail(&why, PD_E_TRANSIENT, "no answer came to its launch, and its provider knows no such machine");
        if (item)
                rent_launched(t, op, item);
        else if (gone && m)
                rent_gone(t, m, t->now_wall_us, PD_REASON_NONE);
        else if (m && m->rec.state != PD_MACHINE_GONE)
                rent_never(t, m, &why);
        intent_close(t, op, item ? "ok: found by its token" : gone ? "ok: made, and gone" : "none: it never was");
        turn_end(t);
}

static void on_looked(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct look_note *note = arg;
        struct op *op = op_of(note->engine, note->id);

        (void)answer, (void)blob, (void)n;
        if (op && !note->engine->stopping) {
                op->looking = false;
                look_over(op, note, err, err ? NULL : json_array_get(items, 0));
        }
        free(note);
}

void rent_look(struct connection *c, struct op *op)
{
        struct engine *e = c->engine;
        struct look_note *note = malloc(sizeof *note);
        char token[ID_TEXT_MAX];
        js_owned *args = json_pack("{s:s}", "op_token", id_format(ID_INTENT, op->intent.id, token));
        struct pd_error err;

        if (!note)
                return;
        *note = (struct look_note){ e, op->intent.id, now_boot(e) };
        op->looking = true;
        if (e->env->ops->plugin_call(c->plugin, "find", args, NULL, PLUGIN_TIMEOUT_US, on_looked, note, &err) < 0) {
                free(note);
                op->looking = false;
                rent_unknown(op);
        }
}

void rent_unknown(struct op *op)
{
        struct engine *e = op->engine;
        struct connection *c = connection_find(e, js_str(op->body, "connection", ""));

        op->replay = true;
        if (!op->unknown_boot_us)
                op->unknown_boot_us = now_boot(e);
        op->wait_us = rent_longer(op->wait_us, LOOK_US, LOOK_MAX_US);
        op->due_boot_us = now_boot(e) + op->wait_us;
        if (c)
                rent_watch(c);
}
