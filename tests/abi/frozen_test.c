/* SPDX-License-Identifier: Apache-2.0 */
/* S-02 plugins built against the headers of 1.0 load for ever, and every slot arrives and answers as it did. */
#include <fcntl.h>
#include <unistd.h>

#include "host_call.h"
#include "plugin_dir.h"
#include "tap.h"

#define PROGRAM TEST_BINARY_DIR "/core/host/portald-plugin-host"
#define PLUGINS TEST_BINARY_DIR "/tests/abi/plugins/"

extern const size_t layout_1_0, layout_now;

#define CONTAINER                                                                                                 \
        "{\"id\":\"1\",\"runtime\":\"2\",\"runtime_root\":\"3\",\"bundle\":\"4\",\"cgroup\":\"5\",\"job\":\"6\"," \
        "\"generation\":7,\"pid\":8,"                                                                             \
        "\"uid\":9,\"gid\":10,\"job_dir\":\"11\",\"job_dir_inside\":\"12\",\"socket_path\":\"13\",\"settings\":{" \
        "\"save.0\":\"14\"}}"
#define MACHINE                                                                                                       \
        "\"zone\":\"z\",\"type\":\"t\",\"market\":2,\"state\":2,\"reason\":0,\"endpoint\":\"e\",\"created_wall_us\":" \
        "1,\"stop_wall_us\":2"

