/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start that belong to a checkpoint: manifest, objects, digests, layer, the capture's part, and the proof that the job has
 * taken its state up. Nothing is started before both objects have been checked whole. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "pack/pack.h"
#include "runner/start.h"

#define FETCH_US (30 * USEC_PER_MIN)
#define POLL_US (100 * USEC_PER_MSEC)

static struct start *of(struct chain *c)
{
        return (struct start *)c;
}

const char *restore_checkpoint(const struct job *j)
{
        return json_string_value(json_object_get(json_object_get(j->order, "restore"), "checkpoint"));
}

static int fail_with(const struct job *j, const struct pd_error *why, const char *object, struct pd_error *err)
{
        if (why->code == PD_E_NOT_FOUND)
                return pd_fail(err, PD_E_NOT_FOUND,
                        "checkpoint %s is gone: %s is not in the vault. The job cannot be resumed from it",
                        restore_checkpoint(j), object);
        return pd_fail(err, why->code, "checkpoint %s, %s: %.150s", restore_checkpoint(j), object, why->text);
}

static char *restore_file(const struct job *j, const char *object)
{
        return path_fmt("%s/restore/%s", j->dir, object);
}

/* Leaves a call behind that writes JOB/CHECKPOINT/object into a fresh file. */
static int fetch(struct chain *c, const char *object, struct pd_error *err)
{
        struct start *s = of(c);
        struct job *j = c->job;
        pd_cleanup(freep) char *file = restore_file(j, object);
        pd_cleanup(freep) char *name = path_fmt("%s/%s/%s", j->id, restore_checkpoint(j), object);
        js_owned *args = json_pack("{s:s}", "name", str_or(name, ""));
        int r;

        if (!file || !name || !args)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = capture_open(j, "vault", &j->vault, err)) < 0)
                return r;
        (void)unlink(file);
        s->fd = safe_close(s->fd);
        s->fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (s->fd < 0)
                return pd_fail(err, PD_E_IO, "cannot make %s: %m", file);
        return chain_call_host(c, j->vault, "get", args, &s->fd, 1, NULL, FETCH_US, err);
}

int restore_fetch_manifest(struct chain *c, struct pd_error *err)
{
        pd_cleanup(freep) char *dir = job_file(c->job, "restore");
        int r;

        if (!restore_checkpoint(c->job))
                return 0;
        if (!dir)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = disk_rmtree(dir, err)) < 0 || (r = disk_mkdir(dir, 0700, err)) < 0)
                return r;
        return fetch(c, "manifest.json", err);
}

int restore_manifest_here(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        struct start *s = of(c);
        pd_cleanup(freep) char *file = restore_file(c->job, "manifest.json");
        struct pd_error bad;

        s->fd = safe_close(s->fd);
        if (why)
                return fail_with(c->job, why, "manifest.json", err);
        if (!file)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if (disk_read_json(file, &s->manifest, &bad) < 0 ||
                manifest_check(s->manifest, c->job->id, restore_checkpoint(c->job), &bad) < 0)
                return pd_fail(err, bad.code == PD_E_NOMEM ? PD_E_NOMEM : PD_E_CORRUPT,
                        "checkpoint %s, manifest.json: %.150s", restore_checkpoint(c->job), bad.text);
        return 0;
}

int restore_fetch_layer(struct chain *c, struct pd_error *err)
{
        return of(c)->manifest ? fetch(c, MANIFEST_LAYER, err) : 0;
}

int restore_fetch_payload(struct chain *c, struct pd_error *err)
{
        return of(c)->manifest ? fetch(c, MANIFEST_PAYLOAD, err) : 0;
}

int restore_object_here(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        of(c)->fd = safe_close(of(c)->fd);
        return why ? fail_with(c->job, why,
                             streq(start_detail(c->job), "fetching the writable layer") ? MANIFEST_LAYER
                                                                                        : MANIFEST_PAYLOAD,
                             err)
                   : 0;
}

static json_t *unpack_task(struct chain *c, const char *object, const char *dir, bool layer)
{
        const json_t *o = manifest_object(of(c)->manifest, object);
        pd_cleanup(freep) char *file = restore_file(c->job, object);

        return file ? json_pack("{s:s, s:s, s:b, s:I, s:s, s:I, s:I, s:s}", "from", file, "dir", dir, "layer", layer,
                              "id_base", (json_int_t)job_id_base(c->job), "sha256", js_str(o, "sha256", ""), "bytes",
                              (json_int_t)js_int(o, "bytes", 0), "plain_max", (json_int_t)js_int(o, "plain_bytes", 0),
                              "object", object)
                    : NULL;
}

