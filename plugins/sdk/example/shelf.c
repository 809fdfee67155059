/* SPDX-License-Identifier: Apache-2.0 */
/* A provider in one file: a shelf of machines of your own. The configuration lists them; a launch takes one off the shelf, a
 * terminate puts it back. It never powers anything on or off.
 *
 *   provider = "shelf"; options: { state = "/var/lib/shelf"; machines = "box1 box2"; price = "0"; };
 *
 * A machine that is lent out is a file state/NAME, with the launch's token and tags, one "key=value" a line. The file is made by link(2),
 * which is atomic and fails if it is there: so the same token twice finds its machine, and no machine is lent twice, whatever
 * crashes when. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <portald/provider.h>

#define NAME_MAX_ 48
#define RECORD_MAX 8192

struct shelf {
        int state;           /* directory */
        char machines[4096]; /* names with blanks between */
        int64_t price_nano_hour;
};

/* A record of a machine that is lent out, as it was read. */
struct record {
        char name[NAME_MAX_ + 1], text[RECORD_MAX];
        const char *token;
        int64_t stop_wall_us, created_wall_us;
        struct pd_pair pairs[64];
        struct pd_kv tags;
};

static void shelf_close(void *self)
{
        struct shelf *s = self;

        if (!s)
                return;
        if (s->state >= 0)
                (void)close(s->state);
        free(s);
}

static void shelf_closep(struct shelf **s)
{
        shelf_close(*s);
}

static int bad_key(struct pd_error *err, const char *key, const char *why)
{
        (void)pd_fail(err, PD_E_INVALID, "shelf: %.64s %s", key, why);
        return pd_fail_subject(err, key);
}

static int read_price(struct shelf *s, const char *text, struct pd_error *err)
{
        char *end;

        errno = 0;
        s->price_nano_hour = strtoll(text, &end, 10);
        if (errno || end == text || *end || s->price_nano_hour < 0)
                return bad_key(err, "price", "must be a whole number of 1e-9 EUR an hour, 0 or more");
        return 0;
}

/* Every key is checked here, and the bad one named: nobody wants to learn of it at the first launch. */
static int configure(struct shelf *s, const struct pd_kv *cfg, struct pd_error *err)
{
        const char *state = pd_kv_get(cfg, "state"), *machines = pd_kv_get(cfg, "machines"),
                   *price = pd_kv_get(cfg, "price");

        for (uint32_t i = 0; i < cfg->count; i++)
                if (strcmp(cfg->pairs[i].key, "state") != 0 && strcmp(cfg->pairs[i].key, "machines") != 0 &&
                        strcmp(cfg->pairs[i].key, "price") != 0)
                        return bad_key(err, cfg->pairs[i].key, "is no setting; there are state, machines and price");
        if (!machines || !*machines || strlen(machines) >= sizeof s->machines ||
                strspn(machines, "abcdefghijklmnopqrstuvwxyz0123456789- ") != strlen(machines))
                return bad_key(err, "machines", "must list names of a-z, 0-9 and -, with blanks between");
        (void)snprintf(s->machines, sizeof s->machines, "%s", machines);
        if (!state || state[0] != '/')
                return bad_key(err, "state", "must be an absolute directory");
        s->state = open(state, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (s->state < 0)
                return bad_key(err, "state", strerror(errno));
        return price ? read_price(s, price, err) : 0;
}

static int shelf_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        pd_cleanup(shelf_closep) struct shelf *s = calloc(1, sizeof *s);
        int r;

        (void)call;
        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        s->state = -1;
        r = configure(s, cfg, err);
        if (r < 0)
                return r;
        *ret_self = pd_steal(s);
        return 0;
}

static int shelf_caps(void *self, struct pd_call *call, struct pd_provider_caps *ret, struct pd_error *err)
{
        (void)self, (void)call, (void)err;
        ret->flags = PD_CAP_TAGS | PD_CAP_IDEMPOTENT_LAUNCH | PD_CAP_OWN_MACHINES;
        ret->lease = PD_LEASE_JOB_ONLY;
        ret->stream = PD_STREAM_SSH;
        ret->tag_max = 64;
        ret->tag_key_max = ret->tag_value_max = 128;
        return 0;
}

/* Calls with the next name of the list; false at its end. */
static bool next_name(const char **at, char *name)
{
        size_t n;

        *at += strspn(*at, " ");
        n = strcspn(*at, " ");
        if (n == 0)
                return false;
        (void)snprintf(name, NAME_MAX_ + 1, "%.*s", (int)(n > NAME_MAX_ ? NAME_MAX_ : n), *at);
        *at += n;
        return true;
}

