/* SPDX-License-Identifier: Apache-2.0 */
/* portal-runner, host mode: starts jobs in OCI containers on this machine, keeps them through its own death, acts on their standing orders.
 * It serves RUNNER.md's protocol. One loop, one thread; what takes long is a child process (proc.h) or a plugin call (host.h).
 *
 * May include base, frame, host, pack, config. Promises: what was answered `ok` is on disk; a kill of the runner at any instant disturbs no
 * container; whatever is told of a job (struct job) is what its files say.
 *
 *   main, serve        the program, the socket and the requests
 *   job, orders        a job's record; its standing orders and clocks
 *   start, launch, restore  image -> layer -> restore -> container: a chain of steps
 *   monitor, finish    the supervisor (conmon) and the end of a container
 *   save, hold         one save, to its commit or its refusal; what stands still after one for a move
 *   logs, measure      what a job wrote and used */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include <limits.h>

#include "base/id.h"
#include "base/vec.h"
#include "frame/conn.h"
#include "host/host.h"
#include "runner/cgroup.h"
#include "runner/io.h"
#include "runner/life.h"
#include "runner/logindex.h"
#include "runner/proc.h"

#define RUNNER_JOBS_MAX 20000 /* known: with those that have ended and are not forgotten */
#define RUNNER_LIVE_MAX 1024
#define RUNNER_CLIENTS_MAX 32
#define GRACE_US (20 * USEC_PER_SEC)
#define SHORT_US (60 * USEC_PER_SEC) /* a runtime call, a supervisor's start */
#define PULL_US (60 * USEC_PER_MIN)  /* an image                            */
#define VERIFY_US (5 * USEC_PER_MIN) /* until a restored job must have taken its state up */
#define SAVE_US (10 * USEC_PER_MIN)  /* where nobody said                   */

struct runner_config {
        char *state_dir, *socket, *socket_group, *runtime, *conmon, *plugin_dir, *plugin_host, *image_store;
        uint32_t client_uid;           /* besides root, who may command                                        */
        uint32_t uid_base, uid_ranges; /* the id ranges on the machine, BUNDLE_IDS each, one a job          */
        json_t *image_roots;           /* array of absolute paths: where oci: and dir: images may lie          */
        bool criu_without_user_ns;     /* jobs with the capture criu have none                                  */
        bool user_ns;                  /* false: the site gives no job a user namespace: root inside is root   */
        bool own_network;              /* jobs get no network but their own loopback                           */
        bool private_cgroup_mount;
        int64_t measure_us;
};

struct runner;
struct chain;
struct saver;

/* One job as this machine knows it: its newest generation. */
struct job {
        struct runner *r;
        char id[ID_TEXT_MAX];
        char *dir;     /* STATE/jobs/ID                                                        */
        json_t *order; /* order.json: as told, with the standing orders as last replaced       */

        /* state.json */
        uint64_t generation, seq;
        int64_t home; /* the generation that its container was made under; a thaw makes it run on under a newer one */
        enum phase phase;
        bool released;
        int64_t pid, pid_start, monitor_pid, monitor_start;
        int64_t started_wall_us, started_boot_us; /* 0 = the container has not started          */
        int64_t frozen_boot_us;                   /* stands still since; 0 = it does not        */
        int64_t still_us;                         /* stood still before, all together           */
        int64_t ran_us;                           /* final, once it ended                       */
        int64_t slot;                             /* its id range, until it is released         */
        int64_t ttl_from_us;                      /* ran_us when ttl_left_us was told           */
        int64_t notice_wall_us, notice_boot_us;   /* its machine's notice; 0 = none             */
        int64_t kill_boot_us;                     /* SIGTERM was sent; the rest at this time    */
        int64_t thawing;                          /* 1: told to run on, not let go by its capture yet */
        int64_t proved;                           /* 1: it was `running` under this generation  */
        int64_t progress_seq;
        char image_digest[80], cause[16], boot_id[40], notice_source[16];
        json_t *save, *exit, *error; /* as in the placement; NULL = null */

        /* in memory only */
        struct chain *chain; /* the start that goes on                                       */
        struct saver *saver;
        struct chain *dropping; /* a checkpoint being removed                                   */
        struct host *capture, *vault;
        struct proc *signal_proc;
        sd_event_source *monitor, *timer, *progress_watch, *log_watch;
        struct logindex log;
        int64_t memory_peak;      /* of our own samples, where the kernel keeps none              */
        uint64_t generation_kept; /* generation and phase as they are on disk; 0 = nothing is   */
        enum phase phase_kept;
        int64_t progress_kept; /* progress_seq as it is on disk                                */
        int64_t oom_reports;   /* of the job itself, in this life of the runner                */
        char progress[256];
        uint32_t orders_done; /* BIT(enum standing): acted on in this life of the runner      */
        bool letting_go;      /* the capture's resume() after a thaw is under way              */
};

