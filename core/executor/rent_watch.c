/* SPDX-License-Identifier: Apache-2.0 */
/* Rented machines, looked after: listed every minute, launches without an answer looked for by their token, calls sent again with back-off, and what
 * carries our tag without a record ended (law 9). Absence counts only from whole lists, after the provider's settling time, and when describe says so. */
#include "executor/internal.h"

#include "base/log.h"

#define LIST_US USEC_PER_MIN
#define LIST_CHANGING_US (15 * USEC_PER_SEC) /* while a machine is being made or ended */
#define LIST_RETRY_US (10 * USEC_PER_SEC)
#define LIST_RETRY_MAX_US (5 * USEC_PER_MIN)
#define NOTICE_US (20 * USEC_PER_SEC)
#define LEASE_READ_US (10 * USEC_PER_MIN) /* N-05 */
#define NOT_UP_US (20 * USEC_PER_MIN)     /* a machine whose runner was never heard keeps no job for longer */
#define LATE_US USEC_PER_MIN              /* past a hard stop and its lag */
#define END_AGAIN_US (2 * USEC_PER_MIN)
#define END_AGAIN_MAX_US USEC_PER_HOUR

static bool dead(const struct connection *c)
{
        return c->engine->stopping || c->removed;
}

int64_t rent_longer(int64_t wait_us, int64_t first_us, int64_t max_us)
{
        wait_us = wait_us ? wait_us * 2 : first_us;
        return wait_us < max_us ? wait_us : max_us;
}

static bool rented_at(const struct mach *m, const struct connection *c)
{
        return m->conn == c && !m->rec.own && m->rec.state != PD_MACHINE_GONE;
}

static bool op_at(const struct op *op, const struct connection *c)
{
        return (rent_is_launch(op) || op->intent.kind == INTENT_END) &&
               streq(js_str(op->body, "connection", ""), c->name);
}

/* --- a list --- */
static struct op *launch_of(const struct connection *c, const char *token)
{
        char text[ID_TEXT_MAX];

        for (struct op *op = c->engine->ops; op && *token; op = op->next)
                if (rent_is_launch(op) && op_at(op, c) && streq(id_format(ID_INTENT, op->intent.id, text), token))
                        return op;
        return NULL;
}

static void listed_one(struct turn *t, struct connection *c, const json_t *item)
{
        const char *id = js_str(item, "id", ""), *token = js_str(item, "op_token", "");
        const char *installation = js_str(json_object_get(item, "tags"), "portald-installation", "");
        struct op *op = launch_of(c, token);

        vec_foreach (m, &t->engine->machines)
                if (rented_at(*m, c) && streq((*m)->rec.provider_id, id)) {
                        (*m)->listed = true;
                        rent_seen(t, *m, item);
                        return;
                }
        if (op && !op->sent && !op->looking) {
                rent_launched(t, op, item);
                intent_close(t, op, "ok: found in the provider's list");
                return;
        }
        if (op || js_int(item, "state", 0) == PD_MACHINE_GONE)
                return;                                                     /* its answer is on its way */
        if (streq(installation, store_installation(t->engine->env->store))) /* foreign ones are nobody's but theirs */
                rent_orphan(t, c, item);
}

struct ask_note {
        struct engine *engine;
        struct id id;
};

static void on_described(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct ask_note *note = arg;
        struct mach *m = machine_find(note->engine, note->id);
        const json_t *item = json_array_get(items, 0);
        struct turn *t;

        (void)answer, (void)blob, (void)n;
        free(note);
        if (!m)
                return;
        m->asking = false;
        if (m->engine->stopping || m->rec.state == PD_MACHINE_GONE || (!item && !err))
                return;
        if (err && err->code != PD_E_GONE && err->code != PD_E_NOT_FOUND)
                return; /* says nothing: the next list asks again */
        t = turn_new(m->engine);
        if (!t)
                return;
        if (err)
                rent_over(t, m, (enum pd_machine_reason)m->reason);
        else
                rent_seen(t, m, item);
        turn_end(t);
}

/* Of a machine that is rented at a connection which the site has. */
static void ask(struct mach *m, const char *slot, env_answer_fn done)
{
        struct engine *e = m->engine;
        struct ask_note *note = malloc(sizeof *note);
        js_owned *args = json_pack("{s:s}", "id", m->rec.provider_id);
        struct pd_error err;

        if (!note || !m->conn->plugin) {
                free(note);
                return;
        }
        *note = (struct ask_note){ e, m->rec.id };
        m->asking = true;
        if (e->env->ops->plugin_call(m->conn->plugin, slot, args, NULL, PLUGIN_TIMEOUT_US, done, note, &err) < 0) {
                m->asking = false;
                free(note);
        }
}

static void absent(struct connection *c)
{
        struct engine *e = c->engine;
        int64_t now = now_boot(e);

        vec_foreach (p, &e->machines) {
                struct mach *m = *p;

                if (!rented_at(m, c) || m->listed || !*m->rec.provider_id)
                        continue;
                if (planted(PLANT_LIST_PROVES)) {
                        struct turn *t = turn_new(e);

                        if (t) {
                                rent_gone(t, m, t->now_wall_us, PD_REASON_NONE);
                                turn_end(t);
                        }
                        continue;
                }
                if (!m->absent_boot_us)
                        m->absent_boot_us = now;
                if (now - m->absent_boot_us >= c->caps.settle_us && !m->asking)
                        ask(m, "describe", on_described);
        }
}

