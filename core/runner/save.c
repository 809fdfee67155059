/* SPDX-License-Identifier: Apache-2.0 */
/* One save: the capture saves and leaves the job standing; the cgroup is frozen; payload and layer are packed; both go into the vault, the
 * manifest last. Only when that is stored is the save committed. Then the job runs on (keep), stands still (move: hold.c) or its container is ended
 * (suspend, stop). */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "pack/pack.h"
#include "runner/chain.h"

#define ABORT_US (30 * USEC_PER_SEC)

struct saver {
        struct chain c; /* first */
        enum save_mode mode;
        char checkpoint[ID_TEXT_MAX], cause[16], progress[256];
        int64_t began_boot_us, until_boot_us, put_wall_us;
        bool asked;  /* the capture's save() was called: abort() is due on any failure   */
        bool still;  /* the job stands still                                            */
        bool frozen; /* ... by its cgroup, too                                          */
        bool ended;  /* the container has ended by itself meanwhile                     */
        bool committed;
        struct pack_result payload, layer;
        sd_event_source *deadline;
        int fd;
};

static struct saver *of(struct chain *c)
{
        return (struct saver *)c;
}

static const char *const mode_names[] = { "keep", "move", "suspend", "stop" };

const char *save_mode_text(enum save_mode m)
{
        return mode_names[m];
}

int save_mode_parse(const char *text, enum save_mode *ret, struct pd_error *err)
{
        for (size_t i = 0; i < ARRAY_LEN(mode_names); i++)
                if (streq(text, mode_names[i])) {
                        *ret = (enum save_mode)i;
                        return 0;
                }
        return pd_fail(err, PD_E_INVALID, "mode \"%.40s\" is none of keep, move, suspend, stop", text);
}

static int64_t left_us(const struct saver *s)
{
        int64_t left = s->until_boot_us - now_boot_us();

        return left > 1000 ? left : 1000;
}

/* ---- what the placement says ---- */

static void tell(struct job *j, const char *state)
{
        struct saver *s = j->saver;
        json_t *o = j->save;

        (void)json_object_set_new(o, "mode", json_string(save_mode_text(s->mode)));
        (void)json_object_set_new(o, "cause", json_string(s->cause));
        (void)json_object_set_new(o, "state", json_string(state));
        (void)json_object_set_new(o, "progress", json_string(s->progress));
        (void)json_object_set_new(o, "bytes", json_integer((json_int_t)s->payload.bytes + (json_int_t)s->layer.bytes));
        (void)json_object_set_new(
                o, "state_bytes", json_integer((json_int_t)s->payload.plain_bytes + (json_int_t)s->layer.plain_bytes));
        (void)json_object_set_new(o, "took_us", json_integer(now_boot_us() - s->began_boot_us));
        if (j->frozen_boot_us)
                (void)json_object_set_new(o, "freeze_us", json_integer(now_boot_us() - j->frozen_boot_us));
        (void)json_object_set_new(o, "wall_us", json_integer(now_wall_us()));
}

static json_t *fresh_record(const struct job *j, const struct saver *s)
{
        return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:I, s:[], s:s, s:s, s:s}", "checkpoint",
                s->checkpoint, "mode", save_mode_text(s->mode), "cause", s->cause, "state", "saving", "bytes", 0,
                "progress", "", "took_us", 0, "freeze_us", 0, "wall_us", (json_int_t)now_wall_us(), "values",
                "image_digest", j->image_digest, "capture", js_str(json_object_get(j->order, "capture"), "name", ""),
                "vault", js_str(json_object_get(j->order, "vault"), "name", ""));
}

bool save_committed(const struct job *j)
{
        return streq(js_str(j->save, "state", ""), "committed") && !streq(js_str(j->save, "mode", ""), "keep");
}

bool save_holds_end(const struct job *j)
{
        return j->saver && j->saver->ended && !j->saver->committed;
}

/* ---- steps ---- */

static char *staging(const struct job *j, const char *name)
{
        return path_fmt("%s/staging%s%s", j->dir, *name ? "/" : "", name);
}

static int step_stage(struct chain *c, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = staging(c->job, "");
        pd_cleanup(freep) char *payload = staging(c->job, "payload");
        int r;

        if (!dir || !payload)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = disk_rmtree(dir, err)) < 0 || (r = disk_mkdir(dir, 0700, err)) < 0 ||
                (r = disk_mkdir(payload, 0700, err)) < 0)
                return r;
        return capture_open(c->job, "capture", &c->job->capture, err);
}

