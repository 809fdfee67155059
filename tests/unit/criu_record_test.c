/* SPDX-License-Identifier: Apache-2.0 */
/* The capture criu: does a machine fit what was saved, and a restored process what its job may do? */
#include "base/base.h"
#include "check.h"
#include "log.h"
#include "meta.h"
#include "tap.h"

static json_t *machine(const char *arch, const char *kernel, const char *criu, const char *feature)
{
        return json_pack("{s:i, s:s, s:s, s:s, s:s, s:[s, s]}", "format", 1, "arch", arch, "kernel", kernel, "criu",
                criu, "crun", "1.21", "cpu", "sse2", feature);
}

static void test_fits(void)
{
        static const struct {
                const char *name, *arch, *kernel, *criu, *feature;
                int want;
                const char *says;
        } rows[] = {
                { "the same machine", "x86_64", "6.18.5", "4.1.1", "avx", 0, "" },
                { "an older kernel at the save", "x86_64", "6.9.0", "4.1.1", "avx", 0, "" },
                { "an older criu at the save", "x86_64", "6.18.5", "3.19", "avx", 0, "" },
                { "a newer kernel at the save", "x86_64", "6.19.0", "4.1.1", "avx", -PD_E_UNSUPPORTED,
                        "kernel 6.19.0" },
                { "a newer criu at the save", "x86_64", "6.18.5", "4.2", "avx", -PD_E_UNSUPPORTED, "criu 4.2" },
                { "another architecture", "aarch64", "6.18.5", "4.1.1", "avx", -PD_E_UNSUPPORTED, "aarch64" },
                { "a CPU feature that is not here", "x86_64", "6.18.5", "4.1.1", "avx512f", -PD_E_UNSUPPORTED,
                        "avx512f" },
        };
        json_t *here = machine("x86_64", "6.18.5", "4.1.1", "avx"), *other = json_object();
        struct pd_error err;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_t *saved = machine(rows[i].arch, rows[i].kernel, rows[i].criu, rows[i].feature);

                err = (struct pd_error){ 0 };
                tap_int(meta_fits(saved, here, &err), rows[i].want, rows[i].name);
                tap_has(err.text, rows[i].says, "... says so");
                json_decref(saved);
        }
        tap_int(meta_fits(other, here, &err), -PD_E_CORRUPT, "no record is no fit");
        json_decref(here);
        json_decref(other);
        here = meta_here("4.1.1", "1.21", &err);
        tap_int(meta_fits(here, here, &err), 0, "this machine fits itself");
        tap_ok(json_array_size(json_object_get(here, "cpu")) > 5, "its CPU has features");
        json_decref(here);
}

static void test_process(void)
{
        json_t *config = json_pack("{s:{s:{s:[s, s]}, s:b}, s:{s:{}, s:[{s:i, s:i}]}}", "process", "capabilities",
                "bounding", "CAP_CHOWN", "CAP_KILL", "noNewPrivileges", 1, "linux", "seccomp", "uidMappings", "hostID",
                1000, "size", 10);
        const struct parse_status good = { .state = 'T',
                .bounding = 1 << 0 | 1 << 5,
                .permitted = 1 << 5,
                .seccomp = 2,
                .filters = 1,
                .no_new_privs = true,
                .uid = { 1000, 1001, 1009, 1000 },
                .gid = { 1000, 1000, 1000, 1000 } };
        struct parse_status s = good;
        struct pd_error err;

        tap_int(check_process(config, &s, 1000, 10, &err), 0, "a process as the job's record has it");
        s.effective = UINT64_C(1) << 21;
        tap_int(check_process(config, &s, 1000, 10, &err), -PD_E_CORRUPT, "one with a capability more");
        s = good, s.seccomp = 0, s.filters = 0;
        tap_int(check_process(config, &s, 1000, 10, &err), -PD_E_CORRUPT, "one without the seccomp filter");
        s = good, s.no_new_privs = false;
        tap_int(check_process(config, &s, 1000, 10, &err), -PD_E_CORRUPT, "one that may gain privileges");
        s = good, s.uid[1] = 0;
        tap_int(check_process(config, &s, 1000, 10, &err), -PD_E_CORRUPT, "one that is root outside");
        s = good, s.gid[3] = 1010;
        tap_int(check_process(config, &s, 1000, 10, &err), -PD_E_CORRUPT, "one of a group behind the range");
        tap_int(check_process(config, &s, 0, 0, &err), 0, "without a user namespace there is no range");
        json_decref(config);
}

static void test_words(void)
{
        const char *type;

        tap_has(log_fix("inet: Connected TCP socket, consider using --tcp-established option.", &type), "connect again",
                "P-21 criu's words are told with a fix");
        tap_str(type, "established TCP connection", "... and a type");
        tap_ok(*log_fix("something else", &type) && *type, "P-21 so are words that nobody knows");
        tap_ok(log_harmless("rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted") &&
                        !log_harmless("mnt: No parent found"),
                "what criu survives is no refusal");
}

int main(void)
{
        test_fits();
        test_process();
        test_words();
        return tap_done();
}
