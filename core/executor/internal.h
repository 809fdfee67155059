/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's own files share. One struct engine owns all of it; nothing here is seen outside of core/executor.
 *
 * The path of an event: turn_new() -> job_change(), intent_open(), decide_*() ... -> turn_end(). Everything that a turn changed is one store
 * transaction; what it wants to send or answer (struct effect) runs when that transaction is on disk. */
#ifndef EXECUTOR_INTERNAL_H
#define EXECUTOR_INTERNAL_H

#include <portald/provider.h>

#include "base/id.h"
#include "base/vec.h"
#include "executor/engine.h"
#include "executor/tell.h"
#include "market/market.h"
#include "placement/placement.h"
#include "policy/policy.h"
#include "spec/spec.h"

#define REQUEST_TIMEOUT_US (30 * USEC_PER_SEC) /* an answer of a runner to a thing it only has to note down */
#define PLUGIN_TIMEOUT_US (60 * USEC_PER_SEC)
#define OFFERS_EVERY_US (10 * USEC_PER_MIN)
#define RETRY_FIRST_US (10 * USEC_PER_MIN) /* P-25: a refused save, doubling to ... */
#define RETRY_MAX_US USEC_PER_HOUR
#define PLACE_RETRY_US (10 * USEC_PER_SEC) /* a failed placement, doubling to ... */
#define PLACE_RETRY_MAX_US (10 * USEC_PER_MIN)
#define REVIEW_MAX_US USEC_PER_HOUR /* a clock may step: no deadline is trusted for longer unseen */
#define SAMPLES 40

struct connection;
struct mach;

/* One reading of a running job, thinned so that SAMPLES of them span the idle window. */
struct sample {
        int64_t at_wall_us;
        int64_t cpu_us;
};

/* A stretch of checks that all said the same: one row in explain instead of one a check. */
struct stretch {
        const char *policy;
        char why[200], margin[96];
        int64_t margin_nano; /* how far the best of its looks was from the terms; INT64_MAX = it was no look */
        int64_t first_wall_us, last_wall_us, count, written_wall_us;
};

/* Of the market's index, for one job: good while its epoch and sizes are. */
struct looks_class {
        uint32_t epoch, id;
        int32_t cpu_milli;
        uint64_t memory_bytes;
};

/* What only a job with a machine has. */
struct live {
        struct mach *machine;
        struct settings settings;
        char name[65], capture[33];
        bool pinned;
        uint64_t seq;       /* newest placement state seen            */
        bool seen;          /* its runner has shown it since our start */
        uint64_t other_seq; /* newest state seen of the placement that is held on the other machine; 0 = none yet */
        int32_t pid;
        int64_t container_wall_us; /* 0 = no container yet                   */
        struct sample samples[SAMPLES];
        size_t samples_n;
        int64_t cpu_us, memory_bytes, memory_peak_bytes, measured_wall_us; /* -1 = not measured */
        int64_t progress_seq, log_bytes;
        int64_t progress_wall_us; /* -1 = nothing seen since the container's start or ours */
        bool ever_reported;
        char progress[65];
        struct stretch stretches[POLICY_N];
        uint32_t warned; /* a bit a policy: its owner knows */
        uint32_t refusals;
        enum job_cause refused_cause;
        struct placement_need need;    /* as asked; its texts are not set: on[] and capture[] are these  */
        char on[PLACEMENT_NAME_MAX];   /* "" = anywhere                                                  */
        struct looks_class classes[2]; /* spot, on demand                                                */
        int64_t looked_wall_us;        /* last look of return or cheaper; 0 = none since our start       */
        int64_t save_us;               /* of save_of, its newest checkpoint                              */
        struct id save_of;
        int32_t peak_cpu_milli; /* of this stay */
        int64_t oom_kills;      /* -1 = not told yet */
        int64_t oom_child_wall_us, oom_reported_wall_us, oom_reports;
        int64_t memory_used_bytes;   /* without what the kernel can drop at once */
        int32_t memory_stalled;      /* hundredths of a percent */
        struct id notice_checkpoint; /* what its standing orders save a notice under; null = not known any more */
        struct mach *other;          /* of a move: it takes room there, too; NULL = none */
        struct move_reason { /* of a policy's move that is not handed over yet; a restart forgets it, and the move with it */
                const char *policy; /* NULL = not known */
                enum job_cause cause;
                uint64_t offer_key;
                int64_t left_rate_nano, cost_nano; /* 0 = not known */
                int32_t cpu_milli;                 /* P-14; 0 = as it is */
                uint64_t memory_bytes;
        } reason;
        json_t *held; /* of a move: the source stands still, and its target is out of reach for the moment; NULL = not */
        int64_t held_boot_us;
        bool termed; /* P-25: SIGTERM was ordered */
};

