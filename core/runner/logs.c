/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of `logs`: at once, or when something was written, the job ended, or the asker's wait is over. */
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "runner/logseek.h"
#include "runner/runner.h"

#define SCAN_BUDGET (INT64_C(32) << 20) /* bytes of log indexed in one turn of the loop */
#define WAITS_MAX 256
#define WAIT_MAX_US (60 * USEC_PER_SEC)

static int open_log(const struct job *j)
{
        pd_cleanup(freep) char *path = job_file(j, "log");

        return path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
}

/* The end of a log moves: what was asked for is looked up when it is answered. */
static int seek(struct log_wait *w, const struct job *j, int fd, struct pd_error *err)
{
        int64_t since = 0, tail = 0;
        int r = 0;

        if (w->since_wall_us > 0)
                r = logseek_since(&j->log, fd, w->since_wall_us, &since, err);
        if (r >= 0 && w->tail >= 0)
                r = logseek_tail(&j->log, fd, w->tail, &tail, err);
        if (r >= 0 && (w->since_wall_us > 0 || w->tail >= 0))
                w->offset = since > tail ? since : tail;
        return r;
}

static int answer(struct log_wait *w, struct job *j, int fd, struct pd_error *err)
{
        js_owned *times = json_array();
        js_owned *body = NULL;
        pd_cleanup(freep) char *bytes = NULL;
        size_t n = 0;
        int r = 0;

        if (w->offset < j->log.content)
                r = logindex_read(&j->log, fd, w->offset, (size_t)w->max, &bytes, &n, times, err);
        if (r < 0)
                return r;
        body = json_pack("{s:I, s:I, s:I, s:b, s:O}", "offset", (json_int_t)w->offset, "next",
                (json_int_t)w->offset + (json_int_t)n, "size", (json_int_t)j->log.content, "eof",
                !job_live(j) && w->offset + (int64_t)n >= j->log.content, "times", times);
        return conn_answer(w->client->conn, w->request, body, bytes, n, err);
}

/* 0: answered (or refused, or the stream is full and will be closed by its owner); 1: not yet. */
static int serve_wait(struct runner *r, struct log_wait *w)
{
        struct job *j = job_find(r, w->job);
        pd_cleanup(closep) int fd = j ? open_log(j) : -1;
        bool more = false;
        struct pd_error err;
        int e = 0;

        if (!j) {
                (void)pd_fail(&err, PD_E_NOT_FOUND, "%s is not known here any more", w->job);
                (void)conn_answer_error(w->client->conn, w->request, &err, NULL);
                return 0;
        }
        if (fd >= 0)
                e = logindex_scan(&j->log, fd, SCAN_BUDGET, &more, &err);
        if (e == 0 && fd >= 0 && !more)
                e = seek(w, j, fd, &err);
        if (e == 0 && (more || (w->offset >= j->log.content && job_live(j) && now_boot_us() < w->until_boot_us))) {
                if (more)
                        logs_wake(r);
                return 1;
        }
        if (e == 0)
                e = answer(w, j, fd, &err);
        if (e < 0)
                (void)conn_answer_error(w->client->conn, w->request, &err, NULL);
        return 0;
}

static void watch(struct job *j);

static int on_log_timer(sd_event_source *s, uint64_t usec, void *arg)
{
        struct runner *r = arg;
        int64_t next = INT64_MAX;
        struct job *again;

        (void)s, (void)usec;
        for (size_t i = 0; i < r->waits.n;) {
                struct log_wait w = r->waits.at[i];

                if (serve_wait(r, &w) == 0) {
                        vec_swap_remove(&r->waits, i);
                        continue;
                }
                next = w.until_boot_us < next ? w.until_boot_us : next;
                again = job_find(r, w.job);
                if (again)
                        watch(again); /* its log may be there by now */
                i++;
        }
        if (next != INT64_MAX) {
                uint64_t at;
                int on;

                /* a wake asked for meanwhile stands */
                if (sd_event_source_get_enabled(r->log_timer, &on) >= 0 && on != SD_EVENT_OFF &&
                        sd_event_source_get_time(r->log_timer, &at) >= 0 && at <= (uint64_t)next)
                        return 0;
                (void)sd_event_source_set_time(r->log_timer, (uint64_t)next);
                (void)sd_event_source_set_enabled(r->log_timer, SD_EVENT_ONESHOT);
        }
        return 0;
}

