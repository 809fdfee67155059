/* SPDX-License-Identifier: Apache-2.0 */
/* Counts: what may still be spent, what is promised, what was spent, and the bill (N-04, P-07, laws 6 and 7).
 *
 * Values in, values out: no clock, no disk, no log. All memory lies in the arrays of a struct ledger; the records in them are plain values
 * without pointers, which the store keeps as they are. Includes base only. Not for two threads at once.
 *
 * What it promises
 *   - Law 6: no call that is an act of portald (ledger_reserve, ledger_renew) raises spent + open worst cases of any account above its cap;
 *     a call that does not fit changes nothing and names the tightest cap with its figures. Facts (ledger_post, ledger_price, ...) are never
 *     refused for a cap: within the worst case they move money from open to spent and leave the sum as it is; what goes beyond is `over_nano`.
 *   - Law 7: every hold ends by ledger_release or ledger_cancel, and then its lines sum up to its bill, to the nano.
 *   - A segment (a stay at one price) costs ceil(price x its whole time / 1 h); a posting is that less what was posted, so that slicing never
 *     matters. A segment ends at a price change only.
 *   - Sums are int64 nano of one currency, products __int128. What does not fit is -PD_E_INVALID with subject "overflow"; nothing wraps.
 *   - Every call either does all of what it says or changes nothing. Codes: -PD_E_FULL a cap refuses; -PD_E_INVALID a figure is wrong;
 *     -PD_E_NOT_FOUND no such account or hold; -PD_E_CONFLICT its state does not allow that; -PD_E_NOMEM; -PD_E_CORRUPT (import only).
 *
 * Who calls what, when (every call that changes something fills a struct ledger_change: store its records and its lines in the transaction of
 * the event, before anything leaves the daemon; answer or act on `done`):
 *
 *   start of the daemon       ledger_import() of the stored records
 *   site config, reload       ledger_account() + ledger_cap() of each connection (and project) that has a cap; then ledger_over()
 *   a month begins            ledger_cap() with the new boundaries, at the `until_wall_us` of the old: post every open hold of the account up
 *                             to the boundary first. Until then a posting beyond it is -PD_E_CONFLICT.
 *   submit, resume            ledger_account(LEDGER_JOB) + ledger_cap() where the job has a budget (from INT64_MIN to INT64_MAX)
 *   before the create call    ledger_longest_new() where a shorter first stop would do, else as wanted; ledger_reserve(). The target of a move too:
 *                             the source's hold stays open beside it, both count.
 *   create: proven absent     ledger_cancel(): never billed. An unknown outcome keeps its hold until then.
 *   machine found, no hold    ledger_reserve() with terms.found: a fact, so no cap refuses it
 *   before a renewal call     ledger_longest(hold, now + horizon): the latest stop that fits; ledger_renew() to it; only then ask the provider.
 *                             The stop is the *possible* one: latest ever asked for, until disproved. Disproved: ledger_renew() to the earlier one.
 *   every check               ledger_post(now); ledger_left(): suspend when now >= suspend_wall_us (N-04) or >= budget_wall_us (P-07)
 *   price changed             ledger_price(at that instant). Post and price only up to an instant at which the provider had the machine.
 *   save stored, bytes left   ledger_post_flat(): within terms.flat_nano they are covered
 *   suspended on a checkpoint ledger_reserve() of kind LEDGER_STORAGE, stop = the checkpoint's expiry, out_of = the machine's hold: it takes
 *                             what is unused of the flat part along, so that no cap can refuse a suspension. Release it when the object is gone.
 *   suspension begun          ledger_leave(): no more renewals; ledger_over() counts it as going
 *   provider confirms the end ledger_release(end): posts up to it, and up to minimum billing and step; what is left of the worst case is free.
 *                             An end before what was posted is taken back down to the start of the last segment.
 *   provider's own bill known ledger_correct(), after the release and any time before ledger_forget()
 *   all of it stored          ledger_forget(hold): its id may be used again. ledger_account_close() when a job has ended and holds nothing.
 *   cap lowered               ledger_cap(), then ledger_over(): the jobs that must be suspended, newest first
 *   a bill by the hour        ledger_hours() over each segment: its LEDGER_TIME lines, which follow each other at one price, taken together */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "base/base.h"
#include "base/id.h"
#include "base/quantity.h"
#include "base/vec.h"

