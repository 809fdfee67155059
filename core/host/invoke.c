/* SPDX-License-Identifier: Apache-2.0 */
/* One call into a plugin: its arguments made ready, what it hands back gathered, its return value and error read with care. */
#include "host/slots.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

static int item_refused(struct slot_call *c, const struct pd_error *why)
{
        if (c->items_err.code == PD_OK)
                c->items_err = *why;
        return -(int)c->items_err.code;
}

static bool items_grow(struct slot_call *c, size_t n)
{
        size_t room = c->items_room ? c->items_room : 4096;
        char *bigger;

        while (room < c->items_bytes + n)
                room *= 2;
        if (room == c->items_room)
                return true;
        bigger = realloc(c->items, room);
        if (!bigger)
                return false;
        c->items = bigger;
        c->items_room = room;
        return true;
}

static int items_add(struct slot_call *c, const json_t *item)
{
        pd_cleanup(freep) char *text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
        size_t n = text ? strlen(text) : 0;
        struct pd_error e;

        if (c->items_n >= SLOT_ITEMS_MAX || c->items_bytes + n + 1 > SLOT_ITEMS_BYTES) {
                (void)pd_fail(&e, PD_E_INTERNAL, "%s answered with more than %u items or %u MiB", c->slot->name,
                        SLOT_ITEMS_MAX, SLOT_ITEMS_BYTES >> 20);
                return item_refused(c, &e);
        }
        if (!text || !items_grow(c, n + 1)) {
                (void)pd_fail(&e, PD_E_INTERNAL, "no memory for an answer");
                return item_refused(c, &e);
        }
        if (c->items_n++)
                c->items[c->items_bytes++] = ',';
        memcpy(c->items + c->items_bytes, text, n);
        c->items_bytes += n;
        return 0;
}

int slot_take(struct slot_call *c, const void *item)
{
        js_owned *o = NULL;
        struct pd_error e;

        if (c->items_err.code != PD_OK)
                return -(int)c->items_err.code;
        if (marshal_encode(c->slot->item, item, &o, &e) < 0)
                return item_refused(c, &e);
        return items_add(c, o);
}

int slot_take_text(void *arg, const char *text)
{
        struct slot_call *c = arg;
        js_owned *s = NULL;
        struct pd_error e;

        if (c->items_err.code != PD_OK)
                return -(int)c->items_err.code;
        s = text && strnlen(text, 257) <= 256 ? json_string(text) : NULL;
        if (!s || !*text) {
                (void)pd_fail(&e, PD_E_INTERNAL, "%s handed out no text of 1 to 256 bytes of UTF-8", c->slot->name);
                return item_refused(c, &e);
        }
        return items_add(c, s);
}

/* The functions of struct pd_host. call->context is ours, whatever else the plugin did to its call. */

static void host_log(struct pd_call *call, enum pd_log_level level, const char *text)
{
        struct slot_call *c = call->context;
        char line[1024];

        (void)snprintf(line, sizeof line, "%s", str_or(text, ""));
        for (char *p = line; *p; p++)
                if ((unsigned char)*p < ' ')
                        *p = ' ';
        c->log(c->arg, level >= PD_LOG_ERROR && level <= PD_LOG_DEBUG ? (int)level : (int)PD_LOG_INFO, line);
}

/* Is it one of the words of `list`, which spaces part? */
static bool listed(const char *list, const char *word)
{
        size_t n = strlen(word);

        for (const char *p = list; n && p; p = strchr(p, ' '), p = p ? p + 1 : NULL)
                if (strncmp(p, word, n) == 0 && (p[n] == '\0' || p[n] == ' '))
                        return true;
        return false;
}

static int host_put(struct pd_call *call, const char *key, const char *value)
{
        struct slot_call *c = call->context;
        size_t n, old;

        if (!c->slot || !c->slot->put || !key || !value || !listed(c->slot->put, key))
                return -(int)PD_E_INVALID;
        n = strnlen(value, SLOT_TEXT_BYTES + 1);
        old = json_string_length(json_object_get(c->text, key));
        if (c->text_bytes - old + n > SLOT_TEXT_BYTES)
                return -(int)PD_E_FULL;
        if (json_object_set_new(c->text, key, json_string(value)) < 0)
                return -(int)PD_E_INVALID;
        c->text_bytes += n - old;
        return 0;
}

static int host_cancelled(struct pd_call *call)
{
        struct slot_call *c = call->context;

        return c->cancelled(c->arg);
}