static void wake_at(struct runner *r, int64_t boot_us)
{
        uint64_t at;
        int on;

        if (!r->log_timer) {
                (void)sd_event_add_time(
                        r->loop, &r->log_timer, CLOCK_BOOTTIME, (uint64_t)boot_us, 1000, on_log_timer, r);
                return;
        }
        if (sd_event_source_get_enabled(r->log_timer, &on) >= 0 && on != SD_EVENT_OFF &&
                sd_event_source_get_time(r->log_timer, &at) >= 0 && at <= (uint64_t)boot_us)
                return;
        (void)sd_event_source_set_time(r->log_timer, (uint64_t)boot_us);
        (void)sd_event_source_set_enabled(r->log_timer, SD_EVENT_ONESHOT);
}

void logs_wake(struct runner *r)
{
        if (r->waits.n > 0)
                wake_at(r, 1); /* in the past: in the next turn */
}

static int on_written(sd_event_source *s, const struct inotify_event *e, void *arg)
{
        struct job *j = arg;
        bool waited = false;

        (void)e;
        for (size_t i = 0; i < j->r->waits.n; i++)
                waited |= streq(j->r->waits.at[i].job, j->id);
        if (waited)
                logs_wake(j->r);
        else
                j->log_watch = sd_event_source_disable_unref(s);
        return 0;
}

/* Bursts of lines are answered together: at most 100 wakes a second. */
static void watch(struct job *j)
{
        pd_cleanup(freep) char *path = job_file(j, "log");

        if (j->log_watch || !path || !job_live(j))
                return;
        if (!disk_exists(path)) { /* before the container: its supervisor makes it */
                wake_at(j->r, now_boot_us() + USEC_PER_SEC / 4);
                return;
        }
        if (sd_event_add_inotify(j->r->loop, &j->log_watch, path, IN_MODIFY, on_written, j) >= 0)
                (void)sd_event_source_set_ratelimit(j->log_watch, USEC_PER_SEC, 100);
}

void logs_request(struct client *c, uint64_t request, const json_t *body)
{
        struct log_wait w = { .client = c, .request = request };
        struct pd_error err;
        struct job *j;
        int64_t wait;

        if (js_need_int(body, "offset", 0, INT64_MAX, &w.offset, &err) < 0 ||
                js_need_int(body, "max", 1, INT64_MAX, &w.max, &err) < 0)
                goto refuse;
        w.tail = js_int(body, "tail", -1);
        w.since_wall_us = js_int(body, "since_wall_us", 0);
        w.max = w.max < (int64_t)FRAME_BLOB_MAX ? w.max : (int64_t)FRAME_BLOB_MAX;
        wait = js_int(body, "wait_us", 0);
        w.until_boot_us = now_boot_us() + (wait < WAIT_MAX_US ? wait : WAIT_MAX_US);
        (void)str_format(w.job, sizeof w.job, "%s", js_str(body, "job", ""));
        j = job_find(c->r, w.job);
        if (serve_wait(c->r, &w) == 0)
                return;
        if (c->r->waits.n >= WAITS_MAX || !vec_push(&c->r->waits, w)) {
                (void)pd_fail(&err, PD_E_BUSY, "too many readers wait for logs: ask again without wait_us");
                goto refuse;
        }
        if (j)
                watch(j);
        wake_at(c->r, w.until_boot_us);
        return;
refuse:
        (void)conn_answer_error(c->conn, request, &err, NULL);
}

void logs_client_gone(struct runner *r, const struct client *c)
{
        for (size_t i = 0; i < r->waits.n;)
                if (r->waits.at[i].client == c)
                        vec_swap_remove(&r->waits, i);
                else
                        i++;
}

void logs_close(struct runner *r)
{
        r->log_timer = sd_event_source_disable_unref(r->log_timer);
        vec_free(&r->waits);
}
