/* SPDX-License-Identifier: Apache-2.0 */
/* portal explain: each decision with its evidence, inaction as stretches, what was known at an instant, and what stands between a job and an offer. */
#include "executor/known.h"
#include "executor/request.h"

#define SET(o_, key_, value_) (void)json_object_set_new((o_), (key_), (value_))

static json_t *now_json(struct engine *e, struct entry *en)
{
        struct policy_decision all[POLICY_N];
        json_t *list = json_array();
        struct settings set;
        struct gathered g;
        struct pd_error err;
        int acting;

        if (!en || en->job.state == JOB_ENDED || job_load_spec(e, en->job.id, NULL, &set, NULL, NULL, &err) < 0)
                return list;
        check_now(e, en, &set, all, &acting, &g);
        for (int i = 0; i < POLICY_N; i++)
                (void)json_array_append_new(
                        list, json_pack("{s:s,s:s,s:s,s:s}", "policy", policy_table[i].name, "act",
                                      policy_act_name(all[i].act), "why", all[i].why, "would_act", all[i].would_act));
        gather_free(&g);
        return list;
}

/* --- replay: the history up to an instant, row by row, gives the state --- */
static void replay_row(json_t *state, const json_t *row)
{
        static const char *const copied[] = { "result", "cause", "generation", "message", "event" };
        const json_t *machine = json_object_get(row, "machine");

        for (size_t i = 0; i < ARRAY_LEN(copied); i++)
                (void)json_object_set(state, copied[i], json_object_get(row, copied[i]));
        (void)json_object_set(state, "state", json_object_get(row, "to"));
        if (!streq(js_str(row, "from", ""), js_str(row, "to", "")))
                (void)json_object_set(state, "since_wall_us", json_object_get(row, "at_wall_us"));
        /* it stays the one of the last stay; a placement that never came about has none */
        if (streq(js_str(row, "event", ""), job_event_name(EVENT_UNPLACE)))
                SET(state, "machine", json_null());
        else if (json_is_string(machine) || !json_object_get(state, "machine"))
                (void)json_object_set(state, "machine", (json_t *)(uintptr_t)machine);
}

/* Law 20: each row begins where the one before ended. NULL = there was no job yet. */
static json_t *replay(const json_t *history, int64_t until_wall_us, json_t **ret_rows)
{
        js_owned *rows = json_array();
        json_t *state = NULL, *row;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)history, i, row) {
                if (js_int(row, "at_wall_us", 0) > until_wall_us)
                        break;
                if (!state)
                        state = json_object();
                replay_row(state, row);
                (void)json_array_append(rows, row);
        }
        *ret_rows = json_incref(rows);
        return state;
}

/* --- intervals: those that still go on are in memory --- */
static void freshen(json_t *intervals, const struct entry *en)
{
        size_t i;
        json_t *row;

        json_array_foreach (intervals, i, row)
                for (int p = 0; p < POLICY_N; p++) {
                        const struct stretch *s = &en->live->stretches[p];

                        if (!s->count || s->first_wall_us != js_int(row, "first_wall_us", 0) ||
                                !streq(s->policy, js_str(row, "policy", "")))
                                continue;
                        SET(row, "last_wall_us", json_integer((json_int_t)s->last_wall_us));
                        SET(row, "count", json_integer((json_int_t)s->count));
                        SET(row, "why", json_string(s->why));
                        SET(row, "best_margin", json_string(s->margin));
                }
}

static bool covers(const json_t *row, int64_t at_wall_us)
{
        return js_int(row, "first_wall_us", 0) <= at_wall_us && js_int(row, "last_wall_us", 0) >= at_wall_us;
}

static void split(const json_t *rows, json_t *decisions, json_t *intervals)
{
        size_t i;
        json_t *row;

        json_array_foreach ((json_t *)(uintptr_t)rows, i, row)
                (void)json_array_append(json_object_get(row, "first_wall_us") ? intervals : decisions, row);
}

/* Of an instant only what was going on then. */
static void keep_covering(json_t *intervals, int64_t at_wall_us)
{
        for (size_t i = json_array_size(intervals); i-- > 0;)
                if (!covers(json_array_get(intervals, i), at_wall_us))
                        (void)json_array_remove(intervals, i);
}

static int explain(
        struct engine *e, const struct engine_request *rq, const struct job *j, json_t **ret, struct pd_error *err)
{
        int64_t at = js_int(rq->args, "at_wall_us", INT64_MAX);
        const char *not_offer = js_str(rq->args, "why_not", NULL);
        js_owned *rows = NULL, *origins = NULL, *all = NULL, *history = NULL, *o = json_object();
        json_t *decisions = json_array(), *intervals = json_array(), *state, *verdict;
        struct entry *en = jobs_find(e, j->id);
        struct settings unused;
        char id[ID_TEXT_MAX];
        int r;

        SET(o, "job", json_string(id_format(ID_JOB, j->id, id)));
        SET(o, "state", json_string(job_state_name((enum job_state)j->state)));
        SET(o, "result", json_string(job_result_name((enum job_result)j->result)));
        SET(o, "cause", json_string(job_cause_name((enum job_cause)j->cause)));
        SET(o, "decisions", decisions);
        SET(o, "intervals", intervals);
        if ((r = store_decisions(e->env->store, j->id, at, &rows, err)) < 0 ||
                (r = store_history(e->env->store, j->id, &all, err)) < 0 ||
                (r = job_load_spec(e, j->id, NULL, &unused, NULL, &origins, err)) < 0)
                return r;
        split(rows, decisions, intervals);
        if (en && en->live)
                freshen(intervals, en);
        state = replay(all, at, &history);
        SET(o, "then", state ? state : json_null());
        (void)json_object_set(o, "history", history);
        if (at != INT64_MAX) {
                SET(o, "at_wall_us", json_integer((json_int_t)at));
                keep_covering(intervals, at);
        }
        SET(o, "now", at == INT64_MAX ? now_json(e, en) : json_array());
        (void)json_object_set(o, "settings", origins);
        if (at == INT64_MAX && en && en->job.state == JOB_QUEUED)
                SET(o, "placement", waiting_for(e, en));
        if (not_offer) {
                verdict = why_not(e, j->id, not_offer, err);
                if (!verdict)
                        return -(int)err->code;
                SET(o, "why_not", verdict);
        }
        *ret = json_incref(o);
        return 0;
}

void request_explain(struct engine *e, struct engine_ticket *t, const struct engine_request *rq)
{
        json_t *body = NULL;
        struct pd_error err;
        struct job j;

        if (request_find(e, t, str_or(rq->target, ""), &t->job, &j, &err) < 0 || explain(e, rq, &j, &body, &err) < 0)
                ticket_fail(t, &err);
        else
                ticket_reply(t, NULL, body);
}
