/* SPDX-License-Identifier: Apache-2.0 */
/* Begin and end of a start: the order is checked and written, the chain of launch.c goes on behind the answer. */
#include "runner/start.h"

#include <unistd.h>

#include "base/log.h"
#include "runner/rootfs.h"

static struct start *of(struct chain *c)
{
        return (struct start *)c;
}

static struct start *start_free(struct start *s)
{
        if (!s)
                return NULL;
        image_forget(s->c.job->r, s);
        chain_clear(&s->c);
        sd_event_source_disable_unref(s->sync);
        image_clear(&s->image);
        json_decref(s->manifest);
        json_decref(s->by_runtime);
        (void)safe_close(s->fd);
        free(s);
        return NULL;
}

const char *start_detail(const struct job *j)
{
        return j->chain && j->chain->at < j->chain->n ? j->chain->steps[j->chain->at].name : "";
}

bool start_verifying(const struct job *j)
{
        return j->chain && j->chain->at > START_CONTAINER;
}

static void give_up(struct job *j, const struct pd_error *why)
{
        j->chain = (struct chain *)start_free((struct start *)j->chain);
        j->phase = PHASE_FAILED;
        j->pid = 0;
        job_set_error(j, why);
        j->capture = host_free(j->capture);
        j->vault = host_free(j->vault);
        finish_clean(j);
        job_changed(j);
        log_info("%s could not be started: %s", j->id, why->text);
}

static void on_done(struct chain *c, const struct pd_error *why)
{
        struct job *j = c->job;

        if (why) {
                give_up(j, why);
                return;
        }
        j->chain = (struct chain *)start_free(of(c));
        j->phase = PHASE_RUNNING;
        j->proved = 1;
        job_changed(j);
        if (j->exit) { /* it was that quick */
                finish_exited(j);
                return;
        }
        log_info("%s runs (generation %llu, pid %lld)", j->id, (unsigned long long)j->generation, (long long)j->pid);
        orders_check(j);
}

void start_cancel(struct job *j, const char *cause, const struct pd_error *why)
{
        if (!j->chain)
                return;
        if (cause)
                job_set_cause(j, cause);
        if (why)
                give_up(j, why);
        else
                j->chain = (struct chain *)start_free((struct start *)j->chain);
}

/* The container ended while its start was still going on. If it had been started, it ran: its exit is its result. */
bool start_container_ended(struct job *j)
{
        struct pd_error err;

        if (j->chain->at > START_CONTAINER || js_int(j->exit, "code", 255) < 126) {
                j->chain = (struct chain *)start_free((struct start *)j->chain);
                return false;
        }
        if (j->chain->proc) /* the runtime says in a moment whether it could be started */
                return true;
        (void)pd_fail(&err, PD_E_IO, "the container ended before it had been started");
        give_up(j, &err);
        return true;
}

static void begin_at(struct job *j, size_t at)
{
        struct start *s = calloc(1, sizeof *s);
        struct pd_error err;

        if (!s) {
                (void)pd_fail(&err, PD_E_NOMEM, "no memory for the start");
                job_set_error(j, &err);
                j->phase = PHASE_FAILED;
                job_changed(j);
                return;
        }
        s->c = (struct chain){ .job = j, .steps = start_steps, .n = START_STEPS, .at = at, .done = on_done };
        s->fd = -1;
        j->chain = &s->c;
        chain_begin(&s->c);
}

static int check_order(struct runner *r, const json_t *order, struct pd_error *err)
{
        const char *text;
        struct id id;
        int e = js_need_str(order, "job", &text, err);

        if (e < 0)
                return e;
        if (!id_parse(ID_JOB, text, &id))
                return pd_fail(err, PD_E_INVALID, "\"%.60s\" is no job id", text);
        if (!json_is_array(json_object_get(order, "command")) || !json_is_object(json_object_get(order, "image")))
                return pd_fail(err, PD_E_INVALID, "%s: the order has no \"image\" or no \"command\"", text);
        if (js_int(order, "gpus", 0) > 0)
                return pd_fail(err, PD_E_UNSUPPORTED, "%s asks for %lld GPUs: this runner has none to give", text,
                        (long long)js_int(order, "gpus", 0));
        if (!js_bool(order, "user_ns", true) && r->cfg.user_ns)
                return pd_fail(err, PD_E_PERM,
                        "%s asks to be root on the machine (user_ns = false): the site does not allow it", text);
        if (r->vacating)
                return pd_fail(err, PD_E_CAPACITY, "this machine is being shut down: nothing is started on it");
        return 0;
}

static int free_slot(const struct runner *r, int64_t *ret, struct pd_error *err)
{
        for (int64_t slot = 0; slot < r->cfg.uid_ranges; slot++) {
                bool taken = false;

                for (size_t i = 0; i < r->jobs.n && !taken; i++)
                        taken = r->jobs.at[i]->slot == slot && r->jobs.at[i]->order && !r->jobs.at[i]->released;
                if (!taken) {
                        *ret = slot;
                        return 0;
                }
        }
        return pd_fail(err, PD_E_FULL, "all %u id ranges are in use: end or release jobs, or raise runner.uid_ranges",
                r->cfg.uid_ranges);
}

