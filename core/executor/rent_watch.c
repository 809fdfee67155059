/* SPDX-License-Identifier: Apache-2.0 */
/* Rented machines, looked after: listed every minute, launches without an answer looked for by their token, calls sent again with back-off, and what
 * carries our tag without a record ended (law 9). Absence counts only from whole lists, after the provider's settling time, and when describe says so. */
#include "executor/internal.h"

#include "base/log.h"

#define LIST_US USEC_PER_MIN
#define LIST_ENDING_US (15 * USEC_PER_SEC) /* while a machine is being ended */
#define LIST_RETRY_US (10 * USEC_PER_SEC)
#define LIST_RETRY_MAX_US (5 * USEC_PER_MIN)
#define LOOK_US (5 * USEC_PER_SEC)
#define LOOK_MAX_US USEC_PER_MIN
#define NOTICE_US (20 * USEC_PER_SEC)
#define LEASE_READ_US (10 * USEC_PER_MIN) /* N-05 */
#define NOT_UP_US (20 * USEC_PER_MIN)     /* a machine whose runner was never heard keeps no job for longer */
#define LATE_US USEC_PER_MIN              /* past a hard stop and its lag */
#define END_AGAIN_US (2 * USEC_PER_MIN)
#define END_AGAIN_MAX_US USEC_PER_HOUR
#define ORPHANS_MAX 4096

static bool dead(const struct connection *c)
{
        return c->engine->stopping || c->removed;
}

static int64_t longer(int64_t wait_us, int64_t first_us, int64_t max_us)
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

/* --- orphans --- */
static struct orphan *orphan_of(struct connection *c, const char *provider_id)
{
        struct orphan *o;

        vec_foreach (p, &c->orphans)
                if (streq(p->provider_id, provider_id))
                        return p;
        if (c->orphans.n >= ORPHANS_MAX || !vec_push(&c->orphans, (struct orphan){ .looks = 0 }))
                return NULL;
        o = &c->orphans.at[c->orphans.n - 1];
        (void)str_format(o->provider_id, sizeof o->provider_id, "%s", provider_id);
        log_warning("connection %s: machine %s carries our tag and is not in the store: it is ended when it is seen "
                    "once more",
                c->name, provider_id);
        return o;
}

static void orphan_record(struct machine *rec, const struct turn *t, const struct connection *c, const json_t *item)
{
        const char *name = js_str(json_object_get(item, "tags"), "portald-machine", "");
        int64_t created = js_int(item, "created_wall_us", 0);

        *rec = (struct machine){ .state = PD_MACHINE_RUNNING,
                .lease = (uint8_t)c->caps.lease,
                .market = (uint8_t)js_int(item, "market", PD_MARKET_ON_DEMAND),
                .created_wall_us = created && created < t->now_wall_us ? created : t->now_wall_us,
                .stop_sure_wall_us = js_int(item, "stop_wall_us", 0),
                .stop_possible_wall_us = js_int(item, "stop_wall_us", 0) };
        (void)str_format(rec->connection, sizeof rec->connection, "%s", c->name);
        (void)str_format(rec->zone, sizeof rec->zone, "%s", js_str(item, "zone", ""));
        (void)str_format(rec->type, sizeof rec->type, "%s", js_str(item, "type", ""));
        (void)str_format(rec->provider_id, sizeof rec->provider_id, "%s", js_str(item, "id", ""));
        if (id_parse(ID_MACHINE, name, &rec->id))
                (void)str_format(rec->token, sizeof rec->token, "%s", js_str(item, "op_token", name));
        else
                rec->id = engine_id(t->engine);
}

static void orphan_price(struct machine *rec, const struct connection *c)
{
        const json_t *offer = connection_offer(c, rec->zone, rec->type, rec->market);

        rec->price_nano_hour = js_int(offer, "price_nano_hour", 0);
        (void)str_format(rec->currency, sizeof rec->currency, "%s", js_str(offer, "currency", ""));
}

static void orphan_end(struct turn *t, struct connection *c, const json_t *item)
{
        struct machine rec;
        struct mach *m;

        orphan_record(&rec, t, c, item);
        orphan_price(&rec, c);
        m = machine_find(t->engine, rec.id);
        if (m && m->rec.state != PD_MACHINE_GONE) { /* a second one under the name of a machine that we have */
                rec.id = engine_id(t->engine);
                rec.token[0] = '\0';
                m = NULL;
        }
        if (m)
                m->rec = rec; /* it was believed gone */
        else
                m = machine_add(t->engine, &rec);
        if (!m)
                return;
        m->orphan = true;
        txn_machine(t->txn, &m->rec);
        money_found(t, m);
        rent_end(t, m, "it carries our tag, and no record of it was in the store");
}

static void orphan_look(struct turn *t, struct connection *c, const json_t *item)
{
        struct orphan *o = orphan_of(c, js_str(item, "id", ""));

        if (!o)
                return;
        o->seen = true;
        if (++o->looks < 2)
                return;
        orphan_end(t, c, item);
        o->seen = false; /* it has a record now */
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
                orphan_look(t, c, item);
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

static void ask(struct mach *m, const char *slot, env_answer_fn done)
{
        struct engine *e = m->engine;
        struct ask_note *note = malloc(sizeof *note);
        js_owned *args = json_pack("{s:s}", "id", m->rec.provider_id);
        struct pd_error err;

        if (!note || !m->conn || !m->conn->plugin) {
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
                m->end_wait_us = longer(m->end_wait_us, END_AGAIN_US, END_AGAIN_MAX_US);
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

static bool any_ending(const struct connection *c)
{
        vec_foreach (m, &c->engine->machines)
                if (rented_at(*m, c) && (*m)->rec.state == PD_MACHINE_STOPPING)
                        return true;
        return false;
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
                c->list_wait_us = longer(c->list_wait_us, LIST_RETRY_US, LIST_RETRY_MAX_US);
                log_warning("connection %s: its machines cannot be listed: %s", c->name, err->text);
        } else {
                c->list_wait_us = 0;
                listed(c, items);
        }
        every = c->list_wait_us ? c->list_wait_us : any_ending(c) ? LIST_ENDING_US : LIST_US;
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

/* --- launches without an outcome --- */
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

        return m && m->conn && n->asked_boot_us >= op->unknown_boot_us + PLUGIN_TIMEOUT_US + m->conn->caps.settle_us;
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

static void look(struct connection *c, struct op *op)
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
        op->wait_us = longer(op->wait_us, LOOK_US, LOOK_MAX_US);
        op->due_boot_us = now_boot(e) + op->wait_us;
        if (c)
                rent_watch(c);
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
                        look(c, op);
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