/* want: {"ret", "items", "text"}, of which only what is there is compared; code: 0 or the error's. */
static const struct {
        enum pd_kind kind;
        const char *slot, *args;
        size_t n_fds;
        enum pd_code code;
        const char *want;
} rows[] = {
        { PD_KIND_PROVIDER, "caps", NULL, 0, PD_OK,
                "{\"ret\":{\"flags\":65,\"lease\":4,\"stream\":2,\"tag_max\":1,\"tag_key_max\":2,\"tag_value_max\":3,"
                "\"min_poll_us\":4,"
                "\"settle_us\":5,\"stop_lag_us\":6,\"billing_step_us\":7,\"minimum_billing_us\":8}}" },
        { PD_KIND_PROVIDER, "validate", NULL, 0, PD_OK, "{\"text\":{\"missing\":\"one\\ntwo\"}}" },
        { PD_KIND_PROVIDER, "offers", NULL, 0, PD_OK,
                "{\"items\":[{\"zone\":\"z\",\"type\":\"t\",\"market\":2,\"currency\":\"EUR\",\"price_nano_hour\":9,"
                "\"price_at_wall_us\":10,"
                "\"price_source\":\"s\",\"cpu_milli\":11,\"gpus\":12,\"gpu_model\":\"g\",\"gpu_memory_bytes\":13,"
                "\"memory_bytes\":14,"
                "\"disk_bytes\":15,\"notice_us\":16,\"max_lifetime_us\":17,\"egress_nano_gib\":18,\"stock\":19}]}" },
        { PD_KIND_PROVIDER, "launch",
                "{\"zone\":\"z\",\"type\":\"t\",\"market\":2,\"ceiling_nano_hour\":1,\"stop_wall_us\":2,\"disk_bytes\":"
                "3,\"tags\":{\"a\":\"b\"},"
                "\"user_data\":\"#!/bin/sh\\n\",\"image\":\"i\",\"env\":{\"K\":\"V\"}}",
                0, PD_OK, "{\"items\":[{\"id\":\"i-1\"," MACHINE ",\"op_token\":\"tok\",\"tags\":{\"a\":\"b\"}}]}" },
        { PD_KIND_PROVIDER, "find", "{\"op_token\":\"tok\"}", 0, PD_OK,
                "{\"items\":[{\"id\":\"i-1\"," MACHINE ",\"op_token\":\"tok\",\"tags\":null}]}" },
        { PD_KIND_PROVIDER, "describe", "{\"id\":\"i-2\"}", 0, PD_OK,
                "{\"items\":[{\"id\":\"i-2\"," MACHINE ",\"op_token\":\"\",\"tags\":null}]}" },
        { PD_KIND_PROVIDER, "list_owned", "{\"expect_tags\":{\"a\":\"b\"}}", 0, PD_OK,
                "{\"items\":[{\"id\":\"i-1\"," MACHINE ",\"op_token\":\"\",\"tags\":{\"a\":\"b\"}}]}" },
        { PD_KIND_PROVIDER, "renew", "{\"id\":\"i-1\",\"expect_tags\":{\"a\":\"b\"},\"stop_wall_us\":100}", 0, PD_OK,
                "{\"ret\":{\"stop_wall_us\":96}}" },
        { PD_KIND_PROVIDER, "terminate", "{\"id\":\"i-1\",\"expect_tags\":{\"a\":\"b\"}}", 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_PROVIDER, "terminate", "{\"id\":\"i-9\",\"expect_tags\":{\"a\":\"b\"}}", 0, PD_E_PERM, "{}" },
        { PD_KIND_PROVIDER, "notice", "{\"id\":\"i-1\"}", 0, PD_OK, "{\"ret\":{\"at_wall_us\":20}}" },
        { PD_KIND_PROVIDER, "guest_stop_recipe", "{\"id\":\"i-1\"}", 0, PD_OK, "{\"text\":{\"recipe\":\"poweroff\"}}" },
        { PD_KIND_PROVIDER, "cost", "{\"id\":\"i-1\",\"from_wall_us\":3,\"to_wall_us\":10}", 0, PD_OK,
                "{\"ret\":{\"nano\":7,\"is_estimate\":1}}" },
        { PD_KIND_PROVIDER, "exec", "{\"id\":\"i-1\",\"argv\":[\"true\"]}", 3, PD_OK, "{\"ret\":{\"status\":21}}" },
        { PD_KIND_PROVIDER, "put", "{\"id\":\"i-1\",\"path\":\"/p\"}", 1, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_PROVIDER, "get", "{\"id\":\"i-1\",\"path\":\"/p\"}", 1, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_PROVIDER, "actions", NULL, 0, PD_OK, "{\"items\":[\"a:b\"]}" },
        { PD_KIND_CHECKPOINT, "caps", NULL, 0, PD_OK, "{\"ret\":{\"flags\":10}}" },
        { PD_KIND_CHECKPOINT, "probe", NULL, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "prepare", CONTAINER, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "precheck", CONTAINER, 0, PD_E_REFUSED,
                "{\"items\":[{\"path\":\"model.lock\",\"type\":\"Lock\",\"reason\":\"it is "
                "held\",\"fix\":\"\",\"pid\":1,\"fd\":-1}]}" },
        { PD_KIND_CHECKPOINT, "estimate", CONTAINER, 0, PD_OK, "{\"ret\":{\"bytes\":15,\"freeze_us\":16}}" },
        { PD_KIND_CHECKPOINT, "save", CONTAINER, 1, PD_OK, "{\"text\":{\"progress\":\"step 120\"}}" },
        { PD_KIND_CHECKPOINT, "abort", CONTAINER, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "restore", CONTAINER, 1, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "verify", CONTAINER, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "resume", CONTAINER, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_CHECKPOINT, "destroy", CONTAINER, 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_VAULT, "probe", NULL, 0, PD_OK, "{\"ret\":{\"flags\":1}}" },
        { PD_KIND_VAULT, "put", "{\"name\":\"a/b\",\"bytes\":3}", 1, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_VAULT, "get", "{\"name\":\"a/b\"}", 1, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_VAULT, "stat", "{\"name\":\"a/b\"}", 0, PD_OK,
                "{\"items\":[{\"name\":\"a/b\",\"bytes\":3,\"modified_wall_us\":4}]}" },
        { PD_KIND_VAULT, "list", "{\"prefix\":\"a/\"}", 0, PD_OK,
                "{\"items\":[{\"name\":\"a/b\",\"bytes\":3,\"modified_wall_us\":4},{\"name\":\"a/"
                "c\",\"bytes\":3,\"modified_wall_us\":4}]}" },
        { PD_KIND_VAULT, "remove", "{\"name\":\"a/b\"}", 0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_BILLING, "record",
                "{\"id\":\"1\",\"job\":\"2\",\"project\":\"3\",\"user\":\"4\",\"offer\":\"5\",\"machine\":\"6\","
                "\"generation\":7,\"from_wall_us\":8,"
                "\"to_wall_us\":9,\"price_nano_hour\":10,\"amount_nano\":-11,\"currency\":\"EUR\",\"plan\":\"12\","
                "\"tags\":{\"t\":\"13\"}}",
                0, PD_OK, "{\"ret\":{}}" },
        { PD_KIND_BILLING, "probe", NULL, 0, PD_OK, "{\"ret\":{}}" },
};