#define LEDGER_NONE UINT32_MAX
#define LEDGER_KEY_MAX 65
#define LEDGER_IDS_MAX (UINT32_C(1) << 24)     /* accounts, and holds, at a time                 */
#define LEDGER_SPAN_MAX (36500 * USEC_PER_DAY) /* a minimum, step, lag or margin is no longer */

enum ledger_scope { LEDGER_CONNECTION, LEDGER_PROJECT, LEDGER_JOB, LEDGER_SCOPE_N };

/* What is spent and promised by one connection, project or job, in one currency. Stored as it is. */
struct ledger_account {
        uint32_t id;
        uint32_t holds;                      /* not forgotten yet                                              */
        uint8_t scope;                       /* enum ledger_scope                                              */
        bool live, capped;                   /* !live = the place is free                                      */
        char currency[4];                    /* ISO 4217                                                       */
        char key[LEDGER_KEY_MAX];            /* name of the connection or project, id of the job               */
        int64_t cap_nano;                    /* with capped                                                    */
        int64_t from_wall_us, until_wall_us; /* the present period; INT64_MIN .. INT64_MAX = total  */
        int64_t spent_nano;                  /* in the period                                                  */
        int64_t before_nano;                 /* before it: no cap counts it                                    */
        int64_t open_nano;                   /* worst cases of its holds, less what they posted                */
};
/* A cap as it stands now. The boundaries are the caller's: this month's in the cap's zone. */
struct ledger_cap {
        int64_t nano; /* >= 0 */
        int64_t from_wall_us, until_wall_us;
        bool recounted; /* spent_nano holds: the sum of the stored lines of this period, for boundaries that move otherwise */
        int64_t spent_nano; /* than by turning (another zone, month for total, a first cap on an account that was used)         */
};

enum ledger_kind { LEDGER_MACHINE, LEDGER_STORAGE };
enum ledger_state {
        LEDGER_FREE,    /* no hold has this id                 */
        LEDGER_OPEN,    /*                                     */
        LEDGER_LEAVING, /* open, and not renewed any more      */
        LEDGER_CLOSED,  /* released or cancelled: nothing open */
};
/* What a machine (or a stored checkpoint) may cost. Prices per hour. All figures >= 0. */
struct ledger_terms {
        enum ledger_kind kind;
        struct id what, job; /* the machine or checkpoint; the job, null where none                          */
        uint32_t account
                [LEDGER_SCOPE_N];    /* LEDGER_NONE = counted nowhere in that scope                                  */
        uint32_t out_of;             /* hold whose unused flat part this one takes along, or LEDGER_NONE             */
        bool found;                  /* it is there already: a fact, no cap is asked                                 */
        int32_t price_changes;       /* until the next later stop: each may round up by a nano more; 0 = fixed price */
        int64_t price_nano_hour;     /* at the start                                                                 */
        int64_t ceiling_nano_hour;   /* bid if sent, else on-demand for spot; below the price = the price            */
        int64_t minimum_us, step_us; /* billed at least; billed in steps of (0 = by the microsecond)                 */
        int64_t lag_us;              /* from the stop to the end of the bill                                         */
        int64_t flat_nano;           /* save, egress and storage until expiry, at worst                              */
};
/* A reservation: from before the create call until the end is confirmed. Stored as it is. */
struct ledger_hold {
        uint32_t id;
        uint32_t account[LEDGER_SCOPE_N];
        struct id what, job;
        uint8_t kind, state;   /* enum ledger_kind, ledger_state                                    */
        int32_t price_changes; /* as in the terms, and so on                                        */
        uint32_t lines;        /* of the bill, so far                                               */
        int64_t price_nano_hour, ceiling_nano_hour, minimum_us, step_us, lag_us;
        int64_t flat_worst_nano;
        int64_t from_wall_us;    /* the create call                                                 */
        int64_t stop_wall_us;    /* hard stop, the latest possible                                  */
        int64_t segment_wall_us; /* since when the present price holds                              */
        int64_t until_wall_us;   /* posted up to                                                    */
        int64_t segment_nano;    /* posted of the present segment                                   */
        int64_t time_nano;       /* posted for time, this segment included                          */
        int64_t other_nano;      /* posted for all else: save, egress, corrections                  */
        int64_t worst_nano;      /* all of it, at worst, from the start to the end                  */
};