struct runtime {
        char *path;
        char name[16], version[48];
        bool checkpoint;
};

struct client {
        struct runner *r;
        struct conn *conn;
        uint32_t uid;
        sd_event_source *closing;
};

struct log_wait {
        struct client *client;
        uint64_t request;
        char job[ID_TEXT_MAX];
        int64_t offset, max, until_boot_us;
        int64_t tail, since_wall_us; /* where to begin instead of offset; -1, 0 = not said */
};

struct runner {
        sd_event *loop;
        struct runner_config cfg;
        struct cgroups cg;
        struct runtime rt;
        bool can_idmap;
        char boot_id[40], machine_id[40];
        json_t *captures, *notes; /* for hello */
        unsigned probing;         /* captures that are being tried */
        VEC(struct job *) jobs;
        VEC(struct client *) clients;
        VEC(struct log_wait) waits;
        VEC(struct pull *) pulls;
        int listen_fd;
        bool own_socket;                    /* made by us: removed at the end */
        int64_t stop_wall_us, stop_boot_us; /* the machine's lease; 0 = none */
        int64_t notice_wall_us;             /* the machine's notice; 0 = none, also after a boot */
        bool loaded;                        /* all jobs are known: what is no job's may be cleared away */
        bool broken;                        /* its records cannot be written: it ends       */
        bool vacating;                      /* the machine shuts down: no new starts */
        sd_event_source *listener, *ticker, *log_timer, *stop_signal[2];
        char installation[ID_TEXT_MAX]; /* whom this runner belongs to, and the newest epoch that it has seen */
        int64_t epoch;
};

/* job.c */
int job_new(struct runner *r, const char *id, struct job **ret, struct pd_error *err);
struct job *job_free(struct job *j);
struct job *job_find(const struct runner *r, const char *id);
int jobs_load(struct runner *r, struct pd_error *err);
int job_store(struct job *j, struct pd_error *err); /* state.json; seq grows */
int job_store_order(struct job *j, struct pd_error *err);
/* Stores and tells the clients. A failed write is fatal to the runner: what it knows must be on disk. */
void job_changed(struct job *j);
json_t *job_placement(const struct job *j);
char *job_file(const struct job *j, const char *name); /* DIR/name; free it                    */
char *job_gen(const struct job *j, const char *name);  /* DIR/gGENERATION[/name]; free it      */
char *job_unit(const struct job *j);                   /* JOB.GENERATION: cgroup and container */
uint32_t job_id_base(const struct job *j);             /* 0 = no user namespace                */
int64_t job_ran_us(const struct job *j);
void job_freeze(struct job *j, bool still);       /* the clock, not the cgroup            */
void job_froze_before(struct job *j, int64_t us); /* ... so much earlier than job_freeze() was told */
bool job_live(const struct job *j);               /* preparing .. held                    */
void job_set_error(struct job *j, const struct pd_error *err);
void job_set_cause(struct job *j, const char *cause);
const json_t *job_orders(const struct job *j);

/* start.c, restore.c: the chain from order to running; ends in running, or in failed with a sentence */
int start_job(struct runner *r, const json_t *order, uint64_t generation, struct job **ret, struct pd_error *err);
void start_cancel(struct job *j, const char *cause, const struct pd_error *why);
void start_resume_after_restart(
        struct job *j); /* what was preparing when the runner died begins again, if nothing runs */
const char *start_detail(const struct job *j); /* the step that goes on, for people */
bool start_verifying(const struct job *j);
bool start_container_ended(struct job *j); /* true: the start deals with it, or waits for the runtime's own words */

/* monitor.c */
int monitor_watch(struct job *j,
        struct pd_error *err); /* of the recorded supervisor; ended already = told at once, from the loop */
int monitor_spawn_argv(struct job *j, const json_t *restore, json_t **ret_argv, struct pd_error *err);
int monitor_read_exit(const struct job *j, json_t **ret, struct pd_error *err);

/* finish.c */
void finish_term(
        struct job *j, const char *cause, int64_t grace_us); /* SIGTERM, at the end of grace the whole cgroup */