static int step_capture(struct chain *c, struct pd_error *err)
{
        struct saver *s = of(c);
        pd_cleanup(freep) char *payload = staging(c->job, "payload");
        js_owned *about = capture_container(c->job);
        int r;

        s->fd = payload ? open(payload, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (s->fd < 0 || !about)
                return pd_fail(err, PD_E_IO, "cannot open the staging directory: %m");
        r = chain_call_host(c, c->job->capture, "save", about, &s->fd, 1, s->checkpoint, left_us(s), err);
        s->asked = r == CHAIN_WAIT;
        return r;
}

static int captured(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        struct saver *s = of(c);
        struct job *j = c->job;

        s->fd = safe_close(s->fd);
        if (json_array_size(c->items) > 0)
                (void)json_object_set_new(j->save, "values", capture_values(c->items));
        if (why) {
                *err = *why;
                if (why->code == PD_E_REFUSED)
                        s->asked = false; /* nothing was harmed, the job runs on: no abort is due */
                return -(int)why->code;
        }
        (void)str_format(s->progress, sizeof s->progress, "%.250s", js_str(c->text, "progress", ""));
        s->still = true;
        job_freeze(j, true);
        job_froze_before(j, strtoll(js_str(c->text, "still_us", "0"), NULL, 10));
        return 0;
}

/* Whatever else runs in the container must not change the layer while it is read. */
static int step_freeze(struct chain *c, struct pd_error *err)
{
        struct saver *s = of(c);
        pd_cleanup(freep) char *unit = job_unit(c->job);
        int r;

        if (s->ended)
                return 0;
        r = unit ? cgroup_freeze(&c->job->r->cg, unit, true, err) : pd_fail(err, PD_E_NOMEM, "no memory");
        if (r < 0 && !cgroup_populated(&c->job->r->cg, unit, "payload"))
                return 0; /* it has just ended */
        s->frozen = r == 0;
        if (r == 0)
                job_changed(c->job);
        return r;
}

static int pack_step(struct chain *c, const char *object, char *dir_owned, bool layer, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = dir_owned;
        pd_cleanup(freep) char *to = staging(c->job, object);
        js_owned *task = json_pack("{s:s, s:s, s:s, s:I, s:b}", "op", "pack", "dir", str_or(dir, ""), "to",
                str_or(to, ""), "id_base", (json_int_t)job_id_base(c->job), "layer", layer);

        if (!dir || !to || !task)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        return chain_run_worker(
                c, task, layer ? "packing the writable layer" : "packing the saved state", left_us(of(c)), err);
}

static int step_pack_payload(struct chain *c, struct pd_error *err)
{
        return pack_step(c, MANIFEST_PAYLOAD, staging(c->job, "payload"), false, err);
}

static int step_pack_layer(struct chain *c, struct pd_error *err)
{
        return pack_step(c, MANIFEST_LAYER, job_gen(c->job, "upper"), true, err);
}

static int packed(struct chain *c, const struct pd_error *why, struct pack_result *ret, struct pd_error *err)
{
        js_owned *o = NULL;
        int r;

        if (why) {
                *err = *why;
                return -(int)why->code;
        }
        if ((r = js_parse(str_or(c->out, ""), strlen(str_or(c->out, "")), &o, err)) < 0)
                return r;
        *ret = (struct pack_result){ .bytes = (uint64_t)js_int(o, "bytes", 0),
                .plain_bytes = (uint64_t)js_int(o, "plain_bytes", 0) };
        (void)str_format(ret->sha256, sizeof ret->sha256, "%s", js_str(o, "sha256", ""));
        return 0;
}

static int payload_packed(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        return packed(c, why, &of(c)->payload, err);
}

static int layer_packed(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        return packed(c, why, &of(c)->layer, err);
}

/* keep: the job need not stand still while its objects travel. */
static int step_thaw(struct chain *c, struct pd_error *err)
{
        struct saver *s = of(c);
        struct job *j = c->job;
        pd_cleanup(freep) char *unit = job_unit(j);
        js_owned *about = capture_container(j);
        int64_t still = j->frozen_boot_us ? now_boot_us() - j->frozen_boot_us : 0;

        (void)json_object_set_new(j->save, "freeze_us", json_integer(still));
        if (s->mode != SAVE_KEEP || s->ended)
                return 0; /* from a thaw on, a stronger wish needs a new save: join() */
        if (s->frozen && unit)
                (void)cgroup_freeze(&j->r->cg, unit, false, NULL);
        s->frozen = false;
        return about ? chain_call_host(c, j->capture, "resume", about, NULL, 0, NULL, ABORT_US, err)
                     : pd_fail(err, PD_E_NOMEM, "no memory");
}

static int let_go(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        struct saver *s = of(c);

        if (why && why->code != PD_E_UNSUPPORTED) {
                *err = *why;
                return -(int)why->code;
        }
        s->asked = s->still = false;
        job_freeze(c->job, false);
        return 0;
}

static int put(struct chain *c, const char *object, uint64_t bytes, const char *tag, struct pd_error *err)
{
        struct saver *s = of(c);
        pd_cleanup(freep) char *file = staging(c->job, object);
        pd_cleanup(freep) char *name = path_fmt("%s/%s/%s", c->job->id, s->checkpoint, object);
        js_owned *args = json_pack("{s:s, s:I}", "name", str_or(name, ""), "bytes", (json_int_t)bytes);
        char token[64];
        int r;

        if (!file || !name || !args || !str_format(token, sizeof token, "%s-%s", s->checkpoint, tag))
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = capture_open(c->job, "vault", &c->job->vault, err)) < 0)
                return r;
        s->fd = safe_close(s->fd);
        s->fd = open(file, O_RDONLY | O_CLOEXEC);
        if (s->fd < 0)
                return pd_fail(err, PD_E_IO, "cannot open %s: %m", file);
        return chain_call_host(c, c->job->vault, "put", args, &s->fd, 1, token, left_us(s), err);
}

