/* SPDX-License-Identifier: Apache-2.0 */
/* Answers judged: what a plugin says is believed only as far as it can be checked. The members' own rules stand in the shapes; here are
 * those that need the question, or more than one item. */
#include <stdio.h>

#include "host/instance.h"

static const char *item_str(const json_t *item, const char *key)
{
        return js_str(item, key, "");
}

static int judge_text_item(const json_t *item, struct pd_error *err)
{
        if (!json_is_string(item) || json_string_length(item) == 0 || json_string_length(item) > 256)
                return pd_fail(err, PD_E_INTERNAL, "an item is no text of 1 to 256 bytes");
        return 0;
}

static int judge_items(const struct slot *s, const json_t *items, struct pd_error *err)
{
        size_t n = json_array_size(items);
        int r = 0;

        if (n && !s->item && !s->texts)
                return pd_fail(err, PD_E_INTERNAL, "it handed out items, and %s has none", s->name);
        if (n > SLOT_ITEMS_MAX)
                return pd_fail(err, PD_E_INTERNAL, "more than %u items", SLOT_ITEMS_MAX);
        for (size_t i = 0; i < n && r == 0; i++)
                r = s->texts ? judge_text_item(json_array_get(items, i), err)
                             : marshal_judge(s->item, json_array_get(items, i), PD_E_INTERNAL, err);
        return r;
}

/* Two items with the same key would be two truths about one thing. */
static int judge_unique(const struct slot *s, const json_t *items, struct pd_error *err)
{
        js_owned *seen = json_object();
        char key[600];

        for (size_t i = 0; i < json_array_size(items) && s->key; i++) {
                const json_t *item = json_array_get(items, i);
                bool offer = s->item == &shape_offer;

                (void)str_format(key, sizeof key, "%s/%s/%lld", item_str(item, offer ? "zone" : s->key),
                        item_str(item, offer ? "type" : ""), (long long)(offer ? js_int(item, "market", 0) : 0));
                if (json_object_get(seen, key))
                        return pd_fail(err, PD_E_INTERNAL, "%s \"%.100s\" came twice", s->item->name, key);
                if (json_object_set_new(seen, key, json_true()) < 0)
                        return pd_fail(err, PD_E_NOMEM, "no memory to check an answer");
        }
        return 0;
}

static int judge_one(const struct slot *s, const json_t *items, struct pd_error *err)
{
        if (s->one_item && json_array_size(items) != 1)
                return pd_fail(
                        err, PD_E_INTERNAL, "it handed out %zu items, and exactly one is due", json_array_size(items));
        return 0;
}

/* Is the one item the thing that was asked for? want "" = not said. */
static int judge_same(const json_t *items, const char *member, const char *want, struct pd_error *err)
{
        const char *got = item_str(json_array_get(items, 0), member);

        if (*want && *got && !streq(got, want))
                return pd_fail(err, PD_E_INTERNAL, "it answered about %s \"%.64s\", and was asked about \"%.64s\"",
                        member, got, want);
        return 0;
}

/* A machine of another connection: it carries another value where one of ours was asked for. No tags at all = they cannot be read. */
static int judge_tags(const json_t *items, const json_t *expect, struct pd_error *err)
{
        const char *key;
        json_t *want;

        for (size_t i = 0; i < json_array_size(items); i++) {
                const json_t *item = json_array_get(items, i), *tags = json_object_get(item, "tags");

                if (!json_is_object(tags))
                        continue;
                json_object_foreach ((json_t *)(uintptr_t)expect, key, want)
                        if (!streq(js_str(tags, key, ""), json_string_value(want)))
                                return pd_fail(err, PD_E_INTERNAL,
                                        "machine \"%.64s\" does not carry our tag %.48s: it is another's",
                                        item_str(item, "id"), key);
        }
        return 0;
}

static int judge_order(const json_t *items, const char *prefix, struct pd_error *err)
{
        const char *last = "";

        for (size_t i = 0; i < json_array_size(items); i++) {
                const char *name = item_str(json_array_get(items, i), "name");

                if (!str_starts(name, prefix))
                        return pd_fail(
                                err, PD_E_INTERNAL, "object \"%.80s\" does not begin with \"%.80s\"", name, prefix);
                if (strcmp(name, last) <= 0)
                        return pd_fail(err, PD_E_INTERNAL, "object \"%.80s\" is out of order", name);
                last = name;
        }
        return 0;
}

/* What ties an answer to its question. */
static int judge_question(const struct call *c, const json_t *items, struct pd_error *err)
{
        const struct slot *s = c->slot;

        if (s->kind == PD_KIND_VAULT && s->item)
                return s->one_item ? judge_same(items, "name", item_str(c->args, "name"), err)
                                   : judge_order(items, item_str(c->args, "prefix"), err);
        if (s->item != &shape_machine)
                return 0;
        if (streq(s->name, "describe"))
                return judge_same(items, "id", item_str(c->args, "id"), err);
        if (streq(s->name, "find"))
                return judge_same(items, "op_token", item_str(c->args, "op_token"), err);
        if (streq(s->name, "launch"))
                return judge_same(items, "op_token", c->token, err);
        return judge_tags(items, json_object_get(c->args, "expect_tags"), err);
}

static int judge_success(const struct call *c, const struct outcome *o, struct pd_error *err)
{
        static const struct shape nothing = { .name = "answer" };
        int r;

        if (!json_is_object(o->ret))
                return pd_fail(err, PD_E_INTERNAL, "it answered without its out-arguments");
        r = marshal_judge(c->slot->out ? c->slot->out : &nothing, o->ret, PD_E_INTERNAL, err);
        if (r == 0)
                r = judge_one(c->slot, o->items, err);
        if (r == 0)
                r = judge_unique(c->slot, o->items, err);
        return r == 0 ? judge_question(c, o->items, err) : r;
}

int judge_answer(const struct host *h, const struct call *c, const struct outcome *o, struct pd_error *err)
{
        struct pd_error why;
        int r = judge_items(c->slot, o->items, &why);

        if (r == 0 && o->rc == 0)
                r = judge_success(c, o, &why);
        if (r == 0)
                return 0;
        return pd_fail(err, why.code, "plugin %s (%s): bad answer to %s: %.150s", h->plugin_name, h->name,
                c->slot->name, why.text);
}
