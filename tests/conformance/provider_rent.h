/* SPDX-License-Identifier: Apache-2.0 */
/* What only a provider that rents machines has: leases that end them, bills, quotas, notices, and a hundred creates at once that fail in
 * every way. Included by provider_suite.c alone. */
#ifndef TESTS_PROVIDER_RENT_H
#define TESTS_PROVIDER_RENT_H

#include <fcntl.h>

#include "provider_suite.h"

#define STORM_MAX 200

static int64_t now_wall_us(const struct at_work *w)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000 + w->ahead_us;
}

/* Time passes for the provider: by its own clock where that is in our hands, else as it does for everybody. */
static void pass(struct at_work *w, int64_t us)
{
        const char *path = w->s->clock ? js_str(w->s->config, w->s->clock, "") : "";
        bool never = false;
        int fd;

        if (!*path) {
                (void)turn_until(w->s->loop, &never, us);
                return;
        }
        w->ahead_us += us;
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || dprintf(fd, "%lldus", (long long)w->ahead_us) < 0)
                tap_ok(false, "the provider's clock %s can be set", path);
        if (fd >= 0)
                (void)close(fd);
}

/* What is new is seen after the settling time at the latest. */
static int call_settled(struct at_work *w, const char *slot, json_t *args, enum pd_code unseen)
{
        for (int64_t waited = 0; call(w, slot, json_incref(args), NULL) == -(int)unseen && waited <= w->settle_us;) {
                int64_t step = w->settle_us / 8 + 1;

                pass(w, step);
                waited += step;
        }
        json_decref(args);
        return w->r.rc;
}

static int64_t described(struct at_work *w, const char *id, int64_t *ret_reason)
{
        (void)call(w, "describe", with_id(id), NULL);
        if (w->r.rc == -(int)PD_E_GONE)
                return PD_MACHINE_GONE;
        *ret_reason = js_int(item(w), "reason", 0);
        return w->r.rc < 0 ? 0 : js_int(item(w), "state", 0);
}

/* An end that was accepted takes the stop lag, and no longer. */
static void test_gone(struct at_work *w, const char *id, int64_t reason, const char *name)
{
        int64_t why = reason, state = described(w, id, &why);

        for (int64_t waited = 0; state != PD_MACHINE_GONE && waited <= w->stop_lag_us + USEC_PER_SEC;) {
                pass(w, w->stop_lag_us / 4 + 100 * USEC_PER_MSEC);
                waited += w->stop_lag_us / 4 + 100 * USEC_PER_MSEC;
                state = described(w, id, &why);
        }
        tap_ok(state == PD_MACHINE_GONE && (!why || why == reason), "%s: %s (state %lld, reason %lld)", w->s->how, name,
                (long long)state, (long long)why);
}

static int64_t cost(struct at_work *w, const char *id, int64_t from, int64_t to)
{
        (void)call(w, "cost",
                json_pack("{s:s,s:I,s:I}", "id", id, "from_wall_us", (json_int_t)from, "to_wall_us", (json_int_t)to),
                NULL);
        return w->r.rc < 0 ? -1 : js_int(w->r.ret, "nano", -1);
}

/* The bill of a machine that is gone: its parts sum up to it, and it does not grow. */
static void test_bill(struct at_work *w, const char *id, int64_t from)
{
        int64_t end = now_wall_us(w), third = (end - from) / 3, whole = cost(w, id, from, end), parts, least;

        parts = cost(w, id, from, from + third) + cost(w, id, from + third, from + 2 * third) +
                cost(w, id, from + 2 * third, end);
        tap_ok(whole >= 0 && parts == whole, "%s: law 7 the parts of a bill sum up to it: %lld and %lld nano",
                w->s->how, (long long)parts, (long long)whole);
        tap_ok(js_int(w->r.ret, "is_estimate", 1) == 0, "%s: ... and it is no estimate any more", w->s->how);
        least = money_cost(w->price_nano_hour, w->minimum_us);
        tap_ok(whole >= least, "%s: ... at least what the minimum billing costs, %lld nano", w->s->how,
                (long long)least);
        pass(w, USEC_PER_MIN);
        tap_ok(cost(w, id, from, now_wall_us(w)) == whole, "%s: ... and a machine that is gone costs nothing more",
                w->s->how);
}

