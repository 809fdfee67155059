/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <stdio.h>

#include "base/log.h"
#include "base/quantity.h"
#include "host/instance.h"
#include "host/worker.h"

static void ring_init(struct call *head)
{
        head->next = head->prev = head;
}

static void ring_add(struct call *head, struct call *c)
{
        c->prev = head->prev;
        c->next = head;
        c->prev->next = c->next->prev = c;
}

static void ring_remove(struct call *c)
{
        c->prev->next = c->next;
        c->next->prev = c->prev;
}

static struct call *call_free(struct call *c)
{
        if (!c)
                return NULL;
        sd_event_source_disable_unref(c->timer);
        json_decref(c->args);
        free(c->text);
        free(c);
        return NULL;
}

static void call_freep(struct call **c)
{
        *c = call_free(*c);
}

static void host_destroy(struct host *h)
{
        sd_event_source_disable_unref(h->pump);
        sd_event_source_disable_unref(h->retry);
        json_decref(h->config);
        free(h->name);
        free(h->path);
        free(h->program);
        sd_event_unref(h->loop);
        free(h);
}

static void host_unref(struct host *h)
{
        if (--h->refs == 0)
                host_destroy(h);
}

static void pump_soon(struct host *h)
{
        (void)sd_event_source_set_enabled(h->pump, SD_EVENT_ONESHOT);
}

/* Ends a call: off its ring first, so that the callback may call, or free the host. */
static void finish(struct call *c, const struct pd_error *err, const struct outcome *o)
{
        struct host *h = c->host;
        js_owned *none = json_array(), *no_text = json_object();

        ring_remove(c);
        if (c->sent)
                h->n_running--;
        else
                h->n_waiting--;
        h->refs++;
        c->done(c->arg, err, err ? NULL : o->ret, o && o->items ? o->items : none, o && o->text ? o->text : no_text);
        (void)call_free(c);
        if (!h->freed)
                pump_soon(h);
        host_unref(h);
}

/* Something may have been done: with a token that is never to be repeated, but looked up. */
static void finish_unknown(struct call *c, enum pd_code query_code, const char *why)
{
        struct pd_error err;

        (void)pd_fail(&err, c->token[0] ? PD_E_UNKNOWN_OUTCOME : query_code, "%s", why);
        finish(c, &err, NULL);
}

void instance_answer(struct call *c, const struct outcome *o)
{
        struct pd_error err;

        c->host->failures = 0;
        if (judge_answer(c->host, c, o, &err) < 0)
                finish_unknown(c, PD_E_INTERNAL, err.text);
        else if (o->rc == -(int)PD_E_INTERNAL)
                finish_unknown(c, PD_E_INTERNAL, o->err.text);
        else
                finish(c, o->rc < 0 ? &o->err : NULL, o);
}

/* Late by the grace: the call is over, and under process isolation so is the plugin, with all that it was in. */
static void give_up(struct call *c, const char *span)
{
        struct host *h = c->host;
        struct pd_error err;
        bool ended;

        (void)pd_fail(&err, PD_E_DEADLINE, "plugin %s (%s): %s did not return within %s and the grace of 5s",
                h->plugin_name, h->name, c->slot->name, span);
        h->refs++;
        ended = h->backend->late(h, c);
        finish_unknown(c, PD_E_DEADLINE, err.text);
        if (ended && !h->freed)
                instance_down(h, &err);
        host_unref(h);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
        struct call *c = arg;
        struct host *h = c->host;
        char span[QUANTITY_MAX];
        struct pd_error err;

        (void)source, (void)usec;
        (void)duration_format(c->timeout_us, span);
        if (c->sent) {
                give_up(c, span);
                return 0;
        }
        (void)pd_fail(&err, PD_E_TRANSIENT, "plugin %s (%s): %s waited %s for its turn and was never begun",
                h->plugin_name, h->name, c->slot->name, span);
        finish(c, &err, NULL);
        return 0;
}

/* Moves a call to the plugin. One that is refused there was never begun. */
static void hand_over(struct host *h, struct call *c)
{
        struct pd_error err;
        uint64_t late_at = (uint64_t)(c->deadline_boot_us + HOST_GRACE_US);

        ring_remove(c);
        h->n_waiting--;
        ring_add(&h->running, c);
        h->n_running++;
        c->sent = true;
        (void)sd_event_source_set_time(c->timer, late_at);
        if (h->backend->send(h, c, &err) < 0)
                finish(c, &err, NULL);
}

static int64_t backoff_us(const struct host *h)
{
        int64_t us = INSTANCE_BACKOFF_US;

        for (unsigned int i = 1; i < h->failures && us < INSTANCE_BACKOFF_MAX_US; i++)
                us *= 2;
        return us > INSTANCE_BACKOFF_MAX_US ? INSTANCE_BACKOFF_MAX_US : us;
}

static void start_again(struct host *h)
{
        struct pd_error err;

        h->state = INSTANCE_STARTING;
        if (h->backend->start(h, &err) < 0)
                instance_down(h, &err);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *arg)
{
        struct host *h = arg;

        (void)source, (void)usec;
        if (h->state == INSTANCE_DOWN && h->n_waiting)
                start_again(h);
        return 0;
}

