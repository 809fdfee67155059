/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated cloud as values: every fault, bills against a sum of their own, the same again from a snapshot, the same seed the same. */
#include "cloud.h"
#include "tap.h"

#define S INT64_C(1000000)
#define MIN (60 * S)
#define HOUR (60 * MIN)
#define DAY (24 * HOUR)
#define T0 (INT64_C(1764547200) * S)
#define NANO INT64_C(1000000000)

#define TRACE                                                                                                  \
        "portald-trace 1\ntype t cpu=8 memory=8GiB gpus=1\nzone z\noffer z/t price=3\noffer z/t/spot price=1 " \
        "capacity=4 notice=2m\n"

static struct cloud *made(const char *trace, const char *faults, enum pd_lease_kind lease)
{
        struct cloud_params p = { .seed = 7,
                .lease = lease,
                .stop_lag_us = 30 * S,
                .minimum_us = MIN,
                .step_us = S,
                .boot_us = MIN,
                .remember_us = HOUR,
                .stopped_percent = 50,
                .tag_max = 10,
                .page = 2,
                .market = { .seed = 7,
                        .zones = 2,
                        .types = "small gpu",
                        .currency = "USD",
                        .spot = true,
                        .on_demand = true,
                        .notice_us = 2 * MIN,
                        .price_every_us = 30 * MIN,
                        .up_us = 6 * HOUR,
                        .down_us = HOUR,
                        .stock = 8 } };
        struct pd_error err = { 0 };
        struct cloud *c = NULL;

        if (faults_read(faults, strlen(faults), &p.faults, &err) < 0 ||
                (trace && trace_read(trace, strlen(trace), &p.market.trace, &err) < 0) || cloud_new(&c, &p, &err) < 0) {
                (void)printf("Bail out! %s\n", err.text);
                exit(1);
        }
        return c;
}

struct seen {
        size_t n;
        char id[24];
        enum pd_machine_state state;
        enum pd_machine_reason reason;
        int64_t stop;
};

static int see(void *arg, const struct pd_machine *m)
{
        struct seen *s = arg;

        s->n++;
        (void)snprintf(s->id, sizeof s->id, "%s", m->id);
        s->state = m->state;
        s->reason = m->reason;
        s->stop = m->stop_wall_us;
        return 0;
}

static const struct pd_pair pair = { "portald-installation", "ins_1" };
static const struct pd_kv tags = { sizeof tags, 1, &pair };

static int launch(
        struct cloud *c, int64_t at, const char *token, enum pd_market market, struct seen *ret, struct pd_error *err)
{
        struct pd_launch req = {
                .size = sizeof req, .zone = "z", .type = "t", .market = market, .stop_wall_us = at + DAY, .tags = &tags
        };

        *ret = (struct seen){ 0 };
        return cloud_launch(c, at, token, &req, see, ret, err);
}

/* ---- bills ---- */

static int64_t ceil_cost(int64_t price, int64_t us)
{
        return (int64_t)(((__int128)price * us + HOUR - 1) / HOUR);
}

static void test_bills(void)
{
        struct cloud *c = made("portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t price=3\n10m z/t price "
                               "3.6\n20m z/t price 1.000000001\n",
                "", PD_LEASE_NATIVE_MOVABLE);
        struct seen s;
        struct pd_error err;
        int64_t nano = 0, sum = 0, want, end = T0 + 25 * MIN + 7;
        int32_t estimate = 0;
        bool grows = true;

        (void)launch(c, T0, "a", PD_MARKET_ON_DEMAND, &s, &err);
        for (int64_t at = T0; at < T0 + 15 * MIN; at += 977 * 1000) {
                (void)cloud_cost(c, at, s.id, T0, at, &nano, &estimate, &err);
                grows = grows && nano >= sum && estimate;
                sum = nano;
        }
        tap_ok(grows, "a bill only grows while the machine is there, and is an estimate");
        (void)cloud_terminate(c, end, s.id, &tags, &err);
        cloud_advance(c, end + MIN);
        /* 30 s of stop lag, and up to the next whole second */
        want = ceil_cost(3 * NANO, 10 * MIN) + ceil_cost(3600000000, 10 * MIN) +
               ceil_cost(1000000001, 5 * MIN + 31 * S);
        (void)cloud_cost(c, end + MIN, s.id, T0, end + MIN, &nano, &estimate, &err);
        tap_ok(nano == want && !estimate,
                "law 7 its bill is that of each price, with stop lag and step: %lld, want %lld", (long long)nano,
                (long long)want);
        cloud_free(c);

        c = made(TRACE, "", PD_LEASE_NATIVE_MOVABLE);
        (void)launch(c, T0, "a", PD_MARKET_ON_DEMAND, &s, &err);
        (void)cloud_terminate(c, T0, s.id, &tags, &err);
        cloud_advance(c, T0 + HOUR);
        tap_int(cloud_bill(c, cloud_machine(c, s.id), T0 + HOUR), ceil_cost(3 * NANO, MIN),
                "a machine that is ended at once costs its minimum");
        cloud_free(c);
}