enum ledger_line_kind {
        LEDGER_TIME,     /* from .. until at a price; < 0 when an end turned out to be earlier */
        LEDGER_ROUNDING, /* minimum billing and the billing step, at the end                   */
        LEDGER_SAVE,
        LEDGER_EGRESS,
        LEDGER_CORRECTION, /* to the provider's own bill; may be < 0                             */
};
/* One line of the bill. what + seq is an id that never changes: what a billing sink counts by. */
struct ledger_line {
        enum ledger_line_kind kind;
        uint32_t hold, seq;
        struct id what, job;
        int64_t from_wall_us, until_wall_us;
        int64_t price_nano_hour; /* 0 where no time is billed               */
        int64_t us;              /* time billed; LEDGER_ROUNDING: the extra */
        int64_t nano;
};
/* What a call changed: store ledger_account_at() and ledger_hold_at() of each id (NULL = delete the row), and the lines. */
struct ledger_change {
        uint32_t account[LEDGER_SCOPE_N]; /* LEDGER_NONE = none */
        uint32_t hold[2];
        struct ledger_line line[2];
        size_t lines_n;
        int64_t over_nano; /* posted beyond the worst case: a machine outlived its stop, a price passed its ceiling */
};

struct ledger {
        VEC(struct ledger_account) accounts; /* by id                              */
        VEC(struct ledger_hold) holds;       /* by id                              */
        VEC(uint32_t) order;                 /* live accounts by scope, key, currency */
        VEC(uint32_t) free_accounts;         /* ids; has room for all of them      */
        VEC(uint32_t) free_holds;
};

/* `struct ledger l = { 0 };` is an empty one. */
void ledger_free(struct ledger *l);

/* --- accounts and caps --- */
/* Finds it or makes it, without a cap. Of one key only one currency may have a cap: then reservations in another currency are refused. */
int ledger_account(struct ledger *l, enum ledger_scope scope, const char *key, const char *currency, uint32_t *ret,
        struct ledger_change *change, struct pd_error *err);
const struct ledger_account *ledger_account_at(const struct ledger *l, uint32_t id); /* NULL = not there */
/* Sets, changes or (NULL) removes the cap. A period that begins at or after the end of the present one: the count begins anew. Else, if it was not
 * recounted, what is counted stays counted, and a start before the present one is not taken; the total takes in all that was before. Without a cap
 * all is one period. */
int ledger_cap(struct ledger *l, uint32_t account, const struct ledger_cap *cap, struct ledger_change *change,
        struct pd_error *err);
int ledger_account_close(struct ledger *l, uint32_t account, struct ledger_change *change, struct pd_error *err);
/* cap - spent - open; < 0 = above the cap; INT64_MAX = no cap. */
int64_t ledger_room(const struct ledger_account *a);
/* The account with the least room, the narrower of two, or LEDGER_NONE where no cap is. *ret_room as ledger_room(). */
uint32_t ledger_tightest(const struct ledger *l, const uint32_t account[LEDGER_SCOPE_N], int64_t *ret_room);

/* --- the life of a hold; change may be NULL --- */
/* max(minimum, (stop + lag - from) rounded up to the step) x ceiling + price_changes + flat. */
int ledger_worst(
        const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us, int64_t *ret, struct pd_error *err);
int ledger_reserve(struct ledger *l, const struct ledger_terms *t, int64_t from_wall_us, int64_t stop_wall_us,
        uint32_t *ret, struct ledger_change *change, struct pd_error *err);
/* A new hard stop. The worst case is counted anew: what is posted, and the rest of the time at the ceiling. A stop that is not later never raises
 * it; a later one needs room even where it raises nothing, unless it is free. */
int ledger_renew(
        struct ledger *l, uint32_t hold, int64_t stop_wall_us, struct ledger_change *change, struct pd_error *err);
/* Time up to then at the present price; an earlier instant than the last posts nothing. */
int ledger_post(
        struct ledger *l, uint32_t hold, int64_t until_wall_us, struct ledger_change *change, struct pd_error *err);
/* Posts up to then and begins a segment, unless the price is the same. Above the ceiling it is the ceiling from now on, and the worst case grows. */
int ledger_price(struct ledger *l, uint32_t hold, int64_t at_wall_us, int64_t price_nano_hour,
        struct ledger_change *change, struct pd_error *err);
/* kind: LEDGER_SAVE or LEDGER_EGRESS; nano >= 0. */
int ledger_post_flat(struct ledger *l, uint32_t hold, enum ledger_line_kind kind, int64_t at_wall_us, int64_t nano,
        struct ledger_change *change, struct pd_error *err);
