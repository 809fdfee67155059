/* SPDX-License-Identifier: Apache-2.0 */
/* The provider `local`: the machine that portald runs on, lent to jobs at a rate that the site sets. It was there before and it stays:
 * nothing in here starts, stops, powers off or reboots anything; the runner ends jobs, by their leases. README.md. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <portald/provider.h>

#include "config.h"

#define RUNNER_SOCKET "/run/portal-runner/runner.sock"
#define NOTICE_US INT64_C(120000000) /* of a spot market without a word on it */

struct local {
        char id[32]; /* local-HASH */
        char zone[49], type[65], currency[4], endpoint[256];
        enum pd_market market;
        int64_t price_nano_hour, notice_us;
        int32_t cpu_milli;
        uint64_t memory_bytes, disk_bytes;
};

/* ---- what this machine is ---- */

/* Of its identity only a hash leaves the machine. FNV-1a, 64 bits. */
static void machine_id(char *ret, size_t n)
{
        char text[256] = "";
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        FILE *f = fopen("/etc/machine-id", "re");

        if (!f || !fgets(text, sizeof text, f))
                (void)gethostname(text, sizeof text - 1);
        if (f)
                (void)fclose(f);
        for (const char *s = text; *s && *s != '\n'; s++)
                h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
        (void)snprintf(ret, n, "local-%016llx", (unsigned long long)h);
}

static int32_t cpus(void)
{
        cpu_set_t set;

        if (sched_getaffinity(0, sizeof set, &set) < 0)
                return (int32_t)(sysconf(_SC_NPROCESSORS_ONLN) * 1000); /* more than CPU_SETSIZE cores */
        return (int32_t)(CPU_COUNT(&set) * 1000);
}

static uint64_t memory(void)
{
        unsigned long long kib = 0;
        char line[128];
        FILE *f = fopen("/proc/meminfo", "re");

        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
                        break;
        if (f)
                (void)fclose(f);
        return kib * 1024;
}

static uint64_t disk(void)
{
        struct statvfs v;

        return statvfs("/", &v) < 0 ? 0 : (uint64_t)v.f_bavail * v.f_frsize;
}

/* ---- the connection's options ---- */

static int fail_key(struct pd_error *err, const char *key, const char *value, const char *fix)
{
        (void)pd_fail(err, PD_E_INVALID, "%.40s = \"%.60s\": %s", key, value, fix);
        return pd_fail_subject(err, key);
}

static int take_price(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        return config_rate(value, &l->price_nano_hour, l->currency)
                       ? 0
                       : fail_key(
                                 err, key, value, "no price an hour; write for example \"0.35 USD/h\", or \"0 USD/h\"");
}

static int take_zone(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        if (!config_zone(value))
                return fail_key(err, key, value, "a zone is 1-48 of a-z, 0-9 and -");
        (void)snprintf(l->zone, sizeof l->zone, "%s", value);
        return 0;
}

static int take_type(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        if (!config_type(value))
                return fail_key(err, key, value, "a type is 1-64 of A-Z, a-z, 0-9, dot, _ and -");
        (void)snprintf(l->type, sizeof l->type, "%s", value);
        return 0;
}

static int take_cpus(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        return config_cpus(value, &l->cpu_milli)
                       ? 0
                       : fail_key(err, key, value, "no number of cores; write for example \"4\" or \"0.5\"");
}

static int take_memory(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        return config_size(value, &l->memory_bytes) ? 0
                                                    : fail_key(err, key, value, "no size; write for example \"16GiB\"");
}

static int take_disk(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        return config_size(value, &l->disk_bytes) ? 0
                                                  : fail_key(err, key, value, "no size; write for example \"100GiB\"");
}

static int take_market(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        if (strcmp(value, "spot") != 0 && strcmp(value, "on-demand") != 0)
                return fail_key(err, key, value, "write \"on-demand\" or \"spot\"");
        l->market = strcmp(value, "spot") == 0 ? PD_MARKET_SPOT : PD_MARKET_ON_DEMAND;
        return 0;
}

