/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger must say, worked out from the whole history of each machine with integers of 192 bits. Shares no code with the room: it knows
 * neither its header nor its helpers. Sums are kept per machine, and counted from nothing again by oracle_audit(). */
#ifndef TESTS_WORLD_LEDGER_ORACLE_H
#define TESTS_WORLD_LEDGER_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#define ORACLE_SEGMENTS 24
#define ORACLE_FLATS 8
#define ORACLE_MACHINES 96
#define ORACLE_ACCOUNTS 40
#define ORACLE_SCOPES 3

struct oracle_machine {
        bool used, closed, leaving, storage;
        int account[ORACLE_SCOPES]; /* -1 = none */
        int64_t from, stop, minimum, step, lag, ceiling, flat_worst, changes;
        struct {
                int64_t from, until, price;
        } segment[ORACLE_SEGMENTS];
        int segments;
        int64_t extra; /* us billed at the end beyond what it lived */
        struct {
                int64_t at, nano;
        } flat[ORACLE_FLATS];
        int flats;
        int64_t correction;
        int64_t worst;
        int64_t posted, rest, present[ORACLE_SCOPES]; /* of the above, as last counted */
};
struct oracle_account {
        bool used, capped;
        int sibling; /* the same name in another currency, or -1 */
        int64_t cap, start, end;
        int64_t gone_total, gone_present; /* of machines that are forgotten       */
        int64_t lifted;                   /* corrections below nothing, in present */
        int64_t total, present, open;
};
struct oracle {
        struct oracle_machine machine[ORACLE_MACHINES];
        struct oracle_account account[ORACLE_ACCOUNTS];
};

/* ceil(price x us / 1 h). */
int64_t oracle_cost(int64_t price, int64_t us);
/* Time posted on m up to an instant, each segment rounded up; with the extra at its end when that is before `clip`. */
int64_t oracle_time(const struct oracle_machine *m, int64_t clip);
int64_t oracle_other(const struct oracle_machine *m); /* saves, egress and correction */
int64_t oracle_until(const struct oracle_machine *m);
int64_t oracle_extra(const struct oracle_machine *m); /* what minimum and step add to what it lived */
int64_t oracle_worst(const struct oracle_machine *m, int64_t stop);
int64_t oracle_rest(const struct oracle_machine *m, int64_t worst); /* of a worst case, not posted */
int64_t oracle_used(const struct oracle_account *a);
/* Would `more` fit? Else *ret_account is the tightest one, or the one whose currency is barred. */
bool oracle_fits(const struct oracle *o, const int account[ORACLE_SCOPES], int64_t more, int *ret_account);
/* Counts m again, after a change, into its accounts. */
void oracle_count(struct oracle *o, struct oracle_machine *m);
void oracle_corrected(struct oracle *o, struct oracle_machine *m); /* after oracle_count() of a correction */
void oracle_forget(struct oracle *o, struct oracle_machine *m);
void oracle_turn(struct oracle *o, int account, int64_t start, int64_t end);
/* Everything from nothing; the number of sums that differ. */
int oracle_audit(const struct oracle *o);

#endif