/* ---- the market takes machines ---- */

static void test_reclaims(void)
{
        static const char trace[] = "portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t/spot price=1 "
                                    "capacity=3 notice=2m\n1h z/t/spot capacity 1\n"
                                    "2h z/t/spot reclaim all notice=10s\n3h z/t/spot capacity 0\n";
        struct cloud *c = made(trace, "", PD_LEASE_NATIVE_MOVABLE);
        struct seen s[4];
        struct pd_error err;
        int64_t said, at = T0 + HOUR + S;
        int noticed = 0, gone = 0;

        for (int i = 0; i < 3; i++)
                (void)launch(c, T0, (const char *[]){ "a", "b", "c" }[i], PD_MARKET_SPOT, &s[i], &err);
        tap_ok(launch(c, T0, "d", PD_MARKET_SPOT, &s[3], &err) == -(int)PD_E_CAPACITY && err.provider_code[0],
                "no more than its capacity can be had");
        for (int i = 0; i < 3; i++)
                noticed += cloud_notice(c, at, s[i].id, &said, &err) == 0 && said == T0 + HOUR + 2 * MIN;
        tap_int(noticed, 2, "a fall of capacity takes what is beyond it, after a notice");
        for (int i = 0; i < 3; i++) {
                (void)cloud_describe(c, T0 + HOUR + 2 * MIN, s[i].id, see, &s[3], &err);
                gone += s[3].state == PD_MACHINE_GONE && s[3].reason == PD_REASON_RECLAIM;
        }
        tap_int(gone, 2, "... and says why they went");
        tap_ok(launch(c, T0 + HOUR + 3 * MIN, "e", PD_MARKET_SPOT, &s[3], &err) == -(int)PD_E_CAPACITY,
                "... there is none to be had then");
        gone = 0;
        for (int i = 0; i < 3; i++)
                if (cloud_describe(c, T0 + 2 * HOUR + 10 * S, s[i].id, see, &s[3], &err) == 0)
                        gone += s[3].state == PD_MACHINE_GONE;
        tap_ok(gone >= 1, "a reclaim takes the last one");
        tap_ok(launch(c, T0 + 2 * HOUR + MIN, "f", PD_MARKET_SPOT, &s[3], &err) == 0,
                "... after which another can be had");
        cloud_free(c);
}

static void test_before(void)
{
        struct cloud_params p = {
                .lease = PD_LEASE_NATIVE_MOVABLE, .tag_max = 5, .page = 5, .market = { .notice_before = true }
        };
        static const char trace[] =
                "portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t/spot price=1 capacity=1 notice=2m\n"
                "1h z/t/spot capacity 0\n2h z/t/spot capacity 1\n121m z/t/spot capacity 0\n";
        struct pd_error err;
        struct cloud *c;
        struct seen s;
        int64_t said = 0;

        (void)trace_read(trace, sizeof trace - 1, &p.market.trace, &err);
        (void)cloud_new(&c, &p, &err);
        (void)launch(c, T0, "a", PD_MARKET_SPOT, &s, &err);
        tap_ok(cloud_notice(c, T0 + 58 * MIN - 1, s.id, &said, &err) == 0 && said == 0,
                "notice_at before: nothing is said too early");
        tap_ok(cloud_notice(c, T0 + 58 * MIN, s.id, &said, &err) == 0 && said == T0 + HOUR,
                "... but two minutes before the fall");
        tap_ok(cloud_describe(c, T0 + HOUR, s.id, see, &s, &err) == 0 && s.state == PD_MACHINE_GONE,
                "... and at the fall it is gone");
        tap_ok(launch(c, T0 + 2 * HOUR, "b", PD_MARKET_SPOT, &s, &err) == -(int)PD_E_CAPACITY,
                "a pool that is there for less than its notice is announced to go as it comes");
        cloud_free(c);
}

/* ---- every fault strikes, and does what it says ---- */