struct entry {
        struct job job;
        struct live *live;                     /* NULL = no machine */
        int64_t due_boot_us;                   /* next look at it; INT64_MAX = none */
        size_t heap_at;                        /* its place in the heap of due times + 1; 0 = not in it */
        struct entry *queue_next, *queue_prev; /* jobs that wait for a place, oldest first */
        bool queued;
        uint8_t looks; /* at the offers that found none, in a row: the next one comes later */
};

struct op { /* an open intent */
        struct op *next, *prev;
        struct engine *engine;
        struct intent intent;
        json_t *body;
        bool sent;   /* its call is under way */
        bool replay; /* from before our start, or its outcome is unknown: to be sent once its machine has been listed */
        /* of a provider's call, rent_watch.c */
        bool looking;            /* its token is being looked for                                            */
        int64_t due_boot_us;     /* sent, or looked for, again; 0 = at the next chance                       */
        int64_t wait_us;         /* ... with back-off                                                        */
        int64_t unknown_boot_us; /* since when its outcome is unknown; 0 = it is not                         */
};

enum conn_state { CONN_DOWN, CONN_RECONCILING, CONN_READY };

struct connection {
        struct engine *engine;
        char name[49], provider[49];
        struct env_plugin *plugin;
        struct pd_provider_caps caps;
        json_t *offers; /* as host.h gives pd_offer */
        int64_t offers_wall_us;
        enum conn_state state;
        char why[256];
        bool removed;
        struct env_timer *retry;
        int64_t retry_us;
        json_t *options;
        char plugin_path[512];
        bool in_process;
        /* of one that rents, rent_watch.c */
        struct env_timer *watch;
        bool listing, reconciled; /* reconciled: listed whole since our start, or since it came into the site  */
        bool calm;                /* a gap lies behind us: no ends by the clock before it was listed once more */
        int64_t list_boot_us;     /* listed next                                                               */
        int64_t list_wait_us;     /* ... with back-off after a failed list                                     */
        VEC(struct orphan) orphans;
};

/* Carries our tag and is not in the store: ended when it was seen in two lists (law 9). */
struct orphan {
        char provider_id[257];
        uint32_t looks;
        int64_t first_boot_us; /* of the first of them */
        bool seen;             /* in the list that is being read */
};