void finish_kill(struct job *j);                             /* the cgroup, now */
void finish_exited(struct job *j);                           /* the supervisor is gone: exit code, cleanup, phase */
void finish_clean(struct job *j); /* mounts, cgroup, runtime's record: nothing runs any more */
void finish_ignore(void *arg, const struct pd_error *err, const struct proc_result *result); /* logs */
void finish_sweep(struct runner *r); /* at start, after the jobs were loaded */
void finish_leave(struct runner *r); /* at the end */
int finish_release(struct job *j, bool drop_checkpoint_dir, struct pd_error *err);
int finish_forget(struct job *j, struct pd_error *err);

/* drop.c: answers by itself */
int drop_begin(struct job *j, const char *checkpoint, struct client *c, uint64_t request, struct pd_error *err);

/* save.c */
enum save_mode { SAVE_KEEP, SAVE_MOVE, SAVE_SUSPEND, SAVE_STOP }; /* the later the stronger */
const char *save_mode_text(enum save_mode m);
int save_mode_parse(const char *text, enum save_mode *ret, struct pd_error *err);
/* Begins, joins (same checkpoint), or re-targets a weaker one. */
int save_begin(struct job *j, enum save_mode mode, const char *checkpoint, const char *cause, int64_t deadline_us,
        struct pd_error *err);
void save_abandon(struct job *j, const struct pd_error *why); /* a stop is stronger; or the container ended */
void save_after_restart(struct job *j);
void save_container_ended(struct job *j);
bool save_committed(const struct job *j);
bool save_holds_end(const struct job *j); /* the container has ended, but its save goes on and tells the end */

/* hold.c: saved in mode move, and standing still until it is told what becomes of it */
bool hold_is(const struct job *j);
void hold_after_restart(struct job *j); /* stands still, whatever it did while no runner watched */
int hold_becomes(
        struct job *j, enum save_mode mode, const char *cause, struct pd_error *err); /* a suspension or a stop */
int hold_thaw(struct job *j, uint64_t generation, const json_t *orders, struct pd_error *err);
void hold_let_go(struct job *j); /* what a thaw began, until the capture has let the job go */

/* orders.c */
enum standing { STANDING_TTL, STANDING_NOTICE, STANDING_LEASE, STANDING_LEASE_TERM, STANDING_NOTICE_TERM, STANDING_N };
int64_t orders_grace_us(const struct job *j); /* between SIGTERM and the end */
void orders_check(struct job *j);             /* acts on what is due and sets the timer for the next */
int orders_replace(struct job *j, const json_t *orders, struct pd_error *err);
int orders_notice(
        struct runner *r, int64_t in_us, const char *source, int64_t *ret_deadline_wall_us, struct pd_error *err);
int orders_lease(struct runner *r, int64_t wall_us, int64_t boot_us, struct pd_error *err);
int orders_load(struct runner *r, struct pd_error *err);

/* captures.c */
json_t *capture_container(const struct job *j); /* struct pd_container's members */
int capture_open(struct job *j, const char *which, struct host **slot,
        struct pd_error *err);               /* "capture" or "vault" of the order */
json_t *capture_values(const json_t *items); /* values as the placement has them */
int captures_probe(
        struct runner *r, struct pd_error *err); /* fills r->captures; waits, at most PROBE_US: at the start only */
#define PROBE_US (15 * USEC_PER_SEC)

/* logs.c */
void logs_request(struct client *c, uint64_t request, const json_t *body);
void logs_client_gone(struct runner *r, const struct client *c);
void logs_wake(struct runner *r); /* something was written or ended */
void logs_close(struct runner *r);

/* measure.c */
int measure_open(struct runner *r, struct pd_error *err);
void measure_watch_progress(struct job *j);
int64_t measure_log_bytes(struct job *j);
void progress_read(struct job *j);

/* caps.c */
int runtime_probe(struct runner *r, struct pd_error *err);
/* Both wait for the runtime, at most SHORT_US: only at the runner's start, before it serves. */
int runtime_delete_now(struct runner *r, const char *unit, struct pd_error *err);
int runtime_status(
        const struct job *j, char *ret, size_t n, struct pd_error *err); /* "created", "running", "stopped" */
json_t *caps_hello(struct runner *r);
void caps_note_tools(struct runner *r); /* programs that are missing */
void caps_note(struct runner *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* serve.c */
bool serve_client_there(const struct runner *r, const struct client *c);
int serve_open(struct runner *r, struct pd_error *err);
void serve_event(struct runner *r, uint64_t generation, const json_t *body);
void serve_close(struct runner *r);

/* vacate.c: the client that ExecStop= runs */
int vacate_main(const char *socket);

#endif