static int64_t now_us(clockid_t clock)
{
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static int64_t host_wall(struct pd_call *call)
{
        (void)call;
        return now_us(CLOCK_REALTIME);
}

static int64_t host_boot(struct pd_call *call)
{
        (void)call;
        return now_us(CLOCK_BOOTTIME);
}

static int host_random(struct pd_call *call, void *ret, size_t n)
{
        (void)call;
        if (!ret || n > 256)
                return -(int)PD_E_INVALID;
        return getrandom(ret, n, 0) == (ssize_t)n ? 0 : -(int)PD_E_IO;
}

const struct pd_host slot_host = {
        .size = sizeof(struct pd_host),
        .abi_minor = PD_ABI_MINOR,
        .log = host_log,
        .put = host_put,
        .cancelled = host_cancelled,
        .now_wall_us = host_wall,
        .now_boot_us = host_boot,
        .random = host_random,
};

/* A plugin's error as ours: known code, ended and clean text. */

static void clean_text(char *text, size_t n)
{
        js_owned *s = NULL;

        text[n - 1] = '\0';
        s = json_string(text);
        for (char *p = text; *p; p++)
                if ((unsigned char)*p < ' ' || (!s && (unsigned char)*p > '~'))
                        *p = '?';
}

int slot_error(const struct slot_call *c, int rc, struct pd_error *err)
{
        const char *name = pd_code_name((enum pd_code) - rc);

        if (rc > 0 || !name)
                return pd_fail(err, PD_E_INTERNAL, "plugin %s: %s returned %d, which is no code", c->plugin->name,
                        c->slot ? c->slot->name : "open", rc);
        if (err->size != sizeof *err || (int)err->code != -rc || !err->text[0])
                (void)pd_fail(err, (enum pd_code) - rc, "plugin %s: %s failed with %s and no explanation",
                        c->plugin->name, c->slot ? c->slot->name : "open", name);
        if (err->retry_after_us < 0)
                err->retry_after_us = 0;
        clean_text(err->text, sizeof err->text);
        clean_text(err->subject, sizeof err->subject);
        clean_text(err->provider_code, sizeof err->provider_code);
        return rc;
}

int slot_invoke(const struct plugin *p, struct slot_call *c, struct pd_error *err)
{
        /* a plugin built for a later minor version may know a longer error */
        struct {
                struct pd_error e;
                char spare[256];
        } theirs = { .e = { .size = sizeof theirs.e } };
        int rc = slot_present(p, c->slot) ? c->slot->invoke(p, c, &theirs.e) : c->slot->absent(p, c, &theirs.e);

        /* a plugin that hands on what its callback returned did nothing wrong after it */
        if (c->items_err.code != PD_OK && (rc == 0 || rc == -(int)c->items_err.code))
                return pd_fail(err, c->items_err.code, "plugin %s: %.180s", p->name, c->items_err.text);
        if (rc == 0)
                return 0;
        *err = theirs.e;
        return slot_error(c, rc, err);
}

static void *struct_of(const struct shape *shape, struct slot_call *c)
{
        if (shape == &shape_launch)
                return &c->in.launch;
        if (shape == &shape_container)
                return &c->in.container;
        return shape == &shape_usage ? (void *)&c->in.usage : (void *)&c->in;
}

int slot_prepare(struct slot_call *c, const struct plugin *p, const struct slot *s, const json_t *args,
        struct arena *arena, struct pd_error *err)
{
        int r = marshal_decode(s->in, args, struct_of(s->in, c), arena, err);
        uint32_t size = s->out ? (uint32_t)s->out->size : 0;

        if (r < 0)
                return r;
        if (size)
                memcpy(&c->out, &size, sizeof size);
        c->pd.size = sizeof c->pd;
        c->pd.host = &slot_host;
        c->pd.context = c;
        c->plugin = p;
        c->slot = s;
        c->text = json_object();
        return c->text ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for a call");
}

void slot_call_clear(struct slot_call *c)
{
        free(c->items);
        json_decref(c->text);
        c->items = NULL;
        c->text = NULL;
}

int slot_result(const struct slot_call *c, json_t **ret, struct pd_error *err)
{
        struct slot_out out = c->out;
        uint32_t size = c->slot->out ? (uint32_t)c->slot->out->size : 0;

        if (!c->slot->out) {
                *ret = json_object();
                return *ret ? 0 : pd_fail(err, PD_E_NOMEM, "no memory for an answer");
        }
        /* the room was ours and zeroed: what an older plugin did not fill reads as zeros, whatever it left in `size` */
        if (size)
                memcpy(&out, &size, sizeof size);
        return marshal_encode(c->slot->out, &out, ret, err);
}
