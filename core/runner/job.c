/* SPDX-License-Identifier: Apache-2.0 */
/* A job's record: what its files say and what clients are told, in one place. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/bundle.h"
#include "runner/runner.h"

/* state.json, member by member. */
#define NUMBERS(X)         \
        X(pid)             \
        X(pid_start)       \
        X(monitor_pid)     \
        X(monitor_start)   \
        X(started_wall_us) \
        X(started_boot_us) \
        X(frozen_boot_us)  \
        X(still_us)        \
        X(ran_us)          \
        X(slot)            \
        X(ttl_from_us) X(notice_wall_us) X(notice_boot_us) X(kill_boot_us) X(progress_seq) X(home) X(thawing) X(proved)
#define TEXTS(X) X(image_digest) X(cause) X(boot_id) X(notice_source)
#define OBJECTS(X) X(save) X(exit) X(error)
#define STATE_VERSION 1

static json_t *to_json(const struct job *j)
{
        json_t *o = json_pack("{s:i, s:I, s:I, s:s, s:b}", "version", STATE_VERSION, "generation",
                (json_int_t)j->generation, "seq", (json_int_t)j->seq, "phase", phase_text(j->phase), "released",
                j->released);

#define PUT_NUMBER(name_) (void)json_object_set_new(o, #name_, json_integer(j->name_));
#define PUT_TEXT(name_) (void)json_object_set_new(o, #name_, json_string(j->name_));
#define PUT_OBJECT(name_) (void)json_object_set(o, #name_, j->name_ ? j->name_ : json_null());
        NUMBERS(PUT_NUMBER)
        TEXTS(PUT_TEXT)
        OBJECTS(PUT_OBJECT)
        return o;
}