static const struct {
        const char *script;
        enum fault_kind kind;
        enum pd_code launched; /* what the launch comes to */
} faults[] = {
        { "launch throttle always", FAULT_THROTTLE, PD_E_THROTTLED },
        { "any transient always", FAULT_TRANSIENT, PD_E_TRANSIENT },
        { "launch auth always", FAULT_AUTH, PD_E_AUTH },
        { "launch latency 3s always", FAULT_LATENCY, PD_OK },
        { "launch request-lost always", FAULT_REQUEST_LOST, PD_E_UNKNOWN_OUTCOME },
        { "launch answer-lost always", FAULT_ANSWER_LOST, PD_E_UNKNOWN_OUTCOME },
        { "launch duplicate always", FAULT_DUPLICATE, PD_OK },
        { "launch capacity always", FAULT_CAPACITY, PD_E_CAPACITY },
        { "launch quota always", FAULT_QUOTA, PD_E_QUOTA },
        { "launch no-stop always", FAULT_NO_STOP, PD_OK },
        { "list partial always", FAULT_PARTIAL, PD_OK },
        { "list short always", FAULT_SHORT, PD_OK },
        { "list stale 60s always", FAULT_STALE, PD_OK },
        { "renew earlier 10m always", FAULT_EARLIER, PD_OK },
        { "terminate late 5m always", FAULT_LATE, PD_OK },
        { "boot late 10m always", FAULT_LATE, PD_OK },
        { "boot never always", FAULT_NEVER, PD_OK },
        { "end leftover always", FAULT_LEFTOVER, PD_OK },
};

static int count(void *arg, const struct cloud_machine *m)
{
        (void)m;
        ++*(int *)arg;
        return 0;
}

static void test_faults(void)
{
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
                struct cloud *c = made(TRACE, faults[i].script, PD_LEASE_NATIVE_MOVABLE);
                enum fault_kind k = faults[i].kind;
                struct seen s, list = { 0 };
                struct pd_error err = { 0 };
                int64_t stop = 0;
                int machines = 0;
                int r = launch(c, T0, "a", PD_MARKET_ON_DEMAND, &s, &err);
                bool good = r == -(int)faults[i].launched;

                (void)cloud_each(c, count, &machines);
                good = good && machines == (r == 0 || k == FAULT_ANSWER_LOST);
                good = good && (k != FAULT_LATENCY || cloud_latency_us(c) == 3 * S) &&
                       (k != FAULT_NO_STOP || s.stop == 0);
                good = good && (k != FAULT_THROTTLE || err.retry_after_us > 0) && (k != FAULT_QUOTA || err.subject[0]);
                if (r == 0) {
                        int listed = cloud_list(c, T0 + 30 * S, &tags, see, &list, NULL);

                        good = good && (listed < 0) == (k == FAULT_PARTIAL) && (k != FAULT_STALE || list.n == 0);
                        (void)cloud_renew(c, T0 + 90 * S, s.id, &tags, T0 + 2 * HOUR, &stop, NULL);
                        good = good && stop == (k == FAULT_EARLIER ? T0 + 110 * MIN : T0 + 2 * HOUR);
                        (void)cloud_describe(c, T0 + 90 * S, s.id, see, &s, NULL);
                        good = good && (s.state == PD_MACHINE_PENDING) == (strncmp(faults[i].script, "boot", 4) == 0);
                        (void)cloud_terminate(c, T0 + 2 * MIN, s.id, &tags, NULL);
                        (void)cloud_describe(c, T0 + 3 * MIN, s.id, see, &s, NULL);
                        good = good &&
                               s.state == (k == FAULT_LEFTOVER                                     ? PD_MACHINE_STOPPED
                                                  : strncmp(faults[i].script, "terminate", 9) == 0 ? PD_MACHINE_STOPPING
                                                                                                   : PD_MACHINE_GONE);
                }
                tap_ok(good && cloud_struck(c, k) > 0, "a fault: %s", faults[i].script);
                cloud_free(c);
        }
}