struct mach {
        struct machine rec;
        struct connection *conn; /* NULL: its connection is not in the site any more */
        struct engine *engine;
        struct env_stream *stream;
        bool up; /* hello and list are done */
        char why[256];
        json_t *caps; /* hello's, NULL before the first */
        char boot_id[40];
        int64_t renewed_wall_us; /* lease last read back */
        struct {
                int64_t cpu_milli, memory_bytes, gpus;
        } taken;                 /* by the jobs that are live on it: live_new(), live_at(), live_free() */
        struct env_timer *again; /* lists it anew while its stream is up: an answer was missing */
        int64_t again_us;
        /* the runner's boot clock is this much ahead of ours */
        bool boot_known;
        int64_t boot_ahead_us;
        /* of a rented one; boot times of ours */
        bool orphan;        /* found there, and not in the store                                  */
        bool asking;        /* a describe or notice call is under way                             */
        bool made;          /* by this process: since_boot_us is its launch                       */
        bool was_up;        /* its runner was heard since it was made, or since our start         */
        bool billed;        /* bill_nano is what its provider billed, all of it */
        uint8_t bill_asked; /* so often in vain */
        int64_t bill_nano;
        bool listed;            /* in the list that is being read                                     */
        int64_t alive_wall_us;  /* last described as not gone                                         */
        int64_t renew_boot_us;  /* a renewal that failed is tried again then                          */
        int64_t renew_wait_us;  /* ... with back-off                                                  */
        uint8_t seen_state;     /* as the provider said last; rec.state is STOPPING from our end on   */
        uint8_t reason;         /* enum pd_machine_reason, as said last                               */
        int64_t since_boot_us;  /* its launch, or our start                                           */
        int64_t absent_boot_us; /* first whole list without it; 0 = it was in the last one            */
        int64_t notice_boot_us; /* asked for a notice next                                            */
        int64_t end_boot_us;    /* its end was accepted then; 0 = not yet                             */
        int64_t end_wait_us;    /* ... and is asked for again after this                              */
        int64_t told_wall_us;   /* the hard stop that its runner was told last; 0 = none              */
        int64_t stop_boot_us;   /* its latest possible hard stop, as seen when that was asked for     */
        int64_t asked_boot_us;  /* ... and when it was                                                */
};

struct waiter { /* an API request that wants the outcome of an act */
        struct waiter *next;
        struct engine_ticket *ticket;
        struct id job;
        bool (*settled)(const struct entry *en, const struct job *j);
};

struct engine_ticket {
        struct engine_ticket *next, *prev; /* all that are not answered yet */
        struct engine *engine;
        engine_reply_fn reply; /* NULL = the asker has gone */
        void *arg;
        struct engine_actor actor;
        char *user;
        struct id job;
        struct env_timer *timer; /* of a wait */
        bool *freed;             /* set when it is answered before engine_request() returns */
        json_t *hold;            /* what a verb keeps across its callbacks */
};

struct engine_watch {
        struct engine_watch *next;
        struct engine *engine;
        engine_watch_fn fn;
        void *arg;
};

struct pending_key { /* an idempotency key that is not on disk yet */
        struct pending_key *next;
        uint32_t uid;
        char key[65], digest[65];
        struct id job;
};

struct engine {
        struct env *env;
        const struct engine_site *site;
        struct entry **slots; /* open addressing by id */
        size_t slots_n, entries_n;
        VEC(struct entry *) heap;
        struct entry *queue_first, *queue_last;
        size_t queue_n;
        struct op *ops;
        VEC(struct connection *) connections;
        VEC(struct mach *) machines;
        struct env_timer *tick; /* the one timer of all jobs */
        struct env_timer *lease_timer;
        struct env_timer *place_timer;
        struct env_timer *prune_timer;
        struct engine_watch *watches;
        struct waiter *waiters;
        struct engine_ticket *tickets;
        struct pending_key *keys;
        int64_t started_wall_us;
        int64_t wall_ahead_us; /* of the boot clock; a jump in it is a step of the wall clock */
        bool stopping, broken, place_wanted;
        struct books *money;         /* money.c  */
        struct offers_known *offers; /* offers.c */
        json_t *prices;              /* prices.c */
        struct settings built_in;    /* what settings are where nobody says anything */
};

/* --- clock.c --- */
void clock_watch(struct engine *e);

/* --- turn.c: one event, one transaction --- */
struct turn {
        struct engine *engine;
        struct txn *txn;
        struct effect *first, *last;
        int64_t now_wall_us;
        json_t *evidence; /* of the next decision that brings none of its own; owned */
};
struct turn *turn_new(struct engine *e);
/* Runs fn(engine, arg) once the turn is on disk; drop(arg) instead when it never will be (NULL: nothing to free). */
void turn_after(struct turn *t, void (*fn)(struct engine *e, void *arg), void (*drop)(void *arg), void *arg);
void turn_end(struct turn *t);

