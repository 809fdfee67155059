/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "proc.h"
#include "run.h"

#define STEP_US INT64_C(15000000)
#define COUNTS_US INT64_C(5000000)
#define KEY_MAX 200

int gate_tools(struct gate_tools *ret, struct pd_error *err)
{
        if (!run_find("criu", ret->criu, sizeof ret->criu))
                return pd_fail(err, PD_E_UNSUPPORTED, "criu is not installed (apt install criu)");
        if (!run_find("crun", ret->crun, sizeof ret->crun))
                return pd_fail(err, PD_E_UNSUPPORTED, "crun is not installed (apt install crun)");
        return 0;
}

/* ---- what is remembered ---- */

static int digest_file(const char *path, gnutls_hash_hd_t hash, struct pd_error *err)
{
        pd_cleanup(capture_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        char buf[65536];
        ssize_t n = -1;

        while (fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0)
                (void)gnutls_hash(hash, buf, (size_t)n);
        return n == 0 ? 0 : pd_fail(err, PD_E_IO, "reading %.100s: %s", path, strerror(errno));
}

/* "BOOT_ID SHA256": of both programs together. */
static int make_key(const struct gate_tools *t, char ret[KEY_MAX], struct pd_error *err)
{
        char *boot = proc_text("/proc/sys/kernel/random/boot_id");
        unsigned char sum[32];
        gnutls_hash_hd_t hash;
        int r = 0, n;

        if (!boot || gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0) {
                free(boot);
                return pd_fail(err, PD_E_IO, "this boot has no id");
        }
        r = digest_file(t->criu, hash, err);
        if (r == 0)
                r = digest_file(t->crun, hash, err);
        gnutls_hash_deinit(hash, sum);
        n = snprintf(ret, KEY_MAX, "%.36s ", boot);
        for (size_t i = 0; i < sizeof sum; i++)
                n += snprintf(ret + n, (size_t)(KEY_MAX - n), "%02x", sum[i]);
        free(boot);
        return r;
}

static bool remembered(const char *dir, const char *key)
{
        char *text = proc_text("%s/gate", dir);
        bool same = text && strcmp(text, key) == 0;

        free(text);
        return same;
}

/* A note that cannot be kept costs a second canary, no more. */
static void remember(const char *dir, const char *key)
{
        char path[300];
        int fd;

        (void)snprintf(path, sizeof path, "%s/gate", dir);
        (void)unlink(path);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 && write(fd, key, strlen(key)) != (ssize_t)strlen(key))
                (void)unlink(path);
        capture_closep(&fd);
}

/* ---- the canary ---- */

struct canary {
        char dir[300], log[400], nonce[17];
        const char *criu;
        long pid;
};

static int run_tool(struct pd_call *call, const char *const *argv, bool keeps, const char *what, const char *log,
        struct run_result *res, struct pd_error *err)
{
        int r = run_program(call, &(struct run_spec){ .argv = argv, .timeout_us = STEP_US, .keeps = keeps }, res, err);
        char why[200];

        if (r < 0)
                return r;
        if (res->timed_out)
                return pd_fail(err, PD_E_UNSUPPORTED, "%s had not ended after %d s", what, (int)(STEP_US / 1000000));
        if (WIFEXITED(res->status) && WEXITSTATUS(res->status) == 0)
                return 0;
        log_first_error(log, res->tail, why, sizeof why);
        return pd_fail(err, PD_E_UNSUPPORTED, "%s fails on this kernel: %.150s", what, why);
}

/* How far it has counted, -1 = it does not say (it is just writing, or another wrote). */
static int64_t counted(const struct canary *k)
{
        char *text = proc_text("%s/count", k->dir);
        char nonce[17];
        int64_t n = -1;

        if (!text || sscanf(text, "%16s %" SCNd64, nonce, &n) != 2 || strcmp(nonce, k->nonce) != 0)
                n = -1;
        free(text);
        return n;
}

static int counts_on(struct pd_call *call, const struct canary *k, int64_t from, int64_t *ret, struct pd_error *err)
{
        int64_t until = capture_until(call, COUNTS_US);

        for (;;) {
                int64_t n = counted(k);
                int r;

                if (n > from) {
                        *ret = n;
                        return 0;
                }
                if (capture_now(call) >= until)
                        return pd_fail(err, PD_E_UNSUPPORTED, "a small process that criu %s does not run on",
                                from > 0 ? "restored" : "was to dump");
                r = capture_wait(call, -1, 0, capture_until(call, 20000), err);
                if (r < 0)
                        return r;
        }
}

