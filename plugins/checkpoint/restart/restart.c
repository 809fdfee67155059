/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `restart`: carries nothing, by the user's explicit choice. The program begins anew; only its writable layer travels. */
#include "../lib/capture.h"

static int restart_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        (void)call;
        if (cfg && cfg->count > 0) {
                (void)pd_fail(err, PD_E_INVALID, "the capture \"restart\" has no option \"%.60s\": it has none",
                        cfg->pairs[0].key);
                return pd_fail_subject(err, cfg->pairs[0].key);
        }
        *ret_self = NULL;
        return 0;
}

static void restart_close(void *self)
{
        (void)self;
}

/* No PD_CAPTURE_CARRIES: whoever places a job by this capture counts its running time as lost. */
static int restart_caps(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        *ret = (struct pd_capture_caps){ .size = sizeof *ret, .flags = PD_CAPTURE_USERNS };
        return 0;
}

static int restart_probe(void *self, struct pd_call *call, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return 0;
}

/* Nothing is carried, so nothing can be lost on the way that the user was not told of at submit. */
static int restart_precheck(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        (void)self, (void)call, (void)c, (void)each, (void)arg, (void)err;
        return 0;
}

static int restart_estimate(
        void *self, struct pd_call *call, const struct pd_container *c, struct pd_estimate *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)c, (void)err;
        *ret = (struct pd_estimate){ .size = sizeof *ret };
        return 0;
}

static int restart_save(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each,
        void *arg, struct pd_error *err)
{
        (void)self, (void)dir_fd, (void)each, (void)arg;
        return capture_freeze(call, c, true, err);
}

static int restart_go_on(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self;
        return capture_freeze(call, c, false, err);
}

static int restart_restore(
        void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err)
{
        (void)self, (void)call, (void)c, (void)dir_fd, (void)err;
        return 0;
}

static int restart_nothing(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self, (void)call, (void)c, (void)err;
        return 0;
}

static const struct pd_checkpoint restart = {
        .head = PD_HEAD(PD_KIND_CHECKPOINT, struct pd_checkpoint, "restart"),
        .open = restart_open,
        .close = restart_close,
        .caps = restart_caps,
        .probe = restart_probe,
        .precheck = restart_precheck,
        .estimate = restart_estimate,
        .save = restart_save,
        .abort = restart_go_on,
        .restore = restart_restore,
        .verify = restart_nothing,
        .resume = restart_go_on,
        .destroy = restart_nothing,
};
PD_EXPORT const struct pd_head *const portald_plugin = &restart.head;
