/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "words.h"

#define TRACE_MAX (UINT64_C(1) << 30) /* bytes of a trace file  */
#define SCRIPT_MAX (UINT64_C(1) << 20)

static int bad(struct pd_error *err, const char *key, const char *value, const char *fix)
{
        (void)pd_fail(err, PD_E_INVALID, "%.40s = \"%.60s\": %s", key, value, fix);
        return pd_fail_subject(err, key);
}

static int read_all(int fd, size_t size, char *buf, size_t *ret_n)
{
        size_t n = 0;

        while (n < size) {
                ssize_t k = read(fd, buf + n, size - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t)k;
        }
        *ret_n = n;
        return 0;
}

int sim_file_read(const char *path, size_t max, char **ret, size_t *ret_n, struct pd_error *err)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC), r;
        struct stat st;
        char *buf = NULL;
        size_t n = 0;

        if (fd < 0)
                return pd_fail(err, errno == ENOENT ? PD_E_NOT_FOUND : PD_E_IO, "%.150s: %s", path, strerror(errno));
        r = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : (uint64_t)st.st_size > max ? -EFBIG : 0;
        if (r == 0) {
                buf = malloc((size_t)st.st_size + 1);
                r = buf ? read_all(fd, (size_t)st.st_size, buf, &n) : -ENOMEM;
        }
        (void)close(fd);
        if (r < 0) {
                free(buf);
                return pd_fail(err, PD_E_IO, "%.150s: %s", path, strerror(-r));
        }
        buf[n] = '\0';
        *ret = buf;
        *ret_n = n;
        return 0;
}

/* ---- keys of one kind each ---- */

#define SPAN(key_, member_, low_)                                    \
        {                                                            \
                (key_), offsetof(struct sim_config, member_), (low_) \
        }
static const struct {
        const char *key;
        size_t offset;
        int64_t low;
} spans[] = {
        SPAN("settle", cloud.settle_us, 0),
        SPAN("stop_lag", cloud.stop_lag_us, 0),
        SPAN("minimum", cloud.minimum_us, 0),
        SPAN("step", cloud.step_us, 0),
        SPAN("boot", cloud.boot_us, 0),
        SPAN("latency", cloud.latency_us, 0),
        SPAN("life", cloud.life_us, 0),
        SPAN("horizon", cloud.horizon_us, 0),
        SPAN("remember", cloud.remember_us, 0),
        SPAN("min_poll", min_poll_us, 0),
        SPAN("notice", cloud.market.notice_us, 0),
        SPAN("lifetime", cloud.market.lifetime_us, 0),
        SPAN("price_every", cloud.market.price_every_us, 0),
        SPAN("up", cloud.market.up_us, 60000000),
        SPAN("down", cloud.market.down_us, 0),
};
#undef SPAN

#define COUNT(key_, member_, low_, high_)                                     \
        {                                                                     \
                (key_), offsetof(struct sim_config, member_), (low_), (high_) \
        }
static const struct { /* all of them 32 bits wide */
        const char *key;
        size_t offset;
        int64_t low, high;
} counts[] = {
        COUNT("zones", cloud.market.zones, 1, MARKET_ZONES_MAX),
        COUNT("stock", cloud.market.stock, -1, 1000000),
        COUNT("page", cloud.page, 1, 100000),
        COUNT("tags", cloud.tag_max, 1, 250),
        COUNT("foreign", cloud.foreign, 0, 1000),
};
#undef COUNT

#define CHOICE(key_, member_, ...)                                                                       \
        {                                                                                                \
                (key_), offsetof(struct sim_config, member_), sizeof(((struct sim_config *)0)->member_), \
                {                                                                                        \
                        __VA_ARGS__                                                                      \
                }                                                                                        \
        }
struct word {
        const char *word;
        int value;
};
static const struct {
        const char *key;
        size_t offset, size;
        struct word words[6];
} choices[] = {
        CHOICE("lease", cloud.lease, { "native", PD_LEASE_NATIVE_MOVABLE }, { "fixed", PD_LEASE_NATIVE_FIXED },
                { "external", PD_LEASE_EXTERNAL }, { "guest", PD_LEASE_GUEST }),
        CHOICE("stream", stream, { "unix", PD_STREAM_UNIX }, { "ssh", PD_STREAM_SSH }, { "dial", PD_STREAM_DIAL }),
        CHOICE("spot", cloud.market.spot, { "yes", 1 }, { "no", 0 }),
        CHOICE("on_demand", cloud.market.on_demand, { "yes", 1 }, { "no", 0 }),
        CHOICE("notice_at", cloud.market.notice_before, { "fall", 0 }, { "before", 1 }),
        CHOICE("notice_in", cloud.notice_in_guest, { "api", 0 }, { "guest", 1 }),
        CHOICE("off", cloud.off_ends, { "ends", 1 }, { "stops", 0 }),
        CHOICE("wait", wait, { "yes", 1 }, { "no", 0 }),
};
#undef CHOICE

