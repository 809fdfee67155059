/* SPDX-License-Identifier: Apache-2.0 */
/* A billing sink that appends one JSON object a line to a file: the smallest plugin, meant to be read first.
 *
 * What to see here: one const symbol at the end; all state in `self`; errors by pd_fail(); nothing freed across the border; a call
 * returns 0 only when its record would survive a power cut. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <portald/billing.h>

struct jsonl {
        int fd;
        char path[4096];
};

static void jsonl_close(void *self)
{
        struct jsonl *j = self;

        if (!j)
                return;
        if (j->fd >= 0)
                (void)close(j->fd);
        free(j);
}

static void jsonl_closep(struct jsonl **j)
{
        jsonl_close(*j);
}

static int check_keys(const struct pd_kv *cfg, struct pd_error *err)
{
        const char *path = pd_kv_get(cfg, "path");

        for (uint32_t i = 0; i < cfg->count; i++)
                if (strcmp(cfg->pairs[i].key, "path") != 0) {
                        (void)pd_fail(err, PD_E_INVALID, "jsonl has no setting \"%.64s\"; it has only \"path\"",
                                cfg->pairs[i].key);
                        return pd_fail_subject(err, cfg->pairs[i].key);
                }
        if (!path || path[0] != '/') {
                (void)pd_fail(
                        err, PD_E_INVALID, "jsonl needs \"path\", the absolute name of the file that it appends to");
                return pd_fail_subject(err, "path");
        }
        return 0;
}

/* Adds `n` bytes in one piece, or nothing. */
static int append(struct jsonl *j, const char *line, size_t n, struct pd_error *err)
{
        struct stat before;
        ssize_t done;
        int e;

        if (fstat(j->fd, &before) < 0)
                return pd_fail(err, PD_E_IO, "%s: %s", j->path, strerror(errno));
        done = write(j->fd, line, n);
        if (done == (ssize_t)n && fdatasync(j->fd) == 0)
                return 0;
        e = done < 0 || done == (ssize_t)n ? errno : ENOSPC;
        (void)!ftruncate(j->fd, before.st_size);
        return pd_fail(err, PD_E_IO, "%s: a record was not written: %s", j->path, strerror(e));
}

/* A crash may have left half a line, of a record that was never acknowledged: it gets a line of its own, nothing is deleted. */
static int end_torn_line(struct jsonl *j, struct pd_error *err)
{
        struct stat st;
        char last = '\n';

        if (fstat(j->fd, &st) < 0 || !S_ISREG(st.st_mode))
                return pd_fail(err, PD_E_INVALID, "%s: is not a regular file", j->path);
        if (st.st_size > 0 && pread(j->fd, &last, 1, st.st_size - 1) != 1)
                return pd_fail(err, PD_E_IO, "%s: %s", j->path, strerror(errno));
        return last == '\n' ? 0 : append(j, "\n", 1, err);
}

static int jsonl_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        pd_cleanup(jsonl_closep) struct jsonl *j = calloc(1, sizeof *j);
        int r;

        (void)call;
        if (!j)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        j->fd = -1;
        r = check_keys(cfg, err);
        if (r < 0)
                return r;
        if ((size_t)snprintf(j->path, sizeof j->path, "%s", pd_kv_get(cfg, "path")) >= sizeof j->path)
                return pd_fail(err, PD_E_INVALID, "the path is longer than %zu bytes", sizeof j->path - 1);
        j->fd = open(j->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (j->fd < 0)
                return pd_fail(err, PD_E_IO, "%s: %s", j->path, strerror(errno));
        r = end_torn_line(j, err);
        if (r < 0)
                return r;
        *ret_self = pd_steal(j);
        return 0;
}

static json_t *tags_json(const struct pd_kv *tags)
{
        json_t *o = json_object();

        for (uint32_t i = 0; tags && i < tags->count; i++)
                if (json_object_set_new(o, tags->pairs[i].key, json_string(tags->pairs[i].value)) < 0) {
                        json_decref(o);
                        return NULL;
                }
        return o;
}

/* The members of struct pd_usage by name, in its order. */
static char *usage_line(const struct pd_usage *u)
{
        json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:o}", "id", u->id, "job", u->job,
                "project", u->project, "user", u->user, "offer", u->offer, "machine", u->machine, "generation",
                (json_int_t)u->generation, "from_wall_us", (json_int_t)u->from_wall_us, "to_wall_us",
                (json_int_t)u->to_wall_us, "price_nano_hour", (json_int_t)u->price_nano_hour, "amount_nano",
                (json_int_t)u->amount_nano, "currency", u->currency, "plan", u->plan, "tags", tags_json(u->tags));
        char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
        size_t n = text ? strlen(text) : 0;
        char *line = text ? realloc(text, n + 2) : NULL;

        json_decref(o);
        if (line)
                memcpy(line + n, "\n", 2);
        else
                free(text);
        return line;
}

static int jsonl_record(void *self, struct pd_call *call, const struct pd_usage *usage, struct pd_error *err)
{
        char *line = usage_line(usage);
        int r;

        (void)call;
        if (!line)
                return pd_fail(err, PD_E_INVALID, "record %.64s cannot be written as JSON", usage->id);
        r = append(self, line, strlen(line), err);
        free(line);
        return r;
}

/* The file may have been moved away or deleted since open(): records would then go nowhere. */
static int jsonl_probe(void *self, struct pd_call *call, struct pd_error *err)
{
        struct jsonl *j = self;
        struct stat ours, there;

        (void)call;
        if (fstat(j->fd, &ours) < 0 || stat(j->path, &there) < 0)
                return pd_fail(err, PD_E_IO, "%s: %s", j->path, strerror(errno));
        if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
                return pd_fail(
                        err, PD_E_IO, "%s: is another file now than the one that was opened; reload portald", j->path);
        return 0;
}

static const struct pd_billing jsonl = {
        .head = PD_HEAD(PD_KIND_BILLING, struct pd_billing, "jsonl"),
        .open = jsonl_open,
        .close = jsonl_close,
        .record = jsonl_record,
        .probe = jsonl_probe,
};
PD_EXPORT const struct pd_head *const portald_plugin = &jsonl.head;
