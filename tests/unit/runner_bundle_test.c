/* SPDX-License-Identifier: Apache-2.0 */
/* The container's bundle: whole, against a golden file; and what of it differs with an order. */
#include "runner/bundle.h"
#include "runner/io.h"
#include "tap.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/unit/runner_bundle.json"

static json_t *args, *env;

static struct bundle plain(void)
{
        return (struct bundle){ .job = "job_00000000000000000000000001",
                .hostname = "train",
                .rootfs = "/state/g1/rootfs",
                .args = args,
                .env = env,
                .workdir = "/",
                .portal_dir = "/state/portal",
                .checkpoint_dir = "/state/checkpoint",
                .cgroup = "/base/jobs/x/payload",
                .id_base = 1000000,
                .cgroup2_ro = true,
                .resolv_conf = true,
                .shm_bytes = 67108864,
                .nofile_max = 1024,
                .oom_score_adj = 100 };
}

static json_t *made(const struct bundle *b)
{
        json_t *o = NULL;
        struct pd_error err = { 0 };

        if (bundle_make(b, &o, &err) < 0)
                tap_note("%s", err.text);
        return o;
}

/* Architectures differ from machine to machine, the rest does not. */
static void test_golden(void)
{
        struct bundle b = plain();
        js_owned *got = made(&b);
        js_owned *want = NULL;
        struct pd_error err;

        (void)json_object_del(json_object_get(json_object_get(got, "linux"), "seccomp"), "architectures");
        if (getenv("UPDATE_GOLDEN")) {
                pd_cleanup(freep) char *text = json_dumps(got, JSON_INDENT(1) | JSON_SORT_KEYS);

                (void)disk_write(GOLDEN, text, strlen(text), 0644, &err);
        }
        tap_ok(disk_read_json(GOLDEN, &want, &err) == 0 && json_equal(got, want),
                "the bundle is the golden one (UPDATE_GOLDEN=1 writes it anew)");
}

static bool has_namespace(const json_t *o, const char *type)
{
        const json_t *n;
        size_t i;

        json_array_foreach (json_object_get(json_object_get(o, "linux"), "namespaces"), i, n)
                if (streq(js_str(n, "type", ""), type))
                        return true;
        return false;
}

static bool mounts_sysfs(const json_t *o)
{
        const json_t *m;
        size_t i;

        json_array_foreach (json_object_get(o, "mounts"), i, m)
                if (streq(js_str(m, "destination", ""), "/sys"))
                        return streq(js_str(m, "type", ""), "sysfs");
        return false;
}

static void test_variants(void)
{
        struct bundle b = plain();
        js_owned *host = made(&b);
        js_owned *own = NULL;
        js_owned *root = NULL;

        tap_ok(has_namespace(host, "user") && !has_namespace(host, "network"),
                "a user namespace, the machine's network");
        tap_ok(!mounts_sysfs(host), "then /sys is the machine's, read-only");
        b.own_network = true;
        own = made(&b);
        tap_ok(has_namespace(own, "network") && mounts_sysfs(own), "network none: a namespace and a sysfs of its own");
        b = plain();
        b.id_base = 0;
        root = made(&b);
        tap_ok(!has_namespace(root, "user") && !json_object_get(json_object_get(root, "linux"), "uidMappings"),
                "no range of ids: no user namespace, no mapping");
        tap_ok(js_bool(json_object_get(root, "process"), "noNewPrivileges", false), "no new privileges there either");
}

static const struct {
        const char *name, *args, *env, *mounts, *workdir, *says;
} bad[] = {
        { "no command at all", "[]", "{}", "[]", "/", "no command" },
        { "a command word that is a number", "[1]", "{}", "[]", "/", "word 1" },
        { "a variable with = in its name", "[\"a\"]", "{\"A=B\": \"c\"}", "[]", "/", "A=B" },
        { "a variable that is a number", "[\"a\"]", "{\"N\": 1}", "[]", "/", "\"N\"" },
        { "a mount onto /", "[\"a\"]", "{}", "[{\"source\": \"/srv\", \"target\": \"/\"}]", "/", "/srv" },
        { "a mount with ..", "[\"a\"]", "{}", "[{\"source\": \"/srv\", \"target\": \"/a/../..\"}]", "/", "absolute" },
        { "a relative mount", "[\"a\"]", "{}", "[{\"source\": \"srv\", \"target\": \"/a\"}]", "/", "absolute" },
        { "a relative working directory", "[\"a\"]", "{}", "[]", "here", "here" },
};

static void test_bad(void)
{
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                js_owned *a = json_loads(bad[i].args, 0, NULL);
                js_owned *e = json_loads(bad[i].env, 0, NULL);
                js_owned *m = json_loads(bad[i].mounts, 0, NULL);
                struct bundle b = plain();
                struct pd_error err = { 0 };
                json_t *o = NULL;

                b.args = a;
                b.env = e;
                b.mounts = m;
                b.workdir = bad[i].workdir;
                tap_ok(bundle_make(&b, &o, &err) == -PD_E_INVALID && !o, "refused: %s", bad[i].name);
                tap_has(err.text, bad[i].says, "and the sentence says what");
        }
}

/* What a job must never be able to call. */
static const char *const forbidden[] = { "mount", "umount2", "unshare", "setns", "pivot_root", "init_module",
        "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "bpf", "perf_event_open",
        "userfaultfd", "io_uring_setup", "open_by_handle_at", "keyctl", "add_key", "request_key", "swapon",
        "clock_settime", "settimeofday", "acct", "quotactl", "move_mount", "fsopen", "open_tree", "mount_setattr",
        "iopl", "ioperm", "lookup_dcookie", "syslog", "vhangup", "sethostname", "move_pages", "mbind" };

static void test_seccomp(void)
{
        js_owned *s = seccomp_default();
        const json_t *rule, *name;
        size_t i, k;
        int found = 0;

        tap_str(js_str(s, "defaultAction", ""), "SCMP_ACT_ERRNO", "a system call that is not on the list fails");
        json_array_foreach (json_object_get(s, "syscalls"), i, rule)
                json_array_foreach (json_object_get(rule, "names"), k, name)
                        for (size_t f = 0; f < ARRAY_LEN(forbidden); f++) {
                                if (!streq(json_string_value(name), forbidden[f]))
                                        continue;
                                found++;
                                tap_note("%s is allowed", forbidden[f]);
                        }
        tap_int(found, 0, "nothing that reaches past a container is on it");
}

int main(void)
{
        args = json_pack("[s, s]", "python3", "train.py");
        env = json_pack("{s:s, s:s}", "A", "1", "PATH", "/bin");
        test_golden();
        test_variants();
        test_bad();
        test_seccomp();
        json_decref(args);
        json_decref(env);
        return tap_done();
}
