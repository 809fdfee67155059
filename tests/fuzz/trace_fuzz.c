/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated cloud reads: traces, fault scripts, its own state. The first byte chooses. What is read is also lived through for a day. */
#include "../../plugins/provider/sim/cloud.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define T0 INT64_C(1764547200000000)

static void check(int good)
{
        if (!good)
                abort();
}

static int see(void *arg, const struct pd_machine *m)
{
        (void)arg;
        check(m->id[0] && m->zone[0] && m->state >= PD_MACHINE_PENDING && m->state <= PD_MACHINE_GONE);
        return 0;
}

static int offer(void *arg, const struct pd_offer *o)
{
        (void)arg;
        check(o->zone[0] && o->type[0] && o->price_nano_hour >= 0 && o->cpu_milli > 0 && o->memory_bytes > 0);
        return 0;
}

static struct cloud *cloud_of(struct trace *t)
{
        struct cloud_params p = { .seed = 1,
                .lease = PD_LEASE_NATIVE_MOVABLE,
                .boot_us = 1000,
                .stop_lag_us = 1000,
                .tag_max = 5,
                .page = 3 };
        struct cloud *c = NULL;
        struct pd_error err;

        p.market.trace = *t;
        check(cloud_new(&c, &p, &err) == 0);
        return c;
}

static void live(struct cloud *c)
{
        for (int64_t at = T0; at < T0 + INT64_C(86400000000); at += INT64_C(21600000000)) {
                check(cloud_offers(c, at, offer, NULL, NULL) <= 0);
                check(cloud_list(c, at, NULL, see, NULL, NULL) <= 0);
        }
        cloud_free(c);
}

static void one_trace(const char *text, size_t n)
{
        struct trace t;
        struct pd_error err;

        if (trace_read(text, n, &t, &err) < 0) {
                check(err.code != PD_OK && strncmp(err.text, "line ", 5) == 0);
                return;
        }
        check(t.offers_n > 0);
        for (size_t i = 1; i < t.events_n; i++)
                check(t.events[i].at_us >= t.events[i - 1].at_us);
        live(cloud_of(&t));
}

static void one_script(const char *text, size_t n)
{
        struct sim_faults f;
        struct pd_error err;

        if (faults_read(text, n, &f, &err) < 0)
                check(err.code == PD_E_INVALID && strncmp(err.text, "fault ", 6) == 0);
        else
                for (size_t i = 0; i < f.n; i++)
                        check(f.rules[i].den > 0 && f.rules[i].num <= f.rules[i].den);
}

static void one_state(const char *text, size_t n)
{
        static const char trace[] = "portald-trace 1\ntype t cpu=2 memory=8GiB\nzone z\noffer z/t price=1\noffer "
                                    "z/t/spot price=0.3 notice=2m\n";
        struct trace t;
        struct pd_error err;
        struct cloud *c;

        check(trace_read(trace, sizeof trace - 1, &t, &err) == 0);
        c = cloud_of(&t);
        if (cloud_load(c, text, n, &err) < 0) {
                check(err.code == PD_E_CORRUPT && err.text[0]);
                cloud_free(c);
                return;
        }
        live(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        char *copy;

        if (n == 0)
                return 0;
        copy = malloc(n); /* of its exact size, so that a byte too far is seen */
        if (!copy)
                return 0;
        memcpy(copy, data + 1, n - 1);
        if (data[0] == 't')
                one_trace(copy, n - 1);
        else if (data[0] == 'f')
                one_script(copy, n - 1);
        else
                one_state(copy, n - 1);
        free(copy);
        return 0;
}
