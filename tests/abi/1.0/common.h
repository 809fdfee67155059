/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugins of this folder share: an open() that wants {"say": "hello"}, and a self that remembers it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <portald/host.h>

struct self {
        char say[16];
};

static int common_open(struct pd_call *call, const struct pd_kv *cfg, void **ret_self, struct pd_error *err)
{
        const char *say = pd_kv_get(cfg, "say");
        struct self *s;

        if (!say || strcmp(say, "hello") != 0 || call->size < sizeof *call || call->host->size < sizeof *call->host)
                return pd_fail(err, PD_E_INVALID, "say hello");
        s = calloc(1, sizeof *s);
        if (!s)
                return pd_fail(err, PD_E_NOMEM, "no memory");
        (void)snprintf(s->say, sizeof s->say, "%s", say);
        call->host->log(call, PD_LOG_DEBUG, "open");
        *ret_self = s;
        return 0;
}

static void common_close(void *self)
{
        free(self);
}

/* Is what every call brings as it was in 1.0? */
__attribute__((unused)) static int common_check(void *self, struct pd_call *call, struct pd_error *err)
{
        const struct self *s = self;
        unsigned char random[8] = { 0 };
        const struct pd_host *h = call->host;

        if (strcmp(s->say, "hello") != 0 || h->now_wall_us(call) < 1 || call->deadline_boot_us < h->now_boot_us(call) ||
                h->cancelled(call) != 0 || h->random(call, random, sizeof random) != 0 ||
                h->put(call, "no such key", "") >= 0)
                return pd_fail(err, PD_E_INTERNAL, "the host is not what 1.0 promised");
        return 0;
}
