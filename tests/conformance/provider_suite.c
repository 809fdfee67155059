/* SPDX-License-Identifier: Apache-2.0 */
/* Any provider: one machine of its cheapest offer from launch to gone, and the refusals on the way. Costs what an hour of that machine
 * costs, at most. */
#include "provider_rent.h"

static void test_caps(struct at_work *w)
{
        (void)call(w, "caps", NULL, NULL);
        suite_is(w->s, &w->r, PD_OK, "caps()");
        w->flags = js_int(w->r.ret, "flags", 0);
        w->lease = js_int(w->r.ret, "lease", 0);
        w->settle_us = js_int(w->r.ret, "settle_us", 0);
        w->stop_lag_us = js_int(w->r.ret, "stop_lag_us", 0);
        w->minimum_us = js_int(w->r.ret, "minimum_billing_us", 0);
        tap_ok(w->lease == PD_LEASE_JOB_ONLY || (w->flags & PD_CAP_TAGS), "%s: N-06 what is rented carries tags",
                w->s->how);
        w->keeps_record = !(w->flags & PD_CAP_OWN_MACHINES) || (w->flags & PD_CAP_TAGS);
        tap_ok(!(w->flags & PD_CAP_OWN_MACHINES) || w->lease == PD_LEASE_JOB_ONLY,
                "%s: N-02 own machines have a lease that ends only the job", w->s->how);
        (void)call(w, "validate", NULL, NULL);
        suite_is(w->s, &w->r, PD_OK, "validate()");
}

static void test_actions(struct at_work *w)
{
        static const char *const never[] = { "quota", "Quota", "LimitIncrease", "iam:", "CreateUser", "AttachPolicy",
                "PutRolePolicy" };
        bool bad = false;

        (void)call(w, "actions", NULL, NULL);
        suite_is(w->s, &w->r, PD_OK, "actions()");
        for (size_t i = 0; i < json_array_size(w->r.items); i++)
                for (size_t k = 0; k < ARRAY_LEN(never); k++)
                        bad = bad || strstr(json_string_value(json_array_get(w->r.items, i)), never[k]);
        tap_ok(!bad, "%s: N-03 no action asks for quota or changes limits or access", w->s->how);
}

static bool test_offers(struct at_work *w)
{
        const json_t *best = NULL;

        for (int tries = 0; call(w, "offers", NULL, NULL) < 0 && w->s->storm && tries < 100; tries++)
                ; /* calls fail at random then */
        suite_is(w->s, &w->r, PD_OK, "offers()");
        for (size_t i = 0; i < json_array_size(w->r.items); i++) {
                const json_t *o = json_array_get(w->r.items, i);

                /* a notice comes only where machines are reclaimed; all else is surer on demand */
                if (js_int(o, "stock", 0) != 0 && (!w->s->market || js_int(o, "market", 0) == w->s->market) &&
                        (!best || js_int(o, "price_nano_hour", 0) < js_int(best, "price_nano_hour", 0)))
                        best = o;
        }
        if (!tap_ok(best != NULL, "%s: at least one offer can be had", w->s->how))
                return false;
        (void)snprintf(w->zone, sizeof w->zone, "%s", js_str(best, "zone", ""));
        (void)snprintf(w->type, sizeof w->type, "%s", js_str(best, "type", ""));
        w->market = js_int(best, "market", 0);
        w->price_nano_hour = js_int(best, "price_nano_hour", 0);
        tap_ok(js_int(best, "price_at_wall_us", 0) > 0, "%s: a price says when it was fetched", w->s->how);
        return true;
}

static void test_launch_refused(struct at_work *w)
{
        (void)call(w, "launch", launch_args(w, "no-such-zone", w->type, w->stop_wall_us), "suite-bad-zone");
        suite_is(w->s, &w->r, PD_E_INVALID, "launch() in a zone that does not exist");
        (void)call(w, "launch", launch_args(w, w->zone, "no-such-type", w->stop_wall_us), "suite-bad-type");
        suite_is(w->s, &w->r, PD_E_INVALID, "launch() of a type that does not exist");
        if (w->lease != PD_LEASE_JOB_ONLY) {
                (void)call(w, "launch", launch_args(w, w->zone, w->type, now_wall_us(w) - USEC_PER_HOUR), "suite-past");
                suite_is(w->s, &w->r, PD_E_INVALID, "N-05 launch() with a hard stop in the past");
        }
        if (!w->keeps_record)
                return;
        (void)call(w, "find", json_pack("{s:s}", "op_token", "suite-bad-type"), NULL);
        suite_is(w->s, &w->r, PD_E_NOT_FOUND, "a refused launch() made nothing");
}

