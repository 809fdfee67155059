/* SPDX-License-Identifier: Apache-2.0 */
/* The capture `values`: the program itself says what it is made of, by name, and writes exactly that. README.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "talk.h"

#define LISTEN_US INT64_C(3000000)    /* how long a program that has just started may take to listen */
#define PRECHECK_US INT64_C(10000000) /* to a safe point, when nothing hangs on it                   */
#define MARGIN_US INT64_C(1000000)    /* before the call's deadline, for what comes after the answer */

static int values_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        (void)call;
        if (cfg && cfg->count > 0) {
                (void)pd_fail(err, PD_E_INVALID, "the capture \"values\" has no option \"%.60s\": it has none",
                        cfg->pairs[0].key);
                return pd_fail_subject(err, cfg->pairs[0].key);
        }
        *ret_self = NULL;
        return 0;
}

static void values_close(void *self)
{
        (void)self;
}

static int values_caps(void *self, struct pd_call *call, struct pd_capture_caps *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        *ret = (struct pd_capture_caps){ .size = sizeof *ret,
                .flags = PD_CAPTURE_CARRIES | PD_CAPTURE_NEEDS_JOB | PD_CAPTURE_USERNS };
        return 0;
}

/* All it needs is a unix socket and a directory, which every machine with a runner has. */
static int values_probe(void *self, struct pd_call *call, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        return 0;
}

/* A socket that an earlier program of this job left is not this one's. */
static int drop_socket(const struct pd_container *c, struct pd_error *err)
{
        if (c->socket_path && *c->socket_path && unlink(c->socket_path) < 0 && errno != ENOENT && errno != ENOTDIR)
                return pd_fail(err, PD_E_IO, "removing the old socket %.150s: %s", c->socket_path, strerror(errno));
        return 0;
}

static int values_prepare(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self, (void)call;
        return drop_socket(c, err);
}

static int values_destroy(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self, (void)call;
        return drop_socket(c, err);
}

/* What the program is given to reach a safe point and answer: the job's own "timeout", at most `most`, within the call. */
static int ask_span(
        struct pd_call *call, const struct pd_container *c, int64_t most, int64_t *ret_us, struct pd_error *err)
{
        const char *text = pd_kv_get(c->settings, "timeout");
        int64_t left = capture_left(call), span = most;

        if (text && !wire_duration(text, &span))
                return pd_fail(
                        err, PD_E_INVALID, "checkpoint.timeout \"%.60s\" is no duration, such as 90s or 5m", text);
        if (span > most)
                span = most;
        left -= left / 5 < MARGIN_US ? left / 5 : MARGIN_US;
        *ret_us = span < left ? span : left;
        return 0;
}

/* notes: put as the answer's text, where the slot takes it. */
static int ask_once(struct pd_call *call, const struct pd_container *c, const char *op, int64_t most, int64_t listen,
        pd_value_fn each, void *arg, struct wire_answer *ret, struct pd_error *err)
{
        struct talk t;
        int64_t span;
        int r = talk_open(&t, call, c, listen, err);

        if (r < 0)
                return r;
        r = ask_span(call, c, most, &span, err);
        if (r == 0)
                r = talk_ask(&t, call, op, span, each, arg, ret, err);
        if (r == 0 && *t.notes && strcmp(op, "precheck") == 0)
                (void)call->host->put(call, "notes", t.notes); /* a host that does not show them is no reason to fail */
        talk_close(&t);
        return r;
}

static int values_precheck(void *self, struct pd_call *call, const struct pd_container *c, pd_value_fn each, void *arg,
        struct pd_error *err)
{
        struct wire_answer end = { 0 };
        int r = ask_once(call, c, "precheck", PRECHECK_US, LISTEN_US, each, arg, &end, err);

        (void)self;
        wire_answer_clear(&end);
        return r;
}

static int values_estimate(
        void *self, struct pd_call *call, const struct pd_container *c, struct pd_estimate *ret, struct pd_error *err)
{
        struct wire_answer end = { 0 };
        int r = ask_once(call, c, "estimate", PRECHECK_US, LISTEN_US, NULL, NULL, &end, err);

        (void)self;
        if (r == 0)
                *ret = (struct pd_estimate){ .size = sizeof *ret, .bytes = end.bytes, .freeze_us = end.freeze_us };
        wire_answer_clear(&end);
        return r;
}

/* ---- the files ---- */

static int read_manifest(int dir, struct wire_manifest *ret, struct pd_error *err)
{
        pd_cleanup(capture_closep) int fd = openat(dir, WIRE_MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;
        char *text;
        ssize_t n;
        int r;

        if (fd < 0)
                return pd_fail(err, errno == ENOENT ? PD_E_NOT_FOUND : PD_E_IO, "the manifest of the saved values: %s",
                        strerror(errno));
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)WIRE_MANIFEST_MAX)
                return pd_fail(err, PD_E_CORRUPT,
                        "the manifest of the saved values is no regular file of at most %zu MiB",
                        WIRE_MANIFEST_MAX >> 20);
        text = malloc((size_t)st.st_size + 1);
        if (!text)
                return pd_fail(err, PD_E_NOMEM, "no memory for the manifest");
        n = read(fd, text, (size_t)st.st_size);
        r = n < 0 ? pd_fail(err, PD_E_IO, "the manifest of the saved values: %s", strerror(errno))
                  : wire_manifest_parse(text, (size_t)n, capture_crc, ret, err);
        free(text);
        return r;
}