static int shelf_offers(void *self, struct pd_call *call, pd_offer_fn each, void *arg, struct pd_error *err)
{
        const struct shelf *s = self;
        int32_t left = 0;
        char name[NAME_MAX_ + 1];
        struct pd_offer o = { .size = sizeof o,
                .zone = "shelf",
                .type = "box",
                .market = PD_MARKET_ON_DEMAND,
                .currency = "EUR",
                .price_nano_hour = s->price_nano_hour,
                .price_at_wall_us = call->host->now_wall_us(call),
                .price_source = "config",
                .cpu_milli = 1000,
                .gpu_model = "",
                .memory_bytes = UINT64_C(1) << 30 };

        (void)err;
        for (const char *at = s->machines; next_name(&at, name);)
                left += faccessat(s->state, name, F_OK, 0) != 0;
        o.stock = left;
        return each(arg, &o);
}

/* The record's lines, cut in place. */
static void parse(struct record *r)
{
        uint32_t n = 0;

        r->token = "";
        for (char *line = strtok(r->text, "\n"); line; line = strtok(NULL, "\n")) {
                char *value = strchr(line, '=');

                if (!value)
                        continue;
                *value++ = '\0';
                if (strcmp(line, ".token") == 0)
                        r->token = value;
                else if (strcmp(line, ".stop") == 0)
                        r->stop_wall_us = strtoll(value, NULL, 10);
                else if (strcmp(line, ".created") == 0)
                        r->created_wall_us = strtoll(value, NULL, 10);
                else if (n < sizeof r->pairs / sizeof *r->pairs)
                        r->pairs[n++] = (struct pd_pair){ line, value };
        }
        r->tags = (struct pd_kv){ sizeof r->tags, n, r->pairs };
}

