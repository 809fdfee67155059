/* SPDX-License-Identifier: Apache-2.0 */
/* Written by layout.py and clang-format; never edited. */
static_assert(PD_ABI_MINOR ? sizeof(struct pd_usage) >= 120 : sizeof(struct pd_usage) == 120, "the size of pd_usage");
static_assert(offsetof(struct pd_usage, size) == 0 && sizeof(((struct pd_usage *)0)->size) == 4, "pd_usage.size");
static_assert(offsetof(struct pd_usage, id) == 8 && sizeof(((struct pd_usage *)0)->id) == 8, "pd_usage.id");
static_assert(offsetof(struct pd_usage, job) == 16 && sizeof(((struct pd_usage *)0)->job) == 8, "pd_usage.job");
static_assert(
        offsetof(struct pd_usage, project) == 24 && sizeof(((struct pd_usage *)0)->project) == 8, "pd_usage.project");
static_assert(offsetof(struct pd_usage, user) == 32 && sizeof(((struct pd_usage *)0)->user) == 8, "pd_usage.user");
static_assert(offsetof(struct pd_usage, offer) == 40 && sizeof(((struct pd_usage *)0)->offer) == 8, "pd_usage.offer");
static_assert(
        offsetof(struct pd_usage, machine) == 48 && sizeof(((struct pd_usage *)0)->machine) == 8, "pd_usage.machine");
static_assert(offsetof(struct pd_usage, generation) == 56 && sizeof(((struct pd_usage *)0)->generation) == 8,
        "pd_usage.generation");
static_assert(offsetof(struct pd_usage, from_wall_us) == 64 && sizeof(((struct pd_usage *)0)->from_wall_us) == 8,
        "pd_usage.from_wall_us");
static_assert(offsetof(struct pd_usage, to_wall_us) == 72 && sizeof(((struct pd_usage *)0)->to_wall_us) == 8,
        "pd_usage.to_wall_us");
static_assert(offsetof(struct pd_usage, price_nano_hour) == 80 && sizeof(((struct pd_usage *)0)->price_nano_hour) == 8,
        "pd_usage.price_nano_hour");
static_assert(offsetof(struct pd_usage, amount_nano) == 88 && sizeof(((struct pd_usage *)0)->amount_nano) == 8,
        "pd_usage.amount_nano");
static_assert(offsetof(struct pd_usage, currency) == 96 && sizeof(((struct pd_usage *)0)->currency) == 8,
        "pd_usage.currency");
static_assert(offsetof(struct pd_usage, plan) == 104 && sizeof(((struct pd_usage *)0)->plan) == 8, "pd_usage.plan");
static_assert(offsetof(struct pd_usage, tags) == 112 && sizeof(((struct pd_usage *)0)->tags) == 8, "pd_usage.tags");
static_assert(
        PD_ABI_MINOR ? sizeof(struct pd_billing) >= 80 : sizeof(struct pd_billing) == 80, "the size of pd_billing");
static_assert(
        offsetof(struct pd_billing, head) == 0 && sizeof(((struct pd_billing *)0)->head) == 40, "pd_billing.head");
static_assert(
        offsetof(struct pd_billing, flags) == 40 && sizeof(((struct pd_billing *)0)->flags) == 4, "pd_billing.flags");
static_assert(
        offsetof(struct pd_billing, open) == 48 && sizeof(((struct pd_billing *)0)->open) == 8, "pd_billing.open");
static_assert(
        offsetof(struct pd_billing, close) == 56 && sizeof(((struct pd_billing *)0)->close) == 8, "pd_billing.close");
static_assert(offsetof(struct pd_billing, record) == 64 && sizeof(((struct pd_billing *)0)->record) == 8,
        "pd_billing.record");
static_assert(
        offsetof(struct pd_billing, probe) == 72 && sizeof(((struct pd_billing *)0)->probe) == 8, "pd_billing.probe");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_container) >= 112 : sizeof(struct pd_container) == 112,
        "the size of pd_container");
static_assert(
        offsetof(struct pd_container, size) == 0 && sizeof(((struct pd_container *)0)->size) == 4, "pd_container.size");
static_assert(offsetof(struct pd_container, id) == 8 && sizeof(((struct pd_container *)0)->id) == 8, "pd_container.id");
static_assert(offsetof(struct pd_container, runtime) == 16 && sizeof(((struct pd_container *)0)->runtime) == 8,
        "pd_container.runtime");
static_assert(
        offsetof(struct pd_container, runtime_root) == 24 && sizeof(((struct pd_container *)0)->runtime_root) == 8,
        "pd_container.runtime_root");
static_assert(offsetof(struct pd_container, bundle) == 32 && sizeof(((struct pd_container *)0)->bundle) == 8,
        "pd_container.bundle");
static_assert(offsetof(struct pd_container, cgroup) == 40 && sizeof(((struct pd_container *)0)->cgroup) == 8,
        "pd_container.cgroup");