static int from_json(struct job *j, const json_t *o, struct pd_error *err)
{
        const char *phase = js_str(o, "phase", "");

        if (js_int(o, "version", 0) != STATE_VERSION)
                return pd_fail(err, PD_E_CORRUPT, "%s/state.json has version %lld, this runner reads %d", j->dir,
                        (long long)js_int(o, "version", 0), STATE_VERSION);
        if (!phase_parse(phase, &j->phase))
                return pd_fail(err, PD_E_CORRUPT, "%s/state.json has an unknown phase \"%s\"", j->dir, phase);
        j->generation = j->generation_kept = (uint64_t)js_int(o, "generation", 0);
        j->phase_kept = j->phase;
        j->seq = (uint64_t)js_int(o, "seq", 0);
        j->released = js_bool(o, "released", false);
#define GET_NUMBER(name_) j->name_ = js_int(o, #name_, 0);
#define GET_TEXT(name_) (void)str_format(j->name_, sizeof j->name_, "%s", js_str(o, #name_, ""));
#define GET_OBJECT(name_)                               \
        if (json_is_object(json_object_get(o, #name_))) \
                j->name_ = json_deep_copy(json_object_get(o, #name_));
        NUMBERS(GET_NUMBER)
        TEXTS(GET_TEXT)
        OBJECTS(GET_OBJECT)
        if (j->home == 0) /* a record of before there were moves */
                j->home = (int64_t)j->generation;
        return 0;
}

char *job_file(const struct job *j, const char *name)
{
        return path_fmt("%s/%s", j->dir, name);
}

char *job_gen(const struct job *j, const char *name)
{
        return path_fmt("%s/g%lld%s%s", j->dir, (long long)j->home, *name ? "/" : "", name);
}

char *job_unit(const struct job *j)
{
        return path_fmt("%s.%lld", j->id, (long long)j->home);
}

uint32_t job_id_base(const struct job *j)
{
        if (!j->r->cfg.user_ns || (j->r->cfg.criu_without_user_ns &&
                                          streq(js_str(json_object_get(j->order, "capture"), "name", ""), "criu")))
                return 0;
        return j->r->cfg.uid_base + (uint32_t)(j->r->can_idmap ? j->slot : 0) * BUNDLE_IDS;
}

const json_t *job_orders(const struct job *j)
{
        return json_object_get(j->order, "orders");
}

bool job_live(const struct job *j)
{
        return j->phase <= PHASE_HELD;
}

/* Ran = from the container's start to its end, less what it stood still, on boot time: suspended machines count, frozen jobs do not. */
int64_t job_ran_us(const struct job *j)
{
        int64_t until = j->frozen_boot_us ? j->frozen_boot_us : now_boot_us();

        if (!job_live(j) || j->started_boot_us == 0)
                return j->ran_us;
        return until - j->started_boot_us - j->still_us;
}

void job_freeze(struct job *j, bool still)
{
        int64_t now = now_boot_us();

        if (still && j->frozen_boot_us == 0)
                j->frozen_boot_us = now;
        if (!still && j->frozen_boot_us) {
                j->still_us += now - j->frozen_boot_us;
                j->frozen_boot_us = 0;
        }
}

void job_froze_before(struct job *j, int64_t us)
{
        if (j->frozen_boot_us && us > 0 && us < j->frozen_boot_us - j->started_boot_us)
                j->frozen_boot_us -= us;
}

void job_set_error(struct job *j, const struct pd_error *err)
{
        json_decref(j->error);
        j->error = js_from_error(err);
}

void job_set_cause(struct job *j, const char *cause)
{
        (void)str_format(j->cause, sizeof j->cause, "%s", cause);
}

static void logindex_start(struct job *j)
{
        logindex_clear(&j->log);
}

int job_new(struct runner *r, const char *id, struct job **ret, struct pd_error *err)
{
        struct job *j = calloc(1, sizeof *j);

        if (!j || !(j->dir = path_fmt("%s/jobs/%s", r->cfg.state_dir, id)) || !vec_push(&r->jobs, j)) {
                if (j)
                        free(j->dir);
                free(j);
                return pd_fail(err, PD_E_NOMEM, "no memory for %s", id);
        }
        j->r = r;
        (void)str_format(j->id, sizeof j->id, "%s", id);
        (void)str_format(j->boot_id, sizeof j->boot_id, "%s", r->boot_id);
        logindex_start(j);
        *ret = j;
        return 0;
}

struct job *job_free(struct job *j)
{
        if (!j)
                return NULL;
        for (size_t i = 0; i < j->r->jobs.n; i++)
                if (j->r->jobs.at[i] == j)
                        vec_swap_remove(&j->r->jobs, i);
        start_cancel(j, NULL, NULL);
        save_abandon(j, NULL);
        j->capture = host_free(j->capture);
        j->vault = host_free(j->vault);
        j->signal_proc = proc_free(j->signal_proc);
        sd_event_source_disable_unref(j->monitor);
        sd_event_source_disable_unref(j->timer);
        sd_event_source_disable_unref(j->progress_watch);
        sd_event_source_disable_unref(j->log_watch);
        logindex_clear(&j->log);
        json_decref(j->order);
        json_decref(j->save);
        json_decref(j->exit);
        json_decref(j->error);
        free(j->dir);
        free(j);
        return NULL;
}

struct job *job_find(const struct runner *r, const char *id)
{
        for (size_t i = 0; i < r->jobs.n; i++)
                if (streq(r->jobs.at[i]->id, id))
                        return r->jobs.at[i];
        return NULL;
}

int job_store(struct job *j, struct pd_error *err)
{
        pd_cleanup(freep) char *path = job_file(j, "state.json");
        js_owned *o = NULL;
        int r;

        if (j->generation_kept ? !phase_may_go(j->phase_kept, j->phase, j->generation != j->generation_kept)
                               : !phase_may_begin(j->phase))
                return pd_fail(err, PD_E_INTERNAL, "from %s (generation %llu) to %s (generation %llu) is no way",
                        phase_text(j->phase_kept), (unsigned long long)j->generation_kept, phase_text(j->phase),
                        (unsigned long long)j->generation);
        j->seq++;
        o = to_json(j);
        r = path && o ? disk_write_json(path, o, err) : pd_fail(err, PD_E_NOMEM, "no memory");
        if (r == 0) {
                j->generation_kept = j->generation;
                j->phase_kept = j->phase;
        }
        return r;
}

int job_store_order(struct job *j, struct pd_error *err)
{
        pd_cleanup(freep) char *path = job_file(j, "order.json");

        return path ? disk_write_json(path, j->order, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

void job_changed(struct job *j)
{
        js_owned *placement = NULL;
        js_owned *event = NULL;
        struct pd_error err;

        if (job_store(j, &err) < 0) { /* containers run on; the next runner reads what was last written */
                log_error("%s: its state cannot be written: %s", j->id, err.text);
                j->r->broken = true; /* nothing is answered `ok` from here on */
                (void)sd_event_exit(j->r->loop, 1);
                return;
        }
        placement = job_placement(j);
        event = json_pack("{s:s, s:O}", "event", "placement", "placement", placement);
        serve_event(j->r, j->generation, event);
        if (!job_live(j))
                logs_wake(j->r);
}

json_t *job_placement(const struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        json_t *o = json_pack("{s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:s, s:s, s:s}", "job", j->id, "generation",
                (json_int_t)j->generation, "seq", (json_int_t)j->seq, "phase", phase_text(j->phase), "pid",
                (json_int_t)(job_live(j) ? j->pid : 0), "started_wall_us", (json_int_t)j->started_wall_us, "ran_us",
                (json_int_t)job_ran_us(j), "container", str_or(unit, ""), "image_digest", j->image_digest, "cause",
                j->cause);

        (void)json_object_set_new(o, "proved", json_boolean(j->proved != 0));
        OBJECTS(PUT_OBJECT)
        if (j->chain && j->phase == PHASE_PREPARING)
                (void)json_object_set_new(o, "detail", json_string(start_detail(j)));
        return o;
}

static int load_one(struct runner *r, const char *id, struct pd_error *err)
{
        pd_cleanup(freep) char *state = path_fmt("%s/jobs/%s/state.json", r->cfg.state_dir, id);
        pd_cleanup(freep) char *order = path_fmt("%s/jobs/%s/order.json", r->cfg.state_dir, id);
        js_owned *s = NULL;
        js_owned *o = NULL;
        struct job *j;
        int e;

        if (!state || !order)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (!disk_exists(state)) { /* a start that was never answered: its order is nobody's */
                pd_cleanup(freep) char *dir = path_fmt("%s/jobs/%s", r->cfg.state_dir, id);

                return dir ? disk_rmtree(dir, err) : pd_fail(err, PD_E_NOMEM, "no memory");
        }
        if ((e = disk_read_json(state, &s, err)) < 0 || (e = disk_read_json(order, &o, err)) < 0 ||
                (e = job_new(r, id, &j, err)) < 0)
                return e;
        j->order = json_incref(o);
        return from_json(j, s, err);
}

int jobs_load(struct runner *r, struct pd_error *err)
{
        pd_cleanup(freep) char *path = path_fmt("%s/jobs", r->cfg.state_dir);
        DIR *d = path ? opendir(path) : NULL;
        struct dirent *e;
        struct id id;
        int result = 0;

        if (!d)
                return pd_fail(err, PD_E_IO, "cannot read %s: %m", path ? path : "the jobs");
        while (result == 0 && (e = readdir(d)))
                if (id_parse(ID_JOB, e->d_name, &id))
                        result = load_one(r, e->d_name, err);
        (void)closedir(d);
        return result;
}