static void test_notice_faults(void)
{
        static const struct {
                const char *script;
                int64_t before, after; /* the notice is not there yet, and is there; 0 = never */
        } rows[] = { { "", HOUR - 1, HOUR }, { "notice missing always", 0, 0 },
                { "notice shorter 20s always", HOUR + 100 * S - 1, HOUR + 100 * S } };
        static const char trace[] = "portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t/spot price=1 "
                                    "notice=2m\n1h z/t/spot reclaim all\n";
        struct pd_error err;

        for (size_t i = 0; i < 3; i++) {
                struct cloud *c = made(trace, rows[i].script, PD_LEASE_NATIVE_MOVABLE);
                struct seen s;
                int64_t early = 0, said = 0;

                (void)launch(c, T0, "a", PD_MARKET_SPOT, &s, &err);
                if (rows[i].after) {
                        (void)cloud_notice(c, T0 + rows[i].before, s.id, &early, &err);
                        (void)cloud_notice(c, T0 + rows[i].after, s.id, &said, &err);
                } else {
                        (void)cloud_notice(c, T0 + HOUR + 2 * MIN - 1, s.id, &early, &err);
                }
                (void)cloud_describe(c, T0 + HOUR + 2 * MIN, s.id, see, &s, &err);
                tap_ok(!early && (rows[i].after ? said == T0 + HOUR + 2 * MIN : !said) && s.state == PD_MACHINE_GONE,
                        "P-04 a reclaim: %s", *rows[i].script ? rows[i].script : "with its notice");
                cloud_free(c);
        }
        {
                struct cloud *c =
                        made("portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t/spot price=1 notice=2m\n",
                                "notice false always", PD_LEASE_NATIVE_MOVABLE);
                struct seen s;
                int64_t said = 0, at = T0;

                (void)launch(c, T0, "a", PD_MARKET_SPOT, &s, &err);
                for (; !said && at < T0 + 20 * HOUR; at += 30 * S)
                        (void)cloud_notice(c, at, s.id, &said, &err);
                (void)cloud_describe(c, said + MIN, s.id, see, &s, &err);
                tap_ok(said > 0 && s.state == PD_MACHINE_RUNNING, "a false notice: nothing follows");
                tap_ok(cloud_notice(c, said + MIN, s.id, &at, &err) == 0 && at == 0, "... and it is taken back");
                cloud_free(c);
        }
}

/* ---- ends, leftovers, quotas, settling ---- */

static void test_ends(void)
{
        struct cloud *c = made(TRACE, "", PD_LEASE_GUEST);
        struct seen s;
        struct pd_error err;
        int64_t half, full;

        (void)launch(c, T0, "a", PD_MARKET_ON_DEMAND, &s, &err);
        tap_ok(s.stop == 0, "a guest's lease is nothing that the cloud knows of");
        cloud_guest_off(c, T0 + HOUR, s.id);
        full = cloud_bill(c, cloud_machine(c, s.id), T0 + HOUR);
        half = cloud_bill(c, cloud_machine(c, s.id), T0 + 2 * HOUR) - full;
        tap_ok(cloud_machine(c, s.id)->state == PD_MACHINE_STOPPED && full == 3 * NANO && half == 3 * NANO / 2,
                "law 9 a guest that is off is only stopped, and costs on: here half");
        (void)cloud_terminate(c, T0 + 2 * HOUR, s.id, &tags, &err);
        cloud_advance(c, T0 + 3 * HOUR);
        tap_ok(cloud_machine(c, s.id)->state == PD_MACHINE_GONE, "... until it is terminated");
        (void)cloud_describe(c, T0 + 3 * HOUR, s.id, see, &s, &err);
        tap_ok(s.reason == PD_REASON_GUEST, "... its end keeps its first reason");
        tap_ok(cloud_describe(c, T0 + 9 * HOUR, s.id, see, &s, &err) == -(int)PD_E_GONE,
                "... in the end nobody remembers it");
        cloud_free(c);

        c = made("portald-trace 1\ntype t cpu=8 memory=8GiB\nzone z\noffer z/t price=3 lifetime=24h\nquota cores "
                 "limit=16 of=cpus\n1h quota cores 24\n",
                "", PD_LEASE_NATIVE_FIXED);
        (void)launch(c, T0, "a", PD_MARKET_ON_DEMAND, &s, &err);
        (void)launch(c, T0, "b", PD_MARKET_ON_DEMAND, &s, &err);
        tap_ok(launch(c, T0, "c", PD_MARKET_ON_DEMAND, &s, &err) == -(int)PD_E_QUOTA &&
                        strcmp(err.subject, "cores") == 0,
                "a quota of cores");
        tap_ok(launch(c, T0 + HOUR, "c", PD_MARKET_ON_DEMAND, &s, &err) == 0, "... that is raised");
        full = 0;
        (void)cloud_renew(c, T0 + HOUR, s.id, &tags, T0 + 9 * DAY, &full, &err);
        tap_ok(full == T0 + HOUR + DAY, "a fixed stop stays where it was");
        cloud_advance(c, T0 + HOUR + DAY + MIN);
        tap_ok(cloud_machine(c, s.id)->state == PD_MACHINE_GONE, "N-05 ... and ends it");
        cloud_free(c);
}

