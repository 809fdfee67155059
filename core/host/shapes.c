/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the SDK's structs: what each member is called, where it lies, and what it may hold. */
#include "host/slots.h"

#define ZONE "a-z0-9-"
#define TYPE "A-Za-z0-9._-"
#define TOKEN "A-Za-z0-9_-"
#define NANO_MAX INT64_C(1000000000000000) /* a million units: no price or bill of one machine is above it */
#define PEOPLE_MAX INT32_C(1000000)        /* cores, GPUs, machines in stock                            */

#define TEXT(member_, rules_, max_, chars_)                                                              \
        {                                                                                                \
                .name = #member_, .offset = offsetof(T, member_), .type = FIELD_TEXT, .rules = (rules_), \
                .max = (max_), .chars = (chars_)                                                         \
        }
#define NUMBER(member_, type_, low_, high_)                                                             \
        {                                                                                               \
                .name = #member_, .offset = offsetof(T, member_), .type = FIELD_##type_, .low = (low_), \
                .high = (high_)                                                                         \
        }
#define KV(member_, rules_, max_)                                                                                    \
        {                                                                                                            \
                .name = #member_, .offset = offsetof(T, member_), .type = FIELD_KV, .rules = (rules_), .max = (max_) \
        }
#define SHAPE(name_, text_, rows_)                                                           \
        const struct shape shape_##name_ = {                                                 \
                .name = (text_), .size = sizeof(T), .fields = (rows_), .n = ARRAY_LEN(rows_) \
        }

#define T struct pd_offer
static const struct field offer_rows[] = {
        TEXT(zone, 0, 48, ZONE),
        TEXT(type, 0, 64, TYPE),
        NUMBER(market, ENUM, PD_MARKET_ON_DEMAND, PD_MARKET_SPOT),
        TEXT(currency, RULE_CURRENCY, 3, NULL),
        NUMBER(price_nano_hour, I64, 0, NANO_MAX),
        NUMBER(price_at_wall_us, I64, 0, INT64_MAX),
        TEXT(price_source, RULE_EMPTY, 128, NULL),
        NUMBER(cpu_milli, I32, 1, INT64_C(1000) * PEOPLE_MAX),
        NUMBER(gpus, I32, 0, PEOPLE_MAX),
        TEXT(gpu_model, RULE_EMPTY, 64, NULL),
        NUMBER(gpu_memory_bytes, U64, 0, INT64_MAX - 1),
        NUMBER(memory_bytes, U64, 1, INT64_MAX - 1),
        NUMBER(disk_bytes, U64, 0, INT64_MAX - 1),
        NUMBER(notice_us, I64, 0, INT64_MAX),
        NUMBER(max_lifetime_us, I64, 0, INT64_MAX),
        NUMBER(egress_nano_gib, I64, 0, NANO_MAX),
        NUMBER(stock, I32, -1, PEOPLE_MAX),
};
SHAPE(offer, "offer", offer_rows);
#undef T

#define T struct pd_machine
static const struct field machine_rows[] = {
        TEXT(id, 0, 256, NULL),
        TEXT(zone, 0, 48, ZONE),
        TEXT(type, 0, 64, TYPE),
        NUMBER(market, ENUM, PD_MARKET_ON_DEMAND, PD_MARKET_SPOT),
        NUMBER(state, ENUM, PD_MACHINE_PENDING, PD_MACHINE_GONE),
        NUMBER(reason, ENUM, PD_REASON_NONE, PD_REASON_LEASE),
        TEXT(endpoint, RULE_EMPTY, 512, NULL),
        NUMBER(created_wall_us, I64, 0, INT64_MAX),
        NUMBER(stop_wall_us, I64, 0, INT64_MAX),
        TEXT(op_token, RULE_EMPTY, 64, TOKEN),
        KV(tags, RULE_NULL, 256),
};
SHAPE(machine, "machine", machine_rows);
#undef T

#define T struct pd_launch
static const struct field launch_rows[] = {
        TEXT(zone, 0, 48, ZONE),
        TEXT(type, 0, 64, TYPE),
        NUMBER(market, ENUM, PD_MARKET_ON_DEMAND, PD_MARKET_SPOT),
        NUMBER(ceiling_nano_hour, I64, 0, NANO_MAX),
        NUMBER(stop_wall_us, I64, 0, INT64_MAX),
        NUMBER(disk_bytes, U64, 0, INT64_MAX - 1),
        KV(tags, RULE_NULL, 256),
        TEXT(user_data, RULE_NULL | RULE_EMPTY | RULE_ANY, 256 << 10, NULL),
        TEXT(image, RULE_NULL | RULE_EMPTY, 1024, NULL),
        KV(env, RULE_NULL, 4096),
};
SHAPE(launch, "launch", launch_rows);
#undef T

