/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine's money share. Of this room only. */
#ifndef EXECUTOR_MONEY_H
#define EXECUTOR_MONEY_H

#include "executor/internal.h"
#include "ledger/ledger.h"

/* A reservation that is open: a rented machine, or a job's stay on an own machine that has a price. */
struct stake {
        uint32_t hold;
        struct id machine, job; /* job: null where the machine was found without one */
        bool stay;
        struct money budget; /* of its job, as the ledger knows it */
};

struct books {
        struct ledger ledger;
        VEC(struct stake) stakes;
        struct env_timer *month;
        int64_t month_ends_wall_us; /* the next end of a capped month; INT64_MAX = none */
};

/* --- money_book.c: the ledger's rows and the stakes --- */
void money_put(struct turn *t, const struct ledger_change *c); /* into the turn's transaction */
struct stake *money_stake_of_machine(const struct engine *e, struct id machine);
struct stake *money_stake_of_stay(const struct engine *e, struct id machine, struct id job);
/* Opens a hold and its bill. r as of ledger_reserve(). */
int money_open(struct turn *t, const struct ledger_terms *terms, const struct store_bill *bill, bool stay,
        int64_t stop_wall_us, struct pd_error *err);
/* bill_nano: the provider's own, for all of it; -1 = not known. */
void money_close(struct turn *t, struct stake *k, int64_t end_wall_us, int64_t bill_nano);
/* Posted up to then, across the ends of months. */
void money_post(struct turn *t, uint32_t hold, int64_t until_wall_us);
int64_t money_unposted(const struct ledger_hold *h, int64_t now_wall_us);
/* The accounts of a job on a connection, made where they are not there. */
int money_accounts(struct turn *t, const char *connection, const char *project, const char *job, const char *currency,
        uint32_t ret[LEDGER_SCOPE_N], struct pd_error *err);

int64_t money_stay_rate(
        const struct mach *m, const struct job *j); /* money.c: an own machine, by the job's largest share */

/* --- money_caps.c --- */
void money_turn_months(struct turn *t);
/* The job's budget becomes the cap of its account in that currency; off takes it away. */
int money_budget(struct turn *t, const char *job, const struct money *budget, struct pd_error *err);
/* Must this machine go for one of its accounts to come under its cap? */
bool money_must_go(const struct engine *e, uint32_t hold, int64_t keep_us);
int64_t money_margin_us(const struct settings *s, const struct connection *c);

#endif
