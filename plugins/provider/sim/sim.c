/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `sim`: a whole cloud that is made up, for tests, demonstrations and replays of real traces. README.md. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "disk.h"
#include "words.h"

struct sim {
        struct sim_config config;
        struct cloud *cloud;
        struct disk *disk; /* NULL = its state lives as long as this instance */
};

struct cloud *sim_cloud(void *self)
{
        return ((struct sim *)self)->cloud;
}

static void sim_close(void *self)
{
        struct sim *s = self;

        if (!s)
                return;
        cloud_free(s->cloud);
        disk_free(s->disk);
        free(s);
}

static void sim_closep(struct sim **s)
{
        sim_close(*s);
}

static int sim_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        pd_cleanup(sim_closep) struct sim *s = calloc(1, sizeof *s);
        int r;

        (void)call;
        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        r = sim_config_read(&s->config, cfg, err);
        if (r < 0)
                return r;
        s->config.cloud.market.types = s->config.types; /* it moved with its struct */
        r = cloud_new(&s->cloud, &s->config.cloud, err);
        if (r == 0 && s->config.state[0])
                r = disk_new(&s->disk, s->config.state, err);
        if (r < 0)
                return r;
        *ret_self = pd_steal(s);
        return 0;
}

/* ---- one call: the clock, the state on disk, the latency ---- */

static int64_t clock_us(const struct sim *s, struct pd_call *call, struct pd_error *err)
{
        int64_t ahead = 0;
        char *text;
        size_t n;

        if (s->config.clock[0] && sim_file_read(s->config.clock, 64, &text, &n, err) == 0) {
                text[strcspn(text, "\n")] = '\0';
                if (!word_span(text, &ahead))
                        ahead = 0;
                free(text);
        }
        return call->host->now_wall_us(call) + ahead;
}

/* Before a call: the state as the last one left it, whichever process that was. */
static int enter(struct sim *s, struct pd_call *call, int64_t *ret_now, struct pd_error *err)
{
        int r;

        *ret_now = clock_us(s, call, NULL);
        if (!s->disk)
                return 0;
        r = disk_lock(s->disk, err);
        if (r < 0)
                return r;
        if (disk_changed(s->disk))
                r = disk_load(s->disk, s->cloud, err);
        if (r < 0) {
                disk_unlock(s->disk);
                return r;
        }
        disk_recipes(s->disk, s->cloud, *ret_now);
        return 0;
}

/* Waits in the provider's place, as long as somebody waits for the answer. */
static void wait_for(const struct sim *s, struct pd_call *call)
{
        int64_t left = s->config.wait ? cloud_latency_us(s->cloud) : 0;

        while (left > 0 && !call->host->cancelled(call) && call->host->now_boot_us(call) < call->deadline_boot_us) {
                int64_t now = left < 50000 ? left : 50000;
                struct timespec t = { .tv_nsec = (long)(now * 1000) };

                (void)nanosleep(&t, NULL);
                left -= now;
        }
}

/* After a call: what it did is on disk before it is told. */
static int leave(struct sim *s, struct pd_call *call, int r, struct pd_error *err)
{
        struct pd_error why;

        if (s->disk) {
                if (disk_save(s->disk, s->cloud, &why) < 0 && r == 0) {
                        r = call->op_token ? -(int)PD_E_UNKNOWN_OUTCOME : -(int)PD_E_IO;
                        if (err) {
                                *err = why;
                                err->code = (enum pd_code) - r;
                        }
                }
                disk_unlock(s->disk);
        }
        wait_for(s, call);
        return r;
}

/* ---- slots ---- */

static int sim_caps(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err)
{
        const struct sim_config *c = &((struct sim *)self)->config;
        const struct cloud_params *p = &c->cloud;

        (void)call, (void)err;
        ret->flags = PD_CAP_TAGS | PD_CAP_IDEMPOTENT_LAUNCH | (p->market.spot ? PD_CAP_SPOT : 0) |
                     (p->off_ends ? PD_CAP_GUEST_OFF_ENDS_BILLING : 0) |
                     (p->notice_in_guest ? PD_CAP_NOTICE_IN_GUEST : 0);
        ret->lease = p->lease;
        ret->stream = c->stream;
        ret->tag_max = p->tag_max;
        ret->tag_key_max = 127;
        ret->tag_value_max = 256;
        ret->min_poll_us = c->min_poll_us;
        ret->settle_us = p->settle_us;
        ret->stop_lag_us = p->stop_lag_us;
        ret->billing_step_us = p->step_us;
        ret->minimum_billing_us = p->minimum_us;
        return 0;
}