/* N-05, law 8: nobody renews, nobody ends it; it is gone by its lease. */
static void test_lease_end(struct at_work *w)
{
        char id[300];
        int64_t from = now_wall_us(w), stop = from + USEC_PER_HOUR;

        if (!w->s->clock || w->lease == PD_LEASE_JOB_ONLY)
                return;
        (void)call(w, "launch", launch_args(w, w->zone, w->type, stop), "suite-lease");
        if (!suite_is(w->s, &w->r, PD_OK, "launch() of a machine that nobody will renew"))
                return;
        (void)snprintf(id, sizeof id, "%s", js_str(item(w), "id", ""));
        stop = js_int(item(w), "stop_wall_us", 0); /* may be earlier than asked */
        pass(w, w->settle_us);
        if (w->lease == PD_LEASE_GUEST) {
                char *recipe;

                (void)call(w, "guest_stop_recipe", with_id(id), NULL);
                recipe = strdup(js_str(w->r.text, "recipe", ""));
                /* the guest's own timer ends it by this last command */
                if (tap_ok(recipe && *recipe, "%s: N-05 there is a last command of the guest's own timer", w->s->how))
                        tap_ok(system(recipe) == 0, "%s: ... which can be run", w->s->how); /* NOLINT(cert-env33-c) */
                free(recipe);
        } else {
                pass(w, stop - USEC_PER_MIN - now_wall_us(w));
                (void)call(w, "describe", with_id(id), NULL);
                tap_ok(w->r.rc == 0 && js_int(item(w), "state", 0) == PD_MACHINE_RUNNING,
                        "%s: a minute before its hard stop it runs", w->s->how);
                pass(w, USEC_PER_MIN + USEC_PER_SEC);
        }
        if (w->lease != PD_LEASE_GUEST || (w->flags & PD_CAP_GUEST_OFF_ENDS_BILLING)) {
                test_gone(w, id, w->lease == PD_LEASE_GUEST ? PD_REASON_GUEST : PD_REASON_LEASE,
                        "N-05 with the daemon dead it is gone by its lease");
        } else {
                int64_t why = 0;

                tap_ok(described(w, id, &why) == PD_MACHINE_STOPPED && why == PD_REASON_GUEST,
                        "%s: a guest that is off is only stopped, and still listed", w->s->how);
                (void)call(w, "terminate", id_and_tags(id, "ins_suite"), "suite-lease-end");
                suite_is(w->s, &w->r, PD_OK, "... such a leftover can be terminated");
                test_gone(w, id, PD_REASON_GUEST, "... and is gone then");
        }
        test_bill(w, id, from);
}

/* The provider's own reclaim, where a connection is known to give notice: --notice. */
static void test_notice(struct at_work *w)
{
        int64_t said = 0, why = 0;
        char id[300];

        if (!w->s->notice || !w->s->clock)
                return;
        (void)call(w, "launch", launch_args(w, w->zone, w->type, now_wall_us(w) + 1000 * USEC_PER_DAY), "suite-notice");
        if (!suite_is(w->s, &w->r, PD_OK, "launch() of a machine that will be reclaimed"))
                return;
        (void)snprintf(id, sizeof id, "%s", js_str(item(w), "id", ""));
        for (int i = 0; i < 20000 && !said; i++) {
                pass(w, 30 * USEC_PER_SEC);
                if (call(w, "notice", with_id(id), NULL) < 0)
                        break;
                said = js_int(w->r.ret, "at_wall_us", 0);
        }
        tap_ok(said > now_wall_us(w), "%s: P-04 notice() says when it will go, before it goes", w->s->how);
        tap_ok(described(w, id, &why) == PD_MACHINE_RUNNING, "%s: ... until then it runs", w->s->how);
        pass(w, said - now_wall_us(w) + USEC_PER_SEC);
        test_gone(w, id, PD_REASON_RECLAIM, "... then it is reclaimed");
}

static void end_all(struct at_work *w, char ids[][300], size_t n)
{
        char token[40];
        size_t good = 0;

        for (size_t i = 0; i < n; i++) {
                int rc = -1;

                (void)snprintf(token, sizeof token, "suite-end-all-%zu", i);
                for (int tries = 0; rc != 0 && tries < 50; tries++)
                        rc = call(w, "terminate", id_and_tags(ids[i], "ins_suite"), token);
                good += rc == 0;
        }
        tap_ok(good == n, "%s: each of %zu machines can be ended, whatever fails on the way", w->s->how, n);
}

/* The account's quota, by the id that is known: --quota ID. */
static void test_quota(struct at_work *w)
{
        static char ids[STORM_MAX][300];
        char token[32];
        size_t n = 0;

        if (!w->s->quota)
                return;
        for (; n < STORM_MAX; n++) {
                (void)snprintf(token, sizeof token, "suite-quota-%zu", n);
                if (call(w, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us + w->ahead_us), token) < 0)
                        break;
                (void)snprintf(ids[n], sizeof ids[n], "%s", js_str(item(w), "id", ""));
        }
        suite_is(w->s, &w->r, PD_E_QUOTA, "the launch() after the %zuth", n);
        tap_str(w->r.err.subject, w->s->quota, "... names the quota");
        end_all(w, ids, n);
}

