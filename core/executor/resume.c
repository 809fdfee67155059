/* SPDX-License-Identifier: Apache-2.0 */
/* A user's resume: with a larger budget where one is given (P-07), and only where the caps let it run on. */
#include "executor/internal.h"

/* What the job said of its settings, with the new budget as a flag; admitted as at submit. */
static int with_budget(struct engine *e, const json_t *doc, const char *budget, json_t **ret_said, struct settings *ret,
        struct pd_error *err)
{
        js_owned *said = json_deep_copy(json_object_get(doc, "settings"));
        json_t *flag = json_object_get(said, "flag");
        struct money amount;
        int r = money_parse(budget, &amount, err);

        if (r < 0)
                return r;
        if (!json_is_object(flag) && json_is_object(said)) {
                (void)json_object_set_new(said, "flag", json_object());
                flag = json_object_get(said, "flag");
        }
        if (!flag || json_object_set_new(flag, "budget", json_string(budget)) < 0)
                return pd_fail(err, PD_E_NOMEM, "no memory for the new budget");
        r = settings_of(e, js_str(doc, "project", ""), said, true, ret, NULL, err);
        if (r >= 0)
                *ret_said = pd_steal(said);
        return r;
}

static bool waits(const struct job *j)
{
        return j->state == JOB_SUSPENDED || j->state == JOB_ENDED;
}

int resume_asked(struct turn *t, struct entry *en, const json_t *args, const char *user, struct pd_error *err)
{
        const char *budget = js_str(args, "budget", NULL);
        js_owned *doc = NULL, *said = NULL;
        pd_cleanup(freep) char *text = NULL;
        struct settings s;
        int r = 0;

        if (!waits(&en->job) && budget)
                return pd_fail(err, PD_E_CONFLICT,
                        "the job is %s: a budget is given to one that is suspended, when it is resumed",
                        job_state_name((enum job_state)en->job.state));
        if (waits(&en->job)) {
                r = job_load_spec(t->engine, en->job.id, NULL, &s, &doc, NULL, err);
                if (r >= 0 && budget)
                        r = with_budget(t->engine, doc, budget, &said, &s, err);
                r = r < 0 ? r : money_may_resume(t, en, &s, err);
                text = r >= 0 && said ? js_dump(said) : NULL;
                if (r >= 0 && said && !text)
                        r = pd_fail(err, PD_E_NOMEM, "no memory for the new budget");
        }
        r = r < 0 ? r : act_resume(t, en, user, js_bool(args, "fresh", false), err);
        if (r >= 0 && text)
                job_touch(t, en, en->job, &(struct job_doc){ .settings = text });
        return r;
}
