/* SPDX-License-Identifier: Apache-2.0 */
/* What a rented machine cost, by its provider's own bill: asked for when it is said to be gone, so that the ledger ends with what will be paid. A
 * provider that does not say, or cannot be asked, leaves it at what was counted. */
#include "executor/internal.h"

#include "base/log.h"

#define ASKED_MAX 12 /* in vain, some minutes long, and the count of our own stands */

struct bill_note {
        struct engine *engine;
        struct id id;
        enum pd_machine_reason reason;
};

static void on_cost(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct bill_note note = *(struct bill_note *)arg;
        struct mach *m = machine_find(note.engine, note.id);
        const json_t *ret = json_object_get(answer, "ret");
        struct turn *t;

        (void)items, (void)blob, (void)n;
        free(arg);
        if (!m)
                return;
        m->asking = false;
        if (m->engine->stopping || m->rec.state == PD_MACHINE_GONE)
                return;
        if (err && err->code != PD_E_UNSUPPORTED && err->code != PD_E_NOT_FOUND && err->code != PD_E_GONE &&
                ++m->bill_asked < ASKED_MAX)
                return; /* the next list finds it gone once more */
        if (!err && !js_int(ret, "is_estimate", 0)) {
                m->billed = true;
                m->bill_nano = js_int(ret, "nano", 0);
        }
        t = turn_new(m->engine);
        if (!t)
                return;
        rent_gone(t, m, t->now_wall_us, note.reason);
        turn_end(t);
}

/* The whole of its time, by whatever clock: nothing of it lies before its launch or after now. */
static bool ask_cost(const struct turn *t, struct mach *m, enum pd_machine_reason reason)
{
        struct engine *e = t->engine;
        struct bill_note *note = malloc(sizeof *note);
        js_owned *args = json_pack("{s:s,s:I,s:I}", "id", m->rec.provider_id, "from_wall_us", (json_int_t)0,
                "to_wall_us", (json_int_t)(t->now_wall_us + USEC_PER_DAY));
        struct pd_error err;

        if (!note)
                return false;
        *note = (struct bill_note){ e, m->rec.id, reason };
        m->asking = e->env->ops->plugin_call(
                            m->conn->plugin, "cost", args, NULL, PLUGIN_TIMEOUT_US, on_cost, note, &err) >= 0;
        if (!m->asking)
                free(note);
        return m->asking;
}

void rent_over(struct turn *t, struct mach *m, enum pd_machine_reason reason)
{
        if (m->rec.state == PD_MACHINE_GONE || m->asking)
                return; /* it is being asked for, or something else is: the next list comes back to it */
        if (m->conn && m->conn->plugin && *m->rec.provider_id && ask_cost(t, m, reason))
                return;
        rent_gone(t, m, t->now_wall_us, reason);
}