/* ---- a hundred creates at once ---- */

static struct {
        struct reply r;
        char token[32];
        bool made; /* handed out, or found */
        char id[300];
} storm[STORM_MAX];

static bool storm_over(size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (!storm[i].r.done)
                        return false;
        return true;
}

static void storm_launch(struct at_work *w, size_t n)
{
        bool never = false;

        for (size_t i = 0; i < n; i++) {
                (void)snprintf(storm[i].token, sizeof storm[i].token, "storm-%zu", i);
                ask(w->s->h, &storm[i].r, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us), NULL, 0,
                        storm[i].token, 30 * USEC_PER_SEC);
        }
        for (int i = 0; i < 6000 && !storm_over(n); i++)
                (void)turn_until(w->s->loop, &never, 10 * USEC_PER_MSEC);
        tap_ok(storm_over(n), "%s: each of %zu creates at once is answered", w->s->how, n);
}

/* What came of one: handed out; refused, then nothing may be there; or to be looked for by its token. */
static bool storm_settle(struct at_work *w, size_t i, bool *ret_looked)
{
        const struct reply *r = &storm[i].r;
        bool found;

        *ret_looked = r->rc == -(int)PD_E_UNKNOWN_OUTCOME;
        storm[i].made = r->rc == 0;
        if (r->rc == 0)
                (void)snprintf(storm[i].id, sizeof storm[i].id, "%s", js_str(json_array_get(r->items, 0), "id", ""));
        for (int tries = 0; tries < 100; tries++) {
                (void)call(w, "find", json_pack("{s:s}", "op_token", storm[i].token), NULL);
                if (w->r.rc == 0 || w->r.rc == -(int)PD_E_NOT_FOUND)
                        break;
        }
        found = w->r.rc == 0;
        if (!*ret_looked)
                return found == storm[i].made && (!found || streq(js_str(item(w), "id", ""), storm[i].id));
        storm[i].made = found;
        if (found)
                (void)snprintf(storm[i].id, sizeof storm[i].id, "%s", js_str(item(w), "id", ""));
        return found || w->r.rc == -(int)PD_E_NOT_FOUND;
}

/* A whole list has each of them once; a list that is not whole is an error. */
static void storm_list(struct at_work *w, size_t n, size_t made)
{
        size_t whole = 0, broken = 0, good = 0;

        for (int i = 0; i < 40; i++) {
                size_t seen = 0;

                if (call(w, "list_owned", json_pack("{s:o}", "expect_tags", tags("ins_suite")), NULL) < 0) {
                        broken++;
                        continue;
                }
                for (size_t k = 0; k < n; k++)
                        for (size_t m = 0; storm[k].made && m < json_array_size(w->r.items); m++)
                                seen += streq(js_str(json_array_get(w->r.items, m), "id", ""), storm[k].id);
                whole++;
                good += seen == made && json_array_size(w->r.items) == made;
        }
        tap_ok(whole > 0 && good == whole,
                "%s: N-06 law 9 each list that came whole (%zu, %zu broke off with an error) has the %zu machines, "
                "once",
                w->s->how, whole, broken, made);
}

/* --storm N: the connection's options make calls fail at random. */
static void test_storm(struct at_work *w, size_t n)
{
        static char ids[STORM_MAX][300];
        size_t right = 0, looked = 0, made = 0, again = 0;

        storm_launch(w, n);
        pass(w, w->settle_us + USEC_PER_MSEC);
        for (size_t i = 0; i < n; i++) {
                bool look;

                right += storm_settle(w, i, &look);
                looked += look;
                if (storm[i].made)
                        (void)snprintf(ids[made++], sizeof ids[0], "%s", storm[i].id);
        }
        tap_ok(right == n, "%s: %zu creates: %zu machines, %zu outcomes unknown and looked up by token", w->s->how, n,
                made, looked);
        for (size_t i = 0; i < n; i++) /* once more: what is there is handed out again, never a second one */
                if (storm[i].made &&
                        call(w, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us), storm[i].token) == 0)
                        again += !streq(js_str(item(w), "id", ""), storm[i].id);
        tap_ok(again == 0, "%s: the same tokens again make no second machine", w->s->how);
        storm_list(w, n, made);
        end_all(w, ids, made);
        for (size_t i = 0; i < n; i++)
                reply_clear(&storm[i].r);
}

#endif