#define TEXT(key_, member_, path_)                                                                               \
        {                                                                                                        \
                (key_), offsetof(struct sim_config, member_), sizeof(((struct sim_config *)0)->member_), (path_) \
        }
static const struct {
        const char *key;
        size_t offset, size;
        bool path;
} texts[] = {
        TEXT("types", types, false),
        TEXT("endpoint", endpoint, false),
        TEXT("runner_socket", endpoint, false), /* the site's word for it */
        TEXT("state", state, true),
        TEXT("clock", clock, true),
};
#undef TEXT

static int take_span(struct sim_config *c, size_t i, const struct pd_pair *p, struct pd_error *err)
{
        int64_t us;

        if (!word_span(p->value, &us) || us < spans[i].low)
                return bad(err, p->key, p->value, "no duration; write for example \"90s\", \"2m\", \"1h30m\" or \"0\"");
        memcpy((char *)c + spans[i].offset, &us, sizeof us);
        return 0;
}

static int take_count(struct sim_config *c, size_t i, const struct pd_pair *p, struct pd_error *err)
{
        char fix[80];
        int64_t n;
        int32_t n32;

        (void)snprintf(fix, sizeof fix, "it must be a whole number from %lld to %lld", (long long)counts[i].low,
                (long long)counts[i].high);
        if (!word_int(p->value, counts[i].low, counts[i].high, &n))
                return bad(err, p->key, p->value, fix);
        n32 = (int32_t)n;
        memcpy((char *)c + counts[i].offset, &n32, sizeof n32);
        return 0;
}

static int take_choice(struct sim_config *c, size_t i, const struct pd_pair *p, struct pd_error *err)
{
        char fix[120] = "write one of:";

        for (const struct word *w = choices[i].words; w->word; w++) {
                if (strcmp(w->word, p->value) == 0) {
                        bool yes = w->value != 0;

                        if (choices[i].size == sizeof yes)
                                memcpy((char *)c + choices[i].offset, &yes, sizeof yes);
                        else
                                memcpy((char *)c + choices[i].offset, &w->value, sizeof w->value);
                        return 0;
                }
                (void)snprintf(fix + strlen(fix), sizeof fix - strlen(fix), " %s", w->word);
        }
        return bad(err, p->key, p->value, fix);
}

static int take_text(struct sim_config *c, size_t i, const struct pd_pair *p, struct pd_error *err)
{
        if (texts[i].path && *p->value != '/')
                return bad(err, p->key, p->value, "it must be an absolute path");
        if (!*p->value || strlen(p->value) >= texts[i].size)
                return bad(err, p->key, p->value, "it is empty, or longer than 255 bytes");
        memcpy((char *)c + texts[i].offset, p->value, strlen(p->value) + 1);
        return 0;
}

/* ---- keys of their own ---- */

static int take_trace(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        struct pd_error why;
        char *text;
        size_t n;
        int r;

        if (*p->value != '/')
                return bad(err, p->key, p->value, "it must be an absolute path");
        r = sim_file_read(p->value, TRACE_MAX, &text, &n, &why);
        if (r == 0) {
                trace_clear(&c->cloud.market.trace); /* of a key that came twice */
                r = trace_read(text, n, &c->cloud.market.trace, &why);
                free(text);
        }
        return r < 0 ? bad(err, p->key, p->value, why.text) : 0;
}

/* A file, or the script itself. */
static int take_faults(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        struct pd_error why;
        char *text = NULL;
        size_t n = strlen(p->value);
        int r = 0;

        if (*p->value == '/')
                r = sim_file_read(p->value, SCRIPT_MAX, &text, &n, &why);
        if (r == 0)
                r = faults_read(text ? text : p->value, n, &c->cloud.faults, &why);
        free(text);
        return r < 0 ? bad(err, p->key, p->value, why.text) : 0;
}

static int take_seed(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        int64_t n;

        if (!word_int(p->value, 0, INT64_C(1000000000000), &n))
                return bad(err, p->key, p->value, "it must be a whole number");
        c->cloud.seed = c->cloud.market.seed = (uint64_t)n;
        return 0;
}

static int take_start(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        if (strcmp(p->value, "trace") == 0) {
                c->cloud.start_wall_us = -1;
                return 0;
        }
        return word_instant(p->value, &c->cloud.start_wall_us)
                       ? 0
                       : bad(err, p->key, p->value, "write an instant in UTC, 2026-12-01T00:00:00Z, or \"trace\"");
}

static int take_currency(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        if (!word_currency(p->value))
                return bad(err, p->key, p->value, "a currency is three capitals: USD");
        memcpy(c->cloud.market.currency, p->value, sizeof c->cloud.market.currency);
        return 0;
}

