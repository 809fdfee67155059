/* SPDX-License-Identifier: Apache-2.0 */
/* Any capture: what it is called with, what it answers, and each failure against a job that misbehaves as told.
 *
 * What only one capture does is asked of that one (capture_values.h, capture_command.h: one program, one count); what all promise is asked here. */
#include "capture_command.h"
#include "capture_values.h"

static void test_caps(struct capture *x)
{
        struct reply r = { 0 };
        bool carries;

        (void)suite_call(x->s, &r, "caps", NULL, NULL);
        suite_is(x->s, &r, PD_OK, "caps()");
        x->caps = (uint32_t)js_int(r.ret, "flags", 0);
        carries = x->caps & PD_CAPTURE_CARRIES;
        tap_ok(carries != streq(host_plugin_name(x->s->h), "restart"),
                "%s: P-21 only restart says that it carries nothing", x->s->how);
        (void)suite_call(x->s, &r, "probe", NULL, NULL);
        if (r.rc == -PD_E_UNSUPPORTED && streq(host_plugin_name(x->s->h), "criu")) {
                tap_ok(strlen(r.err.text) > 20, "%s: probe() says why it cannot work here", x->s->how);
                tap_note("%s", r.err.text);
        } else {
                suite_is(x->s, &r, PD_OK, "probe()");
        }
        reply_clear(&r);
}

/* A job that was never there, or has ended: nothing hangs, and what ends something is done already. */
static void test_no_job(struct capture *x)
{
        struct reply r = { 0 };

        (void)capture_call(x, &r, "prepare", -1);
        suite_is(x->s, &r, PD_OK, "prepare() before the start");
        (void)capture_call(x, &r, "abort", -1);
        suite_is(x->s, &r, PD_OK, "abort() of a job that is not there");
        (void)capture_call(x, &r, "resume", -1);
        suite_is(x->s, &r, PD_OK, "resume() of a job that is not there");
        (void)capture_call(x, &r, "destroy", -1);
        suite_is(x->s, &r, PD_OK, "destroy()");
        (void)capture_call(x, &r, "destroy", -1);
        suite_is(x->s, &r, PD_OK, "destroy() twice");
        reply_clear(&r);
}

/* The freezer, by itself, where no program takes part; the others are asked with one. */
static void test_freezer(struct capture *x)
{
        struct reply r = { 0 };
        pd_cleanup(freep) char *text = NULL, *after = NULL;
        int stage = capture_stage(x);

        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, PD_OK, "save()");
        text = read_text(x->j.cgroup, "cgroup.freeze");
        tap_str(text, "1\n", "... makes the cgroup stand still");
        (void)capture_call(x, &r, "resume", -1);
        after = read_text(x->j.cgroup, "cgroup.freeze");
        tap_ok(r.rc == 0 && streq(after, "0\n") && entries(x->stage) == 0, "%s: resume() lets it go", x->s->how);
        (void)safe_close(stage);
        reply_clear(&r);
}

/* A cgroup without a container in it: nothing to dump is an error, and nothing is left standing still. The rest needs a real container: live/criu.test. */
static void test_criu(struct capture *x)
{
        struct reply r = { 0 };
        pd_cleanup(freep) char *text = NULL;
        int stage = capture_stage(x);

        (void)capture_call(x, &r, "precheck", -1);
        suite_is(x->s, &r, PD_E_CONFLICT, "precheck() of a container without a main process");
        (void)capture_call(x, &r, "save", stage);
        suite_is(x->s, &r, *x->j.cgroup ? PD_E_CONFLICT : PD_E_UNSUPPORTED, "save() of one");
        text = *x->j.cgroup ? read_text(x->j.cgroup, "cgroup.freeze") : NULL;
        tap_ok((!text || streq(text, "0\n")) && entries(x->stage) == 0,
                "%s: ... leaves nothing standing still, and no image", x->s->how);
        (void)capture_call(x, &r, "restore", stage);
        suite_is(x->s, &r, PD_E_CORRUPT, "restore() from an empty directory");
        (void)capture_call(x, &r, "verify", -1);
        suite_is(x->s, &r, PD_E_CONFLICT, "verify() of a container without a main process");
        (void)safe_close(stage);
        reply_clear(&r);
}

static int capture_stage(struct capture *x)
{
        remove_tree(x->stage);
        (void)mkdir(x->stage, 0700);
        return open(x->stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int capture_call_for(struct capture *x, struct reply *r, const char *slot, int stage, int64_t timeout_us)
{
        ask(x->s->h, r, slot, fake_container(&x->j), &stage, stage >= 0 ? 1 : 0, "op-1", timeout_us);
        if (!turn_until(x->s->loop, &r->done, timeout_us + 8 * USEC_PER_SEC))
                r->rc = pd_fail(&r->err, PD_E_DEADLINE, "the test's own limit passed");
        return r->rc;
}

static int capture_call(struct capture *x, struct reply *r, const char *slot, int stage)
{
        return capture_call_for(x, r, slot, stage, 20 * USEC_PER_SEC);
}

static void run(struct suite *s)
{
        struct capture x = { .s = s };

        if (!tap_ok(fake_make(&x.j), "%s: a job's directory could be made", s->how))
                return;
        fake_cgroup(&x.j);
        (void)snprintf(x.stage, sizeof x.stage, "%s/stage", x.j.dir);
        test_caps(&x);
        test_no_job(&x);
        if (!(x.caps & PD_CAPTURE_NEEDS_JOB)) {
                if (streq(host_plugin_name(s->h), "criu"))
                        test_criu(&x);
                else if (*x.j.cgroup)
                        test_freezer(&x);
                else
                        tap_skip("save() makes the cgroup stand still", "no cgroup v2 tree to write to here");
        }
        if (streq(host_plugin_name(s->h), "values"))
                test_values(&x);
        if (streq(host_plugin_name(s->h), "command"))
                test_command(&x);
        fake_remove(&x.j);
}

int main(int argc, char **argv)
{
        return suite_main(argc, argv, PD_KIND_CHECKPOINT, run);
}
