/* SPDX-License-Identifier: Apache-2.0 */
/* The API's objects (core/api/API.md) from the hot records and the store. */
#include "executor/internal.h"

#define SET(o_, key_, value_) (void)json_object_set_new((o_), (key_), (value_))

static void set_time(json_t *o, const char *key, int64_t wall_us)
{
        if (wall_us)
                SET(o, key, json_integer((json_int_t)wall_us));
}

static void set_text(json_t *o, const char *key, const char *text)
{
        if (text && *text)
                SET(o, key, json_string(text));
}

static json_t *checkpoint_json(struct engine *e, struct id id)
{
        char text[ID_TEXT_MAX];
        struct checkpoint c;
        struct pd_error err;

        if (store_get_checkpoint(e->env->store, id, &c, &err) < 0)
                return json_pack("{s:s}", "id", id_format(ID_CHECKPOINT, id, text));
        return json_pack("{s:s,s:I,s:I,s:s,s:s,s:I,s:I}", "id", id_format(ID_CHECKPOINT, id, text), "wall_us",
                (json_int_t)c.wall_us, "bytes", (json_int_t)c.bytes, "progress", c.progress, "capture", c.capture,
                "took_us", (json_int_t)c.took_us, "freeze_us", (json_int_t)c.freeze_us);
}

static const char *const mode_names[] = { "", "suspend", "save and stop", "stop", "keep", "move" };

static void render_live(json_t *o, const struct entry *en)
{
        const struct live *l = en->live;
        json_t *x;

        if (l->pid)
                SET(o, "pid", json_integer(l->pid));
        SET(o, "rate",
                json_pack("{s:I,s:s}", "nano_hour", (json_int_t)l->machine->rec.price_nano_hour, "currency",
                        l->machine->rec.currency));
        if (!l->measured_wall_us)
                return;
        x = json_pack("{s:I}", "at_wall_us", (json_int_t)l->measured_wall_us);
        if (l->cpu_us >= 0)
                SET(x, "cpu_us", json_integer((json_int_t)l->cpu_us));
        if (l->memory_bytes >= 0)
                SET(x, "memory_bytes", json_integer((json_int_t)l->memory_bytes));
        if (l->memory_peak_bytes >= 0)
                SET(x, "memory_peak_bytes", json_integer((json_int_t)l->memory_peak_bytes));
        set_text(x, "progress", l->progress);
        SET(o, "measures", x);
}

static void render_doc(json_t *o, const json_t *doc)
{
        static const char *const keys[] = { "name", "user", "project", "offer", "message", "image_digest" };
        const json_t *trouble = json_object_get(doc, "trouble");

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                set_text(o, keys[i], js_str(doc, keys[i], NULL));
        if (json_is_object(trouble))
                (void)json_object_set(o, "trouble", (json_t *)(uintptr_t)trouble);
}

json_t *render_job(struct engine *e, const struct job *j, const json_t *doc)
{
        const struct entry *en = jobs_find(e, j->id);
        char id[ID_TEXT_MAX], text[256];
        json_t *cost, *o = json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:i}", "id",
                              id_format(ID_JOB, j->id, id), "state", job_state_name((enum job_state)j->state), "result",
                              job_result_name((enum job_result)j->result), "cause",
                              job_cause_name((enum job_cause)j->cause), "generation", (json_int_t)j->generation,
                              "created_wall_us", (json_int_t)j->created_wall_us, "since_wall_us",
                              (json_int_t)j->since_wall_us, "ran_us", (json_int_t)job_ran_us(e, j), "cpu_milli",
                              (json_int_t)j->cpu_milli, "memory_bytes", (json_int_t)j->memory_bytes, "gpus", j->gpus);

        render_doc(o, doc);
        SET(o, "ttl_us", j->ttl_us == SETTING_OFF ? json_null() : json_integer((json_int_t)j->ttl_us));
        set_time(o, "started_wall_us", j->started_wall_us);
        set_time(o, "ended_wall_us", j->ended_wall_us);
        set_time(o, "ttl_wall_us", j->ttl_wall_us);
        if (!id_is_null(j->checkpoint)) {
                set_time(o, "expire_wall_us", j->expire_wall_us);
                SET(o, "checkpoint", checkpoint_json(e, j->checkpoint));
        }
        if (!id_is_null(j->machine))
                SET(o, "machine", json_string(id_format(ID_MACHINE, j->machine, text)));
        if (j->state == JOB_ENDED && j->ran_us + j->ran_before_us > 0) { /* one that never ran has no code */
                SET(o, "exit_code", json_integer(j->exit_code));
                SET(o, "signal", json_integer(j->signal));
        }
        cost = money_render(e, j);
        if (cost)
                SET(o, "cost", cost);
        if (j->op_mode)
                SET(o, "operation",
                        json_pack("{s:s,s:s}", "mode", mode_names[j->op_mode], "cause",
                                job_cause_name((enum job_cause)j->op_cause)));
        if (j->move != MOVE_NONE)
                SET(o, "move", move_render(e, j));
        if (j->state == JOB_SUSPENDED ||
                (j->state == JOB_ENDED && !id_is_null(j->checkpoint) && j->expire_wall_us > now_wall(e)))
                SET(o, "resume_line", json_sprintf("portal resume %s", id_format(ID_JOB, j->id, id)));
        if (j->state == JOB_QUEUED) {
                place_waiting(e, j, text, sizeof text);
                set_text(o, "waiting", text);
        }
        if (en && en->live && en->job.generation == j->generation && job_state_placed((enum job_state)j->state))
                render_live(o, en);
        return o;
}