/* Is a back-off running? */
static bool resting(const struct host *h)
{
        int enabled = SD_EVENT_OFF;

        (void)sd_event_source_get_enabled(h->retry, &enabled);
        return enabled != SD_EVENT_OFF;
}

static int on_pump(sd_event_source *source, void *arg)
{
        struct host *h = arg;

        (void)source;
        h->refs++;
        while (!h->freed && h->state == INSTANCE_UP && h->n_waiting && h->n_running < h->parallel)
                hand_over(h, h->waiting.next);
        if (!h->freed && h->state == INSTANCE_DOWN && h->n_waiting && !resting(h))
                start_again(h);
        host_unref(h);
        return 0;
}

void instance_info(struct host *h, const json_t *info)
{
        (void)str_format(h->plugin_name, sizeof h->plugin_name, "%s", js_str(info, "name", "?"));
        (void)str_format(h->plugin_version, sizeof h->plugin_version, "%s", js_str(info, "version", "?"));
        h->parallel = js_bool(info, "concurrent", false) ? WORKER_PARALLEL : 1;
}

void instance_up(struct host *h)
{
        h->state = INSTANCE_UP;
        pump_soon(h);
}

/* The plugin is gone. What it was in fails; what waits is kept for the next start, unless that was a start that failed. */
void instance_down(struct host *h, const struct pd_error *why)
{
        bool was_starting = h->state == INSTANCE_STARTING;
        struct pd_error err = *why;

        h->state = INSTANCE_DOWN;
        h->failures++;
        h->refs++;
        log_warning("%s", why->text);
        while (!h->freed && h->n_running)
                finish_unknown(h->running.next, PD_E_CRASHED, why->text);
        for (size_t n = h->n_waiting; !h->freed && was_starting && n && h->n_waiting; n--) {
                if (err.code == PD_E_CRASHED || err.code == PD_E_UNKNOWN_OUTCOME)
                        err.code = PD_E_TRANSIENT; /* nothing of theirs was begun */
                finish(h->waiting.next, &err, NULL);
        }
        if (!h->freed)
                (void)sd_event_source_set_time_relative(h->retry, (uint64_t)backoff_us(h));
        if (!h->freed)
                (void)sd_event_source_set_enabled(h->retry, SD_EVENT_ONESHOT);
        host_unref(h);
}

void instance_log(const struct host *h, int level, const char *text)
{
        const char *fields[] = { NULL, NULL };
        char plugin[80];

        (void)str_format(plugin, sizeof plugin, "PORTALD_PLUGIN=%s", h->plugin_name);
        fields[0] = plugin;
        log_fields(level, fields, "plugin %s (%s): %s", h->plugin_name, h->name, text);
}

/* Opening */

static int config_check(const json_t *config, struct pd_error *err)
{
        const char *key;
        json_t *v;

        if (config && !json_is_object(config))
                return pd_fail(err, PD_E_INVALID, "a plugin's configuration must be an object of strings");
        json_object_foreach ((json_t *)(uintptr_t)config, key, v)
                if (!json_is_string(v))
                        return pd_fail(err, PD_E_INVALID,
                                "a plugin's configuration has only strings, and \"%.64s\" is none", key);
        return 0;
}