static_assert(
        offsetof(struct pd_container, job) == 48 && sizeof(((struct pd_container *)0)->job) == 8, "pd_container.job");
static_assert(offsetof(struct pd_container, generation) == 56 && sizeof(((struct pd_container *)0)->generation) == 8,
        "pd_container.generation");
static_assert(
        offsetof(struct pd_container, pid) == 64 && sizeof(((struct pd_container *)0)->pid) == 4, "pd_container.pid");
static_assert(
        offsetof(struct pd_container, uid) == 68 && sizeof(((struct pd_container *)0)->uid) == 4, "pd_container.uid");
static_assert(
        offsetof(struct pd_container, gid) == 72 && sizeof(((struct pd_container *)0)->gid) == 4, "pd_container.gid");
static_assert(offsetof(struct pd_container, job_dir) == 80 && sizeof(((struct pd_container *)0)->job_dir) == 8,
        "pd_container.job_dir");
static_assert(
        offsetof(struct pd_container, job_dir_inside) == 88 && sizeof(((struct pd_container *)0)->job_dir_inside) == 8,
        "pd_container.job_dir_inside");
static_assert(offsetof(struct pd_container, socket_path) == 96 && sizeof(((struct pd_container *)0)->socket_path) == 8,
        "pd_container.socket_path");
static_assert(offsetof(struct pd_container, settings) == 104 && sizeof(((struct pd_container *)0)->settings) == 8,
        "pd_container.settings");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_value) >= 48 : sizeof(struct pd_value) == 48, "the size of pd_value");
static_assert(offsetof(struct pd_value, size) == 0 && sizeof(((struct pd_value *)0)->size) == 4, "pd_value.size");
static_assert(offsetof(struct pd_value, path) == 8 && sizeof(((struct pd_value *)0)->path) == 8, "pd_value.path");
static_assert(offsetof(struct pd_value, type) == 16 && sizeof(((struct pd_value *)0)->type) == 8, "pd_value.type");
static_assert(
        offsetof(struct pd_value, reason) == 24 && sizeof(((struct pd_value *)0)->reason) == 8, "pd_value.reason");
static_assert(offsetof(struct pd_value, fix) == 32 && sizeof(((struct pd_value *)0)->fix) == 8, "pd_value.fix");
static_assert(offsetof(struct pd_value, pid) == 40 && sizeof(((struct pd_value *)0)->pid) == 4, "pd_value.pid");
static_assert(offsetof(struct pd_value, fd) == 44 && sizeof(((struct pd_value *)0)->fd) == 4, "pd_value.fd");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_capture_caps) >= 8 : sizeof(struct pd_capture_caps) == 8,
        "the size of pd_capture_caps");
static_assert(offsetof(struct pd_capture_caps, size) == 0 && sizeof(((struct pd_capture_caps *)0)->size) == 4,
        "pd_capture_caps.size");
static_assert(offsetof(struct pd_capture_caps, flags) == 4 && sizeof(((struct pd_capture_caps *)0)->flags) == 4,
        "pd_capture_caps.flags");
static_assert(
        PD_ABI_MINOR ? sizeof(struct pd_estimate) >= 24 : sizeof(struct pd_estimate) == 24, "the size of pd_estimate");
static_assert(
        offsetof(struct pd_estimate, size) == 0 && sizeof(((struct pd_estimate *)0)->size) == 4, "pd_estimate.size");
static_assert(
        offsetof(struct pd_estimate, bytes) == 8 && sizeof(((struct pd_estimate *)0)->bytes) == 8, "pd_estimate.bytes");
static_assert(offsetof(struct pd_estimate, freeze_us) == 16 && sizeof(((struct pd_estimate *)0)->freeze_us) == 8,
        "pd_estimate.freeze_us");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_checkpoint) >= 152 : sizeof(struct pd_checkpoint) == 152,
        "the size of pd_checkpoint");
static_assert(offsetof(struct pd_checkpoint, head) == 0 && sizeof(((struct pd_checkpoint *)0)->head) == 40,
        "pd_checkpoint.head");
static_assert(offsetof(struct pd_checkpoint, flags) == 40 && sizeof(((struct pd_checkpoint *)0)->flags) == 4,
        "pd_checkpoint.flags");
static_assert(offsetof(struct pd_checkpoint, open) == 48 && sizeof(((struct pd_checkpoint *)0)->open) == 8,
        "pd_checkpoint.open");
static_assert(offsetof(struct pd_checkpoint, close) == 56 && sizeof(((struct pd_checkpoint *)0)->close) == 8,
        "pd_checkpoint.close");
static_assert(offsetof(struct pd_checkpoint, caps) == 64 && sizeof(((struct pd_checkpoint *)0)->caps) == 8,
        "pd_checkpoint.caps");
static_assert(offsetof(struct pd_checkpoint, probe) == 72 && sizeof(((struct pd_checkpoint *)0)->probe) == 8,
        "pd_checkpoint.probe");
static_assert(offsetof(struct pd_checkpoint, prepare) == 80 && sizeof(((struct pd_checkpoint *)0)->prepare) == 8,
        "pd_checkpoint.prepare");
