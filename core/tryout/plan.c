/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be tried: jobs, settings, prices; from files, or from what the API said. */
#include "tryout/tryout.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>

#include "spec/spec.h"
#include "trace.h"

#define FILE_MAX (INT64_C(512) << 20)
#define LIBERTIES (4 * USEC_PER_HOUR) /* a market that is made up goes on for longer than its jobs need */

void try_plan_clear(struct try_plan *p)
{
        vec_foreach (j, &p->jobs) {
                json_decref(j->spec);
                json_decref(j->settings);
        }
        vec_foreach (v, &p->variants)
                json_decref(v->settings);
        vec_free(&p->jobs);
        vec_free(&p->variants);
        json_decref(p->cloud);
        *p = (struct try_plan){ 0 };
}

static int read_file(const char *path, char **ret, size_t *ret_n, struct pd_error *err)
{
        FILE *f = fopen(path, "re");
        size_t n = 0, room = 0;
        char *text = NULL;
        bool whole;

        if (!f)
                return pd_fail(err, PD_E_NOT_FOUND, "%s cannot be read: %s", path, strerror(errno));
        do {
                char *more = n + 65536 + 1 > room ? realloc(text, room = 2 * room + 65536 + 1) : text;

                if (!more || n > FILE_MAX)
                        break;
                text = more;
                n += fread(text + n, 1, room - n - 1, f);
        } while (!feof(f) && !ferror(f));
        whole = feof(f) && !ferror(f);
        (void)fclose(f);
        if (!whole) {
                free(text);
                return pd_fail(err, PD_E_IO, "%s cannot be read whole: it may have at most 512 MiB", path);
        }
        text[n] = '\0';
        *ret = text;
        *ret_n = n;
        return 0;
}

/* --- settings --- */
static int read_settings(const char *path, char *text, json_t *settings, struct pd_error *err)
{
        char *save;
        int n = 0;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                struct pd_error why;

                n++;
                line += strspn(line, " \t");
                line[strcspn(line, "#\r")] = '\0';
                for (size_t end = strlen(line); end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'); end--)
                        line[end - 1] = '\0';
                if (*line && setting_set(settings, line, &why) < 0)
                        return pd_fail(err, PD_E_INVALID, "%s: \"%.60s\": %s", path, line, why.text);
        }
        return n;
}

int try_add_variant(struct try_plan *p, const char *path, struct pd_error *err)
{
        struct try_variant v = { .name = "as built in", .settings = json_object() };
        pd_cleanup(freep) char *text = NULL, *copy = path ? strdup(path) : NULL;
        size_t n;

        if (path && (!copy || read_file(path, &text, &n, err) < 0 || read_settings(path, text, v.settings, err) < 0)) {
                json_decref(v.settings);
                return copy ? -(int)err->code : pd_fail(err, PD_E_NOMEM, "settings");
        }
        if (path)
                (void)str_format(v.name, sizeof v.name, "%.64s", basename(copy));
        if (!vec_push(&p->variants, v)) {
                json_decref(v.settings);
                return pd_fail(err, PD_E_NOMEM, "settings");
        }
        return 0;
}

