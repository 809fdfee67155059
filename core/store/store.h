/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers: SQLite (WAL, synchronous=FULL, STRICT tables) on one writer thread, with group commit.
 *
 * The loop builds a struct txn (everything that one event changes), hands it over, and goes on; `done` is called on the loop when the
 * transaction is on disk, in the order of the applies. Nothing may leave the daemon before that (ARCHITECTURE, "How anything
 * happens" 1). A failed apply is fatal to the daemon: done gets err, and every later apply is refused.
 * Each job row that is written must be an edge of spec/life.h (or not change the state); anything else is -PD_E_INTERNAL, nothing written.
 *
 * Reads (get, scan) run on the loop on a connection of their own and see what is committed: all reads of one turn of the loop see one state,
 * at least as new as every done that was called. They are short.
 * Includes base, spec and ledger. Keeps no copy of the hot records: core/executor owns those. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <systemd/sd-event.h>

#include "base/base.h"
#include "base/id.h"
#include "base/js.h"
#include "ledger/ledger.h"
#include "spec/life.h"

/* What the loop keeps in memory for each live job. No pointers: it is copied as it is. */
struct job {
        struct id id;
        uint8_t state, result, cause; /* enum job_state, job_result, job_cause                              */
        uint8_t exit_code, signal;    /* once ended by itself                                               */
        uint8_t op_mode;              /* enum op_mode: the operation at work on it, 0 = none                */
        uint8_t op_cause;             /* enum job_cause                                                     */
        uint8_t flags;                /* enum job_flag                                                      */
        uint32_t uid;
        uint32_t generation; /* of the newest placement; 0 = never placed                          */
        uint32_t tries;      /* failed placements in a row                                         */
        int32_t cpu_milli, gpus;
        uint64_t memory_bytes;
        struct id machine;       /* null = not placed                                                  */
        struct id checkpoint;    /* newest committed; null = none                                      */
        struct id op_checkpoint; /* the one being written                                              */
        int64_t created_wall_us, since_wall_us /* of this state */, term_wall_us /* start of the term */;
        int64_t started_wall_us; /* of the present container; 0 = not running                          */
        int64_t ended_wall_us;
        int64_t ran_us;           /* in this term, of placements that are over                          */
        int64_t ran_before_us;    /* in earlier terms                                                   */
        int64_t ttl_us;           /* as resolved at submit or resume; SETTING_OFF = off                 */
        int64_t ttl_wall_us;      /* clock end of the term while suspended or queued by resume; 0 = none*/
        int64_t expire_wall_us;   /* its checkpoint's end; 0 = none                                     */
        int64_t next_try_wall_us; /* queued: not before; else the next retry of a refused save          */
        /* a move (ARCHITECTURE 5) */
        struct id
                other; /* the move's other machine: the target until it is handed over, then the source; null = none */
        uint32_t other_generation; /* of the placement there; 0 = none yet                              */
        uint8_t move;              /* enum move_phase                                                   */
        uint8_t moves_lost;        /* automatic moves that cost more than they saved                    */
        int64_t moved_wall_us;     /* P-16: last change of machine, a resume included; 0 = never        */
        int64_t left_rate_nano;    /* hourly rate of the machine that the last automatic move left; 0 = none is open */
        int64_t move_cost_nano; /* ... and what that move cost, less all that was spent on the job before this stay */
        uint64_t state_bytes;   /* what a checkpoint would hold, as measured last; 0 = not yet       */
        /* P-14: the most it was measured to use, over all its stays; 0 = not measured */
        int32_t peak_cpu_milli;
        uint32_t peak_memory_mib;
};
static_assert(sizeof(struct job) <= 256, "B-10: a hot record stays small");

enum op_mode {
        OP_NONE,
        OP_SUSPEND,
        OP_STOP_SAVE /* ttl: save, then end */,
        OP_STOP,
        OP_KEEP,
        OP_MOVE /* save, and stand still until the target has proven itself */
};
/* What is on disk of a move. Saved and handed are one transaction: the source writes `held` by itself. */
enum move_phase {
        MOVE_NONE,
        MOVE_TARGET, /* the target is being made ready; the job runs on                                  */
        MOVE_SAVING, /* the source saves, and will hold                                                  */
        MOVE_HANDED, /* the target's generation counts: it restores, the source stands still             */
        MOVE_PROVED, /* the target runs; the source is being released                                    */
        MOVE_BACK,   /* the target is proven ended: the source is thawed under a generation of its own   */
};
enum job_flag {
        JOB_FLAG_FRESH = 1,       /* no restore at the next start though a checkpoint is there                   */
        JOB_FLAG_WARNED = 2,      /* owner was warned about the present trouble                                  */
        JOB_FLAG_RESUMED = 4,     /* queued by resume: keeps both suspension deadlines until its container runs  */
        JOB_FLAG_TOLD_DAY = 8,    /* its owner was told that it ends within 24 h ...                         */
        JOB_FLAG_TOLD_HOURS = 16, /* ... and within 2 h; both of the present deadline                        */
        JOB_FLAG_MOVE_USER = 32,  /* the move under way is a user's: no policy takes it back                 */
};

/* The cold part: on disk only. NULL members of an update keep what is there; strings are copied. */
struct job_doc {
        const char *name, *user, *project;
        const char *spec;     /* canonical JSON text                                        */
        const char *settings; /* JSON: {"file": {...}, "flag": {...}} frozen at submit      */
        const char *offer;    /* CONNECTION/ZONE/TYPE[/spot] of the present or last stay    */
        const char *message;  /* why it is in this state, for a person                      */
        const char *image_digest;
        const char *trouble; /* JSON {"error","values","at_wall_us"} of the last refusal; "" clears */
};

struct machine {
        struct id id;
        uint8_t state;  /* enum pd_machine_state */
        uint8_t lease;  /* enum pd_lease_kind    */
        uint8_t market; /* enum pd_market        */
        uint8_t own;    /* the user's own: never ended by us */
        char connection[49], zone[49], type[65], currency[4];
        char provider_id[257], endpoint[257], token[65];
        int64_t price_nano_hour;
        int64_t created_wall_us, ended_wall_us;
        int64_t stop_sure_wall_us;     /* earliest hard stop read back  */
        int64_t stop_possible_wall_us; /* latest ever asked for         */
        int64_t notice_wall_us;        /* a notice's deadline; 0 = none */
        int64_t ends_wall_us;          /* the provider's fixed limit on its life; 0 = none */
};

/* kind, text. An intent is written before its call and closed with the call's result. */
#define INTENT_KINDS(X)       \
        X(LAUNCH, "launch")   \
        X(START, "start")     \
        X(SAVE, "save")       \
        X(STOP, "stop")       \
        X(RELEASE, "release") \
        X(LEASE, "lease")     \
        X(NOTICE, "notice")   \
        X(DROP, "drop")       \
        X(FORGET, "forget")   \
        X(ORDERS, "orders")   \
        X(END, "end")         \
        X(RENEW, "renew")     \
        X(THAW, "thaw")
#define INTENT_ENUM(name_, text_) INTENT_##name_,
enum intent_kind { INTENT_KINDS(INTENT_ENUM) INTENT_N };
#undef INTENT_ENUM
const char *intent_kind_name(enum intent_kind k);

struct intent {
        struct id id;
        uint8_t kind; /* enum intent_kind */
        uint32_t generation;
        struct id job, machine; /* null where none */
        int64_t opened_wall_us;
        const char *body; /* JSON of the call; borrowed */
};

struct checkpoint {
        struct id id, job;
        uint32_t generation;
        uint8_t dropped; /* its objects are gone, or are being removed */
        uint64_t bytes;
        int64_t wall_us, freeze_us, took_us;
        char capture[33], vault[49];
        char progress[65], image_digest[80];
};

/* What a reservation of the ledger is of, written with it and never changed: its lines say the rest. */
struct store_bill {
        struct id what; /* as the hold's: what + seq of a line is an id that never changes    */
        struct id machine, job;
        uint32_t uid;
        uint8_t kind; /* enum ledger_kind */
        char connection[49], project[65], offer[180], currency[4];
        int64_t from_wall_us;
};

/* What an offer cost from then on, and whether there was one to be had. */
struct store_price {
        int64_t at_wall_us, nano_hour;
        char offer[180], currency[4]; /* CONNECTION/ZONE/TYPE[/spot] */
        bool to_be_had;
};

/* --- one transaction --- */
struct txn;
struct txn *txn_new(void); /* NULL = no memory; adders on it fail softly and store_apply() reports -PD_E_NOMEM */
struct txn *txn_free(struct txn *t);
/* A new job (before NULL, doc complete) or a change. `event` is the edge taken; EVENT_N = no edge, the state is the same. message goes to
 * history (which has edges only) and, where not NULL, replaces the doc's. The row on disk must still be in before's state. */
void txn_job(struct txn *t, const struct job *before, const struct job *after, enum job_event event,
        const struct job_doc *doc, int64_t now_wall_us, const char *message);
void txn_job_remove(struct txn *t, struct id job); /* pruned: all its rows */
void txn_machine(struct txn *t, const struct machine *m);
void txn_intent_open(struct txn *t, const struct intent *i);
void txn_intent_close(
        struct txn *t, struct id id, const char *outcome /* "ok", "CAPACITY: ..." */, int64_t now_wall_us);
void txn_decision(struct txn *t, struct id id, struct id job, int64_t now_wall_us, const char *policy, const char *act,
        const char *why, const json_t *evidence, const char *user /* NULL = portald */);
/* Inaction: one row per stretch; (job, policy, first) is its key, last and count are replaced. */
void txn_interval(struct txn *t, struct id job, const char *policy, const char *why, int64_t first_wall_us,
        int64_t last_wall_us, int64_t count, const char *best_margin);
void txn_checkpoint(struct txn *t, const struct checkpoint *c);
void txn_idempotency(
        struct txn *t, uint32_t uid, const char *key, const char *body_digest, struct id job, int64_t now_wall_us);
void txn_setting(
        struct txn *t, const char *project /* "" = everyone */, const char *key, const char *value /* NULL = unset */);
void txn_meta(struct txn *t, const char *key, const char *value);
/* The rows that a call of the ledger changed, as they stand in it now, and the lines. */
void txn_ledger(struct txn *t, const struct ledger *l, const struct ledger_change *c);
void txn_bill(struct txn *t, const struct store_bill *b); /* with the change that opened its hold */
void txn_bill_prune(struct txn *t, int64_t ended_before_wall_us);
void txn_price(struct txn *t, const struct store_price *p);
/* Those before then, and the oldest where there are more than `most` newer ones. */
void txn_price_prune(struct txn *t, int64_t before_wall_us, int64_t most);
bool txn_is_empty(const struct txn *t);

/* --- the store --- */
struct store;
struct store_options {
        const char *dir;          /* state directory: portald.db, backups, ballast        */
        const char *installation; /* text of the id file beside the config; NULL = absent */
        bool new_installation;    /* allow an empty directory                             */
        uint64_t ballast_bytes;   /* kept free for a full disk; 0 = none                  */
        const char *vfs;          /* SQLite's; NULL = the system's                        */
        bool simulated;           /* no thread: written by store_flush(); synced where vfs is given */
};
/* Opens, upgrades (after a backup beside it), refuses a newer schema, an empty directory without new_installation, and a database of
 * another installation id, each with a sentence that says what to do. The writer thread runs on success. */
int store_open(struct store **ret, sd_event *loop, const struct store_options *options, struct pd_error *err);
struct store *store_close(struct store *s); /* waits for what was applied; returns NULL */
const char *store_installation(const struct store *s);

typedef void (*store_done_fn)(void *arg, const struct pd_error *err); /* err NULL = on disk */
/* Takes t over in every case. done may be NULL, and is called only when this returned 0. -PD_E_FULL: the queue's bound (the caller refuses new
 * work). -PD_E_BUSY, -PD_E_CONFLICT: its idempotency key is being written, or was, by a request that crossed this one: ask store_find_key() again.
 * -PD_E_INTERNAL: a job row that is no edge. None of these breaks the store; any other code is the reason why it is broken. */
int store_apply(struct store *s, struct txn *t, store_done_fn done, void *arg, struct pd_error *err);
/* A simulated store only: writes what was handed over and calls it done, until nothing is left. */
void store_flush(struct store *s);
size_t store_queued(const struct store *s); /* transactions handed over and not yet called back */
/* The disk was full and the ballast is spent: what is under way may finish, new work must be refused. Ends when there is room for it again. */
bool store_is_low(struct store *s);

/* --- reads --- */
/* At start: every job that is not ended (and ended ones whose checkpoint lives), machines not gone, open intents. Negative from a callback stops. */
int store_load(struct store *s, int (*job)(void *arg, const struct job *j),
        int (*machine)(void *arg, const struct machine *m), int (*intent)(void *arg, const struct intent *i), void *arg,
        struct pd_error *err);
int store_get_job(struct store *s, struct id id, struct job *ret, struct pd_error *err); /* -PD_E_NOT_FOUND */
/* The doc's strings as a JSON object {"name","user","project","spec"(object),"settings"(object),"offer","message","image_digest","trouble"}. */
int store_get_doc(struct store *s, struct id id, json_t **ret, struct pd_error *err);
/* Jobs, newest first, with their docs. before: jobs created before this id (null = from the newest). */
struct store_filter {
        struct id before;
        uint32_t uid; /* with only_uid */
        bool only_uid, ended_too;
        const char *name; /* exact; NULL = any */
        size_t limit;     /* at most 1000 */
};
int store_scan_jobs(struct store *s, const struct store_filter *f,
        int (*each)(void *arg, const struct job *j, const json_t *doc), void *arg, struct pd_error *err);
/* Jobs that ended before then, oldest first: what is pruned. */
int store_scan_old(struct store *s, int64_t ended_before_wall_us, size_t limit,
        int (*each)(void *arg, const struct job *j), void *arg, struct pd_error *err);
/* A unique id from what a person typed: a whole id, a name (the newest job of that user with it, live ones first), or a unique prefix of an id.
 * -PD_E_NOT_FOUND, -PD_E_CONFLICT (several: the sentence lists them), -PD_E_PERM (the whole id of another user's job). */
int store_find_job(
        struct store *s, uint32_t uid, bool any_user, const char *text, struct id *ret, struct pd_error *err);
/* Arrays of objects, oldest first. */
int store_history(struct store *s, struct id job, json_t **ret,
        struct pd_error
                *err); /* {"at_wall_us","event","from","to","result","cause","generation","machine","message"} */
int store_decisions(struct store *s, struct id job, int64_t until_wall_us, json_t **ret,
        struct pd_error *
                err); /* {"id","at_wall_us","policy","act","why","evidence","user"} and intervals {"policy","why","first_wall_us","last_wall_us","count","best_margin"} */
int store_checkpoints(struct store *s, struct id job, int (*each)(void *arg, const struct checkpoint *c), void *arg,
        struct pd_error *err);
int store_get_checkpoint(struct store *s, struct id id, struct checkpoint *ret, struct pd_error *err);
/* Idempotency (law 16): *ret_job null = key not used. -PD_E_CONFLICT: used with another body. */
int store_find_key(struct store *s, uint32_t uid, const char *key, const char *body_digest, struct id *ret_job,
        struct pd_error *err);
int store_settings(struct store *s, const char *project, json_t **ret, struct pd_error *err);
/* The ledger as it was stored; -PD_E_CORRUPT: what is there does not add up. */
int store_load_ledger(struct store *s, struct ledger *ret, struct pd_error *err);
/* Lines of bills, each bill's in their order, bills as they began. NULL, null and false leave all in; times: what touches them. */
struct store_bill_filter {
        struct id job;
        const char *connection, *project;
        uint32_t uid; /* with only_uid */
        bool only_uid;
        int64_t from_wall_us, until_wall_us; /* INT64_MIN, INT64_MAX = all */
};
int store_get_bill(struct store *s, struct id what, struct store_bill *ret, struct pd_error *err); /* -PD_E_NOT_FOUND */
int store_scan_bill(struct store *s, const struct store_bill_filter *f,
        int (*each)(void *arg, const struct store_bill *b, const struct ledger_line *line), void *arg,
        struct pd_error *err);
const char *ledger_line_kind_name(enum ledger_line_kind k); /* "time" */
/* Prices after that time, oldest first; those of one time by name. A positive answer of `each` ends it well. */
int store_scan_prices(struct store *s, int64_t after_wall_us, int (*each)(void *arg, const struct store_price *p),
        void *arg, struct pd_error *err);
int store_get_meta(struct store *s, const char *key, char **ret /* NULL = none */, struct pd_error *err);

#endif
