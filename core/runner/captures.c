/* SPDX-License-Identifier: Apache-2.0 */
/* Captures and vaults: what they are told of a container, and their processes, one a job. */
#include <dirent.h>
#include <string.h>

#include <portald/checkpoint.h>

#include "base/log.h"
#include "runner/runner.h"

json_t *capture_container(const struct job *j)
{
        pd_cleanup(freep) char *unit = job_unit(j);
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", j->r->cfg.state_dir);
        pd_cleanup(freep) char *bundle = job_gen(j, "bundle");
        pd_cleanup(freep) char *cgroup = unit ? cgroup_dir(&j->r->cg, unit, "payload") : NULL;
        pd_cleanup(freep) char *dir = job_file(j, "checkpoint");
        pd_cleanup(freep) char *sock = job_file(j, "portal/job.sock");
        json_t *settings = json_object_get(json_object_get(j->order, "capture"), "settings");
        uint32_t base = job_id_base(j);

        if (!unit || !root || !bundle || !cgroup || !dir || !sock)
                return NULL;
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:O}", "id", unit,
                "runtime", j->r->rt.path, "runtime_root", root, "bundle", bundle, "cgroup", cgroup, "job", j->id,
                "generation", (json_int_t)j->generation, "pid", (json_int_t)j->pid, "uid", (json_int_t)base, "gid",
                (json_int_t)base, "job_dir", dir, "job_dir_inside", "/run/portal/checkpoint", "socket_path", sock,
                "settings", settings ? settings : json_null());
}

static int open_plugin(struct runner *r, const json_t *what, enum pd_kind kind, const json_t *config, struct host **ret,
        struct pd_error *err)
{
        struct host_params p = { .name = js_str(what, "name", "?"),
                .path = js_str(what, "path", ""),
                .kind = kind,
                .config = config,
                .isolation = HOST_PROCESS,
                .program = r->cfg.plugin_host };

        return host_open(ret, r->loop, &p, err);
}

int capture_open(struct job *j, const char *which, struct host **slot, struct pd_error *err)
{
        const json_t *what = json_object_get(j->order, which);
        bool vault = streq(which, "vault");

        if (*slot)
                return 0;
        if (!json_is_object(what))
                return pd_fail(err, PD_E_UNSUPPORTED, "this job has no %s: it cannot be saved",
                        vault ? "place for checkpoints" : "capture");
        return open_plugin(j->r, what, vault ? PD_KIND_VAULT : PD_KIND_CHECKPOINT,
                vault ? json_object_get(what, "settings") : NULL, slot, err);
}

json_t *capture_values(const json_t *items)
{
        json_t *list = json_array();
        const json_t *v;
        size_t i;

        json_array_foreach ((json_t *)(uintptr_t)items, i, v)
                (void)json_array_append_new(list,
                        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "path", js_str(v, "path", ""), "type",
                                js_str(v, "type", ""), "reason", js_str(v, "reason", ""), "fix", js_str(v, "fix", ""),
                                "pid", (json_int_t)js_int(v, "pid", 0), "fd", (json_int_t)js_int(v, "fd", -1)));
        return list;
}

/* One capture of the plugin folder, being asked whether it works here. */
struct probe {
        struct runner *r;
        struct host *host;
        sd_event_source *soon;
        char name[64];
};

static int on_probe_end(sd_event_source *s, uint64_t usec, void *arg)
{
        struct probe *p = arg;

        (void)s, (void)usec;
        p->host = host_free(p->host); /* not from inside its own callback */
        sd_event_source_disable_unref(p->soon);
        free(p);
        return 0;
}

static void record(struct runner *r, const char *name, const struct pd_error *why)
{
        (void)json_object_set_new(
                r->captures, name, json_pack("{s:b, s:s}", "usable", !why, "why", why ? why->text : ""));
}

/* A capture that cannot carry a user namespace is of no use where the site gives one to each job. */
static void on_caps(void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct probe *p = arg;
        struct pd_error why = { 0 };

        (void)items, (void)text;
        p->r->probing--;
        if (err)
                why = *err;
        else if (p->r->cfg.user_ns && !(js_int(ret, "flags", 0) & PD_CAPTURE_USERNS) &&
                 !(streq(p->name, "criu") && p->r->cfg.criu_without_user_ns))
                (void)pd_fail(&why, PD_E_UNSUPPORTED,
                        "it cannot carry a user namespace, and the site gives one to each job "
                        "(runner.%s_without_user_ns = true allows to leave it out)",
                        p->name);
        record(p->r, p->name, why.code ? &why : NULL);
        if (why.code)
                log_info("capture %s cannot be used here: %s", p->name, why.text);
        if (sd_event_add_time_relative(p->r->loop, &p->soon, CLOCK_BOOTTIME, 0, 1, on_probe_end, p) < 0)
                free(p);
}

static void on_probed(void *arg, const struct pd_error *err, const json_t *ret, const json_t *items, const json_t *text)
{
        struct probe *p = arg;

        struct pd_error why;

        (void)ret, (void)items, (void)text;
        if (!err && host_call(p->host, "caps", NULL, NULL, 0, NULL, SHORT_US, on_caps, p, &why) == 0)
                return;
        p->r->probing--;
        record(p->r, p->name, err ? err : &why);
        if (err)
                log_info("capture %s cannot be used here: %s", p->name, err->text);
        if (sd_event_add_time_relative(p->r->loop, &p->soon, CLOCK_BOOTTIME, 0, 1, on_probe_end, p) < 0)
                free(p);
}

static void probe_one(struct runner *r, const char *file, const char *name)
{
        pd_cleanup(freep) char *path = path_fmt("%s/%s", r->cfg.plugin_dir, file);
        js_owned *what = json_pack("{s:s, s:s}", "name", name, "path", str_or(path, ""));
        struct probe *p = calloc(1, sizeof *p);
        struct pd_error err;

        if (!p || !path) {
                free(p);
                return;
        }
        p->r = r;
        (void)str_format(p->name, sizeof p->name, "%s", name);
        (void)pd_fail(&err, PD_E_DEADLINE, "it has not answered yet");
        record(r, name, &err);
        if (open_plugin(r, what, PD_KIND_CHECKPOINT, NULL, &p->host, &err) == 0 &&
                host_call(p->host, "probe", NULL, NULL, 0, NULL, SHORT_US, on_probed, p, &err) == 0) {
                r->probing++;
                return;
        }
        record(r, name, &err);
        (void)host_free(p->host);
        free(p);
}

int captures_probe(struct runner *r, struct pd_error *err)
{
        struct dirent **list = NULL;
        int n = scandir(r->cfg.plugin_dir, &list, NULL, alphasort);

        json_decref(r->captures);
        r->captures = json_object();
        if (!r->captures)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        for (int i = 0; i < n; i++) {
                const char *file = list[i]->d_name, *end = strrchr(file, '.');
                char name[64];

                if (str_starts(file, "checkpoint-") && end && streq(end, ".so") &&
                        str_format(name, sizeof name, "%.*s", (int)(end - file - 11), file + 11))
                        probe_one(r, file, name);
                free(list[i]);
        }
        free(list);
        for (int64_t until = now_boot_us() + PROBE_US; r->probing > 0 && now_boot_us() < until;)
                if (sd_event_run(r->loop, (uint64_t)USEC_PER_SEC / 5) < 0)
                        return pd_fail(err, PD_E_INTERNAL, "the event loop failed while captures were tried");
        return 0;
}