static int take_quota(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        struct pd_error why;

        return trace_quota_words(p->value, &c->cloud.quota, &why) < 0 ? bad(err, p->key, p->value, why.text) : 0;
}

static int take_stopped(struct sim_config *c, const struct pd_pair *p, struct pd_error *err)
{
        size_t n = strlen(p->value);
        char digits[8] = "";
        int64_t percent;

        if (n < 2 || n > 4 || p->value[n - 1] != '%')
                return bad(err, p->key, p->value, "write a part of the price, from \"0%\" to \"100%\"");
        memcpy(digits, p->value, n - 1);
        if (!word_int(digits, 0, 100, &percent))
                return bad(err, p->key, p->value, "write a part of the price, from \"0%\" to \"100%\"");
        c->cloud.stopped_percent = (int32_t)percent;
        return 0;
}

static const struct {
        const char *key;
        int (*take)(struct sim_config *c, const struct pd_pair *p, struct pd_error *err);
} others[] = { { "trace", take_trace }, { "faults", take_faults }, { "seed", take_seed }, { "start", take_start },
        { "currency", take_currency }, { "quota", take_quota }, { "stopped", take_stopped } };

#define COUNT_OF(a_) (sizeof(a_) / sizeof *(a_))

static int take(struct sim_config *c, const struct pd_kv *cfg, const struct pd_pair *p, struct pd_error *err)
{
        for (size_t i = 0; i < COUNT_OF(spans); i++)
                if (strcmp(spans[i].key, p->key) == 0)
                        return take_span(c, i, p, err);
        for (size_t i = 0; i < COUNT_OF(counts); i++)
                if (strcmp(counts[i].key, p->key) == 0)
                        return take_count(c, i, p, err);
        for (size_t i = 0; i < COUNT_OF(choices); i++)
                if (strcmp(choices[i].key, p->key) == 0)
                        return take_choice(c, i, p, err);
        for (size_t i = 0; i < COUNT_OF(texts); i++)
                if (strcmp(texts[i].key, p->key) == 0)
                        return strcmp(p->key, "runner_socket") == 0 && pd_kv_get(cfg, "endpoint")
                                       ? 0
                                       : take_text(c, i, p, err);
        for (size_t i = 0; i < COUNT_OF(others); i++)
                if (strcmp(others[i].key, p->key) == 0)
                        return others[i].take(c, p, err);
        return bad(err, p->key, p->value, "the provider \"sim\" has no such option; its README.md lists them");
}

/* What holds between keys. */
static int finish(struct sim_config *c, struct pd_error *err)
{
        bool traced = c->cloud.market.trace.offers_n > 0;

        if (!c->cloud.market.spot && !c->cloud.market.on_demand)
                return bad(err, "spot", "no", "then on_demand must be \"yes\": a cloud offers something");
        if (c->cloud.market.notice_before && !traced)
                return bad(err, "notice_at", "before", "only a trace knows what comes; give trace=");
        if (c->cloud.start_wall_us == -1) {
                c->cloud.start_wall_us = c->cloud.market.trace.start_wall_us;
                if (!c->cloud.start_wall_us)
                        return bad(err, "start", "trace", "there is no trace, or it says no start");
        }
        if (c->cloud.life_us < 0) /* unless said: a trace says it all */
                c->cloud.life_us = traced ? 0 : INT64_C(12) * 3600 * 1000000;
        return 0;
}

int sim_config_read(struct sim_config *ret, const struct pd_kv *cfg, struct pd_error *err)
{
        struct sim_config c = { .types = "small gpu",
                .stream = PD_STREAM_UNIX,
                .cloud = { .seed = 1,
                        .lease = PD_LEASE_NATIVE_MOVABLE,
                        .settle_us = 10000000,
                        .stop_lag_us = 30000000,
                        .minimum_us = 60000000,
                        .step_us = 1000000,
                        .boot_us = 60000000,
                        .life_us = -1,
                        .remember_us = 600000000,
                        .stopped_percent = 100,
                        .tag_max = 50,
                        .page = 10,
                        .market = { .seed = 1,
                                .zones = 3,
                                .currency = "USD",
                                .spot = true,
                                .on_demand = true,
                                .notice_us = 120000000,
                                .price_every_us = 1800000000,
                                .up_us = INT64_C(21600000000),
                                .down_us = INT64_C(3600000000),
                                .stock = 8 } } };
        int r = 0;

        for (uint32_t i = 0; r == 0 && cfg && i < cfg->count; i++)
                r = take(&c, cfg, &cfg->pairs[i], err);
        if (r == 0)
                r = finish(&c, err);
        if (r < 0) {
                trace_clear(&c.cloud.market.trace);
                return r;
        }
        *ret = c;
        ret->cloud.market.types = ret->types;
        return 0;
}