/* A new generation takes over the record; only its log and progress count stay. */
static void renew(struct job *j, uint64_t generation, json_t *order)
{
        j->capture = host_free(j->capture);
        j->vault = host_free(j->vault);
        json_decref(j->order);
        json_decref(j->save);
        json_decref(j->exit);
        json_decref(j->error);
        j->order = order;
        j->save = j->exit = j->error = NULL;
        j->generation = generation;
        j->home = (int64_t)generation;
        j->phase = PHASE_PREPARING;
        j->released = false;
        j->pid = j->pid_start = j->monitor_pid = j->monitor_start = 0;
        j->started_wall_us = j->started_boot_us = j->frozen_boot_us = j->still_us = j->ran_us = 0;
        j->ttl_from_us = j->notice_wall_us = j->notice_boot_us = j->kill_boot_us = j->thawing = j->proved = 0;
        j->letting_go = false;
        j->cause[0] = j->notice_source[0] = j->image_digest[0] = 0;
        j->memory_peak = 0;
        j->orders_done = 0;
        (void)str_format(j->boot_id, sizeof j->boot_id, "%s", j->r->boot_id);
}

static int count_live(const struct runner *r)
{
        int n = 0;

        for (size_t i = 0; i < r->jobs.n; i++)
                n += job_live(r->jobs.at[i]);
        return n;
}

/* A record where there is none, and an id range in any case. */
static int take_place(struct runner *r, const json_t *order, struct job **job, struct pd_error *err)
{
        const char *id = js_str(order, "job", "");
        int64_t slot = 0;
        int e;

        if (count_live(r) >= RUNNER_LIVE_MAX || (!*job && r->jobs.n >= RUNNER_JOBS_MAX))
                return pd_fail(err, PD_E_FULL, "this machine runs %d jobs and knows %zu: the limits are %d and %d",
                        count_live(r), r->jobs.n, RUNNER_LIVE_MAX, RUNNER_JOBS_MAX);
        if ((e = free_slot(r, &slot, err)) < 0 || (!*job && (e = job_new(r, id, job, err)) < 0))
                return e;
        (*job)->slot = slot;
        return 0;
}

int start_job(struct runner *r, const json_t *order, uint64_t generation, struct job **ret, struct pd_error *err)
{
        js_owned *copy = json_deep_copy(order);
        struct job *j = NULL;
        bool fresh;
        int e;

        if ((e = check_order(r, order, err)) < 0)
                return e;
        j = job_find(r, js_str(order, "job", ""));
        fresh = !j;
        if (j && generation == j->generation) { /* told twice */
                *ret = j;
                return 0;
        }
        if (j && job_live(j))
                return pd_fail(err, PD_E_CONFLICT, "generation %llu of %s is still %s here",
                        (unsigned long long)j->generation, j->id, phase_text(j->phase));
        /* its vault is at work on an older checkpoint: that ends first, or its objects would stay for ever */
        if (j && j->dropping)
                return pd_fail(err, PD_E_BUSY, "an older checkpoint of %s is just being removed", j->id);
        if (j && !j->released && (e = finish_release(j, true, err)) < 0)
                return e;
        if (!copy)
                return pd_fail(err, PD_E_NOMEM, "no memory for the order");
        e = take_place(r, order, &j, err);
        if (e < 0 || !j)
                return e;
        renew(j, generation, pd_steal(copy));
        if ((e = start_own_dir(j, strdup(j->dir), 0710, 0, job_id_base(j), err)) < 0 ||
                (e = job_store_order(j, err)) < 0) {
                if (fresh)
                        (void)job_free(j);
                else if (err)
                        give_up(j, err); /* not left in `preparing` for ever */
                return e;
        }
        job_changed(j);
        begin_at(j, 0);
        *ret = j;
        return 0;
}

static void clean_half_made(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *dir = job_gen(j, "");
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", j->r->cfg.state_dir);
        struct pd_error err;

        if (!unit || !dir || !root)
                return;
        cgroup_kill(&j->r->cg, unit, "");
        rootfs_umount(dir);
        if (runtime_delete_now(j->r, unit, &err) < 0)
                log_debug("%s: %s", j->id, err.text);
        cgroup_remove(&j->r->cg, unit);
        if (disk_rmtree(dir, &err) < 0)
                log_warning("%s", err.text);
        j->pid = j->pid_start = j->monitor_pid = j->monitor_start = 0;
}

/* What was being prepared when the runner died: not started yet = begins again; created or started = goes on from there. */
void start_resume_after_restart(struct job *j)
{
        struct pd_error err;
        char status[32];

        if (j->started_boot_us == 0) {
                clean_half_made(j);
                begin_at(j, 0);
                return;
        }
        if (runtime_status(j, status, sizeof status, &err) < 0)
                (void)str_format(status, sizeof status, "stopped");
        if (streq(status, "created")) {
                begin_at(j, START_CONTAINER);
                return;
        }
        measure_watch_progress(j);
        if (monitor_watch(j, &err) < 0)
                log_error("%s", err.text);
        begin_at(j, START_CONTAINER + 1); /* verify where it is a restore; else running at once */
}
