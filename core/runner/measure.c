/* SPDX-License-Identifier: Apache-2.0 */
/* Measures every 10 s, and the progress that a job reports by replacing the file /run/portal/progress: one line, each replacement counts. */
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/runner.h"

/* The directory is the job's: nothing in it is followed or waited for. */
void progress_read(struct job *j)
{
        pd_cleanup(freep) char *dir = job_file(j, "portal");
        pd_cleanup(closep) int at = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
        pd_cleanup(closep) int fd =
                at < 0 ? -1 : openat(at, "progress", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;
        ssize_t n;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return;
        n = read(fd, j->progress, sizeof j->progress - 1);
        n = n < 0 ? 0 : n;
        j->progress[n] = 0;
        j->progress[strcspn(j->progress, "\r\n")] = 0;
        for (char *p = j->progress; *p; p++)
                if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
                        *p = '?';
}

static int on_progress(sd_event_source *s, const struct inotify_event *e, void *arg)
{
        struct job *j = arg;

        (void)s;
        if (e->len && streq(e->name, "oom"))
                j->oom_reports++; /* P-08: the job says, alive, that an allocation failed */
        if (e->len == 0 || !streq(e->name, "progress"))
                return 0;
        j->progress_seq++;
        progress_read(j);
        return 0;
}

void measure_watch_progress(struct job *j)
{
        pd_cleanup(freep) char *dir = job_file(j, "portal");

        progress_read(j);
        if (j->progress_watch || !dir)
                return;
        if (sd_event_add_inotify(j->r->loop, &j->progress_watch, dir, IN_MOVED_TO | IN_CLOSE_WRITE, on_progress, j) <
                0) {
                log_warning("%s: its progress cannot be watched", j->id);
                return;
        }
        (void)sd_event_source_set_ratelimit(j->progress_watch, USEC_PER_SEC, 200); /* a busy job cannot hold the loop */
}

int64_t measure_log_bytes(struct job *j)
{
        pd_cleanup(freep) char *path = job_file(j, "log");
        struct stat st;

        return path && lstat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static void put(json_t *o, const char *key, int64_t v)
{
        if (v >= 0)
                (void)json_object_set_new(o, key, json_integer(v));
}

static json_t *measure_one(struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        struct cgroup_measure m;
        json_t *o = json_pack("{s:s, s:I, s:I}", "job", j->id, "generation", (json_int_t)j->generation, "log_bytes",
                (json_int_t)measure_log_bytes(j));

        cgroup_measure(&j->r->cg, str_or(unit, ""), &m);
        if (m.memory_bytes > j->memory_peak)
                j->memory_peak = m.memory_bytes;
        if (m.memory_peak_bytes < 0 && m.memory_bytes >= 0)
                m.memory_peak_bytes = j->memory_peak; /* of our samples: caps.notes says so */
        put(o, "cpu_us", m.cpu_us);
        put(o, "memory_bytes", m.memory_bytes);
        put(o, "memory_peak_bytes", m.memory_peak_bytes);
        put(o, "io_read_bytes", m.io_read_bytes);
        put(o, "io_write_bytes", m.io_write_bytes);
        put(o, "pids", m.pids);
        put(o, "oom_kills", m.oom_kills);
        put(o, "memory_reclaimable_bytes", m.reclaimable_bytes);
        put(o, "memory_stalled", m.stalled);
        put(o, "oom_reports", j->oom_reports > 0 ? j->oom_reports : -1);
        if (j->progress_seq > 0) {
                put(o, "progress_seq", j->progress_seq);
                (void)json_object_set_new(o, "progress", json_string(j->progress));
        }
        return o;
}

/* What was told once never goes back, also over the runner's death. */
static void keep_progress(struct job *j)
{
        struct pd_error err;

        if (j->progress_kept == j->progress_seq)
                return;
        j->progress_kept = j->progress_seq;
        if (job_store(j, &err) < 0)
                log_warning("%s: %s", j->id, err.text);
}

static int on_tick(sd_event_source *s, uint64_t usec, void *arg)
{
        struct runner *r = arg;
        js_owned *items = json_array();
        js_owned *event = NULL;

        (void)usec;
        for (size_t i = 0; i < r->jobs.n; i++) {
                struct job *j = r->jobs.at[i];

                keep_progress(j);
                if (j->phase == PHASE_RUNNING || j->phase == PHASE_SAVING || start_verifying(j))
                        (void)json_array_append_new(items, measure_one(j));
                if (job_live(j))
                        orders_check(j);
        }
        if (json_array_size(items) > 0) {
                event = json_pack("{s:s, s:I, s:I, s:O}", "event", "measures", "at_boot_us", (json_int_t)now_boot_us(),
                        "at_wall_us", (json_int_t)now_wall_us(), "items", items);
                serve_event(r, 0, event);
        }
        (void)sd_event_source_set_time_relative(s, (uint64_t)r->cfg.measure_us);
        (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        return 0;
}

int measure_open(struct runner *r, struct pd_error *err)
{
        if (sd_event_add_time_relative(
                    r->loop, &r->ticker, CLOCK_BOOTTIME, (uint64_t)r->cfg.measure_us, 0, on_tick, r) < 0)
                return pd_fail(err, PD_E_NOMEM, "no timer for the measures");
        return 0;
}
