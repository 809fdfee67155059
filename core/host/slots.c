/* SPDX-License-Identifier: Apache-2.0 */
/* The table of slots, one invoker a slot. An invoker only spreads struct slot_in over the slot's own argument list. */
#include "host/slots.h"

#define INVOKE(kind_, slot_, ...)                                                                     \
        static int kind_##_##slot_(const struct plugin *p, struct slot_call *c, struct pd_error *err) \
        {                                                                                             \
                struct slot_in *in = &c->in;                                                          \
                struct slot_out *out = &c->out;                                                       \
                                                                                                      \
                (void)in, (void)out;                                                                  \
                return p->kind_.slot_(p->self, &c->pd, ##__VA_ARGS__, err);                           \
        }

static int take_offer(void *arg, const struct pd_offer *item)
{
        return slot_take(arg, item);
}
static int take_machine(void *arg, const struct pd_machine *item)
{
        return slot_take(arg, item);
}
static int take_value(void *arg, const struct pd_value *item)
{
        return slot_take(arg, item);
}
static int take_object(void *arg, const struct pd_object *item)
{
        return slot_take(arg, item);
}

INVOKE(provider, caps, &out->provider_caps)
INVOKE(provider, validate)
INVOKE(provider, offers, take_offer, c)
INVOKE(provider, launch, &in->launch, take_machine, c)
INVOKE(provider, find, in->op_token, take_machine, c)
INVOKE(provider, describe, in->id, take_machine, c)
INVOKE(provider, list_owned, in->expect_tags, take_machine, c)
INVOKE(provider, renew, in->id, in->expect_tags, in->stop_wall_us, &out->stop_wall_us)
INVOKE(provider, terminate, in->id, in->expect_tags)
INVOKE(provider, notice, in->id, &out->at_wall_us)
INVOKE(provider, guest_stop_recipe, in->id)
INVOKE(provider, cost, in->id, in->from_wall_us, in->to_wall_us, &out->nano, &out->is_estimate)
INVOKE(provider, exec, in->id, in->argv, in->fds[0], in->fds[1], in->fds[2], &out->status)
INVOKE(provider, put, in->id, in->fds[0], in->path)
INVOKE(provider, get, in->id, in->path, in->fds[0])
INVOKE(provider, actions, slot_take_text, c)

INVOKE(checkpoint, caps, &out->capture_caps)
INVOKE(checkpoint, probe)
INVOKE(checkpoint, prepare, &in->container)
INVOKE(checkpoint, precheck, &in->container, take_value, c)
INVOKE(checkpoint, estimate, &in->container, &out->estimate)
INVOKE(checkpoint, save, &in->container, in->fds[0], take_value, c)
INVOKE(checkpoint, abort, &in->container)
INVOKE(checkpoint, restore, &in->container, in->fds[0])
INVOKE(checkpoint, verify, &in->container)
INVOKE(checkpoint, resume, &in->container)
INVOKE(checkpoint, destroy, &in->container)

INVOKE(vault, probe, &out->flags)
INVOKE(vault, put, in->name, in->fds[0], in->bytes)
INVOKE(vault, get, in->name, in->fds[0])
INVOKE(vault, stat, in->name, take_object, c)
INVOKE(vault, list, in->prefix, take_object, c)
INVOKE(vault, remove, in->name)

INVOKE(billing, record, &in->usage)
INVOKE(billing, probe)

/* What goes in: scalar and text arguments. */
#define IN(member_, type_, ...)                                                                                   \
        {                                                                                                         \
                .name = #member_, .offset = offsetof(struct slot_in, member_), .type = FIELD_##type_, __VA_ARGS__ \
        }
#define OUT(member_, type_, ...)                                                                                   \
        {                                                                                                          \
                .name = #member_, .offset = offsetof(struct slot_out, member_), .type = FIELD_##type_, __VA_ARGS__ \
        }
#define ID IN(id, TEXT, .max = 256)
#define TAGS IN(expect_tags, KV, .rules = RULE_NULL, .max = 256)
#define WALL .low = 0, .high = INT64_MAX
#define NAME IN(name, TEXT, .max = 512, .chars = "A-Za-z0-9._/-")
#define FILE_PATH IN(path, TEXT, .max = 4096)
#define ROWS(name_, text_, ...)                                       \
        static const struct field name_##_fields[] = { __VA_ARGS__ }; \
        static const struct shape name_ = { .name = (text_), .fields = name_##_fields, .n = ARRAY_LEN(name_##_fields) }

static const struct shape nothing = { .name = "arguments" };
ROWS(in_token, "find", IN(op_token, TEXT, .max = 64, .chars = "A-Za-z0-9_-"));
ROWS(in_id, "arguments", ID);
ROWS(in_tags, "arguments", TAGS);
ROWS(in_id_tags, "arguments", ID, TAGS);
ROWS(in_renew, "renew", ID, TAGS, IN(stop_wall_us, I64, WALL));
ROWS(in_cost, "cost", ID, IN(from_wall_us, I64, WALL), IN(to_wall_us, I64, WALL));
ROWS(in_exec, "exec", ID, IN(argv, ARGV, .max = 4096));
ROWS(in_copy, "arguments", ID, FILE_PATH);
ROWS(in_name, "arguments", NAME);
ROWS(in_prefix, "list", IN(prefix, TEXT, .max = 512, .rules = RULE_EMPTY, .chars = "A-Za-z0-9._/-"));
ROWS(in_name_bytes, "put", NAME, IN(bytes, U64, .low = 0, .high = INT64_MAX - 1));
ROWS(out_stop, "renew", OUT(stop_wall_us, I64, WALL));
ROWS(out_notice, "notice", OUT(at_wall_us, I64, WALL));
ROWS(out_cost, "cost", OUT(nano, I64, .low = 0, .high = INT64_C(1000000000000000000)),
        OUT(is_estimate, I32, .low = 0, .high = 1));
ROWS(out_status, "exec", OUT(status, I32, .low = 0, .high = 0xffff));
ROWS(out_vault, "probe", OUT(flags, FLAGS, .low = 0, .high = PD_VAULT_SHARED));

#define SLOT(KIND_, kind_, slot_, ...)                                                                 \
        {                                                                                              \
                .name = #slot_, .kind = PD_KIND_##KIND_, .offset = offsetof(struct pd_##kind_, slot_), \
                .invoke = kind_##_##slot_, __VA_ARGS__                                                 \
        }
#define NONE .in = &nothing

static const struct slot provider_slots[] = {
        SLOT(PROVIDER, provider, caps, NONE, .out = &shape_provider_caps),
        SLOT(PROVIDER, provider, validate, NONE, .absent = default_validate, .put = "missing"),
        SLOT(PROVIDER, provider, offers, NONE, .item = &shape_offer, .key = "zone type market"),
        SLOT(PROVIDER, provider, launch, .in = &shape_launch, .item = &shape_machine, .one_item = true),
        SLOT(PROVIDER, provider, find, .in = &in_token, .item = &shape_machine, .one_item = true),
        SLOT(PROVIDER, provider, describe, .in = &in_id, .item = &shape_machine, .one_item = true),
        SLOT(PROVIDER, provider, list_owned, .in = &in_tags, .item = &shape_machine, .key = "id"),
        SLOT(PROVIDER, provider, renew, .in = &in_renew, .out = &out_stop),
        SLOT(PROVIDER, provider, terminate, .in = &in_id_tags),
        SLOT(PROVIDER, provider, notice, .in = &in_id, .out = &out_notice, .absent = default_notice),
        SLOT(PROVIDER, provider, guest_stop_recipe, .in = &in_id, .absent = default_recipe, .put = "recipe"),
        SLOT(PROVIDER, provider, cost, .in = &in_cost, .out = &out_cost, .absent = default_cost),
        SLOT(PROVIDER, provider, exec, .in = &in_exec, .out = &out_status, .absent = default_unsupported, .n_fds = 3),
        SLOT(PROVIDER, provider, put, .in = &in_copy, .absent = default_unsupported, .n_fds = 1),
        SLOT(PROVIDER, provider, get, .in = &in_copy, .absent = default_unsupported, .n_fds = 1),
        SLOT(PROVIDER, provider, actions, NONE, .texts = true),
};
static const struct slot checkpoint_slots[] = {
        SLOT(CHECKPOINT, checkpoint, caps, NONE, .out = &shape_capture_caps),
        SLOT(CHECKPOINT, checkpoint, probe, NONE),
        SLOT(CHECKPOINT, checkpoint, prepare, .in = &shape_container, .absent = default_nothing),
        SLOT(CHECKPOINT, checkpoint, precheck, .in = &shape_container, .item = &shape_value, .put = "notes"),
        SLOT(CHECKPOINT, checkpoint, estimate, .in = &shape_container, .out = &shape_estimate,
                .absent = default_unsupported),
        SLOT(CHECKPOINT, checkpoint, save, .in = &shape_container, .item = &shape_value, .n_fds = 1,
                .put = "progress still_us"),
        SLOT(CHECKPOINT, checkpoint, abort, .in = &shape_container),
        SLOT(CHECKPOINT, checkpoint, restore, .in = &shape_container, .n_fds = 1, .put = "prestart restore"),
        SLOT(CHECKPOINT, checkpoint, verify, .in = &shape_container),
        SLOT(CHECKPOINT, checkpoint, resume, .in = &shape_container),
        SLOT(CHECKPOINT, checkpoint, destroy, .in = &shape_container),
};
static const struct slot vault_slots[] = {
        SLOT(VAULT, vault, probe, NONE, .out = &out_vault),
        SLOT(VAULT, vault, put, .in = &in_name_bytes, .n_fds = 1),
        SLOT(VAULT, vault, get, .in = &in_name, .n_fds = 1),
        SLOT(VAULT, vault, stat, .in = &in_name, .item = &shape_object, .one_item = true),
        SLOT(VAULT, vault, list, .in = &in_prefix, .item = &shape_object),
        SLOT(VAULT, vault, remove, .in = &in_name),
};
static const struct slot billing_slots[] = {
        SLOT(BILLING, billing, record, .in = &shape_usage),
        SLOT(BILLING, billing, probe, NONE, .absent = default_nothing),
};

/* size_1_0 is written as a number on purpose: it must not follow when a later version appends a slot. */
static const struct {
        const char *name;
        size_t size, size_1_0;
        const struct slot *slots;
        size_t n;
} kinds[] = {
        [PD_KIND_PROVIDER] = { "provider", sizeof(struct pd_provider), 192, provider_slots, ARRAY_LEN(provider_slots) },
        [PD_KIND_CHECKPOINT] = { "checkpoint", sizeof(struct pd_checkpoint), 152, checkpoint_slots,
                ARRAY_LEN(checkpoint_slots) },
        [PD_KIND_VAULT] = { "vault", sizeof(struct pd_vault), 112, vault_slots, ARRAY_LEN(vault_slots) },
        [PD_KIND_BILLING] = { "billing", sizeof(struct pd_billing), 80, billing_slots, ARRAY_LEN(billing_slots) },
};
static_assert(sizeof(struct pd_provider) >= 192 && sizeof(struct pd_checkpoint) >= 152 &&
                      sizeof(struct pd_vault) >= 112 && sizeof(struct pd_billing) >= 80,
        "a vtable only grows");

const char *kind_name(uint32_t kind)
{
        return kind < ARRAY_LEN(kinds) ? kinds[kind].name : NULL;
}

size_t kind_size(uint32_t kind)
{
        return kind < ARRAY_LEN(kinds) ? kinds[kind].size : 0;
}

size_t kind_size_1_0(uint32_t kind)
{
        return kind < ARRAY_LEN(kinds) ? kinds[kind].size_1_0 : 0;
}

const struct slot *slot_table(enum pd_kind kind, size_t *ret_n)
{
        if (!kind_name(kind)) {
                *ret_n = 0;
                return NULL;
        }
        *ret_n = kinds[kind].n;
        return kinds[kind].slots;
}

const struct slot *slot_find(enum pd_kind kind, const char *name)
{
        size_t n;
        const struct slot *table = slot_table(kind, &n);

        for (size_t i = 0; i < n; i++)
                if (streq(table[i].name, name))
                        return &table[i];
        return NULL;
}

bool slot_present(const struct plugin *p, const struct slot *s)
{
        return *(void (*const *)(void))((const char *)&p->head + s->offset) != NULL;
}
