/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger's tests share: a ledger with one connection, project and job, and terms with round figures. */
#ifndef TESTS_LEDGER_COMMON_H
#define TESTS_LEDGER_COMMON_H

#include "ledger/ledger.h"
#include "tap.h"

#define SEC USEC_PER_SEC
#define MIN USEC_PER_MIN
#define HOUR USEC_PER_HOUR
#define T0 (INT64_C(1764547200) * SEC) /* 2025-12-01T00:00:00Z */
#define MONTH (31 * USEC_PER_DAY)
#define UNIT NANO

struct fixture {
        struct ledger l;
        uint32_t account[LEDGER_SCOPE_N];
        struct pd_error err;
        struct ledger_change change;
};

__attribute__((unused)) static void fixture_begin(struct fixture *f)
{
        *f = (struct fixture){ 0 };
        (void)ledger_account(&f->l, LEDGER_CONNECTION, "aws", "USD", &f->account[LEDGER_CONNECTION], NULL, NULL);
        (void)ledger_account(&f->l, LEDGER_PROJECT, "ml", "USD", &f->account[LEDGER_PROJECT], NULL, NULL);
        (void)ledger_account(&f->l, LEDGER_JOB, "job_1", "USD", &f->account[LEDGER_JOB], NULL, NULL);
}

/* 3.6 USD/h is 1 nano a microsecond. */
__attribute__((unused)) static struct ledger_terms fixture_terms(const struct fixture *f)
{
        struct ledger_terms t = {
                .kind = LEDGER_MACHINE, .out_of = LEDGER_NONE, .price_nano_hour = INT64_C(3600000000)
        };

        memcpy(t.account, f->account, sizeof t.account);
        t.ceiling_nano_hour = t.price_nano_hour;
        t.what.b[0] = 1;
        t.job.b[0] = 2;
        return t;
}

__attribute__((unused)) static int fixture_cap(struct fixture *f, enum ledger_scope scope, int64_t nano)
{
        struct ledger_cap cap = { .nano = nano, .from_wall_us = T0, .until_wall_us = T0 + MONTH };

        if (scope == LEDGER_JOB) {
                cap.from_wall_us = INT64_MIN;
                cap.until_wall_us = INT64_MAX;
        }
        return ledger_cap(&f->l, f->account[scope], &cap, &f->change, &f->err);
}

__attribute__((unused)) static const struct ledger_account *fixture_account(
        const struct fixture *f, enum ledger_scope scope)
{
        return ledger_account_at(&f->l, f->account[scope]);
}

__attribute__((unused)) static uint32_t fixture_reserve(struct fixture *f, const struct ledger_terms *t, int64_t stop)
{
        uint32_t hold = LEDGER_NONE;

        (void)ledger_reserve(&f->l, t, T0, stop, &hold, &f->change, &f->err);
        return hold;
}

#endif