static int copy_files(struct pd_call *call, int from, int to, const struct wire_manifest *m,
        const struct capture_owner *owner, struct pd_error *err)
{
        for (size_t i = 0; i < m->n; i++) {
                const struct wire_file *f = &m->files[i];
                uint32_t crc = 0;
                int r = capture_copy(call, from, to, f->name, f->bytes, owner, &crc, err);

                if (r < 0)
                        return r;
                if (crc != f->crc)
                        return pd_fail(
                                err, PD_E_CORRUPT, "\"%s\" of the saved values does not match its checksum", f->name);
        }
        return 0;
}

/* Data first, the manifest last, so that a half copy is none. */
static int copy_all(struct pd_call *call, int from, int to, const char *save, const struct capture_owner *owner,
        struct pd_error *err)
{
        struct wire_manifest m = { .n = 0 };
        int r = read_manifest(from, &m, err);

        if (r < 0)
                return r;
        if (save && strcmp(save, m.save) != 0)
                r = pd_fail(err, PD_E_CORRUPT, "the program said that it saved %.30s, and its manifest is of %s", save,
                        m.save);
        if (r == 0)
                r = copy_files(call, from, to, &m, owner, err);
        if (r == 0)
                r = capture_sync(to, "the checkpoint directory", err);
        if (r == 0)
                r = capture_copy(call, from, to, WIRE_MANIFEST, UINT64_MAX, owner, NULL, err);
        if (r == 0)
                r = capture_sync(to, "the checkpoint directory", err);
        wire_manifest_clear(&m);
        return r;
}

/* The program's own thread stands at its safe point; the freezer holds the rest (other threads, helpers), so that the writable layer is
 * of the same moment. Without a freezer the program's word is what there is. */
static int stand_still(struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        return capture_can_freeze(c) ? capture_freeze(call, c, true, err) : 0;
}

static int values_save(void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, pd_value_fn each,
        void *arg, struct pd_error *err)
{
        struct wire_answer end = { 0 };
        pd_cleanup(capture_closep) int from = -1;
        char progress[256];
        int r = capture_open_dir(c->job_dir, &from, err);

        (void)self;
        if (r < 0)
                return r;
        r = ask_once(call, c, "save", INT64_MAX / 4, LISTEN_US, each, arg, &end, err);
        if (r < 0)
                return r;
        r = stand_still(call, c, err);
        if (r == 0)
                r = copy_all(call, from, dir_fd, end.save, NULL, err);
        capture_text(progress, sizeof progress, end.progress, "");
        wire_answer_clear(&end);
        if (r == 0 && *progress)
                (void)call->host->put(
                        call, "progress", progress); /* what nobody wants to know is no reason to lose a save */
        return r;
}

/* A program that does not listen does not stand still for us either. */
static int go_on(struct pd_call *call, const struct pd_container *c, const char *op, struct pd_error *err)
{
        struct wire_answer end = { 0 };
        struct pd_error why = { .size = sizeof why };
        int r = capture_freeze(call, c, false, &why);

        if (r < 0 && why.code != PD_E_UNSUPPORTED) {
                if (err)
                        *err = why;
                return r;
        }
        r = ask_once(call, c, op, PRECHECK_US, 0, NULL, NULL, &end, &why);
        wire_answer_clear(&end);
        if (r < 0 && why.code != PD_E_CONFLICT) {
                if (err)
                        *err = why;
                return r;
        }
        return 0;
}

static int values_abort(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self;
        return go_on(call, c, "abort", err);
}

static int values_resume(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        (void)self;
        return go_on(call, c, "resume", err);
}

static int values_restore(
        void *self, struct pd_call *call, const struct pd_container *c, int dir_fd, struct pd_error *err)
{
        const struct capture_owner owner = { (uid_t)c->uid, (gid_t)c->gid };
        pd_cleanup(capture_closep) int to = -1;
        int r = capture_open_dir(c->job_dir, &to, err);

        (void)self;
        if (r == 0)
                r = capture_clear(to, err);
        if (r == 0)
                r = copy_all(call, dir_fd, to, NULL, &owner, err);
        return r;
}

/* Taken up = the program has asked for each of the values. */
static int values_verify(void *self, struct pd_call *call, const struct pd_container *c, struct pd_error *err)
{
        struct wire_answer end = { 0 };
        struct talk t;
        int r = talk_open(&t, call, c, 0, err);

        (void)self;
        if (r == -PD_E_CONFLICT)
                return pd_fail(err, PD_E_BUSY, "the program does not answer on PORTAL_SOCKET yet");
        if (r < 0)
                return r;
        r = talk_ask(&t, call, "verify", PRECHECK_US, NULL, NULL, &end, err);
        wire_answer_clear(&end);
        talk_close(&t);
        return r;
}

static const struct pd_checkpoint values = {
        .head = PD_HEAD(PD_KIND_CHECKPOINT, struct pd_checkpoint, "values"),
        .open = values_open,
        .close = values_close,
        .caps = values_caps,
        .probe = values_probe,
        .prepare = values_prepare,
        .precheck = values_precheck,
        .estimate = values_estimate,
        .save = values_save,
        .abort = values_abort,
        .restore = values_restore,
        .verify = values_verify,
        .resume = values_resume,
        .destroy = values_destroy,
};
PD_EXPORT const struct pd_head *const portald_plugin = &values.head;
