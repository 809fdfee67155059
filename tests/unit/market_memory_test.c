/* SPDX-License-Identifier: Apache-2.0 */
/* An index that runs out of memory at its first, second, third ... allocation says so, and works once there is some. */
#include "alloc_fail.h"
#include "market/market.h"

#include "tap.h"

#define NOW (INT64_C(1796000000) * USEC_PER_SEC)

static const struct market_offer offer = { .connection = "aws",
        .zone = "a",
        .type = "m5",
        .market = PD_MARKET_SPOT,
        .cpu_milli = 1000,
        .price = { .hour = { 30, "USD" }, .at_wall_us = NOW, .max_age_us = 1 } };

/* 0 = all went well, 1 = it was refused as it should and went well afterwards, -1 = neither */
static int sweep(long n)
{
        pd_cleanup(market_freep) struct market *k = NULL;
        struct market_need need = { .cpu_milli = 1000 };
        struct pd_error err = { 0 };
        uint32_t c;
        int r;

        alloc_fail_at(n);
        r = market_new("USD", &offer, 1, 4, NULL, NOW, &k, &err);
        if (r < 0)
                return !k && r == -PD_E_NOMEM && err.text[0] ? 1 : -1;
        (void)market_class(k, &need, &c, &err);
        r = market_build(k, &err);
        if (r < 0 && (r != -PD_E_NOMEM || !err.text[0] || market_build(k, &err) < 0))
                return -1;
        return market_best(k, c) == 0 ? r < 0 : -1;
}

int main(void)
{
        long n = 0;
        int r;

        for (r = 1; r == 1 && n < 100; n++)
                r = sweep(n);
        (void)alloc_end();
        (void)tap_ok(r == 0 && n > 3, "memory failed at each of %ld allocations, and each was survived", n - 1);
        return tap_done();
}
