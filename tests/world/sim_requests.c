/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated runner answers, request by request. */
#include "world/sim.h"

static struct sim_job *place_for(struct world *w, struct sim_job *s)
{
        for (size_t i = 0; !s && i < SIM_JOBS; i++)
                if (!w->jobs[i].used)
                        s = &w->jobs[i];
        if (!s)
                abort();
        sim_job_clear(s);
        return s;
}

static json_t *op_start(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err)
{
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));
        const char *restore = js_str(json_object_get(body, "restore"), "checkpoint", NULL);

        if (s && generation < s->generation) {
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
                return NULL;
        }
        if (s && s->generation == generation)
                return sim_placement(w, s); /* asked twice, done once */
        if (s && world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "the generation before is still %s here", s->phase);
                return NULL;
        }
        s = place_for(w, s);
        w->starts++;
        *s = (struct sim_job){
                .used = true, .generation = generation, .phase = "preparing", .fate = "", .order = json_deep_copy(body)
        };
        (void)str_format(s->job, sizeof s->job, "%s", js_str(body, "job", ""));
        s->lease_wall_us = js_int(sim_orders(s), "lease_stop_wall_us", 0);
        s->lease_boot_us = js_int(sim_orders(s), "lease_stop_boot_us", 0);
        if (w->start_error)
                sim_fail_later(w, s, w->start_error, "the image cannot be had");
        else if (restore && !json_object_get(w->checkpoints, restore))
                sim_fail_later(w, s, "CORRUPT", restore);
        else if (world_fault(w, FAULT_START_PASSING))
                sim_fail_later(w, s, "TRANSIENT", "the registry does not answer");
        else if (world_fault(w, FAULT_START_FOR_GOOD))
                sim_fail_later(w, s, "NOT_FOUND", "the image cannot be had");
        else
                sim_start_later(w, s);
        if (w->watch && w->watch->truth)
                w->watch->truth(w, s);
        return sim_placement(w, s);
}

static json_t *list(const struct world *w)
{
        json_t *all = json_array();

        for (size_t i = 0; i < SIM_JOBS; i++)
                if (w->jobs[i].used && !w->jobs[i].released)
                        (void)json_array_append_new(all, sim_placement(w, &w->jobs[i]));
        return json_pack("{s:o}", "placements", all);
}

static json_t *op_lease(struct world *w, const json_t *body)
{
        w->leases++;
        w->stop_wall_us = js_int(body, "stop_wall_us", 0);
        for (size_t i = 0; i < SIM_JOBS; i++)
                if (world_live(&w->jobs[i])) {
                        w->jobs[i].lease_wall_us = w->stop_wall_us;
                        w->jobs[i].lease_boot_us = js_int(body, "stop_boot_us", 0);
                }
        return json_pack("{s:I,s:I}", "stop_wall_us", (json_int_t)w->stop_wall_us, "stop_boot_us",
                (json_int_t)js_int(body, "stop_boot_us", 0));
}

static json_t *op_hello(void)
{
        return json_pack("{s:i,s:s,s:{s:i,s:I,s:i,s:{s:{s:b},s:{s:b},s:{s:b}}}}", "version", 1, "boot_id", "b", "caps",
                "cpu_milli", 8000, "memory_bytes", (json_int_t)16 << 30, "gpus", 0, "captures", "values", "usable", 1,
                "command", "usable", 1, "restart", "usable", 1);
}

static json_t *of_machine(struct world *w, const char *op, const json_t *body)
{
        if (streq(op, "hello"))
                return op_hello();
        if (streq(op, "list"))
                return list(w);
        if (streq(op, "lease"))
                return op_lease(w, body);
        if (streq(op, "notice")) {
                world_notice(w, js_int(body, "in_us", 0));
                return json_pack("{s:I}", "deadline_wall_us", (json_int_t)(w->wall_us + js_int(body, "in_us", 0)));
        }
        return NULL;
}

static json_t *op_release(struct world *w, struct sim_job *s, struct pd_error *err)
{
        if (world_live(s)) {
                (void)pd_fail(err, PD_E_CONFLICT, "only what has ended can be released");
                return NULL;
        }
        w->releases++;
        s->released = true;
        return sim_placement(w, s);
}

static json_t *of_job(struct world *w, struct sim_job *s, const char *op, const json_t *body, struct pd_error *err)
{
        if (streq(op, "save")) {
                if (sim_save(w, s, js_str(body, "checkpoint", ""), js_str(body, "mode", ""), js_str(body, "cause", ""),
                            js_int(body, "deadline_us", 0), err) < 0)
                        return NULL;
        } else if (streq(op, "stop")) {
                w->stops++;
                sim_term(w, s, js_str(body, "cause", "user"));
        } else if (streq(op, "release")) {
                return op_release(w, s, err);
        } else if (streq(op, "forget")) {
                sim_job_clear(s);
                return json_object();
        } else if (streq(op, "orders")) { /* those that are given replace those that were */
                (void)json_object_update(json_object_get(s->order, "orders"), json_object_get(body, "orders"));
                s->did_ttl = false;
        } else if (streq(op, "precheck")) {
                return json_pack("{s:b,s:[]}", "usable", 1, "values");
        }
        return sim_placement(w, s);
}

json_t *sim_handle(struct world *w, uint64_t generation, const json_t *body, struct pd_error *err)
{
        const char *op = js_str(body, "op", "");
        struct sim_job *s = world_sim(w, js_str(body, "job", ""));
        json_t *answer;
        bool loose = streq(op, "drop") || streq(op, "forget") || streq(op, "precheck");

        err->code = PD_OK;
        if (w->watch && w->watch->request)
                w->watch->request(w, generation, body);
        answer = of_machine(w, op, body);
        if (answer)
                return answer;
        if (streq(op, "start"))
                return op_start(w, generation, body, err);
        if (!s && (streq(op, "release") || streq(op, "forget")))
                return json_object();
        if (!s)
                (void)pd_fail(err, PD_E_NOT_FOUND, "no such job here");
        else if (generation < s->generation && !(loose && generation == 0))
                (void)pd_fail(err, PD_E_CONFLICT, "fenced");
        else if (generation > s->generation && !loose)
                (void)pd_fail(err, PD_E_CONFLICT, "that generation has not been started here");
        if (err->code)
                return NULL;
        if (streq(op, "drop")) {
                (void)json_object_del(w->checkpoints, js_str(body, "checkpoint", ""));
                return json_object();
        }
        return of_job(w, s, op, body, err);
}
