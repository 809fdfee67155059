/* SPDX-License-Identifier: Apache-2.0 */
/* A load that runs out of memory at its first, second, third ... allocation fails cleanly, until it goes through untouched. */
#include "alloc_fail.h"
#include "config_site.h"

#include "tap.h"

static const char main_text[] = "daemon: { admin_uids = [ 1, 2 ]; admin_groups = [ \"adm\" ]; };\n"
                                "connections: { lab: { provider = \"local\"; options: { price = \"1usd/h\"; }; cap: { "
                                "amount = \"5usd\"; }; };\n"
                                "  off: { provider = \"x\"; enabled = false; }; };\nsinks: { a: { plugin = \"jsonl\"; "
                                "}; };\nsettings = [ \"ttl=24h\" ];\n";
static const char part_text[] = "connections: { lab: { options: { token = \"credential:tok\"; }; }; };\n";

static bool whole(const struct config *c)
{
        return c->connections_n == 1 && json_object_size(c->connections[0].options) == 3 && c->connections[0].cap.set &&
               c->captures_n == 4 && c->vaults_n == 1 && c->sinks_n == 1 && json_object_size(c->settings) == 1 &&
               c->daemon.admin_uids.n == 2 && c->daemon.default_vault && config_origin(c, "settings.ttl");
}

/* How many allocations a load makes, -1 when one of them failing was not survived as it should. */
static long sweep(const struct site *s, bool good)
{
        for (long n = 0; n < 100000; n++) {
                pd_cleanup(config_freep) struct config *c = NULL;
                js_owned *faults = NULL;
                struct pd_error err = { 0 };
                int r;

                alloc_fail_at(n);
                r = site_load_as(s, false, &c, &faults, &err, NULL);
                if (!alloc_end())
                        return (r == 0) == good && (!c || whole(c)) ? n : -1;
                /* an error is said, or nothing is missing: never half a config */
                if (r == 0 ? !good || !c || !whole(c) : c || err.code == PD_OK || !err.text[0]) {
                        tap_note("allocation %ld: r %d, %s", n, r, err.text);
                        return -1;
                }
        }
        return -1;
}

int main(void)
{
        pd_cleanup(site_end) struct site s;
        long n;

        alloc_begin();
        site_begin(&s);
        (void)setenv("CREDENTIALS_DIRECTORY", s.dir, 1);
        site_write(&s, "portald.conf", main_text);
        site_write(&s, "conf.d/part.conf", part_text);
        site_write(&s, "tok", "secret");
        n = sweep(&s, true);
        tap_ok(n > 100, "a load of a good config survives each of its %ld allocations failing", n);
        site_write(
                &s, "portald.conf", "daemon: { run_dir = 1; log_level = \"x\"; bad = 1; };\nsettings = [ \"x\" ];\n");
        n = sweep(&s, false);
        tap_ok(n > 20, "a load of a bad one survives each of its %ld", n);
        return tap_done();
}