/* 0, or -PD_E_GONE when it stands on the shelf. */
static int read_record(const struct shelf *s, const char *name, struct record *ret, struct pd_error *err)
{
        int fd = strchr(name, '/') || name[0] == '.' ? -1 : openat(s->state, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        ssize_t n;

        if (fd < 0)
                return pd_fail(err, PD_E_GONE, "%.64s is not lent out", name);
        memset(ret, 0, sizeof *ret);
        (void)snprintf(ret->name, sizeof ret->name, "%s", name);
        n = read(fd, ret->text, sizeof ret->text - 1);
        (void)close(fd);
        if (n < 0)
                return pd_fail(err, PD_E_IO, "%.64s: %s", name, strerror(errno));
        parse(ret);
        return 0;
}

static int hand_out(const struct record *r, pd_machine_fn each, void *arg)
{
        struct pd_machine m = { .size = sizeof m,
                .id = r->name,
                .zone = "shelf",
                .type = "box",
                .market = PD_MARKET_ON_DEMAND,
                .state = PD_MACHINE_RUNNING,
                .reason = PD_REASON_NONE,
                .endpoint = r->name,
                .created_wall_us = r->created_wall_us,
                .stop_wall_us = r->stop_wall_us,
                .op_token = r->token,
                .tags = &r->tags };

        return each(arg, &m);
}

static bool carries(const struct record *r, const struct pd_kv *expect)
{
        for (uint32_t i = 0; expect && i < expect->count; i++) {
                const char *have = pd_kv_get(&r->tags, expect->pairs[i].key);

                if (!have || strcmp(have, expect->pairs[i].value) != 0)
                        return false;
        }
        return true;
}

/* Writes the record beside the shelf and links it in: whole or not at all. -PD_E_CONFLICT: another was faster. */
static int lend(const struct shelf *s, struct pd_call *call, const char *name, const char *text, struct pd_error *err)
{
        char temp[64];
        uint64_t random;
        size_t n = strlen(text);
        int fd, r = 0;

        if (call->host->random(call, &random, sizeof random) < 0)
                return pd_fail(err, PD_E_IO, "no random number");
        (void)snprintf(temp, sizeof temp, ".new-%016llx", (unsigned long long)random);
        fd = openat(s->state, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return pd_fail(err, PD_E_IO, "state: %s", strerror(errno));
        if (write(fd, text, n) != (ssize_t)n || fsync(fd) < 0)
                r = pd_fail(err, PD_E_IO, "state: %s", strerror(errno));
        (void)close(fd);
        if (r == 0 && linkat(s->state, temp, s->state, name, 0) < 0)
                r = pd_fail(err, errno == EEXIST ? PD_E_CONFLICT : PD_E_IO, "%s: %s", name, strerror(errno));
        (void)unlinkat(s->state, temp, 0);
        if (r == 0 && fsync(s->state) < 0)
                r = pd_fail(err, PD_E_UNKNOWN_OUTCOME, "state: %s", strerror(errno));
        return r;
}

static int record_text(const struct pd_launch *req, struct pd_call *call, char *text, struct pd_error *err)
{
        int n = snprintf(text, RECORD_MAX, ".token=%s\n.stop=%lld\n.created=%lld\n",
                call->op_token ? call->op_token : "", (long long)req->stop_wall_us,
                (long long)call->host->now_wall_us(call));

        for (uint32_t i = 0; req->tags && i < req->tags->count; i++) {
                const struct pd_pair *p = &req->tags->pairs[i];

                if (strpbrk(p->key, "=\n") || p->key[0] == '.' || strchr(p->value, '\n') || i >= 64)
                        return pd_fail(err, PD_E_INVALID, "tag %.64s cannot be kept", p->key);
                n += snprintf(text + n, (size_t)(RECORD_MAX - n), "%s=%s\n", p->key, p->value);
                if (n >= RECORD_MAX - 1)
                        return pd_fail(err, PD_E_INVALID, "the tags are longer than %d bytes", RECORD_MAX);
        }
        return 0;
}

static int shelf_find(
        void *self, struct pd_call *call, const char *op_token, pd_machine_fn each, void *arg, struct pd_error *err)
{
        const struct shelf *s = self;
        char name[NAME_MAX_ + 1];
        struct record r;

        (void)call;
        for (const char *at = s->machines; next_name(&at, name);)
                if (read_record(s, name, &r, NULL) == 0 && *op_token && strcmp(r.token, op_token) == 0)
                        return hand_out(&r, each, arg);
        return pd_fail(err, PD_E_NOT_FOUND, "no machine was lent for %.64s", op_token);
}

static int shelf_launch(void *self, struct pd_call *call, const struct pd_launch *req, pd_machine_fn each, void *arg,
        struct pd_error *err)
{
        const struct shelf *s = self;
        char name[NAME_MAX_ + 1], text[RECORD_MAX];
        struct record r;
        int rc;

        if (strcmp(req->zone, "shelf") != 0 || strcmp(req->type, "box") != 0 || req->market != PD_MARKET_ON_DEMAND)
                return pd_fail(
                        err, PD_E_INVALID, "there is no %s/%s; the shelf has only shelf/box", req->zone, req->type);
        if (call->op_token && shelf_find(self, call, call->op_token, each, arg, NULL) == 0)
                return 0;
        rc = record_text(req, call, text, err);
        for (const char *at = s->machines; rc == 0 && next_name(&at, name);) {
                rc = lend(s, call, name, text, err);
                if (rc == -(int)PD_E_CONFLICT) {
                        rc = 0;
                        continue;
                }
                if (rc == 0)
                        rc = read_record(s, name, &r, err);
                return rc == 0 ? hand_out(&r, each, arg) : rc;
        }
        return rc ? rc : pd_fail(err, PD_E_CAPACITY, "every machine of the shelf is lent out");
}

static int shelf_describe(
        void *self, struct pd_call *call, const char *id, pd_machine_fn each, void *arg, struct pd_error *err)
{
        struct record r;
        int rc = read_record(self, id, &r, err);

        (void)call;
        return rc ? rc : hand_out(&r, each, arg);
}

static int shelf_list_owned(void *self, struct pd_call *call, const struct pd_kv *expect_tags, pd_machine_fn each,
        void *arg, struct pd_error *err)
{
        const struct shelf *s = self;
        char name[NAME_MAX_ + 1];
        struct record r;
        int rc = 0;

        (void)call, (void)err;
        for (const char *at = s->machines; rc == 0 && next_name(&at, name);)
                if (read_record(s, name, &r, NULL) == 0 && carries(&r, expect_tags))
                        rc = hand_out(&r, each, arg);
        return rc;
}

static int shelf_renew(void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags,
        int64_t stop_wall_us, int64_t *ret_stop_wall_us, struct pd_error *err)
{
        (void)self, (void)call, (void)id, (void)expect_tags, (void)stop_wall_us, (void)ret_stop_wall_us;
        return pd_fail(err, PD_E_UNSUPPORTED, "the runner keeps the lease of an own machine");
}

static int shelf_terminate(
        void *self, struct pd_call *call, const char *id, const struct pd_kv *expect_tags, struct pd_error *err)
{
        const struct shelf *s = self;
        struct record r;

        (void)call;
        if (read_record(s, id, &r, NULL) < 0)
                return 0;
        if (!carries(&r, expect_tags))
                return pd_fail(err, PD_E_PERM, "%.64s does not carry the expected tags", id);
        if (unlinkat(s->state, id, 0) < 0 && errno != ENOENT)
                return pd_fail(err, PD_E_IO, "%.64s: %s", id, strerror(errno));
        return fsync(s->state) < 0 ? pd_fail(err, PD_E_UNKNOWN_OUTCOME, "state: %s", strerror(errno)) : 0;
}

static int shelf_actions(
        void *self, struct pd_call *call, int (*each)(void *arg, const char *action), void *arg, struct pd_error *err)
{
        (void)self, (void)call, (void)each, (void)arg, (void)err;
        return 0; /* it sends nothing anywhere */
}

static const struct pd_provider shelf = {
        .head = PD_HEAD(PD_KIND_PROVIDER, struct pd_provider, "shelf"),
        .open = shelf_open,
        .close = shelf_close,
        .caps = shelf_caps,
        .offers = shelf_offers,
        .launch = shelf_launch,
        .find = shelf_find,
        .describe = shelf_describe,
        .list_owned = shelf_list_owned,
        .renew = shelf_renew,
        .terminate = shelf_terminate,
        .actions = shelf_actions,
};
PD_EXPORT const struct pd_head *const portald_plugin = &shelf.head;