static_assert(offsetof(struct pd_checkpoint, precheck) == 88 && sizeof(((struct pd_checkpoint *)0)->precheck) == 8,
        "pd_checkpoint.precheck");
static_assert(offsetof(struct pd_checkpoint, estimate) == 96 && sizeof(((struct pd_checkpoint *)0)->estimate) == 8,
        "pd_checkpoint.estimate");
static_assert(offsetof(struct pd_checkpoint, save) == 104 && sizeof(((struct pd_checkpoint *)0)->save) == 8,
        "pd_checkpoint.save");
static_assert(offsetof(struct pd_checkpoint, abort) == 112 && sizeof(((struct pd_checkpoint *)0)->abort) == 8,
        "pd_checkpoint.abort");
static_assert(offsetof(struct pd_checkpoint, restore) == 120 && sizeof(((struct pd_checkpoint *)0)->restore) == 8,
        "pd_checkpoint.restore");
static_assert(offsetof(struct pd_checkpoint, verify) == 128 && sizeof(((struct pd_checkpoint *)0)->verify) == 8,
        "pd_checkpoint.verify");
static_assert(offsetof(struct pd_checkpoint, resume) == 136 && sizeof(((struct pd_checkpoint *)0)->resume) == 8,
        "pd_checkpoint.resume");
static_assert(offsetof(struct pd_checkpoint, destroy) == 144 && sizeof(((struct pd_checkpoint *)0)->destroy) == 8,
        "pd_checkpoint.destroy");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_error) >= 440 : sizeof(struct pd_error) == 440, "the size of pd_error");
static_assert(offsetof(struct pd_error, size) == 0 && sizeof(((struct pd_error *)0)->size) == 4, "pd_error.size");
static_assert(offsetof(struct pd_error, code) == 4 && sizeof(((struct pd_error *)0)->code) == 4, "pd_error.code");
static_assert(offsetof(struct pd_error, retry_after_us) == 8 && sizeof(((struct pd_error *)0)->retry_after_us) == 8,
        "pd_error.retry_after_us");
static_assert(offsetof(struct pd_error, provider_code) == 16 && sizeof(((struct pd_error *)0)->provider_code) == 64,
        "pd_error.provider_code");
static_assert(
        offsetof(struct pd_error, subject) == 80 && sizeof(((struct pd_error *)0)->subject) == 128, "pd_error.subject");
static_assert(offsetof(struct pd_error, text) == 208 && sizeof(((struct pd_error *)0)->text) == 232, "pd_error.text");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_host) >= 56 : sizeof(struct pd_host) == 56, "the size of pd_host");
static_assert(offsetof(struct pd_host, size) == 0 && sizeof(((struct pd_host *)0)->size) == 4, "pd_host.size");
static_assert(
        offsetof(struct pd_host, abi_minor) == 4 && sizeof(((struct pd_host *)0)->abi_minor) == 4, "pd_host.abi_minor");
static_assert(offsetof(struct pd_host, log) == 8 && sizeof(((struct pd_host *)0)->log) == 8, "pd_host.log");
static_assert(offsetof(struct pd_host, put) == 16 && sizeof(((struct pd_host *)0)->put) == 8, "pd_host.put");
static_assert(offsetof(struct pd_host, cancelled) == 24 && sizeof(((struct pd_host *)0)->cancelled) == 8,
        "pd_host.cancelled");
static_assert(offsetof(struct pd_host, now_wall_us) == 32 && sizeof(((struct pd_host *)0)->now_wall_us) == 8,
        "pd_host.now_wall_us");
static_assert(offsetof(struct pd_host, now_boot_us) == 40 && sizeof(((struct pd_host *)0)->now_boot_us) == 8,
        "pd_host.now_boot_us");
static_assert(offsetof(struct pd_host, random) == 48 && sizeof(((struct pd_host *)0)->random) == 8, "pd_host.random");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_head) >= 40 : sizeof(struct pd_head) == 40, "the size of pd_head");
static_assert(offsetof(struct pd_head, magic) == 0 && sizeof(((struct pd_head *)0)->magic) == 4, "pd_head.magic");
static_assert(offsetof(struct pd_head, kind) == 4 && sizeof(((struct pd_head *)0)->kind) == 4, "pd_head.kind");
static_assert(
        offsetof(struct pd_head, abi_major) == 8 && sizeof(((struct pd_head *)0)->abi_major) == 4, "pd_head.abi_major");
static_assert(offsetof(struct pd_head, abi_minor) == 12 && sizeof(((struct pd_head *)0)->abi_minor) == 4,
        "pd_head.abi_minor");
static_assert(offsetof(struct pd_head, size) == 16 && sizeof(((struct pd_head *)0)->size) == 8, "pd_head.size");
static_assert(offsetof(struct pd_head, name) == 24 && sizeof(((struct pd_head *)0)->name) == 8, "pd_head.name");
static_assert(
        offsetof(struct pd_head, version) == 32 && sizeof(((struct pd_head *)0)->version) == 8, "pd_head.version");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_pair) >= 16 : sizeof(struct pd_pair) == 16, "the size of pd_pair");
