/* SPDX-License-Identifier: Apache-2.0 */
/* A provider that behaves well, or as badly as its configuration says: {"behave": how, "at": slot}. All answers are made up. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <portald/provider.h>

struct odd {
        char behave[32], at[32], tag[32];
        int64_t stop_wall_us;
};

static int odd_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        struct odd *o = calloc(1, sizeof *o);
        const char *behave = pd_kv_get(cfg, "behave"), *at = pd_kv_get(cfg, "at");

        if (!o)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        (void)snprintf(o->behave, sizeof o->behave, "%s", behave ? behave : "well");
        (void)snprintf(o->at, sizeof o->at, "%s", at ? at : "offers");
        if (strcmp(o->behave, "refuse") == 0) {
                free(o);
                (void)pd_fail(err, PD_E_AUTH, "the key is not accepted; make a new one");
                return pd_fail_subject(err, "behave");
        }
        if (strcmp(o->behave, "die open") == 0)
                (void)raise(SIGSEGV);
        call->host->log(call, PD_LOG_DEBUG, "odd is open");
        *ret_self = o;
        return 0;
}

static void odd_close(void *self)
{
        free(self);
}

static void leak(void)
{
        for (;;) {
                char *p = malloc(8u << 20);

                if (!p)
                        abort(); /* what most programs do without memory */
                memset(p, 1, 8u << 20);
        }
}

static volatile int *volatile nowhere = (volatile int *)8;

/* The ways to be bad that do not need the slot. */
static int misbehave(const struct odd *o, struct pd_call *call, const char *slot, struct pd_error *err)
{
        if (strcmp(o->at, slot) != 0)
                return 0;
        if (strcmp(o->behave, "segfault") == 0)
                *nowhere = 1;
        if (strcmp(o->behave, "exit") == 0)
                exit(3);
        if (strcmp(o->behave, "leak") == 0)
                leak();
        while (strcmp(o->behave, "hang") == 0)
                (void)pause();
        while (strcmp(o->behave, "slow") == 0 && !call->host->cancelled(call))
                (void)poll(NULL, 0, 1);
        if (strcmp(o->behave, "slow") == 0)
                return pd_fail(err, PD_E_CANCELLED, "stopped half-way, nothing left");
        if (strcmp(o->behave, "no code") == 0)
                return 77;
        if (strcmp(o->behave, "bad error") == 0) {
                memset(err, 0xff, sizeof *err);
                return -(int)PD_E_CAPACITY;
        }
        if (strcmp(o->behave, "capacity") == 0) {
                (void)pd_fail(err, PD_E_CAPACITY, "none left in a");
                err->retry_after_us = 5000000;
                (void)snprintf(err->provider_code, sizeof err->provider_code, "InsufficientInstanceCapacity");
                return -(int)PD_E_CAPACITY;
        }
        return 0;
}

static int odd_caps(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err)
{
        const struct odd *o = self;
        int r = misbehave(o, call, "caps", err);

        ret->flags = PD_CAP_SPOT | PD_CAP_TAGS;
        ret->lease = strcmp(o->behave, "unknown lease") == 0 ? (enum pd_lease_kind)99 : PD_LEASE_NATIVE_MOVABLE;
        ret->stream = PD_STREAM_UNIX;
        ret->settle_us = strcmp(o->behave, "negative time") == 0 ? -1 : 1000;
        if (strcmp(o->behave, "unknown flag") == 0)
                ret->flags |= 1u << 30;
        return r;
}

static struct pd_offer good_offer(const char *type)
{
        return (struct pd_offer){ .size = sizeof(struct pd_offer),
                .zone = "a",
                .type = type,
                .market = PD_MARKET_SPOT,
                .currency = "EUR",
                .price_nano_hour = 350000000,
                .price_at_wall_us = 1,
                .price_source = "config",
                .cpu_milli = 2000,
                .gpu_model = "",
                .memory_bytes = 1u << 30,
                .notice_us = 120000000,
                .stock = -1 };
}

static char huge[3 << 20];

