/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine and its runtime can do, and what `hello` says of it. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/log.h"
#include "runner/runner.h"

void caps_note(struct runner *r, const char *fmt, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        (void)json_array_append_new(r->notes, json_string(text));
        log_info("%s", text);
}

static char *find_program(const char *name)
{
        static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin",
                "/bin" };

        for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
                char *path = path_fmt("%s/%s", dirs[i], name);

                if (path && access(path, X_OK) == 0)
                        return path;
                free(path);
        }
        return NULL;
}

struct candidate {
        char *path;
        char version[48];
        bool works, checkpoint;
};

/* "runc version 1.1.5+ds1" -> "1.1.5+ds1" */
static void look_at(struct candidate *c, bool criu)
{
        const char *argv[] = { c->path, "--version", NULL };
        char out[4096];
        struct pd_error err;
        const char *v;

        c->works = c->path && proc_run_now(argv, 10 * USEC_PER_SEC, out, sizeof out, &err) == 0;
        if (!c->works)
                return;
        v = strstr(out, "version ");
        (void)str_format(c->version, sizeof c->version, "%.*s", v ? (int)strcspn(v + 8, "\n ") : 0, v ? v + 8 : "");
        c->checkpoint = criu && (strstr(out, "crun") == NULL || strstr(out, "+CRIU"));
}

/* `criu check` really tries the kernel; its version says nothing. */
static bool criu_works(void)
{
        pd_cleanup(freep) char *path = find_program("criu");
        const char *argv[] = { path, "check", NULL };
        char out[4096];
        struct pd_error err;

        return path && proc_run_now(argv, 30 * USEC_PER_SEC, out, sizeof out, &err) == 0;
}

static int take(struct runner *r, struct candidate *c, const char *name)
{
        r->rt.path = pd_steal(c->path);
        r->rt.checkpoint = c->checkpoint;
        (void)str_format(r->rt.name, sizeof r->rt.name, "%s", name);
        (void)str_format(r->rt.version, sizeof r->rt.version, "%s", c->version);
        log_info("OCI runtime: %s %s%s", r->rt.path, r->rt.version, r->rt.checkpoint ? ", can checkpoint" : "");
        return 0;
}

static int find_conmon(struct runner *r, struct pd_error *err)
{
        char *path = strchr(r->cfg.conmon, '/') ? strdup(r->cfg.conmon) : find_program(r->cfg.conmon);

        if (!path || access(path, X_OK) < 0) {
                free(path);
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "%s is not installed here: it keeps the containers (apt install conmon)", r->cfg.conmon);
        }
        free(r->cfg.conmon);
        r->cfg.conmon = path;
        return 0;
}

void caps_note_tools(struct runner *r)
{
        static const struct {
                const char *program, *what;
        } tools[] = { { "umoci", "oci: and docker:// images cannot be unpacked" },
                { "skopeo", "docker:// images cannot be fetched" } };

        for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
                pd_cleanup(freep) char *path = find_program(tools[i].program);

                if (!path)
                        caps_note(r, "%s is not installed: %s (apt install %s)", tools[i].program, tools[i].what,
                                tools[i].program);
        }
        caps_note(r, "disk space of a job is not limited");
}

/* The site's own choice; else crun where it can checkpoint (the capture criu goes through it); else runc, which manages more kinds of machines than crun. */
int runtime_probe(struct runner *r, struct pd_error *err)
{
        struct candidate runc = { .path = find_program("runc") }, crun = { .path = find_program("crun") };
        bool criu = criu_works();
        int r_conmon = find_conmon(r, err);

        if (r_conmon < 0) {
                free(runc.path), free(crun.path);
                return r_conmon;
        }
        if (r->cfg.runtime) {
                struct candidate own = { .path = strdup(r->cfg.runtime) };
                const char *name = strrchr(r->cfg.runtime, '/');

                free(runc.path), free(crun.path);
                look_at(&own, criu);
                if (own.works)
                        return take(r, &own, name ? name + 1 : r->cfg.runtime);
                free(own.path);
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "runner.runtime = \"%s\" cannot be run: give the path of runc or crun", r->cfg.runtime);
        }
        look_at(&runc, criu);
        look_at(&crun, criu);
        if (crun.works && (!runc.works || crun.checkpoint))
                (void)take(r, &crun, "crun");
        else if (runc.works)
                (void)take(r, &runc, "runc");
        free(runc.path), free(crun.path);
        if (!r->rt.path)
                return pd_fail(err, PD_E_UNSUPPORTED,
                        "neither runc nor crun is installed here: install one (apt install runc)");
        return 0;
}