static_assert(offsetof(struct pd_pair, key) == 0 && sizeof(((struct pd_pair *)0)->key) == 8, "pd_pair.key");
static_assert(offsetof(struct pd_pair, value) == 8 && sizeof(((struct pd_pair *)0)->value) == 8, "pd_pair.value");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_kv) >= 16 : sizeof(struct pd_kv) == 16, "the size of pd_kv");
static_assert(offsetof(struct pd_kv, size) == 0 && sizeof(((struct pd_kv *)0)->size) == 4, "pd_kv.size");
static_assert(offsetof(struct pd_kv, count) == 4 && sizeof(((struct pd_kv *)0)->count) == 4, "pd_kv.count");
static_assert(offsetof(struct pd_kv, pairs) == 8 && sizeof(((struct pd_kv *)0)->pairs) == 8, "pd_kv.pairs");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_call) >= 40 : sizeof(struct pd_call) == 40, "the size of pd_call");
static_assert(offsetof(struct pd_call, size) == 0 && sizeof(((struct pd_call *)0)->size) == 4, "pd_call.size");
static_assert(offsetof(struct pd_call, deadline_boot_us) == 8 && sizeof(((struct pd_call *)0)->deadline_boot_us) == 8,
        "pd_call.deadline_boot_us");
static_assert(
        offsetof(struct pd_call, op_token) == 16 && sizeof(((struct pd_call *)0)->op_token) == 8, "pd_call.op_token");
static_assert(offsetof(struct pd_call, host) == 24 && sizeof(((struct pd_call *)0)->host) == 8, "pd_call.host");
static_assert(
        offsetof(struct pd_call, context) == 32 && sizeof(((struct pd_call *)0)->context) == 8, "pd_call.context");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_provider_caps) >= 72 : sizeof(struct pd_provider_caps) == 72,
        "the size of pd_provider_caps");
static_assert(offsetof(struct pd_provider_caps, size) == 0 && sizeof(((struct pd_provider_caps *)0)->size) == 4,
        "pd_provider_caps.size");
static_assert(offsetof(struct pd_provider_caps, flags) == 4 && sizeof(((struct pd_provider_caps *)0)->flags) == 4,
        "pd_provider_caps.flags");
static_assert(offsetof(struct pd_provider_caps, lease) == 8 && sizeof(((struct pd_provider_caps *)0)->lease) == 4,
        "pd_provider_caps.lease");
static_assert(offsetof(struct pd_provider_caps, stream) == 12 && sizeof(((struct pd_provider_caps *)0)->stream) == 4,
        "pd_provider_caps.stream");
static_assert(offsetof(struct pd_provider_caps, tag_max) == 16 && sizeof(((struct pd_provider_caps *)0)->tag_max) == 4,
        "pd_provider_caps.tag_max");
static_assert(offsetof(struct pd_provider_caps, tag_key_max) == 20 &&
                      sizeof(((struct pd_provider_caps *)0)->tag_key_max) == 4,
        "pd_provider_caps.tag_key_max");
static_assert(offsetof(struct pd_provider_caps, tag_value_max) == 24 &&
                      sizeof(((struct pd_provider_caps *)0)->tag_value_max) == 4,
        "pd_provider_caps.tag_value_max");
static_assert(offsetof(struct pd_provider_caps, min_poll_us) == 32 &&
                      sizeof(((struct pd_provider_caps *)0)->min_poll_us) == 8,
        "pd_provider_caps.min_poll_us");
static_assert(
        offsetof(struct pd_provider_caps, settle_us) == 40 && sizeof(((struct pd_provider_caps *)0)->settle_us) == 8,
        "pd_provider_caps.settle_us");
static_assert(offsetof(struct pd_provider_caps, stop_lag_us) == 48 &&
                      sizeof(((struct pd_provider_caps *)0)->stop_lag_us) == 8,
        "pd_provider_caps.stop_lag_us");
static_assert(offsetof(struct pd_provider_caps, billing_step_us) == 56 &&
                      sizeof(((struct pd_provider_caps *)0)->billing_step_us) == 8,
        "pd_provider_caps.billing_step_us");
static_assert(offsetof(struct pd_provider_caps, minimum_billing_us) == 64 &&
                      sizeof(((struct pd_provider_caps *)0)->minimum_billing_us) == 8,
        "pd_provider_caps.minimum_billing_us");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_offer) >= 136 : sizeof(struct pd_offer) == 136, "the size of pd_offer");
static_assert(offsetof(struct pd_offer, size) == 0 && sizeof(((struct pd_offer *)0)->size) == 4, "pd_offer.size");
static_assert(offsetof(struct pd_offer, zone) == 8 && sizeof(((struct pd_offer *)0)->zone) == 8, "pd_offer.zone");
static_assert(offsetof(struct pd_offer, type) == 16 && sizeof(((struct pd_offer *)0)->type) == 8, "pd_offer.type");
static_assert(
        offsetof(struct pd_offer, market) == 24 && sizeof(((struct pd_offer *)0)->market) == 4, "pd_offer.market");