/* --- jobs.c: the hot table, the heap of due times, the queue --- */
struct entry *jobs_add(struct engine *e, const struct job *j); /* NULL = no memory */
struct entry *jobs_find(const struct engine *e, struct id id);
void jobs_remove(struct engine *e, struct entry *en);
void jobs_free(struct engine *e);
void jobs_due(struct engine *e, struct entry *en, int64_t due_boot_us);
void jobs_due_wall(struct engine *e, struct entry *en, int64_t due_wall_us);
struct entry *jobs_next_due(struct engine *e, int64_t now_boot_us); /* and takes it out of the heap */
void jobs_arm(struct engine *e);
void jobs_queue(struct engine *e, struct entry *en, bool queued);
/* A change of a job: checked against life.h (an edge that is not there is logged and refused: false), recorded, told to watchers and waiters. */
bool job_change(struct turn *t, struct entry *en, struct job after, enum job_event event, const struct job_doc *doc,
        const char *message);
/* The same without an edge (a counter, an operation's fields). */
void job_touch(struct turn *t, struct entry *en, struct job after, const struct job_doc *doc);
struct live *live_new(struct entry *en, struct mach *m);
void live_at(struct entry *en,
        struct mach *m); /* it is on another machine from now on; the only way to change live->machine */
void live_other(struct entry *en, struct mach *m); /* the other machine of its move; NULL = none any more */
void live_free(struct entry *en);
/* Spec and settings as the store has them. */
int job_load_spec(struct engine *e, struct id id, struct spec **ret_spec, struct settings *ret_settings,
        json_t **ret_doc, json_t **ret_origins, struct pd_error *err);

/* --- tell.c: when the turn is on disk --- */
void tell(struct turn *t, const struct job *j, enum tell_kind kind, const char *text);
void tell_change(
        struct turn *t, const struct job *before, const struct job *after, enum job_event event, const char *message);
void tell_policies(struct turn *t, struct entry *en, const struct policy_decision all[POLICY_N]);
int64_t tell_next(const struct job *j); /* the next reminder of a job that waits; INT64_MAX = none */
void tell_deadline(struct turn *t, struct entry *en);

/* --- settings.c --- */
/* The five levels of P-23 under the bounds; said: {"file", "flag"}, frozen at submit. admit: refuse by name what is outside of a bound, or locked. */
int settings_of(struct engine *e, const char *project, const json_t *said, bool admit, struct settings *ret,
        json_t **ret_origins, struct pd_error *err);
/* Site config or Settings are new: every job goes by them from now on. */
/* afresh: what the runners were last told is not known (after a start), so they are told again. */
void settings_apply(struct engine *e, bool afresh);
bool settings_are_stale(struct engine *e);
void settings_pending(struct turn *t); /* with a change of Settings: applied again after a death in between */

/* --- intents.c --- */
/* The one function that writes intents. body is given. The call goes out when the turn is on disk. */
struct op *intent_open(
        struct turn *t, enum intent_kind kind, const struct entry *en, const struct mach *m, json_t *body);
void intent_close(struct turn *t, struct op *op, const char *outcome);
struct op *intent_find(const struct engine *e, enum intent_kind kind, struct id job);
struct op *intent_open_as(
        struct turn *t, struct id id, enum intent_kind kind, const struct entry *en, struct id machine, json_t *body);