static int was_put(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        of(c)->fd = safe_close(of(c)->fd);
        if (!why)
                return 0;
        *err = *why;
        return -(int)why->code;
}

static int step_put_payload(struct chain *c, struct pd_error *err)
{
        return put(c, MANIFEST_PAYLOAD, of(c)->payload.bytes, "payload", err);
}

static int step_put_layer(struct chain *c, struct pd_error *err)
{
        return put(c, MANIFEST_LAYER, of(c)->layer.bytes, "layer", err);
}

static int step_put_manifest(struct chain *c, struct pd_error *err)
{
        struct saver *s = of(c);
        struct job *j = c->job;
        pd_cleanup(freep) char *file = staging(j, "manifest.json");
        js_owned *m = manifest_make(&(struct manifest){ .job = j->id,
                .checkpoint = s->checkpoint,
                .generation = j->generation,
                .capture = js_str(json_object_get(j->order, "capture"), "name", ""),
                .capture_version = host_plugin_version(j->capture),
                .image_ref = js_str(json_object_get(j->order, "image"), "ref", ""),
                .image_digest = j->image_digest,
                .made_wall_us = now_wall_us(),
                .freeze_us = js_int(j->save, "freeze_us", 0),
                .progress = s->progress,
                .runner_version = PORTALD_VERSION,
                .payload = s->payload,
                .layer = s->layer });
        pd_cleanup(freep) char *text = m ? js_dump(m) : NULL;
        int r;

        if (!file || !text)
                return pd_fail(err, PD_E_NOMEM, "no memory for the manifest");
        if ((r = disk_write(file, text, strlen(text), 0600, err)) < 0)
                return r;
        return put(c, "manifest.json", strlen(text), "manifest", err);
}

static const struct chain_step steps[] = {
        { "making room", step_stage, NULL },
        { "saving the job's state", step_capture, captured },
        { "standing still", step_freeze, NULL },
        { "packing the saved state", step_pack_payload, payload_packed },
        { "packing the writable layer", step_pack_layer, layer_packed },
        { "letting the job run on", step_thaw, let_go },
        { "storing the saved state", step_put_payload, was_put },
        { "storing the writable layer", step_put_layer, was_put },
        { "storing the manifest", step_put_manifest, was_put },
};

#define STEP_THAW 5 /* index of "letting the job run on" */

/* ---- the end of it ---- */
static void clear_staging(struct job *j)
{
        pd_cleanup(freep) char *dir = staging(j, "");
        struct pd_error err;

        if (dir && disk_rmtree(dir, &err) < 0)
                log_warning("%s: %s", j->id, err.text);
}

static void saver_free(struct job *j)
{
        struct saver *s = j->saver;

        if (!s)
                return;
        j->saver = NULL;
        chain_clear(&s->c);
        sd_event_source_disable_unref(s->deadline);
        (void)safe_close(s->fd);
        free(s);
}

static void on_aborted(
        void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        (void)arg, (void)ret, (void)items, (void)text;
        if (err && err->code != PD_E_CANCELLED)
                log_warning("a capture could not let its job go: %s", err->text);
}

