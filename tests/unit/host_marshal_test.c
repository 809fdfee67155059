/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the SDK to JSON and back, and the rules of their rows. */
#include <limits.h>

#include "host/slots.h"
#include "tap.h"

static const struct shape *const shapes[] = { &shape_offer, &shape_machine, &shape_launch, &shape_provider_caps,
        &shape_container, &shape_value, &shape_capture_caps, &shape_estimate, &shape_object, &shape_usage };

/* Text that a row allows, different for each row. */
static const char *some_text(const struct field *f, size_t i)
{
        static char texts[32][16];

        if (f->rules & RULE_CURRENCY)
                return "JPY";
        (void)snprintf(texts[i], sizeof texts[i], "t%zu", i);
        texts[i][f->max < 15 ? f->max : 15] = '\0';
        return texts[i];
}

/* An object with every member at `edge`: 0 = low, 1 = high, 2 = somewhere between. */
static json_t *sample(const struct shape *s, int edge)
{
        json_t *o = json_object();

        for (size_t i = 0; i < s->n; i++) {
                const struct field *f = &s->fields[i];
                int64_t n = edge == 0 ? f->low : edge == 1 ? f->high : f->low + (f->high > f->low ? 1 : 0);

                if (f->type == FIELD_TEXT)
                        (void)json_object_set_new(o, f->name,
                                edge == 0 && (f->rules & RULE_NULL) ? json_null() : json_string(some_text(f, i)));
                else if (f->type == FIELD_KV)
                        (void)json_object_set_new(
                                o, f->name, edge == 0 ? json_null() : json_pack("{s:s,s:s}", "z", "1", "a", ""));
                else
                        (void)json_object_set_new(o, f->name, json_integer(n));
        }
        return o;
}

static void test_round_trips(void)
{
        static const char *const edges[] = { "lowest", "highest", "ordinary" };

        for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
                for (int edge = 0; edge < 3; edge++) {
                        js_owned *in = sample(shapes[i], edge), *out = NULL;
                        union {
                                struct slot_in room;
                                uint32_t size;
                        } u = { 0 };
                        struct arena arena = { 0 };
                        struct pd_error err = { 0 };
                        int r = marshal_decode(shapes[i], in, &u, &arena, &err);

                        if (r == 0)
                                r = marshal_encode(shapes[i], &u, &out, &err);
                        tap_ok(r == 0 && json_equal(in, out) && u.size == shapes[i]->size,
                                "%s: %s values go to the struct and back unchanged %s", shapes[i]->name, edges[edge],
                                err.text);
                        arena_clear(&arena);
                }
}

/* The order in a kv is the caller's. */
static void test_order(void)
{
        js_owned *in = json_pack("{s:s,s:s,s:i,s:{s:s,s:s,s:s}}", "zone", "a", "type", "b", "market", 1, "tags", "z",
                         "1", "m", "2", "a", "3"),
                 *out = NULL;
        struct pd_launch launch = { 0 };
        struct arena arena = { 0 };
        struct pd_error err = { 0 };

        tap_int(marshal_decode(&shape_launch, in, &launch, &arena, &err), 0, "a launch with tags decodes");
        tap_ok(launch.tags && launch.tags->count == 3 && streq(launch.tags->pairs[0].key, "z") &&
                        streq(launch.tags->pairs[2].key, "a"),
                "tags stand in the order in which they were given");
        tap_ok(!launch.user_data && !launch.env && launch.disk_bytes == 0, "what is absent is NULL or 0");
        tap_int(marshal_encode(&shape_launch, &launch, &out, &err), 0, "... and encodes");
        tap_str(json_object_iter_key(json_object_iter(json_object_get(out, "tags"))), "z", "... in the same order");
        arena_clear(&arena);
}