int runtime_delete_now(struct runner *r, const char *unit, struct pd_error *err)
{
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", r->cfg.state_dir);
        const char *argv[] = { r->rt.path, "--root", root, "delete", "--force", unit, NULL };
        char out[1024];

        return root ? proc_run_now(argv, SHORT_US, out, sizeof out, err) : pd_fail(err, PD_E_NOMEM, "no memory");
}

int runtime_status(const struct job *j, char *ret, size_t n, struct pd_error *err)
{
        pd_cleanup(freep) char *root = path_fmt("%s/runtime", j->r->cfg.state_dir);
        pd_cleanup(freep) char *unit = job_unit(j);
        const char *argv[] = { j->r->rt.path, "--root", root, "state", unit, NULL };
        js_owned *o = NULL;
        char out[8192];
        int r;

        if (!root || !unit)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        r = proc_run_now(argv, SHORT_US, out, sizeof out, err);
        if (r < 0)
                return r;
        if (r > 0 || js_parse(out, strlen(out), &o, err) < 0)
                return pd_fail(err, PD_E_NOT_FOUND, "the runtime does not know %s", unit);
        (void)str_format(ret, n, "%s", js_str(o, "status", ""));
        return 0;
}

static json_t *controllers(const struct runner *r)
{
        json_t *list = json_array();
        const struct {
                const char *name;
                bool there;
        } rows[] = { { "cpu", r->cg.cpu }, { "memory", r->cg.memory }, { "io", r->cg.io }, { "pids", r->cg.pids } };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (rows[i].there)
                        (void)json_array_append_new(list, json_string(rows[i].name));
        return list;
}

static json_t *caps(struct runner *r)
{
        struct sysinfo si = { 0 };
        struct statvfs fs = { 0 };
        json_t *runtime, *limits;

        (void)sysinfo(&si);
        (void)statvfs(r->cfg.state_dir, &fs);
        runtime = json_pack("{s:s, s:s, s:s, s:b}", "name", r->rt.name, "version", r->rt.version, "path", r->rt.path,
                "checkpoint", r->rt.checkpoint);
        limits = json_pack(
                "{s:b, s:b, s:b, s:b}", "cpu", r->cg.cpu, "memory", r->cg.memory, "io", r->cg.io, "pids", r->cg.pids);
        return json_pack("{s:I, s:I, s:I, s:i, s:o, s:b, s:o, s:o, s:O, s:O}", "cpu_milli",
                (json_int_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000, "memory_bytes",
                (json_int_t)si.totalram * (json_int_t)si.mem_unit, "disk_bytes",
                (json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize, "gpus", 0, "runtime", runtime, "userns",
                r->cfg.user_ns, "limits", limits, "controllers", controllers(r), "captures", r->captures, "notes",
                r->notes);
}

json_t *caps_hello(struct runner *r)
{
        return json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:o, s:I, s:I, s:I}", "version", FRAME_VERSION,
                "runner_version", PORTALD_VERSION, "boot_id", r->boot_id, "machine_id", r->machine_id, "now_wall_us",
                (json_int_t)now_wall_us(), "now_boot_us", (json_int_t)now_boot_us(), "caps", caps(r), "stop_wall_us",
                (json_int_t)r->stop_wall_us, "stop_boot_us", (json_int_t)r->stop_boot_us, "notice_wall_us",
                (json_int_t)r->notice_wall_us);
}