/* The job runs on as if it had not been asked: the cgroup thaws first, for the capture may need to talk to it. */
static void let_run_on(struct job *j, bool asked)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        js_owned *about = capture_container(j);
        struct pd_error err;

        if (unit)
                (void)cgroup_freeze(&j->r->cg, unit, false, NULL);
        job_freeze(j, false);
        if (asked && about && capture_open(j, "capture", &j->capture, &err) == 0 &&
                host_call(j->capture, "abort", about, NULL, 0, NULL, ABORT_US, on_aborted, NULL, &err) < 0)
                log_warning("%s: %s", j->id, err.text);
}

/* Not committed: refused (values) or failed. In mode stop the plain stop follows; else the job runs on. */
static void save_failed(struct job *j, const struct pd_error *why)
{
        struct saver *s = j->saver;
        bool ended = s->ended, stop = s->mode == SAVE_STOP;
        char cause[sizeof s->cause];

        (void)str_format(cause, sizeof cause, "%s", s->cause);
        tell(j, why->code == PD_E_REFUSED ? "refused" : "failed");
        (void)json_object_set_new(j->save, "error", js_from_error(why));
        log_info("%s: it was not saved (%s): %s", j->id, cause, why->text);
        if (!ended)
                let_run_on(j, s->asked);
        saver_free(j);
        clear_staging(j);
        if (ended) {
                finish_exited(j);
                return;
        }
        j->phase = PHASE_RUNNING;
        job_changed(j);
        if (stop)
                finish_term(j, cause, orders_grace_us(j));
        else
                orders_check(j);
}

static void committed(struct job *j)
{
        struct saver *s = j->saver;
        bool keep = s->mode == SAVE_KEEP, move = s->mode == SAVE_MOVE, ended = s->ended;

        s->committed = true;
        tell(j, "committed");
        log_info("%s: saved as %s (%s), %llu bytes", j->id, s->checkpoint, s->cause,
                (unsigned long long)(s->payload.bytes + s->layer.bytes));
        if (!keep && !move)
                job_set_cause(j, s->cause);
        saver_free(j);
        if (ended) {
                clear_staging(j);
                finish_exited(j);
                return;
        }
        j->phase = keep ? PHASE_RUNNING : PHASE_HELD;
        job_changed(j);
        if (!keep && !move)
                finish_kill(j);
        clear_staging(j);
        if (keep || move)
                orders_check(j);
}

static void on_done(struct chain *c, const struct pd_error *why)
{
        struct job *j = c->job;

        if (why)
                save_failed(j, why);
        else
                committed(j);
}

static int on_deadline(sd_event_source *src, uint64_t usec, void *arg)
{
        struct job *j = arg;
        struct pd_error err;

        (void)src, (void)usec;
        (void)pd_fail(&err, PD_E_DEADLINE,
                "the save had not ended within its %lld s (it was %s): it was given up, the job runs on",
                (long long)((j->saver->until_boot_us - j->saver->began_boot_us) / USEC_PER_SEC),
                j->saver->c.at < ARRAY_LEN(steps) ? steps[j->saver->c.at].name : "at its end");
        save_failed(j, &err);
        return 0;
}

static int set_deadline(struct job *j, int64_t until_boot_us, struct pd_error *err)
{
        struct saver *s = j->saver;
        int r;

        s->until_boot_us = until_boot_us;
        if (s->deadline)
                r = sd_event_source_set_time(s->deadline, (uint64_t)until_boot_us);
        else
                r = sd_event_add_time(
                        j->r->loop, &s->deadline, CLOCK_BOOTTIME, (uint64_t)until_boot_us, 1000, on_deadline, j);
        return r < 0 ? pd_fail(err, PD_E_NOMEM, "no timer for the save") : 0;
}

/* Another wants a save while one goes on: the stronger mode wins, an earlier deadline counts; the checkpoint stays the running one's. */
static int join(struct job *j, enum save_mode mode, const char *checkpoint, const char *cause, int64_t until_boot_us,
        struct pd_error *err)
{
        struct saver *s = j->saver;

        if (streq(cause, "user") && mode <= s->mode && !streq(checkpoint, s->checkpoint))
                return pd_fail(err, PD_E_BUSY, "%s is being saved as %s already (%s)", j->id, s->checkpoint, s->cause);
        if (mode > s->mode && s->c.at >= STEP_THAW && s->mode == SAVE_KEEP) {
                struct pd_error why;

                (void)pd_fail(&why, PD_E_CANCELLED, "a save to %s came before it was stored", save_mode_text(mode));
                save_abandon(j, &why);
                return save_begin(j, mode, checkpoint, cause, until_boot_us - now_boot_us(), err);
        }
        if (until_boot_us < s->until_boot_us)
                (void)set_deadline(j, until_boot_us, NULL);
        if (mode > s->mode) {
                s->mode = mode;
                (void)str_format(s->cause, sizeof s->cause, "%s", cause);
                tell(j, "saving");
                job_changed(j);
        }
        return 0;
}

