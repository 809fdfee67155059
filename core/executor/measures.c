/* SPDX-License-Identifier: Apache-2.0 */
/* What the running jobs use, as their runners tell it: kept as few samples as the idle window needs. */
#include "executor/internal.h"

static void sample_add(struct live *l, int64_t at_wall_us, int64_t cpu_us)
{
        /* half of the samples span the idle window: two neighbours may stand closer than `apart` by one measurement */
        int64_t apart =
                l->settings.idle_after_us == SETTING_OFF ? USEC_PER_MIN : l->settings.idle_after_us / (SAMPLES / 2);

        if (l->samples_n && at_wall_us < l->samples[l->samples_n - 1].at_wall_us)
                l->samples_n = 0; /* the wall clock stepped back: what was measured before cannot be compared */
        if (l->samples_n >= 2 && at_wall_us - l->samples[l->samples_n - 2].at_wall_us < apart) {
                l->samples[l->samples_n - 1] = (struct sample){ at_wall_us, cpu_us };
                return;
        }
        if (l->samples_n == SAMPLES) {
                memmove(l->samples, l->samples + 1, (SAMPLES - 1) * sizeof *l->samples);
                l->samples_n--;
        }
        l->samples[l->samples_n++] = (struct sample){ at_wall_us, cpu_us };
}

/* The most cores at once, over two measurements that lie at least 5 s apart. */
static void peak(struct live *l, int64_t at_wall_us, int64_t cpu_us)
{
        int64_t span = at_wall_us - l->measured_wall_us, used = cpu_us - l->cpu_us;

        if (l->measured_wall_us && l->cpu_us >= 0 && used > 0 && span >= 5 * USEC_PER_SEC && used <= span * 1024 &&
                used * 1000 / span > l->peak_cpu_milli)
                l->peak_cpu_milli = (int32_t)(used * 1000 / span);
}

/* What it may still survive (P-08): a child that the kernel killed, an allocation that the job itself says failed, waiting for memory. */
static void memory_trouble(struct live *l, const json_t *x, int64_t at_wall_us)
{
        int64_t kills = js_int(x, "oom_kills", -1), reports = js_int(x, "oom_reports", 0);

        if (kills >= 0) {
                if (l->oom_kills >= 0 && kills > l->oom_kills)
                        l->oom_child_wall_us = at_wall_us;
                l->oom_kills = kills;
        }
        if (reports > l->oom_reports)
                l->oom_reported_wall_us = at_wall_us;
        l->oom_reports = reports;
        l->memory_stalled = (int32_t)js_int(x, "memory_stalled", 0);
}

static void measure(struct entry *en, const json_t *x, int64_t at_wall_us)
{
        struct live *l = en->live;
        int64_t reports = js_int(x, "progress_seq", 0), log_bytes = js_int(x, "log_bytes", 0);

        memory_trouble(l, x, at_wall_us);
        if (js_int(x, "cpu_us", -1) >= 0)
                peak(l, at_wall_us, js_int(x, "cpu_us", -1));
        l->cpu_us = js_int(x, "cpu_us", -1);
        l->memory_bytes = js_int(x, "memory_bytes", -1);
        if (l->memory_bytes >= js_int(x, "memory_reclaimable_bytes", 0))
                l->memory_used_bytes = l->memory_bytes - js_int(x, "memory_reclaimable_bytes", 0);
        l->memory_peak_bytes = js_int(x, "memory_peak_bytes", -1);
        l->measured_wall_us = at_wall_us;
        if (reports > l->progress_seq || (reports == 0 && log_bytes > l->log_bytes))
                l->progress_wall_us = at_wall_us;
        if (l->progress_wall_us < 0)
                l->progress_wall_us = at_wall_us; /* what came before our start was not seen: the quiet begins here */
        l->ever_reported = l->ever_reported || reports > 0;
        l->progress_seq = reports;
        l->log_bytes = log_bytes;
        (void)str_format(l->progress, sizeof l->progress, "%s", js_str(x, "progress", ""));
        if (l->cpu_us >= 0)
                sample_add(l, at_wall_us, l->cpu_us);
        else
                l->samples_n = 0;
}

void observe_measures(struct engine *e, struct mach *m, const json_t *event)
{
        int64_t at = now_wall(e);
        size_t i;
        json_t *x;

        clock_watch(e);

        json_array_foreach (json_object_get(event, "items"), i, x) {
                struct id id;
                struct entry *en = id_parse(ID_JOB, js_str(x, "job", ""), &id) ? jobs_find(e, id) : NULL;

                if (en && en->live && en->live->machine == m &&
                        en->job.generation == (uint32_t)js_int(x, "generation", 0))
                        measure(en, x, at);
        }
}
