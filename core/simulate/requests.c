/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated runner answers, request by request. */
#include "simulate/parts.h"

static void restored(struct sim_job *s, const json_t *state)
{
        s->progress_seq = json_integer_value(state);
}

static json_t *op_start(struct sim_machine *m, uint64_t generation, const json_t *body, struct pd_error *err)
{
        struct world *w = m->w;
        struct sim_job *s = sim_find(m, js_str(body, "job", ""));
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);

        if (s && generation < s->generation) {
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
                return NULL;
        }
        if (s && s->generation == generation)
                return sim_placement(s); /* asked twice, done once */
        if (s && world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "the generation before is still %s here", s->phase);
                return NULL;
        }
        s = sim_place_for(m, s);
        w->starts++;
        s->used = true;
        s->generation = generation;
        s->phase = "preparing";
        s->fate = "";
        s->order = json_deep_copy(body);
        s->memory_bytes = w->memory_of ? w->memory_of(w, js_str(body, "job", "")) : 0;
        (void)str_format(s->job, sizeof s->job, "%s", js_str(body, "job", ""));
        s->lease_wall_us = js_int(sim_orders(s), "lease_stop_wall_us", 0);
        s->lease_boot_us = js_int(sim_orders(s), "lease_stop_boot_us", 0);
        if (w->start_error)
                sim_fail_later(s, w->start_error, "the image cannot be had");
        else if (restore && !json_object_get(w->checkpoints, restore))
                sim_fail_later(s, "CORRUPT", restore);
        else if (world_fault(w, WORLD_FAULT_START_PASSING))
                sim_fail_later(s, "TRANSIENT", "the registry does not answer");
        else if (world_fault(w, WORLD_FAULT_START_FOR_GOOD))
                sim_fail_later(s, "NOT_FOUND", "the image cannot be had");
        else
                sim_start_later(s);
        if (restore)
                restored(s, json_object_get(w->checkpoints, restore));
        sim_told(s);
        return sim_placement(s);
}

static json_t *list(const struct sim_machine *m)
{
        json_t *all = json_array();

        vec_foreach (s, &m->jobs)
                if ((*s)->used && !(*s)->released)
                        (void)json_array_append_new(all, sim_placement(*s));
        return json_pack("{s:o}", "placements", all);
}

static json_t *op_lease(struct sim_machine *m, const json_t *body)
{
        m->w->leases++;
        m->stop_wall_us = js_int(body, "stop_wall_us", 0);
        m->stop_boot_us = js_int(body, "stop_boot_us", 0);
        vec_foreach (s, &m->jobs)
                if (world_live(*s)) {
                        (*s)->lease_wall_us = m->stop_wall_us;
                        (*s)->lease_boot_us = m->stop_boot_us;
                        (*s)->did_lease = false;
                }
        return json_pack(
                "{s:I,s:I}", "stop_wall_us", (json_int_t)m->stop_wall_us, "stop_boot_us", (json_int_t)m->stop_boot_us);
}

static json_t *op_hello(const struct sim_machine *m)
{
        return json_pack("{s:i,s:s,s:s,s:I,s:I,s:I,s:I,s:{s:i,s:I,s:I,s:{s:{s:b},s:{s:b},s:{s:b}}}}", "version", 1,
                "boot_id", m->name, "machine_id", m->name, "now_wall_us", (json_int_t)sim_wall_us(m), "now_boot_us",
                (json_int_t)sim_boot_us(m), "stop_wall_us", (json_int_t)m->stop_wall_us, "notice_wall_us",
                (json_int_t)m->told_notice_wall_us, "caps", "cpu_milli", m->cpu_milli, "memory_bytes",
                (json_int_t)m->memory_bytes, "gpus", (json_int_t)m->gpus, "captures", "values", "usable", 1, "command",
                "usable", 1, "restart", "usable", 1);
}

static json_t *of_machine(struct sim_machine *m, const char *op, const json_t *body)
{
        if (streq(op, "hello"))
                return op_hello(m);
        if (streq(op, "list"))
                return list(m);
        if (streq(op, "lease"))
                return op_lease(m, body);
        if (streq(op, "notice")) {
                sim_notice(m, js_int(body, "in_us", 0), js_str(body, "source", "user"));
                return json_pack("{s:I}", "deadline_wall_us", (json_int_t)(m->w->wall_us + js_int(body, "in_us", 0)));
        }
        return NULL;
}

static json_t *op_release(struct sim_job *s, struct pd_error *err)
{
        if (world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "only what has ended can be released");
                return NULL;
        }
        s->machine->w->releases++;
        s->released = true;
        return sim_placement(s);
}

static json_t *of_job(struct sim_job *s, uint64_t generation, const char *op, const json_t *body, struct pd_error *err)
{
        if (streq(op, "save")) {
                if (sim_save(s, js_str(body, "checkpoint", ""), js_str(body, "mode", ""), js_str(body, "cause", ""),
                            js_int(body, "deadline_us", 0), err) < 0)
                        return NULL;
        } else if (streq(op, "stop")) {
                s->machine->w->stops++;
                sim_term(s, js_str(body, "cause", "user"));
        } else if (streq(op, "release")) {
                return op_release(s, err);
        } else if (streq(op, "forget")) {
                sim_job_clear(s);
                return json_object();
        } else if (streq(op, "thaw")) {
                if (sim_thaw(s, generation, json_object_get(body, "orders"), err) < 0)
                        return NULL;
        } else if (streq(op, "orders")) { /* those that are given replace those that were */
                (void)json_object_update(json_object_get(s->order, "orders"), json_object_get(body, "orders"));
                s->did_ttl = false;
        } else if (streq(op, "precheck")) {
                return json_pack("{s:b,s:[]}", "usable", 1, "values");
        }
        return sim_placement(s);
}

json_t *sim_handle(struct sim_machine *m, uint64_t generation, const json_t *body, struct pd_error *err)
{
        const char *op = js_str(body, "op", "");
        struct world *w = m->w;
        struct sim_job *s = sim_find(m, js_str(body, "job", ""));
        json_t *answer;
        bool loose = streq(op, "drop") || streq(op, "forget") || streq(op, "precheck");

        err->code = PD_OK;
        if (w->watch && w->watch->request)
                w->watch->request(w, m, generation, body);
        answer = of_machine(m, op, body);
        if (answer)
                return answer;
        if (streq(op, "start"))
                return op_start(m, generation, body, err);
        if (!s && (streq(op, "release") || streq(op, "forget")))
                return json_object();
        if (!s)
                (void)pd_fail(err, PD_E_NOT_FOUND, "no such job here");
        else if (generation < s->generation && !(loose && generation == 0))
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
        else if (generation > s->generation && !loose && !streq(op, "thaw"))
                (void)pd_fail(err, PD_E_CONFLICT, "that generation has not been started here");
        if (err->code)
                return NULL;
        if (streq(op, "drop")) {
                (void)json_object_del(w->checkpoints, js_str(body, "checkpoint", ""));
                return json_object();
        }
        return of_job(s, generation, op, body, err);
}