int save_begin(struct job *j, enum save_mode mode, const char *checkpoint, const char *cause, int64_t span_us,
        struct pd_error *err)
{
        struct saver *s;
        int64_t now = now_boot_us();
        struct id id;
        int r;

        if (streq(js_str(j->save, "checkpoint", ""), checkpoint) && (j->saver == NULL || mode <= j->saver->mode) &&
                (j->saver || (streq(js_str(j->save, "state", ""), "committed") && !(hold_is(j) && mode > SAVE_MOVE))))
                return 0; /* told twice */
        if (hold_is(j) && mode > SAVE_MOVE)
                return hold_becomes(j, mode, cause, err);
        if (j->saver)
                return join(j, mode, checkpoint, cause, now + span_us, err);
        if (j->phase != PHASE_RUNNING || j->kill_boot_us)
                return pd_fail(err, PD_E_CONFLICT, "%s is %s: only a running job can be saved", j->id,
                        j->kill_boot_us ? "being stopped" : phase_text(j->phase));
        if (!id_parse(ID_CHECKPOINT, checkpoint, &id))
                return pd_fail(err, PD_E_INVALID, "%s has no checkpoint id for this save (%s)", j->id, cause);
        if (!json_is_object(json_object_get(j->order, "capture")) ||
                !json_is_object(json_object_get(j->order, "vault")))
                return pd_fail(err, PD_E_UNSUPPORTED, "%s has no capture or no vault: it cannot be saved", j->id);
        s = calloc(1, sizeof *s);
        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory for the save");
        *s = (struct saver){ .mode = mode,
                .began_boot_us = now,
                .fd = -1,
                .c = { .job = j, .steps = steps, .n = ARRAY_LEN(steps), .done = on_done } };
        (void)str_format(s->checkpoint, sizeof s->checkpoint, "%s", checkpoint);
        (void)str_format(s->cause, sizeof s->cause, "%s", cause);
        j->saver = s;
        if ((r = set_deadline(j, now + span_us, err)) < 0) {
                saver_free(j);
                return r;
        }
        json_decref(j->save);
        j->save = fresh_record(j, s);
        j->phase = PHASE_SAVING;
        job_changed(j);
        chain_begin(&s->c);
        return 0;
}

void save_abandon(struct job *j, const struct pd_error *why)
{
        struct pd_error err;
        bool asked;

        if (!j->saver)
                return;
        if (!why)
                (void)pd_fail(&err, PD_E_CANCELLED, "a stop came first");
        asked = j->saver->asked;
        tell(j, "failed");
        (void)json_object_set_new(j->save, "error", js_from_error(why ? why : &err));
        if (job_live(j))
                let_run_on(j, asked);
        saver_free(j);
        if (job_live(j))
                j->phase = PHASE_RUNNING;
}

/* The container is gone while its save goes on. If the capture says "saved" all the same, that is a checkpoint: it goes on to its commit. */
void save_container_ended(struct job *j)
{
        struct saver *s = j->saver;
        struct pd_error err;

        if (s->asked || s->still) { /* what the capture answers decides: a program may well save and then end */
                s->ended = true;
                return;
        }
        (void)pd_fail(&err, PD_E_GONE, "the job ended before its state was saved");
        tell(j, "failed");
        (void)json_object_set_new(j->save, "error", js_from_error(&err));
        saver_free(j);
        clear_staging(j);
}

/* A save that the runner's death cut short: it is undone; standing orders that still hold ask for it again. */
void save_after_restart(struct job *j)
{
        struct pd_error err;

        if (j->phase == PHASE_HELD || save_committed(j)) { /* only the ending was left to do */
                j->phase = PHASE_HELD;
                finish_kill(j);
                return;
        }
        if (j->phase != PHASE_SAVING)
                return;
        (void)pd_fail(&err, PD_E_TRANSIENT, "the runner was restarted during the save");
        (void)json_object_set_new(j->save, "state", json_string("failed"));
        (void)json_object_set_new(j->save, "error", js_from_error(&err));
        let_run_on(j, true);
        clear_staging(j);
        j->phase = PHASE_RUNNING;
        job_changed(j);
}