static_assert(offsetof(struct pd_offer, currency) == 32 && sizeof(((struct pd_offer *)0)->currency) == 8,
        "pd_offer.currency");
static_assert(offsetof(struct pd_offer, price_nano_hour) == 40 && sizeof(((struct pd_offer *)0)->price_nano_hour) == 8,
        "pd_offer.price_nano_hour");
static_assert(
        offsetof(struct pd_offer, price_at_wall_us) == 48 && sizeof(((struct pd_offer *)0)->price_at_wall_us) == 8,
        "pd_offer.price_at_wall_us");
static_assert(offsetof(struct pd_offer, price_source) == 56 && sizeof(((struct pd_offer *)0)->price_source) == 8,
        "pd_offer.price_source");
static_assert(offsetof(struct pd_offer, cpu_milli) == 64 && sizeof(((struct pd_offer *)0)->cpu_milli) == 4,
        "pd_offer.cpu_milli");
static_assert(offsetof(struct pd_offer, gpus) == 68 && sizeof(((struct pd_offer *)0)->gpus) == 4, "pd_offer.gpus");
static_assert(offsetof(struct pd_offer, gpu_model) == 72 && sizeof(((struct pd_offer *)0)->gpu_model) == 8,
        "pd_offer.gpu_model");
static_assert(
        offsetof(struct pd_offer, gpu_memory_bytes) == 80 && sizeof(((struct pd_offer *)0)->gpu_memory_bytes) == 8,
        "pd_offer.gpu_memory_bytes");
static_assert(offsetof(struct pd_offer, memory_bytes) == 88 && sizeof(((struct pd_offer *)0)->memory_bytes) == 8,
        "pd_offer.memory_bytes");
static_assert(offsetof(struct pd_offer, disk_bytes) == 96 && sizeof(((struct pd_offer *)0)->disk_bytes) == 8,
        "pd_offer.disk_bytes");
static_assert(offsetof(struct pd_offer, notice_us) == 104 && sizeof(((struct pd_offer *)0)->notice_us) == 8,
        "pd_offer.notice_us");
static_assert(offsetof(struct pd_offer, max_lifetime_us) == 112 && sizeof(((struct pd_offer *)0)->max_lifetime_us) == 8,
        "pd_offer.max_lifetime_us");
static_assert(offsetof(struct pd_offer, egress_nano_gib) == 120 && sizeof(((struct pd_offer *)0)->egress_nano_gib) == 8,
        "pd_offer.egress_nano_gib");
static_assert(offsetof(struct pd_offer, stock) == 128 && sizeof(((struct pd_offer *)0)->stock) == 4, "pd_offer.stock");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_launch) >= 88 : sizeof(struct pd_launch) == 88, "the size of pd_launch");
static_assert(offsetof(struct pd_launch, size) == 0 && sizeof(((struct pd_launch *)0)->size) == 4, "pd_launch.size");
static_assert(offsetof(struct pd_launch, zone) == 8 && sizeof(((struct pd_launch *)0)->zone) == 8, "pd_launch.zone");
static_assert(offsetof(struct pd_launch, type) == 16 && sizeof(((struct pd_launch *)0)->type) == 8, "pd_launch.type");
static_assert(
        offsetof(struct pd_launch, market) == 24 && sizeof(((struct pd_launch *)0)->market) == 4, "pd_launch.market");
static_assert(
        offsetof(struct pd_launch, ceiling_nano_hour) == 32 && sizeof(((struct pd_launch *)0)->ceiling_nano_hour) == 8,
        "pd_launch.ceiling_nano_hour");
static_assert(offsetof(struct pd_launch, stop_wall_us) == 40 && sizeof(((struct pd_launch *)0)->stop_wall_us) == 8,
        "pd_launch.stop_wall_us");
static_assert(offsetof(struct pd_launch, disk_bytes) == 48 && sizeof(((struct pd_launch *)0)->disk_bytes) == 8,
        "pd_launch.disk_bytes");
static_assert(offsetof(struct pd_launch, tags) == 56 && sizeof(((struct pd_launch *)0)->tags) == 8, "pd_launch.tags");
static_assert(offsetof(struct pd_launch, user_data) == 64 && sizeof(((struct pd_launch *)0)->user_data) == 8,
        "pd_launch.user_data");
static_assert(
        offsetof(struct pd_launch, image) == 72 && sizeof(((struct pd_launch *)0)->image) == 8, "pd_launch.image");
static_assert(offsetof(struct pd_launch, env) == 80 && sizeof(((struct pd_launch *)0)->env) == 8, "pd_launch.env");
static_assert(
        PD_ABI_MINOR ? sizeof(struct pd_machine) >= 88 : sizeof(struct pd_machine) == 88, "the size of pd_machine");
