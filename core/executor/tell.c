/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told what, and when: at the change itself, and 24 h and 2 h before a job that waits for its user ends. */
#include "executor/tell.h"

#include "executor/internal.h"

static const struct {
        const char *name, *message_id;
        int priority;
} kinds[] = {
#define TELL_ROW(name_, text_, priority_, id_) { text_, id_, priority_ },
        TELL_KINDS(TELL_ROW)
#undef TELL_ROW
};

/* --- one event --- */
struct note {
        struct job job; /* as it was told */
        enum tell_kind kind;
        int64_t at_wall_us;
        char text[400];
};

/* When a job that waits for its user ends; 0 = it does not, or does not wait. */
static int64_t deadline(const struct job *j, const char **ret_what)
{
        bool waits = j->state == JOB_SUSPENDED || (j->state == JOB_QUEUED && (j->flags & JOB_FLAG_RESUMED));
        bool ttl = j->ttl_wall_us && (!j->expire_wall_us || j->ttl_wall_us <= j->expire_wall_us);

        *ret_what = ttl ? "ttl" : "checkpoint";
        if (j->state == JOB_ENDED && !id_is_null(j->checkpoint) && j->expire_wall_us > j->ended_wall_us)
                return j->expire_wall_us; /* stopped by a limit: its checkpoint can be resumed for a while */
        return !waits ? 0 : ttl ? j->ttl_wall_us : j->expire_wall_us;
}

static void send(struct engine *e, void *arg)
{
        struct note *n = arg;
        const struct job *j = &n->job;
        js_owned *doc = NULL, *event = NULL;
        char id[ID_TEXT_MAX];
        const char *what;
        struct pd_error err;
        int64_t end = deadline(j, &what);

        if (store_get_doc(e->env->store, j->id, &doc, &err) < 0)
                doc = json_object(); /* pruned meanwhile: it is told all the same */
        event = json_pack("{s:s,s:s,s:i,s:s,s:I,s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:s}", "kind", kinds[n->kind].name,
                "message_id", kinds[n->kind].message_id, "priority", kinds[n->kind].priority, "text", n->text,
                "at_wall_us", (json_int_t)n->at_wall_us, "job", id_format(ID_JOB, j->id, id), "name",
                js_str(doc, "name", ""), "user", js_str(doc, "user", ""), "uid", (json_int_t)j->uid, "project",
                js_str(doc, "project", ""), "state", job_state_name((enum job_state)j->state), "result",
                job_result_name((enum job_result)j->result), "cause", job_cause_name((enum job_cause)j->cause));
        if (event && end) {
                (void)json_object_set_new(event, "deadline_wall_us", json_integer((json_int_t)end));
                (void)json_object_set_new(event, "deadline", json_string(what));
                (void)json_object_set_new(event, "resume_line", json_sprintf("portal resume %s", id));
        }
        if (event && !e->stopping)
                e->env->ops->tell(e->env, event);
        free(n);
}

void tell(struct turn *t, const struct job *j, enum tell_kind kind, const char *text)
{
        struct note *n = t->engine->env->ops->tell ? malloc(sizeof *n) : NULL;

        if (!n)
                return;
        *n = (struct note){ .job = *j, .kind = kind, .at_wall_us = t->now_wall_us };
        (void)str_format(n->text, sizeof n->text, "%s", text);
        turn_after(t, send, free, n);
}

/* --- at a change --- */
static enum tell_kind kind_of_end(const struct job *j)
{
        return j->result == RESULT_SUCCEEDED ? TELL_SUCCEEDED
               : j->result == RESULT_STOPPED ? TELL_STOPPED
                                             : TELL_FAILED;
}

void tell_change(
        struct turn *t, const struct job *before, const struct job *after, enum job_event event, const char *message)
{
        if (event == EVENT_REFUSED)
                tell(t, after, TELL_REFUSED, message);
        else if (after->state == JOB_SUSPENDED && before->state != JOB_SUSPENDED)
                tell(t, after, TELL_SUSPENDED, message);
        else if (after->state == JOB_ENDED && before->state != JOB_ENDED)
                tell(t, after, kind_of_end(after), message);
        else if ((event == EVENT_UNPLACE && after->tries == 1) || event == EVENT_LOST)
                tell(t, after, TELL_WARNING, message); /* the first of a row: what goes on is in explain */
}

/* What a policy wants its owner to know, once for as long as it wants it. */
void tell_policies(struct turn *t, struct entry *en, const struct policy_decision all[POLICY_N])
{
        char text[400];

        for (unsigned int i = 0; en->live && i < POLICY_N; i++) {
                bool told = en->live->warned & BIT(i);

                if (all[i].warn && !told) {
                        (void)str_format(text, sizeof text, "%s: %s", all[i].policy, all[i].why);
                        tell(t, &en->job, TELL_WARNING, text);
                }
                en->live->warned = all[i].warn ? en->live->warned | BIT(i) : en->live->warned & ~BIT(i);
        }
}

/* --- before a deadline --- */
static const struct {
        int64_t before_us;
        uint8_t flag;
} reminders[] = {
        { 24 * USEC_PER_HOUR, JOB_FLAG_TOLD_DAY },
        { 2 * USEC_PER_HOUR, JOB_FLAG_TOLD_HOURS },
};

/* When this one is due; INT64_MAX = it was told, or the state itself was told later than that. */
static int64_t reminder_at(const struct job *j, size_t i)
{
        const char *unused;
        int64_t end = deadline(j, &unused), at = end - reminders[i].before_us;

        if (!end || j->state == JOB_ENDED || (j->flags & reminders[i].flag) || at <= j->since_wall_us)
                return INT64_MAX;
        return at;
}

int64_t tell_next(const struct job *j)
{
        int64_t day = reminder_at(j, 0), hours = reminder_at(j, 1);

        return day < hours ? day : hours;
}

void tell_deadline(struct turn *t, struct entry *en)
{
        char text[400], left[QUANTITY_MAX], at[QUANTITY_MAX];
        struct job after = en->job;
        const char *what;
        int64_t end = deadline(&after, &what), left_us = end - t->now_wall_us;

        for (size_t i = 0; i < ARRAY_LEN(reminders); i++)
                if (reminder_at(&en->job, i) <= t->now_wall_us)
                        after.flags |= reminders[i].flag;
        if (after.flags == en->job.flags || left_us <= 0)
                return;
        (void)str_format(text, sizeof text, "is %s and ends in %s, at %s, %s, unless it runs again before",
                job_state_name((enum job_state)after.state),
                duration_format(left_us > USEC_PER_MIN ? left_us / USEC_PER_MIN * USEC_PER_MIN : left_us, left),
                time_format_utc(end / USEC_PER_SEC * USEC_PER_SEC, at),
                streq(what, "ttl") ? "by its time limit" : "when its checkpoint's time is over");
        job_touch(t, en, after, NULL);
        tell(t, &en->job, TELL_DEADLINE, text);
}