json_t *render_job_by_id(struct engine *e, struct id id, struct pd_error *err)
{
        js_owned *doc = NULL;
        struct job j;

        /* what is told is what is on disk, state and sentence together; the hot record may be a transaction ahead */
        if (store_get_job(e->env->store, id, &j, err) < 0)
                return NULL;
        if (store_get_doc(e->env->store, id, &doc, err) < 0)
                return NULL;
        return render_job(e, &j, doc);
}

static const char *machine_state(const struct mach *m, bool notice)
{
        switch ((enum pd_machine_state)m->rec.state) {
        case PD_MACHINE_PENDING:
                return "pending";
        case PD_MACHINE_RUNNING:
                return notice ? "notice" : "running";
        case PD_MACHINE_STOPPING:
                return "stopping";
        case PD_MACHINE_STOPPED:
                return "stopped";
        case PD_MACHINE_GONE:
                return "gone";
        }
        return "unknown";
}

static const char *lease_name(uint8_t lease)
{
        static const char *const names[] = { "none", "native-movable", "native-fixed", "external", "guest",
                "job-only" };

        return lease < ARRAY_LEN(names) ? names[lease] : "unknown";
}

json_t *render_machine(struct engine *e, const struct mach *m)
{
        char id[ID_TEXT_MAX], offer[192], job[ID_TEXT_MAX];
        json_t *jobs = json_array(), *o;

        machine_offer_name(m, offer, sizeof offer);
        for (size_t i = 0; i < e->slots_n; i++)
                if (e->slots[i] && e->slots[i]->live && e->slots[i]->live->machine == m)
                        (void)json_array_append_new(jobs, json_string(id_format(ID_JOB, e->slots[i]->job.id, job)));
        o = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:s,s:s,s:s,s:s,s:{s:I,s:s},s:o}", "id",
                id_format(ID_MACHINE, m->rec.id, id), "connection", m->rec.connection, "zone", m->rec.zone, "type",
                m->rec.type, "offer", offer, "state", machine_state(m, machine_noticed(e, m)), "own", m->rec.own,
                "endpoint", m->rec.endpoint, "lease", lease_name(m->rec.lease), "stream", m->up ? "up" : "down", "why",
                m->why, "price", "nano_hour", (json_int_t)m->rec.price_nano_hour, "currency", m->rec.currency, "jobs",
                jobs);
        set_time(o, "stop_sure_wall_us", m->rec.stop_sure_wall_us);
        set_time(o, "stop_possible_wall_us", m->rec.stop_possible_wall_us);
        set_time(o, "ends_wall_us", machine_ends_wall_us(m));
        if (!m->rec.own) {
                (void)json_object_set_new(o, "provider_id", json_string(m->rec.provider_id));
                (void)json_object_set_new(o, "orphan", json_boolean(m->orphan));
        }
        if (machine_noticed(e, m))
                set_time(o, "notice_wall_us", m->rec.notice_wall_us);
        if (m->caps)
                (void)json_object_set(o, "caps", m->caps);
        return o;
}

void watch_notify(struct engine *e, struct id job)
{
        const struct entry *en = jobs_find(e, job);
        struct engine_watch *next;
        struct pd_error err;
        js_owned *o = NULL;

        if (!e->watches || e->stopping)
                return;
        o = render_job_by_id(e, job, &err);
        for (struct engine_watch *w = e->watches; o && w; w = next) {
                next = w->next;
                w->fn(w->arg, job, en ? en->job.uid : 0, o);
        }
}