/* One worker for both: it checks both digests before it unpacks either. */
int restore_unpack(struct chain *c, struct pd_error *err)
{
        struct job *j = c->job;
        pd_cleanup(freep) char *upper = job_gen(j, "upper");
        pd_cleanup(freep) char *payload = job_file(j, "restore/payload");
        js_owned *task = NULL;
        int r;

        if (!of(c)->manifest)
                return 0;
        if (!upper || !payload)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        if ((r = disk_rmtree(upper, err)) < 0 || (r = disk_mkdir(upper, 0755, err)) < 0 ||
                (r = disk_mkdir(payload, 0700, err)) < 0)
                return r;
        task = json_pack("{s:s, s:[o, o]}", "op", "unpack", "objects", unpack_task(c, MANIFEST_PAYLOAD, payload, false),
                unpack_task(c, MANIFEST_LAYER, upper, true));
        return task ? chain_run_worker(c, task, "unpacking", FETCH_US, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

int restore_unpacked(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        const char *text;

        if (!why)
                return 0;
        text = strstr(why->text, "CORRUPT: ");
        if (text)
                return pd_fail(err, PD_E_CORRUPT, "checkpoint %s, %.170s", restore_checkpoint(c->job), text + 9);
        return fail_with(c->job, why, "unpacking it", err);
}

int restore_capture(struct chain *c, struct pd_error *err)
{
        struct start *s = of(c);
        pd_cleanup(freep) char *payload = job_file(c->job, "restore/payload");
        js_owned *about = capture_container(c->job);

        if (!s->manifest)
                return 0;
        s->fd = payload ? open(payload, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
        if (s->fd < 0 || !about)
                return pd_fail(err, PD_E_IO, "cannot open %s: %m", str_or(payload, "the payload"));
        return chain_call_host(c, c->job->capture, "restore", about, &s->fd, 1, NULL, FETCH_US, err);
}

int restore_captured(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        const char *load = js_str(c->text, "prestart", NULL), *how = js_str(c->text, "restore", NULL);

        of(c)->fd = safe_close(of(c)->fd);
        if (why)
                return fail_with(c->job, why, "its saved state", err);
        if (how)
                return js_parse(how, strlen(how), &of(c)->by_runtime, err);
        return load ? prestart_into_bundle(c->job, load, err) : 0;
}

bool restore_log_said(const json_t *by_runtime, struct pd_error *ret)
{
        pd_cleanup(freep) char *text = NULL;
        const char *at;

        if (disk_read(js_str(by_runtime, "log", ""), (size_t)16 << 20, &text, NULL, NULL) < 0)
                return false;
        at = strstr(text, "Error (");
        while (at && strstr(at, "): ") &&
                str_starts(strstr(at, "): "), "): rlimit: Can't setup RLIMIT_NOFILE for self"))
                at = strstr(at + 1, "Error ("); /* which criu survives */
        at = at ? strstr(at, "): ") : NULL;
        if (at)
                (void)pd_fail(
                        ret, PD_E_IO, "the container could not be restored: %.*s", (int)strcspn(at + 3, "\n"), at + 3);
        return at != NULL;
}

int restore_verify(struct chain *c, struct pd_error *err)
{
        struct start *s = of(c);
        js_owned *about = capture_container(c->job);
        int r;

        if (!restore_checkpoint(c->job) || c->job->exit)
                return 0;
        if (s->verify_until_boot_us == 0)
                s->verify_until_boot_us = now_boot_us() + VERIFY_US;
        if ((r = capture_open(c->job, "capture", &c->job->capture, err)) < 0)
                return r;
        return about ? chain_call_host(c, c->job->capture, "verify", about, NULL, 0, NULL, SHORT_US, err)
                     : pd_fail(err, PD_E_NOMEM, "no memory");
}

/* BUSY = not yet. The pause between two questions is a wait of this same step. */
int restore_verified(struct chain *c, const struct pd_error *why, struct pd_error *err)
{
        struct start *s = of(c);
        int r;

        if (s->verify_pause) {
                s->verify_pause = false;
                return CHAIN_AGAIN;
        }
        if (!why)
                return 0;
        if (why->code != PD_E_BUSY && why->code != PD_E_TRANSIENT)
                return fail_with(c->job, why, "the job did not take its state up", err);
        if (now_boot_us() > s->verify_until_boot_us)
                return pd_fail(err, PD_E_DEADLINE,
                        "checkpoint %s: the job has not taken its state up within %lld s: %.120s",
                        restore_checkpoint(c->job), (long long)(VERIFY_US / USEC_PER_SEC), why->text);
        s->verify_pause = true;
        r = chain_sleep(c, POLL_US, err);
        return r;
}

int restore_let_go(struct chain *c, struct pd_error *err)
{
        js_owned *about = capture_container(c->job);
        pd_cleanup(freep) char *dir = job_file(c->job, "restore");

        if (!restore_checkpoint(c->job) || c->job->exit)
                return 0;
        if (dir && disk_rmtree(dir, err) < 0)
                log_warning("%s", err->text);
        return about ? chain_call_host(c, c->job->capture, "resume", about, NULL, 0, NULL, SHORT_US, err)
                     : pd_fail(err, PD_E_NOMEM, "no memory");
}