/* --- jobs --- */
static int span_of(const json_t *job, const char *key, int64_t *ret, struct pd_error *err)
{
        const char *text = js_str(job, key, NULL);
        struct pd_error why;

        if (!json_object_get(job, key))
                return 0;
        if (!text || duration_parse(text, ret, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "job %s: \"%s\" must be a duration in quotes, as \"48h\"",
                        js_str(job, "name", "?"), key);
        return 0;
}

static json_t *spec_of(const json_t *job)
{
        static const char *const keys[] = { "cpus", "memory", "gpus", "disk", "on" };
        json_t *spec = json_pack("{s:s,s:[s],s:s}", "image", js_str(job, "image", "oci:/srv/images/job"), "command",
                "work", "checkpoint", js_str(job, "checkpoint", "values"));
        char text[QUANTITY_MAX];

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                if (json_object_get(job, keys[i]))
                        (void)json_object_set(spec, keys[i], json_object_get(job, keys[i]));
        if (js_int(job, "cpu_milli", 0) > 0) /* as the API has it */
                (void)json_object_set_new(
                        spec, "cpus", json_string(cpu_format((int32_t)js_int(job, "cpu_milli", 0), text)));
        if (js_int(job, "memory_bytes", 0) > 0)
                (void)json_object_set_new(spec, "memory",
                        json_sprintf("%lldMiB", (long long)((js_int(job, "memory_bytes", 0) + (1 << 20) - 1) >> 20)));
        return spec;
}

static int job_of(const json_t *o, size_t i, int64_t first_wall_us, struct try_job *ret, struct pd_error *err)
{
        uint64_t state = 0;
        struct pd_error why;
        const json_t *settings = json_object_get(o, "settings");
        struct try_job j = {
                .at_us = json_object_get(o, "created_wall_us") ? js_int(o, "created_wall_us", 0) - first_wall_us : 0,
                .work_us = js_int(o, "ran_us", 0)
        };

        (void)str_format(j.name, sizeof j.name, "%.50s", js_str(o, "name", "job"));
        if (json_object_get(o, "created_wall_us")) /* names of past jobs repeat */
                (void)str_format(j.name, sizeof j.name, "%.50s-%zu", js_str(o, "name", "job"), i + 1);
        if (span_of(o, "at", &j.at_us, err) < 0 || span_of(o, "work", &j.work_us, err) < 0 ||
                span_of(o, "deadline", &j.deadline_us, err) < 0)
                return -(int)err->code;
        if (js_str(o, "state", NULL) && !json_object_get(o, "created_wall_us") &&
                size_parse(js_str(o, "state", ""), &state, &why) < 0)
                return pd_fail(err, PD_E_INVALID, "job %s: \"state\": %s", j.name, why.text);
        if (js_int(json_object_get(o, "checkpoint"), "bytes", 0) > 0)
                state = (uint64_t)js_int(json_object_get(o, "checkpoint"), "bytes", 0);
        j.state_bytes = state && state < INT64_MAX ? (int64_t)state : INT64_C(1) << 30;
        if (j.work_us < USEC_PER_MIN)
                return pd_fail(
                        err, PD_E_INVALID, "job %s: \"work\" is how long it must run, one minute or more", j.name);
        j.spec = spec_of(o);
        j.settings = json_is_object(settings) && json_is_string(json_object_iter_value(
                                                         json_object_iter((json_t *)(uintptr_t)settings)))
                             ? json_deep_copy(settings)
                             : json_object();
        *ret = j;
        return 0;
}

/* What never ran has nothing to be tried. */
static bool skipped(const json_t *o)
{
        return json_object_get(o, "created_wall_us") && js_int(o, "ran_us", 0) < USEC_PER_MIN;
}

static int64_t first_of(const json_t *list)
{
        int64_t first = INT64_MAX, at;
        size_t i;
        json_t *o;

        json_array_foreach (list, i, o) {
                at = skipped(o) ? INT64_MAX : js_int(o, "created_wall_us", INT64_MAX);
                first = at < first ? at : first;
        }
        return first == INT64_MAX ? 0 : first;
}

static int add_all(struct try_plan *p, const json_t *list, struct pd_error *err)
{
        int64_t first = first_of(list);
        size_t i;
        json_t *o;

        p->first_wall_us = first;
        json_array_foreach (list, i, o) {
                struct try_job j;

                if (skipped(o))
                        continue;
                if (job_of(o, i, first, &j, err) < 0)
                        return -(int)err->code;
                if (!vec_push(&p->jobs, j))
                        return pd_fail(err, PD_E_NOMEM, "jobs");
        }
        return 0;
}

int try_add_jobs(struct try_plan *p, const char *path, struct pd_error *err)
{
        js_owned *all = NULL;
        const json_t *list;
        json_error_t e;

        all = path ? json_load_file(path, 0, &e) : json_pack("[{s:s,s:s}]", "name", "job", "work", "24h");
        if (!all)
                return pd_fail(err, PD_E_INVALID, "%s is no JSON: line %d: %s", path, e.line, e.text);
        list = json_is_array(all) ? all : json_object_get(all, "jobs");
        if (!json_is_array(list))
                return pd_fail(err, PD_E_INVALID,
                        "%s holds no list of jobs: [{\"name\": \"a\", \"work\": \"48h\", \"deadline\": \"52h\"}]",
                        path);
        if (add_all(p, list, err) < 0)
                return -(int)err->code;
        if (p->jobs.n == 0)
                return pd_fail(
                        err, PD_E_INVALID, "%s holds no job that ran: give --jobs FILE", str_or(path, "the list"));
        return 0;
}

/* --- prices --- */
static void option(struct try_plan *p, const char *key, const char *value)
{
        (void)json_object_set_new(p->cloud, key, json_string(value));
}

/* The end of what was recorded, and the beginning if that was. */
static int trace_span(const char *path, int64_t *ret_start_wall_us, int64_t *ret_end_us, struct pd_error *err)
{
        pd_cleanup(freep) char *text = NULL;
        struct trace t;
        size_t n;

        if (read_file(path, &text, &n, err) < 0 || trace_read(text, n, &t, err) < 0)
                return -(int)err->code;
        *ret_start_wall_us = t.start_wall_us;
        *ret_end_us = t.events_n ? t.events[t.events_n - 1].at_us : 0;
        trace_clear(&t);
        return 0;
}

static int64_t longest(const struct try_plan *p)
{
        int64_t most = 0;

        vec_foreach (j, &p->jobs) {
                int64_t needs = j->at_us + (j->deadline_us ? 2 * j->deadline_us : 6 * j->work_us);

                most = needs > most ? needs : most;
        }
        return most + LIBERTIES;
}

/* Past jobs in past prices: at the times that they had, as far as those lie behind the beginning. */
static void move_jobs(struct try_plan *p, int64_t start_wall_us)
{
        int64_t later = p->first_wall_us - start_wall_us;

        vec_foreach (j, &p->jobs)
                if (p->first_wall_us && start_wall_us && later > 0)
                        j->at_us += later;
}

/* Begins from_us into the trace; the plan's start is the trace's, or the world's own where it does not say. */
static int begin_at(struct try_plan *p, const char *path, int64_t from_us, int64_t to_us, struct pd_error *err)
{
        int64_t start = 0, end = 0;
        char text[64], whole[4096];

        if (trace_span(path, &start, &end, err) < 0)
                return -(int)err->code;
        if (to_us && to_us <= from_us)
                return pd_fail(err, PD_E_INVALID, "--to must lie after --from");
        if (end && from_us >= end)
                return pd_fail(err, PD_E_INVALID, "%s ends after %lld h: --from lies behind it", path,
                        (long long)(end / USEC_PER_HOUR));
        if (!start)
                start = INT64_C(1796000000) * USEC_PER_SEC;
        if (str_starts(path, "/proc/self/fd/")) /* in memory: it has no other name */
                (void)str_format(whole, sizeof whole, "%s", path);
        else if (!realpath(path, whole))
                return pd_fail(err, PD_E_NOT_FOUND, "%s: %s", path, strerror(errno));
        option(p, "trace", whole);
        (void)strcpy(strchr(time_format_utc(start - start % USEC_PER_SEC, text), '.'),
                "Z"); /* a trace's seconds are whole */
        option(p, "start", text);
        p->wall_us = start + from_us;
        p->span_us = to_us ? to_us - from_us : longest(p);
        return 0;
}

int try_set_prices(struct try_plan *p, const char *path, int64_t from_us, int64_t to_us, struct pd_error *err)
{
        char seed[32], memory[64];
        js_owned *offers = NULL;

        (void)str_format(seed, sizeof seed, "%llu", (unsigned long long)p->seed);
        p->cloud = json_pack("{s:s,s:s}", "seed", seed, "boot", "1m");
        if (!p->cloud)
                return pd_fail(err, PD_E_NOMEM, "the cloud's options");
        p->span_us = to_us ? to_us - from_us : longest(p);
        if (!path) {
                option(p, "types", "small medium large gpu gpu8");
                return to_us && to_us <= from_us ? pd_fail(err, PD_E_INVALID, "--to must lie after --from") : 0;
        }
        offers = json_load_file(path, 0, NULL);
        if (json_is_array(json_object_get(offers, "offers"))) {
                int64_t start;

                if (try_recorded_market(offers, memory, sizeof memory, &start, err) < 0)
                        return -(int)err->code;
                move_jobs(p, start ? start + from_us : 0);
                path = memory;
        }
        return begin_at(p, path, from_us, to_us, err);
}