static bool as_wanted(const struct reply *r, const json_t *want)
{
        const json_t *ret = json_object_get(want, "ret"), *items = json_object_get(want, "items"),
                     *text = json_object_get(want, "text");

        return (!ret || json_equal(r->ret, ret)) && (!items || json_equal(r->items, items)) &&
               (!text || json_equal(r->text, text));
}

static void test_kind(sd_event *loop, enum pd_kind kind, const char *name, enum host_isolation isolation,
        const char *how, const char *dir)
{
        js_owned *config = json_pack("{s:s}", "say", "hello");
        char from[512], path[512];
        struct host_params p = { .name = "old",
                .path = path,
                .kind = kind,
                .config = config,
                .isolation = isolation,
                .program = PROGRAM,
                .owner_uid = geteuid() };
        struct host *h = NULL;
        struct pd_error err = { 0 };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[3] = { null, null, null };

        (void)snprintf(from, sizeof from, PLUGINS "old-%s.so", name);
        tap_ok(plugin_dir_copy(dir, from, NULL, path) && host_open(&h, loop, &p, &err) == 0,
                "%s: a %s built for 1.0 opens: %s", how, name, err.text);
        for (size_t i = 0; h && i < ARRAY_LEN(rows); i++) {
                struct reply r = { 0 };
                js_owned *want = json_loads(rows[i].want, 0, NULL);
                json_t *args = rows[i].args ? json_loads(rows[i].args, 0, NULL) : NULL;

                if (rows[i].kind != kind) {
                        json_decref(args);
                        continue;
                }
                (void)ask_wait(loop, h, &r, rows[i].slot, args, fds, rows[i].n_fds,
                        streq(rows[i].slot, "launch") ? "tok" : NULL);
                if (!tap_ok(r.rc == -(int)rows[i].code && as_wanted(&r, want), "%s: %s.%s as in 1.0", how, name,
                            rows[i].slot)) {
                        pd_cleanup(freep) char *ret = js_dump(r.ret), *items = js_dump(r.items),
                                               *text = js_dump(r.text);

                        tap_note("code %d (%s), ret %s, items %s, text %s", r.rc, r.err.text, ret, items, text);
                }
                reply_clear(&r);
        }
        host_free(h);
        (void)close(null);
}

int main(void)
{
        static const char *const kinds[] = { [PD_KIND_PROVIDER] = "provider",
                [PD_KIND_CHECKPOINT] = "checkpoint",
                [PD_KIND_VAULT] = "vault",
                [PD_KIND_BILLING] = "billing" };
        sd_event *loop = NULL;
        char dir[256];

        if (sd_event_new(&loop) < 0 || !plugin_dir_make(dir)) {
                tap_ok(false, "a safe directory could be made");
                return tap_done();
        }
        tap_ok(layout_1_0 <= layout_now,
                "the present headers have each struct, offset, size and number of 1.0 (they compiled)");
        for (size_t k = PD_KIND_PROVIDER; k < ARRAY_LEN(kinds); k++) {
                test_kind(loop, (enum pd_kind)k, kinds[k], HOST_PROCESS, "process", dir);
                test_kind(loop, (enum pd_kind)k, kinds[k], HOST_NONE, "none", dir);
        }
        sd_event_unref(loop);
        plugin_dir_remove(dir);
        return tap_done();
}
