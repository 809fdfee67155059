/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notify.h"

#include "base/log.h"
#include "base/quantity.h"

struct notify {
        struct notify_command *command;
        struct notify_url *url;
};

/* --- queues --- */
void notify_queue_put(struct notify_queue *q, const json_t *event)
{
        if (q->n == NOTIFY_QUEUE) {
                if (q->dropped++ == 0)
                        log_warning("%s cannot keep up: events are dropped, the journal has them", q->what);
                return;
        }
        q->at[(q->first + q->n++) % NOTIFY_QUEUE] = json_incref((json_t *)(uintptr_t)event);
}

json_t *notify_queue_take(struct notify_queue *q)
{
        json_t *event;

        if (q->n == 0)
                return NULL;
        event = q->at[q->first];
        q->first = (q->first + 1) % NOTIFY_QUEUE;
        if (--q->n == 0 && q->dropped) {
                log_warning("%s has caught up; %zu events were dropped", q->what, q->dropped);
                q->dropped = 0;
        }
        return event;
}

void notify_queue_clear(struct notify_queue *q)
{
        while (q->n)
                json_decref(notify_queue_take(q));
}

/* --- the journal --- */
static const struct {
        const char *field, *member;
} fields[] = {
        { "MESSAGE_ID", "message_id" },
        { "PORTAL_KIND", "kind" },
        { "PORTAL_JOB_ID", "job" },
        { "PORTAL_JOB_NAME", "name" },
        { "PORTAL_USER", "user" },
        { "PORTAL_PROJECT", "project" },
        { "PORTAL_STATE", "state" },
        { "PORTAL_RESULT", "result" },
        { "PORTAL_CAUSE", "cause" },
        { "PORTAL_RESUME", "resume_line" },
};

static void to_journal(const json_t *event)
{
        char text[ARRAY_LEN(fields) + 1][160], until[QUANTITY_MAX];
        const char *list[ARRAY_LEN(fields) + 2];
        const char *resume = js_str(event, "resume_line", NULL);
        int64_t end = js_int(event, "deadline_wall_us", 0);
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                const char *value = js_str(event, fields[i].member, "");

                if (!*value)
                        continue;
                (void)str_format(text[n], sizeof text[n], "%s=%.120s", fields[i].field, value);
                list[n] = text[n];
                n++;
        }
        if (end) {
                (void)str_format(text[n], sizeof text[n], "PORTAL_DEADLINE=%s", time_format_utc(end, until));
                list[n] = text[n];
                n++;
        }
        list[n] = NULL;
        log_fields((int)js_int(event, "priority", LOG_NOTICE), list, "job %s (%s) of %s %s: %s%s%s%s%s",
                js_str(event, "name", "?"), js_str(event, "job", "?"), js_str(event, "user", "?"),
                js_str(event, "kind", "?"), js_str(event, "text", ""), resume ? "; to continue it: " : "",
                str_or(resume, ""), end ? ", until " : "",
                end ? time_format_utc(end / USEC_PER_SEC * USEC_PER_SEC, until) : "");
}

void notify_tell(struct notify *n, const json_t *event)
{
        to_journal(event);
        notify_command_put(n->command, event);
        notify_url_put(n->url, event);
}

/* --- life --- */
int notify_new(struct notify **ret, sd_event *loop, struct pd_error *err)
{
        struct notify *n = calloc(1, sizeof *n);
        int r = n ? notify_command_new(&n->command, loop, NOTIFY_COMMAND_US, err)
                  : pd_fail(err, PD_E_NOMEM, "no memory for notifications");

        if (r >= 0)
                r = notify_url_new(&n->url, loop, err);
        if (r < 0) {
                notify_free(n);
                return r;
        }
        *ret = n;
        return 0;
}

int notify_set(struct notify *n, const char *command, const char *url, struct pd_error *err)
{
        int r = notify_url_set(n->url, url, err);

        return r < 0 ? r : notify_command_set(n->command, command, err);
}

struct notify *notify_free(struct notify *n)
{
        if (!n)
                return NULL;
        notify_command_free(n->command);
        notify_url_free(n->url);
        free(n);
        return NULL;
}