/* One bad member in an otherwise good offer. */
static void spoil(const char *how, struct pd_offer *f)
{
        if (strcmp(how, "negative price") == 0)
                f->price_nano_hour = -1;
        if (strcmp(how, "unknown currency") == 0)
                f->currency = "XXQ";
        if (strcmp(how, "unknown enum") == 0)
                f->market = (enum pd_market)7;
        if (strcmp(how, "null name") == 0)
                f->zone = NULL;
        if (strcmp(how, "bad name") == 0)
                f->zone = "Not A Zone";
        if (strcmp(how, "not utf-8") == 0)
                f->price_source = "\xff\xfe";
        if (strcmp(how, "no size") == 0)
                f->size = 0;
        if (strcmp(how, "huge text") == 0) {
                memset(huge, 'x', sizeof huge - 1);
                f->gpu_model = huge;
        }
}

static int odd_offers(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err)
{
        const struct odd *o = self;
        struct pd_offer small = good_offer("small"), large = good_offer("large");
        char type[32];
        int r = misbehave(o, call, "offers", err);

        if (r != 0)
                return r;
        spoil(o->behave, &large);
        if (strcmp(o->behave, "twice") == 0)
                large.type = "small";
        if (strcmp(o->behave, "null item") == 0)
                (void)each(arg, NULL);
        for (int i = 0; i < 1000000 && strcmp(o->behave, "a million items") == 0; i++) {
                (void)snprintf(type, sizeof type, "t%d", i);
                large.type = type;
                (void)each(arg, &large);
        }
        for (int i = 0; i < 20000 && strcmp(o->behave, "many items") == 0; i++) {
                (void)snprintf(type, sizeof type, "t%d", i);
                large.type = type;
                if (each(arg, &large) != 0)
                        return -(int)PD_E_FULL;
        }
        if (strcmp(o->behave, "twice") != 0)
                large.type = "large";
        for (int i = 0; i < 5000 && strcmp(o->behave, "chatty") == 0; i++)
                call->host->log(call, PD_LOG_DEBUG, "la");
        if (strncmp(o->behave, "only ", 5) != 0)
                (void)each(arg, &small);
        return each(arg, &large);
}

static int give_machine(
        const struct odd *o, const char *id, const char *token, const struct pd_kv *tags, pd_machine_fn each, void *arg)
{
        struct pd_pair foreign = { "portald", "somebody-else" };
        struct pd_kv foreign_tags = { sizeof foreign_tags, 1, &foreign };
        struct pd_machine m = { .size = sizeof m,
                .id = id,
                .zone = "a",
                .type = "small",
                .market = PD_MARKET_SPOT,
                .state = PD_MACHINE_RUNNING,
                .endpoint = "/run/portald/runner.sock",
                .stop_wall_us = o->stop_wall_us,
                .op_token = token,
                .tags = tags };

        if (strcmp(o->behave, "null id") == 0)
                m.id = NULL;
        if (strcmp(o->behave, "empty id") == 0)
                m.id = "";
        if (strcmp(o->behave, "another id") == 0)
                m.id = "i-of-another";
        if (strcmp(o->behave, "another's") == 0)
                m.tags = &foreign_tags;
        if (strcmp(o->behave, "another token") == 0)
                m.op_token = "somebody-elses";
        if (strcmp(o->behave, "no machine") == 0)
                return 0;
        if (strcmp(o->behave, "two machines") == 0)
                (void)each(arg, &m);
        return each(arg, &m);
}

static int odd_launch(void *self, struct pd_call *call, const struct pd_launch *req, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        struct odd *o = self;
        int r = misbehave(o, call, "launch", err);

        o->stop_wall_us = req->stop_wall_us;
        return r ? r : give_machine(o, "i-1", call->op_token ? call->op_token : "", req->tags, each, arg);
}

static int odd_find(
        void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg, struct pd_error *err)
{
        int r = misbehave(self, call, "find", err);

        return r ? r : give_machine(self, "i-1", op_token, NULL, each, arg);
}

static int odd_describe(
        void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err)
{
        int r = misbehave(self, call, "describe", err);

        return r ? r : give_machine(self, id, "", NULL, each, arg);
}