static struct entry *job_not_begun(const struct engine *e, const struct mach *m)
{
        for (size_t i = 0; m->taken.cpu_milli > 0 && i < e->slots_n; i++)
                if (e->slots[i] && e->slots[i]->live && e->slots[i]->live->machine == m)
                        return intent_find(e, INTENT_START, e->slots[i]->job.id) ? e->slots[i] : NULL;
        return NULL;
}

/* What the clock says of one machine. */
static void overdue(struct turn *t, struct connection *c, struct mach *m)
{
        int64_t now = now_boot(t->engine), here = now - m->since_boot_us;

        if (!m->rec.stop_sure_wall_us && here >= LEASE_READ_US) {
                rent_end(t, m, "no hard stop was read back within 10 minutes");
        } else if (now > m->stop_boot_us + c->caps.stop_lag_us + LATE_US) {
                rent_end(t, m, "its hard stop has passed, and its provider still lists it");
        } else if (!m->was_up && here >= NOT_UP_US && job_not_begun(t->engine, m)) {
                offers_cool(t, c, m->rec.zone, m->rec.type, (enum pd_market)m->rec.market,
                        t->now_wall_us + 30 * USEC_PER_MIN, "its machine was made and its runner never heard");
                rent_end(t, m, "its runner was not heard within 20 minutes");
        }
}

static void ending(struct turn *t, struct connection *c, struct mach *m)
{
        int64_t now = now_boot(t->engine);

        if (!*m->rec.provider_id || intent_of_machine(t->engine, INTENT_END, m->rec.id))
                return;
        if (m->end_boot_us && now - m->end_boot_us < c->caps.stop_lag_us + m->end_wait_us + END_AGAIN_US)
                return;
        if (m->end_boot_us)
                m->end_wait_us = rent_longer(m->end_wait_us, END_AGAIN_US, END_AGAIN_MAX_US);
        rent_end_again(t, m);
}

static void orphans_sweep(struct connection *c)
{
        for (size_t i = c->orphans.n; i-- > 0;)
                if (!c->orphans.at[i].seen)
                        vec_swap_remove(&c->orphans, i);
}

static void listed(struct connection *c, const json_t *items)
{
        struct engine *e = c->engine;
        struct turn *t = turn_new(e);
        bool calm = c->calm;
        size_t i;
        json_t *item;

        if (!t)
                return;
        vec_foreach (o, &c->orphans)
                o->seen = false;
        vec_foreach (m, &e->machines)
                (*m)->listed = false;
        json_array_foreach (items, i, item)
                listed_one(t, c, item);
        orphans_sweep(c);
        c->calm = false;
        c->reconciled = true;
        for (i = 0; i < e->machines.n; i++) {
                struct mach *m = e->machines.at[i];

                if (!rented_at(m, c))
                        continue;
                if (rent_live(m) && !calm)
                        overdue(t, c, m);
                rent_unneeded(t, m);
                if (m->rec.state == PD_MACHINE_STOPPING)
                        ending(t, c, m);
        }
        turn_end(t);
        absent(c);
}

void rent_reconciled(struct connection *c, const json_t *items)
{
        listed(c, items);
        c->list_wait_us = 0;
        c->list_boot_us = now_boot(c->engine) + LIST_US;
}

static bool any_changing(const struct connection *c)
{
        vec_foreach (m, &c->engine->machines)
                if (rented_at(*m, c) && ((*m)->rec.state != PD_MACHINE_RUNNING || !*(*m)->rec.endpoint))
                        return true;
        return false;
}

void rent_list_soon(struct connection *c)
{
        int64_t every = LIST_CHANGING_US > c->caps.min_poll_us ? LIST_CHANGING_US : c->caps.min_poll_us,
                at = now_boot(c->engine) + every;

        if (!c->list_wait_us && c->list_boot_us > at)
                c->list_boot_us = at;
}

static void on_list(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct connection *c = arg;
        int64_t every;

        (void)answer, (void)blob, (void)n;
        c->listing = false;
        if (dead(c))
                return;
        if (err) {
                c->list_wait_us = rent_longer(c->list_wait_us, LIST_RETRY_US, LIST_RETRY_MAX_US);
                log_warning("connection %s: its machines cannot be listed: %s", c->name, err->text);
        } else {
                c->list_wait_us = 0;
                listed(c, items);
        }
        every = c->list_wait_us ? c->list_wait_us : any_changing(c) ? LIST_CHANGING_US : LIST_US;
        c->list_boot_us = now_boot(c->engine) + (every > c->caps.min_poll_us ? every : c->caps.min_poll_us);
        rent_watch(c);
}

