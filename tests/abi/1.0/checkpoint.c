/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot that a capture had in 1.0. */
#include "common.h"

#include <portald/checkpoint.h>

static int check(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        if (c->size < sizeof *c || strcmp(c->id, "1") != 0 || strcmp(c->runtime, "2") != 0 ||
                strcmp(c->runtime_root, "3") != 0 || strcmp(c->bundle, "4") != 0 || strcmp(c->cgroup, "5") != 0 ||
                strcmp(c->job, "6") != 0 || c->generation != 7 || c->pid != 8 || c->uid != 9 || c->gid != 10 ||
                strcmp(c->job_dir, "11") != 0 || strcmp(c->job_dir_inside, "12") != 0 ||
                strcmp(c->socket_path, "13") != 0 || strcmp(pd_kv_get(c->settings, "save.0"), "14") != 0)
                return pd_fail(err, PD_E_INVALID, "the container does not arrive as in 1.0");
        return common_check(self, call, err);
}

static int name_value(pd_value_fn each, void *arg)
{
        struct pd_value v = { .size = sizeof v,
                .path = "model.lock",
                .type = "Lock",
                .reason = "it is held",
                .fix = "",
                .pid = 1,
                .fd = -1 };

        return each(arg, &v);
}

static int caps(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err)
{
        ret->flags = PD_CAPTURE_CARRIES | PD_CAPTURE_USERNS;
        return common_check(self, call, err);
}

static int probe(void *self, struct pd_call *call, struct pd_error *err)
{
        return common_check(self, call, err);
}

static int precheck(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        int r = check(self, call, c, err);

        (void)name_value(each, arg);
        return r ? r : pd_fail(err, PD_E_REFUSED, "one value cannot be carried");
}

static int estimate(
        void *self, struct pd_call *call, const struct pd_container *c, struct pd_estimate *ret, struct pd_error *err)
{
        ret->bytes = 15;
        ret->freeze_us = 16;
        return check(self, call, c, err);
}

static int save(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        int r = check(self, call, c, err);

        if (r || dir_fd < 0)
                return r ? r : pd_fail(err, PD_E_INVALID, "no directory");
        (void)call->host->put(call, "progress", "step 120");
        return name_value(each, arg);
}

static int restore(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err)
{
        return dir_fd < 0 ? pd_fail(err, PD_E_INVALID, "no directory") : check(self, call, c, err);
}

static const struct pd_checkpoint old = {
        .head = PD_HEAD(PD_KIND_CHECKPOINT, struct pd_checkpoint, "old-checkpoint"),
        .open = common_open,
        .close = common_close,
        .caps = caps,
        .probe = probe,
        .prepare = check,
        .precheck = precheck,
        .estimate = estimate,
        .save = save,
        .abort = check,
        .restore = restore,
        .verify = check,
        .resume = check,
        .destroy = check,
};
PD_EXPORT const struct pd_head *const portald_plugin = &old.head;