static int odd_list(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        int r = misbehave(self, call, "list_owned", err);

        return r ? r : give_machine(self, "i-1", "", expect_tags, each, arg);
}

static int odd_renew(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        const struct odd *o = self;
        int r = misbehave(o, call, "renew", err);

        (void)id, (void)expect_tags;
        *ret_stop_wall_us = strcmp(o->behave, "negative stop") == 0 ? -5 : stop_wall_us;
        return r;
}

static int odd_terminate(
        void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        int r = misbehave(self, call, "terminate", err);

        (void)id;
        return r || pd_kv_get(expect_tags, "portald") ? r : pd_fail(err, PD_E_PERM, "not ours");
}

/* What the process around the plugin is like: "key=value" lines. */
static int report(struct pd_call *call)
{
        char text[16384];
        struct rlimit core, files, memory;
        int n;

        (void)getrlimit(RLIMIT_CORE, &core);
        (void)getrlimit(RLIMIT_NOFILE, &files);
        (void)getrlimit(RLIMIT_AS, &memory);
        n = snprintf(text, sizeof text, "pid=%d\nsession=%d\ncore=%lld\nfiles=%lld\nmemory=%lld\nfd77=%d\n",
                (int)getpid(), (int)getsid(0), (long long)core.rlim_cur, (long long)files.rlim_cur,
                (long long)memory.rlim_cur, fcntl(77, F_GETFD));
        for (char **e = environ; *e && n < (int)sizeof text - 600; e++)
                n += snprintf(text + n, sizeof text - (size_t)n, "env %.500s\n", *e);
        return call->host->put(call, "missing", text);
}

__attribute__((unused)) static int odd_validate(void *self, struct pd_call *call, struct pd_error *err)
{
        int r = misbehave(self, call, "validate", err);
        int unknown = call->host->put(call, "nonsense", "x"), first = call->host->put(call, "missing", "ec2:One"),
            again = call->host->put(call, "missing", "ec2:RunInstances"), much;

        if (strcmp(((const struct odd *)self)->behave, "report") == 0)
                return report(call);
        memset(huge, 'y', sizeof huge - 1);
        much = call->host->put(call, "missing", huge);
        if (r == 0 && (unknown != -(int)PD_E_INVALID || first || again || much != -(int)PD_E_FULL))
                return pd_fail(err, PD_E_INTERNAL, "put() answered %d %d %d %d", unknown, first, again, much);
        return r ? r : pd_fail(err, PD_E_AUTH, "a right is missing");
}

__attribute__((unused)) static int odd_exec(void *self, struct pd_call *call, const char *id, const char *const *argv,
        int stdin_fd, int stdout_fd, int stderr_fd, int32_t *ret_status, struct pd_error *err)
{
        char in[64] = "";
        ssize_t n = read(stdin_fd, in, sizeof in - 1);
        int r = misbehave(self, call, "exec", err);

        (void)id;
        (void)!dprintf(stdout_fd, "%s %s %.*s", argv[0], argv[1] ? argv[1] : "-", n > 0 ? (int)n : 0, in);
        (void)!dprintf(stderr_fd, "err");
        *ret_status = 7 << 8;
        return r;
}

static int odd_actions(
        void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg, struct pd_error *err)
{
        int r = misbehave(self, call, "actions", err);

        if (r == 0)
                r = each(arg, "odd:List");
        return r ? r : each(arg, "odd:Run");
}

static const struct pd_provider odd = {
        .head = PD_HEAD(PD_KIND_PROVIDER, struct pd_provider, "odd"),
#ifdef ODD_CONCURRENT
        .flags = PD_FLAG_CONCURRENT,
#endif
        .open = odd_open,
        .close = odd_close,
        .caps = odd_caps,
#ifndef ODD_BARE
        .validate = odd_validate,
        .exec = odd_exec,
#endif
        .offers = odd_offers,
        .launch = odd_launch,
        .find = odd_find,
        .describe = odd_describe,
        .list_owned = odd_list,
        .renew = odd_renew,
        .terminate = odd_terminate,
        .actions = odd_actions,
};
PD_EXPORT const struct pd_head *const portald_plugin = &odd.head;