static int sources_new(struct host *h, struct pd_error *err)
{
        int r = sd_event_add_defer(h->loop, &h->pump, on_pump, h);

        if (r >= 0)
                r = sd_event_source_set_enabled(h->pump, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(h->loop, &h->retry, CLOCK_BOOTTIME, 0, 1, on_retry, h);
        if (r >= 0)
                r = sd_event_source_set_enabled(h->retry, SD_EVENT_OFF);
        return r < 0 ? pd_fail(err, PD_E_NOMEM, "no event sources for a plugin: %s", strerror(-r)) : 0;
}

static int host_new(struct host **ret, sd_event *loop, const struct host_params *p, struct pd_error *err)
{
        pd_cleanup(host_freep) struct host *h = calloc(1, sizeof *h);
        int r;

        if (!h)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        h->refs = 1;
        h->loop = sd_event_ref(loop);
        ring_init(&h->waiting);
        ring_init(&h->running);
        h->backend = p->isolation == HOST_NONE ? &local_backend : &process_backend;
        h->kind = p->kind;
        h->owner_uid = p->owner_uid;
        h->memory_max = p->memory_max ? p->memory_max : UINT64_C(1) << 30;
        h->parallel = 1;
        h->name = strdup(str_or(p->name, "?"));
        h->path = strdup(p->path);
        h->program = strdup(str_or(p->program, PORTALD_LIBEXECDIR "/portald-plugin-host"));
        h->config = p->config ? json_deep_copy(p->config) : json_object();
        if (!h->name || !h->path || !h->program || !h->config)
                return pd_fail(err, PD_E_NOMEM, "no memory for a plugin");
        (void)str_format(h->plugin_name, sizeof h->plugin_name, "%s", "not yet known");
        r = sources_new(h, err);
        if (r < 0)
                return r;
        *ret = pd_steal(h);
        return 0;
}

int host_open(struct host **ret, sd_event *loop, const struct host_params *params, struct pd_error *err)
{
        pd_cleanup(host_freep) struct host *h = NULL;
        int r;

        if (!kind_name(params->kind))
                return pd_fail(err, PD_E_INVALID, "%u is no kind of plugin", params->kind);
        r = config_check(params->config, err);
        if (r == 0)
                r = host_new(&h, loop, params, err);
        if (r == 0)
                r = params->isolation == HOST_NONE ? local_open(h, err) : process_open(h, err);
        if (r < 0 || !h)
                return r;
        h->state = INSTANCE_UP;
        *ret = pd_steal(h);
        return 0;
}

struct host *host_free(struct host *h)
{
        struct pd_error err;

        if (!h || h->freed)
                return NULL;
        h->freed = true;
        h->backend->stop(h); /* first: nothing may come any more for the calls that end here */
        (void)pd_fail(&err, PD_E_CANCELLED, "plugin %s (%s) is being closed", h->plugin_name, h->name);
        while (h->n_running)
                finish(h->running.next, &err, NULL);
        while (h->n_waiting)
                finish(h->waiting.next, &err, NULL);
        h->pump = sd_event_source_disable_unref(h->pump);
        h->retry = sd_event_source_disable_unref(h->retry);
        host_unref(h);
        return NULL;
}

/* Calling */

static bool good_token(const char *t)
{
        size_t n = strlen(t);

        return n >= 1 && n <= 64 && strspn(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static int args_check(const struct host *h, const struct slot *s, const json_t *args, size_t n_fds, const char *token,
        int64_t timeout_us, struct pd_error *err)
{
        if (n_fds != s->n_fds)
                return pd_fail(
                        err, PD_E_INVALID, "%s takes %zu descriptors, and %zu were given", s->name, s->n_fds, n_fds);
        if (token && !good_token(token))
                return pd_fail(
                        err, PD_E_INVALID, "the token \"%.64s\" of %s must be 1-64 of [A-Za-z0-9_-]", token, s->name);
        if (timeout_us <= 0 || timeout_us > 7 * USEC_PER_DAY)
                return pd_fail(err, PD_E_INVALID, "%s needs a deadline, of at most 7 days", s->name);
        if (h->n_waiting >= HOST_QUEUE_MAX)
                return pd_fail(err, PD_E_FULL, "plugin %s (%s): %zu calls wait already, and at most %d may",
                        h->plugin_name, h->name, h->n_waiting, HOST_QUEUE_MAX);
        return marshal_judge(s->in, args, PD_E_INVALID, err);
}

static int call_new(struct call **ret, struct host *h, const struct slot *s, const json_t *args, const char *token,
        int64_t timeout_us, struct pd_error *err)
{
        pd_cleanup(call_freep) struct call *c = calloc(1, sizeof *c);
        int r;

        if (!c || !(c->args = args ? json_deep_copy(args) : json_object()))
                return pd_fail(err, PD_E_NOMEM, "no memory for a call of %s", s->name);
        c->host = h;
        c->slot = s;
        (void)str_format(c->token, sizeof c->token, "%s", str_or(token, ""));
        c->timeout_us = timeout_us;
        c->deadline_boot_us = worker_now_boot() + timeout_us;
        r = sd_event_add_time(h->loop, &c->timer, CLOCK_BOOTTIME, (uint64_t)c->deadline_boot_us, 1, on_timer, c);
        if (r < 0)
                return pd_fail(err, PD_E_NOMEM, "no timer for a call of %s: %s", s->name, strerror(-r));
        *ret = pd_steal(c);
        return 0;
}

int host_call(struct host *h, const char *slot, const json_t *args, const int *fds, size_t n_fds, const char *token,
        int64_t timeout_us, host_done_fn done, void *arg, struct pd_error *err)
{
        const struct slot *s = slot_find(h->kind, slot);
        struct call *c = NULL;
        int r;

        if (!s)
                return pd_fail(err, PD_E_UNSUPPORTED, "a %s plugin has no \"%.32s\"", kind_name(h->kind), slot);
        if (h->freed)
                return pd_fail(err, PD_E_CANCELLED, "plugin %s (%s) is being closed", h->plugin_name, h->name);
        r = args_check(h, s, args, n_fds, token, timeout_us, err);
        if (r == 0)
                r = call_new(&c, h, s, args, token, timeout_us, err);
        if (r < 0 || !c)
                return r;
        for (; c->n_fds < n_fds; c->n_fds++)
                c->fds[c->n_fds] = fds[c->n_fds];
        c->number = ++h->last_number;
        c->done = done;
        c->arg = arg;
        ring_add(&h->waiting, c);
        h->n_waiting++;
        pump_soon(h);
        return 0;
}

const char *host_plugin_name(const struct host *h)
{
        return h->plugin_name;
}

const char *host_plugin_version(const struct host *h)
{
        return h->plugin_version;
}
