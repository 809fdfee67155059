/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's market: a trace made from a seed. Four zones whose spot prices jump about, pools that run dry, and for a while none to be had at all. */
#include "tryout/tryout.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#define ZONES 4
#define STEP_MINUTES 10
#define ON_DEMAND_CENTS 306

struct pool {
        bool up;
        int64_t cents;
};

static uint64_t dice(uint64_t *state, uint64_t below) /* splitmix64 */
{
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (z ^ (z >> 31)) % below;
}

static void head(FILE *f)
{
        (void)fprintf(f, "portald-trace 1\nstart 2026-11-30T00:00:00Z\ncurrency USD\n"
                         "type v100 cpu=8 memory=61GiB gpus=1 gpu=V100 gpu-memory=16GiB\n");
        for (int z = 0; z < ZONES; z++)
                (void)fprintf(f, "zone zone-%c egress=0.02\n", 'a' + z);
        for (int z = 0; z < ZONES; z++)
                (void)fprintf(f,
                        "offer zone-%c/v100 price=%d.%02d\noffer zone-%c/v100/spot price=0.97 capacity=2 notice=2m\n",
                        'a' + z, ON_DEMAND_CENTS / 100, ON_DEMAND_CENTS % 100, 'a' + z);
}

static void step(FILE *f, uint64_t *state, struct pool *p, int z, int64_t minute, bool drought)
{
        bool up = p->up;

        if (drought)
                up = false;
        else if (dice(state, up ? 54 : 8) == 0 || !p->up)
                up = p->up ? false : dice(state, 6) == 0;
        if (up != p->up) /* not all of them in the same minute */
                (void)fprintf(f, "%lldm zone-%c/v100/spot capacity %d\n", (long long)minute + z, 'a' + z, up ? 2 : 0);
        p->up = up;
        if (dice(state, 18) != 0)
                return;
        p->cents = 55 + (int64_t)dice(state, 110);
        (void)fprintf(f, "%lldm zone-%c/v100/spot price %lld.%02lld\n", (long long)minute + z, 'a' + z,
                (long long)(p->cents / 100), (long long)(p->cents % 100));
}

int try_demo_market(uint64_t seed, int64_t span_us, char *path, size_t n, struct pd_error *err)
{
        uint64_t state = seed * UINT64_C(0xd6e8feb86659fd93) + 1;
        struct pool pools[ZONES];
        int64_t dry = 5 * 60 + (int64_t)dice(&state, 4 * 60);
        int fd = memfd_create("market", 0);
        FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

        if (!f)
                return pd_fail(err, PD_E_IO, "a market in memory: %s", strerror(errno));
        head(f);
        for (int z = 0; z < ZONES; z++)
                pools[z] = (struct pool){ .up = true, .cents = 97 };
        for (int64_t m = STEP_MINUTES; m < span_us / USEC_PER_MIN; m += STEP_MINUTES)
                for (int z = 0; z < ZONES; z++)
                        step(f, &state, &pools[z], z, m, m >= dry && m < dry + 100);
        if (fflush(f) != 0)
                return pd_fail(err, PD_E_IO, "a market in memory: %s", strerror(errno));
        (void)str_format(path, n, "/proc/self/fd/%d", fd); /* open until the program ends */
        return 0;
}