static int take_notice(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        return config_span(value, &l->notice_us) ? 0
                                                 : fail_key(err, key, value, "no duration; write for example \"2m\"");
}

static int take_runner(struct local *l, const char *key, const char *value, struct pd_error *err)
{
        if (*value != '/' || strlen(value) >= sizeof l->endpoint)
                return fail_key(
                        err, key, value, "no absolute path of a socket; write for example \"" RUNNER_SOCKET "\"");
        (void)snprintf(l->endpoint, sizeof l->endpoint, "%s", value);
        return 0;
}

static const struct {
        const char *key, *same_as; /* two words for one thing may not stand beside each other */
        int (*take)(struct local *l, const char *key, const char *value, struct pd_error *err);
} options[] = {
        { "price", "rate", take_price },
        { "rate", "price", take_price },
        { "zone", NULL, take_zone },
        { "type", NULL, take_type },
        { "cpus", NULL, take_cpus },
        { "memory", NULL, take_memory },
        { "disk", NULL, take_disk },
        { "market", NULL, take_market },
        { "notice", NULL, take_notice },
        { "runner_socket", "runner", take_runner },
        { "runner", "runner_socket", take_runner },
};

static int take_option(struct local *l, const struct pd_kv *cfg, const struct pd_pair *p, struct pd_error *err)
{
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
                if (strcmp(options[i].key, p->key) != 0)
                        continue;
                if (options[i].same_as && pd_kv_get(cfg, options[i].same_as) && strcmp(p->key, "rate") == 0)
                        return fail_key(err, p->key, p->value, "it stands beside price, which is the same; remove one");
                if (strcmp(p->key, "runner_socket") == 0 && pd_kv_get(cfg, "runner"))
                        return 0; /* the site's default, and this connection says otherwise */
                return options[i].take(l, p->key, p->value, err);
        }
        return fail_key(err, p->key, p->value,
                "the provider \"local\" has price, zone, type, cpus, memory, disk, market, notice and runner_socket");
}

static int local_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        struct local l = { .zone = "here",
                .type = "host",
                .currency = "USD",
                .endpoint = RUNNER_SOCKET,
                .market = PD_MARKET_ON_DEMAND,
                .notice_us = -1,
                .cpu_milli = cpus(),
                .memory_bytes = memory(),
                .disk_bytes = disk() };
        struct local *made;

        (void)call;
        for (uint32_t i = 0; cfg && i < cfg->count; i++) {
                int r = take_option(&l, cfg, &cfg->pairs[i], err);

                if (r < 0)
                        return r;
        }
        if (l.notice_us >= 0 && l.market != PD_MARKET_SPOT)
                return fail_key(err, "notice", pd_kv_get(cfg, "notice"),
                        "only a spot market gives notice; add market = \"spot\", or remove it");
        if (l.notice_us < 0)
                l.notice_us = l.market == PD_MARKET_SPOT ? NOTICE_US : 0;
        machine_id(l.id, sizeof l.id);
        made = malloc(sizeof *made);
        if (!made)
                return pd_fail(err, PD_E_NOMEM, "no memory for a connection");
        *made = l;
        *ret_self = made;
        return 0;
}

static void local_close(void *self)
{
        free(self);
}

/* ---- offers and machines ---- */

static int local_caps(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err)
{
        const struct local *l = self;

        (void)call, (void)err;
        *ret = (struct pd_provider_caps){ .size = sizeof *ret,
                .flags = PD_CAP_OWN_MACHINES | PD_CAP_IDEMPOTENT_LAUNCH |
                         (l->market == PD_MARKET_SPOT ? (uint32_t)PD_CAP_SPOT : 0),
                .lease = PD_LEASE_JOB_ONLY,
                .stream = PD_STREAM_UNIX };
        return 0;
}