struct op *intent_of_machine(const struct engine *e, enum intent_kind kind, struct id machine);
void intent_replay(struct engine *e, struct mach *m); /* sends what is open for a machine whose stream came up */
void intent_replay_at(struct engine *e, struct connection *c); /* ... for a provider that has been reconciled  */
void intent_send(struct op *op);
int intent_load(struct engine *e, const struct intent *i);
void intents_free(struct engine *e);
/* A stop that the kill tests use; nothing without PORTALD_TEST_HOOKS. */
void intent_hook(enum intent_kind kind, const char *stage);
/* Bugs planted on purpose, one at a time (PORTALD_PLANT=N), so that the simulated world can show that it finds them. */
enum plant {
        PLANT_NONE,
        PLANT_EFFECTS_FIRST,    /* effects leave before the transaction is on disk   */
        PLANT_START_AGAIN,      /* a start that its job has outlived is sent again   */
        PLANT_CLOCK_STEPS,      /* a step of the wall clock is time that passed      */
        PLANT_DROP_EARLY,       /* the checkpoint of an ended job goes at once       */
        PLANT_RESUME_ITSELF,    /* a job suspended by a notice is queued again       */
        PLANT_TTL_HOT_LOOP,     /* a limit's refused save is tried again at once     */
        PLANT_NO_ASKING_AGAIN,  /* an unanswered request waits for the next connect  */
        PLANT_DOWN_IS_DEAD,     /* a stream that is down counts as a lost machine    */
        PLANT_KEY_FORGOTTEN,    /* an idempotency key is only known while pending    */
        PLANT_TTL_FORGETS,      /* running time of earlier placements does not count */
        PLANT_SAME_GENERATION,  /* a second placement keeps the generation           */
        PLANT_CLOCKS_UNCHECKED, /* waiting jobs are not looked at after a restart    */
        PLANT_NOTICE_UNTOLD,    /* a machine is not told of the notice that a user gives */
        PLANT_SUSPEND_TWICE,    /* a second suspend is a second save                 */
        PLANT_REFUSED_STOPS,    /* a save that is refused stops the job              */
        PLANT_RESUME_FRESH,     /* a resume begins at the beginning                  */
        PLANT_DROP_NEWEST,      /* of two checkpoints the older one is kept          */
        PLANT_STOP_WAITS,       /* a stop while a save goes on is answered, not done */
        PLANT_NO_ORDERS,        /* a runner is not told to save at a notice          */
        PLANT_PRUNED_EARLY,     /* ended jobs go at once                             */
        PLANT_LEASE_UNWRITTEN,  /* a later stop is asked for before it is on disk    */
        PLANT_LEASE_UNREAD,     /* a lease counts as renewed when it is asked for    */
        PLANT_OWN_ENDED,        /* an own machine without a job is ended             */
        PLANT_RELEASE_LEFT,     /* what ended is not released from its machine       */
        PLANT_EVENT_OLD,        /* an event that was overtaken is taken for new      */
        PLANT_QUEUE_FULL_PLACE, /* a machine's room is not looked at                 */
        PLANT_KEEP_FOREVER,     /* a suspended job has no second deadline            */
        PLANT_MACHINE_STAYS,    /* a rented machine without a job is left running    */
        PLANT_LAUNCH_TWICE,     /* a launch without an answer is made again          */
        PLANT_ORPHAN_LEFT,      /* a machine with our tag and no record is left      */
        PLANT_LIST_PROVES,      /* what one list leaves out is gone                  */
        PLANT_COOL_FORGOTTEN,   /* an offer without capacity is tried again at once  */
        PLANT_RECLAIMED_USED,   /* a pool that reclaimed is not left out             */
        PLANT_MOVE_UNCHECKED,   /* a move's terms are not looked at again            */
        PLANT_MOVE_ENDS_EARLY,  /* the source ends before the target runs            */
        PLANT_MOVE_THAWS,       /* the source is thawed when the target has its turn */
        PLANT_MOVE_FENCELESS,   /* a move keeps the generation                       */
        PLANT_MOVE_NO_RETURN,   /* a target that fails takes the job with it         */
        PLANT_MOVE_DEAF,        /* a suspension while a move saves is not done       */
        PLANT_MOVE_LITTER,      /* what is held after a move is left                 */
        PLANT_CAP_UNCHECKED,    /* a machine is made whatever the caps say           */
        PLANT_RENEW_OVER,       /* a renewal is asked for without a reservation      */
        PLANT_HOLD_LEFT,        /* what was reserved for nothing stays reserved      */
        PLANT_BILL_OPEN,        /* a machine's bill goes on after its end            */
        PLANT_STAY_FREE,        /* a stay on an own machine is on no bill            */
        PLANT_N
};
#ifdef PORTALD_TEST_HOOKS
bool planted(enum plant p);
#else
static inline bool planted(enum plant p)
{
        (void)p;
        return false;
}
#endif

