/* SPDX-License-Identifier: Apache-2.0 */
/* Standing orders: what a job's runner does by itself, also with portald gone: ttl, notice, the lease's end, and the end of a grace.
 * All of it is level: looked at again on each turn of the clock, from what is on disk. */
#include "base/log.h"
#include "runner/runner.h"

#define MARGIN_US (5 * USEC_PER_SEC)      /* a save must have ended this long before the machine's own end */
#define LOOK_AGAIN_US (60 * USEC_PER_SEC) /* wall clocks are set; no timer may trust them for longer       */

static int64_t min64(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* Span until the earlier of two clocks' times, 0 = not set; INT64_MAX = neither. */
static int64_t span_until(int64_t wall_us, int64_t boot_us)
{
        int64_t left = INT64_MAX;

        if (wall_us > 0)
                left = min64(left, wall_us - now_wall_us());
        if (boot_us > 0)
                left = min64(left, boot_us - now_boot_us());
        return left;
}

static int64_t save_span(const struct job *j)
{
        int64_t span = js_int(job_orders(j), "save_deadline_us", 0);

        return span > 0 ? span : SAVE_US;
}

int64_t orders_grace_us(const struct job *j)
{
        int64_t span = js_int(job_orders(j), "stop_grace_us", -1);

        return span >= 0 ? span : GRACE_US;
}

/* A save that cannot even begin is told like one that was refused. */
static void try_save(struct job *j, enum save_mode mode, const char *key, const char *cause, int64_t span)
{
        struct pd_error err;

        if (save_begin(j, mode, js_str(job_orders(j), key, ""), cause, span, &err) == 0)
                return;
        log_warning("%s: %s: it cannot be saved: %s", j->id, cause, err.text);
        if (mode == SAVE_STOP)
                finish_term(j, cause, orders_grace_us(j));
}

static bool take(struct job *j, enum standing what)
{
        if (j->orders_done & BIT(what))
                return false;
        j->orders_done |= BIT(what);
        return true;
}

/* Each returns the span until it wants to be asked again. */
static int64_t check_ttl(struct job *j)
{
        int64_t ttl = js_int(job_orders(j), "ttl_left_us", -1), left;

        if (ttl < 0)
                return INT64_MAX;
        left = ttl - (job_ran_us(j) - j->ttl_from_us);
        if (left > 0)
                return j->frozen_boot_us ? INT64_MAX : left;
        if (take(j, STANDING_TTL))
                try_save(j, SAVE_STOP, "ttl_checkpoint", "ttl", save_span(j));
        return INT64_MAX;
}

static int64_t check_notice(struct job *j)
{
        int64_t left = span_until(j->notice_wall_us, j->notice_boot_us);

        if (left == INT64_MAX || save_committed(j))
                return INT64_MAX;
        if (take(j, STANDING_NOTICE) && left > MARGIN_US && js_bool(job_orders(j), "on_notice", true))
                try_save(j, SAVE_SUSPEND, "notice_checkpoint", "notice", min64(save_span(j), left - MARGIN_US));
        if (left > GRACE_US)
                return left - GRACE_US;
        if (job_live(j) && !save_committed(j) && (!j->saver || left <= MARGIN_US) && take(j, STANDING_NOTICE_TERM)) {
                save_abandon(j, NULL);
                finish_term(j, "notice", left > 0 ? left : 0);
        }
        return left > MARGIN_US ? left - MARGIN_US : INT64_MAX;
}

static int64_t lease_span(const struct job *j)
{
        const json_t *o = job_orders(j);

        return span_until(js_int(o, "lease_stop_wall_us", 0), js_int(o, "lease_stop_boot_us", 0));
}

static int64_t check_lease(struct job *j)
{
        int64_t left = lease_span(j);
        int64_t lead = save_span(j) + GRACE_US + MARGIN_US;

        if (left == INT64_MAX || save_committed(j))
                return INT64_MAX;
        if (left > lead)
                return left - lead;
        if (left > GRACE_US + MARGIN_US && take(j, STANDING_LEASE))
                try_save(j, SAVE_SUSPEND, "notice_checkpoint", "lease", left - GRACE_US - MARGIN_US);
        if (left > GRACE_US)
                return left - GRACE_US;
        if (job_live(j) && !save_committed(j) && take(j, STANDING_LEASE_TERM)) {
                save_abandon(j, NULL);
                finish_term(j, "lease", left > 0 ? left : 0);
        }
        return INT64_MAX;
}

/* Held for a move: what it is has been saved; a deadline only says when it must be gone. */
static int64_t check_held(struct job *j, int64_t left, const char *cause)
{
        if (left > 0)
                return left;
        log_info("%s was held for a move, and ends: %s", j->id, cause);
        finish_term(j, cause, 0);
        return INT64_MAX;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *arg)
{
        (void)s, (void)usec;
        orders_check(arg);
        return 0;
}

static void set_timer(struct job *j, int64_t span)
{
        uint64_t at = (uint64_t)(now_boot_us() + (span > 0 ? span : 0));

        if (!j->timer) {
                if (sd_event_add_time(j->r->loop, &j->timer, CLOCK_BOOTTIME, at, 1000, on_timer, j) < 0)
                        log_error("%s: no timer for its standing orders; they are looked at every %lld s", j->id,
                                (long long)(j->r->cfg.measure_us / USEC_PER_SEC));
                return;
        }
        (void)sd_event_source_set_time(j->timer, at);
        (void)sd_event_source_set_enabled(j->timer, SD_EVENT_ONESHOT);
}

void orders_check(struct job *j)
{
        int64_t next = LOOK_AGAIN_US;

        if (j->kill_boot_us && job_live(j)) {
                int64_t left = j->kill_boot_us - now_boot_us();

                if (left <= 0)
                        finish_kill(j);
                set_timer(j, left > 0 ? left : USEC_PER_SEC);
                return;
        }
        if (hold_is(j)) {
                next = min64(next, check_held(j, span_until(j->notice_wall_us, j->notice_boot_us), "notice"));
                if (!j->kill_boot_us)
                        next = min64(next, check_held(j, lease_span(j), "lease"));
                if (!j->kill_boot_us)
                        set_timer(j, next);
                return;
        }
        if (j->phase != PHASE_RUNNING && j->phase != PHASE_SAVING)
                return;
        if (j->thawing)
                hold_let_go(j);
        next = min64(next, check_ttl(j));
        next = min64(next, check_notice(j));
        next = min64(next, check_lease(j));
        if (job_live(j) && !j->kill_boot_us)
                set_timer(j, next);
}

int orders_replace(struct job *j, const json_t *orders, struct pd_error *err)
{
        json_t *mine = json_object_get(j->order, "orders");
        const json_t *ttl = json_object_get(orders, "ttl_left_us");
        int r;

        if (!json_is_object(orders))
                return pd_fail(err, PD_E_INVALID, "\"orders\" is missing or no object");
        if (!json_is_object(mine)) {
                mine = json_object();
                (void)json_object_set_new(j->order, "orders", mine);
        }
        (void)json_object_update(mine, (json_t *)(uintptr_t)orders);
        if (ttl) {
                j->ttl_from_us = job_ran_us(j);
                j->orders_done &= ~BIT(STANDING_TTL);
        }
        if (json_object_get(orders, "lease_stop_wall_us") || json_object_get(orders, "lease_stop_boot_us"))
                j->orders_done &= ~(BIT(STANDING_LEASE) | BIT(STANDING_LEASE_TERM));
        if ((r = job_store_order(j, err)) < 0)
                return r;
        job_changed(j);
        orders_check(j);
        return 0;
}

static int store_machine(struct runner *r, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/lease.json", r->cfg.state_dir);
        js_owned *o = json_pack("{s:I, s:I, s:I, s:s}", "stop_wall_us", (json_int_t)r->stop_wall_us, "stop_boot_us",
                (json_int_t)r->stop_boot_us, "notice_wall_us", (json_int_t)r->notice_wall_us, "boot_id", r->boot_id);

        return path && o ? disk_write_json(path, o, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

/* Written for every job before anything is answered or done, then all are saved at once. */
int orders_notice(
        struct runner *r, int64_t in_us, const char *source, int64_t *ret_deadline_wall_us, struct pd_error *err)
{
        int64_t wall = now_wall_us() + in_us, boot = now_boot_us() + in_us;
        struct pd_error why;

        (void)err;
        (void)pd_fail(&why, PD_E_CAPACITY, "this machine was given a notice before the job had started");
        for (size_t i = 0; i < r->jobs.n; i++) {
                struct job *j = r->jobs.at[i];

                if (!job_live(j) || (j->notice_boot_us && j->notice_boot_us <= boot))
                        continue; /* an earlier end stays */
                j->notice_wall_us = wall;
                j->notice_boot_us = boot;
                (void)str_format(j->notice_source, sizeof j->notice_source, "%s", source);
                j->orders_done &= ~(BIT(STANDING_NOTICE) | BIT(STANDING_NOTICE_TERM));
                if (j->phase == PHASE_PREPARING)
                        start_cancel(j, "notice", &why);
                else
                        job_changed(j);
        }
        for (size_t i = 0; i < r->jobs.n; i++)
                orders_check(r->jobs.at[i]);
        r->notice_wall_us =
                wall; /* after the saves have begun: it is for portald to read, and they do not wait for a disk */
        if (store_machine(r, &why) < 0)
                log_warning("the machine's notice is not on disk: %s", why.text);
        *ret_deadline_wall_us = wall;
        return 0;
}

/* The machine's lease is every job's: it replaces the one that each was started with. */
int orders_lease(struct runner *r, int64_t wall_us, int64_t boot_us, struct pd_error *err)
{
        js_owned *orders = json_pack(
                "{s:I, s:I}", "lease_stop_wall_us", (json_int_t)wall_us, "lease_stop_boot_us", (json_int_t)boot_us);
        int e;

        r->stop_wall_us = wall_us;
        r->stop_boot_us = boot_us;
        if (!orders)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((e = store_machine(r, err)) < 0)
                return e;
        for (size_t i = 0; i < r->jobs.n; i++)
                if (job_live(r->jobs.at[i]) && (e = orders_replace(r->jobs.at[i], orders, err)) < 0)
                        return e;
        return 0;
}

int orders_load(struct runner *r, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/lease.json", r->cfg.state_dir);
        js_owned *o = NULL;
        int e = path ? disk_read_json(path, &o, err) : pd_fail(err, PD_E_NOMEM, "no memory");

        if (e == -PD_E_NOT_FOUND)
                return 0;
        if (e < 0)
                return e;
        r->stop_wall_us = js_int(o, "stop_wall_us", 0);
        /* boot time begins anew with each boot, and a notice is of the boot that it ends */
        r->stop_boot_us = streq(js_str(o, "boot_id", ""), r->boot_id) ? js_int(o, "stop_boot_us", 0) : 0;
        r->notice_wall_us = streq(js_str(o, "boot_id", ""), r->boot_id) ? js_int(o, "notice_wall_us", 0) : 0;
        return 0;
}