static bool test_launch(struct at_work *w)
{
        (void)call(w, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us), "suite-1");
        if (!suite_is(w->s, &w->r, PD_OK, "launch() of %s/%s", w->zone, w->type))
                return false;
        (void)snprintf(w->id, sizeof w->id, "%s", js_str(item(w), "id", ""));
        tap_ok(streq(js_str(item(w), "zone", ""), w->zone) && streq(js_str(item(w), "type", ""), w->type),
                "%s: ... is what was asked for", w->s->how);
        if (w->flags & PD_CAP_TAGS)
                tap_ok(streq(js_str(json_object_get(item(w), "tags"), "portald-installation", ""), "ins_suite"),
                        "%s: ... with its tags on it", w->s->how);
        if (w->lease <= PD_LEASE_EXTERNAL)
                tap_ok(js_int(item(w), "stop_wall_us", 0) > 0 && js_int(item(w), "stop_wall_us", 0) <= w->stop_wall_us,
                        "%s: N-05 ... and its hard stop, no later than asked", w->s->how);
        (void)call(w, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us), "suite-1");
        tap_ok(w->r.rc == 0 && streq(js_str(item(w), "id", ""), w->id),
                "%s: the same token again gives the same machine: %s", w->s->how, w->r.err.text);
        return true;
}

static void test_looks(struct at_work *w)
{
        int mine = 0;

        (void)call_settled(w, "find", json_pack("{s:s}", "op_token", "suite-1"), PD_E_NOT_FOUND);
        tap_ok(w->r.rc == 0 && streq(js_str(item(w), "id", ""), w->id), "%s: find() by its token: %s", w->s->how,
                w->r.err.text);
        if (w->keeps_record) {
                (void)call(w, "find", json_pack("{s:s}", "op_token", "suite-never"), NULL);
                suite_is(w->s, &w->r, PD_E_NOT_FOUND, "find() of a token that made nothing");
        }
        (void)call_settled(w, "describe", with_id(w->id), PD_E_GONE);
        suite_is(w->s, &w->r, PD_OK, "describe()");
        (void)call(w, "describe", with_id("no-such-machine"), NULL);
        suite_is(w->s, &w->r, PD_E_GONE, "describe() of what is not there");
        (void)call(w, "list_owned", json_pack("{s:o}", "expect_tags", tags("ins_suite")), NULL);
        for (size_t i = 0; i < json_array_size(w->r.items); i++)
                mine += streq(js_str(json_array_get(w->r.items, i), "id", ""), w->id);
        tap_ok(w->r.rc == 0 && mine == 1, "%s: list_owned() has it once: %s", w->s->how, w->r.err.text);
        if (w->flags & PD_CAP_TAGS) {
                (void)call(w, "list_owned", json_pack("{s:o}", "expect_tags", tags("ins_another")), NULL);
                tap_ok(w->r.rc == 0 && json_array_size(w->r.items) == 0,
                        "%s: N-06 list_owned() of another installation does not", w->s->how);
        }
        (void)call(w, "notice", with_id(w->id), NULL);
        suite_is(w->s, &w->r, PD_OK, "notice()");
        (void)call(w, "guest_stop_recipe", with_id(w->id), NULL);
        tap_ok(w->r.rc == 0 && json_is_string(json_object_get(w->r.text, "recipe")),
                "%s: guest_stop_recipe() puts its recipe", w->s->how);
        if (w->flags & PD_CAP_OWN_MACHINES)
                tap_str(js_str(w->r.text, "recipe", "?"), "", "N-02 ... which is empty for an own machine");
        (void)call(w, "cost",
                json_pack("{s:s,s:I,s:I}", "id", w->id, "from_wall_us", (json_int_t)(now_wall_us(w) - USEC_PER_MIN),
                        "to_wall_us", (json_int_t)now_wall_us(w)),
                NULL);
        suite_is(w->s, &w->r, PD_OK, "cost()");
}

static void test_renew(struct at_work *w)
{
        json_t *args = json_pack("{s:s,s:I,s:o}", "id", w->id, "stop_wall_us",
                (json_int_t)(w->stop_wall_us + USEC_PER_MIN), "expect_tags", tags("ins_suite"));
        json_t *foreign = json_pack("{s:s,s:I,s:o}", "id", w->id, "stop_wall_us",
                (json_int_t)(w->stop_wall_us + USEC_PER_HOUR), "expect_tags", tags("ins_another"));
        bool kept_by_runner = w->lease == PD_LEASE_GUEST || w->lease == PD_LEASE_JOB_ONLY;

        (void)call(w, "renew", args, "suite-renew");
        if (suite_is(w->s, &w->r, kept_by_runner ? PD_E_UNSUPPORTED : PD_OK, "renew() as its kind of lease has it") &&
                !kept_by_runner)
                tap_ok(js_int(w->r.ret, "stop_wall_us", 0) > 0 &&
                                js_int(w->r.ret, "stop_wall_us", 0) <= w->stop_wall_us + USEC_PER_MIN,
                        "%s: P-11 renew() reads back what is in force, no later than asked", w->s->how);
        (void)call(w, "renew", foreign, "suite-renew-2");
        suite_is(w->s, &w->r, kept_by_runner ? PD_E_UNSUPPORTED : PD_E_PERM, "renew() with another's tags");
}