static_assert(offsetof(struct pd_machine, size) == 0 && sizeof(((struct pd_machine *)0)->size) == 4, "pd_machine.size");
static_assert(offsetof(struct pd_machine, id) == 8 && sizeof(((struct pd_machine *)0)->id) == 8, "pd_machine.id");
static_assert(
        offsetof(struct pd_machine, zone) == 16 && sizeof(((struct pd_machine *)0)->zone) == 8, "pd_machine.zone");
static_assert(
        offsetof(struct pd_machine, type) == 24 && sizeof(((struct pd_machine *)0)->type) == 8, "pd_machine.type");
static_assert(offsetof(struct pd_machine, market) == 32 && sizeof(((struct pd_machine *)0)->market) == 4,
        "pd_machine.market");
static_assert(
        offsetof(struct pd_machine, state) == 36 && sizeof(((struct pd_machine *)0)->state) == 4, "pd_machine.state");
static_assert(offsetof(struct pd_machine, reason) == 40 && sizeof(((struct pd_machine *)0)->reason) == 4,
        "pd_machine.reason");
static_assert(offsetof(struct pd_machine, endpoint) == 48 && sizeof(((struct pd_machine *)0)->endpoint) == 8,
        "pd_machine.endpoint");
static_assert(
        offsetof(struct pd_machine, created_wall_us) == 56 && sizeof(((struct pd_machine *)0)->created_wall_us) == 8,
        "pd_machine.created_wall_us");
static_assert(offsetof(struct pd_machine, stop_wall_us) == 64 && sizeof(((struct pd_machine *)0)->stop_wall_us) == 8,
        "pd_machine.stop_wall_us");
static_assert(offsetof(struct pd_machine, op_token) == 72 && sizeof(((struct pd_machine *)0)->op_token) == 8,
        "pd_machine.op_token");
static_assert(
        offsetof(struct pd_machine, tags) == 80 && sizeof(((struct pd_machine *)0)->tags) == 8, "pd_machine.tags");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_provider) >= 192 : sizeof(struct pd_provider) == 192,
        "the size of pd_provider");
static_assert(
        offsetof(struct pd_provider, head) == 0 && sizeof(((struct pd_provider *)0)->head) == 40, "pd_provider.head");
static_assert(offsetof(struct pd_provider, flags) == 40 && sizeof(((struct pd_provider *)0)->flags) == 4,
        "pd_provider.flags");
static_assert(
        offsetof(struct pd_provider, open) == 48 && sizeof(((struct pd_provider *)0)->open) == 8, "pd_provider.open");
static_assert(offsetof(struct pd_provider, close) == 56 && sizeof(((struct pd_provider *)0)->close) == 8,
        "pd_provider.close");
static_assert(
        offsetof(struct pd_provider, caps) == 64 && sizeof(((struct pd_provider *)0)->caps) == 8, "pd_provider.caps");
static_assert(offsetof(struct pd_provider, validate) == 72 && sizeof(((struct pd_provider *)0)->validate) == 8,
        "pd_provider.validate");
static_assert(offsetof(struct pd_provider, offers) == 80 && sizeof(((struct pd_provider *)0)->offers) == 8,
        "pd_provider.offers");
static_assert(offsetof(struct pd_provider, launch) == 88 && sizeof(((struct pd_provider *)0)->launch) == 8,
        "pd_provider.launch");
static_assert(
        offsetof(struct pd_provider, find) == 96 && sizeof(((struct pd_provider *)0)->find) == 8, "pd_provider.find");
static_assert(offsetof(struct pd_provider, describe) == 104 && sizeof(((struct pd_provider *)0)->describe) == 8,
        "pd_provider.describe");
static_assert(offsetof(struct pd_provider, list_owned) == 112 && sizeof(((struct pd_provider *)0)->list_owned) == 8,
        "pd_provider.list_owned");
static_assert(offsetof(struct pd_provider, renew) == 120 && sizeof(((struct pd_provider *)0)->renew) == 8,
        "pd_provider.renew");
static_assert(offsetof(struct pd_provider, terminate) == 128 && sizeof(((struct pd_provider *)0)->terminate) == 8,
        "pd_provider.terminate");
static_assert(offsetof(struct pd_provider, notice) == 136 && sizeof(((struct pd_provider *)0)->notice) == 8,
        "pd_provider.notice");
static_assert(offsetof(struct pd_provider, guest_stop_recipe) == 144 &&
                      sizeof(((struct pd_provider *)0)->guest_stop_recipe) == 8,
        "pd_provider.guest_stop_recipe");
static_assert(
        offsetof(struct pd_provider, cost) == 152 && sizeof(((struct pd_provider *)0)->cost) == 8, "pd_provider.cost");
static_assert(
        offsetof(struct pd_provider, exec) == 160 && sizeof(((struct pd_provider *)0)->exec) == 8, "pd_provider.exec");
static_assert(
        offsetof(struct pd_provider, put) == 168 && sizeof(((struct pd_provider *)0)->put) == 8, "pd_provider.put");
