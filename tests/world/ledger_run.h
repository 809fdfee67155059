/* SPDX-License-Identifier: Apache-2.0 */
/* One random run of the ledger: what is kept of it, what is compared after an event, and the disk that a crash leaves. */
#ifndef TESTS_WORLD_LEDGER_RUN_H
#define TESTS_WORLD_LEDGER_RUN_H

#include "ledger/ledger.h"
#include "ledger_oracle.h"

#define CONNECTIONS 3 /* the last one in EUR */
#define PROJECTS 4    /* each in USD and in EUR */
#define JOBS 24
#define FIRST_PROJECT CONNECTIONS
#define FIRST_JOB (FIRST_PROJECT + 2 * PROJECTS)
#define ACCOUNTS (FIRST_JOB + JOBS)
#define PERIOD (30 * USEC_PER_DAY)
#define START (INT64_C(1764547200) * USEC_PER_SEC)

static_assert(ACCOUNTS <= ORACLE_ACCOUNTS, "each has its place");

struct run {
        struct ledger l;
        struct oracle o;
        uint64_t random;
        int64_t now;
        uint32_t id[ACCOUNTS];
        uint32_t hold[ORACLE_MACHINES];
        int64_t lines[ORACLE_MACHINES]; /* sum of each one's bill */
        uint32_t next_seq[ORACLE_MACHINES];
        int64_t changes_left[ORACLE_MACHINES]; /* price changes that the worst case still bears */
        bool loose
                [ORACLE_MACHINES]; /* the world broke its terms: a price above the ceiling, saves beyond the flat part */
        uint32_t jobs_made;
        uint64_t holds_made;
        void (*on_change)(void *arg, const struct ledger *l, const struct ledger_change *c); /* NULL = nobody */
        void *arg;
        /* what the daemon would have on disk */
        struct ledger_account disk_accounts[ACCOUNTS * 2];
        struct ledger_hold disk_holds[ORACLE_MACHINES * 2];
        /* figures */
        long events, near, acts, refused, crashes, over, corrections, turns, bounded;
        long violations, lost, open;
        bool is_near;
        int64_t billed; /* sum of all lines, each machine's proved against the oracle */
        long billed_n;
};

enum run_want { OPEN, OPEN_MACHINE, CLOSED };

void run_begin(struct run *w);
void run_step(struct run *w); /* one event */
void run_end(struct run *w);  /* all that is open ends */

void run_violation(struct run *w, const char *what);
uint64_t run_dice(struct run *w);
int64_t run_below(struct run *w, int64_t n);
bool run_chance(struct run *w, int64_t percent);
int run_machine_of(const struct run *w, uint32_t hold);
void run_write_change(struct run *w, const struct ledger_change *c);
void run_crash(struct run *w);
void run_check_account(struct run *w, int k);
void run_check_act(struct run *w, const struct oracle_account *before);
void run_settle(struct run *w, int k, const struct ledger_change *c);
void run_expect(struct run *w, int got, int want, const char *what);
void run_subject_check(struct run *w, const struct pd_error *err, int account);
int run_pick(struct run *w, enum run_want want);
int run_place(const struct run *w);
int run_machines_on(const struct run *w, int account);
int run_machines_open(const struct run *w);

#endif