/* --- observe.c: what a runner says about a placement --- */
void observe_placement(struct engine *e, struct mach *m, const json_t *placement, bool listed_anew);
void observe_missing(
        struct engine *e, struct mach *m, const json_t *placements); /* jobs that should be there and are not */
void observe_measures(struct engine *e, struct mach *m, const json_t *event);
void save_gave_up(struct turn *t, struct entry *en, const json_t *error, const json_t *values, bool refused);
void start_failed(struct turn *t, struct entry *en, const struct pd_error *why);

/* --- place.c --- */
/* The vault that a job's checkpoints lie in: where its newest one is, else the site's default. scratch holds the name. */
const char *job_vault(struct engine *e, const struct job *j, struct checkpoint *scratch);
/* What was left out of the looks for a while is looked at again: a machine came up, offers or the site changed. */
void place_anew(struct engine *e);
void place_freed(struct engine *e); /* ... a job has left its place */
void live_fill(struct live *l, const struct spec *s, const struct settings *set, const json_t *doc);
void live_take_over(struct live *l, const struct live *from);
int place_start(struct engine *e, struct pd_error *err);
void place_soon(struct engine *e); /* the queue is looked at once this loop turn is over */
json_t *place_plan(
        struct engine *e, const struct spec *spec, const struct settings *s, struct pd_error *err); /* API's PLAN */
void place_waiting(const struct engine *e, const struct job *j, char *buf, size_t n);
/* The runner's `start` for the job as its record is now (generation, restore); NULL = its capture or vault is not in the site's config any more. */
json_t *order_make(struct turn *t, struct entry *en, const struct spec *s, const struct settings *set,
        const json_t *doc, const struct mach *m);
json_t *order_orders(struct turn *t, struct entry *en, const struct settings *s, const struct mach *m);

/* --- check.c --- */
void check_due(struct engine *e);
void check_job(struct engine *e, struct entry *en);
void checkpoint_drop(struct turn *t, struct entry *en, struct id id);
void check_flush(struct turn *t, struct entry *en); /* stretches of inaction go to the store */

#include "executor/gather.h"

/* --- act.c: operations, by policy or by a user --- */
/* user NULL = portald. 0, or the sentence why it cannot be now. */
int act_suspend(struct turn *t, struct entry *en, enum job_cause cause, const char *policy, const char *why,
        const char *user, struct pd_error *err);
int act_stop(struct turn *t, struct entry *en, enum job_cause cause, bool save_first, const char *policy,
        const char *why, const char *user, struct pd_error *err);
int act_kill(struct turn *t, struct entry *en, const char *user,
        struct pd_error *err);                 /* a user's stop without grace, also of one under way */
const char *act_save_mode(enum op_mode mode);  /* as the runner calls it */
json_t *act_save_body(const struct entry *en); /* the runner's `save`, as the job's operation says */
int act_save(struct turn *t, struct entry *en, enum op_mode mode, enum job_cause cause, const char *policy,
        const char *why, const char *user);
/* Does the policy that decided the job's move still want it, to that very offer? On fresh values; why says what the matter is. */
bool check_move_holds(struct engine *e, struct entry *en, char *why, size_t n);
int act_resume(struct turn *t, struct entry *en, const char *user, bool fresh, struct pd_error *err);
void act_end_waiting(struct turn *t, struct entry *en, enum job_cause cause, const char *why);
void act_decision(struct turn *t, struct id job, const char *policy, const char *act, const char *why, json_t *evidence,
        const char *user);
int64_t job_ran_us(const struct engine *e, const struct job *j);

