/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot that a provider had in 1.0. */
#include "common.h"

#include <portald/provider.h>

static int hand(const char *id, const char *token, const struct pd_kv *tags, pd_machine_fn each, void *arg)
{
        struct pd_machine m = { .size = sizeof m,
                .id = id,
                .zone = "z",
                .type = "t",
                .market = PD_MARKET_SPOT,
                .state = PD_MACHINE_RUNNING,
                .reason = PD_REASON_NONE,
                .endpoint = "e",
                .created_wall_us = 1,
                .stop_wall_us = 2,
                .op_token = token,
                .tags = tags };

        return each(arg, &m);
}

static int caps(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err)
{
        ret->flags = PD_CAP_SPOT | PD_CAP_EXEC;
        ret->lease = PD_LEASE_GUEST;
        ret->stream = PD_STREAM_SSH;
        ret->tag_max = 1;
        ret->tag_key_max = 2;
        ret->tag_value_max = 3;
        ret->min_poll_us = 4;
        ret->settle_us = 5;
        ret->stop_lag_us = 6;
        ret->billing_step_us = 7;
        ret->minimum_billing_us = 8;
        return common_check(self, call, err);
}

static int validate(void *self, struct pd_call *call, struct pd_error *err)
{
        (void)call->host->put(call, "missing", "one\ntwo");
        return common_check(self, call, err);
}

static int offers(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err)
{
        struct pd_offer o = { .size = sizeof o,
                .zone = "z",
                .type = "t",
                .market = PD_MARKET_SPOT,
                .currency = "EUR",
                .price_nano_hour = 9,
                .price_at_wall_us = 10,
                .price_source = "s",
                .cpu_milli = 11,
                .gpus = 12,
                .gpu_model = "g",
                .gpu_memory_bytes = 13,
                .memory_bytes = 14,
                .disk_bytes = 15,
                .notice_us = 16,
                .max_lifetime_us = 17,
                .egress_nano_gib = 18,
                .stock = 19 };
        int r = common_check(self, call, err);

        return r ? r : each(arg, &o);
}

static int launch(void *self, struct pd_call *call, const struct pd_launch *q, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        if (q->size < sizeof *q || strcmp(q->zone, "z") != 0 || strcmp(q->type, "t") != 0 ||
                q->market != PD_MARKET_SPOT || q->ceiling_nano_hour != 1 || q->stop_wall_us != 2 ||
                q->disk_bytes != 3 || strcmp(q->user_data, "#!/bin/sh\n") != 0 || strcmp(q->image, "i") != 0 ||
                strcmp(pd_kv_get(q->env, "K"), "V") != 0)
                return pd_fail(err, PD_E_INVALID, "the request does not arrive as in 1.0");
        (void)self;
        return hand("i-1", call->op_token, q->tags, each, arg);
}

static int find(
        void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return hand("i-1", op_token, NULL, each, arg);
}

static int describe(
        void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return hand(id, "", NULL, each, arg);
}

static int list_owned(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return hand("i-1", "", expect_tags, each, arg);
}

static int renew(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        *ret_stop_wall_us = stop_wall_us - (int64_t)strlen(id) - expect_tags->count;
        return common_check(self, call, err);
}

static int terminate(
        void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        (void)self, (void)call;
        return strcmp(id, "i-1") == 0 && expect_tags->count == 1 ? 0 : pd_fail(err, PD_E_PERM, "not ours");
}

static int notice(void *self, struct pd_call *call, const char *id, int64_t *ret_at_wall_us, struct pd_error *err)
{
        (void)id;
        *ret_at_wall_us = 20;
        return common_check(self, call, err);
}

static int guest_stop_recipe(void *self, struct pd_call *call, const char *id, struct pd_error *err)
{
        (void)self, (void)id, (void)err;
        return call->host->put(call, "recipe", "poweroff");
}

static int cost(void *self, struct pd_call *call, const char *id, int64_t from_wall_us, int64_t to_wall_us,
        int64_t *ret_nano, int32_t *ret_is_estimate, struct pd_error *err)
{
        (void)id;
        *ret_nano = to_wall_us - from_wall_us;
        *ret_is_estimate = 1;
        return common_check(self, call, err);
}

static int exec(void *self, struct pd_call *call, const char *id, const char *const *argv, int stdin_fd, int stdout_fd,
        int stderr_fd, int32_t *ret_status, struct pd_error *err)
{
        (void)id;
        *ret_status = argv[0] && !argv[1] && stdin_fd >= 0 && stdout_fd >= 0 && stderr_fd >= 0 ? 21 : 22;
        return common_check(self, call, err);
}

static int put(void *self, struct pd_call *call, const char *id, int from_fd, const char *path, struct pd_error *err)
{
        (void)id;
        return strcmp(path, "/p") == 0 && from_fd >= 0 ? common_check(self, call, err)
                                                       : pd_fail(err, PD_E_INVALID, "put");
}

static int get(void *self, struct pd_call *call, const char *id, const char *path, int to_fd, struct pd_error *err)
{
        (void)id;
        return strcmp(path, "/p") == 0 && to_fd >= 0 ? common_check(self, call, err)
                                                     : pd_fail(err, PD_E_INVALID, "get");
}

static int actions(
        void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return each(arg, "a:b");
}

static const struct pd_provider old = {
        .head = PD_HEAD(PD_KIND_PROVIDER, struct pd_provider, "old-provider"),
        .flags = PD_FLAG_CONCURRENT,
        .open = common_open,
        .close = common_close,
        .caps = caps,
        .validate = validate,
        .offers = offers,
        .launch = launch,
        .find = find,
        .describe = describe,
        .list_owned = list_owned,
        .renew = renew,
        .terminate = terminate,
        .notice = notice,
        .guest_stop_recipe = guest_stop_recipe,
        .cost = cost,
        .exec = exec,
        .put = put,
        .get = get,
        .actions = actions,
};
PD_EXPORT const struct pd_head *const portald_plugin = &old.head;