/* ---- the same again ---- */

static uint64_t digest(uint64_t h, const char *text, size_t n)
{
        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        return h;
}

static uint64_t state_of(const struct cloud *c, uint64_t h)
{
        char *text = NULL;
        size_t n = 0;

        (void)cloud_save(c, &text, &n, NULL);
        h = digest(h, text, n);
        free(text);
        return h;
}

/* Days of launches and ends in a market that is made up. Every `cut` steps the cloud goes through its text and back. */
static uint64_t run(uint64_t seed, int cut)
{
        static const char script[] = "launch answer-lost 1/5; launch capacity 1/9; terminate late 1m 1/4; notice "
                                     "missing 1/3; notice false 1/3; end leftover "
                                     "1/6; list stale 60s 1/4; boot late 1m 1/5";
        struct cloud *c = made(NULL, script, PD_LEASE_NATIVE_MOVABLE), *other;
        uint64_t h = seed, dice = seed;

        for (int i = 0; i < 600; i++) {
                int64_t at = T0 + i * 11 * MIN + (int64_t)(sim_market_dice(&dice) % (uint64_t)MIN);
                struct pd_launch req = { .size = sizeof req,
                        .zone = "sim-a",
                        .type = sim_market_dice(&dice) % 2 ? "small" : "gpu",
                        .market = PD_MARKET_SPOT,
                        .stop_wall_us = at + 3 * HOUR,
                        .tags = &tags };
                struct seen s = { 0 };
                char token[16], id[24];

                (void)snprintf(token, sizeof token, "t%d", i);
                (void)cloud_launch(c, at, token, &req, see, &s, NULL);
                (void)snprintf(id, sizeof id, "sim-%06d", i / 3);
                if (i % 4 == 0)
                        (void)cloud_terminate(c, at, id, &tags, NULL);
                (void)cloud_list(c, at + S, &tags, see, &s, NULL);
                h = digest(h, (const char *)&s.n, sizeof s.n);
                if (cut && i % cut == 0) {
                        char *text;
                        size_t n;
                        struct pd_error err = { 0 };

                        (void)cloud_save(c, &text, &n, NULL);
                        other = made(NULL, script, PD_LEASE_NATIVE_MOVABLE);
                        if (cloud_load(other, text, n, &err) < 0)
                                tap_note("%s", err.text);
                        free(text);
                        cloud_free(c);
                        c = other;
                }
        }
        h = state_of(c, h);
        cloud_free(c);
        return h;
}

static void test_again(void)
{
        uint64_t first = run(3, 0);

        tap_ok(run(3, 0) == first, "law 22 the same seed and the same calls: the same cloud");
        tap_ok(run(4, 0) != first, "... other calls: another");
        tap_ok(run(3, 1) == first && run(3, 37) == first,
                "a cloud that goes through its text at each call, or each 37th, is the same");
}

static void test_bad_states(void)
{
        struct cloud *c = made(TRACE, "", PD_LEASE_NATIVE_MOVABLE);
        struct pd_error err;
        struct seen s;
        char *text, *copy;
        size_t n, refused = 0, cuts = 0;

        (void)launch(c, T0, "a", PD_MARKET_SPOT, &s, &err);
        (void)cloud_save(c, &text, &n, NULL);
        for (size_t k = 0; k + 1 < n; k++, cuts++) /* cut off anywhere */
                refused += cloud_load(c, text, k, &err) == -(int)PD_E_CORRUPT && err.text[0];
        tap_int((long long)refused, (long long)cuts, "a state that is cut off anywhere is refused");
        copy = strdup(text);
        memcpy(strstr(copy, "offer=z/t/spot"), "offer=z/t/poot", 14);
        tap_ok(cloud_load(c, copy, n, &err) < 0 && strstr(err.text, "line 3"), "... so is one of another trace: %s",
                err.text);
        tap_ok(cloud_load(c, text, n, &err) == 0 && cloud_machine(c, s.id), "... the whole one is taken");
        free(copy);
        free(text);
        cloud_free(c);
}

int main(void)
{
        test_bills();
        test_reclaims();
        test_before();
        test_faults();
        test_notice_faults();
        test_ends();
        test_again();
        test_bad_states();
        return tap_done();
}