static_assert(
        offsetof(struct pd_provider, get) == 176 && sizeof(((struct pd_provider *)0)->get) == 8, "pd_provider.get");
static_assert(offsetof(struct pd_provider, actions) == 184 && sizeof(((struct pd_provider *)0)->actions) == 8,
        "pd_provider.actions");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_object) >= 32 : sizeof(struct pd_object) == 32, "the size of pd_object");
static_assert(offsetof(struct pd_object, size) == 0 && sizeof(((struct pd_object *)0)->size) == 4, "pd_object.size");
static_assert(offsetof(struct pd_object, name) == 8 && sizeof(((struct pd_object *)0)->name) == 8, "pd_object.name");
static_assert(
        offsetof(struct pd_object, bytes) == 16 && sizeof(((struct pd_object *)0)->bytes) == 8, "pd_object.bytes");
static_assert(
        offsetof(struct pd_object, modified_wall_us) == 24 && sizeof(((struct pd_object *)0)->modified_wall_us) == 8,
        "pd_object.modified_wall_us");
static_assert(PD_ABI_MINOR ? sizeof(struct pd_vault) >= 112 : sizeof(struct pd_vault) == 112, "the size of pd_vault");
static_assert(offsetof(struct pd_vault, head) == 0 && sizeof(((struct pd_vault *)0)->head) == 40, "pd_vault.head");
static_assert(offsetof(struct pd_vault, flags) == 40 && sizeof(((struct pd_vault *)0)->flags) == 4, "pd_vault.flags");
static_assert(offsetof(struct pd_vault, open) == 48 && sizeof(((struct pd_vault *)0)->open) == 8, "pd_vault.open");
static_assert(offsetof(struct pd_vault, close) == 56 && sizeof(((struct pd_vault *)0)->close) == 8, "pd_vault.close");
static_assert(offsetof(struct pd_vault, probe) == 64 && sizeof(((struct pd_vault *)0)->probe) == 8, "pd_vault.probe");
static_assert(offsetof(struct pd_vault, put) == 72 && sizeof(((struct pd_vault *)0)->put) == 8, "pd_vault.put");
static_assert(offsetof(struct pd_vault, get) == 80 && sizeof(((struct pd_vault *)0)->get) == 8, "pd_vault.get");
static_assert(offsetof(struct pd_vault, stat) == 88 && sizeof(((struct pd_vault *)0)->stat) == 8, "pd_vault.stat");
static_assert(offsetof(struct pd_vault, list) == 96 && sizeof(((struct pd_vault *)0)->list) == 8, "pd_vault.list");
static_assert(
        offsetof(struct pd_vault, remove) == 104 && sizeof(((struct pd_vault *)0)->remove) == 8, "pd_vault.remove");