/* A struct as a plugin of an older minor version hands it out: what it does not have reads as zeros. */
static void test_short(void)
{
        struct pd_estimate older = { .size = offsetof(struct pd_estimate, freeze_us), .bytes = 7, .freeze_us = 99 };
        struct pd_estimate newer = { .size = 4096, .bytes = 7, .freeze_us = 99 }, none = { .size = 0, .bytes = 7 };
        js_owned *a = NULL, *b = NULL, *c = NULL;
        struct pd_error err = { 0 };

        tap_ok(marshal_encode(&shape_estimate, &older, &a, &err) == 0 && js_int(a, "bytes", 0) == 7 &&
                        js_int(a, "freeze_us", -1) == 0,
                "a size smaller than expected: zeros for the rest");
        tap_ok(marshal_encode(&shape_estimate, &newer, &b, &err) == 0 && js_int(b, "freeze_us", 0) == 99,
                "a size larger than expected: no more than ours is read");
        tap_ok(marshal_encode(&shape_estimate, &none, &c, &err) == -PD_E_INTERNAL && strstr(err.text, "size is 0"),
                "no size is refused: %s", err.text);
        tap_ok(marshal_encode(&shape_estimate, NULL, &c, &err) == -PD_E_INTERNAL, "NULL is refused: %s", err.text);
}

/* One wrong member in an offer, as JSON text. */
static const struct {
        const char *name, *member, *value, *part;
} bad[] = {
        { "an enum below its first value", "market", "0", "market 0 is no value" },
        { "an enum above its last value", "market", "3", "market 3 is no value" },
        { "an enum as text", "market", "\"spot\"", "must be a whole number" },
        { "a negative price", "price_nano_hour", "-1", "price_nano_hour is -1" },
        { "a price of more than a million", "price_nano_hour", "1000000000000001", "must lie from 0" },
        { "a number with a point", "price_nano_hour", "1.5", "must be a whole number" },
        { "a number that int32 does not hold", "gpus", "4294967296", "gpus is 4294967296" },
        { "no memory at all", "memory_bytes", "0", "memory_bytes is 0" },
        { "stock below -1", "stock", "-2", "stock is -2" },
        { "an empty zone", "zone", "\"\"", "zone is empty" },
        { "a zone in capitals", "zone", "\"Here\"", "may only have the characters a-z0-9-" },
        { "a zone of 49 bytes", "zone", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
                "zone is 49 bytes long" },
        { "a type with a slash", "type", "\"a/b\"", "may only have" },
        { "a zone that is null", "zone", "null", "zone is missing" },
        { "a currency in lower case", "currency", "\"eur\"", "no ISO 4217 code" },
        { "a currency of two letters", "currency", "\"EU\"", "no ISO 4217 code" },
        { "a currency over the border of two", "currency", "\"R G\"", "no ISO 4217 code" },
        { "a line feed in a source", "price_source", "\"a\\nb\"", "control character at byte 1" },
        { "text that is a list", "price_source", "[]", "must be a string" },
        { "a member that there is not", "prise_source", "\"x\"", "did you mean \"price_source\"?" },
};

static void test_rules(void)
{
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                js_owned *o = sample(&shape_offer, 2);
                struct pd_error err = { 0 };
                int r;

                (void)json_object_set_new(o, bad[i].member, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
                r = marshal_judge(&shape_offer, o, PD_E_INVALID, &err);
                tap_ok(r == -PD_E_INVALID && strstr(err.text, bad[i].part) && str_starts(err.text, "offer: "), "%s: %s",
                        bad[i].name, err.text);
        }
}