static int no_offer(void *arg, const struct pd_offer *offer)
{
        (void)arg, (void)offer;
        return 0;
}

static int sim_validate(void *self, struct pd_call *call, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        if (r < 0)
                return r;
        r = cloud_offers(s->cloud, now, no_offer, NULL, err);
        if (r == 0)
                r = call->host->put(call, "missing", "");
        return leave(s, call, r, err);
}

static int sim_offers(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_offers(s->cloud, now, each, arg, err), err);
}

/* Adds what the cloud does not know: how its machines are reached. */
struct reached {
        const struct sim *s;
        pd_machine_fn each;
        void *arg;
};

static int with_endpoint(void *arg, const struct pd_machine *m)
{
        const struct reached *r = arg;
        const char *text = r->s->config.endpoint, *at = strstr(text, "@ID@");
        struct pd_machine shown = *m;
        char endpoint[320];

        if (m->state == PD_MACHINE_RUNNING || m->state == PD_MACHINE_STOPPING) {
                (void)snprintf(endpoint, sizeof endpoint, "%.*s%s%s", at ? (int)(at - text) : (int)strlen(text), text,
                        at ? m->id : "", at ? at + 4 : "");
                shown.endpoint = endpoint;
        }
        return r->each(r->arg, &shown);
}

static int sim_launch(void *self, struct pd_call *call, const struct pd_launch *req, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        struct sim *s = self;
        struct reached to = { s, each, arg };
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r
                     : leave(s, call, cloud_launch(s->cloud, now, call->op_token, req, with_endpoint, &to, err), err);
}

static int sim_find(
        void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg, struct pd_error *err)
{
        struct sim *s = self;
        struct reached to = { s, each, arg };
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_find(s->cloud, now, op_token, with_endpoint, &to, err), err);
}

static int sim_describe(
        void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err)
{
        struct sim *s = self;
        struct reached to = { s, each, arg };
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_describe(s->cloud, now, id, with_endpoint, &to, err), err);
}

static int sim_list_owned(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each,
        void *arg, struct pd_error *err)
{
        struct sim *s = self;
        struct reached to = { s, each, arg };
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_list(s->cloud, now, expect_tags, with_endpoint, &to, err), err);
}

static int sim_renew(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r
                     : leave(s, call, cloud_renew(s->cloud, now, id, expect_tags, stop_wall_us, ret_stop_wall_us, err),
                               err);
}

static int sim_terminate(
        void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_terminate(s->cloud, now, id, expect_tags, err), err);
}

static int sim_notice(void *self, struct pd_call *call, const char *id, int64_t *ret_at_wall_us, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r : leave(s, call, cloud_notice(s->cloud, now, id, ret_at_wall_us, err), err);
}

/* The machine has no cloud to call: its last word is a file beside the state, which the next call finds. */
static int sim_guest_stop_recipe(void *self, struct pd_call *call, const char *id, struct pd_error *err)
{
        const struct sim *s = self;
        char recipe[400] = "";

        if (strchr(id, '/') || strchr(id, '\''))
                return pd_fail(err, PD_E_GONE, "there is no machine %.64s", id);
        if (s->disk && s->config.cloud.lease == PD_LEASE_GUEST)
                (void)snprintf(recipe, sizeof recipe, ": > '%s.off.%.64s'", s->config.state, id);
        return call->host->put(call, "recipe", recipe);
}

static int sim_cost(void *self, struct pd_call *call, const char *id, int64_t from_wall_us, int64_t to_wall_us,
        int64_t *ret_nano, int32_t *ret_is_estimate, struct pd_error *err)
{
        struct sim *s = self;
        int64_t now;
        int r = enter(s, call, &now, err);

        return r < 0 ? r
                     : leave(s, call,
                               cloud_cost(s->cloud, now, id, from_wall_us, to_wall_us, ret_nano, ret_is_estimate, err),
                               err);
}

static int sim_actions(
        void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)each, (void)arg, (void)err;
        return 0; /* it sends nothing anywhere */
}

const struct pd_provider sim_provider = {
        .head = PD_HEAD(PD_KIND_PROVIDER, struct pd_provider, "sim"),
        .open = sim_open,
        .close = sim_close,
        .caps = sim_caps,
        .validate = sim_validate,
        .offers = sim_offers,
        .launch = sim_launch,
        .find = sim_find,
        .describe = sim_describe,
        .list_owned = sim_list_owned,
        .renew = sim_renew,
        .terminate = sim_terminate,
        .notice = sim_notice,
        .guest_stop_recipe = sim_guest_stop_recipe,
        .cost = sim_cost,
        .actions = sim_actions,
};