#define T struct pd_provider_caps
#define CAPS_ALL                                                                                                     \
        (PD_CAP_SPOT | PD_CAP_TAGS | PD_CAP_IDEMPOTENT_LAUNCH | PD_CAP_NAME_UNIQUE | PD_CAP_GUEST_OFF_ENDS_BILLING | \
                PD_CAP_NOTICE_IN_GUEST | PD_CAP_EXEC | PD_CAP_OWN_MACHINES | PD_CAP_TAGS_MUTABLE)
static const struct field provider_caps_rows[] = {
        NUMBER(flags, FLAGS, 0, CAPS_ALL),
        NUMBER(lease, ENUM, PD_LEASE_NATIVE_MOVABLE, PD_LEASE_JOB_ONLY),
        NUMBER(stream, ENUM, PD_STREAM_UNIX, PD_STREAM_EXEC),
        NUMBER(tag_max, I32, 0, INT32_MAX),
        NUMBER(tag_key_max, I32, 0, INT32_MAX),
        NUMBER(tag_value_max, I32, 0, INT32_MAX),
        NUMBER(min_poll_us, I64, 0, INT64_MAX),
        NUMBER(settle_us, I64, 0, INT64_MAX),
        NUMBER(stop_lag_us, I64, 0, INT64_MAX),
        NUMBER(billing_step_us, I64, 0, INT64_MAX),
        NUMBER(minimum_billing_us, I64, 0, INT64_MAX),
};
SHAPE(provider_caps, "caps", provider_caps_rows);
#undef T

#define T struct pd_container
static const struct field container_rows[] = {
        TEXT(id, 0, 256, NULL),
        TEXT(runtime, RULE_EMPTY, 4096, NULL),
        TEXT(runtime_root, RULE_EMPTY, 4096, NULL),
        TEXT(bundle, RULE_EMPTY, 4096, NULL),
        TEXT(cgroup, RULE_EMPTY, 4096, NULL),
        TEXT(job, 0, 64, TOKEN),
        NUMBER(generation, U64, 0, INT64_MAX - 1),
        NUMBER(pid, I32, 0, INT32_MAX),
        NUMBER(uid, I32, 0, INT32_MAX),
        NUMBER(gid, I32, 0, INT32_MAX),
        TEXT(job_dir, RULE_EMPTY, 4096, NULL),
        TEXT(job_dir_inside, RULE_EMPTY, 4096, NULL),
        TEXT(socket_path, RULE_EMPTY, 4096, NULL),
        KV(settings, RULE_NULL, 1024),
};
SHAPE(container, "container", container_rows);
#undef T

#define T struct pd_value
static const struct field value_rows[] = {
        TEXT(path, 0, 1024, NULL),
        TEXT(type, RULE_EMPTY, 256, NULL),
        TEXT(reason, 0, 1024, NULL),
        TEXT(fix, RULE_EMPTY, 1024, NULL),
        NUMBER(pid, I32, 0, INT32_MAX),
        NUMBER(fd, I32, -1, INT32_MAX),
};
SHAPE(value, "value", value_rows);
#undef T

#define T struct pd_capture_caps
#define CAPTURE_ALL (PD_CAPTURE_GANG | PD_CAPTURE_CARRIES | PD_CAPTURE_NEEDS_JOB | PD_CAPTURE_USERNS)
static const struct field capture_caps_rows[] = { NUMBER(flags, FLAGS, 0, CAPTURE_ALL) };
SHAPE(capture_caps, "caps", capture_caps_rows);
#undef T

#define T struct pd_estimate
static const struct field estimate_rows[] = {
        NUMBER(bytes, U64, 0, INT64_MAX - 1),
        NUMBER(freeze_us, I64, 0, INT64_MAX),
};
SHAPE(estimate, "estimate", estimate_rows);
#undef T

#define T struct pd_object
static const struct field object_rows[] = {
        TEXT(name, 0, 512, "A-Za-z0-9._/-"),
        NUMBER(bytes, U64, 0, INT64_MAX - 1),
        NUMBER(modified_wall_us, I64, 0, INT64_MAX),
};
SHAPE(object, "object", object_rows);
#undef T

#define T struct pd_usage
static const struct field usage_rows[] = {
        TEXT(id, 0, 128, NULL),
        TEXT(job, RULE_EMPTY, 64, NULL),
        TEXT(project, RULE_EMPTY, 256, NULL),
        TEXT(user, RULE_EMPTY, 256, NULL),
        TEXT(offer, RULE_EMPTY, 256, NULL),
        TEXT(machine, RULE_EMPTY, 256, NULL),
        NUMBER(generation, U64, 0, INT64_MAX - 1),
        NUMBER(from_wall_us, I64, 0, INT64_MAX),
        NUMBER(to_wall_us, I64, 0, INT64_MAX),
        NUMBER(price_nano_hour, I64, 0, NANO_MAX),
        NUMBER(amount_nano, I64, INT64_MIN, INT64_MAX),
        TEXT(currency, RULE_CURRENCY, 3, NULL),
        TEXT(plan, RULE_EMPTY, 64, NULL),
        KV(tags, RULE_NULL, 256),
};
SHAPE(usage, "usage", usage_rows);
#undef T
