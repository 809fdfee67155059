/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's stream: hello, list, then events. What is open for it goes out once its placements have been listed. */
#include "executor/internal.h"

#include "base/log.h"

#define ASK_AGAIN_US (5 * USEC_PER_SEC)
#define ASK_AGAIN_MAX_US (5 * USEC_PER_MIN)

void machine_why(struct mach *m, const char *why)
{
        if (!streq(m->why, why) && *why)
                log_info("machine %s/%s: %s", m->rec.connection, m->rec.zone, why);
        (void)str_format(m->why, sizeof m->why, "%s", why);
}

static void on_list(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct mach *m = arg;
        const json_t *placements = json_object_get(answer, "placements");
        struct turn *t;
        size_t i;
        json_t *p;

        (void)items;
        (void)blob;
        (void)n;
        if (m->engine->stopping)
                return;
        if (err) {
                machine_why(m, err->text);
                machine_ask_again(m);
                return;
        }
        m->up = true;
        m->again_us = 0;
        m->told_wall_us = 0;
        if (!m->was_up && m->made)
                offers_learn_boot(m->engine, m, now_boot(m->engine) - m->since_boot_us);
        m->was_up = true;
        machine_why(m, "");
        log_info("machine %s/%s/%s is up, %zu placements", m->rec.connection, m->rec.zone, m->rec.type,
                json_array_size(placements));
        json_array_foreach (placements, i, p)
                observe_placement(m->engine, m, p, true);
        observe_missing(m->engine, m, placements);
        t = turn_new(m->engine);
        if (!t)
                return;
        move_target_up(t, m);
        turn_end(t);
        intent_replay(m->engine, m);
        leases_review(m->engine);
        place_anew(m->engine);
}

/* A runner says what notice its machine has; after a boot it has none, whatever was recorded before. */
void machine_notice(struct mach *m, int64_t deadline_wall_us)
{
        struct turn *t = m->rec.notice_wall_us != deadline_wall_us ? turn_new(m->engine) : NULL;

        if (!t)
                return;
        if (!m->rec.notice_wall_us && deadline_wall_us)
                offers_reclaimed(t, m); /* a user's notice is in the record before its runner tells of it */
        m->rec.notice_wall_us = deadline_wall_us;
        txn_machine(t->txn, &m->rec);
        turn_end(t);
        for (size_t i = 0; i < m->engine->slots_n; i++)
                if (m->engine->slots[i] && m->engine->slots[i]->live && m->engine->slots[i]->live->machine == m)
                        jobs_due(m->engine, m->engine->slots[i], now_boot(m->engine));
        jobs_arm(m->engine);
}

int64_t machine_boot_us(const struct mach *m, int64_t at_wall_us)
{
        return m->boot_known ? now_boot(m->engine) + m->boot_ahead_us + at_wall_us - now_wall(m->engine) : 0;
}

/* An own runner that does not say is on our own machine. */
static void learn_clock(struct mach *m, const json_t *answer)
{
        int64_t theirs = js_int(answer, "now_boot_us", 0);

        m->boot_known = theirs || m->rec.own;
        m->boot_ahead_us = theirs ? theirs - now_boot(m->engine) : 0;
}

static void on_hello(
        void *arg, const struct pd_error *err, const json_t *answer, const json_t *items, const void *blob, size_t n)
{
        struct mach *m = arg;
        struct engine *e = m->engine;
        js_owned *ask = json_pack("{s:s}", "op", "list");
        struct pd_error why;

        (void)items;
        (void)blob;
        (void)n;
        if (e->stopping)
                return;
        if (err) {
                machine_why(m, err->text);
                machine_ask_again(m);
                return;
        }
        json_decref(m->caps);
        m->caps = json_deep_copy(json_object_get(answer, "caps"));
        learn_clock(m, answer);
        (void)str_format(m->boot_id, sizeof m->boot_id, "%s", js_str(answer, "boot_id", ""));
        if (!intent_of_machine(
                    e, INTENT_NOTICE, m->rec.id)) /* else ours is on its way, and it knows of an older one at most */
                machine_notice(m, js_int(answer, "notice_wall_us", m->rec.notice_wall_us));
        if (e->env->ops->stream_request(m->stream, 0, ask, REQUEST_TIMEOUT_US, on_list, m, &why) < 0)
                machine_why(m, why.text);
}

static void say_hello(struct mach *m)
{
        struct engine *e = m->engine;
        js_owned *hello = json_pack("{s:s,s:i,s:s,s:i}", "op", "hello", "version", 1, "installation",
                store_installation(e->env->store), "epoch", 1);
        struct pd_error err;

        if (e->env->ops->stream_request(m->stream, 0, hello, REQUEST_TIMEOUT_US, on_hello, m, &err) < 0)
                machine_why(m, err.text);
}

static void on_up(void *arg)
{
        struct mach *m = arg;

        m->again_us = 0;
        if (m->again)
                m->engine->env->ops->timer_set(m->again, INT64_MAX);
        say_hello(m);
}

void machine_say_hello(void *arg)
{
        struct mach *m = arg;

        if (!m->engine->stopping && m->stream)
                say_hello(m);
}

/* An answer was missing though the stream may be up: the machine is listed anew, which says how things stand, and what is open is sent again. */
void machine_ask_again(struct mach *m)
{
        struct engine *e = m->engine;

        if (!m->stream || !m->again || planted(PLANT_NO_ASKING_AGAIN))
                return;
        m->again_us = m->again_us ? m->again_us * 2 : ASK_AGAIN_US;
        if (m->again_us > ASK_AGAIN_MAX_US)
                m->again_us = ASK_AGAIN_MAX_US;
        e->env->ops->timer_set(m->again, now_boot(e) + m->again_us);
}

static void on_down(void *arg, const struct pd_error *why)
{
        struct mach *m = arg;

        m->up = false;
        machine_why(m, why ? why->text : "stream lost");
        if (planted(PLANT_DOWN_IS_DEAD))
                observe_missing(m->engine, m, NULL);
}

static void on_event(void *arg, const json_t *event)
{
        struct mach *m = arg;
        const char *what = js_str(event, "event", "");

        if (m->engine->stopping || !m->up)
                return; /* before the list it would be half a picture */
        if (streq(what, "placement"))
                observe_placement(m->engine, m, json_object_get(event, "placement"), false);
        else if (streq(what, "measures"))
                observe_measures(m->engine, m, event);
        else if (streq(what, "notice"))
                machine_notice(m, js_int(event, "deadline_wall_us", 0));
}

void machine_open_stream(struct mach *m)
{
        struct engine *e = m->engine;
        const struct env_stream_events events = { on_up, on_event, on_down, m };
        uint32_t kind = m->conn && m->conn->caps.stream ? m->conn->caps.stream : PD_STREAM_UNIX;
        struct pd_error err;

        if (m->stream || !*m->rec.endpoint || m->rec.state == PD_MACHINE_GONE)
                return;
        if (e->env->ops->stream_open(e->env, m->rec.endpoint, kind, &events, &m->stream, &err) < 0)
                machine_why(m, err.text);
}