static_assert((long long)PD_CAPTURE_GANG == 1, "PD_CAPTURE_GANG");
static_assert((long long)PD_CAPTURE_CARRIES == 2, "PD_CAPTURE_CARRIES");
static_assert((long long)PD_CAPTURE_NEEDS_JOB == 4, "PD_CAPTURE_NEEDS_JOB");
static_assert((long long)PD_CAPTURE_USERNS == 8, "PD_CAPTURE_USERNS");
static_assert((long long)PD_OK == 0, "PD_OK");
static_assert((long long)PD_LOG_ERROR == 3, "PD_LOG_ERROR");
static_assert((long long)PD_LOG_WARNING == 4, "PD_LOG_WARNING");
static_assert((long long)PD_LOG_INFO == 6, "PD_LOG_INFO");
static_assert((long long)PD_LOG_DEBUG == 7, "PD_LOG_DEBUG");
static_assert((long long)PD_KIND_PROVIDER == 1, "PD_KIND_PROVIDER");
static_assert((long long)PD_KIND_CHECKPOINT == 2, "PD_KIND_CHECKPOINT");
static_assert((long long)PD_KIND_VAULT == 3, "PD_KIND_VAULT");
static_assert((long long)PD_KIND_BILLING == 4, "PD_KIND_BILLING");
static_assert((long long)PD_FLAG_CONCURRENT == 1, "PD_FLAG_CONCURRENT");
static_assert((long long)PD_LEASE_NATIVE_MOVABLE == 1, "PD_LEASE_NATIVE_MOVABLE");
static_assert((long long)PD_LEASE_NATIVE_FIXED == 2, "PD_LEASE_NATIVE_FIXED");
static_assert((long long)PD_LEASE_EXTERNAL == 3, "PD_LEASE_EXTERNAL");
static_assert((long long)PD_LEASE_GUEST == 4, "PD_LEASE_GUEST");
static_assert((long long)PD_LEASE_JOB_ONLY == 5, "PD_LEASE_JOB_ONLY");
static_assert((long long)PD_MARKET_ON_DEMAND == 1, "PD_MARKET_ON_DEMAND");
static_assert((long long)PD_MARKET_SPOT == 2, "PD_MARKET_SPOT");
static_assert((long long)PD_CAP_SPOT == 1, "PD_CAP_SPOT");
static_assert((long long)PD_CAP_TAGS == 2, "PD_CAP_TAGS");
static_assert((long long)PD_CAP_IDEMPOTENT_LAUNCH == 4, "PD_CAP_IDEMPOTENT_LAUNCH");
static_assert((long long)PD_CAP_NAME_UNIQUE == 8, "PD_CAP_NAME_UNIQUE");
static_assert((long long)PD_CAP_GUEST_OFF_ENDS_BILLING == 16, "PD_CAP_GUEST_OFF_ENDS_BILLING");
static_assert((long long)PD_CAP_NOTICE_IN_GUEST == 32, "PD_CAP_NOTICE_IN_GUEST");
static_assert((long long)PD_CAP_EXEC == 64, "PD_CAP_EXEC");
static_assert((long long)PD_CAP_OWN_MACHINES == 128, "PD_CAP_OWN_MACHINES");
static_assert((long long)PD_CAP_TAGS_MUTABLE == 256, "PD_CAP_TAGS_MUTABLE");
static_assert((long long)PD_STREAM_UNIX == 1, "PD_STREAM_UNIX");
static_assert((long long)PD_STREAM_SSH == 2, "PD_STREAM_SSH");
static_assert((long long)PD_STREAM_DIAL == 3, "PD_STREAM_DIAL");
static_assert((long long)PD_STREAM_EXEC == 4, "PD_STREAM_EXEC");
static_assert((long long)PD_MACHINE_PENDING == 1, "PD_MACHINE_PENDING");
static_assert((long long)PD_MACHINE_RUNNING == 2, "PD_MACHINE_RUNNING");
static_assert((long long)PD_MACHINE_STOPPING == 3, "PD_MACHINE_STOPPING");
static_assert((long long)PD_MACHINE_STOPPED == 4, "PD_MACHINE_STOPPED");
static_assert((long long)PD_MACHINE_GONE == 5, "PD_MACHINE_GONE");
static_assert((long long)PD_REASON_NONE == 0, "PD_REASON_NONE");
static_assert((long long)PD_REASON_RECLAIM == 1, "PD_REASON_RECLAIM");
static_assert((long long)PD_REASON_LIFETIME == 2, "PD_REASON_LIFETIME");
static_assert((long long)PD_REASON_USER == 3, "PD_REASON_USER");
static_assert((long long)PD_REASON_ERROR == 4, "PD_REASON_ERROR");
static_assert((long long)PD_REASON_GUEST == 5, "PD_REASON_GUEST");
static_assert((long long)PD_REASON_LEASE == 6, "PD_REASON_LEASE");
static_assert((long long)PD_VAULT_SHARED == 1, "PD_VAULT_SHARED");
static_assert((long long)PD_E_NOMEM == 1, "PD_E_NOMEM");
static_assert((long long)PD_E_ABI == 2, "PD_E_ABI");
static_assert((long long)PD_E_INVALID == 3, "PD_E_INVALID");
static_assert((long long)PD_E_AUTH == 4, "PD_E_AUTH");
static_assert((long long)PD_E_QUOTA == 5, "PD_E_QUOTA");
static_assert((long long)PD_E_CAPACITY == 6, "PD_E_CAPACITY");
static_assert((long long)PD_E_THROTTLED == 7, "PD_E_THROTTLED");
static_assert((long long)PD_E_TRANSIENT == 8, "PD_E_TRANSIENT");
static_assert((long long)PD_E_GONE == 9, "PD_E_GONE");
static_assert((long long)PD_E_UNKNOWN_OUTCOME == 10, "PD_E_UNKNOWN_OUTCOME");
static_assert((long long)PD_E_NOT_FOUND == 11, "PD_E_NOT_FOUND");
static_assert((long long)PD_E_CONFLICT == 12, "PD_E_CONFLICT");
static_assert((long long)PD_E_REFUSED == 13, "PD_E_REFUSED");
static_assert((long long)PD_E_DEADLINE == 14, "PD_E_DEADLINE");
static_assert((long long)PD_E_CANCELLED == 15, "PD_E_CANCELLED");
static_assert((long long)PD_E_IO == 16, "PD_E_IO");
static_assert((long long)PD_E_UNSUPPORTED == 17, "PD_E_UNSUPPORTED");
static_assert((long long)PD_E_BUSY == 18, "PD_E_BUSY");
static_assert((long long)PD_E_PERM == 19, "PD_E_PERM");
static_assert((long long)PD_E_CRASHED == 20, "PD_E_CRASHED");
static_assert((long long)PD_E_INTERNAL == 21, "PD_E_INTERNAL");
static_assert((long long)PD_E_CORRUPT == 22, "PD_E_CORRUPT");
static_assert((long long)PD_E_FULL == 23, "PD_E_FULL");
static_assert((long long)PD_MAGIC == 1885621297, "PD_MAGIC");
static_assert((long long)PD_ABI_MAJOR == 1, "PD_ABI_MAJOR");