int ledger_leave(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err);
int ledger_release(
        struct ledger *l, uint32_t hold, int64_t end_wall_us, struct ledger_change *change, struct pd_error *err);
/* Only while nothing was posted. */
int ledger_cancel(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err);
/* bill_nano: all of the hold by the provider's own bill, >= 0. Counts in the period that the hold ended in. */
int ledger_correct(
        struct ledger *l, uint32_t hold, int64_t bill_nano, struct ledger_change *change, struct pd_error *err);
int ledger_forget(struct ledger *l, uint32_t hold, struct ledger_change *change, struct pd_error *err);
const struct ledger_hold *ledger_hold_at(const struct ledger *l, uint32_t id); /* NULL = not there */
int64_t ledger_rest(const struct ledger_hold *h); /* of its worst case, not posted; 0 once closed */

/* --- looking ahead --- */
/* The latest stop up to `wanted` that a renewal may have now; its present stop where no later one fits. */
int ledger_longest(
        const struct ledger *l, uint32_t hold, int64_t wanted_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err);
/* The same before the create call. -PD_E_FULL: not even a stop at once would fit. Counts all, as if out_of were none. */
int ledger_longest_new(const struct ledger *l, const struct ledger_terms *t, int64_t from_wall_us,
        int64_t wanted_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err);

struct ledger_margin {
        int64_t save_deadline_us; /* "save.deadline"                                */
        int64_t check_us;         /* to the next check                              */
        int64_t save_us;          /* the measured save: how long it holds the machine */
        int64_t save_nano;        /* ... and what it costs besides                  */
};
struct ledger_left {
        uint32_t account; /* the tightest cap, or LEDGER_NONE                                                   */
        int64_t last_stop_wall_us; /* the latest stop that the caps allow; INT64_MAX = no end in sight                 */
        int64_t suspend_wall_us; /* ... less save deadline, lag and one check; INT64_MAX                             */
        int64_t budget_wall_us;  /* P-07: spent + cost of one check and of the save reaches the job's budget at the
                                    * present price; never before what is posted; INT64_MAX = no budget                */
};
int ledger_left(const struct ledger *l, uint32_t hold, const struct ledger_margin *margin, struct ledger_left *ret,
        struct pd_error *err);

struct ledger_leaver {
        uint32_t hold;
        int64_t from_wall_us;
        int64_t frees_nano; /* what its end gives back, the save and the lag paid */
};
struct ledger_leavers {
        struct ledger_leaver *at; /* vec_free() */
        size_t n, room;
};
/* Machines that must go for the account to come under its cap, the newest first; none while it is under it. Those already leaving count as gone.
 * keep_us: how long one still runs (save deadline). Appends to *list. */
int ledger_over(
        const struct ledger *l, uint32_t account, int64_t keep_us, struct ledger_leavers *list, struct pd_error *err);

/* --- sums --- */
int ledger_cost(int64_t price_nano_hour, int64_t us, int64_t *ret_nano, struct pd_error *err); /* ceil */
int64_t ledger_time_for(int64_t nano, int64_t price_nano_hour); /* floor: us that it buys; INT64_MAX = no end  */
/* ceil(bytes x nano_gib / 2^30): egress, or the hourly price of storage from that of a GiB. */
int ledger_per_gib(uint64_t bytes, int64_t nano_gib, int64_t *ret_nano, struct pd_error *err);
/* nano in n parts by weight, by largest remainder (the earlier of two): the parts sum up to nano. Weights >= 0, not all 0. */
int ledger_split(int64_t nano, const int64_t *weight, size_t n, int64_t *ret, struct pd_error *err);
/* An amount over the hours of UTC that from .. until touches; ret_us and ret_nano have room for ledger_hours_n(). */
size_t ledger_hours_n(int64_t from_wall_us, int64_t until_wall_us);
int ledger_hours(int64_t from_wall_us, int64_t until_wall_us, int64_t nano, int64_t *ret_us, int64_t *ret_nano,
        struct pd_error *err);

/* --- as records --- */
struct ledger_record {
        bool is_hold;
        union {
                struct ledger_account account;
                struct ledger_hold hold;
        };
};
size_t ledger_export_n(const struct ledger *l);
void ledger_export(const struct ledger *l, struct ledger_record *ret);
/* In any order. Refuses what does not add up: an open sum that is not that of the holds, a hold of an account that is not there. */
int ledger_import(const struct ledger_record *records, size_t n, struct ledger *ret, struct pd_error *err);

#endif