static int local_offers(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err)
{
        const struct local *l = self;
        const struct pd_offer offer = { .size = sizeof offer,
                .zone = l->zone,
                .type = l->type,
                .market = l->market,
                .currency = l->currency,
                .price_nano_hour = l->price_nano_hour,
                .price_at_wall_us = call->host->now_wall_us(call),
                .price_source = "config",
                .cpu_milli = l->cpu_milli,
                .gpu_model = "",
                .memory_bytes = l->memory_bytes,
                .disk_bytes = l->disk_bytes,
                .notice_us = l->notice_us,
                .stock = 1 };

        (void)err;
        return each(arg, &offer);
}

/* It has no tags, and nobody else's machine is on this connection: it is always ours to lend. */
static int tell(const struct local *l, const char *token, pd_machine_fn each, void *arg)
{
        const struct pd_machine m = { .size = sizeof m,
                .id = l->id,
                .zone = l->zone,
                .type = l->type,
                .market = l->market,
                .state = PD_MACHINE_RUNNING,
                .reason = PD_REASON_NONE,
                .endpoint = l->endpoint,
                .op_token = token ? token : "" };

        return each(arg, &m);
}

static int local_launch(void *self, struct pd_call *call, const struct pd_launch *req, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        const struct local *l = self;

        if (strcmp(req->zone, l->zone) != 0 || strcmp(req->type, l->type) != 0 || req->market != l->market)
                return pd_fail(err, PD_E_INVALID, "%.48s/%.64s is not offered here: this machine is %s/%s%s", req->zone,
                        req->type, l->zone, l->type, l->market == PD_MARKET_SPOT ? "/spot" : "");
        if (req->ceiling_nano_hour > 0 && req->ceiling_nano_hour < l->price_nano_hour)
                return pd_fail(err, PD_E_CAPACITY, "this machine costs more than the highest price to pay");
        return tell(l, call->op_token, each, arg);
}

static int local_find(
        void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg, struct pd_error *err)
{
        (void)call, (void)err;
        return tell(self, op_token, each, arg);
}

static int check_id(const struct local *l, const char *id, struct pd_error *err)
{
        if (strcmp(id, l->id) == 0)
                return 0;
        (void)pd_fail(err, PD_E_GONE, "machine \"%.60s\" is not this one, which is %s", id, l->id);
        return pd_fail_subject(err, id);
}

static int local_describe(
        void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err)
{
        int r = check_id(self, id, err);

        (void)call;
        return r < 0 ? r : tell(self, NULL, each, arg);
}

static int local_list_owned(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each,
        void *arg, struct pd_error *err)
{
        (void)call, (void)expect_tags, (void)err;
        return tell(self, NULL, each, arg);
}

static int local_renew(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        int r = check_id(self, id, err);

        (void)call, (void)expect_tags, (void)stop_wall_us, (void)ret_stop_wall_us;
        return r < 0 ? r
                     : pd_fail(err, PD_E_UNSUPPORTED,
                               "the runner of an own machine keeps the lease; it ends the job, never the machine");
}

/* The lending is forgotten, and there is nothing to forget: this plugin remembers none. Another machine's id is one that is gone. */
static int local_terminate(
        void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        (void)self, (void)call, (void)id, (void)expect_tags, (void)err;
        return 0;
}

/* No API is behind this connection. */
static int local_actions(
        void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)each, (void)arg, (void)err;
        return 0;
}

static const struct pd_provider local = {
        .head = PD_HEAD(PD_KIND_PROVIDER, struct pd_provider, "local"),
        .flags = PD_FLAG_CONCURRENT,
        .open = local_open,
        .close = local_close,
        .caps = local_caps,
        .offers = local_offers,
        .launch = local_launch,
        .find = local_find,
        .describe = local_describe,
        .list_owned = local_list_owned,
        .renew = local_renew,
        .terminate = local_terminate,
        .actions = local_actions,
};
PD_EXPORT const struct pd_head *const portald_plugin = &local.head;