static void test_exec(struct at_work *w)
{
        int fds[3] = { 0, 1, 1 };

        if (w->flags & PD_CAP_EXEC)
                return; /* what there is to run on a machine is the provider's own test */
        (void)ask_wait(w->s->loop, w->s->h, &w->r, "exec", json_pack("{s:s,s:[s]}", "id", w->id, "argv", "true"), fds,
                3, NULL);
        suite_is(w->s, &w->r, PD_E_UNSUPPORTED, "no EXEC in caps: exec() is UNSUPPORTED");
}

static void test_restart(struct at_work *w)
{
        if (!suite_reopen(w->s))
                return;
        (void)call_settled(w, "find", json_pack("{s:s}", "op_token", "suite-1"), PD_E_NOT_FOUND);
        tap_ok(w->r.rc == 0 && streq(js_str(item(w), "id", ""), w->id), "%s: find() finds it after a restart: %s",
                w->s->how, w->r.err.text);
        (void)call(w, "launch", launch_args(w, w->zone, w->type, w->stop_wall_us), "suite-1");
        tap_ok(w->r.rc == 0 && streq(js_str(item(w), "id", ""), w->id), "%s: ... and its token makes no second one: %s",
                w->s->how, w->r.err.text);
}

static void test_terminate(struct at_work *w)
{
        int64_t state;

        if (w->flags & PD_CAP_TAGS) {
                (void)call(w, "terminate", id_and_tags(w->id, "ins_another"), "suite-end-0");
                suite_is(w->s, &w->r, PD_E_PERM, "N-06 terminate() with another's tags");
                (void)call(w, "describe", with_id(w->id), NULL);
                suite_is(w->s, &w->r, PD_OK, "... and it is still there");
        }
        (void)call(w, "terminate", id_and_tags(w->id, "ins_suite"), "suite-end");
        suite_is(w->s, &w->r, PD_OK, "terminate()");
        (void)call(w, "terminate", id_and_tags(w->id, "ins_suite"), "suite-end");
        suite_is(w->s, &w->r, PD_OK, "terminate() again: gone already is 0");
        (void)call(w, "terminate", id_and_tags("no-such-machine", "ins_suite"), "suite-end-2");
        suite_is(w->s, &w->r, PD_OK, "terminate() of what never was is 0");
        (void)call(w, "describe", with_id(w->id), NULL);
        state = js_int(item(w), "state", 0);
        if (!w->keeps_record)
                tap_ok(w->r.rc == 0 && state == PD_MACHINE_RUNNING, "%s: N-02 the own machine itself runs on",
                        w->s->how);
        else
                tap_ok(w->r.rc == -PD_E_GONE ||
                                (w->r.rc == 0 && (state == PD_MACHINE_STOPPING || state == PD_MACHINE_GONE)),
                        "%s: it is gone, or on its way", w->s->how);
        if (w->flags & PD_CAP_OWN_MACHINES)
                return;
        test_gone(w, w->id, PD_REASON_USER, "... and gone after the stop lag");
        test_bill(w, w->id, w->stop_wall_us - USEC_PER_HOUR);
        (void)call(w, "terminate", id_and_tags(w->id, "ins_suite"), "suite-end-3");
        suite_is(w->s, &w->r, PD_OK, "terminate() of what is gone is 0");
}

static void test_life(struct at_work *w)
{
        test_launch_refused(w);
        if (!test_launch(w))
                return;
        test_looks(w);
        test_renew(w);
        test_exec(w);
        test_restart(w);
        test_terminate(w);
}

static void run(struct suite *s)
{
        struct at_work w = { .s = s };

        w.stop_wall_us = now_wall_us(&w) + USEC_PER_HOUR;
        test_caps(&w);
        if (s->storm) {
                if (test_offers(&w))
                        test_storm(&w, (size_t)(s->storm < STORM_MAX ? s->storm : STORM_MAX));
        } else {
                test_actions(&w);
                if (test_offers(&w)) {
                        test_life(&w);
                        test_lease_end(&w);
                        test_notice(&w);
                        test_quota(&w);
                }
        }
        reply_clear(&w.r);
}

int main(int argc, char **argv)
{
        return suite_main(argc, argv, PD_KIND_PROVIDER, run);
}