static void list(struct connection *c)
{
        struct engine *e = c->engine;
        js_owned *args =
                json_pack("{s:{s:s}}", "expect_tags", "portald-installation", store_installation(e->env->store));
        struct pd_error err;

        c->listing =
                e->env->ops->plugin_call(c->plugin, "list_owned", args, NULL, PLUGIN_TIMEOUT_US, on_list, c, &err) >= 0;
        if (!c->listing)
                c->list_boot_us = now_boot(e) + LIST_RETRY_US;
}

/* --- notices that only the provider has --- */
static void on_notice(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct ask_note *note = arg;
        struct mach *m = machine_find(note->engine, note->id);
        int64_t at = js_int(json_object_get(answer, "ret"), "at_wall_us", 0);
        struct turn *t;

        (void)items, (void)blob, (void)n;
        free(note);
        if (!m)
                return;
        m->asking = false;
        if (err && err->code == PD_E_UNSUPPORTED)
                m->notice_boot_us = INT64_MAX;
        if (m->conn)
                rent_watch(m->conn); /* it was not due while it was asked: it is again */
        if (m->engine->stopping || err || !rent_live(m) || at <= 0 || at == m->rec.notice_wall_us)
                return;
        machine_notice(m, at);
        t = turn_new(m->engine);
        if (!t)
                return;
        (void)intent_open(t, INTENT_NOTICE, NULL, m,
                json_pack("{s:s,s:I,s:s}", "op", "notice", "in_us",
                        (json_int_t)(at > t->now_wall_us ? at - t->now_wall_us : 0), "source", "provider"));
        turn_end(t);
}

static bool asks_notices(const struct connection *c, const struct mach *m)
{
        return rented_at(m, c) && rent_live(m) && *m->rec.provider_id && m->rec.market == PD_MARKET_SPOT &&
               !(c->caps.flags & PD_CAP_NOTICE_IN_GUEST);
}

static void notices(struct connection *c, int64_t now)
{
        int64_t every = NOTICE_US > c->caps.min_poll_us ? NOTICE_US : c->caps.min_poll_us;

        vec_foreach (m, &c->engine->machines) {
                if (!asks_notices(c, *m) || (*m)->asking || (*m)->notice_boot_us > now)
                        continue;
                (*m)->notice_boot_us = now + every;
                ask(*m, "notice", on_notice);
        }
}

/* --- the timer --- */
static bool has_work(const struct connection *c)
{
        if (c->orphans.n)
                return true;
        vec_foreach (m, &c->engine->machines)
                if (rented_at(*m, c))
                        return true;
        return false;
}

static int64_t next_due(const struct connection *c)
{
        int64_t next = has_work(c) && !c->listing ? c->list_boot_us : INT64_MAX;

        for (const struct op *op = c->engine->ops; op; op = op->next)
                if (op_at(op, c) && op->replay && !op->sent && !op->looking && op->due_boot_us < next)
                        next = op->due_boot_us;
        vec_foreach (m, &c->engine->machines)
                if (asks_notices(c, *m) && !(*m)->asking && (*m)->notice_boot_us < next)
                        next = (*m)->notice_boot_us;
        return next;
}

void rent_watch(struct connection *c)
{
        struct engine *e = c->engine;
        int64_t now = now_boot(e), next;

        if (dead(c) || !c->watch || c->state != CONN_READY || (c->caps.flags & PD_CAP_OWN_MACHINES))
                return; /* when it has been reconciled again, it is looked at again */
        next = next_due(c);
        e->env->ops->timer_set(c->watch, next < now ? now : next);
}

static void ops_due(struct connection *c, int64_t now)
{
        for (struct op *op = c->engine->ops, *next; op; op = next) {
                next = op->next;
                if (!op_at(op, c) || !op->replay || op->sent || op->looking || op->due_boot_us > now)
                        continue;
                if (rent_is_launch(op))
                        rent_look(c, op);
                else
                        intent_send(op);
        }
}

/* Gone for a while, and nobody speaks of them any more: out of memory; their records stay in the store. */
static void forget_gone(struct engine *e)
{
        for (size_t i = e->machines.n; i-- > 0;) {
                struct mach *m = e->machines.at[i];

                if (!m->rec.own && m->rec.state == PD_MACHINE_GONE && !m->stream && !m->asking &&
                        m->taken.cpu_milli <= 0 && !move_needs(e, m))
                        machine_forget(e, m);
        }
}

void rent_due(void *arg)
{
        struct connection *c = arg;
        int64_t now = now_boot(c->engine);

        if (dead(c) || c->engine->broken || c->state != CONN_READY || !c->plugin)
                return;
        ops_due(c, now);
        if (has_work(c) && !c->listing && c->list_boot_us <= now)
                list(c);
        notices(c, now);
        forget_gone(c->engine);
        rent_watch(c);
}

void rent_gap(struct engine *e)
{
        vec_foreach (c, &e->connections)
                (*c)->calm = true;
        vec_foreach (m, &e->machines)
                if (!(*m)->rec.own) {
                        (*m)->renewed_wall_us = 0; /* its hard stop lies elsewhere on the clock now */
                        e->env->ops->timer_set(e->lease_timer, now_boot(e));
                }
}