/* The nonce and the count are in its memory only; the file is written anew each time. */
static int start(struct pd_call *call, struct canary *k, struct pd_error *err)
{
        char script[900];
        const char *argv[] = { "/bin/sh", "-c", script, NULL };
        struct run_result res;
        uint64_t random = 0;
        int r;

        (void)!getrandom(&random, sizeof random, 0);
        (void)snprintf(k->nonce, sizeof k->nonce, "%016" PRIx64, random);
        (void)snprintf(script, sizeof script,
                "cd '%s' && setsid /bin/sh -c 'n=0; k=%s; while n=$((n+1)); do echo $k $n >count; sleep 0.02; done' "
                "</dev/null >/dev/null 2>&1 & echo $!",
                k->dir, k->nonce);
        r = run_tool(call, argv, true, "starting a small process", NULL, &res, err);
        k->pid = r == 0 ? strtol(res.tail, NULL, 10) : 0;
        return r;
}

static int fly(struct pd_call *call, struct canary *k, struct pd_error *err)
{
        char pid[16];
        const char *dump[] = { k->criu, "dump", "-t", pid, "-D", k->dir, "-o", "log", "--manage-cgroups=ignore", NULL };
        const char *restore[] = { k->criu, "restore", "-d", "-D", k->dir, "-o", "log", "--manage-cgroups=ignore",
                NULL };
        struct run_result res;
        int64_t before = 0, after;
        int r = start(call, k, err);

        (void)snprintf(pid, sizeof pid, "%ld", k->pid);
        if (r == 0)
                r = counts_on(call, k, 0, &before, err);
        if (r == 0)
                r = run_tool(call, dump, false, "criu dump", k->log, &res, err);
        if (r == 0)
                r = run_tool(call, restore, true, "criu restore", k->log, &res, err);
        if (r == 0)
                r = counts_on(call, k, before > counted(k) ? before : counted(k), &after, err);
        if (k->pid > 1)
                (void)kill(-(pid_t)k->pid, SIGKILL); /* its session's group; the same number after a restore */
        return r;
}

static int canary(struct pd_call *call, const char *criu, const char *dir, struct pd_error *err)
{
        struct canary k = { .criu = criu };
        pd_cleanup(capture_closep) int fd = -1;
        int r;

        (void)snprintf(k.dir, sizeof k.dir, "%s/canary.XXXXXX", dir);
        if (!mkdtemp(k.dir))
                return pd_fail(err, PD_E_IO, "cannot make %.150s: %s", k.dir, strerror(errno));
        (void)snprintf(k.log, sizeof k.log, "%s/log", k.dir);
        r = fly(call, &k, err);
        if (capture_open_dir(k.dir, &fd, NULL) == 0)
                (void)capture_clear(fd, NULL);
        (void)rmdir(k.dir);
        return r;
}

int gate_open(struct pd_call *call, const char *dir, struct pd_error *err)
{
        struct gate_tools t;
        struct run_result res;
        char key[KEY_MAX];
        const char *check[] = { t.criu, "check", NULL };
        const char *version[] = { t.crun, "--version", NULL };
        int r = gate_tools(&t, err);

        if (r == 0 && mkdir(dir, 0700) < 0 && errno != EEXIST)
                r = pd_fail(err, PD_E_IO, "cannot make %.150s: %s", dir, strerror(errno));
        if (r == 0)
                r = make_key(&t, key, err);
        if (r < 0 || remembered(dir, key))
                return r;
        r = run_tool(call, check, false, "criu check", NULL, &res, err);
        if (r == 0)
                r = run_tool(call, version, false, "crun", NULL, &res, err);
        if (r == 0 && !strstr(res.tail, "+CRIU"))
                r = pd_fail(err, PD_E_UNSUPPORTED, "this crun was built without CRIU support (Debian 13's has it)");
        if (r == 0)
                r = canary(call, t.criu, dir, err);
        if (r == 0)
                remember(dir, key);
        return r;
}