/* --- money.c: the ledger in the engine (N-04, P-07, laws 6 and 7). Each call stores what it changed in the turn's transaction --- */
int money_start(struct engine *e, struct pd_error *err); /* import, the site's caps; after the store is loaded */
int money_site(struct engine *e, struct pd_error *err);  /* caps of a new site; suspends what is over them      */
void money_free(struct engine *e);
/* Before a launch: the worst case of a machine of this offer for this job, up to the latest stop that fits, at most wanted. -PD_E_FULL names the
 * tightest cap with its figures (subject: "cap of connection lab"). */
int money_reserve(struct turn *t, const struct entry *en, struct connection *c, const json_t *offer, struct id machine,
        int64_t wanted_stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err);
void money_found(struct turn *t, struct mach *m);     /* a machine of ours without a hold: a fact              */
void money_cancel(struct turn *t, struct id machine); /* proven that it never was                              */
/* The latest stop up to wanted that fits, reserved; its present stop where no later one does. Only then the provider is asked. */
int64_t money_renew(struct turn *t, struct mach *m, int64_t wanted_stop_wall_us);
void money_price(struct turn *t, struct mach *m, int64_t nano_hour); /* its price from now on                 */
void money_end(struct turn *t, struct mach *m, int64_t end_wall_us); /* the provider confirms: posted, released */
void money_leave(struct turn *t, struct mach *m); /* its job is being suspended or moved off: no more renewals */
int64_t money_ceiling(const struct connection *c, const json_t *offer); /* the most that an hour may come to: the bid */
/* A stay of a job on an own machine that has a price: by its largest share of it. Reserve: before the job is placed or moved there; -PD_E_FULL as
 * money_reserve(). It begins when the container runs, and ends when the job leaves (money_job_changed, which job_change() and job_touch() call). */
int money_stay_reserve(struct turn *t, const struct entry *en, struct mach *m, struct pd_error *err);
void money_job_changed(struct turn *t, struct entry *en, const struct job *before);
void money_clock_stepped(struct engine *e, int64_t by_us);
void money_stay_begin(struct turn *t, struct entry *en);
void money_stay_end(struct turn *t, struct entry *en, int64_t end_wall_us);
/* What the policies need: spent, cap_left, cap_name; the machine's rate for this job. names: 128 bytes that live as long as *j. */
void money_gather(
        struct engine *e, const struct entry *en, struct policy_job *j, struct policy_machine *m, char *names);
void money_check(struct turn *t, struct entry *en);          /* each check: posted up to now                          */
json_t *money_render(struct engine *e, const struct job *j); /* the API's JOB.cost; NULL = nothing was counted      */
/* P-07: may it be resumed with this budget, and (N-04) does any cap let it? -PD_E_FULL with the figures. */
int money_may_resume(struct turn *t, const struct entry *en, const struct settings *s, struct pd_error *err);
void money_job_over(struct engine *e, struct id job); /* it is forgotten: so is its account */

/* --- machines.c, streams.c, leases.c; rent*.c: machines that cost --- */
#include "executor/machines.h"
#include "executor/rent.h"

/* --- prune.c --- */
void prune_due(void *arg);
void prices_prune(struct turn *t);

/* --- render.c: the API's objects --- */
json_t *render_job(struct engine *e, const struct job *j, const json_t *doc);
json_t *render_job_by_id(struct engine *e, struct id id, struct pd_error *err);
json_t *render_machine(struct engine *e, const struct mach *m);
void watch_notify(struct engine *e, struct id job);

/* --- resume.c --- */
int resume_asked(struct turn *t, struct entry *en, const json_t *args, const char *user, struct pd_error *err);

/* --- request.c --- */
void ticket_reply(struct engine_ticket *t, const struct pd_error *err, json_t *body);
void waiters_check(struct engine *e, struct id job);

static inline int64_t now_wall(const struct engine *e)
{
        return e->env->ops->now_wall_us(e->env);
}
static inline int64_t now_boot(const struct engine *e)
{
        return e->env->ops->now_boot_us(e->env);
}
struct id engine_id(struct engine *e);

#include "executor/moves.h"

#endif
