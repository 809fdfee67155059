/* SPDX-License-Identifier: Apache-2.0 */
/* Any billing sink: what it must take, whatever it does with it. */
#include "suite.h"

static json_t *usage(const char *id, const char *currency, int64_t amount)
{
        return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:I,s:I,s:I,s:I,s:s,s:s,s:{s:s,s:s}}", "id", id, "job", "job_1",
                "project", "ada", "user", "ada", "offer", "lab/here/small", "machine", "m-1", "generation", 3,
                "from_wall_us", (json_int_t)1900000000000000, "to_wall_us", (json_int_t)1900000060000000,
                "price_nano_hour", (json_int_t)350000000, "amount_nano", (json_int_t)amount, "currency", currency,
                "plan", "", "tags", "z", "\"quoted\"\n", "a", "\xc3\xa9");
}

static void run(struct suite *s)
{
        struct reply r = { 0 };

        (void)suite_call(s, &r, "probe", NULL, NULL);
        suite_is(s, &r, PD_OK, "probe() of a fresh sink");
        (void)suite_call(s, &r, "record", usage("u-1", "EUR", 5833334), "u-1");
        suite_is(s, &r, PD_OK, "takes a record, with tags that need care");
        (void)suite_call(s, &r, "record", usage("u-1", "EUR", 5833334), "u-1");
        suite_is(s, &r, PD_OK, "takes the same record again");
        (void)suite_call(s, &r, "record", usage("u-2", "JPY", INT64_MAX), "u-2");
        suite_is(s, &r, PD_OK, "takes the largest amount, in another currency");
        (void)suite_call(s, &r, "record", usage("u-3", "EUR", -1), "u-3");
        suite_is(s, &r, PD_OK, "takes a correction below 0");
        (void)suite_call(s, &r, "record", usage("u-4", "EURO", 1), "u-4");
        suite_is(s, &r, PD_E_INVALID, "a currency that does not exist never reaches it");
        if (suite_reopen(s)) {
                (void)suite_call(s, &r, "record", usage("u-5", "EUR", 0), "u-5");
                suite_is(s, &r, PD_OK, "goes on after a restart, with an amount of 0");
                (void)suite_call(s, &r, "probe", NULL, NULL);
                suite_is(s, &r, PD_OK, "probe() of a used sink");
        }
        for (int i = 0; i < 200; i++) {
                char id[32];

                (void)snprintf(id, sizeof id, "m-%d", i);
                if (suite_call(s, &r, "record", usage(id, "EUR", i), id) < 0)
                        break;
        }
        suite_is(s, &r, PD_OK, "takes 200 in a row");
        reply_clear(&r);
}

int main(int argc, char **argv)
{
        return suite_main(argc, argv, PD_KIND_BILLING, run);
}