static void test_flags_and_sizes(void)
{
        js_owned *caps = sample(&shape_provider_caps, 1), *usage = sample(&shape_usage, 1), *kv = NULL;
        struct pd_object object = { .size = sizeof object, .name = "a", .bytes = UINT64_MAX };
        struct pd_usage u = { .size = sizeof u };
        js_owned *o = NULL;
        struct pd_error err = { 0 };

        tap_int(marshal_judge(&shape_provider_caps, caps, PD_E_INVALID, &err), 0, "every flag that is known is fine");
        (void)json_object_set_new(caps, "flags", json_integer(0x200));
        tap_ok(marshal_judge(&shape_provider_caps, caps, PD_E_INVALID, &err) < 0 && strstr(err.text, "flags 0x200"),
                "one that is not is refused: %s", err.text);
        tap_ok(marshal_encode(&shape_object, &object, &o, &err) == 0 &&
                        marshal_judge(&shape_object, o, PD_E_INTERNAL, &err) < 0,
                "a size above what JSON carries is refused, not wrapped: %s", err.text);
        (void)json_object_set_new(usage, "tags", json_pack("{s:i}", "a", 1));
        tap_ok(marshal_judge(&shape_usage, usage, PD_E_INVALID, &err) < 0 &&
                        strstr(err.text, "tags.a must be a string"),
                "a tag that is a number is refused: %s", err.text);
        kv = json_object();
        for (int i = 0; i < 257; i++) {
                char key[16];

                (void)snprintf(key, sizeof key, "k%d", i);
                (void)json_object_set_new(kv, key, json_string(""));
        }
        (void)json_object_set(usage, "tags", kv);
        tap_ok(marshal_judge(&shape_usage, usage, PD_E_INVALID, &err) < 0 && strstr(err.text, "257 members"),
                "257 tags are refused: %s", err.text);
        js_unrefp(&o);
        o = NULL;
        tap_ok(marshal_encode(&shape_usage, &u, &o, &err) == -PD_E_INTERNAL && strstr(err.text, "id is NULL"),
                "text that must be there and is NULL: %s", err.text);
}

/* Lists of pairs as a hostile plugin hands them out. */
static void test_pairs(void)
{
        struct pd_pair twice[] = { { "a", "1" }, { "a", "2" } }, null = { "a", NULL }, binary = { "a", "\xff" };
        const struct {
                const char *name, *part;
                struct pd_kv kv;
        } rows[] = {
                { "a name that comes twice", "names a twice", { sizeof(struct pd_kv), 2, twice } },
                { "a value that is NULL", "name or value is NULL", { sizeof(struct pd_kv), 1, &null } },
                { "a value that is not UTF-8", "not UTF-8", { sizeof(struct pd_kv), 1, &binary } },
                { "no size", "no list of at most", { 0, 1, twice } },
                { "a count without pairs", "no list of at most", { sizeof(struct pd_kv), 1, NULL } },
                { "a count of four thousand million", "no list of at most",
                        { sizeof(struct pd_kv), UINT32_MAX, twice } },
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pd_machine m = { .size = sizeof m,
                        .id = "i",
                        .zone = "z",
                        .type = "t",
                        .market = PD_MARKET_SPOT,
                        .state = PD_MACHINE_RUNNING,
                        .endpoint = "",
                        .op_token = "",
                        .tags = &rows[i].kv };
                js_owned *o = NULL;
                struct pd_error err = { 0 };

                tap_ok(marshal_encode(&shape_machine, &m, &o, &err) == -PD_E_INTERNAL && strstr(err.text, rows[i].part),
                        "tags with %s: %s", rows[i].name, err.text);
        }
}

/* The table of slots says what the vtables say. */
static void test_slots(void)
{
        const enum pd_kind kinds[] = { PD_KIND_PROVIDER, PD_KIND_CHECKPOINT, PD_KIND_VAULT, PD_KIND_BILLING };

        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                size_t n, at = offsetof(struct pd_billing, record); /* behind open and close */
                const struct slot *table = slot_table(kinds[k], &n);
                bool in_order = true;

                for (size_t i = 0; i < n; i++, at += sizeof(void (*)(void)))
                        in_order = in_order && table[i].offset == at && slot_find(kinds[k], table[i].name) == &table[i];
                tap_ok(in_order && at == kind_size(kinds[k]), "the table of a %s has each slot of its vtable, in order",
                        kind_name(kinds[k]));
        }
        tap_ok(!kind_name(0) && !kind_name(5) && !kind_name(UINT32_MAX) && !slot_find(PD_KIND_VAULT, "launch"),
                "there are no other kinds, and no other slots");
        tap_ok(currency_known("EUR") && currency_known("ZWG") && !currency_known("") && !currency_known("EURO") &&
                        !currency_known("ED "),
                "currencies");
}

int main(void)
{
        test_round_trips();
        test_order();
        test_short();
        test_rules();
        test_flags_and_sizes();
        test_pairs();
        test_slots();
        return tap_done();
}
